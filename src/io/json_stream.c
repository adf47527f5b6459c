/* JSON documents (RFC 8259) of any length, read from front to back through a window of the file.
 *
 * A pull parser: the caller enters objects and arrays and requests the values it expects. Values that
 * nobody requests are skipped without being stored. Memory is the window and the longest string.
 * Levels are counted, never recursed into. What is not JSON (NaN, 01, a comma too many, a raw tab
 * in a string) is refused with line and byte. Repeated keys are returned as they are: the caller must
 * find them. Called by wikics.c and node_link.c. One thread per
 * document. */
#include "io/io.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WINDOW_BYTES = PGCN_I_WINDOW(1 << 18), LONGEST_NUMBER = 512, MOST_LEVELS = 64 };

struct pgcn_i_json {
    pgcn_i_reader reader;
    char *path;
    char *window;       /* [WINDOW_BYTES + 1], a NUL after the last byte */
    const char *at;     /* the next character, in the window */
    const char *end;    /* one past the last byte of the window */
    int64_t unread;     /* bytes of the file after the window */
    int64_t before;     /* bytes of the file before the window */
    int64_t line;       /* of *at, from 1 */
    pgcn_i_buffer text; /* the last key or string, with a NUL */
    int levels;
    bool in_object[MOST_LEVELS]; /* else in an array */
    bool begun[MOST_LEVELS];     /* an item was read: a comma must come before the next */
};

pgcn_status pgcn_i_json_fail(const pgcn_i_json *json, const char *format, ...) {
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return pgcn_i_fail(PGCN_ERR_FORMAT, "reading '%s': line %lld, byte %lld: %s", json->path,
                       (long long)json->line, (long long)(json->before + (json->at - json->window)),
                       sentence);
}

/* ---- the window ------------------------------------------------------------------------------ */

/* At the start of an empty window. */
static pgcn_status make_window(pgcn_i_json *json, const char *path, int64_t bytes) {
    if (!(json->path = pgcn_i_strdup(path))) return PGCN_ERR_MEMORY;
    if (!(json->window = pgcn_i_alloc(bytes + 1, 1))) return PGCN_ERR_MEMORY;
    json->at = json->end = json->window;
    json->line = 1;
    return PGCN_OK;
}

pgcn_status pgcn_i_json_open(const char *path, pgcn_i_json **out) {
    pgcn_i_json *json = pgcn_i_alloc(1, sizeof *json);
    if (!json) return PGCN_ERR_MEMORY;
    pgcn_status status = pgcn_i_reader_open(&json->reader, path);
    if (status == PGCN_OK) status = make_window(json, path, WINDOW_BYTES);
    if (status != PGCN_OK) {
        pgcn_i_json_close(json);
        return status;
    }
    json->reader.path = json->path;
    json->unread = json->reader.bytes;
    *out = json;
    return PGCN_OK;
}

pgcn_status pgcn_i_json_open_text(const char *path, const char *text, int64_t bytes,
                                  pgcn_i_json **out) {
    pgcn_i_json *json = pgcn_i_alloc(1, sizeof *json);
    if (!json) return PGCN_ERR_MEMORY;
    json->reader.descriptor = -1;
    if (make_window(json, path, bytes) != PGCN_OK) {
        pgcn_i_json_close(json);
        return PGCN_ERR_MEMORY;
    }
    if (bytes > 0) memcpy(json->window, text, (size_t)bytes);
    json->end = json->window + bytes;
    *out = json;
    return PGCN_OK;
}

void pgcn_i_json_close(pgcn_i_json *json) {
    if (!json) return;
    pgcn_i_reader_close(&json->reader);
    pgcn_i_buffer_free(&json->text);
    pgcn_i_free(json->window);
    pgcn_i_free(json->path);
    pgcn_i_free(json);
}

int64_t pgcn_i_json_bytes(const pgcn_i_json *json) {
    return json->reader.bytes;
}

