/* plan: what the files about the plan of a tape have in common (plan.c, plan_loops.c, plan_forms.c, plan_memory.c). */
#ifndef PGCN_PLAN_H
#define PGCN_PLAN_H

#include "nn/nn.h"

typedef struct pgcn_i_plan {
    pgcn_i_tape *tape;
    pgcn_i_arena arena; /* of the plan itself, freed at the end */
    int *segment;       /* [count] of each operation */
    int loops, backward_first, repeated;
    pgcn_i_loop *loop; /* [3 count] */
    /* of plan_memory.c */
    int spans;
    struct pgcn_i_span *span;
    struct pgcn_i_placed *array; /* [arrays]: value and gradient of each result, and the power */
    int ordered;
    struct pgcn_i_placed **order; /* in which they are needed first */
    int slots;
    struct pgcn_i_slot *slot;
} pgcn_i_plan;

/* ---- plan_loops.c ---------------------------------------------------------------------------- */

bool pgcn_i_is_row_wise(const pgcn_i_op *op);
/* Levels are numbers of rows in a part of a graph only. */
bool pgcn_i_have_same_rows(const pgcn_i_tape *tape, const pgcn_i_value *a, const pgcn_i_value *b);
/* The last operation of the loop over tiles that begins at `first`. */
int pgcn_i_stage_end(const pgcn_i_tape *tape, int first);
/* The gradient of in[0] of operation i goes on as a tile to the operation before it. */
bool pgcn_i_flows_on(const pgcn_i_tape *tape, int i);
/* The last operation, in the order of the backward pass, of the chain that begins at `top`. */
int pgcn_i_chain_end(const pgcn_i_tape *tape, int top);
/* Segments of `stages` loops each after the opening; returns how many loops there are. */
int pgcn_i_cut_segments(pgcn_i_plan *p, int stages);
/* The loops of both passes, by these segments. */
void pgcn_i_list_loops(pgcn_i_plan *p);

/* ---- plan_forms.c ---------------------------------------------------------------------------- */

/* In this order; they ask for levels and writers (plan.c). */
void pgcn_i_plan_tiles(pgcn_i_tape *tape);
void pgcn_i_plan_lenders(pgcn_i_tape *tape);
void pgcn_i_plan_closing(pgcn_i_tape *tape);
void pgcn_i_plan_halves(pgcn_i_tape *tape);
/* When loops are listed. */
void pgcn_i_plan_remade(pgcn_i_plan *p);
/* Whether its gradient is an array in between, because several write it. */
bool pgcn_i_gathers_gradient(const pgcn_i_value *value);

/* ---- plan_memory.c --------------------------------------------------------------------------- */

/* Loops, and the place of every array, of a tape whose values have their forms. */
pgcn_status pgcn_i_plan_memory(pgcn_i_plan *p);

#endif
