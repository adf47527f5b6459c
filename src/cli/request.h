/* What the commands that run a model read from the command line, and what they load: the model, or several whose mean is
 * wanted, and the data set that it names or another. */
#ifndef PGCN_CLI_REQUEST_H
#define PGCN_CLI_REQUEST_H

#include "cli/cli.h"

typedef struct cli_request {
    cli_source source;
    const char *inference_text, *seed_text, *threads_text, *memory_text;
    bool json;
    cli_progress progress;    /* of features that stay on disk */
    double done, part, whole; /* items: predicted, being predicted, all; whole 0: in one go */
    pgcn_inference inference;
    pgcn_model *model;
    int models; /* 2 or more: their mean is wanted; 0: the command takes one */
    pgcn_model *member[CLI_MAX_WORDS]; /* the first of them is `model` */
    pgcn_dataset *data;
} cli_request;

/* clang-format off */
#define CLI_REQUEST_OPTIONS(r)                                                                     \
    CLI_SOURCE_OPTIONS((r).source),                                                                \
    {"inference", "deterministic | stochastic:N", "deterministic",                                 \
     "the exact operator, or the mean of N draws", &(r).inference_text, NULL},                     \
    {"seed", "S", "0", "seed of the stochastic draws", &(r).seed_text, NULL},                      \
    {"threads", "T", "0", "threads; 0: one per core", &(r).threads_text, NULL}
/* Of those that can leave features on disk. */
#define CLI_REQUEST_MEMORY(r)                                                                      \
    {"memory", "SIZE", NULL,                                                                       \
     "within so much memory, 512M or 4G (MiB, GiB), on a container (FILE.pgcn) whose features "    \
     "stay on disk. Same bits as in memory", &(r).memory_text, NULL}
/* clang-format on */

extern const cli_request cli_empty_request;
/* Free it after an error too. */
pgcn_status cli_request_load(const cli_command *command, const cli_arguments *arguments,
                             cli_request *r);
void cli_request_free(cli_request *r);
/* Refuses to write over a model that was read; `path` NULL: nothing is written. */
pgcn_status cli_request_check_output(const cli_command *command, const cli_arguments *arguments,
                                     const cli_request *r, const char *option, const char *path);
/* Shows what is computed on features that stay on disk, and ends it at Ctrl-C. Until the other is called, which tells
 * what was read. Both do nothing where features are in memory. */
pgcn_status cli_request_watch(const cli_command *command, cli_request *r);
void cli_request_unwatch(cli_request *r);

#endif
