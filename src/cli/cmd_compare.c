/* pathgcn compare: runs of pathgcn train side by side. Means with intervals, and whether the others differ from the
 * first: seed by seed on the same splits where that is possible. Reads result.json of every run. */
#include "cli/cli.h"

#include <dirent.h>
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

/* ---- runs ------------------------------------------------------------------------------------------- */

/* The result of one training. */
typedef struct record {
    json_int_t seed;
    char split[65];                 /* SHA-256 of its masks */
    double value;                   /* in percent */
    double train_items, test_items; /* NaN: the run is older than these figures */
} record;

typedef struct run_results {
    const char *directory;
    int count;
    record *record;
    double mean, deviation; /* deviation NaN: one training */
    char task[16];
    json_t *classes; /* their names; NULL: the run is older than these */
} run_results;

typedef struct request {
    const char *part, *measure;
    bool json;
    char key[64]; /* of result.json: "test_macro_f1" */
} request;

static pgcn_status lacks(const char *path, const char *what) {
    return cli_fail(&cli_compare, PGCN_ERR_FORMAT,
                    "'%s' has no %s; is it a result of pathgcn train?", path, what);
}

static pgcn_status read_record(const request *r, const char *path, const json_t *result,
                               run_results *out) {
    const char *split = json_string_value(json_object_get(result, "split_sha256"));
    const char *task = json_string_value(json_object_get(result, "task"));
    const json_t *value = json_object_get(result, r->key);
    const json_t *items = json_object_get(result, "items");
    if (!json_is_integer(json_object_get(result, "seed"))) return lacks(path, "seed");
    if (!split || !task) return lacks(path, "split_sha256 or task");
    if (!json_is_number(value)) return lacks(path, r->key);
    record *list = realloc(out->record, ((size_t)out->count + 1) * sizeof *list);
    if (!list)
        return cli_fail(&cli_compare, PGCN_ERR_MEMORY, "out of memory for %d results", out->count);
    out->record = list;
    record *last = &list[out->count++];
    *last = (record){.seed = json_integer_value(json_object_get(result, "seed")),
                     .value = json_number_value(value),
                     .train_items = NAN,
                     .test_items = NAN};
    snprintf(last->split, sizeof last->split, "%s", split);
    snprintf(out->task, sizeof out->task, "%s", task);
    if (!out->classes) out->classes = json_incref(json_object_get(result, "classes"));
    const json_t *train = json_object_get(items, "train"),
                 *scored = json_object_get(items, r->part);
    if (json_is_integer(train)) last->train_items = (double)json_integer_value(train);
    if (json_is_integer(scored)) last->test_items = (double)json_integer_value(scored);
    return PGCN_OK;
}

/* *found: whether there is a finished run. */
static pgcn_status read_result(const request *r, const char *directory, run_results *out,
                               bool *found) {
    char path[CLI_PATH_BYTES], place[CLI_PATH_BYTES];
    json_error_t error;
    *found = false;
    if ((size_t)snprintf(path, sizeof path, "%s/result.json", directory) >= sizeof path)
        return cli_fail(&cli_compare, PGCN_ERR_ARGUMENT, "the path '%.64s...' is too long",
                        directory);
    cli_run_file(path, place);
    FILE *file = fopen(place, "rb");
    if (!file) return PGCN_OK;
    json_t *result = json_loadf(file, 0, &error);
    fclose(file);
    if (!result)
        return cli_fail(&cli_compare, PGCN_ERR_FORMAT, "'%s' is no JSON: %s in line %d", path,
                        error.text, error.line);
    pgcn_status status = read_record(r, path, result, out);
    json_decref(result);
    *found = status == PGCN_OK;
    return status;
}

static int compare_records(const void *a, const void *b) {
    const record *x = a, *y = b;
    if (x->seed != y->seed) return (x->seed > y->seed) - (x->seed < y->seed);
    return strcmp(x->split, y->split);
}

static void summarise(run_results *run) {
    double squares = 0;
    for (int i = 0; i < run->count; i++) run->mean += run->record[i].value / run->count;
    for (int i = 0; i < run->count; i++)
        squares += (run->record[i].value - run->mean) * (run->record[i].value - run->mean);
    run->deviation = run->count > 1 ? sqrt(squares / (run->count - 1)) : NAN;
    qsort(run->record, (size_t)run->count, sizeof *run->record, compare_records);
}

