/* Sums over groups of rows: each group has its partial sum, and these are added in the order of the groups, by one
 * process or by several ranks. So no bit depends on how many threads or ranks there are.
 *
 * Ranks have runs of groups. There are two ways to keep the order:
 *
 *   relay        rank after rank adds its groups to what the one before hands on, piece by piece, and all get what the
 *                last one has. Every rank sends a sum once; it takes as many messages one after the other as there are
 *                ranks.
 *   two rounds   every rank makes a part of the sums: it gets the partial sums of all groups for its part, adds them,
 *                and hands the part to all. Two exchanges, whatever the number of ranks, of as many bytes as a rank has
 *                groups.
 *
 * Both add the same numbers in the same order. Which one a network would finish first is computed. Called by tape.c and
 * by operations. */
#include "nn/sums.h"
#include "nn/share.h"

#include <string.h>

/* ---- one process ------------------------------------------------------------------------------------- */

enum { SUM_CHUNK = 1024 };

static int64_t chunks_of(const pgcn_i_group_sum *sum) {
    return (sum->count + SUM_CHUNK - 1) / SUM_CHUNK;
}

static void sum_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_sums *sums = context;
    const pgcn_i_group_sum *sum = sums->sum;
    for (; task >= chunks_of(sum); sum++) task -= chunks_of(sum);
    int64_t begin = task * SUM_CHUNK;
    int64_t end = begin + SUM_CHUNK < sum->count ? begin + SUM_CHUNK : sum->count;
    bool add = sum->add;
    for (int64_t group = 0; group < sums->own.groups.count; group++) {
        if (pgcn_i_is_empty_group(sums->live, group)) continue;
        const float *part = pgcn_i_partial(sums->tape, group) + sum->first;
        sums->tape->kernels->scale(sum->to, 1.0f, part, begin, end, add);
        add = true;
    }
    if (!add) memset(sum->to + begin, 0, (size_t)(end - begin) * sizeof *sum->to);
}

static void sum_here(pgcn_i_sums *sums) {
    int64_t tasks = 0, floats = 0;
    for (int i = 0; i < sums->count; i++) {
        tasks += chunks_of(&sums->sum[i]);
        floats += sums->sum[i].count * sums->own.groups.count;
    }
    pgcn_i_parallel_light(sums->tape->pool, floats, tasks, sum_task, sums);
}

/* ---- of several ranks: all sums side by side, as one array -------------------------------------------- */

static int64_t floats_of(const pgcn_i_sums *sums) {
    int64_t floats = 0;
    for (int i = 0; i < sums->count; i++) floats += sums->sum[i].count;
    return floats;
}

/* What sums are added to, into the array; and the array, where sums belong. */
static void take_old(const pgcn_i_sums *sums, float *data) {
    for (int i = 0; i < sums->count; data += sums->sum[i++].count)
        if (sums->sum[i].add)
            memcpy(data, sums->sum[i].to, (size_t)sums->sum[i].count * sizeof *data);
}
static void put_new(const pgcn_i_sums *sums, const float *data) {
    for (int i = 0; i < sums->count; data += sums->sum[i++].count)
        memcpy(sums->sum[i].to, data, (size_t)sums->sum[i].count * sizeof *data);
}

/* A sum's share of the places begin .. end-1 of the array. */
typedef struct piece {
    const pgcn_i_group_sum *sum;
    int64_t before;   /* of the array, before this sum */
    int64_t from, to; /* of the sum */
} piece;

/* The next piece, from number *next on; false: there are no more. */
static bool next_piece(const pgcn_i_sums *sums, int64_t begin, int64_t end, int *next, piece *out) {
    int64_t before = 0;
    for (int i = 0; i < sums->count; before += sums->sum[i++].count) {
        if (i < *next) continue;
        int64_t from = begin > before ? begin - before : 0, count = sums->sum[i].count;
        int64_t to = end - before < count ? end - before : count;
        *next = i + 1;
        *out = (piece){&sums->sum[i], before, from, to};
        if (from < to) return true;
    }
    return false;
}

