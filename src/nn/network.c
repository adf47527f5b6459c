/* What all networks share: parameters found by their names, their start, and which architecture the
 * configuration asks for. Called by the trainer and by inference. */
#include "nn/network.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- parameters ---------------------------------------------------------------------------- */

pgcn_i_param *pgcn_i_param_named(const pgcn_i_params *params, const char *format, ...) {
    char name[sizeof params->param->name];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    for (int i = 0; i < params->count; i++)
        if (strcmp(params->param[i].name, name) == 0) return &params->param[i];
    return NULL;
}

/* The order of declaration is the order in files. */
pgcn_status pgcn_i_network_declare(pgcn_i_params *params, const pgcn_config *config,
                                   pgcn_i_shape shape) {
    PGCN_TRY(pgcn_i_params_init(params, PGCN_MOST_OF_ENDS + PGCN_MOST_OF_LAYER * config->layers));
    if (config->normalise == PGCN_NORMALISE_STANDARDISE) {
        pgcn_i_params_add(params, PGCN_I_GROUP_BUFFER, false, 1, shape.features, 0, 0,
                          "input.mean");
        pgcn_i_params_add(params, PGCN_I_GROUP_BUFFER, false, 1, shape.features, 0, 0,
                          "input.deviation");
    }
    if (config->model == PGCN_MODEL_GIN)
        pgcn_i_gin_declare(params, config, shape);
    else
        pgcn_i_pathgcn_declare(params, config, shape);
    /* A random start is nothing to be pulled back to: there, decay is towards 0 as in the paper. */
    for (int i = 0; i < params->count; i++)
        if (params->param[i].group == PGCN_I_GROUP_KERNEL)
            params->param[i].decay_to_start = config->kernel_start != PGCN_START_RANDOM;
    return PGCN_OK;
}

pgcn_i_standard pgcn_i_network_standard(const pgcn_i_params *params) {
    const pgcn_i_param *mean = pgcn_i_param_named(params, "input.mean");
    const pgcn_i_param *deviation = pgcn_i_param_named(params, "input.deviation");
    if (!mean || !deviation) return (pgcn_i_standard){NULL, NULL};
    return (pgcn_i_standard){pgcn_i_value_of(params, mean), pgcn_i_value_of(params, deviation)};
}

void pgcn_i_network_declare_fill(pgcn_i_params *params, int64_t features) {
    pgcn_i_params_add(params, PGCN_I_GROUP_BUFFER, false, 1, features, 0, 0, PGCN_I_FILL);
}

float *pgcn_i_network_fill(const pgcn_i_params *params) {
    const pgcn_i_param *fill = pgcn_i_param_named(params, "input.mean");
    if (!fill) fill = pgcn_i_param_named(params, PGCN_I_FILL);
    return fill ? pgcn_i_value_of(params, fill) : NULL;
}

pgcn_i_param *pgcn_i_network_kernel_param(const pgcn_i_params *params, const pgcn_config *config,
                                          int layer) {
    if (config->kernel == PGCN_KERNEL_GLOBAL) return pgcn_i_param_named(params, "kernel");
    return pgcn_i_param_named(params, "layers.%d.kernel", layer);
}

void pgcn_i_network_kernel(const pgcn_i_params *params, const pgcn_config *config, int layer,
                           float *weight) {
    const float *value =
        pgcn_i_value_of(params, pgcn_i_network_kernel_param(params, config, layer));
    int64_t channels = config->channels;
    for (int64_t i = 0; i < config->path_length; i++)
        for (int64_t c = 0; c < channels; c++) {
            int64_t at = i; /* one weight per hop, per hop and channel, or per pair of channels */
            if (config->kernel == PGCN_KERNEL_DEPTHWISE) at = i * channels + c;
            if (config->kernel == PGCN_KERNEL_FULL) at = (i * channels + c) * channels + c;
            weight[i * channels + c] = value[at];
        }
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
    if (config->model == PGCN_MODEL_GIN) /* 1 + eps of itself, and all of its neighbours */
        for (int i = 0; i < k; i++) s[i] = 1;
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

static void start_ones(float *value, const pgcn_i_param *param) {
    for (int64_t e = 0; e < param->count; e++) value[e] = 1;
}

static void start_glorot(float *value, const pgcn_i_param *param, pgcn_i_rng_domain domain) {
    double limit = sqrt(6.0 / (double)(param->shape[0] + param->shape[1]));
    for (int64_t e = 0; e < param->count; e++) {
        pgcn_i_stream random = pgcn_i_stream_of(domain, (uint64_t)e);
        value[e] = (float)((2 * pgcn_i_unit_double(&random) - 1) * limit);
    }
}

static bool ends_in(const char *name, const char *end) {
    size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

/* Matrices start at random or at the identity, gains and variances at 1, the rest at 0. */
static void start_weight(float *value, const pgcn_i_param *param, bool identity,
                         pgcn_i_rng_domain domain) {
    if (ends_in(param->name, PGCN_NORM_GAIN) || ends_in(param->name, PGCN_NORM_VARIANCE))
        start_ones(value, param);
    if (param->rank != 2) return;
    if (!identity) start_glorot(value, param, domain);
    for (int64_t e = 0; identity && e < param->shape[0]; e++) value[e * param->shape[1] + e] = 1;
}

void pgcn_i_network_start(pgcn_i_params *params, const pgcn_config *config) {
    for (int i = 0; i < params->count; i++) {
        const pgcn_i_param *param = &params->param[i];
        float *value = pgcn_i_value_of(params, param);
        pgcn_i_rng_domain domain = pgcn_i_rng_domain_of(config->seed, PGCN_I_RNG_INIT, 0, i, 0);
        bool identity = param->group == PGCN_I_GROUP_MIX && config->mix == PGCN_MIX_IDENTITY &&
                        config->model == PGCN_MODEL_PATHGCN;
        if (strcmp(param->name, PGCN_INPUT_KERNEL) == 0)
            start_input_kernel(value, config);
        else if (param->group == PGCN_I_GROUP_KERNEL)
            start_kernel(value, param, config, domain);
        else
            start_weight(value, param, identity, domain);
    }
    if (params->start)
        memcpy(params->start, params->value, (size_t)params->total * sizeof *params->value);
}

/* ---- the network --------------------------------------------------------------------------- */

int pgcn_i_network_ops(const pgcn_config *config) {
    return PGCN_MOST_OF_ENDS + PGCN_MOST_OF_LAYER * config->layers;
}

double pgcn_i_last_dropout(const pgcn_config *config) {
    return config->dropout_last < 0 ? config->dropout : config->dropout_last;
}

pgcn_i_value *pgcn_i_network_record(pgcn_i_tape *tape, const pgcn_config *config,
                                    const pgcn_i_place *place) {
    if (config->model == PGCN_MODEL_GIN) return pgcn_i_gin_record(tape, config, place);
    return place->segment ? pgcn_i_pathgcn_record_graphs(tape, config, place)
                          : pgcn_i_pathgcn_record(tape, config, place);
}
