/* Training from end to end on the built-in sets: memory stays flat, the same bits for any number of
 * threads, every option trains, stopping and selection follow the history, the best weights are the
 * ones kept, and losses that are not finite stop the run. What is learnt: test_learning.c. */
#include "graphs_help.h"
#include "nn_help.h"

/* ---- memory and threads ---------------------------------------------------------------------- */

/* Small enough for hundreds of epochs; two hundred nodes are several blocks of rows. */
#define SBM   "sbm:nodes=200,features=12,classes=3"
#define QUICK "channels=9 epochs=1000 patience=0 "

static void test_trainer_after_first_epoch_allocates_nothing(void **state) {
    (void)state;
    static const char *const texts[] = {
        QUICK,
        QUICK "paths-per-layer=yes batch-norm=yes drop-rows=0.2",
        QUICK "kernel=full train-form=exact",
        QUICK "walk=node2vec self-loops=no samples=1 consistency=0 resample-every=2",
        QUICK "eval-every=3 kernel=global",
        QUICK "select=auc",
    };
    static const char *const names[] = {"karate", SBM}; /* sparse and dense features */
    for (int d = 0; d < 2; d++) {
        pgcn_dataset *data = dataset(names[d]);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            pgcn_trainer *trainer = trainer_of(data, texts[i]);
            run_epochs(trainer, 1);
            int64_t before = pgcn_i_alloc_count();
            run_epochs(trainer, 9);
            assert_int_equal(pgcn_i_alloc_count(), before);
            pgcn_trainer_free(trainer);
        }
        pgcn_dataset_free(data);
    }
}

static void test_trainer_thread_matrix_same_bits(void **state) {
    (void)state;
    static const char *const texts[] = {
        QUICK "drop-rows=0.2",
        QUICK "kernel=full batch-norm=yes",
        QUICK "kernel=layer train-form=exact",
        QUICK "kernel=global samples=3 paths-per-layer=yes resample-every=3",
        QUICK "walk=node2vec self-loops=no return-p=4",
        QUICK "dropout-hidden=0.3 samples=1 consistency=0",
        QUICK "select=average-precision",
    };
    static const char *const names[] = {"karate", SBM};
    for (int d = 0; d < 2; d++) {
        pgcn_dataset *data = dataset(names[d]);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            pgcn_trainer *first = NULL;
            for (int t = 0; t < THREAD_CASES; t++) {
                char text[256];
                snprintf(text, sizeof text, "%s threads=%d", texts[i], THREADS[t]);
                pgcn_trainer *trainer = trainer_of(data, text);
                run_epochs(trainer, 20);
                if (!first) {
                    first = trainer;
                    continue;
                }
                assert_same_weights(&first->params, &trainer->params, text);
                for (int e = 0; e < 20; e++) {
                    const pgcn_epoch *a = &first->progress.history[e];
                    const pgcn_epoch *b = &trainer->progress.history[e];
                    assert_true(a->train_loss == b->train_loss && a->val_loss == b->val_loss);
                    assert_true(a->test_accuracy == b->test_accuracy && a->best == b->best);
                }
                pgcn_trainer_free(trainer);
            }
            pgcn_trainer_free(first);
        }
        pgcn_dataset_free(data);
    }
}

static void test_trainer_same_seed_same_run_other_seed_another(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *a = trainer_of(data, QUICK "seed=1 split=0");
    pgcn_trainer *b = trainer_of(data, QUICK "seed=1 split=0");
    pgcn_trainer *c = trainer_of(data, QUICK "seed=2 split=0");
    run_epochs(a, 5), run_epochs(b, 5), run_epochs(c, 5);
    assert_same_weights(&a->params, &b->params, "same seed");
    assert_memory_not_equal(a->params.value, c->params.value,
                            (size_t)a->params.total * sizeof *a->params.value);
    pgcn_trainer_free(a), pgcn_trainer_free(b), pgcn_trainer_free(c);
    pgcn_dataset_free(data);
}

/* ---- every option trains ------------------------------------------------------------------------ */

static double mean_loss(const pgcn_trainer *trainer, int first, int count) {
    double sum = 0;
    for (int e = first; e < first + count; e++) sum += trainer->progress.history[e].train_loss;
    return sum / count;
}

