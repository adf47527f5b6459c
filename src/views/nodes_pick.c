/* Neighbours of a batch of nodes: for every row of a level its row of T, all of its entries or some that are drawn. What
 * is drawn for a node depends on the node, its sample and the step, and not on the batch. Parallel over blocks of rows.
 * Called by nodes.c. */
#include "views/nodes.h"

#include <string.h>

typedef struct pick_job {
    const pgcn_i_nodes *nodes;
    pgcn_i_level *at;
    pgcn_i_path_draw draw;
    int64_t first; /* row */
    pgcn_i_blocks blocks;
} pick_job;

static int64_t degree_of(const pgcn_i_csr *t, pgcn_node node) {
    return t->offset[node + 1] - t->offset[node];
}

/* The matrix that has a node's row of T, and which row it is. */
static const pgcn_i_csr *matrix_of(const pgcn_i_nodes *nodes, pgcn_node *node) {
    const pgcn_i_guests *guests = nodes->guests;
    if (!guests || *node < guests->nodes) return &nodes->opts.spatial->exact;
    *node = (pgcn_node)(*node - guests->nodes);
    return &guests->edges;
}

/* Where the node's own entry is in its row, whose columns ascend; -1: it has none. */
static int64_t own_entry(const pgcn_i_csr *t, pgcn_node node) {
    int64_t low = t->offset[node], end = t->offset[node + 1], high = end;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (t->column[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && t->column[low] == node ? low - t->offset[node] : -1;
}

/* Entries of a row: all of them; or its own, if there is one, and `most` others. Guests keep all of theirs. */
static int64_t count_of(const pick_job *job, const pgcn_i_csr *t, pgcn_node node) {
    int64_t most = job->at->neighbours, degree = degree_of(t, node);
    if (most == 0 || degree <= most || t != &job->nodes->opts.spatial->exact) return degree;
    return pgcn_i_least(degree, most + (own_entry(t, node) >= 0));
}

static void count_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pick_job *job = context;
    int64_t end = job->first + pgcn_i_block_end(job->blocks, task);
    for (int64_t r = job->first + pgcn_i_block_begin(job->blocks, task); r < end; r++) {
        pgcn_node node = job->nodes->numbering.node[r];
        const pgcn_i_csr *t = matrix_of(job->nodes, &node);
        job->at->list.offset[r + 1] = count_of(job, t, node);
    }
}

/* The numbers of `most` of `others`, ascending, all choices alike: Floyd's algorithm. */
static void choose_some(pgcn_i_stream *random, int64_t others, int64_t most, int64_t *chosen) {
    for (int64_t i = 0; i < most; i++) {
        int64_t last = others - most + i;
        int64_t pick = pgcn_i_bounded(random, (uint32_t)(last + 1)), at = i;
        for (int64_t k = 0; k < i; k++)
            if (chosen[k] == pick) pick = last;
        for (; at > 0 && chosen[at - 1] > pick; at--) chosen[at] = chosen[at - 1];
        chosen[at] = pick;
    }
}

/* A row of T, whose values may not be stored. */
typedef struct t_row {
    const pgcn_i_csr *t;
    pgcn_node node;
    float even;
} t_row;

static t_row row_of(const pgcn_i_csr *t, pgcn_node node) {
    return (t_row){t, node, t->value || degree_of(t, node) == 0 ? 0 : pgcn_i_even_value(t, node)};
}

static float value_of(const t_row *row, int64_t e) {
    return row->t->value ? row->t->value[e] : row->even;
}

static void put_entry(const pgcn_i_level *at, int64_t to, const t_row *row, int64_t e, float scale,
                      int sample) {
    const pgcn_i_csr *t = row->t;
    at->list.column[to] = t->column[e];
    at->list.value[to] = scale * value_of(row, e);
    if (at->link_id) at->link_id[to] = sample * t->offset[t->rows] + e;
}

/* Some entries of a row of T, in its order: its own, and some of the others, which count for all of these. A row may be
 * longer than all that is drawn together, so it is not gone through. */
static void pick_some(const pick_job *job, int64_t row, pgcn_node node) {
    enum { MOST = PGCN_MOST_NEIGHBOURS };
    const pgcn_i_csr *t = &job->nodes->opts.spatial->exact;
    const pgcn_i_level *at = job->at;
    int64_t chosen[MOST], begin = t->offset[node], to = at->list.offset[row];
    bool has_own = at->list.offset[row + 1] - to > at->neighbours;
    int64_t own = has_own ? own_entry(t, node) : -1;
    int64_t others = degree_of(t, node) - (own >= 0);
    int sample = (int)(job->nodes->numbering.id[row] / job->nodes->numbering.nodes);
    pgcn_i_stream random =
        pgcn_i_stream_of(pgcn_i_rng_domain_of(job->draw.seed, PGCN_I_RNG_NEIGHBOURS, job->draw.step,
                                              job->draw.layer, sample),
                         (uint64_t)node);
    float scale = (float)((double)others / at->neighbours);
    const t_row entries = row_of(t, node);
    bool waits = own >= 0; /* the node's own entry, for its place among the others */
    choose_some(&random, others, at->neighbours, chosen);
    for (int64_t i = 0; i < at->neighbours; i++) {
        if (waits && chosen[i] >= own)
            put_entry(at, to++, &entries, begin + own, 1, sample), waits = false;
        put_entry(at, to++, &entries, begin + chosen[i] + (own >= 0 && !waits), scale, sample);
    }
    if (waits) put_entry(at, to, &entries, begin + own, 1, sample);
}

static void fill_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pick_job *job = context;
    const pgcn_i_level *at = job->at;
    int64_t end = job->first + pgcn_i_block_end(job->blocks, task);
    for (int64_t r = job->first + pgcn_i_block_begin(job->blocks, task); r < end; r++) {
        pgcn_node node = job->nodes->numbering.node[r];
        const pgcn_i_csr *t = matrix_of(job->nodes, &node);
        int64_t count = at->list.offset[r + 1] - at->list.offset[r], from = t->offset[node];
        if (count < degree_of(t, node)) {
            pick_some(job, r, node);
            continue;
        }
        int64_t to = at->list.offset[r];
        int64_t sample = job->nodes->numbering.id[r] / job->nodes->numbering.nodes;
        memcpy(at->list.column + to, t->column + from, (size_t)count * sizeof *t->column);
        const t_row entries = row_of(t, node);
        for (int64_t e = 0; e < count; e++) at->list.value[to + e] = value_of(&entries, from + e);
        for (int64_t e = 0; e < count && at->link_id; e++)
            at->link_id[to + e] = sample * t->offset[t->rows] + from + e;
    }
}

void pgcn_i_nodes_pick(pgcn_i_nodes *nodes, pgcn_i_pool *pool, int l, pgcn_i_range rows,
                       pgcn_i_path_draw draw) {
    pgcn_i_level *at = &nodes->level[l];
    pick_job job = {nodes, at, draw, rows.begin, pgcn_i_blocks_of(rows.end - rows.begin)};
    if (nodes->shares) at->list = nodes->shared;
    at->list.rows = nodes->rows[l];
    if (!nodes->shares || rows.begin == 0) at->list.offset[rows.begin] = 0;
    pgcn_i_parallel(pool, job.blocks.count, count_task, &job);
    for (int64_t r = rows.begin; r < rows.end; r++) at->list.offset[r + 1] += at->list.offset[r];
    pgcn_i_parallel(pool, job.blocks.count, fill_task, &job);
    nodes->links[l] = at->list.offset[rows.end];
}
