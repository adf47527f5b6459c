/* Random numbers without state: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011).
 *
 * A random word is a pure function of (seed, purpose, step, layer, sample, element, block), so
 * nothing depends on which thread asks, in what order, or whether the run was resumed.
 *
 *   key     = seed (64 bits)
 *   counter = { element low 32,
 *               element high 16 | block 16,     block: a walk that needs more than 4 words
 *               step 32,                        the training step (or draw of inference)
 *               purpose 8 | sample 8 | layer 16 }
 *
 * Limits that follow, checked where the numbers come in: element < 2^48, 2^16 blocks of four words
 * per element, step < 2^32, 256 samples, 65536 layers. */
#ifndef PGCN_RNG_H
#define PGCN_RNG_H

#include <stdint.h>

typedef enum pgcn_i_purpose {
    PGCN_I_RNG_WALK = 1,
    PGCN_I_RNG_INIT = 2,
    PGCN_I_RNG_DROPOUT_INPUT = 3,
    PGCN_I_RNG_DROPOUT = 4,
    PGCN_I_RNG_DATA = 5, /* synthetic data sets and splits */
    PGCN_I_RNG_WALK_INFERENCE = 6,
    PGCN_I_RNG_DROP_ROWS = 7,
    PGCN_I_RNG_TEST = 8,
    PGCN_I_RNG_BATCH = 9,      /* the order of graphs */
    PGCN_I_RNG_EDGES = 10,     /* edges that a step keeps */
    PGCN_I_RNG_LINKS = 11,     /* links that a step learns to tell from pairs without one, */
    PGCN_I_RNG_PAIRS = 12,     /* and these pairs */
    PGCN_I_RNG_NEIGHBOURS = 13 /* neighbours that a step sees */
} pgcn_i_purpose;

/* Everything of a counter but the element and the block. */
typedef struct pgcn_i_rng_domain {
    uint64_t seed;
    uint32_t step;
    uint32_t tag; /* purpose | sample << 8 | layer << 16 */
} pgcn_i_rng_domain;

static inline pgcn_i_rng_domain pgcn_i_rng_domain_of(uint64_t seed, pgcn_i_purpose purpose,
                                                     int64_t step, int layer, int sample) {
    return (pgcn_i_rng_domain){seed, (uint32_t)step,
                               (uint32_t)purpose | ((uint32_t)sample & 0xffu) << 8 |
                                   ((uint32_t)layer & 0xffffu) << 16};
}

#define PGCN_PHILOX_M0 0xD2511F53u
#define PGCN_PHILOX_M1 0xCD9E8D57u
#define PGCN_PHILOX_W0 0x9E3779B9u
#define PGCN_PHILOX_W1 0xBB67AE85u

static inline void pgcn_i_philox(const uint32_t counter[4], const uint32_t key[2],
                                 uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)PGCN_PHILOX_M0 * c0;
        uint64_t p1 = (uint64_t)PGCN_PHILOX_M1 * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        uint32_t n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += PGCN_PHILOX_W0;
        k1 += PGCN_PHILOX_W1;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* The four words of (element, block) in a domain. */
static inline void pgcn_i_rng_words(pgcn_i_rng_domain domain, uint64_t element, uint32_t block,
                                    uint32_t out[4]) {
    const uint32_t counter[4] = {(uint32_t)element,
                                 (uint32_t)(element >> 32) << 16 | (block & 0xffffu), domain.step,
                                 domain.tag};
    const uint32_t key[2] = {(uint32_t)domain.seed, (uint32_t)(domain.seed >> 32)};
    pgcn_i_philox(counter, key, out);
}

/* A sequence of words for one element (one walk): refills four at a time. */
typedef struct pgcn_i_stream {
    pgcn_i_rng_domain domain;
    uint64_t element;
    uint32_t block; /* next block to draw */
    uint32_t used;  /* words already taken from `word`; 4 = refill */
    uint32_t word[4];
} pgcn_i_stream;

static inline pgcn_i_stream pgcn_i_stream_of(pgcn_i_rng_domain domain, uint64_t element) {
    return (pgcn_i_stream){.domain = domain, .element = element, .used = 4};
}

static inline uint32_t pgcn_i_next(pgcn_i_stream *stream) {
    if (stream->used == 4) {
        pgcn_i_rng_words(stream->domain, stream->element, stream->block++, stream->word);
        stream->used = 0;
    }
    return stream->word[stream->used++];
}

/* Unbiased 0 .. n-1 (Lemire 2019): multiply-shift, and the short tail is refused. n >= 1. */
static inline uint32_t pgcn_i_bounded(pgcn_i_stream *stream, uint32_t n) {
    uint64_t product = (uint64_t)pgcn_i_next(stream) * n;
    if ((uint32_t)product < n) {
        uint32_t tail = (0u - n) % n;
        while ((uint32_t)product < tail) product = (uint64_t)pgcn_i_next(stream) * n;
    }
    return (uint32_t)(product >> 32);
}

/* Uniform in [0, 1) with 24 and 53 bits; standard normal by Box-Muller (uses two words). */
static inline float pgcn_i_unit_float(uint32_t word) {
    return (float)(word >> 8) * 0x1p-24f;
}
double pgcn_i_unit_double(pgcn_i_stream *stream);
double pgcn_i_normal(pgcn_i_stream *stream);

#endif
