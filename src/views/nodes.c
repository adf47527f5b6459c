/* A batch of nodes: some nodes of one graph, and the rows that they need, layer by layer (pgcn_i_part of nn).
 *
 * Level 0 are the nodes that were chosen. Every level has lists that lead from its rows to those of the next: walks
 * that are drawn for these rows only, or their rows of T, all of their entries or some that are drawn. What is drawn for
 * a node depends on the node, its sample and the step, and not on the batch (neighbours: nodes_pick.c). Numbers for rows
 * come from paths/part.c, features from nodes_rows.c. Who draws ahead of need may keep what was drawn. Everything is
 * allocated when it is opened, for the most rows that there may be; what is never reached costs address space and no
 * memory. Called by views.c.
 *
 * On several ranks there are two ways. In training the rows of every level are divided among them by groups, as the tape
 * goes through them (share.c of nn): a rank draws lists for its own rows, and has features and transposes of these. Ranks
 * tell each other which rows there are (paths/part.c), and trade entries of transposes (paths/part_divide.c). Where nothing
 * is added up over rows, in evaluation and inference, each rank has a share of the chosen nodes, and all that they need:
 * a row that two ranks need is computed by both, and nothing is sent. */
#include "views/nodes.h"

#include <math.h>
#include <string.h>

/* ---- how many rows there may be ------------------------------------------------------------------ */

int64_t pgcn_i_longest_row(const int64_t *offset, int64_t n) {
    int64_t most = 0;
    for (int64_t r = 0; r < n; r++)
        if (offset[r + 1] - offset[r] > most) most = offset[r + 1] - offset[r];
    return most;
}

int pgcn_i_count_at(const char *text, int turn) {
    int number = 0;
    for (int l = 0; text && *text >= '0' && *text <= '9' && l <= turn; l++) {
        number = 0;
        for (; *text >= '0' && *text <= '9'; text++) number = 10 * number + (*text - '0');
        if (*text == ',') text++;
    }
    return number;
}

static int paths_of(const pgcn_i_nodes *nodes, int l) {
    int paths = pgcn_i_count_at(nodes->opts.batch_paths, l), p = nodes->opts.spatial->walker.p;
    return paths > 0 && paths < p ? paths : p;
}

/* Most rows of every level, and entries of a list of it. */
static void bound_rows(pgcn_i_nodes *nodes) {
    const pgcn_i_spatial *spatial = nodes->opts.spatial;
    const pgcn_i_csr *exact = &spatial->exact;
    int64_t n = spatial->walker.graph->n, all = (n + nodes->opts.guests) * nodes->opts.samples;
    int64_t widest = nodes->opts.sampled ? 0 : pgcn_i_longest_row(exact->offset, n);
    nodes->rows[0] = pgcn_i_least(all, nodes->opts.most * nodes->opts.samples);
    for (int l = 0; l < nodes->levels; l++) {
        pgcn_i_level *at = &nodes->level[l];
        int64_t each = widest, lists = 1,
                whole = nodes->opts.sampled ? INT64_MAX : exact->offset[n];
        at->neighbours = nodes->opts.sampled ? 0 : pgcn_i_count_at(nodes->opts.neighbours, l);
        /* a node's own entry of T is always kept */
        if (at->neighbours > 0) each = pgcn_i_least(each, at->neighbours + 1);
        if (nodes->opts.sampled) {
            each = paths_of(nodes, l);
            lists = spatial->walker.k - 1;
        } else if (whole < INT64_MAX / nodes->opts.samples) {
            whole *= nodes->opts.samples;
        }
        at->entries = pgcn_i_least(nodes->rows[l] * each, whole) + nodes->opts.guest_edges;
        nodes->links[l] = at->entries;
        nodes->rows[l + 1] = pgcn_i_least(all, nodes->rows[l] + lists * at->entries);
    }
}

/* ---- memory -------------------------------------------------------------------------------------- */

static pgcn_status alloc_csr(pgcn_i_arena *arena, int64_t rows, int64_t entries, pgcn_i_csr *out) {
    return pgcn_i_csr_alloc(arena, rows, entries, true, out);
}

