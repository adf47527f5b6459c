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

/* A recipe that was made for a data set has seen all its splits, and what tests in one of them trains
 * in another: a nested search starts from what is there for any data. */
static const char *start_of(const exp_tune_request *r, const pgcn_dataset *data) {
    static const char *const any[] = {
        [PGCN_TASK_GRAPH] = "any-graph", [PGCN_TASK_MULTILABEL] = "any-multilabel"};
    pgcn_task task = pgcn_dataset_describe(data).task;
    if (r->recipe || !r->nested) return r->recipe;
    return (size_t)task < sizeof any / sizeof *any && any[task] ? any[task] : "none";
}

int exp_tune_present(const exp_tune_request *r, cli_arguments *arguments, exp_search *s,
                     char name[128]) {
    pgcn_dataset *data = NULL;
    cli_weights weights;
    cli_weights_defer(arguments, &weights);
    pgcn_config given = pgcn_config_default();
    int code = cli_apply(&cli_tune, arguments, &given); /* typing errors before a long load */
    if (code < 0) code = load(r, "without-test", &data);
    if (code >= 0) return code;
    int depth = cli_is_given(arguments, "layers") ? given.layers : 0;
    snprintf(name, 128, "%.127s", pgcn_dataset_describe(data).name);
    pgcn_status status = pgcn_recipe_for(start_of(r, data), data, depth, &s->present, &s->recipe);
    code = cli_weights_read(&cli_tune, &r->source, data, arguments, &weights);
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    if (!r->score && status == PGCN_OK) s->measure = cli_measure_of(&info, &s->recipe);
    pgcn_dataset_free(data);
    if (code >= 0) return code;
    if (status != PGCN_OK) return cli_failed(&cli_tune, status);
    code = cli_configure(&cli_tune, arguments, &s->present);
    if (code < 0) code = cli_check_seeds(&cli_tune, s->present.seed, s->runs);
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
    pgcn_status status = pgcn_config_check_for(&s->present, out->data);
    if (status != PGCN_OK) return cli_failed(&cli_tune, status);
    snprintf(out->name, sizeof out->name, "%.127s",
             r->dataset ? r->dataset : pgcn_dataset_describe(out->data).name);
    if (exp_data_hash(out)) return -1;
    cli_complain(&cli_tune, "out of memory");
    return EXIT_FAILED;
}
