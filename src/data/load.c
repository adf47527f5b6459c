/* Loads a data set by name, by path or from the user's own files: finds the reader, parses the
 * steps and builds the data set. The error for an unknown name lists the known ones. Public
 * functions. Serial, thread-safe. */
#include "data/data.h"
#include "data/id_map.h"
#include "data/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- from the user's own files ----------------------------------------------------------- */

pgcn_dataset_files pgcn_dataset_files_default(void) {
    return (pgcn_dataset_files){.size = sizeof(pgcn_dataset_files)};
}

/* The last part of a path; if cut_endings, without endings like ".csv.gz". */
static void name_of(const char *path, bool cut_endings, char *out, size_t bytes) {
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/') begin--;
    if (cut_endings) {
        const char *dot = memchr(path + begin + 1, '.', end > begin ? end - begin - 1 : 0);
        if (dot) end = (size_t)(dot - path);
    }
    snprintf(out, bytes, "%.*s", (int)(end - begin), path + begin);
}

static pgcn_status check_header(pgcn_header header) {
    if (header >= PGCN_HEADER_AUTO && header <= PGCN_HEADER_NO) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "header is number %d, expected a pgcn_header",
                       (int)header);
}

/* What is given must be known, and belong to a file that is given. */
static pgcn_status check_files(const pgcn_dataset_files *set) {
    const struct {
        const char *option, *given, *file, *what;
    } columns[] = {{"use", set->use, set->features, "features"},
                   {"ignore", set->ignore, set->features, "features"},
                   {"label", set->label, set->labels, "labels"}};
    const struct {
        pgcn_header given;
        const char *file, *what;
    } headers[] = {{set->header, set->edges, "edges"},
                   {set->header_edges, set->edges, "edges"},
                   {set->header_features, set->features, "features"},
                   {set->header_labels, set->labels, "labels"},
                   {set->header_splits, set->splits, "splits"}};
    for (int i = 0; i < 5; i++) {
        PGCN_TRY(check_header(headers[i].given));
        if (headers[i].given != PGCN_HEADER_AUTO && !headers[i].file)
            return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                               "--header says what the first line of the %s is, which are not "
                               "given; add --%s",
                               headers[i].what, headers[i].what);
    }
    if (set->unknown_ids != PGCN_UNKNOWN_REFUSE && set->unknown_ids != PGCN_UNKNOWN_KEEP)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "unknown_ids is number %d, expected a pgcn_unknown_ids",
                           (int)set->unknown_ids);
    if (set->encode < PGCN_ENCODE_ALL || set->encode > PGCN_ENCODE_NO)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "encode is number %d, expected a pgcn_encode",
                           (int)set->encode);
    if (set->decimal < PGCN_DECIMAL_AUTO || set->decimal > PGCN_DECIMAL_COMMA)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "decimal is number %d, expected a pgcn_decimal",
                           (int)set->decimal);
    for (int i = 0; i < 3; i++)
        if (columns[i].given && !columns[i].file)
            return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                               "--%s names columns of the %s, which are not given; add --%s",
                               columns[i].option, columns[i].what, columns[i].what);
    return PGCN_OK;
}

static pgcn_header header_of(const pgcn_dataset_files *set, pgcn_header of_file) {
    return of_file == PGCN_HEADER_AUTO ? set->header : of_file;
}

/* What the files were read from, for pgcn_i_kept_find(); "" where nothing is kept. */
static pgcn_status key_of_files(const pgcn_dataset_files *set, const pgcn_i_id_map *learn_from,
                                pgcn_i_text_list *key) {
    const char *const file[] = {set->features, set->labels, set->splits};
    const char *const option[] = {set->edges,  set->id,    set->from, set->to,
                                  set->weight, set->label, set->use,  set->ignore};
    if (!pgcn_i_spool_is_on() || learn_from || set->encoder) return PGCN_OK;
    for (size_t i = 0; i < sizeof option / sizeof *option; i++)
        PGCN_TRY(pgcn_i_text_list_add(key, "%s|", option[i] ? option[i] : ""));
    PGCN_TRY(pgcn_i_text_list_add(key, "%d %d %d %d %d %d %d %d|", (int)set->header,
                                  (int)set->header_edges, (int)set->header_features,
                                  (int)set->header_labels, (int)set->header_splits,
                                  (int)set->unknown_ids, (int)set->decimal, (int)set->encode));
    PGCN_TRY(pgcn_i_kept_add_files(key, set->edges));
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        if (file[i]) PGCN_TRY(pgcn_i_kept_add_files(key, file[i]));
    return PGCN_OK;
}

