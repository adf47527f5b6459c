/* The graph: from edge arrays, or rows of neighbours, to a checked, sorted, merged CSR, in O(n + m).
 *
 * Two counting sorts order the arcs by (source, target) and keep the input order of equal ones:
 * first by target (the incoming lists), then the transpose of that. So equal edges are added in
 * the order they came, in both directions alike, and an undirected graph is exactly symmetric.
 * Serial; called once per graph. The transpose is also used by transition.c and paths/visits.c. */
#include "graph/graph.h"

#include <float.h>
#include <math.h>
#include <string.h>

pgcn_graph_opts pgcn_graph_opts_default(void) {
    return (pgcn_graph_opts){.size = sizeof(pgcn_graph_opts)};
}

/* ---- transpose --------------------------------------------------------------------------- */

/* A counting sort by column without scratch memory. The offsets of the result are used three times:
 * first as counts, then as the position of the next entry of each row, and at the end they are the
 * ends of the rows, which are the starts of the next ones. */
static void start_rows(int64_t *cursor, int64_t rows, const pgcn_node *column, int64_t first,
                       int64_t last, int64_t row_begin) {
    memset(cursor, 0, (size_t)rows * sizeof *cursor);
    for (int64_t e = first; e < last; e++) cursor[column[e] - row_begin]++;
    pgcn_i_counts_to_starts(cursor, rows, first);
}

static void end_rows(int64_t *cursor, int64_t rows, int64_t first) {
    if (rows > 1) memmove(cursor + 1, cursor, (size_t)(rows - 1) * sizeof *cursor);
    cursor[0] = first;
}

void pgcn_i_csr_transpose_part(const pgcn_i_entries *in, int64_t first, int64_t last,
                               int64_t column_begin, int64_t column_end, pgcn_i_csr *out) {
    int64_t rows = column_end - column_begin;
    if (rows <= 0) return;
    int64_t *cursor = out->offset + column_begin;
    start_rows(cursor, rows, in->column, first, last, column_begin);
    for (int64_t e = first; e < last; e++) {
        int64_t to = cursor[in->column[e] - column_begin]++;
        out->column[to] = in->row[e];
        out->value[to] = in->value[e];
    }
    end_rows(cursor, rows, first);
}

pgcn_status pgcn_i_csr_alloc(pgcn_i_arena *arena, int64_t rows, int64_t entries, bool with_value,
                             pgcn_i_csr *out) {
    out->rows = rows;
    out->offset = PGCN_I_ARRAY(arena, int64_t, rows + 1);
    out->column = out->offset ? PGCN_I_ARRAY(arena, pgcn_node, entries) : NULL;
    out->value = out->column && with_value ? PGCN_I_ARRAY(arena, float, entries) : NULL;
    return out->column && (out->value || !with_value) ? PGCN_OK : PGCN_ERR_MEMORY;
}

pgcn_status pgcn_i_csr_transpose(const pgcn_i_csr *in, int64_t columns, pgcn_i_arena *arena,
                                 pgcn_i_csr *out) {
    int64_t entries = in->offset[in->rows];
    pgcn_i_csr result;
    PGCN_TRY(pgcn_i_csr_alloc(arena, columns, entries, in->value != NULL, &result));
    int64_t *cursor = result.offset;
    start_rows(cursor, columns, in->column, 0, entries, 0);
    for (int64_t row = 0; row < in->rows; row++) {
        for (int64_t e = in->offset[row]; e < in->offset[row + 1]; e++) {
            int64_t to = cursor[in->column[e]]++;
            result.column[to] = (pgcn_node)row;
            if (in->value) result.value[to] = in->value[e];
        }
    }
    end_rows(cursor, columns, 0);
    result.offset[columns] = entries;
    *out = result;
    return PGCN_OK;
}

/* Rows of both matrices are ascending: as the rows of the transpose are gone through, the entries of every row
 * of `a` come in their order. */
void pgcn_i_csr_number(int64_t *number, const pgcn_i_csr *a, const pgcn_i_csr *transposed,
                       int64_t n, int64_t *next) {
    for (int64_t row = 0; row < n; row++) next[row] = a->offset[row];
    for (int64_t e = 0; e < transposed->offset[n]; e++) number[e] = next[transposed->column[e]]++;
}

/* ---- building ---------------------------------------------------------------------------- */

typedef struct edge_list {
    int64_t n, m;
    const pgcn_node *source; /* [m]; NULL: `offset` says whose edge it is */
    const int64_t *offset;   /* [n+1] */
    const pgcn_node *target; /* [m] */
    const float *weight;     /* [m] or NULL */
    bool directed, keep_self_loops;
} edge_list;

