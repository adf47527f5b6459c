/* Lists that are divided among ranks: entries of transposes go to the ranks that have their columns, and rows of other
 * ranks get numbers.
 *
 * The order of sums: rank r has smaller nodes than rank r + 1, and gives away the entries of its rows in the order of
 * the rows. So entries that are taken rank by rank stand in the order of their rows, as in one process. Called by
 * visits.c, once per draw, and by views, once for an exact transition. */
#include "paths/divide.h"

#include <string.h>

/* ---- trading entries ------------------------------------------------------------------------------ */

enum { GIVE = 0, GET = 1, ENTRY_BYTES = 2 * sizeof(pgcn_node) + sizeof(float) };

static int ranks_of(const pgcn_i_trade *trade) {
    return trade->division->comm->size;
}
static int64_t buckets_of(const pgcn_i_trade *trade, int rank) {
    return trade->first_bucket[rank + 1] - trade->first_bucket[rank];
}

/* The entries of a list and sample that rank `rank` gets: those of its buckets. */
static pgcn_i_range given_to(const pgcn_i_trade *trade, int hop, int sample, int rank) {
    const int64_t *place = trade->place[hop] + sample * trade->first_bucket[ranks_of(trade)];
    return (pgcn_i_range){place[trade->first_bucket[rank]], place[trade->first_bucket[rank + 1]]};
}

/* Numbers of entries that rank r has for the buckets of this one, [hops, samples, own buckets]. */
static int64_t *got_counts(const pgcn_i_trade *trade, int rank) {
    int64_t own = buckets_of(trade, trade->division->comm->rank);
    return (int64_t *)(void *)trade->count[GET].data + rank * trade->hops * trade->samples * own;
}

/* Room for `bytes`; NULL without memory, which is told to the other ranks. A rank without nodes has room for nothing,
 * and yet sends and gets what others do. */
static void *room(const pgcn_i_trade *trade, pgcn_i_buffer *buffer, int64_t bytes) {
    if (bytes > buffer->capacity || !buffer->data) {
        pgcn_i_buffer_free(buffer);
        pgcn_status status = pgcn_i_buffer_reserve(buffer, bytes + bytes / 4 + 64);
        if (status != PGCN_OK) pgcn_i_comm_fail(trade->division->comm, status);
    }
    return bytes <= buffer->capacity ? buffer->data : NULL;
}

/* A message to every other rank, and one from it. */
static void swap(const pgcn_i_trade *trade, char *give, const int64_t *given, char *get,
                 const int64_t *got) {
    pgcn_i_comm *comm = trade->division->comm;
    pgcn_i_message *message = pgcn_i_alloc(2 * (int64_t)comm->size, sizeof *message);
    int count = 0;
    if (!message) pgcn_i_comm_fail(comm, PGCN_ERR_MEMORY);
    for (int i = 1; i < comm->size && message; i++) { /* not all to the same one at the same time */
        int to = (comm->rank + i) % comm->size, from = (comm->rank + comm->size - i) % comm->size;
        message[count++] = (pgcn_i_message){to, true, give + given[to], given[to + 1] - given[to]};
        message[count++] =
            (pgcn_i_message){from, false, get + got[from], got[from + 1] - got[from]};
    }
    pgcn_i_comm_exchange(comm, message, count);
    pgcn_i_free(message);
}

static void swap_counts(pgcn_i_trade *trade) {
    const int ranks = ranks_of(trade), me = trade->division->comm->rank;
    const int64_t lists = trade->hops * trade->samples, size = sizeof(int64_t);
    for (int r = 0; r < ranks; r++) {
        trade->give[r + 1] = trade->give[r] + lists * buckets_of(trade, r) * size;
        trade->get[r + 1] = trade->get[r] + lists * buckets_of(trade, me) * size;
    }
    int64_t *count = room(trade, &trade->count[GIVE], trade->give[ranks]);
    char *got = room(trade, &trade->count[GET], trade->get[ranks]);
    if (!count || !got) return;
    memset(got, 0, (size_t)trade->get[ranks]);
    for (int r = 0; r < ranks; r++)
        for (int hop = 0; hop < trade->hops; hop++)
            for (int sample = 0; sample < trade->samples; sample++) {
                const int64_t *place = trade->place[hop] + sample * trade->first_bucket[ranks];
                for (int64_t b = trade->first_bucket[r]; b < trade->first_bucket[r + 1]; b++)
                    *count++ = place[b + 1] - place[b];
            }
    swap(trade, trade->count[GIVE].data, trade->give, got, trade->get);
    memcpy(got + trade->get[me], trade->count[GIVE].data + trade->give[me],
           (size_t)(trade->get[me + 1] - trade->get[me]));
}

/* Entries as they travel: those of a list and sample after those of the one before, rows, columns, then values. */
static pgcn_i_entries packed_entries(char *at, int64_t count) {
    pgcn_node *node = (pgcn_node *)(void *)at;
    return (pgcn_i_entries){node, node + count, (float *)(void *)(node + 2 * count)};
}

