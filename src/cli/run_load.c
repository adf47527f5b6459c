/* Loads a run for its report: model, results, history, and the data it was trained on if that is still
 * there, on which it is judged once. */
#include "cli/run_report.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files ---------------------------------------------------------------------------------------- */

/* A JSON file of the run; NULL if there is none, or it is broken, which the report survives. */
static json_t *load_json(const char *directory, const char *file) {
    char path[CLI_PATH_BYTES], place[CLI_PATH_BYTES];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, file) >= sizeof path) return NULL;
    cli_run_file(path, place);
    json_t *object = json_load_file(place, 0, NULL);
    if (json_is_object(object)) return object;
    json_decref(object);
    return NULL;
}

static pgcn_status find_model(const cli_command *command, const char *path, cli_run *run) {
    char model[CLI_PATH_BYTES];
    struct stat about;
    const char *found = cli_model_path(path, model);
    snprintf(run->model_path, sizeof run->model_path, "%s", found);
    const char *slash = strrchr(found, '/');
    snprintf(run->directory, sizeof run->directory, "%.*s",
             slash ? (int)(slash == found ? 1 : slash - found) : 1, slash ? found : ".");
    char place[CLI_PATH_BYTES];
    cli_run_file(found, place);
    if (found == model && stat(place, &about) != 0)
        return cli_fail(command, PGCN_ERR_IO,
                        "'%s' holds no model: there is no model.safetensors; give the directory of "
                        "a run of pathgcn train, or a model file",
                        path);
    CLI_TRY(cli_report(command, cli_load_model(found, &run->model)));
    run->config = pgcn_model_config(run->model);
    run->task = pgcn_model_task(run->model);
    return PGCN_OK;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    long long x = atoll((*a)->d_name + 5), y = atoll((*b)->d_name + 5);
    return (x > y) - (x < y);
}

static int is_seed(const struct dirent *entry) {
    return strncmp(entry->d_name, "seed-", 5) == 0;
}

/* Histories of all seeds, and the result of the one that the model is of. */
static void load_seeds(cli_run *run) {
    struct dirent **entry = NULL;
    int count = run->result ? 0 : scandir(run->directory, &entry, is_seed, by_name);
    run->seed_history = count > 0 ? calloc((size_t)count, sizeof *run->seed_history) : NULL;
    for (int i = 0; i < count; i++) {
        char folder[CLI_PATH_BYTES], path[CLI_PATH_BYTES];
        pgcn_model *model = NULL;
        snprintf(folder, sizeof folder, "%.3700s/%.250s", run->directory, entry[i]->d_name);
        snprintf(path, sizeof path, "%.4000s/model.safetensors", folder);
        free(entry[i]);
        if (!run->seed_history || cli_load_model(path, &model) != PGCN_OK) continue;
        json_t *history = json_loads(pgcn_model_history(model), 0, NULL);
        if (history) run->seed_history[run->seeds++] = history;
        if (pgcn_model_config(model)->seed == run->config->seed && !run->result) {
            run->result = load_json(folder, "result.json");
            run->race = load_json(folder, "race.json");
        }
        pgcn_model_free(model);
    }
    free(entry);
}

/* ---- data ----------------------------------------------------------------------------------------- */

static void load_data(cli_run *run, const char *data_dir) {
    if (data_dir) run->source.data_dir = data_dir;
    run->record = cli_source_recall(run->model_path, &run->dataset, &run->source);
    if (!run->record) run->dataset = pgcn_model_dataset(run->model);
    cli_source_follow(run->model, &run->source);
    if (cli_source_load(run->dataset, &run->source, &run->data) != PGCN_OK) {
        snprintf(run->missing, sizeof run->missing, "%s", pgcn_last_error());
        run->data = NULL;
        return;
    }
    run->info = pgcn_dataset_describe(run->data);
    if (strcmp(run->info.fingerprint, pgcn_model_fingerprint(run->model)) == 0) return;
    snprintf(run->missing, sizeof run->missing,
             "what is there now is other data: its fingerprint is %.12s..., that of the training "
             "%.12s...",
             run->info.fingerprint, pgcn_model_fingerprint(run->model));
    pgcn_dataset_free(run->data);
    run->data = NULL;
}

/* Scores and verdict; a model that cannot be run here is reported like missing data. */
static void judge(cli_run *run) {
    if (!run->data) return;
    if (pgcn_model_judge(run->model, run->data, NULL, &run->scores, &run->verdict) == PGCN_OK)
        return;
    snprintf(run->missing, sizeof run->missing, "%s", pgcn_last_error());
    pgcn_dataset_free(run->data);
    run->data = NULL;
    run->verdict = NULL;
}

/* The part that figures are told of: held out if there is such a part. */
static pgcn_part choose_part(const cli_run *run) {
    static const pgcn_part order[] = {PGCN_PART_TEST, PGCN_PART_VAL, PGCN_PART_ALL};
    pgcn_score score;
    for (int i = 0; i < 3; i++)
        if (cli_run_score(run, order[i], &score) && !isnan(score.accuracy)) return order[i];
    return PGCN_PART_TEST;
}

