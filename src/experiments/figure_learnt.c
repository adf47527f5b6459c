/* Figure 4: the operators that a network of 8 layers has learnt, around one node, with their kernels below; and what all
 * layers do one after the other if nothing else is between them. */
#include "experiments/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HOPS = 2, WANTED_NODES = 24, MOST_LAYERS = 8 };

/* A node with its neighbours and theirs. */
typedef struct area {
    int64_t origin, nodes, edges;
    int64_t *node;      /* [nodes] in the graph; the origin is the first */
    int64_t *from, *to; /* [edges] places in `node` */
    double *x, *y;      /* [nodes] */
} area;

/* ---- a node to look at ------------------------------------------------------------------------------ */

/* The nodes within HOPS steps, in the order of their steps. `seen` [n] is 0 before and after. */
static int64_t gather(const pgcn_graph *graph, int64_t origin, int64_t most, int64_t *node,
                      uint8_t *seen) {
    const int64_t *offset;
    const pgcn_node *neighbour;
    int64_t count = 0, end = 1;
    pgcn_graph_csr(graph, &offset, &neighbour, NULL);
    node[count++] = origin;
    seen[origin] = 1;
    for (int hop = 0, at = 0; hop < HOPS; hop++, end = count)
        for (; at < end; at++)
            for (int64_t e = offset[node[at]]; e < offset[node[at] + 1] && count < most; e++) {
                if (seen[neighbour[e]]) continue;
                seen[neighbour[e]] = 1;
                node[count++] = neighbour[e];
            }
    for (int64_t i = 0; i < count; i++) seen[node[i]] = 0;
    return count;
}

/* The first node with three to six neighbours whose surroundings are nearest to a size that is read well. */
static int64_t choose_origin(const pgcn_graph *graph, int64_t *node, uint8_t *seen) {
    const int64_t *offset;
    int64_t best = 0, best_off = INT64_MAX;
    pgcn_graph_csr(graph, &offset, NULL, NULL);
    for (int64_t i = 0; i < pgcn_graph_nodes(graph); i++) {
        int64_t degree = offset[i + 1] - offset[i];
        int64_t size = gather(graph, i, 4 * WANTED_NODES, node, seen);
        int64_t off = llabs(size - WANTED_NODES) + (degree < 3 || degree > 6 ? WANTED_NODES : 0);
        if (off >= best_off) continue;
        best = i;
        best_off = off;
    }
    return best;
}

/* The links among the nodes of the area, each once. */
static void list_links(exp_figure *f, const pgcn_graph *graph, area *a) {
    const int64_t *offset;
    const pgcn_node *neighbour;
    int64_t most = 0;
    pgcn_graph_csr(graph, &offset, &neighbour, NULL);
    for (int64_t i = 0; i < a->nodes; i++) most += offset[a->node[i] + 1] - offset[a->node[i]];
    a->from = EXP_KEEP(f, int64_t, most);
    a->to = EXP_KEEP(f, int64_t, most);
    if (f->failed) return;
    for (int64_t i = 0; i < a->nodes; i++)
        for (int64_t e = offset[a->node[i]]; e < offset[a->node[i] + 1]; e++)
            for (int64_t j = i + 1; j < a->nodes; j++)
                if (a->node[j] == neighbour[e]) {
                    a->from[a->edges] = i;
                    a->to[a->edges++] = j;
                }
}

static pgcn_status find_area(exp_figure *f, const pgcn_graph *graph, area *a) {
    int64_t n = pgcn_graph_nodes(graph);
    int64_t *node = EXP_KEEP(f, int64_t, n > 4 * WANTED_NODES ? n : 4 * WANTED_NODES);
    uint8_t *seen = EXP_KEEP(f, uint8_t, n);
    if (f->failed) return PGCN_ERR_MEMORY;
    *a = (area){.node = node, .origin = choose_origin(graph, node, seen)};
    a->nodes = gather(graph, a->origin, 4 * WANTED_NODES, node, seen);
    list_links(f, graph, a);
    a->x = EXP_KEEP(f, double, a->nodes);
    a->y = EXP_KEEP(f, double, a->nodes);
    if (f->failed) return PGCN_ERR_MEMORY;
    report_graph among = {a->nodes, a->edges, a->from, a->to};
    return report_layout(&among, false, a->x, a->y) ? PGCN_OK : PGCN_ERR_MEMORY;
}

