/* divide: lists of nodes that are divided among ranks. Each rank draws the walks of its own nodes only. An entry of a
 * transpose belongs to whoever has the column: ranks trade entries (divide.c), in an order that leaves every row of a
 * transpose as one process would have made it. Called by visits.c. */
#ifndef PGCN_DIVIDE_H
#define PGCN_DIVIDE_H

#include "paths/paths.h"

/* Entries by buckets of columns, and rank by rank: what a rank gives away, and what it gets. */
typedef struct pgcn_i_trade {
    const pgcn_i_division *division;
    int samples, hops;     /* hops: lists that are traded together */
    int64_t *first_bucket; /* [ranks + 1] a bucket has columns of one rank */
    pgcn_i_entries *given; /* [hops] of this rank's rows, by sample, bucket and row */
    int64_t *const *place; /* [hops][samples * buckets + 1] where buckets begin in them */
    pgcn_i_entries *got;   /* [hops] of this rank's columns, by sample, bucket, rank and row */
    int64_t **begin;       /* [hops][samples * own buckets + 1] where buckets begin in them */
    int64_t *give, *get;   /* [ranks + 1] bytes before each rank's */
    pgcn_i_buffer packed[2], count[2];
} pgcn_i_trade;
void pgcn_i_trade_run(pgcn_i_trade *trade, pgcn_i_pool *pool);
void pgcn_i_trade_free(pgcn_i_trade *trade);

#endif