/* Reads the files; rules for the features are learnt from the rows of these ids, or of all. */
static pgcn_status read_files(const pgcn_dataset_files *set, const pgcn_i_steps *steps,
                              const pgcn_i_id_map *learn_from, pgcn_dataset **out) {
    char name[PGCN_I_PATH_BYTES];
    if (set->name)
        snprintf(name, sizeof name, "%s", set->name);
    else
        name_of(set->edges, true, name, sizeof name);
    pgcn_i_steps_name(steps, ":", name, sizeof name);
    pgcn_i_own_files own = {
        .edges = set->edges,
        .features = set->features,
        .labels = set->labels,
        .splits = set->splits,
        .header = {[PGCN_I_ROLE_EDGES] = header_of(set, set->header_edges),
                   [PGCN_I_ROLE_FEATURES] = header_of(set, set->header_features),
                   [PGCN_I_ROLE_LABELS] = header_of(set, set->header_labels),
                   [PGCN_I_ROLE_SPLITS] = header_of(set, set->header_splits)},
        .unknown_ids = set->unknown_ids,
        .id = set->id,
        .from = set->from,
        .to = set->to,
        .weight = set->weight,
        .label = set->label,
        .use = set->use,
        .ignore = set->ignore,
        .decimal = set->decimal,
        .encode = set->encode,
        .encoder = set->encoder,
        .learn_from = learn_from};
    pgcn_i_source source = {0};
    bool kept = false;
    pgcn_i_text_list key = {0};
    pgcn_status status;
    PGCN_TRY_GOTO(key_of_files(set, learn_from, &key));
    PGCN_TRY_GOTO(pgcn_i_kept_find(key.text, &source, &kept));
    if (!kept) PGCN_TRY_GOTO(pgcn_i_own_files_read(&own, &source));
    if (!kept) PGCN_TRY_GOTO(pgcn_i_kept_save(&source));
    pgcn_i_text_list_free(&key);
    return pgcn_i_dataset_build(name, set->edges, steps, &source, out);
fail:
    pgcn_i_text_list_free(&key);
    pgcn_i_source_free(&source);
    return status;
}

/* The ids of the training nodes of the only split. */
static pgcn_status list_training_ids(const pgcn_dataset *data, pgcn_i_id_map *ids) {
    if (data->splits == 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "--encode-from train needs to know the training nodes, and data set %s "
                           "has no split, since too few labels are known; leave it out",
                           data->name);
    if (data->splits > 1)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "--encode-from train needs to know the training nodes, and data set %s "
                           "has %d splits; choose one by --prepare only-split=0, and the like",
                           data->name, data->splits);
    for (int64_t i = 0; i < data->graph->n; i++) {
        char number[24];
        int64_t added;
        const char *id = pgcn_dataset_node_id(data, i);
        const pgcn_node *before = data->from.number;
        if (!data->split[0].train[i]) continue;
        snprintf(number, sizeof number, "%lld", (long long)(before ? before[i] : i));
        PGCN_TRY(pgcn_i_id_map_add(ids, id ? id : number, &added));
    }
    return PGCN_OK;
}

