/* Rules that turn the columns of a table into numbers, as JSON and applied to rows. A model keeps the JSON,
 * so that other files become numbers by the rules of the training and not by rules of their own: a
 * category that was not there counts as a rare one, an empty cell as the mean of the training.
 *
 * Called by own_features.c, container.c and checkpoint.c. Serial, thread-safe. */
#include "data/encode.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const pgcn_i_rule_kinds[PGCN_I_RULE_KINDS] = {"number", "date", "yes/no", "category",
                                                          "left out"};

/* ---- the columns that are made ------------------------------------------------------------------ */

int64_t pgcn_i_rule_columns(const pgcn_i_rule *rule) {
    if (rule->kind == PGCN_I_RULE_LEFT_OUT) return 0;
    int64_t own = rule->kind == PGCN_I_RULE_CATEGORY ? rule->values + rule->other : 1;
    return own + rule->gaps;
}

int64_t pgcn_i_encoder_columns(const pgcn_i_encoder *encoder) {
    int64_t count = 0;
    for (int64_t r = 0; r < encoder->rules; r++) count += pgcn_i_rule_columns(&encoder->rule[r]);
    return count;
}

bool pgcn_i_encoder_is_plain(const pgcn_i_encoder *encoder) {
    bool plain = true;
    for (int64_t r = 0; r < encoder->rules; r++) {
        const pgcn_i_rule *rule = &encoder->rule[r];
        plain = plain && rule->kind == PGCN_I_RULE_NUMBER && !rule->gaps && !rule->comma;
    }
    return plain;
}

/* Column `i` of those that a rule makes: its name after the name of the rule, in two parts. */
static void ending_of(const pgcn_i_rule *rule, int64_t i, const char *ending[2]) {
    int64_t own = pgcn_i_rule_columns(rule) - rule->gaps;
    bool category = rule->kind == PGCN_I_RULE_CATEGORY;
    ending[0] = i == own ? " missing" : category ? "=" : "";
    ending[1] = i == own || !category ? "" : i < rule->values ? rule->value[i] : "other";
}

pgcn_status pgcn_i_encoder_names(const pgcn_i_encoder *encoder, pgcn_i_arena *arena,
                                 pgcn_i_names *out) {
    int64_t count = pgcn_i_encoder_columns(encoder), bytes = 0, made = 0;
    int64_t *offset = PGCN_I_ARRAY(arena, int64_t, count + 1);
    char *text = NULL;
    const char *ending[2];
    if (!offset) return PGCN_ERR_MEMORY;
    for (int pass = 0; pass < 2; pass++) {
        made = 0;
        for (int64_t r = 0; r < encoder->rules; r++) {
            const pgcn_i_rule *rule = &encoder->rule[r];
            for (int64_t i = 0; i < pgcn_i_rule_columns(rule); i++, made++) {
                ending_of(rule, i, ending);
                size_t length = strlen(rule->name) + strlen(ending[0]) + strlen(ending[1]) + 1;
                if (pass == 1)
                    snprintf(text + offset[made], length, "%s%s%s", rule->name, ending[0],
                             ending[1]);
                offset[made + 1] = offset[made] + (int64_t)length;
            }
        }
        bytes = offset[count];
        if (pass == 0 && !(text = PGCN_I_ARRAY(arena, char, bytes))) return PGCN_ERR_MEMORY;
    }
    *out = (pgcn_i_names){count, offset, text};
    return PGCN_OK;
}

/* ---- writing ----------------------------------------------------------------------------------- */

