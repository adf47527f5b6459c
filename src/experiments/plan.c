/* The trainings that the tables and curves of the paper need. The experiments are a table. Each
 * gets a cell for every data set, depth, variant and value, and a cell a job for every run. */
#include "experiments/reproduce.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const exp_set_name citation_sets[] = {{"cora", 0}, {"citeseer", 0}, {"pubmed", 0}, {NULL, 0}};
static const exp_set_name full_sets[] = {
    {"cora", 0}, {"citeseer", 0}, {"pubmed", 0}, {"chameleon", 0}, {"cornell", 0}, {"texas", 0},
    {"wisconsin", 0}, {"film", 0}, {"wikics", true}, {"ogbn-arxiv", true}, {NULL, 0}};
static const exp_set_name inference_sets[] = {
    {"cora", 0}, {"citeseer", 0}, {"pubmed", 0}, {"ogbn-arxiv", true}, {"wisconsin", 0},
    {"ppi", true}, {NULL, 0}};
static const exp_set_name frozen_sets[] = {
    {"cora", 0}, {"citeseer", 0}, {"chameleon", 0}, {"cornell", 0}, {"texas", 0}, {"wisconsin", 0},
    {"film", 0}, {NULL, 0}};
static const exp_set_name graph_sets[] = {
    {"MUTAG-gin", 0}, {"PTC-gin", 0}, {"PROTEINS-gin", 0}, {"NCI1-gin", 0}, {NULL, 0}};
static const exp_set_name ppi_sets[] = {{"ppi", 0}, {NULL, 0}};

static const exp_variant kernel_variants[] = {
    {.name = "global",    .change = {{"kernel", "global"}}},
    {.name = "layer",     .change = {{"kernel", "layer"}}},
    {.name = "depthwise", .change = {{"kernel", "depthwise"}}},
    {.name = "full",      .change = {{"kernel", "full"}}},
    {.name = NULL}};
static const exp_variant frozen_variants[] = {
    {.name = "learnt"},
    {.name = "frozen",   .change = {{"lr-kernel", "0"}}},
    {.name = "smooth",   .change = {{"kernel-start", "smooth"}, {"lr-kernel", "0"}}},
    {.name = "no walks", .change = {{"path-length", "1"}}},
    {.name = NULL}};
static const exp_variant model_variants[] = {
    {.name = "pathgcn"}, {.name = "gin", .recipe = "gin"}, {.name = NULL}};

static const exp_protocol fold_protocols[] = {
    {"GIN", "crossval=10"}, {"held out", "kfold=10"}, {NULL, NULL}};

#define DEPTHS    {6, {2, 4, 8, 16, 32, 64}}
#define OWN_DEPTH {1, {0}}

const exp_experiment exp_experiments[] = {
    {.name = "semi", .title = "Semi-supervised node classification by depth (paper: Table 3)",
     .datasets = citation_sets, .layers = DEPTHS, .quick_layers = {2, {2, 8}}},
    {.name = "full", .title = "Fully supervised node classification (paper: Tables 4, 5 and 6)",
     .datasets = full_sets, .layers = OWN_DEPTH, .splits = true},
    {.name = "inference", .title = "Deterministic and stochastic inference (paper: Table 9)",
     .datasets = inference_sets, .layers = OWN_DEPTH, .stochastic = true},
    {.name = "variants", .title = "Kernels by depth (paper: Table 11)",
     .datasets = citation_sets, .layers = DEPTHS, .quick_layers = {1, {2}},
     .variants = kernel_variants},
    {.name = "paths", .title = "Accuracy by the number of paths p, k = 5 (paper: Figure 5, left)",
     .datasets = citation_sets, .layers = {1, {2}}, .axis = "paths",
     .values = {7, {1, 2, 5, 10, 20, 50, 100}}, .quick_values = {2, {1, 10}},
     .fixed = {"path-length", "5"}},
    {.name = "lengths", .title = "Accuracy by the path length k, p = 10 (paper: Figure 5, right)",
     .datasets = citation_sets, .layers = {1, {2}}, .axis = "path-length",
     .values = {7, {1, 2, 3, 5, 7, 9, 11}}, .quick_values = {2, {1, 5}},
     .fixed = {"paths", "10"}},
    {.name = "frozen", .title = "Learnt kernels against frozen ones, and against no walks (ours)",
     .datasets = frozen_sets, .layers = OWN_DEPTH, .variants = frozen_variants, .splits = true},
    {.name = "graphs", .title = "Graph classification, ten folds (paper: Table 8)",
     .datasets = graph_sets, .layers = OWN_DEPTH, .variants = model_variants, .splits = true,
     .protocols = fold_protocols, .task = PGCN_TASK_GRAPH},
    {.name = "ppi", .title = "Inductive learning on PPI, micro-averaged F1 (paper: Table 7)",
     .datasets = ppi_sets, .layers = OWN_DEPTH, .runs = 2, .task = PGCN_TASK_MULTILABEL},
    {.name = NULL},
};
/* clang-format on */

