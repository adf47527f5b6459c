/* Callbacks that stop a training: at every step and every part of an evaluation, and whoever goes on ends
 * with the bits of a run that was never stopped. */
#include "graphs_help.h"
#include "nn_help.h"
#include "scratch_help.h"

/* Allows `left` questions and refuses the next one. */
typedef struct patience_of {
    int64_t left, asked;
} patience_of;

static bool allows(void *context) {
    patience_of *p = context;
    p->asked++;
    return p->left-- > 0;
}

static pgcn_dataset *many_graphs(pgcn_task task) {
    return set_of(task == PGCN_TASK_GRAPH ? set_new(task, false, 30) : set_mixed(task, true, 30),
                  "");
}

static void assert_same_bytes(const pgcn_trainer *a, const pgcn_trainer *b) {
    pgcn_model *x = NULL, *y = NULL;
    void *bytes[2];
    size_t size[2];
    must(pgcn_trainer_model(a, &x));
    must(pgcn_trainer_model(b, &y));
    must(pgcn_model_to_bytes(x, &bytes[0], &size[0]));
    must(pgcn_model_to_bytes(y, &bytes[1], &size[1]));
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(bytes[0], bytes[1], size[0]);
    pgcn_bytes_free(bytes[0]), pgcn_bytes_free(bytes[1]);
    pgcn_model_free(x), pgcn_model_free(y);
}

/* Stops before every question of the training, once; looks at scores and model in between. */
static void check_stopped_everywhere(const pgcn_dataset *data, const char *text) {
    pgcn_trainer *whole = trainer_of(data, text), *stopped = trainer_of(data, text);
    patience_of counts = {.left = INT64_MAX}, often = {.left = 0};
    pgcn_trainer_on_step(whole, allows, &counts);
    while (!pgcn_trainer_finished(whole)) must(pgcn_trainer_epoch(whole, NULL));
    pgcn_trainer_on_step(stopped, allows, &often);
    int64_t stops = 0;
    while (!pgcn_trainer_finished(stopped)) {
        pgcn_epoch epoch = {.epoch = -1};
        pgcn_score val, test;
        pgcn_status status = pgcn_trainer_epoch(stopped, &epoch);
        if (status == PGCN_OK) continue;
        must_fail(status, PGCN_ERR_STOPPED, "stopped by its callback");
        assert_int_equal(epoch.epoch, -1);
        if (stopped->progress.best >= 0) must(pgcn_trainer_scores(stopped, &val, &test));
        often.left = 1;                       /* one more step or part */
        assert_true(++stops <= counts.asked); /* every question is new, or it never ends */
    }
    assert_int_equal(stops, counts.asked);
    assert_same_weights(&whole->params, &stopped->params, text);
    assert_same_bytes(whole, stopped);
    for (int64_t i = 0; i < whole->progress.epochs; i++) {
        const pgcn_epoch *x = &whole->progress.history[i], *y = &stopped->progress.history[i];
        assert_memory_equal(&x->train_loss, &y->train_loss, sizeof x->train_loss);
        assert_memory_equal(&x->val_loss, &y->val_loss, sizeof x->val_loss);
        assert_memory_equal(&x->test_accuracy, &y->test_accuracy, sizeof x->test_accuracy);
        assert_memory_equal(&x->val_measure, &y->val_measure, sizeof x->val_measure);
    }
    pgcn_trainer_free(whole), pgcn_trainer_free(stopped);
}

static void test_stopped_at_every_step_ends_with_the_same_bits(void **state) {
    (void)state;
    static const char *const texts[] = {
        "channels=6 epochs=4 batch=4",
        "channels=6 epochs=4 batch=4 select=macro-f1 eval-every=3 steps=3",
        "channels=6 epochs=3 batch=7 batch-norm=yes dropout=0.3 samples=2 threads=3",
        "channels=6 epochs=3 batch=5 model=gin",
    };
    pgcn_dataset *graphs = many_graphs(PGCN_TASK_GRAPH), *nodes = many_graphs(PGCN_TASK_NODE);
    pgcn_dataset *karate = dataset("karate");
    for (int i = 0; i < 4; i++) check_stopped_everywhere(graphs, texts[i]);
    check_stopped_everywhere(nodes, "channels=6 epochs=3 batch=4");
    check_stopped_everywhere(karate, "channels=6 epochs=5 eval-every=2 resample-every=3");
    check_stopped_everywhere(karate, "channels=6 epochs=40 patience=3 threads=2");
    pgcn_dataset_free(graphs), pgcn_dataset_free(nodes), pgcn_dataset_free(karate);
}

