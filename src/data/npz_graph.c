/* A graph in one .npz file, or in a folder that holds exactly one. Three layouts, distinguished by the
 * names of their arrays:
 *
 *   gnn-benchmark (Shchur et al. 2018): adj_data, adj_indices, adj_indptr, adj_shape: CSR of arcs;
 *     attr_data, attr_indices, attr_indptr, attr_shape: CSR of features, or attr_matrix [n, f];
 *     labels [n]. Newer files call the matrices adj_matrix.data, attr_matrix.data, ...
 *   heterophilous-graphs (Platonov et al. 2023): edges [m, 2], node_features [n, f], node_labels
 *     [n], train_masks, val_masks, test_masks [s, n]; directed if its name says "_directed"
 *   ours (save_npz.c): pathgcn = 1 or 2, edges [m, 2], x or x_indptr .., y or labels, ..
 *
 * Ids, labels and features may be of any whole or floating type of io.h. Arrays that are not listed
 * (names as Python objects) are not touched. Called through formats.c. Serial, thread-safe. */
#include "data/data.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the file ---------------------------------------------------------------------------- */

/* The only .npz of a folder; false if there is none or more than one. */
static bool find_in_folder(const char *directory, char path[PGCN_I_PATH_BYTES]) {
    DIR *stream = opendir(directory);
    int found = 0;
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        if (!pgcn_i_ends_with(entry->d_name, ".npz")) continue;
        if (pgcn_i_path_join(path, directory, entry->d_name) == PGCN_OK) found++;
    }
    if (stream) closedir(stream);
    return found == 1;
}

static bool find_file(const char *path, char file[PGCN_I_PATH_BYTES]) {
    if (pgcn_i_is_directory(path)) return find_in_folder(path, file);
    return pgcn_i_ends_with(path, ".npz") && pgcn_i_file_exists(path) &&
           snprintf(file, PGCN_I_PATH_BYTES, "%s", path) < PGCN_I_PATH_BYTES;
}

bool pgcn_i_npz_graph_detect(const char *path) {
    char file[PGCN_I_PATH_BYTES];
    return find_file(path, file);
}

/* ---- arrays of the type we need ---------------------------------------------------------- */

typedef struct archive {
    pgcn_i_npz *npz;
    const char *path;
    pgcn_i_source *source;
    pgcn_i_arena scratch; /* memory that is freed after reading */
} archive;

static pgcn_status wrong_array(const archive *from, const char *name, const pgcn_i_array *found,
                               const char *expected) {
    char shape[PGCN_I_SHAPE_TEXT];
    pgcn_i_shape_text(found->dtype, found->rank, found->shape, shape);
    return pgcn_i_fail(PGCN_ERR_FORMAT, "reading '%s:%s.npy': found an array %s, expected %s",
                       from->path, name, shape, expected);
}

/* The shape an array must have. ANY: every length is fine. */
typedef struct shape {
    int rank;
    int64_t length[2];
} shape;
enum { ANY = -1 };

static shape scalar(void) {
    return (shape){0, {ANY, ANY}};
}
static shape vector(int64_t rows) {
    return (shape){1, {rows, ANY}};
}
static shape matrix(int64_t rows, int64_t columns) {
    return (shape){2, {rows, columns}};
}

/* A matrix needs at least one column. */
static pgcn_status read_shape(archive *from, const char *name, pgcn_i_arena *arena, shape required,
                              pgcn_i_array *out) {
    PGCN_TRY(pgcn_i_npz_read(from->npz, name, arena, out));
    bool fits = out->rank == required.rank && (required.rank < 2 || out->shape[1] > 0);
    for (int k = 0; fits && k < required.rank; k++)
        fits = required.length[k] == ANY || out->shape[k] == required.length[k];
    if (fits) return PGCN_OK;
    char expected[120], text[2][24] = {"n", "f"};
    for (int k = 0; k < 2; k++)
        if (required.length[k] != ANY)
            snprintf(text[k], sizeof text[k], "%lld", (long long)required.length[k]);
    snprintf(expected, sizeof expected, "one of the shape [%s%s%s]",
             required.rank > 0 ? text[0] : "", required.rank > 1 ? ", " : "",
             required.rank > 1 ? text[1] : "");
    return wrong_array(from, name, out, expected);
}

