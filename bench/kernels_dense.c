/* kernels: dense products, a whole layer on a tape, dropout, Adam and the loss. */
#include "bed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- dense products ------------------------------------------------------------------------- */

enum { TILE = PGCN_BLOCK_ROWS, LIMIT_ITERATIONS = 20000 };

/* The limit: multiply-adds on registers, on every thread. */
static float limit_sums[2][64];
static double limit_flops(void) { /* of a thread */
    return limit_fma(limit_sums[0], LIMIT_ITERATIONS);
}
static void multiply_add_task(void *context, int64_t task, int worker) {
    (void)context, (void)worker;
    limit_fma(limit_sums[task], LIMIT_ITERATIONS);
}
static void multiply_add(void *context) {
    const bed *b = context;
    pgcn_i_parallel(b->pool, pgcn_i_pool_threads(b->pool), multiply_add_task, NULL);
}

/* y = x w, dx = g w^T, and dw = x^T g in the sum of a group: what a layer does with 64 rows. */
static int64_t tile_rows(int64_t row, int64_t end) {
    return end - row < TILE ? end - row : TILE;
}
static void multiply(const bed *b, pgcn_i_product p) {
    p.n = p.lda = p.ldb = p.ldc = b->c;
    b->kernels->gemm(&p);
}
OVER_BLOCKS(gemm_forward) {
    for (int64_t r = begin; r < end; r += TILE)
        multiply(b, (pgcn_i_product){.m = tile_rows(r, end),
                                     .k = b->c,
                                     .a = b->h + r * b->c,
                                     .b = b->weight,
                                     .c = b->out + r * b->c});
}
OVER_BLOCKS(gemm_backward) {
    for (int64_t r = begin; r < end; r += TILE)
        multiply(b, (pgcn_i_product){.m = tile_rows(r, end),
                                     .k = b->c,
                                     .a = b->g + r * b->c,
                                     .b = b->weight,
                                     .b_transposed = true,
                                     .c = b->out + r * b->c});
}
OVER_GROUPS(gemm_weights) {
    float *dw = b->product_out + task * b->c * b->c;
    for (int64_t r = begin; r < end; r += TILE)
        multiply(b, (pgcn_i_product){.m = b->c,
                                     .k = tile_rows(r, end),
                                     .a = b->h + r * b->c,
                                     .a_transposed = true,
                                     .b = b->g + r * b->c,
                                     .c = dw,
                                     .add = r > begin});
}

static void check_gemm(bed *b) {
    int64_t c = b->c, rows = bed_checked_rows(b), groups = bed_groups(b->rows).count;
    double *h = ref_doubles(b->h, b->rows * c), *g = ref_doubles(b->g, b->rows * c);
    double *w = ref_doubles(b->weight, c * c);
    double *want = ref_zeros(rows * c > c * c ? rows * c : c * c);
    ref_gemm(false, false, rows, c, c, h, w, 0, want);
    gemm_forward(b);
    check_close("x w", b->out, want, rows * c, 1e-5);
    ref_gemm(false, true, rows, c, c, g, w, 0, want);
    gemm_backward(b);
    check_close("g w^T", b->out, want, rows * c, 1e-5);
    ref_gemm(true, false, c, c, b->rows, h, g, 0, want);
    gemm_weights(b);
    for (int64_t group = 1; group < groups; group++)
        for (int64_t i = 0; i < c * c; i++) b->product_out[i] += b->product_out[group * c * c + i];
    check_close("x^T g", b->product_out, want, c * c, 1e-4);
    free(h), free(g), free(w), free(want);
}

void bench_gemm(bed *b) {
    b->weight = ref_random_floats(4, b->c * b->c);
    b->product_out = ref_filled_floats(0, PGCN_GROUPS * b->c * b->c);
    check_gemm(b);
    static const struct {
        const char *name;
        void (*body)(void *bed);
    } products[] = {{"64 rows times W", gemm_forward},
                    {"64 rows times W^T", gemm_backward},
                    {"X^T G, 64 rows at a time", gemm_weights}};
    for (int i = 0; i < 3; i++)
        measure(b, &(subject){.name = products[i].name,
                              .body = products[i].body,
                              .work = 2.0 * (double)(b->rows * b->c * b->c),
                              .unit = BENCH_GFLOP_S,
                              .limit = {multiply_add},
                              .limit_thread_work = limit_flops(),
                              .limit_name = "multiply-adds in registers"});
    free(b->weight), free(b->product_out);
}

