/* Explanations: a logit as a sum over features of nodes and over constants.
 *
 * With every ReLU as open as it was, and every coefficient of attention as it was, a network is affine in its
 * features. The adjoint of a value is the derivative of the logit by it; it goes through the tape from the end to
 * the beginning, and where an operation adds a constant, the product of the two is what the constant contributes.
 * At the features the product of adjoint and feature is what that feature of that node contributes. All products
 * add up to the logit.
 *
 * By hops: an adjoint has a plane for every number of links between a row and what is explained. An operation along
 * links moves from plane to plane, all others stay in theirs. That is dynamic programming over the paths through
 * all layers: paths of the same length from the same node are added up where they meet. What has gone most_hops and
 * further is in the last plane.
 *
 * What goes through a residual, straight from the start of the network to a later layer, is an adjoint of its own
 * (part 1), so that it can be told apart.
 *
 * Only rows that are reached have memory: in two layers of one node these are few. Sums are made in a fixed order:
 * planes and rows are shared out to threads, never a sum. Called by train's explain.c. */
#include "nn/ops.h"

#include <string.h>

static bool failed(const pgcn_i_trace *trace) {
    return trace->status != PGCN_OK;
}

/* ---- adjoints ------------------------------------------------------------------------------------ */

pgcn_i_adjoint *pgcn_i_adjoint_new(pgcn_i_trace *trace, int64_t rows, int64_t cols,
                                   const uint8_t *reached, int planes) {
    if (failed(trace)) return NULL;
    pgcn_i_adjoint *a = pgcn_i_alloc(1, sizeof *a);
    if (a) {
        *a = (pgcn_i_adjoint){.rows = rows, .cols = cols, .planes = planes};
        for (int64_t r = 0; r < rows; r++) a->count += reached[r];
        a->row = PGCN_I_ARRAY(&a->arena, pgcn_node, a->count);
        a->place = PGCN_I_ARRAY(&a->arena, int32_t, rows);
        int64_t floats;
        if (pgcn_i_mul(planes * a->count, cols, &floats))
            a->data = PGCN_I_ARRAY(&a->arena, float, floats);
    }
    if (!a || !a->row || !a->place || !a->data) {
        pgcn_i_adjoint_free(a);
        trace->status = pgcn_i_fail(PGCN_ERR_MEMORY,
                                    "no memory for an explanation by %d hops; set hops to fewer",
                                    trace->most_hops);
        return NULL;
    }
    int64_t at = 0;
    for (int64_t r = 0; r < rows; r++) {
        a->place[r] = reached[r] ? (int32_t)at : -1;
        if (reached[r]) a->row[at++] = (pgcn_node)r;
    }
    return a;
}

void pgcn_i_adjoint_free(pgcn_i_adjoint *g) {
    if (!g) return;
    pgcn_i_arena_free(&g->arena);
    pgcn_i_free(g);
}

/* Which rows it reaches, in scratch memory of the trace. */
static uint8_t *flags_of(pgcn_i_trace *trace, const pgcn_i_adjoint *g) {
    uint8_t *flag = failed(trace) ? NULL : pgcn_i_alloc(g->rows, 1);
    if (!flag && !failed(trace)) trace->status = PGCN_ERR_MEMORY;
    for (int64_t i = 0; flag && i < g->count; i++) flag[g->row[i]] = 1;
    return flag;
}

pgcn_i_adjoint *pgcn_i_adjoint_like(pgcn_i_trace *trace, const pgcn_i_adjoint *g, int64_t cols) {
    uint8_t *flag = flags_of(trace, g);
    pgcn_i_adjoint *a = pgcn_i_adjoint_new(trace, failed(trace) ? 0 : g->rows, cols, flag,
                                           failed(trace) ? 0 : g->planes);
    pgcn_i_free(flag);
    return a;
}

