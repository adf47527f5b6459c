/* Memory of inference: a layer needs what it reads and what it writes; values between two operations that go row by
 * row exist as tiles, results take the place of what is read for the last time, and no bit changes by that. */
#include "nn_help.h"

#include "scratch_help.h"

#define ONE "samples=1 consistency=0 "
static const char *const networks[] = {
    ONE "layers=3 channels=33 path-length=4",
    ONE "layers=3 channels=70 path-length=3 residual=previous",
    ONE "layers=2 channels=16 residual=none batch-norm=yes",
    ONE "layers=2 channels=16 path-length=1",
    ONE "layers=2 channels=9 kernel=full",
    ONE "layers=2 channels=16 input-hops=2 input-norm=yes",
    "model=gcn layers=4 channels=24 batch-norm=yes",
    "model=gcnii layers=4 channels=24",
    "model=gcnii-star layers=3 channels=24 skip=yes",
    "model=jknet layers=4 channels=24",
    "model=jknet layers=4 channels=24 jump=max",
    "model=sage layers=3 channels=24",
    "model=gat layers=3 channels=24",
    "model=incep layers=3 channels=24",
    "model=appnp layers=2 channels=24",
    "model=cheb layers=2 channels=24",
    "model=mlp layers=4 channels=24",
    "model=pde-gcn-d layers=3 channels=24",
    "model=pde-gcn-m layers=3 channels=24",
    "model=egnn layers=3 channels=24",
    "model=grand layers=2 channels=24",
    "model=supergat layers=2 channels=24",
};
enum { NETWORKS = sizeof networks / sizeof *networks };

static pgcn_model *model_of(const pgcn_dataset *data, const char *text) {
    pgcn_trainer *trainer = trainer_of(data, text);
    pgcn_model *model;
    run_epochs(trainer, 1);
    must(pgcn_trainer_model(trainer, &model));
    pgcn_trainer_free(trainer);
    return model;
}

static float *logits_of(const pgcn_model *model, const pgcn_dataset *data, int threads,
                        pgcn_i_session_purpose purpose, int64_t *count, int64_t *floats) {
    pgcn_inference inference = pgcn_inference_default();
    pgcn_i_session s;
    inference.threads = threads;
    must(pgcn_i_session_open_for(&s, model, data, &inference, purpose));
    must(pgcn_i_session_run(&s, (pgcn_i_chosen){NULL, 0}, 0));
    *count = s.runner.logits->rows * s.runner.logits->cols;
    *floats = s.runner.tape.work_floats;
    float *logits = floats_copy(s.runner.logits->data, *count);
    pgcn_i_session_close(&s);
    return logits;
}

/* What explanations run on keeps every value apart. */
static void test_inference_by_tiles_has_the_bits_of_whole_values(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("sbm:nodes=330,features=12,classes=3");
    for (int i = 0; i < NETWORKS; i++) {
        pgcn_model *model = model_of(data, networks[i]);
        int64_t count, kept, floats;
        float *whole =
            logits_of(model, data, 1, (pgcn_i_session_purpose){.explains = true}, &count, &kept);
        for (int threads = 1; threads <= 3; threads += 2) {
            float *tiles = logits_of(model, data, threads, (pgcn_i_session_purpose){.shows = false},
                                     &count, &floats);
            assert_same_floats(tiles, whole, count, networks[i]);
            float *shown = logits_of(model, data, threads, (pgcn_i_session_purpose){.shows = true},
                                     &count, &floats);
            assert_same_floats(shown, whole, count, networks[i]);
            free(tiles), free(shown);
        }
        assert_true(floats <= kept);
        free(whole);
        pgcn_model_free(model);
    }
    pgcn_dataset_free(data);
}

/* Graphs beyond the cache: arrays of n x c of the evaluation. */
static double arrays_of(const pgcn_dataset *data, const char *text) {
    char all[256];
    snprintf(all, sizeof all, "%s channels=128 batch=64", text);
    pgcn_trainer *trainer = trainer_of(data, all);
    double arrays = (double)trainer->eval.tape.work_floats / (double)(data->graph->n * 128);
    pgcn_trainer_free(trainer);
    return arrays;
}

