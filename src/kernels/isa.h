/* Private to the files of this room that are compiled once per instruction set: the names of one
 * set, its vector type, and the inner loop that all sparse kernels share.
 *
 * PGCN_ISA (baseline, avx2, avx512) is set by the build and is the suffix of every name that the
 * linker sees. A vector is as wide as the registers of the set: wider ones would be kept on the
 * stack. Everything here is static, so that code of one set can never be linked into another. */
#ifndef PGCN_KERNELS_ISA_H
#define PGCN_KERNELS_ISA_H

#include "kernels/kernels.h"

#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#ifndef PGCN_ISA
#define PGCN_ISA baseline
#endif
#define PGCN_I_JOIN_NOW(name, isa) name##_##isa
#define PGCN_I_JOIN(name, isa)     PGCN_I_JOIN_NOW(name, isa)
#define PGCN_I_ISA(name)           PGCN_I_JOIN(name, PGCN_ISA)

/* Each file stores its functions in the table of the set; dispatch.c calls all of them. */
void PGCN_I_ISA(pgcn_i_fill_pathconv)(pgcn_i_kernels *table);
void PGCN_I_ISA(pgcn_i_fill_spmm)(pgcn_i_kernels *table);
void PGCN_I_ISA(pgcn_i_fill_elementwise)(pgcn_i_kernels *table);
void PGCN_I_ISA(pgcn_i_fill_dropout)(pgcn_i_kernels *table);
void PGCN_I_ISA(pgcn_i_fill_norm)(pgcn_i_kernels *table);
void PGCN_I_ISA(pgcn_i_fill_propagate)(pgcn_i_kernels *table);
void PGCN_I_ISA(pgcn_i_fill_attention)(pgcn_i_kernels *table);
void PGCN_I_ISA(pgcn_i_fill_loss)(pgcn_i_kernels *table);
void PGCN_I_ISA(pgcn_i_fill_gemm)(pgcn_i_kernels *table);
void PGCN_I_ISA(pgcn_i_fill_walk)(pgcn_i_kernels *table);

/* Before a plain loop: no iteration reads what another one writes. The destination may be the array
 * that is read (in place), but arrays must not overlap in any other way. Without this line an
 * in-place call would take the compiler's scalar path for overlapping arrays. */
#if defined(__clang__)
/* No warning about loops that stay scalar: in a sanitizer build none is vectorised. */
#pragma clang diagnostic ignored "-Wpass-failed"
#define INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* ---- vectors ----------------------------------------------------------------------------- */

#if defined(__AVX512F__)
enum { LANES = 16 };
#elif defined(__AVX2__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
/* Accumulators of one block of channels. Four of a sum and four of a running product leave room
 * in the 16 registers of the smaller sets, and hide the latency of a multiply-add. */
enum { VECTORS = 4, BLOCK = VECTORS * LANES };

typedef float vec __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t vec_int __attribute__((vector_size(LANES * sizeof(int32_t))));
typedef uint64_t vec_u64 __attribute__((vector_size(LANES * sizeof(float))));

/* The first `lanes` (1 .. LANES-1) floats at p; the other lanes are 0. Reads no float after
 * them. */
ALWAYS_INLINE vec vec_load_first(const float *p, int lanes) {
#if defined(__AVX512F__)
    return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << lanes) - 1u), p);
#elif defined(__AVX2__)
    static const int32_t window[2 * 8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    __m256i mask = _mm256_loadu_si256((const __m256i *)(const void *)(window + 8 - lanes));
    return (vec)_mm256_maskload_ps(p, mask);
#else
    float copy[LANES] = {0};
    for (int i = 0; i < lanes; i++) copy[i] = p[i];
    vec v;
    memcpy(&v, copy, sizeof v);
    return v;
#endif
}

/* bf16 numbers are the upper halves of floats. */
ALWAYS_INLINE vec vec_load_bf16(const uint16_t *p, int lanes) {
    uint16_t copy[LANES] = {0};
    if (lanes < LANES) {
        for (int i = 0; i < lanes; i++) copy[i] = p[i];
        p = copy;
    }
#if defined(__AVX512F__)
    __m512i words = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
    return (vec)_mm512_slli_epi32(words, 16);
#elif defined(__AVX2__)
    __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
    return (vec)_mm256_slli_epi32(words, 16);
#else
    uint32_t words[LANES];
    for (int i = 0; i < LANES; i++) words[i] = (uint32_t)p[i] << 16;
    vec v;
    memcpy(&v, words, sizeof v);
    return v;
#endif
}

/* Stores halves, not one masked vector: the masked-out part of that store covers the next row, and
 * a load of that row would wait for it (softmax of 7 classes took twice as long). */
