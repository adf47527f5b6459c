/* The feature file of a user's own graph: text or .npy. A table of plain numbers is read at once, by all
 * cores (table.c). Any other table is encoded: by the rules that a model keeps, if they are given, else by
 * rules that are learnt from it (encode_learn.c). Its notes say what became of every column.
 *
 * Called by own_files.c; thread-safe (table.c has its own threads). */
#include "data/own_files.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- plain numbers --------------------------------------------------------------------------------- */

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
        pgcn_i_own_advise_number(
            cell,
            "features are numbers here: the model was trained on numbers only, or --encode is no; "
            "write a category as one column of 0 and 1 for each of its values, and put a number "
            "where one is missing",
            advice));
}

/* The ids of the rows become the first nodes. */
static pgcn_status number_rows(pgcn_i_own *in, const char *path, const pgcn_i_table *table) {
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

/* Predictions find columns by name, so names must be distinct; if they are not, adds a note. */
static pgcn_status note_column_names(pgcn_i_own *in, const pgcn_i_layout *layout) {
    int64_t count = layout->columns - 1;
    const char *file = pgcn_i_file_name(layout->path);
    if (!layout->header) return PGCN_OK;
    const char **name = PGCN_I_ARRAY(&in->scratch, const char *, count);
    if (!name) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) name[i] = layout->header[i + 1];
    for (int64_t i = 0; i < count; i++)
        if (!pgcn_i_own_is_utf8(name[i])) /* train/columns.c ignores the names then */
            return pgcn_i_source_note(
                in->source,
                "the header of %.60s is not UTF-8 text, so that a model knows "
                "its columns by their order only; save the file as UTF-8",
                file);
    qsort(name, (size_t)count, sizeof *name, pgcn_i_compare_texts);
    for (int64_t i = 1; i < count; i++)
        if (strcmp(name[i - 1], name[i]) == 0)
            return pgcn_i_source_note(in->source,
                                      "two columns of %.60s are called '%.60s': they can only be "
                                      "distinguished by their order; rename one",
                                      file, name[i]);
    return PGCN_OK;
}

/* *plain = false, and no error, if a cell is no number and the table may be encoded, or an id holds a line
 * end, which table.c does not read. */
static pgcn_status read_numbers(pgcn_i_own *in, const pgcn_i_layout *layout, pgcn_i_table *table,
                                bool *plain) {
    pgcn_i_table_rule rule = {.dtype = PGCN_I_F32,
                              .delimiter = layout->delimiter,
                              .ids = true,
                              .comments = true,
                              .columns = layout->columns - 1,
                              .skip = layout->header_end};
    pgcn_status status = pgcn_i_table_read(layout->path, &rule, table);
    bool cell = status == PGCN_ERR_FORMAT && table->bad_column >= 0;
    bool open_id = status == PGCN_ERR_FORMAT && table->bad_column == PGCN_I_OPEN_ID;
    *plain = !open_id && (!cell || in->files->encode == PGCN_ENCODE_NO);
    if (!*plain) return PGCN_OK;
    if (cell) return bad_feature(layout, table->bad_column, table->bad_cell);
    if (status == PGCN_OK) status = note_column_names(in, layout);
    if (status == PGCN_OK) status = pgcn_i_own_name_columns(in, layout, &in->source->feature_name);
    return status;
}

/* ---- notes on an encoding ----------------------------------------------------------------------------- */

enum { NOTE_BYTES = 800 }; /* what follows fits into a note, too */

