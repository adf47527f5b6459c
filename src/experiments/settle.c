/* The settings of a cell: which recipe, and what is changed in it. */
#include "experiments/reproduce.h"

#include <string.h>

enum { QUICK_EPOCHS = 60 };

/* ---- recipes ---------------------------------------------------------------------------------- */

/* What a recipe is looked up for: a data set that is loaded, or one that is known by name only. */
typedef struct recipe_query {
    const char *name;
    const pgcn_dataset *data; /* NULL: not loaded */
    int layers;
} recipe_query;

static pgcn_status find_recipe(const char *recipe, const recipe_query *query, pgcn_config *out,
                               pgcn_recipe_info *info) {
    if (!*recipe) recipe = NULL;
    return query->data ? pgcn_recipe_for(recipe, query->data, query->layers, out, info)
                       : pgcn_recipe_load(recipe, query->name, query->layers, out, info);
}

int exp_network_number(const char *name) {
    int number = 0;
    while (pgcn_network_name(number) && strcmp(pgcn_network_name(number), name) != 0) number++;
    return pgcn_network_name(number) ? number : -1;
}

/* The network that a cell is about: that of its line, else --model. NULL: that of the recipe. */
static const char *network_of(const exp_request *r, const exp_cell *cell) {
    const char *network = cell->variant ? cell->variant->network : NULL;
    if (!network) network = cli_setting_given(r->arguments, "model");
    return network && exp_network_number(network) > 0 ? network : NULL;
}

/* Whether a recipe is of the family of a line. */
static bool is_of_family(const exp_cell *cell, const pgcn_recipe_info *info) {
    const char *family = cell->variant ? cell->variant->family.name : NULL;
    return family && strncmp(info->name, family, strlen(family)) == 0;
}

/* The recipe of the family of a line; PGCN_ERR_ARGUMENT: it has none for this data set and depth. */
static pgcn_status load_family(const recipe_query *query, exp_cell *cell, pgcn_recipe_info *info) {
    const exp_family *family = cell->variant ? &cell->variant->family : NULL;
    if (!family || !family->name) return PGCN_ERR_ARGUMENT;
    if (family->except > 0 && (query->layers == 0 || query->layers == family->except))
        return PGCN_ERR_ARGUMENT;
    pgcn_status status = find_recipe(family->name, query, &cell->config, info);
    if (status == PGCN_OK) snprintf(cell->recipe, sizeof cell->recipe, "%s", info->name);
    return status;
}

/* The recipe of another network: that of the line's family, published settings, the nearest published
 * ones, or its settings for any data. Without any of them: the defaults of the program. */
static pgcn_status load_network(const char *network, const exp_experiment *experiment,
                                const recipe_query *query, exp_cell *cell, pgcn_recipe_info *info) {
    pgcn_recipe_query wanted = pgcn_recipe_query_default();
    pgcn_recipe_info found = {0};
    pgcn_status status = load_family(query, cell, info);
    if (status != PGCN_ERR_ARGUMENT) return status;
    wanted.network = network;
    wanted.dataset = query->name;
    wanted.data = query->data;
    wanted.layers = query->layers;
    wanted.split = experiment->splits ? "numbered" : NULL;
    status = pgcn_recipe_find(&wanted, &cell->config, &found);
    if (status != PGCN_OK && status != PGCN_ERR_ARGUMENT) return status;
    snprintf(cell->recipe, sizeof cell->recipe, "%s", status == PGCN_OK ? found.name : "none");
    return find_recipe(cell->recipe, query, &cell->config, info);
}

/* Fills cell->recipe and cell->config. A variant may have its own recipe. Fully supervised sets
 * that are also used semi-supervised have one for that. */
static pgcn_status load_recipe(const exp_request *r, const exp_experiment *experiment,
                               const recipe_query *query, exp_cell *cell, pgcn_recipe_info *info) {
    bool family = !r->recipe || strcmp(r->recipe, "paper") == 0;
    const char *own = cell->variant ? cell->variant->recipe : NULL;
    const char *network = network_of(r, cell);
    if (!own && !r->recipe && network) return load_network(network, experiment, query, cell, info);
    if (!own && experiment->splits && family) {
        snprintf(cell->recipe, sizeof cell->recipe, "%s", r->recipe ? "paper-full" : "full");
        pgcn_status status = find_recipe(cell->recipe, query, &cell->config, info);
        if (status != PGCN_ERR_ARGUMENT) return status;
    }
    if (!own) own = r->recipe ? r->recipe : "";
    snprintf(cell->recipe, sizeof cell->recipe, "%s", own);
    return find_recipe(cell->recipe, query, &cell->config, info);
}

pgcn_status exp_name_with_steps(const exp_request *r, const exp_experiment *experiment,
                                const char *name, char *out, size_t bytes) {
    pgcn_recipe_info info = {0};
    exp_cell scratch = {0};
    snprintf(out, bytes, "%s", name);
    if (strchr(name, ':')) return PGCN_OK;
    CLI_TRY(cli_report(r->command,
                       load_recipe(r, experiment, &(recipe_query){.name = name}, &scratch, &info)));
    if (*info.prepare && !experiment->protocols)
        snprintf(out, bytes, "%.160s:%s", name, info.prepare);
    return PGCN_OK;
}

static pgcn_status set_value(pgcn_config *config, const exp_setting *setting) {
    return setting->key ? pgcn_config_set(config, setting->key, setting->value) : PGCN_OK;
}

