/* A user's own graph: text files (delimited.c has the rules of cells, header.c of headers, own_columns.c
 * of the columns that are read).
 *
 *   edges      from, to [, weight]         required; several files are one graph
 *   features   id, cells...                own_features.c; or .npy [n, f]: row i is node i
 *   labels     id, class                   any text; ?, nan, NA or an empty cell: not known
 *              id, 0/1, 0/1, ...           several columns: several classes may hold, named by the header
 *   splits     id, train|val|test [, ...]  a column is a split; nodes not named are in no part
 *
 * The nodes are all ids of features, labels and edges. A node may be in one file only: then it has no
 * edges, no label, or no features; instead of features it gets the mean of the training nodes. If all
 * ids are whole numbers, nodes are in ascending order, else in the order of their first appearance in
 * features, labels, edges. Ids are kept as text, unless they are
 * exactly 0..n-1. An id twice in features, labels or splits is an error.
 *
 * Big arrays are not copied: features are permuted in place. Called by load.c and edge_list.c;
 * thread-safe (table.c has its own threads). */
#include "data/own_files.h"

#include <stdio.h>
#include <stdlib.h>

static pgcn_status not_a_row_number(const pgcn_i_own *in, const pgcn_i_rows *rows, const char *id) {
    char shown[PGCN_I_EXCERPT];
    pgcn_i_text_excerpt(id, (int64_t)strlen(id), shown);
    return pgcn_i_text_fail(
        rows->text,
        "found the id '%s', expected a whole number from 0 to %lld: rows of '%s' "
        "have no ids, so its row i is node i; give features as text with an id in "
        "front of each row",
        shown, (long long)in->row_ids - 1, in->files->features);
}

/* The node of an id; it is new if it was not seen before. */
static pgcn_status node_of(pgcn_i_own *in, const pgcn_i_rows *rows, const char *id, int64_t *node) {
    if (*id == '\0')
        return pgcn_i_text_fail(rows->text, "found an empty cell, expected the id of a node");
    if (in->row_ids < 0) return pgcn_i_id_map_add(&in->ids, id, node);
    const char *at = id;
    if (!pgcn_i_parse_i64(&at, node) || *at != '\0' || *node < 0 || *node >= in->row_ids)
        return not_a_row_number(in, rows, id);
    return PGCN_OK;
}

const char *pgcn_i_own_id(const pgcn_i_own *in, int64_t node, char scratch[24]) {
    if (in->row_ids < 0) return pgcn_i_id_map_text(&in->ids, node);
    snprintf(scratch, 24, "%lld", (long long)node);
    return scratch;
}

/* Appends to the note on the first lines: a guess is always reported. */
static void note_first_line(pgcn_i_own *in, const pgcn_i_layout *layout) {
    size_t used = strlen(in->first_lines);
    snprintf(in->first_lines + used, sizeof in->first_lines - used,
             "%s'%s' (line %lld of %.60s) was taken for %s: %s", used ? "; " : "", layout->first,
             (long long)layout->first_line, pgcn_i_file_name(layout->path),
             layout->header ? "a header" : "data", layout->why);
}

pgcn_status pgcn_i_own_layout(pgcn_i_own *in, const char *path, pgcn_i_role role,
                              int64_t least_columns, const char *expected, pgcn_i_layout *out) {
    pgcn_i_known known = {.role = role,
                          .header = in->files->header[role],
                          .id_column = in->id_column,
                          .ids = &in->ids,
                          .ids_are_rows = in->row_ids >= 0,
                          .edges = in->edge_path};
    PGCN_TRY(pgcn_i_own_asked_names(in, role, &known.named));
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
    note_first_line(in, out);
    return pgcn_i_own_pick(in, role, out);
}

pgcn_status pgcn_i_own_name_columns(pgcn_i_own *in, const pgcn_i_layout *layout,
                                    pgcn_i_names *out) {
    if (!layout->header) return PGCN_OK;
    return pgcn_i_names_copy(&in->source->arena, (const char *const *)layout->header + 1,
                             layout->columns - 1, out);
}

