/* The table of networks, and what all of them share: the start of parameters, and the buffers of their
 * features. Called by the trainer and by inference. */
#include "models/models.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- the table ------------------------------------------------------------------------------- */

/* A line for each file of this room. Models are stored by name: the order is that of help texts. */
extern const pgcn_i_network pgcn_i_pathgcn, pgcn_i_gin, pgcn_i_mlp, pgcn_i_gcn, pgcn_i_sgc,
    pgcn_i_cheb, pgcn_i_appnp, pgcn_i_gcnii, pgcn_i_gcnii_star, pgcn_i_sage, pgcn_i_jknet,
    pgcn_i_incep, pgcn_i_gat, pgcn_i_supergat, pgcn_i_grand, pgcn_i_egnn, pgcn_i_pde_gcn_d,
    pgcn_i_pde_gcn_h, pgcn_i_pde_gcn_m;
/* clang-format off */
static const pgcn_i_network *const networks[] = {
    &pgcn_i_pathgcn,
    &pgcn_i_gin,
    &pgcn_i_mlp,
    &pgcn_i_gcn,
    &pgcn_i_sgc,
    &pgcn_i_cheb,
    &pgcn_i_appnp,
    &pgcn_i_gcnii,
    &pgcn_i_gcnii_star,
    &pgcn_i_sage,
    &pgcn_i_jknet,
    &pgcn_i_incep,
    &pgcn_i_gat,
    &pgcn_i_supergat,
    &pgcn_i_grand,
    &pgcn_i_egnn,
    &pgcn_i_pde_gcn_d,
    &pgcn_i_pde_gcn_h,
    &pgcn_i_pde_gcn_m,
};
/* clang-format on */
enum { NETWORKS = sizeof networks / sizeof *networks };

const pgcn_i_network *pgcn_i_network_at(int i) {
    return i >= 0 && i < NETWORKS ? networks[i] : NULL;
}

/* A number without a network, which the checks of a configuration refuse, is read as the first. */
const pgcn_i_network *pgcn_i_network_of(const pgcn_config *config) {
    const pgcn_i_network *network = pgcn_i_network_at(config->model);
    return network ? network : networks[0];
}

static char names[NETWORKS * 24];
static void join_names(void) {
    size_t at = 0;
    for (int i = 0; i < NETWORKS; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i > 0 ? " | " : "",
                               networks[i]->name);
}

const char *pgcn_i_network_names(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, join_names);
    return names;
}

bool pgcn_i_network_has(const pgcn_i_network *network, const pgcn_i_setting *setting) {
    for (const pgcn_i_setting *const *own = network->own; own && *own; own++)
        if (*own == setting) return true;
    return false;
}

/* Whether a network before number i of the table has it too. */
static bool is_listed_before(int i, const pgcn_i_setting *setting) {
    while (--i >= 0)
        if (pgcn_i_network_has(networks[i], setting)) return true;
    return false;
}

/* Listed once: settings are looked up for every line of every recipe. */
static const pgcn_i_setting *own_settings[PGCN_MOST_OWN + 1];
static void list_own(void) {
    int count = 0;
    for (int i = 0; i < NETWORKS; i++)
        for (const pgcn_i_setting *const *own = networks[i]->own; own && *own; own++)
            if (!is_listed_before(i, *own) && count < PGCN_MOST_OWN) own_settings[count++] = *own;
}

static const pgcn_i_setting *const *all_own(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, list_own);
    return own_settings;
}

const pgcn_i_setting *pgcn_i_own_setting(int i) {
    return i >= 0 && i < PGCN_MOST_OWN ? all_own()[i] : NULL;
}

double pgcn_i_own_value(const pgcn_config *config, const pgcn_i_setting *setting) {
    const pgcn_i_setting *const *all = all_own();
    int i = 0;
    while (all[i] != setting) i++;
    return config->own[i];
}

/* ---- parameters ---------------------------------------------------------------------------- */

