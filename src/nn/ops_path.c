/* The path convolution as an operation (paper, eq. pathGCNAv and pathExpectation), mixed with a
 * residual r where the recipe has one:
 *
 *   sampled  y = (1 - alpha) sum_i s_i (.) S_i h + alpha r     one gather over the visit lists
 *   exact    y = (1 - alpha) sum_i s_i (.) T^i h + alpha r     Horner's rule: k-1 sparse products
 *
 * Backward, for both forms, with q_i = S_i^T g or (T^T)^i g:
 *
 *   dh = (1 - alpha) sum_i s_i (.) q_i     ds_i = (1 - alpha) sum_u h[u] (.) q_i[u]     dr = alpha g
 *
 * The loops know only one kernel, [k, c]: what is learnt times (1 - alpha), and spread over the
 * channels where there is one weight per hop (global, per layer). So mixing costs no pass over the
 * rows of its own. The full kernel, c x c weights per hop, is in ops_path_full.c. */
#include "nn/ops.h"

#include <string.h>

/* ---- the kernel that the loops see ----------------------------------------------------------- */

static int64_t kernel_floats(const pgcn_i_op *op) {
    int64_t c = op->out->cols;
    return pgcn_i_path_of(op)->conv.k * c *
           (pgcn_i_path_of(op)->conv.kernel == PGCN_KERNEL_FULL ? c : 1);
}
static bool is_spread(const pgcn_i_op *op) {
    return pgcn_i_path_of(op)->conv.kernel == PGCN_KERNEL_GLOBAL ||
           pgcn_i_path_of(op)->conv.kernel == PGCN_KERNEL_LAYER;
}

void pgcn_i_path_kernel(pgcn_i_tape *tape, pgcn_i_op *op) {
    const float *s = pgcn_i_value_of(tape->params, op->param[0]);
    float share = 1.0f - pgcn_i_path_of(op)->alpha, *kernel = pgcn_i_path_of(op)->kernel;
    int64_t c = op->out->cols;
    if (!is_spread(op))
        tape->kernels->scale(kernel, share, s, 0, kernel_floats(op), false);
    else
        for (int64_t e = 0; e < pgcn_i_path_of(op)->conv.k * c; e++) kernel[e] = share * s[e / c];
}

/* The sum over the nodes is there; what is left is the sum over the channels where s has none. */
void pgcn_i_path_kernel_gradient(pgcn_i_tape *tape, pgcn_i_op *op) {
    float *grad = tape->params->grad + op->param[0]->first;
    float share = 1.0f - pgcn_i_path_of(op)->alpha, *sum = pgcn_i_path_of(op)->kernel_grad;
    int64_t c = op->out->cols;
    if (!is_spread(op)) {
        tape->kernels->scale(grad, share, sum, 0, kernel_floats(op), op->add_param[0]);
        return;
    }
    for (int i = 0; i < pgcn_i_path_of(op)->conv.k; i++) {
        double total = 0;
        for (int64_t ch = 0; ch < c; ch++) total += (double)sum[i * c + ch];
        grad[i] = (float)((double)share * total + (op->add_param[0] ? (double)grad[i] : 0.0));
    }
}

static float residual_share(const pgcn_i_op *op) {
    return pgcn_i_path_of(op)->alpha;
}

/* ---- the residual ---------------------------------------------------------------------------- */

void pgcn_i_path_residual(const pgcn_i_tape *tape, const pgcn_i_op *op, int64_t begin,
                          int64_t end) {
    int64_t c = op->out->cols;
    if (op->in[1])
        tape->kernels->scale(op->out->data, pgcn_i_path_of(op)->alpha, op->in[1]->data, begin * c,
                             end * c, true);
}
void pgcn_i_path_residual_gradient(const pgcn_i_tape *tape, const pgcn_i_op *op, int64_t begin,
                                   int64_t end) {
    int64_t c = op->out->cols;
    if (op->in[1])
        tape->kernels->scale(op->in[1]->grad, pgcn_i_path_of(op)->alpha, op->out->grad, begin * c,
                             end * c, op->add_in[1]);
}

/* ---- sampled ------------------------------------------------------------------------------- */

/* Narrow rows and those of large matrices are gathered and go on to the product at once; others slab by
 * slab (paths/paths.h). */
static bool by_slabs(const pgcn_i_tape *tape, const pgcn_i_value *value) {
    return !tape->half && pgcn_i_slab_of(value->rows, value->cols) < value->cols;
}

