/* Views of a data set: the whole graph, or some graphs of a set, with the paths that were drawn for it.
 * Everything is allocated when it is opened, for the largest view. Called by the runner of train. */
#include "views/views.h"

/* ---- opening ------------------------------------------------------------------------------------- */

static pgcn_status open_batch(pgcn_i_views *views, const pgcn_i_views_opts *opts) {
    const pgcn_i_spatial *spatial = opts->spatial;
    bool back = !opts->sampled && (opts->training || spatial->reads_both);
    pgcn_i_whole whole = {.data = opts->data,
                          .input = opts->input,
                          .exact = opts->sampled ? NULL : &spatial->exact,
                          .exact_t = back ? &spatial->exact_t : NULL,
                          .degree = spatial->visit_degree};
    return pgcn_i_batch_new(&whole, opts->graphs, opts->samples, opts->training, &views->batch);
}

static pgcn_i_transition transition_of(const pgcn_i_views *views, int samples) {
    pgcn_i_transition transition = pgcn_i_spatial_transition(views->spatial, samples);
    if (views->batch) {
        transition.n = views->batch->subset.most;
        transition.exact = &views->batch->exact;
        transition.exact_t = &views->batch->exact_t;
    }
    if (views->edges) {
        transition.exact = pgcn_i_edges_kept(views->edges, false);
        transition.exact_t = pgcn_i_edges_kept(views->edges, true);
    }
    return transition;
}

static pgcn_status open_transitions(pgcn_i_views *views, const pgcn_i_views_opts *opts) {
    const pgcn_i_subset *subset = views->batch ? &views->batch->subset : NULL;
    int samplers = opts->sampled ? opts->per_layer ? opts->layers : 1 : 0;
    views->transitions = PGCN_I_ARRAY(&views->arena, pgcn_i_transition, opts->layers);
    views->visits = PGCN_I_ARRAY(&views->arena, pgcn_i_visits *, opts->layers);
    if (!views->transitions || !views->visits) return PGCN_ERR_MEMORY;
    for (; views->samplers < samplers; views->samplers++)
        PGCN_TRY(pgcn_i_visits_new(&opts->spatial->walker, subset, opts->samples, opts->training,
                                   &views->visits[views->samplers]));
    if (opts->edges) PGCN_TRY(pgcn_i_edges_new(opts->spatial, opts->edges, &views->edges));
    for (int l = 0; l < opts->layers; l++) {
        views->transitions[l] = transition_of(views, opts->samples);
        if (opts->sampled) views->transitions[l].visits = views->visits[opts->per_layer ? l : 0];
    }
    return opts->links && opts->training ? pgcn_i_links_open(views) : PGCN_OK;
}

/* The rows of the current view. */
static void count_rows(pgcn_i_views *views) {
    const pgcn_i_batch *batch = views->batch;
    const pgcn_i_csr *exact = views->samplers > 0 ? NULL : views->transitions[0].exact;
    int64_t n = batch ? batch->subset.n : views->data->graph->n;
    views->view.rows[PGCN_I_NODES] = n;
    views->view.rows[PGCN_I_GRAPHS] = batch ? batch->graphs : views->data->info.graphs;
    views->view.rows[PGCN_I_LINKS] = exact ? exact->offset[n] : 0;
}

/* Networks are recorded with the transition of level 0, and planned with that of their levels. */
static pgcn_status open_nodes(pgcn_i_views *views, const pgcn_i_views_opts *opts) {
    const pgcn_i_nodes_opts of_nodes = {.data = opts->data,
                                        .input = opts->input,
                                        .spatial = opts->spatial,
                                        .most = opts->nodes,
                                        .samples = opts->samples,
                                        .layers = opts->layers,
                                        .levels = opts->levels,
                                        .sampled = opts->sampled,
                                        .per_layer = opts->per_layer,
                                        .training = opts->training,
                                        .links = opts->links,
                                        .neighbours = opts->neighbours,
                                        .batch_paths = opts->batch_paths,
                                        .guests = opts->guests,
                                        .guest_edges = opts->guest_edges,
                                        .owners = opts->owners};
    PGCN_TRY(pgcn_i_nodes_new(&of_nodes, &views->nodes));
    views->transitions = PGCN_I_ARRAY(&views->arena, pgcn_i_transition, opts->layers);
    if (!views->transitions) return PGCN_ERR_MEMORY;
    const pgcn_i_part *part = pgcn_i_nodes_part(views->nodes);
    for (int l = 0; l < opts->layers && part->levels > 0; l++)
        views->transitions[l] = part->transitions[0];
    views->view = (pgcn_i_view){.samples = 1,
                                .groups = pgcn_i_source_groups(&opts->data->from),
                                .part = part,
                                .input = pgcn_i_nodes_input(views->nodes),
                                .transitions = views->transitions};
    return PGCN_OK;
}

pgcn_status pgcn_i_views_open(pgcn_i_views *views, const pgcn_i_views_opts *opts) {
    *views = (pgcn_i_views){.data = opts->data,
                            .spatial = opts->spatial,
                            .per_graph = opts->per_graph,
                            .layers = opts->layers};
    if (opts->nodes > 0) return open_nodes(views, opts);
    if (pgcn_i_in_batches(opts->data, opts->per_graph)) PGCN_TRY(open_batch(views, opts));
    PGCN_TRY(open_transitions(views, opts));
    const pgcn_i_batch *batch = views->batch;
    views->view =
        (pgcn_i_view){.samples = opts->samples,
                      .groups = pgcn_i_source_groups(&opts->data->from),
                      .input = batch ? &batch->input : opts->input,
                      .transitions = views->transitions,
                      .degree = batch && opts->spatial->visit_degree ? batch->degree
                                                                     : opts->spatial->visit_degree,
                      .segment = opts->per_graph ? batch->segment : NULL,
                      .graph_rows = batch ? batch->segment : NULL};
    count_rows(views);
    return PGCN_OK;
}

