/* PPI as DGL and PyTorch Geometric publish it (ppi.zip), for PART = train, valid, test:
 *
 *   PART_graph.json     node-link JSON (node_link.c), ids 0 .. n-1, a link names two ids
 *   PART_feats.npy      [n, f] numbers (float64, f = 50)
 *   PART_labels.npy     [n, C] 0 or 1 (C = 121)
 *   PART_graph_id.npy   [n] whole numbers: the graph of each node, 1-based and counted through
 *
 * The three parts become one set: rows of train, then of valid, then of test; the split "public"
 * says which is which, and graphs are numbered 0, 1, ... in the order of their ids. A graph whose nodes
 * stand in two parts, and a link between two graphs, are errors. Called through formats.c. Serial,
 * thread-safe. */
#include "data/node_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 3 };
static const char *const part_name[PARTS] = {"train", "valid", "test"};

typedef struct part {
    int64_t nodes, features, classes;
    const float *x;         /* [nodes, features] */
    const uint8_t *label;   /* [nodes, classes] */
    const int64_t *graph;   /* [nodes] ids as they stand in the file */
    pgcn_i_node_link links; /* rows counted within the part */
} part;

bool pgcn_i_dgl_ppi_detect(const char *path) {
    char file[PGCN_I_PATH_BYTES];
    return pgcn_i_is_directory(path) &&
           pgcn_i_path_join(file, path, "train_graph.json") == PGCN_OK && pgcn_i_file_exists(file);
}

static pgcn_status part_path(char out[PGCN_I_PATH_BYTES], const char *directory, int p,
                             const char *file) {
    char name[64];
    snprintf(name, sizeof name, "%s_%s", part_name[p], file);
    return pgcn_i_path_join(out, directory, name);
}

/* ---- one part -------------------------------------------------------------------------------- */

/* The row of a node is its id. */
static int64_t row_of(void *context, const char *id) {
    int64_t row;
    if (!pgcn_i_parse_i64(&id, &row) || *id) return -1;
    return row >= 0 && row < *(const int64_t *)context ? row : -1;
}

static pgcn_status read_graph_ids(const char *path, pgcn_i_arena *scratch, part *to) {
    pgcn_i_array array;
    PGCN_TRY(pgcn_i_npy_read(path, scratch, &array));
    bool wide = array.dtype == PGCN_I_I64;
    if (array.rank != 1 || (!wide && array.dtype != PGCN_I_I32) || array.count != to->nodes) {
        char shape[PGCN_I_SHAPE_TEXT];
        pgcn_i_shape_text(array.dtype, array.rank, array.shape, shape);
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': found an array %s, expected int64 [%lld], the graph of "
                           "every node",
                           path, shape, (long long)to->nodes);
    }
    int64_t *graph = PGCN_I_ARRAY(scratch, int64_t, to->nodes);
    if (!graph) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < to->nodes; i++)
        graph[i] = wide ? ((const int64_t *)array.data)[i] : ((const int32_t *)array.data)[i];
    to->graph = graph;
    return PGCN_OK;
}

static pgcn_status read_part(const char *directory, int p, pgcn_i_arena *scratch, part *to) {
    char path[PGCN_I_PATH_BYTES];
    int64_t rows;
    PGCN_TRY(part_path(path, directory, p, "feats.npy"));
    PGCN_TRY(pgcn_i_read_matrix_f32(path, scratch, &to->nodes, &to->features, &to->x));
    PGCN_TRY(part_path(path, directory, p, "labels.npy"));
    PGCN_TRY(pgcn_i_read_matrix_flags(path, scratch, &rows, &to->classes, &to->label));
    if (rows != to->nodes)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "reading '%s': it has %lld rows but %s_feats.npy has %lld", path,
                           (long long)rows, part_name[p], (long long)to->nodes);
    PGCN_TRY(part_path(path, directory, p, "graph_id.npy"));
    PGCN_TRY(read_graph_ids(path, scratch, to));
    PGCN_TRY(part_path(path, directory, p, "graph.json"));
    PGCN_TRY(pgcn_i_node_link_read(path, row_of, &to->nodes, to->nodes, true, &to->links));
    const pgcn_node *row = (const pgcn_node *)to->links.row.data;
    for (int64_t i = 0; i < to->links.nodes; i++)
        if (row[i] < 0)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': the id of node %lld (from 0) is not one of 0 to "
                               "%lld, the rows of %s_feats.npy",
                               path, (long long)i, (long long)to->nodes - 1, part_name[p]);
    if (to->links.nodes != to->nodes || to->links.dropped > 0)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "reading '%s': it has %lld nodes and %lld links of others, expected "
                           "the %lld nodes of %s_feats.npy and no such link",
                           path, (long long)to->links.nodes, (long long)to->links.dropped,
                           (long long)to->nodes, part_name[p]);
    return PGCN_OK;
}

/* ---- the three as one ------------------------------------------------------------------------ */

