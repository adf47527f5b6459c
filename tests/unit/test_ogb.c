/* ogb.c: folders in the layout of OGB node properties are read whole, and files that do not fit together are
 * refused. The published files are not at hand: these are made in exactly their format. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "dataset_help.h"
#include "gzip_help.h"

#include <math.h>

static pgcn_i_source source;

/* A file of the folder, compressed if its name says so. */
static void put(const char *file, const char *content) {
    size_t length = strlen(file);
    if (length > 3 && strcmp(file + length - 3, ".gz") == 0)
        scratch_gzip(file, content, strlen(content));
    else
        scratch_write(file, content, strlen(content));
}

static void make_folders(const char *split) {
    char path[128];
    assert_int_equal(mkdir(scratch_path("raw"), 0777), 0);
    assert_int_equal(mkdir(scratch_path("split"), 0777), 0);
    sprintf(path, "split/%s", split);
    assert_int_equal(mkdir(scratch_path(path), 0777), 0);
}

/* Four nodes, as ogbn-arxiv is stored. */
static int make_arxiv(void **state) {
    if (scratch_make(state) != 0) return -1;
    make_folders("time");
    put("raw/edge.csv.gz", "0,1\n1,2\n3,0\n");
    put("raw/node-feat.csv.gz", "0.057943,-0.052530\n-0.124500,-0.070665\n0.5,1.0\n-1,0\n");
    put("raw/node-label.csv.gz", "1\n0\n2\n0\n");
    put("raw/num-node-list.csv.gz", "4\n");
    put("raw/num-edge-list.csv.gz", "3\n");
    put("raw/node_year.csv.gz", "2013\n2015\n2014\n2014\n");
    put("split/time/train.csv.gz", "0\n1\n");
    put("split/time/valid.csv.gz", "3\n");
    put("split/time/test.csv.gz", "2\n");
    return 0;
}

static int end(void **state) {
    pgcn_i_source_free(&source);
    return scratch_remove(state);
}

static pgcn_status read_folder(void) {
    pgcn_i_steps steps = {0};
    pgcn_i_source_free(&source);
    return pgcn_i_ogb_read(scratch, &steps, &source);
}

static void must_read(void) {
    assert_true(pgcn_i_ogb_detect(scratch));
    if (read_folder() != PGCN_OK) fail_msg("%s", pgcn_last_error());
}

static void test_ogb_folder_is_read_whole(void **state) {
    (void)state;
    must_read();
    assert_int_equal(source.nodes, 4);
    assert_int_equal(source.edges, 3);
    const pgcn_node from[] = {0, 1, 3}, to[] = {1, 2, 0};
    assert_memory_equal(source.edge_from, from, sizeof from);
    assert_memory_equal(source.edge_to, to, sizeof to);
    assert_true(source.directed);
    const float x[] = {0.057943f, -0.052530f, -0.124500f, -0.070665f, 0.5f, 1, -1, 0};
    assert_int_equal(source.x.columns, 2);
    assert_memory_equal(source.x.dense, x, sizeof x);
    const int32_t label[] = {1, 0, 2, 0};
    assert_memory_equal(source.label, label, sizeof label);
    assert_int_equal(source.splits, 1);
    assert_string_equal(source.split[0].name, "public");
    assert_string_equal(source.split_origin, "the split 'time' of OGB");
    const uint8_t train[] = {1, 1, 0, 0}, val[] = {0, 0, 0, 1}, test[] = {0, 0, 1, 0};
    assert_memory_equal(source.split[0].train, train, 4);
    assert_memory_equal(source.split[0].val, val, 4);
    assert_memory_equal(source.split[0].test, test, 4);
}

static void test_ogb_folder_loads_by_its_path(void **state) {
    (void)state;
    pgcn_dataset *data = load(scratch, NULL);
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_int_equal(info.nodes, 4);
    assert_int_equal(info.edges, 3);
    assert_int_equal(info.classes, 3);
    assert_false(info.directed);
    pgcn_dataset_free(data);
    char directed[128];
    sprintf(directed, "%s:directed", scratch);
    data = load(directed, NULL);
    assert_true(pgcn_dataset_describe(data).directed);
    pgcn_dataset_free(data);
}