static json_t *values_to_json(const pgcn_i_rule *rule) {
    json_t *list = json_array();
    for (int64_t i = 0; i < rule->values; i++)
        if (json_array_append_new(list, json_string(rule->value[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *rule_to_json(const pgcn_i_rule *rule) {
    const char *kind = pgcn_i_rule_kinds[rule->kind];
    json_int_t place = rule->place, missing = rule->missing;
    switch (rule->kind) {
    case PGCN_I_RULE_NUMBER:
        return json_pack("{s:s, s:I, s:s, s:I, s:f, s:b, s:s}", "name", rule->name, "place", place,
                         "kind", kind, "missing", missing, "mean", (double)rule->mean, "gaps",
                         (int)rule->gaps, "decimal", rule->comma ? "comma" : "point");
    case PGCN_I_RULE_DATE:
        return json_pack("{s:s, s:I, s:s, s:I, s:f, s:b, s:s}", "name", rule->name, "place", place,
                         "kind", kind, "missing", missing, "mean", (double)rule->mean, "gaps",
                         (int)rule->gaps, "form", pgcn_i_date_forms[rule->form]);
    case PGCN_I_RULE_YES_NO:
        return json_pack("{s:s, s:I, s:s, s:I, s:f, s:b, s:s, s:s}", "name", rule->name, "place",
                         place, "kind", kind, "missing", missing, "mean", (double)rule->mean,
                         "gaps", (int)rule->gaps, "no", pgcn_i_yes_no[rule->form][0], "yes",
                         pgcn_i_yes_no[rule->form][1]);
    case PGCN_I_RULE_CATEGORY:
        return json_pack("{s:s, s:I, s:s, s:I, s:b, s:b, s:I, s:o}", "name", rule->name, "place",
                         place, "kind", kind, "missing", missing, "gaps", (int)rule->gaps, "other",
                         (int)rule->other, "rare", (json_int_t)rule->rare, "values",
                         values_to_json(rule));
    default:
        return json_pack("{s:s, s:I, s:s, s:I}", "name", rule->name, "place", place, "kind", kind,
                         "missing", missing);
    }
}

pgcn_status pgcn_i_encoder_text(const pgcn_i_encoder *encoder, pgcn_i_arena *arena,
                                const char **out) {
    json_t *columns = json_array();
    bool complete = columns != NULL;
    for (int64_t r = 0; complete && r < encoder->rules; r++)
        complete = json_array_append_new(columns, rule_to_json(&encoder->rule[r])) == 0;
    json_t *object =
        json_pack("{s:i, s:b, s:s, s:I, s:I, s:o}", "version", 1, "header", (int)encoder->header,
                  "id", encoder->id, "id_place", (json_int_t)encoder->id_place, "width",
                  (json_int_t)encoder->width, "columns", columns);
    char *text = object && complete ? pgcn_i_json_dump(object, JSON_SORT_KEYS) : NULL;
    json_decref(object);
    *out = text ? pgcn_i_arena_strdup(arena, text) : NULL;
    pgcn_i_free(text);
    if (*out) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_MEMORY, "out of memory for the rules of %lld columns",
                       (long long)encoder->rules);
}

/* ---- reading ----------------------------------------------------------------------------------- */

enum { MOST_VALUES = 1000, MOST_RULES = 1 << 20 };

/* rule: from 0; -1: of none. */
static pgcn_status damaged(const char *where, int64_t rule, const char *what) {
    char of[32] = "";
    if (rule >= 0) snprintf(of, sizeof of, " of rule %lld", (long long)rule + 1);
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "%s: the rules for the columns of tables are damaged (%s%s); make the file "
                       "again",
                       where, what, of);
}

/* The index of a word in a table; -1: it is not there. */
static int word_of(const json_t *object, const char *key, const char *const *words, int count) {
    const char *text = json_string_value(json_object_get(object, key));
    for (int i = 0; text && i < count; i++)
        if (strcmp(text, words[i]) == 0) return i;
    return -1;
}

static bool read_count(const json_t *object, const char *key, int64_t least, int64_t *out) {
    const json_t *value = json_object_get(object, key);
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= least && *out <= INT32_MAX;
}

static bool read_flag(const json_t *object, const char *key, bool *out) {
    const json_t *value = json_object_get(object, key);
    *out = json_is_true(value);
    return json_is_boolean(value);
}

static bool read_mean(const json_t *object, float *out) {
    const json_t *value = json_object_get(object, "mean");
    *out = (float)json_number_value(value);
    return json_is_number(value) && isfinite(*out);
}

static int read_pair(const json_t *object) {
    const char *no = json_string_value(json_object_get(object, "no"));
    const char *yes = json_string_value(json_object_get(object, "yes"));
    for (int pair = 0; no && yes && pair < PGCN_I_YES_NO_PAIRS; pair++)
        if (strcmp(no, pgcn_i_yes_no[pair][0]) == 0 && strcmp(yes, pgcn_i_yes_no[pair][1]) == 0)
            return pair;
    return -1;
}

/* *bad: the field that is wrong; NULL: none. */
static pgcn_status read_values(const json_t *object, pgcn_i_arena *arena, pgcn_i_rule *rule,
                               const char **bad) {
    const json_t *list = json_object_get(object, "values");
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > MOST_VALUES) *bad = "values";
    if (!read_flag(object, "other", &rule->other)) *bad = "other";
    if (!read_count(object, "rare", 0, &rule->rare)) *bad = "rare";
    if (*bad) return PGCN_OK;
    if (!(rule->value = PGCN_I_ARRAY(arena, const char *, (int64_t)count))) return PGCN_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (!text) *bad = "values";
        if (!text) return PGCN_OK;
        if (!(rule->value[i] = pgcn_i_arena_strdup(arena, text))) return PGCN_ERR_MEMORY;
    }
    rule->values = (int64_t)count;
    return PGCN_OK;
}

static pgcn_status read_rule(const json_t *object, pgcn_i_arena *arena, pgcn_i_rule *rule,
                             const char **bad) {
    static const char *const decimals[] = {"point", "comma"};
    const char *name = json_string_value(json_object_get(object, "name"));
    int kind = word_of(object, "kind", pgcn_i_rule_kinds, PGCN_I_RULE_KINDS);
    if (!name) *bad = "name";
    if (kind < 0) *bad = "kind";
    if (!read_count(object, "place", 1, &rule->place)) *bad = "place";
    if (!read_count(object, "missing", 0, &rule->missing)) *bad = "missing";
    if (*bad) return PGCN_OK;
    rule->kind = (pgcn_i_rule_kind)kind;
    if (!(rule->name = pgcn_i_arena_strdup(arena, name))) return PGCN_ERR_MEMORY;
    if (rule->kind == PGCN_I_RULE_LEFT_OUT) return PGCN_OK;
    if (!read_flag(object, "gaps", &rule->gaps)) *bad = "gaps";
    if (rule->kind == PGCN_I_RULE_CATEGORY)
        return *bad ? PGCN_OK : read_values(object, arena, rule, bad);
    if (!read_mean(object, &rule->mean)) *bad = "mean";
    int decimal = word_of(object, "decimal", decimals, 2);
    rule->comma = decimal == 1;
    rule->form = rule->kind == PGCN_I_RULE_NUMBER ? decimal
                 : rule->kind == PGCN_I_RULE_DATE
                     ? word_of(object, "form", pgcn_i_date_forms, PGCN_I_DATE_FORMS)
                     : read_pair(object);
    if (rule->form < 0) *bad = "form";
    return PGCN_OK;
}

static pgcn_status read_encoder(const char *where, const json_t *object, pgcn_i_arena *arena,
                                pgcn_i_encoder *out) {
    const json_t *columns = json_object_get(object, "columns");
    const char *id = json_string_value(json_object_get(object, "id"));
    size_t count = json_array_size(columns);
    if (json_integer_value(json_object_get(object, "version")) != 1)
        return damaged(where, -1, "version");
    if (count < 1 || count > MOST_RULES) return damaged(where, -1, "columns");
    if (!id || !read_flag(object, "header", &out->header))
        return damaged(where, -1, "id or header");
    /* rules of earlier builds lack these two, which are 0 then */
    bool placed = json_object_get(object, "id_place") || json_object_get(object, "width");
    if (placed && (!read_count(object, "id_place", 0, &out->id_place) ||
                   !read_count(object, "width", 0, &out->width)))
        return damaged(where, -1, "id_place or width");
    out->id = pgcn_i_arena_strdup(arena, id);
    out->rule = PGCN_I_ARRAY(arena, pgcn_i_rule, (int64_t)count);
    if (!out->id || !out->rule) return PGCN_ERR_MEMORY;
    out->rules = (int64_t)count;
    for (size_t r = 0; r < count; r++) {
        const char *bad = NULL;
        PGCN_TRY(read_rule(json_array_get(columns, r), arena, &out->rule[r], &bad));
        if (bad) return damaged(where, (int64_t)r, bad);
    }
    return PGCN_OK;
}

pgcn_status pgcn_i_encoder_parse(const char *where, const char *text, pgcn_i_arena *arena,
                                 pgcn_i_encoder *out) {
    json_t *object;
    *out = (pgcn_i_encoder){0};
    PGCN_TRY(pgcn_i_json_parse(where, text, (int64_t)strlen(text), &object));
    pgcn_status status = read_encoder(where, object, arena, out);
    json_decref(object);
    return status;
}

pgcn_status pgcn_i_encoder_check(const char *where, const char *text) {
    pgcn_i_arena scratch = {0};
    pgcn_i_encoder encoder;
    pgcn_status status = pgcn_i_encoder_parse(where, text, &scratch, &encoder);
    pgcn_i_arena_free(&scratch);
    return status;
}

/* ---- applying ---------------------------------------------------------------------------------- */

/* The cell of a row that has the column of a rule; 0, the id, if there is none. */
static int64_t find_cell(const pgcn_i_encoder *encoder, const pgcn_i_layout *layout,
                         const pgcn_i_rule *rule) {
    for (int64_t i = 1; i < layout->columns; i++) {
        bool named = encoder->header && layout->header && *layout->header[i];
        if (named ? strcmp(layout->header[i], rule->name) == 0
                  : pgcn_i_layout_place(layout, i) == rule->place)
            return i;
    }
    return 0;
}

bool pgcn_i_encoder_is_by_place(const pgcn_i_encoder *encoder, const pgcn_i_layout *layout) {
    return encoder->header && !layout->header;
}

static pgcn_status other_width(const pgcn_i_encoder *encoder, const pgcn_i_layout *layout) {
    return pgcn_i_fail(PGCN_ERR_MISMATCH,
                       "reading '%s': it has no header and %lld columns, and the table that the "
                       "model was trained on had %lld, so that it is not clear which is which; put "
                       "a line with the names of the columns above it",
                       layout->path, (long long)layout->file_columns, (long long)encoder->width);
}

pgcn_status pgcn_i_encoding_open(const pgcn_i_encoder *encoder, const pgcn_i_layout *layout,
                                 pgcn_i_arena *arena, pgcn_i_encoding *out) {
    *out = (pgcn_i_encoding){.encoder = encoder,
                             .layout = layout,
                             .cell = PGCN_I_ARRAY(arena, int64_t, encoder->rules),
                             .surprise = PGCN_I_ARRAY(arena, pgcn_i_surprise, encoder->rules)};
    if (!out->cell || !out->surprise) return PGCN_ERR_MEMORY;
    if (pgcn_i_encoder_is_by_place(encoder, layout) && encoder->width > 0 &&
        encoder->width != layout->file_columns)
        return other_width(encoder, layout);
    for (int64_t r = 0; r < encoder->rules; r++) {
        const pgcn_i_rule *rule = &encoder->rule[r];
        char shown[PGCN_I_EXCERPT];
        out->cell[r] = find_cell(encoder, layout, rule);
        if (out->cell[r] > 0 || rule->kind == PGCN_I_RULE_LEFT_OUT) continue;
        pgcn_i_text_excerpt(rule->name, (int64_t)strlen(rule->name), shown);
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "reading '%s': it has no column '%s' (column %lld of the table that the "
                           "model was trained on), which the model reads; add it, with empty cells "
                           "where it is not known",
                           layout->path, shown, (long long)rule->place);
    }
    return PGCN_OK;
}

