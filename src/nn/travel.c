/* Rows that travel from their owners to the ranks that read them: picked into a message, or, where all rows of an owner
 * are wanted, straight from its memory. Who wants which is found in halo.c. Where rows go, and which loop reads them, is
 * told in share.c, which calls this, as do operations of several steps.
 *
 * Rows that one loop makes and the next one gathers travel while they are made. The loop runs in steps, each of some of
 * the rank's groups in one sample. When a step is done its rows are posted, and go on while the next steps are computed;
 * the gathering loop waits for what is still under way. Steps cost nothing but a few messages more: which rows are in
 * which step depends on numbers that all ranks know, and rows are computed as they would be in one go, so no bit depends
 * on it. In a message are the rows of a step or of several, so that it is not too short.
 *
 * A failure here is one of the ranks (pgcn_i_comm_fail): the step goes on with whatever is there and is then given up. */
#include "nn/share.h"

#include <string.h>

/* ---- in which steps rows are made ------------------------------------------------------------------------- */

enum {
    MOST_SLICES = 8,          /* of a rank's groups; and at least: */
    SLICE_BYTES = 32 << 10,   /* of the rows of a slice in one sample, */
    MESSAGE_BYTES = 16 << 10, /* of a message, */
    SLICE_TILES = 4,          /* of a slice, for each of several threads that go through tiles, */
    SLICE_GROUPS = 2          /* or through groups */
};

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* How many slices the groups of a rank have: all ranks come to the same number. With one thread a slice loses nothing;
 * with several they wait for each other at its end, so each has to have a few tasks. */
static int64_t slices_of(const pgcn_i_travel *travel, pgcn_i_own own) {
    const int64_t rows = own.stop - own.begin, groups = own.end - own.first;
    int64_t slices = travel->ahead ? smaller(MOST_SLICES, groups) : 1;
    slices = smaller(slices, rows * travel->cols * (int64_t)sizeof(float) / SLICE_BYTES);
    if (travel->threads > 1 && travel->by_groups)
        slices = smaller(slices, groups / (SLICE_GROUPS * travel->threads));
    if (travel->threads > 1 && !travel->by_groups)
        slices = smaller(slices, rows / (SLICE_TILES * PGCN_BLOCK_ROWS * travel->threads));
    return slices > 1 ? slices : 1;
}

/* The groups of a rank, in slices: one sample after the other. */
typedef struct course {
    pgcn_i_own own;
    int64_t slices, steps;
} course;

static course course_of(const pgcn_i_tape *tape, const pgcn_i_travel *travel, int rank) {
    const pgcn_i_own own = pgcn_i_own_of_rank(tape, travel->plan->of.held, rank);
    const int64_t slices = slices_of(travel, own);
    return (course){own, slices, slices * tape->samples};
}

static int64_t first_group(const course *c, int64_t slice) {
    return c->own.first + (c->own.end - c->own.first) * slice / c->slices;
}

/* The row that a step begins with; after the last step, one that is behind all. */
static int64_t first_row(const course *c, int64_t step) {
    const pgcn_i_blocks groups = c->own.groups;
    const int64_t node = first_group(c, step % c->slices) * groups.size;
    return step / c->slices * groups.rows + smaller(node, groups.rows);
}

pgcn_i_slice pgcn_i_share_slice(const pgcn_i_tape *tape, const pgcn_i_live *live, int64_t step) {
    const course c = course_of(tape, &tape->share->travel, tape->share->comm->rank);
    const pgcn_i_blocks groups = c.own.groups;
    const int64_t slice = step % c.slices, sample = step / c.slices;
    const int64_t first = first_group(&c, slice), end = first_group(&c, slice + 1);
    const int64_t begin = live ? live->first[first] : first_row(&c, step);
    const int64_t stop =
        live ? live->first[end] : sample * groups.rows + smaller(end * groups.size, groups.rows);
    return (pgcn_i_slice){
        (int)sample, first, end,
        (pgcn_i_runs){.first = begin, .count = 1, .blocks = pgcn_i_blocks_of(stop - begin)}};
}

