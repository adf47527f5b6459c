/* A data set in a folder of .npy files. One graph:
 *
 *   edges.npy            int32 [m, 2]         edges_directed.npy   int32 [m, 2] (for `directed`)
 *   edge_weight.npy      float32 [m]          optional, in the order of edges.npy
 *   x_indptr.npy         int64 [n+1]  } CSR features;   or   x.npy   float32 [n, f] dense ones
 *   x_indices.npy        int32 [nnz]  }
 *   x_data.npy           float32 [nnz]}       info.txt   optional; only "features <f>" is read
 *   y.npy                int32 [n]            -1: no label; or uint8 [n, C]: several labels per node
 *   unlabelled.npy       int32 [u]            optional: nodes whose label is not known
 *   label_known.npy      uint8 [n]            optional: 0 where the label is not known
 *   graph_id.npy         int32 [n]            optional: which of several graphs a node is in
 *   {train,val,test}_mask.npy           uint8 [n]       split "public"
 *   splits/{train,val,test}_masks.npy   uint8 [s, n]    splits "0" .. "s-1"
 *
 * Many graphs with a class each have graph_ptr.npy:
 *
 *   graph_ptr.npy        int64 [G+1]          nodes of graph g: graph_ptr[g] .. graph_ptr[g+1]-1
 *   edges.npy            int32 [m, 2]         ids of all graphs together
 *   y.npy                int32 [G] optional   node_label.npy       int32 [N] optional, codes from 0
 *   node_attr.npy        float32 [N, a]       optional
 *   edge_label.npy       int32 [m] optional   fold.npy   int32 [G] optional: test fold, -1: in none
 *
 * Other types of whole numbers are converted if every number fits, and all numbers to float32.
 * edge_weight.npy and x.npy are ours; the rest is the layout of the published benchmark folders.
 * Only what is special to files is checked here; check.c checks the rest. Thread-safe. */
#include "data/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct folder {
    const char *path;
    pgcn_i_source *source;
    int64_t n;
    const int64_t *graph_begin; /* [graphs+1] of many graphs */
} folder;

static bool has(const folder *from, const char *file) {
    char path[PGCN_I_PATH_BYTES];
    return pgcn_i_path_join(path, from->path, file) == PGCN_OK && pgcn_i_file_exists(path);
}

bool pgcn_i_folder_detect(const char *path) {
    folder from = {.path = path};
    return has(&from, "edges.npy") || has(&from, "y.npy"); /* the reader reports a missing one */
}

/* What an array of the folder must be. */
typedef struct array_rule {
    pgcn_i_dtype dtype;
    int rank;
    int64_t rows; /* -1: any number */
} array_rule;

static pgcn_status read_into(folder *from, pgcn_i_arena *arena, const char *file, array_rule rule,
                             pgcn_i_array *out) {
    char path[PGCN_I_PATH_BYTES];
    PGCN_TRY(pgcn_i_path_join(path, from->path, file));
    bool rounded;
    PGCN_TRY(pgcn_i_npy_read_to(path, arena, rule.dtype, rule.rank, out, &rounded));
    if (rule.rows >= 0 && out->shape[0] != rule.rows)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "reading '%s': it has %lld rows, expected %lld as the other files of "
                           "the folder say",
                           path, (long long)out->shape[0], (long long)rule.rows);
    return pgcn_i_source_note_rounded(from->source, file, rounded);
}

static pgcn_status read_file(folder *from, const char *file, pgcn_i_dtype dtype, int rank,
                             int64_t rows, pgcn_i_array *out) {
    return read_into(from, &from->source->arena, file, (array_rule){dtype, rank, rows}, out);
}

/* An array that may be missing: NULL then. */
static pgcn_status read_optional(folder *from, const char *file, pgcn_i_dtype dtype, int64_t rows,
                                 void *to) {
    pgcn_i_array array = {0};
    if (has(from, file)) PGCN_TRY(read_file(from, file, dtype, 1, rows, &array));
    memcpy(to, &array.data, sizeof array.data);
    return PGCN_OK;
}

/* ---- labels ------------------------------------------------------------------------------ */

