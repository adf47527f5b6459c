/* See limits.h. */
#include "limits.h"

#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* As wide as the registers; a block of WIDE floats, and one of 64, is summed in registers. */
#if defined(__AVX512F__)
enum { LANES = 16, WIDE = 256 };
#elif defined(__AVX2__)
enum { LANES = 8, WIDE = 64 };
#else
enum { LANES = 4, WIDE = 32 };
#endif
typedef float vec __attribute__((vector_size(LANES * sizeof(float))));

ALWAYS_INLINE vec load(const float *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}
ALWAYS_INLINE void store(float *p, vec v) {
    memcpy(p, &v, sizeof v);
}
ALWAYS_INLINE void fetch(const float *row, int vectors) {
    for (int v = 0; v < vectors; v++) __builtin_prefetch(row + v * LANES, 0, 2);
}

/* ---- gathers -------------------------------------------------------------------------------- */

/* The whole row at once while it fits into the registers: one run over its memory. */
ALWAYS_INLINE void gather_block(float *out, const float *x, const pgcn_i_csr *list, int lists,
                                int64_t r, int64_t c, int vectors, int ahead) {
    vec sum[WIDE / LANES] = {{0}};
    for (int i = 0; i < lists; i++) {
        const pgcn_node *column = list[i].column;
        const int64_t end = list[i].offset[r + 1], last = list[i].offset[list[i].rows] - 1;
        for (int64_t e = list[i].offset[r]; e < end; e++) {
            if (ahead) fetch(x + column[e + ahead < last ? e + ahead : last] * c, vectors);
            for (int v = 0; v < vectors; v++) sum[v] += load(x + column[e] * c + v * LANES);
        }
    }
    for (int v = 0; v < vectors; v++) store(out + r * c + v * LANES, sum[v]);
}

void limit_gather(float *out, const float *x, const pgcn_i_csr *list, int lists, int64_t begin,
                  int64_t end, int64_t c, bool wide, int ahead) {
    for (int64_t r = begin; r < end; r++) {
        int64_t ch = 0;
        for (; wide && ch + WIDE <= c; ch += WIDE)
            gather_block(out + ch, x + ch, list, lists, r, c, WIDE / LANES, ahead);
        for (; ch + 64 <= c; ch += 64)
            gather_block(out + ch, x + ch, list, lists, r, c, 64 / LANES, ahead);
    }
}

void limit_random_rows(float *out, const float *x, const pgcn_node *row, int64_t begin, int64_t end,
                       int64_t c, int ahead) {
    for (int64_t e = begin; e < end; e++) {
        const float *from = x + row[e] * c;
        const float *next = x + row[e + ahead < end ? e + ahead : end - 1] * c;
        float *to = out + e % 64 * c;
        for (int64_t ch = 0; ch < c; ch += 64) {
            if (ahead) fetch(next + ch, 64 / LANES);
            for (int v = 0; v < 64 / LANES; v++) {
                int64_t at = ch + v * LANES;
                store(to + at, load(to + at) + load(from + at));
            }
        }
    }
}

/* ---- streams -------------------------------------------------------------------------------- */

float limit_read(const float *a, int64_t begin, int64_t end) {
    vec sum[8] = {{0}};
    for (int64_t i = begin; i + 8 * LANES <= end; i += 8 * LANES)
        for (int v = 0; v < 8; v++) sum[v] += load(a + i + v * LANES);
    float total = 0;
    for (int v = 0; v < 8; v++)
        for (int lane = 0; lane < LANES; lane++) total += sum[v][lane];
    return total;
}

void limit_copy(float *restrict a, const float *restrict b, int64_t begin, int64_t end) {
    for (int64_t i = begin; i + LANES <= end; i += LANES) store(a + i, load(b + i));
}

void limit_triad(float *restrict a, const float *restrict b, const float *restrict c, int64_t begin,
                 int64_t end) {
    for (int64_t i = begin; i + LANES <= end; i += LANES)
        store(a + i, load(b + i) + 0.5f * load(c + i));
}

