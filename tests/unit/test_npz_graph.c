/* npz_graph.c and save_npz.c: published .npz graphs are read, ours come back as they were, and
 * arrays that do not fit each other are refused with their names. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "bytes_help.h"
#include "every_kind_help.h"
#include "published_help.h"

/* ---- archives made here -------------------------------------------------------------------- */

enum { MOST = 16 };
static pgcn_i_tensor arrays[MOST];
static int array_count;

static void put(const char *name, pgcn_i_dtype dtype, int rank, int64_t rows, int64_t columns,
                const void *data) {
    int at = 0;
    while (at < array_count && strcmp(arrays[at].name, name) != 0) at++; /* replaces its like */
    if (at == array_count) array_count++;
    assert_true(array_count <= MOST);
    arrays[at] = (pgcn_i_tensor){name, {dtype, rank, {rows, columns}, 0, (void *)(uintptr_t)data}};
}

static void drop(const char *name) {
    for (int i = 0; i < array_count; i++)
        if (strcmp(arrays[i].name, name) == 0) arrays[i] = arrays[--array_count];
}

static const int32_t adj_indptr[] = {0, 2, 3, 4}, adj_indices[] = {1, 2, 0, 1};
static const float ones[] = {1, 1, 1, 1};
static const int64_t adj_shape[] = {3, 3}, attr_shape[] = {3, 4};
static const int64_t attr_indptr[] = {0, 2, 2, 3}, attr_indices[] = {3, 0, 1};
static const double attr_data[] = {0.5, 2, -1};
static const int64_t labels[] = {7, 5, 7};
static const uint8_t mask_rows[3][6] = {{1, 0, 0, 0, 0, 1}, {0, 1, 0, 1, 0, 0}, {0, 0, 1, 0, 1, 0}};

static void put_benchmark(void) {
    array_count = 0;
    put("adj_data", PGCN_I_F32, 1, 4, 0, ones);
    put("adj_indices", PGCN_I_I32, 1, 4, 0, adj_indices);
    put("adj_indptr", PGCN_I_I32, 1, 4, 0, adj_indptr);
    put("adj_shape", PGCN_I_I64, 1, 2, 0, adj_shape);
    put("attr_data", PGCN_I_F64, 1, 3, 0, attr_data);
    put("attr_indices", PGCN_I_I64, 1, 3, 0, attr_indices);
    put("attr_indptr", PGCN_I_I64, 1, 4, 0, attr_indptr);
    put("attr_shape", PGCN_I_I64, 1, 2, 0, attr_shape);
    put("labels", PGCN_I_I64, 1, 3, 0, labels);
}

static const int64_t pairs[] = {0, 1, 1, 2};
static const float features[] = {1, 0, 0, 1, 1, 1};

static void put_heterophilous(void) {
    array_count = 0;
    put("node_features", PGCN_I_F32, 2, 3, 2, features);
    put("node_labels", PGCN_I_I64, 1, 3, 0, labels);
    put("edges", PGCN_I_I64, 2, 2, 2, pairs);
    put("train_masks", PGCN_I_U8, 2, 2, 3, mask_rows[0]);
    put("val_masks", PGCN_I_U8, 2, 2, 3, mask_rows[1]);
    put("test_masks", PGCN_I_U8, 2, 2, 3, mask_rows[2]);
}

static const char *write_arrays(const char *file) {
    const char *path = scratch_path(file);
    assert_int_equal(pgcn_i_npz_write(path, arrays, array_count), PGCN_OK);
    return path;
}

static pgcn_status read_path(const char *path, pgcn_i_source *source) {
    *source = (pgcn_i_source){0};
    return pgcn_i_npz_graph_read(path, &(pgcn_i_steps){0}, source);
}

