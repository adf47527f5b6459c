/* What the files that define operations share: one job handed to the pool, and the dropout rule. */
#ifndef PGCN_OPS_H
#define PGCN_OPS_H

#include "nn/ranks.h"

typedef struct pgcn_i_job {
    pgcn_i_tape *tape;
    pgcn_i_op *op;
    pgcn_i_blocks blocks; /* of the rows (of one sample, where an operation says so) */
    int step;             /* which pass of an operation of several passes */
    int64_t first;        /* group, where tasks are those of some groups */
    pgcn_i_runs runs;     /* where tasks are blocks of the rows of this process */
} pgcn_i_job;

static inline void pgcn_i_run(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_blocks blocks, int64_t tasks,
                              int step, pgcn_i_task task) {
    pgcn_i_job job = {.tape = tape, .op = op, .blocks = blocks, .step = step};
    pgcn_i_parallel(tape->pool, tasks, task, &job);
}

/* Tasks are the groups of the rows of this process, of a value of that many rows: number task + job->first. */
static inline void pgcn_i_run_groups(pgcn_i_tape *tape, pgcn_i_op *op, int64_t rows, int step,
                                     pgcn_i_task task, bool light) {
    pgcn_i_own own = pgcn_i_own_of(tape, rows);
    pgcn_i_job job = {
        .tape = tape, .op = op, .blocks = own.groups, .step = step, .first = own.first};
    if (light)
        pgcn_i_parallel_light(tape->pool, op->out->rows * op->out->cols, own.end - own.first, task,
                              &job);
    else
        pgcn_i_parallel(tape->pool, own.end - own.first, task, &job);
}

/* Tasks are blocks of the rows of this process: pgcn_i_runs_range(&job->runs, task). */
static inline void pgcn_i_run_own(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_runs runs, int step,
                                  pgcn_i_task task, bool light) {
    pgcn_i_job job = {.tape = tape, .op = op, .step = step, .runs = runs};
    int64_t tasks = pgcn_i_runs_tasks(&runs);
    if (light)
        pgcn_i_parallel_light(tape->pool, op->out->rows * op->out->cols, tasks, task, &job);
    else
        pgcn_i_parallel(tape->pool, tasks, task, &job);
}

/* The same for a task that only goes through its rows of the result once. */
static inline void pgcn_i_run_light(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_blocks blocks,
                                    int step, pgcn_i_task task) {
    pgcn_i_job job = {.tape = tape, .op = op, .blocks = blocks, .step = step};
    pgcn_i_parallel_light(tape->pool, op->out->rows * op->out->cols, blocks.count, task, &job);
}

/* The last graph that begins at or before a row; those without rows are passed over. offset [graphs + 1] */
static inline int64_t pgcn_i_graph_of(const int64_t *offset, int64_t graphs, int64_t row) {
    int64_t low = 0, high = graphs;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(offset[middle] <= row ? &low : &high) = middle;
    }
    return low;
}

/* The rows of one sample of a group; job->blocks are the groups. */
static inline pgcn_i_range pgcn_i_group_rows(const pgcn_i_job *job, int64_t group, int sample) {
    int64_t stack = sample * job->blocks.rows;
    return (pgcn_i_range){stack + pgcn_i_block_begin(job->blocks, group),
                          stack + pgcn_i_block_end(job->blocks, group)};
}

/* 16 random bits decide an element, so the rate is rounded to a multiple of 1/65536 and the scale
 * of what is kept is exactly the inverse of the share that is kept. */
static inline uint32_t pgcn_i_drop_threshold(double rate) {
    return (uint32_t)(rate * 65536 + 0.5);
}
static inline float pgcn_i_drop_scale(double rate) {
    return 65536.0f / (float)(65536 - pgcn_i_drop_threshold(rate));
}
static inline pgcn_i_dropout pgcn_i_drop(pgcn_i_rng_domain domain, double rate,
                                         int64_t first_element) {
    return (pgcn_i_dropout){.domain = domain,
                            .threshold = pgcn_i_drop_threshold(rate),
                            .scale = pgcn_i_drop_scale(rate),
                            .first_element = first_element};
}

static inline pgcn_i_rng_domain pgcn_i_dropout_domain(const pgcn_i_tape *tape,
                                                      const pgcn_i_op *op) {
    return pgcn_i_rng_domain_of(tape->seed, PGCN_I_RNG_DROPOUT, tape->step, op->index, 0);
}

