/* Operations on dense rows: linear, ReLU, dropout, sum-pool.
 *
 * Each is a pair forward/backward over the same rows. Forward loops run over blocks; backward
 * loops that also sum a gradient of weights run over groups, one partial sum each (base.h). */
#include "nn/ops.h"

#include <math.h>
#include <string.h>

/* ---- linear: y = x W + b, ReLU ------------------------------------------------------------- */

static void linear_forward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const pgcn_i_params *params = job->tape->params;
    int64_t begin = pgcn_i_block_begin(job->blocks, task);
    int64_t end = pgcn_i_block_end(job->blocks, task);
    int64_t in = op->in[0]->cols, out = op->out->cols;
    pgcn_i_gemm(false, false, end - begin, out, in, op->in[0]->data + begin * in, in,
                pgcn_i_value_of(params, op->param[0]), out, 0.0f, op->out->data + begin * out, out);
    if (op->param[1] || op->relu)
        job->tape->kernels->bias_relu(op->out->data,
                                      op->param[1] ? pgcn_i_value_of(params, op->param[1]) : NULL,
                                      op->relu, begin, end, out);
}

enum { TRANSPOSED = 0 }; /* op->buffer: W^T [out, in] */

/* OpenBLAS has a faster road for small products than g W^T: 0.20 instead of 0.28 ms for 2708 rows of
 * 64 channels, tile by tile. W is small, so it is transposed once for all tiles. */
static void transpose_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const float *w = pgcn_i_value_of(job->tape->params, op->param[0]);
    int64_t in = op->in[0]->cols, out = op->out->cols;
    for (int64_t i = pgcn_i_block_begin(job->blocks, task); i < pgcn_i_block_end(job->blocks, task);
         i++)
        for (int64_t j = 0; j < out; j++) op->buffer[TRANSPOSED][j * in + i] = w[i * out + j];
}

/* g = dy where y > 0;  dx = g W^T;  dW = x^T g;  db = sum g.
 * Sixty-four rows at a time, so that g is still in the cache for all three. */
static void linear_backward_task(void *context, int64_t group, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const pgcn_i_kernels *kernels = job->tape->kernels;
    int64_t in = op->in[0]->cols, out = op->out->cols;
    float *partial = pgcn_i_partial(job->tape, group), *bias = partial + in * out;
    if (op->param[1]) memset(bias, 0, (size_t)out * sizeof *bias);
    int64_t first = pgcn_i_block_begin(job->blocks, group);
    int64_t last = pgcn_i_block_end(job->blocks, group);
    for (int64_t begin = first; begin < last; begin += PGCN_BLOCK_ROWS) {
        int64_t end = begin + PGCN_BLOCK_ROWS < last ? begin + PGCN_BLOCK_ROWS : last;
        float *g = op->out->grad + begin * out;
        if (op->relu)
            kernels->relu_backward(op->out->grad, op->out->grad, op->out->data, begin * out,
                                   end * out, false);
        pgcn_i_gemm(false, false, end - begin, in, out, g, out, op->buffer[TRANSPOSED], in,
                    op->add_in[0] ? 1.0f : 0.0f, op->in[0]->grad + begin * in, in);
        pgcn_i_gemm(true, false, in, out, end - begin, op->in[0]->data + begin * in, in, g, out,
                    begin > first ? 1.0f : 0.0f, partial, out);
        if (op->param[1]) kernels->column_sum(bias, op->out->grad, begin, end, out);
    }
}

static void linear_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks groups = pgcn_i_groups_of(op->out->rows);
    pgcn_i_blocks weights = pgcn_i_blocks_of(op->in[0]->cols);
    pgcn_i_run(tape, op, weights, weights.count, 0, transpose_task);
    pgcn_i_run(tape, op, groups, groups.count, 0, linear_backward_task);
    float *grad = tape->params->grad;
    pgcn_i_tape_reduce(tape, grad + op->param[0]->first, op->add_param[0], groups.count, 0,
                       op->param[0]->count);
    if (op->param[1])
        pgcn_i_tape_reduce(tape, grad + op->param[1]->first, op->add_param[1], groups.count,
                           op->param[0]->count, op->param[1]->count);
}

pgcn_i_value *pgcn_i_op_linear(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *w, pgcn_i_param *b,
                               bool relu) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, x, NULL, x->rows, w->shape[1]);
    if (!op) return NULL;
    op->forward = pgcn_i_forward_blocks;
    op->forward_task = linear_forward_task;
    op->backward = linear_backward;
    op->param[0] = w;
    op->param[1] = b;
    op->relu = relu;
    if (tape->with_grad) op->buffer[TRANSPOSED] = pgcn_i_tape_floats(tape, w->count);
    pgcn_i_tape_need(tape, w->count + w->shape[1], 0);
    return op->out;
}

static void by_blocks(pgcn_i_op *op, pgcn_i_task forward, pgcn_i_task backward) {
    op->forward = pgcn_i_forward_blocks;
    op->backward = pgcn_i_backward_blocks;
    op->forward_task = forward;
    op->backward_task = backward;
}

/* ---- ReLU ---------------------------------------------------------------------------------- */

static void relu_forward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_value *x = job->op->in[0], *y = job->op->out;
    int64_t begin = pgcn_i_block_begin(job->blocks, task);
    int64_t end = pgcn_i_block_end(job->blocks, task);
    memcpy(y->data + begin * y->cols, x->data + begin * y->cols,
           (size_t)((end - begin) * y->cols) * sizeof *y->data);
    job->tape->kernels->bias_relu(y->data, NULL, true, begin, end, y->cols);
}

