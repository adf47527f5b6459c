/* Planetoid (Yang, Cohen, Salakhutdinov 2016): cora, citeseer and pubmed as Python 2 pickles,
 *
 *   ind.NAME.allx, .tx    scipy CSR float32 [a, f], [t, f]   features: first a nodes, test nodes
 *   ind.NAME.ally, .ty    ndarray int32 [a, C], [t, C]       their classes, one 1 to a row
 *   ind.NAME.y            ndarray [l, C]                     of the first l nodes, for training
 *   ind.NAME.graph        defaultdict(list)                  node -> neighbours, of all n nodes
 *   ind.NAME.test.index   t lines                            the node of each row of tx and ty
 *
 * (ind.NAME.x holds the first l rows of allx once more and is not read.) Nodes 0..a-1 are the rows
 * of allx; row i of tx is node test.index[i], from a up. In citeseer 15 of the ids a..n-1 are in no
 * line of test.index: these nodes have neither features nor a label. Split "public": train 0..l-1,
 * validation the next 500, test the ids of test.index; splits/ of Geom-GCN may be in the same folder.
 * Called through formats.c. Serial, thread-safe. */
#include "data/data.h"
#include "data/lines.h"
#include "io/pickle.h"

#include <stdio.h>
#include <stdlib.h>

enum { VALIDATION = 500 };

typedef struct planetoid {
    char directory[PGCN_I_PATH_BYTES], name[PGCN_I_NAME_BYTES];
    pgcn_i_arena pickles;
    pgcn_i_buffer test_index;
    const int64_t *test; /* [tests] nodes of the rows of tx and ty */
    int64_t tests;
    int64_t train, all; /* rows of y and of allx */
    pgcn_i_source *source;
} planetoid;

/* ---- finding the files ----------------------------------------------------------------------- */

/* Splits "dir/ind.NAME.graph" (or the path of another of the files) into dir and NAME; false if the
 * name is another. */
static bool split_path(const char *path, char *directory, char *name) {
    static const char *const kinds[] = {".allx", ".ally", ".tx",    ".ty",
                                        ".x",    ".y",    ".graph", ".test.index"};
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    if (strncmp(file, "ind.", 4) != 0 || strlen(file) >= PGCN_I_NAME_BYTES) return false;
    snprintf(directory, PGCN_I_PATH_BYTES, "%.*s", slash ? (int)(slash - path) : 1,
             slash ? path : ".");
    snprintf(name, PGCN_I_NAME_BYTES, "%s", file + 4);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t length = strlen(name), kind = strlen(kinds[i]);
        if (length <= kind || strcmp(name + length - kind, kinds[i]) != 0) continue;
        name[length - kind] = '\0';
        return true;
    }
    return false;
}

bool pgcn_i_planetoid_detect(const char *path) {
    char directory[PGCN_I_PATH_BYTES], name[PGCN_I_NAME_BYTES];
    if (strlen(path) >= PGCN_I_PATH_BYTES) return false;
    if (pgcn_i_is_directory(path)) return pgcn_i_directory_find(path, "ind.", ".graph", name) > 0;
    return pgcn_i_file_exists(path) && split_path(path, directory, name);
}

static pgcn_status find_files(const char *path, planetoid *from) {
    if (!pgcn_i_is_directory(path)) {
        if (strlen(path) < PGCN_I_PATH_BYTES && split_path(path, from->directory, from->name))
            return PGCN_OK;
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "'%.200s' is no file of Planetoid: expected "
                           "ind.NAME.graph or its directory",
                           path);
    }
    int sets = pgcn_i_directory_find(path, "ind.", ".graph", from->name);
    if (sets == 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "'%s' has no file ind.NAME.graph of Planetoid", path);
    if (sets > 1)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "'%s' holds %d data sets of Planetoid; name one by a file of it, e.g. "
                           "'%s/ind.%s.graph'",
                           path, sets, path, from->name);
    snprintf(from->directory, sizeof from->directory, "%s", path); /* joined before: it fits */
    return PGCN_OK;
}

static pgcn_status path_of(const planetoid *from, const char *kind, char out[PGCN_I_PATH_BYTES]) {
    char file[PGCN_I_NAME_BYTES + 32];
    snprintf(file, sizeof file, "ind.%s.%s", from->name, kind);
    return pgcn_i_path_join(out, from->directory, file);
}

/* ---- pickles of the kind that is expected ---------------------------------------------------- */

