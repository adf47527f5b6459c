/* Measures: hand-computed values, ties, classes that are not there, and a plain reference that counts
 * pairs and thresholds one by one. */
#include "graphs_help.h"
#include "nn_help.h"

#include <math.h>

/* ---- a plain reference --------------------------------------------------------------------------- */

/* Share of pairs (of the class, not of it) that are in the right order; ties count half. */
static double plain_auc(const float *score, const int *is, int n) {
    double right = 0, pairs = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (!is[i] || is[j]) continue;
            pairs++;
            right += score[i] > score[j] ? 1 : score[i] == score[j] ? 0.5 : 0;
        }
    return 100 * right / pairs;
}

/* Mean over the items of the class of the precision among all that score at least as high. */
static double plain_average_precision(const float *score, const int *is, int n) {
    double sum = 0, all = 0;
    for (int i = 0; i < n; i++) {
        double said = 0, hits = 0;
        if (!is[i]) continue;
        for (int j = 0; j < n; j++) {
            said += score[j] >= score[i];
            hits += is[j] && score[j] >= score[i];
        }
        sum += hits / said;
        all++;
    }
    return 100 * sum / all;
}

/* ---- helpers ------------------------------------------------------------------------------------- */

/* Two classes, of which class 1 has these probabilities. */
static void two_classes(pgcn_i_tally *tally, const float *score, const int *label, int n) {
    assert_int_equal(pgcn_i_tally_init(tally, n, 2, false), PGCN_OK);
    for (int i = 0; i < n; i++)
        pgcn_i_tally_add(tally, (float[]){1 - score[i], score[i]}, label[i], NULL);
}

static void expect(pgcn_i_tally *tally, pgcn_measure measure, double percent) {
    double found = pgcn_i_tally_measure(tally, measure);
    if (isnan(percent))
        assert_true(isnan(found));
    else
        assert_close(found, percent, 1e-9);
}

/* ---- names --------------------------------------------------------------------------------------- */

static void test_measures_names_are_read_back(void **state) {
    (void)state;
    for (int m = 0; m < PGCN_MEASURES; m++) {
        pgcn_measure found = PGCN_MEASURE_ACCURACY;
        assert_true(pgcn_measure_parse(pgcn_measure_name((pgcn_measure)m), &found));
        assert_int_equal(found, m);
        /* --select names them by the same words, after loss */
        pgcn_config config = pgcn_config_default();
        assert_int_equal(pgcn_config_set(&config, "select", pgcn_measure_name((pgcn_measure)m)),
                         PGCN_OK);
        assert_int_equal(config.select, m + 1);
    }
    pgcn_measure kept = PGCN_MEASURE_AUC;
    assert_false(pgcn_measure_parse("AUC", &kept));
    assert_false(pgcn_measure_parse(NULL, &kept));
    assert_int_equal(kept, PGCN_MEASURE_AUC);
    assert_string_equal(pgcn_measure_name((pgcn_measure)PGCN_MEASURES), "");
}

/* ---- two classes --------------------------------------------------------------------------------- */

/* The example of scikit-learn's documentation: AUC 0.75, average precision 0.8333. */
static void test_measures_of_two_classes_are_as_by_hand(void **state) {
    (void)state;
    pgcn_i_tally tally;
    two_classes(&tally, (float[]){0.1f, 0.4f, 0.35f, 0.8f}, (int[]){0, 0, 1, 1}, 4);
    expect(&tally, PGCN_MEASURE_AUC, 75);
    expect(&tally, PGCN_MEASURE_AVERAGE_PRECISION, 100 * (1.0 + 2.0 / 3) / 2);
    /* predicted: 0 0 0 1 */
    expect(&tally, PGCN_MEASURE_ACCURACY, 75);
    expect(&tally, PGCN_MEASURE_BALANCED_ACCURACY, 100 * (1 + 0.5) / 2);
    expect(&tally, PGCN_MEASURE_MACRO_F1, 100 * (2 * 2.0 / 5 + 2 * 1.0 / 3) / 2);
    pgcn_i_tally_free(&tally);
}

