/* Rows of several ranks. Every rank has the whole tape, and the addresses of all rows, but goes through the rows of its
 * own groups only; memory that it never touches costs nothing. Sums are made in the order of the groups (sums.c), so that
 * no bit depends on how many ranks there are.
 *
 * Where rows of others go: rows that are scattered would touch all pages. So where lists are divided (paths/divide.c)
 * they have numbers, and stand behind the rows of all ranks by these numbers, side by side. That is so in whole graphs
 * whose operations all know ranks (pgcn_i_share_divides). Elsewhere lists are whole, and rows of others are where their
 * owners have them; so they are where a rank reads nearly all of them, which are then fetched without being picked.
 *
 * Who has what: the rows of a value, of which there are N in all samples, belong to ranks by their groups, and each rank
 * has a run of groups. `held_data` and `held_grad` of a value are the N by which its rows were divided when they were
 * written, 0 where every rank has all of them. In a graph, or a batch of graphs, all values of nodes have the same N. In
 * a part of a graph each level has its own, and rows move when a loop wants them by another N (`align`).
 *
 * What is fetched before a loop: the rows that its own rows lead to, along the lists that the kind of the operation
 * names (`reach`, `reach_back`); halo.c finds and travel.c brings them, while they are made if the loop before makes them
 * (pgcn_i_share_ahead). Values of links belong to the ranks of their rows, and go to those of their columns and back
 * (links.c). An operation that knows nothing of ranks (no `shares`) is run by every rank for all rows, after all have been
 * gathered; so are, in a part of a graph, backward passes along links that have values.
 *
 * A failure here is one of the ranks (pgcn_i_comm_fail): the step goes on with whatever is there and is then given up. */
#include "nn/share.h"

#include <stdlib.h>
#include <string.h>

/* ---- groups of ranks ------------------------------------------------------------------------------ */

pgcn_status pgcn_i_share_new(pgcn_i_comm *comm, pgcn_i_share **out) {
    pgcn_i_share *share = pgcn_i_alloc(1, sizeof *share);
    if (!share) return PGCN_ERR_MEMORY;
    share->comm = comm;
    share->time = share->lists = 1;
    bool fine = (share->message = PGCN_I_ARRAY(&share->arena, pgcn_i_message, 2 * comm->size)) &&
                (share->count[0] = PGCN_I_ARRAY(&share->arena, int64_t, comm->size)) &&
                (share->count[1] = PGCN_I_ARRAY(&share->arena, int64_t, comm->size)) &&
                (share->bound = PGCN_I_ARRAY(&share->arena, int64_t, comm->size + 1));
    for (int side = 0; side < 2 && fine; side++)
        fine =
            (share->links.side[side].first = PGCN_I_ARRAY(&share->arena, int64_t, comm->size + 1));
    for (int i = 0; i < PGCN_PLANS && fine; i++)
        for (int side = 0; side < 2 && fine; side++)
            fine = (share->plan[i].first[side] =
                        PGCN_I_ARRAY(&share->arena, int64_t, comm->size + 1)) &&
                   (share->plan[i].whole[side] = PGCN_I_ARRAY(&share->arena, bool, comm->size));
    if (!fine) pgcn_i_share_free(share);
    *out = fine ? share : NULL;
    return fine ? PGCN_OK : PGCN_ERR_MEMORY;
}

void pgcn_i_share_free(pgcn_i_share *share) {
    if (!share) return;
    for (int i = 0; i < PGCN_PLANS; i++) {
        for (int j = 0; j < 2; j++) pgcn_i_buffer_free(&share->plan[i].row[j]);
        pgcn_i_buffer_free(&share->plan[i].place);
    }
    for (int side = 0; side < 2; side++) {
        pgcn_i_buffer_free(&share->links.side[side].link);
        pgcn_i_buffer_free(&share->links.side[side].row);
        pgcn_i_buffer_free(&share->links.side[side].before);
    }
    pgcn_i_buffer_free(&share->flag);
    pgcn_i_buffer_free(&share->travel.messages);
    pgcn_i_buffer_free(&share->scratch);
    for (int j = 0; j < 2; j++) {
        pgcn_i_buffer_free(&share->rows[j]);
        pgcn_i_buffer_free(&share->travel.buffer[j]);
    }
    pgcn_i_arena_free(&share->arena);
    pgcn_i_free(share);
}

