/* JKNet (Xu et al., "Representation Learning on Graphs with Jumping Knowledge Networks"), as DropEdge has it: a
 * convolution to c channels, layers - 2 more, and a last one that reads the results of all of them:
 *
 *   concat   T [ H_0, H_1, .. ] W + b  =  T (H_0 W_0 + H_1 W_1 + ..) + b      classifier.<l>.weight, classifier.bias
 *   max      T max(H_0, H_1, ..) W + b                                        classifier.weight, classifier.bias */
#include "models/models.h"

#include <stdio.h>

static const pgcn_i_setting jump = {
    .key = "jump",
    .choices = "concat | max",
    .low = 0,
    .high = 1,
    .help = "how the last layer reads all before it: side by side, or the largest of each channel"};

static void prefix(char of[32], int l) {
    snprintf(of, 32, "layers.%d.", l);
}

static bool takes_max(const pgcn_config *config) {
    return pgcn_i_own_value(config, &jump) > 0;
}

static void declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    const pgcn_i_param_spec last = {.group = PGCN_I_GROUP_MIX,
                                    .start = PGCN_I_START_GLOROT,
                                    .shape = {config->channels, shape.classes}};
    for (int l = 0; l < config->layers - 1; l++) {
        char of[32];
        prefix(of, l);
        pgcn_i_conv_declare(
            params, config,
            (pgcn_i_conv_shape){.group = l == 0 ? PGCN_I_GROUP_ENDS : PGCN_I_GROUP_MIX,
                                .in = l == 0 ? shape.features : config->channels,
                                .out = config->channels,
                                .self = pgcn_i_own_yes(config, &pgcn_i_self_mix),
                                .norm = true},
            of);
    }
    for (int l = 0; !takes_max(config) && l < config->layers - 1; l++)
        pgcn_i_params_add(params, last, "classifier.%d.weight", l);
    if (takes_max(config)) pgcn_i_params_add(params, last, "classifier.weight");
    pgcn_i_bias_declare(params, config, PGCN_I_GROUP_MIX, shape.classes, false, "classifier.");
}

static pgcn_i_value *record_jump(pgcn_i_tape *tape, const pgcn_config *config, pgcn_i_value **h) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_value *y = NULL;
    for (int l = 0; l < config->layers - 1; l++) {
        pgcn_i_value *part = h[l];
        if (!takes_max(config))
            part = pgcn_i_op_linear(
                tape, part, pgcn_i_param_named(params, "classifier.%d.weight", l), NULL, false, 0);
        if (!y)
            y = part;
        else
            y = takes_max(config) ? pgcn_i_op_max(tape, y, part) : pgcn_i_op_add(tape, part, y);
    }
    if (takes_max(config))
        y = pgcn_i_op_linear(tape, y, pgcn_i_param_named(params, "classifier.weight"), NULL, false,
                             0);
    return y;
}

static pgcn_i_value *record(pgcn_i_tape *tape, const pgcn_config *config, const pgcn_i_view *view) {
    pgcn_i_value **h = pgcn_i_layer_results(tape, config);
    if (!h) return NULL;
    for (int l = 0; l < config->layers - 1; l++) {
        char of[32];
        prefix(of, l);
        h[l] = pgcn_i_conv_record(tape, config, view,
                                  (pgcn_i_conv){.x = l == 0 ? NULL : h[l - 1],
                                                .relu = true,
                                                .dropout = pgcn_i_dropout_after(config, l)},
                                  of);
        pgcn_i_tape_layer(tape, l + 1, h[l]);
    }
    pgcn_i_value *y = pgcn_i_op_propagate(tape, record_jump(tape, config, h), view->transitions,
                                          (pgcn_i_step){.neighbours = 1});
    return pgcn_i_op_activate(tape, y, pgcn_i_param_named(tape->params, "classifier.bias"), false,
                              0);
}

static pgcn_i_cost cost(const pgcn_config *config) {
    double norm = pgcn_i_has_norm(config) ? 2 : 0;
    return (pgcn_i_cost){.kept = (1.2 + norm) * config->layers + 2.6, .squares = 1, .hops = 1};
}

/* clang-format off */
static const pgcn_i_ignored ignored[] = {
    PGCN_I_NO_KERNELS, PGCN_I_NO_RESIDUAL, PGCN_I_FIXES("self-loops", "yes"), PGCN_I_IGNORES("readout"),
    PGCN_I_REFUSES("scaling", "sum", "symmetric"), {NULL, NULL, NULL}};
/* clang-format on */
static const pgcn_i_setting *const own[] = {
    &jump, &pgcn_i_bias, &pgcn_i_layer_norm, &pgcn_i_edge_keep, &pgcn_i_self_mix, NULL};

const pgcn_i_network pgcn_i_jknet = {.name = "jknet",
                                     .levels = pgcn_i_level_per_layer,
                                     .about =
                                         "convolutions whose last layer reads the results of all",
                                     .declare = declare,
                                     .record = record,
                                     .cost = cost,
                                     .check = pgcn_i_check_norms,
                                     .why_ignored = ", which takes means over neighbours",
                                     .why_no_graphs = "its last layer is a convolution of nodes",
                                     .hidden_from = 3,
                                     .least_layers = 2,
                                     .ignored = ignored,
                                     .own = own};