static void test_trainer_every_option_lowers_the_loss(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "kernel=global",
        "kernel=layer",
        "kernel=full",
        "kernel=full kernel-start=random batch-norm=yes",
        "train-form=exact",
        "train-form=exact kernel=full samples=1 consistency=0",
        "resample-every=7",
        "resample-every=0",
        "paths-per-layer=yes",
        "samples=3",
        "samples=1 consistency=0",
        "walk=node2vec self-loops=no return-p=0.5 inout-q=2",
        "walk=weighted",
        "walk=weighted train-form=exact",
        "scaling=walk self-loops=no",
        "residual=none",
        "residual=previous alpha=0.5",
        "mix=random kernel-start=random residual=none batch-norm=yes",
        "kernel-start=identity kernel-noise=0.1",
        "path-length=1",
        "path-length=9 paths=2",
        "layers=1",
        "layers=8",
        "drop-rows=0.5 dropout=0.3",
        "normalise=rows",
        "consistency-ramp=0 temperature=0.2",
        "select=accuracy eval-every=4",
        "direction=backward",
        "dropout-hidden=0.3 residual=none",
    };
    pgcn_dataset *sets[] = {dataset("karate"), dataset(SBM)};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int d = 0; d < 2; d++) {
            char text[256]; /* the consistency term rises on purpose, so it is kept small */
            snprintf(text, sizeof text, QUICK "consistency=0.1 wd-mix=0.01 wd-kernel=0.01 %s",
                     texts[i]);
            pgcn_trainer *trainer = trainer_of(sets[d], text);
            run_epochs(trainer, 40);
            double early = mean_loss(trainer, 0, 5), late = mean_loss(trainer, 35, 5);
            if (!(late < 0.9 * early)) fail_msg("%s: loss %g, then %g", text, early, late);
            pgcn_trainer_free(trainer);
        }
    pgcn_dataset_free(sets[0]), pgcn_dataset_free(sets[1]);
}