enum {
    RUNS = 10,
    DEEP = 32, /* from this depth on there are fewer runs, because they take long */
    DEEP_RUNS = 3,
    QUICK_RUNS = 2,
    QUICK_EPOCHS = 60,
    MOST_WORDS = 64,
};

/* ---- lists of the command line ------------------------------------------------------------------ */

typedef struct words {
    int count;
    char word[MOST_WORDS][128];
} words;

static pgcn_status split_words(const exp_request *r, const char *option, const char *text,
                               const char *separators, words *out) {
    out->count = 0;
    for (const char *at = text; *at; at += strspn(at, separators)) {
        size_t length = strcspn(at, separators);
        if (length == 0 || length >= sizeof out->word[0] || out->count == MOST_WORDS)
            return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                            "--%s is '%.64s', expected up to %d words separated by commas", option,
                            text, MOST_WORDS);
        snprintf(out->word[out->count++], sizeof out->word[0], "%.*s", (int)length, at);
        at += length;
    }
    return PGCN_OK;
}

static pgcn_status split_numbers(const exp_request *r, const char *option, const char *text,
                                 exp_numbers *out) {
    words list;
    CLI_TRY(split_words(r, option, text, ",", &list));
    if (list.count == 0 || list.count > EXP_MOST_VALUES)
        return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                        "--%s is '%.64s', expected 1 to %d numbers separated by commas", option,
                        text, EXP_MOST_VALUES);
    for (out->count = 0; out->count < list.count; out->count++) {
        long long number;
        CLI_TRY(cli_number(r->command, option, list.word[out->count], 0, 1000000, &number));
        out->value[out->count] = (int)number;
    }
    return PGCN_OK;
}

/* ---- data sets -------------------------------------------------------------------------------- */

/* Loads a data set once, however many cells need it. NULL if it cannot be used: `absent` is then
 * the reason or, for an `optional` one that is not on this machine, how to get it. */
static exp_data *find_set(exp_plan *plan, const exp_request *r, const char *name, bool optional,
                          char absent[400]) {
    for (int i = 0; i < plan->sets; i++)
        if (strcmp(plan->set[i].name, name) == 0) return &plan->set[i];
    if (plan->sets == EXP_MOST_SETS) {
        snprintf(absent, 400, "more than %d data sets", EXP_MOST_SETS);
        return NULL;
    }
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.data_dir = r->data_dir;
    exp_data *set = &plan->set[plan->sets];
    pgcn_status status = pgcn_dataset_load(name, &opts, &set->data);
    if (status == PGCN_ERR_ARGUMENT && optional)
        snprintf(absent, 400, "'pathgcn data fetch %.100s' downloads it", name);
    else if (status != PGCN_OK)
        snprintf(absent, 400, "%.399s", pgcn_last_error());
    if (status != PGCN_OK) return NULL;
    snprintf(set->name, sizeof set->name, "%s", name);
    if (exp_data_hash(set)) {
        plan->sets++;
        return set;
    }
    snprintf(absent, 400, "%.100s: out of memory", name);
    pgcn_dataset_free(set->data);
    return NULL;
}

/* How many splits have a number for a name; "public" has none. */
static int numbered_splits(const pgcn_dataset *data) {
    int count = 0;
    const uint8_t *train, *val, *test;
    const char *name;
    for (int i = 0; (name = pgcn_dataset_split(data, i, &train, &val, &test)); i++)
        count += name[strspn(name, "0123456789")] == '\0';
    return count;
}

