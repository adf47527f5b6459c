/* Every network through the trainer: the same bits on any number of threads, after a resume and from its file; nodes,
 * several labels and graphs; edges that a step drops. */
#include "graphs_help.h"
#include "nn_help.h"
#include "scratch_help.h"

#include <math.h>

/* What each network is trained with here: everything that draws random numbers, and a norm. */
static const char *settings_of(const char *model) {
    static char text[256];
    bool keeps = strcmp(model, "cheb") != 0 && strcmp(model, "sgc") != 0 &&
                 strcmp(model, "mlp") != 0 && strcmp(model, "gin") != 0 &&
                 strcmp(model, "pathgcn") != 0;
    snprintf(
        text, sizeof text,
        "model=%s layers=3 channels=24 epochs=6 patience=0 samples=1 consistency=0 dropout=0.4 "
        "dropout-hidden=0.2 batch=5%s",
        model, keeps ? " edge-keep=0.7" : "");
    return text;
}

static pgcn_config config_of(const char *model, bool one_graph) {
    pgcn_config config = settings(settings_of(model));
    if (!one_graph && pgcn_i_kept_edges(&config) < 1)
        must(pgcn_config_set(&config, "edge-keep", "1"));
    pgcn_config_adopt(&config); /* nobody is blamed for what a network does not use */
    return config;
}

