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
            row[ch] = y < least ? least : y; /* in this order NaN stays NaN */
        }
    }
}

static void relu_backward(float *dx, const float *g, const float *y, float factor, int64_t begin,
                          int64_t end) {
    INDEPENDENT_ITERATIONS
    for (int64_t i = begin; i < end; i++) dx[i] = keep_if(y[i] > 0.0f, factor * g[i]);
}

static void shifted_relu(float *y, const float *x, const float *t, int64_t rows, int64_t c) {
    for (int64_t r = 0; r < rows; r++, x += c, y += c) {
        INDEPENDENT_ITERATIONS
        for (int64_t ch = 0; ch < c; ch++) y[ch] = x[ch] < t[ch] ? t[ch] : x[ch];
    }
}

/* dx has the gradients of what is above its threshold, dt those of the rest. */
static void shifted_relu_backward(const pgcn_i_shifted_relu *p, int64_t rows, int64_t c) {
    float *restrict dt = p->dt;
    for (int64_t r = 0; r < rows; r++) {
        const float *g = p->g + r * c, *y = p->y + r * c, *t = p->t;
        float *dx = p->dx + r * c;
        INDEPENDENT_ITERATIONS
        for (int64_t ch = 0; ch < c; ch++) {
            float above = keep_if(y[ch] > t[ch], g[ch]);
            dt[ch] += g[ch] - above;
            dx[ch] = above;
        }
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

/* Kingma and Ba, 2015, with L2 weight decay: the decay is added to the gradient (unlike AdamW) and
 * pulls towards `start`. */
ALWAYS_INLINE void adam_block(channel_block block, pgcn_i_adam_arrays p,
                              const pgcn_i_adam_step *step) {
    int64_t at = block.ch;
    for (int i = 0; i < block.vectors; i++, at += LANES) {
        vec w_i = vec_load(p.w + at, block.lanes);
        vec from = p.start ? vec_load(p.start + at, block.lanes) : (vec){0};
        vec g_i = vec_load(p.g + at, block.lanes) + step->decay * (w_i - from);
        vec m_i = step->beta1 * vec_load(p.m + at, block.lanes) + (1.0f - step->beta1) * g_i;
        vec v_i =
            step->beta2 * vec_load(p.v + at, block.lanes) + (1.0f - step->beta2) * (g_i * g_i);
        w_i -= step->lr * (m_i * step->correct1) / (vec_sqrt(v_i * step->correct2) + step->epsilon);
        vec_store(p.m + at, m_i, block.lanes);
        vec_store(p.v + at, v_i, block.lanes);
        vec_store(p.w + at, w_i, block.lanes);
    }
}

static void adam(const pgcn_i_adam_arrays *p, const pgcn_i_adam_step *step, int64_t begin,
                 int64_t end) {
    const pgcn_i_adam_arrays from = {.w = p->w + begin,
                                     .m = p->m + begin,
                                     .v = p->v + begin,
                                     .g = p->g + begin,
                                     .start = p->start ? p->start + begin : NULL};
    EACH_CHANNEL_BLOCK(end - begin, adam_block, from, step);
}

static void segment_sum(float *out, const float *x, pgcn_i_segments graphs, int64_t c) {
    for (int64_t graph = graphs.begin; graph < graphs.end; graph++) {
        memset(out + graph * c, 0, (size_t)c * sizeof *out);
        column_sum(out + graph * c, x, graphs.offset[graph], graphs.offset[graph + 1], c);
    }
}

static void segment_spread(float *dx, const float *g, pgcn_i_segments graphs, int64_t c, bool add) {
    for (int64_t graph = graphs.begin; graph < graphs.end; graph++)
        for (int64_t r = graphs.offset[graph]; r < graphs.offset[graph + 1]; r++)
            scale(dx + r * c, 1.0f, g + graph * c, 0, c, add);
}

void PGCN_I_ISA(pgcn_i_fill_elementwise)(pgcn_i_kernels *table) {
    table->bias_relu = bias_relu;
    table->relu_backward = relu_backward;
    table->shifted_relu = shifted_relu;
    table->shifted_relu_backward = shifted_relu_backward;
    table->scale = scale;
    table->column_sum = column_sum;
    table->adam = adam;
    table->segment_sum = segment_sum;
    table->segment_spread = segment_spread;
}
