/* Which rows matter. The loss of a semi-supervised set looks at a few nodes: of the last layer only
 * their rows are needed, of the layer before also the rows that their paths visit, and so on, until
 * the set is (nearly) everybody. All other rows need not be computed, and have no gradient. What
 * is left out is never read or exactly zero, so the gradients are the same.
 *
 * The sets belong to a sample of paths. They are found before the forward pass, from the last
 * operation to the first: set 0 is that of the loss, each sampled path convolution makes the next
 * from the one before, and operations that look at all rows (batch norm, the exact form) end it.
 * Flags are set by whoever comes first, with relaxed atomics; lists follow from flags, in order,
 * so nothing depends on threads. Of several ranks whose lists are divided each marks what its own rows lead to, and all
 * get the flags of all. Called by the loss and by the tape. */
#include "nn/ops.h"
#include "nn/share.h"

#include <string.h>

/* From this share on the bookkeeping costs more than it saves. */
static bool nearly_all(int64_t count, int64_t rows) {
    return count > rows / 8 * 7;
}

pgcn_status pgcn_i_live_init(pgcn_i_tape *tape, int64_t rows) {
    for (int i = 0; i < PGCN_LIVE_SETS; i++) {
        pgcn_i_live *set = &tape->live_set[i];
        set->flag = PGCN_I_ARRAY(&tape->arena, uint8_t, rows);
        set->row = PGCN_I_ARRAY(&tape->arena, pgcn_node, rows);
        set->first = PGCN_I_ARRAY(&tape->arena, int64_t, tape->groups + 1);
        if (!set->flag || !set->row || !set->first) return PGCN_ERR_MEMORY;
    }
    tape->live_count = PGCN_I_ARRAY(&tape->arena, int64_t, tape->groups * tape->samples + 1);
    return tape->live_count ? PGCN_OK : PGCN_ERR_MEMORY;
}

/* ---- from flags to a list -------------------------------------------------------------------- */

typedef struct live_job {
    pgcn_i_reach reach;
    const pgcn_i_live *from;
    pgcn_i_live *set;
    int samples;
    int64_t *count; /* of live rows in the segments before, [segments + 1] */
    int64_t first;  /* segment that is listed: of a tape that is divided, this rank's */
    pgcn_i_value *value;
    pgcn_i_blocks blocks; /* or groups */
    pgcn_i_runs runs;
} live_job;

/* A segment is one sample of a group: its rows begin .. end-1. Segments are numbered by group, then
 * sample, and so the list holds all samples of a group side by side. */
static void segment_rows(const live_job *job, int64_t segment, int64_t *begin, int64_t *end) {
    int64_t group = segment / job->samples, stack = segment % job->samples * job->blocks.rows;
    *begin = stack + pgcn_i_block_begin(job->blocks, group);
    *end = stack + pgcn_i_block_end(job->blocks, group);
}

static void count_task(void *context, int64_t segment, int worker) {
    (void)worker;
    const live_job *job = context;
    int64_t r, end, count = 0;
    for (segment_rows(job, segment, &r, &end); r < end; r++) count += job->set->flag[r];
    job->count[segment + 1] = count;
}

static void list_task(void *context, int64_t task, int worker) {
    (void)worker;
    const live_job *job = context;
    int64_t segment = job->first + task;
    int64_t r, end, at = job->count[segment];
    for (segment_rows(job, segment, &r, &end); r < end; r++)
        if (job->set->flag[r]) job->set->row[at++] = (pgcn_node)r;
}

/* The set with its list, or NULL when it is nearly all rows. */
static const pgcn_i_live *listed(pgcn_i_tape *tape, pgcn_i_live *set, int64_t rows) {
    live_job job = {.set = set,
                    .samples = tape->samples,
                    .count = tape->live_count,
                    .blocks = pgcn_i_groups_of(rows / tape->samples, tape->groups)};
    int64_t segments = job.blocks.count * job.samples;
    pgcn_i_own own = pgcn_i_own_of(tape, rows);
    pgcn_i_parallel(tape->pool, segments, count_task, &job);
    job.count[0] = 0;
    for (int64_t s = 0; s < segments; s++) job.count[s + 1] += job.count[s];
    set->count = job.count[segments];
    if (nearly_all(set->count, rows)) return NULL;
    for (int64_t g = 0; g <= job.blocks.count; g++) set->first[g] = job.count[g * job.samples];
    job.first = tape->divided ? own.first * job.samples : 0;
    if (tape->divided) segments = (own.end - own.first) * job.samples;
    pgcn_i_parallel(tape->pool, segments, list_task, &job);
    return set;
}

