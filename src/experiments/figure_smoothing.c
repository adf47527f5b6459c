/* What layers leave of the differences between nodes: Dirichlet energy and cosine distance of every layer of GCN, GCNII
 * and pathGCN. The paper says that pathGCN does not smooth too much; it has no figure of it. */
#include "experiments/figures.h"

#include <math.h>
#include <string.h>

enum { MEASURES = 3, MOST_LINES = 8, MOST_DEPTHS = 8 };
enum { FEW = 10 }; /* layers that are all named below the axis */
static const struct {
    const char *name, *axis;
    bool logarithmic;
} measures[MEASURES] = {
    {"Dirichlet energy per node", "energy per node", true},
    {"energy as a share of |H|²", "energy / |H|²", false},
    {"mean cosine distance", "cosine distance", false},
};

/* A network at a depth: means over its runs. */
typedef struct line {
    const exp_cell *cell;
    int layers; /* measured layers, of all runs the same */
    int runs;
    int *number;         /* [most] of the layer */
    double *y[MEASURES]; /* [most] sums, then means; NaN: not defined in a run */
    double *zeros;
    int most;
} line;

typedef struct watch {
    exp_figure *figure;
    const pgcn_dataset *data;
    line *line;
    int at;      /* the next layer of this run */
    bool failed; /* no memory */
} watch;

static bool see(void *context, const pgcn_layer *layer) {
    watch *w = context;
    line *l = w->line;
    exp_smoothness s;
    int depth = l->cell->config.layers;
    /* The classifier after the last layer is no layer of the network; GCN's last layer is its classifier. */
    if (layer->of_graphs || layer->layer > depth || w->at == l->most) return true;
    if (!exp_smoothness_of(pgcn_dataset_graph(w->data), layer->channels, layer->value, &s)) {
        w->failed = true;
        return false;
    }
    int at = w->at++;
    l->number[at] = layer->layer;
    l->y[0][at] += s.energy / (double)layer->rows;
    l->y[1][at] += s.share;
    l->y[2][at] += s.distance;
    l->zeros[at] += (double)s.zeros;
    return true;
}

static pgcn_status measure_run(const exp_drawn *from, exp_figure *f, line *l, int run) {
    pgcn_model *model = NULL;
    pgcn_inference inference = pgcn_inference_default();
    watch w = {.figure = f, .data = l->cell->data->data, .line = l};
    pgcn_status status = exp_drawn_model(from, l->cell, run, &model);
    if (status != PGCN_OK || !model) return status;
    inference.threads = 1;
    status = pgcn_model_layers(model, w.data, &inference, see, &w);
    pgcn_model_free(model);
    if (w.failed) return PGCN_ERR_MEMORY;
    l->layers = w.at;
    l->runs++;
    return status;
}

static pgcn_status measure_cell(const exp_drawn *from, exp_figure *f, const exp_cell *cell,
                                line *l) {
    *l = (line){.cell = cell, .most = cell->config.layers + 1};
    l->number = EXP_KEEP(f, int, l->most);
    l->zeros = EXP_KEEP(f, double, l->most);
    for (int m = 0; m < MEASURES; m++) l->y[m] = EXP_KEEP(f, double, l->most);
    if (f->failed) return PGCN_ERR_MEMORY;
    for (int run = 0; run < cell->runs; run++) {
        pgcn_status status = measure_run(from, f, l, run);
        if (status != PGCN_OK) return status;
    }
    exp_summary s = exp_summarise(from->jobs, cell);
    for (int i = 0; i < l->layers && l->runs > 0; i++) {
        for (int m = 0; m < MEASURES; m++) l->y[m][i] /= l->runs;
        exp_figure_row(f, json_pack("{s:s, s:s, s:i, s:i, s:i, s:o, s:o, s:o, s:f, s:o}", "dataset",
                                    cell->dataset, "network", exp_cell_variant(cell), "layers",
                                    cell->config.layers, "layer", l->number[i], "runs", l->runs,
                                    "energy_per_node", cli_json_real(l->y[0][i]), "energy_share",
                                    cli_json_real(l->y[1][i]), "cosine_distance",
                                    cli_json_real(l->y[2][i]), "zero_rows", l->zeros[i] / l->runs,
                                    "test_accuracy", cli_json_real(s.test.mean)));
    }
    return PGCN_OK;
}

/* ---- panels --------------------------------------------------------------------------------------- */

