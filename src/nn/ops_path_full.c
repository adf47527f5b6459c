/* The full path convolution: c x c weights for every hop, like an ordinary convolution.
 *
 *   sampled  y = sum_i S_i h W_i          exact  y = sum_i T^i h W_i   (Horner: r = T r + h W_i)
 *
 * Backward with q_i = S_i^T g or (T^T)^i g:   dh = sum_i q_i W_i^T    dW_i = h^T q_i
 *
 * Tiles of 64 rows are gathered and multiplied while they are in the cache. The residual, the
 * factor (1 - alpha) in W and the set-up are those of ops_path.c, which chooses
 * one of the two kinds at the end of this file. Of several ranks each has the tiles of its own rows, and fetches what
 * they gather. */
#include "nn/ops.h"

static const float *weight_of(const pgcn_i_op *op, int hop) {
    return pgcn_i_path_of(op)->kernel + hop * op->out->cols * op->out->cols;
}

/* Calls `tile` for 64 rows at a time of a group, or a block, of one sample, whose first row is `stack`. */
typedef void (*tile_function)(const pgcn_i_job *job, int64_t stack, int64_t begin, int64_t end,
                              int64_t group, int worker);
static void for_tiles(const pgcn_i_job *job, int64_t stack, int64_t block, int worker,
                      tile_function tile) {
    int64_t last = pgcn_i_block_end(job->blocks, block);
    for (int64_t begin = pgcn_i_block_begin(job->blocks, block); begin < last;
         begin += PGCN_BLOCK_ROWS)
        tile(job, stack, begin, begin + PGCN_BLOCK_ROWS < last ? begin + PGCN_BLOCK_ROWS : last,
             block, worker);
}

/* C [m, c] (= or +=) A [m, k] B [k, c], where all matrices have rows of c floats. */
static void product(const pgcn_i_tape *tape, pgcn_i_product p, int64_t c) {
    p.n = p.lda = p.ldb = p.ldc = c;
    tape->kernels->gemm(&p);
}

/* dh[rows] (= or +=) q W_i^T;  dW_i += h[rows]^T q, for one tile q of hop i. */
static void tile_gradient(const pgcn_i_job *job, const float *q, int hop, int64_t first_row,
                          int64_t rows, int64_t group, bool first) {
    const pgcn_i_op *op = job->op;
    int64_t c = op->out->cols;
    product(job->tape,
            (pgcn_i_product){.m = rows,
                             .k = c,
                             .a = q,
                             .b = weight_of(op, hop),
                             .b_transposed = true,
                             .c = op->in[0]->grad + first_row * c,
                             .add = hop > 0 || op->add_in[0]},
            c);
    if (hop == 0) pgcn_i_path_residual_gradient(job->tape, op, first_row, first_row + rows);
    product(job->tape,
            (pgcn_i_product){.m = c,
                             .k = rows,
                             .a = op->in[0]->data + first_row * c,
                             .a_transposed = true,
                             .b = q,
                             .c = pgcn_i_partial(job->tape, group) + hop * c * c,
                             .add = !first},
            c);
}

static void sum_kernel_gradient(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_tape_reduce(tape, pgcn_i_path_of(op)->kernel_grad, false, op->out->rows,
                       pgcn_i_path_of(op)->conv.k * op->out->cols * op->out->cols);
    pgcn_i_path_kernel_gradient(tape, op);
}

/* ---- sampled ------------------------------------------------------------------------------- */

static void sampled_forward_all(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_share_fetch_along(tape, op, pgcn_i_path_visited(op), op->in[0]->data);
}

/* All rows: the full kernel does not leave any out, see live.c. */
static void sampled_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    int64_t c = op->out->cols, begin = rows.first, end = rows.first + rows.count;
    float *tile = pgcn_i_tile(tape, worker);
    for (int i = 0; i < pgcn_i_path_of(op)->conv.k; i++) {
        const float *z = op->in[0]->data + begin * c;
        if (i > 0) {
            tape->kernels->gather(tile, op->in[0]->data, &op->transition->visits->hop[i - 1], begin,
                                  end, c);
            z = tile;
        }
        product(tape,
                (pgcn_i_product){.m = end - begin,
                                 .k = c,
                                 .a = z,
                                 .b = weight_of(op, i),
                                 .c = op->out->data + begin * c,
                                 .add = i > 0},
                c);
    }
    pgcn_i_path_residual(tape, op, begin, end);
}

static void sampled_backward_tile(const pgcn_i_job *job, int64_t stack, int64_t first_row,
                                  int64_t end_row, int64_t group, int worker) {
    int64_t begin = stack + first_row, end = stack + end_row;
    const pgcn_i_op *op = job->op;
    int64_t c = op->out->cols;
    float *tile = pgcn_i_tile(job->tape, worker);
    bool first = begin == pgcn_i_block_begin(job->blocks, group); /* of the first sample */
    for (int i = 0; i < pgcn_i_path_of(op)->conv.k; i++) {
        const float *q = op->out->grad + begin * c;
        if (i > 0) {
            job->tape->kernels->gather(tile, op->out->grad, &op->transition->visits->hop_t[i - 1],
                                       begin, end, c);
            q = tile;
        }
        tile_gradient(job, q, i, begin, end - begin, group, first);
    }
}

static void sampled_backward_task(void *context, int64_t task, int worker) {
    const pgcn_i_job *job = context;
    for (int sample = 0; sample < job->tape->samples; sample++)
        for_tiles(job, sample * job->blocks.rows, job->first + task, worker, sampled_backward_tile);
}

static void sampled_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_share_fetch_along(tape, op, pgcn_i_path_visitors(op), op->out->grad);
    pgcn_i_run_groups(tape, op, op->out->rows, 0, sampled_backward_task, false);
    sum_kernel_gradient(tape, op);
}

