/* The path convolution and its backward pass (paper, section 3):
 *
 *     out[j] = sum_i s_i (.) (S_i h)[j]        S_0 = I, S_i: the visits of hop i
 *
 * Both are gathers of whole rows with the accumulators of a block of channels in registers;
 * nothing is stored per hop. The backward pass reads the transposed lists, so there is no scatter.
 * No threads here: callers (nn) give each task its own rows and its own ds. */
#include "kernels/isa.h"

ALWAYS_INLINE void add_csr_row(vec *sum, int vectors, int lanes, const float *x,
                               const pgcn_i_csr *a, int64_t r, int64_t c) {
    int64_t first = a->offset[r];
    add_rows(sum, vectors, lanes, x, a->column + first, a->value + first, a->offset[r + 1] - first,
             c);
}

ALWAYS_INLINE void forward_block(int64_t ch, int vectors, int lanes, float *restrict out,
                                 const float *h, const float *s, const pgcn_i_csr *hop, int k,
                                 int64_t r, int64_t c) {
    vec sum[VECTORS];
    for (int v = 0; v < vectors; v++) {
        int64_t at = ch + v * LANES;
        sum[v] = vec_load(s + at, lanes) * vec_load(h + r * c + at, lanes);
    }
    for (int i = 1; i < k; i++) {
        vec t[VECTORS] = {{0}};
        add_csr_row(t, vectors, lanes, h + ch, &hop[i - 1], r, c);
        for (int v = 0; v < vectors; v++)
            sum[v] += vec_load(s + i * c + ch + v * LANES, lanes) * t[v];
    }
    for (int v = 0; v < vectors; v++) vec_store(out + r * c + ch + v * LANES, sum[v], lanes);
}

static void pathconv_forward(float *out, const float *h, const float *s, const pgcn_i_csr *hop,
                             int k, int64_t begin, int64_t end, int64_t c) {
    for (int64_t r = begin; r < end; r++)
        EACH_CHANNEL_BLOCK(c, forward_block, out, h, s, hop, k, r, c);
}

/* dh[u] += s_i (.) t_i,  ds_i += h[u] (.) t_i  for all hops i, with t_0 = g[u]. */
ALWAYS_INLINE void backward_block(int64_t ch, int vectors, int lanes, float *restrict dh,
                                  float *restrict ds, const float *g, const float *h,
                                  const float *s, const pgcn_i_csr *hop_t, int k, int64_t u,
                                  int64_t c, bool add) {
    vec sum[VECTORS], h_u[VECTORS];
    for (int v = 0; v < vectors; v++) {
        int64_t at = u * c + ch + v * LANES;
        h_u[v] = vec_load(h + at, lanes);
        sum[v] = add ? vec_load(dh + at, lanes) : (vec){0};
    }
    for (int i = 0; i < k; i++) {
        vec t[VECTORS] = {{0}};
        if (i == 0) {
            for (int v = 0; v < vectors; v++) t[v] = vec_load(g + u * c + ch + v * LANES, lanes);
        } else {
            add_csr_row(t, vectors, lanes, g + ch, &hop_t[i - 1], u, c);
        }
        for (int v = 0; v < vectors; v++) {
            int64_t at = i * c + ch + v * LANES;
            sum[v] += vec_load(s + at, lanes) * t[v];
            vec_store(ds + at, vec_load(ds + at, lanes) + h_u[v] * t[v], lanes);
        }
    }
    for (int v = 0; v < vectors; v++) vec_store(dh + u * c + ch + v * LANES, sum[v], lanes);
}

static void pathconv_backward(float *dh, float *ds, const float *g, const float *h, const float *s,
                              const pgcn_i_csr *hop_t, int k, int64_t begin, int64_t end, int64_t c,
                              bool add) {
    for (int64_t u = begin; u < end; u++)
        EACH_CHANNEL_BLOCK(c, backward_block, dh, ds, g, h, s, hop_t, k, u, c, add);
}

/* out_row = sum_e value_e x[column_e] + s (.) h_row, the last term only where s is given. */
ALWAYS_INLINE void product_block(int64_t ch, int vectors, int lanes, float *restrict out_row,
                                 const float *x, const pgcn_i_csr *a, const float *s,
                                 const float *h_row, int64_t r, int64_t c) {
    vec sum[VECTORS] = {{0}};
    add_csr_row(sum, vectors, lanes, x + ch, a, r, c);
    for (int v = 0; v < vectors; v++) {
        int64_t at = ch + v * LANES;
        if (s) sum[v] += vec_load(s + at, lanes) * vec_load(h_row + at, lanes);
        vec_store(out_row + at, sum[v], lanes);
    }
}

static void gather(float *out, const float *x, const pgcn_i_csr *a, int64_t begin, int64_t end,
                   int64_t c) {
    for (int64_t r = begin; r < end; r++)
        EACH_CHANNEL_BLOCK(c, product_block, out + (r - begin) * c, x, a, NULL, NULL, r, c);
}

static void horner(float *out, const float *x, const pgcn_i_csr *a, const float *s, const float *h,
                   int64_t begin, int64_t end, int64_t c) {
    for (int64_t r = begin; r < end; r++)
        EACH_CHANNEL_BLOCK(c, product_block, out + r * c, x, a, s, h + r * c, r, c);
}

static void scale_dot(float *dh, float *restrict ds, const float *q, const float *h, const float *s,
                      int64_t begin, int64_t end, int64_t c, bool add) {
    for (int64_t r = begin; r < end; r++) {
        float *dh_row = dh + r * c;
        const float *q_row = q + r * c, *h_row = h + r * c;
        INDEPENDENT_ITERATIONS
        for (int64_t ch = 0; ch < c; ch++) {
            float q_ch = q_row[ch];
            ds[ch] += h_row[ch] * q_ch;
            dh_row[ch] = (add ? dh_row[ch] : 0.0f) + s[ch] * q_ch;
        }
    }
}

void PGCN_I_ISA(pgcn_i_fill_pathconv)(pgcn_i_kernels *table) {
    table->pathconv_forward = pathconv_forward;
    table->pathconv_backward = pathconv_backward;
    table->gather = gather;
    table->horner = horner;
    table->scale_dot = scale_dot;
}