static void add_buffer(pgcn_i_params *params, int64_t features, const char *name) {
    pgcn_i_params_add(
        params, (pgcn_i_param_spec){.group = PGCN_I_GROUP_BUFFER, .shape = {features}}, "%s", name);
}

/* Operations, at most: of everything around the layers, of a layer, and of a parameter. */
enum { MOST_OF_ENDS = 24, MOST_OF_LAYER = 32, MOST_OF_PARAM = 4 };

int pgcn_i_network_ops(const pgcn_config *config, const pgcn_i_params *params) {
    return MOST_OF_ENDS + MOST_OF_LAYER * config->layers + MOST_OF_PARAM * params->count;
}

/* The order of declaration is the order in files. */
static void declare_all(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    if (config->normalise == PGCN_NORMALISE_STANDARDISE) {
        add_buffer(params, shape.features, "input.mean");
        add_buffer(params, shape.features, "input.deviation");
    } else if (config->frequency != 0)
        add_buffer(params, shape.features, "input.factor");
    pgcn_i_network_of(config)->declare(params, config, shape);
}

/* Twice: the first time only counts them. One more is for what a model keeps besides (declare_fill). */
pgcn_status pgcn_i_network_declare(pgcn_i_params *params, const pgcn_config *config,
                                   pgcn_i_shape shape) {
    pgcn_i_params counted = {.capacity = 0};
    declare_all(&counted, config, shape);
    PGCN_TRY(pgcn_i_params_init(params, counted.declared + 1));
    declare_all(params, config, shape);
    return PGCN_OK;
}

pgcn_i_standard pgcn_i_network_standard(const pgcn_i_params *params) {
    const pgcn_i_param *mean = pgcn_i_param_named(params, "input.mean");
    const pgcn_i_param *deviation = pgcn_i_param_named(params, "input.deviation");
    const pgcn_i_param *factor = pgcn_i_param_named(params, "input.factor");
    return (pgcn_i_standard){mean ? pgcn_i_value_of(params, mean) : NULL,
                             deviation ? pgcn_i_value_of(params, deviation) : NULL,
                             factor ? pgcn_i_value_of(params, factor) : NULL};
}

