/* Visit lists: the sparse matrices S_i of the path convolution and their transposes (paper,
 * eq. pathConv; S_i[j][u] = share of the p walks from j that are at u after i hops).
 *
 *   1. blocks of rows, parallel: walk a tile of 16 rows, sort the p visits of each row and hop, the
 *      rows side by side in vectors, and count how many differ, per bucket of visited nodes.
 *   2. prefix sums turn the counts into indices: where each block writes in each list and bucket.
 *   3. (hop, block), parallel: merge equal visits into one entry with a weight, at its index.
 *   4. (hop, bucket), parallel: a counting sort of the bucket's entries is a part of the transpose.
 *
 * A bucket is a range of nodes small enough that its part of the transpose stays in a core's cache;
 * a small graph has one. Blocks and buckets depend on the graph alone, each index has one writer,
 * and blocks keep the order of their rows, so the lists are the same for any number of threads.
 * Nothing is allocated after pgcn_i_visits_new(). Called by views, once per step.
 *
 * Of nodes that are divided among ranks, each walks from its own. A bucket then has nodes of one rank, and between steps
 * 3 and 4 entries go to the ranks of their buckets (divide.c). Then rows of others get numbers. */
#include "paths/divide.h"
#include "paths/steps.h"

#include <math.h>
#include <string.h>

enum {
    ROWS = PGCN_TILE_ROWS,
    MAX_SAMPLES = 256,
    MAX_ROW_BLOCKS = 128,   /* of one sample */
    MAX_BUCKET_BITS = 14,   /* nodes of a bucket: with 10 visits each they take 1.3 MB */
    LEAST_BUCKETS = 8,      /* if there is more than one, so that threads get equal parts */
    PARTED_BYTES = 1 << 22, /* hops are put into buckets together while their entries take less */
    GROUP_BITS = 6,         /* nodes of a division are whole groups */
};
_Static_assert(1 << GROUP_BITS == PGCN_GROUP_ROWS, "groups are whole buckets");

/* A block of rows, of one sample. */
typedef struct row_block {
    int64_t index; /* among those of all samples */
    int sample;
    int64_t begin, end; /* nodes, or rows where samples are not stacked */
    int64_t shift;      /* row of node 0 of the sample */
    int64_t tile;       /* its first one */
} row_block;

/* What step 1 to 4 hand to each other. Blocks of rows and buckets are those of one sample. */
typedef struct pgcn_i_visits_work {
    int64_t n; /* nodes */
    pgcn_i_blocks blocks;
    int64_t buckets;
    int bucket_bits;        /* node u is in bucket u >> bucket_bits, or with a division */
    int32_t *bucket_at;     /* [n / PGCN_GROUP_ROWS] in bucket_at[u >> GROUP_BITS]; NULL: without */
    pgcn_node *sorted;      /* [k-1, capacity] visits of each tile [p, ROWS]; the memory is that of
                               the columns of the transposes, which are written last */
    int64_t capacity;       /* samples * whole tiles * p * ROWS */
    int64_t *place;         /* [k-1, samples * blocks, buckets] counts, then places in the bucket */
    int64_t *block_begin;   /* [k-1, samples * blocks + 1] places in the list */
    int64_t *bucket_begin;  /* [k-1, samples * buckets + 1] */
    pgcn_i_entries *parted; /* [hops_together] the entries of a list in the order of the buckets;
                               NULL without transposes */
    int hops_together;
    float *root, *inverse_root; /* [n] of the degree, for symmetric scaling */
    row_block *run_block;       /* [run_blocks] of a part of a graph; NULL: samples are stacked */
    int64_t run_blocks;
    int64_t first_node; /* of the blocks: 0, or of a division this rank's */
    /* of a division */
    pgcn_i_arena arena;
    int64_t *bucket_node; /* [buckets + 1] the nodes of a bucket */
    pgcn_i_trade trade;
    pgcn_i_numberer numberer;
} visits_work;

/* With one bucket, columns and values have the order of the list and are not copied. */
static bool copies_entries(const visits_work *work) {
    return work->buckets > 1 || work->bucket_at;
}

static int64_t bucket_of(const visits_work *work, pgcn_node node) {
    return work->bucket_at ? work->bucket_at[node >> GROUP_BITS] : node >> work->bucket_bits;
}

/* ---- memory ------------------------------------------------------------------------------ */

static pgcn_status alloc_parted(pgcn_i_arena *arena, const pgcn_i_visits *visits, int64_t entries) {
    visits_work *work = visits->work;
    const bool copied = copies_entries(work);
    const int64_t bytes = copied ? 12 : 4, hops = visits->k - 1;
    int64_t together = PARTED_BYTES / bytes / entries;
    together = together < 1 ? 1 : together > hops ? hops : together;
    work->hops_together = (int)together;
    work->parted = PGCN_I_ARRAY(arena, pgcn_i_entries, together);
    for (int64_t i = 0; work->parted && i < together; i++) {
        pgcn_i_entries *parted = &work->parted[i];
        parted->row = PGCN_I_ARRAY(arena, pgcn_node, entries);
        if (copied && parted->row) parted->column = PGCN_I_ARRAY(arena, pgcn_node, entries);
        if (copied && parted->column) parted->value = PGCN_I_ARRAY(arena, float, entries);
        if (!parted->row || (copied && !parted->value)) return PGCN_ERR_MEMORY;
    }
    return work->parted ? PGCN_OK : PGCN_ERR_MEMORY;
}

