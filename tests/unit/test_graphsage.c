/* Tests of src/data/graphsage.c and node_link.c: small files in exactly the format of GraphSAGE,
 * and the whole of PPI written in it, which must come back entry by entry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json_graph_help.h"

/* Three nodes with string ids; rows 2, 0, 1; links by position, as networkx 1.11 wrote them. */
#define HEAD "{\"directed\": false, \"graph\": {\"name\": \"disjoint_union( ,  )\"}, "
#define NODES                                                                                      \
    "\"nodes\": [{\"test\": false, \"id\": \"c\", \"val\": false, \"feature\": [1, 2]}, "          \
    "{\"test\": false, \"id\": \"a\", \"val\": true}, {\"test\": true, \"id\": \"b\", \"val\": "   \
    "false}]"
#define LINKS                                                                                      \
    "\"links\": [{\"source\": 0, \"target\": 1, \"test_removed\": false, \"train_removed\": "      \
    "false}, {\"source\": 2, \"target\": 2}]"
static const char graph[] = HEAD NODES ", " LINKS ", \"multigraph\": false}";
static const char ids[] = "{\"a\": 0, \"b\": 1, \"c\": 2}";
static const char lists[] = "{\"a\": [0, 1], \"c\": [1, 1], \"b\": [0, 0]}";

static void write_files(const char *g, const char *id_map, const char *class_map) {
    static const double x[] = {0.5, 1, 2, 3, 4, 1e-3};
    write_text("toy-G.json", g);
    write_text("toy-id_map.json", id_map);
    write_text("toy-class_map.json", class_map);
    write_array("toy-feats.npy", PGCN_I_F64, 2, 3, 2, x);
}

static void test_graphsage_rows_follow_the_id_map(void **state) {
    (void)state;
    static const float x[] = {0.5f, 1, 2, 3, 4, 1e-3f};
    static const pgcn_node from[] = {2, 1}, to[] = {0, 1};
    write_files(graph, ids, lists);
    assert_true(pgcn_i_graphsage_detect(scratch));
    read_source(pgcn_i_graphsage_read, scratch);
    assert_int_equal(source.nodes, 3);
    assert_memory_equal(source.x.dense, x, sizeof x);
    assert_false(source.directed);
    assert_int_equal(source.edges, 2);
    assert_memory_equal(source.edge_from, from, sizeof from);
    assert_memory_equal(source.edge_to, to, sizeof to);
    assert_int_equal(source.classes, 2);
    assert_mask(source.labels, "010011");
    assert_null(source.label_known);
    assert_null(source.label);
    assert_int_equal(source.graphs, 0);
    assert_int_equal(source.splits, 1);
    assert_string_equal(source.split[0].name, "public");
    assert_mask(source.split[0].train, "001");
    assert_mask(source.split[0].val, "100");
    assert_mask(source.split[0].test, "010");
    assert_int_equal(source.node_id.count, 3);
    assert_memory_equal(source.node_id.text, "a\0b\0c", 6);
    assert_int_equal(source.notes, 0);
}

static void test_graphsage_file_and_prefix_name_the_set(void **state) {
    (void)state;
    write_files(graph, ids, lists);
    read_source(pgcn_i_graphsage_read, scratch_path("toy-G.json"));
    assert_int_equal(source.nodes, 3);
    read_source(pgcn_i_graphsage_read, scratch_path("toy"));
    assert_int_equal(source.nodes, 3);
    assert_false(pgcn_i_graphsage_detect(scratch_path("to")));
    write_text("other-G.json", graph);
    assert_refused(pgcn_i_graphsage_read, scratch, PGCN_ERR_ARGUMENT, "it holds 2 files");
    read_source(pgcn_i_graphsage_read, scratch_path("toy-G.json"));
}

static void test_graphsage_one_class_each_and_missing_entries(void **state) {
    (void)state;
    write_files(graph, ids, "{\"c\": 41, \"a\": 7, \"stranger\": 5}");
    read_source(pgcn_i_graphsage_read, scratch);
    static const int32_t label[] = {0, -1, 1};
    assert_memory_equal(source.label, label, sizeof label);
    assert_null(source.labels);
    assert_int_equal(source.classes, 2);
    assert_memory_equal(source.class_name.text,
                        "7\0"
                        "41",
                        5);
    assert_mask(source.split[0].test, "000"); /* "b" has no label */
    assert_int_equal(source.notes, 1);
    write_files(graph, ids, "{\"c\": [1, 0], \"a\": [0, 0]}");
    read_source(pgcn_i_graphsage_read, scratch);
    assert_mask(source.labels, "000010");
    assert_mask(source.label_known, "101");
}