/* The run in a directory, or those of its folders seed-S. */
static pgcn_status read_run(const request *r, const char *directory, run_results *out) {
    bool found;
    *out = (run_results){.directory = directory};
    if (cli_ends_in(directory, ".safetensors"))
        return cli_fail(&cli_compare, PGCN_ERR_ARGUMENT,
                        "'%s' is a model; give the directory of its run, which has the results",
                        directory);
    CLI_TRY(read_result(r, directory, out, &found));
    DIR *stream = found ? NULL : opendir(directory);
    pgcn_status status = PGCN_OK;
    for (struct dirent *entry; status == PGCN_OK && stream && (entry = readdir(stream));) {
        char folder[CLI_PATH_BYTES];
        if (strncmp(entry->d_name, "seed-", 5) != 0) continue;
        snprintf(folder, sizeof folder, "%.3800s/%.250s", directory, entry->d_name);
        status = read_result(r, folder, out, &found);
    }
    if (stream) closedir(stream);
    CLI_TRY(status);
    if (out->count == 0)
        return cli_fail(
            &cli_compare, PGCN_ERR_IO,
            "'%s' holds no finished run: there is no result.json, and no folder seed-S has one",
            directory);
    summarise(out);
    return PGCN_OK;
}

/* ---- differences ------------------------------------------------------------------------------------ */

typedef enum pairing { BY_SEED, BY_SPLIT, NO_PAIRS } pairing;

typedef struct difference {
    pairing pairing;
    int pairs;
    double mean, error; /* error: standard error of the mean; NaN: too few trainings */
    int freedom;
    double p, adjusted; /* NaN: too few trainings */
    bool corrected;     /* for splits that overlap */
    bool correctable;   /* false: an older result does not tell how many items its splits have */
} difference;

static bool splits_are_unique(const run_results *run) {
    for (int i = 0; i < run->count; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(run->record[i].split, run->record[j].split) == 0) return false;
    return true;
}

static const record *partner(const run_results *run, const record *of, pairing how) {
    for (int i = 0; i < run->count; i++)
        if (strcmp(run->record[i].split, of->split) == 0 &&
            (how == BY_SPLIT || run->record[i].seed == of->seed))
            return &run->record[i];
    return NULL;
}

/* Differences of pairs, other - first; returns how many there are. */
static int list_pairs(const run_results *first, const run_results *other, pairing how,
                      double *out) {
    int pairs = 0;
    for (int i = 0; i < other->count; i++) {
        const record *mate = partner(first, &other->record[i], how);
        if (mate) out[pairs++] = other->record[i].value - mate->value;
    }
    return pairs;
}

static void test_pairs(const run_results *other, const double *delta, difference *d) {
    double squares = 0;
    d->mean = 0;
    for (int i = 0; i < d->pairs; i++) d->mean += delta[i] / d->pairs;
    for (int i = 0; i < d->pairs; i++) squares += (delta[i] - d->mean) * (delta[i] - d->mean);
    d->freedom = d->pairs - 1;
    d->error = NAN;
    if (d->pairs < 2) return;
    const record *any = &other->record[0];
    bool several_splits = splits_are_unique(other);
    double share = any->test_items / any->train_items;
    d->correctable = !several_splits || !isnan(share);
    d->corrected = several_splits && !isnan(share);
    d->error = sqrt(squares / d->freedom * (1.0 / d->pairs + (d->corrected ? share : 0)));
}

/* Welch's test; its degrees of freedom are rounded down. */
static void test_means(const run_results *first, const run_results *other, difference *d) {
    double a = first->deviation * first->deviation / first->count;
    double b = other->deviation * other->deviation / other->count;
    d->mean = other->mean - first->mean;
    d->error = sqrt(a + b); /* NaN if one has a single training */
    d->correctable = true;
    double freedom = (a + b) * (a + b) / (a * a / (first->count - 1) + b * b / (other->count - 1));
    d->freedom = isnan(freedom) || freedom < 1 ? 1 : freedom > 1e6 ? 1000000 : (int)freedom;
}

static pgcn_status compare(const run_results *first, const run_results *other, difference *d) {
    double *delta = malloc((size_t)other->count * sizeof *delta);
    if (!delta) return cli_fail(&cli_compare, PGCN_ERR_MEMORY, "out of memory");
    *d = (difference){.pairing = BY_SEED, .p = NAN, .correctable = true};
    d->pairs = list_pairs(first, other, BY_SEED, delta);
    if (d->pairs < 2 && splits_are_unique(first) && splits_are_unique(other)) {
        d->pairing = BY_SPLIT;
        d->pairs = list_pairs(first, other, BY_SPLIT, delta);
    }
    bool paired = d->pairs > 0 && (d->pairs > 1 || first->count == 1 || other->count == 1);
    if (paired) {
        test_pairs(other, delta, d);
    } else {
        d->pairing = NO_PAIRS;
        test_means(first, other, d);
    }
    free(delta);
    if (d->error > 0) d->p = cli_student_p(d->mean / d->error, d->freedom);
    if (d->error == 0) d->p = d->mean == 0 ? 1 : 0; /* every pair differs by the same */
    d->adjusted = d->p;
    return PGCN_OK;
}

