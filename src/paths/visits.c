/* Visit lists: the sparse matrices S_i of the path convolution and their transposes (paper,
 * eq. pathConv; S_i[j][u] = share of the p walks from j that are at u after i hops).
 *
 *   1. blocks of rows, parallel: walk, sort each row's p visits per hop, merge equal ones. A block
 *      packs its rows from the place begin * p on, which it alone owns: no scratch, no counting
 *      pass. Offsets are relative to the block for now.
 *   2. hops, parallel: the blocks are moved together and the offsets made absolute.
 *   3. (hop, sample) pairs, parallel: transpose by counting sort.
 *
 * All cuts depend on the graph alone and each place has one writer, so the lists are the same for
 * any number of threads. Nothing is allocated after pgcn_i_visits_new(). Called by nn per step. */
#include "paths/steps.h"

#include <math.h>
#include <string.h>

/* Rows sorted side by side by a network of min/max, one row per vector lane: no branches. Beyond
 * NETWORK visits its p^2 / 2 exchanges cost more than a heap sort. */
enum { LANES = 16, NETWORK = 32, MAX_SAMPLES = 256 };

/* ---- memory ------------------------------------------------------------------------------ */

/* Everything in one arena, the struct included. */
static pgcn_status alloc_visits(pgcn_i_arena *arena, const pgcn_i_walker *walker, int samples,
                                int64_t rows, bool with_transpose, pgcn_i_visits **out) {
    int64_t capacity, walk_nodes;
    if (!pgcn_i_mul(rows, walker->p, &capacity) || !pgcn_i_mul(capacity, walker->k, &walk_nodes))
        return pgcn_i_fail(PGCN_ERR_MEMORY, "their size does not fit into 64 bits");
    int hops = walker->k - 1;
    pgcn_i_visits *visits = PGCN_I_ARRAY(arena, pgcn_i_visits, 1);
    if (!visits) return PGCN_ERR_MEMORY;
    *visits = (pgcn_i_visits){.n = walker->graph->n,
                              .samples = samples,
                              .k = walker->k,
                              .p = walker->p,
                              .rows = rows,
                              .hop = PGCN_I_ARRAY(arena, pgcn_i_csr, hops),
                              .walks = PGCN_I_ARRAY(arena, pgcn_node, walk_nodes)};
    if (with_transpose) visits->hop_t = PGCN_I_ARRAY(arena, pgcn_i_csr, hops);
    if (!visits->hop || !visits->walks || (with_transpose && !visits->hop_t))
        return PGCN_ERR_MEMORY;
    for (int i = 0; i < hops; i++) {
        PGCN_TRY(pgcn_i_csr_alloc(arena, rows, capacity, true, &visits->hop[i]));
        if (with_transpose)
            PGCN_TRY(pgcn_i_csr_alloc(arena, rows, capacity, true, &visits->hop_t[i]));
    }
    *out = visits;
    return PGCN_OK;
}

pgcn_status pgcn_i_visits_new(const pgcn_i_walker *walker, int samples, bool with_transpose,
                              pgcn_i_visits **out) {
    int64_t n = walker->graph->n, rows;
    if (samples < 1 || samples > MAX_SAMPLES)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "making visit lists: samples is %d, but must be 1 to %d", samples,
                           MAX_SAMPLES);
    if (!pgcn_i_mul(n, samples, &rows) || rows > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "making visit lists: %d samples of %lld nodes are more than %d rows; "
                           "use fewer samples",
                           samples, (long long)n, INT32_MAX);
    pgcn_i_arena arena = {0};
    pgcn_i_visits *visits = NULL;
    pgcn_status status = alloc_visits(&arena, walker, samples, rows, with_transpose, &visits);
    if (status != PGCN_OK) {
        pgcn_i_arena_free(&arena);
        return pgcn_i_fail_in(status,
                              "making visit lists for %d sample(s) of %lld nodes, %d paths of %d "
                              "nodes each",
                              samples, (long long)n, walker->p, walker->k);
    }
    visits->arena = arena;
    *out = visits;
    return PGCN_OK;
}

