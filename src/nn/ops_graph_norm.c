/* Graph norm: batch norm by the mean and variance of each graph itself, in training and in use. So a network is used as
 * it was trained: there are no running statistics of other graphs, and none of rows with dropout where there is none
 * now. Where the data is one graph, or a sample of it, all of its rows are that graph.
 *
 *   y = (x - mean) / sqrt(variance + eps) * gain + shift       mean, variance [cols] over the rows of the graph
 *
 * Rows are added up in pieces that begin with their graph, and pieces in their order: a graph has the same bits alone and
 * beside others. Passes as those of batch norm (ops_norm.c), with its kernels. */
#include "nn/ops.h"

#include <math.h>
#include <string.h>

enum { PIECE_ROWS = 512 };
static const float EPSILON = 1e-5f;

typedef struct graph_norm_state {
    const int64_t *offset;  /* [graphs + 1] rows of each graph: the view's, or `sample` */
    int64_t *sample;        /* [samples + 1] where every sample is a graph; else NULL */
    int64_t graphs, pieces; /* of the current rows */
    int64_t *first, *graph; /* [pieces] the first row of a piece, and its graph */
    float *mean, *inv_std;  /* [graphs, cols] */
    float *sums;            /* [graphs, 2, cols] of g and g xhat */
    float *partial;         /* [pieces, 2, cols] */
} graph_norm_state;

/* ---- graphs and pieces --------------------------------------------------------------------------- */

/* For the rows that the value has now: they change from batch to batch. */
static void cut_pieces(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    graph_norm_state *state = op->state;
    const int64_t rows = op->out->rows;
    for (int s = 0; state->sample && s <= tape->samples; s++)
        state->sample[s] = s * (rows / tape->samples);
    state->graphs = state->pieces = 0;
    for (; state->offset[state->graphs] < rows; state->graphs++)
        for (int64_t row = state->offset[state->graphs]; row < state->offset[state->graphs + 1];
             row += PIECE_ROWS) {
            state->first[state->pieces] = row;
            state->graph[state->pieces++] = state->graphs;
        }
}

static pgcn_i_range piece_rows(const graph_norm_state *state, int64_t piece) {
    const int64_t begin = state->first[piece], end = state->offset[state->graph[piece] + 1];
    return (pgcn_i_range){begin, end - begin < PIECE_ROWS ? end : begin + PIECE_ROWS};
}

static pgcn_i_norm norm_of(const pgcn_i_tape *tape, const pgcn_i_op *op, int64_t graph) {
    const graph_norm_state *state = op->state;
    const int64_t c = op->out->cols;
    return (pgcn_i_norm){.mean = state->mean + graph * c,
                         .inv_std = state->inv_std + graph * c,
                         .gamma = pgcn_i_value_of(tape->params, op->param[0]),
                         .beta = pgcn_i_value_of(tape->params, op->param[1]),
                         .c = c};
}

/* A task for each piece. */
static void run_pieces(pgcn_i_tape *tape, pgcn_i_op *op, int step, pgcn_i_task task) {
    const graph_norm_state *state = op->state;
    pgcn_i_job job = {.tape = tape, .op = op, .step = step};
    pgcn_i_parallel_light(tape->pool, op->out->rows * op->out->cols, state->pieces, task, &job);
}

/* sum [graphs, cols] of the partial sums of their pieces, in order. */
static void add_pieces(pgcn_i_tape *tape, const pgcn_i_op *op, float *sum, int64_t cols) {
    const graph_norm_state *state = op->state;
    memset(sum, 0, (size_t)(state->graphs * cols) * sizeof *sum);
    for (int64_t piece = 0; piece < state->pieces; piece++)
        tape->kernels->scale(sum + state->graph[piece] * cols, 1.0f, state->partial + piece * cols,
                             0, cols, true);
}

/* ---- forward ------------------------------------------------------------------------------------- */

static void sum_task(void *context, int64_t piece, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const graph_norm_state *state = op->state;
    const pgcn_i_range rows = piece_rows(state, piece);
    const int64_t c = op->out->cols;
    float *partial = state->partial + piece * c;
    memset(partial, 0, (size_t)c * sizeof *partial);
    if (job->step == 0)
        job->tape->kernels->column_sum(partial, op->in[0]->data, rows.begin, rows.end, c);
    else
        job->tape->kernels->square_deviation_sum(partial, op->in[0]->data,
                                                 state->mean + state->graph[piece] * c, rows.begin,
                                                 rows.end, c);
}

