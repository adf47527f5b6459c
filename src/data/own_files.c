/* A user's own graph: up to four text files (delimited.c has the rules of cells, header.c of headers).
 *
 *   edges      from, to [, weight]         required
 *   features   id, numbers...              or .npy [n, f]: row i is node i, ids are then 0..n-1
 *   labels     id, class                   any text; ?, nan, NA or an empty cell: not known
 *              id, 0/1, 0/1, ...           several columns: several classes may hold, named by the header
 *   splits     id, train|val|test [, ...]  a column is a split; nodes not named are in no part
 *
 * Nodes are all ids of features, labels and edges, so a node may be in one file only: it has no edges, no
 * label, or no features, and gets the mean of the training nodes. If all ids are whole numbers, nodes are in ascending order, else in the
 * order of their first appearance in features, labels, edges. Ids are kept as text, unless they are
 * exactly 0..n-1. An id twice in features, labels or splits is an error.
 *
 * Big arrays are not copied: features are permuted in place. Called by load.c and edge_list.c;
 * thread-safe (table.c has its own threads). */
#include "data/data.h"
#include "data/delimited.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct own {
    const pgcn_i_own_files *files;
    pgcn_i_source *source;
    pgcn_i_arena scratch;
    pgcn_i_id_map ids;
    const char *id_column; /* above the ids in the header of the features; NULL: not known */
    char first_lines[900]; /* what they were taken for, file by file */
    char not_utf8[400]; /* which files with unknown ids are not, as the end of a sentence; or "" */
    int64_t counted;    /* >= 0: ids are the numbers 0..counted-1 (features from .npy), no map */
    int32_t *place;     /* [nodes] of the map's number in the final order; NULL: the same */
    pgcn_i_buffer x;    /* [x_rows, x_columns] features in the order of the map */
    int64_t x_rows, x_columns;
    pgcn_i_buffer from, to, weight; /* int32 ids of the map; float */
    pgcn_i_buffer label_node;       /* int32 node of each row of labels */
    pgcn_i_layout label_layout;
    pgcn_i_buffer label_line; /* int64 line of each row of labels */
    pgcn_i_buffer label_text; /* one label column: the text of each row, with a NUL */
    pgcn_i_buffer label_cell; /* several: uint8 of each cell, 2: not known */
    int64_t *split_line;      /* [nodes] line of each node in the file of splits, 0: none yet */
    uint8_t **mask;           /* [3 splits] */
} own;

static int64_t nodes_so_far(const own *in) {
    return in->counted >= 0 ? in->counted : in->ids.count;
}

static pgcn_status not_counted(const own *in, const pgcn_i_rows *rows, const char *id) {
    char shown[PGCN_I_EXCERPT];
    pgcn_i_text_excerpt(id, (int64_t)strlen(id), shown);
    return pgcn_i_text_fail(
        rows->text,
        "found the id '%s', expected a whole number from 0 to %lld: rows of '%s' "
        "have no ids, so its row i is node i; give features as text with an id in "
        "front of each row",
        shown, (long long)in->counted - 1, in->files->features);
}

/* The node of an id; it is new if it was not seen before. */
static pgcn_status node_of(own *in, const pgcn_i_rows *rows, const char *id, int64_t *node) {
    if (*id == '\0')
        return pgcn_i_text_fail(rows->text, "found an empty cell, expected the id of a node");
    if (in->counted < 0) return pgcn_i_id_map_add(&in->ids, id, node);
    const char *at = id;
    if (!pgcn_i_parse_i64(&at, node) || *at != '\0' || *node < 0 || *node >= in->counted)
        return not_counted(in, rows, id);
    return PGCN_OK;
}

static const char *id_text(const own *in, int64_t node, char scratch[24]) {
    if (in->counted < 0) return pgcn_i_id_map_text(&in->ids, node);
    snprintf(scratch, 24, "%lld", (long long)node);
    return scratch;
}

static bool is_utf8(const char *text) {
    return pgcn_i_is_utf8(text, (int64_t)strlen(text));
}

static const char *file_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Appends to the note on the first lines: the user is always told what they were taken for. */
static void tell_first_line(own *in, const pgcn_i_layout *layout) {
    size_t used = strlen(in->first_lines);
    snprintf(in->first_lines + used, sizeof in->first_lines - used,
             "%s'%s' (line %lld of %.60s) was taken for %s: %s", used ? "; " : "", layout->first,
             (long long)layout->first_line, file_of(layout->path),
             layout->header ? "a header" : "data", layout->why);
}

/* Finds how a file is laid out. */
static pgcn_status find_layout(own *in, const char *path, pgcn_i_role role, int64_t least_columns,
                               const char *expected, pgcn_i_layout *out) {
    pgcn_i_known known = {.role = role,
                          .header = in->files->header,
                          .id_column = in->id_column,
                          .ids = &in->ids,
                          .ids_are_rows = in->counted >= 0,
                          .edges = in->files->edges};
    PGCN_TRY(pgcn_i_layout_find(path, &known, &in->scratch, out));
    if (out->columns == 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "reading '%s': it has no rows, expected %s", path,
                           expected);
    if (out->columns < least_columns)
        return pgcn_i_fail(
            PGCN_ERR_FORMAT,
            "reading '%s': its rows have %lld cell%s, expected %s; cells are separated "
            "by commas, tabs, semicolons or blanks",
            path, (long long)out->columns, out->columns == 1 ? "" : "s", expected);
    tell_first_line(in, out);
    return PGCN_OK;
}

/* Calls `take` for every row. */
typedef pgcn_status (*take_row)(own *in, const pgcn_i_rows *rows, char **cell);