/* The source of edge e, for e ascending from 0: *row is 0 at first. So nobody copies the rows of a
 * compressed adjacency into a list of edges. */
static inline pgcn_node source_of(const edge_list *edges, int64_t e, pgcn_node *row) {
    if (edges->source) return edges->source[e];
    while (edges->offset[*row + 1] <= e) (*row)++;
    return *row;
}

static pgcn_status check_nodes(int64_t n) {
    if (n >= 1 && n <= INT32_MAX) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "building a graph: n is %lld, but must be 1 to %d",
                       (long long)n, INT32_MAX);
}

static pgcn_status check_edges(const edge_list *edges) {
    pgcn_node row = 0;
    for (int64_t e = 0; e < edges->m; e++) {
        pgcn_node a = source_of(edges, e, &row), b = edges->target[e];
        if (a < 0 || a >= edges->n || b < 0 || b >= edges->n)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "building a graph: edge %lld is (%d, %d), but node ids must be 0 "
                               "to %lld; number nodes from 0 or raise n",
                               (long long)e, a, b, (long long)edges->n - 1);
        if (edges->weight && !(edges->weight[e] > 0 && isfinite(edges->weight[e])))
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "building a graph: edge %lld (%d, %d) has weight %g, but weights "
                               "must be finite and > 0%s",
                               (long long)e, a, b, (double)edges->weight[e],
                               edges->weight[e] == 0 ? "; leave edges of weight 0 out" : "");
    }
    return PGCN_OK;
}

/* The incoming lists: row b holds every a with an arc a -> b, in the order of the edges. */
static pgcn_status gather_incoming(const edge_list *edges, pgcn_i_arena *arena,
                                   pgcn_i_csr *incoming) {
    int64_t arcs_most;
    if (!pgcn_i_mul(edges->m, edges->directed ? 1 : 2, &arcs_most))
        return pgcn_i_fail(PGCN_ERR_MEMORY, "building a graph: %lld edges are too many",
                           (long long)edges->m);
    PGCN_TRY(pgcn_i_csr_alloc(arena, edges->n, arcs_most, edges->weight != NULL, incoming));
    int64_t *cursor = incoming->offset + 1; /* counts, then starts, then ends of the rows */
    pgcn_node row = 0;
    for (int64_t e = 0; e < edges->m; e++) {
        pgcn_node a = source_of(edges, e, &row), b = edges->target[e];
        if (a == b && !edges->keep_self_loops) continue;
        cursor[b]++;
        if (!edges->directed && a != b) cursor[a]++;
    }
    pgcn_i_counts_to_starts(cursor, edges->n, 0);
    row = 0;
    for (int64_t e = 0; e < edges->m; e++) {
        pgcn_node a = source_of(edges, e, &row), b = edges->target[e];
        if (a == b && !edges->keep_self_loops) continue;
        int64_t to = cursor[b]++;
        incoming->column[to] = a;
        if (edges->weight) incoming->value[to] = edges->weight[e];
        if (edges->directed || a == b) continue;
        to = cursor[a]++;
        incoming->column[to] = b;
        if (edges->weight) incoming->value[to] = edges->weight[e];
    }
    return PGCN_OK;
}

static int64_t count_distinct(const pgcn_i_csr *arcs) {
    int64_t distinct = 0;
    for (int64_t row = 0; row < arcs->rows; row++)
        for (int64_t e = arcs->offset[row]; e < arcs->offset[row + 1]; e++)
            distinct += e == arcs->offset[row] || arcs->column[e] != arcs->column[e - 1];
    return distinct;
}

pgcn_status pgcn_i_check_row_sum(int64_t row, double sum) {
    if (sum <= (double)FLT_MAX) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "building a graph: the edge weights at node %lld add up to %g, more than a "
                       "float can hold; scale the weights down",
                       (long long)row, sum);
}

/* Copies sorted arcs; equal arcs become one with the sum of their weights. The sum of a row must
 * fit into a float, because degrees and transition probabilities are computed from it. */
