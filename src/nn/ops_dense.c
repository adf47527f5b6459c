/* Operations on dense rows: linear, ReLU, shifted ReLU, dropout (all row-wise, see nn.h), sum-pool. */
#include "nn/ops.h"

#include <math.h>
#include <string.h>

/* ---- linear: y = Dropout(ReLU(x W + b)) ------------------------------------------------------ */

typedef struct linear_state {
    bool relu;
    double rate;       /* of the dropout after the ReLU; 0: none */
    float *transposed; /* W^T [out, in]; NULL without a backward pass */
    /* near the identity: M = theta W + identity I stands for W, and dW = theta dM */
    float *mapping; /* M [in, out]; NULL: W itself */
    float *mapping_grad;
    double theta, identity;
    bool turned; /* M = theta W^T stands for W, and dW = theta dM^T */
    /* near an orthogonal matrix: the loss has a term weight |W - diagonal I|_F */
    pgcn_i_orthogonal near;
    double distance; /* |W - diagonal I|_F of this pass */
} linear_state;

/* What rows are multiplied by. */
static const float *weight_of(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    const linear_state *state = op->state;
    return state->mapping ? state->mapping : pgcn_i_value_of(tape->params, op->param[0]);
}

/* to[j, i] (= or +=) factor from[i, j], from [rows, cols]. */
static void put_transposed(float *to, float factor, const float *from, int64_t rows, int64_t cols,
                           bool add) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            float value = factor * from[i * cols + j];
            to[j * rows + i] = add ? to[j * rows + i] + value : value;
        }
}

static void linear_mapping(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    const linear_state *state = op->state;
    int64_t out = op->out->cols;
    if (state->turned) {
        put_transposed(state->mapping, (float)state->theta,
                       pgcn_i_value_of(tape->params, op->param[0]), out, op->in[0]->cols, false);
        return;
    }
    tape->kernels->scale(state->mapping, (float)state->theta,
                         pgcn_i_value_of(tape->params, op->param[0]), 0, op->param[0]->count,
                         false);
    for (int64_t i = 0; i < out; i++) state->mapping[i * out + i] += (float)state->identity;
}

static void linear_mapping_gradient(pgcn_i_tape *tape, pgcn_i_op *op) {
    const linear_state *state = op->state;
    tape->kernels->scale(tape->params->grad + op->param[0]->first, (float)state->theta,
                         state->mapping_grad, 0, op->param[0]->count, op->add_param[0]);
}

/* g W^T would transpose W for every tile anew of rows (83 instead of 93 GFLOP/s with 64 channels, Zen
 * 3). W is small, so it is transposed once for all tiles. */
static void linear_refresh(pgcn_i_tape *tape, pgcn_i_op *op) {
    float *transposed = ((const linear_state *)op->state)->transposed;
    if (((const linear_state *)op->state)->mapping) linear_mapping(tape, op);
    if (!transposed) return;
    put_transposed(transposed, 1, weight_of(tape, op), op->in[0]->cols, op->out->cols, false);
}

/* Tiles of a worker for rows that are not side by side: of what a product reads, then of its result. */
static const float *input_rows(const pgcn_i_tape *tape, const pgcn_i_op *op, pgcn_i_rows rows,
                               int worker) {
    return pgcn_i_read_rows(tape, op->in[0], rows, worker, pgcn_i_tile(tape, worker));
}
static float *result_tile(const pgcn_i_tape *tape, const pgcn_i_op *op, int worker) {
    return pgcn_i_tile(tape, worker) + PGCN_BLOCK_ROWS * op->in[0]->cols;
}

static void linear_drop(const pgcn_i_tape *tape, const pgcn_i_op *op, float *y, int64_t row,
                        int64_t rows) {
    const linear_state *state = op->state;
    int64_t out = op->out->cols;
    const pgcn_i_dropout drop =
        pgcn_i_drop(pgcn_i_dropout_domain(tape, op), state->rate, pgcn_i_row_id(tape, row) * out);
    tape->kernels->dropout(y, NULL, y, &drop, 0, rows * out);
}

