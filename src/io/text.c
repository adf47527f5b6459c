/* Text files line by line, plain or gzip (gzip.c decompresses). The window [begin, end) of one buffer
 * holds what was read and not yet returned. A line is returned in place, its end overwritten with a
 * NUL. It can be made longer by the lines after it, for cells that hold line ends: the NUL is then
 * taken back. The buffer grows only when a line does not fit, up to MAX_LINE_BYTES. A UTF-8 mark at the start
 * (EF BB BF) is skipped. Called by the readers of the data room; large tables of numbers are read by
 * table.c. A handle belongs to one thread at a time. */
#include "io/io.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WINDOW_BYTES = PGCN_I_WINDOW(1 << 18), MAX_LINE_BYTES = 1 << 26 };

struct pgcn_i_text {
    pgcn_i_bytes *bytes;
    pgcn_i_buffer window;        /* data[capacity] has room for one NUL more */
    int64_t begin, end, scanned; /* no line ends in [begin, scanned) */
    int64_t lines, given;        /* lines and bytes returned to the caller */
    int64_t joined;              /* lines that were added to the last one returned */
    int64_t from, cut;           /* where the last line begins, and its NUL is */
    char under_cut;              /* what was there */
    int64_t read;                /* bytes of text so far */
    bool finished;               /* all of the file is in the window or was returned */
    bool zip;                    /* it begins like a zip archive, which spreadsheets are */
};

void pgcn_i_text_close(pgcn_i_text *text) {
    if (!text) return;
    pgcn_i_bytes_close(text->bytes);
    pgcn_i_buffer_free(&text->window);
    pgcn_i_free(text);
}

int64_t pgcn_i_text_line_number(const pgcn_i_text *text) {
    return text->lines - text->joined;
}

int64_t pgcn_i_text_last_number(const pgcn_i_text *text) {
    return text->lines;
}

double pgcn_i_text_share(const pgcn_i_text *text) {
    double of_text = text->read > 0 ? (double)text->given / (double)text->read : 1;
    return of_text * pgcn_i_bytes_share(text->bytes);
}

pgcn_status pgcn_i_text_fail(const pgcn_i_text *text, const char *format, ...) {
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return pgcn_i_fail(PGCN_ERR_FORMAT, "reading '%s': line %lld: %s",
                       pgcn_i_bytes_path(text->bytes), (long long)pgcn_i_text_line_number(text),
                       sentence);
}

/* Moves the window to the front of the buffer and reads more after it. */
static pgcn_status read_more(pgcn_i_text *text) {
    char *data = text->window.data;
    int64_t held = text->end - text->begin, got;
    if (text->begin > 0) memmove(data, data + text->begin, (size_t)held);
    text->scanned -= text->begin;
    text->begin = 0;
    text->end = held;
    text->window.bytes = held; /* what a growing buffer has to copy */
    if (held == text->window.capacity - 1) {
        if (text->window.capacity >= MAX_LINE_BYTES) {
            text->lines++;
            return pgcn_i_text_fail(text, "it is longer than %d MiB; is this a text file?",
                                    MAX_LINE_BYTES >> 20);
        }
        PGCN_TRY(pgcn_i_buffer_reserve(&text->window, 4 * text->window.capacity));
        data = text->window.data;
    }
    int64_t room = text->window.capacity - 1 - held;
    PGCN_TRY(pgcn_i_bytes_read(text->bytes, data + held, room, &got));
    text->end += got;
    text->read += got;
    text->finished = got < room;
    return PGCN_OK;
}

static pgcn_status start(pgcn_i_text *text) {
    PGCN_TRY(pgcn_i_buffer_reserve(&text->window, WINDOW_BYTES));
    PGCN_TRY(read_more(text));
    if (text->end >= 3 && memcmp(text->window.data, "\xef\xbb\xbf", 3) == 0)
        text->begin = text->scanned = text->given = 3;
    text->zip = text->end >= 4 && memcmp(text->window.data, "PK\3\4", 4) == 0;
    return PGCN_OK;
}

pgcn_status pgcn_i_text_open(const char *path, pgcn_i_text **out) {
    pgcn_i_text *text = pgcn_i_alloc(1, sizeof *text);
    if (!text) return PGCN_ERR_MEMORY;
    pgcn_status status = pgcn_i_bytes_open(path, &text->bytes);
    if (status == PGCN_OK) status = start(text);
    if (status != PGCN_OK) {
        pgcn_i_text_close(text);
        return status;
    }
    *out = text;
    return PGCN_OK;
}

/* The text from text->begin to the first line end that was not scanned yet. */
static pgcn_status take_line(pgcn_i_text *text, char **line, int64_t *length) {
    char *end;
    for (;;) {
        char *from = text->window.data + text->scanned;
        end = memchr(from, '\n', (size_t)(text->end - text->scanned));
        if (end || text->finished) break;
        text->scanned = text->end;
        PGCN_TRY(read_more(text));
    }
    char *begin = text->window.data + text->begin;
    if (!end && text->begin == text->end) {
        *line = NULL;
        *length = 0;
        return PGCN_OK;
    }
    int64_t next = end ? end + 1 - text->window.data : text->end;
    if (!end) end = text->window.data + text->end; /* the last line, without an end */
    text->given += next - text->begin;
    text->from = text->begin;
    text->begin = text->scanned = next;
    text->lines++;
    if (end > begin && end[-1] == '\r') end--;
    text->cut = end - text->window.data;
    text->under_cut = *end;
    if (memchr(begin, '\0', (size_t)(end - begin)))
        return pgcn_i_text_fail(text, "found a byte 0, expected text; %s",
                                text->zip ? "this is a zip file or a spreadsheet (.xlsx, .ods); "
                                            "save the sheet as CSV"
                                          : "a file in UTF-16 has to be saved as UTF-8");
    *end = '\0';
    *line = begin;
    *length = end - begin;
    return PGCN_OK;
}

