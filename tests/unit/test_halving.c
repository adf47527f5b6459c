/* Successive halving: the rungs, what they cost, and the ranking. */
#include "experiments/tune.h"
#include "unit/nn_help.h"

static void assert_rungs(int candidates, int runs, int keep, int count, const pgcn_rung *wanted) {
    pgcn_rung rung[PGCN_MOST_RUNGS];
    assert_int_equal(pgcn_halving(candidates, runs, keep, rung), count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(rung[i].candidates, wanted[i].candidates);
        assert_int_equal(rung[i].runs, wanted[i].runs);
    }
}

static void test_rungs_fewer_candidates_have_more_runs(void **state) {
    (void)state;
    assert_rungs(60, 10, 3, 3, (pgcn_rung[]){{60, 2}, {20, 4}, {7, 10}});
    assert_rungs(27, 9, 3, 3, (pgcn_rung[]){{27, 1}, {9, 3}, {3, 9}});
    assert_rungs(8, 4, 2, 3, (pgcn_rung[]){{8, 1}, {4, 2}, {2, 4}});
    assert_rungs(2, 10, 3, 1, (pgcn_rung[]){{2, 10}}); /* too few to halve */
    assert_rungs(60, 2, 3, 1, (pgcn_rung[]){{60, 2}}); /* too few runs to halve */
    assert_rungs(5, 1000, 5, 2, (pgcn_rung[]){{5, 200}, {1, 1000}});
}

static void test_rungs_cost_counts_no_run_twice(void **state) {
    (void)state;
    const pgcn_rung rung[] = {{60, 2}, {20, 4}, {7, 10}};
    assert_int_equal(exp_rungs_trainings(rung, 3), 60 * 2 + 20 * 2 + 7 * 6);
    assert_int_equal(exp_rungs_trainings(rung, 1), 120);
}

static void assert_order(exp_score *score, int count, bool by_loss, const int *numbers) {
    exp_rank(score, count, by_loss);
    for (int i = 0; i < count; i++) assert_int_equal(score[i].number, numbers[i]);
}

static void test_rank_by_accuracy_then_loss_then_number(void **state) {
    (void)state;
    exp_score score[] = {{0, 4, false, 80, 0, 0.5, 0}, {1, 4, false, 81, 0, 0.9, 0},
                         {2, 4, false, 81, 0, 0.8, 0}, {3, 4, true, 99, 0, 0.1, 0},
                         {4, 2, false, 95, 0, 0.1, 0}, {5, 4, false, 80, 0, 0.5, 0}};
    assert_order(score, 6, false, (int[]){2, 1, 0, 5, 4, 3});
    assert_order(score, 6, true, (int[]){0, 5, 2, 1, 4, 3});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rungs_fewer_candidates_have_more_runs),
        cmocka_unit_test(test_rungs_cost_counts_no_run_twice),
        cmocka_unit_test(test_rank_by_accuracy_then_loss_then_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
