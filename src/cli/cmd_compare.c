/* pathgcn compare: runs of pathgcn train side by side. Means with intervals, and whether the others differ from the
 * first: seed by seed on the same splits where that is possible. comparison.c reads and tests. */
#include "cli/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static pgcn_status run(int argc, char **argv);

static const cli_brief compare_most_used[] = {
    {.name = "part"},
    {.name = "measure", .help = "accuracy, macro-f1, auc, ... [that of the runs]"},
    {.name = "json"},
    {.name = NULL}};

const cli_command cli_compare = {
    .name = "compare",
    .summary = "runs side by side: means, intervals, differences and a test",
    .arguments = "RUN RUN ...",
    .text =
        "RUN is a directory that 'pathgcn train' left, of one seed or of --seeds N. Every run gets the mean\n"
        "of its test figure over seeds or splits, the deviation (with N - 1) and the 95 % interval of the\n"
        "mean. Every run after the first is compared with the first.\n"
        "\n"
        "Trainings with the same seed on the same split are pairs, and the mean of their differences is\n"
        "tested (Student's t). Without equal seeds, trainings on the same split are pairs if each split was\n"
        "trained on once. Where there are no pairs, the means are compared as of independent samples\n"
        "(Welch's t). Differences over several splits of one data set are not independent, because the\n"
        "splits share training items; their variance is raised for that (Nadeau and Bengio, 1/N +\n"
        "test items / training items). With more than one comparison the p-values are adjusted by Holm's\n"
        "rule. A difference counts if p is below 0.05; otherwise the runs are tied, which does not say\n"
        "that they are equal.\n"
        "\n"
        "Runs of other tasks or other classes are refused.\n"
        "\n"
        "A result that chooses between runs has looked at the test items. To choose, compare with\n"
        "--part val; docs/PROTOCOL.md has the rules.",
    .brief = "RUN: a directory that 'train' has left, better with several --seeds.",
    .most_used = compare_most_used,
    .examples = "  pathgcn train karate --seeds 10 --out runs/path\n"
                "  pathgcn train karate --seeds 10 --model gcn --out runs/gcn\n"
                "  pathgcn compare runs/path runs/gcn\n"
                "  pathgcn compare runs/path runs/gcn --part val --measure macro-f1 --json\n",
    .least_words = 2,
    .most_words = CLI_MAX_WORDS,
    .run = run,
};

typedef struct request {
    cli_figure figure;
    bool json;
} request;

/* ---- output ----------------------------------------------------------------------------------------- */

static json_t *runs_to_json(const cli_results *runs, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:o, s:i, s:o, s:o, s:o}", "run", cli_json_text(runs[i].directory),
                            "trainings", runs[i].count, "mean", cli_json_real(runs[i].mean), "std",
                            cli_json_real(runs[i].deviation), "interval_95",
                            cli_json_interval(runs[i].mean, runs[i].deviation, runs[i].count)));
    return list;
}

static json_t *difference_to_json(const cli_results *other, const cli_difference *d) {
    return json_pack("{s:o, s:s, s:i, s:o, s:o, s:i, s:b, s:o, s:o, s:b}", "run",
                     cli_json_text(other->directory), "pairs_by", cli_pairing_words[d->pairing],
                     "pairs", d->pairs, "difference", cli_json_real(d->mean), "standard_error",
                     cli_json_real(d->error), "degrees_of_freedom", d->freedom,
                     "corrected_for_overlapping_splits", d->corrected, "p", cli_json_real(d->p),
                     "p_adjusted", cli_json_real(d->adjusted), "differs", d->adjusted < 0.05);
}

static pgcn_status print_json(const request *r, const cli_results *runs, int count,
                              const cli_difference *d) {
    json_t *list = json_array();
    for (int i = 1; i < count; i++)
        json_array_append_new(list, difference_to_json(&runs[i], &d[i - 1]));
    return cli_print_json(&cli_compare,
                          json_pack("{s:s, s:s, s:o, s:o, s:o}", "part", r->figure.part, "measure",
                                    r->figure.measure, "first", cli_json_text(runs[0].directory),
                                    "runs", runs_to_json(runs, count), "differences", list));
}

static void print_runs(const request *r, const cli_results *runs, int count) {
    int width = 3;
    for (int i = 0; i < count; i++) {
        int length = (int)strlen(runs[i].directory);
        width = length > width ? length : width;
    }
    printf("%-*s %9s %9s %9s   %s\n", width, "run", "trainings", r->figure.part, "deviation",
           "95 % interval of the mean");
    for (int i = 0; i < count; i++) {
        double low, high;
        printf("%-*s %9d %9.2f", width, runs[i].directory, runs[i].count, runs[i].mean);
        if (cli_interval_of_mean(runs[i].mean, runs[i].deviation, runs[i].count, &low, &high))
            printf(" %9.2f   %.2f to %.2f\n", runs[i].deviation, low, high);
        else
            printf(" %9s   %s\n", "-", "one training tells no deviation");
    }
}

static pgcn_status compare_all(const request *r, const cli_results *runs, int count) {
    cli_difference *d = calloc((size_t)count, sizeof *d);
    pgcn_status status = d ? PGCN_OK : cli_fail(&cli_compare, PGCN_ERR_MEMORY, "out of memory");
    if (status == PGCN_OK) status = cli_results_compare(&cli_compare, runs, count, d);
    if (status == PGCN_OK && r->json) {
        status = print_json(r, runs, count, d);
    } else if (status == PGCN_OK) {
        print_runs(r, runs, count);
        for (int i = 1; i < count; i++) {
            printf("\n");
            cli_difference_print(stdout, &runs[0], &runs[i], &d[i - 1], count > 2);
        }
    }
    free(d);
    return status;
}

/* ---- the command ------------------------------------------------------------------------------------ */

static pgcn_status run(int argc, char **argv) {
    request r = {.figure = {.part = "test", .measure = "accuracy"}};
    const cli_option options[] = {
        {"part", "val | test", "test", "whose figures are compared", &r.figure.part, NULL},
        {"measure", "MEASURE", "accuracy",
         "accuracy, balanced-accuracy, macro-f1, auc or average-precision", &r.figure.measure,
         NULL},
        {"json", NULL, NULL, "print one JSON line instead of the tables", NULL, &r.json},
        CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_compare, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    CLI_TRY(cli_figure_check(&cli_compare, &r.figure));
    int count = arguments.words;
    cli_results *runs = calloc((size_t)count, sizeof *runs);
    if (!runs) return cli_fail(&cli_compare, PGCN_ERR_MEMORY, "out of memory");
    for (int i = 0; status == PGCN_OK && i < count; i++)
        status = cli_results_read(&cli_compare, &r.figure, arguments.word[i], &runs[i]);
    if (status == PGCN_OK) status = compare_all(&r, runs, count);
    for (int i = 0; i < count; i++) cli_results_free(&runs[i]);
    free(runs);
    return status;
}
