/* What `pathgcn reproduce WORD` means: an experiment of the catalogue, a group of them, all, a grid,
 * or a table of facts. */
#include "experiments/reproduce.h"

#include <string.h>

/* Tables of facts, for which nothing is trained. */
static const struct {
    const char *name;
    pgcn_status (*report)(const exp_request *r);
} listings[] = {{"datasets", exp_report_counts}, {"settings", exp_report_settings}};
enum { LISTINGS = sizeof listings / sizeof *listings };

/* Whether an experiment is asked for by its name, its group or `all`. */
static bool is_asked_for(const exp_experiment *e, const char *name) {
    return strcmp(e->name, name) == 0 || (e->group && strcmp(e->group, name) == 0) ||
           (strcmp(name, "all") == 0 && !e->apart);
}

/* Leaves the tables of --tables. */
static pgcn_status choose_tables(const exp_request *r, exp_choice *chosen) {
    exp_words list;
    exp_choice all = *chosen;
    chosen->count = 0;
    CLI_TRY(exp_split_words(r, "tables", r->tables, ',', &list));
    for (int i = 0; i < list.count; i++) {
        long long number;
        int before = chosen->count;
        CLI_TRY(cli_number(r->command, "tables", list.word[i], 2, 8, &number));
        for (int j = 0; j < all.count; j++)
            if (all.experiment[j]->table == number)
                chosen->experiment[chosen->count++] = all.experiment[j];
        if (chosen->count == before)
            return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                            "--tables is for networks, whose tables are 2 to 8");
    }
    return PGCN_OK;
}

static bool has_network(const exp_choice *chosen, const char *network) {
    for (int i = 0; i < chosen->count; i++)
        for (const exp_variant *v = chosen->experiment[i]->variants; v && v->name; v++)
            if (strcmp(v->network ? v->network : "pathgcn", network) == 0) return true;
    return false;
}

static pgcn_status check_models(const exp_request *r, const exp_choice *chosen) {
    exp_words list;
    CLI_TRY(exp_split_words(r, "models", r->models, ',', &list));
    for (int i = 0; i < chosen->count; i++)
        if (!chosen->experiment[i]->networks)
            return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                            "--models chooses lines of networks; %s has none",
                            chosen->experiment[i]->name);
    for (int i = 0; i < list.count; i++)
        if (!has_network(chosen, list.word[i]))
            return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                            "--models: no table that is asked for has a network '%s'; names are "
                            "those of --model, as gcn, gcnii-star, pathgcn",
                            list.word[i]);
    return PGCN_OK;
}

static pgcn_status refuse_name(const exp_request *r, const char *name) {
    cli_guess guess = cli_guess_start(name);
    char hint[CLI_HINT_BYTES];
    for (const exp_experiment *e = exp_experiments; e->name; e++) cli_guess_offer(&guess, e->name);
    for (int i = 0; i < LISTINGS; i++) cli_guess_offer(&guess, listings[i].name);
    cli_guess_offer(&guess, "sweep");
    cli_guess_hint(&guess, "", hint);
    return cli_fail(r->command, PGCN_ERR_ARGUMENT, "there is no experiment '%s'%s; there are %s",
                    name, hint, r->command->arguments);
}

static pgcn_status check_words(const exp_request *r, const char *name, bool grid) {
    if (!grid && r->words > 0)
        return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                        "'%s' is one argument too many; --datasets %s chooses the data sets of %s",
                        r->word[0], r->word[0], name);
    if (grid && r->words > 0 && r->datasets)
        return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                        "data sets are given as arguments and with --datasets; leave out one of "
                        "them");
    return PGCN_OK;
}

pgcn_status exp_choose(exp_request *r, cli_arguments *arguments, exp_sweep *sweep,
                       exp_choice *out) {
    const char *name = arguments->word[0];
    bool grid = strcmp(name, "sweep") == 0;
    r->words = arguments->words - 1;
    r->word = arguments->word + 1;
    *out = (exp_choice){0};
    for (const exp_experiment *e = exp_experiments; e->name; e++)
        if (is_asked_for(e, name)) out->experiment[out->count++] = e;
    if (grid) out->experiment[out->count++] = &sweep->experiment;
    if (out->count == 0) return refuse_name(r, name);
    CLI_TRY(check_words(r, name, grid));
    if (r->tables) CLI_TRY(choose_tables(r, out));
    r->all = out->count > 1;
    if (r->models) CLI_TRY(check_models(r, out));
    return grid ? exp_sweep_make(r, arguments, sweep) : PGCN_OK;
}

/* Options of trainings would do nothing. */
static pgcn_status check_listing(const exp_request *r, const cli_arguments *arguments) {
    static const char *const others[] = {"layers", "seeds", "recipe", "jobs", "tables", "models"};
    bool all_sets = strcmp(arguments->word[0], "settings") == 0;
    const char *given = arguments->settings > 0 ? arguments->key[0] : NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cli_is_given(arguments, others[i])) given = others[i];
    if (all_sets && cli_is_given(arguments, "datasets")) given = "datasets";
    if (arguments->words > 1)
        return cli_fail(r->command, PGCN_ERR_ARGUMENT, "'%s' is one argument too many",
                        arguments->word[1]);
    if (!given) return PGCN_OK;
    return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                    "--%s does nothing: %s trains nothing%s; leave it out", given,
                    arguments->word[0], all_sets ? " and shows all recipes of the paper" : "");
}

pgcn_status exp_list_facts(const exp_request *r, const cli_arguments *arguments, bool *done) {
    *done = false;
    for (int i = 0; i < LISTINGS; i++) {
        if (strcmp(listings[i].name, arguments->word[0]) != 0) continue;
        *done = true;
        CLI_TRY(check_listing(r, arguments));
        return listings[i].report(r);
    }
    return PGCN_OK;
}
