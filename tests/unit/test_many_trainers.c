/* Several trainers at once in one process, as a service or a notebook has them: each in a thread of its
 * own with a pool of its own, on data sets that they share, trains, saves, resumes and predicts as if
 * it were alone, to the bit. The threads come first, so that what the library sets up at its first use
 * (the choice of kernels) is set up by all of them at once. Under the thread sanitizer
 * (tools/test-full.sh) the same test shows that they share nothing by mistake. */
#include "graphs_help.h"
#include "nn_help.h"

#include "scratch_help.h"

#include <pthread.h>

enum { EPOCHS = 6, CLASSES_MOST = 8, NODES_MOST = 300 };

static const struct {
    int data; /* which of the sets below */
    const char *settings;
} runs[] = {
    {0, "channels=8 threads=2"},
    {0, "channels=8 threads=2"}, /* the same run twice at once */
    {1, "channels=12 threads=2 drop-rows=0.2 batch-norm=yes"},
    {1, "channels=8 threads=3 kernel=full train-form=exact"},
    {1, "channels=8 threads=2 walk=node2vec self-loops=no samples=1 consistency=0"},
    {0, "channels=8 threads=1 model=gin scaling=sum train-form=exact samples=1 consistency=0"},
    {2, "channels=8 threads=2 batch=6 samples=1 consistency=0"},
    {2, "channels=8 threads=2 model=gin scaling=sum train-form=exact samples=1 consistency=0"},
};
enum { RUNS = sizeof runs / sizeof runs[0] };
static const char *const names[] = {"karate", "sbm:nodes=300,features=12,classes=3"};
enum { SETS = 3 }; /* those, and one of many graphs */
static pgcn_dataset *sets[SETS];

/* What one run leaves. Threads assert nothing: a failing assertion leaves by a long jump. */
typedef struct outcome {
    int run;
    const char *place; /* "together" or "alone": part of its file names */
    pgcn_status status;
    char error[256];
    pgcn_epoch history[EPOCHS];
    float probability[NODES_MOST * CLASSES_MOST], deviation[NODES_MOST * CLASSES_MOST];
    pgcn_scores scores;
} outcome;

/* Half of the epochs, a checkpoint, and the other half by a second trainer that resumes it. */
static pgcn_status train_in_halves(const outcome *o, pgcn_trainer **trainer) {
    char path[128];
    pgcn_config config = pgcn_config_default();
    PGCN_TRY(pgcn_i_config_apply(&config, runs[o->run].settings));
    config.epochs = EPOCHS;
    config.patience = 0;
    snprintf(path, sizeof path, "%s/%s-%d", scratch, o->place, o->run);
    PGCN_TRY(pgcn_trainer_new(sets[runs[o->run].data], &config, trainer));
    for (int e = 0; e < EPOCHS / 2; e++) PGCN_TRY(pgcn_trainer_epoch(*trainer, NULL));
    PGCN_TRY(pgcn_trainer_save(*trainer, path));
    pgcn_trainer_free(*trainer);
    *trainer = NULL;
    PGCN_TRY(pgcn_trainer_new(sets[runs[o->run].data], &config, trainer));
    PGCN_TRY(pgcn_trainer_resume(*trainer, path));
    while (!pgcn_trainer_finished(*trainer)) PGCN_TRY(pgcn_trainer_epoch(*trainer, NULL));
    return PGCN_OK;
}

static pgcn_status use_model(outcome *o, const pgcn_model *model) {
    const pgcn_dataset *data = sets[runs[o->run].data];
    pgcn_inference inference = pgcn_inference_default();
    inference.threads = 2;
    if (pgcn_model_config(model)->scaling != PGCN_SCALING_SUM) inference.draws = 3;
    PGCN_TRY(pgcn_model_predict(model, data, &inference, o->probability, o->deviation));
    return pgcn_model_evaluate(model, data, &inference, &o->scores);
}

