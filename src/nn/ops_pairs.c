/* Telling links from pairs of nodes without one (SuperGAT's self-supervision): z goes through as it is, and the loss
 * has a term for it. With a pair (u, v), y = 1 for a link and 0 elsewhere:
 *
 *   l = <z_u, z_v> / heads,   term = weight times the mean over all pairs of log(1 + exp(-l)) + (1 - y) l
 *   c = weight (sigmoid(l) - y) / (pairs heads),   dz_u += c z_v,  dz_v += c z_u
 *
 * Pairs are drawn in every step from counters: a link is one with the probability `sample`; pair number k without a
 * link takes two nodes of the view, again and again while they are linked. A counting sort lists the pairs of every
 * row, by which rows gather their gradients. Serial but for products and gradients. Of several ranks all draw the same
 * pairs, whose ends may be any two rows: so each has all rows of z. It takes some of the products, and its own rows of
 * the copy and of the gradients. */
#include "nn/ops.h"

#include <math.h>
#include <string.h>

typedef struct pairs_state {
    pgcn_i_link_loss loss;
    uint8_t *kept;      /* [links of a sample] */
    int64_t count;      /* pairs of this pass */
    int64_t linked;     /* of which these come first */
    pgcn_node *row[2];  /* [most] rows of both ends */
    float *coefficient; /* [most] c */
    double *term;       /* [PGCN_MAX_BLOCKS] parts of the sum */
    double sum;
    int64_t *offset; /* [rows + 1] */
    int64_t *entry;  /* [2 most] by row: 2 pair + end */
} pairs_state;

/* ---- drawing ------------------------------------------------------------------------------------ */

static void add_pair(pairs_state *state, int64_t u, int64_t v) {
    state->row[0][state->count] = (pgcn_node)u;
    state->row[1][state->count++] = (pgcn_node)v;
}

/* The links of all rows. */
static const pgcn_i_csr *links_of(const pgcn_i_op *op) {
    return op->transition->whole ? op->transition->whole : op->transition->exact;
}

static bool is_link(const pgcn_i_csr *csr, pgcn_node u, pgcn_node v) {
    int64_t low = csr->offset[u], high = csr->offset[u + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (csr->column[middle] == v) return true;
        if (csr->column[middle] < v)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static void draw_links(const pgcn_i_tape *tape, const pgcn_i_op *op, int sample) {
    pairs_state *state = op->state;
    const pgcn_i_transition *t = op->transition;
    const pgcn_i_csr *all = links_of(op);
    int64_t links = all->offset[t->n], first = sample * t->n;
    tape->kernels->draw_kept(
        state->kept,
        pgcn_i_rng_domain_of(tape->seed, PGCN_I_RNG_LINKS, tape->step, op->index, sample),
        pgcn_i_drop_threshold(1 - state->loss.sample), 0, links);
    for (int64_t u = 0; u < t->n; u++)
        for (int64_t e = all->offset[u]; e < all->offset[u + 1]; e++)
            if (state->kept[e]) add_pair(state, first + u, first + all->column[e]);
}

/* Where nearly all pairs are linked, a pair that is never found is left out. */
static void draw_others(const pgcn_i_tape *tape, const pgcn_i_op *op, int sample) {
    enum { TRIES = 64 };
    pairs_state *state = op->state;
    const pgcn_i_transition *t = op->transition;
    pgcn_i_rng_domain domain =
        pgcn_i_rng_domain_of(tape->seed, PGCN_I_RNG_PAIRS, tape->step, op->index, sample);
    int64_t first = sample * t->n;
    int64_t wanted =
        (int64_t)(state->loss.negatives * state->loss.sample * (double)t->exact->offset[t->n]);
    for (int64_t k = 0; k < wanted; k++) {
        pgcn_i_stream random = pgcn_i_stream_of(domain, (uint64_t)k);
        for (int i = 0; i < TRIES; i++) {
            pgcn_node u = (pgcn_node)pgcn_i_bounded(&random, (uint32_t)t->n);
            pgcn_node v = (pgcn_node)pgcn_i_bounded(&random, (uint32_t)t->n);
            if (is_link(links_of(op), u, v)) continue;
            add_pair(state, first + u, first + v);
            break;
        }
    }
}

static void list_pairs(pairs_state *state, int64_t rows) {
    memset(state->offset, 0, (size_t)(rows + 1) * sizeof *state->offset);
    for (int end = 0; end < 2; end++)
        for (int64_t k = 0; k < state->count; k++) state->offset[state->row[end][k]]++;
    pgcn_i_counts_to_starts(state->offset, rows, 0);
    for (int64_t k = 0; k < 2 * state->count; k++)
        state->entry[state->offset[state->row[k % 2][k / 2]]++] = k;
    memmove(state->offset + 1, state->offset, (size_t)rows * sizeof *state->offset);
    state->offset[0] = 0;
}

/* ---- forward ------------------------------------------------------------------------------------ */

static void copy_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_range rows = pgcn_i_runs_range(&job->runs, task);
    const int64_t c = job->op->out->cols;
    memcpy(job->op->out->data + rows.begin * c, job->op->in[0]->data + rows.begin * c,
           (size_t)((rows.end - rows.begin) * c) * sizeof(float));
}

static void pairs_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const pairs_state *state = op->state;
    const int64_t block = job->first + task;
    int64_t c = op->out->cols, end = pgcn_i_block_end(job->blocks, block);
    double sum = 0, heads = state->loss.heads;
    for (int64_t k = pgcn_i_block_begin(job->blocks, block); k < end; k++) {
        const float *u = op->in[0]->data + state->row[0][k] * c;
        double l = (double)job->tape->kernels->dot(u, op->in[0]->data + state->row[1][k] * c, c);
        l /= heads;
        double y = k < state->linked ? 1 : 0, e = exp(-fabs(l));
        double sigmoid = l < 0 ? e / (1 + e) : 1 / (1 + e);
        sum += log1p(e) + fmax(l, 0) - y * l;
        state->coefficient[k] =
            (float)(state->loss.weight * (sigmoid - y) / ((double)state->count * heads));
    }
    state->term[block] = sum;
}

