/* The paper's networks (its appendix), with the residual forms and starts of the recipes. Read
 * record_nodes beside the table "pathGCN architecture for node classification":
 *
 *   n x c_in   (path convolution, batch norm)      -> n x c_in    input.kernel, input.norm.*
 *   n x c_in   Dropout, 1x1 convolution, ReLU      -> n x c       embed.weight, embed.bias
 *   n x c      L x pathGCN block                   -> n x c       layers.<l>.kernel, .weight, .self.weight
 *   n x c      Dropout, 1x1 convolution            -> n x c_out   classifier.weight, .bias
 *
 * and record_graphs beside the one "for graph classification":
 *
 *   n x c_in   1x1 convolution, ReLU               -> n x c       embed.weight, embed.bias
 *   n x c      L x [ pathGCN, BN, 1x1, ReLU ]      -> n x c       layers.<l>.kernel, .norm.*, .weight, .bias
 *   n x c      Add-pool, 1x1, Dropout, 1x1         -> 1 x c_out   readout.*, classifier.* */
#include "models/models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define INPUT_KERNEL "input.kernel"

/* ---- parameters ---------------------------------------------------------------------------- */

static bool has_mix(const pgcn_config *config) {
    return config->kernel != PGCN_KERNEL_FULL;
}
static bool smooths_inputs(const pgcn_config *config) {
    return config->input_hops > 0;
}

/* A random start is nothing to be pulled back to: there, decay is towards 0 as in the paper. */
static void declare_kernel(pgcn_i_params *params, const pgcn_config *config, int layer) {
    int64_t c = config->channels, k = config->path_length;
    pgcn_i_param_spec spec = {.group = PGCN_I_GROUP_KERNEL,
                              .start = PGCN_I_START_OWN,
                              .decay_to_start = config->kernel_start != PGCN_START_RANDOM,
                              .shape = {k}};
    if (config->kernel == PGCN_KERNEL_DEPTHWISE || config->kernel == PGCN_KERNEL_FULL)
        spec.shape[1] = c;
    if (config->kernel == PGCN_KERNEL_FULL) spec.shape[2] = c;
    if (config->kernel == PGCN_KERNEL_GLOBAL)
        pgcn_i_params_add(params, spec, "kernel");
    else
        pgcn_i_params_add(params, spec, "layers.%d.kernel", layer);
}

static void declare_mix(pgcn_i_params *params, const pgcn_config *config, int layer) {
    bool identity = config->mix == PGCN_MIX_IDENTITY;
    int64_t c = config->channels;
    if (has_mix(config))
        pgcn_i_params_add(
            params,
            (pgcn_i_param_spec){.group = PGCN_I_GROUP_MIX,
                                .start = identity ? PGCN_I_START_IDENTITY : PGCN_I_START_GLOROT,
                                .decay_to_start = identity,
                                .shape = {c, c}},
            "layers.%d.weight", layer);
}

/* The node itself beside its walks, with weights of its own. At an identity start it adds nothing, so that the
 * network begins as without it. */
static void declare_self(pgcn_i_params *params, const pgcn_config *config, int layer) {
    int64_t c = config->channels;
    bool identity = config->mix == PGCN_MIX_IDENTITY;
    if (has_mix(config) && pgcn_i_own_yes(config, &pgcn_i_self_mix))
        pgcn_i_params_add(
            params,
            (pgcn_i_param_spec){.group = PGCN_I_GROUP_MIX,
                                .start = identity ? PGCN_I_START_ZEROS : PGCN_I_START_GLOROT,
                                .shape = {c, c}},
            "layers.%d.self.weight", layer);
}

/* The paper's batch norm of nodes has neither. */
const pgcn_i_setting pgcn_i_norm_gain = {
    .key = "norm-gain",
    .choices = "no | yes",
    .high = 1,
    .help = "where nodes are classified: a gain and a shift for each channel after batch norm"};