static pgcn_status drop_listed_labels(folder *from, int32_t *label) {
    pgcn_i_array other;
    PGCN_TRY(read_file(from, "unlabelled.npy", PGCN_I_I32, 1, -1, &other));
    const int32_t *node = other.data;
    for (int64_t i = 0; i < other.count; i++) {
        if (node[i] < 0 || node[i] >= from->n)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s/unlabelled.npy': record %lld is node %d, expected "
                               "0..%lld",
                               from->path, (long long)i, node[i], (long long)from->n - 1);
        label[node[i]] = -1;
    }
    return PGCN_OK;
}

/* Only the mask itself is checked here when labels are a matrix: check.c does it then. */
static pgcn_status drop_unknown_labels(folder *from, int32_t *label) {
    const uint8_t *known;
    PGCN_TRY(read_optional(from, "label_known.npy", PGCN_I_U8, from->n, &known));
    from->source->label_known = label ? NULL : known;
    for (int64_t i = 0; label && known && i < from->n; i++) {
        if (known[i] > 1)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s/label_known.npy': node %lld has %d, expected 0 or 1",
                               from->path, (long long)i, known[i]);
        if (!known[i]) label[i] = -1;
    }
    return PGCN_OK;
}

static pgcn_status read_labels(folder *from) {
    char path[PGCN_I_PATH_BYTES];
    pgcn_i_array y;
    PGCN_TRY(pgcn_i_path_join(path, from->path, "y.npy"));
    PGCN_TRY(pgcn_i_npy_read(path, &from->source->arena, &y));
    bool whole = y.dtype <= PGCN_I_I64;
    bool several = whole && y.rank == 2 && y.shape[1] <= INT32_MAX;
    bool single = whole && y.rank == 1;
    if ((!several && !single) || y.count == 0) {
        char shape[PGCN_I_SHAPE_TEXT];
        pgcn_i_shape_text(y.dtype, y.rank, y.shape, shape);
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': found an array %s, expected int32 [n] with one label "
                           "per node, or uint8 [n, C] with 0 or 1 for each of C labels, and at "
                           "least one node; convert with a.astype('<i4')",
                           path, shape);
    }
    bool rounded;
    pgcn_i_dtype type = several ? PGCN_I_U8 : PGCN_I_I32;
    PGCN_TRY(pgcn_i_array_convert(path, &from->source->arena, type, &y, &rounded));
    from->source->nodes = from->n = y.shape[0];
    if (several) {
        from->source->labels = y.data;
        from->source->classes = (int)y.shape[1];
        return drop_unknown_labels(from, NULL);
    }
    from->source->label = y.data;
    if (has(from, "unlabelled.npy")) PGCN_TRY(drop_listed_labels(from, y.data));
    return drop_unknown_labels(from, y.data);
}

/* ---- graph ------------------------------------------------------------------------------- */

static pgcn_status read_edges(folder *from, const pgcn_i_steps *steps) {
    pgcn_i_source *source = from->source;
    const char *file = steps->directed ? "edges_directed.npy" : "edges.npy";
    pgcn_i_array edges, weight = {0};
    if (steps->directed && !has(from, file))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set '%s' has no directed edges (edges_directed.npy is missing); "
                           "load it without 'directed'",
                           from->path);
    array_rule pairs = {.dtype = PGCN_I_I32, .rank = 2, .rows = -1};
    PGCN_TRY(read_into(from, &source->edge_arena, file, pairs, &edges));
    int64_t m = edges.shape[0];
    if (edges.shape[1] != 2)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s/%s': an edge has %lld numbers, expected 2 (int32 [m, 2]); "
                           "use a.T if the array is [2, m]",
                           from->path, file, (long long)edges.shape[1]);
    if (has(from, "edge_weight.npy")) {
        if (steps->directed)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "data set '%s': edge_weight.npy belongs to edges.npy, directed "
                               "edges have no weights in this version; load it without 'directed'",
                               from->path);
        array_rule weights = {.dtype = PGCN_I_F32, .rank = 1, .rows = m};
        PGCN_TRY(read_into(from, &source->edge_arena, "edge_weight.npy", weights, &weight));
    }
    pgcn_node *edge_from = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, m);
    pgcn_node *edge_to = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, m);
    if (!edge_from || !edge_to) return PGCN_ERR_MEMORY;
    const int32_t *pair = edges.data;
    for (int64_t e = 0; e < m; e++) {
        edge_from[e] = pair[2 * e];
        edge_to[e] = pair[2 * e + 1];
    }
    source->edges = m;
    source->edge_from = edge_from;
    source->edge_to = edge_to;
    source->edge_weight = weight.data;
    source->edge_file = file;
    source->directed = steps->directed;
    return PGCN_OK;
}

