/* pathgcn paths: random walks to a file, for people who want the paths and not the network. */
#include "cli/cli.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static pgcn_status run(int argc, char **argv);

static const cli_brief paths_most_used[] = {
    {.name = "out", .help = "where to write; .npy for NumPy, else CSV"},
    CLI_BRIEF_SOURCE,
    {.name = "path-length"},
    {.name = "paths"},
    {.name = "starts"},
    {.name = "walk", .value = "WALK", .help = "uniform, weighted or node2vec [uniform]"},
    {.name = "seed"},
    {.name = "threads"},
    {.name = NULL}};

const cli_command cli_paths = {
    .name = "paths",
    .summary = "sample random walks to a file",
    .arguments = "[NAME|PATH]",
    .text =
        "Samples p walks of k nodes from every node (or from --starts) and writes them: as a\n"
        "NumPy array int32 [starts, p, k] when the file's name ends in .npy, else as CSV, a walk\n"
        "a line: start,path,node0,node1,... with the ids of the data (the array has the numbers of\n"
        "the nodes, from 0). A walk without a next node stays where it is. The same seed gives the\n"
        "same walks with any number of threads.",
    .most_used = paths_most_used,
    .examples =
        "  pathgcn paths karate --path-length 4 --paths 2 --starts 0,33\n"
        "  pathgcn paths cora --walk node2vec --return-p 4 --inout-q 0.25 --out walks.npy\n",
    .computes = true,
    .most_words = 1,
    .run = run,
};

typedef struct request {
    cli_source source;
    const char *out, *starts_text;
    const char *length, *paths, *walk, *p, *q, *seed, *draw, *threads;
    bool may_stay;
} request;

static pgcn_status real_number(const char *option, const char *text, float *out) {
    double number;
    if (!pgcn_number_parse(text, &number) || number < FLT_MIN || number > FLT_MAX)
        return cli_fail(&cli_paths, PGCN_ERR_ARGUMENT, "--%s is '%s', expected a number above 0",
                        option, text);
    *out = (float)number;
    return PGCN_OK;
}

static pgcn_status find_walk(const char *name, pgcn_walk *out) {
    static const char *const names[] = {[PGCN_WALK_UNIFORM] = "uniform",
                                        [PGCN_WALK_WEIGHTED] = "weighted",
                                        [PGCN_WALK_NODE2VEC] = "node2vec"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (pgcn_walk)i;
            return PGCN_OK;
        }
    return cli_fail(&cli_paths, PGCN_ERR_ARGUMENT,
                    "--walk is '%s', expected uniform | weighted | node2vec", name);
}

static pgcn_status walk_options(const request *r, pgcn_paths_opts *opts) {
    long long length, paths, seed, draw, threads;
    CLI_TRY(cli_number(&cli_paths, "path-length", r->length, 1, 4096, &length));
    CLI_TRY(cli_number(&cli_paths, "paths", r->paths, 1, 65536, &paths));
    CLI_TRY(cli_number(&cli_paths, "seed", r->seed, 0, PGCN_MAX_SEED, &seed));
    CLI_TRY(cli_number(&cli_paths, "draw", r->draw, 0, UINT32_MAX, &draw));
    CLI_TRY(cli_number(&cli_paths, "threads", r->threads, 0, 1024, &threads));
    CLI_TRY(real_number("return-p", r->p, &opts->return_p));
    CLI_TRY(real_number("inout-q", r->q, &opts->inout_q));
    opts->length = (int)length;
    opts->paths = (int)paths;
    opts->seed = (uint64_t)seed;
    opts->draw = (uint64_t)draw;
    opts->threads = (int)threads;
    opts->may_stay = r->may_stay;
    return find_walk(r->walk, &opts->walk);
}

static pgcn_status second_order_options(const cli_arguments *arguments,
                                        const pgcn_paths_opts *opts) {
    const char *given = cli_is_given(arguments, "return-p")  ? "return-p"
                        : cli_is_given(arguments, "inout-q") ? "inout-q"
                                                             : NULL;
    if (!given || (opts->walk == PGCN_WALK_NODE2VEC && opts->length > 2)) return PGCN_OK;
    return cli_fail(
        &cli_paths, PGCN_ERR_ARGUMENT,
        opts->walk == PGCN_WALK_NODE2VEC
            ? "--%s does nothing: a walk of one step has no step before it; set --path-length to "
              "at least 3"
            : "--%s does nothing: --walk is not node2vec; leave it out or add --walk node2vec",
        given);
}