static pgcn_i_source must_read(const char *path) {
    pgcn_i_source source;
    if (read_path(path, &source) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    return source;
}

static void assert_refused(const char *says) {
    pgcn_i_source source;
    pgcn_status status = read_path(write_arrays("a.npz"), &source);
    if (status == PGCN_OK) fail_msg("read, but expected \"%s\"", says);
    assert_true(status == PGCN_ERR_FORMAT || status == PGCN_ERR_MISMATCH);
    assert_error_says(says);
    assert_error_says("a.npz");
    pgcn_i_source_free(&source);
}

/* ---- published files ----------------------------------------------------------------------- */

static void test_npz_graph_corrected_cornell_equals_the_prepared_arrays(void **state) {
    (void)state;
    char path[PGCN_I_PATH_BYTES];
    snprintf(path, sizeof path, "%s/raw/cornell_fixed", published_data());
    assert_true(pgcn_i_npz_graph_detect(path));
    pgcn_i_source source = must_read(path);
    assert_int_equal(source.x.columns, 1703);
    assert_int_equal(source.classes, 5);
    assert_false(source.directed);
    assert_prepared_features("cornell_fixed", &source);
    assert_prepared_labels("cornell_fixed", &source);
    assert_prepared_edges("cornell_fixed", "edges", &source);
    assert_int_equal(source.splits, 10);
    assert_prepared_splits("cornell_fixed", &source);
    pgcn_i_source_free(&source);
}

/* ---- layouts ------------------------------------------------------------------------------- */

static void assert_benchmark(const pgcn_i_source *source) {
    assert_int_equal(source->nodes, 3);
    assert_int_equal(source->edges, 4);
    assert_true(source->directed);
    assert_memory_equal(source->edge_from, ((pgcn_node[]){0, 0, 1, 2}), 16);
    assert_memory_equal(source->edge_to, ((pgcn_node[]){1, 2, 0, 1}), 16);
    assert_null(source->edge_weight);
    assert_int_equal(source->x.columns, 4);
    assert_memory_equal(source->x.offset, ((int64_t[]){0, 2, 2, 3}), 32);
    assert_memory_equal(source->x.column, ((int32_t[]){0, 3, 1}), 12); /* sorted */
    assert_memory_equal(source->x.value, ((float[]){2, 0.5f, -1}), 12);
    assert_int_equal(source->classes, 2);
    assert_memory_equal(source->label, ((int32_t[]){1, 0, 1}), 12);
    assert_string_equal(source->class_name.text + source->class_name.offset[1], "7");
}

static void test_npz_graph_benchmark_layout_is_read(void **state) {
    (void)state;
    put_benchmark();
    pgcn_i_source source = must_read(write_arrays("a.npz"));
    assert_benchmark(&source);
    pgcn_i_source_free(&source);
}

static void test_npz_graph_newer_names_of_matrices_are_read(void **state) {
    (void)state;
    static const struct {
        const char *old, *new;
    } names[] = {{"adj_data", "adj_matrix.data"},       {"adj_indices", "adj_matrix.indices"},
                 {"adj_indptr", "adj_matrix.indptr"},   {"adj_shape", "adj_matrix.shape"},
                 {"attr_data", "attr_matrix.data"},     {"attr_indices", "attr_matrix.indices"},
                 {"attr_indptr", "attr_matrix.indptr"}, {"attr_shape", "attr_matrix.shape"}};
    put_benchmark();
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < array_count; k++)
            if (strcmp(arrays[k].name, names[i].old) == 0) arrays[k].name = names[i].new;
    pgcn_i_source source = must_read(write_arrays("a.npz"));
    assert_benchmark(&source);
    pgcn_i_source_free(&source);
}

static void test_npz_graph_weights_and_dense_attributes_are_kept(void **state) {
    (void)state;
    static const float weight[] = {1, 0, 2, 1};
    put_benchmark();
    put("adj_data", PGCN_I_F32, 1, 4, 0, weight);
    put("attr_matrix", PGCN_I_F32, 2, 3, 2, features);
    drop("labels");
    pgcn_i_source source = must_read(write_arrays("a.npz"));
    assert_int_equal(source.edges, 3); /* an entry of zero is no edge */
    assert_memory_equal(source.edge_weight, ((float[]){1, 2, 1}), 12);
    assert_memory_equal(source.x.dense, features, sizeof features);
    assert_null(source.label);
    pgcn_i_source_free(&source);
}

static void test_npz_graph_heterophilous_layout_is_read(void **state) {
    (void)state;
    put_heterophilous();
    pgcn_i_source source = must_read(write_arrays("a.npz"));
    assert_false(source.directed);
    assert_int_equal(source.edges, 2);
    assert_int_equal(source.splits, 2);
    assert_memory_equal(source.split[1].train, ((uint8_t[]){0, 0, 1}), 3);
    pgcn_i_source_free(&source);
    source = must_read(write_arrays("a_directed.npz"));
    assert_true(source.directed);
    pgcn_i_source_free(&source);
}

