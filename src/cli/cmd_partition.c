/* pathgcn data partition: divides the nodes into parts with few edges between them, writes the data set with
 * its nodes in that order, and says what that is worth on several machines. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

static pgcn_status run(int argc, char **argv);

static const cli_brief most_used[] = {{.name = "parts"}, {.name = "by"},   {.name = "out"},
                                      {.name = "ranks"}, {.name = "json"}, {.name = NULL}};

const cli_command cli_data_partition = {
    .name = "data partition",
    .summary = "order the nodes by parts of the graph",
    .arguments = "[NAME|PATH]",
    .text =
        "Divides the nodes into parts of equal size with few edges between them, balanced by visits and\n"
        "features, and writes the data set with its nodes part by part. Each part is a group of nodes:\n"
        "sums are made by groups, so their number is part of a run's identity, and machines would have\n"
        "whole groups. A .pgcn is written over itself unless --out is given; it keeps ids and results.\n"
        "\n"
        "Prints the share of edges that are cut and the balance; and, for a network of --channels,\n"
        "--layers, --paths, --path-length, --samples and --batch-norm, what each of several machines (ranks) would have\n"
        "to fetch in a step and to hold. That is counted on the graph and on one draw of the walks of all\n"
        "nodes. 'mpirun -n R pathgcn train FILE.pgcn' then trains on R of them.\n"
        "\n"
        "Parts have a multiple of 64 nodes, so that small graphs get fewer than asked. METIS finds\n"
        "better parts; the built-in partition needs less memory and no library.",
    .most_used = most_used,
    .examples =
        "  pathgcn data partition powerlaw:nodes=20000,edges=140000 --parts 64 --out parts.pgcn\n"
        "  pathgcn data partition sbm:nodes=2000 --parts 8 --by builtin --ranks 2,4 --out sbm.pgcn --json\n",
    .most_words = 1,
    .computes = true,
    .run = run,
};

enum { MOST_RANKS = 16, MOST_PARTS = 4096 };

typedef struct request {
    cli_source source;
    const char *out, *by, *parts, *ranks, *channels, *layers, *paths, *length, *samples, *norm,
        *threads;
    bool json;
    cli_progress progress;
    double start;
} request;

/* ---- options ---------------------------------------------------------------------------------- */

static bool has_metis(void) {
    return strstr(pgcn_info_get().partitions, "METIS") != NULL;
}

/* "metis" or "parts", as the step is called. */
static pgcn_status find_order(const char *by, const char **out) {
    if (strcmp(by, "auto") == 0) {
        *out = has_metis() ? "metis" : "parts";
        return PGCN_OK;
    }
    bool metis = strcmp(by, "metis") == 0;
    if (!metis && strcmp(by, "builtin") != 0)
        return cli_fail(&cli_data_partition, PGCN_ERR_ARGUMENT,
                        "--by is '%s', expected auto | metis | builtin", by);
    *out = metis ? "metis" : "parts";
    return PGCN_OK;
}

/* Where it is written. */
static pgcn_status find_out(const request *r, const char *word, const char **out) {
    *out = r->out;
    if (!*out && word && cli_ends_in(word, ".pgcn")) *out = word;
    if (*out && cli_ends_in(*out, ".pgcn")) return PGCN_OK;
    return cli_fail(&cli_data_partition, PGCN_ERR_ARGUMENT,
                    "--out is %s%s%s, expected the name of a file that ends in .pgcn%s",
                    *out ? "'" : "missing", *out ? *out : "", *out ? "'" : "",
                    *out ? "" : "; only a .pgcn can be written over itself");
}

static pgcn_status set_number(const char *option, const char *text, long long most, int *field) {
    long long number;
    if (!text) return PGCN_OK;
    CLI_TRY(cli_number(&cli_data_partition, option, text, 1, most, &number));
    *field = (int)number;
    return PGCN_OK;
}

static pgcn_status find_config(const request *r, pgcn_config *config) {
    long long threads;
    *config = pgcn_config_default();
    CLI_TRY(cli_number(&cli_data_partition, "threads", r->threads, 0, 1024, &threads));
    config->threads = (int)threads;
    CLI_TRY(set_number("channels", r->channels, 65536, &config->channels));
    CLI_TRY(set_number("layers", r->layers, 65536, &config->layers));
    CLI_TRY(set_number("paths", r->paths, 65536, &config->paths));
    CLI_TRY(set_number("path-length", r->length, 4096, &config->path_length));
    CLI_TRY(set_number("samples", r->samples, 256, &config->samples));
    if (r->norm)
        CLI_TRY(cli_report(&cli_data_partition, pgcn_config_set(config, "batch-norm", r->norm)));
    if (config->samples == 1) config->consistency = 0; /* there is nothing to be consistent with */
    return cli_report(&cli_data_partition, pgcn_config_check(config));
}

