/* What a value is: a whole array in float, or less.
 *
 * Without gradients a value that only the loop that makes it uses does not exist as a whole: each worker has the tile
 * at hand. And the last value of a loop takes the memory of one that the loop is the last to read, row by row. So a
 * layer needs what it reads and what it writes, or less, and no more. Of several ranks it is the same: others have
 * fetched what they read of a value before the loop begins, and parts of a graph are not shared without gradients.
 *
 * A gradient that is a share of another one is not written (pgcn_i_plan_lenders).
 *
 * With `closes` the last loop of the forward pass waits for the loss and is one with the first loop of the backward
 * pass, tile by tile. The values that only these two use exist as tiles.
 *
 * With `half` values and gradients are kept in bf16 where all operations that make and read them can do so. A gradient
 * that several operations add to in its place stays in float: sums are in float.
 *
 * With `recompute` a network that is too shallow for segments makes the result of its opening layer anew, tile by tile,
 * where the backward pass reads it (pgcn_i_plan_remade). */
#include "nn/plan.h"

/* ---- tiles in place of values ----------------------------------------------------------------------- */

typedef struct tile_loop {
    int first, last;
} tile_loop;

static bool ends_in(const pgcn_i_value *value, tile_loop at) {
    return value->last_user >= at.first && value->last_user <= at.last;
}

static bool is_tiled(const pgcn_i_tape *tape, tile_loop at, const pgcn_i_op *op) {
    if (op->out->space == PGCN_I_LINKS || !ends_in(op->out, at)) return false;
    if (tape->shows && op->out->layer >= 0) return false;
    return op->index > at.first || !op->kind->forward_all || op->kind->rows_make_result;
}

/* Whether the tiles of the loop, which is the last to read it, read the value by their own rows alone. */
static bool is_read_by_rows(const pgcn_i_tape *tape, tile_loop at, const pgcn_i_value *value) {
    const pgcn_i_op *op = &tape->op[at.first];
    bool gathered = op->in[0] == value && !pgcn_i_is_row_wise(op);
    return !value->tiled && !gathered && ends_in(value, at);
}

/* What the last operation of a loop makes goes over the first value that may be overwritten. */
static pgcn_i_value *overwritten(const pgcn_i_tape *tape, tile_loop at) {
    const pgcn_i_op *end = &tape->op[at.last];
    if (!end->kind->forward_rows || (at.first == at.last && end->kind->forward_all)) return NULL;
    if (end->out->space == PGCN_I_LINKS) return NULL; /* tiles are of nodes */
    for (int i = at.first; i <= at.last; i++)
        for (int j = 0; j < 2; j++) {
            pgcn_i_value *value = tape->op[i].in[j];
            if (!value || value->maker < 0 || value->cols != end->out->cols ||
                !pgcn_i_have_same_rows(tape, value, end->out))
                continue;
            if (tape->shows && value->layer >= 0 && value->maker >= at.first) continue;
            if (is_read_by_rows(tape, at, value)) return value;
        }
    return NULL;
}

/* What opens a loop may write its result over what it gathers from, when it has it all. */
static void plan_over_input(const pgcn_i_tape *tape, pgcn_i_op *op) {
    pgcn_i_value *x = op->in[0];
    if (op->kind->over_input && x->maker >= 0 && x->last_user == op->index && x != op->in[1] &&
        pgcn_i_have_same_rows(tape, x, op->out) && x->cols == op->out->cols)
        op->out->over = x;
}

static int64_t tile_after(pgcn_i_value *value, int64_t floats) {
    value->tile_first = floats;
    return floats + (PGCN_BLOCK_ROWS * value->cols + 15) / 16 * 16;
}

void pgcn_i_plan_tiles(pgcn_i_tape *tape) {
    if (tape->with_grad || tape->explains) return;
    for (tile_loop at = {0, 0}; at.first < tape->count; at.first = at.last + 1) {
        int64_t floats = 0;
        at.last = pgcn_i_stage_end(tape, at.first);
        plan_over_input(tape, &tape->op[at.first]);
        for (int i = at.first; i < at.last; i++) {
            pgcn_i_value *value = tape->op[i].out;
            value->tiled = is_tiled(tape, at, &tape->op[i]);
            if (value->tiled) floats = tile_after(value, floats);
        }
        pgcn_i_value *end = tape->op[at.last].out, *over = overwritten(tape, at);
        if (over) {
            end->over = over;
            end->leaves = true;
            floats = tile_after(end, floats);
        }
        if (floats > tape->stage_floats) tape->stage_floats = floats;
    }
}

/* ---- gradients that are lent ------------------------------------------------------------------------ */

/* Users of a value: how many, and the first of them; and whether they and its maker can do with bf16. */
typedef struct uses {
    int count, first;
    bool any_rows;
} uses;

static uses uses_of(const pgcn_i_tape *tape, const pgcn_i_value *value) {
    uses of = {0, 0, tape->op[value->maker].kind->any_rows};
    for (int i = tape->count - 1; i > value->maker; i--) {
        const pgcn_i_op *user = &tape->op[i];
        if (user->in[0] != value && user->in[1] != value) continue;
        of.count++;
        of.first = i;
        of.any_rows = of.any_rows && user->kind->any_rows;
    }
    return of;
}

/* Whether the first user of a value adds its gradient as tiles to what others wrote. */
static bool adds_tiles(const pgcn_i_tape *tape, const pgcn_i_value *value, uses of) {
    return tape->op[of.first].in[0] == value && tape->op[of.first].kind->backward_rows;
}