/* Splits are made after the files are read: they are read once for the split, and once more. */
static pgcn_status read_by_training(const pgcn_dataset_files *set, const pgcn_i_steps *steps,
                                    pgcn_dataset **out) {
    pgcn_dataset *first;
    pgcn_i_id_map ids = {0};
    PGCN_TRY(read_files(set, steps, NULL, &first));
    if (!first->from.encoder) { /* nothing was learnt */
        *out = first;
        return PGCN_OK;
    }
    pgcn_status status = list_training_ids(first, &ids);
    pgcn_dataset_free(first);
    if (status == PGCN_OK) status = read_files(set, steps, &ids, out);
    pgcn_i_id_map_free(&ids);
    return status;
}

pgcn_status pgcn_dataset_from_files(const pgcn_dataset_files *files, pgcn_dataset **out) {
    pgcn_dataset_files set = pgcn_dataset_files_default();
    PGCN_TRY(pgcn_i_opts_over(&set, sizeof set, files, "pgcn_dataset_files_default"));
    if (!set.edges || !*set.edges || !out)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "pgcn_dataset_from_files: the edge file or the "
                                              "address of the result is missing");
    PGCN_TRY(check_files(&set));
    int64_t needed = 0;
    PGCN_TRY(pgcn_dataset_estimate(NULL, NULL, &set, &needed));
    PGCN_TRY(pgcn_i_check_fits(set.edges, needed));
    pgcn_i_steps steps = {0};
    PGCN_TRY(pgcn_i_steps_need(set.steps, &steps));
    if (set.encode == PGCN_ENCODE_TRAIN && !set.encoder) return read_by_training(&set, &steps, out);
    return read_files(&set, &steps, NULL, out);
}

/* ---- by name ----------------------------------------------------------------------------- */

pgcn_dataset_opts pgcn_dataset_opts_default(void) {
    return (pgcn_dataset_opts){.size = sizeof(pgcn_dataset_opts)};
}

/* Appends to a text of fixed size; truncates what does not fit. */
static void append(char *text, size_t bytes, const char *before, const char *more) {
    size_t used = strlen(text);
    snprintf(text + used, bytes - used, "%s%s", before, more);
}

/* Appends the data set folders of a directory to the text of an error, in alphabetical order. After
 * a failure the list is shorter. */
static void list_folders(const char *directory, char *text, size_t bytes) {
    enum { MOST_READ = 1000, MOST_SHOWN = 20 };
    pgcn_i_arena scratch = {0};
    char **name = PGCN_I_ARRAY(&scratch, char *, MOST_READ);
    DIR *stream = opendir(directory);
    int count = 0;
    if (name && stream) {
        for (struct dirent *entry; count < MOST_READ && (entry = readdir(stream));) {
            char path[PGCN_I_PATH_BYTES];
            if (entry->d_name[0] == '.') continue;
            if (pgcn_i_path_join(path, directory, entry->d_name) != PGCN_OK) continue;
            if (!pgcn_i_format_find(path)) continue;
            name[count] = pgcn_i_arena_strdup(&scratch, entry->d_name);
            if (name[count]) count++;
        }
        qsort(name, (size_t)count, sizeof *name, pgcn_i_compare_texts);
        for (int i = 0; i < count && i < MOST_SHOWN; i++)
            append(text, bytes, i ? ", " : "", name[i]);
    }
    if (count == 0) append(text, bytes, "", "none");
    if (count > MOST_SHOWN) append(text, bytes, ", ", "...");
    if (stream) closedir(stream);
    pgcn_i_arena_free(&scratch);
}

