/* What the tape decides once, when recording ends.
 *
 * Which rows a value has in a part of a graph, what operations remember, scratch: here. What runs together and in which
 * order: plan_loops.c. What a value is, a whole array or less: plan_forms.c. Where everything lives: plan_memory.c.
 *
 * Who writes a gradient first: in the backward pass the last consumer of a value writes its gradient and
 * the earlier ones add to it, so nothing is set to zero before.
 *
 * Called by the trainer and by inference. */
#include "nn/plan.h"
#include "nn/ranks.h"

#include <string.h>

/* ---- levels ------------------------------------------------------------------------------------ */

/* Every value has the rows that its users need, from the end of the network to its beginning. */
int pgcn_i_tape_levels(pgcn_i_tape *tape) {
    int levels = 0;
    for (int i = tape->count - 1; i >= 0; i--) {
        pgcn_i_op *op = &tape->op[i];
        for (int j = 0; j < 2; j++) {
            pgcn_i_value *value = op->in[j];
            int level = pgcn_i_level_used(op, j);
            if (value && level > value->level) value->level = level;
            if (value && level > levels) levels = level;
        }
    }
    return levels;
}

static pgcn_status plan_levels(pgcn_i_tape *tape) {
    int levels = tape->hidden ? 1 : pgcn_i_tape_levels(tape);
    if (!tape->part) return PGCN_OK;
    if (tape->hidden) pgcn_i_hidden_levels(tape);
    if (levels > tape->part->levels)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "internal: a network of %d levels on a part of a graph with %d", levels,
                           tape->part->levels);
    for (int i = 0; i < tape->count; i++)
        if (tape->op[i].transition)
            tape->op[i].transition =
                &tape->part->transitions[tape->hidden ? 0 : tape->op[i].out->level];
    pgcn_i_tape_resize(tape, &(pgcn_i_view){.part = tape->part});
    return PGCN_OK;
}

/* ---- who writes, who adds ---------------------------------------------------------------------- */

static bool param_used_after(const pgcn_i_tape *tape, int from, const pgcn_i_param *param) {
    for (int i = from + 1; i < tape->count; i++)
        if (tape->op[i].param[0] == param || tape->op[i].param[1] == param) return true;
    return false;
}

/* An operation that comes later on the tape has written the gradient by the time the backward pass
 * reaches this one. */
static void plan_writers(pgcn_i_tape *tape) {
    for (int i = 0; i < tape->count; i++) {
        const pgcn_i_op *op = &tape->op[i];
        for (int j = 0; j < 2; j++) {
            pgcn_i_value *value = op->in[j];
            if (!value || (j == 1 && value == op->in[0])) continue;
            value->shared = value->last_user >= 0;
            value->last_user = i;
        }
    }
    for (int i = 0; i < tape->count; i++) {
        pgcn_i_op *op = &tape->op[i];
        for (int j = 0; j < 2; j++) {
            op->add_in[j] = op->in[j] && op->in[j]->last_user > i;
            op->add_param[j] = op->param[j] && param_used_after(tape, i, op->param[j]);
        }
        /* The same value twice in one operation: the second adds to what the first wrote. */
        if (op->in[0] && op->in[0] == op->in[1]) op->add_in[1] = true;
    }
}

/* The operations of a chain have their partial sums side by side. */
static void plan_partials(pgcn_i_tape *tape) {
    for (int top = tape->count - 1, end; top >= 0; top = end - 1) {
        int64_t floats = 0;
        end = pgcn_i_chain_end(tape, top);
        for (int i = top; i >= end; i--) {
            tape->op[i].partial_first = floats;
            floats += (tape->op[i].partial_floats + 15) / 16 * 16;
        }
        pgcn_i_tape_need(tape, floats, 0);
    }
}

/* ---- all of it ---------------------------------------------------------------------------------------- */

/* What operations remember for the backward pass, by rows. */
static pgcn_status plan_kept(pgcn_i_tape *tape) {
    for (int i = 0; i < tape->count; i++) {
        pgcn_i_op *op = &tape->op[i];
        if (!op->kind->kept_bytes) continue;
        op->kept = PGCN_I_ARRAY(&tape->arena, uint8_t, op->kind->kept_bytes(op));
        if (!op->kept) return PGCN_ERR_MEMORY;
        tape->kept_bytes += op->kind->kept_bytes(op);
    }
    return PGCN_OK;
}

/* A group has at least PGCN_GROUP_ROWS nodes, but for the last one. */
static int64_t most_groups(const pgcn_i_tape *tape) {
    int64_t nodes = tape->most_rows / tape->samples;
    int64_t most = (nodes + PGCN_GROUP_ROWS - 1) / PGCN_GROUP_ROWS;
    return most < tape->groups ? most : tape->groups;
}

/* Which rows matter: found in every step, or in a part of a graph the first ones. */
static pgcn_status init_rows(pgcn_i_tape *tape) {
    if (!tape->part) return pgcn_i_live_init(tape, pgcn_i_share_room(tape, tape->most_rows));
    tape->is_before = PGCN_I_ARRAY(&tape->arena, uint8_t, 2 * tape->most_rows);
    if (!tape->is_before) return PGCN_ERR_MEMORY;
    memset(tape->is_before, 1, (size_t)tape->most_rows);
    return PGCN_OK;
}

static void plan_scratch(pgcn_i_tape *tape) {
    int threads = pgcn_i_pool_threads(tape->pool);
    tape->partial_floats = (tape->partial_floats + 15) / 16 * 16;
    tape->tile_floats = (tape->tile_floats + 15) / 16 * 16;
    tape->chain_floats = tape->with_grad ? PGCN_BLOCK_ROWS * tape->most_cols : 0;
    if (tape->with_grad) {
        tape->partial = pgcn_i_tape_floats(tape, most_groups(tape) * tape->partial_floats);
        if (tape->status == PGCN_OK) tape->status = init_rows(tape);
    }
    if (tape->bf16_count > 0) {
        tape->bf16 = PGCN_I_ARRAY(&tape->arena, uint16_t, tape->bf16_count);
        if (!tape->bf16) tape->status = PGCN_ERR_MEMORY;
    }
    tape->tile = pgcn_i_tape_floats(
        tape,
        threads * (tape->tile_floats + PGCN_CHAIN_TILES * tape->chain_floats + tape->stage_floats));
}

pgcn_status pgcn_i_tape_plan(pgcn_i_tape *tape) {
    if (tape->status != PGCN_OK || tape->count == 0) return tape->status;
    tape->status = plan_levels(tape);
    if (tape->status != PGCN_OK) return tape->status;
    plan_writers(tape);
    pgcn_i_plan_tiles(tape);
    pgcn_i_plan_lenders(tape);
    pgcn_i_plan_closing(tape);
    pgcn_i_plan_halves(tape);
    if (tape->with_grad) plan_partials(tape);
    tape->status = plan_kept(tape);
    if (tape->status != PGCN_OK) return tape->status;
    pgcn_i_plan p = {.tape = tape};
    tape->status = pgcn_i_plan_memory(&p);
    pgcn_i_arena_free(&p.arena);
    plan_scratch(tape);
    return tape->status;
}

pgcn_status pgcn_i_tape_finish(pgcn_i_tape *tape) {
    PGCN_TRY(pgcn_i_tape_plan(tape));
    float *work = pgcn_i_tape_floats(tape, tape->work_floats);
    if (work) pgcn_i_tape_place(tape, work);
    return tape->status;
}