static pgcn_status for_each_row(own *in, const pgcn_i_layout *layout, take_row take) {
    pgcn_i_rows rows;
    char **cell;
    pgcn_status status;
    PGCN_TRY_GOTO(pgcn_i_rows_open(&rows, layout));
    for (;;) {
        PGCN_TRY_GOTO(pgcn_i_rows_next(&rows, &cell));
        if (!cell) break;
        PGCN_TRY_GOTO(take(in, &rows, cell));
    }
fail:
    pgcn_i_rows_close(&rows);
    return status;
}

/* Names in the arena of the source; empty if there is no header. */
static pgcn_status name_columns(own *in, const pgcn_i_layout *layout, pgcn_i_names *out) {
    if (!layout->header) return PGCN_OK;
    int64_t count = layout->columns - 1, bytes = 0;
    for (int64_t i = 1; i <= count; i++) bytes += (int64_t)strlen(layout->header[i]) + 1;
    int64_t *offset = PGCN_I_ARRAY(&in->source->arena, int64_t, count + 1);
    char *text = PGCN_I_ARRAY(&in->source->arena, char, bytes);
    if (!offset || !text) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) {
        size_t length = strlen(layout->header[i + 1]) + 1;
        memcpy(text + offset[i], layout->header[i + 1], length);
        offset[i + 1] = offset[i] + (int64_t)length;
    }
    *out = (pgcn_i_names){count, offset, text};
    return PGCN_OK;
}

/* What to do about a cell that should be a number: a decimal comma is named, else `otherwise`. */
static const char *advise_number(const char *cell, const char *otherwise, char out[128]) {
    char number[PGCN_I_EXCERPT];
    const char *begin = cell + (*cell == '"'), *at = number;
    size_t length = strcspn(begin, "\"");
    float value;
    snprintf(number, sizeof number, "%.*s", (int)length, begin);
    char *comma = strchr(number, ',');
    if (comma) *comma = '.';
    if (!comma || !pgcn_i_parse_f32(&at, &value) || *at) return otherwise;
    snprintf(out, 128, "write decimals with a point: %s", number);
    return out;
}

/* ---- features ---------------------------------------------------------------------------------- */

static pgcn_status bad_feature(const pgcn_i_layout *layout, int64_t column, const char *cell) {
    char before[1024], name[PGCN_I_EXCERPT] = "", advice[128];
    snprintf(before, sizeof before, "%.1000s", pgcn_last_error());
    if (layout->header) {
        const char *full = layout->header[column + 1];
        pgcn_i_text_excerpt(full, (int64_t)strlen(full), name);
    }
    return pgcn_i_fail(
        PGCN_ERR_FORMAT, "%s%s%s%s; %s", before, *name ? " (feature '" : "", name,
        *name ? "')" : "",
        advise_number(cell,
                      "features are numbers: write a category as one column of 0 and 1 for each "
                      "of its values, and put a number where one is missing",
                      advice));
}

/* The ids of the rows become the first nodes. */
static pgcn_status number_rows(own *in, const char *path, const pgcn_i_table *table) {
    const char *id = table->id.data;
    for (int64_t row = 0; row < table->rows; row++, id += strlen(id) + 1) {
        int64_t node;
        PGCN_TRY(pgcn_i_id_map_add(&in->ids, id, &node));
        if (node == row) continue;
        const int64_t *line = (const int64_t *)(const void *)table->line.data;
        char shown[PGCN_I_EXCERPT];
        pgcn_i_text_excerpt(id, (int64_t)strlen(id), shown);
        return pgcn_i_fail(
            PGCN_ERR_FORMAT,
            "reading '%s': line %lld: the id '%s' was already in line %lld, expected "
            "each node once; remove one of the two",
            path, (long long)line[row], shown, (long long)line[node]);
    }
    return PGCN_OK;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Predictions find columns by their names, which takes one name for each. */
static pgcn_status tell_column_names(own *in, const pgcn_i_layout *layout) {
    int64_t count = layout->columns - 1;
    const char *file = file_of(layout->path);
    if (!layout->header) return PGCN_OK;
    const char **name = PGCN_I_ARRAY(&in->scratch, const char *, count);
    if (!name) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) name[i] = layout->header[i + 1];
    for (int64_t i = 0; i < count; i++)
        if (!is_utf8(name[i])) /* train/columns.c leaves the names away */
            return pgcn_i_source_note(
                in->source,
                "the header of %.60s is not UTF-8 text, so that a model knows "
                "its columns by their order only; save the file as UTF-8",
                file);
    qsort(name, (size_t)count, sizeof *name, by_text);
    for (int64_t i = 1; i < count; i++)
        if (strcmp(name[i - 1], name[i]) == 0)
            return pgcn_i_source_note(in->source,
                                      "two columns of %.60s are called '%.60s': they can be told "
                                      "apart by their order only; rename one",
                                      file, name[i]);
    return PGCN_OK;
}

static pgcn_status read_text_features(own *in) {
    const char *path = in->files->features;
    pgcn_i_layout layout;
    pgcn_i_table table;
    PGCN_TRY(find_layout(in, path, PGCN_I_ROLE_FEATURES, 2, "an id and at least one number per row",
                         &layout));
    if (layout.header) in->id_column = layout.header[0];
    pgcn_i_table_rule rule = {.dtype = PGCN_I_F32,
                              .delimiter = layout.delimiter,
                              .ids = true,
                              .comments = true,
                              .columns = layout.columns - 1,
                              .skip = layout.header_line};
    pgcn_status status = pgcn_i_table_read(path, &rule, &table);
    if (status == PGCN_ERR_FORMAT && table.bad_column >= 0)
        return bad_feature(&layout, table.bad_column, table.bad_cell);
    if (status != PGCN_OK) return status;
    status = number_rows(in, path, &table);
    if (status == PGCN_OK) status = name_columns(in, &layout, &in->source->feature_name);
    if (status == PGCN_OK) status = tell_column_names(in, &layout);
    in->x_rows = table.rows;
    in->x_columns = table.columns;
    in->x = table.cell;
    table.cell = (pgcn_i_buffer){0};
    pgcn_i_table_free(&table);
    return status;
}

