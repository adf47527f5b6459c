/* Features that stay on disk: which rows later steps need, and who keeps what in a bound of memory.
 *
 * Random numbers are functions of seed, step and node, so that a step can be drawn before it is run. Before a turn (a step,
 * or a part of an evaluation) later ones are drawn on the views of the runner that will run them, without what only
 * a network needs; the rows that they lead to are announced to the cache (io/row_cache.c), which has the missing ones
 * read meanwhile and keeps those that are wanted soonest. Then the turn itself is drawn, and its rows are taken, checked
 * and normalised: the same bits as if all features were in memory.
 *
 * The bound is divided once, when everything else is allocated and some batches have been drawn: what is left of it goes to
 * the mapped graph, whose pages are given back when it takes more than its share (base/spool.c), and to the cache.
 * Called by the trainer. */
#include "train/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    READ_AHEAD = 2,    /* batches whose rows are read while others are computed */
    MOST_KNOWN = 32,   /* batches that are announced, */
    LEAST_KNOWN = 3,   /* more than are read ahead, so that the cache knows what comes after them */
    KNOWN_SHARE = 16,  /* and the share of the bound that their lists may take */
    KNOWN_BYTES = 16,  /* of a row that is announced: its number, its next batch, its place */
    MISSED_BYTES = 40, /* of a row that is read, besides its numbers: number, slot, request */
    SLOT_BYTES = 48,   /* of a row that is kept, besides its numbers: key, age, heap */
    NODE_BYTES = 12,   /* of the cache, for every node */
    LEAST_SHARE = 8,   /* of the graph must fit, or walks would read every page again */
    SLACK_BYTES = 16 << 20 /* threads, the history as JSON, pages between two looks */
};

