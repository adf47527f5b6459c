/* Means over runs: the deviation of a sample, the epoch that folds choose together, and the 95 %
 * interval of a mean. */
#include "experiments/reproduce.h"
#include "unit/nn_help.h"

enum { MOST = 4 };

static void assert_near(double got, double wanted, double most) {
    assert_true(fabs(got - wanted) <= most);
}

/* Jobs that are done, with a record each. */
typedef struct runs {
    exp_job job[MOST];
    exp_jobs jobs;
    size_t index[MOST];
} runs;

static void runs_make(runs *r, json_t *const *record, int count) {
    *r = (runs){.jobs = {.count = (size_t)count, .job = r->job}};
    for (int i = 0; i < count; i++) {
        r->index[i] = (size_t)i;
        r->job[i].state = EXP_DONE;
        r->job[i].record = record[i];
    }
}

static void runs_free(runs *r) {
    for (size_t i = 0; i < r->jobs.count; i++) json_decref(r->job[i].record);
}

static void test_spread_deviation_is_that_of_a_sample(void **state) {
    (void)state;
    exp_tally tally = {0};
    assert_true(isnan(exp_tally_spread(&tally).mean));
    exp_tally_add(&tally, 2);
    assert_near(exp_tally_spread(&tally).mean, 2, 1e-6);
    assert_true(exp_tally_spread(&tally).deviation == 0);
    exp_tally_add(&tally, 4);
    exp_tally_add(&tally, 9); /* squares of the distances from 5: 9, 1, 16; divided by 2 */
    assert_near(exp_tally_spread(&tally).mean, 5, 1e-6);
    assert_near(exp_tally_spread(&tally).deviation, sqrt(13), 1e-6);
}

static void test_spread_counts_only_jobs_that_are_done(void **state) {
    (void)state;
    json_t *const record[] = {json_pack("{s:f}", "x", 1.0), json_pack("{s:f}", "x", 3.0),
                              json_pack("{s:f}", "x", 100.0)};
    runs r;
    runs_make(&r, record, 3);
    r.job[2].state = EXP_FAILED;
    exp_spread spread = exp_spread_of(&r.jobs, r.index, 3, "x");
    assert_near(spread.mean, 2, 1e-6);
    assert_near(spread.deviation, sqrt(2), 1e-6);
    runs_free(&r);
}

/* Epochs 2 and 4 have the same best mean over the two folds: the first counts, with its own spread. */
static void test_common_epoch_is_the_first_of_equal_ones(void **state) {
    (void)state;
    json_t *const record[] = {json_pack("{s:[f,f,f,f]}", "val_curve", 60.0, 80.0, 70.0, 90.0),
                              json_pack("{s:[f,f,f,f]}", "val_curve", 60.0, 90.0, 70.0, 80.0)};
    runs r;
    exp_spread at;
    runs_make(&r, record, 2);
    assert_int_equal(exp_common_epoch(&r.jobs, r.index, 2, &at), 2);
    assert_near(at.mean, 85, 1e-6);
    assert_near(at.deviation, sqrt(50), 1e-5);
    runs_free(&r);
}

static void test_common_epoch_is_one_that_every_fold_evaluated(void **state) {
    (void)state;
    json_t *const record[] = {json_pack("{s:[f,n,f,f]}", "val_curve", 60.0, 70.0, 99.0),
                              json_pack("{s:[f,f,f]}", "val_curve", 60.0, 99.0, 72.0)};
    runs r;
    exp_spread at;
    runs_make(&r, record, 2);
    assert_int_equal(exp_common_epoch(&r.jobs, r.index, 2, &at), 3); /* 2 and 4 lack one of them */
    assert_near(at.mean, 71, 1e-6);
    assert_int_equal(exp_common_epoch(&r.jobs, r.index, 0, &at), 0);
    assert_true(isnan(at.mean));
    runs_free(&r);
}

/* ---- the 95 % interval ------------------------------------------------------------------------- */

static void test_interval_has_the_quantiles_of_students_t(void **state) {
    (void)state;
    static const struct {
        long long count;
        double t; /* 0.975 quantile with count - 1 degrees of freedom, from printed tables */
    } known[] = {{2, 12.7062},  {3, 4.3027},    {4, 3.1824},     {5, 2.7764},  {10, 2.2622},
                 {20, 2.0930},  {30, 2.0452},   {31, 2.0423},    {61, 2.0003}, {101, 1.9840},
                 {121, 1.9799}, {1001, 1.9623}, {100000, 1.9600}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double half = cli_interval_95(1, known[i].count);
        assert_near(half * sqrt((double)known[i].count), known[i].t, 6e-5);
    }
    assert_near(cli_interval_95(0.48, 20), 2.093024 * 0.48 / sqrt(20), 1e-6);
    assert_true(cli_interval_95(0, 5) == 0);
    assert_true(isnan(cli_interval_95(0, 1))); /* of one run it is not known */
}