static void linear_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    const linear_state *state = op->state;
    const pgcn_i_params *params = tape->params;
    int64_t in = op->in[0]->cols, out = op->out->cols;
    float *y = pgcn_i_place_rows(tape, op->out, rows, worker, result_tile(tape, op, worker));
    tape->kernels->gemm(&(pgcn_i_product){.m = rows.count,
                                          .n = out,
                                          .k = in,
                                          .a = input_rows(tape, op, rows, worker),
                                          .lda = in,
                                          .b = weight_of(tape, op),
                                          .ldb = out,
                                          .c = y,
                                          .ldc = out});
    if (op->param[1] || state->relu)
        tape->kernels->bias_relu(y, op->param[1] ? pgcn_i_value_of(params, op->param[1]) : NULL,
                                 state->relu, 0, rows.count, out);
    int64_t together = rows.row || !pgcn_i_ids_follow(tape) ? 1 : rows.count;
    for (int64_t i = 0; i < rows.count && state->rate > 0; i += together)
        linear_drop(tape, op, y + i * out, pgcn_i_row(rows, i), together);
    pgcn_i_write_rows(tape, op->out, rows, y);
}

/* g = dy where y > 0: what was dropped is zero there, like what ReLU cut off. */
static void linear_mask(const pgcn_i_tape *tape, const pgcn_i_op *op, pgcn_i_backward_tile tile) {
    double rate = ((const linear_state *)op->state)->rate;
    float scale = rate > 0 ? pgcn_i_drop_scale(rate) : 1.0f;
    const float *y =
        pgcn_i_read_rows(tape, op->out, tile.rows, tile.worker, result_tile(tape, op, tile.worker));
    tape->kernels->relu_backward(tile.g, tile.g, y, scale, 0, tile.rows.count * op->out->cols);
}

/* What reads no value and has no backward pass, as features, has no use for a gradient. */
static bool is_constant(const pgcn_i_tape *tape, const pgcn_i_value *x) {
    if (x->maker < 0) return false; /* the caller's */
    const pgcn_i_kind *kind = tape->op[x->maker].kind;
    return kind->needs == PGCN_I_NEEDS_NOTHING && !kind->backward_all && !kind->backward_rows;
}

/* dx = g W^T;  dW += x^T g;  db += sum g. dx comes last: it may lie where x is (plan.c). */
static void linear_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    const linear_state *state = op->state;
    int64_t in = op->in[0]->cols, out = op->out->cols, rows = tile.rows.count;
    if (state->relu) linear_mask(tape, op, tile);
    tape->kernels->gemm(&(pgcn_i_product){.m = in,
                                          .n = out,
                                          .k = rows,
                                          .a = input_rows(tape, op, tile.rows, tile.worker),
                                          .lda = in,
                                          .a_transposed = true,
                                          .b = tile.g,
                                          .ldb = out,
                                          .c = tile.partial,
                                          .ldc = out,
                                          .add = true});
    if (op->param[1]) tape->kernels->column_sum(tile.partial + in * out, tile.g, 0, rows, out);
    if (is_constant(tape, op->in[0])) return;
    tape->kernels->gemm(&(pgcn_i_product){.m = rows,
                                          .n = in,
                                          .k = out,
                                          .a = tile.g,
                                          .lda = out,
                                          .b = state->transposed,
                                          .ldb = in,
                                          .c = tile.dx,
                                          .ldc = in});
}

/* By the bias, and g W^T to what was multiplied. */
static void linear_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    const pgcn_i_tape *tape = trace->tape;
    const pgcn_i_param *bias = op->param[1];
    if (((const linear_state *)op->state)->relu) pgcn_i_adjoint_gate(trace, g, op->out->data);
    if (bias) pgcn_i_trace_constant(trace, bias, g, pgcn_i_value_of(tape->params, bias));
    pgcn_i_trace_give(trace, op->in[0],
                      pgcn_i_adjoint_product(trace, g, weight_of(tape, op), op->in[0]->cols));
    pgcn_i_adjoint_free(g);
}

static const pgcn_i_kind linear_kind = {.name = "linear",
                                        .needs = PGCN_I_NEEDS_ROW,
                                        .state_bytes = sizeof(linear_state),
                                        .refresh = linear_refresh,
                                        .forward_rows = linear_forward,
                                        .any_rows = true,
                                        .backward_rows = linear_backward,
                                        .backward_reads_in = true,
                                        .explain = linear_explain};
static const pgcn_i_kind linear_relu_kind = {.name = "linear with ReLU",
                                             .needs = PGCN_I_NEEDS_ROW,
                                             .state_bytes = sizeof(linear_state),
                                             .refresh = linear_refresh,
                                             .forward_rows = linear_forward,
                                             .any_rows = true,
                                             .backward_rows = linear_backward,
                                             .backward_reads_in = true,
                                             .backward_reads_out = true,
                                             .explain = linear_explain,
                                             .explain_reads_out = true};

