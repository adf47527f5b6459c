/* The results of a training, per seed and over the seeds, as a table and as JSON. Called by
 * train_run.c and cmd_train.c. */
#include "cli/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one seed --------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int64_t count) {
    if (count == 0) return 0;
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

/* Fills out->items; out->split is known. */
static void count_items(const pgcn_dataset *data, train_outcome *out) {
    const uint8_t *mask[3];
    const char *name;
    int i = 0;
    while ((name = pgcn_dataset_split(data, i, &mask[0], &mask[1], &mask[2])) &&
           strcmp(name, out->split) != 0)
        i++;
    int64_t items = pgcn_dataset_describe(data).items;
    for (int64_t item = 0; name && item < items; item++)
        for (int part = 0; pgcn_dataset_is_labelled(data, item) && part < 3; part++)
            out->items[part] += mask[part][item];
}

void cli_train_summarise(const pgcn_trainer *trainer, const pgcn_dataset *data,
                         train_outcome *out) {
    int64_t count, timed = 0;
    const pgcn_epoch *history = pgcn_trainer_history(trainer, &count);
    double *times = malloc((size_t)(count + 1) * sizeof *times);
    out->epochs = count;
    out->val_accuracy = out->test_accuracy = NAN;
    for (int64_t i = 0; i < count; i++) {
        const pgcn_epoch *epoch = &history[i];
        if (epoch->best) {
            out->best_epoch = epoch->epoch;
            out->val_accuracy = epoch->val_accuracy;
            out->test_accuracy = epoch->test_accuracy;
        }
        if (epoch->test_accuracy > out->best_test_accuracy)
            out->best_test_accuracy = epoch->test_accuracy;
        if (times && epoch->step_ms > 0) times[timed++] = epoch->step_ms;
    }
    if (isnan(out->test_accuracy)) out->best_test_accuracy = NAN; /* there is no test set */
    out->step_ms = times ? median(times, timed) : 0;
    snprintf(out->split, sizeof out->split, "%s", pgcn_trainer_split(trainer));
    snprintf(out->split_hash, sizeof out->split_hash, "%s", pgcn_trainer_split_hash(trainer));
    count_items(data, out);
    free(times);
}

/* What identifies a recipe; the rest is in its file. */
static json_t *recipe_id(const pgcn_recipe_info *recipe) {
    if (recipe->version == 0) return json_null();
    return json_pack("{s:s, s:i, s:s}", "name", recipe->name, "version", recipe->version, "sha256",
                     recipe->sha256);
}

static json_t *traffic_to_json(const pgcn_traffic *t) {
    const pgcn_rank_memory *m = &t->kinds;
    json_t *kinds = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "structure",
                              (json_int_t)m->structure, "features", (json_int_t)m->features,
                              "walks", (json_int_t)m->walks, "rows", (json_int_t)m->rows, "others",
                              (json_int_t)m->others, "messages", (json_int_t)m->messages, "weights",
                              (json_int_t)m->weights, "rest", (json_int_t)m->rest);
    return json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:o}", "ranks", t->ranks,
                     "steps", (json_int_t)t->steps, "rows_bytes_step", (json_int_t)t->rows_step,
                     "bytes_step", (json_int_t)t->bytes_step, "exchanges_step",
                     (json_int_t)t->exchanges_step, "sums_step", (json_int_t)t->sums_step,
                     "sums_bytes_step", (json_int_t)t->sums_bytes_step, "waited_step_ms",
                     t->waited_step_ms, "memory_bytes", (json_int_t)t->memory, "memory_kinds",
                     kinds);
}

