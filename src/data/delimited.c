/* Text files that people have: CSV, TSV, columns with blanks; plain or gzip, with or without a header.
 *
 * Lines that are empty or start with # or % are skipped; a UTF-8 mark and \r\n are fine; cells may be
 * quoted. What is not given is found from the first two lines that are left:
 *
 *   delimiter   the first of tab, semicolon and comma that is in both lines (outside quotes); else
 *               runs of blanks, if the first line has any; else comma
 *   header      the first line is one, and no data, if
 *     edges     its first two cells are both words of the list below (in any case); or (*) neither of
 *               them is a whole number and both below are; or (*) there is a third cell that is not a
 *               number, and the one below is
 *     features  its first cell is empty or one of the words; or (*) no other cell is a number, and one
 *               of those below is
 *     labels    its first cell is empty or one of the words; or its second cell is a word for a label;
 *               or (*) no cell but the first is a number, and all those below are, or the first is no
 *               whole number and the one below is
 *     splits    no cell but the first names a part, and the first is (*) not a whole number
 *     all       or its first cell is what the header of the feature file has above the ids
 *   (*) is a guess, of which the user is told.
 *   A header may lack the cell above the ids, as R writes it.
 *
 * Called by own_files.c and edge_list.c. Thread-safe. */
#include "data/delimited.h"

#include <string.h>
#include <strings.h>

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

bool pgcn_i_is_missing(const char *cell) {
    static const char *const words[] = {"?", "nan", "NaN", "NA", "N/A"};
    if (*cell == '\0') return true;
    for (int i = 0; i < 5; i++)
        if (strcmp(cell, words[i]) == 0) return true;
    return false;
}

int pgcn_i_part_of(const char *cell) {
    static const struct {
        const char *word;
        int part;
    } parts[] = {{"train", 0}, {"val", 1}, {"valid", 1}, {"validation", 1},
                 {"test", 2},  {"", 3},    {"-", 3},     {"none", 3}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcasecmp(cell, parts[i].word) == 0) return parts[i].part;
    return -1;
}

static bool is_whole(const char *cell) {
    int64_t value;
    return pgcn_i_parse_i64(&cell, &value) && *cell == '\0';
}

static bool is_number(const char *cell) {
    float value;
    return pgcn_i_parse_f32(&cell, &value) && *cell == '\0';
}

/* ---- the first two lines ----------------------------------------------------------------------- */

static bool is_skipped(const char *line) {
    while (*line == ' ' || *line == '\t') line++;
    return *line == '\0' || *line == '#' || *line == '%';
}

/* The next line with cells; NULL after the last. */
static pgcn_status next_line(pgcn_i_text *text, char **line) {
    int64_t length;
    do {
        PGCN_TRY(pgcn_i_text_line(text, line, &length));
    } while (*line && is_skipped(*line));
    return PGCN_OK;
}

static bool has(const char *line, char wanted) {
    bool quoted = false;
    for (; *line; line++) {
        if (*line == '"') quoted = !quoted;
        if (*line == wanted && !quoted) return true;
    }
    return false;
}

static char find_delimiter(const char *first, const char *second) {
    static const char candidates[] = {'\t', ';', ','};
    for (int i = 0; i < 3; i++)
        if (has(first, candidates[i]) && (!second || has(second, candidates[i])))
            return candidates[i];
    return has(first, ' ') || has(first, '\t') ? ' ' : ',';
}

typedef struct cells {
    char **cell;
    int64_t count;
} cells;

/* How many of the cells from `begin` are numbers. */
static int64_t count_numbers(const cells *row, int64_t begin) {
    int64_t count = 0;
    for (int64_t i = begin; i < row->count; i++) count += is_number(row->cell[i]);
    return count;
}

/* Whether the first line is a header, and whether that is a guess: no word told so. */
typedef struct verdict {
    bool header, guessed;
} verdict;
static const verdict data = {false, false}, header = {true, false}, guess = {true, true};

static verdict judge_edges(const cells *a, const cells *b) {
    if (a->count < 2) return data;
    if (is_one_of(edge_words, a->cell[0]) && is_one_of(edge_words, a->cell[1])) return header;
    if (b->count < 2) return data;
    if (!is_whole(a->cell[0]) && !is_whole(a->cell[1]) && is_whole(b->cell[0]) &&
        is_whole(b->cell[1]))
        return guess;
    bool above_weights =
        a->count > 2 && b->count > 2 && !is_number(a->cell[2]) && is_number(b->cell[2]);
    return above_weights ? guess : data;
}

static verdict judge_splits(const cells *a) {
    for (int64_t i = 1; i < a->count; i++)
        if (pgcn_i_part_of(a->cell[i]) >= 0) return data;
    if (is_one_of(id_words, a->cell[0]) || a->cell[0][0] == '\0') return header;
    return is_whole(a->cell[0]) ? data : guess;
}

static verdict judge_features(const cells *a, const cells *b) {
    if (a->cell[0][0] == '\0' || is_one_of(id_words, a->cell[0])) return header;
    return count_numbers(a, 1) == 0 && count_numbers(b, 1) > 0 ? guess : data;
}

