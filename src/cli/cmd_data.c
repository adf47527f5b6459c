/* pathgcn data: list, info, check; convert is cmd_convert.c, fetch cmd_fetch.c, partition cmd_partition.c. */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static pgcn_status run(int argc, char **argv);
static pgcn_status run_list(int argc, char **argv);
static pgcn_status run_info(int argc, char **argv);
static pgcn_status run_check(int argc, char **argv);

static const cli_command *const parts[] = {&cli_data_list,
                                           &cli_data_info,
                                           &cli_data_check,
                                           &cli_data_convert,
                                           &cli_data_partition,
                                           &cli_fetch,
                                           NULL};

const cli_command cli_data = {
    .name = "data",
    .summary = "look at, convert and download data sets",
    .arguments = "list | info | check | convert | partition | fetch",
    .text =
        "Data sets are named (built in, in --data or PATHGCN_DATA, or downloaded), are files and\n"
        "folders in the formats of the field, or are your own CSV files.",
    .examples = "  pathgcn data list\n"
                "  pathgcn data info karate\n"
                "  pathgcn data fetch cora\n",
    .least_words = 1,
    .most_words = CLI_MAX_WORDS,
    .run = run,
    .parts = parts,
};

const cli_command cli_data_list = {
    .name = "data list",
    .summary = "names and formats that can be given",
    .arguments = "",
    .text =
        "The built-in graphs, and the data sets in --data (or PATHGCN_DATA) and in the cache of 'data\n"
        "fetch'. With --formats, the formats that can be read instead.",
    .examples = "  pathgcn data list\n"
                "  pathgcn data list --formats\n",
    .run = run_list,
};

static const cli_brief data_info_most_used[] = {CLI_BRIEF_SOURCE, {.name = "json"}, {.name = NULL}};

const cli_command cli_data_info = {
    .name = "data info",
    .summary = "describe a data set",
    .arguments = "[NAME|PATH]",
    .text =
        "Reads a data set completely, checks it, and prints counts, degrees, homophily, class sizes,\n"
        "the sizes of its splits, its fingerprint, and notes about it; of a table with categories, dates\n"
        "or gaps also what became of each column.",
    .most_used = data_info_most_used,
    .examples =
        "  pathgcn data info karate\n"
        "  pathgcn data info sbm:nodes=500,homophily=0.2 --json\n"
        "  pathgcn data info --edges follows.csv --features people.csv --labels known.csv\n",
    .most_words = 1,
    .run = run_info,
};

static const cli_brief data_check_most_used[] = {
    CLI_BRIEF_SOURCE, {.name = "json"}, {.name = NULL}};

const cli_command cli_data_check = {
    .name = "data check",
    .summary = "check that a data set is valid",
    .arguments = "[NAME|PATH]",
    .text =
        "Reads and checks everything, as every command does, and also the SHA-256 of a container\n"
        "and its fingerprint. Prints one line; the exit code is 0 if the data set is valid.",
    .most_used = data_check_most_used,
    .examples = "  pathgcn data check karate\n",
    .most_words = 1,
    .run = run_check,
};

static pgcn_status run(int argc, char **argv) {
    return cli_run_part(&cli_data, argc, argv);
}

/* ---- list ------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef struct listing {
    char **name;
    size_t count;
} listing;

static void listing_free(listing *list) {
    for (size_t i = 0; i < list->count; i++) free(list->name[i]);
    free(list->name);
}

/* The data sets in `directory`, by name; false if it cannot be read. */
static bool listing_fill(const char *directory, listing *list) {
    DIR *stream = opendir(directory);
    *list = (listing){NULL, 0};
    if (!stream) return false;
    for (struct dirent *entry; (entry = readdir(stream));) {
        char path[4096];
        if (entry->d_name[0] == '.' ||
            (size_t)snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) >= sizeof path)
            continue;
        if (!pgcn_format_of(path)) continue;
        char **more = realloc(list->name, (list->count + 1) * sizeof *more);
        if (!more) break;
        list->name = more;
        if ((list->name[list->count] = strdup(entry->d_name))) list->count++;
    }
    closedir(stream);
    if (list->count) qsort(list->name, list->count, sizeof *list->name, by_name);
    return true;
}

