/* A bounded cache of rows for a reader that knows which rows it will want.
 *
 * The random numbers of a training run are functions of seed, step and node, so the rows of later batches
 * are known before they are needed. They are announced here. The cache keeps, of the rows it has and those
 * a batch brings, the ones that are wanted soonest (Belady 1966: no other choice reads fewer rows), and it
 * asks the file for what the next batches lack before they are taken. LRU is here to be compared with.
 *
 * A batch is planned once, in order, before its rows are read: which rows are hits and in which slot, which
 * are misses and in which place of the batch's own buffer, and which misses go into which slot afterwards.
 * A plan uses no content, so later batches can be planned while earlier ones are still being read. Taking a
 * batch waits for its misses, decodes every row from its slot or its place, and then moves the rows that
 * stay into their slots. Slots are therefore right for the next batch, whenever that was planned.
 *
 * Called by the training room. One thread at a time. */
#include "io/io.h"

#include <stdlib.h>
#include <string.h>

enum { NEVER = INT32_MAX };

typedef struct batch {
    int64_t number, count;
    pgcn_node *row;    /* [count] as announced */
    int32_t *next;     /* [count] the batch that wants the row next, NEVER: none that is known */
    int64_t *from;     /* [count] slot of a hit, or -1 - place of a miss */
    pgcn_node *missed; /* [misses] ascending */
    int32_t *slot;     /* [misses] where it goes afterwards, -1: nowhere */
    char *stored;      /* [misses, row bytes] */
    int64_t misses;
    bool planned;
    pgcn_i_row_batch read;
    struct batch *later;
} batch;

/* What a row in a slot is worth: the heap has the one to give up first on top. */
typedef struct candidate {
    int64_t key;
    int32_t slot;
    uint32_t age; /* of the slot's key: an older candidate counts no more */
} candidate;

struct pgcn_i_row_cache {
    pgcn_i_row_file *file;
    pgcn_i_pool *pool;
    pgcn_i_row_policy policy;
    int ahead;
    int64_t rows, row_bytes, slots, used;
    int32_t *slot_of;  /* [rows] -1: in none */
    int32_t *last_of;  /* [rows] the last announced batch that wants the row, -1: none */
    int32_t *place_of; /* [rows] its place in that batch */
    char *stored;      /* [slots, row bytes] */
    pgcn_node *row_in; /* [slots] */
    int64_t *key;      /* [slots] */
    uint32_t *age;     /* [slots] */
    candidate *heap;
    int64_t heap_count, heap_most;
    batch *first, *last; /* announced and not taken */
    int64_t announced, taken, clock;
    bool broken; /* a read failed: slots no longer hold what the plans say */
    pgcn_i_row_counts counts;
};

/* ---- the heap: largest key on top --------------------------------------------------------------- */

static bool is_above(const candidate *a, const candidate *b) {
    return a->key > b->key || (a->key == b->key && a->slot < b->slot);
}

static void swap(candidate *a, candidate *b) {
    candidate kept = *a;
    *a = *b;
    *b = kept;
}

static void sift_down(pgcn_i_row_cache *cache, int64_t at) {
    for (;;) {
        int64_t best = at;
        for (int64_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < cache->heap_count && is_above(&cache->heap[child], &cache->heap[best]))
                best = child;
        if (best == at) return;
        swap(&cache->heap[at], &cache->heap[best]);
        at = best;
    }
}

static bool is_valid(const pgcn_i_row_cache *cache, const candidate *one) {
    return cache->age[one->slot] == one->age;
}

/* Removes candidates that count no more, when half of the room is theirs. */
static void clean_heap(pgcn_i_row_cache *cache) {
    int64_t kept = 0;
    for (int64_t i = 0; i < cache->heap_count; i++)
        if (is_valid(cache, &cache->heap[i])) cache->heap[kept++] = cache->heap[i];
    cache->heap_count = kept;
    for (int64_t i = kept / 2; i-- > 0;) sift_down(cache, i);
}