/* A pickle and the path it came from, for errors. */
typedef struct pickled {
    char path[PGCN_I_PATH_BYTES];
    int64_t bytes;
    const pgcn_i_pickle *value;
} pickled;

static pgcn_status read_pickle(planetoid *from, const char *kind, pgcn_i_pickle_kind wanted,
                               const char *wanted_name, pickled *out) {
    PGCN_TRY(path_of(from, kind, out->path));
    PGCN_TRY(pgcn_i_pickle_read(out->path, &from->pickles, &out->value, &out->bytes));
    if (out->value->kind != wanted)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it holds %s, expected %s; is it the "
                           "right file?",
                           out->path, pgcn_i_pickle_kind_name(out->value), wanted_name);
    return PGCN_OK;
}

/* A matrix of one-hot rows. */
static pgcn_status read_classes(planetoid *from, const char *kind, pgcn_i_array *out) {
    pickled file;
    PGCN_TRY(read_pickle(from, kind, PGCN_I_PICKLE_ARRAY, "a NumPy array [rows, classes]", &file));
    *out = *file.value->array;
    char shape[PGCN_I_SHAPE_TEXT];
    pgcn_i_shape_text(out->dtype, out->rank, out->shape, shape);
    if (out->rank != 2 || out->shape[1] < 1 || out->shape[1] > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it holds an array %s, expected [rows, "
                           "classes]",
                           file.path, shape);
    return PGCN_OK;
}

/* A CSR matrix whose arrays fit together. */
typedef struct matrix {
    pickled file;
    int64_t rows, columns;
    pgcn_i_array offset, column, value;
} matrix;

static bool field_of(const pgcn_i_pickle *csr, const char *name, bool integers, pgcn_i_array *out) {
    const pgcn_i_pickle *field = pgcn_i_pickle_find(csr->state, name);
    if (!field || field->kind != PGCN_I_PICKLE_ARRAY || field->array->rank != 1) return false;
    *out = *field->array;
    return !integers || out->dtype == PGCN_I_I32 || out->dtype == PGCN_I_I64;
}

static bool shape_of(const pgcn_i_pickle *csr, int64_t *rows, int64_t *columns) {
    const pgcn_i_pickle *shape = pgcn_i_pickle_find(csr->state, "_shape");
    if (!shape || shape->kind != PGCN_I_PICKLE_TUPLE || shape->items.count != 2) return false;
    const pgcn_i_pickle *a = shape->items.first->value, *b = shape->items.last->value;
    if (a->kind != PGCN_I_PICKLE_INTEGER || b->kind != PGCN_I_PICKLE_INTEGER) return false;
    *rows = a->integer;
    *columns = b->integer;
    return *rows >= 0 && *rows < INT32_MAX && *columns >= 0 && *columns <= INT32_MAX;
}

static pgcn_status bad_matrix(const matrix *m, const char *what) {
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s': the CSR matrix at byte %lld %s; the file is damaged: get it "
                       "again",
                       m->file.path, (long long)m->file.value->at, what);
}

static pgcn_status check_rows(const matrix *m) {
    int64_t entries = m->column.count < m->value.count ? m->column.count : m->value.count;
    int64_t before = pgcn_i_pickle_int(&m->offset, 0);
    if (before != 0) return bad_matrix(m, "does not begin its rows at entry 0");
    for (int64_t i = 1; i <= m->rows; i++) {
        int64_t end = pgcn_i_pickle_int(&m->offset, i);
        if (end < before || end > entries)
            return bad_matrix(m, "has rows that overlap or go beyond its entries");
        before = end;
    }
    for (int64_t k = 0; k < before; k++) {
        int64_t column = pgcn_i_pickle_int(&m->column, k);
        if (column < 0 || column >= m->columns) return bad_matrix(m, "has a column out of range");
    }
    return PGCN_OK;
}