static void test_measures_with_equal_scores_take_half_and_one_threshold(void **state) {
    (void)state;
    pgcn_i_tally tally;
    two_classes(&tally, (float[]){0.5f, 0.5f, 0.5f, 0.5f}, (int[]){1, 0, 0, 0}, 4);
    expect(&tally, PGCN_MEASURE_AUC, 50);
    expect(&tally, PGCN_MEASURE_AVERAGE_PRECISION, 25);
    pgcn_i_tally_free(&tally);
    /* whatever the order of the items is, and whether zeros have a sign */
    two_classes(&tally, (float[]){0.9f, 0.0f, -0.0f, 0.9f}, (int[]){1, 1, 0, 0}, 4);
    expect(&tally, PGCN_MEASURE_AUC, 50);
    expect(&tally, PGCN_MEASURE_AVERAGE_PRECISION, 50);
    pgcn_i_tally_free(&tally);
}

static void test_measures_of_one_class_alone_are_not_defined_but_accuracy(void **state) {
    (void)state;
    pgcn_i_tally tally;
    pgcn_score score;
    two_classes(&tally, (float[]){0.2f, 0.7f}, (int[]){0, 0}, 2);
    expect(&tally, PGCN_MEASURE_AUC, NAN);
    expect(&tally, PGCN_MEASURE_AVERAGE_PRECISION, NAN);
    expect(&tally, PGCN_MEASURE_BALANCED_ACCURACY, 50); /* of the one class that is there */
    expect(&tally, PGCN_MEASURE_MACRO_F1, 100 * (2 * 1.0 / 3 + 0) / 2);
    pgcn_i_tally_clear(&tally);
    pgcn_i_tally_score(&tally, &score);
    assert_true(isnan(score.auc) && isnan(score.macro_f1) && isnan(score.balanced_accuracy));
    assert_int_equal(score.classes_missed, 0);
    assert_int_equal(score.first_missed, -1);
    pgcn_i_tally_free(&tally);
}

/* ---- more classes -------------------------------------------------------------------------------- */

/* Four classes of which the last has no item and class 2 is never predicted. */
static void test_measures_leave_out_classes_that_are_not_there(void **state) {
    (void)state;
    static const float p[5][4] = {{0.7f, 0.1f, 0.1f, 0.1f},
                                  {0.4f, 0.3f, 0.2f, 0.1f},
                                  {0.1f, 0.8f, 0.05f, 0.05f},
                                  {0.2f, 0.6f, 0.2f, 0},
                                  {0.5f, 0.1f, 0.4f, 0}};
    static const int label[5] = {0, 0, 1, 1, 2};
    pgcn_i_tally tally;
    pgcn_score score;
    assert_int_equal(pgcn_i_tally_init(&tally, 5, 4, false), PGCN_OK);
    for (int i = 0; i < 5; i++) pgcn_i_tally_add(&tally, p[i], label[i], NULL);
    pgcn_i_tally_score(&tally, &score);
    assert_close(score.balanced_accuracy, 100 * (1 + 1 + 0) / 3.0, 1e-9);
    assert_close(score.macro_f1, 100 * (2 * 2.0 / 5 + 1 + 0) / 3, 1e-9);
    assert_int_equal(score.classes_missed, 1);
    assert_int_equal(score.first_missed, 2);
    /* class 0 against the rest: 5 of 6 pairs; classes 1 and 2: all */
    assert_close(score.auc, 100 * (5.0 / 6 + 1 + 1) / 3, 1e-9);
    assert_close(score.average_precision, 100 * ((1 + 2.0 / 3) / 2 + 1 + 1) / 3, 1e-9);
    pgcn_i_tally_free(&tally);
}

/* ---- several labels ------------------------------------------------------------------------------ */

