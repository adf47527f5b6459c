/* Values of links on several ranks. The value of link (i, j) belongs to the rank that has row i, its entry of the
 * transposed lists to the rank that has row j. Where these are two, the value is wanted by both in turn:
 *
 *   to columns   what row i's rank has found goes to row j's: coefficients, for the sum over a transposed list
 *   to rows      what row j's rank has found goes to row i's: gradients of coefficients
 *
 * Values travel as they are and nothing is added up on the way, so no bit depends on the number of ranks. Links that
 * lead from a rank's rows to rows of others, and links of others that lead to its rows, are listed once for all passes
 * over the same lists; both ends list them by row and then by column, so that nobody has to be told anything. A rank has
 * a link of another where `link_t` says: behind the links of all rows where lists are divided (views/links.c), else
 * where its owner has it. Rows that do not matter (live.c) have links that do not travel. Called by share.c and by
 * operations on links. */
#include "nn/share.h"

#include <string.h>

enum { OUT = 0, IN = 1 }; /* links of this rank's rows to others; and of others to its rows */

/* ---- which links ------------------------------------------------------------------------------------ */

/* What finding them needs to know. */
typedef struct search {
    const pgcn_i_transition *of;
    pgcn_i_own own;
    int ranks, samples;
    int64_t links;  /* of a sample */
    int64_t *start; /* [n + 1] links in of the rows before each */
} search;

static int owner_of(const search *s, int64_t node) {
    return (int)(node / s->own.groups.size * s->ranks / s->own.groups.count);
}

/* The node of a column, or -1 if it is this rank's own. */
static int64_t other_node(const search *s, const pgcn_i_csr *list, int64_t e) {
    int64_t node = pgcn_i_others_row(s->of->others, list->column[e]);
    return node >= s->own.begin && node < s->own.stop ? -1 : node;
}

/* Room for the links of a side, of all samples, once first[r + 1] has the number of rank r's in one. */
static bool make_room(pgcn_i_tape *tape, const search *s, pgcn_i_link_side *side) {
    for (int r = 0; r < s->ranks; r++)
        side->first[r + 1] = side->first[r] + side->first[r + 1] * s->samples;
    int64_t count = side->first[s->ranks];
    return pgcn_i_share_buffer(tape->share, &side->link, count * (int64_t)sizeof(int64_t) + 1) &&
           pgcn_i_share_buffer(tape->share, &side->row, count * (int64_t)sizeof(pgcn_node) + 1);
}

static void put_link(const search *s, pgcn_i_link_side *side, int64_t at, int64_t link,
                     int64_t node, int sample) {
    ((int64_t *)(void *)side->link.data)[at] = sample * s->links + link;
    ((pgcn_node *)(void *)side->row.data)[at] = (pgcn_node)(sample * s->of->n + node);
}

/* By rank, sample, row and column. */
static void list_out(pgcn_i_tape *tape, const search *s, pgcn_i_link_side *side) {
    const pgcn_i_csr *list = s->of->exact;
    const int64_t begin = list->offset[s->own.begin], end = list->offset[s->own.stop];
    int64_t *at = tape->share->count[0], node;
    for (int64_t e = begin; e < end; e++)
        if ((node = other_node(s, list, e)) >= 0) side->first[owner_of(s, node) + 1]++;
    if (!make_room(tape, s, side)) return;
    memcpy(at, side->first, (size_t)s->ranks * sizeof *at);
    for (int sample = 0; sample < s->samples; sample++)
        for (int64_t row = s->own.begin; row < s->own.stop; row++)
            for (int64_t e = list->offset[row]; e < list->offset[row + 1]; e++)
                if ((node = other_node(s, list, e)) >= 0)
                    put_link(s, side, at[owner_of(s, node)]++, e, row, sample);
}

/* The same order: by rank, sample, row and column of the link. */
static void list_in(pgcn_i_tape *tape, const search *s, pgcn_i_link_side *side) {
    const pgcn_i_csr *list = s->of->exact_t;
    const int64_t begin = list->offset[s->own.begin], end = list->offset[s->own.stop];
    int64_t node;
    memset(s->start, 0, (size_t)(s->of->n + 1) * sizeof *s->start);
    for (int64_t e = begin; e < end; e++)
        if ((node = other_node(s, list, e)) >= 0) {
            side->first[owner_of(s, node) + 1]++;
            s->start[node]++;
        }
    pgcn_i_counts_to_starts(s->start, s->of->n, 0);
    if (!make_room(tape, s, side)) return;
    for (int64_t e = begin; e < end; e++) {
        if ((node = other_node(s, list, e)) < 0) continue;
        const int64_t *first = &side->first[owner_of(s, node)];
        int64_t at = first[0] + s->start[node]++ - first[0] / s->samples;
        for (int sample = 0; sample < s->samples; sample++)
            put_link(s, side, at + sample * (first[1] - first[0]) / s->samples, s->of->link_t[e],
                     node, sample);
    }
}

