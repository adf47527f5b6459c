/* data: a graph with features, labels and splits, whatever it was read from.
 *
 * Comes in: a name, a folder or the caller's arrays. Goes out: one pgcn_dataset, validated: every
 * later room may trust ids, labels, masks and that all features are finite.
 * Next room: paths, then nn and train. */
#ifndef PGCN_DATA_H
#define PGCN_DATA_H

#include "base/base.h"
#include "graph/graph.h"
#include "io/io.h"

/* Features: sparse (CSR) or dense, never both. */
typedef struct pgcn_i_features {
    int64_t n, columns;
    int64_t nonzeros;      /* sparse: stored entries; dense: counted by dataset.c */
    const int64_t *offset; /* [n+1], NULL when dense */
    const int32_t *column; /* [nonzeros] ascending in a row */
    const float *value;    /* [nonzeros] */
    const float *dense;    /* [n, columns], NULL when sparse */
} pgcn_i_features;

typedef struct pgcn_i_split {
    char name[16];        /* "public", "0", "1", ... */
    const uint8_t *train; /* [n] */
    const uint8_t *val;
    const uint8_t *test;
} pgcn_i_split;

struct pgcn_dataset {
    pgcn_i_arena arena;
    char *name;
    pgcn_graph *graph; /* owned */
    pgcn_i_features x;
    const int32_t *label; /* [n], -1: none */
    int classes;
    int splits;
    pgcn_i_split *split;
    char fingerprint[65];
    pgcn_dataset_info info; /* counted once, while everything is checked */
};

/* dataset.c: checks all of it, copies it, takes the fingerprint. `split` names and masks given by
 * the reader; `where` names the source in errors ("data/cora"). Graph is taken even on failure. */
typedef struct pgcn_i_dataset_parts {
    const char *name, *where;
    pgcn_graph *graph;
    pgcn_i_features x;
    const int32_t *label;
    int classes; /* 0: largest label + 1 */
    int splits;
    const pgcn_i_split *split;
} pgcn_i_dataset_parts;
pgcn_status pgcn_i_dataset_build(const pgcn_i_dataset_parts *parts, pgcn_dataset **out);

/* builtin.c: karate, sbm, grid. *found tells whether `name` (before a colon) is one of them. */
pgcn_status pgcn_i_builtin_load(const char *name, bool *found, pgcn_dataset **out);

/* folder.c: the .npy folder of docs/FORMATS.md; and whether a directory looks like one. */
bool pgcn_i_folder_is_dataset(const char *directory);
pgcn_status pgcn_i_folder_load(const char *directory, const char *name,
                               const pgcn_dataset_opts *opts, pgcn_dataset **out);

#endif