/* ---- operators ------------------------------------------------------------------------------------ */

typedef struct learnt {
    const pgcn_config *config;
    bool one; /* the first channel; else the mean over all */
    int64_t n;
    pgcn_visits *visits;
    double *mean, *deviation;         /* [layers, k] of the kernel over the channels */
    double *row;                      /* [layers + 1, n]: of each layer, and of all */
    int smooth, difference, negative; /* kernels of all channels and layers: cli_kernel_effect */
} learnt;

static pgcn_status open_learnt(exp_figure *f, const pgcn_model *model, const pgcn_graph *graph,
                               learnt *out) {
    const pgcn_config *config = pgcn_model_config(model);
    size_t weights = (size_t)config->path_length * (size_t)config->channels;
    size_t layers = (size_t)config->layers;
    *out = (learnt){.config = config,
                    .one = config->kernel_start == PGCN_START_RANDOM,
                    .n = pgcn_graph_nodes(graph)};
    out->mean = EXP_KEEP(f, double, layers *(size_t)config->path_length);
    out->deviation = EXP_KEEP(f, double, layers *(size_t)config->path_length);
    out->row = EXP_KEEP(f, double, (layers + 1) * (size_t)out->n);
    float *weight = EXP_KEEP(f, float, weights);
    if (f->failed) return PGCN_ERR_MEMORY;
    for (int l = 0; l < config->layers; l++) {
        pgcn_status status = pgcn_model_kernel(model, l, weight);
        if (status != PGCN_OK) return status;
        cli_kernel_effect effect =
            cli_kernel_measure(weight, config->path_length, config->channels);
        out->smooth += effect.smooth;
        out->difference += effect.difference;
        out->negative += effect.negative;
        for (int i = 0; i < config->path_length; i++) {
            exp_tally tally = {0};
            for (int c = 0; c < (out->one ? 1 : config->channels); c++)
                exp_tally_add(&tally, (double)weight[(int64_t)i * config->channels + c]);
            exp_spread spread = exp_tally_spread(&tally);
            out->mean[l * config->path_length + i] = spread.mean;
            out->deviation[l * config->path_length + i] = spread.deviation;
        }
    }
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    opts.walk = config->walk;
    opts.length = config->path_length;
    opts.may_stay = config->self_loops;
    opts.threads = 1;
    return pgcn_visits_new(graph, &opts, config->scaling, PGCN_FORM_EXACT, &out->visits);
}

static pgcn_status fill_rows(learnt *m, int64_t origin) {
    int k = m->config->path_length, layers = m->config->layers;
    for (int l = 0; l < layers; l++) {
        pgcn_status status =
            exp_operator_row(m->visits, m->n, m->mean + l * k, origin, m->row + l * m->n);
        if (status != PGCN_OK) return status;
    }
    return exp_operator_compose(m->visits, m->n, m->config, m->mean, origin,
                                m->row + layers * m->n);
}

/* ---- panels --------------------------------------------------------------------------------------- */

/* The largest weight of a drawn node that is not the origin. */
static double most_beside(const area *a, const double *row) {
    double most = 0;
    for (int64_t i = 1; i < a->nodes; i++) most = fmax(most, fabs(row[a->node[i]]));
    return most;
}

static void put_area(exp_figure *f, const pgcn_dataset *data, const area *a, const double *row,
                     double most, exp_panel *panel) {
    report_node *node = EXP_KEEP(f, report_node, a->nodes);
    report_link *link = EXP_KEEP(f, report_link, a->edges);
    if (!panel || !node || !link) return;
    for (int64_t i = 0; i < a->nodes; i++) {
        const char *id = pgcn_dataset_node_id(data, a->node[i]);
        double weight = row[a->node[i]];
        node[i] = (report_node){.x = a->x[i], .y = a->y[i], .value = weight, .origin = i == 0};
        if (i == 0) node[i].label = exp_figure_text(f, "%.3g", weight);
        node[i].tip =
            id ? exp_figure_text(f, "node %s: weight %.4g", id, weight)
               : exp_figure_text(f, "node %lld: weight %.4g", (long long)a->node[i], weight);
        exp_figure_row(f, json_pack("{s:s, s:I, s:i, s:f}", "panel", panel->title, "node",
                                    (json_int_t)a->node[i], "origin", i == 0, "weight", weight));
    }
    for (int64_t e = 0; e < a->edges; e++)
        link[e] = (report_link){.from = a->from[e], .to = a->to[e]};
    panel->has_graph = true;
    panel->graph = (report_network){.nodes = a->nodes,
                                    .links = a->edges,
                                    .node = node,
                                    .link = link,
                                    .radius = 7,
                                    .palette = REPORT_DIVERGING,
                                    .fixed = true,
                                    .low = -most,
                                    .high = most,
                                    .value_title = "weight"};
}