static void test_graphsage_without_features_says_so(void **state) {
    (void)state;
    write_files(graph, ids, lists);
    assert_int_equal(remove(scratch_path("toy-feats.npy")), 0);
    read_source(pgcn_i_graphsage_read, scratch);
    assert_int_equal(source.x.columns, 0);
    assert_non_null(strstr(source.note[0], "no file of features"));
}

/* networkx 1.11 wrote positions, networkx 2 writes ids. */
static void test_graphsage_links_by_position_or_id(void **state) {
    (void)state;
#define THREE(a, b, c)                                                                             \
    "{\"nodes\": [{\"id\": " a ", \"val\": false, \"test\": false}, {\"id\": " b                   \
    ", \"val\": true, \"test\": false}, {\"id\": " c ", \"val\": false, \"test\": true}], "
#define ONE_LINK(a, b) "\"links\": [{\"source\": " a ", \"target\": " b "}]}"
    static const struct {
        const char *graph, *ids, *classes;
        pgcn_node from, to;
        int notes;
    } cases[] = {
        {THREE("0", "1", "2") ONE_LINK("0", "2"), "{\"0\":0,\"1\":1,\"2\":2}",
         "{\"0\":0,\"1\":1,\"2\":0}", 0, 2, 0},
        /* strings: ids; numbers beside strings: positions */
        {THREE("\"z\"", "\"y\"", "\"x\"") ONE_LINK("\"z\"", "\"x\""), "{\"x\":0,\"y\":1,\"z\":2}",
         "{\"x\":0,\"y\":1,\"z\":0}", 2, 0, 0},
        {THREE("\"z\"", "\"y\"", "\"x\"") ONE_LINK("0", "2"), "{\"x\":0,\"y\":1,\"z\":2}",
         "{\"x\":0,\"y\":1,\"z\":0}", 2, 0, 0},
        /* numbers with gaps: positions while they fit, else ids */
        {THREE("10", "20", "30") ONE_LINK("0", "2"), "{\"10\":2,\"20\":1,\"30\":0}",
         "{\"10\":0,\"20\":1,\"30\":0}", 2, 0, 0},
        {THREE("10", "20", "30") ONE_LINK("10", "30"), "{\"10\":2,\"20\":1,\"30\":0}",
         "{\"10\":0,\"20\":1,\"30\":0}", 2, 0, 0},
        /* both are possible: positions, and a note */
        {THREE("2", "1", "0") ONE_LINK("0", "1"), "{\"0\":0,\"1\":1,\"2\":2}",
         "{\"0\":0,\"1\":1,\"2\":0}", 2, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_files(cases[i].graph, cases[i].ids, cases[i].classes);
        read_source(pgcn_i_graphsage_read, scratch);
        assert_int_equal(source.edges, 1);
        assert_int_equal(source.edge_from[0], cases[i].from);
        assert_int_equal(source.edge_to[0], cases[i].to);
        assert_int_equal(source.notes, cases[i].notes);
    }
    assert_int_equal(source.node_id.count, 0); /* 0, 1, 2 need no names */
}

static void test_graphsage_links_before_nodes_are_read(void **state) {
    (void)state;
    write_files("{" LINKS ", \"multigraph\": false, \"directed\": true, " NODES "}", ids, lists);
    read_source(pgcn_i_graphsage_read, scratch);
    assert_int_equal(source.edges, 2);
    assert_int_equal(source.edge_from[0], 2);
    assert_true(source.directed);
}

/* As GraphSAGE does it: no marks and no row, no node. */
static void test_graphsage_nodes_without_marks(void **state) {
    (void)state;
    write_files(
        "{\"nodes\": [{\"id\": \"a\", \"val\": false, \"test\": false}, {\"id\": \"ghost\"}, "
        "{\"id\": \"b\"}, {\"id\": \"c\", \"val\": true, \"test\": false}], \"links\": ["
        "{\"source\": 0, \"target\": 1}, {\"source\": 0, \"target\": 3}]}",
        ids, lists);
    read_source(pgcn_i_graphsage_read, scratch);
    assert_int_equal(source.edges, 1);
    assert_int_equal(source.edge_to[0], 2);
    assert_mask(source.split[0].train, "100");
    assert_mask(source.split[0].val, "001");
    assert_mask(source.split[0].test, "000");
    assert_int_equal(source.notes, 2);
    assert_non_null(strstr(source.note[0], "1 nodes without 'val', 'test' and a row"));
}

static void test_graphsage_bad_graphs_are_refused(void **state) {
    (void)state;
#define NODE_A            "{\"id\": \"a\", \"val\": false, \"test\": false}"
#define WITH_NODES(nodes) "{\"nodes\": [" nodes "], \"links\": []}"
#define WITH_LINK(link)   "{\"nodes\": [" NODE_A "], \"links\": [" link "]}"
    static const struct {
        const char *graph, *says;
        pgcn_status status;
    } cases[] = {
        {"{" NODES "}", "'links' is missing", PGCN_ERR_FORMAT},
        {"{" LINKS "}", "'nodes' is missing", PGCN_ERR_FORMAT},
        {"{" NODES ", " LINKS ", " LINKS "}", "'links' occurs twice", PGCN_ERR_FORMAT},
        {"{" LINKS ", " NODES ", " LINKS "}", "'links' occurs twice", PGCN_ERR_FORMAT},
        {"{" NODES ", " LINKS ", " NODES "}", "'nodes' occurs twice", PGCN_ERR_FORMAT},
        {WITH_NODES(NODE_A "," NODE_A), "the node 'a' occurs twice", PGCN_ERR_FORMAT},
        {WITH_NODES("{\"val\": false}"), "a node has no 'id'", PGCN_ERR_FORMAT},
        {WITH_NODES("{\"id\": \"a\", \"id\": \"b\"}"), "'id' occurs twice in a node",
         PGCN_ERR_FORMAT},
        {WITH_NODES("{\"id\": [1]}"), "found an array where a string", PGCN_ERR_FORMAT},
        {WITH_NODES("{\"id\": 1.5}"), "a whole number", PGCN_ERR_FORMAT},
        {WITH_NODES("{\"id\": \"a\", \"val\": true, \"test\": true}"), "both 'val' and 'test'",
         PGCN_ERR_FORMAT},
        {WITH_NODES("{\"id\": \"a\", \"val\": \"no\"}"), "true, false, 1 or 0", PGCN_ERR_FORMAT},
        {WITH_NODES("{\"id\": \"q\", \"val\": false, \"test\": false}"), "no row in the id map",
         PGCN_ERR_MISMATCH},
        {WITH_LINK("{\"source\": 0}"), "a link has no 'target'", PGCN_ERR_FORMAT},
        {WITH_LINK("{\"source\": 0, \"source\": 0}"), "'source' occurs twice", PGCN_ERR_FORMAT},
        {WITH_LINK("{\"source\": 0, \"target\": 1}"),
         "link 0 (from 0) names node 1, expected 0 to 0", PGCN_ERR_FORMAT},
        {WITH_LINK("{\"source\": 0, \"target\": -1}"), "names node -1", PGCN_ERR_FORMAT},
        {WITH_LINK("{\"source\": 0, \"target\": \"a\"}"), "some by strings", PGCN_ERR_FORMAT},
        {WITH_LINK("[0, 0]"), "found an array where an object", PGCN_ERR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_files(cases[i].graph, ids, lists);
        assert_refused(pgcn_i_graphsage_read, scratch, cases[i].status, cases[i].says);
        assert_error_says("toy-G.json");
    }
}

static void test_graphsage_bad_maps_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *ids, *classes, *says, *file;
        pgcn_status status;
    } cases[] = {
        {"{\"a\": 0, \"b\": 1, \"a\": 2}", lists, "the id 'a' occurs twice", "id_map",
         PGCN_ERR_FORMAT},
        {"{\"a\": 0, \"b\": 1, \"c\": 1}", lists, "every row from 0 to 2 once", "id_map",
         PGCN_ERR_FORMAT},
        {"{\"a\": 0, \"b\": 1, \"c\": 3}", lists, "has row 3", "id_map", PGCN_ERR_FORMAT},
        {"{\"a\": 0, \"b\": 1, \"c\": -1}", lists, "has row -1", "id_map", PGCN_ERR_FORMAT},
        {"{\"a\": 0, \"b\": \"1\"}", lists, "a number", "id_map", PGCN_ERR_FORMAT},
        {"{\"a\": 0, \"b\": 1}", lists, "has 3 rows but the id map has 2", "feats",
         PGCN_ERR_MISMATCH},
        {"[1]", lists, "an object", "id_map", PGCN_ERR_FORMAT},
        {ids, "{\"a\": [0, 1], \"b\": [1]}", "a node has 1 labels, expected 2", "class_map",
         PGCN_ERR_FORMAT},
        {ids, "{\"a\": [0, 2]}", "true, false, 1 or 0", "class_map", PGCN_ERR_FORMAT},
        {ids, "{\"a\": [0, 1], \"b\": 1}", "an array [...]", "class_map", PGCN_ERR_FORMAT},
        {ids, "{\"a\": 1, \"b\": [1]}", "a number", "class_map", PGCN_ERR_FORMAT},
        {ids, "{\"a\": 1, \"a\": 1}", "the id 'a' occurs twice", "class_map", PGCN_ERR_FORMAT},
        {ids, "{\"a\": NaN}", "NaN", "class_map", PGCN_ERR_FORMAT},
        {ids, "{\"a\": -9223372036854775808}", "too small", "class_map", PGCN_ERR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_files(graph, cases[i].ids, cases[i].classes);
        assert_refused(pgcn_i_graphsage_read, scratch, cases[i].status, cases[i].says);
        assert_error_says(cases[i].file);
    }
}

/* One list of many labels for many nodes would be a table beyond what the files hold. */
static void test_graphsage_table_of_labels_is_bounded_by_the_files(void **state) {
    (void)state;
    enum { NODES_MANY = 30000, LABELS_MANY = 200000 };
    char *text = malloc(NODES_MANY * 16), *list = malloc(LABELS_MANY * 2 + 32), *at = text;
    at += sprintf(at, "{");
    for (int i = 0; i < NODES_MANY; i++) at += sprintf(at, "%s\"%d\":%d", i ? "," : "", i, i);
    sprintf(at, "}");
    at = list + sprintf(list, "{\"0\":[0");
    for (int i = 1; i < LABELS_MANY; i++) at += sprintf(at, ",0");
    sprintf(at, "]}");
    write_files(graph, text, list);
    assert_refused(pgcn_i_graphsage_read, scratch, PGCN_ERR_FORMAT, "more than files of this size");
    free(text), free(list);
}

static void test_graphsage_wrong_features_are_refused(void **state) {
    (void)state;
    static const double x[3] = {1, 2, 3};
    write_files(graph, ids, lists);
    write_array("toy-feats.npy", PGCN_I_F64, 1, 3, 0, x);
    assert_refused(pgcn_i_graphsage_read, scratch, PGCN_ERR_FORMAT, "expected a matrix");
    write_text("toy-feats.npy", "no array");
    assert_refused(pgcn_i_graphsage_read, scratch, PGCN_ERR_FORMAT, "toy-feats.npy");
    assert_int_equal(remove(scratch_path("toy-id_map.json")), 0);
    assert_refused(pgcn_i_graphsage_read, scratch, PGCN_ERR_IO, "toy-id_map.json");
}

static void test_graphsage_every_truncation_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *file, *text;
    } files[] = {{"toy-G.json", graph}, {"toy-id_map.json", ids}, {"toy-class_map.json", lists}};
    for (int f = 0; f < 3; f++) {
        write_files(graph, ids, lists);
        for (size_t cut = 0; cut < strlen(files[f].text); cut++) {
            scratch_write(files[f].file, files[f].text, cut);
            assert_refused(pgcn_i_graphsage_read, scratch, PGCN_ERR_FORMAT, files[f].file);
        }
    }
}

