/* Numbers that are not finite are errors that say where they come from: predictions and scores of a
 * model that overflows name the layer, extreme features are named by their column, and training names
 * the likely cause. */
#include "graphs_help.h"
#include "nn_help.h"

static const char plain[] = "channels=8 epochs=2 patience=0 normalise=none";

/* A feature of all nodes; karate's are sparse, those of sbm are not. */
static void fill_column(pgcn_dataset *data, int64_t column, float value) {
    float *x = (float *)(data->x.offset ? data->x.value : data->x.dense);
    if (!data->x.offset)
        for (int64_t i = 0; i < data->x.n; i++) x[i * data->x.columns + column] = value;
    for (int64_t e = 0; data->x.offset && e < data->x.nonzeros; e++)
        if (data->x.column[e] == column) x[e] = value;
}

static pgcn_model *trained(const pgcn_dataset *data, const char *text) {
    pgcn_config config = settings(text);
    pgcn_model *model = NULL;
    must(pgcn_train(data, &config, &model));
    return model;
}

static void fill_weights(pgcn_model *model, const char *name, float value) {
    for (int i = 0; i < model->params.count; i++) {
        const pgcn_i_param *param = &model->params.param[i];
        for (int64_t e = 0; strcmp(param->name, name) == 0 && e < param->count; e++)
            pgcn_i_value_of(&model->params, param)[e] = value;
    }
}

/* Neither call has a result, and both say `first` and `second`. */
static void assert_overflow(const pgcn_model *model, const pgcn_dataset *data, int draws,
                            const char *first, const char *second) {
    pgcn_inference inference = pgcn_inference_default();
    pgcn_scores scores;
    inference.draws = draws;
    inference.threads = 1;
    int64_t items = data->info.items;
    float *probability = calloc((size_t)(items * model->classes), sizeof *probability);
    pgcn_status status = pgcn_model_predict(model, data, &inference, probability, NULL);
    must_fail(status, PGCN_ERR_NUMERIC, first);
    must_fail(status, PGCN_ERR_NUMERIC, second);
    for (int64_t i = 0; i < items * model->classes; i++) assert_true(probability[i] == 0);
    free(probability);
    must_fail(pgcn_model_evaluate(model, data, &inference, &scores), PGCN_ERR_NUMERIC, first);
}

static void test_numeric_overflow_of_a_model_names_the_layer(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("sbm:nodes=80,classes=2,features=6");
    static const char *const names[][2] = {{"embed.weight", "first layer (embed.weight)"},
                                           {"layers.0.weight", "layer 1 (layers.0.weight)"},
                                           {"layers.1.weight", "layer 2 (layers.1.weight)"},
                                           {"classifier.weight", "values of classifier.weight"}};
    for (int i = 0; i < 4; i++) {
        pgcn_model *model = trained(data, plain);
        fill_weights(model, "embed.weight", 1);
        fill_weights(model, names[i][0], 3e38f);
        assert_overflow(model, data, 0, names[i][1], "learning rates");
        assert_overflow(model, data, 2, names[i][1], "data set sbm");
        pgcn_model_free(model);
    }
    pgcn_dataset_free(data);
}

static void test_numeric_extreme_feature_is_named_by_its_column(void **state) {
    (void)state;
    static const char *const sets[] = {"sbm:nodes=80,classes=2,features=6", "karate"};
    for (int i = 0; i < 2; i++) {
        pgcn_dataset *data = dataset(sets[i]);
        pgcn_model *model = trained(data, plain);
        fill_weights(model, "embed.weight", 1e10f);
        fill_column(data, 3, 1e38f);
        assert_overflow(model, data, 0, "first layer", "feature column 3 has values of 1e+38");
        pgcn_model_free(model);
        pgcn_dataset_free(data);
    }
}

/* A label that is surely there has the probability 1, and would hide that its logit is infinite. */
static void test_numeric_infinite_logits_are_found_behind_finite_probabilities(void **state) {
    (void)state;
    pgcn_dataset *data =
        set_of(set_new(PGCN_TASK_MULTILABEL, false, 12), "random=50/25/25,splits=1");
    pgcn_model *model = trained(data, "channels=8 epochs=2 patience=0 samples=1 consistency=0");
    fill_weights(model, "classifier.weight", 0);
    fill_weights(model, "classifier.bias", INFINITY);
    assert_overflow(model, data, 0, "classifier", "not finite");
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

static void test_numeric_graphs_in_batches_are_checked(void **state) {
    (void)state;
    pgcn_dataset *data =
        set_of(set_new(PGCN_TASK_GRAPH, false, 12), "stratified=50/25/25,splits=1");
    pgcn_model *model =
        trained(data, "channels=8 epochs=1 patience=0 samples=1 consistency=0 batch=5");
    fill_weights(model, "readout.weight", 3e38f);
    fill_weights(model, "layers.1.norm.shift", 10);
    assert_overflow(model, data, 0, "readout.weight", "not finite");
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

/* ---- training ---------------------------------------------------------------------------------- */

static void test_numeric_broken_training_names_the_extreme_column(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("sbm:nodes=80,classes=2,features=6");
    pgcn_config config = settings(plain);
    pgcn_model *model = NULL;
    fill_column(data, 4, 3e38f);
    must_fail(pgcn_train(data, &config, &model), PGCN_ERR_NUMERIC,
              "feature column 4 has values of 3e+38 as the first layer reads them: rescale");
    pgcn_dataset_free(data);
}

static void test_numeric_broken_training_names_the_learning_rates(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("sbm:nodes=80,classes=2,features=6");
    pgcn_config config = settings(plain);
    pgcn_trainer *trainer = NULL;
    must(pgcn_trainer_new(data, &config, &trainer));
    trainer->params.value[0] = INFINITY; /* as after a step that was too large */
    must_fail(pgcn_trainer_epoch(trainer, NULL), PGCN_ERR_NUMERIC, "lower the learning rates");
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numeric_overflow_of_a_model_names_the_layer),
        cmocka_unit_test(test_numeric_extreme_feature_is_named_by_its_column),
        cmocka_unit_test(test_numeric_infinite_logits_are_found_behind_finite_probabilities),
        cmocka_unit_test(test_numeric_graphs_in_batches_are_checked),
        cmocka_unit_test(test_numeric_broken_training_names_the_extreme_column),
        cmocka_unit_test(test_numeric_broken_training_names_the_learning_rates),
    };
    return cmocka_run_group_tests_name("numeric", tests, NULL, NULL);
}