static pgcn_status open_walks(pgcn_i_nodes *nodes, int l) {
    pgcn_i_level *at = &nodes->level[l];
    const pgcn_i_walker *walker = &nodes->opts.spatial->walker;
    int hops = walker->k - 1;
    at->subset.paths = paths_of(nodes, l);
    PGCN_TRY(pgcn_i_visits_new(walker, &at->subset, 1, false, &at->walks));
    at->lists = (pgcn_i_visits){.samples = 1, .k = walker->k, .p = at->walks->p};
    at->lists.hop = at->walks->hop;
    if (!nodes->opts.training) return PGCN_OK;
    at->lists.hop_t = PGCN_I_ARRAY(&nodes->arena, pgcn_i_csr, hops);
    if (!at->lists.hop_t) return PGCN_ERR_MEMORY;
    for (int i = 0; i < hops; i++)
        PGCN_TRY(alloc_csr(&nodes->arena, nodes->rows[l + 1], at->entries, &at->lists.hop_t[i]));
    return PGCN_OK;
}

static pgcn_status open_neighbours(pgcn_i_nodes *nodes, int l) {
    pgcn_i_level *at = &nodes->level[l];
    if (!nodes->shares)
        PGCN_TRY(alloc_csr(&nodes->arena, nodes->rows[l], at->entries, &at->list));
    else if (l == nodes->levels - 1)
        PGCN_TRY(alloc_csr(&nodes->arena, nodes->rows[l], at->entries, &nodes->shared));
    at->lists = (pgcn_i_visits){.samples = 1, .k = 2, .p = 1, .hop = &at->list};
    if (nodes->opts.links && nodes->opts.training) {
        at->link_id = PGCN_I_ARRAY(&nodes->arena, int64_t, at->entries);
        if (!at->link_id) return PGCN_ERR_MEMORY;
    }
    if (!nodes->opts.training) return PGCN_OK;
    PGCN_TRY(alloc_csr(&nodes->arena, nodes->rows[l + 1], at->entries, &at->list_t));
    at->lists.hop_t = &at->list_t;
    if (!nodes->opts.links) return PGCN_OK;
    at->link_t = PGCN_I_ARRAY(&nodes->arena, int64_t, at->entries);
    return at->link_t ? PGCN_OK : PGCN_ERR_MEMORY;
}

static pgcn_status open_levels(pgcn_i_nodes *nodes) {
    /* what is exact in inference is a path convolution by lists in training: T itself, as the walks of one step */
    bool by_lists = nodes->opts.sampled || nodes->opts.training;
    for (int l = 0; l < nodes->levels; l++) {
        pgcn_i_level *at = &nodes->level[l];
        at->subset = (pgcn_i_subset){.most = nodes->rows[l],
                                     .n = nodes->rows[l],
                                     .node = nodes->numbering.node,
                                     .run = nodes->numbering.run,
                                     .most_runs = nodes->numbering.most_runs,
                                     .inverse_root = nodes->inverse_root};
        PGCN_TRY(nodes->opts.sampled ? open_walks(nodes, l) : open_neighbours(nodes, l));
        nodes->transitions[l] = (pgcn_i_transition){.n = nodes->rows[l],
                                                    .samples = 1,
                                                    .visits = by_lists ? &at->lists : NULL,
                                                    .symmetric = nodes->opts.spatial->symmetric,
                                                    .exact = &at->list,
                                                    .exact_t = &at->list_t,
                                                    .link_t = at->link_t,
                                                    .link_id = at->link_id};
    }
    for (int l = 0; l < nodes->levels && nodes->shares; l++) nodes->level[l].list = nodes->shared;
    /* what takes no step, as a path of one node, leads nowhere from the last level */
    nodes->transitions[nodes->levels] = (pgcn_i_transition){.n = 1, .samples = 1};
    return PGCN_OK;
}

static pgcn_status open_target(pgcn_i_nodes *nodes) {
    const pgcn_dataset *data = nodes->opts.data;
    bool several = data->task == PGCN_TASK_MULTILABEL;
    int64_t most = nodes->opts.most;
    nodes->node = PGCN_I_ARRAY(&nodes->arena, pgcn_node, most);
    nodes->label = PGCN_I_ARRAY(&nodes->arena, int32_t, most);
    nodes->mask = PGCN_I_ARRAY(&nodes->arena, uint8_t, most);
    if (several) nodes->labels = PGCN_I_ARRAY(&nodes->arena, uint8_t, most * data->classes);
    return nodes->node && nodes->label && nodes->mask && (!several || nodes->labels)
               ? PGCN_OK
               : PGCN_ERR_MEMORY;
}

