/* The paper's network for node classification (its appendix, "pathGCN architecture"), with the
 * residual forms and starts of the recipes. Read pgcn_i_pathgcn_record beside that table:
 *
 *   n x c_in   (path convolution, batch norm)      -> n x c_in    input.kernel, input.norm.*
 *   n x c_in   Dropout, 1x1 convolution, ReLU      -> n x c       embed.weight, embed.bias
 *   n x c      L x pathGCN block                   -> n x c       layers.<l>.kernel, .weight
 *   n x c      Dropout, 1x1 convolution            -> n x c_out   classifier.weight, .bias */
#include "nn/nn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- parameters ---------------------------------------------------------------------------- */

static bool shares_kernel(const pgcn_config *config) {
    return config->kernel == PGCN_KERNEL_GLOBAL;
}
static bool has_mix(const pgcn_config *config) {
    return config->kernel != PGCN_KERNEL_FULL;
}

#define INPUT_KERNEL "input.kernel"
#define INPUT_GAIN   "input.norm.gain"
static bool smooths_inputs(const pgcn_config *config) {
    return config->input_hops > 0;
}

/* The order of declaration is the order in files. */
pgcn_status pgcn_i_pathgcn_declare(pgcn_i_params *params, const pgcn_config *config,
                                   int64_t features, int classes) {
    int64_t c = config->channels, k = config->path_length;
    /* seven of the inputs, two of the first layer, two of the last; a layer has four, or three and
     * a kernel with the others */
    PGCN_TRY(pgcn_i_params_init(params, 11 + 4 * config->layers));
    if (config->normalise == PGCN_NORMALISE_STANDARDISE) {
        pgcn_i_params_add(params, PGCN_I_GROUP_BUFFER, false, 1, features, 0, 0, "input.mean");
        pgcn_i_params_add(params, PGCN_I_GROUP_BUFFER, false, 1, features, 0, 0, "input.deviation");
    }
    if (smooths_inputs(config))
        pgcn_i_params_add(params, PGCN_I_GROUP_BUFFER, false, 1, config->path_length, 0, 0,
                          INPUT_KERNEL);
    if (config->input_norm) {
        pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 1, features, 0, 0, INPUT_GAIN);
        pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 1, features, 0, 0, "input.norm.shift");
        pgcn_i_params_add(params, PGCN_I_GROUP_BUFFER, false, 1, features, 0, 0, "input.norm.mean");
        pgcn_i_params_add(params, PGCN_I_GROUP_BUFFER, false, 1, features, 0, 0,
                          "input.norm.variance");
    }
    pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 2, features, c, 0, "embed.weight");
    pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 1, c, 0, 0, "embed.bias");
    if (shares_kernel(config))
        pgcn_i_params_add(params, PGCN_I_GROUP_KERNEL, true, 1, k, 0, 0, "kernel");
    for (int l = 0; l < config->layers; l++) {
        switch (config->kernel) {
        case PGCN_KERNEL_GLOBAL: break;
        case PGCN_KERNEL_LAYER:
            pgcn_i_params_add(params, PGCN_I_GROUP_KERNEL, true, 1, k, 0, 0, "layers.%d.kernel", l);
            break;
        case PGCN_KERNEL_DEPTHWISE:
            pgcn_i_params_add(params, PGCN_I_GROUP_KERNEL, true, 2, k, c, 0, "layers.%d.kernel", l);
            break;
        case PGCN_KERNEL_FULL:
            pgcn_i_params_add(params, PGCN_I_GROUP_KERNEL, true, 3, k, c, c, "layers.%d.kernel", l);
            break;
        }
        if (has_mix(config))
            pgcn_i_params_add(params, PGCN_I_GROUP_MIX, config->mix == PGCN_MIX_IDENTITY, 2, c, c,
                              0, "layers.%d.weight", l);
        if (config->batch_norm) {
            pgcn_i_params_add(params, PGCN_I_GROUP_BUFFER, false, 1, c, 0, 0, "layers.%d.norm.mean",
                              l);
            pgcn_i_params_add(params, PGCN_I_GROUP_BUFFER, false, 1, c, 0, 0,
                              "layers.%d.norm.variance", l);
        }
    }
    pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 2, c, classes, 0, "classifier.weight");
    pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 1, classes, 0, 0, "classifier.bias");
    /* A random start is nothing to be pulled back to: there, decay is towards 0 as in the paper. */
    for (int i = 0; i < params->count; i++)
        if (params->param[i].group == PGCN_I_GROUP_KERNEL)
            params->param[i].decay_to_start = config->kernel_start != PGCN_START_RANDOM;
    return PGCN_OK;
}