/* "2,4,8"; NULL: 2, 4, 8, ... up to 64 and to the number of groups. */
static pgcn_status find_ranks(const char *text, int64_t groups, int ranks[MOST_RANKS], int *count) {
    *count = 0;
    for (int r = 2; !text && r <= 64 && r <= groups; r *= 2) ranks[(*count)++] = r;
    while (text) {
        char number[16];
        size_t letters = strcspn(text, ",");
        snprintf(number, sizeof number, "%.*s", (int)letters, text);
        long long rank;
        if (*count == MOST_RANKS || letters >= sizeof number)
            return cli_fail(&cli_data_partition, PGCN_ERR_ARGUMENT,
                            "--ranks has more than %d numbers or a long one, expected e.g. 2,4,8",
                            MOST_RANKS);
        CLI_TRY(cli_number(&cli_data_partition, "ranks", number, 1, MOST_PARTS, &rank));
        ranks[(*count)++] = (int)rank;
        text = text[letters] ? text + letters + 1 : NULL;
    }
    return PGCN_OK;
}

/* ---- output ----------------------------------------------------------------------------------- */

typedef struct result {
    const pgcn_dataset *data;
    const char *order, *out;
    double seconds;
    pgcn_parts parts;
    pgcn_config config;
    int count;
    pgcn_ranks ranks[MOST_RANKS];
} result;

static void print_ranks(const result *r) {
    printf(
        "\nA network of %d channels and %d layers%s with %d paths of %d nodes, %d samples a step, on\n"
        "several ranks. Of the one that has most: its nodes; nodes of others next to them, visited by\n"
        "its walks and visiting it; what it fetches in a step; and its memory, in all, for its own\n"
        "nodes and for those of others.\n\n",
        r->config.channels, r->config.layers, r->config.batch_norm ? " and batch norm" : "",
        r->config.paths, r->config.path_length, r->config.samples);
    printf("%5s %11s %11s %11s %11s %10s %10s %10s %10s\n", "ranks", "nodes", "next", "visited",
           "visiting", "fetched", "memory", "own", "others'");
    for (int i = 0; i < r->count; i++) {
        const pgcn_ranks *x = &r->ranks[i];
        const int64_t count[4] = {x->rows, x->neighbours, x->visited, x->visitors};
        const int64_t bytes[4] = {x->bytes_step, x->memory, x->memory_rows, x->memory_fetched};
        char text[32];
        printf("%5d", x->ranks);
        for (int k = 0; k < 4; k++) {
            cli_format_count(count[k], text);
            printf(" %11s", text);
        }
        for (int k = 0; k < 4; k++) {
            pgcn_format_bytes(bytes[k], text);
            printf(" %10s", text);
        }
        putchar('\n');
    }
}

static void print_result(const result *r) {
    pgcn_dataset_info info = pgcn_dataset_describe(r->data);
    char nodes[32], rows[32];
    cli_format_count(info.nodes, nodes);
    cli_format_count(r->parts.rows, rows);
    printf("%s\n\n", info.name);
    printf("%-10s %lld, of %s nodes each but the last; %s nodes in all; %s, %.1f s\n", "parts",
           (long long)r->parts.parts, rows, nodes,
           strcmp(r->order, "metis") == 0 ? "METIS" : "built in", r->seconds);
    printf("%-10s %.1f%% of the edges are between two parts\n", "cut", 100 * r->parts.cut_share);
    printf("%-10s of visits, a part has at most %.2f of its share; of features %.2f\n", "balance",
           r->parts.visits_share, r->parts.features_share);
    printf("%-10s %s\n", "written to", r->out);
    if (r->count > 0) print_ranks(r);
}

static json_t *rank_to_json(const pgcn_ranks *x) {
    return json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "ranks", x->ranks,
                     "nodes", (json_int_t)x->rows, "neighbours", (json_int_t)x->neighbours,
                     "visited", (json_int_t)x->visited, "visitors", (json_int_t)x->visitors,
                     "bytes_step", (json_int_t)x->bytes_step, "memory", (json_int_t)x->memory,
                     "memory_shared", (json_int_t)x->memory_shared, "memory_rows",
                     (json_int_t)x->memory_rows, "memory_fetched", (json_int_t)x->memory_fetched);
}

static json_t *result_to_json(const result *r) {
    pgcn_dataset_info info = pgcn_dataset_describe(r->data);
    json_t *ranks = json_array();
    for (int i = 0; i < r->count; i++) json_array_append_new(ranks, rank_to_json(&r->ranks[i]));
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:i, s:i, s:i, s:i, s:i, s:b, "
        "s:o}",
        "dataset", info.name, "out", r->out, "fingerprint", info.fingerprint, "by",
        strcmp(r->order, "metis") == 0 ? "metis" : "builtin", "parts", (json_int_t)r->parts.parts,
        "rows", (json_int_t)r->parts.rows, "cut", (json_int_t)r->parts.cut, "cut_share",
        r->parts.cut_share, "visits_share", r->parts.visits_share, "features_share",
        r->parts.features_share, "seconds", r->seconds, "channels", r->config.channels, "layers",
        r->config.layers, "paths", r->config.paths, "path_length", r->config.path_length, "samples",
        r->config.samples, "batch_norm", r->config.batch_norm, "ranks", ranks);
}

