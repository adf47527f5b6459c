/* A line of a table for every cell: which columns of figures an experiment has, and what is in
 * them. */
#include "experiments/reproduce.h"

#include <math.h>
#include <string.h>

/* "10", or "7 of 10 (3 failed)". */
static void add_runs(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    char failed[32] = "";
    if (s->failed > 0) snprintf(failed, sizeof failed, " (%d failed)", s->failed);
    if (*cell->absent)
        exp_table_add(table, "data not here");
    else if (cell->quoted)
        exp_table_add(table, "not built here");
    else if (s->done == cell->runs)
        exp_table_add(table, "%d", cell->runs);
    else
        exp_table_add(table, "%d of %d%s", s->done, cell->runs, failed);
}

static void add_spread(exp_table *table, exp_spread spread) {
    if (isnan(spread.mean))
        exp_table_add(table, "-");
    else
        exp_table_add(table, "%.2f ± %.2f", spread.mean, spread.deviation);
}

static void add_number(exp_table *table, double number) {
    exp_table_add(table, isnan(number) ? "-" : "%.2f", number);
}

static void add_signed(exp_table *table, double number) {
    char text[32];
    exp_table_add(table, "%s", isnan(number) ? "-" : cli_format_signed(number, text));
}

/* ---- columns ---------------------------------------------------------------------------------- */

static void add_test(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    (void)cell;
    add_spread(table, s->test);
}

static void add_val(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    (void)cell;
    add_number(table, s->val.mean);
}

static void add_val_spread(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    (void)cell;
    add_spread(table, s->val);
}

static void add_best_test(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    (void)cell;
    add_number(table, s->best_test.mean);
}

static void add_draw(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    (void)cell;
    add_spread(table, (exp_spread){s->draw.mean, s->draw_deviation.mean});
}

static void add_draws(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    (void)cell;
    add_number(table, s->draws.mean);
}

static void add_paper(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    const exp_paper *paper = cell->paper;
    (void)s;
    if (!paper)
        exp_table_add(table, "-");
    else if (paper->layers > 0 && paper->layers != cell->config.layers)
        exp_table_add(table, "%.2f (%d layers)", paper->accuracy, paper->layers);
    else
        exp_table_add(table, "%.2f", paper->accuracy);
}

static void add_paper_draws(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    const exp_paper *paper = cell->paper;
    (void)s;
    add_spread(table,
               paper ? (exp_spread){paper->stochastic, paper->deviation} : (exp_spread){NAN, NAN});
}

static void add_difference(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    (void)cell;
    add_signed(table, s->difference);
}

static void add_gain_of_draws(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    (void)cell;
    add_signed(table, s->draws.mean - s->test.mean);
}

static void add_best(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    (void)s;
    exp_table_add(table, cell->best ? "best" : "");
}

static void add_seconds(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    (void)s;
    exp_table_add(table, isnan(cell->times.step_ms) ? "-" : "%.5f", cell->times.step_ms / 1000);
}

static void add_ms(exp_table *table, double ms) {
    exp_table_add(table, isnan(ms) ? "-" : "%.3f", ms);
}

static void add_step(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    (void)s;
    add_ms(table, cell->times.step_ms);
}

static void add_inference(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    (void)s;
    add_ms(table, cell->times.inference_ms);
}

static void add_sampling(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    (void)s;
    add_ms(table, cell->times.sampling_ms);
}

static void add_parameters(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    (void)s;
    exp_table_add(table, isnan(cell->times.parameters) ? "-" : "%.0f", cell->times.parameters);
}

/* In millions. */
static void add_multiply_adds(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    double millions = cell->times.multiply_adds / 1e6;
    (void)s;
    exp_table_add(table, isnan(millions) ? "-" : "%.2f", millions);
}

/* "4.07 / 1.97 / -": the milliseconds of Table 10. */
static void add_paper_times(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    const exp_paper_times *paper = exp_paper_times_of(exp_cell_variant(cell));
    (void)s;
    if (!paper || strcmp(cell->dataset, "cora") != 0)
        exp_table_add(table, "-");
    else if (isnan(paper->sampling_ms))
        exp_table_add(table, "%.2f / %.2f / -", paper->step_ms, paper->inference_ms);
    else
        exp_table_add(table, "%.2f / %.2f / %.3f", paper->step_ms, paper->inference_ms,
                      paper->sampling_ms);
}

const exp_column exp_usual_columns[] = {
    {">test", add_test},   {">validation", add_val},        {">best test epoch", add_best_test},
    {">paper", add_paper}, {">difference", add_difference}, {NULL, NULL}};
const exp_column exp_inference_columns[] = {{">deterministic", add_test},
                                            {">one draw of 10", add_draw},
                                            {">mean of 10 draws", add_draws},
                                            {">paper", add_paper},
                                            {">paper, stochastic", add_paper_draws},
                                            {">mean of draws - deterministic", add_gain_of_draws},
                                            {NULL, NULL}};
const exp_column exp_sweep_columns[] = {{">validation", add_val_spread},
                                        {">test", add_test},
                                        {"by validation", add_best},
                                        {NULL, NULL}};

const exp_column exp_form_columns[] = {{">test", add_test},
                                       {">validation", add_val},
                                       {">seconds per epoch", add_seconds},
                                       {NULL, NULL}};
const exp_column exp_time_columns[] = {{">training step, ms", add_step},
                                       {">inference, ms", add_inference},
                                       {">sampling, ms", add_sampling},
                                       {">parameters", add_parameters},
                                       {">multiply-adds, millions", add_multiply_adds},
                                       {">test", add_test},
                                       {">paper, ms", add_paper_times},
                                       {">paper, accuracy", add_paper},
                                       {NULL, NULL}};

/* ---- the table -------------------------------------------------------------------------------- */

static const exp_column *columns_of(const exp_experiment *experiment) {
    return experiment->columns ? experiment->columns : exp_usual_columns;
}

static void add_row(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    const exp_experiment *experiment = cell->experiment;
    exp_table_add(table, "%s", cell->dataset);
    if (experiment->protocols) exp_table_add(table, "%s", exp_cell_protocol(cell));
    if (experiment->variants)
        exp_table_add(table, "%s%s", exp_cell_variant(cell), cell->unpublished ? " ~" : "");
    if (experiment->axis) exp_table_add(table, "%d", cell->value);
    exp_table_add(table, *cell->absent ? "-" : "%d", cell->config.layers);
    add_runs(table, cell, s);
    for (const exp_column *column = columns_of(experiment); column->head; column++)
        column->add(table, cell, s);
}

exp_table *exp_cells_table(const exp_plan *plan, const exp_jobs *jobs,
                           const exp_experiment *experiment) {
    char heads[512];
    size_t at =
        (size_t)snprintf(heads, sizeof heads, "data set|%s%s%s%s%s%s>layers|>runs",
                         experiment->protocols ? "protocol|" : "",
                         experiment->variants ? experiment->variants_head : "",
                         experiment->variants ? "|" : "", experiment->axis ? ">" : "",
                         experiment->axis ? experiment->axis : "", experiment->axis ? "|" : "");
    for (const exp_column *column = columns_of(experiment); column->head; column++)
        at += (size_t)snprintf(heads + at, sizeof heads - at, "|%s", column->head);
    exp_table *table = exp_table_new(heads);
    for (size_t i = 0; table && i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        if (cell->experiment != experiment) continue;
        exp_summary s = exp_summarise(jobs, cell);
        add_row(table, cell, &s);
    }
    return table;
}