struct pgcn_i_lookahead {
    pgcn_i_arena arena;
    pgcn_trainer *trainer;
    pgcn_i_row_file *file;
    pgcn_i_row_cache *cache; /* NULL: after a failure, or before the first turn */
    pgcn_i_row_cache_opts opts;
    pgcn_i_feed feed; /* a twin, which is ahead */
    pgcn_i_row_rule rule;
    int64_t known;            /* turns announced at a time */
    pgcn_i_moment due, next;  /* the first that was announced; the one after the last */
    bool closes;              /* nothing comes after this evaluation */
    pgcn_i_row_counts before; /* of caches that are gone */
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

static pgcn_status announce(pgcn_i_lookahead *lookahead, pgcn_i_moment turn) {
    pgcn_trainer *trainer = lookahead->trainer;
    pgcn_i_runner *runner = turn.evaluates ? &trainer->eval : &trainer->train;
    pgcn_i_chosen chosen = turn.evaluates ? pgcn_i_feed_part(&lookahead->feed, turn.at)
                                          : pgcn_i_feed_step(&lookahead->feed, trainer->config.seed,
                                                             turn.epoch * trainer->steps + turn.at);
    pgcn_i_views_choose(&runner->views, chosen.item, chosen.count);
    pgcn_i_nodes_reach(runner->views.nodes, trainer->pool, pgcn_i_moment_draw(trainer, turn));
    pgcn_i_wanted_rows wanted = pgcn_i_nodes_wanted(runner->views.nodes);
    return pgcn_i_row_cache_announce(lookahead->cache, wanted.node, wanted.count);
}

static pgcn_i_row_counts counts_of(const pgcn_i_lookahead *lookahead) {
    pgcn_i_row_counts all = lookahead->before;
    if (!lookahead->cache) return all;
    pgcn_i_row_counts now = pgcn_i_row_cache_counts(lookahead->cache);
    return (pgcn_i_row_counts){all.batches + now.batches, all.hits + now.hits,
                               all.misses + now.misses, all.bytes_read + now.bytes_read};
}

static void drop_cache(pgcn_i_lookahead *lookahead) {
    lookahead->before = counts_of(lookahead);
    pgcn_i_row_cache_free(lookahead->cache);
    lookahead->cache = NULL;
}

/* The future is another one: the first turn, one after a resume, after a failure, or the scores of the best weights. */
static pgcn_status begin_with(pgcn_i_lookahead *lookahead, pgcn_i_moment turn) {
    drop_cache(lookahead);
    lookahead->due = lookahead->next = turn;
    return pgcn_i_row_cache_new(lookahead->file, &lookahead->opts, &lookahead->cache);
}

static pgcn_status see(pgcn_i_lookahead *lookahead, pgcn_i_moment turn) {
    if (turn.at == 0) PGCN_TRY(pgcn_i_row_file_check(lookahead->file));
    if (!lookahead->cache || !is_same(lookahead->due, turn)) PGCN_TRY(begin_with(lookahead, turn));
    while (pgcn_i_row_cache_announced(lookahead->cache) < lookahead->known &&
           is_there(lookahead, lookahead->next)) {
        PGCN_TRY(announce(lookahead, lookahead->next));
        lookahead->next = after(lookahead->trainer, lookahead->next);
    }
    return PGCN_OK;
}

pgcn_status pgcn_i_lookahead_see(pgcn_i_lookahead *lookahead, pgcn_i_moment turn) {
    pgcn_status status = see(lookahead, turn);
    if (status != PGCN_OK) drop_cache(lookahead);
    return status;
}

void pgcn_i_lookahead_closes(pgcn_i_lookahead *lookahead, bool closes) {
    drop_cache(lookahead);
    lookahead->closes = closes;
}

/* ---- the rows of a turn ---------------------------------------------------------------------------- */

typedef struct read_job {
    const pgcn_i_row_rule *rule;
    pgcn_i_wanted_rows rows;
    pgcn_i_blocks blocks;
    atomic_llong first_bad; /* number of `rows`, INT64_MAX: none */
} read_job;

/* A row that is not finite is left as it is: the sentence quotes it. */
static void read_task(void *context, int64_t task, int worker) {
    (void)worker;
    read_job *job = context;
    int64_t end = pgcn_i_block_end(job->blocks, task), columns = job->rule->features->columns;
    for (int64_t i = pgcn_i_block_begin(job->blocks, task); i < end; i++) {
        float *row = job->rows.to + i * columns;
        if (pgcn_i_first_bad(row, columns) < 0) {
            pgcn_i_row_as_read(job->rule, job->rows.node[i], row);
            continue;
        }
        long long first = atomic_load(&job->first_bad);
        while (i < first && !atomic_compare_exchange_weak(&job->first_bad, &first, i)) continue;
    }
}

static pgcn_status bring(pgcn_i_lookahead *lookahead, pgcn_i_wanted_rows rows) {
    read_job job = {.rule = &lookahead->rule,
                    .rows = rows,
                    .blocks = pgcn_i_blocks_of(rows.count),
                    .first_bad = INT64_MAX};
    int64_t columns = lookahead->rule.features->columns;
    PGCN_TRY(pgcn_i_row_cache_take(lookahead->cache, rows.to));
    pgcn_i_parallel(lookahead->trainer->pool, job.blocks.count, read_task, &job);
    if (job.first_bad == INT64_MAX) return PGCN_OK;
    const float *row = rows.to + job.first_bad * columns;
    int64_t column = pgcn_i_first_bad(row, columns);
    return pgcn_i_fail_row(lookahead->file, rows.node[job.first_bad], column, row[column]);
}

pgcn_status pgcn_i_lookahead_bring(pgcn_i_lookahead *lookahead, pgcn_i_runner *runner) {
    pgcn_status status = bring(lookahead, pgcn_i_nodes_wanted(runner->views.nodes));
    if (status == PGCN_OK)
        lookahead->due = after(lookahead->trainer, lookahead->due);
    else
        drop_cache(lookahead);
    return status;
}

bool pgcn_trainer_row_reads(const pgcn_trainer *trainer, pgcn_row_reads *out) {
    if (!trainer || !trainer->lookahead) return false;
    pgcn_i_row_counts counts = counts_of(trainer->lookahead);
    if (out)
        *out = (pgcn_row_reads){.hits = counts.hits,
                                .misses = counts.misses,
                                .bytes = counts.bytes_read,
                                .cache_bytes = trainer->lookahead->opts.bytes};
    return true;
}

/* ---- the bound of memory ------------------------------------------------------------------------------ */

/* What is needed, part by part. */
typedef struct needs {
    int64_t program; /* and what else the process had before the data was loaded */
    int64_t nodes;   /* labels, masks, and other arrays with an entry for every node */
    int64_t weights;
    int64_t batch; /* values of a batch, and the rows of those after it */
    int64_t graph; /* all of its pages */
} needs;

static int64_t least_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t graph_bytes(const pgcn_graph *graph) {
    return (graph->n + 1) * (int64_t)sizeof *graph->offset +
           graph->entries *
               (int64_t)(sizeof *graph->neighbour + (graph->weight ? sizeof *graph->weight : 0));
}

/* The pages of the graph that must fit. */
static int64_t least_graph(const needs *need) {
    return need->graph / LEAST_SHARE;
}

static int64_t fixed_bytes(const needs *need) {
    return need->program + need->nodes + need->weights + need->batch + SLACK_BYTES;
}

static pgcn_status does_not_fit(const pgcn_trainer *trainer, const needs *need) {
    char text[7][32], available[64];
    const int64_t size[7] = {trainer->data->from.memory,
                             fixed_bytes(need) + least_graph(need),
                             need->program + SLACK_BYTES,
                             need->nodes,
                             need->weights,
                             need->batch,
                             least_graph(need)};
    for (int i = 0; i < 7; i++) pgcn_format_bytes(size[i], text[i]);
    pgcn_i_available_text(available);
    return pgcn_i_fail(
        PGCN_ERR_MEMORY,
        "training on %s within %s is not possible: it needs at least %s in all (program %s, arrays "
        "of nodes %s, weights %s, a batch and those after it %s, pages of the graph %s), and %s; "
        "raise the bound (--memory), or use a smaller batch, fewer paths, samples or channels",
        trainer->data->name, text[0], text[1], text[2], text[3], text[4], text[5], text[6],
        available);
}

static needs needs_of_data(const pgcn_trainer *trainer) {
    const pgcn_dataset *data = trainer->data;
    return (needs){.program = data->from.before,
                   .nodes = data->from.arena.bytes + NODE_BYTES * data->graph->n,
                   .graph = graph_bytes(data->graph)};
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
    const char *name = trainer->data->name;
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
    if (trainer->cluster.shared)
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "features that stay on disk (--memory) are not shared between ranks; train "
            "in one process, or without it on ranks that have room for all of them");
    PGCN_TRY(check_settings(trainer));
    needs need = needs_of_data(trainer);
    need.nodes += guess_nodes(trainer);
    if (fixed_bytes(&need) + least_graph(&need) <= trainer->data->from.memory) return PGCN_OK;
    return does_not_fit(trainer, &need);
}