/* The rows from number i on that belong to the same sample. */
static inline pgcn_i_rows pgcn_i_rows_of_sample(const pgcn_i_transition *transition,
                                                pgcn_i_rows rows, int64_t i) {
    int64_t row = pgcn_i_row(rows, i), end = row - row % transition->n + transition->n, count = 1;
    if (transition->samples == 1)
        count = rows.count - i;
    else
        while (i + count < rows.count && pgcn_i_row(rows, i + count) > row &&
               pgcn_i_row(rows, i + count) < end)
            count++;
    return (pgcn_i_rows){rows.row ? rows.row + i : NULL, rows.first + i, count};
}
/* Its first row. */
static inline int64_t pgcn_i_sample_begin(const pgcn_i_transition *transition, pgcn_i_rows rows) {
    int64_t row = pgcn_i_row(rows, 0);
    return transition->samples == 1 ? 0 : row - row % transition->n;
}

/* Rows that do not fit into the cache are prefetched. */
static inline bool pgcn_i_is_far(const pgcn_i_value *value) {
    return pgcn_i_rows_are_far(value->rows, value->cols);
}

/* ---- rows of values and gradients, as floats side by side (rows.c) ---------------------------- */

/* Where they are, or copied to `tile`. */
const float *pgcn_i_read_rows(const pgcn_i_tape *tape, const pgcn_i_value *value, pgcn_i_rows rows,
                              int worker, float *tile);
/* Whether they are a tile of the worker now, which read_rows returns; and what makes that of a value that is remade. */
bool pgcn_i_is_tile(const pgcn_i_tape *tape, const pgcn_i_value *value);
void pgcn_i_remake_rows(const pgcn_i_tape *tape, const pgcn_i_value *value, pgcn_i_rows rows,
                        int worker);
/* Where new rows are to be made: in place, or `tile`; and what takes them from there to their place. */
float *pgcn_i_place_rows(const pgcn_i_tape *tape, const pgcn_i_value *value, pgcn_i_rows rows,
                         int worker, float *tile);
void pgcn_i_write_rows(const pgcn_i_tape *tape, const pgcn_i_value *value, pgcn_i_rows rows,
                       const float *from);
void pgcn_i_read_gradient(const pgcn_i_tape *tape, const pgcn_i_value *value, pgcn_i_rows rows,
                          float *to);
void pgcn_i_write_gradient(const pgcn_i_tape *tape, const pgcn_i_value *value, pgcn_i_rows rows,
                           const float *from);
/* Rows first .. first + count - 1 become zero. */
void pgcn_i_clear_gradient(const pgcn_i_value *value, int64_t first, int64_t count);

/* dr (= or +=) share g for the rows that have a gradient g; into dx where r, in[1], is in[0] itself. */
void pgcn_i_residual_gradient(const pgcn_i_tape *tape, const pgcn_i_op *op, float share,
                              pgcn_i_backward_tile tile);

/* ops_activate.c: the rate at which elements of the result are dropped, 0 for most operations. Tests that
 * draw the same dropout ask for it. */
double pgcn_i_op_dropout_rate(const pgcn_i_op *op);
/* ops_linear.c: the same of products, 0 for all others. */
double pgcn_i_op_linear_dropout_rate(const pgcn_i_op *op);

/* ---- explanations: what the functions `explain` are written with (explain.c) ----------------- */

/* The derivative of what is explained by a value, with gates held fixed, split by the hops that lie between:
 * a matrix for each of 0 .. planes-1 hops, of the rows that are reached. */
struct pgcn_i_adjoint {
    pgcn_i_arena arena;
    int64_t rows, cols; /* of the value */
    int64_t count;      /* of rows that are reached, */
    pgcn_node *row;     /* [count] ascending */
    int32_t *place;     /* [rows] in that list, -1: not reached */
    int planes;
    float *data; /* [planes, count, cols] */
};
static inline float *pgcn_i_adjoint_at(const pgcn_i_adjoint *a, int plane, int64_t place) {
    return a->data + (plane * a->count + place) * a->cols;
}
/* All of these take NULL for an adjoint, and return NULL, once the trace has failed. */
pgcn_i_adjoint *pgcn_i_adjoint_new(pgcn_i_trace *trace, int64_t rows, int64_t cols,
                                   const uint8_t *reached, int planes);
/* Of the same rows and planes: zeros, or a copy times a factor. */
pgcn_i_adjoint *pgcn_i_adjoint_like(pgcn_i_trace *trace, const pgcn_i_adjoint *g, int64_t cols);
pgcn_i_adjoint *pgcn_i_adjoint_copy(pgcn_i_trace *trace, const pgcn_i_adjoint *g, float factor);
void pgcn_i_adjoint_free(pgcn_i_adjoint *g);
/* Calls `row` for every row of every plane: g, and the number of the row in the value. */
typedef void (*pgcn_i_adjoint_row)(const void *context, float *g, int64_t row, int64_t cols);
void pgcn_i_adjoint_each(pgcn_i_trace *trace, pgcn_i_adjoint *g, pgcn_i_adjoint_row row,
                         const void *context);
