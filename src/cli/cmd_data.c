/* pathgcn data list and pathgcn data info. */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int run(int argc, char **argv);

const cli_command cli_data = {
    .name = "data",
    .summary = "list data sets, or tell what is in one",
    .arguments = "list | info NAME|DIR",
    .text =
        "'list' shows the built-in graphs and the folders in --data or PATHGCN_DATA. 'info' reads\n"
        "a data set completely, checks it, and prints counts, degrees, homophily, the sizes of\n"
        "its splits and its fingerprint.",
    .examples = "  pathgcn data list\n"
                "  pathgcn data info karate\n"
                "  pathgcn data info sbm:nodes=500,homophily=0.2 --json\n",
    .run = run,
};

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool holds(const char *directory, const char *folder, const char *file) {
    char path[4096];
    struct stat found;
    return (size_t)snprintf(path, sizeof path, "%s/%s/%s", directory, folder, file) < sizeof path &&
           stat(path, &found) == 0;
}

/* Folders of `directory` that hold one graph. Returns false if it cannot be read; the names are the
 * caller's. */
static bool folders(const char *directory, char ***out, size_t *count) {
    DIR *stream = opendir(directory);
    *out = NULL;
    *count = 0;
    if (!stream) return false;
    for (struct dirent *entry; (entry = readdir(stream));) {
        const char *name = entry->d_name;
        if (name[0] == '.' || !holds(directory, name, "edges.npy") ||
            holds(directory, name, "graph_ptr.npy"))
            continue;
        char **more = realloc(*out, (*count + 1) * sizeof **out);
        if (!more) break;
        *out = more;
        if (((*out)[*count] = strdup(name))) (*count)++;
    }
    closedir(stream);
    if (*count) qsort(*out, *count, sizeof **out, by_name);
    return true;
}

static int list(const char *directory, bool json) {
    const char *name, *summary;
    char **found = NULL;
    size_t count = 0;
    if (!directory) directory = getenv("PATHGCN_DATA");
    if (directory && !*directory) directory = NULL;
    if (directory && !folders(directory, &found, &count)) {
        cli_complain(&cli_data,
                     "cannot list the data directory '%s': %s; correct --data or "
                     "PATHGCN_DATA",
                     directory, strerror(errno));
        return EXIT_FAILED;
    }
    json_t *builtin = json_array(), *stored = json_array();
    for (int i = 0; (name = pgcn_builtin_name(i, &summary)); i++)
        json_array_append_new(builtin, json_pack("{s:s, s:s}", "name", name, "summary", summary));
    for (size_t i = 0; i < count; i++) json_array_append_new(stored, json_string(found[i]));
    int code = EXIT_DONE;
    if (json) {
        code = cli_print_json(&cli_data, json_pack("{s:O, s:O, s:s?}", "built_in", builtin,
                                                   "stored", stored, "data", directory));
    } else {
        printf("Built in:\n");
        for (int i = 0; (name = pgcn_builtin_name(i, &summary)); i++)
            printf("  %-12s %s\n", name, summary);
        if (!directory)
            printf("\nOn disk: none (PATHGCN_DATA is not set and --data not given)\n");
        else
            printf("\nOn disk, in %s:%s\n", directory, count ? "" : " none");
        for (size_t i = 0; i < count; i++) printf("  %s\n", found[i]);
    }
    for (size_t i = 0; i < count; i++) free(found[i]);
    free(found);
    json_decref(builtin);
    json_decref(stored);
    return code;
}

static int64_t mask_size(const uint8_t *mask, int64_t n) {
    int64_t size = 0;
    for (int64_t j = 0; j < n; j++) size += mask[j];
    return size;
}

static void print_count(const char *label, int64_t count) {
    char text[32];
    cli_format_count(count, text);
    printf("%-20s %s\n", label, text);
}