static void copy_entries(const pgcn_i_entries *to, int64_t at, const pgcn_i_entries *from,
                         int64_t first, int64_t count) {
    memcpy(to->row + at, from->row + first, (size_t)count * sizeof *to->row);
    memcpy(to->column + at, from->column + first, (size_t)count * sizeof *to->column);
    memcpy(to->value + at, from->value + first, (size_t)count * sizeof *to->value);
}

static void pack_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_trade *trade = context;
    const int rank = (int)task;
    char *at = trade->packed[GIVE].data + trade->give[rank];
    for (int hop = 0; hop < trade->hops && rank != trade->division->comm->rank; hop++)
        for (int sample = 0; sample < trade->samples; sample++) {
            pgcn_i_range run = given_to(trade, hop, sample, rank);
            pgcn_i_entries to = packed_entries(at, run.end - run.begin);
            copy_entries(&to, 0, &trade->given[hop], run.begin, run.end - run.begin);
            at += (run.end - run.begin) * ENTRY_BYTES;
        }
}

/* Where the buckets of this rank begin in what it gets. */
static void place_got(pgcn_i_trade *trade) {
    const int ranks = ranks_of(trade);
    const int64_t own = buckets_of(trade, trade->division->comm->rank);
    for (int hop = 0; hop < trade->hops; hop++) {
        int64_t at = 0;
        for (int64_t part = 0; part < trade->samples * own; part++) {
            trade->begin[hop][part] = at;
            for (int r = 0; r < ranks; r++)
                at += got_counts(trade, r)[hop * trade->samples * own + part];
        }
        trade->begin[hop][trade->samples * own] = at;
    }
}

/* The entries that one rank gave, of one list. */
static void unpack_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_trade *trade = context;
    const int hop = (int)(task / ranks_of(trade)), rank = (int)(task % ranks_of(trade));
    const int me = trade->division->comm->rank;
    const int64_t own = buckets_of(trade, me), parts = trade->samples * own;
    const int64_t *count = got_counts(trade, rank);
    char *at = trade->packed[GET].data + trade->get[rank];
    for (int64_t part = 0; part < hop * parts; part++) at += count[part] * ENTRY_BYTES;
    count += hop * parts;
    for (int sample = 0; sample < trade->samples; sample++) {
        int64_t run = 0, taken = 0;
        for (int64_t b = 0; b < own; b++) run += count[sample * own + b];
        pgcn_i_entries from = packed_entries(at, run);
        if (rank == me) {
            from = trade->given[hop];
            taken = given_to(trade, hop, sample, me).begin;
        }
        for (int64_t b = 0; b < own; b++) {
            int64_t part = sample * own + b, to = trade->begin[hop][part];
            for (int r = 0; r < rank; r++) to += got_counts(trade, r)[hop * parts + part];
            copy_entries(&trade->got[hop], to, &from, taken, count[part]);
            taken += count[part];
        }
        at += run * ENTRY_BYTES;
    }
}

void pgcn_i_trade_run(pgcn_i_trade *trade, pgcn_i_pool *pool) {
    const int ranks = ranks_of(trade), me = trade->division->comm->rank;
    for (int hop = 0; hop < trade->hops; hop++) /* after a failure there are no entries */
        memset(trade->begin[hop], 0,
               (size_t)(trade->samples * buckets_of(trade, me) + 1) * sizeof(int64_t));
    swap_counts(trade);
    if (pgcn_i_comm_status(trade->division->comm) != PGCN_OK) return;
    for (int r = 0; r < ranks; r++) {
        int64_t given = 0, got = 0;
        for (int hop = 0; hop < trade->hops && r != me; hop++)
            for (int sample = 0; sample < trade->samples; sample++) {
                pgcn_i_range run = given_to(trade, hop, sample, r);
                given += run.end - run.begin;
            }
        for (int64_t i = 0; i < trade->hops * trade->samples * buckets_of(trade, me) && r != me;
             i++)
            got += got_counts(trade, r)[i];
        trade->give[r + 1] = trade->give[r] + given * ENTRY_BYTES;
        trade->get[r + 1] = trade->get[r] + got * ENTRY_BYTES;
    }
    char *give = room(trade, &trade->packed[GIVE], trade->give[ranks]);
    char *get = room(trade, &trade->packed[GET], trade->get[ranks]);
    if (!give || !get) return;
    pgcn_i_parallel(pool, ranks, pack_task, trade);
    swap(trade, give, trade->give, get, trade->get);
    if (pgcn_i_comm_status(trade->division->comm) != PGCN_OK) return;
    place_got(trade);
    pgcn_i_parallel(pool, (int64_t)trade->hops * ranks, unpack_task, trade);
}

void pgcn_i_trade_free(pgcn_i_trade *trade) {
    for (int side = 0; side < 2; side++) {
        pgcn_i_buffer_free(&trade->packed[side]);
        pgcn_i_buffer_free(&trade->count[side]);
    }
}

/* ---- numbers of rows of others ----------------------------------------------------------------------- */

