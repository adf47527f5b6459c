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
    PREFETCH_ROWS = 8,
    USUAL = 64, /* channels: the default, compiled with a constant stride, which is 6 % faster */
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

ALWAYS_INLINE sparse_entries entries_of(const pgcn_i_csr *a, int64_t r) {
    int64_t first = a->offset[r];
    return (sparse_entries){a->column + first, a->value + first, a->offset[r + 1] - first};
}

ALWAYS_INLINE void prefetch_row(const float *row, int64_t width) {
    for (int64_t ch = 0; ch < width; ch += LINE_FLOATS) __builtin_prefetch(row + ch, 0, 2);
}

/* Prefetches the rows that row r will gather; otherwise the visits wait for memory one after the
 * other. Into L2, because L1 can wait for only a few lines at once: 20 ns per row of 64 channels
 * with L2, 38 with L1, 46 without prefetching (10^6 nodes).
 *
 * Always inlined: GCC takes a function that only prefetches as one without effect and drops the
 * calls. */
ALWAYS_INLINE void prefetch_visits(const pgcn_i_path_args *args, int64_t r) {
    for (int i = 0; i < args->k - 1; i++) {
        const pgcn_i_csr *list = &args->hop[i];
        for (int64_t e = list->offset[r]; e < list->offset[r + 1]; e++) {
            if (args->live && !args->live[list->column[e]]) continue;
            int64_t row = list->column[e] * args->c;
            if (!args->bf16) prefetch_row(args->h + row, args->width);
            for (int64_t ch = 0; ch < args->width && args->bf16; ch += 2 * LINE_FLOATS)
                __builtin_prefetch(args->bf16 + row + ch, 0, 2);
        }
    }
}

/* The end of the group of rows that starts at `at`. Where h does not fit into the cache a group is
 * small, so that its prefetched rows are still cached when they are read; the rows of the next
 * group are prefetched here. */
ALWAYS_INLINE int64_t end_of_group(const pgcn_i_path_args *args, pgcn_i_rows rows, int64_t at) {
    int64_t size = args->prefetch ? PREFETCH_ROWS : rows.count;
    int64_t end = at + size < rows.count ? at + size : rows.count;
    for (int64_t i = end; args->prefetch && i < end + size && i < rows.count; i++)
        prefetch_visits(args, pgcn_i_row(rows, i));
    return end;
}

ALWAYS_INLINE pgcn_i_rows part_of_rows(pgcn_i_rows rows, int64_t begin, int64_t end) {
    return (pgcn_i_rows){rows.row ? rows.row + begin : NULL, rows.first + begin, end - begin};
}

/* Which loop: all of it is constant where the functions that take it are inlined. */
typedef struct path_form {
    int64_t c; /* channels, how far apart rows are */
    bool half; /* visited rows are read in bf16 */
    bool live; /* rows that are not live are skipped */
    int held;  /* hops after 0 whose kernel gradients stay in registers */
} path_form;

ALWAYS_INLINE void add_bf16_rows(vec *sum, channel_block block, const uint16_t *x,
                                 sparse_entries entries, int64_t c) {
    x += block.ch;
    for (int64_t e = 0; e < entries.count; e++) {
        const uint16_t *row = x + entries.column[e] * c;
        for (int v = 0; v < block.vectors; v++)
            sum[v] += entries.value[e] * vec_load_bf16(row + v * LANES, block.lanes);
    }
}

ALWAYS_INLINE void add_entries(vec *sum, channel_block block, const pgcn_i_path_args *args,
                               sparse_entries entries, path_form form) {
    if (form.half)
        add_bf16_rows(sum, block, args->bf16, entries, form.c);
    else
        add_rows(sum, block, args->h, entries, form.c);
}

/* Only the entries whose row is live. They are packed first, without a branch that would often be
 * mispredicted. */
ALWAYS_INLINE void add_live_entries(vec *sum, channel_block block, const pgcn_i_path_args *args,
                                    sparse_entries entries, path_form form) {
    enum { CHUNK = 64 };
    pgcn_node live_column[CHUNK];
    float live_value[CHUNK];
    for (int64_t e = 0; e < entries.count;) {
        int64_t end = entries.count - e > CHUNK ? e + CHUNK : entries.count;
        int kept = 0;
        for (; e < end; e++) {
            live_column[kept] = entries.column[e];
            live_value[kept] = entries.value[e];
            kept += args->live[entries.column[e]] != 0;
        }
        add_entries(sum, block, args, (sparse_entries){live_column, live_value, kept}, form);
    }
}

/* Adds the visits of row r at hop i (at least 1). */
ALWAYS_INLINE void add_visits(vec *sum, channel_block block, const pgcn_i_path_args *args, int i,
                              int64_t r, path_form form) {
    sparse_entries entries = entries_of(&args->hop[i - 1], r);
    if (form.live)
        add_live_entries(sum, block, args, entries, form);
    else
        add_entries(sum, block, args, entries, form);
}

