/* The whole network against a second one in double, written from the equations of the paper and of
 * the recipes with dense matrices and raw walks (no visit lists, no operator of src/graph):
 *
 *   H0    = ReLU(Dropout(X) W_in + b_in)                        X: rows divided by their sums
 *   A_l   = D^1/2 [ sum_i s_i (.) P^i (D^-1/2 H_l) ]            without D: plain walks
 *   U_l   = (1 - alpha) A_l + alpha H0 (or H_l)
 *   H_l+1 = ReLU( BN( U_l W_l ) )
 *   out   = Dropout(H_L) W_out + b_out
 *
 * or, of inputs that paths smooth, H0 = ReLU(Dropout(BN(K X)) W_in + b_in).
 *
 * P^i is a power of the dense transition matrix, or the mean over p sampled walks. Values, the
 * gradients of all weights by finite differences, and how weights start. */
#include "network_help.h"

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

static void fill_transition(second *two) {
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
        for (int64_t u = 0; u < n; u++) sum += matrix[j * n + u];
        if (net->config.self_loops || sum == 0) matrix[j * n + j] += 1, sum += 1;
        for (int64_t u = 0; u < n; u++) matrix[j * n + u] /= sum;
        two->degree[j] = sum;
    }
}

static second second_new(const network *net) {
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

static void second_free(second *two) {
    free(two->w), free(two->transition), free(two->degree), free(two->features), free(two->frozen);
}

static double *weight_of(const second *two, const char *format, int layer) {
    char name[48];
    snprintf(name, sizeof name, format, layer);
    const pgcn_i_params *params = &two->net->params;
    for (int i = 0; i < params->count; i++)
        if (strcmp(params->param[i].name, name) == 0) return two->w + params->param[i].first;
    return NULL;
}

/* z = hop i of x [n, c], for one sample: by raw walks, or T z in place. */
static void walk_hop(const second *two, int layer, int sample, int i, int64_t c, const double *x,
                     double *z) {
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
static void second_pathconv(const second *two, int layer, int sample, pgcn_kernel kernel,
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
static void second_drop(const second *two, int t, double rate, double *x, int64_t count) {
    const pgcn_i_tape *tape = &two->net->tape;
    const pgcn_config *config = &two->net->config;
    bool smoothed =
        config->input_hops > 0; /* drops rows in its first operation, not in the second */
    int at = config->drop_rows > 0 && !smoothed ? 2 : 1;
    if (!tape->with_grad || rate <= 0) return;
    if (smoothed && config->dropout > 0) t++;
    for (;; at++)
        if (tape->op[at].rate > 0 && t-- == 0) break;
    pgcn_i_rng_domain drop =
        pgcn_i_rng_domain_of(two->net->config.seed, PGCN_I_RNG_DROPOUT, tape->step, at, 0);
    for (int64_t e = 0; e < count; e++) x[e] *= dropout_factor(drop, rate, e);
}

/* H0 of one sample, from the features as they are. */
static void embed_features(const second *two, int sample, double *h0) {
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
            x[place] = two->features[place] *
                       (net->tape.with_grad ? dropout_factor(drop, config->dropout, e) : 1);
        }
    ref_linear(h0, x, weight_of(two, "embed.weight", 0), weight_of(two, "embed.bias", 0), true, n,
               NET_FEATURES, c);
    pgcn_i_rng_domain rows = /* the second operation of the tape */
        pgcn_i_rng_domain_of(config->seed, PGCN_I_RNG_DROP_ROWS, net->tape.step, 1, 0);
    for (int64_t e = 0; e < n * c && net->tape.with_grad; e++)
        h0[e] *= dropout_row_factor(rows, config->drop_rows, sample * n + e / c);
    free(x);
}

/* H0 of all samples, from features that paths smooth. */
static void embed_smoothed(const second *two, double *h0) {
    const network *net = two->net;
    const pgcn_config *config = &net->config;
    int64_t n = net->problem->n, f = NET_FEATURES, rows = config->samples * n;
    double *x = ref_zeros(n * f), *z = ref_zeros(rows * f), *normed = ref_zeros(rows * f);
    double mean[NET_FEATURES], inv_std[NET_FEATURES];
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
    if (config->input_norm) {
        ref_batch_norm(normed, mean, inv_std, z, weight_of(two, "input.norm.gain", 0),
                       weight_of(two, "input.norm.shift", 0), 1e-5, rows, f);
        memcpy(z, normed, (size_t)(rows * f) * sizeof *z);
    }
    second_drop(two, -1, config->dropout, z, rows * f);
    ref_linear(h0, z, weight_of(two, "embed.weight", 0), weight_of(two, "embed.bias", 0), true,
               rows, f, config->channels);
    free(x), free(z), free(normed);
}

/* logits [samples n, classes] */
static void second_forward(const second *two, double *logits) {
    const network *net = two->net;
    const pgcn_config *config = &net->config;
    int64_t n = net->problem->n, c = config->channels, rows = config->samples * n;
    double *h0 = ref_zeros(rows * c), *h = ref_zeros(rows * c), *u = ref_zeros(rows * c);
    double *mean = ref_zeros(c), *inv_std = ref_zeros(c);
    if (config->input_hops > 0) embed_smoothed(two, h0);
    for (int s = 0; s < config->samples && config->input_hops <= 0; s++)
        embed_features(two, s, h0 + s * n * c);
    memcpy(h, h0, (size_t)(rows * c) * sizeof *h);
    int last = config->layers - 1, hidden = config->dropout_hidden > 0 ? last : 0;
    for (int l = 0; l < config->layers; l++) {
        const double *kernel = config->kernel == PGCN_KERNEL_GLOBAL
                                   ? weight_of(two, "kernel", 0)
                                   : weight_of(two, "layers.%d.kernel", l);
        for (int s = 0; s < config->samples; s++)
            second_pathconv(two, l, s, config->kernel, kernel, c, h + s * n * c, u + s * n * c);
        for (int64_t e = 0; e < rows * c && config->residual != PGCN_RESIDUAL_NONE; e++)
            u[e] = (1 - config->alpha) * u[e] +
                   config->alpha * (config->residual == PGCN_RESIDUAL_INITIAL ? h0[e] : h[e]);
        if (config->kernel == PGCN_KERNEL_FULL)
            memcpy(h, u, (size_t)(rows * c) * sizeof *h);
        else
            ref_gemm(false, false, rows, c, c, u, weight_of(two, "layers.%d.weight", l), 0, h);
        if (config->batch_norm) {
            memcpy(u, h, (size_t)(rows * c) * sizeof *h);
            ref_batch_norm(h, mean, inv_std, u, NULL, NULL, 1e-5, rows, c);
        }
        for (int64_t e = 0; e < rows * c; e++) h[e] = h[e] > 0 ? h[e] : 0;
        double closing = config->dropout_last < 0 ? config->dropout : config->dropout_last;
        second_drop(two, l < last ? l : hidden, l < last ? config->dropout_hidden : closing, h,
                    rows * c);
    }
    ref_linear(logits, h, weight_of(two, "classifier.weight", 0),
               weight_of(two, "classifier.bias", 0), false, rows, c, NET_CLASSES);
    free(h0), free(h), free(u), free(mean), free(inv_std);
}

static double second_objective(void *context) {
    second *two = context;
    const problem *p = two->net->problem;
    const pgcn_config *config = &two->net->config;
    int64_t rows = config->samples * p->n;
    double *logits = ref_zeros(rows * NET_CLASSES);
    second_forward(two, logits);
    if (!two->frozen) {
        two->frozen = ref_zeros(p->n * NET_CLASSES);
        ref_consistency_target(two->frozen, logits, p->n, config->samples, config->temperature,
                               NET_CLASSES);
    }
    double loss = ref_cross_entropy(logits, p->label, p->mask, p->n, rows, NET_CLASSES) /
                  (double)(p->masked * config->samples);
    loss += config->consistency *
            ref_consistency(logits, two->frozen, p->n, config->samples, NET_CLASSES) / (double)rows;
    free(logits);
    return loss;
}

/* ---- values and gradients ---------------------------------------------------------------------------- */

/* Value, loss, and the gradient of every tensor, for one configuration. */
static void compare(const problem *p, const char *text) {
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
                       second_objective, &two, 4, GRADIENT_TOLERANCE, GRADIENT_LEAST);
    }
    free(logits);
    second_free(&two);
    network_close(&net);
}

