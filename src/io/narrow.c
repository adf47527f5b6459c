/* Numbers narrower than float32, as containers hold features: float16 (IEEE 754 binary16), bf16 (the
 * upper half of a float32) and int8 with a scale per column. docs/FORMATS.md has the error bounds.
 *
 * Rounding is to the nearest, ties to even, by integer arithmetic: the same bits on every machine, with
 * or without instructions for it. What is too large for a type is reported, never stored as infinity.
 * Called by rows.c and by the container of the data room. Serial, thread-safe. */
#include "io/io.h"

#include <float.h>
#include <math.h>
#include <string.h>

bool pgcn_i_is_narrow(pgcn_i_dtype dtype) {
    return dtype == PGCN_I_F16 || dtype == PGCN_I_BF16 || dtype == PGCN_I_I8;
}

bool pgcn_i_narrow_parse(const char *name, pgcn_i_dtype *out) {
    static const pgcn_i_dtype types[] = {PGCN_I_F32, PGCN_I_F16, PGCN_I_BF16, PGCN_I_I8};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(name, pgcn_i_dtype_name(types[i])) == 0) {
            *out = types[i];
            return true;
        }
    return false;
}

static inline uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- float16 ---------------------------------------------------------------------------------- */

/* 0x7c00 and above in the lower 15 bits: it is too large. */
static inline uint16_t f16_of(float value) {
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude >= 0x47800000u) return (uint16_t)(sign | 0x7c00u); /* 65536 and more */
    if (magnitude < 0x38800000u) { /* subnormal: units of 2^-24, rounded by the addition */
        uint32_t sum = bits_of(float_of(magnitude) + 0.5f);
        return (uint16_t)(sign | (sum - bits_of(0.5f)));
    }
    uint32_t odd = magnitude >> 13 & 1;
    return (uint16_t)(sign | (magnitude - 0x38000000u + 0xfffu + odd) >> 13);
}

static inline float f16_value(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, magnitude = half & 0x7fffu;
    /* the exponent is too small by 112, which the product puts right, also for subnormal numbers */
    float value = float_of(magnitude << 13) * 0x1p112f;
    return float_of(bits_of(value) | sign);
}

/* ---- bf16 ------------------------------------------------------------------------------------- */

static inline uint16_t bf16_of(float value) {
    uint32_t bits = bits_of(value);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* ---- int8 ------------------------------------------------------------------------------------- */

enum { INT8_MOST = 127 };

float pgcn_i_narrow_scale(float largest) {
    return largest / (float)INT8_MOST;
}

static inline int8_t i8_of(float value, float scale) {
    float units = scale > 0 ? rintf(value / scale) : 0;
    return (int8_t)fminf(fmaxf(units, -INT8_MOST), INT8_MOST); /* rounding may step over the end */
}

/* ---- arrays ------------------------------------------------------------------------------------ */

static int64_t encode_i8(const float *from, int64_t count, int64_t first, int64_t columns,
                         const float *scale, int8_t *to) {
    for (int64_t i = 0, column = first; i < count; i++) {
        to[i] = i8_of(from[i], scale[column]);
        if (++column == columns) column = 0;
    }
    return count;
}

int64_t pgcn_i_narrow_encode(pgcn_i_dtype dtype, const float *from, int64_t count, int64_t first,
                             int64_t columns, const float *scale, void *to) {
    uint16_t *half = to;
    int64_t good = count;
    switch (dtype) {
    case PGCN_I_F16:
        for (int64_t i = count; i-- > 0;)
            if (((half[i] = f16_of(from[i])) & 0x7c00u) == 0x7c00u) good = i;
        return good;
    case PGCN_I_BF16:
        for (int64_t i = count; i-- > 0;)
            if (((half[i] = bf16_of(from[i])) & 0x7f80u) == 0x7f80u) good = i;
        return good;
    case PGCN_I_I8: return encode_i8(from, count, first, columns, scale, to);
    default: memcpy(to, from, (size_t)count * sizeof *from); return count;
    }
}

/* Loops of a fixed length become vector instructions at -O2, others do not. */
enum { TOGETHER = 16 };

static void decode_f16(const uint16_t *restrict from, int64_t count, float *restrict to) {
    int64_t i = 0;
    for (; i + TOGETHER <= count; i += TOGETHER)
        for (int k = 0; k < TOGETHER; k++) to[i + k] = f16_value(from[i + k]);
    for (; i < count; i++) to[i] = f16_value(from[i]);
}

static void decode_bf16(const uint16_t *restrict from, int64_t count, float *restrict to) {
    int64_t i = 0;
    for (; i + TOGETHER <= count; i += TOGETHER)
        for (int k = 0; k < TOGETHER; k++) to[i + k] = float_of((uint32_t)from[i + k] << 16);
    for (; i < count; i++) to[i] = float_of((uint32_t)from[i] << 16);
}

static void decode_i8(const int8_t *restrict from, int64_t count, int64_t column, int64_t columns,
                      const float *restrict scale, float *restrict to) {
    for (int64_t i = 0; i < count;) {
        if (column + TOGETHER <= columns && i + TOGETHER <= count) {
            for (int k = 0; k < TOGETHER; k++) to[i + k] = (float)from[i + k] * scale[column + k];
            i += TOGETHER;
            column += TOGETHER;
        } else {
            to[i] = (float)from[i] * scale[column];
            i++;
            column++;
        }
        if (column == columns) column = 0;
    }
}

void pgcn_i_narrow_decode(pgcn_i_dtype dtype, const void *from, int64_t count, int64_t first,
                          int64_t columns, const float *scale, float *to) {
    switch (dtype) {
    case PGCN_I_F16: decode_f16(from, count, to); return;
    case PGCN_I_BF16: decode_bf16(from, count, to); return;
    case PGCN_I_I8: decode_i8(from, count, first, columns, scale, to); return;
    default: memcpy(to, from, (size_t)count * sizeof *to);
    }
}