static pgcn_status not_found(const char *name, const char *base, const char *data_dir,
                             bool from_environment) {
    char builtin[256] = "", folders[1024] = "", fetch[256] = "";
    const char *each;
    for (int i = 0; (each = pgcn_builtin_name(i, NULL)); i++)
        append(builtin, sizeof builtin, i ? ", " : "", each);
    pgcn_published published;
    if (pgcn_published_find(base, &published))
        snprintf(fetch, sizeof fetch, "; 'pathgcn data fetch %.100s' downloads it", base);
    const char *source = from_environment ? "PATHGCN_DATA" : "the data directory";
    if (!data_dir)
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "no data set '%s': it is neither built in (%s) nor a file or folder, and "
            "PATHGCN_DATA is not set; set it to the directory of your data sets or "
            "give the path of a file or folder%s",
            name, builtin, fetch);
    if (!pgcn_i_is_directory(data_dir))
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "no data set '%s': it is neither built in (%s) nor a file or folder, and "
            "%s, '%s', is not a directory; correct it or give the path of a file or "
            "folder%s",
            name, builtin, source, data_dir, fetch);
    list_folders(data_dir, folders, sizeof folders);
    return pgcn_i_fail(
        PGCN_ERR_ARGUMENT,
        "no data set '%s': it is neither built in (%s) nor a file or folder, and %s, "
        "'%s', has none of that name; it has: %s%s",
        name, builtin, source, data_dir, folders, fetch);
}

/* A file that cannot be opened has no known format, and one in a forbidden folder seems not to
 * exist. Then the error of the system is the true reason. */
static pgcn_status check_reachable(const char *path) {
    struct stat about;
    if (stat(path, &about) != 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? PGCN_OK
                   : pgcn_i_fail(PGCN_ERR_IO, "cannot read the data set '%s': %s", path,
                                 pgcn_system_error(errno));
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return pgcn_i_fail(PGCN_ERR_IO, "cannot read the data set '%s': %s", path,
                           pgcn_system_error(errno));
    close(descriptor);
    return PGCN_OK;
}

static pgcn_status no_header(const char *name) {
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "data set '%s' is no edge list in text, so its first line "
                       "cannot be a header; leave out --header",
                       name);
}

/* Reads a path in its format, unless an interrupted conversion has left what was read. */
static pgcn_status read_path(const char *path, const pgcn_i_format *format,
                             const pgcn_i_steps *steps, pgcn_header header, pgcn_i_source *source) {
    pgcn_i_text_list key = {0};
    bool kept = false;
    char applied[PGCN_I_STEPS_TEXT]; /* readers look at some */
    pgcn_status status;
    pgcn_i_steps_text(steps, applied);
    if (pgcn_i_spool_is_on() && format->read != pgcn_i_container_read) {
        PGCN_TRY_GOTO(
            pgcn_i_text_list_add(&key, "%s|%s|%s|%d|", format->name, path, applied, (int)header));
        PGCN_TRY_GOTO(pgcn_i_kept_add_files(&key, path));
    }
    PGCN_TRY_GOTO(pgcn_i_kept_find(key.text, source, &kept));
    if (!kept)
        PGCN_TRY_GOTO(header == PGCN_HEADER_AUTO ? format->read(path, steps, source)
                                                 : pgcn_i_edge_list_read_as(path, header, source));
    if (!kept) PGCN_TRY_GOTO(pgcn_i_kept_save(source));
fail:
    pgcn_i_text_list_free(&key);
    return status;
}

static pgcn_status no_container(const char *name) {
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "data set '%s' is no container, and only the features of a container can "
                       "stay on disk (--memory); make one by pathgcn data convert %s --memory 1G "
                       "--store float16 --out FILE.pgcn, or, where its features are sparse, leave "
                       "--memory out",
                       name, name);
}

/* From here on the process keeps within so much memory, as far as pages of the file are concerned. */
static pgcn_status bound(pgcn_i_source *source, int64_t memory) {
    pgcn_memory_use now = pgcn_memory_in_use();
    source->memory = memory;
    source->before = now.anonymous >= 0 ? now.anonymous + now.mapped : 0;
    PGCN_TRY(pgcn_i_pages_bound(memory));
    source->bounded = true;
    return PGCN_OK;
}

static const char *data_directory(const pgcn_dataset_opts *set) {
    const char *data_dir = set->data_dir ? set->data_dir : getenv("PATHGCN_DATA");
    return data_dir && *data_dir ? data_dir : NULL;
}

