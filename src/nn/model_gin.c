/* GIN (Xu et al., "How Powerful are Graph Neural Networks?"), the baseline beside the paper's network
 * for graphs. Sums over neighbours are a path convolution of two nodes with the operator A, whose
 * kernel (1 + eps, 1) stays at (1, 1) where its learning rate is 0, as in GIN-0:
 *
 *   n x c_in   L x [ sum, 1x1, batch norm, ReLU, 1x1, batch norm, ReLU ]   -> n x c
 *   n x ...    the readout of all layers, or a 1x1 for every node          -> graphs (n) x c_out */
#include "nn/network.h"

#include <stdio.h>

static void linear_declare(pgcn_i_params *params, int64_t in, int64_t out, const char *of) {
    pgcn_i_params_add(params, PGCN_I_GROUP_MIX, false, 2, in, out, 0, "%sweight", of);
    pgcn_i_params_add(params, PGCN_I_GROUP_MIX, false, 1, out, 0, 0, "%sbias", of);
}

void pgcn_i_gin_declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    int64_t c = config->channels;
    for (int l = 0; l < config->layers; l++) {
        char inner[48], outer[48];
        snprintf(inner, sizeof inner, "layers.%d.inner.", l);
        snprintf(outer, sizeof outer, "layers.%d.", l);
        pgcn_i_params_add(params, PGCN_I_GROUP_KERNEL, true, 1, 2, 0, 0, "layers.%d.kernel", l);
        linear_declare(params, l == 0 ? shape.features : c, c, inner);
        pgcn_i_norm_declare(params, PGCN_I_GROUP_MIX, c, inner);
        linear_declare(params, c, c, outer);
        pgcn_i_norm_declare(params, PGCN_I_GROUP_MIX, c, outer);
    }
    if (shape.per_graph) {
        pgcn_i_readout_declare(params, config, shape, shape.features);
        return;
    }
    pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 2, c, shape.classes, 0,
                      "classifier.weight");
    pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 1, shape.classes, 0, 0, "classifier.bias");
}

/* 1x1, batch norm, ReLU */
static pgcn_i_value *record_half(pgcn_i_tape *tape, pgcn_i_value *x, const char *of) {
    x = pgcn_i_op_linear(tape, x, pgcn_i_param_named(tape->params, "%sweight", of),
                         pgcn_i_param_named(tape->params, "%sbias", of), false, 0);
    return pgcn_i_op_relu(tape, pgcn_i_norm_record(tape, x, of));
}

pgcn_i_value *pgcn_i_gin_record(pgcn_i_tape *tape, const pgcn_config *config,
                                const pgcn_i_place *place) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_value **h = PGCN_I_ARRAY(&tape->arena, pgcn_i_value *, config->layers + 1);
    if (!h) {
        tape->status = PGCN_ERR_MEMORY;
        return NULL;
    }
    h[0] = pgcn_i_op_features(tape, place->input, place->samples, 0);
    for (int l = 0; l < config->layers; l++) {
        char inner[48], outer[48];
        snprintf(inner, sizeof inner, "layers.%d.inner.", l);
        snprintf(outer, sizeof outer, "layers.%d.", l);
        pgcn_i_value *x = pgcn_i_op_pathconv(
            tape, h[l],
            (pgcn_i_pathconv){.transition = place->transitions,
                              .kernel = PGCN_KERNEL_LAYER,
                              .k = 2,
                              .s = pgcn_i_network_kernel_param(params, config, l)});
        h[l + 1] = record_half(tape, record_half(tape, x, inner), outer);
    }
    if (place->segment) return pgcn_i_readout_record(tape, config, place, h);
    return pgcn_i_op_linear(tape,
                            pgcn_i_op_dropout(tape, h[config->layers], pgcn_i_last_dropout(config)),
                            pgcn_i_param_named(params, "classifier.weight"),
                            pgcn_i_param_named(params, "classifier.bias"), false, 0);
}
