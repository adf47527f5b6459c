/* Figure 3: pathGCN and ChebNet by depth. Figure 5: accuracy by the number of paths and by their length. Both are
 * drawn from the records of the experiments cheb, paths and lengths. */
#include "experiments/figures.h"

#include <math.h>
#include <string.h>

/* One line of a chart: cells that differ in depth, or in the value of the axis. */
typedef struct curve {
    const char *name;
    int count, runs;
    double *x, *y, *low, *high; /* [EXP_MOST_VALUES] */
} curve;

static curve *new_curve(exp_figure *f, curve *to, const char *name) {
    *to = (curve){.name = name,
                  .x = EXP_KEEP(f, double, EXP_MOST_VALUES),
                  .y = EXP_KEEP(f, double, EXP_MOST_VALUES),
                  .low = EXP_KEEP(f, double, EXP_MOST_VALUES),
                  .high = EXP_KEEP(f, double, EXP_MOST_VALUES)};
    return f->failed ? NULL : to;
}

static void add_point(curve *c, double x, exp_spread spread, int runs) {
    if (!c || c->count == EXP_MOST_VALUES || isnan(spread.mean)) return;
    c->x[c->count] = x;
    c->y[c->count] = spread.mean;
    c->low[c->count] = spread.mean - spread.deviation;
    c->high[c->count++] = spread.mean + spread.deviation;
    if (runs > c->runs) c->runs = runs;
}

static report_series series_of(const curve *c, int style, unsigned draw) {
    bool whiskers = c->runs > 1;
    return (report_series){.name = c->name,
                           .count = c->count,
                           .x = c->x,
                           .y = c->y,
                           .low = whiskers ? c->low : NULL,
                           .high = whiskers ? c->high : NULL,
                           .draw = draw | (whiskers ? (unsigned)REPORT_DRAW_WHISKERS : 0),
                           .style = style + 1};
}

/* What is common to the cells: a row of numbers. */
static void put_numbers(exp_figure *f, const exp_cell *cell, const exp_summary *s) {
    exp_figure_row(f,
                   json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:o, s:o, s:o}", "experiment",
                             cell->experiment->name, "dataset", cell->dataset, "network",
                             pgcn_network_name(cell->config.model), "layers", cell->config.layers,
                             "paths", cell->config.paths, "path_length", cell->config.path_length,
                             "runs", s->done, "test_accuracy", cli_json_real(s->test.mean),
                             "deviation", cli_json_real(s->test.deviation), "paper",
                             cli_json_real(cell->paper ? cell->paper->accuracy : (double)NAN)));
}

static void say_quick(const exp_drawn *from, exp_figure *f, const char *depths) {
    if (from->request->quick)
        f->quick = exp_figure_text(f, "A quick run: at most 60 epochs%s: no result.", depths);
}

/* ---- Figure 3 ------------------------------------------------------------------------------------ */

enum { LINES = 3 }; /* pathGCN, ChebNet, and the paper's pathGCN */

static void put_depths(exp_figure *f, const char *dataset, const curve line[LINES]) {
    static const unsigned draw[] = {REPORT_DRAW_LINE | REPORT_DRAW_POINTS,
                                    REPORT_DRAW_LINE | REPORT_DRAW_POINTS,
                                    REPORT_DRAW_LINE | REPORT_DRAW_FAINT};
    exp_panel *panel = exp_figure_panel(f, 400, 270, "%s", dataset);
    report_series *series = EXP_KEEP(f, report_series, LINES);
    int count = 0;
    if (!panel || !series) return;
    for (int i = 0; i < LINES; i++)
        if (line[i].count > 0) series[count++] = series_of(&line[i], i, draw[i]);
    panel->has_chart = true;
    panel->chart = (report_chart){
        .about = exp_figure_text(f, "Test accuracy on %s by the number of layers", dataset),
        .width = 400,
        .height = 270,
        .x = {.title = "layers", .scale = REPORT_LOG2},
        .y = {.title = "test accuracy, %"},
        .series = series,
        .count = count};
}

