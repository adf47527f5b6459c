/* The path convolution as an operation (paper, eq. pathGCNAv and pathExpectation):
 *
 *   sampled  y = sum_i s_i (.) S_i h     one gather over the visit lists
 *   exact    y = sum_i s_i (.) T^i h     by Horner's rule: k-1 sparse products, no stored powers
 *
 * Backward, for both forms, with q_i = S_i^T g or (T^T)^i g:
 *
 *   dh = sum_i s_i (.) q_i               ds_i = sum_u h[u] (.) q_i[u]
 *
 * Kernels of one weight per hop (global, per layer) are spread over the channels before the loops
 * and their gradients summed over the channels after, so the loops know only [k, c]. The full
 * kernel, c x c weights per hop, is in ops_path_full.c. */
#include "nn/ops.h"

#include <string.h>

enum { SPREAD = 0, SPREAD_GRAD = 1 }; /* op->buffer: s and ds as [k, c] */

/* ---- kernels as [k, c] --------------------------------------------------------------------- */

static const float *kernel_of(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    return op->buffer[SPREAD] ? op->buffer[SPREAD] : pgcn_i_value_of(tape->params, op->param[0]);
}

static void spread_kernel(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    if (!op->buffer[SPREAD]) return;
    const float *s = pgcn_i_value_of(tape->params, op->param[0]);
    int64_t c = op->out->cols;
    for (int i = 0; i < op->k; i++)
        for (int64_t ch = 0; ch < c; ch++) op->buffer[SPREAD][i * c + ch] = s[i];
}

/* Adds the groups' partial sums [k, c] in order, then over the channels where s has none. */
static void kernel_gradient(pgcn_i_tape *tape, const pgcn_i_op *op, int64_t groups) {
    float *grad = tape->params->grad + op->param[0]->first;
    int64_t c = op->out->cols;
    if (!op->buffer[SPREAD]) {
        pgcn_i_tape_reduce(tape, grad, op->add_param[0], groups, 0, op->k * c);
        return;
    }
    pgcn_i_tape_reduce(tape, op->buffer[SPREAD_GRAD], false, groups, 0, op->k * c);
    for (int i = 0; i < op->k; i++) {
        double sum = op->add_param[0] ? (double)grad[i] : 0.0;
        for (int64_t ch = 0; ch < c; ch++) sum += (double)op->buffer[SPREAD_GRAD][i * c + ch];
        grad[i] = (float)sum;
    }
}

/* ---- sampled ------------------------------------------------------------------------------- */

static void sampled_forward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    job->tape->kernels->pathconv_forward(
        op->out->data, op->in[0]->data, kernel_of(job->tape, op), op->operator->visits->hop, op->k,
        pgcn_i_block_begin(job->blocks, task), pgcn_i_block_end(job->blocks, task), op->out->cols);
}

static void sampled_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks blocks = pgcn_i_blocks_of(op->out->rows);
    spread_kernel(tape, op);
    pgcn_i_run(tape, op, blocks, blocks.count, 0, sampled_forward_task);
}

static void sampled_backward_task(void *context, int64_t group, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    int64_t c = op->out->cols;
    float *partial = pgcn_i_partial(job->tape, group);
    memset(partial, 0, (size_t)(op->k * c) * sizeof *partial);
    job->tape->kernels->pathconv_backward(op->in[0]->grad, partial, op->out->grad, op->in[0]->data,
                                          kernel_of(job->tape, op), op->operator->visits->hop_t,
                                          op->k, pgcn_i_block_begin(job->blocks, group),
                                          pgcn_i_block_end(job->blocks, group), c, op->add_in[0]);
}

static void sampled_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks groups = pgcn_i_groups_of(op->out->rows);
    pgcn_i_run(tape, op, groups, groups.count, 0, sampled_backward_task);
    kernel_gradient(tape, op, groups.count);
}

/* ---- exact --------------------------------------------------------------------------------- */

/* Pass t of Horner's rule goes to one of two buffers in turn, the last one to the result. */
static float *horner_target(const pgcn_i_tape *tape, const pgcn_i_op *op, int pass) {
    return pass >= op->k - 2 ? op->out->data : tape->power[pass % 2];
}