static pgcn_status read_results(const cli_command *command, cli_run *run) {
    char name[32];
    cli_figure figure = {.part = run->part == PGCN_PART_VAL ? "val" : "test"};
    cli_measure_key(run->measure, name);
    snprintf(figure.key, sizeof figure.key, "%s_%s", figure.part, name);
    if (!run->result) return PGCN_OK;
    if (!json_is_number(json_object_get(run->result, figure.key))) return PGCN_OK;
    return cli_results_read(command, &figure, run->directory, &run->results);
}

pgcn_status cli_run_load(const cli_command *command, const char *path, const char *data_dir,
                         cli_run *run) {
    *run = (cli_run){.given = path};
    CLI_TRY(find_model(command, path, run));
    run->result = load_json(run->directory, "result.json");
    run->race = load_json(run->directory, "race.json");
    run->history = json_loads(pgcn_model_history(run->model), 0, NULL);
    load_seeds(run);
    load_data(run, data_dir);
    judge(run);
    run->measure = run->data ? run->info.measure : PGCN_MEASURE_ACCURACY;
    run->part = choose_part(run);
    return read_results(command, run);
}

void cli_run_free(cli_run *run) {
    pgcn_verdict_free(run->verdict);
    pgcn_dataset_free(run->data);
    pgcn_model_free(run->model);
    json_decref(run->record);
    json_decref(run->history);
    json_decref(run->result);
    json_decref(run->race);
    for (int i = 0; i < run->seeds; i++) json_decref(run->seed_history[i]);
    free(run->seed_history);
    cli_results_free(&run->results);
}

/* ---- questions ------------------------------------------------------------------------------------ */

static double number_of(const json_t *object, const char *part, const char *name) {
    char key[96];
    snprintf(key, sizeof key, "%s_%s", part, name);
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

bool cli_run_score(const cli_run *run, pgcn_part part, pgcn_score *out) {
    const pgcn_score *of[PGCN_PARTS] = {&run->scores.train, &run->scores.val, &run->scores.test,
                                        &run->scores.all};
    if (run->verdict) {
        *out = *of[part];
        return pgcn_verdict_part(run->verdict, part).items > 0;
    }
    const char *name = pgcn_part_name(part);
    if (!run->result || part == PGCN_PART_TRAIN || part == PGCN_PART_ALL) return false;
    double value[PGCN_MEASURES];
    for (int m = 0; m < PGCN_MEASURES; m++) {
        char key[32];
        cli_measure_key((pgcn_measure)m, key);
        value[m] = number_of(run->result, name, key);
    }
    *out = (pgcn_score){.accuracy = value[PGCN_MEASURE_ACCURACY],
                        .balanced_accuracy = value[PGCN_MEASURE_BALANCED_ACCURACY],
                        .macro_f1 = value[PGCN_MEASURE_MACRO_F1],
                        .auc = value[PGCN_MEASURE_AUC],
                        .average_precision = value[PGCN_MEASURE_AVERAGE_PRECISION],
                        .majority = number_of(run->result, name, "majority"),
                        .loss = NAN,
                        .graph_accuracy = number_of(run->result, name, "graph_accuracy")};
    return !isnan(out->accuracy);
}

int64_t cli_run_items(const cli_run *run, pgcn_part part) {
    if (run->verdict) return pgcn_verdict_part(run->verdict, part).items;
    const json_t *items = json_object_get(run->result, "items");
    return json_integer_value(json_object_get(items, pgcn_part_name(part)));
}

const char *cli_part_word(pgcn_part part) {
    static const char *const words[PGCN_PARTS] = {"training", "validation", "test", "labelled"};
    return words[part];
}

cli_curve cli_run_curve(const json_t *history, const char *key) {
    size_t epochs = json_array_size(history), i;
    cli_curve curve = {.epoch = malloc((epochs + 1) * sizeof(double)),
                       .value = malloc((epochs + 1) * sizeof(double))};
    json_t *line;
    json_array_foreach(history, i, line) {
        const json_t *value = json_object_get(line, key);
        if (!curve.epoch || !curve.value || !json_is_number(value)) continue;
        curve.epoch[curve.count] = json_number_value(json_object_get(line, "epoch"));
        curve.value[curve.count++] = json_number_value(value);
    }
    return curve;
}

void cli_curve_free(cli_curve *curve) {
    free(curve->epoch);
    free(curve->value);
    *curve = (cli_curve){0};
}

const char *cli_run_class(const cli_run *run, int c) {
    static char number[4][16];
    static int turn;
    const char *name = pgcn_model_class_name(run->model, c);
    if (name) return name;
    turn = (turn + 1) % 4;
    snprintf(number[turn], sizeof *number, "%d", c);
    return number[turn];
}
