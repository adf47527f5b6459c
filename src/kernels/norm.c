/* Batch norm over rows (Ioffe and Szegedy, 2015), as loops over blocks of rows:
 *
 *     xhat = (x - mean) inv_std,   y = gamma xhat + beta
 *     dx   = gamma inv_std (g - mean(g) - xhat mean(g xhat))
 *
 * Callers (nn) add the partial sums of the blocks in a fixed order between the loops; the sums of
 * squares are taken around the mean, because E[x^2] - E[x]^2 cancels in float. No threads here. */
#include "kernels/isa.h"

static void square_deviation_sum(float *restrict sum, const float *x, const float *mean,
                                 int64_t begin, int64_t end, int64_t c) {
    for (int64_t r = begin; r < end; r++) {
        const float *row = x + r * c;
        for (int64_t ch = 0; ch < c; ch++) {
            float deviation = row[ch] - mean[ch];
            sum[ch] += deviation * deviation;
        }
    }
}

static void norm_forward(float *y, const float *x, const pgcn_i_norm *norm, int64_t begin,
                         int64_t end) {
    const float *mean = norm->mean, *inv_std = norm->inv_std;
    const float *gamma = norm->gamma, *beta = norm->beta;
    const int64_t c = norm->c;
    for (int64_t r = begin; r < end; r++) {
        float *y_row = y + r * c;
        const float *row = x + r * c;
        INDEPENDENT_ITERATIONS
        for (int64_t ch = 0; ch < c; ch++) {
            float xhat = (row[ch] - mean[ch]) * inv_std[ch];
            y_row[ch] = (gamma ? gamma[ch] : 1.0f) * xhat + (beta ? beta[ch] : 0.0f);
        }
    }
}

static void norm_sums(float *sums, const float *g, const float *x, const pgcn_i_norm *norm,
                      int64_t begin, int64_t end) {
    const float *mean = norm->mean, *inv_std = norm->inv_std;
    const int64_t c = norm->c;
    float *sum_g = sums, *sum_gx = sums + c;
    for (int64_t r = begin; r < end; r++) {
        const float *g_row = g + r * c, *row = x + r * c;
        INDEPENDENT_ITERATIONS
        for (int64_t ch = 0; ch < c; ch++) {
            float xhat = (row[ch] - mean[ch]) * inv_std[ch];
            sum_g[ch] += g_row[ch];
            sum_gx[ch] += g_row[ch] * xhat;
        }
    }
}

static void norm_backward(float *dx, const float *x, const pgcn_i_norm *norm,
                          const pgcn_i_norm_gradient *gradient, int64_t begin, int64_t end) {
    const float *mean = norm->mean, *inv_std = norm->inv_std, *gamma = norm->gamma;
    const int64_t c = norm->c;
    const float *g = gradient->g, *sum_g = gradient->sums, *sum_gx = gradient->sums + c;
    const float inv_rows = gradient->inv_rows;
    const bool add = gradient->add;
    for (int64_t r = begin; r < end; r++) {
        float *dx_row = dx + r * c;
        const float *g_row = g + r * c, *row = x + r * c;
        INDEPENDENT_ITERATIONS
        for (int64_t ch = 0; ch < c; ch++) {
            float xhat = (row[ch] - mean[ch]) * inv_std[ch];
            float centred = g_row[ch] - (sum_g[ch] + xhat * sum_gx[ch]) * inv_rows;
            float slope = (gamma ? gamma[ch] : 1.0f) * inv_std[ch];
            dx_row[ch] = (add ? dx_row[ch] : 0.0f) + slope * centred;
        }
    }
}

void PGCN_I_ISA(pgcn_i_fill_norm)(pgcn_i_kernels *table) {
    table->square_deviation_sum = square_deviation_sum;
    table->norm_forward = norm_forward;
    table->norm_sums = norm_sums;
    table->norm_backward = norm_backward;
}