static void assert_arrays(const pgcn_dataset *data, const char *text, double expected) {
    double arrays = arrays_of(data, text);
    if (arrays < expected - 0.01 || arrays > expected + 0.05)
        fail_msg("%s: %.2f arrays, expected %.2f", text, arrays, expected);
}

static void test_evaluation_needs_two_arrays_and_what_later_layers_read(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("powerlaw:nodes=70000,edges=100000,features=16,classes=3");
    /* paths: one array, two of a quarter of the channels, and H0 where it is read again */
    assert_arrays(data, ONE "layers=2 residual=none", 1.5);
    assert_arrays(data, ONE "layers=4 residual=none batch-norm=yes", 1.5);
    assert_arrays(data, ONE "layers=4", 2.5);
    assert_arrays(data, "model=gcn residual=none layers=3", 2);
    assert_arrays(data, "model=gcn residual=none layers=6", 2);
    assert_arrays(data, "model=gcnii layers=3", 3);
    assert_arrays(data, "model=gcnii layers=6", 3);
    /* all layers: the result of each but the last, and what the next one gathers from */
    assert_arrays(data, "model=jknet layers=3", 3);
    assert_arrays(data, "model=jknet layers=6", 6);
    pgcn_dataset_free(data);
}

/* Parts of a graph gather whole rows, the whole graph few channels at a time. */
static void test_evaluation_of_a_large_graph_has_the_bits_of_single_nodes(void **state) {
    (void)state;
    static const char *const large[] = {ONE "layers=2 channels=150 paths=2 batch=64",
                                        ONE "layers=2 channels=150 paths=2 batch=64 path-length=2",
                                        ONE "layers=2 channels=150 residual=previous paths=2"};
    pgcn_dataset *small = dataset("powerlaw:nodes=300,edges=900,features=8,classes=3");
    pgcn_dataset *data = dataset("powerlaw:nodes=60000,edges=60000,features=8,classes=3");
    const pgcn_node node[] = {0, 17, 4096, 31000, 59999};
    enum { NODES = sizeof node / sizeof *node };
    float *whole = malloc(60000 * 3 * sizeof *whole), some[NODES * 3];
    for (int i = 0; i < 3; i++) {
        pgcn_model *model = model_of(small, large[i]);
        must(pgcn_model_predict_nodes(model, data, node, NODES, NULL, some, NULL));
        for (int threads = 1; threads <= 3; threads += 2) {
            pgcn_inference inference = pgcn_inference_default();
            inference.threads = threads;
            must(pgcn_model_predict(model, data, &inference, whole, NULL));
            for (int k = 0; k < NODES; k++)
                assert_same_floats(whole + node[k] * 3, some + k * 3, 3, large[i]);
        }
        pgcn_model_free(model);
    }
    free(whole);
    pgcn_dataset_free(small), pgcn_dataset_free(data);
}

/* What is not finite in a tile is found there, and not where it is seen as a whole. */
static void test_inference_names_the_layer_whose_tiles_are_not_finite(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("sbm:nodes=330,features=12,classes=3");
    pgcn_model *model = model_of(data, "model=mlp layers=3 channels=24");
    float *probability = malloc(330 * 3 * sizeof *probability);
    pgcn_i_param *w = pgcn_i_param_named(&model->params, "layers.1.weight");
    assert_non_null(w);
    for (int64_t i = 0; i < w->count; i++) pgcn_i_value_of(&model->params, w)[i] = 3e38f;
    must_fail(pgcn_model_predict(model, data, NULL, probability, NULL), PGCN_ERR_NUMERIC,
              "layers.1.weight");
    free(probability);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inference_by_tiles_has_the_bits_of_whole_values),
        cmocka_unit_test(test_evaluation_needs_two_arrays_and_what_later_layers_read),
        cmocka_unit_test(test_evaluation_of_a_large_graph_has_the_bits_of_single_nodes),
        cmocka_unit_test(test_inference_names_the_layer_whose_tiles_are_not_finite),
    };
    return cmocka_run_group_tests_name("inference memory", tests, NULL, NULL);
}
