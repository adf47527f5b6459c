/* Transposes of a part of a graph whose rows are divided among ranks.
 *
 * A rank has the lists of its rows of a level, and reads in the backward pass the transposed lists of its rows of the next
 * level. These two are divided by groups each, so that an entry may have to go from one rank to another:
 *
 *   1. (list, block of rows), parallel: entries are counted by buckets of columns. A bucket has columns of one rank, few
 *      enough that its part of the transpose stays in a core's cache.
 *   2. (list, block of rows), parallel: entries go to their buckets, in the order of their rows.
 *   3. ranks trade entries (divide.c): those of a bucket stand in the order of the ranks, and so of the rows.
 *   4. (list, bucket), parallel: a counting sort.
 *
 * So a row of a transpose is what one process makes of it (pgcn_i_turn). Called by views, once for each level of a step. */
#include "paths/divide.h"

#include <string.h>

enum { MAX_BLOCKS = 128, BUCKET_BITS = 14, GROUP_BITS = 6 };
_Static_assert(1 << GROUP_BITS == PGCN_GROUP_ROWS, "columns of a rank are whole groups");

struct pgcn_i_part_turner {
    pgcn_i_arena arena;
    pgcn_i_comm *comm;
    int groups;
    pgcn_i_division division; /* of columns */
    pgcn_i_trade trade;
    int64_t buckets;
    int32_t *bucket_at;      /* [columns / PGCN_GROUP_ROWS] of a group of columns */
    int64_t *bucket_column;  /* [buckets + 1] the columns of a bucket */
    int64_t *place;          /* [lists, blocks, buckets] counts, then places in the bucket */
    int64_t **bucket_begin;  /* [lists][buckets + 1] */
    pgcn_i_entries *entries; /* [lists] of this rank's rows, by bucket */
};

/* One block for all lists: a large one costs what is touched of it, small ones all that they have. */
static pgcn_status alloc_entries(pgcn_i_arena *arena, int lists, int64_t count,
                                 pgcn_i_entries **out) {
    pgcn_i_entries *entries = *out = PGCN_I_ARRAY(arena, pgcn_i_entries, lists);
    pgcn_node *row = PGCN_I_ARRAY(arena, pgcn_node, lists * count);
    pgcn_node *column = PGCN_I_ARRAY(arena, pgcn_node, lists * count);
    float *value = PGCN_I_ARRAY(arena, float, lists *count);
    if (!entries || !row || !column || !value) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < lists; i++)
        entries[i] = (pgcn_i_entries){row + i * count, column + i * count, value + i * count};
    return PGCN_OK;
}

/* Room for all entries of all ranks is address space, of which a rank touches its own. */
static pgcn_status alloc_turner(pgcn_i_part_turner *turner, int64_t columns, int lists,
                                int64_t entries) {
    pgcn_i_arena *arena = &turner->arena;
    pgcn_i_trade *trade = &turner->trade;
    const int ranks = turner->comm->size;
    const int64_t buckets = (columns >> BUCKET_BITS) + ranks + 1;
    turner->division = (pgcn_i_division){turner->comm, PGCN_I_ARRAY(arena, int64_t, ranks + 1)};
    turner->bucket_at = PGCN_I_ARRAY(arena, int32_t, (columns >> GROUP_BITS) + 1);
    turner->bucket_column = PGCN_I_ARRAY(arena, int64_t, buckets + 1);
    turner->place = PGCN_I_ARRAY(arena, int64_t, lists * MAX_BLOCKS * buckets);
    turner->bucket_begin = PGCN_I_ARRAY(arena, int64_t *, lists);
    trade->begin = PGCN_I_ARRAY(arena, int64_t *, lists);
    trade->first_bucket = PGCN_I_ARRAY(arena, int64_t, ranks + 1);
    trade->give = PGCN_I_ARRAY(arena, int64_t, ranks + 1);
    trade->get = PGCN_I_ARRAY(arena, int64_t, ranks + 1);
    if (!turner->division.begin || !turner->bucket_at || !turner->bucket_column || !turner->place ||
        !turner->bucket_begin || !trade->begin || !trade->first_bucket || !trade->give ||
        !trade->get)
        return PGCN_ERR_MEMORY;
    for (int i = 0; i < lists; i++) {
        turner->bucket_begin[i] = PGCN_I_ARRAY(arena, int64_t, buckets + 1);
        trade->begin[i] = PGCN_I_ARRAY(arena, int64_t, buckets + 1);
        if (!turner->bucket_begin[i] || !trade->begin[i]) return PGCN_ERR_MEMORY;
    }
    trade->division = &turner->division;
    trade->samples = 1; /* rows of all samples are one run */
    trade->place = turner->bucket_begin;
    PGCN_TRY(alloc_entries(arena, lists, entries, &turner->entries));
    trade->given = turner->entries;
    return alloc_entries(arena, lists, entries, &trade->got);
}

