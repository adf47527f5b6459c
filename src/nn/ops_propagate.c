/* Convolutions with the exact transition T, whose coefficients are not learnt:
 *
 *   propagate    y = self x + neighbours T x + share r          GCN, GCNII, means over neighbours
 *   diffuse      y_0 = x,  y_{t+1} = (1 - a) T y_t + a x        K steps of personalised PageRank (APPNP)
 *   chebyshev    y = sum_k T_k(L^) z_k                          z = [z_0 .. z_K] side by side (ChebNet)
 *
 * All are linear, so that their backward passes are the same sums with T transposed, and no power of T is kept:
 * diffuse and chebyshev alternate between two scratch arrays. */
#include "nn/ops.h"

#include <string.h>

/* ---- what they share --------------------------------------------------------------------------- */

/* Runs the kernel sample by sample: `args` is that of sample 0 and its x the first row of all. */
static void run_rows(const pgcn_i_tape *tape, const pgcn_i_transition *transition,
                     pgcn_i_propagate args, pgcn_i_rows rows) {
    const float *x = args.x;
    const uint8_t *live = args.live;
    for (int64_t i = 0; i < rows.count;) {
        pgcn_i_rows part = pgcn_i_rows_of_sample(transition, rows, i);
        args.first = pgcn_i_sample_begin(transition, part);
        args.x = x + args.first * args.x_c;
        args.live = live ? live + args.first : NULL;
        tape->kernels->propagate(&args, part);
        if (args.packed) args.out += part.count * args.out_c;
        i += part.count;
    }
}

/* ---- propagate --------------------------------------------------------------------------------- */

typedef struct propagate_state {
    float self, neighbours, share;
} propagate_state;

static void propagate_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    const propagate_state *state = op->state;
    int64_t c = op->out->cols;
    pgcn_i_propagate args = {.a = op->transition->exact,
                             .x = op->in[0]->data,
                             .x_c = c,
                             .out = op->out->data,
                             .out_c = c,
                             .width = c,
                             .self = state->self,
                             .neighbours = state->neighbours,
                             .prefetch = pgcn_i_is_far(op->in[0])};
    if (op->in[1]) {
        args.plus[0].x = op->in[1]->data;
        args.plus[0].c = c;
        args.plus[0].share = state->share;
    }
    run_rows(tape, op->transition, args, rows);
}

static void propagate_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    const propagate_state *state = op->state;
    int64_t c = op->out->cols;
    pgcn_i_propagate args = {.a = op->transition->exact_t,
                             .x = op->out->grad,
                             .x_c = c,
                             .out = tile.dx,
                             .out_c = c,
                             .packed = true,
                             .width = c,
                             .self = state->self,
                             .neighbours = state->neighbours,
                             .live = pgcn_i_has_gradient(tape, op),
                             .prefetch = pgcn_i_is_far(op->out)};
    run_rows(tape, op->transition, args, tile.rows);
    if (op->in[1]) pgcn_i_residual_gradient(tape, op, state->share, tile);
}

static pgcn_i_reach propagate_reach(const pgcn_i_op *op) {
    const pgcn_i_transition *transition = op->transition;
    return (pgcn_i_reach){
        .hop = transition->exact, .hops = 1, .n = transition->n, .others = transition->others};
}

static pgcn_i_reach propagate_back(const pgcn_i_op *op) {
    const pgcn_i_transition *transition = op->transition;
    return (pgcn_i_reach){
        .hop = transition->exact_t, .hops = 1, .n = transition->n, .others = transition->others};
}

/* An entry of the diagonal, which a self-loop gives, is no hop: the node itself. */
static pgcn_i_along along_links(const pgcn_i_transition *transition, float self, float neighbours) {
    return (pgcn_i_along){
        .a = transition->exact, .hops = 1, .stays = true, .factor = neighbours, .self = self};
}

static void propagate_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    const propagate_state *state = op->state;
    if (op->in[1])
        pgcn_i_trace_give_residual(trace, op->in[1], pgcn_i_adjoint_copy(trace, g, state->share));
    pgcn_i_trace_give(trace, op->in[0],
                      pgcn_i_adjoint_along(
                          trace, g, along_links(op->transition, state->self, state->neighbours)));
    pgcn_i_adjoint_free(g);
}