/* The walks, and what they start from. */
typedef struct sample {
    const pgcn_dataset *data;
    int64_t starts;
    pgcn_node *start; /* NULL: all nodes */
    int paths, length;
    pgcn_node *walks; /* [starts, paths, length] */
} sample;

static void print_csv(FILE *out, const sample *s) {
    const int k = s->length;
    fprintf(out, "start,path");
    for (int i = 0; i < k; i++) fprintf(out, ",node%d", i);
    for (int64_t w = 0; w < s->starts * s->paths && !ferror(out); w++) {
        fputc('\n', out);
        cli_put_id(out, s->data, s->walks[w * k]);
        fprintf(out, ",%lld", (long long)(w % s->paths));
        for (int i = 0; i < k; i++) {
            fputc(',', out);
            cli_put_id(out, s->data, s->walks[w * k + i]);
        }
    }
    fputc('\n', out);
}

static pgcn_status write_csv(const char *path, const sample *s) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return cli_fail(&cli_paths, PGCN_ERR_MEMORY, "out of memory");
    print_csv(out, s);
    pgcn_status status =
        fclose(out) == 0 ? cli_report(&cli_paths, pgcn_file_write(path, text, bytes))
                         : cli_fail(&cli_paths, PGCN_ERR_MEMORY,
                                    "out of memory for the text of %lld walks; write .npy instead",
                                    (long long)s->starts * s->paths);
    free(text);
    return status;
}

/* The array has the node numbers of the source, not the rows of the data set. */
static pgcn_status write_npy(const char *path, sample *s) {
    for (int64_t i = 0; i < s->starts * s->paths * s->length; i++)
        s->walks[i] = (pgcn_node)cli_node_number(s->data, s->walks[i]);
    return cli_report(&cli_paths, pgcn_paths_save(path, s->walks, s->starts, s->paths, s->length));
}

static pgcn_status draw_walks(const pgcn_paths_opts *opts, sample *s) {
    const pgcn_node *all = NULL; /* all nodes by their numbers; NULL if rows are numbers */
    if (!s->start) pgcn_dataset_order(s->data, NULL, &all);
    s->walks = calloc((size_t)s->starts, (size_t)s->paths * (size_t)s->length * sizeof *s->walks);
    if (!s->walks)
        return cli_fail(&cli_paths, PGCN_ERR_MEMORY,
                        "out of memory for %lld x %d walks of %d nodes", (long long)s->starts,
                        s->paths, s->length);
    return cli_report(&cli_paths,
                      pgcn_paths_sample(pgcn_dataset_graph(s->data), opts,
                                        s->start ? s->start : all, s->starts, s->walks));
}

static pgcn_status sample_and_write(const request *r, const pgcn_dataset *data,
                                    const pgcn_paths_opts *opts) {
    sample s = {.data = data,
                .starts = pgcn_graph_nodes(pgcn_dataset_graph(data)),
                .paths = opts->paths,
                .length = opts->length};
    pgcn_status status =
        r->starts_text ? cli_nodes(&cli_paths, "starts", r->starts_text, data, &s.start, &s.starts)
                       : PGCN_OK;
    if (status == PGCN_OK) status = draw_walks(opts, &s);
    if (status == PGCN_OK) {
        cli_print_notes(stderr, data);
        if (!r->out)
            print_csv(stdout, &s);
        else
            status = cli_ends_in(r->out, ".npy") ? write_npy(r->out, &s) : write_csv(r->out, &s);
    }
    free(s.start);
    free(s.walks);
    return status;
}

static pgcn_status run(int argc, char **argv) {
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
        {"may-stay", NULL, NULL, "a step may also stay at its node", NULL, &r.may_stay},
        {"seed", "S", "0", "seed", &r.seed, NULL},
        {"draw", "D", "0", "number of the sample: each is another one of the same seed", &r.draw,
         NULL},
        {"threads", "T", "0", "threads; 0: one per core", &r.threads, NULL},
        CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    pgcn_dataset *data;
    pgcn_status status = cli_parse(&cli_paths, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    CLI_TRY(walk_options(&r, &opts));
    CLI_TRY(second_order_options(&arguments, &opts));
    CLI_TRY(cli_load_dataset(&cli_paths, cli_first_word(&arguments), &r.source, "", &data));
    status = sample_and_write(&r, data, &opts);
    pgcn_dataset_free(data);
    return status;
}