/* Whole numbers as int64, in scratch. */
static pgcn_status read_integers(archive *from, const char *name, shape required,
                                 const int64_t **out, int64_t *count) {
    pgcn_i_array array;
    PGCN_TRY(read_shape(from, name, &from->scratch, required, &array));
    *count = array.count;
    if (array.dtype == PGCN_I_I64) {
        *out = array.data;
        return PGCN_OK;
    }
    if (array.dtype != PGCN_I_I32 && array.dtype != PGCN_I_U8)
        return wrong_array(from, name, &array, "whole numbers; convert with a.astype('<i8')");
    int64_t *wide = PGCN_I_ARRAY(&from->scratch, int64_t, array.count);
    if (!wide) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < array.count; i++)
        wide[i] = array.dtype == PGCN_I_I32 ? ((const int32_t *)array.data)[i]
                                            : ((const uint8_t *)array.data)[i];
    *out = wide;
    return PGCN_OK;
}

/* Numbers as float32, in `arena`. */
static pgcn_status read_floats(archive *from, const char *name, pgcn_i_arena *arena, shape required,
                               pgcn_i_array *out) {
    PGCN_TRY(read_shape(from, name, arena, required, out));
    return pgcn_i_array_to_f32(arena, out);
}

/* An array of our own files, which must have this type. NULL if there is none. */
static pgcn_status read_own(archive *from, const char *name, pgcn_i_dtype dtype, int64_t rows,
                            int64_t columns, void *out) {
    pgcn_i_array array;
    if (!pgcn_i_npz_has(from->npz, name)) return PGCN_OK;
    shape required = columns == ANY ? vector(rows) : matrix(rows, columns);
    PGCN_TRY(read_shape(from, name, &from->source->arena, required, &array));
    if (array.dtype != dtype)
        return wrong_array(from, name, &array, "the type that pathgcn writes; convert again");
    memcpy(out, &array.data, sizeof array.data);
    return PGCN_OK;
}

/* ---- graph, labels, masks ---------------------------------------------------------------- */

static pgcn_status bad_node(const archive *from, const char *name, int64_t record, int64_t node) {
    return pgcn_i_fail(
        PGCN_ERR_FORMAT, "reading '%s:%s.npy': record %lld is node %lld, expected 0..%lld",
        from->path, name, (long long)record, (long long)node, (long long)from->source->nodes - 1);
}

/* Allocates m edges in the source. */
static pgcn_status make_edges(pgcn_i_source *source, int64_t m, pgcn_node **a, pgcn_node **b) {
    *a = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, m);
    *b = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, m);
    if (!*a || !*b) return PGCN_ERR_MEMORY;
    source->edge_from = *a;
    source->edge_to = *b;
    source->edges = m;
    return PGCN_OK;
}

/* edges [m, 2] */
static pgcn_status read_pairs(archive *from) {
    pgcn_i_source *source = from->source;
    const int64_t *pair = NULL;
    int64_t count = 0;
    pgcn_node *a, *b;
    PGCN_TRY(read_integers(from, "edges", matrix(ANY, 2), &pair, &count));
    PGCN_TRY(make_edges(source, count / 2, &a, &b));
    for (int64_t i = 0; i < count; i++) {
        if (pair[i] < 0 || pair[i] >= source->nodes) return bad_node(from, "edges", i / 2, pair[i]);
        (i % 2 == 0 ? a : b)[i / 2] = (pgcn_node)pair[i];
    }
    return PGCN_OK;
}

static pgcn_status set_nodes(const archive *from, int64_t nodes) {
    from->source->nodes = nodes;
    if (nodes >= 1 && nodes <= INT32_MAX) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_FORMAT, "reading '%s': it has %lld nodes, expected 1 to %d",
                       from->path, (long long)nodes, INT32_MAX);
}

/* Labels of any codes; sets the number of nodes if it is not known yet. -1: no label. */
static pgcn_status read_classes(archive *from, const char *name) {
    pgcn_i_source *source = from->source;
    const int64_t *code = NULL;
    int64_t count = 0;
    shape required = vector(source->nodes > 0 ? source->nodes : ANY);
    PGCN_TRY(read_integers(from, name, required, &code, &count));
    PGCN_TRY(set_nodes(from, count));
    pgcn_i_class_codes codes = {.code = code, .count = count, .missing = -1};
    return pgcn_i_source_number_classes(source, codes, &source->label, &source->classes,
                                        &source->class_name);
}

