/* Data sets: the one place where a graph, features, labels and splits are checked against each
 * other, copied and fingerprinted (pgcn_i_dataset_build), and the way from a name to a reader
 * (pgcn_dataset_load). After this file nobody checks a label, a mask or a feature again.
 * Serial; a finished data set is read-only and may be shared by threads. */
#include "data/data.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CLASSES = 1000000 }; /* a label like 2000000000 is a mistake, not a class */

/* ---- checks ------------------------------------------------------------------------------ */

static pgcn_status check_sparse(const char *where, const pgcn_i_features *x) {
    if (x->offset[0] != 0 || x->offset[x->n] != x->nonzeros)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "%s: the feature row offsets run from %lld to %lld, expected 0 to %lld "
                           "(the number of stored values)",
                           where, (long long)x->offset[0], (long long)x->offset[x->n],
                           (long long)x->nonzeros);
    for (int64_t i = 0; i < x->n; i++)
        if (x->offset[i + 1] < x->offset[i] || x->offset[i + 1] > x->nonzeros)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: the feature row offsets of node %lld are %lld and %lld, "
                               "expected them to ascend up to %lld",
                               where, (long long)i, (long long)x->offset[i],
                               (long long)x->offset[i + 1], (long long)x->nonzeros);
    for (int64_t i = 0; i < x->n; i++) {
        int32_t before = -1;
        for (int64_t e = x->offset[i]; e < x->offset[i + 1]; e++) {
            if (x->column[e] < 0 || x->column[e] >= x->columns)
                return pgcn_i_fail(PGCN_ERR_FORMAT,
                                   "%s: node %lld has a value in feature column %d, expected "
                                   "0..%lld",
                                   where, (long long)i, x->column[e], (long long)x->columns - 1);
            if (x->column[e] <= before)
                return pgcn_i_fail(PGCN_ERR_FORMAT,
                                   "%s: the features of node %lld have column %d after column %d, "
                                   "expected ascending columns without repeats; sort them (SciPy: "
                                   "sum_duplicates())",
                                   where, (long long)i, x->column[e], before);
            if (!isfinite(x->value[e]))
                return pgcn_i_fail(PGCN_ERR_FORMAT,
                                   "%s: feature %d of node %lld is %g, expected a finite number",
                                   where, x->column[e], (long long)i, (double)x->value[e]);
            before = x->column[e];
        }
    }
    return PGCN_OK;
}

static pgcn_status check_dense(const char *where, const pgcn_i_features *x) {
    int64_t count;
    if (!pgcn_i_mul(x->n, x->columns, &count))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s: %lld x %lld features are too many", where,
                           (long long)x->n, (long long)x->columns);
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(x->dense[i]))
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: feature %lld of node %lld is %g, expected a finite number",
                               where, (long long)(i % x->columns), (long long)(i / x->columns),
                               (double)x->dense[i]);
    return PGCN_OK;
}

static pgcn_status check_features(const char *where, const pgcn_i_features *x, int64_t n) {
    if (x->columns < 1 || x->columns > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "%s: nodes have %lld features, expected 1 to %d; without features use "
                           "an identity matrix",
                           where, (long long)x->columns, INT32_MAX);
    if (x->n != n)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "%s: there are feature rows for %lld nodes, but the graph has %lld",
                           where, (long long)x->n, (long long)n);
    bool sparse = x->offset && x->column && x->value && !x->dense;
    bool dense = x->dense && !x->offset && !x->column && !x->value;
    if (!sparse && !dense)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "%s: features must be given once, either dense or as offsets, columns "
                           "and values",
                           where);
    return sparse ? check_sparse(where, x) : check_dense(where, x);
}