/* The memory of a product with W. */
static void linear_scratch(pgcn_i_tape *tape, pgcn_i_op *op, const pgcn_i_param *w,
                           const pgcn_i_param *b) {
    if (!tape->with_grad) return;
    ((linear_state *)op->state)->transposed = pgcn_i_tape_floats(tape, w->count);
    op->partial_floats = w->count + (b ? b->count : 0);
    pgcn_i_tape_need(tape, 0, PGCN_BLOCK_ROWS * (w->shape[0] + w->shape[1]));
}

pgcn_i_value *pgcn_i_op_linear(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *w, pgcn_i_param *b,
                               bool relu, double dropout) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, relu ? &linear_relu_kind : &linear_kind,
        (pgcn_i_ports){.in = {x}, .param = {w, b}, .rows = x->rows, .cols = w->shape[1]});
    if (!op) return NULL;
    linear_state *state = op->state;
    state->relu = relu;
    state->rate = tape->with_grad && relu ? dropout : 0;
    linear_scratch(tape, op, w, b);
    return op->out;
}

static const pgcn_i_kind mapping_kind = {.name = "linear near the identity",
                                         .needs = PGCN_I_NEEDS_ROW,
                                         .state_bytes = sizeof(linear_state),
                                         .refresh = linear_refresh,
                                         .forward_rows = linear_forward,
                                         .any_rows = true,
                                         .backward_rows = linear_backward,
                                         .backward_done = linear_mapping_gradient,
                                         .backward_reads_in = true,
                                         .explain = linear_explain};

pgcn_i_value *pgcn_i_op_linear_near_identity(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *w,
                                             double theta, double identity) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &mapping_kind,
        (pgcn_i_ports){.in = {x}, .param = {w}, .rows = x->rows, .cols = w->shape[1]});
    if (!op) return NULL;
    linear_state *state = op->state;
    state->theta = theta;
    state->identity = identity;
    state->mapping = pgcn_i_tape_floats(tape, w->count);
    if (tape->with_grad) op->partial_to = state->mapping_grad = pgcn_i_tape_floats(tape, w->count);
    linear_scratch(tape, op, w, NULL);
    return op->out;
}

static void turned_gradient(pgcn_i_tape *tape, pgcn_i_op *op) {
    const linear_state *state = op->state;
    put_transposed(tape->params->grad + op->param[0]->first, (float)state->theta,
                   state->mapping_grad, op->in[0]->cols, op->out->cols, op->add_param[0]);
}

static const pgcn_i_kind turned_kind = {.name = "linear, transposed",
                                        .needs = PGCN_I_NEEDS_ROW,
                                        .state_bytes = sizeof(linear_state),
                                        .refresh = linear_refresh,
                                        .forward_rows = linear_forward,
                                        .any_rows = true,
                                        .backward_rows = linear_backward,
                                        .backward_done = turned_gradient,
                                        .backward_reads_in = true,
                                        .explain = linear_explain};

pgcn_i_value *pgcn_i_op_linear_transposed(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *w,
                                          double factor) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &turned_kind,
        (pgcn_i_ports){.in = {x}, .param = {w}, .rows = x->rows, .cols = w->shape[0]});
    if (!op) return NULL;
    linear_state *state = op->state;
    state->turned = true;
    state->theta = factor;
    state->mapping = pgcn_i_tape_floats(tape, w->count);
    if (tape->with_grad) op->partial_to = state->mapping_grad = pgcn_i_tape_floats(tape, w->count);
    linear_scratch(tape, op, w, NULL);
    return op->out;
}

/* W - diagonal I, element e. */
static double deviation(const pgcn_i_op *op, const float *w, int64_t e) {
    bool on_diagonal = e / op->out->cols == e % op->out->cols;
    return (double)w[e] - (on_diagonal ? ((const linear_state *)op->state)->near.diagonal : 0);
}

/* The distance in double and in the order of the elements, once per pass. */
static void orthogonal_refresh(pgcn_i_tape *tape, pgcn_i_op *op) {
    const float *w = pgcn_i_value_of(tape->params, op->param[0]);
    double square = 0;
    linear_refresh(tape, op);
    for (int64_t e = 0; e < op->param[0]->count && tape->with_grad; e++)
        square += deviation(op, w, e) * deviation(op, w, e);
    ((linear_state *)op->state)->distance = sqrt(square);
}

static double orthogonal_term(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    (void)tape;
    const linear_state *state = op->state;
    return state->near.weight * state->distance;
}

