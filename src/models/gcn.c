/* GCN (Kipf and Welling, "Semi-Supervised Classification with Graph Convolutional Networks"), with what later
 * papers add to it: norms, residuals, DropEdge. T = D~^-1/2 (A + I) D~^-1/2, or D~^-1 (A + I) with scaling walk.
 *
 *   nodes    n x c_in    L x [ Dropout, T X W + b, norm, ReLU ], the last without norm and ReLU   -> n x c_out
 *   graphs   n x c_in    L x [ T X W + b, norm, ReLU ], then the readout                         -> graphs x c_out */
#include "models/models.h"

#include <stdio.h>

static void declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    for (int l = 0; l < config->layers; l++) {
        char of[32];
        bool output = pgcn_i_is_output(config, shape.per_graph, l);
        snprintf(of, sizeof of, "layers.%d.", l);
        pgcn_i_conv_declare(
            params, config,
            (pgcn_i_conv_shape){.group = l == 0 ? PGCN_I_GROUP_ENDS : PGCN_I_GROUP_MIX,
                                .in = l == 0 ? shape.features : config->channels,
                                .out = output ? shape.classes : config->channels,
                                .self = pgcn_i_own_yes(config, &pgcn_i_self_mix),
                                .norm = !output},
            of);
    }
    if (shape.per_graph) pgcn_i_readout_declare(params, config, shape, config->channels);
}

/* What a hidden layer is mixed with: layers that change the number of columns have none. */
static pgcn_i_value *residual_of(const pgcn_config *config, pgcn_i_value *h, pgcn_i_value *first,
                                 bool output) {
    if (output || config->residual == PGCN_RESIDUAL_NONE) return NULL;
    return config->residual == PGCN_RESIDUAL_INITIAL ? first : h;
}

static pgcn_i_value *record(pgcn_i_tape *tape, const pgcn_config *config, const pgcn_i_view *view) {
    bool per_graph = view->segment != NULL;
    pgcn_i_value *h = NULL, *first = NULL;
    for (int l = 0; l < config->layers; l++) {
        char of[32];
        bool output = pgcn_i_is_output(config, per_graph, l);
        snprintf(of, sizeof of, "layers.%d.", l);
        double dropout = output      ? 0
                         : per_graph ? config->dropout_hidden
                                     : pgcn_i_dropout_after(config, l);
        h = pgcn_i_conv_record(tape, config, view,
                               (pgcn_i_conv){.x = h,
                                             .relu = !output,
                                             .dropout = dropout,
                                             .residual = residual_of(config, h, first, output)},
                               of);
        pgcn_i_tape_layer(tape, l + 1, h);
        if (l == 0) first = h;
    }
    return per_graph ? pgcn_i_readout_of_last(tape, config, view, h) : h;
}

static pgcn_i_cost cost(const pgcn_config *config) {
    double norm = pgcn_i_has_norm(config) ? 2 : 0;
    return (pgcn_i_cost){.kept = (1 + norm) * config->layers + 2.6, .squares = 1, .hops = 1};
}

/* clang-format off */
static const pgcn_i_ignored ignored[] = {
    PGCN_I_NO_KERNELS, PGCN_I_FIXES("self-loops", "yes"), PGCN_I_REFUSES("scaling", "sum", "symmetric"),
    PGCN_I_REFUSES("readout", "layers", "linear"), {NULL, NULL, NULL}};
/* clang-format on */
static const pgcn_i_setting *const own[] = {&pgcn_i_bias, &pgcn_i_layer_norm, &pgcn_i_edge_keep,
                                            &pgcn_i_self_mix, NULL};

const pgcn_i_network pgcn_i_gcn = {.name = "gcn",
                                   .levels = pgcn_i_level_per_layer,
                                   .about = "graph convolutions of Kipf and Welling",
                                   .declare = declare,
                                   .record = record,
                                   .cost = cost,
                                   .check = pgcn_i_check_norms,
                                   .why_ignored = ", which takes means over neighbours",
                                   .hidden_from = 3,
                                   .residual_from = 3,
                                   .ignored = ignored,
                                   .own = own};
