/* Operations on dense rows: linear, ReLU, dropout (all row-wise, see nn.h), sum-pool. */
#include "nn/ops.h"

#include <math.h>
#include <string.h>

static pgcn_i_value *row_wise(pgcn_i_op *op,
                              void (*forward)(pgcn_i_tape *, pgcn_i_op *, pgcn_i_rows, int),
                              void (*backward)(pgcn_i_tape *, pgcn_i_op *, pgcn_i_rows, float *,
                                               float *, float *, int)) {
    op->row_wise = true;
    op->forward_rows = forward;
    op->backward_rows = backward;
    return op->out;
}

static pgcn_i_rng_domain dropout_domain(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    return pgcn_i_rng_domain_of(tape->seed, PGCN_I_RNG_DROPOUT, tape->step, op->index, 0);
}

/* ---- linear: y = Dropout(ReLU(x W + b)) ------------------------------------------------------ */

enum { TRANSPOSED = 0 }; /* op->buffer: W^T [out, in] */

/* g W^T would transpose W again for every tile of rows (83 instead of 93 GFLOP/s with 64 channels, Zen
 * 3). W is small, so it is transposed once for all tiles. */
static void linear_refresh(pgcn_i_tape *tape, pgcn_i_op *op) {
    const float *w = pgcn_i_value_of(tape->params, op->param[0]);
    int64_t in = op->in[0]->cols, out = op->out->cols;
    for (int64_t i = 0; i < in; i++)
        for (int64_t j = 0; j < out; j++) op->buffer[TRANSPOSED][j * in + i] = w[i * out + j];
}

/* A product wants its rows side by side: those of a list are copied to a tile. */
static const float *packed_rows(const pgcn_i_tape *tape, const pgcn_i_value *x, pgcn_i_rows rows,
                                int worker) {
    if (!rows.row) return x->data + rows.first * x->cols;
    float *tile = pgcn_i_tile(tape, worker);
    for (int64_t i = 0; i < rows.count; i++)
        memcpy(tile + i * x->cols, x->data + rows.row[i] * x->cols, (size_t)x->cols * sizeof *tile);
    return tile;
}

static void linear_drop(const pgcn_i_tape *tape, const pgcn_i_op *op, float *y, int64_t row,
                        int64_t rows) {
    int64_t out = op->out->cols;
    tape->kernels->dropout(y, NULL, y, dropout_domain(tape, op), pgcn_i_drop_threshold(op->rate),
                           pgcn_i_drop_scale(op->rate), 0, rows * out, row * out);
}

static void linear_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    const pgcn_i_params *params = tape->params;
    int64_t in = op->in[0]->cols, out = op->out->cols;
    float *y = rows.row ? pgcn_i_tile(tape, worker) + PGCN_BLOCK_ROWS * in
                        : op->out->data + rows.first * out;
    tape->kernels->gemm(&(pgcn_i_product){.m = rows.count,
                                          .n = out,
                                          .k = in,
                                          .a = packed_rows(tape, op->in[0], rows, worker),
                                          .lda = in,
                                          .b = pgcn_i_value_of(params, op->param[0]),
                                          .ldb = out,
                                          .c = y,
                                          .ldc = out});
    if (op->param[1] || op->relu)
        tape->kernels->bias_relu(y, op->param[1] ? pgcn_i_value_of(params, op->param[1]) : NULL,
                                 op->relu, 0, rows.count, out);
    if (op->rate > 0 && !rows.row) linear_drop(tape, op, y, rows.first, rows.count);
    for (int64_t i = 0; i < rows.count && rows.row; i++) {
        if (op->rate > 0) linear_drop(tape, op, y + i * out, rows.row[i], 1);
        memcpy(op->out->data + rows.row[i] * out, y + i * out, (size_t)out * sizeof *y);
    }
}

