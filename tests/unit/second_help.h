/* For the tests of networks: the whole network against a second one in double, written from the
 * equations of the paper and of the recipes with dense matrices and raw walks (no visit lists, no
 * operator of src/graph):
 *
 *   H0    = ReLU(Dropout(X) W_in + b_in)                        X: rows divided by their sums
 *   A_l   = D^1/2 [ sum_i s_i (.) P^i (D^-1/2 H_l) ]            without D: plain walks
 *   U_l   = (1 - alpha) A_l + alpha H0 (or H_l)
 *   H_l+1 = ReLU( BN( U_l W_l ) )
 *   out   = Dropout(H_L) W_out + b_out
 *
 * or, of inputs that paths smooth, H0 = ReLU(Dropout(BN(K X)) W_in + b_in). Where graphs are classified
 * H_l+1 = ReLU( BN(U_l) W_l + b_l ) and the readout follows; and GIN.
 *
 * P^i is a power of the dense transition matrix, or the mean over p sampled walks. */
#ifndef PGCN_SECOND_HELP_H
#define PGCN_SECOND_HELP_H

#include "network_help.h"
#include "nn/ops.h"

#define VALUE_TOLERANCE    1e-5
#define GRADIENT_TOLERANCE 2e-4 /* batch norm over 30 rows amplifies rounding */
#define GRADIENT_LEAST     1e-2

/* ---- the second network -------------------------------------------------------------------------- */

typedef struct second {
    const network *net;
    double *w;          /* all parameters, laid out like pgcn_i_params */
    double *transition; /* [n, n] row-stochastic */
    double *degree;     /* [n] with self-loops */
    double *features;   /* [n, NET_FEATURES] rows divided by their sums */
    double *frozen;     /* consistency target, or NULL before it is known */
} second;

static inline void fill_transition(second *two) {
    const network *net = two->net;
    int64_t n = net->problem->n;
    const int64_t *offset;
    const pgcn_node *neighbour;
    const float *weight;
    pgcn_graph_csr(net->problem->graph, &offset, &neighbour, &weight);
    bool weighted = net->config.walk != PGCN_WALK_UNIFORM; /* node2vec also counts weights */
    bool turned = net->config.direction == PGCN_DIRECTION_BACKWARD;
    double *matrix = two->transition;
    for (int64_t j = 0; j < n; j++)
        for (int64_t e = offset[j]; e < offset[j + 1]; e++)
            matrix[turned ? neighbour[e] * n + j : j * n + neighbour[e]] =
                weighted ? (double)weight[e] : 1;
    for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        bool sums = net->config.scaling == PGCN_SCALING_SUM; /* A itself, or A + I */
        for (int64_t u = 0; u < n; u++) sum += matrix[j * n + u];
        if (net->config.self_loops || (sum == 0 && !sums)) matrix[j * n + j] += 1, sum += 1;
        for (int64_t u = 0; u < n && !sums; u++) matrix[j * n + u] /= sum;
        two->degree[j] = sum;
    }
}

static inline second second_new(const network *net) {
    const problem *p = net->problem;
    int64_t n = p->n;
    second two = {.net = net,
                  .w = ref_doubles(net->params.value, net->params.total),
                  .transition = ref_zeros(n * n),
                  .degree = ref_zeros(n),
                  .features = ref_zeros(n * NET_FEATURES)};
    fill_transition(&two);
    ref_csr_to_dense(two.features, p->x.offset, p->x.column, p->x.value, n, NET_FEATURES);
    for (int64_t j = 0; j < n; j++) {
        double *row = two.features + j * NET_FEATURES, sum = 0;
        for (int f = 0; f < NET_FEATURES; f++) sum += fabs(row[f]);
        for (int f = 0; f < NET_FEATURES && sum > 0; f++) row[f] /= sum;
    }
    return two;
}

static inline void second_free(second *two) {
    free(two->w), free(two->transition), free(two->degree), free(two->features), free(two->frozen);
}

static inline double *weight_of(const second *two, const char *format, int layer) {
    char name[48];
    snprintf(name, sizeof name, format, layer);
    const pgcn_i_params *params = &two->net->params;
    for (int i = 0; i < params->count; i++)
        if (strcmp(params->param[i].name, name) == 0) return two->w + params->param[i].first;
    return NULL;
}

