/* The built-in partition. Nodes come in the order of a breadth-first search, and each joins the part that
 * most of its neighbours are in, the less the fuller that part is: linear deterministic greedy (Stanton and
 * Kliot, KDD 2012). The stream is repeated, so that a node sees where its later neighbours were (Nishimura
 * and Ugander, KDD 2013) until that saves no edge any more.
 *
 * Memory: a few numbers per node and per part, whatever the number of edges (of a directed graph partition.c
 * has the reversed edges too). Time: a pass over the edges for each of at most STREAMS.
 * Serial. Called by partition.c, which makes the sizes exact. */
#include "graph/partition.h"

#include <string.h>

enum { STREAMS = 10 };

typedef struct stream {
    pgcn_i_division *d;
    pgcn_node *order; /* [connected] nodes with an edge */
    int64_t connected;
    int32_t *before;  /* [n] the best parts so far */
    int64_t leaves;   /* of the tree: a power of two, at least the number of parts */
    int32_t *emptier; /* [2 leaves] tournament: the emptier part of two; root at 1 */
} stream;

/* ---- the emptiest part ----------------------------------------------------------------------- */

/* How full a part is: of nodes or of a weight, whichever is more. */
static double fill_of(const stream *s, int64_t part) {
    const pgcn_i_division *d = s->d;
    double most = (double)d->rows[part] / (double)pgcn_i_division_room(d, part);
    for (int w = 0; w < d->weights; w++) {
        double fill = (double)d->sum[w][part] / d->most[w][part];
        if (fill > most) most = fill;
    }
    return most;
}

/* Equal ones: the smaller number. A leaf without a part is -1. */
static int32_t emptier_of(const stream *s, int32_t a, int32_t b) {
    if (a < 0 || b < 0) return a < 0 ? b : a;
    return fill_of(s, b) < fill_of(s, a) ? b : a;
}

static void play_again(stream *s, int64_t part) {
    for (int64_t at = (s->leaves + part) / 2; at >= 1; at /= 2)
        s->emptier[at] = emptier_of(s, s->emptier[2 * at], s->emptier[2 * at + 1]);
}

static void play_all(stream *s) {
    for (int64_t p = 0; p < s->leaves; p++)
        s->emptier[s->leaves + p] = p < s->d->parts.count ? (int32_t)p : -1;
    for (int64_t at = s->leaves - 1; at >= 1; at--)
        s->emptier[at] = emptier_of(s, s->emptier[2 * at], s->emptier[2 * at + 1]);
}

/* ---- streams --------------------------------------------------------------------------------- */

static void visit_row(const pgcn_graph *graph, pgcn_node node, uint8_t *seen, stream *s) {
    for (int64_t e = graph->offset[node]; e < graph->offset[node + 1]; e++) {
        pgcn_node next = graph->neighbour[e];
        if (seen[next]) continue;
        seen[next] = 1;
        s->order[s->connected++] = next;
    }
}

/* Nodes without an edge are left out: they fill what is left at the end. */
static void search_breadth_first(stream *s, uint8_t *seen) {
    const pgcn_graph *graph = s->d->graph, *back = s->d->back;
    int64_t done = 0;
    for (int64_t u = 0; u < graph->n; u++) {
        bool alone = graph->offset[u] == graph->offset[u + 1] &&
                     (!back || back->offset[u] == back->offset[u + 1]);
        if (seen[u] || alone) continue;
        seen[u] = 1;
        s->order[s->connected++] = (pgcn_node)u;
        for (; done < s->connected; done++) {
            visit_row(graph, s->order[done], seen, s);
            if (back) visit_row(back, s->order[done], seen, s);
        }
    }
}

/* The part for a node whose links are met: many of them, and not full; else the emptiest. */
static int32_t choose(const stream *s, pgcn_node node) {
    const pgcn_i_division *d = s->d;
    double best = 0;
    int32_t to = -1;
    for (int64_t i = 0; i < d->met_count; i++) {
        int32_t part = d->met[i];
        if (!pgcn_i_division_has_room(d, part, node)) continue;
        double score = (double)d->links[part] * (1 - fill_of(s, part));
        if (score > best || (score == best && to >= 0 && part < to)) {
            best = score;
            to = part;
        }
    }
    return to >= 0 ? to : s->emptier[1];
}

/* One stream over all nodes. Parts start empty; a node that has not come yet counts where it was. */
static pgcn_status run_stream(stream *s, int number) {
    pgcn_i_division *d = s->d;
    memset(d->rows, 0, (size_t)d->parts.count * sizeof *d->rows);
    for (int w = 0; w < d->weights; w++)
        memset(d->sum[w], 0, (size_t)d->parts.count * sizeof *d->sum[w]);
    play_all(s);
    for (int64_t i = 0; i < s->connected; i++) {
        pgcn_node node = s->order[i];
        PGCN_TRY(pgcn_i_division_tell(d, "dividing the graph", i, number, STREAMS));
        pgcn_i_division_meet(d, node);
        int32_t to = choose(s, node);
        pgcn_i_division_part_ways(d);
        d->part[node] = -1; /* it is in no sum of this stream yet */
        pgcn_i_division_move(d, node, to);
        play_again(s, to);
    }
    return PGCN_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void place_alone(stream *s) {
    play_all(s);
    for (int64_t u = 0; u < s->d->n; u++) {
        if (s->d->part[u] >= 0) continue;
        int32_t to = s->emptier[1];
        pgcn_i_division_move(s->d, u, to);
        play_again(s, to);
    }
}

/* Back to the parts that are in `before`. */
static void restore(stream *s) {
    for (int64_t u = 0; u < s->d->n; u++)
        if (s->d->part[u] != s->before[u]) pgcn_i_division_move(s->d, u, s->before[u]);
}

pgcn_status pgcn_i_partition_stream(pgcn_i_division *d, pgcn_i_arena *scratch) {
    stream s = {.d = d, .leaves = 1};
    while (s.leaves < d->parts.count) s.leaves *= 2;
    uint8_t *seen = PGCN_I_ARRAY(scratch, uint8_t, d->n);
    s.order = PGCN_I_ARRAY(scratch, pgcn_node, d->n);
    s.before = PGCN_I_ARRAY(scratch, int32_t, d->n);
    s.emptier = PGCN_I_ARRAY(scratch, int32_t, 2 * s.leaves);
    if (!seen || !s.order || !s.before || !s.emptier) return PGCN_ERR_MEMORY;
    for (int64_t u = 0; u < d->n; u++) d->part[u] = -1;
    search_breadth_first(&s, seen);
    int64_t best = INT64_MAX;
    for (int i = 0; i < STREAMS; i++) {
        PGCN_TRY(run_stream(&s, i));
        int64_t cut = pgcn_i_count_cut(d->graph, d->part);
        if (cut >= best) break;
        best = cut;
        memcpy(s.before, d->part, (size_t)d->n * sizeof *s.before);
    }
    restore(&s);
    place_alone(&s);
    return PGCN_OK;
}
