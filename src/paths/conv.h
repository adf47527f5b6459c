/* What conv.c and conv_double.c share: the operator behind the public pgcn_visits. */
#ifndef PGCN_PATHS_CONV_H
#define PGCN_PATHS_CONV_H

#include "paths/paths.h"

#include <pthread.h>

/* What visits made beside each other have in common. Calls that use the pool or the scratch memory hold
 * the lock. */
typedef struct pgcn_i_operator {
    pthread_mutex_t lock;
    int users; /* under the lock */
    pgcn_form form;
    int64_t n;
    pgcn_i_walker walker;
    pgcn_i_pool *pool;
    pgcn_i_arena arena;
    pgcn_i_csr exact, exact_t; /* of the exact form */
    const float *degree;       /* [n] that visits are scaled by; NULL: they are not */
    void *scratch;
    int64_t scratch_bytes;
} pgcn_i_operator;

struct pgcn_visits {
    pgcn_i_operator *shared;
    pgcn_i_visits *lists; /* NULL: exact */
    bool drawn;
};

/* Scratch memory for `count` numbers of `size` bytes; what is in it is undefined. Under the lock. */
pgcn_status pgcn_i_operator_scratch(pgcn_i_operator *shared, int64_t count, size_t size,
                                    void **out);

/* What all calls check before they look at their arrays. */
pgcn_status pgcn_i_pathconv_check(const pgcn_visits *visits, int64_t channels);

/* One matrix of the sum over the hops: S_i or T, transposed in the backward pass. 1 <= i < k. */
static inline const pgcn_i_csr *pgcn_i_hop_of(const pgcn_visits *visits, int i, bool transposed) {
    if (visits->lists) return &(transposed ? visits->lists->hop_t : visits->lists->hop)[i - 1];
    return transposed ? &visits->shared->exact_t : &visits->shared->exact;
}

#endif