pgcn_status pgcn_i_part_turner_new(pgcn_i_comm *comm, int groups, int64_t columns, int lists,
                                   int64_t entries, pgcn_i_part_turner **out) {
    pgcn_i_part_turner *turner = pgcn_i_alloc(1, sizeof *turner);
    if (!turner) return PGCN_ERR_MEMORY;
    turner->comm = comm;
    turner->groups = groups;
    pgcn_status status = alloc_turner(turner, columns, lists, entries);
    if (status != PGCN_OK) {
        pgcn_i_part_turner_free(turner);
        return status;
    }
    *out = turner;
    return PGCN_OK;
}

void pgcn_i_part_turner_free(pgcn_i_part_turner *turner) {
    if (!turner) return;
    pgcn_i_trade_free(&turner->trade);
    pgcn_i_arena_free(&turner->arena);
    pgcn_i_free(turner);
}

int64_t pgcn_i_part_turner_resident(const pgcn_i_part_turner *turner) {
    int64_t bytes = turner ? pgcn_i_arena_resident(&turner->arena) : 0;
    for (int side = 0; turner && side < 2; side++)
        bytes += turner->trade.packed[side].capacity + turner->trade.count[side].capacity;
    return bytes;
}

/* Which columns are whose, and in which bucket. */
static void divide_columns(pgcn_i_part_turner *turner, int64_t columns) {
    const pgcn_i_comm *comm = turner->comm;
    const pgcn_i_blocks groups = pgcn_i_groups_of(columns, turner->groups);
    int64_t *begin = turner->division.begin, *first = turner->trade.first_bucket, bucket = 0;
    for (int r = 0; r < comm->size; r++) {
        pgcn_i_range own =
            pgcn_i_groups_share(groups, &(pgcn_i_comm){.rank = r, .size = comm->size});
        begin[r] = own.begin;
        first[r] = bucket;
        for (int64_t at = own.begin; at < own.end; at += 1 << BUCKET_BITS)
            turner->bucket_column[bucket++] = at;
        for (int64_t at = own.begin; at < own.end; at += PGCN_GROUP_ROWS)
            turner->bucket_at[at >> GROUP_BITS] =
                (int32_t)(first[r] + ((at - own.begin) >> BUCKET_BITS));
    }
    begin[comm->size] = turner->bucket_column[bucket] = columns;
    first[comm->size] = turner->buckets = bucket;
}

typedef struct divided_turn {
    const pgcn_i_part_turner *turner;
    const pgcn_i_csr *list;
    int lists;
    int64_t first;        /* row of this rank, */
    pgcn_i_blocks blocks; /* and blocks of its rows */
    pgcn_i_csr *out;
} divided_turn;

/* The entries of a block of rows of a list, and its places. */
static pgcn_i_range entries_of(const divided_turn *job, int64_t task, int64_t **place) {
    int64_t block = task % job->blocks.count, list = task / job->blocks.count;
    const int64_t *offset = job->list[list].offset + job->first;
    *place = job->turner->place + (list * MAX_BLOCKS + block) * job->turner->buckets;
    return (pgcn_i_range){offset[pgcn_i_block_begin(job->blocks, block)],
                          offset[pgcn_i_block_end(job->blocks, block)]};
}