/* The hash of all weights and of the history after `epochs` epochs, from a checkpoint if there is one. */
static uint64_t train(const pgcn_dataset *data, pgcn_config config, int threads, int epochs,
                      const char *from, const char *to) {
    pgcn_trainer *trainer = NULL;
    config.threads = threads;
    must(pgcn_trainer_new(data, &config, &trainer));
    if (from) must(pgcn_trainer_resume(trainer, from));
    for (int e = 0; e < epochs; e++) must(pgcn_trainer_epoch(trainer, NULL));
    if (to) must(pgcn_trainer_save(trainer, to));
    uint64_t hash = 14695981039346656037u;
    const unsigned char *bytes = (const unsigned char *)trainer->params.value;
    for (int64_t i = 0; i < trainer->params.total * 4; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    int64_t count;
    const pgcn_epoch *history = pgcn_trainer_history(trainer, &count);
    for (int64_t i = 0; i < count; i++) {
        assert_true(isfinite(history[i].train_loss) && isfinite(history[i].val_loss));
        uint64_t word;
        memcpy(&word, &history[i].train_loss, sizeof word);
        hash = (hash ^ word) * 1099511628211u;
    }
    pgcn_trainer_free(trainer);
    return hash;
}

static void check_bits(const pgcn_dataset *data, const char *model, bool one_graph) {
    pgcn_config config = config_of(model, one_graph);
    const char *checkpoint = scratch_path("network.checkpoint");
    uint64_t one = train(data, config, 1, 6, NULL, NULL);
    for (int threads = 2; threads <= 5; threads += 3)
        if (train(data, config, threads, 6, NULL, NULL) != one)
            fail_msg("%s has other bits with %d threads", model, threads);
    train(data, config, 2, 3, NULL, checkpoint);
    if (train(data, config, 5, 3, checkpoint, NULL) != one)
        fail_msg("%s has other bits after a resume", model);
}

/* A set of graphs whose T is not symmetric. */
static pgcn_dataset *directed_set(void) {
    graph_set set = set_new(PGCN_TASK_MULTILABEL, false, 14);
    pgcn_i_source source = set_source(&set);
    source.directed = true;
    pgcn_dataset *data = source_build(source, "directed");
    assert_true(data->graph->directed);
    set_free(&set);
    return data;
}

static void
test_network_training_has_the_same_bits_on_any_threads_and_after_a_resume(void **state) {
    (void)state;
    pgcn_dataset *nodes = dataset("sbm:nodes=300,classes=3");
    pgcn_dataset *labels = set_of(set_new(PGCN_TASK_MULTILABEL, true, 14), "");
    pgcn_dataset *graphs =
        set_of(set_new(PGCN_TASK_GRAPH, false, 16), "stratified=50/25/25,splits=1");
    pgcn_dataset *arcs = directed_set();
    for (int i = 0; pgcn_network_name(i); i++) {
        check_bits(nodes, pgcn_network_name(i), true);
        check_bits(labels, pgcn_network_name(i), false);
        check_bits(arcs, pgcn_network_name(i), false);
        if (!pgcn_i_network_at(i)->why_no_graphs) check_bits(graphs, pgcn_network_name(i), false);
    }
    pgcn_dataset_free(nodes), pgcn_dataset_free(labels), pgcn_dataset_free(graphs);
    pgcn_dataset_free(arcs);
}

/* The model from its file predicts what the trainer's evaluation counted. */
static void test_network_training_model_file_predicts_the_same(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("sbm:nodes=300,classes=3");
    for (int i = 0; pgcn_network_name(i); i++) {
        pgcn_config config = config_of(pgcn_network_name(i), true);
        pgcn_trainer *trainer = NULL;
        pgcn_model *model = NULL, *read = NULL;
        pgcn_score val, test;
        pgcn_scores again;
        config.epochs = 20;
        must(pgcn_trainer_new(data, &config, &trainer));
        while (!pgcn_trainer_finished(trainer)) must(pgcn_trainer_epoch(trainer, NULL));
        must(pgcn_trainer_scores(trainer, &val, &test));
        must(pgcn_trainer_model(trainer, &model));
        must(pgcn_model_save(model, scratch_path("network.model")));
        must(pgcn_model_load(scratch_path("network.model"), &read));
        must(pgcn_model_evaluate(read, data, NULL, &again));
        assert_float_equal(again.test.accuracy, test.accuracy, 1e-9);
        assert_float_equal(again.test.loss, test.loss, 1e-7);
        pgcn_model_free(model), pgcn_model_free(read);
        pgcn_trainer_free(trainer);
    }
    pgcn_dataset_free(data);
}

/* ---- the loss ------------------------------------------------------------------------------------- */

/* A layer of egnn that is 3 from the identity, with all rates 0: the loss has 3 times the weight more. */
static void test_network_training_loss_has_the_terms_of_operations(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    double loss[2];
    for (int i = 0; i < 2; i++) {
        pgcn_config config = settings("model=egnn channels=8 epochs=2 samples=1 consistency=0 "
                                      "lr-ends=0 lr-mix=0 lr-kernel=0 threshold=-99 orthogonal=0");
        pgcn_trainer *trainer = NULL;
        pgcn_epoch epoch;
        if (i > 0) must(pgcn_config_set(&config, "orthogonal", "7"));
        must(pgcn_trainer_new(data, &config, &trainer));
        const pgcn_i_param *w = pgcn_i_param_named(&trainer->params, "layers.1.weight");
        pgcn_i_value_of(&trainer->params, w)[1] = 3;
        must(pgcn_trainer_epoch(trainer, &epoch));
        loss[i] = epoch.train_loss;
        must(pgcn_trainer_epoch(trainer, &epoch));
        assert_true(isfinite(epoch.train_loss));
        pgcn_trainer_free(trainer);
    }
    assert_true(fabs(loss[1] - loss[0] - 21) < 1e-9);
    pgcn_dataset_free(data);
}

/* ---- what is refused ----------------------------------------------------------------------------- */

static void refused(const pgcn_dataset *data, const char *text, const char *part) {
    pgcn_trainer *trainer = NULL;
    pgcn_config config = settings(text);
    must_fail(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_ARGUMENT, part);
}

static void test_network_training_refuses_what_cannot_be(void **state) {
    (void)state;
    pgcn_dataset *nodes = dataset("karate");
    pgcn_dataset *graphs =
        set_of(set_new(PGCN_TASK_GRAPH, false, 16), "stratified=50/25/25,splits=1");
    refused(nodes, "model=gcn batch-norm=yes layer-norm=yes", "a layer has one norm");
    refused(nodes, "model=jknet layers=1", "has at least 2");
    refused(nodes, "model=egnn c-min=0.1 beta=0.2", "set beta to at most c-min");
    refused(graphs, "model=jknet samples=1 consistency=0", "choose another model");
    refused(graphs, "model=gcn edge-keep=0.5 samples=1 consistency=0", "draws edges of one graph");
    pgcn_dataset_free(nodes), pgcn_dataset_free(graphs);
}

static void test_network_training_models_without_walks_have_no_draws(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_config config = config_of("gcn", true);
    pgcn_model *model = NULL;
    pgcn_inference inference = pgcn_inference_default();
    float *probability = calloc((size_t)34 * 4, sizeof *probability);
    must(pgcn_train(data, &config, &model));
    inference.draws = 3;
    must_fail(pgcn_model_predict(model, data, &inference, probability, NULL), PGCN_ERR_ARGUMENT,
              "a model without walks (gcn)");
    pgcn_model_free(model);
    free(probability);
    pgcn_dataset_free(data);
}

/* ---- edges --------------------------------------------------------------------------------------- */

/* Every draw is T of a graph with fewer edges: symmetric decisions, self-loops kept, degrees of what is left. */
static void check_draw(const pgcn_i_edges *edges, const pgcn_i_spatial *spatial,
                       pgcn_scaling scaling, double *share) {
    const pgcn_i_csr *t = pgcn_i_edges_kept(edges, false), *back = pgcn_i_edges_kept(edges, true);
    int64_t n = t->rows, loops = 0, all = spatial->exact.offset[n];
    double *dense = calloc((size_t)(n * n), sizeof *dense),
           *degree = calloc((size_t)n, sizeof *degree);
    for (int64_t r = 0; r < n; r++)
        for (int64_t e = t->offset[r]; e < t->offset[r + 1]; e++) {
            dense[r * n + t->column[e]] = (double)t->value[e];
            loops += t->column[e] == r;
            degree[r]++;
        }
    assert_int_equal(loops, n);
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < n; c++) {
            if (dense[r * n + c] == 0) continue;
            double want =
                scaling == PGCN_SCALING_WALK ? 1 / degree[r] : 1 / sqrt(degree[r] * degree[c]);
            assert_true(fabs(dense[r * n + c] - want) < 1e-6);
            assert_true(dense[c * n + r] > 0); /* both directions */
        }
    for (int64_t r = 0; r < n; r++)
        for (int64_t e = back->offset[r]; e < back->offset[r + 1]; e++)
            assert_float_equal((double)back->value[e], dense[back->column[e] * n + r], 0);
    assert_int_equal(back->offset[n], t->offset[n]);
    *share += (double)(t->offset[n] - n) / (double)(all - n);
    free(dense), free(degree);
}

