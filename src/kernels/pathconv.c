/* The path convolution and its backward pass (paper, section 3):
 *
 *     out[j] = sum_i s_i (.) (S_i h)[j]        S_0 = I, S_i: the visits of hop i
 *
 * Both are gathers of whole rows with the accumulators of a block of channels in registers;
 * nothing is stored per hop. The backward pass reads the transposed lists, so there is no scatter.
 * No threads here: callers (nn) give each task its own rows and its own ds. */
#include "kernels/isa.h"

enum { LINE_FLOATS = 16 }; /* a cache line */

ALWAYS_INLINE void add_csr_row(vec *sum, int vectors, int lanes, const float *x,
                               const pgcn_i_csr *a, int64_t r, int64_t c) {
    int64_t first = a->offset[r];
    add_rows(sum, vectors, lanes, x, a->column + first, a->value + first, a->offset[r + 1] - first,
             c);
}

/* Asks for the rows that row r will gather: without it every visit waits for the memory in turn. */
static void prefetch_visits(const pgcn_i_path_args *args, int64_t r) {
    for (int i = 0; i < args->k - 1; i++) {
        const pgcn_i_csr *list = &args->hop[i];
        for (int64_t e = list->offset[r]; e < list->offset[r + 1]; e++) {
            if (args->live && !args->live[list->column[e]]) continue;
            const float *row = args->h + list->column[e] * args->c;
            for (int64_t ch = 0; ch < args->width; ch += LINE_FLOATS)
                __builtin_prefetch(row + ch, 0, 3);
        }
    }
}

ALWAYS_INLINE void forward_block(int64_t ch, int vectors, int lanes, float *restrict out_row,
                                 const pgcn_i_path_args *args, int64_t r) {
    const int64_t c = args->c;
    const float *s = args->s + ch, *h = args->h + ch;
    vec sum[VECTORS];
    for (int v = 0; v < vectors; v++)
        sum[v] = vec_load(s + v * LANES, lanes) * vec_load(h + r * c + v * LANES, lanes);
    for (int i = 1; i < args->k; i++) {
        vec t[VECTORS] = {{0}};
        add_csr_row(t, vectors, lanes, h, &args->hop[i - 1], r, c);
        for (int v = 0; v < vectors; v++) sum[v] += vec_load(s + i * c + v * LANES, lanes) * t[v];
    }
    for (int v = 0; v < vectors; v++) vec_store(out_row + ch + v * LANES, sum[v], lanes);
}

static void pathconv_forward(float *out, const pgcn_i_path_args *args, pgcn_i_rows rows) {
    const pgcn_i_path_args a = *args; /* a copy that no store can change: stays in registers */
    for (int64_t i = 0; i < rows.count; i++) {
        const int64_t r = pgcn_i_row(rows, i);
        if (a.prefetch && i + 1 < rows.count) prefetch_visits(&a, pgcn_i_row(rows, i + 1));
        EACH_CHANNEL_BLOCK(a.width, forward_block, out + r * a.c, &a, r);
    }
}

/* As add_csr_row, but of the entries only those whose row is live: packed first, without a branch
 * that nobody can predict. */
ALWAYS_INLINE void add_live_row(vec *sum, int vectors, int lanes, const float *x,
                                const pgcn_i_csr *a, int64_t r, const uint8_t *live, int64_t c) {
    enum { CHUNK = 64 };
    pgcn_node column[CHUNK];
    float value[CHUNK];
    for (int64_t e = a->offset[r], last = a->offset[r + 1]; e < last;) {
        int64_t end = last - e > CHUNK ? e + CHUNK : last;
        int count = 0;
        for (; e < end; e++) {
            column[count] = a->column[e];
            value[count] = a->value[e];
            count += live[a->column[e]] != 0;
        }
        add_rows(sum, vectors, lanes, x, column, value, count, c);
    }
}

/* dh[u] = sum_i s_i (.) t_i,  ds_i += h[u] (.) t_i  for all hops i, with t_0 = g[u]. */
ALWAYS_INLINE void backward_block(int64_t ch, int vectors, int lanes, float *restrict dh_row,
                                  float *restrict ds, const float *h_row,
                                  const pgcn_i_path_args *args, int64_t u) {
    const int64_t c = args->c;
    const float *s = args->s + ch, *g = args->h + ch;
    vec sum[VECTORS], h_u[VECTORS];
    for (int v = 0; v < vectors; v++) {
        h_u[v] = vec_load(h_row + ch + v * LANES, lanes);
        sum[v] = (vec){0};
    }
    for (int i = 0; i < args->k; i++) {
        vec t[VECTORS] = {{0}};
        if (i > 0 && args->live) {
            add_live_row(t, vectors, lanes, g, &args->hop[i - 1], u, args->live, c);
        } else if (i > 0) {
            add_csr_row(t, vectors, lanes, g, &args->hop[i - 1], u, c);
        } else if (!args->live || args->live[u]) {
            for (int v = 0; v < vectors; v++) t[v] = vec_load(g + u * c + v * LANES, lanes);
        }
        for (int v = 0; v < vectors; v++) {
            int64_t at = i * c + ch + v * LANES;
            sum[v] += vec_load(s + i * c + v * LANES, lanes) * t[v];
            vec_store(ds + at, vec_load(ds + at, lanes) + h_u[v] * t[v], lanes);
        }
    }
    for (int v = 0; v < vectors; v++) vec_store(dh_row + ch + v * LANES, sum[v], lanes);
}

static void pathconv_backward(float *dh, float *ds, const float *h, const pgcn_i_path_args *args,
                              pgcn_i_rows rows) {
    const pgcn_i_path_args a = *args;
    for (int64_t i = 0; i < rows.count; i++) {
        const int64_t u = pgcn_i_row(rows, i);
        if (a.prefetch && i + 1 < rows.count) prefetch_visits(&a, pgcn_i_row(rows, i + 1));
        EACH_CHANNEL_BLOCK(a.width, backward_block, dh + i * a.c, ds, h + u * a.c, &a, u);
    }
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
