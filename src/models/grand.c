/* GRAND (Chamberlain et al., "GRAND: Graph Neural Diffusion"): features flow along the links, as fast as attention
 * lets them. With A = the mean over heads of softmax over j of <q_i, k_j> / sqrt(columns of a head), q and k linear
 * in x, j being the neighbours of i and i itself:
 *
 *   x(0) = Dropout(X) W + b                                                     embed.*
 *   dx/dt = sigmoid(rate) (A x - x) + source x(0)                               rate, source [1]
 *   [q, k] = x W + b                                                            attention.*
 *   logits = Dropout(ReLU(x(T))) W + b                                          classifier.*
 *
 * A is that of x(0) all the way (attention fixed: GRAND-l) or of the x at hand (recomputed: GRAND-nl). T = layers x
 * step: a layer is a step of Euler's method, or of Runge and Kutta's of order 4. The authors integrate with steps
 * that adapt to the error. */
#include "models/models.h"

#include <math.h>
#include <string.h>

static const pgcn_i_setting recomputes = {
    .key = "attention",
    .choices = "fixed | recomputed",
    .low = 0,
    .high = 1,
    .help = "attention of the start for all steps (GRAND-l), or of every step (GRAND-nl)"};
static const pgcn_i_setting integrator = {.key = "integrator",
                                          .choices = "euler | rk4",
                                          .low = 0,
                                          .high = 1,
                                          .preset = 1,
                                          .help = "how a step is taken: Euler, or Runge-Kutta 4"};
static const pgcn_i_setting attention_channels = {
    .key = "attention-channels",
    .whole = true,
    .low = 1,
    .high = 4096,
    .preset = 32,
    .help = "columns of the queries and of the keys of attention, of all heads together"};

/* ---- parameters ------------------------------------------------------------------------------------- */

static void declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape) {
    int64_t c = config->channels, a = (int64_t)pgcn_i_own_value(config, &attention_channels);
    const pgcn_i_group ends = PGCN_I_GROUP_ENDS;
    pgcn_i_linear_declare(params, ends, shape.features, c, "embed.");
    pgcn_i_param_spec weight = {
        .group = PGCN_I_GROUP_MIX, .start = PGCN_I_START_OWN, .shape = {c, 2 * a}};
    pgcn_i_param_spec bias = {
        .group = PGCN_I_GROUP_MIX, .start = PGCN_I_START_OWN, .shape = {2 * a}};
    pgcn_i_params_add(params, weight, "attention.weight");
    pgcn_i_params_add(params, bias, "attention.bias");
    pgcn_i_param_spec scalar = {.group = PGCN_I_GROUP_KERNEL, .shape = {1}};
    pgcn_i_params_add(params, scalar, "rate");
    pgcn_i_params_add(params, scalar, "source");
    if (shape.per_graph)
        pgcn_i_readout_declare(params, config, shape, c);
    else
        pgcn_i_linear_declare(params, ends, c, shape.classes, "classifier.");
}

/* All weights alike and near 0: the attention of the start is nearly uniform. What makes heads differ are their
 * biases. */
static void start(const pgcn_i_param *param, const pgcn_config *config, pgcn_i_rng_domain domain,
                  float *value) {
    if (param->rank == 1) {
        pgcn_i_start_uniform(value, param->count, 1 / sqrt(config->channels), domain);
        return;
    }
    for (int64_t e = 0; e < param->count; e++) value[e] = 1e-5f;
}

/* ---- the network ------------------------------------------------------------------------------------ */

typedef struct flow {
    pgcn_i_tape *tape;
    pgcn_i_attention attention;
    pgcn_i_dots dots;
    pgcn_i_value *x0, *fixed; /* fixed: the coefficients of all steps; NULL: recomputed */
} flow;

static pgcn_i_value *coefficients(const flow *f, pgcn_i_value *x) {
    pgcn_i_value *both = pgcn_i_linear_record(f->tape, x, "attention.", false, 0);
    return pgcn_i_op_link_dots(f->tape, both, f->dots, f->attention);
}

/* dx/dt at x */
static pgcn_i_value *slope(const flow *f, pgcn_i_value *x) {
    const pgcn_i_params *params = f->tape->params;
    pgcn_i_value *a = f->fixed ? f->fixed : coefficients(f, x);
    return pgcn_i_op_drift(f->tape, pgcn_i_op_attend(f->tape, x, a, f->attention), f->x0,
                           pgcn_i_param_named(params, "rate"),
                           pgcn_i_param_named(params, "source"));
}

