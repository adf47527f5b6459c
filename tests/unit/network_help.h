/* For the tests of the tape and of the network: the whole network of a configuration on a small
 * random graph, recorded and ready to run, without a trainer around it. */
#ifndef PGCN_NETWORK_HELP_H
#define PGCN_NETWORK_HELP_H

#include "nn_help.h"

enum { NET_FEATURES = 11, NET_CLASSES = 3 };

/* What the network is run on. A few nodes have no edges, no features or no label. Items, which have
 * labels, are the nodes, or graphs of nodes that stand one after the other. */
typedef struct problem {
    int64_t n, masked;
    int64_t graphs;
    int64_t *first; /* [graphs + 1] nodes of the graphs; NULL: nodes are classified */
    pgcn_graph *graph;
    pgcn_i_csr csr; /* features */
    pgcn_i_features x;
    int32_t *label;
    uint8_t *mask;
} problem;

static inline int64_t problem_items(const problem *p) {
    return p->first ? p->graphs : p->n;
}

/* Features, labels and mask, where the graph is there. */
static inline void problem_fill(problem *out) {
    problem p = *out;
    int64_t n = p.n, items = problem_items(out);
    pgcn_i_stream random = test_stream(4);
    p.csr = ref_random_csr(5, n, NET_FEATURES);
    p.x = (pgcn_i_features){.n = n,
                            .columns = NET_FEATURES,
                            .nonzeros = p.csr.offset[n],
                            .offset = p.csr.offset,
                            .column = p.csr.column,
                            .value = p.csr.value};
    p.label = calloc((size_t)items, sizeof *p.label);
    p.mask = calloc((size_t)items, 1);
    for (int64_t j = 0; j < items; j++) {
        p.label[j] = (int32_t)pgcn_i_bounded(&random, NET_CLASSES + 1) - 1;
        p.mask[j] = pgcn_i_bounded(&random, 3) > 0;
        p.masked += p.mask[j] && p.label[j] >= 0;
    }
    *out = p;
}

static inline problem problem_of(int64_t n, bool directed) {
    problem p = {.n = n, .graph = random_graph(n, 2 * n, true, directed, false, 3)};
    problem_fill(&p);
    return p;
}

/* Graphs of 1 to 7 nodes in turn, random weighted edges inside of them. */
static inline problem problem_of_graphs(int64_t graphs) {
    problem p = {.graphs = graphs, .first = calloc((size_t)graphs + 1, sizeof *p.first)};
    for (int64_t g = 0; g < graphs; g++) p.first[g + 1] = p.n += 1 + (3 * g + 4) % 7;
    pgcn_node *source = calloc((size_t)(9 * graphs), sizeof *source);
    pgcn_node *target = calloc((size_t)(9 * graphs), sizeof *target);
    float *weight = ref_random_floats(7, 9 * graphs);
    pgcn_i_stream random = test_stream(8);
    for (int64_t e = 0; e < 9 * graphs; e++) {
        uint32_t size = (uint32_t)(p.first[e / 9 + 1] - p.first[e / 9]);
        source[e] = (pgcn_node)(p.first[e / 9] + pgcn_i_bounded(&random, size));
        target[e] = (pgcn_node)(p.first[e / 9] + pgcn_i_bounded(&random, size));
        weight[e] += 1.5f;
    }
    must(pgcn_graph_from_edges(p.n, 9 * graphs, source, target, weight, NULL, &p.graph));
    free(source), free(target), free(weight);
    problem_fill(&p);
    return p;
}

static inline problem problem_new(int64_t n) {
    return problem_of(n, false);
}

/* A star: node 0 is a neighbour of all others, which have no other one. */
static inline problem problem_star(int64_t n) {
    pgcn_node *hub = calloc((size_t)n, sizeof *hub), *leaf = calloc((size_t)n, sizeof *leaf);
    for (int64_t e = 0; e < n - 1; e++) leaf[e] = (pgcn_node)(e + 1);
    problem p = {.n = n};
    must(pgcn_graph_from_edges(n, n - 1, hub, leaf, NULL, NULL, &p.graph));
    free(hub), free(leaf);
    problem_fill(&p);
    return p;
}

static inline void problem_free(problem *p) {
    pgcn_graph_free(p->graph);
    ref_csr_free(&p->csr);
    free(p->label), free(p->mask), free(p->first);
}