/* ---- a whole layer, on a tape --------------------------------------------------------------- */

typedef struct layer {
    pgcn_i_params params;
    pgcn_i_transition transition;
    pgcn_i_tape tape;
    pgcn_i_value *in, *out;
} layer;

/* ReLU((sum_i s_i (.) S_i H) W) */
static void layer_open(layer *l, const bed *b) {
    *l = (layer){
        .transition = {.n = b->n, .samples = 1, .visits = b->trainer->train.views.visits[0]}};
    must(pgcn_i_params_init(&l->params, 2));
    pgcn_i_param *s = pgcn_i_params_add(
        &l->params, (pgcn_i_param_spec){.group = PGCN_I_GROUP_KERNEL, .shape = {b->k, b->c}}, "s");
    pgcn_i_param *w = pgcn_i_params_add(
        &l->params, (pgcn_i_param_spec){.group = PGCN_I_GROUP_MIX, .shape = {b->c, b->c}}, "w");
    must(pgcn_i_params_allocate(&l->params, true));
    float *start = ref_random_floats(5, b->c * b->c);
    memcpy(pgcn_i_value_of(&l->params, s), b->s, (size_t)s->count * sizeof(float));
    memcpy(pgcn_i_value_of(&l->params, w), start, (size_t)w->count * sizeof(float));
    free(start);
    must(pgcn_i_tape_init(&l->tape, b->pool, &l->params, 4, true));
    l->in = pgcn_i_tape_value(&l->tape, b->n, b->c);
    pgcn_i_value *u = pgcn_i_op_pathconv(
        &l->tape, l->in,
        (pgcn_i_pathconv){
            .transition = &l->transition, .kernel = PGCN_KERNEL_DEPTHWISE, .k = b->k, .s = s});
    l->out = pgcn_i_op_linear(&l->tape, u, w, NULL, true, 0);
    must(pgcn_i_tape_finish(&l->tape));
    memcpy(l->in->data, b->h, (size_t)(b->n * b->c) * sizeof(float));
    memcpy(l->out->grad, b->g, (size_t)(b->n * b->c) * sizeof(float));
}

static void layer_close(layer *l) {
    pgcn_i_tape_free(&l->tape);
    pgcn_i_params_free(&l->params);
}

static void check_layer(const layer *l, const bed *b) {
    int64_t rows = bed_checked_rows(b), c = b->c;
    double *h = ref_doubles(b->h, b->n * c), *s = ref_doubles(b->s, b->k * c);
    double *w = ref_doubles(pgcn_i_value_of(&l->params, &l->params.param[1]), c * c);
    double *u = ref_zeros(rows * c), *want = ref_zeros(rows * c);
    ref_pathconv_forward(u, h, s, b->hop, b->k, rows, c);
    ref_linear(want, u, w, NULL, true, rows, c, c);
    check_close("a layer", l->out->data, want, rows * c, 1e-4);
    free(h), free(s), free(w), free(u), free(want);
}

TASK(gather_limit_narrow, pgcn_i_blocks_of, b->n) {
    limit_gather(b->out, b->h, b->hop, b->k - 1, begin, end, b->c, false, 0);
}
TASK(gather_limit_wide, pgcn_i_blocks_of, b->n) {
    limit_gather(b->out, b->h, b->hop, b->k - 1, begin, end, b->c, true, 0);
}
TASK(gather_t_limit_narrow, pgcn_i_blocks_of, b->n) {
    limit_gather(b->out, b->g, b->hop_t, b->k - 1, begin, end, b->c, false, 0);
}
TASK(gather_t_limit_wide, pgcn_i_blocks_of, b->n) {
    limit_gather(b->out, b->g, b->hop_t, b->k - 1, begin, end, b->c, true, 0);
}
#define TURN(body, with)                                                                           \
    { .run = (body), .context = (with) }

static void layer_forward(void *context) {
    pgcn_i_tape_forward(&((layer *)context)->tape);
}
static void layer_backward(void *context) {
    pgcn_i_tape_backward(&((layer *)context)->tape);
}

