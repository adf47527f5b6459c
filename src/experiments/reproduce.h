/* pathgcn reproduce, from the command line to the files. cmd_reproduce.c reads the command line,
 * catalogue.c is the table of experiments, plan.c lists the trainings that an experiment needs,
 * settle.c chooses their settings, sweep.c makes an experiment of lists of settings, the runner
 * runs the jobs, results.c averages their records, paper.c has the paper's numbers, columns.c and
 * report.c print and write the tables. */
#ifndef PGCN_REPRODUCE_H
#define PGCN_REPRODUCE_H

#include "experiments/experiments.h"

/* ---- paper.c -------------------------------------------------------------------------------- */

/* Where the paper gives a number. The numbers are those of its tables. */
typedef enum exp_place {
    EXP_NOWHERE = 0,
    EXP_TABLE_2 = 2,
    EXP_TABLE_3,
    EXP_TABLE_4,
    EXP_TABLE_5,
    EXP_TABLE_6,
    EXP_TABLE_7,
    EXP_TABLE_8,
    EXP_TABLE_9,
    EXP_TABLE_10,
    EXP_TABLE_11,
    EXP_FIGURE_5_PATHS,
    EXP_FIGURE_5_LENGTHS
} exp_place;
enum { EXP_MOST_PLACES = 4 };

/* A number that the paper gives for a system, in percent. */
typedef struct exp_paper {
    exp_place place;
    const char *dataset;
    const char *system; /* as the paper calls it: "GCN (Drop)", "pathGCN" */
    int layers;         /* depth that it is for, 0: not given */
    int value;          /* paths or path length of the curves, else 0 */
    double accuracy;
    double deviation;  /* NaN: not given. Table 9: of ten draws */
    double stochastic; /* mean of ten draws; NaN but for Table 9 */
} exp_paper;
/* Number i, or NULL after the last. */
const exp_paper *exp_paper_get(int i);
/* The paper's number for a cell; NULL if it gives none. `places` ends with EXP_NOWHERE. Where a
 * table gives one depth only (Tables 4 to 9), any depth of ours is compared with it.
 * "film:directed" is still the paper's Actor, "cora:largest-component" is not its Cora. */
const exp_paper *exp_paper_find(const exp_place *places, const char *dataset, const char *system,
                                int layers, int value);
/* Whether a place has a data set, or a system, or both in any cell; NULL: not asked. */
bool exp_paper_mentions(const exp_place *places, const char *dataset, const char *system);
int exp_paper_decimals(exp_place place); /* that its numbers are printed with */
/* The times of Table 10, on its own machine (a Titan RTX), in milliseconds. */
typedef struct exp_paper_times {
    const char *line;                          /* "GCN (2 layers)" */
    double step_ms, inference_ms, sampling_ms; /* sampling: NaN without paths */
} exp_paper_times;
const exp_paper_times *exp_paper_times_of(const char *line); /* NULL: there is no such line */
const char *exp_paper_source(exp_place place); /* "Table 3, semi-supervised by depth" */

/* ---- catalogue.c ---------------------------------------------------------------------------- */

enum { EXP_MOST_SETS = 32, EXP_MOST_VALUES = 16, EXP_MOST_CHANGES = 16 };

typedef struct exp_set_name {
    const char *name;
    bool optional; /* no error if it is not on this machine */
} exp_set_name;

typedef struct exp_numbers {
    int count;
    int value[EXP_MOST_VALUES];
} exp_numbers;

typedef struct exp_setting {
    const char *key, *value;
} exp_setting;

/* Recipes of other authors that a line uses instead of those of its network. */
typedef struct exp_family {
    const char *name;      /* "gcn-drop": gcn-drop-D of data set D; NULL: none */
    int except;            /* the depth for which the network has recipes of its own; 0: none */
    exp_setting otherwise; /* of data sets that the family has no recipe of; NULL key: none */
    struct {
        const char *dataset;
        int layers;
    } published[4]; /* depths that its settings are published for; ends with a NULL data set */
} exp_family;

/* A line of a table that differs in its network, its recipe or some settings. */
typedef struct exp_variant {
    const char *name;
    const char *system;  /* as paper.c calls it; NULL: as `name` */
    const char *network; /* by its name; NULL: that of the recipe */
    const char *recipe;  /* NULL: that of the data set and the network */
    exp_family family;
    int layers;       /* 0: the depth of the line */
    bool unpublished; /* its settings are not published for these data sets: marked */
    exp_setting change[EXP_MOST_CHANGES]; /* ends with a NULL key */
} exp_variant;

/* A way to split a data set. */
typedef struct exp_protocol {
    const char *name, *steps;
} exp_protocol;