void pgcn_i_share_renew(pgcn_i_share *share) {
    if (share) share->time++, share->lists++;
}

void pgcn_i_share_renew_live(pgcn_i_share *share) {
    if (share) share->time++;
}

int64_t pgcn_i_share_fetched(const pgcn_i_share *share) {
    return share ? share->fetched : 0;
}

void *pgcn_i_share_buffer(pgcn_i_share *share, pgcn_i_buffer *buffer, int64_t bytes) {
    if (bytes > buffer->capacity) {
        pgcn_i_buffer_free(buffer);
        pgcn_status status = pgcn_i_buffer_reserve(buffer, bytes + bytes / 4 + 64);
        if (status != PGCN_OK) pgcn_i_comm_fail(share->comm, status);
    }
    return bytes <= buffer->capacity ? buffer->data : NULL;
}

float *pgcn_i_share_scratch(pgcn_i_tape *tape, int64_t floats) {
    return pgcn_i_share_buffer(tape->share, &tape->share->scratch, floats * (int64_t)sizeof(float));
}

static int64_t group_node(pgcn_i_blocks groups, int64_t group) {
    int64_t node = group * groups.size;
    return node < groups.rows ? node : groups.rows;
}

pgcn_i_own pgcn_i_own_of_rank(const pgcn_i_tape *tape, int64_t rows, int rank) {
    int ranks = tape->share->comm->size;
    pgcn_i_blocks groups = pgcn_i_groups_of(rows / tape->samples, tape->groups);
    pgcn_i_own own = {.groups = groups,
                      .first = pgcn_i_first_group(groups.count, rank, ranks),
                      .end = pgcn_i_first_group(groups.count, rank + 1, ranks)};
    own.begin = group_node(groups, own.first);
    own.stop = group_node(groups, own.end);
    return own;
}

pgcn_i_range pgcn_i_share_rows(const pgcn_i_tape *tape, int64_t rows, int sample, int rank) {
    const pgcn_i_own own = pgcn_i_own_of_rank(tape, rows, rank);
    const int64_t first = sample * own.groups.rows;
    return (pgcn_i_range){first + own.begin, first + own.stop};
}

pgcn_i_own pgcn_i_own_of(const pgcn_i_tape *tape, int64_t rows) {
    if (tape->share && !tape->replicated)
        return pgcn_i_own_of_rank(tape, rows, tape->share->comm->rank);
    pgcn_i_blocks groups = pgcn_i_groups_of(rows / tape->samples, tape->groups);
    return (pgcn_i_own){groups, 0, groups.count, 0, groups.rows};
}

pgcn_i_runs pgcn_i_runs_of(const pgcn_i_tape *tape, int64_t rows, const pgcn_i_live *live) {
    if (!tape->share || tape->replicated)
        return (pgcn_i_runs){.count = 1, .blocks = pgcn_i_blocks_of(live ? live->count : rows)};
    pgcn_i_own own = pgcn_i_own_of(tape, rows);
    if (!live)
        return (pgcn_i_runs){.first = own.begin,
                             .step = own.groups.rows,
                             .count = tape->samples,
                             .blocks = pgcn_i_blocks_of(own.stop - own.begin)};
    int64_t first = live->first[own.first];
    return (pgcn_i_runs){
        .first = first, .count = 1, .blocks = pgcn_i_blocks_of(live->first[own.end] - first)};
}

pgcn_status pgcn_i_share_division(const pgcn_i_tape *tape, int64_t n, const pgcn_i_division **out) {
    pgcn_i_share *share = tape->share;
    pgcn_i_division *division = &share->division;
    const int ranks = share->comm->size;
    division->comm = share->comm;
    division->begin = PGCN_I_ARRAY(&share->arena, int64_t, ranks + 1);
    if (!division->begin) return PGCN_ERR_MEMORY;
    for (int r = 0; r < ranks; r++)
        division->begin[r] = pgcn_i_own_of_rank(tape, n * tape->samples, r).begin;
    division->begin[ranks] = n;
    *out = division;
    return PGCN_OK;
}

/* ---- all rows ------------------------------------------------------------------------------------- */

/* The rows of one sample of a value, or links of them: where those of node `node` begin. */
static int64_t place_of(const pgcn_i_op *maker, int64_t node) {
    return maker->out->space == PGCN_I_LINKS ? maker->transition->exact->offset[node] : node;
}