static pgcn_status read_matrix(planetoid *from, const char *kind, matrix *m) {
    PGCN_TRY(read_pickle(from, kind, PGCN_I_PICKLE_CSR, "a scipy CSR matrix", &m->file));
    const pgcn_i_pickle *csr = m->file.value;
    if (!shape_of(csr, &m->rows, &m->columns) || !field_of(csr, "indptr", true, &m->offset) ||
        !field_of(csr, "indices", true, &m->column) || !field_of(csr, "data", false, &m->value))
        return bad_matrix(m, "lacks one of _shape, indptr, indices and data, or has it in another "
                             "form");
    if (m->offset.count != m->rows + 1) return bad_matrix(m, "has an indptr that does not fit");
    return check_rows(m);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The ids of the test nodes: none of a row of allx, each once. */
static pgcn_status read_test_index(planetoid *from) {
    char path[PGCN_I_PATH_BYTES];
    int64_t n = from->source->nodes;
    PGCN_TRY(path_of(from, "test.index", path));
    PGCN_TRY(pgcn_i_lines_read(path, 1, &from->test_index, &from->tests, NULL));
    from->test = (const int64_t *)(void *)from->test_index.data;
    uint8_t *seen = PGCN_I_ARRAY(&from->pickles, uint8_t, n);
    if (!seen) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < from->tests; i++) {
        int64_t id = from->test[i];
        if (id < from->all || id >= n)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': line %lld: found node %lld, expected "
                               "%lld to %lld (after the rows of allx)",
                               path, (long long)i + 1, (long long)id, (long long)from->all,
                               (long long)n - 1);
        if (seen[id]++)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': line %lld: node %lld occurs twice, "
                               "expected each once",
                               path, (long long)i + 1, (long long)id);
    }
    return PGCN_OK;
}

static pgcn_status rows_differ(const planetoid *from, const char *a, int64_t rows, const char *b,
                               int64_t other) {
    return pgcn_i_fail(PGCN_ERR_MISMATCH,
                       "reading '%s': ind.%s.%s has %lld rows and ind.%s.%s has %lld, which do not "
                       "belong together; get all files from one source",
                       from->directory, from->name, a, (long long)rows, from->name, b,
                       (long long)other);
}

/* The node of row i of a matrix or of its classes. */
static int64_t node_of(const planetoid *from, bool test, int64_t i) {
    return test ? from->test[i] : i;
}

/* Entry of `row` that is 1, -1 if all are 0, -2 for anything else. */
static int32_t hot_entry(const pgcn_i_array *classes, int64_t row) {
    int32_t hot = -1;
    for (int64_t c = 0; c < classes->shape[1]; c++) {
        double entry = pgcn_i_pickle_float(classes, row * classes->shape[1] + c);
        if (entry == 0) continue;
        if (entry != 1 || hot >= 0) return -2;
        hot = (int32_t)c;
    }
    return hot;
}

static pgcn_status set_labels(const planetoid *from, const pgcn_i_array *classes, bool test,
                              int32_t *label) {
    for (int64_t i = 0; i < classes->shape[0]; i++) {
        int32_t hot = hot_entry(classes, i);
        if (hot == -2)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s/ind.%s.%s': row %lld has something else than zeros and "
                               "at most one 1, expected one class for each node",
                               from->directory, from->name, test ? "ty" : "ally", (long long)i);
        label[node_of(from, test, i)] = hot;
    }
    return PGCN_OK;
}

/* ally, ty and y; the number of rows of y is the size of the training set. */
static pgcn_status read_labels(planetoid *from) {
    pgcn_i_array all, test, trained;
    pgcn_i_source *source = from->source;
    PGCN_TRY(read_classes(from, "ally", &all));
    PGCN_TRY(read_classes(from, "ty", &test));
    PGCN_TRY(read_classes(from, "y", &trained));
    if (all.shape[0] != from->all)
        return rows_differ(from, "allx", from->all, "ally", all.shape[0]);
    if (test.shape[0] != from->tests)
        return rows_differ(from, "test.index", from->tests, "ty", test.shape[0]);
    if (trained.shape[0] > from->all)
        return rows_differ(from, "y", trained.shape[0], "allx", from->all);
    if (all.shape[1] != test.shape[1])
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "reading '%s': ind.%s.ally has %lld classes and "
                           "ind.%s.ty has %lld; get all files from one source",
                           from->directory, from->name, (long long)all.shape[1], from->name,
                           (long long)test.shape[1]);
    int32_t *label = PGCN_I_ARRAY(&source->arena, int32_t, source->nodes);
    if (!label) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < source->nodes; i++) label[i] = -1;
    PGCN_TRY(set_labels(from, &all, false, label));
    PGCN_TRY(set_labels(from, &test, true, label));
    source->label = label;
    from->train = trained.shape[0];
    source->classes = (int)all.shape[1];
    return PGCN_OK;
}

/* ---- features -------------------------------------------------------------------------------- */