/* ---- features ---------------------------------------------------------------------------- */

/* The "features" line of info.txt, 0 if there is none. CSR files cannot show that the last
 * columns are empty, as they are in texas and cornell (1703 columns, the last one unused). */
static pgcn_status read_column_count(folder *from, int64_t *out) {
    enum { MAX_BYTES = 1 << 16 };
    char path[PGCN_I_PATH_BYTES], *text;
    int64_t bytes;
    *out = 0;
    if (!has(from, "info.txt")) return PGCN_OK;
    PGCN_TRY(pgcn_i_path_join(path, from->path, "info.txt"));
    PGCN_TRY(pgcn_i_file_read(path, MAX_BYTES, &from->source->arena, &text, &bytes));
    static const char key[] = "features ";
    const char *line = text;
    while (line && strncmp(line, key, sizeof key - 1) != 0) {
        line = strchr(line, '\n');
        if (line) line++;
    }
    if (!line) return PGCN_OK;
    char *end;
    long long columns = strtoll(line + sizeof key - 1, &end, 10);
    if ((*end != '\0' && *end != '\n' && *end != '\r') || columns < 1 || columns > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': the line 'features' has '%.20s', expected a number of "
                           "columns from 1 to %d",
                           path, line + sizeof key - 1, INT32_MAX);
    *out = columns;
    return PGCN_OK;
}

static pgcn_status read_sparse(folder *from, pgcn_i_features *x) {
    pgcn_i_array indptr, indices, values;
    PGCN_TRY(read_file(from, "x_indptr.npy", PGCN_I_I64, 1, from->n + 1, &indptr));
    PGCN_TRY(read_file(from, "x_indices.npy", PGCN_I_I32, 1, -1, &indices));
    PGCN_TRY(read_file(from, "x_data.npy", PGCN_I_F32, 1, indices.count, &values));
    x->offset = indptr.data;
    x->column = indices.data;
    x->value = values.data;
    x->nonzeros = indices.count;
    PGCN_TRY(read_column_count(from, &x->columns));
    if (x->columns == 0)
        for (int64_t i = 0; i < x->nonzeros; i++)
            if (x->column[i] >= x->columns) x->columns = (int64_t)x->column[i] + 1;
    return PGCN_OK;
}

static pgcn_status read_features(folder *from, const pgcn_i_steps *steps, pgcn_i_features *x) {
    bool dense = has(from, "x.npy"), sparse = has(from, "x_indptr.npy");
    *x = (pgcn_i_features){.n = from->n};
    if (dense && sparse)
        return pgcn_i_fail(
            PGCN_ERR_FORMAT,
            "data set '%s' has both dense and CSR features, expected them once: x.npy "
            "(dense), or x_indptr.npy, x_indices.npy and x_data.npy (CSR)",
            from->path);
    if (sparse) return read_sparse(from, x);
    bool from_graph = steps->features & (PGCN_I_FEATURES_IDENTITY | PGCN_I_FEATURES_DEGREES |
                                         PGCN_I_FEATURES_ADJACENCY);
    if (!dense && from_graph) return PGCN_OK;
    if (!dense)
        return pgcn_i_fail(
            PGCN_ERR_FORMAT,
            "data set '%s' has no features, expected x.npy (dense), or x_indptr.npy, "
            "x_indices.npy and x_data.npy (CSR); without any, ask for "
            "'features=identity' or 'features=degrees'",
            from->path);
    pgcn_i_array array;
    PGCN_TRY(read_file(from, "x.npy", PGCN_I_F32, 2, from->n, &array));
    x->columns = array.shape[1];
    x->dense = array.data;
    return PGCN_OK;
}

