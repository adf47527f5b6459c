/* The tape: a list of coarse operations recorded once, run forwards, then backwards in reverse.
 *
 * Two things are decided when recording ends. Who writes a gradient first: on the way back the last
 * consumer of a value writes its gradient and the earlier ones add to it, so nothing is ever set
 * to zero. And where gradients live: that of a value is needed from its last consumer down to the
 * operation that made it, so a deep network has as many buffers as are needed at once (a chain:
 * two, and one for the embedding that all layers mix in) and they stay in the cache. */
#include "nn/nn.h"

pgcn_status pgcn_i_tape_init(pgcn_i_tape *tape, pgcn_i_pool *pool, pgcn_i_params *params,
                             int capacity, bool with_grad) {
    *tape = (pgcn_i_tape){.pool = pool,
                          .kernels = pgcn_i_kernels_get(),
                          .params = params,
                          .with_grad = with_grad,
                          .capacity = capacity};
    tape->op = PGCN_I_ARRAY(&tape->arena, pgcn_i_op, capacity);
    return tape->op ? PGCN_OK : PGCN_ERR_MEMORY;
}

void pgcn_i_tape_free(pgcn_i_tape *tape) {
    pgcn_i_arena_free(&tape->arena);
    *tape = (pgcn_i_tape){0};
}

float *pgcn_i_tape_floats(pgcn_i_tape *tape, int64_t count) {
    if (tape->status != PGCN_OK) return NULL;
    float *floats = PGCN_I_ARRAY(&tape->arena, float, count);
    if (!floats) tape->status = PGCN_ERR_MEMORY;
    return floats;
}

static pgcn_i_value *new_value(pgcn_i_tape *tape, int64_t rows, int64_t cols) {
    if (tape->status != PGCN_OK) return NULL;
    int64_t count;
    if (!pgcn_i_mul(rows, cols, &count)) {
        tape->status = pgcn_i_fail(PGCN_ERR_MEMORY,
                                   "cannot allocate a value of %lld x %lld numbers: too large",
                                   (long long)rows, (long long)cols);
        return NULL;
    }
    pgcn_i_value *value = PGCN_I_ARRAY(&tape->arena, pgcn_i_value, 1);
    if (!value) {
        tape->status = PGCN_ERR_MEMORY;
        return NULL;
    }
    *value = (pgcn_i_value){.rows = rows, .cols = cols};
    value->data = pgcn_i_tape_floats(tape, count);
    return tape->status == PGCN_OK ? value : NULL;
}

pgcn_i_value *pgcn_i_tape_value(pgcn_i_tape *tape, int64_t rows, int64_t cols) {
    pgcn_i_value *value = new_value(tape, rows, cols);
    if (value && tape->with_grad) value->grad = pgcn_i_tape_floats(tape, rows * cols);
    return tape->status == PGCN_OK ? value : NULL;
}

pgcn_i_op *pgcn_i_tape_op(pgcn_i_tape *tape, pgcn_i_value *a, pgcn_i_value *b, int64_t rows,
                          int64_t cols) {
    pgcn_i_value *out = new_value(tape, rows, cols); /* its gradient is planned at the end */
    if (!out) return NULL;
    if (tape->count == tape->capacity) {
        tape->status = pgcn_i_fail(PGCN_ERR_ARGUMENT, "internal: a tape of %d operations is full",
                                   tape->capacity);
        return NULL;
    }
    pgcn_i_op *op = &tape->op[tape->count];
    *op = (pgcn_i_op){.in = {a, b}, .out = out, .index = tape->count};
    tape->count++;
    return op;
}

void pgcn_i_tape_need(pgcn_i_tape *tape, int64_t partial_floats, int64_t tile_floats) {
    if (partial_floats > tape->partial_floats) tape->partial_floats = partial_floats;
    if (tile_floats > tape->tile_floats) tape->tile_floats = tile_floats;
}

void pgcn_i_tape_need_powers(pgcn_i_tape *tape, int64_t floats) {
    if (floats > tape->power_floats) tape->power_floats = floats;
}

/* Has an operation after `from` used this value (or parameter)? It will have written the gradient
 * by the time the backward pass reaches `from`. */
static bool value_used_after(const pgcn_i_tape *tape, int from, const pgcn_i_value *value) {
    for (int i = from + 1; i < tape->count; i++)
        if (tape->op[i].in[0] == value || tape->op[i].in[1] == value) return true;
    return false;
}
static bool param_used_after(const pgcn_i_tape *tape, int from, const pgcn_i_param *param) {
    for (int i = from + 1; i < tape->count; i++)
        if (tape->op[i].param[0] == param || tape->op[i].param[1] == param) return true;
    return false;
}

