/* What `pathgcn reproduce WORD` means: an experiment of the catalogue, a group of them, all, a grid,
 * or a table of facts. */
#include "experiments/figures.h"

#include <string.h>

/* Tables of facts, for which nothing is trained. */
static const struct {
    const char *name;
    pgcn_status (*report)(const exp_request *r);
} listings[] = {{"datasets", exp_report_counts}, {"settings", exp_report_settings}};
enum { LISTINGS = sizeof listings / sizeof *listings };

pgcn_status exp_choose_figures(const exp_request *r, unsigned *out) {
    exp_words list;
    *out = 0;
    for (int i = 1; !r->only && i <= EXP_FIGURES; i++) *out |= 1u << i;
    if (!r->only) return PGCN_OK;
    if (!r->figures)
        return cli_fail(r->command, PGCN_ERR_ARGUMENT, "--only is for figures; leave it out");
    CLI_TRY(exp_split_words(r, "only", r->only, ',', &list));
    for (int i = 0; i < list.count; i++) {
        long long number = EXP_SMOOTHING;
        if (strcmp(list.word[i], "smoothing") != 0 &&
            (strlen(list.word[i]) != 1 || (number = list.word[i][0] - '0') < 1 || number > 5))
            return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                            "--only is '%.64s', expected some of 1, 2, 3, 4, 5 and smoothing, "
                            "separated by commas",
                            r->only);
        *out |= 1u << number;
    }
    return PGCN_OK;
}

/* Whether an experiment is asked for by its name, its group or `all`. */
static bool is_asked_for(const exp_experiment *e, const char *name) {
    if (e->drawn_only) return false;
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

bool exp_has_network(const exp_variant *variant, const exp_words *networks) {
    const char *network = variant->network ? variant->network : "pathgcn";
    int i = 0;
    while (i < networks->count && strcmp(networks->word[i], network) != 0) i++;
    return i < networks->count;
}

/* Whether a line of the experiment is of one of these networks. */
static bool has_line_of(const exp_experiment *experiment, const exp_words *networks) {
    const exp_variant *variant = experiment->variants;
    while (variant && variant->name && !exp_has_network(variant, networks)) variant++;
    return variant && variant->name;
}

/* Whether the lines of an experiment name their networks. */
static bool names_networks(const exp_experiment *experiment) {
    const exp_variant *variant = experiment->variants;
    while (variant && variant->name && !variant->network) variant++;
    return variant && variant->name;
}

/* Adds a network to a list, once. */
static void add_network(exp_words *list, const exp_variant *variant) {
    if (exp_has_network(variant, list) || list->count == EXP_MOST_WORDS) return;
    snprintf(list->word[list->count++], sizeof list->word[0], "%s",
             variant->network ? variant->network : "pathgcn");
}

static pgcn_status refuse_network(const exp_request *r, const exp_choice *chosen,
                                  const char *network) {
    exp_words there = {0};
    char names[1024] = "";
    for (int i = 0; i < chosen->count; i++)
        for (const exp_variant *v = chosen->experiment[i]->variants; v->name; v++)
            add_network(&there, v);
    size_t at = 0;
    for (int i = 0; i < there.count && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i > 0 ? ", " : "",
                               there.word[i]);
    return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                    "--models: no table that is asked for has a network '%s'; there are %s",
                    network, names);
}

/* Leaves the tables that have a line of --models. */
static pgcn_status choose_models(const exp_request *r, exp_choice *chosen) {
    exp_words list;
    exp_choice all = *chosen;
    CLI_TRY(exp_split_words(r, "models", r->models, ',', &list));
    for (int i = 0; i < all.count; i++)
        if (!names_networks(all.experiment[i]))
            return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                            "--models chooses lines of networks; %s has none",
                            all.experiment[i]->name);
    for (int i = 0; i < list.count; i++) {
        exp_words one = {.count = 1};
        bool found = false;
        memcpy(one.word[0], list.word[i], sizeof one.word[0]);
        for (int j = 0; j < all.count && !found; j++) found = has_line_of(all.experiment[j], &one);
        if (!found) return refuse_network(r, &all, list.word[i]);
    }
    chosen->count = 0;
    for (int i = 0; i < all.count; i++)
        if (has_line_of(all.experiment[i], &list))
            chosen->experiment[chosen->count++] = all.experiment[i];
    return PGCN_OK;
}

/* --model would make another network of a line that is called pathGCN. */
static pgcn_status refuse_model(const exp_request *r, const exp_choice *chosen) {
    const char *model = cli_setting_given(r->arguments, "model");
    for (int i = 0; model && i < chosen->count; i++)
        if (names_networks(chosen->experiment[i]))
            return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                            "--model %s: the lines of %s name their networks; use --models %s to "
                            "choose among them",
                            model, chosen->experiment[i]->name, model);
    return PGCN_OK;
}

static pgcn_status refuse_name(const exp_request *r, const char *name) {
    cli_guess guess = cli_guess_start(name);
    char hint[CLI_HINT_BYTES];
    for (const exp_experiment *e = exp_experiments; e->name; e++)
        if (!e->drawn_only) cli_guess_offer(&guess, e->name);
    for (int i = 0; i < LISTINGS; i++) cli_guess_offer(&guess, listings[i].name);
    cli_guess_offer(&guess, "sweep");
    cli_guess_offer(&guess, "figures");
    cli_guess_offer(&guess, "arena");
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
    unsigned figures;
    r->figures = strcmp(name, "figures") == 0;
    CLI_TRY(exp_choose_figures(r, &figures));
    for (const exp_experiment *e = exp_experiments; e->name; e++)
        if (is_asked_for(e, name) || (r->figures && e->figure && figures >> e->figure & 1))
            out->experiment[out->count++] = e;
    if (grid) out->experiment[out->count++] = &sweep->experiment;
    if (out->count == 0 && !r->figures) return refuse_name(r, name);
    CLI_TRY(check_words(r, name, grid));
    if (r->tables) CLI_TRY(choose_tables(r, out));
    if (r->models) CLI_TRY(choose_models(r, out));
    r->all = out->count > 1;
    CLI_TRY(refuse_model(r, out));
    return grid ? exp_sweep_make(r, arguments, sweep) : PGCN_OK;
}

/* Options of trainings would do nothing. */
static pgcn_status check_listing(const exp_request *r, const cli_arguments *arguments) {
    static const char *const others[] = {"layers", "seeds",  "recipe", "jobs",
                                         "tables", "models", "only"};
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
