/* How much memory a training takes, said before its first epoch.
 *
 * Everything is allocated by then, so that it only has to be added up; but pages that nobody
 * touches cost nothing, and visit lists have room for p entries per row and hop where equal visits
 * become one. How far they fill is seen on the walks of a few hundred nodes. Called by
 * pgcn_trainer_new. */
#include "train/train.h"

#include <stdlib.h>

enum { TRIED_NODES = 512, MOST_VISITS = 1 << 22 };

static int compare_nodes(const void *a, const void *b) {
    pgcn_node x = *(const pgcn_node *)a, y = *(const pgcn_node *)b;
    return (x > y) - (x < y);
}

/* The visits of one hop of one node that differ; row is overwritten. */
static int64_t differing(const pgcn_node *walks, int p, int k, int hop, pgcn_node *row) {
    int64_t count = 1;
    for (int q = 0; q < p; q++) row[q] = walks[q * k + hop];
    qsort(row, (size_t)p, sizeof *row, compare_nodes);
    for (int q = 1; q < p; q++) count += row[q] != row[q - 1];
    return count;
}

/* The share of the room in visit lists that will be used. */
static pgcn_status expect_fill(const pgcn_trainer *trainer, double *share) {
    const pgcn_i_walker *walker = &trainer->spatial.walker;
    int64_t n = walker->graph->n, each = (int64_t)walker->p * walker->k;
    int64_t tried = n < TRIED_NODES ? n : TRIED_NODES, entries = 0;
    if (tried * each > MOST_VISITS) tried = MOST_VISITS / each;
    *share = 1;
    if (walker->k < 2 || walker->p < 2 || tried == 0) return PGCN_OK;
    pgcn_i_arena arena = {0};
    pgcn_node *start = PGCN_I_ARRAY(&arena, pgcn_node, tried);
    pgcn_node *walks = PGCN_I_ARRAY(&arena, pgcn_node, tried * each);
    pgcn_node *row = PGCN_I_ARRAY(&arena, pgcn_node, walker->p);
    bool fine = start && walks && row;
    for (int64_t i = 0; fine && i < tried; i++) start[i] = (pgcn_node)(i * n / tried);
    if (fine)
        pgcn_i_walks(walker, trainer->pool,
                     pgcn_i_rng_domain_of(trainer->config.seed, PGCN_I_RNG_WALK, 0, 0, 0), start,
                     tried, walks);
    for (int64_t i = 0; fine && i < tried; i++)
        for (int hop = 1; hop < walker->k; hop++)
            entries += differing(walks + i * each, walker->p, walker->k, hop, row);
    *share = (double)entries / (double)(tried * walker->p * (walker->k - 1));
    pgcn_i_arena_free(&arena);
    return fine ? PGCN_OK : PGCN_ERR_MEMORY;
}

/* Column and weight of a list, and the weights of its transpose, are written as far as they fill;
 * the columns of a transpose hold the visits before they are merged. */
static int64_t visits_bytes(const pgcn_i_visits *visits, double share) {
    if (!visits) return 0;
    int64_t entry = (int64_t)(sizeof *visits->hop->column + sizeof *visits->hop->value +
                              (visits->hop_t ? sizeof *visits->hop_t->value : 0));
    int64_t room = visits->rows * visits->p * (visits->k - 1) * entry;
    return visits->arena.bytes - (int64_t)((1 - share) * (double)room);
}

pgcn_status pgcn_i_trainer_measure(pgcn_trainer *trainer) {
    double share = 1;
    if (trainer->samplers > 0 || trainer->eval_visits) PGCN_TRY(expect_fill(trainer, &share));
    pgcn_memory m = {
        .values = trainer->train_tape.arena.bytes + trainer->eval_tape.arena.bytes +
                  trainer->loss.arena.bytes,
        .paths = visits_bytes(trainer->eval_visits, share),
        .features = trainer->input->arena.bytes,
        .graph = pgcn_i_spatial_bytes(&trainer->spatial),
        .weights = trainer->params.arena.bytes + trainer->arena.bytes,
    };
    if (trainer->feed)
        m.features += trainer->feed->arena.bytes + trainer->feed->train->arena.bytes +
                      trainer->feed->eval->arena.bytes;
    for (int l = 0; l < trainer->samplers; l++) m.paths += visits_bytes(trainer->visits[l], share);
    m.total = m.values + m.paths + m.features + m.graph + m.weights;
    trainer->memory = m;
    return PGCN_OK;
}

pgcn_memory pgcn_trainer_memory(const pgcn_trainer *trainer) {
    return trainer->memory;
}
