/* Operations of networks that are steps in time of a differential equation on the graph (PDE-GCN, GRAND).
 *
 *   flux       q_i = sum_{(i,j)} w s(w (p_i - p_j)) - sum_{(j,i)} w s(w (p_j - p_i)),   w = T_ij, T_ji
 *   drift      y = sigmoid(rate) d + source x
 *   momentum   y = r v - u z,   b = sigmoid(m), r = b / (b + (1 - b) h), u = h^2 / (b + (1 - b) h)
 *
 * flux is G^T s(G p): a difference along each entry of T, a nonlinearity, and back to the nodes. K of PDE-GCN is
 * linear, so K G x = G (x K), and no array of entries times channels exists: every row gathers over its entries of T
 * and of its transpose. The backward pass gathers over the same entries, from both p and the gradient g of q:
 *
 *   dp_i = sum_{(i,j)} w^2 s'(w (p_i - p_j)) (g_i - g_j) + sum_{(j,i)} w^2 s'(w (p_j - p_i)) (g_i - g_j)
 *
 * since entry (i, j) has the gradient w s'(..) (g_i - g_j), which p_i gets w times and p_j -w times. tanh is odd: both
 * sums of flux have the same form, and where T is symmetric they are the same. There ReLU(d) - ReLU(-d) = d, and what
 * is left of ReLU is nothing: flux is linear. */
#include "nn/ops.h"

#include <math.h>
#include <string.h>

/* ---- flux ---------------------------------------------------------------------------------------- */

typedef struct flux_state {
    bool relu;
    pgcn_i_csr both[2]; /* copies of T and its transpose, side by side for the live rows */
} flux_state;

/* What both passes have in common. */
static pgcn_i_flux flux_args(const pgcn_i_op *op) {
    const flux_state *state = op->state;
    const pgcn_i_transition *t = op->transition;
    pgcn_i_flux args = {.a = {t->exact, t->symmetric ? NULL : t->exact_t},
                        .flow = {PGCN_I_FLOW_TANH, PGCN_I_FLOW_TANH},
                        .factor = t->symmetric && !state->relu ? 2 : 1,
                        .c = op->out->cols,
                        .p = op->in[0]->data};
    if (!state->relu) return args;
    args.flow[0] = t->symmetric ? PGCN_I_FLOW_LINEAR : PGCN_I_FLOW_POSITIVE;
    args.flow[1] = PGCN_I_FLOW_NEGATIVE;
    return args;
}

/* Sample by sample: `args` is that of sample 0. */
static void run_flux(const pgcn_i_tape *tape, const pgcn_i_transition *transition, pgcn_i_flux args,
                     pgcn_i_rows rows) {
    const pgcn_i_flux all = args;
    for (int64_t i = 0; i < rows.count;) {
        pgcn_i_rows part = pgcn_i_rows_of_sample(transition, rows, i);
        args.first = pgcn_i_sample_begin(transition, part);
        args.p = all.p + args.first * all.c;
        args.g = all.g ? all.g + args.first * all.c : NULL;
        args.live = all.live ? all.live + args.first : NULL;
        tape->kernels->flux(&args, part);
        if (args.g) args.out += part.count * args.c;
        i += part.count;
    }
}

static void flux_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    pgcn_i_flux args = flux_args(op);
    args.out = op->out->data;
    run_flux(tape, op->transition, args, rows);
}

static void flux_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    pgcn_i_flux args = flux_args(op);
    args.g = op->out->grad;
    args.out = tile.dx;
    args.live = op->live_out ? op->live_out->flag : NULL;
    run_flux(tape, op->transition, args, tile.rows);
}

/* A draw of edges has changed what T holds since the last time. */
static pgcn_i_reach flux_reach(const pgcn_i_op *op) {
    flux_state *state = op->state;
    const pgcn_i_transition *t = op->transition;
    state->both[0] = *t->exact;
    if (!t->symmetric) state->both[1] = *t->exact_t;
    return (pgcn_i_reach){
        .hop = state->both, .hops = t->symmetric ? 1 : 2, .n = t->n, .others = t->others};
}

typedef struct flux_job {
    const pgcn_i_trace *trace;
    pgcn_i_flux args;
    const pgcn_i_adjoint *g;
    pgcn_i_adjoint *to;
} flux_job;

/* s(d) / d, what an entry lets through, held fixed as a ReLU's gate is. */
static float let_through(pgcn_i_flow flow, float d) {
    switch (flow) {
    case PGCN_I_FLOW_TANH: return d == 0 ? 1 : tanhf(d) / d;
    case PGCN_I_FLOW_POSITIVE: return d > 0 ? 1 : 0;
    case PGCN_I_FLOW_NEGATIVE: return d < 0 ? 1 : 0;
    case PGCN_I_FLOW_LINEAR: break;
    }
    return 1;
}

