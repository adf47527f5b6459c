/* geom.c: the published Geom-GCN folders equal the prepared arrays, and broken ones are refused
 * with file and line. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "published_help.h"

static const char vectors[] = "node_id\tfeature\tlabel\n"
                              "2\t0,0,0\t0\n"
                              "0\t1,0,0\t2\n"
                              "1\t0,0.5,0\t1\n";
static const char lists[] = "node_id\tfeature(feature_amount:3)\tlabel\n"
                            "1\t3,0,3\t1\n"
                            "0\t2\t0\n";
static const char edges[] = "node_id\tnode_id\n1\t0\n0\t1\n1\t0\n";

static void write_text(const char *file, const char *text) {
    scratch_write(file, text, strlen(text));
}

static void write_folder(const char *nodes, const char *arcs) {
    write_text("out1_node_feature_label.txt", nodes);
    write_text("out1_graph_edges.txt", arcs);
}

static void write_split(const char *file, int64_t n, const uint8_t *train, const uint8_t *val,
                        const uint8_t *test) {
    pgcn_i_tensor masks[] = {
        {"train_mask", {PGCN_I_U8, 1, {n}, n, (void *)(uintptr_t)train}},
        {"val_mask", {PGCN_I_U8, 1, {n}, n, (void *)(uintptr_t)val}},
        {"test_mask", {PGCN_I_U8, 1, {n}, n, (void *)(uintptr_t)test}},
    };
    assert_int_equal(pgcn_i_npz_write(scratch_path(file), masks, 3), PGCN_OK);
}

static pgcn_status read_folder(pgcn_i_source *source) {
    *source = (pgcn_i_source){0};
    return pgcn_i_geom_read(scratch, &(pgcn_i_steps){0}, source);
}

static pgcn_i_source must_read(const char *path) {
    pgcn_i_source source = {0};
    if (pgcn_i_geom_read(path, &(pgcn_i_steps){0}, &source) != PGCN_OK)
        fail_msg("%s", pgcn_last_error());
    return source;
}

/* ---- published files ----------------------------------------------------------------------- */

static void test_geom_published_folders_equal_the_prepared_arrays(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t columns;
    } sets[] = {{"chameleon", 2325},
                {"cornell", 1703},
                {"texas", 1703},
                {"wisconsin", 1703},
                {"film", 932}};
    for (int i = 0; i < 5; i++) {
        char path[PGCN_I_PATH_BYTES];
        snprintf(path, sizeof path, "%s/raw/%s", published_data(), sets[i].name);
        assert_true(pgcn_i_geom_detect(path));
        pgcn_i_source source = must_read(path);
        assert_int_equal(source.x.columns, sets[i].columns);
        assert_int_equal(source.classes, 5);
        assert_true(source.directed);
        assert_prepared_features(sets[i].name, &source);
        assert_prepared_labels(sets[i].name, &source);
        assert_prepared_edges(sets[i].name, "edges_directed", &source);
        assert_int_equal(source.splits, 10);
        assert_prepared_splits(sets[i].name, &source);
        assert_true(has_note(&source, "48/32/20 per cent"));
        assert_string_equal(source.split_origin, "10 Geom-GCN splits (48/32/20)");
        assert_int_equal(has_note(&source, "same file as that of Texas"),
                         strcmp(sets[i].name, "cornell") == 0);
        assert_int_equal(source.notes, strcmp(sets[i].name, "cornell") == 0 ? 2 : 1);
        pgcn_i_source_free(&source);
    }
}

static void test_geom_splits_of_citation_sets_are_read_beside_any_data(void **state) {
    (void)state;
    static const char *const sets[] = {"cora", "citeseer", "pubmed"};
    for (int i = 0; i < 3; i++) {
        char path[PGCN_I_PATH_BYTES];
        pgcn_i_source source = {0};
        pgcn_i_array label = prepared(sets[i], "y", &source.arena);
        source.nodes = label.count;
        source.label = label.data;
        snprintf(path, sizeof path, "%s/raw/%s", published_data(), sets[i]);
        assert_int_equal(pgcn_i_geom_splits(path, &source), PGCN_OK);
        assert_int_equal(source.splits, 10);
        assert_prepared_splits(sets[i], &source);
        assert_true(has_note(&source, "48/32/20 per cent"));
        pgcn_i_source_free(&source);
    }
}

/* ---- small folders ------------------------------------------------------------------------- */

