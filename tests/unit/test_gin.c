/* gin.c: the published files give the prepared arrays, entry by entry; a small set of our own is
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

static void write_small_set(void) {
    write_text("S.txt", "3\n3 2\n7 1 1\n3 2 0 2\n7 1 1\n2 0\n9 1 1\n3 1 0\n1 2\n3 0\n");
    mkdir(scratch_path("10fold_idx"), 0700);
    write_text("10fold_idx/test_idx-1.txt", "2\n");
    write_text("10fold_idx/test_idx-2.txt", "0\n");
    write_text("10fold_idx/train_idx-1.txt", "0\n1\n");
}

static pgcn_status try_read(const char *path) {
    pgcn_i_steps steps = {0};
    pgcn_i_source_free(&source);
    return pgcn_i_gin_read(path, &steps, &source);
}

static void read_set(const char *path) {
    if (try_read(path) != PGCN_OK) fail_msg("%s", pgcn_last_error());
}

static void assert_small_set(void) {
    assert_int_equal(source.nodes, 6);
    assert_int_equal(source.graphs, 3);
    assert_int_equal(source.classes, 2);
    static const int32_t graph_of[] = {0, 0, 0, 1, 1, 2}, graph_label[] = {1, 0, 1};
    static const int32_t node_label[] = {1, 0, 1, 2, 0, 0}, fold[] = {1, -1, 0};
    static const pgcn_node from[] = {0, 1, 1, 2, 3, 4}, to[] = {1, 0, 2, 1, 4, 3};
    assert_memory_equal(source.graph_of, graph_of, sizeof graph_of);
    assert_memory_equal(source.graph_label, graph_label, sizeof graph_label);
    assert_memory_equal(source.node_label, node_label, sizeof node_label);
    assert_int_equal(source.edges, 6);
    assert_memory_equal(source.edge_from, from, sizeof from);
    assert_memory_equal(source.edge_to, to, sizeof to);
    assert_non_null(source.fold);
    assert_memory_equal(source.fold, fold, sizeof fold);
    assert_string_equal(source.class_name.text + source.class_name.offset[1], "2");
}

static void test_gin_small_set_is_read(void **state) {
    (void)state;
    write_small_set();
    assert_true(pgcn_i_gin_detect(scratch));
    read_set(scratch);
    assert_small_set();
    assert_int_equal(source.x.columns, 0);
    assert_true(pgcn_i_gin_detect(scratch_path("S.txt")));
    read_set(scratch_path("S.txt"));
    assert_small_set();
}

static void test_gin_attributes_behind_the_neighbours_are_read(void **state) {
    (void)state;
    write_text("S.txt", "1\n2 0\n5 1 1 0.5 -2\n5 1 0 1e1 3\n\n");
    assert_true(pgcn_i_gin_detect(scratch));
    read_set(scratch);
    static const float x[] = {0.5f, -2, 10, 3};
    assert_int_equal(source.x.columns, 2);
    assert_memory_equal(source.x.dense, x, sizeof x);
    assert_int_equal(source.edges, 2);
    assert_null(source.fold); /* there is no 10fold_idx */
}

static void test_gin_other_files_are_not_taken_for_it(void **state) {
    (void)state;
    write_text("S.txt", "1 2\n2 3\n"); /* an edge list */
    assert_false(pgcn_i_gin_detect(scratch));
    write_text("S.txt", "3\n1 2 5\n");
    assert_false(pgcn_i_gin_detect(scratch));
    write_text("S.txt", "3\n");
    assert_false(pgcn_i_gin_detect(scratch));
    write_text("S.txt", "3\n1 2\n0 0\n");
    assert_true(pgcn_i_gin_detect(scratch));
    assert_false(pgcn_i_gin_detect(scratch_path("S.txt"))); /* may be a list of edges */
    write_text("T.txt", "x\n");
    assert_false(pgcn_i_gin_detect(scratch)); /* which of the two? */
    assert_false(pgcn_i_gin_detect(scratch_path("none")));
    assert_int_equal(try_read(scratch), PGCN_ERR_FORMAT);
    assert_error_says("no data set of GIN");
}

