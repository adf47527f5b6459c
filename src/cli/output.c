/* Messages, numbers for people, and the few things all commands do with files. */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Names come from the user and from files: a line break or an escape in one must neither break the
 * sentence in two nor reach the terminal. */
void cli_complain(const cli_command *command, const char *format, ...) {
    char message[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    for (char *c = message; *c; c++)
        if (iscntrl((unsigned char)*c)) *c = '?';
    fprintf(stderr, "pathgcn%s%s: %s\n", command ? " " : "", command ? command->name : "", message);
}

int cli_failed(const cli_command *command, pgcn_status status) {
    cli_complain(command, "%s", pgcn_last_error());
    return status == PGCN_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

int cli_print_json(const cli_command *command, json_t *object) {
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(10)) : NULL;
    json_decref(object);
    if (!text) {
        cli_complain(command, "out of memory while writing JSON");
        return EXIT_FAILED;
    }
    printf("%s\n", text);
    free(text);
    return EXIT_DONE;
}

json_t *cli_json_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cli_config_to_json(const pgcn_config *config) {
    json_t *settings = json_object();
    pgcn_field field;
    char value[64];
    for (int i = 0; pgcn_config_field(i, &field); i++) {
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

double cli_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int64_t cli_peak_rss_bytes(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0;
}

bool cli_make_directory(const cli_command *command, const char *path) {
    char part[4096];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof part) {
        cli_complain(command, "the directory name '%.64s' is %s", path,
                     length ? "too long" : "empty");
        return false;
    }
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        memcpy(part, path, i);
        part[i] = '\0';
        struct stat entry;
        int failed = mkdir(part, 0777) != 0 ? errno : 0; /* stat changes errno */
        if (failed && !(stat(part, &entry) == 0 && S_ISDIR(entry.st_mode))) {
            cli_complain(command, "cannot make the directory %s: %s; choose another --out", part,
                         strerror(failed));
            return false;
        }
    }
    if (access(path, W_OK) != 0) {
        cli_complain(command, "cannot write to the directory %s: %s; choose another --out", path,
                     strerror(errno));
        return false;
    }
    return true;
}

void cli_format_duration(double seconds, char out[32]) {
    long whole = seconds > 0 && seconds < 1e8 ? (long)(seconds + 0.5) : 0;
    if (whole < 60)
        snprintf(out, 32, "%lds", whole);
    else if (whole < 3600)
        snprintf(out, 32, "%ldm%02lds", whole / 60, whole % 60);
    else
        snprintf(out, 32, "%ldh%02ldm", whole / 3600, whole / 60 % 60);
}

void cli_format_count(int64_t count, char out[32]) {
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)count), place = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) out[place++] = ',';
        out[place++] = digits[i];
    }
    out[place] = '\0';
}

void cli_format_bytes(int64_t bytes, char out[32]) {
    static const struct {
        double size;
        const char *name;
    } units[] = {{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}};
    snprintf(out, 32, "%lld bytes", (long long)bytes);
    for (int i = 0; i < 3; i++)
        if ((double)bytes >= units[i].size) {
            snprintf(out, 32, "%.1f %s", (double)bytes / units[i].size, units[i].name);
            return;
        }
}

const char *cli_items(pgcn_task task) {
    return task == PGCN_TASK_GRAPH ? "graphs" : "nodes";
}

const char *cli_metric(pgcn_task task) {
    return task == PGCN_TASK_MULTILABEL ? "micro-F1" : "accuracy";
}

void cli_put_cell(FILE *out, const char *text) {
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
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
