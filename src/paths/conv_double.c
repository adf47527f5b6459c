/* The path convolution in double precision, written to be read: what the float kernels are compared with,
 * and what gradients are checked by. Forward and backward are one loop over the hops i,
 *
 *   y_0 = y,  y_i = S_i y  or  T y_{i-1}      y = x; backward: y = g, and all matrices transposed
 *   result += s_i (.) y_i                     out; backward: dx
 *   ds_i = sum over the nodes of x (.) y_i    backward only
 *
 * Channels do not mix. A task takes LANES of them through all hops and nodes, in order, so that there are
 * no partial sums and the bits do not depend on the threads. */
#include "paths/conv.h"

#include <string.h>

enum { LANES = 8 }; /* a cache line of doubles */

typedef struct double_call {
    const pgcn_visits *visits;
    int64_t n, c;
    int k;
    bool transposed;
    bool depthwise;
    const double *y;  /* [n, c] */
    const double *x;  /* [n, c] of ds */
    const double *s;  /* [k, c], or [k] */
    double *result;   /* [n, c]; NULL: not wanted */
    double *ds;       /* [k, c]; NULL: not wanted */
    double *power[2]; /* [slabs, n, LANES] of the exact form */
} double_call;

/* y_i of one node, for `width` channels from `first` on. */
static void hop_of_node(const double_call *call, int i, int64_t node, int64_t first, int64_t width,
                        double *out) {
    const double *y = call->y + first;
    int64_t distance = call->c;
    if (i == 0) {
        memcpy(out, y + node * distance, (size_t)width * sizeof *out);
        return;
    }
    if (!call->visits->lists && i > 1) {
        y = call->power[(i - 1) % 2] + first * call->n;
        distance = LANES;
    }
    const pgcn_i_csr *a = pgcn_i_hop_of(call->visits, i, call->transposed);
    memset(out, 0, (size_t)width * sizeof *out);
    for (int64_t e = a->offset[node]; e < a->offset[node + 1]; e++)
        for (int64_t ch = 0; ch < width; ch++)
            out[ch] += (double)a->value[e] * y[a->column[e] * distance + ch];
}

/* Task: LANES channels, or what is left of them. */
static void slab_task(void *context, int64_t slab, int worker) {
    (void)worker;
    const double_call *call = context;
    const int64_t c = call->c, first = slab * LANES, left = c - first;
    const int64_t width = left < LANES ? left : LANES;
    for (int i = 0; i < call->k; i++) {
        double ds[LANES] = {0}, y_i[LANES];
        for (int64_t node = 0; node < call->n; node++) {
            hop_of_node(call, i, node, first, width, y_i);
            if (!call->visits->lists)
                memcpy(call->power[i % 2] + first * call->n + node * LANES, y_i, sizeof y_i);
            for (int64_t ch = 0; ch < width; ch++) {
                const int64_t at = node * c + first + ch;
                const double s = call->depthwise ? call->s[i * c + first + ch] : call->s[i];
                if (call->ds) ds[ch] += call->x[at] * y_i[ch];
                if (call->result) call->result[at] = (i > 0 ? call->result[at] : 0) + s * y_i[ch];
            }
        }
        if (call->ds) memcpy(call->ds + i * c + first, ds, (size_t)width * sizeof *ds);
    }
}

/* `grad_weight` NULL: not wanted. */
static pgcn_status run(double_call *call, double *grad_weight) {
    pgcn_i_operator *shared = call->visits->shared;
    call->n = shared->n;
    call->k = shared->walker.k;
    const int64_t slabs = (call->c + LANES - 1) / LANES, kernel = call->k * call->c;
    const int64_t power = call->visits->lists ? 0 : slabs * LANES * call->n;
    void *scratch;
    pthread_mutex_lock(&shared->lock);
    pgcn_status status =
        pgcn_i_operator_scratch(shared, 2 * power + kernel, sizeof(double), &scratch);
    if (status == PGCN_OK) {
        call->power[0] = scratch;
        call->power[1] = call->power[0] + power;
        if (grad_weight) call->ds = call->depthwise ? grad_weight : call->power[1] + power;
        pgcn_i_parallel(shared->pool, slabs, slab_task, call);
        for (int64_t i = 0; grad_weight && !call->depthwise && i < call->k; i++) {
            grad_weight[i] = 0;
            for (int64_t ch = 0; ch < call->c; ch++) grad_weight[i] += call->ds[i * call->c + ch];
        }
    }
    pthread_mutex_unlock(&shared->lock);
    return status;
}

pgcn_status pgcn_pathconv_forward_double(const pgcn_visits *visits, int64_t channels,
                                         bool depthwise, const double *x, const double *weight,
                                         double *out) {
    PGCN_TRY(pgcn_i_pathconv_check(visits, channels));
    PGCN_I_NEED(x);
    PGCN_I_NEED(weight);
    PGCN_I_NEED(out);
    double_call call = {.visits = visits,
                        .c = channels,
                        .depthwise = depthwise,
                        .y = x,
                        .s = weight,
                        .result = out};
    return run(&call, NULL);
}

pgcn_status pgcn_pathconv_backward_double(const pgcn_visits *visits, int64_t channels,
                                          bool depthwise, const double *x, const double *weight,
                                          const double *grad_out, double *grad_x,
                                          double *grad_weight) {
    PGCN_TRY(pgcn_i_pathconv_check(visits, channels));
    PGCN_I_NEED(x);
    PGCN_I_NEED(weight);
    PGCN_I_NEED(grad_out);
    double_call call = {.visits = visits,
                        .c = channels,
                        .transposed = true,
                        .depthwise = depthwise,
                        .y = grad_out,
                        .x = x,
                        .s = weight,
                        .result = grad_x};
    return run(&call, grad_weight);
}
