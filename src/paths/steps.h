/* The rules of a walk, shared by sample.c and visits.c inside this room. Nothing here can fail:
 * pgcn_i_walker_init() has checked all there is to check. */
#ifndef PGCN_STEPS_H
#define PGCN_STEPS_H

#include "paths/paths.h"

/* Words of one walk's stream: 2^16 blocks of four (rng.h). No rule may use more. */
enum { PGCN_STREAM_WORDS = 1 << 18 };

/* The classes of a candidate seen from the node before, in the order they are tested. */
enum { PGCN_CLASS_RETURN = 0, PGCN_CLASS_NEAR = 1, PGCN_CLASS_FAR = 2 };

/* Sets bias, accept and attempts of a node2vec walker from k, return_p and inout_q. */
void pgcn_i_steps_prepare(pgcn_i_walker *walker);

/* Writes hops 1 .. k-1 of one walk, hop h to out[(h - 1) * stride], with its own stream of words.
 * This is the definition of a walk; the batched uniform walks give the same bits.
 *   uniform   one bounded draw among the neighbours (and staying, the last choice)
 *   weighted  one 53-bit draw (two words) located in the running sums of the row
 *   node2vec  first step uniform or weighted, later ones by rejection: a draw of a candidate as
 *             above, and a word to take it or not
 * A node without choices is the end: the walk stays there. */
void pgcn_i_walk_one(const pgcn_i_walker *walker, pgcn_i_rng_domain domain, uint64_t element,
                     pgcn_node start, pgcn_node *out, int64_t stride);

/* At most PGCN_WALK_BATCH walks: where they start, and their random words. */
typedef struct pgcn_i_walk_starts {
    pgcn_i_rng_domain domain;
    const uint64_t *element; /* [count, rounded up to PGCN_WALK_UNIT] */
    const pgcn_node *node;   /* [count] */
    int count;
} pgcn_i_walk_starts;

/* Where they are written: hop h of walk b to node[b * walk_stride + (h - 1) * hop_stride]. */
typedef struct pgcn_i_walk_array {
    pgcn_node *node;
    int64_t walk_stride, hop_stride;
} pgcn_i_walk_array;

/* The same walks as pgcn_i_walk_one() gives, many at once. (sample.c) */
void pgcn_i_walk_batch(const pgcn_i_walker *walker, const pgcn_i_walk_starts *starts,
                       pgcn_i_walk_array out);

#endif
