/* Batches of graphs against what one gets by asking the whole set node by node: features, operators,
 * degrees, labels, masks and the rows of each graph; for graphs whose nodes lie together and for nodes
 * of all graphs mixed. */
#include "graphs_help.h"
#include "nn_help.h"

enum { GRAPHS = 23 };

/* What a batch is gathered from, as the trainer has it. */
typedef struct material {
    pgcn_dataset *data;
    pgcn_i_input *input;
    pgcn_i_spatial spatial;
    pgcn_i_whole whole;
} material;

/* `m` stays where it is: the batch points into it. */
static void material_init(material *m, graph_set set) {
    *m = (material){.data = set_of(set, "")};
    pgcn_config config = settings("train-form=exact scaling=walk");
    must(pgcn_i_input_new(&m->data->x, PGCN_NORMALISE_ROWS, (pgcn_i_standard){0}, true, &m->input));
    must(pgcn_i_spatial_init(&m->spatial, m->data->graph, &config));
    m->whole = (pgcn_i_whole){.data = m->data,
                              .input = m->input,
                              .exact = &m->spatial.exact,
                              .exact_t = &m->spatial.exact_t,
                              .degree = m->spatial.degree};
}

static void material_free(material *m) {
    pgcn_i_spatial_free(&m->spatial);
    pgcn_i_input_free(m->input);
    pgcn_dataset_free(m->data);
}

/* Five batches of up to four graphs: other sizes, other orders, the largest room. */
static const struct {
    pgcn_node graph[4];
    int64_t count;
} BATCHES[] = {{{7, 2, 21, 0}, 4}, {{3}, 1}, {{22, 1, 5}, 3}, {{9, 19, 10, 2}, 4}, {{0, 22}, 2}};
enum { BATCHES_COUNT = sizeof BATCHES / sizeof *BATCHES };

/* ---- by hand -------------------------------------------------------------------------------------- */

/* The nodes of the batch, graph after graph, ascending in each; tells where each graph begins. */
static int64_t nodes_of(const pgcn_dataset *data, const pgcn_node *graph, int64_t graphs,
                        pgcn_node *node, int64_t *first) {
    int64_t n = 0;
    for (int64_t i = 0; i < graphs; i++) {
        first[i] = n;
        for (int64_t u = 0; u < data->graph->n; u++)
            if (data->from.graph_of[u] == graph[i]) node[n++] = (pgcn_node)u;
    }
    return n;
}

static void check_segments(const pgcn_i_batch *batch, const int64_t *first, int64_t graphs,
                           int64_t n) {
    for (int s = 0; s < batch->samples; s++)
        for (int64_t i = 0; i < graphs; i++)
            assert_int_equal(batch->segment[s * graphs + i], s * n + first[i]);
    assert_int_equal(batch->segment[batch->samples * graphs], batch->samples * n);
}

static double feature(const pgcn_i_input *input, int64_t row, int64_t column) {
    if (input->dense) return (double)input->dense[row * input->columns + column];
    for (int64_t e = input->offset[row]; e < input->offset[row + 1]; e++)
        if (input->column[e] == column) return (double)input->value[e];
    return 0;
}

static void check_features(const pgcn_i_batch *batch, const pgcn_i_input *whole,
                           const pgcn_node *node, int64_t n) {
    const pgcn_i_input *input = &batch->input;
    assert_int_equal(input->n, n);
    assert_int_equal(input->columns, whole->columns);
    assert_int_equal(input->dense == NULL, whole->dense == NULL);
    for (int64_t e = 0; e < n * whole->columns; e++)
        assert_true(feature(input, e / whole->columns, e % whole->columns) ==
                    feature(whole, node[e / whole->columns], e % whole->columns));
    if (!input->dense) assert_int_equal(input->offset[n], input->nonzeros);
}

/* Every entry of the rows once, at its column, rows ascending. */
static void check_columns(const pgcn_i_input *input) {
    const pgcn_i_columns *by = &input->by_column;
    int64_t seen = 0;
    assert_int_equal(by->offset[0], 0);
    for (int64_t c = 0; c < input->columns; c++)
        for (int64_t at = by->offset[c]; at < by->offset[c + 1]; at++, seen++) {
            int64_t row = by->row[at], e = by->position[at];
            assert_true(row >= 0 && row < input->n);
            assert_true(e >= input->offset[row] && e < input->offset[row + 1]);
            assert_int_equal(input->column[e], c);
            assert_true(input->value[e] == by->value[at]);
            if (at > by->offset[c]) assert_true(by->row[at - 1] < row);
        }
    assert_int_equal(seen, input->nonzeros);
}

