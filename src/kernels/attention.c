/* Attention over links: scores of nodes, the softmax over the links of a row, and the weighted sum of rows,
 * each with its backward pass; and ELU.
 *
 * No array of [links, channels] exists. A row of the result gathers the rows of its links, and so does a row of
 * the gradient over the transposed lists: the gradient of a coefficient is found there too, since the row of
 * the gradient that it needs is in the cache then. It is stored under the number of its link, which nobody
 * else writes: no scatter with conflicts, no atomics. No threads here: callers (nn) give each task its rows. */
#include "kernels/exponential.h"

/* ---- sums over channels ------------------------------------------------------------------------- */

/* Channel ch is added to part ch % 16, and the parts as a tree: l and l + 8, then l + 4, l + 2, l + 1. It is the
 * same one whatever a register holds. */
enum { PARTS = 16, PART_VECTORS = PARTS / LANES, QUARTER = 4 };
typedef float quarter __attribute__((vector_size(QUARTER * sizeof(float))));

/* The parts of <a, b>, but for the last two steps of the tree. */
ALWAYS_INLINE quarter dot_parts(const float *a, const float *b, int64_t count) {
    vec part[PART_VECTORS] = {{0}};
    int64_t at = 0;
    for (; at + PARTS <= count; at += PARTS)
        for (int v = 0; v < PART_VECTORS; v++)
            part[v] += vec_load(a + at + v * LANES, LANES) * vec_load(b + at + v * LANES, LANES);
    for (int v = 0; v < PART_VECTORS && at < count; v++, at += LANES) {
        int lanes = count - at < LANES ? (int)(count - at) : LANES;
        part[v] += vec_load(a + at, lanes) * vec_load(b + at, lanes);
    }
#if defined(__AVX512F__)
    __m256 eight = _mm256_add_ps(_mm512_castps512_ps256((__m512)part[0]),
                                 _mm512_extractf32x8_ps((__m512)part[0], 1));
#elif defined(__AVX2__)
    __m256 eight = _mm256_add_ps((__m256)part[0], (__m256)part[1]);
#endif
#if defined(__AVX2__)
    return (quarter)_mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
#else
    return (part[0] + part[2]) + (part[1] + part[3]);
#endif
}

ALWAYS_INLINE float dot(const float *a, const float *b, int64_t count) {
    quarter four = dot_parts(a, b, count);
    return (four[0] + four[2]) + (four[1] + four[3]);
}

/* The sums of four, side by side. */
ALWAYS_INLINE quarter sum_four(quarter a, quarter b, quarter c, quarter d) {
#if defined(__SSE2__)
    __m128 ab =
        _mm_add_ps(_mm_unpacklo_ps((__m128)a, (__m128)b), /* a0 + a2, b0 + b2, a1 + a3, .. */
                   _mm_unpackhi_ps((__m128)a, (__m128)b));
    __m128 cd =
        _mm_add_ps(_mm_unpacklo_ps((__m128)c, (__m128)d), _mm_unpackhi_ps((__m128)c, (__m128)d));
    return (quarter)_mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab));
#else
    return (quarter){(a[0] + a[2]) + (a[1] + a[3]), (b[0] + b[2]) + (b[1] + b[3]),
                     (c[0] + c[2]) + (c[1] + c[3]), (d[0] + d[2]) + (d[1] + d[3])};
#endif
}

/* out[h] = <a_h, b_h> */
ALWAYS_INLINE void dots_of_heads(int64_t width, float *out, const float *a, const float *b,
                                 int64_t heads) {
    int64_t h = 0;
    for (; h + QUARTER <= heads; h += QUARTER) {
        quarter part[QUARTER];
        for (int i = 0; i < QUARTER; i++)
            part[i] = dot_parts(a + (h + i) * width, b + (h + i) * width, width);
        quarter sum = sum_four(part[0], part[1], part[2], part[3]);
        memcpy(out + h, &sum, sizeof sum);
    }
    for (; h < heads; h++) out[h] = dot(a + h * width, b + h * width, width);
}

