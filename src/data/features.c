/* The features of nodes: those of the source, or columns made from the label, the degree, the
 * number or the links of a node (the step features=, or the default for the data). Made columns
 * have names, so that a model finds them in other data. Serial, thread-safe. Called by prepare.c. */
#include "data/data.h"

#include <stdio.h>
#include <string.h>

/* Larger degrees share the last column: hubs of a large graph would make most columns empty. */
enum { MOST_DEGREE = 1023 };

/* Which kinds of columns there are, and how many of each. */
typedef struct feature_blocks {
    bool own, labels, degrees, identity, adjacency;
    int64_t own_columns, label_columns, degree_columns;
} feature_blocks;

static int64_t degree_of(const pgcn_graph *graph, int64_t node) {
    int64_t degree = graph->offset[node + 1] - graph->offset[node];
    return degree < MOST_DEGREE ? degree : MOST_DEGREE;
}

static int64_t own_entries(const pgcn_i_features *x, int64_t node) {
    if (x->offset) return x->offset[node + 1] - x->offset[node];
    int64_t entries = 0;
    for (int64_t j = 0; j < x->columns; j++) entries += x->dense[node * x->columns + j] != 0.0f;
    return entries;
}

/* Writes the given features of a node from index `at` on; returns the index after them. */
static int64_t put_own(const pgcn_i_features *x, int64_t node, int32_t *column, float *value,
                       int64_t at) {
    if (x->offset) {
        for (int64_t e = x->offset[node]; e < x->offset[node + 1]; e++) {
            column[at] = x->column[e];
            value[at++] = x->value[e];
        }
        return at;
    }
    for (int64_t j = 0; j < x->columns; j++) {
        if (x->dense[node * x->columns + j] == 0.0f) continue;
        column[at] = (int32_t)j;
        value[at++] = x->dense[node * x->columns + j];
    }
    return at;
}

/* ---- names ------------------------------------------------------------------------------------ */

/* More columns than this are words or nodes, and are identified by position. */
enum { MOST_NAMED = 1 << 20 };

/* Writes the name of column j with a NUL and returns its size in bytes; writes nothing if `to` is
 * NULL. A column without a name is called by its number. */
static int64_t put_name(const pgcn_i_source *source, const feature_blocks *blocks, int64_t j,
                        char *to) {
    const pgcn_i_names *names = &source->feature_name;
    const char *prefix = "";
    if (j >= blocks->own_columns) {
        j -= blocks->own_columns;
        names = &source->node_label_name;
        prefix = PGCN_I_LABEL_COLUMN;
        if (j >= blocks->label_columns) {
            j -= blocks->label_columns;
            names = NULL;
            prefix = PGCN_I_DEGREE_COLUMN;
        }
    }
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)j);
    const char *name = names && j < names->count ? names->text + names->offset[j] : number;
    size_t bytes = strlen(prefix) + strlen(name) + 1;
    if (to) snprintf(to, bytes, "%s%s", prefix, name);
    return (int64_t)bytes;
}

/* Columns of nodes have no names: other data has other nodes. */
static pgcn_status name_columns(pgcn_i_source *source, const feature_blocks *blocks,
                                int64_t columns) {
    pgcn_i_names names = {0};
    if (!blocks->identity && !blocks->adjacency && columns <= MOST_NAMED) {
        int64_t *offset = PGCN_I_ARRAY(&source->arena, int64_t, columns + 1);
        if (!offset) return PGCN_ERR_MEMORY;
        for (int64_t j = 0; j < columns; j++)
            offset[j + 1] = offset[j] + put_name(source, blocks, j, NULL);
        char *text = PGCN_I_ARRAY(&source->arena, char, offset[columns]);
        if (!text) return PGCN_ERR_MEMORY;
        for (int64_t j = 0; j < columns; j++) put_name(source, blocks, j, text + offset[j]);
        names = (pgcn_i_names){columns, offset, text};
    }
    source->feature_name = names;
    return PGCN_OK;
}

/* ---- values ----------------------------------------------------------------------------------- */

/* Marks the made columns, which nodes without given features have too: those after the given ones. */
static pgcn_status mark_made(pgcn_i_source *source, const feature_blocks *blocks,
                             pgcn_i_features *joined) {
    const pgcn_i_features *own = &source->x;
    if (!blocks->own || !own->absent) return PGCN_OK;
    uint8_t *made = PGCN_I_ARRAY(&source->arena, uint8_t, joined->columns);
    if (!made) return PGCN_ERR_MEMORY;
    for (int64_t j = 0; j < joined->columns; j++)
        made[j] = j >= blocks->own_columns || (own->made && own->made[j]);
    joined->absent = own->absent;
    joined->made = made;
    return PGCN_OK;
}

