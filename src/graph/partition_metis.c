/* Partitions by METIS (Karypis and Kumar, 1998): a graph is made smaller step by step by joining
 * neighbours and divided when it is small. The division is refined while the graph grows back to its size. Needs
 * memory for copies of the graph.
 *
 * Debian's METIS counts in 32 bits. It draws from rand() of the C library: the state of that is put aside
 * for the call, so that the result is the same whatever the caller drew, and the caller's numbers too. One
 * thread at a time for the same reason. While it runs it takes SIGTERM and SIGABRT for itself, and ends with an
 * error then. Called by partition.c, which makes the sizes exact. */
#include "graph/partition.h"

#include <string.h>

#ifndef PGCN_HAVE_METIS

bool pgcn_i_has_metis(void) {
    return false;
}

pgcn_status pgcn_i_partition_metis(pgcn_i_division *d, pgcn_i_arena *scratch) {
    (void)d, (void)scratch;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "METIS was called in a build without it");
}

#else

#include <math.h>
#include <metis.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

typedef struct metis_graph {
    idx_t *offset, *neighbour;
    idx_t *weight; /* of edges: 2 where a directed graph has both arcs; NULL: 1 each */
    idx_t *node_weight;
    idx_t weights; /* of a node: 1, visits, features */
    real_t *share; /* [parts, weights] */
} metis_graph;

bool pgcn_i_has_metis(void) {
    return true;
}

/* The next neighbour in ascending order of a row and its reversed one, `node` left out; false at the end. */
static bool next_of(const pgcn_graph *graph, int64_t end, int64_t node, int64_t *at,
                    pgcn_node *out) {
    while (*at < end && graph->neighbour[*at] == node) ++*at;
    if (*at < end) *out = graph->neighbour[*at];
    return *at < end;
}

/* METIS wants every edge in the rows of both its ends, once, and no self-loops. */
static idx_t write_row(const pgcn_i_division *d, int64_t node, idx_t at, metis_graph *out) {
    const pgcn_graph *there = d->graph, *back = d->back;
    int64_t a = there->offset[node], b = back ? back->offset[node] : 0;
    int64_t a_end = there->offset[node + 1], b_end = back ? back->offset[node + 1] : 0;
    pgcn_node next = 0, other = 0;
    while (true) {
        bool has_next = next_of(there, a_end, node, &a, &next);
        bool has_other = back && next_of(back, b_end, node, &b, &other);
        if (!has_next && !has_other) return at;
        bool take = has_next && (!has_other || next <= other);
        bool take_other = has_other && (!has_next || other <= next);
        a += take;
        b += take_other;
        out->neighbour[at] = take ? next : other;
        if (out->weight) out->weight[at] = take + take_other;
        at++;
    }
}

static pgcn_status copy_graph(const pgcn_i_division *d, pgcn_i_arena *scratch, metis_graph *out) {
    int64_t entries = d->back ? 2 * d->graph->entries : d->graph->entries;
    if (entries > IDX_MAX || d->n * (1 + d->weights) > IDX_MAX)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "the graph has %lld entries, and METIS as it was installed counts in %d "
                           "bits; take the built-in partition",
                           (long long)entries, (int)IDXTYPEWIDTH);
    out->offset = PGCN_I_ARRAY(scratch, idx_t, d->n + 1);
    out->neighbour = PGCN_I_ARRAY(scratch, idx_t, entries);
    if (d->back) out->weight = PGCN_I_ARRAY(scratch, idx_t, entries);
    if (!out->offset || !out->neighbour || (d->back && !out->weight)) return PGCN_ERR_MEMORY;
    for (int64_t u = 0; u < d->n; u++) out->offset[u + 1] = write_row(d, u, out->offset[u], out);
    return PGCN_OK;
}

/* Weight 0 is the number of nodes. The sums of the others must fit into METIS's integers too. */
static pgcn_status copy_weights(const pgcn_i_division *d, pgcn_i_arena *scratch, metis_graph *out) {
    int64_t all = 1 + d->weights;
    out->weights = 1;
    out->node_weight = PGCN_I_ARRAY(scratch, idx_t, d->n * all);
    if (!out->node_weight) return PGCN_ERR_MEMORY;
    for (int64_t u = 0; u < d->n; u++) out->node_weight[u * all] = 1;
    for (int w = 0; w < d->weights; w++) {
        int64_t total = 0, unit;
        for (int64_t u = 0; u < d->n; u++) total += d->weight[w][u];
        unit = 1 + total / (IDX_MAX / 4);
        for (int64_t u = 0; u < d->n; u++)
            out->node_weight[u * all + 1 + w] = (idx_t)((d->weight[w][u] + unit - 1) / unit);
        out->weights++;
    }
    out->share = PGCN_I_ARRAY(scratch, real_t, d->parts.count * all);
    if (!out->share) return PGCN_ERR_MEMORY;
    for (int64_t p = 0; p < d->parts.count; p++)
        for (int64_t w = 0; w < all; w++)
            out->share[p * all + w] = (real_t)((double)d->target[p] / (double)d->n);
    return PGCN_OK;
}

