/* MLP: the features alone, the baseline that is blind to links.
 *
 *   nodes    n x c_in    L x [ Dropout, 1x1, norm, ReLU ], the last without norm and ReLU   -> n x c_out
 *   graphs   the sum of a graph's features, then the same                                  -> graphs x c_out */
#include "models/models.h"

static void declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    pgcn_i_mlp_declare(params, config, shape.features, shape.classes, true);
}

static pgcn_i_value *record(pgcn_i_tape *tape, const pgcn_config *config, const pgcn_i_view *view) {
    pgcn_i_value *x = NULL;
    if (view->segment) {
        x = pgcn_i_op_features(tape, view->input, view->samples, 0);
        x = pgcn_i_op_sum_pool(tape, x, view->segment, view->rows[PGCN_I_GRAPHS] * view->samples);
        if (config->layers == 1) x = pgcn_i_op_dropout(tape, x, pgcn_i_last_dropout(config));
    }
    return pgcn_i_mlp_record(tape, config, view, x, false);
}

static pgcn_i_cost cost(const pgcn_config *config) {
    return (pgcn_i_cost){.kept = config->layers + 1.6, .squares = 1, .hops = 0};
}

/* clang-format off */
static const pgcn_i_ignored ignored[] = {
    PGCN_I_NO_KERNELS, PGCN_I_NO_RESIDUAL, PGCN_I_IGNORES("scaling"), PGCN_I_IGNORES("self-loops"),
    PGCN_I_IGNORES("walk"), PGCN_I_IGNORES("direction"), PGCN_I_IGNORES("readout"), {NULL, NULL, NULL}};
/* clang-format on */
static const pgcn_i_setting *const own[] = {&pgcn_i_bias, &pgcn_i_layer_norm, NULL};

const pgcn_i_network pgcn_i_mlp = {.name = "mlp",
                                   .levels = pgcn_i_no_level,
                                   .about =
                                       "features alone, no links; of graphs the sum of features",
                                   .declare = declare,
                                   .record = record,
                                   .cost = cost,
                                   .check = pgcn_i_check_norms,
                                   .why_ignored = ", which does not look at links",
                                   .hidden_from = 3,
                                   .ignored = ignored,
                                   .own = own};