const char *pgcn_i_own_advise_number(const char *cell, const char *otherwise, char out[128]) {
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

/* ---- labels ------------------------------------------------------------------------------------ */

/* One byte per class: 0, 1, or 2 for not known, which holds for all of a node or for none. */
static pgcn_status take_many_labels(pgcn_i_own *in, const pgcn_i_rows *rows, char **cell,
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
                "label columns; for one class per node give one column, or name it by --label",
                (long long)pgcn_i_layout_place(rows->layout, i + 1), shown);
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

static pgcn_status take_label(void *context, const pgcn_i_rows *rows, char **cell) {
    pgcn_i_own *in = context;
    int64_t node, classes = in->label_layout.columns - 1;
    PGCN_TRY(node_of(in, rows, cell[0], &node));
    PGCN_TRY(pgcn_i_push_i32(&in->label_node, node));
    int64_t *line = pgcn_i_buffer_add(&in->label_line, (int64_t)sizeof *line);
    if (!line) return PGCN_ERR_MEMORY;
    *line = pgcn_i_text_line_number(rows->text);
    if (classes > 1) return take_many_labels(in, rows, cell + 1, classes);
    const char *label = pgcn_i_is_missing(cell[1]) ? "" : cell[1];
    if (!pgcn_i_own_is_utf8(label)) return bad_class(in->files->labels, *line, label);
    int64_t bytes = (int64_t)strlen(label) + 1;
    char *text = pgcn_i_buffer_add(&in->label_text, bytes);
    if (!text) return PGCN_ERR_MEMORY;
    memcpy(text, label, (size_t)bytes);
    return PGCN_OK;
}

static pgcn_status read_labels(pgcn_i_own *in) {
    PGCN_TRY(pgcn_i_own_layout(in, in->files->labels, PGCN_I_ROLE_LABELS, 2,
                               "an id and a label per row", &in->label_layout));
    const pgcn_i_layout *layout = &in->label_layout;
    for (int64_t i = 1; layout->header && layout->columns > 2 && i < layout->columns; i++)
        if (!pgcn_i_own_is_utf8(layout->header[i]))
            return bad_class(in->files->labels, layout->header_line, layout->header[i]);
    return pgcn_i_rows_each(layout, take_label, in);
}

/* ---- edges ------------------------------------------------------------------------------------- */

static pgcn_status bad_weight(const pgcn_i_rows *rows, char **cell, bool number, float value) {
    char shown[3][PGCN_I_EXCERPT], advice[128];
    for (int i = 0; i < 3; i++) pgcn_i_text_excerpt(cell[i], (int64_t)strlen(cell[i]), shown[i]);
    if (!number)
        return pgcn_i_text_fail(
            rows->text, "found the weight '%s', expected a finite number; %s", shown[2],
            pgcn_i_own_advise_number(
                cell[2],
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

/* Weights with decimal commas: if the user says so, or where semicolons separate the cells. */
static bool read_weight(pgcn_i_own *in, const pgcn_i_layout *layout, const char *cell, float *out) {
    pgcn_decimal decimal = in->files->decimal;
    bool comma =
        decimal == PGCN_DECIMAL_COMMA || (decimal == PGCN_DECIMAL_AUTO && layout->delimiter == ';');
    if (pgcn_i_cell_number(cell, false, out)) return true;
    in->comma_weights = in->comma_weights || comma;
    return comma && pgcn_i_cell_number(cell, true, out);
}

static pgcn_status take_edge(void *context, const pgcn_i_rows *rows, char **cell) {
    pgcn_i_own *in = context;
    int64_t from, to;
    PGCN_TRY(node_of(in, rows, cell[0], &from));
    PGCN_TRY(node_of(in, rows, cell[1], &to));
    PGCN_TRY(pgcn_i_push_i32(&in->from, from));
    PGCN_TRY(pgcn_i_push_i32(&in->to, to));
    if (rows->layout->columns == 2) return PGCN_OK;
    float value = 0;
    bool number = read_weight(in, rows->layout, cell[2], &value);
    if (!number || value <= 0) return bad_weight(rows, cell, number, value);
    float *weight = pgcn_i_buffer_add(&in->weight, (int64_t)sizeof *weight);
    if (!weight) return PGCN_ERR_MEMORY;
    *weight = value;
    return PGCN_OK;
}

static pgcn_status read_edge_file(pgcn_i_own *in, const char *path, bool *weighted) {
    pgcn_i_layout layout;
    PGCN_TRY(pgcn_i_own_layout(in, path, PGCN_I_ROLE_EDGES, 2,
                               "two ids and perhaps a weight per row", &layout));
    if (layout.columns > 3)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': its rows have %lld cells, expected two ids and perhaps a "
                           "weight; name these columns by --from, --to and --weight",
                           path, (long long)layout.columns);
    *weighted = layout.columns == 3;
    return pgcn_i_rows_each(&layout, take_edge, in);
}

/* Several files are one graph: all of them have weights, or none has. */
static pgcn_status read_edges(pgcn_i_own *in) {
    bool weighted[2] = {false, false};
    for (int64_t i = 0; in->edge_path[i]; i++) {
        PGCN_TRY(read_edge_file(in, in->edge_path[i], &weighted[i > 0]));
        if (weighted[0] == weighted[i > 0]) continue;
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "'%s' has %s weights and '%s' has %s; give all of them weights, or "
                           "name the ids alone by --from and --to",
                           in->edge_path[0], weighted[0] ? "" : "no", in->edge_path[i],
                           weighted[0] ? "none" : "some");
    }
    if (!in->comma_weights) return PGCN_OK;
    return pgcn_i_source_note(in->source,
                              "weights of %.60s have decimal commas (--decimal point refuses them)",
                              pgcn_i_file_name(in->edge_path[0]));
}

/* "a.csv,b.csv" are two files, unless a file is called so. */
static pgcn_status list_edge_files(pgcn_i_own *in) {
    const char *text = in->files->edges;
    int64_t count = 1;
    for (const char *at = text; *at; at++) count += *at == ',';
    if (count > 1 && pgcn_i_file_exists(text)) count = 1;
    char *copy = pgcn_i_arena_strdup(&in->scratch, text);
    in->edge_path = PGCN_I_ARRAY(&in->scratch, const char *, count + 1);
    if (!copy || !in->edge_path) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) {
        in->edge_path[i] = copy;
        char *comma = i + 1 < count ? strchr(copy, ',') : NULL;
        if (!comma) break;
        *comma = '\0';
        copy = comma + 1;
    }
    return PGCN_OK;
}

/* ---- splits ------------------------------------------------------------------------------------ */

enum { MAX_SPLITS = 1000 };

static pgcn_status take_split(void *context, const pgcn_i_rows *rows, char **cell) {
    pgcn_i_own *in = context;
    int64_t node;
    char shown[PGCN_I_EXCERPT];
    pgcn_i_text_excerpt(cell[0], (int64_t)strlen(cell[0]), shown);
    if (in->row_ids >= 0)
        PGCN_TRY(node_of(in, rows, cell[0], &node));
    else
        node = pgcn_i_id_map_find(&in->ids, cell[0]);
    if (node < 0)
        return pgcn_i_text_fail(rows->text, "the id '%s' is in none of the other files", shown);
    node = pgcn_i_own_position(in, node);
    if (in->split_line[node])
        return pgcn_i_text_fail(
            rows->text,
            "the id '%s' was already in line %lld, expected each node once; for "
            "several splits give a column for each",
            shown, (long long)in->split_line[node]);
    in->split_line[node] = pgcn_i_text_line_number(rows->text);
    for (int64_t s = 0; s + 1 < rows->layout->columns; s++) {
        pgcn_i_part part = pgcn_i_part_of(cell[s + 1]);
        if (part == PGCN_I_PART_UNKNOWN) {
            pgcn_i_text_excerpt(cell[s + 1], (int64_t)strlen(cell[s + 1]), shown);
            return pgcn_i_text_fail(
                rows->text,
                "column %lld: found '%s', expected train, val, test or an empty "
                "cell",
                (long long)pgcn_i_layout_place(rows->layout, s + 1), shown);
        }
        if (part != PGCN_I_PART_NONE) in->mask[3 * s + part][node] = 1;
    }
    return PGCN_OK;
}

static bool is_in_a_split(const pgcn_i_own *in, int64_t node, int64_t splits) {
    bool found = false;
    for (int64_t m = 0; m < 3 * splits; m++) found = found || in->mask[m][node];
    return found;
}

/* A note on the nodes that pgcn_i_source_unmask() will remove from the splits. */
static pgcn_status note_unlabelled(pgcn_i_own *in, int64_t splits) {
    pgcn_i_id_list list = {0};
    for (int64_t i = 0; i < pgcn_i_own_nodes(in); i++) {
        int64_t node = pgcn_i_own_position(in, i);
        if (pgcn_i_source_has_label(in->source, node) || !is_in_a_split(in, node, splits)) continue;
        char scratch[24];
        pgcn_i_own_list_id(&list, pgcn_i_own_id(in, i, scratch));
    }
    if (list.count == 0) return PGCN_OK;
    return pgcn_i_source_note(
        in->source, "%lld node%s of %.60s %s no label and %s left out of its splits: %s",
        (long long)list.count, list.count == 1 ? "" : "s", pgcn_i_file_name(in->files->splits),
        list.count == 1 ? "has" : "have", list.count == 1 ? "is" : "are", list.text);
}

static pgcn_status read_splits(pgcn_i_own *in) {
    pgcn_i_source *source = in->source;
    pgcn_i_layout layout;
    if (!in->files->splits) return PGCN_OK;
    PGCN_TRY(pgcn_i_own_layout(in, in->files->splits, PGCN_I_ROLE_SPLITS, 2,
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
    PGCN_TRY(pgcn_i_rows_each(&layout, take_split, in));
    source->split_origin = "the given file of splits";
    source->split_file = pgcn_i_arena_strdup(&source->arena, in->files->splits);
    if (!source->split_file) return PGCN_ERR_MEMORY;
    PGCN_TRY(note_unlabelled(in, splits));
    pgcn_i_source_unmask(source);
    return PGCN_OK;
}

/* ---- mistakes that only all files together show --------------------------------------------------- */

/* A file may have no column of that name, but not all of them. */
static pgcn_status check_ids_named(const pgcn_i_own *in) {
    if (!in->files->id || in->id_named) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "--id is '%.64s', which is a column of none of the files; give the name or "
                       "number of the column with the ids",
                       in->files->id);
}

/* A class among the features is learnt by heart: an accuracy that nobody has for new nodes. */
static pgcn_status check_label_is_no_feature(const pgcn_i_own *in) {
    const pgcn_i_layout *layout = &in->label_layout;
    if (!in->files->labels || !layout->header || layout->columns != 2) return PGCN_OK;
    const char *label = layout->header[1];
    double number; /* a header of numbers names nothing */
    if (pgcn_number_parse(label, &number)) return PGCN_OK;
    const pgcn_i_names *names = &in->source->feature_name;
    bool found = false;
    for (int64_t r = 0; r < in->encoder.rules; r++)
        found = found || (in->encoder.rule[r].kind != PGCN_I_RULE_LEFT_OUT &&
                          strcmp(in->encoder.rule[r].name, label) == 0);
    for (int64_t i = 0; in->encoder.rules == 0 && i < names->count; i++)
        found = found || strcmp(names->text + names->offset[i], label) == 0;
    if (!found) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "'%s' has a column '%.64s', which is the class in '%s': a feature must not "
                       "be what is to be predicted; leave it out with --ignore %.64s, or give it "
                       "another name if it is something else",
                       in->files->features, label, in->files->labels, label);
}

/* ---- all of it --------------------------------------------------------------------------------- */

static pgcn_status read_files(pgcn_i_own *in) {
    PGCN_TRY(list_edge_files(in));
    if (in->files->features) PGCN_TRY(pgcn_i_own_features(in));
    if (in->files->labels) PGCN_TRY(read_labels(in));
    PGCN_TRY(read_edges(in));
    PGCN_TRY(pgcn_i_own_arrange(in));
    PGCN_TRY(read_splits(in));
    PGCN_TRY(check_ids_named(in));
    PGCN_TRY(check_label_is_no_feature(in));
    bool guessed = false;
    const pgcn_i_own_files *files = in->files;
    const char *given[PGCN_I_ROLES] = {files->edges, files->features, files->labels, files->splits};
    for (int role = 0; role < PGCN_I_ROLES; role++)
        guessed = guessed || (given[role] && files->header[role] == PGCN_HEADER_AUTO);
    return pgcn_i_source_note(
        in->source, "%s%s", in->first_lines,
        guessed ? " (--header yes or no decides otherwise; of one file: --header labels=no)" : "");
}

pgcn_status pgcn_i_own_files_read(const pgcn_i_own_files *files, pgcn_i_source *source) {
    pgcn_i_own in = {.files = files, .source = source, .row_ids = -1};
    source->format = "your own files";
    pgcn_status status = read_files(&in);
    pgcn_i_buffer *buffer[] = {&in.x,          &in.from,       &in.to,         &in.weight,
                               &in.label_node, &in.label_line, &in.label_text, &in.label_cell};
    for (size_t i = 0; i < sizeof buffer / sizeof buffer[0]; i++) pgcn_i_buffer_free(buffer[i]);
    pgcn_i_id_map_free(&in.ids);
    pgcn_i_arena_free(&in.scratch);
    return status;
}
