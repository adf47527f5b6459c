/* What the tape decides once, when recording ends.
 *
 * What runs together: operations that need only the same rows of their input are one loop over
 * tiles. The list of loops, forwards and back, is what tape.c runs.
 *
 * Who writes a gradient first: in the backward pass the last consumer of a value writes its gradient and
 * the earlier ones add to it, so nothing is set to zero before.
 *
 * Where everything lives: a value is needed from the loop that makes it to the last one that reads
 * it, and a gradient from its first writer to the operation that made the value. Arrays that are
 * never needed in the same loop have the same memory: gradients that of values which the backward
 * pass no longer needs. A row-wise operation that is the last to read a value writes its gradient over
 * it, row by row.
 *
 * Without gradients a value that only the loop that makes it uses does not exist as a whole: each worker has the tile
 * at hand. And the last value of a loop takes the memory of one that the loop is the last to read, row by row. So a
 * layer needs what it reads and what it writes, or less, and no more. Of several ranks it is the same: others have
 * fetched what they read of a value before the loop begins, and parts of a graph are not shared without gradients.
 *
 * A gradient that is a share of another one is not written (plan_lenders).
 *
 * With `closes` the last loop of the forward pass waits for the loss and is one with the first loop of the backward
 * pass, tile by tile. The values that only these two use exist as tiles.
 *
 * With `half` values and gradients are kept in bf16 where all operations that make and read them can do so. A gradient
 * that several operations add to in its place stays in float: sums are in float.
 *
 * With `recompute` a network that is too shallow for segments makes the result of its opening layer anew, tile by tile,
 * where the backward pass reads it (plan_remade). Of others the operations are cut into segments. What is used inside
 * its segment alone is not kept: it is needed while the segment runs, and again when the backward pass reaches the
 * segment and recomputes it. Random numbers are functions of their place, so the same bits come out. How long segments
 * are is tried out. Called by the trainer and by inference. */
#include "nn/nn.h"

#include <string.h>

/* A time, in loops from begin to end; the next one of the same array. */
typedef struct span {
    int begin, end, next;
} span;
typedef struct array {
    int64_t floats;
    int first, last; /* spans; -1: the array is never needed */
    int slot;
} array;
/* A piece of memory, for arrays whose times do not overlap. */
typedef struct slot {
    int64_t floats;
    int first; /* span */
} slot;

typedef struct plan {
    pgcn_i_tape *tape;
    pgcn_i_arena arena; /* of the plan itself, freed at the end */
    int *segment;       /* [count] of each operation */
    int loops, backward_first, repeated;
    pgcn_i_loop *loop; /* [3 count] */
    int spans;
    span *span;
    array *array; /* [arrays]: value and gradient of each result, and the power */
    int ordered;
    array **order; /* in which they are needed first */
    int slots;
    slot *slot;
} plan;

enum { NONE = -1 };

static int arrays_of(const pgcn_i_tape *tape) {
    return 2 * tape->count + 1;
}

/* ---- which operations run together ----------------------------------------------------------- */

static bool is_row_wise(const pgcn_i_op *op) {
    return op->kind->needs == PGCN_I_NEEDS_ROW;
}

/* Operation i reads the rows that operation i - 1 has just made, no others and all of them. */
static bool follows(const pgcn_i_tape *tape, int i) {
    return i > 0 && is_row_wise(&tape->op[i]) && tape->op[i].in[0] == tape->op[i - 1].out &&
           tape->op[i].out->level == tape->op[i - 1].out->level;
}

/* Levels are numbers of rows in a part of a graph only. */
static bool have_same_rows(const pgcn_i_tape *tape, const pgcn_i_value *a, const pgcn_i_value *b) {
    return a->space == b->space && (!tape->part || a->level == b->level);
}

/* Without gradients it may read the same rows of any value that is there. */
static bool joins(const pgcn_i_tape *tape, int first, int i) {
    const pgcn_i_op *op = &tape->op[i];
    const pgcn_i_value *out = tape->op[first].out;
    return !tape->with_grad && is_row_wise(op) && out->space != PGCN_I_LINKS &&
           op->in[0]->space == out->space && have_same_rows(tape, op->out, out);
}