typedef struct network {
    const problem *problem;
    pgcn_config config;
    int samplers; /* 0: exact */
    pgcn_i_pool *pool;
    pgcn_i_input *input;
    pgcn_i_spatial spatial;
    pgcn_i_params params;
    pgcn_i_visits *visits[8];
    pgcn_i_transition transitions[8];
    int64_t *segment; /* of the graphs of all samples, or NULL */
    int64_t *link_t;
    bool closes;         /* set before the tape is recorded, like the next */
    pgcn_i_share *share; /* rows of several ranks; NULL: all are here */
    pgcn_i_tape tape;
    pgcn_i_value *logits;
    pgcn_i_loss loss;
} network;

/* The rows of the graphs of all samples. */
static inline int64_t *network_segments(const problem *p, int samples) {
    int64_t *segment = calloc((size_t)(samples * p->graphs + 1), sizeof *segment);
    for (int64_t i = 0; i <= samples * p->graphs; i++)
        segment[i] = i / p->graphs * p->n + p->first[i % p->graphs];
    return segment;
}

/* The settings as a trained model holds them: what the network ignores is what it comes to. */
static inline pgcn_config network_settings(const char *text) {
    pgcn_config config = settings(text);
    pgcn_config_adopt(&config); /* nobody is blamed for what does nothing */
    must(pgcn_config_check(&config));
    pgcn_i_config_settle(&config);
    return config;
}

/* As the trainer does. */
static inline void network_eigenvalue(network *net) {
    float *value = pgcn_i_network_eigenvalue(&net->params);
    double largest;
    if (!value || *value > 0) return;
    must(pgcn_i_laplacian_largest(&net->spatial.exact, &largest));
    *value = (float)largest;
}

/* As the views do. */
static inline void network_links(network *net) {
    const pgcn_i_csr *exact = &net->spatial.exact;
    if (!pgcn_i_network_of(&net->config)->links) return;
    net->link_t = calloc((size_t)exact->offset[exact->rows], sizeof *net->link_t);
    int64_t *next = calloc((size_t)exact->rows, sizeof *next);
    pgcn_i_csr_number(net->link_t, exact, &net->spatial.exact_t, exact->rows, next);
    for (int l = 0; l < net->config.layers; l++) net->transitions[l].link_t = net->link_t;
    free(next);
}

/* Everything but the tape; then the tape, whose recording may fail in the tests of memory. */
static inline void network_prepare(network *net, const problem *p, const char *text, int threads) {
    *net = (network){.problem = p, .config = network_settings(text)};
    pgcn_config *config = &net->config;
    must(pgcn_i_pool_new(threads, &net->pool));
    must(pgcn_i_input_new(&p->x, config->normalise, (pgcn_i_standard){0}, true, &net->input));
    must(pgcn_i_spatial_init(&net->spatial, p->graph, config));
    must(pgcn_i_input_power(&net->input, &net->spatial.exact, pgcn_i_network_powers(config), true));
    must(pgcn_i_network_declare(&net->params, config,
                                (pgcn_i_shape){NET_FEATURES, NET_CLASSES, p->first != NULL}));
    must(pgcn_i_params_allocate(&net->params, true));
    pgcn_i_network_start(&net->params, config);
    network_eigenvalue(net);
    if (config->train_form == PGCN_FORM_SAMPLED)
        net->samplers = config->paths_per_layer ? config->layers : 1;
    assert_true(config->layers <= 8);
    for (int l = 0; l < config->layers; l++) {
        net->transitions[l] = pgcn_i_spatial_transition(&net->spatial, config->samples);
        if (l >= net->samplers) {
            if (net->samplers > 0) net->transitions[l].visits = net->visits[0];
            continue;
        }
        must(pgcn_i_visits_new(&net->spatial.walker, NULL, config->samples, true, &net->visits[l]));
        pgcn_i_visits_sample(net->visits[l], &net->spatial.walker, net->pool,
                             (pgcn_i_path_draw){config->seed, PGCN_I_RNG_WALK, 0, l},
                             net->spatial.visit_degree);
        net->transitions[l].visits = net->visits[l];
    }
    network_links(net);
    if (p->first) net->segment = network_segments(p, config->samples);
    must(pgcn_i_loss_init(&net->loss, problem_items(p), config->samples, NET_CLASSES, PGCN_GROUPS));
}

