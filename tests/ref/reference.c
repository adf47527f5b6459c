/* See reference.h. Called by tests only; allocation failures end the test program. */
#include "ref/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- material ------------------------------------------------------------------------------ */

static void *take(int64_t count, size_t size) {
    void *block = calloc(count > 0 ? (size_t)count : 1, size);
    if (!block) abort();
    return block;
}

float *ref_random_floats(uint64_t seed, int64_t count) {
    float *x = take(count, sizeof *x);
    pgcn_i_stream stream =
        pgcn_i_stream_of(pgcn_i_rng_domain_of(seed, PGCN_I_RNG_TEST, 0, 0, 0), 0);
    for (int64_t i = 0; i < count; i++) {
        if (i % 1024 == 0) stream = pgcn_i_stream_of(stream.domain, (uint64_t)i / 1024);
        x[i] = 2.0f * pgcn_i_unit_float(pgcn_i_next(&stream)) - 1.0f;
    }
    return x;
}

float *ref_filled_floats(float value, int64_t count) {
    float *x = take(count, sizeof *x);
    for (int64_t i = 0; i < count; i++) x[i] = value;
    return x;
}

double *ref_zeros(int64_t count) {
    return take(count, sizeof(double));
}

double *ref_doubles(const float *x, int64_t count) {
    double *copy = ref_zeros(count);
    for (int64_t i = 0; i < count; i++) copy[i] = (double)x[i];
    return copy;
}

pgcn_i_csr ref_random_csr(uint64_t seed, int64_t rows, int64_t columns) {
    pgcn_i_csr a = {.rows = rows, .offset = take(rows + 1, sizeof(int64_t))};
    a.column = take(rows * 6, sizeof *a.column);
    a.value = take(rows * 6, sizeof *a.value);
    pgcn_i_stream stream =
        pgcn_i_stream_of(pgcn_i_rng_domain_of(seed, PGCN_I_RNG_TEST, 1, 0, 0), 0);
    int64_t entries = 0;
    for (int64_t r = 0; r < rows; r++) {
        uint32_t most = columns < 6 ? (uint32_t)columns : 6u;
        uint32_t count = pgcn_i_bounded(&stream, most + 1);
        if (rows > 2 && (r == 0 || r == rows - 1)) count = 0;
        /* `count` of the columns, each still possible one with equal probability (Knuth's S). */
        for (int64_t column = 0; column < columns && count > 0; column++) {
            if (pgcn_i_bounded(&stream, (uint32_t)(columns - column)) >= count) continue;
            a.column[entries] = (pgcn_node)column;
            a.value[entries++] = pgcn_i_unit_float(pgcn_i_next(&stream)) - 0.25f;
            count--;
        }
        a.offset[r + 1] = entries;
    }
    return a;
}

pgcn_i_csr ref_csr_transposed(const pgcn_i_csr *a, int64_t columns) {
    int64_t entries = a->offset[a->rows], at = 0;
    pgcn_i_csr t = {.rows = columns, .offset = take(columns + 1, sizeof(int64_t))};
    t.column = take(entries, sizeof *t.column);
    t.value = take(entries, sizeof *t.value);
    for (int64_t u = 0; u < columns; u++) {
        for (int64_t r = 0; r < a->rows; r++)
            for (int64_t e = a->offset[r]; e < a->offset[r + 1]; e++)
                if (a->column[e] == u) {
                    t.column[at] = (pgcn_node)r;
                    t.value[at++] = a->value[e];
                }
        t.offset[u + 1] = at;
    }
    return t;
}

void ref_csr_free(pgcn_i_csr *a) {
    free(a->offset);
    free(a->column);
    free(a->value);
}

double ref_error(const float *got, const double *want, int64_t count) {
    double largest = 0.0, error = 0.0;
    for (int64_t i = 0; i < count; i++) {
        double difference = fabs((double)got[i] - want[i]);
        if (isnan(difference)) return INFINITY;
        if (difference > error) error = difference;
        if (fabs(want[i]) > largest) largest = fabs(want[i]);
    }
    return largest > 0.0 ? error / largest : error;
}

/* ---- path convolution and products ----------------------------------------------------------- */

