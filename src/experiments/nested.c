/* tune --nested. First every split is searched by itself, on data that has no other split and no label
 * of its test nodes; only when all choices are made is the data with test nodes loaded, and each
 * winner is trained again with the same seeds and tested. Nothing goes back from a test to a choice,
 * nor from one split to another. */
#include "experiments/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int out_of_memory(const exp_nested *n) {
    cli_complain(n->search->command, "out of memory for %d splits", n->splits);
    return EXIT_FAILED;
}

/* ---- which splits ----------------------------------------------------------------------------- */

static int64_t count_items(const uint8_t *mask, int64_t items) {
    int64_t count = 0;
    for (int64_t i = 0; i < items; i++) count += mask[i];
    return count;
}

/* The names of the splits in use; each needs something to test on. */
static int list_splits(exp_nested *n, const pgcn_dataset *data) {
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    const uint8_t *train, *val, *test;
    const char *name;
    n->splits = info.splits;
    n->split = calloc((size_t)n->splits + 1, sizeof *n->split);
    if (!n->split) return out_of_memory(n);
    for (int i = 0; (name = pgcn_dataset_split(data, i, &train, &val, &test)); i++) {
        snprintf(n->split[i].name, sizeof n->split[i].name, "%s", name);
        n->split[i].job = calloc((size_t)n->search->runs, sizeof *n->split[i].job);
        if (!n->split[i].job) return out_of_memory(n);
        if (count_items(test, info.items) > 0) continue;
        cli_complain(
            n->search->command,
            "split %s of '%s' has no test %s, and --nested tests every split; use kfold=K in "
            "place of crossval=K, and leave out without-test",
            name, info.name, cli_items(info.task));
        return EXIT_USAGE;
    }
    return -1;
}

/* ---- choosing --------------------------------------------------------------------------------- */

static int keep_winner(exp_nested *n, exp_nested_split *split) {
    exp_search *s = n->search;
    split->candidate = s->order[0];
    split->config = s->candidate[s->order[0]].config;
    split->changes = exp_tune_changes(s, s->order[0]);
    snprintf(split->space, sizeof split->space, "%s", s->space->name);
    n->seconds += s->seconds;
    return exp_tune_write(s, split->recipe, NULL);
}

/* Everything that the search of a split sees is made here and gone afterwards. */
static int choose(exp_nested *n, const exp_tune_request *r, exp_nested_split *split) {
    exp_search *s = n->search;
    const char *whole = s->out;
    char out[EXP_PATH_BYTES], prefix[32];
    exp_data data = {0};
    exp_space space = {0};
    exp_jobs jobs = {.lock = -1};
    snprintf(out, sizeof out, "%.3900s/split-%s", whole, split->name);
    snprintf(prefix, sizeof prefix, "split %s, ", split->name);
    s->prefix = prefix;
    int code = exp_tune_load(r, s, split->name, true, &data);
    if (code < 0 && s->races) code = exp_tune_race(r, data.data, s);
    snprintf(s->present.split, sizeof s->present.split, "%s", split->name);
    if (code < 0) code = exp_tune_space(r, data.data, &space);
    if (code < 0) {
        s->data = &data;
        s->space = &space;
        s->jobs = &jobs;
        s->out = out;
        s->seconds = 0;
        code = exp_jobs_open(&jobs, s->command, out);
    }
    if (code < 0) code = exp_search_run(s);
    if (code < 0) code = keep_winner(n, split);
    exp_search_free(s);
    exp_jobs_close(&jobs);
    exp_space_free(&space);
    pgcn_dataset_free(data.data);
    s->out = whole;
    s->data = NULL;
    s->space = NULL;
    s->jobs = NULL;
    return code;
}

/* ---- testing ---------------------------------------------------------------------------------- */

static int add_tests(exp_nested *n, exp_nested_split *split) {
    const exp_search *s = n->search;
    pgcn_config config = split->config;
    int code = -1;
    for (int run = 0; run < s->runs && code < 0; run++) {
        config.seed = s->present.seed + (uint64_t)run;
        code = exp_jobs_add(&n->jobs, &n->data, &config, s->fresh, &split->job[run]);
    }
    return code;
}

static int test(exp_nested *n) {
    exp_search *s = n->search;
    int code = -1;
    for (int i = 0; i < n->splits && code < 0; i++) code = add_tests(n, &n->split[i]);
    s->pace.what = "test: ";
    if (code < 0) code = exp_jobs_run(&n->jobs, &s->pace);
    if (code >= 0) return code;
    if (exp_jobs_in(&n->jobs, EXP_DONE) < n->jobs.count) {
        cli_complain(
            s->command, "%zu of %zu tests failed, so there is no result; the logs are in %s",
            n->jobs.count - exp_jobs_in(&n->jobs, EXP_DONE), n->jobs.count, n->jobs.directory);
        return EXIT_FAILED;
    }
    for (int i = 0; i < n->splits; i++) {
        exp_nested_split *split = &n->split[i];
        char path[96];
        split->val = exp_spread_of(&n->jobs, split->job, s->runs, exp_selected(s, "val", path));
        split->test = exp_spread_of(&n->jobs, split->job, s->runs, exp_selected(s, "test", path));
    }
    for (size_t i = 0; i < n->jobs.count; i++)
        n->seconds += exp_record_number(n->jobs.job[i].record, "seconds");
    return -1;
}

/* ---- the whole -------------------------------------------------------------------------------- */

static void say_start(const exp_tune_request *r, const exp_nested *n) {
    if (r->quiet) return;
    cli_print_notes(stderr, n->data.data);
    if (exp_nested_start_has_seen(n->search))
        fprintf(
            stderr,
            "note: recipe %s is one of this data set: where it was chosen on several splits it has "
            "seen labels that test here, and candidates near it profit from that\n",
            n->search->recipe.name);
}

/* The splits in use: looked up with the labels, which are gone before anything is trained. */
static int look_up_splits(exp_nested *n, const exp_tune_request *r) {
    int code = exp_tune_load(r, n->search, n->search->present.split, false, &n->data);
    if (code < 0) code = list_splits(n, n->data.data);
    if (code < 0) say_start(r, n);
    pgcn_dataset_free(n->data.data);
    n->data = (exp_data){0};
    return code;
}

int exp_nested_tune(const exp_tune_request *r, exp_search *s) {
    exp_nested n = {.search = s, .jobs = {.lock = -1}};
    pgcn_config start = s->present;
    int code = look_up_splits(&n, r);
    if (code < 0) code = exp_jobs_open(&n.jobs, s->command, s->out);
    if (code < 0) cli_catch_signals();
    if (n.splits > 0) s->budget_minutes /= n.splits; /* the first split says how many candidates */
    for (int i = 0; i < n.splits && code < 0; i++) code = choose(&n, r, &n.split[i]);
    s->present = start;
    if (code < 0) code = exp_tune_load(r, s, start.split, false, &n.data);
    if (code < 0) code = test(&n);
    if (code < 0) code = exp_nested_report(&n, r->json);
    for (int i = 0; n.split && i < n.splits; i++) {
        json_decref(n.split[i].changes);
        free(n.split[i].job);
    }
    free(n.split);
    exp_jobs_close(&n.jobs);
    pgcn_dataset_free(n.data.data);
    return code;
}