/* *classes comes in as given (0: unknown) and goes out as used. */
static pgcn_status check_labels(const char *where, const int32_t *label, int64_t n, int *classes) {
    if (!label) return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s: there are no labels", where);
    if (*classes < 0 || *classes > MAX_CLASSES)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s: the number of classes is %d, expected 1 to %d",
                           where, *classes, MAX_CLASSES);
    /* More classes than nodes cannot come from a numbering of the classes. */
    int64_t most = *classes > 0 ? *classes : n < MAX_CLASSES ? n : MAX_CLASSES;
    int32_t largest = -1;
    for (int64_t i = 0; i < n; i++) {
        if (label[i] < -1 || label[i] >= most)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: node %lld has label %d, expected 0..%lld, or -1 for no label; "
                               "number the classes from 0 without gaps",
                               where, (long long)i, label[i], (long long)most - 1);
        if (label[i] > largest) largest = label[i];
    }
    if (largest < 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "%s: no node has a label; training needs some", where);
    if (*classes == 0) *classes = largest + 1;
    return PGCN_OK;
}

static pgcn_status check_split(const char *where, const pgcn_i_split *split, int64_t n,
                               const int32_t *label) {
    static const char *const part[3] = {"train", "validation", "test"};
    const uint8_t *mask[3] = {split->train, split->val, split->test};
    int64_t size[3] = {0};
    for (int k = 0; k < 3; k++)
        if (!mask[k])
            return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s: split '%s' has no %s mask", where,
                               split->name, part[k]);
    for (int64_t i = 0; i < n; i++) {
        int memberships = 0;
        for (int k = 0; k < 3; k++) {
            if (mask[k][i] > 1)
                return pgcn_i_fail(PGCN_ERR_FORMAT,
                                   "%s: the %s mask of split '%s' has %d at node %lld, expected 0 "
                                   "or 1",
                                   where, part[k], split->name, mask[k][i], (long long)i);
            size[k] += mask[k][i];
            memberships += mask[k][i];
        }
        if (memberships > 1)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: node %lld is in %d masks of split '%s', expected at most one "
                               "of train, validation and test",
                               where, (long long)i, memberships, split->name);
        if (memberships == 1 && label[i] < 0)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: node %lld is in a mask of split '%s' but has no label; take "
                               "it out of the masks",
                               where, (long long)i, split->name);
    }
    for (int k = 0; k < 3; k++)
        if (size[k] == 0)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: split '%s' has no %s node, expected at least one", where,
                               split->name, part[k]);
    return PGCN_OK;
}

static pgcn_status check_parts(const pgcn_i_dataset_parts *parts, int *classes) {
    int64_t n = parts->graph->n;
    PGCN_TRY(check_features(parts->where, &parts->x, n));
    PGCN_TRY(check_labels(parts->where, parts->label, n, classes));
    if (parts->splits < 1)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "%s: there are %d splits into train, validation and test nodes, "
                           "expected at least one",
                           parts->where, parts->splits);
    for (int s = 0; s < parts->splits; s++)
        PGCN_TRY(check_split(parts->where, &parts->split[s], n, parts->label));
    return PGCN_OK;
}

/* ---- copy, count, fingerprint ------------------------------------------------------------ */

static const void *copy(pgcn_i_arena *arena, const void *from, int64_t count, size_t size) {
    void *to = pgcn_i_arena_alloc(arena, count, size);
    if (to && count > 0) memcpy(to, from, (size_t)count * size);
    return to;
}

