/* The opening layer: H0 = ReLU(Dropout(X) W + b), or without ReLU or b, for `samples` stacked copies of X with dropout of
 * their own.
 *
 * Sparse X: dropout is drawn on the non-zeros only and the dense n x features matrix is never made
 * (on Cora it would be 99 % zeros and most of the time of a step). The gradient of W runs over the
 * columns of X. Dense X: tiles of 64 rows are dropped, multiplied and forgotten; the backward pass
 * draws the same dropout a second time instead of storing it, and takes the gradient of the result as tiles, too. */
#include "nn/ops.h"

#include <string.h>

/* Of the opening layer, and of the features themselves. */
typedef struct input_state {
    const pgcn_i_input *input;
    int samples;
    double rate;   /* of elements; of whole rows where the features themselves are the result */
    uint8_t *kept; /* [samples, nonzeros] entries that are not dropped; NULL: all */
    bool linear;   /* without the ReLU */
} input_state;

static const input_state *state_of(const pgcn_i_op *op) {
    return op->state;
}

static pgcn_i_rng_domain input_domain(const pgcn_i_tape *tape, int sample) {
    return pgcn_i_rng_domain_of(tape->seed, PGCN_I_RNG_DROPOUT_INPUT, tape->step, 0, sample);
}

/* The sample and the node of a row. */
typedef struct place {
    int sample;
    int64_t node;
} place;
static place place_of(const pgcn_i_tape *tape, const pgcn_i_input *x, int64_t row) {
    int64_t id = pgcn_i_row_id(tape, row), n = tape->part ? tape->part->nodes : x->n;
    if (id < n) return (place){0, id}; /* divisions take as long as a line of features */
    return (place){(int)(id / n), id % n};
}

/* The dense features of a row, which is a node in one sample. */
static const float *features_of(const pgcn_i_input *x, int64_t row, int64_t node) {
    if (x->gathered) return x->dense + x->gathered[row] * x->columns;
    if (x->guest && node >= x->guests_from) return x->guest + (node - x->guests_from) * x->columns;
    return x->dense + node * x->columns;
}

static const float *bias_of(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    return op->param[1] ? pgcn_i_value_of(tape->params, op->param[1]) : NULL;
}

/* ---- sparse -------------------------------------------------------------------------------- */

/* g = dy where y > 0, db = sum g */
static void relu_bias_task(void *context, int64_t task, int worker) {
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    int64_t c = op->out->cols, group = job->first + task;
    float *partial = pgcn_i_partial(job->tape, group);
    memset(partial, 0, (size_t)c * sizeof *partial);
    for (int sample = 0; sample < job->tape->samples; sample++) {
        pgcn_i_range rows = pgcn_i_group_rows(job, group, sample);
        for (int64_t r = rows.begin; r < rows.end && !state_of(op)->linear; r += PGCN_BLOCK_ROWS) {
            int64_t count = rows.end - r < PGCN_BLOCK_ROWS ? rows.end - r : PGCN_BLOCK_ROWS;
            const float *y = pgcn_i_read_rows(job->tape, op->out, (pgcn_i_rows){NULL, r, count},
                                              worker, pgcn_i_tile(job->tape, worker));
            float *g = op->out->grad + r * c;
            job->tape->kernels->relu_backward(g, g, y, 1.0f, 0, count * c);
        }
        if (op->param[1])
            job->tape->kernels->column_sum(partial, op->out->grad, rows.begin, rows.end, c);
    }
}

static void relu_bias_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    if (state_of(op)->linear && !op->param[1]) return;
    pgcn_i_run_groups(tape, op, op->out->rows, 0, relu_bias_task, true);
    if (op->param[1])
        pgcn_i_tape_reduce(tape, tape->params->grad + op->param[1]->first, op->add_param[1],
                           op->out->rows, op->param[1]->count);
}

