/* pathgcn recipes: lists the recipes, and shows the settings of one. */
#include "cli/cli.h"

#include <string.h>

static pgcn_status run(int argc, char **argv);
static pgcn_status run_list(int argc, char **argv);
static pgcn_status run_show(int argc, char **argv);

static const cli_command *const parts[] = {&cli_recipes_list, &cli_recipes_show, NULL};

static const cli_brief recipes_most_used[] = {{.name = NULL}};

const cli_command cli_recipes = {
    .name = "recipes",
    .summary = "settings that are known to suit a data set",
    .arguments = "list | show",
    .text =
        "A recipe is a text file of settings for a data set, a task and a network, with sections for\n"
        "depths.\n"
        "'train' takes the one of the data set's own name. Where there is none, those for any data\n"
        "(any-...) race on validation and the winner is trained: --recipe auto. --recipe takes a name\n"
        "(cora-full), a kind (paper is paper-cora for cora, full is cora-full, paper-full is\n"
        "paper-cora-full), usual (the data set's own, or its task's, without a race), a file of yours\n"
        "(with a / in its path, or ending in .recipe), or none.\n"
        "\n"
        "With --model NAME, train takes a recipe of that network: NAME-authors-cora for cora, else\n"
        "NAME-authors-like-cora, else NAME-default. --recipe authors, authors-like, full or default asks\n"
        "for one of them. A recipe by its whole name chooses the network, too.\n"
        "\n"
        "Names are looked up in the folder PATHGCN_RECIPES, then among those that came with the\n"
        "program. Without a part, 'recipes' lists them.",
    .most_used = recipes_most_used,
    .examples = "  pathgcn recipes\n"
                "  pathgcn recipes show cora --layers 8\n"
                "  pathgcn train cora --recipe paper\n"
                "  pathgcn train MUTAG --model gin --recipe default\n",
    .least_words = 1,
    .most_words = CLI_MAX_WORDS,
    .run = run,
    .parts = parts,
};

const cli_command cli_recipes_list = {
    .name = "recipes list",
    .summary = "all of them, by name",
    .arguments = "",
    .text = "Name, version, network, data set and task of each recipe, and what it is about.",
    .examples = "  pathgcn recipes list\n"
                "  PATHGCN_RECIPES=mine pathgcn recipes list --json\n",
    .run = run_list,
};

const cli_command cli_recipes_show = {
    .name = "recipes show",
    .summary = "the settings of one",
    .arguments = "NAME|FILE",
    .text =
        "Prints every setting of the recipe, in the form of a recipe: the output can be changed and\n"
        "given to train as a file. auto is no recipe but a race, and the recipes that take part in it\n"
        "are listed; usual is the recipe that --dataset has of its own.",
    .examples = "  pathgcn recipes show cora\n"
                "  pathgcn recipes show cora --layers 64\n"
                "  pathgcn recipes show paper --dataset citeseer > mine.recipe\n"
                "  pathgcn recipes show auto\n"
                "  pathgcn recipes show default --model gin\n",
    .least_words = 1,
    .most_words = 1,
    .run = run_show,
};

static pgcn_status run(int argc, char **argv) {
    bool options = argc > 0 && argv[0][0] == '-' && strcmp(argv[0], "--help") != 0 &&
                   strcmp(argv[0], "-h") != 0;
    return argc == 0 || options ? run_list(argc, argv) : cli_run_part(&cli_recipes, argc, argv);
}

static json_t *to_json(const pgcn_recipe_info *info, const pgcn_config *config) {
    if (info->version == 0) return json_null();
    return json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "name", info->name,
                     "version", info->version, "network", pgcn_network_name(config->model), "task",
                     info->task, "dataset", info->dataset, "prepare", info->prepare, "about",
                     info->about, "searched", info->searched, "measure", info->measure, "sha256",
                     info->sha256, "origin", info->origin);
}

/* Head and settings of recipe i of the list. */
static pgcn_status get_recipe(const cli_command *command, int i, pgcn_recipe_info *info,
                              pgcn_config *config) {
    CLI_TRY(cli_report(command, pgcn_recipe_get(i, info)));
    return cli_report(command, pgcn_recipe_load(info->name, NULL, 0, config, info));
}

enum { NAME_COLUMN = 32 }; /* as wide as nearly all names */
static void print_titles(void) {
    printf("%-*s %7s  %-10s %-22s %-10s %s\n", NAME_COLUMN, "recipe", "version", "network",
           "data set", "task", "about");
}
static void print_line(const pgcn_recipe_info *info, const pgcn_config *config) {
    printf("%-*s %7d  %-10s %-22s %-10s %s\n", NAME_COLUMN, info->name, info->version,
           pgcn_network_name(config->model), info->dataset, info->task, info->about);
}

/* ---- list ------------------------------------------------------------------------------------- */

