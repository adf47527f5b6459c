/* Several models: the mean of their probabilities, of nodes, labels and graphs, exactly and by draws; and what cannot be
 * asked together. */
#include "graphs_help.h"
#include "scratch_help.h"
#include "trainer_help.h"

#define QUICK "channels=8 epochs=3 patience=0 samples=1 consistency=0 "

enum { MEMBERS = 3 };

static void make_members(const pgcn_dataset *data, pgcn_model *member[MEMBERS]) {
    static const char *const texts[MEMBERS] = {QUICK "split=0 layers=2 seed=1",
                                               QUICK "split=0 layers=1 seed=2",
                                               QUICK "split=0 layers=2 seed=3 model=mlp"};
    for (int m = 0; m < MEMBERS; m++) member[m] = model_after_three(data, texts[m]);
}

static void free_members(pgcn_model *member[MEMBERS]) {
    for (int m = 0; m < MEMBERS; m++) pgcn_model_free(member[m]);
}

/* By hand: sums in double, in the order of the models. */
static void check_mean(pgcn_model *const *member, int members, const pgcn_dataset *data,
                       int draws) {
    pgcn_inference inference = pgcn_inference_default();
    inference.draws = draws;
    size_t count = (size_t)(data->info.items * data->classes);
    float *mean = test_malloc((2 + MEMBERS) * count * sizeof *mean), *deviation = mean + count;
    float *alone = deviation + count;
    must(pgcn_models_predict((const pgcn_model *const *)member, members, data, &inference, mean,
                             deviation));
    for (int m = 0; m < members; m++)
        must(pgcn_model_predict(member[m], data, &inference, alone + (size_t)m * count, NULL));
    for (size_t i = 0; i < count; i++) {
        double sum = 0, squares = 0;
        for (int m = 0; m < members; m++) sum += (double)alone[(size_t)m * count + i];
        for (int m = 0; m < members; m++) {
            double d = (double)alone[(size_t)m * count + i] - sum / members;
            squares += d * d;
        }
        assert_true(mean[i] == (float)(sum / members));
        double expected = members > 1 ? sqrt(squares / (members - 1)) : 0;
        if (draws == 0) assert_true(fabs((double)deviation[i] - expected) < 1e-6);
    }
    test_free(mean);
}

static void test_ensemble_predicts_the_mean_of_its_models(void **state) {
    (void)state;
    static const char *const names[] = {"sbm:nodes=200,features=8,classes=3",
                                        "sbm:nodes=100,features=8,classes=2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pgcn_dataset *data = dataset(names[i]);
        pgcn_model *member[MEMBERS];
        make_members(data, member);
        check_mean(member, MEMBERS, data, 0);
        check_mean(member, 2, data, 2); /* an mlp has no walks to draw */
        check_mean(member, 1, data, 0);
        free_members(member);
        pgcn_dataset_free(data);
    }
}

static double accuracy_on_test(const pgcn_dataset *data, const float *probability) {
    const uint8_t *test;
    int64_t hits = 0, items = 0;
    pgcn_dataset_split(data, 0, NULL, NULL, &test);
    for (int64_t i = 0; i < data->info.items; i++) {
        const float *row = probability + i * data->classes;
        int best = 0;
        for (int c = 1; c < data->classes; c++)
            if (row[c] > row[best]) best = c;
        items += test[i];
        hits += test[i] && best == data->from.label[i];
    }
    return 100.0 * (double)hits / (double)items;
}

