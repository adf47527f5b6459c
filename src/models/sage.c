/* GraphSAGE with means (Hamilton et al., "Inductive Representation Learning on Large Graphs"), over all neighbours
 * instead of a sample of them:
 *
 *   n x c_in   L x [ Dropout, D^-1 A X W + X W_self + b, norm, ReLU ]   -> n x c    layers.<l>.weight, .self.weight, ...
 *   n x c      Dropout, 1x1; or the readout                            -> n x c_out  classifier.*
 *
 * W over [x, mean] side by side is W and W_self, one above the other. Rows are not scaled to length 1 at the end. */
#include "models/models.h"

#include <stdio.h>

static void declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    for (int l = 0; l < config->layers; l++) {
        char of[32];
        snprintf(of, sizeof of, "layers.%d.", l);
        pgcn_i_conv_declare(
            params, config,
            (pgcn_i_conv_shape){.group = l == 0 ? PGCN_I_GROUP_ENDS : PGCN_I_GROUP_MIX,
                                .in = l == 0 ? shape.features : config->channels,
                                .out = config->channels,
                                .self = true,
                                .norm = true},
            of);
    }
    if (shape.per_graph)
        pgcn_i_readout_declare(params, config, shape, config->channels);
    else
        pgcn_i_linear_declare(params, PGCN_I_GROUP_ENDS, config->channels, shape.classes,
                              "classifier.");
}

static pgcn_i_value *record(pgcn_i_tape *tape, const pgcn_config *config, const pgcn_i_view *view) {
    pgcn_i_value *h = NULL;
    for (int l = 0; l < config->layers; l++) {
        char of[32];
        bool last = l == config->layers - 1 && !view->segment;
        snprintf(of, sizeof of, "layers.%d.", l);
        h = pgcn_i_conv_record(
            tape, config, view,
            (pgcn_i_conv){.x = h,
                          .relu = true,
                          .dropout = last ? pgcn_i_last_dropout(config) : config->dropout_hidden},
            of);
        pgcn_i_tape_layer(tape, l + 1, h);
    }
    if (view->segment) return pgcn_i_readout_of_last(tape, config, view, h);
    return pgcn_i_linear_record(tape, h, "classifier.", false, 0);
}

static pgcn_i_cost cost(const pgcn_config *config) {
    double norm = pgcn_i_has_norm(config) ? 2 : 0;
    return (pgcn_i_cost){.kept = (2 + norm) * config->layers + 2.6, .squares = 2, .hops = 1};
}

/* clang-format off */
static const pgcn_i_ignored ignored[] = {
    PGCN_I_NO_KERNELS, PGCN_I_NO_RESIDUAL, PGCN_I_FIXES("self-loops", "no"), PGCN_I_FIXES("scaling", "walk"),
    PGCN_I_REFUSES("readout", "layers", "linear"), {NULL, NULL, NULL}};
/* clang-format on */
static const pgcn_i_setting *const own[] = {&pgcn_i_bias, &pgcn_i_layer_norm, &pgcn_i_edge_keep,
                                            NULL};

const pgcn_i_network pgcn_i_sage = {.name = "sage",
                                    .levels = pgcn_i_level_per_layer,
                                    .about = "GraphSAGE with means over all neighbours",
                                    .declare = declare,
                                    .record = record,
                                    .cost = cost,
                                    .check = pgcn_i_check_norms,
                                    .why_ignored = ", which takes means over neighbours",
                                    .empty_rows = true,
                                    .ignored = ignored,
                                    .own = own};
