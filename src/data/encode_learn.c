/* Finds the rules that turn the columns of a table into numbers (encode.h). The table is read twice: to see
 * what sort of cells each column has, and to count the values of categories. Of a column whose cells,
 * gaps aside, are all
 *
 *   numbers          the number; with decimal commas if the user says so, or in a file with semicolons
 *                    where all numbers of the column read so and none has a point
 *   days             days since 1970, if one form fits all: ISO 8601, day.month.year, or day and month
 *                    with slashes where only one order fits
 *   yes and no       1 and 0, if both words of one pair occur
 *   other texts      a column for each value that occurs at least twice and in 1 of 200 rows, at most
 *                    MOST_KEPT of them; the rare ones together, and the value "other" among them
 *
 * An empty column is left out. Refused are: text of which most cells are rare values, of more than MOST_KEPT;
 * text in which no value occurs twice; days whose order cannot be told; and columns of which nine of ten
 * cells are numbers, or days, and the rest is something else, which is rather a mistake than a category.
 *
 * What a column is follows from all rows. Means, values and gaps follow from the rows of `only`.
 * Called by own_features.c. Serial, thread-safe. */
#include "data/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEPT = 50, RARE_ONE_OF = 200, FEWEST_OF_A_VALUE = 2, MISTAKE_ONE_OF = 10 };

/* Sums over the rows that are learnt from; counts over all. */
typedef struct mean {
    int64_t all, learnt;
    double sum;
} mean;

typedef struct first_cell {
    int64_t line;
    char text[PGCN_I_EXCERPT];
} first_cell;

typedef struct column {
    int64_t cells, gaps;        /* of all rows */
    int64_t learnt_gaps, texts; /* of the rows that are learnt from: empty cells, others */
    mean number[2];             /* with a point, with a comma */
    bool has_comma;             /* in a number */
    mean date[PGCN_I_DATE_FORMS];
    mean yes_no[PGCN_I_YES_NO_PAIRS];
    int64_t yes[PGCN_I_YES_NO_PAIRS];
    first_cell no_number, no_date, any; /* the first such cells */
    bool is_category;
    pgcn_i_id_map value;
    pgcn_i_buffer count; /* int64 of each value */
} column;

typedef struct learning {
    const pgcn_i_layout *layout;
    const pgcn_i_learning *how;
    pgcn_i_arena *arena;
    column *column; /* [layout->columns], the first one not used */
    int64_t rows;   /* that are learnt from */
    int64_t problems;
    char problem[1000]; /* of the first columns that have no rule */
    char ignore[700];   /* the names of all for --ignore */
} learning;

/* ---- what the cells are --------------------------------------------------------------------------- */

static void add(mean *m, bool learnt, float value) {
    m->all++;
    if (!learnt) return;
    m->learnt++;
    m->sum += (double)value;
}

static void keep_first(first_cell *first, const pgcn_i_rows *rows, const char *cell) {
    if (first->line > 0) return;
    first->line = pgcn_i_text_line_number(rows->text);
    pgcn_i_text_excerpt(cell, (int64_t)strlen(cell), first->text);
}

static void look_at_cell(column *c, const pgcn_i_rows *rows, const char *cell, bool learnt) {
    float value = 0;
    bool number = false, point = false, date = false;
    c->cells++;
    if (pgcn_i_cell_is_gap(cell)) {
        c->gaps++;
        c->learnt_gaps += learnt;
        return;
    }
    c->texts += learnt;
    keep_first(&c->any, rows, cell);
    for (int comma = 0; comma < 2; comma++)
        if (pgcn_i_cell_number(cell, comma, &value)) {
            add(&c->number[comma], learnt, value);
            number = true;
            point = point || !comma;
        }
    c->has_comma = c->has_comma || (number && strchr(cell, ','));
    for (int form = 0; form < PGCN_I_DATE_FORMS && !number; form++)
        if (pgcn_i_cell_date(cell, (pgcn_i_date_form)form, &value)) {
            add(&c->date[form], learnt, value);
            date = true;
        }
    for (int pair = 0; pair < PGCN_I_YES_NO_PAIRS && !number && !date; pair++) {
        int answer = pgcn_i_cell_yes_no(cell, pair);
        if (answer < 0) continue;
        add(&c->yes_no[pair], learnt, (float)answer);
        c->yes[pair] += answer;
    }
    if (!point) keep_first(&c->no_number, rows, cell);
    if (!date) keep_first(&c->no_date, rows, cell);
}

