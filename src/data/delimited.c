/* Text files of users: CSV, TSV, columns with blanks; plain or gzip, with or without a header.
 *
 * Lines that are empty or start with # or % are skipped; a UTF-8 mark and \r\n are fine; cells may be
 * quoted and then hold line ends. What is not given is found from the first two lines that are left:
 *
 *   delimiter   the first of tab, semicolon and comma that is in both lines (outside quotes); else
 *               runs of blanks, if the first line has any; else comma
 *   header      whether the first line is one: header.c has the rules. It may lack the cell above the
 *               ids, as R writes it
 *
 * Called by own_files.c, own_features.c, encode_learn.c, edge_list.c and header.c. Thread-safe. */
#include "data/delimited.h"

#include <string.h>
#include <strings.h>

/* ---- words ------------------------------------------------------------------------------------- */

bool pgcn_i_is_missing(const char *cell) {
    static const char *const words[] = {"?", "nan", "NaN", "NA", "N/A"};
    if (*cell == '\0') return true;
    for (int i = 0; i < 5; i++)
        if (strcmp(cell, words[i]) == 0) return true;
    return false;
}

pgcn_i_part pgcn_i_part_of(const char *cell) {
    static const struct {
        const char *word;
        pgcn_i_part part;
    } parts[] = {{"train", PGCN_I_PART_TRAIN}, {"val", PGCN_I_PART_VAL},
                 {"valid", PGCN_I_PART_VAL},   {"validation", PGCN_I_PART_VAL},
                 {"test", PGCN_I_PART_TEST},   {"", PGCN_I_PART_NONE},
                 {"-", PGCN_I_PART_NONE},      {"none", PGCN_I_PART_NONE}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcasecmp(cell, parts[i].word) == 0) return parts[i].part;
    return PGCN_I_PART_UNKNOWN;
}

/* ---- the first two lines ----------------------------------------------------------------------- */

static bool is_skipped(const char *line) {
    while (*line == ' ' || *line == '\t') line++;
    return *line == '\0' || *line == '#' || *line == '%';
}

/* How far a line was searched for cells in quotes. */
typedef struct quotes {
    int64_t at;
    bool inside;  /* a cell whose quote is not closed yet */
    bool started; /* something of the cell was there already: a quote is part of its text */
} quotes;

static bool is_between_cells(char c, char delimiter) {
    if (delimiter == '\0') return c == '\t' || c == ';' || c == ',';
    return c == delimiter || (delimiter == ' ' && c == '\t');
}

/* Goes on with a line that has become longer. */
static void search_quotes(const char *line, int64_t length, char delimiter, quotes *q) {
    for (; q->at < length; q->at++) {
        char c = line[q->at];
        if (q->inside) {
            bool doubled = c == '"' && line[q->at + 1] == '"';
            q->inside = c != '"' || doubled;
            q->at += doubled;
        } else if (is_between_cells(c, delimiter)) {
            q->started = false;
        } else if (c == '"' && !q->started) {
            q->inside = q->started = true;
        } else if (c != ' ' && c != '\t') {
            q->started = true;
        }
    }
}

/* A quote that is nowhere closed must not swallow the file. */
enum { MOST_LINES_OF_A_ROW = 1000 };

/* The next line with cells; NULL after the last. Lines that end inside a cell in quotes are one with those
 * after them. The delimiter is '\0' where it is not known yet. */
