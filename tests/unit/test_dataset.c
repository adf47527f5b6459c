/* dataset.c and folder.c: arrays and folders become the data set they describe, and whatever does
 * not fit together is refused before it can train. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "dataset_help.h"

#include <math.h>

/* ---- from arrays ------------------------------------------------------------------------- */

enum { N = 6, F = 3 };

/* A small valid data set whose every array may be spoilt. */
typedef struct example {
    pgcn_node source[6], target[6];
    float weight[6];
    float dense[N * F];
    int64_t offset[N + 1];
    int32_t column[7];
    float value[7];
    int32_t label[N];
    uint8_t train[2 * N], val[2 * N], test[2 * N];
    pgcn_graph *graph;
    pgcn_dataset_arrays arrays;
} example;

static void example_graph(example *my, const float *weight, bool directed) {
    pgcn_graph_opts opts = pgcn_graph_opts_default();
    opts.directed = directed;
    opts.keep_self_loops = true;
    pgcn_graph_free(my->graph);
    assert_int_equal(pgcn_graph_from_edges(N, 6, my->source, my->target, weight, &opts, &my->graph),
                     PGCN_OK);
    my->arrays.graph = my->graph;
}

static void example_make(example *my, bool sparse) {
    *my = (example){
        .source = {0, 0, 1, 3, 2, 2}, /* node 5 has no edge, node 2 a self-loop */
        .target = {1, 2, 2, 4, 2, 3},
        .weight = {1, 2, 3, 4, 5, 6},
        .dense = {1, 0, 0, 0, 2, 0, 0, 0, 3, 1, 1, 1, 0, 0, 0, -1, 0, 0},
        .offset = {0, 1, 2, 3, 6, 6, 7},
        .column = {0, 1, 2, 0, 1, 2, 0},
        .value = {1, 2, 3, 1, 1, 1, -1},
        .label = {0, 0, 1, 1, 0, -1},
        .train = {1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0},
        .val = {0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0},
        .test = {0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0},
    };
    my->arrays = pgcn_dataset_arrays_default();
    my->arrays.name = "mine";
    my->arrays.n_features = F;
    my->arrays.label = my->label;
    my->arrays.n_splits = 2;
    my->arrays.train = my->train;
    my->arrays.val = my->val;
    my->arrays.test = my->test;
    if (sparse) {
        my->arrays.x_offset = my->offset;
        my->arrays.x_column = my->column;
        my->arrays.x_value = my->value;
    } else {
        my->arrays.features = my->dense;
    }
    example_graph(my, NULL, false);
}

static pgcn_dataset *example_load(example *my) {
    pgcn_dataset *data = NULL;
    if (pgcn_dataset_from_arrays(&my->arrays, &data) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    return data;
}

static void test_arrays_are_copied_and_described(void **state) {
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        example my;
        example_make(&my, sparse);
        example_graph(&my, my.weight, false);
        pgcn_dataset *data = example_load(&my);
        int64_t offset[N + 1];
        memcpy(offset, my.graph->offset, sizeof offset);
        assert_memory_equal(data->graph->weight, my.graph->weight,
                            (size_t)my.graph->entries * sizeof(float));
        pgcn_graph_free(my.graph);
        memset(&my, 0xff, sizeof my); /* nothing may still point here */
        assert_memory_equal(data->graph->offset, offset, sizeof offset);
        pgcn_dataset_info info = pgcn_dataset_describe(data);
        assert_string_equal(info.name, "mine");
        assert_int_equal(info.nodes, N);
        assert_int_equal(info.edges, 6);
        assert_int_equal(info.self_loops, 1);
        assert_int_equal(info.isolated, 1);
        assert_int_equal(info.max_degree, 4); /* node 2: 0, 1, 2, 3 */
        assert_int_equal(info.features, F);
        assert_int_equal(info.feature_nonzeros, 7);
        assert_int_equal(info.sparse_features, sparse);
        assert_true(info.weighted);
        assert_false(info.directed);
        assert_int_equal(info.classes, 2);
        assert_int_equal(info.unlabelled, 1);
        assert_int_equal(info.splits, 2);
        /* 0-1 equal, 0-2, 1-2, 3-4 not, 2-3 equal */
        assert_true(fabs(info.edge_homophily - 0.4) < 1e-12);
        const uint8_t *train, *val, *test;
        assert_string_equal(pgcn_dataset_split(data, 1, &train, &val, &test), "1");
        assert_true(train[3] && train[4] && val[0] && test[2]);
        pgcn_dataset_free(data);
    }
    pgcn_dataset_free(NULL);
}

