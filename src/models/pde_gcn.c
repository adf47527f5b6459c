/* PDE-GCN (Eliasof, Haber and Treister, "PDE-GCN: Novel Architectures for Graph Neural Networks Motivated by Partial
 * Differential Equations"): layers are steps of the size h of diffusion, of the wave equation, or of a learnt mixture.
 * G is the gradient along the links, (G x)_ij = T_ij (x_i - x_j), T = D~^-1/2 (A + I) D~^-1/2:
 *
 *   x_0 = ReLU( Dropout(X) W + b )                                       embed.weight, .bias
 *   d   = G^T s( G Dropout(x_l) K ) K^T                                  layers.<l>.weight
 *   pde-gcn-d   x_l+1 = x_l - h d
 *   pde-gcn-h   x_l+1 = x_l + (x_l - x_l-1) - h^2 d                      x_-1 = x_0
 *   pde-gcn-m   x_l+1 = x_l + r (x_l - x_l-1) - u d                      mixture
 *   logits = Dropout(x) W + b                                            classifier.weight, .bias
 *
 * with b = sigmoid(mixture), r = b / (b + (1 - b) h), u = h^2 / (b + (1 - b) h): b (x_l+1 - 2 x_l + x_l-1) / h^2 +
 * (1 - b) (x_l+1 - x_l) / h = -d. One mixture belongs to all layers. K starts at I and up to 0.001 more in every
 * element. The step is taken as x_l+1 = x_l + v_l+1, v_l+1 = r v_l - u d. What the authors' program does otherwise:
 * docs/NETWORKS.md. */
#include "models/models.h"

#include <stdio.h>

static const pgcn_i_setting activation = {
    .key = "activation",
    .choices = "tanh | relu",
    .low = 0,
    .high = 1,
    .help =
        "what acts on gradients along links; relu cancels out where links have both directions"};

typedef enum dynamics { DIFFUSION, WAVE, MIXTURE } dynamics;

/* ---- parameters ------------------------------------------------------------------------------------ */

static void declare_any(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape,
                        dynamics kind) {
    int64_t c = config->channels;
    const pgcn_i_group ends = PGCN_I_GROUP_ENDS;
    pgcn_i_conv_declare(params, config,
                        (pgcn_i_conv_shape){.group = ends, .in = shape.features, .out = c},
                        "embed.");
    for (int l = 0; l < config->layers; l++)
        pgcn_i_params_add(params,
                          (pgcn_i_param_spec){.group = PGCN_I_GROUP_MIX,
                                              .start = PGCN_I_START_OWN,
                                              .shape = {c, c}},
                          "layers.%d.weight", l);
    if (kind == MIXTURE)
        pgcn_i_params_add(params, (pgcn_i_param_spec){.group = PGCN_I_GROUP_KERNEL, .shape = {1}},
                          "mixture");
    if (shape.per_graph)
        pgcn_i_readout_declare(params, config, shape, c);
    else
        pgcn_i_conv_declare(params, config,
                            (pgcn_i_conv_shape){.group = ends, .in = c, .out = shape.classes},
                            "classifier.");
}
static void declare_d(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    declare_any(params, config, shape, DIFFUSION);
}
static void declare_m(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    declare_any(params, config, shape, MIXTURE);
}

static void start(const pgcn_i_param *param, const pgcn_config *config, pgcn_i_rng_domain domain,
                  float *value) {
    int64_t c = config->channels;
    pgcn_i_start_uniform(value, param->count, 0.0005, domain);
    for (int64_t e = 0; e < param->count; e++) value[e] += (e / c == e % c ? 1.0f : 0.0f) + 0.0005f;
}

/* ---- the network ----------------------------------------------------------------------------------- */

