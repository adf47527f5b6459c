/* Training on features that stay on disk: which batches later steps and evaluations will have.
 *
 * A turn is a step, or a part of an evaluation. Before a turn the turns after it are announced to the supply (supply.c), as
 * if patience never ended the training; then the turn itself has what was drawn for it, and its rows are brought. Where the future is
 * another one (a resume, the scores of the best weights, a failed read) the supply begins anew. What cannot be trained
 * from disk, or not within the bound, is refused here. Called by the trainer. */
#include "train/train.h"

struct pgcn_i_lookahead {
    pgcn_i_arena arena;
    pgcn_trainer *trainer;
    pgcn_i_supply supply;
    pgcn_i_feed feed;        /* a twin, which is ahead */
    pgcn_i_moment due, next; /* the first that was announced; the one after the last */
    bool closes;             /* nothing comes after this evaluation */
};

/* ---- turns -------------------------------------------------------------------------------------- */

static bool is_same(pgcn_i_moment a, pgcn_i_moment b) {
    return a.epoch == b.epoch && a.evaluates == b.evaluates && a.at == b.at;
}

/* The turn after one, as if patience never ended the training. */
static pgcn_i_moment after(const pgcn_trainer *trainer, pgcn_i_moment turn) {
    turn.at++;
    if (!turn.evaluates && turn.at == trainer->steps &&
        pgcn_i_evaluation_is_due(trainer, turn.epoch))
        return (pgcn_i_moment){turn.epoch, true, 0};
    bool done = turn.evaluates ? pgcn_i_feed_part(trainer->feed, turn.at).count == 0
                               : turn.at == trainer->steps;
    return done ? (pgcn_i_moment){turn.epoch + 1, false, 0} : turn;
}

static bool is_there(const pgcn_i_lookahead *lookahead, pgcn_i_moment turn) {
    if (lookahead->closes) return turn.evaluates;
    return turn.epoch < lookahead->trainer->config.epochs;
}

/* ---- before a turn -------------------------------------------------------------------------------- */

static pgcn_i_runner *runner_of(pgcn_trainer *trainer, pgcn_i_moment turn) {
    return turn.evaluates ? &trainer->eval : &trainer->train;
}

static pgcn_i_batch_turn turn_of(pgcn_i_lookahead *lookahead, pgcn_i_moment turn) {
    pgcn_trainer *trainer = lookahead->trainer;
    pgcn_i_chosen chosen = turn.evaluates ? pgcn_i_feed_part(&lookahead->feed, turn.at)
                                          : pgcn_i_feed_step(&lookahead->feed, trainer->config.seed,
                                                             turn.epoch * trainer->steps + turn.at);
    return (pgcn_i_batch_turn){&runner_of(trainer, turn)->views, chosen,
                               pgcn_i_moment_draw(trainer, turn)};
}

static pgcn_status see(pgcn_i_lookahead *lookahead, pgcn_i_moment turn) {
    pgcn_i_supply *supply = &lookahead->supply;
    if (turn.at == 0) PGCN_TRY(pgcn_i_row_file_check(supply->file));
    if (!supply->cache || !is_same(lookahead->due, turn)) {
        PGCN_TRY(pgcn_i_supply_begin(supply));
        lookahead->due = lookahead->next = turn;
    }
    while (!pgcn_i_supply_is_full(supply) && is_there(lookahead, lookahead->next)) {
        PGCN_TRY(pgcn_i_supply_announce(supply, turn_of(lookahead, lookahead->next)));
        lookahead->next = after(lookahead->trainer, lookahead->next);
    }
    runner_of(lookahead->trainer, turn)->views.kept = pgcn_i_supply_first(supply);
    return PGCN_OK;
}

/* What was read is lost. Other ranks are in the middle of the step already, and go no further without this one. */
static void give_up(pgcn_i_lookahead *lookahead, pgcn_status status) {
    pgcn_i_supply_forget(&lookahead->supply);
    if (lookahead->trainer->cluster.shared) pgcn_i_comm_fail(pgcn_i_comm_world(), status);
}