/* z = hop i of x [n, c], for one sample: by raw walks, or T z in place. */
static inline void walk_hop(const second *two, int layer, int sample, int i, int64_t c,
                            const double *x, double *z) {
    const network *net = two->net;
    int64_t n = net->problem->n;
    if (net->samplers == 0) {
        double *before = ref_zeros(n * c);
        memcpy(before, z, (size_t)(n * c) * sizeof *z);
        ref_gemm(false, false, n, c, n, two->transition, before, 0, z);
        free(before);
        return;
    }
    int p = net->config.paths, k = net->config.path_length;
    pgcn_node *walks = malloc((size_t)(n * p * k) * sizeof *walks);
    pgcn_i_walks(&net->spatial.walker, net->pool,
                 pgcn_i_rng_domain_of(net->config.seed, PGCN_I_RNG_WALK, 0,
                                      net->config.paths_per_layer ? layer : 0, sample),
                 NULL, 0, walks);
    memset(z, 0, (size_t)(n * c) * sizeof *z);
    for (int64_t j = 0; j < n; j++)
        for (int q = 0; q < p; q++) {
            int64_t u = walks[(j * p + q) * k + i];
            for (int64_t ch = 0; ch < c; ch++) z[j * c + ch] += x[u * c + ch] / p;
        }
    free(walks);
}

/* out = A_l of one sample, by a kernel s of this kind on c channels. */
static inline void second_pathconv(const second *two, int layer, int sample, pgcn_kernel kernel,
                                   const double *s, int64_t c, const double *h, double *out) {
    const pgcn_config *config = &two->net->config;
    int64_t n = two->net->problem->n, count = n * c;
    bool symmetric = config->scaling == PGCN_SCALING_SYMMETRIC;
    double *x = ref_zeros(count), *z = ref_zeros(count), *term = ref_zeros(count);
    for (int64_t e = 0; e < count; e++)
        x[e] = z[e] = symmetric ? h[e] / sqrt(two->degree[e / c]) : h[e];
    memset(out, 0, (size_t)count * sizeof *out);
    for (int i = 0; i < config->path_length; i++) {
        if (i > 0) walk_hop(two, layer, sample, i, c, x, z);
        if (kernel == PGCN_KERNEL_FULL) ref_gemm(false, false, n, c, c, z, s + i * c * c, 0, term);
        for (int64_t e = 0; e < count; e++) {
            if (kernel == PGCN_KERNEL_DEPTHWISE) term[e] = s[i * c + e % c] * z[e];
            if (kernel < PGCN_KERNEL_DEPTHWISE) term[e] = s[i] * z[e];
            out[e] += symmetric ? sqrt(two->degree[e / c]) * term[e] : term[e];
        }
    }
    free(x), free(z), free(term);
}

/* x times the dropout that the tape draws for the t-th time after the embedding (t < 0: that of smoothed
 * inputs): after a hidden layer, then after the last one. */
static inline void second_drop(const second *two, int t, double rate, double *x, int64_t count) {
    const pgcn_i_tape *tape = &two->net->tape;
    const pgcn_config *config = &two->net->config;
    bool smoothed =
        config->input_hops > 0; /* drops rows in its first operation, not in the second */
    int at = config->drop_rows > 0 && !smoothed ? 2 : 1;
    if (!tape->with_grad || rate <= 0) return;
    if (smoothed && config->dropout > 0 && !two->net->problem->first) t++;
    for (;; at++)
        if (pgcn_i_op_dropout_rate(&tape->op[at]) > 0 && t-- == 0) break;
    pgcn_i_rng_domain drop =
        pgcn_i_rng_domain_of(two->net->config.seed, PGCN_I_RNG_DROPOUT, tape->step, at, 0);
    for (int64_t e = 0; e < count; e++) x[e] *= dropout_factor(drop, rate, e);
}

