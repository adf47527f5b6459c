/* The man page, made of the same tables as --help, so that it is never out of date. A terminal gets it as
 * `man` shows it, or as plain text where there is no `man`; a file or a pipe gets roff. The build runs
 * `pathgcn manual` and installs its output. */
#include "cli/cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The page in one of two forms. */
typedef struct page {
    FILE *out;
    bool roff; /* else plain text */
} page;

static void write_heading(page to, const char *text) {
    fprintf(to.out, to.roff ? ".SH \"%s\"\n" : "\n%s\n\n", text);
}

/* A name and what it means. */
static void write_item(page to, const char *name, const char *text) {
    fprintf(to.out, to.roff ? ".TP\n.B %s\n%s\n" : "  %-18s%s\n", name, text);
}

/* Text as it is. In roff: backslashes doubled, dashes that stay dashes, and no line that begins like a
 * request. */
static void write_verbatim(page to, const char *text) {
    bool line_start = true;
    if (!to.roff) {
        fputs(text, to.out);
        return;
    }
    fprintf(to.out, ".nf\n");
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\'')) fprintf(to.out, "\\&");
        if (*text == '\\')
            fprintf(to.out, "\\e");
        else if (*text == '-')
            fprintf(to.out, "\\-");
        else
            fputc(*text, to.out);
        line_start = *text == '\n';
    }
    fprintf(to.out, ".fi\n");
}

/* The help of a command and of its parts, a section each. False without memory. */
static bool write_command(page to, const cli_command *command) {
    static char help_option[] = "--help", all[] = "all";
    char *help_arguments[] = {help_option, all, NULL}, *text = NULL, heading[64];
    size_t bytes = 0;
    cli_help_stream = open_memstream(&text, &bytes);
    if (!cli_help_stream) return false;
    command->run(2, help_arguments);
    fclose(cli_help_stream);
    cli_help_stream = NULL;
    snprintf(heading, sizeof heading, "pathgcn %s", command->name);
    write_heading(to, heading);
    write_verbatim(to, text);
    free(text);
    bool fine = true;
    for (int i = 0; fine && command->parts && command->parts[i]; i++)
        fine = write_command(to, command->parts[i]);
    return fine;
}

static const struct {
    const char *name, *text;
} environment[] = {
    {"PATHGCN_DATA", "The folder that holds named data sets."},
    {"PATHGCN_RECIPES", "A folder of recipes that take precedence over those of the program."},
    {"PATHGCN_MIRROR", "A URL or directory that 'data fetch' tries first."},
    {"XDG_CACHE_HOME", "Downloaded data sets are in its folder pathgcn (default: ~/.cache)."},
    {"PATHGCN_ISA",
     "Instruction set of the kernels (baseline, avx2, avx512) instead of the best one.\nOne that the "
     "program or the processor does not support is an error."},
};

static bool write_page(page to) {
    if (to.roff)
        fprintf(to.out, ".TH PATHGCN 1 \"\" \"pathgcn %s\" \"User Commands\"\n", PGCN_VERSION);
    write_heading(to, "NAME");
    fprintf(to.out, "pathgcn %s graph networks whose spatial operator is learnt from paths\n",
            to.roff ? "\\-" : "-");
    write_heading(to, "SYNOPSIS");
    fprintf(to.out, to.roff ? ".B pathgcn\n.I COMMAND\n[arguments] [options]\n"
                            : "pathgcn COMMAND [arguments] [options]\n");
    write_heading(to, "DESCRIPTION");
    fprintf(
        to.out,
        "Trains, evaluates and runs pathGCN models (ICML 2022): classification of nodes and of whole graphs,\n"
        "nodes with several labels. The same seed gives the same bits at any number of threads,\n"
        "interrupted or not.\n");
    for (int i = 0; cli_commands[i]; i++)
        if (!write_command(to, cli_commands[i])) return false;
    write_heading(to, "ENVIRONMENT");
    for (size_t i = 0; i < sizeof environment / sizeof *environment; i++)
        write_item(to, environment[i].name, environment[i].text);
    write_heading(to, "EXIT STATUS");
    fprintf(to.out, "0 done, 1 failed, 2 wrong usage, 130 interrupted.\n");
    return true;
}

/* Whether `man` has shown the page. It has not where it is missing or does not know -l. */
static bool show_by_man(const char *roff) {
    enum { PAGER_FAILED = 3 }; /* man-db: it was shown, and the pager was left in an unusual way */
    FILE *man = popen("command -v man >/dev/null 2>&1 || exit 127; exec man -l -", "w");
    /* A reader may leave before the end. After popen(): man itself must be ended by the signal. */
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    int status = -1;
    if (man) {
        fputs(roff, man);
        status = pclose(man);
    }
    signal(SIGPIPE, before);
    return status != -1 && WIFEXITED(status) &&
           (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == PAGER_FAILED);
}

static bool show_on_terminal(void) {
    char *text = NULL;
    size_t bytes = 0;
    page roff = {.out = open_memstream(&text, &bytes), .roff = true};
    if (!roff.out) return false;
    bool fine = write_page(roff);
    fine = fclose(roff.out) == 0 && fine;
    if (fine && !show_by_man(text)) fine = write_page((page){.out = stdout});
    free(text);
    return fine;
}

pgcn_status cli_manual(void) {
    bool fine = isatty(STDOUT_FILENO) ? show_on_terminal()
                                      : write_page((page){.out = stdout, .roff = true});
    if (fine) return PGCN_OK;
    return cli_fail(NULL, PGCN_ERR_MEMORY, "out of memory while writing the manual");
}
