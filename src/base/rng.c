/* The two conversions of random words that are not on any hot path (see rng.h). */
#include "base/rng.h"

#include <math.h>

double pgcn_i_unit_double(pgcn_i_stream *stream) {
    uint64_t high = pgcn_i_next(stream);
    uint64_t low = pgcn_i_next(stream);
    return (double)((high << 32 | low) >> 11) * 0x1p-53;
}

double pgcn_i_normal(pgcn_i_stream *stream) {
    /* 1 - u is in (0, 1], so the logarithm is finite. */
    double u = 1.0 - ((double)pgcn_i_next(stream) + 0.5) * 0x1p-32;
    double v = ((double)pgcn_i_next(stream) + 0.5) * 0x1p-32;
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}