static void relu_backward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    pgcn_i_range range = pgcn_i_elements(job, task);
    job->tape->kernels->relu_backward(op->in[0]->grad, op->out->grad, op->out->data, range.begin,
                                      range.end, op->add_in[0]);
}

pgcn_i_value *pgcn_i_op_relu(pgcn_i_tape *tape, pgcn_i_value *x) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, x, NULL, x->rows, x->cols);
    if (!op) return NULL;
    by_blocks(op, relu_forward_task, relu_backward_task);
    return op->out;
}

/* ---- dropout of elements ------------------------------------------------------------------- */

static void dropout_forward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    pgcn_i_rng_domain domain =
        pgcn_i_rng_domain_of(job->tape->seed, PGCN_I_RNG_DROPOUT, job->tape->step, op->index, 0);
    /* Blocks are multiples of 64 rows, so every range starts at a multiple of 8 elements. */
    pgcn_i_range range = pgcn_i_elements(job, task);
    job->tape->kernels->dropout(op->out->data, op->kept, op->in[0]->data, domain,
                                pgcn_i_drop_threshold(op->rate), pgcn_i_drop_scale(op->rate),
                                range.begin, range.end, 0);
}

static void dropout_backward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    pgcn_i_range range = pgcn_i_elements(job, task);
    job->tape->kernels->dropout_backward(op->in[0]->grad, op->out->grad, op->kept,
                                         pgcn_i_drop_scale(op->rate), range.begin, range.end,
                                         op->add_in[0]);
}

pgcn_i_value *pgcn_i_op_dropout(pgcn_i_tape *tape, pgcn_i_value *x, double rate) {
    if (tape->status != PGCN_OK) return NULL;
    if (!tape->with_grad || rate <= 0) return x; /* inference keeps everything */
    pgcn_i_op *op = pgcn_i_tape_op(tape, x, NULL, x->rows, x->cols);
    if (!op) return NULL;
    by_blocks(op, dropout_forward_task, dropout_backward_task);
    op->rate = rate;
    op->kept = PGCN_I_ARRAY(&tape->arena, uint8_t, x->rows * x->cols);
    if (!op->kept) tape->status = PGCN_ERR_MEMORY;
    return op->out;
}

/* ---- dropout of whole rows (DropNode) ------------------------------------------------------ */

static void drop_rows_forward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    pgcn_i_rng_domain domain =
        pgcn_i_rng_domain_of(job->tape->seed, PGCN_I_RNG_DROP_ROWS, job->tape->step, op->index, 0);
    int64_t c = op->out->cols, end = pgcn_i_block_end(job->blocks, task);
    for (int64_t row = pgcn_i_block_begin(job->blocks, task); row < end; row++) {
        uint32_t word[4];
        pgcn_i_rng_words(domain, (uint64_t)row, 0, word);
        op->kept[row] = (word[0] >> 16) >= pgcn_i_drop_threshold(op->rate);
        job->tape->kernels->scale(op->out->data, op->kept[row] ? pgcn_i_drop_scale(op->rate) : 0.0f,
                                  op->in[0]->data, row * c, (row + 1) * c, false);
    }
}

static void drop_rows_backward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    int64_t c = op->out->cols, end = pgcn_i_block_end(job->blocks, task);
    for (int64_t row = pgcn_i_block_begin(job->blocks, task); row < end; row++)
        job->tape->kernels->scale(op->in[0]->grad,
                                  op->kept[row] ? pgcn_i_drop_scale(op->rate) : 0.0f, op->out->grad,
                                  row * c, (row + 1) * c, op->add_in[0]);
}

pgcn_i_value *pgcn_i_op_drop_rows(pgcn_i_tape *tape, pgcn_i_value *x, double rate) {
    if (tape->status != PGCN_OK) return NULL;
    if (!tape->with_grad || rate <= 0) return x;
    pgcn_i_op *op = pgcn_i_tape_op(tape, x, NULL, x->rows, x->cols);
    if (!op) return NULL;
    by_blocks(op, drop_rows_forward_task, drop_rows_backward_task);
    op->rate = rate;
    op->kept = PGCN_I_ARRAY(&tape->arena, uint8_t, x->rows);
    if (!op->kept) tape->status = PGCN_ERR_MEMORY;
    return op->out;
}

/* ---- sum-pool: one row per graph ----------------------------------------------------------- */

static void pool_forward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    job->tape->kernels->segment_sum(op->out->data, op->in[0]->data, op->segment,
                                    pgcn_i_block_begin(job->blocks, task),
                                    pgcn_i_block_end(job->blocks, task), op->out->cols);
}

static void pool_backward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    job->tape->kernels->segment_spread(
        op->in[0]->grad, op->out->grad, op->segment, pgcn_i_block_begin(job->blocks, task),
        pgcn_i_block_end(job->blocks, task), op->out->cols, op->add_in[0]);
}

pgcn_i_value *pgcn_i_op_sum_pool(pgcn_i_tape *tape, pgcn_i_value *x, const int64_t *offset,
                                 int64_t graphs) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, x, NULL, graphs, x->cols);
    if (!op) return NULL;
    by_blocks(op, pool_forward_task, pool_backward_task);
    op->segment = offset;
    return op->out;
}
