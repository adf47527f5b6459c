/* What a network needs of the graph: the walker, the exact operator and the degrees that scale
 * visits; of the graph as it is or with reversed edges. Made once per run by the trainer and
 * by inference. */
#include "views/views.h"

/* T + share diag(T): what a node has of itself counts more (diagonal enhancement of Cluster-GCN). */
static void enhance(pgcn_i_csr *t, double share) {
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t e = t->offset[r]; e < t->offset[r + 1]; e++)
            if (t->column[e] == r) t->value[e] *= (float)(1 + share);
}

/* T and its transpose, or only the degrees that scale visits. */
static pgcn_status make_operator(pgcn_i_spatial *spatial, const pgcn_graph *graph,
                                 const pgcn_config *config, pgcn_i_spatial_use use) {
    /* batches of nodes transpose what they have drawn */
    bool back = config->train_form == PGCN_FORM_EXACT &&
                (config->batch_by != PGCN_BATCH_NODES || pgcn_i_network_of(config)->reads_both);
    pgcn_i_transition_opts opts = {.self_loops = config->self_loops,
                                   .weighted = config->walk != PGCN_WALK_UNIFORM,
                                   .scaling = config->scaling,
                                   .empty_rows = pgcn_i_network_of(config)->empty_rows,
                                   .borrows = true,
                                   .drawn_from = use == PGCN_I_DRAWS_ROWS && config->diagonal <= 0};
    if (use == PGCN_I_WALKS)
        return pgcn_i_graph_degrees(graph, opts, &spatial->arena, &spatial->degree);
    PGCN_TRY(pgcn_i_graph_transition(graph, opts, &spatial->arena, &spatial->exact,
                                     back ? &spatial->exact_t : NULL, &spatial->degree));
    if (config->diagonal > 0 && !pgcn_i_network_of(config)->walks) {
        enhance(&spatial->exact, config->diagonal);
        if (back) enhance(&spatial->exact_t, config->diagonal);
    }
    return PGCN_OK;
}

static pgcn_status init(pgcn_i_spatial *spatial, const pgcn_graph *graph, const pgcn_config *config,
                        pgcn_i_spatial_use use) {
    *spatial =
        (pgcn_i_spatial){.arena = {.read_at_random = true}, /* by batches of nodes */
                         .has_exact = use != PGCN_I_WALKS && config->walk != PGCN_WALK_NODE2VEC};
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    opts.walk = config->walk;
    opts.length = config->path_length;
    opts.paths = config->paths;
    opts.return_p = (float)config->return_p;
    opts.inout_q = (float)config->inout_q;
    opts.may_stay = config->self_loops;
    pgcn_status status = PGCN_OK;
    if (config->direction == PGCN_DIRECTION_BACKWARD && graph->directed) {
        status = pgcn_i_graph_reversed(graph, &spatial->reversed);
        graph = spatial->reversed;
    }
    if (status == PGCN_OK) status = pgcn_i_walker_init(&spatial->walker, graph, &opts);
    if (status == PGCN_OK) status = make_operator(spatial, graph, config, use);
    if (status != PGCN_OK) {
        pgcn_i_spatial_free(spatial);
        return status;
    }
    spatial->symmetric = !graph->directed && config->scaling == PGCN_SCALING_SYMMETRIC;
    spatial->reads_both = pgcn_i_network_of(config)->reads_both && !spatial->symmetric;
    spatial->visit_degree = config->scaling == PGCN_SCALING_SYMMETRIC ? spatial->degree : NULL;
    return PGCN_OK;
}

pgcn_status pgcn_i_spatial_init(pgcn_i_spatial *spatial, const pgcn_graph *graph,
                                const pgcn_config *config) {
    return init(spatial, graph, config, PGCN_I_READS_T);
}

pgcn_status pgcn_i_spatial_of(pgcn_i_spatial *spatial, const pgcn_dataset *data,
                              const pgcn_config *config, pgcn_i_spatial_use use) {
    PGCN_TRY(init(spatial, data->graph, config, use));
    if (!data->from.graph_of) return PGCN_OK;
    return pgcn_i_walker_by_graph(&spatial->walker, data->from.graph_of, data->from.graphs);
}

void pgcn_i_spatial_free(pgcn_i_spatial *spatial) {
    pgcn_i_walker_free(&spatial->walker);
    pgcn_graph_free(spatial->reversed);
    pgcn_i_arena_free(&spatial->arena);
    *spatial = (pgcn_i_spatial){0};
}

pgcn_i_transition pgcn_i_spatial_transition(const pgcn_i_spatial *spatial, int samples) {
    return (pgcn_i_transition){.n = spatial->walker.graph->n,
                               .samples = samples,
                               .exact = &spatial->exact,
                               .exact_t = &spatial->exact_t,
                               .symmetric = spatial->symmetric};
}

int64_t pgcn_i_spatial_bytes(const pgcn_i_spatial *spatial) {
    return spatial->arena.bytes + spatial->walker.arena.bytes +
           (spatial->reversed ? spatial->reversed->arena.bytes : 0);
}