/* Which steps see fresh paths: 0, N, 2N, ..., or only the first. */
static void test_trainer_resamples_paths_when_told(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    for (int every = 0; every <= 3; every++) {
        char text[128];
        snprintf(text, sizeof text, QUICK "resample-every=%d", every);
        pgcn_trainer *trainer = trainer_of(data, text);
        const pgcn_i_csr *last = &trainer->train.views.visits[0]->hop[3];
        pgcn_node before[2 * 34 * 5];
        for (int step = 0; step < 7; step++) {
            memcpy(before, last->column, sizeof before);
            run_epochs(trainer, 1);
            bool fresh = memcmp(before, last->column, sizeof before) != 0;
            assert_int_equal(fresh, step == 0 || (every > 0 && step % every == 0));
        }
        /* the two samples of a step differ */
        bool differ = last->offset[68] != 2 * last->offset[34];
        for (int64_t e = 0; !differ && e < last->offset[34]; e++)
            differ = last->column[e] + 34 != last->column[last->offset[34] + e];
        assert_true(differ);
        pgcn_trainer_free(trainer);
    }
    pgcn_trainer *trainer = trainer_of(data, QUICK "paths-per-layer=yes layers=3");
    run_epochs(trainer, 1);
    assert_int_equal(trainer->train.views.samplers, 3);
    for (int l = 1; l < 3; l++)
        assert_memory_not_equal(trainer->train.views.visits[0]->hop[3].column,
                                trainer->train.views.visits[l]->hop[3].column,
                                34 * 5 * sizeof(pgcn_node));
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

/* node2vec walks have no exact form: every evaluation draws walks of its own, by its epoch, and they
 * are not those of training. */
static void test_trainer_evaluates_node2vec_on_other_walks_in_every_epoch(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *trainer = trainer_of(data, QUICK "walk=node2vec self-loops=no eval-every=2");
    const pgcn_i_walker *walker = &trainer->spatial.walker;
    pgcn_i_visits *visits;
    must(pgcn_i_visits_new(walker, NULL, 1, false, &visits));
    pgcn_node before[34 * 5] = {0};
    for (int epoch = 2; epoch <= 8; epoch += 2) {
        run_epochs(trainer, 2);
        pgcn_i_visits_sample(
            visits, walker, trainer->pool,
            (pgcn_i_path_draw){trainer->config.seed, PGCN_I_RNG_WALK_INFERENCE, epoch, 0},
            trainer->spatial.visit_degree);
        assert_same_visits(trainer->eval.views.visits[0], visits);
        assert_memory_not_equal(visits->hop[3].column, before, sizeof before);
        memcpy(before, visits->hop[3].column, sizeof before);
    }
    pgcn_i_visits_free(visits);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

/* The loss that is reported is cross-entropy + lambda(t) consistency, lambda rising from 0. */
static void test_trainer_consistency_rises_over_the_ramp(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *with = trainer_of(data, QUICK "consistency=3 consistency-ramp=10");
    pgcn_trainer *without = trainer_of(data, QUICK "consistency=0");
    pgcn_trainer *at_once = trainer_of(data, QUICK "consistency=3 consistency-ramp=0");
    run_epochs(with, 1), run_epochs(without, 1), run_epochs(at_once, 1);
    double plain = without->progress.history[0].train_loss;
    assert_true(with->progress.history[0].train_loss == plain); /* step 0: lambda = 0 */
    double term = (at_once->progress.history[0].train_loss - plain) / 3;
    assert_true(term > 1e-4);
    /* Up to step 1 the weights are those without the term; it counts a tenth there, and all of it
     * with a ramp of one epoch. */
    pgcn_trainer *steep = trainer_of(data, QUICK "consistency=3 consistency-ramp=1");
    run_epochs(with, 1), run_epochs(without, 1), run_epochs(steep, 2);
    plain = without->progress.history[1].train_loss;
    term = steep->progress.history[1].train_loss - plain;
    assert_true(term > 1e-4);
    assert_close(with->progress.history[1].train_loss - plain, term / 10, 1e-4 * term);
    pgcn_trainer_free(steep);
    pgcn_trainer_free(with), pgcn_trainer_free(without), pgcn_trainer_free(at_once);
    pgcn_dataset_free(data);
}

/* ---- stopping and selection --------------------------------------------------------------------- */

/* From the rules in the header, without a look at pgcn_i_progress. */
static void assert_follows_history(const pgcn_trainer *trainer, int patience, pgcn_select select) {
    int64_t count, last_improved = 0, best = -1;
    const pgcn_epoch *h = pgcn_trainer_history(trainer, &count);
    double least = INFINITY, most = -1;
    for (int64_t e = 0; e < count; e++) {
        assert_int_equal(h[e].epoch, e + 1);
        if (isnan(h[e].val_loss)) {
            assert_false(h[e].best);
            continue;
        }
        bool better = best < 0;
        if (!better && select == PGCN_SELECT_LOSS) better = h[e].val_loss < h[best].val_loss;
        if (!better && select != PGCN_SELECT_LOSS)
            better = h[e].val_measure > h[best].val_measure ||
                     (h[e].val_measure == h[best].val_measure && h[e].val_loss < h[best].val_loss);
        if (select <= PGCN_SELECT_ACCURACY) {
            assert_true(h[e].val_measure == h[e].val_accuracy);
            assert_true(h[e].test_measure == h[e].test_accuracy);
        }
        assert_int_equal(h[e].best, better);
        if (better) best = e;
        if (h[e].val_loss < least || h[e].val_measure > most) last_improved = e + 1;
        if (h[e].val_loss < least) least = h[e].val_loss;
        if (h[e].val_measure > most) most = h[e].val_measure;
        if (patience > 0 && e + 1 < count) assert_true(e + 1 - last_improved < patience);
    }
    if (patience > 0) assert_int_equal(count, last_improved + patience);
    pgcn_model *model;
    must(pgcn_trainer_model(trainer, &model));
    assert_int_equal(pgcn_model_epoch(model), best + 1);
    pgcn_model_free(model);
}

/* Patience starts anew with a better loss or a better accuracy, whichever weights are selected; an
 * equal one is no better, and an epoch without evaluation is neither. */
static void test_progress_improves_by_loss_or_by_accuracy(void **state) {
    (void)state;
    static const struct {
        double loss, accuracy;
        int improved, best_by_loss, best_by_accuracy; /* epochs */
    } cases[] = {{1.0, 50, 1, 1, 1},  {1.2, 60, 2, 1, 2},    {0.9, 55, 3, 3, 2},
                 {0.9, 60, 3, 3, 4},  {NAN, NAN, 3, 3, 4},   {0.9, 60, 3, 3, 4},
                 {1.1, 61, 7, 3, 7},  {0.95, 60.5, 7, 3, 7}, {1.1, 61, 7, 3, 7},
                 {0.8, 10, 10, 10, 7}};
    enum { EPOCHS = sizeof cases / sizeof *cases };
    for (int by_accuracy = 0; by_accuracy <= 1; by_accuracy++) {
        pgcn_epoch history[EPOCHS];
        pgcn_i_progress progress = {.history = history, .best = -1};
        for (int e = 0; e < EPOCHS; e++) {
            int best = by_accuracy ? cases[e].best_by_accuracy : cases[e].best_by_loss;
            pgcn_epoch epoch = {
                .epoch = e + 1, .val_loss = cases[e].loss, .val_measure = cases[e].accuracy};
            bool is_best = pgcn_i_progress_add(
                &progress, by_accuracy ? PGCN_SELECT_ACCURACY : PGCN_SELECT_LOSS, epoch);
            assert_int_equal(is_best, best == e + 1);
            assert_int_equal(history[e].best, is_best);
            assert_int_equal(progress.epochs, e + 1);
            assert_int_equal(progress.best, best - 1);
            assert_int_equal(progress.improved, cases[e].improved);
        }
    }
}

static void test_trainer_patience_and_selection_follow_the_history(void **state) {
    (void)state;
    static const char *const names[] = {"karate", SBM};
    for (int i = 0; i < 24; i++) {
        pgcn_select select = (pgcn_select)(i % 6);
        int patience = i / 6 & 1 ? 25 : 8;
        char text[128];
        pgcn_dataset *data = dataset(names[i / 12]);
        snprintf(text, sizeof text, "channels=8 epochs=3000 patience=%d select=%s lr-ends=0.05",
                 patience,
                 select == PGCN_SELECT_LOSS ? "loss"
                                            : pgcn_measure_name((pgcn_measure)(select - 1)));
        pgcn_trainer *trainer = trainer_of(data, text);
        while (!pgcn_trainer_finished(trainer)) run_epochs(trainer, 1);
        assert_true(trainer->progress.epochs < 3000);
        assert_follows_history(trainer, patience, select);
        must_fail(pgcn_trainer_epoch(trainer, NULL), PGCN_ERR_ARGUMENT, "finished");
        pgcn_trainer_free(trainer);
        pgcn_dataset_free(data);
    }
}

static void test_trainer_evaluates_every_nth_and_the_last_epoch(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *trainer = trainer_of(data, "channels=4 epochs=11 eval-every=4 patience=0");
    pgcn_model *model = NULL;
    pgcn_epoch epoch;
    run_epochs(trainer, 3);
    must_fail(pgcn_trainer_model(trainer, &model), PGCN_ERR_ARGUMENT, "no epoch was evaluated");
    assert_null(model);
    while (!pgcn_trainer_finished(trainer)) must(pgcn_trainer_epoch(trainer, &epoch));
    assert_int_equal(epoch.epoch, 11);
    int64_t count;
    const pgcn_epoch *h = pgcn_trainer_history(trainer, &count);
    assert_int_equal(count, 11);
    for (int e = 1; e <= 11; e++)
        assert_int_equal(!isnan(h[e - 1].val_loss), e == 4 || e == 8 || e == 11);
    assert_follows_history(trainer, 0, PGCN_SELECT_LOSS);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

static void test_trainer_best_weights_score_what_the_history_says(void **state) {
    (void)state;
    static const char *const texts[] = {"channels=8 epochs=150 patience=0 lr-ends=0.05",
                                        "channels=8 epochs=60 patience=0 select=accuracy",
                                        "channels=8 epochs=60 patience=0 batch-norm=yes"};
    static const char *const names[] = {"karate", SBM};
    for (int i = 0; i < 6; i++) {
        pgcn_dataset *data = dataset(names[i % 2]);
        pgcn_config config = settings(texts[i / 2]);
        pgcn_trainer *trainer = trainer_of(data, texts[i / 2]);
        pgcn_model *model, *at_once;
        pgcn_scores scores;
        while (!pgcn_trainer_finished(trainer)) run_epochs(trainer, 1);
        must(pgcn_trainer_model(trainer, &model));
        must(pgcn_model_evaluate(model, data, NULL, &scores));
        const pgcn_epoch *best = &trainer->progress.history[pgcn_model_epoch(model) - 1];
        assert_true(best->best);
        assert_true(scores.val.accuracy == best->val_accuracy);
        assert_true(scores.test.accuracy == best->test_accuracy);
        assert_close(scores.val.loss, best->val_loss, 1e-5);
        assert_true(scores.test.draw_deviation == 0);
        /* the convenient call ends with the same bits */
        must(pgcn_train(data, &config, &at_once));
        assert_memory_equal(at_once->params.value, model->params.value,
                            (size_t)model->params.total * sizeof(float));
        pgcn_model_free(model), pgcn_model_free(at_once);
        pgcn_trainer_free(trainer);
        pgcn_dataset_free(data);
    }
}

/* ---- class weights --------------------------------------------------------------------------------- */

static void test_trainer_class_weights_are_set_as_told(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("sbm:nodes=200,features=12,classes=3");
    pgcn_trainer *plain = trainer_of(data, QUICK "class-weights=none");
    pgcn_trainer *balanced = trainer_of(data, QUICK "class-weights=balanced");
    pgcn_trainer *given = trainer_of(data, QUICK "class-weights=1,2.5,0.5");
    pgcn_trainer *none = NULL;
    int64_t count[3] = {0};
    assert_null(plain->class_weight);
    for (int64_t i = 0; i < 200; i++)
        if (balanced->split->train[i]) count[pgcn_dataset_labels(data)[i]]++;
    for (int c = 0; c < 3; c++)
        assert_close((double)balanced->class_weight[c],
                     (double)balanced->train_items / (3.0 * (double)count[c]), 1e-6);
    assert_true(given->class_weight[1] == 2.5f && given->class_weight[2] == 0.5f);
    pgcn_config config = settings(QUICK "class-weights=1,2");
    must_fail(pgcn_trainer_new(data, &config, &none), PGCN_ERR_MISMATCH, "has 3 classes");
    pgcn_trainer_free(plain), pgcn_trainer_free(balanced), pgcn_trainer_free(given);
    pgcn_dataset_free(data);
    data = set_of(set_new(PGCN_TASK_MULTILABEL, true, 12), "random=40/30/30");
    config = settings(QUICK "samples=1 consistency=0 class-weights=balanced");
    must_fail(pgcn_trainer_new(data, &config, &none), PGCN_ERR_ARGUMENT, "several labels");
    pgcn_dataset_free(data);
}

/* Equal weights, however large, are no weights: the loss is divided by their sum. Unequal ones change
 * the training loss, and leave the way validation is measured alone. */
static void test_trainer_equal_class_weights_change_nothing(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *plain = trainer_of(data, QUICK),
                 *ones = trainer_of(data, QUICK "class-weights=1,1");
    pgcn_trainer *twos = trainer_of(data, QUICK "class-weights=2,2");
    pgcn_trainer *unequal = trainer_of(data, QUICK "class-weights=1,9");
    run_epochs(plain, 10), run_epochs(ones, 10), run_epochs(twos, 10), run_epochs(unequal, 1);
    assert_same_weights(&plain->params, &ones->params, "weights of 1");
    for (int e = 0; e < 10; e++)
        assert_close(twos->progress.history[e].train_loss, plain->progress.history[e].train_loss,
                     1e-5);
    assert_true(fabs(unequal->progress.history[0].train_loss -
                     plain->progress.history[0].train_loss) > 1e-4);
    memcpy(unequal->params.value, plain->params.value, (size_t)plain->params.total * sizeof(float));
    pgcn_score val, test, want, other;
    memcpy(unequal->params.best, plain->params.best, (size_t)plain->params.total * sizeof(float));
    must(pgcn_trainer_scores(unequal, &val, &test));
    must(pgcn_trainer_scores(plain, &want, &other));
    assert_true(val.loss == want.loss);
    pgcn_trainer_free(plain), pgcn_trainer_free(ones), pgcn_trainer_free(twos);
    pgcn_trainer_free(unequal);
    pgcn_dataset_free(data);
}

/* ---- numbers that are not finite ------------------------------------------------------------------- */

/* Until PGCN_ERR_NUMERIC; a hundred epochs must be enough. */
static void run_until_broken(pgcn_trainer *trainer, const char *cause) {
    pgcn_status status = PGCN_OK;
    for (int e = 0; e < 100 && status == PGCN_OK; e++) status = pgcn_trainer_epoch(trainer, NULL);
    must_fail(status, PGCN_ERR_NUMERIC, "not finite");
    must_fail(status, PGCN_ERR_NUMERIC, cause);
}

/* Dense features and one split. */
static pgcn_dataset *dataset_of(const pgcn_graph *graph, const float *x, int64_t columns,
                                const int32_t *label, const uint8_t *train, const uint8_t *val,
                                const uint8_t *test) {
    pgcn_dataset *data = NULL;
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    arrays.graph = graph;
    arrays.n_features = columns;
    arrays.features = x;
    arrays.label = label;
    arrays.n_splits = 1;
    arrays.train = train;
    arrays.val = val;
    arrays.test = test;
    must(pgcn_dataset_from_arrays(&arrays, &data));
    return data;
}

static void test_trainer_features_beyond_float_stop_the_run(void **state) {
    (void)state;
    pgcn_dataset *karate = dataset("karate");
    const pgcn_i_split *split = &karate->split[0];
    float *x = ref_random_floats(9, 34 * 6);
    for (int e = 0; e < 34 * 6; e++) x[e] *= 3e38f;
    pgcn_dataset *huge =
        dataset_of(karate->graph, x, 6, karate->label, split->train, split->val, split->test);
    pgcn_trainer *trainer = trainer_of(huge, "channels=4 normalise=none dropout=0");
    pgcn_model *model = NULL;
    run_until_broken(trainer, "feature column 3 has values of 3e+38");
    int64_t count;
    pgcn_trainer_history(trainer, &count);
    assert_int_equal(count, 0); /* the epoch is not in the history */
    must_fail(pgcn_trainer_model(trainer, &model), PGCN_ERR_ARGUMENT, "no best weights");
    assert_null(model);
    pgcn_trainer_free(trainer);
    pgcn_config config = settings("channels=4 normalise=none dropout=0");
    must_fail(pgcn_train(huge, &config, &model), PGCN_ERR_NUMERIC, "not finite");
    assert_null(model);
    pgcn_dataset_free(huge), pgcn_dataset_free(karate);
    free(x);
}

/* One validation node, alone and with features that overflow: training never sees it, the
 * evaluation does. The epoch must not count as one that was not evaluated. */
static void test_trainer_validation_loss_not_finite_stops_the_run(void **state) {
    (void)state;
    enum { N = 12, F = 2 };
    pgcn_node source[N - 2], target[N - 2];
    for (int e = 0; e < N - 2; e++) source[e] = e, target[e] = e + 1; /* a path; N - 1 is alone */
    float x[N * F];
    int32_t label[N];
    uint8_t train[N], val[N], test[N];
    for (int j = 0; j < N; j++) {
        x[j * F] = (float)j, x[j * F + 1] = 1.0f;
        label[j] = j % 2;
        train[j] = j < 6, test[j] = j >= 6 && j < 9, val[j] = j >= 9;
    }
    x[(N - 1) * F] = x[(N - 1) * F + 1] = 3e38f;
    pgcn_graph *graph;
    must(pgcn_graph_from_edges(N, N - 2, source, target, NULL, NULL, &graph));
    pgcn_dataset *data = dataset_of(graph, x, F, label, train, val, test);
    pgcn_trainer *trainer =
        trainer_of(data, "channels=16 samples=1 consistency=0 dropout=0 kernel-noise=5 layers=3");
    pgcn_model *model = NULL;
    for (int again = 0; again < 2; again++)
        must_fail(pgcn_trainer_epoch(trainer, NULL), PGCN_ERR_NUMERIC, "the validation loss");
    assert_int_equal(trainer->progress.epochs, 0);
    must_fail(pgcn_trainer_save(trainer, "/proc/none"), PGCN_ERR_NUMERIC, "no checkpoint");
    must_fail(pgcn_trainer_model(trainer, &model), PGCN_ERR_ARGUMENT, "no best weights");
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
    pgcn_graph_free(graph);
}

static void test_trainer_step_without_finite_loss_changes_nothing(void **state) {
    (void)state;
    static const char *const texts[] = {QUICK, QUICK "kernel=full batch-norm=yes",
                                        QUICK "samples=1 consistency=0 train-form=exact",
                                        QUICK "resample-every=4 paths-per-layer=yes"};
    pgcn_dataset *data = dataset("karate");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_step_without_finite_loss(data, texts[i]);
    pgcn_dataset_free(data);
}

/* Weights blow up after some good epochs: the best of these must still be there, and finite. */
static void test_trainer_that_breaks_keeps_its_best_weights(void **state) {
    (void)state;
    pgcn_dataset *karate = dataset("karate");
    pgcn_trainer *trainer = trainer_of(karate, "channels=4 layers=2 patience=0");
    run_epochs(trainer, 10);
    double before = trainer->progress.history[trainer->progress.best].val_accuracy;
    /* what a wild step does: weights of 1e30, so that products overflow */
    for (int64_t e = 0; e < trainer->params.total; e++) trainer->params.value[e] *= 1e30f;
    run_until_broken(trainer, "lr-ends");
    must_fail(pgcn_trainer_epoch(trainer, NULL), PGCN_ERR_NUMERIC, "epoch"); /* and stays so */
    assert_int_equal(trainer->progress.epochs, 10);
    pgcn_model *model;
    pgcn_scores scores;
    must(pgcn_trainer_model(trainer, &model));
    must(pgcn_model_evaluate(model, karate, NULL, &scores));
    assert_true(scores.val.accuracy == before);
    pgcn_model_free(model);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(karate);
}

static void test_trainer_absurd_learning_rates_never_end_in_nan_weights(void **state) {
    (void)state;
    pgcn_dataset *data = dataset(SBM);
    pgcn_trainer *trainer =
        trainer_of(data, "channels=8 layers=16 lr-ends=100 lr-mix=100 lr-kernel=100 wd-mix=0 "
                         "wd-kernel=0 epochs=200 patience=0");
    pgcn_model *model;
    pgcn_status status = PGCN_OK;
    while (status == PGCN_OK && !pgcn_trainer_finished(trainer))
        status = pgcn_trainer_epoch(trainer, NULL);
    must_fail(status, PGCN_ERR_NUMERIC, "not finite");
    if (trainer->progress.best >= 0) { /* then its weights are finite and usable */
        must(pgcn_trainer_model(trainer, &model));
        for (int64_t e = 0; e < model->params.total; e++)
            assert_true(isfinite(model->params.value[e]));
        pgcn_model_free(model);
    }
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

/* ---- checks of the data ------------------------------------------------------------------------------ */

static void test_trainer_class_without_training_node_is_refused(void **state) {
    (void)state;
    pgcn_dataset *karate = dataset("karate");
    const pgcn_i_split *split = &karate->split[0];
    uint8_t train[34];
    for (int j = 0; j < 34; j++) train[j] = split->train[j] && karate->label[j] == 0;
    float *x = ref_random_floats(1, 34 * 3);
    pgcn_dataset *data =
        dataset_of(karate->graph, x, 3, karate->label, train, split->val, split->test);
    pgcn_config config = settings(QUICK);
    pgcn_trainer *trainer = NULL;
    pgcn_status status = pgcn_trainer_new(data, &config, &trainer);
    must_fail(status, PGCN_ERR_MISMATCH, "class 1");
    must_fail(status, PGCN_ERR_MISMATCH, "allow-missing-class");
    assert_null(trainer);
    config.allow_missing_class = true;
    must(pgcn_trainer_new(data, &config, &trainer));
    run_epochs(trainer, 3);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data), pgcn_dataset_free(karate);
    free(x);
}

static void test_trainer_missing_class_is_called_by_its_name(void **state) {
    (void)state;
    static const int64_t offset[] = {0, 5, 9};
    pgcn_dataset *data = dataset("karate");
    const pgcn_i_split *split = &data->split[0];
    for (int64_t i = 0; i < 34; i++)
        ((uint8_t *)split->train)[i] = split->train[i] && data->label[i] == 0;
    data->from.class_name = (pgcn_i_names){2, offset, "Nord\0Sud"};
    pgcn_config config = settings(QUICK " split=0");
    pgcn_trainer *trainer = NULL;
    must_fail(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_MISMATCH,
              "no training node of class 'Sud'");
    pgcn_dataset_free(data);
}

static void test_trainer_single_class_is_refused(void **state) {
    (void)state;
    pgcn_dataset *karate = dataset("karate");
    const pgcn_i_split *split = &karate->split[0];
    int32_t label[34] = {0};
    float *x = ref_random_floats(1, 34 * 3);
    pgcn_dataset *data =
        dataset_of(karate->graph, x, 3, label, split->train, split->val, split->test);
    pgcn_config config = settings(QUICK);
    pgcn_trainer *trainer = NULL;
    must_fail(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_MISMATCH,
              "has one class only, 0: there is nothing to learn");
    pgcn_dataset_free(data), pgcn_dataset_free(karate);
    free(x);
}

static void test_trainer_split_is_chosen_by_name_and_seed(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    static const struct {
        const char *text, *split;
    } cases[] = {{"split=3", "3"}, {"seed=0", "0"}, {"seed=17", "7"}, {"seed=17 split=9", "9"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_trainer *trainer = trainer_of(data, cases[i].text);
        assert_string_equal(pgcn_trainer_split(trainer), cases[i].split);
        pgcn_trainer_free(trainer);
    }
    pgcn_config config = settings("split=10");
    pgcn_trainer *trainer = NULL;
    must_fail(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_MISMATCH, "it has 0 to 9");
    config = settings("split=public");
    must_fail(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_MISMATCH, "'public'");
    assert_null(trainer);
    pgcn_dataset_free(data);
}

static void test_trainer_numbered_split_follows_the_seed_beside_a_public_one(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    strcpy(data->split[0].name, "public"); /* leaves 1 to 9 */
    static const struct {
        const char *text, *split;
    } cases[] = {{"seed=3", "public"},
                 {"seed=0 split=numbered", "1"},
                 {"seed=8 split=numbered", "9"},
                 {"seed=9223372036854775807 split=numbered", "8"}}; /* 2^63 - 1 = 7 modulo 9 */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_trainer *trainer = trainer_of(data, cases[i].text);
        assert_string_equal(pgcn_trainer_split(trainer), cases[i].split);
        pgcn_trainer_free(trainer);
    }
    pgcn_config config = settings("split=numbered");
    pgcn_trainer *trainer = NULL;
    int splits = data->splits;
    data->splits = 1;
    must_fail(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_MISMATCH, "'numbered'");
    assert_null(trainer);
    data->splits = splits;
    strcpy(data->split[0].name, "0");
    trainer = trainer_of(data, "seed=17 split=numbered");
    assert_string_equal(pgcn_trainer_split(trainer), "7");
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trainer_after_first_epoch_allocates_nothing),
        cmocka_unit_test(test_trainer_thread_matrix_same_bits),
        cmocka_unit_test(test_trainer_same_seed_same_run_other_seed_another),
        cmocka_unit_test(test_trainer_every_option_lowers_the_loss),
        cmocka_unit_test(test_trainer_resamples_paths_when_told),
        cmocka_unit_test(test_trainer_evaluates_node2vec_on_other_walks_in_every_epoch),
        cmocka_unit_test(test_trainer_consistency_rises_over_the_ramp),
        cmocka_unit_test(test_progress_improves_by_loss_or_by_accuracy),
        cmocka_unit_test(test_trainer_patience_and_selection_follow_the_history),
        cmocka_unit_test(test_trainer_evaluates_every_nth_and_the_last_epoch),
        cmocka_unit_test(test_trainer_best_weights_score_what_the_history_says),
        cmocka_unit_test(test_trainer_class_weights_are_set_as_told),
        cmocka_unit_test(test_trainer_equal_class_weights_change_nothing),
        cmocka_unit_test(test_trainer_features_beyond_float_stop_the_run),
        cmocka_unit_test(test_trainer_validation_loss_not_finite_stops_the_run),
        cmocka_unit_test(test_trainer_step_without_finite_loss_changes_nothing),
        cmocka_unit_test(test_trainer_that_breaks_keeps_its_best_weights),
        cmocka_unit_test(test_trainer_absurd_learning_rates_never_end_in_nan_weights),
        cmocka_unit_test(test_trainer_class_without_training_node_is_refused),
        cmocka_unit_test(test_trainer_missing_class_is_called_by_its_name),
        cmocka_unit_test(test_trainer_single_class_is_refused),
        cmocka_unit_test(test_trainer_split_is_chosen_by_name_and_seed),
        cmocka_unit_test(test_trainer_numbered_split_follows_the_seed_beside_a_public_one),
    };
    return cmocka_run_group_tests_name("trainer", tests, NULL, NULL);
}