static void test_network_every_combination_matches_equations_and_differences(void **state) {
    (void)state;
    static const char *const kernels[] = {"global", "layer", "depthwise", "full"};
    static const char *const residuals[] = {"none", "initial", "previous"};
    problem p = problem_new(30);
    for (int i = 0; i < 4 * 3 * 2 * 2 * 2 * 2; i++) {
        char text[512];
        int bits = i / 12;
        snprintf(
            text, sizeof text,
            "layers=2 channels=6 path-length=3 paths=3 seed=%d kernel=%s residual=%s alpha=0.3 "
            "scaling=%s self-loops=%s batch-norm=%s train-form=%s samples=%s",
            i, kernels[i % 4], residuals[i / 4 % 3], bits & 1 ? "walk" : "symmetric",
            bits & 2 ? "yes" : "no", bits & 4 ? "yes" : "no", bits & 8 ? "exact" : "sampled",
            i % 5 ? "1 consistency=0" : "2");
        compare(&p, text);
    }
    problem_free(&p);
}

static void test_network_recipes_of_all_kinds_match_equations(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* the recipes for citations, Pubmed and Chameleon, */
        "layers=4 channels=5",
        "layers=3 channels=5 samples=3 drop-rows=0.5 dropout=0.5",
        "channels=5 samples=1 consistency=0 mix=random kernel-start=random batch-norm=yes",
        /* other walks, an MLP, and the shortest and longest paths in exact form */
        "layers=3 channels=5 paths-per-layer=yes walk=weighted",
        "layers=2 channels=5 walk=weighted train-form=exact self-loops=no",
        "layers=2 channels=5 walk=node2vec self-loops=no return-p=4 inout-q=0.25",
        "layers=2 channels=5 path-length=1",
        "layers=2 channels=5 path-length=1 train-form=exact kernel=full",
        "layers=1 channels=1 path-length=2 train-form=exact",
        "layers=2 channels=7 path-length=6 train-form=exact kernel=global temperature=0.2",
        /* dropout between layers */
        "layers=3 channels=5 dropout-hidden=0.4",
        "layers=3 channels=5 batch-norm=yes dropout-hidden=0.3 residual=none",
        "layers=3 channels=5 train-form=exact kernel=full dropout-hidden=0.4",
        "layers=3 channels=5 batch-norm=yes dropout-hidden=0.3 drop-rows=0.5",
        /* inputs that paths smooth, in both forms */
        "layers=1 channels=5 input-hops=1 samples=1 consistency=0",
        "layers=2 channels=5 input-hops=1.5 drop-rows=0.5 dropout-hidden=0.3 paths-per-layer=yes",
        "layers=1 channels=5 input-hops=2 input-norm=yes samples=3 drop-rows=0.5 batch-norm=yes "
        "dropout-last=0.8",
        "layers=2 channels=5 input-hops=2 input-norm=yes train-form=exact kernel=layer dropout=0",
        "layers=1 channels=5 input-hops=1 input-norm=yes train-form=exact drop-rows=0.5",
        "layers=2 channels=5 input-hops=1 input-norm=yes batch-norm=yes dropout-hidden=0.3",
    };
    problem p = problem_new(30);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) compare(&p, texts[i]);
    problem_free(&p);
}

