/* Dropout whose decision for an element is a pure function of (seed, step, layer, sample, element):
 * 16 bits of Philox4x32-10, the same bits as pgcn_i_rng_words() gives one element at a time.
 *
 * The generator would cost more than all else here if it ran scalar. A counter therefore takes a
 * 64-bit lane, whose low half is the 32-bit word: the multiply of low halves ignores what the
 * carries leave in the high half, so a round is two multiplies, two shifts and four xors for all
 * lanes of a register. No threads here: callers (nn) give each task its own elements. */
#include "kernels/isa.h"

enum {
    ELEMENTS_PER_COUNTER = 8, /* four words of two 16-bit halves */
    VEC_COUNTERS = (int)(sizeof(vec_u64) / sizeof(uint64_t)),
    TILE_COUNTERS = 16,
    TILE = TILE_COUNTERS * ELEMENTS_PER_COUNTER
};

/* Words 0 and 1 (low and high half of pair01[i]), 2 and 3 (pair23[i]) of counter first + i. */
ALWAYS_INLINE void philox(uint64_t pair01[VEC_COUNTERS], uint64_t pair23[VEC_COUNTERS],
                          pgcn_i_rng_domain domain, uint64_t first) {
    uint64_t low[VEC_COUNTERS], high[VEC_COUNTERS];
    for (int i = 0; i < VEC_COUNTERS; i++) {
        uint64_t element = first + (uint64_t)i;
        low[i] = (uint32_t)element;
        high[i] = (uint32_t)(element >> 32) << 16; /* block 0, see rng.h */
    }
    vec_u64 c0, c1, c2 = domain.step + (vec_u64){0}, c3 = domain.tag + (vec_u64){0};
    memcpy(&c0, low, sizeof c0);
    memcpy(&c1, high, sizeof c1);
    const vec_u64 m0 = PGCN_PHILOX_M0 + (vec_u64){0}, m1 = PGCN_PHILOX_M1 + (vec_u64){0};
    uint32_t k0 = (uint32_t)domain.seed, k1 = (uint32_t)(domain.seed >> 32);
    for (int round = 0; round < 10; round++) {
        vec_u64 p0 = vec_mul_low_halves(c0, m0), p1 = vec_mul_low_halves(c2, m1);
        c0 = (p1 >> 32) ^ c1 ^ (uint64_t)k0;
        c2 = (p0 >> 32) ^ c3 ^ (uint64_t)k1;
        c1 = p1;
        c3 = p0;
        k0 += PGCN_PHILOX_W0;
        k1 += PGCN_PHILOX_W1;
    }
    c0 = (c0 & 0xffffffffu) | c1 << 32;
    c2 = (c2 & 0xffffffffu) | c3 << 32;
    memcpy(pair01, &c0, sizeof c0);
    memcpy(pair23, &c2, sizeof c2);
}

/* half[e] = the 16 bits of element 8 * first + e, for a whole tile. */
static void draw_tile(uint16_t half[TILE], pgcn_i_rng_domain domain, uint64_t first) {
    uint64_t pair01[TILE_COUNTERS], pair23[TILE_COUNTERS], pairs[2 * TILE_COUNTERS];
    for (int i = 0; i < TILE_COUNTERS; i += VEC_COUNTERS)
        philox(pair01 + i, pair23 + i, domain, first + (uint64_t)i);
    for (int i = 0; i < TILE_COUNTERS; i++) {
        pairs[2 * i] = pair01[i];
        pairs[2 * i + 1] = pair23[i];
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(half, pairs, sizeof pairs);
#else
    for (int e = 0; e < TILE; e++) half[e] = (uint16_t)(pairs[e / 4] >> (e % 4 * 16));
#endif
}

static void dropout(float *out, uint8_t *kept, const float *x, pgcn_i_rng_domain domain,
                    uint32_t threshold, float scale, int64_t begin, int64_t end,
                    int64_t first_element) {
    uint16_t drawn[TILE];
    for (int64_t at = begin, count; at < end; at += count) {
        int64_t skip = (first_element + at) % ELEMENTS_PER_COUNTER; /* 0 but for the first tile */
        const uint16_t *half = drawn + skip;
        draw_tile(drawn, domain, (uint64_t)(first_element + at) / ELEMENTS_PER_COUNTER);
        count = end - at < TILE - skip ? end - at : TILE - skip;
        float *out_tile = out + at;
        const float *x_tile = x + at;
        INDEPENDENT_ITERATIONS
        for (int64_t i = 0; i < count; i++)
            out_tile[i] = keep_if(half[i] >= threshold, x_tile[i] * scale);
        if (kept)
            for (int64_t i = 0; i < count; i++) kept[at + i] = half[i] >= threshold;
    }
}

static void dropout_backward(float *dx, const float *g, const uint8_t *kept, float scale,
                             int64_t begin, int64_t end, bool add) {
    if (add) {
        INDEPENDENT_ITERATIONS
        for (int64_t i = begin; i < end; i++) dx[i] += keep_if(kept[i], g[i] * scale);
    } else {
        INDEPENDENT_ITERATIONS
        for (int64_t i = begin; i < end; i++) dx[i] = keep_if(kept[i], g[i] * scale);
    }
}

void PGCN_I_ISA(pgcn_i_fill_dropout)(pgcn_i_kernels *table) {
    table->dropout = dropout;
    table->dropout_backward = dropout_backward;
}