/* Zero where y [rows, cols] is not positive. */
void pgcn_i_adjoint_gate(pgcn_i_trace *trace, pgcn_i_adjoint *g, const float *y);
/* Every row times a vector, element by element. */
void pgcn_i_adjoint_by_columns(pgcn_i_trace *trace, pgcn_i_adjoint *g, const float *vector);
/* A new one: g W^T, W [in, g->cols]. */
pgcn_i_adjoint *pgcn_i_adjoint_product(pgcn_i_trace *trace, const pgcn_i_adjoint *g, const float *w,
                                       int64_t in);
/* to += factor g, for more rows or planes than `to` has, too; returns it, maybe elsewhere. */
pgcn_i_adjoint *pgcn_i_adjoint_add(pgcn_i_trace *trace, pgcn_i_adjoint *to, const pgcn_i_adjoint *g,
                                   float factor);
/* A new one: self g, and along each entry (i, j) of a matrix row i to row j. */
typedef struct pgcn_i_along {
    const pgcn_i_csr *a;
    int hops;     /* that an entry counts; */
    bool stays;   /* one of the diagonal counts none */
    float factor; /* of the entries */
    float self;
    const float *coefficient; /* [entries, heads] in place of the values of the matrix; or NULL */
    int heads;                /* each has as many columns; */
    bool mean;                /* or all of them the mean of the coefficients */
} pgcn_i_along;
pgcn_i_adjoint *pgcn_i_adjoint_along(pgcn_i_trace *trace, const pgcn_i_adjoint *g,
                                     pgcn_i_along along);
/* The plane that `hops` more lead to. */
static inline int pgcn_i_trace_plane(const pgcn_i_trace *trace, int plane, int hops) {
    return plane + hops < trace->most_hops ? plane + hops : trace->most_hops;
}
/* Adds g, which is taken, to the adjoint of a value; or to that of paths through a residual. */
void pgcn_i_trace_give(pgcn_i_trace *trace, const pgcn_i_value *value, pgcn_i_adjoint *g);
void pgcn_i_trace_give_residual(pgcn_i_trace *trace, const pgcn_i_value *value, pgcn_i_adjoint *g);
/* The same with every row of g, which stays the caller's, times a vector. */
void pgcn_i_trace_give_columns(pgcn_i_trace *trace, const pgcn_i_value *value,
                               const pgcn_i_adjoint *g, const float *vector);
/* What a constant vector [g->cols] that was added to every row contributes; it is told as `param`'s. */
void pgcn_i_trace_constant(pgcn_i_trace *trace, const pgcn_i_param *param, const pgcn_i_adjoint *g,
                           const float *vector);
/* Takes g, the adjoint of X W or, without w, of X itself, to nodes and features. */
void pgcn_i_trace_features(pgcn_i_trace *trace, pgcn_i_adjoint *g, const pgcn_i_param *w);

/* ---- shared by ops_path.c and ops_path_full.c ------------------------------------------------ */

typedef struct pgcn_i_path_state {
    pgcn_i_pathconv conv;
    float alpha;        /* share of the residual, 0 without one */
    float *kernel;      /* what the loops read: [k, c], or [k, c, c] */
    float *kernel_grad; /* the sum over the rows, of the same shape */
} pgcn_i_path_state;
static inline const pgcn_i_path_state *pgcn_i_path_of(const pgcn_i_op *op) {
    return op->state;
}
/* Fills state->kernel from the parameter: times (1 - alpha), spread over the channels. */
void pgcn_i_path_kernel(pgcn_i_tape *tape, pgcn_i_op *op);
/* The gradient of the parameter from state->kernel_grad. */
void pgcn_i_path_kernel_gradient(pgcn_i_tape *tape, pgcn_i_op *op);
/* y += alpha r and dr (= or +=) alpha g for the rows begin .. end-1, while they are in the cache. */
void pgcn_i_path_residual(const pgcn_i_tape *tape, const pgcn_i_op *op, int64_t begin, int64_t end);
void pgcn_i_path_residual_gradient(const pgcn_i_tape *tape, const pgcn_i_op *op, int64_t begin,
                                   int64_t end);
/* The rows that walks visit, and those whose walks visit a row. */
pgcn_i_reach pgcn_i_path_visited(const pgcn_i_op *op);
pgcn_i_reach pgcn_i_path_visitors(const pgcn_i_op *op);
/* The kinds of both files: see ops_path.c. */
void pgcn_i_path_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g);
/* Where the exact backward pass has the power q_i = (T^T)^i g. */
static inline float *pgcn_i_path_power(const pgcn_i_tape *tape, const pgcn_i_op *op, int i) {
    return i % 2 ? tape->power : op->out->grad;
}
/* ops_path_full.c: the kinds for c x c weights per hop, and the scratch they need. */
extern const pgcn_i_kind pgcn_i_full_sampled, pgcn_i_full_exact;
void pgcn_i_path_full_scratch(pgcn_i_tape *tape, const pgcn_i_op *op);

#endif
