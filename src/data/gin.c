/* Graph sets in the text format of GIN (Xu et al. 2019) and DGCNN: one file NAME.txt,
 *
 *   G                                  the number of graphs, then for each graph
 *   n c                                its nodes and its class
 *   tag d neighbour_1 .. neighbour_d   n lines: a code, the degree, neighbours counted from 0 in
 *                                      the graph; numbers may follow, the attributes of the node
 *
 * and beside it 10fold_idx/test_idx-1.txt, test_idx-2.txt, ...: the graphs, from 0, of the
 * published test folds, a number to a line (train_idx-I.txt holds the others and is not read). Tags
 * and classes are renumbered from 0 in ascending order. Both directions of an edge stand in the
 * file. Called through formats.c. Serial, thread-safe. */
#include "data/data.h"
#include "data/lines.h"

#include <stdio.h>
#include <string.h>

/* ---- detection ------------------------------------------------------------------------------- */

/* A line of exactly `wanted` whole numbers. */
static bool line_of_integers(pgcn_i_text *text, int wanted) {
    char *line;
    int64_t length, number;
    if (pgcn_i_text_line(text, &line, &length) != PGCN_OK || !line) return false;
    const char *at = line;
    for (int i = 0; i < wanted; i++)
        if (!pgcn_i_next_integer(&at, INT64_MIN, INT64_MAX, &number)) return false;
    return *pgcn_i_skip_blanks(at) == '\0';
}

static bool looks_like_gin(const char *path) {
    pgcn_i_text *text;
    if (pgcn_i_is_directory(path) || pgcn_i_text_open(path, &text) != PGCN_OK) return false;
    bool fine = line_of_integers(text, 1) && line_of_integers(text, 2);
    pgcn_i_text_close(text);
    return fine;
}

/* The file and the directory of its folds ("" if there is none) of a directory or of the file. An
 * edge list may also begin with a line of one number: without folds, the file must be the only one. */
static bool find_files(const char *path, char file[PGCN_I_PATH_BYTES],
                       char folds[PGCN_I_PATH_BYTES]) {
    char directory[PGCN_I_PATH_BYTES], name[PGCN_I_NAME_BYTES], only[PGCN_I_NAME_BYTES + 8];
    const char *slash = strrchr(path, '/');
    bool is_directory = pgcn_i_is_directory(path);
    if (strlen(path) >= PGCN_I_PATH_BYTES) return false;
    if (is_directory)
        snprintf(directory, sizeof directory, "%s", path);
    else
        snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - path) : 1,
                 slash ? path : ".");
    if (pgcn_i_path_join(folds, directory, "10fold_idx") != PGCN_OK) return false;
    if (!pgcn_i_is_directory(folds)) folds[0] = '\0';
    if (is_directory) {
        if (pgcn_i_directory_find(path, "", ".txt", name) != 1) return false;
        snprintf(only, sizeof only, "%s.txt", name);
        if (pgcn_i_path_join(file, path, only) != PGCN_OK) return false;
    } else {
        if (!folds[0]) return false;
        snprintf(file, PGCN_I_PATH_BYTES, "%s", path);
    }
    return pgcn_i_file_exists(file);
}