/* `rows` is NULL where they are in bf16 alone. */
static pgcn_i_path_args path_args(const pgcn_i_tape *tape, const pgcn_i_op *op, const float *rows,
                                  const uint16_t *bf16, const pgcn_i_csr *hop) {
    return (pgcn_i_path_args){.h = rows,
                              .bf16 = rows ? tape->bf16 : bf16,
                              .s = pgcn_i_path_of(op)->kernel,
                              .hop = hop,
                              .k = pgcn_i_path_of(op)->conv.k,
                              .c = op->out->cols,
                              .width = op->out->cols,
                              .prefetch = pgcn_i_is_far(op->in[0])};
}

pgcn_i_reach pgcn_i_path_visited(const pgcn_i_op *op) {
    const pgcn_i_visits *visits = op->transition->visits;
    return (pgcn_i_reach){.hop = visits->hop,
                          .hops = visits->k - 1,
                          .n = visits->rows,
                          .others = visits->division ? pgcn_i_numbered(&visits->others) : NULL};
}

pgcn_i_reach pgcn_i_path_visitors(const pgcn_i_op *op) {
    const pgcn_i_visits *visits = op->transition->visits;
    return (pgcn_i_reach){.hop = visits->hop_t,
                          .hops = visits->k - 1,
                          .n = visits->rows,
                          .others = visits->division ? pgcn_i_numbered(&visits->others_t) : NULL};
}

/* The rows that will be gathered, copied to bf16: each is read many times, so half the bytes may
 * be worth a pass (docs/PERFORMANCE.md). Step 0: of the input; step 1: of the gradient. The first job->first rows are
 * those of the list of live ones, if there is one. */
static void bf16_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const pgcn_i_live *live = job->step == 0 ? op->live_in : op->live_out;
    const float *rows = job->step == 0 ? op->in[0]->data : op->out->grad;
    const pgcn_i_range range = pgcn_i_runs_range(&job->runs, task);
    int64_t c = op->out->cols;
    for (int64_t i = range.begin; i < range.end; i++) {
        int64_t row = live && i < job->first ? live->row[i] : i;
        job->tape->kernels->to_bf16(job->tape->bf16, rows, row * c, (row + 1) * c);
    }
}
static void to_bf16(pgcn_i_tape *tape, pgcn_i_op *op, int step) {
    const pgcn_i_live *live = step == 0 ? op->live_in : op->live_out;
    int64_t rows = step == 0 ? op->used[0] : op->out->rows;
    pgcn_i_job job = {.tape = tape, .op = op, .step = step, .first = rows};
    pgcn_i_reach reach = step == 0 ? pgcn_i_path_visited(op) : pgcn_i_path_visitors(op);
    if (!tape->bf16) return;
    if (tape->divided && !reach.others) { /* lists of live rows have those of this rank alone */
        live = NULL;
        job.first = 0;
    }
    job.runs = (pgcn_i_runs){.count = 1, .blocks = pgcn_i_blocks_of(live ? live->count : rows)};
    if (reach.others) job.runs = pgcn_i_runs_of(tape, rows, live);
    pgcn_i_parallel(tape->pool, pgcn_i_runs_tasks(&job.runs), bf16_task, &job);
    if (!reach.others) return;
    job.runs = (pgcn_i_runs){
        .first = reach.others->from, .count = 1, .blocks = pgcn_i_blocks_of(reach.others->count)};
    pgcn_i_parallel(tape->pool, pgcn_i_runs_tasks(&job.runs), bf16_task, &job);
}

static void sampled_forward_all(pgcn_i_tape *tape, pgcn_i_op *op) {
    to_bf16(tape, op, 0);
}
static void sampled_backward_all(pgcn_i_tape *tape, pgcn_i_op *op) {
    to_bf16(tape, op, 1);
}

static void residual_rows(const pgcn_i_tape *tape, const pgcn_i_op *op, pgcn_i_rows rows) {
    if (!rows.row) pgcn_i_path_residual(tape, op, rows.first, rows.first + rows.count);
    for (int64_t i = 0; i < rows.count && rows.row; i++)
        pgcn_i_path_residual(tape, op, rows.row[i], rows.row[i] + 1);
}

static pgcn_i_path_args forward_args(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    const pgcn_i_value *h = op->in[0];
    return path_args(tape, op, h->data, h->bf16, op->transition->visits->hop);
}

static void sampled_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    pgcn_i_path_args args = forward_args(tape, op);
    const int64_t c = op->out->cols;
    float *tile = pgcn_i_tile(tape, worker);
    if (op->out->data && !(op->in[1] && op->in[1]->half)) {
        tape->kernels->pathconv_forward(op->out->data, &args, rows);
        residual_rows(tape, op, rows);
        return;
    }
    float *y = pgcn_i_place_rows(tape, op->out, rows, worker, tile);
    args.packed = true;
    tape->kernels->pathconv_forward(y, &args, rows);
    if (op->in[1])
        tape->kernels->scale(
            y, pgcn_i_path_of(op)->alpha,
            pgcn_i_read_rows(tape, op->in[1], rows, worker, tile + PGCN_BLOCK_ROWS * c), 0,
            rows.count * c, true);
    pgcn_i_write_rows(tape, op->out, rows, y);
}

