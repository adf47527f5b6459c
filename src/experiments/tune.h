/* pathgcn tune, from the command line to the recipe. cmd_tune.c reads the command line, tune_data.c
 * loads the data without test nodes, space.c parses the search space and draws candidates,
 * halving.c ranks them, search.c runs them rung by rung, tune_report.c prints and writes. With
 * --nested, nested.c does this for every split by itself and then tests the winners;
 * nested_report.c prints and writes that. */
#ifndef PGCN_TUNE_H
#define PGCN_TUNE_H

#include "experiments/experiments.h"

/* ---- space.c -------------------------------------------------------------------------------- */

enum { EXP_MOST_PARAMETERS = 64, EXP_MOST_CHOICES = 16, EXP_SENTENCE = 400, EXP_VALUE = 256 };

/* One line of a space: "key = low .. high [log]", or "key = a | b | c". */
typedef struct exp_parameter {
    char key[40];
    bool is_log, is_whole;
    double low, high; /* of a range */
    int choices;      /* 0: a range */
    char choice[EXP_MOST_CHOICES][48];
} exp_parameter;

typedef struct exp_space {
    char name[256];           /* "semi", or the file */
    char error[EXP_SENTENCE]; /* what is wrong with it; "": nothing */
    char *text;               /* as it was written; owned */
    int parameters;
    exp_parameter parameter[EXP_MOST_PARAMETERS];
} exp_space;

/* Reads a space from text. After an error (PGCN_ERR_FORMAT, PGCN_ERR_MEMORY) out->error is one
 * sentence that names `name`, the line and the key; it is not printed. Treats the text as hostile.
 * Free with exp_space_free() in any case. */
pgcn_status exp_space_parse(const char *name, const char *text, size_t bytes, exp_space *out);
void exp_space_free(exp_space *space);
/* Built-in space i, or NULL after the last; *about: for what. */
const char *exp_space_builtin(int i, const char **text, const char **about);

/* Whether a value lies at an end of its range, or of a list of at least three numbers, beyond which the
 * setting could go: a wider space may then hold something better. */
bool exp_space_at_border(const exp_parameter *parameter, const pgcn_config *config);

/* Settings of candidate `number`. 0 is `present` itself. Odd ones draw every parameter. Even ones
 * draw about a third and keep the others, because better settings are often near the present ones.
 * A setting that would have no effect is not changed. `data` may be NULL. A pure function of its
 * arguments. False if no draw passes pgcn_config_check(). */
bool exp_space_draw(const exp_space *space, uint64_t seed, int number, const pgcn_config *present,
                    const pgcn_dataset *data, pgcn_config *out);

/* ---- halving.c ------------------------------------------------------------------------------ */

/* The number of trainings of all rungs together; a rung reuses the runs of the one before. */
long long exp_rungs_trainings(const pgcn_rung *rung, int rungs);

/* What ranks candidates. */
typedef enum exp_rule {
    EXP_BY_MEASURE,     /* of each run at the epoch that it chose: exp_search.measure */
    EXP_BY_LOSS,        /* the same, by loss */
    EXP_BY_COMMON_EPOCH /* accuracy at the one epoch with the best mean over the runs: GIN's protocol */
} exp_rule;

/* The result of a candidate. */
typedef struct exp_score {
    int number;                       /* of the candidate */
    int runs;                         /* that the means are over; 0: none */
    bool failed;                      /* a run failed: the candidate is dropped */
    double accuracy, deviation, loss; /* validation; means and a deviation over the runs; accuracy:
                                         or the measure of the search */
    int64_t epoch;                    /* that all runs share, or 0 */
} exp_score;
/* Best first: more runs before fewer (they came further), those that failed last; then by accuracy
 * and, where that is equal, by loss; or the other way round. */
void exp_rank(exp_score *score, int count, bool by_loss);

/* ---- search.c ------------------------------------------------------------------------------- */

typedef struct exp_candidate {
    pgcn_config config;
    int rung;    /* the last one it was in */
    size_t *job; /* [runs of the last rung]; those of its own rung are set */
    exp_score score;
} exp_candidate;

typedef struct exp_search {
    const cli_command *command;
    const char *prefix; /* of the progress line, "split 3, "; NULL: none */
    const exp_data *data;
    pgcn_config present;
    pgcn_recipe_info recipe; /* that `present` comes from */
    bool own_files;          /* the data is given by --edges and the like, not by a name */
    bool races;              /* which is the winner of a race; with --nested one for every split */
    const exp_space *space;
    uint64_t seed;
    int runs, keep;
    exp_rule rule;
    pgcn_measure measure; /* that candidates are ranked by or, with another rule, reported in */
    bool fresh;
    double budget_minutes; /* 0: none */
    exp_jobs *jobs;
    exp_pace pace;
    const char *out;
    /* results */
    int candidates, rungs;
    pgcn_rung rung[PGCN_MOST_RUNGS];
    exp_candidate *candidate;
    int *order;                   /* [candidates] numbers, best first */
    double seconds, core_seconds; /* of all trainings; NaN if the record of one has none */
    size_t failed;                /* trainings, not counting those whose loss was not finite */
} exp_search;

