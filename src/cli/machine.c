/* The machine that a program runs on, for result.json and reports. */
#include "cli/cli.h"

#include <string.h>
#include <sys/utsname.h>

/* "model name" of the first processor; "" where the system does not say. */
static void processor_name(char *out, size_t bytes) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    *out = '\0';
    while (file && !*out && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(out, bytes, "%.*s", (int)strcspn(colon, "\n"), colon);
    }
    if (file) fclose(file);
}

json_t *cli_machine_to_json(void) {
    pgcn_info info = pgcn_info_get();
    struct utsname about;
    char processor[128], system[256] = "";
    processor_name(processor, sizeof processor);
    if (uname(&about) == 0)
        snprintf(system, sizeof system, "%.60s %.100s %.60s", about.sysname, about.release,
                 about.machine);
    return json_pack("{s:s, s:i, s:s, s:o, s:i, s:o, s:s}", "pathgcn", info.version,
                     "bits_revision", info.bits_revision, "isa", info.isa, "processor",
                     cli_json_text(processor), "cores", info.cores, "system", cli_json_text(system),
                     "compiler", info.compiler);
}
