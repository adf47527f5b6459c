/* Parsing and help, from tables: a command's own options, and the fields of the configuration that
 * the library lists. Nothing here knows what an option means. */
#include "cli/cli.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

FILE *cli_help_stream;

/* The groups of settings, in the order of the help. */
static const struct {
    cli_groups group;
    const char *name, *title; /* name: pgcn_field.group */
} groups[] = {{CLI_GROUP_MODEL, "model", "Model"},
              {CLI_GROUP_TRAINING, "training", "Training"},
              {CLI_GROUP_RUN, "run", "Run"}};
enum { GROUPS = sizeof groups / sizeof *groups };

static bool in_groups(const cli_command *command, const pgcn_field *field) {
    for (int i = 0; i < GROUPS; i++)
        if (strcmp(field->group, groups[i].name) == 0)
            return (command->config_groups & (unsigned)groups[i].group) != 0;
    return false;
}

bool cli_is_run_setting(const pgcn_field *field) {
    return strcmp(field->group, "run") == 0;
}

bool cli_has_setting(const pgcn_config *config, const pgcn_field *field) {
    return !field->own || pgcn_config_uses(config, field->key);
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

cli_guess cli_guess_start(const char *name) {
    return (cli_guess){.name = name, .distance = SIZE_MAX};
}

void cli_guess_offer(cli_guess *guess, const char *candidate) {
    if (pgcn_spelling_nearer(guess->name, candidate, &guess->distance)) guess->best = candidate;
}

void cli_guess_hint(const cli_guess *guess, const char *prefix, char out[CLI_HINT_BYTES]) {
    *out = '\0';
    if (guess->best) snprintf(out, CLI_HINT_BYTES, " (did you mean %s%.64s?)", prefix, guess->best);
}

static pgcn_status refuse_unknown(const cli_command *command, const cli_option *options,
                                  const char *name) {
    cli_guess guess = cli_guess_start(name);
    pgcn_field field;
    char hint[CLI_HINT_BYTES];
    for (; options->name; options++) cli_guess_offer(&guess, options->name);
    for (int i = 0; pgcn_config_field(i, &field); i++)
        if (in_groups(command, &field)) cli_guess_offer(&guess, field.key);
    cli_guess_hint(&guess, "--", hint);
    return cli_fail(command, PGCN_ERR_ARGUMENT,
                    "there is no option --%s%s; pathgcn %s --help%s lists them", name, hint,
                    command->name, command->most_used ? " all" : "");
}

/* ---- parsing ------------------------------------------------------------------------------------- */

static bool is_yes_or_no(const char *text) {
    static const char *const words[] = {"yes", "no", "true", "false", "1", "0"};
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) return true;
    return false;
}

const char *cli_setting_given(const cli_arguments *arguments, const char *key) {
    for (int i = 0; i < arguments->settings; i++)
        if (strcmp(arguments->key[i], key) == 0) return arguments->value[i];
    return NULL;
}

/* The value given for a setting or an option; NULL: not given. */
static const char *given_value(const cli_arguments *arguments, const char *key) {
    const char *value = cli_setting_given(arguments, key);
    for (int i = 0; !value && i < arguments->options; i++)
        if (strcmp(arguments->option[i], key) == 0) value = arguments->option_value[i];
    return value;
}

bool cli_is_given(const cli_arguments *arguments, const char *key) {
    return given_value(arguments, key) != NULL;
}

/* Whether two texts set the same value: 0.5 and 0.50, yes and true. */
static bool is_same(const char *key, const char *a, const char *b) {
    pgcn_config one = pgcn_config_default(), two = one;
    char first[PGCN_SETTING_BYTES], second[PGCN_SETTING_BYTES];
    if (strcmp(a, b) == 0) return true;
    if (pgcn_config_set(&one, key, a) != PGCN_OK || pgcn_config_set(&two, key, b) != PGCN_OK)
        return false;
    pgcn_config_get(&one, key, first, sizeof first);
    pgcn_config_get(&two, key, second, sizeof second);
    return strcmp(first, second) == 0;
}

