/* The trainings that an experiment of the catalogue needs: a cell for every data set, depth, variant
 * and value, and for a cell a job for every run. */
#include "experiments/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RUNS = 10,
    DEEP = 32, /* from this depth on there are fewer runs, because they take long */
    DEEP_RUNS = 3,
    QUICK_RUNS = 2,
};

/* ---- lists of the command line ------------------------------------------------------------------ */

pgcn_status exp_split_words(const exp_request *r, const char *option, const char *text,
                            char separator, exp_words *out) {
    out->count = 0;
    for (const char *at = text;; at++) {
        const char *end = strchr(at, separator);
        size_t length = end ? (size_t)(end - at) : strlen(at);
        bool blank = length == 0 && separator == ' ';
        if (!blank &&
            (length == 0 || length >= sizeof out->word[0] || out->count == EXP_MOST_WORDS))
            return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                            "--%s is '%.64s', expected up to %d words separated by commas", option,
                            text, EXP_MOST_WORDS);
        if (!blank) snprintf(out->word[out->count++], sizeof out->word[0], "%.*s", (int)length, at);
        at += length;
        if (!*at) return PGCN_OK;
    }
}

static bool goes_on(const char *word) {
    const char *equals = strchr(word, '='), *colon = strchr(word, ':');
    return equals && (!colon || equals < colon);
}

pgcn_status exp_split_sets(const exp_request *r, exp_words *out) {
    exp_words parts;
    bool blanks = strchr(r->datasets, ' ') != NULL;
    CLI_TRY(exp_split_words(r, "datasets", r->datasets, blanks ? ' ' : ',', &parts));
    out->count = 0;
    for (int i = 0; i < parts.count; i++) {
        if (blanks || out->count == 0 || !goes_on(parts.word[i])) {
            memcpy(out->word[out->count++], parts.word[i], sizeof out->word[0]);
            continue;
        }
        char *last = out->word[out->count - 1];
        size_t used = strlen(last), room = sizeof out->word[0] - used;
        if ((size_t)snprintf(last + used, room, ",%s", parts.word[i]) >= room)
            return cli_fail(r->command, PGCN_ERR_ARGUMENT,
                            "--datasets: the name '%.64s...' is too long", last);
    }
    return PGCN_OK;
}

static pgcn_status split_numbers(const exp_request *r, const char *option, const char *text,
                                 exp_numbers *out) {
    exp_words list;
    CLI_TRY(exp_split_words(r, option, text, ',', &list));
    if (list.count > EXP_MOST_VALUES)
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

bool exp_is_shadowed(const char *name) {
    char base[sizeof((exp_data *)0)->name];
    pgcn_published published;
    snprintf(base, sizeof base, "%.*s", (int)strcspn(name, ":"), name);
    return pgcn_published_find(base, &published) && access(base, F_OK) == 0;
}

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

/* ---- options and runs --------------------------------------------------------------------------- */

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
    if (r->quick) return r->figures ? 1 : QUICK_RUNS;
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

/* What the paper calls it; "" for a network that the experiment is not about. */
static const char *system_of(const exp_cell *cell) {
    const exp_variant *variant = cell->variant;
    if (variant) return variant->system ? variant->system : variant->name;
    return cell->config.model == 0 ? "pathGCN" : "";
}

/* An experiment on its way into the plan. */
typedef struct planner {
    exp_plan *plan;
    exp_jobs *jobs;
    const exp_request *r;
    const exp_experiment *experiment;
    exp_numbers depths, values; /* values: of the axis; one 0 without an axis */
    exp_words models;           /* of --models */
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
    **out = (exp_cell){
        .experiment = p->experiment, .protocol = set->protocol, .times = {NAN, NAN, NAN, NAN, NAN}};
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
        if (cell->experiment->models) exp_job_keep_model(jobs, &jobs->job[cell->job[i]]);
    }
    return PGCN_OK;
}

/* Whether the paper's table has both this data set and this system, but leaves their cell empty. */
static bool is_left_empty(const exp_experiment *experiment, const char *dataset,
                          const char *system) {
    return exp_paper_mentions(experiment->places, dataset, NULL) &&
           exp_paper_mentions(experiment->places, NULL, system);
}

static bool is_built(const exp_variant *variant) {
    return !variant || !variant->network || exp_network_number(variant->network) >= 0;
}

/* A system of the paper that there is no network of: nothing is trained. */
static pgcn_status add_quoted(planner *p, const planned_set *set, const exp_variant *variant,
                              int layers) {
    exp_cell *cell;
    const exp_place *places = p->experiment->places;
    const char *system = variant->system ? variant->system : variant->name;
    if (variant->layers > 0) layers = variant->layers;
    const exp_paper *paper = exp_paper_find(places, set->name, system, layers, 0);
    if (places[0] != EXP_NOWHERE && (!paper || set->protocol != p->experiment->protocols))
        return PGCN_OK;
    CLI_TRY(new_cell(p, set, &cell));
    cell->variant = variant;
    cell->quoted = true;
    cell->config = pgcn_config_default();
    cell->config.layers = layers;
    cell->paper = paper;
    return PGCN_OK;
}

