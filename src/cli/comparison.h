/* Runs side by side: the results of the trainings of each, and how far the others differ from the first.
 * Read by `compare` and by the report of several runs. */
#ifndef PGCN_CLI_COMPARISON_H
#define PGCN_CLI_COMPARISON_H

#include "cli/cli.h"

/* The result of one training. */
typedef struct cli_record {
    json_int_t seed;
    char split[65];                 /* SHA-256 of its masks */
    double value;                   /* in percent */
    double train_items, test_items; /* NaN: the run is older than these figures */
} cli_record;

/* The run in a directory, or all of its folders seed-S. */
typedef struct cli_results {
    const char *directory;
    int count;
    cli_record *record;
    double mean, deviation; /* deviation NaN: one training */
    char task[16];
    json_t *classes; /* their names; NULL: the run is older than these */
} cli_results;

/* Which figure is read: of validation or test items. */
typedef struct cli_figure {
    const char *part, *measure;
    char key[64]; /* of result.json: "test_macro_f1" */
} cli_figure;

typedef enum cli_pairing { CLI_BY_SEED, CLI_BY_SPLIT, CLI_NO_PAIRS } cli_pairing;
extern const char *const cli_pairing_words[]; /* "seed and split", "split", "none" */

/* A run against the first one. */
typedef struct cli_difference {
    cli_pairing pairing;
    int pairs;
    double mean, error; /* error: standard error of the mean; NaN: too few trainings */
    int freedom;
    double p, adjusted; /* NaN: too few trainings */
    bool corrected;     /* for splits that overlap */
    bool correctable;   /* false: an older result does not tell how many items its splits have */
} cli_difference;

/* Checks part and measure, and makes the key. */
pgcn_status cli_figure_check(const cli_command *command, cli_figure *figure);
/* Free it, also after an error. */
pgcn_status cli_results_read(const cli_command *command, const cli_figure *figure,
                             const char *directory, cli_results *out);
void cli_results_free(cli_results *results);
/* Figures of other tasks, or of other classes, answer another question. */
bool cli_results_alike(const cli_results *a, const cli_results *b);
/* Refuses runs that are not alike. d[i - 1]: run i against run 0, with p-values adjusted by Holm's rule. */
pgcn_status cli_results_compare(const cli_command *command, const cli_results *runs, int count,
                                cli_difference *d);
/* "B against A: +1.20 (standard error ...): better." and what has to be said about it, sentence by
 * sentence. */
void cli_difference_print(FILE *out, const cli_results *first, const cli_results *other,
                          const cli_difference *d, bool several);

#endif
