/* Reads result.json of runs and tests their differences, for `compare` and `report`. */
#include "cli/comparison.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- runs ------------------------------------------------------------------------------------------- */

static pgcn_status lacks(const cli_command *command, const char *path, const char *what) {
    return cli_fail(command, PGCN_ERR_FORMAT, "'%s' has no %s; is it a result of pathgcn train?",
                    path, what);
}

static pgcn_status read_record(const cli_command *command, const cli_figure *figure,
                               const char *path, const json_t *result, cli_results *out) {
    const char *split = json_string_value(json_object_get(result, "split_sha256"));
    const char *task = json_string_value(json_object_get(result, "task"));
    const json_t *value = json_object_get(result, figure->key);
    const json_t *items = json_object_get(result, "items");
    if (!json_is_integer(json_object_get(result, "seed"))) return lacks(command, path, "seed");
    if (!split || !task) return lacks(command, path, "split_sha256 or task");
    if (!json_is_number(value)) return lacks(command, path, figure->key);
    cli_record *list = realloc(out->record, ((size_t)out->count + 1) * sizeof *list);
    if (!list)
        return cli_fail(command, PGCN_ERR_MEMORY, "out of memory for %d results", out->count);
    out->record = list;
    cli_record *last = &list[out->count++];
    *last = (cli_record){.seed = json_integer_value(json_object_get(result, "seed")),
                         .value = json_number_value(value),
                         .train_items = NAN,
                         .test_items = NAN};
    snprintf(last->split, sizeof last->split, "%s", split);
    snprintf(out->task, sizeof out->task, "%s", task);
    if (!out->classes) out->classes = json_incref(json_object_get(result, "classes"));
    const json_t *train = json_object_get(items, "train"),
                 *scored = json_object_get(items, figure->part);
    if (json_is_integer(train)) last->train_items = (double)json_integer_value(train);
    if (json_is_integer(scored)) last->test_items = (double)json_integer_value(scored);
    return PGCN_OK;
}

