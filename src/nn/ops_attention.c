/* Attention over links, in three operations (GAT)
 *
 *   head scores    s_i = <z_i, target>,  t_j = <z_j, source>            of every head, [rows, 2 heads]
 *   edge softmax   a_ij = softmax over j of LeakyReLU(s_i + t_j)        [links, heads]
 *   attend         y_i = sum over j of a_ij v_j
 *
 * by products of rows in place of sums of scores, or as a gate beside them (SuperGAT, GRAND)
 *
 *   link dots      <q_i, k_j>, or its softmax over j                    [links, heads]
 *
 * and what networks of attention have besides: ELU and the mean over heads.
 *
 * Backward, with g the gradient of y: attend goes through the transposed lists once, where row j has v_j and
 * gathers the rows g_i. There dv_j = sum_i a_ij g_i, and da_ij = <g_i, v_j> goes to the place of its link in
 * `exact`, which nobody else writes (`link_t` says where). The softmax turns da into the gradient of s_i + t_j,
 * in the same array, row by row; its sum over the links of row i is ds_i, and over the transposed list of row j
 * dt_j. Products are alike: dq_i = sum_j dx_ij k_j over the links of row i, dk_j = sum_i dx_ij q_i over the
 * transposed list. Rows that do not matter (live.c) have links that do not matter.
 *
 * Of several ranks each goes through its own rows. What a link's row and its column have to tell each other then goes
 * from rank to rank: see links.c. */
#include "nn/ops.h"

#include <string.h>

/* ---- scores of nodes ------------------------------------------------------------------------------ */

static void scores_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    const pgcn_i_param *target = op->param[0], *source = op->param[1];
    int64_t c = op->in[0]->cols, together = rows.row ? 1 : rows.count;
    for (int64_t i = 0; i < rows.count; i += together) {
        int64_t row = pgcn_i_row(rows, i);
        tape->kernels->head_scores(op->out->data + row * op->out->cols, op->in[0]->data + row * c,
                                   pgcn_i_value_of(tape->params, target),
                                   pgcn_i_value_of(tape->params, source), together,
                                   target->shape[0], target->shape[1]);
    }
}

static void scores_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    const pgcn_i_param *target = op->param[0], *source = op->param[1];
    int64_t c = op->in[0]->cols, cols = op->out->cols;
    for (int64_t i = 0; i < tile.rows.count; i++)
        tape->kernels->head_scores_backward(
            tile.dx + i * c, tile.partial, tile.g + i * cols,
            op->in[0]->data + pgcn_i_row(tile.rows, i) * c, pgcn_i_value_of(tape->params, target),
            pgcn_i_value_of(tape->params, source), target->shape[0], target->shape[1]);
}

static const pgcn_i_kind scores_kind = {.name = "scores of heads",
                                        .needs = PGCN_I_NEEDS_ROW,
                                        .forward_rows = scores_forward,
                                        .backward_rows = scores_backward,
                                        .backward_reads_in = true};

pgcn_i_value *pgcn_i_op_head_scores(pgcn_i_tape *tape, pgcn_i_value *z, pgcn_i_param *target,
                                    pgcn_i_param *source) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &scores_kind,
        (pgcn_i_ports){
            .in = {z}, .param = {target, source}, .rows = z->rows, .cols = 2 * target->shape[0]});
    if (!op) return NULL;
    op->partial_floats = target->count + source->count;
    return op->out;
}

/* ---- what both operations on links know ------------------------------------------------------------ */

static pgcn_i_reach links_reach(const pgcn_i_op *op) {
    const pgcn_i_transition *t = op->transition;
    return (pgcn_i_reach){.hop = t->exact, .hops = 1, .n = t->n, .others = t->others};
}
static pgcn_i_reach links_back(const pgcn_i_op *op) {
    const pgcn_i_transition *t = op->transition;
    return (pgcn_i_reach){.hop = t->exact_t, .hops = 1, .n = t->n, .others = t->others};
}

/* The links of a sample, by the rows of a matrix: `exact` or its transpose. */
static pgcn_i_links sample_links(const pgcn_i_op *op, const pgcn_i_csr *a, pgcn_i_rows rows) {
    const pgcn_i_attention *attention = op->state;
    const pgcn_i_transition *transition = op->transition;
    int64_t first = pgcn_i_sample_begin(transition, rows);
    return (pgcn_i_links){.a = a,
                          .first = first,
                          .first_link =
                              first / transition->n * transition->exact->offset[transition->n],
                          .heads = attention->heads};
}