/* A slot has a new key. */
static void set_key(pgcn_i_row_cache *cache, int32_t slot, int64_t key) {
    cache->key[slot] = key;
    cache->age[slot]++;
    if (cache->heap_count == cache->heap_most) clean_heap(cache);
    int64_t at = cache->heap_count++;
    cache->heap[at] = (candidate){key, slot, cache->age[slot]};
    while (at > 0 && is_above(&cache->heap[at], &cache->heap[(at - 1) / 2])) {
        swap(&cache->heap[at], &cache->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static const candidate *top_of(pgcn_i_row_cache *cache) {
    while (!is_valid(cache, &cache->heap[0])) {
        cache->heap[0] = cache->heap[--cache->heap_count];
        sift_down(cache, 0);
    }
    return &cache->heap[0];
}

/* ---- making -------------------------------------------------------------------------------------- */

static pgcn_status allocate(pgcn_i_row_cache *cache) {
    cache->slot_of = pgcn_i_alloc(cache->rows, sizeof *cache->slot_of);
    cache->last_of = pgcn_i_alloc(cache->rows, sizeof *cache->last_of);
    cache->place_of = pgcn_i_alloc(cache->rows, sizeof *cache->place_of);
    cache->stored = pgcn_i_alloc(cache->slots, (size_t)cache->row_bytes);
    cache->row_in = pgcn_i_alloc(cache->slots, sizeof *cache->row_in);
    cache->key = pgcn_i_alloc(cache->slots, sizeof *cache->key);
    cache->age = pgcn_i_alloc(cache->slots, sizeof *cache->age);
    cache->heap_most = 2 * cache->slots + 2;
    cache->heap = pgcn_i_alloc(cache->heap_most, sizeof *cache->heap);
    if (!cache->slot_of || !cache->last_of || !cache->place_of || !cache->stored ||
        !cache->row_in || !cache->key || !cache->age || !cache->heap)
        return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < cache->rows; i++) cache->slot_of[i] = cache->last_of[i] = -1;
    return PGCN_OK;
}

pgcn_status pgcn_i_row_cache_new(pgcn_i_row_file *file, const pgcn_i_row_cache_opts *opts,
                                 pgcn_i_row_cache **out) {
    pgcn_i_row_cache *cache = pgcn_i_alloc(1, sizeof *cache);
    if (!cache) return PGCN_ERR_MEMORY;
    cache->file = file;
    cache->pool = opts->pool;
    cache->policy = opts->policy;
    cache->ahead = opts->ahead < 1                   ? 1
                   : opts->ahead < PGCN_I_MOST_AHEAD ? opts->ahead
                                                     : PGCN_I_MOST_AHEAD;
    cache->rows = pgcn_i_row_file_layout(file)->rows;
    cache->row_bytes = pgcn_i_row_file_row_bytes(file);
    cache->slots = opts->bytes / cache->row_bytes;
    if (cache->slots > cache->rows) cache->slots = cache->rows;
    cache->counts.bytes_read = -pgcn_i_row_file_bytes_read(file);
    pgcn_status status = allocate(cache);
    if (status == PGCN_OK)
        *out = cache;
    else
        pgcn_i_row_cache_free(cache);
    return status;
}

static void free_batch(batch *b) {
    void *arrays[] = {b->row, b->next, b->from, b->missed, b->slot, b->stored, b};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) pgcn_i_free(arrays[i]);
}

void pgcn_i_row_cache_free(pgcn_i_row_cache *cache) {
    if (!cache) return;
    for (batch *b = cache->first, *later; b; b = later) {
        later = b->later;
        (void)pgcn_i_row_file_wait(cache->file, &b->read); /* it reads into the batch's memory */
        free_batch(b);
    }
    void *arrays[] = {cache->slot_of, cache->last_of, cache->place_of, cache->stored,
                      cache->row_in,  cache->key,     cache->age,      cache->heap};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) pgcn_i_free(arrays[i]);
    pgcn_i_free(cache);
}

/* ---- the future ---------------------------------------------------------------------------------- */

static pgcn_status copy_batch(pgcn_i_row_cache *cache, const pgcn_node *row, int64_t count,
                              batch **out) {
    batch *b = pgcn_i_alloc(1, sizeof *b);
    if (!b) return PGCN_ERR_MEMORY;
    *b = (batch){.number = cache->announced, .count = count};
    b->row = pgcn_i_alloc(count, sizeof *b->row);
    b->next = pgcn_i_alloc(count, sizeof *b->next);
    b->from = pgcn_i_alloc(count, sizeof *b->from);
    if (!b->row || !b->next || !b->from) {
        free_batch(b);
        return PGCN_ERR_MEMORY;
    }
    for (int64_t i = 0; i < count; i++) {
        b->row[i] = row[i];
        b->next[i] = NEVER;
    }
    *out = b;
    return PGCN_OK;
}

static pgcn_status check_batch(const pgcn_i_row_cache *cache, const pgcn_node *row, int64_t count) {
    if (cache->announced >= NEVER || count > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "more than %d batches, or rows of one, were announced", NEVER);
    for (int64_t i = 0; i < count; i++)
        if (row[i] < 0 || row[i] >= cache->rows)
            return pgcn_i_fail(PGCN_ERR_ARGUMENT, "a batch wants row %d of %lld", row[i],
                               (long long)cache->rows);
    return PGCN_OK;
}

/* Marks the rows of a batch as wanted by it, and keeps what was there before in b->from. If a row is there
 * twice, the marks are taken back. */
