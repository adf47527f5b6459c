/* pathgcn data convert: any data set as one file, also one that is larger than memory. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static pgcn_status run(int argc, char **argv);

static const cli_brief most_used[] = {{.name = "out"},  {.name = "store"}, {.name = "memory"},
                                      CLI_BRIEF_SOURCE, {.name = "json"},  {.name = NULL}};

const cli_command cli_data_convert = {
    .name = "data convert",
    .summary = "write a data set as one file",
    .arguments = "[NAME|PATH]",
    .text =
        "Turns anything that can be read into one file: FILE.pgcn, the container that loads by\n"
        "mmap at once, or FILE.npz, which Python reads with numpy.load (docs/FORMATS.md describes\n"
        "both). Steps of --prepare are applied and recorded; order=community puts neighbours next\n"
        "to each other, so that fewer pages are read from a large file.\n"
        "\n"
        "A data set that is larger than memory is converted within --memory: large arrays are\n"
        "temporary files in FILE.pgcn.parts, beside the result, and edges are sorted there in parts.\n"
        "The result is the same, byte for byte. Without --memory that happens by itself where a data set\n"
        "does not fit. After Ctrl-C, a full disk or a crash the same command goes on from what\n"
        "is there; remove the directory to give it up. It needs room for the data set as float32, for\n"
        "its edges three times, and for the result.",
    .most_used = most_used,
    .examples = "  pathgcn data convert karate --out karate.pgcn\n"
                "  pathgcn data convert sbm:nodes=500 --prepare largest-component --out sbm.npz\n"
                "  pathgcn data convert powerlaw --store float16 --memory 64M --out law.pgcn\n",
    .most_words = 1,
    .run = run,
};

typedef struct request {
    cli_source source;
    const char *name, *out, *store, *memory_text;
    bool json;
    int64_t memory; /* 0: none */
    char parts[4200];
    cli_progress progress;
} request;

static pgcn_status check(request *r, bool *npz) {
    static const char *const stores[] = {"float32", "float16", "bf16", "int8"};
    bool known = !r->store;
    *npz = r->out && cli_ends_in(r->out, ".npz");
    if (!r->out || (!*npz && !cli_ends_in(r->out, ".pgcn")))
        return cli_fail(&cli_data_convert, PGCN_ERR_ARGUMENT,
                        "--out is %s%s%s, expected the name of a file that ends in .pgcn or .npz",
                        r->out ? "'" : "missing", r->out ? r->out : "", r->out ? "'" : "");
    for (int i = 0; i < 4; i++) known = known || strcmp(r->store, stores[i]) == 0;
    if (!known)
        return cli_fail(&cli_data_convert, PGCN_ERR_ARGUMENT,
                        "--store is '%s', expected float32, float16, bf16 or int8", r->store);
    CLI_TRY(cli_memory(&cli_data_convert, r->memory_text, &r->memory));
    if (*npz && (r->store || r->memory > 0))
        return cli_fail(&cli_data_convert, PGCN_ERR_ARGUMENT,
                        "--%s is for containers; give --out a name that ends in .pgcn",
                        r->store ? "store" : "memory");
    return PGCN_OK;
}

/* Without --memory: what does not fit is converted through files, and a line says so. */
static pgcn_status choose_memory(request *r, bool npz) {
    int64_t needed = 0, available = pgcn_memory_available();
    char need_text[32], free_text[32], bound[32];
    CLI_TRY(cli_estimate(&cli_data_convert, r->name, &r->source, &needed));
    if (npz || r->memory > 0 || available < 0 || needed <= available) return PGCN_OK;
    r->memory = available / 4 * 3 > 16 << 20 ? available / 4 * 3 : 16 << 20;
    pgcn_format_bytes(needed, need_text);
    pgcn_format_bytes(available, free_text);
    pgcn_format_bytes(r->memory, bound);
    fprintf(
        stderr,
        "note: this needs about %s in memory, and %s are available: it is converted within %s through "
        "files in %s (--memory decides otherwise)\n",
        need_text, free_text, bound, r->parts);
    return PGCN_OK;
}