static pgcn_status copy_parts(pgcn_dataset *data, const pgcn_i_dataset_parts *parts) {
    pgcn_i_arena *arena = &data->arena;
    const pgcn_i_features *x = &parts->x;
    int64_t n = parts->graph->n;
    data->name = pgcn_i_arena_strdup(arena, parts->name);
    data->label = copy(arena, parts->label, n, sizeof *parts->label);
    data->split = PGCN_I_ARRAY(arena, pgcn_i_split, parts->splits);
    if (!data->name || !data->label || !data->split) return PGCN_ERR_MEMORY;
    data->splits = parts->splits;
    data->x = (pgcn_i_features){.n = n, .columns = x->columns, .nonzeros = x->nonzeros};
    if (x->dense) {
        int64_t count = n * x->columns; /* check_dense has seen that this fits */
        data->x.dense = copy(arena, x->dense, count, sizeof *x->dense);
        if (!data->x.dense) return PGCN_ERR_MEMORY;
        data->x.nonzeros = 0;
        for (int64_t i = 0; i < count; i++) data->x.nonzeros += x->dense[i] != 0.0f;
    } else {
        data->x.offset = copy(arena, x->offset, n + 1, sizeof *x->offset);
        data->x.column = copy(arena, x->column, x->nonzeros, sizeof *x->column);
        data->x.value = copy(arena, x->value, x->nonzeros, sizeof *x->value);
        if (!data->x.offset || !data->x.column || !data->x.value) return PGCN_ERR_MEMORY;
    }
    for (int s = 0; s < parts->splits; s++) {
        const pgcn_i_split *from = &parts->split[s];
        pgcn_i_split *to = &data->split[s];
        memcpy(to->name, from->name, sizeof to->name);
        to->train = copy(arena, from->train, n, 1);
        to->val = copy(arena, from->val, n, 1);
        to->test = copy(arena, from->test, n, 1);
        if (!to->train || !to->val || !to->test) return PGCN_ERR_MEMORY;
    }
    return PGCN_OK;
}

/* Everything pgcn_dataset_describe() tells. An undirected pair is stored twice and counted once;
 * a self-loop is stored once. */
static pgcn_status count_all(pgcn_dataset *data) {
    const pgcn_graph *graph = data->graph;
    pgcn_dataset_info info = {.name = data->name,
                              .fingerprint = data->fingerprint,
                              .nodes = graph->n,
                              .features = data->x.columns,
                              .feature_nonzeros = data->x.nonzeros,
                              .sparse_features = data->x.offset != NULL,
                              .directed = graph->directed,
                              .weighted = graph->weight != NULL,
                              .classes = data->classes,
                              .splits = data->splits};
    uint8_t *touched = pgcn_i_alloc(graph->n, 1); /* a directed edge touches its target too */
    if (!touched) return PGCN_ERR_MEMORY;
    int64_t compared = 0, equal = 0;
    for (int64_t u = 0; u < graph->n; u++) {
        int64_t begin = graph->offset[u], end = graph->offset[u + 1];
        if (end - begin > info.max_degree) info.max_degree = end - begin;
        if (end > begin) touched[u] = 1;
        info.unlabelled += data->label[u] < 0;
        for (int64_t e = begin; e < end; e++) {
            pgcn_node v = graph->neighbour[e];
            touched[v] = 1;
            if (!graph->directed && v < u) continue;
            info.edges++;
            if (v == u) {
                info.self_loops++;
            } else if (data->label[u] >= 0 && data->label[v] >= 0) {
                compared++;
                equal += data->label[u] == data->label[v];
            }
        }
    }
    for (int64_t u = 0; u < graph->n; u++) info.isolated += !touched[u];
    pgcn_i_free(touched);
    info.edge_homophily = compared > 0 ? (double)equal / (double)compared : (double)NAN;
    data->info = info;
    return PGCN_OK;
}

static void add_number(pgcn_i_hash *hash, int64_t number) {
    pgcn_i_hash_add(hash, &number, sizeof number);
}

/* SHA-256 of the numbers a model depends on, little-endian, each array after its length. Neither
 * the name nor the splits: the same data under another name is the same data. */
