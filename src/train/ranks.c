/* What a division of the nodes among machines would cost: how many rows of others each must have, what they
 * weigh on the wire, and how much memory a machine needs. Nothing is estimated that can be counted: walks are
 * drawn as a step of training draws them, for all nodes.
 *
 * Parts are the groups of nodes (base.h), and a rank has a run of groups. Parallel only in the walks, so
 * that counts do not depend on threads. Called by the command `data partition`. */
#include "train/train.h"

#include <string.h>

enum { CHUNK = 8192 /* starts whose walks are drawn at a time */ };

/* ---- parts ------------------------------------------------------------------------------------ */

pgcn_status pgcn_dataset_parts(const pgcn_dataset *data, pgcn_parts *out) {
    PGCN_I_NEED(data);
    PGCN_I_NEED(out);
    int64_t n = data->graph->n;
    pgcn_i_blocks groups = pgcn_i_groups_of(n, pgcn_i_source_groups(&data->from));
    pgcn_i_arena scratch = {0};
    int32_t *part = PGCN_I_ARRAY(&scratch, int32_t, n), *features = NULL;
    bool fine = part != NULL;
    if (fine && data->x.offset) fine = (features = PGCN_I_ARRAY(&scratch, int32_t, n)) != NULL;
    for (int64_t u = 0; fine && u < n; u++) {
        part[u] = (int32_t)(u / groups.size);
        if (features) features[u] = (int32_t)(data->x.offset[u + 1] - data->x.offset[u]);
    }
    pgcn_i_part_quality quality;
    pgcn_status status =
        fine ? pgcn_i_partition_measure(data->graph, features, groups.count, part, &quality)
             : PGCN_ERR_MEMORY;
    pgcn_i_arena_free(&scratch);
    PGCN_TRY(status);
    *out = (pgcn_parts){.parts = groups.count,
                        .rows = groups.size < n ? groups.size : n,
                        .cut = quality.cut,
                        .cut_share = quality.cut_share,
                        .visits_share = quality.balance_visits,
                        .features_share = quality.balance_features};
    return PGCN_OK;
}

int64_t pgcn_dataset_groups(const pgcn_dataset *data, int most) {
    if (!data) return 0;
    return pgcn_i_groups_of(data->graph->n, most > 0 ? most : pgcn_i_source_groups(&data->from))
        .count;
}

/* ---- what ranks fetch ------------------------------------------------------------------------- */

/* One number of ranks. Rows are gone through in ascending order, and so are ranks: who fetched a row last
 * tells whether this rank has it already. */
typedef struct division {
    int ranks;
    pgcn_i_blocks groups;
    int32_t *last;    /* [n] the rank that fetched a row last, -1: none */
    int64_t *visitor; /* [ranks] the last node whose walks came by */
    int64_t *rows, *neighbours, *visited, *visitors; /* [ranks] */
} division;

static int32_t rank_of(const division *d, int64_t node) {
    return (int32_t)(node / d->groups.size * d->ranks / d->groups.count);
}

static pgcn_status division_open(division *d, int ranks, pgcn_i_blocks groups,
                                 pgcn_i_arena *arena) {
    *d = (division){.ranks = ranks,
                    .groups = groups,
                    .last = PGCN_I_ARRAY(arena, int32_t, groups.rows),
                    .visitor = PGCN_I_ARRAY(arena, int64_t, ranks),
                    .rows = PGCN_I_ARRAY(arena, int64_t, ranks),
                    .neighbours = PGCN_I_ARRAY(arena, int64_t, ranks),
                    .visited = PGCN_I_ARRAY(arena, int64_t, ranks),
                    .visitors = PGCN_I_ARRAY(arena, int64_t, ranks)};
    if (!d->last || !d->visitor || !d->rows || !d->neighbours || !d->visited || !d->visitors)
        return PGCN_ERR_MEMORY;
    for (int64_t u = 0; u < groups.rows; u++) d->rows[rank_of(d, u)]++;
    return PGCN_OK;
}

static void forget(division *d) {
    for (int64_t u = 0; u < d->groups.rows; u++) d->last[u] = -1;
    for (int r = 0; r < d->ranks; r++) d->visitor[r] = -1;
}