void ref_pathconv_forward(double *out, const double *h, const double *s, const pgcn_i_csr *hop,
                          int k, int64_t n, int64_t c) {
    for (int64_t j = 0; j < n; j++)
        for (int64_t ch = 0; ch < c; ch++) {
            double sum = s[ch] * h[j * c + ch];
            for (int i = 1; i < k; i++)
                for (int64_t e = hop[i - 1].offset[j]; e < hop[i - 1].offset[j + 1]; e++)
                    sum += s[i * c + ch] * (double)hop[i - 1].value[e] *
                           h[hop[i - 1].column[e] * c + ch];
            out[j * c + ch] = sum;
        }
}

void ref_pathconv_backward(double *dh, double *ds, const double *g, const double *h,
                           const double *s, const pgcn_i_csr *hop, int k, int64_t n, int64_t c) {
    memset(dh, 0, (size_t)(n * c) * sizeof *dh);
    memset(ds, 0, (size_t)(k * c) * sizeof *ds);
    for (int64_t j = 0; j < n; j++)
        for (int64_t ch = 0; ch < c; ch++) {
            dh[j * c + ch] += s[ch] * g[j * c + ch];
            ds[ch] += h[j * c + ch] * g[j * c + ch];
            for (int i = 1; i < k; i++)
                for (int64_t e = hop[i - 1].offset[j]; e < hop[i - 1].offset[j + 1]; e++) {
                    int64_t u = hop[i - 1].column[e];
                    double weighted = (double)hop[i - 1].value[e] * g[j * c + ch];
                    dh[u * c + ch] += s[i * c + ch] * weighted;
                    ds[i * c + ch] += h[u * c + ch] * weighted;
                }
        }
}

void ref_csr_product(double *out, const pgcn_i_csr *a, const double *x, int64_t c) {
    for (int64_t r = 0; r < a->rows; r++)
        for (int64_t ch = 0; ch < c; ch++) {
            double sum = 0.0;
            for (int64_t e = a->offset[r]; e < a->offset[r + 1]; e++)
                sum += (double)a->value[e] * x[a->column[e] * c + ch];
            out[r * c + ch] = sum;
        }
}

void ref_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double *a,
              const double *b, double beta, double *c) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (int64_t l = 0; l < k; l++)
                sum += (transpose_a ? a[l * m + i] : a[i * k + l]) *
                       (transpose_b ? b[j * k + l] : b[l * n + j]);
            c[i * n + j] = sum + (beta == 0.0 ? 0.0 : beta * c[i * n + j]);
        }
}

void ref_linear(double *out, const double *x, const double *w, const double *bias, bool relu,
                int64_t n, int64_t c_in, int64_t c_out) {
    ref_gemm(false, false, n, c_out, c_in, x, w, 0.0, out);
    for (int64_t i = 0; i < n * c_out; i++) {
        if (bias) out[i] += bias[i % c_out];
        if (relu && out[i] < 0.0) out[i] = 0.0;
    }
}

void ref_csr_to_dense(double *dense, const int64_t *offset, const int32_t *column,
                      const float *value, int64_t n, int64_t columns) {
    memset(dense, 0, (size_t)(n * columns) * sizeof *dense);
    for (int64_t r = 0; r < n; r++)
        for (int64_t e = offset[r]; e < offset[r + 1]; e++)
            dense[r * columns + column[e]] += (double)value[e];
}

void ref_batch_norm(double *y, double *mean, double *inv_std, const double *x, const double *gamma,
                    const double *beta, double epsilon, int64_t n, int64_t c) {
    for (int64_t ch = 0; ch < c; ch++) {
        double sum = 0.0, squares = 0.0;
        for (int64_t r = 0; r < n; r++) sum += x[r * c + ch];
        mean[ch] = sum / (double)n;
        for (int64_t r = 0; r < n; r++) squares += pow(x[r * c + ch] - mean[ch], 2.0);
        inv_std[ch] = 1.0 / sqrt(squares / (double)n + epsilon);
        for (int64_t r = 0; r < n; r++)
            y[r * c + ch] = (gamma ? gamma[ch] : 1.0) * (x[r * c + ch] - mean[ch]) * inv_std[ch] +
                            (beta ? beta[ch] : 0.0);
    }
}

