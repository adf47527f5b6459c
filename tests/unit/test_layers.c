/* The activations of layers: every network shows them in order, they are those that its equations give, and what is
 * shown last are the logits that predictions are made of. */
#include "graphs_help.h"
#include "nn_help.h"
#include "scratch_help.h"

#include <math.h>

enum { MOST_LAYERS = 16 };

/* What was shown, of all batches of one draw, by node or graph. */
typedef struct seen {
    const pgcn_dataset *data;
    int draw; /* that is kept */
    int calls, draws;
    int stop_after; /* calls; 0: never */
    int last;       /* layer of the call before, of the same batch */
    int64_t channels[MOST_LAYERS], items[MOST_LAYERS], rows[MOST_LAYERS];
    float *value[MOST_LAYERS]; /* [items, channels] */
    bool of_graphs[MOST_LAYERS];
    int logits; /* the layer that they are */
} seen;

static bool keep(void *context, const pgcn_layer *layer) {
    seen *s = context;
    pgcn_dataset_info info = pgcn_dataset_describe(s->data);
    int l = layer->layer;
    assert_true(l >= 0 && l < MOST_LAYERS && l > s->last);
    s->last = layer->is_logits ? -1 : l;
    s->draws = layer->draw + 1;
    if (++s->calls == s->stop_after) return false;
    if (layer->draw != s->draw) return true;
    s->items[l] = layer->of_graphs ? info.graphs : info.nodes;
    s->of_graphs[l] = layer->of_graphs;
    s->channels[l] = layer->channels;
    s->rows[l] += layer->rows;
    if (layer->is_logits) s->logits = l;
    if (!s->value[l]) s->value[l] = calloc((size_t)(s->items[l] * layer->channels), sizeof(float));
    for (int64_t r = 0; r < layer->rows; r++)
        memcpy(s->value[l] + (layer->item ? layer->item[r] : r) * layer->channels,
               layer->value + r * layer->channels, (size_t)layer->channels * sizeof(float));
    return true;
}

static seen look(const pgcn_model *model, const pgcn_dataset *data, pgcn_inference *inference,
                 int draw) {
    seen s = {.data = data, .draw = draw, .last = -1};
    must(pgcn_model_layers(model, data, inference, keep, &s));
    return s;
}

static void seen_free(seen *s) {
    for (int l = 0; l < MOST_LAYERS; l++) free(s->value[l]);
}

static pgcn_model *train(const pgcn_dataset *data, const char *text, int epochs) {
    pgcn_config config = settings(text);
    pgcn_trainer *trainer;
    pgcn_model *model;
    pgcn_config_adopt(&config);
    must(pgcn_trainer_new(data, &config, &trainer));
    run_epochs(trainer, epochs);
    must(pgcn_trainer_model(trainer, &model));
    pgcn_trainer_free(trainer);
    return model;
}

/* ---- every network ----------------------------------------------------------------------------------- */

/* Rows of the logits, as probabilities. */
static void check_logits(const seen *s, const pgcn_model *model, const pgcn_inference *inference) {
    int c = pgcn_model_classes(model);
    int64_t items = s->items[s->logits];
    float *want = calloc((size_t)(items * c), sizeof *want);
    must(pgcn_model_predict(model, s->data, inference, want, NULL));
    assert_int_equal(s->channels[s->logits], c);
    for (int64_t i = 0; i < items; i++) {
        const float *row = s->value[s->logits] + i * c;
        double sum = 0;
        for (int k = 0; k < c; k++) sum += exp((double)row[k]);
        for (int k = 0; k < c; k++) {
            double p = pgcn_model_task(model) == PGCN_TASK_MULTILABEL
                           ? 1 / (1 + exp(-(double)row[k]))
                           : exp((double)row[k]) / sum;
            assert_close(p, (double)want[i * c + k], 1e-6);
        }
    }
    free(want);
}

static void check_network(const pgcn_dataset *data, const char *name, int first, int last) {
    char text[200];
    snprintf(text, sizeof text,
             "model=%s layers=4 channels=16 epochs=9 patience=0 batch=3 samples=1 consistency=0",
             name);
    pgcn_model *model = train(data, text, 2);
    seen s = look(model, data, NULL, 0);
    if (s.logits != last) fail_msg("%s: the logits are layer %d, not %d", name, s.logits, last);
    for (int l = 0; l <= last; l++) {
        if ((s.value[l] != NULL) != (l >= first)) fail_msg("%s: layer %d", name, l);
        if (s.value[l]) assert_int_equal(s.rows[l], s.items[l]); /* each node or graph once */
    }
    check_logits(&s, model, NULL);
    seen_free(&s);
    pgcn_model_free(model);
}

