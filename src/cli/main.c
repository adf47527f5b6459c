/* pathgcn: the program. Runs the command, and checks that its output was written. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

const char *cli_program = "pathgcn";

const cli_command *const cli_commands[] = {
    &cli_train,      &cli_eval,    &cli_predict, &cli_explain, &cli_compare,
    &cli_run_report, &cli_kernels, &cli_paths,   &cli_data,    &cli_recipes,
    &cli_reproduce,  &cli_tune,    &cli_info,    NULL};

static void write_usage(FILE *out) {
    fprintf(out,
            "pathgcn %s: graph networks whose spatial operator is learnt from paths\n\n"
            "Usage: pathgcn COMMAND [arguments] [options]\n\nCommands:\n",
            PGCN_VERSION);
    for (int i = 0; cli_commands[i]; i++)
        fprintf(out, "  %-10s%s\n", cli_commands[i]->name, cli_commands[i]->summary);
    fprintf(out,
            "\nFirst steps:\n"
            "  pathgcn train karate                    a built-in graph, in seconds\n"
            "  PATHGCN_DATA=data pathgcn train cora    a data set from the folder data/cora\n"
            "  pathgcn train --edges e.csv --features x.csv --labels y.csv    your own graph\n"
            "  pathgcn predict runs/karate/model.safetensors --out predictions.csv\n"
            "\n'pathgcn COMMAND --help' explains a command, 'pathgcn manual' prints the man page.\n"
            "Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.\n");
}

/* If the program is started with standard output closed, the next file it opens gets descriptor 1,
 * and it would print into a checkpoint. Placeholders take the closed descriptors. Writing to them
 * fails, so the missing output is noticed. */
static void occupy_standard_streams(void) {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* "help data info" is "data info --help", and "help train all" is "train --help all". */
static pgcn_status run_help(const cli_command *command, int argc, char **argv) {
    static char help_option[] = "--help";
    bool all = argc > 0 && strcmp(argv[argc - 1], "all") == 0;
    int words = 0;
    char *arguments[4] = {NULL};
    if (argc > all) arguments[words++] = argv[0];
    arguments[words++] = help_option;
    if (all) arguments[words++] = argv[argc - 1];
    return command->run(words, arguments);
}

static const cli_command *find_command(const char *name) {
    for (int i = 0; cli_commands[i]; i++)
        if (strcmp(cli_commands[i]->name, name) == 0) return cli_commands[i];
    return NULL;
}

static pgcn_status run_command(int argc, char **argv) {
    const char *name = argv[1];
    bool help = strcmp(name, "help") == 0;
    if (help && argc > 2) name = argv[2];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        write_usage(stdout);
        return PGCN_OK;
    }
    if (strcmp(name, "--version") == 0) {
        printf("pathgcn %s\n", PGCN_VERSION);
        return PGCN_OK;
    }
    if (strcmp(name, "manual") == 0) return cli_manual();
    const cli_command *command = find_command(name);
    if (command)
        return help ? run_help(command, argc - 3, argv + 3) : command->run(argc - 2, argv + 2);
    cli_guess guess = cli_guess_start(name);
    for (int i = 0; cli_commands[i]; i++) cli_guess_offer(&guess, cli_commands[i]->name);
    char hint[CLI_HINT_BYTES];
    cli_guess_hint(&guess, "", hint);
    return cli_fail(NULL, PGCN_ERR_ARGUMENT,
                    "there is no command '%s'%s; pathgcn --help lists them", name, hint);
}

enum { STACK_BYTES = 512 * 1024 }; /* several times what any command was seen to use */

__attribute__((noinline)) static void touch_stack(void) {
    volatile char room[STACK_BYTES];
    for (size_t i = 0; i < sizeof room; i += 1024) room[i] = 0;
}

/* Where memory is limited, a stack that cannot grow ends the program without a message. So it grows
 * now, while there is memory; later only the heap can run out, which is an error with a message. */
static pgcn_status grow_stack(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < 2 * STACK_BYTES)
        return cli_fail(
            NULL, PGCN_ERR_SYSTEM,
            "the stack is limited to %lld kB, expected at least %d; raise it (ulimit -s)",
            (long long)limit.rlim_cur / 1024, 2 * STACK_BYTES / 1024);
    touch_stack();
    return PGCN_OK;
}

/* What was printed may still be in a buffer, or the disk may be full. A write that failed earlier has
 * left no reason behind where nothing is in the buffer any more: one more byte brings it back. */
static pgcn_status close_output(void) {
    errno = 0;
    bool complete = !ferror(stdout);
    if (!complete) fputc('\n', stdout);
    complete = fclose(stdout) == 0 && complete;
    if (complete) return PGCN_OK;
    return cli_fail(NULL, PGCN_ERR_IO, "cannot write to standard output: %s",
                    errno ? pgcn_system_error(errno) : "what was printed is incomplete");
}

int main(int argc, char **argv) {
    occupy_standard_streams();
    pgcn_status status = grow_stack();
    if (status != PGCN_OK) return cli_exit_code(status);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error to report, not an end */
    if (argc < 2) {
        write_usage(stderr);
        return EXIT_USAGE;
    }
    cli_program = argv[0];
    bool done;
    status = cli_ranks_begin(find_command(argv[1]), &done);
    if (status == PGCN_OK && !done) status = run_command(argc, argv);
    return cli_ranks_end(cli_exit_code(status == PGCN_OK ? close_output() : status));
}