static void slab_forward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    int64_t blocks = pgcn_i_runs_tasks(&job->runs), slab = task / blocks;
    const pgcn_i_range block = pgcn_i_runs_range(&job->runs, task % blocks);
    pgcn_i_rows rows = {op->live_out ? op->live_out->row + block.begin : NULL, block.begin,
                        block.end - block.begin};
    int64_t c = op->out->cols, first = slab * PGCN_SLAB;
    pgcn_i_path_args args = forward_args(job->tape, op);
    args.h += first;
    args.s += first;
    if (args.bf16) args.bf16 += first;
    args.width = c - first < PGCN_SLAB ? c - first : PGCN_SLAB;
    job->tape->kernels->pathconv_forward(op->out->data + first, &args, rows);
}

static void slab_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    to_bf16(tape, op, 0);
    int64_t slabs = (op->out->cols + PGCN_SLAB - 1) / PGCN_SLAB;
    pgcn_i_job job = {
        .tape = tape, .op = op, .runs = pgcn_i_runs_of(tape, op->out->rows, op->live_out)};
    pgcn_i_parallel(tape->pool, pgcn_i_runs_tasks(&job.runs) * slabs, slab_forward_task, &job);
}

/* What is left when the slabs are there. */
static void slab_forward_rows(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    residual_rows(tape, op, rows);
}

/* A row of a gradient in bf16 goes through the floats of a tile. */
static void share_row(const pgcn_i_tape *tape, const pgcn_i_op *op, float share, int64_t row,
                      float *dx, bool add, float *tile) {
    const pgcn_i_value *r = op->in[1];
    const int64_t c = op->out->cols;
    const pgcn_i_rows rows = {NULL, row, 1};
    const float *g = op->out->half_grad ? tile : op->out->grad + row * c;
    float *to = dx ? dx : r->half_grad ? tile + c : r->grad + row * c;
    if (op->out->half_grad) pgcn_i_read_gradient(tape, op->out, rows, tile);
    if (!dx && r->half_grad && add) pgcn_i_read_gradient(tape, r, rows, to);
    tape->kernels->scale(to, share, g, 0, c, add);
    if (!dx && r->half_grad) pgcn_i_write_gradient(tape, r, rows, to);
}

void pgcn_i_residual_gradient(const pgcn_i_tape *tape, const pgcn_i_op *op, float share,
                              pgcn_i_backward_tile tile) {
    const pgcn_i_value *r = op->in[1];
    const uint8_t *has = pgcn_i_has_gradient(tape, op);
    bool into_dx = r == op->in[0];
    /* where only some rows have a gradient, that of a shared value was set to zero (tape.c) */
    bool add = into_dx || op->add_in[1] || (op->live_out && r->shared);
    for (int64_t i = 0; i < tile.rows.count; i++) {
        int64_t row = pgcn_i_row(tile.rows, i);
        if (has && !has[row]) continue;
        share_row(tape, op, share, row, into_dx ? tile.dx + i * op->out->cols : NULL, add,
                  pgcn_i_tile(tape, tile.worker));
    }
}

static void sampled_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    pgcn_i_path_args args =
        path_args(tape, op, op->out->grad, op->out->bf16_grad, op->transition->visits->hop_t);
    args.own_bf16 = op->in[0]->bf16;
    /* in a part of a graph transposed lists lead to rows of the result only, which all have a gradient */
    if (tape->part)
        args.own_rows = op->rows;
    else
        args.live = pgcn_i_has_gradient(tape, op);
    const float *h = op->in[0]->data;
    args.own_packed = pgcn_i_is_tile(tape, op->in[0]);
    if (args.own_packed) h = pgcn_i_read_rows(tape, op->in[0], tile.rows, tile.worker, NULL);
    tape->kernels->pathconv_backward(tile.dx, tile.partial, h, &args, tile.rows);
    if (op->in[1] && op->in[1]->lender != op->index)
        pgcn_i_residual_gradient(tape, op, residual_share(op), tile);
}

/* ---- exact --------------------------------------------------------------------------------- */

/* Of several ranks rows stay whole, so that they can be sent. Else a slab for every thread, if there are as many: rows
 * that another core has written are slow to read, and a pass reads all rows of the one before. */