static const pgcn_i_kind propagate_kind = {.name = "propagation",
                                           .needs = PGCN_I_NEEDS_VISITED,
                                           .state_bytes = sizeof(propagate_state),
                                           .forward_rows = propagate_forward,
                                           .backward_rows = propagate_backward,
                                           .reach = propagate_reach,
                                           .reach_back = propagate_back,
                                           .explain = propagate_explain};

pgcn_i_value *pgcn_i_op_propagate(pgcn_i_tape *tape, pgcn_i_value *x,
                                  const pgcn_i_transition *transition, pgcn_i_step step) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &propagate_kind,
        (pgcn_i_ports){
            .in = {x, step.residual}, .transition = transition, .rows = x->rows, .cols = x->cols});
    if (!op) return NULL;
    *(propagate_state *)op->state = (propagate_state){
        .self = (float)step.self, .neighbours = (float)step.neighbours, .share = (float)step.share};
    return op->out;
}

/* ---- several steps in one operation -------------------------------------------------------------- */

/* A step of diffuse or chebyshev over all rows, in blocks. */
typedef struct step_job {
    const pgcn_i_tape *tape;
    const pgcn_i_transition *transition;
    pgcn_i_propagate args;
    pgcn_i_runs runs;
} step_job;

static void step_task(void *context, int64_t task, int worker) {
    (void)worker;
    const step_job *job = context;
    const pgcn_i_range rows = pgcn_i_runs_range(&job->runs, task);
    run_rows(job->tape, job->transition, job->args,
             (pgcn_i_rows){NULL, rows.begin, rows.end - rows.begin});
}

/* Step `step` of an operation, 0 being the last: along the transition or, with args.a set, its transpose. */
static void run_step(pgcn_i_tape *tape, const pgcn_i_op *op, int step, pgcn_i_propagate args) {
    const pgcn_i_transition *transition = pgcn_i_step_transition(tape, op, step);
    step_job job = {tape, transition, args,
                    pgcn_i_runs_of(tape, pgcn_i_step_rows(tape, op, step), NULL)};
    if (!args.a) job.args.a = transition->exact;
    job.args.prefetch = pgcn_i_is_far(op->out);
    pgcn_i_share_fetch(tape, op, job.args.a, (float *)(uintptr_t)args.x, args.x_c, op->out->cols);
    pgcn_i_parallel(tape->pool, pgcn_i_runs_tasks(&job.runs), step_task, &job);
}

/* One of the two scratch arrays. */
static float *scratch(const pgcn_i_tape *tape, const pgcn_i_op *op, int which) {
    return tape->power + (which % 2) * pgcn_i_share_room(tape, op->used[0]) * op->out->cols;
}

/* ---- diffuse ------------------------------------------------------------------------------------- */

typedef struct diffuse_state {
    int steps;
    float alpha;
} diffuse_state;

/* `steps` steps from x along the matrix, NULL being T; the last one to `out`, added to what is there if `add`. */
static void diffuse(pgcn_i_tape *tape, const pgcn_i_op *op, const pgcn_i_csr *a, const float *x,
                    float *out, bool add) {
    const diffuse_state *state = op->state;
    int64_t c = op->out->cols;
    const float *from = x;
    for (int t = 1; t <= state->steps; t++) {
        bool is_last = t == state->steps;
        float *to = is_last ? out : scratch(tape, op, t);
        pgcn_i_propagate args = {.a = a,
                                 .x = from,
                                 .x_c = c,
                                 .out = to,
                                 .out_c = c,
                                 .width = c,
                                 .neighbours = 1 - state->alpha,
                                 .plus = {{x, c, state->alpha}}};
        if (is_last && add) {
            args.plus[1].x = out;
            args.plus[1].c = c;
            args.plus[1].share = 1;
        }
        run_step(tape, op, state->steps - t, args);
        from = to;
    }
}

static void diffuse_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    diffuse(tape, op, NULL, op->in[0]->data, op->out->data, false);
}