static const uint8_t *live_of_sample(const pgcn_i_tape *tape, const pgcn_i_op *op,
                                     pgcn_i_links links) {
    const uint8_t *has = pgcn_i_has_gradient(tape, op);
    return has ? has + links.first : NULL;
}

/* An operation whose result are the links of a view. */
static pgcn_i_op *record_links(pgcn_i_tape *tape, const pgcn_i_kind *kind, pgcn_i_value *x,
                               pgcn_i_value *second, const pgcn_i_attention *attention) {
    const pgcn_i_csr *exact = attention->transition->exact;
    return pgcn_i_tape_op(
        tape, kind,
        (pgcn_i_ports){.in = {x, second},
                       .transition = attention->transition,
                       .rows = exact->offset[exact->rows] * attention->transition->samples,
                       .cols = attention->heads,
                       .links = true});
}

/* Row by row of what matters, before the backward pass of rows. */
static void run_rows_of_links(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_task task) {
    pgcn_i_run_own(tape, op, pgcn_i_runs_of(tape, op->rows, op->live_out), 0, task, false);
}
static pgcn_i_rows rows_of_task(const pgcn_i_job *job, int64_t task) {
    const pgcn_i_live *live = job->op->live_out;
    const pgcn_i_range range = pgcn_i_runs_range(&job->runs, task);
    return (pgcn_i_rows){live ? live->row + range.begin : NULL, range.begin,
                         range.end - range.begin};
}

/* ---- edge softmax ------------------------------------------------------------------------------------ */

static pgcn_i_edge_softmax softmax_of(const pgcn_i_op *op, pgcn_i_rows rows) {
    const pgcn_i_attention *attention = op->state;
    pgcn_i_links links = sample_links(op, op->transition->exact, rows);
    return (pgcn_i_edge_softmax){.links = links,
                                 .score = op->in[0]->data + links.first * op->in[0]->cols,
                                 .gate = op->in[1] ? op->in[1]->data : NULL,
                                 .gate_gradient = op->in[1] ? op->in[1]->grad : NULL,
                                 .add_gate = op->add_in[1],
                                 .slope = (float)attention->slope,
                                 .coefficient = op->out->data,
                                 .gradient = op->out->grad};
}

/* Links of a row that have numbers of their own: those that follow each other together. */
static void mark_links(const pgcn_i_tape *tape, const pgcn_i_op *op, const int64_t *id,
                       int64_t begin, int64_t end) {
    const pgcn_i_attention *attention = op->state;
    int64_t heads = attention->heads;
    for (int64_t e = begin, run; e < end; e += run) {
        for (run = 1; e + run < end && id[e + run] == id[e] + run;) run++;
        pgcn_i_dropout drop =
            pgcn_i_drop(pgcn_i_dropout_domain(tape, op), attention->dropout, id[e] * heads);
        tape->kernels->mark_dropped(op->out->data + e * heads, &drop, run * heads);
    }
}

static void mark_dropped(const pgcn_i_tape *tape, const pgcn_i_op *op, pgcn_i_links links,
                         pgcn_i_rows rows) {
    const pgcn_i_attention *attention = op->state;
    const int64_t *link_id = op->transition->link_id;
    int64_t together = rows.row || link_id ? 1 : rows.count;
    for (int64_t i = 0; i < rows.count; i += together) {
        int64_t row = pgcn_i_row(rows, i) - links.first;
        int64_t begin = links.a->offset[row], end = links.a->offset[row + together];
        if (link_id) {
            mark_links(tape, op, link_id, begin, end);
            continue;
        }
        int64_t at = (links.first_link + begin) * links.heads;
        pgcn_i_dropout drop = pgcn_i_drop(pgcn_i_dropout_domain(tape, op), attention->dropout, at);
        tape->kernels->mark_dropped(op->out->data + at, &drop, (end - begin) * links.heads);
    }
}

static void softmax_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    const pgcn_i_attention *attention = op->state;
    for (int64_t i = 0; i < rows.count;) {
        pgcn_i_rows part = pgcn_i_rows_of_sample(op->transition, rows, i);
        pgcn_i_edge_softmax args = softmax_of(op, part);
        tape->kernels->edge_softmax(&args, part);
        if (attention->dropout > 0) mark_dropped(tape, op, args.links, part);
        i += part.count;
    }
}