static void test_arrays_directed_graph_counts_arcs(void **state) {
    (void)state;
    example my;
    example_make(&my, true);
    my.target[3] = 5; /* node 5 has an arc in, node 4 none at all */
    example_graph(&my, NULL, true);
    pgcn_dataset *data = example_load(&my);
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_true(info.directed);
    assert_int_equal(info.edges, 6);
    assert_int_equal(info.max_degree, 2);
    assert_int_equal(info.isolated, 1);
    pgcn_dataset_free(data);
    pgcn_graph_free(my.graph);
}

static void test_fingerprint_sees_data_but_not_name_or_splits(void **state) {
    (void)state;
    example my;
    char before[65];
    example_make(&my, true);
    pgcn_dataset *data = example_load(&my);
    strcpy(before, data->fingerprint);
    pgcn_dataset_free(data);
    pgcn_graph_free(my.graph);
    for (int change = 0; change < 9; change++) {
        example_make(&my, change != 8);
        switch (change) {
        case 0: my.arrays.name = "other"; break;
        case 1: my.arrays.n_splits = 1; break;
        case 2: my.value[0] = 1.5f; break;
        case 3: my.column[0] = 1; break;
        case 4: my.label[4] = 1; break;
        case 5: my.arrays.n_classes = 3; break;
        case 6: example_graph(&my, my.weight, false); break;
        case 7: my.target[0] = 3, example_graph(&my, NULL, false); break;
        case 8: break; /* the same features, but dense */
        }
        data = example_load(&my);
        if (change < 2)
            assert_string_equal(data->fingerprint, before);
        else
            assert_string_not_equal(data->fingerprint, before);
        pgcn_dataset_free(data);
        pgcn_graph_free(my.graph);
    }
}

static void test_arrays_that_do_not_fit_are_refused(void **state) {
    (void)state;
    /* clang-format off */
    static const char *const says[] = {
        "feature 1 of node 1 is nan",                        /* 0 */
        "feature 2 of node 3 is inf",                        /* 1: dense */
        "value in feature column 3",                         /* 2 */
        "value in feature column -1",                        /* 3 */
        "column 0 after column 0",                           /* 4 */
        "offsets run from 1 to 7",                           /* 5 */
        "offsets of node 1 are 5 and 3",                     /* 6 */
        "node 0 has label -2",                               /* 7 */
        "node 0 has label 2000000000",                       /* 8 */
        "node 2 has label 1, expected 0..0",                 /* 9 */
        "no node has a label",                               /* 10 */
        "train mask of split '1' has 2 at node 4",           /* 11 */
        "node 0 is in 2 masks of split '0'",                 /* 12 */
        "node 5 is in a mask of split '0' but has no label", /* 13 */
        "split '1' has no validation node",                  /* 14 */
        "0 features",                                        /* 15 */
        "given once",                                        /* 16 */
        "given once",                                        /* 17 */
        "masks are given, but n_splits is 0",                /* 18 */
        "must be given",                                     /* 19 */
        "pgcn_dataset_arrays_default() first",               /* 20 */
        "masks are given, but there are no labels",          /* 21 */
        "number of classes is -1",                           /* 22 */
        "offsets of node 0 are 0 and 9",                     /* 23 */
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++) {
        example my;
        example_make(&my, i != 1);
        switch (i) {
        case 0: my.value[1] = NAN; break;
        case 1: my.dense[3 * F + 2] = INFINITY; break;
        case 2: my.column[5] = 3; break;
        case 3: my.column[3] = -1; break;
        case 4: my.column[4] = 0; break;
        case 5: my.offset[0] = 1; break;
        case 6: my.offset[1] = 5, my.offset[2] = 3; break;
        case 7: my.label[0] = -2; break;
        case 8: my.label[0] = 2000000000; break;
        case 9: my.arrays.n_classes = 1; break;
        case 10:
            for (int k = 0; k < N; k++) my.label[k] = -1;
            break;
        case 11: my.train[N + 4] = 2; break;
        case 12: my.val[0] = 1; break;
        case 13: my.test[5] = 1; break;
        case 14: my.val[N] = 0; break;
        case 15: my.arrays.n_features = 0; break;
        case 16: my.arrays.features = my.dense; break;
        case 17: my.arrays.x_value = NULL; break;
        case 18: my.arrays.n_splits = 0; break;
        case 19: my.arrays.graph = NULL; break;
        case 20: my.arrays.size = 0; break;
        case 21: my.arrays.label = NULL; break;
        case 22: my.arrays.n_classes = -1; break;
        case 23: my.offset[1] = 9; break;
        }
        pgcn_dataset *data = NULL;
        pgcn_status status = pgcn_dataset_from_arrays(&my.arrays, &data);
        if (status != PGCN_ERR_FORMAT && status != PGCN_ERR_ARGUMENT)
            fail_msg("case %zu has status %d", i, status);
        assert_null(data);
        assert_error_says(says[i]);
        pgcn_graph_free(my.graph);
    }
    assert_int_equal(pgcn_dataset_from_arrays(NULL, NULL), PGCN_ERR_ARGUMENT);
}