static void put_kernel(exp_figure *f, const learnt *m, int l, exp_panel *panel) {
    int k = m->config->path_length;
    const double *mean = m->mean + l * k, *deviation = m->deviation + l * k;
    report_series *series = EXP_KEEP(f, report_series, 1);
    double *low = EXP_KEEP(f, double, k), *high = EXP_KEEP(f, double, k);
    const char **name = EXP_KEEP(f, const char *, k);
    double least = 0, most = 0; /* of all layers, to compare them */
    if (!panel || !series || !low || !high || !name) return;
    for (int i = 0; i < k * m->config->layers; i++) {
        least = fmin(least, 1.05 * (m->mean[i] - m->deviation[i]));
        most = fmax(most, 1.05 * (m->mean[i] + m->deviation[i]));
    }
    for (int i = 0; i < k; i++) {
        low[i] = mean[i] - deviation[i];
        high[i] = mean[i] + deviation[i];
        name[i] = exp_figure_text(f, "s%d", i);
        exp_figure_row(f,
                       json_pack("{s:s, s:i, s:i, s:f, s:f}", "panel", panel->title, "layer", l + 1,
                                 "step", i, "kernel", mean[i], "deviation", deviation[i]));
    }
    series[0] = (report_series){.count = k,
                                .y = mean,
                                .low = m->one ? NULL : low,
                                .high = m->one ? NULL : high,
                                .draw = REPORT_DRAW_BARS | REPORT_DRAW_WHISKERS};
    panel->has_chart = true;
    panel->chart = (report_chart){.about = exp_figure_text(f, "Kernel of layer %d", l + 1),
                                  .width = panel->width,
                                  .height = panel->height - panel->graph_height,
                                  .x = {.scale = REPORT_NAMES, .name = name, .names = k},
                                  .y = {.fixed = true, .low = least, .high = most},
                                  .series = series,
                                  .count = 1,
                                  .legend = REPORT_LEGEND_NONE};
}

static double drawn_share(const area *a, const double *row, int64_t n) {
    double drawn = 0, all = 0;
    for (int64_t i = 0; i < a->nodes; i++) drawn += fabs(row[a->node[i]]);
    for (int64_t i = 0; i < n; i++) all += fabs(row[i]);
    return all > 0 ? drawn / all : 0;
}

static void put_panels(exp_figure *f, const pgcn_dataset *data, const area *a, const learnt *m) {
    enum { WIDTH = 250, GRAPH = 225, CHART = 110 };
    int layers = m->config->layers < MOST_LAYERS ? m->config->layers : MOST_LAYERS;
    double most = 0;
    for (int l = 0; l < layers; l++) most = fmax(most, most_beside(a, m->row + l * m->n));
    if (most <= 0) most = 1;
    for (int l = 0; l < layers; l++) {
        if (!m->one && l > 0 && l < layers - 1) continue; /* mean kernels hardly differ */
        exp_panel *panel = exp_figure_panel(
            f, WIDTH, GRAPH + CHART, m->one ? "layer %d, paper's settings" : "layer %d", l + 1);
        if (panel) panel->graph_height = GRAPH;
        put_area(f, data, a, m->row + l * m->n, most, panel);
        put_kernel(f, m, l, panel);
    }
    const double *all = m->row + m->config->layers * m->n;
    exp_panel *panel = exp_figure_panel(
        f, WIDTH, GRAPH, m->one ? "all %d layers, paper's settings" : "all %d layers",
        m->config->layers);
    double own = most_beside(a, all);
    put_area(f, data, a, all, own > 0 ? own : 1, panel);
}

/* ---- words ---------------------------------------------------------------------------------------- */

