/* Element-wise loops, sums over rows, pooling over graphs, and Adam. Plain loops that the compiler
 * vectorises; a destination may be the array that is read (see INDEPENDENT_ITERATIONS).
 * No threads here: callers are the ops of nn and the optimiser of train. */
#include "kernels/isa.h"

static void bias_relu(float *x, const float *bias, bool relu, int64_t begin, int64_t end,
                      int64_t c) {
    float least = relu ? 0.0f : -__builtin_inff();
    if (!bias) { /* one long loop instead of many short ones */
        if (!relu) return;
        INDEPENDENT_ITERATIONS
        for (int64_t i = begin * c; i < end * c; i++) x[i] = x[i] < 0.0f ? 0.0f : x[i];
        return;
    }
    for (int64_t r = begin; r < end; r++) {
        float *row = x + r * c;
        INDEPENDENT_ITERATIONS
        for (int64_t ch = 0; ch < c; ch++) {
            float y = row[ch] + bias[ch];
            row[ch] = y < least ? least : y; /* this way round NaN stays NaN */
        }
    }
}

static void relu_backward(float *dx, const float *g, const float *y, float factor, int64_t begin,
                          int64_t end, bool add) {
    if (add) {
        INDEPENDENT_ITERATIONS
        for (int64_t i = begin; i < end; i++) dx[i] += keep_if(y[i] > 0.0f, factor * g[i]);
    } else {
        INDEPENDENT_ITERATIONS
        for (int64_t i = begin; i < end; i++) dx[i] = keep_if(y[i] > 0.0f, factor * g[i]);
    }
}

static void scale(float *out, float a, const float *x, int64_t begin, int64_t end, bool add) {
    if (add) {
        INDEPENDENT_ITERATIONS
        for (int64_t i = begin; i < end; i++) out[i] += a * x[i];
    } else {
        INDEPENDENT_ITERATIONS
        for (int64_t i = begin; i < end; i++) out[i] = a * x[i];
    }
}

static void column_sum(float *restrict sum, const float *x, int64_t begin, int64_t end, int64_t c) {
    for (int64_t r = begin; r < end; r++) {
        const float *row = x + r * c;
        for (int64_t ch = 0; ch < c; ch++) sum[ch] += row[ch];
    }
}

/* Kingma and Ba, 2015, with the weight decay of the classic form: it is part of the gradient, and
 * pulls towards `start`. */
ALWAYS_INLINE void adam_block(int64_t at, int vectors, int lanes, float *w, float *m, float *v,
                              const float *g, const float *start, const pgcn_i_adam_step *step) {
    for (int i = 0; i < vectors; i++, at += LANES) {
        vec w_i = vec_load(w + at, lanes);
        vec from = start ? vec_load(start + at, lanes) : (vec){0};
        vec g_i = vec_load(g + at, lanes) + step->decay * (w_i - from);
        vec m_i = step->beta1 * vec_load(m + at, lanes) + (1.0f - step->beta1) * g_i;
        vec v_i = step->beta2 * vec_load(v + at, lanes) + (1.0f - step->beta2) * (g_i * g_i);
        w_i -= step->lr * (m_i * step->correct1) / (vec_sqrt(v_i * step->correct2) + step->epsilon);
        vec_store(m + at, m_i, lanes);
        vec_store(v + at, v_i, lanes);
        vec_store(w + at, w_i, lanes);
    }
}

static void adam(float *w, float *m, float *v, const float *g, const float *start,
                 const pgcn_i_adam_step *step, int64_t begin, int64_t end) {
    EACH_CHANNEL_BLOCK(end - begin, adam_block, w + begin, m + begin, v + begin, g + begin,
                       start ? start + begin : NULL, step);
}

static void segment_sum(float *out, const float *x, const int64_t *offset, int64_t begin,
                        int64_t end, int64_t c) {
    for (int64_t graph = begin; graph < end; graph++) {
        memset(out + graph * c, 0, (size_t)c * sizeof *out);
        column_sum(out + graph * c, x, offset[graph], offset[graph + 1], c);
    }
}

static void segment_spread(float *dx, const float *g, const int64_t *offset, int64_t begin,
                           int64_t end, int64_t c, bool add) {
    for (int64_t graph = begin; graph < end; graph++)
        for (int64_t r = offset[graph]; r < offset[graph + 1]; r++)
            scale(dx + r * c, 1.0f, g + graph * c, 0, c, add);
}

void PGCN_I_ISA(pgcn_i_fill_elementwise)(pgcn_i_kernels *table) {
    table->bias_relu = bias_relu;
    table->relu_backward = relu_backward;
    table->scale = scale;
    table->column_sum = column_sum;
    table->adam = adam;
    table->segment_sum = segment_sum;
    table->segment_spread = segment_spread;
}