static bool is_learnt(const learning *in, const char *id) {
    return !in->how->only || pgcn_i_id_map_find(in->how->only, id) >= 0;
}

static pgcn_status look_at_row(void *context, const pgcn_i_rows *rows, char **cell) {
    learning *in = context;
    bool learnt = is_learnt(in, cell[0]);
    in->rows += learnt;
    for (int64_t j = 1; j < in->layout->columns; j++)
        look_at_cell(&in->column[j], rows, cell[j], learnt);
    return PGCN_OK;
}

static pgcn_status count_value(column *c, const char *cell) {
    int64_t number;
    PGCN_TRY(pgcn_i_id_map_add(&c->value, cell, &number));
    if (number * (int64_t)sizeof(int64_t) == c->count.bytes) { /* it is new */
        int64_t *added = pgcn_i_buffer_add(&c->count, (int64_t)sizeof *added);
        if (!added) return PGCN_ERR_MEMORY;
        *added = 0;
    }
    ((int64_t *)(void *)c->count.data)[number]++;
    return PGCN_OK;
}

static pgcn_status count_row(void *context, const pgcn_i_rows *rows, char **cell) {
    learning *in = context;
    if (!is_learnt(in, cell[0])) return PGCN_OK;
    for (int64_t j = 1; j < in->layout->columns; j++) {
        char shown[PGCN_I_EXCERPT];
        if (!in->column[j].is_category || pgcn_i_cell_is_gap(cell[j])) continue;
        pgcn_i_text_excerpt(cell[j], (int64_t)strlen(cell[j]), shown);
        if (!pgcn_i_is_utf8(cell[j], (int64_t)strlen(cell[j])))
            return pgcn_i_text_fail(rows->text,
                                    "column %lld: '%s' is not UTF-8 text; save the file as UTF-8",
                                    (long long)pgcn_i_layout_place(in->layout, j), shown);
        PGCN_TRY(count_value(&in->column[j], cell[j]));
    }
    return PGCN_OK;
}

/* ---- columns without a rule ------------------------------------------------------------------------ */

static void append(char *text, size_t bytes, const char *before, const char *more) {
    size_t used = strlen(text);
    snprintf(text + used, bytes - used, "%s%s", before, more);
}

enum { MOST_SHOWN = 5 };

/* "'city' (column 3) WHAT": the first of them are described, and all are named. */
static void add_problem(learning *in, int64_t j, const char *what) {
    const char *name = in->layout->header ? in->layout->header[j] : "";
    char shown[PGCN_I_EXCERPT] = "", line[400], number[24];
    snprintf(number, sizeof number, "%lld", (long long)pgcn_i_layout_place(in->layout, j));
    pgcn_i_text_excerpt(name, (int64_t)strlen(name), shown);
    bool by_name = *name && !strchr(name, ',') && strcmp(name, shown) == 0;
    append(in->ignore, sizeof in->ignore, *in->ignore ? "," : "", by_name ? name : number);
    if (in->problems++ >= MOST_SHOWN) return;
    snprintf(line, sizeof line, "%s%s%scolumn %s%s %s", *name ? "'" : "", shown, *name ? "' (" : "",
             number, *name ? ")" : "", what);
    append(in->problem, sizeof in->problem, in->problems > 1 ? "; " : "", line);
}

static pgcn_status refuse(const learning *in) {
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s': %lld column%s cannot be made numbers: %s%s Leave %s out with "
                       "--ignore %s, or correct the file",
                       in->layout->path, (long long)in->problems, in->problems == 1 ? "" : "s",
                       in->problem, in->problems > MOST_SHOWN ? "; ..." : ".",
                       in->problems == 1 ? "it" : "them", in->ignore);
}

