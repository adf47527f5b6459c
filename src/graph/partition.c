/* A graph in parts of (nearly) equal size with few edges between them, for batches of clusters.
 *
 * Nodes are taken in the order of a breadth-first search, and each goes to the part that has most of its neighbours,
 * weighed by the room that is left there (linear deterministic greedy: Stanton and Kliot, KDD 2012). Passes after the
 * first move nodes once more, when all of their neighbours have a part. O(passes m), serial, no random numbers: the same
 * graph has the same parts everywhere. Called by views. */
#include "graph/graph.h"

#include <string.h>

enum { PASSES = 4, NONE = -1 };

typedef struct partition {
    const pgcn_graph *graph;
    int32_t parts, *part;
    int64_t room;     /* nodes of a part, at most */
    int64_t *size;    /* [parts] */
    int64_t *links;   /* [parts] of the node at hand */
    pgcn_node *order; /* [n] */
} partition;

/* Breadth first from the node with the least number that is left, again and again. */
static void order_nodes(partition *p) {
    const pgcn_graph *g = p->graph;
    int64_t end = 0;
    for (int64_t first = 0; first < g->n; first++) {
        if (p->part[first] != NONE) continue;
        int64_t at = end;
        p->order[end++] = (pgcn_node)first;
        p->part[first] = 0; /* seen */
        for (; at < end; at++)
            for (int64_t e = g->offset[p->order[at]]; e < g->offset[p->order[at] + 1]; e++) {
                pgcn_node next = g->neighbour[e];
                if (p->part[next] != NONE) continue;
                p->part[next] = 0;
                p->order[end++] = next;
            }
    }
    for (int64_t i = 0; i < g->n; i++) p->part[i] = NONE;
}

/* The best part of those with room: most links times the room left; the emptiest one where no neighbour is in any. */
static int32_t choose(const partition *p, pgcn_node node, int32_t emptiest) {
    const pgcn_graph *g = p->graph;
    int32_t best = emptiest;
    double most = 0;
    for (int64_t e = g->offset[node]; e < g->offset[node + 1]; e++) {
        int32_t of = p->part[g->neighbour[e]];
        if (of != NONE && g->neighbour[e] != node) p->links[of]++;
    }
    for (int64_t e = g->offset[node]; e < g->offset[node + 1]; e++) {
        int32_t of = p->part[g->neighbour[e]];
        if (of == NONE || p->links[of] == 0) continue;
        double value = (double)p->links[of] * (1 - (double)p->size[of] / (double)p->room);
        p->links[of] = 0; /* each part once */
        if (p->size[of] >= p->room || value < most || (value == most && of > best && most > 0))
            continue;
        best = of;
        most = value;
    }
    return best;
}

static int32_t emptiest_part(const partition *p) {
    int32_t least = 0;
    for (int32_t i = 1; i < p->parts; i++)
        if (p->size[i] < p->size[least]) least = i;
    return least;
}

static void run_pass(partition *p) {
    int32_t emptiest = emptiest_part(p);
    for (int64_t i = 0; i < p->graph->n; i++) {
        pgcn_node node = p->order[i];
        int32_t was = p->part[node];
        if (was != NONE) p->size[was]--;
        if (p->size[emptiest] >= p->room || i % 64 == 0) emptiest = emptiest_part(p);
        p->part[node] = choose(p, node, was == NONE ? emptiest : was);
        p->size[p->part[node]]++;
    }
}

pgcn_status pgcn_i_graph_partition(const pgcn_graph *graph, int32_t parts, int32_t *part) {
    pgcn_i_arena arena = {0};
    partition p = {.graph = graph,
                   .parts = parts,
                   .part = part,
                   .room = (int64_t)(1.05 * (double)graph->n / parts) + 1,
                   .size = PGCN_I_ARRAY(&arena, int64_t, parts),
                   .links = PGCN_I_ARRAY(&arena, int64_t, parts),
                   .order = PGCN_I_ARRAY(&arena, pgcn_node, graph->n)};
    pgcn_status status = p.size && p.links && p.order ? PGCN_OK : PGCN_ERR_MEMORY;
    for (int64_t i = 0; status == PGCN_OK && i < graph->n; i++) part[i] = NONE;
    if (status == PGCN_OK) order_nodes(&p);
    for (int pass = 0; status == PGCN_OK && pass < PASSES; pass++) run_pass(&p);
    pgcn_i_arena_free(&arena);
    return status;
}