/* Which bytes of an array are whose: it has `bytes` for each row of the result of an operation, and ranks own ranges of
 * its `held` rows. */
static void find_bounds(pgcn_i_tape *tape, const pgcn_i_op *maker, int64_t bytes, int64_t held,
                        int sample) {
    pgcn_i_share *share = tape->share;
    int64_t of_sample = place_of(maker, held / tape->samples);
    for (int r = 0; r < share->comm->size; r++)
        share->bound[r] =
            bytes * (sample * of_sample + place_of(maker, pgcn_i_own_of_rank(tape, held, r).begin));
    share->bound[share->comm->size] = bytes * (sample + 1) * of_sample;
}

/* Every rank gets all rows of such an array. */
static void gather(pgcn_i_tape *tape, const pgcn_i_op *maker, void *array, int64_t bytes,
                   int64_t held) {
    for (int sample = 0; sample < tape->samples; sample++) {
        find_bounds(tape, maker, bytes, held, sample);
        pgcn_i_comm_gather(tape->share->comm, array, tape->share->bound);
    }
}

static void gather_rows(pgcn_i_tape *tape, const pgcn_i_value *value, float *array, int64_t *held) {
    int64_t bytes = value->cols * (int64_t)sizeof *array;
    if (*held > 0) gather(tape, &tape->op[value->maker], array, bytes, *held);
    *held = 0;
}
static void gather_data(pgcn_i_tape *tape, pgcn_i_value *value) {
    if (value) gather_rows(tape, value, value->data, &value->held_data);
}
static void gather_grad(pgcn_i_tape *tape, pgcn_i_value *value) {
    if (value) gather_rows(tape, value, value->grad, &value->held_grad);
}

void pgcn_i_share_whole(pgcn_i_tape *tape, pgcn_i_value *value) {
    if (tape->share) gather_data(tape, value);
}

void pgcn_i_share_see_all(pgcn_i_tape *tape, pgcn_i_value *value) {
    const int64_t held = value->held_data;
    if (!tape->share || tape->replicated) return;
    gather_data(tape, value);
    value->held_data = held;
}

void pgcn_i_share_to_first(pgcn_i_tape *tape, pgcn_i_value *value) {
    pgcn_i_share *share = tape->share;
    const int64_t *bound = share->bound;
    char *array = (char *)value->data;
    for (int sample = 0; sample < tape->samples && value->held_data > 0; sample++) {
        int count = 0;
        find_bounds(tape, &tape->op[value->maker], value->cols * (int64_t)sizeof(float),
                    value->held_data, sample);
        for (int r = 1; r < share->comm->size; r++) {
            pgcn_i_message message = {r, false, array + bound[r], bound[r + 1] - bound[r]};
            if (share->comm->rank == r) message.peer = 0, message.sends = true;
            if (share->comm->rank == r || share->comm->rank == 0) share->message[count++] = message;
        }
        pgcn_i_comm_exchange(share->comm, share->message, count);
    }
    if (share->comm->rank == 0) value->held_data = 0;
}

void pgcn_i_share_numbers(const pgcn_i_tape *tape, int64_t rows, double *number, int64_t each) {
    pgcn_i_share *share = tape->share;
    if (!share) return;
    for (int r = 0; r <= share->comm->size; r++)
        share->bound[r] =
            pgcn_i_first_group(pgcn_i_groups_of(rows / tape->samples, tape->groups).count, r,
                               share->comm->size) *
            each * (int64_t)sizeof *number;
    pgcn_i_comm_gather(share->comm, number, share->bound);
}

pgcn_i_range pgcn_i_share_blocks(const pgcn_i_tape *tape, int64_t count) {
    if (!tape->share || tape->replicated) return (pgcn_i_range){0, count};
    const pgcn_i_comm *comm = tape->share->comm;
    return (pgcn_i_range){pgcn_i_first_group(count, comm->rank, comm->size),
                          pgcn_i_first_group(count, comm->rank + 1, comm->size)};
}

void pgcn_i_share_join(pgcn_i_tape *tape, void *array, int64_t bytes, pgcn_i_blocks blocks) {
    pgcn_i_share *share = tape->share;
    if (!share || tape->replicated) return;
    for (int r = 0; r <= share->comm->size; r++)
        share->bound[r] =
            bytes * group_node(blocks, pgcn_i_first_group(blocks.count, r, share->comm->size));
    pgcn_i_comm_gather(share->comm, array, share->bound);
}