static pgcn_status open_roots(pgcn_i_nodes *nodes) {
    const float *degree = nodes->opts.spatial->visit_degree;
    int64_t n = nodes->opts.spatial->walker.graph->n;
    if (!nodes->opts.sampled) return PGCN_OK;
    nodes->inverse_root = PGCN_I_ARRAY(&nodes->arena, float, n + nodes->opts.guests);
    if (!nodes->inverse_root) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) nodes->inverse_root[i] = degree ? 1 / sqrtf(degree[i]) : 1;
    return PGCN_OK;
}

static bool draws_links(const pgcn_i_nodes *nodes) {
    bool all = !nodes->opts.sampled;
    for (int l = 0; l < nodes->levels; l++) all = all && nodes->level[l].neighbours > 0;
    return all;
}

static pgcn_status open_all(pgcn_i_nodes *nodes) {
    pgcn_i_arena *arena = &nodes->arena;
    int64_t most = 0, n = nodes->opts.spatial->walker.graph->n + nodes->opts.guests;
    int lists = nodes->opts.sampled ? nodes->opts.spatial->walker.k - 1 : 1;
    nodes->rows = PGCN_I_ARRAY(arena, int64_t, nodes->levels + 1);
    nodes->links = PGCN_I_ARRAY(arena, int64_t, nodes->levels + 1);
    nodes->most = PGCN_I_ARRAY(arena, int64_t, nodes->levels + 1);
    nodes->level = PGCN_I_ARRAY(arena, pgcn_i_level, nodes->levels);
    nodes->transitions = PGCN_I_ARRAY(arena, pgcn_i_transition, nodes->levels + 1);
    if (!nodes->rows || !nodes->links || !nodes->most || !nodes->level || !nodes->transitions)
        return PGCN_ERR_MEMORY;
    bound_rows(nodes);
    for (int l = 0; l <= nodes->levels; l++) nodes->most[l] = nodes->rows[l];
    for (int l = 0; l < nodes->levels; l++)
        if (nodes->level[l].entries > most) most = nodes->level[l].entries;
    PGCN_TRY(pgcn_i_numbering_init(&nodes->numbering,
                                   (pgcn_i_numbering_opts){.nodes = n,
                                                           .rows = nodes->rows[nodes->levels],
                                                           .entries = most * lists,
                                                           .samples = nodes->opts.samples,
                                                           .levels = nodes->levels}));
    if (nodes->opts.training)
        PGCN_TRY(pgcn_i_turner_init(&nodes->turner, nodes->rows[nodes->levels], most,
                                    nodes->opts.links && !nodes->opts.sampled));
    PGCN_TRY(open_roots(nodes));
    PGCN_TRY(open_levels(nodes));
    PGCN_TRY(pgcn_i_nodes_open_input(nodes));
    PGCN_TRY(open_target(nodes));
    nodes->part =
        (pgcn_i_part){.levels = nodes->levels,
                      .rows = {[PGCN_I_NODES] = nodes->rows, [PGCN_I_LINKS] = nodes->links},
                      .transitions = nodes->transitions,
                      .nodes = n,
                      .id = nodes->numbering.id,
                      .few_links = draws_links(nodes)};
    return PGCN_OK;
}

pgcn_status pgcn_i_nodes_new(const pgcn_i_nodes_opts *opts, pgcn_i_nodes **out) {
    pgcn_i_nodes *nodes = pgcn_i_alloc(1, sizeof *nodes);
    if (!nodes) return PGCN_ERR_MEMORY;
    nodes->opts = *opts;
    nodes->levels = opts->levels;
    nodes->shares = !opts->sampled && !opts->training && pgcn_i_count_at(opts->neighbours, 0) == 0;
    pgcn_status status = open_all(nodes);
    if (status != PGCN_OK) {
        pgcn_i_nodes_free(nodes);
        return status;
    }
    *out = nodes;
    return PGCN_OK;
}

