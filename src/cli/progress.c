/* The progress of long work, on standard error: one line that is written over in a terminal, a line now and then
 * where nobody watches (a pipe, --log FILE). What matters most comes first, and a narrow terminal loses the end. */
#include "cli/cli.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double terminal_seconds = 0.1, pipe_seconds = 10;

pgcn_status cli_progress_open(cli_progress *progress, const cli_command *command, bool quiet,
                              const char *log_path) {
    *progress = (cli_progress){.terminal = !quiet && isatty(STDERR_FILENO)};
    progress->piped = !quiet && !progress->terminal;
    progress->logged = progress->shown = cli_now();
    if (!log_path) return PGCN_OK;
    progress->log = fopen(log_path, "a");
    if (progress->log) return PGCN_OK;
    return cli_fail(command, PGCN_ERR_IO, "cannot write the log '%s': %s", log_path,
                    pgcn_system_error(errno));
}

void cli_progress_close(cli_progress *progress) {
    cli_progress_clear(progress);
    if (progress->log) fclose(progress->log);
    progress->log = NULL;
}

bool cli_progress_is_due(const cli_progress *progress) {
    double now = cli_now();
    return (progress->terminal && now - progress->shown >= terminal_seconds) ||
           ((progress->piped || progress->log) && now - progress->logged >= pipe_seconds);
}

/* The first pieces with blanks between them, as many as fit; the first in any case. */
static void join(char *out, size_t bytes, const char *const *piece, int columns) {
    size_t used = 0;
    *out = '\0';
    for (int i = 0; piece[i]; i++) {
        size_t more = strlen(piece[i]);
        if (more == 0) continue;
        bool fits = used + 2 + more < bytes && (int)(used + 2 + more) <= columns;
        if (used > 0 && !fits) return;
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", used ? "  " : "", piece[i]);
    }
}

static void write_line(cli_progress *progress, const char *const *piece) {
    char line[512], when[32];
    time_t now = time(NULL);
    struct tm parts;
    join(line, sizeof line, piece, (int)sizeof line);
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", localtime_r(&now, &parts));
    if (progress->piped) fprintf(stderr, "%s\n", line);
    if (progress->log) {
        fprintf(progress->log, "%s  %s\n", when, line);
        fflush(progress->log);
    }
}

void cli_progress_show(cli_progress *progress, double share, const char *const *piece) {
    double now = cli_now();
    if (progress->terminal && now - progress->shown >= terminal_seconds) {
        char line[512], bar[CLI_BAR_BYTES];
        int columns = cli_terminal_columns() - 1;
        join(line, sizeof line, piece, columns);
        cli_format_bar(share, bar);
        bool room = (int)(strlen(bar) + strlen(line)) <= columns;
        fprintf(stderr, "\r%.*s\033[K", columns, line);
        if (room) fprintf(stderr, "\r%s%s\033[K", bar, line);
        fflush(stderr);
        progress->shown = now;
        progress->dirty = true;
    }
    if ((progress->piped || progress->log) && now - progress->logged >= pipe_seconds) {
        write_line(progress, piece);
        progress->logged = now;
    }
}

void cli_progress_end(cli_progress *progress, const char *const *piece) {
    cli_progress_clear(progress);
    if (progress->log) {
        bool piped = progress->piped;
        progress->piped = false; /* the table tells it there */
        write_line(progress, piece);
        progress->piped = piped;
    }
}

void cli_progress_clear(cli_progress *progress) {
    if (progress->dirty) fprintf(stderr, "\r\033[K");
    progress->dirty = false;
}

/* "45 epochs/s"; when that is slow "3.2 s per epoch". */
void cli_format_speed(double per_second, const char *what, char out[48]) {
    if (per_second >= 1)
        snprintf(out, 48, "%.0f %ss/s", per_second, what);
    else if (per_second > 0)
        snprintf(out, 48, "%.1f s per %s", 1 / per_second, what);
    else
        *out = '\0';
}

void cli_format_reads(const pgcn_row_reads *reads, char out[80]) {
    char size[32];
    *out = '\0';
    if (reads->hits + reads->misses == 0) return;
    pgcn_format_bytes(reads->bytes, size);
    snprintf(out, 80, "rows %.0f%% cached, %s read",
             100 * (double)reads->hits / (double)(reads->hits + reads->misses), size);
}
