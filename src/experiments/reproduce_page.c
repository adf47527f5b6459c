/* OUT/report.html of reproduce: tables and curves of all experiments of a command in one page. */
#include "experiments/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SERIES = 14, MOST_POINTS = 2 * EXP_MOST_VALUES };

/* A line of a chart: a network or variant, ours or the paper's. */
typedef struct line {
    const char *name;
    char title[96];
    int count;
    double x[MOST_POINTS], y[MOST_POINTS], low[MOST_POINTS], high[MOST_POINTS];
} line;

/* The curves of one data set. */
typedef struct curves {
    const exp_plan *plan;
    const exp_jobs *jobs;
    const exp_experiment *experiment;
    const char *dataset;
    int count;
    line line[MOST_SERIES];
} curves;

static double x_of(const exp_cell *cell) {
    return cell->experiment->axis ? cell->value : cell->config.layers;
}

static line *line_of(curves *c, const char *name, bool paper) {
    char title[96];
    snprintf(title, sizeof title, "%.60s%s", *name ? name : "ours",
             paper ? (*name ? ", the paper" : " in the paper") : "");
    if (paper && !*name) snprintf(title, sizeof title, "the paper");
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->line[i].title, title) == 0) return &c->line[i];
    if (c->count == MOST_SERIES) return NULL;
    line *one = &c->line[c->count++];
    *one = (line){.name = name};
    memcpy(one->title, title, sizeof title);
    return one;
}

static void add_point(line *to, double x, double y, exp_spread spread, int runs) {
    if (!to || to->count == MOST_POINTS || isnan(y)) return;
    int at = to->count++;
    to->x[at] = x;
    to->y[at] = y;
    if (!cli_interval_of_mean(y, spread.deviation, runs, &to->low[at], &to->high[at]))
        to->low[at] = to->high[at] = NAN;
}

static void collect(curves *c) {
    for (size_t i = 0; i < c->plan->cells; i++) {
        const exp_cell *cell = &c->plan->cell[i];
        if (cell->experiment != c->experiment || strcmp(cell->dataset, c->dataset) != 0) continue;
        const char *name = exp_cell_variant(cell);
        if (!cell->quoted && !*cell->absent) {
            exp_summary s = exp_summarise(c->jobs, cell);
            add_point(line_of(c, name, false), x_of(cell), s.test.mean, s.test, s.done);
        }
        if (cell->paper)
            add_point(line_of(c, name, true), x_of(cell), cell->paper->accuracy,
                      (exp_spread){NAN, NAN}, 0);
    }
}

/* Whether something is to be seen: more than one place on the x axis. */
static bool is_curve(const curves *c) {
    for (int i = 0; i < c->count; i++)
        for (int k = 1; k < c->line[i].count; k++)
            if (c->line[i].x[k] != c->line[i].x[0]) return true;
    return false;
}

static void draw(report_page *page, const curves *c) {
    report_series series[MOST_SERIES];
    char name[160], caption[256];
    for (int i = 0; i < c->count; i++) {
        const line *one = &c->line[i];
        bool paper = strstr(one->title, "the paper") != NULL;
        series[i] =
            (report_series){.name = one->title,
                            .count = one->count,
                            .x = one->x,
                            .y = one->y,
                            .low = paper ? NULL : one->low,
                            .high = paper ? NULL : one->high,
                            .draw = REPORT_DRAW_LINE | REPORT_DRAW_POINTS | REPORT_DRAW_WHISKERS |
                                    (paper ? REPORT_DRAW_FAINT : 0u)};
    }
    const char *axis = c->experiment->axis ? c->experiment->axis : "layers";
    snprintf(name, sizeof name, "%.60s-%.80s", c->experiment->name, c->dataset);
    for (char *at = name; *at; at++)
        if (strchr(":,=/ ", *at)) *at = '-';
    snprintf(caption, sizeof caption, "%.100s: test accuracy by %s, means with 95 %% intervals.",
             c->dataset, axis);
    report_chart chart = {.x = {.title = axis, .scale = REPORT_LOG2},
                          .y = {.title = "test accuracy (%)"},
                          .series = series,
                          .count = c->count,
                          .height = REPORT_CHART_HEIGHT + 8 * c->count};
    report_figure(page, name, caption, &chart);
}

/* A chart for every data set that has more than one depth or value. */
static void put_curves(report_page *page, const exp_plan *plan, const exp_jobs *jobs,
                       const exp_experiment *experiment) {
    curves *c = malloc(sizeof *c);
    const char *last = "";
    page->text.failed |= !c;
    report_figures_open(page);
    for (size_t i = 0; c && i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        if (cell->experiment != experiment || strcmp(cell->dataset, last) == 0) continue;
        last = cell->dataset;
        *c = (curves){.plan = plan, .jobs = jobs, .experiment = experiment, .dataset = last};
        collect(c);
        if (is_curve(c)) draw(page, c);
    }
    report_figures_close(page);
    free(c);
}

/* Lines of text as paragraphs. */
static void put_remarks(report_page *page, const exp_plan *plan, const exp_jobs *jobs,
                        const exp_experiment *experiment) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out) exp_print_remarks(out, plan, jobs, experiment);
    if (out && fclose(out) == 0)
        for (char *at = text; *at;) {
            size_t length = strcspn(at, "\n");
            if (length > 0) report_paragraph(page, "%.*s", (int)length, at);
            at += length + (at[length] == '\n');
        }
    else
        page->text.failed = true;
    free(text);
}

static void put_experiment(report_page *page, const exp_plan *plan, const exp_jobs *jobs,
                           const exp_experiment *experiment) {
    exp_table *table = exp_make_table(plan, jobs, experiment);
    report_section_open(page, experiment->name, experiment->title);
    exp_table_to_page(page, table);
    exp_table_free(table);
    put_remarks(page, plan, jobs, experiment);
    put_curves(page, plan, jobs, experiment);
    report_section_close(page);
}

pgcn_status exp_reproduce_page(const exp_plan *plan, const exp_jobs *jobs, const exp_request *r,
                               const exp_experiment *const *experiment, int count) {
    report_page page = {0};
    char path[EXP_PATH_BYTES], title[96];
    if ((size_t)snprintf(path, sizeof path, "%s/report.html", r->out) >= sizeof path)
        return cli_fail(r->command, PGCN_ERR_ARGUMENT, "the path '%.64s...' is too long", r->out);
    snprintf(title, sizeof title, "pathgcn reproduce %s", count == 1 ? experiment[0]->name : "");
    report_page_open(&page, title);
    report_lead(&page, "Our runs beside the paper's numbers. %zu trainings are done%s.",
                exp_jobs_in(jobs, EXP_DONE),
                r->quick ? ", with few epochs (--quick): a smoke test, no "
                           "result"
                         : "");
    for (int i = 0; i < count; i++) put_experiment(&page, plan, jobs, experiment[i]);
    pgcn_status status = exp_page_end(r->command, &page, path);
    if (status == PGCN_OK && !r->json) printf("All of it as a page: %s\n", path);
    return status;
}
