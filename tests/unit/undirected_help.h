/* For tests against the prepared folders: the edges that a reader found, in both directions and
 * perhaps repeated, against edges.npy, where each stands once. Include after cmocka.h. */
#ifndef PGCN_TEST_UNDIRECTED_HELP_H
#define PGCN_TEST_UNDIRECTED_HELP_H

#include "published_help.h"

#include <stdlib.h>

typedef struct undirected_edge {
    int32_t low, high, label;
} undirected_edge;

/* The order of edges.npy: self-loops last. */
static inline int by_edge(const void *a, const void *b) {
    const undirected_edge *x = a, *y = b;
    bool x_loop = x->low == x->high, y_loop = y->low == y->high;
    if (x_loop != y_loop) return x_loop - y_loop;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    return (x->high > y->high) - (x->high < y->high);
}

/* Also their labels, if the folder has some; both directions must then agree. */
static inline void assert_prepared_undirected(const char *name, const pgcn_i_source *source) {
    pgcn_i_arena arena = {0};
    pgcn_i_array edges = prepared(name, "edges", &arena);
    pgcn_i_array label = prepared(name, "edge_label", &arena);
    assert_int_equal(source->edge_label != NULL, label.count >= 0);
    undirected_edge *edge = PGCN_I_ARRAY(&arena, undirected_edge, source->edges);
    assert_non_null(edge);
    for (int64_t e = 0; e < source->edges; e++) {
        int32_t a = source->edge_from[e], b = source->edge_to[e];
        edge[e] = (undirected_edge){a < b ? a : b, a < b ? b : a,
                                    source->edge_label ? source->edge_label[e] : 0};
    }
    qsort(edge, (size_t)source->edges, sizeof *edge, by_edge);
    int64_t kept = 0;
    for (int64_t e = 0; e < source->edges; e++) {
        bool repeated = e > 0 && by_edge(&edge[e - 1], &edge[e]) == 0;
        if (repeated) assert_int_equal(edge[e - 1].label, edge[e].label);
        if (repeated) continue;
        assert_true(kept < edges.shape[0]);
        assert_int_equal(edge[e].low, ((int32_t *)edges.data)[2 * kept]);
        assert_int_equal(edge[e].high, ((int32_t *)edges.data)[2 * kept + 1]);
        if (label.count >= 0) assert_int_equal(edge[e].label, ((int32_t *)label.data)[kept]);
        kept++;
    }
    assert_int_equal(kept, edges.shape[0]);
    pgcn_i_arena_free(&arena);
}

/* graph_ptr, y and node_label of a folder of many graphs. */
static inline void assert_prepared_graphs(const char *name, const pgcn_i_source *source) {
    pgcn_i_arena arena = {0};
    pgcn_i_array start = prepared(name, "graph_ptr", &arena), label = prepared(name, "y", &arena);
    pgcn_i_array node_label = prepared(name, "node_label", &arena);
    assert_int_equal(source->graphs + 1, start.count);
    assert_int_equal(source->nodes, ((int64_t *)start.data)[source->graphs]);
    for (int64_t g = 0; g < source->graphs; g++)
        for (int64_t i = ((int64_t *)start.data)[g]; i < ((int64_t *)start.data)[g + 1]; i++)
            assert_int_equal(source->graph_of[i], g);
    assert_int_equal(label.count, source->graphs);
    assert_memory_equal(source->graph_label, label.data, (size_t)label.count * 4);
    assert_int_equal(node_label.count, source->nodes);
    assert_memory_equal(source->node_label, node_label.data, (size_t)node_label.count * 4);
    pgcn_i_arena_free(&arena);
}

#endif
