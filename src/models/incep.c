/* IncepGCN, as DropEdge has it: a convolution to c channels, then branches of 1 .. layers - 2 convolutions side by
 * side, and a last convolution that reads the first result and the end of every branch:
 *
 *   H_0 = conv(X)                                                      input.*
 *   B_b = b convolutions one after the other, from H_0                 branches.<b>.<l>.*,  b from 1
 *   logits = T (H_0 W_0 + B_1 W_1 + B_2 W_2 + ..) + b                  classifier.<b>.weight, classifier.bias
 *
 * With n branches there are n (n + 1) / 2 convolutions: deep ones take long. */
#include "models/models.h"

#include <stdio.h>

static int branches_of(const pgcn_config *config) {
    return config->layers - 2;
}

static void declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    int64_t c = config->channels;
    pgcn_i_conv_shape conv = {.group = PGCN_I_GROUP_ENDS,
                              .in = shape.features,
                              .out = c,
                              .self = pgcn_i_own_yes(config, &pgcn_i_self_mix),
                              .norm = true};
    pgcn_i_conv_declare(params, config, conv, "input.");
    conv.group = PGCN_I_GROUP_MIX;
    conv.in = c;
    for (int b = 1; b <= branches_of(config); b++)
        for (int l = 0; l < b; l++) {
            char of[40];
            snprintf(of, sizeof of, "branches.%d.%d.", b, l);
            pgcn_i_conv_declare(params, config, conv, of);
        }
    for (int b = 0; b <= branches_of(config); b++)
        pgcn_i_params_add(params,
                          (pgcn_i_param_spec){.group = PGCN_I_GROUP_MIX,
                                              .start = PGCN_I_START_GLOROT,
                                              .shape = {c, shape.classes}},
                          "classifier.%d.weight", b);
    pgcn_i_bias_declare(params, config, PGCN_I_GROUP_MIX, shape.classes, false, "classifier.");
}

static pgcn_i_value *record_branch(pgcn_i_tape *tape, const pgcn_config *config,
                                   const pgcn_i_view *view, pgcn_i_value *h, int b) {
    for (int l = 0; l < b; l++) {
        char of[40];
        snprintf(of, sizeof of, "branches.%d.%d.", b, l);
        double dropout = l == b - 1 ? pgcn_i_last_dropout(config) : config->dropout_hidden;
        h = pgcn_i_conv_record(tape, config, view,
                               (pgcn_i_conv){.x = h, .relu = true, .dropout = dropout}, of);
        if (b == branches_of(config)) pgcn_i_tape_layer(tape, l + 2, h); /* of the longest branch */
    }
    return h;
}

/* The longest branch comes first: what leads furthest is the first user of H_0 (live.c). */
static pgcn_i_value *record(pgcn_i_tape *tape, const pgcn_config *config, const pgcn_i_view *view) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_value *h = pgcn_i_conv_record(
        tape, config, view, (pgcn_i_conv){.relu = true, .dropout = pgcn_i_dropout_after(config, 0)},
        "input.");
    pgcn_i_value *y = NULL;
    pgcn_i_tape_layer(tape, 1, h);
    for (int b = branches_of(config); b >= 0; b--) {
        pgcn_i_value *end = record_branch(tape, config, view, h, b);
        end = pgcn_i_op_linear(tape, end, pgcn_i_param_named(params, "classifier.%d.weight", b),
                               NULL, false, 0);
        y = y ? pgcn_i_op_add(tape, end, y) : end;
    }
    y = pgcn_i_op_propagate(tape, y, view->transitions, (pgcn_i_step){.neighbours = 1});
    return pgcn_i_op_activate(tape, y, pgcn_i_param_named(params, "classifier.bias"), false, 0);
}

/* The first convolution, those of the longest branch, and the last one. */
static int levels(const pgcn_config *config) {
    return branches_of(config) + 2;
}

/* Of a layer, on average over layers. */
static pgcn_i_cost cost(const pgcn_config *config) {
    double each = (branches_of(config) + 1) / 2.0;
    double norm = pgcn_i_has_norm(config) ? 2 : 0;
    return (pgcn_i_cost){
        .kept = (1 + norm) * each * config->layers + 4, .squares = each, .hops = each};
}

/* clang-format off */
static const pgcn_i_ignored ignored[] = {
    PGCN_I_NO_KERNELS, PGCN_I_NO_RESIDUAL, PGCN_I_FIXES("self-loops", "yes"), PGCN_I_IGNORES("readout"),
    PGCN_I_REFUSES("scaling", "sum", "symmetric"), {NULL, NULL, NULL}};
/* clang-format on */
static const pgcn_i_setting *const own[] = {&pgcn_i_bias, &pgcn_i_layer_norm, &pgcn_i_edge_keep,
                                            &pgcn_i_self_mix, NULL};

const pgcn_i_network pgcn_i_incep = {.name = "incep",
                                     .levels = levels,
                                     .about = "branches of 1, 2, .. convolutions side by side",
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
