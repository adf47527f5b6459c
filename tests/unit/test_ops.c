/* Every operation and loss in one table of cases, over channel counts around the widths of vectors:
 * its value against a plain reference in double, and its gradients against finite differences of
 * that reference (same paths, same dropout), which is sharper than differences in float. Every
 * gradient is also taken a second time in adding mode, on top of what is there. */
#include "nn_help.h"

/* Sums of up to some hundred products in float; errors relative to the largest of an array. */
#define VALUE_TOLERANCE    5e-6
#define GRADIENT_TOLERANCE 3e-5
/* Gradients of an array below this are rounding. */
#define GRADIENT_LEAST 1e-3

enum { K = 4, P = 3, COLUMNS = 19 };
static const pgcn_i_standard no_standard = {0};

static const double ALPHA = 0.3, LAMBDA = 0.7;

typedef struct bench bench;

/* Two operands at most: values or parameters. The reference reads b->x[0..3]: the two leaves, then
 * the two parameters. */
enum { LEAF = 0, PARAM = 2, ARRAYS = 4 };

typedef struct op_kind {
    void (*declare)(bench *b);
    pgcn_i_value *(*record)(bench *b);
    void (*reference)(const bench *b, double *out);
    double (*loss)(bench *b); /* instead of record and reference: writes the gradient of leaf 0 */
    double (*loss_reference)(const bench *b);
} op_kind;

typedef struct op_case {
    const char *name;
    const op_kind *kind;
    int samples;
    double rate; /* dropout, or the temperature of the consistency */
    bool relu, bias, sparse, exact;
    pgcn_kernel kernel;
    pgcn_residual residual; /* INITIAL: another value; PREVIOUS: the input itself */
    bool square;            /* cost grows with c^2: no 257 channels */
    bool weighted;          /* classes of the loss have weights */
} op_case;

struct bench {
    const op_case *test;
    int64_t n, c, rows, outputs; /* rows = samples n; outputs: columns of a linear layer */
    pgcn_i_pool *pool;
    pgcn_i_params params;
    pgcn_i_tape tape;
    pgcn_i_value *leaf[2], *out;
    pgcn_i_param *param[4]; /* trained ones, then running mean and variance */
    pgcn_graph *graph;
    pgcn_i_spatial spatial;
    pgcn_i_visits *visits;
    pgcn_i_transition transition;
    pgcn_i_input *input;
    int64_t segment[7];
    int32_t *label;
    uint8_t *mask, *target;
    int64_t masked;
    double *frozen; /* target of the consistency */
    double *x[ARRAYS];
    int64_t count[ARRAYS];
    double *weight; /* of the outputs in the scalar whose gradient is taken */
    double *value;  /* room for outputs */
};

static pgcn_i_rng_domain domain(const bench *b, pgcn_i_purpose purpose, int sample) {
    return pgcn_i_rng_domain_of(b->tape.seed, purpose, b->tape.step, 0, sample);
}

static void add_param(bench *b, int i, int rank, int64_t p, int64_t q, int64_t r) {
    pgcn_i_group group = i < 2 ? PGCN_I_GROUP_MIX : PGCN_I_GROUP_BUFFER;
    b->param[i] = pgcn_i_params_add(
        &b->params,
        (pgcn_i_param_spec){.group = group, .shape = {p, rank > 1 ? q : 0, rank > 2 ? r : 0}},
        "p%d", i);
}

/* ---- input layer --------------------------------------------------------------------------------- */

static void input_declare(bench *b) {
    float *dense = ref_random_floats(11, b->n * COLUMNS);
    pgcn_i_features x = {.n = b->n, .columns = COLUMNS, .dense = dense};
    pgcn_i_csr csr = ref_random_csr(12, b->n, COLUMNS);
    if (b->test->sparse)
        x = (pgcn_i_features){.n = b->n,
                              .columns = COLUMNS,
                              .nonzeros = csr.offset[b->n],
                              .offset = csr.offset,
                              .column = csr.column,
                              .value = csr.value};
    must(pgcn_i_input_new(&x, PGCN_NORMALISE_NONE, no_standard, true, &b->input));
    free(dense);
    ref_csr_free(&csr);
    add_param(b, 0, 2, COLUMNS, b->c, 0);
    add_param(b, 1, 1, b->c, 0, 0);
}

static pgcn_i_value *input_record(bench *b) {
    return pgcn_i_op_input(
        &b->tape, b->input, b->test->samples,
        (pgcn_i_opening){.dropout = b->test->rate, .w = b->param[0], .b = b->param[1]});
}

static void input_reference(const bench *b, double *out) {
    const pgcn_i_input *input = b->input;
    double *x = ref_zeros(b->n * COLUMNS);
    for (int s = 0; s < b->test->samples; s++) {
        pgcn_i_rng_domain random = domain(b, PGCN_I_RNG_DROPOUT_INPUT, s);
        memset(x, 0, (size_t)(b->n * COLUMNS) * sizeof *x);
        for (int64_t r = 0; r < b->n; r++)
            if (input->dense)
                for (int64_t e = r * COLUMNS; e < (r + 1) * COLUMNS; e++)
                    x[e] = (double)input->dense[e] * dropout_factor(random, b->test->rate, e);
            else
                for (int64_t e = input->offset[r]; e < input->offset[r + 1]; e++)
                    x[r * COLUMNS + input->column[e]] =
                        (double)input->value[e] * dropout_factor(random, b->test->rate, e);
        ref_linear(out + s * b->n * b->c, x, b->x[PARAM], b->x[PARAM + 1], true, b->n, COLUMNS,
                   b->c);
    }
    free(x);
}

/* ---- dense rows ---------------------------------------------------------------------------------- */

static void one_leaf(bench *b) {
    b->leaf[0] = pgcn_i_tape_value(&b->tape, b->rows, b->c);
}
static void linear_declare(bench *b) {
    one_leaf(b);
    b->outputs = b->c * 2 / 3 + 1;
    add_param(b, 0, 2, b->c, b->outputs, 0);
    if (b->test->bias) add_param(b, 1, 1, b->outputs, 0, 0);
}
static pgcn_i_value *linear_record(bench *b) {
    return pgcn_i_op_linear(&b->tape, b->leaf[0], b->param[0], b->param[1], b->test->relu,
                            b->test->rate);
}
static void linear_reference(const bench *b, double *out) {
    ref_linear(out, b->x[LEAF], b->x[PARAM], b->x[PARAM + 1], b->test->relu, b->rows, b->c,
               b->outputs);
    for (int64_t e = 0; e < b->rows * b->outputs && b->test->relu; e++)
        out[e] *= dropout_factor(domain(b, PGCN_I_RNG_DROPOUT, 0), b->test->rate, e);
}

