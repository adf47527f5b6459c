/* Matrix Market (Boisvert, Pozo, Remington 1996): a graph as a sparse square matrix, plain or gzip,
 *
 *   %%MatrixMarket matrix coordinate real|integer|pattern general|symmetric|skew-symmetric
 *   % comments
 *   rows columns entries
 *   i j [value]         `entries` lines, i and j from 1
 *
 * general: entry i, j is the directed edge i -> j. symmetric: the lower triangle stands for both.
 * skew-symmetric: the same, and the sign, which is the direction of a flow, is dropped. Values are
 * the weights, above 0; if all are 1, the graph has none. There are no features and no labels.
 * Called through formats.c. Serial, thread-safe. */
#include "data/data.h"
#include "data/lines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char mark[] = "%%MatrixMarket";

typedef struct market {
    pgcn_i_text *text;
    pgcn_i_source *source;
    bool valued, skew;
    pgcn_i_buffer from, to, weight;
    int64_t rows, entries; /* as the file claims */
} market;

bool pgcn_i_matrix_market_detect(const char *path) {
    char start[sizeof mark] = "";
    pgcn_i_bytes *bytes;
    int64_t got;
    if (pgcn_i_is_directory(path) || pgcn_i_bytes_open(path, &bytes) != PGCN_OK) return false;
    pgcn_status status = pgcn_i_bytes_read(bytes, start, sizeof mark - 1, &got);
    pgcn_i_bytes_close(bytes);
    return status == PGCN_OK && strcasecmp(start, mark) == 0;
}

/* ---- the first lines ------------------------------------------------------------------------- */

enum { WORD_BYTES = 32 };

/* Copies the next word of a line, as much of it as fits; false at the end of the line. */
static bool next_word(const char **at, char word[WORD_BYTES]) {
    *at = pgcn_i_skip_blanks(*at);
    size_t length = strcspn(*at, " \t");
    snprintf(word, WORD_BYTES, "%.*s", length < WORD_BYTES ? (int)length : WORD_BYTES, *at);
    *at += length;
    return length > 0;
}

static pgcn_status read_banner(market *m) {
    char *line, object[WORD_BYTES], layout[WORD_BYTES], field[WORD_BYTES], symmetry[WORD_BYTES];
    int64_t length;
    PGCN_TRY(pgcn_i_text_line(m->text, &line, &length));
    bool marked = line && strncasecmp(line, mark, sizeof mark - 1) == 0;
    const char *at = marked ? line + sizeof mark - 1 : "";
    if (!next_word(&at, object) || !next_word(&at, layout) || !next_word(&at, field) ||
        !next_word(&at, symmetry))
        return pgcn_i_text_fail(m->text,
                                "found '%s', expected '%%%%MatrixMarket matrix "
                                "coordinate real general' or the like",
                                pgcn_i_show(line ? line : "").text);
    if (strcasecmp(object, "matrix") != 0 || strcasecmp(layout, "coordinate") != 0)
        return pgcn_i_text_fail(m->text,
                                "found '%s %s', expected 'matrix coordinate'; write a "
                                "dense matrix as a sparse one, e.g. with "
                                "scipy.io.mmwrite(file, scipy.sparse.coo_matrix(a))",
                                pgcn_i_show(object).text, pgcn_i_show(layout).text);
    m->valued = strcasecmp(field, "pattern") != 0;
    if (m->valued && strcasecmp(field, "real") != 0 && strcasecmp(field, "integer") != 0)
        return pgcn_i_text_fail(m->text,
                                "found values of the kind '%s', expected real, integer or "
                                "pattern; write abs(a) instead",
                                pgcn_i_show(field).text);
    m->source->directed = strcasecmp(symmetry, "general") == 0;
    m->skew = strcasecmp(symmetry, "skew-symmetric") == 0;
    if (!m->source->directed && !m->skew && strcasecmp(symmetry, "symmetric") != 0)
        return pgcn_i_text_fail(m->text,
                                "found a matrix that is '%s', expected general, symmetric "
                                "or skew-symmetric",
                                pgcn_i_show(symmetry).text);
    return PGCN_OK;
}

/* The next line that is neither empty nor a comment; *at = NULL after the last. */
static pgcn_status next_line(market *m, const char **at) {
    char *line;
    int64_t length;
    do {
        PGCN_TRY(pgcn_i_text_line(m->text, &line, &length));
        *at = line ? pgcn_i_skip_blanks(line) : NULL;
    } while (line && (**at == '\0' || **at == '%'));
    return PGCN_OK;
}

static bool line_ends(const char *at) {
    return *pgcn_i_skip_blanks(at) == '\0';
}

static pgcn_status read_size(market *m) {
    const char *line, *at;
    int64_t columns;
    PGCN_TRY(next_line(m, &line));
    at = line ? line : "";
    if (!pgcn_i_next_integer(&at, 0, INT64_MAX, &m->rows) ||
        !pgcn_i_next_integer(&at, 0, INT64_MAX, &columns) ||
        !pgcn_i_next_integer(&at, 0, INT64_MAX, &m->entries) || !line_ends(at))
        return pgcn_i_text_fail(m->text,
                                "found '%s', expected three numbers: rows, columns and "
                                "entries",
                                pgcn_i_show(line ? line : "the end of the file").text);
    if (m->rows != columns || m->rows < 1 || m->rows > INT32_MAX)
        return pgcn_i_text_fail(m->text,
                                "found a matrix of %lld rows and %lld columns, expected a "
                                "graph: a square one of 1 to %d rows",
                                (long long)m->rows, (long long)columns, INT32_MAX);
    return PGCN_OK;
}