static void test_arrays_that_are_not_given_are_named(void **state) {
    (void)state;
    static const char *const says[] = {"name is NULL", "graph is NULL", "train is NULL",
                                       "n_splits is 0", "n_splits is -1"};
    for (int i = 0; i < 5; i++) {
        example my;
        example_make(&my, true);
        if (i == 0) my.arrays.name = NULL;
        if (i == 1) my.arrays.graph = NULL;
        if (i == 2) my.arrays.train = NULL;
        if (i == 3) my.arrays.n_splits = 0;
        if (i == 4) my.arrays.n_splits = -1;
        pgcn_dataset *data = NULL;
        assert_int_equal(pgcn_dataset_from_arrays(&my.arrays, &data), PGCN_ERR_ARGUMENT);
        assert_error_says(says[i]);
        pgcn_graph_free(my.graph);
    }
}

/* ---- folders ----------------------------------------------------------------------------- */

static void put(const char *file, pgcn_i_dtype dtype, int rank, int64_t rows, int64_t columns,
                const void *data) {
    pgcn_i_array array = {.dtype = dtype, .rank = rank, .shape = {rows, columns}};
    array.data = (void *)(uintptr_t)data;
    char path[1024];
    snprintf(path, sizeof path, "%s/set/%s", scratch, file);
    assert_int_equal(pgcn_i_npy_write(path, &array), PGCN_OK);
}

static void drop(const char *file) {
    char path[1024];
    snprintf(path, sizeof path, "%s/set/%s", scratch, file);
    assert_int_equal(remove(path), 0);
}

/* The example as a folder "set" with CSR features, a public split and two numbered ones. */
static int folder_make(void **state) {
    example my;
    if (scratch_make(state) != 0) return -1;
    example_make(&my, true);
    pgcn_graph_free(my.graph);
    mkdir(scratch_path("set"), 0755);
    mkdir(scratch_path("set/splits"), 0755);
    int32_t pairs[6][2];
    for (int e = 0; e < 6; e++) pairs[e][0] = my.source[e], pairs[e][1] = my.target[e];
    put("edges.npy", PGCN_I_I32, 2, 6, 2, pairs);
    put("x_indptr.npy", PGCN_I_I64, 1, N + 1, 0, my.offset);
    put("x_indices.npy", PGCN_I_I32, 1, 7, 0, my.column);
    put("x_data.npy", PGCN_I_F32, 1, 7, 0, my.value);
    put("y.npy", PGCN_I_I32, 1, N, 0, my.label);
    put("train_mask.npy", PGCN_I_U8, 1, N, 0, my.train);
    put("val_mask.npy", PGCN_I_U8, 1, N, 0, my.val);
    put("test_mask.npy", PGCN_I_U8, 1, N, 0, my.test);
    put("splits/train_masks.npy", PGCN_I_U8, 2, 2, N, my.train);
    put("splits/val_masks.npy", PGCN_I_U8, 2, 2, N, my.val);
    put("splits/test_masks.npy", PGCN_I_U8, 2, 2, N, my.test);
    return 0;
}

static void test_folder_is_the_same_as_its_arrays(void **state) {
    (void)state;
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.keep_self_loops = true;
    pgcn_dataset *data = load(scratch_path("set/"), &opts);
    example my;
    example_make(&my, true);
    pgcn_dataset *expected = example_load(&my);
    assert_string_equal(data->fingerprint, expected->fingerprint);
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_string_equal(info.name, "set:self-loops"); /* what was asked for is in the name */
    assert_int_equal(info.splits, 3);
    assert_string_equal(pgcn_dataset_split(data, 0, NULL, NULL, NULL), "public");
    assert_string_equal(pgcn_dataset_split(data, 2, NULL, NULL, NULL), "1");
    for (int s = 0; s < 2; s++) {
        assert_memory_equal(data->split[s + 1].train, my.train + s * N, N);
        assert_memory_equal(data->split[s + 1].val, my.val + s * N, N);
        assert_memory_equal(data->split[s + 1].test, my.test + s * N, N);
    }
    pgcn_dataset_free(data);
    data = load(scratch_path("set"), NULL);
    assert_int_equal(pgcn_dataset_describe(data).self_loops, 0);
    pgcn_dataset_free(data);
    pgcn_dataset_free(expected);
    pgcn_graph_free(my.graph);
}