/* Calls function(value, ...) with a constant where the value is a usual one: short loops over heads or over the
 * columns of a head become vectors then. */
#define WITH_CONSTANT(value, function, ...)                                                        \
    do {                                                                                           \
        if ((value) == 1)                                                                          \
            function(1, __VA_ARGS__);                                                              \
        else if ((value) == 8)                                                                     \
            function(8, __VA_ARGS__);                                                              \
        else                                                                                       \
            function((value), __VA_ARGS__);                                                        \
    } while (0)

/* ---- scores of nodes ----------------------------------------------------------------------------- */

static void head_scores(float *score, const float *z, const float *target, const float *source,
                        int64_t rows, int64_t heads, int64_t width) {
    for (int64_t r = 0; r < rows; r++, score += 2 * heads, z += heads * width) {
        WITH_CONSTANT(width, dots_of_heads, score, z, target, heads);
        WITH_CONSTANT(width, dots_of_heads, score + heads, z, source, heads);
    }
}

static void head_scores_backward(float *dz, float *sums, const float *g, const float *z,
                                 const float *target, const float *source, int64_t heads,
                                 int64_t width) {
    float *of_target = sums, *of_source = sums + heads * width;
    for (int64_t h = 0; h < heads; h++) {
        const float ds = g[h], dt = g[heads + h];
        const int64_t at = h * width;
        INDEPENDENT_ITERATIONS
        for (int64_t ch = at; ch < at + width; ch++) {
            dz[ch] = ds * target[ch] + dt * source[ch];
            of_target[ch] += ds * z[ch];
            of_source[ch] += dt * z[ch];
        }
    }
}

/* ---- softmax over the links of a row ---------------------------------------------------------------- */

/* The links of a row. */
typedef struct row_links {
    const pgcn_node *column;
    int64_t first, count; /* number of the first one in arrays of links */
} row_links;
ALWAYS_INLINE row_links links_of(const pgcn_i_links *links, int64_t row) {
    int64_t begin = links->a->offset[row], end = links->a->offset[row + 1];
    return (row_links){links->a->column + begin, links->first_link + begin, end - begin};
}

ALWAYS_INLINE float leaky(float x, float slope) {
    return x > 0.0f ? x : slope * x;
}

ALWAYS_INLINE void softmax_row(int64_t heads, const pgcn_i_edge_softmax *args, int64_t row) {
    const row_links links = links_of(&args->links, row);
    const float *restrict s = args->score + row * 2 * heads;
    float *restrict x = args->coefficient + links.first * heads;
    const float slope = args->slope;
    float most[PGCN_MOST_HEADS], sum[PGCN_MOST_HEADS];
    for (int64_t h = 0; h < heads; h++) {
        most[h] = -__builtin_inff();
        sum[h] = 0.0f;
    }
    for (int64_t e = 0; e < links.count; e++) {
        const float *restrict t = args->score + (links.column[e] * 2 + 1) * heads;
        INDEPENDENT_ITERATIONS
        for (int64_t h = 0; h < heads; h++) {
            float raw = leaky(s[h] + t[h], slope);
            x[e * heads + h] = raw;
            most[h] = raw > most[h] ? raw : most[h];
        }
    }
    for (int64_t e = 0; e < links.count; e++)
        for (int64_t h = 0; h < heads; h++) x[e * heads + h] -= most[h];
    EACH_CHANNEL_BLOCK(links.count * heads, exp_block, x);
    for (int64_t e = 0; e < links.count; e++)
        for (int64_t h = 0; h < heads; h++) sum[h] += x[e * heads + h];
    for (int64_t h = 0; h < heads; h++) sum[h] = 1.0f / sum[h];
    for (int64_t e = 0; e < links.count; e++)
        for (int64_t h = 0; h < heads; h++) x[e * heads + h] *= sum[h];
}