/* dW += weight (W - diagonal I) / distance; 0 where the distance is 0, which is a kink (so does PyTorch). */
static void orthogonal_gradient(pgcn_i_tape *tape, pgcn_i_op *op) {
    const linear_state *state = op->state;
    const float *w = pgcn_i_value_of(tape->params, op->param[0]);
    float *grad = tape->params->grad + op->param[0]->first;
    if (!(state->distance > 0)) return;
    for (int64_t e = 0; e < op->param[0]->count; e++)
        grad[e] += (float)(state->near.weight * deviation(op, w, e) / state->distance);
}

static const pgcn_i_kind orthogonal_kind = {.name = "linear near an orthogonal one",
                                            .needs = PGCN_I_NEEDS_ROW,
                                            .state_bytes = sizeof(linear_state),
                                            .refresh = orthogonal_refresh,
                                            .forward_rows = linear_forward,
                                            .any_rows = true,
                                            .backward_rows = linear_backward,
                                            .backward_done = orthogonal_gradient,
                                            .loss_term = orthogonal_term,
                                            .backward_reads_in = true,
                                            .explain = linear_explain};

pgcn_i_value *pgcn_i_op_linear_orthogonal(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *w,
                                          pgcn_i_orthogonal near) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &orthogonal_kind,
        (pgcn_i_ports){.in = {x}, .param = {w}, .rows = x->rows, .cols = w->shape[1]});
    if (!op) return NULL;
    ((linear_state *)op->state)->near = near;
    linear_scratch(tape, op, w, NULL);
    return op->out;
}

/* ---- ReLU ---------------------------------------------------------------------------------- */

/* Rows that follow each other are one call: a row of 32 channels is done sooner than a call is made. */
static void relu_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    int64_t c = op->out->cols, together = rows.row ? 1 : rows.count;
    for (int64_t i = 0; i < rows.count; i += together) {
        int64_t at = pgcn_i_row(rows, i) * c;
        memcpy(op->out->data + at, op->in[0]->data + at,
               (size_t)(together * c) * sizeof *op->out->data);
        tape->kernels->bias_relu(op->out->data + at, NULL, true, 0, together, c);
    }
}

static void relu_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    const pgcn_i_rows rows = tile.rows;
    int64_t c = op->out->cols, together = rows.row ? 1 : rows.count;
    for (int64_t i = 0; i < rows.count; i += together)
        tape->kernels->relu_backward(tile.dx + i * c, tile.g + i * c,
                                     op->out->data + pgcn_i_row(rows, i) * c, 1.0f, 0,
                                     together * c);
}

static void relu_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    pgcn_i_adjoint_gate(trace, g, op->out->data);
    pgcn_i_trace_give(trace, op->in[0], g);
}

static const pgcn_i_kind relu_kind = {.name = "ReLU",
                                      .needs = PGCN_I_NEEDS_ROW,
                                      .forward_rows = relu_forward,
                                      .backward_rows = relu_backward,
                                      .backward_reads_out = true,
                                      .explain = relu_explain,
                                      .explain_reads_out = true};

pgcn_i_value *pgcn_i_op_relu(pgcn_i_tape *tape, pgcn_i_value *x) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, &relu_kind,
                                   (pgcn_i_ports){.in = {x}, .rows = x->rows, .cols = x->cols});
    return op ? op->out : NULL;
}

/* ---- shifted ReLU: y = ReLU(x - t) + t, the larger one of x and its channel's t --------------- */

static void shifted_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    const float *t = pgcn_i_value_of(tape->params, op->param[0]);
    int64_t c = op->out->cols, together = rows.row ? 1 : rows.count;
    for (int64_t i = 0; i < rows.count; i += together) {
        int64_t at = pgcn_i_row(rows, i) * c;
        tape->kernels->shifted_relu(op->out->data + at, op->in[0]->data + at, t, together, c);
    }
}

static void shifted_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    const float *t = pgcn_i_value_of(tape->params, op->param[0]);
    const pgcn_i_rows rows = tile.rows;
    int64_t c = op->out->cols, together = rows.row ? 1 : rows.count;
    for (int64_t i = 0; i < rows.count; i += together)
        tape->kernels->shifted_relu_backward(
            &(pgcn_i_shifted_relu){.dx = tile.dx + i * c,
                                   .dt = tile.partial,
                                   .g = tile.g + i * c,
                                   .y = op->out->data + pgcn_i_row(rows, i) * c,
                                   .t = t},
            together, c);
}

typedef struct shifted_gate {
    const float *y, *t;
    bool closed; /* what the thresholds gave; otherwise what x did */
} shifted_gate;