/* From the gradient of coefficients to that of s_i + t_j, in place. */
static void softmax_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    pgcn_i_rows rows = rows_of_task(job, task);
    for (int64_t i = 0; i < rows.count;) {
        pgcn_i_rows part = pgcn_i_rows_of_sample(op->transition, rows, i);
        pgcn_i_edge_softmax args = softmax_of(op, part);
        job->tape->kernels->edge_softmax_backward(&args, part);
        i += part.count;
    }
}

static void softmax_backward_all(pgcn_i_tape *tape, pgcn_i_op *op) {
    run_rows_of_links(tape, op, softmax_task);
    pgcn_i_links_to_columns(tape, op, op->out->grad, op->out->cols);
}

/* The gradients of both scores of the rows of one sample. A row that does not matter has no ds. */
static void score_gradients(const pgcn_i_tape *tape, const pgcn_i_op *op, pgcn_i_rows rows,
                            float *dx) {
    const pgcn_i_attention *attention = op->state;
    const pgcn_i_transition *transition = op->transition;
    int64_t heads = attention->heads;
    pgcn_i_links links = sample_links(op, transition->exact, rows);
    const uint8_t *live = live_of_sample(tape, op, links);
    for (int64_t i = 0; i < rows.count; i++) {
        pgcn_i_rows row = {NULL, pgcn_i_row(rows, i), 1};
        if (live && !live[row.first - links.first])
            memset(dx + i * 2 * heads, 0, (size_t)heads * sizeof *dx);
        else
            tape->kernels->link_sum(dx + i * 2 * heads, 0, op->out->grad, &links, NULL, NULL, row);
    }
    links.a = transition->exact_t;
    tape->kernels->link_sum(dx + heads, 2 * heads, op->out->grad, &links, transition->link_t, live,
                            rows);
}

static void softmax_backward_rows(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    for (int64_t i = 0; i < tile.rows.count;) {
        pgcn_i_rows part = pgcn_i_rows_of_sample(op->transition, tile.rows, i);
        score_gradients(tape, op, part, tile.dx + i * op->in[0]->cols);
        i += part.count;
    }
}

static const pgcn_i_kind softmax_kind = {.name = "softmax over links",
                                         .needs = PGCN_I_NEEDS_VISITED,
                                         .state_bytes = sizeof(pgcn_i_attention),
                                         .forward_rows = softmax_forward,
                                         .backward_all = softmax_backward_all,
                                         .backward_rows = softmax_backward_rows,
                                         .backward_reads_in = true,
                                         .backward_reads_out = true,
                                         .backward_reads_second = true,
                                         .reach = links_reach,
                                         .reach_back = links_back,
                                         .shares = true};

pgcn_i_value *pgcn_i_op_edge_softmax(pgcn_i_tape *tape, pgcn_i_value *scores, pgcn_i_value *gate,
                                     pgcn_i_attention attention) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = record_links(tape, &softmax_kind, scores, gate, &attention);
    if (!op) return NULL;
    if (!tape->with_grad) attention.dropout = 0; /* inference keeps everything */
    *(pgcn_i_attention *)op->state = attention;
    return op->out;
}

/* ---- products of rows -------------------------------------------------------------------------------- */

typedef struct dots_state {
    pgcn_i_attention attention; /* comes first: see links_reach */
    pgcn_i_dots dots;
} dots_state;

/* Queries and keys are the same columns, or the first and the second half of them. */
static int64_t columns_of(const pgcn_i_op *op) {
    bool apart = ((const dots_state *)op->state)->dots.apart;
    return apart ? op->in[0]->cols / 2 : op->in[0]->cols;
}
static int64_t first_key(const pgcn_i_op *op) {
    return op->in[0]->cols - columns_of(op);
}

static pgcn_i_edge_softmax dots_softmax(const pgcn_i_op *op, pgcn_i_links links) {
    return (pgcn_i_edge_softmax){
        .links = links, .coefficient = op->out->data, .gradient = op->out->grad};
}

