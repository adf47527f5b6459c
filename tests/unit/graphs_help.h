/* For the tests of sets of many graphs: small sets whose classes can be learnt, with their nodes in the
 * order of the graphs or mixed, and the same set under other numbers. */
#ifndef PGCN_GRAPHS_HELP_H
#define PGCN_GRAPHS_HELP_H

#include "sampling_help.h"

#include "data/data.h"

enum { SET_COLUMNS = 5, SET_CLASSES = 3, SET_MOST_NODES = 13 };

typedef struct graph_set {
    pgcn_task task;
    bool sparse; /* features as CSR */
    int64_t nodes, graphs, edges;
    int32_t *graph_of;            /* [nodes] */
    pgcn_node *from, *to;         /* [edges] */
    float *x;                     /* [nodes, SET_COLUMNS] */
    int32_t *label, *graph_label; /* [nodes], [graphs] */
    uint8_t *labels;              /* [nodes, SET_CLASSES] */
} graph_set;

static inline graph_set set_alloc(pgcn_task task, bool sparse, int64_t nodes, int64_t graphs,
                                  int64_t edges) {
    if (nodes < 0 || graphs < 0 || edges < 0) abort(); /* which GCC could not know */
    graph_set set = {.task = task, .sparse = sparse, .nodes = nodes, .graphs = graphs};
    set.edges = edges;
    set.graph_of = calloc((size_t)nodes, sizeof *set.graph_of);
    set.from = calloc((size_t)edges, sizeof *set.from);
    set.to = calloc((size_t)edges, sizeof *set.to);
    set.x = calloc((size_t)nodes * SET_COLUMNS, sizeof *set.x);
    set.label = calloc((size_t)nodes, sizeof *set.label);
    set.graph_label = calloc((size_t)graphs, sizeof *set.graph_label);
    set.labels = calloc((size_t)nodes * SET_CLASSES, 1);
    return set;
}

static inline void set_free(graph_set *set) {
    free(set->graph_of), free(set->from), free(set->to), free(set->x);
    free(set->label), free(set->graph_label), free(set->labels);
}

/* The set with node u under the number node_place[u] and graph g under graph_place[g]. */
static inline graph_set set_renumbered(const graph_set *set, const pgcn_node *node_place,
                                       const pgcn_node *graph_place) {
    graph_set out = set_alloc(set->task, set->sparse, set->nodes, set->graphs, set->edges);
    for (int64_t g = 0; g < set->graphs; g++) out.graph_label[graph_place[g]] = set->graph_label[g];
    for (int64_t u = 0; u < set->nodes; u++) {
        int64_t to = node_place[u];
        out.graph_of[to] = graph_place[set->graph_of[u]];
        out.label[to] = set->label[u];
        memcpy(out.x + to * SET_COLUMNS, set->x + u * SET_COLUMNS, SET_COLUMNS * sizeof *out.x);
        memcpy(out.labels + to * SET_CLASSES, set->labels + u * SET_CLASSES, SET_CLASSES);
    }
    for (int64_t e = 0; e < set->edges; e++) {
        out.from[e] = node_place[set->from[e]];
        out.to[e] = node_place[set->to[e]];
    }
    return out;
}

/* A random order of 0 .. n-1 as places. */
static inline pgcn_node *random_places(int64_t n, uint64_t seed) {
    pgcn_node *place = calloc((size_t)n + 1, sizeof *place);
    pgcn_i_shuffle(pgcn_i_rng_domain_of(seed, PGCN_I_RNG_TEST, 0, 0, 0), n, place);
    return place;
}

/* Graphs of 1 to SET_MOST_NODES nodes: class 0 rings, class 1 stars, class 2 without edges, each with a
 * feature that says so now and then; a node's labels follow from its features and its graph. Every tenth
 * graph has no class, every ninth node no label. */
static inline graph_set set_new(pgcn_task task, bool sparse, int64_t graphs) {
    int64_t nodes = 0, edges = 0;
    for (int64_t g = 0; g < graphs; g++) nodes += 1 + (5 * g + 3) % SET_MOST_NODES;
    graph_set set = set_alloc(task, sparse, nodes, graphs, nodes);
    pgcn_i_stream random = test_stream(91);
    for (int64_t g = 0, first = 0; g < graphs; g++) {
        int64_t size = 1 + (5 * g + 3) % SET_MOST_NODES;
        int32_t class = (int32_t)pgcn_i_bounded(&random, SET_CLASSES);
        set.graph_label[g] = g % 10 == 9 ? -1 : class;
        for (int64_t u = first; u < first + size; u++) {
            float *x = set.x + u * SET_COLUMNS;
            set.graph_of[u] = (int32_t)g;
            x[pgcn_i_bounded(&random, SET_COLUMNS)] = 1;
            if (pgcn_i_bounded(&random, 2)) x[class] += 0.5f;
            set.label[u] = u % 9 == 8 ? -1 : x[0] > 0 ? 0 : class;
            for (int c = 0; c < SET_CLASSES; c++)
                set.labels[u * SET_CLASSES + c] = x[c] > 0 || c == class;
            if (class == 2 || size < 2) continue;
            set.from[edges] = (pgcn_node)u;
            set.to[edges++] = (pgcn_node)(class == 0 ? first + (u - first + 1) % size : first);
        }
        first += size;
    }
    set.edges = edges;
    return set;
}

