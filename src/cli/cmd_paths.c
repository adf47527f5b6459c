/* pathgcn paths: random walks to a file, for people who want the paths and not the network. */
#include "cli/cli.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const cli_command cli_paths = {
    .name = "paths",
    .summary = "sample random walks to a file",
    .arguments = "[NAME|PATH]",
    .text =
        "Samples p walks of k nodes from every node (or from --starts) and writes them: as a\n"
        "NumPy array int32 [starts, p, k] when the file's name ends in .npy, else as CSV, a walk\n"
        "a line: start,path,node0,node1,... with the ids of the data (the array has the numbers of\n"
        "the nodes, from 0). A walk that cannot go on stays where it is. The same seed gives the\n"
        "same walks at any number of threads.",
    .examples =
        "  pathgcn paths karate --path-length 4 --paths 2 --starts 0,33\n"
        "  pathgcn paths cora --walk node2vec --return-p 4 --inout-q 0.25 --out walks.npy\n",
    .config_groups = NULL,
    .computes = true,
    .run = run,
};

typedef struct request {
    cli_source source;
    const char *out, *starts_text;
    const char *length, *paths, *walk, *p, *q, *seed, *draw, *threads;
    bool may_stay;
} request;

static bool real_number(const char *option, const char *text, float *out) {
    double number;
    if (pgcn_number_parse(text, &number) && number >= FLT_MIN && number <= FLT_MAX) {
        *out = (float)number;
        return true;
    }
    cli_complain(&cli_paths, "--%s is '%s', expected a number above 0", option, text);
    return false;
}

static bool walk_options(const request *r, pgcn_paths_opts *opts) {
    long long length, paths, seed, draw, threads;
    const char *walks[] = {"uniform", "weighted", "node2vec"};
    if (!cli_number(&cli_paths, "path-length", r->length, 1, 4096, &length) ||
        !cli_number(&cli_paths, "paths", r->paths, 1, 65536, &paths) ||
        !cli_number(&cli_paths, "seed", r->seed, 0, PGCN_MAX_SEED, &seed) ||
        !cli_number(&cli_paths, "draw", r->draw, 0, UINT32_MAX, &draw) ||
        !cli_number(&cli_paths, "threads", r->threads, 0, 1024, &threads) ||
        !real_number("return-p", r->p, &opts->return_p) ||
        !real_number("inout-q", r->q, &opts->inout_q))
        return false;
    opts->length = (int)length;
    opts->paths = (int)paths;
    opts->seed = (uint64_t)seed;
    opts->draw = (uint64_t)draw;
    opts->threads = (int)threads;
    opts->may_stay = r->may_stay;
    for (int i = 0; i < 3; i++)
        if (strcmp(r->walk, walks[i]) == 0) {
            opts->walk = (pgcn_walk)i;
            return true;
        }
    cli_complain(&cli_paths, "--walk is '%s', expected uniform | weighted | node2vec", r->walk);
    return false;
}

static bool second_order_options(const cli_arguments *arguments, const pgcn_paths_opts *opts) {
    const char *given = cli_is_given(arguments, "return-p")  ? "return-p"
                        : cli_is_given(arguments, "inout-q") ? "inout-q"
                                                             : NULL;
    if (!given || (opts->walk == PGCN_WALK_NODE2VEC && opts->length > 2)) return true;
    cli_complain(&cli_paths,
                 opts->walk == PGCN_WALK_NODE2VEC
                     ? "--%s does nothing: a walk of one step has no step before it; set "
                       "--path-length to at least 3"
                     : "--%s does nothing: --walk is not node2vec; leave it out or add --walk "
                       "node2vec",
                 given);
    return false;
}

/* The node with this id, -1 if there is none. Few starts are given by hand: a search each is fine. */
static int64_t find_node(const pgcn_dataset *data, const char *id, size_t length) {
    int64_t n = pgcn_dataset_describe(data).nodes;
    if (pgcn_dataset_node_id(data, 0)) {
        for (int64_t i = 0; i < n; i++) {
            const char *name = pgcn_dataset_node_id(data, i);
            if (strlen(name) == length && memcmp(name, id, length) == 0) return i;
        }
        return -1;
    }
    char number[32];
    int64_t node;
    snprintf(number, sizeof number, "%.*s", (int)length, id);
    bool known = length < sizeof number && pgcn_integer_parse(number, 0, n - 1, &node);
    return known ? cli_node_row(data, node) : -1;
}

/* "0,5,33" to nodes. */
static bool parse_starts(const char *text, const pgcn_dataset *data, pgcn_node **out,
                         int64_t *count) {
    *out = NULL;
    *count = 0;
    *out = malloc((strlen(text) + 1) * sizeof **out);
    if (!*out) {
        cli_complain(&cli_paths, "out of memory");
        return false;
    }
    for (const char *id = text;;) {
        size_t length = strcspn(id, ",");
        int64_t node = find_node(data, id, length);
        if (node < 0) {
            cli_complain(
                &cli_paths,
                pgcn_dataset_node_id(data, 0)
                    ? "--starts is '%s': number %lld is not a node; expected ids as they "
                      "stand in the data, separated by commas"
                    : "--starts is '%s': number %lld is not a node; expected ids from 0 to "
                      "%lld separated by commas",
                text, (long long)*count + 1, (long long)pgcn_dataset_describe(data).nodes - 1);
            free(*out);
            *out = NULL;
            return false;
        }
        (*out)[(*count)++] = (pgcn_node)node;
        id += length;
        if (!*id) return true;
        id++;
    }
}

