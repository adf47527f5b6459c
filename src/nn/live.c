/* Which rows have a gradient. The loss of a semi-supervised set looks at a few nodes; on the way back
 * their gradient spreads by one path convolution after the other, and until it has reached
 * everybody, rows without one need no product and no gather. What is left out is exactly zero, so
 * the gradients are the same.
 *
 * Two sets are enough: that of the gradient that is read and that of the one being made. Flags are
 * set by whoever comes first, with relaxed atomics; lists follow from flags, in order, so nothing
 * depends on threads. Called by the loss (which starts it), the tape and the path convolution. */
#include "nn/nn.h"

#include <string.h>

/* From this share on the bookkeeping costs more than it saves. */
static bool nearly_all(int64_t count, int64_t rows) {
    return count > rows / 8 * 7;
}

pgcn_status pgcn_i_live_init(pgcn_i_tape *tape, int64_t rows) {
    for (int i = 0; i < 2; i++) {
        tape->live_set[i].is = PGCN_I_ARRAY(&tape->arena, uint8_t, rows);
        tape->live_set[i].row = PGCN_I_ARRAY(&tape->arena, pgcn_node, rows);
        if (!tape->live_set[i].is || !tape->live_set[i].row) return PGCN_ERR_MEMORY;
    }
    tape->live_count = PGCN_I_ARRAY(&tape->arena, int64_t, PGCN_MAX_BLOCKS + 1);
    return tape->live_count ? PGCN_OK : PGCN_ERR_MEMORY;
}

pgcn_i_live *pgcn_i_live_next(pgcn_i_tape *tape, int64_t rows) {
    pgcn_i_live *set = &tape->live_set[tape->live == &tape->live_set[0]];
    memset(set->is, 0, (size_t)rows);
    return set;
}

/* ---- from flags to a list -------------------------------------------------------------------- */

typedef struct live_job {
    pgcn_i_tape *tape;
    const pgcn_i_visits *visits;
    const pgcn_i_live *from;
    pgcn_i_live *set;
    pgcn_i_value *value;
    pgcn_i_blocks blocks;
} live_job;

static void count_task(void *context, int64_t task, int worker) {
    (void)worker;
    const live_job *job = context;
    int64_t end = pgcn_i_block_end(job->blocks, task), count = 0;
    for (int64_t r = pgcn_i_block_begin(job->blocks, task); r < end; r++) count += job->set->is[r];
    job->tape->live_count[task + 1] = count;
}

static void list_task(void *context, int64_t task, int worker) {
    (void)worker;
    const live_job *job = context;
    int64_t end = pgcn_i_block_end(job->blocks, task), place = job->tape->live_count[task];
    for (int64_t r = pgcn_i_block_begin(job->blocks, task); r < end; r++)
        if (job->set->is[r]) job->set->row[place++] = (pgcn_node)r;
}

void pgcn_i_live_take(pgcn_i_tape *tape, pgcn_i_live *set, int64_t rows) {
    live_job job = {.tape = tape, .set = set, .blocks = pgcn_i_blocks_of(rows)};
    int64_t *before = tape->live_count;
    pgcn_i_parallel(tape->pool, job.blocks.count, count_task, &job);
    before[0] = 0;
    for (int64_t block = 0; block < job.blocks.count; block++) before[block + 1] += before[block];
    set->count = before[job.blocks.count];
    tape->live = NULL;
    if (nearly_all(set->count, rows)) return;
    pgcn_i_parallel(tape->pool, job.blocks.count, list_task, &job);
    tape->live = set;
}

/* ---- along the paths --------------------------------------------------------------------------- */

static void mark(uint8_t *flag) {
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

static void spread_task(void *context, int64_t task, int worker) {
    (void)worker;
    const live_job *job = context;
    uint8_t *is = job->set->is;
    int64_t end = pgcn_i_block_end(job->blocks, task);
    for (int64_t at = pgcn_i_block_begin(job->blocks, task); at < end; at++) {
        pgcn_node row = job->from->row[at];
        mark(&is[row]);
        for (int i = 0; i < job->visits->k - 1; i++) {
            const pgcn_i_csr *hop = &job->visits->hop[i];
            for (int64_t e = hop->offset[row]; e < hop->offset[row + 1]; e++)
                mark(&is[hop->column[e]]);
        }
    }
}

void pgcn_i_live_spread(pgcn_i_tape *tape, const pgcn_i_visits *visits, int64_t rows) {
    live_job job = {.tape = tape,
                    .visits = visits,
                    .from = tape->live,
                    .set = pgcn_i_live_next(tape, rows),
                    .blocks = pgcn_i_blocks_of(tape->live->count)};
    pgcn_i_parallel(tape->pool, job.blocks.count, spread_task, &job);
    pgcn_i_live_take(tape, job.set, rows);
}

/* ---- back to all rows -------------------------------------------------------------------------- */

static void fill_task(void *context, int64_t task, int worker) {
    (void)worker;
    const live_job *job = context;
    int64_t cols = job->value->cols, end = pgcn_i_block_end(job->blocks, task);
    for (int64_t r = pgcn_i_block_begin(job->blocks, task); r < end; r++)
        if (!job->from || !job->from->is[r])
            memset(job->value->grad + r * cols, 0, (size_t)cols * sizeof *job->value->grad);
}

static void fill(pgcn_i_tape *tape, pgcn_i_value *value, const pgcn_i_live *but) {
    live_job job = {
        .tape = tape, .from = but, .value = value, .blocks = pgcn_i_blocks_of(value->rows)};
    pgcn_i_parallel(tape->pool, job.blocks.count, fill_task, &job);
}

void pgcn_i_live_fill(pgcn_i_tape *tape, pgcn_i_value *value) {
    if (tape->live) fill(tape, value, tape->live);
    tape->live = NULL;
}

void pgcn_i_live_clear(pgcn_i_tape *tape, pgcn_i_value *value) {
    fill(tape, value, NULL);
}
