/* The numbers of the paper: looked up by experiment, data set and depth; the claims of its text hold
 * in the table, so that a mistyped number is seen. */
#include "experiments/reproduce.h"
#include "unit/nn_help.h"

static double accuracy(const char *experiment, const char *dataset, const char *variant, int layers,
                       int value) {
    const exp_paper *found = exp_paper_find(experiment, dataset, variant, layers, value);
    return found ? found->accuracy : -1;
}

static void test_paper_known_cells_are_found(void **state) {
    (void)state;
    assert_float_equal(accuracy("semi", "cora", "", 2, 0), 84.2, 1e-5);
    assert_float_equal(accuracy("semi", "pubmed", "", 64, 0), 82.7, 1e-5);
    assert_float_equal(accuracy("full", "texas", "", 2, 0), 95.14, 1e-5); /* at any depth of ours */
    assert_float_equal(accuracy("full", "wikics", "", 0, 0), 80.02, 1e-5);
    assert_float_equal(accuracy("variants", "citeseer", "global", 32, 0), 72.6, 1e-5);
    assert_float_equal(accuracy("paths", "cora", "", 2, 5), 84.2, 1e-5);
    const exp_paper *found = exp_paper_find("inference", "wisconsin", "", 1, 0);
    assert_float_equal(found->accuracy, 93.51, 1e-5);
    assert_float_equal(found->stochastic, 93.53, 1e-5);
    assert_float_equal(found->deviation, 0.21, 1e-5);
    assert_int_equal(found->layers, 16);
    assert_float_equal(accuracy("graphs", "PTC-gin", "pathgcn", 4, 0), 75.2, 1e-5);
    assert_float_equal(accuracy("graphs", "NCI1-gin", "gin", 5, 0), 82.7, 1e-5);
    assert_float_equal(accuracy("ppi", "ppi", "", 3, 0), 99.61, 1e-5);
}

static void test_paper_other_cells_have_no_number(void **state) {
    (void)state;
    assert_null(exp_paper_find("semi", "cora", "", 3, 0));
    assert_null(exp_paper_find("semi", "karate", "", 2, 0));
    assert_null(exp_paper_find("semi", "cora:largest-component", "", 2, 0));
    assert_null(exp_paper_find("full", "film:directed,stratified=60/20/20", "", 2, 0));
    assert_non_null(exp_paper_find("full", "film:directed,self-loops", "", 2, 0));
    assert_null(exp_paper_find("full", "fil", "", 2, 0));
    assert_null(exp_paper_find("variants", "cora", "full", 2, 0));
    assert_null(exp_paper_find("paths", "cora", "", 2, 10));
}

/* Its text: depth-wise beats the others at every depth; its last row of the variants is the semi-
 * supervised table; stochastic and deterministic inference differ by at most 0.1. */
static void test_paper_claims_of_the_text_hold(void **state) {
    (void)state;
    static const char *const sets[] = {"cora", "citeseer", "pubmed"};
    int numbers = 0;
    for (int s = 0; s < 3; s++)
        for (int layers = 2; layers <= 64; layers *= 2) {
            double best = accuracy("semi", sets[s], "", layers, 0);
            assert_float_equal(accuracy("variants", sets[s], "depthwise", layers, 0), best, 1e-5);
            assert_true(accuracy("variants", sets[s], "layer", layers, 0) < best);
            assert_true(accuracy("variants", sets[s], "global", layers, 0) < best);
            assert_true(accuracy("semi", sets[s], "", 64, 0) >= best);
        }
    for (const exp_paper *n; (n = exp_paper_get(numbers)); numbers++) {
        assert_in_range((int)n->accuracy, 37, 99);
        assert_non_null(n->source);
        if (strcmp(n->experiment, "inference") == 0)
            assert_true(fabs(n->accuracy - n->stochastic) < 0.1);
    }
    assert_int_equal(numbers, 18 + 10 + 6 + 54 + 3 + 8 + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paper_known_cells_are_found),
        cmocka_unit_test(test_paper_other_cells_have_no_number),
        cmocka_unit_test(test_paper_claims_of_the_text_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
