/* EGNN (Zhou et al., "Dirichlet Energy Constrained Learning for Deep Graph Neural Networks"): layers whose Dirichlet
 * energy has a lower and an upper bound, with T = D~^-1/2 (A + I) D~^-1/2 and a = c-min - beta:
 *
 *   H_0 = ReLU( Dropout(X) W + b )                                              embed.weight, .bias
 *   H'  = SReLU( norm( [(1 - c-min) T H + a H + beta H_0] W ) )                 layers.<l>.weight
 *   SReLU(x) = ReLU(x - t) + t                                                  layers.<l>.threshold
 *   logits = Dropout(H) W + b                                                   classifier.weight, .bias
 *   loss    += orthogonal sum_l |W_l - s_l I|_F,   s_0 = sqrt(c-max), all others 1
 *
 * Dropout comes before every layer. W_l starts at s_l I, and the norm in the loss is not squared: so it is in the
 * authors' program. There the thresholds of the last layer are not given to the optimiser; here they are. */
#include "models/models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const pgcn_i_setting c_min = {
    .key = "c-min",
    .low = 0,
    .high = 1,
    .preset = 0.2,
    .help = "share of a layer that is not of the neighbours: the lower bound of the energy"};
static const pgcn_i_setting c_max = {
    .key = "c-max",
    .low = 0.0001,
    .high = 100,
    .preset = 1,
    .help = "upper bound of the energy: the first layer starts at its root times the identity"};
static const pgcn_i_setting beta = {
    .key = "beta",
    .low = 0,
    .high = 1,
    .preset = 0.1,
    .help =
        "share of the first embedding in every layer, at most c-min; the rest of c-min is the layer's input"};
static const pgcn_i_setting orthogonal = {
    .key = "orthogonal",
    .low = 0,
    .high = 1e6,
    .preset = 20,
    .help = "weight, in the loss, of the distance between layers and the identity"};
static const pgcn_i_setting threshold = {.key = "threshold",
                                         .low = -1e6,
                                         .high = 1e6,
                                         .preset = -10,
                                         .help = "where the learnt thresholds of SReLU start"};

/* ---- parameters ------------------------------------------------------------------------------------ */

static void declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    int64_t c = config->channels;
    pgcn_i_linear_declare(params, PGCN_I_GROUP_ENDS, shape.features, c, "embed.");
    for (int l = 0; l < config->layers; l++) {
        char of[32];
        snprintf(of, sizeof of, "layers.%d.", l);
        pgcn_i_params_add(params,
                          (pgcn_i_param_spec){.group = PGCN_I_GROUP_MIX,
                                              .start = PGCN_I_START_OWN,
                                              .shape = {c, c}},
                          "%sweight", of);
        pgcn_i_params_add(params,
                          (pgcn_i_param_spec){.group = PGCN_I_GROUP_KERNEL,
                                              .start = PGCN_I_START_OWN,
                                              .shape = {c}},
                          "%sthreshold", of);
        pgcn_i_set_norm_declare(params, config, PGCN_I_GROUP_MIX, c, of);
    }
    if (shape.per_graph)
        pgcn_i_readout_declare(params, config, shape, c);
    else
        pgcn_i_linear_declare(params, PGCN_I_GROUP_ENDS, c, shape.classes, "classifier.");
}

/* s_l of layer l. */
static double diagonal_of(const pgcn_config *config, int l) {
    return l == 0 ? sqrt(pgcn_i_own_value(config, &c_max)) : 1;
}

static void start(const pgcn_i_param *param, const pgcn_config *config, pgcn_i_rng_domain domain,
                  float *value) {
    (void)domain;
    int64_t c = config->channels;
    bool first = strcmp(param->name, "layers.0.weight") == 0;
    for (int64_t e = 0; e < param->count && param->rank == 1; e++)
        value[e] = (float)pgcn_i_own_value(config, &threshold);
    for (int64_t i = 0; i < c && param->rank == 2; i++)
        value[i * c + i] = (float)diagonal_of(config, first ? 0 : 1);
}

/* ---- the network ----------------------------------------------------------------------------------- */

static pgcn_i_value *record_layer(pgcn_i_tape *tape, const pgcn_config *config,
                                  const pgcn_i_view *view, int l, pgcn_i_value *h,
                                  pgcn_i_value *h0) {
    double least = pgcn_i_own_value(config, &c_min), of_first = pgcn_i_own_value(config, &beta);
    char of[32];
    snprintf(of, sizeof of, "layers.%d.", l);
    pgcn_i_value *x = pgcn_i_op_dropout(tape, h, config->dropout_hidden);
    x = pgcn_i_op_propagate(
        tape, x, view->transitions,
        (pgcn_i_step){
            .self = least - of_first, .neighbours = 1 - least, .residual = h0, .share = of_first});
    x = pgcn_i_op_linear_orthogonal(
        tape, x, pgcn_i_param_named(tape->params, "%sweight", of),
        (pgcn_i_orthogonal){diagonal_of(config, l), pgcn_i_own_value(config, &orthogonal)});
    return pgcn_i_op_shifted_relu(tape, pgcn_i_set_norm_record(tape, x, of),
                                  pgcn_i_param_named(tape->params, "%sthreshold", of));
}

static pgcn_i_value *record(pgcn_i_tape *tape, const pgcn_config *config, const pgcn_i_view *view) {
    pgcn_i_value **h = pgcn_i_layer_results(tape, config);
    if (!h) return NULL;
    h[0] = pgcn_i_dense_record(tape, config, view, (pgcn_i_conv){.relu = true}, "embed.");
    for (int l = 0; l < config->layers; l++)
        h[l + 1] = record_layer(tape, config, view, l, h[l], h[0]);
    return pgcn_i_logits_record(tape, config, view, h);
}

static pgcn_i_cost cost(const pgcn_config *config) {
    double norm = pgcn_i_has_norm(config) ? 2 : 0;
    double arrays = 2 + norm + (config->dropout_hidden > 0 ? 1 : 0);
    return (pgcn_i_cost){.kept = arrays * config->layers + 2.6, .squares = 1, .hops = 1};
}

/* ---- settings -------------------------------------------------------------------------------------- */

static pgcn_status check(const pgcn_config *config) {
    double least = pgcn_i_own_value(config, &c_min), of_first = pgcn_i_own_value(config, &beta);
    if (of_first > least)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "beta is %g and c-min %g: the share of the layer's input, c-min - beta, "
                           "would be negative; set beta to at most c-min",
                           of_first, least);
    return pgcn_i_check_norms(config);
}

/* clang-format off */
static const pgcn_i_ignored ignored[] = {
    PGCN_I_NO_PATHS, PGCN_I_FIXES("residual", "initial"), PGCN_I_IGNORES("alpha"), PGCN_I_FIXES("self-loops", "yes"),
    PGCN_I_FIXES("scaling", "symmetric"), {NULL, NULL, NULL}};
/* clang-format on */
static const pgcn_i_setting *const own[] = {
    &c_min, &c_max, &beta, &orthogonal, &threshold, &pgcn_i_layer_norm, &pgcn_i_edge_keep, NULL};

const pgcn_i_network pgcn_i_egnn = {
    .name = "egnn",
    .levels = pgcn_i_level_per_layer,
    .about = "deep graph convolutions whose energy is bounded: SReLU, layers near the identity",
    .declare = declare,
    .start = start,
    .record = record,
    .cost = cost,
    .check = check,
    .why_ignored = ", which takes means over neighbours",
    .hidden_from = 1,
    .ignored = ignored,
    .own = own};