static void test_network_directions_match_equations(void **state) {
    (void)state;
    static const char *const kernels[] = {"global", "layer", "depthwise", "full"};
    static const char *const texts[] = {
        "direction=forward",
        "direction=backward train-form=exact",
        "direction=backward",
        "direction=backward scaling=walk",
        "direction=backward residual=none self-loops=no",
        "direction=backward walk=weighted paths-per-layer=yes",
        "direction=backward walk=weighted train-form=exact residual=previous",
        "direction=backward walk=node2vec self-loops=no"};
    problem p = problem_of(30, true);
    for (size_t i = 0; i < 4 * sizeof texts / sizeof *texts; i++) {
        char text[256];
        snprintf(text, sizeof text, "layers=2 channels=5 path-length=4 kernel=%s %s",
                 kernels[i % 4], texts[i / 4]);
        compare(&p, text);
    }
    problem_free(&p);
}

/* The largest sets of parameters fit into the room that is made for them: what does not would be
 * missing at the end. (A network that does not fit is refused when it is recorded.) */
static void test_network_room_is_enough_for_the_largest(void **state) {
    (void)state;
    static const char *const texts[] = {
        "input-hops=1 input-norm=yes batch-norm=yes layers=1",
        "input-hops=1 input-norm=yes batch-norm=yes layers=5",
        "input-hops=1 input-norm=yes batch-norm=yes readout=layers layers=5",
        "model=gin readout=layers layers=1",
        "model=gin readout=layers layers=5",
    };
    for (int i = 0; i < 10; i++) {
        pgcn_config config = settings(texts[i / 2]);
        config.normalise = PGCN_NORMALISE_STANDARDISE;
        pgcn_i_shape shape = {NET_FEATURES, NET_CLASSES, i % 2};
        pgcn_i_params params;
        char last[48] = "classifier.bias";
        if (shape.per_graph && config.readout == PGCN_READOUT_LAYERS)
            snprintf(last, sizeof last, "classifier.%d.bias", config.layers);
        must(pgcn_i_network_declare(&params, &config, shape));
        assert_true(params.count <= params.capacity);
        assert_string_equal(params.param[params.count - 1].name, last);
        pgcn_i_params_free(&params);
    }
}