void pgcn_i_nodes_free(pgcn_i_nodes *nodes) {
    if (!nodes) return;
    for (int l = 0; nodes->level && l < nodes->levels; l++)
        pgcn_i_visits_free(nodes->level[l].walks);
    pgcn_i_numbering_free(&nodes->numbering);
    pgcn_i_turner_free(&nodes->turner);
    pgcn_i_part_turner_free(nodes->part_turner);
    pgcn_i_nodes_close_input(nodes);
    pgcn_i_arena_free(&nodes->arena);
    pgcn_i_free(nodes);
}

/* ---- of several ranks ------------------------------------------------------------------------------ */

pgcn_status pgcn_i_nodes_divide(pgcn_i_nodes *nodes, pgcn_i_comm *comm, int groups) {
    int lists = nodes->opts.sampled ? nodes->opts.spatial->walker.k - 1 : 1;
    int64_t entries = 0;
    for (int l = 0; l < nodes->levels; l++)
        if (nodes->level[l].entries > entries) entries = nodes->level[l].entries;
    nodes->own_run = PGCN_I_ARRAY(&nodes->arena, pgcn_i_stretch, nodes->numbering.most_runs);
    if (!nodes->own_run) return PGCN_ERR_MEMORY;
    PGCN_TRY(pgcn_i_numbering_divide(&nodes->numbering, comm));
    if (lists > 0 && nodes->levels > 0)
        PGCN_TRY(pgcn_i_part_turner_new(comm, groups, nodes->most[nodes->levels], lists, entries,
                                        &nodes->part_turner));
    for (int l = 0; l < nodes->levels; l++) nodes->level[l].subset.run = nodes->own_run;
    nodes->groups = groups;
    nodes->divided = comm;
    return PGCN_OK;
}

void pgcn_i_nodes_take(pgcn_i_nodes *nodes, const pgcn_i_comm *comm) {
    nodes->taken = comm;
}

pgcn_i_range pgcn_i_nodes_own(const pgcn_i_nodes *nodes, int l) {
    int64_t rows = nodes->rows[l];
    if (!nodes->divided) return (pgcn_i_range){0, rows};
    return pgcn_i_groups_share(pgcn_i_groups_of(rows, nodes->groups), nodes->divided);
}

/* The runs of all rows so far, of which `own` are this rank's. */
static void clip_runs(const pgcn_i_nodes *nodes, pgcn_i_range own, pgcn_i_subset *subset) {
    const pgcn_i_numbering *numbering = &nodes->numbering;
    subset->runs = nodes->divided ? 0 : numbering->runs;
    for (int i = 0; nodes->divided && i < numbering->runs; i++) {
        pgcn_i_stretch run = numbering->run[i];
        if (run.begin < own.begin) run.begin = own.begin;
        if (run.end > own.end) run.end = own.end;
        if (run.begin < run.end) nodes->own_run[subset->runs++] = run;
    }
}

const pgcn_i_part *pgcn_i_nodes_part(const pgcn_i_nodes *nodes) {
    return &nodes->part;
}
const pgcn_i_input *pgcn_i_nodes_input(const pgcn_i_nodes *nodes) {
    return &nodes->input;
}

int64_t pgcn_i_nodes_most(const pgcn_i_nodes *nodes, int l) {
    return nodes->most[l];
}

/* Lists of a level and their transposes: offsets, and columns and values of entries. */
static int64_t level_bytes(const pgcn_i_nodes *nodes, int l, int64_t *widest) {
    const pgcn_i_level *at = &nodes->level[l];
    const pgcn_i_range own = pgcn_i_nodes_own(nodes, l), own_next = pgcn_i_nodes_own(nodes, l + 1);
    int64_t rows = own.end - own.begin, next = own_next.end - own_next.begin, bytes = 0;
    for (int i = 0; i < at->lists.k - 1; i++) {
        int64_t entries = at->lists.hop[i].offset[nodes->rows[l]];
        bytes += 8 * rows + 8 * entries + (at->lists.hop_t ? 8 * next + 8 * entries : 0);
        if (at->walks) bytes += 4 * rows * at->walks->p; /* visits before they are merged */
        if (at->link_id) bytes += 8 * entries;
        if (at->link_t) bytes += 8 * entries;
        if (entries > *widest) *widest = entries;
    }
    return bytes + 4 * rows;
}

