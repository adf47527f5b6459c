/* Sets of many graphs from end to end: which graphs a step has, that training is the same for any
 * number of threads and when it is interrupted, that an epoch allocates nothing, that predictions do not
 * depend on how graphs are batched or numbered, and what is refused. */
#include "graphs_help.h"
#include "nn_help.h"

#include "bytes_help.h"
#include "scratch_help.h"
#include "trainer_help.h"

#define QUICK "channels=6 layers=2 path-length=3 paths=3 epochs=60 patience=0 batch=7 "
#define PLAIN QUICK "samples=1 consistency=0 "

/* Between them: all tasks, both forms of features and of training, all readouts and architectures. */
static const struct {
    pgcn_task task;
    bool sparse;
    const char *text;
} CASES[] = {
    {PGCN_TASK_GRAPH, true, PLAIN "batch-norm=yes"},
    {PGCN_TASK_GRAPH, false, PLAIN "batch-norm=yes train-form=exact readout=layers steps=3"},
    {PGCN_TASK_GRAPH, true, QUICK "samples=2 scaling=symmetric paths-per-layer=yes readout=relu"},
    {PGCN_TASK_GRAPH, false, PLAIN "model=gin dropout=0.3"},
    {PGCN_TASK_GRAPH, true, PLAIN "model=gin walk=node2vec self-loops=no batch=9"},
    {PGCN_TASK_GRAPH, true, PLAIN "kernel=full dropout-hidden=0.2 steps=9 batch=4"},
    {PGCN_TASK_MULTILABEL, false, PLAIN "batch-norm=yes batch=3 steps=5"},
    {PGCN_TASK_MULTILABEL, true, PLAIN "kernel=global scaling=symmetric batch=5"},
    {PGCN_TASK_MULTILABEL, true, PLAIN "model=gin batch=1"},
    {PGCN_TASK_NODE, false, QUICK "samples=2 drop-rows=0.2 batch=6"},
    {PGCN_TASK_NODE, true, PLAIN "input-hops=1 input-norm=yes batch=0"},
    {PGCN_TASK_NODE, false, PLAIN "channels=70 bf16=yes scaling=symmetric batch=9"},
    {PGCN_TASK_NODE, false, PLAIN "channels=70 hidden-rows=bf16 scaling=symmetric batch=9"},
    {PGCN_TASK_GRAPH, true, PLAIN "channels=70 train-form=exact batch=9"},
};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES, SET_GRAPHS = 40 };

static pgcn_dataset *data_of(int i) {
    if (CASES[i].task == PGCN_TASK_GRAPH)
        return set_of(set_new(PGCN_TASK_GRAPH, CASES[i].sparse, SET_GRAPHS), "kfold=5");
    return set_of(set_mixed(CASES[i].task, CASES[i].sparse, SET_GRAPHS / 2), "");
}

static pgcn_model *trained(const pgcn_dataset *data, const char *text, int epochs) {
    pgcn_trainer *trainer = trainer_of(data, text);
    pgcn_model *model;
    run_epochs(trainer, epochs);
    must(pgcn_trainer_model(trainer, &model));
    pgcn_trainer_free(trainer);
    return model;
}

/* ---- which graphs ---------------------------------------------------------------------------------- */

static bool holds_item(const pgcn_dataset *data, int64_t graph, const uint8_t *mask) {
    if (data->task == PGCN_TASK_GRAPH) return mask[graph];
    for (int64_t u = 0; u < data->graph->n; u++)
        if (data->from.graph_of[u] == graph && mask[u]) return true;
    return false;
}

/* Every pass has each training graph once, in batches whose sizes differ by one at most; another pass
 * has another order, and a step the same graphs whatever was before. */
static void check_passes(const pgcn_trainer *trainer, const pgcn_dataset *data, int most) {
    pgcn_i_feed *feed = trainer->feed;
    pgcn_node pass[3][SET_GRAPHS];
    for (int64_t p = 2; p >= 0; p--) {
        int seen[SET_GRAPHS] = {0};
        int64_t count = 0;
        for (int64_t turn = 0; turn < feed->steps; turn++) {
            pgcn_i_chosen chosen =
                pgcn_i_feed_step(feed, trainer->config.seed, p * feed->steps + turn);
            int64_t graphs = chosen.count, even = feed->train / feed->steps;
            assert_true(graphs >= even && graphs <= even + 1 && graphs <= most);
            for (int64_t i = 0; i < graphs; i++) seen[pass[p][count++] = chosen.item[i]]++;
        }
        for (int64_t g = 0; g < data->info.graphs; g++)
            assert_int_equal(seen[g], holds_item(data, g, trainer->split->train));
        assert_int_equal(count, feed->train);
    }
    size_t bytes = (size_t)feed->train * sizeof(pgcn_node);
    assert_memory_not_equal(pass[0], pass[1], bytes);
    assert_memory_not_equal(pass[1], pass[2], bytes);
    pgcn_i_chosen chosen = pgcn_i_feed_step(feed, trainer->config.seed, feed->steps);
    assert_memory_equal(pass[1], chosen.item, (size_t)chosen.count * 4);
}

static void check_parts(const pgcn_trainer *trainer, const pgcn_dataset *data) {
    int seen[SET_GRAPHS] = {0};
    pgcn_i_chosen chosen;
    for (int64_t part = 0; (chosen = pgcn_i_feed_part(trainer->feed, part)).count > 0; part++)
        for (int64_t i = 0; i < chosen.count; i++) seen[chosen.item[i]]++;
    for (int64_t g = 0; g < data->info.graphs; g++)
        assert_int_equal(seen[g], holds_item(data, g, trainer->split->val) ||
                                      holds_item(data, g, trainer->split->test));
}