static pgcn_i_param *named(const pgcn_i_params *params, const char *name) {
    for (int i = 0; i < params->count; i++)
        if (strcmp(params->param[i].name, name) == 0) return &params->param[i];
    return NULL;
}

static pgcn_i_param *of_layer(const pgcn_i_params *params, int layer, const char *part) {
    char name[48];
    snprintf(name, sizeof name, "layers.%d.%s", layer, part);
    return named(params, name);
}

static pgcn_i_param *kernel_of(const pgcn_i_params *params, const pgcn_config *config, int layer) {
    return shares_kernel(config) ? named(params, "kernel") : of_layer(params, layer, "kernel");
}

void pgcn_i_pathgcn_kernel(const pgcn_i_params *params, const pgcn_config *config, int layer,
                           float *weight) {
    const float *value = pgcn_i_value_of(params, kernel_of(params, config, layer));
    int64_t channels = config->channels;
    for (int64_t i = 0; i < config->path_length; i++)
        for (int64_t c = 0; c < channels; c++) {
            int64_t at = i; /* one weight per hop, per hop and channel, or per pair of channels */
            if (config->kernel == PGCN_KERNEL_DEPTHWISE) at = i * channels + c;
            if (config->kernel == PGCN_KERNEL_FULL) at = (i * channels + c) * channels + c;
            weight[i * channels + c] = value[at];
        }
}

pgcn_i_standard pgcn_i_pathgcn_standard(const pgcn_i_params *params) {
    const pgcn_i_param *mean = named(params, "input.mean");
    const pgcn_i_param *deviation = named(params, "input.deviation");
    if (!mean || !deviation) return (pgcn_i_standard){NULL, NULL};
    return (pgcn_i_standard){pgcn_i_value_of(params, mean), pgcn_i_value_of(params, deviation)};
}

/* ---- start --------------------------------------------------------------------------------- */

/* Expected hops of one layer whose kernel is proportional to (1-a)^i. */
static double mean_hops(double a, int k) {
    double weight = 1, sum = 0, hops = 0;
    for (int i = 0; i < k; i++, weight *= 1 - a) sum += weight, hops += i * weight;
    return hops / sum;
}

/* The decay a for which a layer walks so many hops (bisection: mean_hops falls with a). */
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

static void start_glorot(float *value, const pgcn_i_param *param, pgcn_i_rng_domain domain) {
    double limit = sqrt(6.0 / (double)(param->shape[0] + param->shape[1]));
    for (int64_t e = 0; e < param->count; e++) {
        pgcn_i_stream random = pgcn_i_stream_of(domain, (uint64_t)e);
        value[e] = (float)((2 * pgcn_i_unit_double(&random) - 1) * limit);
    }
}

void pgcn_i_pathgcn_start(pgcn_i_params *params, const pgcn_config *config) {
    for (int i = 0; i < params->count; i++) {
        const pgcn_i_param *param = &params->param[i];
        float *value = pgcn_i_value_of(params, param);
        pgcn_i_rng_domain domain = pgcn_i_rng_domain_of(config->seed, PGCN_I_RNG_INIT, 0, i, 0);
        switch (param->group) {
        case PGCN_I_GROUP_ENDS: /* biases start at 0 */
            if (param->rank == 2) start_glorot(value, param, domain);
            if (strcmp(param->name, INPUT_GAIN) == 0)
                for (int64_t e = 0; e < param->count; e++) value[e] = 1;
            break;
        case PGCN_I_GROUP_MIX:
            if (config->mix == PGCN_MIX_RANDOM)
                start_glorot(value, param, domain);
            else
                for (int64_t e = 0; e < param->shape[0]; e++) value[e * param->shape[1] + e] = 1;
            break;
        case PGCN_I_GROUP_KERNEL: start_kernel(value, param, config, domain); break;
        case PGCN_I_GROUP_BUFFER: /* running mean 0, running variance 1 */
            if (strcmp(param->name, INPUT_KERNEL) == 0) start_input_kernel(value, config);
            if (strstr(param->name, "variance"))
                for (int64_t e = 0; e < param->count; e++) value[e] = 1;
            break;
        case PGCN_I_GROUPS: break;
        }
    }
    if (params->start)
        memcpy(params->start, params->value, (size_t)params->total * sizeof *params->value);
}