/* As it was found before, if lists are those of that time; NULL without memory. */
static const pgcn_i_link_plan *plan_for(pgcn_i_tape *tape, const pgcn_i_op *op) {
    pgcn_i_share *share = tape->share;
    pgcn_i_link_plan *plan = &share->links;
    const pgcn_i_transition *of = op->transition;
    if (plan->time == share->lists && plan->exact == of->exact && plan->rows == op->rows)
        return plan;
    search s = {.of = of,
                .own = pgcn_i_own_of(tape, op->rows),
                .ranks = share->comm->size,
                .samples = of->samples,
                .links = of->exact->offset[of->n]};
    *plan = (pgcn_i_link_plan){.side = {plan->side[OUT], plan->side[IN]},
                               .time = share->lists,
                               .exact = of->exact,
                               .rows = op->rows};
    for (int side = 0; side < 2; side++)
        memset(plan->side[side].first, 0, (size_t)(s.ranks + 1) * sizeof(int64_t));
    if ((s.start = pgcn_i_alloc(of->n + 1, sizeof *s.start))) {
        list_out(tape, &s, &plan->side[OUT]);
        list_in(tape, &s, &plan->side[IN]);
    } else {
        pgcn_i_comm_fail(share->comm, PGCN_ERR_MEMORY);
    }
    pgcn_i_free(s.start);
    if (pgcn_i_comm_status(share->comm) == PGCN_OK) return plan;
    plan->time = 0;
    return NULL;
}

/* ---- values that travel ------------------------------------------------------------------------------ */

typedef struct copy_job {
    const int64_t *link;
    const pgcn_node *row;
    const uint8_t *has; /* rows whose links travel; NULL: all */
    float *array, *packed;
    int64_t heads;
    bool packs;
    pgcn_i_blocks blocks;
    int64_t *before; /* [blocks + 1] links that travel before each */
} copy_job;

static int64_t count_links(const copy_job *job, int64_t begin, int64_t end) {
    int64_t count = 0;
    if (!job->has) return end - begin;
    for (int64_t k = begin; k < end; k++) count += job->has[job->row[k]];
    return count;
}

static void count_task(void *context, int64_t task, int worker) {
    (void)worker;
    const copy_job *job = context;
    job->before[task + 1] = count_links(job, pgcn_i_block_begin(job->blocks, task),
                                        pgcn_i_block_end(job->blocks, task));
}

static void copy_task(void *context, int64_t task, int worker) {
    (void)worker;
    const copy_job *job = context;
    const int64_t end = pgcn_i_block_end(job->blocks, task);
    float *packed = job->packed + job->before[task] * job->heads;
    for (int64_t k = pgcn_i_block_begin(job->blocks, task); k < end; k++) {
        if (job->has && !job->has[job->row[k]]) continue;
        float *value = job->array + job->link[k] * job->heads;
        memcpy(job->packs ? packed : value, job->packs ? value : packed,
               (size_t)job->heads * sizeof *value);
        packed += job->heads;
    }
}

/* Links that travel before number k. */
static int64_t links_before(const copy_job *job, int64_t k) {
    int64_t block = job->blocks.size > 0 ? k / job->blocks.size : 0;
    return job->before[block] + count_links(job, pgcn_i_block_begin(job->blocks, block), k);
}

/* Finds out how many of a side travel, and makes room for them; false without memory. */
static bool prepare(pgcn_i_tape *tape, pgcn_i_link_side *side, copy_job *job) {
    pgcn_i_share *share = tape->share;
    const int which = job->packs ? PGCN_GIVE : PGCN_GET;
    job->link = (const int64_t *)(void *)side->link.data;
    job->row = (const pgcn_node *)(void *)side->row.data;
    job->blocks = pgcn_i_blocks_of(side->first[share->comm->size]);
    job->before = pgcn_i_share_buffer(share, &side->before,
                                      (job->blocks.count + 1) * (int64_t)sizeof *job->before);
    if (!job->before) return false;
    job->before[0] = 0;
    pgcn_i_parallel_light(tape->pool, job->blocks.rows, job->blocks.count, count_task, job);
    for (int64_t b = 0; b < job->blocks.count; b++) job->before[b + 1] += job->before[b];
    int64_t bytes = job->before[job->blocks.count] * job->heads * (int64_t)sizeof(float);
    return (job->packed = pgcn_i_share_buffer(share, &share->rows[which], bytes + 1));
}

