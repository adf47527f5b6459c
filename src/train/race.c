/* Which family of settings suits data that no recipe knows: a race on validation. Read pgcn_race_new,
 * pgcn_race_epoch and choose_winner: who takes part, one epoch, who wins. Nothing is written, no process
 * is started; a race that is begun again makes the same decisions. Called by the command line and by
 * programs through the public header. */
#include "train/recipe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last rung trains for a third of the epochs of a training in full, the ones before for a third of
 * the next; a third of the families goes on. Together with the winner's training in full this is less
 * than five times the costliest training for up to eighteen families. */
enum { KEEP = 3, RUNS_OF_LAST_RUNG = 3, RUNS_IN_FULL = 9 };
enum { MOST_LINKED = 100000 }; /* nodes; as many columns are 51 MB of weights for 128 channels */
/* Of two that are tied the one that scored better is taken, unless the other needs at most half of its
 * operations: a network without the graph, or one of half the width. */
static const double MUCH_SIMPLER = 0.5;

typedef struct family {
    pgcn_recipe_info info;
    pgcn_config config;       /* of a training in full */
    const pgcn_dataset *data; /* that of the race, or own_data */
    pgcn_dataset *own_data;   /* with the features of its line `prepare`; NULL: not made, or none */
    char out[1024];           /* why it takes no part any more; "": it does */
    double operations;        /* of an epoch */
    int64_t epochs;           /* of its last training */
    double score, loss;
    int rung;   /* its last one, from 1 */
    float *hit; /* [validation items] of the last rung: the share of the item that was right */
} family;

struct pgcn_race {
    pgcn_i_arena arena;
    const pgcn_dataset *data;
    int families;
    family *family; /* the one with the fewest operations first */
    pgcn_rung plan[PGCN_MOST_RUNGS];
    int rungs, rung;     /* in all; the one that is run, from 0 */
    int members, member; /* of it; the one whose turn it is */
    int *running;        /* [members] families of the rung */
    pgcn_trainer *trainer;
    bool (*go_on)(void *context); /* of its trainings; or NULL */
    void *context;
    double spent, total;  /* operations */
    int64_t val_items;    /* of the last rung */
    pgcn_measure measure; /* that families are compared by */
    int winner;           /* -1: not yet */
};

/* ---- who takes part ----------------------------------------------------------------------------- */

static pgcn_status leave(family *f, const char *why) {
    snprintf(f->out, sizeof f->out, "%s", why);
    return PGCN_OK;
}

/* Steps make other data. What the race has in memory can be given other features, and nothing else. */
static const char *cannot_be_prepared(const pgcn_dataset *data, const char *steps) {
    if (strncmp(steps, "features=", 9) != 0 || strchr(steps, ','))
        return "its steps need the data to be loaded again";
    if (data->info.graphs > 1 || data->task == PGCN_TASK_GRAPH)
        return "links say nothing about new graphs";
    if (data->graph->n > MOST_LINKED)
        return "an input for every node is too much for so large a graph";
    if (data->from.made_features) return "the features were made, not given";
    return data->from.number ? "the nodes were renumbered" : NULL;
}

/* Settings of one network mean nothing to another: a family keeps its own. */
static pgcn_status leave_to(family *f, const pgcn_config *own) {
    char why[160];
    snprintf(why, sizeof why, "it is of the network %s, and model is %s",
             pgcn_network_name(f->config.model), pgcn_network_name(own->model));
    return leave(f, why);
}

/* Whether the family can be trained as the caller wants steps to be, on some nodes of one graph. */
static bool fits_batches(const pgcn_dataset *data, const pgcn_config *config) {
    int levels;
    bool one_graph = !pgcn_i_in_batches(data, data->task == PGCN_TASK_GRAPH);
    return !one_graph || !pgcn_i_config_by_nodes(config) ||
           pgcn_i_network_levels(config, &levels) == PGCN_OK;
}