/* The flags of a rank's rows go to it from all others, and then from it to all. */
void pgcn_i_share_flags(pgcn_i_tape *tape, uint8_t *flag, int64_t rows) {
    pgcn_i_share *share = tape->share;
    pgcn_i_comm *comm = share->comm;
    const int64_t n = rows / tape->samples;
    const pgcn_i_own own = pgcn_i_own_of_rank(tape, rows, comm->rank);
    const int64_t mine = (own.stop - own.begin) * tape->samples;
    char *give = pgcn_i_share_buffer(share, &share->rows[PGCN_GIVE], rows + 1);
    char *get = pgcn_i_share_buffer(share, &share->rows[PGCN_GET], mine * comm->size + 1);
    int count = 0;
    int64_t at = 0;
    if (!give || !get) return;
    memset(get, 0, (size_t)(mine * comm->size));
    for (int r = 0; r < comm->size; r++) {
        pgcn_i_own theirs = pgcn_i_own_of_rank(tape, rows, r);
        int64_t bytes = theirs.stop - theirs.begin;
        if (r == comm->rank) continue;
        share->message[count++] = (pgcn_i_message){r, true, give + at, bytes * tape->samples};
        share->message[count++] = (pgcn_i_message){r, false, get + r * mine, mine};
        for (int64_t s = 0; s < tape->samples; s++, at += bytes)
            memcpy(give + at, flag + s * n + theirs.begin, (size_t)bytes);
    }
    pgcn_i_comm_exchange(comm, share->message, count);
    for (int r = 0; r < comm->size; r++)
        for (int64_t i = 0; i < mine; i++)
            flag[i / (own.stop - own.begin) * n + own.begin + i % (own.stop - own.begin)] |=
                (uint8_t)get[r * mine + i];
    for (int64_t s = 0; s < tape->samples; s++) {
        for (int r = 0; r <= comm->size; r++)
            share->bound[r] = r < comm->size ? pgcn_i_own_of_rank(tape, rows, r).begin : n;
        pgcn_i_comm_gather(comm, flag + s * n, share->bound);
    }
}

void pgcn_i_share_relay(pgcn_i_tape *tape, float *data, int64_t count, int64_t chunk,
                        void (*add)(void *context, float *data, int64_t begin, int64_t end),
                        void *context) {
    pgcn_i_comm_relay(tape->share->comm, data, count, chunk, add, context);
}

/* ---- the same rows by another division -------------------------------------------------------------- */

static pgcn_i_range both(pgcn_i_range a, pgcn_i_range b) {
    int64_t begin = a.begin > b.begin ? a.begin : b.begin, end = a.end < b.end ? a.end : b.end;
    return (pgcn_i_range){begin, end > begin ? end : begin};
}

void pgcn_i_share_ranges(pgcn_i_tape *tape, float *array, int64_t cols, pgcn_i_range_of have,
                         pgcn_i_range_of want, const void *context) {
    pgcn_i_comm *comm = tape->share->comm;
    pgcn_i_message *message = tape->share->message;
    const int64_t bytes = cols * (int64_t)sizeof *array;
    int count = 0;
    for (int r = 0; r < comm->size; r++) {
        if (r == comm->rank) continue;
        pgcn_i_range give = both(have(context, comm->rank), want(context, r));
        pgcn_i_range get = both(want(context, comm->rank), have(context, r));
        message[count++] =
            (pgcn_i_message){r, true, array + give.begin * cols, (give.end - give.begin) * bytes};
        message[count++] =
            (pgcn_i_message){r, false, array + get.begin * cols, (get.end - get.begin) * bytes};
    }
    pgcn_i_comm_exchange(comm, message, count);
}

typedef struct two_divisions {
    const pgcn_i_tape *tape;
    int64_t from, to;
} two_divisions;

static pgcn_i_range rows_by(const two_divisions *of, int64_t rows, int rank) {
    return both(pgcn_i_share_rows(of->tape, rows, 0, rank),
                (pgcn_i_range){0, of->from < of->to ? of->from : of->to});
}
static pgcn_i_range rows_before(const void *context, int rank) {
    const two_divisions *of = context;
    return rows_by(of, of->from, rank);
}
static pgcn_i_range rows_after(const void *context, int rank) {
    const two_divisions *of = context;
    return rows_by(of, of->to, rank);
}