/* ---- all of it -------------------------------------------------------------------------------- */

/* What is being done, for how long the command has run, and its memory: METIS does not say how far it is. */
static bool on_work(const char *what, double share, void *context) {
    request *r = context;
    char percent[16] = "", seconds[32], memory[64], size[32];
    if (cli_interrupted()) return false;
    if (!cli_progress_is_due(&r->progress)) return true;
    pgcn_memory_use use = pgcn_memory_in_use();
    if (share > 0) snprintf(percent, sizeof percent, "%.0f%%", 100 * share);
    snprintf(seconds, sizeof seconds, "%.0f s", cli_now() - r->start);
    pgcn_format_bytes(use.anonymous + use.mapped, size);
    snprintf(memory, sizeof memory, "%s in memory", size);
    const char *const piece[] = {what, percent, seconds, memory, NULL};
    cli_progress_show(&r->progress, share, piece);
    return true;
}

/* Divides, measures, writes and reports. */
static pgcn_status partition(request *r, const pgcn_dataset *data, long long parts, result *out) {
    int ranks[MOST_RANKS];
    char steps[64];
    pgcn_dataset *ordered;
    double start = cli_now();
    snprintf(steps, sizeof steps, "order=%s,groups=%lld", out->order, parts);
    CLI_TRY(cli_report(&cli_data_partition, pgcn_dataset_prepare(data, steps, &ordered)));
    out->data = ordered;
    out->seconds = cli_now() - start;
    pgcn_status status = cli_report(&cli_data_partition, pgcn_dataset_parts(ordered, &out->parts));
    if (status == PGCN_OK && out->parts.parts < parts)
        fprintf(
            stderr,
            "note: %lld parts instead of %lld: a part has a multiple of 64 nodes, so that this graph "
            "has no more\n",
            (long long)out->parts.parts, parts);
    if (status == PGCN_OK) status = find_ranks(r->ranks, out->parts.parts, ranks, &out->count);
    if (status == PGCN_OK)
        status = cli_report(&cli_data_partition, pgcn_dataset_ranks(ordered, &out->config, ranks,
                                                                    out->count, out->ranks));
    if (status == PGCN_OK)
        status = cli_report(&cli_data_partition, pgcn_dataset_save(ordered, out->out));
    cli_progress_clear(&r->progress);
    if (status == PGCN_OK && r->json)
        status = cli_print_json(&cli_data_partition, result_to_json(out));
    else if (status == PGCN_OK)
        print_result(out);
    pgcn_dataset_free(ordered);
    return status;
}

static pgcn_status run(int argc, char **argv) {
    request r = {.by = "auto", .parts = "32", .threads = "0", .start = cli_now()};
    const cli_option options[] = {
        {"parts", "N", "32", "parts, at most; up to 4096", &r.parts, NULL},
        {"by", "auto | metis | builtin", "auto",
         "who divides; auto: METIS if this program has it ('pathgcn info' says so)", &r.by, NULL},
        {"out", "FILE", NULL, "FILE.pgcn; without it a .pgcn is written over itself", &r.out, NULL},
        {"ranks", "R,R", NULL, "numbers of machines to predict for; by default 2,4,8,...,64",
         &r.ranks, NULL},
        {"channels", "N", NULL, "of the network to predict for; as train has them by default",
         &r.channels, NULL},
        {"layers", "N", NULL, "the same", &r.layers, NULL},
        {"paths", "N", NULL, "the same", &r.paths, NULL},
        {"path-length", "N", NULL, "the same: nodes of a path", &r.length, NULL},
        {"samples", "N", NULL, "the same: samples of paths in a step", &r.samples, NULL},
        {"batch-norm", "yes | no", NULL, "the same: it needs more memory", &r.norm, NULL},
        {"threads", "N", "0", "threads that walk; 0: one per core", &r.threads, NULL},
        CLI_SOURCE_OPTIONS(r.source),
        CLI_JSON_OPTION(r.json),
        CLI_OPTIONS_END};
    cli_arguments arguments;
    long long parts;
    result out = {0};
    pgcn_dataset *data;
    pgcn_status status = cli_parse(&cli_data_partition, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    const char *word = cli_first_word(&arguments);
    CLI_TRY(find_order(r.by, &out.order));
    CLI_TRY(find_out(&r, word, &out.out));
    CLI_TRY(find_config(&r, &out.config));
    CLI_TRY(cli_number(&cli_data_partition, "parts", r.parts, 1, MOST_PARTS, &parts));
    CLI_TRY(cli_progress_open(&r.progress, &cli_data_partition, false, NULL));
    cli_catch_signals();
    pgcn_on_work(on_work, &r);
    status = cli_load_dataset(&cli_data_partition, word, &r.source, "", &data);
    if (status == PGCN_OK) {
        status = partition(&r, data, parts, &out);
        pgcn_dataset_free(data);
    }
    pgcn_on_work(NULL, NULL);
    cli_progress_close(&r.progress);
    return status;
}
