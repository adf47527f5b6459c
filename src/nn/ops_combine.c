/* Values made of several: the sum and the larger one of two, row by row (see nn.h). */
#include "nn/ops.h"

#include <string.h>

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