/* ---- messages ---------------------------------------------------------------------------------------------- */

static const pgcn_node *rows_of(const pgcn_i_halo_plan *plan, int side) {
    return (const pgcn_node *)(void *)plan->row[side].data;
}

/* Whether rows that are all of their owner's go as they stand, and come where they belong. */
static bool goes_straight(const pgcn_i_travel *travel, int side, int peer) {
    return travel->plan->whole[side][peer] && travel->stride == travel->cols &&
           (side == PGCN_GIVE || !travel->plan->of.others);
}

/* The first place in a list of rows, in order, that has a row from `row` on. */
static int64_t find_row(const pgcn_i_travel *travel, int side, int peer, int64_t row) {
    const pgcn_node *list = rows_of(travel->plan, side);
    int64_t begin = travel->plan->first[side][peer], end = travel->plan->first[side][peer + 1];
    while (begin < end) {
        int64_t middle = begin + (end - begin) / 2;
        if (list[middle] < row)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Messages between this rank and another, one way. Rows that are all of their owner's go straight at one end, if not at
 * both, and those of two samples are not side by side. */
static int64_t messages_between(const pgcn_i_tape *tape, const pgcn_i_travel *travel, int side,
                                int peer, const course *c) {
    const int64_t *first = travel->plan->first[side] + peer;
    const int64_t bytes = (first[1] - first[0]) * travel->cols * (int64_t)sizeof(float);
    const bool whole = travel->plan->whole[side][peer] && travel->stride == travel->cols;
    const int64_t parts = whole ? tape->samples : 1;
    int64_t most = travel->ahead ? smaller(bytes / parts / MESSAGE_BYTES, c->steps / parts) : 1;
    return parts * (most > 1 ? most : 1);
}

/* A place in the lists of a plan, and the message that has the rows from there to another. */
static pgcn_i_message message_of(const pgcn_i_travel *travel, int side, int peer, int64_t begin,
                                 int64_t end) {
    const int64_t bytes = (end - begin) * travel->cols * (int64_t)sizeof(float);
    float *data = travel->packed[side] + begin * travel->cols;
    if (begin < end && goes_straight(travel, side, peer))
        data = travel->array + rows_of(travel->plan, side)[begin] * travel->cols;
    return (pgcn_i_message){peer, side == PGCN_GIVE, data, bytes};
}

/* ---- picking ------------------------------------------------------------------------------------------------ */

typedef struct copy_job {
    const pgcn_node *row;
    float *array, *packed;
    int64_t stride, cols;
    bool packs;
    pgcn_i_blocks blocks;
} copy_job;

static void copy_task(void *context, int64_t task, int worker) {
    (void)worker;
    const copy_job *job = context;
    int64_t end = pgcn_i_block_end(job->blocks, task);
    for (int64_t i = pgcn_i_block_begin(job->blocks, task); i < end; i++) {
        float *row = job->array + job->row[i] * job->stride, *packed = job->packed + i * job->cols;
        memcpy(job->packs ? packed : row, job->packs ? row : packed,
               (size_t)job->cols * sizeof *row);
    }
}

/* Places begin .. end-1 of the lists of a plan, into messages or out of them. */
static void copy_rows(const pgcn_i_tape *tape, const pgcn_i_travel *travel, int side, int64_t begin,
                      int64_t end) {
    const pgcn_i_halo_plan *plan = travel->plan;
    const bool placed = side == PGCN_GET && plan->of.others;
    const pgcn_node *row =
        placed ? (const pgcn_node *)(void *)plan->place.data : rows_of(plan, side);
    copy_job job = {.row = row + begin,
                    .array = travel->array,
                    .packed = travel->packed[side] + begin * travel->cols,
                    .stride = travel->stride,
                    .cols = travel->cols,
                    .packs = side == PGCN_GIVE,
                    .blocks = pgcn_i_blocks_of(end - begin)};
    pgcn_i_parallel_light(tape->pool, job.blocks.rows * job.cols, job.blocks.count, copy_task,
                          &job);
}

/* All that came in: ranks whose rows are side by side there, all at once. */
static void unpack(const pgcn_i_tape *tape, const pgcn_i_travel *travel) {
    const int ranks = tape->share->comm->size;
    const int64_t *first = travel->plan->first[PGCN_GET];
    for (int r = 0, end; r < ranks && !travel->in_order; r = end + 1) {
        for (end = r; end < ranks && !goes_straight(travel, PGCN_GET, end);) end++;
        copy_rows(tape, travel, PGCN_GET, first[r], first[end]);
    }
}

/* Rows that are packed: as far as the last rank that has some. */
static int64_t packed_rows(const pgcn_i_tape *tape, const pgcn_i_travel *travel, int side) {
    const int64_t *first = travel->plan->first[side];
    int r = tape->share->comm->size;
    while (r > 0 && (first[r] == first[r - 1] || goes_straight(travel, side, r - 1))) r--;
    return first[r];
}

/* ---- on their way --------------------------------------------------------------------------------------------- */

/* Room for all messages of one way. */
static pgcn_i_message *room_for_messages(pgcn_i_tape *tape) {
    pgcn_i_share *share = tape->share;
    int64_t most = (int64_t)share->comm->size * tape->samples * MOST_SLICES;
    return pgcn_i_share_buffer(share, &share->travel.messages,
                               most * (int64_t)sizeof(pgcn_i_message));
}

/* Rows of other ranks may come from now on. */
static void post_to_get(pgcn_i_tape *tape, pgcn_i_message *message) {
    pgcn_i_comm *comm = tape->share->comm;
    const pgcn_i_travel *travel = &tape->share->travel;
    int count = 0;
    for (int i = 1; i < comm->size; i++) {
        const int from = (comm->rank + comm->size - i) % comm->size;
        const course c = course_of(tape, travel, from);
        const int64_t messages = messages_between(tape, travel, PGCN_GET, from, &c);
        int64_t begin = travel->plan->first[PGCN_GET][from];
        for (int64_t j = 1; j <= messages; j++) {
            int64_t row = first_row(&c, c.steps * j / messages);
            int64_t end = find_row(travel, PGCN_GET, from, row);
            message[count++] = message_of(travel, PGCN_GET, from, begin, end);
            begin = end;
        }
    }
    pgcn_i_comm_post(comm, message, count);
}

/* Rows of this rank's steps before `made` are there: sends messages whose rows all are. */
static void post_to_give(pgcn_i_tape *tape, int64_t made) {
    pgcn_i_comm *comm = tape->share->comm;
    pgcn_i_travel *travel = &tape->share->travel;
    pgcn_i_message *message = room_for_messages(tape);
    const course c = course_of(tape, travel, comm->rank);
    int count = 0;
    for (int i = 1; i < comm->size && message; i++) { /* not all to the same one at the same time */
        const int to = (comm->rank + i) % comm->size;
        const int64_t messages = messages_between(tape, travel, PGCN_GIVE, to, &c);
        for (int64_t j = 0; j < messages; j++) {
            const int64_t first = c.steps * j / messages, last = c.steps * (j + 1) / messages;
            if (last <= travel->made || last > made) continue;
            const int64_t begin = find_row(travel, PGCN_GIVE, to, first_row(&c, first));
            const int64_t end = find_row(travel, PGCN_GIVE, to, first_row(&c, last));
            if (!goes_straight(travel, PGCN_GIVE, to))
                copy_rows(tape, travel, PGCN_GIVE, begin, end);
            message[count++] = message_of(travel, PGCN_GIVE, to, begin, end);
        }
    }
    travel->made = made;
    pgcn_i_comm_post(comm, message, count);
}

/* False without memory. */
static bool begin(pgcn_i_tape *tape, const pgcn_i_halo_plan *plan) {
    pgcn_i_share *share = tape->share;
    pgcn_i_travel *travel = &share->travel;
    const int64_t bytes = travel->cols * (int64_t)sizeof *travel->array;
    travel->plan = plan;
    travel->made = 0;
    travel->in_order = plan->in_order && travel->stride == travel->cols;
    pgcn_i_message *message = room_for_messages(tape);
    bool fine = message != NULL;
    for (int side = 0; side < 2 && fine; side++) {
        travel->packed[side] =
            side == PGCN_GET && travel->in_order
                ? travel->array + plan->of.others->from * travel->cols
                : pgcn_i_share_buffer(share, &travel->buffer[side],
                                      packed_rows(tape, travel, side) * bytes + 1);
        fine = travel->packed[side] != NULL;
    }
    if (fine) post_to_get(tape, message);
    if (!fine) travel->plan = NULL;
    return fine;
}

/* Everything that is left to send, and all that was asked for. */
static void end(pgcn_i_tape *tape) {
    pgcn_i_share *share = tape->share;
    pgcn_i_travel *travel = &share->travel;
    const int64_t steps = course_of(tape, travel, share->comm->rank).steps;
    if (travel->made < steps) post_to_give(tape, steps);
    pgcn_i_comm_finish(share->comm);
    unpack(tape, travel);
    share->fetched += travel->plan->first[PGCN_GET][share->comm->size] * travel->cols *
                      (int64_t)sizeof *travel->array;
    travel->plan = NULL;
}

void pgcn_i_travel_fetch(pgcn_i_tape *tape, pgcn_i_want of, float *array, int64_t stride,
                         int64_t cols) {
    pgcn_i_travel *travel = &tape->share->travel;
    if (of.held == 0) return;
    if (travel->plan && (travel->array != array || !pgcn_i_want_is_same(&travel->plan->of, &of))) {
        pgcn_i_comm_fail(tape->share->comm,
                         pgcn_i_fail(PGCN_ERR_SYSTEM, "internal: other rows are on their way"));
        travel->plan = NULL;
        return;
    }
    if (!travel->plan) {
        const pgcn_i_halo_plan *plan = pgcn_i_halo_plan_for(tape, of);
        travel->array = array;
        travel->stride = stride;
        travel->cols = cols;
        travel->ahead = false;
        if (!begin(tape, plan)) return;
    }
    end(tape);
}

/* ---- while they are made ---------------------------------------------------------------------------------------- */

/* The most threads of any rank, asked once: ranks must agree on steps. */
static int most_threads(pgcn_i_tape *tape) {
    pgcn_i_share *share = tape->share;
    int most = pgcn_i_pool_threads(tape->pool);
    if (share->travel.threads > 0) return share->travel.threads;
    for (int r = 0; r < share->comm->size; r++) share->count[0][r] = most;
    pgcn_i_comm_swap(share->comm, share->count[0], share->count[1]);
    for (int r = 0; r < share->comm->size; r++)
        if (share->count[1][r] > most) most = (int)share->count[1][r];
    return share->travel.threads = most;
}

int64_t pgcn_i_travel_ahead(pgcn_i_tape *tape, pgcn_i_want of, float *array, int64_t cols,
                            bool by_groups) {
    pgcn_i_share *share = tape->share;
    pgcn_i_travel *travel = &share->travel;
    if (of.held == 0 || travel->plan) return 0;
    travel->threads = most_threads(tape);
    const pgcn_i_halo_plan *plan = pgcn_i_halo_plan_for(tape, of);
    travel->array = array;
    travel->stride = travel->cols = cols;
    travel->ahead = true;
    travel->by_groups = by_groups;
    return begin(tape, plan) ? course_of(tape, travel, share->comm->rank).steps : 0;
}

void pgcn_i_share_made(pgcn_i_tape *tape, int64_t steps) {
    if (tape->share->travel.plan) post_to_give(tape, steps);
}

void pgcn_i_share_progress(pgcn_i_tape *tape) {
    if (tape->share && tape->share->travel.plan) pgcn_i_comm_progress(tape->share->comm);
}