static pgcn_status enter(const pgcn_race *race, const pgcn_i_recipe *recipe, const pgcn_config *own,
                         family *f) {
    bool depth = pgcn_i_config_has_set(own, "layers");
    *f = (family){.info = recipe->info, .data = race->data, .score = NAN, .loss = NAN};
    pgcn_i_recipe_settings(recipe, depth ? own->layers : 0, &f->config);
    pgcn_i_recipe_measure(&recipe->info, race->data, &f->config);
    if (pgcn_i_config_has_set(own, "model") && own->model != f->config.model)
        return leave_to(f, own);
    PGCN_TRY(pgcn_config_overlay(&f->config, own));
    const char *obstacle =
        *f->info.prepare ? cannot_be_prepared(race->data, f->info.prepare) : NULL;
    if (obstacle) return leave(f, obstacle);
    if (pgcn_config_check_for(&f->config, race->data) != PGCN_OK ||
        !fits_batches(race->data, &f->config))
        return leave(f, pgcn_last_error());
    f->operations = pgcn_i_operations(race->data, &f->config, *f->info.prepare != '\0');
    return PGCN_OK;
}

static int by_operations(const void *a, const void *b) {
    const family *x = a, *y = b;
    if (!*x->out != !*y->out) return *x->out ? 1 : -1;
    if (x->operations != y->operations) return x->operations < y->operations ? -1 : 1;
    return strcmp(x->info.name, y->info.name);
}

static pgcn_status enter_all(pgcn_race *race, const pgcn_config *own, bool all_networks) {
    pgcn_i_arena scratch = {0};
    pgcn_i_recipe *recipe;
    int count = 0;
    pgcn_status status =
        pgcn_i_recipe_families(race->data->task, all_networks, &scratch, &recipe, &count);
    if (status == PGCN_OK) {
        race->family = PGCN_I_ARRAY(&race->arena, family, count > 0 ? count : 1);
        race->running = PGCN_I_ARRAY(&race->arena, int, count > 0 ? count : 1);
        if (!race->family || !race->running) status = PGCN_ERR_MEMORY;
    }
    for (int i = 0; i < count && status == PGCN_OK; i++)
        status = enter(race, &recipe[i], own, &race->family[race->families++]);
    pgcn_i_arena_free(&scratch);
    if (status == PGCN_OK && race->families > 0)
        qsort(race->family, (size_t)race->families, sizeof *race->family, by_operations);
    return status;
}

/* ---- the plan ----------------------------------------------------------------------------------- */

static int epochs_of(const pgcn_race *race, int rung, const family *f) {
    int64_t epochs = (int64_t)f->config.epochs * race->plan[rung].runs;
    return (int)((epochs + RUNS_IN_FULL - 1) / RUNS_IN_FULL);
}

static double cost(const pgcn_race *race, int rung, const family *f) {
    return f->operations * epochs_of(race, rung, f);
}

static int costliest_first(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* What the rungs from the present one on take at most: nobody knows yet who goes on. */
static double expect(const pgcn_race *race) {
    double sum = 0, *costs = pgcn_i_alloc(race->members > 0 ? race->members : 1, sizeof *costs);
    if (!costs) return 0; /* only progress is reported by it */
    for (int r = race->rung; r < race->rungs; r++) {
        for (int i = 0; i < race->members; i++)
            costs[i] = cost(race, r, &race->family[race->running[i]]);
        qsort(costs, (size_t)race->members, sizeof *costs, costliest_first);
        for (int i = 0; i < race->members && i < race->plan[r].candidates; i++) sum += costs[i];
    }
    pgcn_i_free(costs);
    return sum;
}

static pgcn_status plan(pgcn_race *race) {
    for (int i = 0; i < race->families; i++)
        if (!*race->family[i].out) race->running[race->members++] = i;
    if (race->families == 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "there is no recipe for any data set of the task %s",
                           pgcn_task_name(race->data->task));
    if (race->members == 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "%s (so says the recipe %s; none of the others that race takes these "
                           "settings either)",
                           race->family[0].out, race->family[0].info.name);
    race->rungs = pgcn_halving(race->members, RUNS_OF_LAST_RUNG, KEEP, race->plan);
    if (race->members == 1) race->winner = race->running[0];
    race->total = race->winner < 0 ? expect(race) : 0;
    return PGCN_OK;
}

pgcn_race_opts pgcn_race_opts_default(void) {
    return (pgcn_race_opts){.size = sizeof(pgcn_race_opts)};
}

pgcn_status pgcn_race_new_with(const pgcn_dataset *data, const pgcn_config *settings,
                               const pgcn_race_opts *opts, pgcn_race **out) {
    PGCN_I_NEED(data);
    PGCN_I_NEED(out);
    pgcn_config own;
    pgcn_race_opts chosen = pgcn_race_opts_default();
    PGCN_TRY(pgcn_i_config_copy(settings, &own));
    PGCN_TRY(pgcn_i_opts_over(&chosen, sizeof chosen, opts, "pgcn_race_opts_default"));
    if (data->without_val)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "a race compares families of settings on validation items, and data set "
                           "%s has none; give a validation mask, or settings of your own",
                           data->name);
    pgcn_race *race = pgcn_i_alloc(1, sizeof *race);
    if (!race) return PGCN_ERR_MEMORY;
    race->data = data;
    race->winner = -1;
    race->measure = data->info.measure;
    if (own.select > PGCN_SELECT_LOSS) /* the caller has named one */
        race->measure = (pgcn_measure)((int)own.select - PGCN_SELECT_ACCURACY);
    pgcn_status status = enter_all(race, &own, chosen.all_networks);
    if (status == PGCN_OK) status = plan(race);
    if (status != PGCN_OK) {
        pgcn_race_free(race);
        return status;
    }
    *out = race;
    return PGCN_OK;
}