static void choose_buckets(visits_work *work, int64_t n) {
    if (n <= 1 << MAX_BUCKET_BITS) {
        work->bucket_bits = 31;
        work->buckets = 1;
        return;
    }
    work->bucket_bits = MAX_BUCKET_BITS;
    while (n >> work->bucket_bits < LEAST_BUCKETS) work->bucket_bits--;
    work->buckets = ((n - 1) >> work->bucket_bits) + 1;
}

/* Of n nodes or fewer. */
static int64_t most_blocks(int64_t n) {
    int64_t blocks = (n + PGCN_BLOCK_ROWS - 1) / PGCN_BLOCK_ROWS;
    return blocks < MAX_ROW_BLOCKS ? blocks : MAX_ROW_BLOCKS;
}

static pgcn_status alloc_work(pgcn_i_visits *visits, int64_t entries) {
    pgcn_i_arena *arena = &visits->arena;
    visits_work *work = visits->work = PGCN_I_ARRAY(arena, visits_work, 1);
    if (!work) return PGCN_ERR_MEMORY;
    const int64_t n = visits->n, hops = visits->k - 1, tiles = (n + ROWS - 1) / ROWS;
    const pgcn_i_subset *subset = visits->subset;
    const int64_t runs = subset && subset->run ? subset->most_runs : 0;
    work->hops_together = visits->k - 1;
    choose_buckets(work, visits->hop_t ? n : 1);
    int64_t blocks = visits->samples * most_blocks(n) + runs, nodes;
    if (runs > 0) work->run_block = PGCN_I_ARRAY(arena, row_block, blocks);
    if (runs > 0 && !work->run_block) return PGCN_ERR_MEMORY;
    /* every block of a run may end within a tile */
    int64_t room = visits->samples * tiles + (runs > 0 ? blocks : 0);
    if (!pgcn_i_mul(room * ROWS, visits->p, &work->capacity) ||
        !pgcn_i_mul(work->capacity, hops, &nodes))
        return pgcn_i_fail(PGCN_ERR_MEMORY, "their size does not fit into 64 bits");
    work->sorted = PGCN_I_ARRAY(arena, pgcn_node, nodes);
    work->place = PGCN_I_ARRAY(arena, int64_t, hops * blocks * work->buckets);
    work->block_begin = PGCN_I_ARRAY(arena, int64_t, hops * (blocks + 1));
    work->bucket_begin = PGCN_I_ARRAY(arena, int64_t, hops * (visits->samples * work->buckets + 1));
    work->root = PGCN_I_ARRAY(arena, float, n);
    work->inverse_root = PGCN_I_ARRAY(arena, float, n);
    if (!work->sorted || !work->place || !work->block_begin || !work->bucket_begin || !work->root ||
        !work->inverse_root)
        return PGCN_ERR_MEMORY;
    return visits->hop_t && hops > 0 ? alloc_parted(arena, visits, entries) : PGCN_OK;
}

/* Lists of the sizes that `visits` has. */
static pgcn_status alloc_lists(pgcn_i_visits *visits, bool with_transpose) {
    pgcn_i_arena *arena = &visits->arena;
    const int64_t rows = visits->rows;
    int64_t entries;
    if (!pgcn_i_mul(rows, visits->p, &entries))
        return pgcn_i_fail(PGCN_ERR_MEMORY, "their size does not fit into 64 bits");
    int hops = visits->k - 1;
    visits->hop = PGCN_I_ARRAY(arena, pgcn_i_csr, hops);
    if (with_transpose) visits->hop_t = PGCN_I_ARRAY(arena, pgcn_i_csr, hops);
    if (!visits->hop || (with_transpose && !visits->hop_t)) return PGCN_ERR_MEMORY;
    PGCN_TRY(alloc_work(visits, entries));
    for (int i = 0; i < hops; i++) {
        PGCN_TRY(pgcn_i_csr_alloc(arena, rows, entries, true, &visits->hop[i]));
        if (!with_transpose) continue;
        visits->hop_t[i] = (pgcn_i_csr){.rows = rows,
                                        .offset = PGCN_I_ARRAY(arena, int64_t, rows + 1),
                                        .column = visits->work->sorted + i * visits->work->capacity,
                                        .value = PGCN_I_ARRAY(arena, float, entries)};
        if (!visits->hop_t[i].offset || !visits->hop_t[i].value) return PGCN_ERR_MEMORY;
    }
    return PGCN_OK;
}

