/* pathgcn info: what this build is and what it runs on; the first thing to put in a bug report. */
#include "cli/cli.h"

#include <stdlib.h>

static pgcn_status run(int argc, char **argv);

const cli_command cli_info = {
    .name = "info",
    .summary = "version, instruction set, threads, compiler",
    .arguments = "",
    .text = "Prints how this program was built and what it found on this machine.",
    .examples = "  pathgcn info\n",
    .computes = true,
    .run = run,
};

static pgcn_status run(int argc, char **argv) {
    bool json = false;
    const cli_option options[] = {CLI_JSON_OPTION(json), CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_info, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    pgcn_info info = pgcn_info_get();
    const char *data = getenv("PATHGCN_DATA");
    if (json)
        return cli_print_json(&cli_info,
                              json_pack("{s:s, s:i, s:s, s:s, s:i, s:s, s:s?}", "version",
                                        info.version, "bits_revision", info.bits_revision, "isa",
                                        info.isa, "isa_built", info.isa_built, "threads",
                                        info.cores, "compiler", info.compiler, "data", data));
    printf("%-10s %s\n%-10s revision %d of the results\n%-10s %s (built for: %s)\n%-10s %d\n"
           "%-10s %s\n%-10s %s\n",
           "version", info.version, "bits", info.bits_revision, "isa", info.isa, info.isa_built,
           "threads", info.cores, "compiler", info.compiler, "data",
           data ? data : "PATHGCN_DATA is not set");
    return PGCN_OK;
}
