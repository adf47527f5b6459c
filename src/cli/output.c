/* Messages, numbers for people, and the few things all commands do with files. */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Names come from the user and from files. A line break or an escape sequence in one must neither
 * break the line nor reach the terminal. */
static void print_line(const cli_command *command, const char *format, va_list arguments) {
    char raw[8192], message[8192];
    vsnprintf(raw, sizeof raw, format, arguments);
    pgcn_text_printable(raw, message, sizeof message);
    if (cli_ranks_serves()) {
        cli_ranks_keep(message);
        return;
    }
    int used = fprintf(stderr, "pathgcn%s%s: ", command ? " " : "", command ? command->name : "");
    cli_put_wrapped(stderr, message, used);
}

void cli_complain(const cli_command *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_line(command, format, arguments);
    va_end(arguments);
}

pgcn_status cli_fail(const cli_command *command, pgcn_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_line(command, format, arguments);
    va_end(arguments);
    return status;
}

pgcn_status cli_report(const cli_command *command, pgcn_status status) {
    if (status != PGCN_OK) cli_complain(command, "%s", pgcn_last_error());
    return status;
}

int cli_exit_code(pgcn_status status) {
    if (status == PGCN_OK) return EXIT_DONE;
    if (cli_interrupted()) return EXIT_SIGNAL + cli_interrupted();
    return status == PGCN_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

pgcn_status cli_print_json(const cli_command *command, json_t *object) {
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(10)) : NULL;
    json_decref(object);
    if (!text) return cli_fail(command, PGCN_ERR_MEMORY, "out of memory while writing JSON");
    cli_put_json(stdout, text);
    putchar('\n');
    free(text);
    return PGCN_OK;
}

pgcn_status cli_write_json(const cli_command *command, const char *path, const json_t *object,
                           size_t flags) {
    char *text = object ? json_dumps(object, flags) : NULL;
    if (!text) return cli_fail(command, PGCN_ERR_MEMORY, "out of memory while writing '%s'", path);
    pgcn_status status = cli_report(command, pgcn_file_write(path, text, strlen(text)));
    free(text);
    return status;
}

/* Jansson escapes C0 control characters only. DEL and C1 occur inside strings only, because
 * everything else in a document is ASCII. */
void cli_put_json(FILE *out, const char *document) {
    for (const char *at = document; *at; at++) {
        unsigned char c = (unsigned char)*at, next = (unsigned char)at[1];
        bool c1 = c == 0xc2 && next >= 0x80 && next < 0xa0;
        if (c1 || c == 0x7f)
            fprintf(out, "\\u%04X", c1 ? next : c);
        else
            fputc(c, out);
        at += c1;
    }
}

json_t *cli_json_text(const char *text) {
    json_t *unchanged = json_string(text);
    if (unchanged) return unchanged;
    char *ascii = malloc(4 * strlen(text) + 1), *to = ascii;
    for (; ascii && *text; text++)
        to += sprintf(to, (unsigned char)*text > 0x7f ? "\\x%02x" : "%c", (unsigned char)*text);
    json_t *escaped = ascii ? json_string(ascii) : NULL;
    free(ascii);
    return escaped;
}

void cli_put_text(FILE *out, const char *text) {
    size_t bytes = pgcn_text_printable(text, NULL, 0) + 1;
    char *shown = bytes > strlen(text) + 1 ? malloc(bytes) : NULL; /* an escape is longer */
    if (shown) pgcn_text_printable(text, shown, bytes);
    if (shown || bytes == strlen(text) + 1) fputs(shown ? shown : text, out);
    free(shown);
}

json_t *cli_json_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cli_config_to_json(const pgcn_config *config, bool run_settings) {
    json_t *settings = json_object();
    pgcn_field field;
    char value[PGCN_SETTING_BYTES];
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        if (!run_settings && cli_is_run_setting(&field)) continue;
        if (!cli_has_setting(config, &field)) continue;
        pgcn_config_get(config, field.key, value, sizeof value);
        json_object_set_new(settings, field.key, json_string(value));
    }
    return settings;
}