json_t *cli_train_outcome_to_json(const train_outcome *o) {
    json_t *object = json_pack(
        "{s:o, s:s, s:s, s:o, s:s, s:s, s:{s:I, s:I, s:I}, s:I, s:I, s:o, s:o, s:o, s:f, s:f}",
        "recipe", recipe_id(&o->recipe), "task", pgcn_task_name(o->task), "metric",
        cli_metric(o->task), "seed", json_integer((json_int_t)o->seed), "split", o->split,
        "split_sha256", o->split_hash, "items", "train", (json_int_t)o->items[0], "val",
        (json_int_t)o->items[1], "test", (json_int_t)o->items[2], "epochs", (json_int_t)o->epochs,
        "best_epoch", (json_int_t)o->best_epoch, "val_accuracy", cli_json_real(o->val_accuracy),
        "test_accuracy", cli_json_real(o->test_accuracy), "best_epoch_test_accuracy",
        cli_json_real(o->best_test_accuracy), "step_ms_median", o->step_ms, "seconds", o->seconds);
    cli_put_scores(object, "val", &o->val);
    cli_put_scores(object, "test", &o->test);
    if (o->traffic.ranks > 1) json_object_set_new(object, "ranks", traffic_to_json(&o->traffic));
    cli_put_reads(object, o->on_disk ? &o->reads : NULL);
    return object;
}

json_t *cli_train_classes_to_json(const pgcn_dataset *data) {
    json_t *list = json_array();
    int classes = pgcn_dataset_describe(data).classes;
    for (int c = 0; c < classes; c++) {
        char number[16];
        const char *name = pgcn_dataset_class_name(data, c);
        snprintf(number, sizeof number, "%d", c);
        json_array_append_new(list, cli_json_text(name ? name : number));
    }
    return list;
}

void cli_train_recall_times(const char *result_path, train_outcome *outcome) {
    json_t *result = json_load_file(result_path, 0, NULL);
    outcome->step_ms = json_number_value(json_object_get(result, "step_ms_median"));
    outcome->seconds = json_number_value(json_object_get(result, "seconds"));
    json_decref(result);
}

/* ---- all seeds -------------------------------------------------------------------------------- */

typedef struct spread {
    double mean, deviation; /* deviation: of a sample, NaN for one run */
} spread;

static spread spread_of(const train_outcome *runs, long long count, size_t offset) {
    spread s = {0, 0};
    for (long long i = 0; i < count; i++)
        s.mean += *(const double *)((const char *)&runs[i] + offset) / (double)count;
    for (long long i = 0; i < count && count > 1; i++) {
        double d = *(const double *)((const char *)&runs[i] + offset) - s.mean;
        s.deviation += d * d / (double)(count - 1);
    }
    s.deviation = count > 1 ? sqrt(s.deviation) : NAN;
    return s;
}
#define SPREAD(field) spread_of(runs, request->seeds, offsetof(train_outcome, field))

/* A measure, or the majority, of validation or test items. */
#define SPREAD_OF(part, measure)                                                                   \
    spread_of(runs, request->seeds, offsetof(train_outcome, part) + offset_of(measure))
static size_t offset_of(pgcn_measure measure) {
    static const size_t offset[PGCN_MEASURES] = {
        offsetof(pgcn_score, accuracy), offsetof(pgcn_score, balanced_accuracy),
        offsetof(pgcn_score, macro_f1), offsetof(pgcn_score, auc),
        offsetof(pgcn_score, average_precision)};
    return offset[measure];
}

/* A number of the table; a dash if it is not known. */
static void print_percent(double value) {
    if (isnan(value))
        printf(" %9s", "-");
    else
        printf(" %9.2f", value);
}

/* The column heads of validation and test, by measure. */
static const char *const heads[PGCN_MEASURES][2] = {{"val %", "test %"},
                                                    {"val bal %", "test b. %"},
                                                    {"val mF1 %", "test mF1%"},
                                                    {"val AUC %", "test AUC%"},
                                                    {"val AP %", "test AP %"}};