static void test_ogb_files_may_lack_compression_counts_features_and_splits(void **state) {
    (void)state;
    remove(scratch_path("raw/edge.csv.gz"));
    put("raw/edge.csv", "0,1\r\n1,2\r\n3,0\r\n");
    remove(scratch_path("raw/num-node-list.csv.gz"));
    remove(scratch_path("raw/num-edge-list.csv.gz"));
    remove(scratch_path("raw/node-feat.csv.gz"));
    remove_tree(scratch_path("split"));
    must_read();
    assert_int_equal(source.edges, 3);
    assert_int_equal(source.x.columns, 0);
    assert_int_equal(source.splits, 0);
    remove(scratch_path("raw/node-label.csv.gz"));
    assert_false(pgcn_i_ogb_detect(scratch));
}

static void test_ogb_labels_that_are_not_known_stay_so(void **state) {
    (void)state;
    static const char *written[] = {"1.0\nnan\n2.0\n\n", "1\n\"\"\n2\nnan\n", "1\nNaN\n2\n\"\""};
    const int32_t label[] = {1, -1, 2, -1};
    for (int i = 0; i < 3; i++) {
        put("raw/node-label.csv.gz", written[i]);
        must_read();
        assert_memory_equal(source.label, label, sizeof label);
        assert_int_equal(source.split[0].train[1], 0); /* nothing to learn there */
        assert_int_equal(source.split[0].train[0], 1);
    }
}

static void test_ogb_several_label_columns_are_yes_or_no(void **state) {
    (void)state;
    put("raw/node-label.csv.gz", "0,1,1\n0,0,0\nnan,nan,nan\n1,0,1\n");
    must_read();
    const uint8_t labels[] = {0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1}, known[] = {1, 1, 0, 1};
    assert_int_equal(source.classes, 3);
    assert_null(source.label);
    assert_memory_equal(source.labels, labels, sizeof labels);
    assert_memory_equal(source.label_known, known, sizeof known);
}

static void test_ogb_several_splits_are_numbered_by_name(void **state) {
    (void)state;
    static const char *names[] = {"random", "f", "e",
                                  "d",      "c", "b"}; /* then time, which is there */
    char path[64], train[8];
    for (int i = 0; i < 6; i++) {
        sprintf(path, "split/%s", names[i]);
        assert_int_equal(mkdir(scratch_path(path), 0777), 0);
        sprintf(path, "split/%s/train.csv", names[i]);
        sprintf(train, "%d\n", i % 4);
        put(path, train);
        sprintf(path, "split/%s/valid.csv", names[i]);
        put(path, "");
        sprintf(path, "split/%s/test.csv", names[i]);
        put(path, "");
    }
    put("split/notes.txt", "no split\n");
    must_read();
    assert_int_equal(source.splits, 7);
    for (int i = 0; i < 6; i++) {
        char number[2] = {(char)('5' - i), 0};
        assert_string_equal(source.split[5 - i].name, number);
        assert_int_equal(source.split[5 - i].train[i % 4], 1);
        assert_int_equal(sum(source.split[5 - i].train, 4), 1);
    }
    assert_int_equal(sum(source.split[6].train, 4), 2);
    assert_string_equal(source.split_origin, "7 splits of OGB, 'b' to 'time'");
}