void cli_print_quoted(FILE *out, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:=,+@%";
    if (*word && word[strspn(word, plain)] == '\0') {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    }
    fputc('\'', out);
}

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double cli_now(void) {
    return seconds_of(CLOCK_MONOTONIC);
}

double cli_core_seconds(void) {
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t cli_peak_rss_bytes(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0;
}

pgcn_status cli_make_directory(const cli_command *command, const char *path) {
    if (pgcn_directory_make(path) != PGCN_OK)
        return cli_fail(command, PGCN_ERR_IO, "%s", pgcn_last_error());
    if (access(path, W_OK) == 0) return PGCN_OK;
    return cli_fail(command, PGCN_ERR_IO, "cannot write to the directory '%s' (--out): %s", path,
                    pgcn_system_error(errno));
}

void cli_format_duration(double seconds, char out[32]) {
    long rounded = seconds > 0 && seconds < 1e8 ? (long)(seconds + 0.5) : 0;
    if (rounded < 60)
        snprintf(out, 32, "%lds", rounded);
    else if (rounded < 3600)
        snprintf(out, 32, "%ldm%02lds", rounded / 60, rounded % 60);
    else
        snprintf(out, 32, "%ldh%02ldm", rounded / 3600, rounded / 60 % 60);
}

const char *cli_format_signed(double difference, char out[32]) {
    snprintf(out, 32, "%+.2f", difference);
    if (strcmp(out, "+0.00") == 0 || strcmp(out, "-0.00") == 0) snprintf(out, 32, "0.00");
    return out;
}

void cli_format_bar(double share, char out[CLI_BAR_BYTES]) {
    enum { WIDTH = CLI_BAR_BYTES - 4 };
    int filled = share < 1 ? (int)(WIDTH * share) : WIDTH;
    snprintf(out, CLI_BAR_BYTES, "[....................] ");
    memset(out + 1, '#', (size_t)filled);
}

void cli_format_count(int64_t count, char out[32]) {
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)count), used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
}

int64_t cli_mask_size(const uint8_t *mask, int64_t items) {
    int64_t size = 0;
    for (int64_t i = 0; i < items; i++) size += mask[i];
    return size;
}

const char *cli_items(pgcn_task task) {
    return task == PGCN_TASK_GRAPH ? "graphs" : "nodes";
}

const char *cli_metric(pgcn_task task) {
    return task == PGCN_TASK_MULTILABEL ? "micro-F1" : "accuracy";
}

bool cli_ends_in(const char *text, const char *ending) {
    size_t length = strlen(text), letters = strlen(ending);
    return length > letters && strcmp(text + length - letters, ending) == 0;
}

/* Tabs and line ends are data and harmless in a terminal. All other control characters are
 * escaped. */
static void put_cell_text(FILE *out, const char *text) {
    char *copy = strdup(text);
    for (char *at = copy; at && *at;) {
        char *stop = at + strcspn(at, "\t\n\""), kept = *stop;
        *stop = '\0';
        cli_put_text(out, at);
        if (kept == '"') fputc('"', out);
        if (kept) fputc(kept, out);
        at = stop + (kept != '\0');
    }
    free(copy);
}

void cli_put_cell(FILE *out, const char *text) {
    bool quoted = strpbrk(text, ",\"\n\r") != NULL;
    if (quoted) fputc('"', out);
    put_cell_text(out, text);
    if (quoted) fputc('"', out);
}

void cli_put_id(FILE *out, const pgcn_dataset *data, int64_t node) {
    const char *id = pgcn_dataset_node_id(data, node);
    if (id)
        cli_put_cell(out, id);
    else
        fprintf(out, "%lld", (long long)cli_node_number(data, node));
}

int64_t cli_node_number(const pgcn_dataset *data, int64_t row) {
    const pgcn_node *number;
    return pgcn_dataset_order(data, &number, NULL) ? number[row] : row;
}

int64_t cli_node_row(const pgcn_dataset *data, int64_t number) {
    const pgcn_node *row;
    return pgcn_dataset_order(data, NULL, &row) ? row[number] : number;
}
