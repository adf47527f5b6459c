/* The sum over the nodes of each graph: one row per graph, and back.
 *
 * Of several ranks, graphs belong to ranks as nodes do, by groups of their own. So the rows of a graph, or its gradient,
 * may be with another rank: ranges of rows go to the ranks of their graphs before a sum, and gradients of graphs to the
 * ranks of their nodes. A graph is added up by one rank, in the order of its rows. */
#include "nn/ops.h"

#include <string.h>

typedef struct pool_state {
    const int64_t *segment; /* [graphs+1] rows of each graph */
} pool_state;

static const int64_t *segments_of(const pgcn_i_op *op) {
    return ((const pool_state *)op->state)->segment;
}

static int64_t graph_of(const pgcn_i_op *op, int64_t row) {
    return pgcn_i_graph_of(segments_of(op), op->out->rows, row);
}

/* ---- whose rows, of one sample ------------------------------------------------------------------------- */

typedef struct pool_part {
    const pgcn_i_tape *tape;
    const pgcn_i_op *op;
    int sample;
} pool_part;

static pgcn_i_range own_rows(const pool_part *part, int64_t rows, int rank) {
    return pgcn_i_share_rows(part->tape, rows, part->sample, rank);
}
static pgcn_i_range own_nodes(const void *context, int rank) {
    const pool_part *part = context;
    return own_rows(part, part->op->used[0], rank);
}
static pgcn_i_range own_graphs(const void *context, int rank) {
    const pool_part *part = context;
    return own_rows(part, part->op->out->rows, rank);
}
static pgcn_i_range nodes_of_graphs(const void *context, int rank) {
    const pgcn_i_range graphs = own_graphs(context, rank);
    const int64_t *segment = segments_of(((const pool_part *)context)->op);
    return (pgcn_i_range){segment[graphs.begin], segment[graphs.end]};
}
static pgcn_i_range graphs_of_nodes(const void *context, int rank) {
    const pgcn_i_range nodes = own_nodes(context, rank);
    const pgcn_i_op *op = ((const pool_part *)context)->op;
    if (nodes.begin == nodes.end) return (pgcn_i_range){0, 0};
    return (pgcn_i_range){graph_of(op, nodes.begin), graph_of(op, nodes.end - 1) + 1};
}

/* ---- both passes ----------------------------------------------------------------------------------------- */

static void pool_forward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const pgcn_i_range graphs = pgcn_i_runs_range(&job->runs, task);
    job->tape->kernels->segment_sum(op->out->data, op->in[0]->data,
                                    (pgcn_i_segments){segments_of(op), graphs.begin, graphs.end},
                                    op->out->cols);
}

/* The rows of a block, which may begin and end within a graph. */
static void pool_backward_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const pgcn_i_range rows = pgcn_i_runs_range(&job->runs, task);
    for (int64_t row = rows.begin, graph = graph_of(op, row); row < rows.end; graph++) {
        int64_t end = segments_of(op)[graph + 1] < rows.end ? segments_of(op)[graph + 1] : rows.end;
        const int64_t part[2] = {row, end > row ? end : row};
        job->tape->kernels->segment_spread(op->in[0]->grad, op->out->grad + graph * op->out->cols,
                                           (pgcn_i_segments){part, 0, 1}, op->out->cols,
                                           op->add_in[0]);
        row = part[1];
    }
}

static void pool_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pool_part part = {.tape = tape, .op = op};
    for (; part.sample < tape->samples && tape->share; part.sample++)
        pgcn_i_share_ranges(tape, op->in[0]->data, op->out->cols, own_nodes, nodes_of_graphs,
                            &part);
    pgcn_i_run_own(tape, op, pgcn_i_runs_of(tape, op->out->rows, NULL), 0, pool_forward_task,
                   false);
}
static void pool_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pool_part part = {.tape = tape, .op = op};
    for (; part.sample < tape->samples && tape->share; part.sample++)
        pgcn_i_share_ranges(tape, op->out->grad, op->out->cols, own_graphs, graphs_of_nodes, &part);
    pgcn_i_run_own(tape, op, pgcn_i_runs_of(tape, op->used[0], NULL), 0, pool_backward_task, false);
}

/* The same to every row of a graph. */
static void pool_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    const int64_t *segment = segments_of(op);
    uint8_t *flag = pgcn_i_alloc(op->in[0]->rows, 1);
    if (!flag) trace->status = PGCN_ERR_MEMORY;
    for (int64_t i = 0; flag && i < g->count; i++)
        memset(flag + segment[g->row[i]], 1, (size_t)(segment[g->row[i] + 1] - segment[g->row[i]]));
    pgcn_i_adjoint *to = pgcn_i_adjoint_new(trace, op->in[0]->rows, g->cols, flag, g->planes);
    for (int p = 0; to && p < g->planes; p++)
        for (int64_t i = 0; i < g->count; i++)
            for (int64_t r = segment[g->row[i]]; r < segment[g->row[i] + 1]; r++)
                memcpy(pgcn_i_adjoint_at(to, p, to->place[r]), pgcn_i_adjoint_at(g, p, i),
                       (size_t)g->cols * sizeof *g->data);
    pgcn_i_free(flag);
    pgcn_i_adjoint_free(g);
    pgcn_i_trace_give(trace, op->in[0], to);
}

static const pgcn_i_kind pool_kind = {.name = "sum over graphs",
                                      .needs = PGCN_I_NEEDS_ALL,
                                      .shares = true,
                                      .state_bytes = sizeof(pool_state),
                                      .forward_all = pool_forward,
                                      .backward_all = pool_backward,
                                      .explain = pool_explain};

pgcn_i_value *pgcn_i_op_sum_pool(pgcn_i_tape *tape, pgcn_i_value *x, const int64_t *offset,
                                 int64_t graphs) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, &pool_kind,
                                   (pgcn_i_ports){.in = {x}, .rows = graphs, .cols = x->cols});
    if (!op) return NULL;
    ((pool_state *)op->state)->segment = offset;
    op->out->space = PGCN_I_GRAPHS;
    return op->out;
}
