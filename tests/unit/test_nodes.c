/* Batches of nodes of one graph. What a step on a part of the graph computes is what a step on all of it would, if the
 * loss looked at the nodes of the batch alone: the same walks, neighbours and dropout, and so the same gradient to
 * rounding. That is the test, for every network and for batches of all sizes. And the same bits for any number of
 * threads, no allocation in an epoch, and neighbours that are drawn as they should be. */
#include "graphs_help.h"
#include "nn_help.h"

#define DENSE  "sbm:nodes=200,features=12,classes=3:per-class=25/30/40"
#define SPARSE "sbm:nodes=150,features=12,classes=3:features=identity+adjacency,per-class=20/20/20"
#define QUICK  "channels=8 epochs=1000 patience=0 eval-every=1000 "
#define ALONE  QUICK "samples=1 consistency=0 "

/* ---- one step of a trainer, on nodes that the test chooses ------------------------------------------ */

/* The gradient of the loss at the present weights, of the items of a mask. */
static double step_gradient(pgcn_trainer *trainer, pgcn_i_chosen chosen, const uint8_t *mask,
                            int64_t masked, int64_t step, double lambda) {
    pgcn_i_runner *runner = &trainer->train;
    const pgcn_config *config = &trainer->config;
    pgcn_i_runner_put(runner, chosen, &trainer->loss);
    pgcn_i_target target = pgcn_i_views_target(&runner->views, mask, masked);
    runner->tape.step = step;
    pgcn_i_runner_draw(
        runner, (pgcn_i_path_draw){.seed = config->seed, .purpose = PGCN_I_RNG_WALK, .step = step});
    pgcn_i_tape_forward(&runner->tape);
    pgcn_i_loss_terms terms =
        pgcn_i_loss_run(&trainer->loss, &runner->tape, runner->logits, &target, lambda, 0.5);
    pgcn_i_tape_backward(&runner->tape);
    return terms.cross_entropy + lambda * terms.consistency;
}

static void assert_close_gradients(const pgcn_i_params *a, const pgcn_i_params *b, const char *text,
                                   double tolerance) {
    double largest = 0;
    for (int64_t i = 0; i < a->total; i++) largest = fmax(largest, fabs((double)a->grad[i]));
    for (int p = 0; p < a->count; p++) {
        const pgcn_i_param *param = &a->param[p];
        double most = 0, off = 0;
        if (param->group == PGCN_I_GROUP_BUFFER) continue;
        for (int64_t i = 0; i < param->count; i++) {
            double x = (double)a->grad[param->first + i], y = (double)b->grad[param->first + i];
            most = fmax(most, fabs(x));
            off = fmax(off, fabs(x - y));
        }
        if (off <= tolerance * (2 * most + 0.2 * largest)) continue;
        fail_msg("%s: the gradient of %s is off by %g of %g", text, param->name, off, most);
    }
}

/* Every so many of those that train, or all of them; the first ones differ. */
static int64_t some_nodes(const pgcn_trainer *trainer, int every, pgcn_node *out, uint8_t *mask) {
    int64_t count = 0, n = trainer->data->graph->n, turn = 0;
    memset(mask, 0, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        if (!trainer->split->train[i] || turn++ % every != every / 2) continue;
        mask[i] = 1;
        out[count++] = (pgcn_node)i;
    }
    return count;
}