/* g = dy where y > 0: what was dropped is zero there, like what ReLU cut off. */
static void linear_mask(const pgcn_i_tape *tape, const pgcn_i_op *op, pgcn_i_rows rows, float *g) {
    int64_t out = op->out->cols;
    float scale = op->rate > 0 ? pgcn_i_drop_scale(op->rate) : 1.0f;
    if (!rows.row)
        tape->kernels->relu_backward(g, g, op->out->data + rows.first * out, scale, 0,
                                     rows.count * out, false);
    for (int64_t i = 0; i < rows.count && rows.row; i++)
        tape->kernels->relu_backward(g + i * out, g + i * out, op->out->data + rows.row[i] * out,
                                     scale, 0, out, false);
}

/* dx = g W^T;  dW += x^T g;  db += sum g. dx comes last: it may lie where x is (plan.c). */
static void linear_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, float *g, float *dx,
                            float *partial, int worker) {
    int64_t in = op->in[0]->cols, out = op->out->cols;
    if (op->relu) linear_mask(tape, op, rows, g);
    tape->kernels->gemm(&(pgcn_i_product){.m = in,
                                          .n = out,
                                          .k = rows.count,
                                          .a = packed_rows(tape, op->in[0], rows, worker),
                                          .lda = in,
                                          .a_transposed = true,
                                          .b = g,
                                          .ldb = out,
                                          .c = partial,
                                          .ldc = out,
                                          .add = true});
    if (op->param[1]) tape->kernels->column_sum(partial + in * out, g, 0, rows.count, out);
    tape->kernels->gemm(&(pgcn_i_product){.m = rows.count,
                                          .n = in,
                                          .k = out,
                                          .a = g,
                                          .lda = out,
                                          .b = op->buffer[TRANSPOSED],
                                          .ldb = in,
                                          .c = dx,
                                          .ldc = in});
}

pgcn_i_value *pgcn_i_op_linear(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *w, pgcn_i_param *b,
                               bool relu, double dropout) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, x, NULL, x->rows, w->shape[1]);
    if (!op) return NULL;
    op->param[0] = w;
    op->param[1] = b;
    op->relu = op->back_out = relu;
    op->back_in = true;
    op->rate = tape->with_grad && relu ? dropout : 0;
    if (tape->with_grad) {
        op->refresh = linear_refresh;
        op->buffer[TRANSPOSED] = pgcn_i_tape_floats(tape, w->count);
        op->partial_floats = w->count + (b ? b->count : 0);
        pgcn_i_tape_need(tape, 0, PGCN_BLOCK_ROWS * (w->shape[0] + w->shape[1]));
    }
    return row_wise(op, linear_forward, linear_backward);
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

static void relu_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, float *g, float *dx,
                          float *partial, int worker) {
    (void)partial, (void)worker;
    int64_t c = op->out->cols, together = rows.row ? 1 : rows.count;
    for (int64_t i = 0; i < rows.count; i += together)
        tape->kernels->relu_backward(dx + i * c, g + i * c, op->out->data + pgcn_i_row(rows, i) * c,
                                     1.0f, 0, together * c, false);
}

pgcn_i_value *pgcn_i_op_relu(pgcn_i_tape *tape, pgcn_i_value *x) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, x, NULL, x->rows, x->cols);
    if (!op) return NULL;
    op->back_out = true;
    return row_wise(op, relu_forward, relu_backward);
}

/* ---- dropout of elements ------------------------------------------------------------------- */

static void dropout_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < rows.count; i++) {
        int64_t at = pgcn_i_row(rows, i) * c;
        tape->kernels->dropout(op->out->data, op->kept, op->in[0]->data, dropout_domain(tape, op),
                               pgcn_i_drop_threshold(op->rate), pgcn_i_drop_scale(op->rate), at,
                               at + c, 0);
    }
}

static void dropout_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, float *g,
                             float *dx, float *partial, int worker) {
    (void)partial, (void)worker;
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < rows.count; i++)
        tape->kernels->dropout_backward(dx + i * c, g + i * c, op->kept + pgcn_i_row(rows, i) * c,
                                        pgcn_i_drop_scale(op->rate), 0, c, false);
}

