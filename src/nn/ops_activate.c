/* ReLU, shifted ReLU, bias, dropout of elements and of rows (all row-wise, see nn.h). */
#include "nn/ops.h"

#include <string.h>

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
    return pgcn_i_op_linear_dropout_rate(op);
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