/* H0 of one sample, from the features as they are. */
static inline void embed_features(const second *two, int sample, double rate, double *h0) {
    const network *net = two->net;
    const pgcn_config *config = &net->config;
    const problem *p = net->problem;
    int64_t n = p->n, c = config->channels;
    double *x = ref_zeros(n * NET_FEATURES);
    pgcn_i_rng_domain drop =
        pgcn_i_rng_domain_of(config->seed, PGCN_I_RNG_DROPOUT_INPUT, net->tape.step, 0, sample);
    for (int64_t j = 0; j < n; j++) /* dropout is drawn for the non-zeros */
        for (int64_t e = p->x.offset[j]; e < p->x.offset[j + 1]; e++) {
            int64_t place = j * NET_FEATURES + p->x.column[e];
            x[place] =
                two->features[place] * (net->tape.with_grad ? dropout_factor(drop, rate, e) : 1);
        }
    ref_linear(h0, x, weight_of(two, "embed.weight", 0), weight_of(two, "embed.bias", 0), true, n,
               NET_FEATURES, c);
    pgcn_i_rng_domain rows = /* the second operation of the tape */
        pgcn_i_rng_domain_of(config->seed, PGCN_I_RNG_DROP_ROWS, net->tape.step, 1, 0);
    for (int64_t e = 0; e < n * c && net->tape.with_grad; e++)
        h0[e] *= dropout_row_factor(rows, config->drop_rows, sample * n + e / c);
    free(x);
}

/* h = BN(h) of names like "layers.%d.norm.gain"; without such weights gain and shift are 1 and 0. Over all rows, or over
 * those of each graph of each sample. */
static inline void second_norm(const second *two, const char *gain, const char *shift, int layer,
                               int64_t rows, int64_t c, double *h) {
    const problem *p = two->net->problem;
    const int64_t whole[2] = {0, p->n}, *first = p->first ? p->first : whole;
    const bool over_graphs = pgcn_i_norms_graphs(&two->net->config);
    const int64_t graphs = p->first ? p->graphs : 1;
    const int64_t parts = over_graphs ? graphs * two->net->config.samples : 1;
    double *x = ref_zeros(rows * c), *mean = ref_zeros(c), *inv_std = ref_zeros(c);
    memcpy(x, h, (size_t)(rows * c) * sizeof *x);
    for (int64_t i = 0; i < parts; i++) {
        int64_t begin = over_graphs ? i / graphs * p->n + first[i % graphs] : 0;
        int64_t end = over_graphs ? i / graphs * p->n + first[i % graphs + 1] : rows;
        if (end > begin)
            ref_batch_norm(h + begin * c, mean, inv_std, x + begin * c, weight_of(two, gain, layer),
                           weight_of(two, shift, layer), 1e-5, end - begin, c);
    }
    free(x), free(mean), free(inv_std);
}

/* H0 of all samples, from features that paths smooth. */
static inline void embed_smoothed(const second *two, double rate, double *h0) {
    const network *net = two->net;
    const pgcn_config *config = &net->config;
    int64_t n = net->problem->n, f = NET_FEATURES, rows = config->samples * n;
    double *x = ref_zeros(n * f), *z = ref_zeros(rows * f);
    pgcn_i_rng_domain drop =
        pgcn_i_rng_domain_of(config->seed, PGCN_I_RNG_DROP_ROWS, net->tape.step, 0, 0);
    for (int s = 0; s < config->samples; s++) {
        for (int64_t e = 0; e < n * f; e++)
            x[e] = two->features[e] *
                   (net->tape.with_grad ? dropout_row_factor(drop, config->drop_rows, s * n + e / f)
                                        : 1);
        second_pathconv(two, 0, s, PGCN_KERNEL_LAYER, weight_of(two, "input.kernel", 0), f, x,
                        z + s * n * f);
    }
    if (config->input_norm) second_norm(two, "input.norm.gain", "input.norm.shift", 0, rows, f, z);
    second_drop(two, -1, rate, z, rows * f);
    ref_linear(h0, z, weight_of(two, "embed.weight", 0), weight_of(two, "embed.bias", 0), true,
               rows, f, config->channels);
    free(x), free(z);
}

static inline void embed(const second *two, double rate, double *h0) {
    const pgcn_config *config = &two->net->config;
    if (config->input_hops > 0) {
        embed_smoothed(two, rate, h0);
        return;
    }
    for (int s = 0; s < config->samples; s++)
        embed_features(two, s, rate, h0 + s * two->net->problem->n * config->channels);
}