/* Moves the window so that at least `wanted` characters follow, unless the file ends before. */
static pgcn_status look_ahead(pgcn_i_json *json, int64_t wanted) {
    int64_t kept = json->end - json->at;
    if (kept >= wanted || json->unread == 0) return PGCN_OK;
    json->before += json->at - json->window;
    memmove(json->window, json->at, (size_t)kept);
    int64_t more = WINDOW_BYTES - kept;
    if (more > json->unread) more = json->unread;
    json->at = json->window;
    json->end = json->window + kept + more;
    json->window[kept + more] = '\0';
    json->unread -= more;
    return pgcn_i_reader_read(&json->reader, json->window + kept, more);
}

/* To the next character that is not blank; at the end of the file json->at == json->end. */
static pgcn_status skip_blanks(pgcn_i_json *json) {
    for (;;) {
        if (json->at == json->end) {
            if (json->unread == 0) return PGCN_OK;
            PGCN_TRY(look_ahead(json, 1));
        }
        char c = *json->at;
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return PGCN_OK;
        json->line += c == '\n';
        json->at++;
    }
}

/* What is at the current position, for errors: "a string", "the end of the file", "'N'". */
static const char *found_there(const pgcn_i_json *json, char out[16]) {
    if (json->at == json->end) return "the end of the file";
    unsigned char c = (unsigned char)*json->at;
    if (c == '"') return "a string";
    if (c == '{') return "an object";
    if (c == '[') return "an array";
    if (c == '-' || (c >= '0' && c <= '9')) return "a number";
    if (strncmp(json->at, "true", 4) == 0) return "true";
    if (strncmp(json->at, "false", 5) == 0) return "false";
    if (strncmp(json->at, "null", 4) == 0) return "null";
    if (strncmp(json->at, "NaN", 3) == 0) return "NaN, which is no number";
    if (strncmp(json->at, "Infinity", 8) == 0) return "Infinity, which is no number";
    snprintf(out, 16, c >= ' ' && c <= '~' ? "'%c'" : "the byte 0x%02x", c);
    return out;
}

static pgcn_status not_expected(const pgcn_i_json *json, const char *expected) {
    char one[16];
    return pgcn_i_json_fail(json, "found %s where %s is expected%s", found_there(json, one),
                            expected,
                            json->at == json->end ? "; it is cut short: get it again" : "");
}

/* ---- structure ------------------------------------------------------------------------------- */

/* Moves to the next value, with enough of it in the window to see its type. */
static pgcn_status to_value(pgcn_i_json *json) {
    PGCN_TRY(skip_blanks(json));
    return look_ahead(json, LONGEST_NUMBER);
}

pgcn_status pgcn_i_json_peek(pgcn_i_json *json, pgcn_i_json_kind *kind) {
    PGCN_TRY(to_value(json));
    switch (json->at == json->end ? '\0' : *json->at) {
    case '{': *kind = PGCN_I_JSON_OBJECT; return PGCN_OK;
    case '[': *kind = PGCN_I_JSON_ARRAY; return PGCN_OK;
    case '"': *kind = PGCN_I_JSON_TEXT; return PGCN_OK;
    case 't':
    case 'f': *kind = PGCN_I_JSON_FLAG; return PGCN_OK;
    case 'n': *kind = PGCN_I_JSON_NULL; return PGCN_OK;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': *kind = PGCN_I_JSON_NUMBER; return PGCN_OK;
    default: return not_expected(json, "a value");
    }
}

static pgcn_status enter(pgcn_i_json *json, bool object) {
    PGCN_TRY(to_value(json));
    if (json->at == json->end || *json->at != (object ? '{' : '['))
        return not_expected(json, object ? "an object {...}" : "an array [...]");
    if (json->levels == MOST_LEVELS)
        return pgcn_i_json_fail(json, "objects and arrays are nested more than %d levels deep",
                                MOST_LEVELS);
    json->in_object[json->levels] = object;
    json->begun[json->levels++] = false;
    json->at++;
    return PGCN_OK;
}