static void test_folder_extensions_are_read(void **state) {
    (void)state;
    example my;
    example_make(&my, false);
    int32_t arcs[3][2] = {{0, 1}, {1, 0}, {2, 0}};
    put("x.npy", PGCN_I_F32, 2, N, F, my.dense);
    drop("x_indptr.npy");
    put("edge_weight.npy", PGCN_I_F32, 1, 6, 0, my.weight);
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.keep_self_loops = true;
    pgcn_dataset *data = load(scratch_path("set"), &opts);
    example_graph(&my, my.weight, false);
    pgcn_dataset *expected = example_load(&my);
    assert_string_equal(data->fingerprint, expected->fingerprint);
    pgcn_dataset_free(expected);
    pgcn_dataset_free(data);
    pgcn_graph_free(my.graph);

    opts.directed = true;
    put("edges_directed.npy", PGCN_I_I32, 2, 3, 2, arcs);
    assert_load_fails(scratch_path("set"), &opts, PGCN_ERR_FORMAT, "edge_weight.npy belongs to");
    drop("edge_weight.npy");
    data = load(scratch_path("set"), &opts);
    assert_true(pgcn_dataset_describe(data).directed);
    assert_int_equal(pgcn_dataset_describe(data).edges, 3);

    /* The same by the name, which the data set then keeps. */
    char name[PGCN_I_PATH_BYTES + 32];
    snprintf(name, sizeof name, "%s/:directed,self-loops", scratch_path("set"));
    pgcn_dataset *named = load(name, NULL);
    assert_string_equal(named->fingerprint, data->fingerprint);
    assert_string_equal(named->name, "set:directed,self-loops");
    snprintf(name, sizeof name, "%s:directed,selfloops", scratch_path("set"));
    assert_load_fails(name, NULL, PGCN_ERR_ARGUMENT, "no data set");
    pgcn_dataset_free(named);
    pgcn_dataset_free(data);
}

static void test_folder_info_tells_empty_last_columns(void **state) {
    (void)state;
    scratch_write("set/info.txt", "nodes 6\nfeatures 5\n", 19);
    pgcn_dataset *data = load(scratch_path("set"), NULL);
    assert_int_equal(pgcn_dataset_describe(data).features, 5);
    pgcn_dataset_free(data);
    scratch_write("set/info.txt", "features 2\n", 11);
    assert_load_fails(scratch_path("set"), NULL, PGCN_ERR_FORMAT, "expected 0..1");
    scratch_write("set/info.txt", "features many\n", 14);
    assert_load_fails(scratch_path("set"), NULL, PGCN_ERR_FORMAT, "'features' has 'many");
}

static void test_folder_nodes_without_label_leave_the_masks(void **state) {
    (void)state;
    int32_t unlabelled[1] = {3};
    uint8_t known[N] = {1, 1, 1, 1, 0, 1};
    put("unlabelled.npy", PGCN_I_I32, 1, 1, 0, unlabelled);
    pgcn_dataset *data = load(scratch_path("set"), NULL);
    assert_int_equal(data->label[3], -1);
    assert_int_equal(data->split[0].test[3], 0);
    assert_int_equal(data->split[0].test[4], 1);
    assert_int_equal(data->split[2].train[3], 0);
    assert_int_equal(pgcn_dataset_describe(data).unlabelled, 2);
    pgcn_dataset_free(data);
    drop("unlabelled.npy");
    put("label_known.npy", PGCN_I_U8, 1, N, 0, known);
    data = load(scratch_path("set"), NULL);
    assert_int_equal(data->label[4], -1);
    assert_false(pgcn_dataset_is_labelled(data, 4));
    assert_true(pgcn_dataset_is_labelled(data, 0));
    assert_int_equal(data->split[0].test[4], 0);
    pgcn_dataset_free(data);
    unlabelled[0] = 6;
    put("unlabelled.npy", PGCN_I_I32, 1, 1, 0, unlabelled);
    assert_load_fails(scratch_path("set"), NULL, PGCN_ERR_FORMAT, "record 0 is node 6");
}