/* train_masks, val_masks, test_masks [s, items], named by their numbers. */
static pgcn_status read_masks(archive *from) {
    enum { MOST_SPLITS = 100000 };
    static const char *const name[3] = {"train_masks", "val_masks", "test_masks"};
    int64_t items = pgcn_i_source_items(from->source), splits = ANY;
    const uint8_t *mask[3];
    if (!pgcn_i_npz_has(from->npz, name[0])) return PGCN_OK;
    for (int k = 0; k < 3; k++) {
        pgcn_i_array array;
        PGCN_TRY(read_shape(from, name[k], &from->source->arena, matrix(splits, items), &array));
        splits = array.shape[0];
        mask[k] = array.data;
        if (array.dtype != PGCN_I_U8 || splits > MOST_SPLITS)
            return wrong_array(from, name[k], &array, "bool or uint8, at most 100000 splits");
    }
    pgcn_i_split *split = PGCN_I_ARRAY(&from->source->arena, pgcn_i_split, splits);
    if (!split) return PGCN_ERR_MEMORY;
    for (int64_t s = 0; s < splits; s++) {
        snprintf(split[s].name, sizeof split[s].name, "%d", (int)s);
        split[s].train = mask[0] + s * items;
        split[s].val = mask[1] + s * items;
        split[s].test = mask[2] + s * items;
    }
    from->source->split = split;
    from->source->splits = (int)splits;
    return PGCN_OK;
}

/* ---- gnn-benchmark ----------------------------------------------------------------------- */

typedef struct csr_names {
    char data[40], indices[40], indptr[40], shape[40];
} csr_names;

/* "adj_" and "adj_matrix." are both in use; false if the archive has neither. */
static bool find_csr(const archive *from, const char *matrix, csr_names *names) {
    static const char *const separator[] = {"_", "_matrix."};
    for (int i = 0; i < 2; i++) {
        snprintf(names->data, sizeof names->data, "%s%sdata", matrix, separator[i]);
        snprintf(names->indices, sizeof names->indices, "%s%sindices", matrix, separator[i]);
        snprintf(names->indptr, sizeof names->indptr, "%s%sindptr", matrix, separator[i]);
        snprintf(names->shape, sizeof names->shape, "%s%sshape", matrix, separator[i]);
        if (pgcn_i_npz_has(from->npz, names->data)) return true;
    }
    return false;
}

typedef struct csr {
    int64_t rows, columns, entries;
    const int64_t *offset, *index; /* checked */
    pgcn_i_array value;            /* float32 */
} csr;

static pgcn_status read_csr(archive *from, const csr_names *names, csr *out) {
    const int64_t *size = NULL;
    int64_t count = 0;
    PGCN_TRY(read_integers(from, names->shape, vector(2), &size, &count));
    out->rows = size[0];
    out->columns = size[1];
    if (out->rows < 1 || out->rows > INT32_MAX || out->columns < 1 || out->columns > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s:%s.npy': the matrix is [%lld, %lld], expected 1 to %d rows "
                           "and columns",
                           from->path, names->shape, (long long)out->rows, (long long)out->columns,
                           INT32_MAX);
    PGCN_TRY(read_integers(from, names->indptr, vector(out->rows + 1), &out->offset, &count));
    PGCN_TRY(read_integers(from, names->indices, vector(ANY), &out->index, &out->entries));
    PGCN_TRY(read_floats(from, names->data, &from->scratch, vector(out->entries), &out->value));
    bool ascends = out->offset[0] == 0 && out->offset[out->rows] == out->entries;
    for (int64_t i = 0; ascends && i < out->rows; i++)
        ascends = out->offset[i + 1] >= out->offset[i];
    if (!ascends)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s:%s.npy': the row offsets do not ascend from 0 to %lld, the "
                           "number of entries",
                           from->path, names->indptr, (long long)out->entries);
    for (int64_t e = 0; e < out->entries; e++)
        if (out->index[e] < 0 || out->index[e] >= out->columns)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s:%s.npy': entry %lld is in column %lld, expected "
                               "0..%lld",
                               from->path, names->indices, (long long)e, (long long)out->index[e],
                               (long long)out->columns - 1);
    return PGCN_OK;
}

/* Arcs in the order of the rows. Entries of zero are no arcs, and if all weights are 1 the graph
 * has none. */