static void test_geom_nodes_in_any_order_come_in_order_of_ids(void **state) {
    (void)state;
    pgcn_i_source source;
    write_folder(vectors, "node_id\tnode_id\n2\t0\n");
    assert_int_equal(read_folder(&source), PGCN_OK);
    assert_int_equal(source.nodes, 3);
    assert_int_equal(source.x.columns, 3); /* the last one is empty */
    assert_memory_equal(source.x.offset, ((int64_t[]){0, 1, 2, 2}), 32);
    assert_memory_equal(source.x.column, ((int32_t[]){0, 1}), 8);
    assert_memory_equal(source.x.value, ((float[]){1, 0.5f}), 8);
    assert_memory_equal(source.label, ((int32_t[]){2, 1, 0}), 12);
    assert_int_equal(source.edges, 1);
    assert_int_equal(source.edge_from[0], 2);
    assert_int_equal(source.splits, 0);
    assert_int_equal(source.notes, 0);
    pgcn_i_source_free(&source);
}

static void test_geom_lists_of_columns_are_sorted_and_ones(void **state) {
    (void)state;
    pgcn_i_source source;
    write_folder(lists, edges);
    assert_int_equal(read_folder(&source), PGCN_OK);
    assert_int_equal(source.x.columns, 4); /* one more than announced, as in film */
    assert_memory_equal(source.x.offset, ((int64_t[]){0, 1, 3}), 24);
    assert_memory_equal(source.x.column, ((int32_t[]){2, 0, 3}), 12);
    assert_memory_equal(source.x.value, ((float[]){1, 1, 1}), 12);
    assert_int_equal(source.edges, 3); /* as they stand in the file */
    pgcn_i_source_free(&source);
}

static void test_geom_split_of_another_size_is_named_and_told(void **state) {
    (void)state;
    pgcn_i_source source;
    write_folder(vectors, edges);
    assert_int_equal(mkdir(scratch_path("splits"), 0700), 0);
    write_split("splits/x_split_0.6_0.2_7.npz", 3, (uint8_t[]){1, 0, 0}, (uint8_t[]){0, 1, 0},
                (uint8_t[]){0, 0, 1});
    write_split("splits/x_split_0.6_0.2_10.npz", 3, (uint8_t[]){0, 1, 0}, (uint8_t[]){1, 0, 0},
                (uint8_t[]){0, 0, 1});
    write_text("splits/readme_split_1.txt", "not a split");
    assert_int_equal(read_folder(&source), PGCN_OK);
    assert_int_equal(source.splits, 2);
    assert_string_equal(source.split[0].name, "7");
    assert_string_equal(source.split[1].name, "10");
    assert_memory_equal(source.split[1].train, ((uint8_t[]){0, 1, 0}), 3);
    assert_true(has_note(&source, "33/33/33 per cent"));
    pgcn_i_source_free(&source);

    write_split("splits/y_split_0.6_0.2_7.npz", 3, (uint8_t[]){1, 0, 0}, (uint8_t[]){0, 1, 0},
                (uint8_t[]){0, 0, 1});
    assert_int_equal(read_folder(&source), PGCN_ERR_FORMAT);
    assert_error_says("both split 7");
    pgcn_i_source_free(&source);
    remove(scratch_path("splits/y_split_0.6_0.2_7.npz"));

    write_split("splits/x_split_0.6_0.2_11.npz", 2, (uint8_t[]){1, 0}, (uint8_t[]){0, 1},
                (uint8_t[]){0, 0});
    assert_int_equal(read_folder(&source), PGCN_ERR_MISMATCH);
    assert_error_says("_11.npz");
    assert_error_says("expected uint8 or bool [3]");
    pgcn_i_source_free(&source);
}

static void test_geom_unlabelled_nodes_leave_the_masks(void **state) {
    (void)state;
    pgcn_i_source source;
    write_folder("node_id\tfeature\tlabel\n0\t1\t0\n1\t1\t-1\n2\t1\t1\n3\t0\t0\n", edges);
    assert_int_equal(mkdir(scratch_path("splits"), 0700), 0);
    write_split("splits/x_split_0.6_0.2_0.npz", 4, (uint8_t[]){1, 1, 0, 0}, (uint8_t[]){0, 0, 1, 0},
                (uint8_t[]){0, 0, 0, 1});
    assert_int_equal(read_folder(&source), PGCN_OK);
    assert_memory_equal(source.label, ((int32_t[]){0, -1, 1, 0}), 16);
    assert_memory_equal(source.split[0].train, ((uint8_t[]){1, 0, 0, 0}), 4);
    pgcn_i_source_free(&source);
}