static pgcn_i_value *step_euler(const flow *f, pgcn_i_value *x, double h) {
    return pgcn_i_op_add_share(f->tape, x, slope(f, x), h);
}

static pgcn_i_value *step_rk4(const flow *f, pgcn_i_value *x, double h) {
    static const double ahead[] = {0, 0.5, 0.5, 1}, weight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    pgcn_i_value *k[4], *y = x;
    for (int i = 0; i < 4; i++)
        k[i] = slope(f, i == 0 ? x : pgcn_i_op_add_share(f->tape, x, k[i - 1], h * ahead[i]));
    for (int i = 0; i < 4; i++) y = pgcn_i_op_add_share(f->tape, y, k[i], h * weight[i]);
    return y;
}

static pgcn_i_value *record(pgcn_i_tape *tape, const pgcn_config *config, const pgcn_i_view *view) {
    double h = pgcn_i_own_value(config, &pgcn_i_step_size);
    int heads = (int)pgcn_i_own_value(config, &pgcn_i_heads);
    double columns = pgcn_i_own_value(config, &attention_channels) / heads;
    flow f = {
        .tape = tape,
        .attention = {.transition = view->transitions, .heads = heads, .mean = true, .self = -1},
        .dots = {.scale = 1 / sqrt(columns), .apart = true, .softmax = true}};
    pgcn_i_value **x = pgcn_i_layer_results(tape, config);
    if (!x) return NULL;
    x[0] = f.x0 = pgcn_i_dense_record(tape, config, view, (pgcn_i_conv){.relu = false}, "embed.");
    if (!pgcn_i_own_yes(config, &recomputes)) f.fixed = coefficients(&f, f.x0);
    for (int l = 0; l < config->layers; l++)
        x[l + 1] =
            pgcn_i_own_yes(config, &integrator) ? step_rk4(&f, x[l], h) : step_euler(&f, x[l], h);
    x[config->layers] = pgcn_i_op_relu(tape, x[config->layers]);
    return pgcn_i_logits_record(tape, config, view, x);
}

static pgcn_i_cost cost(const pgcn_config *config) {
    bool four = pgcn_i_own_yes(config, &integrator), again = pgcn_i_own_yes(config, &recomputes);
    double slopes = four ? 4 : 1, heads = pgcn_i_own_value(config, &pgcn_i_heads);
    return (pgcn_i_cost){.kept = (again ? 3.4 : 2.4) * slopes * config->layers + 3,
                         .squares = again ? slopes : 0.1,
                         .hops = 2 * slopes,
                         .links = heads * (again ? slopes * config->layers + 1 : 2) + 2};
}

static pgcn_status check(const pgcn_config *config) {
    int heads = (int)pgcn_i_own_value(config, &pgcn_i_heads);
    int columns = (int)pgcn_i_own_value(config, &attention_channels);
    if (columns % heads == 0) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "attention-channels is %d and heads is %d: heads share them equally; set "
                       "attention-channels to a multiple of heads",
                       columns, heads);
}

/* clang-format off */
static const pgcn_i_ignored ignored[] = {
    PGCN_I_NO_PATHS, PGCN_I_NO_RESIDUAL, PGCN_I_FIXES("self-loops", "yes"), PGCN_I_IGNORES("scaling"),
    PGCN_I_FIXES("batch-norm", "no"), PGCN_I_FIXES("dropout-hidden", "0"),
    PGCN_I_REFUSES("walk", "weighted", "uniform"), PGCN_I_REFUSES("readout", "layers", "linear"),
    {NULL, NULL, NULL}};
/* clang-format on */
static const pgcn_i_setting *const own[] = {&pgcn_i_heads, &attention_channels, &recomputes,
                                            &integrator,   &pgcn_i_step_size,   NULL};

const pgcn_i_network pgcn_i_grand = {.name = "grand",
                                     .about =
                                         "diffusion along the links, as fast as attention says",
                                     .declare = declare,
                                     .start = start,
                                     .record = record,
                                     .cost = cost,
                                     .check = check,
                                     .why_ignored = "",
                                     .links = true,
                                     .ignored = ignored,
                                     .own = own};