/* Graphs with a class each, and the same without: to be predicted, with the same features. */
static void test_folder_graphs_may_have_no_classes(void **state) {
    (void)state;
    int64_t begin[3] = {0, 2, 6};
    int32_t edges[8] = {0, 1, 2, 3, 3, 4, 4, 5}, class[2] = {1, 0}, kind[6] = {0, 1, 2, 1, 0, 0};
    put("graph_ptr.npy", PGCN_I_I64, 1, 3, 0, begin);
    put("edges.npy", PGCN_I_I32, 2, 4, 2, edges);
    put("node_label.npy", PGCN_I_I32, 1, 6, 0, kind);
    put("y.npy", PGCN_I_I32, 1, 2, 0, class);
    for (int labelled = 1; labelled >= 0; labelled--) {
        if (!labelled) drop("y.npy");
        pgcn_dataset *data = load(scratch_path("set"), NULL);
        pgcn_dataset_info info = pgcn_dataset_describe(data);
        assert_string_equal(pgcn_task_name(info.task), labelled ? "graph" : "none");
        assert_int_equal(info.graphs, 2);
        assert_int_equal(info.features, 3);
        assert_int_equal(pgcn_dataset_is_labelled(data, 1), labelled);
        pgcn_dataset_free(data);
    }
    assert_string_equal(pgcn_task_name(PGCN_TASK_MULTILABEL), "multilabel");
    assert_string_equal(pgcn_task_name((pgcn_task)99), "none");
}

/* What NumPy makes unless it is told otherwise: int64 and float64. */
static void test_folder_of_wider_numbers_is_the_same(void **state) {
    (void)state;
    pgcn_dataset *data = load(scratch_path("set"), NULL);
    example my;
    example_make(&my, true);
    pgcn_graph_free(my.graph);
    int64_t pairs[6][2], label[N], column[7], big[N] = {(1 << 24) + 1, -(1 << 24), 3, 4, 5, 6};
    double value[7];
    for (int e = 0; e < 6; e++) pairs[e][0] = my.source[e], pairs[e][1] = my.target[e];
    for (int i = 0; i < N; i++) label[i] = my.label[i];
    for (int k = 0; k < 7; k++) column[k] = my.column[k], value[k] = (double)my.value[k];
    put("edges.npy", PGCN_I_I64, 2, 6, 2, pairs);
    put("y.npy", PGCN_I_I64, 1, N, 0, label);
    put("x_indices.npy", PGCN_I_I64, 1, 7, 0, column);
    put("x_data.npy", PGCN_I_F64, 1, 7, 0, value);
    pgcn_dataset *wide = load(scratch_path("set"), NULL);
    assert_string_equal(wide->fingerprint, data->fingerprint);
    assert_null(pgcn_dataset_note(wide, 0));
    pgcn_dataset_free(wide);
    pgcn_dataset_free(data);
    drop("x_indptr.npy");
    drop("x_indices.npy");
    drop("x_data.npy");
    put("x.npy", PGCN_I_I64, 2, N, 1, big);
    data = load(scratch_path("set"), NULL);
    assert_non_null(strstr(pgcn_dataset_note(data, 0), "x.npy has whole numbers above 2^24"));
    pgcn_dataset_free(data);
    big[0] = 1 << 24; /* the largest that is exact */
    put("x.npy", PGCN_I_I64, 2, N, 1, big);
    data = load(scratch_path("set"), NULL);
    assert_null(pgcn_dataset_note(data, 0));
    pgcn_dataset_free(data);
}

