/* DropEdge: the exact transition on a share of the edges, drawn anew for each step and normalised again.
 *
 * Whether an edge is kept is decided by the random bits of its number, which both directions of an undirected edge
 * share; self-loops that the transition adds are always kept. Rows are counted, then filled, in parallel; what a row
 * holds does not depend on who fills it. Nothing is allocated after pgcn_i_edges_new(). Called by views.c. */
#include "views/views.h"

#include <math.h>

/* A matrix of all edges, and what is kept of it. The value of an entry is that of A + I, before scaling. */
typedef struct side {
    pgcn_i_csr all;
    int64_t *number; /* [entries] of its edge; -1: an added self-loop */
    pgcn_i_csr kept;
} side;

struct pgcn_i_edges {
    pgcn_i_arena arena;
    side forward, backward; /* backward: the transpose */
    int64_t numbers;
    uint8_t *is_kept; /* [numbers] */
    float *degree;    /* [n] of what is kept */
    uint32_t threshold;
    pgcn_scaling scaling;
};

/* ---- setting up --------------------------------------------------------------------------------- */

/* The entry (column, row) of an undirected graph. */
static int64_t reverse_of(const pgcn_i_csr *csr, pgcn_node row, pgcn_node column) {
    int64_t low = csr->offset[column], high = csr->offset[column + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (csr->column[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void number_edges(side *s, const pgcn_graph *graph, bool loops) {
    for (int64_t row = 0; row < s->all.rows; row++)
        for (int64_t e = s->all.offset[row]; e < s->all.offset[row + 1]; e++) {
            pgcn_node column = s->all.column[e];
            s->number[e] = e;
            if (column == row && loops)
                s->number[e] = -1;
            else if (!graph->directed && column < row)
                s->number[e] = reverse_of(&s->all, (pgcn_node)row, column);
        }
}

/* The transpose, with the numbers of the edges. */
static void transpose(const side *from, side *to) {
    const pgcn_i_csr *a = &from->all;
    int64_t entries = a->offset[a->rows];
    for (int64_t e = 0; e < entries; e++) to->all.offset[a->column[e] + 1]++;
    for (int64_t r = 0; r < a->rows; r++) to->all.offset[r + 1] += to->all.offset[r];
    int64_t *next = to->kept.offset; /* not in use yet */
    for (int64_t r = 0; r < a->rows; r++) next[r] = to->all.offset[r];
    for (int64_t r = 0; r < a->rows; r++)
        for (int64_t e = a->offset[r]; e < a->offset[r + 1]; e++) {
            int64_t place = next[a->column[e]]++;
            to->all.column[place] = (pgcn_node)r;
            to->all.value[place] = a->value[e];
            to->number[place] = from->number[e];
        }
    next[0] = 0; /* an offset again */
}

static pgcn_status alloc_side(pgcn_i_arena *arena, side *s, int64_t n, int64_t entries) {
    s->number = PGCN_I_ARRAY(arena, int64_t, entries);
    if (!s->number) return PGCN_ERR_MEMORY;
    return pgcn_i_csr_alloc(arena, n, entries, true, &s->kept);
}

static pgcn_status fill(pgcn_i_edges *edges, const pgcn_i_spatial *spatial,
                        const pgcn_config *config) {
    const pgcn_graph *graph = spatial->walker.graph;
    pgcn_i_arena *arena = &edges->arena;
    const pgcn_i_transition_opts sums = {.self_loops = config->self_loops,
                                         .weighted = config->walk != PGCN_WALK_UNIFORM,
                                         .scaling = PGCN_SCALING_SUM};
    PGCN_TRY(
        pgcn_i_graph_transition(graph, sums, arena, &edges->forward.all, NULL, &edges->degree));
    int64_t n = graph->n, entries = edges->forward.all.offset[n];
    PGCN_TRY(alloc_side(arena, &edges->forward, n, entries));
    PGCN_TRY(alloc_side(arena, &edges->backward, n, entries));
    PGCN_TRY(pgcn_i_csr_alloc(arena, n, entries, true, &edges->backward.all));
    edges->numbers = entries;
    edges->is_kept = PGCN_I_ARRAY(arena, uint8_t, entries);
    if (!edges->is_kept) return PGCN_ERR_MEMORY;
    number_edges(&edges->forward, graph, config->self_loops);
    transpose(&edges->forward, &edges->backward);
    edges->scaling = config->scaling;
    edges->threshold = (uint32_t)((1 - pgcn_i_kept_edges(config)) * 65536 + 0.5);
    return PGCN_OK;
}

pgcn_status pgcn_i_edges_new(const pgcn_i_spatial *spatial, const pgcn_config *config,
                             pgcn_i_edges **out) {
    pgcn_i_edges *edges = pgcn_i_alloc(1, sizeof *edges);
    if (!edges) return PGCN_ERR_MEMORY;
    pgcn_status status = fill(edges, spatial, config);
    if (status != PGCN_OK) {
        pgcn_i_edges_free(edges);
        return status;
    }
    *out = edges;
    return PGCN_OK;
}

void pgcn_i_edges_free(pgcn_i_edges *edges) {
    if (!edges) return;
    pgcn_i_arena_free(&edges->arena);
    pgcn_i_free(edges);
}

const pgcn_i_csr *pgcn_i_edges_kept(const pgcn_i_edges *edges, bool transposed) {
    return transposed ? &edges->backward.kept : &edges->forward.kept;
}

int64_t pgcn_i_edges_bytes(const pgcn_i_edges *edges) {
    return edges ? edges->arena.bytes : 0;
}

/* ---- drawing ------------------------------------------------------------------------------------ */

typedef struct edges_job {
    pgcn_i_edges *edges;
    side *side;
    pgcn_i_rng_domain domain;
    pgcn_i_blocks blocks;
} edges_job;

static void draw_task(void *context, int64_t task, int worker) {
    (void)worker;
    const edges_job *job = context;
    int64_t begin = pgcn_i_block_begin(job->blocks, task);
    pgcn_i_kernels_get()->draw_kept(job->edges->is_kept + begin, job->domain, job->edges->threshold,
                                    begin, pgcn_i_block_end(job->blocks, task) - begin);
}

static bool is_kept(const edges_job *job, int64_t e) {
    int64_t number = job->side->number[e];
    return number < 0 || job->edges->is_kept[number];
}

/* Counts of the rows, and of the forward side their degrees. A node that keeps nothing has the degree 1. */
static void count_task(void *context, int64_t task, int worker) {
    (void)worker;
    const edges_job *job = context;
    const pgcn_i_csr *all = &job->side->all;
    int64_t end = pgcn_i_block_end(job->blocks, task);
    for (int64_t row = pgcn_i_block_begin(job->blocks, task); row < end; row++) {
        int64_t count = 0;
        double degree = 0;
        for (int64_t e = all->offset[row]; e < all->offset[row + 1]; e++)
            if (is_kept(job, e)) {
                degree += (double)all->value[e];
                count++;
            }
        job->side->kept.offset[row + 1] = count;
        if (job->side == &job->edges->forward)
            job->edges->degree[row] = count > 0 ? (float)degree : 1;
    }
}

/* `from` and `to` as in T: the row is one of them. */
static float scaled(const pgcn_i_edges *edges, float value, int64_t from, int64_t to) {
    double d = (double)edges->degree[from];
    if (edges->scaling == PGCN_SCALING_WALK) return (float)((double)value / d);
    if (edges->scaling == PGCN_SCALING_SUM) return value;
    return (float)((double)value / sqrt(d * (double)edges->degree[to]));
}

static void fill_task(void *context, int64_t task, int worker) {
    (void)worker;
    const edges_job *job = context;
    const pgcn_i_csr *all = &job->side->all;
    pgcn_i_csr *kept = &job->side->kept;
    bool transposed = job->side == &job->edges->backward;
    int64_t end = pgcn_i_block_end(job->blocks, task);
    for (int64_t row = pgcn_i_block_begin(job->blocks, task); row < end; row++) {
        int64_t at = kept->offset[row];
        for (int64_t e = all->offset[row]; e < all->offset[row + 1]; e++) {
            if (!is_kept(job, e)) continue;
            int64_t column = all->column[e];
            kept->column[at] = (pgcn_node)column;
            kept->value[at++] = scaled(job->edges, all->value[e], transposed ? column : row,
                                       transposed ? row : column);
        }
    }
}

static void each_row(pgcn_i_pool *pool, edges_job *job, pgcn_i_task task) {
    job->blocks = pgcn_i_blocks_of(job->side->all.rows);
    pgcn_i_parallel(pool, job->blocks.count, task, job);
}

void pgcn_i_edges_draw(pgcn_i_edges *edges, pgcn_i_pool *pool, uint64_t seed, int64_t step) {
    edges_job job = {.edges = edges,
                     .domain = pgcn_i_rng_domain_of(seed, PGCN_I_RNG_EDGES, step, 0, 0),
                     .blocks = pgcn_i_cut(edges->numbers, PGCN_MAX_BLOCKS, 4096)};
    pgcn_i_parallel(pool, job.blocks.count, draw_task, &job);
    side *sides[] = {&edges->forward, &edges->backward};
    for (int i = 0; i < 2; i++) {
        job.side = sides[i];
        each_row(pool, &job, count_task);
        int64_t *offset = job.side->kept.offset;
        for (int64_t row = 0; row < job.side->all.rows; row++) offset[row + 1] += offset[row];
        each_row(pool, &job, fill_task);
    }
}