const pgcn_i_setting pgcn_i_norm_over = {
    .key = "norm-over",
    .choices = "step | graph",
    .high = 1,
    .help = "what batch norm takes mean and variance of: all rows of a step, and in use those that "
            "ran along in training; or each graph by itself, in use too, with a gain and a shift, "
            "so that a node depends on all nodes of its graph"};

bool pgcn_i_norms_graphs(const pgcn_config *config) {
    return (config->batch_norm || config->input_norm) &&
           pgcn_i_network_has(pgcn_i_network_of(config), &pgcn_i_norm_over) &&
           pgcn_i_own_yes(config, &pgcn_i_norm_over);
}

static void declare_norm(pgcn_i_params *params, const pgcn_config *config, pgcn_i_group group,
                         int64_t channels, const char *of) {
    if (pgcn_i_norms_graphs(config))
        pgcn_i_gains_declare(params, group, channels, of);
    else
        pgcn_i_norm_declare(params, group, channels, of);
}

static pgcn_i_value *record_norm(pgcn_i_tape *tape, const pgcn_config *config,
                                 const pgcn_i_view *view, pgcn_i_value *x, const char *of) {
    if (!pgcn_i_norms_graphs(config)) return pgcn_i_norm_record(tape, x, of);
    int64_t graphs = view->samples * (view->graph_rows ? view->rows[PGCN_I_GRAPHS] : 1);
    return pgcn_i_op_graph_norm(tape, x, pgcn_i_param_named(tape->params, "%snorm.gain", of),
                                pgcn_i_param_named(tape->params, "%snorm.shift", of),
                                view->graph_rows, graphs);
}

/* Of nodes, gains of batch norm are there where they are asked for. */
static bool has_gains(const pgcn_config *config) {
    return pgcn_i_own_yes(config, &pgcn_i_norm_gain) || pgcn_i_norms_graphs(config);
}

static void declare_block(pgcn_i_params *params, const pgcn_config *config, int layer) {
    pgcn_i_param_spec mean = {.group = PGCN_I_GROUP_BUFFER, .shape = {config->channels}};
    pgcn_i_param_spec variance = mean;
    variance.start = PGCN_I_START_ONES;
    char of[32];
    snprintf(of, sizeof of, "layers.%d.", layer);
    if (config->kernel != PGCN_KERNEL_GLOBAL) declare_kernel(params, config, layer);
    declare_mix(params, config, layer);
    declare_self(params, config, layer);
    if (config->batch_norm && has_gains(config)) {
        declare_norm(params, config, PGCN_I_GROUP_MIX, config->channels, of);
    } else if (config->batch_norm) {
        pgcn_i_params_add(params, mean, "%snorm.mean", of);
        pgcn_i_params_add(params, variance, "%snorm.variance", of);
    }
}

static void declare_graph_block(pgcn_i_params *params, const pgcn_config *config, int layer) {
    char of[32];
    snprintf(of, sizeof of, "layers.%d.", layer);
    if (config->kernel != PGCN_KERNEL_GLOBAL) declare_kernel(params, config, layer);
    if (config->batch_norm) declare_norm(params, config, PGCN_I_GROUP_MIX, config->channels, of);
    declare_mix(params, config, layer);
    declare_self(params, config, layer);
    if (has_mix(config))
        pgcn_i_params_add(params,
                          (pgcn_i_param_spec){.group = PGCN_I_GROUP_MIX,
                                              .decay_to_start = true,
                                              .shape = {config->channels}},
                          "%sbias", of);
}