/* Counts a row in `fetched` if it is another rank's, and for the first time. Whether it is another's. */
static bool fetch(division *d, int32_t rank, pgcn_node row, int64_t *fetched) {
    if (rank_of(d, row) == rank) return false;
    if (d->last[row] != rank) fetched[rank]++;
    d->last[row] = rank;
    return true;
}

static void count_neighbours(division *d, const pgcn_graph *graph) {
    forget(d);
    for (int64_t u = 0; u < graph->n; u++) {
        int32_t rank = rank_of(d, u);
        for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++)
            fetch(d, rank, graph->neighbour[e], d->neighbours);
    }
    forget(d);
}

/* walks [p, k] of one start, whose first node is the start itself. */
static void count_visits(division *d, int64_t start, const pgcn_node *walks,
                         const pgcn_i_walker *walker) {
    int32_t rank = rank_of(d, start);
    for (int q = 0; q < walker->p; q++)
        for (int hop = 1; hop < walker->k; hop++) {
            pgcn_node node = walks[q * walker->k + hop];
            if (!fetch(d, rank, node, d->visited)) continue;
            int32_t owner = rank_of(d, node);
            if (d->visitor[owner] != start) d->visitors[owner]++;
            d->visitor[owner] = start;
        }
}

static pgcn_status count_all(division *d, int count, const pgcn_i_walker *walker,
                             const pgcn_config *config, pgcn_i_pool *pool, pgcn_i_arena *arena) {
    int64_t n = walker->graph->n, each = (int64_t)walker->p * walker->k;
    int64_t chunk = n < CHUNK ? n : CHUNK;
    pgcn_node *start = PGCN_I_ARRAY(arena, pgcn_node, chunk);
    pgcn_node *walks = PGCN_I_ARRAY(arena, pgcn_node, chunk * each);
    pgcn_i_rng_domain domain = pgcn_i_rng_domain_of(config->seed, PGCN_I_RNG_WALK, 0, 0, 0);
    if (!start || !walks) return PGCN_ERR_MEMORY;
    for (int i = 0; i < count; i++) {
        PGCN_TRY(pgcn_i_stage("counting neighbours on other ranks", (double)i / count));
        count_neighbours(&d[i], walker->graph);
    }
    for (int64_t first = 0; first < n; first += chunk) {
        PGCN_TRY(pgcn_i_stage("walking to see what ranks fetch", (double)first / (double)n));
        int64_t now = n - first < chunk ? n - first : chunk;
        for (int64_t i = 0; i < now; i++) start[i] = (pgcn_node)(first + i);
        pgcn_i_walks(walker, pool, domain, start, now, walks);
        for (int i = 0; i < count; i++)
            for (int64_t j = 0; j < now; j++)
                count_visits(&d[i], first + j, walks + j * each, walker);
    }
    return PGCN_OK;
}

/* ---- what that costs -------------------------------------------------------------------------- */

static int64_t most_of(const int64_t *count, int ranks) {
    int64_t most = 0;
    for (int r = 0; r < ranks; r++)
        if (count[r] > most) most = count[r];
    return most;
}

/* Rows of others that rank r fetches where it needs `count`: all, if these are nearly all. */
static int64_t fetched_of(const division *d, int r, int64_t count) {
    int64_t all = d->groups.rows - d->rows[r];
    return pgcn_i_fetches_whole(count, all) ? all : count;
}

/* Once in each array that is gathered from, of both passes and of the evaluation, and in messages. Measured at
 * ogbn-arxiv's and Pubmed's size, two layers, on 2, 4 and 8 ranks: 7.9 to 9.2 times; four layers on 4 ranks: 13.4. */
double pgcn_i_copies_of_fetched(const pgcn_config *config) {
    return 2.1 * (double)config->layers + 3.8;
}

/* What rows of others take on the rank that fetches most of them. These arrays are in huge pages: where not all rows are
 * fetched, those beside them are touched, once at each of the two ends of what a sample has of an array. */
static double fetched_bytes(const division *d, const pgcn_config *config, int64_t fetched) {
    enum { HUGE_PAGE = 2 << 20 };
    double row = 4.0 * config->channels, copies = pgcn_i_copies_of_fetched(config);
    double rest = row * (double)(d->groups.rows - most_of(d->rows, d->ranks) - fetched);
    double beside = rest < 0 ? 0 : rest < HUGE_PAGE ? rest : HUGE_PAGE;
    return config->samples * copies * (row * (double)fetched + beside);
}