/* Fills `candidates` (0: from the budget) and the results. */
pgcn_status exp_search_run(exp_search *search);
void exp_search_free(exp_search *search);
/* The path of the search's measure, "val" or "test", in a record: "selected.val_auc". Returns out. */
const char *exp_selected(const exp_search *search, const char *part, char out[96]);
/* Mean and standard error of how much better `a` does than `b`, run by run. */
void exp_search_gain(const exp_search *search, int a, int b, double *mean, double *error);

/* ---- tune_data.c ---------------------------------------------------------------------------- */

/* The command line. */
typedef struct exp_tune_request {
    const char *dataset, *out, *recipe, *space, *candidates, *budget, *runs, *keep, *search_seed;
    const char *processes, *threads, *score;
    cli_source source;
    bool list, fresh, json, quiet, nested;
    const cli_arguments *arguments;
} exp_tune_request;

/* The settings to start from, recipe and then options: fills `present` and `recipe` of the
 * search. */
pgcn_status exp_tune_present(const exp_tune_request *request, cli_arguments *arguments,
                             exp_search *search, char name[128]);
/* The settings of the family that wins a race on `data`, which has no test nodes, under the options. */
pgcn_status exp_tune_race(const exp_tune_request *request, const pgcn_dataset *data,
                          exp_search *search);
/* The data with the splits that `split` (a value of the setting) names. With `hide_test` no split has
 * test nodes, and the labels that none of these splits trains or validates with are removed. */
pgcn_status exp_tune_load(const exp_tune_request *request, const exp_search *search,
                          const char *split, bool hide_test, exp_data *out);

/* ---- cmd_tune.c ----------------------------------------------------------------------------- */

/* The space of --space, or the built-in one that fits. Free with exp_space_free() in any case. */
pgcn_status exp_tune_space(const exp_tune_request *request, const pgcn_dataset *data,
                           exp_space *out);

/* ---- tune_report.c -------------------------------------------------------------------------- */

/* OUT/tune.json and the recipe OUT/NAME.recipe, whose path is in *recipe_path; *object, which may
 * be NULL, receives what is in tune.json. */
pgcn_status exp_tune_write(const exp_search *search, char recipe_path[EXP_PATH_BYTES],
                           json_t **object);
/* That, and the table or one JSON line. */
pgcn_status exp_tune_report(const exp_search *search, bool json);
/* The settings in which a candidate differs from the present ones, {key: value}. */
json_t *exp_tune_changes(const exp_search *search, int number);
void exp_print_rungs(const exp_search *search); /* " 9 x 2 runs, 3 x 4 runs", and an empty line */
json_t *exp_rungs_to_json(const exp_search *search);
/* What ranked the candidates, in JSON: "val_auc"; and the key of a measure of validation or test. */
void exp_chosen_by(const exp_search *search, char out[64]);
void exp_measure_key(const exp_search *search, const char *part, char out[64]);

/* ---- tune_page.c ---------------------------------------------------------------------------- */

/* OUT/report.html. */
pgcn_status exp_tune_page(const exp_search *search, const char *recipe_path);

/* ---- nested.c ------------------------------------------------------------------------------- */

/* The result of a split. */
typedef struct exp_nested_split {
    char name[16];
    int64_t train_items, val_items, test_items;
    pgcn_config config; /* chosen; its `split` is the name */
    int candidate;      /* number of the winner */
    json_t *changes;    /* from the start */
    char space[256], recipe[EXP_PATH_BYTES];
    size_t *job; /* [runs] the tests, in exp_nested.jobs */
    exp_spread val, test;
} exp_nested_split;

typedef struct exp_nested {
    exp_search *search; /* the settings that all splits share; its results are those of the last */
    exp_data data;      /* with test nodes: loaded when all choices are made */
    exp_jobs jobs;      /* OUT/jobs: the tests; a search has its own in OUT/split-S/jobs */
    int splits;
    exp_nested_split *split;
    double seconds, core_seconds; /* of all trainings, as of a search */
} exp_nested;

/* Searches every split, tests the winners, reports. */
pgcn_status exp_nested_tune(const exp_tune_request *request, exp_search *search);

/* ---- nested_report.c ------------------------------------------------------------------------ */

/* The table or one JSON line, and OUT/nested.json. */
pgcn_status exp_nested_report(const exp_nested *nested, bool json);
/* OUT/report.html, in tune_page.c; the means over the splits. */
pgcn_status exp_nested_page(const exp_nested *nested, exp_spread val, exp_spread test);
/* Whether the search started from a recipe of this data set, which has seen all its splits. */
bool exp_nested_start_has_seen(const exp_search *search);

#endif
