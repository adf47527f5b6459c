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
    return op->k * c * (op->kernel == PGCN_KERNEL_FULL ? c : 1);
}
static bool is_spread(const pgcn_i_op *op) {
    return op->kernel == PGCN_KERNEL_GLOBAL || op->kernel == PGCN_KERNEL_LAYER;
}

void pgcn_i_path_kernel(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    const float *s = pgcn_i_value_of(tape->params, op->param[0]);
    float share = 1.0f - op->alpha, *kernel = op->buffer[PATH_KERNEL];
    int64_t c = op->out->cols;
    if (!is_spread(op))
        tape->kernels->scale(kernel, share, s, 0, kernel_floats(op), false);
    else
        for (int64_t e = 0; e < op->k * c; e++) kernel[e] = share * s[e / c];
}

/* Adds the groups' partial sums in order, then over the channels where s has none. */
void pgcn_i_path_kernel_gradient(pgcn_i_tape *tape, const pgcn_i_op *op, int64_t groups) {
    float *grad = tape->params->grad + op->param[0]->first;
    float share = 1.0f - op->alpha, *sum = op->buffer[PATH_KERNEL_GRAD];
    int64_t c = op->out->cols;
    pgcn_i_tape_reduce(tape, sum, false, groups, 0, kernel_floats(op));
    if (!is_spread(op)) {
        tape->kernels->scale(grad, share, sum, 0, kernel_floats(op), op->add_param[0]);
        return;
    }
    for (int i = 0; i < op->k; i++) {
        double total = 0;
        for (int64_t ch = 0; ch < c; ch++) total += (double)sum[i * c + ch];
        grad[i] = (float)((double)share * total + (op->add_param[0] ? (double)grad[i] : 0.0));
    }
}

/* ---- the residual ---------------------------------------------------------------------------- */

void pgcn_i_path_residual(const pgcn_i_tape *tape, const pgcn_i_op *op, int64_t begin,
                          int64_t end) {
    int64_t c = op->out->cols;
    if (op->in[1])
        tape->kernels->scale(op->out->data, op->alpha, op->in[1]->data, begin * c, end * c, true);
}
void pgcn_i_path_residual_gradient(const pgcn_i_tape *tape, const pgcn_i_op *op, int64_t begin,
                                   int64_t end) {
    int64_t c = op->out->cols;
    if (op->in[1])
        tape->kernels->scale(op->in[1]->grad, op->alpha, op->out->grad, begin * c, end * c,
                             op->add_in[1]);
}

/* ---- sampled ------------------------------------------------------------------------------- */

static void sampled_forward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    int64_t begin = pgcn_i_block_begin(job->blocks, task);
    int64_t end = pgcn_i_block_end(job->blocks, task);
    job->tape->kernels->pathconv_forward(op->out->data, op->in[0]->data, op->buffer[PATH_KERNEL],
                                         op->operator->visits->hop, op->k, begin, end,
                                         op->out->cols);
    pgcn_i_path_residual(job->tape, op, begin, end);
}

static void sampled_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_path_kernel(tape, op);
    pgcn_i_forward_blocks(tape, op);
}

static void sampled_backward_task(void *context, int64_t group, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    int64_t c = op->out->cols, begin = pgcn_i_block_begin(job->blocks, group);
    int64_t end = pgcn_i_block_end(job->blocks, group);
    float *partial = pgcn_i_partial(job->tape, group);
    memset(partial, 0, (size_t)(op->k * c) * sizeof *partial);
    job->tape->kernels->pathconv_backward(op->in[0]->grad, partial, op->out->grad, op->in[0]->data,
                                          op->buffer[PATH_KERNEL], op->operator->visits->hop_t,
                                          op->k, begin, end, c, op->add_in[0]);
    pgcn_i_path_residual_gradient(job->tape, op, begin, end);
}

static void sampled_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks groups = pgcn_i_groups_of(op->out->rows);
    pgcn_i_run(tape, op, groups, groups.count, 0, sampled_backward_task);
    pgcn_i_path_kernel_gradient(tape, op, groups.count);
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
    int64_t first = sample * op->operator->n, stack = first * c; /* where this sample begins */
    const float *s = op->buffer[PATH_KERNEL], *h = op->in[0]->data + stack;
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
    if (job->step >= op->k - 2) pgcn_i_path_residual(job->tape, op, first + begin, first + end);
}

static void exact_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks blocks = pgcn_i_blocks_of(op->operator->n);
    pgcn_i_path_kernel(tape, op);
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
        int64_t first = sample * op->operator->n, stack = first * c;
        const float *q = op->out->grad + stack;
        if (i > 0) {
            const float *before = i > 1 ? job->tape->power[(i - 1) % 2] + stack : q;
            float *power = job->tape->power[i % 2] + stack;
            kernels->gather(power + begin * c, before, op->operator->exact_t, begin, end, c);
            q = power;
        }
        kernels->scale_dot(op->in[0]->grad + stack, partial, q, op->in[0]->data + stack,
                           op->buffer[PATH_KERNEL] + i * c, begin, end, c, i > 0 || op->add_in[0]);
        if (i == 0) pgcn_i_path_residual_gradient(job->tape, op, first + begin, first + end);
    }
}

static void exact_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks groups = pgcn_i_groups_of(op->operator->n);
    for (int i = 0; i < op->k; i++)
        pgcn_i_run(tape, op, groups, groups.count, i, exact_backward_task);
    pgcn_i_path_kernel_gradient(tape, op, groups.count);
}

/* ---- recording ----------------------------------------------------------------------------- */

pgcn_i_value *pgcn_i_op_pathconv(pgcn_i_tape *tape, pgcn_i_value *h,
                                 const pgcn_i_operator *operator, int k, pgcn_kernel kernel,
                                 pgcn_i_param *s, pgcn_i_value *residual, double alpha) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, h, residual, h->rows, h->cols);
    if (!op) return NULL;
    op->operator= operator;
    op->samples = operator->samples;
    op->k = k;
    op->kernel = kernel;
    op->param[0] = s;
    op->alpha = residual ? (float)alpha : 0;
    op->buffer[PATH_KERNEL] = pgcn_i_tape_floats(tape, kernel_floats(op));
    op->buffer[PATH_KERNEL_GRAD] = pgcn_i_tape_floats(tape, kernel_floats(op));
    pgcn_i_tape_need(tape, kernel_floats(op), 0);
    if (!operator->visits) pgcn_i_tape_need_powers(tape, h->rows * h->cols);
    if (kernel == PGCN_KERNEL_FULL) {
        pgcn_i_op_pathconv_full(tape, op);
        return op->out;
    }
    op->forward = operator->visits ? sampled_forward : exact_forward;
    op->backward = operator->visits ? sampled_backward : exact_backward;
    op->forward_task = sampled_forward_task;
    return op->out;
}
