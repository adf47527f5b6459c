/* Errors: a code for programs and one sentence for people, kept per thread; and the option structs
 * that come in from programs of any age. Called by every room; nothing here prints or exits. */
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
    }
    return "unknown status";
}

/* Sentences quote what files hold, and a terminal must not obey it: one line, no escape codes. */
static void make_printable(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f) *text = '?';
}

pgcn_status pgcn_i_fail(pgcn_status code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_message, sizeof last_message, format, arguments);
    va_end(arguments);
    make_printable(last_message);
    return code;
}

pgcn_status pgcn_i_fail_in(pgcn_status code, const char *format, ...) {
    char context[CONTEXT_BYTES], inner[MESSAGE_BYTES - CONTEXT_BYTES - 2];
    snprintf(inner, sizeof inner, "%.*s", (int)sizeof inner - 1, last_message);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(context, sizeof context, format, arguments);
    va_end(arguments);
    make_printable(context);
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
