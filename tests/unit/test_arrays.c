/* arrays.c: data sets of arrays for every task, features that stay the caller's, and more steps applied to
 * a data set: the same as loading with them. */
#include "graphs_help.h"
#include "scratch_help.h"

#include "train/train.h"

#include <stdio.h>

enum { N = 8, F = 3, G = 3, C = 3 };

static const pgcn_node from[] = {0, 1, 2, 3, 4, 5, 6}, to[] = {1, 2, 0, 4, 3, 6, 7};
static const int32_t graph_of[N] = {0, 0, 0, 1, 1, 2, 2, 2};
static const float dense[N * F] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 1, 1, 1, 0, 0, 1, -1, 0, 0, 2, 2, 2};
static const int64_t x_offset[N + 1] = {0, 1, 2, 3, 6, 7, 8, 11, 11};
static const int32_t x_column[] = {0, 1, 2, 0, 1, 2, 2, 0, 0, 1, 2};
static const float x_value[] = {1, 2, 3, 1, 1, 1, 1, -1, 2, 2, 2};
static const int32_t label[N] = {0, 1, 2, 0, 1, 2, 0, -1};
static const uint8_t labels[N * C] = {1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 0, 0,
                                      1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1};
static const uint8_t known[N] = {1, 1, 1, 1, 0, 1, 1, 1};
static const int32_t graph_label[G] = {1, 0, -1};
static const char *const ids[N] = {"anna", "ben", "cem", "dora", "eva", "finn", "gül", "hans"};
static const char *const classes[C] = {"red", "green", "blue"};
static const char *const columns[F] = {"age", "height", "weight"};
static const uint8_t train[N] = {1, 1, 1}, val[N] = {0, 0, 0, 1, 1}, test[N] = {0, 0, 0, 0, 0, 1};

static pgcn_graph *graph;

static int make_graph(void **state) {
    (void)state;
    return pgcn_graph_from_edges(N, 7, from, to, NULL, NULL, &graph) == PGCN_OK ? 0 : -1;
}
static int free_graph(void **state) {
    (void)state;
    pgcn_graph_free(graph);
    return 0;
}

/* Features alone: enough to predict. */
static pgcn_dataset_arrays plain(void) {
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    arrays.name = "mine";
    arrays.graph = graph;
    arrays.features = dense;
    arrays.n_features = F;
    return arrays;
}

static pgcn_dataset_arrays sparse(void) {
    pgcn_dataset_arrays arrays = plain();
    arrays.features = NULL;
    arrays.x_offset = x_offset;
    arrays.x_column = x_column;
    arrays.x_value = x_value;
    return arrays;
}

static pgcn_dataset_arrays with_split(void) {
    pgcn_dataset_arrays arrays = plain();
    arrays.label = label;
    arrays.n_splits = 1;
    arrays.train = train;
    arrays.val = val;
    arrays.test = test;
    return arrays;
}

static pgcn_dataset *made_of(const pgcn_dataset_arrays *arrays) {
    pgcn_dataset *data = NULL;
    must(pgcn_dataset_from_arrays(arrays, &data));
    return data;
}

static pgcn_dataset *prepared(const pgcn_dataset *data, const char *steps) {
    pgcn_dataset *out = NULL;
    must(pgcn_dataset_prepare(data, steps, &out));
    return out;
}

/* ---- what may be left out ------------------------------------------------------------------------ */

static void test_arrays_without_labels_make_data_to_predict(void **state) {
    (void)state;
    pgcn_dataset_arrays arrays = plain();
    pgcn_dataset *data = made_of(&arrays);
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_int_equal(info.task, PGCN_TASK_NONE);
    assert_int_equal(info.classes, 0);
    assert_int_equal(info.splits, 0);
    assert_int_equal(info.unlabelled, N);
    assert_null(pgcn_dataset_labels(data));
    pgcn_trainer *trainer = NULL;
    must_fail(pgcn_trainer_new(data, NULL, &trainer), PGCN_ERR_ARGUMENT, "no labels");
    pgcn_dataset_free(data);
}

