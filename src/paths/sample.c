/* Sampling of walks: the checks before, the cut into tasks, and the batched uniform walks.
 *
 * A step is a load that depends on the one before, so the uniform walks go in batches: the random
 * words of the whole batch first (no one depends on another), then hop by hop over the batch, so
 * that the loads of different walks overlap. Words are used in the order of pgcn_i_walk_one(): a walk
 * that meets a refused draw (probability degree / 2^32) has used one word more than the others,
 * and is simply walked again by that function.
 *
 * Parallel over fixed ranges of walks; a walk depends on its element alone. Called by users, by
 * visits.c, and by the command line. */
#include "io/io.h"
#include "paths/steps.h"

#include <math.h>

/* Enough loads in flight to hide the memory, small enough for words and nodes to stay in L1. */
enum { BATCH = 32, TASK_WALKS = 256 };

/* ---- options ----------------------------------------------------------------------------- */

pgcn_paths_opts pgcn_paths_opts_default(void) {
    return (pgcn_paths_opts){.size = sizeof(pgcn_paths_opts),
                             .walk = PGCN_WALK_UNIFORM,
                             .length = 5,
                             .paths = 5,
                             .return_p = 1,
                             .inout_q = 1};
}

static pgcn_status check_opts(const pgcn_paths_opts *opts) {
    if (opts->walk != PGCN_WALK_UNIFORM && opts->walk != PGCN_WALK_WEIGHTED &&
        opts->walk != PGCN_WALK_NODE2VEC)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "sampling paths: walk is %d, but must be uniform (0), weighted (1) or "
                           "node2vec (2)",
                           (int)opts->walk);
    if (opts->length < 1 || opts->length > PGCN_MAX_PATH_LENGTH)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "sampling paths: length is %d, but a path has 1 to %d nodes",
                           opts->length, PGCN_MAX_PATH_LENGTH);
    if (opts->paths < 1 || opts->paths > PGCN_MAX_PATHS)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "sampling paths: paths is %d, but each start has 1 to %d of them",
                           opts->paths, PGCN_MAX_PATHS);
    if (opts->walk != PGCN_WALK_NODE2VEC) return PGCN_OK;
    if (!(opts->return_p > 0 && isfinite(opts->return_p)))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "sampling paths: return_p is %g, but node2vec needs a finite p > 0",
                           (double)opts->return_p);
    if (!(opts->inout_q > 0 && isfinite(opts->inout_q)))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "sampling paths: inout_q is %g, but node2vec needs a finite q > 0",
                           (double)opts->inout_q);
    if (opts->may_stay)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "sampling paths: may_stay does not go with node2vec walks; use uniform "
                           "or weighted walks, or give the graph self-loops");
    return PGCN_OK;
}

static double *running_sums(const pgcn_graph *graph, pgcn_i_arena *arena) {
    double *cumulative = PGCN_I_ARRAY(arena, double, graph->entries);
    for (int64_t row = 0; cumulative && row < graph->n; row++) {
        double sum = 0;
        for (int64_t e = graph->offset[row]; e < graph->offset[row + 1]; e++)
            cumulative[e] = sum += (double)graph->weight[e];
    }
    return cumulative;
}

pgcn_status pgcn_i_walker_init(pgcn_i_walker *walker, const pgcn_graph *graph,
                               const pgcn_paths_opts *opts) {
    PGCN_TRY(check_opts(opts));
    pgcn_i_walker result = {.graph = graph,
                            .walk = opts->walk,
                            .k = opts->length,
                            .p = opts->paths,
                            .return_p = opts->return_p,
                            .inout_q = opts->inout_q,
                            .may_stay = opts->may_stay};
    /* Equal weights are no weights: the same walks as uniform ones, and as fast. */
    if (result.walk == PGCN_WALK_WEIGHTED && !graph->weight) result.walk = PGCN_WALK_UNIFORM;
    if (result.walk != PGCN_WALK_UNIFORM && graph->weight) {
        result.cumulative = running_sums(graph, &result.arena);
        if (!result.cumulative) return PGCN_ERR_MEMORY;
    }
    if (result.walk == PGCN_WALK_NODE2VEC) pgcn_i_steps_prepare(&result);
    *walker = result;
    return PGCN_OK;
}

void pgcn_i_walker_free(pgcn_i_walker *walker) {
    pgcn_i_arena_free(&walker->arena);
    *walker = (pgcn_i_walker){0};
}

/* ---- batched uniform walks --------------------------------------------------------------- */