pgcn_status pgcn_i_visits_new(const pgcn_i_walker *walker, const pgcn_i_subset *subset, int samples,
                              bool with_transpose, pgcn_i_visits **out) {
    int64_t n = subset ? subset->most : walker->graph->n, rows;
    if (samples < 1 || samples > MAX_SAMPLES)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "making visit lists: samples is %d, but must be 1 to %d", samples,
                           MAX_SAMPLES);
    if (!pgcn_i_mul(n, samples, &rows) || rows > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "making visit lists: %d samples of %lld nodes are more than %d rows; "
                           "use fewer samples",
                           samples, (long long)n, INT32_MAX);
    /* transposes are scattered and gathered */
    const pgcn_i_visits sizes = {.arena = {.read_at_random = with_transpose},
                                 .subset = subset,
                                 .n = n,
                                 .samples = samples,
                                 .k = walker->k,
                                 .p = subset && subset->paths > 0 ? subset->paths : walker->p,
                                 .rows = rows};
    pgcn_i_visits *visits = pgcn_i_alloc(1, sizeof *visits);
    if (visits) *visits = sizes;
    pgcn_status status = visits ? alloc_lists(visits, with_transpose) : PGCN_ERR_MEMORY;
    if (status != PGCN_OK) {
        pgcn_i_visits_free(visits);
        return pgcn_i_fail_in(status,
                              "making visit lists for %d sample(s) of %lld nodes, %d paths of %d "
                              "nodes each",
                              samples, (long long)n, walker->p, walker->k);
    }
    *out = visits;
    return PGCN_OK;
}

/* Their own stay untouched from now on. */
void pgcn_i_visits_borrow(pgcn_i_visits *visits, float *memory, int64_t floats) {
    visits_work *work = visits->work;
    const int64_t entries = visits->rows * visits->p, arrays = copies_entries(work) ? 3 : 1;
    if (!work->parted || work->hops_together * arrays * entries > floats) return;
    for (int i = 0; i < work->hops_together; i++) {
        pgcn_i_entries *parted = &work->parted[i];
        pgcn_node **const ids[] = {&parted->row, &parted->column};
        for (int64_t j = 0; j < arrays && j < 2; j++, memory += entries)
            *ids[j] = (pgcn_node *)(void *)memory;
        if (arrays < 3) continue;
        parted->value = memory;
        memory += entries;
    }
    visits->borrowed_bytes =
        work->hops_together * arrays * entries * (int64_t)sizeof *work->parted->value;
}

static void free_lists(pgcn_i_visits *visits) {
    if (visits->work) {
        pgcn_i_trade_free(&visits->work->trade);
        pgcn_i_numberer_free(&visits->work->numberer);
        pgcn_i_arena_free(&visits->work->arena);
    }
    pgcn_i_arena_free(&visits->arena);
    visits->hop = visits->hop_t = NULL;
    visits->work = NULL;
}

void pgcn_i_visits_free(pgcn_i_visits *visits) {
    if (!visits) return;
    free_lists(visits);
    pgcn_i_free(visits);
}

int64_t pgcn_i_visits_resident(const pgcn_i_visits *visits, int64_t *numbers) {
    const visits_work *work = visits->work;
    *numbers = pgcn_i_arena_resident(&work->numberer.arena);
    return pgcn_i_arena_resident(&visits->arena) + pgcn_i_arena_resident(&work->arena);
}

/* ---- nodes of one rank --------------------------------------------------------------------- */

/* Buckets that have nodes of one rank each. */
static pgcn_status divide_buckets(visits_work *work, const pgcn_i_division *division, int64_t n) {
    pgcn_i_arena *arena = &work->arena;
    const int ranks = division->comm->size;
    int64_t *first = work->trade.first_bucket = PGCN_I_ARRAY(arena, int64_t, ranks + 1);
    if (!first) return PGCN_ERR_MEMORY;
    work->bucket_bits = MAX_BUCKET_BITS;
    while (work->bucket_bits > GROUP_BITS && n >> work->bucket_bits < LEAST_BUCKETS)
        work->bucket_bits--;
    const int64_t size = (int64_t)1 << work->bucket_bits;
    for (int r = 0; r < ranks; r++)
        first[r + 1] = first[r] + (division->begin[r + 1] - division->begin[r] + size - 1) / size;
    work->buckets = first[ranks];
    work->bucket_at = PGCN_I_ARRAY(arena, int32_t, n / PGCN_GROUP_ROWS + 1);
    work->bucket_node = PGCN_I_ARRAY(arena, int64_t, work->buckets + 1);
    if (!work->bucket_at || !work->bucket_node) return PGCN_ERR_MEMORY;
    for (int r = 0; r < ranks; r++)
        for (int64_t u = division->begin[r]; u < division->begin[r + 1]; u += PGCN_GROUP_ROWS) {
            int64_t bucket = first[r] + (u - division->begin[r]) / size;
            work->bucket_at[u >> GROUP_BITS] = (int32_t)bucket;
            if ((u - division->begin[r]) % size == 0) work->bucket_node[bucket] = u;
        }
    work->bucket_node[work->buckets] = n;
    return PGCN_OK;
}