pgcn_status pgcn_race_new(const pgcn_dataset *data, const pgcn_config *settings, pgcn_race **out) {
    return pgcn_race_new_with(data, settings, NULL, out);
}

void pgcn_race_free(pgcn_race *race) {
    if (!race) return;
    pgcn_trainer_free(race->trainer);
    for (int i = 0; i < race->families; i++) {
        pgcn_dataset_free(race->family[i].own_data);
        pgcn_i_free(race->family[i].hit);
    }
    pgcn_i_arena_free(&race->arena);
    pgcn_i_free(race);
}

/* ---- a training --------------------------------------------------------------------------------- */

static family *present(const pgcn_race *race) {
    return &race->family[race->running[race->member]];
}

static pgcn_select select_of(pgcn_measure measure) {
    return (pgcn_select)(PGCN_SELECT_ACCURACY + (int)measure);
}

static pgcn_status start(pgcn_race *race) {
    family *f = present(race);
    if (*f->info.prepare && !f->own_data) {
        PGCN_TRY(pgcn_dataset_prepare(race->data, f->info.prepare, &f->own_data));
        f->data = f->own_data;
    }
    pgcn_config config = f->config;
    config.epochs = epochs_of(race, race->rung, f);
    config.select = select_of(race->measure); /* all are compared by it, and so they choose by it */
    f->rung = race->rung + 1;
    PGCN_TRY(pgcn_trainer_new(f->data, &config, &race->trainer));
    pgcn_trainer_on_step(race->trainer, race->go_on, race->context);
    return PGCN_OK;
}

/* What share of item i the most probable class, or the labels above one half, get right. */
static float hit_of(const pgcn_dataset *data, const float *probability, int64_t i) {
    int classes = data->classes, right = 0;
    const float *p = probability + i * classes;
    const int32_t *label =
        data->task == PGCN_TASK_GRAPH ? data->from.graph_label : data->from.label;
    if (data->task == PGCN_TASK_MULTILABEL) {
        for (int c = 0; c < classes; c++)
            right += (p[c] > 0.5f) == (data->from.labels[i * classes + c] != 0);
        return (float)right / (float)classes;
    }
    return pgcn_i_best_class(p, classes) == label[i] ? 1.0f : 0.0f;
}