static void diffuse_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    diffuse(tape, op, op->transition->exact_t, op->out->grad, op->in[0]->grad, op->add_in[0]);
}

/* The share alpha of x in every step is a residual. */
static void diffuse_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    const diffuse_state *state = op->state;
    const pgcn_i_along along = along_links(op->transition, 0, 1 - state->alpha);
    for (int t = 0; t < state->steps && trace->status == PGCN_OK; t++) {
        pgcn_i_adjoint *next = pgcn_i_adjoint_along(trace, g, along);
        pgcn_i_trace_give_residual(trace, op->in[0], pgcn_i_adjoint_copy(trace, g, state->alpha));
        pgcn_i_adjoint_free(g);
        g = next;
    }
    pgcn_i_trace_give(trace, op->in[0], g);
}

static int diffuse_steps(const pgcn_i_op *op) {
    return ((const diffuse_state *)op->state)->steps;
}

static const pgcn_i_kind diffuse_kind = {.name = "diffusion",
                                         .steps = diffuse_steps,
                                         .shares = true,
                                         .needs = PGCN_I_NEEDS_ALL,
                                         .state_bytes = sizeof(diffuse_state),
                                         .forward_all = diffuse_forward,
                                         .backward_all = diffuse_backward,
                                         .uses_power = true,
                                         .explain = diffuse_explain};

pgcn_i_value *pgcn_i_op_diffuse(pgcn_i_tape *tape, pgcn_i_value *x,
                                const pgcn_i_transition *transition, int steps, double alpha) {
    if (tape->status != PGCN_OK || steps == 0) return x;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &diffuse_kind,
        (pgcn_i_ports){.in = {x}, .transition = transition, .rows = x->rows, .cols = x->cols});
    if (!op) return NULL;
    *(diffuse_state *)op->state = (diffuse_state){.steps = steps, .alpha = (float)alpha};
    pgcn_i_tape_need_powers(tape, 2 * pgcn_i_share_room(tape, x->rows) * x->cols);
    return op->out;
}

/* ---- chebyshev ----------------------------------------------------------------------------------- */

typedef struct cheb_state {
    pgcn_i_param *largest; /* [1] eigenvalue of the Laplacian */
    int order;
} cheb_state;

/* `factor` times L^ x,  L^ = 2 L / largest - I,  L = I - T. */
static pgcn_i_propagate laplacian_step(const pgcn_i_tape *tape, const pgcn_i_op *op,
                                       const pgcn_i_csr *a, float factor) {
    const cheb_state *state = op->state;
    float share = 2.0f / *pgcn_i_value_of(tape->params, state->largest);
    return (pgcn_i_propagate){.a = a,
                              .out_c = op->out->cols,
                              .width = op->out->cols,
                              .self = factor * (share - 1),
                              .neighbours = -factor * share};
}

/* Clenshaw's rule:  b_k = z_k + 2 L^ b_{k+1} - b_{k+2},  y = z_0 + L^ b_1 - b_2. Two arrays are enough: b_k
 * takes the place of b_{k+2}, of which it needs the same row. */
static void cheb_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    const cheb_state *state = op->state;
    const pgcn_i_value *y = op->out;
    int64_t c = y->cols, wide = op->in[0]->cols;
    const float *z = op->in[0]->data;
    const float *next = z + state->order * c, *after = NULL; /* b_{k+1}, b_{k+2} */
    int64_t next_c = wide, after_c = 0;
    for (int k = state->order - 1; k >= 0; k--) {
        pgcn_i_propagate args = laplacian_step(tape, op, NULL, k == 0 ? 1 : 2);
        args.x = next;
        args.x_c = next_c;
        args.out = k == 0 ? y->data : scratch(tape, op, k);
        args.plus[0].x = z + k * c;
        args.plus[0].c = wide;
        args.plus[0].share = 1;
        args.plus[1].x = after;
        args.plus[1].c = after_c;
        args.plus[1].share = -1;
        run_step(tape, op, k, args);
        after = next;
        after_c = next_c;
        next = args.out;
        next_c = c;
    }
}

