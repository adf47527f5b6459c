/* Tests of src/data/dgl_ppi.c: small files in exactly the format of DGL's ppi.zip, and the whole of
 * PPI written in it, which must come back entry by entry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json_graph_help.h"

#define NODE(id) "{\"id\": " id ", \"test\": false, \"val\": false}"
#define GRAPH(nodes, links)                                                                        \
    "{\"directed\": false, \"multigraph\": false, \"graph\": {}, \"nodes\": [" nodes               \
    "], \"links\": [" links "]}"
#define LINK(a, b) "{\"source\": " a ", \"target\": " b "}"

/* Three training nodes in graphs 2 and 1, one validation node, one test node. */
static void write_files(void) {
    static const double x[3][2] = {{1, 2}, {3, 4}, {5, 6}};
    static const int64_t label[3][2] = {{0, 1}, {1, 1}, {1, 0}}, id[3] = {2, 1, 2}, one = 7,
                         two = 9;
    write_text("train_graph.json",
               GRAPH(NODE("0") "," NODE("1") "," NODE("2"), LINK("0", "2") "," LINK("1", "1")));
    write_text("valid_graph.json", GRAPH(NODE("0"), ""));
    write_text("test_graph.json", GRAPH(NODE("0"), LINK("0", "0")));
    write_array("train_feats.npy", PGCN_I_F64, 2, 3, 2, x);
    write_array("valid_feats.npy", PGCN_I_F64, 2, 1, 2, x[1]);
    write_array("test_feats.npy", PGCN_I_F64, 2, 1, 2, x[2]);
    write_array("train_labels.npy", PGCN_I_I64, 2, 3, 2, label);
    write_array("valid_labels.npy", PGCN_I_I64, 2, 1, 2, label[1]);
    write_array("test_labels.npy", PGCN_I_I64, 2, 1, 2, label[2]);
    write_array("train_graph_id.npy", PGCN_I_I64, 1, 3, 0, id);
    write_array("valid_graph_id.npy", PGCN_I_I64, 1, 1, 0, &one);
    write_array("test_graph_id.npy", PGCN_I_I64, 1, 1, 0, &two);
}

static void test_dgl_ppi_parts_become_one_set(void **state) {
    (void)state;
    static const float x[] = {1, 2, 3, 4, 5, 6, 3, 4, 5, 6};
    static const pgcn_node from[] = {0, 1, 4}, to[] = {2, 1, 4};
    static const int32_t graph_of[] = {1, 0, 1, 2, 3};
    assert_false(pgcn_i_dgl_ppi_detect(scratch));
    write_files();
    assert_true(pgcn_i_dgl_ppi_detect(scratch));
    read_source(pgcn_i_dgl_ppi_read, scratch);
    assert_int_equal(source.nodes, 5);
    assert_memory_equal(source.x.dense, x, sizeof x);
    assert_mask(source.labels, "0111101110");
    assert_int_equal(source.classes, 2);
    assert_null(source.label_known);
    assert_int_equal(source.edges, 3);
    assert_memory_equal(source.edge_from, from, sizeof from);
    assert_memory_equal(source.edge_to, to, sizeof to);
    assert_false(source.directed);
    assert_int_equal(source.graphs, 4);
    assert_memory_equal(source.graph_of, graph_of, sizeof graph_of);
    assert_int_equal(source.splits, 1);
    assert_string_equal(source.split[0].name, "public");
    assert_mask(source.split[0].train, "11100");
    assert_mask(source.split[0].val, "00010");
    assert_mask(source.split[0].test, "00001");
    pgcn_dataset *data = load(scratch, NULL);
    assert_int_equal(pgcn_dataset_describe(data).nodes, 5);
    pgcn_dataset_free(data);
}

/* A link names ids, wherever its nodes stand in the list; the row of a node is its id. */
static void test_dgl_ppi_links_name_ids(void **state) {
    (void)state;
    write_files();
    write_text("train_graph.json",
               "{\"directed\": true, \"links\": [" LINK("0", "2") "], \"nodes\": [" NODE(
                   "2") "," NODE("1") "," NODE("0") "]}");
    read_source(pgcn_i_dgl_ppi_read, scratch);
    assert_int_equal(source.edge_from[0], 0);
    assert_int_equal(source.edge_to[0], 2);
    assert_true(source.directed);
}

