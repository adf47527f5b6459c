/* pathgcn reproduce figures: draws what was asked for, and puts it on one page. */
#include "experiments/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *title;
    pgcn_status (*draw)(const exp_drawn *from, exp_figure *figure);
} figures[] = {
    [EXP_FIGURE_1] = {"figure-1", "Figure 1: one kernel on four graphs", exp_draw_figure_1},
    [EXP_FIGURE_2] = {"figure-2", "Figure 2: from 1 to 1000 walks", exp_draw_figure_2},
    [EXP_FIGURE_3] = {"figure-3", "Figure 3: pathGCN and ChebNet by depth", exp_draw_figure_3},
    [EXP_FIGURE_4] = {"figure-4", "Figure 4: learnt operators around a node", exp_draw_figure_4},
    [EXP_FIGURE_5] = {"figure-5", "Figure 5: number of paths and path length", exp_draw_figure_5},
    [EXP_SMOOTHING] = {"smoothing", "Over-smoothing, layer by layer", exp_draw_smoothing},
};

/* ---- what figures are drawn from ------------------------------------------------------------------ */

const exp_cell *exp_next_cell(const exp_drawn *from, exp_figure *f, int number,
                              const exp_cell *cell) {
    const exp_plan *plan = from->plan;
    for (size_t i = cell ? (size_t)(cell - plan->cell) + 1 : 0; i < plan->cells; i++) {
        const exp_cell *next = &plan->cell[i];
        if (next->experiment->figure != number) continue;
        if (next->data) return next;
        if (!*f->skipped)
            snprintf(f->skipped, sizeof f->skipped, "data set %s is not here; %.240s",
                     next->dataset, next->absent);
    }
    return NULL;
}

pgcn_status exp_drawn_model(const exp_drawn *from, const exp_cell *cell, int i, pgcn_model **out) {
    const exp_job *job = &from->jobs->job[cell->job[i]];
    char path[EXP_PATH_BYTES];
    *out = NULL;
    if (job->state != EXP_DONE) return PGCN_OK;
    if (!exp_job_path(from->jobs, job, EXP_MODEL_SUFFIX, path)) return PGCN_ERR_MEMORY;
    return pgcn_model_load(path, out);
}

/* ---- the page ------------------------------------------------------------------------------------- */

typedef struct album {
    exp_figure *figure[EXP_FIGURES + 1]; /* NULL: not asked for */
} album;

static const char *state_of(const exp_figure *f) {
    return *f->skipped ? f->skipped : f->quick ? f->quick : "drawn";
}

/* Runs of the trainings behind the figures. */
static void put_trainings(report_page *page, const exp_drawn *from) {
    if (from->plan->cells == 0) return;
    report_section_open(page, "trainings", "Trainings");
    report_table_open(page,
                      "figure|data|network|>layers|>paths|>length|>runs done|>test accuracy, %|"
                      ">deviation|>seconds");
    for (size_t i = 0; i < from->plan->cells; i++) {
        const exp_cell *cell = &from->plan->cell[i];
        if (!cell->data) continue;
        exp_summary s = exp_summarise(from->jobs, cell);
        report_cell(page, "%s", figures[cell->experiment->figure].name);
        report_cell(page, "%s", cell->dataset);
        report_cell(page, "%s", pgcn_network_name(cell->config.model));
        report_cell(page, "%d", cell->config.layers);
        if (pgcn_config_uses(&cell->config, "paths")) {
            report_cell(page, "%d", cell->config.paths);
            report_cell(page, "%d", cell->config.path_length);
        } else {
            report_cell(page, "%s", "");
            report_cell(page, "%s", "");
        }
        report_cell(page, "%d of %d", s.done, cell->runs);
        report_cell(page, isnan(s.test.mean) ? "" : "%.2f", s.test.mean);
        report_cell(page, s.done > 1 ? "%.2f" : "", s.test.deviation);
        report_cell(page, "%.0f", s.seconds);
    }
    report_table_close(page);
    report_section_close(page);
}