pgcn_status pgcn_i_lookahead_see(pgcn_i_lookahead *lookahead, pgcn_i_moment turn) {
    pgcn_status status = see(lookahead, turn);
    if (status != PGCN_OK) give_up(lookahead, status);
    return status;
}

void pgcn_i_lookahead_closes(pgcn_i_lookahead *lookahead, bool closes) {
    pgcn_i_supply_forget(&lookahead->supply);
    lookahead->closes = closes;
}

pgcn_status pgcn_i_lookahead_bring(pgcn_i_lookahead *lookahead, pgcn_i_runner *runner) {
    pgcn_status status = pgcn_i_supply_bring(&lookahead->supply, &runner->views);
    if (status == PGCN_OK)
        lookahead->due = after(lookahead->trainer, lookahead->due);
    else
        give_up(lookahead, status);
    return status;
}

bool pgcn_trainer_row_reads(const pgcn_trainer *trainer, pgcn_row_reads *out) {
    if (!trainer || !trainer->lookahead) return false;
    if (out) *out = pgcn_i_supply_reads(&trainer->lookahead->supply);
    return true;
}

/* ---- what is possible ---------------------------------------------------------------------------- */

static pgcn_status does_not_fit(const pgcn_trainer *trainer, const pgcn_i_memory_needs *need) {
    return pgcn_i_needs_fail(need, trainer->data, "training on",
                             ", or use a smaller batch, fewer paths, samples or channels");
}

pgcn_i_spatial_use pgcn_i_use_of_graph(const pgcn_trainer *trainer) {
    const pgcn_config *config = &trainer->config;
    bool by_parts = config->batch_by == PGCN_BATCH_NODES && config->eval_nodes > 0 &&
                    trainer->val_items > 0 && pgcn_i_network_powers(config) == 0;
    bool walks = pgcn_i_network_of(config)->walks && config->train_form == PGCN_FORM_SAMPLED;
    return !by_parts ? PGCN_I_READS_T : walks ? PGCN_I_WALKS : PGCN_I_DRAWS_ROWS;
}

/* Whether T has memory of its own: see pgcn_i_graph_transition. */
static bool stores_t(const pgcn_trainer *trainer) {
    const pgcn_config *config = &trainer->config;
    pgcn_i_spatial_use use = pgcn_i_use_of_graph(trainer);
    bool even = config->scaling == PGCN_SCALING_WALK && config->walk == PGCN_WALK_UNIFORM &&
                !config->self_loops && pgcn_i_network_of(config)->empty_rows;
    return use == PGCN_I_READS_T || (use == PGCN_I_DRAWS_ROWS && !even);
}

/* The exact operator, degrees, places and lists of nodes: what will be allocated for every node and edge. */
static int64_t guess_nodes(const pgcn_trainer *trainer) {
    int64_t n = trainer->data->graph->n, entries = trainer->data->graph->entries + n;
    return 4 * n * (4 + trainer->config.samples) + (stores_t(trainer) ? 8 * n + 8 * entries : 0);
}

static pgcn_status check_settings(const pgcn_trainer *trainer) {
    const pgcn_config *config = &trainer->config;
    const char *name = trainer->data->name, *why = pgcn_i_network_not_in_batches(config);
    if (why) /* before batches are advised, which would be refused */
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "the features of data set %s stay on disk, which needs batches of nodes, "
            "and model %s cannot be trained on them: %s",
            name, pgcn_i_network_of(config)->name, why);
    if (config->batch_by != PGCN_BATCH_NODES)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "the features of data set %s stay on disk, and a step would read all of "
                           "them; set batch to a number of training nodes, such as 1024",
                           name);
    if (trainer->val_items == 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "the features of data set %s stay on disk, and training from disk needs "
                           "validation nodes, of which it has none; give it a split that has some",
                           name);
    if (config->eval_nodes == 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "the features of data set %s stay on disk, and an evaluation on the "
                           "whole graph would read all of them; set eval-nodes to how many "
                           "validation and test nodes it looks at, by drawn paths: %lld is all",
                           name, (long long)trainer->data->graph->n);
    if (pgcn_i_network_powers(config) > 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "the features of data set %s stay on disk, and model %s multiplies all "
                           "of them by the graph before it trains; choose another model",
                           name, pgcn_i_network_of(config)->name);
    return PGCN_OK;
}

