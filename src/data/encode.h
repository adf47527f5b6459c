/* Tables with categories, gaps and dates: what becomes of each column. encode.c keeps the rules, as JSON
 * too, and applies them to rows; encode_learn.c finds them in a table. */
#ifndef PGCN_ENCODE_H
#define PGCN_ENCODE_H

#include "data/cells.h"
#include "data/data.h"
#include "data/delimited.h"

typedef enum pgcn_i_rule_kind {
    PGCN_I_RULE_NUMBER,
    PGCN_I_RULE_DATE,   /* days since 1970 */
    PGCN_I_RULE_YES_NO, /* 1 and 0 */
    PGCN_I_RULE_CATEGORY,
    PGCN_I_RULE_LEFT_OUT /* no cell said anything */
} pgcn_i_rule_kind;
enum { PGCN_I_RULE_KINDS = 5 };
extern const char *const pgcn_i_rule_kinds[PGCN_I_RULE_KINDS]; /* "number", ... */

/* The rule of one column. All but categories make one column of numbers; a gap in it is the mean. */
typedef struct pgcn_i_rule {
    const char *name; /* of the column; "column 3" without a header */
    int64_t place;    /* of the column in its file, from 1 */
    pgcn_i_rule_kind kind;
    bool comma;         /* of a number: decimals have a comma */
    int form;           /* of a date: pgcn_i_date_form; of yes and no: the pair of words */
    float mean;         /* of the cells that were not empty */
    bool gaps;          /* there were empty cells: a column more is 1 where there is one, else 0 */
    int64_t values;     /* of a category: a column for each, 1 where the cell has that value, */
    const char **value; /* most frequent first */
    bool other;         /* and one for all values that are rare, or not known */
    int64_t missing, rare; /* told to the user: empty cells, and different rare values */
    const char *twins;     /* and values that differ in case only, where they are learnt; or NULL */
} pgcn_i_rule;

/* Lives in an arena. */
typedef struct pgcn_i_encoder {
    int64_t rules;
    pgcn_i_rule *rule;
    bool header;             /* the file had one: columns are found by name, else by place */
    const char *id;          /* the name above the ids; "": there was none */
    int64_t id_place, width; /* of the ids in a line, from 1, and cells of a line; 0: not known */
} pgcn_i_encoder;

int64_t pgcn_i_rule_columns(const pgcn_i_rule *rule); /* how many it makes */
int64_t pgcn_i_encoder_columns(const pgcn_i_encoder *encoder);
/* "age", "age missing", "city=Berlin", "city=other". */
pgcn_status pgcn_i_encoder_names(const pgcn_i_encoder *encoder, pgcn_i_arena *arena,
                                 pgcn_i_names *out);
/* Numbers without gaps and nothing else: such a table needs no encoder. */
bool pgcn_i_encoder_is_plain(const pgcn_i_encoder *encoder);

/* As JSON, and back (docs/FORMATS.md). The text lives in the arena; `where` is for errors. */
pgcn_status pgcn_i_encoder_text(const pgcn_i_encoder *encoder, pgcn_i_arena *arena,
                                const char **out);
pgcn_status pgcn_i_encoder_parse(const char *where, const char *text, pgcn_i_arena *arena,
                                 pgcn_i_encoder *out);

/* What the rows had that the rule of their column did not know. */
typedef struct pgcn_i_surprise {
    int64_t values, gaps;       /* cells: of a new category, and empty ones where there were none */
    char first[PGCN_I_EXCERPT]; /* of the values */
} pgcn_i_surprise;
/* Which cell of a row each rule reads, for a file. `cell` and `surprise` are [rules]. */
typedef struct pgcn_i_encoding {
    const pgcn_i_encoder *encoder;
    const pgcn_i_layout *layout;
    int64_t *cell;
    pgcn_i_surprise *surprise;
    bool no_gaps; /* an empty cell is an error */
} pgcn_i_encoding;
pgcn_status pgcn_i_encoding_open(const pgcn_i_encoder *encoder, const pgcn_i_layout *layout,
                                 pgcn_i_arena *arena, pgcn_i_encoding *out);
/* Whether the columns of a file are known by their place, though those of the training had names. */
bool pgcn_i_encoder_is_by_place(const pgcn_i_encoder *encoder, const pgcn_i_layout *layout);
/* Writes the numbers of one row. */
pgcn_status pgcn_i_encoding_row(pgcn_i_encoding *encoding, const pgcn_i_rows *rows, char **cell,
                                float *out);

/* encode_learn.c. How the rules are found. */
typedef struct pgcn_i_learning {
    const pgcn_i_id_map
        *only; /* ids of the rows that means and categories are learnt from; or NULL */
    pgcn_decimal decimal;
} pgcn_i_learning;
/* Finds the rules of all columns but the first of the layout; all columns that have none are named in
 * one error. */
pgcn_status pgcn_i_encoder_learn(const pgcn_i_layout *layout, const pgcn_i_learning *how,
                                 pgcn_i_arena *arena, pgcn_i_encoder *out);
/* Every column a number, and nothing learnt. */
pgcn_status pgcn_i_encoder_numbers(const pgcn_i_layout *layout, pgcn_i_arena *arena,
                                   pgcn_i_encoder *out);

#endif
