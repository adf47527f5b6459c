/* The limits that kernels.c measures beside the kernels: the least that any program must do for
 * the same work, as plain loops. limits.c is compiled for the very processor that it is compiled
 * on, so these loops have all instructions that there are. c is a multiple of 64. */
#ifndef PGCN_BENCH_LIMITS_H
#define PGCN_BENCH_LIMITS_H

#include "graph/graph.h"

/* out[r] = the sum of the rows of x that the lists name in row r: no weights, no kernel. `wide`:
 * as much of a row at once as the registers hold, else 64 channels. `ahead`: entries to prefetch
 * ahead, 0: none. */
void limit_gather(float *out, const float *x, const pgcn_i_csr *list, int lists, int64_t begin,
                  int64_t end, int64_t c, bool wide, int ahead);
/* out[e % 64] += x[row[e]]: rows at random. */
void limit_random_rows(float *out, const float *x, const pgcn_node *row, int64_t begin, int64_t end,
                       int64_t c, int ahead);

float limit_read(const float *a, int64_t begin, int64_t end); /* sum of a */
void limit_copy(float *a, const float *b, int64_t begin, int64_t end);
void limit_triad(float *a, const float *b, const float *c, int64_t begin, int64_t end);
/* w, m and v += g: the arrays of Adam, each read and written once */
void limit_adam(float *w, float *m, float *v, const float *g, int64_t begin, int64_t end);

/* Multiply-adds on registers; returns the number of floating-point operations. */
double limit_fma(float *out, int64_t iterations);

/* The walks [begin, end) of [n, p], k nodes each, with one xorshift generator: not reproducible by
 * element, not unbiased, but as short as a walk can be. Staying is one more choice. */
void limit_walk(pgcn_node *out, const int64_t *offset, const pgcn_node *neighbour, int64_t begin,
                int64_t end, int p, int k);
void limit_walk_batches(pgcn_node *out, const int64_t *offset, const pgcn_node *neighbour,
                        int64_t begin, int64_t end, int p, int k);
/* The same walks; every visit is written once to a list and once to its place in the transposed
 * one, which is known beforehand: no sorting, merging, counting or scaling. */
void limit_visits(pgcn_i_csr *hop, pgcn_i_csr *hop_t, const int32_t *place, const int64_t *offset,
                  const pgcn_node *neighbour, int64_t begin, int64_t end, int p, int k);

#endif
