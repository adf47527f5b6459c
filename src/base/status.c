/* Errors: a code for programs and one sentence for people, kept per thread. Also text made safe for
 * a terminal, and the option structs of callers that were compiled against another version. Called
 * by every room; nothing here prints or exits. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 2048, CONTEXT_BYTES = 512 }; /* a prefix never crowds out the sentence */
static _Thread_local char last_message[MESSAGE_BYTES];

const char *pgcn_last_error(void) {
    return last_message;
}

const char *pgcn_status_name(pgcn_status status) {
    switch (status) {
    case PGCN_OK: return "ok";
    case PGCN_ERR_ARGUMENT: return "wrong argument";
    case PGCN_ERR_MEMORY: return "out of memory";
    case PGCN_ERR_IO: return "input/output error";
    case PGCN_ERR_FORMAT: return "malformed data";
    case PGCN_ERR_MISMATCH: return "does not fit together";
    case PGCN_ERR_NUMERIC: return "not a finite number";
    case PGCN_ERR_SYSTEM: return "system error";
    case PGCN_ERR_STOPPED: return "stopped by the caller";
    }
    return "unknown status";
}

/* ---- printable text ---------------------------------------------------------------------------- */

/* Bytes of the UTF-8 sequence at `at`; 1 for ASCII and for a byte that belongs to none. Longer forms of
 * short codes belong to none: some terminals decode them. */
static size_t sequence_bytes(const unsigned char *at) {
    size_t bytes = at[0] >= 0xc2 && at[0] <= 0xdf   ? 2
                   : at[0] >= 0xe0 && at[0] <= 0xef ? 3
                   : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                    : 1;
    for (size_t i = 1; i < bytes; i++)
        if ((at[i] & 0xc0) != 0x80) return 1;
    bool too_long = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    return too_long ? 1 : bytes;
}

/* Writes the printable form of the sequence at `at`; returns its length in bytes. */
static size_t show_sequence(const unsigned char *at, size_t bytes, char shown[8]) {
    const char *letter = *at ? strchr("n\nr\rt\t", *at) : NULL;
    if (bytes == 2 && at[0] == 0xc2 && at[1] < 0xa0)
        return (size_t)sprintf(shown, "\\u%04x", at[1]);
    if (bytes == 1 && letter && *at < ' ') return (size_t)sprintf(shown, "\\%c", letter[-1]);
    if (bytes == 1 && (*at < ' ' || *at == 0x7f || (*at >= 0x80 && *at < 0xa0)))
        return (size_t)sprintf(shown, "\\x%02x", *at);
    memcpy(shown, at, bytes);
    return bytes;
}

size_t pgcn_text_printable(const char *text, char *out, size_t out_bytes) {
    size_t needed = 0, written = 0, bytes;
    if (!out) out_bytes = 0;
    bool fits = out_bytes > 0;
    for (const unsigned char *at = (const unsigned char *)(text ? text : ""); *at; at += bytes) {
        char shown[8];
        bytes = sequence_bytes(at);
        size_t count = show_sequence(at, bytes, shown);
        fits = fits && needed + count < out_bytes;
        if (fits) memcpy(out + needed, shown, count);
        needed += count;
        if (fits) written = needed;
    }
    if (out_bytes > 0) out[written] = '\0';
    return needed;
}

/* ---- errors -------------------------------------------------------------------------------------- */

/* Sentences quote the content of files, which must not control a terminal: one line, no escape
 * codes. */
static void make_printable(char *text, size_t bytes) {
    char raw[MESSAGE_BYTES];
    snprintf(raw, sizeof raw, "%s", text);
    pgcn_text_printable(raw, text, bytes);
}

pgcn_status pgcn_i_fail(pgcn_status code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_message, sizeof last_message, format, arguments);
    va_end(arguments);
    make_printable(last_message, sizeof last_message);
    return code;
}

pgcn_status pgcn_i_fail_in(pgcn_status code, const char *format, ...) {
    char context[CONTEXT_BYTES], inner[MESSAGE_BYTES - CONTEXT_BYTES - 2];
    snprintf(inner, sizeof inner, "%.*s", (int)sizeof inner - 1, last_message);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(context, sizeof context, format, arguments);
    va_end(arguments);
    make_printable(context, sizeof context);
    snprintf(last_message, sizeof last_message, "%s: %s", context, inner);
    return code;
}

pgcn_status pgcn_i_opts_over(void *known, size_t known_bytes, const void *given,
                             const char *maker) {
    if (!given) return PGCN_OK;
    size_t given_bytes;
    memcpy(&given_bytes, given, sizeof given_bytes);
    if (given_bytes < sizeof given_bytes)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "options with size %zu were given: fill the struct with %s() first, "
                           "then change fields",
                           given_bytes, maker);
    memcpy(known, given, given_bytes < known_bytes ? given_bytes : known_bytes);
    memcpy(known, &known_bytes, sizeof known_bytes);
    return PGCN_OK;
}

pgcn_status pgcn_i_seed_check(uint64_t seed) {
    if (seed <= (uint64_t)PGCN_MAX_SEED) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "seed is %llu, expected 0..%lld",
                       (unsigned long long)seed, (long long)PGCN_MAX_SEED);
}

/* ---- a guess at what was meant -------------------------------------------------------------------- */

enum { LONGEST_WORD = 64 };

/* Letters to insert, remove or change to get from a to b. */
static size_t edit_distance(const char *a, const char *b) {
    size_t row[LONGEST_WORD], columns = strlen(b);
    if (columns >= LONGEST_WORD) return LONGEST_WORD;
    for (size_t j = 0; j <= columns; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < change) change = row[j] + 1;
            if (row[j - 1] + 1 < change) change = row[j - 1] + 1;
            row[j] = change;
        }
    }
    return row[columns];
}

bool pgcn_spelling_nearer(const char *word, const char *candidate, size_t *distance) {
    if (!word || !candidate || !distance) return false;
    size_t length = strlen(word), most = length / 3 + 2, found = edit_distance(word, candidate);
    if (length > 1 && strncmp(word, candidate, length) == 0) found = 0;
    if (found >= most || found >= *distance) return false;
    *distance = found;
    return true;
}