static void edge_softmax(const pgcn_i_edge_softmax *args, pgcn_i_rows rows) {
    for (int64_t i = 0; i < rows.count; i++)
        WITH_CONSTANT(args->links.heads, softmax_row, args,
                      pgcn_i_row(rows, i) - args->links.first);
}

/* With a = softmax(x) and D = sum over links of a da:  dx = a (da - D), and the slope of the LeakyReLU. */
ALWAYS_INLINE void softmax_row_backward(int64_t heads, const pgcn_i_edge_softmax *args,
                                        int64_t row) {
    const row_links links = links_of(&args->links, row);
    const float *restrict s = args->score + row * 2 * heads;
    const float *restrict a = args->coefficient + links.first * heads;
    float *restrict g = args->gradient + links.first * heads;
    const float slope = args->slope;
    float sum[PGCN_MOST_HEADS];
    for (int64_t h = 0; h < heads; h++) sum[h] = 0.0f;
    for (int64_t e = 0; e < links.count; e++)
        for (int64_t h = 0; h < heads; h++)
            sum[h] += __builtin_fabsf(a[e * heads + h]) * g[e * heads + h];
    for (int64_t e = 0; e < links.count; e++) {
        const float *restrict t = args->score + (links.column[e] * 2 + 1) * heads;
        INDEPENDENT_ITERATIONS
        for (int64_t h = 0; h < heads; h++) {
            float factor = s[h] + t[h] > 0.0f ? 1.0f : slope;
            g[e * heads + h] =
                factor * (__builtin_fabsf(a[e * heads + h]) * (g[e * heads + h] - sum[h]));
        }
    }
}

static void edge_softmax_backward(const pgcn_i_edge_softmax *args, pgcn_i_rows rows) {
    for (int64_t i = 0; i < rows.count; i++)
        WITH_CONSTANT(args->links.heads, softmax_row_backward, args,
                      pgcn_i_row(rows, i) - args->links.first);
}

ALWAYS_INLINE void sum_row(int64_t heads, float *out, const float *x, row_links links,
                           const int64_t *number, const uint8_t *live) {
    float sum[PGCN_MOST_HEADS];
    for (int64_t h = 0; h < heads; h++) sum[h] = 0.0f;
    for (int64_t e = 0; e < links.count; e++) {
        if (live && !live[links.column[e]]) continue;
        const float *from = x + (number ? number[e] : e) * heads;
        for (int64_t h = 0; h < heads; h++) sum[h] += from[h];
    }
    for (int64_t h = 0; h < heads; h++) out[h] = sum[h];
}

static void link_sum(float *out, int64_t out_c, const float *x, const pgcn_i_links *links,
                     const int64_t *number, const uint8_t *live, pgcn_i_rows rows) {
    for (int64_t i = 0; i < rows.count; i++, out += out_c) {
        const int64_t row = pgcn_i_row(rows, i) - links->first, begin = links->a->offset[row];
        const float *from = x + (links->first_link + (number ? 0 : begin)) * links->heads;
        WITH_CONSTANT(links->heads, sum_row, out, from, links_of(links, row),
                      number ? number + begin : NULL, live);
    }
}

/* ---- weighted sums of rows --------------------------------------------------------------------------- */

/* Which head a channel belongs to, for the vectors of a block: all lanes of a vector to one head, or each to
 * its own. */
typedef struct head_map {
    int64_t head[VECTORS]; /* of the first lane */
    int lanes[VECTORS];    /* heads from there on, at most LANES */
    vec_int lane[VECTORS]; /* head of a lane, counted from the first one's */
} head_map;

static head_map map_heads(channel_block block, int64_t heads, int64_t width) {
    head_map map = {.head = {0}};
    for (int v = 0; v < block.vectors; v++) {
        int64_t ch = block.ch + v * LANES;
        map.head[v] = ch / width;
        int64_t left = heads - map.head[v];
        map.lanes[v] = left < LANES ? (int)left : LANES;
        for (int l = 0; l < LANES; l++) {
            int64_t head = (ch + l) / width - map.head[v];
            map.lane[v][l] = (int32_t)(head < left ? head : 0);
        }
    }
    return map;
}

