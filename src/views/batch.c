/* Batches: some graphs of a set of many, gathered as one block-diagonal graph.
 *
 * Graphs have no edges between them, so everything about a batch is rows of what the whole set has:
 * features, labels, degrees and the exact operator are copied row by row, and node ids become places
 * in the batch. Walks are not copied: they run on the whole graph and never leave the batch, and only
 * the ids they visit are replaced (paths/visits.c). Copying costs a few bytes per node and edge, where
 * the network does hundreds of operations. Called by views.c. */
#include "views/views.h"

#include <stdlib.h>
#include <string.h>

/* The arrays that pointers to constants in the batch show to others. */
typedef struct pgcn_i_batch_arrays {
    pgcn_node *node, *place;
    int64_t *x_offset;
    int32_t *x_column;
    float *x_value, *x_dense;
    pgcn_i_column_arrays columns; /* of the features; NULL where they are not needed */
    int32_t *label;
    uint8_t *labels, *mask;
} batch_arrays;

/* ---- targets --------------------------------------------------------------------------------- */

static bool known(const pgcn_dataset *data, int64_t item) {
    return pgcn_i_source_has_label(&data->from, item);
}

static const int32_t *classes_of(const pgcn_dataset *data) {
    return data->task == PGCN_TASK_GRAPH ? data->from.graph_label : data->label;
}

pgcn_i_target pgcn_i_target_of(const pgcn_dataset *data, const uint8_t *mask) {
    pgcn_i_target target = {.label = classes_of(data), .labels = data->from.labels, .mask = mask};
    for (int64_t i = 0; i < data->info.items; i++) target.masked += mask[i] && known(data, i);
    return target;
}

int64_t pgcn_i_batch_items(const pgcn_i_batch *batch, const pgcn_node **number) {
    bool graphs = batch->whole.data->task == PGCN_TASK_GRAPH;
    *number = graphs ? batch->graph : batch->subset.node;
    return graphs ? batch->graphs : batch->subset.n;
}

pgcn_i_target pgcn_i_batch_mask(pgcn_i_batch *batch, const uint8_t *mask) {
    const pgcn_node *item;
    int64_t items = pgcn_i_batch_items(batch, &item);
    pgcn_i_target target = batch->target;
    for (int64_t i = 0; i < items; i++) {
        batch->to->mask[i] = mask[item[i]] && known(batch->whole.data, item[i]);
        target.masked += batch->to->mask[i];
    }
    target.mask = batch->to->mask;
    return target;
}

/* ---- gathering ------------------------------------------------------------------------------- */

static void gather_nodes(pgcn_i_batch *batch, const pgcn_node *graph, int64_t graphs) {
    int64_t n = 0;
    for (int64_t i = 0; i < graphs; i++) {
        batch->graph[i] = graph[i];
        batch->segment[i] = n;
        for (int64_t m = batch->first[graph[i]]; m < batch->first[graph[i] + 1]; m++) {
            batch->to->node[n] = batch->member[m];
            batch->to->place[batch->member[m]] = (pgcn_node)n++;
        }
    }
    batch->graphs = graphs;
    batch->subset.n = n;
    for (int64_t i = graphs; i <= graphs * batch->samples; i++)
        batch->segment[i] = batch->segment[i % graphs] + i / graphs * n;
}

/* Rows of the batch's nodes, columns as places in the batch. */
static void gather_csr(const pgcn_i_batch *batch, const pgcn_i_csr *from, pgcn_i_csr *to) {
    const pgcn_node *node = batch->subset.node, *place = batch->subset.place;
    int64_t at = 0;
    if (!from) return;
    for (int64_t r = 0; r < batch->subset.n; r++) {
        to->offset[r] = at;
        for (int64_t e = from->offset[node[r]]; e < from->offset[node[r] + 1]; e++, at++) {
            to->column[at] = place[from->column[e]];
            to->value[at] = from->value[e];
        }
    }
    to->rows = batch->subset.n;
    to->offset[to->rows] = at;
}

static void gather_sparse(pgcn_i_batch *batch) {
    const pgcn_i_input *from = batch->whole.input;
    batch_arrays *to = batch->to;
    int64_t at = 0;
    for (int64_t r = 0; r < batch->subset.n; r++) {
        int64_t begin = from->offset[batch->subset.node[r]];
        int64_t count = from->offset[batch->subset.node[r] + 1] - begin;
        to->x_offset[r] = at;
        memcpy(to->x_column + at, from->column + begin, (size_t)count * sizeof *to->x_column);
        memcpy(to->x_value + at, from->value + begin, (size_t)count * sizeof *to->x_value);
        at += count;
    }
    to->x_offset[batch->subset.n] = at;
    batch->input.nonzeros = at;
}