/* ---- losses and optimiser -------------------------------------------------------------------- */

static double log_sum_exp(const double *x, int64_t c) {
    double max = x[0], sum = 0.0;
    for (int64_t ch = 1; ch < c; ch++) max = x[ch] > max ? x[ch] : max;
    for (int64_t ch = 0; ch < c; ch++) sum += exp(x[ch] - max);
    return max + log(sum);
}

void ref_softmax(double *probability, const double *logits, int64_t rows, int64_t c) {
    for (int64_t r = 0; r < rows; r++) {
        double normaliser = log_sum_exp(logits + r * c, c);
        for (int64_t ch = 0; ch < c; ch++)
            probability[r * c + ch] = exp(logits[r * c + ch] - normaliser);
    }
}

double ref_cross_entropy(const double *logits, const int32_t *label, const uint8_t *mask,
                         const double *weight, int64_t n, int64_t rows, int64_t c) {
    double loss = 0.0;
    for (int64_t r = 0; r < rows; r++)
        if ((!mask || mask[r % n]) && label[r % n] >= 0)
            loss += (weight ? weight[label[r % n]] : 1.0) *
                    (log_sum_exp(logits + r * c, c) - logits[r * c + label[r % n]]);
    return loss;
}

double ref_binary_cross_entropy(const double *logits, const uint8_t *target, const uint8_t *mask,
                                int64_t n, int64_t rows, int64_t c) {
    double loss = 0.0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t ch = 0; ch < c; ch++) {
            double x = logits[r * c + ch];
            if (mask && !mask[r % n]) continue;
            /* -log sigmoid(x) = log(1 + e^-x) for a 1, -log(1 - sigmoid(x)) = log(1 + e^x) for a 0 */
            loss += log1p(exp(target[r % n * c + ch] ? -x : x));
        }
    return loss;
}

void ref_consistency_target(double *target, const double *logits, int64_t n, int samples,
                            double temperature, int64_t c) {
    double *p = ref_zeros(samples * n * c);
    ref_softmax(p, logits, samples * n, c);
    for (int64_t j = 0; j < n; j++) {
        double norm = 0.0;
        for (int64_t ch = 0; ch < c; ch++) {
            double mean = 0.0;
            for (int s = 0; s < samples; s++) mean += p[(s * n + j) * c + ch] / samples;
            target[j * c + ch] = pow(mean, 1.0 / temperature);
            norm += target[j * c + ch];
        }
        for (int64_t ch = 0; ch < c; ch++) target[j * c + ch] /= norm;
    }
    free(p);
}

double ref_consistency(const double *logits, const double *target, int64_t n, int samples,
                       int64_t c) {
    double *p = ref_zeros(samples * n * c), loss = 0.0;
    ref_softmax(p, logits, samples * n, c);
    for (int64_t i = 0; i < samples * n * c; i++) loss += pow(p[i] - target[i % (n * c)], 2.0);
    free(p);
    return loss;
}

void ref_adam(double *w, double *m, double *v, const double *g, const double *start,
              const pgcn_i_adam_step *step, int64_t count) {
    double beta1 = (double)step->beta1, beta2 = (double)step->beta2;
    for (int64_t i = 0; i < count; i++) {
        double gradient = g[i] + (double)step->decay * (w[i] - (start ? start[i] : 0.0));
        m[i] = beta1 * m[i] + (1.0 - beta1) * gradient;
        v[i] = beta2 * v[i] + (1.0 - beta2) * gradient * gradient;
        w[i] -= (double)step->lr * m[i] * (double)step->correct1 /
                (sqrt(v[i] * (double)step->correct2) + (double)step->epsilon);
    }
}

void ref_central_differences(double *d, double *x, int64_t count, ref_function f, void *context) {
    const double h = 1e-5;
    for (int64_t i = 0; i < count; i++) {
        double kept = x[i];
        x[i] = kept + h;
        double above = f(x, context);
        x[i] = kept - h;
        d[i] = (above - f(x, context)) / (2.0 * h);
        x[i] = kept;
    }
}
