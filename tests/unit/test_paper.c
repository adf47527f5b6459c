/* The numbers of the paper: looked up by table, data set, system and depth; the claims of its text hold
 * in the table, so that a mistyped number is seen. */
#include "experiments/reproduce.h"
#include "unit/nn_help.h"

static const exp_paper *find(exp_place place, const char *dataset, const char *system, int layers,
                             int value) {
    return exp_paper_find((exp_place[]){place, EXP_NOWHERE}, dataset, system, layers, value);
}

static double accuracy(exp_place place, const char *dataset, const char *system, int layers) {
    const exp_paper *found = find(place, dataset, system, layers, 0);
    return found ? found->accuracy : -1;
}

static double ours(exp_place place, const char *dataset, int layers) {
    return accuracy(place, dataset, "pathGCN", layers);
}

static void test_paper_known_cells_are_found(void **state) {
    (void)state;
    assert_float_equal(ours(EXP_TABLE_3, "cora", 2), 84.2, 1e-5);
    assert_float_equal(ours(EXP_TABLE_3, "pubmed", 64), 82.7, 1e-5);
    assert_float_equal(ours(EXP_TABLE_4, "texas", 2), 95.14, 1e-5); /* at any depth of ours */
    assert_float_equal(ours(EXP_TABLE_6, "wikics", 0), 80.02, 1e-5);
    assert_float_equal(accuracy(EXP_TABLE_11, "citeseer", "pathGCN_G", 32), 72.6, 1e-5);
    assert_float_equal(find(EXP_FIGURE_5_PATHS, "cora", "pathGCN", 2, 5)->accuracy, 84.2, 1e-5);
    const exp_paper *found = find(EXP_TABLE_9, "wisconsin", "pathGCN", 1, 0);
    assert_float_equal(found->accuracy, 93.51, 1e-5);
    assert_float_equal(found->stochastic, 93.53, 1e-5);
    assert_float_equal(found->deviation, 0.21, 1e-5);
    assert_int_equal(found->layers, 16);
    assert_float_equal(ours(EXP_TABLE_8, "PTC-gin", 4), 75.2, 1e-5);
    assert_float_equal(accuracy(EXP_TABLE_8, "NCI1-gin", "GIN", 5), 82.7, 1e-5);
    assert_float_equal(ours(EXP_TABLE_7, "ppi", 3), 99.61, 1e-5);
    const exp_place full[] = {EXP_TABLE_4, EXP_TABLE_5, EXP_TABLE_6, EXP_NOWHERE};
    assert_float_equal(exp_paper_find(full, "film", "pathGCN", 2, 0)->accuracy, 37.54, 1e-5);
}

static void test_paper_systems_are_those_of_its_tables(void **state) {
    (void)state;
    assert_float_equal(accuracy(EXP_TABLE_2, "pubmed", "APPNP", 10), 80.1, 1e-5);
    assert_float_equal(accuracy(EXP_TABLE_3, "citeseer", "GCN (Drop)", 8), 61.4, 1e-5);
    assert_float_equal(accuracy(EXP_TABLE_3, "pubmed", "Incep", 16), 74.9, 1e-5);
    assert_float_equal(accuracy(EXP_TABLE_4, "wisconsin", "GCNII*", 1), 81.57, 1e-5);
    assert_float_equal(accuracy(EXP_TABLE_5, "ogbn-arxiv", "SGC", 1), 69.2, 1e-5);
    assert_float_equal(accuracy(EXP_TABLE_7, "ppi", "GraphSAGE", 2), 61.2, 1e-5);
    const exp_paper *ign = find(EXP_TABLE_8, "MUTAG-gin", "IGN", 1, 0);
    assert_float_equal(ign->accuracy, 83.9, 1e-5);
    assert_float_equal(ign->deviation, 13, 1e-5);
    /* cells that it leaves empty */
    assert_null(find(EXP_TABLE_2, "citeseer", "EGNN", 0, 0));
    assert_null(find(EXP_TABLE_3, "cora", "JKNet", 2, 0));
    assert_null(find(EXP_TABLE_3, "pubmed", "Incep (Drop)", 32, 0));
    assert_null(find(EXP_TABLE_5, "film", "GRAND", 0, 0));
}

static void test_paper_other_cells_have_no_number(void **state) {
    (void)state;
    assert_null(find(EXP_TABLE_3, "cora", "pathGCN", 3, 0));
    assert_null(find(EXP_TABLE_3, "karate", "pathGCN", 2, 0));
    assert_null(find(EXP_TABLE_3, "cora:largest-component", "pathGCN", 2, 0));
    assert_null(find(EXP_TABLE_5, "film:directed,stratified=60/20/20", "pathGCN", 2, 0));
    assert_non_null(find(EXP_TABLE_5, "film:directed,self-loops", "pathGCN", 2, 0));
    assert_null(find(EXP_TABLE_5, "fil", "pathGCN", 2, 0));
    assert_null(find(EXP_TABLE_11, "cora", "full", 2, 0));
    assert_null(find(EXP_FIGURE_5_PATHS, "cora", "pathGCN", 2, 10));
    assert_null(find(EXP_NOWHERE, "cora", "pathGCN", 2, 0));
}

/* Its text: depth-wise beats the others at every depth; its last row of the variants is the semi-
 * supervised table, whose best depths are the summary; stochastic and deterministic inference
 * differ by at most 0.1. */
static void test_paper_claims_of_the_text_hold(void **state) {
    (void)state;
    static const char *const sets[] = {"cora", "citeseer", "pubmed"};
    int numbers = 0, empty = 0;
    for (int s = 0; s < 3; s++)
        for (int layers = 2; layers <= 64; layers *= 2) {
            double best = ours(EXP_TABLE_3, sets[s], layers);
            assert_float_equal(ours(EXP_TABLE_11, sets[s], layers), best, 1e-5);
            assert_true(accuracy(EXP_TABLE_11, sets[s], "pathGCN_PL", layers) < best);
            assert_true(accuracy(EXP_TABLE_11, sets[s], "pathGCN_G", layers) < best);
            assert_true(ours(EXP_TABLE_2, sets[s], 64) >= best);
        }
    for (const exp_paper *n; (n = exp_paper_get(numbers)); numbers++) {
        assert_non_null(exp_paper_source(n->place));
        empty += isnan(n->accuracy);
        if (isnan(n->accuracy)) continue;
        assert_in_range((int)n->accuracy, 18, 99);
        if (n->place == EXP_TABLE_9) assert_true(fabs(n->accuracy - n->stochastic) < 0.1);
    }
    assert_int_equal(numbers, 30 + 32 * 6 + 13 * 7 + 20 + 5 + 11 + 24 + 6 + 54 + 6 + 3);
    assert_int_equal(empty, 1 + 12 + 4 + 6 + 3); /* 2: EGNN; 3: JKNet, Incep, EGNN; 5 */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paper_known_cells_are_found),
        cmocka_unit_test(test_paper_systems_are_those_of_its_tables),
        cmocka_unit_test(test_paper_other_cells_have_no_number),
        cmocka_unit_test(test_paper_claims_of_the_text_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