static double entry_of(const pgcn_i_csr *csr, int64_t row, int64_t column) {
    for (int64_t e = csr->offset[row]; e < csr->offset[row + 1]; e++)
        if (csr->column[e] == column) return (double)csr->value[e];
    return 0;
}

static void check_operator(const pgcn_i_csr *csr, const pgcn_i_csr *whole, const pgcn_node *node,
                           int64_t n) {
    int64_t entries = 0;
    assert_int_equal(csr->rows, n);
    for (int64_t r = 0; r < n; r++) {
        assert_int_equal(csr->offset[r], entries);
        entries += whole->offset[node[r] + 1] - whole->offset[node[r]];
        for (int64_t u = 0; u < n; u++)
            assert_true(entry_of(csr, r, u) == entry_of(whole, node[r], node[u]));
    }
    assert_int_equal(csr->offset[n], entries);
}

static bool is_known(const pgcn_dataset *data, int64_t item) {
    if (data->task == PGCN_TASK_GRAPH) return data->from.graph_label[item] >= 0;
    return data->task == PGCN_TASK_NODE ? data->label[item] >= 0 : data->from.label_known[item];
}

static void check_target(pgcn_i_batch *batch, const pgcn_dataset *data, const pgcn_node *node,
                         int64_t n) {
    bool per_graph = data->task == PGCN_TASK_GRAPH;
    const pgcn_node *item, *want = per_graph ? batch->graph : node;
    int64_t items = pgcn_i_batch_items(batch, &item), masked = 0, classes = data->classes;
    assert_int_equal(items, per_graph ? batch->graphs : n);
    uint8_t *mask = calloc((size_t)data->info.items, 1);
    for (int64_t i = 0; i < data->info.items; i++) mask[i] = i % 3 > 0;
    pgcn_i_target target = pgcn_i_batch_mask(batch, mask);
    assert_int_equal(target.labels != NULL, data->task == PGCN_TASK_MULTILABEL);
    assert_int_equal(target.label != NULL, data->task != PGCN_TASK_MULTILABEL);
    for (int64_t i = 0; i < items; i++) {
        assert_int_equal(item[i], want[i]);
        bool counts = want[i] % 3 > 0 && is_known(data, want[i]);
        assert_int_equal(target.mask[i], counts);
        masked += counts;
        if (target.labels)
            assert_memory_equal(target.labels + i * classes, data->from.labels + want[i] * classes,
                                (size_t)classes);
        else
            assert_int_equal(target.label[i],
                             per_graph ? data->from.graph_label[want[i]] : data->label[want[i]]);
    }
    assert_int_equal(target.masked, masked);
    free(mask);
}

static void check_batch(pgcn_i_batch *batch, const material *m, const pgcn_node *graph,
                        int64_t graphs) {
    pgcn_node node[GRAPHS * SET_MOST_NODES];
    int64_t first[GRAPHS], n = nodes_of(m->data, graph, graphs, node, first);
    assert_int_equal(batch->graphs, graphs);
    assert_memory_equal(batch->graph, graph, (size_t)graphs * sizeof *graph);
    assert_int_equal(batch->subset.n, n);
    assert_true(n <= batch->subset.most);
    assert_memory_equal(batch->subset.node, node, (size_t)n * sizeof *node);
    for (int64_t r = 0; r < n; r++) {
        assert_int_equal(batch->subset.place[node[r]], r);
        assert_true(batch->degree[r] == m->spatial.degree[node[r]]);
    }
    check_segments(batch, first, graphs, n);
    check_features(batch, m->input, node, n);
    if (!m->input->dense) check_columns(&batch->input);
    check_operator(&batch->exact, &m->spatial.exact, node, n);
    check_operator(&batch->exact_t, &m->spatial.exact_t, node, n);
    check_target(batch, m->data, node, n);
}

/* ---- tests ----------------------------------------------------------------------------------------- */

static void check_set(graph_set set) {
    material m;
    material_init(&m, set);
    for (int samples = 1; samples <= 2; samples++) {
        pgcn_i_batch *batch;
        must(pgcn_i_batch_new(&m.whole, 4, samples, true, &batch));
        for (int i = 0; i < BATCHES_COUNT; i++) {
            pgcn_i_batch_gather(batch, BATCHES[i].graph, BATCHES[i].count);
            check_batch(batch, &m, BATCHES[i].graph, BATCHES[i].count);
        }
        pgcn_i_batch_free(batch);
    }
    material_free(&m);
}

static void test_batch_of_graphs_is_what_the_whole_set_says(void **state) {
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        check_set(set_new(PGCN_TASK_GRAPH, sparse, GRAPHS));
        check_set(set_new(PGCN_TASK_NODE, sparse, GRAPHS));
    }
}

