/* The path convolution and its backward pass (paper, section 3):
 *
 *     out[j] = sum_i s_i (.) (S_i h)[j]        S_0 = I, S_i: the visits of hop i
 *
 * Both are gathers of whole rows with the accumulators of a block of channels in registers;
 * nothing is stored per hop. The backward pass reads the transposed lists, so there is no scatter.
 * No threads here: callers (nn) give each task its own rows and its own ds. */
#include "kernels/isa.h"

enum {
    LINE_FLOATS = 16, /* a cache line */
    PREFETCH_ROWS = 2,
#if defined(__AVX512F__)
    HELD = 4 /* hops whose kernel gradients stay in registers: 16 of the 32 */
#else
    HELD = 0
#endif
};

#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 8")
#endif

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
            int64_t row = list->column[e] * args->c;
            for (int64_t ch = 0; ch < args->width && !args->bf16; ch += LINE_FLOATS)
                __builtin_prefetch(args->h + row + ch, 0, 3);
            for (int64_t ch = 0; ch < args->width && args->bf16; ch += 2 * LINE_FLOATS)
                __builtin_prefetch(args->bf16 + row + ch, 0, 3);
        }
    }
}

ALWAYS_INLINE void add_bf16_rows(vec *sum, int vectors, int lanes, const uint16_t *x,
                                 const pgcn_node *column, const float *value, int64_t count,
                                 int64_t c) {
    for (int64_t e = 0; e < count; e++) {
        const uint16_t *row = x + column[e] * c;
        for (int v = 0; v < vectors; v++)
            sum[v] += value[e] * vec_load_bf16(row + v * LANES, lanes);
    }
}

/* Of the entries only those whose row is live: packed first, without a branch that nobody can
 * predict. */
ALWAYS_INLINE void add_live_rows(vec *sum, int vectors, int lanes, const pgcn_i_path_args *args,
                                 const pgcn_node *column, const float *value, int64_t count,
                                 int64_t ch, bool half) {
    enum { CHUNK = 64 };
    pgcn_node live_column[CHUNK];
    float live_value[CHUNK];
    for (int64_t e = 0; e < count;) {
        int64_t end = count - e > CHUNK ? e + CHUNK : count;
        int kept = 0;
        for (; e < end; e++) {
            live_column[kept] = column[e];
            live_value[kept] = value[e];
            kept += args->live[column[e]] != 0;
        }
        if (half)
            add_bf16_rows(sum, vectors, lanes, args->bf16 + ch, live_column, live_value, kept,
                          args->c);
        else
            add_rows(sum, vectors, lanes, args->h + ch, live_column, live_value, kept, args->c);
    }
}

/* Adds the visits of row r of one hop, from channel ch on. `half` and `live` are constants where
 * this is inlined. */
ALWAYS_INLINE void add_visits(vec *sum, int vectors, int lanes, const pgcn_i_path_args *args,
                              const pgcn_i_csr *list, int64_t r, int64_t ch, bool half, bool live) {
    int64_t first = list->offset[r], count = list->offset[r + 1] - first;
    const pgcn_node *column = list->column + first;
    const float *value = list->value + first;
    if (live)
        add_live_rows(sum, vectors, lanes, args, column, value, count, ch, half);
    else if (half)
        add_bf16_rows(sum, vectors, lanes, args->bf16 + ch, column, value, count, args->c);
    else
        add_rows(sum, vectors, lanes, args->h + ch, column, value, count, args->c);
}

ALWAYS_INLINE void forward_block(int64_t ch, int vectors, int lanes, float *restrict out_row,
                                 const pgcn_i_path_args *args, int64_t r, bool half) {
    const int64_t c = args->c;
    const float *s = args->s + ch, *h = args->h + ch;
    vec sum[VECTORS];
    for (int v = 0; v < vectors; v++)
        sum[v] = vec_load(s + v * LANES, lanes) * vec_load(h + r * c + v * LANES, lanes);
    for (int i = 1; i < args->k; i++) {
        vec t[VECTORS] = {{0}};
        add_visits(t, vectors, lanes, args, &args->hop[i - 1], r, ch, half, false);
        for (int v = 0; v < vectors; v++) sum[v] += vec_load(s + i * c + v * LANES, lanes) * t[v];
    }
    for (int v = 0; v < vectors; v++) vec_store(out_row + ch + v * LANES, sum[v], lanes);
}

static void pathconv_forward(float *out, const pgcn_i_path_args *args, pgcn_i_rows rows) {
    const pgcn_i_path_args a = *args; /* a copy that no store can change: stays in registers */
    for (int64_t i = 0; i < rows.count; i++) {
        const int64_t r = pgcn_i_row(rows, i);
        if (a.prefetch && i + 1 < rows.count) prefetch_visits(&a, pgcn_i_row(rows, i + 1));
        if (a.bf16)
            EACH_CHANNEL_BLOCK(a.width, forward_block, out + r * a.c, &a, r, true);
        else
            EACH_CHANNEL_BLOCK(a.width, forward_block, out + r * a.c, &a, r, false);
    }
}