/* Whether an entry is kept: state_of(op)->kept [samples, nonzeros]. */
static const uint8_t *kept_of(const pgcn_i_op *op, int64_t sample) {
    return state_of(op)->kept ? state_of(op)->kept + sample * state_of(op)->input->nonzeros : NULL;
}
static float kept_scale(const pgcn_i_op *op) {
    return state_of(op)->kept ? pgcn_i_drop_scale(state_of(op)->rate) : 1.0f;
}

static void sparse_drop_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    int64_t sample = task / job->blocks.count, block = task % job->blocks.count;
    int64_t begin = job->first + pgcn_i_block_begin(job->blocks, block);
    job->tape->kernels->draw_kept(
        state_of(op)->kept + sample * state_of(op)->input->nonzeros + begin,
        input_domain(job->tape, (int)sample), pgcn_i_drop_threshold(state_of(op)->rate), begin,
        job->first + pgcn_i_block_end(job->blocks, block) - begin);
}

/* Rows of a part of a graph: entries are drawn by their numbers in the whole graph. */
static void part_drop_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const input_state *state = state_of(job->op);
    const pgcn_i_input *x = state->input;
    const pgcn_i_range block = pgcn_i_runs_range(&job->runs, task);
    for (int64_t r = block.begin; r < block.end; r++)
        job->tape->kernels->draw_kept(
            state->kept + x->offset[r], input_domain(job->tape, place_of(job->tape, x, r).sample),
            pgcn_i_drop_threshold(state->rate), x->drawn_at[r], x->offset[r + 1] - x->offset[r]);
}

/* Rows of the stacked samples. A run of rows that follow each other is one call; it ends where its
 * sample ends. */
static void sparse_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    const pgcn_i_input *x = state_of(op)->input;
    int64_t c = op->out->cols;
    float *tile = pgcn_i_tile(tape, worker);
    pgcn_i_sparse_linear layer = {.column = x->column,
                                  .value = x->value,
                                  .scale = kept_scale(op),
                                  .w = pgcn_i_value_of(tape->params, op->param[0]),
                                  .bias = bias_of(tape, op),
                                  .relu = !state_of(op)->linear,
                                  .c = c};
    for (int64_t i = 0, run; i < rows.count; i += run) {
        int64_t row = pgcn_i_row(rows, i), sample = row / x->n, begin = row - sample * x->n;
        for (run = 1;
             i + run < rows.count && begin + run < x->n && pgcn_i_row(rows, i + run) == row + run;)
            run++;
        layer.kept = kept_of(op, sample);
        layer.offset = x->offset + begin;
        tape->kernels->csr_linear(op->out->half ? tile + i * c : op->out->data + row * c, &layer, 0,
                                  run);
    }
    if (op->out->half) pgcn_i_write_rows(tape, op->out, rows, tile);
}

static void sparse_drop(pgcn_i_tape *tape, pgcn_i_op *op) {
    if (!state_of(op)->kept) return;
    if (tape->part) {
        pgcn_i_run_own(tape, op, pgcn_i_runs_of(tape, op->rows, NULL), 0, part_drop_task, false);
        return;
    }
    const int64_t *offset = state_of(op)->input->offset;
    pgcn_i_own own = pgcn_i_own_of(tape, op->out->rows);
    pgcn_i_job job = {.tape = tape,
                      .op = op,
                      .first = offset[own.begin],
                      .blocks =
                          pgcn_i_cut(offset[own.stop] - offset[own.begin], PGCN_MAX_BLOCKS, 4096)};
    pgcn_i_parallel(tape->pool, job.blocks.count * state_of(op)->samples, sparse_drop_task, &job);
}

/* Some features, and of several ranks the rows of this one, added to the sum of those before. */
typedef struct sparse_job {
    pgcn_i_tape *tape;
    const pgcn_i_op *op;
    pgcn_i_own own;
    bool add;
    float *dw;     /* of the first feature of all */
    int64_t first; /* feature */
    pgcn_i_blocks blocks;
} sparse_job;

