/* The nodes of a user's own graph: which ids there are, whether the files mean the same ones, and in
 * which order. Then edges, features and labels are brought into that order. (own_files.c has the rules
 * and reads the rows.) Called by own_files.c; serial, thread-safe. */
#include "data/own_files.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- ids that match nothing ------------------------------------------------------------------ */

/* Which ids a file has: has[id of the map]. */
typedef struct id_set {
    const char *path;
    uint8_t *has;
} id_set;

static pgcn_status mark_ids(pgcn_i_own *in, const char *path, const pgcn_i_buffer *node,
                            id_set *out) {
    const int32_t *number = (const int32_t *)(const void *)node->data;
    int64_t count = node->bytes / (int64_t)sizeof *number;
    *out = (id_set){path, PGCN_I_ARRAY(&in->scratch, uint8_t, in->ids.count)};
    if (!out->has) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) out->has[number[i]] = 1;
    return PGCN_OK;
}

void pgcn_i_own_list_id(pgcn_i_id_list *list, const char *id) {
    char shown[PGCN_I_EXCERPT];
    if (list->count++ > PGCN_I_SHOWN_IDS) return;
    size_t used = strlen(list->text);
    pgcn_i_text_excerpt(id, (int64_t)strlen(id), shown);
    if (list->count <= PGCN_I_SHOWN_IDS)
        snprintf(list->text + used, PGCN_I_SHOWN_BYTES - used, "%s'%s'", used ? ", " : "", shown);
    else
        snprintf(list->text + used, PGCN_I_SHOWN_BYTES - used, ", ...");
}

/* The ids that only one of two sets has. */
static pgcn_i_id_list list_ids(const pgcn_i_own *in, const id_set *set, const id_set *without) {
    pgcn_i_id_list list = {0};
    for (int64_t i = 0; i < in->ids.count; i++)
        if (set->has[i] && !without->has[i])
            pgcn_i_own_list_id(&list, pgcn_i_id_map_text(&in->ids, i));
    return list;
}

static void note_if_not_utf8(pgcn_i_own *in, const id_set *set) {
    for (int64_t i = 0; i < in->ids.count; i++) {
        const char *id = pgcn_i_id_map_text(&in->ids, i);
        if (!set->has[i] || pgcn_i_own_is_utf8(id)) continue;
        size_t used = strlen(in->not_utf8);
        snprintf(in->not_utf8 + used, sizeof in->not_utf8 - used,
                 "; %.60s does not look like UTF-8, which is likely the reason: save it as UTF-8",
                 pgcn_i_file_name(set->path));
        return;
    }
}

/* The ids that `set` has and `other` lacks. A few of them get a note. Many are refused: ids are likely
 * written in two ways, and a model would learn from a graph that nobody meant. */
static pgcn_status compare_ids(pgcn_i_own *in, const id_set *set, const id_set *other,
                               const char *lacks) {
    enum { ONE_OF = 10 };
    int64_t ids = 0;
    for (int64_t i = 0; i < in->ids.count; i++) ids += set->has[i];
    const pgcn_i_id_list unknown = list_ids(in, set, other);
    if (unknown.count == 0) return PGCN_OK;
    in->not_utf8[0] = '\0';
    note_if_not_utf8(in, set);
    note_if_not_utf8(in, other);
    if (ONE_OF * unknown.count > ids && in->files->unknown_ids == PGCN_UNKNOWN_REFUSE)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "%lld of the %lld ids of '%s' are not in '%s' (%s), more than a "
                           "tenth%s; write each id the same way in all files, or say --unknown-ids "
                           "keep if these are nodes without %s",
                           (long long)unknown.count, (long long)ids, set->path, other->path,
                           unknown.text, in->not_utf8, lacks);
    if (in->files->features) return PGCN_OK; /* arrange_features() reports them */
    return pgcn_i_source_note(in->source, "%lld of the %lld ids of %.60s are not in %.60s: %s%s",
                              (long long)unknown.count, (long long)ids, pgcn_i_file_name(set->path),
                              pgcn_i_file_name(other->path), unknown.text, in->not_utf8);
}

