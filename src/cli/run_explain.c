/* Why a run was so sure of its worst errors: what speaks for the class that was predicted over the true
 * one, by nodes and by hops (pgcn_model_explain). */
#include "cli/run_report.h"

#include <stdlib.h>

enum { NODES = 10, NAME_BYTES = 64, MOST_HOPS = 6, MOST_ROWS = 20000 };

static void node_name(const cli_run *run, int64_t node, char out[32]) {
    const char *id = pgcn_dataset_node_id(run->data, node);
    if (id)
        snprintf(out, 32, "%.28s", id);
    else
        snprintf(out, 32, "%lld", (long long)cli_node_number(run->data, node));
}

/* The nodes that contribute most: "12: Theory, 2 links away". */
static void draw_nodes(report_page *page, const cli_run *run, const pgcn_explanation *e, int rank) {
    const int32_t *label = e->is_graph ? NULL : pgcn_dataset_labels(run->data);
    char text[NODES][NAME_BYTES], file[32];
    const char *name[NODES];
    double sum[NODES], place[NODES];
    int count = 0;
    for (; count < NODES && count < e->nodes; count++) {
        const pgcn_node_share *share = &e->node[count];
        char node[32];
        node_name(run, share->node, node);
        if (!e->is_graph && share->node == e->item)
            snprintf(text[count], NAME_BYTES, "%s, itself", node);
        else if (label && label[share->node] >= 0)
            snprintf(text[count], NAME_BYTES, "%s (%.12s), %d away", node,
                     cli_run_class(run, label[share->node]), share->distance);
        else
            snprintf(text[count], NAME_BYTES, "node %s", node);
        name[count] = text[count];
        sum[count] = share->sum;
        place[count] = count;
    }
    report_series bars = {.count = count, .x = sum, .y = place, .draw = REPORT_DRAW_BARS};
    report_chart chart = {.x = {.title = "contribution to the difference of the logits"},
                          .y = {.scale = REPORT_NAMES, .name = name, .names = count},
                          .series = &bars,
                          .count = 1,
                          .height = 60 + 18 * count};
    snprintf(file, sizeof file, "error-%d-nodes", rank);
    if (count > 0)
        report_figure(page, file, "The nodes that contribute most, with class and links.", &chart);
}

/* By the hops of all layers together; the constants of the network are what is left. */
static void draw_hops(report_page *page, const pgcn_explanation *e, int rank) {
    char text[MOST_HOPS + 1][NAME_BYTES], file[32];
    const char *name[MOST_HOPS + 2];
    double sum[MOST_HOPS + 2] = {0}, place[MOST_HOPS + 2];
    int last = e->hops < MOST_HOPS ? e->hops : MOST_HOPS;
    for (int h = 0; h <= e->hops; h++) sum[h < last ? h : last] += e->of_hop[h];
    for (int h = 0; h <= last; h++) {
        snprintf(text[h], NAME_BYTES, h < last ? "%d hops" : "%d hops or more", h);
        name[h] = text[h];
        place[h] = h;
    }
    name[last + 1] = "constants";
    sum[last + 1] = e->biases + e->norms;
    place[last + 1] = last + 1;
    report_series bars = {.count = last + 2, .x = sum, .y = place, .draw = REPORT_DRAW_BARS};
    report_chart chart = {.x = {.title = "contribution to the difference of the logits"},
                          .y = {.scale = REPORT_NAMES, .name = name, .names = last + 2},
                          .series = &bars,
                          .count = 1,
                          .height = 60 + 18 * (last + 2)};
    snprintf(file, sizeof file, "error-%d-hops", rank);
    report_figure(page, file, "From how far it comes.", &chart);
}

void cli_report_explain(report_page *page, const cli_run *run, int64_t item, int truth, int rank) {
    pgcn_explain_opts opts = pgcn_explain_opts_default();
    pgcn_explanation *e = NULL;
    char node[32];
    if (run->info.nodes > MOST_ROWS) return; /* the page is to be there in two seconds */
    opts.against = truth;
    opts.removals = 0;
    opts.pairs = 0;
    opts.hops = MOST_HOPS; /* more planes take more time, and are not drawn */
    if (pgcn_model_explain(run->model, run->data, item, &opts, &e) != PGCN_OK) return;
    if (e->is_graph)
        snprintf(node, sizeof node, "%lld", (long long)item);
    else
        node_name(run, item, node);
    report_paragraph(
        page,
        "Why %s %s was predicted as %s and not as %s: the logits differ by %.2f. Bars to "
        "the right speak for the prediction, bars to the left for the true class; those "
        "by hops and the constants add up to the difference.",
        e->is_graph ? "graph" : "node", node, cli_run_class(run, e->target),
        cli_run_class(run, truth), e->logit);
    report_figures_open(page);
    draw_nodes(page, run, e, rank);
    draw_hops(page, e, rank);
    report_figures_close(page);
    pgcn_explanation_free(e);
}