static int write_csv(const char *path, const pgcn_dataset *data, const pgcn_node *walks,
                     int64_t starts, int p, int k) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = path ? open_memstream(&text, &bytes) : stdout;
    if (!out) {
        cli_complain(&cli_paths, "out of memory");
        return EXIT_FAILED;
    }
    fprintf(out, "start,path");
    for (int i = 0; i < k; i++) fprintf(out, ",node%d", i);
    for (int64_t w = 0; w < starts * p && !ferror(out); w++) {
        fputc('\n', out);
        cli_put_id(out, data, walks[w * k]);
        fprintf(out, ",%lld", (long long)(w % p));
        for (int i = 0; i < k; i++) {
            fputc(',', out);
            cli_put_id(out, data, walks[w * k + i]);
        }
    }
    fputc('\n', out);
    if (!path) return EXIT_DONE;
    if (fclose(out) != 0) {
        cli_complain(&cli_paths, "out of memory for the text of %lld walks; write .npy instead",
                     (long long)starts * p);
        free(text);
        return EXIT_FAILED;
    }
    pgcn_status status = pgcn_file_write(path, text, bytes);
    free(text);
    return status == PGCN_OK ? EXIT_DONE : cli_failed(&cli_paths, status);
}

static int sample_and_write(const request *r, const pgcn_dataset *data,
                            const pgcn_paths_opts *opts) {
    const pgcn_graph *graph = pgcn_dataset_graph(data);
    pgcn_node *starts = NULL;
    int64_t n_starts = pgcn_graph_nodes(graph);
    const pgcn_node *all = NULL; /* nodes by their numbers; NULL if they lie so */
    if (r->starts_text && !parse_starts(r->starts_text, data, &starts, &n_starts))
        return EXIT_USAGE;
    if (!starts) pgcn_dataset_order(data, NULL, &all);
    pgcn_node *walks =
        calloc((size_t)n_starts, (size_t)opts->paths * (size_t)opts->length * sizeof *walks);
    int code;
    pgcn_status status = PGCN_OK;
    if (!walks) {
        cli_complain(&cli_paths, "out of memory for %lld x %d walks of %d nodes",
                     (long long)n_starts, opts->paths, opts->length);
        code = EXIT_FAILED;
    } else if ((status = pgcn_paths_sample(graph, opts, starts ? starts : all, n_starts, walks)) !=
               PGCN_OK) {
        code = cli_failed(&cli_paths, status);
    } else {
        cli_print_notes(stderr, data);
        size_t length = r->out ? strlen(r->out) : 0;
        if (length > 4 && strcmp(r->out + length - 4, ".npy") == 0) {
            for (int64_t i = 0; i < n_starts * opts->paths * opts->length; i++)
                walks[i] = (pgcn_node)cli_node_number(data, walks[i]);
            status = pgcn_paths_save(r->out, walks, n_starts, opts->paths, opts->length);
            code = status == PGCN_OK ? EXIT_DONE : cli_failed(&cli_paths, status);
        } else {
            code = write_csv(r->out, data, walks, n_starts, opts->paths, opts->length);
        }
    }
    free(starts);
    free(walks);
    return code;
}

static int run(int argc, char **argv) {
    request r = {.length = "5",
                 .paths = "5",
                 .walk = "uniform",
                 .p = "1",
                 .q = "1",
                 .seed = "0",
                 .draw = "0",
                 .threads = "0"};
    const cli_option options[] = {
        {"out", "FILE", "standard output", "where to write; .npy for NumPy, else CSV", &r.out,
         NULL},
        CLI_SOURCE_OPTIONS(r.source),
        {"path-length", "K", "5", "nodes of a walk, its start included", &r.length, NULL},
        {"paths", "P", "5", "walks from each start", &r.paths, NULL},
        {"starts", "IDS", "all nodes", "node ids separated by commas", &r.starts_text, NULL},
        {"walk", "uniform | weighted | node2vec", "uniform", "how a walk chooses its next node",
         &r.walk, NULL},
        {"return-p", "P", "1", "node2vec p", &r.p, NULL},
        {"inout-q", "Q", "1", "node2vec q", &r.q, NULL},
        {"may-stay", NULL, NULL, "staying is one more choice of every step", NULL, &r.may_stay},
        {"seed", "S", "0", "seed", &r.seed, NULL},
        {"draw", "D", "0", "another number, another sample of the same seed", &r.draw, NULL},
        {"threads", "T", "0", "threads; 0: one per core", &r.threads, NULL},
        {NULL, NULL, NULL, NULL, NULL, NULL}};
    cli_arguments arguments;
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    pgcn_dataset *data;
    int code = cli_parse(&cli_paths, options, 0, 1, argc, argv, &arguments);
    if (code >= 0) return code;
    if (!walk_options(&r, &opts) || !second_order_options(&arguments, &opts)) return EXIT_USAGE;
    code = cli_load_dataset(&cli_paths, arguments.words > 0 ? arguments.word[0] : NULL, &r.source,
                            "", &data);
    if (code >= 0) return code;
    code = sample_and_write(&r, data, &opts);
    pgcn_dataset_free(data);
    return code;
}