static pgcn_i_value *relu_record(bench *b) {
    return pgcn_i_op_relu(&b->tape, b->leaf[0]);
}
static void relu_reference(const bench *b, double *out) {
    for (int64_t e = 0; e < b->rows * b->c; e++) out[e] = b->x[LEAF][e] > 0 ? b->x[LEAF][e] : 0;
}

static pgcn_i_value *dropout_record(bench *b) {
    return pgcn_i_op_dropout(&b->tape, b->leaf[0], b->test->rate);
}
static void dropout_reference(const bench *b, double *out) {
    for (int64_t e = 0; e < b->rows * b->c; e++)
        out[e] = b->x[LEAF][e] * dropout_factor(domain(b, PGCN_I_RNG_DROPOUT, 0), b->test->rate, e);
}

static pgcn_i_value *drop_rows_record(bench *b) {
    return pgcn_i_op_drop_rows(&b->tape, b->leaf[0], b->test->rate);
}
static void drop_rows_reference(const bench *b, double *out) {
    for (int64_t e = 0; e < b->rows * b->c; e++)
        out[e] = b->x[LEAF][e] *
                 dropout_row_factor(domain(b, PGCN_I_RNG_DROP_ROWS, 0), b->test->rate, e / b->c);
}

static void norm_declare(bench *b) {
    one_leaf(b);
    for (int i = b->test->bias ? 0 : 2; i < 4; i++) add_param(b, i, 1, b->c, 0, 0);
}
static pgcn_i_value *norm_record(bench *b) {
    return pgcn_i_op_batch_norm(&b->tape, b->leaf[0], b->param[0], b->param[1], b->param[2],
                                b->param[3]);
}
static void norm_reference(const bench *b, double *out) {
    double *mean = ref_zeros(b->c), *inv_std = ref_zeros(b->c);
    ref_batch_norm(out, mean, inv_std, b->x[LEAF], b->x[PARAM], b->x[PARAM + 1], 1e-5, b->rows,
                   b->c);
    free(mean), free(inv_std);
}

static void two_leaves(bench *b) {
    for (int i = 0; i < 2; i++) b->leaf[i] = pgcn_i_tape_value(&b->tape, b->rows, b->c);
}
static pgcn_i_value *add_record(bench *b) {
    return pgcn_i_op_add(&b->tape, b->leaf[0], b->leaf[1]);
}
static void add_reference(const bench *b, double *out) {
    for (int64_t e = 0; e < b->rows * b->c; e++) out[e] = b->x[LEAF][e] + b->x[LEAF + 1][e];
}

/* Six graphs: sizes 0, 5, 1, 0, most, 2. */
static void pool_declare(bench *b) {
    const int64_t segment[] = {0, 0, 5, 6, 6, b->rows - 2, b->rows};
    memcpy(b->segment, segment, sizeof segment);
    one_leaf(b);
}
static pgcn_i_value *pool_record(bench *b) {
    return pgcn_i_op_sum_pool(&b->tape, b->leaf[0], b->segment, 6);
}
static void pool_reference(const bench *b, double *out) {
    memset(out, 0, (size_t)(6 * b->c) * sizeof *out);
    for (int graph = 0; graph < 6; graph++)
        for (int64_t e = b->segment[graph] * b->c; e < b->segment[graph + 1] * b->c; e++)
            out[graph * b->c + e % b->c] += b->x[LEAF][e];
}

/* ---- path convolution ---------------------------------------------------------------------------- */

static void path_declare(bench *b) {
    pgcn_config config =
        settings("self-loops=no scaling=symmetric path-length=4 paths=3 train-form=exact");
    /* directed, so that T and its transpose differ */
    b->graph = random_graph(b->n, 2 * b->n, false, true, false, 21);
    must(pgcn_i_spatial_init(&b->spatial, b->graph, &config));
    b->transition = pgcn_i_spatial_transition(&b->spatial, b->test->samples);
    if (!b->test->exact) {
        must(pgcn_i_visits_new(&b->spatial.walker, NULL, b->test->samples, true, &b->visits));
        pgcn_i_visits_sample(b->visits, &b->spatial.walker, b->pool,
                             (pgcn_i_path_draw){5, PGCN_I_RNG_WALK, 0, 0}, b->spatial.visit_degree);
        b->transition.visits = b->visits;
    }
    one_leaf(b);
    if (b->test->residual == PGCN_RESIDUAL_INITIAL)
        b->leaf[1] = pgcn_i_tape_value(&b->tape, b->rows, b->c);
    const int rank[] = {1, 1, 2, 3};
    add_param(b, 0, rank[b->test->kernel], K, b->c, b->c);
}

static pgcn_i_value *path_record(bench *b) {
    pgcn_i_value *residual[] = {NULL, b->leaf[1], b->leaf[0]};
    return pgcn_i_op_pathconv(&b->tape, b->leaf[0],
                              (pgcn_i_pathconv){.transition = &b->transition,
                                                .kernel = b->test->kernel,
                                                .k = K,
                                                .s = b->param[0],
                                                .residual = residual[b->test->residual],
                                                .alpha = ALPHA});
}

/* z = S_i h, or T z in place of the power before. */
static void next_hop(const bench *b, int i, const double *h, double *z) {
    int64_t each = b->n * b->c;
    if (!b->test->exact) {
        ref_csr_product(z, &b->visits->hop[i - 1], h, b->c);
        return;
    }
    double *before = ref_zeros(b->rows * b->c);
    memcpy(before, z, (size_t)(b->rows * b->c) * sizeof *z);
    for (int s = 0; s < b->test->samples; s++)
        ref_csr_product(z + s * each, &b->spatial.exact, before + s * each, b->c);
    free(before);
}