static pgcn_status merge_equal(const pgcn_i_csr *arcs, pgcn_i_csr *merged) {
    int64_t to = 0;
    for (int64_t row = 0; row < arcs->rows; row++) {
        merged->offset[row] = to;
        double row_sum = 0;
        for (int64_t e = arcs->offset[row], end = arcs->offset[row + 1]; e < end; to++) {
            pgcn_node node = arcs->column[e];
            double sum = 0;
            for (; e < end && arcs->column[e] == node; e++)
                if (arcs->value) sum += (double)arcs->value[e];
            merged->column[to] = node;
            if (merged->value) merged->value[to] = (float)fmin(sum, FLT_MAX);
            row_sum += sum;
        }
        PGCN_TRY(pgcn_i_check_row_sum(row, row_sum));
    }
    merged->offset[arcs->rows] = to;
    return PGCN_OK;
}

/* The row that entry e is in. */
static pgcn_node row_of(const int64_t *offset, int64_t n, int64_t e) {
    int64_t low = 0, high = n; /* offset[low] <= e < offset[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (offset[middle] <= e)
            low = middle;
        else
            high = middle;
    }
    return (pgcn_node)low;
}

/* The arcs of edges first .. last - 1 as keys, in the order of the edges. */
static int64_t list_arcs(void *context, int64_t first, int64_t last, uint64_t *key, float *weight) {
    const edge_list *edges = context;
    pgcn_node row = edges->source ? 0 : row_of(edges->offset, edges->n, first);
    int64_t count = 0;
    for (int64_t e = first; e < last; e++) {
        pgcn_node a = source_of(edges, e, &row), b = edges->target[e];
        if (a == b && !edges->keep_self_loops) continue;
        if (weight) weight[count] = edges->weight[e];
        key[count++] = pgcn_i_arc_key(a, b);
        if (edges->directed || a == b) continue;
        if (weight) weight[count] = edges->weight[e];
        key[count++] = pgcn_i_arc_key(b, a);
    }
    return count;
}

static pgcn_status build_by_parts(const edge_list *edges, pgcn_i_arena *kept, pgcn_i_csr *out) {
    pgcn_i_arc_source arcs = {.nodes = edges->n,
                              .edges = edges->m,
                              .arcs_of_edge = edges->directed ? 1 : 2,
                              .weighted = edges->weight != NULL,
                              .list = list_arcs,
                              .context = (void *)(uintptr_t)edges};
    return pgcn_i_sort_arcs(&arcs, kept, out);
}

static pgcn_status build(const edge_list *edges, pgcn_i_arena *work, pgcn_i_arena *kept,
                         pgcn_i_csr *out) {
    if (pgcn_i_sort_is_needed(edges->m)) return build_by_parts(edges, kept, out);
    pgcn_i_csr incoming, arcs;
    PGCN_TRY(gather_incoming(edges, work, &incoming));
    pgcn_i_arena incoming_arena = *work; /* freed before the result is made: it is the peak */
    *work = (pgcn_i_arena){0};
    pgcn_status status = pgcn_i_csr_transpose(&incoming, edges->n, work, &arcs);
    pgcn_i_arena_free(&incoming_arena);
    PGCN_TRY(status);
    PGCN_TRY(pgcn_i_csr_alloc(kept, edges->n, count_distinct(&arcs), edges->weight != NULL, out));
    return merge_equal(&arcs, out);
}

static pgcn_status make_graph(const edge_list *edges, pgcn_graph **out) {
    PGCN_TRY(check_edges(edges));
    pgcn_i_arena work = {0}, kept = {0};
    pgcn_status status = PGCN_ERR_MEMORY;
    pgcn_graph *graph = PGCN_I_ARRAY(&kept, pgcn_graph, 1);
    pgcn_i_csr csr;
    if (graph) status = build(edges, &work, &kept, &csr);
    pgcn_i_arena_free(&work);
    if (status != PGCN_OK) {
        pgcn_i_arena_free(&kept);
        return status;
    }
    *graph = (pgcn_graph){.arena = kept,
                          .n = edges->n,
                          .entries = csr.offset[edges->n],
                          .directed = edges->directed,
                          .offset = csr.offset,
                          .neighbour = csr.column,
                          .weight = csr.value};
    *out = graph;
    return PGCN_OK;
}

pgcn_status pgcn_graph_from_edges(int64_t n, int64_t m, const pgcn_node *source,
                                  const pgcn_node *target, const float *weight,
                                  const pgcn_graph_opts *opts, pgcn_graph **out) {
    pgcn_graph_opts set = pgcn_graph_opts_default();
    PGCN_TRY(pgcn_i_opts_over(&set, sizeof set, opts, "pgcn_graph_opts_default"));
    PGCN_I_NEED(out);
    PGCN_TRY(check_nodes(n));
    if (m < 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "building a graph: m is %lld, but must be >= 0",
                           (long long)m);
    if (m > 0 && (!source || !target))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "building a graph: m is %lld, but source or target is NULL; give both "
                           "arrays",
                           (long long)m);
    edge_list edges = {.n = n,
                       .m = m,
                       .source = source,
                       .target = target,
                       .weight = weight,
                       .directed = set.directed,
                       .keep_self_loops = set.keep_self_loops};
    return make_graph(&edges, out);
}

