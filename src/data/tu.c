/* Graph sets of TU Dortmund (Morris et al. 2020): many graphs in a few text files, nodes and graphs
 * numbered from 1,
 *
 *   NAME_A.txt                 m lines "a, b": an edge; undirected graphs have both directions
 *   NAME_graph_indicator.txt   N lines: the graph of node i, ascending
 *   NAME_graph_labels.txt      optional, G lines: the class of each graph, any whole number
 *   NAME_node_labels.txt       optional, N lines: a code of each node (of several, the first)
 *   NAME_node_attributes.txt   optional, N lines of f numbers apart by commas
 *   NAME_edge_labels.txt       optional, m lines: a code of each edge
 *   NAME_edge_attributes.txt, NAME_graph_attributes.txt   not read, a note says so
 *
 * Codes are renumbered from 0 in ascending order. Memory is proportional to the files: nothing is
 * allocated for a number that a file merely claims. Called through formats.c. Serial,
 * thread-safe. */
#include "data/data.h"
#include "data/lines.h"

#include <stdio.h>
#include <string.h>

typedef struct tu {
    const char *directory;
    char name[PGCN_I_NAME_BYTES];
    pgcn_i_buffer numbers; /* of the current file */
    pgcn_i_source *source;
} tu;

bool pgcn_i_tu_detect(const char *path) {
    char name[PGCN_I_NAME_BYTES];
    return pgcn_i_directory_find(path, "", "_graph_indicator.txt", name) > 0 &&
           pgcn_i_directory_find(path, "", "_A.txt", name) > 0;
}

static pgcn_status path_of(const tu *from, const char *kind, char out[PGCN_I_PATH_BYTES]) {
    char file[PGCN_I_NAME_BYTES + 32];
    snprintf(file, sizeof file, "%s_%s.txt", from->name, kind);
    return pgcn_i_path_join(out, from->directory, file);
}

static pgcn_status has(const tu *from, const char *kind, bool *out) {
    char path[PGCN_I_PATH_BYTES];
    PGCN_TRY(path_of(from, kind, path));
    *out = pgcn_i_file_exists(path);
    return PGCN_OK;
}

static pgcn_status must_have(const char *path, int64_t rows, int64_t expected, const char *what) {
    if (rows == expected) return PGCN_OK;
    return pgcn_i_fail(
        PGCN_ERR_MISMATCH,
        "reading '%s': it has %lld lines, expected %lld, one for each of the %s; get "
        "all files from one source",
        path, (long long)rows, (long long)expected, what);
}

/* The whole numbers of a file, valid until the next one is read. */
typedef struct numbers {
    char path[PGCN_I_PATH_BYTES];
    const int64_t *value; /* [rows, columns] */
    int64_t rows;
} numbers;

/* more: NULL if a line must end after its numbers, else whether something followed in one. */
static pgcn_status read_numbers(tu *from, const char *kind, int columns, bool *more, numbers *out) {
    pgcn_i_buffer_free(&from->numbers);
    PGCN_TRY(path_of(from, kind, out->path));
    PGCN_TRY(pgcn_i_lines_read(out->path, columns, &from->numbers, &out->rows, more));
    out->value = (const int64_t *)(void *)from->numbers.data;
    if (out->rows == 0 || out->rows > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "reading '%s': it has %lld lines, expected 1 to %d",
                           out->path, (long long)out->rows, INT32_MAX);
    return PGCN_OK;
}

/* ---- graphs and nodes ------------------------------------------------------------------------ */

/* A missing file is fine: graphs without classes can be predicted. */
static pgcn_status read_graph_labels(tu *from) {
    numbers labels;
    bool present;
    pgcn_i_source *source = from->source;
    PGCN_TRY(has(from, "graph_labels", &present));
    if (!present)
        return pgcn_i_source_note(source, "there is no %s_graph_labels.txt: no graph has a class",
                                  from->name);
    PGCN_TRY(read_numbers(from, "graph_labels", 1, NULL, &labels));
    source->graphs = labels.rows;
    pgcn_i_class_codes codes = {.code = labels.value, .count = labels.rows, .missing = INT64_MIN};
    return pgcn_i_source_number_classes(source, codes, &source->graph_label, &source->classes,
                                        &source->class_name);
}

/* Each node belongs to the graph of the node before it or to the next one: none is left out. */
static pgcn_status read_indicator(tu *from) {
    numbers indicator;
    pgcn_i_source *source = from->source;
    PGCN_TRY(read_numbers(from, "graph_indicator", 1, NULL, &indicator));
    const int64_t *graph = indicator.value;
    source->nodes = indicator.rows;
    int32_t *graph_of = PGCN_I_ARRAY(&source->arena, int32_t, source->nodes);
    if (!graph_of) return PGCN_ERR_MEMORY;
    int64_t before = 0;
    for (int64_t i = 0; i < source->nodes; i++) {
        if (graph[i] < before || graph[i] > before + 1 || graph[i] < 1)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': line %lld: found graph %lld after graph %lld, "
                               "expected ascending numbers from 1 without gaps; sort the nodes by "
                               "their graph",
                               indicator.path, (long long)i + 1, (long long)graph[i],
                               (long long)before);
        graph_of[i] = (int32_t)(graph[i] - 1);
        before = graph[i];
    }
    if (!source->graph_label) source->graphs = before;
    if (before != source->graphs)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "reading '%s': its last graph is number %lld, but %s_graph_labels.txt "
                           "has %lld lines; get all files from one source",
                           indicator.path, (long long)before, from->name,
                           (long long)source->graphs);
    source->graph_of = graph_of;
    return PGCN_OK;
}

/* The items that have labels: nodes or edges. */
typedef struct labelled {
    const char *name;  /* in the name of the file and in notes: "node" */
    const char *items; /* in errors: "edges of NAME_A.txt" */
    int64_t count;
} labelled;