static void print_info(const pgcn_dataset *data, const pgcn_dataset_info *info,
                       const int64_t *class_size) {
    printf("%s\n\n", info->name);
    print_count("nodes", info->nodes);
    print_count(info->directed ? "arcs" : "edges", info->edges);
    print_count("self-loops", info->self_loops);
    print_count("isolated nodes", info->isolated);
    print_count("largest degree", info->max_degree);
    printf("%-20s %.2f\n", "mean degree",
           (double)pgcn_graph_entries(pgcn_dataset_graph(data)) / (double)info->nodes);
    printf("%-20s %s\n", "edge weights", info->weighted ? "yes" : "no");
    print_count("features", info->features);
    printf("%-20s %s, %.2f%% filled\n", "feature storage",
           info->sparse_features ? "sparse" : "dense",
           100 * (double)info->feature_nonzeros / ((double)info->nodes * (double)info->features));
    print_count("classes", info->classes);
    print_count("unlabelled nodes", info->unlabelled);
    printf("%-20s", "class sizes");
    for (int c = 0; c < info->classes; c++) printf(" %lld", (long long)class_size[c]);
    if (isnan(info->edge_homophily))
        printf("\n%-20s none: no edge joins two labelled nodes\n", "edge homophily");
    else
        printf("\n%-20s %.3f  (%s)\n", "edge homophily", info->edge_homophily,
               info->edge_homophily > 0.5
                   ? "neighbours are mostly alike: the default smoothing start fits"
                   : "neighbours are mostly unlike: try --kernel-start identity --self-loops no");
    printf("%-20s %s\n\n%-8s %10s %10s %10s\n", "fingerprint", info->fingerprint, "split", "train",
           "val", "test");
    const uint8_t *train, *val, *test;
    const char *name;
    for (int i = 0; (name = pgcn_dataset_split(data, i, &train, &val, &test)); i++)
        printf("%-8s %10lld %10lld %10lld\n", name, (long long)mask_size(train, info->nodes),
               (long long)mask_size(val, info->nodes), (long long)mask_size(test, info->nodes));
}

static json_t *info_to_json(const pgcn_dataset *data, const pgcn_dataset_info *info,
                            const int64_t *class_size) {
    json_t *splits = json_array(), *sizes = json_array();
    const uint8_t *train, *val, *test;
    const char *name;
    for (int c = 0; c < info->classes; c++)
        json_array_append_new(sizes, json_integer(class_size[c]));
    for (int i = 0; (name = pgcn_dataset_split(data, i, &train, &val, &test)); i++)
        json_array_append_new(splits, json_pack("{s:s, s:I, s:I, s:I}", "name", name, "train",
                                                (json_int_t)mask_size(train, info->nodes), "val",
                                                (json_int_t)mask_size(val, info->nodes), "test",
                                                (json_int_t)mask_size(test, info->nodes)));
    return json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:i, s:I, s:o, s:o, s:o}",
        "dataset", info->name, "fingerprint", info->fingerprint, "nodes", (json_int_t)info->nodes,
        "edges", (json_int_t)info->edges, "self_loops", (json_int_t)info->self_loops, "isolated",
        (json_int_t)info->isolated, "max_degree", (json_int_t)info->max_degree, "features",
        (json_int_t)info->features, "feature_nonzeros", (json_int_t)info->feature_nonzeros,
        "sparse_features", (int)info->sparse_features, "directed", (int)info->directed, "weighted",
        (int)info->weighted, "classes", info->classes, "unlabelled", (json_int_t)info->unlabelled,
        "edge_homophily",
        isfinite(info->edge_homophily) ? json_real(info->edge_homophily) : json_null(),
        "class_sizes", sizes, "splits", splits);
}

static int describe(const char *name, const char *data_dir, bool json) {
    pgcn_dataset *data;
    int code = cli_load_dataset(&cli_data, name, data_dir, "", &data);
    if (code >= 0) return code;
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    const int32_t *label = pgcn_dataset_labels(data);
    int64_t *class_size = calloc((size_t)info.classes + 1, sizeof *class_size);
    if (!class_size) {
        cli_complain(&cli_data, "out of memory");
        pgcn_dataset_free(data);
        return EXIT_FAILED;
    }
    for (int64_t j = 0; j < info.nodes; j++)
        if (label[j] >= 0) class_size[label[j]]++;
    code = EXIT_DONE;
    if (json)
        code = cli_print_json(&cli_data, info_to_json(data, &info, class_size));
    else
        print_info(data, &info, class_size);
    free(class_size);
    pgcn_dataset_free(data);
    return code;
}

static int run(int argc, char **argv) {
    const char *data_dir = NULL;
    bool json = false;
    const cli_option options[] = {
        {"data", "DIR", "PATHGCN_DATA", "folder that holds named data sets", &data_dir, NULL},
        {"json", NULL, NULL, "print one JSON line", NULL, &json},
        {NULL, NULL, NULL, NULL, NULL, NULL}};
    cli_arguments arguments;
    int code = cli_parse(&cli_data, options, 1, 2, argc, argv, &arguments);
    if (code >= 0) return code;
    if (strcmp(arguments.word[0], "list") == 0 && arguments.words == 1) return list(data_dir, json);
    if (strcmp(arguments.word[0], "info") == 0 && arguments.words == 2)
        return describe(arguments.word[1], data_dir, json);
    cli_complain(&cli_data,
                 "'%s%s%s' is not understood; usage: pathgcn data list, or pathgcn data "
                 "info NAME|DIR",
                 arguments.word[0], arguments.words > 1 ? " " : "",
                 arguments.words > 1 ? arguments.word[1] : "");
    return EXIT_USAGE;
}
