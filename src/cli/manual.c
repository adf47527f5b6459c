/* The man page, printed as roff from the same tables as --help, so that it is never out of date.
 * The build runs `pathgcn manual` and installs its output. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* Text as roff shows it unchanged: backslashes doubled, dashes that stay dashes, and no line that
 * begins like a request. */
static void write_verbatim(const char *text) {
    bool line_start = true;
    printf(".nf\n");
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\'')) printf("\\&");
        if (*text == '\\')
            printf("\\e");
        else if (*text == '-')
            printf("\\-");
        else
            putchar(*text);
        line_start = *text == '\n';
    }
    printf(".fi\n");
}

/* The help of a command and of its parts, a section each. False without memory. */
static bool write_command(const cli_command *command) {
    static char help_option[] = "--help";
    char *help_arguments[] = {help_option, NULL};
    char *text = NULL;
    size_t bytes = 0;
    cli_help_stream = open_memstream(&text, &bytes);
    if (!cli_help_stream) return false;
    command->run(1, help_arguments);
    fclose(cli_help_stream);
    cli_help_stream = NULL;
    printf(".SH \"pathgcn %s\"\n", command->name);
    write_verbatim(text);
    free(text);
    bool fine = true;
    for (int i = 0; fine && command->parts && command->parts[i]; i++)
        fine = write_command(command->parts[i]);
    return fine;
}

pgcn_status cli_manual(void) {
    printf(".TH PATHGCN 1 \"\" \"pathgcn %s\" \"User Commands\"\n", PGCN_VERSION);
    printf(".SH NAME\npathgcn \\- graph networks whose spatial operator is learnt from paths\n");
    printf(".SH SYNOPSIS\n.B pathgcn\n.I COMMAND\n[arguments] [options]\n");
    printf(
        ".SH DESCRIPTION\n"
        "Trains, evaluates and runs pathGCN models (ICML 2022): classification of nodes and of whole graphs,\n"
        "nodes with several labels. The same seed gives the same bits at any number of threads,\n"
        "interrupted or not.\n");
    for (int i = 0; cli_commands[i]; i++)
        if (!write_command(cli_commands[i]))
            return cli_fail(NULL, PGCN_ERR_MEMORY, "out of memory while writing the manual");
    printf(
        ".SH ENVIRONMENT\n.TP\n.B PATHGCN_DATA\nThe folder that holds named data sets.\n"
        ".TP\n.B PATHGCN_RECIPES\nA folder of recipes that take precedence over those of the program.\n"
        ".TP\n.B PATHGCN_MIRROR\nA URL or directory that 'data fetch' tries first.\n"
        ".TP\n.B XDG_CACHE_HOME\nDownloaded data sets are in its folder pathgcn (default: ~/.cache).\n"
        ".TP\n.B PATHGCN_ISA\nInstruction set of the kernels (baseline, avx2, avx512) instead of the best one. One that the program or the processor does not support is an error.\n");
    printf(".SH \"EXIT STATUS\"\n0 done, 1 failed, 2 wrong usage.\n");
    return PGCN_OK;
}
