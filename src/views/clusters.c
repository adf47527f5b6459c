/* Clusters: one graph cut into parts, which training sees as a set of graphs (Cluster-GCN: Chiang et al., KDD 2019).
 *
 * Edges between parts are left out, once, and T is made of what is left; so a batch of parts is a batch of graphs
 * (batch.c), walks never leave their part, and every network takes it. Evaluation and inference see the whole graph.
 * Called by the trainer. */
#include "views/views.h"

static bool is_inside(const pgcn_i_clusters *clusters, int64_t row, pgcn_node column) {
    return clusters->part[row] == clusters->part[column];
}

/* The edges inside parts. */
static pgcn_status cut(pgcn_i_clusters *clusters, const pgcn_graph *graph) {
    pgcn_i_arena *arena = &clusters->arena;
    int64_t at = 0;
    for (int64_t r = 0; r < graph->n; r++)
        for (int64_t e = graph->offset[r]; e < graph->offset[r + 1]; e++)
            at += is_inside(clusters, r, graph->neighbour[e]);
    int64_t *offset = PGCN_I_ARRAY(arena, int64_t, graph->n + 1);
    pgcn_node *neighbour = PGCN_I_ARRAY(arena, pgcn_node, at);
    float *weight = graph->weight ? PGCN_I_ARRAY(arena, float, at) : NULL;
    if (!offset || !neighbour || (graph->weight && !weight)) return PGCN_ERR_MEMORY;
    clusters->graph = (pgcn_graph){.n = graph->n,
                                   .entries = at,
                                   .directed = graph->directed,
                                   .offset = offset,
                                   .neighbour = neighbour,
                                   .weight = weight};
    at = 0;
    for (int64_t r = 0; r < graph->n; r++) {
        for (int64_t e = graph->offset[r]; e < graph->offset[r + 1]; e++) {
            if (!is_inside(clusters, r, graph->neighbour[e])) continue;
            neighbour[at] = graph->neighbour[e];
            if (weight) weight[at] = graph->weight[e];
            at++;
        }
        offset[r + 1] = at;
    }
    return PGCN_OK;
}

/* Everything else is that of the data; nothing of the copy is freed with it. */
static pgcn_status fill(pgcn_i_clusters *clusters, const pgcn_dataset *data,
                        const pgcn_config *config) {
    int parts = config->parts;
    pgcn_i_partitioner by =
        config->parts_by == PGCN_PARTS_METIS ? PGCN_I_PARTS_METIS : PGCN_I_PARTS_BUILTIN;
    clusters->part = PGCN_I_ARRAY(&clusters->arena, int32_t, data->graph->n);
    if (!clusters->part) return PGCN_ERR_MEMORY;
    PGCN_TRY(pgcn_i_graph_partition(data->graph, NULL, (pgcn_i_parts){.count = parts}, by,
                                    clusters->part));
    PGCN_TRY(cut(clusters, data->graph));
    clusters->data = *data;
    clusters->data.graph = &clusters->graph;
    clusters->data.from.graph_of = clusters->part;
    clusters->data.from.graphs = clusters->data.info.graphs = parts;
    return PGCN_OK;
}

pgcn_status pgcn_i_clusters_new(const pgcn_dataset *data, const pgcn_config *config,
                                pgcn_i_clusters **out) {
    pgcn_i_clusters *clusters = pgcn_i_alloc(1, sizeof *clusters);
    if (!clusters) return PGCN_ERR_MEMORY;
    pgcn_status status = fill(clusters, data, config);
    if (status == PGCN_OK)
        status = pgcn_i_spatial_of(&clusters->spatial, &clusters->data, config, PGCN_I_READS_T);
    if (status != PGCN_OK) {
        pgcn_i_clusters_free(clusters);
        return status;
    }
    *out = clusters;
    return PGCN_OK;
}

void pgcn_i_clusters_free(pgcn_i_clusters *clusters) {
    if (!clusters) return;
    pgcn_i_spatial_free(&clusters->spatial);
    pgcn_i_arena_free(&clusters->arena);
    pgcn_i_free(clusters);
}