struct exp_cell;
struct exp_summary;
/* A column of figures: its head as for exp_table_new(), and what adds a cell of it. */
typedef struct exp_column {
    const char *head;
    void (*add)(exp_table *table, const struct exp_cell *cell, const struct exp_summary *s);
} exp_column;

typedef enum exp_layout {
    EXP_LINES,    /* a line per cell */
    EXP_BY_DEPTH, /* a line per data set and variant, a column per depth */
    EXP_BY_SET    /* a line per variant, a column per data set */
} exp_layout;

/* Lists end with a NULL name (columns: head); NULL is an empty list. */
typedef struct exp_experiment {
    const char *name, *title;
    const char *group; /* the word that runs it with others; NULL: only its own name does */
    int table;         /* the number by which --tables chooses it in its group; 0: none */
    exp_place places[EXP_MOST_PLACES]; /* of the paper's numbers; ends with EXP_NOWHERE */
    const exp_set_name *datasets;      /* NULL: the command line names them */
    exp_numbers layers, quick_layers;  /* depths; 0: that of the recipe */
    const exp_variant *variants;
    const char *variants_head; /* head of their column */
    const char *axis;          /* setting that `values` belong to, or NULL */
    exp_numbers values, quick_values;
    exp_setting fixed; /* a setting that the paper fixes; NULL key: none */
    bool splits;       /* a run per published split, not per seed */
    exp_layout layout;
    const exp_column *columns;     /* of lines; NULL: exp_usual_columns */
    const char *note;              /* a sentence below the table; may be NULL */
    const exp_protocol *protocols; /* the first one is the paper's */
    int runs;                      /* runs per line, where they are not ten */
    pgcn_task task;                /* the task it is about; PGCN_TASK_NONE: that of the data set */
    bool networks; /* lines are the systems of the paper: those that are not built are quoted, cells
                      that the paper leaves empty stay empty, long runs get one seed */
    bool timed;    /* measures the times of a step, of inference and of sampling */
    bool marks_best; /* of each data set, the line with the best mean validation accuracy */
    bool apart;      /* `all` leaves it out */
    int figure;      /* of the paper that is drawn from it, an exp_figure_number; 0: none */
    bool drawn_only; /* it has no table: only `figures` asks for it */
    bool models;     /* the models of its runs are kept */
} exp_experiment;
extern const exp_experiment exp_experiments[]; /* ends with a NULL name */

/* ---- the command line ----------------------------------------------------------------------- */

typedef struct exp_request {
    const cli_command *command;
    const cli_arguments *arguments; /* settings that override */
    const char *out, *data_dir, *recipe, *datasets, *layers;
    const char *tables; /* the tables of --tables; NULL: all */
    const char *models; /* the networks of --models; NULL: all */
    int words;          /* data sets that are given as arguments */
    const char *const *word;
    long long seeds; /* 0: as the experiment has them */
    bool quick, fresh, quiet, json;
    bool all;         /* several experiments: those that do not fit a given data set are left out */
    bool figures;     /* they are drawn; a data set that is not here is no error then */
    const char *only; /* these figures; NULL: all */
} exp_request;

enum { EXP_MOST_WORDS = 64 };
typedef struct exp_words {
    int count;
    char word[EXP_MOST_WORDS][128];
} exp_words;
/* The parts of an option's value; none of them is empty. */
pgcn_status exp_split_words(const exp_request *request, const char *option, const char *text,
                            char separator, exp_words *out);
/* The data sets of --datasets, separated by blanks if there are any, or else by commas. A part `key=value` is no name: it
 * goes on with the one before it, as in sbm:classes=2,homophily=0.9. */
pgcn_status exp_split_sets(const exp_request *request, exp_words *out);

/* ---- plan.c --------------------------------------------------------------------------------- */

/* What a training costs, measured on this machine with one thread; NaN: not measured. */
typedef struct exp_times {
    double step_ms;      /* median training step: sampling, forward, backward, Adam */
    double inference_ms; /* median evaluation of all nodes in exact form */
    double sampling_ms;  /* median draw of all paths; NaN without paths */
    double parameters, multiply_adds;
} exp_times;

/* One line of a table: the same training over seeds or splits. */
typedef struct exp_cell {
    const exp_experiment *experiment;
    char dataset[128];
    char absent[400];             /* why the data set is not available; "": it is */
    char recipe[512];             /* the value of --recipe that repeats it; "": none */
    const exp_variant *variant;   /* NULL: none */
    const exp_protocol *protocol; /* NULL: the splits of the data set */
    int value;                    /* of the axis, else 0 */
    pgcn_config config;           /* of the first run */
    int runs;
    size_t *job; /* [runs] indices into the list of jobs */
    const exp_paper *paper;
    const exp_data *data; /* NULL: absent, or not built */
    bool quoted;          /* its network is not built: the paper's number stands alone */
    bool unpublished;     /* its settings are the nearest published ones, or those for any data */
    bool one_seed;        /* a run takes too long for more */
    bool best;            /* of its data set on validation; see exp_mark_best() */
    exp_times times;      /* where the experiment is timed */
} exp_cell;