/* Copies row `row` to entries; ascending, as scipy keeps them only when asked to. */
static pgcn_status copy_row(const matrix *m, int64_t row, pgcn_i_entry *out) {
    int64_t begin = pgcn_i_pickle_int(&m->offset, row);
    int64_t count = pgcn_i_pickle_int(&m->offset, row + 1) - begin;
    bool ascending = true;
    for (int64_t k = 0; k < count; k++) {
        out[k].column = (int32_t)pgcn_i_pickle_int(&m->column, begin + k);
        out[k].value = (float)pgcn_i_pickle_float(&m->value, begin + k);
        ascending = ascending && (k == 0 || out[k - 1].column < out[k].column);
    }
    if (ascending) return PGCN_OK;
    pgcn_i_sort_row(out, count);
    for (int64_t k = 1; k < count; k++)
        if (out[k - 1].column == out[k].column)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': row %lld has column %d twice; call "
                               "sum_duplicates() on the matrix and save it again",
                               m->file.path, (long long)row, out[k].column);
    return PGCN_OK;
}

static int64_t row_length(const matrix *m, int64_t row) {
    return pgcn_i_pickle_int(&m->offset, row + 1) - pgcn_i_pickle_int(&m->offset, row);
}

/* Rows of allx and tx, each to its node. Nodes of neither keep an empty row. */
static pgcn_status set_features(planetoid *from, const matrix part[2]) {
    pgcn_i_source *source = from->source;
    int64_t n = source->nodes, longest = 0;
    int64_t *offset = PGCN_I_ARRAY(&source->arena, int64_t, n + 1);
    if (!offset) return PGCN_ERR_MEMORY;
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < part[k].rows; i++) {
            int64_t length = row_length(&part[k], i);
            offset[node_of(from, k == 1, i) + 1] = length;
            if (length > longest) longest = length;
        }
    for (int64_t i = 0; i < n; i++) offset[i + 1] += offset[i];
    int32_t *column = PGCN_I_ARRAY(&source->arena, int32_t, offset[n]);
    float *value = PGCN_I_ARRAY(&source->arena, float, offset[n]);
    pgcn_i_entry *row = PGCN_I_ARRAY(&from->pickles, pgcn_i_entry, longest);
    if (!column || !value || !row) return PGCN_ERR_MEMORY;
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < part[k].rows; i++) {
            int64_t at = offset[node_of(from, k == 1, i)], count = row_length(&part[k], i);
            PGCN_TRY(copy_row(&part[k], i, row));
            for (int64_t j = 0; j < count; j++) {
                column[at + j] = row[j].column;
                value[at + j] = row[j].value;
            }
        }
    source->x = (pgcn_i_features){.n = n,
                                  .columns = part[0].columns,
                                  .nonzeros = offset[n],
                                  .offset = offset,
                                  .column = column,
                                  .value = value};
    return PGCN_OK;
}

/* ---- the graph ------------------------------------------------------------------------------- */

static pgcn_status bad_node(const pickled *graph, const pgcn_i_pickle *value, int64_t n) {
    char found[32] = "";
    if (value->kind == PGCN_I_PICKLE_INTEGER)
        snprintf(found, sizeof found, " %lld", (long long)value->integer);
    return pgcn_i_fail(
        PGCN_ERR_FORMAT, "reading '%s': byte %lld: found %s%s, expected a node, 0 to %lld",
        graph->path, (long long)value->at, pgcn_i_pickle_kind_name(value), found, (long long)n - 1);
}

static bool is_node(const pgcn_i_pickle *value, int64_t n) {
    return value->kind == PGCN_I_PICKLE_INTEGER && value->integer >= 0 && value->integer < n;
}

/* The number of all neighbours. One list may be the value of many keys, so the sum is limited by
 * the bytes of the file. */
static pgcn_status count_edges(planetoid *from, const pickled *graph, int64_t n, int64_t *edges) {
    uint8_t *seen = PGCN_I_ARRAY(&from->pickles, uint8_t, n);
    if (!seen) return PGCN_ERR_MEMORY;
    *edges = 0;
    const pgcn_i_pickle_item *at = graph->value->items.first;
    for (; at; at = at->next->next) {
        const pgcn_i_pickle *node = at->value, *list = at->next->value;
        if (!is_node(node, n)) return bad_node(graph, node, n);
        if (list->kind != PGCN_I_PICKLE_LIST || seen[node->integer]++)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': byte %lld: node %lld has %s, expected one list of "
                               "its neighbours",
                               graph->path, (long long)list->at, (long long)node->integer,
                               list->kind == PGCN_I_PICKLE_LIST ? "a second list"
                                                                : pgcn_i_pickle_kind_name(list));
        *edges += list->items.count; /* keys and items are at most the bytes of the file each */
        if (*edges > graph->bytes)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': byte %lld: the file uses the same lists for many "
                               "nodes and has more neighbours than bytes; it is made to fill the "
                               "memory",
                               graph->path, (long long)list->at);
    }
    return PGCN_OK;
}