/* The last operation of the loop over tiles that begins at `first`. */
static int stage_end(const pgcn_i_tape *tape, int first) {
    int last = first;
    if (tape->op[first].kind->forward_rows)
        while (last + 1 < tape->count && (follows(tape, last + 1) || joins(tape, first, last + 1)))
            last++;
    return last;
}

static bool has_links(const pgcn_i_tape *tape) {
    for (int i = 0; i < tape->count; i++)
        if (tape->op[i].out->space == PGCN_I_LINKS) return true;
    return false;
}

/* What opens the network reads no rows of others in the backward pass either. Of several ranks it has the features of its
 * own rows, while backward passes along links go through all of them: see share.c. */
static bool takes_tiles(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    bool opens = op->kind->needs == PGCN_I_NEEDS_NOTHING && op->kind->backward_rows;
    return is_row_wise(op) || (opens && (!tape->share || !has_links(tape)));
}

/* The gradient of in[0] of operation i goes on as a tile to the operation before it. */
static bool flows_on(const pgcn_i_tape *tape, int i) {
    return i > 0 && tape->op[i].kind->backward_rows && takes_tiles(tape, &tape->op[i - 1]) &&
           tape->op[i].in[0] == tape->op[i - 1].out &&
           pgcn_i_level_used(&tape->op[i], 0) == tape->op[i - 1].out->level;
}

/* The last operation, in the order of the backward pass, of the chain that begins at `top`. */
static int chain_end(const pgcn_i_tape *tape, int top) {
    while (flows_on(tape, top)) top--;
    return top;
}

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
        end = chain_end(tape, top);
        for (int i = top; i >= end; i--) {
            tape->op[i].partial_first = floats;
            floats += (tape->op[i].partial_floats + 15) / 16 * 16;
        }
        pgcn_i_tape_need(tape, floats, 0);
    }
}

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
    bool gathered = op->in[0] == value && !is_row_wise(op);
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
                !have_same_rows(tape, value, end->out))
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
        have_same_rows(tape, x, op->out) && x->cols == op->out->cols)
        op->out->over = x;
}

static int64_t tile_after(pgcn_i_value *value, int64_t floats) {
    value->tile_first = floats;
    return floats + (PGCN_BLOCK_ROWS * value->cols + 15) / 16 * 16;
}