static void sparse_grad_task(void *context, int64_t task, int worker) {
    (void)worker;
    const sparse_job *job = context;
    const pgcn_i_op *op = job->op;
    const pgcn_i_input *x = state_of(op)->input;
    const pgcn_i_sparse_gradient gradient = {
        .x = &x->by_column,
        .kept = state_of(op)->kept,
        .scale = kept_scale(op),
        .g = op->out->grad,
        .n = x->n,
        .samples = state_of(op)->samples,
        .group_rows = job->own.groups.size,
        .first_row = job->own.begin,
        .end_row = job->own.stop,
        .add = job->add,
        .live = pgcn_i_has_gradient(job->tape, op),
        .c = op->out->cols,
    };
    job->tape->kernels->csr_linear_grad(job->dw, &gradient,
                                        job->first + pgcn_i_block_begin(job->blocks, task),
                                        job->first + pgcn_i_block_end(job->blocks, task));
}

static void run_features(sparse_job *job, int64_t first, int64_t end) {
    job->first = first;
    job->blocks = pgcn_i_cut(end - first, PGCN_MAX_BLOCKS, 16);
    pgcn_i_parallel(job->tape->pool, job->blocks.count, sparse_grad_task, job);
}

/* Chunks of a relay are whole features. */
static void relay_features(void *context, float *data, int64_t begin, int64_t end) {
    sparse_job *job = context;
    int64_t c = job->op->out->cols;
    job->dw = data;
    run_features(job, begin / c, end / c);
}

/* The gradient of W is written and not added: a network has one opening layer. */
static void sparse_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    enum { RELAY_FEATURES = 128 };
    relu_bias_backward(tape, op);
    int64_t features = state_of(op)->input->columns, c = op->out->cols;
    sparse_job job = {.tape = tape,
                      .op = op,
                      .own = pgcn_i_own_of(tape, op->out->rows),
                      .dw = tape->params->grad + op->param[0]->first};
    if (!tape->share) {
        run_features(&job, 0, features);
        return;
    }
    job.add = job.own.first > 0;
    pgcn_i_share_relay(tape, job.dw, features * c, RELAY_FEATURES * c, relay_features, &job);
}

/* ---- dense --------------------------------------------------------------------------------- */

/* The rows begin..end-1 of sample s after dropout: in the worker's tile, or X itself. */
static const float *dense_rows(const pgcn_i_tape *tape, const pgcn_i_op *op, int sample,
                               int64_t begin, int64_t end, int worker) {
    int64_t f = state_of(op)->input->columns;
    const float *rows = state_of(op)->input->dense + begin * f;
    if (state_of(op)->rate <= 0) return rows;
    float *tile = pgcn_i_tile(tape, worker);
    const pgcn_i_dropout drop =
        pgcn_i_drop(input_domain(tape, sample), state_of(op)->rate, begin * f);
    tape->kernels->dropout(tile, NULL, rows, &drop, 0, (end - begin) * f);
    return tile;
}

/* y = ReLU(x W + b) of packed rows. Sums start with the bias, as in csr_linear: the same features, dense or sparse,
 * have the same bits. */
static void dense_product(const pgcn_i_tape *tape, const pgcn_i_op *op, const float *x, float *y,
                          int64_t rows) {
    int64_t c = op->out->cols, f = state_of(op)->input->columns;
    const float *bias = bias_of(tape, op);
    for (int64_t i = 0; bias && i < rows; i++) memcpy(y + i * c, bias, (size_t)c * sizeof *y);
    tape->kernels->gemm(&(pgcn_i_product){.m = rows,
                                          .n = c,
                                          .k = f,
                                          .a = x,
                                          .lda = f,
                                          .b = pgcn_i_value_of(tape->params, op->param[0]),
                                          .ldb = c,
                                          .c = y,
                                          .ldc = c,
                                          .add = bias != NULL});
    tape->kernels->bias_relu(y, NULL, !state_of(op)->linear, 0, rows, c);
}