static void path_reference(const bench *b, double *out) {
    int64_t c = b->c, count = b->rows * c;
    const double *h = b->x[LEAF], *s = b->x[PARAM];
    double *z = ref_zeros(count), *term = ref_zeros(count);
    memcpy(z, h, (size_t)count * sizeof *z);
    memset(out, 0, (size_t)count * sizeof *out);
    for (int i = 0; i < K; i++) {
        if (i > 0) next_hop(b, i, h, z);
        if (b->test->kernel == PGCN_KERNEL_FULL)
            ref_gemm(false, false, b->rows, c, c, z, s + i * c * c, 0, term);
        for (int64_t e = 0; e < count; e++) {
            if (b->test->kernel == PGCN_KERNEL_DEPTHWISE) term[e] = s[i * c + e % c] * z[e];
            if (b->test->kernel < PGCN_KERNEL_DEPTHWISE) term[e] = s[i] * z[e];
            out[e] += term[e];
        }
    }
    const double *residual[] = {NULL, b->x[LEAF + 1], h}, *r = residual[b->test->residual];
    for (int64_t e = 0; r && e < count; e++) out[e] = (1 - ALPHA) * out[e] + ALPHA * r[e];
    free(z), free(term);
}

/* ---- losses ---------------------------------------------------------------------------------------- */

/* About a quarter of the nodes has no label, half are masked, and some masked ones lack a label. */
static void loss_declare(bench *b) {
    pgcn_i_stream random = test_stream(31);
    one_leaf(b);
    b->label = calloc((size_t)b->n, sizeof *b->label);
    b->mask = calloc((size_t)b->n, 1);
    b->target = calloc((size_t)(b->n * b->c), 1);
    for (int64_t j = 0; j < b->n; j++) {
        b->label[j] = (int32_t)pgcn_i_bounded(&random, (uint32_t)b->c);
        if (pgcn_i_bounded(&random, 4) == 0) b->label[j] = -1;
        b->mask[j] = pgcn_i_bounded(&random, 2) == 0;
    }
    for (int64_t e = 0; e < b->n * b->c; e++) b->target[e] = pgcn_i_bounded(&random, 2) == 0;
}

/* Rows of the mask that count; the frozen target is of the logits before any difference. */
static void loss_prepare(bench *b, bool labels_count) {
    for (int64_t j = 0; j < b->n; j++)
        b->masked += b->mask[j] && (!labels_count || b->label[j] >= 0);
    assert_true(b->masked > 0);
    b->frozen = ref_zeros(b->n * b->c);
    double temperature = b->test->rate > 0 ? b->test->rate : 1;
    ref_consistency_target(b->frozen, b->x[LEAF], b->n, b->test->samples, temperature, b->c);
}

/* Of class c; 1 where the case has none. */
static double weight_of(const bench *b, int64_t c) {
    return b->test->weighted ? 0.25 + (double)(c % 7) : 1;
}

static double softmax_loss(bench *b) {
    pgcn_i_loss loss;
    loss_prepare(b, true);
    must(pgcn_i_loss_init(&loss, b->n, b->test->samples, (int)b->c, PGCN_GROUPS));
    float *weight = ref_filled_floats(1, b->c);
    for (int64_t c = 0; c < b->c; c++) weight[c] = (float)weight_of(b, c);
    if (b->test->weighted) loss.class_weight = weight;
    double lambda = b->test->rate > 0 ? LAMBDA : 0;
    pgcn_i_loss_terms terms = pgcn_i_loss_run(&loss, &b->tape, b->leaf[0],
                                              &(pgcn_i_target){b->label, NULL, b->mask, b->masked},
                                              lambda, b->test->rate);
    int64_t hits = 0;
    for (int64_t r = 0; r < b->rows; r++) {
        int64_t best = 0;
        for (int64_t ch = 1; ch < b->c; ch++)
            if (b->x[LEAF][r * b->c + ch] > b->x[LEAF][r * b->c + best]) best = ch;
        hits += b->mask[r % b->n] && b->label[r % b->n] == best;
    }
    if (b->test->samples == 1 &&
        !b->test->weighted) { /* scoring, without gradient, says the same */
        pgcn_i_softmax_run(&loss, &b->tape, b->leaf[0]);
        pgcn_i_score score = {0};
        pgcn_i_score_add(&score, &(pgcn_i_runner){.tape = b->tape, .logits = b->leaf[0]}, &loss,
                         &(pgcn_i_target){b->label, NULL, b->mask, b->masked});
        assert_true(pgcn_i_score_loss(&score) == terms.cross_entropy);
        assert_true(pgcn_i_score_accuracy(&score) == 100 * terms.accuracy);
    }
    pgcn_i_loss_free(&loss);
    free(weight);
    assert_true(terms.accuracy == (double)hits / (double)(b->masked * b->test->samples));
    return terms.cross_entropy + lambda * terms.consistency;
}
static double softmax_loss_reference(const bench *b) {
    double *weight = ref_zeros(b->c), sum = 0;
    for (int64_t c = 0; c < b->c; c++) weight[c] = weight_of(b, c);
    for (int64_t j = 0; j < b->n; j++)
        if (b->mask[j] && b->label[j] >= 0) sum += weight[b->label[j]];
    double loss = ref_cross_entropy(b->x[LEAF], b->label, b->mask, weight, b->n, b->rows, b->c) /
                  (sum * b->test->samples);
    free(weight);
    if (b->test->rate > 0)
        loss += LAMBDA * ref_consistency(b->x[LEAF], b->frozen, b->n, b->test->samples, b->c) /
                (double)b->rows;
    return loss;
}

static double binary_loss(bench *b) {
    pgcn_i_loss loss;
    loss_prepare(b, false);
    must(pgcn_i_loss_init(&loss, b->n, b->test->samples, (int)b->c, PGCN_GROUPS));
    double value = pgcn_i_loss_run(&loss, &b->tape, b->leaf[0],
                                   &(pgcn_i_target){NULL, b->target, b->mask, b->masked}, 0, 1)
                       .cross_entropy;
    pgcn_i_loss_free(&loss);
    return value;
}
static double binary_loss_reference(const bench *b) {
    return ref_binary_cross_entropy(b->x[LEAF], b->target, b->mask, b->n, b->rows, b->c) /
           (double)(b->masked * b->test->samples);
}

/* ---- the table --------------------------------------------------------------------------------------- */