/* Appends to a note; after the first text that does not fit, nothing but "...". */
static void append(char note[NOTE_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void append(char note[NOTE_BYTES], const char *format, ...) {
    char text[300];
    size_t used = strlen(note);
    va_list arguments;
    if (used >= 4 && strcmp(note + used - 4, " ...") == 0) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bool fits = used + strlen(text) < NOTE_BYTES - 8;
    snprintf(note + used, NOTE_BYTES - used, "%s", fits ? text : " ...");
}

static void append_rule(char note[NOTE_BYTES], const pgcn_i_rule *rule, bool first) {
    char name[PGCN_I_EXCERPT], details[200] = "";
    size_t used = 0;
    pgcn_i_text_excerpt(rule->name, (int64_t)strlen(rule->name), name);
    if (rule->kind == PGCN_I_RULE_CATEGORY)
        used = (size_t)snprintf(details, sizeof details, ", %lld value%s", (long long)rule->values,
                                rule->values == 1 ? "" : "s");
    if (rule->rare > 0)
        used +=
            (size_t)snprintf(details + used, sizeof details - used, " and %lld rare one%s as other",
                             (long long)rule->rare, rule->rare == 1 ? "" : "s");
    if (rule->comma)
        used += (size_t)snprintf(details + used, sizeof details - used, ", decimal commas");
    if (rule->missing > 0 && rule->kind != PGCN_I_RULE_LEFT_OUT)
        snprintf(details + used, sizeof details - used, ", %lld empty", (long long)rule->missing);
    append(note, "%s%s%s%s%s", first ? "" : ", ", name, *details ? " (" : "",
           *details ? details + 2 : "", *details ? ")" : "");
}

/* Values of a category that are probably one value. */
static pgcn_status note_twins(pgcn_i_own *in, const pgcn_i_encoder *encoder) {
    for (int64_t r = 0; r < encoder->rules; r++) {
        char name[PGCN_I_EXCERPT];
        const pgcn_i_rule *rule = &encoder->rule[r];
        if (!rule->twins) continue;
        pgcn_i_text_excerpt(rule->name, (int64_t)strlen(rule->name), name);
        PGCN_TRY(pgcn_i_source_note(
            in->source,
            "values of column '%s' of %.60s differ in the case of letters only and are taken as "
            "different ones: %s; if they are the same value, write it one way",
            name, pgcn_i_file_name(in->files->features), rule->twins));
    }
    return PGCN_OK;
}

/* One note that names all columns, by what became of them. */
static pgcn_status note_rules(pgcn_i_own *in, const pgcn_i_encoder *encoder) {
    static const char *const became[PGCN_I_RULE_KINDS] = {
        [PGCN_I_RULE_NUMBER] = "numbers",
        [PGCN_I_RULE_DATE] = "dates (as days since 1970)",
        [PGCN_I_RULE_YES_NO] = "yes or no (as 1 and 0)",
        [PGCN_I_RULE_CATEGORY] = "categories (a column of 0 and 1 for each value)",
        [PGCN_I_RULE_LEFT_OUT] = "left out, since they are empty"};
    char note[NOTE_BYTES] = "";
    bool gaps = false;
    int64_t made = pgcn_i_encoder_columns(encoder);
    append(note, "the columns of %.60s became %lld feature%s",
           pgcn_i_file_name(in->files->features), (long long)made, made == 1 ? "" : "s");
    for (int kind = 0; kind < PGCN_I_RULE_KINDS; kind++) {
        bool first = true;
        for (int64_t r = 0; r < encoder->rules; r++) {
            if ((int)encoder->rule[r].kind != kind) continue;
            if (first) append(note, "; %s: ", became[kind]);
            append_rule(note, &encoder->rule[r], first);
            first = false;
            gaps = gaps || encoder->rule[r].gaps;
        }
    }
    return pgcn_i_source_note(in->source,
                              "%s%s (--encode no refuses text; pathgcn data info lists "
                              "the columns)",
                              note,
                              gaps ? "; an empty cell is the mean of its column, and 1 in one "
                                     "more column"
                                   : "");
}

/* What a model did not know. */
static pgcn_status note_surprises(pgcn_i_own *in, const pgcn_i_encoding *encoding) {
    char values[NOTE_BYTES] = "", gaps[NOTE_BYTES] = "";
    const char *file = pgcn_i_file_name(in->files->features);
    for (int64_t r = 0; r < encoding->encoder->rules; r++) {
        const pgcn_i_surprise *s = &encoding->surprise[r];
        const char *full = encoding->encoder->rule[r].name;
        char name[PGCN_I_EXCERPT];
        pgcn_i_text_excerpt(full, (int64_t)strlen(full), name);
        if (s->values > 0)
            append(values, "%s%lld of '%s' (such as '%s')", *values ? ", " : "",
                   (long long)s->values, name, s->first);
        if (s->gaps > 0)
            append(gaps, "%s%lld of '%s'", *gaps ? ", " : "", (long long)s->gaps, name);
    }
    if (*values)
        PGCN_TRY(pgcn_i_source_note(in->source,
                                    "cells of %.60s with a value that was rare or not there in "
                                    "training count as other: %s; in columns that had no rare ones "
                                    "as no value",
                                    file, values));
    if (!*gaps) return PGCN_OK;
    return pgcn_i_source_note(in->source,
                              "empty cells of %.60s in columns that had none in training are read "
                              "as the mean of the training, or as no category: %s",
                              file, gaps);
}

/* Which columns of a file without a header were taken for which. */
static pgcn_status note_by_place(pgcn_i_own *in, const pgcn_i_encoding *encoding) {
    char note[NOTE_BYTES] = "";
    if (!pgcn_i_encoder_is_by_place(encoding->encoder, encoding->layout)) return PGCN_OK;
    for (int64_t r = 0; r < encoding->encoder->rules; r++) {
        const pgcn_i_rule *rule = &encoding->encoder->rule[r];
        char name[PGCN_I_EXCERPT];
        if (rule->kind == PGCN_I_RULE_LEFT_OUT) continue;
        pgcn_i_text_excerpt(rule->name, (int64_t)strlen(rule->name), name);
        append(note, "%s%lld is '%s'", *note ? ", " : "", (long long)rule->place, name);
    }
    return pgcn_i_source_note(in->source,
                              "%.60s has no header: its columns are taken in the order of the "
                              "table that the model was trained on, so column %s",
                              pgcn_i_file_name(in->files->features), note);
}

/* Columns of the file that the model does not read. */
static pgcn_status note_unread(pgcn_i_own *in, const pgcn_i_encoding *encoding) {
    const pgcn_i_layout *layout = encoding->layout;
    char note[NOTE_BYTES] = "";
    int64_t count = 0;
    uint8_t *read = PGCN_I_ARRAY(&in->scratch, uint8_t, layout->columns);
    if (!read) return PGCN_ERR_MEMORY;
    for (int64_t r = 0; r < encoding->encoder->rules; r++) read[encoding->cell[r]] = 1;
    for (int64_t i = 1; i < layout->columns; i++) {
        char shown[PGCN_I_EXCERPT] = "";
        if (read[i]) continue;
        if (layout->header)
            pgcn_i_text_excerpt(layout->header[i], (int64_t)strlen(layout->header[i]), shown);
        append(note, "%s%lld%s%s%s", count++ ? ", " : "", (long long)pgcn_i_layout_place(layout, i),
               *shown ? " ('" : "", shown, *shown ? "')" : "");
    }
    if (count == 0) return PGCN_OK;
    return pgcn_i_source_note(in->source, "the model does not read column%s %s of %.60s",
                              count == 1 ? "" : "s", note, pgcn_i_file_name(in->files->features));
}

/* ---- tables that are encoded ------------------------------------------------------------------------------ */

/* Where the numbers of a table go. */
typedef struct encoded {
    pgcn_i_encoding encoding;
    pgcn_i_table *table;
} encoded;

static pgcn_status add_row(void *context, const pgcn_i_rows *rows, char **cell) {
    encoded *to = context;
    pgcn_i_table *table = to->table;
    int64_t bytes = table->columns * (int64_t)sizeof(float), id_bytes;
    if (*cell[0] == '\0')
        return pgcn_i_text_fail(rows->text, "found an empty cell, expected the id of a node");
    float *row = pgcn_i_buffer_add(&table->cell, bytes);
    int64_t *line = pgcn_i_buffer_add(&table->line, (int64_t)sizeof *line);
    id_bytes = (int64_t)strlen(cell[0]) + 1;
    char *id = pgcn_i_buffer_add(&table->id, id_bytes);
    if (!row || !line || !id) return PGCN_ERR_MEMORY;
    memcpy(id, cell[0], (size_t)id_bytes);
    *line = pgcn_i_text_line_number(rows->text);
    table->rows++;
    return pgcn_i_encoding_row(&to->encoding, rows, cell, row);
}

static pgcn_status read_encoded(pgcn_i_own *in, const pgcn_i_layout *layout, pgcn_i_table *table) {
    bool given = in->encoder.rules > 0, encode = in->files->encode != PGCN_ENCODE_NO;
    pgcn_i_learning how = {.only = in->files->learn_from, .decimal = in->files->decimal};
    pgcn_i_encoder *encoder = &in->encoder;
    encoded to = {.table = table};
    if (!given && encode) PGCN_TRY(pgcn_i_encoder_learn(layout, &how, &in->scratch, encoder));
    if (!given && !encode) PGCN_TRY(pgcn_i_encoder_numbers(layout, &in->scratch, encoder));
    PGCN_TRY(pgcn_i_encoding_open(encoder, layout, &in->scratch, &to.encoding));
    to.encoding.no_gaps = !given && !encode;
    table->columns = pgcn_i_encoder_columns(encoder);
    PGCN_TRY(pgcn_i_rows_each(layout, add_row, &to));
    PGCN_TRY(pgcn_i_encoder_names(encoder, &in->source->arena, &in->source->feature_name));
    if (!given && !encode) return PGCN_OK;
    PGCN_TRY(pgcn_i_encoder_text(encoder, &in->source->arena, &in->source->encoder));
    if (!given) PGCN_TRY(note_rules(in, encoder));
    if (!given) return note_twins(in, encoder);
    PGCN_TRY(note_by_place(in, &to.encoding));
    PGCN_TRY(note_surprises(in, &to.encoding));
    return note_unread(in, &to.encoding);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static pgcn_status read_table(pgcn_i_own *in, const pgcn_i_layout *layout, pgcn_i_table *table) {
    bool plain = false;
    if (!layout->pick && in->encoder.rules == 0) PGCN_TRY(read_numbers(in, layout, table, &plain));
    if (!plain) PGCN_TRY(read_encoded(in, layout, table));
    return number_rows(in, layout->path, table);
}

static pgcn_status read_text(pgcn_i_own *in) {
    const char *given = in->files->encoder;
    pgcn_i_layout layout;
    pgcn_i_table table = {0};
    if (given) PGCN_TRY(pgcn_i_encoder_parse("the encoder", given, &in->scratch, &in->encoder));
    PGCN_TRY(pgcn_i_own_layout(in, in->files->features, PGCN_I_ROLE_FEATURES, 2,
                               "an id and at least one more cell per row", &layout));
    if (layout.header) in->id_column = layout.header[0];
    pgcn_status status = read_table(in, &layout, &table);
    in->x_rows = table.rows;
    in->x_columns = table.columns;
    in->x = table.cell;
    table.cell = (pgcn_i_buffer){0};
    pgcn_i_table_free(&table);
    return status;
}

/* Any numeric array becomes float32; whether it is finite is checked by check.c. */
static pgcn_status read_npy(pgcn_i_own *in) {
    pgcn_i_array array;
    const pgcn_i_own_files *files = in->files;
    if (files->use || files->ignore)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "--%s names columns of a text file and the features are '%s'; leave it "
                           "out, or save the columns that you want",
                           files->use ? "use" : "ignore", files->features);
    PGCN_TRY(pgcn_i_npy_read(files->features, &in->source->arena, &array));
    if (array.rank != 2 || array.shape[0] < 1 || array.shape[1] < 1 ||
        array.shape[0] >= INT32_MAX) {
        char shape[PGCN_I_SHAPE_TEXT];
        pgcn_i_shape_text(array.dtype, array.rank, array.shape, shape);
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': found an array %s, expected [nodes, features]; use "
                           "a.reshape(nodes, -1)",
                           files->features, shape);
    }
    bool rounded;
    pgcn_i_arena *arena = &in->source->arena;
    PGCN_TRY(pgcn_i_array_convert(files->features, arena, PGCN_I_F32, &array, &rounded));
    PGCN_TRY(pgcn_i_source_note_rounded(in->source, pgcn_i_file_name(files->features), rounded));
    in->row_ids = array.shape[0];
    return pgcn_i_source_features(in->source, array.data, array.shape[0], array.shape[1]);
}

pgcn_status pgcn_i_own_features(pgcn_i_own *in) {
    return pgcn_i_ends_with(in->files->features, ".npy") ? read_npy(in) : read_text(in);
}
