/* Many graphs: which of them a step has, and which a part of an evaluation.
 *
 * A step's graphs follow from its number alone: pass number step / steps shuffles the training graphs
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
    const pgcn_dataset *data = trainer->data;
    const pgcn_i_split *split = trainer->split;
    int64_t graphs = data->info.graphs;
    uint8_t *train = PGCN_I_ARRAY(&feed->arena, uint8_t, graphs);
    uint8_t *eval = PGCN_I_ARRAY(&feed->arena, uint8_t, graphs);
    feed->train_graph = PGCN_I_ARRAY(&feed->arena, pgcn_node, graphs);
    feed->eval_graph = PGCN_I_ARRAY(&feed->arena, pgcn_node, graphs);
    feed->order = PGCN_I_ARRAY(&feed->arena, pgcn_node, graphs);
    feed->chosen = PGCN_I_ARRAY(&feed->arena, pgcn_node, graphs);
    if (!train || !eval || !feed->train_graph || !feed->eval_graph || !feed->order || !feed->chosen)
        return PGCN_ERR_MEMORY;
    mark_graphs(data, split->train, train);
    mark_graphs(data, split->val, eval);
    mark_graphs(data, split->test, eval);
    feed->train_graphs = list_graphs(train, graphs, feed->train_graph);
    feed->eval_graphs = list_graphs(eval, graphs, feed->eval_graph);
    int64_t batch = trainer->config.batch;
    feed->most = batch > 0 && batch < graphs ? batch : graphs;
    feed->steps = (feed->train_graphs + feed->most - 1) / feed->most;
    return PGCN_OK;
}

pgcn_status pgcn_i_feed_new(const pgcn_trainer *trainer, pgcn_i_feed **out) {
    pgcn_i_feed *feed = pgcn_i_alloc(1, sizeof *feed);
    if (!feed) return PGCN_ERR_MEMORY;
    feed->pass = -1;
    pgcn_status status = choose_graphs(feed, trainer);
    if (status != PGCN_OK) {
        pgcn_i_feed_free(feed);
        return status;
    }
    *out = feed;
    return PGCN_OK;
}

void pgcn_i_feed_free(pgcn_i_feed *feed) {
    if (!feed) return;
    pgcn_i_arena_free(&feed->arena);
    pgcn_i_free(feed);
}

pgcn_i_chosen pgcn_i_feed_step(pgcn_i_feed *feed, uint64_t seed, int64_t step) {
    int64_t pass = step / feed->steps, turn = step % feed->steps;
    if (pass != feed->pass)
        pgcn_i_shuffle(pgcn_i_rng_domain_of(seed, PGCN_I_RNG_BATCH, pass, 0, 0), feed->train_graphs,
                       feed->order);
    feed->pass = pass;
    int64_t begin = turn * feed->train_graphs / feed->steps;
    int64_t end = (turn + 1) * feed->train_graphs / feed->steps;
    for (int64_t i = begin; i < end; i++)
        feed->chosen[i - begin] = feed->train_graph[feed->order[i]];
    return (pgcn_i_chosen){feed->chosen, end - begin};
}

pgcn_i_chosen pgcn_i_feed_part(const pgcn_i_feed *feed, int64_t i) {
    int64_t left = feed->eval_graphs - i * feed->most;
    if (left <= 0) return (pgcn_i_chosen){NULL, 0};
    return (pgcn_i_chosen){feed->eval_graph + i * feed->most,
                           left < feed->most ? left : feed->most};
}
