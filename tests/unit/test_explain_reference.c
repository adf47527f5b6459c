/* Explanations against their definition, in double precision and with dense matrices: every path through the layers is
 * followed by itself, hop by hop, and only then are contributions added up. */
#include "nn_help.h"

#include <math.h>

enum { N = 14, FEATURES = 5, CLASSES = 3, C = 6, K = 3, LAYERS = 3, HOPS = 16 };

typedef struct reference {
    const pgcn_model *model;
    double x[N][FEATURES];
    double t[N][N];
    double gate[LAYERS + 1][N]
               [C]; /* 1 where the ReLU after the first layer (0) or layer l is open */
    double of_node[2][N][HOPS + 1], of_feature[N][FEATURES];
    double bias[2];
    double logit[N][CLASSES];
} reference;
static reference ref;

static const float *tensor(const char *name) {
    const pgcn_i_param *param = pgcn_i_param_named(&ref.model->params, "%s", name);
    assert_non_null(param);
    return pgcn_i_value_of(&ref.model->params, param);
}
static const float *of_layer(int l, const char *name) {
    char text[48];
    snprintf(text, sizeof text, "layers.%d.%s", l, name);
    return tensor(text);
}

/* ---- the data: a ring with two chords, an isolated node --------------------------------------------- */

static pgcn_dataset *small_data(void) {
    pgcn_node from[N + 2], to[N + 2];
    int32_t label[N];
    uint8_t train[N], val[N];
    float x[N * FEATURES];
    pgcn_i_stream random = test_stream(12);
    for (int u = 0; u < N - 1; u++) from[u] = u, to[u] = (u + 1) % (N - 1);
    from[N - 1] = 0, to[N - 1] = 5, from[N] = 3, to[N] = 9;
    for (int u = 0; u < N; u++) label[u] = u % CLASSES, train[u] = u % 2 == 0, val[u] = u % 2 == 1;
    for (int e = 0; e < N * FEATURES; e++) x[e] = 2 * pgcn_i_unit_float(pgcn_i_next(&random)) - 1;
    pgcn_graph *graph = NULL;
    must(pgcn_graph_from_edges(N, N + 1, from, to, NULL, NULL, &graph));
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    arrays.graph = graph;
    arrays.n_features = FEATURES;
    arrays.features = x;
    arrays.label = label;
    arrays.n_splits = 1;
    arrays.train = train;
    arrays.val = val;
    pgcn_dataset *data = NULL;
    must(pgcn_dataset_from_arrays(&arrays, &data));
    pgcn_graph_free(graph);
    return data;
}

static pgcn_model *small_model(const pgcn_dataset *data, const char *text) {
    pgcn_config config = settings(text);
    pgcn_config_adopt(&config);
    pgcn_model *model = NULL;
    must(pgcn_train(data, &config, &model));
    float *noise = ref_random_floats(6, model->params.total);
    for (int64_t e = 0; e < model->params.total; e++) model->params.value[e] += 0.3f * noise[e];
    free(noise);
    return model;
}

/* D^-1 (A + I), or with `symmetric` D^-1/2 (A + I) D^-1/2; links of node `cut` count 0 afterwards. */
static void fill(const pgcn_model *model, const pgcn_dataset *data, bool symmetric, int cut) {
    memset(&ref, 0, sizeof ref);
    ref.model = model;
    for (int u = 0; u < N; u++)
        for (int f = 0; f < FEATURES; f++) ref.x[u][f] = (double)data->x.dense[u * FEATURES + f];
    double degree[N];
    for (int u = 0; u < N; u++)
        degree[u] = (double)(data->graph->offset[u + 1] - data->graph->offset[u]) + 1;
    for (int u = 0; u < N; u++) {
        ref.t[u][u] = 1 / degree[u];
        for (int64_t e = data->graph->offset[u]; e < data->graph->offset[u + 1]; e++) {
            int v = data->graph->neighbour[e];
            ref.t[u][v] = symmetric ? 1 / sqrt(degree[u] * degree[v]) : 1 / degree[u];
            if (u == cut || v == cut) ref.t[u][v] = 0;
        }
    }
}

/* ---- pathgcn: ReLU, then layers [ ((1 - alpha) sum_i s_i T^i H + alpha H0) W, ReLU ] --------------------- */

static double kernel(int l, int i, int c) {
    return (1 - ref.model->config.alpha) * (double)of_layer(l, "kernel")[i * C + c];
}

/* z = x w, x [N, in], w [in, out] */
static void product(double *z, const double *x, const float *w, int in, int out) {
    for (int u = 0; u < N; u++)
        for (int j = 0; j < out; j++) {
            z[u * out + j] = 0;
            for (int i = 0; i < in; i++) z[u * out + j] += x[u * in + i] * (double)w[i * out + j];
        }
}

