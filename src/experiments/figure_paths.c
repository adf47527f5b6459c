/* Figure 1: what a kernel is on four graphs. Figure 2: what few and many walks make of it. Both kernels are [0.8, 1,
 * 0.6], a path of three nodes. Nothing is trained: the operators are those of the library. */
#include "experiments/figures.h"

#include <math.h>
#include <stdlib.h>

enum { K = 3, MOST_NODES = 49, MOST_EDGES = 200 };
static const double kernel[K] = {0.8, 1.0, 0.6};
/* Colours end here: what a node with two neighbours takes from each after one step. The origin has more. */
#define MOST_BESIDE 0.5

/* A small graph with places. */
typedef struct sketch {
    const char *name;
    int64_t nodes, edges, origin;
    pgcn_node from[MOST_EDGES], to[MOST_EDGES];
    double x[MOST_NODES], y[MOST_NODES];
} sketch;

static void join(sketch *s, int64_t a, int64_t b) {
    s->from[s->edges] = (pgcn_node)a;
    s->to[s->edges++] = (pgcn_node)b;
}

static void make_grid(sketch *s) {
    enum { SIDE = 7 };
    *s = (sketch){.name = "grid", .nodes = SIDE * SIDE, .origin = SIDE * SIDE / 2};
    for (int64_t i = 0; i < s->nodes; i++) {
        s->x[i] = (double)(i % SIDE);
        s->y[i] = (double)(i / SIDE);
        if (i % SIDE < SIDE - 1) join(s, i, i + 1);
        if (i + SIDE < s->nodes) join(s, i, i + SIDE);
    }
}

static void make_path(sketch *s) {
    *s = (sketch){.name = "path", .nodes = 9, .origin = 4};
    for (int64_t i = 0; i < s->nodes; i++) {
        s->x[i] = (double)i;
        if (i > 0) join(s, i - 1, i);
    }
}

static void make_ring(sketch *s) {
    *s = (sketch){.name = "ring", .nodes = 12, .origin = 0};
    for (int64_t i = 0; i < s->nodes; i++) {
        double angle = 2 * 3.141592653589793 * (double)i / (double)s->nodes;
        s->x[i] = sin(angle);
        s->y[i] = -cos(angle);
        join(s, i, (i + 1) % s->nodes);
    }
}

/* A number of -1 .. 1 that depends on `i` alone (the finaliser of SplitMix64). */
static double jitter(uint64_t i) {
    i = (i + 1) * 0x9e3779b97f4a7c15u;
    i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
    i = (i ^ (i >> 27)) * 0x94d049bb133111ebu;
    return (double)((i ^ (i >> 31)) >> 11) / 4503599627370496.0 - 1;
}

/* Points of a grid that were pushed, joined where no third point is in the circle over their line (Gabriel graph):
 * degrees differ, lines do not cross. */
static void make_irregular(sketch *s) {
    enum { WIDE = 6, HIGH = 5 };
    *s = (sketch){.name = "irregular graph", .nodes = WIDE * HIGH, .origin = 14};
    for (int64_t i = 0; i < s->nodes; i++) {
        s->x[i] = (double)(i % WIDE) + 0.28 * jitter(2 * (uint64_t)i);
        s->y[i] = (double)(i / WIDE) + 0.28 * jitter(2 * (uint64_t)i + 1);
    }
    for (int64_t a = 0; a < s->nodes; a++)
        for (int64_t b = a + 1; b < s->nodes; b++) {
            double x = (s->x[a] + s->x[b]) / 2, y = (s->y[a] + s->y[b]) / 2;
            double radius = hypot(s->x[a] - x, s->y[a] - y);
            bool empty = true;
            for (int64_t c = 0; c < s->nodes && empty; c++)
                empty = c == a || c == b || hypot(s->x[c] - x, s->y[c] - y) >= radius;
            if (empty) join(s, a, b);
        }
}

static pgcn_status open_graph(const sketch *s, pgcn_graph **out) {
    return pgcn_graph_from_edges(s->nodes, s->edges, s->from, s->to, NULL, NULL, out);
}

static pgcn_status open_visits(const pgcn_graph *graph, int paths, pgcn_visits **out) {
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    opts.length = K;
    opts.paths = paths > 0 ? paths : 1;
    opts.threads = 1;
    return pgcn_visits_new(graph, &opts, PGCN_SCALING_WALK,
                           paths > 0 ? PGCN_FORM_SAMPLED : PGCN_FORM_EXACT, out);
}