static void plan_tiles(pgcn_i_tape *tape) {
    if (tape->with_grad || tape->explains) return;
    for (tile_loop at = {0, 0}; at.first < tape->count; at.first = at.last + 1) {
        int64_t floats = 0;
        at.last = stage_end(tape, at.first);
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
static void plan_lenders(pgcn_i_tape *tape) {
    for (int i = 0; i < tape->count && tape->with_grad && !tape->part && !tape->share; i++) {
        pgcn_i_value *value = tape->op[i].out;
        const uses of = uses_of(tape, value);
        if (of.count != 2 || !adds_tiles(tape, value, of)) continue;
        const pgcn_i_op *second = &tape->op[value->last_user];
        if (second->kind->residual_share && second->in[0] != value) value->lender = second->index;
    }
}

/* Whether its gradient is an array in between, because several write it. */
static bool gathers_gradient(const pgcn_i_value *value) {
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
static void plan_closing(pgcn_i_tape *tape) {
    int first = 0, top = tape->count - 1, end = chain_end(tape, top);
    int64_t floats = 0;
    while (stage_end(tape, first) < top) first = stage_end(tape, first) + 1;
    tape->closes = tape->closes && tape->with_grad && !tape->part && !tape->share &&
                   tape->op[first].kind->needs != PGCN_I_NEEDS_ALL && is_row_wise(&tape->op[top]) &&
                   tape->op[top].kind->backward_rows &&
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

static void plan_halves(pgcn_i_tape *tape) {
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
    if (!maker->kind->remake_rows || value->last_user < 0 || !flows_on(tape, first)) return false;
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

static void plan_remade(plan *p) {
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

/* ---- segments and loops -------------------------------------------------------------------------- */

/* What opens the network is kept: all layers may use it, and its input is not on the tape. */
static int opening_end(const pgcn_i_tape *tape) {
    int end = 0;
    while (end < tape->count &&
           (tape->op[end].kind->needs == PGCN_I_NEEDS_NOTHING || is_row_wise(&tape->op[end])))
        end++;
    return end;
}

/* Segments of `stages` loops each after the opening; returns how many loops there are. */
static int cut_segments(plan *p, int stages) {
    const pgcn_i_tape *tape = p->tape;
    int opening = opening_end(tape), stage = 0;
    for (int first = 0, last; first < tape->count; first = last + 1) {
        last = stage_end(tape, first);
        int segment = first < opening ? 0 : 1 + stage++ / stages;
        for (int i = first; i <= last; i++) p->segment[i] = segment;
    }
    int last_segment = p->segment[tape->count - 1];
    for (int i = 0; i < tape->count; i++) {
        pgcn_i_value *value = tape->op[i].out;
        value->recomputed = p->segment[i] > 0 && p->segment[i] < last_segment &&
                            value->last_user >= 0 && p->segment[value->last_user] == p->segment[i];
    }
    return stage;
}

static void add_loop(plan *p, pgcn_i_pass pass, int first, int last) {
    p->loop[p->loops++] = (pgcn_i_loop){pass, first, last};
}

/* The loops of the operations first .. last a second time, as far as their results were not kept. */
static void add_recomputed(plan *p, int first, int last) {
    const pgcn_i_tape *tape = p->tape;
    for (int from = first, to; from <= last; from = to + 1) {
        to = stage_end(tape, from);
        bool any = false;
        for (int i = from; i <= to; i++) any = any || tape->op[i].out->recomputed;
        if (!any) continue;
        add_loop(p, PGCN_I_RECOMPUTE, from, to);
        p->repeated += to - from + 1;
    }
}

static void list_loops(plan *p) {
    const pgcn_i_tape *tape = p->tape;
    p->loops = p->repeated = 0;
    for (int first = 0, last; first < tape->count; first = last + 1) {
        last = stage_end(tape, first);
        add_loop(p, PGCN_I_FORWARD, first, last);
    }
    p->backward_first = p->loops;
    int there = tape->count; /* the values of this operation and of later ones are there */
    for (int top = tape->count - 1, end; top >= 0 && tape->with_grad; top = end - 1) {
        end = chain_end(tape, top);
        while (end < there) {
            int last = there - 1;
            while (there > 0 && p->segment[there - 1] == p->segment[last]) there--;
            add_recomputed(p, there, last);
        }
        add_loop(p, PGCN_I_BACKWARD, end, top);
    }
}

/* ---- when an array is needed ----------------------------------------------------------------------- */

/* The one whose memory a value has. */
static const pgcn_i_value *owner_of(const pgcn_i_value *value) {
    while (value->over) value = value->over;
    return value;
}

static array *value_array(const plan *p, const pgcn_i_value *value) {
    return value && value->maker >= 0 && !value->tiled ? &p->array[2 * owner_of(value)->maker]
                                                       : NULL;
}

/* The backward pass reads the value for the last time where it writes the gradient, both in the same rows
 * of one operation; and the operation that made it does not read it any more. */
static bool is_overwritten(const pgcn_i_tape *tape, const pgcn_i_value *value) {
    if (!tape->with_grad || value->shared || value->last_user < 0 || value->tiled ||
        value->half != value->half_grad)
        return false;
    const pgcn_i_op *user = &tape->op[value->last_user];
    return is_row_wise(user) && user->kind->backward_reads_in &&
           !flows_on(tape, value->last_user) && !tape->op[value->maker].kind->backward_reads_out;
}

static array *gradient_array(const plan *p, const pgcn_i_value *value) {
    if (!value || value->maker < 0) return NULL;
    if (value->grad_over) return value_array(p, value->grad_over);
    return &p->array[2 * value->maker + !is_overwritten(p->tape, value)];
}

/* It is made in this loop: what it held before is over. */
static void begin_span(plan *p, array *a, int loop) {
    if (!a) return;
    p->span[p->spans] = (span){loop, loop, NONE};
    if (a->first == NONE) {
        a->first = p->spans;
        p->order[p->ordered++] = a;
    } else {
        p->span[a->last].next = p->spans;
    }
    a->last = p->spans++;
}
/* It is read or written in this loop too. */
static void extend_span(plan *p, array *a, int loop) {
    if (a && a->first == NONE) begin_span(p, a, loop);
    if (a) p->span[a->last].end = loop;
}

/* Scratch of the exact form. */
static void use_power(plan *p, const pgcn_i_op *op, int loop) {
    if (op->kind->uses_power) begin_span(p, &p->array[2 * p->tape->count], loop);
}

static void time_forward(plan *p, int at) {
    pgcn_i_loop loop = p->loop[at];
    for (int i = loop.first; i <= loop.last; i++) {
        const pgcn_i_op *op = &p->tape->op[i];
        if (loop.pass == PGCN_I_RECOMPUTE && !op->out->recomputed) continue;
        for (int j = 0; j < 2; j++) extend_span(p, value_array(p, op->in[j]), at);
        begin_span(p, value_array(p, op->out), at);
        use_power(p, op, at);
    }
}

/* What the backward pass reads, unless it makes it anew. */
static array *kept_array(const plan *p, const pgcn_i_value *value) {
    return value && value->remade ? NULL : value_array(p, value);
}

/* Gradients between two operations of a chain exist as tiles only. */
static void time_backward(plan *p, pgcn_i_loop loop, int at) {
    for (int i = loop.last; i >= loop.first; i--) {
        const pgcn_i_op *op = &p->tape->op[i];
        if (op->kind->backward_reads_in) extend_span(p, kept_array(p, op->in[0]), at);
        if (op->kind->backward_reads_second) extend_span(p, kept_array(p, op->in[1]), at);
        if (op->kind->backward_reads_out) extend_span(p, kept_array(p, op->out), at);
        bool closes = op->out->tiled && op->out->last_user < 0; /* its gradient is a tile, too */
        if ((gathers_gradient(op->out) || i == loop.last) && !closes)
            extend_span(p, gradient_array(p, op->out), at);
        if (op->in[0] && (gathers_gradient(op->in[0]) || i == loop.first))
            extend_span(p, gradient_array(p, op->in[0]), at);
        if (op->in[0] && op->in[0]->lender > i)
            extend_span(p, gradient_array(p, p->tape->op[op->in[0]->lender].out), at);
        if (op->in[1] && op->in[1] != op->in[0] && op->in[1]->lender != i)
            extend_span(p, gradient_array(p, op->in[1]), at);
        use_power(p, op, at);
    }
}

/* What no operation on the tape uses belongs to the caller, who may read it at any time. */
static void keep_result(plan *p, const pgcn_i_value *value) {
    if (value->last_user >= 0 || value->tiled) return;
    extend_span(p, value_array(p, value), p->loops);
    if (!p->tape->with_grad) return;
    array *gradient = gradient_array(p, value);
    extend_span(p, gradient, p->loops);
    p->span[gradient->first].begin = 0;
}

/* What an explanation reads when the forward pass is over. */
static void keep_explained(plan *p, const pgcn_i_op *op) {
    const pgcn_i_kind *kind = op->kind;
    if (kind->explain_reads_in) extend_span(p, value_array(p, op->in[0]), p->loops);
    if (kind->explain_reads_second) extend_span(p, value_array(p, op->in[1]), p->loops);
    if (kind->explain_reads_out) extend_span(p, value_array(p, op->out), p->loops);
}

static void time_arrays(plan *p) {
    const pgcn_i_tape *tape = p->tape;
    p->spans = p->ordered = 0;
    for (int i = 0; i < arrays_of(tape); i++) {
        const pgcn_i_value *value = i < 2 * tape->count ? tape->op[i / 2].out : NULL;
        int64_t floats =
            value ? pgcn_i_share_room(tape, value->rows) * value->cols : tape->power_floats;
        if (value && (i % 2 ? value->half_grad : value->half)) floats = (floats + 1) / 2;
        p->array[i] = (array){.floats = floats, .first = NONE, .slot = NONE};
    }
    for (int at = 0; at < p->loops; at++) {
        /* what closes is one loop with the one before */
        int time = tape->closes && at == p->backward_first ? at - 1 : at;
        p->loop[at].pass == PGCN_I_BACKWARD ? time_backward(p, p->loop[at], time)
                                            : time_forward(p, at);
    }
    for (int i = 0; i < tape->count; i++) keep_result(p, tape->op[i].out);
    for (int i = 0; i < tape->count && tape->explains; i++) keep_explained(p, &tape->op[i]);
}

/* ---- where an array lives ---------------------------------------------------------------------------- */

/* Whether the array is never needed together with those of the slot; *last is when they were needed
 * last before it. */
static bool fits(const plan *p, const slot *s, const array *a, int *last) {
    *last = NONE;
    for (int theirs = s->first; theirs != NONE; theirs = p->span[theirs].next) {
        const span *t = &p->span[theirs];
        for (int ours = a->first; ours != NONE; ours = p->span[ours].next)
            if (t->begin <= p->span[ours].end && p->span[ours].begin <= t->end) return false;
        if (t->end < p->span[a->first].begin && t->end > *last) *last = t->end;
    }
    return true;
}

static int64_t distance(int64_t a, int64_t b) {
    return a > b ? a - b : b - a;
}

/* The slot that is nearest in size, and of these the one that is warmest in the cache. */
static int choose_slot(const plan *p, const array *a) {
    int best = NONE, best_last = NONE;
    for (int i = 0; i < p->slots; i++) {
        const slot *s = &p->slot[i];
        int last;
        if (!fits(p, s, a, &last)) continue;
        int64_t off = distance(s->floats, a->floats);
        int64_t best_off = best == NONE ? 0 : distance(p->slot[best].floats, a->floats);
        if (best != NONE && (off > best_off || (off == best_off && last <= best_last))) continue;
        best = i;
        best_last = last;
    }
    return best;
}

static void place_array(plan *p, array *a) {
    a->slot = choose_slot(p, a);
    if (a->slot == NONE) {
        a->slot = p->slots++;
        p->slot[a->slot] = (slot){.first = NONE};
    }
    slot *s = &p->slot[a->slot];
    p->span[a->last].next = s->first;
    s->first = a->first;
    if (a->floats > s->floats) s->floats = a->floats;
}

/* The sum of the slots in floats, whole cache lines each, or -1 if it is too large. */
static int64_t place_arrays(plan *p) {
    enum { LINE = PGCN_ALIGN / sizeof(float) };
    int64_t sum = 0;
    p->slots = 0;
    for (int i = 0; i < p->ordered; i++) place_array(p, p->order[i]);
    for (int i = 0; i < p->slots; i++) {
        int64_t *floats = &p->slot[i].floats;
        if (*floats > INT64_MAX - LINE) return NONE;
        *floats = (*floats + LINE - 1) / LINE * LINE;
        if (!pgcn_i_add(sum, *floats, &sum)) return NONE;
    }
    return sum;
}

static int64_t plan_with(plan *p, int stages) {
    cut_segments(p, stages);
    list_loops(p);
    time_arrays(p);
    return place_arrays(p);
}

/* Segments of all lengths up to 8 loops, then of about a fifth more each, as long as there are two. What
 * recomputes least wins where memory is the same, and no segments at all are among the choices. */
static int choose_length(plan *p, int64_t *floats) {
    int stages = cut_segments(p, INT32_MAX), best = stages > 0 ? stages : 1;
    *floats = plan_with(p, best);
    int least = p->repeated;
    for (int length = 1; p->tape->recompute && length < stages; length += 1 + length / 8) {
        int64_t now = plan_with(p, length);
        if (*floats >= 0 && (now < 0 || now > *floats || (now == *floats && p->repeated >= least)))
            continue;
        *floats = now;
        best = length;
        least = p->repeated;
    }
    return best;
}

/* ---- all of it ---------------------------------------------------------------------------------------- */

static pgcn_status plan_memory(plan *p) {
    pgcn_i_tape *tape = p->tape;
    int arrays = arrays_of(tape), loops = 3 * tape->count;
    p->segment = PGCN_I_ARRAY(&p->arena, int, tape->count);
    p->loop = PGCN_I_ARRAY(&tape->arena, pgcn_i_loop, loops);
    p->span = PGCN_I_ARRAY(&p->arena, span, 3 * tape->count + loops);
    p->array = PGCN_I_ARRAY(&p->arena, array, arrays);
    p->order = PGCN_I_ARRAY(&p->arena, array *, arrays);
    p->slot = PGCN_I_ARRAY(&p->arena, slot, arrays);
    tape->place = PGCN_I_ARRAY(&tape->arena, int64_t, arrays);
    int64_t *first = PGCN_I_ARRAY(&p->arena, int64_t, arrays + 1); /* of each slot */
    if (!p->segment || !p->loop || !p->span || !p->array || !p->order || !p->slot || !tape->place ||
        !first)
        return PGCN_ERR_MEMORY;
    int64_t floats;
    int length = choose_length(p, &floats);
    plan_with(p, length);
    plan_remade(p);
    tape->work_floats = plan_with(p, length);
    if (tape->work_floats < 0)
        return pgcn_i_fail(PGCN_ERR_MEMORY,
                           "the values of %d operations do not fit into any memory; use a smaller "
                           "graph, fewer channels or layers",
                           tape->count);
    tape->loop = p->loop;
    tape->loops = p->loops;
    tape->backward_first = p->backward_first;
    for (int i = 0; i < p->slots; i++) first[i + 1] = first[i] + p->slot[i].floats;
    for (int i = 0; i < arrays; i++)
        tape->place[i] = p->array[i].slot == NONE ? NONE : first[p->array[i].slot];
    for (int i = 0; i < tape->count; i++) {
        const pgcn_i_value *value = tape->op[i].out;
        if (is_overwritten(tape, value)) tape->place[2 * i + 1] = tape->place[2 * i];
        if (value->grad_over) tape->place[2 * i + 1] = tape->place[2 * value->grad_over->maker];
        tape->place[2 * i] = tape->place[2 * owner_of(value)->maker];
    }
    return PGCN_OK;
}

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
    plan_tiles(tape);
    plan_lenders(tape);
    plan_closing(tape);
    plan_halves(tape);
    if (tape->with_grad) plan_partials(tape);
    tape->status = plan_kept(tape);
    if (tape->status != PGCN_OK) return tape->status;
    plan p = {.tape = tape};
    tape->status = plan_memory(&p);
    pgcn_i_arena_free(&p.arena);
    plan_scratch(tape);
    return tape->status;
}

void pgcn_i_tape_place(pgcn_i_tape *tape, float *work) {
    const int64_t *place = tape->place;
    if (tape->count == 0) return;
    tape->work = work;
    for (int i = 0; i < tape->count; i++) {
        pgcn_i_value *value = tape->op[i].out;
        float *data = place[2 * i] == NONE ? NULL : work + place[2 * i];
        float *grad = place[2 * i + 1] == NONE ? NULL : work + place[2 * i + 1];
        value->data = value->half ? NULL : data;
        value->grad = value->half_grad ? NULL : grad;
        value->bf16 = value->half ? (uint16_t *)(void *)data : NULL;
        value->bf16_grad = value->half_grad ? (uint16_t *)(void *)grad : NULL;
    }
    tape->power = place[2 * tape->count] == NONE ? NULL : work + place[2 * tape->count];
}

pgcn_status pgcn_i_tape_finish(pgcn_i_tape *tape) {
    PGCN_TRY(pgcn_i_tape_plan(tape));
    float *work = pgcn_i_tape_floats(tape, tape->work_floats);
    if (work) pgcn_i_tape_place(tape, work);
    return tape->status;
}

/* ---- how much of it is touched --------------------------------------------------------------------------- */

static int64_t floats_of(const pgcn_i_tape *tape, int number) {
    if (tape->place[number] == NONE) return 0;
    if (number == 2 * tape->count) return tape->power_floats;
    const pgcn_i_value *value = tape->op[number / 2].out;
    bool few = number % 2 == 1 && tape->part && value->shared;
    bool half = number % 2 ? value->half_grad : value->half;
    int64_t floats = (few ? pgcn_i_kept_gradients(tape, value) : value->rows) * value->cols;
    return half ? (floats + 1) / 2 : floats;
}

int64_t pgcn_i_tape_touched(const pgcn_i_tape *tape, int64_t after) {
    int64_t floats = 0, kept = 0;
    for (int i = 0; i < arrays_of(tape); i++) {
        int64_t most = floats_of(tape, i), place = tape->place[i];
        bool first = most > 0;
        for (int j = 0; j < arrays_of(tape) && first;
             j++) { /* arrays that share their memory count once */
            if (j == i || tape->place[j] != place || floats_of(tape, j) == 0) continue;
            first = j > i;
            if (floats_of(tape, j) > most) most = floats_of(tape, j);
        }
        int64_t begin = place > after ? place : after;
        if (first && place + most > begin) floats += place + most - begin;
    }
    for (int i = 0; i < tape->count; i++)
        if (tape->op[i].kind->kept_bytes) kept += tape->op[i].kind->kept_bytes(&tape->op[i]);
    return floats * (int64_t)sizeof(float) + kept;
}