/* *found: whether there is a finished run. */
static pgcn_status read_result(const cli_command *command, const cli_figure *figure,
                               const char *directory, cli_results *out, bool *found) {
    char path[CLI_PATH_BYTES], place[CLI_PATH_BYTES];
    json_error_t error;
    *found = false;
    if ((size_t)snprintf(path, sizeof path, "%s/result.json", directory) >= sizeof path)
        return cli_fail(command, PGCN_ERR_ARGUMENT, "the path '%.64s...' is too long", directory);
    cli_run_file(path, place);
    FILE *file = fopen(place, "rb");
    if (!file && errno != ENOENT && errno != ENOTDIR)
        return cli_fail(command, PGCN_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    if (!file) return PGCN_OK;
    json_t *result = json_loadf(file, 0, &error);
    fclose(file);
    if (!result)
        return cli_fail(command, PGCN_ERR_FORMAT, "'%s' is no JSON: %s in line %d", path,
                        error.text, error.line);
    pgcn_status status = read_record(command, figure, path, result, out);
    json_decref(result);
    *found = status == PGCN_OK;
    return status;
}

static int compare_records(const void *a, const void *b) {
    const cli_record *x = a, *y = b;
    if (x->seed != y->seed) return (x->seed > y->seed) - (x->seed < y->seed);
    return strcmp(x->split, y->split);
}

static void summarise(cli_results *run) {
    double squares = 0;
    for (int i = 0; i < run->count; i++) run->mean += run->record[i].value / run->count;
    for (int i = 0; i < run->count; i++)
        squares += (run->record[i].value - run->mean) * (run->record[i].value - run->mean);
    run->deviation = run->count > 1 ? sqrt(squares / (run->count - 1)) : NAN;
    qsort(run->record, (size_t)run->count, sizeof *run->record, compare_records);
}

pgcn_status cli_results_read(const cli_command *command, const cli_figure *figure,
                             const char *directory, cli_results *out) {
    bool found;
    *out = (cli_results){.directory = directory};
    if (cli_ends_in(directory, ".safetensors"))
        return cli_fail(command, PGCN_ERR_ARGUMENT,
                        "'%s' is a model; give the directory of its run, which has the results",
                        directory);
    CLI_TRY(read_result(command, figure, directory, out, &found));
    DIR *stream = found ? NULL : opendir(directory);
    pgcn_status status = PGCN_OK;
    for (struct dirent *entry; status == PGCN_OK && stream && (entry = readdir(stream));) {
        char folder[CLI_PATH_BYTES];
        if (strncmp(entry->d_name, "seed-", 5) != 0) continue;
        snprintf(folder, sizeof folder, "%.3800s/%.250s", directory, entry->d_name);
        status = read_result(command, figure, folder, out, &found);
    }
    if (stream) closedir(stream);
    CLI_TRY(status);
    if (out->count == 0)
        return cli_fail(
            command, PGCN_ERR_IO,
            "'%s' holds no finished run: there is no result.json, and no folder seed-S has one",
            directory);
    summarise(out);
    return PGCN_OK;
}

/* ---- differences ------------------------------------------------------------------------------------ */

const char *const cli_pairing_words[] = {"seed and split", "split", "none"};

static bool splits_are_unique(const cli_results *run) {
    for (int i = 0; i < run->count; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(run->record[i].split, run->record[j].split) == 0) return false;
    return true;
}

static const cli_record *partner(const cli_results *run, const cli_record *of, cli_pairing how) {
    for (int i = 0; i < run->count; i++)
        if (strcmp(run->record[i].split, of->split) == 0 &&
            (how == CLI_BY_SPLIT || run->record[i].seed == of->seed))
            return &run->record[i];
    return NULL;
}

/* Differences of pairs, other - first; returns how many there are. */
static int list_pairs(const cli_results *first, const cli_results *other, cli_pairing how,
                      double *out) {
    int pairs = 0;
    for (int i = 0; i < other->count; i++) {
        const cli_record *mate = partner(first, &other->record[i], how);
        if (mate) out[pairs++] = other->record[i].value - mate->value;
    }
    return pairs;
}

static void test_pairs(const cli_results *other, const double *delta, cli_difference *d) {
    double squares = 0;
    d->mean = 0;
    for (int i = 0; i < d->pairs; i++) d->mean += delta[i] / d->pairs;
    for (int i = 0; i < d->pairs; i++) squares += (delta[i] - d->mean) * (delta[i] - d->mean);
    d->freedom = d->pairs - 1;
    d->error = NAN;
    if (d->pairs < 2) return;
    const cli_record *any = &other->record[0];
    bool several_splits = splits_are_unique(other);
    double share = any->test_items / any->train_items;
    d->correctable = !several_splits || !isnan(share);
    d->corrected = several_splits && !isnan(share);
    d->error =
        cli_error_over_splits(sqrt(squares / d->freedom), d->pairs, d->corrected ? share : 0);
}

/* Welch's test; its degrees of freedom are rounded down. */
static void test_means(const cli_results *first, const cli_results *other, cli_difference *d) {
    double a = first->deviation * first->deviation / first->count;
    double b = other->deviation * other->deviation / other->count;
    d->mean = other->mean - first->mean;
    d->error = sqrt(a + b); /* NaN if one has a single training */
    d->correctable = true;
    double freedom = (a + b) * (a + b) / (a * a / (first->count - 1) + b * b / (other->count - 1));
    d->freedom = isnan(freedom) || freedom < 1 ? 1 : freedom > 1e6 ? 1000000 : (int)freedom;
}

static pgcn_status compare(const cli_command *command, const cli_results *first,
                           const cli_results *other, cli_difference *d) {
    double *delta = malloc((size_t)other->count * sizeof *delta);
    if (!delta) return cli_fail(command, PGCN_ERR_MEMORY, "out of memory");
    *d = (cli_difference){.pairing = CLI_BY_SEED, .p = NAN, .correctable = true};
    d->pairs = list_pairs(first, other, CLI_BY_SEED, delta);
    if (d->pairs < 2 && splits_are_unique(first) && splits_are_unique(other)) {
        d->pairing = CLI_BY_SPLIT;
        d->pairs = list_pairs(first, other, CLI_BY_SPLIT, delta);
    }
    bool paired = d->pairs > 0 && (d->pairs > 1 || first->count == 1 || other->count == 1);
    if (paired) {
        test_pairs(other, delta, d);
    } else {
        d->pairing = CLI_NO_PAIRS;
        test_means(first, other, d);
    }
    free(delta);
    d->p = cli_difference_p(d->mean, d->error, d->freedom);
    d->adjusted = d->p;
    return PGCN_OK;
}

/* Holm: the smallest of m p-values times m, the next times m - 1, and none below the one before. */
static void adjust(cli_difference *d, int count) {
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

bool cli_results_alike(const cli_results *a, const cli_results *b) {
    return strcmp(a->task, b->task) == 0 &&
           (!a->classes || !b->classes || json_equal(a->classes, b->classes));
}

static pgcn_status check_alike(const cli_command *command, const cli_results *first,
                               const cli_results *other) {
    char classes[2][300];
    if (cli_results_alike(first, other)) return PGCN_OK;
    if (strcmp(first->task, other->task) != 0)
        return cli_fail(command, PGCN_ERR_MISMATCH,
                        "%s is of the task %s and %s of %s: their figures cannot be compared",
                        first->directory, first->task, other->directory, other->task);
    list_classes(first->classes, classes[0], sizeof classes[0]);
    list_classes(other->classes, classes[1], sizeof classes[1]);
    return cli_fail(command, PGCN_ERR_MISMATCH,
                    "%s and %s predict other classes, %s and %s: their figures cannot be compared; "
                    "train both with the same labels",
                    first->directory, other->directory, classes[0], classes[1]);
}

pgcn_status cli_results_compare(const cli_command *command, const cli_results *runs, int count,
                                cli_difference *d) {
    for (int i = 1; i < count; i++) {
        CLI_TRY(check_alike(command, &runs[0], &runs[i]));
        CLI_TRY(compare(command, &runs[0], &runs[i], &d[i - 1]));
    }
    adjust(d, count - 1);
    return PGCN_OK;
}

void cli_results_free(cli_results *results) {
    free(results->record);
    json_decref(results->classes);
}

/* ---- words ------------------------------------------------------------------------------------------ */

pgcn_status cli_figure_check(const cli_command *command, cli_figure *figure) {
    pgcn_part part;
    pgcn_measure measure;
    char name[32];
    if (!pgcn_part_parse(figure->part, &part) || part == PGCN_PART_TRAIN || part == PGCN_PART_ALL)
        return cli_fail(command, PGCN_ERR_ARGUMENT, "--part is '%s', expected val or test",
                        figure->part);
    if (!pgcn_measure_parse(figure->measure, &measure))
        return cli_fail(command, PGCN_ERR_ARGUMENT,
                        "--measure is '%s', expected accuracy, balanced-accuracy, macro-f1, auc or "
                        "average-precision",
                        figure->measure);
    cli_measure_key(measure, name);
    snprintf(figure->key, sizeof figure->key, "%s_%s", figure->part, name);
    return PGCN_OK;
}

/* Where some trainings have no partner, the difference is not that of the two means. */
static void print_partners(FILE *out, const cli_results *first, const cli_results *other,
                           const cli_difference *d) {
    if (d->pairing != CLI_NO_PAIRS && (d->pairs < first->count || d->pairs < other->count))
        fprintf(
            out,
            "Only %d of %d and %d trainings have a partner on the same split: the difference is theirs, "
            "the means above are of all.\n",
            d->pairs, first->count, other->count);
}

void cli_difference_print(FILE *out, const cli_results *first, const cli_results *other,
                          const cli_difference *d, bool several) {
    char difference[32];
    fprintf(out, "%s against %s: %s", other->directory, first->directory,
            cli_format_signed(d->mean, difference));
    if (isnan(d->p)) {
        fprintf(out,
                ". Train each with --seeds 5 or more to see whether that is more than chance.\n");
        print_partners(out, first, other, d);
        return;
    }
    fprintf(out, " (standard error %.2f, ", d->error);
    if (d->pairing == CLI_NO_PAIRS)
        fprintf(out, "no pairs: other seeds or splits");
    else
        fprintf(out, "%d pairs by %s%s", d->pairs, cli_pairing_words[d->pairing],
                d->corrected ? ", raised for overlapping splits" : "");
    fprintf(out, "; p = %.3g%s): %s.\n", d->adjusted, several ? " by Holm's rule" : "",
            d->adjusted >= 0.05 ? "tied"
            : d->mean > 0       ? "better"
                                : "worse");
    print_partners(out, first, other, d);
    if (!d->correctable)
        fprintf(
            out,
            "The result files are of an older pathgcn and do not tell how far the splits overlap: p is too "
            "small.\n");
}