pgcn_status pgcn_i_lookahead_check(const pgcn_trainer *trainer) {
    if (!trainer->data->x.file) return PGCN_OK;
    PGCN_TRY(check_settings(trainer));
    pgcn_i_memory_needs need = pgcn_i_needs_of(trainer->data);
    need.nodes += guess_nodes(trainer);
    if (pgcn_i_needs_fit(&need, trainer->data)) return PGCN_OK;
    /* what a batch needs is not known yet: where there is memory for it, the sentence waits for that */
    int64_t available = pgcn_memory_available();
    return available >= 0 && available / 2 < pgcn_i_needs_bytes(&need)
               ? does_not_fit(trainer, &need)
               : PGCN_OK;
}

/* Divides what is left of the bound. */
static pgcn_status divide(pgcn_i_lookahead *lookahead) {
    pgcn_trainer *trainer = lookahead->trainer;
    pgcn_memory *m = &trainer->memory;
    int64_t turns = pgcn_i_supply_least(&lookahead->supply, trainer->batch_size);
    pgcn_i_memory_needs need = pgcn_i_needs_of(trainer->data);
    need.nodes += m->graph + trainer->feed->arena.bytes + lookahead->arena.bytes;
    need.weights = m->weights;
    need.batch = m->values + m->paths + turns;
    if (!pgcn_i_needs_fit(&need, trainer->data)) return does_not_fit(trainer, &need);
    turns += pgcn_i_supply_plan(&lookahead->supply, trainer->batch_size, &need);
    m->features += turns + lookahead->arena.bytes + pgcn_i_supply_divide(&lookahead->supply, &need);
    m->total = m->values + m->paths + m->features + m->graph + m->weights;
    return PGCN_OK;
}

static pgcn_status open_all(pgcn_i_lookahead *lookahead) {
    pgcn_trainer *trainer = lookahead->trainer;
    const pgcn_i_row_rule rule = {.features = &trainer->data->x,
                                  .normalise = trainer->config.normalise,
                                  .standard = pgcn_i_network_standard(&trainer->params),
                                  .mean = trainer->fill};
    PGCN_TRY(pgcn_i_supply_open(&lookahead->supply, trainer->data, trainer->pool, rule));
    PGCN_TRY(pgcn_i_feed_twin(trainer->feed, &lookahead->arena, &lookahead->feed));
    return divide(lookahead);
}

/* Ranks draw together, also what comes next: all of them look as far ahead as the one that looks least far. */
void pgcn_i_lookahead_align(pgcn_i_lookahead *lookahead) {
    pgcn_i_comm *comm = pgcn_i_comm_world();
    if (!lookahead || pgcn_i_comm_alone(comm)) return;
    int64_t known = lookahead->supply.known, *all = pgcn_i_alloc(2 * comm->size, sizeof *all);
    if (!all) {
        pgcn_i_comm_fail(comm, PGCN_ERR_MEMORY);
        return;
    }
    for (int r = 0; r < comm->size; r++) all[r] = known;
    pgcn_i_comm_swap(comm, all, all + comm->size);
    for (int r = 0; r < comm->size; r++)
        if (all[comm->size + r] < known) known = all[comm->size + r];
    lookahead->supply.known = known;
    pgcn_i_free(all);
}

pgcn_status pgcn_i_lookahead_new(pgcn_trainer *trainer, pgcn_i_lookahead **out) {
    *out = NULL;
    if (!trainer->data->x.file) return PGCN_OK;
    pgcn_i_lookahead *lookahead = pgcn_i_alloc(1, sizeof *lookahead);
    if (!lookahead) return PGCN_ERR_MEMORY;
    lookahead->trainer = trainer;
    pgcn_status status = open_all(lookahead);
    if (status == PGCN_OK)
        *out = lookahead;
    else
        pgcn_i_lookahead_free(lookahead);
    return status;
}

void pgcn_i_lookahead_free(pgcn_i_lookahead *lookahead) {
    if (!lookahead) return;
    pgcn_i_supply_close(&lookahead->supply);
    pgcn_i_arena_free(&lookahead->arena);
    pgcn_i_free(lookahead);
}