/* Nearly all cells are numbers, or days: the others are rather mistakes than values of a category. */
static bool is_mistaken(learning *in, int64_t j, int64_t fitting, const first_cell *other,
                        const char *what) {
    const column *c = &in->column[j];
    int64_t present = c->cells - c->gaps, wrong = present - fitting;
    char text[256];
    if (wrong == 0 || MISTAKE_ONE_OF * wrong > present) return false;
    snprintf(text, sizeof text, "has %lld %s and %lld other cell%s, '%s' in line %lld first",
             (long long)fitting, what, (long long)wrong, wrong == 1 ? "" : "s", other->text,
             (long long)other->line);
    add_problem(in, j, text);
    return true;
}

/* ---- the rules --------------------------------------------------------------------------------------- */

static void set_mean(pgcn_i_rule *rule, const mean *m) {
    rule->mean = m->learnt > 0 ? (float)(m->sum / (double)m->learnt) : 0;
}

static bool decide_number(const learning *in, const column *c, pgcn_i_rule *rule) {
    pgcn_decimal decimal = in->how->decimal;
    bool may_have_comma = decimal == PGCN_DECIMAL_COMMA ||
                          (decimal == PGCN_DECIMAL_AUTO && in->layout->delimiter == ';');
    int64_t present = c->cells - c->gaps;
    bool comma = may_have_comma && c->has_comma && c->number[1].all == present;
    if (!comma && c->number[0].all != present) return false;
    rule->kind = PGCN_I_RULE_NUMBER;
    rule->comma = comma;
    set_mean(rule, &c->number[comma]);
    return true;
}

/* True also if the column was refused. */
static bool decide_date(learning *in, int64_t j, pgcn_i_rule *rule) {
    const column *c = &in->column[j];
    int64_t present = c->cells - c->gaps;
    int form = 0;
    while (form < PGCN_I_DATE_FORMS && c->date[form].all != present) form++;
    if (form == PGCN_I_DATE_FORMS) return false;
    rule->kind = PGCN_I_RULE_DATE;
    rule->form = form;
    set_mean(rule, &c->date[form]);
    bool two_orders =
        form == PGCN_I_DATE_DAY_FIRST && c->date[PGCN_I_DATE_MONTH_FIRST].all == present;
    char text[256];
    snprintf(text, sizeof text,
             "has dates like '%s' of which day or month may come first; write 2024-12-31",
             c->any.text);
    if (two_orders) add_problem(in, j, text);
    return true;
}

static bool decide_yes_no(const column *c, pgcn_i_rule *rule) {
    int64_t present = c->cells - c->gaps;
    for (int pair = 0; pair < PGCN_I_YES_NO_PAIRS; pair++) {
        int64_t yes = c->yes[pair];
        if (c->yes_no[pair].all != present || yes == 0 || yes == present) continue;
        rule->kind = PGCN_I_RULE_YES_NO;
        rule->form = pair;
        set_mean(rule, &c->yes_no[pair]);
        return true;
    }
    return false;
}

/* Every sort but a category, whose values are not counted yet. */
static void decide(learning *in, int64_t j, pgcn_i_rule *rule) {
    column *c = &in->column[j];
    int64_t dates = 0;
    rule->missing = c->gaps;
    rule->gaps = c->learnt_gaps > 0;
    if (c->gaps == c->cells) {
        rule->kind = PGCN_I_RULE_LEFT_OUT;
        rule->gaps = false;
        return;
    }
    if (decide_number(in, c, rule) || decide_date(in, j, rule) || decide_yes_no(c, rule)) return;
    for (int form = 0; form < PGCN_I_DATE_FORMS; form++)
        if (c->date[form].all > dates) dates = c->date[form].all;
    if (is_mistaken(in, j, c->number[0].all, &c->no_number, "numbers")) return;
    if (is_mistaken(in, j, dates, &c->no_date, "dates")) return;
    rule->kind = PGCN_I_RULE_CATEGORY;
    c->is_category = true;
}