/* clang-format off */
static const op_kind INPUT     = {input_declare, input_record, input_reference, NULL, NULL};
static const op_kind LINEAR    = {linear_declare, linear_record, linear_reference, NULL, NULL};
static const op_kind RELU      = {one_leaf, relu_record, relu_reference, NULL, NULL};
static const op_kind DROPOUT   = {one_leaf, dropout_record, dropout_reference, NULL, NULL};
static const op_kind DROP_ROWS = {one_leaf, drop_rows_record, drop_rows_reference, NULL, NULL};
static const op_kind ADD       = {two_leaves, add_record, add_reference, NULL, NULL};
static const op_kind NORM      = {norm_declare, norm_record, norm_reference, NULL, NULL};
static const op_kind POOL      = {pool_declare, pool_record, pool_reference, NULL, NULL};
static const op_kind PATH      = {path_declare, path_record, path_reference, NULL, NULL};
static const op_kind SOFTMAX   = {loss_declare, NULL, NULL, softmax_loss, softmax_loss_reference};
static const op_kind BINARY    = {loss_declare, NULL, NULL, binary_loss, binary_loss_reference};

#define PATHS(word, which, big)                                                                         \
    {.name = "pathconv " word " sampled",   .kind = &PATH, .samples = 1, .kernel = which, .square = big}, \
    {.name = "pathconv " word " sampled 2", .kind = &PATH, .samples = 2, .kernel = which, .square = big}, \
    {.name = "pathconv " word " exact",     .kind = &PATH, .samples = 1, .kernel = which, .square = big, .exact = true}, \
    {.name = "pathconv " word " exact 2",   .kind = &PATH, .samples = 2, .kernel = which, .square = big, .exact = true}, \
    {.name = "pathconv " word " sampled + r", .kind = &PATH, .samples = 2, .kernel = which, .square = big, .residual = PGCN_RESIDUAL_INITIAL}, \
    {.name = "pathconv " word " sampled + h", .kind = &PATH, .samples = 1, .kernel = which, .square = big, .residual = PGCN_RESIDUAL_PREVIOUS}, \
    {.name = "pathconv " word " exact + r",   .kind = &PATH, .samples = 2, .kernel = which, .square = big, .exact = true, .residual = PGCN_RESIDUAL_INITIAL}, \
    {.name = "pathconv " word " exact + h",   .kind = &PATH, .samples = 1, .kernel = which, .square = big, .exact = true, .residual = PGCN_RESIDUAL_PREVIOUS}

static const op_case cases[] = {
    {.name = "input sparse",           .kind = &INPUT, .samples = 1, .sparse = true},
    {.name = "input sparse 2",         .kind = &INPUT, .samples = 2, .sparse = true},
    {.name = "input sparse dropout",   .kind = &INPUT, .samples = 1, .sparse = true, .rate = 0.6},
    {.name = "input sparse dropout 2", .kind = &INPUT, .samples = 2, .sparse = true, .rate = 0.3},
    {.name = "input dense",            .kind = &INPUT, .samples = 1},
    {.name = "input dense 2",          .kind = &INPUT, .samples = 2},
    {.name = "input dense dropout",    .kind = &INPUT, .samples = 1, .rate = 0.6},
    {.name = "input dense dropout 2",  .kind = &INPUT, .samples = 2, .rate = 0.3},
    {.name = "linear",                 .kind = &LINEAR, .samples = 1, .square = true},
    {.name = "linear bias",            .kind = &LINEAR, .samples = 1, .square = true, .bias = true},
    {.name = "linear relu",            .kind = &LINEAR, .samples = 1, .square = true, .relu = true},
    {.name = "linear bias relu",       .kind = &LINEAR, .samples = 2, .square = true, .bias = true, .relu = true},
    {.name = "linear relu dropout",    .kind = &LINEAR, .samples = 1, .square = true, .relu = true, .rate = 0.4},
    {.name = "relu",                   .kind = &RELU, .samples = 1},
    {.name = "dropout",                .kind = &DROPOUT, .samples = 1, .rate = 0.5},
    {.name = "dropout 2",              .kind = &DROPOUT, .samples = 2, .rate = 0.1},
    {.name = "drop rows",              .kind = &DROP_ROWS, .samples = 2, .rate = 0.5},
    {.name = "add",                    .kind = &ADD, .samples = 1},
    {.name = "batch norm",             .kind = &NORM, .samples = 1},
    {.name = "batch norm affine",      .kind = &NORM, .samples = 2, .bias = true},
    {.name = "sum-pool",               .kind = &POOL, .samples = 1},
    PATHS("global", PGCN_KERNEL_GLOBAL, false),
    PATHS("layer", PGCN_KERNEL_LAYER, false),
    PATHS("depthwise", PGCN_KERNEL_DEPTHWISE, false),
    PATHS("full", PGCN_KERNEL_FULL, true),
    {.name = "softmax",                .kind = &SOFTMAX, .samples = 1},
    {.name = "softmax 2",              .kind = &SOFTMAX, .samples = 2},
    {.name = "softmax weighted",       .kind = &SOFTMAX, .samples = 1, .weighted = true},
    {.name = "consistency weighted",   .kind = &SOFTMAX, .samples = 2, .rate = 0.5, .weighted = true},
    {.name = "consistency",            .kind = &SOFTMAX, .samples = 2, .rate = 0.5},
    {.name = "consistency 3",          .kind = &SOFTMAX, .samples = 3, .rate = 0.3},
    {.name = "binary",                 .kind = &BINARY, .samples = 1},
    {.name = "binary 2",               .kind = &BINARY, .samples = 2},
};
/* clang-format on */
enum { CASES = sizeof cases / sizeof *cases };

/* ---- running a case ------------------------------------------------------------------------------------ */

static double bench_objective(void *context) {
    bench *b = context;
    if (b->test->kind->loss) return b->test->kind->loss_reference(b);
    b->test->kind->reference(b, b->value);
    double sum = 0;
    for (int64_t e = 0; e < b->out->rows * b->out->cols; e++) sum += b->weight[e] * b->value[e];
    return sum;
}