static pgcn_status set_edges(planetoid *from, const pickled *graph) {
    pgcn_i_source *source = from->source;
    int64_t n = source->nodes, edges, e = 0;
    PGCN_TRY(count_edges(from, graph, n, &edges));
    pgcn_node *edge_from = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, edges);
    pgcn_node *edge_to = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, edges);
    if (!edge_from || !edge_to) return PGCN_ERR_MEMORY;
    for (const pgcn_i_pickle_item *at = graph->value->items.first; at; at = at->next->next) {
        const pgcn_i_pickle_item *neighbour = at->next->value->items.first;
        for (; neighbour; neighbour = neighbour->next) {
            if (!is_node(neighbour->value, n)) return bad_node(graph, neighbour->value, n);
            edge_from[e] = (pgcn_node)at->value->integer;
            edge_to[e++] = (pgcn_node)neighbour->value->integer;
        }
    }
    source->edges = edges;
    source->edge_from = edge_from;
    source->edge_to = edge_to;
    return PGCN_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static pgcn_status set_public_split(const planetoid *from) {
    pgcn_i_source *source = from->source;
    const int32_t *label = source->label;
    int64_t train = from->train, val_end = train + VALIDATION;
    uint8_t *mask[3];
    PGCN_TRY(pgcn_i_source_masks(source, source->nodes, mask));
    snprintf(source->split[0].name, sizeof source->split[0].name, "public");
    source->split_origin = "the public split of Planetoid";
    for (int64_t i = 0; i < train; i++) mask[0][i] = label[i] >= 0;
    for (int64_t i = train; i < val_end && i < from->all; i++) mask[1][i] = label[i] >= 0;
    for (int64_t i = 0; i < from->tests; i++) mask[2][from->test[i]] = label[from->test[i]] >= 0;
    return PGCN_OK;
}

static pgcn_status note_empty_nodes(planetoid *from) {
    int64_t missing = from->source->nodes - from->all - from->tests;
    if (missing == 0) return PGCN_OK;
    return pgcn_i_source_note(from->source,
                              "%lld of the nodes from %lld on are not in ind.%s.test.index: they "
                              "have neither features nor a label",
                              (long long)missing, (long long)from->all, from->name);
}

static pgcn_status read_all(planetoid *from) {
    matrix part[2]; /* allx, tx */
    pickled graph;
    PGCN_TRY(read_matrix(from, "allx", &part[0]));
    PGCN_TRY(read_matrix(from, "tx", &part[1]));
    PGCN_TRY(read_pickle(from, "graph", PGCN_I_PICKLE_DICT, "a dict of lists", &graph));
    if (part[0].columns != part[1].columns)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "reading '%s': ind.%s.allx has %lld columns and ind.%s.tx has %lld; get "
                           "all files from one source",
                           from->directory, from->name, (long long)part[0].columns, from->name,
                           (long long)part[1].columns);
    from->all = part[0].rows;
    /* The graph has an entry for every node, also for those without features. */
    int64_t in_graph = graph.value->items.count / 2, with_features = from->all + part[1].rows;
    from->source->nodes = in_graph > with_features ? in_graph : with_features;
    PGCN_TRY(read_test_index(from));
    if (part[1].rows != from->tests)
        return rows_differ(from, "test.index", from->tests, "tx", part[1].rows);
    PGCN_TRY(read_labels(from));
    PGCN_TRY(set_features(from, part));
    PGCN_TRY(set_edges(from, &graph));
    PGCN_TRY(set_public_split(from));
    PGCN_TRY(note_empty_nodes(from));
    return pgcn_i_geom_splits(from->directory, from->source);
}

pgcn_status pgcn_i_planetoid_read(const char *path, const pgcn_i_steps *steps,
                                  pgcn_i_source *source) {
    (void)steps;
    planetoid from = {.source = source};
    source->format = "Planetoid pickles";
    PGCN_TRY(find_files(path, &from));
    pgcn_status status = read_all(&from);
    pgcn_i_arena_free(&from.pickles);
    pgcn_i_buffer_free(&from.test_index);
    return status;
}