/* Inference: nothing is dropped, and the exact form is the mean of the sampled one. */
static void test_network_inference_tape_matches_equations(void **state) {
    (void)state;
    problem p = problem_new(30);
    network net;
    network_prepare(&net, &p, "layers=3 channels=8 train-form=exact samples=1 consistency=0", 1);
    must(network_record(&net, false));
    network_shake(&net);
    second two = second_new(&net);
    double *logits = ref_zeros(p.n * NET_CLASSES);
    second_forward(&two, logits);
    pgcn_i_tape_forward(&net.tape);
    check_values("inference", net.logits->data, logits, p.n * NET_CLASSES, VALUE_TOLERANCE);
    free(logits);
    second_free(&two);
    network_close(&net);
    problem_free(&p);
}

/* ---- starts --------------------------------------------------------------------------------------------- */

/* Parameters of a configuration at their start; freed with pgcn_i_params_free. */
static pgcn_i_params started(const char *text) {
    pgcn_config config = settings(text);
    pgcn_i_params params;
    must(
        pgcn_i_network_declare(&params, &config, (pgcn_i_shape){NET_FEATURES, NET_CLASSES, false}));
    must(pgcn_i_params_allocate(&params, true));
    pgcn_i_network_start(&params, &config);
    return params;
}

static const pgcn_i_param *find(const pgcn_i_params *params, const char *name) {
    for (int i = 0; i < params->count; i++)
        if (strcmp(params->param[i].name, name) == 0) return &params->param[i];
    fail_msg("there is no parameter %s", name);
    return NULL;
}
static const float *start_of(const pgcn_i_params *params, const char *name) {
    return pgcn_i_value_of(params, find(params, name));
}

static void test_start_smooth_kernel_sums_to_one_and_walks_hops(void **state) {
    (void)state;
    for (int layers = 1; layers <= 64; layers *= 2)
        for (int k = 2; k <= 9; k++)
            for (double hops = 0.5; hops <= 8; hops *= 2) {
                char text[128];
                snprintf(text, sizeof text, "layers=%d path-length=%d hops=%g channels=3", layers,
                         k, hops);
                pgcn_i_params params = started(text);
                const float *s = start_of(&params, "layers.0.kernel");
                double sum = 0, walked = 0, most = layers * (k - 1) / 2.0;
                for (int i = 0; i < k; i++) {
                    sum += (double)s[i * 3];
                    walked += i * (double)s[i * 3];
                    assert_true(s[i * 3] == s[i * 3 + 1] && s[i * 3] == s[i * 3 + 2]);
                    if (i > 0) assert_true(s[i * 3] <= s[i * 3 - 3]);
                }
                assert_close(sum, 1, 1e-6);
                assert_close(layers * walked, hops < most ? hops : most, 1e-4);
                pgcn_i_params_free(&params);
            }
}

static void test_start_smooth_kernel_many_hops_is_even(void **state) {
    (void)state;
    pgcn_i_params params = started("layers=3 path-length=5 hops=1000 kernel=layer");
    for (int i = 0; i < 5; i++)
        assert_close((double)start_of(&params, "layers.2.kernel")[i], 0.2, 1e-7);
    pgcn_i_params_free(&params);
}

static void test_start_no_hops_and_identity_are_the_same(void **state) {
    (void)state;
    pgcn_i_params none = started("hops=0 channels=2 path-length=4");
    pgcn_i_params identity = started("kernel-start=identity channels=2 path-length=4");
    const float *a = start_of(&none, "layers.0.kernel"),
                *b = start_of(&identity, "layers.0.kernel");
    for (int i = 0; i < 8; i++) {
        assert_close((double)a[i], i < 2, 1e-7);
        assert_true(b[i] == (i < 2 ? 1.0f : 0.0f));
    }
    pgcn_i_params_free(&none), pgcn_i_params_free(&identity);
}