static void test_batch_of_mixed_nodes_is_what_the_whole_set_says(void **state) {
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        check_set(set_mixed(PGCN_TASK_NODE, sparse, GRAPHS));
        check_set(set_mixed(PGCN_TASK_MULTILABEL, sparse, GRAPHS));
    }
}

/* All graphs at once: 0, and any number that is more than there are. */
static void test_batch_of_all_graphs_has_all_nodes(void **state) {
    (void)state;
    material m;
    material_init(&m, set_new(PGCN_TASK_GRAPH, true, GRAPHS));
    pgcn_node all[GRAPHS];
    for (int g = 0; g < GRAPHS; g++) all[g] = (pgcn_node)g;
    static const int64_t numbers[] = {0, GRAPHS, 1000};
    for (int i = 0; i < 3; i++) {
        pgcn_i_batch *batch;
        must(pgcn_i_batch_new(&m.whole, numbers[i], 1, true, &batch));
        assert_int_equal(batch->most_graphs, GRAPHS);
        assert_int_equal(batch->subset.most, m.data->graph->n);
        pgcn_i_batch_gather(batch, all, GRAPHS);
        check_batch(batch, &m, all, GRAPHS);
        pgcn_i_batch_free(batch);
    }
    material_free(&m);
}

/* The room is that of the largest graphs, wherever they are: they fit, and nothing is taken for others.
 * (What does not fit is found by AddressSanitizer.) */
static void test_batch_room_is_that_of_the_largest_graphs(void **state) {
    (void)state;
    material m;
    material_init(&m, set_mixed(PGCN_TASK_MULTILABEL, true, GRAPHS));
    pgcn_node largest[4];
    int64_t count = 0, nodes = 0;
    for (int size = SET_MOST_NODES; count < 4; size--)
        for (int g = 0; g < GRAPHS && count < 4; g++)
            if (1 + (5 * g + 3) % SET_MOST_NODES == size) {
                largest[count++] = (pgcn_node)g;
                nodes += size;
            }
    pgcn_i_batch *batch;
    must(pgcn_i_batch_new(&m.whole, 4, 2, true, &batch));
    assert_int_equal(batch->subset.most, nodes);
    pgcn_i_batch_gather(batch, largest, 4);
    check_batch(batch, &m, largest, 4);
    pgcn_i_batch_free(batch);
    material_free(&m);
}

static void test_batch_gathering_allocates_nothing(void **state) {
    (void)state;
    material m;
    material_init(&m, set_mixed(PGCN_TASK_MULTILABEL, true, GRAPHS));
    pgcn_i_batch *batch;
    must(pgcn_i_batch_new(&m.whole, 4, 2, true, &batch));
    uint8_t *mask = calloc((size_t)m.data->info.items, 1);
    int64_t before = pgcn_i_alloc_count();
    for (int i = 0; i < BATCHES_COUNT; i++) {
        pgcn_i_batch_gather(batch, BATCHES[i].graph, BATCHES[i].count);
        pgcn_i_batch_mask(batch, mask);
    }
    assert_int_equal(pgcn_i_alloc_count(), before);
    free(mask);
    pgcn_i_batch_free(batch);
    material_free(&m);
}

/* What is not there is not gathered: inference has no transpose, no columns and perhaps no operator. */
static void test_batch_for_inference_has_what_is_asked_for(void **state) {
    (void)state;
    material m;
    material_init(&m, set_new(PGCN_TASK_GRAPH, true, GRAPHS));
    pgcn_i_whole whole = {.data = m.data, .input = m.input};
    pgcn_i_batch *batch;
    must(pgcn_i_batch_new(&whole, 4, 1, false, &batch));
    pgcn_i_batch_gather(batch, BATCHES[0].graph, BATCHES[0].count);
    assert_null(batch->input.by_column.offset);
    assert_null(batch->exact.offset);
    assert_null(batch->exact_t.offset);
    pgcn_i_batch_free(batch);
    pgcn_i_batch_free(NULL);
    material_free(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_of_graphs_is_what_the_whole_set_says),
        cmocka_unit_test(test_batch_of_mixed_nodes_is_what_the_whole_set_says),
        cmocka_unit_test(test_batch_of_all_graphs_has_all_nodes),
        cmocka_unit_test(test_batch_room_is_that_of_the_largest_graphs),
        cmocka_unit_test(test_batch_gathering_allocates_nothing),
        cmocka_unit_test(test_batch_for_inference_has_what_is_asked_for),
    };
    return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
