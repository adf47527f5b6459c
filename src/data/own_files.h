/* What the two files that read a user's own graph share: own_files.c reads the rows, own_nodes.c
 * finds the nodes and brings everything into their order. */
#ifndef PGCN_OWN_FILES_H
#define PGCN_OWN_FILES_H

#include "data/data.h"
#include "data/delimited.h"

#include <string.h>

typedef struct pgcn_i_own {
    const pgcn_i_own_files *files;
    pgcn_i_source *source;
    pgcn_i_arena scratch;
    pgcn_i_id_map ids;
    const char *id_column; /* above the ids in the header of the features; NULL: not known */
    char first_lines[900]; /* whether each file has a header, for the note */
    char not_utf8[400]; /* end of a sentence: which files with unknown ids are not UTF-8; or "" */
    int64_t row_ids;   /* >= 0: ids are the numbers 0..row_ids-1 (rows of a .npy); -1: in the map */
    int32_t *position; /* [nodes] of a map's number in the final order; NULL: the same */
    pgcn_i_buffer x;   /* [x_rows, x_columns] features in the order of the map */
    int64_t x_rows, x_columns;
    pgcn_i_buffer from, to, weight; /* int32 ids of the map; float */
    pgcn_i_buffer label_node;       /* int32 node of each row of labels */
    pgcn_i_layout label_layout;
    pgcn_i_buffer label_line; /* int64 line of each row of labels */
    pgcn_i_buffer label_text; /* one label column: the text of each row, with a NUL */
    pgcn_i_buffer label_cell; /* several: uint8 of each cell, 2: not known */
    int64_t *split_line;      /* [nodes] line of each node in the file of splits, 0: none yet */
    uint8_t **mask;           /* [3 splits] */
} pgcn_i_own;

static inline int64_t pgcn_i_own_nodes(const pgcn_i_own *in) {
    return in->row_ids >= 0 ? in->row_ids : in->ids.count;
}

/* The row of a node in the final order. */
static inline int64_t pgcn_i_own_position(const pgcn_i_own *in, int64_t node) {
    return in->position ? in->position[node] : node;
}

static inline bool pgcn_i_own_is_utf8(const char *text) {
    return pgcn_i_is_utf8(text, (int64_t)strlen(text));
}

/* own_files.c. The names of all columns but the first, in the arena of the source. None without a
 * header. */
pgcn_status pgcn_i_own_name_columns(pgcn_i_own *in, const pgcn_i_layout *layout, pgcn_i_names *out);
/* The id of a node; `scratch` is for ids that are row numbers. */
const char *pgcn_i_own_id(const pgcn_i_own *in, int64_t node, char scratch[24]);

enum { PGCN_I_SHOWN_IDS = 3, PGCN_I_SHOWN_BYTES = PGCN_I_SHOWN_IDS * (PGCN_I_EXCERPT + 4) };

/* Ids for a message: how many, and the first few in quotes. */
typedef struct pgcn_i_id_list {
    int64_t count;
    char text[PGCN_I_SHOWN_BYTES];
} pgcn_i_id_list;

void pgcn_i_own_list_id(pgcn_i_id_list *list, const char *id);

/* own_nodes.c, when features, labels and edges are read. Finds the nodes and their order, checks that
 * the files name the same ones, and fills graph, features and labels of the source. */
pgcn_status pgcn_i_own_arrange(pgcn_i_own *in);

#endif
