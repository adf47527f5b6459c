/* tune --nested. First every split is searched by itself, on data that has no other split and no
 * label of its test nodes. When all choices are made, the data with test nodes is loaded, and each
 * winner is trained again with the same seeds and tested. No information flows from a test to a
 * choice, or between splits. */
#include "experiments/tune.h"

#include <stdlib.h>
#include <string.h>

static pgcn_status out_of_memory(const exp_nested *n) {
    return cli_fail(n->search->command, PGCN_ERR_MEMORY, "out of memory for %d splits", n->splits);
}

/* ---- which splits ----------------------------------------------------------------------------- */

/* The names of the splits in use; each needs something to test on. */
static pgcn_status list_splits(exp_nested *n, const pgcn_dataset *data) {
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    const uint8_t *train, *val, *test;
    const char *name;
    n->splits = info.splits;
    n->split = calloc((size_t)n->splits + 1, sizeof *n->split);
    if (!n->split) return out_of_memory(n);
    for (int i = 0; (name = pgcn_dataset_split(data, i, &train, &val, &test)); i++) {
        snprintf(n->split[i].name, sizeof n->split[i].name, "%s", name);
        n->split[i].train_items = cli_mask_size(train, info.items);
        n->split[i].val_items = cli_mask_size(val, info.items);
        n->split[i].test_items = cli_mask_size(test, info.items);
        n->split[i].job = calloc((size_t)n->search->runs, sizeof *n->split[i].job);
        if (!n->split[i].job) return out_of_memory(n);
        if (n->split[i].test_items > 0) continue;
        return cli_fail(
            n->search->command, PGCN_ERR_ARGUMENT,
            "split %s of '%s' has no test %s, and --nested tests every split; use kfold=K in "
            "place of crossval=K, and leave out without-test",
            name, info.name, cli_items(info.task));
    }
    return PGCN_OK;
}

/* ---- choosing --------------------------------------------------------------------------------- */

static pgcn_status keep_winner(exp_nested *n, exp_nested_split *split) {
    exp_search *s = n->search;
    split->candidate = s->order[0];
    split->config = s->candidate[s->order[0]].config;
    split->changes = exp_tune_changes(s, s->order[0]);
    snprintf(split->space, sizeof split->space, "%s", s->space->name);
    n->seconds += s->seconds;
    n->core_seconds += s->core_seconds;
    return exp_tune_write(s, split->recipe, NULL);
}

/* Searches one split. All its data and jobs are made here and freed at the end. */
static pgcn_status choose(exp_nested *n, const exp_tune_request *r, exp_nested_split *split) {
    exp_search *s = n->search;
    const char *base = s->out;
    char out[EXP_PATH_BYTES], prefix[32];
    exp_data data = {0};
    exp_space space = {0};
    exp_jobs jobs = {.lock = -1};
    snprintf(out, sizeof out, "%.3900s/split-%s", base, split->name);
    snprintf(prefix, sizeof prefix, "split %s, ", split->name);
    s->prefix = prefix;
    pgcn_status status = exp_tune_load(r, s, split->name, true, &data);
    if (status == PGCN_OK && s->races) status = exp_tune_race(r, data.data, s);
    snprintf(s->present.split, sizeof s->present.split, "%s", split->name);
    if (status == PGCN_OK) status = exp_tune_space(r, data.data, &space);
    if (status == PGCN_OK) {
        s->data = &data;
        s->space = &space;
        s->jobs = &jobs;
        s->out = out;
        s->seconds = s->core_seconds = 0;
        status = exp_jobs_open(&jobs, s->command, out);
    }
    if (status == PGCN_OK) status = exp_search_run(s);
    if (status == PGCN_OK) status = keep_winner(n, split);
    exp_search_free(s);
    exp_jobs_close(&jobs);
    exp_space_free(&space);
    pgcn_dataset_free(data.data);
    s->out = base;
    s->data = NULL;
    s->space = NULL;
    s->jobs = NULL;
    return status;
}