/* Whether a group before this one has a sum. */
static bool has_begun(const pgcn_i_sums *sums, int64_t group) {
    for (int64_t g = 0; g < group; g++)
        if (!pgcn_i_is_empty_group(sums->live, g)) return true;
    return false;
}

/* ---- rank after rank ------------------------------------------------------------------------------------ */

enum { RELAY_CHUNK = 16384 };

static void relay_add(void *context, float *data, int64_t begin, int64_t end) {
    const pgcn_i_sums *sums = context;
    const pgcn_i_own *own = &sums->own;
    piece p;
    for (int next = 0; next_piece(sums, begin, end, &next, &p);) {
        bool add = p.sum->add || has_begun(sums, own->first);
        for (int64_t group = own->first; group < own->end; group++) {
            if (pgcn_i_is_empty_group(sums->live, group)) continue;
            const float *part = pgcn_i_partial(sums->tape, group) + p.sum->first;
            sums->tape->kernels->scale(data + p.before, 1.0f, part, p.from, p.to, add);
            add = true;
        }
        if (!add && own->end == own->groups.count)
            memset(data + p.before + p.from, 0, (size_t)(p.to - p.from) * sizeof *data);
    }
}

/* ---- in two rounds ---------------------------------------------------------------------------------------- */

/* The part of the sums that a rank makes: whole cache lines. */
static int64_t part_begin(int64_t floats, int rank, int ranks) {
    enum { LINE = PGCN_ALIGN / sizeof(float) };
    int64_t lines = (floats + LINE - 1) / LINE, begin = (lines * rank + ranks - 1) / ranks * LINE;
    return begin < floats ? begin : floats;
}

/* Groups of a rank that have sums. */
static int64_t groups_with_sums(const pgcn_i_sums *sums, int rank, int ranks) {
    int64_t count = 0, groups = sums->own.groups.count;
    for (int64_t g = pgcn_i_first_group(groups, rank, ranks);
         g < pgcn_i_first_group(groups, rank + 1, ranks); g++)
        count += !pgcn_i_is_empty_group(sums->live, g);
    return count;
}

/* What this rank has for the part begin .. end-1, group by group. */
static float *pack_part(const pgcn_i_sums *sums, int64_t begin, int64_t end, float *to) {
    for (int64_t group = sums->own.first; group < sums->own.end; group++) {
        piece p;
        if (pgcn_i_is_empty_group(sums->live, group)) continue;
        for (int next = 0; next_piece(sums, begin, end, &next, &p); to += p.to - p.from)
            memcpy(to, pgcn_i_partial(sums->tape, group) + p.sum->first + p.from,
                   (size_t)(p.to - p.from) * sizeof *to);
    }
    return to;
}

/* Adds what all ranks have for the part begin .. end-1, `groups` times, to the array. */
static void add_part(const pgcn_i_sums *sums, float *data, int64_t begin, int64_t end,
                     const float *got, int64_t groups) {
    piece p;
    for (int next = 0; next_piece(sums, begin, end, &next, &p);) {
        float *to = data + p.before;
        const float *part = got + p.before + p.from - begin;
        for (int64_t g = 0; g < groups; g++, part += end - begin)
            sums->tape->kernels->scale(to + p.from, 1.0f, part, 0, p.to - p.from,
                                       p.sum->add || g > 0);
        if (groups == 0 && !p.sum->add)
            memset(to + p.from, 0, (size_t)(p.to - p.from) * sizeof *to);
    }
}

