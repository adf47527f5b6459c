/* Dropout. Whether an element is dropped is a pure function of (seed, step, layer, sample,
 * element): 16 bits of Philox4x32-10, the same bits as pgcn_i_rng_words() gives one element at a
 * time.
 *
 * A scalar generator would take most of the time here, so it runs in vectors (philox.h). No threads
 * here: callers (nn) give each task its own elements. */
#include "kernels/philox.h"

enum {
    ELEMENTS_PER_COUNTER = 8, /* four words of two 16-bit halves */
    TILE_COUNTERS = 16,
    TILE = TILE_COUNTERS * ELEMENTS_PER_COUNTER
};

/* half[e] = the 16 bits of element 8 * first + e, for a whole tile. Words go to their places at once: a copy of all of
 * them was made of pieces smaller than what is loaded next, which had to wait for the cache. */
static void draw_tile(uint16_t half[TILE], pgcn_i_rng_domain domain, uint64_t first) {
    uint64_t element[TILE_COUNTERS], word[4][TILE_COUNTERS];
    for (int i = 0; i < TILE_COUNTERS; i++) element[i] = first + (uint64_t)i;
    for (int i = 0; i < TILE_COUNTERS; i += PHILOX_COUNTERS)
        philox((uint64_t *[]){word[0] + i, word[1] + i, word[2] + i, word[3] + i}, domain,
               element + i, 0);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    typedef uint64_t pair __attribute__((may_alias));
    pair *to = (pair *)(void *)half;
    for (int i = 0; i < TILE_COUNTERS; i++) {
        to[2 * i] = (word[0][i] & 0xffffffffu) | word[1][i] << 32;
        to[2 * i + 1] = (word[2][i] & 0xffffffffu) | word[3][i] << 32;
    }
#else
    for (int e = 0; e < TILE; e++) half[e] = (uint16_t)(word[e % 8 / 2][e / 8] >> (e % 2 * 16));
#endif
}

static void dropout(float *out, uint8_t *kept, const float *x, const pgcn_i_dropout *drop,
                    int64_t begin, int64_t end) {
    const pgcn_i_rng_domain domain = drop->domain;
    const uint32_t threshold = drop->threshold;
    const float scale = drop->scale;
    const int64_t first_element = drop->first_element;
    _Alignas(uint64_t) uint16_t drawn[TILE];
    for (int64_t at = begin, count; at < end; at += count) {
        int64_t skip = (first_element + at) % ELEMENTS_PER_COUNTER; /* 0 after the first tile */
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

static void draw_kept(uint8_t *kept, pgcn_i_rng_domain domain, uint32_t threshold,
                      int64_t first_element, int64_t count) {
    _Alignas(uint64_t) uint16_t drawn[TILE];
    for (int64_t at = 0, part; at < count; at += part) {
        int64_t skip = (first_element + at) % ELEMENTS_PER_COUNTER;
        const uint16_t *half = drawn + skip;
        draw_tile(drawn, domain, (uint64_t)(first_element + at) / ELEMENTS_PER_COUNTER);
        part = count - at < TILE - skip ? count - at : TILE - skip;
        for (int64_t i = 0; i < part; i++) kept[at + i] = half[i] >= threshold;
    }
}

static void mark_dropped(float *x, const pgcn_i_dropout *drop, int64_t count) {
    const int64_t first = drop->first_element;
    const uint32_t threshold = drop->threshold;
    _Alignas(uint64_t) uint16_t drawn[TILE];
    for (int64_t at = 0, part; at < count; at += part) {
        int64_t skip = (first + at) % ELEMENTS_PER_COUNTER;
        const uint16_t *half = drawn + skip;
        draw_tile(drawn, drop->domain, (uint64_t)(first + at) / ELEMENTS_PER_COUNTER);
        part = count - at < TILE - skip ? count - at : TILE - skip;
        float *tile = x + at;
        INDEPENDENT_ITERATIONS
        for (int64_t i = 0; i < part; i++) tile[i] *= half[i] >= threshold ? 1.0f : -1.0f;
    }
}

static void dropout_backward(float *dx, const float *g, const uint8_t *kept, float scale,
                             int64_t begin, int64_t end) {
    INDEPENDENT_ITERATIONS
    for (int64_t i = begin; i < end; i++) dx[i] = keep_if(kept[i], g[i] * scale);
}

void PGCN_I_ISA(pgcn_i_fill_dropout)(pgcn_i_kernels *table) {
    table->dropout = dropout;
    table->draw_kept = draw_kept;
    table->mark_dropped = mark_dropped;
    table->dropout_backward = dropout_backward;
}