static pgcn_status keep_adjacency(archive *from, const csr *adjacency) {
    pgcn_i_source *source = from->source;
    const float *value = adjacency->value.data;
    int64_t arcs = 0, ones = 0, at = 0;
    for (int64_t e = 0; e < adjacency->entries; e++) {
        arcs += value[e] != 0;
        ones += value[e] == 1;
    }
    pgcn_node *a, *b;
    PGCN_TRY(make_edges(source, arcs, &a, &b));
    float *weight = NULL;
    if (ones != arcs && !(weight = PGCN_I_ARRAY(&source->edge_arena, float, arcs)))
        return PGCN_ERR_MEMORY;
    for (int64_t row = 0; row < adjacency->rows; row++)
        for (int64_t e = adjacency->offset[row]; e < adjacency->offset[row + 1]; e++) {
            if (value[e] == 0) continue;
            a[at] = (pgcn_node)row;
            b[at] = (pgcn_node)adjacency->index[e];
            if (weight) weight[at] = value[e];
            at++;
        }
    source->edge_weight = weight;
    source->directed = true;
    return PGCN_OK;
}

/* SciPy does not promise ascending columns; check.c demands them. */
static pgcn_status keep_features(archive *from, const csr *given) {
    pgcn_i_arena *arena = &from->source->arena;
    int64_t *offset = PGCN_I_ARRAY(arena, int64_t, given->rows + 1);
    int32_t *column = PGCN_I_ARRAY(arena, int32_t, given->entries);
    float *value = PGCN_I_ARRAY(arena, float, given->entries);
    pgcn_i_entry *row = PGCN_I_ARRAY(&from->scratch, pgcn_i_entry, given->entries);
    if (!offset || !column || !value || !row) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < given->rows; i++) {
        int64_t begin = given->offset[i], end = given->offset[i + 1];
        for (int64_t e = begin; e < end; e++)
            row[e] =
                (pgcn_i_entry){(int32_t)given->index[e], ((const float *)given->value.data)[e]};
        pgcn_i_sort_row(row + begin, end - begin);
        for (int64_t e = begin; e < end; e++) {
            column[e] = row[e].column;
            value[e] = row[e].value;
        }
        offset[i + 1] = end;
    }
    from->source->x = (pgcn_i_features){.n = given->rows,
                                        .columns = given->columns,
                                        .nonzeros = given->entries,
                                        .offset = offset,
                                        .column = column,
                                        .value = value};
    return PGCN_OK;
}

static pgcn_status read_dense(archive *from, const char *name) {
    pgcn_i_array dense;
    pgcn_i_source *source = from->source;
    PGCN_TRY(read_floats(from, name, &source->arena, matrix(source->nodes, ANY), &dense));
    return pgcn_i_source_features(source, dense.data, source->nodes, dense.shape[1]);
}

static pgcn_status read_benchmark(archive *from, const csr_names *adjacency_names) {
    csr adjacency, attributes;
    csr_names names;
    from->source->format = ".npz of gnn-benchmark";
    PGCN_TRY(read_csr(from, adjacency_names, &adjacency));
    if (adjacency.rows != adjacency.columns)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s:%s.npy': the adjacency is [%lld, %lld], expected as many "
                           "rows as columns",
                           from->path, adjacency_names->shape, (long long)adjacency.rows,
                           (long long)adjacency.columns);
    PGCN_TRY(set_nodes(from, adjacency.rows));
    PGCN_TRY(keep_adjacency(from, &adjacency));
    if (pgcn_i_npz_has(from->npz, "labels")) PGCN_TRY(read_classes(from, "labels"));
    if (pgcn_i_npz_has(from->npz, "attr_matrix")) return read_dense(from, "attr_matrix");
    if (!find_csr(from, "attr", &names)) return PGCN_OK;
    PGCN_TRY(read_csr(from, &names, &attributes));
    if (attributes.rows != adjacency.rows)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "reading '%s': it has features of %lld nodes, but a graph of %lld",
                           from->path, (long long)attributes.rows, (long long)adjacency.rows);
    return keep_features(from, &attributes);
}

/* ---- heterophilous-graphs ---------------------------------------------------------------- */

