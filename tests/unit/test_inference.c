/* Models: they come back from their file as they were, are refused when damaged or given the wrong
 * data, inference by draws tends to the exact one, and every allocation from the trainer to a
 * prediction fails once. */
#include "nn_help.h"

#include "bytes_help.h"
#include "scratch_help.h"
#include "trainer_help.h"

#define QUICK "channels=6 epochs=60 patience=0 "

/* ---- models --------------------------------------------------------------------------------------------- */

static pgcn_model *trained(const pgcn_dataset *data, const char *text, int epochs) {
    pgcn_trainer *trainer = trainer_of(data, text);
    pgcn_model *model;
    run_epochs(trainer, epochs);
    must(pgcn_trainer_model(trainer, &model));
    pgcn_trainer_free(trainer);
    return model;
}

static void test_model_file_round_trip_predicts_the_same_bits(void **state) {
    (void)state;
    static const char *const texts[] = {QUICK, QUICK "kernel=full batch-norm=yes",
                                        QUICK "kernel=global layers=4 paths-per-layer=yes"};
    pgcn_dataset *data = dataset("karate");
    for (int i = 0; i < 3; i++) {
        pgcn_model *model = trained(data, texts[i], 10), *back;
        float p[2][34 * 2], deviation[34 * 2];
        must(pgcn_model_save(model, scratch_path("model")));
        must(pgcn_model_load(scratch_path("model"), &back));
        must(pgcn_model_save(back, scratch_path("again")));
        assert_same_bytes(scratch_path("model"), scratch_path("again"));
        must(pgcn_model_predict(model, data, NULL, p[0], NULL));
        must(pgcn_model_predict(back, data, NULL, p[1], deviation));
        assert_memory_equal(p[0], p[1], sizeof p[0]);
        for (int j = 0; j < 34; j++) {
            assert_close((double)p[0][2 * j] + (double)p[0][2 * j + 1], 1, 1e-6);
            assert_true(deviation[j] == 0.0f);
        }
        assert_string_equal(pgcn_model_dataset(back), "karate");
        assert_string_equal(pgcn_model_fingerprint(back), data->fingerprint);
        assert_string_equal(pgcn_model_split(back), "0");
        assert_int_equal(pgcn_model_epoch(back), pgcn_model_epoch(model));
        assert_int_equal(pgcn_model_classes(back), 2);
        assert_int_equal(pgcn_model_parameters(back), pgcn_model_parameters(model));
        assert_null(pgcn_i_config_difference(pgcn_model_config(back), pgcn_model_config(model)));
        for (int t = 0; t < THREAD_CASES; t++) { /* any number of threads */
            pgcn_inference inference = pgcn_inference_default();
            inference.threads = THREADS[t];
            must(pgcn_model_predict(back, data, &inference, p[1], NULL));
            assert_memory_equal(p[0], p[1], sizeof p[0]);
        }
        pgcn_model_free(model), pgcn_model_free(back);
    }
    pgcn_dataset_free(data);
}

static void test_model_parameters_are_counted_without_statistics(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_model *model = trained(data, "channels=6 layers=3 path-length=4 batch-norm=yes", 1);
    int64_t wanted = 34 * 6 + 6 + 3 * (4 * 6 + 6 * 6) + 6 * 2 + 2;
    assert_int_equal(pgcn_model_parameters(model), wanted);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

static void test_model_file_that_is_none_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
        pgcn_status code;
        const char *says;
    } cases[] = {
        {"\"format_version\":\"1\"", "\"format_version\":\"7\"", PGCN_ERR_MISMATCH, "version 7"},
        {"\"classes\":\"2\"", "\"classes\":\"3\"", PGCN_ERR_FORMAT, "classifier.weight"},
        {"\"classes\":\"2\"", "\"classes\":\"0\"", PGCN_ERR_FORMAT, "classes is '0'"},
        {"\"features\":\"34\"", "\"features\":\"99\"", PGCN_ERR_FORMAT, "embed.weight"},
        {"\\\"channels\\\":\\\"6\\\"", "\\\"channels\\\":\\\"7\\\"", PGCN_ERR_FORMAT,
         "embed.weight"},
        {"\\\"kernel\\\":\\\"depthwise\\\"", "\\\"kernel\\\":\\\"depthwisE\\\"", PGCN_ERR_FORMAT,
         "depthwisE"},
        {"\"layers.1.weight\"", "\"layers.1.weighs\"", PGCN_ERR_FORMAT, "layers.1.weight"},
    };
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *trainer = trainer_of(data, QUICK);
    pgcn_model *model, *back = NULL;
    run_epochs(trainer, 2);
    must(pgcn_trainer_save(trainer, scratch_path("checkpoint")));
    must(pgcn_trainer_model(trainer, &model));
    must(pgcn_model_save(model, scratch_path("model")));
    must_fail(pgcn_model_load(scratch_path("checkpoint"), &back), PGCN_ERR_FORMAT,
              "a pathgcn-checkpoint, expected a pathgcn-model");
    must_fail(pgcn_model_load(scratch_path("none"), &back), PGCN_ERR_IO, "none");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file_bytes b = bytes_of(scratch_path("model"));
        change(&b, cases[i].from, cases[i].to);
        const char *path = scratch_write("bad", b.data, b.count);
        pgcn_status status = pgcn_model_load(path, &back);
        must_fail(status, cases[i].code, cases[i].says);
        must_fail(status, cases[i].code, path);
        free(b.data);
    }
    file_bytes b = bytes_of(scratch_path("model"));
    const float infinite = INFINITY;
    memcpy(b.data + b.count - 4, &infinite, 4);
    must_fail(pgcn_model_load(scratch_write("bad", b.data, b.count), &back), PGCN_ERR_FORMAT,
              "input.fill is not finite");
    free(b.data);
    assert_null(back);
    pgcn_model_free(model);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

