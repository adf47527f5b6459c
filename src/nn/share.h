/* share: what the files about rows of several ranks have in common (share.c, halo.c, travel.c,
 * sums.c). */
#ifndef PGCN_SHARE_H
#define PGCN_SHARE_H

#include "nn/ranks.h"

/* Which rows are read by whom. */
typedef struct pgcn_i_want {
    const pgcn_i_csr *hop;
    int hops;
    int64_t n;                   /* rows of a sample of the matrices */
    const pgcn_i_others *others; /* of lists that are divided; NULL: they are not */
    const pgcn_i_live *from;     /* rows that read; NULL: all */
    const uint8_t *has;          /* rows that are read, others are left out; NULL: none is */
    int64_t rows;                /* by which readers are divided, */
    int64_t held;                /* and what they read */
} pgcn_i_want;

typedef struct pgcn_i_halo_plan {
    pgcn_i_want of;
    uint64_t time;        /* when it was made, 0: never */
    pgcn_i_buffer row[2]; /* of pgcn_node: rows to get, and to give, rank by rank */
    pgcn_i_buffer place;  /* of pgcn_node: where rows to get go, if lists are divided */
    bool in_order;        /* that is behind all rows, one after the other */
    int64_t *first[2];    /* [ranks + 1] */
    bool *whole[2];       /* [ranks] all rows of their owner are among them */
} pgcn_i_halo_plan;

/* Links between the rows of this rank and those of others: see links.c. */
typedef struct pgcn_i_link_side {
    pgcn_i_buffer link;   /* of int64_t: their numbers, rank by rank */
    pgcn_i_buffer row;    /* of pgcn_node: the rows that they belong to */
    int64_t *first;       /* [ranks + 1] */
    pgcn_i_buffer before; /* of int64_t: scratch of an exchange */
} pgcn_i_link_side;
typedef struct pgcn_i_link_plan {
    pgcn_i_link_side side[2];
    uint64_t time; /* of lists, when it was made, 0: never */
    const pgcn_i_csr *exact;
    int64_t rows; /* by which they are divided */
} pgcn_i_link_plan;

/* Rows of an array [rows, stride] that are on their way, `cols` of each (travel.c). */
typedef struct pgcn_i_travel {
    const pgcn_i_halo_plan *plan; /* NULL: none are */
    float *array;
    int64_t stride, cols;
    float *packed[2];        /* rows to get, and to give, rank by rank */
    bool in_order;           /* rows to get are packed where they belong */
    bool ahead;              /* they are sent while others are made, */
    bool by_groups;          /* by a loop whose tasks are groups */
    int64_t made;            /* steps of this rank whose rows are posted */
    int threads;             /* the most of any rank; 0: not asked yet */
    pgcn_i_buffer buffer[2]; /* of `packed` */
    pgcn_i_buffer messages;  /* of pgcn_i_message */
} pgcn_i_travel;

enum { PGCN_PLANS = 12, PGCN_GET = 0, PGCN_GIVE = 1 };
struct pgcn_i_share {
    pgcn_i_arena arena;
    pgcn_i_comm *comm;
    uint64_t time;  /* grows when lists change, or the rows that matter, */
    uint64_t lists; /* and when lists do */
    pgcn_i_halo_plan plan[PGCN_PLANS];
    int next; /* plan to make anew */
    pgcn_i_link_plan links;
    pgcn_i_buffer flag, rows[2], scratch;
    pgcn_i_travel travel;
    pgcn_i_message *message;  /* [2 ranks] */
    int64_t *count[2];        /* [ranks] */
    int64_t *bound;           /* [ranks + 1] */
    int64_t fetched;          /* bytes of rows, and of links */
    pgcn_i_division division; /* of views */
};

/* Room for `bytes`, not initialised. NULL without memory, which is told to the other ranks. */
void *pgcn_i_share_buffer(pgcn_i_share *share, pgcn_i_buffer *buffer, int64_t bytes);
/* pgcn_i_own_of() of any rank. */
pgcn_i_own pgcn_i_own_of_rank(const pgcn_i_tape *tape, int64_t rows, int rank);
/* Who needs which rows: as it was found before, if lists are those of that time (halo.c). All ranks ask at the same
 * time. */
const pgcn_i_halo_plan *pgcn_i_halo_plan_for(pgcn_i_tape *tape, pgcn_i_want of);
bool pgcn_i_want_is_same(const pgcn_i_want *a, const pgcn_i_want *b);
/* Rows of an array [rows, stride], `cols` of each, from their owners (travel.c). */
void pgcn_i_travel_fetch(pgcn_i_tape *tape, pgcn_i_want of, float *array, int64_t stride,
                         int64_t cols);
/* The same rows while a loop makes them: before it begins; the next fetch must be this one. Of a loop whose tasks are
 * groups in the backward pass, tiles of rows else. Returns in how many steps the loop has to make its rows, or 0: all at
 * once, and nothing has begun. */
int64_t pgcn_i_travel_ahead(pgcn_i_tape *tape, pgcn_i_want of, float *array, int64_t cols,
                            bool by_groups);

/* Values of links (links.c). Before a loop of the backward pass whose first operation reads or writes some: coefficients
 * of others, or gradients that others have found; */
void pgcn_i_links_before(pgcn_i_tape *tape, const pgcn_i_op *op);
/* after it, who has the gradients of those that it read; */
void pgcn_i_links_after(const pgcn_i_op *op);
/* and of lists that are divided, zero gradients of all links that this rank goes through. */
void pgcn_i_links_clear(pgcn_i_tape *tape, const pgcn_i_value *value);

#endif