/* Arrays of entries of this many hops at a time: to give, and to get. */
static pgcn_status alloc_trade(pgcn_i_visits *visits, int64_t own_buckets) {
    visits_work *work = visits->work;
    pgcn_i_trade *trade = &work->trade;
    pgcn_i_arena *arena = &work->arena;
    const int ranks = visits->division->comm->size, hops = visits->k - 1;
    const int64_t parts = visits->samples * work->buckets;
    trade->division = visits->division;
    trade->samples = visits->samples;
    int64_t **place = PGCN_I_ARRAY(arena, int64_t *, hops);
    trade->begin = PGCN_I_ARRAY(arena, int64_t *, hops);
    trade->got = PGCN_I_ARRAY(arena, pgcn_i_entries, work->hops_together);
    trade->give = PGCN_I_ARRAY(arena, int64_t, ranks + 1);
    trade->get = PGCN_I_ARRAY(arena, int64_t, ranks + 1);
    if (!place || !trade->begin || !trade->got || !trade->give || !trade->get)
        return PGCN_ERR_MEMORY;
    trade->place = place;
    for (int hop = 0; hop < hops; hop++) {
        place[hop] = work->bucket_begin + hop * (parts + 1);
        trade->begin[hop] = PGCN_I_ARRAY(arena, int64_t, visits->samples * own_buckets + 1);
        if (!trade->begin[hop]) return PGCN_ERR_MEMORY;
    }
    for (int i = 0; i < work->hops_together; i++) {
        pgcn_i_entries *got = &trade->got[i];
        got->row = PGCN_I_ARRAY(arena, pgcn_node, visits->rows * visits->p);
        got->column = PGCN_I_ARRAY(arena, pgcn_node, visits->rows * visits->p);
        got->value = PGCN_I_ARRAY(arena, float, visits->rows * visits->p);
        if (!got->row || !got->column || !got->value) return PGCN_ERR_MEMORY;
    }
    return PGCN_OK;
}

/* Lists anew, as address space for all nodes, of which a rank touches what its own need. A huge page that is begun counts
 * whole, so that there are none where a rank's part of an array is but a few. */
static pgcn_status alloc_part(pgcn_i_visits *visits, int ranks) {
    enum { HUGE_PAGE = 2 << 20, LEAST_PAGES = 8 };
    const bool with_transpose = visits->hop_t != NULL;
    const int64_t bytes = visits->rows * visits->p * (int64_t)sizeof(pgcn_node) / ranks;
    free_lists(visits);
    visits->arena.read_at_random = bytes >= LEAST_PAGES * HUGE_PAGE;
    visits->arena.sparse = !visits->arena.read_at_random;
    PGCN_TRY(alloc_lists(visits, with_transpose));
    visits->work->arena.read_at_random = visits->arena.read_at_random;
    visits->work->arena.sparse = visits->arena.sparse;
    return PGCN_OK;
}

pgcn_status pgcn_i_visits_divide(pgcn_i_visits *visits, const pgcn_i_division *division) {
    const int hops = visits->k - 1, rank = division->comm->rank, ranks = division->comm->size;
    const int64_t n = visits->n, blocks = visits->samples * most_blocks(n);
    if (2 * visits->rows > INT32_MAX)
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "making visit lists: %d samples of %lld nodes are more than %d rows, the "
            "most that ranks share; use fewer samples",
            visits->samples, (long long)n, INT32_MAX / 2);
    PGCN_TRY(alloc_part(visits, ranks));
    visits_work *work = visits->work;
    pgcn_i_arena *arena = &work->arena;
    visits->division = division;
    work->first_node = pgcn_i_division_own(division).begin;
    PGCN_TRY(divide_buckets(work, division, n));
    work->place = PGCN_I_ARRAY(arena, int64_t, hops * blocks * work->buckets);
    work->bucket_begin = PGCN_I_ARRAY(arena, int64_t, hops * (visits->samples * work->buckets + 1));
    if (!work->place || !work->bucket_begin) return PGCN_ERR_MEMORY;
    PGCN_TRY(pgcn_i_numberer_init(&work->numberer, division, visits->samples, n));
    PGCN_TRY(pgcn_i_others_init(&visits->others, arena, ranks, visits->rows));
    if (!visits->hop_t || hops == 0) return PGCN_OK;
    PGCN_TRY(pgcn_i_others_init(&visits->others_t, arena, ranks, visits->rows));
    PGCN_TRY(alloc_parted(arena, visits, visits->rows * visits->p));
    return alloc_trade(visits, work->trade.first_bucket[rank + 1] - work->trade.first_bucket[rank]);
}

/* ---- 1: walk, sort, count ---------------------------------------------------------------- */

typedef struct visits_job {
    pgcn_i_visits *visits;
    const visits_work *work;
    const pgcn_i_walker *walker;
    pgcn_i_path_draw draw;
    const float *degree;
    int hop_begin, hops; /* of steps 3 and 4 */
} visits_job;

static row_block block_of(const visits_work *work, int64_t index) {
    if (work->run_block) return work->run_block[index];
    int64_t block = index % work->blocks.count, sample = index / work->blocks.count;
    int64_t rows = work->blocks.rows, begin = pgcn_i_block_begin(work->blocks, block);
    return (row_block){.index = index,
                       .sample = (int)sample,
                       .begin = work->first_node + begin,
                       .end = work->first_node + pgcn_i_block_end(work->blocks, block),
                       .shift = sample * work->n,
                       .tile = sample * ((rows + ROWS - 1) / ROWS) + begin / ROWS};
}

static int lanes_of(const row_block *block, int64_t first) {
    return block->end - first < ROWS ? (int)(block->end - first) : ROWS;
}

static pgcn_node *tile_of(const visits_job *job, int hop, const row_block *block, int64_t first) {
    int64_t tile = block->tile + (first - block->begin) / ROWS;
    return job->work->sorted + hop * job->work->capacity + tile * ROWS * job->visits->p;
}