static int64_t power_slab(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    enum { LINE_FLOATS = 16 };
    const int64_t c = op->out->cols, slab = pgcn_i_slab_of(op->in[0]->rows, c);
    if (tape->share) return c;
    const int64_t threads = pgcn_i_pool_threads(tape->pool);
    const int64_t slabs = op->transition->samples * ((c + slab - 1) / slab);
    if (slabs >= threads || pgcn_i_rows_are_far(op->in[0]->rows, c)) return slab;
    int64_t lines = (c + LINE_FLOATS - 1) / LINE_FLOATS;
    return (lines + threads - 1) / threads * LINE_FLOATS;
}

static int64_t power_slabs(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    return (op->out->cols + power_slab(tape, op) - 1) / power_slab(tape, op);
}

/* Of one sample, in the arrays that powers go to. */
static int64_t power_rows(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    return tape->part ? op->used[0] : op->transition->n;
}

/* Of one sample, that a pass computes. */
static int64_t pass_rows(const pgcn_i_tape *tape, const pgcn_i_op *op, int pass) {
    return tape->part ? pgcn_i_step_rows(tape, op, pgcn_i_path_of(op)->conv.k - 1 - pass)
                      : op->transition->n;
}

static int exact_steps(const pgcn_i_op *op) {
    return pgcn_i_path_of(op)->conv.k - 1;
}

/* Powers go to a buffer and to the place of the result in turn; in a part of a graph, where the result has fewer rows
 * than they have, to two buffers. */
static void horner_pass(const pgcn_i_tape *tape, const pgcn_i_op *op, int pass, int64_t sample,
                        int64_t first, int64_t begin, int64_t end) {
    const pgcn_i_pathconv *conv = &pgcn_i_path_of(op)->conv;
    int64_t n = power_rows(tape, op), c = op->out->cols, stack = sample * n * c;
    float *second = tape->part ? tape->power + n * c : op->out->data;
    const pgcn_i_horner horner = {.kernels = tape->kernels,
                                  .t = pgcn_i_step_transition(tape, op, conv->k - 1 - pass)->exact,
                                  .h = op->in[0]->data + stack,
                                  .s = pgcn_i_path_of(op)->kernel,
                                  .out = op->out->data + stack,
                                  .power = {tape->power + stack, second + stack},
                                  .k = conv->k,
                                  .n = n,
                                  .c = c,
                                  .slab = power_slab(tape, op),
                                  .prefetch = pgcn_i_is_far(op->out)};
    pgcn_i_horner_pass(&horner, pass, first, begin, end);
}

/* Task: a block of rows of a slab of a sample. */
static void horner_block_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    int64_t slab = task / job->blocks.count, block = task % job->blocks.count;
    int64_t slabs = power_slabs(job->tape, job->op);
    horner_pass(job->tape, job->op, job->step, slab / slabs,
                slab % slabs * power_slab(job->tape, job->op),
                job->first + pgcn_i_block_begin(job->blocks, block),
                job->first + pgcn_i_block_end(job->blocks, block));
}

/* Task: a slab of a sample, all passes but the last. */
static void horner_slab_task(void *context, int64_t slab, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    int64_t slabs = power_slabs(job->tape, job->op);
    for (int pass = 1; pass < pgcn_i_path_of(job->op)->conv.k - 1; pass++)
        horner_pass(job->tape, job->op, pass, slab / slabs,
                    slab % slabs * power_slab(job->tape, job->op), 0,
                    pass_rows(job->tape, job->op, pass));
}

/* Of several ranks: each pass fetches what its rows read of the one before. */
static void exact_forward_shared(pgcn_i_tape *tape, pgcn_i_op *op) {
    const pgcn_i_pathconv *conv = &pgcn_i_path_of(op)->conv;
    pgcn_i_own own = pgcn_i_own_of(tape, op->out->rows);
    int64_t c = op->out->cols;
    for (int pass = 1; pass < conv->k; pass++) {
        float *second = op->out->data;
        float *from = pass == 1 ? op->in[0]->data : (conv->k - 1 - pass) % 2 ? second : tape->power;
        pgcn_i_share_fetch(tape, op, op->transition->exact, from, c, c);
        if (pass == conv->k - 1) return; /* its rows go on to the next operation */
        pgcn_i_job job = {.tape = tape,
                          .op = op,
                          .step = pass,
                          .first = own.begin,
                          .blocks = pgcn_i_blocks_of(own.stop - own.begin)};
        pgcn_i_parallel(tape->pool, job.blocks.count * op->transition->samples, horner_block_task,
                        &job);
    }
}

/* Where hidden rows are kept: the rows that were asked for, the others are there. Powers are where horner_pass finds
 * them: slab after slab. */
