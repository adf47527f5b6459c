/* What training does to the weights: learning a kernel pays where neighbours differ, weight decay
 * pulls to the start or to zero, rates of zero freeze, and Adam treats each group by its settings. */
#include "nn_help.h"

#define SBM   "sbm:nodes=200,features=12,classes=3"
#define QUICK "channels=9 epochs=1000 patience=0 "

/* ---- what is learnt ------------------------------------------------------------------------------------ */

/* Test accuracy at the epoch that validation chose, mean over three seeds. */
static double score(const pgcn_dataset *data, const char *text) {
    double sum = 0;
    for (int seed = 0; seed < 3; seed++) {
        pgcn_config config = settings(text);
        pgcn_model *model;
        pgcn_scores scores;
        config.seed = (uint64_t)seed;
        must(pgcn_train(data, &config, &model));
        must(pgcn_model_evaluate(model, data, NULL, &scores));
        sum += scores.test.accuracy;
        pgcn_model_free(model);
    }
    return sum / 3;
}

/* Neighbours are of other classes nine times in ten: who they are tells who a node is, but only an
 * operator that can weigh hops against each other uses it. */
static void test_learning_learnt_kernel_beats_frozen_kernel_and_mlp(void **state) {
    (void)state;
#define HETERO                                                                                     \
    "channels=16 samples=1 consistency=0 alpha=0.5 self-loops=no scaling=walk paths=10 "           \
    "wd-mix=1e-2 wd-kernel=1e-3 dropout=0.3 epochs=150 patience=0 "
    pgcn_dataset *data = dataset("sbm:nodes=600,homophily=0.1,classes=2,degree=12,noise=2.5");
    double learnt = score(data, HETERO "kernel-start=identity path-length=3");
    double frozen = score(data, HETERO "kernel-start=smooth path-length=3 lr-kernel=0");
    double mlp = score(data, HETERO "kernel-start=identity path-length=1");
    if (!(learnt > frozen + 5 && learnt > mlp + 5))
        fail_msg("learnt %.1f %%, frozen %.1f %%, MLP %.1f %%", learnt, frozen, mlp);
    pgcn_dataset_free(data);
}

/* Largest distance of the weights of a group from their start. */
static double moved(const pgcn_trainer *trainer, pgcn_i_group group) {
    double most = 0;
    for (int i = 0; i < trainer->params.count; i++) {
        const pgcn_i_param *param = &trainer->params.param[i];
        for (int64_t e = param->first; e < param->first + param->count; e++) {
            double way = fabs((double)trainer->params.value[e] - (double)trainer->params.start[e]);
            if (param->group == group && way > most) most = way;
        }
    }
    return most;
}

static void test_learning_weight_decay_pulls_to_the_start(void **state) {
    (void)state;
    pgcn_dataset *data = dataset(SBM);
    pgcn_trainer *weak = trainer_of(data, QUICK "lr-kernel=1e-3 lr-mix=1e-3 wd-mix=0 wd-kernel=0");
    pgcn_trainer *strong =
        trainer_of(data, QUICK "lr-kernel=1e-3 lr-mix=1e-3 wd-mix=1e6 wd-kernel=1e6");
    pgcn_trainer *frozen = trainer_of(data, QUICK "lr-kernel=0 lr-mix=0");
    run_epochs(weak, 1); /* the first step of Adam is the learning rate, by its corrections */
    assert_close(moved(weak, PGCN_I_GROUP_ENDS), 1e-2, 1e-5);
    assert_close(moved(weak, PGCN_I_GROUP_KERNEL), 1e-3, 1e-6);
    run_epochs(weak, 99), run_epochs(strong, 100), run_epochs(frozen, 100);
    for (int g = PGCN_I_GROUP_MIX; g <= PGCN_I_GROUP_KERNEL; g++) {
        pgcn_i_group group = (pgcn_i_group)g;
        assert_true(moved(weak, group) > 0.03);
        assert_true(moved(strong, group) < 0.005); /* a few steps of Adam around it */
        assert_true(moved(frozen, group) == 0);
    }
    assert_true(moved(frozen, PGCN_I_GROUP_ENDS) > 0.1);
    pgcn_trainer_free(weak), pgcn_trainer_free(strong), pgcn_trainer_free(frozen);
    pgcn_dataset_free(data);
}