/* Right and wrong of every validation item with the weights that were kept. */
static pgcn_status note_hits(pgcn_race *race, family *f, const pgcn_model *model,
                             const uint8_t *val) {
    const pgcn_dataset *data = f->data;
    int64_t items = data->info.items, at = 0;
    pgcn_inference inference = pgcn_inference_default();
    inference.threads = f->config.threads;
    float *probability = pgcn_i_alloc(items, (size_t)data->classes * sizeof *probability);
    f->hit = pgcn_i_alloc(items, sizeof *f->hit);
    pgcn_status status = probability && f->hit ? PGCN_OK : PGCN_ERR_MEMORY;
    if (status == PGCN_OK) status = pgcn_model_predict(model, data, &inference, probability, NULL);
    for (int64_t i = 0; i < items && status == PGCN_OK; i++)
        if (val[i] && pgcn_dataset_is_labelled(data, i))
            f->hit[at++] = hit_of(data, probability, i);
    race->val_items = at;
    pgcn_i_free(probability);
    return status;
}

static pgcn_status finish(pgcn_race *race) {
    family *f = present(race);
    const pgcn_i_progress *progress = &race->trainer->progress;
    const uint8_t *val = race->trainer->split->val;
    pgcn_model *model = NULL;
    pgcn_status status = PGCN_OK;
    f->epochs = progress->epochs;
    f->score = progress->history[progress->best].val_measure;
    f->loss = progress->history[progress->best].val_loss;
    bool last = race->rung == race->rungs - 1;
    if (last) status = pgcn_trainer_model(race->trainer, &model);
    pgcn_trainer_free(race->trainer); /* before its model needs the same memory again */
    race->trainer = NULL;
    if (last && status == PGCN_OK) status = note_hits(race, f, model, val);
    pgcn_model_free(model);
    return status;
}

/* ---- who goes on, who wins ---------------------------------------------------------------------- */

/* Of equal ones the one with fewer operations, which stands first. */
static bool is_better(const family *a, const family *b) {
    if (a->score != b->score) return a->score > b->score;
    return a->loss < b->loss;
}

/* Puts the best first. There are few. */
static void rank(const pgcn_race *race, int *list, int count) {
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0; j--) {
            int a = list[j - 1], b = list[j];
            bool earlier = b < a && !is_better(&race->family[a], &race->family[b]);
            if (!earlier && !is_better(&race->family[b], &race->family[a])) break;
            list[j - 1] = b;
            list[j] = a;
        }
}

/* Whether two differ on validation by no more than the standard error of the difference, which is taken
 * item by item: both are wrong about the same items mostly, and those say nothing. Other measures than
 * the accuracy are no means over items, and only equal ones are tied. */
static bool is_tie(const pgcn_race *race, const family *best, const family *other) {
    double sum = 0, squares = 0, n = (double)race->val_items;
    for (int64_t i = 0; i < race->val_items; i++) {
        double difference = (double)best->hit[i] - (double)other->hit[i];
        sum += difference;
        squares += difference * difference;
    }
    if (race->measure != PGCN_MEASURE_ACCURACY) return best->score == other->score;
    if (n < 2) return true;
    double mean = sum / n, variance = (squares / n - mean * mean) * n / (n - 1);
    return mean <= sqrt(variance / n);
}

/* Those that failed are out; the better third goes on. */
static pgcn_status next_rung(pgcn_race *race, const char *why) {
    int count = 0;
    for (int i = 0; i < race->members; i++)
        if (!*race->family[race->running[i]].out) race->running[count++] = race->running[i];
    if (count == 0)
        return pgcn_i_fail(PGCN_ERR_NUMERIC, "every family of settings failed; the last one: %s",
                           why);
    rank(race, race->running, count);
    race->rung++;
    race->member = 0;
    if (race->rung < race->rungs) {
        int most = race->plan[race->rung].candidates;
        race->members = count < most ? count : most;
        race->total = race->spent + expect(race);
        return PGCN_OK;
    }
    race->members = count;
    race->winner = race->running[0];
    for (int i = 1; i < count; i++) {
        const family *best = &race->family[race->running[0]], *f = &race->family[race->running[i]];
        bool simpler = f->operations <= MUCH_SIMPLER * best->operations &&
                       f->operations < race->family[race->winner].operations;
        if (simpler && is_tie(race, best, f)) race->winner = race->running[i];
    }
    return PGCN_OK;
}