static void check_gradients(const char *name, const char *text, double tolerance) {
    pgcn_dataset *data = dataset(name);
    char batched[512];
    snprintf(batched, sizeof batched, "%s batch-by=nodes batch=100000", text);
    pgcn_trainer *whole = trainer_of(data, text), *part = trainer_of(data, batched);
    pgcn_node *node = test_malloc((size_t)data->graph->n * sizeof *node);
    uint8_t *mask = test_malloc((size_t)data->graph->n);
    assert_non_null(part->train.views.nodes);
    for (int every = 1; every < 30; every += 7) {
        int64_t count = some_nodes(part, every, node, mask), step = 3 + every;
        double a = step_gradient(whole, (pgcn_i_chosen){NULL, 0}, mask, count, step, 0);
        double b = step_gradient(part, (pgcn_i_chosen){node, count}, mask, count, step, 0);
        if (!(fabs(a - b) <= tolerance * fabs(a)))
            fail_msg("%s on %s: the loss of %d nodes is %g and should be %g", batched, name,
                     (int)count, b, a);
        assert_close_gradients(&whole->params, &part->params, batched, tolerance);
        if (every > 1 && part->levels > 0 && part->config.layers < 3)
            assert_true(part->train.tape.op[0].out->rows <
                        data->graph->n * (int64_t)part->config.samples);
    }
    test_free(mask);
    test_free(node);
    pgcn_trainer_free(part);
    pgcn_trainer_free(whole);
    pgcn_dataset_free(data);
}

static void test_nodes_gradient_is_that_of_the_whole_graph(void **state) {
    (void)state;
    static const char *const texts[] = {
        ALONE "paths=3 path-length=3",
        ALONE "paths=3 path-length=3 dropout=0",
        ALONE "paths=3 path-length=3 paths-per-layer=yes residual=previous dropout-hidden=0.3",
        ALONE "paths=2 path-length=2 layers=3 kernel=layer scaling=walk self-loops=no",
        ALONE "paths=2 path-length=2 input-hops=0.4 drop-rows=0.3",
        ALONE "paths=2 path-length=2 walk=node2vec self-loops=no return-p=3 drop-rows=0.2",
        ALONE "path-length=1",
        QUICK "samples=3 consistency=0 paths=2 path-length=3",
        QUICK "samples=2 consistency=0 paths=2 path-length=2 paths-per-layer=yes bf16=yes",
        ALONE "paths=3 path-length=2 recompute=yes layers=5 kernel=global",
        ALONE "model=gcn layers=2",
        ALONE "model=gcn layers=3 layer-norm=yes residual=previous dropout-hidden=0.2",
        ALONE "model=sage layers=2",
        /* as many neighbours as there are: they are added up before they are multiplied */
        ALONE "model=sage layers=2 neighbours=1000 dropout-hidden=0.4",
        QUICK "samples=2 consistency=0 model=sage layers=3 neighbours=1000,900 dropout=0",
        ALONE "model=gcn layers=2 neighbours=1000",
        ALONE "model=gcn layers=3 neighbours=1000 residual=previous",
        ALONE "model=jknet layers=3 neighbours=1000",
        ALONE "model=incep layers=3 self-mix=yes neighbours=1000",
        ALONE "model=gcnii layers=3 dropout-hidden=0.4",
        ALONE "model=gcnii-star layers=2",
        ALONE "model=egnn layers=2",
        ALONE "model=jknet layers=3",
        ALONE "model=incep layers=3 self-mix=yes",
        ALONE "model=gat layers=2 heads=2",
        ALONE "model=gat layers=2 heads=4 dropout-attention=0.4 self-mix=yes",
        QUICK "model=gat samples=2 consistency=0 layers=2 heads=2 dropout-attention=0.4",
        ALONE "model=supergat layers=2 heads=2 edge-loss=0",
        ALONE "model=sgc",
        ALONE "model=mlp",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_gradients(DENSE, texts[i], 1e-5);
        check_gradients(SPARSE, texts[i], 1e-5);
    }
    /* the whole graph rounds no row of its last loop: see pgcn_i_tape_close */
    check_gradients(DENSE, ALONE "paths=3 path-length=3 hidden-rows=bf16", 0.01);
    check_gradients(SPARSE, ALONE "paths=2 path-length=3 layers=3 hidden-rows=bf16", 0.01);
}

/* A batch of all nodes, those without a training label among them: every level has all rows, and so batch norm and
 * consistency are those of the whole graph, too. */
