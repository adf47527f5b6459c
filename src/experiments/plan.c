/* Which trainings the tables and curves of the paper need. The experiments are a table; a cell of a
 * result is made for every data set, depth, variant and value of it, and a job for every run of a
 * cell. */
#include "experiments/reproduce.h"

#include <stdlib.h>
#include <string.h>

#define CITATION    "cora citeseer pubmed"
#define DEPTHS      "2,4,8,16,32,64"
#define RECIPE_WORD "recipe="

/* clang-format off */
const exp_experiment exp_experiments[] = {
    {.name = "semi", .title = "Semi-supervised node classification by depth (paper: Table 3)",
     .datasets = CITATION, .layers = DEPTHS, .quick_layers = "2,8"},
    {.name = "full", .title = "Fully supervised node classification (paper: Tables 4, 5 and 6)",
     .datasets = "cora citeseer pubmed chameleon cornell texas wisconsin film wikics? ogbn-arxiv?",
     .layers = "0", .splits = true},
    {.name = "inference", .title = "Deterministic and stochastic inference (paper: Table 9)",
     .datasets = "cora citeseer pubmed ogbn-arxiv? wisconsin ppi?", .layers = "0"},
    {.name = "variants", .title = "Kernels by depth (paper: Table 11)",
     .datasets = CITATION, .layers = DEPTHS, .quick_layers = "2",
     .variants = "global: kernel=global,layer: kernel=layer,depthwise: kernel=depthwise,"
                 "full: kernel=full"},
    {.name = "paths", .title = "Accuracy by the number of paths p, k = 5 (paper: Figure 5, left)",
     .datasets = CITATION, .layers = "2", .axis = "paths", .values = "1,2,5,10,20,50,100",
     .quick_values = "1,10", .fixed = "path-length=5"},
    {.name = "lengths", .title = "Accuracy by the path length k, p = 10 (paper: Figure 5, right)",
     .datasets = CITATION, .layers = "2", .axis = "path-length", .values = "1,2,3,5,7,9,11",
     .quick_values = "1,5", .fixed = "paths=10"},
    {.name = "frozen", .title = "Learnt kernels against frozen ones, and against no walks (ours)",
     .datasets = "cora citeseer chameleon cornell texas wisconsin film", .layers = "0",
     .variants = "learnt:,frozen: lr-kernel=0,smooth: kernel-start=smooth lr-kernel=0,"
                 "no walks: path-length=1",
     .splits = true},
    {.name = "graphs", .title = "Graph classification, ten folds (paper: Table 8)",
     .datasets = "MUTAG-gin PTC-gin PROTEINS-gin NCI1-gin", .layers = "0",
     .variants = "pathgcn:,gin: recipe=gin", .splits = true,
     .protocols = "GIN: crossval=10,held out: kfold=10", .task = PGCN_TASK_GRAPH},
    {.name = "ppi", .title = "Inductive learning on PPI, micro-averaged F1 (paper: Table 7)",
     .datasets = "ppi", .layers = "0", .runs = 2, .task = PGCN_TASK_MULTILABEL},
    {.name = NULL},
};
/* clang-format on */

enum {
    RUNS = 10,
    DEEP = 32, /* from this depth on a run takes so long that there are fewer of them */
    DEEP_RUNS = 3,
    QUICK_RUNS = 2,
    QUICK_EPOCHS = 60,
    MOST_WORDS = 64,
};

/* ---- lists of words --------------------------------------------------------------------------- */

typedef struct words {
    int count;
    char word[MOST_WORDS][128];
} words;

static int split_words(const exp_request *r, const char *option, const char *text,
                       const char *separators, words *out) {
    out->count = 0;
    for (const char *at = text; *at; at += strspn(at, separators)) {
        size_t length = strcspn(at, separators);
        if (length == 0 || length >= sizeof out->word[0] || out->count == MOST_WORDS) {
            cli_complain(r->command, "--%s is '%.64s', expected up to %d words separated by commas",
                         option, text, MOST_WORDS);
            return EXIT_USAGE;
        }
        snprintf(out->word[out->count++], sizeof out->word[0], "%.*s", (int)length, at);
        at += length;
    }
    return -1;
}

static int split_numbers(const exp_request *r, const char *option, const char *text, int *out,
                         int *count) {
    words list;
    int code = split_words(r, option, text, ",", &list);
    if (code >= 0) return code;
    if (list.count == 0 || list.count > EXP_MOST_VALUES) {
        cli_complain(r->command, "--%s is '%.64s', expected 1 to %d numbers separated by commas",
                     option, text, EXP_MOST_VALUES);
        return EXIT_USAGE;
    }
    for (*count = 0; *count < list.count; (*count)++) {
        long long number;
        if (!cli_number(r->command, option, list.word[*count], 0, 1000000, &number))
            return EXIT_USAGE;
        out[*count] = (int)number;
    }
    return -1;
}