void pgcn_i_views_close(pgcn_i_views *views) {
    for (int l = 0; l < views->samplers; l++) pgcn_i_visits_free(views->visits[l]);
    pgcn_i_edges_free(views->edges);
    pgcn_i_batch_free(views->batch);
    pgcn_i_nodes_free(views->nodes);
    pgcn_i_arena_free(&views->arena);
    *views = (pgcn_i_views){.samplers = 0};
}

/* ---- of several ranks -------------------------------------------------------------------------------- */

/* Offsets and values are those of all rows, columns the numbers that this rank has for them. What it has of other rows is
 * address space. */
static pgcn_status divide_exact(pgcn_i_views *views, pgcn_i_pool *pool,
                                const pgcn_i_division *division) {
    const pgcn_i_csr *whole[2] = {views->transitions[0].exact, views->transitions[0].exact_t};
    const int lists = whole[1] && whole[1]->offset ? 2 : 1, samples = views->transitions[0].samples;
    const int64_t n = views->transitions[0].n;
    pgcn_node *column[2] = {NULL, NULL};
    if (2 * samples * n > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "%d samples of %lld nodes are more than %d rows, the most that ranks "
                           "share; use fewer samples",
                           samples, (long long)n, INT32_MAX / 2);
    for (int i = 0; i < lists; i++) {
        views->own[i] = *whole[i];
        column[i] = PGCN_I_ARRAY(&views->arena, pgcn_node, whole[i]->offset[n]);
        if (!column[i]) return PGCN_ERR_MEMORY;
    }
    PGCN_TRY(pgcn_i_links_divide(views, pgcn_i_division_own(division)));
    PGCN_TRY(pgcn_i_others_init(&views->others, &views->arena, division->comm->size, n));
    pgcn_i_numberer numberer;
    pgcn_status status = pgcn_i_numberer_init(&numberer, division, 1, n);
    if (status == PGCN_OK)
        pgcn_i_number_others(&numberer, pool, views->own, lists, column, samples * n,
                             &views->others);
    pgcn_i_numberer_free(&numberer);
    for (int i = 0; i < lists; i++) views->own[i].column = column[i];
    for (int l = 0; l < views->layers; l++) {
        views->transitions[l].whole = whole[0];
        views->transitions[l].exact = &views->own[0];
        if (lists == 2) views->transitions[l].exact_t = &views->own[1];
        views->transitions[l].others = pgcn_i_numbered(&views->others);
    }
    return status;
}

pgcn_status pgcn_i_views_divide(pgcn_i_views *views, pgcn_i_pool *pool,
                                const pgcn_i_division *division) {
    for (int l = 0; l < views->samplers; l++)
        PGCN_TRY(pgcn_i_visits_divide(views->visits[l], division));
    return views->samplers == 0 ? divide_exact(views, pool, division) : PGCN_OK;
}

/* ---- one view after the other ---------------------------------------------------------------------- */

void pgcn_i_views_choose(pgcn_i_views *views, const pgcn_node *chosen, int64_t count) {
    if (views->nodes) pgcn_i_nodes_choose(views->nodes, chosen, count);
    views->is_drawn = views->is_drawn && !views->nodes;
    if (!views->batch) return;
    pgcn_i_batch_gather(views->batch, chosen, count);
    count_rows(views);
    for (int l = 0; l < views->layers; l++) views->transitions[l].n = views->batch->subset.n;
    pgcn_i_links_number(views);
    views->is_drawn = false; /* the paths of other nodes */
}

void pgcn_i_views_draw(pgcn_i_views *views, pgcn_i_pool *pool, pgcn_i_path_draw draw) {
    if (views->is_drawn && pgcn_i_same_draw(views->drawn, draw)) return;
    for (int l = 0; l < views->samplers; l++) {
        draw.layer = l;
        pgcn_i_visits_sample(views->visits[l], &views->spatial->walker, pool, draw,
                             views->view.degree);
    }
    if (views->nodes) pgcn_i_nodes_draw(views->nodes, pool, draw, views->kept);
    views->kept = NULL;
    if (views->edges) pgcn_i_edges_draw(views->edges, pool, draw.seed, draw.step);
    views->drawn = draw;
    views->is_drawn = true;
}

/* ---- items ------------------------------------------------------------------------------------------- */

const pgcn_node *pgcn_i_views_rows(const pgcn_i_views *views, pgcn_i_space space) {
    const pgcn_i_batch *batch = views->batch;
    return !batch ? NULL : space == PGCN_I_GRAPHS ? batch->graph : batch->subset.node;
}

int64_t pgcn_i_views_items(const pgcn_i_views *views, const pgcn_node **number) {
    if (views->nodes) return pgcn_i_nodes_items(views->nodes, number);
    pgcn_i_space space = views->per_graph ? PGCN_I_GRAPHS : PGCN_I_NODES;
    *number = pgcn_i_views_rows(views, space);
    return views->view.rows[space];
}

pgcn_i_target pgcn_i_views_target(pgcn_i_views *views, const uint8_t *mask, int64_t masked) {
    if (views->batch) return pgcn_i_batch_mask(views->batch, mask);
    if (views->nodes) return pgcn_i_nodes_target(views->nodes, mask);
    return (pgcn_i_target){.label = views->data->label,
                           .labels = views->data->from.labels,
                           .mask = mask,
                           .masked = masked};
}