static void shifted_row(const void *context, float *g, int64_t row, int64_t cols) {
    const shifted_gate *gate = context;
    for (int64_t ch = 0; ch < cols; ch++)
        if ((gate->y[row * cols + ch] > gate->t[ch]) == gate->closed) g[ch] = 0;
}

/* Where y is the threshold, the threshold contributes; elsewhere x does. */
static void shifted_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    shifted_gate gate = {op->out->data, pgcn_i_value_of(trace->tape->params, op->param[0]), true};
    pgcn_i_adjoint *of_t = pgcn_i_adjoint_copy(trace, g, 1);
    pgcn_i_adjoint_each(trace, of_t, shifted_row, &gate);
    pgcn_i_trace_constant(trace, op->param[0], of_t, gate.t);
    pgcn_i_adjoint_free(of_t);
    gate.closed = false;
    pgcn_i_adjoint_each(trace, g, shifted_row, &gate);
    pgcn_i_trace_give(trace, op->in[0], g);
}

static const pgcn_i_kind shifted_kind = {.name = "shifted ReLU",
                                         .needs = PGCN_I_NEEDS_ROW,
                                         .forward_rows = shifted_forward,
                                         .backward_rows = shifted_backward,
                                         .backward_reads_out = true,
                                         .explain = shifted_explain,
                                         .explain_reads_out = true};

pgcn_i_value *pgcn_i_op_shifted_relu(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *t) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op =
        pgcn_i_tape_op(tape, &shifted_kind,
                       (pgcn_i_ports){.in = {x}, .param = {t}, .rows = x->rows, .cols = x->cols});
    if (!op) return NULL;
    op->partial_floats = t->count;
    return op->out;
}

/* ---- activation: y = Dropout(ReLU(x + b)) ---------------------------------------------------- */

typedef struct activate_state {
    bool relu;
    double rate; /* of the dropout after the ReLU */
} activate_state;

static void activate_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    const activate_state *state = op->state;
    const float *bias = op->param[0] ? pgcn_i_value_of(tape->params, op->param[0]) : NULL;
    bool alone = rows.row || (state->rate > 0 && !pgcn_i_ids_follow(tape));
    int64_t c = op->out->cols, together = alone ? 1 : rows.count;
    for (int64_t i = 0; i < rows.count; i += together) {
        int64_t row = pgcn_i_row(rows, i), at = row * c;
        float *y = op->out->data + at;
        memcpy(y, op->in[0]->data + at, (size_t)(together * c) * sizeof *y);
        tape->kernels->bias_relu(y, bias, state->relu, 0, together, c);
        if (state->rate <= 0) continue;
        const pgcn_i_dropout drop =
            pgcn_i_drop(pgcn_i_dropout_domain(tape, op), state->rate, pgcn_i_row_id(tape, row) * c);
        tape->kernels->dropout(y, NULL, y, &drop, 0, together * c);
    }
}

static void activate_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    const activate_state *state = op->state;
    const pgcn_i_rows rows = tile.rows;
    int64_t c = op->out->cols, together = rows.row ? 1 : rows.count;
    float scale = state->rate > 0 ? pgcn_i_drop_scale(state->rate) : 1.0f;
    for (int64_t i = 0; i < rows.count && state->relu; i += together)
        tape->kernels->relu_backward(tile.dx + i * c, tile.g + i * c,
                                     op->out->data + pgcn_i_row(rows, i) * c, scale, 0,
                                     together * c);
    if (!state->relu) memcpy(tile.dx, tile.g, (size_t)(rows.count * c) * sizeof *tile.dx);
    if (op->param[0]) tape->kernels->column_sum(tile.partial, tile.dx, 0, rows.count, c);
}

static void activate_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    const pgcn_i_param *bias = op->param[0];
    if (((const activate_state *)op->state)->relu) pgcn_i_adjoint_gate(trace, g, op->out->data);
    if (bias) pgcn_i_trace_constant(trace, bias, g, pgcn_i_value_of(trace->tape->params, bias));
    pgcn_i_trace_give(trace, op->in[0], g);
}

static const pgcn_i_kind activate_kind = {.name = "activation",
                                          .needs = PGCN_I_NEEDS_ROW,
                                          .state_bytes = sizeof(activate_state),
                                          .forward_rows = activate_forward,
                                          .backward_rows = activate_backward,
                                          .backward_reads_out = true,
                                          .explain = activate_explain,
                                          .explain_reads_out = true};