static void test_ensemble_is_scored_by_its_mean(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("sbm:nodes=200,features=8,classes=3");
    pgcn_model *member[MEMBERS];
    const pgcn_model *const *members = (const pgcn_model *const *)member;
    pgcn_scores scores, alone;
    pgcn_verdict *verdict;
    float probability[200 * 3];
    double sum = 0;
    make_members(data, member);
    must(pgcn_models_predict(members, MEMBERS, data, NULL, probability, NULL));
    must(pgcn_models_judge(members, MEMBERS, data, NULL, &scores, &verdict));
    assert_true(fabs(scores.test.accuracy - accuracy_on_test(data, probability)) < 1e-9);
    pgcn_verdict_free(verdict);
    for (int m = 0; m < MEMBERS; m++) {
        must(pgcn_model_evaluate(member[m], data, NULL, &alone));
        sum += alone.test.accuracy;
    }
    assert_true(fabs(scores.test.draw_accuracy - sum / MEMBERS) < 1e-9);
    assert_true(scores.test.draw_deviation > 0);
    free_members(member);
    pgcn_dataset_free(data);
}

static void test_ensemble_refuses_what_does_not_go_together(void **state) {
    (void)state;
    pgcn_dataset *three = dataset("sbm:nodes=200,features=8,classes=3");
    pgcn_dataset *two = dataset("sbm:nodes=200,features=8,classes=2");
    pgcn_model *member[2] = {model_after_three(three, QUICK "split=0"),
                             model_after_three(two, QUICK "split=0")};
    const pgcn_model *const *members = (const pgcn_model *const *)member;
    float probability[200 * 3];
    pgcn_scores scores;
    pgcn_verdict *verdict;
    assert_int_equal(pgcn_models_predict(members, 0, three, NULL, probability, NULL),
                     PGCN_ERR_ARGUMENT);
    assert_int_equal(pgcn_models_predict(NULL, 2, three, NULL, probability, NULL),
                     PGCN_ERR_ARGUMENT);
    assert_int_equal(pgcn_models_predict(members, 2, three, NULL, probability, NULL),
                     PGCN_ERR_MISMATCH);
    assert_non_null(strstr(pgcn_last_error(), "3 classes of sbm"));
    const pgcn_model *const twice[] = {member[0], member[0]};
    assert_int_equal(pgcn_models_predict(twice, 2, three, NULL, probability, NULL),
                     PGCN_ERR_ARGUMENT);
    assert_non_null(strstr(pgcn_last_error(), "models 1 and 2 are the same"));
    pgcn_model_free(member[1]);
    member[1] = model_after_three(three, QUICK "split=1");
    must(pgcn_models_predict(members, 2, three, NULL, probability, NULL));
    assert_int_equal(pgcn_models_judge(members, 2, three, NULL, &scores, &verdict),
                     PGCN_ERR_MISMATCH);
    assert_non_null(strstr(pgcn_last_error(), "different splits, 0 and 1"));
    pgcn_model_free(member[0]);
    pgcn_model_free(member[1]);
    pgcn_dataset_free(two);
    pgcn_dataset_free(three);
}

static pgcn_model *second_model;

static pgcn_status ask_twice(void) {
    const pgcn_model *member[2] = {memory_model, second_model};
    float probability[60 * 2];
    pgcn_scores scores;
    pgcn_verdict *verdict;
    PGCN_TRY(pgcn_models_predict(member, 2, memory_data, NULL, probability, NULL));
    PGCN_TRY(pgcn_models_judge(member, 2, memory_data, NULL, &scores, &verdict));
    pgcn_verdict_free(verdict);
    return PGCN_OK;
}

static void test_ensemble_without_memory_fails_cleanly(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("sbm:nodes=60,features=4,classes=2");
    memory_data = data;
    memory_model = model_after_three(data, QUICK "split=0 seed=1");
    second_model = model_after_three(data, QUICK "split=0 seed=2");
    assert_true(fail_every_allocation(ask_twice) > 40);
    pgcn_model_free(memory_model);
    pgcn_model_free(second_model);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ensemble_predicts_the_mean_of_its_models),
        cmocka_unit_test(test_ensemble_is_scored_by_its_mean),
        cmocka_unit_test(test_ensemble_refuses_what_does_not_go_together),
        cmocka_unit_test(test_ensemble_without_memory_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