static void test_arrays_of_several_labels_keep_which_are_known(void **state) {
    (void)state;
    pgcn_dataset_arrays arrays = plain();
    arrays.labels = labels;
    arrays.labels_known = known;
    arrays.n_classes = C;
    pgcn_dataset *data = made_of(&arrays);
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_int_equal(info.task, PGCN_TASK_MULTILABEL);
    assert_int_equal(info.classes, C);
    assert_int_equal(info.unlabelled, 1);
    assert_int_equal(info.splits, 10); /* made, as for files without any */
    assert_memory_equal(pgcn_dataset_multilabels(data), labels, sizeof labels);
    assert_false(pgcn_dataset_is_labelled(data, 4));
    assert_non_null(strstr(pgcn_dataset_note(data, 0), "there is no split: ten were made"));
    pgcn_dataset_free(data);
    arrays.labels_known = NULL;
    data = made_of(&arrays);
    assert_int_equal(pgcn_dataset_describe(data).unlabelled, 0);
    pgcn_dataset_free(data);
}

static void test_arrays_of_graphs_have_masks_of_graphs(void **state) {
    (void)state;
    static const uint8_t one[2 * G] = {1, 0, 0, 0, 1, 0}, other[2 * G] = {0, 1, 0, 1, 0, 0};
    pgcn_dataset_arrays arrays = plain();
    const uint8_t *found[3];
    arrays.n_graphs = G;
    arrays.graph_of = graph_of;
    arrays.graph_label = graph_label;
    arrays.n_splits = 2;
    arrays.train = one;
    arrays.val = other;
    pgcn_dataset *data = made_of(&arrays); /* nothing tests */
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_int_equal(info.task, PGCN_TASK_GRAPH);
    assert_int_equal(info.items, G);
    assert_int_equal(info.graphs, G);
    assert_int_equal(info.splits, 2);
    assert_memory_equal(pgcn_dataset_graph_of(data), graph_of, sizeof graph_of);
    assert_memory_equal(pgcn_dataset_labels(data), graph_label, sizeof graph_label);
    assert_string_equal(pgcn_dataset_split(data, 1, &found[0], &found[1], &found[2]), "1");
    assert_memory_equal(found[0], one + G, G);
    assert_memory_equal(found[1], other + G, G);
    assert_null(memchr(found[2], 1, G));
    assert_true(data->without_test);
    pgcn_dataset_free(data);
}

static void test_arrays_of_nodes_in_many_graphs_are_told_apart(void **state) {
    (void)state;
    static const int32_t mixed[N] = {2, 2, 2, 0, 0, 1, 1, 1};
    pgcn_dataset_arrays arrays = with_split();
    arrays.n_graphs = G;
    arrays.graph_of = mixed; /* of nodes with labels any order will do */
    pgcn_dataset *data = made_of(&arrays);
    assert_int_equal(pgcn_dataset_describe(data).graphs, G);
    assert_int_equal(pgcn_dataset_describe(data).task, PGCN_TASK_NODE);
    pgcn_dataset_free(data);
}

static void test_arrays_without_features_get_a_column_for_each_node(void **state) {
    (void)state;
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    arrays.graph = graph;
    pgcn_dataset *data = made_of(&arrays);
    pgcn_features x = pgcn_dataset_features(data);
    assert_int_equal(x.columns, N);
    assert_int_equal(x.nonzeros, N);
    for (int i = 0; i < N; i++) assert_int_equal(x.column[i], i);
    pgcn_dataset_free(data);
    arrays.steps = "features=degrees";
    data = made_of(&arrays);
    assert_string_equal(pgcn_dataset_describe(data).name, "arrays:features=degrees");
    assert_string_equal(pgcn_dataset_feature_name(data, 0), "degree=0");
    pgcn_dataset_free(data);
    arrays.steps = NULL;
    arrays.n_graphs = G;
    arrays.graph_of = graph_of;
    data = made_of(&arrays); /* graphs that nobody knows: their degrees, as for files */
    assert_string_equal(pgcn_dataset_feature_name(data, 0), "degree=0");
    pgcn_dataset_free(data);
}

