/* Operators on a graph, as the library applies them, and how smooth the rows of a layer are. */
#include "experiments/figures.h"

#include <math.h>
#include <stdlib.h>

/* out = sum_i kernel_i x S_i is what the library calls the gradient of x, of an output with the gradient `row`. */
pgcn_status exp_operator_apply(const pgcn_visits *visits, const double *kernel, const double *row,
                               double *out) {
    return pgcn_pathconv_backward_double(visits, 1, false, row, kernel, row, out, NULL);
}

pgcn_status exp_operator_row(const pgcn_visits *visits, int64_t n, const double *kernel,
                             int64_t node, double *row) {
    double *one = calloc((size_t)n, sizeof *one);
    if (!one) return PGCN_ERR_MEMORY;
    one[node] = 1;
    pgcn_status status = exp_operator_apply(visits, kernel, one, row);
    free(one);
    return status;
}

/* From the last layer to the first: v is what the rest of the layers is multiplied by from the left. */
pgcn_status exp_operator_compose(const pgcn_visits *visits, int64_t n, const pgcn_config *config,
                                 const double *kernels, int64_t node, double *row) {
    double *v = calloc((size_t)n, sizeof *v), *next = calloc((size_t)n, sizeof *next);
    double alpha = config->residual == PGCN_RESIDUAL_NONE ? 0 : config->alpha;
    pgcn_status status = v && next ? PGCN_OK : PGCN_ERR_MEMORY;
    for (int64_t i = 0; status == PGCN_OK && i < n; i++) {
        row[i] = 0;
        v[i] = i == node;
    }
    for (int l = config->layers - 1; status == PGCN_OK && l >= 0; l--) {
        status = exp_operator_apply(visits, kernels + l * config->path_length, v, next);
        for (int64_t i = 0; status == PGCN_OK && i < n; i++) {
            double residual = alpha * v[i];
            if (config->residual == PGCN_RESIDUAL_INITIAL) row[i] += residual;
            v[i] = (1 - alpha) * next[i];
            if (config->residual == PGCN_RESIDUAL_PREVIOUS) v[i] += residual;
        }
    }
    for (int64_t i = 0; status == PGCN_OK && i < n; i++) row[i] += v[i];
    free(v), free(next);
    return status;
}

double exp_log_slope(int count, const double *x, const double *y) {
    double mx = 0, my = 0, xx = 0, xy = 0;
    for (int i = 0; i < count; i++) mx += log(x[i]) / count, my += log(y[i]) / count;
    for (int i = 0; i < count; i++) {
        xx += (log(x[i]) - mx) * (log(x[i]) - mx);
        xy += (log(x[i]) - mx) * (log(y[i]) - my);
    }
    return xy / xx;
}

/* ---- smoothness ---------------------------------------------------------------------------------- */

/* Every link of a symmetric graph is there twice. */
static double energy_of(const pgcn_graph *graph, int64_t c, const float *h) {
    const int64_t *offset;
    const pgcn_node *neighbour;
    double sum = 0;
    pgcn_graph_csr(graph, &offset, &neighbour, NULL);
    for (int64_t i = 0; i < pgcn_graph_nodes(graph); i++) {
        double own = 1 / sqrt(1 + (double)(offset[i + 1] - offset[i]));
        for (int64_t e = offset[i]; e < offset[i + 1]; e++) {
            int64_t j = neighbour[e];
            double other = 1 / sqrt(1 + (double)(offset[j + 1] - offset[j]));
            for (int64_t k = 0; k < c; k++) {
                double d = own * (double)h[i * c + k] - other * (double)h[j * c + k];
                sum += d * d;
            }
        }
    }
    return sum / 2;
}

/* The mean over pairs of the cosine is that of products of rows of length 1, which are those of their sum without
 * those of each with itself. */
bool exp_smoothness_of(const pgcn_graph *graph, int64_t c, const float *h, exp_smoothness *out) {
    int64_t n = pgcn_graph_nodes(graph), rows = 0;
    double *sum = calloc((size_t)c + 1, sizeof *sum), squares = 0, product = 0;
    if (!sum) return false;
    for (int64_t i = 0; i < n; i++) {
        double length = 0;
        for (int64_t k = 0; k < c; k++) length += (double)h[i * c + k] * (double)h[i * c + k];
        squares += length;
        if (length <= 0) continue;
        rows++;
        for (int64_t k = 0; k < c; k++) sum[k] += (double)h[i * c + k] / sqrt(length);
    }
    for (int64_t k = 0; k < c; k++) product += sum[k] * sum[k];
    free(sum);
    out->energy = energy_of(graph, c, h);
    out->share = squares > 0 ? out->energy / squares : (double)NAN;
    out->zeros = n - rows;
    double pairs = (double)rows * (double)(rows - 1);
    out->distance = rows > 1 ? fmax(0, 1 - (product - (double)rows) / pairs) : (double)NAN;
    return true;
}