pgcn_i_adjoint *pgcn_i_adjoint_copy(pgcn_i_trace *trace, const pgcn_i_adjoint *g, float factor) {
    pgcn_i_adjoint *a = pgcn_i_adjoint_like(trace, g, failed(trace) ? 0 : g->cols);
    if (a)
        trace->tape->kernels->scale(a->data, factor, g->data, 0, g->planes * g->count * g->cols,
                                    false);
    return a;
}

/* ---- row by row ------------------------------------------------------------------------------------ */

typedef struct rows_job {
    pgcn_i_adjoint *g;
    pgcn_i_adjoint_row row;
    const void *context;
    pgcn_i_blocks blocks; /* of the rows of all planes */
} rows_job;

static void rows_task(void *context, int64_t task, int worker) {
    (void)worker;
    const rows_job *job = context;
    pgcn_i_adjoint *g = job->g;
    int64_t end = pgcn_i_block_end(job->blocks, task);
    for (int64_t at = pgcn_i_block_begin(job->blocks, task); at < end; at++)
        job->row(job->context, g->data + at * g->cols, g->row[at % g->count], g->cols);
}

void pgcn_i_adjoint_each(pgcn_i_trace *trace, pgcn_i_adjoint *g, pgcn_i_adjoint_row row,
                         const void *context) {
    if (failed(trace)) return;
    rows_job job = {g, row, context, pgcn_i_blocks_of(g->planes * g->count)};
    pgcn_i_parallel_light(trace->tape->pool, job.blocks.rows * g->cols, job.blocks.count, rows_task,
                          &job);
}

static void gate_row(const void *context, float *g, int64_t row, int64_t cols) {
    const float *y = (const float *)context + row * cols;
    for (int64_t ch = 0; ch < cols; ch++)
        if (!(y[ch] > 0)) g[ch] = 0;
}

void pgcn_i_adjoint_gate(pgcn_i_trace *trace, pgcn_i_adjoint *g, const float *y) {
    pgcn_i_adjoint_each(trace, g, gate_row, y);
}

static void columns_row(const void *context, float *g, int64_t row, int64_t cols) {
    (void)row;
    for (int64_t ch = 0; ch < cols; ch++) g[ch] *= ((const float *)context)[ch];
}

void pgcn_i_adjoint_by_columns(pgcn_i_trace *trace, pgcn_i_adjoint *g, const float *vector) {
    pgcn_i_adjoint_each(trace, g, columns_row, vector);
}

/* ---- products -------------------------------------------------------------------------------------- */

typedef struct product_job {
    const pgcn_i_kernels *kernels;
    const pgcn_i_adjoint *g;
    pgcn_i_adjoint *to;
    const float *w;
    pgcn_i_blocks blocks;
} product_job;

static void product_task(void *context, int64_t task, int worker) {
    (void)worker;
    const product_job *job = context;
    int64_t in = job->to->cols, out = job->g->cols;
    int64_t begin = pgcn_i_block_begin(job->blocks, task);
    job->kernels->gemm(&(pgcn_i_product){.m = pgcn_i_block_end(job->blocks, task) - begin,
                                         .n = in,
                                         .k = out,
                                         .a = job->g->data + begin * out,
                                         .lda = out,
                                         .b = job->w,
                                         .ldb = out,
                                         .b_transposed = true,
                                         .c = job->to->data + begin * in,
                                         .ldc = in});
}

pgcn_i_adjoint *pgcn_i_adjoint_product(pgcn_i_trace *trace, const pgcn_i_adjoint *g, const float *w,
                                       int64_t in) {
    pgcn_i_adjoint *to = pgcn_i_adjoint_like(trace, g, in);
    if (!to) return NULL;
    product_job job = {trace->tape->kernels, g, to, w, pgcn_i_blocks_of(g->planes * g->count)};
    pgcn_i_parallel(trace->tape->pool, job.blocks.count, product_task, &job);
    return to;
}

/* ---- sums ------------------------------------------------------------------------------------------ */

