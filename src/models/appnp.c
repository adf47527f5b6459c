/* APPNP (Klicpera et al., "Predict then Propagate"): an MLP, then K steps of personalised PageRank:
 *
 *   Z_0 = MLP(X),   Z_{t+1} = (1 - alpha) T Z_t + alpha Z_0,   T = D~^-1/2 (A + I) D~^-1/2
 *
 * of nodes on the logits; of graphs on the last hidden layer, before the readout. */
#include "models/models.h"

static void declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    pgcn_i_mlp_declare(params, config, shape.features,
                       shape.per_graph ? config->channels : shape.classes, true);
    if (shape.per_graph) pgcn_i_readout_declare(params, config, shape, config->channels);
}

static pgcn_i_value *record(pgcn_i_tape *tape, const pgcn_config *config, const pgcn_i_view *view) {
    pgcn_i_value *z = pgcn_i_mlp_record(tape, config, view, NULL, view->segment != NULL);
    z = pgcn_i_op_diffuse(tape, z, view->transitions, (int)pgcn_i_own_value(config, &pgcn_i_powers),
                          config->alpha);
    pgcn_i_tape_layer(tape, config->layers + 1, z);
    return view->segment ? pgcn_i_readout_of_last(tape, config, view, z) : z;
}

static pgcn_i_cost cost(const pgcn_config *config) {
    return (pgcn_i_cost){.kept = config->layers + 2.6, .squares = 1, .hops = 1};
}

/* clang-format off */
static const pgcn_i_ignored ignored[] = {
    PGCN_I_NO_KERNELS, PGCN_I_FIXES("residual", "initial"), PGCN_I_FIXES("self-loops", "yes"),
    PGCN_I_FIXES("scaling", "symmetric"), PGCN_I_REFUSES("readout", "layers", "linear"), {NULL, NULL, NULL}};
/* clang-format on */
static const pgcn_i_setting *const own[] = {&pgcn_i_bias, &pgcn_i_layer_norm, &pgcn_i_edge_keep,
                                            &pgcn_i_powers, NULL};

const pgcn_i_network pgcn_i_appnp = {
    .name = "appnp",
    .about = "an MLP, then steps of personalised PageRank (alpha: teleport)",
    .declare = declare,
    .record = record,
    .cost = cost,
    .check = pgcn_i_check_norms,
    .why_ignored = ", which takes means over neighbours",
    .hidden_from = 3,
    .ignored = ignored,
    .own = own};
