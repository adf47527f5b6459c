/* partition: what the files of partitions share. graph.h says what a partition promises. */
#ifndef PGCN_PARTITION_H
#define PGCN_PARTITION_H

#include "graph/graph.h"

enum { PGCN_I_PART_WEIGHTS = 2 /* visits, features */ };

/* A partition while it is made. */
typedef struct pgcn_i_division {
    const pgcn_graph *graph;
    const pgcn_graph *back; /* of a directed graph: its arcs reversed; else NULL */
    int64_t n;
    pgcn_i_parts parts;
    int32_t *part;   /* [n] -1: none yet */
    int64_t *target; /* [count] nodes that a part has in the end */
    int64_t *rows;   /* [count] nodes that it has */
    int weights;
    const int32_t *weight[PGCN_I_PART_WEIGHTS]; /* [n] */
    int64_t *sum[PGCN_I_PART_WEIGHTS];          /* [count] of the weights of its nodes */
    double *most[PGCN_I_PART_WEIGHTS];          /* [count] that it should have */
    double reserve[PGCN_I_PART_WEIGHTS];        /* kept for every node that a part still lacks */
    int64_t *links; /* [count] edges of one node to a part; all zero between two nodes */
    int32_t *met;   /* [count] the parts with links */
    int64_t met_count;
} pgcn_i_division;

/* Fills `met` and `links` with the parts that the neighbours of a node are in, itself left out. */
void pgcn_i_division_meet(pgcn_i_division *d, int64_t node);
/* Sets the links to zero again. */
void pgcn_i_division_part_ways(pgcn_i_division *d);
/* Whether the weights of a part leave room for a node, and for those that it lacks beside it. */
bool pgcn_i_division_bears(const pgcn_i_division *d, int64_t part, int64_t node);
/* How many nodes a part may have before sizes are made exact: about 3 % more. */
static inline int64_t pgcn_i_division_room(const pgcn_i_division *d, int64_t part) {
    return d->target[part] + d->target[part] / 32 + 1;
}
/* Both: of nodes and of weights. */
bool pgcn_i_division_has_room(const pgcn_i_division *d, int64_t part, int64_t node);
/* Told on the way of a pass over all nodes, which is number `pass` of at most `passes`. */
pgcn_status pgcn_i_division_tell(const pgcn_i_division *d, const char *what, int64_t node, int pass,
                                 int passes);
/* Entries whose ends are in different parts. */
int64_t pgcn_i_count_cut(const pgcn_graph *graph, const int32_t *part);
/* Moves a node, from -1 or to -1 too. */
void pgcn_i_division_move(pgcn_i_division *d, int64_t node, int32_t to);

/* They fill d->part with parts that have about as many nodes as they should. */
pgcn_status pgcn_i_partition_stream(pgcn_i_division *d, pgcn_i_arena *scratch);
pgcn_status pgcn_i_partition_metis(pgcn_i_division *d, pgcn_i_arena *scratch);

#endif
