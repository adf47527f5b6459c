/* Text files of whole numbers, as Planetoid (test.index), TU Dortmund and GIN (folds) use them. */
#ifndef PGCN_LINES_H
#define PGCN_LINES_H

#include "io/io.h"

static inline const char *pgcn_i_skip_blanks(const char *at) {
    while (*at == ' ' || *at == '\t') at++;
    return at;
}

/* What was found, for an error: pgcn_i_show(at).text. */
typedef struct pgcn_i_shown {
    char text[PGCN_I_EXCERPT];
} pgcn_i_shown;
pgcn_i_shown pgcn_i_show(const char *found);

/* The next number of a line, with blanks and at most one comma before it; after it a blank, a comma
 * or the end must come. False: there is no number from low to high, and *at is at what was found
 * instead. */
bool pgcn_i_next_integer(const char **at, int64_t low, int64_t high, int64_t *out);
bool pgcn_i_next_float(const char **at, float *out);

/* All lines of a file, `columns` whole numbers each, as int64_t [rows, columns] in `out` (zero on
 * entry, the caller frees it): row r is line r + 1. Empty lines are allowed at the end only. more:
 * NULL if a line must end after its numbers, else whether something followed in some line. */
pgcn_status pgcn_i_lines_read(const char *path, int columns, pgcn_i_buffer *out, int64_t *rows,
                              bool *more);

#endif
