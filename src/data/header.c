/* Whether the first line of a user's file is a header or data.
 *
 * Known words decide the usual cases; beyond them it is decided by what a header cannot be: a node or a
 * class that occurs again. The rules are tried in this order, and the first that fits decides:
 *
 *   all       the user says so (--header); a name that --id, --use and the like ask for is a header, and
 *             so is an empty first cell, or the cell that the feature file has above its ids
 *   edges     a word above the weights: header. An id that is a whole number: data. An id that is in the
 *             files read before (features, labels): data. Both ids are words like source, target:
 *             header. An id that occurs again below: data. Whole numbers in all lines below: header.
 *             More than half of the lines below share an id with another line or file: header. Else data
 *   features  no cell but the first is a number, and one below is: header. The first cell is a word like
 *             id, node: header, a whole number: data. Whole numbers below it in all lines: header. At
 *             least three cells that count 0, 1, 2, ... or 1, 2, 3, ...: header. A number: data. Text
 *             above a number or a date: header. Of text alone, a cell of the first two columns that
 *             occurs again below: data; more than half of the lines below that share such a cell with
 *             another line: header. Else data
 *   labels    an id that is a whole number, or a label that is not known: data. Of several columns, a
 *             cell that is not 0 or 1: header. An id that the feature file has: data. A word like id,
 *             node, or above the labels one like label, class: header. Numbers below it in all lines, as
 *             ids or as labels: header. An id that the edge file has, or a class that occurs again: data.
 *             More than half of the lines below have a class that another line has, or an id that is
 *             known: header. Else data
 *   splits    no cell but the first names a part: header. Else data
 *
 * A file of one line is data unless its words say otherwise, and where features are .npy rows, whose ids
 * are numbers, text is a header. Texts that occur again are searched in the whole file; shares and types
 * are those of its first LOOKED_AT lines, where whole numbers end the search. The decision and its
 * reason are always reported.
 * Called by delimited.c. Thread-safe. */
#include "data/cells.h"
#include "data/delimited.h"

#include <string.h>
#include <strings.h>

enum { LOOKED_AT = 1 << 16, LOOKED_AT_FEATURES = 100 };

/* ---- words ------------------------------------------------------------------------------------- */

/* clang-format off */
static const char *const id_words[] = {
    "id", "ids", "node", "nodes", "node_id", "nodeid", "node id", "node_ids", "name", "index", "vertex",
    "key", "row", "user", "user_id", "userid", "person", "member", "paper", "paper_id", "account", NULL};
static const char *const edge_words[] = {
    "source", "target", "src", "dst", "from", "to", "head", "tail", "start", "end", "id1", "id2",
    "id_1", "id_2", "node1", "node2", "node_1", "node_2", "source_id", "target_id", "from_id", "to_id",
    "source_node", "target_node", "from_node", "to_node", "fromnodeid", "tonodeid", "source_node_id",
    "target_node_id", "citing", "cited", "id", "node", "user", "user1", "user2", "friend", "follower",
    "followee", "member", NULL};
static const char *const label_words[] = {
    "label", "labels", "class", "classes", "target", "y", "category", "community", "class_label", "group", NULL};
/* clang-format on */

static bool is_one_of(const char *const *words, const char *cell) {
    for (; *words; words++)
        if (strcasecmp(*words, cell) == 0) return true;
    return false;
}

bool pgcn_i_names_ids(const char *cell) {
    return *cell == '\0' || is_one_of(id_words, cell);
}

static bool is_whole(const char *cell) {
    int64_t value;
    return pgcn_i_parse_i64(&cell, &value) && *cell == '\0';
}

static bool is_number(const char *cell) {
    float value;
    const char *at = cell;
    return (pgcn_i_parse_f32(&at, &value) && *at == '\0') ||
           pgcn_i_cell_number(cell, true, &value); /* as the edges and features may be written */
}

static bool is_typed(const char *cell) {
    float day;
    bool typed = is_number(cell);
    for (int form = 0; form < PGCN_I_DATE_FORMS && !typed; form++)
        typed = pgcn_i_cell_date(cell, (pgcn_i_date_form)form, &day);
    return typed;
}

/* How many of the cells from `begin` are numbers. */
static int64_t count_numbers(const pgcn_i_cells *row, int64_t begin) {
    int64_t count = 0;
    for (int64_t i = begin; i < row->count; i++) count += is_number(row->cell[i]);
    return count;
}

