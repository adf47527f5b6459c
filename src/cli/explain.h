/* What the files of pathgcn explain share: cmd_explain.c asks, explain_print.c writes tables and JSON, explain_picture.c
 * draws. The report uses the picture too. */
#ifndef PGCN_CLI_EXPLAIN_H
#define PGCN_CLI_EXPLAIN_H

#include "cli/cli.h"
#include "report/drawing.h"

typedef struct cli_explained {
    const pgcn_model *model;
    const pgcn_dataset *data;
    const pgcn_explanation *explanation;
    const pgcn_explanation *contrast; /* the same over the second most probable class; or NULL */
    int64_t top;                      /* nodes and features that are listed; 0: all */
} cli_explained;

/* How many of `count` are listed. */
int64_t cli_explain_listed(const cli_explained *x, int64_t count);
/* The name of a node, class or feature, or its number: at most `bytes`. */
void cli_explain_node(const cli_explained *x, int64_t node, char *out, size_t bytes);
void cli_explain_class(const cli_explained *x, int class, char *out, size_t bytes);
void cli_explain_feature(const cli_explained *x, int64_t column, char *out, size_t bytes);
void cli_explain_print(const cli_explained *x);
json_t *cli_explain_to_json(const cli_explained *x);

/* ---- explain_picture.c ---- */

/* The strongest nodes around a node and the shortest paths to them, or all nodes of a graph. Links are as wide as what
 * the nodes behind them contribute. */
typedef struct cli_explain_picture {
    report_picture picture; /* its context is this struct, which must stay where it is */
    report_network network;
    report_node *node;
    report_link *link;
    char (*text)[96]; /* labels and tips */
} cli_explain_picture;
/* PGCN_ERR_ARGUMENT if there are too many nodes to draw, with the reason in `why` [bytes]. */
pgcn_status cli_explain_picture_open(cli_explain_picture *picture, const cli_explained *x,
                                     char *why, size_t bytes);
void cli_explain_picture_close(cli_explain_picture *picture);

#endif