static void test_network_training_draws_edges_and_normalises_again(void **state) {
    (void)state;
    pgcn_graph *graph = random_graph(80, 300, false, false, false, 5);
    pgcn_i_pool *pool;
    must(pgcn_i_pool_new(2, &pool));
    for (int scaling = 0; scaling < 2; scaling++) {
        pgcn_config config = settings(scaling ? "model=gcn edge-keep=0.6 scaling=walk"
                                              : "model=gcn edge-keep=0.6 scaling=symmetric");
        pgcn_i_spatial spatial;
        pgcn_i_edges *edges;
        double share = 0;
        pgcn_i_config_settle(&config);
        must(pgcn_i_spatial_init(&spatial, graph, &config));
        must(pgcn_i_edges_new(&spatial, &config, &edges));
        for (int step = 0; step < 40; step++) {
            pgcn_i_edges_draw(edges, pool, 7, step);
            check_draw(edges, &spatial, config.scaling, &share);
        }
        assert_float_equal(share / 40, 0.6, 0.02); /* five deviations */
        pgcn_i_edges_free(edges);
        pgcn_i_spatial_free(&spatial);
    }
    pgcn_i_pool_free(pool);
    pgcn_graph_free(graph);
}

/* ---- the spectrum ---------------------------------------------------------------------------------- */

/* A ring of even length has eigenvalues 1 - cos(2 pi j / n), the largest of which is 2; a complete graph of n nodes
 * n / (n - 1). */
static void test_network_training_finds_the_largest_eigenvalue(void **state) {
    (void)state;
    enum { N = 12 };
    pgcn_config config = settings("model=cheb");
    pgcn_i_config_settle(&config);
    for (int complete = 0; complete < 2; complete++) {
        pgcn_node source[N * N], target[N * N];
        int64_t m = 0;
        for (int i = 0; i < N; i++)
            for (int j = i + 1; j < N; j++)
                if (complete || j == i + 1 || (i == 0 && j == N - 1))
                    source[m] = (pgcn_node)i, target[m++] = (pgcn_node)j;
        pgcn_graph *graph = NULL;
        pgcn_i_spatial spatial;
        double largest = 0;
        must(pgcn_graph_from_edges(N, m, source, target, NULL, NULL, &graph));
        must(pgcn_i_spatial_init(&spatial, graph, &config));
        must(pgcn_i_laplacian_largest(&spatial.exact, &largest));
        assert_true(fabs(largest - (complete ? (double)N / (N - 1) : 2)) < 1e-5);
        pgcn_i_spatial_free(&spatial);
        pgcn_graph_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_network_training_has_the_same_bits_on_any_threads_and_after_a_resume, scratch_make,
            scratch_remove),
        cmocka_unit_test_setup_teardown(test_network_training_model_file_predicts_the_same,
                                        scratch_make, scratch_remove),
        cmocka_unit_test(test_network_training_loss_has_the_terms_of_operations),
        cmocka_unit_test(test_network_training_refuses_what_cannot_be),
        cmocka_unit_test(test_network_training_models_without_walks_have_no_draws),
        cmocka_unit_test(test_network_training_draws_edges_and_normalises_again),
        cmocka_unit_test(test_network_training_finds_the_largest_eigenvalue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