static void test_everybody_is_asked_before_each_step_and_part(void **state) {
    (void)state;
    pgcn_dataset *graphs = many_graphs(PGCN_TASK_GRAPH), *karate = dataset("karate");
    pgcn_trainer *trainer = trainer_of(graphs, "channels=4 epochs=3 batch=4");
    patience_of p = {.left = INT64_MAX};
    int64_t parts = (trainer->feed->eval + trainer->feed->most - 1) / trainer->feed->most;
    assert_true(parts > 1 && trainer->steps > 1);
    pgcn_trainer_on_step(trainer, allows, &p);
    must(pgcn_trainer_epoch(trainer, NULL));
    assert_int_equal(p.asked, trainer->steps + parts);
    pgcn_trainer_on_step(trainer, NULL, NULL);
    must(pgcn_trainer_epoch(trainer, NULL));
    assert_int_equal(p.asked, trainer->steps + parts);
    pgcn_trainer_free(trainer);
    trainer = trainer_of(karate, "channels=4 epochs=3");
    p.asked = 0;
    pgcn_trainer_on_step(trainer, allows, &p);
    must(pgcn_trainer_epoch(trainer, NULL));
    assert_int_equal(p.asked, 2); /* one step, one evaluation */
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(graphs), pgcn_dataset_free(karate);
}