/* v_l+1 = r v - u d; v is NULL in the first layer. */
static pgcn_i_value *record_change(pgcn_i_tape *tape, const pgcn_config *config,
                                   const pgcn_i_view *view, int l, pgcn_i_value *x, pgcn_i_value *v,
                                   dynamics kind) {
    pgcn_i_param *k = pgcn_i_param_named(tape->params, "layers.%d.weight", l);
    double h = pgcn_i_own_value(config, &pgcn_i_step_size);
    x = pgcn_i_op_dropout(tape, x, config->dropout_hidden);
    x = pgcn_i_op_linear(tape, x, k, NULL, false, 0);
    x = pgcn_i_op_flux(tape, x, view->transitions, pgcn_i_own_yes(config, &activation));
    if (kind == MIXTURE)
        return pgcn_i_op_momentum(tape, pgcn_i_op_linear_transposed(tape, x, k, 1), v,
                                  pgcn_i_param_named(tape->params, "mixture"), h);
    x = pgcn_i_op_linear_transposed(tape, x, k, kind == WAVE ? -h * h : -h);
    return kind == WAVE && v ? pgcn_i_op_add(tape, x, v) : x;
}

static pgcn_i_value *record_any(pgcn_i_tape *tape, const pgcn_config *config,
                                const pgcn_i_view *view, dynamics kind) {
    pgcn_i_value **x = pgcn_i_layer_results(tape, config), *v = NULL;
    if (!x) return NULL;
    x[0] = pgcn_i_dense_record(tape, config, view, (pgcn_i_conv){.relu = true}, "embed.");
    for (int l = 0; l < config->layers; l++) {
        v = record_change(tape, config, view, l, x[l], v, kind);
        x[l + 1] = pgcn_i_op_add(tape, v, x[l]);
    }
    return pgcn_i_logits_record(tape, config, view, x);
}
static pgcn_i_value *record_d(pgcn_i_tape *tape, const pgcn_config *config,
                              const pgcn_i_view *view) {
    return record_any(tape, config, view, DIFFUSION);
}
static pgcn_i_value *record_h(pgcn_i_tape *tape, const pgcn_config *config,
                              const pgcn_i_view *view) {
    return record_any(tape, config, view, WAVE);
}
static pgcn_i_value *record_m(pgcn_i_tape *tape, const pgcn_config *config,
                              const pgcn_i_view *view) {
    return record_any(tape, config, view, MIXTURE);
}

static pgcn_i_cost cost_d(const pgcn_config *config) {
    return (pgcn_i_cost){.kept = 3 * config->layers + 2.6, .squares = 2, .hops = 2};
}
static pgcn_i_cost cost_m(const pgcn_config *config) {
    return (pgcn_i_cost){.kept = 5 * config->layers + 2.6, .squares = 2, .hops = 2};
}

/* ---- settings -------------------------------------------------------------------------------------- */

/* clang-format off */
#define FIXED                                                                                       \
    PGCN_I_NO_RESIDUAL, PGCN_I_FIXES("self-loops", "yes"), PGCN_I_FIXES("scaling", "symmetric"),    \
    PGCN_I_FIXES("batch-norm", "no"), {NULL, NULL, NULL}
static const pgcn_i_ignored ignored[] = {PGCN_I_NO_KERNELS, FIXED};
static const pgcn_i_ignored ignored_m[] = {PGCN_I_NO_PATHS, FIXED};
/* clang-format on */
static const pgcn_i_setting *const own[] = {&pgcn_i_step_size, &activation, &pgcn_i_bias,
                                            &pgcn_i_edge_keep, NULL};

#define SHARED                                                                                     \
    .start = start, .why_ignored = ", which takes differences along links", .hidden_from = 1,      \
    .reads_both = true, .own = own
const pgcn_i_network pgcn_i_pde_gcn_d = {.name = "pde-gcn-d",
                                         .about = "layers that are steps of a diffusion",
                                         .declare = declare_d,
                                         .record = record_d,
                                         .cost = cost_d,
                                         .ignored = ignored,
                                         SHARED};
const pgcn_i_network pgcn_i_pde_gcn_h = {.name = "pde-gcn-h",
                                         .about = "layers that are steps of a wave equation",
                                         .declare = declare_d,
                                         .record = record_h,
                                         .cost = cost_d,
                                         .ignored = ignored,
                                         SHARED};
const pgcn_i_network pgcn_i_pde_gcn_m = {
    .name = "pde-gcn-m",
    .about = "layers that are steps of a learnt mixture of diffusion and waves",
    .declare = declare_m,
    .record = record_m,
    .cost = cost_m,
    .ignored = ignored_m,
    SHARED};
