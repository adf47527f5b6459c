/* The paper's networks (its appendix), with the residual forms and starts of the recipes. Read
 * pgcn_i_pathgcn_record beside the table "pathGCN architecture for node classification":
 *
 *   n x c_in   (path convolution, batch norm)      -> n x c_in    input.kernel, input.norm.*
 *   n x c_in   Dropout, 1x1 convolution, ReLU      -> n x c       embed.weight, embed.bias
 *   n x c      L x pathGCN block                   -> n x c       layers.<l>.kernel, .weight
 *   n x c      Dropout, 1x1 convolution            -> n x c_out   classifier.weight, .bias
 *
 * and pgcn_i_pathgcn_record_graphs beside the one "for graph classification":
 *
 *   n x c_in   1x1 convolution, ReLU               -> n x c       embed.weight, embed.bias
 *   n x c      L x [ pathGCN, BN, 1x1, ReLU ]      -> n x c       layers.<l>.kernel, .norm.*, .weight, .bias
 *   n x c      Add-pool, 1x1, Dropout, 1x1         -> 1 x c_out   readout.*, classifier.* */
#include "nn/network.h"

#include <stdio.h>

/* ---- parameters ---------------------------------------------------------------------------- */

static bool has_mix(const pgcn_config *config) {
    return config->kernel != PGCN_KERNEL_FULL;
}
static bool smooths_inputs(const pgcn_config *config) {
    return config->input_hops > 0;
}

static void declare_kernel(pgcn_i_params *params, const pgcn_config *config, int layer) {
    int64_t c = config->channels, k = config->path_length;
    const int rank[] = {
        [PGCN_KERNEL_LAYER] = 1, [PGCN_KERNEL_DEPTHWISE] = 2, [PGCN_KERNEL_FULL] = 3};
    if (config->kernel == PGCN_KERNEL_GLOBAL) return; /* it is not the layer's own */
    pgcn_i_params_add(params, PGCN_I_GROUP_KERNEL, true, rank[config->kernel], k, c, c,
                      "layers.%d.kernel", layer);
}

static void declare_mix(pgcn_i_params *params, const pgcn_config *config, int layer) {
    int64_t c = config->channels;
    if (has_mix(config))
        pgcn_i_params_add(params, PGCN_I_GROUP_MIX, config->mix == PGCN_MIX_IDENTITY, 2, c, c, 0,
                          "layers.%d.weight", layer);
}

static void declare_block(pgcn_i_params *params, const pgcn_config *config, int layer) {
    int64_t c = config->channels;
    declare_kernel(params, config, layer);
    declare_mix(params, config, layer);
    if (!config->batch_norm) return;
    pgcn_i_params_add(params, PGCN_I_GROUP_BUFFER, false, 1, c, 0, 0, "layers.%d.norm.mean", layer);
    pgcn_i_params_add(params, PGCN_I_GROUP_BUFFER, false, 1, c, 0, 0,
                      "layers.%d." PGCN_NORM_VARIANCE, layer);
}

static void declare_graph_block(pgcn_i_params *params, const pgcn_config *config, int layer) {
    char of[32];
    snprintf(of, sizeof of, "layers.%d.", layer);
    declare_kernel(params, config, layer);
    if (config->batch_norm) pgcn_i_norm_declare(params, PGCN_I_GROUP_MIX, config->channels, of);
    declare_mix(params, config, layer);
    if (has_mix(config))
        pgcn_i_params_add(params, PGCN_I_GROUP_MIX, true, 1, config->channels, 0, 0, "%sbias", of);
}

void pgcn_i_pathgcn_declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    int64_t c = config->channels, k = config->path_length;
    if (smooths_inputs(config))
        pgcn_i_params_add(params, PGCN_I_GROUP_BUFFER, false, 1, k, 0, 0, PGCN_INPUT_KERNEL);
    if (config->input_norm)
        pgcn_i_norm_declare(params, PGCN_I_GROUP_ENDS, shape.features, "input.");
    pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 2, shape.features, c, 0, "embed.weight");
    pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 1, c, 0, 0, "embed.bias");
    if (config->kernel == PGCN_KERNEL_GLOBAL)
        pgcn_i_params_add(params, PGCN_I_GROUP_KERNEL, true, 1, k, 0, 0, "kernel");
    for (int l = 0; l < config->layers; l++)
        shape.per_graph ? declare_graph_block(params, config, l) : declare_block(params, config, l);
    if (shape.per_graph) {
        pgcn_i_readout_declare(params, config, shape, c);
        return;
    }
    pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 2, c, shape.classes, 0,
                      "classifier.weight");
    pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 1, shape.classes, 0, 0, "classifier.bias");
}

/* ---- nodes --------------------------------------------------------------------------------- */

/* The embedding:  H0 = ReLU( Dropout(X) W + b ), then whole rows dropped; or, of inputs that paths
 * smooth,  H0 = ReLU( Dropout( BN( K DropRows(X) ) ) W + b ). */