/* word[i][b] is word i of block `block` of walk b. Measured per walk and block: 6.6 ns with gcc,
 * 12 ns with clang; with the rounds outside and the batch in vectors 3.4 to 7 ns, depending on
 * compiler and instruction set. Not worth a second Philox while a step costs as much. */
static void words_of_batch(pgcn_i_rng_domain domain, const uint64_t *element, uint32_t block,
                           uint32_t (*word)[BATCH]) {
    for (int b = 0; b < BATCH; b++) {
        uint32_t out[4];
        pgcn_i_rng_words(domain, element[b], block, out);
        for (int i = 0; i < 4; i++) word[i][b] = out[i];
    }
}

/* One hop of a batch; returns the walks (as bits) whose draw was refused. `stay` is a constant 0 or
 * 1 at both calls. Measured on a graph like Cora, ns per step: without staying a branch (1.4 to
 * 1.8) beats the mask (1.9 to 2.5), as it is always taken; with staying the mask (1.8 to 2.5)
 * beats the branch (3.8 to 4.2), which nobody can predict. */
static inline __attribute__((always_inline)) uint32_t
hop_of_batch(const pgcn_graph *graph, const uint32_t *word, uint32_t stay, pgcn_node *at) {
    uint32_t refused = 0;
    for (int b = 0; b < BATCH; b++) {
        int64_t begin = graph->offset[at[b]];
        uint32_t degree = (uint32_t)(graph->offset[at[b] + 1] - begin);
        uint32_t choices = degree + stay;
        uint64_t product = (uint64_t)word[b] * choices;
        if (__builtin_expect((uint32_t)product < choices, 0) &&
            (uint32_t)product < (0u - choices) % choices)
            refused |= 1u << b;
        uint32_t index = (uint32_t)(product >> 32);
        if (stay) { /* staying reads the node itself: one load from a chosen address */
            uintptr_t move = (uintptr_t)0 - (uintptr_t)(index < degree);
            uintptr_t next = ((uintptr_t)(graph->neighbour + begin + index) & move) |
                             ((uintptr_t)(at + b) & ~move);
            at[b] = *(const pgcn_node *)next;
        } else if (index < degree) {
            at[b] = graph->neighbour[begin + index];
        }
    }
    return refused;
}

/* BATCH walks from start[b] with element[b] into out[b * k]. */
static void uniform_batch(const pgcn_i_walker *walker, pgcn_i_rng_domain domain,
                          const pgcn_node *start, const uint64_t *element, int count,
                          pgcn_node *out) {
    const int k = walker->k;
    uint32_t word[4][BATCH], refused = 0;
    pgcn_node at[BATCH];
    for (int b = 0; b < BATCH; b++) at[b] = start[b];
    for (int b = 0; b < count; b++) out[(int64_t)b * k] = at[b];
    for (int hop = 1; hop < k; hop++) {
        int next_word = (hop - 1) % 4;
        if (next_word == 0) words_of_batch(domain, element, (uint32_t)(hop - 1) / 4, word);
        refused |= walker->may_stay ? hop_of_batch(walker->graph, word[next_word], 1, at)
                                    : hop_of_batch(walker->graph, word[next_word], 0, at);
        for (int b = 0; b < count; b++) out[(int64_t)b * k + hop] = at[b];
    }
    for (int b = 0; b < count; b++)
        if (refused >> b & 1)
            pgcn_i_walk_one(walker, domain, element[b], start[b], out + (int64_t)b * k);
}

void pgcn_i_walk_range(const pgcn_i_walker *walker, pgcn_i_rng_domain domain,
                       const pgcn_node *starts, int64_t first, int64_t last, pgcn_node *out) {
    const int64_t p = walker->p, k = walker->k;
    int64_t position = first / p, path = first % p;
    for (int64_t walk = first; walk < last; walk += BATCH) {
        int count = last - walk < BATCH ? (int)(last - walk) : BATCH;
        pgcn_node start[BATCH];
        uint64_t element[BATCH];
        for (int b = 0; b < count; b++) {
            start[b] = starts ? starts[position] : (pgcn_node)position;
            element[b] = (uint64_t)start[b] * (uint64_t)p + (uint64_t)path;
            if (++path == p) path = 0, position++;
        }
        if (walker->walk == PGCN_WALK_UNIFORM) {
            /* The last batch is filled up with repetitions of its first walk. */
            for (int b = count; b < BATCH; b++) start[b] = start[0], element[b] = element[0];
            uniform_batch(walker, domain, start, element, count, out + walk * k);
        } else {
            for (int b = 0; b < count; b++)
                pgcn_i_walk_one(walker, domain, element[b], start[b], out + (walk + b) * k);
        }
    }
}