/* Rows that are divided by `from` rows, to whom they belong by `to` rows. Of a part of a graph: samples are not stacked. */
static void move(pgcn_i_tape *tape, float *array, int64_t cols, int64_t from, int64_t to) {
    const two_divisions of = {tape, from, to};
    pgcn_i_share_ranges(tape, array, cols, rows_before, rows_after, &of);
}

/* Data that a loop over `rows` rows reads, row by row. */
static void align_data(pgcn_i_tape *tape, pgcn_i_value *value, int64_t rows) {
    if (!value || value->held_data == 0 || value->held_data == rows) return;
    if (value->space == PGCN_I_NODES)
        move(tape, value->data, value->cols, value->held_data, rows);
    else
        gather_data(tape, value);
}

/* Gradients that it reads, or adds to. */
static void align_grad(pgcn_i_tape *tape, pgcn_i_value *value, int64_t rows) {
    if (!value || value->held_grad == 0 || value->held_grad == rows) return;
    if (value->space == PGCN_I_NODES)
        move(tape, value->grad, value->cols, value->held_grad, rows);
    else
        gather_grad(tape, value);
}

/* What it has written, or added to, is back where the other rows of the value are. */
static void keep_grad(pgcn_i_tape *tape, pgcn_i_value *value, int64_t rows, bool added) {
    if (!value) return;
    if (added && value->held_grad > rows && value->space == PGCN_I_NODES)
        move(tape, value->grad, value->cols, rows, value->held_grad);
    else
        value->held_grad = rows;
}

/* In a part of a graph a row of a matrix is a row of the value. */
static int64_t rows_of_sample(const pgcn_i_tape *tape, int64_t n) {
    return tape->part ? INT64_MAX : n;
}

void pgcn_i_share_fetch(pgcn_i_tape *tape, const pgcn_i_op *op, const pgcn_i_csr *along,
                        float *array, int64_t stride, int64_t cols) {
    if (!tape->share || tape->replicated) return;
    pgcn_i_travel_fetch(tape,
                        (pgcn_i_want){.hop = along,
                                      .hops = 1,
                                      .n = op->transition->n,
                                      .others = op->transition->others,
                                      .rows = op->out->rows,
                                      .held = op->out->rows},
                        array, stride, cols);
}

void pgcn_i_share_fetch_along(pgcn_i_tape *tape, const pgcn_i_op *op, pgcn_i_reach reach,
                              float *array) {
    if (!tape->share || tape->replicated) return;
    pgcn_i_travel_fetch(tape,
                        (pgcn_i_want){.hop = reach.hop,
                                      .hops = reach.hops,
                                      .n = reach.n,
                                      .others = reach.others,
                                      .rows = op->out->rows,
                                      .held = op->out->rows},
                        array, op->out->cols, op->out->cols);
}

/* ---- loops ------------------------------------------------------------------------------------------- */

/* Whether every rank goes through all rows of an operation's ..._all. */
static bool replicates(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    if (op->kind->shares) return tape->part && op->kind->steps;
    return op->kind->needs == PGCN_I_NEEDS_ALL;
}

static bool has_links(const pgcn_i_op *op) {
    return op->out->space == PGCN_I_LINKS || (op->in[1] && op->in[1]->space == PGCN_I_LINKS);
}

/* In a part of a graph lists have rows of one level, and transposes those of the next; features have the last level's. */
static bool levels_agree(const pgcn_i_tape *tape) {
    for (int i = 0; i < tape->count; i++) {
        const pgcn_i_op *op = &tape->op[i];
        bool reads_features = op->kind->needs == PGCN_I_NEEDS_NOTHING && !op->transition;
        if (reads_features && op->out->level != tape->part->levels) return false;
    }
    for (int i = tape->backward_first; i < tape->loops; i++) {
        const pgcn_i_op *top = &tape->op[tape->loop[i].last], *end = &tape->op[tape->loop[i].first];
        bool visits = top->kind->needs == PGCN_I_NEEDS_VISITED;
        if (tape->loop[i].pass != PGCN_I_BACKWARD || !visits) continue;
        int level = end->in[0] ? pgcn_i_level_used(end, 0) : end->out->level;
        if (level != top->out->level + 1) return false;
    }
    return true;
}