/* ---- settings --------------------------------------------------------------------------------- */

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

/* Fills cell->recipe and cell->config. A variant may have its own recipe. Fully supervised sets
 * that are also used semi-supervised have one for that. */
static pgcn_status load_recipe(const exp_request *r, const exp_experiment *experiment,
                               const recipe_query *query, exp_cell *cell, pgcn_recipe_info *info) {
    bool family = !r->recipe || strcmp(r->recipe, "paper") == 0;
    const char *own = cell->variant ? cell->variant->recipe : NULL;
    if (!own && experiment->splits && family) {
        snprintf(cell->recipe, sizeof cell->recipe, "%s", r->recipe ? "paper-full" : "full");
        pgcn_status status = find_recipe(cell->recipe, query, &cell->config, info);
        if (status != PGCN_ERR_ARGUMENT) return status;
    }
    if (!own) own = r->recipe ? r->recipe : "";
    snprintf(cell->recipe, sizeof cell->recipe, "%s", own);
    return find_recipe(cell->recipe, query, &cell->config, info);
}

/* The data set with the steps that its recipe names, unless it is given with steps of its own. */
static pgcn_status name_with_steps(const exp_request *r, const exp_experiment *experiment,
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

/* What the experiment varies. */
static pgcn_status vary(pgcn_config *config, int layers, const exp_cell *cell) {
    const exp_setting *change = cell->variant ? cell->variant->change : NULL;
    char value[16];
    if (layers > 0) config->layers = layers;
    for (; change && change->key; change++) {
        pgcn_status status = set_value(config, change);
        if (status != PGCN_OK) return status;
    }
    snprintf(value, sizeof value, "%d", cell->value);
    return set_value(config, &(exp_setting){cell->experiment->axis, value});
}

/* From the weakest to the strongest: recipe, what the paper fixes, --quick, the options that were
 * given, and what the experiment varies. */
static pgcn_status settle(const exp_request *r, const exp_data *data, int layers, exp_cell *cell) {
    const exp_experiment *experiment = cell->experiment;
    pgcn_config *config = &cell->config;
    const recipe_query query = {.data = data->data, .layers = layers};
    pgcn_status status = load_recipe(r, experiment, &query, cell, NULL);
    if (status == PGCN_OK) status = set_value(config, &experiment->fixed);
    CLI_TRY(cli_report(r->command, status));
    if (r->quick && config->epochs > QUICK_EPOCHS) config->epochs = QUICK_EPOCHS;
    CLI_TRY(cli_overlay(r->command, r->arguments, config));
    status = vary(config, layers, cell);
    pgcn_config_adopt(config); /* an option may do nothing in some cells, see note_usage() */
    if (status == PGCN_OK) status = pgcn_config_check(config);
    return cli_report(r->command, status);
}

/* Records which of the given options have an effect in this cell: those that it uses and does not
 * override. */
static void note_usage(exp_plan *plan, const exp_request *r, const exp_data *data,
                       const exp_cell *cell) {
    for (int i = 0; i < r->arguments->settings; i++) {
        const char *key = r->arguments->key[i];
        pgcn_config given = pgcn_config_default();
        char ours[PGCN_SETTING_BYTES], theirs[PGCN_SETTING_BYTES];
        pgcn_config_set(&given, key, r->arguments->value[i]);
        pgcn_config_get(&given, key, theirs, sizeof theirs);
        pgcn_config_get(&cell->config, key, ours, sizeof ours);
        const char *unused = pgcn_config_unused(&cell->config, data->data, key);
        if (!unused && strcmp(ours, theirs) != 0) unused = "the experiment has its own";
        if (!unused) plan->used[i] = true;
        plan->why_unused[i] = unused;
    }
}

pgcn_status exp_plan_check_options(const exp_plan *plan, const exp_request *r) {
    for (int i = 0; i < r->arguments->settings; i++)
        if (!plan->used[i] && plan->why_unused[i])
            return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                            "--%s %s does nothing in any of the runs: %s; leave it out",
                            r->arguments->key[i], r->arguments->value[i], plan->why_unused[i]);
    return PGCN_OK;
}