static int64_t blocks_in(const visits_job *job) {
    return job->work->run_block ? job->work->run_blocks
                                : job->visits->samples * job->work->blocks.count;
}

static int64_t *block_begin_of(const visits_job *job, int hop, const row_block *block) {
    return job->work->block_begin + hop * (blocks_in(job) + 1) + block->index;
}

static int64_t *places_of(const visits_job *job, int hop, const row_block *block) {
    return job->work->place + (hop * blocks_in(job) + block->index) * job->work->buckets;
}

static int64_t *buckets_of(const visits_job *job, int hop) {
    return job->work->bucket_begin + hop * (job->visits->samples * job->work->buckets + 1);
}

/* A guest walks by itself until it is at a node of the graph: after *stays hops where it stayed, *at is that node, or the
 * guest if it has no edges. */
static void leave(const visits_job *job, pgcn_i_rng_domain domain, pgcn_node guest,
                  uint64_t element, pgcn_node *at, int *stays) {
    const pgcn_i_guests *guests = job->visits->subset->guests;
    int64_t row = guest - guests->nodes, begin = guests->edges.offset[row];
    uint32_t choices = (uint32_t)(guests->edges.offset[row + 1] - begin);
    domain.tag = (domain.tag & ~0xffu) | PGCN_I_RNG_NEIGHBOURS;
    pgcn_i_stream random = pgcn_i_stream_of(domain, element);
    *at = guest;
    for (*stays = 0; *at == guest && choices > 0 && *stays < job->visits->k; ++*stays)
        *at = guests->edges.column[begin + pgcn_i_bounded(&random, choices)];
    if (*at != guest) --*stays;
}

/* The hops of a guest's path: where it stayed, then the walk of the node that it went to. */
static void put_guest_hops(const visits_job *job, pgcn_node guest, int stays, pgcn_node at,
                           pgcn_node *out) {
    const int hops = job->visits->k - 1;
    const int64_t distance = job->work->capacity;
    for (int hop = hops; hop > 0; hop--) {
        int walked = hop - stays - 1; /* hops of the walk from `at` */
        pgcn_node node = walked < 0 ? guest : walked == 0 ? at : out[(walked - 1) * distance];
        out[(hop - 1) * distance] = at == guest ? guest : node;
    }
}

/* Guests start where they go to. */
static void walk_from(const visits_job *job, pgcn_i_rng_domain domain, uint64_t *element,
                      pgcn_node *start, int count, pgcn_node *out) {
    const pgcn_i_guests *guests = job->visits->subset ? job->visits->subset->guests : NULL;
    pgcn_node guest[PGCN_WALK_BATCH];
    int stays[PGCN_WALK_BATCH];
    for (int i = 0; i < count && guests; i++) {
        guest[i] = start[i];
        if (start[i] < guests->nodes) continue;
        leave(job, domain, guest[i], element[i], &start[i], &stays[i]);
        if (start[i] >= guests->nodes) start[i] = 0; /* nowhere: its walk is not read */
    }
    const pgcn_i_walk_starts starts = {domain, element, start, count};
    pgcn_i_walk_batch(job->walker, &starts, (pgcn_i_walk_array){out, 1, job->work->capacity});
    for (int i = 0; i < count && guests; i++) {
        if (guest[i] < guests->nodes) continue;
        bool left =
            stays[i] < job->visits->k - 1 && guests->edges.offset[guest[i] - guests->nodes + 1] >
                                                 guests->edges.offset[guest[i] - guests->nodes];
        put_guest_hops(job, guest[i], stays[i], left ? start[i] : guest[i], out + i);
    }
}

/* The walks of ROWS rows from `first` on, path q of all rows side by side; a lane without a row
 * repeats the first one. */
static void walk_tile(const visits_job *job, pgcn_i_rng_domain domain, int64_t first, int lanes,
                      pgcn_node *out) {
    enum { MOST_PATHS = PGCN_WALK_BATCH / ROWS };
    const pgcn_i_subset *subset = job->visits->subset;
    const int p = job->visits->p;
    const int batches = (p + MOST_PATHS - 1) / MOST_PATHS, paths = (p + batches - 1) / batches;
    for (int done = 0; done < p; done += paths) {
        pgcn_node start[PGCN_WALK_BATCH];
        uint64_t element[PGCN_WALK_BATCH];
        int batch_paths = p - done < paths ? p - done : paths;
        for (int q = 0; q < batch_paths; q++) {
            for (int lane = 0; lane < ROWS; lane++) {
                pgcn_node node = (pgcn_node)first + (lane < lanes ? lane : 0);
                if (subset) node = subset->node[node];
                start[q * ROWS + lane] = node;
                element[q * ROWS + lane] = pgcn_i_walk_element(job->walker, node, done + q);
            }
        }
        walk_from(job, domain, element, start, batch_paths * ROWS, out + done * ROWS);
    }
}

/* Replaces visited nodes by their rows in the subset. */
static void place_tile(const visits_job *job, pgcn_node *id) {
    const pgcn_i_subset *subset = job->visits->subset;
    for (int64_t i = 0; subset && subset->place && i < job->visits->p * (int64_t)ROWS; i++)
        id[i] = subset->place[id[i]];
}