static json_t *listing_to_json(const listing *list) {
    json_t *names = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(names, cli_json_text(list->name[i]));
    return names;
}

static void print_listing(const char *title, const char *directory, const listing *list) {
    printf("\n%s, in %s:%s\n", title, directory, list->count ? "" : " none");
    for (size_t i = 0; i < list->count; i++) {
        fputs("  ", stdout);
        cli_put_text(stdout, list->name[i]);
        putchar('\n');
    }
}

static pgcn_status print_formats(bool json) {
    const char *name, *summary;
    json_t *formats = json_array();
    for (int i = 0; (name = pgcn_format_name(i, &summary)); i++) {
        if (!json) printf("  %-12s %s\n", name, summary);
        json_array_append_new(formats, json_pack("{s:s, s:s}", "name", name, "summary", summary));
    }
    if (json) return cli_print_json(&cli_data_list, json_pack("{s:o}", "formats", formats));
    json_decref(formats);
    return PGCN_OK;
}

static void print_builtin(void) {
    const char *name, *summary;
    printf("Built in:\n");
    for (int i = 0; (name = pgcn_builtin_name(i, &summary)); i++)
        printf("  %-12s %s\n", name, summary);
}

static json_t *builtin_to_json(void) {
    const char *name, *summary;
    json_t *list = json_array();
    for (int i = 0; (name = pgcn_builtin_name(i, &summary)); i++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "name", name, "summary", summary));
    return list;
}