/* Ids of any value become 0, 1, ... in ascending order. */
static pgcn_status number_graphs(const char *directory, const part *parts, pgcn_i_arena *scratch,
                                 pgcn_i_source *source) {
    int64_t n = source->nodes, at = 0, kinds = 0;
    int64_t *id = PGCN_I_ARRAY(scratch, int64_t, n);
    int32_t *graph_of = PGCN_I_ARRAY(&source->arena, int32_t, n);
    int8_t *owner = PGCN_I_ARRAY(scratch, int8_t, n); /* of a graph: its part + 1 */
    if (!id || !graph_of || !owner) return PGCN_ERR_MEMORY;
    for (int p = 0; p < PARTS; p++)
        for (int64_t i = 0; i < parts[p].nodes; i++) id[at++] = parts[p].graph[i];
    qsort(id, (size_t)n, sizeof *id, pgcn_i_compare_i64);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || id[i] != id[i - 1]) id[kinds++] = id[i];
    at = 0;
    for (int p = 0; p < PARTS; p++)
        for (int64_t i = 0; i < parts[p].nodes; i++) {
            int64_t wanted = parts[p].graph[i];
            const int64_t *match =
                bsearch(&wanted, id, (size_t)kinds, sizeof *id, pgcn_i_compare_i64);
            int64_t g = match - id;
            if (owner[g] != 0 && owner[g] != p + 1)
                return pgcn_i_fail(PGCN_ERR_MISMATCH,
                                   "reading '%s': graph %lld has nodes in %s_graph_id.npy and in "
                                   "%s_graph_id.npy, expected every graph in one part",
                                   directory, (long long)wanted, part_name[owner[g] - 1],
                                   part_name[p]);
            owner[g] = (int8_t)(p + 1);
            graph_of[at++] = (int32_t)g;
        }
    source->graphs = kinds;
    source->graph_of = graph_of;
    return PGCN_OK;
}

static pgcn_status join_edges(const char *directory, const part *parts, pgcn_i_source *source) {
    int64_t links = 0, at = 0, first = 0;
    for (int p = 0; p < PARTS; p++) links += parts[p].links.links;
    pgcn_node *from = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, links);
    pgcn_node *to = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, links);
    if (!from || !to) return PGCN_ERR_MEMORY;
    for (int p = 0; p < PARTS; p++) {
        const pgcn_i_node_link *own = &parts[p].links;
        for (int64_t e = 0; e < own->links; e++, at++) {
            pgcn_node a = ((const pgcn_node *)own->from.data)[e];
            pgcn_node b = ((const pgcn_node *)own->to.data)[e];
            if (parts[p].graph[a] != parts[p].graph[b])
                return pgcn_i_fail(
                    PGCN_ERR_FORMAT,
                    "reading '%s/%s_graph.json': link %lld (from 0) joins nodes %d and "
                    "%d of graphs %lld and %lld, expected one graph",
                    directory, part_name[p], (long long)e, a, b, (long long)parts[p].graph[a],
                    (long long)parts[p].graph[b]);
            from[at] = (pgcn_node)(first + a);
            to[at] = (pgcn_node)(first + b);
        }
        first += parts[p].nodes;
        source->directed |= own->directed;
    }
    source->edges = links;
    source->edge_from = from;
    source->edge_to = to;
    return PGCN_OK;
}

static pgcn_status join_rows(const part *parts, pgcn_i_source *source) {
    int64_t n = source->nodes, features = parts[0].features, classes = parts[0].classes, first = 0;
    uint8_t *mask[3];
    float *x = PGCN_I_ARRAY(&source->arena, float, n *features);
    uint8_t *labels = PGCN_I_ARRAY(&source->arena, uint8_t, n * classes);
    if (!x || !labels) return PGCN_ERR_MEMORY;
    PGCN_TRY(pgcn_i_source_masks(source, source->nodes, mask));
    strcpy(source->split[0].name, "public");
    source->split_origin = "the split of PPI, by graphs";
    for (int p = 0; p < PARTS; p++) {
        int64_t rows = parts[p].nodes;
        memcpy(x + first * features, parts[p].x, (size_t)(rows * features) * sizeof *x);
        memcpy(labels + first * classes, parts[p].label, (size_t)(rows * classes));
        memset(mask[p] + first, 1, (size_t)rows);
        first += rows;
    }
    source->labels = labels;
    source->classes = (int)classes;
    return features > 0 ? pgcn_i_source_features(source, x, source->nodes, features) : PGCN_OK;
}

static pgcn_status join(const char *directory, const part *parts, pgcn_i_arena *scratch,
                        pgcn_i_source *source) {
    for (int p = 0; p < PARTS; p++) {
        source->nodes += parts[p].nodes; /* each has at most 2^31 - 1 */
        if (parts[p].features != parts[0].features || parts[p].classes != parts[0].classes)
            return pgcn_i_fail(PGCN_ERR_MISMATCH,
                               "reading '%s': the %s part has %lld features and %lld labels per "
                               "node, the train part %lld and %lld",
                               directory, part_name[p], (long long)parts[p].features,
                               (long long)parts[p].classes, (long long)parts[0].features,
                               (long long)parts[0].classes);
    }
    if (source->nodes > INT32_MAX || parts[0].classes > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "reading '%s': it has more than %d nodes or labels",
                           directory, INT32_MAX);
    PGCN_TRY(join_edges(directory, parts, source));
    PGCN_TRY(number_graphs(directory, parts, scratch, source));
    return join_rows(parts, source);
}

pgcn_status pgcn_i_dgl_ppi_read(const char *path, const pgcn_i_steps *steps,
                                pgcn_i_source *source) {
    (void)steps;
    pgcn_i_arena scratch = {0};
    part parts[PARTS] = {{0}};
    source->format = "PPI of DGL (JSON and NumPy arrays)";
    pgcn_status status;
    for (int p = 0; p < PARTS; p++) PGCN_TRY_GOTO(read_part(path, p, &scratch, &parts[p]));
    PGCN_TRY_GOTO(join(path, parts, &scratch, source));
fail:
    for (int p = 0; p < PARTS; p++) pgcn_i_node_link_free(&parts[p].links);
    pgcn_i_arena_free(&scratch);
    return status;
}
