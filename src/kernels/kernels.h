/* kernels: the hot loops, and only these. No threads, no allocation, no failure: every function
 * works on the rows (or elements) begin .. end-1 that the caller gives it.
 *
 * Comes in: raw arrays. Goes out: raw arrays. Next rooms: paths (walks) and nn (ops), which
 * split rows into blocks, hand them to threads and add partial sums in a fixed order.
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

/* A parameter, as arrays of equal length. */
typedef struct pgcn_i_adam_arrays {
    float *w, *m, *v;   /* weights and both moments */
    const float *g;     /* the gradient */
    const float *start; /* the weights that decay pulls towards; NULL: 0 */
} pgcn_i_adam_arrays;

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

/* What a path convolution reads. For a slab of the channels, h, bf16 and s point to its first
 * channel and `width` is its size; rows of all arrays are c apart. */
typedef struct pgcn_i_path_args {
    const float *h;        /* [n, c], what is gathered; NULL: it is in bf16 alone */
    const uint16_t *bf16;  /* [n, c] h in bf16, which visits read instead of h; or NULL */
    const float *s;        /* [k, c] */
    const pgcn_i_csr *hop; /* [k-1] as in pgcn_i_visits */
    int k;
    int64_t c, width;
    const uint8_t *live; /* [n] mask: other rows of h count as zero and are not read; or NULL */
    int64_t
        own_rows; /* of the backward pass: only rows before this one have a gradient of their own; 0: all */
    bool prefetch; /* h does not fit into the cache: prefetch the next rows' visits */
    bool packed;   /* `out` of the forward pass has these rows side by side, and no others */
    const uint16_t *own_bf16; /* of the backward pass: its h in bf16, if that is NULL */
    bool own_packed;          /* of the backward pass: its h has these rows side by side */
} pgcn_i_path_args;

/* A step of Horner's rule on a slab of channels: pointers to its first channel, and the distances
 * between rows. */
typedef struct pgcn_i_horner_args {
    float *out;
    const float *x, *h;
    int64_t out_c, x_c, h_c, width;
    const pgcn_i_csr *a;
    const float *s, *s_x; /* [width]; s_x NULL: 1 */
    bool prefetch;        /* x does not fit into the cache: prefetch the next row's entries */
} pgcn_i_horner_args;

/* A step along a sparse matrix A: out[r] = self x[r] + neighbours (A x)[r] + what is added. Samples are
 * stacked: row r of the result is row r - first of A, and x and `live` are those of this sample. */
enum { PGCN_PROPAGATE_PLUS = 2 };
typedef struct pgcn_i_propagate {
    const pgcn_i_csr *a;
    int64_t first;
    const float *x; /* [rows of A], x_c floats apart */
    float *out;     /* row r, or with `packed` the place of r in the list of rows */
    int64_t x_c, out_c, width;
    bool packed;
    float self, neighbours;
    struct {
        const float *x; /* row r is added, times share; NULL: nothing, and nothing after it */
        int64_t c;
        float share;
    } plus[PGCN_PROPAGATE_PLUS];
    const uint8_t *live; /* mask: other rows of x count as zero and are not read; or NULL */
    bool prefetch;       /* x does not fit into the cache: prefetch the next row's entries */
} pgcn_i_propagate;

/* What flows along the entries of a row: s(d) of the difference d, or in the backward pass its slope. */
typedef enum pgcn_i_flow {
    PGCN_I_FLOW_LINEAR, /* d */
    PGCN_I_FLOW_TANH,
    PGCN_I_FLOW_POSITIVE, /* ReLU(d) */
    PGCN_I_FLOW_NEGATIVE  /* -ReLU(-d) */
} pgcn_i_flow;
/* out[r] = factor sum_e w_e s(w_e (p[r] - p[j_e])) over the entries of row r in one or two matrices; or, with a
 * gradient g, factor sum_e w_e^2 s'(w_e (p[r] - p[j_e])) (g[r] - g[j_e]). Samples are stacked as in pgcn_i_propagate. */
typedef struct pgcn_i_flux {
    const pgcn_i_csr *a[2]; /* the second may be NULL */
    pgcn_i_flow flow[2];
    float factor;
    int64_t first, c;
    const float *p, *g;  /* [rows of A, c]; g NULL: forward */
    float *out;          /* row r, or with g its place in the list of rows */
    const uint8_t *live; /* mask: other rows of g count as zero and are not read; or NULL */
} pgcn_i_flux;

