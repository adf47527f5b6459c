/* Philox4x32-10 for a whole register of counters at once, private to the files of this room that
 * draw (dropout.c, walk.c): the same words as pgcn_i_rng_words() gives one element at a time.
 *
 * A counter takes a 64-bit lane, whose low half is the 32-bit word: the multiply of low halves
 * ignores what the carries leave in the high half, so a round is two multiplies, two shifts and
 * four xors for all lanes. */
#ifndef PGCN_KERNELS_PHILOX_H
#define PGCN_KERNELS_PHILOX_H

#include "kernels/isa.h"

/* A round waits for its multiply, so two registers of counters go side by side. */
enum {
    VEC_COUNTERS = (int)(sizeof(vec_u64) / sizeof(uint64_t)),
    PHILOX_COUNTERS = 2 * VEC_COUNTERS
};

/* word[i][e] = word i of (element[e], block), in the low half; the high half is arbitrary. */
ALWAYS_INLINE void philox(uint64_t *word[4], pgcn_i_rng_domain domain, const uint64_t *element,
                          uint32_t block) {
    const vec_u64 m0 = PGCN_PHILOX_M0 + (vec_u64){0}, m1 = PGCN_PHILOX_M1 + (vec_u64){0};
    uint32_t k0 = (uint32_t)domain.seed, k1 = (uint32_t)(domain.seed >> 32);
    vec_u64 c0[2], c1[2], c2[2], c3[2];
    for (int v = 0; v < 2; v++) {
        memcpy(&c0[v], element + v * VEC_COUNTERS, sizeof c0[v]);
        c1[v] = (c0[v] >> 32) << 16 | (uint64_t)(block & 0xffffu);
        c2[v] = domain.step + (vec_u64){0};
        c3[v] = domain.tag + (vec_u64){0};
    }
    for (int round = 0; round < 10; round++) {
        for (int v = 0; v < 2; v++) {
            vec_u64 p0 = vec_mul_low_halves(c0[v], m0), p1 = vec_mul_low_halves(c2[v], m1);
            c0[v] = (p1 >> 32) ^ c1[v] ^ (uint64_t)k0;
            c2[v] = (p0 >> 32) ^ c3[v] ^ (uint64_t)k1;
            c1[v] = p1;
            c3[v] = p0;
        }
        k0 += PGCN_PHILOX_W0;
        k1 += PGCN_PHILOX_W1;
    }
    for (int v = 0; v < 2; v++) {
        memcpy(word[0] + v * VEC_COUNTERS, &c0[v], sizeof c0[v]);
        memcpy(word[1] + v * VEC_COUNTERS, &c1[v], sizeof c1[v]);
        memcpy(word[2] + v * VEC_COUNTERS, &c2[v], sizeof c2[v]);
        memcpy(word[3] + v * VEC_COUNTERS, &c3[v], sizeof c3[v]);
    }
}

#endif