static void declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    if (smooths_inputs(config))
        pgcn_i_params_add(params,
                          (pgcn_i_param_spec){.group = PGCN_I_GROUP_BUFFER,
                                              .start = PGCN_I_START_OWN,
                                              .shape = {config->path_length}},
                          INPUT_KERNEL);
    if (config->input_norm)
        declare_norm(params, config, PGCN_I_GROUP_ENDS, shape.features, "input.");
    pgcn_i_linear_declare(params, PGCN_I_GROUP_ENDS, shape.features, config->channels, "embed.");
    if (config->kernel == PGCN_KERNEL_GLOBAL) declare_kernel(params, config, 0);
    for (int l = 0; l < config->layers; l++)
        shape.per_graph ? declare_graph_block(params, config, l) : declare_block(params, config, l);
    if (shape.per_graph)
        pgcn_i_readout_declare(params, config, shape, config->channels);
    else
        pgcn_i_linear_declare(params, PGCN_I_GROUP_ENDS, config->channels, shape.classes,
                              "classifier.");
}

/* ---- start --------------------------------------------------------------------------------- */

/* Expected hops of one layer whose kernel is proportional to (1-a)^i. */
static double mean_hops(double a, int k) {
    double weight = 1, sum = 0, hops = 0;
    for (int i = 0; i < k; i++, weight *= 1 - a) sum += weight, hops += i * weight;
    return hops / sum;
}

/* The decay a for which a layer walks `wanted` hops (bisection: mean_hops falls with a). */
static double smooth_decay(double wanted, int k) {
    double low = 0, high = 1;
    if (mean_hops(0, k) <= wanted) return 0;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        *(mean_hops(middle, k) > wanted ? &low : &high) = middle;
    }
    return high;
}

static void smooth_profile(double hops, int k, double *s) {
    double a = smooth_decay(hops, k), weight = 1, sum = 0;
    for (int i = 0; i < k; i++, weight *= 1 - a) sum += s[i] = weight;
    for (int i = 0; i < k; i++) s[i] /= sum;
}

/* All layers together walk config->hops hops, so that a deep network reaches as far as a shallow one
 * at the start. */
static void kernel_profile(const pgcn_config *config, double *s) {
    int k = config->path_length;
    smooth_profile(config->hops / config->layers, k, s);
    if (config->kernel_start == PGCN_START_IDENTITY)
        for (int i = 0; i < k; i++) s[i] = i == 0;
    if (config->kernel_start == PGCN_START_NEIGHBOURS)
        for (int i = 0; i < k; i++) s[i] = i == (k > 1);
    if (config->kernel_start == PGCN_START_RANDOM)
        for (int i = 0; i < k; i++) s[i] = 0;
}

/* Every hop's part of the kernel: the profile, the same for all channels (on the diagonal of a
 * full kernel), plus noise where asked for. Each weight has random numbers of its own. */
static void start_kernel(float *value, const pgcn_i_param *param, const pgcn_config *config,
                         pgcn_i_rng_domain domain) {
    int64_t k = param->shape[0], each = param->count / k;
    double profile[PGCN_MAX_PATH_LENGTH];
    double deviation = config->kernel_start == PGCN_START_RANDOM ? 1 / sqrt((double)k) : 0;
    if (config->kernel == PGCN_KERNEL_FULL) deviation /= sqrt((double)config->channels);
    kernel_profile(config, profile);
    for (int64_t i = 0; i < k; i++)
        for (int64_t e = 0; e < each; e++) {
            bool diagonal = param->rank < 3 || e / param->shape[2] == e % param->shape[2];
            pgcn_i_stream random = pgcn_i_stream_of(domain, (uint64_t)(i * each + e));
            double s = diagonal ? profile[i] : 0;
            s += deviation * pgcn_i_normal(&random);
            s += config->kernel_noise * pgcn_i_normal(&random);
            value[i * each + e] = (float)s;
        }
}

static void start_input_kernel(float *value, const pgcn_config *config) {
    double profile[PGCN_MAX_PATH_LENGTH];
    smooth_profile(config->input_hops, config->path_length, profile);
    for (int i = 0; i < config->path_length; i++) value[i] = (float)profile[i];
}

static void start(const pgcn_i_param *param, const pgcn_config *config, pgcn_i_rng_domain domain,
                  float *value) {
    if (strcmp(param->name, INPUT_KERNEL) == 0)
        start_input_kernel(value, config);
    else
        start_kernel(value, param, config, domain);
}

