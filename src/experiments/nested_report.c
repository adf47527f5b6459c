/* The result of a nested search: a line for each split, the mean over the splits, and
 * nested.json. */
#include "experiments/tune.h"

#include <math.h>
#include <string.h>

bool exp_nested_start_has_seen(const exp_search *s) {
    return !cli_is_general(&s->recipe);
}

static const char *start_of(const exp_search *s) {
    if (s->races) return "the winner of its own race";
    return s->recipe.version > 0 ? s->recipe.name : "the defaults";
}

/* Mean and deviation over the splits; each counts once, by the mean of its runs. */
static exp_spread over_splits(const exp_nested *n, size_t offset) {
    exp_tally tally = {0};
    for (int i = 0; i < n->splits; i++)
        exp_tally_add(&tally, ((const exp_spread *)((const char *)&n->split[i] + offset))->mean);
    return exp_tally_spread(&tally);
}
#define OVER_SPLITS(field) over_splits(n, offsetof(exp_nested_split, field))

/* ---- for people ------------------------------------------------------------------------------- */

/* A single run has no deviation. */
static void add_figure(exp_table *table, exp_spread spread, int runs) {
    if (runs > 1)
        exp_table_add(table, "%.2f ± %.2f", spread.mean, spread.deviation);
    else
        exp_table_add(table, "%.2f", spread.mean);
}

static void add_row(exp_table *table, const exp_nested_split *split, int runs) {
    exp_table_add(table, "%s", split->name);
    exp_table_add(table, split->candidate == 0 ? "%d, the start" : "%d", split->candidate);
    add_figure(table, split->val, runs);
    add_figure(table, split->test, runs);
}

static void print_settings(const exp_nested_split *split) {
    const char *key;
    json_t *value;
    bool any = false;
    printf("Split %s, candidate %d:", split->name, split->candidate);
    json_object_foreach(split->changes, key, value) {
        printf("%s %s = %s", any ? "," : "", key, json_string_value(value));
        any = true;
    }
    printf("%s\n", any ? "" : " the start");
}

static void print_mean(const char *what, const char *metric, exp_spread spread, int splits) {
    double low, high;
    printf("%s %s %.2f", what, metric, spread.mean);
    if (cli_interval_of_mean(spread.mean, spread.deviation, splits, &low, &high))
        printf(" ± %.2f over %d splits, 95 %% interval of the mean %.2f to %.2f", spread.deviation,
               splits, low, high);
    printf("\n");
}

static void print_protocol(const exp_search *s, pgcn_task task) {
    const char *items = cli_items(task);
    unsigned long long first = s->present.seed, last = first + (unsigned)(s->runs - 1);
    if (s->runs > 1)
        printf("\n± of a split is the deviation over its %d runs, seeds %llu to %llu.", s->runs,
               first, last);
    else
        printf("\nOne run for each split, seed %llu.", first);
    printf(" Settings and epochs were chosen\non validation %s by %s, without the labels of the "
           "split's own test %s; each split was\ntested after all choices were made.\n",
           items, s->rule == EXP_BY_LOSS ? "loss" : cli_measure_title(s->measure, task), items);
}

