/* Products of rows with weights (row-wise, see nn.h): with bias, ReLU and dropout; near the identity; transposed; near an
 * orthogonal matrix. */
#include "nn/ops.h"

#include <math.h>

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

/* dx = g W^T;  dW += x^T g;  db += sum g. dx comes last: it may lie where x is (plan_memory.c). */
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

double pgcn_i_op_linear_dropout_rate(const pgcn_i_op *op) {
    return op->kind == &linear_relu_kind ? ((const linear_state *)op->state)->rate : 0;
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
