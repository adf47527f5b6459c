/* The steps between a reader and a data set: which edges, which nodes and in which order. (steps.c
 * reads the list of steps, features.c and splits.c do theirs.)
 *
 * Row normalisation and standardisation are not here: they depend on the split and on the model
 * (--normalise). Serial, thread-safe. Called by dataset.c, which has checked ids and labels. */
#include "data/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the graph -------------------------------------------------------------------------------- */

/* Lists the arcs of a graph as edges: all of them, or one of each undirected pair. */
static pgcn_status list_edges(const pgcn_graph *graph, pgcn_i_source *source) {
    pgcn_node *from = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, graph->entries);
    pgcn_node *to = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, graph->entries);
    float *weight = NULL;
    if (graph->weight) weight = PGCN_I_ARRAY(&source->edge_arena, float, graph->entries);
    if (!from || !to || (graph->weight && !weight)) return PGCN_ERR_MEMORY;
    int64_t m = 0;
    for (int64_t u = 0; u < graph->n; u++)
        for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++) {
            if (!graph->directed && graph->neighbour[e] < u) continue;
            from[m] = (pgcn_node)u;
            to[m] = graph->neighbour[e];
            if (weight) weight[m] = graph->weight[e];
            m++;
        }
    source->edges = m;
    source->edge_from = from;
    source->edge_to = to;
    source->edge_weight = weight;
    source->directed = graph->directed;
    return PGCN_OK;
}

/* A container or a built-in set has a finished graph. Its edges can become undirected, but not
 * directed, and dropped self-loops do not come back. */
static pgcn_status keep_graph(pgcn_i_source *source, const pgcn_i_steps *steps, const char *where) {
    if (steps->directed && !source->graph->directed)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set '%s' has no directed edges; load it without 'directed', or "
                           "convert its source again with it",
                           where);
    if (steps->self_loops && source->dropped_self_loops > 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set '%s' was saved without its %lld self-loops; load it without "
                           "'self-loops', or convert its source again with it",
                           where, (long long)source->dropped_self_loops);
    if (!steps->symmetrise || !source->graph->directed) return PGCN_OK;
    PGCN_TRY(list_edges(source->graph, source));
    pgcn_graph_free(source->graph);
    source->graph = NULL;
    return PGCN_OK;
}

/* Nodes with an edge to themselves: what the published counts call self-loops. */
static pgcn_status count_self_loops(pgcn_i_source *source) {
    uint8_t *has_one = pgcn_i_alloc(source->nodes, 1);
    if (!has_one) return PGCN_ERR_MEMORY;
    for (int64_t e = 0; e < source->edges; e++) {
        pgcn_node node = source->edge_from[e];
        if (node != source->edge_to[e] || has_one[node]) continue;
        has_one[node] = 1;
        source->dropped_self_loops++;
    }
    pgcn_i_free(has_one);
    return PGCN_OK;
}

pgcn_status pgcn_i_prepare_graph(pgcn_i_source *source, const pgcn_i_steps *steps,
                                 const char *where) {
    bool keep_self_loops = steps->self_loops || source->graph;
    if (source->graph) PGCN_TRY(keep_graph(source, steps, where));
    if (source->graph) return PGCN_OK;
    if (steps->directed && !source->directed)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set '%s' has no directed edges; load it without 'directed'",
                           where);
    pgcn_graph_opts opts = pgcn_graph_opts_default();
    opts.directed = steps->directed;
    opts.keep_self_loops = keep_self_loops;
    pgcn_status status =
        pgcn_graph_from_edges(source->nodes, source->edges, source->edge_from, source->edge_to,
                              source->edge_weight, &opts, &source->graph);
    if (status != PGCN_OK)
        return pgcn_i_fail_in(status, "reading '%s%s%s'", where, source->edge_file ? "/" : "",
                              source->edge_file ? source->edge_file : "");
    if (!keep_self_loops) PGCN_TRY(count_self_loops(source));
    pgcn_i_arena_free(&source->edge_arena);
    pgcn_i_arena_drop(&source->arena, source->edge_label);
    source->edge_from = source->edge_to = NULL;
    source->edge_weight = NULL;
    source->edge_label = NULL;
    return PGCN_OK;
}

/* ---- largest component ------------------------------------------------------------------------ */