static bool on_work(const char *what, double share, void *context) {
    request *r = context;
    char percent[16], memory[64], size[32];
    if (cli_interrupted()) return false;
    if (!cli_progress_is_due(&r->progress)) return true;
    pgcn_memory_use use = pgcn_memory_in_use();
    snprintf(percent, sizeof percent, "%.0f%%", 100 * share);
    pgcn_format_bytes(use.anonymous + use.mapped, size);
    snprintf(memory, sizeof memory, "%s in memory", size);
    const char *const piece[] = {what, percent, memory, NULL};
    cli_progress_show(&r->progress, share, piece);
    return true;
}

static pgcn_status report(const request *r, const pgcn_dataset *data) {
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    struct stat about = {0};
    char size[32];
    cli_print_notes(stderr, data);
    if (stat(r->out, &about) != 0) about.st_size = 0;
    pgcn_format_bytes((int64_t)about.st_size, size);
    if (r->json)
        return cli_print_json(&cli_data_convert,
                              json_pack("{s:s, s:s, s:s, s:s, s:I, s:I}", "dataset", info.name,
                                        "out", r->out, "fingerprint", info.fingerprint, "store",
                                        r->store ? r->store : "float32", "bytes",
                                        (json_int_t)about.st_size, "peak_rss_bytes",
                                        (json_int_t)cli_peak_rss_bytes()));
    printf("%s: %lld nodes, %lld edges, %s written to %s\n", info.name, (long long)info.nodes,
           (long long)info.edges, size, r->out);
    return PGCN_OK;
}

static pgcn_status convert(request *r, bool npz) {
    pgcn_dataset *data;
    pgcn_save_opts opts = pgcn_save_opts_default();
    const char *advice =
        r->memory > 0 && !cli_interrupted() ? "; the same command goes on from what is there" : "";
    opts.store = r->store;
    CLI_TRY(cli_load_dataset(&cli_data_convert, r->name, &r->source, "", &data));
    pgcn_status status =
        npz ? pgcn_dataset_save_npz(data, r->out) : pgcn_dataset_save_as(data, r->out, &opts);
    if (status != PGCN_OK)
        status = cli_fail(&cli_data_convert, status, "%s%s", pgcn_last_error(), advice);
    cli_progress_clear(&r->progress);
    if (status == PGCN_OK) status = report(r, data);
    pgcn_dataset_free(data);
    return status;
}

static pgcn_status run(int argc, char **argv) {
    request r = {0};
    const cli_option options[] = {
        {"out", "FILE", NULL, "FILE.pgcn or FILE.npz; required", &r.out, NULL},
        {"store", "float32 | float16 | bf16 | int8", "float32",
         "type of the features in FILE.pgcn; int8 has a scale per column. Loading gives float32 again, "
         "rounded (docs/FORMATS.md has the bounds)",
         &r.store, NULL},
        {"memory", "SIZE", NULL,
         "convert within so much memory, 512M or 4G (MiB, GiB), through temporary files in "
         "FILE.pgcn.parts; without it only where the data does not fit",
         &r.memory_text, NULL},
        CLI_SOURCE_OPTIONS(r.source),
        CLI_JSON_OPTION(r.json),
        CLI_OPTIONS_END};
    cli_arguments arguments;
    bool npz;
    pgcn_status status = cli_parse(&cli_data_convert, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    r.name = cli_first_word(&arguments);
    CLI_TRY(check(&r, &npz));
    snprintf(r.parts, sizeof r.parts, "%s.parts", r.out);
    CLI_TRY(choose_memory(&r, npz));
    CLI_TRY(cli_progress_open(&r.progress, &cli_data_convert, false, NULL));
    if (r.memory > 0) CLI_TRY(cli_report(&cli_data_convert, pgcn_memory_bound(r.memory, r.parts)));
    cli_catch_signals();
    pgcn_on_work(on_work, &r);
    status = convert(&r, npz);
    pgcn_on_work(NULL, NULL);
    cli_progress_close(&r.progress);
    if (status == PGCN_OK) status = cli_report(&cli_data_convert, pgcn_memory_bound_done());
    if (status == PGCN_ERR_STOPPED && r.memory > 0)
        fprintf(stderr, "What was done is kept in %s: the same command goes on from there.\n",
                r.parts);
    if (status != PGCN_OK) (void)pgcn_memory_bound(0, NULL); /* what is there stays */
    return status;
}