/* ---- the question -------------------------------------------------------------------------------- */

typedef struct question {
    const pgcn_i_layout *layout; /* of the lines below the first */
    const pgcn_i_known *known;
    const pgcn_i_cells *a, *b; /* the first two lines; b may be empty */
    pgcn_i_verdict *out;
} question;

static pgcn_status header(const question *q, const char *why) {
    *q->out = (pgcn_i_verdict){true, why};
    return PGCN_OK;
}

static pgcn_status data(const question *q, const char *why) {
    *q->out = (pgcn_i_verdict){false, why};
    return PGCN_OK;
}

static const char *const only_line = "it is the only line";
static const char *const known_id = "its id is in the other files";
static const char *const words = "it has the words of a header";
static const char *const whole_id = "its id is a whole number";
static const char *const above_numbers = "it is text above numbers";
static const char *const like_others = "nothing sets it apart from the lines below";

static bool is_known(const question *q, const char *id) {
    return q->known->ids && pgcn_i_id_map_find(q->known->ids, id) >= 0;
}

/* ---- the lines below ------------------------------------------------------------------------------ */

typedef struct survey {
    const question *q;
    int64_t begin, end; /* the cells whose texts are searched in other lines */
    int64_t most;       /* lines whose types and shares are examined */
    bool repeats;       /* a text of the first line occurs again */
    bool whole_ids;     /* all first cells, of edges the second ones too */
    bool numbers;       /* all other cells */
    bool typed;         /* some other cell is a number or a date, below one that is neither */
    int64_t rows;
    int64_t linked;       /* rows that share such a text with another row, or have a known id */
    pgcn_i_id_map texts;  /* of these cells */
    pgcn_i_buffer lines;  /* int32 of each text: rows it is in */
    pgcn_i_buffer unsure; /* int32 [.., end - begin] texts of the rows without a known id */
} survey;

static void find_repeats(survey *s, char **cell) {
    for (int64_t i = s->begin; i < s->end; i++)
        for (int64_t j = s->begin; j < s->end; j++)
            if (strcmp(cell[i], s->q->a->cell[j]) == 0) s->repeats = true;
}

static pgcn_status count_texts(survey *s, char **cell, bool known) {
    int64_t width = s->end - s->begin, number[2] = {-1, -1};
    for (int64_t i = 0; i < width; i++) {
        PGCN_TRY(pgcn_i_id_map_add(&s->texts, cell[s->begin + i], &number[i]));
        if (number[i] * (int64_t)sizeof(int32_t) == s->lines.bytes)
            PGCN_TRY(pgcn_i_push_i32(&s->lines, 0)); /* it is new */
        int32_t *lines = (int32_t *)(void *)s->lines.data;
        if (i == 0 || number[i] != number[0]) lines[number[i]]++;
    }
    s->linked += known;
    for (int64_t i = 0; i < width && !known; i++) PGCN_TRY(pgcn_i_push_i32(&s->unsure, number[i]));
    return PGCN_OK;
}

static pgcn_status examine_row(survey *s, char **cell) {
    bool edges = s->begin == 0 && s->end == 2, known = false;
    int64_t ids = edges ? 2 : 1;
    for (int64_t i = 0; i < ids; i++) {
        s->whole_ids = s->whole_ids && is_whole(cell[i]);
        known = known || is_known(s->q, cell[i]);
    }
    for (int64_t i = ids; i < s->q->layout->columns && s->numbers; i++)
        s->numbers = is_number(cell[i]);
    for (int64_t i = ids; i < s->q->layout->columns && i < s->q->a->count; i++)
        s->typed = s->typed || (is_typed(cell[i]) && !is_typed(s->q->a->cell[i]));
    s->rows++;
    return count_texts(s, cell, known);
}

static pgcn_status survey_rows(survey *s, pgcn_i_rows *rows) {
    char **cell;
    s->whole_ids = s->numbers = true;
    while (!s->repeats && (s->rows < s->most || s->end > s->begin)) {
        PGCN_TRY(pgcn_i_rows_next(rows, &cell));
        if (!cell || (s->rows == s->most && s->whole_ids)) break; /* the types have decided */
        find_repeats(s, cell);
        if (s->rows < s->most) PGCN_TRY(examine_row(s, cell));
    }
    int64_t width = s->end - s->begin, unsure = s->unsure.bytes / (int64_t)sizeof(int32_t);
    const int32_t *text = (const int32_t *)(const void *)s->unsure.data;
    const int32_t *lines = (const int32_t *)(const void *)s->lines.data;
    for (int64_t i = 0; i < unsure; i += width)
        s->linked += lines[text[i]] > 1 || lines[text[i + width - 1]] > 1;
    return PGCN_OK;
}

