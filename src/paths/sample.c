/* Sampling of walks: checks of the options, the choices of every node, batches, and tasks.
 *
 * Uniform walks go in batches (kernels/walk.c): the random words of the whole batch first, then hop
 * by hop over the batch. Words are used in the order of pgcn_i_walk_one(). A walk with a rejected
 * draw (probability degree / 2^32) needs one word more than the others, and its batch is repeated
 * with that function.
 *
 * Parallel over fixed ranges of walks; a walk depends on its element alone. Called by users, by
 * visits.c, and by the command line. */
#include "io/io.h"
#include "paths/steps.h"

#include <math.h>
#include <string.h>

/* The choices are copied to a list of their own if it fits into the cache of a core or two: 1.4 ns
 * per step against 2.7 on Cora, 2.2 against 3.6 on 20 000 nodes, 3.8 against 4.8 on 100 000. On 169
 * 000 nodes with 2.3 million entries the list is slower, 9.5 against 5.5: there prefetching from
 * the graph's own arrays wins. */
enum { TASK_WALKS = 256, LISTED_CHOICES = 1 << 20 };

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

/* See pgcn_i_walk_steps. */
static pgcn_status list_choices(const pgcn_graph *graph, pgcn_i_arena *arena,
                                pgcn_i_walk_steps *steps) {
    uint64_t *row = PGCN_I_ARRAY(arena, uint64_t, graph->n);
    pgcn_node *choice = PGCN_I_ARRAY(arena, pgcn_node, graph->entries + graph->n);
    if (!row || !choice) return PGCN_ERR_MEMORY;
    uint64_t place = 0, most = 0;
    for (int64_t u = 0; u < graph->n; u++) {
        int64_t begin = graph->offset[u], degree = graph->offset[u + 1] - begin;
        memcpy(choice + place, graph->neighbour + begin, (size_t)degree * sizeof *choice);
        uint64_t choices = (uint64_t)degree;
        if (steps->may_stay || degree == 0) choice[place + choices++] = (pgcn_node)u;
        row[u] = place << 32 | choices;
        place += choices;
        if (choices > most) most = choices;
    }
    steps->row = row;
    steps->choice = choice;
    steps->doubtful = (uint32_t)(2 * most);
    return PGCN_OK;
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
                            .may_stay = opts->may_stay,
                            .steps = {.graph = graph, .may_stay = opts->may_stay},
                            .kernels = pgcn_i_kernels_get()};
    /* A graph without weights: weighted walks are uniform ones, and take the faster code. */
    if (result.walk == PGCN_WALK_WEIGHTED && !graph->weight) result.walk = PGCN_WALK_UNIFORM;
    if (result.walk != PGCN_WALK_UNIFORM && graph->weight) {
        result.cumulative = running_sums(graph, &result.arena);
        if (!result.cumulative) return PGCN_ERR_MEMORY;
    }
    if (result.walk == PGCN_WALK_NODE2VEC) pgcn_i_steps_prepare(&result);
    if (result.walk == PGCN_WALK_UNIFORM && graph->entries + graph->n <= LISTED_CHOICES) {
        pgcn_status status = list_choices(graph, &result.arena, &result.steps);
        if (status != PGCN_OK) {
            pgcn_i_arena_free(&result.arena);
            return status;
        }
    }
    *walker = result;
    return PGCN_OK;
}

void pgcn_i_walker_free(pgcn_i_walker *walker) {
    pgcn_i_arena_free(&walker->arena);
    *walker = (pgcn_i_walker){0};
}

/* ---- batches ----------------------------------------------------------------------------- */

typedef pgcn_node quad __attribute__((vector_size(16)));

/* Four hops of four walks, transposed so that the hops of a walk lie side by side. */
static void put_quads(pgcn_node *out, int64_t walk_stride, const pgcn_node *hop,
                      int64_t hop_distance) {
    quad a, b, c, d;
    memcpy(&a, hop, sizeof a);
    memcpy(&b, hop + hop_distance, sizeof b);
    memcpy(&c, hop + 2 * hop_distance, sizeof c);
    memcpy(&d, hop + 3 * hop_distance, sizeof d);
    quad ac = __builtin_shufflevector(a, c, 0, 4, 1, 5);
    quad AC = __builtin_shufflevector(a, c, 2, 6, 3, 7);
    quad bd = __builtin_shufflevector(b, d, 0, 4, 1, 5);
    quad BD = __builtin_shufflevector(b, d, 2, 6, 3, 7);
    quad walk[4] = {
        __builtin_shufflevector(ac, bd, 0, 4, 1, 5), __builtin_shufflevector(ac, bd, 2, 6, 3, 7),
        __builtin_shufflevector(AC, BD, 0, 4, 1, 5), __builtin_shufflevector(AC, BD, 2, 6, 3, 7)};
    for (int w = 0; w < 4; w++) memcpy(out + w * walk_stride, &walk[w], sizeof walk[w]);
}