/* ---- all walks --------------------------------------------------------------------------- */

typedef struct walk_job {
    const pgcn_i_walker *walker;
    pgcn_i_rng_domain domain;
    const pgcn_node *starts;
    pgcn_i_blocks blocks; /* of walks */
    pgcn_node *out;
} walk_job;

static void walk_task(void *context, int64_t task, int worker) {
    (void)worker;
    const walk_job *job = context;
    pgcn_i_walk_range(job->walker, job->domain, job->starts, pgcn_i_block_begin(job->blocks, task),
                      pgcn_i_block_end(job->blocks, task), job->out);
}

void pgcn_i_walks(const pgcn_i_walker *walker, pgcn_i_pool *pool, pgcn_i_rng_domain domain,
                  const pgcn_node *starts, int64_t n_starts, pgcn_node *out) {
    int64_t walks = (starts ? n_starts : walker->graph->n) * walker->p;
    walk_job job = {walker, domain, starts, pgcn_i_cut(walks, PGCN_MAX_BLOCKS, TASK_WALKS), out};
    pgcn_i_parallel(pool, job.blocks.count, walk_task, &job);
}

/* Nodes of an array [n_starts, p, k]. */
static pgcn_status count_nodes(int64_t n_starts, int p, int k, int64_t *nodes) {
    int64_t walks, bytes;
    if (n_starts >= 0 && p >= 1 && k >= 1 && pgcn_i_mul(n_starts, p, &walks) &&
        pgcn_i_mul(walks, k, nodes) && pgcn_i_mul(*nodes, (int64_t)sizeof(pgcn_node), &bytes))
        return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "an array of paths: %lld starts x %d paths x %d nodes is not a size; give "
                       "at least 0, 1 and 1, and fewer starts if it is too large",
                       (long long)n_starts, p, k);
}

static pgcn_status check_starts(const pgcn_graph *graph, const pgcn_paths_opts *opts,
                                const pgcn_node *starts, int64_t n_starts) {
    if (opts->draw > UINT32_MAX)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "sampling paths: draw is %llu, but must be below 2^32; change the seed "
                           "for more samples",
                           (unsigned long long)opts->draw);
    int64_t nodes;
    PGCN_TRY(count_nodes(n_starts, opts->paths, opts->length, &nodes));
    for (int64_t i = 0; starts && i < n_starts; i++)
        if (starts[i] < 0 || starts[i] >= graph->n)
            return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                               "sampling paths: start %lld is node %d, but the graph has nodes 0 "
                               "to %lld",
                               (long long)i, starts[i], (long long)graph->n - 1);
    return PGCN_OK;
}

pgcn_status pgcn_paths_sample(const pgcn_graph *graph, const pgcn_paths_opts *opts,
                              const pgcn_node *starts, int64_t n_starts, pgcn_node *out) {
    pgcn_paths_opts set = pgcn_paths_opts_default();
    PGCN_TRY(pgcn_i_opts_over(&set, sizeof set, opts, "pgcn_paths_opts_default"));
    if (!graph || !out)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "sampling paths: %s is NULL",
                           graph ? "the array for the result" : "the graph");
    pgcn_i_walker walker;
    PGCN_TRY(pgcn_i_walker_init(&walker, graph, &set));
    pgcn_i_pool *pool = NULL;
    pgcn_status status = check_starts(graph, &set, starts, starts ? n_starts : graph->n);
    if (status == PGCN_OK) status = pgcn_i_pool_new(set.threads, &pool);
    if (status == PGCN_OK) {
        pgcn_i_rng_domain domain =
            pgcn_i_rng_domain_of(set.seed, PGCN_I_RNG_WALK, (int64_t)set.draw, 0, 0);
        pgcn_i_walks(&walker, pool, domain, starts, n_starts, out);
    }
    pgcn_i_pool_free(pool);
    pgcn_i_walker_free(&walker);
    return status;
}

pgcn_status pgcn_paths_save(const char *path, const pgcn_node *paths, int64_t n_starts, int p,
                            int k) {
    int64_t nodes = 0;
    PGCN_TRY(count_nodes(n_starts, p, k, &nodes));
    if (!path || !paths)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "saving paths: %s is NULL",
                           path ? "the array of paths" : "the name of the file");
    /* The writer only reads; pgcn_i_array has no constant form. */
    pgcn_i_array array = {.dtype = PGCN_I_I32,
                          .rank = 3,
                          .shape = {n_starts, p, k},
                          .count = nodes,
                          .data = (void *)(uintptr_t)paths};
    return pgcn_i_npy_write(path, &array);
}