/* U_l of all samples */
static inline void second_paths(const second *two, int layer, const double *h, const double *h0,
                                double *u) {
    const pgcn_config *config = &two->net->config;
    int64_t n = two->net->problem->n, c = config->channels, rows = config->samples * n;
    const double *kernel = config->kernel == PGCN_KERNEL_GLOBAL
                               ? weight_of(two, "kernel", 0)
                               : weight_of(two, "layers.%d.kernel", layer);
    for (int s = 0; s < config->samples; s++)
        second_pathconv(two, layer, s, config->kernel, kernel, c, h + s * n * c, u + s * n * c);
    for (int64_t e = 0; e < rows * c && config->residual != PGCN_RESIDUAL_NONE; e++)
        u[e] = (1 - config->alpha) * u[e] +
               config->alpha * (config->residual == PGCN_RESIDUAL_INITIAL ? h0[e] : h[e]);
}

static inline double second_last_dropout(const second *two) {
    const pgcn_config *config = &two->net->config;
    return config->dropout_last < 0 ? config->dropout : config->dropout_last;
}

/* h = u W + h W_self */
static inline void second_mix(const second *two, int l, int64_t rows, const double *u, double *h) {
    int64_t c = two->net->config.channels;
    const double *self = weight_of(two, "layers.%d.self.weight", l);
    double *own = ref_zeros(rows * c);
    if (self) ref_gemm(false, false, rows, c, c, h, self, 0, own);
    ref_gemm(false, false, rows, c, c, u, weight_of(two, "layers.%d.weight", l), 0, h);
    for (int64_t e = 0; e < rows * c; e++) h[e] += own[e];
    free(own);
}

/* logits [samples n, classes] */
static inline void second_forward_nodes(const second *two, double *logits) {
    const network *net = two->net;
    const pgcn_config *config = &net->config;
    int64_t n = net->problem->n, c = config->channels, rows = config->samples * n;
    double *h0 = ref_zeros(rows * c), *h = ref_zeros(rows * c), *u = ref_zeros(rows * c);
    embed(two, config->dropout, h0);
    memcpy(h, h0, (size_t)(rows * c) * sizeof *h);
    int last = config->layers - 1, hidden = config->dropout_hidden > 0 ? last : 0;
    for (int l = 0; l < config->layers; l++) {
        second_paths(two, l, h, h0, u);
        if (config->kernel == PGCN_KERNEL_FULL)
            memcpy(h, u, (size_t)(rows * c) * sizeof *h);
        else
            second_mix(two, l, rows, u, h);
        if (config->batch_norm)
            second_norm(two, "layers.%d.norm.gain", "layers.%d.norm.shift", l, rows, c, h);
        for (int64_t e = 0; e < rows * c; e++) h[e] = h[e] > 0 ? h[e] : 0;
        second_drop(two, l < last ? l : hidden,
                    l < last ? config->dropout_hidden : second_last_dropout(two), h, rows * c);
    }
    ref_linear(logits, h, weight_of(two, "classifier.weight", 0),
               weight_of(two, "classifier.bias", 0), false, rows, c, NET_CLASSES);
    free(h0), free(h), free(u);
}

/* ---- graphs ------------------------------------------------------------------------------------------ */

/* sum [samples graphs, c] over the rows of each graph, of each sample */
static inline void second_pool(const second *two, int64_t c, const double *h, double *sum) {
    const problem *p = two->net->problem;
    for (int s = 0; s < two->net->config.samples; s++)
        for (int64_t g = 0; g < p->graphs; g++)
            for (int64_t ch = 0; ch < c; ch++) {
                double total = 0;
                for (int64_t j = p->first[g]; j < p->first[g + 1]; j++)
                    total += h[(s * p->n + j) * c + ch];
                sum[(s * p->graphs + g) * c + ch] = total;
            }
}