static const pgcn_i_kind bias_kind = {.name = "bias",
                                      .needs = PGCN_I_NEEDS_ROW,
                                      .state_bytes = sizeof(activate_state),
                                      .forward_rows = activate_forward,
                                      .backward_rows = activate_backward,
                                      .explain = activate_explain};

pgcn_i_value *pgcn_i_op_activate(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *b, bool relu,
                                 double dropout) {
    if (tape->status != PGCN_OK) return NULL;
    if (!relu && !b) return pgcn_i_op_dropout(tape, x, dropout);
    pgcn_i_op *op =
        pgcn_i_tape_op(tape, relu ? &activate_kind : &bias_kind,
                       (pgcn_i_ports){.in = {x}, .param = {b}, .rows = x->rows, .cols = x->cols});
    if (!op) return NULL;
    *(activate_state *)op->state =
        (activate_state){.relu = relu, .rate = tape->with_grad && relu ? dropout : 0};
    op->partial_floats = b ? b->count : 0;
    return relu ? op->out : pgcn_i_op_dropout(tape, op->out, dropout);
}

/* ---- dropout of elements ------------------------------------------------------------------- */

typedef struct drop_state {
    double rate; /* op->kept: [rows, cols], or [rows] where whole rows are dropped */
} drop_state;

static int64_t kept_elements(const pgcn_i_op *op) {
    return op->out->rows * op->out->cols;
}
static int64_t kept_rows(const pgcn_i_op *op) {
    return op->out->rows;
}

static void dropout_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    const drop_state *state = op->state;
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < rows.count; i++) {
        int64_t row = pgcn_i_row(rows, i), at = row * c;
        const pgcn_i_dropout drop =
            pgcn_i_drop(pgcn_i_dropout_domain(tape, op), state->rate, pgcn_i_row_id(tape, row) * c);
        tape->kernels->dropout(op->out->data + at, op->kept + at, op->in[0]->data + at, &drop, 0,
                               c);
    }
}

static void dropout_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    const drop_state *state = op->state;
    const pgcn_i_rows rows = tile.rows;
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < rows.count; i++)
        tape->kernels->dropout_backward(tile.dx + i * c, tile.g + i * c,
                                        op->kept + pgcn_i_row(rows, i) * c,
                                        pgcn_i_drop_scale(state->rate), 0, c);
}

static const pgcn_i_kind dropout_kind = {.name = "dropout",
                                         .needs = PGCN_I_NEEDS_ROW,
                                         .state_bytes = sizeof(drop_state),
                                         .kept_bytes = kept_elements,
                                         .forward_rows = dropout_forward,
                                         .backward_rows = dropout_backward};

/* One operation for both: they differ in what is dropped together. */
static pgcn_i_value *record_drop(pgcn_i_tape *tape, const pgcn_i_kind *kind, pgcn_i_value *x,
                                 double rate) {
    pgcn_i_op *op =
        pgcn_i_tape_op(tape, kind, (pgcn_i_ports){.in = {x}, .rows = x->rows, .cols = x->cols});
    if (!op) return NULL;
    ((drop_state *)op->state)->rate = rate;
    return op->out;
}

pgcn_i_value *pgcn_i_op_dropout(pgcn_i_tape *tape, pgcn_i_value *x, double rate) {
    if (tape->status != PGCN_OK) return NULL;
    if (!tape->with_grad || rate <= 0) return x; /* inference keeps everything */
    return record_drop(tape, &dropout_kind, x, rate);
}

double pgcn_i_op_dropout_rate(const pgcn_i_op *op) {
    if (op->kind == &dropout_kind) return ((const drop_state *)op->state)->rate;
    if (op->kind == &activate_kind) return ((const activate_state *)op->state)->rate;
    return op->kind == &linear_relu_kind ? ((const linear_state *)op->state)->rate : 0;
}

/* ---- a + share b ------------------------------------------------------------------------------ */

typedef struct add_state {
    float share;
} add_state;

static void add_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    float share = ((const add_state *)op->state)->share;
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < rows.count; i++) {
        int64_t at = pgcn_i_row(rows, i) * c;
        memcpy(op->out->data + at, op->in[0]->data + at, (size_t)c * sizeof *op->out->data);
        tape->kernels->scale(op->out->data, share, op->in[1]->data, at, at + c, true);
    }
}

static void add_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    const pgcn_i_rows rows = tile.rows;
    float share = ((const add_state *)op->state)->share;
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < rows.count; i++)
        tape->kernels->scale(op->in[1]->grad + pgcn_i_row(rows, i) * c, share, tile.g + i * c, 0, c,
                             op->add_in[1]);
    memcpy(tile.dx, tile.g, (size_t)(rows.count * c) * sizeof *tile.dx);
}