static bool ends_with(const char *path, const char *ending) {
    size_t length = strlen(path), tail = strlen(ending);
    return length >= tail && strcmp(path + length - tail, ending) == 0;
}

/* Any numeric array becomes float32; whether it is finite is checked by check.c. */
static pgcn_status read_npy_features(own *in) {
    pgcn_i_array array;
    PGCN_TRY(pgcn_i_npy_read(in->files->features, &in->source->arena, &array));
    if (array.rank != 2 || array.shape[0] < 1 || array.shape[1] < 1 ||
        array.shape[0] >= INT32_MAX) {
        char shape[PGCN_I_SHAPE_TEXT];
        pgcn_i_shape_text(array.dtype, array.rank, array.shape, shape);
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': found an array %s, expected [nodes, features]; use "
                           "a.reshape(nodes, -1)",
                           in->files->features, shape);
    }
    const float *dense = array.data;
    if (array.dtype != PGCN_I_F32) {
        float *converted = PGCN_I_ARRAY(&in->source->arena, float, array.count);
        if (!converted) return PGCN_ERR_MEMORY;
        for (int64_t i = 0; i < array.count; i++)
            converted[i] = array.dtype == PGCN_I_F64   ? (float)((double *)array.data)[i]
                           : array.dtype == PGCN_I_I64 ? (float)((int64_t *)array.data)[i]
                           : array.dtype == PGCN_I_I32 ? (float)((int32_t *)array.data)[i]
                                                       : (float)((uint8_t *)array.data)[i];
        pgcn_i_arena_drop(&in->source->arena, array.data);
        dense = converted;
    }
    in->counted = array.shape[0];
    return pgcn_i_source_features(in->source, dense, array.shape[0], array.shape[1]);
}

/* ---- labels ------------------------------------------------------------------------------------ */

/* One byte per class: 0, 1, or 2 for not known, which holds for all of a node or for none. */
static pgcn_status take_many_labels(own *in, const pgcn_i_rows *rows, char **cell,
                                    int64_t classes) {
    uint8_t *out = pgcn_i_buffer_add(&in->label_cell, classes);
    int64_t unknown = 0;
    if (!out) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < classes; i++) {
        float value = -1;
        const char *at = cell[i];
        bool missing = pgcn_i_is_missing(at);
        bool number = pgcn_i_parse_f32(&at, &value) && *at == '\0';
        if (!missing && !(number && (value == 0 || value == 1))) {
            char shown[PGCN_I_EXCERPT];
            pgcn_i_text_excerpt(cell[i], (int64_t)strlen(cell[i]), shown);
            return pgcn_i_text_fail(
                rows->text,
                "column %lld: found '%s', expected 0 or 1, since there are several "
                "label columns; for one class per node give one column",
                (long long)i + 2, shown);
        }
        out[i] = missing ? 2 : value == 1;
        unknown += missing;
    }
    if (unknown > 0 && unknown < classes)
        return pgcn_i_text_fail(
            rows->text,
            "%lld of %lld labels are not known, expected all labels of a node or "
            "none; leave all its cells empty",
            (long long)unknown, (long long)classes);
    return PGCN_OK;
}

/* Models keep the names of classes as JSON text: refused here, where the line is known. */
static pgcn_status bad_class(const char *path, int64_t line, const char *name) {
    char shown[PGCN_I_EXCERPT];
    pgcn_i_text_excerpt(name, (int64_t)strlen(name), shown);
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s': line %lld: the class '%s' is not UTF-8 text; save the file "
                       "as UTF-8",
                       path, (long long)line, shown);
}

static pgcn_status take_label(own *in, const pgcn_i_rows *rows, char **cell) {
    int64_t node, classes = in->label_layout.columns - 1;
    PGCN_TRY(node_of(in, rows, cell[0], &node));
    PGCN_TRY(pgcn_i_push_i32(&in->label_node, node));
    int64_t *line = pgcn_i_buffer_add(&in->label_line, (int64_t)sizeof *line);
    if (!line) return PGCN_ERR_MEMORY;
    *line = pgcn_i_text_line_number(rows->text);
    if (classes > 1) return take_many_labels(in, rows, cell + 1, classes);
    const char *label = pgcn_i_is_missing(cell[1]) ? "" : cell[1];
    if (!is_utf8(label)) return bad_class(in->files->labels, *line, label);
    int64_t bytes = (int64_t)strlen(label) + 1;
    char *text = pgcn_i_buffer_add(&in->label_text, bytes);
    if (!text) return PGCN_ERR_MEMORY;
    memcpy(text, label, (size_t)bytes);
    return PGCN_OK;
}

static pgcn_status read_labels(own *in) {
    PGCN_TRY(find_layout(in, in->files->labels, PGCN_I_ROLE_LABELS, 2, "an id and a label per row",
                         &in->label_layout));
    const pgcn_i_layout *layout = &in->label_layout;
    for (int64_t i = 1; layout->header && layout->columns > 2 && i < layout->columns; i++)
        if (!is_utf8(layout->header[i]))
            return bad_class(in->files->labels, layout->header_line, layout->header[i]);
    return for_each_row(in, layout, take_label);
}

/* ---- edges ------------------------------------------------------------------------------------- */

static pgcn_status bad_weight(const pgcn_i_rows *rows, char **cell, bool number, float value) {
    char shown[3][PGCN_I_EXCERPT], advice[128];
    for (int i = 0; i < 3; i++) pgcn_i_text_excerpt(cell[i], (int64_t)strlen(cell[i]), shown[i]);
    if (!number)
        return pgcn_i_text_fail(
            rows->text, "found the weight '%s', expected a finite number; %s", shown[2],
            advise_number(cell[2],
                          "the third column of the edges is their weight: remove it if it is "
                          "something else",
                          advice));
    return pgcn_i_text_fail(
        rows->text, "the edge from '%s' to '%s' has the weight %s, expected one above 0; %s",
        shown[0], shown[1], shown[2],
        value < 0 ? "paths follow an edge with a probability in proportion to its weight: leave "
                    "such edges out, or write weights above 0"
                  : "leave edges of weight 0 out");
}

