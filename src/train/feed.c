/* Batches: which graphs of many, or training nodes of one graph, a step has, and which graphs a part of an evaluation.
 *
 * What a step has follows from its number alone: pass number step / steps shuffles the training graphs, or nodes,
 * by a counter-based generator, and the pass is cut into batches of (nearly) equal size. So a resumed
 * run goes on with the same batches, and the last batch of a pass is not a leftover of one graph, of
 * which a batch norm could make nothing. Called by the trainer. */
#include "train/train.h"

/* Graphs that hold an item of a mask: the graph itself, or one of its nodes. */
static void mark_graphs(const pgcn_dataset *data, const uint8_t *mask, uint8_t *is) {
    bool per_graph = data->task == PGCN_TASK_GRAPH;
    for (int64_t i = 0; i < data->info.items; i++)
        if (mask[i] && pgcn_i_source_has_label(&data->from, i))
            is[per_graph ? i : data->from.graph_of[i]] = 1;
}

static int64_t list_graphs(const uint8_t *is, int64_t graphs, pgcn_node *out) {
    int64_t count = 0;
    for (int64_t g = 0; g < graphs; g++)
        if (is[g]) out[count++] = (pgcn_node)g;
    return count;
}

static pgcn_status choose_graphs(pgcn_i_feed *feed, const pgcn_trainer *trainer) {
    const pgcn_dataset *data = trainer->clusters ? &trainer->clusters->data : trainer->data;
    const pgcn_i_split *split = trainer->split;
    int64_t graphs = data->info.graphs;
    uint8_t *train = PGCN_I_ARRAY(&feed->arena, uint8_t, graphs);
    uint8_t *eval = PGCN_I_ARRAY(&feed->arena, uint8_t, graphs);
    feed->train_item = PGCN_I_ARRAY(&feed->arena, pgcn_node, graphs);
    feed->eval_item = PGCN_I_ARRAY(&feed->arena, pgcn_node, graphs);
    if (!train || !eval || !feed->train_item || !feed->eval_item) return PGCN_ERR_MEMORY;
    mark_graphs(data, split->train, train);
    mark_graphs(data, split->val, eval);
    mark_graphs(data, split->test, eval);
    feed->train = list_graphs(train, graphs, feed->train_item);
    feed->eval = list_graphs(eval, graphs, feed->eval_item);
    feed->most = graphs; /* evaluations may have more of them than there are to train on */
    return PGCN_OK;
}

/* One node from each of `wanted` ranges of a list, so that no two are the same; all of it if it has no more. */
static int64_t choose_spread(const pgcn_node *from, int64_t count, int64_t wanted,
                             pgcn_i_rng_domain domain, pgcn_node *to) {
    int64_t ranges = wanted < count ? wanted : count;
    for (int64_t i = 0; i < ranges; i++) {
        int64_t begin = i * count / ranges, end = (i + 1) * count / ranges;
        pgcn_i_stream random = pgcn_i_stream_of(domain, (uint64_t)i);
        to[i] = from[begin + pgcn_i_bounded(&random, (uint32_t)(end - begin))];
    }
    return ranges;
}

/* With eval-nodes: some validation and some test nodes, the same ones in every evaluation of a seed. */
static pgcn_status choose_evaluated(pgcn_i_feed *feed, const pgcn_trainer *trainer) {
    const pgcn_dataset *data = trainer->data;
    const uint8_t *mask[] = {trainer->split->val, trainer->split->test};
    int64_t n = data->graph->n, wanted = trainer->config.eval_nodes;
    if (wanted == 0) return PGCN_OK;
    pgcn_node *all = PGCN_I_ARRAY(&feed->arena, pgcn_node, n);
    feed->eval_item = PGCN_I_ARRAY(&feed->arena, pgcn_node, wanted < n ? 2 * wanted : 2 * n);
    if (!all || !feed->eval_item) return PGCN_ERR_MEMORY;
    for (int part = 0; part < 2; part++) {
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++)
            if (mask[part][i] && pgcn_i_source_has_label(&data->from, i))
                all[count++] = (pgcn_node)i;
        feed->eval += choose_spread(
            all, count, wanted,
            pgcn_i_rng_domain_of(trainer->config.seed, PGCN_I_RNG_BATCH, 0, 2 + part, 0),
            feed->eval_item + feed->eval);
    }
    pgcn_i_arena_drop(&feed->arena, all);
    return PGCN_OK;
}