static void add_rows(const pgcn_i_trace *trace, pgcn_i_adjoint *to, const pgcn_i_adjoint *g,
                     float factor) {
    for (int p = 0; p < g->planes; p++)
        for (int64_t i = 0; i < g->count; i++)
            trace->tape->kernels->scale(pgcn_i_adjoint_at(to, p, to->place[g->row[i]]), factor,
                                        pgcn_i_adjoint_at(g, p, i), 0, g->cols, true);
}

static bool has_room(const pgcn_i_adjoint *to, const pgcn_i_adjoint *g) {
    if (g->planes > to->planes) return false;
    for (int64_t i = 0; i < g->count; i++)
        if (to->place[g->row[i]] < 0) return false;
    return true;
}

pgcn_i_adjoint *pgcn_i_adjoint_add(pgcn_i_trace *trace, pgcn_i_adjoint *to, const pgcn_i_adjoint *g,
                                   float factor) {
    if (!failed(trace) && !has_room(to, g)) {
        uint8_t *flag = flags_of(trace, to);
        for (int64_t i = 0; flag && i < g->count; i++) flag[g->row[i]] = 1;
        pgcn_i_adjoint *both = pgcn_i_adjoint_new(trace, to->rows, to->cols, flag,
                                                  g->planes > to->planes ? g->planes : to->planes);
        pgcn_i_free(flag);
        if (both) add_rows(trace, both, to, 1);
        pgcn_i_adjoint_free(to);
        to = both;
    }
    if (!failed(trace)) {
        add_rows(trace, to, g, factor);
        return to;
    }
    pgcn_i_adjoint_free(to);
    return NULL;
}

static void give(pgcn_i_trace *trace, int part, const pgcn_i_value *value, pgcn_i_adjoint *g) {
    if (failed(trace)) {
        pgcn_i_adjoint_free(g);
        return;
    }
    pgcn_i_adjoint **to = &trace->of[part][value->maker];
    if (!*to) {
        *to = g;
        return;
    }
    *to = pgcn_i_adjoint_add(trace, *to, g, 1);
    pgcn_i_adjoint_free(g);
}

void pgcn_i_trace_give(pgcn_i_trace *trace, const pgcn_i_value *value, pgcn_i_adjoint *g) {
    give(trace, value->residual ? 1 : trace->part, value, g);
}

void pgcn_i_trace_give_residual(pgcn_i_trace *trace, const pgcn_i_value *value, pgcn_i_adjoint *g) {
    give(trace, 1, value, g);
}

typedef struct columns_job {
    const pgcn_i_adjoint *g;
    pgcn_i_adjoint *to;
    const float *vector;
} columns_job;

static void columns_task(void *context, int64_t plane, int worker) {
    (void)worker;
    const columns_job *job = context;
    for (int64_t i = 0; i < job->g->count; i++) {
        const float *from = pgcn_i_adjoint_at(job->g, (int)plane, i);
        float *to = pgcn_i_adjoint_at(job->to, (int)plane, job->to->place[job->g->row[i]]);
        for (int64_t ch = 0; ch < job->g->cols; ch++) to[ch] += job->vector[ch] * from[ch];
    }
}

void pgcn_i_trace_give_columns(pgcn_i_trace *trace, const pgcn_i_value *value,
                               const pgcn_i_adjoint *g, const float *vector) {
    if (failed(trace)) return;
    pgcn_i_adjoint **to = &trace->of[trace->part][value->maker];
    if (!*to || !has_room(*to, g)) {
        pgcn_i_adjoint *share = pgcn_i_adjoint_copy(trace, g, 1);
        if (share) pgcn_i_adjoint_by_columns(trace, share, vector);
        pgcn_i_trace_give(trace, value, share);
        return;
    }
    columns_job job = {g, *to, vector};
    pgcn_i_parallel(trace->tape->pool, g->planes, columns_task, &job);
}

/* ---- along links ------------------------------------------------------------------------------------- */

typedef struct along_job {
    const pgcn_i_trace *trace;
    const pgcn_i_adjoint *g;
    pgcn_i_adjoint *to;
    pgcn_i_along along;
} along_job;