/* ---- exact --------------------------------------------------------------------------------- */

/* Pass t = 0 .. k-1 of Horner's rule with hop i = k-1-t:  r = T r + h W_i, into a buffer and the
 * result in turn, the last into the result. */
static float *horner_target(const pgcn_i_tape *tape, const pgcn_i_op *op, int pass) {
    return (pgcn_i_path_of(op)->conv.k - 1 - pass) % 2 ? tape->power : op->out->data;
}

static void exact_forward_tile(const pgcn_i_job *job, int64_t stack, int64_t begin, int64_t end,
                               int64_t group, int worker) {
    (void)group, (void)worker;
    const pgcn_i_op *op = job->op;
    int64_t c = op->out->cols;
    float *target = horner_target(job->tape, op, job->step) + (stack + begin) * c;
    if (job->step > 0)
        job->tape->kernels->gather(target, horner_target(job->tape, op, job->step - 1) + stack * c,
                                   op->transition->exact, begin, end, c);
    product(job->tape,
            (pgcn_i_product){.m = end - begin,
                             .k = c,
                             .a = op->in[0]->data + (stack + begin) * c,
                             .b = weight_of(op, pgcn_i_path_of(op)->conv.k - 1 - job->step),
                             .c = target,
                             .add = job->step > 0},
            c);
    if (job->step == pgcn_i_path_of(op)->conv.k - 1)
        pgcn_i_path_residual(job->tape, op, stack + begin, stack + end);
}

/* A block of this process's rows of one sample, or of all samples: then it may end in the next one. */
static void exact_forward_task(void *context, int64_t task, int worker) {
    const pgcn_i_job *job = context;
    const int64_t n = job->op->transition->n;
    const pgcn_i_range rows = pgcn_i_runs_range(&job->runs, task);
    for (int64_t row = rows.begin, end; row < rows.end; row = end) {
        int64_t stack = row / n * n;
        end = row + PGCN_BLOCK_ROWS < rows.end ? row + PGCN_BLOCK_ROWS : rows.end;
        if (end > stack + n) end = stack + n;
        exact_forward_tile(job, stack, row - stack, end - stack, 0, worker);
    }
}

static void exact_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    const pgcn_i_runs runs = pgcn_i_runs_of(tape, op->out->rows, NULL);
    for (int pass = 0; pass < pgcn_i_path_of(op)->conv.k; pass++) {
        if (pass > 0)
            pgcn_i_share_fetch(tape, op, op->transition->exact, horner_target(tape, op, pass - 1),
                               op->out->cols, op->out->cols);
        pgcn_i_run_own(tape, op, runs, pass, exact_forward_task, false);
    }
}

/* Pass i:  q_i = T^T q_{i-1}, q_0 = g. */
static void exact_backward_tile(const pgcn_i_job *job, int64_t stack, int64_t begin, int64_t end,
                                int64_t group, int worker) {
    (void)worker;
    const pgcn_i_op *op = job->op;
    int i = job->step;
    int64_t c = op->out->cols;
    const float *q = op->out->grad + (stack + begin) * c;
    if (i > 0) {
        const float *before = pgcn_i_path_power(job->tape, op, i - 1);
        float *power = pgcn_i_path_power(job->tape, op, i) + (stack + begin) * c;
        job->tape->kernels->gather(power, before + stack * c, op->transition->exact_t, begin, end,
                                   c);
        q = power;
    }
    tile_gradient(job, q, i, stack + begin, end - begin, group,
                  stack == 0 && begin == pgcn_i_block_begin(job->blocks, group));
}

static void exact_backward_task(void *context, int64_t task, int worker) {
    const pgcn_i_job *job = context;
    for (int sample = 0; sample < job->op->transition->samples; sample++)
        for_tiles(job, sample * job->op->transition->n, job->first + task, worker,
                  exact_backward_tile);
}

static void exact_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    for (int i = 0; i < pgcn_i_path_of(op)->conv.k; i++) {
        if (i > 0)
            pgcn_i_share_fetch(tape, op, op->transition->exact_t,
                               pgcn_i_path_power(tape, op, i - 1), op->out->cols, op->out->cols);
        pgcn_i_run_groups(tape, op, op->out->rows, i, exact_backward_task, false);
    }
    sum_kernel_gradient(tape, op);
}

/* All rows: the full kernel leaves none out. */
const pgcn_i_kind pgcn_i_full_sampled = {.name = "full path convolution",
                                         .needs = PGCN_I_NEEDS_ALL,
                                         .state_bytes = sizeof(pgcn_i_path_state),
                                         .refresh = pgcn_i_path_kernel,
                                         .forward_all = sampled_forward_all,
                                         .forward_rows = sampled_forward,
                                         .backward_all = sampled_backward,
                                         .backward_reads_in = true,
                                         .shares = true,
                                         .explain = pgcn_i_path_explain};
const pgcn_i_kind pgcn_i_full_exact = {.name = "exact full path convolution",
                                       .needs = PGCN_I_NEEDS_ALL,
                                       .state_bytes = sizeof(pgcn_i_path_state),
                                       .refresh = pgcn_i_path_kernel,
                                       .forward_all = exact_forward,
                                       .backward_all = exact_backward,
                                       .backward_reads_in = true,
                                       .uses_power = true,
                                       .shares = true,
                                       .explain = pgcn_i_path_explain};

void pgcn_i_path_full_scratch(pgcn_i_tape *tape, const pgcn_i_op *op) {
    int64_t c = op->out->cols;
    pgcn_i_tape_need(tape, pgcn_i_path_of(op)->conv.k * c * c, PGCN_BLOCK_ROWS * c);
}