void limit_adam(float *restrict w, float *restrict m, float *restrict v, const float *restrict g,
                int64_t begin, int64_t end) {
    for (int64_t i = begin; i + LANES <= end; i += LANES) {
        vec gradient = load(g + i);
        store(m + i, load(m + i) + gradient);
        store(v + i, load(v + i) + gradient);
        store(w + i, load(w + i) + gradient);
    }
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

/* The compiler must not fold iterations: what the register holds is unknown here. */
#if defined(__x86_64__)
#define OPAQUE(register_value) __asm__ volatile("" : "+v"(register_value))
#else
#define OPAQUE(register_value) __asm__ volatile("" : "+w"(register_value))
#endif

/* Enough chains to hide the latency of two units, few enough for 16 registers. */
#define EACH_CHAIN(do)                                                                             \
    do (0) do(1) do(2) do(3) do(4) do(5) do(6) do(7) do(8) do(9)
#define START(i) vec sum##i = factor * (float)i;
#define MULTIPLY_ADD(i)                                                                            \
    sum##i = sum##i * factor + step;                                                               \
    OPAQUE(sum##i);
#define ADD_UP(i) total += sum##i;

double limit_fma(float *out, int64_t iterations) {
    const vec factor = load(out), step = load(out + LANES);
    vec total = {0};
    EACH_CHAIN(START)
    for (int64_t t = 0; t < iterations; t++) {
        EACH_CHAIN(MULTIPLY_ADD)
    }
    EACH_CHAIN(ADD_UP)
    store(out, total);
    return 2.0 * 10 * LANES * (double)iterations;
}

/* ---- walks ---------------------------------------------------------------------------------- */

ALWAYS_INLINE uint64_t xorshift(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

ALWAYS_INLINE pgcn_node step(pgcn_node node, uint64_t *state, const int64_t *offset,
                             const pgcn_node *neighbour) {
    const int64_t first = offset[node], degree = offset[node + 1] - first;
    const int64_t choice = (int64_t)(((xorshift(state) >> 32) * (uint64_t)(degree + 1)) >> 32);
    return choice < degree ? neighbour[first + choice] : node;
}

void limit_walk(pgcn_node *out, const int64_t *offset, const pgcn_node *neighbour, int64_t begin,
                int64_t end, int p, int k) {
    uint64_t state = (uint64_t)begin * 0x9E3779B97F4A7C15u + 1;
    for (int64_t w = begin; w < end; w++) {
        pgcn_node node = (pgcn_node)(w / p);
        out[w * k] = node;
        for (int i = 1; i < k; i++) {
            node = step(node, &state, offset, neighbour);
            out[w * k + i] = node;
        }
    }
}

/* A batch of walks takes each step together: their loads do not wait for each other. */
void limit_walk_batches(pgcn_node *out, const int64_t *offset, const pgcn_node *neighbour,
                        int64_t begin, int64_t end, int p, int k) {
    enum { BATCH = 32 };
    uint64_t state = (uint64_t)begin * 0x9E3779B97F4A7C15u + 1;
    for (int64_t first = begin; first < end; first += BATCH) {
        const int64_t last = first + BATCH < end ? first + BATCH : end;
        for (int64_t w = first; w < last; w++) out[w * k] = (pgcn_node)(w / p);
        for (int i = 1; i < k; i++)
            for (int64_t w = first; w < last; w++)
                out[w * k + i] = step(out[w * k + i - 1], &state, offset, neighbour);
    }
}

void limit_visits(pgcn_i_csr *hop, pgcn_i_csr *hop_t, const int32_t *place, const int64_t *offset,
                  const pgcn_node *neighbour, int64_t begin, int64_t end, int p, int k) {
    uint64_t state = (uint64_t)begin * 0x9E3779B97F4A7C15u + 1;
    const float weight = 1.0f / (float)p;
    for (int64_t w = begin; w < end; w++) {
        pgcn_node start = (pgcn_node)(w / p), node = start;
        for (int i = 1; i < k; i++) {
            node = step(node, &state, offset, neighbour);
            hop[i - 1].column[w] = node;
            hop[i - 1].value[w] = weight;
            hop_t[i - 1].column[place[w]] = start;
            hop_t[i - 1].value[place[w]] = weight;
        }
    }
}