static pgcn_status read_heterophilous(archive *from) {
    from->source->format = ".npz of heterophilous-graphs";
    PGCN_TRY(read_classes(from, "node_labels"));
    PGCN_TRY(read_dense(from, "node_features"));
    PGCN_TRY(read_pairs(from));
    PGCN_TRY(read_masks(from));
    pgcn_i_source_unmask(from->source);
    from->source->directed = strstr(pgcn_i_file_name(from->path), "_directed") != NULL;
    if (from->source->splits > 0) from->source->split_origin = "splits of the file";
    return PGCN_OK;
}

/* ---- ours -------------------------------------------------------------------------------- */

static pgcn_status read_number(archive *from, const char *name, int64_t most, int64_t *out) {
    const int64_t *value = NULL;
    int64_t count = 0;
    PGCN_TRY(read_integers(from, name, scalar(), &value, &count));
    *out = *value;
    if (*out >= 0 && *out <= most) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s:%s.npy': found %lld, expected 0 to %lld; convert the source "
                       "again",
                       from->path, name, (long long)*out, (long long)most);
}

/* Writes one character as UTF-8, or as the byte it represents (save_npz.c). Returns its length, 0
 * if it is not valid. */
static int put_character(uint32_t code, char out[4]) {
    if (code >= 0xdc80 && code <= 0xdcff) {
        out[0] = (char)(code - 0xdc00);
        return 1;
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[4] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(first[more] | code >> (6 * more));
    for (int i = 1; i <= more; i++) out[i] = (char)(0x80 | (code >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

/* Appends one string of `width` characters and a NUL to the buffer. */
static pgcn_status put_string(const archive *from, const char *name, const uint32_t *text,
                              int64_t width, pgcn_i_buffer *to) {
    while (width > 0 && text[width - 1] == 0) width--;
    char *start = pgcn_i_buffer_add(to, 4 * width + 1), *at = start;
    if (!start) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < width; i++) {
        int length = put_character(text[i], at);
        if (length == 0)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s:%s.npy': character U+%X cannot be part of a name",
                               from->path, name, text[i]);
        at += length;
    }
    *at++ = '\0';
    to->bytes -= 4 * width + 1 - (at - start);
    return PGCN_OK;
}

static pgcn_status fill_names(archive *from, const char *name, const pgcn_i_array *array,
                              pgcn_i_buffer *text, pgcn_i_names *out) {
    int64_t count = array->shape[0], width = array->shape[1];
    int64_t *offset = PGCN_I_ARRAY(&from->source->arena, int64_t, count + 1);
    if (!offset) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) {
        PGCN_TRY(put_string(from, name, (const uint32_t *)array->data + i * width, width, text));
        offset[i + 1] = text->bytes;
    }
    const char *taken = pgcn_i_arena_take(&from->source->arena, text);
    if (!taken) return PGCN_ERR_MEMORY;
    *out = (pgcn_i_names){count, offset, taken};
    return PGCN_OK;
}

static pgcn_status read_names(archive *from, const char *name, pgcn_i_names *out) {
    pgcn_i_array array;
    pgcn_i_buffer text = {0};
    if (!pgcn_i_npz_has(from->npz, name)) return PGCN_OK;
    PGCN_TRY(pgcn_i_npz_read_text(from->npz, name, &from->scratch, &array));
    if (array.rank != 2 || array.shape[0] < 1)
        return wrong_array(from, name, &array, "a list of strings");
    pgcn_status status = fill_names(from, name, &array, &text, out);
    pgcn_i_buffer_free(&text);
    return status;
}

static pgcn_status read_own_name(archive *from) {
    pgcn_i_array array;
    pgcn_i_buffer text = {0};
    PGCN_TRY(pgcn_i_npz_read_text(from->npz, "name", &from->scratch, &array));
    if (array.rank != 1) return wrong_array(from, "name", &array, "one string");
    pgcn_status status = put_string(from, "name", array.data, array.shape[0], &text);
    if (status == PGCN_OK) {
        from->source->own_name = pgcn_i_arena_take(&from->source->arena, &text);
        if (!from->source->own_name) status = PGCN_ERR_MEMORY;
    }
    pgcn_i_buffer_free(&text);
    return status;
}

/* Nodes of graph g are graph_ptr[g] .. graph_ptr[g + 1] - 1. */
static pgcn_status read_graph_ptr(archive *from) {
    pgcn_i_source *source = from->source;
    const int64_t *ptr = NULL;
    int64_t count = 0;
    PGCN_TRY(read_integers(from, "graph_ptr", vector(ANY), &ptr, &count));
    bool fits = count >= 2 && ptr[0] == 0 && ptr[count - 1] == source->nodes;
    for (int64_t g = 0; fits && g + 1 < count; g++) fits = ptr[g + 1] >= ptr[g];
    if (!fits)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s:graph_ptr.npy': it does not ascend from 0 to %lld, the "
                           "number of nodes",
                           from->path, (long long)source->nodes);
    int32_t *graph_of = PGCN_I_ARRAY(&source->arena, int32_t, source->nodes);
    if (!graph_of) return PGCN_ERR_MEMORY;
    for (int64_t g = 0; g + 1 < count; g++)
        for (int64_t i = ptr[g]; i < ptr[g + 1]; i++) graph_of[i] = (int32_t)g;
    source->graph_of = graph_of;
    source->graphs = count - 1;
    return PGCN_OK;
}