static pgcn_status take_fingerprint(pgcn_dataset *data) {
    static const char tag[16] = "pathgcn-data-1";
    const pgcn_graph *graph = data->graph;
    const pgcn_i_features *x = &data->x;
    pgcn_i_hash *hash;
    PGCN_TRY(pgcn_i_hash_new(&hash));
    pgcn_i_hash_add(hash, tag, sizeof tag);
    add_number(hash, graph->n);
    add_number(hash, graph->directed);
    add_number(hash, graph->entries);
    pgcn_i_hash_add(hash, graph->offset, (graph->n + 1) * (int64_t)sizeof *graph->offset);
    pgcn_i_hash_add(hash, graph->neighbour, graph->entries * (int64_t)sizeof *graph->neighbour);
    add_number(hash, graph->weight != NULL);
    if (graph->weight)
        pgcn_i_hash_add(hash, graph->weight, graph->entries * (int64_t)sizeof *graph->weight);
    add_number(hash, x->offset != NULL);
    add_number(hash, x->columns);
    add_number(hash, x->nonzeros);
    if (x->offset) {
        pgcn_i_hash_add(hash, x->offset, (x->n + 1) * (int64_t)sizeof *x->offset);
        pgcn_i_hash_add(hash, x->column, x->nonzeros * (int64_t)sizeof *x->column);
        pgcn_i_hash_add(hash, x->value, x->nonzeros * (int64_t)sizeof *x->value);
    } else {
        pgcn_i_hash_add(hash, x->dense, x->n * x->columns * (int64_t)sizeof *x->dense);
    }
    pgcn_i_hash_add(hash, data->label, graph->n * (int64_t)sizeof *data->label);
    add_number(hash, data->classes);
    return pgcn_i_hash_finish(hash, data->fingerprint);
}

pgcn_status pgcn_i_dataset_build(const pgcn_i_dataset_parts *parts, pgcn_dataset **out) {
    pgcn_status status;
    int classes = parts->classes;
    pgcn_dataset *data = pgcn_i_alloc(1, sizeof *data);
    if (!data) {
        pgcn_graph_free(parts->graph);
        return PGCN_ERR_MEMORY;
    }
    data->graph = parts->graph;
    PGCN_TRY_GOTO(check_parts(parts, &classes));
    data->classes = classes;
    PGCN_TRY_GOTO(copy_parts(data, parts));
    PGCN_TRY_GOTO(count_all(data));
    PGCN_TRY_GOTO(take_fingerprint(data));
    *out = data;
    return PGCN_OK;
fail:
    pgcn_dataset_free(data);
    return status;
}

void pgcn_dataset_free(pgcn_dataset *data) {
    if (!data) return;
    pgcn_graph_free(data->graph);
    pgcn_i_arena_free(&data->arena);
    pgcn_i_free(data);
}

/* ---- from arrays ------------------------------------------------------------------------- */

pgcn_dataset_arrays pgcn_dataset_arrays_default(void) {
    return (pgcn_dataset_arrays){.size = sizeof(pgcn_dataset_arrays), .name = "arrays"};
}

/* The caller keeps his graph, so the data set gets its own: built again from its edges. */
static pgcn_status copy_graph(const pgcn_graph *graph, pgcn_graph **out) {
    pgcn_status status = PGCN_ERR_MEMORY;
    pgcn_i_arena scratch = {0};
    pgcn_graph_opts opts = pgcn_graph_opts_default();
    opts.directed = graph->directed;
    opts.keep_self_loops = true;
    pgcn_node *source = PGCN_I_ARRAY(&scratch, pgcn_node, graph->entries);
    pgcn_node *target = PGCN_I_ARRAY(&scratch, pgcn_node, graph->entries);
    float *weight = graph->weight ? PGCN_I_ARRAY(&scratch, float, graph->entries) : NULL;
    if (source && target && (weight || !graph->weight)) {
        int64_t m = 0;
        for (int64_t u = 0; u < graph->n; u++)
            for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++) {
                if (!graph->directed && graph->neighbour[e] < u) continue; /* each pair once */
                source[m] = (pgcn_node)u;
                target[m] = graph->neighbour[e];
                if (weight) weight[m] = graph->weight[e];
                m++;
            }
        status = pgcn_graph_from_edges(graph->n, m, source, target, weight, &opts, out);
    }
    pgcn_i_arena_free(&scratch);
    return status;
}

