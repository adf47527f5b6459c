/* Training on arrays without a validation mask: no figures, the weights of the last epoch, and whatever
 * would choose by validation is refused. */
#include "nn_help.h"
#include "scratch_help.h"

#include <math.h>

/* Karate under the masks that are asked for, of its first split. */
static pgcn_dataset *karate_with(bool val, bool test) {
    pgcn_dataset *karate = dataset("karate"), *data = NULL;
    pgcn_features x = pgcn_dataset_features(karate);
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    arrays.name = "club";
    arrays.graph = pgcn_dataset_graph(karate);
    arrays.features = x.dense;
    arrays.x_offset = x.offset, arrays.x_column = x.column, arrays.x_value = x.value;
    arrays.n_features = x.columns;
    arrays.label = pgcn_dataset_labels(karate);
    arrays.n_splits = 1;
    pgcn_dataset_split(karate, 0, &arrays.train, &arrays.val, &arrays.test);
    if (!val) arrays.val = NULL;
    if (!test) arrays.test = NULL;
    must(pgcn_dataset_from_arrays(&arrays, &data));
    pgcn_dataset_free(karate);
    return data;
}

static void test_without_validation_the_last_weights_are_kept(void **state) {
    (void)state;
    static const char text[] = "channels=6 epochs=12 patience=3 eval-every=3";
    pgcn_dataset *with = karate_with(true, true), *without = karate_with(false, true);
    pgcn_trainer *chosen = trainer_of(with, "channels=6 epochs=12 patience=0");
    pgcn_trainer *trainer = trainer_of(without, text); /* which a recipe may say: nobody's wish */
    for (int i = 1; i <= 12; i++) {
        pgcn_epoch epoch;
        assert_false(pgcn_trainer_finished(trainer)); /* patience never ends it */
        must(pgcn_trainer_epoch(trainer, &epoch));
        run_epochs(chosen, 1);
        assert_true(epoch.best);
        assert_true(isfinite(epoch.train_loss));
        assert_true(isnan(epoch.val_loss) && isnan(epoch.val_accuracy) && isnan(epoch.val_measure));
        assert_true(isnan(epoch.test_accuracy) && isnan(epoch.test_measure));
        /* the mask that is missing is all that differs */
        assert_same_floats(trainer->params.value, chosen->params.value, chosen->params.total, text);
        assert_same_floats(trainer->params.best, trainer->params.value, chosen->params.total, text);
    }
    assert_true(pgcn_trainer_finished(trainer));
    pgcn_model *model = NULL;
    must(pgcn_trainer_model(trainer, &model));
    assert_int_equal(pgcn_model_epoch(model), 12);
    pgcn_model_free(model);
    pgcn_trainer_free(chosen), pgcn_trainer_free(trainer);
    pgcn_dataset_free(with), pgcn_dataset_free(without);
}

static void test_scores_without_validation_are_those_of_the_test(void **state) {
    (void)state;
    for (int test = 0; test < 2; test++) {
        pgcn_dataset *data = karate_with(false, test);
        pgcn_trainer *trainer = trainer_of(data, "channels=6 epochs=3");
        pgcn_score val_score, test_score;
        run_epochs(trainer, 3);
        must(pgcn_trainer_scores(trainer, &val_score, &test_score));
        assert_true(isnan(val_score.accuracy) && isnan(val_score.loss) && isnan(val_score.auc) &&
                    isnan(val_score.majority) && isnan(val_score.macro_f1));
        assert_int_equal(isfinite(test_score.accuracy), test);
        assert_int_equal(isfinite(test_score.loss), test);
        pgcn_model *model = NULL;
        pgcn_scores scores;
        must(pgcn_trainer_model(trainer, &model));
        must(pgcn_model_evaluate(model, data, NULL, &scores));
        assert_true(isnan(scores.val.accuracy) && isfinite(scores.train.accuracy));
        if (test) assert_true(scores.test.accuracy == test_score.accuracy);
        pgcn_model_free(model);
        pgcn_trainer_free(trainer);
        pgcn_dataset_free(data);
    }
}