static int runs_of(const exp_request *r, const exp_cell *cell, int splits) {
    if (r->seeds > 0) return (int)r->seeds;
    if (r->quick) return QUICK_RUNS;
    if (cell->experiment->splits) return splits > 0 ? splits : RUNS;
    if (cell->experiment->runs > 0) return cell->experiment->runs;
    return cell->config.layers >= DEEP ? DEEP_RUNS : RUNS;
}

/* ---- cells ------------------------------------------------------------------------------------ */

const char *exp_cell_variant(const exp_cell *cell) {
    return cell->variant ? cell->variant->name : "";
}

const char *exp_cell_protocol(const exp_cell *cell) {
    return cell->protocol ? cell->protocol->name : "";
}

/* An experiment on its way into the plan. */
typedef struct planner {
    exp_plan *plan;
    exp_jobs *jobs;
    const exp_request *r;
    const exp_experiment *experiment;
    exp_numbers depths, values; /* values: of the axis; one 0 without an axis */
} planner;

/* A data set of the experiment, as a protocol splits it. */
typedef struct planned_set {
    const char *name;
    bool optional;
    const exp_protocol *protocol; /* NULL: its own splits */
    const exp_data *data;
} planned_set;

static pgcn_status new_cell(planner *p, const planned_set *set, exp_cell **out) {
    exp_plan *plan = p->plan;
    if (plan->cells == plan->room) {
        size_t room = plan->room ? 2 * plan->room : 64;
        exp_cell *cell = realloc(plan->cell, room * sizeof *cell);
        if (!cell)
            return cli_fail(p->r->command, PGCN_ERR_MEMORY,
                            "out of memory for %zu cells of a table", room);
        plan->cell = cell;
        plan->room = room;
    }
    *out = &plan->cell[plan->cells++];
    **out = (exp_cell){.experiment = p->experiment, .protocol = set->protocol};
    snprintf((*out)->dataset, sizeof(*out)->dataset, "%s", set->name);
    return PGCN_OK;
}

static pgcn_status add_runs(exp_jobs *jobs, const exp_request *r, const exp_data *data,
                            exp_cell *cell) {
    int splits = cell->experiment->splits ? numbered_splits(data->data) : 0;
    pgcn_config config = cell->config;
    bool own_split = strcmp(config.split, "auto") != 0; /* --split, or the recipe's */
    cell->runs = runs_of(r, cell, splits);
    cell->job = calloc((size_t)cell->runs, sizeof *cell->job);
    if (!cell->job)
        return cli_fail(r->command, PGCN_ERR_MEMORY, "out of memory for %d runs", cell->runs);
    CLI_TRY(cli_check_seeds(r->command, config.seed, cell->runs));
    for (int i = 0; i < cell->runs; i++) {
        config.seed = cell->config.seed + (uint64_t)i;
        if (splits > 0 && !own_split)
            snprintf(config.split, sizeof config.split, "%d",
                     (int)(config.seed % (uint64_t)splits));
        CLI_TRY(exp_jobs_add(jobs, data, &config, r->fresh, &cell->job[i]));
    }
    return PGCN_OK;
}

static pgcn_status add_cell(planner *p, const planned_set *set, const exp_variant *variant,
                            int layers, int value) {
    const exp_experiment *experiment = p->experiment;
    exp_cell *cell;
    CLI_TRY(new_cell(p, set, &cell));
    cell->variant = variant;
    cell->value = value;
    CLI_TRY(settle(p->r, set->data, layers, cell));
    note_usage(p->plan, p->r, set->data, cell);
    CLI_TRY(add_runs(p->jobs, p->r, set->data, cell));
    if (set->protocol == experiment->protocols) /* numbers of another protocol cannot be compared */
        cell->paper = exp_paper_find(experiment->name, set->name, exp_cell_variant(cell),
                                     cell->config.layers, cell->value);
    return PGCN_OK;
}