/* dh[u] = sum_i s_i (.) t_i,  ds_i += h[u] (.) t_i  for all hops i, with t_0 = g[u].
 *
 * The sums ds of the first `held` hops after 0 stay in registers over all rows; reading and writing
 * them for each row costs as much as a visit or two per hop. `held`, `half` and `live` are
 * constants where this is inlined. */
ALWAYS_INLINE void backward_block(int64_t ch, int vectors, int lanes, float *restrict dh,
                                  float *restrict ds, const float *h, const pgcn_i_path_args *args,
                                  pgcn_i_rows rows, int held, bool half, bool live) {
    const int64_t c = args->c;
    const float *s = args->s + ch, *g = args->h + ch;
    ds += ch;
    vec held_ds[HELD + 1][VECTORS]; /* hop i at place i */
    UNROLLED
    for (int i = 1; i <= held; i++)
        for (int v = 0; v < vectors; v++) held_ds[i][v] = vec_load(ds + i * c + v * LANES, lanes);
    for (int64_t at = 0; at < rows.count; at++) {
        const int64_t u = pgcn_i_row(rows, at);
        const bool has_own = !live || args->live[u];
        vec sum[VECTORS], h_u[VECTORS];
        for (int v = 0; v < vectors; v++) {
            vec t = has_own ? vec_load(g + u * c + v * LANES, lanes) : (vec){0};
            h_u[v] = vec_load(h + u * c + ch + v * LANES, lanes);
            sum[v] = vec_load(s + v * LANES, lanes) * t;
            vec_store(ds + v * LANES, vec_load(ds + v * LANES, lanes) + h_u[v] * t, lanes);
        }
        UNROLLED
        for (int i = 1; i <= held; i++) {
            vec t[VECTORS] = {{0}};
            add_visits(t, vectors, lanes, args, &args->hop[i - 1], u, ch, half, live);
            for (int v = 0; v < vectors; v++) {
                sum[v] += vec_load(s + i * c + v * LANES, lanes) * t[v];
                held_ds[i][v] += h_u[v] * t[v];
            }
        }
        for (int i = held + 1; i < args->k; i++) {
            vec t[VECTORS] = {{0}};
            add_visits(t, vectors, lanes, args, &args->hop[i - 1], u, ch, half, live);
            for (int v = 0; v < vectors; v++) {
                int64_t place = i * c + v * LANES;
                sum[v] += vec_load(s + place, lanes) * t[v];
                vec_store(ds + place, vec_load(ds + place, lanes) + h_u[v] * t[v], lanes);
            }
        }
        for (int v = 0; v < vectors; v++) vec_store(dh + at * c + ch + v * LANES, sum[v], lanes);
    }
    UNROLLED
    for (int i = 1; i <= held; i++)
        for (int v = 0; v < vectors; v++) vec_store(ds + i * c + v * LANES, held_ds[i][v], lanes);
}

/* All rows of a block of channels, then the next block: one function for each pair of constants. */
#define BACKWARD(name, half, live)                                                                 \
    static void name(float *dh, float *ds, const float *h, const pgcn_i_path_args *args,           \
                     pgcn_i_rows rows) {                                                           \
        if (args->k > HELD)                                                                        \
            EACH_CHANNEL_BLOCK(args->width, backward_block, dh, ds, h, args, rows, HELD, half,     \
                               live);                                                              \
        else                                                                                       \
            EACH_CHANNEL_BLOCK(args->width, backward_block, dh, ds, h, args, rows, 0, half, live); \
    }
BACKWARD(backward_plain, false, false)
BACKWARD(backward_live, false, true)
BACKWARD(backward_bf16, true, false)
BACKWARD(backward_bf16_live, true, true)

static void pathconv_backward(float *dh, float *ds, const float *h, const pgcn_i_path_args *args,
                              pgcn_i_rows rows) {
    const pgcn_i_path_args a = *args;
    void (*backward)(float *, float *, const float *, const pgcn_i_path_args *, pgcn_i_rows) =
        a.bf16 ? (a.live ? backward_bf16_live : backward_bf16)
               : (a.live ? backward_live : backward_plain);
    /* Few rows at a time, so that what is asked for early is still there when it is read. */
    int64_t step = a.prefetch ? PREFETCH_ROWS : rows.count;
    for (int64_t at = 0; at < rows.count; at += step) {
        pgcn_i_rows some = {rows.row ? rows.row + at : NULL, rows.first + at,
                            rows.count - at < step ? rows.count - at : step};
        for (int64_t i = at + step; a.prefetch && i < at + 2 * step && i < rows.count; i++)
            prefetch_visits(&a, pgcn_i_row(rows, i));
        backward(dh + at * a.c, ds, h, &a, some);
    }
}

/* A NaN whose upper half is all that would be rounded up stays one: its quiet bit is set. */
static void to_bf16(uint16_t *restrict out, const float *restrict x, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
        bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
        out[i] = (uint16_t)(is_nan ? bits >> 16 | 0x40u : rounded);
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
    table->to_bf16 = to_bf16;
    table->gather = gather;
    table->horner = horner;
    table->scale_dot = scale_dot;
}
