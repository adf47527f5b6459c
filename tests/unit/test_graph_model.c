/* The networks that classify graphs, and GIN, against the second network (second_help.h): values, and
 * the gradients of all weights by finite differences. */
#include "second_help.h"

#define GIN                                                                                        \
    "model=gin path-length=2 kernel=layer scaling=sum self-loops=no residual=none "                \
    "batch-norm=yes train-form=exact samples=1 consistency=0 readout=layers "

static void test_graph_network_every_combination_matches_equations_and_differences(void **state) {
    (void)state;
    static const char *const kernels[] = {"global", "layer", "depthwise", "full"};
    static const char *const readouts[] = {"linear", "relu", "layers"};
    problem p = problem_of_graphs(9);
    for (int i = 0; i < 4 * 3 * 2 * 2 * 2; i++) {
        char text[512];
        int bits = i / 12;
        snprintf(text, sizeof text,
                 "layers=2 channels=6 path-length=3 paths=3 seed=%d kernel=%s readout=%s "
                 "batch-norm=%s train-form=%s samples=%s residual=%s scaling=%s",
                 i, kernels[i % 4], readouts[i / 4 % 3], bits & 1 ? "yes" : "no",
                 bits & 2 ? "exact" : "sampled", bits & 4 ? "2" : "1 consistency=0",
                 i % 5 ? "none" : "initial", i % 7 ? "walk" : "symmetric");
        compare(&p, text);
    }
    problem_free(&p);
}

/* Dropout of the last layer only, or of every one; dropped rows, inputs that paths smooth, other depths
 * and walks. */
static void test_graph_network_recipes_of_all_kinds_match_equations(void **state) {
    (void)state;
    static const char *const texts[] = {
        "layers=4 channels=5 batch-norm=yes",
        "layers=1 channels=5 readout=layers dropout-last=0.3",
        "layers=3 channels=5 readout=relu batch-norm=yes dropout-hidden=0.3 samples=3",
        "layers=3 channels=5 readout=layers dropout-hidden=0.3 dropout-last=0 batch-norm=yes",
        "layers=2 channels=5 readout=linear drop-rows=0.5 residual=previous",
        "layers=2 channels=5 input-hops=1.5 input-norm=yes dropout-hidden=0.2 kernel=full",
        "layers=2 channels=5 input-hops=1 readout=layers train-form=exact",
        "layers=3 channels=5 paths-per-layer=yes walk=weighted batch-norm=yes",
        "layers=2 channels=5 walk=node2vec self-loops=no readout=layers",
        "layers=2 channels=5 scaling=sum train-form=exact kernel=depthwise path-length=3",
        "layers=2 channels=5 recompute=yes batch-norm=yes readout=layers dropout-hidden=0.2",
        "layers=3 channels=5 self-mix=yes batch-norm=yes dropout-hidden=0.2",
        "layers=3 channels=5 batch-norm=yes norm-over=graph dropout-hidden=0.2",
        "layers=2 channels=5 batch-norm=yes norm-over=graph readout=layers",
        "layers=2 channels=5 self-mix=yes mix=random residual=none readout=layers",
    };
    problem p = problem_of_graphs(9);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) compare(&p, texts[i]);
    problem_free(&p);
}

static void test_gin_matches_equations_and_differences(void **state) {
    (void)state;
    static const char *const texts[] = {GIN "layers=1 channels=5", GIN "layers=2 channels=6",
                                        GIN "layers=3 channels=5 dropout=0.5",
                                        GIN "layers=2 channels=5 dropout=0 walk=weighted"};
    problem graphs = problem_of_graphs(9), nodes = problem_new(30);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        compare(&graphs, texts[i]);
        compare(&nodes, texts[i]);
    }
    problem_free(&graphs), problem_free(&nodes);
}

/* ---- starts ------------------------------------------------------------------------------------------- */

static const float *start_of(const pgcn_i_params *params, const char *name, int64_t count) {
    for (int i = 0; i < params->count; i++)
        if (strcmp(params->param[i].name, name) == 0) {
            assert_int_equal(params->param[i].count, count);
            return pgcn_i_value_of(params, &params->param[i]);
        }
    fail_msg("there is no parameter %s", name);
    return NULL;
}

static pgcn_i_params started(const char *text) {
    pgcn_config config = settings(text);
    pgcn_i_params params;
    must(pgcn_i_network_declare(&params, &config, (pgcn_i_shape){NET_FEATURES, NET_CLASSES, true}));
    must(pgcn_i_params_allocate(&params, true));
    pgcn_i_network_start(&params, &config);
    return params;
}

/* GIN-0: a node and its neighbours count the same. Its matrices are random, whatever mix says. */
static void test_start_of_gin_adds_up_the_node_and_its_neighbours(void **state) {
    (void)state;
    pgcn_i_params params = started(GIN "layers=2 channels=4 mix=identity");
    const float *kernel = start_of(&params, "layers.1.kernel", 2);
    assert_true(kernel[0] == 1 && kernel[1] == 1);
    const float *outer = start_of(&params, "layers.1.weight", 16);
    assert_true(outer[1] != 0 && outer[4] != 0);
    for (int c = 0; c < 4; c++) {
        assert_true(start_of(&params, "layers.0.inner.norm.gain", 4)[c] == 1);
        assert_true(start_of(&params, "layers.0.norm.variance", 4)[c] == 1);
        assert_true(start_of(&params, "layers.0.norm.shift", 4)[c] == 0);
    }
    start_of(&params, "layers.0.inner.weight", NET_FEATURES * 4);
    start_of(&params, "classifier.0.weight", NET_FEATURES * NET_CLASSES);
    start_of(&params, "classifier.2.weight", 4 * NET_CLASSES);
    pgcn_i_params_free(&params);
}

/* 1x1 weights of the identity decay towards it, and so do the gains and biases beside them. */
static void test_start_of_graph_blocks_passes_on_what_comes_in(void **state) {
    (void)state;
    pgcn_i_params params = started("layers=2 channels=4 mix=identity batch-norm=yes");
    for (int e = 0; e < 16; e++)
        assert_true(start_of(&params, "layers.1.weight", 16)[e] == (e % 5 == 0 ? 1.0f : 0.0f));
    for (int c = 0; c < 4; c++) {
        assert_true(start_of(&params, "layers.1.bias", 4)[c] == 0);
        assert_true(start_of(&params, "layers.1.norm.gain", 4)[c] == 1);
    }
    for (int i = 0; i < params.count; i++)
        if (params.param[i].group == PGCN_I_GROUP_MIX) assert_true(params.param[i].decay_to_start);
    start_of(&params, "readout.weight", 16);
    start_of(&params, "classifier.weight", 4 * NET_CLASSES);
    pgcn_i_params_free(&params);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_network_every_combination_matches_equations_and_differences),
        cmocka_unit_test(test_graph_network_recipes_of_all_kinds_match_equations),
        cmocka_unit_test(test_gin_matches_equations_and_differences),
        cmocka_unit_test(test_start_of_gin_adds_up_the_node_and_its_neighbours),
        cmocka_unit_test(test_start_of_graph_blocks_passes_on_what_comes_in),
    };
    return cmocka_run_group_tests_name("graph_model", tests, NULL, NULL);
}