/* kept[new] = old, ascending, for the nodes of the largest component (weakly connected; of equal ones
 * that of the smallest node). Roots are the smallest nodes of their components. */
static pgcn_status find_component(const pgcn_graph *graph, pgcn_i_arena *scratch, pgcn_node **kept,
                                  int64_t *count) {
    pgcn_node *parent = PGCN_I_ARRAY(scratch, pgcn_node, graph->n);
    int64_t *size = PGCN_I_ARRAY(scratch, int64_t, graph->n);
    if (!parent || !size) return PGCN_ERR_MEMORY;
    for (int64_t u = 0; u < graph->n; u++) parent[u] = (pgcn_node)u;
    for (int64_t u = 0; u < graph->n; u++)
        for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++) {
            pgcn_node a = pgcn_i_root_of(parent, (pgcn_node)u),
                      b = pgcn_i_root_of(parent, graph->neighbour[e]);
            if (a < b)
                parent[b] = a;
            else
                parent[a] = b;
        }
    int64_t best = 0;
    for (int64_t u = 0; u < graph->n; u++) size[pgcn_i_root_of(parent, (pgcn_node)u)]++;
    for (int64_t u = 1; u < graph->n; u++)
        if (size[u] > size[best]) best = u;
    *count = 0;
    *kept = PGCN_I_ARRAY(scratch, pgcn_node, size[best]);
    if (!*kept) return PGCN_ERR_MEMORY;
    for (int64_t u = 0; u < graph->n; u++)
        if (pgcn_i_root_of(parent, (pgcn_node)u) == best) (*kept)[(*count)++] = (pgcn_node)u;
    return PGCN_OK;
}

/* The graph of the kept nodes. A component is closed: no edge leaves it. */
static pgcn_status cut_graph(pgcn_i_source *source, const pgcn_node *kept, int64_t count,
                             pgcn_i_arena *scratch) {
    const pgcn_graph *graph = source->graph;
    pgcn_node *number = PGCN_I_ARRAY(scratch, pgcn_node, graph->n);
    if (!number) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) number[kept[i]] = (pgcn_node)i;
    int64_t edges_of_source = source->edges;
    PGCN_TRY(list_edges(graph, source));
    pgcn_node *from = (pgcn_node *)source->edge_from, *to = (pgcn_node *)source->edge_to;
    float *weight = (float *)source->edge_weight;
    int64_t m = 0;
    for (int64_t e = 0; e < source->edges; e++) {
        if (kept[number[from[e]]] != from[e]) continue;
        if (weight) weight[m] = weight[e];
        pgcn_node a = number[from[e]], b = number[to[e]];
        from[m] = a;
        to[m++] = b;
    }
    pgcn_graph_opts opts = pgcn_graph_opts_default();
    opts.directed = graph->directed;
    opts.keep_self_loops = true;
    pgcn_graph *smaller;
    PGCN_TRY(pgcn_graph_from_edges(count, m, from, to, weight, &opts, &smaller));
    pgcn_graph_free(source->graph);
    source->graph = smaller;
    source->edges = edges_of_source; /* as a count of what was read */
    pgcn_i_arena_free(&source->edge_arena);
    source->edge_from = source->edge_to = NULL;
    source->edge_weight = NULL;
    return PGCN_OK;
}

/* Sets *to to the kept rows of an array whose rows have `row_bytes`; NULL stays NULL. */
static pgcn_status copy_rows(pgcn_i_source *source, const pgcn_node *kept, int64_t count,
                             int64_t row_bytes, const void *from, void *to) {
    char *rows = NULL;
    if (from && !(rows = pgcn_i_arena_alloc(&source->arena, count, (size_t)row_bytes)))
        return PGCN_ERR_MEMORY;
    for (int64_t i = 0; from && i < count; i++)
        memcpy(rows + i * row_bytes, (const char *)from + kept[i] * row_bytes, (size_t)row_bytes);
    memcpy(to, &rows, sizeof rows);
    return PGCN_OK;
}

/* The same for *array, which is replaced; the old one is freed. */
static pgcn_status cut_rows(pgcn_i_source *source, const pgcn_node *kept, int64_t count,
                            int64_t row_bytes, void *array) {
    const void *old;
    memcpy(&old, array, sizeof old);
    PGCN_TRY(copy_rows(source, kept, count, row_bytes, old, array));
    pgcn_i_arena_drop(&source->arena, old);
    return PGCN_OK;
}
#define CUT_ROWS(source, kept, count, array, columns)                                              \
    PGCN_TRY(cut_rows(source, kept, count, (int64_t)sizeof *(array) * (columns), &(array)))