/* One power q = (T^T)^i g in the backward pass of Horner's rule. */
typedef struct pgcn_i_power_gradient {
    float *dh;          /* [rows, c] */
    float *ds;          /* [c], is added to */
    const float *q, *h; /* [rows, c] */
    const float *s;     /* [c] */
    int64_t c;
    bool add; /* to what is in dh; otherwise dh is only written */
} pgcn_i_power_gradient;

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

/* A sparse matrix by columns (CSC), with the index of each entry in the CSR arrays. */
typedef struct pgcn_i_columns {
    int64_t nonzeros;
    const int64_t *offset;    /* [columns+1] */
    const int32_t *row;       /* [nonzeros] */
    const uint32_t *position; /* [nonzeros] */
    const float *value;       /* [nonzeros] */
} pgcn_i_columns;

/* The input layer on sparse features X [n, features], in CSR: relu(dropout(X) W + bias). */
typedef struct pgcn_i_sparse_linear {
    const int64_t *offset; /* [n+1] */
    const int32_t *column; /* [nonzeros] */
    const float *value;    /* [nonzeros] */
    const uint8_t *kept;   /* [nonzeros] dropout mask; NULL: all entries are kept */
    float scale;           /* of kept entries */
    const float *w;        /* [features, c] */
    const float *bias;     /* [c] or NULL */
    bool relu;
    int64_t c;
} pgcn_i_sparse_linear;

/* What the gradient of W reads in that layer. */
typedef struct pgcn_i_sparse_gradient {
    const pgcn_i_columns *x;
    const uint8_t *kept; /* [samples, nonzeros] dropout mask; NULL: all entries are kept */
    float scale;         /* of kept entries */
    const float *g;      /* [samples * n, c] */
    int64_t n, c;
    int samples;
    int64_t group_rows; /* nodes of a group: its entries, of all samples, are one partial sum */
    int64_t first_row, end_row; /* nodes whose entries count: whole groups; 0, 0: all */
    bool add;                   /* to what dw holds: the sum of the groups before */
    const uint8_t *live; /* [samples * n] mask: other rows of g are zero; NULL: none is left out */
} pgcn_i_sparse_gradient;

/* Which elements dropout drops. The element of x[i] is first_element + i. */
typedef struct pgcn_i_dropout {
    pgcn_i_rng_domain domain;
    uint32_t threshold; /* of 65536: the rate of dropout */
    float scale;        /* of kept elements */
    int64_t first_element;
} pgcn_i_dropout;

/* Attention over the links of a sparse matrix A: an entry (i, j) is a link, and entry e of sample s has the
 * number s * entries + e. Coefficients are [links, heads]: not negative, and with the sign bit set where dropout
 * drops them, so that one array says both. */
enum { PGCN_MOST_HEADS = 64 };
typedef struct pgcn_i_links {
    const pgcn_i_csr *a;
    int64_t first, first_link; /* row and link of the sample at which it begins */
    int64_t heads;
} pgcn_i_links;

/* softmax over the links of a row of LeakyReLU((s_i + t_j) gate), or of what `coefficient` holds before */
typedef struct pgcn_i_edge_softmax {
    pgcn_i_links links;
    const float *gate; /* [links, heads] of all samples, before a sigmoid; NULL: 1 */
    float *gate_gradient;
    bool add_gate;      /* to what is in gate_gradient; otherwise it is only written */
    const float *score; /* [rows of the sample, 2, heads]: s of a row, then t; NULL: see above */
    float slope;        /* of the LeakyReLU where it is negative */
    float *coefficient; /* [links, heads] of all samples */
    float *gradient;    /* of the coefficients; becomes that of s_i + t_j */
} pgcn_i_edge_softmax;

typedef struct pgcn_i_link_dots {
    const float *query, *key; /* [rows of the sample, heads * width], c floats apart */
    int64_t c, width;
    float scale;
} pgcn_i_link_dots;

/* out[r] = self x[r] + scale sum over links of coefficient x[j], head by head: head h has the columns
 * h c / heads .. of a row */