static void test_npz_graph_unlabelled_nodes_leave_the_masks(void **state) {
    (void)state;
    static const int64_t some[] = {-1, 0, 1};
    put_heterophilous();
    put("node_labels", PGCN_I_I64, 1, 3, 0, some);
    pgcn_i_source source = must_read(write_arrays("a.npz"));
    assert_memory_equal(source.label, ((int32_t[]){-1, 0, 1}), 12);
    assert_memory_equal(source.split[0].train, ((uint8_t[]){0, 0, 0}), 3);
    pgcn_i_source_free(&source);
}

static void test_npz_graph_folder_with_one_archive_is_found(void **state) {
    (void)state;
    assert_false(pgcn_i_npz_graph_detect(scratch));
    put_benchmark();
    write_arrays("a.npz");
    assert_true(pgcn_i_npz_graph_detect(scratch));
    pgcn_i_source source = must_read(scratch);
    assert_benchmark(&source);
    pgcn_i_source_free(&source);
    write_arrays("b.npz");
    assert_false(pgcn_i_npz_graph_detect(scratch));
    assert_false(pgcn_i_npz_graph_detect(scratch_path("c.npz")));
    assert_false(pgcn_i_npz_graph_detect(scratch_write("c.txt", "", 0)));
}

/* ---- what does not fit --------------------------------------------------------------------- */

static void test_npz_graph_bad_matrices_are_refused(void **state) {
    (void)state;
    static const int64_t outside[] = {1, 3, 0, 1}, negative[] = {1, 2, 0, -1};
    static const int64_t falls[] = {0, 3, 2, 4}, late[] = {1, 2, 3, 4},
                         far[] = {0, 2, 3, 1ll << 40};
    static const int64_t wide[] = {3, 4}, huge[] = {1ll << 40, 1ll << 40}, none[] = {0, 0};
    put_benchmark();
    put("adj_indices", PGCN_I_I64, 1, 4, 0, outside);
    assert_refused("entry 1 is in column 3, expected 0..2");
    put("adj_indices", PGCN_I_I64, 1, 4, 0, negative);
    assert_refused("entry 3 is in column -1");
    put("adj_indices", PGCN_I_F32, 1, 4, 0, ones);
    assert_refused("adj_indices.npy': found an array float32 [4], expected whole numbers");
    put("adj_indices", PGCN_I_I64, 1, 3, 0, negative);
    assert_refused("adj_data.npy': found an array float32 [4], expected one of the shape [3]");
    put_benchmark();
    put("adj_indptr", PGCN_I_I64, 1, 4, 0, falls);
    assert_refused("adj_indptr.npy': the row offsets do not ascend");
    put("adj_indptr", PGCN_I_I64, 1, 4, 0, late);
    assert_refused("do not ascend");
    put("adj_indptr", PGCN_I_I64, 1, 4, 0, far);
    assert_refused("do not ascend");
    put("adj_indptr", PGCN_I_I64, 1, 3, 0, late);
    assert_refused("expected one of the shape [4]");
    put_benchmark();
    put("adj_shape", PGCN_I_I64, 1, 2, 0, wide);
    assert_refused("as many rows as columns");
    put("adj_shape", PGCN_I_I64, 1, 2, 0, huge);
    assert_refused("expected 1 to 2147483647 rows");
    put("adj_shape", PGCN_I_I64, 1, 2, 0, none);
    assert_refused("expected 1 to 2147483647 rows");
    put("adj_shape", PGCN_I_I64, 1, 1, 0, none);
    assert_refused("expected one of the shape [2]");
    drop("adj_shape");
    assert_refused("a.npz:adj_shape.npy");
    put_benchmark();
    put("labels", PGCN_I_I64, 1, 2, 0, labels);
    assert_refused("labels.npy': found an array int64 [2], expected one of the shape [3]");
    put("labels", PGCN_I_F32, 1, 3, 0, ones);
    assert_refused("whole numbers");
    put_benchmark();
    put("attr_indptr", PGCN_I_I64, 1, 3, 0, attr_indptr);
    put("attr_shape", PGCN_I_I64, 1, 2, 0, ((int64_t[]){2, 4}));
    put("attr_indices", PGCN_I_I64, 1, 2, 0, attr_indices);
    put("attr_data", PGCN_I_F64, 1, 2, 0, attr_data);
    assert_refused("features of 2 nodes, but a graph of 3");
    array_count = 0;
    put("something", PGCN_I_I64, 1, 2, 0, none);
    assert_refused("no graph that is known");
}