/* The limit is the time of that many multiply-adds in registers, plus the gathers that only
 * sum. */
static void report_layer(const bed *b, const char *name, bench_times times, double flops,
                         double limit_seconds, const char *limit, int threads) {
    bench_case result = {.bench = "kernels",
                         .name = name,
                         .threads = threads,
                         .times = times,
                         .work = flops,
                         .unit = BENCH_GFLOP_S,
                         .limit_seconds = limit_seconds,
                         .limit = limit};
    bed_shape(result.shape, sizeof result.shape, b, NULL);
    bench_report(&result, &run.machine, run.command, run.json);
}

void bench_layer(bed *b) {
    double flops = 2.0 * (double)(b->n * b->c * b->c);
    for (int t = 0; t < run.thread_counts; t++) {
        layer l;
        b->pool = run.pool[t];
        layer_open(&l, b);
        layer_forward(&l);
        check_layer(&l, b);
        bench_turn turns[] = {TURN(layer_forward, &l),     TURN(layer_backward, &l),
                              TURN(multiply_add, b),       TURN(gather_limit_narrow, b),
                              TURN(gather_limit_wide, b),  TURN(gather_t_limit_narrow, b),
                              TURN(gather_t_limit_wide, b)};
        bench_take_turns(turns, 7, run.repetitions);
        double per_flop = turns[2].times.median / (limit_flops() * (double)run.threads[t]);
        double gather = fmin(turns[3].times.median, turns[4].times.median);
        double gather_t = fmin(turns[5].times.median, turns[6].times.median);
        report_layer(b, "layer forward", turns[0].times, flops, gather + flops * per_flop,
                     "gather limit + multiply-adds", run.threads[t]);
        report_layer(b, "layer backward", turns[1].times, 2 * flops,
                     gather_t + 2 * flops * per_flop, "gather limit + multiply-adds",
                     run.threads[t]);
        layer_close(&l);
    }
}

/* ---- element-wise --------------------------------------------------------------------------- */

enum { CHUNK = 16384 };

/* Chunks of whole cache lines of an array of n * c elements. */
static pgcn_i_blocks chunks_of(int64_t count) {
    return pgcn_i_cut(count, PGCN_MAX_BLOCKS, CHUNK);
}

static uint8_t *kept_flags;
static const uint32_t drop_threshold = 39322; /* 0.6 */

TASK(dropout, chunks_of, b->rows * b->c) {
    const pgcn_i_dropout drop = {.domain = pgcn_i_rng_domain_of(1, PGCN_I_RNG_TEST, 1, 0, 0),
                                 .threshold = drop_threshold,
                                 .scale = 2.5f};
    b->kernels->dropout(b->out, kept_flags, b->h, &drop, begin, end);
}
TASK(dropout_limit, chunks_of, b->rows * b->c) {
    limit_copy(b->out, b->h, begin, end);
}

static void check_dropout(bed *b) {
    pgcn_i_rng_domain domain = pgcn_i_rng_domain_of(1, PGCN_I_RNG_TEST, 1, 0, 0);
    dropout(b);
    for (int64_t i = 0; i < b->rows * b->c; i++) {
        uint32_t word[4];
        pgcn_i_rng_words(domain, (uint64_t)i / 8, 0, word);
        uint32_t half = i % 2 ? word[i % 8 / 2] >> 16 : word[i % 8 / 2] & 0xffff;
        float want = half < drop_threshold ? 0 : 2.5f * b->h[i];
        if (b->out[i] != want) bench_die("dropout of element %lld is wrong", (long long)i);
    }
}

static const pgcn_i_adam_step adam_step = {1e-4f, 1e-3f, 0.9f, 0.999f, 1e-8f, 1.1f, 1.2f};
static float *moment[2]; /* [n, c] each */

TASK(adam, chunks_of, b->rows * b->c) {
    const pgcn_i_adam_arrays arrays = {.w = b->out, .m = moment[0], .v = moment[1], .g = b->g};
    b->kernels->adam(&arrays, &adam_step, begin, end);
}
TASK(adam_limit, chunks_of, b->rows * b->c) {
    limit_adam(b->out, moment[0], moment[1], b->g, begin, end);
}