/* Stores a setting or an option, once: a second value would silently win over the first. */
static pgcn_status store(const cli_command *command, const char *key, const char *value,
                         bool setting, cli_arguments *out) {
    const char *before = given_value(out, key);
    if (before && setting ? is_same(key, before, value) : before && strcmp(before, value) == 0)
        return PGCN_OK;
    if (before)
        return cli_fail(command, PGCN_ERR_ARGUMENT,
                        "--%s is given twice, as '%s' and as '%s'; leave out one of them", key,
                        before, value);
    int *count = setting ? &out->settings : &out->options;
    if (*count == CLI_MAX_SETTINGS)
        return cli_fail(command, PGCN_ERR_ARGUMENT, "there are more than %d options",
                        CLI_MAX_SETTINGS);
    (setting ? out->key : out->option)[*count] = key;
    (setting ? out->value : out->option_value)[(*count)++] = value;
    return PGCN_OK;
}

/* The command line that is being parsed. */
typedef struct parser {
    const cli_command *command;
    const cli_option *options;
    int argc, at; /* at: argv[at] is parsed next */
    char **argv;
    cli_arguments *out;
    const char *plain; /* the yes/no setting that was given without a value just before; or NULL */
} parser;

/* --name value, --name=value, and for yes/no settings also plain --name. */
static pgcn_status parse_option(parser *p) {
    const char *name = p->argv[p->at] + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const cli_option *option = find_option(p->options, name, length);
    pgcn_field field = {0};
    char key[64];
    p->plain = NULL;
    snprintf(key, sizeof key, "%.*s", (int)(length < 63 ? length : 63), name);
    if (!option && !find_field(p->command, name, length, &field))
        return refuse_unknown(p->command, p->options, key);
    if (option && option->flag) {
        if (equals)
            return cli_fail(p->command, PGCN_ERR_ARGUMENT, "--%s takes no value, leave out '%s'",
                            key, equals);
        *option->flag = true;
        return PGCN_OK;
    }
    const char *next = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;
    const char *value = equals ? equals + 1 : next;
    bool yes_no = !option && strcmp(field.accepts, "no | yes") == 0;
    p->plain = yes_no && !equals && !is_yes_or_no(value) ? field.key : NULL;
    if (p->plain)
        value = "yes";
    else if (!equals)
        p->at++;
    if (!value)
        return cli_fail(p->command, PGCN_ERR_ARGUMENT, "--%s needs a value: %s", key,
                        option ? option->value : field.accepts);
    if (option) *option->text = value;
    return store(p->command, option ? option->name : field.key, value, !option, p->out);
}

static pgcn_status parse_word(parser *p) {
    const cli_command *command = p->command;
    const char *word = p->argv[p->at];
    if (p->out->words == command->most_words && p->plain)
        return cli_fail(command, PGCN_ERR_ARGUMENT, "%s is '%s', expected no | yes", p->plain,
                        word);
    p->plain = NULL;
    if (p->out->words == CLI_MAX_WORDS)
        return cli_fail(command, PGCN_ERR_ARGUMENT,
                        "'%s' is one argument too many: there may be %d at a time", word,
                        CLI_MAX_WORDS);
    if (p->out->words == command->most_words)
        return cli_fail(command, PGCN_ERR_ARGUMENT,
                        "'%s' is one argument too many; usage: pathgcn %s%s%s [options]", word,
                        command->name, *command->arguments ? " " : "", command->arguments);
    p->out->word[p->out->words++] = word;
    return PGCN_OK;
}

static pgcn_status refuse_single_dash(const parser *p) {
    const char *word = p->argv[p->at], *name = p->command->name;
    return cli_fail(
        p->command, PGCN_ERR_ARGUMENT,
        "'%s' is no option, they begin with two dashes; pathgcn %s --help%s lists them, "
        "and ./%s is a file of that name",
        word, name, p->command->most_used ? " all" : "", word);
}