pgcn_status pgcn_i_numberer_init(pgcn_i_numberer *numberer, const pgcn_i_division *division,
                                 int stacks, int64_t n) {
    *numberer = (pgcn_i_numberer){.division = division, .stacks = stacks, .n = n};
    numberer->seen = PGCN_I_ARRAY(&numberer->arena, uint8_t, stacks * n);
    numberer->number = PGCN_I_ARRAY(&numberer->arena, pgcn_node, stacks * n);
    if (!numberer->seen || !numberer->number) return PGCN_ERR_MEMORY;
    pgcn_i_range own = pgcn_i_division_own(division);
    for (int64_t s = 0; s < stacks; s++)
        for (int64_t r = s * n + own.begin; r < s * n + own.end; r++)
            numberer->number[r] = (pgcn_node)r;
    return PGCN_OK;
}

void pgcn_i_numberer_free(pgcn_i_numberer *numberer) {
    pgcn_i_arena_free(&numberer->arena);
}

pgcn_status pgcn_i_others_init(pgcn_i_others *others, pgcn_i_arena *arena, int ranks,
                               int64_t most) {
    others->row = PGCN_I_ARRAY(arena, pgcn_node, most);
    others->first = PGCN_I_ARRAY(arena, int64_t, ranks + 1);
    return others->row && others->first ? PGCN_OK : PGCN_ERR_MEMORY;
}

typedef struct number_job {
    const pgcn_i_numberer *numberer;
    const pgcn_i_csr *list;
    int lists;
    pgcn_node *const *to;
    pgcn_i_range own;
    pgcn_i_blocks blocks;
} number_job;

/* The entries of a block of this rank's rows, of one list. */
static pgcn_i_range entries_of(const number_job *job, int64_t task, const pgcn_i_csr **list) {
    int64_t block = task % job->blocks.count, rest = task / job->blocks.count;
    int64_t first = rest / job->lists * job->numberer->n + job->own.begin;
    *list = &job->list[rest % job->lists];
    return (pgcn_i_range){(*list)->offset[first + pgcn_i_block_begin(job->blocks, block)],
                          (*list)->offset[first + pgcn_i_block_end(job->blocks, block)]};
}

static void see_task(void *context, int64_t task, int worker) {
    (void)worker;
    const number_job *job = context;
    const pgcn_i_csr *list;
    const pgcn_i_range range = entries_of(job, task, &list);
    for (int64_t e = range.begin; e < range.end; e++)
        __atomic_store_n(&job->numberer->seen[list->column[e]], 1, __ATOMIC_RELAXED);
}

static void number_task(void *context, int64_t task, int worker) {
    (void)worker;
    const number_job *job = context;
    const pgcn_i_csr *list;
    const pgcn_i_range range = entries_of(job, task, &list);
    pgcn_node *to = job->to[list - job->list];
    for (int64_t e = range.begin; e < range.end; e++)
        to[e] = job->numberer->number[list->column[e]];
}

static bool sees_nearly_all(const pgcn_i_numberer *numberer) {
    const pgcn_i_range own = pgcn_i_division_own(numberer->division);
    int64_t seen = 0;
    for (int64_t s = 0; s < numberer->stacks; s++)
        for (int64_t i = 0; i < numberer->n; i++)
            seen += (i < own.begin || i >= own.end) && numberer->seen[s * numberer->n + i];
    return pgcn_i_fetches_whole(seen, numberer->stacks * (numberer->n - (own.end - own.begin)));
}

static void list_others(pgcn_i_numberer *numberer, int64_t from, pgcn_i_others *out) {
    const pgcn_i_comm *comm = numberer->division->comm;
    out->from = from;
    out->count = 0;
    for (int r = 0; r < comm->size; r++) {
        out->first[r] = out->count;
        for (int64_t s = 0; s < numberer->stacks && r != comm->rank; s++) {
            int64_t end = s * numberer->n + numberer->division->begin[r + 1];
            for (int64_t row = s * numberer->n + numberer->division->begin[r]; row < end; row++) {
                if (!numberer->seen[row]) continue;
                numberer->number[row] = (pgcn_node)(out->whole ? row : from + out->count);
                out->row[out->count++] = (pgcn_node)row;
            }
        }
    }
    out->first[comm->size] = out->count;
}

void pgcn_i_number_others(pgcn_i_numberer *numberer, pgcn_i_pool *pool, const pgcn_i_csr *list,
                          int lists, pgcn_node *const *to, int64_t from, pgcn_i_others *out) {
    pgcn_i_range own = pgcn_i_division_own(numberer->division);
    number_job job = {.numberer = numberer,
                      .list = list,
                      .lists = lists,
                      .to = to,
                      .own = own,
                      .blocks = pgcn_i_blocks_of(own.end - own.begin)};
    int64_t tasks = job.blocks.count * lists * numberer->stacks;
    if (out->whole) return;
    memset(numberer->seen, 0, (size_t)(numberer->stacks * numberer->n));
    pgcn_i_parallel(pool, tasks, see_task, &job);
    out->whole = sees_nearly_all(numberer);
    list_others(numberer, from, out);
    out->lists = lists;
    pgcn_i_parallel(pool, tasks, number_task, &job);
}