/* ---- along the paths --------------------------------------------------------------------------- */

static void mark(uint8_t *flag) {
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

static void spread_task(void *context, int64_t task, int worker) {
    (void)worker;
    const live_job *job = context;
    uint8_t *flag = job->set->flag;
    const pgcn_i_range range = pgcn_i_runs_range(&job->runs, task);
    for (int64_t at = range.begin; at < range.end; at++) {
        pgcn_node row = job->from->row[at];
        int64_t node = row % job->reach.n, first = row - node; /* of the sample */
        mark(&flag[row]);
        for (int i = 0; i < job->reach.hops; i++) {
            const pgcn_i_csr *hop = &job->reach.hop[i];
            for (int64_t e = hop->offset[node]; e < hop->offset[node + 1]; e++)
                mark(&flag[first + pgcn_i_others_row(job->reach.others, hop->column[e])]);
        }
    }
}

/* The rows of a set and those that they lead to. */
static const pgcn_i_live *spread(pgcn_i_tape *tape, const pgcn_i_live *from, pgcn_i_reach reach,
                                 int64_t rows) {
    if (from + 1 == tape->live_set + PGCN_LIVE_SETS) return NULL;
    live_job job = {.reach = reach,
                    .from = from,
                    .set = &tape->live_set[from - tape->live_set + 1],
                    .runs = {.count = 1, .blocks = pgcn_i_blocks_of(from->count)}};
    memset(job.set->flag, 0, (size_t)rows);
    if (tape->divided) job.runs = pgcn_i_runs_of(tape, rows, from);
    pgcn_i_parallel(tape->pool, pgcn_i_runs_tasks(&job.runs), spread_task, &job);
    if (tape->divided) pgcn_i_share_flags(tape, job.set->flag, rows);
    return listed(tape, job.set, rows);
}

/* ---- over the tape ------------------------------------------------------------------------------- */

uint8_t *pgcn_i_live_first(pgcn_i_tape *tape) {
    return tape->live_set[0].flag;
}

void pgcn_i_live_all(pgcn_i_tape *tape) {
    for (int i = 0; i < tape->count; i++)
        tape->op[i].live_out = tape->op[i].live_in = tape->op[i].out->live = NULL;
}

/* Sets grow from the end to the beginning, so of two that a value needs the later one holds both:
 * the last assignment of the backward walk over the tape is right. */
void pgcn_i_live_spread(pgcn_i_tape *tape) {
    pgcn_i_share_renew_live(tape->share);
    int64_t rows = tape->op[tape->count - 1].out->rows;
    const pgcn_i_live *set = listed(tape, &tape->live_set[0], rows);
    for (int i = tape->count - 1; i >= 0; i--) {
        pgcn_i_op *op = &tape->op[i];
        if (i == tape->count - 1) op->out->live = set;
        op->live_out = set = op->out->live;
        if (set && op->kind->needs == PGCN_I_NEEDS_VISITED)
            set = spread(tape, set, op->kind->reach(op), rows);
        else if (op->kind->needs != PGCN_I_NEEDS_ROW)
            set = NULL;
        op->live_in = set;
        for (int j = 1; j >= 0; j--)
            if (op->in[j]) op->in[j]->live = j == 0 ? set : op->live_out;
    }
}

/* ---- back to all rows -------------------------------------------------------------------------- */

static void fill_task(void *context, int64_t task, int worker) {
    (void)worker;
    const live_job *job = context;
    const pgcn_i_range range = pgcn_i_runs_range(&job->runs, task);
    for (int64_t r = range.begin; r < range.end; r++)
        if (!job->from || !job->from->flag[r]) pgcn_i_clear_gradient(job->value, r, 1);
}

void pgcn_i_live_zero(pgcn_i_tape *tape, pgcn_i_value *value, const pgcn_i_live *but) {
    live_job job = {
        .from = but, .value = value, .runs = {.count = 1, .blocks = pgcn_i_blocks_of(value->rows)}};
    if (tape->divided && value->space == PGCN_I_LINKS) {
        pgcn_i_links_clear(tape, value);
        return;
    }
    if (tape->divided) job.runs = pgcn_i_runs_of(tape, value->rows, NULL);
    pgcn_i_parallel(tape->pool, pgcn_i_runs_tasks(&job.runs), fill_task, &job);
}