/* dW += x^T g of packed rows. */
static void dense_product_gradient(const pgcn_i_tape *tape, const pgcn_i_op *op, const float *x,
                                   const float *g, int64_t rows, float *dw) {
    int64_t c = op->out->cols, f = state_of(op)->input->columns;
    tape->kernels->gemm(&(pgcn_i_product){.m = f,
                                          .n = c,
                                          .k = rows,
                                          .a = x,
                                          .lda = f,
                                          .a_transposed = true,
                                          .b = g,
                                          .ldb = c,
                                          .c = dw,
                                          .ldc = c,
                                          .add = true});
}

/* The tile of a worker for rows of the result, behind that of the features. */
static float *result_tile(const pgcn_i_tape *tape, const pgcn_i_op *op, int worker) {
    return pgcn_i_tile(tape, worker) + PGCN_BLOCK_ROWS * state_of(op)->input->columns;
}

/* By samples, as dropout is drawn from the first row of each on, eight elements at a time. */
static void dense_forward_task(void *context, int64_t task, int worker) {
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    int64_t sample = job->step + task / job->blocks.count, block = task % job->blocks.count;
    int64_t last = job->first + pgcn_i_block_end(job->blocks, block);
    for (int64_t begin = job->first + pgcn_i_block_begin(job->blocks, block); begin < last;
         begin += PGCN_BLOCK_ROWS) {
        int64_t end = begin + PGCN_BLOCK_ROWS < last ? begin + PGCN_BLOCK_ROWS : last;
        const float *x = dense_rows(job->tape, op, (int)sample, begin, end, worker);
        const pgcn_i_rows rows = {NULL, sample * state_of(op)->input->n + begin, end - begin};
        float *y =
            pgcn_i_place_rows(job->tape, op->out, rows, worker, result_tile(job->tape, op, worker));
        dense_product(job->tape, op, x, y, rows.count);
        pgcn_i_write_rows(job->tape, op->out, rows, y);
        if (worker == 0) pgcn_i_share_progress(job->tape);
    }
}

/* Asks for the features of a row: those of rows of a part are anywhere in memory, and a row waits for its first line
 * longer than for all that is computed of it. */
static void ask_for_row(const pgcn_i_tape *tape, const pgcn_i_input *x, int64_t row) {
    enum { LINE_FLOATS = 16, MOST_FLOATS = 1024 };
    const float *from = features_of(x, row, place_of(tape, x, row).node);
    for (int64_t j = 0; j < x->columns && j < MOST_FLOATS; j += LINE_FLOATS)
        pgcn_i_prefetch(from + j);
}

/* A row after dropout. */
static void dense_row(const pgcn_i_tape *tape, const pgcn_i_op *op, int64_t row, float *to) {
    const pgcn_i_input *x = state_of(op)->input;
    const place from = place_of(tape, x, row);
    const float *x_row = features_of(x, row, from.node);
    int64_t f = x->columns, at = from.node * f;
    const pgcn_i_dropout drop =
        pgcn_i_drop(input_domain(tape, from.sample), state_of(op)->rate, at);
    if (state_of(op)->rate > 0)
        tape->kernels->dropout(to, NULL, x_row, &drop, 0, f);
    else
        memcpy(to, x_row, (size_t)f * sizeof *to);
}

/* Some rows that are side by side: in the list of those that matter, or in a part of a graph. */
static pgcn_i_rows some_rows(const pgcn_i_op *op, int64_t at, int64_t end) {
    return (pgcn_i_rows){op->live_out ? op->live_out->row + at : NULL, at,
                         end - at < PGCN_BLOCK_ROWS ? end - at : PGCN_BLOCK_ROWS};
}

