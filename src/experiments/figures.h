/* pathgcn reproduce figures: the figures of the paper, and what it claims without one. figures.c is the command,
 * figure_parts.c the parts that figures are made of, operator.c makes operators and measures how smooth rows are;
 * figure_paths.c draws Figures 1 and 2, figure_curves.c 3 and 5, figure_learnt.c 4, figure_smoothing.c the layers.
 *
 * What has to be trained are experiments of the catalogue, with their jobs and records; models that are drawn are
 * kept beside the records. */
#ifndef PGCN_FIGURES_H
#define PGCN_FIGURES_H

#include "experiments/reproduce.h"
#include "report/drawing.h"

typedef enum exp_figure_number {
    EXP_FIGURE_1 = 1,
    EXP_FIGURE_2,
    EXP_FIGURE_3,
    EXP_FIGURE_4,
    EXP_FIGURE_5,
    EXP_SMOOTHING,
    EXP_FIGURES = EXP_SMOOTHING
} exp_figure_number;

/* ---- figure_parts.c ------------------------------------------------------------------------- */

/* A part of a figure: a graph, or a chart, or a graph above a chart. What they point to belongs to the figure
 * (exp_figure_keep). */
typedef struct exp_panel {
    char title[96];
    double width, height;
    double graph_height; /* of the graph's share, where there is a chart too */
    bool has_graph, has_chart;
    report_network graph;
    report_chart chart;
} exp_panel;

enum { EXP_MOST_PANELS = 16, EXP_TITLE_HEIGHT = 20 };
typedef struct exp_figure {
    const char *name;  /* of its files: "figure-1" */
    const char *title; /* "Figure 1: ..." */
    int columns;       /* of panels, in its file */
    int panels;
    exp_panel panel[EXP_MOST_PANELS];
    report_text seen, paper, measured; /* what one sees, what the paper shows, what we measured */
    char skipped[400];                 /* why it cannot be drawn; "": it can */
    json_t *rows;                      /* its numbers: objects with the same keys */
    const char *quick;                 /* what was left out, in a few words; NULL: nothing */
    void *kept;                        /* memory of the panels */
    bool failed;                       /* memory ran out */
} exp_figure;

/* Memory that lives as long as the figure, zeroed; NULL: there is none, and the figure has failed. */
void *exp_figure_keep(exp_figure *figure, size_t count, size_t bytes);
#define EXP_KEEP(figure, type, count)                                                              \
    ((type *)exp_figure_keep((figure), (size_t)(count), sizeof(type)))
/* A copy of text, that long. */
const char *exp_figure_text(exp_figure *figure, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The next panel; NULL: there is no room, and the figure has failed. */
exp_panel *exp_figure_panel(exp_figure *figure, double width, double height, const char *format,
                            ...) __attribute__((format(printf, 4, 5)));
/* Takes a row of numbers over; NULL: no memory. */
void exp_figure_row(exp_figure *figure, json_t *row);
/* Writes NAME.svg, .tex, .json and .csv into the folder of the request; not those of a skipped figure. */
pgcn_status exp_figure_write(exp_figure *figure, const exp_request *request);
/* Puts its panels and words on a page. */
void exp_figure_show(exp_figure *figure, report_page *page);
void exp_figure_free(exp_figure *figure);

/* ---- operator.c ----------------------------------------------------------------------------- */

/* Row `node` of the operator sum_i kernel_i S_i of visits on n nodes, kernel [k]: what the node takes from each. */
pgcn_status exp_operator_row(const pgcn_visits *visits, int64_t n, const double *kernel,
                             int64_t node, double *row);
/* The same from any row [n], which it is multiplied with: row times operator. */
pgcn_status exp_operator_apply(const pgcn_visits *visits, const double *kernel, const double *row,
                               double *out);
/* The row of what all layers do one after the other, with nothing between them: M_0 = I, M_l+1 = (1 - alpha) K_l M_l +
 * alpha R, where R is I (residual initial), M_l (previous) or 0 (none, and alpha is 0). Kernels [layers, path_length];
 * layers, path_length, residual and alpha are those of the configuration. */
pgcn_status exp_operator_compose(const pgcn_visits *visits, int64_t n, const pgcn_config *config,
                                 const double *kernels, int64_t node, double *row);
/* The slope of log y over log x, by least squares. */
double exp_log_slope(int count, const double *x, const double *y);

/* How much rows [n, channels] differ along the links of a graph and among each other. */
typedef struct exp_smoothness {
    double
        energy; /* Dirichlet energy: sum over the links of |h_i / sqrt(1 + d_i) - h_j / sqrt(1 + d_j)|^2 */
    double share; /* of it in |H|^2: from 0, as smooth as can be, to 2; NaN for rows of zeros */
    double
        distance; /* mean over all pairs of rows that are not zero of 1 - cos; NaN if there is no pair */
    int64_t zeros; /* rows of zeros */
} exp_smoothness;
/* False: no memory. */
bool exp_smoothness_of(const pgcn_graph *graph, int64_t channels, const float *h,
                       exp_smoothness *out);

/* ---- the figures ---------------------------------------------------------------------------- */

/* What they are drawn from. */
typedef struct exp_drawn {
    const exp_plan *plan;
    const exp_jobs *jobs;
    const exp_request *request;
} exp_drawn;

pgcn_status exp_draw_figure_1(const exp_drawn *from, exp_figure *figure);
pgcn_status exp_draw_figure_2(const exp_drawn *from, exp_figure *figure);
pgcn_status exp_draw_figure_3(const exp_drawn *from, exp_figure *figure);
pgcn_status exp_draw_figure_4(const exp_drawn *from, exp_figure *figure);
pgcn_status exp_draw_figure_5(const exp_drawn *from, exp_figure *figure);
pgcn_status exp_draw_smoothing(const exp_drawn *from, exp_figure *figure);
/* The next cell of that figure after `cell` (NULL: the first) whose data is here; NULL: none. Of an absent one the
 * reason is put into figure->skipped. */
const exp_cell *exp_next_cell(const exp_drawn *from, exp_figure *figure, int number,
                              const exp_cell *cell);
/* The model of run i of a cell; NULL and PGCN_OK: the run is not done. */
pgcn_status exp_drawn_model(const exp_drawn *from, const exp_cell *cell, int i, pgcn_model **out);

/* ---- figures.c ------------------------------------------------------------------------------ */

/* Draws the figures that are asked for, writes their files and OUT/figures.html. */
pgcn_status exp_draw_figures(const exp_plan *plan, const exp_jobs *jobs,
                             const exp_request *request);

#endif