/* Random leaves and parameters, as floats for the tape and as doubles for the reference. */
static void bench_fill(bench *b) {
    must(pgcn_i_params_allocate(&b->params, true));
    for (int i = 0; i < 2; i++) {
        if (b->leaf[i]) {
            b->count[LEAF + i] = b->leaf[i]->rows * b->leaf[i]->cols;
            float *random = ref_random_floats(40 + (uint64_t)i, b->count[LEAF + i]);
            memcpy(b->leaf[i]->data, random, (size_t)b->count[LEAF + i] * sizeof *random);
            b->x[LEAF + i] = ref_doubles(random, b->count[LEAF + i]);
            free(random);
        }
        if (b->param[i]) {
            b->count[PARAM + i] = b->param[i]->count;
            float *random = ref_random_floats(50 + (uint64_t)i, b->count[PARAM + i]);
            memcpy(pgcn_i_value_of(&b->params, b->param[i]), random,
                   (size_t)b->count[PARAM + i] * sizeof *random);
            b->x[PARAM + i] = ref_doubles(random, b->count[PARAM + i]);
            free(random);
        }
    }
}

static void bench_open(bench *b, const op_case *test, int64_t n, int64_t c) {
    *b = (bench){.test = test, .n = n, .c = c, .rows = n * test->samples};
    must(pgcn_i_pool_new(2, &b->pool));
    must(pgcn_i_params_init(&b->params, 4));
    must(pgcn_i_tape_init(&b->tape, b->pool, &b->params, 1, true));
    b->tape.samples = b->test->samples > 0 ? b->test->samples : 1;
    b->tape.seed = 77;
    b->tape.step = 3;
    test->kind->declare(b);
    if (test->kind->record) b->out = test->kind->record(b);
    bench_fill(b);
    must(pgcn_i_tape_finish(&b->tape));
}

static void bench_close(bench *b) {
    pgcn_i_tape_free(&b->tape);
    pgcn_i_params_free(&b->params);
    pgcn_i_visits_free(b->visits);
    pgcn_i_spatial_free(&b->spatial);
    pgcn_i_input_free(b->input);
    pgcn_graph_free(b->graph);
    pgcn_i_pool_free(b->pool);
    for (int i = 0; i < ARRAYS; i++) free(b->x[i]);
    free(b->label), free(b->mask), free(b->target), free(b->frozen), free(b->weight),
        free(b->value);
}

static float *gradient_of(bench *b, int array) {
    return array < PARAM ? b->leaf[array]->grad : b->params.grad + b->param[array - PARAM]->first;
}

/* Forward against the reference; then the gradient of sum(weight (.) out) is on the tape. */
static void bench_run(bench *b, const char *label) {
    if (b->test->kind->loss) {
        double got = b->test->kind->loss(b), want = b->test->kind->loss_reference(b);
        if (!(fabs(got - want) <= VALUE_TOLERANCE * (fabs(want) + 0.1)))
            fail_msg("%s: loss %.9g, expected %.9g", label, got, want);
        return;
    }
    int64_t count = b->out->rows * b->out->cols;
    float *weight = ref_random_floats(60, count);
    b->weight = ref_doubles(weight, count);
    b->value = ref_zeros(count);
    pgcn_i_tape_forward(&b->tape);
    b->test->kind->reference(b, b->value);
    check_values(label, b->out->data, b->value, count, VALUE_TOLERANCE);
    memcpy(b->out->grad, weight, (size_t)count * sizeof *weight);
    pgcn_i_tape_backward(&b->tape);
    free(weight);
}

/* The same gradients added to marks: only what another operation left before may differ. The first
 * weights over sparse features are used by one operation alone and have no adding form. */
static void check_adding(bench *b, const char *label) {
    const float mark = 0.5f;
    pgcn_i_op *op = &b->tape.op[0];
    float *once[ARRAYS] = {0};
    for (int a = 0; a < ARRAYS; a++) {
        if (!b->x[a] || (a == PARAM && b->test->sparse)) continue;
        once[a] = ref_filled_floats(0, b->count[a]);
        memcpy(once[a], gradient_of(b, a), (size_t)b->count[a] * sizeof *once[a]);
        for (int64_t e = 0; e < b->count[a]; e++) gradient_of(b, a)[e] = mark;
    }
    for (int i = 0; i < 2; i++) op->add_in[i] = op->add_param[i] = true;
    for (int64_t e = 0; e < b->out->rows * b->out->cols; e++)
        b->out->grad[e] = (float)b->weight[e]; /* ReLU masks it in place */
    pgcn_i_tape_backward(&b->tape);
    for (int a = 0; a < ARRAYS; a++) {
        if (!once[a]) continue;
        double *want = ref_doubles(once[a], b->count[a]);
        for (int64_t e = 0; e < b->count[a]; e++) want[e] += (double)mark;
        check_values(label, gradient_of(b, a), want, b->count[a], VALUE_TOLERANCE);
        free(want), free(once[a]);
    }
}

static void run_case(const op_case *test, int64_t n, int64_t c, int singles) {
    static const char *const array_names[] = {"leaf 0", "leaf 1", "parameter 0", "parameter 1"};
    char label[128];
    bench b;
    snprintf(label, sizeof label, "%s, n = %lld, c = %lld", test->name, (long long)n, (long long)c);
    bench_open(&b, test, n, c);
    bench_run(&b, label);
    for (int a = 0; a < ARRAYS; a++) {
        char which[192];
        if (!b.x[a]) continue;
        snprintf(which, sizeof which, "%s, %s", label, array_names[a]);
        check_gradient(which, gradient_of(&b, a), b.x[a], b.count[a], bench_objective, &b, singles,
                       GRADIENT_TOLERANCE, GRADIENT_LEAST);
    }
    if (!test->kind->loss) check_adding(&b, label);
    bench_close(&b);
}

/* ---- tests ------------------------------------------------------------------------------------------------ */

static void test_ops_all_cases_and_sizes_match_reference_and_differences(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 257};
    for (int i = 0; i < CASES; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            if (sizes[s] < 100 || !cases[i].square)
                run_case(&cases[i], 37, sizes[s], sizes[s] < 20 ? 8 : 3);
}

/* 200 rows: several blocks and groups. 2200: several tiles of 64 rows in a group. */
static void test_ops_many_rows_match_reference_and_differences(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        run_case(&cases[i], 200, 9, 4);
        run_case(&cases[i], 2200, 3, 2);
    }
}

