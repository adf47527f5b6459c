/* GCNII and GCNII* (Chen et al., "Simple and Deep Graph Convolutional Networks"): initial residuals and mappings near
 * the identity, with T = D~^-1/2 (A + I) D~^-1/2 and theta_l = log(lambda / l + 1), l from 1:
 *
 *   H_0 = ReLU( Dropout(X) W + b )                                       embed.weight, .bias
 *   S   = (1 - alpha) T H + alpha H_0
 *   GCNII    H' = ReLU( theta S W + (1 - theta) S )                      layers.<l>.weight
 *   GCNII*   H' = ReLU( theta (T H W + H_0 W_0) + (1 - theta) S )        layers.<l>.weight, .initial
 *   logits = Dropout(H) W + b                                            classifier.weight, .bias
 *
 * Dropout comes before every layer. `skip` adds H inside the ReLU, as the authors do on PPI. GCNII*'s products
 * are of T H and H_0 as they are, not weighted by 1 - alpha and alpha: so it is in the authors' program. */
#include "models/models.h"

#include <math.h>
#include <stdio.h>

static const pgcn_i_setting lambda = {
    .key = "lambda",
    .low = 0,
    .high = 100,
    .preset = 0.5,
    .help = "how far layers go from the identity: theta = log(lambda / l + 1)"};
static const pgcn_i_setting skip = {.key = "skip",
                                    .choices = "no | yes",
                                    .low = 0,
                                    .high = 1,
                                    .help = "adds the layer's input to its result"};

/* ---- parameters ------------------------------------------------------------------------------------ */

/* The first or the last layer, with the start of the authors' program. Glorot's start, which is two to three
 * times as wide there, overfits sooner: on Pubmed at epoch 48. */
static void declare_end(pgcn_i_params *params, int64_t in, int64_t out, const char *of) {
    const pgcn_i_param_spec weight = {
        .group = PGCN_I_GROUP_ENDS, .start = PGCN_I_START_INPUTS, .inputs = in, .shape = {in, out}};
    pgcn_i_param_spec bias = weight;
    bias.shape[0] = out;
    bias.shape[1] = 0;
    pgcn_i_params_add(params, weight, "%sweight", of);
    pgcn_i_params_add(params, bias, "%sbias", of);
}

static void declare_both(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape,
                         bool star) {
    int64_t c = config->channels;
    const pgcn_i_param_spec square = {
        .group = PGCN_I_GROUP_MIX, .start = PGCN_I_START_INPUTS, .inputs = c, .shape = {c, c}};
    declare_end(params, shape.features, c, "embed.");
    for (int l = 0; l < config->layers; l++) {
        char of[32];
        snprintf(of, sizeof of, "layers.%d.", l);
        pgcn_i_params_add(params, square, "%sweight", of);
        if (star) pgcn_i_params_add(params, square, "%sinitial", of);
        pgcn_i_set_norm_declare(params, config, PGCN_I_GROUP_MIX, c, of);
    }
    if (shape.per_graph)
        pgcn_i_readout_declare(params, config, shape, c);
    else
        declare_end(params, c, shape.classes, "classifier.");
}
static void declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    declare_both(params, config, shape, false);
}
static void declare_star(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    declare_both(params, config, shape, true);
}

/* ---- the network ----------------------------------------------------------------------------------- */