static pgcn_status add_cell(planner *p, const planned_set *set, const exp_variant *variant,
                            int layers, int value) {
    const exp_experiment *experiment = p->experiment;
    exp_cell *cell;
    if (!is_built(variant)) return add_quoted(p, set, variant, layers);
    CLI_TRY(new_cell(p, set, &cell));
    cell->variant = variant;
    cell->value = value;
    cell->data = set->data;
    CLI_TRY(exp_settle(p->r, set->data, layers, cell));
    if (set->protocol == experiment->protocols) /* numbers of another protocol cannot be compared */
        cell->paper = exp_paper_find(experiment->places, set->name, system_of(cell),
                                     cell->config.layers, cell->value);
    if (experiment->networks && !p->r->layers && set->protocol == experiment->protocols &&
        !cell->paper && is_left_empty(experiment, set->name, system_of(cell))) {
        p->plan->cells--; /* a cell that the paper leaves empty stays empty */
        return PGCN_OK;
    }
    note_usage(p->plan, p->r, set->data, cell);
    return add_runs(p->jobs, p->r, set->data, cell);
}

/* Whether --models has the network of a line. */
static bool is_chosen(const planner *p, const exp_variant *variant) {
    return p->models.count == 0 || !variant || exp_has_network(variant, &p->models);
}

/* One data set at one depth: a cell for each variant and value. */
static pgcn_status add_cells(planner *p, const planned_set *set, int layers) {
    const exp_variant *variant = p->experiment->variants;
    do {
        for (int i = 0; i < p->values.count && is_chosen(p, variant); i++)
            CLI_TRY(add_cell(p, set, variant, layers, p->values.value[i]));
    } while (variant && (++variant)->name);
    return PGCN_OK;
}

static pgcn_status add_absent(planner *p, const planned_set *set, const char *why) {
    const exp_variant *variant = p->experiment->networks ? p->experiment->variants : NULL;
    do {
        exp_cell *cell;
        if (!is_chosen(p, variant)) continue;
        if (!is_built(variant)) {
            CLI_TRY(add_quoted(p, set, variant, 0));
            continue;
        }
        CLI_TRY(new_cell(p, set, &cell));
        cell->protocol = NULL;
        cell->variant = variant;
        snprintf(cell->absent, sizeof cell->absent, "%s", why);
        cell->paper = exp_paper_find(p->experiment->places, set->name, system_of(cell), 0, 0);
        if (!cell->paper && variant) p->plan->cells--; /* the paper leaves it empty */
    } while (variant && (++variant)->name);
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
    CLI_TRY(exp_name_with_steps(r, p->experiment, set.name, full, sizeof full));
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

/* The data sets of the command line. */
static pgcn_status add_named_sets(planner *p) {
    const exp_request *r = p->r;
    exp_words sets = {0};
    for (int i = 0; i < r->words; i++) CLI_TRY(add_protocols(p, r->word[i], false));
    if (!r->datasets) return PGCN_OK;
    CLI_TRY(exp_split_sets(r, &sets));
    for (int i = 0; i < sets.count; i++) CLI_TRY(add_protocols(p, sets.word[i], false));
    return PGCN_OK;
}

pgcn_status exp_plan_add(exp_plan *plan, exp_jobs *jobs, const exp_request *r,
                         const exp_experiment *experiment) {
    planner p = {.plan = plan, .jobs = jobs, .r = r, .experiment = experiment};
    bool quick_depths = r->quick && experiment->quick_layers.count > 0;
    bool quick_values = r->quick && experiment->quick_values.count > 0;
    p.depths = quick_depths ? experiment->quick_layers : experiment->layers;
    p.values = quick_values ? experiment->quick_values : experiment->values;
    if (!experiment->axis) p.values = (exp_numbers){.count = 1};
    if (r->models) CLI_TRY(exp_split_words(r, "models", r->models, ',', &p.models));
    if (r->layers) CLI_TRY(split_numbers(r, "layers", r->layers, &p.depths));
    if (r->words > 0 || r->datasets) return add_named_sets(&p);
    for (const exp_set_name *set = experiment->datasets; set->name; set++)
        CLI_TRY(add_protocols(&p, set->name, set->optional || r->figures));
    return PGCN_OK;
}

static void drop_unused(const exp_plan *plan, exp_jobs *jobs) {
    for (size_t j = 0; j < jobs->count; j++) {
        bool used = false;
        for (size_t i = 0; i < plan->cells && !used; i++)
            for (int run = 0; run < plan->cell[i].runs && !used; run++)
                used = plan->cell[i].job[run] == j;
        if (!used) jobs->job[j].state = EXP_DROPPED;
    }
}

void exp_plan_shorten(exp_plan *plan, exp_jobs *jobs, double seconds) {
    for (size_t i = 0; i < plan->cells; i++) {
        exp_cell *cell = &plan->cell[i];
        if (cell->runs < 2 || !cell->experiment->networks) continue;
        if (exp_expected_seconds(jobs, &jobs->job[cell->job[0]], NULL) <= seconds) continue;
        cell->runs = 1;
        cell->one_seed = true;
    }
    drop_unused(plan, jobs);
}

void exp_plan_free(exp_plan *plan) {
    for (size_t i = 0; i < plan->cells; i++) free(plan->cell[i].job);
    free(plan->cell);
    for (int i = 0; i < plan->sets; i++) pgcn_dataset_free(plan->set[i].data);
    *plan = (exp_plan){0};
}