/* Above 65536 rows a block has several tiles: what multiplies by tiles must still meet all rows. */
static void test_ops_blocks_of_several_tiles_match_reference(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++)
        if ((cases[i].kind == &INPUT && !cases[i].sparse && cases[i].rate > 0) ||
            (cases[i].kind == &PATH && cases[i].kernel == PGCN_KERNEL_FULL))
            if (cases[i].samples == 1) run_case(&cases[i], 66000, 2, 1);
}

static void test_batch_norm_statistics_training_and_inference(void **state) {
    (void)state;
    const op_case test = {.name = "batch norm", .kind = &NORM, .samples = 1, .bias = true};
    bench b;
    bench_open(&b, &test, 50, 3);
    float *mean = pgcn_i_value_of(&b.params, b.param[2]);
    float *variance = pgcn_i_value_of(&b.params, b.param[3]);
    /* the first step is all that is known, later ones go a tenth of the way; unbiased variance */
    static const double share[] = {1, 0.5, 0.1};
    static const int64_t step[] = {0, 1, 40};
    for (int t = 0; t < 3; t++) {
        for (int ch = 0; ch < 3; ch++) mean[ch] = 2.0f, variance[ch] = 3.0f;
        b.tape.step = step[t];
        pgcn_i_tape_forward(&b.tape);
        for (int ch = 0; ch < 3; ch++) {
            double sum = 0, squares = 0;
            for (int r = 0; r < 50; r++) sum += b.x[LEAF][r * 3 + ch];
            for (int r = 0; r < 50; r++) squares += pow(b.x[LEAF][r * 3 + ch] - sum / 50, 2);
            assert_close((double)mean[ch], 2 + share[t] * (sum / 50 - 2), 1e-6);
            assert_close((double)variance[ch], 3 + share[t] * (squares / 49 - 3), 1e-6);
        }
    }
    pgcn_i_tape tape; /* inference reads the running ones and leaves them alone */
    must(pgcn_i_tape_init(&tape, b.pool, &b.params, 1, false));
    pgcn_i_value *x = pgcn_i_tape_value(&tape, 50, 3);
    pgcn_i_value *y =
        pgcn_i_op_batch_norm(&tape, x, b.param[0], b.param[1], b.param[2], b.param[3]);
    must(pgcn_i_tape_finish(&tape));
    memcpy(x->data, b.leaf[0]->data, 150 * sizeof *x->data);
    float kept[2] = {mean[1], variance[1]};
    pgcn_i_tape_forward(&tape);
    assert_true(mean[1] == kept[0] && variance[1] == kept[1]);
    for (int e = 0; e < 150; e++) {
        int ch = e % 3;
        double hat = (b.x[LEAF][e] - (double)mean[ch]) / sqrt((double)variance[ch] + 1e-5);
        assert_close((double)y->data[e], b.x[PARAM][ch] * hat + b.x[PARAM + 1][ch], 1e-5);
    }
    pgcn_i_tape_free(&tape);
    bench_close(&b);
}

/* Another step, another dropout; the same step, the same. Rates are right to four deviations. */
static void test_dropout_depends_on_step_only(void **state) {
    (void)state;
    const op_case test = {.name = "dropout", .kind = &DROPOUT, .samples = 1, .rate = 0.3};
    bench b;
    bench_open(&b, &test, 100, 40);
    for (int e = 0; e < 4000; e++) b.leaf[0]->data[e] = 1.0f;
    float *first = ref_filled_floats(0, 4000);
    pgcn_i_tape_forward(&b.tape);
    memcpy(first, b.out->data, 4000 * sizeof *first);
    pgcn_i_tape_forward(&b.tape);
    assert_memory_equal(first, b.out->data, 4000 * sizeof *first);
    b.tape.step++;
    pgcn_i_tape_forward(&b.tape);
    int dropped = 0, changed = 0;
    for (int e = 0; e < 4000; e++) {
        dropped += b.out->data[e] == 0.0f;
        changed += b.out->data[e] != first[e];
    }
    assert_true(abs(dropped - 1200) < 4 * sqrt(4000 * 0.3 * 0.7));
    assert_true(abs(changed - 1680) < 4 * sqrt(4000 * 0.42 * 0.58));
    free(first);
    bench_close(&b);
}

/* ---- scores ----------------------------------------------------------------------------------------------- */

/* A tape that has only a pool and kernels: what losses need of it. */
typedef struct scoring {
    pgcn_i_pool *pool;
    pgcn_i_params params;
    pgcn_i_tape tape;
    pgcn_i_value logits;
    pgcn_i_loss loss;
    int32_t *label;
    uint8_t *labels, *mask;
    float *random;
} scoring;

/* n items of c classes: about a third is masked, a fifth has no label. */
static void scoring_open(scoring *s, int64_t n, int c) {
    pgcn_i_stream random = test_stream(33);
    *s = (scoring){.random = ref_random_floats(34, n * c)};
    must(pgcn_i_pool_new(2, &s->pool));
    must(pgcn_i_tape_init(&s->tape, s->pool, &s->params, 1, false));
    must(pgcn_i_loss_init(&s->loss, n, 1, c, PGCN_GROUPS));
    s->logits = (pgcn_i_value){.data = s->random, .rows = n, .cols = c};
    s->label = calloc((size_t)n, sizeof *s->label);
    s->labels = calloc((size_t)(n * c), 1);
    s->mask = calloc((size_t)n, 1);
    for (int64_t i = 0; i < n; i++) {
        s->label[i] = (int32_t)pgcn_i_bounded(&random, (uint32_t)c);
        if (pgcn_i_bounded(&random, 5) == 0) s->label[i] = -1;
        s->mask[i] = pgcn_i_bounded(&random, 3) == 0;
    }
    for (int64_t e = 0; e < n * c; e++) s->labels[e] = pgcn_i_bounded(&random, 4) == 0;
}

static void scoring_close(scoring *s) {
    pgcn_i_loss_free(&s->loss);
    pgcn_i_tape_free(&s->tape);
    pgcn_i_pool_free(s->pool);
    free(s->label), free(s->labels), free(s->mask), free(s->random);
}