/* A folder of that name in `directory`, or a container. */
static bool find_in(const char *directory, const char *base, char path[PGCN_I_PATH_BYTES]) {
    char file[PGCN_I_PATH_BYTES];
    if (!directory || !*directory || !*base) return false;
    if (pgcn_i_path_join(path, directory, base) != PGCN_OK) return false;
    if (pgcn_i_is_directory(path) || pgcn_i_file_exists(path)) return true;
    if ((size_t)snprintf(file, sizeof file, "%s.pgcn", base) >= sizeof file) return false;
    return pgcn_i_path_join(path, directory, file) == PGCN_OK && pgcn_i_file_exists(path);
}

/* A name in the data directory or among what was fetched. */
static bool find_named(const char *base, const char *data_dir, char path[PGCN_I_PATH_BYTES]) {
    const char *directories[] = {data_dir, pgcn_cache_directory()};
    pgcn_published published = {.name = ""};
    pgcn_published_find(base, &published); /* "actor" is published as film */
    for (int i = 0; i < 2; i++)
        if (find_in(directories[i], base, path) || find_in(directories[i], published.name, path))
            return true;
    return false;
}

/* A path, or a data set by its name. */
static bool find_path(const char *base, const char *data_dir, char path[PGCN_I_PATH_BYTES]) {
    if (!pgcn_i_is_directory(base) && !pgcn_i_file_exists(base))
        return find_named(base, data_dir, path);
    snprintf(path, PGCN_I_PATH_BYTES, "%s", base);
    return true;
}

/* A file or folder here comes before a data set of the same name, which may be what was meant. */
static pgcn_status no_format(const char *path, const char *data_dir) {
    char hidden[PGCN_I_PATH_BYTES];
    if (!strchr(path, '/') && find_named(path, data_dir, hidden))
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "'%s' in the current directory is in no format that pathgcn reads, and "
                           "hides the data set '%s'; give that path, or rename what is here",
                           path, hidden);
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "'%s' is in no format that pathgcn reads (docs/FORMATS.md lists them); "
                       "your own CSV files are given by --edges, --features and --labels",
                       path);
}

/* "data/cora/" is called "cora" and so is "cora.npz"; a container knows its name. */
static pgcn_status load_path(const char *path, const pgcn_i_steps *steps,
                             const pgcn_dataset_opts *set, pgcn_dataset **out) {
    pgcn_header header = set->header;
    const pgcn_i_format *format = pgcn_i_format_find(path);
    if (!format) PGCN_TRY(pgcn_i_stage("reading text", 0)); /* if stopped, it was not looked at */
    if (!format) PGCN_TRY(check_reachable(path));
    if (!format) return no_format(path, data_directory(set));
    if (header != PGCN_HEADER_AUTO && format->read != pgcn_i_edge_list_read) return no_header(path);
    pgcn_i_source source = {0};
    pgcn_status status = PGCN_OK;
    if (set->memory > 0)
        status = format->read == pgcn_i_container_read ? bound(&source, set->memory)
                                                       : no_container(path);
    if (status == PGCN_OK) status = read_path(path, format, steps, header, &source);
    if (status != PGCN_OK) {
        pgcn_i_source_free(&source);
        return status;
    }
    char name[PGCN_I_PATH_BYTES];
    if (source.own_name)
        snprintf(name, sizeof name, "%s", source.own_name);
    else
        name_of(path, !pgcn_i_is_directory(path), name, sizeof name);
    pgcn_i_steps_name(steps, ":", name, sizeof name);
    return pgcn_i_dataset_build(name, path, steps, &source, out);
}

/* Cuts "film:directed,self-loops" into "film" and the steps that follow. A colon without a step
 * after it is part of the name. */
static pgcn_status take_steps(const char *name, char *base, size_t bytes, pgcn_i_steps *steps) {
    const char *colon = strrchr(name, ':');
    bool known = false;
    if (colon && colon[1]) PGCN_TRY(pgcn_i_steps_parse(colon + 1, steps, &known));
    snprintf(base, bytes, "%.*s", known ? (int)(colon - name) : (int)strlen(name), name);
    return PGCN_OK;
}

