/* The steps only-split and without-test: which splits and labels are left, and that nothing a search
 * can see depends on the labels of test nodes. */
#include "nn_help.h"
#include "dataset_help.h"

enum { N = 60, F = 4, CLASSES = 3 };

/* Two splits of a ring with chords, "public" being no name that arrays can give: numbers 0 and 1.
 * `turn` changes the labels of nodes that test in both. */
static pgcn_status save_graph(const char *file, int turn) {
    pgcn_node from[2 * N], to[2 * N];
    float x[N * F];
    int32_t label[N];
    uint8_t mask[3][2 * N] = {{0}};
    for (int i = 0; i < N; i++) {
        from[2 * i] = from[2 * i + 1] = i;
        to[2 * i] = (i + 1) % N;
        to[2 * i + 1] = (i + 3) % N;
        bool tests = i % 5 == 4; /* in both splits */
        label[i] = (i % CLASSES + (tests ? turn : 0)) % CLASSES;
        for (int j = 0; j < F; j++)
            x[i * F + j] = (float)((i % CLASSES == j) + 0.1 * ((i * 7 + j * 3) % 11));
        mask[tests ? 2 : i % 2][i] = 1;                 /* split 0 */
        mask[tests ? 2 : i % 5 < 2 ? 0 : 1][N + i] = 1; /* split 1 */
    }
    pgcn_graph *graph;
    PGCN_TRY(pgcn_graph_from_edges(N, 2 * N, from, to, NULL, NULL, &graph));
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    arrays.graph = graph;
    arrays.n_features = F;
    arrays.features = x;
    arrays.label = label;
    arrays.n_classes = CLASSES;
    arrays.n_splits = 2;
    arrays.train = mask[0];
    arrays.val = mask[1];
    arrays.test = mask[2];
    pgcn_dataset *data;
    pgcn_status status = pgcn_dataset_from_arrays(&arrays, &data);
    pgcn_graph_free(graph);
    if (status != PGCN_OK) return status;
    status = pgcn_dataset_save(data, scratch_path(file));
    pgcn_dataset_free(data);
    return status;
}

static pgcn_dataset *load_with(const char *file, const char *steps) {
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.steps = steps;
    return load(scratch_path(file), &opts);
}

static void test_without_test_leaves_no_test_node_and_no_label_of_one(void **state) {
    (void)state;
    assert_int_equal(save_graph("a.pgcn", 0), PGCN_OK);
    pgcn_dataset *data = load_with("a.pgcn", "without-test");
    const int32_t *label = pgcn_dataset_labels(data);
    for (int s = 0; s < 2; s++) {
        const uint8_t *train, *val, *test;
        assert_non_null(pgcn_dataset_split(data, s, &train, &val, &test));
        assert_int_equal(sum(test, N), 0);
        assert_int_equal(sum(train, N) + sum(val, N), 48);
    }
    for (int i = 0; i < N; i++) assert_int_equal(label[i], i % 5 == 4 ? -1 : i % CLASSES);
    assert_int_equal(pgcn_dataset_describe(data).unlabelled, 12);
    assert_int_equal(pgcn_dataset_describe(data).classes, CLASSES);
    pgcn_dataset_free(data);
}

static void test_only_split_drops_the_others_and_labels_that_only_they_use(void **state) {
    (void)state;
    assert_int_equal(save_graph("a.pgcn", 0), PGCN_OK);
    pgcn_dataset *data = load_with("a.pgcn", "only-split=1");
    const uint8_t *train, *val, *test;
    assert_string_equal(pgcn_dataset_split(data, 0, &train, &val, &test), "1");
    assert_null(pgcn_dataset_split(data, 1, &train, &val, &test));
    pgcn_dataset_free(data);
    data = load_with("a.pgcn", "only-split=auto"); /* there is no public one: all */
    assert_int_equal(pgcn_dataset_describe(data).splits, 2);
    pgcn_dataset_free(data);
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.steps = "only-split=public";
    assert_load_fails(scratch_path("a.pgcn"), &opts, PGCN_ERR_MISMATCH, "only-split=public");
    opts.steps = "only-split=last";
    assert_load_fails(scratch_path("a.pgcn"), &opts, PGCN_ERR_ARGUMENT, "numbered");
}

/* What a nested search stands on: of split 0 alone, the labels of all its test nodes are gone, also of
 * those that train or validate in split 1. */
