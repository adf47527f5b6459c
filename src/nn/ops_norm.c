/* Batch norm over all rows (the paper's graph networks, and Chameleon's recipe), and layer norm, row by row.
 *
 *   training:   mean, variance of this batch; y = (x - mean) / sqrt(variance + eps) * gamma + beta
 *   inference:  the running mean and variance of training
 *
 * Three passes forward (sum, squared deviations, apply), two back; sums by groups in order. */
#include "nn/ops.h"

#include <math.h>
#include <string.h>

typedef struct norm_state {
    float *mean, *inv_std;    /* [cols] that rows are normalised by */
    float *sums;              /* [2, cols] of g and g xhat */
    pgcn_i_param *running[2]; /* mean and variance */
} norm_state;
static const float EPSILON = 1e-5f, MOMENTUM = 0.1f;

static const float *optional(const pgcn_i_tape *tape, const pgcn_i_param *param) {
    return param ? pgcn_i_value_of(tape->params, param) : NULL;
}

static void sum_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const norm_state *state = op->state;
    int64_t c = op->out->cols, group = job->first + task;
    float *partial = pgcn_i_partial(job->tape, group);
    memset(partial, 0, (size_t)c * sizeof *partial);
    for (int sample = 0; sample < job->tape->samples; sample++) {
        pgcn_i_range rows = pgcn_i_group_rows(job, group, sample);
        if (job->step == 0)
            job->tape->kernels->column_sum(partial, op->in[0]->data, rows.begin, rows.end, c);
        else
            job->tape->kernels->square_deviation_sum(partial, op->in[0]->data, state->mean,
                                                     rows.begin, rows.end, c);
    }
}

static pgcn_i_norm norm_of(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    const norm_state *state = op->state;
    return (pgcn_i_norm){.mean = state->mean,
                         .inv_std = state->inv_std,
                         .gamma = optional(tape, op->param[0]),
                         .beta = optional(tape, op->param[1]),
                         .c = op->out->cols};
}

static void norm_rows(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    const pgcn_i_norm norm = norm_of(tape, op);
    tape->kernels->norm_forward(op->out->data, op->in[0]->data, &norm, rows.first,
                                rows.first + rows.count);
}

/* The first steps count alike, so that what the averages started from is forgotten at once: smoothed
 * inputs have variances of 1e-6, which a running variance from 1 reaches after a hundred steps. */
static float momentum_at(int64_t step) {
    return fmaxf(MOMENTUM, 1.0f / (float)(step + 1));
}

static void batch_statistics(pgcn_i_tape *tape, pgcn_i_op *op) {
    const norm_state *state = op->state;
    int64_t c = op->out->cols, rows = op->out->rows;
    float momentum = momentum_at(tape->step);
    float *mean = state->mean, *spread = state->inv_std;
    float *running_mean = pgcn_i_value_of(tape->params, state->running[0]);
    float *running_var = pgcn_i_value_of(tape->params, state->running[1]);
    pgcn_i_run_groups(tape, op, rows, 0, sum_task, true);
    pgcn_i_tape_reduce(tape, mean, false, rows, c);
    for (int64_t ch = 0; ch < c; ch++) mean[ch] /= (float)rows;
    pgcn_i_run_groups(tape, op, rows, 1, sum_task, true);
    pgcn_i_tape_reduce(tape, spread, false, rows, c);
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
    if (!tape->recomputed)
        batch_statistics(tape, op); /* then those of this step are known already */
}

static void norm_running(pgcn_i_tape *tape, pgcn_i_op *op) {
    const norm_state *state = op->state;
    const float *running_mean = pgcn_i_value_of(tape->params, state->running[0]);
    const float *running_var = pgcn_i_value_of(tape->params, state->running[1]);
    for (int64_t ch = 0; ch < op->out->cols; ch++) {
        state->mean[ch] = running_mean[ch];
        state->inv_std[ch] = 1.0f / sqrtf(running_var[ch] + EPSILON);
    }
}

static void grad_sums_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    int64_t group = job->first + task;
    const pgcn_i_norm norm = norm_of(job->tape, op);
    float *partial = pgcn_i_partial(job->tape, group);
    memset(partial, 0, (size_t)(2 * norm.c) * sizeof *partial);
    for (int sample = 0; sample < job->tape->samples; sample++) {
        pgcn_i_range rows = pgcn_i_group_rows(job, group, sample);
        job->tape->kernels->norm_sums(partial, op->out->grad, op->in[0]->data, &norm, rows.begin,
                                      rows.end);
    }
}

static void grad_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const norm_state *state = op->state;
    const pgcn_i_norm norm = norm_of(job->tape, op);
    const pgcn_i_norm_gradient gradient = {.g = op->out->grad,
                                           .sums = state->sums,
                                           .inv_rows = 1.0f / (float)op->out->rows,
                                           .add = op->add_in[0]};
    const pgcn_i_range rows = pgcn_i_runs_range(&job->runs, task);
    job->tape->kernels->norm_backward(op->in[0]->grad, op->in[0]->data, &norm, &gradient,
                                      rows.begin, rows.end);
}

static void norm_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    const norm_state *state = op->state;
    int64_t c = op->out->cols, rows = op->out->rows;
    pgcn_i_run_groups(tape, op, rows, 0, grad_sums_task, true);
    pgcn_i_tape_reduce(tape, state->sums, false, rows, 2 * c);
    /* dbeta = sum g,  dgamma = sum g xhat: the same two sums. */
    for (int i = 0; i < 2; i++)
        if (op->param[i])
            tape->kernels->scale(tape->params->grad + op->param[i]->first, 1.0f,
                                 state->sums + (i == 0 ? c : 0), 0, c, op->add_param[i]);
    pgcn_i_run_own(tape, op, pgcn_i_runs_of(tape, rows, NULL), 0, grad_task, true);
}