static void test_model_on_data_that_does_not_fit_is_refused(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate"), *other = dataset("sbm:nodes=60,features=33");
    pgcn_dataset *more = dataset("sbm:nodes=60,features=34,classes=3");
    pgcn_model *model = trained(data, QUICK, 2);
    float p[60 * 3], untouched[60 * 3];
    pgcn_scores scores;
    memset(p, 1, sizeof p), memset(untouched, 1, sizeof untouched);
    must_fail(pgcn_model_predict(model, other, NULL, p, NULL), PGCN_ERR_MISMATCH, "33");
    must_fail(pgcn_model_evaluate(model, other, NULL, &scores), PGCN_ERR_MISMATCH, "classes");
    must_fail(pgcn_model_evaluate(model, more, NULL, &scores), PGCN_ERR_MISMATCH, "3");
    pgcn_inference inference = pgcn_inference_default();
    inference.draws = -1;
    must_fail(pgcn_model_predict(model, data, &inference, p, NULL), PGCN_ERR_ARGUMENT, "draws");
    assert_memory_equal(p, untouched, sizeof p);
    must(pgcn_model_predict(model, more, NULL, p, NULL)); /* another graph is fine */
    pgcn_model_free(model);
    model = trained(data, QUICK "walk=node2vec self-loops=no", 2);
    must_fail(pgcn_model_predict(model, data, NULL, p, NULL), PGCN_ERR_ARGUMENT, "stochastic");
    inference.draws = 2;
    must(pgcn_model_predict(model, data, &inference, p, NULL));
    pgcn_model_free(model);
    pgcn_dataset_free(data), pgcn_dataset_free(other), pgcn_dataset_free(more);
}

/* ---- inference by draws ------------------------------------------------------------------------------------ */

/* Largest distance of the mean over draws from the exact prediction. */
static double distance(const pgcn_model *model, const pgcn_dataset *data, int draws, uint64_t seed,
                       double *mean_deviation) {
    enum { COUNT = 34 * 2 };
    float exact[COUNT], mean[COUNT], deviation[COUNT];
    pgcn_inference inference = pgcn_inference_default();
    inference.draws = draws;
    inference.seed = seed;
    inference.threads = 1;
    must(pgcn_model_predict(model, data, NULL, exact, NULL));
    must(pgcn_model_predict(model, data, &inference, mean, deviation));
    double most = 0, sum = 0;
    for (int i = 0; i < COUNT; i++) {
        most = fmax(most, fabs((double)mean[i] - (double)exact[i]));
        sum += (double)deviation[i];
    }
    *mean_deviation = sum / COUNT;
    return most;
}

/* One layer, small weights: the network is nearly linear in the visits, so that the mean of the
 * draws tends to the exact form. With 4000 draws of deviation d the mean is within 5 d / sqrt(4000)
 * of it, plus 0.01 for what is not linear. */
