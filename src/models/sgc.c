/* SGC (Wu et al., "Simplifying Graph Convolutional Networks"):  T^K X W + b,  T = D~^-1/2 (A + I) D~^-1/2. The powers
 * are the same in every step, so that the features are multiplied by them once (views/powers.c) and what is trained
 * is a linear layer. Of graphs it is one of the sum over a graph's nodes. */
#include "models/models.h"

static void declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    pgcn_i_conv_declare(
        params, config,
        (pgcn_i_conv_shape){.group = PGCN_I_GROUP_ENDS, .in = shape.features, .out = shape.classes},
        "classifier.");
}

static pgcn_i_value *record(pgcn_i_tape *tape, const pgcn_config *config, const pgcn_i_view *view) {
    pgcn_i_value *x = NULL;
    if (view->segment) {
        x = pgcn_i_op_features(tape, view->input, view->samples, 0);
        x = pgcn_i_op_sum_pool(tape, x, view->segment, view->rows[PGCN_I_GRAPHS] * view->samples);
        x = pgcn_i_op_dropout(tape, x, pgcn_i_last_dropout(config));
    }
    return pgcn_i_dense_record(tape, config, view, (pgcn_i_conv){.x = x}, "classifier.");
}

static int powers(const pgcn_config *config) {
    return (int)pgcn_i_own_value(config, &pgcn_i_powers);
}

static pgcn_i_cost cost(const pgcn_config *config) {
    (void)config;
    return (pgcn_i_cost){.kept = 0.5, .squares = 0, .hops = 0};
}

/* clang-format off */
static const pgcn_i_ignored ignored[] = {
    PGCN_I_NO_KERNELS, PGCN_I_NO_RESIDUAL, PGCN_I_FIXES("layers", "1"), PGCN_I_FIXES("self-loops", "yes"),
    PGCN_I_FIXES("scaling", "symmetric"), PGCN_I_FIXES("batch-norm", "no"), PGCN_I_FIXES("dropout-hidden", "0"),
    PGCN_I_FIXES("dropout-last", "-1"), PGCN_I_IGNORES("channels"), PGCN_I_IGNORES("readout"),
    PGCN_I_IGNORES("lr-mix"), PGCN_I_IGNORES("wd-mix"), {NULL, NULL, NULL}};
/* clang-format on */
static const pgcn_i_setting *const own[] = {&pgcn_i_bias, &pgcn_i_powers, NULL};

const pgcn_i_network pgcn_i_sgc = {.name = "sgc",
                                   .levels = pgcn_i_no_level,
                                   .about = "a linear layer on features that were smoothed once",
                                   .declare = declare,
                                   .record = record,
                                   .cost = cost,
                                   .powers = powers,
                                   .why_ignored = ", which is linear",
                                   .ignored = ignored,
                                   .own = own};
