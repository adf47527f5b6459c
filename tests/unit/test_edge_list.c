/* edge_list.c: a text file of edges is known by its ending and its cells, and is a graph by itself. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "dataset_help.h"
#include "gzip_help.h"

static bool detects(const char *file, const char *content) {
    return pgcn_i_edge_list_detect(scratch_write(file, content, strlen(content)));
}

static void test_edge_list_is_known_by_ending_and_cells(void **state) {
    (void)state;
    static const char *good[] = {"a.edges", "a.edgelist", "a.el", "a.txt",
                                 "a.csv",   "a.tsv",      "a.CSV"};
    for (int i = 0; i < 7; i++) {
        assert_true(detects(good[i], "0 1\n1 2\n"));
        assert_true(detects(good[i], "# x\n0,1,0.5\n"));
        assert_false(detects(good[i], ""));
        assert_false(detects(good[i], "0\n1\n"));
        assert_false(detects(good[i], "0,1,2,3\n"));
    }
    assert_true(pgcn_i_edge_list_detect(scratch_gzip("a.txt.gz", "0 1\n", 4)));
    assert_false(detects("a.json", "0 1\n"));
    assert_false(detects("csv", "0 1\n"));
    assert_false(detects(".gz", "0 1\n"));
    assert_false(pgcn_i_edge_list_detect(scratch_path("absent.csv")));
    assert_int_equal(mkdir(scratch_path("d.csv"), 0777), 0);
    assert_false(pgcn_i_edge_list_detect(scratch_path("d.csv")));
}

static void test_edge_list_loads_as_a_graph_without_labels(void **state) {
    (void)state;
    const char content[] = "# FromNodeId ToNodeId\n10 30\n30 20\n10 30\n";
    pgcn_dataset *data = load(scratch_write("web.txt", content, strlen(content)), NULL);
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_int_equal(info.nodes, 3);
    assert_int_equal(info.edges, 2);
    assert_int_equal(info.classes, 0);
    assert_string_equal(pgcn_dataset_node_id(data, 1), "20");
    pgcn_dataset_free(data);
}

static char list_path[1024];

static pgcn_status read_list(void) {
    pgcn_i_source source = {0};
    pgcn_i_steps steps = {0};
    pgcn_status status = pgcn_i_edge_list_read(list_path, &steps, &source);
    pgcn_i_source_free(&source);
    return status;
}

static void test_edge_list_every_failing_allocation_is_reported(void **state) {
    (void)state;
    strcpy(list_path, scratch_write("web.txt", "b a\na c\n", 8));
    assert_true(fail_every_allocation(read_list) > 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_edge_list_is_known_by_ending_and_cells),
        TEST(test_edge_list_loads_as_a_graph_without_labels),
        TEST(test_edge_list_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
