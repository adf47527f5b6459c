/* The terminal: Ctrl-C that lets a command finish cleanly, the width of the progress line, and sentences that are
 * longer than a line. */
#include "cli/cli.h"

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    interrupted = number;
    signal(number, SIG_DFL); /* a second one ends the program at once */
}

/* A mapped file was cut short under us, or its disk failed: nothing can go on, but the reason can be said. */
static void on_bus_error(int number) {
    static const char text[] =
        "\npathgcn: a file that is in use was cut short, or its disk has failed; put the whole file "
        "back. Checkpoints are kept: the same command with --resume goes on from the last one\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)number, (void)written;
    _exit(cli_exit_code(PGCN_ERR_IO));
}

void cli_catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) /* not under nohup */
        sigaction(SIGHUP, &action, NULL);
    action.sa_handler = on_bus_error;
    sigaction(SIGBUS, &action, NULL);
}

int cli_interrupted(void) {
    return interrupted;
}

bool cli_not_interrupted(void *context) {
    (void)context;
    return !interrupted;
}

int cli_terminal_columns(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* Columns of the first `bytes` bytes: characters of UTF-8, each taken as one wide. */
static int columns_of(const char *text, size_t bytes) {
    int columns = 0;
    for (size_t i = 0; i < bytes; i++) columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

void cli_put_wrapped(FILE *out, const char *text, int used) {
    struct winsize size;
    int file = fileno(out);
    bool terminal = isatty(file) && ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    while (terminal && *text) {
        size_t bytes = strcspn(text, " ");
        int columns = columns_of(text, bytes);
        bool first = used == 0, fits = first || used + columns <= size.ws_col;
        if (!fits) {
            fputc('\n', out);
            used = 0;
        }
        fwrite(text, 1, bytes, out);
        used += columns + 1;
        text += bytes;
        if (*text != ' ') break;
        text++;
        size_t next = strcspn(text, " "); /* a blank at the end of a line would wrap on its own */
        if (used + columns_of(text, next) <= size.ws_col) fputc(' ', out);
    }
    if (!terminal) fputs(text, out);
    fputc('\n', out);
}
