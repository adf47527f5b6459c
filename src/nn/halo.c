/* The halo: which rows of others a rank needs, and who has them. It is found once for each draw of paths, and told to
 * their owners. Then rows travel (travel.c, which calls this).
 *
 * A failure here is one of the ranks (pgcn_i_comm_fail): the step goes on with whatever is there and is then given up. */
#include "nn/share.h"

#include <string.h>

/* ---- who needs what ------------------------------------------------------------------------------------ */

typedef struct mark_job {
    const pgcn_i_want *of;
    pgcn_i_runs runs;
    uint8_t *flag; /* of rows; of lists that are divided, of the others of each sample */
} mark_job;

static void mark(const mark_job *job, int64_t row, uint8_t *flag) {
    if (row < job->of->held && (!job->of->has || job->of->has[row]))
        __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

static void mark_column(const mark_job *job, int64_t first, int64_t column) {
    const pgcn_i_want *of = job->of;
    if (!of->others) {
        mark(job, first + column, &job->flag[first + column]);
    } else if (column >= of->others->from) {
        int64_t number = column - of->others->from;
        mark(job, first + of->others->row[number],
             &job->flag[first / of->n * of->others->count + number]);
    }
}

static void mark_task(void *context, int64_t task, int worker) {
    (void)worker;
    const mark_job *job = context;
    const pgcn_i_want *of = job->of;
    const pgcn_i_range range = pgcn_i_runs_range(&job->runs, task);
    for (int64_t at = range.begin; at < range.end; at++) {
        int64_t row = of->from ? of->from->row[at] : at;
        int64_t node = row % of->n, first = row - node;
        if (!of->others) mark(job, row, &job->flag[row]);
        for (int i = 0; i < of->hops; i++) {
            const pgcn_i_csr *hop = &of->hop[i];
            for (int64_t e = hop->offset[node]; e < hop->offset[node + 1]; e++)
                mark_column(job, first, hop->column[e]);
        }
    }
}

static bool add_row(pgcn_i_tape *tape, pgcn_i_buffer *rows, int64_t row) {
    pgcn_node *to = pgcn_i_buffer_add(rows, sizeof *to);
    if (!to) pgcn_i_comm_fail(tape->share->comm, PGCN_ERR_MEMORY);
    if (to) *to = (pgcn_node)row;
    return to;
}

/* Lists what is marked of other ranks; they will hear of it. */
static void list_marked(pgcn_i_tape *tape, pgcn_i_halo_plan *plan, const uint8_t *flag) {
    pgcn_i_comm *comm = tape->share->comm;
    int64_t n = plan->of.held / tape->samples, found = 0;
    plan->row[PGCN_GET].bytes = 0;
    for (int r = 0; r < comm->size; r++) {
        pgcn_i_own own = pgcn_i_own_of_rank(tape, plan->of.held, r);
        plan->first[PGCN_GET][r] = found;
        for (int sample = 0; sample < tape->samples && r != comm->rank; sample++) {
            const uint8_t *at = flag + sample * n + own.begin, *end = flag + sample * n + own.stop;
            while ((at = at < end ? memchr(at, 1, (size_t)(end - at)) : NULL)) {
                if (!add_row(tape, &plan->row[PGCN_GET], at - flag)) break;
                found++;
                at++;
            }
        }
    }
    plan->first[PGCN_GET][comm->size] = found;
}

/* The same of lists that are divided. */
static void list_others(pgcn_i_tape *tape, pgcn_i_halo_plan *plan, const uint8_t *flag) {
    const pgcn_i_others *others = plan->of.others;
    int64_t samples = plan->of.held / plan->of.n, found = 0;
    plan->row[PGCN_GET].bytes = plan->place.bytes = 0;
    for (int r = 0; r < tape->share->comm->size; r++) {
        plan->first[PGCN_GET][r] = found;
        for (int64_t s = 0; s < samples; s++)
            for (int64_t i = others->first[r]; i < others->first[r + 1]; i++) {
                if (!flag[s * others->count + i]) continue;
                int64_t first = s * plan->of.n;
                if (!add_row(tape, &plan->row[PGCN_GET], first + others->row[i]) ||
                    !add_row(tape, &plan->place, others->from + first + i))
                    return;
                found++;
            }
    }
    plan->first[PGCN_GET][tape->share->comm->size] = found;
    plan->in_order = samples == 1 && found == others->count;
}

/* Whose rows go between this rank and another. */
static pgcn_i_own owner_of(const pgcn_i_tape *tape, const pgcn_i_halo_plan *plan, int side,
                           int peer) {
    return pgcn_i_own_of_rank(tape, plan->of.held,
                              side == PGCN_GET ? peer : tape->share->comm->rank);
}

/* Finds out of whom all rows are wanted. */
static void find_whole(const pgcn_i_tape *tape, const pgcn_i_halo_plan *plan, int side) {
    for (int r = 0; r < tape->share->comm->size; r++) {
        pgcn_i_own own = owner_of(tape, plan, side, r);
        int64_t count = plan->first[side][r + 1] - plan->first[side][r];
        plan->whole[side][r] = count > 0 && count == (own.stop - own.begin) * tape->samples;
    }
}

/* Whoever wants all rows of an owner need not list them. */
static void list_whole(const pgcn_i_tape *tape, const pgcn_i_halo_plan *plan, int side) {
    const int64_t n = plan->of.held / tape->samples;
    for (int r = 0; r < tape->share->comm->size; r++) {
        pgcn_i_own own = owner_of(tape, plan, side, r);
        pgcn_node *row = (pgcn_node *)(void *)plan->row[side].data + plan->first[side][r];
        for (int64_t s = 0; s < tape->samples && plan->whole[side][r]; s++)
            for (int64_t i = own.begin; i < own.stop; i++) *row++ = (pgcn_node)(s * n + i);
    }
}

/* All rows of other ranks, where lists lead to nearly all of them. */
static void list_everybody(pgcn_i_tape *tape, pgcn_i_halo_plan *plan) {
    pgcn_i_comm *comm = tape->share->comm;
    int64_t *first = plan->first[PGCN_GET];
    for (int r = 0; r < comm->size; r++) {
        pgcn_i_own own = owner_of(tape, plan, PGCN_GET, r);
        first[r + 1] = first[r] + (r == comm->rank ? 0 : (own.stop - own.begin) * tape->samples);
    }
    plan->row[PGCN_GET].bytes = 0;
    if (pgcn_i_share_buffer(tape->share, &plan->row[PGCN_GET],
                            first[comm->size] * (int64_t)sizeof(pgcn_node) + 1)) {
        find_whole(tape, plan, PGCN_GET);
        list_whole(tape, plan, PGCN_GET);
    }
}

/* Rank by rank, a message each way; those of rows that are all of their owner's are left out. */
static void swap_lists(pgcn_i_share *share, const pgcn_i_halo_plan *plan) {
    pgcn_i_comm *comm = share->comm;
    const int64_t *get = plan->first[PGCN_GET], *give = plan->first[PGCN_GIVE],
                  width = sizeof(pgcn_node);
    int count = 0;
    for (int i = 1; i < comm->size; i++) {
        int to = (comm->rank + i) % comm->size, from = (comm->rank + comm->size - i) % comm->size;
        if (!plan->whole[PGCN_GET][to])
            share->message[count++] =
                (pgcn_i_message){to, true, plan->row[PGCN_GET].data + get[to] * width,
                                 (get[to + 1] - get[to]) * width};
        if (!plan->whole[PGCN_GIVE][from])
            share->message[count++] =
                (pgcn_i_message){from, false, plan->row[PGCN_GIVE].data + give[from] * width,
                                 (give[from + 1] - give[from]) * width};
    }
    pgcn_i_comm_exchange(comm, share->message, count);
}

static void tell_owners(pgcn_i_tape *tape, pgcn_i_halo_plan *plan) {
    pgcn_i_share *share = tape->share;
    int ranks = share->comm->size;
    for (int r = 0; r < ranks; r++)
        share->count[0][r] = plan->first[PGCN_GET][r + 1] - plan->first[PGCN_GET][r];
    pgcn_i_comm_swap(share->comm, share->count[0], share->count[1]);
    for (int r = 0; r < ranks; r++)
        plan->first[PGCN_GIVE][r + 1] = plan->first[PGCN_GIVE][r] + share->count[1][r];
    for (int side = 0; side < 2; side++) find_whole(tape, plan, side);
    if (pgcn_i_share_buffer(share, &plan->row[PGCN_GIVE],
                            plan->first[PGCN_GIVE][ranks] * (int64_t)sizeof(pgcn_node) + 1)) {
        list_whole(tape, plan, PGCN_GIVE);
        swap_lists(share, plan);
    }
    if (pgcn_i_comm_status(share->comm) == PGCN_OK) return;
    for (int side = 0; side < 2; side++) { /* nothing is where it should be */
        memset(plan->first[side], 0, (size_t)(ranks + 1) * sizeof(int64_t));
        memset(plan->whole[side], 0, (size_t)ranks * sizeof(bool));
    }
}

bool pgcn_i_want_is_same(const pgcn_i_want *a, const pgcn_i_want *b) {
    return a->hop == b->hop && a->hops == b->hops && a->n == b->n && a->from == b->from &&
           a->has == b->has && a->rows == b->rows && a->held == b->held && a->others == b->others;
}

const pgcn_i_halo_plan *pgcn_i_halo_plan_for(pgcn_i_tape *tape, pgcn_i_want of) {
    pgcn_i_share *share = tape->share;
    for (int i = 0; i < PGCN_PLANS; i++)
        if (share->plan[i].time == share->time && pgcn_i_want_is_same(&share->plan[i].of, &of))
            return &share->plan[i];
    pgcn_i_halo_plan *plan = &share->plan[share->next++ % PGCN_PLANS];
    plan->of = of;
    plan->time = share->time;
    plan->in_order = false;
    /* all of the others are those that some row leads to, or nearly */
    bool all = !of.from && !of.has && (of.others ? of.hops == of.others->lists : tape->divided);
    memset(plan->first[PGCN_GET], 0, (size_t)(share->comm->size + 1) * sizeof(int64_t));
    if (all && !of.others) {
        list_everybody(tape, plan);
        tell_owners(tape, plan);
        return plan;
    }
    int64_t flags = of.others ? of.held / of.n * of.others->count : of.held;
    uint8_t *flag = pgcn_i_share_buffer(share, &share->flag, flags + 1);
    if (flag) memset(flag, all, (size_t)flags);
    mark_job job = {&plan->of, pgcn_i_runs_of(tape, of.rows, of.from), flag};
    if (flag && !all) pgcn_i_parallel(tape->pool, pgcn_i_runs_tasks(&job.runs), mark_task, &job);
    if (flag && of.others) list_others(tape, plan, flag);
    if (flag && !of.others) list_marked(tape, plan, flag);
    tell_owners(tape, plan);
    return plan;
}