static pgcn_status cut_sparse(pgcn_i_source *source, const pgcn_node *kept, int64_t count) {
    pgcn_i_features *x = &source->x;
    int64_t *offset = PGCN_I_ARRAY(&source->arena, int64_t, count + 1), at = 0;
    if (!offset) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++)
        offset[i + 1] = offset[i] + x->offset[kept[i] + 1] - x->offset[kept[i]];
    int32_t *column = PGCN_I_ARRAY(&source->arena, int32_t, offset[count]);
    float *value = PGCN_I_ARRAY(&source->arena, float, offset[count]);
    if (!column || !value) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++)
        for (int64_t e = x->offset[kept[i]]; e < x->offset[kept[i] + 1]; e++) {
            column[at] = x->column[e];
            value[at++] = x->value[e];
        }
    pgcn_i_arena_drop(&source->arena, x->offset);
    pgcn_i_arena_drop(&source->arena, x->column);
    pgcn_i_arena_drop(&source->arena, x->value);
    x->offset = offset;
    x->column = column;
    x->value = value;
    x->nonzeros = at;
    return PGCN_OK;
}

/* The kept nodes keep their names; without names, their old numbers become their names. */
static pgcn_status cut_names(pgcn_i_source *source, const pgcn_node *kept, int64_t count) {
    enum { DIGITS = 12 };
    const pgcn_i_names *old = &source->node_id;
    int64_t *offset = PGCN_I_ARRAY(&source->arena, int64_t, count + 1);
    if (!offset) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++)
        offset[i + 1] =
            offset[i] + (old->count > 0 ? old->offset[kept[i] + 1] - old->offset[kept[i]]
                                        : 1 + snprintf(NULL, 0, "%d", kept[i]));
    char *text = PGCN_I_ARRAY(&source->arena, char, offset[count]);
    if (!text) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) {
        if (old->count > 0)
            memcpy(text + offset[i], old->text + old->offset[kept[i]],
                   (size_t)(offset[i + 1] - offset[i]));
        else
            snprintf(text + offset[i], DIGITS, "%d", kept[i]);
    }
    pgcn_i_arena_drop(&source->arena, old->offset);
    pgcn_i_arena_drop(&source->arena, old->text);
    source->node_id = (pgcn_i_names){count, offset, text};
    return PGCN_OK;
}

/* Masks of several splits may share one array, so the old ones are freed when all are copied. */
static pgcn_status cut_masks(pgcn_i_source *source, const pgcn_node *kept, int64_t count) {
    const pgcn_i_split *old = source->split;
    pgcn_i_split *split = PGCN_I_ARRAY(&source->arena, pgcn_i_split, source->splits);
    if (!split) return PGCN_ERR_MEMORY;
    for (int s = 0; s < source->splits; s++) {
        split[s] = old[s];
        PGCN_TRY(copy_rows(source, kept, count, 1, old[s].train, &split[s].train));
        PGCN_TRY(copy_rows(source, kept, count, 1, old[s].val, &split[s].val));
        PGCN_TRY(copy_rows(source, kept, count, 1, old[s].test, &split[s].test));
    }
    for (int s = 0; s < source->splits; s++) {
        pgcn_i_arena_drop(&source->arena, old[s].train);
        pgcn_i_arena_drop(&source->arena, old[s].val);
        pgcn_i_arena_drop(&source->arena, old[s].test);
    }
    source->split = split;
    pgcn_i_arena_drop(&source->arena, old);
    return PGCN_OK;
}

/* All arrays with a row per node but the graph and the names. */
static pgcn_status cut_arrays(pgcn_i_source *source, const pgcn_node *kept, int64_t count) {
    CUT_ROWS(source, kept, count, source->x.dense, source->x.columns);
    if (source->x.offset) PGCN_TRY(cut_sparse(source, kept, count));
    CUT_ROWS(source, kept, count, source->x.absent, 1);
    if (source->x.absent && !memchr(source->x.absent, 1, (size_t)count))
        source->x.absent = source->x.made = NULL; /* no such node is left */
    CUT_ROWS(source, kept, count, source->node_label, 1);
    CUT_ROWS(source, kept, count, source->label, 1);
    CUT_ROWS(source, kept, count, source->labels, source->classes);
    CUT_ROWS(source, kept, count, source->label_known, 1);
    CUT_ROWS(source, kept, count, source->graph_of, 1);
    if (!source->graph_label) PGCN_TRY(cut_masks(source, kept, count));
    source->nodes = source->x.n = count;
    return PGCN_OK;
}