typedef struct counted {
    const char *text;
    int64_t count;
} counted;

static int by_count(const void *a, const void *b) {
    const counted *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return strcmp(x->text, y->text);
}

/* "other" is the name of the column of rare values, and belongs there. */
static bool is_kept(const learning *in, const counted *value) {
    return value->count >= FEWEST_OF_A_VALUE && RARE_ONE_OF * value->count >= in->rows &&
           strcmp(value->text, "other") != 0;
}

static void check_category(learning *in, int64_t j, const pgcn_i_rule *rule, int64_t rare_cells) {
    const column *c = &in->column[j];
    char text[256];
    bool too_many = c->value.count > MOST_KEPT && 2 * rare_cells > c->texts;
    if (!too_many && (rule->values > 0 || c->value.count < 2)) return;
    if (c->number[0].all * 2 >= c->cells - c->gaps)
        snprintf(text, sizeof text, "has numbers, but '%s' in line %lld is none%s",
                 c->no_number.text, (long long)c->no_number.line,
                 c->has_comma ? " (--decimal comma, if all are written so)" : "");
    else
        snprintf(text, sizeof text, "has %lld different texts in %lld rows, such as '%s'",
                 (long long)c->value.count, (long long)in->rows, c->any.text);
    add_problem(in, j, text);
}

static pgcn_status find_twins(learning *in, const column *c, pgcn_i_arena *scratch,
                              pgcn_i_rule *rule) {
    char twins[PGCN_I_TWINS_BYTES];
    const char **text = PGCN_I_ARRAY(scratch, const char *, c->value.count);
    if (!text) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < c->value.count; i++) text[i] = pgcn_i_id_map_text(&c->value, i);
    if (pgcn_i_case_twins(text, c->value.count, twins) == 0) return PGCN_OK;
    rule->twins = pgcn_i_arena_strdup(in->arena, twins);
    return rule->twins ? PGCN_OK : PGCN_ERR_MEMORY;
}

static pgcn_status keep_values(learning *in, int64_t j, pgcn_i_arena *scratch, pgcn_i_rule *rule) {
    const column *c = &in->column[j];
    const int64_t *count = (const int64_t *)(const void *)c->count.data;
    counted *value = PGCN_I_ARRAY(scratch, counted, c->value.count);
    if (!value) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < c->value.count; i++)
        value[i] = (counted){pgcn_i_id_map_text(&c->value, i), count[i]};
    qsort(value, (size_t)c->value.count, sizeof *value, by_count);
    rule->value = PGCN_I_ARRAY(in->arena, const char *, MOST_KEPT);
    if (!rule->value) return PGCN_ERR_MEMORY;
    int64_t rare_cells = 0;
    for (int64_t i = 0; i < c->value.count; i++) {
        if (rule->values < MOST_KEPT && is_kept(in, &value[i])) {
            const char *text = pgcn_i_arena_strdup(in->arena, value[i].text);
            if (!text) return PGCN_ERR_MEMORY;
            rule->value[rule->values++] = text;
        } else {
            rule->rare++;
            rare_cells += value[i].count;
        }
    }
    rule->other = rule->rare > 0;
    check_category(in, j, rule, rare_cells);
    return find_twins(in, c, scratch, rule);
}

/* Rows of other files find their columns by name. */
static pgcn_status check_names(const learning *in, const pgcn_i_encoder *encoder,
                               pgcn_i_arena *scratch) {
    const char **name = PGCN_I_ARRAY(scratch, const char *, encoder->rules);
    if (!name) return PGCN_ERR_MEMORY;
    for (int64_t r = 0; r < encoder->rules; r++) name[r] = encoder->rule[r].name;
    qsort(name, (size_t)encoder->rules, sizeof *name, pgcn_i_compare_texts);
    for (int64_t r = 1; r < encoder->rules; r++)
        if (strcmp(name[r - 1], name[r]) == 0)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': two of its columns are called '%s', and columns that "
                               "are not all plain numbers are found by their names; rename one, or "
                               "leave one out with --ignore and its number",
                               in->layout->path, name[r]);
    return PGCN_OK;
}

