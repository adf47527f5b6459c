/* What explain.c and removal.c share. */
#ifndef PGCN_EXPLAIN_H
#define PGCN_EXPLAIN_H

#include "train/train.h"

typedef struct pgcn_i_explained {
    pgcn_explanation out; /* first: the caller has its address */
    pgcn_i_arena arena;
    const pgcn_model *model; /* both borrowed while it is made */
    const pgcn_dataset *data;
    pgcn_inference inference;
    int32_t *distance; /* [nodes]; NULL where a graph is explained */
} pgcn_i_explained;

/* What is explained, of the logits of an item. */
double pgcn_i_explain_logit(const pgcn_explanation *explanation, const float *logits);
/* Predictions without the links of the `most` strongest nodes. */
pgcn_status pgcn_i_explain_removals(pgcn_i_explained *explained, int most);

#endif