/* Holm: the smallest of m p-values times m, the next times m - 1, and none below the one before. */
static void adjust(difference *d, int count) {
    double floor = 0;
    bool *done = calloc((size_t)count, sizeof *done);
    for (int rank = 0, left = count; done && rank < count; rank++, left--) {
        int least = -1;
        for (int i = 0; i < count; i++)
            if (!done[i] && !isnan(d[i].p) && (least < 0 || d[i].p < d[least].p)) least = i;
        if (least < 0) break;
        done[least] = true;
        floor = fmax(floor, fmin(1, d[least].p * left));
        d[least].adjusted = floor;
    }
    free(done);
}

/* ---- output ----------------------------------------------------------------------------------------- */

static const char *const pairing_words[] = {"seed and split", "split", "none"};

static json_t *runs_to_json(const run_results *runs, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:o, s:i, s:o, s:o, s:o}", "run", cli_json_text(runs[i].directory),
                            "trainings", runs[i].count, "mean", cli_json_real(runs[i].mean), "std",
                            cli_json_real(runs[i].deviation), "interval_95",
                            cli_json_interval(runs[i].mean, runs[i].deviation, runs[i].count)));
    return list;
}

static json_t *difference_to_json(const run_results *other, const difference *d) {
    return json_pack("{s:o, s:s, s:i, s:o, s:o, s:i, s:b, s:o, s:o, s:b}", "run",
                     cli_json_text(other->directory), "pairs_by", pairing_words[d->pairing],
                     "pairs", d->pairs, "difference", cli_json_real(d->mean), "standard_error",
                     cli_json_real(d->error), "degrees_of_freedom", d->freedom,
                     "corrected_for_overlapping_splits", d->corrected, "p", cli_json_real(d->p),
                     "p_adjusted", cli_json_real(d->adjusted), "differs", d->adjusted < 0.05);
}

static pgcn_status print_json(const request *r, const run_results *runs, int count,
                              const difference *d) {
    json_t *list = json_array();
    for (int i = 1; i < count; i++)
        json_array_append_new(list, difference_to_json(&runs[i], &d[i - 1]));
    return cli_print_json(&cli_compare,
                          json_pack("{s:s, s:s, s:o, s:o, s:o}", "part", r->part, "measure",
                                    r->measure, "first", cli_json_text(runs[0].directory), "runs",
                                    runs_to_json(runs, count), "differences", list));
}