/* Steps of a built-in set follow its settings: "sbm:nodes=500:order=rcm", "karate:order=rcm". */
static pgcn_status take_builtin_steps(const char *name, char *base, size_t bytes,
                                      pgcn_i_steps *steps) {
    snprintf(base, bytes, "%s", name);
    if (!pgcn_i_builtin_has_steps(name)) return PGCN_OK;
    return take_steps(name, base, bytes, steps);
}

static pgcn_status load_builtin(const char *name, const pgcn_i_steps *steps, bool *found,
                                pgcn_dataset **out) {
    pgcn_i_source source = {0};
    char full[PGCN_I_PATH_BYTES];
    pgcn_i_steps all = *steps;
    PGCN_TRY(take_builtin_steps(name, full, sizeof full, &all));
    bool kept = false;
    if (pgcn_i_builtin_knows(full)) PGCN_TRY(pgcn_i_kept_find(full, &source, &kept));
    *found = kept;
    pgcn_status status = kept ? PGCN_OK : pgcn_i_builtin_read(full, found, &source);
    if (status == PGCN_OK && *found && !kept) status = pgcn_i_kept_save(&source);
    if (status == PGCN_OK && *found) {
        pgcn_i_steps_name(&all, ":", full, sizeof full);
        return pgcn_i_dataset_build(full, name, &all, &source, out);
    }
    pgcn_i_source_free(&source);
    return status;
}

bool pgcn_i_dataset_find(const char *name, const pgcn_dataset_opts *opts,
                         char path[PGCN_I_PATH_BYTES]) {
    pgcn_dataset_opts set = pgcn_dataset_opts_default();
    pgcn_i_steps steps = {0};
    char base[PGCN_I_PATH_BYTES];
    if (pgcn_i_opts_over(&set, sizeof set, opts, "pgcn_dataset_opts_default") != PGCN_OK ||
        take_steps(name, base, sizeof base, &steps) != PGCN_OK)
        return false;
    return find_path(base, data_directory(&set), path);
}

pgcn_status pgcn_dataset_load(const char *name, const pgcn_dataset_opts *opts, pgcn_dataset **out) {
    pgcn_dataset_opts set = pgcn_dataset_opts_default();
    PGCN_TRY(pgcn_i_opts_over(&set, sizeof set, opts, "pgcn_dataset_opts_default"));
    if (!name || !*name || !out)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "pgcn_dataset_load: the name of the data set is "
                                              "empty, or the address of the result is NULL");
    PGCN_TRY(check_header(set.header));
    bool found = false;
    int64_t needed = 0;
    if (set.memory < 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "memory is %lld, expected a number of bytes, or 0",
                           (long long)set.memory);
    if (set.memory == 0) {
        PGCN_TRY(pgcn_dataset_estimate(name, &set, NULL, &needed));
        PGCN_TRY(pgcn_i_check_fits(name, needed));
    }
    pgcn_i_steps steps = {.directed = set.directed, .self_loops = set.keep_self_loops};
    PGCN_TRY(pgcn_i_steps_need(set.steps, &steps));
    if (set.header != PGCN_HEADER_AUTO && pgcn_i_builtin_knows(name)) return no_header(name);
    if (set.memory > 0 && pgcn_i_builtin_knows(name)) return no_container(name);
    pgcn_status status = load_builtin(name, &steps, &found, out);
    if (status != PGCN_OK || found) return status;
    char base[PGCN_I_PATH_BYTES], path[PGCN_I_PATH_BYTES];
    PGCN_TRY(take_steps(name, base, sizeof base, &steps));
    const char *data_dir = data_directory(&set);
    if (find_path(base, data_dir, path)) return load_path(path, &steps, &set, out);
    PGCN_TRY(check_reachable(base));
    if (data_dir) PGCN_TRY(check_reachable(data_dir));
    return not_found(name, base, data_dir, !set.data_dir);
}
