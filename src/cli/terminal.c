/* The terminal: Ctrl-C that lets a command finish cleanly, and the width of the progress line. */
#include "cli/cli.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    interrupted = number;
    signal(number, SIG_DFL); /* a second one ends the program at once */
}

void cli_catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) /* not under nohup */
        sigaction(SIGHUP, &action, NULL);
}

int cli_interrupted(void) {
    return interrupted;
}

int cli_terminal_columns(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}