pgcn_status pgcn_graph_from_csr(int64_t n, const int64_t *offset, const pgcn_node *neighbour,
                                const float *weight, const pgcn_graph_opts *opts,
                                pgcn_graph **out) {
    pgcn_graph_opts set = pgcn_graph_opts_default();
    PGCN_TRY(pgcn_i_opts_over(&set, sizeof set, opts, "pgcn_graph_opts_default"));
    PGCN_I_NEED(out);
    PGCN_I_NEED(offset);
    PGCN_TRY(check_nodes(n));
    if (offset[0] != 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "building a graph: the offsets start at %lld, but must start at 0",
                           (long long)offset[0]);
    for (int64_t u = 0; u < n; u++)
        if (offset[u + 1] < offset[u])
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "building a graph: the offsets of node %lld are %lld and %lld, but "
                               "must ascend",
                               (long long)u, (long long)offset[u], (long long)offset[u + 1]);
    if (offset[n] > 0 && !neighbour)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "building a graph: the offsets end at %lld, but neighbour is NULL; give "
                           "the array",
                           (long long)offset[n]);
    edge_list edges = {.n = n,
                       .m = offset[n],
                       .offset = offset,
                       .target = neighbour,
                       .weight = weight,
                       .directed = set.directed,
                       .keep_self_loops = set.keep_self_loops};
    return make_graph(&edges, out);
}

void pgcn_graph_free(pgcn_graph *graph) {
    if (!graph) return;
    pgcn_i_arena arena = graph->arena; /* the struct itself lives in it */
    pgcn_i_arena_free(&arena);
}

pgcn_status pgcn_i_graph_reversed(const pgcn_graph *graph, pgcn_graph **out) {
    const pgcn_i_csr rows = {graph->n, (int64_t *)graph->offset, (pgcn_node *)graph->neighbour,
                             (float *)graph->weight}; /* which are only read */
    pgcn_i_arena arena = {0};
    pgcn_i_csr transposed;
    pgcn_graph *reversed = PGCN_I_ARRAY(&arena, pgcn_graph, 1);
    pgcn_status status =
        reversed ? pgcn_i_csr_transpose(&rows, graph->n, &arena, &transposed) : PGCN_ERR_MEMORY;
    if (status != PGCN_OK) {
        pgcn_i_arena_free(&arena);
        return status;
    }
    *reversed = *graph;
    reversed->arena = arena;
    reversed->offset = transposed.offset;
    reversed->neighbour = transposed.column;
    reversed->weight = transposed.value;
    *out = reversed;
    return PGCN_OK;
}

/* ---- checking ---------------------------------------------------------------------------- */

static pgcn_status check_offsets(const pgcn_graph *graph) {
    const int64_t *offset = graph->offset, n = graph->n;
    if (offset[0] != 0 || offset[n] != graph->entries)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "the rows of the adjacency run from %lld to %lld, expected 0 to %lld",
                           (long long)offset[0], (long long)offset[n], (long long)graph->entries);
    int64_t falls = 0;
    for (int64_t u = 0; u < n; u++) falls += offset[u + 1] < offset[u];
    if (falls > 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "%lld rows of the adjacency end before they begin",
                           (long long)falls);
    return PGCN_OK;
}

/* The error for the first row that is not a list of ascending nodes. */
static pgcn_status fail_at_bad_row(const pgcn_graph *graph) {
    for (int64_t u = 0; u < graph->n; u++)
        for (int64_t e = graph->offset[u], begin = e; e < graph->offset[u + 1]; e++) {
            pgcn_node v = graph->neighbour[e];
            if (v < 0 || v >= graph->n)
                return pgcn_i_fail(PGCN_ERR_FORMAT,
                                   "node %lld has the neighbour %d, expected 0..%lld", (long long)u,
                                   v, (long long)graph->n - 1);
            if (e > begin && v <= graph->neighbour[e - 1])
                return pgcn_i_fail(
                    PGCN_ERR_FORMAT,
                    "node %lld has the neighbour %d after %d, expected them to ascend",
                    (long long)u, v, graph->neighbour[e - 1]);
        }
    return PGCN_OK;
}