/* Labels and edges against features; without features, labels against edges. */
static pgcn_status compare_files(pgcn_i_own *in, const id_set *features, const id_set *labels,
                                 const id_set *edges) {
    if (!features->path) return compare_ids(in, labels, edges, "edges");
    if (labels->path) PGCN_TRY(compare_ids(in, labels, features, "features"));
    return compare_ids(in, edges, features, "features");
}

static pgcn_status check_ids(pgcn_i_own *in) {
    const pgcn_i_own_files *files = in->files;
    const pgcn_i_buffer none = {0};
    id_set set[3]; /* features, labels, edges */
    if (in->row_ids >= 0 || (!files->features && !files->labels)) return PGCN_OK;
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

/* Sorts ids that are all whole numbers and finds the position of each node. *integers = false: some id
 * is no whole number, and nothing is done. *consecutive: they are exactly 0..n-1. */
static pgcn_status sort_ids(pgcn_i_own *in, bool *integers, bool *consecutive) {
    int64_t n = in->ids.count;
    numbered *id = PGCN_I_ARRAY(&in->scratch, numbered, n);
    if (!id) return PGCN_ERR_MEMORY;
    bool plain = true, sorted = true;
    *integers = true;
    for (int64_t i = 0; i < n && *integers; i++) {
        const char *text = pgcn_i_id_map_text(&in->ids, i), *at = text;
        *integers = pgcn_i_parse_i64(&at, &id[i].value) && *at == '\0';
        id[i].node = (int32_t)i;
        plain = plain && is_plain_count(text);
        sorted = sorted && (i == 0 || id[i - 1].value < id[i].value);
    }
    if (!*integers) return PGCN_OK;
    if (!sorted) {
        qsort(id, (size_t)n, sizeof *id, by_value);
        if (!(in->position = PGCN_I_ARRAY(&in->scratch, int32_t, n))) return PGCN_ERR_MEMORY;
        for (int64_t i = 0; i < n; i++) in->position[id[i].node] = (int32_t)i;
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
    *consecutive = plain && n > 0 && id[0].value == 0 && id[n - 1].value == n - 1;
    return PGCN_OK;
}

/* The model does without ids, but JSON cannot hold these. */
static pgcn_status note_ids_not_utf8(pgcn_i_own *in) {
    for (int64_t i = 0; i < in->ids.count && !*in->not_utf8; i++) {
        const char *id = pgcn_i_id_map_text(&in->ids, i);
        char shown[PGCN_I_EXCERPT];
        if (pgcn_i_own_is_utf8(id)) continue;
        pgcn_i_text_excerpt(id, (int64_t)strlen(id), shown);
        return pgcn_i_source_note(in->source,
                                  "ids like '%s' are not UTF-8 text: they come back unchanged in "
                                  "CSV, but not in JSON; save your files as UTF-8",
                                  shown);
    }
    return PGCN_OK;
}

static pgcn_status name_nodes(pgcn_i_own *in) {
    int64_t n = in->ids.count;
    PGCN_TRY(note_ids_not_utf8(in));
    int64_t *offset = PGCN_I_ARRAY(&in->source->arena, int64_t, n + 1);
    char *text = PGCN_I_ARRAY(&in->source->arena, char, in->ids.text.bytes);
    if (!offset || !text) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++)
        offset[pgcn_i_own_position(in, i) + 1] =
            (int64_t)strlen(pgcn_i_id_map_text(&in->ids, i)) + 1;
    for (int64_t i = 0; i < n; i++) offset[i + 1] += offset[i];
    for (int64_t i = 0; i < n; i++)
        strcpy(text + offset[pgcn_i_own_position(in, i)], pgcn_i_id_map_text(&in->ids, i));
    in->source->node_id = (pgcn_i_names){n, offset, text};
    return PGCN_OK;
}

static pgcn_status order_nodes(pgcn_i_own *in) {
    bool integers = false, consecutive = in->row_ids >= 0;
    in->source->nodes = pgcn_i_own_nodes(in);
    if (!consecutive) PGCN_TRY(sort_ids(in, &integers, &consecutive));
    return consecutive ? PGCN_OK : name_nodes(in);
}

/* ---- edges, features and labels in that order -------------------------------------------------- */

static pgcn_status arrange_edges(pgcn_i_own *in) {
    pgcn_i_source *source = in->source;
    source->edges = in->from.bytes / (int64_t)sizeof(int32_t);
    pgcn_i_buffer *side[2] = {&in->from, &in->to};
    for (int k = 0; k < 2; k++) {
        int32_t *node = pgcn_i_arena_take(&source->edge_arena, side[k]);
        if (!node) return PGCN_ERR_MEMORY;
        for (int64_t e = 0; in->position && e < source->edges; e++) node[e] = in->position[node[e]];
        *(k == 0 ? &source->edge_from : &source->edge_to) = node;
    }
    source->directed = true;
    if (in->weight.bytes == 0) return PGCN_OK;
    source->edge_weight = pgcn_i_arena_take(&source->edge_arena, &in->weight);
    return source->edge_weight ? PGCN_OK : PGCN_ERR_MEMORY;
}

/* Moves row i to row position[i], in place: along each cycle of the permutation. */
static pgcn_status permute_rows(pgcn_i_own *in, float *x) {
    int64_t n = in->source->nodes, columns = in->x_columns;
    uint8_t *done = PGCN_I_ARRAY(&in->scratch, uint8_t, n);
    float *held = PGCN_I_ARRAY(&in->scratch, float, columns);
    if (!done || !held) return PGCN_ERR_MEMORY;
    for (int64_t first = 0; first < n; first++) {
        if (done[first]) continue;
        memcpy(held, x + first * columns, (size_t)columns * sizeof *x);
        int64_t to = first;
        do {
            to = in->position[to];
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

/* A note on the nodes that have no row of features. If almost none has one, the ids of the files do not
 * match, and filling the rows would take memory that no file accounts for. */
static pgcn_status note_featureless(pgcn_i_own *in) {
    enum { MOST_PER_ROW = 10 };
    int64_t missing = in->source->nodes - in->x_rows;
    if (missing == 0) return PGCN_OK;
    id_set all = {NULL, PGCN_I_ARRAY(&in->scratch, uint8_t, in->ids.count)},
           none = {NULL, PGCN_I_ARRAY(&in->scratch, uint8_t, in->ids.count)};
    if (!all.has || !none.has) return PGCN_ERR_MEMORY;
    memset(all.has + in->x_rows, 1, (size_t)missing);
    const pgcn_i_id_list names = list_ids(in, &all, &none);
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
                              pgcn_i_file_name(in->files->features), missing == 1 ? "gets" : "get",
                              names.text, in->not_utf8);
}

static pgcn_status arrange_features(pgcn_i_own *in) {
    if (in->x_columns == 0) return PGCN_OK; /* none, or from .npy and in place */
    int64_t missing;
    PGCN_TRY(note_featureless(in));
    if (!pgcn_i_mul(in->source->nodes - in->x_rows, in->x_columns * (int64_t)sizeof(float),
                    &missing))
        missing = INT64_MAX; /* refused by the next line */
    char *zeros = pgcn_i_buffer_add(&in->x, missing);
    if (!zeros) return PGCN_ERR_MEMORY;
    memset(zeros, 0, (size_t)missing);
    float *x = pgcn_i_arena_take(&in->source->arena, &in->x);
    if (!x) return PGCN_ERR_MEMORY;
    if (in->position) PGCN_TRY(permute_rows(in, x));
    int64_t n = in->source->nodes;
    if (pgcn_i_encoder_is_plain(&in->encoder)) /* or there is none */
        PGCN_TRY(pgcn_i_source_features(in->source, x, n, in->x_columns));
    else /* columns have scales of their own: they are kept dense, and so standardised */
        in->source->x = (pgcn_i_features){.n = n, .columns = in->x_columns, .dense = x};
    if (in->x_rows == in->source->nodes) return PGCN_OK;
    uint8_t *absent = PGCN_I_ARRAY(&in->source->arena, uint8_t, in->source->nodes);
    if (!absent) return PGCN_ERR_MEMORY;
    for (int64_t i = in->x_rows; i < in->source->nodes; i++) absent[pgcn_i_own_position(in, i)] = 1;
    in->source->x.absent = absent;
    return PGCN_OK;
}

/* The row of labels of each node of the final order, or -1; a node twice is an error. */
static pgcn_status find_label_rows(pgcn_i_own *in, int64_t **out) {
    int64_t n = in->source->nodes, rows = in->label_node.bytes / (int64_t)sizeof(int32_t);
    const int32_t *node = (const int32_t *)(const void *)in->label_node.data;
    const int64_t *line = (const int64_t *)(const void *)in->label_line.data;
    int64_t *row_of = PGCN_I_ARRAY(&in->scratch, int64_t, n);
    if (!row_of) return PGCN_ERR_MEMORY;
    memset(row_of, -1, (size_t)n * sizeof *row_of);
    for (int64_t row = 0; row < rows; row++) {
        int64_t *first_row = &row_of[pgcn_i_own_position(in, node[row])];
        char scratch[24], shown[PGCN_I_EXCERPT];
        if (*first_row >= 0) {
            const char *id = pgcn_i_own_id(in, node[row], scratch);
            pgcn_i_text_excerpt(id, (int64_t)strlen(id), shown);
            return pgcn_i_fail(
                PGCN_ERR_FORMAT,
                "reading '%s': line %lld: the id '%s' was already in line %lld, expected "
                "each node once; for several labels of a node give a column of 0 and 1 "
                "for each",
                in->files->labels, (long long)line[row], shown, (long long)line[*first_row]);
        }
        *first_row = row;
    }
    *out = row_of;
    return PGCN_OK;
}

static pgcn_status arrange_many_labels(pgcn_i_own *in, const int64_t *row_of) {
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
    return pgcn_i_own_name_columns(in, &in->label_layout, &source->class_name);
}

/* The text of each row of labels. */
static pgcn_status list_label_texts(pgcn_i_own *in, const char ***out) {
    int64_t rows = in->label_node.bytes / (int64_t)sizeof(int32_t);
    const char **text = PGCN_I_ARRAY(&in->scratch, const char *, rows), *at = in->label_text.data;
    if (!text) return PGCN_ERR_MEMORY;
    for (int64_t row = 0; row < rows; row++, at += strlen(at) + 1) text[row] = at;
    *out = text;
    return PGCN_OK;
}

static pgcn_status number_integer_labels(pgcn_i_own *in, const char *const *text,
                                         const int64_t *row_of, bool *integers) {
    pgcn_i_source *source = in->source;
    int64_t *code = PGCN_I_ARRAY(&in->scratch, int64_t, source->nodes), least = INT64_MAX;
    if (!code) return PGCN_ERR_MEMORY;
    *integers = true;
    for (int64_t i = 0; i < source->nodes && *integers; i++) {
        const char *at = row_of[i] < 0 ? "" : text[row_of[i]];
        code[i] = INT64_MIN;
        if (*at == '\0') continue;
        *integers = pgcn_i_parse_i64(&at, &code[i]) && *at == '\0';
        if (code[i] < least) least = code[i];
    }
    if (!*integers) return PGCN_OK;
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
static pgcn_status sort_classes(pgcn_i_own *in, const pgcn_i_id_map *found, int32_t *rank) {
    int64_t count = found->count;
    const char **name = PGCN_I_ARRAY(&in->scratch, const char *, count);
    int64_t *offset = PGCN_I_ARRAY(&in->source->arena, int64_t, count + 1);
    char *text = PGCN_I_ARRAY(&in->source->arena, char, found->text.bytes);
    if (!name || !offset || !text) return PGCN_ERR_MEMORY;
    for (int64_t c = 0; c < count; c++) name[c] = pgcn_i_id_map_text(found, c);
    qsort(name, (size_t)count, sizeof *name, pgcn_i_compare_texts);
    for (int64_t c = 0; c < count; c++) {
        rank[pgcn_i_id_map_find(found, name[c])] = (int32_t)c;
        strcpy(text + offset[c], name[c]);
        offset[c + 1] = offset[c] + (int64_t)strlen(name[c]) + 1;
    }
    in->source->class_name = (pgcn_i_names){count, offset, text};
    in->source->classes = (int)count;
    return PGCN_OK;
}

static pgcn_status number_words(pgcn_i_own *in, const char *const *text, const int64_t *row_of,
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

static pgcn_status note_single_class(pgcn_i_own *in) {
    const pgcn_i_names *names = &in->source->class_name;
    if (in->source->classes != 1) return PGCN_OK;
    return pgcn_i_source_note(in->source,
                              "all labels of %.60s are '%.60s': there is nothing to learn; "
                              "training needs at least two classes",
                              pgcn_i_file_name(in->files->labels),
                              names->count ? names->text : "0");
}

/* They stay classes of their own: which of them is a mistake is for the user to say. */
static pgcn_status note_case(pgcn_i_own *in) {
    const pgcn_i_names *names = &in->source->class_name;
    char twins[PGCN_I_TWINS_BYTES];
    const char **text = PGCN_I_ARRAY(&in->scratch, const char *, names->count);
    if (!text) return PGCN_ERR_MEMORY;
    for (int64_t c = 0; c < names->count; c++) text[c] = names->text + names->offset[c];
    if (pgcn_i_case_twins(text, names->count, twins) == 0) return PGCN_OK;
    return pgcn_i_source_note(
        in->source,
        "classes of %.60s differ in the case of letters only and are taken as "
        "different ones: %s; if they are the same class, write it one way",
        pgcn_i_file_name(in->files->labels), twins);
}

static pgcn_status arrange_labels(pgcn_i_own *in) {
    int64_t *row_of = NULL;
    const char **text = NULL;
    bool integers = false;
    if (!in->files->labels) return PGCN_OK;
    PGCN_TRY(find_label_rows(in, &row_of));
    if (in->label_layout.columns > 2) return arrange_many_labels(in, row_of);
    PGCN_TRY(list_label_texts(in, &text));
    PGCN_TRY(number_integer_labels(in, text, row_of, &integers));
    pgcn_i_id_map found = {0};
    pgcn_status status = integers ? PGCN_OK : number_words(in, text, row_of, &found);
    pgcn_i_id_map_free(&found);
    if (status == PGCN_OK) status = note_single_class(in);
    if (status == PGCN_OK) status = note_case(in);
    if (status != PGCN_OK || !pgcn_i_source_has_numbers(in->source)) return status;
    return pgcn_i_source_note(in->source,
                              "the labels of %.60s are %d different numbers, each taken as a "
                              "class: " PGCN_I_NO_REGRESSION,
                              pgcn_i_file_name(in->files->labels), in->source->classes);
}

/* ---- all of it --------------------------------------------------------------------------------- */

pgcn_status pgcn_i_own_arrange(pgcn_i_own *in) {
    PGCN_TRY(check_ids(in));
    PGCN_TRY(order_nodes(in));
    PGCN_TRY(arrange_edges(in));
    PGCN_TRY(arrange_features(in));
    return arrange_labels(in);
}