static void dots_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    const dots_state *state = op->state;
    const pgcn_i_transition *transition = op->transition;
    int64_t c = op->in[0]->cols;
    for (int64_t i = 0; i < rows.count;) {
        pgcn_i_rows part = pgcn_i_rows_of_sample(transition, rows, i);
        pgcn_i_links links = sample_links(op, transition->exact, part);
        const float *x = op->in[0]->data + links.first * c;
        pgcn_i_link_dots args = {.query = x,
                                 .key = x + first_key(op),
                                 .c = c,
                                 .width = columns_of(op) / links.heads,
                                 .scale = (float)state->dots.scale};
        tape->kernels->link_dots(op->out->data, &links, &args, part);
        pgcn_i_edge_softmax softmax = dots_softmax(op, links);
        if (state->dots.softmax) tape->kernels->edge_softmax(&softmax, part);
        i += part.count;
    }
}

static void dots_softmax_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    pgcn_i_rows rows = rows_of_task(job, task);
    for (int64_t i = 0; i < rows.count;) {
        pgcn_i_rows part = pgcn_i_rows_of_sample(op->transition, rows, i);
        pgcn_i_edge_softmax args = dots_softmax(op, sample_links(op, op->transition->exact, part));
        job->tape->kernels->edge_softmax_backward(&args, part);
        i += part.count;
    }
}

static void dots_backward_all(pgcn_i_tape *tape, pgcn_i_op *op) {
    if (((const dots_state *)op->state)->dots.softmax)
        run_rows_of_links(tape, op, dots_softmax_task);
    pgcn_i_links_to_columns(tape, op, op->out->grad, op->out->cols);
}

/* out[i] = scale times the sum over the links of a row, of `exact` or of its transpose, of dx times columns of x. */
static void sum_of_rows(const pgcn_i_tape *tape, const pgcn_i_op *op, pgcn_i_rows rows,
                        bool transposed, float *out) {
    const dots_state *state = op->state;
    const pgcn_i_transition *transition = op->transition;
    pgcn_i_links links =
        sample_links(op, transposed ? transition->exact_t : transition->exact, rows);
    int64_t c = op->in[0]->cols;
    const uint8_t *live = live_of_sample(tape, op, links);
    pgcn_i_attend args = {.links = links,
                          .number = transposed ? transition->link_t : NULL,
                          .x = op->in[0]->data + links.first * c + (transposed ? 0 : first_key(op)),
                          .x_c = c,
                          .c = columns_of(op),
                          .coefficient = op->out->grad,
                          .is_plain = true,
                          .scale = (float)state->dots.scale,
                          .packed = true,
                          .out_c = c,
                          .live = transposed ? live : NULL};
    for (int64_t i = 0, run; i < rows.count; i += run) {
        run = transposed || !live ? rows.count : 1;
        args.out = out + i * c;
        if (run == 1 && live && !transposed && !live[pgcn_i_row(rows, i) - links.first])
            memset(args.out, 0, (size_t)args.c * sizeof *out);
        else
            tape->kernels->attend(
                &args, (pgcn_i_rows){rows.row ? rows.row + i : NULL, rows.first + i, run});
    }
}

static void dots_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    const dots_state *state = op->state;
    int64_t c = op->in[0]->cols;
    float *other = pgcn_i_tile(tape, tile.worker);
    for (int64_t i = 0; i < tile.rows.count;) {
        pgcn_i_rows part = pgcn_i_rows_of_sample(op->transition, tile.rows, i);
        float *dx = tile.dx + i * c;
        sum_of_rows(tape, op, part, false, dx);
        sum_of_rows(tape, op, part, true, state->dots.apart ? dx + first_key(op) : other);
        if (!state->dots.apart) tape->kernels->scale(dx, 1.0f, other, 0, part.count * c, true);
        i += part.count;
    }
}

static const pgcn_i_kind dots_kind = {.name = "products along links",
                                      .needs = PGCN_I_NEEDS_VISITED,
                                      .state_bytes = sizeof(dots_state),
                                      .forward_rows = dots_forward,
                                      .backward_all = dots_backward_all,
                                      .backward_rows = dots_backward,
                                      .backward_reads_in = true,
                                      .backward_reads_out = true,
                                      .reach = links_reach,
                                      .reach_back = links_back,
                                      .backward_gathers_in = true,
                                      .shares = true};

pgcn_i_value *pgcn_i_op_link_dots(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_dots dots,
                                  pgcn_i_attention attention) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = record_links(tape, &dots_kind, x, NULL, &attention);
    if (!op) return NULL;
    *(dots_state *)op->state = (dots_state){.attention = attention, .dots = dots};
    pgcn_i_tape_need(tape, 0, PGCN_BLOCK_ROWS * x->cols);
    return op->out;
}