ALWAYS_INLINE vec permute(vec v, vec_int lane) {
#if defined(__AVX512F__)
    return (vec)_mm512_permutexvar_ps((__m512i)lane, (__m512)v);
#elif defined(__AVX2__)
    return (vec)_mm256_permutevar8x32_ps((__m256)v, (__m256i)lane);
#else
    vec out;
    for (int l = 0; l < LANES; l++) out[l] = v[lane[l]];
    return out;
#endif
}

/* What the lanes of a vector are multiplied by; a dropped coefficient counts as 0. */
ALWAYS_INLINE vec factors(const float *coefficient, const head_map *map, int v, bool whole) {
    if (whole) return vec_relu(coefficient[map->head[v]] + (vec){0});
    vec heads = vec_load(coefficient + map->head[v], map->lanes[v]);
    return permute(vec_relu(heads), map->lane[v]);
}

ALWAYS_INLINE void attend_block(channel_block block, const pgcn_i_attend *args, pgcn_i_rows rows,
                                float *packed, bool whole) {
    const int64_t heads = args->links.heads, ch = block.ch;
    const head_map map = map_heads(block, heads, args->c / heads);
    for (int64_t i = 0; i < rows.count; i++) {
        const int64_t r = pgcn_i_row(rows, i), row = r - args->links.first;
        const row_links links = links_of(&args->links, row);
        const int64_t *number = args->number ? args->number + args->links.a->offset[row] : NULL;
        vec sum[VECTORS] = {{0}};
        for (int64_t e = 0; e < links.count; e++) {
            const pgcn_node j = links.column[e];
            if (args->live && !args->live[j]) continue;
            const int64_t link = number ? args->links.first_link + number[e] : links.first + e;
            const float *x = args->x + j * args->c + ch;
            KEEP_POINTER(x);
            for (int v = 0; v < block.vectors; v++)
                sum[v] += factors(args->coefficient + link * heads, &map, v, whole) *
                          vec_load(x + v * LANES, block.lanes);
        }
        float *out = (packed ? packed + i * args->c : args->out + r * args->c) + ch;
        const bool has_self = args->self != 0.0f && !(args->live && !args->live[row]);
        for (int v = 0; v < block.vectors; v++) {
            sum[v] *= args->scale;
            if (has_self)
                sum[v] +=
                    args->self * vec_load(args->x + row * args->c + ch + v * LANES, block.lanes);
            vec_store(out + v * LANES, sum[v], block.lanes);
        }
    }
}

/* The gradients of the coefficients of a row's links. */
ALWAYS_INLINE void link_gradients(int64_t heads, const pgcn_i_attend *args, int64_t row,
                                  const float *own) {
    const int64_t width = args->c / heads;
    const int64_t *number = args->number + args->links.a->offset[row];
    const row_links links = links_of(&args->links, row);
    float d[PGCN_MOST_HEADS];
    for (int64_t e = 0; e < links.count; e++) {
        const pgcn_node j = links.column[e];
        if (args->live && !args->live[j]) continue;
        const int64_t at = (args->links.first_link + number[e]) * heads;
        const float *coefficient = args->coefficient + at;
        float *gradient = args->gradient + at;
        WITH_CONSTANT(width, dots_of_heads, d, args->x + j * args->c, own, heads);
        for (int64_t h = 0; h < heads; h++)
            d[h] = keep_if(!__builtin_signbit(coefficient[h]), args->scale * d[h]);
        if (args->add)
            for (int64_t h = 0; h < heads; h++) gradient[h] += d[h];
        else
            for (int64_t h = 0; h < heads; h++) gradient[h] = d[h];
    }
}