static void open_gates(double *h, double gate[N][C]) {
    for (int u = 0; u < N; u++)
        for (int c = 0; c < C; c++) {
            gate[u][c] = h[u * C + c] > 0;
            h[u * C + c] *= gate[u][c];
        }
}

/* One step of walks. */
static void step(double h[N * C]) {
    double next[N * C] = {0};
    for (int u = 0; u < N; u++)
        for (int v = 0; v < N; v++)
            for (int c = 0; c < C; c++) next[u * C + c] += ref.t[u][v] * h[v * C + c];
    memcpy(h, next, sizeof next);
}

static void forward_layer(int l, double h[N * C], const double h0[N * C]) {
    double sum[N * C], power[N * C];
    memcpy(power, h, sizeof power);
    for (int e = 0; e < N * C; e++) sum[e] = ref.model->config.alpha * h0[e];
    for (int i = 0; i < K; i++) {
        for (int e = 0; e < N * C; e++) sum[e] += kernel(l, i, e % C) * power[e];
        step(power);
    }
    product(h, sum, of_layer(l, "weight"), C, C);
    open_gates(h, ref.gate[l + 1]);
}

static void forward(void) {
    double h[N * C], h0[N * C];
    product(h, &ref.x[0][0], tensor("embed.weight"), FEATURES, C);
    for (int e = 0; e < N * C; e++) h[e] += (double)tensor("embed.bias")[e % C];
    open_gates(h, ref.gate[0]);
    memcpy(h0, h, sizeof h);
    for (int l = 0; l < LAYERS; l++) forward_layer(l, h, h0);
    product(&ref.logit[0][0], h, tensor("classifier.weight"), C, CLASSES);
    for (int u = 0; u < N; u++)
        for (int k = 0; k < CLASSES; k++) ref.logit[u][k] += (double)tensor("classifier.bias")[k];
}

/* A path has come to H0 of node u, with g in every channel. */
static void arrive(int u, const double g[C], int hops, int residual) {
    for (int c = 0; c < C; c++) {
        double open = g[c] * ref.gate[0][u][c];
        ref.bias[0] += open * (double)tensor("embed.bias")[c];
        for (int f = 0; f < FEATURES; f++) {
            double share = open * (double)tensor("embed.weight")[f * C + c] * ref.x[u][f];
            ref.of_node[residual][u][hops] += share;
            ref.of_feature[u][f] += share;
        }
    }
}

static void follow(int l, int u, const double g[C], int hops);

/* The path goes `left` steps further from node u, with the weight of one walk after the other. */
static void walk(int l, int u, const double g[C], int hops, int left) {
    if (left == 0) {
        follow(l, u, g, hops);
        return;
    }
    for (int v = 0; v < N; v++) {
        if (ref.t[u][v] == 0) continue;
        double next[C];
        for (int c = 0; c < C; c++) next[c] = ref.t[u][v] * g[c];
        walk(l, v, next, hops + 1, left - 1);
    }
}

/* The path is at the result of layer l (from 1; 0: H0) of node u. */
static void follow(int l, int u, const double g[C], int hops) {
    if (l == 0) {
        arrive(u, g, hops, 0);
        return;
    }
    double before[C] = {0}, share[C];
    for (int j = 0; j < C; j++)
        for (int i = 0; i < C; i++)
            before[i] += g[j] * ref.gate[l][u][j] * (double)of_layer(l - 1, "weight")[i * C + j];
    for (int c = 0; c < C; c++) share[c] = ref.model->config.alpha * before[c];
    arrive(u, share, hops, 1);
    for (int i = 0; i < K; i++) {
        for (int c = 0; c < C; c++) share[c] = kernel(l - 1, i, c) * before[c];
        walk(l - 1, u, share, hops, i);
    }
}

static void explain_path(int node, int target) {
    double g[C];
    for (int c = 0; c < C; c++) g[c] = (double)tensor("classifier.weight")[c * CLASSES + target];
    ref.bias[1] = (double)tensor("classifier.bias")[target];
    follow(LAYERS, node, g, 0);
}

/* ---- the comparison --------------------------------------------------------------------------------------- */

static const pgcn_node_share *share_of(const pgcn_explanation *e, int node) {
    for (int64_t i = 0; i < e->nodes; i++)
        if (e->node[i].node == node) return &e->node[i];
    return NULL;
}

static double bias_named(const pgcn_explanation *e, const char *name) {
    for (int i = 0; i < e->constants; i++)
        if (strcmp(e->constant[i].name, name) == 0) return e->constant[i].sum;
    return 0;
}

static void compare(const pgcn_explanation *e, double within) {
    assert_close(e->logit, ref.logit[e->item][e->target], within);
    for (int u = 0; u < N; u++) {
        const pgcn_node_share *share = share_of(e, u);
        double residual = 0, any = 0;
        for (int h = 0; h <= HOPS; h++) {
            double want = ref.of_node[0][u][h] + ref.of_node[1][u][h];
            residual += ref.of_node[1][u][h];
            any += fabs(want);
            if (share) assert_close(share->of_hop[h], want, within);
        }
        if (!share) assert_close(any, 0, within);
        if (share) assert_close(share->residual, residual, within);
    }
    for (int64_t i = 0; i < e->pairs; i++)
        assert_close(e->pair[i].sum, ref.of_feature[e->pair[i].node][e->pair[i].column], within);
}