static void test_interval_of_one_run_is_null_in_json(void **state) {
    (void)state;
    json_t *none = cli_json_interval(80, 0, 1), *untested = cli_json_interval(NAN, NAN, 3);
    json_t *two = cli_json_interval(80, 2, 2);
    assert_true(json_is_null(none) && json_is_null(untested));
    assert_near(json_number_value(json_array_get(two, 0)), 80 - 12.7062 * sqrt(2), 1e-3);
    assert_near(json_number_value(json_array_get(two, 1)), 80 + 12.7062 * sqrt(2), 1e-3);
    json_decref(none), json_decref(untested), json_decref(two);
}

static void test_interval_of_percentages_ends_at_0_and_100(void **state) {
    (void)state;
    double low, high;
    assert_true(cli_interval_of_mean(96.3, 3, 3, &low, &high));
    assert_near(low, 96.3 - 4.302653 * 3 / sqrt(3), 1e-3);
    assert_true(high == 100);
    assert_true(cli_interval_of_mean(1, 2, 2, &low, &high));
    assert_true(low == 0);
    assert_false(cli_interval_of_mean(80, 0, 1, &low, &high));
    assert_false(cli_interval_of_mean(NAN, NAN, 3, &low, &high));
    json_t *clipped = cli_json_interval(96.3, 3, 3);
    assert_true(json_number_value(json_array_get(clipped, 1)) == 100);
    json_decref(clipped);
}

/* docs/PROTOCOL.md, rule 5: above twice its standard error, or else tied. */
static void test_pairs_differ_above_twice_the_standard_error(void **state) {
    (void)state;
    static const struct {
        double difference[3];
        int count;
        exp_verdict verdict;
        const char *words;
    } cases[] = {
        {{1, 2, 3}, 3, EXP_BETTER, "pathgcn better"},  /* 2 and 0.577 */
        {{-1, -2, -3}, 3, EXP_WORSE, "pathgcn worse"}, /* the same below */
        {{0, 1, 2}, 3, EXP_TIED, "tied"},              /* 1 and 0.577 */
        {{0, 0, 0}, 3, EXP_TIED, "tied"},              /* equal */
        {{1, 1, 1}, 3, EXP_BETTER, "pathgcn better"},  /* no error at all */
        {{5}, 1, EXP_UNKNOWN, ""},                     /* nothing to tell it from chance */
        {{0}, 0, EXP_UNKNOWN, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        exp_tally tally = {0};
        for (int k = 0; k < cases[i].count; k++) exp_tally_add(&tally, cases[i].difference[k]);
        exp_pairing pairing = exp_pair(&tally, NAN);
        assert_int_equal(pairing.verdict, cases[i].verdict);
        assert_string_equal(exp_verdict_words[pairing.verdict], cases[i].words);
        assert_true(isnan(pairing.error) == (cases[i].count < 2));
    }
    exp_tally tally = {0};
    for (int k = 0; k < 3; k++) exp_tally_add(&tally, cases[0].difference[k]);
    assert_near(exp_pair(&tally, NAN).mean, 2, 1e-12);
    assert_near(exp_pair(&tally, NAN).error, 1 / sqrt(3), 1e-12);
}

/* Nadeau and Bengio: the error of three splits whose tests are half as large as their training sets is sqrt(1/3 + 1/2)
 * deviations. With two degrees of freedom p = 1 - t / sqrt(2 + t^2). */
static void test_items_that_splits_share_raise_the_error(void **state) {
    (void)state;
    exp_tally tally = {0};
    for (int k = 1; k <= 3; k++) exp_tally_add(&tally, k);
    double alone = 2 * sqrt(3), shared = 2 / sqrt(1.0 / 3 + 0.5);
    exp_pairing apart = exp_pair(&tally, 0), together = exp_pair(&tally, 0.5);
    assert_near(apart.p, 1 - alone / sqrt(2 + alone * alone), 1e-12);
    assert_near(together.p, 1 - shared / sqrt(2 + shared * shared), 1e-12);
    assert_int_equal(together.verdict, EXP_BETTER);
    assert_int_equal(together.strict, EXP_TIED);
    assert_true(
        isnan(exp_pair(&tally, NAN).p)); /* a cell that does not say how large its splits are */
    assert_int_equal(exp_pair(&tally, NAN).strict, EXP_UNKNOWN);
    exp_tally far = {0};
    for (int k = 1; k <= 3; k++) exp_tally_add(&far, -100 + k);
    assert_int_equal(exp_pair(&far, 0.5).strict, EXP_WORSE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread_deviation_is_that_of_a_sample),
        cmocka_unit_test(test_spread_counts_only_jobs_that_are_done),
        cmocka_unit_test(test_common_epoch_is_the_first_of_equal_ones),
        cmocka_unit_test(test_common_epoch_is_one_that_every_fold_evaluated),
        cmocka_unit_test(test_interval_has_the_quantiles_of_students_t),
        cmocka_unit_test(test_interval_of_one_run_is_null_in_json),
        cmocka_unit_test(test_interval_of_percentages_ends_at_0_and_100),
        cmocka_unit_test(test_pairs_differ_above_twice_the_standard_error),
        cmocka_unit_test(test_items_that_splits_share_raise_the_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