static void print_rows(const train_request *request, const pgcn_dataset *data,
                       const train_outcome *runs, spread val, spread test) {
    pgcn_dataset_info about = pgcn_dataset_describe(data), *info = &about;
    pgcn_measure measure = cli_measure_of(info, &runs[0].recipe);
    bool in_batches = pgcn_config_unused(&runs[0].config, data, "batch") == NULL;
    bool several = measure == PGCN_MEASURE_ACCURACY && info->task == PGCN_TASK_MULTILABEL;
    printf("%-6s %-7s %7s %10s %9s %9s %12s\n", "seed", "split", "epochs", "best epoch",
           several ? "val F1 %" : heads[measure][0], several ? "test F1 %" : heads[measure][1],
           in_batches ? "ms per epoch" : "ms per step"); /* which are the same without batches */
    for (long long i = 0; i < request->seeds; i++) {
        printf("%-6llu %-7s %7lld %10lld", (unsigned long long)runs[i].seed, runs[i].split,
               (long long)runs[i].epochs, (long long)runs[i].best_epoch);
        print_percent(pgcn_score_measure(&runs[i].val, measure));
        print_percent(pgcn_score_measure(&runs[i].test, measure));
        printf(" %12.3f\n", runs[i].step_ms);
    }
    if (request->seeds == 1) return;
    printf("%-33s", "mean");
    print_percent(val.mean);
    print_percent(test.mean);
    printf(" %12.3f\n%-33s", SPREAD(step_ms).mean, "deviation");
    print_percent(val.deviation);
    print_percent(test.deviation);
    printf("\n%-33s", "95 % interval, half its width");
    print_percent(cli_interval_95(val.deviation, request->seeds));
    print_percent(cli_interval_95(test.deviation, request->seeds));
    printf("\n");
}

/* The recipe of all runs, or how many races each has won. */
static void print_recipes(const train_request *request, const train_outcome *runs) {
    for (long long i = 0; i < request->seeds; i++) {
        const pgcn_recipe_info *recipe = &runs[i].recipe;
        long long wins = 0;
        bool printed = false;
        for (long long j = 0; j < request->seeds; j++) {
            bool same = strcmp(runs[j].recipe.name, recipe->name) == 0;
            wins += same;
            printed |= same && j < i;
        }
        if (printed || recipe->version == 0) continue;
        printf("Recipe: %s, version %d", recipe->name, recipe->version);
        if (request->races && request->seeds > 1)
            printf(", won %lld of %lld races", wins, request->seeds);
        else if (request->races)
            printf(", which won the race; --recipe %s repeats the run without it", recipe->name);
        printf("\n");
    }
}

/* {"any-free": 3, "any-unlike": 2}, or null where nobody raced. */
static json_t *wins_to_json(const train_request *request, const train_outcome *runs) {
    if (!request->races) return json_null();
    json_t *object = json_object();
    for (long long i = 0; i < request->seeds; i++) {
        const char *name = runs[i].recipe.name;
        json_int_t before = json_integer_value(json_object_get(object, name));
        json_object_set_new(object, name, json_integer(before + 1));
    }
    return object;
}

/* What the accuracy is to be compared with: the most frequent class, and the mean over graphs. */
static void print_beside(const train_request *request, const train_outcome *runs, bool tested) {
    spread majority = tested ? SPREAD(test.majority) : SPREAD(val.majority);
    spread graphs = tested ? SPREAD(test.graph_accuracy) : SPREAD(val.graph_accuracy);
    const char *before = " (";
    if (!isnan(majority.mean)) {
        printf("%smost frequent class %.2f", before, majority.mean);
        before = ", ";
    }
    if (!isnan(graphs.mean)) {
        printf("%smean of graphs %.2f", before, graphs.mean);
        before = ", ";
    }
    if (*before == ',') printf(")");
}

/* Nothing where runs have splits of their own, and so nodes of their own. */
static void print_scored(const train_request *request, const train_outcome *runs) {
    static const char *const parts[] = {"validation", "test"};
    const pgcn_score *const scores[] = {&runs[0].val, &runs[0].test};
    for (long long i = 1; i < request->seeds; i++)
        if (strcmp(runs[i].split_hash, runs[0].split_hash) != 0) return;
    cli_print_scored(scores, parts, 2);
}

/* All measures in a line: of test items, or where there are none of validation items. */
static void print_measures(const train_request *request, const pgcn_dataset_info *info,
                           const train_outcome *runs, bool tested) {
    const char *items = cli_items(info->task), *between = "";
    printf("%s %s, in %%: ", tested ? "Test" : "Validation", items);
    for (int m = 0; m < PGCN_MEASURES; m++) {
        spread s = tested ? SPREAD_OF(test, (pgcn_measure)m) : SPREAD_OF(val, (pgcn_measure)m);
        if (isnan(s.mean)) continue;
        printf("%s%s %.2f", between, cli_measure_title((pgcn_measure)m, info->task), s.mean);
        between = ", ";
        if (m == PGCN_MEASURE_ACCURACY) print_beside(request, runs, tested);
    }
    printf("\n");
    print_scored(request, runs);
}