static pgcn_status take_edge(own *in, const pgcn_i_rows *rows, char **cell) {
    int64_t from, to;
    PGCN_TRY(node_of(in, rows, cell[0], &from));
    PGCN_TRY(node_of(in, rows, cell[1], &to));
    PGCN_TRY(pgcn_i_push_i32(&in->from, from));
    PGCN_TRY(pgcn_i_push_i32(&in->to, to));
    if (rows->layout->columns == 2) return PGCN_OK;
    const char *at = cell[2];
    float value = 0;
    bool number = pgcn_i_parse_f32(&at, &value) && *at == '\0' && isfinite(value);
    if (!number || value <= 0) return bad_weight(rows, cell, number, value);
    float *place = pgcn_i_buffer_add(&in->weight, (int64_t)sizeof *place);
    if (!place) return PGCN_ERR_MEMORY;
    *place = value;
    return PGCN_OK;
}

static pgcn_status read_edges(own *in) {
    pgcn_i_layout layout;
    const char *path = in->files->edges;
    PGCN_TRY(find_layout(in, path, PGCN_I_ROLE_EDGES, 2, "two ids and perhaps a weight per row",
                         &layout));
    if (layout.columns > 3)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': its rows have %lld cells, expected two ids and perhaps a "
                           "weight; keep these columns only",
                           path, (long long)layout.columns);
    return for_each_row(in, &layout, take_edge);
}

/* ---- ids that match nothing ------------------------------------------------------------------ */

enum { SHOWN_IDS = 3, SHOWN_BYTES = SHOWN_IDS * (PGCN_I_EXCERPT + 4) };

/* Which ids a file has: has[id of the map]. */
typedef struct id_set {
    const char *path;
    uint8_t *has;
} id_set;

static pgcn_status mark_ids(own *in, const char *path, const pgcn_i_buffer *node, id_set *out) {
    const int32_t *number = (const int32_t *)(const void *)node->data;
    int64_t count = node->bytes / (int64_t)sizeof *number;
    *out = (id_set){path, PGCN_I_ARRAY(&in->scratch, uint8_t, in->ids.count)};
    if (!out->has) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) out->has[number[i]] = 1;
    return PGCN_OK;
}

/* Ids for people: how many, and the first few, quoted. */
typedef struct id_list {
    int64_t count;
    char text[SHOWN_BYTES];
} id_list;

static void list_id(id_list *list, const char *id) {
    char shown[PGCN_I_EXCERPT];
    if (list->count++ > SHOWN_IDS) return;
    size_t used = strlen(list->text);
    pgcn_i_text_excerpt(id, (int64_t)strlen(id), shown);
    if (list->count <= SHOWN_IDS)
        snprintf(list->text + used, SHOWN_BYTES - used, "%s'%s'", used ? ", " : "", shown);
    else
        snprintf(list->text + used, SHOWN_BYTES - used, ", ...");
}

/* The ids that only one of two sets has. */
static id_list list_ids(const own *in, const id_set *set, const id_set *without) {
    id_list list = {0};
    for (int64_t i = 0; i < in->ids.count; i++)
        if (set->has[i] && !without->has[i]) list_id(&list, pgcn_i_id_map_text(&in->ids, i));
    return list;
}

static void tell_if_not_utf8(own *in, const id_set *set) {
    for (int64_t i = 0; i < in->ids.count; i++) {
        const char *id = pgcn_i_id_map_text(&in->ids, i);
        if (!set->has[i] || is_utf8(id)) continue;
        size_t used = strlen(in->not_utf8);
        snprintf(in->not_utf8 + used, sizeof in->not_utf8 - used,
                 "; %.60s does not look like UTF-8, which is likely the reason: save it as UTF-8",
                 file_of(set->path));
        return;
    }
}

/* What `set` has and `other` should have. Few of them are as they are; many mean that ids are written in
 * two ways, and a model would learn from a graph that nobody has. */
static pgcn_status compare_ids(own *in, const id_set *set, const id_set *other, const char *lacks) {
    enum { ONE_OF = 10 };
    int64_t ids = 0;
    for (int64_t i = 0; i < in->ids.count; i++) ids += set->has[i];
    const id_list unknown = list_ids(in, set, other);
    if (unknown.count == 0) return PGCN_OK;
    in->not_utf8[0] = '\0';
    tell_if_not_utf8(in, set);
    tell_if_not_utf8(in, other);
    if (ONE_OF * unknown.count > ids && in->files->unknown_ids == PGCN_UNKNOWN_REFUSE)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "%lld of the %lld ids of '%s' are not in '%s' (%s), more than a "
                           "tenth%s; write each id the same way in all files, or say --unknown-ids "
                           "keep if these are nodes without %s",
                           (long long)unknown.count, (long long)ids, set->path, other->path,
                           unknown.text, in->not_utf8, lacks);
    if (in->files->features) return PGCN_OK; /* place_features() tells */
    return pgcn_i_source_note(in->source, "%lld of the %lld ids of %.60s are not in %.60s: %s%s",
                              (long long)unknown.count, (long long)ids, file_of(set->path),
                              file_of(other->path), unknown.text, in->not_utf8);
}

/* Labels and edges against features; without features, labels against edges. */
static pgcn_status compare_files(own *in, const id_set *features, const id_set *labels,
                                 const id_set *edges) {
    if (!features->path) return compare_ids(in, labels, edges, "edges");
    if (labels->path) PGCN_TRY(compare_ids(in, labels, features, "features"));
    return compare_ids(in, edges, features, "features");
}