static void test_geom_bad_lines_are_refused_with_their_number(void **state) {
    (void)state;
    static const struct {
        const char *nodes, *arcs, *says;
    } cases[] = {
        {"", edges, "the header"},
        {"0\t1\t0\n", edges, "the header"},
        {"node_id\tfeature\tlabel\n", edges, "without a node"},
        {"node_id\tfeature\tlabel\nx\t1\t0\n", edges, "line 2"},
        {"node_id\tfeature\tlabel\n0 1\t0\n", edges, "a node id and a tab"},
        {"node_id\tfeature\tlabel\n0\t1,x\t0\n", edges, "feature 1 is 'x"},
        {"node_id\tfeature\tlabel\n0\t1,\t0\n", edges, "a finite number"},
        {"node_id\tfeature\tlabel\n0\tnan\t0\n", edges, "a finite number"},
        {"node_id\tfeature\tlabel\n0\t1e99\t0\n", edges, "a finite number"},
        {"node_id\tfeature\tlabel\n0\t1,0\t0\n1\t1\t0\n", edges, "line 3: it has 1 features"},
        {"node_id\tfeature\tlabel\n0\t1,0\n", edges, "a label"},
        {"node_id\tfeature\tlabel\n0\t1,0\t0.5\n", edges, "a label"},
        {"node_id\tfeature\tlabel\n0\t1,0\t0\t7\n", edges, "a label"},
        {"node_id\tfeature\tlabel\n0\t1\t0\n0\t1\t0\n", edges, "comes twice"},
        {"node_id\tfeature\tlabel\n0\t1\t0\n2\t1\t0\n", edges, "node id 2 is found"},
        {"node_id\tfeature\tlabel\n-1\t1\t0\n", edges, "node id -1"},
        {"node_id\tfeature\tlabel\n99999999999999999999\t1\t0\n", edges, "a node id"},
        {"node_id\tfeature(feature_amount:x)\tlabel\n0\t1\t0\n", edges, "a number of features"},
        {"node_id\tfeature(feature_amount:-4)\tlabel\n0\t1\t0\n", edges, "a number of features"},
        {"node_id\tfeature(feature_amount:4)\tlabel\n0\t5\t0\n", edges, "from 0 to 4"},
        {"node_id\tfeature(feature_amount:4)\tlabel\n0\t-1\t0\n", edges, "from 0 to 4"},
        {"node_id\tfeature(feature_amount:4)\tlabel\n0\t\t0\n", edges, "from 0 to 4"},
        {vectors, "node_id\tnode_id\n0\t3\n", "line 2: the edge (0, 3)"},
        {vectors, "node_id\tnode_id\n-1\t0\n", "outside 0..2"},
        {vectors, "node_id\tnode_id\n0\t1\n0\n", "line 3"},
        {vectors, "node_id\tnode_id\n0 1\n", "a tab between"},
        {vectors, "node_id\tnode_id\n0\t1\t2\n", "a tab between"},
        {vectors, "0\t1\nnode_id\tnode_id\n", "line 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pgcn_i_source source;
        write_folder(cases[i].nodes, cases[i].arcs);
        assert_int_equal(read_folder(&source), PGCN_ERR_FORMAT);
        assert_error_says(cases[i].says);
        assert_error_says("out1_");
        pgcn_i_source_free(&source);
    }
}

static void test_geom_every_truncation_is_read_or_refused(void **state) {
    (void)state;
    for (size_t cut = 0; cut <= sizeof lists - 1; cut++) {
        pgcn_i_source source;
        scratch_write("out1_node_feature_label.txt", lists, cut);
        write_text("out1_graph_edges.txt", "");
        pgcn_status status = read_folder(&source);
        assert_true(status == PGCN_OK || status == PGCN_ERR_FORMAT);
        pgcn_i_source_free(&source);
    }
}

static pgcn_status read_and_free(void) {
    pgcn_i_source source;
    pgcn_status status = read_folder(&source);
    pgcn_i_source_free(&source);
    return status;
}

static void test_geom_every_allocation_may_fail(void **state) {
    (void)state;
    write_folder(lists, edges);
    assert_int_equal(mkdir(scratch_path("splits"), 0700), 0);
    write_split("splits/x_split_0.6_0.2_0.npz", 2, (uint8_t[]){1, 0}, (uint8_t[]){0, 1},
                (uint8_t[]){0, 0});
    assert_true(fail_every_allocation(read_and_free) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_geom_published_folders_equal_the_prepared_arrays),
        cmocka_unit_test(test_geom_splits_of_citation_sets_are_read_beside_any_data),
        cmocka_unit_test_setup_teardown(test_geom_nodes_in_any_order_come_in_order_of_ids,
                                        scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_geom_lists_of_columns_are_sorted_and_ones,
                                        scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_geom_split_of_another_size_is_named_and_told,
                                        scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_geom_unlabelled_nodes_leave_the_masks, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_geom_bad_lines_are_refused_with_their_number,
                                        scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_geom_every_truncation_is_read_or_refused, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_geom_every_allocation_may_fail, scratch_make,
                                        scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