pgcn_status pgcn_dataset_from_arrays(const pgcn_dataset_arrays *arrays, pgcn_dataset **out) {
    pgcn_dataset_arrays set = pgcn_dataset_arrays_default();
    if (!arrays || !out)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "pgcn_dataset_from_arrays: an argument is NULL");
    PGCN_TRY(pgcn_i_opts_over(&set, sizeof set, arrays, "pgcn_dataset_arrays_default"));
    if (!set.name || !set.graph || !set.train || !set.val || !set.test || set.n_splits < 1)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "pgcn_dataset_from_arrays: name, graph, train, val, test and n_splits "
                           ">= 1 must be given");
    int64_t n = set.graph->n, mask_bytes;
    if (!pgcn_i_mul(n, set.n_splits, &mask_bytes))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "pgcn_dataset_from_arrays: %d splits of %lld nodes are too many",
                           set.n_splits, (long long)n);
    pgcn_i_dataset_parts parts = {.name = set.name,
                                  .where = set.name,
                                  .x = {.n = n,
                                        .columns = set.n_features,
                                        .nonzeros = set.x_offset ? set.x_offset[n] : 0,
                                        .offset = set.x_offset,
                                        .column = set.x_column,
                                        .value = set.x_value,
                                        .dense = set.features},
                                  .label = set.label,
                                  .classes = set.n_classes,
                                  .splits = set.n_splits};
    pgcn_i_split *split = pgcn_i_alloc(set.n_splits, sizeof *split);
    if (!split) return PGCN_ERR_MEMORY;
    for (int s = 0; s < set.n_splits; s++) {
        snprintf(split[s].name, sizeof split[s].name, "%d", s);
        split[s].train = set.train + (int64_t)s * n;
        split[s].val = set.val + (int64_t)s * n;
        split[s].test = set.test + (int64_t)s * n;
    }
    parts.split = split;
    pgcn_status status = copy_graph(set.graph, &parts.graph);
    if (status == PGCN_OK) status = pgcn_i_dataset_build(&parts, out);
    pgcn_i_free(split);
    return status;
}

/* ---- by name ----------------------------------------------------------------------------- */

pgcn_dataset_opts pgcn_dataset_opts_default(void) {
    return (pgcn_dataset_opts){.size = sizeof(pgcn_dataset_opts)};
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Appends to a text of fixed size and cuts what does not fit. */
static void append(char *text, size_t bytes, const char *before, const char *more) {
    size_t used = strlen(text);
    snprintf(text + used, bytes - used, "%s%s", before, more);
}

/* Appends the data set folders of a directory to the text of an error, in alphabetical order. A
 * failure only makes the help shorter. */
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
            if (!pgcn_i_folder_is_dataset(path)) continue;
            name[count] = pgcn_i_arena_strdup(&scratch, entry->d_name);
            if (name[count]) count++;
        }
        qsort(name, (size_t)count, sizeof *name, by_text);
        for (int i = 0; i < count && i < MOST_SHOWN; i++)
            append(text, bytes, i ? ", " : "", name[i]);
    }
    if (count == 0) append(text, bytes, "", "none");
    if (count > MOST_SHOWN) append(text, bytes, ", ", "...");
    if (stream) closedir(stream);
    pgcn_i_arena_free(&scratch);
}

static pgcn_status not_found(const char *name, const char *data_dir, bool from_environment) {
    char builtin[256] = "", folders[1024] = "";
    const char *each;
    for (int i = 0; (each = pgcn_builtin_name(i, NULL)); i++)
        append(builtin, sizeof builtin, i ? ", " : "", each);
    const char *source = from_environment ? "PATHGCN_DATA" : "the data directory";
    if (!data_dir)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "no data set '%s': it is neither built in (%s) nor a folder, and "
                           "PATHGCN_DATA is not set; set it to the directory of your data sets or "
                           "give the path of a folder",
                           name, builtin);
    if (!pgcn_i_is_directory(data_dir))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "no data set '%s': it is neither built in (%s) nor a folder, and %s, "
                           "'%s', is not a directory; correct it or give the path of a folder",
                           name, builtin, source, data_dir);
    list_folders(data_dir, folders, sizeof folders);
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "no data set '%s': it is neither built in (%s) nor a folder, and %s, '%s', "
                       "has no folder of that name; it has: %s",
                       name, builtin, source, data_dir, folders);
}