/* to += what entry e lets through of `from`. */
static void along_entry(const along_job *job, int64_t e, const float *from, float *to) {
    const pgcn_i_along *along = &job->along;
    const pgcn_i_kernels *kernels = job->trace->tape->kernels;
    int64_t cols = job->g->cols;
    if (!along->coefficient) {
        kernels->scale(to, along->factor * along->a->value[e], from, 0, cols, true);
        return;
    }
    const float *of_head = along->coefficient + e * along->heads;
    int64_t each = along->mean ? cols : cols / along->heads;
    float mean = 0;
    for (int h = 0; h < along->heads; h++) mean += of_head[h] / (float)along->heads;
    for (int64_t h = 0; h * each < cols; h++)
        kernels->scale(to + h * each, along->factor * (along->mean ? mean : of_head[h]),
                       from + h * each, 0, each, true);
}

/* What comes to plane `to_plane` from the rows of plane p. */
static void along_plane(const along_job *job, int p, int to_plane) {
    const pgcn_i_adjoint *g = job->g;
    const pgcn_i_along *along = &job->along;
    int further = pgcn_i_trace_plane(job->trace, p, along->hops);
    for (int64_t i = 0; i < g->count; i++) {
        const float *from = pgcn_i_adjoint_at(g, p, i);
        pgcn_node row = g->row[i];
        for (int64_t e = along->a->offset[row]; e < along->a->offset[row + 1]; e++) {
            pgcn_node column = along->a->column[e];
            bool stays = along->stays && column == row;
            if ((stays ? p : further) == to_plane)
                along_entry(job, e, from,
                            pgcn_i_adjoint_at(job->to, to_plane, job->to->place[column]));
        }
    }
}

/* A plane of the result is one task's. */
static void along_task(void *context, int64_t task, int worker) {
    (void)worker;
    const along_job *job = context;
    const pgcn_i_adjoint *g = job->g;
    const pgcn_i_along *along = &job->along;
    int to_plane = (int)task;
    for (int64_t i = 0; along->self != 0 && to_plane < g->planes && i < g->count; i++)
        job->trace->tape->kernels->scale(
            pgcn_i_adjoint_at(job->to, to_plane, job->to->place[g->row[i]]), along->self,
            pgcn_i_adjoint_at(g, to_plane, i), 0, g->cols, true);
    for (int p = 0; p < g->planes; p++)
        if (pgcn_i_trace_plane(job->trace, p, along->hops) == to_plane ||
            (along->stays && p == to_plane))
            along_plane(job, p, to_plane);
}

pgcn_i_adjoint *pgcn_i_adjoint_along(pgcn_i_trace *trace, const pgcn_i_adjoint *g,
                                     pgcn_i_along along) {
    uint8_t *flag = failed(trace) ? NULL : pgcn_i_alloc(g->rows, 1);
    if (!flag) {
        if (!failed(trace)) trace->status = PGCN_ERR_MEMORY;
        return NULL;
    }
    for (int64_t i = 0; i < g->count; i++) {
        pgcn_node row = g->row[i];
        if (along.self != 0) flag[row] = 1;
        for (int64_t e = along.a->offset[row]; e < along.a->offset[row + 1]; e++)
            flag[along.a->column[e]] = 1;
    }
    int planes = pgcn_i_trace_plane(trace, g->planes - 1, along.hops) + 1;
    along_job job = {trace, g, pgcn_i_adjoint_new(trace, g->rows, g->cols, flag, planes), along};
    pgcn_i_free(flag);
    if (job.to) pgcn_i_parallel(trace->tape->pool, planes, along_task, &job);
    return job.to;
}

/* ---- constants --------------------------------------------------------------------------------------- */