static void test_measures_of_several_labels_are_means_over_labels(void **state) {
    (void)state;
    static const float p[4][3] = {
        {0.9f, 0.2f, 0.1f}, {0.6f, 0.7f, 0.1f}, {0.3f, 0.8f, 0.1f}, {0.2f, 0.4f, 0.1f}};
    static const uint8_t labels[4][3] = {{1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0, 1, 0}};
    pgcn_i_tally tally;
    assert_int_equal(pgcn_i_tally_init(&tally, 4, 3, true), PGCN_OK);
    for (int i = 0; i < 4; i++) pgcn_i_tally_add(&tally, p[i], 0, labels[i]);
    /* label 0: found 1 of 2, others 1 of 2; label 1: 2 of 3 and 1 of 1; label 2 is nowhere */
    expect(&tally, PGCN_MEASURE_BALANCED_ACCURACY, 100 * (0.5 + (2.0 / 3 + 1) / 2) / 2);
    expect(&tally, PGCN_MEASURE_MACRO_F1, 100 * (2 * 1.0 / 4 + 2 * 2.0 / 5) / 2);
    expect(&tally, PGCN_MEASURE_ACCURACY, 100 * 2 * 3.0 / (5 + 4)); /* micro-averaged F1 */
    expect(&tally, PGCN_MEASURE_AUC, 100 * (3.0 / 4 + 1) / 2);
    pgcn_i_tally_free(&tally);
}

/* ---- the reference ------------------------------------------------------------------------------- */

/* Many ties, negative scores, sizes from 2 items on. */
static void test_measures_agree_with_the_plain_reference(void **state) {
    (void)state;
    uint32_t random = 1;
    for (int n = 2; n < 200; n += 7) {
        float score[200];
        int is[200];
        pgcn_i_tally tally;
        for (int i = 0; i < n; i++) {
            random = random * 1664525u + 1013904223u;
            score[i] = (float)(random >> 24) / (n % 2 ? 16.0f : 1e6f) - 3.0f;
            if (n % 3) score[i] = rintf(score[i]);
            is[i] = i < 2 ? i : (int)(random >> 16 & 1);
        }
        two_classes(&tally, score, is, n);
        expect(&tally, PGCN_MEASURE_AUC, plain_auc(score, is, n));
        expect(&tally, PGCN_MEASURE_AVERAGE_PRECISION, plain_average_precision(score, is, n));
        pgcn_i_tally_free(&tally);
    }
}

/* ---- the majority -------------------------------------------------------------------------------- */

static void test_measures_majority_is_that_of_the_training_items(void **state) {
    (void)state;
    static const int32_t label[7] = {2, 2, 0, 1, 1, 2, -1};
    static const uint8_t train[7] = {1, 1, 1, 0, 0, 0, 1}, val[7] = {0, 0, 0, 1, 1, 1, 0};
    const pgcn_i_target trained = {.label = label, .mask = train, .masked = 3};
    const pgcn_i_target part = {.label = label, .mask = val, .masked = 3};
    const pgcn_i_target none = {.label = label, .mask = val, .masked = 0};
    double majority;
    assert_int_equal(pgcn_i_majority(&trained, &part, 7, 3, &majority), PGCN_OK);
    assert_close(majority, 100.0 / 3, 1e-9); /* class 2, though class 1 leads there */
    assert_int_equal(pgcn_i_majority(&none, &part, 7, 3, &majority), PGCN_OK);
    assert_true(isnan(majority));
    static const uint8_t one_each[7] = {1, 0, 1, 1, 0, 0, 0}, four[7] = {0, 1, 0, 0, 1, 1, 0};
    const pgcn_i_target tied = {.label = label, .mask = one_each, .masked = 3};
    const pgcn_i_target judged = {.label = label, .mask = four, .masked = 3};
    assert_int_equal(pgcn_i_majority(&tied, &judged, 7, 3, &majority), PGCN_OK);
    assert_close(majority, 200.0 / 3, 1e-9); /* a tie: class 2, which these have most */
    static const uint8_t labels[4][2] = {{1, 0}, {1, 1}, {1, 0}, {0, 1}};
    static const uint8_t first[4] = {1, 1, 0, 0}, rest[4] = {0, 0, 1, 1};
    const pgcn_i_target several = {.labels = labels[0], .mask = first, .masked = 2};
    const pgcn_i_target tested = {.labels = labels[0], .mask = rest, .masked = 2};
    assert_int_equal(pgcn_i_majority(&several, &tested, 4, 2, &majority), PGCN_OK);
    assert_close(majority, 100 * 2 * 1.0 / (1 + 1 + 2), 1e-9); /* label 0 for both */
}

/* ---- in training --------------------------------------------------------------------------------- */