ALWAYS_INLINE void vec_store_first(float *p, vec v, int lanes) {
    float copy[LANES];
    memcpy(copy, &v, sizeof v);
    int at = 0;
    if (LANES > 8 && (lanes & 8)) {
        memcpy(p, copy, 8 * sizeof *p);
        at = 8;
    }
    if (LANES > 4 && (lanes & 4)) {
        memcpy(p + at, copy + at, 4 * sizeof *p);
        at += 4;
    }
    if (lanes & 2) {
        memcpy(p + at, copy + at, 2 * sizeof *p);
        at += 2;
    }
    if (lanes & 1) p[at] = copy[at];
}

/* `lanes` is the constant LANES in blocks of whole vectors, where the compiler drops the test. */
ALWAYS_INLINE vec vec_load(const float *p, int lanes) {
    if (lanes < LANES) return vec_load_first(p, lanes);
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

ALWAYS_INLINE void vec_store(float *p, vec v, int lanes) {
    if (lanes < LANES) {
        vec_store_first(p, v, lanes);
    } else {
        memcpy(p, &v, sizeof v);
    }
}

/* x or 0, by bits: a conditional expression becomes a branch around the arithmetic of x, and the
 * loop stays scalar (GCC 12, 20 times slower). */
ALWAYS_INLINE float keep_if(bool keep, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= 0u - (uint32_t)keep;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Lanes of a where the comparison `mask` (all bits or none) holds, of b elsewhere. */
ALWAYS_INLINE vec vec_select(vec_int mask, vec a, vec b) {
    return (vec)((mask & (vec_int)a) | (~mask & (vec_int)b));
}

/* max(v, 0). NaN stays NaN, so that a diverged run shows in its loss. */
ALWAYS_INLINE vec vec_relu(vec v) {
    return (vec)((vec_int)v & ~(v < 0.0f));
}

/* Not left to the compiler: sqrtf may set errno, and is then not vectorised. */
ALWAYS_INLINE vec vec_sqrt(vec v) {
#if defined(__AVX512F__)
    return (vec)_mm512_sqrt_ps((__m512)v);
#elif defined(__AVX2__)
    return (vec)_mm256_sqrt_ps((__m256)v);
#elif defined(__SSE2__)
    return (vec)_mm_sqrt_ps((__m128)v);
#else
    for (int i = 0; i < LANES; i++) v[i] = __builtin_sqrtf(v[i]);
    return v;
#endif
}

/* The 64-bit products of the low halves; the high halves of a and b do not matter. */
ALWAYS_INLINE vec_u64 vec_mul_low_halves(vec_u64 a, vec_u64 b) {
#if defined(__AVX512F__)
    return (vec_u64)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (vec_u64)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (vec_u64)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
    return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

/* A block of channels: `vectors` vectors from channel ch on. `lanes` is LANES, but for the last
 * block of a row, which is one vector with fewer channels. */
typedef struct channel_block {
    int64_t ch;
    int vectors, lanes;
} channel_block;

/* Calls function(block, ...) for all of c channels: blocks of VECTORS vectors, then of two and of
 * one, then what is left. The function is always inlined with a constant number of vectors, so that
 * its accumulators are registers. */
#define EACH_CHANNEL_BLOCK(c, function, ...)                                                       \
    do {                                                                                           \
        int64_t block_ch = 0;                                                                      \
        for (; block_ch + BLOCK <= (c); block_ch += BLOCK)                                         \
            function((channel_block){block_ch, VECTORS, LANES}, __VA_ARGS__);                      \
        if (block_ch + 2 * LANES <= (c)) {                                                         \
            function((channel_block){block_ch, 2, LANES}, __VA_ARGS__);                            \
            block_ch += 2 * LANES;                                                                 \
        }                                                                                          \
        for (; block_ch + LANES <= (c); block_ch += LANES)                                         \
            function((channel_block){block_ch, 1, LANES}, __VA_ARGS__);                            \
        if (block_ch < (c))                                                                        \
            function((channel_block){block_ch, 1, (int)((c)-block_ch)}, __VA_ARGS__);              \
    } while (0)

/* Keeps a pointer in one register. Otherwise the compiler computes an address for each vector of a
 * row instead of adding a constant (a tenth of the time of a gather in cache). */
#define KEEP_POINTER(pointer) __asm__("" : "+r"(pointer))

/* Some entries of a row of a sparse matrix. */
typedef struct sparse_entries {
    const pgcn_node *column;
    const float *value;
    int64_t count;
} sparse_entries;

/* sum[v] += sum_e value_e x[column_e] for one block of the c channels of x. The inner loop of all
 * sparse kernels. */
ALWAYS_INLINE void add_rows(vec *sum, channel_block block, const float *x, sparse_entries entries,
                            int64_t c) {
    x += block.ch;
    for (int64_t e = 0; e < entries.count; e++) {
        const float *row = x + entries.column[e] * c;
        KEEP_POINTER(row);
        for (int v = 0; v < block.vectors; v++)
            sum[v] += entries.value[e] * vec_load(row + v * LANES, block.lanes);
    }
}

#endif