pgcn_status pgcn_i_text_line(pgcn_i_text *text, char **line, int64_t *length) {
    text->joined = 0;
    return take_line(text, line, length);
}

pgcn_status pgcn_i_text_join(pgcn_i_text *text, char **line, int64_t *length, bool *joined) {
    int64_t returned = text->begin - text->from;
    text->window.data[text->cut] = text->under_cut;
    text->cut -= text->from;
    text->given -= returned;
    text->begin = text->from;
    pgcn_status status = PGCN_OK;
    while (status == PGCN_OK && text->scanned == text->end && !text->finished)
        status = read_more(text);
    *joined = status == PGCN_OK && text->scanned < text->end;
    if (*joined) {
        text->joined++;
        return take_line(text, line, length);
    }
    text->cut += text->begin; /* there is no line after it: as it was */
    text->from = text->begin;
    text->begin += returned;
    text->given += returned;
    *line = text->window.data + text->from;
    text->window.data[text->cut] = '\0';
    *length = text->cut - text->from;
    return status;
}

void pgcn_i_text_excerpt(const char *found, int64_t length, char out[PGCN_I_EXCERPT]) {
    char start[PGCN_I_EXCERPT];
    snprintf(start, sizeof start, "%.*s", (int)(length < PGCN_I_EXCERPT ? length : PGCN_I_EXCERPT),
             found);
    size_t needed = pgcn_text_printable(start, out, PGCN_I_EXCERPT - 3);
    if (needed > PGCN_I_EXCERPT - 4 || length >= PGCN_I_EXCERPT) strcat(out, "...");
}

/* ---- cells ------------------------------------------------------------------------------------- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* Ends the quoted cell that begins at `at`, in place. Returns the character after it, or NULL if
 * the quote is not closed. */
static char *unquote(char *at) {
    char *to = at++;
    for (;; at++) {
        if (*at == '\0') return NULL;
        if (*at == '"' && *++at != '"') break;
        *to++ = *at;
    }
    *to = '\0'; /* at or before the closing quote */
    return at;
}

/* Ends the cell at `at` and finds the next one: NULL after the last. */
static pgcn_status end_cell(const pgcn_i_text *text, char *at, char delimiter, int64_t number,
                            char **next) {
    char *end = at;
    bool quoted = *at == '"';
    if (quoted) {
        end = unquote(at);
        if (!end)
            return pgcn_i_text_fail(
                text,
                "cell %lld: a quote is not closed; close it, or double each quote that is text "
                "and put the cell in quotes",
                (long long)number);
    }
    char *stop = end;
    while (*stop && *stop != delimiter && !(delimiter == ' ' && *stop == '\t')) stop++;
    char *after = stop;
    if (delimiter == ' ')
        while (is_blank(*after)) after++;
    *next =
        *stop == '\0' || (delimiter == ' ' && *after == '\0') ? NULL : after + (delimiter != ' ');
    if (quoted) {
        while (end < stop && is_blank(*end)) end++;
        if (end < stop)
            return pgcn_i_text_fail(text,
                                    "cell %lld: found text after a closing quote, expected the "
                                    "end of the cell; a quote inside has to be doubled",
                                    (long long)number);
        return PGCN_OK;
    }
    while (stop > at && is_blank(stop[-1])) stop--;
    *stop = '\0';
    return PGCN_OK;
}

pgcn_status pgcn_i_text_split(const pgcn_i_text *text, char *line, char delimiter,
                              pgcn_i_buffer *cells, int64_t *count) {
    cells->bytes = 0;
    *count = 0;
    for (char *at = line; at;) {
        while (is_blank(*at) && (delimiter == ' ' || *at != delimiter)) at++;
        if (*count == 0 && *at == '\0') break; /* an empty line */
        char **cell = pgcn_i_buffer_add(cells, (int64_t)sizeof *cell), *next = NULL;
        if (!cell) return PGCN_ERR_MEMORY;
        *cell = at;
        ++*count;
        PGCN_TRY(end_cell(text, at, delimiter, *count, &next));
        at = next;
    }
    return PGCN_OK;
}

/* Length of the UTF-8 character at `at`. 0 if it is not valid: an overlong form, half of a
 * surrogate pair, above U+10FFFF. */
static int64_t utf8_length(const unsigned char *at, int64_t left) {
    unsigned first = at[0];
    int64_t length = first < 0x80   ? 1
                     : first < 0xc2 ? 0
                     : first < 0xe0 ? 2
                     : first < 0xf0 ? 3
                     : first < 0xf5 ? 4
                                    : 0;
    if (length > left) return 0;
    for (int64_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    bool fine = !(first == 0xe0 && at[1] < 0xa0) && !(first == 0xed && at[1] > 0x9f) &&
                !(first == 0xf0 && at[1] < 0x90) && !(first == 0xf4 && at[1] > 0x8f);
    return fine ? length : 0;
}

bool pgcn_i_is_utf8(const char *text, int64_t bytes) {
    for (int64_t i = 0, length; i < bytes; i += length)
        if ((length = utf8_length((const unsigned char *)text + i, bytes - i)) == 0) return false;
    return true;
}

/* ---- words --------------------------------------------------------------------------------- */

bool pgcn_i_is_word(const char *text, size_t length, const char *word) {
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

bool pgcn_i_ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), tail = strlen(ending);
    return length > tail && strcmp(text + length - tail, ending) == 0;
}

const char *pgcn_i_file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int pgcn_i_compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int pgcn_i_compare_i64(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}
