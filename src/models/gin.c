/* GIN (Xu et al., "How Powerful are Graph Neural Networks?"), the baseline beside the paper's network
 * for graphs. Sums over neighbours are a path convolution of two nodes with the transition A, whose
 * kernel (1 + eps, 1) stays where it starts if its learning rate is 0, as in GIN-0:
 *
 *   n x c_in   L x [ sum, 1x1, batch norm, ReLU, 1x1, batch norm, ReLU ]   -> n x c
 *   n x ...    the readout of all layers, or a 1x1 for every node          -> graphs (n) x c_out */
#include "models/models.h"

#include <stdio.h>

static const pgcn_i_setting eps = {
    .key = "eps",
    .low = -100,
    .high = 100,
    .preset = 0,
    .help = "what a node weighs in its own sum, beyond 1, before training; lr-kernel 0 keeps it"};

/* ---- parameters ---------------------------------------------------------------------------- */

/* The names of layer l's two halves begin with these. */
typedef struct prefixes {
    char inner[48], outer[48];
} prefixes;
static prefixes prefixes_of(int l) {
    prefixes p;
    snprintf(p.inner, sizeof p.inner, "layers.%d.inner.", l);
    snprintf(p.outer, sizeof p.outer, "layers.%d.", l);
    return p;
}

static void declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    int64_t c = config->channels;
    for (int l = 0; l < config->layers; l++) {
        prefixes of = prefixes_of(l);
        pgcn_i_params_add(params,
                          (pgcn_i_param_spec){.group = PGCN_I_GROUP_KERNEL,
                                              .start = PGCN_I_START_OWN,
                                              .decay_to_start = true,
                                              .shape = {2}},
                          "layers.%d.kernel", l);
        pgcn_i_linear_declare(params, PGCN_I_GROUP_MIX, l == 0 ? shape.features : c, c, of.inner);
        pgcn_i_norm_declare(params, PGCN_I_GROUP_MIX, c, of.inner);
        pgcn_i_linear_declare(params, PGCN_I_GROUP_MIX, c, c, of.outer);
        pgcn_i_norm_declare(params, PGCN_I_GROUP_MIX, c, of.outer);
    }
    if (shape.per_graph)
        pgcn_i_readout_declare(params, config, shape, shape.features);
    else
        pgcn_i_linear_declare(params, PGCN_I_GROUP_ENDS, c, shape.classes, "classifier.");
}

/* 1 + eps of itself, and all of its neighbours. */
static void start(const pgcn_i_param *param, const pgcn_config *config, pgcn_i_rng_domain domain,
                  float *value) {
    (void)param, (void)domain;
    value[0] = (float)(1 + pgcn_i_own_value(config, &eps));
    value[1] = 1;
}

/* ---- the network ----------------------------------------------------------------------------- */

/* 1x1, batch norm, ReLU */
static pgcn_i_value *record_half(pgcn_i_tape *tape, pgcn_i_value *x, const char *of) {
    x = pgcn_i_linear_record(tape, x, of, false, 0);
    return pgcn_i_op_relu(tape, pgcn_i_norm_record(tape, x, of));
}

static pgcn_i_value *record(pgcn_i_tape *tape, const pgcn_config *config, const pgcn_i_view *view) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_value **h = pgcn_i_layer_results(tape, config);
    if (!h) return NULL;
    h[0] = pgcn_i_op_features(tape, view->input, view->samples, 0);
    for (int l = 0; l < config->layers; l++) {
        prefixes of = prefixes_of(l);
        pgcn_i_value *x = pgcn_i_op_pathconv(
            tape, h[l],
            (pgcn_i_pathconv){.transition = &view->transitions[l],
                              .kernel = PGCN_KERNEL_LAYER,
                              .k = 2,
                              .s = pgcn_i_network_kernel_param(params, config, l)});
        h[l + 1] = record_half(tape, record_half(tape, x, of.inner), of.outer);
    }
    return pgcn_i_logits_record(tape, config, view, h);
}

static pgcn_i_cost cost(const pgcn_config *config) {
    return (pgcn_i_cost){.kept = 5 * config->layers + 2.6, .squares = 2, .hops = 1};
}

/* ---- settings -------------------------------------------------------------------------------- */

/* clang-format off */
static const pgcn_i_ignored ignored[] = {
    PGCN_I_FIXES("path-length", "2"), PGCN_I_FIXES("kernel", "layer"), PGCN_I_FIXES("kernel-start", "smooth"),
    PGCN_I_FIXES("kernel-noise", "0"), PGCN_I_FIXES("scaling", "sum"), PGCN_I_FIXES("self-loops", "no"),
    PGCN_I_FIXES("residual", "none"), PGCN_I_FIXES("batch-norm", "yes"), PGCN_I_FIXES("train-form", "exact"),
    PGCN_I_FIXES("paths-per-layer", "no"), PGCN_I_FIXES("input-hops", "0"), PGCN_I_FIXES("input-norm", "no"),
    PGCN_I_FIXES("readout", "layers"), PGCN_I_FIXES("return-p", "1"), PGCN_I_FIXES("inout-q", "1"),
    PGCN_I_FIXES("drop-rows", "0"), PGCN_I_FIXES("dropout-hidden", "0"), PGCN_I_FIXES("bf16", "no"), PGCN_I_FIXES("hidden-rows", "float32"),
    PGCN_I_IGNORES("paths"), PGCN_I_IGNORES("hops"), PGCN_I_IGNORES("mix"), PGCN_I_IGNORES("alpha"),
    PGCN_I_IGNORES("resample-every"), PGCN_I_REFUSES("walk", "node2vec", "uniform"),
    {NULL, NULL, NULL}};
/* clang-format on */
static const pgcn_i_setting *const own[] = {&eps, NULL};

const pgcn_i_network pgcn_i_gin = {
    .name = "gin",
    .levels = pgcn_i_level_per_layer,
    .about = "sums over neighbours and a small network per layer; the baseline for graphs",
    .declare = declare,
    .start = start,
    .record = record,
    .cost = cost,
    .why_ignored = ", which adds up neighbours",
    .drops_last_only = true,
    .ignored = ignored,
    .own = own};