static float inverse_rows(const graph_norm_state *state, int64_t graph) {
    const int64_t rows = state->offset[graph + 1] - state->offset[graph];
    return rows > 0 ? 1.0f / (float)rows : 0;
}

static void graph_norm_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    graph_norm_state *state = op->state;
    const int64_t c = op->out->cols;
    if (tape->recomputed) return; /* those of this step are known already */
    cut_pieces(tape, op);
    run_pieces(tape, op, 0, sum_task);
    add_pieces(tape, op, state->mean, c);
    for (int64_t graph = 0; graph < state->graphs; graph++)
        for (int64_t ch = 0; ch < c; ch++)
            state->mean[graph * c + ch] *= inverse_rows(state, graph);
    run_pieces(tape, op, 1, sum_task);
    add_pieces(tape, op, state->inv_std, c);
    for (int64_t graph = 0; graph < state->graphs; graph++)
        for (int64_t at = graph * c; at < (graph + 1) * c; at++)
            state->inv_std[at] =
                1.0f / sqrtf(state->inv_std[at] * inverse_rows(state, graph) + EPSILON);
}

static void graph_norm_rows(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    const graph_norm_state *state = op->state;
    for (int64_t i = 0, together; i < rows.count; i += together) {
        const int64_t row = pgcn_i_row(rows, i),
                      graph = pgcn_i_graph_of(state->offset, state->graphs, row);
        const int64_t left = state->offset[graph + 1] - row;
        const pgcn_i_norm norm = norm_of(tape, op, graph);
        together = rows.row ? 1 : left < rows.count - i ? left : rows.count - i;
        tape->kernels->norm_forward(op->out->data, op->in[0]->data, &norm, row, row + together);
    }
}

/* ---- backward ------------------------------------------------------------------------------------ */

static void grad_sums_task(void *context, int64_t piece, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const graph_norm_state *state = op->state;
    const pgcn_i_norm norm = norm_of(job->tape, op, state->graph[piece]);
    const pgcn_i_range rows = piece_rows(state, piece);
    float *partial = state->partial + piece * 2 * norm.c;
    memset(partial, 0, (size_t)(2 * norm.c) * sizeof *partial);
    job->tape->kernels->norm_sums(partial, op->out->grad, op->in[0]->data, &norm, rows.begin,
                                  rows.end);
}

static void grad_task(void *context, int64_t piece, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const graph_norm_state *state = op->state;
    const int64_t graph = state->graph[piece];
    const pgcn_i_norm norm = norm_of(job->tape, op, graph);
    const pgcn_i_norm_gradient gradient = {.g = op->out->grad,
                                           .sums = state->sums + graph * 2 * norm.c,
                                           .inv_rows = inverse_rows(state, graph),
                                           .add = op->add_in[0]};
    const pgcn_i_range rows = piece_rows(state, piece);
    job->tape->kernels->norm_backward(op->in[0]->grad, op->in[0]->data, &norm, &gradient,
                                      rows.begin, rows.end);
}

static void graph_norm_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    const graph_norm_state *state = op->state;
    const int64_t c = op->out->cols;
    run_pieces(tape, op, 0, grad_sums_task);
    add_pieces(tape, op, state->sums, 2 * c);
    /* d shift = sum g,  d gain = sum g xhat: the same two sums, of all graphs */
    for (int i = 0; i < 2; i++)
        for (int64_t graph = 0; graph < state->graphs; graph++)
            tape->kernels->scale(tape->params->grad + op->param[i]->first, 1.0f,
                                 state->sums + graph * 2 * c + (i == 0 ? c : 0), 0, c,
                                 op->add_param[i] || graph > 0);
    run_pieces(tape, op, 0, grad_task);
}

/* ---- explained ----------------------------------------------------------------------------------- */

/* y_r = factor (x_r - mean) + shift with the deviation held fixed; the mean is linear in all rows of the graph. What is
 * explained is in one graph, and so is all that it comes from. */