/* ---- nodes --------------------------------------------------------------------------------- */

/* The embedding:  H0 = ReLU( Dropout(X) W + b ), then whole rows dropped; or, of inputs that paths
 * smooth,  H0 = ReLU( Dropout( BN( K DropRows(X) ) ) W + b ). */
static pgcn_i_value *record_embedding(pgcn_i_tape *tape, const pgcn_config *config,
                                      const pgcn_i_view *view, double dropout) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_param *w = pgcn_i_param_named(params, "embed.weight");
    pgcn_i_param *b = pgcn_i_param_named(params, "embed.bias");
    if (!smooths_inputs(config)) {
        pgcn_i_value *h = pgcn_i_op_input(tape, view->input, view->samples,
                                          (pgcn_i_opening){.dropout = dropout, .w = w, .b = b});
        return pgcn_i_op_drop_rows(tape, h, config->drop_rows);
    }
    pgcn_i_value *x = pgcn_i_op_features(tape, view->input, view->samples, config->drop_rows);
    x = pgcn_i_op_smooth(tape, x, view->transitions, config->path_length,
                         pgcn_i_param_named(params, INPUT_KERNEL));
    if (config->input_norm) x = record_norm(tape, config, view, x, "input.");
    return pgcn_i_op_linear(tape, pgcn_i_op_dropout(tape, x, dropout), w, b, true, 0);
}

/* (1 - alpha) K H + alpha R,  R = H0, H or nothing */
static pgcn_i_value *record_paths(pgcn_i_tape *tape, const pgcn_config *config,
                                  const pgcn_i_view *view, int layer, pgcn_i_value *h,
                                  pgcn_i_value *h0) {
    pgcn_i_value *residual = config->residual == PGCN_RESIDUAL_INITIAL    ? h0
                             : config->residual == PGCN_RESIDUAL_PREVIOUS ? h
                                                                          : NULL;
    return pgcn_i_op_pathconv(
        tape, h,
        (pgcn_i_pathconv){.transition = &view->transitions[layer],
                          .kernel = config->kernel,
                          .k = config->path_length,
                          .s = pgcn_i_network_kernel_param(tape->params, config, layer),
                          .residual = residual,
                          .alpha = config->alpha});
}

/* x + H W_self, where there are such weights. */
static pgcn_i_value *record_self(pgcn_i_tape *tape, int layer, pgcn_i_value *h, pgcn_i_value *x) {
    pgcn_i_param *self = pgcn_i_param_named(tape->params, "layers.%d.self.weight", layer);
    return self ? pgcn_i_op_add(tape, pgcn_i_op_linear(tape, h, self, NULL, false, 0), x) : x;
}

/* One block:  H' = Dropout( ReLU( BN( ((1 - alpha) K H + alpha R) W + H W_self ) ) ). */
static pgcn_i_value *record_block(pgcn_i_tape *tape, const pgcn_config *config,
                                  const pgcn_i_view *view, int layer, pgcn_i_value *h,
                                  pgcn_i_value *h0, double dropout) {
    const pgcn_i_params *params = tape->params;
    char of[32];
    snprintf(of, sizeof of, "layers.%d.", layer);
    pgcn_i_value *x = record_paths(tape, config, view, layer, h, h0);
    bool relu_now = !config->batch_norm && !pgcn_i_own_yes(config, &pgcn_i_self_mix);
    if (has_mix(config))
        x = pgcn_i_op_linear(tape, x, pgcn_i_param_named(params, "layers.%d.weight", layer), NULL,
                             relu_now, dropout);
    x = record_self(tape, layer, h, x);
    if (config->batch_norm) x = record_norm(tape, config, view, x, of);
    if (has_mix(config) && relu_now) return x;
    return pgcn_i_op_dropout(tape, pgcn_i_op_relu(tape, x), dropout);
}