const char *exp_cell_variant(const exp_cell *cell);  /* its name, or "" */
const char *exp_cell_protocol(const exp_cell *cell); /* its name, or "" */

typedef struct exp_plan {
    int sets;
    exp_data set[EXP_MOST_SETS];
    size_t cells, room;
    exp_cell *cell;
    /* for each setting of the command line: whether a cell uses it, else why the last one does
     * not */
    bool used[CLI_MAX_SETTINGS];
    const char *why_unused[CLI_MAX_SETTINGS];
} exp_plan;

/* Whether a file or folder of the working directory is read instead of a published data set of that
 * name. */
bool exp_is_shadowed(const char *name);
/* Adds the cells and jobs of an experiment; data sets are loaded as they are needed. */
pgcn_status exp_plan_add(exp_plan *plan, exp_jobs *jobs, const exp_request *request,
                         const exp_experiment *experiment);
/* An error if a given setting does nothing in any cell. */
pgcn_status exp_plan_check_options(const exp_plan *plan, const exp_request *request);
/* Cells whose runs take longer than `seconds` get one run; jobs that no cell needs are dropped. */
void exp_plan_shorten(exp_plan *plan, exp_jobs *jobs, double seconds);
void exp_plan_free(exp_plan *plan);

/* ---- settle.c ------------------------------------------------------------------------------- */

int exp_network_number(const char *name); /* -1: there is no such network */

/* The data set with the steps that its recipe names, unless it is given with steps of its own. */
pgcn_status exp_name_with_steps(const exp_request *request, const exp_experiment *experiment,
                                const char *name, char *out, size_t bytes);
/* Fills cell->recipe and cell->config, for a depth; 0: that of the recipe. */
pgcn_status exp_settle(const exp_request *request, const exp_data *data, int layers,
                       exp_cell *cell);
/* Writes the command that repeats one job: pathgcn train ... --seed S. */
void exp_write_command(FILE *out, const exp_job *job, const char *recipe, const char *data_dir);

/* ---- sweep.c -------------------------------------------------------------------------------- */

/* A grid of settings: an experiment whose lines are its points. */
typedef struct exp_sweep {
    exp_experiment experiment;
    int points;
    exp_variant *variant; /* [points + 1] */
    char *texts;          /* names and values that the variants point to */
    char shape[128];      /* "2 layers x 3 path-length": for the estimate; "": nothing is swept */
} exp_sweep;
/* Takes the settings that have a list out of `arguments` and makes the grid of them. */
pgcn_status exp_sweep_make(const exp_request *request, cli_arguments *arguments, exp_sweep *out);
/* An error if a setting with a list does nothing in a line: lines would be the same. */
pgcn_status exp_sweep_check(const exp_sweep *sweep, const exp_request *request,
                            const exp_plan *plan);
void exp_sweep_free(exp_sweep *sweep);

/* ---- choose.c ------------------------------------------------------------------------------- */

/* The experiments that are asked for, in the order of their tables. */
enum { EXP_MOST_CHOSEN = 32 };
typedef struct exp_choice {
    int count;
    const exp_experiment *experiment[EXP_MOST_CHOSEN];
} exp_choice;
/* Reads the words of the command line; `sweep` is filled if they ask for a grid. */
pgcn_status exp_choose(exp_request *request, cli_arguments *arguments, exp_sweep *sweep,
                       exp_choice *out);
/* Whether a line is of one of these networks, which are given by name. */
bool exp_has_network(const exp_variant *variant, const exp_words *networks);
/* Makes the table if the first word asks for one of facts; else *done is false. */
pgcn_status exp_list_facts(const exp_request *request, const cli_arguments *arguments, bool *done);

/* Which figures --only names, a bit for each exp_figure_number. */
pgcn_status exp_choose_figures(const exp_request *request, unsigned *out);

/* ---- arena.c, arena_report.c ---------------------------------------------------------------- */

/* What pathgcn does in a pair of networks, by docs/PROTOCOL.md. */
typedef enum exp_verdict { EXP_UNKNOWN, EXP_WORSE, EXP_TIED, EXP_BETTER, EXP_VERDICTS } exp_verdict;
extern const char *const exp_verdict_words[EXP_VERDICTS]; /* "", "pathgcn worse", "tied", ... */
/* Differences that belong together in pairs, one per split: their mean and its standard error (NaN for fewer than two),
 * which takes the splits as independent; and the p-value with an error that is raised for the items they share. */