static void give_rows(const pgcn_i_adjoint *g, pgcn_i_adjoint *to, pgcn_i_range rows,
                      const float *factor, double *mean) {
    for (int p = 0; p < g->planes; p++) {
        memset(mean, 0, (size_t)g->cols * sizeof *mean);
        for (int64_t i = 0; i < g->count; i++)
            for (int64_t ch = 0; ch < g->cols; ch++)
                mean[ch] +=
                    (double)pgcn_i_adjoint_at(g, p, i)[ch] / (double)(rows.end - rows.begin);
        for (int64_t r = rows.begin; r < rows.end; r++)
            for (int64_t ch = 0; ch < g->cols; ch++)
                pgcn_i_adjoint_at(to, p, to->place[r])[ch] =
                    (float)(-(double)factor[ch] * mean[ch]);
        for (int64_t i = 0; i < g->count; i++)
            for (int64_t ch = 0; ch < g->cols; ch++)
                pgcn_i_adjoint_at(to, p, to->place[g->row[i]])[ch] =
                    (float)((double)factor[ch] *
                            ((double)pgcn_i_adjoint_at(g, p, i)[ch] - mean[ch]));
    }
}

static void graph_norm_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    const graph_norm_state *state = op->state;
    const int64_t c = op->out->cols;
    const int64_t graph =
        g && g->count > 0 ? pgcn_i_graph_of(state->offset, state->graphs, g->row[0]) : 0;
    const pgcn_i_norm norm = norm_of(trace->tape, op, graph);
    const pgcn_i_range rows = {state->offset[graph], state->offset[graph + 1]};
    float *factor = state->sums; /* of training: not in use */
    for (int64_t ch = 0; ch < c; ch++) factor[ch] = norm.inv_std[ch] * norm.gamma[ch];
    pgcn_i_trace_constant(trace, op->param[1], g, norm.beta);
    uint8_t *flag = pgcn_i_alloc(op->in[0]->rows, 1);
    double *mean = pgcn_i_alloc(c, sizeof *mean);
    pgcn_i_adjoint *to = NULL;
    if (!flag || !mean) trace->status = PGCN_ERR_MEMORY;
    if (flag && mean && g) {
        memset(flag + rows.begin, 1, (size_t)(rows.end - rows.begin));
        to = pgcn_i_adjoint_new(trace, op->in[0]->rows, c, flag, g->planes);
    }
    if (to) give_rows(g, to, rows, factor, mean);
    pgcn_i_free(flag), pgcn_i_free(mean);
    pgcn_i_adjoint_free(g);
    pgcn_i_trace_give(trace, op->in[0], to);
}

/* ---- the operation ------------------------------------------------------------------------------- */

static const pgcn_i_kind graph_norm_kind = {.name = "graph norm",
                                            .needs = PGCN_I_NEEDS_ALL,
                                            .state_bytes = sizeof(graph_norm_state),
                                            .forward_all = graph_norm_forward,
                                            .forward_rows = graph_norm_rows,
                                            .backward_all = graph_norm_backward,
                                            .backward_reads_in = true,
                                            .explain = graph_norm_explain};

pgcn_i_value *pgcn_i_op_graph_norm(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *gain,
                                   pgcn_i_param *shift, const int64_t *offset, int64_t graphs) {
    if (tape->status != PGCN_OK) return NULL;
    const int64_t c = x->cols, pieces = x->rows / PIECE_ROWS + graphs;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &graph_norm_kind,
        (pgcn_i_ports){.in = {x}, .param = {gain, shift}, .rows = x->rows, .cols = c});
    if (!op) return NULL;
    graph_norm_state *state = op->state;
    if (!offset) state->sample = PGCN_I_ARRAY(&tape->arena, int64_t, tape->samples + 1);
    state->offset = offset ? offset : state->sample;
    state->first = PGCN_I_ARRAY(&tape->arena, int64_t, pieces);
    state->graph = PGCN_I_ARRAY(&tape->arena, int64_t, pieces);
    state->mean = pgcn_i_tape_floats(tape, graphs * c);
    state->inv_std = pgcn_i_tape_floats(tape, graphs * c);
    state->sums = pgcn_i_tape_floats(tape, graphs * 2 * c);
    state->partial = pgcn_i_tape_floats(tape, pieces * 2 * c);
    if (!state->offset || !state->first || !state->graph) tape->status = PGCN_ERR_MEMORY;
    return op->out;
}