static void test_feed_has_every_graph_once_in_a_pass_and_in_an_evaluation(void **state) {
    (void)state;
    static const int batches[] = {1, 2, 7, 24, 0};
    for (int d = 0; d < 7; d += 6) {
        pgcn_dataset *data = data_of(d);
        for (int i = 0; i < 5; i++) {
            char text[256];
            snprintf(text, sizeof text, PLAIN "batch=%d seed=3", batches[i]);
            pgcn_trainer *trainer = trainer_of(data, text);
            check_passes(trainer, data, batches[i] > 0 ? batches[i] : SET_GRAPHS);
            check_parts(trainer, data);
            assert_int_equal(trainer->steps, trainer->feed->steps);
            pgcn_trainer_free(trainer);
        }
        pgcn_dataset_free(data);
    }
}

/* Steps are numbered on over the epochs, so that a pass may end anywhere in one. */
static void test_epochs_go_on_with_the_next_graphs(void **state) {
    (void)state;
    pgcn_dataset *data = data_of(0);
    pgcn_trainer *trainer = trainer_of(data, PLAIN "batch=4 steps=4");
    assert_true(trainer->feed->steps > 4);
    for (int epoch = 0; epoch < 4; epoch++) {
        pgcn_node last[4];
        run_epochs(trainer, 1);
        assert_int_equal(trainer->train.tape.step, 4 * epoch + 3);
        int64_t graphs = trainer->train.views.batch->graphs;
        memcpy(last, trainer->train.views.batch->graph, (size_t)graphs * sizeof *last);
        pgcn_i_chosen chosen = pgcn_i_feed_step(trainer->feed, trainer->config.seed, 4 * epoch + 3);
        assert_int_equal(chosen.count, graphs);
        assert_memory_equal(chosen.item, last, (size_t)graphs * sizeof *last);
    }
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

/* The lists that a step was run on are the walks of its graphs, drawn for this step or, where paths are
 * drawn once, for the first; with the degrees of the batch. */
static void test_steps_walk_the_graphs_of_their_batch(void **state) {
    (void)state;
    pgcn_dataset *data = data_of(0);
    for (int every = 0; every <= 2; every++) {
        char text[256];
        snprintf(text, sizeof text, PLAIN "scaling=symmetric batch=4 resample-every=%d", every);
        pgcn_trainer *trainer = trainer_of(data, text);
        run_epochs(trainer, 2);
        const pgcn_i_batch *batch = trainer->train.views.batch;
        const pgcn_i_visits *used = trainer->train.views.visits[0];
        pgcn_i_visits *again;
        int64_t step = trainer->train.tape.step;
        must(pgcn_i_visits_new(&trainer->spatial.walker, &batch->subset, 1, true, &again));
        pgcn_i_visits_sample(again, &trainer->spatial.walker, trainer->pool,
                             (pgcn_i_path_draw){trainer->config.seed, PGCN_I_RNG_WALK,
                                                every > 0 ? step - step % every : 0, 0},
                             batch->degree);
        assert_int_equal(used->n, batch->subset.n);
        assert_same_visits(used, again);
        pgcn_i_visits_free(again);
        pgcn_trainer_free(trainer);
    }
    pgcn_dataset_free(data);
}

/* Features are standardised by the nodes of the training graphs, not by those of the others. */
static void test_standardised_by_the_nodes_of_the_training_graphs(void **state) {
    (void)state;
    pgcn_dataset *data = set_of(set_new(PGCN_TASK_GRAPH, false, SET_GRAPHS), "kfold=5");
    pgcn_trainer *trainer = trainer_of(data, PLAIN);
    const float *mean = pgcn_i_network_standard(&trainer->params).mean;
    for (int64_t c = 0; c < SET_COLUMNS; c++) {
        double sum = 0, count = 0;
        for (int64_t u = 0; u < data->graph->n; u++)
            if (trainer->split->train[data->from.graph_of[u]]) {
                sum += (double)data->x.dense[u * SET_COLUMNS + c];
                count++;
            }
        assert_close((double)mean[c], sum / count, 1e-6);
    }
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

/* ---- training --------------------------------------------------------------------------------------- */

static void test_training_on_graphs_lowers_the_loss(void **state) {
    (void)state;
    for (int i = 0; i < CASE_COUNT; i++) {
        pgcn_dataset *data = data_of(i);
        char text[256];
        snprintf(text, sizeof text, "%s lr-ends=0.02 wd-mix=0.01 epochs=300", CASES[i].text);
        pgcn_trainer *trainer = trainer_of(data, text);
        run_epochs(trainer, 60);
        const pgcn_epoch *h = trainer->progress.history;
        if (!(h[59].train_loss < 0.8 * h[0].train_loss))
            fail_msg("%s: loss %g, then %g", text, h[0].train_loss, h[59].train_loss);
        pgcn_trainer_free(trainer);
        pgcn_dataset_free(data);
    }
}

/* Adam counts the steps, and so do walks, dropout and batches: an epoch of four steps is four epochs
 * of one. Its loss is the mean over the items of all steps, of which the batches have different
 * numbers. */
static void check_epoch_of_steps(int i, const char *text) {
    enum { STEPS = 4, EPOCHS = 3 };
    pgcn_dataset *data = data_of(i);
    char several[256];
    snprintf(several, sizeof several, "%s steps=%d", text, STEPS);
    pgcn_trainer *many = trainer_of(data, several);
    snprintf(several, sizeof several, "%s steps=1", text);
    pgcn_trainer *one = trainer_of(data, several);
    for (int e = 0; e < EPOCHS; e++) {
        double sum = 0, items = 0;
        for (int s = 0; s < STEPS; s++) {
            run_epochs(one, 1);
            double of_step =
                (double)pgcn_i_batch_mask(one->train.views.batch, one->split->train).masked;
            sum += of_step * one->progress.history[STEPS * e + s].train_loss;
            items += of_step;
        }
        run_epochs(many, 1);
        assert_close(many->progress.history[e].train_loss, sum / items, 1e-12);
        assert_same_floats(many->params.value, one->params.value, one->params.total, "weights");
        assert_same_floats(many->params.m, one->params.m, one->params.total, "first moments");
        assert_same_floats(many->params.v, one->params.v, one->params.total, "second moments");
    }
    pgcn_trainer_free(many), pgcn_trainer_free(one);
    pgcn_dataset_free(data);
}

static void test_epoch_of_several_steps_is_these_steps(void **state) {
    (void)state;
    check_epoch_of_steps(0, PLAIN "batch=4 batch-norm=yes"); /* graphs */
    check_epoch_of_steps(6, PLAIN "batch=3");                /* several labels per node */
    check_epoch_of_steps(9, PLAIN "batch=2 dropout=0.5");    /* nodes */
}

static void test_graphs_step_without_finite_loss_changes_nothing(void **state) {
    (void)state;
    for (int i = 0; i < CASE_COUNT; i++) {
        pgcn_dataset *data = data_of(i);
        check_step_without_finite_loss(data, CASES[i].text);
        pgcn_dataset_free(data);
    }
}

/* After a first step that was done, the epoch can neither be ended nor begun again: its weights stay
 * as the first step left them, and no checkpoint is written. */
static void test_graphs_second_step_without_finite_loss_stops_the_run(void **state) {
    (void)state;
    pgcn_dataset *data = data_of(0);
    pgcn_trainer *trainer = trainer_of(data, PLAIN "batch=4 steps=2");
    const pgcn_i_params *params = &trainer->params;
    trainer->config.lr_ends = trainer->config.lr_mix = 1e30; /* beyond what a user can set */
    must_fail(pgcn_trainer_epoch(trainer, NULL), PGCN_ERR_NUMERIC, "training loss");
    float *after_first = floats_copy(params->value, params->total);
    for (int64_t e = 0; e < params->total; e++)
        assert_true(isfinite(params->value[e]) && isfinite(params->m[e]) && isfinite(params->v[e]));
    must_fail(pgcn_trainer_epoch(trainer, NULL), PGCN_ERR_NUMERIC, "training loss");
    assert_same_floats(params->value, after_first, params->total, "weights");
    must_fail(pgcn_trainer_save(trainer, "/proc/none"), PGCN_ERR_NUMERIC, "no checkpoint");
    assert_int_equal(trainer->progress.epochs, 0);
    free(after_first);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

static void test_training_on_graphs_same_bits_for_any_number_of_threads(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 4};
    for (int i = 0; i < CASE_COUNT; i++) {
        pgcn_dataset *data = data_of(i);
        pgcn_trainer *trainer[3];
        for (int t = 0; t < 3; t++) {
            char text[256];
            snprintf(text, sizeof text, "%s threads=%d recompute=%s", CASES[i].text, threads[t],
                     t == 1 ? "yes" : "no");
            trainer[t] = trainer_of(data, text);
            run_epochs(trainer[t], 4);
            assert_same_weights(&trainer[0]->params, &trainer[t]->params, text);
            for (int e = 0; e < 4; e++) {
                const pgcn_epoch *a = &trainer[0]->progress.history[e];
                const pgcn_epoch *b = &trainer[t]->progress.history[e];
                assert_true(a->train_loss == b->train_loss && a->val_loss == b->val_loss);
                assert_true(a->val_accuracy == b->val_accuracy);
                assert_true(a->test_accuracy == b->test_accuracy);
            }
        }
        for (int t = 0; t < 3; t++) pgcn_trainer_free(trainer[t]);
        pgcn_dataset_free(data);
    }
}

static void test_training_on_graphs_allocates_nothing_in_an_epoch(void **state) {
    (void)state;
    for (int i = 0; i < CASE_COUNT; i++) {
        pgcn_dataset *data = data_of(i);
        pgcn_trainer *trainer = trainer_of(data, CASES[i].text);
        int64_t before = pgcn_i_alloc_count();
        run_epochs(trainer, 4);
        assert_int_equal(pgcn_i_alloc_count(), before);
        pgcn_trainer_free(trainer);
        pgcn_dataset_free(data);
    }
}

/* Weights, moments, running statistics and the order of the graphs: all of it goes on as if nothing had
 * been, also where an epoch ends in the middle of a pass. */
static void test_training_on_graphs_resumed_ends_with_the_same_bytes(void **state) {
    (void)state;
    for (int i = 0; i < CASE_COUNT; i++) {
        pgcn_dataset *data = data_of(i);
        pgcn_trainer *whole = trainer_of(data, CASES[i].text);
        pgcn_trainer *first = trainer_of(data, CASES[i].text);
        pgcn_trainer *second = trainer_of(data, CASES[i].text);
        run_epochs(whole, 7);
        run_epochs(first, 3), run_epochs(second, 1); /* what it did before is forgotten */
        must(pgcn_trainer_save(first, scratch_path("part")));
        must(pgcn_trainer_resume(second, scratch_path("part")));
        run_epochs(second, 4);
        must(pgcn_trainer_save(whole, scratch_path("whole")));
        must(pgcn_trainer_save(second, scratch_path("resumed")));
        assert_same_bytes(scratch_path("whole"), scratch_path("resumed"));
        assert_same_weights(&whole->params, &second->params, CASES[i].text);
        pgcn_trainer_free(whole), pgcn_trainer_free(first), pgcn_trainer_free(second);
        pgcn_dataset_free(data);
    }
}

/* The first graphs of a set of so many; a fifth of their items validates, a fifth tests. */
static pgcn_dataset *first_graphs(int i, int64_t graphs) {
    enum { USED = 20 };
    graph_set set = set_new(CASES[i].task, CASES[i].sparse, graphs);
    pgcn_i_source source = set_source(&set);
    uint8_t *mask[3];
    int64_t items = pgcn_i_source_items(&source);
    must(pgcn_i_source_masks(&source, items, mask));
    for (int64_t item = 0; item < items; item++) {
        int64_t graph = CASES[i].task == PGCN_TASK_GRAPH ? item : set.graph_of[item];
        if (graph < USED && pgcn_i_source_has_label(&source, item))
            mask[item % 5 > 2 ? item % 5 - 2 : 0][item] = 1;
    }
    source.classes = SET_CLASSES;
    set_free(&set);
    return source_build(source, "");
}

/* Graphs that are never used make the room larger, and nothing else: whatever is sized by the room is
 * told the size of the batch. */
static void test_training_in_a_larger_room_is_the_same(void **state) {
    (void)state;
    for (int i = 0; i < CASE_COUNT; i++) {
        pgcn_dataset *set[] = {first_graphs(i, 20), first_graphs(i, 60)};
        pgcn_trainer *trainer[2];
        for (int t = 0; t < 2; t++) {
            char text[256]; /* all graphs would be a batch of all, in one room and not the other */
            snprintf(text, sizeof text, "%s %s", CASES[i].text,
                     strstr(CASES[i].text, "batch=0") ? "batch=12" : "");
            trainer[t] = trainer_of(set[t], text);
            run_epochs(trainer[t], 4);
        }
        int64_t rooms[] = {trainer[0]->train.views.batch->subset.most,
                           trainer[1]->train.views.batch->subset.most};
        assert_true(rooms[0] < rooms[1] || trainer[0]->config.batch == 1);
        assert_same_weights(&trainer[0]->params, &trainer[1]->params, CASES[i].text);
        for (int e = 0; e < 4; e++) {
            const pgcn_epoch *a = &trainer[0]->progress.history[e];
            const pgcn_epoch *b = &trainer[1]->progress.history[e];
            assert_true(a->train_loss == b->train_loss && a->val_loss == b->val_loss);
            assert_true(a->test_accuracy == b->test_accuracy);
        }
        for (int t = 0; t < 2; t++) pgcn_trainer_free(trainer[t]), pgcn_dataset_free(set[t]);
    }
}

static void test_checkpoint_of_other_batches_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"batch=5", "steps=2", "lr-halve=3", "readout=relu"};
    static const char *const says[] = {"batch 7 and not 5", "steps 0 and not 2",
                                       "lr-halve 0 and not 3", "readout linear and not relu"};
    pgcn_dataset *data = data_of(0);
    pgcn_trainer *trainer = trainer_of(data, PLAIN);
    run_epochs(trainer, 1);
    must(pgcn_trainer_save(trainer, scratch_path("part")));
    for (int i = 0; i < 4; i++) {
        char text[256];
        snprintf(text, sizeof text, PLAIN "%s", texts[i]);
        pgcn_trainer *other = trainer_of(data, text);
        must_fail(pgcn_trainer_resume(other, scratch_path("part")), PGCN_ERR_MISMATCH, says[i]);
        pgcn_trainer_free(other);
    }
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

/* With weights that stay, the loss of an epoch is the mean over all items, however they are batched. */
static void test_training_loss_is_the_mean_over_items(void **state) {
    (void)state;
    static const int batches[] = {0, 1, 3, 7};
    for (int d = 0; d < 10; d += 6) {
        pgcn_dataset *data = data_of(d);
        double loss[4];
        for (int i = 0; i < 4; i++) {
            char text[512];
            snprintf(text, sizeof text,
                     PLAIN "train-form=exact dropout=0 lr-ends=0 lr-mix=0 lr-kernel=0 batch=%d",
                     batches[i]);
            pgcn_trainer *trainer = trainer_of(data, text);
            run_epochs(trainer, 1);
            loss[i] = trainer->progress.history[0].train_loss;
            assert_close(loss[i], loss[0], 1e-5);
            pgcn_trainer_free(trainer);
        }
        pgcn_dataset_free(data);
    }
}

/* Two epochs at the full rates, two at half of them, two at a quarter; the same with rates set by hand. */
static void test_learning_rates_are_halved_again_and_again(void **state) {
    (void)state;
    pgcn_dataset *data = data_of(0);
    pgcn_trainer *halved = trainer_of(data, PLAIN "lr-halve=2"), *plain = trainer_of(data, PLAIN);
    for (int epoch = 0; epoch < 6; epoch++) {
        if (epoch > 0 && epoch % 2 == 0) {
            run_epochs(halved, 1);
            assert_memory_not_equal(halved->params.value, plain->params.value,
                                    (size_t)plain->params.total * sizeof(float));
            plain->config.lr_ends /= 2;
            plain->config.lr_mix /= 2;
            plain->config.lr_kernel /= 2;
        } else {
            run_epochs(halved, 1);
        }
        run_epochs(plain, 1);
        assert_same_weights(&halved->params, &plain->params, "rates");
    }
    pgcn_trainer_free(halved), pgcn_trainer_free(plain);
    pgcn_dataset_free(data);
}

/* A training graph whose features overflow, in a later step of the epoch: weights have moved by then,
 * so the epoch cannot be taken up again and its state is not one to save. */
static void test_loss_not_finite_in_a_later_step_stops_the_run(void **state) {
    (void)state;
    graph_set set = set_new(PGCN_TASK_GRAPH, false, SET_GRAPHS);
    pgcn_dataset *data = set_build(&set, "kfold=5");
    pgcn_trainer *trainer = trainer_of(data, PLAIN "batch=1 split=0");
    pgcn_i_chosen fifth = pgcn_i_feed_step(trainer->feed, 0, 4); /* the graph of a later step */
    pgcn_i_views_choose(&trainer->train.views, fifth.item, fifth.count);
    const pgcn_i_subset *batch = &trainer->train.views.batch->subset;
    for (int64_t i = 0; i < batch->n * SET_COLUMNS; i++)
        set.x[batch->node[i / SET_COLUMNS] * SET_COLUMNS + i % SET_COLUMNS] = 3e38f;
    pgcn_trainer_free(trainer), pgcn_dataset_free(data);
    data = set_build(&set, "kfold=5");
    trainer = trainer_of(data, PLAIN "batch=1 split=0 normalise=none kernel-noise=5");
    must_fail(pgcn_trainer_epoch(trainer, NULL), PGCN_ERR_NUMERIC, "the training loss of epoch 1");
    float *after = ref_filled_floats(0, trainer->params.total);
    memcpy(after, trainer->params.value, (size_t)trainer->params.total * sizeof *after);
    must_fail(pgcn_trainer_epoch(trainer, NULL), PGCN_ERR_NUMERIC, "the training loss of epoch 1");
    assert_memory_equal(after, trainer->params.value, (size_t)trainer->params.total * 4);
    must_fail(pgcn_trainer_save(trainer, scratch_path("none")), PGCN_ERR_NUMERIC, "no checkpoint");
    assert_int_equal(scratch_count(), 0);
    free(after);
    pgcn_trainer_free(trainer), pgcn_dataset_free(data);
    set_free(&set);
}

/* ---- predictions ------------------------------------------------------------------------------------- */

static int64_t items_of(const pgcn_dataset *data) {
    return data->task == PGCN_TASK_GRAPH ? data->info.graphs : data->graph->n;
}

static float *predicted(const pgcn_model *model, const pgcn_dataset *data, int draws) {
    float *p = ref_filled_floats(-1, items_of(data) * SET_CLASSES);
    pgcn_inference inference = pgcn_inference_default();
    inference.draws = draws;
    inference.threads = 2;
    must(pgcn_model_predict(model, data, &inference, p, NULL));
    return p;
}

static void assert_probabilities(const pgcn_dataset *data, const float *p) {
    for (int64_t i = 0; i < items_of(data); i++) {
        double sum = 0;
        for (int c = 0; c < SET_CLASSES; c++) {
            double one = (double)p[i * SET_CLASSES + c];
            assert_true(one >= 0 && one <= 1);
            sum += one;
        }
        if (data->task != PGCN_TASK_MULTILABEL) assert_close(sum, 1, 1e-5);
    }
}

/* One by one, in batches and all at once; in exact form, and by draws, whose walks are those of the
 * node. */
static void test_prediction_does_not_depend_on_the_batch(void **state) {
    (void)state;
    static const int batches[] = {0, 1, 4, 1000};
    for (int i = 0; i < CASE_COUNT; i++) {
        pgcn_dataset *data = data_of(i);
        pgcn_model *model = trained(data, CASES[i].text, 4);
        bool has_paths = pgcn_config_uses(&model->config, "paths");
        for (int draws = 0; draws <= (has_paths ? 2 : 0); draws += 2) {
            float *p[4];
            for (int b = 0; b < 4; b++) {
                model->config.batch = batches[b];
                p[b] = predicted(model, data, draws);
                for (int64_t e = 0; e < items_of(data) * SET_CLASSES; e++)
                    assert_close((double)p[b][e], (double)p[0][e], 2e-6);
            }
            assert_probabilities(data, p[0]);
            for (int b = 0; b < 4; b++) free(p[b]);
        }
        pgcn_model_free(model);
        pgcn_dataset_free(data);
    }
}

/* Graphs in another order, their nodes in another order; where nodes are classified, all of them mixed
 * anew. */
static void random_numbers(const graph_set *set, bool graphs_too, pgcn_node *node_place,
                           pgcn_node *graph_place) {
    pgcn_node *shuffled = random_places(set->nodes, 5), *order = random_places(set->graphs, 6);
    int64_t at = 0;
    for (int64_t g = 0; g < set->graphs; g++) {
        int64_t graph = graphs_too ? order[g] : g;
        graph_place[graph] = (pgcn_node)g;
        for (int64_t i = 0; i < set->nodes; i++)
            if (set->graph_of[shuffled[i]] == graph) node_place[shuffled[i]] = (pgcn_node)at++;
    }
    if (set->task != PGCN_TASK_GRAPH) memcpy(node_place, shuffled, (size_t)set->nodes * 4);
    free(shuffled), free(order);
}

static void test_prediction_does_not_depend_on_numbers(void **state) {
    (void)state;
    for (int i = 0; i < 2 * CASE_COUNT; i++) {
        pgcn_task task = CASES[i / 2].task;
        graph_set set = set_new(task, CASES[i / 2].sparse, SET_GRAPHS);
        pgcn_node *node_place = calloc((size_t)set.nodes, 4), graph_place[SET_GRAPHS];
        random_numbers(&set, i % 2, node_place, graph_place);
        graph_set other = set_renumbered(&set, node_place, graph_place);
        pgcn_dataset *data = set_build(&set, ""), *renumbered = set_build(&other, "");
        pgcn_model *model = trained(data, CASES[i / 2].text, 3);
        float *a = predicted(model, data, 0), *b = predicted(model, renumbered, 0);
        const pgcn_node *place = task == PGCN_TASK_GRAPH ? graph_place : node_place;
        for (int64_t item = 0; item < items_of(data); item++)
            for (int c = 0; c < SET_CLASSES; c++)
                assert_close((double)b[place[item] * SET_CLASSES + c],
                             (double)a[item * SET_CLASSES + c], 1e-5);
        free(a), free(b), free(node_place);
        pgcn_model_free(model);
        pgcn_dataset_free(data), pgcn_dataset_free(renumbered);
        set_free(&set), set_free(&other);
    }
}

/* What predict says, scored here. */
static double score_of(const pgcn_dataset *data, const float *p, const uint8_t *mask) {
    double hits = 0, items = 0, said = 0, there = 0;
    for (int64_t i = 0; i < items_of(data); i++) {
        const float *row = p + i * SET_CLASSES;
        if (!mask[i]) continue;
        int best = 0;
        for (int c = 0; c < SET_CLASSES; c++) {
            if (row[c] > row[best]) best = c;
            if (data->task != PGCN_TASK_MULTILABEL) continue;
            bool is = data->from.labels[i * SET_CLASSES + c];
            hits += is && row[c] > 0.5f;
            said += row[c] > 0.5f;
            there += is;
        }
        if (data->task == PGCN_TASK_MULTILABEL) continue;
        hits += best == (data->task == PGCN_TASK_GRAPH ? data->from.graph_label : data->label)[i];
        items++;
    }
    return data->task == PGCN_TASK_MULTILABEL ? 200 * hits / (said + there) : 100 * hits / items;
}

static void test_model_of_graphs_scores_what_the_history_says(void **state) {
    (void)state;
    for (int i = 0; i < CASE_COUNT; i++) {
        pgcn_dataset *data = data_of(i);
        pgcn_trainer *trainer = trainer_of(data, CASES[i].text);
        pgcn_model *model, *back;
        pgcn_scores scores;
        run_epochs(trainer, 12);
        must(pgcn_trainer_model(trainer, &model));
        must(pgcn_model_save(model, scratch_path("model")));
        must(pgcn_model_load(scratch_path("model"), &back));
        assert_int_equal(pgcn_model_task(back), data->task);
        must(pgcn_model_evaluate(back, data, NULL, &scores));
        const pgcn_epoch *best = &trainer->progress.history[pgcn_model_epoch(back) - 1];
        assert_true(scores.val.accuracy == best->val_accuracy);
        assert_true(scores.test.accuracy == best->test_accuracy);
        assert_close(scores.val.loss, best->val_loss, 1e-4);
        float *p = predicted(model, data, 0), *q = predicted(back, data, 0);
        assert_memory_equal(p, q, (size_t)(items_of(data) * SET_CLASSES) * sizeof *p);
        assert_close(score_of(data, p, trainer->split->test), scores.test.accuracy, 1e-9);
        assert_close(score_of(data, p, trainer->split->train), scores.train.accuracy, 1e-9);
        free(p), free(q);
        pgcn_model_free(model), pgcn_model_free(back);
        pgcn_trainer_free(trainer);
        pgcn_dataset_free(data);
    }
}

/* Labels that are sure and wrong: the loss is large, and that of a probability that a float can tell. */
static void test_loss_of_labels_that_are_sure_and_wrong_is_bounded(void **state) {
    (void)state;
    pgcn_dataset *data = data_of(6);
    pgcn_model *model = trained(data, CASES[6].text, 1);
    pgcn_scores scores;
    for (int i = 0; i < model->params.count; i++) /* logits of 50 for everybody */
        if (strcmp(model->params.param[i].name, "classifier.bias") == 0)
            for (int c = 0; c < SET_CLASSES; c++)
                model->params.value[model->params.param[i].first + c] = 50;
    must(pgcn_model_evaluate(model, data, NULL, &scores));
    assert_true(scores.val.loss > 10 && scores.val.loss < 50 * SET_CLASSES);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

/* ---- files and refusals ------------------------------------------------------------------------------ */

static void test_model_file_tells_its_task(void **state) {
    (void)state;
    static const char *const names[] = {"\"task\":\"graph\"", "\"task\":\"multilabel\"",
                                        "\"task\":\"node\""};
    static const int number[] = {0, 6, 9};
    pgcn_model *back = NULL;
    for (int i = 0; i < 3; i++) {
        pgcn_dataset *data = data_of(number[i]);
        pgcn_model *model = trained(data, CASES[number[i]].text, 1);
        must(pgcn_model_save(model, scratch_path("model")));
        file_bytes b = bytes_of(scratch_path("model"));
        change(&b, names[i], names[i]);
        if (i == 2) { /* files from before there was a task are of nodes */
            change(&b, "\"task\":\"node\"", "\"tasc\":\"node\"");
            must(pgcn_model_load(scratch_write("old", b.data, b.count), &back));
            assert_int_equal(pgcn_model_task(back), PGCN_TASK_NODE);
            float *p = predicted(model, data, 0), *q = predicted(back, data, 0);
            assert_memory_equal(p, q, (size_t)(items_of(data) * SET_CLASSES) * sizeof *p);
            free(p), free(q);
            pgcn_model_free(back);
            change(&b, "\"tasc\":\"node\"", "\"task\":\"nods\"");
            must_fail(pgcn_model_load(scratch_write("bad", b.data, b.count), &back),
                      PGCN_ERR_FORMAT, "task is 'nods'");
        }
        free(b.data);
        pgcn_model_free(model);
        pgcn_dataset_free(data);
    }
}

/* What GIN is made of is not a matter of its file's settings about paths. */
static void test_gin_from_a_file_with_other_paths_is_still_gin(void **state) {
    (void)state;
    pgcn_dataset *data = data_of(3);
    pgcn_model *model = trained(data, CASES[3].text, 2), *back;
    must(pgcn_model_save(model, scratch_path("model")));
    file_bytes b = bytes_of(scratch_path("model"));
    change(&b, "\\\"path-length\\\":\\\"2\\\"", "\\\"path-length\\\":\\\"9\\\"");
    must(pgcn_model_load(scratch_write("other", b.data, b.count), &back));
    assert_int_equal(pgcn_model_config(back)->path_length, 2);
    float *p = predicted(model, data, 0), *q = predicted(back, data, 0), kernel[2 * 6];
    assert_memory_equal(p, q, (size_t)(items_of(data) * SET_CLASSES) * sizeof *p);
    must(pgcn_model_kernel(back, 1, kernel));
    free(p), free(q), free(b.data);
    pgcn_model_free(model), pgcn_model_free(back);
    pgcn_dataset_free(data);
}

static void test_model_of_graphs_on_data_that_does_not_fit_is_refused(void **state) {
    (void)state;
    float p[SET_GRAPHS * SET_MOST_NODES * SET_CLASSES];
    pgcn_scores scores;
    pgcn_dataset *graphs = data_of(0), *labels = data_of(6), *nodes = data_of(9);
    pgcn_dataset *single = dataset("sbm:nodes=60,features=5,classes=3");
    pgcn_dataset *wide = dataset("sbm:nodes=60,features=6,classes=3");
    pgcn_model *model = trained(graphs, CASES[0].text, 1);
    must_fail(pgcn_model_predict(model, single, NULL, p, NULL), PGCN_ERR_MISMATCH, "single graph");
    must_fail(pgcn_model_predict(model, wide, NULL, p, NULL), PGCN_ERR_MISMATCH, "6");
    must_fail(pgcn_model_evaluate(model, single, NULL, &scores), PGCN_ERR_MISMATCH,
              "one class per graph");
    must_fail(pgcn_model_evaluate(model, labels, NULL, &scores), PGCN_ERR_MISMATCH,
              "one class per graph");
    must(pgcn_model_predict(model, nodes, NULL, p,
                            NULL)); /* graphs are there, labels are not asked */
    model->classes = 2;
    must_fail(pgcn_model_evaluate(model, graphs, NULL, &scores), PGCN_ERR_MISMATCH, "2 classes");
    model->classes = SET_CLASSES;
    pgcn_model_free(model);
    model = trained(labels, CASES[6].text, 1);
    must_fail(pgcn_model_evaluate(model, nodes, NULL, &scores), PGCN_ERR_MISMATCH,
              "several labels per node");
    must(pgcn_model_predict(model, single, NULL, p, NULL));
    model->classes = 4; /* of labels no other number fits, not even a larger one */
    must_fail(pgcn_model_evaluate(model, labels, NULL, &scores), PGCN_ERR_MISMATCH, "4 classes");
    model->classes = SET_CLASSES;
    pgcn_model_free(model);
    pgcn_dataset_free(graphs), pgcn_dataset_free(labels), pgcn_dataset_free(nodes);
    pgcn_dataset_free(single), pgcn_dataset_free(wide);
}

static void test_settings_that_do_not_fit_the_task_are_refused(void **state) {
    (void)state;
    pgcn_dataset *labels = data_of(6), *graphs = data_of(0);
    pgcn_config config = settings(QUICK "samples=2 consistency=0.5");
    pgcn_trainer *trainer = NULL;
    must_fail(pgcn_trainer_new(labels, &config, &trainer), PGCN_ERR_ARGUMENT, "consistency");
    config = settings(PLAIN "scaling=sum");
    must_fail(pgcn_trainer_new(graphs, &config, &trainer), PGCN_ERR_ARGUMENT, "exact");
    assert_null(trainer);
    float p[SET_GRAPHS * SET_CLASSES];
    pgcn_inference inference = pgcn_inference_default();
    inference.draws = 3;
    pgcn_model *model = trained(graphs, PLAIN "model=gin", 1);
    must_fail(pgcn_model_predict(model, graphs, &inference, p, NULL), PGCN_ERR_ARGUMENT,
              "no paths");
    pgcn_model_free(model);
    pgcn_dataset_free(labels), pgcn_dataset_free(graphs);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static pgcn_status predict(void) {
    float p[SET_GRAPHS * SET_MOST_NODES * SET_CLASSES];
    return pgcn_model_predict(memory_model, memory_data, NULL, p, NULL);
}
static pgcn_status evaluate(void) {
    pgcn_scores scores;
    return pgcn_model_evaluate(memory_model, memory_data, NULL, &scores);
}

static pgcn_trainer *memory_trainer;
static pgcn_status save_checkpoint(void) {
    return pgcn_trainer_save(memory_trainer, scratch_path("c"));
}
static pgcn_status resume(void) {
    return pgcn_trainer_resume(memory_trainer, scratch_path("c"));
}
static pgcn_status take_model(void) {
    pgcn_model *model;
    PGCN_TRY(pgcn_trainer_model(memory_trainer, &model));
    pgcn_model_free(model);
    return PGCN_OK;
}
static pgcn_status save_model(void) {
    return pgcn_model_save(memory_model, scratch_path("m"));
}
static pgcn_status load_model(void) {
    pgcn_model *model;
    PGCN_TRY(pgcn_model_load(scratch_path("m"), &model));
    pgcn_model_free(model);
    return PGCN_OK;
}

/* Graphs and several labels per node; test_inference.c does it for nodes. */
static void test_memory_of_files_of_every_task_is_reported(void **state) {
    (void)state;
    static const int of_task[] = {0, 6};
    for (size_t i = 0; i < sizeof of_task / sizeof *of_task; i++) {
        pgcn_dataset *data = data_of(of_task[i]);
        pgcn_config config = settings(CASES[of_task[i]].text);
        pgcn_epoch epoch;
        must(pgcn_trainer_new(data, &config, &memory_trainer));
        must(pgcn_trainer_epoch(memory_trainer, &epoch));
        must(pgcn_trainer_model(memory_trainer, &memory_model));
        assert_true(fail_every_allocation(save_checkpoint) > 100);
        assert_true(fail_every_allocation(resume) > 100);
        assert_true(fail_every_allocation(take_model) > 10);
        assert_true(fail_every_allocation(save_model) > 100);
        assert_true(fail_every_allocation(load_model) > 100);
        pgcn_model_free(memory_model);
        pgcn_trainer_free(memory_trainer);
        pgcn_dataset_free(data);
    }
}

static void test_memory_of_graphs_every_failing_allocation_is_reported(void **state) {
    (void)state;
    for (int i = 0; i < CASE_COUNT; i++) {
        pgcn_dataset *data = data_of(i);
        memory_data = data;
        memory_text = CASES[i].text;
        memory_model = trained(data, memory_text, 1);
        assert_true(fail_every_allocation(make_trainer) > 40);
        assert_true(fail_every_allocation(predict) > 20);
        assert_true(fail_every_allocation(evaluate) > 20);
        pgcn_model_free(memory_model);
        pgcn_dataset_free(data);
    }
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

/* A model without weights gives every label a probability of exactly one half, which is no "yes". */
static void test_labels_at_even_odds_are_not_predicted(void **state) {
    (void)state;
    pgcn_dataset *data = data_of(6);
    pgcn_model *model = trained(data, PLAIN "batch=3", 1);
    pgcn_scores scores;
    for (int i = 0; i < model->params.count; i++) {
        const pgcn_i_param *param = &model->params.param[i];
        if (param->group == PGCN_I_GROUP_BUFFER) continue; /* how features are standardised */
        memset(model->params.value + param->first, 0, (size_t)param->count * sizeof(float));
    }
    must(pgcn_model_evaluate(model, data, NULL, &scores));
    assert_true(scores.all.accuracy == 0);
    assert_close(scores.all.loss, SET_CLASSES * log(2), 1e-6);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feed_has_every_graph_once_in_a_pass_and_in_an_evaluation),
        cmocka_unit_test(test_epochs_go_on_with_the_next_graphs),
        cmocka_unit_test(test_steps_walk_the_graphs_of_their_batch),
        cmocka_unit_test(test_standardised_by_the_nodes_of_the_training_graphs),
        cmocka_unit_test(test_training_on_graphs_lowers_the_loss),
        cmocka_unit_test(test_epoch_of_several_steps_is_these_steps),
        cmocka_unit_test(test_graphs_step_without_finite_loss_changes_nothing),
        cmocka_unit_test(test_graphs_second_step_without_finite_loss_stops_the_run),
        cmocka_unit_test(test_training_on_graphs_same_bits_for_any_number_of_threads),
        cmocka_unit_test(test_training_on_graphs_allocates_nothing_in_an_epoch),
        IN_SCRATCH(test_training_on_graphs_resumed_ends_with_the_same_bytes),
        IN_SCRATCH(test_checkpoint_of_other_batches_is_refused),
        cmocka_unit_test(test_training_in_a_larger_room_is_the_same),
        cmocka_unit_test(test_training_loss_is_the_mean_over_items),
        cmocka_unit_test(test_learning_rates_are_halved_again_and_again),
        IN_SCRATCH(test_loss_not_finite_in_a_later_step_stops_the_run),
        cmocka_unit_test(test_prediction_does_not_depend_on_the_batch),
        cmocka_unit_test(test_prediction_does_not_depend_on_numbers),
        IN_SCRATCH(test_model_of_graphs_scores_what_the_history_says),
        cmocka_unit_test(test_loss_of_labels_that_are_sure_and_wrong_is_bounded),
        IN_SCRATCH(test_model_file_tells_its_task),
        IN_SCRATCH(test_gin_from_a_file_with_other_paths_is_still_gin),
        cmocka_unit_test(test_model_of_graphs_on_data_that_does_not_fit_is_refused),
        cmocka_unit_test(test_settings_that_do_not_fit_the_task_are_refused),
        IN_SCRATCH(test_memory_of_files_of_every_task_is_reported),
        cmocka_unit_test(test_memory_of_graphs_every_failing_allocation_is_reported),
        cmocka_unit_test(test_labels_at_even_odds_are_not_predicted),
    };
    return cmocka_run_group_tests_name("graph_training", tests, NULL, NULL);
}