void pgcn_i_visits_free(pgcn_i_visits *visits) {
    if (!visits) return;
    pgcn_i_arena arena = visits->arena; /* the struct itself lives in it */
    pgcn_i_arena_free(&arena);
}

/* ---- 1: walk and merge ------------------------------------------------------------------- */

typedef struct visits_job {
    pgcn_i_visits *visits;
    const pgcn_i_walker *walker;
    uint64_t seed;
    pgcn_i_purpose purpose;
    int64_t step;
    int layer;
    const float *degree;
    pgcn_i_blocks blocks; /* of the nodes of one sample */
} visits_job;

/* Odd-even transposition: p rounds sort p values, in every lane alike. */
static void sort_lanes(pgcn_node (*id)[LANES], int p) {
    for (int round = 0; round < p; round++) {
        for (int q = round % 2; q + 1 < p; q += 2) {
            for (int lane = 0; lane < LANES; lane++) {
                pgcn_node a = id[q][lane], b = id[q + 1][lane];
                id[q][lane] = a < b ? a : b;
                id[q + 1][lane] = a < b ? b : a;
            }
        }
    }
}

static void sift_down(pgcn_node *id, int64_t root, int64_t count) {
    pgcn_node moving = id[root];
    for (int64_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && id[child + 1] > id[child]) child++;
        if (id[child] <= moving) break;
        id[root] = id[child];
    }
    id[root] = moving;
}

/* Heap sort: O(p log p) whatever the input, and in place. */
static void sort_many(pgcn_node *id, int64_t count) {
    for (int64_t root = count / 2; root-- > 0;) sift_down(id, root, count);
    for (int64_t end = count - 1; end > 0; end--) {
        pgcn_node largest = id[0];
        id[0] = id[end];
        id[end] = largest;
        sift_down(id, 0, end);
    }
}

/* Writes the distinct ids of p sorted ones (stride apart) with their counts / p, `shift` added to
 * the ids; returns how many. Without branches: whether two walks meet cannot be predicted. Reads
 * id q before it writes place q at the latest, so it works in place. */
static int64_t merge_row(const pgcn_node *id, int stride, int p, pgcn_node shift, pgcn_node *column,
                         float *value) {
    pgcn_node before = id[0];
    int64_t last = 0;
    int run = 1;
    const float paths = (float)p;
    column[0] = before + shift;
    value[0] = 1 / paths;
    for (int q = 1; q < p; q++) {
        pgcn_node now = id[(int64_t)q * stride];
        int differs = now != before;
        last += differs;
        run = differs ? 1 : run + 1;
        column[last] = now + shift;
        value[last] = (float)run / paths;
        before = now;
    }
    return last + 1;
}

/* Symmetric scaling: the walks' D^-1 A becomes D^-1/2 A D^-1/2, times sqrt(d_j / d_u). */
static void scale_row(const float *degree, pgcn_node node, pgcn_node shift, const pgcn_node *column,
                      float *value, int64_t count) {
    for (int64_t e = 0; e < count; e++) value[e] *= sqrtf(degree[node] / degree[column[e] - shift]);
}

/* Rows of up to LANES nodes from `first` on, one hop; appended at *place of the hop's arrays. */
static void merge_tile(const visits_job *job, int sample, int64_t first, int lanes, int hop,
                       int64_t block_begin, int64_t *place) {
    pgcn_i_visits *visits = job->visits;
    const int p = visits->p, k = visits->k;
    const pgcn_i_csr *list = &visits->hop[hop - 1];
    const pgcn_node shift = (pgcn_node)(sample * visits->n);
    const int64_t row = shift + first;
    const pgcn_node *walk = visits->walks + row * p * k + hop;
    pgcn_node tile[NETWORK][LANES];
    if (p <= NETWORK) {
        for (int q = 0; q < p; q++) { /* lanes without a row repeat the first one */
            for (int lane = 0; lane < LANES; lane++)
                tile[q][lane] = walk[((int64_t)(lane < lanes ? lane : 0) * p + q) * k];
        }
        sort_lanes(tile, p);
    }
    for (int lane = 0; lane < lanes; lane++) {
        pgcn_node *column = list->column + *place;
        float *value = list->value + *place;
        int64_t count;
        if (p <= NETWORK) {
            count = merge_row(&tile[0][lane], LANES, p, shift, column, value);
        } else { /* the row's own places hold its p visits while they are sorted */
            for (int q = 0; q < p; q++) column[q] = walk[((int64_t)lane * p + q) * k];
            sort_many(column, p);
            count = merge_row(column, 1, p, shift, column, value);
        }
        if (job->degree)
            scale_row(job->degree, (pgcn_node)(first + lane), shift, column, value, count);
        *place += count;
        list->offset[row + lane + 1] = *place - block_begin * p;
    }
}

