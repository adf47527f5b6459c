/* The tape: a list of coarse operations recorded once, run forwards, then backwards in reverse.
 *
 * Operations that need only the same rows of their input are run together: for a tile of 64 rows
 * one after the other, while the tile is in the cache (a path convolution, its 1x1 product, ReLU
 * and dropout are one loop). In the backward pass such a chain starts at a gather or at the loss and
 * ends where the next operation needs all rows; gradients inside a chain exist as tiles only.
 * Which loops there are, who writes a gradient and where everything lives is decided when recording
 * ends: see plan.c. */
#include "nn/ops.h"
#include "nn/sums.h"

#include <math.h>
#include <string.h>

pgcn_status pgcn_i_tape_init(pgcn_i_tape *tape, pgcn_i_pool *pool, pgcn_i_params *params,
                             int capacity, bool with_grad) {
    *tape = (pgcn_i_tape){.pool = pool,
                          .kernels = pgcn_i_kernels_get(),
                          .params = params,
                          .samples = 1,
                          .groups = PGCN_GROUPS,
                          .with_grad = with_grad,
                          .capacity = capacity};
    tape->arena.read_at_random = true; /* path convolutions gather rows */
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

static pgcn_i_value *new_value(pgcn_i_tape *tape, int64_t rows, int64_t cols, bool links) {
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
    *value = (pgcn_i_value){
        .rows = rows, .cols = cols, .maker = -1, .last_user = -1, .layer = -1, .lender = -1};
    if (rows > tape->most_rows && !links) tape->most_rows = rows;
    if (cols > tape->most_cols) tape->most_cols = cols;
    return value;
}

pgcn_i_value *pgcn_i_tape_value(pgcn_i_tape *tape, int64_t rows, int64_t cols) {
    pgcn_i_value *value = new_value(tape, rows, cols, false);
    if (value) value->data = pgcn_i_tape_floats(tape, rows * cols);
    if (value && tape->with_grad) value->grad = pgcn_i_tape_floats(tape, rows * cols);
    return tape->status == PGCN_OK ? value : NULL;
}

pgcn_i_op *pgcn_i_tape_op(pgcn_i_tape *tape, const pgcn_i_kind *kind, pgcn_i_ports ports) {
    /* its memory is planned later */
    pgcn_i_value *out = new_value(tape, ports.rows, ports.cols, ports.links);
    if (!out) return NULL;
    if (tape->count == tape->capacity) {
        tape->status = pgcn_i_fail(PGCN_ERR_ARGUMENT, "internal: a tape of %d operations is full",
                                   tape->capacity);
        return NULL;
    }
    void *state = pgcn_i_arena_alloc(&tape->arena, (int64_t)kind->state_bytes, 1);
    if (!state) {
        tape->status = PGCN_ERR_MEMORY;
        return NULL;
    }
    pgcn_i_op *op = &tape->op[tape->count];
    *op = (pgcn_i_op){.kind = kind,
                      .index = tape->count,
                      .in = {ports.in[0], ports.in[1]},
                      .out = out,
                      .param = {ports.param[0], ports.param[1]},
                      .transition = ports.transition,
                      .rows = ports.links ? ports.in[0]->rows : ports.rows,
                      .state = state};
    for (int j = 0; j < 2; j++) op->used[j] = ports.in[j] ? ports.in[j]->rows : 0;
    out->space = ports.in[0] ? ports.in[0]->space : PGCN_I_NODES;
    if (ports.links) out->space = PGCN_I_LINKS;
    out->maker = tape->count++;
    return op;
}

pgcn_i_value *pgcn_i_tape_layer(pgcn_i_tape *tape, int l, pgcn_i_value *value) {
    if (tape->status != PGCN_OK) return NULL;
    value->layer = l;
    return value;
}

void pgcn_i_tape_need(pgcn_i_tape *tape, int64_t partial_floats, int64_t tile_floats) {
    if (partial_floats > tape->partial_floats) tape->partial_floats = partial_floats;
    if (tile_floats > tape->tile_floats) tape->tile_floats = tile_floats;
}

void pgcn_i_tape_need_powers(pgcn_i_tape *tape, int64_t floats) {
    if (floats > tape->power_floats) tape->power_floats = floats;
}

/* Rows of a level; of a whole view they are the same on all levels. */
static int64_t rows_of(const pgcn_i_view *view, pgcn_i_space space, int level) {
    return view->part ? view->part->rows[space][level] : view->rows[space] * view->samples;
}

int pgcn_i_level_used(const pgcn_i_op *op, int input) {
    if (input > 0) return op->out->level;
    int steps = op->kind->steps ? op->kind->steps(op) : op->kind->needs == PGCN_I_NEEDS_VISITED;
    return op->out->level + steps;
}

static int level_read(const pgcn_i_tape *tape, const pgcn_i_op *op, int input) {
    return tape->hidden ? op->in[input]->level : pgcn_i_level_used(op, input);
}

void pgcn_i_tape_resize(pgcn_i_tape *tape, const pgcn_i_view *view) {
    for (int i = 0; i < tape->count; i++) {
        pgcn_i_op *op = &tape->op[i];
        pgcn_i_value *out = op->out;
        bool links = out->space == PGCN_I_LINKS;
        out->rows = rows_of(view, out->space, out->level);
        op->rows = links ? rows_of(view, PGCN_I_NODES, out->level) : out->rows;
        for (int j = 0; j < 2; j++)
            if (op->in[j]) op->used[j] = rows_of(view, op->in[j]->space, level_read(tape, op, j));
        if (tape->hidden) op->rows = rows_of(view, PGCN_I_NODES, 0);
    }
}

/* ---- forward --------------------------------------------------------------------------------- */

typedef struct stage_job {
    pgcn_i_tape *tape;
    int first, last; /* operations */
    const pgcn_i_live *live;
    pgcn_i_runs runs;
    int *
        bad; /* takes the first operation that makes a number that is not finite; NULL: nobody asks */
} stage_job;

/* Batch norm, the exact form and the full kernel compute all rows. */
static const pgcn_i_live *stage_live(const pgcn_i_op *op) {
    return op->kind->needs == PGCN_I_NEEDS_ALL ? NULL : op->live_out;
}

/* A tile of a block that begins at index `begin` of the rows, or of the list of those that matter. */
static pgcn_i_rows tile_rows(const pgcn_i_live *live, int64_t begin, int64_t end) {
    int64_t count = end - begin < PGCN_BLOCK_ROWS ? end - begin : PGCN_BLOCK_ROWS;
    return (pgcn_i_rows){live ? live->row + begin : NULL, begin, count};
}

/* The second time only what was not kept. */
static bool runs(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    return !tape->recomputed || op->out->recomputed;
}

/* A value as an operation sees it that makes or reads some rows of it: if it is a tile now, that of the worker
 * stands where these rows would. All rows follow each other there, as on all tapes without gradients. */
static pgcn_i_value *seen_value(const pgcn_i_tape *tape, pgcn_i_value *value, pgcn_i_rows rows,
                                int worker, bool is_made, pgcn_i_value *own) {
    if (!value || !(value->tiled || (value->leaves && is_made))) return value;
    const float *tile = pgcn_i_tile(tape, worker) + tape->tile_floats +
                        PGCN_CHAIN_TILES * tape->chain_floats + value->tile_first;
    *own = *value;
    own->data = (float *)((uintptr_t)tile - (uintptr_t)(rows.first * value->cols) * sizeof *tile);
    return own;
}

static bool rows_are_finite(const pgcn_i_value *value, pgcn_i_rows rows) {
    for (int64_t i = 0; i < rows.count; i++)
        for (int64_t c = 0; c < value->cols; c++)
            if (!isfinite(value->data[pgcn_i_row(rows, i) * value->cols + c])) return false;
    return true;
}

static void note_first(int *first, int index) {
    int now = __atomic_load_n(first, __ATOMIC_RELAXED);
    while (index < now && !__atomic_compare_exchange_n(first, &now, index, true, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED)) {
    }
}

/* Whether a loop over rows makes all that the operation writes. Its rows are looked at there: a value that comes later
 * may take their memory. */
static bool is_made_by_rows(const pgcn_i_op *op) {
    return op->kind->forward_rows && op->out->space != PGCN_I_LINKS;
}

static void stage_tile(const stage_job *job, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    if ((job->tape->stage_floats == 0 || job->tape->with_grad) && !job->bad) {
        op->kind->forward_rows(job->tape, op, rows, worker);
        return;
    }
    pgcn_i_op seen = *op;
    pgcn_i_value own[3];
    for (int j = 0; j < 2; j++)
        seen.in[j] = seen_value(job->tape, op->in[j], rows, worker, false, &own[j]);
    seen.out = seen_value(job->tape, op->out, rows, worker, true, &own[2]);
    op->kind->forward_rows(job->tape, &seen, rows, worker);
    if (job->bad && is_made_by_rows(op) && !rows_are_finite(seen.out, rows))
        note_first(job->bad, op->index);
}

/* When all operations have read their rows of what it goes over. */
static void leave_tile(const stage_job *job, pgcn_i_value *value, pgcn_i_rows rows, int worker) {
    pgcn_i_value own;
    if (!value->leaves) return;
    const pgcn_i_value *seen = seen_value(job->tape, value, rows, worker, true, &own);
    int64_t at = rows.first * value->cols;
    memcpy(value->data + at, seen->data + at,
           (size_t)(rows.count * value->cols) * sizeof *value->data);
}

static void stage_task(void *context, int64_t task, int worker) {
    const stage_job *job = context;
    pgcn_i_op *op = job->tape->op;
    const pgcn_i_range block = pgcn_i_runs_range(&job->runs, task);
    for (int64_t begin = block.begin; begin < block.end; begin += PGCN_BLOCK_ROWS) {
        pgcn_i_rows rows = tile_rows(job->live, begin, block.end);
        for (int i = job->first; i <= job->last; i++)
            if (runs(job->tape, &op[i])) stage_tile(job, &op[i], rows, worker);
        leave_tile(job, op[job->last].out, rows, worker);
        if (worker == 0) pgcn_i_share_progress(job->tape);
    }
}

static void refresh_task(void *context, int64_t task, int worker) {
    (void)worker;
    pgcn_i_tape *tape = context;
    pgcn_i_op *op = &tape->op[task];
    if (op->kind->refresh) op->kind->refresh(tape, op);
}

static void run_rows(pgcn_i_tape *tape, pgcn_i_loop loop, int *bad) {
    const pgcn_i_op *op = &tape->op[loop.first];
    const pgcn_i_live *live = stage_live(op);
    const int64_t steps = pgcn_i_share_ahead(tape, loop, live);
    stage_job job = {tape, loop.first, loop.last, live, pgcn_i_runs_of(tape, op->rows, live), bad};
    for (int64_t i = 0; i < steps; i++) {
        job.runs = pgcn_i_share_slice(tape, live, i).runs;
        pgcn_i_parallel(tape->pool, pgcn_i_runs_tasks(&job.runs), stage_task, &job);
        pgcn_i_share_made(tape, i + 1);
    }
    if (steps == 0) pgcn_i_parallel(tape->pool, pgcn_i_runs_tasks(&job.runs), stage_task, &job);
}

static void run_stage(pgcn_i_tape *tape, pgcn_i_loop loop, int *bad) {
    pgcn_i_op *op = &tape->op[loop.first];
    if (tape->share) pgcn_i_share_forward(tape, loop);
    if (op->kind->forward_all && runs(tape, op)) op->kind->forward_all(tape, op);
    tape->replicated = false;
    if (op->kind->forward_rows) run_rows(tape, loop, bad);
    if (tape->share) pgcn_i_share_forward_done(tape, loop);
}

void pgcn_i_tape_forward(pgcn_i_tape *tape) {
    pgcn_i_parallel_light(tape->pool, tape->params->total, tape->count, refresh_task, tape);
    for (int i = 0; i < tape->backward_first - tape->closes; i++) {
        run_stage(tape, tape->loop[i], NULL);
        for (int j = tape->loop[i].first; j <= tape->loop[i].last && tape->hidden; j++)
            pgcn_i_hidden_lend(tape, &tape->op[j]);
    }
}

double pgcn_i_tape_loss_terms(const pgcn_i_tape *tape) {
    double sum = 0;
    for (int i = 0; i < tape->count && tape->with_grad; i++)
        if (tape->op[i].kind->loss_term) sum += tape->op[i].kind->loss_term(tape, &tape->op[i]);
    return sum;
}

bool pgcn_i_is_finite(const pgcn_i_value *value) {
    for (int64_t i = 0; i < value->rows * value->cols; i++)
        if (!isfinite(value->data[i])) return false;
    return true;
}

/* What the operations of a loop write is all there when the loop is done: see plan.c. */
bool pgcn_i_tape_watch(pgcn_i_tape *tape, bool (*see)(void *context, const pgcn_i_op *op),
                       void *context) {
    bool goes_on = true;
    tape->may_stop = true;
    pgcn_i_parallel_light(tape->pool, tape->params->total, tape->count, refresh_task, tape);
    for (int i = 0; i < tape->backward_first && goes_on; i++) {
        run_stage(tape, tape->loop[i], NULL);
        for (int j = tape->loop[i].first; j <= tape->loop[i].last && goes_on; j++)
            goes_on = tape->op[j].out->tiled || see(context, &tape->op[j]);
    }
    tape->may_stop = false;
    return goes_on;
}

/* Rows are looked at while they are there, what is not made by rows when its loop is done. */
const pgcn_i_op *pgcn_i_tape_first_bad(pgcn_i_tape *tape) {
    int bad = tape->count;
    tape->may_stop = true;
    pgcn_i_parallel_light(tape->pool, tape->params->total, tape->count, refresh_task, tape);
    for (int i = 0; i < tape->backward_first && bad == tape->count; i++) {
        run_stage(tape, tape->loop[i], &bad);
        for (int j = tape->loop[i].first; j <= tape->loop[i].last; j++)
            if (!is_made_by_rows(&tape->op[j]) && !pgcn_i_is_finite(tape->op[j].out))
                note_first(&bad, j);
    }
    tape->may_stop = false;
    return bad < tape->count ? &tape->op[bad] : NULL;
}

/* ---- backward -------------------------------------------------------------------------------- */

typedef struct chain_job {
    pgcn_i_tape *tape;
    int top, end; /* operations, top >= end */
    int first; /* of the loop that closes: its rows are made, from here to `top`, before they go back */
    const pgcn_i_closer *closer; /* NULL: they were made before */
    int64_t floats;              /* of the partial sums */
    pgcn_i_own own;              /* groups of the nodes */
    const pgcn_i_live *live;
    int sample; /* where all rows are live */
} chain_job;

/* The rows that a chain goes through; what opens the network has no others than those of its result. */
static const pgcn_i_live *chain_live(const pgcn_i_op *top) {
    return top->in[0] ? top->live_in : top->live_out;
}

/* tile += the rows of a gradient, or of what stands for it; `scratch` has room for two rows. A share is rounded before
 * it is added, as if it had been stored. */
static void add_gradient(const pgcn_i_tape *tape, float *tile, const pgcn_i_value *value,
                         pgcn_i_rows rows, float *scratch) {
    const pgcn_i_op *lender = value->lender >= 0 ? &tape->op[value->lender] : NULL;
    const pgcn_i_value *from = lender ? lender->out : value;
    const uint8_t *has = lender ? pgcn_i_has_gradient(tape, lender) : NULL;
    const int64_t cols = value->cols;
    for (int64_t i = 0; i < rows.count; i++) {
        const pgcn_i_rows one = {NULL, pgcn_i_row(rows, i), 1};
        if (has && !has[one.first]) continue;
        const float *g = from->half_grad ? scratch : from->grad + one.first * cols;
        if (from->half_grad) pgcn_i_read_gradient(tape, from, one, scratch);
        if (lender) {
            const float share = lender->kind->residual_share(lender);
            tape->kernels->scale(scratch + cols, share, g, 0, cols, false);
            g = scratch + cols;
        }
        tape->kernels->scale(tile + i * cols, 1.0f, g, 0, cols, true);
    }
}

/* Those of the rows whose gradient somebody has written: in a part of a graph the first ones. */
static pgcn_i_rows rows_there(const pgcn_i_tape *tape, const pgcn_i_value *value,
                              pgcn_i_rows rows) {
    int64_t left = value->grad_rows - rows.first;
    if (tape->part && left < rows.count) rows.count = left > 0 ? left : 0;
    return rows;
}

/* The rows of a tile that closes: the forward pass, and the gradient of the logits. */
static void close_tile(const chain_job *job, int64_t group, pgcn_i_rows rows, int worker,
                       float *g) {
    pgcn_i_tape *tape = job->tape;
    for (int i = job->first; i <= job->top; i++)
        tape->op[i].kind->forward_rows(tape, &tape->op[i], rows, worker);
    const float *logits = pgcn_i_read_rows(tape, tape->op[job->top].out, rows, worker, NULL);
    job->closer->rows(job->closer->context, group, rows, logits, g);
}

static void chain_tile(const chain_job *job, int64_t group, pgcn_i_rows rows, int worker) {
    pgcn_i_tape *tape = job->tape;
    float *partial = pgcn_i_partial(tape, group);
    float *tile[PGCN_CHAIN_TILES], *g = NULL;
    int next = 0;
    for (int i = 0; i < PGCN_CHAIN_TILES; i++)
        tile[i] = pgcn_i_tile(tape, worker) + tape->tile_floats + i * tape->chain_floats;
    const pgcn_i_op *top = &tape->op[job->top];
    bool row_wise =
        top->kind->needs == PGCN_I_NEEDS_ROW || top->kind->needs == PGCN_I_NEEDS_NOTHING;
    for (int i = job->top; i >= job->end && tape->goes_back; i--)
        if (tape->op[i].out->remade) pgcn_i_remake_rows(tape, tape->op[i].out, rows, worker);
    if (job->closer) {
        g = tile[next++ % PGCN_CHAIN_TILES];
        close_tile(job, group, rows, worker, g);
    } else if (row_wise && (rows.row || top->out->half_grad)) {
        g = tile[next++ % PGCN_CHAIN_TILES];
        pgcn_i_read_gradient(tape, top->out, rows, g);
    } else if (row_wise) {
        g = top->out->grad + rows.first * top->out->cols;
    }
    for (int i = job->top; i >= job->end; i--) {
        pgcn_i_op *op = &tape->op[i];
        pgcn_i_value *x = op->in[0];
        bool in_place = x && i == job->end && !rows.row && !op->add_in[0] && !x->half_grad;
        float *dx = in_place ? x->grad + rows.first * x->cols
                    : x      ? tile[next++ % PGCN_CHAIN_TILES]
                             : NULL;
        op->kind->backward_rows(
            tape, op, (pgcn_i_backward_tile){rows, g, dx, partial + op->partial_first, worker});
        if (x && op->add_in[0])
            add_gradient(tape, dx, x, rows_there(tape, x, rows), pgcn_i_tile(tape, worker));
        if (x && i == job->end && !in_place) pgcn_i_write_gradient(tape, x, rows, dx);
        g = dx;
    }
}

/* The rows begin .. end-1, or these places of the list of live rows. */
static void chain_rows(const chain_job *job, int64_t group, int64_t begin, int64_t end,
                       int worker) {
    for (; begin < end; begin += PGCN_BLOCK_ROWS) {
        chain_tile(job, group, tile_rows(job->live, begin, end), worker);
        if (worker == 0) pgcn_i_share_progress(job->tape);
    }
}

/* A group: all samples of its nodes, or the current one where all rows are live. */
static void chain_task(void *context, int64_t task, int worker) {
    const chain_job *job = context;
    int64_t group = job->own.first + task;
    float *partial = pgcn_i_partial(job->tape, group);
    if (pgcn_i_is_empty_group(job->live, group)) return;
    if (job->sample == 0) memset(partial, 0, (size_t)job->floats * sizeof *partial);
    if (job->live) {
        chain_rows(job, group, job->live->first[group], job->live->first[group + 1], worker);
        return;
    }
    int64_t stack = job->sample * job->own.groups.rows;
    chain_rows(job, group, stack + pgcn_i_block_begin(job->own.groups, group),
               stack + pgcn_i_block_end(job->own.groups, group), worker);
}

/* Whether the gradient of in[j] goes on as tiles, to which chain_tile adds what is there. */
static bool adds_by_tiles(const pgcn_i_op *op, int j) {
    return j == 0 && op->kind->backward_rows;
}

int64_t pgcn_i_kept_gradients(const pgcn_i_tape *tape, const pgcn_i_value *value) {
    int64_t rows = 0;
    for (int i = tape->backward_first; i < tape->loops; i++) {
        const pgcn_i_loop loop = tape->loop[i];
        if (loop.pass != PGCN_I_BACKWARD) continue;
        for (int k = loop.first; k <= loop.last; k++)
            for (int j = 0; j < 2; j++) {
                const pgcn_i_op *op = &tape->op[k];
                bool hands_on = adds_by_tiles(op, j) && k > loop.first;
                if (op->in[j] == value && !hands_on && op->used[j] > rows) rows = op->used[j];
            }
    }
    return rows;
}

typedef struct clear_job {
    pgcn_i_value *value;
    int64_t first;
    pgcn_i_blocks blocks;
} clear_job;

static void clear_task(void *context, int64_t task, int worker) {
    (void)worker;
    const clear_job *job = context;
    int64_t begin = pgcn_i_block_begin(job->blocks, task);
    pgcn_i_clear_gradient(job->value, job->first + begin,
                          pgcn_i_block_end(job->blocks, task) - begin);
}

/* The first writer of a value that several use writes the rows that matter to it; the others, which
 * later ones add to, start at zero. In a part of a graph they are those after its own, as far as somebody adds to them
 * where they are. */
static void clear_shared(pgcn_i_tape *tape, const pgcn_i_op *op) {
    for (int j = 0; j < 2; j++) {
        pgcn_i_value *value = op->in[j];
        if (!value || !value->shared || value->last_user != op->index || value->lender >= 0)
            continue;
        if (op->live_out) pgcn_i_live_zero(tape, value, NULL);
        if (!tape->part) continue;
        int64_t first = op->used[j], kept = pgcn_i_kept_gradients(tape, value);
        value->grad_rows = kept > first ? kept : first;
        clear_job job = {value, first, pgcn_i_blocks_of(value->grad_rows - first)};
        pgcn_i_parallel(tape->pool, job.blocks.count, clear_task, &job);
    }
}

/* The gradients of the parameters of a chain, in one loop. */
static void sum_partials(pgcn_i_tape *tape, int top, int end, pgcn_i_own own) {
    pgcn_i_sums sums = {.tape = tape, .own = own, .live = chain_live(&tape->op[top])};
    for (int i = top; i >= end; i--) {
        const pgcn_i_op *op = &tape->op[i];
        int64_t first = op->partial_first;
        if (op->partial_to)
            pgcn_i_sums_add(&sums,
                            (pgcn_i_group_sum){op->partial_to, false, first, op->partial_floats});
        for (int j = 0; j < 2 && !op->partial_to && op->param[j]; j++) {
            float *grad = tape->params->grad + op->param[j]->first;
            pgcn_i_sums_add(&sums,
                            (pgcn_i_group_sum){grad, op->add_param[j], first, op->param[j]->count});
            first += op->param[j]->count;
        }
    }
    pgcn_i_sums_run(&sums);
}

static void run_chain(pgcn_i_tape *tape, int top, int end, const pgcn_i_closer *closer) {
    const pgcn_i_op *below = &tape->op[end];
    chain_job job = {.tape = tape,
                     .top = top,
                     .end = end,
                     .first = tape->loop[tape->backward_first - 1].first,
                     .closer = closer,
                     .own = pgcn_i_own_of(tape, pgcn_i_chain_rows(below)),
                     .live = chain_live(&tape->op[top])};
    const pgcn_i_own own = job.own;
    const int64_t steps =
        pgcn_i_share_ahead(tape, (pgcn_i_loop){PGCN_I_BACKWARD, end, top}, job.live);
    job.floats = below->partial_first + below->partial_floats;
    for (int64_t i = 0; i < steps; i++) {
        const pgcn_i_slice slice = pgcn_i_share_slice(tape, job.live, i);
        job.sample = slice.sample;
        job.own.first = slice.first;
        pgcn_i_parallel(tape->pool, slice.end - slice.first, chain_task, &job);
        pgcn_i_share_made(tape, i + 1);
    }
    /* One sample after the other, so that its gradients and lists stay in the cache of a core. */
    for (int samples = job.live ? 1 : tape->samples; steps == 0 && job.sample < samples;
         job.sample++)
        pgcn_i_parallel(tape->pool, own.end - own.first, chain_task, &job);
    sum_partials(tape, top, end, own);
    for (int i = top; i >= end; i--)
        if (tape->op[i].kind->backward_done) tape->op[i].kind->backward_done(tape, &tape->op[i]);
}

static void run_back(pgcn_i_tape *tape, int top, int end, const pgcn_i_closer *closer) {
    pgcn_i_op *op = &tape->op[top];
    const pgcn_i_loop loop = {PGCN_I_BACKWARD, end, top};
    for (int i = top; i >= end; i--) clear_shared(tape, &tape->op[i]);
    if (tape->share) pgcn_i_share_backward(tape, loop);
    if (!op->kind->backward_rows && op->live_out) pgcn_i_live_zero(tape, op->out, op->live_out);
    if (op->kind->backward_all) op->kind->backward_all(tape, op);
    if (op->kind->backward_rows) run_chain(tape, top, end, closer);
    tape->replicated = false;
    if (tape->share) pgcn_i_share_backward_done(tape, loop);
}

void pgcn_i_tape_close(pgcn_i_tape *tape, pgcn_i_closer closer) {
    const pgcn_i_loop made = tape->loop[tape->backward_first - 1];
    const pgcn_i_loop back = tape->loop[tape->backward_first];
    pgcn_i_op *op = &tape->op[made.first];
    if (op->kind->forward_all) op->kind->forward_all(tape, op);
    run_back(tape, back.last, back.first, &closer);
}

void pgcn_i_tape_backward(pgcn_i_tape *tape) {
    tape->goes_back = true;
    for (int i = tape->backward_first + tape->closes; i < tape->loops; i++) {
        pgcn_i_loop loop = tape->loop[i];
        tape->recomputed = loop.pass == PGCN_I_RECOMPUTE;
        if (tape->recomputed)
            run_stage(tape, loop, NULL);
        else
            run_back(tape, loop.last, loop.first, NULL);
    }
    tape->recomputed = tape->goes_back = false;
}