static pgcn_status learn(learning *in, pgcn_i_arena *scratch, pgcn_i_encoder *out) {
    bool categories = false;
    PGCN_TRY(pgcn_i_rows_each(in->layout, look_at_row, in));
    if (in->rows == 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it has no row%s; means and categories are learnt from "
                           "rows",
                           in->layout->path, in->how->only ? " of a training node" : "");
    for (int64_t j = 1; j < in->layout->columns; j++) {
        decide(in, j, &out->rule[j - 1]);
        categories = categories || in->column[j].is_category;
    }
    if (categories) PGCN_TRY(pgcn_i_rows_each(in->layout, count_row, in));
    for (int64_t j = 1; j < in->layout->columns; j++)
        if (in->column[j].is_category) PGCN_TRY(keep_values(in, j, scratch, &out->rule[j - 1]));
    if (in->problems > 0) return refuse(in);
    if (pgcn_i_encoder_columns(out) == 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': all of its columns are empty; leave --features out",
                           in->layout->path);
    return pgcn_i_encoder_is_plain(out) ? PGCN_OK : check_names(in, out, scratch);
}

static pgcn_status name_rule(const pgcn_i_layout *layout, int64_t j, pgcn_i_arena *arena,
                             pgcn_i_rule *rule) {
    const char *name = layout->header ? layout->header[j] : "";
    char number[32];
    rule->place = pgcn_i_layout_place(layout, j);
    snprintf(number, sizeof number, "column %lld", (long long)rule->place);
    rule->name = pgcn_i_arena_strdup(arena, *name ? name : number);
    if (!rule->name) return PGCN_ERR_MEMORY;
    if (pgcn_i_is_utf8(name, (int64_t)strlen(name))) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s': line %lld: the name '%s' of column %lld is not UTF-8 text; "
                       "save the file as UTF-8",
                       layout->path, (long long)layout->header_line, name, (long long)rule->place);
}

/* Every column a number, which is what rules begin as. */
pgcn_status pgcn_i_encoder_numbers(const pgcn_i_layout *layout, pgcn_i_arena *arena,
                                   pgcn_i_encoder *out) {
    const char *id = layout->header ? layout->header[0] : "";
    *out = (pgcn_i_encoder){.rules = layout->columns - 1,
                            .rule = PGCN_I_ARRAY(arena, pgcn_i_rule, layout->columns),
                            .header = layout->header != NULL,
                            .id_place = pgcn_i_layout_place(layout, 0),
                            .width = layout->file_columns,
                            .id = pgcn_i_is_utf8(id, (int64_t)strlen(id)) ? id : ""};
    if (!out->rule) return PGCN_ERR_MEMORY;
    for (int64_t j = 1; j < layout->columns; j++)
        PGCN_TRY(name_rule(layout, j, arena, &out->rule[j - 1]));
    return PGCN_OK;
}

pgcn_status pgcn_i_encoder_learn(const pgcn_i_layout *layout, const pgcn_i_learning *how,
                                 pgcn_i_arena *arena, pgcn_i_encoder *out) {
    pgcn_i_arena scratch = {0};
    learning in = {.layout = layout, .how = how, .arena = arena};
    PGCN_TRY(pgcn_i_encoder_numbers(layout, arena, out));
    in.column = PGCN_I_ARRAY(&scratch, column, layout->columns);
    pgcn_status status = in.column ? learn(&in, &scratch, out) : PGCN_ERR_MEMORY;
    for (int64_t j = 1; in.column && j < layout->columns; j++) {
        pgcn_i_id_map_free(&in.column[j].value);
        pgcn_i_buffer_free(&in.column[j].count);
    }
    pgcn_i_arena_free(&scratch);
    return status;
}