bool pgcn_i_share_divides(const pgcn_i_tape *tape) {
    if (tape->part && !levels_agree(tape)) return false;
    for (int i = 0; i < tape->count; i++) {
        const pgcn_i_op *op = &tape->op[i];
        const pgcn_i_kind *kind = op->kind;
        bool visits = kind->needs == PGCN_I_NEEDS_VISITED;
        bool back = tape->with_grad && (kind->backward_all || kind->backward_rows);
        if (replicates(tape, op) || (tape->part && has_links(op))) return false;
        bool reads_lists = op->transition && kind->needs != PGCN_I_NEEDS_NOTHING;
        if (reads_lists && !kind->reach && !kind->shares) return false;
        if (visits && back && !(kind->reach_back && kind->backward_rows)) return false;
    }
    return true;
}

static pgcn_i_want visited_by(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    pgcn_i_reach reach = op->kind->reach(op);
    return (pgcn_i_want){.hop = reach.hop,
                         .hops = reach.hops,
                         .n = rows_of_sample(tape, reach.n),
                         .others = reach.others,
                         .from = op->live_out,
                         .rows = op->rows,
                         .held = op->in[0]->held_data};
}

void pgcn_i_share_forward(pgcn_i_tape *tape, pgcn_i_loop loop) {
    const pgcn_i_op *op = &tape->op[loop.first];
    pgcn_i_value *x = op->in[0];
    bool all = replicates(tape, op);
    if (all) {
        gather_data(tape, x);
        gather_data(tape, op->in[1]);
    } else if (op->kind->needs == PGCN_I_NEEDS_VISITED) {
        pgcn_i_travel_fetch(tape, visited_by(tape, op), x->data, x->cols, x->cols);
    } else {
        align_data(tape, x, op->rows);
    }
    for (int i = loop.first; i <= loop.last; i++) align_data(tape, tape->op[i].in[1], op->rows);
    tape->replicated = all && op->kind->forward_all;
}

void pgcn_i_share_forward_done(pgcn_i_tape *tape, pgcn_i_loop loop) {
    const pgcn_i_op *op = &tape->op[loop.first];
    bool all = replicates(tape, op) && !op->kind->forward_rows;
    for (int i = loop.first; i <= loop.last; i++) {
        tape->op[i].out->held_data = all ? 0 : op->rows;
        tape->op[i].out->data_by_columns = false;
    }
}

/* All rows of whatever the operations of a chain read or add to. */
static void gather_chain(pgcn_i_tape *tape, pgcn_i_loop loop) {
    gather_grad(tape, tape->op[loop.last].out);
    for (int i = loop.last; i >= loop.first; i--) {
        const pgcn_i_op *op = &tape->op[i];
        if (op->kind->backward_reads_in) gather_data(tape, op->in[0]);
        if (op->kind->backward_reads_second) gather_data(tape, op->in[1]);
        if (op->kind->backward_reads_out) gather_data(tape, op->out);
        if (op->kept)
            gather(tape, op, op->kept, op->kind->kept_bytes(op) / op->out->rows, op->rows);
        for (int j = 0; j < 2; j++)
            if (op->add_in[j]) gather_grad(tape, op->in[j]);
    }
}

static void align_chain(pgcn_i_tape *tape, pgcn_i_loop loop, int64_t rows) {
    for (int i = loop.last; i >= loop.first; i--) {
        const pgcn_i_op *op = &tape->op[i];
        if (op->kind->backward_reads_in) align_data(tape, op->in[0], rows);
        if (op->kind->backward_reads_second) align_data(tape, op->in[1], rows);
        if (op->kind->backward_reads_out) align_data(tape, op->out, rows);
        for (int j = 0; j < 2; j++)
            if (op->add_in[j]) align_grad(tape, op->in[j], rows);
    }
}

/* Rows of others have their flags where their gradients will be. */
static void copy_flags(const pgcn_i_want *of, uint8_t *flag) {
    const pgcn_i_others *others = of->others;
    for (int64_t first = 0; first < of->held; first += of->n)
        for (int64_t i = 0; i < others->count; i++)
            flag[others->from + first + i] = flag[first + others->row[i]];
}

/* Gradients that a loop over `rows` rows gathers. */
static pgcn_i_want visitors_of(const pgcn_i_tape *tape, const pgcn_i_op *op, int64_t rows) {
    pgcn_i_reach reach = op->kind->reach_back(op);
    return (pgcn_i_want){.hop = reach.hop,
                         .hops = reach.hops,
                         .n = rows_of_sample(tape, reach.n),
                         .others = reach.others,
                         .from = op->live_in,
                         .has = pgcn_i_has_gradient(tape, op),
                         .rows = rows,
                         .held = op->out->held_grad};
}