/* Some rows after dropout; those after them, up to `end`, are asked for. */
static void pack_rows(const pgcn_i_tape *tape, const pgcn_i_op *op, pgcn_i_rows rows, int64_t end,
                      float *to) {
    enum { AHEAD = 8 };
    const pgcn_i_input *x = state_of(op)->input;
    int64_t left = end - rows.first; /* a list, too, goes on behind these rows */
    for (int64_t i = 0; i < rows.count; i++) {
        if (i + AHEAD < left) ask_for_row(tape, x, pgcn_i_row(rows, i + AHEAD));
        dense_row(tape, op, pgcn_i_row(rows, i), to + i * x->columns);
    }
}

/* The rows that matter, packed: the result of a row does not depend on those beside it. */
static void dense_listed_task(void *context, int64_t task, int worker) {
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    float *x = pgcn_i_tile(job->tape, worker);
    const pgcn_i_range block = pgcn_i_runs_range(&job->runs, task);
    for (int64_t at = block.begin; at < block.end; at += PGCN_BLOCK_ROWS) {
        pgcn_i_rows rows = some_rows(op, at, block.end);
        float *y =
            pgcn_i_place_rows(job->tape, op->out, rows, worker, result_tile(job->tape, op, worker));
        pack_rows(job->tape, op, rows, block.end, x);
        dense_product(job->tape, op, x, y, rows.count);
        pgcn_i_write_rows(job->tape, op->out, rows, y);
        if (worker == 0) pgcn_i_share_progress(job->tape);
    }
}

static void dense_all(pgcn_i_tape *tape, pgcn_i_op *op) {
    if (op->live_out || tape->part) {
        pgcn_i_run_own(tape, op, pgcn_i_runs_of(tape, op->rows, op->live_out), 0, dense_listed_task,
                       false);
        return;
    }
    pgcn_i_own own = pgcn_i_own_of(tape, op->rows);
    pgcn_i_job job = {.tape = tape,
                      .op = op,
                      .first = own.begin,
                      .blocks = pgcn_i_blocks_of(own.stop - own.begin)};
    pgcn_i_parallel(tape->pool, job.blocks.count * state_of(op)->samples, dense_forward_task, &job);
}

/* The rows of some groups, in one sample. */
static void dense_slice(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_slice slice) {
    if (op->live_out || tape->part) {
        pgcn_i_run_own(tape, op, slice.runs, 0, dense_listed_task, false);
        return;
    }
    pgcn_i_job job = {.tape = tape,
                      .op = op,
                      .step = slice.sample,
                      .first = slice.runs.first - slice.sample * state_of(op)->input->n,
                      .blocks = slice.runs.blocks};
    pgcn_i_parallel(tape->pool, job.blocks.count, dense_forward_task, &job);
}

static void dense_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    const pgcn_i_loop loop = {PGCN_I_FORWARD, op->index, op->index};
    const int64_t steps = pgcn_i_share_ahead(tape, loop, op->live_out);
    for (int64_t i = 0; i < steps; i++) {
        dense_slice(tape, op, pgcn_i_share_slice(tape, op->live_out, i));
        pgcn_i_share_made(tape, i + 1);
    }
    if (steps == 0) dense_all(tape, op);
}

/* The features of a tile of the backward pass after dropout. */
static const float *dense_tile(const pgcn_i_tape *tape, const pgcn_i_op *op, pgcn_i_rows rows,
                               int worker) {
    if (!rows.row && !tape->part) {
        int64_t sample = rows.first / state_of(op)->input->n;
        int64_t begin = rows.first - sample * state_of(op)->input->n;
        return dense_rows(tape, op, (int)sample, begin, begin + rows.count, worker);
    }
    float *x = pgcn_i_tile(tape, worker);
    pack_rows(tape, op, rows, op->live_out ? op->live_out->count : op->rows, x);
    return x;
}

static void dense_remake(const pgcn_i_tape *tape, const pgcn_i_op *op, pgcn_i_rows rows, int worker,
                         float *to) {
    dense_product(tape, op, dense_tile(tape, op, rows, worker), to, rows.count);
}