static pgcn_status write_page(const exp_drawn *from, album *all) {
    const exp_request *r = from->request;
    report_page page = {0};
    const char *contents[2 * EXP_FIGURES + 3] = {0};
    char path[EXP_PATH_BYTES];
    int at = 0;
    report_page_open(&page, "The figures of pathGCN");
    report_lead(
        &page,
        "Figures of \"pathGCN: Learning General Graph Spatial Operators from Paths\" (ICML 2022), made "
        "again by pathgcn %s%s.",
        PGCN_VERSION, r->quick ? " in a quick run, which is no result" : "");
    for (int i = 1; i <= EXP_FIGURES; i++)
        if (all->figure[i]) {
            contents[at++] = all->figure[i]->name;
            contents[at++] = all->figure[i]->title;
        }
    if (from->plan->cells > 0) contents[at++] = "trainings", contents[at++] = "Trainings";
    report_contents(&page, contents);
    for (int i = 1; i <= EXP_FIGURES; i++)
        if (all->figure[i]) exp_figure_show(all->figure[i], &page);
    put_trainings(&page, from);
    snprintf(path, sizeof path, "%s/figures.html", r->out);
    pgcn_status status = report_page_close(&page, path);
    report_page_free(&page);
    if (status == PGCN_ERR_MEMORY)
        return cli_fail(r->command, status, "out of memory for the page of figures");
    return cli_report(r->command, status);
}

/* ---- the command ---------------------------------------------------------------------------------- */

static pgcn_status draw_one(const exp_drawn *from, int number, exp_figure **out) {
    const exp_request *r = from->request;
    exp_figure *f = calloc(1, sizeof *f);
    *out = f;
    if (!f) return cli_fail(r->command, PGCN_ERR_MEMORY, "out of memory for a figure");
    f->name = figures[number].name;
    f->title = figures[number].title;
    pgcn_status status = figures[number].draw(from, f);
    if (status == PGCN_ERR_MEMORY || f->failed)
        return cli_fail(r->command, PGCN_ERR_MEMORY, "out of memory for %s", f->name);
    if (status != PGCN_OK) return cli_report(r->command, status);
    if (f->panels > 0)
        f->skipped[0] = '\0'; /* a part of it can be drawn */
    else if (!*f->skipped)
        snprintf(f->skipped, sizeof f->skipped, "none of its trainings is done");
    return exp_figure_write(f, r);
}

static pgcn_status tell(const exp_drawn *from, const album *all) {
    const exp_request *r = from->request;
    json_t *list = r->json ? json_array() : NULL;
    for (int i = 1; i <= EXP_FIGURES; i++) {
        const exp_figure *f = all->figure[i];
        if (!f) continue;
        if (list)
            json_array_append_new(list,
                                  json_pack("{s:s, s:s, s:b, s:s}", "figure", f->name, "title",
                                            f->title, "drawn", !*f->skipped, "measured",
                                            f->measured.bytes ? f->measured.bytes : ""));
        else
            printf("%-10s %s\n", f->name, state_of(f));
    }
    if (list)
        return cli_print_json(r->command, json_pack("{s:s, s:s, s:o}", "experiment", "figures",
                                                    "page", "figures.html", "figures", list));
    printf("\nAll of them in %s/figures.html; each in %s/NAME.svg, .tex, .csv and .json.\n", r->out,
           r->out);
    return PGCN_OK;
}

pgcn_status exp_draw_figures(const exp_plan *plan, const exp_jobs *jobs, const exp_request *r) {
    const exp_drawn from = {plan, jobs, r};
    album all = {0};
    unsigned chosen;
    pgcn_status status = exp_choose_figures(r, &chosen);
    for (int i = 1; status == PGCN_OK && i <= EXP_FIGURES; i++)
        if (chosen >> i & 1) status = draw_one(&from, i, &all.figure[i]);
    if (status == PGCN_OK) status = write_page(&from, &all);
    if (status == PGCN_OK) status = tell(&from, &all);
    for (int i = 1; i <= EXP_FIGURES; i++)
        if (all.figure[i]) {
            exp_figure_free(all.figure[i]);
            free(all.figure[i]);
        }
    return status;
}
