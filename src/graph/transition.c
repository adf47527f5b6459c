/* The transition matrix T of the exact form. Its powers are the limits of the sampled visit lists
 * S_i for many paths (paper, "pathExpectation": the mean over walks from j is row j of T^i).
 *
 *     T = D^-1 A   or, symmetric,   D^-1/2 A D^-1/2   or, as sums,   A;
 *     A + I in place of A with self_loops
 *
 * Serial, once per model and graph; called by views. */
#include "graph/graph.h"

#include <math.h>
#include <string.h>

/* The self-loop that is added to a row. */
typedef struct diagonal {
    bool added;
    bool merged;     /* the graph has a self-loop there: its entry grows by 1 */
    int64_t entries; /* of the row, self-loop included */
} diagonal;

static diagonal diagonal_of(const pgcn_graph *graph, int64_t row, pgcn_i_transition_opts opts) {
    int64_t begin = graph->offset[row], end = graph->offset[row + 1];
    bool stays = begin == end && !opts.empty_rows && opts.scaling != PGCN_SCALING_SUM;
    diagonal d = {.added = opts.self_loops || stays};
    for (int64_t e = begin; d.added && e < end && graph->neighbour[e] <= row; e++)
        d.merged = graph->neighbour[e] == row;
    d.entries = end - begin + (d.added && !d.merged);
    return d;
}

/* Writes the columns of row `row` of A or A + I, ascending. */
static void fill_columns(const pgcn_graph *graph, int64_t row, diagonal d, pgcn_node *column) {
    int64_t begin = graph->offset[row], end = graph->offset[row + 1], before = begin;
    while (before < end && graph->neighbour[before] < row) before++;
    if (d.merged || !d.added) before = end;
    memcpy(column, graph->neighbour + begin, (size_t)(before - begin) * sizeof *column);
    if (d.merged || !d.added) return;
    column[before - begin] = (pgcn_node)row;
    memcpy(column + (before - begin) + 1, graph->neighbour + before,
           (size_t)(end - before) * sizeof *column);
}

/* The same for the values. */
static void fill_values(const pgcn_graph *graph, int64_t row, diagonal d, bool weighted,
                        float *value) {
    int64_t to = 0;
    bool diagonal_due = d.added && !d.merged;
    for (int64_t e = graph->offset[row]; e < graph->offset[row + 1]; e++) {
        pgcn_node node = graph->neighbour[e];
        if (diagonal_due && node > row) {
            value[to++] = 1;
            diagonal_due = false;
        }
        value[to] = weighted ? graph->weight[e] : 1;
        if (d.merged && node == row) value[to] += 1;
        to++;
    }
    if (diagonal_due) value[to] = 1;
}

/* The sum of such a row, in its order. */
static double sum_row(const pgcn_graph *graph, int64_t row, diagonal d, bool weighted) {
    double sum = 0;
    bool diagonal_due = d.added && !d.merged;
    for (int64_t e = graph->offset[row]; e < graph->offset[row + 1]; e++) {
        if (diagonal_due && graph->neighbour[e] > row) {
            sum += 1;
            diagonal_due = false;
        }
        float entry = weighted ? graph->weight[e] : 1;
        if (d.merged && graph->neighbour[e] == row) entry += 1;
        sum += (double)entry;
    }
    return diagonal_due ? sum + 1 : sum;
}

pgcn_status pgcn_i_graph_degrees(const pgcn_graph *graph, pgcn_i_transition_opts opts,
                                 pgcn_i_arena *arena, float **degree) {
    const bool weighted = opts.weighted && graph->weight;
    float *sum = PGCN_I_ARRAY(arena, float, graph->n);
    if (!sum) return PGCN_ERR_MEMORY;
    for (int64_t row = 0; row < graph->n; row++) {
        diagonal d = diagonal_of(graph, row, opts);
        sum[row] = d.entries > 0 ? (float)sum_row(graph, row, d, weighted) : 1;
    }
    *degree = sum;
    return PGCN_OK;
}

/* The structure of T: its own, or that of the graph. */
static pgcn_status make_rows(const pgcn_graph *graph, pgcn_i_transition_opts opts,
                             pgcn_i_arena *arena, pgcn_i_csr *csr) {
    int64_t n = graph->n, entries = 0;
    for (int64_t row = 0; row < n; row++) entries += diagonal_of(graph, row, opts).entries;
    if (opts.borrows && entries == graph->entries) {
        *csr = (pgcn_i_csr){.rows = n,
                            .offset = (int64_t *)(uintptr_t)graph->offset,
                            .column = (pgcn_node *)(uintptr_t)graph->neighbour};
        return PGCN_OK;
    }
    PGCN_TRY(pgcn_i_csr_alloc(arena, n, entries, false, csr));
    for (int64_t row = 0; row < n; row++) {
        diagonal d = diagonal_of(graph, row, opts);
        csr->offset[row + 1] = csr->offset[row] + d.entries;
        fill_columns(graph, row, d, csr->column + csr->offset[row]);
    }
    return PGCN_OK;
}

pgcn_status pgcn_i_graph_transition(const pgcn_graph *graph, pgcn_i_transition_opts opts,
                                    pgcn_i_arena *arena, pgcn_i_csr *out, pgcn_i_csr *transposed,
                                    float **degree) {
    const bool weighted = opts.weighted && graph->weight;
    int64_t n = graph->n;
    pgcn_i_csr csr;
    PGCN_TRY(make_rows(graph, opts, arena, &csr));
    float *sum;
    PGCN_TRY(pgcn_i_graph_degrees(graph, opts, arena, &sum));
    bool even = opts.scaling == PGCN_SCALING_WALK && !weighted && csr.column == graph->neighbour &&
                !opts.self_loops;
    *degree = sum;
    *out = csr;
    if (opts.drawn_from && even && !transposed) return PGCN_OK;
    csr.value = PGCN_I_ARRAY(arena, float, csr.offset[n]);
    if (!csr.value) return PGCN_ERR_MEMORY;
    for (int64_t row = 0; row < n; row++) {
        diagonal d = diagonal_of(graph, row, opts);
        int64_t begin = csr.offset[row], end = csr.offset[row + 1];
        fill_values(graph, row, d, weighted, csr.value + begin);
        if (opts.scaling != PGCN_SCALING_WALK) continue; /* symmetric: needs the sums of all rows */
        double row_sum = sum_row(graph, row, d, weighted);
        for (int64_t e = begin; e < end; e++)
            csr.value[e] = (float)((double)csr.value[e] / row_sum);
    }
    for (int64_t row = 0; opts.scaling == PGCN_SCALING_SYMMETRIC && row < n; row++)
        for (int64_t e = csr.offset[row]; e < csr.offset[row + 1]; e++)
            csr.value[e] =
                (float)((double)csr.value[e] / sqrt((double)sum[row] * (double)sum[csr.column[e]]));

    if (transposed) PGCN_TRY(pgcn_i_csr_transpose(&csr, n, arena, transposed));
    *out = csr;
    return PGCN_OK;
}