static void check_all_nodes(const char *name, const char *text) {
    pgcn_dataset *data = dataset(name);
    char batched[512];
    snprintf(batched, sizeof batched, "%s batch-by=nodes batch=100000 unlabelled=100000", text);
    pgcn_trainer *whole = trainer_of(data, text), *part = trainer_of(data, batched);
    int64_t n = data->graph->n, masked = whole->train_items;
    pgcn_node *node = test_malloc((size_t)n * sizeof *node);
    for (int64_t i = 0; i < n; i++) node[i] = (pgcn_node)(n - 1 - i);
    const uint8_t *mask = whole->split->train;
    double lambda = part->config.consistency;
    double a = step_gradient(whole, (pgcn_i_chosen){NULL, 0}, mask, masked, 0, lambda);
    double b = step_gradient(part, (pgcn_i_chosen){node, n}, mask, masked, 0, lambda);
    if (!(fabs(a - b) <= 1e-5 * fabs(a))) fail_msg("%s: loss %g, should be %g", batched, b, a);
    assert_close_gradients(&whole->params, &part->params, batched, 1e-5);
    test_free(node);
    pgcn_trainer_free(part);
    pgcn_trainer_free(whole);
    pgcn_dataset_free(data);
}

static void test_nodes_all_of_them_are_the_whole_graph(void **state) {
    (void)state;
    static const char *const texts[] = {
        QUICK "samples=2 consistency=1.5 paths=3 path-length=3 batch-norm=yes",
        QUICK "samples=3 consistency=0.7 paths=3 path-length=3 residual=none",
        QUICK "samples=2 consistency=1 paths=2 path-length=2 input-hops=0.4 input-norm=yes",
        QUICK "samples=2 consistency=1 model=gin layers=2",
        QUICK "samples=2 consistency=1 model=gcn batch-norm=yes layers=3",
        QUICK "samples=2 consistency=1 model=sage batch-norm=yes",
        QUICK "samples=2 consistency=1 model=gat heads=2 dropout-attention=0.4",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_all_nodes(DENSE, texts[i]);
        check_all_nodes(SPARSE, texts[i]);
    }
}

/* ---- bits ---------------------------------------------------------------------------------------------- */

static const char *const trained[] = {
    QUICK "batch-by=nodes batch=17 paths=3 path-length=3",
    QUICK "batch-by=nodes batch=17 paths=3 path-length=3 unlabelled=20 batch-norm=yes",
    QUICK
    "batch-by=nodes batch=9 paths=4 path-length=3 paths-per-layer=yes batch-paths=4,2 layers=3 steps=3",
    ALONE "batch-by=nodes batch=11 model=gcn neighbours=3,2",
    QUICK "batch-by=nodes batch=17 model=sage neighbours=3,2 samples=2 consistency=1",
    ALONE "batch-by=nodes batch=11 model=sage batch-norm=yes",
    ALONE "batch-by=nodes batch=11 model=gat heads=2 dropout-attention=0.3 neighbours=4",
};
enum { TRAINED = sizeof trained / sizeof *trained };

static void test_nodes_thread_matrix_same_bits(void **state) {
    (void)state;
    static const char *const names[] = {DENSE, SPARSE};
    for (int d = 0; d < 2; d++) {
        pgcn_dataset *data = dataset(names[d]);
        for (int i = 0; i < TRAINED; i++) {
            pgcn_trainer *first = NULL;
            for (int t = 0; t < THREAD_CASES; t++) {
                char text[256];
                snprintf(text, sizeof text, "%s threads=%d", trained[i], THREADS[t]);
                pgcn_trainer *trainer = trainer_of(data, text);
                run_epochs(trainer, 4);
                assert_true(trainer->steps > 1);
                if (!first) {
                    first = trainer;
                    continue;
                }
                assert_same_weights(&first->params, &trainer->params, text);
                pgcn_trainer_free(trainer);
            }
            pgcn_trainer_free(first);
        }
        pgcn_dataset_free(data);
    }
}