static void hidden_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    const int k = pgcn_i_path_of(op)->conv.k;
    int64_t n = power_rows(tape, op), c = op->out->cols, slab = power_slab(tape, op);
    for (int pass = 1; pass < k - 1; pass++) {
        pgcn_i_blocks blocks = pgcn_i_blocks_of(op->rows);
        pgcn_i_run(tape, op, blocks, blocks.count * power_slabs(tape, op), pass, horner_block_task);
        for (int64_t first = 0; first < c; first += slab)
            pgcn_i_hidden_copy(
                tape, (pgcn_i_kept_rows){.from = tape->hidden->step[op->index][pass - 1],
                                         .to = tape->power + (k - 2 - pass) % 2 * n * c + n * first,
                                         .cols = c,
                                         .first = first,
                                         .width = c - first < slab ? c - first : slab});
    }
}

typedef struct keep_job {
    const pgcn_i_tape *tape;
    pgcn_i_horner_args args;
    pgcn_i_blocks blocks;
} keep_job;

static void keep_task(void *context, int64_t task, int worker) {
    (void)worker;
    const keep_job *job = context;
    job->tape->kernels->horner(&job->args, pgcn_i_block_begin(job->blocks, task),
                               pgcn_i_block_end(job->blocks, task));
}

static void exact_keep(pgcn_i_tape *tape, pgcn_i_op *op, const float *h, float *const *step) {
    const int k = pgcn_i_path_of(op)->conv.k;
    const int64_t c = op->out->cols;
    const float *s = pgcn_i_path_of(op)->kernel;
    for (int pass = 1; pass < k - 1; pass++) {
        keep_job job = {tape,
                        {.out = step[pass - 1],
                         .out_c = c,
                         .x = pass == 1 ? h : step[pass - 2],
                         .x_c = c,
                         .h = h,
                         .h_c = c,
                         .width = c,
                         .a = op->transition->exact,
                         .s = s + (k - 1 - pass) * c,
                         .s_x = pass == 1 ? s + (k - 1) * c : NULL,
                         .prefetch = pgcn_i_is_far(op->out)},
                        pgcn_i_blocks_of(op->transition->n)};
        pgcn_i_parallel(tape->pool, job.blocks.count, keep_task, &job);
    }
}

/* All passes but the last need all rows of the one before. Where the slabs keep all threads busy
 * nobody has to wait, and a thread finds its slab in its own cache. Which way is taken changes no
 * bit: a channel's sums are the same. */
static void exact_forward_all(pgcn_i_tape *tape, pgcn_i_op *op) {
    if (tape->hidden) {
        hidden_forward(tape, op);
        return;
    }
    int64_t slabs = op->transition->samples * power_slabs(tape, op),
            threads = pgcn_i_pool_threads(tape->pool);
    if (tape->share && !tape->replicated) {
        exact_forward_shared(tape, op);
        return;
    }
    if (slabs % threads == 0 || slabs > 4 * threads) {
        pgcn_i_run(tape, op, pgcn_i_blocks_of(op->transition->n), slabs, 0, horner_slab_task);
        return;
    }
    for (int pass = 1; pass < pgcn_i_path_of(op)->conv.k - 1; pass++) {
        pgcn_i_blocks blocks = pgcn_i_blocks_of(pass_rows(tape, op, pass));
        pgcn_i_run(tape, op, blocks, blocks.count * slabs, pass, horner_block_task);
    }
}

/* The rows of the last pass go on to the next operation. A tile may end in the next sample. */
static void exact_forward_rows(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    int64_t n = op->transition->n, begin = rows.first, end = rows.first + rows.count;
    for (int64_t sample = begin / n; sample * n < end && pgcn_i_path_of(op)->conv.k > 1; sample++) {
        int64_t from = begin > sample * n ? begin - sample * n : 0;
        int64_t to = end < (sample + 1) * n ? end - sample * n : n;
        for (int64_t first = 0; first < op->out->cols; first += power_slab(tape, op))
            horner_pass(tape, op, pgcn_i_path_of(op)->conv.k - 1, sample, first, from, to);
    }
    if (pgcn_i_path_of(op)->conv.k == 1) { /* nothing but s_0 (.) h */
        pgcn_i_path_args args = path_args(tape, op, op->in[0]->data, NULL, NULL);
        tape->kernels->pathconv_forward(op->out->data, &args, rows);
    }
    pgcn_i_path_residual(tape, op, begin, end);
}

/* Few channels at a time: powers are narrow matrices, and the channels of the result go over those of h where the tape
 * says so, once their last pass is done. Which way is taken changes no bit here either. */
static int64_t narrow_width(const pgcn_i_tape *tape, const pgcn_i_op *op, int64_t first) {
    return op->out->cols - first < tape->narrow ? op->out->cols - first : tape->narrow;
}