/* The labels as codes from 0; a missing file is fine. */
static pgcn_status read_codes(tu *from, labelled of, const int32_t **out, pgcn_i_names *names) {
    char file[16];
    numbers labels;
    int kinds;
    bool present, more;
    snprintf(file, sizeof file, "%s_labels", of.name);
    PGCN_TRY(has(from, file, &present));
    if (!present) return PGCN_OK;
    PGCN_TRY(read_numbers(from, file, 1, &more, &labels));
    PGCN_TRY(must_have(labels.path, labels.rows, of.count, of.items));
    if (more)
        PGCN_TRY(pgcn_i_source_note(from->source,
                                    "%s_%s.txt has several columns: the first is taken as the %s "
                                    "label",
                                    from->name, file, of.name));
    pgcn_i_class_codes codes = {.code = labels.value, .count = labels.rows, .missing = INT64_MIN};
    return pgcn_i_source_number_classes(from->source, codes, out, &kinds, names);
}

/* ---- edges ----------------------------------------------------------------------------------- */

static pgcn_status read_edges(tu *from) {
    numbers pairs;
    pgcn_i_source *source = from->source;
    PGCN_TRY(read_numbers(from, "A", 2, NULL, &pairs));
    const int64_t *pair = pairs.value, m = pairs.rows;
    pgcn_node *edge_from = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, m);
    pgcn_node *edge_to = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, m);
    if (!edge_from || !edge_to) return PGCN_ERR_MEMORY;
    for (int64_t e = 0; e < m; e++) {
        int64_t a = pair[2 * e], b = pair[2 * e + 1], n = source->nodes;
        if (a < 1 || a > n || b < 1 || b > n)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': line %lld: found an edge %lld, %lld, expected nodes "
                               "from 1 to %lld",
                               pairs.path, (long long)e + 1, (long long)a, (long long)b,
                               (long long)n);
        if (source->graph_of[a - 1] != source->graph_of[b - 1])
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': line %lld: the edge %lld, %lld joins graphs %d and "
                               "%d, expected two nodes of one graph",
                               pairs.path, (long long)e + 1, (long long)a, (long long)b,
                               source->graph_of[a - 1] + 1, source->graph_of[b - 1] + 1);
        edge_from[e] = (pgcn_node)(a - 1);
        edge_to[e] = (pgcn_node)(b - 1);
    }
    source->edges = m;
    source->edge_from = edge_from;
    source->edge_to = edge_to;
    return PGCN_OK;
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Numbers in the first line. */
static pgcn_status count_columns(const char *path, int64_t *columns) {
    pgcn_i_text *text;
    char *line;
    int64_t length;
    *columns = 1;
    PGCN_TRY(pgcn_i_text_open(path, &text));
    pgcn_status status = pgcn_i_text_line(text, &line, &length);
    for (const char *at = status == PGCN_OK && line ? line : ""; *at; at++) *columns += *at == ',';
    pgcn_i_text_close(text);
    return status;
}

static pgcn_status read_attributes(tu *from) {
    char path[PGCN_I_PATH_BYTES];
    pgcn_i_table table;
    pgcn_i_table_rule rule = {.dtype = PGCN_I_F32, .delimiter = ','};
    bool present;
    pgcn_i_source *source = from->source;
    PGCN_TRY(has(from, "node_attributes", &present));
    if (!present) return PGCN_OK;
    PGCN_TRY(path_of(from, "node_attributes", path));
    PGCN_TRY(count_columns(path, &rule.columns));
    PGCN_TRY(pgcn_i_table_read(path, &rule, &table));
    int64_t rows = table.rows;
    const float *dense = pgcn_i_arena_take(&source->arena, &table.cell);
    pgcn_i_table_free(&table);
    if (!dense) return PGCN_ERR_MEMORY;
    PGCN_TRY(must_have(path, rows, source->nodes, "nodes"));
    return pgcn_i_source_features(source, dense, rows, rule.columns);
}

static pgcn_status note_unread_files(tu *from) {
    static const char *const kinds[] = {"edge_attributes", "graph_attributes"};
    for (int i = 0; i < 2; i++) {
        bool present;
        PGCN_TRY(has(from, kinds[i], &present));
        if (present)
            PGCN_TRY(pgcn_i_source_note(from->source, "%s_%s.txt is not read: no model uses it",
                                        from->name, kinds[i]));
    }
    return PGCN_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static pgcn_status read_all(tu *from) {
    int sets = pgcn_i_directory_find(from->directory, "", "_graph_indicator.txt", from->name);
    if (sets != 1)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "'%s' holds %d files NAME_graph_indicator.txt of TU Dortmund, expected "
                           "one; give each data set a directory of its own",
                           from->directory, sets);
    PGCN_TRY(read_graph_labels(from));
    PGCN_TRY(read_indicator(from));
    pgcn_i_source *source = from->source;
    labelled nodes = {.name = "node", .items = "nodes", .count = source->nodes};
    PGCN_TRY(read_codes(from, nodes, &source->node_label, &source->node_label_name));
    PGCN_TRY(read_edges(from));
    labelled edges = {.name = "edge", .items = "edges of NAME_A.txt", .count = source->edges};
    PGCN_TRY(read_codes(from, edges, &source->edge_label, NULL));
    PGCN_TRY(read_attributes(from));
    return note_unread_files(from);
}

pgcn_status pgcn_i_tu_read(const char *path, const pgcn_i_steps *steps, pgcn_i_source *source) {
    (void)steps;
    tu from = {.directory = path, .source = source};
    source->format = "TU Dortmund text files";
    pgcn_status status = read_all(&from);
    pgcn_i_buffer_free(&from.numbers);
    return status;
}