/* Advice on the first run that needs some. */
static void advise(const train_request *request, const pgcn_dataset *data,
                   const train_outcome *runs) {
    const cli_training training = {.task = pgcn_dataset_describe(data).task,
                                   .weighted = strcmp(runs[0].config.class_weights, "none") != 0,
                                   .by_measure = runs[0].config.select > PGCN_SELECT_ACCURACY,
                                   .config = &runs[0].config};
    if (!request->quiet) cli_note_few(stderr, data, runs[0].split);
    long long needy = 0, first = -1;
    for (long long i = 0; i < request->seeds; i++) {
        if (runs[i].val.classes_missed == 0 && cli_is_beaten(&runs[i].val, &training)) continue;
        if (needy++ == 0) first = i;
    }
    if (needy == 0 || training.task == PGCN_TASK_MULTILABEL) return;
    const pgcn_score *val = &runs[first].val;
    if (request->seeds > 1)
        printf("In %lld of %lld runs, such as that of seed %llu: ", needy, request->seeds,
               (unsigned long long)runs[first].seed);
    cli_advise(stdout, val, pgcn_dataset_class_name(data, val->first_missed), &training);
}

/* With eval-nodes the figures are of some nodes only, which a reader must know. */
static void note_sample(const train_request *request, const pgcn_config *config) {
    if (config->eval_nodes == 0) return;
    printf("These figures are of a sample, at most %d validation and %d test nodes "
           "(--eval-nodes), by what was drawn for them. Of all of them, without drawing: "
           "pathgcn eval %s/model.safetensors\n",
           config->eval_nodes, config->eval_nodes, request->out);
}

/* Runs whose last epoch was the best: nobody knows how good later ones would be. */
static void note_unfinished(const train_request *request, const train_outcome *runs) {
    long long count = 0;
    for (long long i = 0; i < request->seeds; i++)
        count += runs[i].best_epoch == runs[i].epochs && !isnan(runs[i].val_accuracy);
    if (count == 0) return;
    if (request->seeds > 1)
        printf("In %lld of %lld runs the", count, request->seeds);
    else
        printf("The");
    printf(" best epoch is the last one: the network was still getting better. Train longer: "
           "--epochs %lld --resume.\n",
           2 * (long long)runs[0].epochs);
}

void cli_train_print_table(const train_request *request, const pgcn_dataset *data,
                           const train_outcome *runs) {
    pgcn_dataset_info about = pgcn_dataset_describe(data), *info = &about;
    pgcn_measure measure = cli_measure_of(info, &runs[0].recipe);
    spread val = SPREAD_OF(val, measure), test = SPREAD_OF(test, measure);
    bool tested = !isnan(test.mean);
    spread shown = tested ? test : val;
    char over[128] = "", untested[48] = "";
    print_rows(request, data, runs, val, test);
    if (request->seeds > 1) {
        double low, high;
        cli_interval_of_mean(shown.mean, shown.deviation, request->seeds, &low, &high);
        snprintf(over, sizeof over,
                 " (mean of %lld seeds, deviation %.2f, 95 %% interval %.2f to %.2f)",
                 request->seeds, shown.deviation, low, high);
    }
    if (!tested) /* only these two steps leave no test set */
        snprintf(untested, sizeof untested, " (no test: %s)",
                 cli_steps_include(info->steps, CLI_STEP_WITHOUT_TEST) ? "without-test"
                                                                       : "crossval");
    printf("\n%s: %s %s %.2f%%%s%s at the epoch chosen on validation %s.\n", info->name,
           tested ? "test" : "validation", cli_measure_title(measure, info->task), shown.mean, over,
           untested, cli_items(info->task));
    print_measures(request, info, runs, tested);
    note_sample(request, &runs[0].config);
    advise(request, data, runs);
    note_unfinished(request, runs);
    print_recipes(request, runs);
    printf("Model: %s/model.safetensors\n", request->out);
}