/* Of the rows of a block, where lists hold nodes of the graph. */
static void gather_roots(const visits_job *job, const row_block *block) {
    const pgcn_node *node = job->visits->subset->node;
    const pgcn_i_guests *guests = job->visits->subset->guests;
    for (int64_t r = block->begin; r < block->end; r++) {
        bool known = !guests || node[r] < guests->nodes;
        if (job->degree)
            job->work->root[r] =
                sqrtf(known ? job->degree[node[r]] : guests->degree[node[r] - guests->nodes]);
        else
            job->work->root[r] = 1;
    }
}

/* Distinct visits of a sorted tile: where each row starts within its block, and per bucket. */
static void count_tile(const visits_job *job, const pgcn_node *id, int lanes, int64_t *offset,
                       int64_t *place, int64_t *count) {
    int32_t distinct[ROWS];
    job->walker->kernels->count_lanes(distinct, id, job->visits->p);
    for (int lane = 0; lane < lanes; lane++) {
        offset[lane] = *place;
        *place += distinct[lane];
    }
    if (job->work->buckets == 1) return;
    for (int lane = 0; lane < lanes; lane++) count[bucket_of(job->work, id[lane])]++;
    for (int64_t q = 1; q < job->visits->p; q++) {
        const pgcn_node *before = id + (q - 1) * ROWS, *now = id + q * ROWS;
        for (int lane = 0; lane < lanes; lane++)
            count[bucket_of(job->work, now[lane])] += now[lane] != before[lane];
    }
}

static void walk_task(void *context, int64_t task, int worker) {
    (void)worker;
    const visits_job *job = context;
    const pgcn_i_visits *visits = job->visits;
    const row_block block = block_of(job->work, task);
    const int hops = visits->k - 1;
    const pgcn_i_path_draw draw = job->draw;
    pgcn_i_rng_domain domain =
        pgcn_i_rng_domain_of(draw.seed, draw.purpose, draw.step, draw.layer, block.sample);
    if (job->work->run_block)
        gather_roots(job, &block);
    else if (block.sample == 0 && !visits->division)
        job->walker->kernels->roots(job->work->root, job->work->inverse_root, job->degree,
                                    block.begin, block.end);
    for (int hop = 0; hop < hops; hop++) {
        memset(places_of(job, hop, &block), 0, (size_t)job->work->buckets * sizeof(int64_t));
        *block_begin_of(job, hop, &block) = 0;
    }
    for (int64_t first = block.begin; first < block.end; first += ROWS) {
        int lanes = lanes_of(&block, first);
        if (hops > 0) walk_tile(job, domain, first, lanes, tile_of(job, 0, &block, first));
        for (int hop = 0; hop < hops; hop++) {
            pgcn_node *tile = tile_of(job, hop, &block, first);
            place_tile(job, tile);
            job->walker->kernels->sort_lanes(tile, visits->p);
            count_tile(job, tile, lanes, visits->hop[hop].offset + block.shift + first,
                       block_begin_of(job, hop, &block), places_of(job, hop, &block));
        }
    }
    if (job->work->buckets > 1) return;
    for (int hop = 0; hop < hops; hop++)
        *places_of(job, hop, &block) = *block_begin_of(job, hop, &block);
}

/* ---- 2: places --------------------------------------------------------------------------- */

/* Counts of one hop and sample become places; `list_place` and `end` run on over the samples. */
static void find_places(const visits_work *work, int64_t *place, int64_t *block_begin,
                        int64_t *list_place, int64_t *end) {
    const int64_t blocks = work->blocks.count, buckets = work->buckets;
    int64_t bucket_place = *list_place;
    memset(end, 0, (size_t)buckets * sizeof *end);
    for (int64_t block = 0; block < blocks; block++) {
        block_begin[block] = *list_place;
        for (int64_t b = 0; b < buckets; b++) {
            *list_place += place[block * buckets + b];
            end[b] += place[block * buckets + b];
        }
    }
    for (int64_t b = 0; b < buckets; b++) {
        int64_t count = end[b];
        end[b] = bucket_place;
        bucket_place += count;
    }
    /* The entries of a bucket stand in the order of the blocks. */
    for (int64_t block = 0; block < blocks; block++) {
        for (int64_t b = 0; b < buckets; b++) {
            int64_t count = place[block * buckets + b];
            place[block * buckets + b] = end[b];
            end[b] += count;
        }
    }
}

static void find_all_places(const visits_job *job) {
    const pgcn_i_visits *visits = job->visits;
    const visits_work *work = job->work;
    for (int hop = 0; hop < visits->k - 1; hop++) {
        int64_t list_place = 0, *bucket_begin = buckets_of(job, hop);
        bucket_begin[0] = 0;
        for (int sample = 0; sample < visits->samples && blocks_in(job) > 0; sample++) {
            row_block first = block_of(work, sample * work->blocks.count);
            find_places(work, places_of(job, hop, &first), block_begin_of(job, hop, &first),
                        &list_place, bucket_begin + 1 + sample * work->buckets);
        }
        work->block_begin[(hop + 1) * (blocks_in(job) + 1) - 1] = list_place;
        visits->hop[hop].offset[visits->rows] = list_place;
        if (visits->hop_t) visits->hop_t[hop].offset[visits->rows] = list_place;
    }
}

