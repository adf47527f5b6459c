/* A text that grows, and the escapes of XML, HTML and LaTeX. All of a report goes through here. */
#include "report/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- growing ------------------------------------------------------------------------------- */

static bool reserve(report_text *text, size_t more) {
    if (text->failed) return false;
    size_t needed = text->length + more + 1;
    if (needed <= text->room) return true;
    size_t room = text->room ? text->room : 1024;
    while (room < needed) room *= 2;
    char *bytes = realloc(text->bytes, room);
    if (!bytes) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->room = room;
    return true;
}

void report_put_bytes(report_text *text, const char *piece, size_t bytes) {
    if (!reserve(text, bytes)) return;
    if (bytes) memcpy(text->bytes + text->length, piece, bytes);
    text->length += bytes;
    text->bytes[text->length] = '\0';
}

void report_put(report_text *text, const char *piece) {
    report_put_bytes(text, piece, strlen(piece));
}

void report_vputf(report_text *text, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0)
        text->failed = true;
    else if (reserve(text, (size_t)length)) {
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void report_putf(report_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    report_vputf(text, format, arguments);
    va_end(arguments);
}

void report_put_number(report_text *text, double value) {
    char digits[64];
    if (!isfinite(value)) value = 0;
    int length = snprintf(digits, sizeof digits, "%.2f", value);
    while (length > 0 && digits[length - 1] == '0') length--;
    if (length > 0 && digits[length - 1] == '.') length--;
    digits[length] = '\0';
    report_put(text, strcmp(digits, "-0") ? digits : "0");
}

pgcn_status report_text_write(const report_text *text, const char *path) {
    if (text->failed) return PGCN_ERR_MEMORY;
    return pgcn_file_write(path, text->bytes ? text->bytes : "", text->length);
}

void report_text_free(report_text *text) {
    free(text->bytes);
    *text = (report_text){0};
}

/* ---- escapes ------------------------------------------------------------------------------- */

/* How many bytes the UTF-8 character at `at` has; 0: it is none. */
static size_t character_bytes(const unsigned char *at) {
    size_t bytes = at[0] < 0x80                     ? 1
                   : at[0] >= 0xc2 && at[0] <= 0xdf ? 2
                   : (at[0] & 0xf0) == 0xe0         ? 3
                   : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                    : 0;
    for (size_t i = 1; i < bytes; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    if (bytes == 3 && ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f)))
        return 0; /* too long a form; half of a surrogate pair */
    if (bytes == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe) return 0; /* not in XML */
    if (bytes == 4 && ((at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f)))
        return 0;
    return bytes;
}

/* `words` with control characters made visible, each character through escape(); that returns NULL
 * for what stays as it is. */
static void put_escaped(report_text *text, const char *words,
                        const char *(*escape)(unsigned char byte)) {
    size_t bytes = pgcn_text_printable(words, NULL, 0) + 1;
    char *shown = malloc(bytes);
    if (!shown) {
        text->failed = true;
        return;
    }
    pgcn_text_printable(words, shown, bytes);
    for (const unsigned char *at = (const unsigned char *)shown; *at;) {
        size_t length = character_bytes(at);
        const char *instead = length == 0 ? "\xef\xbf\xbd" : length == 1 ? escape(*at) : NULL;
        if (instead)
            report_put(text, instead);
        else
            report_put_bytes(text, (const char *)at, length);
        at += length ? length : 1;
    }
    free(shown);
}

static const char *xml_escape(unsigned char byte) {
    switch (byte) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

static const char *latex_escape(unsigned char byte) {
    switch (byte) {
    case '\\': return "\\textbackslash{}";
    case '{': return "\\{";
    case '}': return "\\}";
    case '$': return "\\$";
    case '&': return "\\&";
    case '#': return "\\#";
    case '%': return "\\%";
    case '_': return "\\_";
    case '^': return "\\textasciicircum{}";
    case '~': return "\\textasciitilde{}";
    case '<': return "\\textless{}";
    case '>': return "\\textgreater{}";
    case '|': return "\\textbar{}";
    case '"': return "\\textquotedbl{}";
    /* Commas, equals signs and brackets separate options of pgfplots: braces around the text keep
     * them apart, but a bracket within brackets needs its own. */
    case '[': return "{[}";
    case ']': return "{]}";
    default: return NULL;
    }
}

void report_put_xml(report_text *text, const char *words) {
    put_escaped(text, words, xml_escape);
}

void report_put_latex(report_text *text, const char *words) {
    put_escaped(text, words, latex_escape);
}