static void gather_dense(float *to, const float *from, const pgcn_node *node, int64_t n,
                         int64_t columns) {
    for (int64_t r = 0; r < n; r++)
        memcpy(to + r * columns, from + node[r] * columns, (size_t)columns * sizeof *to);
}

static void gather_labels(pgcn_i_batch *batch) {
    const pgcn_dataset *data = batch->whole.data;
    const int32_t *label = classes_of(data);
    const pgcn_node *item;
    int64_t items = pgcn_i_batch_items(batch, &item), classes = data->classes;
    for (int64_t i = 0; label && i < items; i++) batch->to->label[i] = label[item[i]];
    for (int64_t i = 0; batch->to->labels && i < items; i++)
        memcpy(batch->to->labels + i * classes, data->from.labels + item[i] * classes,
               (size_t)classes);
}

void pgcn_i_batch_gather(pgcn_i_batch *batch, const pgcn_node *graph, int64_t graphs) {
    const pgcn_i_whole *whole = &batch->whole;
    gather_nodes(batch, graph, graphs);
    int64_t n = batch->subset.n;
    batch->input.n = n;
    if (whole->input->dense)
        gather_dense(batch->to->x_dense, whole->input->dense, batch->subset.node, n,
                     whole->input->columns);
    else
        gather_sparse(batch);
    if (batch->to->columns.offset)
        pgcn_i_input_index(&batch->input, (pgcn_i_range){0, batch->input.n}, batch->to->columns);
    gather_csr(batch, whole->exact, &batch->exact);
    gather_csr(batch, whole->exact_t, &batch->exact_t);
    if (whole->degree) gather_dense(batch->degree, whole->degree, batch->subset.node, n, 1);
    gather_labels(batch);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The sum of the `most` largest of the counts; sorts them. */
static int compare_counts(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}
static int64_t largest(int64_t *count, int64_t graphs, int64_t most) {
    int64_t sum = 0;
    qsort(count, (size_t)graphs, sizeof *count, compare_counts);
    for (int64_t i = 0; i < most; i++) sum += count[i];
    return sum;
}

/* Entries of a CSR in the largest graphs. */
static int64_t most_entries(const pgcn_i_batch *batch, const int64_t *offset, int64_t *count) {
    int64_t graphs = batch->whole.data->info.graphs;
    for (int64_t g = 0; g < graphs; g++) {
        count[g] = 0;
        for (int64_t m = batch->first[g]; m < batch->first[g + 1]; m++)
            count[g] += offset[batch->member[m] + 1] - offset[batch->member[m]];
    }
    return largest(count, graphs, batch->most_graphs);
}

/* The nodes by graph: a counting sort. */
static pgcn_status sort_nodes(pgcn_i_batch *batch, int64_t *next) {
    const pgcn_dataset *data = batch->whole.data;
    const int32_t *graph_of = data->from.graph_of;
    int64_t n = data->graph->n, graphs = data->info.graphs;
    int64_t *first = PGCN_I_ARRAY(&batch->arena, int64_t, graphs + 1);
    pgcn_node *member = PGCN_I_ARRAY(&batch->arena, pgcn_node, n);
    if (!first || !member) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) first[(graph_of ? graph_of[i] : 0) + 1]++;
    for (int64_t g = 0; g < graphs; g++) {
        first[g + 1] += first[g];
        next[g] = first[g];
    }
    for (int64_t i = 0; i < n; i++) member[next[graph_of ? graph_of[i] : 0]++] = (pgcn_node)i;
    batch->first = first;
    batch->member = member;
    return PGCN_OK;
}

static pgcn_status alloc_csr(pgcn_i_batch *batch, const pgcn_i_csr *from, int64_t *count,
                             pgcn_i_csr *to) {
    if (!from) return PGCN_OK;
    int64_t most = most_entries(batch, from->offset, count);
    PGCN_TRY(pgcn_i_csr_alloc(&batch->arena, batch->subset.most, most, true, to));
    to->offset[to->rows] = most; /* until something is gathered */
    return PGCN_OK;
}