/* Pass 0:  r = s_{k-2} (.) h + s_{k-1} (.) T h     (a path convolution of length 2)
 * Pass t:  r = s_{k-2-t} (.) h + T r */
static void exact_forward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const pgcn_i_kernels *kernels = job->tape->kernels;
    int64_t c = op->out->cols, sample = task / job->blocks.count, block = task % job->blocks.count;
    int64_t begin = pgcn_i_block_begin(job->blocks, block);
    int64_t end = pgcn_i_block_end(job->blocks, block);
    int64_t stack = sample * op->operator->n * c; /* where this sample's rows begin */
    const float *s = kernel_of(job->tape, op), *h = op->in[0]->data + stack;
    float *target = horner_target(job->tape, op, job->step) + stack;
    if (job->step == 0) {
        int length = op->k < 2 ? op->k : 2;
        kernels->pathconv_forward(target, h, s + (op->k - length) * c, op->operator->exact, length,
                                  begin, end, c);
    } else {
        const float *power = horner_target(job->tape, op, job->step - 1) + stack;
        kernels->horner(target, power, op->operator->exact, s + (op->k - 2 - job->step) * c, h,
                        begin, end, c);
    }
}

static void exact_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks blocks = pgcn_i_blocks_of(op->operator->n);
    spread_kernel(tape, op);
    int pass = 0;
    do {
        pgcn_i_run(tape, op, blocks, blocks.count * op->samples, pass, exact_forward_task);
    } while (++pass <= op->k - 2);
}

/* Pass i:  q_i = T^T q_{i-1} (q_0 = g);  dh += s_i (.) q_i;  ds_i += h (.) q_i. A group takes the
 * same nodes of every sample in turn. */
static void exact_backward_task(void *context, int64_t group, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const pgcn_i_kernels *kernels = job->tape->kernels;
    int i = job->step;
    int64_t c = op->out->cols, begin = pgcn_i_block_begin(job->blocks, group);
    int64_t end = pgcn_i_block_end(job->blocks, group);
    float *partial = pgcn_i_partial(job->tape, group) + i * c;
    memset(partial, 0, (size_t)c * sizeof *partial);
    for (int64_t sample = 0; sample < op->samples; sample++) {
        int64_t stack = sample * op->operator->n * c;
        const float *q = op->out->grad + stack;
        if (i > 0) {
            const float *before = i > 1 ? job->tape->power[(i - 1) % 2] + stack : q;
            float *power = job->tape->power[i % 2] + stack;
            kernels->gather(power + begin * c, before, op->operator->exact_t, begin, end, c);
            q = power;
        }
        kernels->scale_dot(op->in[0]->grad + stack, partial, q, op->in[0]->data + stack,
                           kernel_of(job->tape, op) + i * c, begin, end, c, i > 0 || op->add_in[0]);
    }
}

static void exact_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks groups = pgcn_i_groups_of(op->operator->n);
    for (int i = 0; i < op->k; i++)
        pgcn_i_run(tape, op, groups, groups.count, i, exact_backward_task);
    kernel_gradient(tape, op, groups.count);
}

/* ---- recording ----------------------------------------------------------------------------- */

pgcn_i_value *pgcn_i_op_pathconv(pgcn_i_tape *tape, pgcn_i_value *h,
                                 const pgcn_i_operator *operator, int k, pgcn_kernel kernel,
                                 pgcn_i_param *s) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, h, NULL, h->rows, h->cols);
    if (!op) return NULL;
    op->operator= operator;
    op->samples = operator->samples;
    op->k = k;
    op->kernel = kernel;
    op->param[0] = s;
    if (!operator->visits) pgcn_i_tape_need_powers(tape, h->rows * h->cols);
    if (kernel == PGCN_KERNEL_FULL) {
        pgcn_i_op_pathconv_full(tape, op);
        return op->out;
    }
    op->forward = operator->visits ? sampled_forward : exact_forward;
    op->backward = operator->visits ? sampled_backward : exact_backward;
    pgcn_i_tape_need(tape, k * h->cols, 0);
    if (kernel != PGCN_KERNEL_DEPTHWISE) {
        op->buffer[SPREAD] = pgcn_i_tape_floats(tape, k * h->cols);
        op->buffer[SPREAD_GRAD] = pgcn_i_tape_floats(tape, k * h->cols);
    }
    return op->out;
}