static void test_arrays_have_names_of_nodes_classes_and_features(void **state) {
    (void)state;
    pgcn_dataset_arrays arrays = with_split();
    char copies[N][8];
    const char *id[N];
    for (int i = 0; i < N; i++) id[i] = strcpy(copies[i], ids[i]);
    arrays.node_id = id;
    arrays.class_name = classes;
    arrays.n_classes = C;
    arrays.feature_name = columns;
    pgcn_dataset *data = made_of(&arrays);
    memset(copies, 'x', sizeof copies);
    for (int i = 0; i < N; i++) assert_string_equal(pgcn_dataset_node_id(data, i), ids[i]);
    for (int c = 0; c < C; c++) assert_string_equal(pgcn_dataset_class_name(data, c), classes[c]);
    for (int j = 0; j < F; j++) assert_string_equal(pgcn_dataset_feature_name(data, j), columns[j]);
    pgcn_dataset_free(data);
}

static void test_arrays_without_masks_get_the_splits_of_files(void **state) {
    (void)state;
    pgcn_dataset *karate = NULL;
    must(pgcn_dataset_load("karate", NULL, &karate));
    pgcn_dataset_info info = pgcn_dataset_describe(karate);
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    arrays.graph = pgcn_dataset_graph(karate);
    arrays.label = pgcn_dataset_labels(karate);
    pgcn_dataset *data = made_of(&arrays);
    arrays.steps = "stratified=60/20/20";
    pgcn_dataset *asked = made_of(&arrays);
    assert_int_equal(data->splits, 10);
    for (int s = 0; s < 10; s++) {
        assert_memory_equal(data->split[s].train, asked->split[s].train, (size_t)info.nodes);
        assert_memory_equal(data->split[s].val, asked->split[s].val, (size_t)info.nodes);
    }
    pgcn_dataset_free(data), pgcn_dataset_free(asked), pgcn_dataset_free(karate);
}

/* ---- what is refused ------------------------------------------------------------------------------ */

static void assert_refused(const pgcn_dataset_arrays *arrays, const char *says) {
    pgcn_dataset *data = NULL;
    pgcn_status status = pgcn_dataset_from_arrays(arrays, &data);
    if (status != PGCN_ERR_ARGUMENT && status != PGCN_ERR_FORMAT)
        fail_msg("\"%s\": status %s", says, pgcn_status_name(status));
    assert_null(data);
    assert_error_says(says);
}
#define REFUSED(base, says, ...)                                                                   \
    do {                                                                                           \
        pgcn_dataset_arrays a = (base);                                                            \
        __VA_ARGS__;                                                                               \
        assert_refused(&a, says);                                                                  \
    } while (0)

