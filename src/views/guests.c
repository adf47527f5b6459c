/* Guests: nodes that are not in the graph, asked about with their edges and features as arrays. Their edges lead to
 * nodes of the graph; these do not know of them, as if the edges had a direction, so that nothing of the graph changes.
 * Their rows of T are made as src/graph/transition.c makes those of the graph. Called by the predictor. */
#include "views/views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_nodes(const void *a, const void *b) {
    pgcn_node x = *(const pgcn_node *)a, y = *(const pgcn_node *)b;
    return (x > y) - (x < y);
}

/* ---- edges ------------------------------------------------------------------------------------------ */

static pgcn_status check_row(const pgcn_i_guests *guests, int64_t i, const pgcn_node *column,
                             int64_t count) {
    for (int64_t e = 0; e < count; e++) {
        if (column[e] < 0 || column[e] >= guests->nodes)
            return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                               "new node %lld has an edge to node %d, but the graph has nodes 0 to "
                               "%lld",
                               (long long)i, column[e], (long long)guests->nodes - 1);
        if (e > 0 && column[e] == column[e - 1])
            return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                               "new node %lld has two edges to node %d; give each once",
                               (long long)i, column[e]);
    }
    return PGCN_OK;
}

/* Row i of A or A + I, and its sum; `at` is where it begins. */
static pgcn_status fill_row(pgcn_i_guests *guests, const pgcn_new_nodes *given, int64_t i,
                            const pgcn_config *config) {
    int64_t count = given->offset[i + 1] - given->offset[i], at = guests->edges.offset[i];
    bool empty = pgcn_i_network_of(config)->empty_rows || config->scaling == PGCN_SCALING_SUM;
    pgcn_node *column = guests->edges.column + at;
    memcpy(column, given->neighbour + given->offset[i], (size_t)count * sizeof *column);
    qsort(column, (size_t)count, sizeof *column, compare_nodes);
    PGCN_TRY(check_row(guests, i, column, count));
    if (config->self_loops || (count == 0 && !empty))
        column[count++] = (pgcn_node)(guests->nodes + i);
    for (int64_t e = 0; e < count; e++) guests->edges.value[at + e] = 1;
    guests->edges.offset[i + 1] = at + count;
    guests->degree[i] = count > 0 ? (float)count : 1;
    return PGCN_OK;
}

static void scale_row(pgcn_i_guests *guests, int64_t i, const pgcn_i_spatial *spatial,
                      const pgcn_config *config) {
    double d = (double)guests->degree[i];
    bool enhanced = config->diagonal > 0 && !pgcn_i_network_of(config)->walks;
    for (int64_t e = guests->edges.offset[i]; e < guests->edges.offset[i + 1]; e++) {
        pgcn_node to = guests->edges.column[e];
        float *value = &guests->edges.value[e];
        double other = to < guests->nodes ? (double)spatial->degree[to] : d;
        if (config->scaling == PGCN_SCALING_WALK) *value = (float)((double)*value / d);
        if (config->scaling == PGCN_SCALING_SYMMETRIC)
            *value = (float)((double)*value / sqrt(d * other));
        if (enhanced && to >= guests->nodes) *value *= (float)(1 + config->diagonal);
    }
}

pgcn_status pgcn_i_guests_fill(pgcn_i_guests *guests, const pgcn_new_nodes *given,
                               const pgcn_i_spatial *spatial, const pgcn_config *config) {
    guests->count = given->count;
    guests->nodes = spatial->walker.graph->n;
    guests->edges.rows = given->count;
    guests->edges.offset[0] = 0;
    for (int64_t i = 0; i < given->count; i++) {
        PGCN_TRY(fill_row(guests, given, i, config));
        scale_row(guests, i, spatial, config);
    }
    return PGCN_OK;
}

pgcn_status pgcn_i_guests_init(pgcn_i_guests *guests, pgcn_i_arena *arena, int64_t most,
                               int64_t entries) {
    *guests = (pgcn_i_guests){.degree = PGCN_I_ARRAY(arena, float, most)};
    if (!guests->degree) return PGCN_ERR_MEMORY;
    return pgcn_i_csr_alloc(arena, most, entries, true, &guests->edges);
}

/* ---- features ---------------------------------------------------------------------------------------- */

pgcn_status pgcn_i_guests_input(const pgcn_new_nodes *given, const pgcn_i_input *whole,
                                pgcn_normalise normalise, pgcn_i_standard standard,
                                pgcn_i_input **out) {
    int64_t n = given->count, columns = whole->columns, nonzeros = 0, at = 0;
    pgcn_i_features features = {.n = n, .columns = columns, .dense = given->feature};
    pgcn_i_arena arena = {0};
    for (int64_t e = 0; e < n * columns; e++) {
        if (!isfinite(given->feature[e]))
            return pgcn_i_fail(PGCN_ERR_ARGUMENT, "feature %lld of new node %lld is not finite",
                               (long long)(e % columns), (long long)(e / columns));
        nonzeros += given->feature[e] != 0;
    }
    if (!whole->dense) {
        int64_t *offset = PGCN_I_ARRAY(&arena, int64_t, n + 1);
        int32_t *column = PGCN_I_ARRAY(&arena, int32_t, nonzeros);
        float *value = PGCN_I_ARRAY(&arena, float, nonzeros);
        for (int64_t e = 0; offset && column && value && e < n * columns; e++) {
            if (given->feature[e] != 0) {
                column[at] = (int32_t)(e % columns);
                value[at++] = given->feature[e];
            }
            offset[e / columns + 1] = at;
        }
        features = (pgcn_i_features){.n = n,
                                     .columns = columns,
                                     .nonzeros = nonzeros,
                                     .offset = offset,
                                     .column = column,
                                     .value = value};
        if (!offset || !column || !value) {
            pgcn_i_arena_free(&arena);
            return PGCN_ERR_MEMORY;
        }
    }
    pgcn_status status = pgcn_i_input_new(&features, normalise, standard, false, out);
    pgcn_i_arena_free(&arena);
    return status;
}