static void assert_same_measures(const pgcn_score *a, const pgcn_score *b) {
    for (int m = 0; m < PGCN_MEASURES; m++) {
        double x = pgcn_score_measure(a, (pgcn_measure)m);
        assert_true(x == pgcn_score_measure(b, (pgcn_measure)m));
        assert_true(x >= 0 && x <= 100);
    }
    assert_true(a->majority == b->majority);
    assert_int_equal(a->classes_missed, b->classes_missed);
    assert_int_equal(a->first_missed, b->first_missed);
}

/* History, trainer and model tell the same of the best weights: one graph, graphs, several labels. */
static void test_measures_are_the_same_in_history_trainer_and_model(void **state) {
    (void)state;
    static const char text[] = "channels=6 epochs=30 patience=0 samples=1 consistency=0 "
                               "dropout-hidden=0.2 select=";
    for (int m = 0; m < 4 * PGCN_MEASURES; m++) {
        pgcn_measure measure = (pgcn_measure)(m % PGCN_MEASURES);
        char settings[256];
        snprintf(settings, sizeof settings, "%s%s", text, pgcn_measure_name(measure));
        int kind = m / PGCN_MEASURES;
        pgcn_dataset *data =
            kind == 0   ? dataset("sbm:nodes=200,features=12,classes=3")
            : kind == 1 ? set_of(set_new(PGCN_TASK_GRAPH, false, 60), "kfold=3")
            : kind == 2 ? set_of(set_new(PGCN_TASK_MULTILABEL, true, 12), "random=40/30/30")
                        : dataset("karate");
        pgcn_trainer *trainer = trainer_of(data, settings);
        pgcn_model *model;
        pgcn_scores scores;
        pgcn_score val, test;
        run_epochs(trainer, 29);
        must(pgcn_trainer_scores(trainer, &val, &test));
        run_epochs(trainer, 1); /* and training goes on as if nothing had been asked */
        must(pgcn_trainer_scores(trainer, &val, &test));
        must(pgcn_trainer_model(trainer, &model));
        must(pgcn_model_evaluate(model, data, NULL, &scores));
        const pgcn_epoch *best = &trainer->progress.history[pgcn_model_epoch(model) - 1];
        assert_same_measures(&val, &scores.val);
        assert_same_measures(&test, &scores.test);
        assert_true(best->val_measure == pgcn_score_measure(&val, measure));
        assert_true(best->test_measure == pgcn_score_measure(&test, measure));
        assert_true(val.majority > 0 || kind == 2);
        pgcn_model_free(model);
        pgcn_trainer_free(trainer);
        pgcn_dataset_free(data);
    }
}

static void test_measures_asked_for_change_nothing_of_the_run(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *asked = trainer_of(data, "channels=6 epochs=30 batch-norm=yes");
    pgcn_trainer *silent = trainer_of(data, "channels=6 epochs=30 batch-norm=yes");
    pgcn_score val, test;
    must_fail(pgcn_trainer_scores(asked, &val, &test), PGCN_ERR_ARGUMENT, "no epoch was evaluated");
    for (int e = 0; e < 20; e++) {
        run_epochs(asked, 1), run_epochs(silent, 1);
        must(pgcn_trainer_scores(asked, &val, &test));
    }
    assert_same_weights(&asked->params, &silent->params, "scores asked for in between");
    pgcn_trainer_free(asked), pgcn_trainer_free(silent);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measures_names_are_read_back),
        cmocka_unit_test(test_measures_of_two_classes_are_as_by_hand),
        cmocka_unit_test(test_measures_with_equal_scores_take_half_and_one_threshold),
        cmocka_unit_test(test_measures_of_one_class_alone_are_not_defined_but_accuracy),
        cmocka_unit_test(test_measures_leave_out_classes_that_are_not_there),
        cmocka_unit_test(test_measures_of_several_labels_are_means_over_labels),
        cmocka_unit_test(test_measures_agree_with_the_plain_reference),
        cmocka_unit_test(test_measures_majority_is_that_of_the_training_items),
        cmocka_unit_test(test_measures_are_the_same_in_history_trainer_and_model),
        cmocka_unit_test(test_measures_asked_for_change_nothing_of_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