/* "cora: pathGCN 85.7 to 85.5 %, ChebNet 81.0 to 30.1 % (2 to 64 layers)" */
static void say_depths(exp_figure *f, const char *dataset, const curve line[LINES]) {
    report_putf(&f->measured, "%s%s:", f->measured.length > 0 ? " " : "", dataset);
    for (int i = 0; i < 2; i++) {
        const curve *c = &line[i];
        if (c->count == 0) continue;
        report_putf(&f->measured, "%s %s %.1f %% at %g and %.1f %% at %g layers", i > 0 ? "," : "",
                    c->name, c->y[0], c->x[0], c->y[c->count - 1], c->x[c->count - 1]);
    }
    report_putf(&f->measured, " (up to %d run%s per point).", line[0].runs,
                line[0].runs == 1 ? "" : "s");
}

static void add_depth(const exp_drawn *from, exp_figure *f, const exp_cell *cell, curve *line) {
    static const exp_place table_3[] = {EXP_TABLE_3, EXP_NOWHERE};
    exp_summary s = exp_summarise(from->jobs, cell);
    bool ours = strcmp(pgcn_network_name(cell->config.model), "pathgcn") == 0;
    const exp_paper *paper =
        ours ? exp_paper_find(table_3, cell->dataset, "pathGCN", cell->config.layers, 0) : NULL;
    add_point(&line[ours ? 0 : 1], cell->config.layers, s.test, s.done);
    if (paper) add_point(&line[2], cell->config.layers, (exp_spread){paper->accuracy, 0}, 1);
    put_numbers(f, cell, &s);
}

pgcn_status exp_draw_figure_3(const exp_drawn *from, exp_figure *f) {
    const exp_cell *cell = exp_next_cell(from, f, EXP_FIGURE_3, NULL);
    f->columns = 2;
    while (cell) {
        curve line[LINES];
        const char *dataset = cell->dataset;
        static const char *const names[] = {"pathGCN", "ChebNet", "pathGCN, paper's Table 3"};
        for (int i = 0; i < LINES; i++)
            if (!new_curve(f, &line[i], names[i])) return PGCN_ERR_MEMORY;
        for (; cell && strcmp(cell->dataset, dataset) == 0;
             cell = exp_next_cell(from, f, EXP_FIGURE_3, cell))
            add_depth(from, f, cell, line);
        if (line[0].count + line[1].count == 0) continue; /* nothing is done */
        put_depths(f, dataset, line);
        say_depths(f, dataset, line);
    }
    say_quick(from, f, " and fewer depths");
    report_put(
        &f->seen,
        "test accuracy, mean and deviation over the runs, of pathGCN and ChebNet by the number of "
        "layers, at the epoch that validation chose.");
    report_put(
        &f->paper,
        "ChebNet gets worse with more layers on Cora and Citeseer while pathGCN gets better. The numbers of "
        "the figure are not in its source; pathGCN's are those of Table 3, drawn faintly.");
    return PGCN_OK;
}

/* ---- Figure 5 ------------------------------------------------------------------------------------ */

typedef struct sweep {
    const exp_experiment *experiment;
    int curves;
    curve curve[EXP_MOST_SETS];
    double paper_x[EXP_MOST_SETS], paper_y[EXP_MOST_SETS];
    int papers;
} sweep;