static void test_nodes_after_first_epoch_allocate_nothing(void **state) {
    (void)state;
    pgcn_dataset *data = dataset(SPARSE);
    for (int i = 0; i < TRAINED; i++) {
        pgcn_trainer *trainer = trainer_of(data, trained[i]);
        run_epochs(trainer, 1);
        int64_t before = pgcn_i_alloc_count();
        run_epochs(trainer, 3);
        assert_int_equal(pgcn_i_alloc_count(), before);
        pgcn_trainer_free(trainer);
    }
    pgcn_dataset_free(data);
}

/* Where some nodes are evaluated by drawn paths there is no T, and where batches are drawn no transpose of it: training
 * does not notice. */
static void test_nodes_train_alike_without_the_transition(void **state) {
    (void)state;
    static const char *const texts[] = {
        ALONE "batch-by=nodes batch=17 paths=3 path-length=3",
        ALONE "batch-by=nodes batch=17 paths=3 path-length=3 self-loops=no walk=weighted",
    };
    pgcn_dataset *data = dataset(DENSE);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s eval-nodes=9", texts[i]);
        pgcn_trainer *whole = trainer_of(data, texts[i]), *some = trainer_of(data, text);
        assert_non_null(whole->spatial.exact.offset);
        assert_null(some->spatial.exact.offset);
        for (int64_t r = 0; r < data->graph->n; r++)
            assert_true(whole->spatial.degree[r] == some->spatial.degree[r]);
        run_epochs(whole, 3);
        run_epochs(some, 3);
        assert_same_weights(&whole->params, &some->params, text);
        pgcn_trainer_free(some);
        pgcn_trainer_free(whole);
    }
    pgcn_dataset_free(data);
}

/* ---- neighbours ------------------------------------------------------------------------------------------ */

/* A row keeps its own entry and m others, none twice; over many draws, entries are those of T on average. */
static void test_nodes_neighbours_are_drawn_without_replacement_and_bias(void **state) {
    (void)state;
    enum { DRAWS = 4000, M = 3, N = 34 };
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *t = trainer_of(data, ALONE "model=gcn batch-by=nodes batch=34 neighbours=3 "
                                             "split=0 layers=1");
    static double mean[N][N], exact[N][N];
    const pgcn_i_csr *whole = &t->spatial.exact;
    pgcn_i_runner *runner = &t->train;
    for (int64_t r = 0; r < N; r++)
        for (int64_t e = whole->offset[r]; e < whole->offset[r + 1]; e++)
            exact[r][whole->column[e]] = (double)whole->value[e];
    for (int draw = 0; draw < DRAWS; draw++) {
        pgcn_i_runner_put(runner, pgcn_i_feed_step(t->feed, 0, 0), &t->loss);
        pgcn_i_runner_draw(runner, (pgcn_i_path_draw){.seed = 1, .step = draw});
        const pgcn_i_part *part = runner->views.view.part;
        const pgcn_i_csr *list = part->transitions[0].exact;
        for (int64_t r = 0; r < part->rows[PGCN_I_NODES][0]; r++) {
            int64_t node = part->id[r], entries = list->offset[r + 1] - list->offset[r], own = 0;
            int64_t degree = whole->offset[node + 1] - whole->offset[node];
            assert_int_equal(entries, degree < M + 1 ? degree : M + 1);
            for (int64_t e = list->offset[r]; e < list->offset[r + 1]; e++) {
                int64_t to = part->id[list->column[e]];
                own += to == node;
                assert_true(exact[node][to] > 0);
                if (e > list->offset[r]) assert_true(to > part->id[list->column[e - 1]]);
                mean[node][to] += (double)list->value[e] / DRAWS;
            }
            assert_int_equal(own, 1);
        }
    }
    for (int64_t i = 0; i < t->feed->train; i++)
        for (int64_t v = 0, u = t->feed->train_item[i]; v < N; v++) {
            /* five deviations of a mean of draws that are 0, or exact d / m */
            int64_t others = whole->offset[u + 1] - whole->offset[u] - 1;
            double most = exact[u][v] * (double)others / M;
            assert_true(fabs(mean[u][v] - exact[u][v]) <=
                        5 * sqrt(exact[u][v] * fmax(most, exact[u][v]) / DRAWS) + 1e-6);
        }
    pgcn_trainer_free(t);
    pgcn_dataset_free(data);
}

