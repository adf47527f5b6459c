/* Where everything lives.
 *
 * A value is needed from the loop that makes it to the last one that reads it, and a gradient from its first writer to
 * the operation that made the value. Arrays that are never needed in the same loop have the same memory: gradients that
 * of values which the backward pass no longer needs. A row-wise operation that is the last to read a value writes its
 * gradient over it, row by row.
 *
 * With `recompute` how long segments are is tried out. */
#include "nn/plan.h"
#include "nn/ranks.h"

/* A time, in loops from begin to end; the next one of the same array. */
typedef struct pgcn_i_span {
    int begin, end, next;
} span;
typedef struct pgcn_i_placed {
    int64_t floats;
    int first, last; /* spans; -1: the array is never needed */
    int slot;
} array;
/* A piece of memory, for arrays whose times do not overlap. */
typedef struct pgcn_i_slot {
    int64_t floats;
    int first; /* span */
} slot;

enum { NONE = -1 };

static int arrays_of(const pgcn_i_tape *tape) {
    return 2 * tape->count + 1;
}

/* ---- when an array is needed ----------------------------------------------------------------------- */

/* The one whose memory a value has. */
static const pgcn_i_value *owner_of(const pgcn_i_value *value) {
    while (value->over) value = value->over;
    return value;
}

static array *value_array(const pgcn_i_plan *p, const pgcn_i_value *value) {
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
    return pgcn_i_is_row_wise(user) && user->kind->backward_reads_in &&
           !pgcn_i_flows_on(tape, value->last_user) &&
           !tape->op[value->maker].kind->backward_reads_out;
}

static array *gradient_array(const pgcn_i_plan *p, const pgcn_i_value *value) {
    if (!value || value->maker < 0) return NULL;
    if (value->grad_over) return value_array(p, value->grad_over);
    return &p->array[2 * value->maker + !is_overwritten(p->tape, value)];
}

/* It is made in this loop: what it held before is over. */
static void begin_span(pgcn_i_plan *p, array *a, int loop) {
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
static void extend_span(pgcn_i_plan *p, array *a, int loop) {
    if (a && a->first == NONE) begin_span(p, a, loop);
    if (a) p->span[a->last].end = loop;
}

/* Scratch of the exact form. */
static void use_power(pgcn_i_plan *p, const pgcn_i_op *op, int loop) {
    if (op->kind->uses_power) begin_span(p, &p->array[2 * p->tape->count], loop);
}

static void time_forward(pgcn_i_plan *p, int at) {
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
static array *kept_array(const pgcn_i_plan *p, const pgcn_i_value *value) {
    return value && value->remade ? NULL : value_array(p, value);
}

/* Gradients between two operations of a chain exist as tiles only. */
static void time_backward(pgcn_i_plan *p, pgcn_i_loop loop, int at) {
    for (int i = loop.last; i >= loop.first; i--) {
        const pgcn_i_op *op = &p->tape->op[i];
        if (op->kind->backward_reads_in) extend_span(p, kept_array(p, op->in[0]), at);
        if (op->kind->backward_reads_second) extend_span(p, kept_array(p, op->in[1]), at);
        if (op->kind->backward_reads_out) extend_span(p, kept_array(p, op->out), at);
        bool closes = op->out->tiled && op->out->last_user < 0; /* its gradient is a tile, too */
        if ((pgcn_i_gathers_gradient(op->out) || i == loop.last) && !closes)
            extend_span(p, gradient_array(p, op->out), at);
        if (op->in[0] && (pgcn_i_gathers_gradient(op->in[0]) || i == loop.first))
            extend_span(p, gradient_array(p, op->in[0]), at);
        if (op->in[0] && op->in[0]->lender > i)
            extend_span(p, gradient_array(p, p->tape->op[op->in[0]->lender].out), at);
        if (op->in[1] && op->in[1] != op->in[0] && op->in[1]->lender != i)
            extend_span(p, gradient_array(p, op->in[1]), at);
        use_power(p, op, at);
    }
}

/* What no operation on the tape uses belongs to the caller, who may read it at any time. */
static void keep_result(pgcn_i_plan *p, const pgcn_i_value *value) {
    if (value->last_user >= 0 || value->tiled) return;
    extend_span(p, value_array(p, value), p->loops);
    if (!p->tape->with_grad) return;
    array *gradient = gradient_array(p, value);
    extend_span(p, gradient, p->loops);
    p->span[gradient->first].begin = 0;
}

/* What an explanation reads when the forward pass is over. */
static void keep_explained(pgcn_i_plan *p, const pgcn_i_op *op) {
    const pgcn_i_kind *kind = op->kind;
    if (kind->explain_reads_in) extend_span(p, value_array(p, op->in[0]), p->loops);
    if (kind->explain_reads_second) extend_span(p, value_array(p, op->in[1]), p->loops);
    if (kind->explain_reads_out) extend_span(p, value_array(p, op->out), p->loops);
}

static void time_arrays(pgcn_i_plan *p) {
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
static bool fits(const pgcn_i_plan *p, const slot *s, const array *a, int *last) {
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
static int choose_slot(const pgcn_i_plan *p, const array *a) {
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

static void place_array(pgcn_i_plan *p, array *a) {
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
static int64_t place_arrays(pgcn_i_plan *p) {
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

static int64_t plan_with(pgcn_i_plan *p, int stages) {
    pgcn_i_cut_segments(p, stages);
    pgcn_i_list_loops(p);
    time_arrays(p);
    return place_arrays(p);
}

/* Segments of all lengths up to 8 loops, then of about a fifth more each, as long as there are two. What
 * recomputes least wins where memory is the same, and no segments at all are among the choices. */
static int choose_length(pgcn_i_plan *p, int64_t *floats) {
    int stages = pgcn_i_cut_segments(p, INT32_MAX), best = stages > 0 ? stages : 1;
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

pgcn_status pgcn_i_plan_memory(pgcn_i_plan *p) {
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
    pgcn_i_plan_remade(p);
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
