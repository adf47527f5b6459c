/* Parts of a graph: which rows the rows of a batch need, and under which numbers.
 *
 * Lists lead from the rows of a level to nodes of the graph. Those that have no row yet get the next numbers, in an
 * order that no thread has a say in:
 *
 *   1. blocks of rows, parallel: every row claims the ids (sample, node) without a row that it visits; the first row
 *      of those that claim an id keeps it, whoever comes first.
 *   2. blocks, parallel: a row lists what it kept, in the order of its entries.
 *   3. prefix sums over samples and blocks; then ids get their rows, and rows their ids.
 *   4. (list, block), parallel: columns become rows.
 *
 * All of it costs as much as the lists have entries; the only array with an entry for every node says where it is, and
 * is put back by the next batch for the rows of this one. Called by views.
 *
 * Of several ranks each has the lists of a run of rows. Between steps 2 and 3 they tell each other the ids that their rows
 * kept; of those that kept the same id the first rank has the first row. So numbers are those of one process. Every rank
 * knows the ids of all rows, and nothing else of rows of others. */
#include "paths/paths.h"

#include <string.h>

enum {
    NOWHERE = -1,
    TAKEN = INT32_MIN, /* by a row that has listed it; the row it will be is not known yet */
    MAX_BLOCKS = 128,
    BUCKET_BITS = 14, /* columns of a bucket: their part of a transpose stays in a core's cache */
    BUCKET_COLUMNS = 1 << BUCKET_BITS
};

/* ---- numbering -------------------------------------------------------------------------------- */

pgcn_status pgcn_i_numbering_init(pgcn_i_numbering *numbering, pgcn_i_numbering_opts opts) {
    pgcn_i_arena *arena = &numbering->arena;
    int64_t ids;
    *numbering = (pgcn_i_numbering){.nodes = opts.nodes,
                                    .samples = opts.samples,
                                    .most = opts.rows,
                                    .most_runs = opts.samples * (opts.levels + 1)};
    if (!pgcn_i_mul(opts.nodes, opts.samples, &ids) || ids > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "%d samples of %lld nodes are more than %d rows; use fewer samples",
                           opts.samples, (long long)opts.nodes, INT32_MAX);
    numbering->run = PGCN_I_ARRAY(arena, pgcn_i_stretch, numbering->most_runs);
    numbering->node = PGCN_I_ARRAY(arena, pgcn_node, opts.rows);
    numbering->id = PGCN_I_ARRAY(arena, pgcn_node, opts.rows);
    arena->read_at_random = true; /* rows are found by their nodes */
    numbering->place = PGCN_I_ARRAY(arena, pgcn_node, ids);
    arena->read_at_random = false; /* other arrays are gone through in order */
    numbering->fresh = PGCN_I_ARRAY(arena, pgcn_node, opts.entries);
    numbering->count = PGCN_I_ARRAY(arena, int64_t, (int64_t)MAX_BLOCKS * (opts.samples + 1));
    if (!numbering->run || !numbering->node || !numbering->id || !numbering->place ||
        !numbering->fresh || !numbering->count)
        return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < ids; i++) numbering->place[i] = NOWHERE;
    return PGCN_OK;
}

pgcn_status pgcn_i_numbering_divide(pgcn_i_numbering *numbering, pgcn_i_comm *comm) {
    numbering->told_count =
        PGCN_I_ARRAY(&numbering->arena, int64_t, (int64_t)comm->size * numbering->samples);
    numbering->told_first = PGCN_I_ARRAY(&numbering->arena, int64_t, comm->size + 1);
    if (!numbering->told_count || !numbering->told_first) return PGCN_ERR_MEMORY;
    numbering->comm = comm;
    return PGCN_OK;
}

void pgcn_i_numbering_free(pgcn_i_numbering *numbering) {
    pgcn_i_buffer_free(&numbering->told);
    pgcn_i_arena_free(&numbering->arena);
    *numbering = (pgcn_i_numbering){.rows = 0};
}

