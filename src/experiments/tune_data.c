/* The input of a search: the settings that it starts from, and the data without test nodes. */
#include "experiments/tune.h"

#include <stdlib.h>
#include <string.h>

/* Loads the data with the user's own steps and then `steps`. */
static pgcn_status load(const exp_tune_request *r, const char *steps, pgcn_dataset **out) {
    char all[1024];
    cli_source source = r->source;
    if (!cli_steps_join(all, sizeof all, source.steps, steps))
        return cli_fail(&cli_tune, PGCN_ERR_ARGUMENT, "--prepare is too long");
    source.steps = all;
    return cli_load_dataset(&cli_tune, r->dataset, &source, "", out);
}

/* Whether a race finds the start. A recipe that was tuned on a data set has seen all its splits,
 * and a test node of one is a training node of another. So a nested search does not start from
 * it. */
static bool starts_with_race(const exp_tune_request *r, const pgcn_recipe_info *found) {
    if (r->arguments->all_networks) return true;
    if (r->recipe) return cli_is_auto(r->recipe); /* not of --recipe usual */
    if (cli_names_network(r->arguments)) return false;
    return r->nested || cli_is_general(found);
}

/* The best recipe of those that do not prepare the data in their own way: a search is about
 * settings. */
static void best_entry(const pgcn_race *race, char name[64]) {
    pgcn_race_entry entry, best = {.rung = 0};
    for (int i = 0; pgcn_race_get(race, i, &entry); i++) {
        if (entry.out || *entry.recipe.prepare || entry.rung < best.rung) continue;
        if (entry.rung > best.rung || entry.score > best.score) best = entry;
    }
    pgcn_config config;
    pgcn_recipe_info winner;
    bool won = pgcn_race_winner(race, &config, &winner) == PGCN_OK && !*winner.prepare;
    snprintf(name, 64, "%s", won || best.rung == 0 ? winner.name : best.recipe.name);
}

/* Runs the race and takes the settings of its winner. */
static pgcn_status race_to_start(const exp_tune_request *r, const pgcn_dataset *data,
                                 const pgcn_config *given, exp_search *s, char name[64]) {
    pgcn_race *race = NULL;
    CLI_TRY(cli_new_race(&cli_tune, r->arguments, data, given, &race));
    pgcn_status status = PGCN_OK;
    pgcn_race_on_step(race, cli_not_interrupted, NULL);
    while (status == PGCN_OK && !pgcn_race_finished(race) && !cli_interrupted())
        status = pgcn_race_epoch(race);
    if (status == PGCN_ERR_STOPPED) status = PGCN_OK;
    if (status == PGCN_OK && !pgcn_race_finished(race)) {
        pgcn_race_free(race);
        return cli_fail(&cli_tune, PGCN_ERR_SYSTEM,
                        "interrupted in the race for the start; the same command begins again");
    }
    if (status == PGCN_OK) best_entry(race, name);
    pgcn_race_free(race);
    CLI_TRY(cli_report(&cli_tune, status));
    return cli_find_recipe(&cli_tune, r->arguments, name, data, &s->present, &s->recipe);
}

pgcn_status exp_tune_race(const exp_tune_request *r, const pgcn_dataset *data, exp_search *s) {
    pgcn_config given = pgcn_config_default();
    char name[64] = "";
    CLI_TRY(cli_apply(&cli_tune, r->arguments, &given));
    if (s->rule == EXP_BY_MEASURE && s->measure != PGCN_MEASURE_ACCURACY &&
        !cli_is_given(r->arguments, "select")) /* the race goes by what the search goes by */
        pgcn_config_set(&given, "select", pgcn_measure_name(s->measure));
    CLI_TRY(race_to_start(r, data, &given, s, name));
    if (!r->quiet)
        fprintf(stderr,
                "note: %sthe search starts from recipe %s, which won the race on validation\n",
                s->prefix ? s->prefix : "", name);
    return cli_configure(&cli_tune, r->arguments, NULL, &s->present);
}