static void put_sweep(exp_figure *f, const sweep *s) {
    bool paths = strcmp(s->experiment->axis, "paths") == 0;
    exp_panel *panel = exp_figure_panel(
        f, 400, 290, "%s", paths ? "number of paths p, k = 5" : "path length k, p = 10");
    report_series *series = EXP_KEEP(f, report_series, s->curves + 1);
    double *x = EXP_KEEP(f, double, s->papers), *y = EXP_KEEP(f, double, s->papers);
    if (!panel || !series || !x || !y) return;
    for (int i = 0; i < s->papers; i++) x[i] = s->paper_x[i], y[i] = s->paper_y[i];
    for (int i = 0; i < s->curves; i++)
        series[i] = series_of(&s->curve[i], i, REPORT_DRAW_LINE | REPORT_DRAW_POINTS);
    series[s->curves] = (report_series){.name = "known of the paper",
                                        .count = s->papers,
                                        .x = x,
                                        .y = y,
                                        .draw = REPORT_DRAW_POINTS,
                                        .style = 7};
    panel->has_chart = true;
    panel->chart = (report_chart){.about = exp_figure_text(f, "Test accuracy by %s", panel->title),
                                  .width = 400,
                                  .height = 290,
                                  .x = {.title = paths ? "paths p" : "path length k",
                                        .scale = paths ? REPORT_LOG10 : REPORT_LINEAR},
                                  .y = {.title = "test accuracy, %"},
                                  .series = series,
                                  .count = s->curves + (s->papers > 0)};
}

static void say_sweep(exp_figure *f, const sweep *s) {
    const char *axis = strcmp(s->experiment->axis, "paths") == 0 ? "p" : "k";
    for (int i = 0; i < s->curves; i++) {
        const curve *c = &s->curve[i];
        int best = 0;
        if (c->count == 0) continue;
        for (int j = 1; j < c->count; j++)
            if (c->y[j] > c->y[best]) best = j;
        report_putf(&f->measured,
                    "%s%s is best at %s = %g (%.1f %%); %.1f %% at %g, %.1f %% at %g.",
                    f->measured.length > 0 ? " " : "", c->name, axis, c->x[best], c->y[best],
                    c->y[0], c->x[0], c->y[c->count - 1], c->x[c->count - 1]);
    }
}

/* A network that is trained in exact form draws no paths: its line over p is flat, and says why. */
static const char *curve_name(exp_figure *f, const exp_cell *cell) {
    bool flat =
        cell->config.train_form == PGCN_FORM_EXACT && strcmp(cell->experiment->axis, "paths") == 0;
    return flat ? exp_figure_text(f, "%s (trained in exact form)", cell->dataset) : cell->dataset;
}

pgcn_status exp_draw_figure_5(const exp_drawn *from, exp_figure *f) {
    sweep *s = EXP_KEEP(f, sweep, 1);
    const exp_cell *cell = exp_next_cell(from, f, EXP_FIGURE_5, NULL);
    f->columns = 2;
    if (!s) return PGCN_ERR_MEMORY;
    while (cell) {
        const char *dataset = cell->dataset;
        s->experiment = cell->experiment;
        curve *c = new_curve(f, &s->curve[s->curves++], curve_name(f, cell));
        for (; cell && cell->experiment == s->experiment && strcmp(cell->dataset, dataset) == 0;
             cell = exp_next_cell(from, f, EXP_FIGURE_5, cell)) {
            exp_summary sum = exp_summarise(from->jobs, cell);
            add_point(c, cell->value, sum.test, sum.done);
            put_numbers(f, cell, &sum);
            if (!cell->paper || s->papers == EXP_MOST_SETS) continue;
            s->paper_x[s->papers] = cell->value;
            s->paper_y[s->papers++] = cell->paper->accuracy;
        }
        if (cell && cell->experiment == s->experiment) continue;
        int points = 0;
        for (int i = 0; i < s->curves; i++) points += s->curve[i].count;
        if (points > 0) put_sweep(f, s);
        say_sweep(f, s);
        s->curves = s->papers = 0;
    }
    say_quick(from, f, " and two values each");
    report_put(
        &f->seen,
        "test accuracy of two-layer networks over the number of paths p at path length 5, and over the "
        "path length k with 10 paths; mean and deviation over the runs.");
    report_put(
        &f->paper,
        "accuracy falls once p is larger than about 20, which the paper reads as a benefit of sampling, and "
        "rises with k until about 7; k = 1 sees the node alone. Its curves are not in its source: known are "
        "the points that a table has too.");
    return PGCN_OK;
}
