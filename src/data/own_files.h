/* What the files that read a user's own graph share: own_files.c reads the rows, own_columns.c says
 * which of their cells, own_features.c reads the features, and own_nodes.c finds the nodes and brings
 * everything into their order. */
#ifndef PGCN_OWN_FILES_H
#define PGCN_OWN_FILES_H

#include "data/data.h"
#include "data/delimited.h"
#include "data/encode.h"

#include <string.h>

typedef struct pgcn_i_own {
    const pgcn_i_own_files *files;
    pgcn_i_source *source;
    pgcn_i_arena scratch;
    pgcn_i_id_map ids;
    const char **edge_path; /* NULL at the end */
    pgcn_i_encoder encoder; /* of the features: given or learnt; without rules: none */
    bool id_named;          /* a file has a column of the name or number --id */
    const char *id_column;  /* above the ids in the header of the features; NULL: not known */
    char first_lines[900];  /* whether each file has a header, for the note */
    char not_utf8[400]; /* end of a sentence: which files with unknown ids are not UTF-8; or "" */
    int64_t row_ids;   /* >= 0: ids are the numbers 0..row_ids-1 (rows of a .npy); -1: in the map */
    int32_t *position; /* [nodes] of a map's number in the final order; NULL: the same */
    pgcn_i_buffer x;   /* [x_rows, x_columns] features in the order of the map */
    int64_t x_rows, x_columns;
    pgcn_i_buffer from, to, weight; /* int32 ids of the map; float */
    bool comma_weights;             /* some have a decimal comma */
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

/* own_files.c. Finds how a file is laid out, and which of its columns are read. */
pgcn_status pgcn_i_own_layout(pgcn_i_own *in, const char *path, pgcn_i_role role,
                              int64_t least_columns, const char *expected, pgcn_i_layout *out);
/* Advice about a cell that should be a number: about a decimal comma if there is one, else
 * `otherwise`. */
const char *pgcn_i_own_advise_number(const char *cell, const char *otherwise, char out[128]);
/* The names of all columns but the first, in the arena of the source. None without a
 * header. */
pgcn_status pgcn_i_own_name_columns(pgcn_i_own *in, const pgcn_i_layout *layout, pgcn_i_names *out);
/* The id of a node; `scratch` is for ids that are row numbers. */
const char *pgcn_i_own_id(const pgcn_i_own *in, int64_t node, char scratch[24]);

/* own_columns.c. The names of columns that the user or the model asks for in a file, NULL at the end;
 * and which columns rows have from then on. */
pgcn_status pgcn_i_own_asked_names(pgcn_i_own *in, pgcn_i_role role, const char *const **out);
pgcn_status pgcn_i_own_pick(pgcn_i_own *in, pgcn_i_role role, pgcn_i_layout *layout);

/* own_features.c. Reads the features; text: into in->x, with the ids of its rows as first nodes. */
pgcn_status pgcn_i_own_features(pgcn_i_own *in);

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