static pgcn_status run_list(int argc, char **argv) {
    const char *directory = NULL;
    bool json = false, formats = false;
    const cli_option options[] = {
        {"data", "DIR", "PATHGCN_DATA", "folder that holds named data sets", &directory, NULL},
        {"formats", NULL, NULL, "the formats that are read", NULL, &formats},
        CLI_JSON_OPTION(json),
        CLI_OPTIONS_END};
    cli_arguments arguments;
    listing stored, fetched;
    pgcn_status status = cli_parse(&cli_data_list, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    if (formats) return print_formats(json);
    if (!directory) directory = getenv("PATHGCN_DATA");
    if (directory && !*directory) directory = NULL;
    if (directory && !listing_fill(directory, &stored))
        return cli_fail(&cli_data_list, PGCN_ERR_IO,
                        "cannot list the data directory '%s': %s; correct --data or PATHGCN_DATA",
                        directory, pgcn_system_error(errno));
    if (!directory) stored = (listing){NULL, 0};
    const char *cache = pgcn_cache_directory();
    if (!cache || !listing_fill(cache, &fetched)) fetched = (listing){NULL, 0};
    if (json) {
        status = cli_print_json(
            &cli_data_list, json_pack("{s:o, s:o, s:s?, s:o, s:s?}", "built_in", builtin_to_json(),
                                      "stored", listing_to_json(&stored), "data", directory,
                                      "fetched", listing_to_json(&fetched), "cache", cache));
    } else {
        print_builtin();
        if (!directory)
            printf("\nOn disk: none (PATHGCN_DATA is not set and --data not given)\n");
        else
            print_listing("On disk", directory, &stored);
        if (fetched.count > 0) print_listing("Downloaded", cache, &fetched);
    }
    listing_free(&stored);
    listing_free(&fetched);
    return status;
}

/* ---- info ------------------------------------------------------------------------------------- */

/* The number of items of each class. With several labels an item counts in each of its classes. The
 * caller frees it; NULL without memory. */
static int64_t *count_classes(const pgcn_dataset *data, const pgcn_dataset_info *info) {
    int64_t *size = calloc((size_t)info->classes + 1, sizeof *size);
    const int32_t *label = pgcn_dataset_labels(data);
    const uint8_t *labels = pgcn_dataset_multilabels(data);
    for (int64_t j = 0; size && label && j < info->items; j++)
        if (label[j] >= 0) size[label[j]]++;
    for (int64_t j = 0; size && labels && j < info->items; j++)
        for (int c = 0; c < info->classes; c++) size[c] += labels[j * info->classes + c];
    return size;
}

static int by_degree(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Quartiles: least, lower, median, upper, largest. False without memory. */
static bool degree_quartiles(const pgcn_dataset *data, int64_t quartile[5]) {
    const pgcn_graph *graph = pgcn_dataset_graph(data);
    const int64_t *offset;
    int64_t n = pgcn_graph_nodes(graph), *degree = calloc((size_t)n, sizeof *degree);
    if (!degree) return false;
    pgcn_graph_csr(graph, &offset, NULL, NULL);
    for (int64_t i = 0; i < n; i++) degree[i] = offset[i + 1] - offset[i];
    qsort(degree, (size_t)n, sizeof *degree, by_degree);
    for (int q = 0; q < 5; q++) quartile[q] = degree[(n - 1) * q / 4];
    free(degree);
    return true;
}

static const char *task_of(pgcn_task task) {
    switch (task) {
    case PGCN_TASK_NODE: return "one class per node";
    case PGCN_TASK_MULTILABEL: return "several labels per node";
    case PGCN_TASK_GRAPH: return "one class per graph";
    default: return "none: there are no labels";
    }
}

static void print_text(const char *label, const char *text) {
    printf("%-20s ", label);
    cli_put_text(stdout, text);
    putchar('\n');
}

static void print_count(const char *label, int64_t count) {
    char text[32];
    cli_format_count(count, text);
    printf("%-20s %s\n", label, text);
}

static void print_graph(const pgcn_dataset *data, const pgcn_dataset_info *info) {
    int64_t q[5];
    char dropped[32];
    if (info->graphs > 1) print_count("graphs", info->graphs);
    print_count("nodes", info->nodes);
    print_count(info->directed ? "arcs" : "edges", info->edges);
    if (info->source_edges > 0) print_count("edges in the source", info->source_edges);
    cli_format_count(info->dropped_self_loops, dropped);
    if (info->dropped_self_loops > 0)
        printf("%-20s %lld, %s were left out (the step self-loops keeps them)\n", "self-loops",
               (long long)info->self_loops, dropped);
    else
        print_count("self-loops", info->self_loops);
    print_count("isolated nodes", info->isolated);
    printf("%-20s %.2f\n", "mean degree",
           (double)pgcn_graph_entries(pgcn_dataset_graph(data)) / (double)info->nodes);
    if (degree_quartiles(data, q))
        printf("%-20s %lld least, %lld %lld %lld quartiles, %lld largest\n", "degrees",
               (long long)q[0], (long long)q[1], (long long)q[2], (long long)q[3], (long long)q[4]);
    printf("%-20s %s\n", "edge weights", info->weighted ? "yes" : "no");
}

static void print_classes(const pgcn_dataset *data, const pgcn_dataset_info *info,
                          const int64_t *class_size) {
    enum { MOST_SHOWN = 40 };
    printf("%-20s %s\n", "to learn", task_of(info->task));
    if (info->task == PGCN_TASK_NONE) return;
    print_count("classes", info->classes);
    char unlabelled[32];
    snprintf(unlabelled, sizeof unlabelled, "unlabelled %s", cli_items(info->task));
    print_count(unlabelled, info->unlabelled);
    printf("%-20s", "class sizes");
    for (int c = 0; c < info->classes && c < MOST_SHOWN; c++) {
        const char *name = pgcn_dataset_class_name(data, c);
        putchar(' ');
        if (name) cli_put_text(stdout, name);
        printf(name ? ":%lld" : "%lld", (long long)class_size[c]);
    }
    printf(info->classes > MOST_SHOWN ? " ...\n" : "\n");
    if (info->task != PGCN_TASK_NODE) return;
    if (isnan(info->edge_homophily))
        printf("%-20s none: no edge joins two labelled nodes\n", "edge homophily");
    else
        printf("%-20s %.3f  (%s)\n", "edge homophily", info->edge_homophily,
               info->edge_homophily > 0.5
                   ? "most links join equal classes; train finds out which settings suit it"
                   : "most links join different classes; train finds out which settings suit it");
}

static void print_splits(const pgcn_dataset *data, const pgcn_dataset_info *info) {
    const uint8_t *train, *val, *test;
    const char *name;
    if (info->folds > 0) print_count("published folds", info->folds);
    if (info->splits == 0) return;
    print_text("splits", info->split_origin ? info->split_origin : "given");
    printf("\n%-8s %10s %10s %10s\n", "split", "train", "val", "test");
    for (int i = 0; (name = pgcn_dataset_split(data, i, &train, &val, &test)); i++) {
        char shown[64];
        pgcn_text_printable(name, shown, sizeof shown);
        printf("%-8s %10lld %10lld %10lld\n", shown, (long long)cli_mask_size(train, info->items),
               (long long)cli_mask_size(val, info->items),
               (long long)cli_mask_size(test, info->items));
    }
}

static void print_info(const pgcn_dataset *data, const pgcn_dataset_info *info,
                       const int64_t *class_size) {
    printf("%s\n\n", info->name);
    print_text("read from", info->format);
    if (*info->steps) print_text("steps", info->steps);
    print_graph(data, info);
    print_count("features", info->features);
    const char *store = pgcn_dataset_store(data);
    bool narrow = strcmp(store, "float32") != 0;
    printf("%-20s %s, %.2f%% filled%s%s%s\n", "feature storage",
           info->sparse_features ? "sparse" : "dense",
           100 * (double)info->feature_nonzeros / ((double)info->nodes * (double)info->features),
           narrow ? ", " : "", narrow ? store : "",
           narrow ? " in the file, float32 in memory" : "");
    if (info->featureless > 0) print_count("nodes without them", info->featureless);
    print_classes(data, info, class_size);
    printf("%-20s %s\n", "fingerprint", info->fingerprint);
    print_splits(data, info);
    cli_print_columns(data);
    if (pgcn_dataset_note(data, 0)) putchar('\n');
    cli_print_notes(stdout, data);
    cli_note_unequal(stdout, data);
}

static json_t *splits_to_json(const pgcn_dataset *data, const pgcn_dataset_info *info) {
    json_t *splits = json_array();
    const uint8_t *train, *val, *test;
    const char *name;
    for (int i = 0; (name = pgcn_dataset_split(data, i, &train, &val, &test)); i++)
        json_array_append_new(splits,
                              json_pack("{s:s, s:I, s:I, s:I}", "name", name, "train",
                                        (json_int_t)cli_mask_size(train, info->items), "val",
                                        (json_int_t)cli_mask_size(val, info->items), "test",
                                        (json_int_t)cli_mask_size(test, info->items)));
    return splits;
}

static json_t *info_to_json(const pgcn_dataset *data, const pgcn_dataset_info *info,
                            const int64_t *class_size) {
    json_t *sizes = json_array(), *names = json_array(), *notes = json_array(),
           *degrees = json_array(), *columns = json_array();
    const char *text;
    int64_t q[5];
    for (int c = 0; c < info->classes; c++) {
        json_array_append_new(sizes, json_integer(class_size[c]));
        if ((text = pgcn_dataset_class_name(data, c)))
            json_array_append_new(names, cli_json_text(text));
    }
    for (int64_t j = 0; (text = pgcn_dataset_feature_name(data, j)); j++)
        json_array_append_new(columns, cli_json_text(text));
    for (int i = 0; (text = pgcn_dataset_note(data, i)); i++)
        json_array_append_new(notes, cli_json_text(text));
    for (int i = 0; i < 5 && degree_quartiles(data, q); i++)
        json_array_append_new(degrees, json_integer(q[i]));
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
                  "dataset", info->name, "fingerprint", info->fingerprint, "format", info->format,
                  "steps", info->steps, "task", pgcn_task_name(info->task), "graphs",
                  (json_int_t)info->graphs, "nodes", (json_int_t)info->nodes, "edges",
                  (json_int_t)info->edges, "source_edges", (json_int_t)info->source_edges,
                  "self_loops", (json_int_t)info->self_loops, "dropped_self_loops",
                  (json_int_t)info->dropped_self_loops, "isolated", (json_int_t)info->isolated,
                  "max_degree", (json_int_t)info->max_degree, "degree_quartiles", degrees);
    json_t *rest = json_pack(
        "{s:s, s:I, s:I, s:I, s:o, s:b, s:b, s:b, s:i, s:I, s:o, s:o, s:o, s:i, s:s?, s:o, s:o, "
        "s:o}",
        "feature_store", pgcn_dataset_store(data), "features", (json_int_t)info->features,
        "featureless", (json_int_t)info->featureless, "feature_nonzeros",
        (json_int_t)info->feature_nonzeros, "feature_names", columns, "sparse_features",
        (int)info->sparse_features, "directed", (int)info->directed, "weighted",
        (int)info->weighted, "classes", info->classes, "unlabelled", (json_int_t)info->unlabelled,
        "edge_homophily", cli_json_real(info->edge_homophily), "class_sizes", sizes, "class_names",
        names, "folds", info->folds, "split_origin", info->split_origin, "splits",
        splits_to_json(data, info), "notes", notes, "columns", cli_columns_to_json(data));
    if (json_object_update(object, rest) != 0) { /* out of memory: nothing is better than half */
        json_decref(object);
        object = NULL;
    }
    json_decref(rest);
    return object;
}

/* The options of info and check. */
typedef struct request {
    cli_source source;
    bool json;
} request;

static pgcn_status run_info(int argc, char **argv) {
    request r = {0};
    const cli_option options[] = {CLI_SOURCE_OPTIONS(r.source), CLI_JSON_OPTION(r.json),
                                  CLI_OPTIONS_END};
    pgcn_dataset *data;
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_data_info, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    CLI_TRY(cli_load_dataset(&cli_data_info, cli_first_word(&arguments), &r.source, "", &data));
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    int64_t *class_size = count_classes(data, &info);
    if (!class_size)
        status = cli_fail(&cli_data_info, PGCN_ERR_MEMORY, "out of memory");
    else if (r.json)
        status = cli_print_json(&cli_data_info, info_to_json(data, &info, class_size));
    else
        print_info(data, &info, class_size);
    free(class_size);
    pgcn_dataset_free(data);
    return status;
}

/* ---- check -------------------------------------------------------------------------- */

static pgcn_status run_check(int argc, char **argv) {
    request r = {0};
    const cli_option options[] = {CLI_SOURCE_OPTIONS(r.source), CLI_JSON_OPTION(r.json),
                                  CLI_OPTIONS_END};
    pgcn_dataset *data;
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_data_check, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    CLI_TRY(cli_load_dataset(&cli_data_check, cli_first_word(&arguments), &r.source, "", &data));
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    status = cli_report(&cli_data_check, pgcn_dataset_verify(data));
    if (status == PGCN_OK) cli_print_notes(stderr, data);
    if (status == PGCN_OK && r.json)
        status =
            cli_print_json(&cli_data_check, json_pack("{s:s, s:b, s:s}", "dataset", info.name,
                                                      "sound", 1, "fingerprint", info.fingerprint));
    else if (status == PGCN_OK)
        printf("%s: sound, %lld nodes, fingerprint %s\n", info.name, (long long)info.nodes,
               info.fingerprint);
    pgcn_dataset_free(data);
    return status;
}