static bool is_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Takes --model auto out of the settings: it asks for a race of all networks. */
static void take_auto(const cli_command *command, cli_arguments *out) {
    const char *model = given_value(out, "model");
    int kept = 0;
    out->all_networks = command->races && model && strcmp(model, "auto") == 0;
    for (int i = 0; i < out->settings && out->all_networks; i++) {
        if (strcmp(out->key[i], "model") == 0) continue;
        out->key[kept] = out->key[i];
        out->value[kept++] = out->value[i];
    }
    if (out->all_networks) out->settings = kept;
}

/* The settings that a network has for any data, where it has a recipe for that. */
static void take_defaults(const char *network, pgcn_config *config) {
    pgcn_recipe_query query = pgcn_recipe_query_default();
    pgcn_config found;
    query.network = network;
    query.recipe = "default";
    if (config->model > 0 && pgcn_recipe_find(&query, &found, NULL) == PGCN_OK) *config = found;
}

/* One screen; with "all", or where nothing shorter is known, everything. After --model NAME everything that
 * the network takes. */
static pgcn_status show_help(const parser *p) {
    FILE *out = cli_help_stream ? cli_help_stream : stdout;
    pgcn_config config = pgcn_config_default();
    bool all = p->at + 1 < p->argc && strcmp(p->argv[p->at + 1], "all") == 0;
    if (!all && p->command->most_used && !cli_setting_given(p->out, "model")) {
        cli_write_short_help(out, p->command, p->options);
        return PGCN_OK;
    }
    take_auto(p->command, p->out);
    const char *model = given_value(p->out, "model");
    if (model && pgcn_config_set(&config, "model", model) != PGCN_OK)
        return cli_fail(p->command, PGCN_ERR_ARGUMENT, "--%s", pgcn_last_error());
    if (model) take_defaults(model, &config);
    cli_write_help(out, p->command, p->options, model ? &config : NULL);
    return PGCN_OK;
}

pgcn_status cli_parse(const cli_command *command, const cli_option *options, int argc, char **argv,
                      cli_arguments *out) {
    parser p = {.command = command, .options = options, .argc = argc, .argv = argv, .out = out};
    bool only_words = false; /* after "--" */
    *out = (cli_arguments){0};
    for (; p.at < argc; p.at++) {
        const char *word = argv[p.at];
        if (!only_words && strcmp(word, "--") == 0) {
            only_words = true;
        } else if (!only_words && is_help(word)) {
            out->help_shown = true;
            return show_help(&p);
        } else if (!only_words && strncmp(word, "--", 2) == 0) {
            CLI_TRY(parse_option(&p));
        } else if (!only_words && word[0] == '-' && word[1]) {
            return refuse_single_dash(&p);
        } else {
            CLI_TRY(parse_word(&p));
        }
    }
    take_auto(command, out);
    if (out->words < command->least_words)
        return cli_fail(command, PGCN_ERR_ARGUMENT, "%s is missing; usage: pathgcn %s %s [options]",
                        out->words ? "the second argument" : "the first argument", command->name,
                        command->arguments);
    return command->computes ? cli_report(command, pgcn_ready()) : PGCN_OK;
}

const char *cli_first_word(const cli_arguments *arguments) {
    return arguments->words > 0 ? arguments->word[0] : NULL;
}