static pgcn_status join_features(pgcn_i_source *source, const feature_blocks *blocks) {
    const pgcn_i_features *own = &source->x;
    const pgcn_graph *graph = source->graph;
    int64_t n = source->nodes, at = 0;
    int64_t columns = blocks->own_columns + blocks->label_columns + blocks->degree_columns +
                      (blocks->identity ? n : 0) + (blocks->adjacency ? n : 0);
    if (columns > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "%lld feature columns are too many, expected at most "
                           "%d; choose other features",
                           (long long)columns, INT32_MAX);
    int64_t ones = blocks->labels + blocks->degrees + blocks->identity;
    int64_t *offset = PGCN_I_ARRAY(&source->arena, int64_t, n + 1);
    if (!offset) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++)
        offset[i + 1] = offset[i] + ones + (blocks->own ? own_entries(own, i) : 0) +
                        (blocks->adjacency ? graph->offset[i + 1] - graph->offset[i] : 0);
    int32_t *column = PGCN_I_ARRAY(&source->arena, int32_t, offset[n]);
    float *value = PGCN_I_ARRAY(&source->arena, float, offset[n]);
    if (!column || !value) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        int64_t first = blocks->own_columns;
        if (blocks->own) at = put_own(own, i, column, value, at);
        if (blocks->labels) column[at] = (int32_t)(first + source->node_label[i]), value[at++] = 1;
        first += blocks->label_columns;
        if (blocks->degrees) column[at] = (int32_t)(first + degree_of(graph, i)), value[at++] = 1;
        first += blocks->degree_columns;
        if (blocks->identity) column[at] = (int32_t)(first + i), value[at++] = 1;
        first += blocks->identity ? n : 0;
        for (int64_t e = graph->offset[i]; blocks->adjacency && e < graph->offset[i + 1]; e++) {
            column[at] = (int32_t)(first + graph->neighbour[e]);
            value[at++] = graph->weight ? graph->weight[e] : 1;
        }
    }
    pgcn_i_features joined = {.n = n,
                              .columns = columns,
                              .nonzeros = at,
                              .offset = offset,
                              .column = column,
                              .value = value};
    PGCN_TRY(mark_made(source, blocks, &joined));
    source->x = joined;
    return name_columns(source, blocks, columns);
}

/* Whether graphs, not nodes, are classified (or would be, if there were labels). */
static bool is_of_graphs(const pgcn_i_source *source) {
    return source->graph_label || (source->graphs > 0 && !source->label && !source->labels);
}

/* The default: the given features; for sets of graphs the node labels, as usual in the literature. */
static feature_blocks choose_features(const pgcn_i_source *source, const pgcn_i_steps *steps) {
    feature_blocks blocks = {.own = steps->features & PGCN_I_FEATURES_OWN,
                             .labels = steps->features & PGCN_I_FEATURES_LABELS,
                             .degrees = steps->features & PGCN_I_FEATURES_DEGREES,
                             .identity = steps->features & PGCN_I_FEATURES_IDENTITY,
                             .adjacency = steps->features & PGCN_I_FEATURES_ADJACENCY};
    if (steps->features != 0) return blocks;
    if (is_of_graphs(source) && source->node_label &&
        !source->own_name) /* our own files hold the chosen features */
        blocks.labels = true;
    else if (source->x.columns > 0)
        blocks.own = true;
    else if (is_of_graphs(source))
        blocks.degrees = true;
    else
        blocks.identity = true;
    return blocks;
}

pgcn_status pgcn_i_make_features(pgcn_i_source *source, const pgcn_i_steps *steps,
                                 const char *where) {
    feature_blocks blocks = choose_features(source, steps);
    if (blocks.adjacency && source->graphs > 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set '%s' has %lld graphs; features=adjacency is for one graph, "
                           "whose nodes are the same when the model is used; choose other features",
                           where, (long long)source->graphs);
    if ((blocks.own && source->x.columns == 0) || (blocks.labels && !source->node_label))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set '%s' has no %s; choose other features, e.g. features=degrees",
                           where, blocks.labels ? "node labels" : "features of its own");
    if (blocks.own && !blocks.labels && !blocks.degrees && !blocks.identity && !blocks.adjacency)
        return PGCN_OK;
    if (blocks.own) blocks.own_columns = source->x.columns;
    for (int64_t i = 0; i < source->nodes; i++) {
        if (blocks.labels && source->node_label[i] >= blocks.label_columns)
            blocks.label_columns = (int64_t)source->node_label[i] + 1;
        if (blocks.degrees && degree_of(source->graph, i) >= blocks.degree_columns)
            blocks.degree_columns = degree_of(source->graph, i) + 1;
    }
    source->made_features = true;
    source->default_features = steps->features == 0;
    source->given = source->x;
    source->given_name = source->feature_name;
    PGCN_TRY(join_features(source, &blocks));
    if (steps->features == 0 && blocks.identity)
        return pgcn_i_source_note(source, "there are no features: every node gets a column of its "
                                          "own (features=identity); features=degrees is the other "
                                          "choice");
    return PGCN_OK;
}