static pgcn_i_value *record_embedding(pgcn_i_tape *tape, const pgcn_config *config,
                                      const pgcn_i_place *place, double dropout) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_param *w = pgcn_i_param_named(params, "embed.weight");
    pgcn_i_param *b = pgcn_i_param_named(params, "embed.bias");
    if (!smooths_inputs(config)) {
        pgcn_i_value *h = pgcn_i_op_input(tape, place->input, place->samples, dropout, w, b);
        return pgcn_i_op_drop_rows(tape, h, config->drop_rows);
    }
    pgcn_i_value *x = pgcn_i_op_features(tape, place->input, place->samples, config->drop_rows);
    x = pgcn_i_op_smooth(tape, x, place->transitions, config->path_length,
                         pgcn_i_param_named(params, PGCN_INPUT_KERNEL));
    if (config->input_norm) x = pgcn_i_norm_record(tape, x, "input.");
    return pgcn_i_op_linear(tape, pgcn_i_op_dropout(tape, x, dropout), w, b, true, 0);
}

/* (1 - alpha) K H + alpha R,  R = H0, H or nothing */
static pgcn_i_value *record_paths(pgcn_i_tape *tape, const pgcn_config *config,
                                  const pgcn_i_place *place, int layer, pgcn_i_value *h,
                                  pgcn_i_value *h0) {
    pgcn_i_value *residual = config->residual == PGCN_RESIDUAL_INITIAL    ? h0
                             : config->residual == PGCN_RESIDUAL_PREVIOUS ? h
                                                                          : NULL;
    return pgcn_i_op_pathconv(
        tape, h,
        (pgcn_i_pathconv){.transition = &place->transitions[config->paths_per_layer ? layer : 0],
                          .kernel = config->kernel,
                          .k = config->path_length,
                          .s = pgcn_i_network_kernel_param(tape->params, config, layer),
                          .residual = residual,
                          .alpha = config->alpha});
}

/* One block:  H' = Dropout( ReLU( BN( ((1 - alpha) K H + alpha R) W ) ) ). */
static pgcn_i_value *record_block(pgcn_i_tape *tape, const pgcn_config *config,
                                  const pgcn_i_place *place, int layer, pgcn_i_value *h,
                                  pgcn_i_value *h0, double dropout) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_value *x = record_paths(tape, config, place, layer, h, h0);
    bool relu_now = !config->batch_norm;
    if (has_mix(config))
        x = pgcn_i_op_linear(tape, x, pgcn_i_param_named(params, "layers.%d.weight", layer), NULL,
                             relu_now, dropout);
    if (config->batch_norm)
        x = pgcn_i_op_batch_norm(
            tape, x, NULL, NULL, pgcn_i_param_named(params, "layers.%d.norm.mean", layer),
            pgcn_i_param_named(params, "layers.%d." PGCN_NORM_VARIANCE, layer));
    if (has_mix(config) && relu_now) return x;
    return pgcn_i_op_dropout(tape, pgcn_i_op_relu(tape, x), dropout);
}

pgcn_i_value *pgcn_i_pathgcn_record(pgcn_i_tape *tape, const pgcn_config *config,
                                    const pgcn_i_place *place) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_value *h = record_embedding(tape, config, place, config->dropout);
    pgcn_i_value *h0 = h;
    for (int l = 0; l < config->layers; l++)
        h = record_block(tape, config, place, l, h, h0,
                         l == config->layers - 1 ? pgcn_i_last_dropout(config)
                                                 : config->dropout_hidden);
    return pgcn_i_op_linear(tape, h, pgcn_i_param_named(params, "classifier.weight"),
                            pgcn_i_param_named(params, "classifier.bias"), false, 0);
}

/* ---- graphs -------------------------------------------------------------------------------- */

/* One block:  H' = Dropout( ReLU( BN( (1 - alpha) K H + alpha R ) W + b ) ). */
static pgcn_i_value *record_graph_block(pgcn_i_tape *tape, const pgcn_config *config,
                                        const pgcn_i_place *place, int layer, pgcn_i_value *h,
                                        pgcn_i_value *h0) {
    const pgcn_i_params *params = tape->params;
    char of[32];
    snprintf(of, sizeof of, "layers.%d.", layer);
    pgcn_i_value *x = record_paths(tape, config, place, layer, h, h0);
    if (config->batch_norm) x = pgcn_i_norm_record(tape, x, of);
    if (has_mix(config))
        return pgcn_i_op_linear(tape, x, pgcn_i_param_named(params, "%sweight", of),
                                pgcn_i_param_named(params, "%sbias", of), true,
                                config->dropout_hidden);
    return pgcn_i_op_dropout(tape, pgcn_i_op_relu(tape, x), config->dropout_hidden);
}

pgcn_i_value *pgcn_i_pathgcn_record_graphs(pgcn_i_tape *tape, const pgcn_config *config,
                                           const pgcn_i_place *place) {
    pgcn_i_value **h = PGCN_I_ARRAY(&tape->arena, pgcn_i_value *, config->layers + 1);
    if (!h) {
        tape->status = PGCN_ERR_MEMORY;
        return NULL;
    }
    h[0] = record_embedding(tape, config, place, 0); /* dropout is before the last layer only */
    for (int l = 0; l < config->layers; l++)
        h[l + 1] = record_graph_block(tape, config, place, l, h[l], h[0]);
    return pgcn_i_readout_record(tape, config, place, h);
}
