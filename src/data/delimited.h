/* A user's text file with cells: how it is laid out, and its rows. The rules are in delimited.c, those of
 * headers in header.c. */
#ifndef PGCN_DELIMITED_H
#define PGCN_DELIMITED_H

#include "data/data.h"
#include "data/id_map.h"
#include "io/io.h"

/* What is known before the file is read. */
typedef struct pgcn_i_known {
    pgcn_i_role role;
    pgcn_header header;       /* of the option --header */
    const char *id_column;    /* the header of the ids in the feature file; or NULL */
    const pgcn_i_id_map *ids; /* of the files read before; or NULL */
    bool ids_are_rows;        /* ids are 0 .. n-1, the rows of an array */
    const char *const
        *edges; /* the edge files, where ids of labels may be; NULL at the end; or NULL */
    /* names of columns that the user or a model asks for: a line with one of them is a header */
    const char *const *named; /* NULL at the end; or NULL */
} pgcn_i_known;

typedef struct pgcn_i_layout {
    const char *path;           /* borrowed */
    char delimiter;             /* as for pgcn_i_text_split */
    int64_t columns;            /* cells of a row; 0: the file has no row */
    int64_t file_columns;       /* cells of a line: more than `columns` if some are not read */
    const int64_t *pick;        /* [columns] the cell of a line that each is; NULL: the same */
    int64_t header_line;        /* 0: there is none */
    int64_t header_end;         /* its last line: another one if a cell holds a line end */
    char **header;              /* [columns], in the arena; NULL without a header */
    int64_t first_line;         /* with cells; 0: none */
    char first[PGCN_I_EXCERPT]; /* its beginning */
    const char *why; /* reason why the line was taken as a header or as data; static text */
} pgcn_i_layout;
/* Reads the first two lines with cells, and further ones if these do not decide whether there is a
 * header. The result lives in the arena. */
pgcn_status pgcn_i_layout_find(const char *path, const pgcn_i_known *known, pgcn_i_arena *arena,
                               pgcn_i_layout *out);

/* From now on rows have these cells of a line only, in this order; `pick` is in the arena. */
pgcn_status pgcn_i_layout_pick(pgcn_i_layout *layout, const int64_t *pick, int64_t count,
                               pgcn_i_arena *arena);
/* The number of a cell in its line, from 1, for messages. */
static inline int64_t pgcn_i_layout_place(const pgcn_i_layout *layout, int64_t column) {
    return 1 + (layout->pick ? layout->pick[column] : column);
}

/* header.c: whether the first line `a` is a header. `b` is the second one, perhaps empty; the layout is
 * that of the lines below the first. */
typedef struct pgcn_i_cells {
    char **cell;
    int64_t count;
} pgcn_i_cells;
typedef struct pgcn_i_verdict {
    bool header;
    const char *why; /* static text */
} pgcn_i_verdict;
pgcn_status pgcn_i_header_judge(const pgcn_i_layout *layout, const pgcn_i_known *known,
                                const pgcn_i_cells *a, const pgcn_i_cells *b, pgcn_i_verdict *out);
bool pgcn_i_names_ids(const char *cell); /* an empty cell, or a word like id, node */

/* Reads the rows after the header, one at a time. */
typedef struct pgcn_i_rows {
    pgcn_i_text *text;
    const pgcn_i_layout *layout;
    pgcn_i_buffer cells, picked;
} pgcn_i_rows;
pgcn_status pgcn_i_rows_open(pgcn_i_rows *rows, const pgcn_i_layout *layout);
/* *cell = the layout's number of cells, borrowed until the next call; NULL after the last row. */
pgcn_status pgcn_i_rows_next(pgcn_i_rows *rows, char ***cell);
void pgcn_i_rows_close(pgcn_i_rows *rows); /* also after a failed open */
/* Calls `take` for every row of a file, until one fails. */
typedef pgcn_status (*pgcn_i_take_row)(void *context, const pgcn_i_rows *rows, char **cell);
pgcn_status pgcn_i_rows_each(const pgcn_i_layout *layout, pgcn_i_take_row take, void *context);

/* A label or number that is not known: an empty cell, ?, nan, NaN, NA, N/A. */
bool pgcn_i_is_missing(const char *cell);
/* The part of a split that a cell names. The first three are indexes of masks. */
typedef enum pgcn_i_part {
    PGCN_I_PART_TRAIN = 0,
    PGCN_I_PART_VAL = 1, /* val, valid, validation */
    PGCN_I_PART_TEST = 2,
    PGCN_I_PART_NONE = 3,   /* an empty cell, -, none */
    PGCN_I_PART_UNKNOWN = 4 /* another word */
} pgcn_i_part;
pgcn_i_part pgcn_i_part_of(const char *cell); /* case does not matter */

#endif
