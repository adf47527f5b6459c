/* Batch norm over all rows (the paper's graph networks, and Chameleon's recipe).
 *
 *   training:   mean, variance of this batch; y = (x - mean) / sqrt(variance + eps) * gamma + beta
 *   inference:  the running mean and variance of training
 *
 * Three passes forward (sum, squared deviations, apply), two back; sums by groups in order. */
#include "nn/ops.h"

#include <math.h>
#include <string.h>

enum { MEAN = 0, INV_STD = 1, SUMS = 2 }; /* op->buffer */
static const float EPSILON = 1e-5f, MOMENTUM = 0.1f;

static const float *optional(const pgcn_i_tape *tape, const pgcn_i_param *param) {
    return param ? pgcn_i_value_of(tape->params, param) : NULL;
}

static void sum_task(void *context, int64_t group, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    int64_t c = op->out->cols, begin = pgcn_i_block_begin(job->blocks, group);
    int64_t end = pgcn_i_block_end(job->blocks, group);
    float *partial = pgcn_i_partial(job->tape, group);
    memset(partial, 0, (size_t)c * sizeof *partial);
    if (job->step == 0)
        job->tape->kernels->column_sum(partial, op->in[0]->data, begin, end, c);
    else
        job->tape->kernels->square_deviation_sum(partial, op->in[0]->data, op->buffer[MEAN], begin,
                                                 end, c);
}

static void norm_rows(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    tape->kernels->norm_forward(op->out->data, op->in[0]->data, op->buffer[MEAN],
                                op->buffer[INV_STD], optional(tape, op->param[0]),
                                optional(tape, op->param[1]), rows.first, rows.first + rows.count,
                                op->out->cols);
}

/* The first steps count alike, so that what the averages started from is forgotten at once: smoothed
 * inputs have variances of 1e-6, which a running variance from 1 reaches after a hundred steps. */
static float momentum_at(int64_t step) {
    return fmaxf(MOMENTUM, 1.0f / (float)(step + 1));
}

static void batch_statistics(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks groups = pgcn_i_groups_of(op->out->rows);
    int64_t c = op->out->cols, rows = op->out->rows;
    float momentum = momentum_at(tape->step);
    float *mean = op->buffer[MEAN], *spread = op->buffer[INV_STD];
    float *running_mean = pgcn_i_value_of(tape->params, op->running[0]);
    float *running_var = pgcn_i_value_of(tape->params, op->running[1]);
    pgcn_i_run_light(tape, op, groups, 0, sum_task);
    pgcn_i_tape_reduce(tape, mean, false, groups.count, 0, c);
    for (int64_t ch = 0; ch < c; ch++) mean[ch] /= (float)rows;
    pgcn_i_run_light(tape, op, groups, 1, sum_task);
    pgcn_i_tape_reduce(tape, spread, false, groups.count, 0, c);
    for (int64_t ch = 0; ch < c; ch++) {
        float variance = spread[ch] / (float)rows;
        /* The running variance is the unbiased one, as elsewhere in the field. */
        float unbiased = rows > 1 ? spread[ch] / (float)(rows - 1) : variance;
        spread[ch] = 1.0f / sqrtf(variance + EPSILON);
        running_mean[ch] += momentum * (mean[ch] - running_mean[ch]);
        running_var[ch] += momentum * (unbiased - running_var[ch]);
    }
}

static void norm_statistics(pgcn_i_tape *tape, pgcn_i_op *op) {
    if (tape->again) return; /* those of this step are there, and the running ones know it */
    if (tape->with_grad) {
        batch_statistics(tape, op);
    } else {
        const float *running_mean = pgcn_i_value_of(tape->params, op->running[0]);
        const float *running_var = pgcn_i_value_of(tape->params, op->running[1]);
        for (int64_t ch = 0; ch < op->out->cols; ch++) {
            op->buffer[MEAN][ch] = running_mean[ch];
            op->buffer[INV_STD][ch] = 1.0f / sqrtf(running_var[ch] + EPSILON);
        }
    }
}

static void grad_sums_task(void *context, int64_t group, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    int64_t c = op->out->cols;
    float *partial = pgcn_i_partial(job->tape, group);
    memset(partial, 0, (size_t)(2 * c) * sizeof *partial);
    job->tape->kernels->norm_sums(
        partial, partial + c, op->out->grad, op->in[0]->data, op->buffer[MEAN], op->buffer[INV_STD],
        pgcn_i_block_begin(job->blocks, group), pgcn_i_block_end(job->blocks, group), c);
}

static void grad_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    int64_t c = op->out->cols;
    job->tape->kernels->norm_backward(
        op->in[0]->grad, op->out->grad, op->in[0]->data, op->buffer[MEAN], op->buffer[INV_STD],
        optional(job->tape, op->param[0]), op->buffer[SUMS], op->buffer[SUMS] + c,
        1.0f / (float)op->out->rows, pgcn_i_block_begin(job->blocks, task),
        pgcn_i_block_end(job->blocks, task), c, op->add_in[0]);
}

static void norm_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks groups = pgcn_i_groups_of(op->out->rows);
    pgcn_i_blocks blocks = pgcn_i_blocks_of(op->out->rows);
    int64_t c = op->out->cols;
    pgcn_i_run_light(tape, op, groups, 0, grad_sums_task);
    pgcn_i_tape_reduce(tape, op->buffer[SUMS], false, groups.count, 0, 2 * c);
    /* dbeta = sum g,  dgamma = sum g xhat: the same two sums. */
    for (int i = 0; i < 2; i++)
        if (op->param[i])
            tape->kernels->scale(tape->params->grad + op->param[i]->first, 1.0f,
                                 op->buffer[SUMS] + (i == 0 ? c : 0), 0, c, op->add_param[i]);
    pgcn_i_run_light(tape, op, blocks, 0, grad_task);
}

pgcn_i_value *pgcn_i_op_batch_norm(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *gamma,
                                   pgcn_i_param *beta, pgcn_i_param *running_mean,
                                   pgcn_i_param *running_var) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, x, NULL, x->rows, x->cols);
    if (!op) return NULL;
    op->forward_all = norm_statistics;
    op->forward_rows = norm_rows;
    op->backward_all = norm_backward;
    op->back_in = true;
    op->param[0] = gamma;
    op->param[1] = beta;
    op->running[0] = running_mean;
    op->running[1] = running_var;
    op->buffer[MEAN] = pgcn_i_tape_floats(tape, x->cols);
    op->buffer[INV_STD] = pgcn_i_tape_floats(tape, x->cols);
    op->buffer[SUMS] = pgcn_i_tape_floats(tape, 2 * x->cols);
    pgcn_i_tape_need(tape, 2 * x->cols, 0);
    return op->out;
}