static pgcn_status mark_rows(pgcn_i_row_cache *cache, batch *b) {
    int32_t number = (int32_t)b->number;
    int64_t i = 0;
    for (; i < b->count && cache->last_of[b->row[i]] != number; i++) {
        b->from[i] = (int64_t)cache->last_of[b->row[i]];
        cache->last_of[b->row[i]] = number;
    }
    if (i == b->count) return PGCN_OK;
    pgcn_node twice = b->row[i];
    while (i-- > 0) cache->last_of[b->row[i]] = (int32_t)b->from[i];
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "a batch wants row %d twice", twice);
}

/* Rows that are in the cache, or in an earlier batch, learn when they are wanted next. */
static void link_rows(pgcn_i_row_cache *cache, batch *b, batch *const *known) {
    int32_t number = (int32_t)b->number;
    for (int64_t i = 0; i < b->count; i++) {
        pgcn_node row = b->row[i];
        batch *earlier = b->from[i] >= cache->taken ? known[b->from[i] - cache->taken] : NULL;
        int32_t slot = cache->slot_of[row];
        if (earlier) earlier->next[cache->place_of[row]] = number;
        /* its key changes unless an unplanned batch before this one wants it */
        if (slot >= 0 && cache->policy == PGCN_I_ROWS_FUTURE && (!earlier || earlier->planned))
            set_key(cache, slot, number);
        cache->place_of[row] = (int32_t)i;
    }
}

pgcn_status pgcn_i_row_cache_announce(pgcn_i_row_cache *cache, const pgcn_node *row,
                                      int64_t count) {
    batch *b, **known = NULL;
    PGCN_TRY(check_batch(cache, row, count));
    int64_t waiting = cache->announced - cache->taken;
    PGCN_TRY(copy_batch(cache, row, count, &b));
    known = pgcn_i_alloc(waiting, sizeof *known);
    pgcn_status status = known ? PGCN_OK : PGCN_ERR_MEMORY;
    for (int64_t i = 0; known && i < waiting; i++)
        known[i] = i == 0 ? cache->first : known[i - 1]->later;
    if (status == PGCN_OK) status = mark_rows(cache, b);
    if (status == PGCN_OK) link_rows(cache, b, known);
    pgcn_i_free(known);
    if (status != PGCN_OK) {
        free_batch(b);
        return status;
    }
    if (cache->last)
        cache->last->later = b;
    else
        cache->first = b;
    cache->last = b;
    cache->announced++;
    return PGCN_OK;
}

int64_t pgcn_i_row_cache_announced(const pgcn_i_row_cache *cache) {
    return cache->announced - cache->taken;
}

/* ---- plans --------------------------------------------------------------------------------------- */

/* A row's key after it was used by batch b at place i: larger ones are given up first. */
static int64_t key_after(pgcn_i_row_cache *cache, const batch *b, int64_t i) {
    return cache->policy == PGCN_I_ROWS_LRU ? -++cache->clock : b->next[i];
}

/* The slot that a missed row goes into; -1: it is not worth one. */
static int32_t find_slot(pgcn_i_row_cache *cache, int64_t key) {
    if (cache->used < cache->slots) return (int32_t)cache->used++;
    if (cache->slots == 0 || key == NEVER) return -1;
    const candidate *top = top_of(cache);
    if (cache->policy == PGCN_I_ROWS_FUTURE && key >= top->key) return -1;
    cache->slot_of[cache->row_in[top->slot]] = -1;
    return top->slot;
}

static int by_row(const void *a, const void *b) {
    pgcn_node x = *(const pgcn_node *)a, y = *(const pgcn_node *)b;
    return (x > y) - (x < y);
}

/* Misses in ascending order, so that neighbours in the file are read together. */
static pgcn_status list_misses(pgcn_i_row_cache *cache, batch *b) {
    b->misses = 0;
    for (int64_t i = 0; i < b->count; i++) b->misses += cache->slot_of[b->row[i]] < 0;
    b->missed = pgcn_i_alloc(b->misses, sizeof *b->missed);
    b->slot = pgcn_i_alloc(b->misses, sizeof *b->slot);
    b->stored = pgcn_i_alloc(b->misses, (size_t)cache->row_bytes);
    if (!b->missed || !b->slot || !b->stored) return PGCN_ERR_MEMORY;
    for (int64_t i = 0, k = 0; i < b->count; i++)
        if (cache->slot_of[b->row[i]] < 0) b->missed[k++] = b->row[i];
    qsort(b->missed, (size_t)b->misses, sizeof *b->missed, by_row);
    return PGCN_OK;
}

