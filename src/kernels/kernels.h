/* kernels: the hot loops, and only these. No threads, no allocation, no failure: every function
 * works on the rows (or elements) begin .. end-1 that the caller gives it.
 *
 * Comes in: raw arrays. Goes out: raw arrays. Next rooms: paths (walks) and nn (ops), which
 * cut rows into blocks, hand them to threads and add up partial sums in a fixed order.
 *
 * One binary, several instruction sets: each file of this room but dispatch.c is
 * compiled once per set (PGCN_ISA) and fills one table; pgcn_i_kernels_get() picks one at run time.
 * Sums run over visits, edges or rows in index order and vectors lie along the channels, so the
 * width of a register never changes the order of a sum.
 *
 * Letters: n nodes, c channels, k path length. [a, b] row-major. Destination first, like memcpy. */
#ifndef PGCN_KERNELS_H
#define PGCN_KERNELS_H

#include "base/base.h"
#include "base/rng.h"
#include "graph/graph.h"

typedef struct pgcn_i_adam_step {
    float lr, decay, beta1, beta2, epsilon;
    float correct1, correct2; /* 1 / (1 - beta^t) */
} pgcn_i_adam_step;

/* What uniform walks read. If it fits into a cache, the choices of every node are listed: the high
 * half of row[u] is the index of node u's first choice in `choice`, the low half is the number of
 * its choices (at least 1: a node without neighbours has itself). row NULL: walks read the graph's
 * own arrays. */
typedef struct pgcn_i_walk_steps {
    const pgcn_graph *graph;
    bool may_stay;           /* one more choice: the node itself, after its neighbours */
    const uint64_t *row;     /* [n] or NULL */
    uint32_t doubtful;       /* twice the largest number of choices; walk.c says why */
    const pgcn_node *choice; /* [entries + n] at most */
} pgcn_i_walk_steps;

enum {
    PGCN_WALK_BATCH = 128, /* walks side by side, at most: their loads overlap, and all fit in L1 */
    PGCN_WALK_UNIT = 16,   /* elements are read in multiples of this number */
    PGCN_WALK_HOPS = 4,    /* hops for one block of random words */
    PGCN_TILE_ROWS = 16    /* rows whose visits are sorted side by side, one per vector lane */
};

/* Which random words a batch of walks uses: block `block` of every element. */
typedef struct pgcn_i_walk_words {
    pgcn_i_rng_domain domain;
    const uint64_t *element; /* [walks, rounded up to PGCN_WALK_UNIT] */
    uint32_t block;
} pgcn_i_walk_words;

/* How sorted visits become entries of a list. Rows and columns of the list are the node ids plus
 * `shift`. A value is count / p times root[row's node] times inverse_root[visited node]. */
typedef struct pgcn_i_merge {
    pgcn_i_entries out; /* out.row may be NULL */
    int64_t p;
    pgcn_node shift;
    const float *root, *inverse_root; /* [n] */
} pgcn_i_merge;

/* Rows of a matrix: row[0 .. count-1], or first .. first+count-1 where `row` is NULL. */
typedef struct pgcn_i_rows {
    const pgcn_node *row;
    int64_t first, count;
} pgcn_i_rows;
static inline int64_t pgcn_i_row(pgcn_i_rows rows, int64_t i) {
    return rows.row ? rows.row[i] : rows.first + i;
}

/* What a path convolution reads. A slab of the channels is given by pointers to its first channel
 * and its width; rows of all arrays are c apart. */
typedef struct pgcn_i_path_args {
    const float *h;        /* [n, c], what is gathered */
    const uint16_t *bf16;  /* [n, c]: the same in bf16, read in its place for visits; or NULL */
    const float *s;        /* [k, c] */
    const pgcn_i_csr *hop; /* [k-1] as in pgcn_i_visits */
    int k;
    int64_t c, width;
    const uint8_t *live; /* [n]: rows of h with 0 here count as zero and are not read, or NULL */
    bool prefetch;       /* h does not fit into the cache: ask for the next row's visits early */
} pgcn_i_path_args;