/* ---- 3: merge ---------------------------------------------------------------------------- */

/* Copies the entries of a tile, the rows of a block from `first` on, to their buckets. The offset
 * after the last row of the block may not be there yet: the next block writes it. */
static void part_tile(const visits_job *job, int hop, const row_block *block, int64_t first) {
    const pgcn_i_csr *list = &job->visits->hop[hop];
    const pgcn_i_entries *out = &job->work->parted[hop - job->hop_begin];
    const pgcn_node shift = (pgcn_node)block->shift;
    const int64_t first_row = shift + first, end_row = first_row + lanes_of(block, first);
    const int64_t block_end = block_begin_of(job, hop, block)[1];
    int64_t *place = places_of(job, hop, block); /* the next index of this block in each bucket */
    for (int64_t row = first_row; row < end_row; row++) {
        int64_t row_end = row + 1 < shift + block->end ? list->offset[row + 1] : block_end;
        for (int64_t e = list->offset[row]; e < row_end; e++) {
            int64_t to = place[bucket_of(job->work, list->column[e] - shift)]++;
            out->row[to] = (pgcn_node)row;
            out->column[to] = list->column[e];
            out->value[to] = list->value[e];
        }
    }
}

static void merge_task(void *context, int64_t task, int worker) {
    (void)worker;
    const visits_job *job = context;
    const pgcn_i_visits *visits = job->visits;
    const visits_work *work = job->work;
    /* All hops of a block one after the other, while its walks are still in the cache. */
    const row_block block = block_of(work, task / job->hops);
    const int round_hop = (int)(task % job->hops), hop = job->hop_begin + round_hop;
    const pgcn_i_csr *list = &visits->hop[hop];
    const pgcn_i_entries *parted = work->parted ? &work->parted[round_hop] : NULL;
    const pgcn_node shift = (pgcn_node)block.shift;
    int64_t *offset = list->offset + shift;
    const int64_t *begin = block_begin_of(job, hop, &block);
    for (int64_t j = block.begin; j < block.end; j++) offset[j] += begin[0];
    const pgcn_i_merge merge = {.out = {.row = parted && !copies_entries(work) ? parted->row : NULL,
                                        .column = list->column,
                                        .value = list->value},
                                .p = visits->p,
                                .shift = shift,
                                .root = work->root,
                                .inverse_root = work->run_block ? visits->subset->inverse_root
                                                                : work->inverse_root};
    for (int64_t first = block.begin; first < block.end; first += ROWS) {
        job->walker->kernels->merge_lanes(&merge, offset + first, tile_of(job, hop, &block, first),
                                          (pgcn_node)first, lanes_of(&block, first));
        if (parted && copies_entries(work)) part_tile(job, hop, &block, first);
    }
}

/* ---- 4: transpose ------------------------------------------------------------------------ */

static void transpose_task(void *context, int64_t task, int worker) {
    (void)worker;
    const visits_job *job = context;
    const pgcn_i_visits *visits = job->visits;
    const visits_work *work = job->work;
    /* All hops of a sample one after the other, as step 3 and convolutions go through them. */
    const int round_hop = (int)(task % job->hops), hop = job->hop_begin + round_hop;
    const int64_t part = task / job->hops, shift = part / work->buckets * visits->n;
    const int64_t bucket = part % work->buckets, last = (bucket + 1) << work->bucket_bits;
    /* In a batch smaller than the largest, begin may be after the end: the bucket is empty. */
    const int64_t begin = bucket << work->bucket_bits, end = last < visits->n ? last : visits->n;
    pgcn_i_entries parted = work->parted[round_hop];
    if (work->buckets == 1) {
        parted.column = visits->hop[hop].column;
        parted.value = visits->hop[hop].value;
    }
    const int64_t *place = buckets_of(job, hop) + part;
    pgcn_i_csr_transpose_part(&parted, place[0], place[1], shift + begin, shift + end,
                              &visits->hop_t[hop]);
}

/* ---- of several ranks -------------------------------------------------------------------- */

/* Of all nodes: visited ones are anybody's. */
static void roots_task(void *context, int64_t task, int worker) {
    (void)worker;
    const visits_job *job = context;
    const pgcn_i_blocks blocks = pgcn_i_blocks_of(job->work->n);
    job->walker->kernels->roots(job->work->root, job->work->inverse_root, job->degree,
                                pgcn_i_block_begin(blocks, task), pgcn_i_block_end(blocks, task));
}

/* A bucket of this rank, of one list and sample. */
static void traded_task(void *context, int64_t task, int worker) {
    (void)worker;
    const visits_job *job = context;
    const pgcn_i_trade *trade = &job->work->trade;
    const int64_t *first = trade->first_bucket + trade->division->comm->rank;
    const int64_t own = first[1] - first[0], parts = job->visits->samples * own;
    const int round_hop = (int)(task / parts);
    const int64_t part = task % parts, shift = part / own * job->visits->n;
    const int64_t *node = job->work->bucket_node + first[0] + part % own;
    const int64_t *begin = trade->begin[round_hop] + part;
    pgcn_i_csr_transpose_part(&trade->got[round_hop], begin[0], begin[1], shift + node[0],
                              shift + node[1], &job->visits->hop_t[job->hop_begin + round_hop]);
}