static void test_npz_graph_bad_lists_are_refused(void **state) {
    (void)state;
    static const int64_t outside[] = {0, 1, 1, 3};
    put_heterophilous();
    put("edges", PGCN_I_I64, 2, 2, 2, outside);
    assert_refused("edges.npy': record 1 is node 3, expected 0..2");
    put("edges", PGCN_I_I64, 2, 4, 1, outside);
    assert_refused("one of the shape [n, 2]");
    put("edges", PGCN_I_I64, 2, 0, 2, outside); /* no edges is fine */
    pgcn_i_source source = must_read(write_arrays("a.npz"));
    pgcn_i_source_free(&source);
    put("node_features", PGCN_I_F32, 2, 2, 3, features);
    assert_refused("one of the shape [3, f]");
    put("node_features", PGCN_I_F32, 2, 3, 0, features);
    assert_refused("one of the shape [3, f]");
    put_heterophilous();
    put("val_masks", PGCN_I_U8, 2, 3, 2, mask_rows[0]);
    assert_refused("val_masks.npy': found an array uint8 [3, 2], expected one of the shape [2, 3]");
    put("val_masks", PGCN_I_F32, 2, 2, 3, features);
    assert_refused("bool or uint8");
    drop("val_masks");
    assert_refused("a.npz:val_masks.npy");
    put_heterophilous();
    put("node_labels", PGCN_I_I64, 1, 0, 0, labels);
    assert_refused("it has 0 nodes");
}

/* ---- ours ---------------------------------------------------------------------------------- */

static void test_npz_graph_every_kind_comes_back(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        pgcn_dataset *data = every_kind(kind);
        const char *path = scratch_path("a.npz");
        if (pgcn_dataset_save_npz(data, path) != PGCN_OK) fail_msg("%s", pgcn_last_error());
        pgcn_dataset *back = load(path, NULL);
        assert_same_dataset(data, back);
        assert_int_equal(pgcn_dataset_save_npz(back, scratch_path("b.npz")), PGCN_OK);
        assert_same_bytes(scratch_path("a.npz"), scratch_path("b.npz"));
        pgcn_dataset_free(back);
        pgcn_dataset_free(data);
    }
}

