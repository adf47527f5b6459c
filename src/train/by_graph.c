/* Graph by graph: the accuracy of the nodes of each graph of a set, and its mean over the graphs, beside the
 * accuracy of all nodes together, in which large graphs count more. Only the scores that end a training, and
 * those of models, are counted so; no epoch pays for it. Serial, in whole numbers up to a figure of each graph. */
#include "train/train.h"

#include <math.h>

struct pgcn_i_graph_count {
    int64_t nodes; /* of the graph, with a label or without */
    int64_t items; /* of these, those in the tally */
    int64_t hits, present, predicted;
};

pgcn_status pgcn_i_tally_by_graph(pgcn_i_tally *tally, const pgcn_dataset *data) {
    const int32_t *graph_of = data->from.graph_of;
    if (!graph_of || data->info.graphs < 2 || data->task == PGCN_TASK_GRAPH) return PGCN_OK;
    tally->graphs = data->info.graphs;
    tally->graph = PGCN_I_ARRAY(&tally->arena, int32_t, tally->room);
    tally->of_graph = PGCN_I_ARRAY(&tally->arena, pgcn_i_graph_count, tally->graphs);
    if (!tally->graph || !tally->of_graph) return PGCN_ERR_MEMORY;
    tally->graph_of = graph_of;
    for (int64_t i = 0; i < data->info.nodes; i++) tally->of_graph[graph_of[i]].nodes++;
    return PGCN_OK;
}

void pgcn_i_tally_place(pgcn_i_tally *tally, int64_t first, const pgcn_i_target *target,
                        int64_t items, const pgcn_node *number) {
    if (!tally->graph_of) return;
    for (int64_t i = 0; i < items && first < tally->items; i++)
        if (pgcn_i_counts(target, i))
            tally->graph[first++] = tally->graph_of[number ? number[i] : i];
}

static void count_item(const pgcn_i_tally *tally, int64_t i) {
    pgcn_i_graph_count *count = &tally->of_graph[tally->graph[i]];
    const float *p = tally->probability + i * tally->classes;
    count->items++;
    for (int k = 0; tally->labels && k < tally->classes; k++) {
        bool has = tally->labels[i * tally->classes + k], predicted = pgcn_i_predicts((double)p[k]);
        count->hits += has && predicted;
        count->present += has;
        count->predicted += predicted;
    }
    if (!tally->labels) count->hits += pgcn_i_tally_best(tally, i) == tally->label[i];
}

static double accuracy_of(const pgcn_i_tally *tally, const pgcn_i_graph_count *count) {
    return 100 * (tally->labels ? pgcn_i_micro_f1(count->hits, count->present, count->predicted)
                                : (double)count->hits / (double)count->items);
}

void pgcn_i_tally_graphs(pgcn_i_tally *tally, pgcn_score *out) {
    double sum = 0;
    out->graphs = out->graph_nodes = 0;
    for (int64_t g = 0; g < tally->graphs; g++)
        tally->of_graph[g] = (pgcn_i_graph_count){.nodes = tally->of_graph[g].nodes};
    for (int64_t i = 0; tally->graph_of && i < tally->items; i++) count_item(tally, i);
    for (int64_t g = 0; g < tally->graphs; g++) {
        const pgcn_i_graph_count *count = &tally->of_graph[g];
        if (count->items == 0) continue; /* a graph of another part, or without a label */
        out->graphs++;
        out->graph_nodes += count->nodes;
        sum += accuracy_of(tally, count);
    }
    out->graph_accuracy = out->graphs > 0 ? sum / (double)out->graphs : NAN;
}