/* theta S W + (1 - theta) S, one product for every weight. */
static pgcn_i_value *record_mapping(pgcn_i_tape *tape, const pgcn_config *config,
                                    const pgcn_i_view *view, int l, pgcn_i_value *h,
                                    pgcn_i_value *h0) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_param *w = pgcn_i_param_named(params, "layers.%d.weight", l);
    pgcn_i_param *initial = pgcn_i_param_named(params, "layers.%d.initial", l);
    double theta = log(pgcn_i_own_value(config, &lambda) / (l + 1) + 1), alpha = config->alpha;
    if (!initial) {
        h = pgcn_i_op_propagate(
            tape, h, view->transitions,
            (pgcn_i_step){.neighbours = 1 - alpha, .residual = h0, .share = alpha});
        return pgcn_i_op_linear_near_identity(tape, h, w, theta, 1 - theta);
    }
    h = pgcn_i_op_propagate(tape, h, view->transitions, (pgcn_i_step){.neighbours = 1});
    h = pgcn_i_op_linear_near_identity(tape, h, w, theta, (1 - theta) * (1 - alpha));
    pgcn_i_value *of_h0 =
        pgcn_i_op_linear_near_identity(tape, h0, initial, theta, (1 - theta) * alpha);
    if (of_h0) of_h0->residual = true;
    return pgcn_i_op_add(tape, of_h0, h);
}

static pgcn_i_value *record_layer(pgcn_i_tape *tape, const pgcn_config *config,
                                  const pgcn_i_view *view, int l, pgcn_i_value *h,
                                  pgcn_i_value *h0) {
    char of[32];
    snprintf(of, sizeof of, "layers.%d.", l);
    pgcn_i_value *x = pgcn_i_op_dropout(tape, h, config->dropout_hidden);
    pgcn_i_value *y = record_mapping(tape, config, view, l, x, h0);
    if (pgcn_i_own_yes(config, &skip)) y = pgcn_i_op_add(tape, y, x);
    return pgcn_i_op_activate(tape, pgcn_i_set_norm_record(tape, y, of), NULL, true, 0);
}

static pgcn_i_value *record(pgcn_i_tape *tape, const pgcn_config *config, const pgcn_i_view *view) {
    pgcn_i_value **h = pgcn_i_layer_results(tape, config);
    if (!h) return NULL;
    h[0] = pgcn_i_dense_record(tape, config, view, (pgcn_i_conv){.relu = true}, "embed.");
    for (int l = 0; l < config->layers; l++)
        h[l + 1] = record_layer(tape, config, view, l, h[l], h[0]);
    return pgcn_i_logits_record(tape, config, view, h);
}

static pgcn_i_cost cost_of(const pgcn_config *config, double squares) {
    double norm = pgcn_i_has_norm(config) ? 2 : 0;
    double arrays = 2 + squares - 1 + norm + (config->dropout_hidden > 0 ? 1 : 0);
    return (pgcn_i_cost){.kept = arrays * config->layers + 2.6, .squares = squares, .hops = 1};
}
static pgcn_i_cost cost(const pgcn_config *config) {
    return cost_of(config, 1);
}
static pgcn_i_cost cost_star(const pgcn_config *config) {
    return cost_of(config, 2);
}

/* clang-format off */
static const pgcn_i_ignored ignored[] = {
    PGCN_I_NO_KERNELS, PGCN_I_FIXES("residual", "initial"), PGCN_I_FIXES("self-loops", "yes"),
    PGCN_I_FIXES("scaling", "symmetric"), {NULL, NULL, NULL}};
/* clang-format on */
static const pgcn_i_setting *const own[] = {&lambda, &skip, &pgcn_i_layer_norm, &pgcn_i_edge_keep,
                                            NULL};

#define SHARED                                                                                     \
    .record = record, .check = pgcn_i_check_norms,                                                 \
    .why_ignored = ", which takes means over neighbours", .hidden_from = 1, .ignored = ignored,    \
    .own = own
const pgcn_i_network pgcn_i_gcnii = {
    .name = "gcnii",
    .levels = pgcn_i_level_per_layer,
    .about = "deep graph convolutions: initial residual, identity mapping",
    .declare = declare,
    .cost = cost,
    SHARED};
const pgcn_i_network pgcn_i_gcnii_star = {
    .name = "gcnii-star",
    .levels = pgcn_i_level_per_layer,
    .about = "GCNII with weights of its own for the initial residual",
    .declare = declare_star,
    .cost = cost_star,
    SHARED};
