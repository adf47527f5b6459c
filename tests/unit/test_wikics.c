/* Tests of src/data/wikics.c on small files in exactly the format of Wiki-CS. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json_graph_help.h"

/* Four nodes, three features, two splits; as Python's json.dump writes it. */
/* clang-format off */
#define FEATURES "\"features\": [[0.25, -1.5, 1e-3], [0.0, 2, 3.0], [1, 1.0, 1.0], [0.1, 0.2, 0.3]]"
#define LABELS   "\"labels\": [1, 0, 1, 0]"
#define LINKS    "\"links\": [[1, 2], [0], [], [3, 0]]"
#define TRAIN    "\"train_masks\": [[true, false, false, false], [false, true, false, false]]"
#define STOPPING "\"stopping_masks\": [[false, false, false, false], [false, false, false, false]]"
#define VAL      "\"val_masks\": [[false, true, false, false], [true, false, false, false]]"
#define TEST_    "\"test_mask\": [false, false, true, true]"
#define JOIN(a, b, c, d, e, f, g) "{" a ", " b ", " c ", " d ", " e ", " f ", " g "}"
/* clang-format on */
static const char good[] = JOIN(FEATURES, LABELS, LINKS, TRAIN, STOPPING, VAL, TEST_);

static void assert_is_good(void) {
    static const float x[] = {0.25f, -1.5f, 1e-3f, 0, 2, 3, 1, 1, 1, 0.1f, 0.2f, 0.3f};
    static const pgcn_node from[] = {0, 0, 1, 3, 3}, to[] = {1, 2, 0, 3, 0};
    static const int32_t label[] = {1, 0, 1, 0};
    assert_int_equal(source.nodes, 4);
    assert_int_equal(source.x.columns, 3);
    assert_memory_equal(source.x.dense, x, sizeof x);
    assert_memory_equal(source.label, label, sizeof label);
    assert_int_equal(source.classes, 2);
    assert_true(source.directed);
    assert_int_equal(source.edges, 5);
    assert_memory_equal(source.edge_from, from, sizeof from);
    assert_memory_equal(source.edge_to, to, sizeof to);
    assert_int_equal(source.splits, 2);
    assert_string_equal(source.split[0].name, "0");
    assert_string_equal(source.split[1].name, "1");
    assert_mask(source.split[0].train, "1000");
    assert_mask(source.split[1].train, "0100");
    assert_mask(source.split[0].val, "0100");
    assert_mask(source.split[1].val, "1000");
    assert_mask(source.split[0].test, "0011");
    assert_mask(source.split[1].test, "0011");
}

static void test_wikics_file_and_folder_are_read(void **state) {
    (void)state;
    write_text("data.json", good);
    assert_true(pgcn_i_wikics_detect(scratch_path("data.json")));
    assert_true(pgcn_i_wikics_detect(scratch));
    read_source(pgcn_i_wikics_read, scratch_path("data.json"));
    assert_is_good();
    assert_int_equal(source.notes, 1);
    assert_non_null(strstr(source.note[0], "stopping_masks are not used"));
    read_source(pgcn_i_wikics_read, scratch);
    assert_is_good();
}

static void test_wikics_keys_in_any_order_and_unknown_ones_are_read(void **state) {
    (void)state;
    write_text("data.json",
               JOIN(TEST_, VAL, "\"more\": {\"a\": [1, {}]}", TRAIN, LINKS, LABELS, FEATURES));
    read_source(pgcn_i_wikics_read, scratch);
    assert_is_good();
    assert_int_equal(source.notes, 0);
    write_text("data.json", JOIN(TEST_, "\"val_masks\": [[0, 1, 0, 0], [1, 0, 0, 0]]", STOPPING,
                                 TRAIN, LINKS, LABELS, FEATURES));
    read_source(pgcn_i_wikics_read, scratch);
    assert_is_good();
}

static void test_wikics_other_json_is_not_claimed(void **state) {
    (void)state;
    assert_false(pgcn_i_wikics_detect(scratch));
    static const char *const other[] = {
        "", "{", "[\"features\"]", "{\"nodes\": []}", "{\"featuresque\": 1}", "{\"labels2\": 1}"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        write_text("data.json", other[i]);
        assert_false(pgcn_i_wikics_detect(scratch));
    }
    write_text("data.json", "\n{ \"labels\" : [");
    assert_true(pgcn_i_wikics_detect(scratch));
}

static void test_wikics_loads_as_a_dataset(void **state) {
    (void)state;
    write_text("data.json", good);
    pgcn_dataset *data = load(scratch, NULL);
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_int_equal(info.nodes, 4);
    assert_int_equal(info.edges, 3); /* 0-1, 0-2, 0-3; the loop of 3 is dropped */
    assert_int_equal(info.splits, 2);
    pgcn_dataset_free(data);
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.directed = true;
    data = load(scratch, &opts);
    assert_int_equal(pgcn_dataset_describe(data).edges, 4);
    pgcn_dataset_free(data);
}