static pgcn_status bad_cell(const pgcn_i_encoding *in, int64_t r, const pgcn_i_rows *rows,
                            const char *cell) {
    const pgcn_i_rule *rule = &in->encoder->rule[r];
    char shown[PGCN_I_EXCERPT], name[PGCN_I_EXCERPT];
    pgcn_i_text_excerpt(cell, (int64_t)strlen(cell), shown);
    pgcn_i_text_excerpt(rule->name, (int64_t)strlen(rule->name), name);
    return pgcn_i_text_fail(
        rows->text, "column %lld ('%s'): found '%s', expected %s%s%s; correct it%s",
        (long long)pgcn_i_layout_place(in->layout, in->cell[r]), name, shown,
        rule->kind == PGCN_I_RULE_NUMBER ? "a number"
        : rule->kind == PGCN_I_RULE_DATE ? "a date "
                                         : "a word for yes or no, as ",
        rule->kind == PGCN_I_RULE_DATE     ? pgcn_i_date_forms[rule->form]
        : rule->kind == PGCN_I_RULE_YES_NO ? pgcn_i_yes_no[rule->form][1]
        : rule->comma                      ? " with a decimal comma"
                                           : "",
        rule->kind == PGCN_I_RULE_YES_NO ? " or the like" : "",
        in->no_gaps ? ", or leave out --encode no" : " or leave the cell empty");
}