static pgcn_status run_all(outcome *o) {
    pgcn_trainer *trainer = NULL;
    pgcn_model *model = NULL;
    pgcn_status status = train_in_halves(o, &trainer);
    if (status == PGCN_OK) {
        int64_t count;
        const pgcn_epoch *history = pgcn_trainer_history(trainer, &count);
        for (int e = 0; e < EPOCHS; e++) o->history[e] = history[e];
        status = pgcn_trainer_model(trainer, &model);
    }
    if (status == PGCN_OK) status = use_model(o, model);
    pgcn_model_free(model);
    pgcn_trainer_free(trainer);
    return status;
}

static void *run_thread(void *argument) {
    outcome *o = argument;
    o->status = run_all(o);
    snprintf(o->error, sizeof o->error, "%s", pgcn_last_error());
    return NULL;
}

/* Data sets come and go, and calls fail, while the others train. */
static void *load_thread(void *argument) {
    pgcn_status *status = argument;
    for (int i = 0; i < 20 && *status == PGCN_OK; i++) {
        pgcn_dataset *data = NULL;
        *status = pgcn_dataset_load(names[i % 2], NULL, &data);
        if (*status == PGCN_OK) *status = pgcn_dataset_verify(data);
        pgcn_dataset_free(data);
        if (pgcn_dataset_load("no-such-set", NULL, &data) == PGCN_OK ||
            !strstr(pgcn_last_error(), "no-such-set"))
            *status = PGCN_ERR_SYSTEM; /* the sentence of another thread */
    }
    return NULL;
}

static bool same_history(const pgcn_epoch *a, const pgcn_epoch *b) {
    for (int e = 0; e < EPOCHS; e++)
        if (a[e].train_loss != b[e].train_loss || a[e].val_loss != b[e].val_loss ||
            a[e].test_accuracy != b[e].test_accuracy || a[e].best != b[e].best)
            return false;
    return true;
}

static void assert_same_outcome(const outcome *together, const outcome *alone) {
    const char *what = NULL;
    if (alone->status != PGCN_OK) fail_msg("alone: %s", alone->error);
    if (together->status != PGCN_OK) fail_msg("together: %s", together->error);
    if (!same_history(together->history, alone->history)) what = "the history";
    if (memcmp(together->probability, alone->probability, sizeof alone->probability) != 0 ||
        memcmp(together->deviation, alone->deviation, sizeof alone->deviation) != 0)
        what = "the predictions";
    if (together->scores.test.accuracy != alone->scores.test.accuracy ||
        together->scores.all.loss != alone->scores.all.loss)
        what = "the scores";
    if (what) fail_msg("%s: %s of a run beside others differs", runs[alone->run].settings, what);
}

static void test_trainers_at_once_do_what_each_does_alone(void **state) {
    (void)state;
    static outcome together[RUNS], alone;
    pthread_t thread[RUNS], loader;
    pgcn_status loaded = PGCN_OK;
    for (int d = 0; d < 2; d++) sets[d] = dataset(names[d]);
    sets[2] = set_of(set_new(PGCN_TASK_GRAPH, true, 40), "kfold=4");
    for (int i = 0; i < RUNS; i++) {
        together[i] = (outcome){.run = i, .place = "together"};
        assert_int_equal(pthread_create(&thread[i], NULL, run_thread, &together[i]), 0);
    }
    assert_int_equal(pthread_create(&loader, NULL, load_thread, &loaded), 0);
    for (int i = 0; i < RUNS; i++) pthread_join(thread[i], NULL);
    pthread_join(loader, NULL);
    assert_int_equal(loaded, PGCN_OK);
    for (int i = 0; i < RUNS; i++) {
        alone = (outcome){.run = i, .place = "alone"};
        run_thread(&alone);
        assert_same_outcome(&together[i], &alone);
    }
    assert_same_outcome(&together[0], &together[1]);
    for (int d = 0; d < SETS; d++) pgcn_dataset_free(sets[d]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_trainers_at_once_do_what_each_does_alone, scratch_make,
                                        scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