static void test_without_validation_what_chooses_by_it_is_refused(void **state) {
    (void)state;
    static const char *const settings_of_choice[][2] = {
        {"select", "auc"}, {"patience", "7"}, {"eval-every", "2"}};
    pgcn_dataset *with = karate_with(true, true), *without = karate_with(false, true);
    for (int i = 0; i < 3; i++) {
        pgcn_config config = pgcn_config_default();
        pgcn_trainer *trainer = NULL;
        must(pgcn_config_set(&config, settings_of_choice[i][0], settings_of_choice[i][1]));
        must(pgcn_config_check_for(&config, with));
        must_fail(pgcn_config_check_for(&config, without), PGCN_ERR_ARGUMENT,
                  settings_of_choice[i][0]);
        must_fail(pgcn_trainer_new(without, &config, &trainer), PGCN_ERR_ARGUMENT,
                  "has no validation items");
        assert_null(trainer);
    }
    pgcn_config config = pgcn_config_default();
    must(pgcn_config_set(&config, "patience", "0")); /* as it is anyway */
    must(pgcn_config_check_for(&config, without));
    pgcn_race *race = NULL;
    must_fail(pgcn_race_new(without, NULL, &race), PGCN_ERR_ARGUMENT, "on validation items");
    must_fail(pgcn_recipe_auto(without, NULL, &config, NULL), PGCN_ERR_ARGUMENT, "has none");
    assert_null(race);
    pgcn_dataset_free(with), pgcn_dataset_free(without);
}

static void test_resume_without_validation_ends_with_the_same_bits(void **state) {
    (void)state;
    static const char text[] = "channels=6 epochs=9 patience=2";
    pgcn_dataset *data = karate_with(false, false), *with = karate_with(true, false);
    pgcn_trainer *whole = trainer_of(data, text), *first = trainer_of(data, text);
    pgcn_trainer *second = trainer_of(data, text), *other = trainer_of(with, text);
    run_epochs(whole, 9), run_epochs(first, 5);
    must(pgcn_trainer_save(first, scratch_path("five")));
    must(pgcn_trainer_resume(second, scratch_path("five")));
    assert_int_equal(second->progress.best, 4);
    assert_false(pgcn_trainer_finished(second));
    run_epochs(second, 4);
    assert_same_weights(&whole->params, &second->params, text);
    assert_int_equal(second->progress.best, 8);
    must_fail(pgcn_trainer_resume(other, scratch_path("five")), PGCN_ERR_MISMATCH,
              "training or validation");
    pgcn_trainer_free(whole), pgcn_trainer_free(first);
    pgcn_trainer_free(second), pgcn_trainer_free(other);
    pgcn_dataset_free(data), pgcn_dataset_free(with);
}

static void test_container_keeps_that_masks_were_not_given(void **state) {
    (void)state;
    for (int val = 0; val < 2; val++) {
        pgcn_dataset *data = karate_with(val, false), *loaded = NULL, *again = NULL;
        must(pgcn_dataset_save(data, scratch_path("club.pgcn")));
        must(pgcn_dataset_load(scratch_path("club.pgcn"), NULL, &loaded));
        must(pgcn_dataset_verify(loaded));
        assert_int_equal(loaded->without_val, !val);
        assert_true(loaded->without_test);
        must(pgcn_dataset_prepare(loaded, "stratified=50/25/25", &again));
        assert_false(again->without_val || again->without_test); /* now there are both */
        pgcn_dataset_free(again), pgcn_dataset_free(loaded), pgcn_dataset_free(data);
    }
}

static bool forbids(void *context) {
    return (*(int *)context)-- > 0;
}