int64_t pgcn_i_nodes_touched(const pgcn_i_nodes *nodes) {
    const pgcn_i_input *x = &nodes->input;
    int64_t n = nodes->numbering.nodes, rows = nodes->rows[nodes->levels], widest = 0;
    int64_t bytes = 4 * n * nodes->opts.samples + 12 * rows; /* places, nodes, ids, fresh ids */
    if (nodes->inverse_root) bytes += 4 * n;
    for (int l = 0; l < nodes->levels; l++) bytes += level_bytes(nodes, l, &widest);
    if (nodes->opts.training) bytes += (nodes->turner.entry ? 18 : 10) * widest;
    if (!x->dense) bytes += 16 * rows + 8 * x->nonzeros;
    if (nodes->x_row) bytes += 4 * rows + (4 + 4 * x->columns) * nodes->x_nodes;
    if (nodes->columns.offset) bytes += 12 * x->nonzeros + 16 * x->columns;
    return bytes;
}

int64_t pgcn_i_nodes_resident(const pgcn_i_nodes *nodes) {
    int64_t bytes = pgcn_i_arena_resident(&nodes->arena) +
                    pgcn_i_arena_resident(&nodes->numbering.arena) +
                    nodes->numbering.told.capacity + pgcn_i_arena_resident(&nodes->turner.arena) +
                    pgcn_i_part_turner_resident(nodes->part_turner),
            numbers;
    for (int l = 0; l < nodes->levels; l++)
        if (nodes->level[l].walks) bytes += pgcn_i_visits_resident(nodes->level[l].walks, &numbers);
    return bytes;
}

/* ---- choosing ------------------------------------------------------------------------------------ */

void pgcn_i_nodes_invite(pgcn_i_nodes *nodes, const pgcn_i_guests *guests,
                         const pgcn_i_input *features) {
    bool scaled = nodes->opts.spatial->visit_degree != NULL;
    nodes->guests = guests;
    nodes->guest_input = features;
    nodes->input.guest = features ? features->dense : NULL;
    nodes->input.guests_from = guests ? guests->nodes : 0;
    for (int l = 0; l < nodes->levels; l++) nodes->level[l].subset.guests = guests;
    for (int64_t i = 0; guests && nodes->inverse_root && i < guests->count; i++)
        nodes->inverse_root[guests->nodes + i] = scaled ? 1 / sqrtf(guests->degree[i]) : 1;
}

void pgcn_i_nodes_choose(pgcn_i_nodes *nodes, const pgcn_node *node, int64_t count) {
    const pgcn_dataset *data = nodes->opts.data;
    int64_t classes = data->classes;
    nodes->count = count;
    memcpy(nodes->node, node, (size_t)count * sizeof *node);
    if (nodes->guests) return; /* who have no labels */
    for (int64_t i = 0; i < count && data->label; i++) nodes->label[i] = data->label[node[i]];
    for (int64_t i = 0; i < count && nodes->labels && data->from.labels; i++)
        memcpy(nodes->labels + i * classes, data->from.labels + node[i] * classes, (size_t)classes);
}

int64_t pgcn_i_nodes_items(const pgcn_i_nodes *nodes, const pgcn_node **number) {
    *number = nodes->node;
    return nodes->count;
}

pgcn_i_target pgcn_i_nodes_target(pgcn_i_nodes *nodes, const uint8_t *mask) {
    pgcn_i_target target = {.label = nodes->labels ? NULL : nodes->label, .labels = nodes->labels};
    for (int64_t i = 0; i < nodes->count; i++) {
        nodes->mask[i] = mask[nodes->node[i]] &&
                         pgcn_i_source_has_label(&nodes->opts.data->from, nodes->node[i]);
        target.masked += nodes->mask[i];
    }
    target.mask = nodes->mask;
    return target;
}

/* ---- drawing ------------------------------------------------------------------------------------- */

/* The lists of a level have as many rows as it has. */
static void settle_level(pgcn_i_nodes *nodes, int l) {
    pgcn_i_level *at = &nodes->level[l];
    nodes->transitions[l].n = at->lists.n = at->lists.rows = nodes->rows[l];
}

