/* The tape: a list of coarse operations recorded once, run forwards, then backwards in reverse.
 *
 * Operations that need only the same rows of their input are run together: for a tile of 64 rows
 * one after the other, while the tile is in the cache (a path convolution, its 1x1 product, ReLU
 * and dropout are one loop). On the way back such a chain starts at a gather or at the loss and
 * ends where the next operation needs all rows; gradients inside a chain exist as tiles only.
 *
 * Three things are decided when recording ends. Who writes a gradient first: on the way back the
 * last consumer of a value writes its gradient and the earlier ones add to it, so nothing is set
 * to zero before. Where gradients live: that of a value is needed from its last consumer down to
 * the operation that made it, so a deep network has as many buffers as are needed at once (three)
 * and they stay in the cache. And, on a tape without gradients, the same for the values. */
#include "nn/nn.h"

#include <string.h>

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

/* ---- recording ----------------------------------------------------------------------------- */

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
    if (rows > tape->most_rows) tape->most_rows = rows;
    if (cols > tape->most_cols) tape->most_cols = cols;
    return value;
}

pgcn_i_value *pgcn_i_tape_value(pgcn_i_tape *tape, int64_t rows, int64_t cols) {
    pgcn_i_value *value = new_value(tape, rows, cols);
    if (value) value->data = pgcn_i_tape_floats(tape, rows * cols);
    if (value && tape->with_grad) value->grad = pgcn_i_tape_floats(tape, rows * cols);
    return tape->status == PGCN_OK ? value : NULL;
}