typedef struct pgcn_i_attend {
    pgcn_i_links links;
    const int64_t *number; /* of the links where A is a transpose; NULL: as they come */
    const float *x;        /* [rows of the sample, c], x_c floats apart */
    int64_t c, x_c;
    const float *coefficient;
    bool mean;     /* all heads have all c columns, and the mean of their coefficients counts */
    bool is_plain; /* coefficients have no mark of dropout: they may be negative */
    float self, scale;
    float *out; /* row r, or with `packed` the place of r in the list of rows; out_c floats apart */
    int64_t out_c;
    bool packed;
    const uint8_t *live; /* mask: other rows of x count as zero and are not read; or NULL */
    bool prefetch;       /* x does not fit into the cache: prefetch the next row's entries */
    /* of the backward pass: gradient of a coefficient (= or +=) scale <x[j], own[r]>, 0 where it is dropped */
    const float *own; /* [rows, c] of all samples; NULL: no such gradient */
    float *gradient;  /* [links, heads] of all samples */
    bool add;
} pgcn_i_attend;

/* Batch norm of rows with c channels; all arrays are [c]. */
typedef struct pgcn_i_norm {
    const float *mean, *inv_std;
    const float *gamma, *beta; /* may be NULL: 1, 0 */
    int64_t c;
} pgcn_i_norm;

/* What its backward pass reads besides. */
typedef struct pgcn_i_norm_gradient {
    const float *g;    /* [rows, c] gradient of the output */
    const float *sums; /* [2, c] of norm_sums() over all rows */
    float inv_rows;    /* 1 / number of rows */
    bool add;          /* to what is in dx; otherwise dx is only written */
} pgcn_i_norm_gradient;

/* What a loss reads and writes; each loss uses the fields of its kind. Samples are stacked: row r
 * is node r % n. */
typedef struct pgcn_i_loss_args {
    const float *logits;      /* [samples * n, c] */
    const float *probability; /* [samples * n, c] softmax of the logits */
    float *dlogits;           /* [samples * n, c] gradient of the logits; NULL: not computed. May be
                                 `probability` in the cross entropy */
    float scale;              /* of the gradient */
    int64_t n, c;             /* nodes, classes */
    const uint8_t *mask;      /* [n] nodes that count; NULL: all. Not for consistency */
    /* cross entropy */
    const int32_t *label; /* [n] negative: unknown */
    const float *weight;  /* [c] of the classes; NULL: 1 */
    /* binary cross entropy */
    const uint8_t *target; /* [n, c] 0 or 1 */
    /* consistency */
    int samples;
    float temperature;
} pgcn_i_loss_args;

/* The backward pass of a shifted ReLU y = ReLU(x - t) + t: dx = g where y > t, else 0; dt += g where not. */
typedef struct pgcn_i_shifted_relu {
    float *dx;      /* [rows, c] */
    float *dt;      /* [c] */
    const float *g; /* [rows, c]; may be dx */
    const float *y; /* [rows, c] */
    const float *t; /* [c] */
} pgcn_i_shifted_relu;

