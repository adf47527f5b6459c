/* sums: gradients of parameters, and statistics, from the partial sums of the groups (sums.c). */
#ifndef PGCN_SUMS_H
#define PGCN_SUMS_H

#include "nn/ranks.h"

/* to (= or +=) the sum over groups of partial[group][first .. first + count - 1] */
typedef struct pgcn_i_group_sum {
    float *to;
    bool add;
    int64_t first, count;
} pgcn_i_group_sum;

/* Several of them, which are made together. */
enum { PGCN_SUMS = 16 };
typedef struct pgcn_i_sums {
    pgcn_i_tape *tape;
    pgcn_i_own own;          /* groups: all of them, and those of this process */
    const pgcn_i_live *live; /* groups without live rows have no sums; NULL: all have */
    int count;
    pgcn_i_group_sum sum[PGCN_SUMS];
} pgcn_i_sums;

static inline bool pgcn_i_is_empty_group(const pgcn_i_live *live, int64_t group) {
    return live && live->first[group] == live->first[group + 1];
}

/* One more; those that are there are made if there is no room for it. */
void pgcn_i_sums_add(pgcn_i_sums *sums, pgcn_i_group_sum sum);
/* Makes all of them; none is left. */
void pgcn_i_sums_run(pgcn_i_sums *sums);

#endif