ALWAYS_INLINE void prefetch_links(const pgcn_i_attend *args, int64_t row) {
    enum { LINE_FLOATS = 16 };
    const row_links links = links_of(&args->links, row);
    for (int64_t e = 0; e < links.count; e++)
        for (int64_t ch = 0; ch < args->c; ch += LINE_FLOATS)
            __builtin_prefetch(args->x + links.column[e] * args->c + ch, 0, 2);
}

/* Some rows at a time where the next ones are prefetched: as many as have their lines in the cache before they
 * are used. */
static void attend(const pgcn_i_attend *args, pgcn_i_rows rows) {
    enum { AHEAD = 8 };
    const pgcn_i_attend a = *args; /* a local copy, which no store can change, stays in registers */
    const bool whole = a.links.heads == 1 || a.c / a.links.heads % LANES == 0;
    int64_t step = a.prefetch ? AHEAD : rows.count;
    for (int64_t at = 0; at < rows.count; at += step) {
        int64_t left = rows.count - at, count = left < step ? left : step;
        pgcn_i_rows part = {rows.row ? rows.row + at : NULL, rows.first + at, count};
        float *packed = a.packed ? a.out + at * a.c : NULL;
        for (int64_t i = at + count; a.prefetch && i < rows.count && i < at + 2 * count; i++)
            prefetch_links(&a, pgcn_i_row(rows, i) - a.links.first);
        for (int64_t i = 0; a.own && i < count; i++) {
            int64_t r = pgcn_i_row(part, i);
            WITH_CONSTANT(a.links.heads, link_gradients, &a, r - a.links.first, a.own + r * a.c);
        }
        if (whole)
            EACH_CHANNEL_BLOCK(a.c, attend_block, &a, part, packed, true);
        else
            EACH_CHANNEL_BLOCK(a.c, attend_block, &a, part, packed, false);
    }
}

/* ---- ELU ------------------------------------------------------------------------------------------------ */

ALWAYS_INLINE void elu_block(channel_block block, float *y, const float *x, const float *bias) {
    int64_t ch = block.ch;
    for (int v = 0; v < block.vectors; v++, ch += LANES) {
        vec sum = vec_load(x + ch, block.lanes);
        if (bias) sum += vec_load(bias + ch, block.lanes);
        vec_int negative = sum < 0.0f;
        vec below = exp_of_negative((vec)(negative & (vec_int)sum)) - 1.0f;
        vec_store(y + ch, vec_select(negative, below, sum), block.lanes);
    }
}

static void elu(float *y, const float *x, const float *bias, int64_t rows, int64_t c) {
    if (!bias) {
        c *= rows;
        rows = 1;
    }
    for (int64_t r = 0; r < rows; r++) EACH_CHANNEL_BLOCK(c, elu_block, y + r * c, x + r * c, bias);
}

ALWAYS_INLINE void elu_backward_block(channel_block block, float *dx, const float *g,
                                      const float *y) {
    int64_t ch = block.ch;
    for (int v = 0; v < block.vectors; v++, ch += LANES) {
        vec out = vec_load(y + ch, block.lanes);
        vec slope = (vec)((out < 0.0f) & (vec_int)out) + 1.0f;
        vec_store(dx + ch, slope * vec_load(g + ch, block.lanes), block.lanes);
    }
}

static void elu_backward(float *dx, const float *g, const float *y, int64_t begin, int64_t end) {
    EACH_CHANNEL_BLOCK(end - begin, elu_backward_block, dx + begin, g + begin, y + begin);
}

void PGCN_I_ISA(pgcn_i_fill_attention)(pgcn_i_kernels *table) {
    table->head_scores = head_scores;
    table->head_scores_backward = head_scores_backward;
    table->edge_softmax = edge_softmax;
    table->edge_softmax_backward = edge_softmax_backward;
    table->link_sum = link_sum;
    table->attend = attend;
    table->elu = elu;
    table->elu_backward = elu_backward;
}