static int64_t own_buckets(const visits_work *work) {
    const int64_t *first = work->trade.first_bucket + work->trade.division->comm->rank;
    return first[1] - first[0];
}

/* Step 4: entries go to the ranks that have their columns, which transpose them. */
static void trade_round(visits_job *job, pgcn_i_pool *pool) {
    visits_work *work = job->visits->work;
    int64_t *const *place = work->trade.place;
    work->trade.hops = job->hops;
    work->trade.given = work->parted;
    work->trade.place = place + job->hop_begin;
    pgcn_i_trade_run(&work->trade, pool);
    work->trade.place = place;
    pgcn_i_parallel(pool, job->hops * job->visits->samples * own_buckets(work), traded_task, job);
    for (int hop = 0; hop < job->hops; hop++) {
        const int64_t parts = own_buckets(work), *begin = work->trade.begin[hop];
        int64_t *offset = job->visits->hop_t[job->hop_begin + hop].offset;
        for (int64_t s = 0; s < job->visits->samples; s++)
            offset[s * work->n + pgcn_i_division_own(job->visits->division).end] =
                begin[(s + 1) * parts];
    }
}

/* The rows of a sample end where the next one's begin, whose first row is not the next one in the list. */
static void end_samples(const visits_job *job) {
    const pgcn_i_visits *visits = job->visits;
    const visits_work *work = job->work;
    for (int hop = 0; hop < visits->k - 1; hop++)
        for (int64_t s = 0; s < visits->samples; s++)
            visits->hop[hop].offset[s * work->n + pgcn_i_division_own(visits->division).end] =
                work->block_begin[hop * (blocks_in(job) + 1) + (s + 1) * work->blocks.count];
}

static void number_lists(pgcn_i_visits *visits, pgcn_i_pool *pool, pgcn_i_csr *list,
                         pgcn_i_others *others) {
    pgcn_node *column[PGCN_MAX_PATH_LENGTH];
    for (int hop = 0; hop < visits->k - 1; hop++) column[hop] = list[hop].column;
    pgcn_i_number_others(&visits->work->numberer, pool, list, visits->k - 1, column, visits->rows,
                         others);
}

/* ---- all of it --------------------------------------------------------------------------- */

/* Blocks of rows of the same sample: every run is cut by itself. */
static void cut_runs(visits_work *work, const pgcn_i_subset *subset) {
    int64_t blocks = 0, tile = 0;
    for (int r = 0; r < subset->runs; r++) {
        const pgcn_i_stretch *run = &subset->run[r];
        for (int64_t begin = run->begin, end; begin < run->end; begin = end) {
            end = begin + work->blocks.size < run->end ? begin + work->blocks.size : run->end;
            work->run_block[blocks] = (row_block){
                .index = blocks, .sample = run->sample, .begin = begin, .end = end, .tile = tile};
            tile += (end - begin + ROWS - 1) / ROWS;
            blocks++;
        }
    }
    work->run_blocks = work->blocks.count = blocks;
}

static void resize(pgcn_i_visits *visits, int64_t n) {
    visits->n = n;
    visits->rows = n * visits->samples;
    visits->work->n = n;
    pgcn_i_range own =
        visits->division ? pgcn_i_division_own(visits->division) : (pgcn_i_range){0, n};
    visits->work->blocks = pgcn_i_cut(own.end - own.begin, MAX_ROW_BLOCKS, PGCN_BLOCK_ROWS);
    if (visits->work->run_block) cut_runs(visits->work, visits->subset);
    for (int hop = 0; hop < visits->k - 1; hop++) {
        visits->hop[hop].rows = visits->rows;
        if (visits->hop_t) visits->hop_t[hop].rows = visits->rows;
    }
}

void pgcn_i_visits_sample(pgcn_i_visits *visits, const pgcn_i_walker *walker, pgcn_i_pool *pool,
                          pgcn_i_path_draw draw, const float *degree) {
    visits_work *work = visits->work;
    resize(visits, visits->subset ? visits->subset->n : walker->graph->n);
    visits_job job = {visits, work, walker, draw, degree, 0, 0};
    if (visits->division) pgcn_i_parallel(pool, pgcn_i_blocks_of(work->n).count, roots_task, &job);
    pgcn_i_parallel(pool, blocks_in(&job), walk_task, &job);
    find_all_places(&job);
    for (int left = visits->k - 1; left > 0; left -= job.hops) {
        job.hop_begin = visits->k - 1 - left;
        job.hops = left < work->hops_together ? left : work->hops_together;
        pgcn_i_parallel(pool, job.hops * blocks_in(&job), merge_task, &job);
        if (visits->hop_t && visits->division)
            trade_round(&job, pool);
        else if (visits->hop_t)
            pgcn_i_parallel(pool, job.hops * visits->samples * work->buckets, transpose_task, &job);
    }
    if (!visits->division) return;
    end_samples(&job);
    number_lists(visits, pool, visits->hop, &visits->others);
    if (visits->hop_t) number_lists(visits, pool, visits->hop_t, &visits->others_t);
}