static void test_nodes_networks_that_cannot_say_so(void **state) {
    (void)state;
    static const refused_settings cases[] = {
        {ALONE "batch-by=nodes batch=5 model=appnp", "choose another model, or set batch to 0"},
        {ALONE "batch-by=nodes batch=5 model=grand", "batch-by cluster is for every network"},
        {ALONE "batch-by=nodes batch=5 train-form=exact",
         "to sampled, or set batch to 0; batch-by"},
        {ALONE "batch-by=nodes batch=5 kernel=full", "kernel is full"},
        {ALONE "batch-by=nodes batch=5 model=supergat", "edge-loss"},
        {ALONE "batch-by=nodes batch=5 model=gcn edge-keep=0.5", "edge-keep"},
        {ALONE "batch-by=nodes batch=5 batch-norm=yes norm-over=graph", "norm-over is graph"},
    };
    assert_settings_refused(cases, sizeof cases / sizeof *cases);
}

/* Files of 0.2 hold `batch`, 32 or what a recipe says, of one graph too, where it did nothing. */
static void test_nodes_old_settings_keep_their_meaning(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_config config = settings(ALONE "batch=2"); /* adopted, as those of a file */
    pgcn_trainer *trainer = NULL;
    must(pgcn_trainer_new(data, &config, &trainer));
    assert_null(trainer->feed);
    assert_int_equal(trainer->config.batch, 2);
    assert_int_equal(trainer->config.batch_by, PGCN_BATCH_AUTO);
    pgcn_trainer_free(trainer);
    must(pgcn_config_set(&config, "batch", "2")); /* and now the caller's */
    must(pgcn_trainer_new(data, &config, &trainer));
    assert_true(trainer->feed->nodes);
    assert_int_equal(trainer->config.batch_by, PGCN_BATCH_NODES);
    config = trainer->config; /* as a model holds them: adopted */
    pgcn_trainer_free(trainer);
    must(pgcn_trainer_new(data, &config, &trainer));
    assert_true(trainer->feed->nodes);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

/* A search adopts its settings; what the caller said about batches stays. */
static void test_nodes_settled_batches_outlive_whose_they_were(void **state) {
    (void)state;
    pgcn_dataset *one = dataset("karate");
    pgcn_dataset *many =
        set_of(set_new(PGCN_TASK_GRAPH, false, 12), "stratified=50/25/25,splits=1");
    const struct {
        const pgcn_dataset *data;
        const char *batch;
        pgcn_batch_by expected;
    } cases[] = {{one, "2", PGCN_BATCH_NODES},
                 {one, NULL, PGCN_BATCH_AUTO},
                 {one, "0", PGCN_BATCH_AUTO},
                 {many, "2", PGCN_BATCH_AUTO}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_config config = settings(ALONE);
        if (cases[i].batch) must(pgcn_config_set(&config, "batch", cases[i].batch));
        pgcn_config_settle_batches(&config, cases[i].data);
        pgcn_config_adopt(&config);
        assert_int_equal(config.batch_by, cases[i].expected);
    }
    pgcn_dataset_free(one);
    pgcn_dataset_free(many);
}

/* Every training node once in a pass, in another order in the next. */
static void test_nodes_a_pass_has_every_training_node_once(void **state) {
    (void)state;
    pgcn_dataset *data = dataset(DENSE);
    pgcn_trainer *t = trainer_of(data, QUICK "batch-by=nodes batch=11 unlabelled=5");
    int seen[200] = {0};
    pgcn_node first[2];
    assert_int_equal(t->steps, 7); /* 75 nodes */
    for (int64_t step = 0; step < 2 * t->steps; step++) {
        pgcn_i_chosen chosen = pgcn_i_feed_step(t->feed, t->config.seed, step);
        if (step % t->steps == 0) first[step / t->steps] = chosen.item[0];
        assert_true(chosen.count >= 15 && chosen.count <= 16);
        int training = 0;
        for (int64_t i = 0; i < chosen.count; i++) {
            for (int64_t k = 0; k < i; k++) assert_true(chosen.item[i] != chosen.item[k]);
            training += t->split->train[chosen.item[i]];
            seen[chosen.item[i]] += t->split->train[chosen.item[i]];
        }
        assert_int_equal(training, chosen.count - 5);
    }
    for (int64_t i = 0; i < 200; i++) assert_int_equal(seen[i], 2 * t->split->train[i]);
    assert_true(first[0] != first[1]);
    pgcn_trainer_free(t);
    pgcn_dataset_free(data);
}

/* The most frequent class beside an accuracy of some nodes is of these nodes. */
static void test_nodes_majority_is_of_the_nodes_that_are_evaluated(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("powerlaw:nodes=600,edges=3000,features=8,classes=5");
    pgcn_trainer *trainer = trainer_of(
        data, "layers=1 channels=8 paths=3 path-length=3 samples=1 consistency=0 epochs=1 batch=64 "
              "eval-nodes=7 batch-by=nodes");
    pgcn_score val, test;
    run_epochs(trainer, 1);
    must(pgcn_trainer_scores(trainer, &val, &test));
    const pgcn_i_feed *feed = trainer->feed;
    assert_int_equal(feed->eval, 14);
    uint8_t sample[600] = {0};
    for (int64_t i = 0; i < feed->eval; i++) sample[feed->eval_item[i]] = 1;
    const pgcn_i_target train = pgcn_i_target_of(data, trainer->split->train);
    const uint8_t *const mask[] = {trainer->split->val, trainer->split->test};
    const pgcn_score *const score[] = {&val, &test};
    for (int part = 0; part < 2; part++) {
        uint8_t judged[600];
        double of_sample, of_all;
        for (int i = 0; i < 600; i++) judged[i] = sample[i] && mask[part][i];
        const pgcn_i_target some = pgcn_i_target_of(data, judged);
        const pgcn_i_target all = pgcn_i_target_of(data, mask[part]);
        assert_int_equal(some.masked, 7);
        must(pgcn_i_majority(&train, &some, 600, data->classes, &of_sample));
        must(pgcn_i_majority(&train, &all, 600, data->classes, &of_all));
        assert_true(of_sample != of_all); /* or this test sees nothing */
        assert_close(score[part]->majority, of_sample, 1e-9);
    }
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_gradient_is_that_of_the_whole_graph),
        cmocka_unit_test(test_nodes_all_of_them_are_the_whole_graph),
        cmocka_unit_test(test_nodes_thread_matrix_same_bits),
        cmocka_unit_test(test_nodes_after_first_epoch_allocate_nothing),
        cmocka_unit_test(test_nodes_train_alike_without_the_transition),
        cmocka_unit_test(test_nodes_neighbours_are_drawn_without_replacement_and_bias),
        cmocka_unit_test(test_nodes_networks_that_cannot_say_so),
        cmocka_unit_test(test_nodes_old_settings_keep_their_meaning),
        cmocka_unit_test(test_nodes_settled_batches_outlive_whose_they_were),
        cmocka_unit_test(test_nodes_a_pass_has_every_training_node_once),
        cmocka_unit_test(test_nodes_majority_is_of_the_nodes_that_are_evaluated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