static bool read_number(const pgcn_i_rule *rule, const char *cell, float *out) {
    int answer;
    switch (rule->kind) {
    case PGCN_I_RULE_DATE: return pgcn_i_cell_date(cell, (pgcn_i_date_form)rule->form, out);
    case PGCN_I_RULE_YES_NO:
        answer = pgcn_i_cell_yes_no(cell, rule->form);
        *out = (float)answer;
        return answer >= 0;
    default: return pgcn_i_cell_number(cell, rule->comma, out);
    }
}

static void put_category(const pgcn_i_rule *rule, const char *cell, pgcn_i_surprise *surprise,
                         float *out) {
    int64_t i = 0;
    while (i < rule->values && strcmp(rule->value[i], cell) != 0) i++;
    if (i < rule->values + rule->other) out[i] = 1;
    if (i < rule->values) return;
    if (surprise->values++ == 0) pgcn_i_text_excerpt(cell, (int64_t)strlen(cell), surprise->first);
}

pgcn_status pgcn_i_encoding_row(pgcn_i_encoding *in, const pgcn_i_rows *rows, char **cell,
                                float *out) {
    for (int64_t r = 0; r < in->encoder->rules; r++) {
        const pgcn_i_rule *rule = &in->encoder->rule[r];
        int64_t made = pgcn_i_rule_columns(rule);
        const char *text = cell[in->cell[r]];
        if (rule->kind == PGCN_I_RULE_LEFT_OUT) continue;
        memset(out, 0, (size_t)made * sizeof *out);
        if (pgcn_i_cell_is_gap(text) && !in->no_gaps) {
            if (rule->kind != PGCN_I_RULE_CATEGORY) out[0] = rule->mean;
            if (rule->gaps) out[made - 1] = 1;
            in->surprise[r].gaps += !rule->gaps;
        } else if (rule->kind == PGCN_I_RULE_CATEGORY) {
            put_category(rule, text, &in->surprise[r], out);
        } else if (!read_number(rule, text, out)) {
            return bad_cell(in, r, rows, text);
        }
        out += made;
    }
    return PGCN_OK;
}