static void put_row(pgcn_i_numbering *numbering, int64_t row, pgcn_node id) {
    numbering->id[row] = id;
    numbering->node[row] = (pgcn_node)(id % numbering->nodes);
    numbering->place[id] = (pgcn_node)row;
}

static void add_run(pgcn_i_numbering *numbering, int sample, int64_t begin, int64_t end) {
    if (begin < end) numbering->run[numbering->runs++] = (pgcn_i_stretch){sample, begin, end};
}

void pgcn_i_numbering_forget(pgcn_i_numbering *numbering) {
    for (int64_t r = 0; r < numbering->placed; r++) numbering->place[numbering->id[r]] = NOWHERE;
    numbering->placed = 0;
}

void pgcn_i_numbering_begin(pgcn_i_numbering *numbering, const pgcn_node *node, int64_t count) {
    pgcn_i_numbering_forget(numbering);
    numbering->placed = numbering->rows = count * numbering->samples;
    numbering->runs = 0;
    for (int s = 0; s < numbering->samples; s++) {
        add_run(numbering, s, s * count, (s + 1) * count);
        for (int64_t i = 0; i < count; i++)
            put_row(numbering, s * count + i, (pgcn_node)(s * numbering->nodes + node[i]));
    }
}

typedef struct grow_job {
    pgcn_i_numbering *numbering;
    pgcn_i_csr *list;
    int lists;
    int64_t first;        /* row, */
    pgcn_i_blocks blocks; /* and blocks of those from it on */
} grow_job;

static int64_t begin_of(const grow_job *job, int64_t block) {
    return job->first + pgcn_i_block_begin(job->blocks, block);
}
static int64_t end_of(const grow_job *job, int64_t block) {
    return job->first + pgcn_i_block_end(job->blocks, block);
}

static pgcn_node load(const pgcn_node *place) {
    return __atomic_load_n(place, __ATOMIC_RELAXED);
}

/* The claim of a row; that of a smaller row is larger. */
static pgcn_node claim_of(int64_t row) {
    return (pgcn_node)(-2 - row);
}

