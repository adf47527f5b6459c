/* pathgcn: the program. Finds the command and hands over. */
#include "cli/cli.h"

#include <string.h>

const cli_command *const cli_commands[] = {&cli_train, &cli_eval, &cli_predict, &cli_paths,
                                           &cli_data,  &cli_info, NULL};

static void write_usage(FILE *out) {
    fprintf(out,
            "pathgcn %s: graph networks whose spatial operator is learnt from paths\n\n"
            "Usage: pathgcn COMMAND [arguments] [options]\n\nCommands:\n",
            PGCN_VERSION);
    for (int i = 0; cli_commands[i]; i++)
        fprintf(out, "  %-10s%s\n", cli_commands[i]->name, cli_commands[i]->summary);
    fprintf(out, "\nFirst steps:\n"
                 "  pathgcn train karate                    a built-in graph, in seconds\n"
                 "  PATHGCN_DATA=data pathgcn train cora    a data set from the folder data/cora\n"
                 "  pathgcn predict runs/karate/model.safetensors --out predictions.csv\n"
                 "\n'pathgcn COMMAND --help' explains a command. Exit codes: 0 done, 1 failed, "
                 "2 wrong usage.\n");
}

int main(int argc, char **argv) {
    if (argc < 2) {
        write_usage(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (strcmp(argv[1], "help") == 0 && argc == 2)) {
        write_usage(stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("pathgcn %s\n", PGCN_VERSION);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "manual") == 0) return cli_manual();
    /* "help train" is "train --help" */
    bool help = strcmp(argv[1], "help") == 0;
    static char help_option[] = "--help";
    char *help_arguments[] = {help_option, NULL};
    const char *name = argv[help ? 2 : 1];
    for (int i = 0; cli_commands[i]; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return help ? cli_commands[i]->run(1, help_arguments)
                        : cli_commands[i]->run(argc - 2, argv + 2);
    cli_complain(NULL, "there is no command '%s'; pathgcn --help lists them", name);
    return EXIT_USAGE;
}