static verdict judge_labels(const cells *a, const cells *b) {
    if (a->cell[0][0] == '\0' || is_one_of(id_words, a->cell[0])) return header;
    if (a->count > 1 && is_one_of(label_words, a->cell[1])) return header;
    if (b->count < 2 || count_numbers(a, 1) > 0) return data;
    bool above_ids = !is_whole(a->cell[0]) && is_whole(b->cell[0]);
    return above_ids || count_numbers(b, 1) == b->count - 1 ? guess : data;
}

static verdict judge(pgcn_i_role role, const cells *a, const cells *b) {
    if (a->count == 0) return data;
    switch (role) {
    case PGCN_I_ROLE_EDGES: return judge_edges(a, b);
    case PGCN_I_ROLE_FEATURES: return judge_features(a, b);
    case PGCN_I_ROLE_LABELS: return judge_labels(a, b);
    case PGCN_I_ROLE_SPLITS: return judge_splits(a);
    }
    return data;
}

/* Cells of a line that is in the arena, and their array too. */
static pgcn_status split(const pgcn_i_text *text, char *line, char delimiter, pgcn_i_arena *arena,
                         cells *out) {
    pgcn_i_buffer found = {0};
    *out = (cells){0};
    if (!line) return PGCN_OK;
    pgcn_status status = pgcn_i_text_split(text, line, delimiter, &found, &out->count);
    if (status == PGCN_OK && !(out->cell = pgcn_i_arena_take(arena, &found)))
        status = PGCN_ERR_MEMORY;
    pgcn_i_buffer_free(&found);
    return status;
}

static pgcn_status set_header(const pgcn_i_text *text, const cells *a, const cells *b,
                              pgcn_i_arena *arena, pgcn_i_layout *out) {
    static char above_ids[] = "";
    out->columns = b->count > 0 ? b->count : a->count;
    int64_t lacks = out->columns - a->count;
    bool names_ids = a->cell[0][0] == '\0' || is_one_of(id_words, a->cell[0]);
    if (lacks != 0 && (lacks != 1 || names_ids))
        return pgcn_i_text_fail(text,
                                "the row below the header has %lld cells, expected %lld as in the "
                                "header",
                                (long long)b->count, (long long)a->count);
    out->header = PGCN_I_ARRAY(arena, char *, out->columns);
    if (!out->header) return PGCN_ERR_MEMORY;
    out->header[0] = above_ids;
    for (int64_t i = 0; i < a->count; i++) out->header[i + lacks] = a->cell[i];
    return PGCN_OK;
}

static pgcn_status look(pgcn_i_text *text, pgcn_i_role role, const char *id_column,
                        pgcn_i_arena *arena, pgcn_i_layout *out) {
    char *line, *first, *second = NULL;
    cells a, b;
    PGCN_TRY(next_line(text, &line));
    if (!line) return PGCN_OK;
    int64_t first_line = pgcn_i_text_line_number(text);
    if (!(first = pgcn_i_arena_strdup(arena, line))) return PGCN_ERR_MEMORY;
    PGCN_TRY(next_line(text, &line));
    if (line && !(second = pgcn_i_arena_strdup(arena, line))) return PGCN_ERR_MEMORY;
    out->delimiter = find_delimiter(first, second);
    PGCN_TRY(split(text, first, out->delimiter, arena, &a));
    PGCN_TRY(split(text, second, out->delimiter, arena, &b));
    out->columns = a.count;
    verdict found = judge(role, &a, &b);
    if (id_column && *id_column && a.count > 0 && strcmp(a.cell[0], id_column) == 0) found = header;
    if (!found.header) return PGCN_OK;
    out->header_line = first_line;
    out->guessed = found.guessed;
    return set_header(text, &a, &b, arena, out);
}

pgcn_status pgcn_i_layout_find(const char *path, pgcn_i_role role, const char *id_column,
                               pgcn_i_arena *arena, pgcn_i_layout *out) {
    pgcn_i_text *text;
    *out = (pgcn_i_layout){.path = path, .delimiter = ','};
    PGCN_TRY(pgcn_i_text_open(path, &text));
    pgcn_status status = look(text, role, id_column, arena, out);
    pgcn_i_text_close(text);
    return status;
}

/* ---- rows -------------------------------------------------------------------------------------- */

pgcn_status pgcn_i_rows_open(pgcn_i_rows *rows, const pgcn_i_layout *layout) {
    *rows = (pgcn_i_rows){.layout = layout};
    return pgcn_i_text_open(layout->path, &rows->text);
}

pgcn_status pgcn_i_rows_next(pgcn_i_rows *rows, char ***cell) {
    char *line;
    int64_t count;
    do {
        PGCN_TRY(next_line(rows->text, &line));
    } while (line && pgcn_i_text_line_number(rows->text) <= rows->layout->header_line);
    *cell = NULL;
    if (!line) return PGCN_OK;
    PGCN_TRY(pgcn_i_text_split(rows->text, line, rows->layout->delimiter, &rows->cells, &count));
    if (count != rows->layout->columns)
        return pgcn_i_text_fail(rows->text, "found %lld cells, expected %lld as in the first row",
                                (long long)count, (long long)rows->layout->columns);
    *cell = (char **)(void *)rows->cells.data;
    return PGCN_OK;
}

void pgcn_i_rows_close(pgcn_i_rows *rows) {
    pgcn_i_text_close(rows->text);
    pgcn_i_buffer_free(&rows->cells);
    *rows = (pgcn_i_rows){0};
}