static pgcn_status plan(pgcn_i_row_cache *cache, batch *b) {
    PGCN_TRY(list_misses(cache, b));
    /* until they have a slot, or none, rows that are missed know their place by it */
    for (int64_t place = 0; place < b->misses; place++)
        cache->slot_of[b->missed[place]] = (int32_t)(-1 - place);
    for (int64_t i = 0; i < b->count; i++) {
        int32_t slot = cache->slot_of[b->row[i]];
        b->from[i] = slot;
        if (slot >= 0) set_key(cache, slot, key_after(cache, b, i));
    }
    for (int64_t i = 0; i < b->count; i++) {
        if (b->from[i] >= 0) continue;
        int64_t key = key_after(cache, b, i);
        int32_t slot = find_slot(cache, key);
        b->slot[-1 - b->from[i]] = slot;
        cache->slot_of[b->row[i]] = slot;
        if (slot < 0) continue;
        cache->row_in[slot] = b->row[i];
        set_key(cache, slot, key);
    }
    cache->counts.hits += b->count - b->misses;
    cache->counts.misses += b->misses;
    b->planned = true;
    b->read = (pgcn_i_row_batch){.row = b->missed, .count = b->misses, .to = b->stored};
    return PGCN_OK;
}

/* Plans the batches that are next, and asks for what they miss, together. */
static pgcn_status plan_ahead(pgcn_i_row_cache *cache, int64_t batches) {
    pgcn_i_row_batch *read[PGCN_I_MOST_AHEAD];
    int64_t count = 0;
    for (batch *b = cache->first; b && batches > 0; b = b->later, batches--) {
        if (b->planned) continue;
        PGCN_TRY(plan(cache, b));
        read[count++] = &b->read;
    }
    return pgcn_i_row_file_submit(cache->file, read, count, cache->pool);
}

/* More is asked for when but one batch is left that was: then the next sweep through the file brings many. */
static bool is_plan_due(const pgcn_i_row_cache *cache) {
    const batch *second = cache->first ? cache->first->later : NULL;
    return !second || !second->planned;
}

/* ---- taking -------------------------------------------------------------------------------------- */

typedef struct deliver_job {
    const pgcn_i_row_cache *cache;
    const batch *b;
    float *out;
    pgcn_i_blocks blocks;
} deliver_job;

static void deliver_task(void *context, int64_t task, int worker) {
    (void)worker;
    const deliver_job *job = context;
    const pgcn_i_row_cache *cache = job->cache;
    int64_t columns = pgcn_i_row_file_layout(cache->file)->columns;
    int64_t end = pgcn_i_block_end(job->blocks, task);
    for (int64_t i = pgcn_i_block_begin(job->blocks, task); i < end; i++) {
        int64_t from = job->b->from[i];
        const char *stored = from >= 0 ? cache->stored + from * cache->row_bytes
                                       : job->b->stored + (-1 - from) * cache->row_bytes;
        pgcn_i_row_file_decode(cache->file, stored, 1, job->out + i * columns);
    }
}

static void deliver(const pgcn_i_row_cache *cache, const batch *b, float *out) {
    deliver_job job = {cache, b, out, pgcn_i_blocks_of(b->count)};
    if (cache->pool)
        pgcn_i_parallel(cache->pool, job.blocks.count, deliver_task, &job);
    else
        for (int64_t task = 0; task < job.blocks.count; task++) deliver_task(&job, task, 0);
}

/* In the order in which slots were given: under LRU a later miss may take the slot of an earlier one. */
static void keep_misses(const pgcn_i_row_cache *cache, const batch *b) {
    for (int64_t i = 0; i < b->count; i++) {
        int64_t place = -1 - b->from[i];
        if (place < 0 || b->slot[place] < 0) continue;
        memcpy(cache->stored + b->slot[place] * cache->row_bytes,
               b->stored + place * cache->row_bytes, (size_t)cache->row_bytes);
    }
}

static pgcn_status take(pgcn_i_row_cache *cache, float *out) {
    batch *b = cache->first;
    PGCN_TRY(plan_ahead(cache, 1));
    PGCN_TRY(pgcn_i_row_file_wait(cache->file, &b->read));
    deliver(cache, b, out);
    keep_misses(cache, b);
    cache->counts.batches++;
    cache->taken++;
    cache->first = b->later;
    if (!cache->first) cache->last = NULL;
    free_batch(b);
    return is_plan_due(cache) ? plan_ahead(cache, cache->ahead) : PGCN_OK;
}

pgcn_status pgcn_i_row_cache_take(pgcn_i_row_cache *cache, float *out) {
    if (!cache->first) return pgcn_i_fail(PGCN_ERR_ARGUMENT, "no batch of rows was announced");
    if (cache->broken)
        return pgcn_i_fail(PGCN_ERR_IO,
                           "an earlier read of these rows has failed; open them again");
    pgcn_status status = take(cache, out);
    cache->broken = status != PGCN_OK;
    return status;
}

pgcn_i_row_counts pgcn_i_row_cache_counts(const pgcn_i_row_cache *cache) {
    pgcn_i_row_counts counts = cache->counts;
    counts.bytes_read += pgcn_i_row_file_bytes_read(cache->file);
    return counts;
}