/* Vector v of the row's own numbers: they are in bf16 where the floats are missing. */
ALWAYS_INLINE vec own_vector(const float *x, const uint16_t *bf16, int64_t at, int lanes) {
    return x ? vec_load(x + at, lanes) : vec_load_bf16(bf16 + at, lanes);
}

ALWAYS_INLINE void forward_block(channel_block block, float *restrict out,
                                 const pgcn_i_path_args *args, pgcn_i_rows rows, path_form form) {
    const int vectors = block.vectors, lanes = block.lanes;
    const int64_t ch = block.ch, c = form.c;
    const float *s = args->s + ch;
    for (int64_t at = 0; at < rows.count; at++) {
        const int64_t r = pgcn_i_row(rows, at);
        vec sum[VECTORS];
        for (int v = 0; v < vectors; v++)
            sum[v] = vec_load(s + v * LANES, lanes) *
                     own_vector(args->h, args->bf16, r * c + ch + v * LANES, lanes);
        for (int i = 1; i < args->k; i++) {
            vec t[VECTORS] = {{0}};
            add_visits(t, block, args, i, r, form);
            for (int v = 0; v < vectors; v++)
                sum[v] += vec_load(s + i * c + v * LANES, lanes) * t[v];
        }
        float *row = out + (args->packed ? at : r) * c + ch;
        for (int v = 0; v < vectors; v++) vec_store(row + v * LANES, sum[v], lanes);
    }
}

static void forward_plain(float *out, const pgcn_i_path_args *args, pgcn_i_rows rows) {
    if (args->c == USUAL && args->width == USUAL)
        EACH_CHANNEL_BLOCK(USUAL, forward_block, out, args, rows, (path_form){.c = USUAL});
    else
        EACH_CHANNEL_BLOCK(args->width, forward_block, out, args, rows, (path_form){.c = args->c});
}
static void forward_bf16(float *out, const pgcn_i_path_args *args, pgcn_i_rows rows) {
    const path_form form = {.c = args->c, .half = true};
    EACH_CHANNEL_BLOCK(args->width, forward_block, out, args, rows, form);
}

static void pathconv_forward(float *out, const pgcn_i_path_args *args, pgcn_i_rows rows) {
    const pgcn_i_path_args a =
        *args; /* a local copy, which no store can change, stays in registers */
    for (int64_t at = 0, end; at < rows.count; at = end) {
        end = end_of_group(&a, rows, at);
        pgcn_i_rows group = part_of_rows(rows, at, end);
        float *to = a.packed ? out + at * a.c : out;
        if (a.bf16)
            forward_bf16(to, &a, group);
        else
            forward_plain(to, &a, group);
    }
}

/* dh[u] = sum_i s_i (.) t_i,  ds_i += h[u] (.) t_i  for all hops i, with t_0 = g[u].
 *
 * The sums ds of the first form.held hops after 0 stay in registers for all rows: reading and
 * writing them for each row costs as much as a visit or two per hop. */