/* "test_graph_accuracy_mean" and "..._std"; nothing unless nodes of several graphs have labels. */
static void put_graph_means(json_t *object, const char *part, spread s) {
    char key[64];
    if (isnan(s.mean)) return;
    snprintf(key, sizeof key, "%s_graph_accuracy_mean", part);
    json_object_set_new(object, key, cli_json_real(s.mean));
    snprintf(key, sizeof key, "%s_graph_accuracy_std", part);
    json_object_set_new(object, key, cli_json_real(s.deviation));
}

/* Adds "test_auc_mean" and so on, for all measures but the accuracy, which is there already. */
static void put_means(json_t *object, const train_request *request, const pgcn_dataset_info *info,
                      const train_outcome *runs) {
    json_object_set_new(object, "measure",
                        json_string(pgcn_measure_name(cli_measure_of(info, &runs[0].recipe))));
    for (int m = PGCN_MEASURE_ACCURACY + 1; m < PGCN_MEASURES; m++) {
        const spread s[2] = {SPREAD_OF(val, (pgcn_measure)m), SPREAD_OF(test, (pgcn_measure)m)};
        char name[32], key[64];
        cli_measure_key((pgcn_measure)m, name);
        for (int part = 0; part < 2; part++) {
            snprintf(key, sizeof key, "%s_%s_mean", part ? "test" : "val", name);
            json_object_set_new(object, key, cli_json_real(s[part].mean));
            snprintf(key, sizeof key, "%s_%s_std", part ? "test" : "val", name);
            json_object_set_new(object, key, cli_json_real(s[part].deviation));
        }
    }
    json_object_set_new(object, "val_majority_mean", cli_json_real(SPREAD(val.majority).mean));
    json_object_set_new(object, "test_majority_mean", cli_json_real(SPREAD(test.majority).mean));
    put_graph_means(object, "val", SPREAD(val.graph_accuracy));
    put_graph_means(object, "test", SPREAD(test.graph_accuracy));
}

json_t *cli_train_summary(const train_request *request, const pgcn_dataset_info *info,
                          const train_outcome *runs) {
    double total_epochs = 0;
    int64_t predicted = 0;
    json_t *list = json_array();
    for (long long i = 0; i < request->seeds; i++) {
        total_epochs += (double)runs[i].epochs;
        if (runs[i].predicted_bytes > predicted) predicted = runs[i].predicted_bytes;
        json_array_append_new(list, cli_train_outcome_to_json(&runs[i]));
    }
    spread test = SPREAD(test_accuracy), val = SPREAD(val_accuracy);
    spread best = SPREAD(best_test_accuracy);
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:f, s:f, s:I, s:I, s:I, "
        "s:s, s:s, s:o, s:o}",
        "dataset", info->name, "task", pgcn_task_name(info->task), "metric", cli_metric(info->task),
        "recipe", recipe_id(&runs[0].recipe), "races_won", wins_to_json(request, runs),
        "accuracy_unit", "percent", "test_accuracy_mean", cli_json_real(test.mean),
        "test_accuracy_std", cli_json_real(test.deviation), "test_accuracy_interval_95",
        cli_json_interval(test.mean, test.deviation, request->seeds), "val_accuracy_mean",
        cli_json_real(val.mean), "val_accuracy_std", cli_json_real(val.deviation),
        "val_accuracy_interval_95", cli_json_interval(val.mean, val.deviation, request->seeds),
        "best_epoch_test_accuracy_mean", cli_json_real(best.mean), "best_epoch_test_accuracy_std",
        cli_json_real(best.deviation), "seeds", (json_int_t)request->seeds, "epochs",
        total_epochs / (double)request->seeds, "step_ms_median", SPREAD(step_ms).mean,
        "peak_rss_bytes", (json_int_t)cli_peak_rss_bytes(), "predicted_peak_rss_bytes",
        (json_int_t)predicted, "parameters", (json_int_t)runs[0].parameters, "fingerprint",
        info->fingerprint, "out", request->out, "config", cli_config_to_json(&runs[0].config, true),
        "runs", list);
    put_means(object, request, info, runs);
    return object;
}