/* ---- splits ------------------------------------------------------------------------------ */

enum { PARTS = 3, MOST_SPLITS = 10000 };
static const char *const public_file[PARTS] = {"train_mask.npy", "val_mask.npy", "test_mask.npy"};
static const char *const split_file[PARTS] = {"splits/train_masks.npy", "splits/val_masks.npy",
                                              "splits/test_masks.npy"};

/* Checks that all three files of a kind exist (*present) or none does. */
static pgcn_status have_masks(const folder *from, const char *const file[PARTS], bool *present) {
    int count = 0;
    const char *missing = NULL;
    for (int k = 0; k < PARTS; k++) {
        if (has(from, file[k]))
            count++;
        else
            missing = file[k];
    }
    if (count != 0 && count != PARTS)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "data set '%s': %s is missing, although other masks of that kind are "
                           "there; add it or remove them",
                           from->path, missing);
    *present = count == PARTS;
    return PGCN_OK;
}

static pgcn_status read_public_split(folder *from) {
    pgcn_i_array one;
    uint8_t *mask[PARTS];
    PGCN_TRY(pgcn_i_source_masks(from->source, from->n, mask));
    snprintf(from->source->split[0].name, sizeof from->source->split[0].name, "public");
    for (int k = 0; k < PARTS; k++) {
        PGCN_TRY(read_file(from, public_file[k], PGCN_I_U8, 1, from->n, &one));
        memcpy(mask[k], one.data, (size_t)from->n);
        pgcn_i_arena_drop(&from->source->arena, one.data);
    }
    return PGCN_OK;
}

static pgcn_status read_numbered_splits(folder *from) {
    pgcn_i_array many[PARTS];
    int64_t splits = 0;
    for (int k = 0; k < PARTS; k++) {
        PGCN_TRY(read_file(from, split_file[k], PGCN_I_U8, 2, k ? splits : -1, &many[k]));
        splits = many[k].shape[0];
        if (many[k].shape[1] != from->n || splits < 1 || splits > MOST_SPLITS)
            return pgcn_i_fail(PGCN_ERR_MISMATCH,
                               "reading '%s/%s': found masks [%lld, %lld], expected 1 to %d "
                               "splits of %lld nodes",
                               from->path, split_file[k], (long long)splits,
                               (long long)many[k].shape[1], MOST_SPLITS, (long long)from->n);
    }
    for (int64_t s = 0; s < splits; s++) {
        uint8_t *mask[PARTS];
        PGCN_TRY(pgcn_i_source_masks(from->source, from->n, mask));
        for (int k = 0; k < PARTS; k++)
            memcpy(mask[k], (const uint8_t *)many[k].data + s * from->n, (size_t)from->n);
    }
    for (int k = 0; k < PARTS; k++) pgcn_i_arena_drop(&from->source->arena, many[k].data);
    return PGCN_OK;
}

static pgcn_status read_splits(folder *from) {
    bool has_public, has_numbered;
    PGCN_TRY(have_masks(from, public_file, &has_public));
    PGCN_TRY(have_masks(from, split_file, &has_numbered));
    if (has_public) PGCN_TRY(read_public_split(from));
    if (has_numbered) PGCN_TRY(read_numbered_splits(from));
    if (has_public || has_numbered) from->source->split_origin = "given with the data";
    pgcn_i_source_unmask(from->source);
    return PGCN_OK;
}

/* ---- many graphs ------------------------------------------------------------------------- */