static void merge_task(void *context, int64_t task, int worker) {
    (void)worker;
    const visits_job *job = context;
    pgcn_i_visits *visits = job->visits;
    const int sample = (int)(task / job->blocks.count);
    const int64_t block = task % job->blocks.count;
    const int64_t begin = pgcn_i_block_begin(job->blocks, block);
    const int64_t end = pgcn_i_block_end(job->blocks, block);
    pgcn_i_rng_domain domain =
        pgcn_i_rng_domain_of(job->seed, job->purpose, job->step, job->layer, sample);
    pgcn_i_walk_range(job->walker, domain, NULL, begin * visits->p, end * visits->p,
                      visits->walks + sample * visits->n * visits->p * visits->k);
    const int64_t block_begin = sample * visits->n + begin;
    for (int hop = 1; hop < visits->k; hop++) {
        int64_t place = block_begin * visits->p;
        for (int64_t first = begin; first < end; first += LANES)
            merge_tile(job, sample, first, end - first < LANES ? (int)(end - first) : LANES, hop,
                       block_begin, &place);
    }
}

/* ---- 2: move together -------------------------------------------------------------------- */

static void pack_task(void *context, int64_t task, int worker) {
    (void)worker;
    const visits_job *job = context;
    const pgcn_i_visits *visits = job->visits;
    const pgcn_i_csr *list = &visits->hop[task];
    int64_t place = 0;
    list->offset[0] = 0;
    for (int64_t i = 0; i < visits->samples * job->blocks.count; i++) {
        int64_t shift = i / job->blocks.count * visits->n, block = i % job->blocks.count;
        int64_t begin = shift + pgcn_i_block_begin(job->blocks, block);
        int64_t end = shift + pgcn_i_block_end(job->blocks, block);
        int64_t from = begin * visits->p, count = list->offset[end];
        /* Blocks only move towards the front, in order, so none is overwritten before it moved. */
        memmove(list->column + place, list->column + from, (size_t)count * sizeof *list->column);
        memmove(list->value + place, list->value + from, (size_t)count * sizeof *list->value);
        for (int64_t row = begin + 1; row <= end; row++) list->offset[row] += place;
        place += count;
    }
}

/* ---- 3: transpose ------------------------------------------------------------------------ */

static void transpose_task(void *context, int64_t task, int worker) {
    (void)worker;
    const visits_job *job = context;
    const pgcn_i_visits *visits = job->visits;
    int64_t hop = task / visits->samples, begin = task % visits->samples * visits->n;
    pgcn_i_csr_transpose_block(&visits->hop[hop], begin, begin + visits->n, begin,
                               begin + visits->n, &visits->hop_t[hop]);
}

void pgcn_i_visits_sample(pgcn_i_visits *visits, const pgcn_i_walker *walker, pgcn_i_pool *pool,
                          uint64_t seed, pgcn_i_purpose purpose, int64_t step, int layer,
                          const float *degree) {
    visits_job job = {visits, walker, seed,   purpose,
                      step,   layer,  degree, pgcn_i_blocks_of(visits->n)};
    int hops = visits->k - 1;
    pgcn_i_parallel(pool, visits->samples * job.blocks.count, merge_task, &job);
    pgcn_i_parallel(pool, hops, pack_task, &job);
    if (!visits->hop_t) return;
    for (int i = 0; i < hops; i++)
        visits->hop_t[i].offset[visits->rows] = visits->hop[i].offset[visits->rows];
    pgcn_i_parallel(pool, (int64_t)hops * visits->samples, transpose_task, &job);
}