/* What layer l (0: what goes into the first) adds to the logits; dropout is the t-th. */
static inline void second_readout_of_layer(const second *two, int l, int t, int64_t c,
                                           const double *h, double *logits) {
    int64_t rows = two->net->config.samples * two->net->problem->graphs;
    double *sum = ref_zeros(rows * c), *part = ref_zeros(rows * NET_CLASSES);
    second_pool(two, c, h, sum);
    ref_linear(part, sum, weight_of(two, "classifier.%d.weight", l),
               weight_of(two, "classifier.%d.bias", l), false, rows, c, NET_CLASSES);
    second_drop(two, t, second_last_dropout(two), part, rows * NET_CLASSES);
    for (int64_t e = 0; e < rows * NET_CLASSES; e++) logits[e] += part[e];
    free(sum), free(part);
}

/* Of the last layer. */
static inline void second_readout(const second *two, int t, const double *h, double *logits) {
    const pgcn_config *config = &two->net->config;
    int64_t c = config->channels, rows = config->samples * two->net->problem->graphs;
    double *sum = ref_zeros(rows * c), *x = ref_zeros(rows * c);
    second_pool(two, c, h, sum);
    ref_linear(x, sum, weight_of(two, "readout.weight", 0), weight_of(two, "readout.bias", 0),
               config->readout == PGCN_READOUT_RELU, rows, c, c);
    second_drop(two, t, second_last_dropout(two), x, rows * c);
    ref_linear(logits, x, weight_of(two, "classifier.weight", 0),
               weight_of(two, "classifier.bias", 0), false, rows, c, NET_CLASSES);
    free(sum), free(x);
}

static inline void second_forward_graphs(const second *two, double *logits) {
    const pgcn_config *config = &two->net->config;
    int64_t c = config->channels, rows = config->samples * two->net->problem->n;
    int hidden = config->dropout_hidden > 0, layers = config->layers;
    bool all = config->readout == PGCN_READOUT_LAYERS;
    double *h0 = ref_zeros(rows * c), *h = ref_zeros(rows * c), *u = ref_zeros(rows * c);
    embed(two, 0, h0);
    memcpy(h, h0, (size_t)(rows * c) * sizeof *h);
    if (all) second_readout_of_layer(two, 0, hidden * layers, c, h, logits);
    for (int l = 0; l < layers; l++) {
        second_paths(two, l, h, h0, u);
        if (config->batch_norm)
            second_norm(two, "layers.%d.norm.gain", "layers.%d.norm.shift", l, rows, c, u);
        if (config->kernel == PGCN_KERNEL_FULL)
            for (int64_t e = 0; e < rows * c; e++) h[e] = u[e] > 0 ? u[e] : 0;
        else
            second_mix(two, l, rows, u, h);
        const double *bias = weight_of(two, "layers.%d.bias", l);
        for (int64_t e = 0; e < rows * c && bias; e++) h[e] = fmax(h[e] + bias[e % c], 0);
        second_drop(two, l, config->dropout_hidden, h, rows * c);
        if (all) second_readout_of_layer(two, l + 1, hidden * layers + l + 1, c, h, logits);
    }
    if (!all) second_readout(two, hidden * layers, h, logits);
    free(h0), free(h), free(u);
}

/* ---- GIN --------------------------------------------------------------------------------------------- */

/* Of graphs or nodes: h = MLP( (1 + eps) h + sum of the neighbours ), and a readout of all layers. */
static inline void second_forward_gin(const second *two, double *logits) {
    const pgcn_config *config = &two->net->config;
    int64_t n = two->net->problem->n, most = config->channels + NET_FEATURES, c = NET_FEATURES;
    bool graphs = two->net->problem->first;
    double *h = ref_zeros(n * most), *u = ref_zeros(n * most);
    memcpy(h, two->features, (size_t)(n * c) * sizeof *h);
    if (graphs) second_readout_of_layer(two, 0, 0, c, h, logits);
    for (int l = 0; l < config->layers; l++) {
        second_pathconv(two, l, 0, PGCN_KERNEL_LAYER, weight_of(two, "layers.%d.kernel", l), c, h,
                        u);
        ref_linear(h, u, weight_of(two, "layers.%d.inner.weight", l),
                   weight_of(two, "layers.%d.inner.bias", l), false, n, c, config->channels);
        c = config->channels;
        second_norm(two, "layers.%d.inner.norm.gain", "layers.%d.inner.norm.shift", l, n, c, h);
        for (int64_t e = 0; e < n * c; e++) h[e] = h[e] > 0 ? h[e] : 0;
        ref_linear(u, h, weight_of(two, "layers.%d.weight", l), weight_of(two, "layers.%d.bias", l),
                   false, n, c, c);
        second_norm(two, "layers.%d.norm.gain", "layers.%d.norm.shift", l, n, c, u);
        for (int64_t e = 0; e < n * c; e++) h[e] = u[e] > 0 ? u[e] : 0;
        if (graphs) second_readout_of_layer(two, l + 1, l + 1, c, h, logits);
    }
    if (!graphs) {
        second_drop(two, 0, second_last_dropout(two), h, n * c);
        ref_linear(logits, h, weight_of(two, "classifier.weight", 0),
                   weight_of(two, "classifier.bias", 0), false, n, c, NET_CLASSES);
    }
    free(h), free(u);
}

