/* What the networks of fixed convolutions share: a layer along the links, one without them, and settings. */
#include "models/models.h"

#include <stdio.h>

/* ---- settings ---------------------------------------------------------------------------------- */

#define YES_OR_NO .choices = "no | yes", .low = 0, .high = 1
const pgcn_i_setting pgcn_i_bias = {.key = "bias",
                                    YES_OR_NO,
                                    .preset = 1,
                                    .help = "a bias in every layer that no batch norm follows"};
const pgcn_i_setting pgcn_i_layer_norm = {
    .key = "layer-norm", YES_OR_NO, .help = "layer norm before the ReLU of every hidden layer"};
const pgcn_i_setting pgcn_i_self_mix = {
    .key = "self-mix",
    YES_OR_NO,
    .help = "weights of its own for the node itself, beside those of its neighbourhood"};
const pgcn_i_setting pgcn_i_edge_keep = {
    .key = "edge-keep",
    .low = 0.001,
    .high = 1,
    .preset = 1,
    .help = "share of the edges that a step of training keeps, drawn anew each time (DropEdge)"};
const pgcn_i_setting pgcn_i_powers = {.key = "powers",
                                      .whole = true,
                                      .low = 0,
                                      .high = 1000,
                                      .preset = 2,
                                      .help = "steps along the links"};

const pgcn_i_setting pgcn_i_heads = {.key = "heads",
                                     .whole = true,
                                     .low = 1,
                                     .high = PGCN_MOST_HEADS,
                                     .preset = 8,
                                     .help = "heads of attention, which share its channels"};
const pgcn_i_setting pgcn_i_step_size = {.key = "step",
                                         .low = 1e-6,
                                         .high = 1000,
                                         .preset = 1,
                                         .help = "step of the integration in time, of one layer"};

bool pgcn_i_own_yes(const pgcn_config *config, const pgcn_i_setting *setting) {
    return pgcn_i_network_has(pgcn_i_network_of(config), setting) &&
           pgcn_i_own_value(config, setting) > 0;
}

double pgcn_i_kept_edges(const pgcn_config *config) {
    if (!pgcn_i_network_has(pgcn_i_network_of(config), &pgcn_i_edge_keep)) return 1;
    return pgcn_i_own_value(config, &pgcn_i_edge_keep);
}

pgcn_status pgcn_i_check_norms(const pgcn_config *config) {
    if (!config->batch_norm || !pgcn_i_own_yes(config, &pgcn_i_layer_norm)) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "batch-norm and layer-norm are both yes: a layer has one norm; set one of "
                       "them to no");
}

bool pgcn_i_has_norm(const pgcn_config *config) {
    return config->batch_norm || pgcn_i_own_yes(config, &pgcn_i_layer_norm);
}

bool pgcn_i_is_output(const pgcn_config *config, bool per_graph, int l) {
    return !per_graph && l == config->layers - 1;
}

/* ---- norms ------------------------------------------------------------------------------------- */

void pgcn_i_set_norm_declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_group group,
                             int64_t channels, const char *of) {
    if (config->batch_norm) pgcn_i_norm_declare(params, group, channels, of);
    if (config->batch_norm || !pgcn_i_own_yes(config, &pgcn_i_layer_norm)) return;
    pgcn_i_param_spec shift = {.group = group, .decay_to_start = true, .shape = {channels}};
    pgcn_i_param_spec gain = shift;
    gain.start = PGCN_I_START_ONES;
    pgcn_i_params_add(params, gain, "%snorm.gain", of);
    pgcn_i_params_add(params, shift, "%snorm.shift", of);
}

pgcn_i_value *pgcn_i_set_norm_record(pgcn_i_tape *tape, pgcn_i_value *x, const char *of) {
    pgcn_i_param *gain = pgcn_i_param_named(tape->params, "%snorm.gain", of);
    if (!gain) return x;
    if (pgcn_i_param_named(tape->params, "%snorm.mean", of)) return pgcn_i_norm_record(tape, x, of);
    return pgcn_i_op_layer_norm(tape, x, gain,
                                pgcn_i_param_named(tape->params, "%snorm.shift", of));
}