/* From which layer on a network of four layers shows them, and which layer the logits are, of nodes and of graphs. */
static const struct {
    const char *name;
    int first, nodes, graphs;
} networks[] = {
    {"pathgcn", 0, 5, 5},    {"gin", 0, 5, 5},       {"mlp", 1, 4, 4},       {"gcn", 1, 4, 5},
    {"sgc", 1, 1, 1},        {"cheb", 1, 4, 5},      {"appnp", 1, 5, 6},     {"gcnii", 0, 5, 5},
    {"gcnii-star", 0, 5, 5}, {"sage", 1, 5, 5},      {"jknet", 1, 4, 0},     {"incep", 1, 4, 0},
    {"gat", 1, 4, 5},        {"supergat", 1, 4, 5},  {"grand", 0, 5, 5},     {"egnn", 0, 5, 5},
    {"pde-gcn-d", 0, 5, 5},  {"pde-gcn-h", 0, 5, 5}, {"pde-gcn-m", 0, 5, 5},
};

static void test_layers_of_every_network_lead_to_its_prediction(void **state) {
    (void)state;
    pgcn_dataset *nodes = dataset("karate");
    pgcn_dataset *labels = set_of(set_mixed(PGCN_TASK_MULTILABEL, true, 8), "");
    pgcn_dataset *graphs =
        set_of(set_new(PGCN_TASK_GRAPH, false, 16), "stratified=50/25/25,splits=1");
    for (int i = 0; pgcn_network_name(i); i++) {
        assert_string_equal(pgcn_network_name(i), networks[i].name);
        check_network(nodes, networks[i].name, networks[i].first, networks[i].nodes);
        check_network(labels, networks[i].name, networks[i].first, networks[i].nodes);
        if (networks[i].graphs > 0)
            check_network(graphs, networks[i].name, networks[i].first, networks[i].graphs);
    }
    pgcn_dataset_free(nodes), pgcn_dataset_free(labels), pgcn_dataset_free(graphs);
}

/* ---- one network by its equations -------------------------------------------------------------------- */

static const float *tensor(const pgcn_model *model, const char *name) {
    pgcn_tensor t;
    for (int i = 0; pgcn_model_tensor(model, i, &t); i++)
        if (strcmp(t.name, name) == 0) return t.value;
    fail_msg("there is no tensor %s", name);
    return NULL;
}

/* y = T x for one channel, T = D^-1 A */
static void step(const pgcn_graph *graph, const double *x, double *y) {
    const int64_t *offset;
    const pgcn_node *neighbour;
    pgcn_graph_csr(graph, &offset, &neighbour, NULL);
    for (int64_t j = 0; j < pgcn_graph_nodes(graph); j++) {
        y[j] = 0;
        for (int64_t e = offset[j]; e < offset[j + 1]; e++)
            y[j] += x[neighbour[e]] / (double)(offset[j + 1] - offset[j]);
    }
}