static void test_folder_that_does_not_fit_is_refused(void **state) {
    /* clang-format off */
    static const struct {
        pgcn_status status;
        const char *says;
    } expected[] = {
        {PGCN_ERR_FORMAT, "edges.npy': building a graph: edge 1 is (0, 6)"}, /* 0 */
        {PGCN_ERR_FORMAT, "use a.T"},                                        /* 1 */
        {PGCN_ERR_FORMAT, "element 3 is 1099511627776, expected int32"},     /* 2 */
        {PGCN_ERR_IO, "edges.npy"},                                          /* 3 */
        {PGCN_ERR_FORMAT, "label 0 of node 0 is 7, expected 0 or 1"}, /* 4 */
        {PGCN_ERR_FORMAT, "graph_ptr.npy': graph 0 has the nodes 0 to -1"},  /* 5 */
        {PGCN_ERR_FORMAT, "no features"},        /* 6 */
        {PGCN_ERR_FORMAT, "both dense and CSR"}, /* 7 */
        {PGCN_ERR_MISMATCH, "x_data.npy': it has 6 rows, expected 7"},
        {PGCN_ERR_MISMATCH, "x_indptr.npy': it has 6 rows, expected 7"},
        {PGCN_ERR_FORMAT, "val_mask.npy is missing"}, /* 10 */
        {PGCN_ERR_FORMAT, "an edge joins node"},      /* 11 */
        {PGCN_ERR_MISMATCH, "test_masks.npy': it has 1 rows, expected 2"},
        {PGCN_ERR_MISMATCH, "found masks [3, 4], expected"},    /* 13 */
        {PGCN_ERR_FORMAT, "y.npy': element 3 is 1099511627776"}, /* 14 */
        {PGCN_ERR_FORMAT, "has 7 at node 0, expected 0 or 1"},  /* 15 */
        {PGCN_ERR_MISMATCH, "edge_weight.npy': it has 5 rows"}, /* 16 */
        {PGCN_ERR_FORMAT, "weight -1"},                         /* 17 */
        {PGCN_ERR_FORMAT, "y.npy': found an array int32 [0]"},  /* 18 */
        {PGCN_ERR_FORMAT, "label_known.npy': node 2 has 9"},    /* 19 */
        {PGCN_ERR_ARGUMENT, "edges_directed.npy is missing"},   /* 20 */
        {PGCN_ERR_ARGUMENT, "0 features"},                      /* 21 */
    };
    /* clang-format on */
    scratch_remove(state); /* each case has a folder of its own */
    for (int i = 0; i < (int)(sizeof expected / sizeof expected[0]); i++) {
        int32_t pairs[6][2] = {{0, 1}, {0, 6}, {1, 2}, {3, 4}, {2, 2}, {2, 3}};
        int64_t wide[12] = {[3] = INT64_C(1) << 40};
        float weights[6] = {1, 1, -1, 1, 1, 1};
        uint8_t bytes[36] = {7, 1, 9};
        pgcn_dataset_opts opts = pgcn_dataset_opts_default();
        opts.directed = i == 20;
        assert_int_equal(folder_make(state), 0);
        switch (i) {
        case 0: put("edges.npy", PGCN_I_I32, 2, 6, 2, pairs); break;
        case 1: put("edges.npy", PGCN_I_I32, 2, 2, 6, pairs); break;
        case 2: put("edges.npy", PGCN_I_I64, 2, 6, 2, wide); break;
        case 3: drop("edges.npy"); break;
        case 4: put("y.npy", PGCN_I_U8, 2, 6, 2, bytes); break;
        case 5: put("graph_ptr.npy", PGCN_I_I64, 1, 2, 0, wide); break;
        case 6: drop("x_indptr.npy"); break;
        case 7: put("x.npy", PGCN_I_F32, 2, 6, 1, weights); break;
        case 8: put("x_data.npy", PGCN_I_F32, 1, 6, 0, weights); break;
        case 9: put("x_indptr.npy", PGCN_I_I64, 1, 6, 0, wide); break;
        case 10: drop("val_mask.npy"); break;
        case 11: put("graph_id.npy", PGCN_I_I32, 1, 6, 0, pairs[2]); break;
        case 12: put("splits/test_masks.npy", PGCN_I_U8, 2, 1, 6, bytes); break;
        case 13: put("splits/train_masks.npy", PGCN_I_U8, 2, 3, 4, bytes); break;
        case 14: put("y.npy", PGCN_I_I64, 1, 6, 0, wide); break;
        case 15: put("train_mask.npy", PGCN_I_U8, 1, 6, 0, bytes); break;
        case 16: put("edge_weight.npy", PGCN_I_F32, 1, 5, 0, weights); break;
        case 17: put("edge_weight.npy", PGCN_I_F32, 1, 6, 0, weights); break;
        case 18: put("y.npy", PGCN_I_I32, 1, 0, 0, pairs); break;
        case 19:
            bytes[0] = 1;
            put("label_known.npy", PGCN_I_U8, 1, 6, 0, bytes);
            break;
        case 20: break;
        case 21:
            drop("x_indptr.npy");
            put("x.npy", PGCN_I_F32, 2, 6, 0, weights);
            break;
        }
        assert_load_fails(scratch_path("set"), &opts, expected[i].status, expected[i].says);
        assert_int_equal(scratch_remove(state), 0);
    }
    assert_int_equal(scratch_make(state), 0);
}

static pgcn_status load_folder(void) {
    return load_and_free(scratch_path("set"));
}