static pgcn_status check_ids(own *in) {
    const pgcn_i_own_files *files = in->files;
    const pgcn_i_buffer none = {0};
    id_set set[3]; /* features, labels, edges */
    if (in->counted >= 0 || (!files->features && !files->labels)) return PGCN_OK;
    PGCN_TRY(mark_ids(in, files->features, &none, &set[0]));
    PGCN_TRY(mark_ids(in, files->labels, &in->label_node, &set[1]));
    PGCN_TRY(mark_ids(in, files->edges, &in->from, &set[2]));
    memset(set[0].has, 1, (size_t)in->x_rows); /* they are the first of the map */
    const int32_t *to = (const int32_t *)(const void *)in->to.data;
    for (int64_t e = 0; e < in->to.bytes / (int64_t)sizeof *to; e++) set[2].has[to[e]] = 1;
    pgcn_status status = compare_files(in, &set[0], &set[1], &set[2]);
    for (int i = 0; i < 3; i++) pgcn_i_arena_drop(&in->scratch, set[i].has);
    return status;
}

/* ---- the order of the nodes -------------------------------------------------------------------- */

typedef struct numbered {
    int64_t value;
    int32_t node;
} numbered;

static int by_value(const void *a, const void *b) {
    int64_t x = ((const numbered *)a)->value, y = ((const numbered *)b)->value;
    return (x > y) - (x < y);
}

/* "7", not "07", "+7" or "-0": what printing the number gives. */
static bool is_plain_count(const char *text) {
    return text[0] >= '0' && text[0] <= '9' && (text[0] != '0' || text[1] == '\0');
}

/* Sorts ids that are all whole numbers and finds where each node goes; *counted tells whether they are
 * just 0..n-1. *whole = false: some id is no whole number, and nothing is done. */
static pgcn_status sort_ids(own *in, bool *whole, bool *counted) {
    int64_t n = in->ids.count;
    numbered *id = PGCN_I_ARRAY(&in->scratch, numbered, n);
    if (!id) return PGCN_ERR_MEMORY;
    bool plain = true, sorted = true;
    *whole = true;
    for (int64_t i = 0; i < n && *whole; i++) {
        const char *text = pgcn_i_id_map_text(&in->ids, i), *at = text;
        *whole = pgcn_i_parse_i64(&at, &id[i].value) && *at == '\0';
        id[i].node = (int32_t)i;
        plain = plain && is_plain_count(text);
        sorted = sorted && (i == 0 || id[i - 1].value < id[i].value);
    }
    if (!*whole) return PGCN_OK;
    if (!sorted) {
        qsort(id, (size_t)n, sizeof *id, by_value);
        if (!(in->place = PGCN_I_ARRAY(&in->scratch, int32_t, n))) return PGCN_ERR_MEMORY;
        for (int64_t i = 0; i < n; i++) in->place[id[i].node] = (int32_t)i;
    }
    for (int64_t i = 1; i < n; i++)
        if (id[i].value == id[i - 1].value)
            return pgcn_i_fail(
                PGCN_ERR_FORMAT,
                "the ids '%s' and '%s' are different texts of the same number, so it is "
                "not clear whether they are one node; write each id the same way in "
                "all files",
                pgcn_i_id_map_text(&in->ids, id[i - 1].node),
                pgcn_i_id_map_text(&in->ids, id[i].node));
    *counted = plain && n > 0 && id[0].value == 0 && id[n - 1].value == n - 1;
    return PGCN_OK;
}

static int64_t place_of(const own *in, int64_t node) {
    return in->place ? in->place[node] : node;
}

/* The model does without ids, but JSON cannot hold these. */
static pgcn_status tell_ids_not_utf8(own *in) {
    for (int64_t i = 0; i < in->ids.count && !*in->not_utf8; i++) {
        const char *id = pgcn_i_id_map_text(&in->ids, i);
        char shown[PGCN_I_EXCERPT];
        if (is_utf8(id)) continue;
        pgcn_i_text_excerpt(id, (int64_t)strlen(id), shown);
        return pgcn_i_source_note(in->source,
                                  "ids like '%s' are not UTF-8 text: they come back unchanged in "
                                  "CSV, but not in JSON; save your files as UTF-8",
                                  shown);
    }
    return PGCN_OK;
}

static pgcn_status name_nodes(own *in) {
    int64_t n = in->ids.count;
    PGCN_TRY(tell_ids_not_utf8(in));
    int64_t *offset = PGCN_I_ARRAY(&in->source->arena, int64_t, n + 1);
    char *text = PGCN_I_ARRAY(&in->source->arena, char, in->ids.text.bytes);
    if (!offset || !text) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++)
        offset[place_of(in, i) + 1] = (int64_t)strlen(pgcn_i_id_map_text(&in->ids, i)) + 1;
    for (int64_t i = 0; i < n; i++) offset[i + 1] += offset[i];
    for (int64_t i = 0; i < n; i++)
        strcpy(text + offset[place_of(in, i)], pgcn_i_id_map_text(&in->ids, i));
    in->source->node_id = (pgcn_i_names){n, offset, text};
    return PGCN_OK;
}

static pgcn_status order_nodes(own *in) {
    bool whole = false, counted = in->counted >= 0;
    in->source->nodes = nodes_so_far(in);
    if (!counted) PGCN_TRY(sort_ids(in, &whole, &counted));
    return counted ? PGCN_OK : name_nodes(in);
}

/* ---- everything in that order ------------------------------------------------------------------ */