static void put_hops(pgcn_i_walk_array out, pgcn_node (*hop)[PGCN_WALK_BATCH], int hops,
                     int count) {
    if (out.walk_stride == 1) {
        for (int i = 0; i < hops; i++)
            memcpy(out.node + i * out.hop_stride, hop[i], (size_t)count * sizeof *out.node);
        return;
    }
    int in_quads = out.hop_stride == 1 && hops == 4 ? count - count % 4 : 0;
    for (int b = 0; b < in_quads; b += 4)
        put_quads(out.node + b * out.walk_stride, out.walk_stride, hop[0] + b, PGCN_WALK_BATCH);
    for (int b = in_quads; b < count; b++)
        for (int i = 0; i < hops; i++)
            out.node[b * out.walk_stride + i * out.hop_stride] = hop[i][b];
}

/* False if a draw was rejected: out is then invalid. */
static bool uniform_batch(const pgcn_i_walker *walker, const pgcn_i_walk_starts *starts,
                          pgcn_i_walk_array out) {
    const int count = starts->count;
    pgcn_node nodes[PGCN_WALK_HOPS + 1][PGCN_WALK_BATCH];
    bool refused = false;
    pgcn_i_walk_words words = {.domain = starts->domain, .element = starts->element};
    memcpy(nodes[0], starts->node, (size_t)count * sizeof nodes[0][0]);
    for (int left = walker->k - 1, hops; left > 0; left -= hops, words.block++) {
        hops = left < PGCN_WALK_HOPS ? left : PGCN_WALK_HOPS;
        refused |= walker->kernels->walk_hops(nodes, &walker->steps, &words, hops, count);
        put_hops(out, nodes + 1, hops, count);
        out.node += hops * out.hop_stride;
        memcpy(nodes[0], nodes[hops], (size_t)count * sizeof nodes[0][0]);
    }
    return !refused;
}

void pgcn_i_walk_batch(const pgcn_i_walker *walker, const pgcn_i_walk_starts *starts,
                       pgcn_i_walk_array out) {
    if (walker->walk == PGCN_WALK_UNIFORM && uniform_batch(walker, starts, out)) return;
    for (int b = 0; b < starts->count; b++)
        pgcn_i_walk_one(walker, starts->domain, starts->element[b], starts->node[b],
                        out.node + b * out.walk_stride, out.hop_stride);
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
    const int64_t p = job->walker->p, k = job->walker->k;
    const int64_t first = pgcn_i_block_begin(job->blocks, task);
    const int64_t last = pgcn_i_block_end(job->blocks, task);
    const pgcn_node *starts = job->starts;
    int64_t position = first / p, path = first % p;
    for (int64_t walk = first; walk < last; walk += PGCN_WALK_BATCH) {
        int count = last - walk < PGCN_WALK_BATCH ? (int)(last - walk) : PGCN_WALK_BATCH;
        pgcn_node start[PGCN_WALK_BATCH], *out = job->out + walk * k;
        uint64_t element[PGCN_WALK_BATCH];
        for (int b = 0; b < count;) { /* the paths of one start after the other */
            int many = p - path < count - b ? (int)(p - path) : count - b;
            pgcn_node from = starts ? starts[position] : (pgcn_node)position;
            uint64_t first_element = pgcn_i_walk_element(job->walker, from, path);
            for (int i = 0; i < many; i++, b++) {
                start[b] = out[b * k] = from;
                element[b] = first_element + (uint64_t)i; /* higher bits do not count */
            }
            path = path + many < p ? path + many : 0;
            position += path == 0;
        }
        for (int b = count; b % PGCN_WALK_UNIT; b++) element[b] = 0;
        const pgcn_i_walk_starts batch = {job->domain, element, start, count};
        pgcn_i_walk_batch(job->walker, &batch, (pgcn_i_walk_array){out + 1, k, 1});
    }
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

pgcn_status pgcn_i_draw_check(uint64_t seed, uint64_t draw) {
    PGCN_TRY(pgcn_i_seed_check(seed));
    if (draw <= UINT32_MAX) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "sampling paths: draw is %llu, but must be below 2^32; change the seed "
                       "for more samples",
                       (unsigned long long)draw);
}

pgcn_status pgcn_i_walk_check(const pgcn_paths_opts *opts) {
    if (opts->walk == PGCN_WALK_NODE2VEC || (opts->return_p == 1 && opts->inout_q == 1))
        return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "sampling paths: return_p is %g and inout_q is %g, which do nothing: walk "
                       "is not node2vec; leave them at 1 or set walk to node2vec",
                       (double)opts->return_p, (double)opts->inout_q);
}

static pgcn_status check_starts(const pgcn_graph *graph, const pgcn_paths_opts *opts,
                                const pgcn_node *starts, int64_t n_starts) {
    PGCN_TRY(pgcn_i_draw_check(opts->seed, opts->draw));
    PGCN_TRY(pgcn_i_walk_check(opts));
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
    PGCN_TRY(pgcn_i_kernels_check());
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