static void first_gradient_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const pgcn_i_range rows = pgcn_i_runs_range(&job->runs, task);
    int64_t c = op->out->cols;
    for (int64_t r = rows.begin; r < rows.end; r++)
        memcpy(op->in[0]->grad + r * op->in[0]->cols, op->out->grad + r * c,
               (size_t)c * sizeof *op->out->grad);
}

/* dz_0 = g,  dz_1 = L^T g,  dz_k = 2 L^T dz_{k-1} - dz_{k-2}: the polynomials themselves, each where it
 * belongs. z has no other user, so nothing is added. */
static void cheb_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    const cheb_state *state = op->state;
    const pgcn_i_value *y = op->out;
    int64_t c = y->cols, wide = op->in[0]->cols;
    float *dz = op->in[0]->grad;
    pgcn_i_run_own(tape, op, pgcn_i_runs_of(tape, y->rows, NULL), 0, first_gradient_task, true);
    for (int k = 1; k <= state->order; k++) {
        pgcn_i_propagate args = laplacian_step(tape, op, op->transition->exact_t, k == 1 ? 1 : 2);
        args.x = dz + (k - 1) * c;
        args.x_c = args.out_c = wide;
        args.out = dz + k * c;
        if (k > 1) {
            args.plus[0].x = dz + (k - 2) * c;
            args.plus[0].c = wide;
            args.plus[0].share = -1;
        }
        run_step(tape, op, 0, args);
    }
}

/* The adjoint of columns k c .. of z. */
static pgcn_i_adjoint *among_columns(pgcn_i_trace *trace, const pgcn_i_adjoint *g, int64_t wide,
                                     int k) {
    pgcn_i_adjoint *to = pgcn_i_adjoint_like(trace, g, wide);
    for (int64_t at = 0; to && at < g->planes * g->count; at++)
        memcpy(to->data + at * wide + k * g->cols, g->data + at * g->cols,
               (size_t)g->cols * sizeof *g->data);
    return to;
}

/* The polynomials of L^T, as in the backward pass. */
static void cheb_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    const cheb_state *state = op->state;
    float share = 2.0f / *pgcn_i_value_of(trace->tape->params, state->largest);
    pgcn_i_adjoint *before = NULL;
    for (int k = 0; k <= state->order && trace->status == PGCN_OK; k++) {
        pgcn_i_trace_give(trace, op->in[0], among_columns(trace, g, op->in[0]->cols, k));
        if (k == state->order) break;
        float factor = k == 0 ? 1 : 2;
        pgcn_i_adjoint *next = pgcn_i_adjoint_along(
            trace, g, along_links(op->transition, factor * (share - 1), -factor * share));
        if (before && next) next = pgcn_i_adjoint_add(trace, next, before, -1);
        pgcn_i_adjoint_free(before);
        before = g;
        g = next;
    }
    pgcn_i_adjoint_free(before);
    pgcn_i_adjoint_free(g);
}

static int cheb_steps(const pgcn_i_op *op) {
    return ((const cheb_state *)op->state)->order;
}

static const pgcn_i_kind cheb_kind = {.name = "Chebyshev polynomials",
                                      .steps = cheb_steps,
                                      .shares = true,
                                      .needs = PGCN_I_NEEDS_ALL,
                                      .state_bytes = sizeof(cheb_state),
                                      .forward_all = cheb_forward,
                                      .backward_all = cheb_backward,
                                      .uses_power = true,
                                      .explain = cheb_explain};

pgcn_i_value *pgcn_i_op_chebyshev(pgcn_i_tape *tape, pgcn_i_value *z,
                                  const pgcn_i_transition *transition, int order,
                                  pgcn_i_param *largest) {
    if (tape->status != PGCN_OK || order == 0) return z;
    int64_t c = z->cols / (order + 1);
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &cheb_kind,
        (pgcn_i_ports){.in = {z}, .transition = transition, .rows = z->rows, .cols = c});
    if (!op) return NULL;
    *(cheb_state *)op->state = (cheb_state){.largest = largest, .order = order};
    pgcn_i_tape_need_powers(tape, 2 * pgcn_i_share_room(tape, z->rows) * c);
    return op->out;
}
