/* Which random numbers the walks of a node use. A walk is a pure function of the seed, the step and
 * its element (base/rng.h).
 *
 * In one graph the element is node * p + path. In a set of graphs the number of a node depends on
 * the graphs before its own, so a graph would have other walks alone than in a set. There the
 * elements of a graph start at a hash of its edges and continue with the index of the node in its
 * graph: the same graph has the same walks in every set and in every batch. Two graphs share walks
 * only if they are equal, or if their hashes collide (for 4,000 graphs of 30 nodes and 10 paths:
 * once in 100,000 sets), which does no harm. */
#include "paths/paths.h"

#include <string.h>

/* The finaliser of splitmix64 (Steele, Lea, Flood, 2014). */
static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) + UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

static uint64_t hash_node(uint64_t hash, const pgcn_graph *graph, int64_t node,
                          const int64_t *place) {
    hash = mix(hash, (uint64_t)(graph->offset[node + 1] - graph->offset[node]));
    for (int64_t e = graph->offset[node]; e < graph->offset[node + 1]; e++) {
        hash = mix(hash, (uint64_t)place[graph->neighbour[e]]);
        uint32_t weight = 0;
        if (graph->weight) memcpy(&weight, &graph->weight[e], sizeof weight);
        if (graph->weight) hash = mix(hash, weight);
    }
    return hash;
}

/* The place of a node is the number of nodes of its graph before it. Nodes of a graph keep their
 * order even if nodes of other graphs are between them, so one pass computes the hashes of all
 * graphs. */
pgcn_status pgcn_i_walker_by_graph(pgcn_i_walker *walker, const int32_t *graph_of, int64_t graphs) {
    const pgcn_graph *graph = walker->graph;
    int64_t *place = pgcn_i_alloc(graph->n, sizeof *place);
    int64_t *count = pgcn_i_alloc(graphs, sizeof *count);
    uint64_t *hash = pgcn_i_alloc(graphs, sizeof *hash);
    uint64_t *first = PGCN_I_ARRAY(&walker->arena, uint64_t, graph->n);
    bool fine = place && count && hash && first;
    if (fine) {
        for (int64_t u = 0; u < graph->n; u++) place[u] = count[graph_of[u]]++;
        for (int64_t u = 0; u < graph->n; u++)
            hash[graph_of[u]] = hash_node(hash[graph_of[u]], graph, u, place);
        for (int64_t u = 0; u < graph->n; u++)
            first[u] = hash[graph_of[u]] + (uint64_t)place[u] * (uint64_t)walker->p;
        walker->first_element = first;
    }
    pgcn_i_free(place);
    pgcn_i_free(count);
    pgcn_i_free(hash);
    return fine ? PGCN_OK : PGCN_ERR_MEMORY;
}