/* A step of Horner's rule. Pointers to the first channel of a slab, and how far apart its rows are. */
typedef struct pgcn_i_horner_args {
    float *out;
    const float *x, *h;
    int64_t out_c, x_c, h_c, width;
    const pgcn_i_csr *a;
    const float *s, *s_x; /* [width]; s_x NULL: 1 */
    bool prefetch;        /* x does not fit into the cache: ask for the next row's entries early */
} pgcn_i_horner_args;

/* A dense product C[m, n] (= or +=) A[m, k] B[k, n], row-major; rows of x are ldx floats apart.
 * x_transposed: x is stored transposed. */
typedef struct pgcn_i_product {
    int64_t m, n, k;
    const float *a, *b;
    float *c;
    int64_t lda, ldb, ldc;
    bool a_transposed, b_transposed;
    bool add; /* to what is in C; otherwise C is only written */
} pgcn_i_product;

/* A sparse matrix by columns (CSC), with the place of each entry in its rows (CSR). */
typedef struct pgcn_i_columns {
    int64_t nonzeros;
    const int64_t *offset;    /* [columns+1] */
    const int32_t *row;       /* [nonzeros] */
    const uint32_t *position; /* [nonzeros] */
    const float *value;       /* [nonzeros] */
} pgcn_i_columns;

/* What the gradient of the first weights reads, for sparse features. */
typedef struct pgcn_i_sparse_gradient {
    const pgcn_i_columns *x;
    const uint8_t *kept; /* [samples, nonzeros] entries that are not dropped; NULL: all */
    float scale;         /* of what is kept */
    const float *g;      /* [samples * n, c] */
    int64_t n, c;
    int samples;
    int64_t group_rows; /* nodes of a group: its entries, of all samples, are one partial sum */
} pgcn_i_sparse_gradient;