/* ---- data sets -------------------------------------------------------------------------------- */

/* Loaded once, however many cells need it. NULL with `absent` filled if it cannot be used; where it
 * is merely not here, an `optional` one says only how to get it. */
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

/* Splits that have a number: "public" is not one of them. */
static int numbered_splits(const pgcn_dataset *data) {
    int count = 0;
    const uint8_t *train, *val, *test;
    const char *name;
    for (int i = 0; (name = pgcn_dataset_split(data, i, &train, &val, &test)); i++)
        count += name[strspn(name, "0123456789")] == '\0';
    return count;
}

/* ---- settings --------------------------------------------------------------------------------- */

/* By the data set's name, and its task where it is loaded. */
static pgcn_status recipe_of(const char *recipe, const char *name, const pgcn_dataset *data,
                             int layers, pgcn_config *out, pgcn_recipe_info *info) {
    if (!*recipe) recipe = NULL;
    return data ? pgcn_recipe_for(recipe, data, layers, out, info)
                : pgcn_recipe_load(recipe, name, layers, out, info);
}

/* A variant may name its own: "recipe=gin". Fully supervised sets that are also used semi-supervised
 * have one of their own. */
static pgcn_status load_recipe(const exp_request *r, const exp_experiment *experiment,
                               const char *name, const pgcn_dataset *data, int layers,
                               exp_cell *cell, pgcn_recipe_info *info) {
    bool family = !r->recipe || strcmp(r->recipe, "paper") == 0;
    if (sscanf(cell->changes, RECIPE_WORD "%63s", cell->recipe) == 1)
        return recipe_of(cell->recipe, name, data, layers, &cell->config, info);
    if (experiment->splits && family) {
        snprintf(cell->recipe, sizeof cell->recipe, "%s", r->recipe ? "paper-full" : "full");
        pgcn_status status = recipe_of(cell->recipe, name, data, layers, &cell->config, info);
        if (status != PGCN_ERR_ARGUMENT) return status;
    }
    snprintf(cell->recipe, sizeof cell->recipe, "%s", r->recipe ? r->recipe : "");
    return recipe_of(cell->recipe, name, data, layers, &cell->config, info);
}

/* The data set with the steps that its recipe names, unless it is given with steps of its own. */
static int name_with_steps(const exp_request *r, const exp_experiment *experiment, const char *name,
                           char *out, size_t bytes) {
    pgcn_recipe_info info = {0};
    exp_cell scratch = {0};
    snprintf(out, bytes, "%s", name);
    if (strchr(name, ':')) return -1;
    pgcn_status status = load_recipe(r, experiment, name, NULL, 0, &scratch, &info);
    if (status != PGCN_OK) return cli_failed(r->command, status);
    if (*info.prepare && !experiment->protocols)
        snprintf(out, bytes, "%.160s:%s", name, info.prepare);
    return -1;
}

/* "key=value key=value" of our own tables. */
static pgcn_status apply_text(pgcn_config *config, const char *text) {
    char key[64], value[64];
    int used;
    pgcn_status status = PGCN_OK;
    for (; status == PGCN_OK && text && sscanf(text, " %63[^= ]=%63s%n", key, value, &used) == 2;
         text += used)
        status = pgcn_config_set(config, key, value);
    return status;
}

/* From the weakest to the strongest: recipe, what the paper holds fixed, --quick, the options that
 * were given, and what the experiment varies. */
static int settle(const exp_request *r, const exp_data *data, int layers, exp_cell *cell) {
    const exp_experiment *experiment = cell->experiment;
    pgcn_config *config = &cell->config;
    pgcn_status status = load_recipe(r, experiment, NULL, data->data, layers, cell, NULL);
    if (status == PGCN_OK) status = apply_text(config, experiment->fixed);
    if (status != PGCN_OK) return cli_failed(r->command, status);
    if (r->quick && config->epochs > QUICK_EPOCHS) config->epochs = QUICK_EPOCHS;
    int code = cli_overlay(r->command, r->arguments, config);
    if (code >= 0) return code;
    char value[16];
    snprintf(value, sizeof value, "%d", cell->value);
    if (layers > 0) config->layers = layers;
    if (strncmp(cell->changes, RECIPE_WORD, strlen(RECIPE_WORD)) != 0)
        status = apply_text(config, cell->changes);
    if (status == PGCN_OK && experiment->axis)
        status = pgcn_config_set(config, experiment->axis, value);
    pgcn_config_adopt(config); /* an option may do nothing in some cells, see note_usage() */
    if (status == PGCN_OK) status = pgcn_config_check(config);
    return status == PGCN_OK ? -1 : cli_failed(r->command, status);
}