/* The training of the family whose turn it is has ended, well or not. */
static pgcn_status next_member(pgcn_race *race, pgcn_status status) {
    family *f = present(race);
    char why[sizeof f->out] = "";
    if (status != PGCN_OK) {
        snprintf(why, sizeof why, "%s: %.900s", f->info.name, pgcn_last_error());
        leave(f, pgcn_last_error());
        pgcn_trainer_free(race->trainer);
        race->trainer = NULL;
    }
    if (++race->member < race->members) return PGCN_OK;
    return next_rung(race, why);
}

/* ---- the public side ---------------------------------------------------------------------------- */

bool pgcn_race_finished(const pgcn_race *race) {
    return !race || race->winner >= 0;
}

/* Wrong settings or data fail in every family alike; what can differ when a training begins is memory. */
static bool is_fatal(pgcn_status status) {
    return status != PGCN_OK && status != PGCN_ERR_MEMORY;
}

pgcn_status pgcn_race_epoch(pgcn_race *race) {
    PGCN_I_NEED(race);
    if (pgcn_race_finished(race))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "the race is over; pgcn_race_winner() says who won");
    const family *f = present(race);
    pgcn_status status = race->trainer ? PGCN_OK : start(race);
    if (is_fatal(status)) return status;
    if (status == PGCN_OK) status = pgcn_trainer_epoch(race->trainer, NULL);
    if (status == PGCN_ERR_STOPPED) return status; /* the next call goes on inside the epoch */
    race->spent += f->operations;
    if (status != PGCN_OK) return next_member(race, status);
    if (!pgcn_trainer_finished(race->trainer)) return PGCN_OK;
    int64_t unused = epochs_of(race, race->rung, f) - race->trainer->progress.epochs;
    race->total -= f->operations * (double)unused;
    return next_member(race, finish(race));
}

void pgcn_race_on_step(pgcn_race *race, bool (*go_on)(void *context), void *context) {
    if (!race) return;
    race->go_on = go_on;
    race->context = context;
    pgcn_trainer_on_step(race->trainer, go_on, context);
}

double pgcn_race_done(const pgcn_race *race) {
    if (pgcn_race_finished(race) || race->total <= 0) return 1;
    return fmin(1, race->spent / race->total);
}

int pgcn_race_leader(const pgcn_race *race) {
    if (!race || race->winner >= 0) return race ? race->winner : -1;
    int best = -1;
    for (int i = 0; i < race->families; i++) {
        const family *f = &race->family[i];
        if (isnan(f->score) || *f->out) continue;
        if (best < 0 || f->rung > race->family[best].rung ||
            (f->rung == race->family[best].rung && is_better(f, &race->family[best])))
            best = i;
    }
    return best;
}

bool pgcn_race_get(const pgcn_race *race, int i, pgcn_race_entry *out) {
    if (!race || i < 0 || i >= race->families) return false;
    const family *f = &race->family[i];
    if (out)
        *out = (pgcn_race_entry){.recipe = f->info,
                                 .out = *f->out ? f->out : NULL,
                                 .operations = f->operations,
                                 .epochs = f->epochs,
                                 .score = f->score,
                                 .loss = f->loss,
                                 .rung = f->rung,
                                 .running = race->trainer && f == present(race)};
    return true;
}

pgcn_status pgcn_race_winner(const pgcn_race *race, pgcn_config *out, pgcn_recipe_info *info) {
    PGCN_I_NEED(race);
    PGCN_I_NEED(out);
    if (!pgcn_race_finished(race))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "the race is not over; go on with pgcn_race_epoch()");
    *out = race->family[race->winner].config;
    if (info) *info = race->family[race->winner].info;
    return PGCN_OK;
}

pgcn_status pgcn_recipe_auto(const pgcn_dataset *data, const pgcn_config *settings,
                             pgcn_config *out, pgcn_recipe_info *info) {
    PGCN_I_NEED(out);
    pgcn_race *race;
    PGCN_TRY(pgcn_race_new(data, settings, &race));
    pgcn_status status = PGCN_OK;
    while (status == PGCN_OK && !pgcn_race_finished(race)) status = pgcn_race_epoch(race);
    if (status == PGCN_OK) status = pgcn_race_winner(race, out, info);
    pgcn_race_free(race);
    return status;
}