typedef struct pgcn_i_kernels {
    const char *isa;

    /* -- uniform walks and their visits (walk.c) -- */

    /* Hops 4 block + 1 .. 4 block + hops (at most PGCN_WALK_HOPS) of `count` walks: from
     * nodes[0][b] over nodes[1][b] to nodes[hops][b], with the words of (element[b], block). True
     * if a draw was rejected (probability degree / 2^32): that walk needs more words, the result is
     * invalid, and the caller repeats the batch with pgcn_i_walk_one() of paths. */
    bool (*walk_hops)(pgcn_node (*nodes)[PGCN_WALK_BATCH], const pgcn_i_walk_steps *steps,
                      const pgcn_i_walk_words *words, int hops, int count);
    /* Sorts the p ids id[q][lane] of every lane; id [p, PGCN_TILE_ROWS] */
    void (*sort_lanes)(pgcn_node *id, int64_t p);
    /* distinct[lane] = number of distinct ids of the lane, after sorting */
    void (*count_lanes)(int32_t *distinct, const pgcn_node *id, int64_t p);
    /* Entries of the nodes first .. first + lanes - 1 from their sorted visits id [p,
     * PGCN_TILE_ROWS]: one for each distinct id of a lane, from offset[lane] of args->out on */
    void (*merge_lanes)(const pgcn_i_merge *args, const int64_t *offset, const pgcn_node *id,
                        pgcn_node first, int lanes);
    /* sqrt(degree) and 1 / sqrt(degree), or 1 where degree is NULL */
    void (*roots)(float *root, float *inverse_root, const float *degree, int64_t begin,
                  int64_t end);

    /* -- dense product (gemm.c): a row of C has the same bits whatever m is -- */

    void (*gemm)(const pgcn_i_product *product);

    /* -- path convolution (pathconv.c) -- */

    /* out[r] = s_0 (.) h[r] + sum_{i>=1} s_i (.) sum_e w_e h[u_e] for the rows r */
    void (*pathconv_forward)(float *out, const pgcn_i_path_args *args, pgcn_i_rows rows);
    /* For the rows u, with args->h = the gradient g and args->hop = the transposed lists:
     * t_0 = g[u], t_i = sum_e w_e g[j_e] over row u of S_i^T;
     * dh[place of u in rows] = sum_i s_i (.) t_i;   ds[i] += h[u] (.) t_i, ds [k, c] */
    void (*pathconv_backward)(float *dh, float *ds, const float *h, const pgcn_i_path_args *args,
                              pgcn_i_rows rows);
    /* out = x rounded to bf16, to the nearest and ties to even; elements begin .. end-1 */
    void (*to_bf16)(uint16_t *out, const float *x, int64_t begin, int64_t end);
    /* out[r - begin] = sum_e value_e x[column_e]: a tile of a sparse product */
    void (*gather)(float *out, const float *x, const pgcn_i_csr *a, int64_t begin, int64_t end,
                   int64_t c);
    /* Horner's step of the deterministic form: out[r] = s (.) h[r] + s_x (.) sum_e value_e
     * x[column_e] for rows r and the channels of a slab */
    void (*horner)(const pgcn_i_horner_args *args, int64_t begin, int64_t end);
    /* dh[r] (= or +=) s (.) q[r];  ds += h[r] (.) q[r]: one power in the backward pass of it */
    void (*scale_dot)(float *dh, float *ds, const float *q, const float *h, const float *s,
                      int64_t begin, int64_t end, int64_t c, bool add);

    /* -- sparse input layer (spmm.c). kept [nonzeros]: entries that are not dropped; NULL: all.
     * What is kept is multiplied with `scale`. -- */

    /* out[r] = bias + sum_e scale value_e w[column_e]; bias may be NULL; relu applies max(., 0).
     * Rows begin..end-1 of offset/column/value, out row r. */
    void (*csr_linear)(float *out, const int64_t *offset, const int32_t *column, const float *value,
                       const uint8_t *kept, float scale, const float *w, const float *bias,
                       bool relu, int64_t begin, int64_t end, int64_t c);
    /* Feature rows begin..end-1: dw[f] = sum_s sum_e scale value_e g[s * n + row_e] over the
     * entries e of column f with kept[s * nnz + position_e]; group by group */
    void (*csr_linear_grad)(float *dw, const pgcn_i_sparse_gradient *args, int64_t begin,
                            int64_t end);

    /* -- element-wise (elementwise.c); element ranges unless rows and c are given -- */

    void (*bias_relu)(float *x, const float *bias, bool relu, int64_t begin, int64_t end,
                      int64_t c); /* in place, bias may be NULL */
    void (*relu_backward)(float *dx, const float *g, const float *y, float scale, int64_t begin,
                          int64_t end, bool add); /* dx = scale g where y > 0 */
    void (*scale)(float *out, float a, const float *x, int64_t begin, int64_t end,
                  bool add); /* out (= or +=) a x */
    void (*column_sum)(float *sum, const float *x, int64_t begin, int64_t end,
                       int64_t c); /* sum[ch] += over rows */
    void (*adam)(float *w, float *m, float *v, const float *g, const float *start,
                 const pgcn_i_adam_step *step, int64_t begin,
                 int64_t end); /* g + decay (w - start); start NULL: 0 */

    /* -- dropout (dropout.c). Element e is decided by 16 bits: lane e % 8 of the four words of
     * philox(element e / 8); dropped when lane < threshold; kept values times `scale`.
     * Lanes: low half of word 0, high half of word 0, low half of word 1, ... -- */

    void (*dropout)(float *out, uint8_t *kept, const float *x, pgcn_i_rng_domain domain,
                    uint32_t threshold, float scale, int64_t begin, int64_t end,
                    int64_t first_element); /* element of x[i] is first_element + i; kept may be
                                               NULL */
    /* The same decision alone, for elements begin .. end-1. */
    void (*draw_kept)(uint8_t *kept, pgcn_i_rng_domain domain, uint32_t threshold, int64_t begin,
                      int64_t end);
    void (*dropout_backward)(float *dx, const float *g, const uint8_t *kept, float scale,
                             int64_t begin, int64_t end, bool add);

    /* -- batch norm (norm.c) -- */

    void (*square_deviation_sum)(float *sum, const float *x, const float *mean, int64_t begin,
                                 int64_t end, int64_t c); /* sum[ch] += (x - mean)^2 */
    void (*norm_forward)(float *y, const float *x, const float *mean, const float *inv_std,
                         const float *gamma, const float *beta, int64_t begin, int64_t end,
                         int64_t c); /* gamma, beta may be NULL: 1, 0 */
    void (*norm_sums)(float *sum_g, float *sum_gx, const float *g, const float *x,
                      const float *mean, const float *inv_std, int64_t begin, int64_t end,
                      int64_t c); /* sum_g += g;  sum_gx += g (.) xhat */
    void (*norm_backward)(float *dx, const float *g, const float *x, const float *mean,
                          const float *inv_std, const float *gamma, const float *sum_g,
                          const float *sum_gx, float inv_rows, int64_t begin, int64_t end,
                          int64_t c, bool add);
    /* dx = gamma inv_std (g - sum_g inv_rows - xhat sum_gx inv_rows) */

    /* -- losses (loss.c). c = classes. Sums are returned in double -- */

    /* probability[r] = softmax(logits[r]) */
    void (*softmax)(float *probability, const float *logits, int64_t begin, int64_t end, int64_t c);
    /* Rows of stacked samples: node = r % n. Where mask[node] (NULL: everywhere) and label >= 0:
     * loss += -w log p[label] (from the logits, stable), hits += argmax == label, and, if dlogits,
     * dlogits[r] = scale w (p - onehot); other rows of dlogits are set to 0. w = weight[label], the
     * weight of the class [c]; NULL: 1. */
    void (*cross_entropy)(double *loss, int64_t *hits, float *dlogits, const float *logits,
                          const float *probability, const int32_t *label, const uint8_t *mask,
                          const float *weight, int64_t n, float scale, int64_t begin, int64_t end,
                          int64_t c);
    /* Multi-label: loss += sum_ch softplus form of BCE; dlogits = scale (sigmoid - target).
     * target [n, c] 0/1, mask [n] or NULL. */
    void (*binary_cross_entropy)(double *loss, float *dlogits, const float *logits,
                                 const uint8_t *target, const uint8_t *mask, int64_t n, float scale,
                                 int64_t begin, int64_t end, int64_t c);
    /* Consistency over samples, nodes begin..end-1: target = sharpen_T(mean_s p_s), without
     * gradient; loss += sum_s ||p_s - target||^2; dlogits[s n + j] += the gradient of
     * scale * that sum, through the softmax. dlogits may be NULL. */
    void (*consistency)(double *loss, float *dlogits, const float *probability, int64_t n,
                        int samples, float temperature, float scale, int64_t begin, int64_t end,
                        int64_t c);

    /* -- pooling (elementwise.c): graphs begin..end-1 of `offset` [graphs+1] -- */
    void (*segment_sum)(float *out, const float *x, const int64_t *offset, int64_t begin,
                        int64_t end, int64_t c);
    void (*segment_spread)(float *dx, const float *g, const int64_t *offset, int64_t begin,
                           int64_t end, int64_t c, bool add); /* dx[row of graph] = g[graph] */
} pgcn_i_kernels;

/* The table in use: the best the processor has, or the one that the environment variable
 * PATHGCN_ISA names (baseline, avx2, avx512). Never NULL: the best one where there is none of that
 * name, which public calls that compute refuse first. */
const pgcn_i_kernels *pgcn_i_kernels_get(void);
/* PGCN_ERR_SYSTEM if PATHGCN_ISA names what this build or processor has not. */
pgcn_status pgcn_i_kernels_check(void);
/* Table by name, NULL if not built or not supported here (tests compare all of them). */
const pgcn_i_kernels *pgcn_i_kernels_named(const char *isa);
const char *pgcn_i_kernels_built(void); /* "baseline avx2 avx512" */

#endif