static void print_table(const exp_nested *n) {
    const exp_search *s = n->search;
    pgcn_task task = pgcn_dataset_describe(n->data.data).task;
    const char *metric = cli_measure_title(s->measure, task);
    char heads[128];
    snprintf(heads, sizeof heads, "split|chosen candidate|>validation %s|>test %s", metric, metric);
    exp_table *table = exp_table_new(heads);
    printf("%s, %d split%s, each searched by itself from %s: %d candidates, rungs:", n->data.name,
           n->splits, n->splits == 1 ? "" : "s", start_of(s), s->candidates);
    exp_print_rungs(s);
    for (int i = 0; i < n->splits; i++) add_row(table, &n->split[i], s->runs);
    exp_table_print(stdout, table, EXP_TEXT);
    exp_table_free(table);
    printf("\n");
    print_mean("Validation", metric, OVER_SPLITS(val), n->splits);
    print_mean("Test", metric, OVER_SPLITS(test), n->splits);
    printf("\nSettings that differ from the start:\n");
    for (int i = 0; i < n->splits; i++) print_settings(&n->split[i]);
    print_protocol(s, task);
    if (exp_nested_start_has_seen(s))
        printf("The start, recipe %s, is one of this data set and may have seen these labels.\n",
               s->recipe.name);
    printf("\nEverything: %s/nested.json, as a page: %s/report.html; the search of each split: "
           "%s/split-S.\n",
           s->out, s->out, s->out);
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static json_t *mean_to_json(exp_spread spread, int splits) {
    json_t *object = exp_spread_to_json(spread);
    json_object_set_new(object, "interval_95",
                        cli_json_interval(spread.mean, spread.deviation, splits));
    return object;
}

static json_t *split_to_json(const exp_nested *n, const exp_nested_split *split) {
    json_t *runs = json_array();
    char val[64], test[64];
    exp_measure_key(n->search, "val", val);
    exp_measure_key(n->search, "test", test);
    for (int run = 0; run < n->search->runs; run++) {
        const json_t *record = n->jobs.job[split->job[run]].record;
        const json_t *at = json_object_get(record, "selected");
        json_array_append_new(
            runs, json_pack("{s:O, s:O, s:O, s:O}", "seed", json_object_get(record, "seed"),
                            "epoch", json_object_get(at, "epoch"), val, json_object_get(at, val),
                            test, json_object_get(at, test)));
    }
    return json_pack("{s:s, s:{s:I, s:I, s:I}, s:i, s:s, s:O, s:s, s:o, s:o, s:o}", "split",
                     split->name, "items", "train", (json_int_t)split->train_items, "val",
                     (json_int_t)split->val_items, "test", (json_int_t)split->test_items,
                     "candidate", split->candidate, "space", split->space, "changes",
                     split->changes, "recipe", split->recipe, val, exp_spread_to_json(split->val),
                     test, exp_spread_to_json(split->test), "runs", runs);
}

/* Of the largest process of a test. */
static double peak_of(const exp_nested *n) {
    double peak = 0;
    for (size_t i = 0; i < n->jobs.count; i++)
        peak = fmax(peak, exp_record_number(n->jobs.job[i].record, "peak_rss_bytes"));
    return peak;
}

static json_t *make_json(const exp_nested *n) {
    const exp_search *s = n->search;
    pgcn_dataset_info about = pgcn_dataset_describe(n->data.data);
    pgcn_info info = pgcn_info_get();
    json_t *splits = json_array();
    char val[64], test[64], chosen_by[64];
    exp_measure_key(s, "val", val);
    exp_measure_key(s, "test", test);
    exp_chosen_by(s, chosen_by);
    for (int i = 0; i < n->splits; i++)
        json_array_append_new(splits, split_to_json(n, &n->split[i]));
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:i, s:i, s:i, s:s, s:o, s:o, s:o, s:o, s:s, "
        "s:s, s:s, s:f, s:o, s:f}",
        "dataset", n->data.name, "task", pgcn_task_name(about.task), "metric",
        cli_metric(about.task), "fingerprint", about.fingerprint, "start_recipe", s->recipe.name,
        "start_is_of_this_data_set", (int)exp_nested_start_has_seen(s), "search_seed",
        (json_int_t)s->seed, "candidates", s->candidates, "keep", s->keep, "runs", s->runs,
        "chosen_by", chosen_by, "rungs", exp_rungs_to_json(s), val,
        mean_to_json(OVER_SPLITS(val), n->splits), test, mean_to_json(OVER_SPLITS(test), n->splits),
        "splits", splits, "version", info.version, "isa", info.isa, "program", exp_program_hash(),
        "seconds", n->seconds, "core_seconds", cli_json_real(n->core_seconds), "peak_rss_bytes",
        peak_of(n));
}

pgcn_status exp_nested_report(const exp_nested *n, bool json) {
    char path[EXP_PATH_BYTES];
    snprintf(path, sizeof path, "%.4000s/nested.json", n->search->out);
    json_t *object = make_json(n);
    pgcn_status status = cli_write_json(n->search->command, path, object, JSON_INDENT(1));
    if (status == PGCN_OK) status = exp_nested_page(n, OVER_SPLITS(val), OVER_SPLITS(test));
    if (status == PGCN_OK && json)
        status = cli_print_json(n->search->command, json_incref(object));
    else if (status == PGCN_OK)
        print_table(n);
    json_decref(object);
    return status;
}
