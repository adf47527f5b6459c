/* Where a data set comes from, for every command that reads one: a name or path, or the user's own
 * files by --edges, --features, --labels and --splits, with --prepare and --data. A training run leaves
 * this in data.json, so that eval and predict find the data again. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The fields of a source by their options, as data.json keeps them. */
static const struct {
    const char *key;
    size_t offset;
    bool is_path, of_files; /* of_files: of use with --edges only */
} fields[] = {
    {"data", offsetof(cli_source, data_dir), true, false},
    {"prepare", offsetof(cli_source, steps), false, false},
    {"edges", offsetof(cli_source, edges), true, false},
    {"features", offsetof(cli_source, features), true, true},
    {"labels", offsetof(cli_source, labels), true, true},
    {"splits", offsetof(cli_source, splits), true, true},
    {"name", offsetof(cli_source, name), false, true},
    {"header", offsetof(cli_source, header), false, false},
    {"unknown-ids", offsetof(cli_source, unknown_ids), false, true},
    {"id", offsetof(cli_source, id), false, true},
    {"from", offsetof(cli_source, from), false, true},
    {"to", offsetof(cli_source, to), false, true},
    {"weight", offsetof(cli_source, weight), false, true},
    {"label", offsetof(cli_source, label), false, true},
    {"use", offsetof(cli_source, use), false, true},
    {"ignore", offsetof(cli_source, ignore), false, true},
    {"decimal", offsetof(cli_source, decimal), false, true},
    {"encode", offsetof(cli_source, encode), false, true},
    {"encode-from", offsetof(cli_source, encode_from), false, true},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static const char **field_of(cli_source *source, int i) {
    return (const char **)(void *)((char *)source + fields[i].offset);
}

/* ---- loading ---------------------------------------------------------------------------------- */

/* The values of --header and --unknown-ids, by what the library calls them. */
static const char *const header_words[] = {
    [PGCN_HEADER_AUTO] = "auto", [PGCN_HEADER_YES] = "yes", [PGCN_HEADER_NO] = "no"};
static const char *const unknown_words[] = {
    [PGCN_UNKNOWN_REFUSE] = "refuse", [PGCN_UNKNOWN_KEEP] = "keep"};
static const char *const decimal_words[] = {
    [PGCN_DECIMAL_AUTO] = "auto", [PGCN_DECIMAL_POINT] = "point", [PGCN_DECIMAL_COMMA] = "comma"};
static const char *const encode_words[] = {"yes", "no"};
static const char *const encode_from_words[] = {
    [PGCN_ENCODE_ALL] = "all", [PGCN_ENCODE_TRAIN] = "train"};
enum {
    HEADER_WORDS = sizeof header_words / sizeof *header_words,
    UNKNOWN_WORDS = sizeof unknown_words / sizeof *unknown_words,
    DECIMAL_WORDS = sizeof decimal_words / sizeof *decimal_words,
    ENCODE_WORDS = sizeof encode_words / sizeof *encode_words
};

/* The index of a word in a table; 0, the default, where none is given, and -1 if it is not in the
 * table. */
static int word_index(const char *word, const char *const *words, int count) {
    for (int i = 0; word && i < count; i++)
        if (strcmp(word, words[i]) == 0) return i;
    return word ? -1 : 0;
}

/* What --header says: of all files, and of single ones, which may be as all (auto). */
typedef struct headers {
    pgcn_header all, edges, features, labels, splits;
} headers;

/* "yes", "labels=no,edges=yes", or "yes,labels=no". False if it is none of these. */
static bool read_headers(const char *text, headers *out) {
    const struct {
        const char *prefix;
        pgcn_header *header;
    } files[] = {{"edges=", &out->edges},
                 {"features=", &out->features},
                 {"labels=", &out->labels},
                 {"splits=", &out->splits},
                 {"", &out->all}};
    *out = (headers){PGCN_HEADER_AUTO, PGCN_HEADER_AUTO, PGCN_HEADER_AUTO, PGCN_HEADER_AUTO,
                     PGCN_HEADER_AUTO};
    while (text) {
        const char *comma = strchr(text, ',');
        char word[32];
        int i = 0, length = comma ? (int)(comma - text) : (int)strlen(text);
        if (length >= (int)sizeof word) return false;
        snprintf(word, sizeof word, "%.*s", length, text);
        while (strncmp(word, files[i].prefix, strlen(files[i].prefix)) != 0) i++;
        int header = word_index(word + strlen(files[i].prefix), header_words, HEADER_WORDS);
        if (header < 0) return false;
        *files[i].header = (pgcn_header)header;
        text = comma ? comma + 1 : NULL;
    }
    return true;
}

static pgcn_encode encode_of(const cli_source *source) {
    if (word_index(source->encode, encode_words, ENCODE_WORDS) == 1) return PGCN_ENCODE_NO;
    return (pgcn_encode)word_index(source->encode_from, encode_from_words, ENCODE_WORDS);
}

static pgcn_dataset_files files_of(const cli_source *source) {
    pgcn_dataset_files files = pgcn_dataset_files_default();
    files.name = source->name;
    files.edges = source->edges;
    files.features = source->features;
    files.labels = source->labels;
    files.splits = source->splits;
    files.steps = source->steps;
    headers given;
    read_headers(source->header, &given); /* checked before */
    files.header = given.all;
    files.header_edges = given.edges;
    files.header_features = given.features;
    files.header_labels = given.labels;
    files.header_splits = given.splits;
    files.unknown_ids =
        (pgcn_unknown_ids)word_index(source->unknown_ids, unknown_words, UNKNOWN_WORDS);
    files.id = source->id;
    files.from = source->from;
    files.to = source->to;
    files.weight = source->weight;
    files.label = source->label;
    files.use = source->use;
    files.ignore = source->ignore;
    files.decimal = (pgcn_decimal)word_index(source->decimal, decimal_words, DECIMAL_WORDS);
    files.encode = encode_of(source);
    files.encoder = source->encoder;
    return files;
}

static pgcn_dataset_opts opts_of(const cli_source *source) {
    headers given;
    read_headers(source->header, &given);
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.data_dir = source->data_dir;
    opts.steps = source->steps;
    opts.header = given.edges == PGCN_HEADER_AUTO ? given.all : given.edges;
    opts.memory = source->memory;
    return opts;
}

pgcn_status cli_source_load(const char *name, const cli_source *source, pgcn_dataset **out) {
    pgcn_dataset_files files = files_of(source);
    pgcn_dataset_opts opts = opts_of(source);
    return source->edges ? pgcn_dataset_from_files(&files, out)
                         : pgcn_dataset_load(name, &opts, out);
}

/* A container is mapped at once, and what cannot be copied from it is known by its length. */
pgcn_status cli_check_fits(const cli_command *command, const char *what, const char *name,
                           const cli_source *source, const char *advice) {
    struct stat about;
    int64_t available = pgcn_memory_available();
    char needed[32], free_bytes[32];
    if (source->memory > 0 || !name || !cli_ends_in(name, ".pgcn") || stat(name, &about) != 0 ||
        available < 0 || (int64_t)about.st_size <= available)
        return PGCN_OK;
    pgcn_format_bytes((int64_t)about.st_size, needed);
    pgcn_format_bytes(available, free_bytes);
    return cli_fail(command, PGCN_ERR_MEMORY,
                    "%s %s in memory needs more than %s in all, and %s are available; "
                    "if its features are dense, --memory %lldM %s",
                    what, name, needed, free_bytes, (long long)(available / 2 >> 20), advice);
}

pgcn_status cli_estimate(const cli_command *command, const char *name, const cli_source *source,
                         int64_t *bytes) {
    pgcn_dataset_files files = files_of(source);
    pgcn_dataset_opts opts = opts_of(source);
    CLI_TRY(cli_source_check(command, name, source));
    return cli_report(command, source->edges ? pgcn_dataset_estimate(NULL, NULL, &files, bytes)
                                             : pgcn_dataset_estimate(name, &opts, NULL, bytes));
}

/* An option that is of use with --edges only; NULL: none is given. */
static const char *lonely_option(const cli_source *source) {
    cli_source given = *source;
    for (int i = 0; i < FIELDS; i++)
        if (fields[i].of_files && *field_of(&given, i)) return fields[i].key;
    return NULL;
}

/* Options whose value is one of a few words. */
static pgcn_status check_words(const cli_command *command, const cli_source *source) {
    const struct {
        const char *key, *value;
        const char *const *words;
        int count;
        const char *expected;
    } options[] = {
        {"unknown-ids", source->unknown_ids, unknown_words, UNKNOWN_WORDS, "refuse or keep"},
        {"decimal", source->decimal, decimal_words, DECIMAL_WORDS, "auto, point or comma"},
        {"encode", source->encode, encode_words, ENCODE_WORDS, "yes or no"},
        {"encode-from", source->encode_from, encode_from_words, ENCODE_WORDS, "all or train"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (word_index(options[i].value, options[i].words, options[i].count) < 0)
            return cli_fail(command, PGCN_ERR_ARGUMENT, "--%s is '%s', expected %s", options[i].key,
                            options[i].value, options[i].expected);
    headers given;
    if (read_headers(source->header, &given)) return PGCN_OK;
    return cli_fail(command, PGCN_ERR_ARGUMENT,
                    "--header is '%s', expected auto, yes or no, for all files or for single ones: "
                    "features=yes,labels=no",
                    source->header);
}

pgcn_status cli_source_check(const cli_command *command, const char *name,
                             const cli_source *source) {
    const pgcn_status wrong = PGCN_ERR_ARGUMENT;
    const char *lonely = lonely_option(source);
    if (name && source->edges)
        return cli_fail(command, wrong,
                        "give a data set ('%s') or your own files (--edges), not both", name);
    if (!source->edges && lonely)
        return cli_fail(command, wrong, "--%s belongs to --edges, which is missing", lonely);
    if (!name && !source->edges)
        return cli_fail(command, wrong,
                        "there is no data set: name one, or give your own files with --edges; "
                        "pathgcn data list shows names");
    CLI_TRY(check_words(command, source));
    if (name && !*name)
        return cli_fail(command, wrong,
                        "the name of the data set is empty; pathgcn data list shows names");
    return PGCN_OK;
}

pgcn_status cli_load_dataset(const cli_command *command, const char *name, const cli_source *source,
                             const char *advice, pgcn_dataset **out) {
    *out = NULL;
    CLI_TRY(cli_source_check(command, name, source));
    pgcn_status status = cli_source_load(name, source, out);
    return status == PGCN_OK ? PGCN_OK
                             : cli_fail(command, status, "%s%s", pgcn_last_error(), advice);
}

void cli_source_follow(const pgcn_model *model, cli_source *source) {
    source->encoder = pgcn_model_encoder(model);
    if (source->edges && !source->encoder && !source->encode) source->encode = "no";
}

void cli_print_notes(FILE *out, const pgcn_dataset *data) {
    const char *note;
    for (int i = 0; (note = pgcn_dataset_note(data, i)); i++) {
        fputs("note: ", out);
        cli_put_wrapped(out, note, 6);
    }
}

/* ---- recipes ---------------------------------------------------------------------------------- */

bool cli_is_auto(const char *recipe) {
    return recipe && strcmp(recipe, "auto") == 0;
}

bool cli_is_usual(const char *recipe) {
    return recipe && strcmp(recipe, "usual") == 0;
}

bool cli_is_general(const pgcn_recipe_info *recipe) {
    return recipe->version == 0 || strcmp(recipe->dataset, "any") == 0;
}

/* The options over the defaults. Mistakes in them were reported before. */
static pgcn_config given_settings(const cli_arguments *arguments) {
    pgcn_config config = pgcn_config_default();
    for (int i = 0; i < arguments->settings; i++)
        pgcn_config_set(&config, arguments->key[i], arguments->value[i]);
    return config;
}

bool cli_names_network(const cli_arguments *arguments) {
    return given_settings(arguments).model > 0;
}

pgcn_status cli_check_race(const cli_command *command, const cli_arguments *arguments,
                           const char *recipe) {
    if (arguments->all_networks && recipe && !cli_is_auto(recipe))
        return cli_fail(
            command, PGCN_ERR_ARGUMENT,
            "--model auto races the recipes of all networks and --recipe is '%s'; leave "
            "out one of the two",
            recipe);
    if (!cli_is_auto(recipe) || !cli_names_network(arguments)) return PGCN_OK;
    return cli_fail(command, PGCN_ERR_ARGUMENT,
                    "--recipe auto is the race of pathgcn's families and --model is %s; leave out "
                    "--recipe for the recipe of that network, or give --model auto to race all "
                    "networks",
                    pgcn_network_name(given_settings(arguments).model));
}

pgcn_status cli_find_recipe(const cli_command *command, const cli_arguments *arguments,
                            const char *recipe, const pgcn_dataset *data, pgcn_config *out,
                            pgcn_recipe_info *info) {
    pgcn_config given = given_settings(arguments);
    pgcn_recipe_query query = pgcn_recipe_query_default();
    query.recipe = cli_is_usual(recipe) ? NULL : recipe;
    query.data = data;
    if (cli_is_given(arguments, "model")) query.network = pgcn_network_name(given.model);
    if (cli_is_given(arguments, "split")) query.split = given.split;
    if (cli_is_given(arguments, "layers")) query.layers = given.layers;
    return cli_report(command, pgcn_recipe_find(&query, out, info));
}

pgcn_status cli_new_race(const cli_command *command, const cli_arguments *arguments,
                         const pgcn_dataset *data, const pgcn_config *given, pgcn_race **out) {
    pgcn_race_opts opts = pgcn_race_opts_default();
    opts.all_networks = arguments->all_networks;
    return cli_report(command, pgcn_race_new_with(data, given, &opts, out));
}

/* ---- data.json -------------------------------------------------------------------------------- */

static bool exists(const char *path) {
    struct stat about;
    return stat(path, &about) == 0;
}

/* The absolute form of a path, with the steps after its colon. What is no path (a built-in set, a
 * name in the data directory) stays as it is. The caller frees it. */
static char *absolute_one(const char *path) {
    const char *colon = strrchr(path, ':');
    char *base = colon ? strndup(path, (size_t)(colon - path)) : NULL;
    bool relative = path[0] != '/' && (exists(path) || (base && *base && exists(base)));
    char *here = relative ? getcwd(NULL, 0) : NULL, *joined = NULL;
    free(base);
    size_t bytes = here ? strlen(here) + strlen(path) + 2 : 0;
    if (here && (joined = malloc(bytes))) snprintf(joined, bytes, "%s/%s", here, path);
    free(here);
    return joined ? joined : strdup(path);
}

/* The same of several files with commas between them, as --edges may be. */
static char *absolute(const char *path) {
    const char *comma = path && !exists(path) ? strchr(path, ',') : NULL;
    if (!path) return NULL;
    if (!comma) return absolute_one(path);
    char *name = strndup(path, (size_t)(comma - path));
    char *first = name ? absolute_one(name) : NULL, *rest = absolute(comma + 1);
    size_t bytes = first && rest ? strlen(first) + strlen(rest) + 2 : 0;
    char *joined = bytes ? malloc(bytes) : NULL;
    if (joined) snprintf(joined, bytes, "%s,%s", first, rest);
    free(name);
    free(first);
    free(rest);
    return joined ? joined : strdup(path);
}

static void put_text(json_t *object, const char *key, const char *value, bool is_path) {
    char *text = is_path ? absolute(value) : NULL;
    const char *kept = is_path ? text : value;
    if (kept) json_object_set_new(object, key, json_string(kept));
    free(text);
}

pgcn_status cli_source_write(const cli_command *command, const char *directory, const char *dataset,
                             const cli_source *source) {
    char path[4096];
    cli_source given = *source;
    if (!given.data_dir && dataset) given.data_dir = getenv("PATHGCN_DATA");
    if ((size_t)snprintf(path, sizeof path, "%s/data.json", directory) >= sizeof path)
        return PGCN_OK;
    json_t *object = json_object();
    put_text(object, "dataset", dataset, true);
    for (int i = 0; i < FIELDS; i++)
        put_text(object, fields[i].key, *field_of(&given, i), fields[i].is_path);
    pgcn_status status = cli_write_json(command, path, object, JSON_INDENT(2));
    json_decref(object);
    return status;
}

/* data.json beside a model file. */
static json_t *find_record(const char *model) {
    const char *slash = strrchr(model, '/');
    char path[4096];
    int length = slash ? (int)(slash - model) + 1 : 0;
    if ((size_t)snprintf(path, sizeof path, "%.*sdata.json", length, model) >= sizeof path)
        return NULL;
    char found[CLI_PATH_BYTES];
    cli_run_file(path, found);
    json_t *record = json_load_file(found, 0, NULL);
    if (json_is_object(record)) return record;
    json_decref(record);
    return NULL;
}

void cli_source_print(FILE *out, const char *dataset, const cli_source *source) {
    cli_source given = *source;
    if (dataset) {
        fputc(' ', out);
        cli_print_quoted(out, dataset);
    }
    for (int i = 0; i < FIELDS; i++) {
        const char *value = *field_of(&given, i);
        if (!value) continue;
        fprintf(out, " --%s ", fields[i].key);
        cli_print_quoted(out, value);
    }
}

json_t *cli_source_recall(const char *model, const char **dataset, cli_source *source) {
    json_t *record = find_record(model);
    if (!record) return NULL;
    *dataset = json_string_value(json_object_get(record, "dataset"));
    for (int i = 0; i < FIELDS; i++)
        if (!*field_of(source, i)) /* what the command line gives comes first */
            *field_of(source, i) = json_string_value(json_object_get(record, fields[i].key));
    if (*dataset || source->edges) return record;
    json_decref(record);
    return NULL;
}

/* ---- class weights ------------------------------------------------------------------------------ */

/* The value of --class-weights among the settings; NULL: it is not given. */
static const char **weights_given(cli_arguments *arguments) {
    for (int i = 0; i < arguments->settings; i++)
        if (strcmp(arguments->key[i], "class-weights") == 0) return &arguments->value[i];
    return NULL;
}

void cli_weights_defer(cli_arguments *arguments, cli_weights *weights) {
    const char **value = weights_given(arguments);
    pgcn_config tried = pgcn_config_default();
    weights->file = NULL;
    if (!value || pgcn_config_set(&tried, "class-weights", *value) == PGCN_OK ||
        access(*value, F_OK) != 0)
        return; /* neither a valid value nor a file: the setting refuses it */
    weights->file = *value;
    *value = "balanced";
}

pgcn_status cli_weights_read(const cli_command *command, const cli_source *source,
                             const pgcn_dataset *data, cli_arguments *arguments,
                             cli_weights *weights) {
    headers given;
    if (!weights->file) return PGCN_OK;
    read_headers(source->header, &given);
    CLI_TRY(cli_report(command,
                       pgcn_class_weights_read(weights->file, data, given.all, weights->text)));
    *weights_given(arguments) = weights->text;
    return PGCN_OK;
}