/* Two of the steps of the third epoch are done; or all, and a part of its evaluation. */
static void test_a_stopped_epoch_is_saved_and_resumed_inside(void **state) {
    (void)state;
    pgcn_dataset *data = many_graphs(PGCN_TASK_GRAPH);
    static const char text[] = "channels=6 epochs=4 batch=4 select=auc";
    pgcn_trainer *whole = trainer_of(data, text), *trainer = trainer_of(data, text);
    run_epochs(whole, 4), run_epochs(trainer, 2);
    int64_t all, count;
    assert_int_equal(pgcn_trainer_steps(trainer, &all), 0);
    const int64_t allowed[] = {2, all + 1};
    for (int i = 0; i < 2; i++) {
        patience_of p = {.left = allowed[i]};
        pgcn_trainer *second = trainer_of(data, text);
        must(pgcn_trainer_save(trainer, scratch_path("two")));
        pgcn_trainer_on_step(trainer, allows, &p);
        must_fail(pgcn_trainer_epoch(trainer, NULL), PGCN_ERR_STOPPED, "in epoch 3, after");
        assert_int_equal(pgcn_trainer_steps(trainer, NULL), i == 0 ? 2 : all);
        must(pgcn_trainer_save(trainer, scratch_path("three")));
        must(pgcn_trainer_resume(second, scratch_path("three")));
        assert_int_equal(pgcn_trainer_steps(second, NULL), i == 0 ? 2 : all);
        run_epochs(second, 2);
        assert_same_weights(&whole->params, &second->params, text);
        assert_true(pgcn_trainer_history(second, &count)[2].train_loss ==
                    pgcn_trainer_history(whole, &count)[2].train_loss);
        pgcn_trainer_free(second);
        must(pgcn_trainer_resume(trainer, scratch_path("two"))); /* the begun epoch is forgotten */
        assert_int_equal(pgcn_trainer_steps(trainer, NULL), 0);
    }
    pgcn_trainer_on_step(trainer, NULL, NULL);
    run_epochs(trainer, 2);
    assert_same_weights(&whole->params, &trainer->params, text);
    pgcn_trainer_free(whole), pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

static void test_an_epoch_with_callbacks_allocates_nothing(void **state) {
    (void)state;
    pgcn_dataset *data = many_graphs(PGCN_TASK_GRAPH);
    pgcn_trainer *trainer = trainer_of(data, "channels=4 epochs=3 batch=4 select=auc");
    patience_of p = {.left = 3};
    pgcn_trainer_on_step(trainer, allows, &p);
    int64_t before = pgcn_i_alloc_count();
    must_fail(pgcn_trainer_epoch(trainer, NULL), PGCN_ERR_STOPPED, "after 3 of");
    p.left = INT64_MAX;
    must(pgcn_trainer_epoch(trainer, NULL));
    assert_int_equal(pgcn_i_alloc_count(), before);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

/* ---- in one call -------------------------------------------------------------------------------------- */

typedef struct watcher {
    int64_t epochs, last_epoch, steps, most_steps;
} watcher;

static bool sees_epoch(const pgcn_epoch *epoch, void *context) {
    watcher *w = context;
    assert_int_equal(epoch->epoch, ++w->epochs);
    return epoch->epoch < w->last_epoch;
}
static bool sees_step(void *context) {
    watcher *w = context;
    return w->steps++ < w->most_steps;
}

static void test_train_with_callbacks_keeps_the_best_weights_so_far(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_config config = settings("channels=6 epochs=9");
    pgcn_train_opts opts = pgcn_train_opts_default();
    watcher w = {.last_epoch = 4, .most_steps = INT64_MAX};
    pgcn_model *model = NULL;
    opts.epoch = sees_epoch, opts.go_on = sees_step, opts.context = &w;
    must(pgcn_train_with(data, &config, &opts, &model));
    pgcn_trainer *four = trainer_of(data, "channels=6 epochs=9");
    run_epochs(four, 4);
    assert_int_equal(w.epochs, 4);
    assert_int_equal(w.steps, 8);
    assert_int_equal(pgcn_model_epoch(model), four->progress.best + 1);
    assert_memory_equal(model->params.value, four->params.best,
                        (size_t)four->params.total * sizeof(float));
    pgcn_model_free(model);

    w = (watcher){.last_epoch = 99, .most_steps = 5}; /* in the evaluation of the third epoch */
    must(pgcn_train_with(data, &config, &opts, &model));
    assert_int_equal(w.epochs, 2);
    pgcn_model_free(model);
    model = NULL;
    w = (watcher){.last_epoch = 99, .most_steps = 1};
    must_fail(pgcn_train_with(data, &config, &opts, &model), PGCN_ERR_STOPPED,
              "there are no weights to keep");
    config.eval_every = 5;
    w = (watcher){.last_epoch = 2, .most_steps = INT64_MAX};
    must_fail(pgcn_train_with(data, &config, &opts, &model), PGCN_ERR_STOPPED,
              "there are no weights to keep");
    assert_null(model);
    pgcn_trainer_free(four);
    pgcn_dataset_free(data);
}

/* ---- races --------------------------------------------------------------------------------------------- */

static int winner_of(const pgcn_dataset *data, int64_t at_a_time, double *score) {
    pgcn_config own = pgcn_config_default();
    must(pgcn_config_set(&own, "epochs", "9"));
    must(pgcn_config_set(&own, "channels", "8"));
    must(pgcn_config_set(&own, "threads", "1"));
    pgcn_race *race = NULL;
    pgcn_race_entry entry;
    patience_of p = {.left = at_a_time};
    must(pgcn_race_new(data, &own, &race));
    pgcn_race_on_step(race, allows, &p);
    while (!pgcn_race_finished(race)) {
        pgcn_status status = pgcn_race_epoch(race);
        if (status != PGCN_OK) must_fail(status, PGCN_ERR_STOPPED, "stopped by its callback");
        if (status != PGCN_OK) p.left = at_a_time;
    }
    int leader = pgcn_race_leader(race);
    assert_true(pgcn_race_get(race, leader, &entry));
    *score = entry.score;
    pgcn_race_free(race);
    return leader;
}

static void test_a_race_that_is_stopped_again_and_again_has_the_same_winner(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    double score, same;
    int winner = winner_of(data, INT64_MAX, &score);
    assert_int_equal(winner_of(data, 1, &same), winner);
    assert_true(score == same);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stopped_at_every_step_ends_with_the_same_bits),
        cmocka_unit_test(test_everybody_is_asked_before_each_step_and_part),
        cmocka_unit_test_setup_teardown(test_a_stopped_epoch_is_saved_and_resumed_inside,
                                        scratch_make, scratch_remove),
        cmocka_unit_test(test_an_epoch_with_callbacks_allocates_nothing),
        cmocka_unit_test(test_train_with_callbacks_keeps_the_best_weights_so_far),
        cmocka_unit_test(test_a_race_that_is_stopped_again_and_again_has_the_same_winner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