static void mean_and_deviation(const float *x, int64_t count, double *mean, double *deviation) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++) sum += (double)x[i];
    *mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++) squares += pow((double)x[i] - *mean, 2);
    *deviation = sqrt(squares / (double)count);
}

static void test_start_random_kernel_has_its_statistics(void **state) {
    (void)state;
    double mean, deviation; /* 2000 numbers: four standard errors each */
    pgcn_i_params params = started("kernel-start=random channels=500 path-length=4 layers=1");
    mean_and_deviation(start_of(&params, "layers.0.kernel"), 2000, &mean, &deviation);
    assert_close(mean, 0, 4 * 0.5 / sqrt(2000));
    assert_close(deviation, 0.5, 4 * 0.5 / sqrt(4000));
    pgcn_i_params_free(&params);
    /* full: each output is a sum over channels too */
    params = started("kernel-start=random kernel=full channels=16 path-length=4 layers=1");
    mean_and_deviation(start_of(&params, "layers.0.kernel"), 4 * 16 * 16, &mean, &deviation);
    assert_close(mean, 0, 4 * 0.125 / sqrt(1024));
    assert_close(deviation, 0.125, 4 * 0.125 / sqrt(2048));
    pgcn_i_params_free(&params);
    params = started("kernel-start=identity kernel-noise=0.1 channels=500 path-length=4 layers=1");
    mean_and_deviation(start_of(&params, "layers.0.kernel") + 500, 1500, &mean, &deviation);
    assert_close(deviation, 0.1, 4 * 0.1 / sqrt(3000));
    mean_and_deviation(start_of(&params, "layers.0.kernel"), 500, &mean, &deviation);
    assert_close(mean, 1, 4 * 0.1 / sqrt(500));
    pgcn_i_params_free(&params);
}

static void test_start_full_kernel_is_diagonal(void **state) {
    (void)state;
    pgcn_i_params params = started("kernel=full channels=4 path-length=3 layers=2 hops=1");
    pgcn_i_params layer = started("kernel=layer channels=4 path-length=3 layers=2 hops=1");
    const float *w = start_of(&params, "layers.1.kernel"), *s = start_of(&layer, "layers.1.kernel");
    for (int e = 0; e < 3 * 16; e++) assert_true(w[e] == (e % 16 / 4 == e % 4 ? s[e / 16] : 0.0f));
    pgcn_i_params_free(&params), pgcn_i_params_free(&layer);
}

static void test_start_random_kernels_of_all_kinds_decay_to_zero(void **state) {
    (void)state;
    static const char *const kinds[] = {"global", "layer", "depthwise", "full"};
    for (int i = 0; i < 4; i++)
        for (int random = 0; random < 2; random++) {
            char text[64];
            snprintf(text, sizeof text, "channels=3 kernel=%s kernel-start=%s", kinds[i],
                     random ? "random" : "identity");
            pgcn_i_params params = started(text);
            const pgcn_i_param *kernel = find(&params, i == 0 ? "kernel" : "layers.1.kernel");
            assert_int_equal(kernel->decay_to_start, !random);
            pgcn_i_params_free(&params);
        }
}

static void test_start_mixing_is_identity_or_glorot(void **state) {
    (void)state;
    pgcn_i_params params = started("channels=9");
    for (int e = 0; e < 81; e++)
        assert_true(start_of(&params, "layers.1.weight")[e] == (e / 9 == e % 9 ? 1.0f : 0.0f));
    assert_true(find(&params, "layers.1.weight")->decay_to_start);
    assert_true(find(&params, "layers.1.kernel")->decay_to_start);
    assert_false(find(&params, "embed.weight")->decay_to_start);
    assert_memory_equal(params.start, params.value, (size_t)params.total * sizeof *params.value);
    for (int e = 0; e < 9; e++) assert_true(start_of(&params, "embed.bias")[e] == 0.0f);
    pgcn_i_params_free(&params);
    double mean, deviation, limit = sqrt(6.0 / 200);
    params = started("channels=100 mix=random");
    const float *w = start_of(&params, "layers.0.weight");
    mean_and_deviation(w, 10000, &mean, &deviation);
    assert_close(mean, 0, 4 * deviation / 100);
    assert_close(deviation, limit / sqrt(3), 0.02 * limit);
    for (int e = 0; e < 10000; e++) assert_true(fabs((double)w[e]) <= limit);
    assert_false(find(&params, "layers.0.weight")->decay_to_start);
    pgcn_i_params_free(&params);
}

