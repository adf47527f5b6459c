/* GAT (Velickovic et al., "Graph Attention Networks"): each head learns how much a neighbour counts.
 * With z = Dropout(x) W, heads h of c / heads columns each, and N(i) the neighbours of i and i itself:
 *
 *   e_ij = LeakyReLU_0.2( <target_h, z_i> + <source_h, z_j> )        <of>target, <of>source [heads, c / heads]
 *   a_ij = Dropout( softmax over j in N(i) of e_ij )
 *   y_i  = sum over j in N(i) of a_ij Dropout(z_j)                   heads side by side
 *
 *   nodes    L x [ y + x W_self + b, norm, ELU ]; the last layer has heads-last heads of c_out columns, whose
 *            mean are the logits
 *   graphs   L x [ y + x W_self + b, norm, ELU ], then the readout
 *
 * W_self is there with self-mix alone: the skip connection that the authors have on PPI.
 *
 * SuperGAT (Kim and Oh, "How to Find Your Friendly Neighborhood"), in its form MX: e_ij = LeakyReLU_0.2( (<target_h,
 * z_i> + <source_h, z_j>) sigmoid(<z_i, z_j>) ), and in every layer a term of the loss that tells links from pairs
 * of nodes without one by the mean over heads of <z_i, z_j> (nn/ops_pairs.c). */
#include "models/models.h"

#include <stdio.h>

static const pgcn_i_setting heads_last = {
    .key = "heads-last",
    .whole = true,
    .low = 1,
    .high = PGCN_MOST_HEADS,
    .preset = 1,
    .help = "heads of the last layer, each with a column per class; their mean counts"};
static const pgcn_i_setting dropout_attention = {
    .key = "dropout-attention",
    .low = 0,
    .high = 0.99,
    .help = "dropout of the weights that attention gives to neighbours"};
static const pgcn_i_setting dropout_values = {
    .key = "dropout-values",
    .low = 0,
    .high = 0.99,
    .help = "dropout of the rows that attention adds up, after the product"};

enum { LAYER_NAME = 32 };
static const double SLOPE = 0.2;

/* SuperGAT's. */
const pgcn_i_setting pgcn_i_edge_loss = {
    .key = "edge-loss",
    .low = 0,
    .high = 1e6,
    .preset = 4,
    .help = "weight of the loss that tells links from pairs without one; 0: no such loss"};
static const pgcn_i_setting edge_sample = {
    .key = "edge-sample",
    .low = 0.001,
    .high = 1,
    .preset = 0.8,
    .help = "share of the links that a step learns to tell from other pairs"};
static const pgcn_i_setting negatives = {.key = "negatives",
                                         .low = 0,
                                         .high = 100,
                                         .preset = 0.5,
                                         .help = "pairs without a link for each of these links"};

static bool is_super(const pgcn_config *config) {
    return pgcn_i_network_has(pgcn_i_network_of(config), &pgcn_i_edge_loss);
}

static int heads_of(const pgcn_config *config, bool output) {
    return (int)pgcn_i_own_value(config, output ? &heads_last : &pgcn_i_heads);
}

/* ---- a layer -------------------------------------------------------------------------------------- */

static void declare_vector(pgcn_i_params *params, pgcn_i_conv_shape shape, int64_t heads,
                           const char *name, const char *of) {
    pgcn_i_params_add(params,
                      (pgcn_i_param_spec){.group = shape.group,
                                          .start = PGCN_I_START_GLOROT,
                                          .shape = {heads, shape.out / heads}},
                      "%s%s", of, name);
}

static void declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    for (int l = 0; l < config->layers; l++) {
        char of[LAYER_NAME];
        bool output = pgcn_i_is_output(config, shape.per_graph, l);
        int heads = heads_of(config, output);
        pgcn_i_conv_shape layer = {.group = l == 0 ? PGCN_I_GROUP_ENDS : PGCN_I_GROUP_MIX,
                                   .in = l == 0 ? shape.features : config->channels,
                                   .out = output ? heads * shape.classes : config->channels};
        snprintf(of, sizeof of, "layers.%d.", l);
        pgcn_i_weight_declare(params, layer, "weight", of);
        declare_vector(params, layer, heads, "target", of);
        declare_vector(params, layer, heads, "source", of);
        if (output) layer.out = shape.classes;
        if (pgcn_i_own_yes(config, &pgcn_i_self_mix))
            pgcn_i_weight_declare(params, layer, "self.weight", of);
        pgcn_i_bias_declare(params, config, layer.group, layer.out, !output, of);
        if (!output) pgcn_i_set_norm_declare(params, config, layer.group, layer.out, of);
    }
    if (shape.per_graph) pgcn_i_readout_declare(params, config, shape, config->channels);
}

static pgcn_i_value *record_link_loss(pgcn_i_tape *tape, const pgcn_config *config,
                                      const pgcn_i_view *view, pgcn_i_value *z, int heads) {
    return pgcn_i_op_link_loss(
        tape, z,
        (pgcn_i_link_loss){.transition = view->transitions,
                           .heads = heads,
                           .weight = pgcn_i_own_value(config, &pgcn_i_edge_loss),
                           .sample = pgcn_i_own_value(config, &edge_sample),
                           .negatives = pgcn_i_own_value(config, &negatives)});
}