static pgcn_i_value *record_nodes(pgcn_i_tape *tape, const pgcn_config *config,
                                  const pgcn_i_view *view) {
    pgcn_i_value *h = record_embedding(tape, config, view, config->dropout);
    pgcn_i_value *h0 = pgcn_i_tape_layer(tape, 0, h);
    for (int l = 0; l < config->layers; l++) {
        double dropout =
            l == config->layers - 1 ? pgcn_i_last_dropout(config) : config->dropout_hidden;
        h = record_block(tape, config, view, l, h, h0, dropout);
        pgcn_i_tape_layer(tape, l + 1, h);
    }
    return pgcn_i_linear_record(tape, h, "classifier.", false, 0);
}

/* ---- graphs -------------------------------------------------------------------------------- */

/* One block:  H' = Dropout( ReLU( BN( (1 - alpha) K H + alpha R ) W + b + H W_self ) ). */
static pgcn_i_value *record_graph_block(pgcn_i_tape *tape, const pgcn_config *config,
                                        const pgcn_i_view *view, int layer, pgcn_i_value *h,
                                        pgcn_i_value *h0) {
    char of[32];
    snprintf(of, sizeof of, "layers.%d.", layer);
    pgcn_i_value *x = record_paths(tape, config, view, layer, h, h0);
    if (config->batch_norm) x = record_norm(tape, config, view, x, of);
    bool relu_now = has_mix(config) && !pgcn_i_own_yes(config, &pgcn_i_self_mix);
    if (has_mix(config)) x = pgcn_i_linear_record(tape, x, of, relu_now, config->dropout_hidden);
    if (relu_now) return x;
    x = record_self(tape, layer, h, x);
    return pgcn_i_op_dropout(tape, pgcn_i_op_relu(tape, x), config->dropout_hidden);
}

static pgcn_i_value *record_graphs(pgcn_i_tape *tape, const pgcn_config *config,
                                   const pgcn_i_view *view) {
    pgcn_i_value **h = pgcn_i_layer_results(tape, config);
    if (!h) return NULL;
    h[0] = record_embedding(tape, config, view, 0); /* dropout is before the last layer only */
    for (int l = 0; l < config->layers; l++)
        h[l + 1] = record_graph_block(tape, config, view, l, h[l], h[0]);
    return pgcn_i_readout_record(tape, config, view, h);
}

/* ---- the network ----------------------------------------------------------------------------- */

static pgcn_i_value *record(pgcn_i_tape *tape, const pgcn_config *config, const pgcn_i_view *view) {
    return view->segment ? record_graphs(tape, config, view) : record_nodes(tape, config, view);
}

/* Counted in plans of 1 to 64 layers (tests/unit/test_memory.c compares). */
/* A layer each, and the smoothing of the inputs. */
static int levels(const pgcn_config *config) {
    return config->layers + smooths_inputs(config);
}

static pgcn_i_cost cost(const pgcn_config *config) {
    pgcn_i_cost cost = {
        .kept = 2 * config->layers + 1.3, .squares = 1, .hops = config->path_length - 1};
    if (config->kernel == PGCN_KERNEL_FULL) {
        cost.kept = (config->batch_norm ? 2 : 1) * config->layers + 4;
        cost.squares = config->path_length;
    } else if (config->batch_norm) {
        cost.kept = 3 * config->layers + 3.6;
    }
    if (has_mix(config) && pgcn_i_own_yes(config, &pgcn_i_self_mix)) {
        cost.kept += config->layers;
        cost.squares = 2;
    }
    return cost;
}

static const pgcn_i_setting *const own[] = {&pgcn_i_self_mix, &pgcn_i_norm_gain, &pgcn_i_norm_over,
                                            NULL};

const pgcn_i_network pgcn_i_pathgcn = {
    .name = "pathgcn",
    .levels = levels,
    .about = "the network of the paper: learnt weights of the steps of walks, 1x1 convolutions",
    .declare = declare,
    .start = start,
    .record = record,
    .cost = cost,
    .why_ignored = "",
    .walks = true,
    .own = own};
