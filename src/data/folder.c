/* A data set in a folder of .npy files:
 *
 *   edges.npy            int32 [m, 2]         edges_directed.npy   int32 [m, 2] (for `directed`)
 *   edge_weight.npy      float32 [m]          optional, in the order of edges.npy
 *   x_indptr.npy         int64 [n+1]  } CSR features;   or   x.npy   float32 [n, f] dense ones
 *   x_indices.npy        int32 [nnz]  }
 *   x_data.npy           float32 [nnz]}       info.txt   optional; only "features <f>" is read
 *   y.npy                int32 [n]            -1: no label
 *   unlabelled.npy       int32 [u]            optional: nodes whose label is not known
 *   label_known.npy      uint8 [n]            optional: 0 where the label is not known
 *   {train,val,test}_mask.npy           uint8 [n]       split "public"
 *   splits/{train,val,test}_masks.npy   uint8 [s, n]    splits "0" .. "s-1"
 *
 * edge_weight.npy and x.npy are ours; the rest is the layout of the published benchmark folders.
 * Only what is special to files is checked here; dataset.c checks the rest. Thread-safe. */
#include "data/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct folder {
    const char *path;
    pgcn_i_arena arena; /* everything read, until dataset.c has copied it */
    int64_t n;
} folder;

static bool has(const folder *from, const char *file) {
    char path[PGCN_I_PATH_BYTES];
    return pgcn_i_path_join(path, from->path, file) == PGCN_OK && pgcn_i_file_exists(path);
}

bool pgcn_i_folder_is_dataset(const char *directory) {
    folder from = {.path = directory};
    return has(&from, "edges.npy") && !has(&from, "graph_ptr.npy");
}

/* Reads one array, and requires `rows` of them if rows >= 0. */
static pgcn_status read_file(folder *from, const char *file, pgcn_i_dtype dtype, int rank,
                             int64_t rows, pgcn_i_array *out) {
    char path[PGCN_I_PATH_BYTES];
    PGCN_TRY(pgcn_i_path_join(path, from->path, file));
    PGCN_TRY(pgcn_i_npy_read_as(path, &from->arena, dtype, rank, out));
    if (rows >= 0 && out->shape[0] != rows)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "reading '%s': it has %lld rows, expected %lld as the other files of "
                           "the folder say",
                           path, (long long)out->shape[0], (long long)rows);
    return PGCN_OK;
}

/* ---- labels ------------------------------------------------------------------------------ */

static pgcn_status read_labels(folder *from, const int32_t **out) {
    char path[PGCN_I_PATH_BYTES];
    pgcn_i_array y, other;
    PGCN_TRY(pgcn_i_path_join(path, from->path, "y.npy"));
    PGCN_TRY(pgcn_i_npy_read(path, &from->arena, &y));
    if (y.rank == 2)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it has %lld label columns per node; multi-label data "
                           "sets are not supported by this version",
                           path, (long long)y.shape[1]);
    if (y.dtype != PGCN_I_I32 || y.rank != 1 || y.count == 0) {
        char shape[PGCN_I_SHAPE_TEXT];
        pgcn_i_shape_text(y.dtype, y.rank, y.shape, shape);
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': found an array %s, expected int32 [n] with one label "
                           "per node and at least one node; convert with a.astype('<i4')",
                           path, shape);
    }
    from->n = y.count;
    int32_t *label = y.data;
    if (has(from, "unlabelled.npy")) {
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
    }
    if (has(from, "label_known.npy")) {
        PGCN_TRY(read_file(from, "label_known.npy", PGCN_I_U8, 1, from->n, &other));
        const uint8_t *known = other.data;
        for (int64_t i = 0; i < from->n; i++) {
            if (known[i] > 1)
                return pgcn_i_fail(PGCN_ERR_FORMAT,
                                   "reading '%s/label_known.npy': node %lld has %d, expected 0 or "
                                   "1",
                                   from->path, (long long)i, known[i]);
            if (!known[i]) label[i] = -1;
        }
    }
    *out = label;
    return PGCN_OK;
}

/* ---- graph ------------------------------------------------------------------------------- */

