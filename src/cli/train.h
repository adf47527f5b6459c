/* pathgcn train, in four files: cmd_train.c reads the command line and loops over the seeds,
 * train_run.c trains one seed in its directory, train_memory.c says what it will take,
 * train_report.c sums up. */
#ifndef PGCN_CLI_TRAIN_H
#define PGCN_CLI_TRAIN_H

#include "cli/cli.h"

enum { TRAIN_PATH_BYTES = 4096 };

typedef struct train_request {
    const char *dataset; /* NULL: the files of `source` */
    cli_source source;
    const char *recipe; /* NULL: the one of the data set */
    const char *out, *seeds_text, *every_text;
    bool resume, overwrite, json, quiet;
    long long seeds, checkpoint_every;
    pgcn_recipe_info used; /* the recipe that the settings started from */
    char **argv;           /* for the sentence that says how to resume */
    int argc;
} train_request;

/* What one seed came to. */
typedef struct train_outcome {
    pgcn_task task; /* says what the accuracies below are (cli_metric) */
    uint64_t seed;
    char split[16];
    int64_t epochs, best_epoch; /* best_epoch 0: none was evaluated */
    double val_accuracy, test_accuracy, best_test_accuracy;
    double seconds, step_ms; /* step_ms: median */
    int64_t parameters;
    int64_t predicted_bytes; /* of memory, of the whole program at its peak */
} train_outcome;

bool cli_train_join(char out[TRAIN_PATH_BYTES], const char *directory, const char *file);

/* ---- train_run.c ---------------------------------------------------------------------------- */

/* Trains number `run` of request->seeds in `directory` and leaves its files there. Returns -1, or
 * the exit code with the message printed. */
int cli_train_run(const train_request *request, const pgcn_dataset *data, const pgcn_config *config,
                  const char *directory, long long run, train_outcome *out);

/* ---- train_memory.c ------------------------------------------------------------------------- */

int64_t cli_train_resident_bytes(void); /* memory of the program at this moment */
/* The peak that the program will come to, and a line or a warning about it. `resident` is what it had
 * before the trainer was made. */
int64_t cli_train_predict(const train_request *request, const pgcn_trainer *trainer,
                          int64_t resident, bool first);

/* ---- train_report.c ------------------------------------------------------------------------- */

/* The epoch that validation chose, the best test epoch beside it, and the median step. */
void cli_train_summarise(const pgcn_trainer *trainer, train_outcome *out);
/* result.json of a run, whose settings started from `recipe`; and the times in it, which a finished run cannot measure again. */
json_t *cli_train_outcome_to_json(const train_outcome *outcome, const pgcn_recipe_info *recipe);
void cli_train_recall_times(const char *result_path, train_outcome *outcome);
void cli_train_print_table(const train_request *request, const pgcn_dataset_info *info,
                           const train_outcome *runs);
json_t *cli_train_summary(const train_request *request, const pgcn_dataset_info *info,
                          const pgcn_config *config, const train_outcome *runs);

#endif