static pgcn_status read_graphs(archive *from) {
    pgcn_i_source *source = from->source;
    if (pgcn_i_npz_has(from->npz, "graph_ptr")) {
        PGCN_TRY(read_graph_ptr(from));
    } else {
        PGCN_TRY(read_own(from, "graph_of", PGCN_I_I32, source->nodes, ANY, &source->graph_of));
        for (int64_t i = 0; source->graph_of && i < source->nodes; i++)
            if (source->graph_of[i] >= source->graphs)
                source->graphs = (int64_t)source->graph_of[i] + 1;
    }
    PGCN_TRY(read_own(from, "graph_label", PGCN_I_I32, source->graphs, ANY, &source->graph_label));
    return read_own(from, "fold", PGCN_I_I32, source->graphs, ANY, &source->fold);
}

/* The graph is built here: it keeps its direction and its self-loops, as in a container. */
static pgcn_status read_own_graph(archive *from, bool directed) {
    pgcn_i_source *source = from->source;
    pgcn_i_array weight = {0};
    PGCN_TRY(read_pairs(from));
    if (pgcn_i_npz_has(from->npz, "edge_weight"))
        PGCN_TRY(
            read_floats(from, "edge_weight", &source->edge_arena, vector(source->edges), &weight));
    pgcn_graph_opts opts = pgcn_graph_opts_default();
    opts.directed = directed;
    opts.keep_self_loops = true;
    pgcn_status status = pgcn_graph_from_edges(source->nodes, source->edges, source->edge_from,
                                               source->edge_to, weight.data, &opts, &source->graph);
    if (status != PGCN_OK) return pgcn_i_fail_in(status, "reading '%s'", from->path);
    pgcn_i_arena_free(&source->edge_arena);
    source->edge_from = source->edge_to = NULL;
    source->directed = directed;
    return PGCN_OK;
}

static pgcn_status read_own_features(archive *from) {
    csr given;
    static const csr_names names = {"x_data", "x_indices", "x_indptr", "x_shape"};
    if (pgcn_i_npz_has(from->npz, names.data)) {
        PGCN_TRY(read_csr(from, &names, &given));
        return keep_features(from, &given);
    }
    if (!pgcn_i_npz_has(from->npz, "x")) return PGCN_OK;
    pgcn_i_array dense;
    pgcn_i_source *source = from->source;
    PGCN_TRY(read_floats(from, "x", &source->arena, matrix(source->nodes, ANY), &dense));
    source->x =
        (pgcn_i_features){.n = source->nodes, .columns = dense.shape[1], .dense = dense.data};
    return PGCN_OK;
}

static pgcn_status read_own_splits(archive *from) {
    pgcn_i_names names = {0};
    PGCN_TRY(read_masks(from));
    PGCN_TRY(read_names(from, "split_names", &names));
    for (int64_t s = 0; s < names.count && s < from->source->splits; s++)
        snprintf(from->source->split[s].name, sizeof from->source->split[s].name, "%s",
                 names.text + names.offset[s]);
    if (from->source->splits > 0) from->source->split_origin = "splits of the file";
    return PGCN_OK;
}