bool pgcn_i_gin_detect(const char *path) {
    char file[PGCN_I_PATH_BYTES], folds[PGCN_I_PATH_BYTES];
    return find_files(path, file, folds) && looks_like_gin(file);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

typedef struct gin {
    pgcn_i_text *text;
    pgcn_i_source *source;
    pgcn_i_buffer class_code, tag, attribute; /* int64_t, int64_t, float */
    pgcn_i_buffer graph_of, from, to;         /* int32_t */
    int64_t graphs, nodes;
    int64_t first, size;       /* of the graph that is read */
    int64_t attribute_columns; /* -1: no node was read yet */
} gin;

static pgcn_status add_integer(pgcn_i_buffer *buffer, int64_t number) {
    int64_t *slot = pgcn_i_buffer_add(buffer, sizeof *slot);
    if (!slot) return PGCN_ERR_MEMORY;
    *slot = number;
    return PGCN_OK;
}

static pgcn_status add_id(pgcn_i_buffer *buffer, int64_t id) {
    int32_t *slot = pgcn_i_buffer_add(buffer, sizeof *slot);
    if (!slot) return PGCN_ERR_MEMORY;
    *slot = (int32_t)id;
    return PGCN_OK;
}

static pgcn_status next_line(gin *set, const char *what, const char **at) {
    char *line;
    int64_t length;
    PGCN_TRY(pgcn_i_text_line(set->text, &line, &length));
    if (!line)
        return pgcn_i_text_fail(set->text,
                                "the file ends here, expected %s of graph %lld; it is cut short: "
                                "get it again",
                                what, (long long)set->graphs);
    *at = line;
    return PGCN_OK;
}

static pgcn_status must_end(const gin *set, const char *at) {
    at = pgcn_i_skip_blanks(at);
    if (*at == '\0') return PGCN_OK;
    return pgcn_i_text_fail(set->text, "found '%s', expected the end of the line",
                            pgcn_i_show(at).text);
}

static pgcn_status read_neighbours(gin *set, const char **at) {
    int64_t degree, neighbour;
    if (!pgcn_i_next_integer(at, 0, INT64_MAX, &degree))
        return pgcn_i_text_fail(set->text, "found '%s', expected the number of neighbours",
                                pgcn_i_show(*at).text);
    for (int64_t i = 0; i < degree; i++) {
        if (!pgcn_i_next_integer(at, 0, set->size - 1, &neighbour))
            return pgcn_i_text_fail(set->text,
                                    "neighbour %lld of %lld is '%s', expected a node of the "
                                    "graph, 0 to %lld",
                                    (long long)i + 1, (long long)degree, pgcn_i_show(*at).text,
                                    (long long)set->size - 1);
        PGCN_TRY(add_id(&set->from, set->nodes));
        PGCN_TRY(add_id(&set->to, set->first + neighbour));
    }
    return PGCN_OK;
}

/* What follows the neighbours; the same number of attributes in every line of the file. */
static pgcn_status read_attributes(gin *set, const char *at) {
    int64_t found = 0;
    while (*pgcn_i_skip_blanks(at) != '\0') {
        float number;
        if (!pgcn_i_next_float(&at, &number))
            return pgcn_i_text_fail(set->text,
                                    "found '%s', expected a number or the end of the "
                                    "line",
                                    pgcn_i_show(at).text);
        float *slot = pgcn_i_buffer_add(&set->attribute, sizeof *slot);
        if (!slot) return PGCN_ERR_MEMORY;
        *slot = number;
        found++;
    }
    if (set->attribute_columns < 0) set->attribute_columns = found;
    if (found == set->attribute_columns) return PGCN_OK;
    return pgcn_i_text_fail(set->text,
                            "found %lld numbers after the neighbours, expected %lld attributes as "
                            "for the nodes before",
                            (long long)found, (long long)set->attribute_columns);
}

static pgcn_status read_node(gin *set) {
    const char *at;
    int64_t tag;
    PGCN_TRY(next_line(set, "a node", &at));
    if (!pgcn_i_next_integer(&at, INT64_MIN, INT64_MAX, &tag))
        return pgcn_i_text_fail(set->text, "found '%s', expected the tag of a node",
                                pgcn_i_show(at).text);
    if (set->nodes == INT32_MAX)
        return pgcn_i_text_fail(set->text, "there are more than %d nodes", INT32_MAX);
    PGCN_TRY(read_neighbours(set, &at));
    PGCN_TRY(read_attributes(set, at));
    PGCN_TRY(add_integer(&set->tag, tag));
    PGCN_TRY(add_id(&set->graph_of, set->graphs));
    set->nodes++;
    return PGCN_OK;
}

static pgcn_status read_graph(gin *set) {
    const char *at;
    int64_t code;
    PGCN_TRY(next_line(set, "the first line", &at));
    if (!pgcn_i_next_integer(&at, 1, INT64_MAX, &set->size) ||
        !pgcn_i_next_integer(&at, INT64_MIN, INT64_MAX, &code))
        return pgcn_i_text_fail(set->text,
                                "found '%s', expected the number of nodes, at least "
                                "1, and the class of graph %lld",
                                pgcn_i_show(at).text, (long long)set->graphs);
    PGCN_TRY(must_end(set, at));
    PGCN_TRY(add_integer(&set->class_code, code));
    set->first = set->nodes;
    for (int64_t i = 0; i < set->size; i++) PGCN_TRY(read_node(set));
    set->graphs++;
    return PGCN_OK;
}

static pgcn_status read_graphs(gin *set) {
    const char *at;
    char *line;
    int64_t graphs, length;
    PGCN_TRY(next_line(set, "the number", &at));
    if (!pgcn_i_next_integer(&at, 1, INT32_MAX, &graphs))
        return pgcn_i_text_fail(set->text, "found '%s', expected the number of graphs, 1 to %d",
                                pgcn_i_show(at).text, INT32_MAX);
    PGCN_TRY(must_end(set, at));
    while (set->graphs < graphs) PGCN_TRY(read_graph(set));
    do {
        PGCN_TRY(pgcn_i_text_line(set->text, &line, &length));
    } while (line && *pgcn_i_skip_blanks(line) == '\0');
    if (!line) return PGCN_OK;
    return pgcn_i_text_fail(set->text,
                            "found '%s' after the last of %lld graphs, expected the "
                            "end of the file",
                            pgcn_i_show(line).text, (long long)graphs);
}

/* ---- folds ----------------------------------------------------------------------------------- */

static pgcn_status set_fold(const char *path, const int64_t *graph, int64_t count, int32_t number,
                            int64_t graphs, int32_t *fold) {
    for (int64_t i = 0; i < count; i++) {
        if (graph[i] < 0 || graph[i] >= graphs)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': line %lld: found graph %lld, "
                               "expected 0 to %lld",
                               path, (long long)i + 1, (long long)graph[i], (long long)graphs - 1);
        if (fold[graph[i]] >= 0)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': line %lld: graph %lld is in test fold %d already, "
                               "expected each in at most one",
                               path, (long long)i + 1, (long long)graph[i], fold[graph[i]] + 1);
        fold[graph[i]] = number;
    }
    return PGCN_OK;
}

