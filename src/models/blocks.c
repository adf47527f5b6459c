/* What networks are made of: the 1x1 convolution with a bias, the batch norm with gain and shift, and the
 * readout, which adds up the rows of a graph's nodes and makes its logits of the sum:
 *
 *   linear   1x1 (Dropout (1x1 (sum of the last layer)))             the paper's table
 *   relu     the same with a ReLU after the first 1x1
 *   layers   sum over all layers, the input of the first included, of Dropout (1x1 (sum))     GIN */
#include "models/models.h"

#include <stdio.h>

/* ---- 1x1 convolution -------------------------------------------------------------------------- */

void pgcn_i_linear_declare(pgcn_i_params *params, pgcn_i_group group, int64_t in, int64_t out,
                           const char *of) {
    pgcn_i_params_add(
        params,
        (pgcn_i_param_spec){.group = group, .start = PGCN_I_START_GLOROT, .shape = {in, out}},
        "%sweight", of);
    pgcn_i_params_add(params, (pgcn_i_param_spec){.group = group, .shape = {out}}, "%sbias", of);
}

pgcn_i_value *pgcn_i_linear_record(pgcn_i_tape *tape, pgcn_i_value *x, const char *of, bool relu,
                                   double dropout) {
    return pgcn_i_op_linear(tape, x, pgcn_i_param_named(tape->params, "%sweight", of),
                            pgcn_i_param_named(tape->params, "%sbias", of), relu, dropout);
}

/* ---- batch norm ------------------------------------------------------------------------------ */

void pgcn_i_gains_declare(pgcn_i_params *params, pgcn_i_group group, int64_t channels,
                          const char *of) {
    pgcn_i_param_spec shift = {.group = group,
                               .decay_to_start =
                                   group == PGCN_I_GROUP_MIX, /* as the 1x1 weights beside it */
                               .shape = {channels}};
    pgcn_i_param_spec gain = shift;
    gain.start = PGCN_I_START_ONES;
    pgcn_i_params_add(params, gain, "%snorm.gain", of);
    pgcn_i_params_add(params, shift, "%snorm.shift", of);
}

void pgcn_i_norm_declare(pgcn_i_params *params, pgcn_i_group group, int64_t channels,
                         const char *of) {
    pgcn_i_param_spec mean = {.group = PGCN_I_GROUP_BUFFER, .shape = {channels}}, variance = mean;
    variance.start = PGCN_I_START_ONES;
    pgcn_i_gains_declare(params, group, channels, of);
    pgcn_i_params_add(params, mean, "%snorm.mean", of);
    pgcn_i_params_add(params, variance, "%snorm.variance", of);
}

pgcn_i_value *pgcn_i_norm_record(pgcn_i_tape *tape, pgcn_i_value *x, const char *of) {
    const pgcn_i_params *params = tape->params;
    return pgcn_i_op_batch_norm(tape, x, pgcn_i_param_named(params, "%snorm.gain", of),
                                pgcn_i_param_named(params, "%snorm.shift", of),
                                pgcn_i_param_named(params, "%snorm.mean", of),
                                pgcn_i_param_named(params, "%snorm.variance", of));
}

/* ---- readout --------------------------------------------------------------------------------- */

void pgcn_i_readout_declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape,
                            int64_t first_channels) {
    int64_t c = config->channels;
    for (int l = 0; config->readout == PGCN_READOUT_LAYERS && l <= config->layers; l++) {
        char of[32];
        snprintf(of, sizeof of, "classifier.%d.", l);
        pgcn_i_linear_declare(params, PGCN_I_GROUP_ENDS, l == 0 ? first_channels : c, shape.classes,
                              of);
    }
    if (config->readout == PGCN_READOUT_LAYERS) return;
    pgcn_i_linear_declare(params, PGCN_I_GROUP_ENDS, c, c, "readout.");
    pgcn_i_linear_declare(params, PGCN_I_GROUP_ENDS, c, shape.classes, "classifier.");
}

pgcn_i_value *pgcn_i_readout_of_last(pgcn_i_tape *tape, const pgcn_config *config,
                                     const pgcn_i_view *view, pgcn_i_value *h) {
    double dropout = pgcn_i_last_dropout(config);
    int64_t graphs = view->rows[PGCN_I_GRAPHS] * view->samples;
    bool relu = config->readout == PGCN_READOUT_RELU;
    pgcn_i_value *sum = pgcn_i_op_sum_pool(tape, h, view->segment, graphs);
    pgcn_i_value *x = pgcn_i_linear_record(tape, sum, "readout.", relu, dropout);
    if (!relu) x = pgcn_i_op_dropout(tape, x, dropout);
    return pgcn_i_linear_record(tape, x, "classifier.", false, 0);
}

pgcn_i_value **pgcn_i_layer_results(pgcn_i_tape *tape, const pgcn_config *config) {
    pgcn_i_value **h = PGCN_I_ARRAY(&tape->arena, pgcn_i_value *, config->layers + 1);
    if (!h) tape->status = PGCN_ERR_MEMORY;
    return h;
}

static void mark_layers(pgcn_i_tape *tape, const pgcn_config *config, pgcn_i_value **h) {
    for (int l = 0; l <= config->layers; l++) pgcn_i_tape_layer(tape, l, h[l]);
}

pgcn_i_value *pgcn_i_readout_record(pgcn_i_tape *tape, const pgcn_config *config,
                                    const pgcn_i_view *view, pgcn_i_value **h) {
    double dropout = pgcn_i_last_dropout(config);
    int64_t graphs = view->rows[PGCN_I_GRAPHS] * view->samples;
    pgcn_i_value *logits = NULL;
    mark_layers(tape, config, h);
    for (int l = 0; config->readout == PGCN_READOUT_LAYERS && l <= config->layers; l++) {
        char of[32];
        snprintf(of, sizeof of, "classifier.%d.", l);
        pgcn_i_value *sum = pgcn_i_op_sum_pool(tape, h[l], view->segment, graphs);
        pgcn_i_value *part =
            pgcn_i_op_dropout(tape, pgcn_i_linear_record(tape, sum, of, false, 0), dropout);
        logits = logits ? pgcn_i_op_add(tape, part, logits) : part;
    }
    if (config->readout == PGCN_READOUT_LAYERS) return logits;
    return pgcn_i_readout_of_last(tape, config, view, h[config->layers]);
}

pgcn_i_value *pgcn_i_logits_record(pgcn_i_tape *tape, const pgcn_config *config,
                                   const pgcn_i_view *view, pgcn_i_value **h) {
    if (view->segment) return pgcn_i_readout_record(tape, config, view, h);
    mark_layers(tape, config, h);
    pgcn_i_value *x = pgcn_i_op_dropout(tape, h[config->layers], pgcn_i_last_dropout(config));
    return pgcn_i_linear_record(tape, x, "classifier.", false, 0);
}