static pgcn_status keep_nodes(pgcn_i_source *source, const pgcn_node *kept, int64_t count,
                              pgcn_i_arena *scratch) {
    int64_t before = source->nodes;
    PGCN_TRY(cut_graph(source, kept, count, scratch));
    PGCN_TRY(cut_names(source, kept, count));
    PGCN_TRY(cut_arrays(source, kept, count));
    return pgcn_i_source_note(source, "largest-component: %lld of %lld nodes are left",
                              (long long)count, (long long)before);
}

static pgcn_status keep_largest_component(pgcn_i_source *source, const char *where) {
    if (source->graphs > 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set '%s' has %lld graphs; the step largest-component is for one "
                           "graph",
                           where, (long long)source->graphs);
    pgcn_i_arena scratch = {0};
    pgcn_node *kept;
    int64_t count;
    pgcn_status status = find_component(source->graph, &scratch, &kept, &count);
    if (status == PGCN_OK && count < source->nodes)
        status = keep_nodes(source, kept, count, &scratch);
    pgcn_i_arena_free(&scratch);
    return status;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Moves row order[i] of every array to row i; `number` is the inverse of `order`. Frees the old
 * graph if own_graph. Names are moved if there are any; the numbers are kept in source->number. */
static pgcn_status move_rows(pgcn_i_source *source, const pgcn_node *order, const pgcn_node *number,
                             bool own_graph) {
    pgcn_graph *moved;
    PGCN_TRY(pgcn_i_graph_renumber(source->graph, order, number, &moved));
    if (own_graph) pgcn_graph_free(source->graph);
    source->graph = moved;
    if (source->node_id.count > 0) PGCN_TRY(cut_names(source, order, source->nodes));
    return cut_arrays(source, order, source->nodes);
}

static void invert(const pgcn_node *order, int64_t n, pgcn_node *number) {
    for (int64_t i = 0; i < n; i++) number[order[i]] = (pgcn_node)i;
}

/* What the features of each node take, where that differs: its non-zeros. */
static pgcn_status weigh_features(const pgcn_i_features *x, pgcn_i_arena *scratch, int32_t **out) {
    *out = NULL;
    if (!x->offset) return PGCN_OK;
    *out = PGCN_I_ARRAY(scratch, int32_t, x->n);
    if (!*out) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < x->n; i++) (*out)[i] = (int32_t)(x->offset[i + 1] - x->offset[i]);
    return PGCN_OK;
}

/* Part by part, so that every group of nodes is a part; inside it by communities. */
static pgcn_status order_by_parts(const pgcn_i_source *source, const pgcn_i_steps *steps,
                                  pgcn_i_arena *scratch, pgcn_node *order) {
    int64_t most = steps->groups > 0 ? steps->groups : pgcn_i_source_groups(source);
    pgcn_i_parts parts = pgcn_i_parts_of_groups(source->nodes, most);
    pgcn_i_partitioner how =
        steps->order == PGCN_I_NODE_ORDER_METIS ? PGCN_I_PARTS_METIS : PGCN_I_PARTS_BUILTIN;
    int32_t *features, *part = PGCN_I_ARRAY(scratch, int32_t, source->nodes);
    pgcn_node *within = PGCN_I_ARRAY(scratch, pgcn_node, source->nodes);
    if (!part || !within) return PGCN_ERR_MEMORY;
    PGCN_TRY(weigh_features(&source->x, scratch, &features));
    PGCN_TRY(pgcn_i_graph_partition(source->graph, features, parts, how, part));
    PGCN_TRY(pgcn_i_graph_order(source->graph, PGCN_I_ORDER_COMMUNITY, within));
    return pgcn_i_partition_order(source->nodes, parts.count, part, within, order);
}