pgcn_i_op *pgcn_i_tape_op(pgcn_i_tape *tape, pgcn_i_value *a, pgcn_i_value *b, int64_t rows,
                          int64_t cols) {
    pgcn_i_value *out = new_value(tape, rows, cols); /* its memory is planned at the end */
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

/* ---- which operations run together ----------------------------------------------------------- */

/* Operation i reads only rows that operation i - 1 has just made. */
static bool follows(const pgcn_i_tape *tape, int i) {
    return i > 0 && tape->op[i].row_wise && tape->op[i].in[0] == tape->op[i - 1].out;
}

/* The last operation of the loop over tiles that begins at `first`. */
static int stage_end(const pgcn_i_tape *tape, int first) {
    int last = first;
    if (tape->op[first].forward_rows)
        while (last + 1 < tape->count && follows(tape, last + 1)) last++;
    return last;
}

/* The gradient of in[0] of operation i goes on as a tile to the operation before it. */
static bool flows_on(const pgcn_i_tape *tape, int i) {
    return i > 0 && tape->op[i].backward_rows && tape->op[i - 1].row_wise &&
           tape->op[i].in[0] == tape->op[i - 1].out;
}

/* The last operation, in the order of the way back, of the chain that begins at `top`. */
static int chain_end(const pgcn_i_tape *tape, int top) {
    while (flows_on(tape, top)) top--;
    return top;
}

/* ---- planning: who writes, who adds ------------------------------------------------------------ */

static int users_of(const pgcn_i_tape *tape, int from, const pgcn_i_value *value) {
    int users = 0;
    for (int i = from; i < tape->count; i++)
        users += tape->op[i].in[0] == value || tape->op[i].in[1] == value;
    return users;
}
static bool param_used_after(const pgcn_i_tape *tape, int from, const pgcn_i_param *param) {
    for (int i = from + 1; i < tape->count; i++)
        if (tape->op[i].param[0] == param || tape->op[i].param[1] == param) return true;
    return false;
}

/* An operation that comes later on the tape has written the gradient by the time the way back
 * reaches this one. */
static void plan_writers(pgcn_i_tape *tape) {
    for (int i = 0; i < tape->count; i++) {
        pgcn_i_op *op = &tape->op[i];
        for (int j = 0; j < 2; j++) {
            if (op->in[j]) {
                op->add_in[j] = users_of(tape, i + 1, op->in[j]) > 0;
                op->in[j]->shared = users_of(tape, 0, op->in[j]) > 1;
            }
            op->add_param[j] = op->param[j] && param_used_after(tape, i, op->param[j]);
        }
        /* The same value twice in one operation: the second adds to what the first wrote. */
        if (op->in[0] && op->in[0] == op->in[1]) op->add_in[1] = true;
    }
}

/* The operations of a chain have their partial sums side by side. */
static void plan_partials(pgcn_i_tape *tape) {
    for (int top = tape->count - 1, end; top >= 0; top = end - 1) {
        int64_t floats = 0;
        end = chain_end(tape, top);
        for (int i = top; i >= end; i--) {
            tape->op[i].partial_first = floats;
            floats += (tape->op[i].partial_floats + 15) / 16 * 16;
        }
        pgcn_i_tape_need(tape, floats, 0);
    }
}

/* ---- planning: memory -------------------------------------------------------------------------- */

/* Buffers that nobody needs any more. */
typedef struct spare {
    float *floats;
    int64_t count;
} spare;
typedef struct spare_list {
    spare *list;
    int count;
} spare_list;

static int64_t floats_of(const pgcn_i_value *value) {
    return value->rows * value->cols;
}

static float *take_buffer(pgcn_i_tape *tape, spare_list *spares, int64_t count) {
    for (int i = spares->count - 1; i >= 0; i--) /* the last one given back is the warmest */
        if (spares->list[i].count == count) {
            float *floats = spares->list[i].floats;
            spares->list[i] = spares->list[--spares->count];
            return floats;
        }
    return pgcn_i_tape_floats(tape, count);
}

static void give_back(spare_list *spares, float *floats, int64_t count) {
    if (floats) spares->list[spares->count++] = (spare){floats, count};
}

/* Walks the tape as the backward pass does. A result that nobody uses has the caller's gradient.
 * What the head of a chain reads is still needed while the end of the chain is written. */
static void plan_gradients(pgcn_i_tape *tape, spare_list *spares) {
    for (int top = tape->count - 1, end; top >= 0 && tape->status == PGCN_OK; top = end - 1) {
        end = chain_end(tape, top);
        for (int i = top; i >= end; i--) {
            pgcn_i_op *op = &tape->op[i];
            pgcn_i_value *values[3] = {op->out, op->in[0], op->in[1]};
            for (int j = 0; j < 3; j++) {
                bool tile_only =
                    values[j] && !values[j]->shared && ((j == 0 && i < top) || (j == 1 && i > end));
                if (values[j] && !values[j]->grad && !tile_only)
                    values[j]->grad = take_buffer(tape, spares, floats_of(values[j]));
            }
        }
        for (int i = top; i >= end; i--)
            give_back(spares, tape->op[i].out->grad, floats_of(tape->op[i].out));
    }
}

/* With gradients every value is kept. Without, a value is needed until the last loop that reads it
 * is done. */
static void plan_values(pgcn_i_tape *tape, spare_list *spares) {
    for (int first = 0, last; first < tape->count; first = last + 1) {
        last = stage_end(tape, first);
        for (int i = first; i <= last && tape->status == PGCN_OK; i++)
            tape->op[i].out->data = take_buffer(tape, spares, floats_of(tape->op[i].out));
        for (int i = 0; i <= last && !tape->with_grad; i++) {
            pgcn_i_value *value = tape->op[i].out;
            int before = users_of(tape, first, value), after = users_of(tape, last + 1, value);
            if (before > 0 && after == 0) give_back(spares, value->data, floats_of(value));
        }
    }
}

static void plan_scratch(pgcn_i_tape *tape) {
    int threads = pgcn_i_pool_threads(tape->pool);
    tape->partial_floats = (tape->partial_floats + 15) / 16 * 16;
    tape->tile_floats = (tape->tile_floats + 15) / 16 * 16;
    tape->chain_floats = tape->with_grad ? PGCN_BLOCK_ROWS * tape->most_cols : 0;
    if (tape->with_grad) {
        tape->partial = pgcn_i_tape_floats(tape, PGCN_MAX_GROUPS * tape->partial_floats);
        if (tape->status == PGCN_OK) tape->status = pgcn_i_live_init(tape, tape->most_rows);
    }
    for (int i = 0; i < 2 && tape->power_floats > 0; i++)
        tape->power[i] = pgcn_i_tape_floats(tape, tape->power_floats);
    tape->tile = pgcn_i_tape_floats(
        tape, threads * (tape->tile_floats + PGCN_CHAIN_TILES * tape->chain_floats));
}

pgcn_status pgcn_i_tape_finish(pgcn_i_tape *tape) {
    if (tape->status != PGCN_OK) return tape->status;
    spare_list spares = {.list = PGCN_I_ARRAY(&tape->arena, spare, tape->count)};
    if (!spares.list) return tape->status = PGCN_ERR_MEMORY;
    plan_writers(tape);
    plan_values(tape, &spares);
    if (tape->with_grad) {
        plan_partials(tape);
        plan_gradients(tape, &spares);
    }
    plan_scratch(tape);
    return tape->status;
}

/* ---- forward --------------------------------------------------------------------------------- */

typedef struct stage_job {
    pgcn_i_tape *tape;
    int first, last; /* operations */
    const pgcn_i_live *live;
    pgcn_i_blocks blocks;
} stage_job;

/* Batch norm, the exact form and the full kernel compute all rows. */
static const pgcn_i_live *stage_live(const pgcn_i_op *op) {
    return op->row_wise || op->spreads || op->input ? op->live_out : NULL;
}

/* A tile of a block that begins at place `begin` of the rows, or of the list of those that matter. */
static pgcn_i_rows tile_rows(const pgcn_i_live *live, int64_t begin, int64_t end) {
    int64_t count = end - begin < PGCN_BLOCK_ROWS ? end - begin : PGCN_BLOCK_ROWS;
    return (pgcn_i_rows){live ? live->row + begin : NULL, begin, count};
}

static void stage_task(void *context, int64_t task, int worker) {
    const stage_job *job = context;
    pgcn_i_op *op = job->tape->op;
    int64_t end = pgcn_i_block_end(job->blocks, task);
    for (int64_t begin = pgcn_i_block_begin(job->blocks, task); begin < end;
         begin += PGCN_BLOCK_ROWS) {
        pgcn_i_rows rows = tile_rows(job->live, begin, end);
        for (int i = job->first; i <= job->last; i++)
            op[i].forward_rows(job->tape, &op[i], rows, worker);
    }
}

static void refresh_task(void *context, int64_t task, int worker) {
    (void)worker;
    pgcn_i_tape *tape = context;
    if (tape->op[task].refresh) tape->op[task].refresh(tape, &tape->op[task]);
}

void pgcn_i_tape_forward(pgcn_i_tape *tape) {
    pgcn_i_parallel(tape->pool, tape->count, refresh_task, tape);
    for (int first = 0, last; first < tape->count; first = last + 1) {
        pgcn_i_op *op = &tape->op[first];
        last = stage_end(tape, first);
        if (op->forward_all) op->forward_all(tape, op);
        if (!op->forward_rows) continue;
        const pgcn_i_live *live = stage_live(op);
        stage_job job = {tape, first, last, live,
                         pgcn_i_blocks_of(live ? live->count : op->out->rows)};
        pgcn_i_parallel(tape->pool, job.blocks.count, stage_task, &job);
    }
}

/* ---- sums over groups ---------------------------------------------------------------------- */

/* to (= or +=) the sum over groups of partial[group][first ..] */
typedef struct group_sum {
    float *to;
    bool add;
    int64_t first, count;
} group_sum;

enum { SUMS = 16, SUM_CHUNK = 1024 };
typedef struct sum_job {
    const pgcn_i_tape *tape;
    int64_t groups;
    int sums;
    group_sum sum[SUMS];
} sum_job;

static int64_t chunks_of(const group_sum *sum) {
    return (sum->count + SUM_CHUNK - 1) / SUM_CHUNK;
}

static void sum_task(void *context, int64_t task, int worker) {
    (void)worker;
    const sum_job *job = context;
    const group_sum *sum = job->sum;
    for (; task >= chunks_of(sum); sum++) task -= chunks_of(sum);
    int64_t begin = task * SUM_CHUNK;
    int64_t end = begin + SUM_CHUNK < sum->count ? begin + SUM_CHUNK : sum->count;
    if (job->groups == 0 && !sum->add)
        memset(sum->to + begin, 0, (size_t)(end - begin) * sizeof *sum->to);
    for (int64_t group = 0; group < job->groups; group++) {
        const float *part = pgcn_i_partial(job->tape, group) + sum->first;
        job->tape->kernels->scale(sum->to, 1.0f, part, begin, end, group > 0 || sum->add);
    }
}

static void run_sums(sum_job *job) {
    int64_t tasks = 0;
    for (int i = 0; i < job->sums; i++) tasks += chunks_of(&job->sum[i]);
    pgcn_i_parallel(job->tape->pool, tasks, sum_task, job);
    job->sums = 0;
}

void pgcn_i_tape_reduce(pgcn_i_tape *tape, float *grad, bool add, int64_t groups, int64_t first,
                        int64_t count) {
    sum_job job = {.tape = tape, .groups = groups, .sums = 1, .sum = {{grad, add, first, count}}};
    run_sums(&job);
}

/* ---- backward -------------------------------------------------------------------------------- */

typedef struct chain_job {
    pgcn_i_tape *tape;
    int top, end;         /* operations, top >= end */
    int64_t floats;       /* of the partial sums */
    pgcn_i_blocks groups; /* of the rows, or of the list of live rows */
} chain_job;

/* tile (= or +=) the rows of a matrix, and the other way. */
static void take_rows(const pgcn_i_tape *tape, float *tile, const float *matrix, pgcn_i_rows rows,
                      int64_t cols, bool add) {
    for (int64_t i = 0; i < rows.count; i++)
        tape->kernels->scale(tile + i * cols, 1.0f, matrix + pgcn_i_row(rows, i) * cols, 0, cols,
                             add);
}
static void put_rows(float *matrix, const float *tile, pgcn_i_rows rows, int64_t cols) {
    for (int64_t i = 0; i < rows.count; i++)
        memcpy(matrix + pgcn_i_row(rows, i) * cols, tile + i * cols, (size_t)cols * sizeof *tile);
}

static void chain_tile(const chain_job *job, pgcn_i_rows rows, float *partial, int worker) {
    pgcn_i_tape *tape = job->tape;
    float *tile[PGCN_CHAIN_TILES], *g = NULL;
    int next = 0;
    for (int i = 0; i < PGCN_CHAIN_TILES; i++)
        tile[i] = pgcn_i_tile(tape, worker) + tape->tile_floats + i * tape->chain_floats;
    const pgcn_i_op *top = &tape->op[job->top];
    if (top->row_wise && rows.row) {
        g = tile[next++ % PGCN_CHAIN_TILES];
        take_rows(tape, g, top->out->grad, rows, top->out->cols, false);
    } else if (top->row_wise) {
        g = top->out->grad + rows.first * top->out->cols;
    }
    for (int i = job->top; i >= job->end; i--) {
        pgcn_i_op *op = &tape->op[i];
        pgcn_i_value *x = op->in[0];
        bool in_place = i == job->end && !rows.row && !op->add_in[0];
        float *dx = in_place ? x->grad + rows.first * x->cols : tile[next++ % PGCN_CHAIN_TILES];
        op->backward_rows(tape, op, rows, g, dx, partial + op->partial_first, worker);
        if (op->add_in[0]) take_rows(tape, dx, x->grad, rows, x->cols, true);
        if (i == job->end && !in_place) put_rows(x->grad, dx, rows, x->cols);
        g = dx;
    }
}

static void chain_task(void *context, int64_t group, int worker) {
    const chain_job *job = context;
    float *partial = pgcn_i_partial(job->tape, group);
    memset(partial, 0, (size_t)job->floats * sizeof *partial);
    int64_t end = pgcn_i_block_end(job->groups, group);
    for (int64_t begin = pgcn_i_block_begin(job->groups, group); begin < end;
         begin += PGCN_BLOCK_ROWS)
        chain_tile(job, tile_rows(job->tape->op[job->top].live_in, begin, end), partial, worker);
}

/* The first writer of a value that several use writes the rows that matter to it; the others, which
 * later ones add to, start at zero. */
static void clear_shared(pgcn_i_tape *tape, const pgcn_i_op *op) {
    for (int j = 0; j < 2; j++) {
        pgcn_i_value *value = op->in[j];
        if (op->live_out && value && value->shared && users_of(tape, op->index + 1, value) == 0)
            pgcn_i_live_zero(tape, value, NULL);
    }
}

/* The gradients of the parameters of a chain, in one loop. */
static void sum_partials(pgcn_i_tape *tape, int top, int end, int64_t groups) {
    sum_job job = {.tape = tape, .groups = groups};
    for (int i = top; i >= end; i--) {
        const pgcn_i_op *op = &tape->op[i];
        int64_t first = op->partial_first;
        if (job.sums + 2 > SUMS) run_sums(&job);
        if (op->partial_to)
            job.sum[job.sums++] = (group_sum){op->partial_to, false, first, op->partial_floats};
        for (int j = 0; j < 2 && !op->partial_to && op->param[j]; j++) {
            float *grad = tape->params->grad + op->param[j]->first;
            job.sum[job.sums++] = (group_sum){grad, op->add_param[j], first, op->param[j]->count};
            first += op->param[j]->count;
        }
    }
    run_sums(&job);
}

static void run_chain(pgcn_i_tape *tape, int top, int end) {
    const pgcn_i_op *below = &tape->op[end], *op = &tape->op[top];
    int64_t rows = op->live_in ? op->live_in->count : below->in[0]->rows;
    chain_job job = {.tape = tape, .top = top, .end = end, .groups = pgcn_i_groups_of(rows)};
    job.floats = below->partial_first + below->partial_floats;
    pgcn_i_parallel(tape->pool, job.groups.count, chain_task, &job);
    sum_partials(tape, top, end, job.groups.count);
    for (int i = top; i >= end; i--)
        if (tape->op[i].backward_done) tape->op[i].backward_done(tape, &tape->op[i]);
}

void pgcn_i_tape_backward(pgcn_i_tape *tape) {
    for (int top = tape->count - 1, end; top >= 0; top = end - 1) {
        pgcn_i_op *op = &tape->op[top];
        end = chain_end(tape, top);
        for (int i = top; i >= end; i--) clear_shared(tape, &tape->op[i]);
        if (op->backward_rows) {
            run_chain(tape, top, end);
        } else {
            if (op->live_out) pgcn_i_live_zero(tape, op->out, op->live_out);
            op->backward_all(tape, op);
        }
    }
}