static pgcn_status read_edges(folder *from, const pgcn_dataset_opts *opts, pgcn_graph **out) {
    const char *file = opts->directed ? "edges_directed.npy" : "edges.npy";
    pgcn_i_array edges, weight = {0};
    if (opts->directed && !has(from, file))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set '%s' has no directed edges (edges_directed.npy is missing); "
                           "load it without 'directed'",
                           from->path);
    PGCN_TRY(read_file(from, file, PGCN_I_I32, 2, -1, &edges));
    int64_t m = edges.shape[0];
    if (edges.shape[1] != 2)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s/%s': an edge has %lld numbers, expected 2 (int32 [m, 2]); "
                           "use a.T if the array is [2, m]",
                           from->path, file, (long long)edges.shape[1]);
    if (has(from, "edge_weight.npy")) {
        if (opts->directed)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "data set '%s': edge_weight.npy belongs to edges.npy, directed "
                               "edges have no weights in this version; load it without 'directed'",
                               from->path);
        PGCN_TRY(read_file(from, "edge_weight.npy", PGCN_I_F32, 1, m, &weight));
    }
    pgcn_node *source = PGCN_I_ARRAY(&from->arena, pgcn_node, m);
    pgcn_node *target = PGCN_I_ARRAY(&from->arena, pgcn_node, m);
    if (!source || !target) return PGCN_ERR_MEMORY;
    const int32_t *pair = edges.data;
    for (int64_t e = 0; e < m; e++) {
        source[e] = pair[2 * e];
        target[e] = pair[2 * e + 1];
    }
    pgcn_graph_opts graph_opts = pgcn_graph_opts_default();
    graph_opts.directed = opts->directed;
    graph_opts.keep_self_loops = opts->keep_self_loops;
    pgcn_status status =
        pgcn_graph_from_edges(from->n, m, source, target, weight.data, &graph_opts, out);
    if (status != PGCN_OK) return pgcn_i_fail_in(status, "reading '%s/%s'", from->path, file);
    return PGCN_OK;
}

/* The edge arrays are the largest of a big folder: they go before anything else is made. */
static pgcn_status read_graph(const folder *from, const pgcn_dataset_opts *opts, pgcn_graph **out) {
    folder edges_only = {.path = from->path, .n = from->n};
    pgcn_status status = read_edges(&edges_only, opts, out);
    pgcn_i_arena_free(&edges_only.arena);
    return status;
}

/* ---- features ---------------------------------------------------------------------------- */

/* The "features" line of info.txt, 0 if there is none. CSR files cannot show that the last
 * columns are empty, as they are in texas and cornell (1703 columns, the last one unused). */
static pgcn_status read_columns_told(folder *from, int64_t *out) {
    enum { MAX_BYTES = 1 << 16 };
    char path[PGCN_I_PATH_BYTES], *text;
    int64_t bytes;
    *out = 0;
    if (!has(from, "info.txt")) return PGCN_OK;
    PGCN_TRY(pgcn_i_path_join(path, from->path, "info.txt"));
    PGCN_TRY(pgcn_i_file_read(path, MAX_BYTES, &from->arena, &text, &bytes));
    static const char key[] = "features ";
    const char *line = text;
    while (line && strncmp(line, key, sizeof key - 1) != 0) {
        line = strchr(line, '\n');
        if (line) line++;
    }
    if (!line) return PGCN_OK;
    char *end;
    long long told = strtoll(line + sizeof key - 1, &end, 10);
    if ((*end != '\0' && *end != '\n' && *end != '\r') || told < 1 || told > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': the line 'features' has '%.20s', expected a number of "
                           "columns from 1 to %d",
                           path, line + sizeof key - 1, INT32_MAX);
    *out = told;
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
    PGCN_TRY(read_columns_told(from, &x->columns));
    if (x->columns == 0)
        for (int64_t i = 0; i < x->nonzeros; i++)
            if (x->column[i] >= x->columns) x->columns = (int64_t)x->column[i] + 1;
    return PGCN_OK;
}

static pgcn_status read_features(folder *from, pgcn_i_features *x) {
    bool dense = has(from, "x.npy"), sparse = has(from, "x_indptr.npy");
    *x = (pgcn_i_features){.n = from->n};
    if (dense == sparse)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "data set '%s' has %s, expected features once: x.npy (dense), or "
                           "x_indptr.npy, x_indices.npy and x_data.npy (CSR)",
                           from->path, dense ? "both dense and CSR features" : "no features");
    if (sparse) return read_sparse(from, x);
    pgcn_i_array array;
    PGCN_TRY(read_file(from, "x.npy", PGCN_I_F32, 2, from->n, &array));
    x->columns = array.shape[1];
    x->dense = array.data;
    return PGCN_OK;
}