static void fetch_gradients(pgcn_i_tape *tape, const pgcn_i_op *op, int64_t rows) {
    pgcn_i_want of = visitors_of(tape, op, rows);
    if (of.others && op->live_out) copy_flags(&of, op->live_out->flag);
    if (op->out->space != PGCN_I_LINKS)
        pgcn_i_travel_fetch(tape, of, op->out->grad, op->out->cols, op->out->cols);
    if (has_links(op)) pgcn_i_links_before(tape, op);
    of.has = NULL;
    of.held = op->in[0] ? op->in[0]->held_data : 0;
    if (op->kind->backward_gathers_in)
        pgcn_i_travel_fetch(tape, of, op->in[0]->data, op->in[0]->cols, op->in[0]->cols);
}

static bool chain_replicates(const pgcn_i_tape *tape, const pgcn_i_op *top) {
    return top->kind->backward_rows ? tape->part && has_links(top) : replicates(tape, top);
}

/* By which the rows of a loop of the backward pass are divided: those whose gradient it makes. */
static int64_t backward_rows(const pgcn_i_tape *tape, pgcn_i_loop loop) {
    return pgcn_i_chain_rows(&tape->op[loop.first]);
}

void pgcn_i_share_backward(pgcn_i_tape *tape, pgcn_i_loop loop) {
    const pgcn_i_op *top = &tape->op[loop.last];
    int64_t rows = backward_rows(tape, loop);
    if (chain_replicates(tape, top)) {
        gather_chain(tape, loop);
        tape->replicated = true;
        return;
    }
    align_chain(tape, loop, rows);
    if (top->kind->backward_rows && top->kind->needs == PGCN_I_NEEDS_VISITED)
        fetch_gradients(tape, top, rows);
    else
        align_grad(tape, top->out, top->kind->backward_rows ? rows : top->rows);
}

void pgcn_i_share_backward_done(pgcn_i_tape *tape, pgcn_i_loop loop) {
    bool all = chain_replicates(tape, &tape->op[loop.last]);
    int64_t rows = backward_rows(tape, loop);
    for (int i = loop.last; i >= loop.first; i--)
        for (int j = 0; j < 2; j++) {
            const pgcn_i_op *op = &tape->op[i];
            bool written = op->in[j] && (j == 1 || op->in[j]->shared || i == loop.first);
            if (written && all) op->in[j]->held_grad = 0;
            if (written && !all) keep_grad(tape, op->in[j], rows, op->add_in[j]);
            if (j == 1 && has_links(op) && !all) pgcn_i_links_after(op);
        }
}

/* ---- while rows are made ------------------------------------------------------------------------------ */

/* The operation that a loop begins with. */
static const pgcn_i_op *opener(const pgcn_i_tape *tape, pgcn_i_loop loop) {
    return &tape->op[loop.pass == PGCN_I_BACKWARD ? loop.last : loop.first];
}

/* The next loop of the same pass that reads more than its own rows; NULL: there is none. */
static const pgcn_i_loop *next_gathering(const pgcn_i_tape *tape, pgcn_i_loop loop) {
    const pgcn_i_loop *at = tape->loop, *end = tape->loop + tape->loops;
    while (at < end && !(at->pass == loop.pass && at->first == loop.first)) at++;
    for (at++; at < end && at->pass == loop.pass; at++)
        if (opener(tape, *at)->kind->needs != PGCN_I_NEEDS_ROW) return at;
    return NULL;
}

/* What is fetched of a value that a loop has just made lands behind the rows of all ranks, or where their owner has them.
 * From the loop that makes it on, the planner gives this memory to nobody else; what the value goes over is read by this
 * loop's own rows alone. */