static pgcn_status place_edges(own *in) {
    pgcn_i_source *source = in->source;
    source->edges = in->from.bytes / (int64_t)sizeof(int32_t);
    pgcn_i_buffer *side[2] = {&in->from, &in->to};
    for (int k = 0; k < 2; k++) {
        int32_t *node = pgcn_i_arena_take(&source->edge_arena, side[k]);
        if (!node) return PGCN_ERR_MEMORY;
        for (int64_t e = 0; in->place && e < source->edges; e++) node[e] = in->place[node[e]];
        *(k == 0 ? &source->edge_from : &source->edge_to) = node;
    }
    source->directed = true;
    if (in->weight.bytes == 0) return PGCN_OK;
    source->edge_weight = pgcn_i_arena_take(&source->edge_arena, &in->weight);
    return source->edge_weight ? PGCN_OK : PGCN_ERR_MEMORY;
}

/* Moves row i to row place[i], in place: along each cycle of the permutation. */
static pgcn_status permute_rows(own *in, float *x) {
    int64_t n = in->source->nodes, columns = in->x_columns;
    uint8_t *done = PGCN_I_ARRAY(&in->scratch, uint8_t, n);
    float *held = PGCN_I_ARRAY(&in->scratch, float, columns);
    if (!done || !held) return PGCN_ERR_MEMORY;
    for (int64_t first = 0; first < n; first++) {
        if (done[first]) continue;
        memcpy(held, x + first * columns, (size_t)columns * sizeof *x);
        int64_t to = first;
        do {
            to = in->place[to];
            float *row = x + to * columns;
            for (int64_t j = 0; j < columns; j++) {
                float old = row[j];
                row[j] = held[j];
                held[j] = old;
            }
            done[to] = 1;
        } while (to != first);
    }
    return PGCN_OK;
}

/* Tells which nodes have no row of features. Almost none with a row means that the ids of the files do not
 * match, and it would ask for memory that no file accounts for. */
static pgcn_status tell_featureless(own *in) {
    enum { MOST_PER_ROW = 10 };
    int64_t missing = in->source->nodes - in->x_rows;
    if (missing == 0) return PGCN_OK;
    id_set all = {NULL, PGCN_I_ARRAY(&in->scratch, uint8_t, in->ids.count)},
           none = {NULL, PGCN_I_ARRAY(&in->scratch, uint8_t, in->ids.count)};
    if (!all.has || !none.has) return PGCN_ERR_MEMORY;
    memset(all.has + in->x_rows, 1, (size_t)missing);
    const id_list names = list_ids(in, &all, &none);
    if (missing / MOST_PER_ROW > in->x_rows)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "%lld of %lld nodes are not in '%s' (%s); are the ids of the files "
                           "written the same way?",
                           (long long)missing, (long long)in->source->nodes, in->files->features,
                           names.text);
    return pgcn_i_source_note(in->source,
                              "%lld node%s not in %.60s and %s the mean of the training "
                              "nodes in its columns: %s%s",
                              (long long)missing, missing == 1 ? " is" : "s are",
                              file_of(in->files->features), missing == 1 ? "gets" : "get",
                              names.text, in->not_utf8);
}

static pgcn_status place_features(own *in) {
    if (in->x_columns == 0) return PGCN_OK; /* none, or from .npy and in place */
    int64_t missing;
    PGCN_TRY(tell_featureless(in));
    if (!pgcn_i_mul(in->source->nodes - in->x_rows, in->x_columns * (int64_t)sizeof(float),
                    &missing))
        missing = INT64_MAX; /* refused by the next line */
    char *zeros = pgcn_i_buffer_add(&in->x, missing);
    if (!zeros) return PGCN_ERR_MEMORY;
    memset(zeros, 0, (size_t)missing);
    float *x = pgcn_i_arena_take(&in->source->arena, &in->x);
    if (!x) return PGCN_ERR_MEMORY;
    if (in->place) PGCN_TRY(permute_rows(in, x));
    PGCN_TRY(pgcn_i_source_features(in->source, x, in->source->nodes, in->x_columns));
    if (in->x_rows == in->source->nodes) return PGCN_OK;
    uint8_t *absent = PGCN_I_ARRAY(&in->source->arena, uint8_t, in->source->nodes);
    if (!absent) return PGCN_ERR_MEMORY;
    for (int64_t i = in->x_rows; i < in->source->nodes; i++) absent[place_of(in, i)] = 1;
    in->source->x.absent = absent;
    return PGCN_OK;
}

/* The row of labels of each node of the final order, or -1; a node twice is an error. */
static pgcn_status find_label_rows(own *in, int64_t **out) {
    int64_t n = in->source->nodes, rows = in->label_node.bytes / (int64_t)sizeof(int32_t);
    const int32_t *node = (const int32_t *)(const void *)in->label_node.data;
    const int64_t *line = (const int64_t *)(const void *)in->label_line.data;
    int64_t *row_of = PGCN_I_ARRAY(&in->scratch, int64_t, n);
    if (!row_of) return PGCN_ERR_MEMORY;
    memset(row_of, -1, (size_t)n * sizeof *row_of);
    for (int64_t row = 0; row < rows; row++) {
        int64_t *place = &row_of[place_of(in, node[row])];
        char scratch[24], shown[PGCN_I_EXCERPT];
        if (*place >= 0) {
            const char *id = id_text(in, node[row], scratch);
            pgcn_i_text_excerpt(id, (int64_t)strlen(id), shown);
            return pgcn_i_fail(
                PGCN_ERR_FORMAT,
                "reading '%s': line %lld: the id '%s' was already in line %lld, expected "
                "each node once; for several labels of a node give a column of 0 and 1 "
                "for each",
                in->files->labels, (long long)line[row], shown, (long long)line[*place]);
        }
        *place = row;
    }
    *out = row_of;
    return PGCN_OK;
}