static void test_arrays_that_contradict_each_other_are_named(void **state) {
    (void)state;
    static const char *const bad_text[] = {"a", "\xff", "c", "d", "e", "f", "g", "h"};
    static const char *const hole[] = {"a", "b", NULL};
    static const int32_t descending[N] = {1, 0, 0, 0, 1, 2, 2, 2};
    REFUSED(plain(), "features must be given once", a.x_column = x_column);
    REFUSED(sparse(), "features must be given once", a.x_offset = NULL);
    REFUSED(sparse(), "features must be given once", a.features = dense);
    REFUSED(plain(), "n_features is 3, but there are no features", a.features = NULL);
    REFUSED(plain(), "n_graphs is 9, but must be 0 to 8", a.n_graphs = 9);
    REFUSED(plain(), "n_graphs is given, but graph_of is NULL", a.n_graphs = 2);
    REFUSED(plain(), "but n_graphs is 0", a.graph_of = graph_of);
    REFUSED(plain(), "but n_graphs is 0", a.graph_label = graph_label);
    REFUSED(plain(), "three ways to give labels", a.label = label, a.labels = labels,
            a.n_classes = C);
    REFUSED(plain(), "n_classes is 0, but labels have a column", a.labels = labels);
    REFUSED(plain(), "labels_known is given without labels", a.label = label,
            a.labels_known = known);
    REFUSED(plain(), "n_classes or class_name is given, but there are no labels", a.n_classes = C);
    REFUSED(plain(), "n_splits is given, but train is NULL", a.label = label, a.n_splits = 1);
    REFUSED(plain(), "masks are given, but n_splits is 0", a.label = label, a.val = val);
    REFUSED(plain(), "masks are given, but there are no labels", a.train = train, a.n_splits = 1);
    REFUSED(with_split(), "n_classes is not", a.class_name = classes);
    REFUSED(plain(), "node_id[1]", a.node_id = bad_text);
    REFUSED(plain(), "is not UTF-8", a.node_id = bad_text);
    REFUSED(plain(), "feature_name[2] is NULL", a.feature_name = hole);
    REFUSED(plain(), "feature_name is given, but there are no features", a.feature_name = columns,
            a.features = NULL, a.n_features = 0);
    REFUSED(plain(), "is no list of steps", a.steps = "stratify");
    REFUSED(plain(), "has no labels, so it cannot be split", a.steps = "kfold=3");
    REFUSED(plain(), "in the order of their graphs", a.graph_of = descending, a.n_graphs = G,
            a.graph_label = graph_label);
    REFUSED(plain(), "an edge joins node", a.graph_of = descending, a.n_graphs = G);
    REFUSED(plain(), "whether the labels of node 1 are known is 2", a.labels = labels,
            a.n_classes = C, a.labels_known = (const uint8_t[N]){1, 2});
    /* an empty mask is a mistake, no mask is not */
    REFUSED(with_split(), "has no validation node", a.val = (const uint8_t[N]){0});
    REFUSED(with_split(), "has no test node", a.test = (const uint8_t[N]){0});
    REFUSED(with_split(), "has no train node", a.train = (const uint8_t[N]){0}, a.val = NULL);
}

/* ---- features of the caller ------------------------------------------------------------------------ */

static int released;
static void count_release(void *owner) {
    assert_ptr_equal(owner, &released);
    released++;
}

static pgcn_dataset_arrays borrowed(pgcn_dataset_arrays arrays) {
    arrays.release = count_release;
    arrays.owner = &released;
    return arrays;
}

static void test_borrowed_features_are_read_in_place_and_released_once(void **state) {
    (void)state;
    released = 0;
    for (int i = 0; i < 2; i++) {
        pgcn_dataset_arrays arrays = borrowed(i ? sparse() : plain());
        pgcn_dataset *data = made_of(&arrays);
        pgcn_features x = pgcn_dataset_features(data);
        assert_ptr_equal(x.dense, i ? NULL : dense);
        assert_ptr_equal(x.column, i ? x_column : NULL);
        assert_ptr_equal(x.value, i ? x_value : NULL);
        assert_int_equal(x.nonzeros, 11);
        assert_int_equal(x.rows, N);
        assert_int_equal(released, i);
        arrays.release = NULL;
        pgcn_dataset *copied = made_of(&arrays);
        assert_string_equal(data->fingerprint, copied->fingerprint);
        assert_true(!x.dense || pgcn_dataset_features(copied).dense != dense);
        pgcn_dataset_free(copied);
        pgcn_dataset_free(data);
        assert_int_equal(released, i + 1);
    }
}

static void test_borrowed_features_are_kept_until_the_end_by_every_step(void **state) {
    (void)state;
    static const char *const steps[] = {"largest-component", "order=random", "features=degrees",
                                        "features=own+adjacency", "stratified=40/30/30"};
    float copy[N * F];
    memcpy(copy, dense, sizeof copy);
    released = 0;
    for (int i = 0; i < 10; i++) {
        pgcn_dataset_arrays arrays = borrowed(i % 2 ? sparse() : plain());
        if (!(i % 2)) arrays.features = copy;
        arrays.label = label;
        arrays.steps = steps[i / 2];
        pgcn_dataset *data = made_of(&arrays);
        assert_int_equal(released, i);
        pgcn_dataset *more = prepared(data, NULL);
        pgcn_dataset_free(more); /* borrows from `data`, and owns nothing */
        assert_int_equal(released, i);
        pgcn_dataset_free(data);
        assert_int_equal(released, i + 1);
        assert_memory_equal(copy, dense, sizeof copy);
    }
}