/* "data/cora/" is called "cora"; with settings, "data/film/:directed" is "film:directed". */
static pgcn_status load_path(const char *path, const char *settings, const pgcn_dataset_opts *opts,
                             pgcn_dataset **out) {
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/') begin--;
    char directory[PGCN_I_PATH_BYTES]; /* a directory that exists has a path which fits */
    char name[PGCN_I_PATH_BYTES + 64];
    snprintf(directory, sizeof directory, "%.*s", (int)end, path);
    snprintf(name, sizeof name, "%s%s", directory + begin, settings);
    return pgcn_i_folder_load(directory, name, opts, out);
}

/* Cuts "film:directed,self-loops" into "film" and what follows from the rest. A colon that no such
 * word follows belongs to the name. Settings are part of the name, so that a model remembers which
 * graph it was trained on. */
static const char *take_settings(const char *name, char *base, size_t bytes,
                                 pgcn_dataset_opts *set) {
    const char *colon = strrchr(name, ':');
    pgcn_dataset_opts changed = *set;
    const char *word = colon ? colon + 1 : "";
    while (*word) {
        size_t length = strcspn(word, ",");
        if (length == 8 && strncmp(word, "directed", 8) == 0)
            changed.directed = true;
        else if (length == 10 && strncmp(word, "self-loops", 10) == 0)
            changed.keep_self_loops = true;
        else
            break;
        word += length + (word[length] == ',');
    }
    bool settings = colon && colon[1] && !*word;
    snprintf(base, bytes, "%.*s", settings ? (int)(colon - name) : (int)strlen(name), name);
    if (settings) *set = changed;
    return settings ? colon : "";
}

pgcn_status pgcn_dataset_load(const char *name, const pgcn_dataset_opts *opts, pgcn_dataset **out) {
    pgcn_dataset_opts set = pgcn_dataset_opts_default();
    PGCN_TRY(pgcn_i_opts_over(&set, sizeof set, opts, "pgcn_dataset_opts_default"));
    if (!name || !*name || !out)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "pgcn_dataset_load: the name of the data set is "
                                              "empty, or there is no place for the result");
    bool found = false;
    pgcn_dataset *builtin = NULL;
    PGCN_TRY(pgcn_i_builtin_load(name, &found, &builtin));
    if (found && set.directed) {
        pgcn_dataset_free(builtin);
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set '%s' has no directed edges; load it without 'directed'", name);
    }
    if (found) {
        *out = builtin;
        return PGCN_OK;
    }
    char base[PGCN_I_PATH_BYTES];
    const char *settings = take_settings(name, base, sizeof base, &set);
    if (pgcn_i_is_directory(base)) return load_path(base, settings, &set, out);
    const char *data_dir = set.data_dir ? set.data_dir : getenv("PATHGCN_DATA");
    if (data_dir && !*data_dir) data_dir = NULL;
    if (data_dir) {
        char path[PGCN_I_PATH_BYTES];
        PGCN_TRY(pgcn_i_path_join(path, data_dir, base));
        if (pgcn_i_is_directory(path)) return load_path(path, settings, &set, out);
    }
    return not_found(name, data_dir, !set.data_dir);
}

/* ---- reading ----------------------------------------------------------------------------- */

pgcn_dataset_info pgcn_dataset_describe(const pgcn_dataset *data) {
    return data->info;
}
const pgcn_graph *pgcn_dataset_graph(const pgcn_dataset *data) {
    return data->graph;
}
const int32_t *pgcn_dataset_labels(const pgcn_dataset *data) {
    return data->label;
}

const char *pgcn_dataset_split(const pgcn_dataset *data, int i, const uint8_t **train,
                               const uint8_t **val, const uint8_t **test) {
    if (i < 0 || i >= data->splits) return NULL;
    if (train) *train = data->split[i].train;
    if (val) *val = data->split[i].val;
    if (test) *test = data->split[i].test;
    return data->split[i].name;
}