static pgcn_status place_many_labels(own *in, const int64_t *row_of) {
    pgcn_i_source *source = in->source;
    int64_t n = source->nodes, classes = in->label_layout.columns - 1, count;
    if (classes > INT32_MAX || !pgcn_i_mul(n, classes, &count))
        return pgcn_i_fail(PGCN_ERR_FORMAT, "reading '%s': it has %lld label columns, too many",
                           in->files->labels, (long long)classes);
    uint8_t *labels = PGCN_I_ARRAY(&source->arena, uint8_t, count);
    uint8_t *known = PGCN_I_ARRAY(&source->arena, uint8_t, n);
    if (!labels || !known) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        if (row_of[i] < 0) continue;
        const uint8_t *row = (const uint8_t *)in->label_cell.data + row_of[i] * classes;
        known[i] = row[0] != 2;
        for (int64_t c = 0; known[i] && c < classes; c++) labels[i * classes + c] = row[c];
    }
    source->labels = labels;
    source->label_known = known;
    source->classes = (int)classes;
    return name_columns(in, &in->label_layout, &source->class_name);
}

/* The text of each row of labels. */
static pgcn_status list_label_texts(own *in, const char ***out) {
    int64_t rows = in->label_node.bytes / (int64_t)sizeof(int32_t);
    const char **text = PGCN_I_ARRAY(&in->scratch, const char *, rows), *at = in->label_text.data;
    if (!text) return PGCN_ERR_MEMORY;
    for (int64_t row = 0; row < rows; row++, at += strlen(at) + 1) text[row] = at;
    *out = text;
    return PGCN_OK;
}

static pgcn_status number_whole_labels(own *in, const char *const *text, const int64_t *row_of,
                                       bool *whole) {
    pgcn_i_source *source = in->source;
    int64_t *code = PGCN_I_ARRAY(&in->scratch, int64_t, source->nodes), least = INT64_MAX;
    if (!code) return PGCN_ERR_MEMORY;
    *whole = true;
    for (int64_t i = 0; i < source->nodes && *whole; i++) {
        const char *at = row_of[i] < 0 ? "" : text[row_of[i]];
        code[i] = INT64_MIN;
        if (*at == '\0') continue;
        *whole = pgcn_i_parse_i64(&at, &code[i]) && *at == '\0';
        if (code[i] < least) least = code[i];
    }
    if (!*whole) return PGCN_OK;
    pgcn_i_class_codes codes = {.code = code, .count = source->nodes, .missing = INT64_MIN};
    PGCN_TRY(pgcn_i_source_number_classes(source, codes, &source->label, &source->classes,
                                          &source->class_name));
    if (least != -1 || source->classes < 3) return PGCN_OK;
    return pgcn_i_source_note(
        source,
        "the label -1 in %s is taken as a class like the others; write ? or leave "
        "the cell empty if it means that the label is not known",
        in->files->labels);
}

/* Classes that are words: numbered in the order of their bytes. */
static pgcn_status sort_classes(own *in, const pgcn_i_id_map *found, int32_t *rank) {
    int64_t count = found->count;
    const char **name = PGCN_I_ARRAY(&in->scratch, const char *, count);
    int64_t *offset = PGCN_I_ARRAY(&in->source->arena, int64_t, count + 1);
    char *text = PGCN_I_ARRAY(&in->source->arena, char, found->text.bytes);
    if (!name || !offset || !text) return PGCN_ERR_MEMORY;
    for (int64_t c = 0; c < count; c++) name[c] = pgcn_i_id_map_text(found, c);
    qsort(name, (size_t)count, sizeof *name, by_text);
    for (int64_t c = 0; c < count; c++) {
        rank[pgcn_i_id_map_find(found, name[c])] = (int32_t)c;
        strcpy(text + offset[c], name[c]);
        offset[c + 1] = offset[c] + (int64_t)strlen(name[c]) + 1;
    }
    in->source->class_name = (pgcn_i_names){count, offset, text};
    in->source->classes = (int)count;
    return PGCN_OK;
}

static pgcn_status number_words(own *in, const char *const *text, const int64_t *row_of,
                                pgcn_i_id_map *found) {
    pgcn_i_source *source = in->source;
    int32_t *label = PGCN_I_ARRAY(&source->arena, int32_t, source->nodes);
    if (!label) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < source->nodes; i++) {
        int64_t class = -1;
        if (row_of[i] >= 0 && *text[row_of[i]])
            PGCN_TRY(pgcn_i_id_map_add(found, text[row_of[i]], &class));
        label[i] = (int32_t) class;
    }
    int32_t *rank = PGCN_I_ARRAY(&in->scratch, int32_t, found->count);
    if (!rank) return PGCN_ERR_MEMORY;
    PGCN_TRY(sort_classes(in, found, rank));
    for (int64_t i = 0; i < source->nodes; i++)
        if (label[i] >= 0) label[i] = rank[label[i]];
    source->label = label;
    return PGCN_OK;
}

static pgcn_status tell_single_class(own *in) {
    const pgcn_i_names *names = &in->source->class_name;
    if (in->source->classes != 1) return PGCN_OK;
    return pgcn_i_source_note(in->source,
                              "all labels of %.60s are '%.60s': there is nothing to learn; "
                              "training needs at least two classes",
                              file_of(in->files->labels), names->count ? names->text : "0");
}

static pgcn_status place_labels(own *in) {
    int64_t *row_of = NULL;
    const char **text = NULL;
    bool whole = false;
    if (!in->files->labels) return PGCN_OK;
    PGCN_TRY(find_label_rows(in, &row_of));
    if (in->label_layout.columns > 2) return place_many_labels(in, row_of);
    PGCN_TRY(list_label_texts(in, &text));
    PGCN_TRY(number_whole_labels(in, text, row_of, &whole));
    pgcn_i_id_map found = {0};
    pgcn_status status = whole ? PGCN_OK : number_words(in, text, row_of, &found);
    pgcn_i_id_map_free(&found);
    if (status == PGCN_OK) status = tell_single_class(in);
    if (status != PGCN_OK || !pgcn_i_source_has_numbers(in->source)) return status;
    return pgcn_i_source_note(in->source,
                              "the labels of %.60s are %d different numbers, each taken as a "
                              "class: " PGCN_I_NO_REGRESSION,
                              file_of(in->files->labels), in->source->classes);
}

