/* pathgcn recipes: lists the recipes, and shows the settings of one. */
#include "cli/cli.h"

#include <string.h>

static pgcn_status run(int argc, char **argv);
static pgcn_status run_list(int argc, char **argv);
static pgcn_status run_show(int argc, char **argv);

static const cli_command *const parts[] = {&cli_recipes_list, &cli_recipes_show, NULL};

const cli_command cli_recipes = {
    .name = "recipes",
    .summary = "settings that are known to suit a data set",
    .arguments = "list | show",
    .text =
        "A recipe is a text file of settings for a data set and a task, with sections for depths.\n"
        "'train' takes the one of the data set's own name. Where there is none, those for any data\n"
        "(any-...) race on validation and the winner is trained: --recipe auto. --recipe takes a name\n"
        "(cora-full), a kind (paper is paper-cora for cora, full is cora-full, paper-full is\n"
        "paper-cora-full), usual (the data set's own, or its task's, without a race), a file of yours\n"
        "(with a / in its path, or ending in .recipe), or none.\n"
        "\n"
        "Names are looked up in the folder PATHGCN_RECIPES, then among those that came with the\n"
        "program. Without a part, 'recipes' lists them.",
    .examples = "  pathgcn recipes\n"
                "  pathgcn recipes show cora --layers 8\n"
                "  pathgcn train cora --recipe paper\n",
    .least_words = 1,
    .most_words = CLI_MAX_WORDS,
    .run = run,
    .parts = parts,
};

const cli_command cli_recipes_list = {
    .name = "recipes list",
    .summary = "all of them, by name",
    .arguments = "",
    .text = "Name, version, data set and task of each recipe, and what it is about.",
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
        "given to train as a file.",
    .examples = "  pathgcn recipes show cora\n"
                "  pathgcn recipes show cora --layers 64\n"
                "  pathgcn recipes show paper --dataset citeseer > mine.recipe\n",
    .least_words = 1,
    .most_words = 1,
    .run = run_show,
};

static pgcn_status run(int argc, char **argv) {
    bool options = argc > 0 && argv[0][0] == '-' && strcmp(argv[0], "--help") != 0 &&
                   strcmp(argv[0], "-h") != 0;
    return argc == 0 || options ? run_list(argc, argv) : cli_run_part(&cli_recipes, argc, argv);
}

static json_t *to_json(const pgcn_recipe_info *info) {
    if (info->version == 0) return json_null();
    return json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "name", info->name,
                     "version", info->version, "task", info->task, "dataset", info->dataset,
                     "prepare", info->prepare, "about", info->about, "searched", info->searched,
                     "measure", info->measure, "sha256", info->sha256, "origin", info->origin);
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
    if (!json)
        printf("%-20s %7s  %-22s %-10s %s\n", "recipe", "version", "data set", "task", "about");
    for (int i = 0; i < count; i++) {
        pgcn_recipe_info info;
        if (cli_report(&cli_recipes_list, pgcn_recipe_get(i, &info)) != PGCN_OK) {
            all_read = false; /* a file of the user's; the others are listed */
        } else if (json) {
            json_array_append_new(list, to_json(&info));
        } else {
            printf("%-20s %7d  %-22s %-10s %s\n", info.name, info.version, info.dataset, info.task,
                   info.about);
        }
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
        if (unused && strcmp(value, preset) != 0)
            printf("# %s = %s does nothing here: %s\n", field.key, value, unused);
        else
            printf("%s = %s\n", field.key, value);
    }
}

static pgcn_status run_show(int argc, char **argv) {
    bool json = false;
    const char *layers_text = "0", *dataset = NULL;
    long long layers;
    const cli_option options[] = {
        {"layers", "L", "the recipe's own", "depth of the network", &layers_text, NULL},
        {"dataset", "NAME", NULL, "the data set, where NAME is a family such as paper", &dataset,
         NULL},
        CLI_JSON_OPTION(json),
        CLI_OPTIONS_END};
    cli_arguments arguments;
    pgcn_status status = cli_parse(&cli_recipes_show, options, argc, argv, &arguments);
    if (status != PGCN_OK || arguments.help_shown) return status;
    CLI_TRY(cli_number(&cli_recipes_show, "layers", layers_text, 0, 4096, &layers));
    pgcn_config config;
    pgcn_recipe_info info;
    CLI_TRY(cli_report(&cli_recipes_show,
                       pgcn_recipe_load(arguments.word[0], dataset, (int)layers, &config, &info)));
    if (json)
        return cli_print_json(&cli_recipes_show,
                              json_pack("{s:o, s:o}", "recipe", to_json(&info), "config",
                                        cli_config_to_json(&config, true)));
    print_recipe(&info, &config);
    return PGCN_OK;
}