/* Which of the given options do something in this cell: those that it uses, and has not replaced. */
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

int exp_plan_check_options(const exp_plan *plan, const exp_request *r) {
    for (int i = 0; i < r->arguments->settings; i++) {
        if (plan->used[i] || !plan->why_unused[i]) continue;
        cli_complain(r->command, "--%s %s does nothing in any of the runs: %s; leave it out",
                     r->arguments->key[i], r->arguments->value[i], plan->why_unused[i]);
        return EXIT_USAGE;
    }
    return -1;
}

static int runs_of(const exp_request *r, const exp_cell *cell, int splits) {
    if (r->seeds > 0) return (int)r->seeds;
    if (r->quick) return QUICK_RUNS;
    if (cell->experiment->splits) return splits > 0 ? splits : RUNS;
    if (cell->experiment->runs > 0) return cell->experiment->runs;
    return cell->config.layers >= DEEP ? DEEP_RUNS : RUNS;
}

/* ---- cells ------------------------------------------------------------------------------------ */

static exp_cell *new_cell(exp_plan *plan, const exp_request *r) {
    if (plan->cells == plan->room) {
        size_t room = plan->room ? 2 * plan->room : 64;
        exp_cell *cell = realloc(plan->cell, room * sizeof *cell);
        if (!cell) {
            cli_complain(r->command, "out of memory for %zu cells of a table", room);
            return NULL;
        }
        plan->cell = cell;
        plan->room = room;
    }
    exp_cell *cell = &plan->cell[plan->cells++];
    *cell = (exp_cell){0};
    return cell;
}

static int add_runs(exp_jobs *jobs, const exp_request *r, const exp_data *data, exp_cell *cell) {
    int splits = cell->experiment->splits ? numbered_splits(data->data) : 0;
    pgcn_config config = cell->config;
    bool own_split = strcmp(config.split, "auto") != 0; /* --split, or the recipe's */
    cell->runs = runs_of(r, cell, splits);
    cell->job = calloc((size_t)cell->runs, sizeof *cell->job);
    if (!cell->job) {
        cli_complain(r->command, "out of memory for %d runs", cell->runs);
        return EXIT_FAILED;
    }
    int code = cli_check_seeds(r->command, config.seed, cell->runs);
    for (int i = 0; i < cell->runs && code < 0; i++) {
        config.seed = cell->config.seed + (uint64_t)i;
        if (splits > 0 && !own_split)
            snprintf(config.split, sizeof config.split, "%d",
                     (int)(config.seed % (uint64_t)splits));
        code = exp_jobs_add(jobs, data, &config, r->fresh, &cell->job[i]);
    }
    return code;
}

/* "name: what it means" of a list of variants or protocols. */
static const char *name_before_colon(const char *text, char name[16]) {
    int length = (int)strcspn(text, ":");
    snprintf(name, 16, "%.*s", length, text);
    return text + length + 1 + strspn(text + length + 1, " ");
}

/* Numbers of another protocol are not to be compared: the paper's is the first. */
static bool is_papers(const exp_experiment *experiment, const char *protocol) {
    return !experiment->protocols ||
           strncmp(experiment->protocols, protocol, strlen(protocol)) == 0;
}

/* One data set, as a protocol splits it, at one depth: a cell for each variant and value. */
static int add_cells(exp_plan *plan, exp_jobs *jobs, const exp_request *r,
                     const exp_experiment *experiment, const char *dataset, const char *protocol,
                     const exp_data *data, int layers) {
    words variants;
    int values[EXP_MOST_VALUES] = {0}, count = 1;
    const char *list =
        r->quick && experiment->quick_values ? experiment->quick_values : experiment->values;
    int code = split_words(r, "variants", experiment->variants ? experiment->variants : "", ",",
                           &variants);
    if (code < 0 && experiment->axis)
        code = split_numbers(r, experiment->axis, list, values, &count);
    for (int v = 0; v < (variants.count ? variants.count : 1) && code < 0; v++)
        for (int i = 0; i < count && code < 0; i++) {
            exp_cell *cell = new_cell(plan, r);
            if (!cell) return EXIT_FAILED;
            cell->experiment = experiment;
            cell->value = values[i];
            snprintf(cell->dataset, sizeof cell->dataset, "%s", dataset);
            snprintf(cell->protocol, sizeof cell->protocol, "%s", protocol);
            if (variants.count)
                snprintf(cell->changes, sizeof cell->changes, "%s",
                         name_before_colon(variants.word[v], cell->variant));
            code = settle(r, data, layers, cell);
            if (code < 0) note_usage(plan, r, data, cell);
            if (code < 0) code = add_runs(jobs, r, data, cell);
            if (code < 0 && is_papers(experiment, protocol))
                cell->paper = exp_paper_find(experiment->name, dataset, cell->variant,
                                             cell->config.layers, cell->value);
        }
    return code;
}