/* Examines the lines below the first: the texts of the cells begin .. end - 1, at most two. */
static pgcn_status survey_below(const question *q, int64_t begin, int64_t end, int64_t most,
                                survey *out) {
    pgcn_i_rows rows;
    *out = (survey){.q = q, .begin = begin, .end = end, .most = most};
    pgcn_status status = pgcn_i_rows_open(&rows, q->layout);
    if (status == PGCN_OK) status = survey_rows(out, &rows);
    pgcn_i_rows_close(&rows);
    pgcn_i_id_map_free(&out->texts);
    pgcn_i_buffer_free(&out->lines);
    pgcn_i_buffer_free(&out->unsure);
    return status;
}

/* Whether an edge file has this id. */
static pgcn_status is_in_edges(const char *path, const char *id, bool *found) {
    pgcn_i_arena scratch = {0};
    pgcn_i_layout layout;
    pgcn_i_rows rows = {0};
    pgcn_i_known as_data = {.role = PGCN_I_ROLE_EDGES, .header = PGCN_HEADER_NO};
    char **cell = NULL;
    pgcn_status status;
    *found = false;
    PGCN_TRY_GOTO(pgcn_i_layout_find(path, &as_data, &scratch, &layout));
    PGCN_TRY_GOTO(pgcn_i_rows_open(&rows, &layout));
    while (!*found && layout.columns > 1) {
        PGCN_TRY_GOTO(pgcn_i_rows_next(&rows, &cell));
        if (!cell) break;
        for (int64_t i = 0; i < layout.columns; i++) *found = *found || strcmp(cell[i], id) == 0;
    }
fail:
    pgcn_i_rows_close(&rows);
    pgcn_i_arena_free(&scratch);
    return status;
}

/* ---- the rules ------------------------------------------------------------------------------------ */

static pgcn_status judge_edges(const question *q) {
    const pgcn_i_cells *a = q->a, *b = q->b;
    if (a->count < 2) return data(q, "it has one cell");
    if (a->count > 2 && b->count > 2 && !is_number(a->cell[2]) && is_number(b->cell[2]))
        return header(q, "it has text above the weights");
    if (is_whole(a->cell[0]) || is_whole(a->cell[1])) return data(q, whole_id);
    if (is_known(q, a->cell[0]) || is_known(q, a->cell[1])) return data(q, known_id);
    if (is_one_of(edge_words, a->cell[0]) && is_one_of(edge_words, a->cell[1]))
        return header(q, words);
    if (b->count < 2) return data(q, only_line);
    if (q->known->ids_are_rows) return header(q, above_numbers);
    survey s;
    PGCN_TRY(survey_below(q, 0, 2, LOOKED_AT, &s));
    if (s.repeats) return data(q, "its id occurs again below");
    if (s.whole_ids) return header(q, above_numbers);
    if (2 * s.linked > s.rows)
        return header(q, "its ids occur nowhere else, and those of most lines do");
    return data(q, like_others);
}

/* Whether the cells are 0, 1, 2, ... or 1, 2, 3, ...: names of columns made by a program. */
static bool counts_columns(const pgcn_i_cells *row) {
    int64_t first = 0, value;
    bool counts = row->count >= 4;
    for (int64_t i = 1; counts && i < row->count; i++) {
        const char *at = row->cell[i];
        counts = pgcn_i_parse_i64(&at, &value) && *at == '\0';
        if (i == 1) first = value;
        counts = counts && (first == 0 || first == 1) && value == first + i - 1;
    }
    return counts;
}

static pgcn_status judge_features(const question *q) {
    const pgcn_i_cells *a = q->a, *b = q->b;
    if (is_one_of(id_words, a->cell[0])) return header(q, words);
    if (count_numbers(a, 1) == 0 && count_numbers(b, 1) > 0) return header(q, above_numbers);
    if (is_whole(a->cell[0])) return data(q, whole_id);
    if (b->count == 0) return data(q, only_line);
    survey s;
    PGCN_TRY(survey_below(q, 0, 0, LOOKED_AT_FEATURES, &s));
    if (s.whole_ids) return header(q, above_numbers);
    if (counts_columns(a)) return header(q, "it counts the columns");
    if (count_numbers(a, 1) > 0) return data(q, "it has a number, as the lines below");
    if (s.typed) return header(q, above_numbers);
    PGCN_TRY(survey_below(q, 1, a->count > 2 ? 3 : a->count, LOOKED_AT, &s));
    if (s.repeats) return data(q, "one of its cells occurs again below");
    if (2 * s.linked > s.rows) return header(q, "its cells occur nowhere else, and others do");
    return data(q, like_others);
}