/* ---- while it runs ------------------------------------------------------------------------------- */

static const char dividing[] = "dividing the graph by METIS";

/* METIS does not say how far it is. A second thread tells that it is at work, and ends it where the caller wants that: by
 * the signal that METIS takes for itself while it runs. */
typedef struct watch {
    pthread_t thread, metis;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool has_ended;
} watch;

static void *tell_while_it_runs(void *context) {
    enum { NANOSECONDS = 1000000000, EVERY = NANOSECONDS / 10 };
    watch *w = context;
    bool goes_on = true;
    pthread_mutex_lock(&w->lock);
    while (!w->has_ended && goes_on) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += EVERY;
        until.tv_sec += until.tv_nsec / NANOSECONDS;
        until.tv_nsec %= NANOSECONDS;
        pthread_cond_timedwait(&w->ended, &w->lock, &until);
        if (w->has_ended) break;
        goes_on = pgcn_i_stage(dividing, 0) == PGCN_OK;
        if (!goes_on) pthread_kill(w->metis, SIGTERM);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Without a second thread nothing is told. It takes no signals: METIS's are for the thread that runs it. */
static bool watch_begin(watch *w) {
    sigset_t all, before;
    *w = (watch){.metis = pthread_self(),
                 .lock = PTHREAD_MUTEX_INITIALIZER,
                 .ended = PTHREAD_COND_INITIALIZER};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool begun = pthread_create(&w->thread, NULL, tell_while_it_runs, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return begun;
}

static void watch_end(watch *w) {
    pthread_mutex_lock(&w->lock);
    w->has_ended = true;
    pthread_cond_signal(&w->ended);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
}

/* With the state of rand() put aside. */
static int call_metis(const pgcn_i_division *d, metis_graph *g, idx_t *part) {
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    enum { STATE_BYTES = 128, SEED = 1 };
    char state[STATE_BYTES];
    idx_t n = (idx_t)d->n, parts = (idx_t)d->parts.count, cut, options[METIS_NOPTIONS];
    real_t tolerance[1 + PGCN_I_PART_WEIGHTS];
    for (int w = 0; w < g->weights; w++) /* of one of log2(parts) halvings */
        tolerance[w] = (real_t)pow(w == 0 ? 1.03 : 1.1, 1 / ceil(log2((double)parts)));
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = SEED;
    pthread_mutex_lock(&one_at_a_time);
    watch w;
    bool watched = watch_begin(&w);
    char *before = initstate(SEED, state, sizeof state);
    int result =
        METIS_PartGraphRecursive(&n, &g->weights, g->offset, g->neighbour, g->node_weight, NULL,
                                 g->weight, &parts, g->share, tolerance, options, &cut, part);
    setstate(before);
    if (watched) watch_end(&w);
    pthread_mutex_unlock(&one_at_a_time);
    return result;
}

pgcn_status pgcn_i_partition_metis(pgcn_i_division *d, pgcn_i_arena *scratch) {
    metis_graph g = {0};
    PGCN_TRY(copy_graph(d, scratch, &g));
    PGCN_TRY(copy_weights(d, scratch, &g));
    idx_t *part = PGCN_I_ARRAY(scratch, idx_t, d->n);
    if (!part) return PGCN_ERR_MEMORY;
    PGCN_TRY(pgcn_i_stage(dividing, 0));
    int result = call_metis(d, &g, part);
    PGCN_TRY(pgcn_i_stage(dividing, 1)); /* METIS says of a stop only that it failed */
    if (result == METIS_ERROR_MEMORY)
        return pgcn_i_fail(PGCN_ERR_MEMORY,
                           "METIS ran out of memory with %lld nodes and %lld edges; take the "
                           "built-in partition",
                           (long long)d->n, (long long)d->graph->entries);
    if (result != METIS_OK)
        return pgcn_i_fail(
            PGCN_ERR_SYSTEM,
            "METIS gave up with its error %d: it was ended by a signal (SIGTERM), or "
            "failed; repeat it, or take the built-in partition",
            result);
    for (int64_t u = 0; u < d->n; u++) {
        d->part[u] = -1;
        pgcn_i_division_move(d, u, (int32_t)part[u]);
    }
    return PGCN_OK;
}

#endif
