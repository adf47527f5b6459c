/* What would be predicted without the links of some nodes: of each of the strongest, of all of these, and of the
 * explained node itself.
 *
 * The graph is made again without these links, so that the degrees of others, and with them the weights of their
 * links, are those of the smaller graph; walks are drawn on it. A mask sets the entries of T to 0 instead, and all
 * other entries stay. Features stay in both. Called by explain.c. */
#include "train/explain.h"

#include <string.h>

static bool is_cut(const uint8_t *cut, pgcn_node a, pgcn_node b) {
    return a != b && (cut[a] || cut[b]);
}

/* Links between two nodes that are removed, each once. */
static int64_t count_links(const pgcn_graph *graph, const uint8_t *cut) {
    int64_t entries = 0;
    for (int64_t u = 0; u < graph->n; u++)
        for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++)
            entries += is_cut(cut, (pgcn_node)u, graph->neighbour[e]);
    return graph->directed ? entries : entries / 2;
}

static pgcn_status graph_without(const pgcn_graph *from, const uint8_t *cut, pgcn_graph *out) {
    *out = (pgcn_graph){.n = from->n, .directed = from->directed};
    int64_t *offset = PGCN_I_ARRAY(&out->arena, int64_t, from->n + 1);
    pgcn_node *neighbour = PGCN_I_ARRAY(&out->arena, pgcn_node, from->entries);
    float *weight = from->weight ? PGCN_I_ARRAY(&out->arena, float, from->entries) : NULL;
    if (!offset || !neighbour || (from->weight && !weight)) return PGCN_ERR_MEMORY;
    for (int64_t u = 0; u < from->n; u++) {
        for (int64_t e = from->offset[u]; e < from->offset[u + 1]; e++) {
            if (is_cut(cut, (pgcn_node)u, from->neighbour[e])) continue;
            if (weight) weight[out->entries] = from->weight[e];
            neighbour[out->entries++] = from->neighbour[e];
        }
        offset[u + 1] = out->entries;
    }
    out->offset = offset;
    out->neighbour = neighbour;
    out->weight = weight;
    return PGCN_OK;
}

static pgcn_status predict(pgcn_i_explained *e, const pgcn_dataset *data, const uint8_t *cut,
                           pgcn_removal *out) {
    pgcn_i_session s;
    int64_t row;
    int classes = e->out.classes;
    PGCN_TRY(pgcn_i_session_open_for(&s, e->model, data, &e->inference,
                                     (pgcn_i_session_purpose){.explains = true, .cut = cut}));
    float *probability = PGCN_I_ARRAY(&e->arena, float, classes);
    pgcn_status status =
        probability ? pgcn_i_session_run_item(&s, e->out.item, &row) : PGCN_ERR_MEMORY;
    if (status == PGCN_OK) {
        memcpy(probability, s.loss.probability + row * classes,
               (size_t)classes * sizeof *probability);
        out->logit = pgcn_i_explain_logit(&e->out, s.runner.logits->data + row * classes);
        out->probability = probability;
        out->predicted = pgcn_i_best_class(probability, classes);
    }
    pgcn_i_session_close(&s);
    return status;
}

/* Fills `out`, whose nodes are there. */
static pgcn_status remove_links(pgcn_i_explained *e, pgcn_removal *out, uint8_t *cut) {
    memset(cut, 0, (size_t)e->data->graph->n);
    for (int64_t i = 0; i < out->nodes; i++) cut[out->node[i]] = 1;
    out->links = count_links(e->data->graph, cut);
    if (e->out.masked) return predict(e, e->data, cut, out);
    pgcn_graph graph;
    pgcn_dataset without = *e->data; /* all but the graph is borrowed */
    pgcn_status status = graph_without(e->data->graph, cut, &graph);
    without.graph = &graph;
    if (status == PGCN_OK) status = predict(e, &without, NULL, out);
    pgcn_i_arena_free(&graph.arena);
    return status;
}

static bool has_links(const pgcn_graph *graph, pgcn_node node) {
    for (int64_t e = graph->offset[node]; e < graph->offset[node + 1]; e++)
        if (graph->neighbour[e] != node) return true;
    return false;
}

/* The strongest nodes that have links, but for the explained one. */
static int64_t choose(const pgcn_i_explained *e, int64_t most, pgcn_node *node) {
    int64_t count = 0;
    for (int64_t i = 0; i < e->out.nodes && count < most; i++) {
        pgcn_node u = e->out.node[i].node;
        if (!e->out.is_graph && u == e->out.item) continue;
        if (has_links(e->data->graph, u) || e->data->graph->directed) node[count++] = u;
    }
    return count;
}

pgcn_status pgcn_i_explain_removals(pgcn_i_explained *e, int most) {
    const pgcn_graph *graph = e->data->graph;
    if (most > e->out.nodes) most = (int)e->out.nodes;
    pgcn_node *node = PGCN_I_ARRAY(&e->arena, pgcn_node, most + 1);
    pgcn_removal *removal = PGCN_I_ARRAY(&e->arena, pgcn_removal, most + 2);
    uint8_t *cut = PGCN_I_ARRAY(&e->arena, uint8_t, graph->n);
    if (!node || !removal || !cut) return PGCN_ERR_MEMORY;
    int64_t chosen = choose(e, most, node);
    int count = 0;
    for (int64_t i = 0; i < chosen; i++)
        removal[count++] = (pgcn_removal){1, &node[i], 0, 0, 0, NULL};
    if (chosen > 1) removal[count++] = (pgcn_removal){chosen, node, 0, 0, 0, NULL};
    node[most] = (pgcn_node)e->out.item;
    if (!e->out.is_graph && (has_links(graph, node[most]) || graph->directed))
        removal[count++] = (pgcn_removal){1, &node[most], 0, 0, 0, NULL};
    for (int i = 0; i < count; i++) PGCN_TRY(remove_links(e, &removal[i], cut));
    e->out.removals = count;
    e->out.removal = removal;
    return PGCN_OK;
}