static int add_absent(exp_plan *plan, const exp_request *r, const exp_experiment *experiment,
                      const char *dataset, const char *why) {
    exp_cell *cell = new_cell(plan, r);
    if (!cell) return EXIT_FAILED;
    cell->experiment = experiment;
    snprintf(cell->dataset, sizeof cell->dataset, "%s", dataset);
    snprintf(cell->absent, sizeof cell->absent, "%s", why);
    cell->paper = exp_paper_find(experiment->name, dataset, "", 0, 0);
    return -1;
}

/* One data set as a protocol splits it, by all depths. */
static int add_set(exp_plan *plan, exp_jobs *jobs, const exp_request *r,
                   const exp_experiment *experiment, const char *name, const char *protocol,
                   bool optional, const int *depths, int depth_count) {
    char full[sizeof plan->set->name], protocol_name[16] = "", absent[400] = "";
    int code = name_with_steps(r, experiment, name, full, sizeof full);
    if (code >= 0) return code;
    if (protocol) {
        size_t length = strlen(full);
        const char *steps = name_before_colon(protocol, protocol_name);
        snprintf(full + length, sizeof full - length, "%c%s", strchr(full, ':') ? ',' : ':', steps);
    }
    exp_data *data = find_set(plan, r, full, optional, absent);
    if (!data && !optional) {
        cli_complain(r->command, "%s%s", absent,
                     r->datasets ? "" : "; --datasets chooses among them, or others");
        return EXIT_FAILED;
    }
    if (!data) code = add_absent(plan, r, experiment, name, absent);
    if (data && experiment->task && pgcn_dataset_describe(data->data).task != experiment->task) {
        if (r->all) return -1;
        cli_complain(r->command, "%s is not for the experiment %s, which needs %s", name,
                     experiment->name,
                     experiment->task == PGCN_TASK_GRAPH ? "a class for every graph of a set"
                                                         : "several labels for every node");
        return EXIT_FAILED;
    }
    for (int d = 0; data && d < depth_count && code < 0; d++)
        code = add_cells(plan, jobs, r, experiment, name, protocol_name, data, depths[d]);
    return code;
}

int exp_plan_add(exp_plan *plan, exp_jobs *jobs, const exp_request *r,
                 const exp_experiment *experiment) {
    words sets, protocols;
    int depths[EXP_MOST_VALUES], depth_count = 0;
    const char *layers = r->layers                              ? r->layers
                         : r->quick && experiment->quick_layers ? experiment->quick_layers
                                                                : experiment->layers;
    /* steps have commas too: where a name has some, blanks stand between the names */
    const char *between = r->datasets && strchr(r->datasets, ' ') ? " " : ",";
    int code = r->datasets ? split_words(r, "datasets", r->datasets, between, &sets)
                           : split_words(r, "datasets", experiment->datasets, " ", &sets);
    if (code < 0) code = split_numbers(r, "layers", layers, depths, &depth_count);
    if (code < 0)
        code = split_words(r, "protocols", experiment->protocols ? experiment->protocols : "", ",",
                           &protocols);
    for (int s = 0; s < sets.count && code < 0; s++) {
        char *name = sets.word[s];
        size_t length = strlen(name);
        bool optional = !r->datasets && name[length - 1] == '?';
        if (optional) name[length - 1] = '\0';
        if (protocols.count == 0)
            code = add_set(plan, jobs, r, experiment, name, NULL, optional, depths, depth_count);
        for (int p = 0; p < protocols.count && code < 0; p++)
            code = add_set(plan, jobs, r, experiment, name, protocols.word[p], optional, depths,
                           depth_count);
    }
    return code;
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
    if (recipe_of(recipe, NULL, job->data->data, job->config.layers, &base, &info) != PGCN_OK)
        base = pgcn_config_default();
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
        if (strcmp(field.group, "run") == 0 || strcmp(field.key, "layers") == 0) continue;
        pgcn_config_get(&job->config, field.key, ours, sizeof ours);
        pgcn_config_get(&base, field.key, theirs, sizeof theirs);
        bool used = !pgcn_config_unused(&job->config, job->data->data, field.key);
        if (seed || (used && strcmp(ours, theirs) != 0)) fprintf(out, " --%s %s", field.key, ours);
    }
}
