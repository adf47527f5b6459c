/* Where a data set comes from, for every command that reads one: a name or path, or the user's own
 * files by --edges, --features, --labels and --splits, with --prepare and --data. A training run leaves
 * this in data.json, so that eval and predict find the data again. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- loading ---------------------------------------------------------------------------------- */

static const char *const header_words[] = {"auto", "yes", "no"}; /* as pgcn_header counts */
static const char *const unknown_words[] = {"refuse", "keep"};   /* as pgcn_unknown_ids */

/* The place of a word; 0 where there is none, and -1 if it is another one. */
static int word_number(const char *word, const char *const *words, int count) {
    for (int i = 0; word && i < count; i++)
        if (strcmp(word, words[i]) == 0) return i;
    return word ? -1 : 0;
}

static pgcn_status load(const char *name, const cli_source *source, pgcn_dataset **out) {
    pgcn_header header = (pgcn_header)word_number(source->header, header_words, 3);
    if (source->edges) {
        pgcn_dataset_files files = pgcn_dataset_files_default();
        files.name = source->name;
        files.edges = source->edges;
        files.features = source->features;
        files.labels = source->labels;
        files.splits = source->splits;
        files.steps = source->steps;
        files.header = header;
        files.unknown_ids = (pgcn_unknown_ids)word_number(source->unknown_ids, unknown_words, 2);
        return pgcn_dataset_from_files(&files, out);
    }
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.data_dir = source->data_dir;
    opts.steps = source->steps;
    opts.header = header;
    return pgcn_dataset_load(name, &opts, out);
}

bool cli_source_check(const cli_command *command, const char *name, const cli_source *source) {
    const char *lonely = source->features      ? "features"
                         : source->labels      ? "labels"
                         : source->splits      ? "splits"
                         : source->name        ? "name"
                         : source->unknown_ids ? "unknown-ids"
                                               : NULL;
    if (name && source->edges)
        cli_complain(command, "give a data set ('%s') or your own files (--edges), not both", name);
    else if (!source->edges && lonely)
        cli_complain(command, "--%s belongs to --edges, which is missing", lonely);
    else if (!name && !source->edges)
        cli_complain(command,
                     "there is no data set: name one, or give your own files with --edges; "
                     "pathgcn data list shows names");
    else if (word_number(source->header, header_words, 3) < 0)
        cli_complain(command, "--header is '%s', expected auto, yes or no", source->header);
    else if (word_number(source->unknown_ids, unknown_words, 2) < 0)
        cli_complain(command, "--unknown-ids is '%s', expected refuse or keep",
                     source->unknown_ids);
    else if (name && !*name)
        cli_complain(command, "the name of the data set is empty; pathgcn data list shows names");
    else
        return true;
    return false;
}

int cli_load_dataset(const cli_command *command, const char *name, const cli_source *source,
                     const char *advice, pgcn_dataset **out) {
    if (!cli_source_check(command, name, source)) return EXIT_USAGE;
    pgcn_status status = load(name, source, out);
    if (status == PGCN_OK) return -1;
    cli_complain(command, "%s%s", pgcn_last_error(), advice);
    return status == PGCN_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

void cli_print_notes(FILE *out, const pgcn_dataset *data) {
    const char *note;
    for (int i = 0; (note = pgcn_dataset_note(data, i)); i++) fprintf(out, "note: %s\n", note);
}

/* ---- data.json -------------------------------------------------------------------------------- */

static bool exists(const char *path) {
    struct stat about;
    return stat(path, &about) == 0;
}

/* A path that still leads there from another directory. What is no path (a built-in set, a name in the
 * data directory) stays as it is. Steps after a colon go along. The caller's to free. */
static char *absolute(const char *path) {
    if (!path) return NULL;
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

static const struct {
    const char *key;
    size_t place;
    bool is_path;
} fields[] = {
    {"data", offsetof(cli_source, data_dir), true},
    {"prepare", offsetof(cli_source, steps), false},
    {"edges", offsetof(cli_source, edges), true},
    {"features", offsetof(cli_source, features), true},
    {"labels", offsetof(cli_source, labels), true},
    {"splits", offsetof(cli_source, splits), true},
    {"name", offsetof(cli_source, name), false},
    {"header", offsetof(cli_source, header), false},
    {"unknown-ids", offsetof(cli_source, unknown_ids), false},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static const char **field_of(cli_source *source, int i) {
    return (const char **)(void *)((char *)source + fields[i].place);
}

static void put_text(json_t *object, const char *key, const char *value, bool is_path) {
    char *text = is_path ? absolute(value) : NULL;
    const char *kept = is_path ? text : value;
    if (kept) json_object_set_new(object, key, json_string(kept));
    free(text);
}

bool cli_source_write(const cli_command *command, const char *directory, const char *dataset,
                      const cli_source *source) {
    char path[4096];
    cli_source given = *source;
    if (!given.data_dir && dataset) given.data_dir = getenv("PATHGCN_DATA");
    if ((size_t)snprintf(path, sizeof path, "%s/data.json", directory) >= sizeof path) return true;
    json_t *object = json_object();
    put_text(object, "dataset", dataset, true);
    for (int i = 0; i < FIELDS; i++)
        put_text(object, fields[i].key, *field_of(&given, i), fields[i].is_path);
    char *text = json_dumps(object, JSON_INDENT(2));
    json_decref(object);
    pgcn_status status = text ? pgcn_file_write(path, text, strlen(text)) : PGCN_ERR_MEMORY;
    free(text);
    if (status != PGCN_OK) cli_complain(command, "%s", pgcn_last_error());
    return status == PGCN_OK;
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

/* Where the value of --class-weights stands among the settings; NULL: it is not given. */
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
        return; /* what is neither is refused by the setting */
    weights->file = *value;
    *value = "balanced";
}

int cli_weights_read(const cli_command *command, const cli_source *source, const pgcn_dataset *data,
                     cli_arguments *arguments, cli_weights *weights) {
    pgcn_header header = (pgcn_header)word_number(source->header, header_words, 3);
    if (!weights->file) return -1;
    pgcn_status status = pgcn_class_weights_read(weights->file, data, header, weights->text);
    if (status != PGCN_OK) return cli_failed(command, status);
    *weights_given(arguments) = weights->text;
    return -1;
}