static void print_runs(const request *r, const run_results *runs, int count) {
    int width = 3;
    for (int i = 0; i < count; i++) {
        int length = (int)strlen(runs[i].directory);
        width = length > width ? length : width;
    }
    printf("%-*s %9s %9s %9s   %s\n", width, "run", "trainings", r->part, "deviation",
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

static void print_difference(const run_results *first, const run_results *other,
                             const difference *d, bool several) {
    printf("\n%s against %s: %+.2f", other->directory, first->directory, d->mean);
    if (isnan(d->p)) {
        printf(". Train each with --seeds 5 or more to see whether that is more than chance.\n");
        return;
    }
    printf(" (standard error %.2f, ", d->error);
    if (d->pairing == NO_PAIRS)
        printf("no pairs: other seeds or splits");
    else
        printf("%d pairs by %s%s", d->pairs, pairing_words[d->pairing],
               d->corrected ? ", raised for overlapping splits" : "");
    printf("; p = %.3g%s): %s.\n", d->adjusted, several ? " by Holm's rule" : "",
           d->adjusted >= 0.05 ? "tied"
           : d->mean > 0       ? "better"
                               : "worse");
    if (d->pairing != NO_PAIRS && (d->pairs < first->count || d->pairs < other->count))
        printf(
            "Only %d of %d and %d trainings have a partner on the same split: the difference is theirs, "
            "the means above are of all.\n",
            d->pairs, first->count, other->count);
    if (!d->correctable)
        printf(
            "The result files are of an older pathgcn and do not tell how far the splits overlap: p is too "
            "small.\n");
}

/* "3 (bus, car, train)": how many classes there are, and the first of them. */
static void list_classes(const json_t *classes, char *out, size_t bytes) {
    enum { SHOWN = 5 };
    size_t count = json_array_size(classes), i;
    snprintf(out, bytes, "%zu (", count);
    for (i = 0; i < count && i < SHOWN; i++) {
        const char *name = json_string_value(json_array_get(classes, i));
        size_t used = strlen(out);
        snprintf(out + used, bytes - used, "%s%.40s", i ? ", " : "", name ? name : "?");
    }
    size_t used = strlen(out);
    snprintf(out + used, bytes - used, "%s)", count > SHOWN ? ", ..." : "");
}

/* Figures of other tasks, or of other classes, answer another question. */
static pgcn_status check_alike(const run_results *first, const run_results *other) {
    char classes[2][300];
    if (strcmp(first->task, other->task) != 0)
        return cli_fail(&cli_compare, PGCN_ERR_MISMATCH,
                        "%s is of the task %s and %s of %s: their figures cannot be compared",
                        first->directory, first->task, other->directory, other->task);
    if (!first->classes || !other->classes || json_equal(first->classes, other->classes))
        return PGCN_OK;
    list_classes(first->classes, classes[0], sizeof classes[0]);
    list_classes(other->classes, classes[1], sizeof classes[1]);
    return cli_fail(&cli_compare, PGCN_ERR_MISMATCH,
                    "%s and %s predict other classes, %s and %s: their figures cannot be compared; "
                    "train both with the same labels",
                    first->directory, other->directory, classes[0], classes[1]);
}

static pgcn_status compare_all(const request *r, const run_results *runs, int count) {
    difference *d = calloc((size_t)count, sizeof *d);
    pgcn_status status = d ? PGCN_OK : cli_fail(&cli_compare, PGCN_ERR_MEMORY, "out of memory");
    for (int i = 1; status == PGCN_OK && i < count; i++) {
        status = check_alike(&runs[0], &runs[i]);
        if (status == PGCN_OK) status = compare(&runs[0], &runs[i], &d[i - 1]);
    }
    if (status == PGCN_OK) adjust(d, count - 1);
    if (status == PGCN_OK && r->json) {
        status = print_json(r, runs, count, d);
    } else if (status == PGCN_OK) {
        print_runs(r, runs, count);
        for (int i = 1; i < count; i++) print_difference(&runs[0], &runs[i], &d[i - 1], count > 2);
    }
    free(d);
    return status;
}

/* ---- the command ------------------------------------------------------------------------------------ */

static pgcn_status check_request(request *r) {
    pgcn_part part;
    pgcn_measure measure;
    char name[32];
    if (!pgcn_part_parse(r->part, &part) || part == PGCN_PART_TRAIN || part == PGCN_PART_ALL)
        return cli_fail(&cli_compare, PGCN_ERR_ARGUMENT, "--part is '%s', expected val or test",
                        r->part);
    if (!pgcn_measure_parse(r->measure, &measure))
        return cli_fail(&cli_compare, PGCN_ERR_ARGUMENT,
                        "--measure is '%s', expected accuracy, balanced-accuracy, macro-f1, auc or "
                        "average-precision",
                        r->measure);
    cli_measure_key(measure, name);
    snprintf(r->key, sizeof r->key, "%s_%s", r->part, name);
    return PGCN_OK;
}

static pgcn_status run(int argc, char **argv) {
    request r = {.part = "test", .measure = "accuracy"};
    const cli_option options[] = {
        {"part", "val | test", "test", "whose figures are compared", &r.part, NULL},
        {"measure", "MEASURE", "accuracy",
         "accuracy, balanced-accuracy, macro-f1, auc or average-precision", &r.measure, NULL},
        {"json", NULL, NULL, "print one JSON line instead of the tables", NULL, &r.json},
        CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_compare, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    CLI_TRY(check_request(&r));
    int count = arguments.words;
    run_results *runs = calloc((size_t)count, sizeof *runs);
    if (!runs) return cli_fail(&cli_compare, PGCN_ERR_MEMORY, "out of memory");
    for (int i = 0; status == PGCN_OK && i < count; i++)
        status = read_run(&r, arguments.word[i], &runs[i]);
    if (status == PGCN_OK) status = compare_all(&r, runs, count);
    for (int i = 0; i < count; i++) {
        free(runs[i].record);
        json_decref(runs[i].classes);
    }
    free(runs);
    return status;
}