/* ---- the entries ----------------------------------------------------------------------------- */

static pgcn_status read_weight(market *m, const char **at) {
    float *weight = pgcn_i_buffer_add(&m->weight, sizeof *weight);
    if (!weight) return PGCN_ERR_MEMORY;
    if (!pgcn_i_next_float(at, weight))
        return pgcn_i_text_fail(m->text, "found '%s', expected the value of the entry",
                                pgcn_i_show(*at).text);
    if (m->skew) *weight = fabsf(*weight);
    if (!(*weight > 0) || isinf(*weight))
        return pgcn_i_text_fail(m->text,
                                "found the weight %g, expected a finite number above 0; "
                                "leave out zeros and take the absolute value of others",
                                (double)*weight);
    return PGCN_OK;
}

static pgcn_status read_entry(market *m, const char *at) {
    const char *line = at;
    int64_t i, j;
    if (!pgcn_i_next_integer(&at, 1, m->rows, &i) || !pgcn_i_next_integer(&at, 1, m->rows, &j))
        return pgcn_i_text_fail(m->text, "found '%s', expected a row and a column from 1 to %lld",
                                pgcn_i_show(line).text, (long long)m->rows);
    pgcn_node *from = pgcn_i_buffer_add(&m->from, sizeof *from);
    pgcn_node *to = pgcn_i_buffer_add(&m->to, sizeof *to);
    if (!from || !to) return PGCN_ERR_MEMORY;
    *from = (pgcn_node)(i - 1);
    *to = (pgcn_node)(j - 1);
    if (m->valued) PGCN_TRY(read_weight(m, &at));
    if (line_ends(at)) return PGCN_OK;
    return pgcn_i_text_fail(m->text, "found '%s', expected a row, a column%s",
                            pgcn_i_show(line).text,
                            m->valued ? " and one value" : " and nothing more");
}

/* A matrix may have empty rows, but a file of ten lines that claims two billion is made to fill the
 * memory: beyond a million rows, one in sixteen must have an entry. */
static pgcn_status check_rows(const market *m) {
    enum { ALWAYS_FINE = 1000000, ROWS_PER_ENTRY = 16 };
    if (m->rows <= ALWAYS_FINE || m->rows / ROWS_PER_ENTRY <= m->entries) return PGCN_OK;
    return pgcn_i_text_fail(m->text,
                            "found %lld rows with %lld entries in all, expected an entry "
                            "for one row in %d at least; leave out the empty rows",
                            (long long)m->rows, (long long)m->entries, ROWS_PER_ENTRY);
}

static pgcn_status read_entries(market *m) {
    const char *line;
    int64_t found = 0;
    for (;; found++) {
        PGCN_TRY(next_line(m, &line));
        if (!line) break;
        if (found == m->entries)
            return pgcn_i_text_fail(m->text,
                                    "found '%s' after the last of %lld entries, "
                                    "expected the end of the file",
                                    pgcn_i_show(line).text, (long long)m->entries);
        PGCN_TRY(read_entry(m, line));
    }
    if (found == m->entries) return check_rows(m);
    return pgcn_i_text_fail(m->text,
                            "the file ends after %lld entries, expected %lld; it is cut "
                            "short: get it again",
                            (long long)found, (long long)m->entries);
}

static bool all_ones(const pgcn_i_buffer *weight) {
    const float *w = (const float *)(void *)weight->data;
    for (int64_t e = 0; e < weight->bytes / (int64_t)sizeof *w; e++)
        if (w[e] != 1.0f) return false;
    return true;
}

static pgcn_status keep(market *m) {
    pgcn_i_source *source = m->source;
    source->nodes = m->rows;
    source->edges = m->entries;
    source->edge_from = pgcn_i_arena_take(&source->edge_arena, &m->from);
    source->edge_to = pgcn_i_arena_take(&source->edge_arena, &m->to);
    if (!source->edge_from || !source->edge_to) return PGCN_ERR_MEMORY;
    if (m->skew)
        PGCN_TRY(pgcn_i_source_note(source, "the matrix is skew-symmetric: the absolute value of "
                                            "an entry is the weight of an undirected edge"));
    if (all_ones(&m->weight)) return PGCN_OK;
    source->edge_weight = pgcn_i_arena_take(&source->edge_arena, &m->weight);
    return source->edge_weight ? PGCN_OK : PGCN_ERR_MEMORY;
}

pgcn_status pgcn_i_matrix_market_read(const char *path, const pgcn_i_steps *steps,
                                      pgcn_i_source *source) {
    (void)steps;
    market m = {.source = source};
    pgcn_status status;
    source->format = "Matrix Market";
    PGCN_TRY(pgcn_i_text_open(path, &m.text));
    PGCN_TRY_GOTO(read_banner(&m));
    PGCN_TRY_GOTO(read_size(&m));
    PGCN_TRY_GOTO(read_entries(&m));
    status = keep(&m);
fail:
    pgcn_i_text_close(m.text);
    pgcn_i_buffer_free(&m.from);
    pgcn_i_buffer_free(&m.to);
    pgcn_i_buffer_free(&m.weight);
    return status;
}