/* g = dy where y > 0;  dW += x^T g;  db += sum g */
static void dense_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    int64_t c = op->out->cols, rows = tile.rows.count;
    if (!state_of(op)->linear) {
        const float *y = pgcn_i_read_rows(tape, op->out, tile.rows, tile.worker,
                                          result_tile(tape, op, tile.worker));
        tape->kernels->relu_backward(tile.g, tile.g, y, 1.0f, 0, rows * c);
    }
    if (op->param[1])
        tape->kernels->column_sum(tile.partial + op->param[0]->count, tile.g, 0, rows, c);
    dense_product_gradient(tape, op, dense_tile(tape, op, tile.rows, tile.worker), tile.g, rows,
                           tile.partial);
}

/* ---- the features themselves, where paths smooth them before the opening layer --------------- */

/* Rows of the stacked samples; of some nodes nothing is left (DropNode). There is no backward pass from
 * here, so nobody has to remember which. */
static void features_rows(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    const pgcn_i_input *x = state_of(op)->input;
    pgcn_i_rng_domain domain =
        pgcn_i_rng_domain_of(tape->seed, PGCN_I_RNG_DROP_ROWS, tape->step, op->index, 0);
    uint32_t threshold = pgcn_i_drop_threshold(state_of(op)->rate);
    float scale = pgcn_i_drop_scale(state_of(op)->rate);
    int64_t f = op->out->cols;
    for (int64_t i = 0; i < rows.count; i++) {
        int64_t row = pgcn_i_row(rows, i);
        int64_t node = tape->part && !x->dense ? row : place_of(tape, x, row).node;
        float *out = op->out->data + row * f;
        memset(out, 0, (size_t)f * sizeof *out);
        uint32_t word[4] = {0};
        if (threshold > 0) pgcn_i_rng_words(domain, (uint64_t)pgcn_i_row_id(tape, row), 0, word);
        if ((word[0] >> 16) < threshold) continue;
        if (x->dense)
            for (int64_t j = 0; j < f; j++) out[j] = scale * features_of(x, row, node)[j];
        else
            for (int64_t e = x->offset[node]; e < x->offset[node + 1]; e++)
                out[x->column[e]] = scale * x->value[e];
    }
}

static void features_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    (void)op;
    pgcn_i_trace_features(trace, g, NULL);
}

static const pgcn_i_kind features_kind = {.name = "features",
                                          .needs = PGCN_I_NEEDS_NOTHING,
                                          .state_bytes = sizeof(input_state),
                                          .forward_rows = features_rows,
                                          .explain = features_explain};

pgcn_i_value *pgcn_i_op_features(pgcn_i_tape *tape, const pgcn_i_input *input, int samples,
                                 double drop_rows) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &features_kind, (pgcn_i_ports){.rows = input->n * samples, .cols = input->columns});
    if (!op) return NULL;
    *(input_state *)op->state =
        (input_state){.input = input, .samples = samples, .rate = tape->with_grad ? drop_rows : 0};
    return op->out;
}

/* ---- the features along the links, in a part of a graph ---------------------------------------- */

/* y[r] = sum over the links of r of value Dropout(X)[column]. Rows of X are dropped again for every link that leads to
 * them, which is few where links are drawn, and never stored. */
static void spread_rows(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    enum { AHEAD = 8 };
    const pgcn_i_csr *list = op->transition->exact;
    const pgcn_i_input *x = state_of(op)->input;
    int64_t f = x->columns, last = list->offset[list->rows];
    float *tile = pgcn_i_tile(tape, worker);
    for (int64_t i = 0; i < rows.count; i++) {
        int64_t row = pgcn_i_row(rows, i);
        float *out = op->out->data + row * f;
        memset(out, 0, (size_t)f * sizeof *out);
        for (int64_t e = list->offset[row]; e < list->offset[row + 1]; e++) {
            if (e + AHEAD < last) ask_for_row(tape, x, list->column[e + AHEAD]);
            dense_row(tape, op, list->column[e], tile);
            tape->kernels->scale(out, list->value[e], tile, 0, f, true);
        }
    }
}