ALWAYS_INLINE void backward_block(channel_block block, float *restrict dh, float *restrict ds,
                                  const float *h, const pgcn_i_path_args *args, pgcn_i_rows rows,
                                  path_form form) {
    const int vectors = block.vectors, lanes = block.lanes, held = form.held;
    const int64_t ch = block.ch, c = form.c;
    const float *s = args->s + ch;
    const int64_t own_rows = args->own_rows > 0 ? args->own_rows : INT64_MAX;
    ds += ch;
    vec held_ds[HELD + 1][VECTORS]; /* hop i at place i */
    UNROLLED
    for (int i = 1; i <= held; i++)
        for (int v = 0; v < vectors; v++) held_ds[i][v] = vec_load(ds + i * c + v * LANES, lanes);
    for (int64_t at = 0; at < rows.count; at++) {
        const int64_t u = pgcn_i_row(rows, at);
        const bool has_own = form.live ? args->live[u] != 0 : u < own_rows;
        vec sum[VECTORS], h_u[VECTORS];
        for (int v = 0; v < vectors; v++) {
            const int64_t place = u * c + ch + v * LANES;
            vec t = has_own ? own_vector(args->h, args->bf16, place, lanes) : (vec){0};
            h_u[v] = own_vector(h, args->own_bf16,
                                args->own_packed ? at * c + ch + v * LANES : place, lanes);
            sum[v] = vec_load(s + v * LANES, lanes) * t;
            vec_store(ds + v * LANES, vec_load(ds + v * LANES, lanes) + h_u[v] * t, lanes);
        }
        UNROLLED
        for (int i = 1; i <= held; i++) {
            vec t[VECTORS] = {{0}};
            add_visits(t, block, args, i, u, form);
            for (int v = 0; v < vectors; v++) {
                sum[v] += vec_load(s + i * c + v * LANES, lanes) * t[v];
                held_ds[i][v] += h_u[v] * t[v];
            }
        }
        for (int i = held + 1; i < args->k; i++) {
            vec t[VECTORS] = {{0}};
            add_visits(t, block, args, i, u, form);
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

/* All rows of a block of channels, then the next block. One function for each pair of `half` and
 * `live`, so that they are constants. */
#define BACKWARD(name, with_half, with_live)                                                       \
    static void name(float *dh, float *ds, const float *h, const pgcn_i_path_args *args,           \
                     pgcn_i_rows rows) {                                                           \
        path_form form = {.c = args->c, .half = with_half, .live = with_live};                     \
        const path_form usual = {.c = USUAL, .half = with_half, .live = with_live, .held = HELD};  \
        if (args->k > HELD && args->c == USUAL && args->width == USUAL) {                          \
            EACH_CHANNEL_BLOCK(USUAL, backward_block, dh, ds, h, args, rows, usual);               \
        } else if (args->k > HELD) {                                                               \
            form.held = HELD;                                                                      \
            EACH_CHANNEL_BLOCK(args->width, backward_block, dh, ds, h, args, rows, form);          \
        } else {                                                                                   \
            EACH_CHANNEL_BLOCK(args->width, backward_block, dh, ds, h, args, rows, form);          \
        }                                                                                          \
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
    for (int64_t at = 0, end; at < rows.count; at = end) {
        end = end_of_group(&a, rows, at);
        backward(dh + at * a.c, ds, a.own_packed ? h + at * a.c : h, &a,
                 part_of_rows(rows, at, end));
    }
}

/* Rounding could turn a NaN into infinity, so a NaN keeps its upper half and gets its quiet bit
 * set. */
static void to_bf16(uint16_t *restrict out, const float *restrict x, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
        bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
        out[i] = (uint16_t)(is_nan ? bits >> 16 | 0x40u : rounded);
    }
}

static void from_bf16(float *restrict out, const uint16_t *restrict x, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)x[i] << 16;
        memcpy(&out[i], &bits, sizeof bits);
    }
}

ALWAYS_INLINE void gather_block(channel_block block, float *restrict out_row, const float *x,
                                const pgcn_i_csr *a, int64_t r, int64_t c) {
    vec sum[VECTORS] = {{0}};
    add_rows(sum, block, x, entries_of(a, r), c);
    for (int v = 0; v < block.vectors; v++)
        vec_store(out_row + block.ch + v * LANES, sum[v], block.lanes);
}

static void gather(float *out, const float *x, const pgcn_i_csr *a, int64_t begin, int64_t end,
                   int64_t c) {
    for (int64_t r = begin; r < end; r++)
        EACH_CHANNEL_BLOCK(c, gather_block, out + (r - begin) * c, x, a, r, c);
}

ALWAYS_INLINE void horner_block(channel_block block, const pgcn_i_horner_args *args, int64_t begin,
                                int64_t end, bool scaled) {
    const int vectors = block.vectors, lanes = block.lanes;
    const int64_t ch = block.ch;
    const float *s = args->s + ch, *h = args->h + ch;
    float *restrict out = args->out + ch;
    for (int64_t r = begin; r < end; r++) {
        vec sum[VECTORS] = {{0}};
        add_rows(sum, block, args->x, entries_of(args->a, r), args->x_c);
        for (int v = 0; v < vectors; v++) {
            if (scaled) sum[v] *= vec_load(args->s_x + ch + v * LANES, lanes);
            sum[v] +=
                vec_load(s + v * LANES, lanes) * vec_load(h + r * args->h_c + v * LANES, lanes);
            vec_store(out + r * args->out_c + v * LANES, sum[v], lanes);
        }
    }
}

static void horner(const pgcn_i_horner_args *args, int64_t begin, int64_t end) {
    const pgcn_i_horner_args a =
        *args; /* a local copy, which no store can change, stays in registers */
    int64_t step = a.prefetch ? 1 : end - begin;
    for (int64_t r = begin; r < end; r += step) {
        if (a.prefetch && r + 1 < end)
            for (int64_t e = a.a->offset[r + 1]; e < a.a->offset[r + 2]; e++)
                prefetch_row(a.x + a.a->column[e] * a.x_c, a.width);
        if (a.s_x)
            EACH_CHANNEL_BLOCK(a.width, horner_block, &a, r, r + step, true);
        else
            EACH_CHANNEL_BLOCK(a.width, horner_block, &a, r, r + step, false);
    }
}

static void scale_dot(const pgcn_i_power_gradient *args, int64_t begin, int64_t end) {
    float *restrict ds = args->ds;
    const float *s = args->s;
    const int64_t c = args->c;
    const bool add = args->add;
    for (int64_t r = begin; r < end; r++) {
        float *dh_row = args->dh + r * c;
        const float *q_row = args->q + r * c, *h_row = args->h + r * c;
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
    table->from_bf16 = from_bf16;
    table->gather = gather;
    table->horner = horner;
    table->scale_dot = scale_dot;
}