pgcn_status cli_run_part(const cli_command *command, int argc, char **argv) {
    static const cli_option none[] = {CLI_OPTIONS_END};
    cli_arguments arguments;
    char hint[CLI_HINT_BYTES];
    cli_guess guess = cli_guess_start(argc > 0 ? argv[0] : "");
    for (int i = 0; argc > 0 && command->parts[i]; i++) {
        const char *name = strrchr(command->parts[i]->name, ' ') + 1;
        if (strcmp(argv[0], name) == 0) return command->parts[i]->run(argc - 1, argv + 1);
        cli_guess_offer(&guess, name);
    }
    pgcn_status status = cli_parse(command, none, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    cli_guess_hint(&guess, "", hint);
    return cli_fail(command, PGCN_ERR_ARGUMENT, "'%s' is not understood%s; usage: pathgcn %s %s",
                    argv[0], hint, command->name, command->arguments);
}

pgcn_status cli_apply(const cli_command *command, const cli_arguments *arguments,
                      pgcn_config *config) {
    for (int i = 0; i < arguments->settings; i++)
        if (pgcn_config_set(config, arguments->key[i], arguments->value[i]) != PGCN_OK)
            return cli_fail(command, PGCN_ERR_ARGUMENT, "--%s", pgcn_last_error());
    return PGCN_OK;
}

pgcn_status cli_overlay(const cli_command *command, const cli_arguments *arguments,
                        pgcn_config *config) {
    pgcn_config given = pgcn_config_default();
    CLI_TRY(cli_apply(command, arguments, &given));
    return cli_report(command, pgcn_config_overlay(config, &given));
}

pgcn_status cli_configure(const cli_command *command, const cli_arguments *arguments,
                          const pgcn_dataset *data, pgcn_config *config) {
    CLI_TRY(cli_overlay(command, arguments, config));
    return cli_report(command, pgcn_config_check_for(config, data));
}

/* "512M", "4G", "1.5T"; powers of 1024. */
static bool parse_bytes(const char *text, int64_t *out) {
    static const char units[] = "KMGT";
    char number[32];
    double value, size = 1;
    size_t length = strlen(text);
    const char *unit = length > 0 ? strchr(units, text[length - 1]) : NULL;
    if (length == 0 || length >= sizeof number) return false;
    for (const char *at = units; unit && at <= unit; at++) size *= 1024;
    snprintf(number, sizeof number, "%.*s", (int)(length - (unit != NULL)), text);
    if (!pgcn_number_parse(number, &value) || !(value > 0) || value * size > 1e15) return false;
    *out = (int64_t)(value * size);
    return true;
}

pgcn_status cli_memory(const cli_command *command, const char *text, int64_t *out) {
    if (!text || (parse_bytes(text, out) && *out >= 16 << 20)) return PGCN_OK;
    return cli_fail(command, PGCN_ERR_ARGUMENT,
                    "--memory is '%s', expected a size from 16M on, such as 512M or 4G "
                    "(MiB, GiB)",
                    text);
}

pgcn_status cli_number(const cli_command *command, const char *option, const char *text,
                       long long low, long long high, long long *out) {
    int64_t number;
    if (!pgcn_integer_parse(text, low, high, &number))
        return cli_fail(command, PGCN_ERR_ARGUMENT,
                        "--%s is '%s', expected a whole number from %lld to %lld", option, text,
                        low, high);
    *out = number;
    return PGCN_OK;
}

pgcn_status cli_check_seeds(const cli_command *command, uint64_t first, long long count) {
    if (first <= (uint64_t)PGCN_MAX_SEED - (uint64_t)(count - 1)) return PGCN_OK;
    return cli_fail(command, PGCN_ERR_ARGUMENT,
                    "--seed %llu leaves no room for %lld seeds up to %lld; choose a smaller one",
                    (unsigned long long)first, count, (long long)PGCN_MAX_SEED);
}

/* ---- help ------------------------------------------------------------------------------------------ */

typedef struct layout {
    int column, width; /* where explanations begin, and where lines end */
} layout;
static const layout full_layout = {36, 100}, short_layout = {24, 79};

/* "  --name value". A value of many words goes on in the next line after a " |". Returns the column. */
static int write_value(FILE *out, layout page, const char *name, const char *value) {
    enum { INDENT = 8 };
    int column = fprintf(out, "  --%s", name);
    for (const char *word = value ? value : ""; *word;) {
        const char *bar = strstr(word, " | ");
        int length = bar ? (int)(bar - word) + 2 : (int)strlen(word);
        if (word > value && column + 1 + length > page.width)
            column = fprintf(out, "\n%*s", INDENT, "") - 1;
        else
            column += fprintf(out, " ");
        column += fprintf(out, "%.*s", length, word);
        word += length;
        word += strspn(word, " ");
    }
    return column;
}

/* Words from the present column on, wrapped and indented. */
static void write_words(FILE *out, const char *text, int column, layout page) {
    for (const char *word = text; *word;) {
        int length = (int)strcspn(word, " ");
        if (word > text && column + 1 + length > page.width)
            column = fprintf(out, "\n%*s", page.column, "") - 1;
        else if (word > text)
            column += fprintf(out, " ");
        column += fprintf(out, "%.*s", length, word);
        word += length;
        word += strspn(word, " ");
    }
    fputc('\n', out);
}

/* "  --name value", then the explanation from a column of its own, wrapped. Two spaces or a line
 * break that follows no " |" end the value, which the completion of the shell relies on. */
static void write_line(FILE *out, layout page, const char *name, const char *value,
                       const char *help, const char *preset) {
    char text[512];
    snprintf(text, sizeof text, "%s%s%s%s", help, preset && *preset ? " [" : "",
             preset ? preset : "", preset && *preset ? "]" : "");
    int column = write_value(out, page, name, value);
    if (column > page.column - 2) {
        fputc('\n', out);
        column = 0;
    }
    column += fprintf(out, "%*s", page.column - column, "");
    write_words(out, text, column, page);
}

/* "of gin, gat: ": the networks that have a setting, where not all do. */
static void list_networks(const pgcn_field *field, char *out, size_t bytes) {
    pgcn_config config = pgcn_config_default();
    const char *name;
    size_t at = 0;
    *out = '\0';
    if (!field->own) return;
    for (config.model = 0; (name = pgcn_network_name(config.model)); config.model++)
        if (pgcn_config_uses(&config, field->key))
            at += (size_t)snprintf(out + at, bytes - at, "%s%s", at > 0 ? ", " : "of ", name);
    snprintf(out + at, bytes - at, ": ");
}

/* Whether the model refuses this word of a setting that it takes otherwise. */
static bool is_refused(const pgcn_config *model, const char *key, const char *word) {
    pgcn_config config = *model;
    return !pgcn_config_unused(model, NULL, key) &&
           pgcn_config_set(&config, key, word) == PGCN_OK &&
           pgcn_config_unused(&config, NULL, key) != NULL;
}

/* What a setting accepts; with a model, without the words that it refuses. False: one word is left, so that
 * there is nothing to set. */
static bool list_accepted(const pgcn_config *model, const pgcn_field *field, char *out,
                          size_t bytes) {
    char words[512], *rest = NULL;
    size_t at = 0;
    snprintf(out, bytes, "%s", field->accepts);
    if (!model || !strstr(field->accepts, " | ")) return true;
    snprintf(words, sizeof words, "%s", field->accepts);
    for (char *word = strtok_r(words, " |", &rest); word; word = strtok_r(NULL, " |", &rest))
        if (!is_refused(model, field->key, word))
            at += (size_t)snprintf(out + at, bytes - at, "%s%s", at > 0 ? " | " : "", word);
    return strstr(out, " | ") != NULL;
}

/* The settings of a group; with a model, those that it uses. A setting that the command has as an option of
 * its own is not shown twice. */
static void write_fields(FILE *out, const cli_command *command, const cli_option *options,
                         const pgcn_config *model, const char *group) {
    pgcn_config config = model ? *model : pgcn_config_default();
    pgcn_field field;
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        char preset[PGCN_SETTING_BYTES], help[512], networks[128], accepts[512];
        bool chooses = command->races && strcmp(field.key, "model") == 0;
        if (strcmp(field.group, group) != 0 || find_option(options, field.key, strlen(field.key)))
            continue;
        if (model && !pgcn_config_uses(model, field.key)) continue;
        if (!list_accepted(model, &field, accepts, sizeof accepts)) continue;
        list_networks(&field, networks, sizeof networks);
        snprintf(help, sizeof help, "%s%s%s", model ? "" : networks, field.help,
                 chooses ? "; auto: the one that wins a race on validation" : "");
        if (chooses) strcat(accepts, " | auto");
        pgcn_config_get(&config, field.key, preset, sizeof preset);
        write_line(out, full_layout, field.key, accepts, help, preset);
    }
}