pgcn_status pgcn_i_json_object(pgcn_i_json *json) {
    return enter(json, true);
}

pgcn_status pgcn_i_json_array(pgcn_i_json *json) {
    return enter(json, false);
}

/* Goes to the next item of the innermost object or array, or leaves it. */
static pgcn_status next_item(pgcn_i_json *json, bool *more) {
    int level = json->levels - 1;
    char closing = json->in_object[level] ? '}' : ']';
    PGCN_TRY(skip_blanks(json));
    char c = json->at == json->end ? '\0' : *json->at;
    if (c == closing) {
        json->at++;
        json->levels--;
        *more = false;
        return PGCN_OK;
    }
    if (json->begun[level]) {
        if (c != ',')
            return not_expected(json, json->in_object[level] ? "',' or '}'" : "',' or ']'");
        json->at++;
        PGCN_TRY(skip_blanks(json));
        if (json->at != json->end && *json->at == closing)
            return not_expected(json, "another item after the comma");
    }
    json->begun[level] = true;
    *more = true;
    return PGCN_OK;
}

pgcn_status pgcn_i_json_more(pgcn_i_json *json, bool *more) {
    return next_item(json, more);
}

pgcn_status pgcn_i_json_end(pgcn_i_json *json) {
    PGCN_TRY(skip_blanks(json));
    return json->at == json->end ? PGCN_OK : not_expected(json, "the end of the file");
}

/* ---- strings --------------------------------------------------------------------------------- */

/* Four hex digits after \u. */
static pgcn_status take_hex(pgcn_i_json *json, unsigned *out) {
    PGCN_TRY(look_ahead(json, 4));
    *out = 0;
    for (int i = 0; i < 4; i++, json->at++) {
        char c = json->at == json->end ? '\0' : *json->at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit == 16) return not_expected(json, "a hexadecimal digit of \\uXXXX");
        *out = *out * 16 + digit;
    }
    return PGCN_OK;
}

/* A character beyond ASCII, or any other, as UTF-8. */
static pgcn_status add_utf8(pgcn_i_json *json, unsigned code) {
    unsigned char bytes[4];
    int count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int i = count - 1; i > 0; i--, code >>= 6) bytes[i] = (unsigned char)(0x80 | (code & 63));
    bytes[0] = (unsigned char)(lead[count] | code);
    char *to = pgcn_i_buffer_add(&json->text, count);
    if (!to) return PGCN_ERR_MEMORY;
    memcpy(to, bytes, (size_t)count);
    return PGCN_OK;
}

/* \uXXXX, or the two of a surrogate pair. */
static pgcn_status take_unicode(pgcn_i_json *json) {
    unsigned code, low;
    PGCN_TRY(take_hex(json, &code));
    if (code >= 0xd800 && code < 0xdc00) {
        PGCN_TRY(look_ahead(json, 2));
        if (json->end - json->at < 2 || json->at[0] != '\\' || json->at[1] != 'u')
            return not_expected(json, "the second half of a surrogate pair");
        json->at += 2;
        PGCN_TRY(take_hex(json, &low));
        if (low < 0xdc00 || low > 0xdfff)
            return pgcn_i_json_fail(json, "\\u%04x\\u%04x is no surrogate pair", code, low);
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code == 0 || (code >= 0xdc00 && code < 0xe000)) {
        return pgcn_i_json_fail(json, "\\u%04x is not allowed in a string", code);
    }
    return add_utf8(json, code);
}

static pgcn_status take_escape(pgcn_i_json *json) {
    PGCN_TRY(look_ahead(json, 2));
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    json->at++; /* the backslash */
    const char *which = json->at == json->end || !*json->at ? NULL : strchr(from, *json->at);
    if (json->at != json->end && *json->at == 'u') {
        json->at++;
        return take_unicode(json);
    }
    if (!which) return not_expected(json, "an escape such as \\n");
    json->at++;
    return add_utf8(json, (unsigned char)to[which - from]);
}