static pgcn_status find_order(const pgcn_i_source *source, const pgcn_i_steps *steps,
                              pgcn_node *order) {
    pgcn_i_arena scratch = {0};
    pgcn_status status;
    switch (steps->order) {
    case PGCN_I_NODE_ORDER_PARTS:
    case PGCN_I_NODE_ORDER_METIS:
        status = order_by_parts(source, steps, &scratch, order);
        pgcn_i_arena_free(&scratch);
        return status;
    case PGCN_I_NODE_ORDER_DEGREE:
        return pgcn_i_graph_order(source->graph, PGCN_I_ORDER_DEGREE, order);
    case PGCN_I_NODE_ORDER_RCM: return pgcn_i_graph_order(source->graph, PGCN_I_ORDER_RCM, order);
    case PGCN_I_NODE_ORDER_COMMUNITY:
        return pgcn_i_graph_order(source->graph, PGCN_I_ORDER_COMMUNITY, order);
    default:
        pgcn_i_shuffle(pgcn_i_data_domain(0, PGCN_I_DRAW_STEP, 0), source->nodes, order);
        return PGCN_OK;
    }
}

pgcn_status pgcn_i_order_nodes(pgcn_i_source *source, const pgcn_i_steps *steps,
                               const char *where) {
    if (steps->order == PGCN_I_NODE_ORDER_KEEP) return PGCN_OK;
    if (source->graph_label)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set '%s' has classes of graphs, whose nodes stay together; the "
                           "step order is for classes of nodes",
                           where);
    pgcn_node *order = PGCN_I_ARRAY(&source->arena, pgcn_node, source->nodes);
    pgcn_node *row = PGCN_I_ARRAY(&source->arena, pgcn_node, source->nodes);
    if (!order || !row) return PGCN_ERR_MEMORY;
    PGCN_TRY(find_order(source, steps, order));
    invert(order, source->nodes, row);
    PGCN_TRY(pgcn_i_stage("putting nodes in order", 0));
    PGCN_TRY(move_rows(source, order, row, true));
    source->number = order;
    source->row = row;
    return PGCN_OK;
}

pgcn_status pgcn_i_order_undone(const pgcn_i_source *from, pgcn_i_source *out) {
    *out = *from;
    out->arena = out->edge_arena = (pgcn_i_arena){0};
    out->mapping = NULL; /* stays with `from` */
    pgcn_status status = PGCN_ERR_MEMORY;
    out->split = PGCN_I_ARRAY(&out->arena, pgcn_i_split, from->splits);
    if (out->split) {
        for (int s = 0; s < from->splits; s++) out->split[s] = from->split[s];
        status = move_rows(out, from->row, from->number, false);
    }
    out->number = out->row = NULL;
    if (out->graph == from->graph) out->graph = NULL;
    if (status != PGCN_OK) pgcn_i_source_free(out);
    return status;
}

/* ---- all steps -------------------------------------------------------------------------------- */

/* A container may hold nodes in another order. Steps depend on the original numbers (splits,
 * columns of identity), so they must come before the order; but for those that only hide splits and
 * labels, which tune adds by itself. */
static pgcn_status check_not_ordered(const pgcn_i_source *source, const pgcn_i_steps *steps,
                                     const char *where) {
    char text[PGCN_I_STEPS_TEXT];
    pgcn_i_steps others = *steps;
    others.without_test = false;
    *others.only_split = '\0';
    pgcn_i_steps_text(&others, text);
    if (!source->number || !*text) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "the nodes of data set '%s' are in another order already (%.100s), after "
                       "which the step '%s' cannot come; use it as it is, or convert or partition "
                       "its source again",
                       where, source->own_steps ? source->own_steps : "order", text);
}

pgcn_status pgcn_i_prepare(pgcn_i_source *source, const pgcn_i_steps *steps, const char *where) {
    PGCN_TRY(check_not_ordered(source, steps, where));
    if (steps->largest_component) PGCN_TRY(keep_largest_component(source, where));
    PGCN_TRY(pgcn_i_make_features(source, steps, where));
    bool asked = steps->split_kind != PGCN_I_SPLIT_AS_GIVEN;
    if (asked && !source->label && !source->labels && !source->graph_label)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "data set '%s' has no labels, so it cannot be split",
                           where);
    if (asked) return pgcn_i_make_splits(source, steps);
    if (source->splits == 0) return pgcn_i_make_missing_splits(source);
    return PGCN_OK;
}