static void test_borrowed_features_stay_the_callers_after_an_error(void **state) {
    (void)state;
    pgcn_dataset_arrays arrays = borrowed(with_split());
    pgcn_dataset *data = NULL;
    released = 0;
    arrays.val = train;
    must_fail(pgcn_dataset_from_arrays(&arrays, &data), PGCN_ERR_FORMAT, "is in 2 masks");
    arrays.steps = "nonsense";
    must_fail(pgcn_dataset_from_arrays(&arrays, &data), PGCN_ERR_ARGUMENT, "no list of steps");
    assert_int_equal(released, 0);
}

/* ---- allocations that fail -------------------------------------------------------------------------- */

static pgcn_status make_everything(void) {
    pgcn_dataset_arrays arrays = borrowed(sparse());
    arrays.labels = labels;
    arrays.labels_known = known;
    arrays.n_classes = C;
    arrays.n_graphs = G;
    arrays.graph_of = graph_of;
    arrays.node_id = ids;
    arrays.class_name = classes;
    arrays.feature_name = columns;
    arrays.steps = "features=own+degrees";
    pgcn_dataset *data, *more;
    int before = released;
    pgcn_status status = pgcn_dataset_from_arrays(&arrays, &data);
    if (status != PGCN_OK) {
        assert_int_equal(released, before);
        return status;
    }
    status = pgcn_dataset_prepare(data, "random=50/25/25,splits=2", &more);
    if (status == PGCN_OK) pgcn_dataset_free(more);
    pgcn_dataset_free(data);
    assert_int_equal(released, before + 1);
    return status;
}

static pgcn_status make_copies(void) {
    pgcn_dataset_arrays arrays = with_split();
    arrays.features = NULL;
    arrays.n_features = 0;
    pgcn_dataset *data, *more;
    PGCN_TRY(pgcn_dataset_from_arrays(&arrays, &data));
    pgcn_status status = pgcn_dataset_prepare(data, "largest-component,crossval=2", &more);
    if (status == PGCN_OK) pgcn_dataset_free(more);
    pgcn_dataset_free(data);
    return status;
}

static void test_every_failing_allocation_frees_and_releases_nothing(void **state) {
    (void)state;
    assert_true(fail_every_allocation(make_everything) > 10);
    assert_true(fail_every_allocation(make_copies) > 10);
}

/* ---- more steps --------------------------------------------------------------------------------------- */

static void assert_same_data(const pgcn_dataset *a, const pgcn_dataset *b, const char *what) {
    size_t items = (size_t)a->info.items;
    if (strcmp(a->fingerprint, b->fingerprint) != 0 || a->splits != b->splits ||
        a->info.items != b->info.items || a->task != b->task)
        fail_msg("%s: other data", what);
    for (int s = 0; s < a->splits; s++)
        if (memcmp(a->split[s].train, b->split[s].train, items) != 0 ||
            memcmp(a->split[s].val, b->split[s].val, items) != 0 ||
            memcmp(a->split[s].test, b->split[s].test, items) != 0 ||
            strcmp(a->split[s].name, b->split[s].name) != 0)
            fail_msg("%s: other masks of split %d", what, s);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->steps, b->steps);
    assert_int_equal(a->without_test, b->without_test);
    for (int64_t i = 0; i < a->info.nodes; i++) {
        const char *x = pgcn_dataset_node_id(a, i), *y = pgcn_dataset_node_id(b, i);
        assert_true(!x == !y && (!x || strcmp(x, y) == 0));
    }
    for (int64_t j = 0; j < a->info.features; j++) {
        const char *x = pgcn_dataset_feature_name(a, j), *y = pgcn_dataset_feature_name(b, j);
        assert_true(!x == !y && (!x || strcmp(x, y) == 0));
    }
    const pgcn_node *row_a, *row_b;
    assert_int_equal(pgcn_dataset_order(a, NULL, &row_a), pgcn_dataset_order(b, NULL, &row_b));
    if (row_a) assert_memory_equal(row_a, row_b, (size_t)a->info.nodes * sizeof *row_a);
}