/* Nodes that train; the others are there for their consistency alone. */
static pgcn_status choose_nodes(pgcn_i_feed *feed, const pgcn_trainer *trainer) {
    const pgcn_dataset *data = trainer->data;
    int64_t n = data->graph->n, others = n - trainer->train_items;
    feed->nodes = true;
    feed->train_item = PGCN_I_ARRAY(&feed->arena, pgcn_node, trainer->train_items);
    feed->other_item = PGCN_I_ARRAY(&feed->arena, pgcn_node, others);
    if (!feed->train_item || !feed->other_item) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++)
        if (trainer->split->train[i] && pgcn_i_source_has_label(&data->from, i))
            feed->train_item[feed->train++] = (pgcn_node)i;
        else
            feed->other_item[feed->others++] = (pgcn_node)i;
    feed->most = feed->train;
    PGCN_TRY(choose_evaluated(feed, trainer));
    int wanted = trainer->config.consistency > 0 ? trainer->config.unlabelled : 0;
    feed->most_others = wanted < feed->others ? wanted : feed->others;
    return PGCN_OK;
}

static pgcn_status fill_feed(pgcn_i_feed *feed, const pgcn_trainer *trainer) {
    bool nodes = trainer->config.batch_by == PGCN_BATCH_NODES;
    int64_t batch = trainer->clusters ? trainer->config.parts_per_step : trainer->config.batch;
    PGCN_TRY(nodes ? choose_nodes(feed, trainer) : choose_graphs(feed, trainer));
    feed->whole_eval = trainer->clusters || (nodes && feed->eval == 0);
    if (batch > 0 && batch < feed->most) feed->most = batch;
    feed->steps = (feed->train + feed->most - 1) / feed->most;
    feed->order = PGCN_I_ARRAY(&feed->arena, pgcn_node, feed->train);
    feed->chosen = PGCN_I_ARRAY(&feed->arena, pgcn_node, feed->most + feed->most_others);
    return feed->order && feed->chosen ? PGCN_OK : PGCN_ERR_MEMORY;
}

pgcn_status pgcn_i_feed_new(const pgcn_trainer *trainer, pgcn_i_feed **out) {
    pgcn_i_feed *feed = pgcn_i_alloc(1, sizeof *feed);
    if (!feed) return PGCN_ERR_MEMORY;
    feed->pass = -1;
    pgcn_status status = fill_feed(feed, trainer);
    if (status != PGCN_OK) {
        pgcn_i_feed_free(feed);
        return status;
    }
    *out = feed;
    return PGCN_OK;
}

pgcn_status pgcn_i_feed_twin(const pgcn_i_feed *feed, pgcn_i_arena *arena, pgcn_i_feed *out) {
    *out = *feed;
    out->arena = (pgcn_i_arena){0};
    out->pass = -1;
    out->order = PGCN_I_ARRAY(arena, pgcn_node, feed->train);
    out->chosen = PGCN_I_ARRAY(arena, pgcn_node, feed->most + feed->most_others);
    return out->order && out->chosen ? PGCN_OK : PGCN_ERR_MEMORY;
}

void pgcn_i_feed_free(pgcn_i_feed *feed) {
    if (!feed) return;
    pgcn_i_arena_free(&feed->arena);
    pgcn_i_free(feed);
}

pgcn_i_chosen pgcn_i_feed_step(pgcn_i_feed *feed, uint64_t seed, int64_t step) {
    int64_t pass = step / feed->steps, turn = step % feed->steps;
    if (pass != feed->pass)
        pgcn_i_shuffle(pgcn_i_rng_domain_of(seed, PGCN_I_RNG_BATCH, pass, 0, 0), feed->train,
                       feed->order);
    feed->pass = pass;
    int64_t begin = turn * feed->train / feed->steps;
    int64_t end = (turn + 1) * feed->train / feed->steps;
    for (int64_t i = begin; i < end; i++)
        feed->chosen[i - begin] = feed->train_item[feed->order[i]];
    pgcn_i_rng_domain others = pgcn_i_rng_domain_of(seed, PGCN_I_RNG_BATCH, step, 1, 0);
    int64_t besides = choose_spread(feed->other_item, feed->others, feed->most_others, others,
                                    feed->chosen + (end - begin));
    return (pgcn_i_chosen){feed->chosen, end - begin + besides};
}

pgcn_i_chosen pgcn_i_feed_part(const pgcn_i_feed *feed, int64_t i) {
    int64_t left = feed->eval - i * feed->most;
    if (left <= 0) return (pgcn_i_chosen){NULL, 0};
    return (pgcn_i_chosen){feed->eval_item + i * feed->most, left < feed->most ? left : feed->most};
}