/* Of two users of a value the second may take a share of it as a residual. What it would write as the value's gradient
 * is a share of its own: the first user reads it there, and nothing is written. */
void pgcn_i_plan_lenders(pgcn_i_tape *tape) {
    for (int i = 0; i < tape->count && tape->with_grad && !tape->part && !tape->share; i++) {
        pgcn_i_value *value = tape->op[i].out;
        const uses of = uses_of(tape, value);
        if (of.count != 2 || !adds_tiles(tape, value, of)) continue;
        const pgcn_i_op *second = &tape->op[value->last_user];
        if (second->kind->residual_share && second->in[0] != value) value->lender = second->index;
    }
}

bool pgcn_i_gathers_gradient(const pgcn_i_value *value) {
    return value->shared && value->lender < 0;
}

/* ---- the loop that closes ------------------------------------------------------------------------- */

/* Whether nobody reads the value but the last stage, from `first` on, and the chain of the backward pass that ends at
 * `end`. */
static bool is_closed(const pgcn_i_tape *tape, const pgcn_i_value *value, int first, int end) {
    const pgcn_i_op *maker = &tape->op[value->maker];
    if (value->maker < first || !maker->kind->any_rows || value->space != PGCN_I_NODES)
        return false;
    if (maker->kind->forward_all && !maker->kind->rows_make_result) return false;
    if (maker->kind->backward_reads_out && value->maker < end) return false;
    for (int i = value->maker + 1; i < tape->count; i++) {
        const pgcn_i_op *user = &tape->op[i];
        if (user->in[0] != value && user->in[1] != value) continue;
        if (!user->kind->any_rows || i < end) return false;
    }
    return true;
}

/* What opens the last loop may not need all rows: it makes all rows then, and the loss may look at some. */
void pgcn_i_plan_closing(pgcn_i_tape *tape) {
    int first = 0, top = tape->count - 1, end = pgcn_i_chain_end(tape, top);
    int64_t floats = 0;
    while (pgcn_i_stage_end(tape, first) < top) first = pgcn_i_stage_end(tape, first) + 1;
    tape->closes = tape->closes && tape->with_grad && !tape->part && !tape->share &&
                   tape->op[first].kind->needs != PGCN_I_NEEDS_ALL &&
                   pgcn_i_is_row_wise(&tape->op[top]) && tape->op[top].kind->backward_rows &&
                   is_closed(tape, tape->op[top].out, first, end);
    for (int i = first; i <= top && tape->closes; i++) {
        pgcn_i_value *value = tape->op[i].out;
        value->tiled = is_closed(tape, value, first, end);
        if (value->tiled) floats = tile_after(value, floats);
    }
    if (floats > tape->stage_floats) tape->stage_floats = floats;
}

/* ---- bf16 -------------------------------------------------------------------------------------------- */

/* The gradient of a value with two users is written by the second and read by the first. */
static bool is_written_once(const pgcn_i_tape *tape, const pgcn_i_value *value, uses of) {
    return of.count == 1 || (of.count == 2 && adds_tiles(tape, value, of));
}

void pgcn_i_plan_halves(pgcn_i_tape *tape) {
    for (int i = 0; i < tape->count && tape->half; i++) {
        pgcn_i_value *value = tape->op[i].out;
        const uses of = uses_of(tape, value);
        if (of.count == 0 || !of.any_rows || value->space != PGCN_I_NODES) continue;
        value->half = !value->tiled;
        value->half_grad = tape->op[i].kind->backward_rows && is_written_once(tape, value, of);
    }
}

/* ---- the opening layer, made anew -------------------------------------------------------------------- */

/* Whether the backward pass reads the result of an opening layer in one chain only: that of its first user, where the
 * layer itself comes next. */
static bool can_be_remade(const pgcn_i_tape *tape, const pgcn_i_value *value) {
    const pgcn_i_op *maker = &tape->op[value->maker];
    int first = value->maker + 1;
    if (!maker->kind->remake_rows || value->last_user < 0 || !pgcn_i_flows_on(tape, first))
        return false;
    if (!maker->kind->any_rows || !tape->op[first].kind->any_rows) return false;
    for (int i = first + 1; i < tape->count; i++) {
        const pgcn_i_op *user = &tape->op[i];
        if ((user->in[0] == value && user->kind->backward_reads_in) ||
            (user->in[1] == value && user->kind->backward_reads_second))
            return false;
    }
    return true;
}

/* The gradient that the loop which closes makes goes over a residual that this loop is the last to read. */
static void plan_gradient_over(pgcn_i_tape *tape, const pgcn_i_loop made, const pgcn_i_loop back) {
    pgcn_i_value *made_of = tape->op[back.first].in[0];
    for (int i = made.first; i <= made.last && tape->closes && made_of && made_of->tiled; i++) {
        pgcn_i_value *r = tape->op[i].in[1];
        if (!r || !r->remade || r == tape->op[made.first].in[0] || r->cols != made_of->cols ||
            r->half != made_of->half_grad || r->last_user < made.first)
            continue;
        made_of->grad_over = r;
    }
}

void pgcn_i_plan_remade(pgcn_i_plan *p) {
    pgcn_i_tape *tape = p->tape;
    if (!tape->recompute || p->repeated > 0 || tape->part || tape->share || !tape->with_grad)
        return;
    for (int i = 0; i < tape->count; i++) {
        pgcn_i_value *value = tape->op[i].out;
        value->remade = !value->tiled && can_be_remade(tape, value);
        if (value->remade) tape->stage_floats = tile_after(value, tape->stage_floats);
    }
    plan_gradient_over(tape, p->loop[p->backward_first - 1], p->loop[p->backward_first]);
}