/* T is on every rank. The bytes for each node (offsets, degrees, flags and numbers of rows) were measured at
 * ogbn-arxiv's size on 2, 4 and 8 ranks. */
static double structure_bytes(const pgcn_i_csr *t) {
    enum { NODE_BYTES = 31 };
    return (double)(sizeof *t->column + sizeof *t->value) * (double)t->offset[t->rows] +
           NODE_BYTES * (double)t->rows;
}

/* The program, its first messages and labels: 3 to 5 MB were measured. The container is mapped, and not counted. */
static const double process_bytes = 4e6;

/* Visited rows come in forward, those of visitors backward. */
static pgcn_ranks report(const division *d, const pgcn_dataset *data, const pgcn_i_csr *t,
                         const pgcn_config *config) {
    const pgcn_memory whole = pgcn_i_trainer_guess(data, config);
    double row = 4.0 * config->channels * config->samples;
    int64_t both = 0, larger = 0;
    for (int r = 0; r < d->ranks; r++) {
        int64_t there = fetched_of(d, r, d->visited[r]), back = fetched_of(d, r, d->visitors[r]);
        if (there + back > both) both = there + back;
        if (there > larger) larger = there;
        if (back > larger) larger = back;
    }
    pgcn_ranks out = {.ranks = d->ranks,
                      .rows = most_of(d->rows, d->ranks),
                      .neighbours = most_of(d->neighbours, d->ranks),
                      .visited = most_of(d->visited, d->ranks),
                      .visitors = most_of(d->visitors, d->ranks),
                      .bytes_step = (int64_t)((double)both * row * config->layers)};
    double share = (double)out.rows / (double)data->graph->n;
    /* and the columns of T by a rank's own numbers */
    double rows = (double)(whole.values + whole.paths + whole.features) +
                  (double)sizeof *t->column * (double)t->offset[t->rows];
    out.memory_shared = whole.weights + (int64_t)(structure_bytes(t) + process_bytes);
    out.memory_rows = (int64_t)(rows * share);
    out.memory_fetched = (int64_t)fetched_bytes(d, config, larger);
    out.memory = out.memory_shared + out.memory_rows + out.memory_fetched;
    return out;
}

static pgcn_status check(const pgcn_dataset *data, const int *ranks, int count, int64_t groups) {
    for (int i = 0; i < count; i++)
        if (ranks[i] < 1 || ranks[i] > groups)
            return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                               "%d ranks: expected 1 to %lld, the number of groups of nodes of "
                               "'%s'; the step groups=N makes more",
                               ranks[i], (long long)groups, data->name);
    return PGCN_OK;
}

pgcn_status pgcn_dataset_ranks(const pgcn_dataset *data, const pgcn_config *config,
                               const int *ranks, int count, pgcn_ranks *out) {
    PGCN_I_NEED(data);
    PGCN_I_NEED(config);
    PGCN_I_NEED(ranks);
    PGCN_I_NEED(out);
    pgcn_i_blocks groups = pgcn_i_groups_of(data->graph->n, pgcn_i_source_groups(&data->from));
    PGCN_TRY(pgcn_config_check(config));
    PGCN_TRY(check(data, ranks, count, groups.count));
    pgcn_i_arena arena = {0};
    pgcn_i_spatial spatial;
    pgcn_i_pool *pool = NULL;
    PGCN_TRY(pgcn_i_spatial_of(&spatial, data, config, PGCN_I_READS_T));
    division *d = PGCN_I_ARRAY(&arena, division, count);
    pgcn_status status = d ? pgcn_i_pool_new(config->threads, &pool) : PGCN_ERR_MEMORY;
    for (int i = 0; i < count && status == PGCN_OK; i++)
        status = division_open(&d[i], ranks[i], groups, &arena);
    if (status == PGCN_OK) status = count_all(d, count, &spatial.walker, config, pool, &arena);
    for (int i = 0; i < count && status == PGCN_OK; i++)
        out[i] = report(&d[i], data, &spatial.exact, config);
    pgcn_i_pool_free(pool);
    pgcn_i_spatial_free(&spatial);
    pgcn_i_arena_free(&arena);
    return status;
}