/* The same with the nodes of all graphs mixed, as sets of node labels may have them. */
static inline graph_set set_mixed(pgcn_task task, bool sparse, int64_t graphs) {
    graph_set sorted = set_new(task, sparse, graphs);
    pgcn_node *place = random_places(sorted.nodes, 92), *same = calloc((size_t)graphs, 4);
    for (int64_t g = 0; g < graphs; g++) same[g] = (pgcn_node)g;
    graph_set set = set_renumbered(&sorted, place, same);
    free(place), free(same);
    set_free(&sorted);
    return set;
}

static inline const void *set_copy(pgcn_i_source *source, const void *array, int64_t bytes) {
    void *copy = pgcn_i_arena_alloc(&source->arena, bytes, 1);
    assert_non_null(copy);
    memcpy(copy, array, (size_t)bytes);
    return copy;
}

static inline pgcn_i_features set_features(const graph_set *set, pgcn_i_source *source) {
    int64_t count = set->nodes * SET_COLUMNS, nonzeros = 0;
    pgcn_i_features x = {.n = set->nodes, .columns = SET_COLUMNS};
    if (!set->sparse) {
        x.dense = set_copy(source, set->x, count * (int64_t)sizeof *set->x);
        return x;
    }
    int64_t *offset = PGCN_I_ARRAY(&source->arena, int64_t, set->nodes + 1);
    int32_t *column = PGCN_I_ARRAY(&source->arena, int32_t, count);
    float *value = PGCN_I_ARRAY(&source->arena, float, count);
    assert_true(offset && column && value);
    for (int64_t e = 0; e < count; e++) {
        if (set->x[e] != 0) {
            column[nonzeros] = (int32_t)(e % SET_COLUMNS);
            value[nonzeros++] = set->x[e];
        }
        offset[e / SET_COLUMNS + 1] = nonzeros;
    }
    x.offset = offset;
    x.column = column;
    x.value = value;
    x.nonzeros = nonzeros;
    return x;
}

static inline pgcn_i_source set_source(const graph_set *set) {
    pgcn_i_source source = {.nodes = set->nodes, .edges = set->edges, .format = "test"};
    const int64_t four = 4;
    source.edge_from = set_copy(&source, set->from, set->edges * four);
    source.edge_to = set_copy(&source, set->to, set->edges * four);
    source.graphs = set->graphs;
    source.graph_of = set_copy(&source, set->graph_of, set->nodes * four);
    source.x = set_features(set, &source);
    if (set->task == PGCN_TASK_GRAPH)
        source.graph_label = set_copy(&source, set->graph_label, set->graphs * four);
    if (set->task == PGCN_TASK_NODE)
        source.label = set_copy(&source, set->label, set->nodes * four);
    if (set->task == PGCN_TASK_MULTILABEL) {
        uint8_t *is_known = PGCN_I_ARRAY(&source.arena, uint8_t, set->nodes);
        assert_non_null(is_known);
        for (int64_t u = 0; u < set->nodes; u++) is_known[u] = set->label[u] >= 0;
        source.label_known = is_known;
        source.labels = set_copy(&source, set->labels, set->nodes * SET_CLASSES);
        source.classes = SET_CLASSES;
    }
    return source;
}

static inline pgcn_dataset *source_build(pgcn_i_source source, const char *text) {
    pgcn_i_steps steps = {0};
    pgcn_dataset *data = NULL;
    bool known;
    must(pgcn_i_steps_parse(text, &steps, &known));
    assert_true(known);
    must(pgcn_i_dataset_build("set", "set", &steps, &source, &data));
    return data;
}

static inline pgcn_dataset *set_build(const graph_set *set, const char *text) {
    return source_build(set_source(set), text);
}

/* In one go, where the arrays are not needed again. */
static inline pgcn_dataset *set_of(graph_set set, const char *text) {
    pgcn_dataset *data = set_build(&set, text);
    set_free(&set);
    return data;
}

#endif
