/* What the commands that run a model read from the command line, and what they load: the model, and the data set
 * that it names or another. */
#ifndef PGCN_CLI_REQUEST_H
#define PGCN_CLI_REQUEST_H

#include "cli/cli.h"

typedef struct cli_request {
    cli_source source;
    const char *inference_text, *seed_text, *threads_text;
    bool json;
    pgcn_inference inference;
    pgcn_model *model;
    pgcn_dataset *data;
} cli_request;

/* clang-format off */
#define CLI_REQUEST_OPTIONS(r)                                                                     \
    CLI_SOURCE_OPTIONS((r).source),                                                                \
    {"inference", "deterministic | stochastic:N", "deterministic",                                 \
     "the exact operator, or the mean of N draws", &(r).inference_text, NULL},                     \
    {"seed", "S", "0", "seed of the stochastic draws", &(r).seed_text, NULL},                      \
    {"threads", "T", "0", "threads; 0: one per core", &(r).threads_text, NULL}
/* clang-format on */

extern const cli_request cli_empty_request;
/* Free it after an error too. */
pgcn_status cli_request_load(const cli_command *command, const cli_arguments *arguments,
                             cli_request *r);
void cli_request_free(cli_request *r);

#endif