static void write_networks(FILE *out) {
    for (int i = 0; pgcn_network_name(i); i++)
        fprintf(out, "  %-12s%s\n", pgcn_network_name(i), pgcn_network_about(i));
}

static void write_parts(FILE *out, const cli_command *command) {
    if (command->parts) fprintf(out, "\nParts, each with its own --help:\n");
    for (int i = 0; command->parts && command->parts[i]; i++)
        fprintf(out, "  %-18s%s\n", command->parts[i]->name, command->parts[i]->summary);
}

void cli_write_help(FILE *out, const cli_command *command, const cli_option *options,
                    const pgcn_config *model) {
    fprintf(out, "pathgcn %s: %s\n\nUsage: pathgcn %s%s%s [options]\n\n%s\n", command->name,
            command->summary, command->name, *command->arguments ? " " : "", command->arguments,
            command->text);
    write_parts(out, command);
    fprintf(out, "\nExamples:\n%s\nOptions (default in brackets):\n", command->examples);
    for (const cli_option *option = options; option->name; option++)
        write_line(out, full_layout, option->name, option->value, option->help, option->preset);
    if (command->most_used)
        write_line(out, full_layout, "help", "[all]", "one screen; all: this text", NULL);
    else
        write_line(out, full_layout, "help", NULL, "this text", NULL);
    for (int i = 0; i < GROUPS; i++) {
        if (!(command->config_groups & (unsigned)groups[i].group)) continue;
        fprintf(out, "\n%s%s%s%s:\n", groups[i].title, model ? " of --model " : "",
                model ? pgcn_network_name(model->model) : "",
                model && model->model > 0 ? " (in brackets: what it has for any graph)" : "");
        write_fields(out, command, options, model, groups[i].name);
    }
    if (command->config_groups & CLI_GROUP_MODEL) {
        fprintf(out, "\nNetworks (--model NAME --help shows what each takes):\n");
        write_networks(out);
    }
}