typedef struct exp_pairing {
    double mean, error, p;
    exp_verdict verdict; /* by the error */
    exp_verdict strict;  /* by p */
} exp_pairing;
/* share: test items / training items of a split; NaN: not known, and then p is not. */
exp_pairing exp_pair(const exp_tally *differences, double share);
/* Every network by one budget. */
pgcn_status exp_arena(const exp_request *request, const exp_pace *pace, bool only_report);

/* ---- results.c ------------------------------------------------------------------------------ */

typedef struct exp_summary {
    int done, failed;
    int other_builds; /* records made by another build of the program */
    /* test: without test items (crossval) it is the accuracy on the held-out fold at common_epoch,
     * the epoch with the best mean over the folds (GIN's protocol); 0: not used */
    exp_spread test, val, by_loss, by_accuracy, best_test;
    int64_t common_epoch;
    exp_spread draw, draw_deviation, draws; /* one draw, its deviation, the mean of ten */
    double seconds, epochs, peak_bytes;     /* sum, mean, largest */
    double difference;                      /* from the paper; NaN without a number */
} exp_summary;
exp_summary exp_summarise(const exp_jobs *jobs, const exp_cell *cell);
/* Marks of each data set the cell with the best mean validation accuracy, the first of equal
 * ones. */
void exp_mark_best(exp_plan *plan, const exp_jobs *jobs, const exp_experiment *experiment);

/* ---- columns.c ------------------------------------------------------------------------------ */

extern const exp_column exp_usual_columns[], exp_inference_columns[], exp_sweep_columns[],
    exp_form_columns[], exp_time_columns[];
/* A line per cell. */
exp_table *exp_cells_table(const exp_plan *plan, const exp_jobs *jobs,
                           const exp_experiment *experiment);

/* ---- matrix.c ------------------------------------------------------------------------------- */

/* Ours above the paper's, a column per depth or data set. */
exp_table *exp_matrix_table(const exp_plan *plan, const exp_jobs *jobs,
                            const exp_experiment *experiment);

/* Whether it has a cell without a number. */
bool exp_matrix_has_gaps(const exp_plan *plan, const exp_experiment *experiment);

/* ---- times.c -------------------------------------------------------------------------------- */

double exp_multiply_adds(const exp_cell *cell); /* of a forward pass, by section 3.5 */
/* Measures the cells of an experiment, one after the other. */
pgcn_status exp_measure_times(exp_plan *plan, const exp_request *request,
                              const exp_experiment *experiment);

/* ---- report.c ------------------------------------------------------------------------------- */

/* Explains the marks that the table of an experiment has, a line each. */
void exp_print_marks(FILE *out, const exp_plan *plan, const exp_experiment *experiment);
/* The table of an experiment, and what has to be said below it, a line each. */
exp_table *exp_make_table(const exp_plan *plan, const exp_jobs *jobs,
                          const exp_experiment *experiment);
void exp_print_remarks(FILE *out, const exp_plan *plan, const exp_jobs *jobs,
                       const exp_experiment *experiment);
/* Prints the table of an experiment and writes OUT/NAME.json, .csv, .md and .tex. */
pgcn_status exp_report(const exp_plan *plan, const exp_jobs *jobs, const exp_request *request,
                       const exp_experiment *experiment);
/* The file OUT/NAME.ENDING. */
pgcn_status exp_write_file(const exp_request *request, const char *name, const char *ending,
                           const char *text);

/* A table of facts, without trainings. */
typedef struct exp_listing {
    const char *name, *title, *note;
    json_t
        *numbers; /* what programs read beside the text of the lines, as "cells"; NULL: nothing */
} exp_listing;
/* The same for a listing; takes the table over. */
pgcn_status exp_report_listing(const exp_request *request, const exp_listing *listing,
                               exp_table *table);

/* ---- reproduce_page.c ----------------------------------------------------------------------- */

/* OUT/report.html: tables and curves of all experiments. */
pgcn_status exp_reproduce_page(const exp_plan *plan, const exp_jobs *jobs,
                               const exp_request *request, const exp_experiment *const *experiment,
                               int count);

/* ---- counts.c and appendix.c ---------------------------------------------------------------- */

pgcn_status exp_report_counts(const exp_request *request);   /* Table 1: `datasets` */
pgcn_status exp_report_settings(const exp_request *request); /* the appendix: `settings` */

/* ---- records.c ------------------------------------------------------------------------------ */

void exp_print_csv(FILE *out, const exp_plan *plan, const exp_jobs *jobs,
                   const exp_experiment *experiment);
json_t *exp_make_json(const exp_plan *plan, const exp_jobs *jobs, const exp_request *request,
                      const exp_experiment *experiment);

#endif
