/* What comes after the layers where graphs are classified: the rows of a graph are added up, and a
 * small network makes its logits of the sum.
 *
 *   linear   1x1 (Dropout (1x1 (sum of the last layer)))             the paper's table
 *   relu     the same with a ReLU after the first 1x1
 *   layers   sum over all layers, the input of the first included, of Dropout (1x1 (sum))     GIN
 *
 * And the batch norm with gain and shift that both architectures have. */
#include "nn/network.h"

#include <stdio.h>

/* ---- batch norm ------------------------------------------------------------------------------ */

void pgcn_i_norm_declare(pgcn_i_params *params, pgcn_i_group group, int64_t channels,
                         const char *of) {
    bool to_start = group == PGCN_I_GROUP_MIX; /* as the 1x1 weights beside it */
    pgcn_i_params_add(params, group, to_start, 1, channels, 0, 0, "%s" PGCN_NORM_GAIN, of);
    pgcn_i_params_add(params, group, to_start, 1, channels, 0, 0, "%snorm.shift", of);
    pgcn_i_params_add(params, PGCN_I_GROUP_BUFFER, false, 1, channels, 0, 0, "%snorm.mean", of);
    pgcn_i_params_add(params, PGCN_I_GROUP_BUFFER, false, 1, channels, 0, 0,
                      "%s" PGCN_NORM_VARIANCE, of);
}

pgcn_i_value *pgcn_i_norm_record(pgcn_i_tape *tape, pgcn_i_value *x, const char *of) {
    const pgcn_i_params *params = tape->params;
    return pgcn_i_op_batch_norm(tape, x, pgcn_i_param_named(params, "%s" PGCN_NORM_GAIN, of),
                                pgcn_i_param_named(params, "%snorm.shift", of),
                                pgcn_i_param_named(params, "%snorm.mean", of),
                                pgcn_i_param_named(params, "%s" PGCN_NORM_VARIANCE, of));
}

/* ---- readout --------------------------------------------------------------------------------- */

void pgcn_i_readout_declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape,
                            int64_t first_channels) {
    int64_t c = config->channels;
    for (int l = 0; config->readout == PGCN_READOUT_LAYERS && l <= config->layers; l++) {
        pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 2, l == 0 ? first_channels : c,
                          shape.classes, 0, "classifier.%d.weight", l);
        pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 1, shape.classes, 0, 0,
                          "classifier.%d.bias", l);
    }
    if (config->readout == PGCN_READOUT_LAYERS) return;
    pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 2, c, c, 0, "readout.weight");
    pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 1, c, 0, 0, "readout.bias");
    pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 2, c, shape.classes, 0,
                      "classifier.weight");
    pgcn_i_params_add(params, PGCN_I_GROUP_ENDS, false, 1, shape.classes, 0, 0, "classifier.bias");
}

static pgcn_i_value *linear(pgcn_i_tape *tape, pgcn_i_value *x, const char *of, bool relu,
                            double dropout) {
    return pgcn_i_op_linear(tape, x, pgcn_i_param_named(tape->params, "%s.weight", of),
                            pgcn_i_param_named(tape->params, "%s.bias", of), relu, dropout);
}

pgcn_i_value *pgcn_i_readout_record(pgcn_i_tape *tape, const pgcn_config *config,
                                    const pgcn_i_place *place, pgcn_i_value **h) {
    double dropout = pgcn_i_last_dropout(config);
    pgcn_i_value *logits = NULL;
    for (int l = 0; config->readout == PGCN_READOUT_LAYERS && l <= config->layers; l++) {
        char of[32];
        snprintf(of, sizeof of, "classifier.%d", l);
        pgcn_i_value *sum = pgcn_i_op_sum_pool(tape, h[l], place->segment, place->graphs);
        pgcn_i_value *part = pgcn_i_op_dropout(tape, linear(tape, sum, of, false, 0), dropout);
        logits = logits ? pgcn_i_op_add(tape, part, logits) : part;
    }
    if (config->readout == PGCN_READOUT_LAYERS) return logits;
    bool relu = config->readout == PGCN_READOUT_RELU;
    pgcn_i_value *sum = pgcn_i_op_sum_pool(tape, h[config->layers], place->segment, place->graphs);
    pgcn_i_value *x = linear(tape, sum, "readout", relu, dropout);
    if (!relu) x = pgcn_i_op_dropout(tape, x, dropout);
    return linear(tape, x, "classifier", false, 0);
}