static void add_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    pgcn_i_trace_give(trace, op->in[1],
                      pgcn_i_adjoint_copy(trace, g, ((const add_state *)op->state)->share));
    pgcn_i_trace_give(trace, op->in[0], g);
}

static const pgcn_i_kind add_kind = {.name = "sum",
                                     .needs = PGCN_I_NEEDS_ROW,
                                     .state_bytes = sizeof(add_state),
                                     .forward_rows = add_forward,
                                     .backward_rows = add_backward,
                                     .explain = add_explain};

pgcn_i_value *pgcn_i_op_add_share(pgcn_i_tape *tape, pgcn_i_value *a, pgcn_i_value *b,
                                  double share) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, &add_kind,
                                   (pgcn_i_ports){.in = {a, b}, .rows = a->rows, .cols = a->cols});
    if (!op) return NULL;
    ((add_state *)op->state)->share = (float)share;
    return op->out;
}

pgcn_i_value *pgcn_i_op_add(pgcn_i_tape *tape, pgcn_i_value *a, pgcn_i_value *b) {
    return pgcn_i_op_add_share(tape, a, b, 1);
}

/* ---- the larger of two ------------------------------------------------------------------------ */

static void max_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)tape, (void)worker;
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < rows.count; i++) {
        int64_t at = pgcn_i_row(rows, i) * c;
        const float *a = op->in[0]->data + at, *b = op->in[1]->data + at;
        float *y = op->out->data + at;
        for (int64_t ch = 0; ch < c; ch++) y[ch] = b[ch] > a[ch] ? b[ch] : a[ch];
    }
}

/* Where both are equal the gradient is the first one's. */
static void max_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    (void)tape;
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < tile.rows.count; i++) {
        int64_t at = pgcn_i_row(tile.rows, i) * c;
        const float *a = op->in[0]->data + at, *y = op->out->data + at, *g = tile.g + i * c;
        float *da = tile.dx + i * c, *db = op->in[1]->grad + at;
        for (int64_t ch = 0; ch < c; ch++) {
            bool first = !(y[ch] > a[ch]);
            float other = first ? 0 : g[ch];
            db[ch] = op->add_in[1] ? db[ch] + other : other;
            da[ch] = first ? g[ch] : 0;
        }
    }
}

typedef struct max_gate {
    const float *a, *y;
    bool first; /* what in[0] gave; otherwise what in[1] did */
} max_gate;

static void max_row(const void *context, float *g, int64_t row, int64_t cols) {
    const max_gate *gate = context;
    for (int64_t ch = row * cols; ch < (row + 1) * cols; ch++)
        if ((gate->y[ch] > gate->a[ch]) == gate->first) g[ch - row * cols] = 0;
}

static void max_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    max_gate gate = {op->in[0]->data, op->out->data, false};
    pgcn_i_adjoint *second = pgcn_i_adjoint_copy(trace, g, 1);
    pgcn_i_adjoint_each(trace, second, max_row, &gate);
    pgcn_i_trace_give(trace, op->in[1], second);
    gate.first = true;
    pgcn_i_adjoint_each(trace, g, max_row, &gate);
    pgcn_i_trace_give(trace, op->in[0], g);
}

static const pgcn_i_kind max_kind = {.name = "maximum",
                                     .needs = PGCN_I_NEEDS_ROW,
                                     .forward_rows = max_forward,
                                     .backward_rows = max_backward,
                                     .backward_reads_in = true,
                                     .backward_reads_out = true,
                                     .explain = max_explain,
                                     .explain_reads_in = true,
                                     .explain_reads_out = true};

pgcn_i_value *pgcn_i_op_max(pgcn_i_tape *tape, pgcn_i_value *a, pgcn_i_value *b) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, &max_kind,
                                   (pgcn_i_ports){.in = {a, b}, .rows = a->rows, .cols = a->cols});
    return op ? op->out : NULL;
}

/* ---- dropout of whole rows (DropNode) ------------------------------------------------------ */

static float row_factor(const pgcn_i_op *op, int64_t row) {
    const drop_state *state = op->state;
    return op->kept[row] ? pgcn_i_drop_scale(state->rate) : 0.0f;
}