/* ---- a layer ----------------------------------------------------------------------------------- */

void pgcn_i_weight_declare(pgcn_i_params *params, pgcn_i_conv_shape shape, const char *name,
                           const char *of) {
    pgcn_i_params_add(params,
                      (pgcn_i_param_spec){.group = shape.group,
                                          .start = PGCN_I_START_GLOROT,
                                          .shape = {shape.in, shape.out}},
                      "%s%s", of, name);
}

/* What batch norm takes away again is not there. */
void pgcn_i_bias_declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_group group,
                         int64_t channels, bool norm, const char *of) {
    if (!pgcn_i_own_yes(config, &pgcn_i_bias) || (norm && config->batch_norm)) return;
    pgcn_i_params_add(params, (pgcn_i_param_spec){.group = group, .shape = {channels}}, "%sbias",
                      of);
}

void pgcn_i_conv_declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_conv_shape shape,
                         const char *of) {
    pgcn_i_weight_declare(params, shape, "weight", of);
    if (shape.self) pgcn_i_weight_declare(params, shape, "self.weight", of);
    pgcn_i_bias_declare(params, config, shape.group, shape.out, shape.norm, of);
    if (shape.norm) pgcn_i_set_norm_declare(params, config, shape.group, shape.out, of);
}

/* Where graphs are classified, dropout is before the last layer only. */
static double input_dropout(const pgcn_config *config, const pgcn_i_view *view) {
    return view->segment ? 0 : config->dropout;
}

pgcn_i_value *pgcn_i_product_record(pgcn_i_tape *tape, const pgcn_config *config,
                                    const pgcn_i_view *view, pgcn_i_value *x, pgcn_i_param *w) {
    if (x) return pgcn_i_op_linear(tape, x, w, NULL, false, 0);
    return pgcn_i_op_input(
        tape, view->input, view->samples,
        (pgcn_i_opening){.dropout = input_dropout(config, view), .w = w, .linear = true});
}

static pgcn_i_value *record_end(pgcn_i_tape *tape, pgcn_i_value *y, pgcn_i_conv conv,
                                const char *of) {
    pgcn_i_param *bias = pgcn_i_param_named(tape->params, "%sbias", of);
    if (pgcn_i_param_named(tape->params, "%snorm.gain", of)) {
        y = pgcn_i_op_activate(tape, y, bias, false, 0);
        y = pgcn_i_set_norm_record(tape, y, of);
        bias = NULL;
    }
    return pgcn_i_op_activate(tape, y, bias, conv.relu, conv.dropout);
}

/* Rows of a part of which some links are drawn lead to many times more rows: in training these are added up before
 * they are multiplied. Inference keeps the order, and so the bits, of the whole graph. */
static bool adds_first(const pgcn_i_tape *tape, const pgcn_i_view *view, const pgcn_i_conv *conv) {
    return tape->with_grad && view->part && view->part->few_links && !conv->residual &&
           (conv->x || view->input->dense);
}

static pgcn_i_value *record_sums(pgcn_i_tape *tape, const pgcn_config *config,
                                 const pgcn_i_view *view, pgcn_i_value *x) {
    if (x) return pgcn_i_op_propagate(tape, x, view->transitions, (pgcn_i_step){.neighbours = 1});
    return pgcn_i_op_spread(tape, view->input, view->samples, view->transitions,
                            input_dropout(config, view));
}

/* The product comes first: it has fewer columns than the features, and as many as the rows elsewhere. What
 * leads to neighbours is recorded before what needs the same row alone (live.c). */
