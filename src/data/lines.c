/* Text files of whole numbers: one row to a line, numbers apart by blanks or by a comma. Unlike
 * table.c it keeps rows and lines in step, so that a caller who finds a wrong number can name its
 * line, and it can take the first numbers of longer lines. Called by planetoid.c, tu.c, gin.c and
 * matrix_market.c. Serial, thread-safe. */
#include "data/lines.h"

#include <string.h>

pgcn_i_shown pgcn_i_show(const char *found) {
    pgcn_i_shown shown;
    pgcn_i_text_excerpt(found, (int64_t)strlen(found), shown.text);
    return shown;
}

static const char *skip_separator(const char *at) {
    at = pgcn_i_skip_blanks(at);
    return *at == ',' ? pgcn_i_skip_blanks(at + 1) : at;
}

static bool ends_here(const char *at) {
    return *at == '\0' || *at == ' ' || *at == '\t' || *at == ',';
}

bool pgcn_i_next_integer(const char **at, int64_t low, int64_t high, int64_t *out) {
    *at = skip_separator(*at);
    const char *end = *at;
    if (!pgcn_i_parse_i64(&end, out) || !ends_here(end) || *out < low || *out > high) return false;
    *at = end;
    return true;
}

bool pgcn_i_next_float(const char **at, float *out) {
    *at = skip_separator(*at);
    const char *end = *at;
    if (!pgcn_i_parse_f32(&end, out) || !ends_here(end)) return false;
    *at = end;
    return true;
}

static pgcn_status read_row(const pgcn_i_text *text, const char *line, int columns,
                            pgcn_i_buffer *out, bool *more) {
    int64_t *row = pgcn_i_buffer_add(out, columns * (int64_t)sizeof *row);
    if (!row) return PGCN_ERR_MEMORY;
    const char *at = line;
    for (int c = 0; c < columns; c++)
        if (!pgcn_i_next_integer(&at, INT64_MIN, INT64_MAX, &row[c]))
            return pgcn_i_text_fail(text, "found '%s', expected %s", pgcn_i_show(at).text,
                                    columns == 1 ? "a whole number" : "two whole numbers");
    at = pgcn_i_skip_blanks(at);
    if (*at != '\0' && !more)
        return pgcn_i_text_fail(text, "found '%s' after %d number%s, expected the end of the line",
                                pgcn_i_show(at).text, columns, columns == 1 ? "" : "s");
    if (*at != '\0') *more = true;
    return PGCN_OK;
}

static pgcn_status read_rows(pgcn_i_text *text, int columns, pgcn_i_buffer *out, int64_t *rows,
                             bool *more) {
    char *line;
    int64_t length;
    bool ended = false;
    for (*rows = 0;; ++*rows) {
        PGCN_TRY(pgcn_i_text_line(text, &line, &length));
        while (line && *pgcn_i_skip_blanks(line) == '\0') {
            ended = true;
            PGCN_TRY(pgcn_i_text_line(text, &line, &length));
        }
        if (!line) return PGCN_OK;
        if (ended)
            return pgcn_i_text_fail(text,
                                    "found more numbers after an empty line, expected one row "
                                    "to a line; remove the empty line");
        PGCN_TRY(read_row(text, line, columns, out, more));
    }
}

pgcn_status pgcn_i_lines_read(const char *path, int columns, pgcn_i_buffer *out, int64_t *rows,
                              bool *more) {
    pgcn_i_text *text;
    if (more) *more = false;
    PGCN_TRY(pgcn_i_text_open(path, &text));
    pgcn_status status = read_rows(text, columns, out, rows, more);
    pgcn_i_text_close(text);
    return status;
}
