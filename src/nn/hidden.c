/* Hidden rows that are kept: what operations gather from, of all nodes of a graph, computed once.
 *
 * A question about some nodes then computes their rows alone. A tape with `hidden` runs on a part of one level: the
 * rows that were asked for, and after them those that their lists lead to. Every operation computes the first ones; the
 * others of what is gathered from are copied from here. Operations of several steps gather from the results of their
 * steps, too: these are kept as well. Kept rows have the bits of the whole graph, and so have answers. Called by the
 * predictor (src/train/predictor.c) and by the tape. */
#include "nn/ops.h"

#include <string.h>

static bool gathers(const pgcn_i_op *op) {
    return pgcn_i_level_used(op, 0) > op->out->level;
}

static int steps_of(const pgcn_i_op *op) {
    return op->kind->steps ? op->kind->steps(op) : 1;
}

/* ---- keeping ---------------------------------------------------------------------------------- */

const pgcn_i_op *pgcn_i_hidden_prevents(const pgcn_i_tape *tape) {
    for (int i = 0; i < tape->count; i++) {
        const pgcn_i_op *op = &tape->op[i];
        if (gathers(op) && steps_of(op) > 1 && !op->kind->keep_steps) return op;
    }
    return NULL;
}

int64_t pgcn_i_hidden_bytes(const pgcn_i_tape *tape, int64_t n) {
    int64_t floats = 0;
    for (int i = 0; i < tape->count; i++) {
        const pgcn_i_op *op = &tape->op[i];
        bool first = gathers(op); /* who gathers from it */
        for (int j = 0; j < i && first; j++)
            first = tape->op[j].in[0] != op->in[0] || !gathers(&tape->op[j]);
        if (first) floats += n * op->in[0]->cols;
        if (gathers(op)) floats += (steps_of(op) - 1) * n * op->out->cols;
    }
    return floats * (int64_t)sizeof(float);
}

static pgcn_status open_hidden(pgcn_i_hidden *hidden, const pgcn_i_tape *tape, int64_t n) {
    hidden->value = PGCN_I_ARRAY(&hidden->arena, float *, tape->count);
    hidden->step = PGCN_I_ARRAY(&hidden->arena, float **, tape->count);
    if (!hidden->value || !hidden->step) return PGCN_ERR_MEMORY;
    for (int i = 0; i < tape->count; i++) {
        const pgcn_i_op *op = &tape->op[i];
        if (!gathers(op)) continue;
        float **value = &hidden->value[op->in[0]->maker];
        int64_t steps = steps_of(op) - 1;
        if (!*value) *value = PGCN_I_ARRAY(&hidden->arena, float, n * op->in[0]->cols);
        hidden->step[i] = PGCN_I_ARRAY(&hidden->arena, float *, steps);
        if (!*value || !hidden->step[i]) return PGCN_ERR_MEMORY;
        for (int64_t t = 0; t < steps; t++) {
            hidden->step[i][t] = PGCN_I_ARRAY(&hidden->arena, float, n * op->out->cols);
            if (!hidden->step[i][t]) return PGCN_ERR_MEMORY;
        }
    }
    return PGCN_OK;
}

static bool keep_value(void *context, const pgcn_i_op *op) {
    const pgcn_i_hidden *hidden = context;
    const pgcn_i_value *value = op->out;
    float *to = hidden->value[op->index];
    if (to) memcpy(to, value->data, (size_t)(value->rows * value->cols) * sizeof *to);
    return true;
}

pgcn_status pgcn_i_hidden_fill(pgcn_i_hidden *hidden, pgcn_i_tape *tape, int64_t n) {
    hidden->arena.read_at_random = true;
    PGCN_TRY(open_hidden(hidden, tape, n));
    pgcn_i_tape_watch(tape, keep_value, hidden);
    for (int i = 0; i < tape->count; i++) {
        pgcn_i_op *op = &tape->op[i];
        if (gathers(op) && op->kind->keep_steps)
            op->kind->keep_steps(tape, op, hidden->value[op->in[0]->maker], hidden->step[i]);
    }
    return PGCN_OK;
}

/* ---- reading ---------------------------------------------------------------------------------- */

/* One level: what is gathered from has the rows of all, everything else those that were asked for. */
void pgcn_i_hidden_levels(pgcn_i_tape *tape) {
    for (int i = 0; i < tape->count; i++) {
        pgcn_i_value *value = tape->op[i].out;
        value->level = tape->hidden->value[i] != NULL;
    }
}

typedef struct copy_job {
    const pgcn_i_tape *tape;
    const float *from;
    float *to;
    int64_t cols, first, width, to_c;
    int64_t begin; /* row */
    pgcn_i_blocks blocks;
} copy_job;

static void copy_task(void *context, int64_t task, int worker) {
    (void)worker;
    const copy_job *job = context;
    int64_t end = job->begin + pgcn_i_block_end(job->blocks, task);
    for (int64_t r = job->begin + pgcn_i_block_begin(job->blocks, task); r < end; r++)
        memcpy(job->to + r * job->to_c,
               job->from + pgcn_i_row_id(job->tape, r) * job->cols + job->first,
               (size_t)job->width * sizeof *job->to);
}

void pgcn_i_hidden_copy(const pgcn_i_tape *tape, pgcn_i_kept_rows rows) {
    const int64_t *known = tape->part->rows[PGCN_I_NODES];
    copy_job job = {tape,       rows.from,  rows.to,
                    rows.cols,  rows.first, rows.width,
                    rows.width, known[0],   pgcn_i_blocks_of(known[1] - known[0])};
    pgcn_i_parallel_light(tape->pool, (known[1] - known[0]) * rows.width, job.blocks.count,
                          copy_task, &job);
}

void pgcn_i_hidden_lend(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    const pgcn_i_value *value = op->out;
    const float *from = tape->hidden->value[op->index];
    if (from)
        pgcn_i_hidden_copy(
            tape, (pgcn_i_kept_rows){
                      .from = from, .to = value->data, .cols = value->cols, .width = value->cols});
}
