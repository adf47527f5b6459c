/* tu.c: the published files give the prepared arrays, entry by entry; a small set of our own is
 * read as it was meant, and every way to break it is told with file and line. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "undirected_help.h"

static pgcn_i_source source;

static int begin(void **state) {
    return scratch_make(state);
}
static int end(void **state) {
    pgcn_i_source_free(&source);
    return scratch_remove(state);
}

static void write_text(const char *file, const char *text) {
    scratch_write(file, text, strlen(text));
}

/* Two graphs: a path of three nodes, and one edge. */
static void write_small_set(void) {
    write_text("S_A.txt", "1, 2\n2, 1\n2,3\n3 , 2\n4, 5\r\n5, 4\n");
    write_text("S_graph_indicator.txt", "1\n1\n1\n2\n2\n");
    write_text("S_graph_labels.txt", "1\n-1\n");
    write_text("S_node_labels.txt", "7\n3\n7\n9\n3\n");
    write_text("S_edge_labels.txt", "5\n5\n0\n0\n5\n5\n");
    write_text("S_node_attributes.txt", "1.5, 2\n -3,4e1\n0, 0\n5, 6\n7, 8\n");
}

static pgcn_status try_read(const char *path) {
    pgcn_i_steps steps = {0};
    pgcn_i_source_free(&source);
    return pgcn_i_tu_read(path, &steps, &source);
}

static void read_set(const char *path) {
    if (try_read(path) != PGCN_OK) fail_msg("%s", pgcn_last_error());
}

static void test_tu_small_set_is_read(void **state) {
    (void)state;
    write_small_set();
    assert_true(pgcn_i_tu_detect(scratch));
    read_set(scratch);
    assert_int_equal(source.nodes, 5);
    assert_int_equal(source.graphs, 2);
    assert_int_equal(source.classes, 2);
    static const int32_t graph_of[] = {0, 0, 0, 1, 1}, graph_label[] = {1, 0};
    static const int32_t node_label[] = {1, 0, 1, 2, 0}, edge_label[] = {1, 1, 0, 0, 1, 1};
    static const pgcn_node from[] = {0, 1, 1, 2, 3, 4}, to[] = {1, 0, 2, 1, 4, 3};
    static const float x[] = {1.5f, 2, -3, 40, 0, 0, 5, 6, 7, 8};
    assert_memory_equal(source.graph_of, graph_of, sizeof graph_of);
    assert_memory_equal(source.graph_label, graph_label, sizeof graph_label);
    assert_memory_equal(source.node_label, node_label, sizeof node_label);
    assert_int_equal(source.edges, 6);
    assert_memory_equal(source.edge_from, from, sizeof from);
    assert_memory_equal(source.edge_to, to, sizeof to);
    assert_memory_equal(source.edge_label, edge_label, sizeof edge_label);
    assert_int_equal(source.x.columns, 2);
    assert_memory_equal(source.x.dense, x, sizeof x);
    assert_int_equal(source.class_name.count, 2);
    assert_string_equal(source.class_name.text + source.class_name.offset[0], "-1");
    assert_string_equal(source.class_name.text + source.class_name.offset[1], "1");
    assert_false(source.directed);
    assert_int_equal(source.notes, 0);
}

static void test_tu_optional_files_may_be_missing(void **state) {
    (void)state;
    write_small_set();
    remove(scratch_path("S_node_labels.txt"));
    remove(scratch_path("S_edge_labels.txt"));
    remove(scratch_path("S_node_attributes.txt"));
    read_set(scratch);
    assert_null(source.node_label);
    assert_null(source.edge_label);
    assert_int_equal(source.x.columns, 0);
    write_small_set(); /* to be predicted */
    remove(scratch_path("S_graph_labels.txt"));
    read_set(scratch);
    assert_null(source.graph_label);
    assert_int_equal(source.graphs, 2);
    assert_true(has_note(&source, "there is no S_graph_labels.txt"));
}

static void test_tu_what_is_left_out_is_told(void **state) {
    (void)state;
    write_small_set();
    write_text("S_node_labels.txt", "7, 1\n3, 1\n7, 2\n9, 2\n3, 2\n");
    write_text("S_edge_attributes.txt", "1\n");
    write_text("S_graph_attributes.txt", "1\n");
    read_set(scratch);
    static const int32_t node_label[] = {1, 0, 1, 2, 0};
    assert_memory_equal(source.node_label, node_label, sizeof node_label);
    assert_true(has_note(&source, "S_node_labels.txt has several columns"));
    assert_true(has_note(&source, "S_edge_attributes.txt is not read"));
    assert_true(has_note(&source, "S_graph_attributes.txt is not read"));
}