static int64_t narrow_floats(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    return op->out->rows * narrow_width(tape, op, 0);
}

/* Step: the pass, and k times the number of the slab. */
static float *narrow_power(const pgcn_i_job *job, int pass) {
    return job->tape->power + (pass % 2) * narrow_floats(job->tape, job->op);
}

/* Where the channels of h are copied to before the first pass, if they are. */
static float *narrow_packed(const pgcn_i_job *job) {
    return job->tape->power + 2 * narrow_floats(job->tape, job->op);
}

static void pack_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const int64_t c = op->out->cols,
                  first = job->step / pgcn_i_path_of(op)->conv.k * job->tape->narrow;
    const int64_t width = narrow_width(job->tape, op, first);
    const int64_t end = pgcn_i_block_end(job->blocks, task);
    float *packed = narrow_packed(job);
    for (int64_t r = pgcn_i_block_begin(job->blocks, task); r < end; r++)
        memcpy(packed + r * width, op->in[0]->data + r * c + first, (size_t)width * sizeof *packed);
}

static void narrow_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const int k = pgcn_i_path_of(op)->conv.k, pass = job->step % k;
    const int64_t c = op->out->cols, first = job->step / k * job->tape->narrow;
    const int64_t n = op->transition->n;
    const int64_t sample = task / job->blocks.count, block = task % job->blocks.count;
    const int64_t width = narrow_width(job->tape, op, first), h_c = job->tape->packs ? width : c;
    const float *s = pgcn_i_path_of(op)->kernel + first,
                *h = job->tape->packs ? narrow_packed(job) : op->in[0]->data + first;
    h += sample * n * h_c;
    const pgcn_i_horner_args args = {
        .out = narrow_power(job, pass) + sample * n * width,
        .out_c = width,
        .x = pass == 1 ? h : narrow_power(job, pass - 1) + sample * n * width,
        .x_c = pass == 1 ? h_c : width,
        .h = h,
        .h_c = h_c,
        .width = width,
        .a = op->transition->exact,
        .s = s + (k - 1 - pass) * c,
        .s_x = pass == 1 ? s + (k - 1) * c : NULL,
        .prefetch = pgcn_i_is_far(op->out)};
    job->tape->kernels->horner(&args, pgcn_i_block_begin(job->blocks, block),
                               pgcn_i_block_end(job->blocks, block));
}

static void widen_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const int k = pgcn_i_path_of(op)->conv.k;
    const int64_t c = op->out->cols, first = job->step / k * job->tape->narrow,
                  width = narrow_width(job->tape, op, first);
    const float *power = narrow_power(job, k - 1);
    const int64_t end = pgcn_i_block_end(job->blocks, task);
    for (int64_t r = pgcn_i_block_begin(job->blocks, task); r < end; r++)
        memcpy(op->out->data + r * c + first, power + r * width, (size_t)width * sizeof *power);
}

static void narrow_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    const int k = pgcn_i_path_of(op)->conv.k;
    const pgcn_i_blocks blocks = pgcn_i_blocks_of(op->transition->n);
    const pgcn_i_blocks all = pgcn_i_blocks_of(op->out->rows);
    for (int slab = 0; slab * tape->narrow < op->out->cols; slab++) {
        if (tape->packs) pgcn_i_run(tape, op, all, all.count, slab * k, pack_task);
        for (int pass = 1; pass < k; pass++)
            pgcn_i_run(tape, op, blocks, blocks.count * op->transition->samples, slab * k + pass,
                       narrow_task);
        pgcn_i_run(tape, op, all, all.count, slab * k, widen_task);
    }
}

/* Pass i:  q_i = T^T q_{i-1} (q_0 = g);  dh += s_i (.) q_i;  ds_i += h (.) q_i. A group takes the
 * same nodes of every sample in turn. Nobody needs g after pass 1: q_2, q_4, ... take its place. */
static void exact_backward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    int64_t group = job->first + task;
    const pgcn_i_kernels *kernels = job->tape->kernels;
    int i = job->step;
    int64_t c = op->out->cols, begin = pgcn_i_block_begin(job->blocks, group);
    int64_t end = pgcn_i_block_end(job->blocks, group);
    float *partial = pgcn_i_partial(job->tape, group) + i * c;
    memset(partial, 0, (size_t)c * sizeof *partial);
    for (int64_t sample = 0; sample < op->transition->samples; sample++) {
        int64_t first = sample * op->transition->n, stack = first * c;
        const float *q = op->out->grad + stack;
        if (i > 0) {
            const float *before = pgcn_i_path_power(job->tape, op, i - 1) + stack;
            float *power = pgcn_i_path_power(job->tape, op, i) + stack;
            kernels->gather(power + begin * c, before, op->transition->exact_t, begin, end, c);
            q = power;
        }
        const pgcn_i_power_gradient gradient = {.dh = op->in[0]->grad + stack,
                                                .ds = partial,
                                                .q = q,
                                                .h = op->in[0]->data + stack,
                                                .s = pgcn_i_path_of(op)->kernel + i * c,
                                                .c = c,
                                                .add = i > 0 || op->add_in[0]};
        kernels->scale_dot(&gradient, begin, end);
        if (i == 0) pgcn_i_path_residual_gradient(job->tape, op, first + begin, first + end);
    }
}