/* Copies the string at json->at into json->text; unless `keep`, only skips it. */
static pgcn_status take_string(pgcn_i_json *json, bool keep) {
    json->text.bytes = 0;
    json->at++; /* the quote */
    for (;;) {
        if (json->at == json->end) {
            PGCN_TRY(look_ahead(json, 1));
            if (json->at == json->end) return not_expected(json, "the end of a string");
        }
        const char *from = json->at;
        while (json->at < json->end && *json->at != '"' && *json->at != '\\' &&
               (unsigned char)*json->at >= ' ')
            json->at++;
        int64_t length = json->at - from;
        if (keep && length > 0) {
            char *to = pgcn_i_buffer_add(&json->text, length);
            if (!to) return PGCN_ERR_MEMORY;
            memcpy(to, from, (size_t)length);
        }
        if (json->at == json->end) continue;
        if (*json->at == '"') break;
        if (*json->at != '\\') return not_expected(json, "a character of a string");
        PGCN_TRY(take_escape(json));
        if (!keep) json->text.bytes = 0;
    }
    json->at++;
    if (!keep) return PGCN_OK;
    char *nul = pgcn_i_buffer_add(&json->text, 1);
    if (!nul) return PGCN_ERR_MEMORY;
    *nul = '\0';
    return PGCN_OK;
}

pgcn_status pgcn_i_json_text(pgcn_i_json *json, const char **out) {
    PGCN_TRY(to_value(json));
    if (json->at == json->end || *json->at != '"') return not_expected(json, "a string");
    PGCN_TRY(take_string(json, true));
    *out = json->text.data;
    return PGCN_OK;
}

static pgcn_status take_key(pgcn_i_json *json, bool keep) {
    PGCN_TRY(skip_blanks(json));
    if (json->at == json->end || *json->at != '"') return not_expected(json, "a key in quotes");
    PGCN_TRY(take_string(json, keep));
    PGCN_TRY(skip_blanks(json));
    if (json->at == json->end || *json->at != ':') return not_expected(json, "':' after a key");
    json->at++;
    return PGCN_OK;
}

pgcn_status pgcn_i_json_key(pgcn_i_json *json, const char **key) {
    bool more;
    *key = NULL;
    PGCN_TRY(next_item(json, &more));
    if (!more) return PGCN_OK;
    PGCN_TRY(take_key(json, true));
    *key = json->text.data;
    return PGCN_OK;
}

/* ---- numbers and words ----------------------------------------------------------------------- */

static const char *skip_digits(const char *at) {
    while (*at >= '0' && *at <= '9') at++;
    return at;
}

/* The end of the number at json->at by the grammar of JSON, and whether it is an integer. The
 * window ends with a NUL, which ends every number. */
static pgcn_status scan_number(pgcn_i_json *json, const char **end, bool *is_integer) {
    PGCN_TRY(to_value(json));
    const char *first = json->at + (*json->at == '-'), *at = skip_digits(first);
    *is_integer = true;
    bool good = at > first && (*first != '0' || at == first + 1);
    if (good && *at == '.') {
        const char *fraction = ++at;
        at = skip_digits(at);
        good = at > fraction;
        *is_integer = false;
    }
    if (good && (*at == 'e' || *at == 'E')) {
        at += at[1] == '+' || at[1] == '-' ? 2 : 1;
        const char *exponent = at;
        at = skip_digits(at);
        good = at > exponent;
        *is_integer = false;
    }
    if (!good) return not_expected(json, "a number");
    if (at - json->at >= LONGEST_NUMBER)
        return pgcn_i_json_fail(json, "a number has more than %d characters", LONGEST_NUMBER - 1);
    *end = at;
    return PGCN_OK;
}