/* ---- testing ---------------------------------------------------------------------------------- */

static pgcn_status add_tests(exp_nested *n, exp_nested_split *split) {
    const exp_search *s = n->search;
    pgcn_config config = split->config;
    for (int run = 0; run < s->runs; run++) {
        config.seed = s->present.seed + (uint64_t)run;
        CLI_TRY(exp_jobs_add(&n->jobs, &n->data, &config, s->fresh, &split->job[run]));
    }
    return PGCN_OK;
}

static pgcn_status test(exp_nested *n) {
    exp_search *s = n->search;
    for (int i = 0; i < n->splits; i++) CLI_TRY(add_tests(n, &n->split[i]));
    s->pace.what = "test: ";
    CLI_TRY(exp_jobs_run(&n->jobs, &s->pace));
    size_t failed = n->jobs.count - exp_jobs_in(&n->jobs, EXP_DONE);
    if (failed > 0)
        return cli_fail(s->command, PGCN_ERR_SYSTEM,
                        "%zu of %zu tests failed, so there is no result; the logs are in %s",
                        failed, n->jobs.count, n->jobs.directory);
    for (int i = 0; i < n->splits; i++) {
        exp_nested_split *split = &n->split[i];
        char path[96];
        split->val = exp_spread_of(&n->jobs, split->job, s->runs, exp_selected(s, "val", path));
        split->test = exp_spread_of(&n->jobs, split->job, s->runs, exp_selected(s, "test", path));
    }
    for (size_t i = 0; i < n->jobs.count; i++) {
        n->seconds += exp_record_number(n->jobs.job[i].record, "seconds");
        n->core_seconds += exp_record_number(n->jobs.job[i].record, "core_seconds");
    }
    return PGCN_OK;
}

/* ---- all splits ------------------------------------------------------------------------------- */

static void print_start(const exp_tune_request *r, const exp_nested *n) {
    if (r->quiet) return;
    cli_print_notes(stderr, n->data.data);
    if (exp_nested_start_has_seen(n->search))
        fprintf(
            stderr,
            "note: recipe %s is one of this data set: where it was chosen on several splits it has "
            "seen labels that test here, and candidates near it profit from that\n",
            n->search->recipe.name);
}

/* Lists the splits in use. The data with labels is freed before anything is trained. */
static pgcn_status look_up_splits(exp_nested *n, const exp_tune_request *r) {
    pgcn_status status = exp_tune_load(r, n->search, n->search->present.split, false, &n->data);
    if (status == PGCN_OK) status = list_splits(n, n->data.data);
    if (status == PGCN_OK) print_start(r, n);
    pgcn_dataset_free(n->data.data);
    n->data = (exp_data){0};
    return status;
}

pgcn_status exp_nested_tune(const exp_tune_request *r, exp_search *s) {
    exp_nested n = {.search = s, .jobs = {.lock = -1}};
    pgcn_config start = s->present;
    pgcn_status status = look_up_splits(&n, r);
    if (status == PGCN_OK) status = exp_jobs_open(&n.jobs, s->command, s->out);
    if (status == PGCN_OK) cli_catch_signals();
    if (n.splits > 0)
        s->budget_minutes /=
            n.splits; /* the first split decides how many candidates, from its share of the time */
    for (int i = 0; i < n.splits && status == PGCN_OK; i++) status = choose(&n, r, &n.split[i]);
    s->present = start;
    if (status == PGCN_OK) status = exp_tune_load(r, s, start.split, false, &n.data);
    if (status == PGCN_OK) status = test(&n);
    if (status == PGCN_OK) status = exp_nested_report(&n, r->json);
    for (int i = 0; n.split && i < n.splits; i++) {
        json_decref(n.split[i].changes);
        free(n.split[i].job);
    }
    free(n.split);
    exp_jobs_close(&n.jobs);
    pgcn_dataset_free(n.data.data);
    return status;
}