static void exact_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    int64_t c = op->out->cols;
    for (int i = 0; i < pgcn_i_path_of(op)->conv.k; i++) {
        if (i > 0)
            pgcn_i_share_fetch(tape, op, op->transition->exact_t,
                               pgcn_i_path_power(tape, op, i - 1), c, c);
        pgcn_i_run_groups(tape, op, op->out->rows, i, exact_backward_task, false);
    }
    pgcn_i_tape_reduce(tape, pgcn_i_path_of(op)->kernel_grad, false, op->out->rows,
                       kernel_floats(op));
    pgcn_i_path_kernel_gradient(tape, op);
}

/* ---- explaining ---------------------------------------------------------------------------- */

/* What hop i of the kernel takes back to h. */
static void give_hop(pgcn_i_trace *trace, const pgcn_i_op *op, const pgcn_i_adjoint *q, int i) {
    const pgcn_i_path_state *state = op->state;
    int64_t c = op->out->cols;
    if (state->conv.kernel == PGCN_KERNEL_FULL)
        pgcn_i_trace_give(trace, op->in[0],
                          pgcn_i_adjoint_product(trace, q, state->kernel + i * c * c, c));
    else
        pgcn_i_trace_give_columns(trace, op->in[0], q, state->kernel + i * c);
}

/* q_i of the first lines above; hop i of a path counts i hops, whether or not the walk stayed on its way. */
void pgcn_i_path_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    const pgcn_i_path_state *state = op->state;
    const pgcn_i_transition *transition = state->conv.transition;
    pgcn_i_adjoint *q = g;
    if (op->in[1])
        pgcn_i_trace_give_residual(trace, op->in[1], pgcn_i_adjoint_copy(trace, g, state->alpha));
    for (int i = 0; i < state->conv.k && trace->status == PGCN_OK; i++) {
        pgcn_i_along along = {.a = transition->exact, .hops = 1, .factor = 1};
        if (i > 0 && transition->visits) {
            along.a = &transition->visits->hop[i - 1];
            along.hops = i;
        }
        pgcn_i_adjoint *before = q;
        if (i > 0) q = pgcn_i_adjoint_along(trace, transition->visits ? g : before, along);
        if (before != g && before != q) pgcn_i_adjoint_free(before);
        if (q) give_hop(trace, op, q, i);
    }
    if (q != g) pgcn_i_adjoint_free(q);
    pgcn_i_adjoint_free(g);
}

/* ---- recording ----------------------------------------------------------------------------- */

#define SAMPLED                                                                                    \
    .needs = PGCN_I_NEEDS_VISITED, .state_bytes = sizeof(pgcn_i_path_state),                       \
    .refresh = pgcn_i_path_kernel, .reach = pgcn_i_path_visited,                                   \
    .reach_back = pgcn_i_path_visitors, .shares = true, .explain = pgcn_i_path_explain
#define SAMPLED_BACKWARD                                                                           \
    .backward_all = sampled_backward_all, .backward_rows = sampled_backward,                       \
    .backward_done = pgcn_i_path_kernel_gradient, .backward_reads_in = true,                       \
    .residual_share = residual_share
#define EXACT                                                                                      \
    .needs = PGCN_I_NEEDS_ALL, .state_bytes = sizeof(pgcn_i_path_state),                           \
    .refresh = pgcn_i_path_kernel, .steps = exact_steps, .keep_steps = exact_keep,                 \
    .forward_all = exact_forward_all, .forward_rows = exact_forward_rows, .uses_power = true,      \
    .shares = true, .explain = pgcn_i_path_explain