static void test_graphs_without_validation_and_test_can_be_stopped(void **state) {
    (void)state;
    static const pgcn_node from[] = {0, 2, 4, 6}, to[] = {1, 3, 5, 7};
    static const int32_t graph_of[] = {0, 0, 1, 1, 2, 2, 3, 3}, label[] = {0, 1, 0, 1};
    static const float x[] = {1, 1, 0, 0, 1, 1, 0, 0};
    static const uint8_t train[] = {1, 1, 1, 1};
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    pgcn_graph *graph = NULL;
    pgcn_dataset *data = NULL;
    must(pgcn_graph_from_edges(8, 4, from, to, NULL, NULL, &graph));
    arrays.graph = graph, arrays.features = x, arrays.n_features = 1;
    arrays.n_graphs = 4, arrays.graph_of = graph_of, arrays.graph_label = label;
    arrays.n_splits = 1, arrays.train = train;
    must(pgcn_dataset_from_arrays(&arrays, &data));
    static const char text[] = "channels=4 epochs=3 batch=2";
    pgcn_trainer *whole = trainer_of(data, text), *trainer = trainer_of(data, text);
    int left = 1;
    run_epochs(whole, 3), run_epochs(trainer, 2);
    pgcn_trainer_on_step(trainer, forbids, &left);
    must_fail(pgcn_trainer_epoch(trainer, NULL), PGCN_ERR_STOPPED, "after 1 of 2");
    left = 1; /* the second step, and nothing to evaluate */
    must(pgcn_trainer_epoch(trainer, NULL));
    assert_same_weights(&whole->params, &trainer->params, text);
    pgcn_trainer_free(whole), pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
    pgcn_graph_free(graph);
}

static void test_weights_that_are_not_finite_are_not_kept(void **state) {
    (void)state;
    pgcn_dataset *data = karate_with(false, false);
    pgcn_trainer *trainer = trainer_of(data, "channels=4 epochs=5");
    run_epochs(trainer, 2);
    trainer->params.m[trainer->params.param[0].first] =
        INFINITY; /* the next step spoils a weight */
    must_fail(pgcn_trainer_epoch(trainer, NULL), PGCN_ERR_NUMERIC,
              "best weights are those of epoch 2");
    must_fail(pgcn_trainer_epoch(trainer, NULL), PGCN_ERR_NUMERIC, "epoch 3");
    pgcn_model *model = NULL;
    must(pgcn_trainer_model(trainer, &model));
    for (int64_t i = 0; i < model->params.total; i++) assert_true(isfinite(model->params.value[i]));
    pgcn_model_free(model);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

static pgcn_status train_and_free(void) {
    pgcn_dataset *data = NULL;
    pgcn_graph *graph = NULL;
    pgcn_model *model;
    static const pgcn_node from[] = {0, 1, 2}, to[] = {1, 2, 3};
    static const int32_t label[] = {0, 1, 0, 1};
    static const uint8_t train[] = {1, 1, 1, 1};
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    pgcn_config config = settings("channels=2 epochs=2 layers=1 path-length=2");
    PGCN_TRY(pgcn_graph_from_edges(4, 3, from, to, NULL, NULL, &graph));
    arrays.graph = graph, arrays.label = label, arrays.n_splits = 1, arrays.train = train;
    pgcn_status status = pgcn_dataset_from_arrays(&arrays, &data);
    if (status == PGCN_OK) status = pgcn_train(data, &config, &model);
    if (status == PGCN_OK) pgcn_model_free(model);
    pgcn_dataset_free(data);
    pgcn_graph_free(graph);
    return status;
}

static void test_every_failing_allocation_is_an_error(void **state) {
    (void)state;
    assert_true(fail_every_allocation(train_and_free) > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_validation_the_last_weights_are_kept),
        cmocka_unit_test(test_scores_without_validation_are_those_of_the_test),
        cmocka_unit_test(test_without_validation_what_chooses_by_it_is_refused),
        cmocka_unit_test_setup_teardown(test_resume_without_validation_ends_with_the_same_bits,
                                        scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_container_keeps_that_masks_were_not_given,
                                        scratch_make, scratch_remove),
        cmocka_unit_test(test_graphs_without_validation_and_test_can_be_stopped),
        cmocka_unit_test(test_weights_that_are_not_finite_are_not_kept),
        cmocka_unit_test(test_every_failing_allocation_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