/* Buffers that no gradient needs any more. */
typedef struct spare {
    float *floats;
    int64_t count;
} spare;

static float *take_buffer(pgcn_i_tape *tape, spare *spares, int *n_spares, int64_t count) {
    for (int i = *n_spares - 1; i >= 0; i--) /* the last one given back is the warmest */
        if (spares[i].count == count) {
            float *floats = spares[i].floats;
            spares[i] = spares[--*n_spares];
            return floats;
        }
    return pgcn_i_tape_floats(tape, count);
}

/* Walks the tape as the backward pass does. A result that nobody uses has the caller's gradient. */
static void plan_gradients(pgcn_i_tape *tape) {
    int n_spares = 0;
    spare *spares = PGCN_I_ARRAY(&tape->arena, spare, tape->count);
    if (!spares) tape->status = PGCN_ERR_MEMORY;
    for (int i = tape->count - 1; i >= 0 && tape->status == PGCN_OK; i--) {
        pgcn_i_op *op = &tape->op[i];
        pgcn_i_value *values[3] = {op->out, op->in[0], op->in[1]};
        for (int j = 0; j < 3; j++)
            if (values[j] && !values[j]->grad)
                values[j]->grad =
                    take_buffer(tape, spares, &n_spares, values[j]->rows * values[j]->cols);
        spares[n_spares++] = (spare){op->out->grad, op->out->rows * op->out->cols};
    }
}

pgcn_status pgcn_i_tape_finish(pgcn_i_tape *tape) {
    if (tape->status != PGCN_OK) return tape->status;
    if (tape->with_grad) plan_gradients(tape);
    for (int i = 0; i < tape->count; i++) {
        pgcn_i_op *op = &tape->op[i];
        for (int j = 0; j < 2; j++) {
            op->add_in[j] = op->in[j] && value_used_after(tape, i, op->in[j]);
            op->add_param[j] = op->param[j] && param_used_after(tape, i, op->param[j]);
        }
        /* The same value twice in one operation: the second adds to what the first wrote. */
        if (op->in[0] && op->in[0] == op->in[1]) op->add_in[1] = true;
    }
    tape->partial_floats = (tape->partial_floats + 15) / 16 * 16;
    tape->tile_floats = (tape->tile_floats + 15) / 16 * 16;
    if (tape->with_grad)
        tape->partial = pgcn_i_tape_floats(tape, PGCN_MAX_GROUPS * tape->partial_floats);
    for (int i = 0; i < 2 && tape->power_floats > 0; i++)
        tape->power[i] = pgcn_i_tape_floats(tape, tape->power_floats);
    tape->tile = pgcn_i_tape_floats(tape, pgcn_i_pool_threads(tape->pool) * tape->tile_floats);
    return tape->status;
}

void pgcn_i_tape_forward(pgcn_i_tape *tape) {
    for (int i = 0; i < tape->count; i++) tape->op[i].forward(tape, &tape->op[i]);
}

void pgcn_i_tape_backward(pgcn_i_tape *tape) {
    for (int i = tape->count - 1; i >= 0; i--) tape->op[i].backward(tape, &tape->op[i]);
}

/* ---- sums over groups ---------------------------------------------------------------------- */

typedef struct reduce_job {
    pgcn_i_tape *tape;
    float *grad;
    bool add;
    int64_t groups, first, count;
} reduce_job;

enum { REDUCE_CHUNK = 4096 };

static void reduce_task(void *context, int64_t task, int worker) {
    (void)worker;
    const reduce_job *job = context;
    int64_t begin = task * REDUCE_CHUNK;
    int64_t end = begin + REDUCE_CHUNK < job->count ? begin + REDUCE_CHUNK : job->count;
    for (int64_t group = 0; group < job->groups; group++) {
        const float *part = pgcn_i_partial(job->tape, group) + job->first;
        job->tape->kernels->scale(job->grad, 1.0f, part, begin, end, group > 0 || job->add);
    }
}

void pgcn_i_tape_reduce(pgcn_i_tape *tape, float *grad, bool add, int64_t groups, int64_t first,
                        int64_t count) {
    reduce_job job = {tape, grad, add, groups, first, count};
    pgcn_i_parallel(tape->pool, (count + REDUCE_CHUNK - 1) / REDUCE_CHUNK, reduce_task, &job);
}
