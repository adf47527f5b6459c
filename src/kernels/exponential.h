/* Private to the files of this room: exponentials, a vector at a time. */
#ifndef PGCN_KERNELS_EXPONENTIAL_H
#define PGCN_KERNELS_EXPONENTIAL_H

#include "kernels/isa.h"

/* exp(x) for x <= 0, a vector at a time (expf: one at a time, 3 ns each):
 * exp(x) = 2^m exp(r), m = round(x / ln 2), |r| <= ln 2 / 2, and exp(r) = 1 + r + r^2 q(r), where q
 * interpolates at the Chebyshev points. Relative error below 2e-7 down to -87; 0 below -87.3,
 * where 2^m would no longer be a normal number. NaN stays NaN. */
ALWAYS_INLINE vec exp_of_negative(vec x) {
    const float least = -87.3f;
    /* Adding 1.5 * 2^23 leaves m in the low bits of the float, rounded to nearest. */
    const float round_shift = 12582912.0f;
    vec_int too_small = x < least;
    vec clamped = vec_select(too_small, least + (vec){0}, x);
    vec shifted = clamped * 1.44269504f + round_shift;
    vec m = shifted - round_shift;
    vec r = clamped - m * 0.693359375f; /* ln 2 in two parts; m times the first is exact */
    r = r + m * 2.12194440e-4f;
    vec q = 1.39261836e-3f + (vec){0};
    q = q * r + 8.36317905e-3f;
    q = q * r + 4.16665546e-2f;
    q = q * r + 1.66665770e-1f;
    q = q * r + 0.5f;
    vec exp_r = 1.0f + (r + r * r * q);
    vec_int power = ((vec_int)shifted + 127) << 23;
    return exp_r * (vec)(power & ~too_small);
}

/* In place. */
ALWAYS_INLINE void exp_block(channel_block block, float *x) {
    int64_t ch = block.ch;
    for (int v = 0; v < block.vectors; v++, ch += LANES)
        vec_store(x + ch, exp_of_negative(vec_load(x + ch, block.lanes)), block.lanes);
}

#endif