static inline pgcn_status network_record(network *net, bool with_grad) {
    const pgcn_config *config = &net->config;
    PGCN_TRY(pgcn_i_tape_init(&net->tape, net->pool, &net->params,
                              pgcn_i_network_ops(config, &net->params), with_grad));
    net->tape.seed = config->seed;
    net->tape.samples = config->samples;
    net->tape.gather_bf16 = config->bf16;
    net->tape.half = config->hidden_rows == PGCN_ROWS_BF16;
    net->tape.closes = net->closes;
    net->tape.share = net->share;
    net->tape.recompute = config->recompute;
    net->logits =
        pgcn_i_network_record(&net->tape, config,
                              &(pgcn_i_view){.input = net->input,
                                             .transitions = net->transitions,
                                             .samples = config->samples,
                                             .rows = {net->problem->n, net->problem->graphs},
                                             .segment = net->segment,
                                             .graph_rows = net->segment});
    return pgcn_i_tape_finish(&net->tape);
}

static inline void network_open(network *net, const problem *p, const char *text, int threads) {
    network_prepare(net, p, text, threads);
    must(network_record(net, true));
}

/* Of a tape whose last loop is that of the loss. */
static inline void network_open_closing(network *net, const problem *p, const char *text,
                                        int threads) {
    network_prepare(net, p, text, threads);
    net->closes = true;
    must(network_record(net, true));
}

static inline void network_close(network *net) {
    free(net->segment), free(net->link_t);
    pgcn_i_loss_free(&net->loss);
    pgcn_i_tape_free(&net->tape);
    for (int l = 0; l < net->samplers; l++) pgcn_i_visits_free(net->visits[l]);
    pgcn_i_params_free(&net->params);
    pgcn_i_spatial_free(&net->spatial);
    pgcn_i_input_free(net->input);
    pgcn_i_pool_free(net->pool);
}

/* Moves every weight a little, so that no gradient is special: s is no longer a constant, W no
 * longer the identity, biases no longer 0. Running statistics stay. */
static inline void network_shake(network *net) {
    float *noise = ref_random_floats(6, net->params.total);
    for (int i = 0; i < net->params.count; i++) {
        const pgcn_i_param *param = &net->params.param[i];
        for (int64_t e = 0; e < param->count && param->group != PGCN_I_GROUP_BUFFER; e++)
            net->params.value[param->first + e] += 0.3f * noise[param->first + e];
    }
    free(noise);
}

/* Forward, loss, backward. Returns the whole loss. */
static inline double network_run(network *net) {
    const problem *p = net->problem;
    pgcn_i_tape_forward(&net->tape);
    pgcn_i_loss_terms terms = pgcn_i_loss_run(&net->loss, &net->tape, net->logits,
                                              &(pgcn_i_target){p->label, NULL, p->mask, p->masked},
                                              net->config.consistency, net->config.temperature);
    double more = pgcn_i_tape_loss_terms(&net->tape);
    if (net->tape.with_grad) pgcn_i_tape_backward(&net->tape);
    return terms.cross_entropy + net->config.consistency * terms.consistency + more;
}

/* Along the gradient g of a parameter the loss rises by |g|^2: (f(w + h g) - f(w - h g)) / 2h. */
static inline void network_check_slope(network *net, const pgcn_i_param *param) {
    float *w = pgcn_i_value_of(&net->params, param);
    float *start = calloc((size_t)param->count, sizeof *w);
    float *g = calloc((size_t)param->count, sizeof *g);
    double square = 0, side[2];
    network_run(net);
    memcpy(start, w, (size_t)param->count * sizeof *w);
    memcpy(g, net->params.grad + param->first, (size_t)param->count * sizeof *g);
    for (int64_t i = 0; i < param->count; i++) square += (double)g[i] * (double)g[i];
    bool is_slope = false;
    double slope = 0;
    /* A kink of a ReLU inside a step bends the slope: shorter ones are clear of it. */
    for (float step = 0.002f; step > 0.0002f && !is_slope; step /= 2) {
        float h = step / (float)sqrt(square);
        for (int s = 0; s < 2; s++) {
            for (int64_t i = 0; i < param->count; i++) w[i] = start[i] + (s ? -h : h) * g[i];
            side[s] = network_run(net);
        }
        slope = (side[0] - side[1]) / (2 * (double)h);
        is_slope = fabs(slope - square) < 0.02 * square + 1e-5;
    }
    memcpy(w, start, (size_t)param->count * sizeof *w);
    if (!is_slope) fail_msg("%s: the slope is %g, expected %g", param->name, slope, square);
    free(start), free(g);
}

/* The gradient of every trained parameter is the slope of the loss. */
static inline void network_check_slopes(const problem *p, const char *text) {
    network net;
    network_open(&net, p, text, 2);
    network_shake(&net);
    for (int i = 0; i < net.params.count; i++)
        if (net.params.param[i].group != PGCN_I_GROUP_BUFFER)
            network_check_slope(&net, &net.params.param[i]);
    network_close(&net);
}

#endif