static pgcn_status run_list(int argc, char **argv) {
    bool json = false, all_read = true;
    const cli_option options[] = {CLI_JSON_OPTION(json), CLI_OPTIONS_END};
    cli_arguments arguments;
    int count;
    pgcn_status status = cli_parse(&cli_recipes_list, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    CLI_TRY(cli_report(&cli_recipes_list, pgcn_recipe_count(&count)));
    json_t *list = json_array();
    if (!json) print_titles();
    for (int i = 0; i < count; i++) {
        pgcn_recipe_info info;
        pgcn_config config;
        if (get_recipe(&cli_recipes_list, i, &info, &config) != PGCN_OK)
            all_read = false; /* a file of the user's; the others are listed */
        else if (json)
            json_array_append_new(list, to_json(&info, &config));
        else
            print_line(&info, &config);
    }
    if (json) status = cli_print_json(&cli_recipes_list, json_pack("{s:O}", "recipes", list));
    json_decref(list);
    return all_read ? status : PGCN_ERR_FORMAT;
}

/* ---- show ------------------------------------------------------------------------------------- */

static void print_recipe(const pgcn_recipe_info *info, const pgcn_config *config) {
    pgcn_field field;
    char value[PGCN_SETTING_BYTES], preset[PGCN_SETTING_BYTES];
    printf("# %s, at %d layers (%s)\n", info->name, config->layers, info->origin);
    if (info->version > 0)
        printf("recipe = %s\nversion = %d\ntask = %s\ndataset = %s\n", info->name, info->version,
               info->task, info->dataset);
    if (*info->prepare) printf("prepare = %s\n", info->prepare);
    if (info->version > 0) printf("about = %s\n", info->about);
    if (*info->searched) printf("searched = %s\n", info->searched);
    if (*info->measure) printf("measure = %s\n", info->measure);
    printf("\n");
    const pgcn_config plain = pgcn_config_default();
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        if (!cli_has_setting(config, &field)) continue;
        const char *unused = pgcn_config_unused(config, NULL, field.key);
        pgcn_config_get(config, field.key, value, sizeof value);
        pgcn_config_get(&plain, field.key, preset, sizeof preset);
        /* a default that does nothing would say what is not so: norm-gain = no, where there are gains */
        if (unused && strcmp(value, preset) != 0)
            printf("# %s = %s does nothing here: %s\n", field.key, value, unused);
        else if (!unused)
            printf("%s = %s\n", field.key, value);
    }
}

/* What is asked for. */
typedef struct show_request {
    const char *name, *dataset, *model, *layers_text;
    bool json;
} show_request;

static bool races_all(const show_request *r) {
    return r->model && strcmp(r->model, "auto") == 0;
}

/* auto: who would race, task by task. */
static pgcn_status show_race(const show_request *r) {
    json_t *list = json_array();
    int count;
    pgcn_status status = cli_report(&cli_recipes_show, pgcn_recipe_count(&count));
    if (!r->json)
        printf(
            "auto is no recipe: these race on validation, those of the task of the data, and train "
            "takes\nthe settings of the winner. %s\n\n",
            races_all(r) ? "With --model auto they are of all networks."
                         : "--model auto adds the default recipes of all networks.");
    if (!r->json) print_titles();
    for (int i = 0; i < count && status == PGCN_OK; i++) {
        pgcn_recipe_info info;
        pgcn_config config;
        status = get_recipe(&cli_recipes_show, i, &info, &config);
        if (status != PGCN_OK || !pgcn_recipe_races(&info, races_all(r))) continue;
        if (r->json)
            json_array_append_new(list, to_json(&info, &config));
        else
            print_line(&info, &config);
    }
    if (r->json && status == PGCN_OK)
        status = cli_print_json(&cli_recipes_show, json_pack("{s:O}", "races", list));
    json_decref(list);
    return status;
}

static pgcn_status show_recipe(const show_request *r) {
    pgcn_recipe_query query = pgcn_recipe_query_default();
    pgcn_config config;
    pgcn_recipe_info info;
    long long layers;
    CLI_TRY(cli_number(&cli_recipes_show, "layers", r->layers_text, 0, 4096, &layers));
    query.recipe = cli_is_usual(r->name) ? NULL : r->name;
    query.dataset = r->dataset;
    query.network = r->model;
    query.layers = (int)layers;
    CLI_TRY(cli_report(&cli_recipes_show, pgcn_recipe_find(&query, &config, &info)));
    if (r->json)
        return cli_print_json(&cli_recipes_show,
                              json_pack("{s:o, s:o}", "recipe", to_json(&info, &config), "config",
                                        cli_config_to_json(&config, true)));
    print_recipe(&info, &config);
    return PGCN_OK;
}

static pgcn_status run_show(int argc, char **argv) {
    show_request r = {.layers_text = "0"};
    const cli_option options[] = {
        {"layers", "L", "the recipe's own", "depth of the network", &r.layers_text, NULL},
        {"dataset", "NAME", NULL, "the data set, where NAME is a family such as paper", &r.dataset,
         NULL},
        {"model", "NETWORK", NULL,
         "the network, where NAME is a family of its recipes such as authors or default", &r.model,
         NULL},
        CLI_JSON_OPTION(r.json),
        CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_recipes_show, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    r.name = arguments.word[0];
    if (cli_is_auto(r.name)) return show_race(&r);
    if (cli_is_usual(r.name) && !r.dataset)
        return cli_fail(
            &cli_recipes_show, PGCN_ERR_ARGUMENT,
            "usual is no recipe but the one that a data set has of its own, or its task, "
            "and no race: --dataset NAME shows it");
    return show_recipe(&r);
}