/* q_i has w^2 rho (p_i - p_j) of an entry: p_i is at the node itself, p_j one hop further. */
static void flux_entry(const flux_job *job, int which, int64_t i, int64_t e, int64_t ch) {
    const pgcn_i_flux *args = &job->args;
    const pgcn_i_csr *a = args->a[which];
    int64_t row = job->g->row[i], other = a->column[e];
    float w = a->value[e], d = w * (args->p[row * args->c + ch] - args->p[other * args->c + ch]);
    float share = args->factor * w * w * let_through(args->flow[which], d);
    if (other == row) return;
    for (int p = 0; p < job->g->planes; p++) {
        float flows = share * pgcn_i_adjoint_at(job->g, p, i)[ch];
        int further = pgcn_i_trace_plane(job->trace, p, 1);
        pgcn_i_adjoint_at(job->to, p, job->to->place[row])[ch] += flows;
        pgcn_i_adjoint_at(job->to, further, job->to->place[other])[ch] -= flows;
    }
}

static void flux_column_task(void *context, int64_t ch, int worker) {
    (void)worker;
    const flux_job *job = context;
    for (int which = 0; which < 2 && job->args.a[which]; which++) {
        const int64_t *offset = job->args.a[which]->offset;
        for (int64_t i = 0; i < job->g->count; i++)
            for (int64_t e = offset[job->g->row[i]]; e < offset[job->g->row[i] + 1]; e++)
                flux_entry(job, which, i, e, ch);
    }
}

/* Where the entries of a matrix lead to, and the rows themselves: all zero. */
static pgcn_i_adjoint *flux_reached(pgcn_i_trace *trace, const pgcn_i_adjoint *g,
                                    const pgcn_i_csr *a) {
    return pgcn_i_adjoint_along(trace, g,
                                (pgcn_i_along){.a = a, .hops = 1, .factor = 0, .self = 1});
}

static void flux_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    flux_job job = {trace, flux_args(op), g, flux_reached(trace, g, flux_args(op).a[0])};
    if (job.args.a[1]) {
        pgcn_i_adjoint *second = flux_reached(trace, g, job.args.a[1]);
        if (second) job.to = pgcn_i_adjoint_add(trace, job.to, second, 1);
        pgcn_i_adjoint_free(second);
    }
    if (trace->status == PGCN_OK) {
        memset(job.to->data, 0,
               (size_t)(job.to->planes * job.to->count * g->cols) * sizeof *job.to->data);
        pgcn_i_parallel(trace->tape->pool, g->cols, flux_column_task, &job);
    }
    pgcn_i_adjoint_free(g);
    pgcn_i_trace_give(trace, op->in[0], job.to);
}

static const pgcn_i_kind flux_kind = {.name = "flux along links",
                                      .needs = PGCN_I_NEEDS_VISITED,
                                      .state_bytes = sizeof(flux_state),
                                      .forward_rows = flux_forward,
                                      .backward_rows = flux_backward,
                                      .backward_reads_in = true,
                                      .reach = flux_reach,
                                      .reach_back = flux_reach,
                                      .backward_gathers_in = true,
                                      .explain = flux_explain,
                                      .explain_reads_in = true};

pgcn_i_value *pgcn_i_op_flux(pgcn_i_tape *tape, pgcn_i_value *p,
                             const pgcn_i_transition *transition, bool relu) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &flux_kind,
        (pgcn_i_ports){.in = {p}, .transition = transition, .rows = p->rows, .cols = p->cols});
    if (!op) return NULL;
    *(flux_state *)op->state = (flux_state){.relu = relu};
    return op->out;
}

/* ---- momentum ------------------------------------------------------------------------------------ */

typedef struct momentum_state {
    double h;
    float r, u;              /* of this pass */
    double r_slope, u_slope; /* by m */
} momentum_state;

static void momentum_refresh(pgcn_i_tape *tape, pgcn_i_op *op) {
    momentum_state *state = op->state;
    double m = (double)*pgcn_i_value_of(tape->params, op->param[0]), h = state->h;
    double b = 1 / (1 + exp(-m)), below = b + (1 - b) * h, b_slope = b * (1 - b);
    state->r = (float)(b / below);
    state->u = (float)(h * h / below);
    state->r_slope = b_slope * h / (below * below);
    state->u_slope = -b_slope * h * h * (1 - h) / (below * below);
}

static void momentum_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    const momentum_state *state = op->state;
    int64_t c = op->out->cols, together = rows.row ? 1 : rows.count;
    for (int64_t i = 0; i < rows.count; i += together) {
        int64_t begin = pgcn_i_row(rows, i) * c, end = begin + together * c;
        tape->kernels->scale(op->out->data, -state->u, op->in[0]->data, begin, end, false);
        if (op->in[1])
            tape->kernels->scale(op->out->data, state->r, op->in[1]->data, begin, end, true);
    }
}