void pgcn_i_network_declare_fill(pgcn_i_params *params, int64_t features) {
    add_buffer(params, features, PGCN_I_FILL);
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

static void start_ones(float *value, const pgcn_i_param *param) {
    for (int64_t e = 0; e < param->count; e++) value[e] = 1;
}

void pgcn_i_start_uniform(float *value, int64_t count, double limit, pgcn_i_rng_domain domain) {
    for (int64_t e = 0; e < count; e++) {
        pgcn_i_stream random = pgcn_i_stream_of(domain, (uint64_t)e);
        value[e] = (float)((2 * pgcn_i_unit_double(&random) - 1) * limit);
    }
}

static void start_glorot(float *value, const pgcn_i_param *param, pgcn_i_rng_domain domain) {
    double limit = sqrt(6.0 / (double)(param->shape[0] + param->shape[1]));
    pgcn_i_start_uniform(value, param->count, limit, domain);
}

static void start_by_inputs(float *value, const pgcn_i_param *param, pgcn_i_rng_domain domain) {
    pgcn_i_start_uniform(value, param->count, 1 / sqrt((double)param->inputs), domain);
}

static void start_identity(float *value, const pgcn_i_param *param) {
    for (int64_t e = 0; e < param->shape[0]; e++) value[e * param->shape[1] + e] = 1;
}

void pgcn_i_network_start(pgcn_i_params *params, const pgcn_config *config) {
    for (int i = 0; i < params->count; i++) {
        const pgcn_i_param *param = &params->param[i];
        float *value = pgcn_i_value_of(params, param);
        pgcn_i_rng_domain domain = pgcn_i_rng_domain_of(config->seed, PGCN_I_RNG_INIT, 0, i, 0);
        switch (param->start) {
        case PGCN_I_START_ZEROS: break;
        case PGCN_I_START_ONES: start_ones(value, param); break;
        case PGCN_I_START_GLOROT: start_glorot(value, param, domain); break;
        case PGCN_I_START_IDENTITY: start_identity(value, param); break;
        case PGCN_I_START_INPUTS: start_by_inputs(value, param, domain); break;
        case PGCN_I_START_OWN:
            pgcn_i_network_of(config)->start(param, config, domain, value);
            break;
        }
    }
    if (params->start)
        memcpy(params->start, params->value, (size_t)params->total * sizeof *params->value);
}

/* ---- the network --------------------------------------------------------------------------- */

double pgcn_i_last_dropout(const pgcn_config *config) {
    return config->dropout_last < 0 ? config->dropout : config->dropout_last;
}

pgcn_i_value *pgcn_i_network_record(pgcn_i_tape *tape, const pgcn_config *config,
                                    const pgcn_i_view *view) {
    pgcn_i_value *logits = pgcn_i_network_of(config)->record(tape, config, view);
    int last = 0;
    for (int i = 0; i < tape->count; i++)
        if (tape->op[i].out->layer > last) last = tape->op[i].out->layer;
    /* Where a layer of its own makes them, the logits are one more. */
    return logits && logits->layer < 0 ? pgcn_i_tape_layer(tape, last + 1, logits) : logits;
}

/* ---- what a network asks for before it runs ----------------------------------------------------- */

pgcn_status pgcn_i_network_check(const pgcn_config *config) {
    const pgcn_i_network *network = pgcn_i_network_of(config);
    if (config->layers < network->least_layers)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "layers is %d and the network %s has at least %d; set layers",
                           config->layers, network->name, network->least_layers);
    return network->check ? network->check(config) : PGCN_OK;
}

int pgcn_i_network_powers(const pgcn_config *config) {
    const pgcn_i_network *network = pgcn_i_network_of(config);
    return network->powers ? network->powers(config) : 0;
}

/* ---- batches of nodes ------------------------------------------------------------------------------- */

int pgcn_i_level_per_layer(const pgcn_config *config) {
    return config->layers;
}
int pgcn_i_no_level(const pgcn_config *config) {
    (void)config;
    return 0;
}

/* Networks whose rows need many others, and settings of shared operations that look at all rows. */
const char *pgcn_i_network_not_in_batches(const pgcn_config *config) {
    const pgcn_i_network *network = pgcn_i_network_of(config);
    if (!network->levels)
        return "a row of it needs rows that are many steps away; choose another model";
    if (network->walks && config->train_form == PGCN_FORM_EXACT)
        return "train-form is exact, which takes many steps in every layer; set it to sampled";
    if (network->walks && config->kernel == PGCN_KERNEL_FULL)
        return "kernel is full, which computes all rows; choose another kernel";
    if (pgcn_i_norms_graphs(config))
        return "norm-over is graph, which looks at all rows of one; set it to step";
    if (pgcn_i_network_has(network, &pgcn_i_edge_loss) && pgcn_i_own_yes(config, &pgcn_i_edge_loss))
        return "edge-loss draws pairs of all nodes; set it to 0";
    if (pgcn_i_kept_edges(config) < 1)
        return "edge-keep normalises the edges of all nodes again; set it to 1";
    return NULL;
}

pgcn_status pgcn_i_network_levels(const pgcn_config *config, int *out) {
    const pgcn_i_network *network = pgcn_i_network_of(config);
    const char *why = pgcn_i_network_not_in_batches(config);
    bool not_in_parts = pgcn_i_norms_graphs(config) || pgcn_i_kept_edges(config) < 1;
    if (why)
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "model %s cannot be trained on batches of nodes: %s, or set batch to 0%s",
            network->name, why, not_in_parts ? "" : "; batch-by cluster is for every network");
    *out = network->levels(config);
    return PGCN_OK;
}