/* ---- splits ------------------------------------------------------------------------------------ */

enum { MAX_SPLITS = 1000 };

static pgcn_status take_split(own *in, const pgcn_i_rows *rows, char **cell) {
    int64_t node;
    char shown[PGCN_I_EXCERPT];
    pgcn_i_text_excerpt(cell[0], (int64_t)strlen(cell[0]), shown);
    if (in->counted >= 0)
        PGCN_TRY(node_of(in, rows, cell[0], &node));
    else
        node = pgcn_i_id_map_find(&in->ids, cell[0]);
    if (node < 0)
        return pgcn_i_text_fail(rows->text, "the id '%s' is in none of the other files", shown);
    node = place_of(in, node);
    if (in->split_line[node])
        return pgcn_i_text_fail(
            rows->text,
            "the id '%s' was already in line %lld, expected each node once; for "
            "several splits give a column for each",
            shown, (long long)in->split_line[node]);
    in->split_line[node] = pgcn_i_text_line_number(rows->text);
    for (int64_t s = 0; s + 1 < rows->layout->columns; s++) {
        int part = pgcn_i_part_of(cell[s + 1]);
        if (part < 0) {
            pgcn_i_text_excerpt(cell[s + 1], (int64_t)strlen(cell[s + 1]), shown);
            return pgcn_i_text_fail(
                rows->text,
                "column %lld: found '%s', expected train, val, test or an empty "
                "cell",
                (long long)s + 2, shown);
        }
        if (part < 3) in->mask[3 * s + part][node] = 1;
    }
    return PGCN_OK;
}

static bool is_in_a_split(const own *in, int64_t node, int64_t splits) {
    bool found = false;
    for (int64_t m = 0; m < 3 * splits; m++) found = found || in->mask[m][node];
    return found;
}

/* What pgcn_i_source_unmask() is about to take out. */
static pgcn_status tell_unlabelled(own *in, int64_t splits) {
    id_list list = {0};
    for (int64_t i = 0; i < nodes_so_far(in); i++) {
        int64_t node = place_of(in, i);
        if (pgcn_i_source_has_label(in->source, node) || !is_in_a_split(in, node, splits)) continue;
        char scratch[24];
        list_id(&list, id_text(in, i, scratch));
    }
    if (list.count == 0) return PGCN_OK;
    return pgcn_i_source_note(
        in->source, "%lld node%s of %.60s %s no label and %s left out of its splits: %s",
        (long long)list.count, list.count == 1 ? "" : "s", file_of(in->files->splits),
        list.count == 1 ? "has" : "have", list.count == 1 ? "is" : "are", list.text);
}

static pgcn_status read_splits(own *in) {
    pgcn_i_source *source = in->source;
    pgcn_i_layout layout;
    if (!in->files->splits) return PGCN_OK;
    PGCN_TRY(find_layout(in, in->files->splits, PGCN_I_ROLE_SPLITS, 2,
                         "an id and train, val or test per row", &layout));
    int64_t splits = layout.columns - 1;
    if (splits > MAX_SPLITS)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "reading '%s': it has %lld splits, expected at most %d",
                           in->files->splits, (long long)splits, MAX_SPLITS);
    in->mask = PGCN_I_ARRAY(&in->scratch, uint8_t *, 3 * splits);
    in->split_line = PGCN_I_ARRAY(&in->scratch, int64_t, source->nodes);
    if (!in->mask || !in->split_line) return PGCN_ERR_MEMORY;
    for (int64_t s = 0; s < splits; s++)
        PGCN_TRY(pgcn_i_source_masks(source, source->nodes, in->mask + 3 * s));
    PGCN_TRY(for_each_row(in, &layout, take_split));
    source->split_origin = "the given file of splits";
    source->split_file = pgcn_i_arena_strdup(&source->arena, in->files->splits);
    if (!source->split_file) return PGCN_ERR_MEMORY;
    PGCN_TRY(tell_unlabelled(in, splits));
    pgcn_i_source_unmask(source);
    return PGCN_OK;
}

/* ---- all of it --------------------------------------------------------------------------------- */

static pgcn_status read_files(own *in) {
    if (in->files->features)
        PGCN_TRY(ends_with(in->files->features, ".npy") ? read_npy_features(in)
                                                        : read_text_features(in));
    if (in->files->labels) PGCN_TRY(read_labels(in));
    PGCN_TRY(read_edges(in));
    PGCN_TRY(check_ids(in));
    PGCN_TRY(order_nodes(in));
    PGCN_TRY(place_edges(in));
    PGCN_TRY(place_features(in));
    PGCN_TRY(place_labels(in));
    PGCN_TRY(read_splits(in));
    return pgcn_i_source_note(
        in->source, "%s%s", in->first_lines,
        in->files->header == PGCN_HEADER_AUTO ? " (--header yes or no decides otherwise)" : "");
}

pgcn_status pgcn_i_own_files_read(const pgcn_i_own_files *files, pgcn_i_source *source) {
    own in = {.files = files, .source = source, .counted = -1};
    source->format = "your own files";
    pgcn_status status = read_files(&in);
    pgcn_i_buffer *buffer[] = {&in.x,          &in.from,       &in.to,         &in.weight,
                               &in.label_node, &in.label_line, &in.label_text, &in.label_cell};
    for (size_t i = 0; i < sizeof buffer / sizeof buffer[0]; i++) pgcn_i_buffer_free(buffer[i]);
    pgcn_i_id_map_free(&in.ids);
    pgcn_i_arena_free(&in.scratch);
    return status;
}