static pgcn_status read_graph_pointers(folder *from) {
    pgcn_i_source *source = from->source;
    pgcn_i_array pointer;
    PGCN_TRY(read_file(from, "graph_ptr.npy", PGCN_I_I64, 1, -1, &pointer));
    const int64_t *begin = pointer.data;
    source->graphs = pointer.count - 1;
    if (source->graphs < 1 || begin[0] != 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s/graph_ptr.npy': expected int64 [graphs+1] that starts with "
                           "0, for at least one graph",
                           from->path);
    for (int64_t g = 0; g < source->graphs; g++)
        if (begin[g + 1] <= begin[g] || begin[g + 1] > INT32_MAX)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s/graph_ptr.npy': graph %lld has the nodes %lld to %lld, "
                               "expected at least one node in each graph and at most %d in all",
                               from->path, (long long)g, (long long)begin[g],
                               (long long)begin[g + 1] - 1, INT32_MAX);
    source->nodes = from->n = begin[source->graphs];
    from->graph_begin = begin;
    return PGCN_OK;
}

/* Only graph_ptr tells of nodes without label, attribute and edge. A number that no other file
 * confirms must not make us allocate gigabytes. */
static pgcn_status number_graphs(folder *from) {
    enum { ALWAYS_FINE = 1000000 };
    pgcn_i_source *source = from->source;
    int64_t borne_out = 2 * source->edges + source->graphs;
    if (!source->node_label && source->x.columns == 0 && from->n > ALWAYS_FINE &&
        from->n > borne_out)
        return pgcn_i_fail(
            PGCN_ERR_FORMAT,
            "reading '%s/graph_ptr.npy': it says there are %lld nodes, but there are only "
            "%lld edges and neither node_label.npy nor node_attr.npy; add one of them",
            from->path, (long long)from->n, (long long)source->edges);
    int32_t *graph_of = PGCN_I_ARRAY(&source->arena, int32_t, from->n);
    if (!graph_of) return PGCN_ERR_MEMORY;
    for (int64_t g = 0; g < source->graphs; g++)
        for (int64_t i = from->graph_begin[g]; i < from->graph_begin[g + 1]; i++)
            graph_of[i] = (int32_t)g;
    source->graph_of = graph_of;
    return PGCN_OK;
}

/* ---- all of it --------------------------------------------------------------------------- */

static pgcn_status read_many_graphs(folder *from, const pgcn_i_steps *steps) {
    pgcn_i_source *source = from->source;
    pgcn_i_array array;
    source->format = "folder of NumPy arrays, many graphs";
    PGCN_TRY(read_graph_pointers(from));
    PGCN_TRY(read_optional(from, "y.npy", PGCN_I_I32, source->graphs, &source->graph_label));
    PGCN_TRY(read_edges(from, steps));
    PGCN_TRY(read_optional(from, "node_label.npy", PGCN_I_I32, from->n, &source->node_label));
    PGCN_TRY(read_optional(from, "edge_label.npy", PGCN_I_I32, source->edges, &source->edge_label));
    PGCN_TRY(read_optional(from, "fold.npy", PGCN_I_I32, source->graphs, &source->fold));
    if (has(from, "node_attr.npy")) {
        PGCN_TRY(read_file(from, "node_attr.npy", PGCN_I_F32, 2, from->n, &array));
        source->x = (pgcn_i_features){.n = from->n, .columns = array.shape[1], .dense = array.data};
    }
    return number_graphs(from);
}

static pgcn_status read_one_graph(folder *from, const pgcn_i_steps *steps) {
    pgcn_i_source *source = from->source;
    source->format = "folder of NumPy arrays";
    PGCN_TRY(read_labels(from));
    PGCN_TRY(read_features(from, steps, &source->x));
    PGCN_TRY(read_splits(from));
    PGCN_TRY(read_edges(from, steps));
    PGCN_TRY(read_optional(from, "graph_id.npy", PGCN_I_I32, from->n, &source->graph_of));
    for (int64_t i = 0; source->graph_of && i < from->n; i++)
        if (source->graph_of[i] >= source->graphs) source->graphs = source->graph_of[i] + 1;
    return PGCN_OK;
}

pgcn_status pgcn_i_folder_read(const char *path, const pgcn_i_steps *steps, pgcn_i_source *source) {
    folder from = {.path = path, .source = source};
    return has(&from, "graph_ptr.npy") ? read_many_graphs(&from, steps)
                                       : read_one_graph(&from, steps);
}