static const char *const all_steps[] = {
    "",
    "features=own+adjacency",
    "features=own+degrees",
    "features=identity",
    "stratified=60/20/20,splits=3",
    "random=50/25/25",
    "largest-component",
    "largest-component,features=degrees,stratified=50/25/25",
    "order=rcm",
    "largest-component,order=community",
    "only-split=1",
    "without-test",
    "only-split=0,without-test,order=degree,groups=7",
    "crossval=3",
    "symmetrise,self-loops",
};
enum { STEPS = sizeof all_steps / sizeof *all_steps };

static void test_prepared_builtin_data_is_what_is_loaded_with_the_steps(void **state) {
    (void)state;
    static const char *const names[] = {"karate", "sbm:nodes=90,degree=1", "grid:rows=6,cols=7"};
    for (int d = 0; d < 3; d++) {
        pgcn_dataset *data = NULL, *loaded = NULL;
        must(pgcn_dataset_load(names[d], NULL, &data));
        for (int i = 0; i < STEPS; i++) {
            pgcn_dataset_opts opts = pgcn_dataset_opts_default();
            opts.steps = all_steps[i];
            pgcn_status status = pgcn_dataset_load(names[d], &opts, &loaded);
            pgcn_dataset *more = NULL;
            assert_int_equal(pgcn_dataset_prepare(data, all_steps[i], &more), status);
            if (status != PGCN_OK) continue;
            assert_same_data(more, loaded, all_steps[i]);
            must(pgcn_dataset_verify(more));
            pgcn_dataset_free(more), pgcn_dataset_free(loaded);
        }
        pgcn_dataset_free(data);
    }
}

/* Labels, and perhaps neither features nor masks: what is made then depends on which nodes are left. */
static void test_prepared_arrays_are_those_made_with_the_steps(void **state) {
    (void)state;
    pgcn_dataset *sbm = NULL;
    must(pgcn_dataset_load("sbm:nodes=90,degree=1", NULL, &sbm));
    pgcn_features x = pgcn_dataset_features(sbm);
    for (int with = 0; with < 4; with++)
        for (int i = 0; i < STEPS; i++) {
            pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
            arrays.graph = pgcn_dataset_graph(sbm);
            arrays.label = pgcn_dataset_labels(sbm);
            if (with & 1) {
                arrays.features = x.dense;
                arrays.x_offset = x.offset, arrays.x_column = x.column, arrays.x_value = x.value;
                arrays.n_features = x.columns;
            }
            if (with & 2) {
                arrays.n_splits = 1;
                pgcn_dataset_split(sbm, 0, &arrays.train, &arrays.val, &arrays.test);
            }
            pgcn_dataset *data = made_of(&arrays), *at_once = NULL, *more = NULL;
            arrays.steps = all_steps[i];
            pgcn_status status = pgcn_dataset_from_arrays(&arrays, &at_once);
            assert_int_equal(pgcn_dataset_prepare(data, all_steps[i], &more), status);
            if (status == PGCN_OK) assert_same_data(more, at_once, all_steps[i]);
            pgcn_dataset_free(more), pgcn_dataset_free(at_once), pgcn_dataset_free(data);
        }
    pgcn_dataset_free(sbm);
}

static void test_steps_follow_steps(void **state) {
    (void)state;
    pgcn_dataset *data = NULL;
    must(pgcn_dataset_load("karate", NULL, &data));
    pgcn_dataset *links = prepared(data, "features=own+adjacency");
    pgcn_dataset *hidden = prepared(links, "only-split=0,without-test");
    pgcn_dataset *again = prepared(hidden, "groups=3");
    assert_string_equal(hidden->name, "karate:features=own+adjacency,only-split=0,without-test");
    assert_string_equal(hidden->steps, "features=own+adjacency,only-split=0,without-test");
    assert_int_equal(again->splits, 1);
    assert_true(again->without_test);
    assert_true(again->info.unlabelled > 0); /* labels of test nodes do not come back */
    pgcn_dataset *ordered = prepared(data, "order=rcm"), *none = NULL;
    must_fail(pgcn_dataset_prepare(ordered, "crossval=2", &none), PGCN_ERR_ARGUMENT, "order");
    assert_null(none);
    pgcn_dataset_free(again), pgcn_dataset_free(hidden), pgcn_dataset_free(links);
    pgcn_dataset_free(ordered), pgcn_dataset_free(data);
}