static pgcn_explanation *explained(const pgcn_model *model, const pgcn_dataset *data, int node,
                                   bool mask) {
    pgcn_explain_opts opts = pgcn_explain_opts_default();
    opts.mask = mask;
    pgcn_explanation *e = NULL;
    must(pgcn_model_explain(model, data, node, &opts, &e));
    return e;
}

static void test_explain_pathgcn_is_the_sum_over_all_paths(void **state) {
    (void)state;
    pgcn_dataset *data = small_data();
    pgcn_model *model = small_model(
        data, "layers=3 path-length=3 channels=6 kernel=depthwise "
              "residual=initial alpha=0.2 epochs=2 patience=0 normalise=none scaling=walk");
    for (int node = 0; node < N; node += 4) {
        pgcn_explanation *e = explained(model, data, node, false);
        fill(model, data, false, -1);
        forward();
        explain_path(node, e->target);
        compare(e, 1e-5);
        assert_close(bias_named(e, "embed.bias"), ref.bias[0], 1e-5);
        assert_close(bias_named(e, "classifier.bias"), ref.bias[1], 1e-5);
        assert_true(e->residual != 0 && e->of_hop[LAYERS * (K - 1)] != 0);
        pgcn_explanation_free(e);
    }
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

/* A mask sets entries of T to 0 and changes no other. */
static void test_explain_mask_is_the_same_matrix_without_entries(void **state) {
    (void)state;
    pgcn_dataset *data = small_data();
    pgcn_model *model = small_model(
        data, "layers=3 path-length=3 channels=6 kernel=depthwise "
              "residual=initial alpha=0.2 epochs=2 patience=0 normalise=none scaling=walk");
    pgcn_explanation *e = explained(model, data, 3, true);
    assert_int_equal(e->removals, 7);
    for (int r = 0; r < e->removals; r++) {
        if (e->removal[r].nodes > 1) continue;
        fill(model, data, false, e->removal[r].node[0]);
        forward();
        assert_close(e->removal[r].logit, ref.logit[3][e->target], 1e-5);
    }
    pgcn_explanation_free(e);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

/* ---- gcn: two layers, self-loops are no hop ------------------------------------------------------------------ */

static void forward_gcn(void) {
    double z[N * C], h[N * C] = {0}, y[N * CLASSES];
    product(z, &ref.x[0][0], of_layer(0, "weight"), FEATURES, C);
    for (int u = 0; u < N; u++)
        for (int c = 0; c < C; c++) {
            for (int v = 0; v < N; v++) h[u * C + c] += ref.t[u][v] * z[v * C + c];
            h[u * C + c] += (double)of_layer(0, "bias")[c];
        }
    open_gates(h, ref.gate[0]);
    product(y, h, of_layer(1, "weight"), C, CLASSES);
    for (int u = 0; u < N; u++)
        for (int k = 0; k < CLASSES; k++) {
            ref.logit[u][k] = (double)of_layer(1, "bias")[k];
            for (int v = 0; v < N; v++) ref.logit[u][k] += ref.t[u][v] * y[v * CLASSES + k];
        }
}

static void explain_gcn(int node, int target) {
    for (int u = 0; u < N; u++)
        for (int c = 0; c < C; c++) {
            double g = ref.t[node][u] * ref.gate[0][u][c] *
                       (double)of_layer(1, "weight")[c * CLASSES + target];
            for (int v = 0; v < N; v++)
                for (int f = 0; f < FEATURES; f++) {
                    double share =
                        g * ref.t[u][v] * ref.x[v][f] * (double)of_layer(0, "weight")[f * C + c];
                    ref.of_node[0][v][(u != node) + (v != u)] += share;
                    ref.of_feature[v][f] += share;
                }
        }
}

static void test_explain_gcn_is_the_sum_over_all_paths(void **state) {
    (void)state;
    pgcn_dataset *data = small_data();
    pgcn_model *model =
        small_model(data, "model=gcn layers=2 channels=6 residual=none scaling=symmetric epochs=2 "
                          "patience=0 normalise=none");
    for (int node = 0; node < N; node += 3) {
        pgcn_explanation *e = explained(model, data, node, false);
        fill(model, data, true, -1);
        forward_gcn();
        explain_gcn(node, e->target);
        compare(e, 1e-5);
        pgcn_explanation_free(e);
    }
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_explain_pathgcn_is_the_sum_over_all_paths),
        cmocka_unit_test(test_explain_mask_is_the_same_matrix_without_entries),
        cmocka_unit_test(test_explain_gcn_is_the_sum_over_all_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