pgcn_status pgcn_i_json_i64(pgcn_i_json *json, int64_t *out) {
    const char *end, *at;
    bool is_integer;
    PGCN_TRY(scan_number(json, &end, &is_integer));
    at = json->at;
    if (!is_integer || !pgcn_i_parse_i64(&at, out) || at != end)
        return pgcn_i_json_fail(json, "found %.*s where a whole number below 2^63 is expected",
                                (int)(end - json->at < 40 ? end - json->at : 40), json->at);
    json->at = end;
    return PGCN_OK;
}

pgcn_status pgcn_i_json_f32(pgcn_i_json *json, float *out) {
    const char *end, *at;
    bool is_integer;
    PGCN_TRY(scan_number(json, &end, &is_integer));
    at = json->at;
    if (!pgcn_i_parse_f32(&at, out) || at != end || !isfinite(*out))
        return pgcn_i_json_fail(json, "the number %.*s does not fit a float",
                                (int)(end - json->at < 40 ? end - json->at : 40), json->at);
    json->at = end;
    return PGCN_OK;
}

pgcn_status pgcn_i_json_number(pgcn_i_json *json, bool *is_integer, int64_t *integer,
                               double *real) {
    const char *end, *at;
    PGCN_TRY(scan_number(json, &end, is_integer));
    if (*is_integer) return pgcn_i_json_i64(json, integer);
    at = json->at;
    if (!pgcn_i_parse_f64(&at, real) || at != end || !isfinite(*real))
        return pgcn_i_json_fail(json, "the number %.*s does not fit a double",
                                (int)(end - json->at < 40 ? end - json->at : 40), json->at);
    json->at = end;
    return PGCN_OK;
}

/* One of true, false and null, not followed by another letter. */
static bool take_word(pgcn_i_json *json, const char *word) {
    size_t length = strlen(word);
    if (strncmp(json->at, word, length) != 0) return false;
    char after = json->at[length];
    if ((after >= 'a' && after <= 'z') || (after >= 'A' && after <= 'Z') ||
        (after >= '0' && after <= '9'))
        return false;
    json->at += length;
    return true;
}

pgcn_status pgcn_i_json_flag(pgcn_i_json *json, bool *out) {
    PGCN_TRY(to_value(json));
    if (take_word(json, "true") || take_word(json, "1"))
        *out = true;
    else if (take_word(json, "false") || take_word(json, "0"))
        *out = false;
    else
        return not_expected(json, "true, false, 1 or 0");
    return PGCN_OK;
}

/* ---- what nobody wants ----------------------------------------------------------------------- */

static pgcn_status skip_scalar(pgcn_i_json *json, pgcn_i_json_kind kind) {
    const char *end;
    bool is_integer;
    if (kind == PGCN_I_JSON_TEXT) return take_string(json, false);
    if (kind == PGCN_I_JSON_NUMBER) {
        PGCN_TRY(scan_number(json, &end, &is_integer));
        json->at = end;
        return PGCN_OK;
    }
    if (take_word(json, "true") || take_word(json, "false") || take_word(json, "null"))
        return PGCN_OK;
    return not_expected(json, "a value");
}

pgcn_status pgcn_i_json_skip(pgcn_i_json *json) {
    int outer = json->levels;
    for (;;) {
        pgcn_i_json_kind kind;
        PGCN_TRY(pgcn_i_json_peek(json, &kind));
        if (kind == PGCN_I_JSON_OBJECT || kind == PGCN_I_JSON_ARRAY)
            PGCN_TRY(enter(json, kind == PGCN_I_JSON_OBJECT));
        else
            PGCN_TRY(skip_scalar(json, kind));
        bool more = false;
        while (!more) { /* ends of objects and arrays, up to the next value */
            if (json->levels == outer) return PGCN_OK;
            PGCN_TRY(next_item(json, &more));
        }
        if (json->in_object[json->levels - 1]) PGCN_TRY(take_key(json, false));
    }
}