/* ---- use ----------------------------------------------------------------------------------------------- */

/* A set of graphs given as arrays learns and predicts what the same set from a reader does; new graphs,
 * with their nodes in any order and without labels, too. */
static void test_arrays_of_graphs_train_and_predict_like_files(void **state) {
    (void)state;
    enum { GRAPHS = 40 };
    graph_set set = set_new(PGCN_TASK_GRAPH, false, GRAPHS);
    pgcn_dataset *read = set_build(&set, "");
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    arrays.name = "set";
    arrays.graph = read->graph;
    arrays.features = set.x;
    arrays.n_features = SET_COLUMNS;
    arrays.n_graphs = GRAPHS;
    arrays.graph_of = set.graph_of;
    arrays.graph_label = set.graph_label;
    pgcn_dataset *data = made_of(&arrays);
    assert_same_data(data, read, "a set of graphs");
    pgcn_config config = pgcn_config_default();
    config.epochs = 2, config.channels = 8, config.threads = 1, config.batch = 16;
    pgcn_model *model = NULL;
    must(pgcn_train(data, &config, &model));
    float known_order[GRAPHS * SET_CLASSES], mixed_order[GRAPHS * SET_CLASSES];
    must(pgcn_model_predict(model, read, NULL, known_order, NULL));

    pgcn_node *place = random_places(set.nodes, 92), same[GRAPHS];
    for (int g = 0; g < GRAPHS; g++) same[g] = g;
    graph_set mixed = set_renumbered(&set, place, same);
    pgcn_graph *mixed_graph = NULL;
    must(pgcn_graph_from_edges(mixed.nodes, mixed.edges, mixed.from, mixed.to, NULL, NULL,
                               &mixed_graph));
    arrays.graph = mixed_graph;
    arrays.features = mixed.x;
    arrays.graph_of = mixed.graph_of;
    arrays.graph_label = NULL;
    pgcn_dataset *new_graphs = made_of(&arrays);
    must(pgcn_model_predict(model, new_graphs, NULL, mixed_order, NULL));
    for (int i = 0; i < GRAPHS * SET_CLASSES; i++)
        assert_true(fabsf(known_order[i] - mixed_order[i]) < 1e-4f);
    pgcn_model_free(model);
    pgcn_dataset_free(new_graphs), pgcn_dataset_free(data), pgcn_dataset_free(read);
    pgcn_graph_free(mixed_graph);
    free(place);
    set_free(&mixed), set_free(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays_without_labels_make_data_to_predict),
        cmocka_unit_test(test_arrays_of_several_labels_keep_which_are_known),
        cmocka_unit_test(test_arrays_of_graphs_have_masks_of_graphs),
        cmocka_unit_test(test_arrays_of_nodes_in_many_graphs_are_told_apart),
        cmocka_unit_test(test_arrays_without_features_get_a_column_for_each_node),
        cmocka_unit_test(test_arrays_have_names_of_nodes_classes_and_features),
        cmocka_unit_test(test_arrays_without_masks_get_the_splits_of_files),
        cmocka_unit_test(test_arrays_that_contradict_each_other_are_named),
        cmocka_unit_test(test_borrowed_features_are_read_in_place_and_released_once),
        cmocka_unit_test(test_borrowed_features_are_kept_until_the_end_by_every_step),
        cmocka_unit_test(test_borrowed_features_stay_the_callers_after_an_error),
        cmocka_unit_test(test_every_failing_allocation_frees_and_releases_nothing),
        cmocka_unit_test(test_prepared_builtin_data_is_what_is_loaded_with_the_steps),
        cmocka_unit_test(test_prepared_arrays_are_those_made_with_the_steps),
        cmocka_unit_test(test_steps_follow_steps),
        cmocka_unit_test(test_arrays_of_graphs_train_and_predict_like_files),
    };
    return cmocka_run_group_tests(tests, make_graph, free_graph);
}