/* The items begin .. end-1 as a batch of their own. */
static void score_rows(scoring *s, bool several, int64_t begin, int64_t end, pgcn_i_score *score) {
    int64_t c = s->logits.cols;
    pgcn_i_value logits = {.data = s->logits.data + begin * c, .rows = end - begin, .cols = c};
    pgcn_i_target target = {.label = several ? NULL : s->label + begin,
                            .labels = several ? s->labels + begin * c : NULL,
                            .mask = s->mask + begin};
    for (int64_t i = begin; i < end; i++)
        target.masked += s->mask[i] && (several || s->label[i] >= 0);
    pgcn_i_loss_resize(&s->loss, end - begin);
    if (!several) pgcn_i_softmax_run(&s->loss, &s->tape, &logits);
    pgcn_i_score_add(score, &(pgcn_i_runner){.tape = s->tape, .logits = &logits}, &s->loss,
                     &target);
}

/* Precision and recall over all labels of all masked items, and their harmonic mean. */
static double plain_f1(const scoring *s, int64_t n, int c) {
    double both = 0, said = 0, there = 0;
    for (int64_t e = 0; e < n * c; e++) {
        if (!s->mask[e / c]) continue;
        both += s->random[e] > 0 && s->labels[e];
        said += s->random[e] > 0;
        there += s->labels[e];
    }
    double precision = both / said, recall = both / there;
    return 2 * precision * recall / (precision + recall);
}

static double plain_accuracy(const scoring *s, int64_t n, int c) {
    double hits = 0, items = 0;
    for (int64_t i = 0; i < n; i++) {
        int best = 0;
        for (int ch = 1; ch < c; ch++)
            if (s->random[i * c + ch] > s->random[i * c + best]) best = ch;
        hits += s->mask[i] && s->label[i] == best;
        items += s->mask[i] && s->label[i] >= 0;
    }
    return hits / items;
}

/* In one go and in parts, the first of which are small, that is in all sizes below the room. */
static void test_scores_in_parts_and_at_once_equal_the_plain_reference(void **state) {
    (void)state;
    static const int64_t cut[] = {0, 1, 4, 90, 200, 777};
    enum { PARTS = sizeof cut / sizeof *cut - 1, N = 777, C = 5 };
    for (int several = 0; several < 2; several++) {
        scoring s;
        scoring_open(&s, N, C);
        pgcn_i_score whole = {0}, parts = {0};
        score_rows(&s, several, 0, N, &whole);
        for (int i = 0; i < PARTS; i++) score_rows(&s, several, cut[i], cut[i + 1], &parts);
        double *logits = ref_doubles(s.random, N * C);
        double loss = several ? ref_binary_cross_entropy(logits, s.labels, s.mask, N, N, C)
                              : ref_cross_entropy(logits, s.label, s.mask, NULL, N, N, C);
        double accuracy = several ? plain_f1(&s, N, C) : plain_accuracy(&s, N, C);
        const pgcn_i_score *both[] = {&whole, &parts};
        for (int i = 0; i < 2; i++) {
            assert_close(pgcn_i_score_accuracy(both[i]), 100 * accuracy, 1e-12);
            assert_close(pgcn_i_score_loss(both[i]), loss / (double)whole.items, 1e-5);
        }
        assert_int_equal(whole.items, parts.items);
        assert_int_equal(whole.hits, parts.hits);
        assert_int_equal(whole.predicted, parts.predicted);
        assert_int_equal(whole.present, parts.present);
        free(logits);
        scoring_close(&s);
    }
}

static void test_score_of_labels_that_nobody_has_or_says_is_full(void **state) {
    (void)state;
    pgcn_i_score score = {.items = 3, .several = true};
    assert_true(pgcn_i_score_accuracy(&score) == 100);
    score.predicted = 1; /* of labels that no item has: nothing is right */
    assert_true(pgcn_i_score_accuracy(&score) == 0);
}

/* A logit of 0 is a probability of one half: the label is not more probable than not. */
static void test_score_of_even_odds_says_no_label(void **state) {
    (void)state;
    scoring s;
    scoring_open(&s, 1, 2);
    pgcn_i_score score = {0};
    s.mask[0] = s.labels[0] = 1, s.labels[1] = 0;
    s.random[0] = s.random[1] = 0;
    score_rows(&s, true, 0, 1, &score);
    assert_int_equal(score.hits, 0);
    assert_int_equal(score.predicted, 0);
    assert_int_equal(score.present, 1);
    scoring_close(&s);
}

static void test_sigmoid_is_the_probability_of_each_label_and_never_nan(void **state) {
    (void)state;
    scoring s;
    scoring_open(&s, 150, 3);
    s.random[0] = 200, s.random[1] = -200, s.random[2] = 0;
    pgcn_i_sigmoid_run(&s.loss, &s.tape, &s.logits);
    for (int e = 0; e < 450; e++)
        assert_close((double)s.loss.probability[e], 1 / (1 + exp(-(double)s.random[e])), 1e-7);
    assert_true(s.loss.probability[0] == 1 && s.loss.probability[1] == 0);
    assert_true(s.loss.probability[2] == 0.5f);
    scoring_close(&s);
}

/* ---- inputs ----------------------------------------------------------------------------------------------- */

/* Columns over the masked rows 0 and 2: mean 2 and deviation 1; mean -1.5, deviation 1.5; constant. */
static void test_input_standardised_over_the_masked_rows_dense_and_sparse_alike(void **state) {
    (void)state;
    const float dense[9] = {1, -3, 0, 8, 8, 8, 3, 0, 0};
    const int64_t offset[] = {0, 2, 5, 6};
    const int32_t column[] = {0, 1, 0, 1, 2, 0};
    const float value[] = {1, -3, 8, 8, 8, 3};
    const uint8_t mask[3] = {1, 0, 1};
    const float wanted[9] = {-1, -1, 0, 6, 9.5f / 1.5f, 8, 1, 1, 0};
    pgcn_i_features x = {.n = 3, .columns = 3, .dense = dense};
    pgcn_i_features sparse = {
        .n = 3, .columns = 3, .nonzeros = 6, .offset = offset, .column = column, .value = value};
    const pgcn_i_features *forms[2] = {&x, &sparse};
    for (int form = 0; form < 2; form++) {
        float mean[3], deviation[3];
        pgcn_i_standard standard = {mean, deviation, NULL};
        pgcn_i_input *input;
        must(pgcn_i_standard_of(forms[form], mask, standard));
        assert_true(mean[0] == 2 && mean[1] == -1.5f && mean[2] == 0);
        assert_true(deviation[0] == 1 && deviation[1] == 1.5f && deviation[2] == 1);
        must(pgcn_i_input_new(forms[form], PGCN_NORMALISE_STANDARDISE, standard, true, &input));
        assert_memory_equal(input->dense, wanted, sizeof wanted);
        pgcn_i_input_free(input);
    }
}

