/* A table with a column per depth or per data set, as the paper prints its own: a line of ours, and
 * below it the paper's numbers. */
#include "experiments/reproduce.h"

#include <math.h>
#include <string.h>

enum { MOST_HEADS = 32 };

/* The columns of a matrix. */
typedef struct heads {
    bool by_depth;
    int count;
    const exp_cell *cell[MOST_HEADS]; /* the first cell of each column */
} heads;

static bool same_column(const heads *h, const exp_cell *a, const exp_cell *b) {
    return h->by_depth ? a->config.layers == b->config.layers : strcmp(a->dataset, b->dataset) == 0;
}

/* Whether two cells stand in the same line. */
static bool same_line(const heads *h, const exp_cell *a, const exp_cell *b) {
    return a->variant == b->variant && strcmp(exp_cell_protocol(a), exp_cell_protocol(b)) == 0 &&
           (!h->by_depth || strcmp(a->dataset, b->dataset) == 0);
}

static heads find_heads(const exp_plan *plan, const exp_experiment *experiment) {
    heads h = {.by_depth = experiment->layout == EXP_BY_DEPTH};
    for (size_t i = 0; i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        int c = 0;
        if (cell->experiment != experiment) continue;
        while (c < h.count && !same_column(&h, h.cell[c], cell)) c++;
        if (c == h.count && c < MOST_HEADS) h.cell[h.count++] = cell;
    }
    return h;
}

static exp_table *new_table(const heads *h) {
    char text[4096];
    size_t at =
        (size_t)snprintf(text, sizeof text, "%snetwork|figures", h->by_depth ? "data set|" : "");
    for (int c = 0; c < h->count; c++) {
        char depth[16];
        snprintf(depth, sizeof depth, "%d", h->cell[c]->config.layers);
        at += (size_t)snprintf(text + at, sizeof text - at, "|>%s",
                               h->by_depth ? depth : h->cell[c]->dataset);
    }
    return exp_table_new(text);
}

/* "81.20 ± 0.43", and what a reader must know about it. */
static void add_ours(exp_table *table, const exp_jobs *jobs, const exp_cell *cell) {
    char missing[48] = "";
    if (!cell || *cell->absent) {
        exp_table_add(table, "%s", cell ? "data not here" : "");
        return;
    }
    exp_summary s = exp_summarise(jobs, cell);
    const char *like = cell->unpublished ? " ~" : "";
    if (s.done < cell->runs) snprintf(missing, sizeof missing, " (%d of %d)", s.done, cell->runs);
    if (isnan(s.test.mean))
        exp_table_add(table, "-%s", missing);
    else if (cell->one_seed)
        exp_table_add(table, "%.2f%s (one seed)", s.test.mean, like);
    else
        exp_table_add(table, "%.2f ± %.2f%s%s", s.test.mean, s.test.deviation, like, missing);
}

static void add_paper(exp_table *table, const exp_cell *cell) {
    const exp_paper *paper = cell ? cell->paper : NULL;
    char more[48] = "";
    if (!paper) {
        exp_table_add(table, "%s", "");
        return;
    }
    int decimals = exp_paper_decimals(paper->place);
    if (!isnan(paper->deviation))
        snprintf(more, sizeof more, " ± %.*f", decimals, paper->deviation);
    else if (paper->layers > 0 && paper->layers != cell->config.layers)
        snprintf(more, sizeof more, " (%d layers)", paper->layers);
    exp_table_add(table, "%.*f%s", decimals, paper->accuracy, more);
}

/* A line of the matrix: the cells that stand in it, NULL where there is none. */
typedef struct matrix_line {
    const exp_cell *first;
    const exp_cell *cell[MOST_HEADS];
    bool ours, paper; /* whether it has any */
} matrix_line;

static matrix_line gather(const exp_plan *plan, const heads *h, const exp_cell *first) {
    matrix_line line = {.first = first};
    for (size_t i = 0; i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        if (cell->experiment != first->experiment || !same_line(h, cell, first)) continue;
        for (int c = 0; c < h->count; c++)
            if (same_column(h, h->cell[c], cell)) line.cell[c] = cell;
        line.ours = line.ours || !cell->quoted;
        line.paper = line.paper || cell->paper;
    }
    return line;
}

static void add_names(exp_table *table, const heads *h, const exp_cell *cell, const char *figures) {
    const char *protocol = exp_cell_protocol(cell);
    if (h->by_depth) exp_table_add(table, "%s", cell->dataset);
    exp_table_add(table, "%s", cell->variant ? cell->variant->name : "pathGCN");
    exp_table_add(table, "%s%s%s", figures, *protocol ? ", protocol " : "", protocol);
}

static void add_line(exp_table *table, const exp_jobs *jobs, const heads *h,
                     const matrix_line *line) {
    if (line->ours) add_names(table, h, line->first, "ours");
    for (int c = 0; line->ours && c < h->count; c++) add_ours(table, jobs, line->cell[c]);
    if (!line->paper && line->ours) return;
    add_names(table, h, line->first,
              line->ours    ? "paper"
              : line->paper ? "paper, quoted: not built here"
                            : "not built here");
    for (int c = 0; c < h->count; c++) add_paper(table, line->cell[c]);
}

/* Whether no earlier cell stands in the same line. */
static bool begins_line(const exp_plan *plan, const heads *h, size_t i) {
    for (size_t j = 0; j < i; j++)
        if (plan->cell[j].experiment == plan->cell[i].experiment &&
            same_line(h, &plan->cell[j], &plan->cell[i]))
            return false;
    return true;
}

/* All lines of a variant; by depth, those of one data set. */
static void add_lines(exp_table *table, const exp_plan *plan, const exp_jobs *jobs, const heads *h,
                      const exp_cell *like) {
    for (size_t i = 0; i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        if (cell->experiment != like->experiment || cell->variant != like->variant ||
            (h->by_depth && strcmp(cell->dataset, like->dataset) != 0) || !begins_line(plan, h, i))
            continue;
        matrix_line line = gather(plan, h, cell);
        add_line(table, jobs, h, &line);
    }
}

/* The lines in the order of the variants; by depth, those of a data set together. */
exp_table *exp_matrix_table(const exp_plan *plan, const exp_jobs *jobs,
                            const exp_experiment *experiment) {
    heads h = find_heads(plan, experiment);
    exp_table *table = new_table(&h);
    const char *last = "";
    for (size_t i = 0; i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        exp_cell like = {.experiment = experiment};
        if (cell->experiment != experiment) continue;
        if (h.by_depth ? strcmp(cell->dataset, last) == 0 : *last) continue; /* it is there */
        last = cell->dataset;
        snprintf(like.dataset, sizeof like.dataset, "%s", cell->dataset);
        for (like.variant = experiment->variants; like.variant->name; like.variant++)
            add_lines(table, plan, jobs, &h, &like);
    }
    return table;
}

bool exp_matrix_has_gaps(const exp_plan *plan, const exp_experiment *experiment) {
    heads h = find_heads(plan, experiment);
    for (size_t i = 0; i < plan->cells; i++) {
        if (plan->cell[i].experiment != experiment || !begins_line(plan, &h, i)) continue;
        matrix_line line = gather(plan, &h, &plan->cell[i]);
        for (int c = 0; c < h.count; c++)
            if (!line.cell[c]) return true;
    }
    return false;
}