static void claim(pgcn_node *place, pgcn_node mine) {
    pgcn_node now = load(place);
    while (now == NOWHERE || (now < 0 && now < mine))
        if (__atomic_compare_exchange_n(place, &now, mine, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return;
}

/* Where the ids of the row's sample begin in `place`. */
static int64_t first_id(const pgcn_i_numbering *numbering, int64_t row) {
    return numbering->id[row] - numbering->node[row];
}

static void claim_task(void *context, int64_t task, int worker) {
    (void)worker;
    const grow_job *job = context;
    int64_t end = end_of(job, task);
    for (int64_t r = begin_of(job, task); r < end; r++) {
        pgcn_node *place = job->numbering->place + first_id(job->numbering, r);
        for (int i = 0; i < job->lists; i++) {
            const pgcn_i_csr *list = &job->list[i];
            for (int64_t e = list->offset[r]; e < list->offset[r + 1]; e++)
                claim(&place[list->column[e]], claim_of(r));
        }
    }
}

/* The part of `fresh` that belongs to a block: it has as many entries as its rows in all lists. */
static pgcn_node *fresh_of(const grow_job *job, int64_t block) {
    int64_t begin = begin_of(job, block), at = 0;
    for (int i = 0; i < job->lists; i++)
        at += job->list[i].offset[begin] - job->list[i].offset[job->first];
    return job->numbering->fresh + at;
}

/* [samples + 1] ids found for every sample, and of all. */
static int64_t *counts_of(const grow_job *job, int64_t block) {
    return job->numbering->count + block * (job->numbering->samples + 1);
}

/* Rows are by sample only within a run, so that a block may have rows of several. */
static void list_task(void *context, int64_t task, int worker) {
    (void)worker;
    const grow_job *job = context;
    pgcn_i_numbering *numbering = job->numbering;
    pgcn_node *fresh = fresh_of(job, task);
    int64_t *count = counts_of(job, task), end = end_of(job, task);
    memset(count, 0, (size_t)(numbering->samples + 1) * sizeof *count);
    for (int64_t r = begin_of(job, task); r < end; r++) {
        int64_t first = first_id(numbering, r);
        for (int i = 0; i < job->lists; i++) {
            const pgcn_i_csr *list = &job->list[i];
            for (int64_t e = list->offset[r]; e < list->offset[r + 1]; e++) {
                pgcn_node *place = &numbering->place[first + list->column[e]];
                if (load(place) != claim_of(r)) continue;
                __atomic_store_n(place, TAKEN, __ATOMIC_RELAXED);
                *fresh++ = (pgcn_node)(first + list->column[e]);
                count[first / numbering->nodes]++;
                count[numbering->samples]++;
            }
        }
    }
}

/* Counts become the rows that the ids of a block and sample get. */
static void find_rows(const grow_job *job) {
    pgcn_i_numbering *numbering = job->numbering;
    for (int s = 0; s < numbering->samples; s++) {
        int64_t first = numbering->rows;
        for (int64_t block = 0; block < job->blocks.count; block++) {
            int64_t *count = &counts_of(job, block)[s], own = *count;
            *count = numbering->rows;
            numbering->rows += own;
        }
        add_run(numbering, s, first, numbering->rows);
    }
}

static void number_task(void *context, int64_t task, int worker) {
    (void)worker;
    const grow_job *job = context;
    pgcn_i_numbering *numbering = job->numbering;
    const pgcn_node *fresh = fresh_of(job, task);
    int64_t *next = counts_of(job, task), found = next[numbering->samples];
    for (int64_t i = 0; i < found; i++)
        put_row(numbering, next[fresh[i] / numbering->nodes]++, fresh[i]);
}

/* ---- of several ranks ---- */

/* How many ids every rank has found, by sample. */
static void tell_counts(const grow_job *job) {
    pgcn_i_numbering *numbering = job->numbering;
    const pgcn_i_comm *comm = numbering->comm;
    const int64_t samples = numbering->samples;
    int64_t *mine = numbering->told_count + comm->rank * samples;
    memset(mine, 0, (size_t)samples * sizeof *mine);
    for (int64_t block = 0; block < job->blocks.count; block++)
        for (int64_t s = 0; s < samples; s++) mine[s] += counts_of(job, block)[s];
    for (int r = 0; r <= comm->size; r++)
        numbering->told_first[r] = r * samples * (int64_t)sizeof *mine;
    pgcn_i_comm_gather(numbering->comm, numbering->told_count, numbering->told_first);
}

/* The ids themselves: those of this rank are sorted by sample. */
static bool tell_ids(const grow_job *job) {
    pgcn_i_numbering *numbering = job->numbering;
    pgcn_i_comm *comm = numbering->comm;
    const int64_t samples = numbering->samples;
    if (pgcn_i_comm_status(comm) != PGCN_OK) return false;
    for (int r = 0; r < comm->size; r++) {
        numbering->told_first[r + 1] = numbering->told_first[r];
        for (int64_t s = 0; s < samples; s++)
            numbering->told_first[r + 1] +=
                numbering->told_count[r * samples + s] * (int64_t)sizeof(pgcn_node);
    }
    int64_t bytes = numbering->told_first[comm->size] + 1;
    pgcn_status status = PGCN_OK;
    if (bytes > numbering->told.capacity)
        status = pgcn_i_buffer_reserve(&numbering->told, bytes + bytes / 4);
    if (status != PGCN_OK) {
        pgcn_i_comm_fail(comm, status);
        return false;
    }
    char *mine = numbering->told.data + numbering->told_first[comm->rank];
    pgcn_node *to = (pgcn_node *)(void *)mine;
    for (int64_t s = 0; s < samples; s++)
        for (int64_t block = 0; block < job->blocks.count; block++) {
            const pgcn_node *fresh = fresh_of(job, block);
            int64_t found = counts_of(job, block)[samples];
            for (int64_t i = 0; i < found; i++)
                if (fresh[i] / numbering->nodes == s) *to++ = fresh[i];
        }
    pgcn_i_comm_gather(comm, numbering->told.data, numbering->told_first);
    return pgcn_i_comm_status(comm) == PGCN_OK;
}

/* By sample, rank, and the order in which the rank has found them. */
static void number_told(pgcn_i_numbering *numbering) {
    enum { AHEAD = 16 };
    const int64_t samples = numbering->samples;
    for (int64_t s = 0; s < samples; s++) {
        int64_t first = numbering->rows;
        for (int r = 0; r < numbering->comm->size; r++) {
            const int64_t *count = numbering->told_count + r * samples;
            const char *bytes = numbering->told.data + numbering->told_first[r];
            const pgcn_node *id = (const pgcn_node *)(const void *)bytes;
            for (int64_t before = 0; before < s; before++) id += count[before];
            for (int64_t i = 0; i < count[s]; i++) {
                if (i + AHEAD < count[s]) pgcn_i_prefetch(&numbering->place[id[i + AHEAD]]);
                if (numbering->place[id[i]] < 0) put_row(numbering, numbering->rows++, id[i]);
            }
        }
        add_run(numbering, (int)s, first, numbering->rows);
    }
}

/* After a failure lists lead nowhere: what they hold are no rows. */
static void empty_lists(const grow_job *job) {
    for (int i = 0; i < job->lists; i++)
        for (int64_t r = job->first; r <= job->first + job->blocks.rows; r++)
            job->list[i].offset[r] = 0;
}

/* ---- */

static void map_task(void *context, int64_t task, int worker) {
    (void)worker;
    const grow_job *job = context;
    int64_t block = task / job->lists, end = end_of(job, block);
    const pgcn_i_csr *list = &job->list[task % job->lists];
    for (int64_t r = begin_of(job, block); r < end; r++) {
        const pgcn_node *place = job->numbering->place + first_id(job->numbering, r);
        for (int64_t e = list->offset[r]; e < list->offset[r + 1]; e++)
            list->column[e] = place[list->column[e]];
    }
}

void pgcn_i_numbering_grow(pgcn_i_numbering *numbering, pgcn_i_pool *pool, pgcn_i_csr *list,
                           int lists, pgcn_i_range rows) {
    grow_job job = {numbering, list, lists, rows.begin,
                    pgcn_i_cut(rows.end - rows.begin, MAX_BLOCKS, PGCN_BLOCK_ROWS)};
    if (lists == 0) return;
    pgcn_i_parallel(pool, job.blocks.count, claim_task, &job);
    pgcn_i_parallel(pool, job.blocks.count, list_task, &job);
    if (!numbering->comm) {
        find_rows(&job);
        pgcn_i_parallel(pool, job.blocks.count, number_task, &job);
    } else {
        tell_counts(&job);
        if (tell_ids(&job))
            number_told(numbering);
        else
            empty_lists(&job);
    }
    numbering->placed = numbering->rows;
    pgcn_i_parallel(pool, job.blocks.count * lists, map_task, &job);
}

/* ---- transposes ----------------------------------------------------------------------------------- */

pgcn_status pgcn_i_turner_init(pgcn_i_turner *turner, int64_t columns, int64_t entries,
                               bool numbered) {
    int64_t buckets = (columns >> BUCKET_BITS) + 1;
    *turner = (pgcn_i_turner){.row = NULL};
    turner->row = PGCN_I_ARRAY(&turner->arena, pgcn_node, entries);
    turner->column = PGCN_I_ARRAY(&turner->arena, uint16_t, entries);
    turner->value = PGCN_I_ARRAY(&turner->arena, float, entries);
    if (numbered) turner->entry = PGCN_I_ARRAY(&turner->arena, int64_t, entries);
    turner->place = PGCN_I_ARRAY(&turner->arena, int64_t, MAX_BLOCKS * buckets);
    turner->bucket_begin = PGCN_I_ARRAY(&turner->arena, int64_t, buckets + 1);
    return turner->row && turner->column && turner->value && (turner->entry || !numbered) &&
                   turner->place && turner->bucket_begin
               ? PGCN_OK
               : PGCN_ERR_MEMORY;
}

void pgcn_i_turner_free(pgcn_i_turner *turner) {
    pgcn_i_arena_free(&turner->arena);
    *turner = (pgcn_i_turner){.row = NULL};
}

typedef struct turn_job {
    pgcn_i_turner *turner;
    const pgcn_i_csr *list;
    int64_t columns, buckets;
    pgcn_i_blocks blocks; /* of rows */
    pgcn_i_csr *out;
    int64_t *number;
} turn_job;

static void count_task(void *context, int64_t task, int worker) {
    (void)worker;
    const turn_job *job = context;
    const pgcn_i_csr *list = job->list;
    int64_t *place = job->turner->place + task * job->buckets;
    int64_t end = list->offset[pgcn_i_block_end(job->blocks, task)];
    memset(place, 0, (size_t)job->buckets * sizeof *place);
    for (int64_t e = list->offset[pgcn_i_block_begin(job->blocks, task)]; e < end; e++)
        place[list->column[e] >> BUCKET_BITS]++;
}

static void find_buckets(const turn_job *job) {
    int64_t at = 0;
    for (int64_t b = 0; b < job->buckets; b++) {
        job->turner->bucket_begin[b] = at;
        for (int64_t block = 0; block < job->blocks.count; block++) {
            int64_t *place = &job->turner->place[block * job->buckets + b], own = *place;
            *place = at;
            at += own;
        }
    }
    job->turner->bucket_begin[job->buckets] = at;
}

static void part_task(void *context, int64_t task, int worker) {
    (void)worker;
    const turn_job *job = context;
    const pgcn_i_csr *list = job->list;
    int64_t *place = job->turner->place + task * job->buckets;
    int64_t end = pgcn_i_block_end(job->blocks, task);
    for (int64_t r = pgcn_i_block_begin(job->blocks, task); r < end; r++)
        for (int64_t e = list->offset[r]; e < list->offset[r + 1]; e++) {
            int64_t to = place[list->column[e] >> BUCKET_BITS]++;
            job->turner->row[to] = (pgcn_node)r;
            job->turner->column[to] = (uint16_t)(list->column[e] & (BUCKET_COLUMNS - 1));
            job->turner->value[to] = list->value[e];
            if (job->number) job->turner->entry[to] = e;
        }
}

/* A counting sort of the entries of a bucket. */
static void bucket_task(void *context, int64_t bucket, int worker) {
    (void)worker;
    const turn_job *job = context;
    const pgcn_i_turner *turner = job->turner;
    int64_t begin = bucket << BUCKET_BITS, last = (bucket + 1) << BUCKET_BITS;
    int64_t columns = (last < job->columns ? last : job->columns) - begin;
    int64_t first = turner->bucket_begin[bucket], end = turner->bucket_begin[bucket + 1];
    int64_t *next = job->out->offset + begin;
    if (columns <= 0) return;
    memset(next, 0, (size_t)columns * sizeof *next);
    for (int64_t i = first; i < end; i++) next[turner->column[i]]++;
    pgcn_i_counts_to_starts(next, columns, first);
    for (int64_t i = first; i < end; i++) {
        int64_t to = next[turner->column[i]]++;
        job->out->column[to] = turner->row[i];
        job->out->value[to] = turner->value[i];
        if (job->number) job->number[to] = turner->entry[i];
    }
    memmove(next + 1, next, (size_t)(columns - 1) * sizeof *next);
    next[0] = first;
}

void pgcn_i_turn(pgcn_i_turner *turner, pgcn_i_pool *pool, const pgcn_i_csr *list, int64_t columns,
                 pgcn_i_csr *out, int64_t *number) {
    turn_job job = {.turner = turner,
                    .list = list,
                    .columns = columns,
                    .buckets = (columns >> BUCKET_BITS) + 1,
                    .blocks = pgcn_i_cut(list->rows, MAX_BLOCKS, PGCN_BLOCK_ROWS),
                    .out = out,
                    .number = number};
    out->rows = columns;
    pgcn_i_parallel(pool, job.blocks.count, count_task, &job);
    find_buckets(&job);
    pgcn_i_parallel(pool, job.blocks.count, part_task, &job);
    pgcn_i_parallel(pool, job.buckets, bucket_task, &job);
    out->offset[columns] = list->offset[list->rows];
}