/* One data set at one depth: a cell for each variant and value. */
static pgcn_status add_cells(planner *p, const planned_set *set, int layers) {
    const exp_variant *variant = p->experiment->variants;
    do {
        for (int i = 0; i < p->values.count; i++)
            CLI_TRY(add_cell(p, set, variant, layers, p->values.value[i]));
    } while (variant && (++variant)->name);
    return PGCN_OK;
}

static pgcn_status add_absent(planner *p, const planned_set *set, const char *why) {
    exp_cell *cell;
    CLI_TRY(new_cell(p, set, &cell));
    cell->protocol = NULL;
    snprintf(cell->absent, sizeof cell->absent, "%s", why);
    cell->paper = exp_paper_find(p->experiment->name, set->name, "", 0, 0);
    return PGCN_OK;
}

static pgcn_status refuse_task(const planner *p, const planned_set *set) {
    return cli_fail(p->r->command, PGCN_ERR_MISMATCH,
                    "%s is not for the experiment %s, which needs %s", set->name,
                    p->experiment->name,
                    p->experiment->task == PGCN_TASK_GRAPH ? "a class for every graph of a set"
                                                           : "several labels for every node");
}

/* One data set as a protocol splits it, at all depths. */
static pgcn_status add_set(planner *p, planned_set set) {
    const exp_request *r = p->r;
    pgcn_task task = p->experiment->task;
    char full[sizeof p->plan->set->name], absent[400] = "";
    CLI_TRY(name_with_steps(r, p->experiment, set.name, full, sizeof full));
    if (set.protocol) {
        size_t length = strlen(full);
        snprintf(full + length, sizeof full - length, "%c%s", strchr(full, ':') ? ',' : ':',
                 set.protocol->steps);
    }
    set.data = find_set(p->plan, r, full, set.optional, absent);
    if (!set.data && !set.optional)
        return cli_fail(r->command, PGCN_ERR_IO, "%s%s", absent,
                        r->datasets ? "" : "; --datasets chooses among them, or others");
    if (!set.data) return add_absent(p, &set, absent);
    if (task && pgcn_dataset_describe(set.data->data).task != task)
        return r->all ? PGCN_OK : refuse_task(p, &set);
    for (int d = 0; d < p->depths.count; d++) CLI_TRY(add_cells(p, &set, p->depths.value[d]));
    return PGCN_OK;
}

/* One data set, by all protocols. */
static pgcn_status add_protocols(planner *p, const char *name, bool optional) {
    const exp_protocol *protocol = p->experiment->protocols;
    do {
        CLI_TRY(add_set(p, (planned_set){name, optional, protocol, NULL}));
    } while (protocol && (++protocol)->name);
    return PGCN_OK;
}

pgcn_status exp_plan_add(exp_plan *plan, exp_jobs *jobs, const exp_request *r,
                         const exp_experiment *experiment) {
    planner p = {.plan = plan, .jobs = jobs, .r = r, .experiment = experiment};
    bool quick_depths = r->quick && experiment->quick_layers.count > 0;
    bool quick_values = r->quick && experiment->quick_values.count > 0;
    words sets = {0};
    /* steps have commas too: names with steps are separated by blanks */
    const char *between = r->datasets && strchr(r->datasets, ' ') ? " " : ",";
    if (r->datasets) CLI_TRY(split_words(r, "datasets", r->datasets, between, &sets));
    p.depths = quick_depths ? experiment->quick_layers : experiment->layers;
    p.values = quick_values ? experiment->quick_values : experiment->values;
    if (!experiment->axis) p.values = (exp_numbers){.count = 1};
    if (r->layers) CLI_TRY(split_numbers(r, "layers", r->layers, &p.depths));
    for (int i = 0; i < sets.count; i++) CLI_TRY(add_protocols(&p, sets.word[i], false));
    for (const exp_set_name *set = experiment->datasets; !r->datasets && set->name; set++)
        CLI_TRY(add_protocols(&p, set->name, set->optional));
    return PGCN_OK;
}

void exp_plan_free(exp_plan *plan) {
    for (size_t i = 0; i < plan->cells; i++) free(plan->cell[i].job);
    free(plan->cell);
    for (int i = 0; i < plan->sets; i++) pgcn_dataset_free(plan->set[i].data);
    *plan = (exp_plan){0};
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