void pgcn_i_trace_constant(pgcn_i_trace *trace, const pgcn_i_param *param, const pgcn_i_adjoint *g,
                           const float *vector) {
    if (failed(trace)) return;
    double sum = 0;
    for (int64_t at = 0; at < g->planes * g->count; at++)
        for (int64_t ch = 0; ch < g->cols; ch++)
            sum += (double)g->data[at * g->cols + ch] * (double)vector[ch];
    trace->of_param[param - trace->tape->params->param] += sum;
}

/* ---- features ---------------------------------------------------------------------------------------- */

/* From the rows of a view to the nodes of the data set. */
static pgcn_i_adjoint *by_node(pgcn_i_trace *trace, pgcn_i_adjoint *g) {
    int64_t nodes = trace->input->n;
    if (!trace->node || failed(trace)) return g;
    uint8_t *flag = pgcn_i_alloc(nodes, 1);
    if (!flag) trace->status = PGCN_ERR_MEMORY;
    for (int64_t i = 0; flag && i < g->count; i++) flag[trace->node[g->row[i]]] = 1;
    pgcn_i_adjoint *to = pgcn_i_adjoint_new(trace, nodes, g->cols, flag, g->planes);
    for (int p = 0; to && p < g->planes; p++)
        for (int64_t i = 0; i < g->count; i++)
            memcpy(pgcn_i_adjoint_at(to, p, to->place[trace->node[g->row[i]]]),
                   pgcn_i_adjoint_at(g, p, i), (size_t)g->cols * sizeof *g->data);
    pgcn_i_free(flag);
    pgcn_i_adjoint_free(g);
    return to;
}

static int64_t entries_of(const pgcn_i_input *x, int64_t node) {
    return x->dense ? x->columns : x->offset[node + 1] - x->offset[node];
}

typedef struct features_job {
    const pgcn_i_trace *trace;
    const pgcn_i_adjoint *g;
    const float *w; /* [features, g->cols]; NULL: the features themselves are g's columns */
    pgcn_i_blocks blocks;
} features_job;

/* x times the adjoint of a feature: of w's row, or of g's own column. */
static double of_feature(const features_job *job, const float *g, int64_t column, double x) {
    if (!job->w) return x * (double)g[column];
    const float *w = job->w + column * job->g->cols;
    double sum = 0;
    for (int64_t ch = 0; ch < job->g->cols; ch++) sum += (double)w[ch] * (double)g[ch];
    return x * sum;
}

static void features_task(void *context, int64_t task, int worker) {
    (void)worker;
    const features_job *job = context;
    const pgcn_i_input *x = job->trace->input;
    const pgcn_i_adjoint *g = job->g;
    int64_t end = pgcn_i_block_end(job->blocks, task);
    for (int64_t i = pgcn_i_block_begin(job->blocks, task); i < end; i++) {
        int64_t node = g->row[i], first = x->dense ? node * x->columns : x->offset[node];
        double *of_node =
            job->trace->of_node[job->trace->part] + node * (job->trace->most_hops + 1);
        for (int64_t e = 0; e < entries_of(x, node); e++) {
            double value = (double)(x->dense ? x->dense[first + e] : x->value[first + e]);
            int64_t column = x->dense ? e : x->column[first + e];
            for (int p = 0; value != 0 && p < g->planes; p++) {
                double share = of_feature(job, pgcn_i_adjoint_at(g, p, i), column, value);
                of_node[p] += share;
                job->trace->of_entry[node][e] += share;
            }
        }
    }
}

/* A place for what each feature of a node contributes. */
static void open_entries(pgcn_i_trace *trace, const pgcn_i_adjoint *g) {
    for (int64_t i = 0; !failed(trace) && i < g->count; i++) {
        double **entry = &trace->of_entry[g->row[i]];
        if (!*entry)
            *entry = PGCN_I_ARRAY(&trace->arena, double, entries_of(trace->input, g->row[i]));
        if (!*entry) trace->status = PGCN_ERR_MEMORY;
    }
}