/* Graphs begin .. end-1: the rows of graph i are offset[i] .. offset[i+1]-1. */
typedef struct pgcn_i_segments {
    const int64_t *offset;
    int64_t begin, end;
} pgcn_i_segments;

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
     * dh[index of u in rows] = sum_i s_i (.) t_i;   ds[i] += h[u] (.) t_i, ds [k, c] */
    void (*pathconv_backward)(float *dh, float *ds, const float *h, const pgcn_i_path_args *args,
                              pgcn_i_rows rows);
    /* out = x rounded to bf16, to the nearest and ties to even; elements begin .. end-1 */
    void (*to_bf16)(uint16_t *out, const float *x, int64_t begin, int64_t end);
    void (*from_bf16)(float *out, const uint16_t *x, int64_t count); /* out = x, exactly */
    /* out[r - begin] = sum_e value_e x[column_e]: a tile of a sparse product */
    void (*gather)(float *out, const float *x, const pgcn_i_csr *a, int64_t begin, int64_t end,
                   int64_t c);
    /* A step of Horner's rule, for the exact form: out[r] = s (.) h[r] + s_x (.) sum_e value_e
     * x[column_e] for rows r and the channels of a slab */
    void (*horner)(const pgcn_i_horner_args *args, int64_t begin, int64_t end);
    /* Its backward pass, one power: dh[r] (= or +=) s (.) q[r];  ds += h[r] (.) q[r] */
    void (*scale_dot)(const pgcn_i_power_gradient *args, int64_t begin, int64_t end);

    /* -- a step along a sparse matrix, and layer norm (propagate.c) -- */

    void (*propagate)(const pgcn_i_propagate *args, pgcn_i_rows rows);
    void (*flux)(const pgcn_i_flux *args, pgcn_i_rows rows);
    /* y = gain xhat + shift, xhat = (x - mean) / sqrt(variance + 1e-5) of the row itself */
    void (*layer_norm_forward)(float *y, const float *x, const float *gain, const float *shift,
                               int64_t rows, int64_t c);
    /* One row: dx; sums[0] += g (.) xhat, sums[1] += g; sums [2, c] */
    void (*layer_norm_backward)(float *dx, float *sums, const float *g, const float *x,
                                const float *gain, int64_t c);

    /* -- attention (attention.c) -- */

    /* score[r] = <z_h, target_h> for every head h, then <z_h, source_h>; z [rows, heads * width] */
    void (*head_scores)(float *score, const float *z, const float *target, const float *source,
                        int64_t rows, int64_t heads, int64_t width);
    /* One row: dz = ds_h target_h + dt_h source_h;  sums[0] += ds_h z_h, sums[1] += dt_h z_h */
    void (*head_scores_backward)(float *dz, float *sums, const float *g, const float *z,
                                 const float *target, const float *source, int64_t heads,
                                 int64_t width);
    void (*edge_softmax)(const pgcn_i_edge_softmax *args, pgcn_i_rows rows);
    void (*edge_softmax_backward)(const pgcn_i_edge_softmax *args, pgcn_i_rows rows);
    /* out of a link (i, j) = scale <query_i, key_j> of every head */
    void (*link_dots)(float *out, const pgcn_i_links *links, const pgcn_i_link_dots *args,
                      pgcn_i_rows rows);
    /* <a, b>, in an order that no instruction set changes */
    float (*dot)(const float *a, const float *b, int64_t count);
    /* out[i] = the sum of the numbers of all links of row rows[i]; `number` as in pgcn_i_attend, and `live` */
    void (*link_sum)(float *out, int64_t out_c, const float *x, const pgcn_i_links *links,
                     const int64_t *number, const uint8_t *live, pgcn_i_rows rows);
    void (*attend)(const pgcn_i_attend *args, pgcn_i_rows rows);
    /* y = x where it is positive, exp(x) - 1 elsewhere; x + bias first, bias [c] may be NULL */
    void (*elu)(float *y, const float *x, const float *bias, int64_t rows, int64_t c);
    /* dx = g where y > 0, else g (y + 1); elements begin .. end-1 */
    void (*elu_backward)(float *dx, const float *g, const float *y, int64_t begin, int64_t end);

    /* -- sparse input layer (spmm.c) -- */

    /* out[r] = bias + sum_e scale value_e w[column_e] over the kept entries of row r; relu applies
     * max(., 0) */
    void (*csr_linear)(float *out, const pgcn_i_sparse_linear *args, int64_t begin, int64_t end);
    /* Feature rows begin..end-1: dw[f] = sum_s sum_e scale value_e g[s * n + row_e] over the
     * entries e of column f with kept[s * nnz + position_e]; group by group */
    void (*csr_linear_grad)(float *dw, const pgcn_i_sparse_gradient *args, int64_t begin,
                            int64_t end);

    /* -- element-wise (elementwise.c); element ranges unless rows and c are given -- */

    void (*bias_relu)(float *x, const float *bias, bool relu, int64_t begin, int64_t end,
                      int64_t c); /* in place, bias may be NULL */
    void (*relu_backward)(float *dx, const float *g, const float *y, float scale, int64_t begin,
                          int64_t end); /* dx = scale g where y > 0, else 0 */
    /* y = the larger one of x and t, t [c] */
    void (*shifted_relu)(float *y, const float *x, const float *t, int64_t rows, int64_t c);
    void (*shifted_relu_backward)(const pgcn_i_shifted_relu *args, int64_t rows, int64_t c);
    void (*scale)(float *out, float a, const float *x, int64_t begin, int64_t end,
                  bool add); /* out (= or +=) a x */
    void (*column_sum)(float *sum, const float *x, int64_t begin, int64_t end,
                       int64_t c); /* sum[ch] += over rows */
    void (*adam)(const pgcn_i_adam_arrays *arrays, const pgcn_i_adam_step *step, int64_t begin,
                 int64_t end); /* with the gradient g + decay (w - start) */

    /* -- dropout (dropout.c). 16 bits decide element e: lane e % 8 of the four words of
     * philox(element e / 8). It is dropped if lane < threshold, else multiplied by `scale`.
     * Lanes: low half of word 0, high half of word 0, low half of word 1, ... -- */

    void (*dropout)(float *out, uint8_t *kept, const float *x, const pgcn_i_dropout *drop,
                    int64_t begin, int64_t end); /* kept, the mask, may be NULL */
    /* Only the mask: kept[0] is that of the first element. */
    void (*draw_kept)(uint8_t *kept, pgcn_i_rng_domain domain, uint32_t threshold,
                      int64_t first_element, int64_t count);
    /* The sign of dropped elements turns; x of the first element is x[0], as in pgcn_i_dropout. */
    void (*mark_dropped)(float *x, const pgcn_i_dropout *drop, int64_t count);
    void (*dropout_backward)(float *dx, const float *g, const uint8_t *kept, float scale,
                             int64_t begin, int64_t end); /* dx = scale g where kept, else 0 */

    /* -- batch norm (norm.c) -- */

    void (*square_deviation_sum)(float *sum, const float *x, const float *mean, int64_t begin,
                                 int64_t end, int64_t c); /* sum[ch] += (x - mean)^2 */
    /* y = gamma xhat + beta, xhat = (x - mean) inv_std */
    void (*norm_forward)(float *y, const float *x, const pgcn_i_norm *norm, int64_t begin,
                         int64_t end);
    /* sums[0] += g;  sums[1] += g (.) xhat; sums [2, c] */
    void (*norm_sums)(float *sums, const float *g, const float *x, const pgcn_i_norm *norm,
                      int64_t begin, int64_t end);
    /* dx (= or +=) gamma inv_std (g - sums[0] inv_rows - xhat sums[1] inv_rows) */
    void (*norm_backward)(float *dx, const float *x, const pgcn_i_norm *norm,
                          const pgcn_i_norm_gradient *gradient, int64_t begin, int64_t end);

    /* -- losses (loss.c), of rows begin..end-1. Sums are in double -- */

    /* probability[r] = softmax(logits[r]) */
    void (*softmax)(float *probability, const float *logits, int64_t begin, int64_t end, int64_t c);
    /* Where mask[node] and label >= 0: loss += -w log p[label] (from the logits, stable), hits +=
     * argmax == label, and dlogits[r] = scale w (p - onehot), with w = weight[label]. Other rows of
     * dlogits are set to 0. */
    void (*cross_entropy)(double *loss, int64_t *hits, const pgcn_i_loss_args *args, int64_t begin,
                          int64_t end);
    /* Multi-label: loss += sum_ch softplus form of BCE; dlogits = scale (sigmoid - target). Rows of
     * dlogits that the mask excludes are set to 0. */
    void (*binary_cross_entropy)(double *loss, const pgcn_i_loss_args *args, int64_t begin,
                                 int64_t end);
    /* Consistency of the samples, for nodes begin..end-1: target = sharpen_T(mean_s p_s), without
     * gradient; loss += sum_s ||p_s - target||^2; dlogits[s n + j] += the gradient of
     * scale * that sum, through the softmax. */
    void (*consistency)(double *loss, const pgcn_i_loss_args *args, int64_t begin, int64_t end);

    /* -- pooling (elementwise.c) -- */
    void (*segment_sum)(float *out, const float *x, pgcn_i_segments graphs,
                        int64_t c); /* out[graph] = sum of its rows of x */
    void (*segment_spread)(float *dx, const float *g, pgcn_i_segments graphs, int64_t c,
                           bool add); /* dx[row of graph] (= or +=) g[graph] */
} pgcn_i_kernels;

/* The table in use: the best one for this processor, or the one that the environment variable
 * PATHGCN_ISA names (baseline, avx2, avx512). Never NULL: if there is no set of that name it is the
 * best one, and public calls that compute fail first (pgcn_i_kernels_check). */
const pgcn_i_kernels *pgcn_i_kernels_get(void);
/* PGCN_ERR_SYSTEM if PATHGCN_ISA names a set that this build or processor does not have. */
pgcn_status pgcn_i_kernels_check(void);
/* Table by name, NULL if not built or not supported here (tests compare all of them). */
const pgcn_i_kernels *pgcn_i_kernels_named(const char *isa);
const char *pgcn_i_kernels_built(void); /* "baseline avx2 avx512" */

#endif