static const pgcn_i_kind spread_kind = {.name = "features along the links",
                                        .needs = PGCN_I_NEEDS_NOTHING,
                                        .state_bytes = sizeof(input_state),
                                        .forward_rows = spread_rows};

pgcn_i_value *pgcn_i_op_spread(pgcn_i_tape *tape, const pgcn_i_input *input, int samples,
                               const pgcn_i_transition *transition, double dropout) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, &spread_kind,
                                   (pgcn_i_ports){.transition = transition,
                                                  .rows = input->n * samples,
                                                  .cols = input->columns});
    if (!op) return NULL;
    *(input_state *)op->state =
        (input_state){.input = input, .samples = samples, .rate = tape->with_grad ? dropout : 0};
    pgcn_i_tape_need(tape, 0, input->columns);
    return op->out;
}

/* ---- explaining ---------------------------------------------------------------------------- */

static void input_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    if (!state_of(op)->linear) pgcn_i_adjoint_gate(trace, g, op->out->data);
    if (op->param[1]) pgcn_i_trace_constant(trace, op->param[1], g, bias_of(trace->tape, op));
    pgcn_i_trace_features(trace, g, op->param[0]);
}

/* ---- recording ----------------------------------------------------------------------------- */

static const pgcn_i_kind dense_kind = {.name = "opening layer of dense features",
                                       .needs = PGCN_I_NEEDS_NOTHING,
                                       .shares = true,
                                       .state_bytes = sizeof(input_state),
                                       .forward_all = dense_forward,
                                       .any_rows = true,
                                       .backward_rows = dense_backward,
                                       .remake_rows = dense_remake,
                                       .backward_reads_out = true,
                                       .explain = input_explain,
                                       .explain_reads_out = true};
static const pgcn_i_kind sparse_kind = {.name = "opening layer of sparse features",
                                        .needs = PGCN_I_NEEDS_NOTHING,
                                        .shares = true,
                                        .state_bytes = sizeof(input_state),
                                        .forward_all = sparse_drop,
                                        .forward_rows = sparse_forward,
                                        .any_rows = true,
                                        .rows_make_result = true,
                                        .backward_all = sparse_backward,
                                        .backward_reads_out = true,
                                        .explain = input_explain,
                                        .explain_reads_out = true};

pgcn_i_value *pgcn_i_op_input(pgcn_i_tape *tape, const pgcn_i_input *input, int samples,
                              pgcn_i_opening layer) {
    if (tape->status != PGCN_OK) return NULL;
    const pgcn_i_param *w = layer.w;
    pgcn_i_op *op = pgcn_i_tape_op(tape, input->dense ? &dense_kind : &sparse_kind,
                                   (pgcn_i_ports){.param = {layer.w, layer.b},
                                                  .rows = input->n * samples,
                                                  .cols = w->shape[1]});
    if (!op) return NULL;
    input_state *state = op->state;
    *state = (input_state){.input = input,
                           .samples = samples,
                           .rate = tape->with_grad ? layer.dropout : 0,
                           .linear = layer.linear};
    if (input->dense) {
        int64_t tile = PGCN_BLOCK_ROWS * (input->columns + w->shape[1]);
        pgcn_i_tape_need(tape, 0, tape->with_grad || tape->part ? tile : 0);
        op->partial_floats = w->count + (layer.b ? layer.b->count : 0);
        return op->out;
    }
    if (state->rate > 0) {
        state->kept = PGCN_I_ARRAY(&tape->arena, uint8_t, input->nonzeros * samples);
        if (!state->kept) tape->status = PGCN_ERR_MEMORY;
    }
    pgcn_i_tape_need(tape, w->shape[1], tape->with_grad ? PGCN_BLOCK_ROWS * w->shape[1] : 0);
    return op->out;
}