/* dz = -u g; dv (= or +=) r g; dm += sum of g (r' v - u' z). */
static void momentum_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    const momentum_state *state = op->state;
    int64_t c = op->out->cols;
    double of_v = 0, of_z = 0;
    for (int64_t i = 0; i < tile.rows.count; i++) {
        int64_t row = pgcn_i_row(tile.rows, i) * c;
        const float *g = tile.g + i * c, *z = op->in[0]->data + row;
        const float *v = op->in[1] ? op->in[1]->data + row : NULL;
        for (int64_t ch = 0; ch < c; ch++) of_z += (double)g[ch] * (double)z[ch];
        for (int64_t ch = 0; ch < c && v; ch++) of_v += (double)g[ch] * (double)v[ch];
        if (v) tape->kernels->scale(op->in[1]->grad + row, state->r, g, 0, c, op->add_in[1]);
        tape->kernels->scale(tile.dx + i * c, -state->u, g, 0, c, false);
    }
    tile.partial[0] += (float)(state->r_slope * of_v - state->u_slope * of_z);
}

static void momentum_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    const momentum_state *state = op->state;
    if (op->in[1]) pgcn_i_trace_give(trace, op->in[1], pgcn_i_adjoint_copy(trace, g, state->r));
    pgcn_i_trace_give(trace, op->in[0], pgcn_i_adjoint_copy(trace, g, -state->u));
    pgcn_i_adjoint_free(g);
}

static const pgcn_i_kind momentum_kind = {.name = "step with momentum",
                                          .needs = PGCN_I_NEEDS_ROW,
                                          .state_bytes = sizeof(momentum_state),
                                          .refresh = momentum_refresh,
                                          .forward_rows = momentum_forward,
                                          .backward_rows = momentum_backward,
                                          .backward_reads_in = true,
                                          .backward_reads_second = true,
                                          .explain = momentum_explain};

pgcn_i_value *pgcn_i_op_momentum(pgcn_i_tape *tape, pgcn_i_value *z, pgcn_i_value *v,
                                 pgcn_i_param *m, double h) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &momentum_kind,
        (pgcn_i_ports){.in = {z, v}, .param = {m}, .rows = z->rows, .cols = z->cols});
    if (!op) return NULL;
    ((momentum_state *)op->state)->h = h;
    op->partial_floats = 1;
    return op->out;
}

/* ---- drift -------------------------------------------------------------------------------------- */

typedef struct drift_state {
    float rate, source; /* of this pass: sigmoid(rate), source */
} drift_state;

static void drift_refresh(pgcn_i_tape *tape, pgcn_i_op *op) {
    drift_state *state = op->state;
    double rate = (double)*pgcn_i_value_of(tape->params, op->param[0]);
    state->rate = (float)(1 / (1 + exp(-rate)));
    state->source = *pgcn_i_value_of(tape->params, op->param[1]);
}

static void drift_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    const drift_state *state = op->state;
    int64_t c = op->out->cols, together = rows.row ? 1 : rows.count;
    for (int64_t i = 0; i < rows.count; i += together) {
        int64_t begin = pgcn_i_row(rows, i) * c, end = begin + together * c;
        tape->kernels->scale(op->out->data, state->rate, op->in[0]->data, begin, end, false);
        tape->kernels->scale(op->out->data, state->source, op->in[1]->data, begin, end, true);
    }
}

/* With s = sigmoid(rate):  dd = s g;  dx (= or +=) source g;  drate += s (1 - s) <g, d>;  dsource += <g, x>. */
static void drift_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    const drift_state *state = op->state;
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < tile.rows.count; i++) {
        int64_t at = pgcn_i_row(tile.rows, i) * c;
        const float *g = tile.g + i * c;
        tile.partial[0] +=
            state->rate * (1.0f - state->rate) * tape->kernels->dot(g, op->in[0]->data + at, c);
        tile.partial[1] += tape->kernels->dot(g, op->in[1]->data + at, c);
        tape->kernels->scale(op->in[1]->grad + at, state->source, g, 0, c, op->add_in[1]);
        tape->kernels->scale(tile.dx + i * c, state->rate, g, 0, c, false);
    }
}

static void drift_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    const drift_state *state = op->state;
    pgcn_i_trace_give(trace, op->in[1], pgcn_i_adjoint_copy(trace, g, state->source));
    pgcn_i_trace_give(trace, op->in[0], pgcn_i_adjoint_copy(trace, g, state->rate));
    pgcn_i_adjoint_free(g);
}

static const pgcn_i_kind drift_kind = {.name = "drift",
                                       .needs = PGCN_I_NEEDS_ROW,
                                       .state_bytes = sizeof(drift_state),
                                       .refresh = drift_refresh,
                                       .forward_rows = drift_forward,
                                       .backward_rows = drift_backward,
                                       .backward_reads_in = true,
                                       .backward_reads_second = true,
                                       .explain = drift_explain};

pgcn_i_value *pgcn_i_op_drift(pgcn_i_tape *tape, pgcn_i_value *d, pgcn_i_value *x,
                              pgcn_i_param *rate, pgcn_i_param *source) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &drift_kind,
        (pgcn_i_ports){.in = {d, x}, .param = {rate, source}, .rows = d->rows, .cols = d->cols});
    if (!op) return NULL;
    op->partial_floats = 2;
    return op->out;
}
