/* pathgcn info: what this build is and what it runs on; the first thing to put in a bug report. */
#include "cli/cli.h"
#include "report/drawing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pgcn_status run(int argc, char **argv);

const cli_command cli_info = {
    .name = "info",
    .summary = "version, instruction set, threads, compiler",
    .arguments = "",
    .text =
        "Prints how this program was built and what it found on this machine. With --docs, the folder of\n"
        "the documents and examples that were installed with it.",
    .examples = "  pathgcn info\n"
                "  cp -r $(pathgcn info --docs)/examples .\n",
    .computes = true,
    .run = run,
};

/* They are found from where the program is, so that an installed copy may be moved as a whole; without
 * /proc, where they were to be installed. */
static pgcn_status print_docs(void) {
    char path[CLI_PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof "/" CLI_DOCS);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        memcpy(slash, "/" CLI_DOCS, sizeof "/" CLI_DOCS);
    else
        snprintf(path, sizeof path, "%s", CLI_DOCS_INSTALLED);
    char *resolved = realpath(path, NULL);
    if (!resolved)
        return cli_fail(
            &cli_info, PGCN_ERR_IO,
            "'%s' is not there: this copy was not installed, or without documents; they "
            "are in the source",
            path);
    printf("%s\n", resolved);
    free(resolved);
    return PGCN_OK;
}

static pgcn_status run(int argc, char **argv) {
    bool json = false, docs = false;
    const cli_option options[] = {
        CLI_JSON_OPTION(json),
        {"docs", NULL, NULL, "only the folder of the documents and examples", NULL, &docs},
        CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_info, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    if (docs) return print_docs();
    pgcn_info info = pgcn_info_get();
    const char *data = getenv("PATHGCN_DATA");
    if (json)
        return cli_print_json(
            &cli_info, json_pack("{s:s, s:i, s:s, s:s, s:i, s:s, s:s, s:s, s:s?}", "version",
                                 info.version, "bits_revision", info.bits_revision, "isa", info.isa,
                                 "isa_built", info.isa_built, "threads", info.cores, "compiler",
                                 info.compiler, "partitions", info.partitions, "layouts",
                                 report_layout_built(), "data", data));
    printf("%-10s %s\n%-10s revision %d of the results\n%-10s %s (built for: %s)\n%-10s %d\n"
           "%-10s %s\n%-10s %s\n%-10s %s\n%-10s %s\n",
           "version", info.version, "bits", info.bits_revision, "isa", info.isa, info.isa_built,
           "threads", info.cores, "compiler", info.compiler, "partitions", info.partitions,
           "layouts", report_layout_built(), "data", data ? data : "PATHGCN_DATA is not set");
    return PGCN_OK;
}