static int32_t bucket_of(const divided_turn *job, pgcn_node column) {
    return job->turner->bucket_at[column >> GROUP_BITS];
}

static void count_task(void *context, int64_t task, int worker) {
    (void)worker;
    const divided_turn *job = context;
    int64_t *place;
    const pgcn_i_range range = entries_of(job, task, &place);
    const pgcn_node *column = job->list[task / job->blocks.count].column;
    memset(place, 0, (size_t)job->turner->buckets * sizeof *place);
    for (int64_t e = range.begin; e < range.end; e++) place[bucket_of(job, column[e])]++;
}

static void find_places(const divided_turn *job) {
    const int64_t buckets = job->turner->buckets;
    for (int list = 0; list < job->lists; list++) {
        int64_t at = 0, *begin = job->turner->bucket_begin[list];
        for (int64_t b = 0; b < buckets; b++) {
            begin[b] = at;
            for (int64_t block = 0; block < job->blocks.count; block++) {
                int64_t *place = job->turner->place + (list * MAX_BLOCKS + block) * buckets + b;
                int64_t own = *place;
                *place = at;
                at += own;
            }
        }
        begin[buckets] = at;
    }
}

static void part_task(void *context, int64_t task, int worker) {
    (void)worker;
    const divided_turn *job = context;
    int64_t block = task % job->blocks.count, number = task / job->blocks.count, *place;
    entries_of(job, task, &place);
    const pgcn_i_csr *list = &job->list[number];
    const pgcn_i_entries *to = &job->turner->entries[number];
    int64_t end = job->first + pgcn_i_block_end(job->blocks, block);
    for (int64_t r = job->first + pgcn_i_block_begin(job->blocks, block); r < end; r++)
        for (int64_t e = list->offset[r]; e < list->offset[r + 1]; e++) {
            int64_t at = place[bucket_of(job, list->column[e])]++;
            to->row[at] = (pgcn_node)r;
            to->column[at] = list->column[e];
            to->value[at] = list->value[e];
        }
}

static int64_t own_buckets(const pgcn_i_part_turner *turner) {
    const int64_t *first = turner->trade.first_bucket + turner->comm->rank;
    return first[1] - first[0];
}

static void sort_task(void *context, int64_t task, int worker) {
    (void)worker;
    const divided_turn *job = context;
    const pgcn_i_trade *trade = &job->turner->trade;
    int64_t list = task / own_buckets(job->turner), bucket = task % own_buckets(job->turner);
    const int64_t *column =
        job->turner->bucket_column + trade->first_bucket[job->turner->comm->rank] + bucket;
    const int64_t *begin = trade->begin[list] + bucket;
    pgcn_i_csr_transpose_part(&trade->got[list], begin[0], begin[1], column[0], column[1],
                              &job->out[list]);
}

void pgcn_i_part_turn(pgcn_i_part_turner *turner, pgcn_i_pool *pool, const pgcn_i_csr *list,
                      int lists, pgcn_i_range rows, int64_t columns, pgcn_i_csr *out) {
    divided_turn job = {turner,
                        list,
                        lists,
                        rows.begin,
                        pgcn_i_cut(rows.end - rows.begin, MAX_BLOCKS, PGCN_BLOCK_ROWS),
                        out};
    divide_columns(turner, columns);
    pgcn_i_parallel(pool, lists * job.blocks.count, count_task, &job);
    find_places(&job);
    pgcn_i_parallel(pool, lists * job.blocks.count, part_task, &job);
    turner->trade.hops = lists;
    pgcn_i_trade_run(&turner->trade, pool);
    pgcn_i_parallel(pool, lists * own_buckets(turner), sort_task, &job);
    for (int i = 0; i < lists; i++) {
        int64_t entries = turner->trade.begin[i][own_buckets(turner)];
        out[i].rows = columns;
        /* where this rank's columns end, and for whoever counts entries the end of all */
        out[i].offset[pgcn_i_division_own(&turner->division).end] = entries;
        out[i].offset[columns] = entries;
    }
}