static void test_without_test_of_one_split_hides_labels_that_train_in_another(void **state) {
    (void)state;
    enum { NODES = 6 };
    const pgcn_node from[NODES] = {0, 1, 2, 3, 4, 5}, to[NODES] = {1, 2, 3, 4, 5, 0};
    const int32_t label[NODES] = {0, 1, 0, 1, 0, 1};
    const uint8_t train[2 * NODES] = {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
    const uint8_t val[2 * NODES] = {0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0};
    const uint8_t test[2 * NODES] = {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0};
    const float x[NODES] = {1, 2, 3, 4, 5, 6};
    pgcn_graph *graph;
    assert_int_equal(pgcn_graph_from_edges(NODES, NODES, from, to, NULL, NULL, &graph), PGCN_OK);
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    arrays.graph = graph;
    arrays.n_features = 1;
    arrays.features = x;
    arrays.label = label;
    arrays.n_classes = 2;
    arrays.n_splits = 2;
    arrays.train = train;
    arrays.val = val;
    arrays.test = test;
    pgcn_dataset *whole;
    assert_int_equal(pgcn_dataset_from_arrays(&arrays, &whole), PGCN_OK);
    assert_int_equal(pgcn_dataset_save(whole, scratch_path("two.pgcn")), PGCN_OK);
    const struct {
        const char *steps;
        int32_t left[NODES];
    } cases[] = {{"only-split=0,without-test", {0, 1, 0, 1, -1, -1}},
                 {"only-split=1,without-test", {-1, -1, 0, 1, 0, 1}},
                 {"without-test", {0, 1, 0, 1, 0, 1}}}; /* of both, all are in use */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_dataset *data = load_with("two.pgcn", cases[i].steps);
        assert_memory_equal(pgcn_dataset_labels(data), cases[i].left, sizeof cases[i].left);
        pgcn_dataset_free(data);
    }
    pgcn_dataset_free(whole);
    pgcn_graph_free(graph);
}

static void test_without_test_survives_a_container(void **state) {
    (void)state;
    assert_int_equal(save_graph("a.pgcn", 0), PGCN_OK);
    pgcn_dataset *data = load_with("a.pgcn", "without-test"), *again;
    assert_int_equal(pgcn_dataset_save(data, scratch_path("hidden.pgcn")), PGCN_OK);
    again = load_with("hidden.pgcn", NULL);
    assert_true(again->without_test);
    assert_string_equal(again->fingerprint, data->fingerprint);
    pgcn_config config = pgcn_config_default();
    config.epochs = 2;
    pgcn_trainer *trainer;
    assert_int_equal(pgcn_trainer_new(again, &config, &trainer), PGCN_OK);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(again);
    pgcn_dataset_free(data);
}

/* The heart of it: with other labels on the test nodes, everything is the same to the bit. */
static void test_without_test_labels_of_test_nodes_change_nothing(void **state) {
    (void)state;
    enum { EPOCHS = 30 };
    static double seen[2][2][EPOCHS]; /* [labels][loss, accuracy][epoch] */
    char fingerprint[2][65], plain[2][65];
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(save_graph("t.pgcn", turn), PGCN_OK);
        pgcn_dataset *open = load_with("t.pgcn", NULL);
        snprintf(plain[turn], 65, "%s", pgcn_dataset_describe(open).fingerprint);
        pgcn_dataset_free(open);
        pgcn_dataset *data = load_with("t.pgcn", "without-test");
        snprintf(fingerprint[turn], 65, "%s", pgcn_dataset_describe(data).fingerprint);
        pgcn_config config = pgcn_config_default();
        config.epochs = EPOCHS;
        config.patience = 0;
        config.channels = 8;
        pgcn_trainer *trainer;
        assert_int_equal(pgcn_trainer_new(data, &config, &trainer), PGCN_OK);
        for (int e = 0; e < EPOCHS; e++) {
            pgcn_epoch epoch;
            assert_int_equal(pgcn_trainer_epoch(trainer, &epoch), PGCN_OK);
            assert_true(isnan(epoch.test_accuracy));
            seen[turn][0][e] = epoch.val_loss;
            seen[turn][1][e] = epoch.val_accuracy;
        }
        pgcn_trainer_free(trainer);
        pgcn_dataset_free(data);
    }
    assert_string_not_equal(plain[0], plain[1]); /* the labels do differ */
    assert_string_equal(fingerprint[0], fingerprint[1]);
    assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
}

static pgcn_status load_hidden(void) {
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.steps = "only-split=1,without-test";
    pgcn_dataset *data;
    PGCN_TRY(pgcn_dataset_load(scratch_path("a.pgcn"), &opts, &data));
    pgcn_dataset_free(data);
    return PGCN_OK;
}

static void test_hide_every_failing_allocation_is_reported(void **state) {
    (void)state;
    assert_int_equal(save_graph("a.pgcn", 0), PGCN_OK);
    fail_every_allocation(load_hidden);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_without_test_leaves_no_test_node_and_no_label_of_one),
        TEST(test_only_split_drops_the_others_and_labels_that_only_they_use),
        TEST(test_without_test_of_one_split_hides_labels_that_train_in_another),
        TEST(test_without_test_survives_a_container),
        TEST(test_without_test_labels_of_test_nodes_change_nothing),
        TEST(test_hide_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