/* ---- the network --------------------------------------------------------------------------- */

/* The embedding (features, their path convolution, norm, dropout, product) and the classifier; of a
 * layer, path convolution, product, norm, ReLU and dropout. */
int pgcn_i_pathgcn_ops(const pgcn_config *config) {
    return 6 + 5 * config->layers;
}

static double last_dropout(const pgcn_config *config) {
    return config->dropout_last < 0 ? config->dropout : config->dropout_last;
}

/* The embedding:  H0 = ReLU( Dropout(X) W + b ), then whole rows dropped; or, of inputs that paths
 * smooth,  H0 = ReLU( Dropout( BN( K DropRows(X) ) ) W + b ). */
static pgcn_i_value *record_embedding(pgcn_i_tape *tape, const pgcn_config *config,
                                      const pgcn_i_input *input, const pgcn_i_operator *operator,
                                      int samples) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_param *w = named(params, "embed.weight"), *b = named(params, "embed.bias");
    if (!smooths_inputs(config)) {
        pgcn_i_value *h = pgcn_i_op_input(tape, input, samples, config->dropout, w, b);
        return pgcn_i_op_drop_rows(tape, h, config->drop_rows);
    }
    pgcn_i_value *x = pgcn_i_op_features(tape, input, samples, config->drop_rows);
    x = pgcn_i_op_smooth(tape, x, operator, config->path_length, named(params, INPUT_KERNEL));
    if (config->input_norm)
        x = pgcn_i_op_batch_norm(
            tape, x, named(params, INPUT_GAIN), named(params, "input.norm.shift"),
            named(params, "input.norm.mean"), named(params, "input.norm.variance"));
    return pgcn_i_op_linear(tape, pgcn_i_op_dropout(tape, x, config->dropout), w, b, true, 0);
}

/* One block:  H' = Dropout( ReLU( BN( ((1 - alpha) K H + alpha R) W ) ) ),  R = H0, H or nothing. */
static pgcn_i_value *record_block(pgcn_i_tape *tape, const pgcn_config *config, int layer,
                                  pgcn_i_value *h, pgcn_i_value *h0,
                                  const pgcn_i_operator *operator, double dropout) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_param *kernel = kernel_of(params, config, layer);
    pgcn_i_value *residual = config->residual == PGCN_RESIDUAL_INITIAL    ? h0
                             : config->residual == PGCN_RESIDUAL_PREVIOUS ? h
                                                                          : NULL;
    pgcn_i_value *x = pgcn_i_op_pathconv(tape, h, operator, config->path_length, config->kernel,
                                         kernel, residual, config->alpha);
    bool relu_now = !config->batch_norm;
    if (has_mix(config))
        x = pgcn_i_op_linear(tape, x, of_layer(params, layer, "weight"), NULL, relu_now, dropout);
    if (config->batch_norm)
        x = pgcn_i_op_batch_norm(tape, x, NULL, NULL, of_layer(params, layer, "norm.mean"),
                                 of_layer(params, layer, "norm.variance"));
    if (has_mix(config) && relu_now) return x;
    return pgcn_i_op_dropout(tape, pgcn_i_op_relu(tape, x), dropout);
}

pgcn_i_value *pgcn_i_pathgcn_record(pgcn_i_tape *tape, const pgcn_config *config,
                                    const pgcn_i_input *input, const pgcn_i_operator *operators,
                                    int samples) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_value *h = record_embedding(tape, config, input, operators, samples);
    pgcn_i_value *h0 = h;
    for (int l = 0; l < config->layers; l++)
        h = record_block(tape, config, l, h, h0, &operators[config->paths_per_layer ? l : 0],
                         l == config->layers - 1 ? last_dropout(config) : config->dropout_hidden);
    return pgcn_i_op_linear(tape, h, named(params, "classifier.weight"),
                            named(params, "classifier.bias"), false, 0);
}