static pgcn_status next_line(pgcn_i_text *text, char delimiter, char **line) {
    int64_t length;
    quotes q = {0};
    do {
        PGCN_TRY(pgcn_i_text_line(text, line, &length));
    } while (*line && is_skipped(*line));
    if (!*line) return PGCN_OK;
    search_quotes(*line, length, delimiter, &q);
    bool joined = true;
    for (int lines = 1; q.inside && joined && lines < MOST_LINES_OF_A_ROW; lines++) {
        PGCN_TRY(pgcn_i_text_join(text, line, &length, &joined));
        search_quotes(*line, length, delimiter, &q);
    }
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

/* Splits a line into cells; line and cells are in the arena. */
static pgcn_status split(const pgcn_i_text *text, char *line, char delimiter, pgcn_i_arena *arena,
                         pgcn_i_cells *out) {
    pgcn_i_buffer found = {0};
    *out = (pgcn_i_cells){0};
    if (!line) return PGCN_OK;
    pgcn_status status = pgcn_i_text_split(text, line, delimiter, &found, &out->count);
    if (status == PGCN_OK && !(out->cell = pgcn_i_arena_take(arena, &found)))
        status = PGCN_ERR_MEMORY;
    pgcn_i_buffer_free(&found);
    return status;
}

static pgcn_status set_header(const pgcn_i_text *text, const pgcn_i_cells *a, const pgcn_i_cells *b,
                              pgcn_i_arena *arena, pgcn_i_layout *out) {
    static char above_ids[] = "";
    out->columns = b->count > 0 ? b->count : a->count;
    int64_t lacks = out->columns - a->count;
    if (lacks != 0 && (lacks != 1 || pgcn_i_names_ids(a->cell[0])))
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

static pgcn_status detect_layout(pgcn_i_text *text, const pgcn_i_known *known, pgcn_i_arena *arena,
                                 pgcn_i_layout *out) {
    char *line, *first, *second = NULL;
    pgcn_i_cells a, b;
    pgcn_i_verdict verdict;
    PGCN_TRY(next_line(text, '\0', &line));
    if (!line) return PGCN_OK;
    out->first_line = pgcn_i_text_line_number(text);
    out->header_end = pgcn_i_text_last_number(text);
    pgcn_i_text_excerpt(line, (int64_t)strlen(line), out->first);
    if (!(first = pgcn_i_arena_strdup(arena, line))) return PGCN_ERR_MEMORY;
    PGCN_TRY(next_line(text, '\0', &line));
    if (line && !(second = pgcn_i_arena_strdup(arena, line))) return PGCN_ERR_MEMORY;
    out->delimiter = find_delimiter(first, second);
    PGCN_TRY(split(text, first, out->delimiter, arena, &a));
    PGCN_TRY(split(text, second, out->delimiter, arena, &b));
    out->columns = b.count > 0 ? b.count : a.count; /* of the lines that header.c may read */
    out->header_line = out->first_line;
    PGCN_TRY(pgcn_i_header_judge(out, known, &a, &b, &verdict));
    out->why = verdict.why;
    if (verdict.header) return set_header(text, &a, &b, arena, out);
    out->columns = a.count;
    out->header_line = out->header_end = 0;
    return PGCN_OK;
}

pgcn_status pgcn_i_layout_find(const char *path, const pgcn_i_known *known, pgcn_i_arena *arena,
                               pgcn_i_layout *out) {
    pgcn_i_text *text;
    *out = (pgcn_i_layout){.path = path, .delimiter = ','};
    PGCN_TRY(pgcn_i_text_open(path, &text));
    pgcn_status status = detect_layout(text, known, arena, out);
    out->file_columns = out->columns;
    pgcn_i_text_close(text);
    return status;
}

pgcn_status pgcn_i_layout_pick(pgcn_i_layout *layout, const int64_t *pick, int64_t count,
                               pgcn_i_arena *arena) {
    char **header = layout->header ? PGCN_I_ARRAY(arena, char *, count) : NULL;
    if (layout->header && !header) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; header && i < count; i++) header[i] = layout->header[pick[i]];
    layout->header = header;
    layout->pick = pick;
    layout->columns = count;
    return PGCN_OK;
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
        PGCN_TRY(next_line(rows->text, rows->layout->delimiter, &line));
    } while (line && pgcn_i_text_line_number(rows->text) <= rows->layout->header_line);
    *cell = NULL;
    if (!line) return PGCN_OK;
    PGCN_TRY(pgcn_i_text_split(rows->text, line, rows->layout->delimiter, &rows->cells, &count));
    const pgcn_i_layout *layout = rows->layout;
    int64_t expected = layout->pick ? layout->file_columns : layout->columns;
    if (count != expected)
        return pgcn_i_text_fail(rows->text, "found %lld cells, expected %lld as in the first row",
                                (long long)count, (long long)expected);
    *cell = (char **)(void *)rows->cells.data;
    if (!layout->pick) return PGCN_OK;
    rows->picked.bytes = 0;
    char **picked = pgcn_i_buffer_add(&rows->picked, layout->columns * (int64_t)sizeof *picked);
    if (!picked) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < layout->columns; i++) picked[i] = (*cell)[layout->pick[i]];
    *cell = picked;
    return PGCN_OK;
}

void pgcn_i_rows_close(pgcn_i_rows *rows) {
    pgcn_i_text_close(rows->text);
    pgcn_i_buffer_free(&rows->cells);
    pgcn_i_buffer_free(&rows->picked);
    *rows = (pgcn_i_rows){0};
}

pgcn_status pgcn_i_rows_each(const pgcn_i_layout *layout, pgcn_i_take_row take, void *context) {
    pgcn_i_rows rows;
    char **cell;
    pgcn_status status;
    PGCN_TRY_GOTO(pgcn_i_rows_open(&rows, layout));
    for (;;) {
        PGCN_TRY_GOTO(pgcn_i_rows_next(&rows, &cell));
        if (!cell) break;
        PGCN_TRY_GOTO(take(context, &rows, cell));
    }
fail:
    pgcn_i_rows_close(&rows);
    return status;
}