static void draw_level(pgcn_i_nodes *nodes, pgcn_i_pool *pool, int l, pgcn_i_path_draw draw) {
    pgcn_i_level *at = &nodes->level[l];
    const pgcn_i_spatial *spatial = nodes->opts.spatial;
    int lists = at->lists.k - 1;
    pgcn_i_range own = pgcn_i_nodes_own(nodes, l);
    if (nodes->shares && l > 0) own.begin = nodes->rows[l - 1];
    at->subset.n = nodes->rows[l];
    clip_runs(nodes, own, &at->subset);
    if (at->walks)
        pgcn_i_visits_sample(at->walks, &spatial->walker, pool, draw, spatial->visit_degree);
    else
        pgcn_i_nodes_pick(nodes, pool, l, own, draw);
    /* entries of this rank end where its rows do, and for whoever counts them at the end of all rows */
    for (int i = 0; i < lists && nodes->divided; i++) {
        int64_t *offset = at->lists.hop[i].offset;
        offset[at->walks ? own.end : nodes->rows[l]] = offset[at->walks ? nodes->rows[l] : own.end];
    }
    pgcn_i_numbering_grow(&nodes->numbering, pool, at->lists.hop, lists, own);
    nodes->rows[l + 1] = nodes->numbering.rows;
    settle_level(nodes, l);
}

/* For the backward pass. */
static void turn_levels(pgcn_i_nodes *nodes, pgcn_i_pool *pool) {
    for (int l = 0; l < nodes->levels; l++) {
        pgcn_i_level *at = &nodes->level[l];
        if (nodes->divided && at->lists.k > 1)
            pgcn_i_part_turn(nodes->part_turner, pool, at->lists.hop, at->lists.k - 1,
                             pgcn_i_nodes_own(nodes, l), nodes->rows[l + 1], at->lists.hop_t);
        for (int i = 0; i < at->lists.k - 1 && at->lists.hop_t && !nodes->divided; i++)
            pgcn_i_turn(&nodes->turner, pool, &at->lists.hop[i], nodes->rows[l + 1],
                        &at->lists.hop_t[i], at->link_t);
    }
}

static void draw_levels(pgcn_i_nodes *nodes, pgcn_i_pool *pool, pgcn_i_path_draw draw) {
    pgcn_i_range own = {0, nodes->count};
    if (nodes->taken) {
        const pgcn_i_comm *comm = nodes->taken;
        own.begin = pgcn_i_first_taken(nodes->count, comm->rank, comm->size);
        own.end = pgcn_i_first_taken(nodes->count, comm->rank + 1, comm->size);
    }
    pgcn_i_numbering_begin(&nodes->numbering, nodes->node + own.begin, own.end - own.begin);
    nodes->rows[0] = nodes->numbering.rows;
    for (int l = 0; l < nodes->levels; l++) {
        int layer = nodes->opts.layers - 1 - l;
        draw.layer = nodes->opts.per_layer && layer > 0 ? layer : 0;
        draw_level(nodes, pool, l, draw);
    }
    nodes->input.n = nodes->rows[nodes->levels];
    pgcn_i_nodes_list(nodes);
}

/* ---- drawn before it is needed --------------------------------------------------------------------- */

/* Arrays one after the other, each from a multiple of 8 on: only counted, or copied to or from there. */
typedef struct passage {
    enum { COUNTED, KEPT, RECALLED } way;
    char *bytes;
    int64_t at;
} passage;

static void pass(passage *p, void *array, int64_t count, size_t size) {
    size_t bytes = (size_t)count * size;
    if (p->way == KEPT) memcpy(p->bytes + p->at, array, bytes);
    if (p->way == RECALLED) memcpy(array, p->bytes + p->at, bytes);
    p->at += (int64_t)((bytes + 7) / 8 * 8);
}

static void pass_level(pgcn_i_nodes *nodes, int l, passage *p) {
    pgcn_i_level *at = &nodes->level[l];
    int64_t rows = nodes->rows[l];
    for (int i = 0; i < at->lists.k - 1; i++) {
        pgcn_i_csr *list = &at->lists.hop[i];
        list->rows = rows;
        pass(p, list->offset, rows + 1, sizeof *list->offset);
        pass(p, list->column, list->offset[rows], sizeof *list->column);
        pass(p, list->value, list->offset[rows], sizeof *list->value);
    }
    if (at->link_id) pass(p, at->link_id, nodes->links[l], sizeof *at->link_id);
}