static pgcn_status load_scratch(void) {
    return load_and_free(scratch);
}

static void test_graphsage_every_allocation_may_fail(void **state) {
    (void)state;
    write_files(graph, ids, lists);
    assert_true(fail_every_allocation(load_scratch) > 15);
    write_files(
        "{\"nodes\": [{\"id\": \"a\", \"val\": false, \"test\": false}, {\"id\": \"ghost\"}, "
        "{\"id\": \"b\", \"val\": false, \"test\": true}, {\"id\": \"c\", \"val\": true, "
        "\"test\": false}], \"links\": []}",
        ids, "{\"a\": 7, \"b\": 9, \"c\": 7}");
    assert_true(fail_every_allocation(load_scratch) > 15);
}

/* ---- the published set ----------------------------------------------------------------------- */

/* Row r is called "g<r>", and nodes stand in the order n-1 .. 0, so that neither ids nor positions
 * are rows. */
static void write_ppi(const pgcn_i_array *x, const pgcn_i_array *y, const pgcn_i_array *known,
                      const pgcn_i_array mask[3], const pgcn_i_array *edges) {
    int64_t n = y->shape[0], classes = y->shape[1];
    FILE *file = fopen(scratch_path("ppi-G.json"), "w");
    assert_non_null(file);
    fprintf(file, "{\"directed\": false, \"graph\": {\"name\": \"x\"}, \"nodes\": [");
    for (int64_t r = n - 1; r >= 0; r--)
        fprintf(file, "{\"test\": %s, \"id\": \"g%lld\", \"val\": %s}%s",
                ((uint8_t *)mask[2].data)[r] ? "true" : "false", (long long)r,
                ((uint8_t *)mask[1].data)[r] ? "true" : "false", r ? ", " : "], \"links\": [");
    const int32_t *end = edges->data;
    for (int64_t e = 0; e < edges->shape[0]; e++)
        fprintf(file,
                "%s{\"source\": %lld, \"target\": %lld, \"test_removed\": false, "
                "\"train_removed\": false}",
                e ? ", " : "", (long long)(n - 1 - end[2 * e]),
                (long long)(n - 1 - end[2 * e + 1]));
    fprintf(file, "], \"multigraph\": false}");
    assert_int_equal(fclose(file), 0);
    file = fopen(scratch_path("ppi-id_map.json"), "w");
    for (int64_t r = 0; r < n; r++)
        fprintf(file, "%s\"g%lld\": %lld", r ? ", " : "{", (long long)r, (long long)r);
    fprintf(file, "}");
    fclose(file);
    file = fopen(scratch_path("ppi-class_map.json"), "w");
    const char *before = "{";
    for (int64_t r = 0; r < n; r++) {
        if (!((uint8_t *)known->data)[r]) continue;
        fprintf(file, "%s\"g%lld\": [", before, (long long)r);
        before = ", ";
        for (int64_t c = 0; c < classes; c++)
            fprintf(file, "%s%d", c ? ", " : "", ((uint8_t *)y->data)[r * classes + c]);
        fprintf(file, "]");
    }
    fprintf(file, "}");
    fclose(file);
    write_array("ppi-feats.npy", PGCN_I_F64, 2, n, x->shape[1], x->data);
}