/* ---- splits ------------------------------------------------------------------------------ */

enum { PARTS = 3 };
static const char *const public_file[PARTS] = {"train_mask.npy", "val_mask.npy", "test_mask.npy"};
static const char *const split_file[PARTS] = {"splits/train_masks.npy", "splits/val_masks.npy",
                                              "splits/test_masks.npy"};

/* All three files of a kind are there (*present), or none; otherwise an error. */
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

/* The Geom-GCN masks of citeseer hold its 15 nodes without features and label (140 times over the
 * ten splits). Nothing can be learnt or scored there, so they leave the masks. */
static void drop_unlabelled(uint8_t *mask, int64_t n, const int32_t *label) {
    for (int64_t i = 0; i < n; i++)
        if (label[i] == -1 && mask[i] == 1) mask[i] = 0;
}

static pgcn_status read_splits(folder *from, const int32_t *label, const pgcn_i_split **out,
                               int *count) {
    bool has_public, has_numbered;
    pgcn_i_array one[PARTS], many[PARTS];
    int64_t numbered = 0, n = from->n;
    PGCN_TRY(have_masks(from, public_file, &has_public));
    PGCN_TRY(have_masks(from, split_file, &has_numbered));
    if (!has_public && !has_numbered)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "data set '%s' has no split: neither train_mask.npy, val_mask.npy and "
                           "test_mask.npy (uint8 [n]) nor splits/train_masks.npy, val_masks.npy "
                           "and test_masks.npy (uint8 [splits, n]); add one of them",
                           from->path);
    for (int k = 0; k < PARTS; k++) {
        if (has_public) PGCN_TRY(read_file(from, public_file[k], PGCN_I_U8, 1, n, &one[k]));
        if (!has_numbered) continue;
        PGCN_TRY(read_file(from, split_file[k], PGCN_I_U8, 2, k ? numbered : -1, &many[k]));
        numbered = many[k].shape[0];
        if (many[k].shape[1] != n || numbered < 1 || numbered > 10000)
            return pgcn_i_fail(PGCN_ERR_MISMATCH,
                               "reading '%s/%s': found masks [%lld, %lld], expected 1 to 10000 "
                               "splits of %lld nodes",
                               from->path, split_file[k], (long long)numbered,
                               (long long)many[k].shape[1], (long long)n);
    }
    *count = (int)numbered + has_public;
    pgcn_i_split *split = PGCN_I_ARRAY(&from->arena, pgcn_i_split, *count);
    if (!split) return PGCN_ERR_MEMORY;
    for (int s = 0; s < *count; s++) {
        int number = s - has_public; /* -1: the public one, which is the first */
        uint8_t *mask[PARTS];
        for (int k = 0; k < PARTS; k++) {
            mask[k] = number < 0 ? one[k].data : (uint8_t *)many[k].data + number * n;
            drop_unlabelled(mask[k], n, label);
        }
        if (number < 0)
            snprintf(split[s].name, sizeof split[s].name, "public");
        else
            snprintf(split[s].name, sizeof split[s].name, "%d", number);
        split[s].train = mask[0];
        split[s].val = mask[1];
        split[s].test = mask[2];
    }
    *out = split;
    return PGCN_OK;
}

/* ---- the whole --------------------------------------------------------------------------- */

pgcn_status pgcn_i_folder_load(const char *directory, const char *name,
                               const pgcn_dataset_opts *opts, pgcn_dataset **out) {
    pgcn_status status;
    folder from = {.path = directory};
    pgcn_i_dataset_parts parts = {.name = name, .where = directory};
    if (has(&from, "graph_ptr.npy"))
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "data set '%s' holds many graphs (graph_ptr.npy); graph classification "
                           "data sets are not supported by this version",
                           directory);
    PGCN_TRY_GOTO(read_labels(&from, &parts.label));
    PGCN_TRY_GOTO(read_features(&from, &parts.x));
    PGCN_TRY_GOTO(read_splits(&from, parts.label, &parts.split, &parts.splits));
    PGCN_TRY_GOTO(read_graph(&from, opts, &parts.graph));
    status = pgcn_i_dataset_build(&parts, out);
fail:
    pgcn_i_arena_free(&from.arena);
    return status;
}