/* test_idx-1.txt and so on, until a number is missing. */
static pgcn_status read_folds(const char *directory, pgcn_i_source *source) {
    int32_t *fold = PGCN_I_ARRAY(&source->arena, int32_t, source->graphs), number = 0;
    if (!fold) return PGCN_ERR_MEMORY;
    for (int64_t g = 0; g < source->graphs; g++) fold[g] = -1;
    for (;; number++) {
        char path[PGCN_I_PATH_BYTES], file[32];
        pgcn_i_buffer graph = {0};
        int64_t count;
        snprintf(file, sizeof file, "test_idx-%d.txt", number + 1);
        PGCN_TRY(pgcn_i_path_join(path, directory, file));
        if (!pgcn_i_file_exists(path)) break;
        pgcn_status status = pgcn_i_lines_read(path, 1, &graph, &count, NULL);
        if (status == PGCN_OK)
            status = set_fold(path, (const int64_t *)(void *)graph.data, count, number,
                              source->graphs, fold);
        pgcn_i_buffer_free(&graph);
        PGCN_TRY(status);
    }
    if (number > 0) source->fold = fold;
    return PGCN_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static pgcn_status keep(gin *set) {
    pgcn_i_source *source = set->source;
    int kinds;
    source->graphs = set->graphs;
    source->nodes = set->nodes;
    source->edges = set->from.bytes / (int64_t)sizeof(pgcn_node);
    pgcn_i_class_codes of_graphs = {.code = (const int64_t *)(void *)set->class_code.data,
                                    .count = set->graphs,
                                    .missing = INT64_MIN};
    pgcn_i_class_codes of_nodes = {
        .code = (const int64_t *)(void *)set->tag.data, .count = set->nodes, .missing = INT64_MIN};
    PGCN_TRY(pgcn_i_source_number_classes(source, of_graphs, &source->graph_label, &source->classes,
                                          &source->class_name));
    PGCN_TRY(pgcn_i_source_number_classes(source, of_nodes, &source->node_label, &kinds,
                                          &source->node_label_name));
    source->graph_of = pgcn_i_arena_take(&source->arena, &set->graph_of);
    source->edge_from = pgcn_i_arena_take(&source->edge_arena, &set->from);
    source->edge_to = pgcn_i_arena_take(&source->edge_arena, &set->to);
    if (!source->graph_of || !source->edge_from || !source->edge_to) return PGCN_ERR_MEMORY;
    if (set->attribute_columns < 1) return PGCN_OK;
    const float *dense = pgcn_i_arena_take(&source->arena, &set->attribute);
    if (!dense) return PGCN_ERR_MEMORY;
    return pgcn_i_source_features(source, dense, set->nodes, set->attribute_columns);
}

static pgcn_status read_file(const char *path, pgcn_i_source *source) {
    gin set = {.source = source, .attribute_columns = -1};
    pgcn_status status;
    PGCN_TRY(pgcn_i_text_open(path, &set.text));
    PGCN_TRY_GOTO(read_graphs(&set));
    status = keep(&set);
fail:
    pgcn_i_text_close(set.text);
    pgcn_i_buffer_free(&set.class_code);
    pgcn_i_buffer_free(&set.tag);
    pgcn_i_buffer_free(&set.attribute);
    pgcn_i_buffer_free(&set.graph_of);
    pgcn_i_buffer_free(&set.from);
    pgcn_i_buffer_free(&set.to);
    return status;
}

pgcn_status pgcn_i_gin_read(const char *path, const pgcn_i_steps *steps, pgcn_i_source *source) {
    (void)steps;
    char file[PGCN_I_PATH_BYTES], folds[PGCN_I_PATH_BYTES];
    source->format = "GIN text file";
    if (!find_files(path, file, folds))
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "'%.200s' is no data set of GIN: expected a directory with one file "
                           "NAME.txt, or such a file beside a directory 10fold_idx",
                           path);
    PGCN_TRY(read_file(file, source));
    return folds[0] ? read_folds(folds, source) : PGCN_OK;
}