/* Everything that draw_levels() leaves for others, what tells lengths first. */
static void pass_all(pgcn_i_nodes *nodes, passage *p) {
    pgcn_i_numbering *numbering = &nodes->numbering;
    pass(p, nodes->rows, nodes->levels + 1, sizeof *nodes->rows);
    pass(p, nodes->links, nodes->levels + 1, sizeof *nodes->links);
    pass(p, &numbering->runs, 1, sizeof numbering->runs);
    pass(p, numbering->run, numbering->runs, sizeof *numbering->run);
    numbering->rows = nodes->rows[nodes->levels];
    pass(p, numbering->node, numbering->rows, sizeof *numbering->node);
    for (int l = 0; l < nodes->levels; l++) pass_level(nodes, l, p);
    if (numbering->samples == 1) return; /* the rest follows */
    pass(p, numbering->id, numbering->rows, sizeof *numbering->id);
    pass(p, &nodes->x_nodes, 1, sizeof nodes->x_nodes);
    pass(p, nodes->x_node, nodes->x_nodes, sizeof *nodes->x_node);
    pass(p, nodes->x_place, numbering->rows, sizeof *nodes->x_place);
}

int64_t pgcn_i_nodes_drawn_bytes(pgcn_i_nodes *nodes) {
    passage p = {.way = COUNTED};
    if (!nodes->shares) pass_all(nodes, &p);
    return p.at;
}

pgcn_status pgcn_i_nodes_keep(pgcn_i_nodes *nodes, pgcn_i_path_draw draw, pgcn_i_drawn *out) {
    int64_t bytes = pgcn_i_nodes_drawn_bytes(nodes);
    if (bytes > out->room) {
        pgcn_i_drawn_free(out);
        out->bytes = pgcn_i_alloc(bytes + bytes / 8, 1);
        if (!out->bytes) return PGCN_ERR_MEMORY;
        out->room = bytes + bytes / 8;
    }
    out->draw = draw;
    out->count = nodes->shares ? 0 : nodes->count; /* lists that all levels share are not kept */
    if (!nodes->shares) pass_all(nodes, &(passage){.way = KEPT, .bytes = out->bytes});
    return PGCN_OK;
}

void pgcn_i_drawn_free(pgcn_i_drawn *drawn) {
    pgcn_i_free(drawn->bytes);
    *drawn = (pgcn_i_drawn){.count = 0};
}

/* False: it was kept for other nodes, or another draw. The nodes of the first level are the chosen ones. */
static bool recall(pgcn_i_nodes *nodes, pgcn_i_path_draw draw, const pgcn_i_drawn *kept) {
    pgcn_i_numbering *numbering = &nodes->numbering;
    if (!kept || kept->count == 0 || kept->count != nodes->count ||
        !pgcn_i_same_draw(kept->draw, draw))
        return false;
    pgcn_i_numbering_forget(numbering);
    pass_all(nodes, &(passage){.way = RECALLED, .bytes = kept->bytes});
    if (memcmp(numbering->node, nodes->node, (size_t)nodes->count * sizeof *nodes->node) != 0)
        return false;
    nodes->input.n = numbering->rows;
    for (int l = 0; l < nodes->levels; l++) settle_level(nodes, l);
    if (numbering->samples > 1) return true;
    memcpy(numbering->id, numbering->node, (size_t)numbering->rows * sizeof *numbering->id);
    pgcn_i_nodes_list(nodes);
    return true;
}

void pgcn_i_nodes_draw(pgcn_i_nodes *nodes, pgcn_i_pool *pool, pgcn_i_path_draw draw,
                       const pgcn_i_drawn *kept) {
    if (!recall(nodes, draw, kept)) draw_levels(nodes, pool, draw);
    turn_levels(nodes, pool);
    pgcn_i_nodes_gather(nodes);
}

void pgcn_i_nodes_reach(pgcn_i_nodes *nodes, pgcn_i_pool *pool, pgcn_i_path_draw draw) {
    draw_levels(nodes, pool, draw);
}

pgcn_i_wanted_rows pgcn_i_nodes_wanted(const pgcn_i_nodes *nodes) {
    return (pgcn_i_wanted_rows){nodes->x_node, nodes->x_nodes, nodes->x_row};
}