static void put_panel(exp_figure *f, const line *l, int lines, int m) {
    int depth = l->cell->config.layers;
    exp_panel *panel = exp_figure_panel(f, 320, 230, "%s, %d layers", measures[m].name, depth);
    report_series *series = EXP_KEEP(f, report_series, lines);
    if (!panel || !series) return;
    const char **name = EXP_KEEP(f, const char *, depth + 1);
    for (int i = 0; name && i <= depth; i++) name[i] = exp_figure_text(f, "%d", i);
    for (int i = 0; i < lines; i++) {
        double *x = EXP_KEEP(f, double, l[i].layers), *y = EXP_KEEP(f, double, l[i].layers);
        if (!x || !y) return;
        for (int j = 0; j < l[i].layers; j++) {
            x[j] = l[i].number[j];
            y[j] = measures[m].logarithmic && l[i].y[m][j] <= 0 ? (double)NAN : l[i].y[m][j];
        }
        series[i] = (report_series){.name = exp_cell_variant(l[i].cell),
                                    .count = l[i].layers,
                                    .x = x,
                                    .y = y,
                                    .draw = REPORT_DRAW_LINE | REPORT_DRAW_POINTS};
    }
    panel->has_chart = true;
    panel->chart =
        (report_chart){.about = exp_figure_text(f, "%s by layer", panel->title),
                       .width = 320,
                       .height = 230,
                       .x = {.title = "layer",
                             .scale = depth <= FEW ? REPORT_NAMES : REPORT_LINEAR,
                             .name = name,
                             .names = depth + 1,
                             .fixed = depth > FEW,
                             .high = depth},
                       .y = {.title = measures[m].axis,
                             .scale = measures[m].logarithmic ? REPORT_LOG10 : REPORT_LINEAR,
                             .from_zero = !measures[m].logarithmic},
                       .series = series,
                       .count = lines};
}

/* "2 layers: GCN 0.71 at its last layer (81.9 % right), GCNII ..." */
static void say_depth(const exp_drawn *from, exp_figure *f, const line *l, int lines) {
    report_putf(&f->measured, "%s%d layers:", f->measured.length > 0 ? " " : "",
                l->cell->config.layers);
    for (int i = 0; i < lines; i++) {
        int last = l[i].layers - 1;
        if (last < 0) continue;
        double accuracy = exp_summarise(from->jobs, l[i].cell).test.mean;
        report_putf(&f->measured, "%s %s %.3f, %.3f (%.1f %% right)", i > 0 ? ";" : "",
                    exp_cell_variant(l[i].cell), l[i].y[2][last], l[i].y[1][last], accuracy);
    }
    report_put(&f->measured, ".");
}

typedef struct group {
    int lines;
    line line[MOST_LINES];
} group;

static pgcn_status gather(const exp_drawn *from, exp_figure *f, group *g, int *depths) {
    const exp_cell *cell = exp_next_cell(from, f, EXP_SMOOTHING, NULL);
    const char *dataset = cell ? cell->dataset : "";
    for (; cell; cell = exp_next_cell(from, f, EXP_SMOOTHING, cell)) {
        int d = 0;
        if (strcmp(cell->dataset, dataset) != 0) continue; /* the first data set is drawn */
        while (d < *depths && g[d].line[0].cell->config.layers != cell->config.layers) d++;
        if (d == MOST_DEPTHS || (d < *depths && g[d].lines == MOST_LINES)) continue;
        pgcn_status status = measure_cell(from, f, cell, &g[d].line[g[d].lines]);
        if (status != PGCN_OK) return status;
        if (g[d].line[g[d].lines].runs == 0) continue; /* not done */
        g[d].lines++;
        if (d == *depths) (*depths)++;
    }
    return PGCN_OK;
}

pgcn_status exp_draw_smoothing(const exp_drawn *from, exp_figure *f) {
    group *g = EXP_KEEP(f, group, MOST_DEPTHS);
    int depths = 0;
    if (!g) return PGCN_ERR_MEMORY;
    pgcn_status status = gather(from, f, g, &depths);
    if (status != PGCN_OK) return status;
    int most = EXP_MOST_PANELS / MEASURES;
    if (depths > most) depths = most;
    f->columns = depths > 0 ? depths : 1;
    for (int m = 0; m < MEASURES; m++)
        for (int d = 0; d < depths; d++) put_panel(f, g[d].line, g[d].lines, m);
    report_put(&f->measured, "mean cosine distance and share of the energy at the last layer.");
    for (int d = 0; d < depths; d++) say_depth(from, f, g[d].line, g[d].lines);
    if (from->request->quick)
        f->quick = "A quick run: at most 60 epochs, not the deepest networks: no result.";
    report_put(
        &f->seen,
        "how much the rows of nodes still differ after each layer of trained networks, in exact form. Dirichlet "
        "energy: the sum over links of |h_i / sqrt(1 + d_i) - h_j / sqrt(1 + d_j)|², per node and as a share of |H|², "
        "which does not depend on how large the numbers are. Cosine distance: the mean of 1 - cos over all pairs of "
        "nodes; 0 means that all nodes point the same way, which is over-smoothing. Layer 0 is the opening layer, "
        "which GCN does not have; GCN's last layer are its logits.");
    report_put(
        &f->paper,
        "no figure. It says that pathGCN does not over-smooth, and its Table 3 has the accuracies of these "
        "networks by depth: on Cora GCN falls from 81.1 % to 28.7 % at 64 layers, GCNII and pathGCN do not.");
    return PGCN_OK;
}
