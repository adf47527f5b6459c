/* ChebNet (Defferrard et al., "Convolutional Neural Networks on Graphs with Fast Localized Spectral Filtering"):
 *
 *   H' = ReLU( sum_{k=0..K} T_k(L^) H W_k + b ),   L^ = 2 L / largest - I,   L = I - D^-1/2 A D^-1/2
 *
 * T_k are Chebyshev's polynomials. `order` is K: PyTorch Geometric's ChebConv counts K + 1. The weights W_0 .. W_K
 * stand side by side in layers.<l>.weight [in, (K + 1) out], and products come first (nn/ops_propagate.c). */
#include "models/models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const pgcn_i_setting order = {.key = "order",
                                     .whole = true,
                                     .low = 0,
                                     .high = 100,
                                     .preset = 2,
                                     .help = "K: the highest Chebyshev polynomial"};
static const pgcn_i_setting eigenvalue = {
    .key = "eigenvalue",
    .choices = "power | two",
    .low = 0,
    .high = 1,
    .help =
        "largest eigenvalue of the Laplacian: by power iteration on the training graph, or its bound 2"};

static int order_of(const pgcn_config *config) {
    return (int)pgcn_i_own_value(config, &order);
}

/* ---- parameters ------------------------------------------------------------------------------------ */

static void declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    pgcn_i_params_add(
        params,
        (pgcn_i_param_spec){.group = PGCN_I_GROUP_BUFFER, .start = PGCN_I_START_OWN, .shape = {1}},
        PGCN_I_EIGENVALUE);
    for (int l = 0; l < config->layers; l++) {
        char of[32];
        bool output = pgcn_i_is_output(config, shape.per_graph, l);
        int64_t out = output ? shape.classes : config->channels;
        pgcn_i_group group = l == 0 ? PGCN_I_GROUP_ENDS : PGCN_I_GROUP_MIX;
        snprintf(of, sizeof of, "layers.%d.", l);
        pgcn_i_params_add(params,
                          (pgcn_i_param_spec){.group = group,
                                              .start = PGCN_I_START_OWN,
                                              .shape = {l == 0 ? shape.features : config->channels,
                                                        (order_of(config) + 1) * out}},
                          "%sweight", of);
        pgcn_i_bias_declare(params, config, group, out, !output, of);
        if (!output) pgcn_i_set_norm_declare(params, config, group, out, of);
    }
    if (shape.per_graph) pgcn_i_readout_declare(params, config, shape, config->channels);
}

/* Glorot of each W_k; and the eigenvalue's bound, until the trainer knows the graph. */
static void start(const pgcn_i_param *param, const pgcn_config *config, pgcn_i_rng_domain domain,
                  float *value) {
    if (strcmp(param->name, PGCN_I_EIGENVALUE) == 0) {
        /* 0 asks for the power iteration */
        value[0] = pgcn_i_own_value(config, &eigenvalue) > 0 ? 2.0f : 0.0f;
        return;
    }
    double out = (double)param->shape[1] / (order_of(config) + 1);
    double limit = sqrt(6.0 / ((double)param->shape[0] + out));
    pgcn_i_start_uniform(value, param->count, limit, domain);
}

/* ---- the network ----------------------------------------------------------------------------------- */

static pgcn_i_value *record_layer(pgcn_i_tape *tape, const pgcn_config *config,
                                  const pgcn_i_view *view, pgcn_i_value *h, bool output,
                                  double dropout, const char *of) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_param *w = pgcn_i_param_named(params, "%sweight", of);
    pgcn_i_param *bias = pgcn_i_param_named(params, "%sbias", of);
    if (h)
        h = pgcn_i_op_linear(tape, h, w, NULL, false, 0);
    else
        h = pgcn_i_op_input(tape, view->input, view->samples,
                            (pgcn_i_opening){.dropout = view->segment ? 0 : config->dropout,
                                             .w = w,
                                             .linear = true});
    h = pgcn_i_op_chebyshev(tape, h, view->transitions, order_of(config),
                            pgcn_i_param_named(params, PGCN_I_EIGENVALUE));
    if (output) return pgcn_i_op_activate(tape, h, bias, false, 0);
    bool norm = pgcn_i_param_named(params, "%snorm.gain", of) != NULL;
    if (norm) h = pgcn_i_set_norm_record(tape, pgcn_i_op_activate(tape, h, bias, false, 0), of);
    return pgcn_i_op_activate(tape, h, norm ? NULL : bias, true, dropout);
}

static pgcn_i_value *record(pgcn_i_tape *tape, const pgcn_config *config, const pgcn_i_view *view) {
    bool per_graph = view->segment != NULL;
    pgcn_i_value *h = NULL;
    for (int l = 0; l < config->layers; l++) {
        char of[32];
        snprintf(of, sizeof of, "layers.%d.", l);
        h = record_layer(tape, config, view, h, pgcn_i_is_output(config, per_graph, l),
                         per_graph ? config->dropout_hidden : pgcn_i_dropout_after(config, l), of);
        pgcn_i_tape_layer(tape, l + 1, h);
    }
    return per_graph ? pgcn_i_readout_of_last(tape, config, view, h) : h;
}

static pgcn_i_cost cost(const pgcn_config *config) {
    double terms = order_of(config) + 1;
    double norm = pgcn_i_has_norm(config) ? 2 : 0;
    return (pgcn_i_cost){
        .kept = (1 + norm) * config->layers + 2 * terms, .squares = terms, .hops = terms - 1};
}

/* clang-format off */
static const pgcn_i_ignored ignored[] = {
    PGCN_I_NO_KERNELS, PGCN_I_NO_RESIDUAL, PGCN_I_FIXES("self-loops", "no"), PGCN_I_FIXES("scaling", "symmetric"),
    PGCN_I_REFUSES("readout", "layers", "linear"), {NULL, NULL, NULL}};
/* clang-format on */
static const pgcn_i_setting *const own[] = {&order, &eigenvalue, &pgcn_i_bias, &pgcn_i_layer_norm,
                                            NULL};

const pgcn_i_network pgcn_i_cheb = {.name = "cheb",
                                    .about = "ChebNet: Chebyshev polynomials of the Laplacian",
                                    .declare = declare,
                                    .start = start,
                                    .record = record,
                                    .cost = cost,
                                    .check = pgcn_i_check_norms,
                                    .why_ignored = ", which has polynomials of the Laplacian",
                                    .empty_rows = true,
                                    .hidden_from = 3,
                                    .ignored = ignored,
                                    .own = own};