static void test_graphsage_ppi_comes_back_entry_by_entry(void **state) {
    (void)state;
    pgcn_i_arena arena = {0};
    pgcn_i_array y = prepared("ppi", "y", &arena), known = prepared("ppi", "label_known", &arena);
    pgcn_i_array edges = prepared("ppi", "edges", &arena);
    pgcn_i_array mask[3] = {prepared("ppi", "train_mask", &arena),
                            prepared("ppi", "val_mask", &arena),
                            prepared("ppi", "test_mask", &arena)};
    pgcn_i_array x = dense_ppi_features(&arena);
    write_ppi(&x, &y, &known, mask, &edges);
    read_source(pgcn_i_graphsage_read, scratch);
    int64_t n = y.shape[0];
    assert_int_equal(source.nodes, n);
    assert_int_equal(source.classes, 121);
    assert_prepared_features("ppi", &source);
    assert_prepared_edges("ppi", "edges", &source);
    assert_memory_equal(source.labels, y.data, (size_t)y.count);
    assert_memory_equal(source.label_known, known.data, (size_t)n);
    const uint8_t *found[3] = {source.split[0].train, source.split[0].val, source.split[0].test};
    for (int k = 0; k < 3; k++)
        for (int64_t i = 0; i < n; i++)
            assert_int_equal(found[k][i],
                             ((uint8_t *)mask[k].data)[i] && ((uint8_t *)known.data)[i]);
    assert_string_equal(source.node_id.text + source.node_id.offset[56943], "g56943");
    pgcn_i_arena_free(&arena);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_source, end_source)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_graphsage_rows_follow_the_id_map),
        TEST(test_graphsage_file_and_prefix_name_the_set),
        TEST(test_graphsage_one_class_each_and_missing_entries),
        TEST(test_graphsage_without_features_says_so),
        TEST(test_graphsage_links_by_position_or_id),
        TEST(test_graphsage_links_before_nodes_are_read),
        TEST(test_graphsage_nodes_without_marks),
        TEST(test_graphsage_bad_graphs_are_refused),
        TEST(test_graphsage_bad_maps_are_refused),
        TEST(test_graphsage_table_of_labels_is_bounded_by_the_files),
        TEST(test_graphsage_wrong_features_are_refused),
        TEST(test_graphsage_every_truncation_is_refused),
        TEST(test_graphsage_every_allocation_may_fail),
        TEST(test_graphsage_ppi_comes_back_entry_by_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
