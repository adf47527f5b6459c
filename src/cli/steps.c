/* The steps after the colon of a data set's name and of --prepare, "features=degrees,crossval=10",
 * as far as commands ask about them. The library reads and applies them. */
#include "cli/cli.h"

#include <string.h>

static const struct {
    const char *name;
    cli_step step;
} steps_known[] = {
    {"directed", CLI_STEP_DIRECTED},
    {"symmetrise", CLI_STEP_SYMMETRISE},
    {"self-loops", CLI_STEP_SELF_LOOPS},
    {"largest-component", CLI_STEP_LARGEST_COMPONENT},
    {"features", CLI_STEP_FEATURES},
    {"stratified", CLI_STEP_STRATIFIED},
    {"random", CLI_STEP_RANDOM},
    {"per-class", CLI_STEP_PER_CLASS},
    {"kfold", CLI_STEP_KFOLD},
    {"crossval", CLI_STEP_CROSSVAL},
    {"only-split", CLI_STEP_ONLY_SPLIT},
    {"without-test", CLI_STEP_WITHOUT_TEST},
    {"fair", CLI_STEP_FAIR},
};

static cli_step find_step(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof steps_known / sizeof *steps_known; i++)
        if (strlen(steps_known[i].name) == length &&
            strncmp(steps_known[i].name, name, length) == 0)
            return steps_known[i].step;
    return CLI_STEP_OTHER;
}

bool cli_step_next(cli_step_word *word) {
    const char *begin = word->text ? word->text + word->length : word->rest;
    if (!begin) return false;
    begin += strspn(begin, ",");
    if (!*begin) return false;
    word->text = begin;
    word->length = strcspn(begin, ",");
    size_t name = strcspn(begin, "=");
    word->step = find_step(begin, name < word->length ? name : word->length);
    return true;
}

bool cli_steps_include(const char *steps, unsigned wanted) {
    cli_step_word word = {.rest = steps};
    while (cli_step_next(&word))
        if (wanted & (unsigned)word.step) return true;
    return false;
}

bool cli_steps_join(char *out, size_t bytes, const char *first, const char *more) {
    bool both = first && *first && *more;
    return (size_t)snprintf(out, bytes, "%s%s%s", first ? first : "", both ? "," : "", more) <
           bytes;
}