static void test_ogb_files_that_do_not_fit_together_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *file, *bad, *good, *says;
    } cases[] = {
        {"raw/edge.csv.gz", "0,1\n1,4\n3,0\n", "0,1\n1,2\n3,0\n",
         "edge 2 has the node 4, expected 0 to 3"},
        {"raw/edge.csv.gz", "0,1\n-1,2\n3,0\n", "0,1\n1,2\n3,0\n", "the node -1"},
        {"raw/edge.csv.gz", "0,1\n99999999999,2\n3,0\n", "0,1\n1,2\n3,0\n",
         "found '99999999999', expected a whole number below 2^31"},
        {"raw/edge.csv.gz", "0,1\n1,2\n", "0,1\n1,2\n3,0\n",
         "2 rows, expected 3 as raw/num-edge-list"},
        {"raw/edge.csv.gz", "0,1\n1\n3,0\n", "0,1\n1,2\n3,0\n", "line 2: found 1 cells"},
        {"raw/edge.csv.gz", "0,1\n1,x\n3,0\n", "0,1\n1,2\n3,0\n", "line 2: column 2: found 'x'"},
        {"raw/num-node-list.csv.gz", "5\n", "4\n", "4 rows, expected 5 as raw/num-node-list"},
        {"raw/num-node-list.csv.gz", "2\n2\n", "4\n", "found 2 lines"},
        {"raw/num-node-list.csv.gz", "-1\n", "4\n", "negative"},
        {"raw/num-node-list.csv.gz", "", "4\n", "found 0 lines"},
        {"raw/node-label.csv.gz", "1\n0.5\n2\n0\n", "1\n0\n2\n0\n",
         "node 1 (counted from 0), column 1: found 0.5"},
        {"raw/node-label.csv.gz", "1\n-1\n2\n0\n", "1\n0\n2\n0\n", "found -1"},
        {"raw/node-label.csv.gz", "1\n1e30\n2\n0\n", "1\n0\n2\n0\n", "found 1e+30"},
        {"raw/node-label.csv.gz", "1,0\n0,2\n1,1\n0,0\n", "1\n0\n2\n0\n",
         "found 2, expected 0 or 1"},
        {"raw/node-label.csv.gz", "1,0\n0,nan\n1,1\n0,0\n", "1\n0\n2\n0\n", "known, or none"},
        {"raw/node-label.csv.gz", "", "1\n0\n2\n0\n", "0 columns"},
        {"raw/node-feat.csv.gz", "1,2\n3,4\n5,6\n", "1,2\n3,4\n5,6\n7,8\n", "3 rows, expected 4"},
        {"raw/node-feat.csv.gz", "1,2\n3,nan\n5,6\n7,8\n", "1,2\n3,4\n5,6\n7,8\n",
         "line 2: column 2: found 'nan'"},
        {"split/time/valid.csv.gz", "4\n", "3\n", "row 1 is the node 4"},
        {"split/time/valid.csv.gz", "x\n", "3\n", "found 'x'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put(cases[i].file, cases[i].bad);
        pgcn_status status = read_folder();
        if (status != PGCN_ERR_FORMAT && status != PGCN_ERR_MISMATCH) fail_msg("case %zu", i);
        assert_error_says(cases[i].says);
        put(cases[i].file, cases[i].good);
        must_read();
    }
    remove(scratch_path("split/time/test.csv.gz"));
    assert_int_equal(read_folder(), PGCN_ERR_IO);
    assert_error_says("has no test.csv.gz");
}

static pgcn_status read_and_free(void) {
    pgcn_status status = read_folder();
    pgcn_i_source_free(&source);
    return status;
}

static void test_ogb_every_failing_allocation_is_reported(void **state) {
    (void)state;
    assert_true(fail_every_allocation(read_and_free) > 50);
    put("raw/node-label.csv.gz", "0,1,1\n0,0,0\nnan,nan,nan\n1,0,1\n");
    assert_true(fail_every_allocation(read_and_free) > 50);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_arxiv, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_ogb_folder_is_read_whole),
        TEST(test_ogb_folder_loads_by_its_path),
        TEST(test_ogb_files_may_lack_compression_counts_features_and_splits),
        TEST(test_ogb_labels_that_are_not_known_stay_so),
        TEST(test_ogb_several_label_columns_are_yes_or_no),
        TEST(test_ogb_several_splits_are_numbered_by_name),
        TEST(test_ogb_files_that_do_not_fit_together_are_refused),
        TEST(test_ogb_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