/* The row of the origin, exact. */
static pgcn_status exact_row(const sketch *s, double *row) {
    pgcn_graph *graph = NULL;
    pgcn_visits *visits = NULL;
    pgcn_status status = open_graph(s, &graph);
    if (status == PGCN_OK) status = open_visits(graph, 0, &visits);
    if (status == PGCN_OK) status = exp_operator_row(visits, s->nodes, kernel, s->origin, row);
    pgcn_visits_free(visits);
    pgcn_graph_free(graph);
    return status;
}

/* ---- panels --------------------------------------------------------------------------------------- */

enum { PANEL_WIDTH = 250, PANEL_HEIGHT = 290 };

static void add_panel(exp_figure *f, const sketch *s, const double *row, const char *title) {
    exp_panel *panel = exp_figure_panel(f, PANEL_WIDTH, PANEL_HEIGHT, "%s", title);
    report_node *node = EXP_KEEP(f, report_node, s->nodes);
    report_link *link = EXP_KEEP(f, report_link, s->edges);
    if (!panel || !node || !link) return;
    for (int64_t i = 0; i < s->nodes; i++) {
        node[i] = (report_node){.x = s->x[i],
                                .y = s->y[i],
                                .value = row[i] != 0 ? row[i] : (double)NAN,
                                .origin = i == s->origin};
        node[i].tip = exp_figure_text(f, "node %d: weight %.4g%s", (int)i, row[i],
                                      i == s->origin ? ", the origin" : "");
        exp_figure_row(f, json_pack("{s:s, s:i, s:i, s:f, s:f, s:f}", "panel", title, "node",
                                    (int)i, "origin", i == s->origin, "x", s->x[i], "y", s->y[i],
                                    "weight", row[i]));
    }
    for (int64_t e = 0; e < s->edges; e++)
        link[e] = (report_link){.from = s->from[e], .to = s->to[e], .width = 1.25};
    panel->has_graph = true;
    panel->graph = (report_network){.nodes = s->nodes,
                                    .links = s->edges,
                                    .node = node,
                                    .link = link,
                                    .fixed = true,
                                    .high = MOST_BESIDE,
                                    .value_title = "weight"};
}

/* ---- Figure 1 ------------------------------------------------------------------------------------ */

pgcn_status exp_draw_figure_1(const exp_drawn *from, exp_figure *f) {
    static void (*const make[])(sketch *) = {make_grid, make_path, make_ring, make_irregular};
    enum { GRAPHS = sizeof make / sizeof *make };
    double row[GRAPHS][MOST_NODES];
    sketch *s = EXP_KEEP(f, sketch, GRAPHS);
    (void)from;
    f->columns = GRAPHS;
    if (!s) return PGCN_ERR_MEMORY;
    for (int g = 0; g < GRAPHS; g++) {
        make[g](&s[g]);
        pgcn_status status = exact_row(&s[g], row[g]);
        if (status != PGCN_OK) return status;
    }
    for (int g = 0; g < GRAPHS; g++) {
        double sum = 0, own = row[g][s[g].origin];
        add_panel(f, &s[g], row[g], s[g].name);
        for (int64_t i = 0; i < s[g].nodes; i++) sum += row[g][i];
        report_putf(&f->measured, "%s%s: %.3f of %.3f stay at the origin", g > 0 ? "; " : "",
                    s[g].name, own, sum);
    }
    report_put(&f->measured,
               ". All operators add up to 0.8 + 1.0 + 0.6 = 2.4, because the weights of a "
               "step add up to 1.");
    report_put(
        &f->seen,
        "the weights with which a node (dashed) takes the features of the others, for the same kernel [0.8, 1.0, "
        "0.6] on a grid, a path, a ring and an irregular graph: row j of sum_i s_i (D^-1 A)^i, in exact form. Empty nodes have no weight; colours end at 0.5, the largest weight of a node that is not the origin. The kernel says how much each step counts, the graph where it leads; a walk that "
        "returns after two steps adds to the origin, and a node with many neighbours gives each of them less.");
    report_put(
        &f->paper,
        "the spatial operator induced by a smoothing kernel on different graphs; the vertex with "
        "dashed outline is the path origin. Its graphs are not given, so these are ours.");
    return PGCN_OK;
}

/* ---- Figure 2 ------------------------------------------------------------------------------------ */

static double distance(int64_t n, const double *a, const double *b) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

/* The row of the first draw, and the root of the mean square of the distances of all draws from the exact row. */
static pgcn_status sample_rows(const sketch *s, const pgcn_graph *graph, int paths, int draws,
                               const double *exact, double *first, double *apart) {
    pgcn_visits *visits = NULL;
    double row[MOST_NODES], squares = 0;
    pgcn_status status = open_visits(graph, paths, &visits);
    for (int draw = 0; status == PGCN_OK && draw < draws; draw++) {
        status = pgcn_visits_sample(visits, 0, (uint64_t)draw);
        if (status == PGCN_OK)
            status = exp_operator_row(visits, s->nodes, kernel, s->origin, draw ? row : first);
        if (status != PGCN_OK) break;
        double d = distance(s->nodes, draw ? row : first, exact);
        squares += d * d / draws;
    }
    pgcn_visits_free(visits);
    *apart = sqrt(squares);
    return status;
}