/* Weights that decay to 0 shrink when nothing else pulls on them. */
static void test_learning_weight_decay_of_ends_pulls_to_zero(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *trainer = trainer_of(data, QUICK "wd-ends=1e5 lr-ends=1e-2");
    run_epochs(trainer, 200);
    for (int64_t e = 0; e < trainer->params.param[0].count; e++)
        assert_true(fabs((double)trainer->params.value[e]) < 0.02);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

/* ---- Adam over all parameters -------------------------------------------------------------------------- */

/* Rates and decays by group, the start only where a parameter decays to it, corrections by t. */
static void test_adam_all_groups_match_reference(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *trainer =
        trainer_of(data, "channels=200 batch-norm=yes lr-ends=0.03 lr-mix=0.02 lr-kernel=0.01 "
                         "wd-ends=0.1 wd-mix=0.2 wd-kernel=0.3");
    pgcn_i_params *params = &trainer->params;
    const double rate[] = {0.03, 0.02, 0.01, 0}, decay[] = {0.1, 0.2, 0.3, 0};
    double *w = ref_doubles(params->value, params->total);
    double *start = ref_doubles(params->start, params->total);
    double *m = ref_zeros(params->total), *v = ref_zeros(params->total);
    for (int t = 1; t <= 7; t++) {
        float *g = ref_random_floats((uint64_t)t, params->total);
        double *g_d = ref_doubles(g, params->total);
        memcpy(params->grad, g, (size_t)params->total * sizeof *g);
        pgcn_i_adam_all(params, trainer->pool, &trainer->config, 1, t);
        for (int i = 0; i < params->count; i++) {
            const pgcn_i_param *param = &params->param[i];
            int64_t at = param->first;
            pgcn_i_adam_step step = {.lr = (float)rate[param->group],
                                     .decay = (float)decay[param->group],
                                     .beta1 = 0.9f,
                                     .beta2 = 0.999f,
                                     .epsilon = 1e-8f,
                                     .correct1 = (float)(1 / (1 - pow(0.9, t))),
                                     .correct2 = (float)(1 / (1 - pow(0.999, t)))};
            if (param->group == PGCN_I_GROUP_BUFFER) continue; /* never trained */
            ref_adam(w + at, m + at, v + at, g_d + at, param->decay_to_start ? start + at : NULL,
                     &step, param->count);
        }
        free(g), free(g_d);
    }
    for (int i = 0; i < params->count; i++) {
        const pgcn_i_param *param = &params->param[i];
        check_values(param->name, params->value + param->first, w + param->first, param->count,
                     1e-5);
    }
    free(w), free(start), free(m), free(v);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

/* ---- clipping ------------------------------------------------------------------------------------------ */

static double norm_of(const pgcn_i_params *params, bool kernels) {
    double sum = 0;
    for (int i = 0; i < params->count; i++) {
        const pgcn_i_param *param = &params->param[i];
        bool counts =
            param->group != PGCN_I_GROUP_BUFFER && (kernels || param->group != PGCN_I_GROUP_KERNEL);
        for (int64_t e = param->first; counts && e < param->first + param->count; e++)
            sum += (double)params->grad[e] * (double)params->grad[e];
    }
    return sqrt(sum);
}

/* The direction stays. What has a rate of 0, and what is never trained, has no part in the norm. */
static void check_clipped(const pgcn_dataset *data, const char *text, bool kernels) {
    pgcn_trainer *trainer = trainer_of(data, text);
    pgcn_i_params *params = &trainer->params;
    float *g = ref_random_floats(1, params->total);
    memcpy(params->grad, g, (size_t)params->total * sizeof *g);
    const double norm = norm_of(params, kernels);
    trainer->config.clip = 1.001 * norm;
    pgcn_i_clip_gradient(params, &trainer->config);
    assert_memory_equal(params->grad, g, (size_t)params->total * sizeof *g);
    trainer->config.clip = 0.25 * norm;
    pgcn_i_clip_gradient(params, &trainer->config);
    assert_close(norm_of(params, kernels), 0.25 * norm, 1e-6 * norm);
    for (int64_t e = params->param[0].first; e < params->param[0].count; e++)
        assert_close(params->grad[e], 0.25 * (double)g[e], 1e-6);
    free(g);
    pgcn_trainer_free(trainer);
}

static void test_clip_scales_long_gradients_down_to_its_norm(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    check_clipped(data, QUICK "batch-norm=yes", true);
    check_clipped(data, QUICK "batch-norm=yes lr-kernel=0", false);
    pgcn_dataset_free(data);
}

/* Adam forgets a scale that stays the same, but for decay and epsilon; clipped steps weigh alike. */
static void test_clip_is_part_of_every_step(void **state) {
    (void)state;
    pgcn_dataset *data = dataset(SBM);
    pgcn_trainer *plain = trainer_of(data, QUICK), *loose = trainer_of(data, QUICK "clip=1e6");
    pgcn_trainer *tight = trainer_of(data, QUICK "clip=1e-3");
    size_t bytes = (size_t)plain->params.total * sizeof *plain->params.value;
    run_epochs(plain, 20), run_epochs(loose, 20), run_epochs(tight, 20);
    assert_memory_equal(loose->params.value, plain->params.value, bytes);
    assert_memory_not_equal(tight->params.value, plain->params.value, bytes);
    assert_true(norm_of(&tight->params, true) <= 1.001e-3);
    assert_true(norm_of(&plain->params, true) > 1e-2);
    pgcn_trainer_free(plain), pgcn_trainer_free(loose), pgcn_trainer_free(tight);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learning_learnt_kernel_beats_frozen_kernel_and_mlp),
        cmocka_unit_test(test_learning_weight_decay_pulls_to_the_start),
        cmocka_unit_test(test_learning_weight_decay_of_ends_pulls_to_zero),
        cmocka_unit_test(test_adam_all_groups_match_reference),
        cmocka_unit_test(test_clip_scales_long_gradients_down_to_its_norm),
        cmocka_unit_test(test_clip_is_part_of_every_step),
    };
    return cmocka_run_group_tests_name("learning", tests, NULL, NULL);
}