/* ---- short help ------------------------------------------------------------------------------------ */

static void write_most_used(FILE *out, const cli_command *command, const cli_option *options) {
    for (const cli_brief *brief = command->most_used; brief->name; brief++) {
        size_t length = strlen(brief->name);
        const cli_option *option = find_option(options, brief->name, length);
        pgcn_field field = {0};
        bool found = option || find_field(command, brief->name, length, &field);
        assert(found && "the table of the short help names an option that does not exist");
        if (!found) continue;
        const char *value = brief->value ? brief->value : option ? option->value : field.accepts;
        const char *help = brief->help ? brief->help : option ? option->help : field.help;
        write_line(out, short_layout, brief->name, value, help,
                   option && !brief->help ? option->preset : NULL);
    }
}

/* The length of the first `lines` lines. */
static int length_of_lines(const char *text, int lines) {
    const char *end = text;
    for (; lines > 0 && *end; lines--) end += strcspn(end, "\n") + 1;
    return (int)(end - text);
}

void cli_write_short_help(FILE *out, const cli_command *command, const cli_option *options) {
    enum { EXAMPLES = 3, USAGE_COLUMN = 7 };
    char usage[512];
    fprintf(out, "pathgcn %s: %s\n", command->name, command->summary);
    snprintf(usage, sizeof usage, "Usage: pathgcn %s %s [options]", command->name,
             command->arguments);
    write_words(out, usage, 0, (layout){USAGE_COLUMN, short_layout.width});
    if (command->brief) fprintf(out, "%s\n", command->brief);
    write_parts(out, command);
    fputc('\n', out);
    write_most_used(out, command, options);
    write_line(out, short_layout, "help", "all", "everything: all options, files, explanations",
               NULL);
    fprintf(out, "\nExamples:\n%.*s", length_of_lines(command->examples, EXAMPLES),
            command->examples);
}