static bool is_yes_or_no(const char *cell) {
    return pgcn_i_is_missing(cell) || strcmp(cell, "0") == 0 || strcmp(cell, "1") == 0;
}

static pgcn_status judge_labels_below(const question *q) {
    const char *id = q->a->cell[0];
    bool in_edges = false;
    survey s;
    PGCN_TRY(survey_below(q, 1, q->a->count == 2 ? 2 : 1, LOOKED_AT, &s));
    if (s.whole_ids || (s.numbers && count_numbers(q->a, 1) == 0)) return header(q, above_numbers);
    if (s.repeats) return data(q, "its class occurs again below");
    for (const char *const *path = q->known->edges; path && *path && !in_edges; path++)
        PGCN_TRY(is_in_edges(*path, id, &in_edges));
    if (in_edges) return data(q, known_id);
    if (2 * s.linked > s.rows)
        return header(q,
                      "neither its id nor its class occurs elsewhere, and those of most lines do");
    return data(q, like_others);
}

static pgcn_status judge_labels(const question *q) {
    const pgcn_i_cells *a = q->a;
    bool yes_or_no = true;
    if (a->count < 2) /* R leaves out the cell above the ids */
        return q->b->count == 2 && is_one_of(label_words, a->cell[0]) ? header(q, words)
                                                                      : data(q, "it has one cell");
    if (is_whole(a->cell[0])) return data(q, whole_id);
    if (a->count == 2 && pgcn_i_is_missing(a->cell[1])) return data(q, "its label is not known");
    for (int64_t i = 1; i < a->count; i++) yes_or_no = yes_or_no && is_yes_or_no(a->cell[i]);
    if (q->b->count > 2 && !yes_or_no) return header(q, "its cells are not 0 or 1");
    if (is_known(q, a->cell[0])) return data(q, known_id);
    if (is_one_of(id_words, a->cell[0]) || is_one_of(label_words, a->cell[1]))
        return header(q, words);
    if (q->b->count < 2) return data(q, only_line);
    if (q->known->ids_are_rows) return header(q, above_numbers);
    return judge_labels_below(q);
}

static pgcn_status judge_splits(const question *q) {
    for (int64_t i = 1; i < q->a->count; i++)
        if (pgcn_i_part_of(q->a->cell[i]) != PGCN_I_PART_UNKNOWN) return data(q, "it names a part");
    if (is_whole(q->a->cell[0])) return data(q, whole_id);
    return header(q, "it names no part");
}

static bool has_named(const pgcn_i_cells *row, const char *const *named) {
    for (; named && *named; named++)
        for (int64_t i = 0; i < row->count; i++)
            if (strcmp(row->cell[i], *named) == 0) return true;
    return false;
}

pgcn_status pgcn_i_header_judge(const pgcn_i_layout *layout, const pgcn_i_known *known,
                                const pgcn_i_cells *a, const pgcn_i_cells *b, pgcn_i_verdict *out) {
    const question q = {layout, known, a, b, out};
    if (a->count == 0) return data(&q, "it is empty");
    if (known->header != PGCN_HEADER_AUTO) {
        *out = (pgcn_i_verdict){known->header == PGCN_HEADER_YES, "as --header says"};
        return PGCN_OK;
    }
    if (has_named(a, known->named)) return header(&q, "it has a column that is asked for");
    if (*a->cell[0] == '\0' && known->role != PGCN_I_ROLE_EDGES)
        return header(&q, "its first cell is empty");
    if (known->id_column && *known->id_column && strcmp(a->cell[0], known->id_column) == 0)
        return header(&q, "it begins as the header of the features");
    switch (known->role) {
    case PGCN_I_ROLE_EDGES: return judge_edges(&q);
    case PGCN_I_ROLE_FEATURES: return judge_features(&q);
    case PGCN_I_ROLE_LABELS: return judge_labels(&q);
    case PGCN_I_ROLE_SPLITS: return judge_splits(&q);
    }
    return PGCN_OK;
}
