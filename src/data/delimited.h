/* A user's text file with cells: how it is laid out, and its rows. The rules are in delimited.c. */
#ifndef PGCN_DELIMITED_H
#define PGCN_DELIMITED_H

#include "io/io.h"

/* What a file is about: it decides what a header looks like. */
typedef enum pgcn_i_role {
    PGCN_I_ROLE_EDGES,
    PGCN_I_ROLE_FEATURES,
    PGCN_I_ROLE_LABELS,
    PGCN_I_ROLE_SPLITS
} pgcn_i_role;

typedef struct pgcn_i_layout {
    const char *path;    /* borrowed */
    char delimiter;      /* as for pgcn_i_text_split */
    int64_t columns;     /* cells of a row; 0: the file has no row */
    int64_t header_line; /* 0: there is none */
    bool guessed;        /* the header, from the cells below it: the user should hear of it */
    char **header;       /* [columns], in the arena; NULL without a header */
} pgcn_i_layout;
/* Looks at the first two lines with cells; what it finds lives in the arena. `id_column`: what
 * another file of the same graph has above its ids, or NULL. */
pgcn_status pgcn_i_layout_find(const char *path, pgcn_i_role role, const char *id_column,
                               pgcn_i_arena *arena, pgcn_i_layout *out);

/* The rows behind the header, one after the other. */
typedef struct pgcn_i_rows {
    pgcn_i_text *text;
    const pgcn_i_layout *layout;
    pgcn_i_buffer cells;
} pgcn_i_rows;
pgcn_status pgcn_i_rows_open(pgcn_i_rows *rows, const pgcn_i_layout *layout);
/* *cell = the layout's number of cells, borrowed until the next call; NULL after the last row. */
pgcn_status pgcn_i_rows_next(pgcn_i_rows *rows, char ***cell);
void pgcn_i_rows_close(pgcn_i_rows *rows); /* also after a failed open */

/* A label or number that is not known: an empty cell, ?, nan, NaN, NA, N/A. */
bool pgcn_i_is_missing(const char *cell);
/* train, val, valid, validation, test give 0, 1, 1, 1, 2; an empty cell, - and none give 3; else -1.
 * Case does not matter. */
int pgcn_i_part_of(const char *cell);

#endif