static void test_inference_draws_tend_to_the_exact_form(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_model *model = trained(data, "channels=6 layers=1 lr-ends=1e-3 paths=20", 30);
    double deviation, few_deviation;
    double many = distance(model, data, 4000, 1, &deviation);
    double few = distance(model, data, 5, 1, &few_deviation);
    assert_true(deviation > 1e-3);
    assert_true(many <
                0.01 + 5 * 4 * deviation / sqrt(4000)); /* some nodes deviate more: times 4 */
    assert_true(many < 0.5 * few);
    assert_true(distance(model, data, 5, 2, &deviation) != few); /* another seed, other draws */
    assert_true(distance(model, data, 5, 1, &deviation) == few);
    assert_true(distance(model, data, 1, 1, &deviation) > 0 && deviation == 0);
    pgcn_scores scores;
    pgcn_inference inference = pgcn_inference_default();
    inference.draws = 20;
    must(pgcn_model_evaluate(model, data, &inference, &scores));
    assert_true(scores.test.accuracy >= 0 && scores.test.accuracy <= 100);
    assert_true(scores.test.draw_deviation > 0);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

/* Two draws a and b have the mean m = (a + b) / 2 and the deviation |a - b| / sqrt(2), divided by N - 1
 * and not by N; a alone is what one draw gives. The same for accuracies of single draws. */
static void test_inference_deviation_of_draws_is_that_of_a_sample(void **state) {
    (void)state;
    enum { COUNT = 34 * 2 };
    float first[COUNT], mean[COUNT], deviation[COUNT];
    pgcn_dataset *data = dataset("karate");
    pgcn_model *model = trained(data, "channels=6 layers=1 paths=1", 20);
    pgcn_inference one = pgcn_inference_default(), two = one;
    one.draws = 1;
    two.draws = 2;
    must(pgcn_model_predict(model, data, &one, first, NULL));
    must(pgcn_model_predict(model, data, &two, mean, deviation));
    double largest = 0;
    for (int i = 0; i < COUNT; i++) {
        double apart = 2 * fabs((double)mean[i] - (double)first[i]);
        assert_true(fabs((double)deviation[i] - apart / sqrt(2)) < 1e-6);
        largest = fmax(largest, apart);
    }
    assert_true(largest > 1e-3);
    bool differ = false;
    for (int seed = 0; seed < 20; seed++) {
        pgcn_scores of_one, of_two;
        one.seed = two.seed = (uint64_t)seed;
        must(pgcn_model_evaluate(model, data, &one, &of_one));
        must(pgcn_model_evaluate(model, data, &two, &of_two));
        double apart = 2 * fabs(of_two.all.draw_accuracy - of_one.all.draw_accuracy);
        assert_true(fabs(of_two.all.draw_deviation - apart / sqrt(2)) < 1e-6);
        differ |= apart > 0;
    }
    assert_true(differ);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

static pgcn_status load_model(void) {
    pgcn_model *model;
    PGCN_TRY(pgcn_model_load(scratch_path("model"), &model));
    pgcn_model_free(model);
    return PGCN_OK;
}
static pgcn_status predict(void) {
    float p[34 * 2];
    pgcn_inference inference = pgcn_inference_default();
    inference.draws = 2;
    inference.threads = 2;
    return pgcn_model_predict(memory_model, memory_data, &inference, p, NULL);
}
static pgcn_status predict_exactly(void) {
    float p[34 * 2];
    return pgcn_model_predict(memory_model, memory_data, NULL, p, NULL);
}
static pgcn_status evaluate(void) {
    pgcn_scores scores;
    return pgcn_model_evaluate(memory_model, memory_data, NULL, &scores);
}
static pgcn_status train_at_once(void) {
    pgcn_config config = settings("channels=4 epochs=2 patience=0");
    pgcn_model *model;
    PGCN_TRY(pgcn_train(memory_data, &config, &model));
    pgcn_model_free(model);
    return PGCN_OK;
}
static pgcn_status save_model(void) {
    return pgcn_model_save(memory_model, scratch_path("model"));
}

static void test_memory_every_failing_allocation_is_reported_and_cleaned_up(void **state) {
    (void)state;
    static const char *const texts[] = {
        QUICK "threads=2 paths-per-layer=yes",
        QUICK "batch-norm=yes kernel=full train-form=exact drop-rows=0.5",
        QUICK "walk=node2vec self-loops=no kernel=layer",
        QUICK "walk=weighted kernel=global",
    };
    pgcn_dataset *data = dataset("karate"), *dense = dataset("sbm:nodes=34,features=34,classes=2");
    for (int i = 0; i < 4; i++) {
        memory_text = texts[i];
        memory_data = i % 2 ? dense : data;
        assert_true(fail_every_allocation(make_trainer) > 40);
    }
    memory_data = data;
    memory_model = trained(data, QUICK, 2);
    must(pgcn_model_save(memory_model, scratch_path("model")));
    assert_true(fail_every_allocation(load_model) > 8);
    assert_true(fail_every_allocation(save_model) > 3);
    assert_true(fail_every_allocation(predict) > 20);
    assert_true(fail_every_allocation(predict_exactly) > 20);
    assert_true(fail_every_allocation(evaluate) > 20);
    assert_true(fail_every_allocation(train_at_once) > 40);
    pgcn_model_free(memory_model);
    pgcn_dataset_free(data), pgcn_dataset_free(dense);
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(test_model_file_round_trip_predicts_the_same_bits),
        cmocka_unit_test(test_model_parameters_are_counted_without_statistics),
        IN_SCRATCH(test_model_file_that_is_none_is_refused),
        cmocka_unit_test(test_model_on_data_that_does_not_fit_is_refused),
        cmocka_unit_test(test_inference_draws_tend_to_the_exact_form),
        cmocka_unit_test(test_inference_deviation_of_draws_is_that_of_a_sample),
        IN_SCRATCH(test_memory_every_failing_allocation_is_reported_and_cleaned_up),
    };
    return cmocka_run_group_tests_name("inference", tests, NULL, NULL);
}
