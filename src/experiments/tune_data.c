/* What a search is given: the settings that it starts from, and the data without test nodes. */
#include "experiments/tune.h"

#include <stdlib.h>
#include <string.h>

/* Loads with the user's own steps and then ours. */
static int load(const exp_tune_request *r, const char *steps, pgcn_dataset **out) {
    char all[1024];
    cli_source source = r->source;
    if ((size_t)snprintf(all, sizeof all, "%s%s%s", source.steps ? source.steps : "",
                         source.steps ? "," : "", steps) >= sizeof all) {
        cli_complain(&cli_tune, "--prepare is too long");
        return EXIT_USAGE;
    }
    source.steps = all;
    return cli_load_dataset(&cli_tune, r->dataset, &source, "", out);
}

/* Whether a race finds the start. A recipe that was made for a data set has seen all its splits, and what
 * tests in one of them trains in another: a nested search does not begin with it. */
static bool starts_with_race(const exp_tune_request *r, const pgcn_recipe_info *found) {
    if (r->recipe) return strcmp(r->recipe, "auto") == 0;
    return r->nested || found->version == 0 || strcmp(found->dataset, "any") == 0;
}

/* The best family of those that leave the data as it is: a search is about settings. */
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

int exp_tune_race(const exp_tune_request *r, const pgcn_dataset *data, exp_search *s) {
    pgcn_config own = pgcn_config_default();
    pgcn_race *race = NULL;
    char name[64] = "";
    int code = cli_apply(&cli_tune, r->arguments, &own);
    if (code >= 0) return code;
    int depth = cli_is_given(r->arguments, "layers") ? own.layers : 0;
    pgcn_status status = pgcn_race_new(data, &own, &race);
    while (status == PGCN_OK && !pgcn_race_finished(race) && !cli_interrupted())
        status = pgcn_race_epoch(race);
    if (status == PGCN_OK && !pgcn_race_finished(race)) {
        cli_complain(&cli_tune, "interrupted in the race for the start; the same command begins "
                                "again");
        code = EXIT_FAILED;
    }
    if (status == PGCN_OK && code < 0) {
        best_entry(race, name);
        status = pgcn_recipe_for(name, data, depth, &s->present, &s->recipe);
    }
    pgcn_race_free(race);
    if (status != PGCN_OK) return cli_failed(&cli_tune, status);
    if (code < 0 && !r->quiet)
        fprintf(stderr,
                "note: %sthe search starts from recipe %s, which won the race on validation\n",
                s->prefix ? s->prefix : "", name);
    return code < 0 ? cli_configure(&cli_tune, r->arguments, &s->present) : code;
}

int exp_tune_present(const exp_tune_request *r, cli_arguments *arguments, exp_search *s,
                     char name[128]) {
    pgcn_dataset *data = NULL;
    cli_weights weights;
    cli_weights_defer(arguments, &weights);
    pgcn_config given = pgcn_config_default();
    int code = cli_apply(&cli_tune, arguments, &given); /* typing errors before a long load */
    if (code < 0) code = cli_check_seeds(&cli_tune, given.seed, s->runs);
    if (code < 0) code = load(r, "without-test", &data);
    if (code >= 0) return code;
    int depth = cli_is_given(arguments, "layers") ? given.layers : 0;
    snprintf(name, 128, "%.127s", pgcn_dataset_describe(data).name);
    bool race = r->recipe && strcmp(r->recipe, "auto") == 0;
    const char *named = race ? NULL : r->recipe;
    pgcn_status status = pgcn_recipe_for(named, data, depth, &s->present, &s->recipe);
    s->races = status == PGCN_OK && starts_with_race(r, &s->recipe);
    code = cli_weights_read(&cli_tune, &r->source, data, arguments, &weights);
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    if (!r->score && status == PGCN_OK) s->measure = cli_measure_of(&info, &s->recipe);
    exp_space space = {0};
    if (code < 0 && s->races) code = exp_tune_space(r, data, &space); /* mistakes before a race */
    exp_space_free(&space);
    if (code < 0 && s->races && !r->nested) {
        cli_catch_signals();
        code = exp_tune_race(r, data, s);
    } else if (code < 0 && s->races) { /* every split has a race of its own */
        s->present = pgcn_config_default();
        s->recipe = (pgcn_recipe_info){.name = "auto"};
    }
    pgcn_dataset_free(data);
    if (code >= 0) return code;
    if (status != PGCN_OK) return cli_failed(&cli_tune, status);
    code = s->races && r->nested ? cli_overlay(&cli_tune, arguments, &s->present)
                                 : cli_configure(&cli_tune, arguments, &s->present);
    if (code >= 0) return code;
    /* The recipe's own steps, unless the user has named some: these then go into the new recipe. */
    if (r->source.steps)
        snprintf(s->recipe.prepare, sizeof s->recipe.prepare, "%s", r->source.steps);
    return -1;
}

int exp_tune_load(const exp_tune_request *r, const exp_search *s, const char *split, bool hide_test,
                  exp_data *out) {
    char steps[256];
    bool own = r->source.steps || (r->dataset && strchr(r->dataset, ':'));
    bool chosen = !r->nested && r->source.steps && strstr(r->source.steps, "only-split=");
    snprintf(steps, sizeof steps, "%s%s%s%s%s%s", own ? "" : s->recipe.prepare,
             own || !*s->recipe.prepare ? "" : ",",
             chosen ? "" : "only-split=", chosen ? "" : split, chosen || !hide_test ? "" : ",",
             hide_test ? "without-test" : "");
    int code = load(r, steps, &out->data);
    if (code >= 0) return code;
    pgcn_status status = PGCN_OK; /* what a race finds is checked by it */
    if (!s->races) status = pgcn_config_check_for(&s->present, out->data);
    if (status != PGCN_OK) return cli_failed(&cli_tune, status);
    snprintf(out->name, sizeof out->name, "%.127s",
             r->dataset ? r->dataset : pgcn_dataset_describe(out->data).name);
    if (exp_data_hash(out)) return -1;
    cli_complain(&cli_tune, "out of memory");
    return EXIT_FAILED;
}
