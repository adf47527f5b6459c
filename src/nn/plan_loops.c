/* Which operations run together, and the loops of both passes.
 *
 * Operations that need only the same rows of their input are one loop over tiles. The list of loops, forwards and back,
 * is what tape.c runs.
 *
 * With `recompute` the operations are cut into segments. What is used inside its segment alone is not kept: it is needed
 * while the segment runs, and again when the backward pass reaches the segment and recomputes it. Random numbers are
 * functions of their place, so the same bits come out. */
#include "nn/plan.h"

/* ---- which operations run together ----------------------------------------------------------- */

bool pgcn_i_is_row_wise(const pgcn_i_op *op) {
    return op->kind->needs == PGCN_I_NEEDS_ROW;
}

/* Operation i reads the rows that operation i - 1 has just made, no others and all of them. */
static bool follows(const pgcn_i_tape *tape, int i) {
    return i > 0 && pgcn_i_is_row_wise(&tape->op[i]) && tape->op[i].in[0] == tape->op[i - 1].out &&
           tape->op[i].out->level == tape->op[i - 1].out->level;
}

bool pgcn_i_have_same_rows(const pgcn_i_tape *tape, const pgcn_i_value *a, const pgcn_i_value *b) {
    return a->space == b->space && (!tape->part || a->level == b->level);
}

/* Without gradients it may read the same rows of any value that is there. */
static bool joins(const pgcn_i_tape *tape, int first, int i) {
    const pgcn_i_op *op = &tape->op[i];
    const pgcn_i_value *out = tape->op[first].out;
    return !tape->with_grad && pgcn_i_is_row_wise(op) && out->space != PGCN_I_LINKS &&
           op->in[0]->space == out->space && pgcn_i_have_same_rows(tape, op->out, out);
}

int pgcn_i_stage_end(const pgcn_i_tape *tape, int first) {
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
 * own rows, while backward passes along links of a part of a graph go through all of them: see share.c. */
static bool takes_tiles(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    bool opens = op->kind->needs == PGCN_I_NEEDS_NOTHING && op->kind->backward_rows;
    return pgcn_i_is_row_wise(op) || (opens && (!tape->share || !tape->part || !has_links(tape)));
}

bool pgcn_i_flows_on(const pgcn_i_tape *tape, int i) {
    return i > 0 && tape->op[i].kind->backward_rows && takes_tiles(tape, &tape->op[i - 1]) &&
           tape->op[i].in[0] == tape->op[i - 1].out &&
           pgcn_i_level_used(&tape->op[i], 0) == tape->op[i - 1].out->level;
}

int pgcn_i_chain_end(const pgcn_i_tape *tape, int top) {
    while (pgcn_i_flows_on(tape, top)) top--;
    return top;
}

/* ---- segments and loops -------------------------------------------------------------------------- */

/* What opens the network is kept: all layers may use it, and its input is not on the tape. */
static int opening_end(const pgcn_i_tape *tape) {
    int end = 0;
    while (end < tape->count && (tape->op[end].kind->needs == PGCN_I_NEEDS_NOTHING ||
                                 pgcn_i_is_row_wise(&tape->op[end])))
        end++;
    return end;
}

int pgcn_i_cut_segments(pgcn_i_plan *p, int stages) {
    const pgcn_i_tape *tape = p->tape;
    int opening = opening_end(tape), stage = 0;
    for (int first = 0, last; first < tape->count; first = last + 1) {
        last = pgcn_i_stage_end(tape, first);
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

static void add_loop(pgcn_i_plan *p, pgcn_i_pass pass, int first, int last) {
    p->loop[p->loops++] = (pgcn_i_loop){pass, first, last};
}

/* The loops of the operations first .. last a second time, as far as their results were not kept. */
static void add_recomputed(pgcn_i_plan *p, int first, int last) {
    const pgcn_i_tape *tape = p->tape;
    for (int from = first, to; from <= last; from = to + 1) {
        to = pgcn_i_stage_end(tape, from);
        bool any = false;
        for (int i = from; i <= to; i++) any = any || tape->op[i].out->recomputed;
        if (!any) continue;
        add_loop(p, PGCN_I_RECOMPUTE, from, to);
        p->repeated += to - from + 1;
    }
}

void pgcn_i_list_loops(pgcn_i_plan *p) {
    const pgcn_i_tape *tape = p->tape;
    p->loops = p->repeated = 0;
    for (int first = 0, last; first < tape->count; first = last + 1) {
        last = pgcn_i_stage_end(tape, first);
        add_loop(p, PGCN_I_FORWARD, first, last);
    }
    p->backward_first = p->loops;
    int there = tape->count; /* the values of this operation and of later ones are there */
    for (int top = tape->count - 1, end; top >= 0 && tape->with_grad; top = end - 1) {
        end = pgcn_i_chain_end(tape, top);
        while (end < there) {
            int last = there - 1;
            while (there > 0 && p->segment[there - 1] == p->segment[last]) there--;
            add_recomputed(p, there, last);
        }
        add_loop(p, PGCN_I_BACKWARD, end, top);
    }
}