static example shared_example;
static pgcn_status load_arrays_and_free(void) {
    pgcn_dataset *data;
    PGCN_TRY(pgcn_dataset_from_arrays(&shared_example.arrays, &data));
    pgcn_dataset_free(data);
    return PGCN_OK;
}

static void test_dataset_every_failing_allocation_is_reported(void **state) {
    (void)state;
    assert_true(fail_every_allocation(load_folder) > 10);
    example_make(&shared_example, true);
    assert_true(fail_every_allocation(load_arrays_and_free) > 10);
    pgcn_graph_free(shared_example.graph);
}

/* ---- finding by name --------------------------------------------------------------------- */

/* Runs with PATHGCN_DATA set to `value` (NULL: unset) and puts it back. */
static char *replace_environment(const char *value) {
    const char *before = getenv("PATHGCN_DATA");
    char *kept = before ? strdup(before) : NULL;
    if (value)
        setenv("PATHGCN_DATA", value, 1);
    else
        unsetenv("PATHGCN_DATA");
    return kept;
}

static void test_load_unknown_name_tells_where_it_looked(void **state) {
    (void)state;
    char *kept = replace_environment(NULL);
    assert_load_fails("corra", NULL, PGCN_ERR_ARGUMENT,
                      "no data set 'corra': it is neither built in (karate, sbm, grid, powerlaw)");
    assert_error_says("PATHGCN_DATA is not set");
    setenv("PATHGCN_DATA", scratch_path("nowhere"), 1);
    assert_load_fails("corra", NULL, PGCN_ERR_ARGUMENT, "is not a directory");
    setenv("PATHGCN_DATA", scratch, 1);
    mkdir(scratch_path("not_a_set"), 0755);
    assert_load_fails("corra", NULL, PGCN_ERR_ARGUMENT, "PATHGCN_DATA");
    assert_error_says("it has: set");
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.data_dir = scratch_path("not_a_set");
    assert_load_fails("corra", &opts, PGCN_ERR_ARGUMENT, "it has: none");
    assert_load_fails("", NULL, PGCN_ERR_ARGUMENT, "name of the data set is empty");
    assert_load_fails(NULL, NULL, PGCN_ERR_ARGUMENT, "name of the data set is empty");
    free(replace_environment(kept));
    free(kept);
}

static void test_load_looks_in_the_option_then_the_environment(void **state) {
    (void)state;
    char *kept = replace_environment(scratch);
    pgcn_dataset *data = load("set", NULL);
    assert_string_equal(pgcn_dataset_describe(data).name, "set");
    pgcn_dataset_free(data);
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.data_dir = "/nowhere";
    assert_load_fails("set", &opts, PGCN_ERR_ARGUMENT, "the data directory, '/nowhere'");
    setenv("PATHGCN_DATA", "/nowhere", 1);
    opts.data_dir = scratch;
    pgcn_dataset_free(load("set", &opts));
    free(replace_environment(kept));
    free(kept);
}

/* ---- the published sets ------------------------------------------------------------------ */

static void need_real_data(void) {
    const char *directory = getenv("PATHGCN_DATA");
    if (directory && *directory) return;
    print_message("SKIPPED: PATHGCN_DATA is not set\n");
    skip();
}

static void test_real_sets_have_the_published_numbers(void **state) {
    (void)state;
    /* clang-format off */
    static const struct {
        const char *name;
        int64_t nodes, edges, self_loops, features, nonzeros;
        int classes, splits;
        int64_t train, val, test; /* of the first split */
    } sets[] = {
        {"cora", 2708, 5278, 0, 1433, 49216, 7, 11, 140, 500, 1000},
        {"citeseer", 3327, 4676, 124, 3703, 105165, 6, 11, 120, 500, 1000},
        {"pubmed", 19717, 44327, 3, 500, 988031, 3, 11, 60, 500, 1000},
        {"chameleon", 2277, 31421, 50, 2325, 29157, 5, 10, 1092, 729, 456},
        {"texas", 183, 295, 16, 1703, 15266, 5, 10, 87, 59, 37},
        {"film", 7600, 26752, 93, 932, 40977, 5, 10, 3648, 2432, 1520},
    };
    /* clang-format on */
    need_real_data();
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.keep_self_loops = true;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        pgcn_dataset *data = load(sets[i].name, &opts);
        pgcn_dataset_info info = pgcn_dataset_describe(data);
        assert_string_equal(info.steps, "self-loops");
        assert_int_equal(info.nodes, sets[i].nodes);
        assert_int_equal(info.edges, sets[i].edges);
        assert_int_equal(info.self_loops, sets[i].self_loops);
        assert_int_equal(info.features, sets[i].features);
        assert_int_equal(info.feature_nonzeros, sets[i].nonzeros);
        assert_int_equal(info.classes, sets[i].classes);
        assert_int_equal(info.splits, sets[i].splits);
        assert_int_equal(sum(data->split[0].train, info.nodes), sets[i].train);
        assert_int_equal(sum(data->split[0].val, info.nodes), sets[i].val);
        assert_int_equal(sum(data->split[0].test, info.nodes), sets[i].test);
        pgcn_dataset_free(data);
    }
}