/* ---- attend -------------------------------------------------------------------------------------------- */

static pgcn_i_attend attend_of(const pgcn_i_op *op, pgcn_i_links links) {
    const pgcn_i_attention *attention = op->state;
    return (pgcn_i_attend){.links = links,
                           .c = op->out->cols,
                           .x_c = op->out->cols,
                           .out_c = op->out->cols,
                           .mean = attention->mean,
                           .self = (float)attention->self,
                           .coefficient = op->in[1]->data,
                           .scale = attention->dropout > 0 ? pgcn_i_drop_scale(attention->dropout)
                                                           : 1.0f,
                           .prefetch = pgcn_i_is_far(op->out)};
}

static void attend_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    for (int64_t i = 0; i < rows.count;) {
        pgcn_i_rows part = pgcn_i_rows_of_sample(op->transition, rows, i);
        pgcn_i_attend args = attend_of(op, sample_links(op, op->transition->exact, part));
        args.x = op->in[0]->data + args.links.first * args.c;
        args.out = op->out->data;
        tape->kernels->attend(&args, part);
        i += part.count;
    }
}

static void attend_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    for (int64_t i = 0; i < tile.rows.count;) {
        pgcn_i_rows part = pgcn_i_rows_of_sample(op->transition, tile.rows, i);
        pgcn_i_attend args = attend_of(op, sample_links(op, op->transition->exact_t, part));
        args.number = op->transition->link_t;
        args.x = op->out->grad + args.links.first * args.c;
        args.out = tile.dx + i * args.c;
        args.packed = true;
        args.live = live_of_sample(tape, op, args.links);
        args.own = op->in[0]->data;
        args.gradient = op->in[1]->grad;
        args.add = op->add_in[1];
        tape->kernels->attend(&args, part);
        i += part.count;
    }
}

/* By the coefficients as they are: how they came about is not explained. A node's own link is no hop. */
static void attend_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    const pgcn_i_attention *attention = op->state;
    pgcn_i_trace_give(trace, op->in[0],
                      pgcn_i_adjoint_along(trace, g,
                                           (pgcn_i_along){.a = attention->transition->exact,
                                                          .hops = 1,
                                                          .stays = true,
                                                          .factor = 1,
                                                          .self = (float)attention->self,
                                                          .coefficient = op->in[1]->data,
                                                          .heads = attention->heads,
                                                          .mean = attention->mean}));
    pgcn_i_adjoint_free(g);
}

static const pgcn_i_kind attend_kind = {.name = "attention",
                                        .needs = PGCN_I_NEEDS_VISITED,
                                        .state_bytes = sizeof(pgcn_i_attention),
                                        .forward_rows = attend_forward,
                                        .backward_rows = attend_backward,
                                        .backward_reads_in = true,
                                        .backward_reads_second = true,
                                        .reach = links_reach,
                                        .reach_back = links_back,
                                        .explain = attend_explain,
                                        .explain_reads_second = true};

pgcn_i_value *pgcn_i_op_attend(pgcn_i_tape *tape, pgcn_i_value *v, pgcn_i_value *coefficients,
                               pgcn_i_attention attention) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(tape, &attend_kind,
                                   (pgcn_i_ports){.in = {v, coefficients},
                                                  .transition = attention.transition,
                                                  .rows = v->rows,
                                                  .cols = v->cols});
    if (!op) return NULL;
    if (!tape->with_grad) attention.dropout = 0;
    *(pgcn_i_attention *)op->state = attention;
    return op->out;
}

/* ---- ELU ------------------------------------------------------------------------------------------------- */

static void elu_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    const float *bias = op->param[0] ? pgcn_i_value_of(tape->params, op->param[0]) : NULL;
    int64_t c = op->out->cols, together = rows.row ? 1 : rows.count;
    for (int64_t i = 0; i < rows.count; i += together) {
        int64_t at = pgcn_i_row(rows, i) * c;
        tape->kernels->elu(op->out->data + at, op->in[0]->data + at, bias, together, c);
    }
}

