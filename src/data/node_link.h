/* node_link.c: what the two formats made of node-link JSON and .npy files share (graphsage.c,
 * dgl_ppi.c). */
#ifndef PGCN_DATA_NODE_LINK_H
#define PGCN_DATA_NODE_LINK_H

#include "data/data.h"

/* The marks "val" and "test" of a node; unmarked: one of the two is missing. */
enum { PGCN_I_PART_TRAIN = 0, PGCN_I_PART_VAL = 1, PGCN_I_PART_TEST = 2, PGCN_I_PART_UNMARKED = 3 };

/* The row of the node with this id (numbers as text), or -1: the id is unknown. */
typedef int64_t (*pgcn_i_row_of)(void *context, const char *id);

typedef struct pgcn_i_node_link {
    bool directed;
    int64_t nodes;
    pgcn_i_buffer row;  /* [nodes] pgcn_node, -1: unknown to row_of */
    pgcn_i_buffer part; /* [nodes] uint8_t */
    int64_t links;
    pgcn_i_buffer from, to; /* [links] pgcn_node: rows; links of unknown nodes are left out */
    int64_t dropped;        /* links that were left out */
    bool two_readings;      /* links taken as positions could have been ids */
} pgcn_i_node_link;

/* Reads the file; the buffers are the caller's to free, also after a failure. Rows are below
 * `rows`. links_by_id: numbers in links are ids even where they could be positions. */
pgcn_status pgcn_i_node_link_read(const char *path, pgcn_i_row_of row_of, void *context,
                                  int64_t rows, bool links_by_id, pgcn_i_node_link *out);
void pgcn_i_node_link_free(pgcn_i_node_link *link);

/* A matrix of any number type as float32 in `arena`, or as 0 and 1. */
pgcn_status pgcn_i_read_matrix_f32(const char *path, pgcn_i_arena *arena, int64_t *rows,
                                   int64_t *columns, const float **out);
pgcn_status pgcn_i_read_matrix_flags(const char *path, pgcn_i_arena *arena, int64_t *rows,
                                     int64_t *columns, const uint8_t **out);

#endif
