/* What a network needs of the graph: the walker, the exact operator and the degrees that scale
 * visits. Made once per run by the trainer and by inference. */
#include "train/train.h"

pgcn_status pgcn_i_spatial_init(pgcn_i_spatial *spatial, const pgcn_graph *graph,
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
    pgcn_status status = pgcn_i_walker_init(&spatial->walker, graph, &opts);
    if (status == PGCN_OK)
        status = pgcn_i_graph_operator(graph, config->self_loops, config->walk != PGCN_WALK_UNIFORM,
                                       symmetric, &spatial->arena, &spatial->exact,
                                       back ? &spatial->exact_t : NULL, &spatial->degree);
    if (status != PGCN_OK) {
        pgcn_i_spatial_free(spatial);
        return status;
    }
    spatial->visit_degree = symmetric ? spatial->degree : NULL;
    return PGCN_OK;
}

void pgcn_i_spatial_free(pgcn_i_spatial *spatial) {
    pgcn_i_walker_free(&spatial->walker);
    pgcn_i_arena_free(&spatial->arena);
    *spatial = (pgcn_i_spatial){0};
}
