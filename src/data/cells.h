/* What a cell of a user's table says: nothing, a number, a day, yes or no. The rules are in cells.c. */
#ifndef PGCN_CELLS_H
#define PGCN_CELLS_H

#include "base/base.h"

/* An empty cell, ?, -, or na, n/a, nan, null, none in any case. */
bool pgcn_i_cell_is_gap(const char *cell);

/* A finite number and nothing else. If `comma`, decimals have a comma, and none has a point. */
bool pgcn_i_cell_number(const char *cell, bool comma, float *out);

/* The forms of a day. A time of day may follow each of them: "2024-02-29 17:30", "...T17:30:05Z". */
typedef enum pgcn_i_date_form {
    PGCN_I_DATE_ISO,        /* 2024-02-29, 2024/02/29 */
    PGCN_I_DATE_DOTS,       /* 29.02.2024 */
    PGCN_I_DATE_DAY_FIRST,  /* 29/02/2024 */
    PGCN_I_DATE_MONTH_FIRST /* 02/29/2024 */
} pgcn_i_date_form;
enum { PGCN_I_DATE_FORMS = 4 };
extern const char *const pgcn_i_date_forms[PGCN_I_DATE_FORMS]; /* "year-month-day" */
/* Days since 1970-01-01, with the time of day as a fraction, in UTC where an offset is given. */
bool pgcn_i_cell_date(const char *cell, pgcn_i_date_form form, float *out);

/* Pairs of words for yes and no, in any case. */
enum { PGCN_I_YES_NO_PAIRS = 7 };
extern const char *const pgcn_i_yes_no[PGCN_I_YES_NO_PAIRS][2]; /* no, yes */
/* 0, 1, or -1 if the cell is none of the pair. */
int pgcn_i_cell_yes_no(const char *cell, int pair);

/* Texts that differ only in the case of letters, as 'Yes' and 'yes': how many of the others have such a
 * twin, and the first few pairs in quotes. Sorts the list. Letters are those of ASCII, Latin-1, Greek and
 * Cyrillic. */
enum { PGCN_I_TWINS_BYTES = 300 };
int64_t pgcn_i_case_twins(const char **text, int64_t count, char out[PGCN_I_TWINS_BYTES]);

#endif