static void drop_rows_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    const drop_state *state = op->state;
    pgcn_i_rng_domain domain =
        pgcn_i_rng_domain_of(tape->seed, PGCN_I_RNG_DROP_ROWS, tape->step, op->index, 0);
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < rows.count; i++) {
        int64_t row = pgcn_i_row(rows, i);
        uint32_t word[4];
        pgcn_i_rng_words(domain, (uint64_t)pgcn_i_row_id(tape, row), 0, word);
        op->kept[row] = (word[0] >> 16) >= pgcn_i_drop_threshold(state->rate);
        tape->kernels->scale(op->out->data, row_factor(op, row), op->in[0]->data, row * c,
                             (row + 1) * c, false);
    }
}

static void drop_rows_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    const pgcn_i_rows rows = tile.rows;
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < rows.count; i++)
        tape->kernels->scale(tile.dx + i * c, row_factor(op, pgcn_i_row(rows, i)), tile.g + i * c,
                             0, c, false);
}

static const pgcn_i_kind drop_rows_kind = {.name = "dropout of rows",
                                           .needs = PGCN_I_NEEDS_ROW,
                                           .state_bytes = sizeof(drop_state),
                                           .kept_bytes = kept_rows,
                                           .forward_rows = drop_rows_forward,
                                           .backward_rows = drop_rows_backward};

pgcn_i_value *pgcn_i_op_drop_rows(pgcn_i_tape *tape, pgcn_i_value *x, double rate) {
    if (tape->status != PGCN_OK) return NULL;
    if (!tape->with_grad || rate <= 0) return x;
    return record_drop(tape, &drop_rows_kind, x, rate);
}

/* ---- sum-pool: one row per graph ----------------------------------------------------------- */

typedef struct pool_state {
    const int64_t *segment; /* [graphs+1] rows of each graph */
} pool_state;

/* The graphs of a task. */
static pgcn_i_segments segments_of(const pgcn_i_job *job, int64_t task) {
    return (pgcn_i_segments){.offset = ((const pool_state *)job->op->state)->segment,
                             .begin = pgcn_i_block_begin(job->blocks, task),
                             .end = pgcn_i_block_end(job->blocks, task)};
}

static void pool_forward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    job->tape->kernels->segment_sum(op->out->data, op->in[0]->data, segments_of(job, task),
                                    op->out->cols);
}

static void pool_backward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    job->tape->kernels->segment_spread(op->in[0]->grad, op->out->grad, segments_of(job, task),
                                       op->out->cols, op->add_in[0]);
}

static void pool_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks blocks = pgcn_i_blocks_of(op->out->rows);
    pgcn_i_run(tape, op, blocks, blocks.count, 0, pool_forward_task);
}
static void pool_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks blocks = pgcn_i_blocks_of(op->out->rows);
    pgcn_i_run(tape, op, blocks, blocks.count, 0, pool_backward_task);
}

/* The same to every row of a graph. */
static void pool_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    const int64_t *segment = ((const pool_state *)op->state)->segment;
    uint8_t *flag = pgcn_i_alloc(op->in[0]->rows, 1);
    if (!flag) trace->status = PGCN_ERR_MEMORY;
    for (int64_t i = 0; flag && i < g->count; i++)
        memset(flag + segment[g->row[i]], 1, (size_t)(segment[g->row[i] + 1] - segment[g->row[i]]));
    pgcn_i_adjoint *to = pgcn_i_adjoint_new(trace, op->in[0]->rows, g->cols, flag, g->planes);
    for (int p = 0; to && p < g->planes; p++)
        for (int64_t i = 0; i < g->count; i++)
            for (int64_t r = segment[g->row[i]]; r < segment[g->row[i] + 1]; r++)
                memcpy(pgcn_i_adjoint_at(to, p, to->place[r]), pgcn_i_adjoint_at(g, p, i),
                       (size_t)g->cols * sizeof *g->data);
    pgcn_i_free(flag);
    pgcn_i_adjoint_free(g);
    pgcn_i_trace_give(trace, op->in[0], to);
}

static const pgcn_i_kind pool_kind = {.name = "sum over graphs",
                                      .needs = PGCN_I_NEEDS_ALL,
                                      .state_bytes = sizeof(pool_state),
                                      .forward_all = pool_forward,
                                      .backward_all = pool_backward,
                                      .explain = pool_explain};

pgcn_i_value *pgcn_i_op_sum_pool(pgcn_i_tape *tape, pgcn_i_value *x, const int64_t *offset,
                                 int64_t graphs) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, &pool_kind,
                                   (pgcn_i_ports){.in = {x}, .rows = graphs, .cols = x->cols});
    if (!op) return NULL;
    ((pool_state *)op->state)->segment = offset;
    op->out->space = PGCN_I_GRAPHS;
    return op->out;
}