static void test_dgl_ppi_bad_files_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *graph, *says;
        pgcn_status status;
    } cases[] = {
        {GRAPH(NODE("0") "," NODE("1"), ""), "it has 2 nodes", PGCN_ERR_MISMATCH},
        {GRAPH(NODE("0") "," NODE("1") "," NODE("3"), ""), "the id of node 2 (from 0)",
         PGCN_ERR_FORMAT},
        {GRAPH(NODE("0") "," NODE("1") "," NODE("-1"), ""), "the id of node 2", PGCN_ERR_FORMAT},
        {GRAPH(NODE("0") "," NODE("1") "," NODE("\"2x\""), ""), "the id of node 2",
         PGCN_ERR_FORMAT},
        {GRAPH(NODE("0") "," NODE("1") "," NODE("1"), ""), "'1' occurs twice", PGCN_ERR_FORMAT},
        {GRAPH(NODE("0") "," NODE("1") "," NODE("2"), LINK("0", "3")), "names node 3",
         PGCN_ERR_FORMAT},
        {GRAPH(NODE("2") "," NODE("1") "," NODE("0"), LINK("0", "3")), "1 links of others",
         PGCN_ERR_MISMATCH},
        {GRAPH(NODE("0") "," NODE("1") "," NODE("2"), LINK("0", "1")), "of graphs 2 and 1",
         PGCN_ERR_FORMAT},
        {"[]", "an object", PGCN_ERR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_files();
        write_text("train_graph.json", cases[i].graph);
        assert_refused(pgcn_i_dgl_ppi_read, scratch, cases[i].status, cases[i].says);
        assert_error_says("train_graph.json");
    }
}

static void test_dgl_ppi_arrays_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const double x[6] = {0, 0, 0, 2, 0, 0};
    static const int64_t id[3] = {7, 7, 7};
    write_files();
    write_array("train_feats.npy", PGCN_I_F64, 2, 2, 3, x);
    assert_refused(pgcn_i_dgl_ppi_read, scratch, PGCN_ERR_MISMATCH, "has 3 rows but train_feats");
    write_files();
    write_array("train_labels.npy", PGCN_I_F64, 2, 3, 2, x);
    assert_refused(pgcn_i_dgl_ppi_read, scratch, PGCN_ERR_FORMAT, "found 2 in row 1, column 1");
    write_files();
    write_array("valid_feats.npy", PGCN_I_F64, 2, 1, 3, x);
    assert_refused(pgcn_i_dgl_ppi_read, scratch, PGCN_ERR_MISMATCH,
                   "the valid part has 3 features");
    write_files();
    write_array("train_graph_id.npy", PGCN_I_I64, 1, 2, 0, id);
    assert_refused(pgcn_i_dgl_ppi_read, scratch, PGCN_ERR_FORMAT, "expected int64 [3]");
    write_array("train_graph_id.npy", PGCN_I_F64, 1, 3, 0, x);
    assert_refused(pgcn_i_dgl_ppi_read, scratch, PGCN_ERR_FORMAT, "expected int64 [3]");
    write_array("train_graph_id.npy", PGCN_I_I64, 1, 3, 0, id);
    assert_refused(pgcn_i_dgl_ppi_read, scratch, PGCN_ERR_MISMATCH, "graph 7 has nodes in train");
    write_files();
    assert_int_equal(remove(scratch_path("test_labels.npy")), 0);
    assert_refused(pgcn_i_dgl_ppi_read, scratch, PGCN_ERR_IO, "test_labels.npy");
}

/* 2^61 rows of no columns are a valid .npy of 128 bytes. */
static void test_dgl_ppi_rows_without_columns_do_not_make_nodes(void **state) {
    (void)state;
    write_files();
    write_array("train_feats.npy", PGCN_I_F64, 2, INT64_MAX / 16, 0, "");
    write_array("train_labels.npy", PGCN_I_I64, 2, INT64_MAX / 16, 0, "");
    assert_refused(pgcn_i_dgl_ppi_read, scratch, PGCN_ERR_FORMAT, "expected int64 [");
}

static pgcn_status load_scratch(void) {
    return load_and_free(scratch);
}

static void test_dgl_ppi_every_allocation_may_fail(void **state) {
    (void)state;
    write_files();
    assert_true(fail_every_allocation(load_scratch) > 30);
}

/* ---- the published set ----------------------------------------------------------------------- */