static void add_distances(exp_figure *f, int count, const double *p, const double *apart,
                          double slope, int draws) {
    exp_panel *panel = exp_figure_panel(f, 360, PANEL_HEIGHT, "distance to the exact operator");
    report_series *series = EXP_KEEP(f, report_series, 2);
    double *x = EXP_KEEP(f, double, count), *y = EXP_KEEP(f, double, count);
    double *half = EXP_KEEP(f, double, count);
    if (!panel || !series || !x || !y || !half) return;
    for (int i = 0; i < count; i++) {
        x[i] = p[i];
        y[i] = apart[i];
        half[i] = 0.7 * apart[0] * sqrt(p[0] / p[i]); /* beside the line, not on it */
        exp_figure_row(f, json_pack("{s:s, s:f, s:f, s:i}", "panel", "distance", "paths", p[i],
                                    "distance", apart[i], "draws", draws));
    }
    series[0] =
        (report_series){.name = exp_figure_text(f, "%d draws each; slope %.3f", draws, slope),
                        .count = count,
                        .x = x,
                        .y = y,
                        .draw = REPORT_DRAW_LINE | REPORT_DRAW_POINTS};
    series[1] = (report_series){.name = "slope -1/2",
                                .count = count,
                                .x = x,
                                .y = half,
                                .draw = REPORT_DRAW_LINE | REPORT_DRAW_FAINT};
    panel->has_chart = true;
    panel->chart = (report_chart){.about = "The distance falls with the number of walks",
                                  .width = 360,
                                  .height = PANEL_HEIGHT,
                                  .x = {.title = "walks p", .scale = REPORT_LOG10},
                                  .y = {.title = "distance", .scale = REPORT_LOG10},
                                  .series = series,
                                  .count = 2};
}

static pgcn_status draw_samples(exp_figure *f, const sketch *s, const pgcn_graph *graph,
                                const double *exact, int draws) {
    static const double p[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
    enum { COUNT = sizeof p / sizeof *p };
    double apart[COUNT], row[COUNT][MOST_NODES];
    for (int i = 0; i < COUNT; i++) {
        pgcn_status status = sample_rows(s, graph, (int)p[i], draws, exact, row[i], &apart[i]);
        if (status != PGCN_OK) return status;
    }
    for (int i = 0; i < COUNT; i += 3)
        add_panel(f, s, row[i], exp_figure_text(f, "%g walk%s", p[i], p[i] > 1 ? "s" : ""));
    add_panel(f, s, exact, "exact");
    double slope = exp_log_slope(COUNT, p, apart);
    add_distances(f, COUNT, p, apart, slope, draws);
    report_putf(
        &f->measured,
        "over %d draws, the root mean square of the distance of the sampled row from the exact one falls from "
        "%.3f with one walk to %.4f with 1000, with slope %.3f in p (1/sqrt(p) is -0.5).",
        draws, apart[0], apart[COUNT - 1], slope);
    return PGCN_OK;
}

pgcn_status exp_draw_figure_2(const exp_drawn *from, exp_figure *f) {
    sketch *s = EXP_KEEP(f, sketch, 1);
    double exact[MOST_NODES];
    pgcn_graph *graph = NULL;
    int draws = from->request->quick ? 50 : 400;
    f->columns = 3;
    if (!s) return PGCN_ERR_MEMORY;
    make_irregular(s);
    if (from->request->quick) f->quick = "A quick run: 50 draws instead of 400.";
    pgcn_status status = exact_row(s, exact);
    if (status == PGCN_OK) status = open_graph(s, &graph);
    if (status == PGCN_OK) status = draw_samples(f, s, graph, exact, draws);
    pgcn_graph_free(graph);
    report_put(
        &f->seen,
        "the operator of the kernel [0.8, 1.0, 0.6] that one draw of 1, 10, 100 and 1000 walks of three "
        "nodes from the dashed node makes, beside the exact one: with few walks it has nodes "
        "missing and weights that are too large. Below, its distance from the exact row over the "
        "number of walks p, on logarithmic axes, beside a line with slope -1/2.");
    report_put(
        &f->paper,
        "the effective spatial operator from a walk of length 3, ranging from 1 to 1000 random walks. "
        "It draws no distances; that they fall as 1/sqrt(p) is what section 3.4 implies.");
    return status;
}