static void test_npz_graph_hostile_file_of_ours_is_refused(void **state) {
    (void)state;
    static const int64_t one[] = {1}, two[] = {2}, three[] = {3}, many[] = {2000000000};
    static const uint32_t name[] = {'a', 'b'}, bad[] = {'a', 0xd800}, hole[] = {0, 'b'};
    static const int64_t ptr[] = {0, 2, 3}, far[] = {0, 2, 4}, falls[] = {0, 4, 3};
    array_count = 0;
    put("pathgcn", PGCN_I_I64, 0, 0, 0, one);
    put("name", PGCN_I_UCS4, 1, 2, 0, name);
    put("directed", PGCN_I_I64, 0, 0, 0, one);
    put("num_nodes", PGCN_I_I64, 0, 0, 0, three);
    put("num_classes", PGCN_I_I64, 0, 0, 0, two);
    put("edges", PGCN_I_I64, 2, 2, 2, pairs);
    put("x", PGCN_I_F32, 2, 3, 2, features);
    put("graph_ptr", PGCN_I_I64, 1, 3, 0, ptr);
    pgcn_i_source source = must_read(write_arrays("a.npz"));
    assert_string_equal(source.own_name, "ab");
    assert_true(source.graph->directed);
    assert_int_equal(source.graphs, 2);
    assert_memory_equal(source.graph_of, ((int32_t[]){0, 0, 1}), 12);
    pgcn_i_source_free(&source);

    put("pathgcn", PGCN_I_I64, 0, 0, 0, two);
    assert_refused("version 2, which does go with an array x_absent");
    put("pathgcn", PGCN_I_I64, 0, 0, 0, three);
    assert_refused("version 3");
    put("pathgcn", PGCN_I_I64, 0, 0, 0, one);
    put("directed", PGCN_I_I64, 0, 0, 0, two);
    assert_refused("found 2, expected 0 to 1");
    put("directed", PGCN_I_I64, 0, 0, 0, one);
    put("num_nodes", PGCN_I_I64, 0, 0, 0, many);
    assert_refused("one of the shape [2000000000, f]");
    drop("x");
    assert_refused("2000000000 nodes, but has features of 0");
    put("x", PGCN_I_F32, 2, 3, 2, features);
    put("num_nodes", PGCN_I_I64, 0, 0, 0, three);
    put("graph_ptr", PGCN_I_I64, 1, 3, 0, far);
    assert_refused("graph_ptr.npy': it does not ascend from 0 to 3");
    put("graph_ptr", PGCN_I_I64, 1, 3, 0, falls);
    assert_refused("does not ascend");
    put("graph_ptr", PGCN_I_I64, 1, 3, 0, ptr);
    put("name", PGCN_I_UCS4, 1, 2, 0, bad);
    assert_refused("U+D800");
    put("name", PGCN_I_UCS4, 1, 2, 0, hole);
    assert_refused("U+0");
    put("name", PGCN_I_I64, 0, 0, 0, two);
    assert_refused("name.npy': found an array int64 [], expected text");
    put("name", PGCN_I_UCS4, 1, 2, 0, name);
    put("y", PGCN_I_I64, 1, 3, 0, ptr);
    assert_refused("the type that pathgcn writes");
    drop("y");
    put("node_id", PGCN_I_UCS4, 1, 2, 0, name);
    assert_refused("a list of strings");
}

static void test_npz_graph_every_truncation_of_ours_is_refused(void **state) {
    (void)state;
    pgcn_dataset *data = every_kind(KIND_NAMED), *back;
    assert_int_equal(pgcn_dataset_save_npz(data, scratch_path("a.npz")), PGCN_OK);
    pgcn_dataset_free(data);
    file_bytes whole = bytes_of(scratch_path("a.npz"));
    for (size_t cut = 0; cut < whole.count; cut += 3) {
        const char *path = scratch_write("b.npz", whole.data, cut);
        assert_int_equal(pgcn_dataset_load(path, NULL, &back), PGCN_ERR_FORMAT);
    }
    free(whole.data);
}

static pgcn_status read_and_free(void) {
    pgcn_i_source source;
    pgcn_status status = read_path(scratch_path("a.npz"), &source);
    pgcn_i_source_free(&source);
    return status;
}

static pgcn_dataset *saved;
static pgcn_status save_saved(void) {
    return pgcn_dataset_save_npz(saved, scratch_path("a.npz"));
}

static void test_npz_graph_every_allocation_may_fail(void **state) {
    (void)state;
    put_benchmark();
    write_arrays("a.npz");
    assert_true(fail_every_allocation(read_and_free) > 15);
    put_heterophilous();
    write_arrays("a.npz");
    assert_true(fail_every_allocation(read_and_free) > 10);
    saved = every_kind(KIND_NAMED);
    assert_true(fail_every_allocation(save_saved) > 15);
    pgcn_dataset_free(saved);
    assert_true(fail_every_allocation(read_and_free) > 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npz_graph_corrected_cornell_equals_the_prepared_arrays),
        TEST(test_npz_graph_benchmark_layout_is_read),
        TEST(test_npz_graph_newer_names_of_matrices_are_read),
        TEST(test_npz_graph_weights_and_dense_attributes_are_kept),
        TEST(test_npz_graph_heterophilous_layout_is_read),
        TEST(test_npz_graph_unlabelled_nodes_leave_the_masks),
        TEST(test_npz_graph_folder_with_one_archive_is_found),
        TEST(test_npz_graph_bad_matrices_are_refused),
        TEST(test_npz_graph_bad_lists_are_refused),
        TEST(test_npz_graph_every_kind_comes_back),
        TEST(test_npz_graph_hostile_file_of_ours_is_refused),
        TEST(test_npz_graph_every_truncation_of_ours_is_refused),
        TEST(test_npz_graph_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