/* The sum of the neighbours' rows, by their attention. */
static pgcn_i_value *record_attention(pgcn_i_tape *tape, const pgcn_config *config,
                                      const pgcn_i_view *view, pgcn_i_value *x, int heads,
                                      const char *of) {
    const pgcn_i_params *params = tape->params;
    pgcn_i_attention attention = {.transition = view->transitions,
                                  .heads = heads,
                                  .slope = SLOPE,
                                  .dropout = pgcn_i_own_value(config, &dropout_attention)};
    pgcn_i_value *z =
        pgcn_i_product_record(tape, config, view, x, pgcn_i_param_named(params, "%sweight", of));
    if (is_super(config)) z = record_link_loss(tape, config, view, z, heads);
    pgcn_i_value *v = pgcn_i_op_dropout(tape, z, pgcn_i_own_value(config, &dropout_values));
    pgcn_i_value *gate = is_super(config)
                             ? pgcn_i_op_link_dots(tape, z, (pgcn_i_dots){.scale = 1}, attention)
                             : NULL;
    pgcn_i_value *scores =
        pgcn_i_op_head_scores(tape, z, pgcn_i_param_named(params, "%starget", of),
                              pgcn_i_param_named(params, "%ssource", of));
    pgcn_i_value *coefficients = pgcn_i_op_edge_softmax(tape, scores, gate, attention);
    return pgcn_i_op_attend(tape, v, coefficients, attention);
}

static pgcn_i_value *record_layer(pgcn_i_tape *tape, const pgcn_config *config,
                                  const pgcn_i_view *view, pgcn_i_value *x, bool output,
                                  const char *of) {
    const pgcn_i_params *params = tape->params;
    int heads = heads_of(config, output);
    pgcn_i_param *self = pgcn_i_param_named(params, "%sself.weight", of);
    pgcn_i_param *bias = pgcn_i_param_named(params, "%sbias", of);
    pgcn_i_value *y = record_attention(tape, config, view, x, heads, of);
    if (output) y = pgcn_i_op_head_mean(tape, y, heads);
    if (self) y = pgcn_i_op_add(tape, pgcn_i_product_record(tape, config, view, x, self), y);
    if (output) return pgcn_i_op_activate(tape, y, bias, false, 0);
    if (!pgcn_i_param_named(params, "%snorm.gain", of)) return pgcn_i_op_elu(tape, y, bias);
    y = pgcn_i_op_activate(tape, y, bias, false, 0);
    return pgcn_i_op_elu(tape, pgcn_i_set_norm_record(tape, y, of), NULL);
}

static pgcn_i_value *record(pgcn_i_tape *tape, const pgcn_config *config, const pgcn_i_view *view) {
    bool per_graph = view->segment != NULL;
    pgcn_i_value *h = NULL;
    for (int l = 0; l < config->layers; l++) {
        char of[LAYER_NAME];
        bool output = pgcn_i_is_output(config, per_graph, l);
        snprintf(of, sizeof of, "layers.%d.", l);
        h = pgcn_i_tape_layer(tape, l + 1, record_layer(tape, config, view, h, output, of));
        if (output) continue;
        h = pgcn_i_op_dropout(tape, h,
                              per_graph ? config->dropout_hidden : pgcn_i_dropout_after(config, l));
    }
    return per_graph ? pgcn_i_readout_of_last(tape, config, view, h) : h;
}

static pgcn_i_cost cost(const pgcn_config *config) {
    double norm = pgcn_i_has_norm(config) ? 2 : 0, heads = heads_of(config, false);
    double values = pgcn_i_own_value(config, &dropout_values) > 0 ? 1 : 0;
    return (pgcn_i_cost){.kept = (2 + norm + values) * (config->layers - 1) + 2,
                         .squares = 1,
                         .hops = 2,
                         .links = heads * ((is_super(config) ? 2 : 1) * config->layers + 1) + 2};
}

static pgcn_status check(const pgcn_config *config) {
    int heads = heads_of(config, false);
    if (config->channels % heads != 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "channels is %d and heads is %d: heads share the channels equally; set "
                           "channels to a multiple of heads",
                           config->channels, heads);
    return pgcn_i_check_norms(config);
}

/* clang-format off */
static const pgcn_i_ignored ignored[] = {
    PGCN_I_NO_KERNELS, PGCN_I_NO_RESIDUAL, PGCN_I_FIXES("self-loops", "yes"), PGCN_I_IGNORES("scaling"),
    PGCN_I_REFUSES("walk", "weighted", "uniform"), PGCN_I_REFUSES("readout", "layers", "linear"),
    {NULL, NULL, NULL}};
/* clang-format on */
static const pgcn_i_setting *const own[] = {&pgcn_i_heads,    &heads_last,  &dropout_attention,
                                            &dropout_values,  &pgcn_i_bias, &pgcn_i_layer_norm,
                                            &pgcn_i_self_mix, NULL};

static const pgcn_i_setting *const own_super[] = {
    &pgcn_i_heads, &heads_last, &dropout_attention, &dropout_values,    &pgcn_i_edge_loss,
    &edge_sample,  &negatives,  &pgcn_i_bias,       &pgcn_i_layer_norm, &pgcn_i_self_mix,
    NULL};

const pgcn_i_network pgcn_i_gat = {.name = "gat",
                                   .levels = pgcn_i_level_per_layer,
                                   .about = "attention over neighbours, in several heads",
                                   .declare = declare,
                                   .record = record,
                                   .cost = cost,
                                   .check = check,
                                   .why_ignored = "",
                                   .links = true,
                                   .hidden_from = 3,
                                   .ignored = ignored,
                                   .own = own};

const pgcn_i_network pgcn_i_supergat = {
    .name = "supergat",
    .levels = pgcn_i_level_per_layer,
    .about = "attention that also learns to tell links from other pairs",
    .declare = declare,
    .record = record,
    .cost = cost,
    .check = check,
    .why_ignored = "",
    .links = true,
    .hidden_from = 3,
    .ignored = ignored,
    .own = own_super};