static pgcn_status alloc_input(pgcn_i_batch *batch, int64_t *count, bool training) {
    const pgcn_i_input *from = batch->whole.input;
    batch_arrays *to = batch->to;
    int64_t most = batch->subset.most;
    pgcn_i_input *input = &batch->input;
    *input = (pgcn_i_input){.n = most, .columns = from->columns};
    if (from->dense) {
        input->dense = to->x_dense = PGCN_I_ARRAY(&batch->arena, float, most * from->columns);
        return input->dense ? PGCN_OK : PGCN_ERR_MEMORY;
    }
    input->nonzeros = most_entries(batch, from->offset, count);
    input->offset = to->x_offset = PGCN_I_ARRAY(&batch->arena, int64_t, most + 1);
    input->column = to->x_column = PGCN_I_ARRAY(&batch->arena, int32_t, input->nonzeros);
    input->value = to->x_value = PGCN_I_ARRAY(&batch->arena, float, input->nonzeros);
    if (!input->offset || !input->column || !input->value) return PGCN_ERR_MEMORY;
    if (!training) return PGCN_OK;
    return pgcn_i_column_arrays_new(&batch->arena, input->columns, input->nonzeros, &to->columns);
}

static pgcn_status alloc_target(pgcn_i_batch *batch) {
    const pgcn_dataset *data = batch->whole.data;
    batch_arrays *to = batch->to;
    int64_t items = data->task == PGCN_TASK_GRAPH ? batch->most_graphs : batch->subset.most;
    to->label = PGCN_I_ARRAY(&batch->arena, int32_t, items);
    to->mask = PGCN_I_ARRAY(&batch->arena, uint8_t, items);
    bool several = data->task == PGCN_TASK_MULTILABEL;
    if (several) to->labels = PGCN_I_ARRAY(&batch->arena, uint8_t, items * data->classes);
    if (!to->label || !to->mask || (several && !to->labels)) return PGCN_ERR_MEMORY;
    batch->target = (pgcn_i_target){.label = several ? NULL : to->label, .labels = to->labels};
    return PGCN_OK;
}

static pgcn_status alloc_batch(pgcn_i_batch *batch, int64_t *count, bool training) {
    const pgcn_dataset *data = batch->whole.data;
    pgcn_i_arena *arena = &batch->arena;
    batch_arrays *to = batch->to = PGCN_I_ARRAY(arena, batch_arrays, 1);
    if (!to) return PGCN_ERR_MEMORY;
    PGCN_TRY(sort_nodes(batch, count));
    for (int64_t g = 0; g < data->info.graphs; g++)
        count[g] = batch->first[g + 1] - batch->first[g];
    int64_t most = largest(count, data->info.graphs, batch->most_graphs);
    batch->subset = (pgcn_i_subset){.n = most, .most = most};
    batch->graphs = batch->most_graphs;
    batch->subset.node = to->node = PGCN_I_ARRAY(arena, pgcn_node, most);
    batch->subset.place = to->place = PGCN_I_ARRAY(arena, pgcn_node, data->graph->n);
    batch->graph = PGCN_I_ARRAY(arena, pgcn_node, batch->most_graphs);
    batch->segment = PGCN_I_ARRAY(arena, int64_t, batch->most_graphs * batch->samples + 1);
    batch->degree = PGCN_I_ARRAY(arena, float, most);
    if (!to->node || !to->place || !batch->graph || !batch->segment || !batch->degree)
        return PGCN_ERR_MEMORY;
    PGCN_TRY(alloc_csr(batch, batch->whole.exact, count, &batch->exact));
    PGCN_TRY(alloc_csr(batch, batch->whole.exact_t, count, &batch->exact_t));
    PGCN_TRY(alloc_input(batch, count, training));
    return alloc_target(batch);
}

pgcn_status pgcn_i_batch_new(const pgcn_i_whole *whole, int64_t graphs, int samples, bool training,
                             pgcn_i_batch **out) {
    int64_t all = whole->data->info.graphs;
    pgcn_i_batch *batch = pgcn_i_alloc(1, sizeof *batch);
    int64_t *count = pgcn_i_alloc(all, sizeof *count);
    pgcn_status status = PGCN_ERR_MEMORY;
    if (batch && count) {
        *batch = (pgcn_i_batch){.whole = *whole, .samples = samples};
        batch->most_graphs = graphs > 0 && graphs < all ? graphs : all;
        status = alloc_batch(batch, count, training);
    }
    pgcn_i_free(count);
    if (status != PGCN_OK) {
        pgcn_i_batch_free(batch);
        return status;
    }
    *out = batch;
    return PGCN_OK;
}

void pgcn_i_batch_free(pgcn_i_batch *batch) {
    if (!batch) return;
    pgcn_i_arena_free(&batch->arena);
    pgcn_i_free(batch);
}