/* How many turns are announced at a time, and what they and the rows that are under way take. */
static int64_t plan_turns(pgcn_i_lookahead *lookahead) {
    const pgcn_trainer *trainer = lookahead->trainer;
    int64_t rows = trainer->wanted + trainer->wanted / 8 + 1; /* batches differ */
    int64_t row = pgcn_i_row_file_row_bytes(lookahead->file);
    int64_t known = trainer->data->from.memory / KNOWN_SHARE / (KNOWN_BYTES * rows);
    known = known > MOST_KNOWN ? MOST_KNOWN : known < LEAST_KNOWN ? LEAST_KNOWN : known;
    lookahead->known = known;
    return known * rows * KNOWN_BYTES + (READ_AHEAD + 1) * rows * (row + MISSED_BYTES) +
           lookahead->arena.bytes;
}

/* For measurements and tests: "lru", "future", and after a colon how many bytes of rows are kept at most. */
static void compare_with(pgcn_i_row_cache_opts *opts, const char *text) {
    const char *colon = text ? strchr(text, ':') : NULL;
    int64_t bytes;
    if (text && strncmp(text, "lru", 3) == 0) opts->policy = PGCN_I_ROWS_LRU;
    if (colon && pgcn_integer_parse(colon + 1, 0, opts->bytes, &bytes)) opts->bytes = bytes;
}

/* Divides what is left: the graph first, as long as the cache has a third. */
static pgcn_status divide(pgcn_i_lookahead *lookahead) {
    pgcn_trainer *trainer = lookahead->trainer;
    pgcn_memory *m = &trainer->memory;
    int64_t bound = trainer->data->from.memory, row = pgcn_i_row_file_row_bytes(lookahead->file);
    int64_t rows = lookahead->rule.features->n;
    needs need = needs_of_data(trainer);
    need.nodes += m->graph + trainer->feed->arena.bytes;
    need.weights = m->weights;
    need.batch = m->values + m->paths + plan_turns(lookahead);
    int64_t rest = bound - fixed_bytes(&need);
    if (rest < least_graph(&need)) return does_not_fit(trainer, &need);
    int64_t cache = rest - least_of(need.graph, rest / 3 * 2);
    int64_t slots = least_of(cache / (row + SLOT_BYTES), rows);
    lookahead->opts =
        (pgcn_i_row_cache_opts){.bytes = slots * row, .ahead = READ_AHEAD, .pool = trainer->pool};
    compare_with(&lookahead->opts, getenv("PATHGCN_ROWS"));
    m->features +=
        need.batch - m->values - m->paths + NODE_BYTES * rows + slots * (row + SLOT_BYTES);
    m->total = m->values + m->paths + m->features + m->graph + m->weights;
    return PGCN_OK;
}

static pgcn_status open_all(pgcn_i_lookahead *lookahead) {
    pgcn_trainer *trainer = lookahead->trainer;
    PGCN_TRY(pgcn_i_row_file_again(trainer->data->x.file, &lookahead->file));
    pgcn_i_row_file_at_random(lookahead->file);
    pgcn_i_pages_at_random(trainer->data->from.mapping, trainer->data->from.mapping_bytes);
    PGCN_TRY(pgcn_i_feed_twin(trainer->feed, &lookahead->arena, &lookahead->feed));
    lookahead->rule = (pgcn_i_row_rule){.features = &trainer->data->x,
                                        .normalise = trainer->config.normalise,
                                        .standard = pgcn_i_network_standard(&trainer->params),
                                        .mean = trainer->fill};
    return divide(lookahead);
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
    pgcn_i_row_cache_free(lookahead->cache);
    pgcn_i_row_file_close(lookahead->file);
    pgcn_i_arena_free(&lookahead->arena);
    pgcn_i_free(lookahead);
}
