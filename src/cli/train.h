/* pathgcn train, in six files. cmd_train.c reads the command line and loops over the seeds.
 * train_place.c decides which directory a run writes to. train_race.c chooses a recipe where none
 * is known. train_run.c trains one seed. train_memory.c predicts its memory. train_report.c prints
 * tables and JSON. */
#ifndef PGCN_CLI_TRAIN_H
#define PGCN_CLI_TRAIN_H

#include "cli/cli.h"

typedef struct train_request {
    const char *dataset; /* NULL: the files of `source` */
    cli_source source;
    const char *recipe; /* NULL: the one of the data set */
    const char *out, *seeds_text, *every_text, *memory_text;
    bool resume, overwrite, accept_other_version, json, quiet;
    const char *log;        /* --log; or NULL */
    cli_progress *progress; /* open while it trains */
    long long seeds, checkpoint_every;
    pgcn_recipe_info used; /* the recipe that the settings started from; with `races`, nothing */
    bool races;            /* --recipe auto: every run finds its own recipe */
    const cli_arguments *arguments;
    char **argv; /* to print the command that resumes */
    int argc;
} train_request;

/* The result of one seed. */
typedef struct train_outcome {
    pgcn_task task; /* decides what the accuracies below are (cli_metric) */
    uint64_t seed;
    char split[16], split_hash[65];
    int64_t items[3];           /* labelled ones that train, validate and test */
    int64_t epochs, best_epoch; /* best_epoch 0: none was evaluated */
    double val_accuracy, test_accuracy, best_test_accuracy;
    pgcn_score val, test;    /* of the weights kept */
    double seconds, step_ms; /* step_ms: median */
    int64_t parameters;
    int64_t predicted_bytes; /* peak memory of the program */
    pgcn_traffic traffic;    /* of several ranks */
    bool on_disk;            /* features were, and this was read of them */
    pgcn_row_reads reads;
    bool reused;             /* nothing was trained: this is the result of a finished run */
    pgcn_recipe_info recipe; /* that its settings started from; name "none": from none */
    pgcn_config config;      /* of the training */
} train_outcome;

pgcn_status cli_train_join(char out[CLI_PATH_BYTES], const char *directory, const char *file);
/* The user's steps followed by `more`. */
pgcn_status cli_train_join_steps(const train_request *request, const char *more,
                                 char out[CLI_PATH_BYTES]);

/* ---- train_place.c -------------------------------------------------------------------------- */

/* --out, locked until the command ends. Opened after the first trainer was made: a mistake that the
 * trainer finds leaves no directory. */
typedef struct train_root {
    bool open;
    int lock;                  /* -1: the file system cannot lock */
    char work[CLI_PATH_BYTES]; /* --out, or CLI_UNFINISHED in it: what holds the folders of seeds */
} train_root;
/* A refusal changes nothing on disk. */
pgcn_status cli_train_open(const train_request *request, uint64_t first_seed, train_root *root);
pgcn_status cli_train_seed_directory(const char *directory, uint64_t seed,
                                     char out[CLI_PATH_BYTES]);

/* The files of one run. */
typedef struct train_files {
    char home[CLI_PATH_BYTES]; /* where they are in the end */
    char work[CLI_PATH_BYTES]; /* where they are written: `home`, or CLI_UNFINISHED in it */
    int lock;                  /* of the folder of a seed */
    bool started, finished;    /* what `work` holds: a checkpoint; all files */
    char checkpoint[CLI_PATH_BYTES], model[CLI_PATH_BYTES];
    char history[CLI_PATH_BYTES], result[CLI_PATH_BYTES];
} train_files;
pgcn_status cli_train_open_run(const train_request *request, const train_root *root,
                               const char *home, train_files *files);
/* From now on the run writes into a fresh CLI_UNFINISHED: `home` keeps what it holds. */
pgcn_status cli_train_stage(train_files *files);
bool cli_train_is_staged(const train_files *files);
/* Makes a finished run the run of `home`. */
pgcn_status cli_train_commit(const train_files *files);
void cli_train_close_run(train_files *files);
pgcn_status cli_train_refuse_other(const train_files *files, const char *why);

/* ---- train_race.c --------------------------------------------------------------------------- */

/* What a run trains with. */
typedef struct train_choice {
    pgcn_config config;
    pgcn_recipe_info recipe;
    pgcn_dataset *data; /* prepared as the recipe asks; NULL: unchanged. The caller frees it */
    char steps[CLI_PATH_BYTES]; /* the steps of that form */
} train_choice;
/* Races, or reads who won in this directory before. */
pgcn_status cli_train_race(const train_request *request, const pgcn_dataset *data,
                           const pgcn_config *config, const train_files *files, long long run,
                           train_choice *out);

/* ---- train_run.c ---------------------------------------------------------------------------- */

/* Trains number `run` of request->seeds, from 1, and writes its files to --out, or to its folder
 * there. */
pgcn_status cli_train_run(const train_request *request, const pgcn_dataset *data,
                          const pgcn_config *config, train_root *root, long long run,
                          train_outcome *out);

/* ---- train_memory.c ------------------------------------------------------------------------- */

int64_t cli_train_resident_bytes(void); /* memory of the program at this moment */
/* Predicts the peak memory of the program, and prints a line or a warning about it. `resident` is
 * what it used before the trainer was made. */
int64_t cli_train_predict(const train_request *request, const pgcn_trainer *trainer,
                          int64_t resident, bool first);
/* Of batches of nodes: says how many rows a step has, and when that is most of the graph. */
void cli_train_tell_rows(const train_request *request, const pgcn_trainer *trainer,
                         const pgcn_dataset *data, const pgcn_config *config);

/* ---- train_report.c ------------------------------------------------------------------------- */

/* The epoch that validation chose, the best test epoch beside it, and the median step. */
void cli_train_summarise(const pgcn_trainer *trainer, const pgcn_dataset *data, train_outcome *out);
/* result.json of a run; and the times in it, which a finished run cannot measure again. */
json_t *cli_train_outcome_to_json(const train_outcome *outcome);
/* The classes by name, or by number where they have none: what `compare` compares first. */
json_t *cli_train_classes_to_json(const pgcn_dataset *data);
void cli_train_recall_times(const char *result_path, train_outcome *outcome);
void cli_train_print_table(const train_request *request, const pgcn_dataset *data,
                           const train_outcome *runs);
json_t *cli_train_summary(const train_request *request, const pgcn_dataset_info *info,
                          const train_outcome *runs);

#endif