/* A neighbour may be smaller than the one before it only at the beginning of a row. Both are
 * counted over the whole array, without a loop over rows, and compared. */
static pgcn_status check_neighbours(const pgcn_graph *graph) {
    const pgcn_node *neighbour = graph->neighbour;
    pgcn_node least = 0, most = -1;
    int64_t falls = 0, allowed = 0;
    for (int64_t e = 0; e < graph->entries; e++) {
        least = neighbour[e] < least ? neighbour[e] : least;
        most = neighbour[e] > most ? neighbour[e] : most;
    }
    for (int64_t e = 1; e < graph->entries; e++) falls += neighbour[e] <= neighbour[e - 1];
    for (int64_t u = 1; u < graph->n; u++) {
        int64_t e = graph->offset[u];
        bool first_of_row = e > 0 && e < graph->offset[u + 1];
        allowed += first_of_row && neighbour[e] <= neighbour[e - 1];
    }
    return least < 0 || most >= graph->n || falls != allowed ? fail_at_bad_row(graph) : PGCN_OK;
}

static pgcn_status check_weights(const pgcn_graph *graph) {
    for (int64_t u = 0; u < graph->n; u++) {
        double sum = 0;
        for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++) {
            float weight = graph->weight[e];
            if (!(weight > 0 && weight <= FLT_MAX))
                return pgcn_i_fail(PGCN_ERR_FORMAT,
                                   "node %lld has an edge of weight %g, expected a finite number "
                                   "above 0",
                                   (long long)u, (double)weight);
            sum += (double)weight;
        }
        if (sum > (double)FLT_MAX)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "the edge weights at node %lld add up to %g, more than a float can "
                               "hold",
                               (long long)u, sum);
    }
    return PGCN_OK;
}

static pgcn_status one_way(const pgcn_graph *graph, int64_t u, pgcn_node v) {
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "the edge between nodes %lld and %d is not the same in both directions%s, "
                       "expected an undirected graph",
                       (long long)u, v, graph->weight ? " or has two weights" : "");
}

/* Rows are visited in ascending order, so the smaller neighbours of v turn up in the order of its
 * row: cursor[v] is the next expected one. When row u is reached, all of them must have turned
 * up. */
static pgcn_status check_symmetric(const pgcn_graph *graph, int64_t *cursor) {
    const int64_t *offset = graph->offset;
    const pgcn_node *neighbour = graph->neighbour;
    memcpy(cursor, offset, (size_t)graph->n * sizeof *cursor);
    for (int64_t u = 0; u < graph->n; u++) {
        int64_t e = cursor[u], end = offset[u + 1];
        if (e < end && neighbour[e] < u) return one_way(graph, u, neighbour[e]);
        if (e < end && neighbour[e] == u) e++;
        for (; e < end; e++) {
            pgcn_node v = neighbour[e];
            int64_t back = cursor[v]++;
            if (back >= offset[v + 1] || neighbour[back] != u ||
                (graph->weight && graph->weight[back] != graph->weight[e]))
                return one_way(graph, u, v);
        }
    }
    return PGCN_OK;
}

pgcn_status pgcn_i_graph_check(const pgcn_graph *graph) {
    if (graph->n < 1 || graph->n > INT32_MAX || graph->entries < 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "the graph has %lld nodes, expected 1 to %d",
                           (long long)graph->n, INT32_MAX);
    PGCN_TRY(check_offsets(graph));
    PGCN_TRY(check_neighbours(graph));
    if (graph->weight) PGCN_TRY(check_weights(graph));
    if (graph->directed) return PGCN_OK;
    int64_t *cursor = pgcn_i_alloc(graph->n, sizeof *cursor);
    if (!cursor) return PGCN_ERR_MEMORY;
    pgcn_status status = check_symmetric(graph, cursor);
    pgcn_i_free(cursor);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------- */

int64_t pgcn_graph_nodes(const pgcn_graph *graph) {
    return graph ? graph->n : 0;
}

int64_t pgcn_graph_entries(const pgcn_graph *graph) {
    return graph ? graph->entries : 0;
}

void pgcn_graph_csr(const pgcn_graph *graph, const int64_t **offset, const pgcn_node **neighbour,
                    const float **weight) {
    if (offset) *offset = graph ? graph->offset : NULL;
    if (neighbour) *neighbour = graph ? graph->neighbour : NULL;
    if (weight) *weight = graph ? graph->weight : NULL;
}
