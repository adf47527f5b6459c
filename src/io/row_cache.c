/* A bounded cache of rows for a reader that knows which rows it will want.
 *
 * The random numbers of a training run are functions of seed, step and node, so the rows of later batches
 * are known before they are needed. They are announced here. The cache keeps, of the rows it has and those
 * a batch brings, the ones that are wanted soonest (Belady 1966: no other choice reads fewer rows), and it
 * asks the file for what the next batches lack before they are taken. Of rows that no known batch wants, those
 * that were used longest ago go first. So LRU, which is here to be compared with, is a cache that knows no
 * batches.
 *
 * A batch is planned once, in order, before its rows are read: which rows are hits and in which slot, which
 * are misses and in which place of the batch's own buffer, and which misses go into which slot afterwards.
 * A plan uses no content, so later batches can be planned while earlier ones are still being read. Taking a
 * batch waits for its misses, decodes every row from its slot or its place, and then moves the rows that
 * stay into their slots. Slots are therefore right for the next batch, whenever that was planned.
 *
 * What is known of a row, or of a slot, lies side by side, since rows come from all over the file and every look
 * at one of them waits for memory. Rows of a batch are gone through in the order of the file. Lists and buffers
 * of batches that were taken are used again: new memory costs as much as what is copied into it.
 *
 * Called by the training room. One thread at a time; the pool helps. */
#include "io/io.h"

#include <stdlib.h>
#include <string.h>

enum { NEVER = INT32_MAX, NOWHERE = -1 };

/* Lists of one length: what a batch, and what it misses, begin with. */
enum { MOST_LISTS = 5 };
typedef struct lists {
    int64_t room;
    void *list[MOST_LISTS]; /* [room] each */
    struct lists *spare;    /* the next one that nobody uses */
} lists;

/* What a batch misses. */
typedef struct reading {
    lists lists;
    pgcn_node *missed; /* [misses] ascending */
    int32_t *slot;     /* [misses] where it goes afterwards, NOWHERE: into none */
    char *stored;      /* [misses, row bytes] */
    int64_t misses;
    pgcn_i_row_batch read;
} reading;

/* Announced and not taken. */
typedef struct batch {
    lists lists;
    int64_t number, count;
    pgcn_node *row; /* [count] ascending */
    int32_t *to;    /* [count] the place at which it was announced */
    int32_t *next;  /* [count] the batch that wants the row next, NEVER: none that is known */
    int32_t *from;  /* [count] slot of a hit, or -1 - place of a miss */
    int32_t *kept;  /* [keeps] slots of rows that this batch wants next, until it is planned */
    int64_t keeps;
    reading *reading; /* NULL: not planned */
} batch;

typedef struct row_state {
    int32_t slot;  /* NOWHERE: in none */
    int32_t last;  /* the last announced batch that wants the row, -1: none */
    int32_t place; /* in the rows of that batch */
} row_state;

typedef struct slot_state {
    pgcn_node row;
    int32_t next; /* the batch that wants it next, NEVER: none that is known */
    uint32_t age; /* how often it has come to the end of the unwanted */
} slot_state;

typedef struct unwanted {
    int32_t slot;
    uint32_t age; /* another one by now: the row was used, or another one came, since */
} unwanted;

struct pgcn_i_row_cache {
    pgcn_i_row_file *file;
    pgcn_i_pool *pool;
    pgcn_i_arena arena;
    bool knows; /* what batches want; otherwise it is LRU */
    int ahead;
    int64_t rows, row_bytes, slots, used;
    row_state *row;   /* [rows] */
    slot_state *slot; /* [slots] */
    char *stored;     /* [slots, row bytes] */
    unwanted *
        queue; /* [queue_room] a ring: slots that no known batch wants, in the order of their last use */
    int64_t queue_room, queue_begin, queue_count;
    int64_t furthest; /* no batch after it has kept slots */
    batch **known;    /* [known_room] a ring: batch b is number b % known_room */
    int64_t known_room, announced, taken;
    lists *spare_batch, *spare_reading;
    uint64_t *sorted[2]; /* [sort_room] */
    int64_t sort_room;
    bool broken; /* a read failed: slots no longer hold what the plans say */
    pgcn_i_row_counts counts;
};