static void test_tu_empty_lines_at_the_end_are_fine(void **state) {
    (void)state;
    write_small_set();
    write_text("S_graph_labels.txt", "1\n-1\n\n  \n");
    write_text("S_A.txt", "1, 2\n2, 1");
    write_text("S_edge_labels.txt", "5\n5");
    read_set(scratch);
    assert_int_equal(source.edges, 2);
}

static void test_tu_broken_files_are_refused_with_a_line(void **state) {
    (void)state;
    static const struct {
        const char *file, *text;
        pgcn_status status;
        const char *says;
    } cases[] = {
        {"S_A.txt", "1, 2\n2, 6\n", PGCN_ERR_FORMAT, "line 2: found an edge 2, 6"},
        {"S_A.txt", "0, 2\n", PGCN_ERR_FORMAT, "line 1: found an edge 0, 2, expected nodes from 1"},
        {"S_A.txt", "-1, 2\n", PGCN_ERR_FORMAT, "line 1: found an edge -1, 2"},
        {"S_A.txt", "1, 2\n3, 4\n", PGCN_ERR_FORMAT, "line 2: the edge 3, 4 joins graphs 1 and 2"},
        {"S_A.txt", "1, 2\n2\n", PGCN_ERR_FORMAT, "line 2: found '', expected two whole numbers"},
        {"S_A.txt", "1, 2, 3\n", PGCN_ERR_FORMAT, "line 1: found ', 3' after 2 numbers"},
        {"S_A.txt", "1,, 2\n", PGCN_ERR_FORMAT, "line 1: found ', 2'"},
        {"S_A.txt", "1, 2.5\n", PGCN_ERR_FORMAT, "line 1: found '2.5'"},
        {"S_A.txt", "1, 99999999999999999999\n", PGCN_ERR_FORMAT, "line 1: found '9999"},
        {"S_A.txt", "\n1, 2\n", PGCN_ERR_FORMAT, "line 2: found more numbers after an empty line"},
        {"S_A.txt", "", PGCN_ERR_FORMAT, "it has 0 lines"},
        {"S_A.txt", "1, \33[2J\n", PGCN_ERR_FORMAT, "found '\\x1b[2J'"},
        {"S_graph_indicator.txt", "1\n1\n2\n1\n2\n", PGCN_ERR_FORMAT,
         "line 4: found graph 1 after graph 2, expected ascending"},
        {"S_graph_indicator.txt", "1\n1\n3\n", PGCN_ERR_FORMAT, "line 3: found graph 3 after"},
        {"S_graph_indicator.txt", "0\n1\n", PGCN_ERR_FORMAT, "line 1: found graph 0"},
        {"S_graph_indicator.txt", "2\n2\n", PGCN_ERR_FORMAT, "line 1: found graph 2 after graph 0"},
        {"S_graph_indicator.txt", "9223372036854775807\n", PGCN_ERR_FORMAT,
         "line 1: found graph 9"},
        {"S_graph_indicator.txt", "1\n1\n1\n1\n1\n", PGCN_ERR_MISMATCH,
         "last graph is number 1, but S_graph_labels.txt has 2 lines"},
        {"S_graph_indicator.txt", "1\n1\n1\n2\n3\n", PGCN_ERR_MISMATCH, "is number 3"},
        {"S_graph_indicator.txt", "", PGCN_ERR_FORMAT, "it has 0 lines"},
        {"S_graph_labels.txt", "0.5\n1.5\n", PGCN_ERR_FORMAT, "line 1: found '0.5'"},
        {"S_node_labels.txt", "1\n2\n3\n4\n", PGCN_ERR_MISMATCH,
         "it has 4 lines, expected 5, one for each of the nodes"},
        {"S_node_labels.txt", "1\n2\n3\nx\n5\n", PGCN_ERR_FORMAT, "line 4: found 'x'"},
        {"S_edge_labels.txt", "1\n2\n", PGCN_ERR_MISMATCH, "expected 6, one for each of the edges"},
        {"S_node_attributes.txt", "1, 2\n3, 4\n5\n", PGCN_ERR_FORMAT, "line 3"},
        {"S_node_attributes.txt", "1, 2\n3, x\n", PGCN_ERR_FORMAT, "line 2"},
        {"S_node_attributes.txt", "1, 2\n3, nan\n", PGCN_ERR_FORMAT, "line 2"},
        {"S_node_attributes.txt", "1, 2\n3, 4\n", PGCN_ERR_MISMATCH, "has 2 lines, expected 5"},
        {"S_node_attributes.txt", "", PGCN_ERR_MISMATCH, "has 0 lines, expected 5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_small_set();
        write_text(cases[i].file, cases[i].text);
        pgcn_status status = try_read(scratch);
        if (status != cases[i].status)
            fail_msg("case %zu (%s) gave %d: %s", i, cases[i].says, status, pgcn_last_error());
        assert_error_says(cases[i].says);
        assert_error_says(cases[i].file);
    }
}

static void test_tu_missing_files_are_named(void **state) {
    (void)state;
    write_small_set();
    remove(scratch_path("S_A.txt"));
    assert_int_equal(try_read(scratch), PGCN_ERR_IO);
    assert_error_says("S_A.txt");
    write_text("T_graph_indicator.txt", "1\n");
    assert_int_equal(try_read(scratch), PGCN_ERR_FORMAT);
    assert_error_says("2 files NAME_graph_indicator.txt");
}

static void test_tu_other_directories_are_not_taken_for_it(void **state) {
    (void)state;
    assert_false(pgcn_i_tu_detect(scratch));
    assert_false(pgcn_i_tu_detect(scratch_path("none")));
    write_text("S_A.txt", "1, 2\n");
    assert_false(pgcn_i_tu_detect(scratch));
}

static pgcn_status read_and_free(void) {
    pgcn_i_source own = {0};
    pgcn_i_steps steps = {0};
    pgcn_status status = pgcn_i_tu_read(scratch, &steps, &own);
    pgcn_i_source_free(&own);
    return status;
}

static void test_tu_every_failing_allocation_is_told(void **state) {
    (void)state;
    write_small_set();
    write_text("S_edge_attributes.txt", "1\n");
    assert_true(fail_every_allocation(read_and_free) > 20);
}

static void assert_published(const char *name) {
    char path[PGCN_I_PATH_BYTES];
    snprintf(path, sizeof path, "%s/raw/%s", published_data(), name);
    assert_true(pgcn_i_tu_detect(path));
    read_set(path);
    assert_prepared_graphs(name, &source);
    assert_prepared_undirected(name, &source);
    pgcn_i_arena arena = {0};
    pgcn_i_array attribute = prepared(name, "node_attr", &arena);
    if (attribute.count >= 0) {
        assert_int_equal(source.x.columns, attribute.shape[1]);
        assert_memory_equal(source.x.dense, attribute.data, (size_t)attribute.count * 4);
    }
    assert_int_equal(source.x.columns > 0, attribute.count >= 0);
    pgcn_i_arena_free(&arena);
}

static void test_tu_published_mutag_equals_the_prepared_arrays(void **state) {
    (void)state;
    assert_published("MUTAG");
}
static void test_tu_published_ptc_equals_the_prepared_arrays(void **state) {
    (void)state;
    assert_published("PTC_MR");
}
static void test_tu_published_proteins_equals_the_prepared_arrays(void **state) {
    (void)state;
    assert_published("PROTEINS");
}
static void test_tu_published_nci1_equals_the_prepared_arrays(void **state) {
    (void)state;
    assert_published("NCI1");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_tu_small_set_is_read),
        TEST(test_tu_optional_files_may_be_missing),
        TEST(test_tu_what_is_left_out_is_told),
        TEST(test_tu_empty_lines_at_the_end_are_fine),
        TEST(test_tu_broken_files_are_refused_with_a_line),
        TEST(test_tu_missing_files_are_named),
        TEST(test_tu_other_directories_are_not_taken_for_it),
        TEST(test_tu_every_failing_allocation_is_told),
        TEST(test_tu_published_mutag_equals_the_prepared_arrays),
        TEST(test_tu_published_ptc_equals_the_prepared_arrays),
        TEST(test_tu_published_proteins_equals_the_prepared_arrays),
        TEST(test_tu_published_nci1_equals_the_prepared_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
