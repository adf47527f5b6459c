/* pathgcn report: one run, or several side by side, as a page that can be mailed. */
#include "cli/run_report.h"

#include <stdlib.h>
#include <string.h>

static pgcn_status run(int argc, char **argv);

static const cli_brief report_most_used[] = {{.name = "out"},  {.name = "svg"},  {.name = "latex"},
                                             {.name = "data"}, {.name = "json"}, {.name = NULL}};

const cli_command cli_run_report = {
    .name = "report",
    .summary = "a page about a run, or about several, in one file",
    .arguments = "RUN ...",
    .text =
        "RUN is a directory that 'pathgcn train' left, of one seed or of --seeds N, or a model file. The\n"
        "page is one HTML file that loads nothing from anywhere and runs no script, in light and dark.\n"
        "\n"
        "Of one run it shows the verdict in words, the curves with the epoch that was kept, all measures,\n"
        "the confusion matrix, precision and recall of the classes, calibration, the kernels of every\n"
        "layer and their response over the spectrum, the nodes or graphs in two dimensions (principal\n"
        "components of the last hidden layer) by class and by error, the errors it was most sure of, data,\n"
        "split, settings, recipe, fingerprint, machine, and the command that repeats it. The history and\n"
        "all figures are in the page as JSON too.\n"
        "\n"
        "Of several runs it shows means with intervals and the tests of 'pathgcn compare', the curves over\n"
        "each other, and the settings in which they differ.\n"
        "\n"
        "Where the data set is not there any more, the page is made from what the run's directory holds,\n"
        "and says what is missing. --svg and --latex write every figure as a file too, for papers.",
    .brief = "RUN: a directory that 'train' has left, or a model file.",
    .most_used = report_most_used,
    .examples = "  pathgcn report runs/karate\n"
                "  pathgcn report runs/karate --out karate.html --svg figures --latex figures\n"
                "  pathgcn report runs/path runs/gcn --out comparison.html\n",
    .computes = true,
    .least_words = 1,
    .most_words = CLI_MAX_WORDS,
    .run = run,
};

typedef struct request {
    const char *out, *svg, *latex, *data_dir;
    bool json;
} request;

/* ---- the page ------------------------------------------------------------------------------------- */

static void put_contents(report_page *page, const cli_run *run) {
    const char *list[32];
    int n = 0;
    const struct {
        const char *id, *title;
        bool there;
    } sections[] = {
        {"curves", "Training", true},
        {"measures", "Measures", true},
        {"classes", "Classes", run->verdict != NULL},
        {"calibration", "Calibration", run->verdict != NULL},
        {"kernels", "Kernels", cli_report_has_kernels(run)},
        {"items", run->task == PGCN_TASK_GRAPH ? "Graphs" : "Nodes", run->data != NULL},
        {"data", "Data", true},
        {"settings", "Settings", true},
        {"repeat", "Repeat it", true},
    };
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (sections[i].there) list[n++] = sections[i].id, list[n++] = sections[i].title;
    list[n] = NULL;
    report_contents(page, list);
}

static void put_one(report_page *page, const cli_run *run) {
    cli_report_head(page, run);
    put_contents(page, run);
    cli_report_curves(page, run);
    cli_report_measures(page, run);
    cli_report_classes(page, run);
    cli_report_calibration(page, run);
    cli_report_kernels(page, run);
    cli_report_nodes(page, run);
    cli_report_data(page, run);
    cli_report_settings(page, run);
    cli_report_repeat(page, run);
}

static void put_json(report_page *page, const cli_run *runs, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(list, cli_report_to_json(&runs[i]));
    json_t *object = json_pack("{s:s, s:o}", "pathgcn", PGCN_VERSION, "runs", list);
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    if (text)
        report_data(page, "pathgcn-report", text);
    else
        page->text.failed = true;
    free(text);
    json_decref(object);
}

static pgcn_status make_page(const cli_command *command, const char *out, report_page *page,
                             const cli_run *runs, int count) {
    char title[256];
    const cli_run *first = &runs[0];
    if (count == 1)
        snprintf(title, sizeof title, "%.120s: %s with %d layers", pgcn_model_dataset(first->model),
                 pgcn_network_name(first->config->model), first->config->layers);
    else
        snprintf(title, sizeof title, "%d runs side by side", count);
    report_page_open(page, title);
    if (count == 1)
        put_one(page, first);
    else
        CLI_TRY(cli_report_several(command, page, runs, count));
    put_json(page, runs, count);
    pgcn_status status = report_page_close(page, out);
    if (status == PGCN_ERR_MEMORY)
        return cli_fail(command, status, "out of memory for the report of %s", first->given);
    return cli_report(command, status);
}

pgcn_status cli_report_write(const cli_command *command, const char *directory,
                             char out[CLI_PATH_BYTES]) {
    cli_run one;
    report_page page = {0};
    if ((size_t)snprintf(out, CLI_PATH_BYTES, "%s/report.html", directory) >= CLI_PATH_BYTES)
        return cli_fail(command, PGCN_ERR_ARGUMENT, "the path '%.64s...' is too long", directory);
    pgcn_status status = cli_run_load(command, directory, NULL, &one);
    if (status == PGCN_OK) status = make_page(command, out, &page, &one, 1);
    report_page_free(&page);
    cli_run_free(&one);
    return status;
}

/* ---- the command ---------------------------------------------------------------------------------- */

static pgcn_status write_report(const request *r, const cli_run *runs, int count) {
    report_page page = {.svg = r->svg, .latex = r->latex};
    if (r->svg) CLI_TRY(cli_make_directory(&cli_run_report, r->svg));
    if (r->latex) CLI_TRY(cli_make_directory(&cli_run_report, r->latex));
    pgcn_status status = make_page(&cli_run_report, r->out, &page, runs, count);
    char size[32];
    pgcn_format_bytes((int64_t)page.text.length, size);
    if (status == PGCN_OK && r->json)
        status = cli_print_json(&cli_run_report,
                                json_pack("{s:o, s:I, s:i, s:b}", "out", cli_json_text(r->out),
                                          "bytes", (json_int_t)page.text.length, "runs", count,
                                          "data_found", runs[0].data != NULL));
    else if (status == PGCN_OK)
        printf("Report: %s (%s)\n", r->out, size);
    report_page_free(&page);
    return status;
}

static pgcn_status run(int argc, char **argv) {
    request r = {.out = "report.html"};
    const cli_option options[] = {
        {"out", "FILE", "report.html", "where the page is written", &r.out, NULL},
        {"svg", "DIR", NULL, "also every figure as an SVG file in DIR", &r.svg, NULL},
        {"latex", "DIR", NULL, "also every figure as pgfplots or TikZ code in DIR", &r.latex, NULL},
        {"data", "DIR", "where the run says", "folder that holds named data sets", &r.data_dir,
         NULL},
        CLI_JSON_OPTION(r.json),
        CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_run_report, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    int count = arguments.words, loaded = 0;
    cli_run *runs = calloc((size_t)count, sizeof *runs);
    if (!runs)
        return cli_fail(&cli_run_report, PGCN_ERR_MEMORY, "out of memory for %d runs", count);
    while (status == PGCN_OK && loaded < count) {
        status = cli_run_load(&cli_run_report, arguments.word[loaded], r.data_dir, &runs[loaded]);
        loaded++;
    }
    if (status == PGCN_OK) status = write_report(&r, runs, count);
    for (int i = 0; i < loaded; i++) cli_run_free(&runs[i]);
    free(runs);
    return status;
}
