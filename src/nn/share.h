/* share: what the files about rows of several ranks have in common (share.c, halo.c, sums.c). */
#ifndef PGCN_SHARE_H
#define PGCN_SHARE_H

#include "nn/nn.h"

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

enum { PGCN_PLANS = 12, PGCN_GET = 0, PGCN_GIVE = 1 };
struct pgcn_i_share {
    pgcn_i_arena arena;
    pgcn_i_comm *comm;
    uint64_t time; /* grows when lists change */
    pgcn_i_halo_plan plan[PGCN_PLANS];
    int next; /* plan to make anew */
    pgcn_i_buffer flag, rows[2], scratch;
    pgcn_i_buffer messages;   /* of fetches, of pgcn_i_message */
    pgcn_i_message *message;  /* [2 ranks] */
    int64_t *count[2];        /* [ranks] */
    int64_t *bound;           /* [ranks + 1] */
    int64_t fetched;          /* bytes of rows */
    pgcn_i_division division; /* of views */
};

/* Room for `bytes`, not initialised. NULL without memory, which is told to the other ranks. */
void *pgcn_i_share_buffer(pgcn_i_share *share, pgcn_i_buffer *buffer, int64_t bytes);
/* pgcn_i_own_of() of any rank. */
pgcn_i_own pgcn_i_own_of_rank(const pgcn_i_tape *tape, int64_t rows, int rank);
/* Rows of an array [rows, stride], `cols` of each, from their owners (halo.c). */
void pgcn_i_halo_fetch(pgcn_i_tape *tape, pgcn_i_want of, float *array, int64_t stride,
                       int64_t cols);

#endif