static void test_wikics_bad_files_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {JOIN(FEATURES, LABELS, LINKS, TRAIN, STOPPING, VAL, "\"x\": 1"), "'test_mask' is missing"},
        {JOIN(FEATURES, LABELS, LINKS, TRAIN, TRAIN, VAL, TEST_), "'train_masks' occurs twice"},
        {JOIN("\"features\": [[1], [1, 2], [1], [1]]", LABELS, LINKS, TRAIN, STOPPING, VAL, TEST_),
         "row 1 of 'features' has 2 values, expected 1"},
        {JOIN("\"features\": [[1], [1], [1]]", LABELS, LINKS, TRAIN, STOPPING, VAL, TEST_),
         "'features' has 3 rows, expected 4"},
        {JOIN("\"features\": [[NaN], [1], [1], [1]]", LABELS, LINKS, TRAIN, STOPPING, VAL, TEST_),
         "line 1, byte 15: found NaN"},
        {JOIN("\"features\": [[1e99], [1], [1], [1]]", LABELS, LINKS, TRAIN, STOPPING, VAL, TEST_),
         "1e99"},
        {JOIN("\"features\": 3", LABELS, LINKS, TRAIN, STOPPING, VAL, TEST_),
         "found a number where an array"},
        {JOIN(FEATURES, "\"labels\": [1, 0.5, 1, 0]", LINKS, TRAIN, STOPPING, VAL, TEST_),
         "found 0.5 where a whole number"},
        {JOIN(FEATURES, LABELS, "\"links\": [[1], [-1], [], []]", TRAIN, STOPPING, VAL, TEST_),
         "node 1 links to -1"},
        {JOIN(FEATURES, LABELS, "\"links\": [[1], [4294967296], [], []]", TRAIN, STOPPING, VAL,
              TEST_),
         "node 1 links to 4294967296"},
        {JOIN(FEATURES, LABELS, "\"links\": [[1], [0]]", TRAIN, STOPPING, VAL, TEST_),
         "'links' has 2 rows, expected 4"},
        {JOIN(FEATURES, LABELS, LINKS, TRAIN, STOPPING, "\"val_masks\": [[true]]", TEST_),
         "'val_masks' has 1 rows, expected 2"},
        {JOIN(FEATURES, LABELS, LINKS, "\"train_masks\": [[true], [true]]", STOPPING, VAL, TEST_),
         "a mask in 'train_masks' has 1 values, expected 4"},
        {JOIN(FEATURES, LABELS, LINKS, TRAIN, STOPPING, VAL, "\"test_mask\": [0, 0, 2, 1]"),
         "true, false, 1 or 0"},
        {JOIN(FEATURES, LABELS, LINKS, TRAIN, STOPPING, VAL, "\"test_mask\": [0, 0, 1]"),
         "'test_mask' has 3 rows, expected 4"},
        {"{\"links\": []} {}", "the end of the file is expected"},
        {"{\"links\": [[[0]]]}", "a number is expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text("data.json", cases[i].text);
        assert_refused(pgcn_i_wikics_read, scratch, PGCN_ERR_FORMAT, cases[i].says);
        assert_error_says("data.json");
    }
    assert_refused(pgcn_i_wikics_read, scratch_path("none.json"), PGCN_ERR_IO, "No such file");
}

static void test_wikics_link_beyond_the_nodes_is_refused(void **state) {
    (void)state;
    write_text("data.json", JOIN(FEATURES, LABELS, "\"links\": [[1], [7], [], []]", TRAIN, STOPPING,
                                 VAL, TEST_));
    assert_load_fails(scratch, NULL, PGCN_ERR_FORMAT, "7");
}

static void test_wikics_every_truncation_is_refused(void **state) {
    (void)state;
    pgcn_i_steps steps = {0};
    for (size_t cut = 0; cut < sizeof good - 1; cut++) {
        scratch_write("data.json", good, cut);
        pgcn_i_source_free(&source);
        assert_int_equal(pgcn_i_wikics_read(scratch, &steps, &source), PGCN_ERR_FORMAT);
    }
}

static pgcn_status load_scratch(void) {
    return load_and_free(scratch);
}

static void test_wikics_every_allocation_may_fail(void **state) {
    (void)state;
    write_text("data.json", good);
    assert_true(fail_every_allocation(load_scratch) > 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_source, end_source)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_wikics_file_and_folder_are_read),
        TEST(test_wikics_keys_in_any_order_and_unknown_ones_are_read),
        TEST(test_wikics_other_json_is_not_claimed),
        TEST(test_wikics_loads_as_a_dataset),
        TEST(test_wikics_bad_files_are_refused),
        TEST(test_wikics_link_beyond_the_nodes_is_refused),
        TEST(test_wikics_every_truncation_is_refused),
        TEST(test_wikics_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