static void pairs_forward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pairs_state *state = op->state;
    pgcn_i_run_own(tape, op, pgcn_i_runs_of(tape, op->out->rows, NULL), 0, copy_task, true);
    state->count = 0;
    for (int s = 0; s < op->transition->samples; s++) draw_links(tape, op, s);
    state->linked = state->count;
    for (int s = 0; s < op->transition->samples; s++) draw_others(tape, op, s);
    list_pairs(state, op->out->rows);
    pgcn_i_share_see_all(tape, op->in[0]);
    pgcn_i_blocks blocks = pgcn_i_blocks_of(state->count);
    const pgcn_i_range mine = pgcn_i_share_blocks(tape, blocks.count);
    pgcn_i_job job = {.tape = tape, .op = op, .blocks = blocks, .first = mine.begin};
    pgcn_i_parallel(tape->pool, mine.end - mine.begin, pairs_task, &job);
    pgcn_i_share_join(tape, state->coefficient, sizeof *state->coefficient, blocks);
    pgcn_i_share_join(tape, state->term, sizeof *state->term,
                      (pgcn_i_blocks){.rows = blocks.count, .size = 1, .count = blocks.count});
    state->sum = 0;
    for (int64_t b = 0; b < blocks.count; b++) state->sum += state->term[b];
}

static double pairs_term(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    (void)tape;
    const pairs_state *state = op->state;
    return state->count > 0 ? state->loss.weight * state->sum / (double)state->count : 0;
}

/* ---- backward ----------------------------------------------------------------------------------- */

static void gradient_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pgcn_i_job *job = context;
    const pgcn_i_op *op = job->op;
    const pairs_state *state = op->state;
    const pgcn_i_range rows = pgcn_i_runs_range(&job->runs, task);
    int64_t c = op->out->cols;
    for (int64_t r = rows.begin; r < rows.end; r++) {
        float *dz = op->in[0]->grad + r * c;
        job->tape->kernels->scale(dz, 1.0f, op->out->grad + r * c, 0, c, op->add_in[0]);
        for (int64_t e = state->offset[r]; e < state->offset[r + 1]; e++) {
            int64_t k = state->entry[e] / 2, other = 1 - state->entry[e] % 2;
            job->tape->kernels->scale(dz, state->coefficient[k],
                                      op->in[0]->data + state->row[other][k] * c, 0, c, true);
        }
    }
}

static void pairs_backward(pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_run_own(tape, op, pgcn_i_runs_of(tape, op->out->rows, NULL), 0, gradient_task, false);
}

static const pgcn_i_kind pairs_kind = {.name = "telling links from other pairs",
                                       .needs = PGCN_I_NEEDS_ALL,
                                       .shares = true,
                                       .state_bytes = sizeof(pairs_state),
                                       .forward_all = pairs_forward,
                                       .backward_all = pairs_backward,
                                       .loss_term = pairs_term,
                                       .backward_reads_in = true};

pgcn_i_value *pgcn_i_op_link_loss(pgcn_i_tape *tape, pgcn_i_value *z, pgcn_i_link_loss loss) {
    if (tape->status != PGCN_OK || !tape->with_grad || loss.weight <= 0) return z;
    pgcn_i_op *op = pgcn_i_tape_op(
        tape, &pairs_kind,
        (pgcn_i_ports){.in = {z}, .transition = loss.transition, .rows = z->rows, .cols = z->cols});
    if (!op) return NULL;
    pairs_state *state = op->state;
    pgcn_i_arena *arena = &tape->arena;
    int64_t links = loss.transition->exact->offset[loss.transition->exact->rows];
    int64_t most = (int64_t)((1 + loss.negatives * loss.sample) * (double)links) + 1;
    most *= loss.transition->samples;
    state->loss = loss;
    state->kept = PGCN_I_ARRAY(arena, uint8_t, links);
    for (int end = 0; end < 2; end++) state->row[end] = PGCN_I_ARRAY(arena, pgcn_node, most);
    state->coefficient = PGCN_I_ARRAY(arena, float, most);
    state->term = PGCN_I_ARRAY(arena, double, PGCN_MAX_BLOCKS); /* fewer pairs may have more */
    state->offset = PGCN_I_ARRAY(arena, int64_t, z->rows + 1);
    state->entry = PGCN_I_ARRAY(arena, int64_t, 2 * most);
    if (!state->kept || !state->row[0] || !state->row[1] || !state->coefficient || !state->term ||
        !state->offset || !state->entry)
        tape->status = PGCN_ERR_MEMORY;
    return op->out;
}