/* What differs in its last bits only is rounding: dividing by it would make a feature of noise. */
static void test_input_column_that_is_constant_but_for_rounding_is_not_scaled_up(void **state) {
    (void)state;
    const float dense[4] = {1000.0f, 1000.0f, nextafterf(1000.0f, 2000.0f), 1002.0f};
    const uint8_t mask[2] = {1, 1};
    pgcn_i_features x = {.n = 2, .columns = 2, .dense = dense};
    float mean[2], deviation[2];
    must(pgcn_i_standard_of(&x, mask, (pgcn_i_standard){mean, deviation, NULL}));
    assert_true(deviation[0] == 1 && deviation[1] == 1);
    assert_close((double)mean[0], 1000, 1e-3);
    assert_true(mean[1] == 1001);
}

/* Of the masked rows 0, 1 and 3 all have column 0, one column 1, and none column 2, which row 2 alone has: factors 1,
 * (2/4)^2 and (1/4)^2, before rows are normalised. A stored zero is no entry. */
static void test_input_columns_weighed_by_how_many_masked_rows_have_them(void **state) {
    (void)state;
    const float dense[12] = {1, -16, 0, 4, 0, 0, 3, 0, 16, 3, 0, 0};
    const int64_t offset[] = {0, 2, 4, 6, 7};
    const int32_t column[] = {0, 1, 0, 1, 0, 2, 0};
    const float value[] = {1, -16, 4, 0, 3, 16, 3}, wanted[] = {1, -4, 4, 0, 3, 1, 3};
    const uint8_t mask[4] = {1, 1, 0, 1};
    pgcn_i_features x = {.n = 4, .columns = 3, .dense = dense};
    pgcn_i_features sparse = {
        .n = 4, .columns = 3, .nonzeros = 7, .offset = offset, .column = column, .value = value};
    float factor[3], rarer[3];
    const pgcn_i_standard standard = {.factor = factor};
    pgcn_i_input *input;
    must(pgcn_i_factors_of(&sparse, mask, 2, factor));
    assert_true(factor[0] == 1 && factor[1] == 0.25f && factor[2] == 0.0625f);
    must(pgcn_i_factors_of(&x, mask, -1, rarer));
    assert_true(rarer[0] == 1 && rarer[1] == 2 && rarer[2] == 4);
    must(pgcn_i_input_new(&sparse, PGCN_NORMALISE_NONE, standard, true, &input));
    assert_memory_equal(input->value, wanted, sizeof wanted);
    pgcn_i_input_free(input);
    for (int form = 0; form < 2; form++) {
        must(pgcn_i_input_new(form ? &x : &sparse, PGCN_NORMALISE_ROWS, standard, true, &input));
        const float *row = form ? input->dense : input->value;
        assert_true(row[0] == 0.2f && row[1] == -0.8f);
        assert_true(row[form ? 6 : 4] == 0.75f && row[form ? 8 : 5] == 0.25f);
        pgcn_i_input_free(input);
    }
}

static void test_input_rows_normalised_by_their_magnitudes(void **state) {
    (void)state;
    const float dense[6] = {1, -3, 0, 0, 2, 2};
    const int64_t offset[] = {0, 2, 2, 4};
    const int32_t column[] = {0, 1, 0, 1};
    const float value[] = {1, -3, 2, 2}, wanted[6] = {0.25f, -0.75f, 0, 0, 0.5f, 0.5f};
    pgcn_i_features x = {.n = 3, .columns = 2, .dense = dense};
    pgcn_i_features sparse = {
        .n = 3, .columns = 2, .nonzeros = 4, .offset = offset, .column = column, .value = value};
    pgcn_i_input *input;
    must(pgcn_i_input_new(&x, PGCN_NORMALISE_ROWS, no_standard, true, &input));
    assert_memory_equal(input->dense, wanted, sizeof wanted);
    pgcn_i_input_free(input);
    must(pgcn_i_input_new(&x, PGCN_NORMALISE_AUTO, no_standard, true, &input));
    assert_memory_equal(input->dense, dense, sizeof dense);
    pgcn_i_input_free(input);
    must(pgcn_i_input_new(&sparse, PGCN_NORMALISE_NONE, no_standard, true, &input));
    assert_memory_equal(input->value, value, sizeof value);
    pgcn_i_input_free(input);
    must(pgcn_i_input_new(&sparse, PGCN_NORMALISE_AUTO, no_standard, true, &input));
    assert_true(input->value[1] == wanted[1] && input->value[3] == wanted[5]);
    assert_int_equal(input->by_column.offset[1], 2); /* column 0: rows 0 and 2, entries 0 and 2 */
    assert_int_equal(input->by_column.row[1], 2);
    assert_int_equal(input->by_column.position[1], 2);
    pgcn_i_input_free(input);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ops_all_cases_and_sizes_match_reference_and_differences),
        cmocka_unit_test(test_ops_many_rows_match_reference_and_differences),
        cmocka_unit_test(test_ops_blocks_of_several_tiles_match_reference),
        cmocka_unit_test(test_batch_norm_statistics_training_and_inference),
        cmocka_unit_test(test_dropout_depends_on_step_only),
        cmocka_unit_test(test_scores_in_parts_and_at_once_equal_the_plain_reference),
        cmocka_unit_test(test_score_of_labels_that_nobody_has_or_says_is_full),
        cmocka_unit_test(test_score_of_even_odds_says_no_label),
        cmocka_unit_test(test_sigmoid_is_the_probability_of_each_label_and_never_nan),
        cmocka_unit_test(test_input_columns_weighed_by_how_many_masked_rows_have_them),
        cmocka_unit_test(test_input_rows_normalised_by_their_magnitudes),
        cmocka_unit_test(test_input_column_that_is_constant_but_for_rounding_is_not_scaled_up),
        cmocka_unit_test(test_input_standardised_over_the_masked_rows_dense_and_sparse_alike),
    };
    return cmocka_run_group_tests_name("ops", tests, NULL, NULL);
}