int64_t pgcn_i_share_ahead(pgcn_i_tape *tape, pgcn_i_loop loop, const pgcn_i_live *live) {
    if (!tape->share || tape->replicated || tape->recomputed || tape->may_stop) return 0;
    if (live && tape->samples > 1) return 0; /* a list has all samples of a group side by side */
    const pgcn_i_loop *next = next_gathering(tape, loop);
    const pgcn_i_op *reader = next ? opener(tape, *next) : NULL;
    if (!reader || reader->kind->needs != PGCN_I_NEEDS_VISITED) return 0;
    const bool back = loop.pass == PGCN_I_BACKWARD;
    pgcn_i_value *made = back ? reader->out : reader->in[0];
    if (made->space != PGCN_I_NODES) return 0;
    if (!back) {
        bool here = made->maker >= loop.first && made->maker <= loop.last;
        if (!here || replicates(tape, reader) || !made->data) return 0;
        made->held_data = tape->op[loop.first].rows;
        return pgcn_i_travel_ahead(tape, visited_by(tape, reader), made->data, made->cols, false);
    }
    bool here = tape->op[loop.first].in[0] == made && !made->shared;
    if (!here || !reader->kind->backward_rows || chain_replicates(tape, reader) || !made->grad)
        return 0;
    made->held_grad = backward_rows(tape, loop);
    return pgcn_i_travel_ahead(tape, visitors_of(tape, reader, backward_rows(tape, *next)),
                               made->grad, made->cols, true);
}

/* ---- what it takes ------------------------------------------------------------------------------------ */

int64_t pgcn_i_share_messages(const pgcn_i_share *share) {
    int64_t bytes = share->arena.bytes + share->flag.capacity + share->scratch.capacity +
                    share->travel.messages.capacity;
    for (int side = 0; side < 2; side++) {
        const pgcn_i_link_side *links = &share->links.side[side];
        bytes += share->rows[side].capacity + share->travel.buffer[side].capacity +
                 links->link.capacity + links->row.capacity + links->before.capacity;
    }
    for (int i = 0; i < PGCN_PLANS; i++)
        bytes += share->plan[i].row[PGCN_GET].capacity + share->plan[i].row[PGCN_GIVE].capacity +
                 share->plan[i].place.capacity;
    return bytes;
}

typedef struct stretch {
    const float *begin, *end;
} stretch;

static int by_address(const void *a, const void *b) {
    const stretch *left = a, *right = b;
    return (left->begin > right->begin) - (left->begin < right->begin);
}

/* This rank's rows of an array, one stretch for each sample. */
static int64_t add_stretches(const pgcn_i_tape *tape, const pgcn_i_value *value, const float *array,
                             stretch *to) {
    if (!array || value->space == PGCN_I_GRAPHS) return 0;
    const pgcn_i_op *maker = &tape->op[value->maker];
    const pgcn_i_own own = pgcn_i_own_of(tape, maker->rows);
    for (int64_t s = 0; s < tape->samples; s++) {
        const float *first = array + s * place_of(maker, own.groups.rows) * value->cols;
        to[s] = (stretch){first + place_of(maker, own.begin) * value->cols,
                          first + place_of(maker, own.stop) * value->cols};
    }
    return tape->samples;
}

/* Arrays of different widths share memory: a place may have rows of this rank of several. */
int64_t pgcn_i_share_resident(const pgcn_i_tape *const tape[2]) {
    enum { ARRAYS = 3 };
    int64_t count = 0, floats = 0, all, own = 0;
    const float *counted = tape[0]->work;
    for (int t = 0; t < 2; t++) {
        count += ARRAYS * (int64_t)tape[t]->count * tape[t]->samples;
        if (tape[t]->work_floats > floats) floats = tape[t]->work_floats;
    }
    stretch *at = pgcn_i_alloc(count, sizeof *at);
    if (!at || !tape[0]->work) return 0;
    count = 0;
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < tape[t]->count; i++) {
            const pgcn_i_op *op = &tape[t]->op[i];
            const float *array[ARRAYS] = {op->out->data, op->out->grad,
                                          op->kind->uses_power ? tape[t]->power : NULL};
            for (int j = 0; j < ARRAYS; j++)
                count += add_stretches(tape[t], op->out, array[j], at + count);
        }
    qsort(at, (size_t)count, sizeof *at, by_address);
    for (int64_t i = 0; i < count; i++) {
        const float *begin = at[i].begin > counted ? at[i].begin : counted;
        if (begin >= at[i].end) continue;
        own += pgcn_i_resident(begin, (at[i].end - begin) * (int64_t)sizeof *begin);
        counted = at[i].end;
    }
    pgcn_i_free(at);
    all = pgcn_i_resident(tape[0]->work, floats * (int64_t)sizeof *counted);
    return all > own ? all - own : 0;
}