void pgcn_i_trace_features(pgcn_i_trace *trace, pgcn_i_adjoint *g, const pgcn_i_param *w) {
    g = by_node(trace, g);
    for (int i = 0; i < trace->powers && !failed(trace); i++) {
        pgcn_i_adjoint *next = pgcn_i_adjoint_along(
            trace, g, (pgcn_i_along){.a = trace->smooth, .hops = 1, .stays = true, .factor = 1});
        pgcn_i_adjoint_free(g);
        g = next;
    }
    if (!failed(trace)) open_entries(trace, g);
    if (!failed(trace)) {
        features_job job = {trace, g, w ? pgcn_i_value_of(trace->tape->params, w) : NULL,
                            pgcn_i_blocks_of(g->count)};
        pgcn_i_parallel(trace->tape->pool, job.blocks.count, features_task, &job);
    }
    pgcn_i_adjoint_free(g);
}

/* ---- the whole tape ------------------------------------------------------------------------------------ */

pgcn_status pgcn_i_trace_init(pgcn_i_trace *trace) {
    int64_t nodes = trace->input->n, sums = 0;
    bool fits = pgcn_i_mul(nodes, trace->most_hops + 1, &sums);
    for (int part = 0; part < 2 && fits; part++) {
        trace->of_node[part] = PGCN_I_ARRAY(&trace->arena, double, sums);
        trace->of[part] = PGCN_I_ARRAY(&trace->arena, pgcn_i_adjoint *, trace->tape->count);
    }
    trace->of_entry = PGCN_I_ARRAY(&trace->arena, double *, nodes);
    trace->of_param = PGCN_I_ARRAY(&trace->arena, double, trace->tape->params->count);
    if (fits && trace->of_node[0] && trace->of_node[1] && trace->of[0] && trace->of[1] &&
        trace->of_entry && trace->of_param)
        return PGCN_OK;
    return trace->status =
               pgcn_i_fail(PGCN_ERR_MEMORY,
                           "no memory for what %lld nodes contribute by %d hops; set hops to fewer",
                           (long long)nodes, trace->most_hops);
}

void pgcn_i_trace_free(pgcn_i_trace *trace) {
    for (int part = 0; part < 2; part++)
        for (int i = 0; trace->of[part] && i < trace->tape->count; i++)
            pgcn_i_adjoint_free(trace->of[part][i]);
    pgcn_i_arena_free(&trace->arena);
    *trace = (pgcn_i_trace){0};
}

/* What is explained: the weights, in one row. */
static void give_seed(pgcn_i_trace *trace, const pgcn_i_value *logits, int64_t row,
                      const float *weight) {
    uint8_t *flag = pgcn_i_alloc(logits->rows, 1);
    if (!flag) trace->status = PGCN_ERR_MEMORY;
    if (flag) flag[row] = 1;
    pgcn_i_adjoint *seed = pgcn_i_adjoint_new(trace, logits->rows, logits->cols, flag, 1);
    pgcn_i_free(flag);
    if (seed) memcpy(seed->data, weight, (size_t)logits->cols * sizeof *weight);
    pgcn_i_trace_give(trace, logits, seed);
}

static void run_op(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    if (op->kind->explain) {
        op->kind->explain(trace, op, g);
        return;
    }
    trace->status = pgcn_i_fail(PGCN_ERR_ARGUMENT, "internal: nothing explains the operation '%s'",
                                op->kind->name);
    pgcn_i_adjoint_free(g);
}

pgcn_status pgcn_i_trace_run(pgcn_i_trace *trace, int64_t row, const float *weight) {
    pgcn_i_tape *tape = trace->tape;
    trace->part = 0;
    give_seed(trace, tape->op[tape->count - 1].out, row, weight);
    for (int i = tape->count - 1; i >= 0; i--)
        for (trace->part = 0; trace->part < 2; trace->part++) {
            pgcn_i_adjoint *g = trace->of[trace->part][i];
            if (!g || failed(trace)) continue;
            trace->of[trace->part][i] = NULL;
            run_op(trace, &tape->op[i], g);
        }
    return trace->status;
}
