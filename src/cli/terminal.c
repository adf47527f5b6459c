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

/* The character that begins at `text`, which has at least one byte; *bytes: how many are its own. */
static uint32_t character_at(const char *text, size_t *bytes) {
    unsigned char first = (unsigned char)*text;
    uint32_t code = first < 0x80 ? first
                                 : first & (first < 0xe0   ? 0x1f
                                            : first < 0xf0 ? 0x0f
                                                           : 0x07);
    for (*bytes = 1; ((unsigned char)text[*bytes] & 0xc0) == 0x80; ++*bytes)
        code = code << 6 | ((unsigned char)text[*bytes] & 0x3f);
    return code;
}

/* Marks that stand on the letter before take no column; Chinese, Japanese and Korean letters and pictures take two. Not
 * wcwidth(), which needs a locale. */
static int columns_of_character(uint32_t code) {
    static const struct {
        uint32_t low, high;
        int columns;
    } ranges[] = {{0x0300, 0x036f, 0}, {0x200b, 0x200f, 0},   {0xfe00, 0xfe0f, 0},
                  {0x1100, 0x115f, 2}, {0x2e80, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},
                  {0xf900, 0xfaff, 2}, {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},
                  {0xffe0, 0xffe6, 2}, {0x1f300, 0x1faff, 2}, {0x20000, 0x3fffd, 2}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i].low && code <= ranges[i].high) return ranges[i].columns;
    return 1;
}

/* Columns of the first `bytes` bytes. */
static int columns_of(const char *text, size_t bytes) {
    int columns = 0;
    for (size_t i = 0, own; i < bytes; i += own)
        columns += columns_of_character(character_at(text + i, &own));
    return columns;
}

int cli_columns_of(const char *text) {
    return columns_of(text, strlen(text));
}

void cli_put_padded(FILE *out, const char *text, int width, bool right) {
    size_t bytes = 0, own;
    int used = 0;
    while (text[bytes]) {
        int columns = columns_of_character(character_at(text + bytes, &own));
        if (used + columns > width) break;
        used += columns;
        bytes += own;
    }
    fprintf(out, "%*s%.*s%*s", right ? width - used : 0, "", (int)bytes, text,
            right ? 0 : width - used, "");
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