/* ---- making -------------------------------------------------------------------------------------- */

static pgcn_status allocate(pgcn_i_row_cache *cache) {
    cache->arena.read_at_random = true;
    cache->queue_room = 2 * cache->slots + 1;
    cache->row = PGCN_I_ARRAY(&cache->arena, row_state, cache->rows);
    cache->slot = PGCN_I_ARRAY(&cache->arena, slot_state, cache->slots);
    cache->queue = PGCN_I_ARRAY(&cache->arena, unwanted, cache->queue_room);
    cache->stored = PGCN_I_ARRAY(&cache->arena, char, cache->slots * cache->row_bytes);
    if (!cache->row || !cache->slot || !cache->queue || !cache->stored) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < cache->rows; i++) cache->row[i] = (row_state){NOWHERE, -1, 0};
    return PGCN_OK;
}

pgcn_status pgcn_i_row_cache_new(pgcn_i_row_file *file, const pgcn_i_row_cache_opts *opts,
                                 pgcn_i_row_cache **out) {
    pgcn_i_row_cache *cache = pgcn_i_alloc(1, sizeof *cache);
    if (!cache) return PGCN_ERR_MEMORY;
    cache->file = file;
    cache->pool = opts->pool;
    cache->knows = opts->policy == PGCN_I_ROWS_FUTURE;
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

static void free_lists(lists *l) {
    for (int i = 0; i < MOST_LISTS; i++) pgcn_i_free(l->list[i]);
    pgcn_i_free(l);
}

static void free_spare(lists *spare) {
    for (lists *after; spare; spare = after) {
        after = spare->spare;
        free_lists(spare);
    }
}

static batch *batch_of(const pgcn_i_row_cache *cache, int64_t number) {
    return cache->known[number % cache->known_room];
}

void pgcn_i_row_cache_free(pgcn_i_row_cache *cache) {
    if (!cache) return;
    for (int64_t i = cache->taken; i < cache->announced; i++) {
        batch *b = batch_of(cache, i);
        if (b->reading) { /* it reads into the batch's memory */
            (void)pgcn_i_row_file_wait(cache->file, &b->reading->read);
            free_lists(&b->reading->lists);
        }
        free_lists(&b->lists);
    }
    free_spare(cache->spare_batch);
    free_spare(cache->spare_reading);
    pgcn_i_free(cache->known);
    for (int i = 0; i < 2; i++) pgcn_i_free(cache->sorted[i]);
    pgcn_i_arena_free(&cache->arena);
    pgcn_i_free(cache);
}

/* ---- lists that are used again --------------------------------------------------------------------- */

/* Batches differ: with some room to spare few of them need new lists. */
static int64_t room_for(int64_t count) {
    return count + count / 8 + 1;
}

/* One of `struct_bytes` whose lists have room for `count` elements of the sizes that are not 0: a spare one, or a new
 * one. NULL without memory. */
static void *take_lists(lists **spare, size_t struct_bytes, int64_t count,
                        const size_t size[MOST_LISTS]) {
    lists *l = *spare;
    if (l) *spare = l->spare;
    if (l && l->room >= count) return l;
    if (l) free_lists(l);
    if (!(l = pgcn_i_alloc(1, struct_bytes))) return NULL;
    l->room = room_for(count);
    for (int i = 0; i < MOST_LISTS; i++)
        if (size[i] > 0 && !(l->list[i] = pgcn_i_alloc(l->room, size[i]))) {
            free_lists(l);
            return NULL;
        }
    return l;
}

static void give_lists(lists **spare, lists *l) {
    l->spare = *spare;
    *spare = l;
}

static pgcn_status take_batch(pgcn_i_row_cache *cache, int64_t count, batch **out) {
    batch *b = take_lists(&cache->spare_batch, sizeof *b, count,
                          (size_t[MOST_LISTS]){sizeof *b->row, sizeof *b->to, sizeof *b->next,
                                               sizeof *b->from, sizeof *b->kept});
    if (!b) return PGCN_ERR_MEMORY;
    void *const *list = b->lists.list;
    *b = (batch){.lists = b->lists,
                 .number = cache->announced,
                 .count = count,
                 .row = list[0],
                 .to = list[1],
                 .next = list[2],
                 .from = list[3],
                 .kept = list[4]};
    *out = b;
    return PGCN_OK;
}

static void give_batch(pgcn_i_row_cache *cache, batch *b) {
    if (b->reading) give_lists(&cache->spare_reading, &b->reading->lists);
    give_lists(&cache->spare_batch, &b->lists);
}

static pgcn_status take_reading(pgcn_i_row_cache *cache, int64_t misses, reading **out) {
    reading *r = take_lists(
        &cache->spare_reading, sizeof *r, misses,
        (size_t[MOST_LISTS]){sizeof *r->missed, sizeof *r->slot, (size_t)cache->row_bytes});
    if (!r) return PGCN_ERR_MEMORY;
    void *const *list = r->lists.list;
    *r = (reading){.lists = r->lists,
                   .missed = list[0],
                   .slot = list[1],
                   .stored = list[2],
                   .misses = misses,
                   .read = {.row = list[0], .count = misses, .to = list[2]}};
    *out = r;
    return PGCN_OK;
}

/* Room for one more known batch, and to sort its rows. */
static pgcn_status make_room(pgcn_i_row_cache *cache, int64_t count) {
    if (cache->announced - cache->taken == cache->known_room) {
        int64_t room = 2 * cache->known_room + 8;
        batch **known = pgcn_i_alloc(room, sizeof *known);
        if (!known) return PGCN_ERR_MEMORY;
        for (int64_t i = cache->taken; i < cache->announced; i++)
            known[i % room] = batch_of(cache, i);
        pgcn_i_free(cache->known);
        cache->known = known;
        cache->known_room = room;
    }
    if (cache->sort_room >= count) return PGCN_OK;
    cache->sort_room = 0;
    for (int i = 0; i < 2; i++) {
        pgcn_i_free(cache->sorted[i]);
        cache->sorted[i] = pgcn_i_alloc(room_for(count), sizeof *cache->sorted[i]);
    }
    if (!cache->sorted[0] || !cache->sorted[1]) return PGCN_ERR_MEMORY;
    cache->sort_room = room_for(count);
    return PGCN_OK;
}

/* ---- the future ---------------------------------------------------------------------------------- */

/* Numbers of `bits` bits in the upper half of each, ascending by them: by digits, the lowest first. */
static uint64_t *sort(uint64_t *sorted[2], int64_t count, int bits) {
    enum { DIGIT = 11, VALUES = 1 << DIGIT };
    int from = 0;
    for (int shift = 32; shift < 32 + bits; shift += DIGIT, from = !from) {
        int64_t at[VALUES + 1] = {0};
        const uint64_t *in = sorted[from];
        for (int64_t i = 0; i < count; i++) at[(in[i] >> shift & (VALUES - 1)) + 1]++;
        for (int v = 0; v < VALUES; v++) at[v + 1] += at[v];
        for (int64_t i = 0; i < count; i++)
            sorted[!from][at[in[i] >> shift & (VALUES - 1)]++] = in[i];
    }
    return sorted[from];
}

static int bits_of(int64_t most) {
    int bits = 1;
    while (most >> bits > 0) bits++;
    return bits;
}

/* Copies the rows of a batch into the order of the file. */
static pgcn_status list_rows(pgcn_i_row_cache *cache, const pgcn_node *row, batch *b) {
    for (int64_t i = 0; i < b->count; i++) {
        if (row[i] < 0 || row[i] >= cache->rows)
            return pgcn_i_fail(PGCN_ERR_ARGUMENT, "a batch wants row %d of %lld", row[i],
                               (long long)cache->rows);
        cache->sorted[0][i] = (uint64_t)row[i] << 32 | (uint64_t)i;
    }
    const uint64_t *sorted = sort(cache->sorted, b->count, bits_of(cache->rows - 1));
    for (int64_t i = 0; i < b->count; i++) {
        b->row[i] = (pgcn_node)(sorted[i] >> 32);
        b->to[i] = (int32_t)(sorted[i] & UINT32_MAX);
        b->next[i] = NEVER;
        if (i > 0 && b->row[i] == b->row[i - 1])
            return pgcn_i_fail(PGCN_ERR_ARGUMENT, "a batch wants row %d twice", b->row[i]);
    }
    return PGCN_OK;
}

typedef struct job {
    pgcn_i_row_cache *cache;
    batch *b;
    pgcn_i_blocks blocks;
    int64_t *misses; /* [blocks] */
    float *out;
    pgcn_i_row_taker finish;
    void *context;
} job;

/* Rows that are in the cache, or in an earlier batch, learn when they are wanted next. Slots that did not know of any
 * batch, and are this one's from now on, are in b->from. */
static void link_task(void *context, int64_t task, int worker) {
    (void)worker;
    const job *j = context;
    const pgcn_i_row_cache *cache = j->cache;
    const batch *b = j->b;
    int64_t end = pgcn_i_block_end(j->blocks, task);
    for (int64_t i = pgcn_i_block_begin(j->blocks, task); i < end; i++) {
        row_state *row = &cache->row[b->row[i]];
        const batch *earlier = row->last >= cache->taken ? batch_of(cache, row->last) : NULL;
        b->from[i] = NOWHERE;
        if (earlier) earlier->next[row->place] = (int32_t)b->number;
        if (row->slot >= 0 && (!earlier || earlier->reading)) {
            cache->slot[row->slot].next = (int32_t)b->number;
            b->from[i] = row->slot;
        }
        row->last = (int32_t)b->number;
        row->place = (int32_t)i;
    }
}

static void link_rows(pgcn_i_row_cache *cache, batch *b) {
    job j = {.cache = cache, .b = b, .blocks = pgcn_i_blocks_of(b->count)};
    pgcn_i_parallel(cache->pool, j.blocks.count, link_task, &j);
    for (int64_t i = 0; i < b->count; i++)
        if (b->from[i] >= 0) b->kept[b->keeps++] = b->from[i];
    if (b->keeps > 0) cache->furthest = b->number;
}

pgcn_status pgcn_i_row_cache_announce(pgcn_i_row_cache *cache, const pgcn_node *row,
                                      int64_t count) {
    batch *b;
    if (cache->announced >= NEVER || count > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "more than %d batches, or rows of one, were announced", NEVER);
    PGCN_TRY(make_room(cache, count));
    PGCN_TRY(take_batch(cache, count, &b));
    pgcn_status status = list_rows(cache, row, b);
    if (status != PGCN_OK) {
        give_batch(cache, b);
        return status;
    }
    if (cache->knows) link_rows(cache, b);
    cache->known[cache->announced++ % cache->known_room] = b;
    return PGCN_OK;
}

int64_t pgcn_i_row_cache_announced(const pgcn_i_row_cache *cache) {
    return cache->announced - cache->taken;
}

/* ---- slots ----------------------------------------------------------------------------------------- */

static unwanted *queued(const pgcn_i_row_cache *cache, int64_t i) {
    int64_t at = cache->queue_begin + i;
    return &cache->queue[at < cache->queue_room ? at : at - cache->queue_room];
}

static bool is_unwanted(const pgcn_i_row_cache *cache, unwanted one) {
    const slot_state *slot = &cache->slot[one.slot];
    return slot->next == NEVER && slot->age == one.age;
}

/* Removes those that were used since. At most one entry of a slot is left, and so half of the room. */
static void clean_queue(pgcn_i_row_cache *cache) {
    int64_t left = 0;
    for (int64_t i = 0; i < cache->queue_count; i++)
        if (is_unwanted(cache, *queued(cache, i))) *queued(cache, left++) = *queued(cache, i);
    cache->queue_count = left;
}

/* A slot whose row was used: it waits for the batch that wants it next, or with those that no batch wants. */
static void await_next(pgcn_i_row_cache *cache, int32_t slot) {
    slot_state *state = &cache->slot[slot];
    if (state->next != NEVER) {
        batch *b = batch_of(cache, state->next);
        b->kept[b->keeps++] = slot;
        if (state->next > cache->furthest) cache->furthest = state->next;
        return;
    }
    if (cache->queue_count == cache->queue_room) clean_queue(cache);
    *queued(cache, cache->queue_count++) = (unwanted){slot, ++state->age};
}

static int32_t longest_unused(pgcn_i_row_cache *cache) {
    while (cache->queue_count > 0) {
        unwanted oldest = *queued(cache, 0);
        if (++cache->queue_begin == cache->queue_room) cache->queue_begin = 0;
        cache->queue_count--;
        if (is_unwanted(cache, oldest)) return oldest.slot;
    }
    return NOWHERE;
}

/* A slot whose row is wanted by a later batch than `next`: by the last one that there is. */
static int32_t latest_wanted(pgcn_i_row_cache *cache, int32_t next) {
    for (; cache->furthest > next; cache->furthest--) {
        batch *b = batch_of(cache, cache->furthest);
        if (b->keeps > 0) return b->kept[--b->keeps];
    }
    return NOWHERE;
}

/* The slot that a missed row goes into, which is wanted next by batch `next`; NOWHERE: it is not worth one. */
static int32_t find_slot(pgcn_i_row_cache *cache, int32_t next) {
    if (cache->used < cache->slots) return (int32_t)cache->used++;
    if (cache->knows && next == NEVER) return NOWHERE;
    int32_t slot = longest_unused(cache);
    if (slot < 0) slot = latest_wanted(cache, next);
    if (slot >= 0) cache->row[cache->slot[slot].row].slot = NOWHERE;
    return slot;
}

/* ---- plans --------------------------------------------------------------------------------------- */

static void find_task(void *context, int64_t task, int worker) {
    (void)worker;
    const job *j = context;
    const batch *b = j->b;
    int64_t end = pgcn_i_block_end(j->blocks, task), misses = 0;
    for (int64_t i = pgcn_i_block_begin(j->blocks, task); i < end; i++) {
        int32_t slot = j->cache->row[b->row[i]].slot;
        b->from[i] = slot;
        misses += slot < 0;
        if (slot >= 0) j->cache->slot[slot].next = b->next[i];
    }
    j->misses[task] = misses;
}

/* Says of every row in which slot it is, if in any; returns how many are missed. */
static int64_t find_rows(pgcn_i_row_cache *cache, batch *b) {
    int64_t misses[PGCN_MAX_BLOCKS], all = 0;
    job j = {.cache = cache, .b = b, .blocks = pgcn_i_blocks_of(b->count), .misses = misses};
    pgcn_i_parallel(cache->pool, j.blocks.count, find_task, &j);
    for (int64_t i = 0; i < j.blocks.count; i++) all += misses[i];
    return all;
}

/* Gives slots to rows that are missed, those that are worth one. */
static void place_misses(pgcn_i_row_cache *cache, const batch *b, reading *r) {
    for (int64_t i = 0, place = 0; i < b->count; i++) {
        if (b->from[i] >= 0) continue;
        int32_t slot = find_slot(cache, b->next[i]);
        r->missed[place] = b->row[i];
        r->slot[place] = slot;
        b->from[i] = (int32_t)(-1 - place++);
        if (slot < 0) continue;
        cache->row[b->row[i]].slot = slot;
        cache->slot[slot].row = b->row[i];
        cache->slot[slot].next = b->next[i];
        await_next(cache, slot);
    }
    /* a later one may have taken the slot of an earlier one */
    for (int64_t place = 0; place < r->misses; place++)
        if (r->slot[place] >= 0 && cache->slot[r->slot[place]].row != r->missed[place])
            r->slot[place] = NOWHERE;
}

static pgcn_status plan(pgcn_i_row_cache *cache, batch *b) {
    PGCN_TRY(take_reading(cache, find_rows(cache, b), &b->reading));
    for (int64_t i = 0; i < b->count; i++)
        if (b->from[i] >= 0) await_next(cache, b->from[i]);
    place_misses(cache, b, b->reading);
    cache->counts.hits += b->count - b->reading->misses;
    cache->counts.misses += b->reading->misses;
    return PGCN_OK;
}

/* Plans the batches that are next, and asks for what they miss, together. */
static pgcn_status plan_ahead(pgcn_i_row_cache *cache, int64_t batches) {
    pgcn_i_row_batch *read[PGCN_I_MOST_AHEAD];
    int64_t count = 0;
    for (int64_t i = cache->taken; i < cache->announced && i < cache->taken + batches; i++) {
        batch *b = batch_of(cache, i);
        if (b->reading) continue;
        PGCN_TRY(plan(cache, b));
        read[count++] = &b->reading->read;
    }
    return pgcn_i_row_file_submit(cache->file, read, count, cache->pool);
}

/* More is asked for when but one batch is left that was: then the next sweep through the file brings many. */
static bool is_plan_due(const pgcn_i_row_cache *cache) {
    return cache->announced - cache->taken < 2 || !batch_of(cache, cache->taken + 1)->reading;
}

/* ---- taking -------------------------------------------------------------------------------------- */

/* Rows after the one that is decoded: slots are in no order, and the processor does not guess the next. */
enum { SOON = 6, LINE = 64, MOST_FETCHED = 1024 };

static void fetch(const char *stored, int64_t bytes) {
    for (int64_t i = 0; i < bytes && i < MOST_FETCHED; i += LINE) __builtin_prefetch(stored + i);
}

static const char *stored_at(const pgcn_i_row_cache *cache, const batch *b, int64_t i) {
    int64_t from = b->from[i];
    return from >= 0 ? cache->stored + from * cache->row_bytes
                     : b->reading->stored + (-1 - from) * cache->row_bytes;
}

static void deliver_task(void *context, int64_t task, int worker) {
    (void)worker;
    const job *j = context;
    const pgcn_i_row_cache *cache = j->cache;
    const batch *b = j->b;
    int64_t columns = pgcn_i_row_file_layout(cache->file)->columns;
    int64_t end = pgcn_i_block_end(j->blocks, task);
    for (int64_t i = pgcn_i_block_begin(j->blocks, task); i < end; i++) {
        const char *stored = stored_at(cache, b, i);
        if (i + SOON < end) fetch(stored_at(cache, b, i + SOON), cache->row_bytes);
        float *row = j->out + b->to[i] * columns;
        pgcn_i_row_file_decode(cache->file, stored, 1, row);
        if (j->finish) j->finish(j->context, b->to[i], row);
    }
}

static void keep_task(void *context, int64_t task, int worker) {
    (void)worker;
    const job *j = context;
    const pgcn_i_row_cache *cache = j->cache;
    const reading *r = j->b->reading;
    int64_t end = pgcn_i_block_end(j->blocks, task);
    for (int64_t place = pgcn_i_block_begin(j->blocks, task); place < end; place++)
        if (r->slot[place] >= 0)
            memcpy(cache->stored + r->slot[place] * cache->row_bytes,
                   r->stored + place * cache->row_bytes, (size_t)cache->row_bytes);
}

static pgcn_status take(pgcn_i_row_cache *cache, job j) {
    j.b = batch_of(cache, cache->taken);
    PGCN_TRY(plan_ahead(cache, 1));
    PGCN_TRY(pgcn_i_row_file_wait(cache->file, &j.b->reading->read));
    j.blocks = pgcn_i_blocks_of(j.b->count);
    pgcn_i_parallel(cache->pool, j.blocks.count, deliver_task, &j);
    j.blocks = pgcn_i_blocks_of(j.b->reading->misses);
    pgcn_i_parallel(cache->pool, j.blocks.count, keep_task, &j);
    cache->counts.batches++;
    cache->taken++;
    give_batch(cache, j.b);
    return is_plan_due(cache) ? plan_ahead(cache, cache->ahead) : PGCN_OK;
}

pgcn_status pgcn_i_row_cache_take(pgcn_i_row_cache *cache, float *out, pgcn_i_row_taker finish,
                                  void *context) {
    if (cache->announced == cache->taken)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "no batch of rows was announced");
    if (cache->broken)
        return pgcn_i_fail(PGCN_ERR_IO,
                           "an earlier read of these rows has failed; open them again");
    pgcn_status status =
        take(cache, (job){.cache = cache, .out = out, .finish = finish, .context = context});
    cache->broken = status != PGCN_OK;
    return status;
}

pgcn_i_row_counts pgcn_i_row_cache_counts(const pgcn_i_row_cache *cache) {
    pgcn_i_row_counts counts = cache->counts;
    counts.bytes_read += pgcn_i_row_file_bytes_read(cache->file);
    return counts;
}