pgcn_i_value *pgcn_i_conv_record(pgcn_i_tape *tape, const pgcn_config *config,
                                 const pgcn_i_view *view, pgcn_i_conv conv, const char *of) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_param *self = pgcn_i_param_named(params, "%sself.weight", of);
    pgcn_i_param *w = pgcn_i_param_named(params, "%sweight", of);
    double alpha = conv.residual ? config->alpha : 0;
    pgcn_i_value *y;
    if (adds_first(tape, view, &conv)) {
        y = pgcn_i_op_linear(tape, record_sums(tape, config, view, conv.x), w, NULL, false, 0);
    } else {
        y = pgcn_i_product_record(tape, config, view, conv.x, w);
        y = pgcn_i_op_propagate(
            tape, y, view->transitions,
            (pgcn_i_step){.neighbours = 1 - alpha, .residual = conv.residual, .share = alpha});
    }
    if (self) y = pgcn_i_op_add(tape, pgcn_i_product_record(tape, config, view, conv.x, self), y);
    return record_end(tape, y, conv, of);
}

pgcn_i_value *pgcn_i_dense_record(pgcn_i_tape *tape, const pgcn_config *config,
                                  const pgcn_i_view *view, pgcn_i_conv conv, const char *of) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_param *w = pgcn_i_param_named(params, "%sweight", of);
    pgcn_i_param *b = pgcn_i_param_named(params, "%sbias", of);
    bool norm = pgcn_i_param_named(params, "%snorm.gain", of) != NULL, relu = conv.relu && !norm;
    pgcn_i_value *y;
    if (conv.x)
        y = pgcn_i_op_linear(tape, conv.x, w, b, relu, conv.dropout);
    else
        y = pgcn_i_op_input(
            tape, view->input, view->samples,
            (pgcn_i_opening){
                .dropout = input_dropout(config, view), .w = w, .b = b, .linear = !relu});
    if (norm) y = pgcn_i_set_norm_record(tape, y, of);
    if (norm && conv.relu) return pgcn_i_op_activate(tape, y, NULL, true, conv.dropout);
    return conv.x && relu ? y : pgcn_i_op_dropout(tape, y, conv.dropout);
}

double pgcn_i_dropout_after(const pgcn_config *config, int l) {
    return l == config->layers - 2 ? pgcn_i_last_dropout(config) : config->dropout_hidden;
}

/* ---- MLP --------------------------------------------------------------------------------------- */

void pgcn_i_mlp_declare(pgcn_i_params *params, const pgcn_config *config, int64_t in, int64_t out,
                        bool norm) {
    for (int l = 0; l < config->layers; l++) {
        char of[32];
        bool last = l == config->layers - 1;
        snprintf(of, sizeof of, "layers.%d.", l);
        pgcn_i_conv_declare(
            params, config,
            (pgcn_i_conv_shape){.group = l == 0 ? PGCN_I_GROUP_ENDS : PGCN_I_GROUP_MIX,
                                .in = l == 0 ? in : config->channels,
                                .out = last ? out : config->channels,
                                .norm = norm && !last},
            of);
    }
}

pgcn_i_value *pgcn_i_mlp_record(pgcn_i_tape *tape, const pgcn_config *config,
                                const pgcn_i_view *view, pgcn_i_value *x, bool relu) {
    for (int l = 0; l < config->layers; l++) {
        char of[32];
        bool last = l == config->layers - 1;
        snprintf(of, sizeof of, "layers.%d.", l);
        x = pgcn_i_dense_record(
            tape, config, view,
            (pgcn_i_conv){.x = x,
                          .relu = relu || !last,
                          .dropout = last ? 0 : pgcn_i_dropout_after(config, l)},
            of);
        pgcn_i_tape_layer(tape, l + 1, x);
    }
    return x;
}

/* ---- the Laplacian ------------------------------------------------------------------------------- */

float *pgcn_i_network_eigenvalue(const pgcn_i_params *params) {
    const pgcn_i_param *param = pgcn_i_param_named(params, PGCN_I_EIGENVALUE);
    return param ? pgcn_i_value_of(params, param) : NULL;
}