static void elu_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    const pgcn_i_rows rows = tile.rows;
    int64_t c = op->out->cols, together = rows.row ? 1 : rows.count;
    for (int64_t i = 0; i < rows.count; i += together)
        tape->kernels->elu_backward(tile.dx + i * c, tile.g + i * c,
                                    op->out->data + pgcn_i_row(rows, i) * c, 0, together * c);
    if (op->param[0]) tape->kernels->column_sum(tile.partial, tile.dx, 0, rows.count, c);
}

typedef struct elu_gate {
    const float *x, *y, *bias;
} elu_gate;

/* ELU(x) = (ELU(x) / x) x, with the ratio held fixed as a ReLU's gate is. */
static void elu_row(const void *context, float *g, int64_t row, int64_t cols) {
    const elu_gate *gate = context;
    for (int64_t ch = 0; ch < cols; ch++) {
        float x = gate->x[row * cols + ch] + (gate->bias ? gate->bias[ch] : 0);
        if (x < 0) g[ch] *= gate->y[row * cols + ch] / x;
    }
}

static void elu_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    const pgcn_i_param *bias = op->param[0];
    const elu_gate gate = {op->in[0]->data, op->out->data,
                           bias ? pgcn_i_value_of(trace->tape->params, bias) : NULL};
    pgcn_i_adjoint_each(trace, g, elu_row, &gate);
    if (bias) pgcn_i_trace_constant(trace, bias, g, gate.bias);
    pgcn_i_trace_give(trace, op->in[0], g);
}

static const pgcn_i_kind elu_kind = {.name = "ELU",
                                     .needs = PGCN_I_NEEDS_ROW,
                                     .forward_rows = elu_forward,
                                     .backward_rows = elu_backward,
                                     .backward_reads_out = true,
                                     .explain = elu_explain,
                                     .explain_reads_in = true,
                                     .explain_reads_out = true};

pgcn_i_value *pgcn_i_op_elu(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *b) {
    if (tape->status != PGCN_OK) return NULL;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &elu_kind, (pgcn_i_ports){.in = {x}, .param = {b}, .rows = x->rows, .cols = x->cols});
    if (!op) return NULL;
    op->partial_floats = b ? b->count : 0;
    return op->out;
}

/* ---- mean over heads --------------------------------------------------------------------------------------- */

typedef struct mean_state {
    int heads;
} mean_state;

static void mean_forward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker) {
    (void)worker;
    int heads = ((const mean_state *)op->state)->heads;
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < rows.count; i++) {
        int64_t row = pgcn_i_row(rows, i);
        for (int h = 0; h < heads; h++)
            tape->kernels->scale(op->out->data + row * c, 1.0f / (float)heads,
                                 op->in[0]->data + (row * heads + h) * c, 0, c, h > 0);
    }
}

static void mean_backward(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile) {
    int heads = ((const mean_state *)op->state)->heads;
    int64_t c = op->out->cols;
    for (int64_t i = 0; i < tile.rows.count; i++)
        for (int h = 0; h < heads; h++)
            tape->kernels->scale(tile.dx + (i * heads + h) * c, 1.0f / (float)heads, tile.g + i * c,
                                 0, c, false);
}

static void mean_explain(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g) {
    int heads = ((const mean_state *)op->state)->heads;
    pgcn_i_adjoint *to = pgcn_i_adjoint_like(trace, g, op->in[0]->cols);
    for (int64_t at = 0; to && at < g->planes * g->count * heads; at++)
        trace->tape->kernels->scale(to->data + at * g->cols, 1.0f / (float)heads,
                                    g->data + at / heads * g->cols, 0, g->cols, false);
    pgcn_i_adjoint_free(g);
    pgcn_i_trace_give(trace, op->in[0], to);
}

static const pgcn_i_kind mean_kind = {.name = "mean over heads",
                                      .needs = PGCN_I_NEEDS_ROW,
                                      .state_bytes = sizeof(mean_state),
                                      .forward_rows = mean_forward,
                                      .backward_rows = mean_backward,
                                      .explain = mean_explain};

pgcn_i_value *pgcn_i_op_head_mean(pgcn_i_tape *tape, pgcn_i_value *x, int heads) {
    if (tape->status != PGCN_OK || heads == 1) return x;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &mean_kind, (pgcn_i_ports){.in = {x}, .rows = x->rows, .cols = x->cols / heads});
    if (!op) return NULL;
    ((mean_state *)op->state)->heads = heads;
    return op->out;
}