static void write_part(const char *part, int64_t first, int64_t rows, const pgcn_i_array *x,
                       const pgcn_i_array *y, const pgcn_i_array *graph_id,
                       const pgcn_i_array *edges) {
    char name[64];
    int64_t columns = x->shape[1], classes = y->shape[1], *label, *graph;
    label = malloc((size_t)(rows * classes) * sizeof *label);
    graph = malloc((size_t)rows * sizeof *graph);
    for (int64_t i = 0; i < rows * classes; i++)
        label[i] = ((uint8_t *)y->data)[first * classes + i];
    for (int64_t i = 0; i < rows; i++) graph[i] = ((int32_t *)graph_id->data)[first + i] + 1;
    snprintf(name, sizeof name, "%s_feats.npy", part);
    write_array(name, PGCN_I_F64, 2, rows, columns, (double *)x->data + first * columns);
    snprintf(name, sizeof name, "%s_labels.npy", part);
    write_array(name, PGCN_I_I64, 2, rows, classes, label);
    snprintf(name, sizeof name, "%s_graph_id.npy", part);
    write_array(name, PGCN_I_I64, 1, rows, 0, graph);
    free(label), free(graph);
    snprintf(name, sizeof name, "%s_graph.json", part);
    FILE *file = fopen(scratch_path(name), "w");
    assert_non_null(file);
    fprintf(file, "{\"directed\": false, \"multigraph\": false, \"graph\": {}, \"nodes\": [");
    for (int64_t i = 0; i < rows; i++)
        fprintf(file, "%s{\"id\": %lld}", i ? ", " : "", (long long)i);
    fprintf(file, "], \"links\": [");
    const int32_t *end = edges->data;
    const char *before = "";
    for (int64_t e = 0; e < edges->shape[0]; e++) {
        if (end[2 * e] < first || end[2 * e] >= first + rows) continue;
        fprintf(file, "%s{\"source\": %lld, \"target\": %lld}", before,
                (long long)(end[2 * e] - first), (long long)(end[2 * e + 1] - first));
        before = ", ";
    }
    fprintf(file, "]}");
    assert_int_equal(fclose(file), 0);
}

static int by_ends(const void *a, const void *b) {
    return memcmp(a, b, 8);
}

/* The edges as a sorted list: the prepared file has the loops of all graphs at its end. */
static pgcn_node *sorted_edges(const pgcn_node *from, const pgcn_node *to, int stride, int64_t m) {
    pgcn_node *pair = malloc((size_t)m * 2 * sizeof *pair);
    for (int64_t e = 0; e < m; e++) {
        pair[2 * e] = from[e * stride];
        pair[2 * e + 1] = to[e * stride];
    }
    qsort(pair, (size_t)m, 2 * sizeof *pair, by_ends);
    return pair;
}

static void test_dgl_ppi_comes_back_entry_by_entry(void **state) {
    (void)state;
    pgcn_i_arena arena = {0};
    pgcn_i_array x = dense_ppi_features(&arena), y = prepared("ppi", "y", &arena);
    pgcn_i_array edges = prepared("ppi", "edges", &arena);
    pgcn_i_array graph_id = prepared("ppi", "graph_id", &arena);
    static const char *const mask_file[3] = {"train_mask", "val_mask", "test_mask"};
    static const char *const part[3] = {"train", "valid", "test"};
    int64_t n = y.shape[0], first = 0;
    const uint8_t *mask[3];
    for (int k = 0; k < 3; k++) {
        mask[k] = prepared("ppi", mask_file[k], &arena).data;
        int64_t rows = sum(mask[k], n);
        write_part(part[k], first, rows, &x, &y, &graph_id, &edges);
        first += rows;
    }
    read_source(pgcn_i_dgl_ppi_read, scratch);
    assert_int_equal(source.nodes, n);
    assert_int_equal(source.graphs, 24);
    assert_memory_equal(source.graph_of, graph_id.data, (size_t)n * 4);
    assert_prepared_features("ppi", &source);
    assert_memory_equal(source.labels, y.data, (size_t)y.count);
    const uint8_t *found[3] = {source.split[0].train, source.split[0].val, source.split[0].test};
    for (int k = 0; k < 3; k++) assert_memory_equal(found[k], mask[k], (size_t)n);
    int64_t m = edges.shape[0];
    assert_int_equal(source.edges, m);
    pgcn_node *wanted = sorted_edges(edges.data, (pgcn_node *)edges.data + 1, 2, m);
    pgcn_node *got = sorted_edges(source.edge_from, source.edge_to, 1, m);
    assert_memory_equal(wanted, got, (size_t)m * 8);
    free(wanted), free(got);
    pgcn_i_arena_free(&arena);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_source, end_source)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_dgl_ppi_parts_become_one_set),
        TEST(test_dgl_ppi_links_name_ids),
        TEST(test_dgl_ppi_bad_files_are_refused),
        TEST(test_dgl_ppi_arrays_that_do_not_fit_are_refused),
        TEST(test_dgl_ppi_rows_without_columns_do_not_make_nodes),
        TEST(test_dgl_ppi_every_allocation_may_fail),
        TEST(test_dgl_ppi_comes_back_entry_by_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