static void sum_in_two_rounds(pgcn_i_sums *sums, float *data, int64_t floats) {
    pgcn_i_share *share = sums->tape->share;
    pgcn_i_comm *comm = share->comm;
    const int me = comm->rank, ranks = comm->size;
    const int64_t begin = part_begin(floats, me, ranks), end = part_begin(floats, me + 1, ranks);
    const int64_t mine = groups_with_sums(sums, me, ranks), size = sizeof *data;
    int64_t groups = 0, own_first = 0;
    for (int r = 0; r < ranks; r++) {
        if (r == me) own_first = groups;
        groups += groups_with_sums(sums, r, ranks);
    }
    float *give = pgcn_i_share_buffer(share, &share->rows[PGCN_GIVE], mine * floats * size + 1);
    float *got =
        pgcn_i_share_buffer(share, &share->rows[PGCN_GET], groups * (end - begin) * size + 1);
    int count = 0;
    if (!give || !got) return;
    float *from = got;
    for (int r = 0; r < ranks; r++) {
        int64_t first = part_begin(floats, r, ranks), stop = part_begin(floats, r + 1, ranks);
        int64_t theirs = groups_with_sums(sums, r, ranks) * (end - begin);
        float *packed = r == me ? got + own_first * (end - begin) : give;
        float *after = pack_part(sums, first, stop, packed);
        if (r != me) {
            share->message[count++] = (pgcn_i_message){r, true, give, (after - give) * size};
            share->message[count++] = (pgcn_i_message){r, false, from, theirs * size};
            give = after;
        }
        from += theirs;
    }
    pgcn_i_comm_exchange(comm, share->message, count);
    add_part(sums, data, begin, end, got, groups);
    for (int r = 0; r <= ranks; r++) share->bound[r] = part_begin(floats, r, ranks) * size;
    pgcn_i_comm_gather(comm, data, share->bound);
}

/* ---- which of both ---------------------------------------------------------------------------------------- */

/* Seconds on a usual network of a cluster, 10 Gbit/s and 25 us. With two ranks a relay is two messages, too. */
static bool two_rounds_are_faster(const pgcn_i_sums *sums, int64_t floats) {
    const double latency = 25e-6, bandwidth = 1.25e9;
    const int ranks = sums->tape->share->comm->size;
    const double bytes = (double)floats * sizeof(float), others = 1 - 1.0 / ranks;
    const double chunk = RELAY_CHUNK * sizeof(float), first = bytes < chunk ? bytes : chunk;
    const double groups = (double)sums->own.groups.count / ranks;
    int doublings = 0;
    while (1 << doublings < ranks) doublings++;
    double relay = (ranks - 1) * (latency + first / bandwidth) + (bytes - first) / bandwidth +
                   doublings * (latency + bytes / bandwidth);
    double two = 2 * latency + (groups + 1) * others * bytes / bandwidth;
    return two < relay;
}

static void sum_on_ranks(pgcn_i_sums *sums) {
    const int64_t floats = floats_of(sums);
    float *data = pgcn_i_share_scratch(sums->tape, floats);
    if (!data) return;
    take_old(sums, data);
    if (two_rounds_are_faster(sums, floats))
        sum_in_two_rounds(sums, data, floats);
    else
        pgcn_i_share_relay(sums->tape, data, floats, RELAY_CHUNK, relay_add, sums);
    put_new(sums, data);
}

/* ---- all of it ---------------------------------------------------------------------------------------------- */

void pgcn_i_sums_run(pgcn_i_sums *sums) {
    if (!sums->tape->share || sums->tape->replicated)
        sum_here(sums);
    else if (sums->count > 0)
        sum_on_ranks(sums);
    sums->count = 0;
}

void pgcn_i_sums_add(pgcn_i_sums *sums, pgcn_i_group_sum sum) {
    if (sums->count == PGCN_SUMS) pgcn_i_sums_run(sums);
    sums->sum[sums->count++] = sum;
}

void pgcn_i_tape_reduce(pgcn_i_tape *tape, float *grad, bool add, int64_t rows, int64_t count) {
    pgcn_i_sums sums = {.tape = tape, .own = pgcn_i_own_of(tape, rows)};
    pgcn_i_sums_add(&sums, (pgcn_i_group_sum){grad, add, 0, count});
    pgcn_i_sums_run(&sums);
}