static void test_real_citeseer_masks_lose_the_unlabelled_nodes(void **state) {
    (void)state;
    need_real_data();
    pgcn_dataset *data = load("citeseer", NULL);
    assert_int_equal(pgcn_dataset_describe(data).unlabelled, 15);
    int64_t total = 0;
    for (int s = 1; s < data->splits; s++)
        total += sum(data->split[s].train, 3327) + sum(data->split[s].val, 3327) +
                 sum(data->split[s].test, 3327);
    assert_int_equal(total, 8 * 3327 + 2 * 2120 - 140);
    pgcn_dataset_free(data);
}

static void test_real_directed_sets(void **state) {
    (void)state;
    need_real_data();
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.directed = true;
    opts.keep_self_loops = true;
    pgcn_dataset *data = load("texas", &opts);
    assert_true(pgcn_dataset_describe(data).directed);
    assert_int_equal(pgcn_dataset_describe(data).edges, 325);
    pgcn_dataset_free(data);
    assert_load_fails("cora", &opts, PGCN_ERR_ARGUMENT, "has no directed edges");
    assert_load_fails("corra", NULL, PGCN_ERR_ARGUMENT, "citeseer, cora, cornell");
}

static void test_real_multilabel_and_graph_sets_are_read(void **state) {
    (void)state;
    need_real_data();
    pgcn_dataset *data = load("ppi:self-loops", NULL);
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_int_equal(info.task, PGCN_TASK_MULTILABEL);
    assert_int_equal(info.nodes, 56944);
    assert_int_equal(info.edges, 818716);
    assert_int_equal(info.self_loops, 25084);
    assert_int_equal(info.classes, 121);
    assert_int_equal(info.unlabelled, 714);
    assert_int_equal(info.graphs, 24);
    assert_int_equal(sum(data->split[0].train, info.nodes), 44906 - 618);
    pgcn_dataset_free(data);
    data = load("PTC-gin", NULL);
    info = pgcn_dataset_describe(data);
    assert_int_equal(info.task, PGCN_TASK_GRAPH);
    assert_int_equal(info.graphs, 344);
    assert_int_equal(info.items, 344);
    assert_int_equal(info.nodes, 8792);
    assert_int_equal(info.features, 19);
    assert_int_equal(info.folds, 10);
    pgcn_dataset_free(data);
    data = load("PROTEINS:features=own+labels+degrees", NULL);
    info = pgcn_dataset_describe(data);
    assert_int_equal(info.features, 1 + 3 + info.max_degree + 1);
    pgcn_dataset_free(data);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, scratch_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays_are_copied_and_described),
        cmocka_unit_test(test_arrays_directed_graph_counts_arcs),
        cmocka_unit_test(test_fingerprint_sees_data_but_not_name_or_splits),
        cmocka_unit_test(test_arrays_that_do_not_fit_are_refused),
        cmocka_unit_test(test_arrays_that_are_not_given_are_named),
        IN_FOLDER(test_folder_is_the_same_as_its_arrays),
        IN_FOLDER(test_folder_extensions_are_read),
        IN_FOLDER(test_folder_info_tells_empty_last_columns),
        IN_FOLDER(test_folder_nodes_without_label_leave_the_masks),
        IN_FOLDER(test_folder_graphs_may_have_no_classes),
        IN_FOLDER(test_folder_of_wider_numbers_is_the_same),
        IN_FOLDER(test_folder_that_does_not_fit_is_refused),
        IN_FOLDER(test_dataset_every_failing_allocation_is_reported),
        IN_FOLDER(test_load_unknown_name_tells_where_it_looked),
        IN_FOLDER(test_load_looks_in_the_option_then_the_environment),
        cmocka_unit_test(test_real_sets_have_the_published_numbers),
        cmocka_unit_test(test_real_citeseer_masks_lose_the_unlabelled_nodes),
        cmocka_unit_test(test_real_directed_sets),
        cmocka_unit_test(test_real_multilabel_and_graph_sets_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