static void test_gin_broken_files_are_refused_with_a_line(void **state) {
    (void)state;
    static const struct {
        const char *file, *text, *says;
    } cases[] = {
        {"S.txt", "", "expected the number"},
        {"S.txt", "0\n", "line 1: found '0', expected the number of graphs, 1 to"},
        {"S.txt", "x\n", "line 1: found 'x'"},
        {"S.txt", "1 1\n", "line 1: found '1', expected the end of the line"},
        {"S.txt", "99999999999\n", "line 1: found '99999999999'"},
        {"S.txt", "2147483647\n1 0\n0 0\n",
         "line 3: the file ends here, expected the first line of"},
        {"S.txt", "1\n0 0\n", "line 2: found"},
        {"S.txt", "1\n-1 0\n", "line 2: found"},
        {"S.txt", "1\n1\n0 0\n", "line 2: found '', expected the number of nodes"},
        {"S.txt", "1\n1 0 0\n0 0\n", "line 2: found '0', expected the end of the line"},
        {"S.txt", "1\n9223372036854775807 0\n0 0\n", "line 3: the file ends here, expected a node"},
        {"S.txt", "1\n2 0\n0 1 2\n0 0\n", "line 3: neighbour 1 of 1 is '2'"},
        {"S.txt", "1\n2 0\n0 1 -1\n0 0\n", "line 3: neighbour 1 of 1 is '-1'"},
        {"S.txt", "1\n2 0\n0 2 1\n0 0\n", "line 3: neighbour 2 of 2 is ''"},
        {"S.txt", "1\n2 0\n0 9223372036854775807 1\n0 0\n", "line 3: neighbour 2 of 9223372036"},
        {"S.txt", "1\n1 0\n0 -1\n", "line 3: found '-1', expected the number of neighbours"},
        {"S.txt", "1\n1 0\n0\n", "line 3: found '', expected the number of neighbours"},
        {"S.txt", "1\n1 0\nx 0\n", "line 3: found 'x 0', expected the tag"},
        {"S.txt", "1\n1 0\n\n", "line 3: found '', expected the tag"},
        {"S.txt", "1\n2 0\n0 0 1.5\n0 0\n", "line 4: found 0 numbers after the neighbours"},
        {"S.txt", "1\n1 0\n0 0 z\n", "line 3: found 'z'"},
        {"S.txt", "1\n1 0\n0 0\n1 0\n", "line 4: found '1 0' after the last of 1 graphs"},
        {"10fold_idx/test_idx-1.txt", "3\n", "line 1: found graph 3, expected 0 to 2"},
        {"10fold_idx/test_idx-1.txt", "-1\n", "line 1: found graph -1"},
        {"10fold_idx/test_idx-2.txt", "0\n2\n", "line 2: graph 2 is in test fold 1 already"},
        {"10fold_idx/test_idx-2.txt", "a\n", "line 1: found 'a'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_small_set();
        write_text(cases[i].file, cases[i].text);
        pgcn_status status = try_read(scratch);
        if (status != PGCN_ERR_FORMAT)
            fail_msg("case %zu (%s) gave %d: %s", i, cases[i].says, status, pgcn_last_error());
        assert_error_says(cases[i].says);
        assert_error_says(cases[i].file);
    }
}

static pgcn_status read_and_free(void) {
    pgcn_i_source own = {0};
    pgcn_i_steps steps = {0};
    pgcn_status status = pgcn_i_gin_read(scratch, &steps, &own);
    pgcn_i_source_free(&own);
    return status;
}

static void test_gin_every_failing_allocation_is_told(void **state) {
    (void)state;
    write_small_set();
    write_text("S.txt", "3\n1 0\n5 0 0.5\n1 0\n5 0 0.5\n1 0\n5 0 0.5\n");
    assert_true(fail_every_allocation(read_and_free) > 15);
}

static void assert_published(const char *name) {
    char path[PGCN_I_PATH_BYTES];
    snprintf(path, sizeof path, "%s/raw/%s", published_data(), name);
    assert_true(pgcn_i_gin_detect(path));
    read_set(path);
    assert_prepared_graphs(name, &source);
    assert_prepared_undirected(name, &source);
    pgcn_i_arena arena = {0};
    pgcn_i_array fold = prepared(name, "fold", &arena);
    assert_int_equal(fold.count, source.graphs);
    assert_memory_equal(source.fold, fold.data, (size_t)fold.count * 4);
    pgcn_i_arena_free(&arena);
}

static void test_gin_published_mutag_equals_the_prepared_arrays(void **state) {
    (void)state;
    assert_published("MUTAG-gin");
}
static void test_gin_published_ptc_equals_the_prepared_arrays(void **state) {
    (void)state;
    assert_published("PTC-gin");
}
static void test_gin_published_proteins_equals_the_prepared_arrays(void **state) {
    (void)state;
    assert_published("PROTEINS-gin");
}
static void test_gin_published_nci1_equals_the_prepared_arrays(void **state) {
    (void)state;
    assert_published("NCI1-gin");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_gin_small_set_is_read),
        TEST(test_gin_attributes_behind_the_neighbours_are_read),
        TEST(test_gin_other_files_are_not_taken_for_it),
        TEST(test_gin_broken_files_are_refused_with_a_line),
        TEST(test_gin_every_failing_allocation_is_told),
        TEST(test_gin_published_mutag_equals_the_prepared_arrays),
        TEST(test_gin_published_ptc_equals_the_prepared_arrays),
        TEST(test_gin_published_proteins_equals_the_prepared_arrays),
        TEST(test_gin_published_nci1_equals_the_prepared_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