/* By where a row goes: on to the product at once, or slab by slab; and whether it is trained. */
static const pgcn_i_kind sampled_kind[2][2] = {{{.name = "smoothing",
                                                 SAMPLED,
                                                 .forward_all = sampled_forward_all,
                                                 .forward_rows = sampled_forward,
                                                 .rows_make_result = true},
                                                {.name = "path convolution",
                                                 SAMPLED,
                                                 .any_rows = true,
                                                 SAMPLED_BACKWARD,
                                                 .forward_all = sampled_forward_all,
                                                 .forward_rows = sampled_forward,
                                                 .rows_make_result = true}},
                                               {{.name = "smoothing by slabs",
                                                 SAMPLED,
                                                 .forward_all = slab_forward,
                                                 .forward_rows = slab_forward_rows},
                                                {.name = "path convolution by slabs",
                                                 SAMPLED,
                                                 SAMPLED_BACKWARD,
                                                 .forward_all = slab_forward,
                                                 .forward_rows = slab_forward_rows}}};
static const pgcn_i_kind exact_kind[2] = {{.name = "exact smoothing", EXACT},
                                          {.name = "exact path convolution",
                                           EXACT,
                                           .backward_all = exact_backward,
                                           .backward_reads_in = true}};

/* Of inference; what is left when the channels are there is the residual. */
static const pgcn_i_kind narrow_kind = {.name = "exact path convolution by slabs",
                                        .needs = PGCN_I_NEEDS_ALL,
                                        .state_bytes = sizeof(pgcn_i_path_state),
                                        .refresh = pgcn_i_path_kernel,
                                        .steps = exact_steps,
                                        .keep_steps = exact_keep,
                                        .forward_all = narrow_forward,
                                        .forward_rows = slab_forward_rows,
                                        .uses_power = true,
                                        .over_input = true,
                                        .explain = pgcn_i_path_explain};

static const pgcn_i_kind *kind_of(const pgcn_i_tape *tape, const pgcn_i_pathconv *conv,
                                  const pgcn_i_value *h, bool trained) {
    bool sampled = conv->transition->visits != NULL;
    if (conv->kernel == PGCN_KERNEL_FULL)
        return sampled ? &pgcn_i_full_sampled : &pgcn_i_full_exact;
    if (tape->narrow > 0 && !sampled && conv->k > 1) return &narrow_kind;
    return sampled ? &sampled_kind[by_slabs(tape, h)][trained] : &exact_kind[trained];
}

static void need_scratch(pgcn_i_tape *tape, pgcn_i_op *op, bool trained) {
    const pgcn_i_path_state *state = op->state;
    int64_t floats = pgcn_i_share_room(tape, op->in[0]->rows) * op->out->cols;
    if (op->kind == &narrow_kind)
        pgcn_i_tape_need_powers(tape, (tape->packs ? 3 : 2) * narrow_floats(tape, op));
    else if (op->kind->uses_power)
        pgcn_i_tape_need_powers(tape, tape->part ? 2 * floats : floats);
    if (state->conv.kernel == PGCN_KERNEL_FULL) {
        pgcn_i_path_full_scratch(tape, op);
    } else if (!op->transition->visits) {
        pgcn_i_tape_need(tape, kernel_floats(op), 0);
    } else {
        if (tape->gather_bf16 && floats > tape->bf16_count) tape->bf16_count = floats;
        if (!trained) return;
        /* rows of the result and of the residual */
        pgcn_i_tape_need(tape, 0, 2 * PGCN_BLOCK_ROWS * op->out->cols);
        op->partial_floats = kernel_floats(op);
        op->partial_to = state->kernel_grad;
    }
}

static pgcn_i_value *record(pgcn_i_tape *tape, pgcn_i_value *h, pgcn_i_pathconv conv,
                            bool trained) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, kind_of(tape, &conv, h, trained),
                                   (pgcn_i_ports){.in = {h, conv.residual},
                                                  .param = {conv.s},
                                                  .transition = conv.transition,
                                                  .rows = h->rows,
                                                  .cols = h->cols});
    if (!op) return NULL;
    pgcn_i_path_state *state = op->state;
    *state = (pgcn_i_path_state){.conv = conv, .alpha = conv.residual ? (float)conv.alpha : 0};
    state->kernel = pgcn_i_tape_floats(tape, kernel_floats(op));
    state->kernel_grad = pgcn_i_tape_floats(tape, kernel_floats(op));
    need_scratch(tape, op, trained);
    return op->out;
}

pgcn_i_value *pgcn_i_op_pathconv(pgcn_i_tape *tape, pgcn_i_value *h, pgcn_i_pathconv conv) {
    return record(tape, h, conv, true);
}

pgcn_i_value *pgcn_i_op_smooth(pgcn_i_tape *tape, pgcn_i_value *x,
                               const pgcn_i_transition *transition, int k, pgcn_i_param *s) {
    return record(
        tape, x,
        (pgcn_i_pathconv){.transition = transition, .kernel = PGCN_KERNEL_LAYER, .k = k, .s = s},
        false);
}
