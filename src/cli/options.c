/* Parsing and help, from tables: a command's own options, and the fields of the configuration that
 * the library lists. Nothing here knows what an option means. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

FILE *cli_help_stream;

static bool in_groups(const cli_command *command, const pgcn_field *field) {
    return command->config_groups && strstr(command->config_groups, field->group) != NULL;
}

static const cli_option *find_option(const cli_option *options, const char *name, size_t length) {
    for (; options->name; options++)
        if (strlen(options->name) == length && memcmp(options->name, name, length) == 0)
            return options;
    return NULL;
}

static bool find_field(const cli_command *command, const char *name, size_t length,
                       pgcn_field *out) {
    for (int i = 0; pgcn_config_field(i, out); i++)
        if (strlen(out->key) == length && memcmp(out->key, name, length) == 0)
            return in_groups(command, out);
    return false;
}

/* ---- a guess at what was meant ----------------------------------------------------------------- */

static size_t edit_distance(const char *a, const char *b) {
    size_t row[64], columns = strlen(b);
    if (columns >= 64) return 64;
    for (size_t j = 0; j <= columns; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < change) change = row[j] + 1;
            if (row[j - 1] + 1 < change) change = row[j - 1] + 1;
            row[j] = change;
        }
    }
    return row[columns];
}

static const char *nearest(const cli_command *command, const cli_option *options,
                           const char *name) {
    const char *best = NULL;
    size_t least = 4; /* further away is no help */
    pgcn_field field;
    for (; options->name; options++) {
        size_t distance = edit_distance(name, options->name);
        if (distance < least) least = distance, best = options->name;
    }
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        size_t distance = in_groups(command, &field) ? edit_distance(name, field.key) : least;
        if (distance < least) least = distance, best = field.key;
    }
    return best;
}

static int unknown(const cli_command *command, const cli_option *options, const char *name) {
    const char *guess = nearest(command, options, name);
    cli_complain(command, "there is no option --%s%s%s%s; pathgcn %s --help lists them", name,
                 guess ? " (did you mean --" : "", guess ? guess : "", guess ? "?)" : "",
                 command->name);
    return EXIT_USAGE;
}

/* ---- parsing ------------------------------------------------------------------------------------- */

/* --name value, --name=value, and for yes/no settings also plain --name. */
static int parse_option(const cli_command *command, const cli_option *options, int argc,
                        char **argv, int *i, cli_arguments *out) {
    const char *name = argv[*i] + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const cli_option *option = find_option(options, name, length);
    pgcn_field field = {0};
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)(length < 63 ? length : 63), name);
    if (!option && !find_field(command, name, length, &field))
        return unknown(command, options, key);
    if (option && option->flag) {
        if (equals) {
            cli_complain(command, "--%s takes no value", key);
            return EXIT_USAGE;
        }
        *option->flag = true;
        return -1;
    }
    const char *value = equals ? equals + 1 : *i + 1 < argc ? argv[*i + 1] : NULL;
    bool yes_no = !option && strcmp(field.accepts, "no | yes") == 0;
    if (yes_no && !equals && (!value || (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)))
        value = "yes";
    else if (!equals)
        (*i)++;
    if (!value) {
        cli_complain(command, "--%s needs a value: %s", key,
                     option ? option->value : field.accepts);
        return EXIT_USAGE;
    }
    if (option) {
        *option->text = value;
        return -1;
    }
    if (out->settings == CLI_MAX_SETTINGS) {
        cli_complain(command, "more than %d options", CLI_MAX_SETTINGS);
        return EXIT_USAGE;
    }
    out->key[out->settings] = field.key;
    out->value[out->settings++] = value;
    return -1;
}

int cli_parse(const cli_command *command, const cli_option *options, int least_words,
              int most_words, int argc, char **argv, cli_arguments *out) {
    *out = (cli_arguments){0};
    bool only_words = false;
    for (int i = 0; i < argc; i++) {
        if (!only_words && strcmp(argv[i], "--") == 0) {
            only_words = true;
        } else if (!only_words && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
            cli_write_help(cli_help_stream ? cli_help_stream : stdout, command, options);
            return EXIT_DONE;
        } else if (!only_words && strncmp(argv[i], "--", 2) == 0) {
            int code = parse_option(command, options, argc, argv, &i, out);
            if (code >= 0) return code;
        } else if (!only_words && argv[i][0] == '-' && argv[i][1]) {
            cli_complain(command, "options begin with two dashes: '%s'", argv[i]);
            return EXIT_USAGE;
        } else if (out->words == most_words) {
            cli_complain(command, "'%s' is one argument too many; usage: pathgcn %s %s [options]",
                         argv[i], command->name, command->arguments);
            return EXIT_USAGE;
        } else {
            out->word[out->words++] = argv[i];
        }
    }
    if (out->words < least_words) {
        cli_complain(command, "an argument is missing; usage: pathgcn %s %s [options]",
                     command->name, command->arguments);
        return EXIT_USAGE;
    }
    return -1;
}

int cli_apply(const cli_command *command, const cli_arguments *arguments, pgcn_config *config) {
    for (int i = 0; i < arguments->settings; i++)
        if (pgcn_config_set(config, arguments->key[i], arguments->value[i]) != PGCN_OK) {
            cli_complain(command, "--%s", pgcn_last_error());
            return EXIT_USAGE;
        }
    return -1;
}

bool cli_number(const cli_command *command, const char *option, const char *text, long long low,
                long long high, long long *out) {
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (end != text && *end == '\0' && errno == 0 && *out >= low && *out <= high) return true;
    cli_complain(command, "--%s is '%s', expected a whole number from %lld to %lld", option, text,
                 low, high);
    return false;
}

/* ---- help ------------------------------------------------------------------------------------------ */

static void write_line(FILE *out, const char *name, const char *value, const char *help,
                       const char *preset) {
    char left[96];
    snprintf(left, sizeof left, "--%s%s%s", name, value ? " " : "", value ? value : "");
    fprintf(out, "  %-34s%s", left,
            strlen(left) > 33 ? "\n                                    " : "");
    fprintf(out, "%s", help);
    if (preset && *preset) fprintf(out, " [%s]", preset);
    fputc('\n', out);
}

static void write_fields(FILE *out, const cli_command *command, const char *group,
                         const char *title) {
    pgcn_config config = pgcn_config_default();
    pgcn_field field;
    if (!strstr(command->config_groups, group)) return;
    fprintf(out, "\n%s:\n", title);
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        char preset[64];
        if (strcmp(field.group, group) != 0) continue;
        pgcn_config_get(&config, field.key, preset, sizeof preset);
        write_line(out, field.key, field.accepts, field.help, preset);
    }
}

void cli_write_help(FILE *out, const cli_command *command, const cli_option *options) {
    fprintf(out, "pathgcn %s: %s\n\nUsage: pathgcn %s %s [options]\n\n%s\n", command->name,
            command->summary, command->name, command->arguments, command->text);
    fprintf(out, "\nExamples:\n%s\nOptions (default in brackets):\n", command->examples);
    for (; options->name; options++)
        write_line(out, options->name, options->value, options->help, options->preset);
    write_line(out, "help", NULL, "this text", NULL);
    if (!command->config_groups) return;
    write_fields(out, command, "model", "Model");
    write_fields(out, command, "training", "Training");
    write_fields(out, command, "run", "Run");
}