/* What goes to a rank, or comes from it. */
static pgcn_i_message message_of(const copy_job *job, const int64_t *first, int peer) {
    int64_t begin = links_before(job, first[peer]), end = links_before(job, first[peer + 1]);
    return (pgcn_i_message){peer, job->packs, job->packed + begin * job->heads,
                            (end - begin) * job->heads * (int64_t)sizeof *job->packed};
}

/* From the links of one side to the same links on the other, of all ranks. */
static void travel(pgcn_i_tape *tape, const pgcn_i_op *op, float *array, int64_t heads, int from) {
    pgcn_i_share *share = tape->share;
    pgcn_i_comm *comm = share->comm;
    if (!plan_for(tape, op)) return;
    pgcn_i_link_side *give = &share->links.side[from], *get = &share->links.side[!from];
    copy_job out = {
        .has = pgcn_i_has_gradient(tape, op), .array = array, .heads = heads, .packs = true};
    copy_job in = out;
    in.packs = false;
    if (!prepare(tape, give, &out) || !prepare(tape, get, &in)) return;
    pgcn_i_parallel_light(tape->pool, out.blocks.rows * heads, out.blocks.count, copy_task, &out);
    int count = 0;
    for (int i = 1; i < comm->size; i++) { /* not all to the same one at the same time */
        int to = (comm->rank + i) % comm->size, of = (comm->rank + comm->size - i) % comm->size;
        share->message[count++] = message_of(&out, give->first, to);
        share->message[count++] = message_of(&in, get->first, of);
    }
    pgcn_i_comm_exchange(comm, share->message, count);
    share->fetched += in.before[in.blocks.count] * heads * (int64_t)sizeof *array;
    pgcn_i_parallel_light(tape->pool, in.blocks.rows * heads, in.blocks.count, copy_task, &in);
}

void pgcn_i_links_to_columns(pgcn_i_tape *tape, const pgcn_i_op *op, float *array, int64_t heads) {
    if (tape->share && !tape->replicated) travel(tape, op, array, heads, OUT);
}

/* ---- before and after a loop of the backward pass --------------------------------------------------------- */

void pgcn_i_links_before(pgcn_i_tape *tape, const pgcn_i_op *op) {
    pgcn_i_value *out = op->out, *second = op->in[1];
    if (out->space == PGCN_I_LINKS) {
        if (out->grad_by_columns) travel(tape, op, out->grad, out->cols, IN);
        out->grad_by_columns = false;
        return;
    }
    if (!second->data_by_columns) pgcn_i_links_to_columns(tape, op, second->data, second->cols);
    second->data_by_columns = !pgcn_i_has_gradient(tape, op); /* later ones may need more rows */
}

void pgcn_i_links_after(const pgcn_i_op *op) {
    if (op->out->space != PGCN_I_LINKS) op->in[1]->grad_by_columns = true;
}

/* Those of this rank's rows, and those that lead to them. */
void pgcn_i_links_clear(pgcn_i_tape *tape, const pgcn_i_value *value) {
    const pgcn_i_op *op = &tape->op[value->maker];
    const pgcn_i_own own = pgcn_i_own_of(tape, op->rows);
    const int64_t *offset = op->transition->exact->offset,
                  bytes = value->cols * (int64_t)sizeof(float);
    const pgcn_i_link_plan *plan = plan_for(tape, op);
    const int64_t count = plan ? plan->side[IN].first[tape->share->comm->size] : 0;
    for (int64_t s = 0; s < tape->samples; s++) {
        int64_t first = s * offset[op->transition->n] + offset[own.begin];
        memset(value->grad + first * value->cols, 0,
               (size_t)((offset[own.stop] - offset[own.begin]) * bytes));
    }
    for (int64_t k = 0; k < count; k++)
        memset(value->grad + ((const int64_t *)(void *)plan->side[IN].link.data)[k] * value->cols,
               0, (size_t)bytes);
}
