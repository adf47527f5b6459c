/* What a network needs of the graph: the walker, the exact operator and the degrees that scale
 * visits; of the graph as it is, of the graph with its edges turned round, or of both. Made once per
 * run by the trainer and by inference. */
#include "train/train.h"

/* Of one direction. */
static pgcn_status init_direction(pgcn_i_spatial *spatial, const pgcn_graph *graph, bool turned,
                                  const pgcn_config *config) {
    *spatial = (pgcn_i_spatial){.has_exact = config->walk != PGCN_WALK_NODE2VEC};
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    opts.walk = config->walk;
    opts.length = config->path_length;
    opts.paths = config->paths;
    opts.return_p = (float)config->return_p;
    opts.inout_q = (float)config->inout_q;
    opts.may_stay = config->self_loops;
    bool symmetric = config->scaling == PGCN_SCALING_SYMMETRIC;
    bool back = config->train_form == PGCN_FORM_EXACT;
    if (turned && graph->directed) {
        PGCN_TRY(pgcn_i_graph_reversed(graph, &spatial->reversed));
        graph = spatial->reversed;
    }
    PGCN_TRY(pgcn_i_walker_init(&spatial->walker, graph, &opts));
    PGCN_TRY(pgcn_i_graph_operator(graph, config->self_loops, config->walk != PGCN_WALK_UNIFORM,
                                   symmetric, &spatial->arena, &spatial->exact,
                                   back ? &spatial->exact_t : NULL, &spatial->degree));
    spatial->visit_degree = symmetric ? spatial->degree : NULL;
    return PGCN_OK;
}

static pgcn_status init_against(pgcn_i_spatial *spatial, const pgcn_graph *graph,
                                const pgcn_config *config) {
    pgcn_i_spatial *against = spatial->against = pgcn_i_alloc(1, sizeof *against);
    if (!against) return PGCN_ERR_MEMORY;
    PGCN_TRY(init_direction(against, graph, true, config));
    spatial->walker.against = &against->walker;
    spatial->walker.against_degree = against->visit_degree;
    return PGCN_OK;
}

pgcn_status pgcn_i_spatial_init(pgcn_i_spatial *spatial, const pgcn_graph *graph,
                                const pgcn_config *config) {
    pgcn_status status =
        init_direction(spatial, graph, config->direction == PGCN_DIRECTION_BACKWARD, config);
    if (status == PGCN_OK && pgcn_i_pathgcn_walks_both_ways(config))
        status = init_against(spatial, graph, config);
    if (status != PGCN_OK) pgcn_i_spatial_free(spatial);
    return status;
}

void pgcn_i_spatial_free(pgcn_i_spatial *spatial) {
    if (spatial->against) pgcn_i_spatial_free(spatial->against);
    pgcn_i_free(spatial->against);
    pgcn_i_walker_free(&spatial->walker);
    pgcn_graph_free(spatial->reversed);
    pgcn_i_arena_free(&spatial->arena);
    *spatial = (pgcn_i_spatial){0};
}

pgcn_i_operator pgcn_i_spatial_operator(const pgcn_i_spatial *spatial, int samples) {
    pgcn_i_operator operator= {.n = spatial->walker.graph->n,
                               .samples = samples,
                               .exact = &spatial->exact,
                               .exact_t = &spatial->exact_t};
    if (spatial->against) {
        operator.against = & spatial->against->exact;
        operator.against_t = & spatial->against->exact_t;
    }
    return operator;
}

int64_t pgcn_i_spatial_bytes(const pgcn_i_spatial *spatial) {
    return spatial->arena.bytes + spatial->walker.arena.bytes +
           (spatial->reversed ? spatial->reversed->arena.bytes : 0) +
           (spatial->against ? pgcn_i_spatial_bytes(spatial->against) : 0);
}