pgcn_i_value *pgcn_i_op_dropout(pgcn_i_tape *tape, pgcn_i_value *x, double rate) {
    if (tape->status != PGCN_OK) return NULL;
    if (!tape->with_grad || rate <= 0) return x; /* inference keeps everything */
    pgcn_i_op *op = pgcn_i_tape_op(tape, x, NULL, x->rows, x->cols);
    if (!op) return NULL;
    op->rate = rate;
    op->kept = PGCN_I_ARRAY(&tape->arena, uint8_t, x->rows * x->cols);
    if (!op->kept) tape->status = PGCN_ERR_MEMORY;
    return row_wise(op, dropout_forward, dropout_backward);
}

/* ---- sum of two ------------------------------------------------------------------------------ */

static void add_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < rows.count; i++) {
        int64_t at = pgcn_i_row(rows, i) * c;
        memcpy(op->out->data + at, op->in[0]->data + at, (size_t)c * sizeof *op->out->data);
        tape->kernels->scale(op->out->data, 1.0f, op->in[1]->data, at, at + c, true);
    }
}

static void add_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, float *g, float *dx,
                         float *partial, int worker) {
    (void)partial, (void)worker;
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < rows.count; i++)
        tape->kernels->scale(op->in[1]->grad + pgcn_i_row(rows, i) * c, 1.0f, g + i * c, 0, c,
                             op->add_in[1]);
    memcpy(dx, g, (size_t)(rows.count * c) * sizeof *dx);
}

pgcn_i_value *pgcn_i_op_add(pgcn_i_tape *tape, pgcn_i_value *a, pgcn_i_value *b) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, a, b, a->rows, a->cols);
    return op ? row_wise(op, add_forward, add_backward) : NULL;
}

/* ---- dropout of whole rows (DropNode) ------------------------------------------------------ */

static float row_factor(const pgcn_i_op *op, int64_t row) {
    return op->kept[row] ? pgcn_i_drop_scale(op->rate) : 0.0f;
}

static void drop_rows_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    pgcn_i_rng_domain domain =
        pgcn_i_rng_domain_of(tape->seed, PGCN_I_RNG_DROP_ROWS, tape->step, op->index, 0);
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < rows.count; i++) {
        int64_t row = pgcn_i_row(rows, i);
        uint32_t word[4];
        pgcn_i_rng_words(domain, (uint64_t)row, 0, word);
        op->kept[row] = (word[0] >> 16) >= pgcn_i_drop_threshold(op->rate);
        tape->kernels->scale(op->out->data, row_factor(op, row), op->in[0]->data, row * c,
                             (row + 1) * c, false);
    }
}

static void drop_rows_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, float *g,
                               float *dx, float *partial, int worker) {
    (void)partial, (void)worker;
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < rows.count; i++)
        tape->kernels->scale(dx + i * c, row_factor(op, pgcn_i_row(rows, i)), g + i * c, 0, c,
                             false);
}

pgcn_i_value *pgcn_i_op_drop_rows(pgcn_i_tape *tape, pgcn_i_value *x, double rate) {
    if (tape->status != PGCN_OK) return NULL;
    if (!tape->with_grad || rate <= 0) return x;
    pgcn_i_op *op = pgcn_i_tape_op(tape, x, NULL, x->rows, x->cols);
    if (!op) return NULL;
    op->rate = rate;
    op->kept = PGCN_I_ARRAY(&tape->arena, uint8_t, x->rows);
    if (!op->kept) tape->status = PGCN_ERR_MEMORY;
    return row_wise(op, drop_rows_forward, drop_rows_backward);
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

static void pool_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks blocks = pgcn_i_blocks_of(op->out->rows);
    pgcn_i_run(tape, op, blocks, blocks.count, 0, pool_forward_task);
}
static void pool_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_blocks blocks = pgcn_i_blocks_of(op->out->rows);
    pgcn_i_run(tape, op, blocks, blocks.count, 0, pool_backward_task);
}

pgcn_i_value *pgcn_i_op_sum_pool(pgcn_i_tape *tape, pgcn_i_value *x, const int64_t *offset,
                                 int64_t graphs) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, x, NULL, graphs, x->cols);
    if (!op) return NULL;
    op->forward_all = pool_forward;
    op->backward_all = pool_backward;
    op->segment = offset;
    op->out->per_graph = true;
    return op->out;
}