static void test_start_same_seed_same_bits_other_seed_others(void **state) {
    (void)state;
    static const char *const names[] = {"embed.weight", "layers.0.kernel", "layers.0.weight",
                                        "classifier.weight"};
#define RANDOM_ALL "mix=random kernel-start=random channels=8 "
    pgcn_i_params a = started(RANDOM_ALL "seed=5"), b = started(RANDOM_ALL "seed=5");
    pgcn_i_params c = started(RANDOM_ALL "seed=6");
    assert_memory_equal(a.value, b.value, (size_t)a.total * sizeof *a.value);
    for (int i = 0; i < 4; i++) {
        const float *x = start_of(&a, names[i]), *y = start_of(&c, names[i]);
        for (int64_t e = 0; e < find(&a, names[i])->count; e++) assert_true(x[e] != y[e]);
    }
    assert_true(start_of(&a, "layers.0.kernel")[0] != start_of(&a, "layers.1.kernel")[0]);
    pgcn_i_params_free(&a), pgcn_i_params_free(&b), pgcn_i_params_free(&c);
}

static void test_kernel_of_a_layer_is_read_for_every_channel(void **state) {
    (void)state;
    enum { K = 3, C = 4 };
    static const struct {
        const char *kind, *tensor;
        int hop, channel; /* how far apart their weights are */
    } cases[] = {{"global", "kernel", 1, 0},
                 {"layer", "layers.1.kernel", 1, 0},
                 {"depthwise", "layers.1.kernel", C, 1},
                 {"full", "layers.1.kernel", C * C, C + 1}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        char text[64];
        float weight[K * C];
        snprintf(text, sizeof text, "kernel=%s channels=4 path-length=3", cases[n].kind);
        pgcn_i_params params = started(text);
        pgcn_config config = settings(text);
        for (int64_t e = 0; e < params.total; e++) params.value[e] = (float)e;
        int64_t first = find(&params, cases[n].tensor)->first;
        pgcn_i_network_kernel(&params, &config, 1, weight);
        for (int i = 0; i < K; i++)
            for (int c = 0; c < C; c++)
                assert_true(weight[i * C + c] ==
                            (float)(first + i * cases[n].hop + c * cases[n].channel));
        pgcn_i_params_free(&params);
    }
}

static void test_declare_tensors_of_each_kernel(void **state) {
    (void)state;
    pgcn_i_params params = started("kernel=global layers=3 channels=4 batch-norm=yes");
    assert_int_equal(find(&params, "kernel")->count, 5);
    assert_int_equal(params.count, 5 + 3 * 3);
    const pgcn_i_param *variance = find(&params, "layers.2.norm.variance");
    assert_int_equal(variance->group, PGCN_I_GROUP_BUFFER);
    assert_true(params.value[variance->first + 3] == 1.0f);
    pgcn_i_params_free(&params);
    params = started("kernel=full layers=2 channels=4");
    assert_int_equal(find(&params, "layers.1.kernel")->count, 5 * 16);
    assert_int_equal(params.count, 4 + 2); /* no 1x1 */
    pgcn_i_params_free(&params);
    params = started("kernel=depthwise layers=2 channels=4");
    assert_int_equal(find(&params, "layers.1.kernel")->count, 5 * 4);
    assert_int_equal(find(&params, "classifier.weight")->count, 4 * NET_CLASSES);
    pgcn_i_params_free(&params);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_network_every_combination_matches_equations_and_differences),
        cmocka_unit_test(test_network_recipes_of_all_kinds_match_equations),
        cmocka_unit_test(test_network_directions_match_equations),
        cmocka_unit_test(test_network_room_is_enough_for_the_largest),
        cmocka_unit_test(test_network_inference_tape_matches_equations),
        cmocka_unit_test(test_start_smooth_kernel_sums_to_one_and_walks_hops),
        cmocka_unit_test(test_start_smooth_kernel_many_hops_is_even),
        cmocka_unit_test(test_start_no_hops_and_identity_are_the_same),
        cmocka_unit_test(test_start_random_kernel_has_its_statistics),
        cmocka_unit_test(test_start_full_kernel_is_diagonal),
        cmocka_unit_test(test_start_random_kernels_of_all_kinds_decay_to_zero),
        cmocka_unit_test(test_start_mixing_is_identity_or_glorot),
        cmocka_unit_test(test_start_same_seed_same_bits_other_seed_others),
        cmocka_unit_test(test_kernel_of_a_layer_is_read_for_every_channel),
        cmocka_unit_test(test_declare_tensors_of_each_kernel),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