/* Of an inference: y = factor x + constant. What is constant is told as the shift's, or the mean's. */
static void norm_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    const pgcn_i_norm norm = norm_of(trace->tape, op);
    const norm_state *state = op->state;
    float *factor = state->sums, *constant = factor + norm.c; /* of training: not in use */
    for (int64_t ch = 0; ch < norm.c; ch++) {
        factor[ch] = norm.inv_std[ch] * (norm.gamma ? norm.gamma[ch] : 1);
        constant[ch] = (norm.beta ? norm.beta[ch] : 0) - factor[ch] * norm.mean[ch];
    }
    pgcn_i_trace_constant(trace, op->param[1] ? op->param[1] : state->running[0], g, constant);
    pgcn_i_adjoint_by_columns(trace, g, factor);
    pgcn_i_trace_give(trace, op->in[0], g);
}

static const pgcn_i_kind norm_kind = {.name = "batch norm",
                                      .needs = PGCN_I_NEEDS_ALL,
                                      .shares = true,
                                      .state_bytes = sizeof(norm_state),
                                      .forward_all = norm_statistics,
                                      .forward_rows = norm_rows,
                                      .backward_all = norm_backward,
                                      .backward_reads_in = true,
                                      .explain = norm_explain};

/* Without a batch, by the running statistics: every row by itself. */
static const pgcn_i_kind running_norm_kind = {.name = "batch norm",
                                              .needs = PGCN_I_NEEDS_ROW,
                                              .state_bytes = sizeof(norm_state),
                                              .refresh = norm_running,
                                              .forward_rows = norm_rows,
                                              .explain = norm_explain};

pgcn_i_value *pgcn_i_op_batch_norm(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *gamma,
                                   pgcn_i_param *beta, pgcn_i_param *running_mean,
                                   pgcn_i_param *running_var) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, tape->with_grad ? &norm_kind : &running_norm_kind,
        (pgcn_i_ports){.in = {x}, .param = {gamma, beta}, .rows = x->rows, .cols = x->cols});
    if (!op) return NULL;
    norm_state *state = op->state;
    state->running[0] = running_mean;
    state->running[1] = running_var;
    state->mean = pgcn_i_tape_floats(tape, x->cols);
    state->inv_std = pgcn_i_tape_floats(tape, x->cols);
    state->sums = pgcn_i_tape_floats(tape, 2 * x->cols);
    pgcn_i_tape_need(tape, 2 * x->cols, 0);
    return op->out;
}

/* ---- layer norm -------------------------------------------------------------------------------- */

static void layer_norm_rows(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    const float *gain = pgcn_i_value_of(tape->params, op->param[0]);
    const float *shift = pgcn_i_value_of(tape->params, op->param[1]);
    int64_t c = op->out->cols, together = rows.row ? 1 : rows.count;
    for (int64_t i = 0; i < rows.count; i += together) {
        int64_t at = pgcn_i_row(rows, i) * c;
        tape->kernels->layer_norm_forward(op->out->data + at, op->in[0]->data + at, gain, shift,
                                          together, c);
    }
}

static void layer_norm_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    const float *gain = pgcn_i_value_of(tape->params, op->param[0]);
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < tile.rows.count; i++)
        tape->kernels->layer_norm_backward(tile.dx + i * c, tile.partial, tile.g + i * c,
                                           op->in[0]->data + pgcn_i_row(tile.rows, i) * c, gain, c);
}

typedef struct layer_gate {
    const float *x, *gain;
} layer_gate;

/* y = gain (x - mean) / deviation + shift with the deviation of the row held fixed; its mean is linear. */
static void layer_norm_row(const void *context, float *g, int64_t row, int64_t cols) {
    const layer_gate *gate = context;
    const float *x = gate->x + row * cols;
    double mean = 0, square = 0, of_mean = 0;
    for (int64_t ch = 0; ch < cols; ch++) mean += (double)x[ch];
    mean /= (double)cols;
    for (int64_t ch = 0; ch < cols; ch++) {
        square += ((double)x[ch] - mean) * ((double)x[ch] - mean);
        of_mean += (double)gate->gain[ch] * (double)g[ch];
    }
    double scale = 1 / sqrt(square / (double)cols + (double)EPSILON);
    of_mean /= (double)cols;
    for (int64_t ch = 0; ch < cols; ch++)
        g[ch] = (float)(scale * ((double)gate->gain[ch] * (double)g[ch] - of_mean));
}

static void layer_norm_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    const pgcn_i_params *params = trace->tape->params;
    const layer_gate gate = {op->in[0]->data, pgcn_i_value_of(params, op->param[0])};
    pgcn_i_trace_constant(trace, op->param[1], g, pgcn_i_value_of(params, op->param[1]));
    pgcn_i_adjoint_each(trace, g, layer_norm_row, &gate);
    pgcn_i_trace_give(trace, op->in[0], g);
}

static const pgcn_i_kind layer_norm_kind = {.name = "layer norm",
                                            .needs = PGCN_I_NEEDS_ROW,
                                            .forward_rows = layer_norm_rows,
                                            .backward_rows = layer_norm_backward,
                                            .backward_reads_in = true,
                                            .explain = layer_norm_explain,
                                            .explain_reads_in = true};

pgcn_i_value *pgcn_i_op_layer_norm(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *gain,
                                   pgcn_i_param *shift) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &layer_norm_kind,
        (pgcn_i_ports){.in = {x}, .param = {gain, shift}, .rows = x->rows, .cols = x->cols});
    if (!op) return NULL;
    op->partial_floats = 2 * x->cols;
    return op->out;
}