/* The recipe to start from, or the race that finds it. */
static pgcn_status find_start(const exp_tune_request *r, const pgcn_dataset *data, exp_search *s) {
    const char *named = cli_is_auto(r->recipe) ? NULL : r->recipe;
    /* what authors publish was tuned on these splits, too */
    if (!named && r->nested && cli_names_network(r->arguments)) named = "default";
    CLI_TRY(cli_find_recipe(&cli_tune, r->arguments, named, data, &s->present, &s->recipe));
    s->races = starts_with_race(r, &s->recipe);
    s->own_files = r->dataset == NULL;
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    if (!r->score) s->measure = cli_measure_of(&info, &s->recipe);
    if (!s->races) return PGCN_OK;
    exp_space space = {0};
    pgcn_status status = exp_tune_space(r, data, &space); /* mistakes in it before a long race */
    exp_space_free(&space);
    if (status != PGCN_OK) return status;
    if (r->nested) { /* every split has a race of its own */
        s->present = pgcn_config_default();
        s->recipe = (pgcn_recipe_info){.name = "auto"};
        return PGCN_OK;
    }
    cli_catch_signals();
    return exp_tune_race(r, data, s);
}

pgcn_status exp_tune_present(const exp_tune_request *r, cli_arguments *arguments, exp_search *s,
                             char name[128]) {
    pgcn_dataset *data = NULL;
    cli_weights weights;
    cli_weights_defer(arguments, &weights);
    pgcn_config given = pgcn_config_default();
    CLI_TRY(cli_apply(&cli_tune, arguments, &given)); /* typing errors before a long load */
    CLI_TRY(cli_check_seeds(&cli_tune, given.seed, s->runs));
    CLI_TRY(load(r, "without-test", &data));
    snprintf(name, 128, "%.127s", pgcn_dataset_describe(data).name);
    pgcn_status status = cli_weights_read(&cli_tune, &r->source, data, arguments, &weights);
    if (status == PGCN_OK) status = find_start(r, data, s);
    pgcn_dataset_free(data);
    if (status != PGCN_OK) return status;
    CLI_TRY(s->races && r->nested ? cli_overlay(&cli_tune, arguments, &s->present)
                                  : cli_configure(&cli_tune, arguments, NULL, &s->present));
    /* The recipe's own steps, unless the user has named some: these then go into the new recipe. */
    if (r->source.steps)
        snprintf(s->recipe.prepare, sizeof s->recipe.prepare, "%s", r->source.steps);
    return PGCN_OK;
}

pgcn_status exp_tune_load(const exp_tune_request *r, const exp_search *s, const char *split,
                          bool hide_test, exp_data *out) {
    char steps[256];
    bool own = r->source.steps || (r->dataset && strchr(r->dataset, ':'));
    bool chosen = !r->nested && cli_steps_include(r->source.steps, CLI_STEP_ONLY_SPLIT);
    snprintf(steps, sizeof steps, "%s%s%s%s%s%s", own ? "" : s->recipe.prepare,
             own || !*s->recipe.prepare ? "" : ",",
             chosen ? "" : "only-split=", chosen ? "" : split, chosen || !hide_test ? "" : ",",
             hide_test ? "without-test" : "");
    CLI_TRY(load(r, steps, &out->data));
    if (!s->races) /* a race checks the settings that it finds */
        CLI_TRY(cli_report(&cli_tune, pgcn_config_check_for(&s->present, out->data)));
    const char *name = r->dataset ? r->dataset : pgcn_dataset_describe(out->data).name;
    size_t length = r->dataset ? strlen(name) : strcspn(name, ":"); /* own files: without steps */
    snprintf(out->name, sizeof out->name, "%.*s", (int)(length < 127 ? length : 127), name);
    if (exp_data_hash(out)) return PGCN_OK;
    return cli_fail(&cli_tune, PGCN_ERR_MEMORY, "out of memory");
}