/* Whether a cell's data set has this name, whatever its steps. */
static bool is_of(const exp_cell *cell, const char *dataset) {
    size_t length = strcspn(cell->dataset, ":");
    return strlen(dataset) == length && strncmp(cell->dataset, dataset, length) == 0;
}

/* What the experiment varies: depth, network and settings of the line, value of the axis. */
static pgcn_status vary(pgcn_config *config, int layers, bool of_family, const exp_cell *cell) {
    const exp_variant *variant = cell->variant;
    pgcn_config given = pgcn_config_default();
    pgcn_status status = PGCN_OK;
    char value[16];
    if (layers > 0) config->layers = layers;
    if (variant && variant->network) status = pgcn_config_set(&given, "model", variant->network);
    if (variant && !of_family && status == PGCN_OK)
        status = set_value(&given, &variant->family.otherwise);
    for (int i = 0; variant && variant->change[i].key && status == PGCN_OK; i++)
        status = set_value(&given, &variant->change[i]);
    if (status == PGCN_OK) status = pgcn_config_overlay(config, &given);
    snprintf(value, sizeof value, "%d", cell->value);
    return status == PGCN_OK
               ? set_value(config, &(exp_setting){.key = cell->experiment->axis, .value = value})
               : status;
}

/* The depth that the authors of a recipe have settings for; 0: any. */
static int depth_of_authors(const char *recipe) {
    static const struct {
        const char *begins;
        int layers;
    } depths[] = {{"gcn-authors-", 2}, {"cheb-authors-", 2},     {"gat-authors-ppi", 3},
                  {"gat-authors-", 2}, {"supergat-authors-", 2}, {"", 0}};
    int i = 0;
    while (strncmp(recipe, depths[i].begins, strlen(depths[i].begins)) != 0) i++;
    return depths[i].layers;
}

/* Whether settings are published for the depth of a cell. DropEdge's are those of the best depth;
 * some networks have one depth only; the others have settings for all depths. */
static bool is_published_depth(const exp_cell *cell, const pgcn_recipe_info *info) {
    const exp_family *family = cell->variant ? &cell->variant->family : NULL;
    int only = depth_of_authors(info->name);
    if (!is_of_family(cell, info)) return only == 0 || cell->config.layers == only;
    for (int i = 0; family->published[i].dataset; i++)
        if (is_of(cell, family->published[i].dataset))
            return cell->config.layers == family->published[i].layers;
    return false;
}

/* Settings that nobody published for this network, data set and depth. */
static bool is_unpublished(const exp_cell *cell, const pgcn_recipe_info *info) {
    return info->version == 0 || strstr(info->name, "-authors-like") ||
           strstr(info->name, "-default") || (cell->variant && cell->variant->unpublished) ||
           !is_published_depth(cell, info);
}

/* From the weakest to the strongest: recipe, what the paper fixes, --quick, the options that were
 * given, and what the experiment varies. */
pgcn_status exp_settle(const exp_request *r, const exp_data *data, int layers, exp_cell *cell) {
    const exp_experiment *experiment = cell->experiment;
    pgcn_config *config = &cell->config;
    if (cell->variant && cell->variant->layers > 0) layers = cell->variant->layers;
    const recipe_query query = {.data = data->data, .layers = layers};
    pgcn_recipe_info info = {0};
    pgcn_status status = load_recipe(r, experiment, &query, cell, &info);
    if (status == PGCN_OK) status = set_value(config, &experiment->fixed);
    CLI_TRY(cli_report(r->command, status));
    if (r->quick && config->epochs > QUICK_EPOCHS) config->epochs = QUICK_EPOCHS;
    CLI_TRY(cli_overlay(r->command, r->arguments, config));
    status = vary(config, layers, is_of_family(cell, &info), cell);
    cell->unpublished = network_of(r, cell) && is_unpublished(cell, &info);
    pgcn_config_settle_batches(config, data->data);
    pgcn_config_adopt(config); /* an option may do nothing in some cells, see note_usage() */
    if (status == PGCN_OK) status = pgcn_config_check(config);
    return cli_report(r->command, status);
}

/* ---- the command of a run --------------------------------------------------------------------- */

/* What `pathgcn train` starts from, then every setting that differs from it. */
void exp_write_command(FILE *out, const exp_job *job, const char *recipe, const char *data_dir) {
    pgcn_config base;
    pgcn_field field;
    pgcn_recipe_info info = {0};
    fprintf(out, "pathgcn train ");
    cli_print_quoted(out, job->data->name);
    if (data_dir) {
        fprintf(out, " --data ");
        cli_print_quoted(out, data_dir);
    }
    const recipe_query query = {.data = job->data->data, .layers = job->config.layers};
    if (find_recipe(recipe, &query, &base, &info) != PGCN_OK) base = pgcn_config_default();
    if (!*recipe && strcmp(info.dataset, "any") == 0) recipe = info.name;
    if (!*recipe && info.version == 0) recipe = "none"; /* or there would be a race for one */
    if (*recipe) {
        fprintf(out, " --recipe ");
        cli_print_quoted(out, recipe);
    }
    fprintf(out, " --layers %d", job->config.layers);
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        char ours[256], theirs[256];
        bool seed = strcmp(field.key, "seed") == 0;
        if (cli_is_run_setting(&field) || strcmp(field.key, "layers") == 0) continue;
        pgcn_config_get(&job->config, field.key, ours, sizeof ours);
        pgcn_config_get(&base, field.key, theirs, sizeof theirs);
        bool used = !pgcn_config_unused(&job->config, job->data->data, field.key);
        if (seed || (used && strcmp(ours, theirs) != 0)) fprintf(out, " --%s %s", field.key, ours);
    }
}