/* ---- all of them ------------------------------------------------------------------------------------- */

/* logits [samples items, classes], which are zero before */
static inline void second_forward(const second *two, double *logits) {
    if (strcmp(pgcn_network_name(two->net->config.model), "gin") == 0)
        second_forward_gin(two, logits);
    else if (two->net->problem->first)
        second_forward_graphs(two, logits);
    else
        second_forward_nodes(two, logits);
}

static inline double second_objective(void *context) {
    second *two = context;
    const problem *p = two->net->problem;
    const pgcn_config *config = &two->net->config;
    int64_t items = problem_items(p), rows = config->samples * items;
    double *logits = ref_zeros(rows * NET_CLASSES);
    second_forward(two, logits);
    if (!two->frozen) {
        two->frozen = ref_zeros(items * NET_CLASSES);
        ref_consistency_target(two->frozen, logits, items, config->samples, config->temperature,
                               NET_CLASSES);
    }
    double loss = ref_cross_entropy(logits, p->label, p->mask, NULL, items, rows, NET_CLASSES) /
                  (double)(p->masked * config->samples);
    loss += config->consistency *
            ref_consistency(logits, two->frozen, items, config->samples, NET_CLASSES) /
            (double)rows;
    free(logits);
    return loss;
}

/* ---- values and gradients ---------------------------------------------------------------------------- */

/* What counts as large in the gradient of a tensor. A bias shares the scale of its weights: where batch norm
 * follows, its own gradient is zero, and what is computed is what the rounding of large terms left over. */
static inline double gradient_scale(const pgcn_i_params *params, const pgcn_i_param *param) {
    const char *end = strstr(param->name, "bias");
    double scale = GRADIENT_LEAST;
    if (!end) return scale;
    size_t stem = (size_t)(end - param->name);
    for (int i = 0; i < params->count; i++) {
        const pgcn_i_param *other = &params->param[i];
        if (strncmp(other->name, param->name, stem) != 0) continue;
        if (strcmp(other->name + stem, "weight") != 0) continue;
        for (int64_t e = 0; e < other->count; e++)
            scale = fmax(scale, fabs((double)params->grad[other->first + e]));
    }
    return scale;
}

/* Value, loss, and the gradient of every tensor, for one configuration. */
static inline void compare(const problem *p, const char *text) {
    network net;
    network_open(&net, p, text, 2);
    network_shake(&net);
    net.tape.step = 4;
    second two = second_new(&net); /* before the run: it moves the running statistics only */
    double loss = network_run(&net), want = second_objective(&two);
    double *logits = ref_zeros(net.logits->rows * NET_CLASSES);
    second_forward(&two, logits);
    check_values(text, net.logits->data, logits, net.logits->rows * NET_CLASSES, VALUE_TOLERANCE);
    assert_close(loss, want, 1e-5);
    for (int i = 0; i < net.params.count; i++) {
        const pgcn_i_param *param = &net.params.param[i];
        char label[512];
        if (param->group == PGCN_I_GROUP_BUFFER) continue;
        snprintf(label, sizeof label, "%s: %s", text, param->name);
        check_gradient(label, net.params.grad + param->first, two.w + param->first, param->count,
                       second_objective, &two, 4, GRADIENT_TOLERANCE,
                       gradient_scale(&net.params, param));
    }
    free(logits);
    second_free(&two);
    network_close(&net);
}

#endif