/* Version 2: nodes that have no features. The note of the source is not in the file. */
static pgcn_status read_absent(archive *from, bool expected) {
    pgcn_i_source *source = from->source;
    pgcn_i_features *x = &source->x;
    int64_t absent = 0;
    PGCN_TRY(read_own(from, "x_absent", PGCN_I_U8, x->n, ANY, &x->absent));
    if ((x->absent != NULL) != expected)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': its layout has version %d, which does %sgo with an array "
                           "x_absent; convert the source again",
                           from->path, 1 + expected, expected ? "" : "not ");
    PGCN_TRY(read_own(from, "x_made", PGCN_I_U8, x->columns, ANY, &x->made));
    for (int64_t i = 0; x->absent && i < x->n; i++) absent += x->absent[i] == 1;
    if (absent == 0) return PGCN_OK;
    return pgcn_i_source_note(
        source, "%lld node%s without features and get%s the mean of the training nodes",
        (long long)absent, absent == 1 ? " is" : "s are", absent == 1 ? "s" : "");
}

/* num_nodes must agree with the rows of an array: alone it could demand any amount of memory. */
static pgcn_status read_own_nodes(archive *from, int64_t version) {
    int64_t nodes;
    PGCN_TRY(read_number(from, "num_nodes", INT32_MAX, &nodes));
    PGCN_TRY(set_nodes(from, nodes));
    PGCN_TRY(read_own_features(from));
    if (from->source->x.n == nodes) return read_absent(from, version == 2);
    return pgcn_i_fail(PGCN_ERR_MISMATCH,
                       "reading '%s': it says that it has %lld nodes, but has features of %lld; "
                       "convert the source again",
                       from->path, (long long)nodes, (long long)from->source->x.n);
}

static pgcn_status read_ours(archive *from) {
    pgcn_i_source *source = from->source;
    int64_t version, directed, classes;
    source->format = ".npz of pathgcn";
    PGCN_TRY(read_number(from, "pathgcn", INT64_MAX, &version));
    if (version != 1 && version != 2)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': its layout has version %lld, expected 1 or 2; convert "
                           "the source again",
                           from->path, (long long)version);
    PGCN_TRY(read_own_name(from));
    PGCN_TRY(read_number(from, "directed", 1, &directed));
    PGCN_TRY(read_number(from, "num_classes", INT32_MAX, &classes));
    PGCN_TRY(read_own_nodes(from, version));
    PGCN_TRY(read_own_graph(from, directed == 1));
    source->classes = (int)classes;
    PGCN_TRY(read_own(from, "node_label", PGCN_I_I32, source->nodes, ANY, &source->node_label));
    PGCN_TRY(read_own(from, "y", PGCN_I_I32, source->nodes, ANY, &source->label));
    PGCN_TRY(read_own(from, "labels", PGCN_I_U8, source->nodes, classes, &source->labels));
    PGCN_TRY(read_own(from, "label_known", PGCN_I_U8, source->nodes, ANY, &source->label_known));
    PGCN_TRY(read_graphs(from));
    PGCN_TRY(read_own_splits(from));
    PGCN_TRY(read_names(from, "node_id", &source->node_id));
    PGCN_TRY(read_names(from, "class_name", &source->class_name));
    PGCN_TRY(read_names(from, "feature_name", &source->feature_name));
    return read_names(from, "node_label_name", &source->node_label_name);
}

/* ---- all of it --------------------------------------------------------------------------- */

static pgcn_status read_archive(archive *from) {
    csr_names adjacency;
    if (pgcn_i_npz_has(from->npz, "pathgcn")) return read_ours(from);
    if (pgcn_i_npz_has(from->npz, "node_features")) return read_heterophilous(from);
    if (find_csr(from, "adj", &adjacency)) return read_benchmark(from, &adjacency);
    return pgcn_i_fail(
        PGCN_ERR_FORMAT,
        "reading '%s': it holds no graph that is known: neither adj_data "
        "(gnn-benchmark) nor node_features (heterophilous-graphs) nor pathgcn (ours)",
        from->path);
}

pgcn_status pgcn_i_npz_graph_read(const char *path, const pgcn_i_steps *steps,
                                  pgcn_i_source *source) {
    char file[PGCN_I_PATH_BYTES];
    (void)steps;
    if (!find_file(path, file))
        return pgcn_i_fail(PGCN_ERR_IO, "reading '%s': there is not exactly one .npz file", path);
    archive from = {.path = file, .source = source};
    PGCN_TRY(pgcn_i_npz_open(file, &from.npz));
    pgcn_status status = read_archive(&from);
    pgcn_i_npz_close(from.npz);
    pgcn_i_arena_free(&from.scratch);
    return status;
}