static void check_adam(bed *b) {
    int64_t count = b->rows * b->c;
    memcpy(b->out, b->h, (size_t)count * sizeof(float));
    double *w = ref_doubles(b->out, count), *g = ref_doubles(b->g, count);
    double *m = ref_zeros(count), *v = ref_zeros(count);
    for (int i = 0; i < 2; i++) {
        adam(b);
        ref_adam(w, m, v, g, NULL, &adam_step, count);
    }
    check_close("Adam", b->out, w, count, 1e-6);
    free(w), free(g), free(m), free(v);
}

static struct {
    int64_t classes;
    float *logits, *probability, *gradient;
    int32_t *label;
    double loss[PGCN_MAX_BLOCKS];
} loss_bed;

OVER_BLOCKS(loss) {
    int64_t hits = 0, c = loss_bed.classes;
    loss_bed.loss[task] = 0;
    b->kernels->softmax(loss_bed.probability, loss_bed.logits, begin, end, c);
    const pgcn_i_loss_args args = {.logits = loss_bed.logits,
                                   .probability = loss_bed.probability,
                                   .dlogits = loss_bed.gradient,
                                   .scale = 0.1f,
                                   .n = b->n,
                                   .c = c,
                                   .label = loss_bed.label};
    b->kernels->cross_entropy(&loss_bed.loss[task], &hits, &args, begin, end);
}
OVER_BLOCKS(loss_limit) {
    int64_t c = loss_bed.classes;
    limit_copy(loss_bed.probability, loss_bed.logits, begin * c, end * c);
    limit_copy(loss_bed.gradient, loss_bed.logits, begin * c, end * c);
}

void bench_loss(bed *b) {
    int64_t c = loss_bed.classes = b->data->classes, count = b->n * c;
    loss_bed.logits = ref_random_floats(6, count);
    loss_bed.probability = ref_filled_floats(0, count);
    loss_bed.gradient = ref_filled_floats(0, count);
    loss_bed.label = pgcn_i_alloc(b->n, sizeof *loss_bed.label);
    if (!loss_bed.label) bench_die("%s", pgcn_last_error());
    for (int64_t j = 0; j < b->n; j++) loss_bed.label[j] = (int32_t)(j % c);
    double *logits = ref_doubles(loss_bed.logits, count), *want = ref_zeros(count), sum = 0;
    loss(b);
    ref_softmax(want, logits, b->rows, c);
    check_close("softmax", loss_bed.probability, want, b->rows * c, 1e-5);
    for (int64_t i = 0; i < pgcn_i_blocks_of(b->rows).count; i++) sum += loss_bed.loss[i];
    double expected = ref_cross_entropy(logits, loss_bed.label, NULL, NULL, b->n, b->rows, c);
    if (!(fabs(sum - expected) <= 1e-5 * expected)) bench_die("the cross-entropy is wrong");
    free(logits), free(want);
    char note[40];
    snprintf(note, sizeof note, "%lld classes", (long long)c);
    measure(b, &(subject){.name = "softmax and cross-entropy",
                          .note = note,
                          .body = loss,
                          .work = (double)b->rows,
                          .unit = BENCH_NS,
                          .of = "row",
                          .limit = {loss_limit},
                          .limit_name = "copying the logits twice"});
    free(loss_bed.logits), free(loss_bed.probability), free(loss_bed.gradient);
    pgcn_i_free(loss_bed.label);
}

void bench_elementwise(bed *b) {
    int64_t count = b->n * b->c, used = b->rows * b->c;
    kept_flags = pgcn_i_alloc(count, 1);
    moment[0] = bench_floats(count, false);
    moment[1] = bench_floats(count, false);
    if (!kept_flags) bench_die("%s", pgcn_last_error());
    check_dropout(b);
    measure(b, &(subject){.name = "dropout",
                          .body = dropout,
                          .work = 8.0 * (double)used,
                          .unit = BENCH_GB_S,
                          .limit = {dropout_limit},
                          .limit_name = "copying the same array"});
    check_adam(b);
    measure(b, &(subject){.name = "Adam",
                          .body = adam,
                          .work = 7.0 * sizeof(float) * (double)used,
                          .unit = BENCH_GB_S,
                          .limit = {adam_limit},
                          .limit_name = "the same arrays, only added"});
    bench_floats_free(moment[0], count);
    bench_floats_free(moment[1], count);
    pgcn_i_free(kept_flags);
}
