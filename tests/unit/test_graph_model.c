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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_network_every_combination_matches_equations_and_differences),
        cmocka_unit_test(test_graph_network_recipes_of_all_kinds_match_equations),
        cmocka_unit_test(test_gin_matches_equations_and_differences),
    };
    return cmocka_run_group_tests_name("graph_model", tests, NULL, NULL);
}