static void say_model(exp_figure *f, const exp_cell *cell, const area *a, const learnt *m,
                      double accuracy) {
    const double *all = m->row + m->config->layers * m->n;
    report_putf(
        &f->measured,
        "%s%s, %s, %d layers, seed %llu (%.1f %% of the test nodes right): of %d kernels of all channels and layers "
        "%d smooth, %d let differences of neighbours pass better than means, and %d have a negative weight after "
        "the first. The %lld drawn nodes have %.0f %% of the weight of layer 1 and %.0f %% of that of all layers.",
        f->measured.length > 0 ? " " : "", cell->dataset,
        m->one ? "the paper's settings" : "its recipe", m->config->layers,
        (unsigned long long)m->config->seed, accuracy, m->config->layers * m->config->channels,
        m->smooth, m->difference, m->negative, (long long)a->nodes,
        100 * drawn_share(a, m->row, m->n), 100 * drawn_share(a, all, m->n));
}

static void say(exp_figure *f, const area *a) {
    report_putf(
        &f->seen,
        "rows of the operators around node %lld (dashed), with its neighbours and theirs, placed by %s. Of each layer: K_l = "
        "sum_i s_i T^i, T being the transition matrix of the model, and s the kernel that stands below: with the recipe "
        "of the data set the mean over the channels and its deviation, because all channels start at the same smoothing "
        "kernel and decay towards it; with the paper's settings, where kernels start at random, the first channel. Blue "
        "is negative, orange positive; the weight of the node itself is beside it, and colours end at the largest weight of "
        "another node. All layers: the composition M_l+1 = (1 - alpha) K_l M_l + alpha R of these kernels, R as the "
        "residual of the model, with the 1x1 convolutions and ReLUs between the layers left out.",
        (long long)a->origin, report_layout_engine());
    report_put(
        &f->paper,
        "operators of an 8-layer pathGCN on Cora around a node, and the weights below: some layers average, others "
        "take differences of neighbours. It does not say which channel or mean is drawn.");
}

/* Why a model has no such operator; NULL: it has. */
static const char *cannot(const pgcn_config *config) {
    if (strcmp(pgcn_network_name(config->model), "pathgcn") != 0)
        return "the network has no kernels";
    if (config->walk == PGCN_WALK_NODE2VEC) return "node2vec walks have no exact operator";
    if (config->scaling == PGCN_SCALING_SUM) return "sums over neighbours are no mean over walks";
    return NULL;
}

static pgcn_status draw_model(const exp_drawn *from, exp_figure *f, const exp_cell *cell,
                              const area *a) {
    pgcn_model *model = NULL;
    learnt m = {0};
    pgcn_status status = exp_drawn_model(from, cell, 0, &model);
    if (status != PGCN_OK) return status;
    const char *why = model ? cannot(pgcn_model_config(model)) : "its training is not done";
    if (why) snprintf(f->skipped, sizeof f->skipped, "%s", why);
    if (!why) status = open_learnt(f, model, pgcn_dataset_graph(cell->data->data), &m);
    if (!why && status == PGCN_OK) status = fill_rows(&m, a->origin);
    if (!why && status == PGCN_OK) {
        put_panels(f, cell->data->data, a, &m);
        say_model(f, cell, a, &m, exp_summarise(from->jobs, cell).test.mean);
    }
    pgcn_visits_free(m.visits);
    pgcn_model_free(model);
    return status;
}

/* One data set: the first one, with both settings. */
pgcn_status exp_draw_figure_4(const exp_drawn *from, exp_figure *f) {
    const exp_cell *cell = exp_next_cell(from, f, EXP_FIGURE_4, NULL);
    const exp_data *data = cell ? cell->data : NULL;
    int layers = cell ? cell->config.layers : 0;
    area a;
    f->columns = 4;
    if (!cell) return PGCN_OK;
    pgcn_status status = find_area(f, pgcn_dataset_graph(data->data), &a);
    for (; cell && status == PGCN_OK; cell = exp_next_cell(from, f, EXP_FIGURE_4, cell))
        if (cell->data == data && cell->config.layers == layers)
            status = draw_model(from, f, cell, &a);
    if (status == PGCN_OK) say(f, &a);
    if (from->request->quick) f->quick = "A quick run: at most 60 epochs.";
    return status;
}