/* H' = ReLU( ((1 - alpha) K H + alpha H_0) W ) */
static void test_layers_of_pathgcn_follow_from_each_other(void **state) {
    (void)state;
    enum { N = 34, C = 6, K = 3 };
    const double alpha = 0.25;
    pgcn_dataset *data = dataset("karate");
    pgcn_model *model = train(data,
                              "layers=3 channels=6 path-length=3 epochs=20 residual=initial "
                              "alpha=0.25 scaling=walk self-loops=no",
                              12);
    seen s = look(model, data, NULL, 0);
    for (int l = 0; l < 3; l++) {
        char name[32];
        float kernel[K * C];
        static double conv[N][C];
        must(pgcn_model_kernel(model, l, kernel));
        for (int c = 0; c < C; c++) {
            double x[2][N];
            for (int j = 0; j < N; j++) {
                x[0][j] = (double)s.value[l][j * C + c];
                conv[j][c] = alpha * (double)s.value[0][j * C + c];
            }
            for (int i = 0; i < K; i++) {
                for (int j = 0; j < N; j++)
                    conv[j][c] += (1 - alpha) * (double)kernel[i * C + c] * x[i % 2][j];
                step(pgcn_dataset_graph(data), x[i % 2], x[(i + 1) % 2]);
            }
        }
        snprintf(name, sizeof name, "layers.%d.weight", l);
        const float *w = tensor(model, name);
        for (int j = 0; j < N; j++)
            for (int o = 0; o < C; o++) {
                double y = 0;
                for (int c = 0; c < C; c++) y += conv[j][c] * (double)w[c * C + o];
                assert_close((double)s.value[l + 1][j * C + o], y > 0 ? y : 0, 1e-5);
            }
    }
    seen_free(&s);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

/* ---- draws, batches, and what ends them -------------------------------------------------------------- */

static void test_layers_of_draws_are_those_that_predictions_are_the_mean_of(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_model *model = train(data, "channels=6 epochs=20", 10);
    pgcn_inference inference = pgcn_inference_default();
    inference.draws = 3;
    inference.seed = 5;
    seen s[3];
    for (int draw = 0; draw < 3; draw++) {
        s[draw] = look(model, data, &inference, draw);
        assert_int_equal(s[draw].draws, 3);
        assert_int_equal(s[draw].calls, 3 * 4); /* opening layer, two layers, logits */
    }
    float p[34 * 2];
    must(pgcn_model_predict(model, data, &inference, p, NULL));
    bool differ = false;
    for (int i = 0; i < 34; i++) {
        double mean = 0;
        for (int draw = 0; draw < 3; draw++) {
            const float *row = s[draw].value[3] + 2 * i;
            mean += 1 / (1 + exp((double)row[1] - (double)row[0])) / 3;
            differ = differ || row[0] != s[0].value[3][2 * i];
        }
        assert_close(mean, (double)p[2 * i], 1e-6);
    }
    assert_true(differ);
    for (int draw = 0; draw < 3; draw++) seen_free(&s[draw]);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

static void test_layers_of_graphs_are_the_same_in_any_batch_and_threads(void **state) {
    (void)state;
    pgcn_dataset *data =
        set_of(set_new(PGCN_TASK_GRAPH, false, 16), "stratified=50/25/25,splits=1");
    pgcn_model *model = train(data, "layers=3 channels=8 epochs=9 batch=3", 3);
    pgcn_inference inference = pgcn_inference_default();
    inference.threads = 1;
    seen parts = look(model, data, &inference, 0);
    assert_int_equal(parts.calls, 5 * 6); /* of 16 graphs, at most three at a time */
    model->config.batch = 0;
    inference.threads = 3;
    seen whole = look(model, data, &inference, 0);
    assert_int_equal(whole.calls, 5);
    for (int l = 0; l <= 4; l++) {
        assert_int_equal(parts.of_graphs[l], l == 4);
        assert_memory_equal(parts.value[l], whole.value[l],
                            (size_t)(whole.items[l] * whole.channels[l]) * sizeof(float));
    }
    seen_free(&parts), seen_free(&whole);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

static void test_layers_end_when_the_caller_has_seen_enough(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_model *model = train(data, "channels=6 epochs=20", 2);
    seen s = {.data = data, .last = -1, .stop_after = 2};
    must_fail(pgcn_model_layers(model, data, NULL, keep, &s), PGCN_ERR_STOPPED, "no more layers");
    assert_int_equal(s.calls, 2);
    seen_free(&s);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

static void test_layers_that_are_not_finite_are_an_error_that_names_the_layer(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_model *model = train(data, "channels=6 epochs=20", 2);
    for (int l = 0; l < 2; l++) {
        const pgcn_i_param *w = pgcn_i_param_named(&model->params, "layers.%d.weight", l);
        for (int64_t i = 0; i < w->count; i++) pgcn_i_value_of(&model->params, w)[i] = 1e25f;
    }
    seen s = {.data = data, .last = -1};
    must_fail(pgcn_model_layers(model, data, NULL, keep, &s), PGCN_ERR_NUMERIC, "layers.1.weight");
    assert_int_equal(s.calls, 2);
    seen_free(&s);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

static const pgcn_dataset *memory_set;
static pgcn_model *memory_model;
static bool see_nothing(void *context, const pgcn_layer *layer) {
    (void)context, (void)layer;
    return true;
}
static pgcn_status show_all(void) {
    return pgcn_model_layers(memory_model, memory_set, NULL, see_nothing, NULL);
}

static void test_layers_survive_every_failing_allocation(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    memory_set = data;
    memory_model = train(data, "channels=6 epochs=20", 2);
    assert_true(fail_every_allocation(show_all) > 15);
    pgcn_model_free(memory_model);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_of_every_network_lead_to_its_prediction),
        cmocka_unit_test(test_layers_of_pathgcn_follow_from_each_other),
        cmocka_unit_test(test_layers_of_draws_are_those_that_predictions_are_the_mean_of),
        cmocka_unit_test(test_layers_of_graphs_are_the_same_in_any_batch_and_threads),
        cmocka_unit_test(test_layers_end_when_the_caller_has_seen_enough),
        cmocka_unit_test(test_layers_that_are_not_finite_are_an_error_that_names_the_layer),
        cmocka_unit_test(test_layers_survive_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
