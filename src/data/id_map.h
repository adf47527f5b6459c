/* The ids of a user's nodes: any text, numbered 0, 1, ... in the order of their first appearance. */
#ifndef PGCN_ID_MAP_H
#define PGCN_ID_MAP_H

#include "io/io.h"

/* Zero-initialise to create. Id i is the text at text.data + offset[i], with a NUL after it. */
typedef struct pgcn_i_id_map {
    int64_t count;
    pgcn_i_buffer text;
    pgcn_i_buffer offset; /* int64 [count] */
    int32_t *slot;        /* hash table: number + 1, 0: free */
    int64_t slots;        /* a power of two, more than twice `count` */
} pgcn_i_id_map;

/* The number of an id, which is added if it is new. */
pgcn_status pgcn_i_id_map_add(pgcn_i_id_map *map, const char *id, int64_t *number);
int64_t pgcn_i_id_map_find(const pgcn_i_id_map *map, const char *id); /* -1: not there */
const char *pgcn_i_id_map_text(const pgcn_i_id_map *map, int64_t number);
void pgcn_i_id_map_free(pgcn_i_id_map *map);
/* Appends a number of an id, all of which are below INT32_MAX, to an array of int32. */
pgcn_status pgcn_i_push_i32(pgcn_i_buffer *buffer, int64_t value);

#endif
