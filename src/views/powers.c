/* What is computed of a graph once, before training: features times powers of T (SGC), and the largest eigenvalue
 * of the Laplacian (ChebNet). Serial, in a fixed order. Called by trainer.c and inference.c. */
#include "views/views.h"

#include <math.h>
#include <string.h>

/* ---- T^K X ---------------------------------------------------------------------------------------- */

/* out = T in, both dense [n, columns]. */
static void multiply(const pgcn_i_csr *t, const float *in, float *out, int64_t columns) {
    for (int64_t r = 0; r < t->rows; r++) {
        float *row = out + r * columns;
        memset(row, 0, (size_t)columns * sizeof *row);
        for (int64_t e = t->offset[r]; e < t->offset[r + 1]; e++) {
            const float *other = in + t->column[e] * columns;
            for (int64_t j = 0; j < columns; j++) row[j] += t->value[e] * other[j];
        }
    }
}

static void spread_sparse(const pgcn_i_input *input, float *out) {
    for (int64_t r = 0; r < input->n; r++)
        for (int64_t e = input->offset[r]; e < input->offset[r + 1]; e++)
            out[r * input->columns + input->column[e]] = input->value[e];
}

/* Up to this share of non-zeros the sparse form is faster. Products with few columns, as a classifier's, are
 * dense ones from 3 % on, and only they can leave out rows without a gradient (Cora: 15 % of P^2 X). */
static bool is_sparse(int64_t nonzeros, int64_t count) {
    return nonzeros < count / 32;
}

static pgcn_status make_input(const float *x, int64_t n, int64_t columns, bool with_columns,
                              pgcn_i_input **out) {
    int64_t count = n * columns, nonzeros = 0, at = 0;
    pgcn_i_features features = {.n = n, .columns = columns, .dense = x};
    pgcn_i_arena arena = {0};
    for (int64_t e = 0; e < count; e++) nonzeros += x[e] != 0;
    if (is_sparse(nonzeros, count)) {
        int64_t *offset = PGCN_I_ARRAY(&arena, int64_t, n + 1);
        int32_t *column = PGCN_I_ARRAY(&arena, int32_t, nonzeros);
        float *value = PGCN_I_ARRAY(&arena, float, nonzeros);
        if (!offset || !column || !value) {
            pgcn_i_arena_free(&arena);
            return PGCN_ERR_MEMORY;
        }
        for (int64_t r = 0; r < n; r++, offset[r] = at)
            for (int64_t j = 0; j < columns; j++)
                if (x[r * columns + j] != 0) {
                    column[at] = (int32_t)j;
                    value[at++] = x[r * columns + j];
                }
        features = (pgcn_i_features){.n = n,
                                     .columns = columns,
                                     .nonzeros = nonzeros,
                                     .offset = offset,
                                     .column = column,
                                     .value = value};
    }
    pgcn_status status =
        pgcn_i_input_new(&features, PGCN_NORMALISE_NONE, (pgcn_i_standard){0}, with_columns, out);
    pgcn_i_arena_free(&arena);
    return status;
}

pgcn_status pgcn_i_input_power(pgcn_i_input **input, const pgcn_i_csr *t, int powers,
                               bool with_columns) {
    const pgcn_i_input *from = *input;
    int64_t columns = from->columns, count;
    if (powers == 0) return PGCN_OK;
    if (!pgcn_i_mul(from->n, columns, &count))
        return pgcn_i_fail(PGCN_ERR_MEMORY, "%lld x %lld smoothed features are too many",
                           (long long)from->n, (long long)columns);
    float *x = pgcn_i_alloc(count, sizeof *x), *y = pgcn_i_alloc(count, sizeof *y);
    pgcn_i_input *made = NULL;
    pgcn_status status = x && y ? PGCN_OK : PGCN_ERR_MEMORY;
    if (status == PGCN_OK) {
        if (from->dense)
            memcpy(x, from->dense, (size_t)count * sizeof *x);
        else
            spread_sparse(from, x);
        for (int i = 0; i < powers; i++) {
            multiply(t, x, y, columns);
            float *swap = x;
            x = y;
            y = swap;
        }
        status = make_input(x, from->n, columns, with_columns, &made);
    }
    pgcn_i_free(x);
    pgcn_i_free(y);
    if (status != PGCN_OK) return status;
    pgcn_i_input_free(*input);
    *input = made;
    return PGCN_OK;
}

/* ---- eigenvalue ------------------------------------------------------------------------------------- */

/* x <- (I - T) x / its length. Returns the length: x had the length 1. */
static double laplacian_step(const pgcn_i_csr *t, double *x, double *y) {
    double square = 0;
    for (int64_t r = 0; r < t->rows; r++) {
        double sum = 0;
        for (int64_t e = t->offset[r]; e < t->offset[r + 1]; e++)
            sum += (double)t->value[e] * x[t->column[e]];
        y[r] = x[r] - sum;
        square += y[r] * y[r];
    }
    double length = sqrt(square);
    for (int64_t r = 0; r < t->rows && length > 0; r++) x[r] = y[r] / length;
    return length;
}

/* The start has all frequencies: signs from a fixed stream. Eigenvalues near the largest one are found as well as
 * itself, and differ from it by less than what is left. */
pgcn_status pgcn_i_laplacian_largest(const pgcn_i_csr *t, double *out) {
    enum { MOST_STEPS = 2000 };
    int64_t n = t->rows;
    double *x = pgcn_i_alloc(n, sizeof *x), *y = pgcn_i_alloc(n, sizeof *y), largest = 2,
           before = 0;
    pgcn_status status = x && y ? PGCN_OK : PGCN_ERR_MEMORY;
    if (status == PGCN_OK) {
        pgcn_i_stream random =
            pgcn_i_stream_of(pgcn_i_rng_domain_of(0, PGCN_I_RNG_INIT, 0, 0, 0), 0);
        for (int64_t r = 0; r < n; r++)
            x[r] = (pgcn_i_bounded(&random, 2) ? 1 : -1) / sqrt((double)n);
        for (int i = 0; i < MOST_STEPS; i++) {
            largest = laplacian_step(t, x, y);
            if (fabs(largest - before) < 1e-7 * largest) break;
            before = largest;
        }
    }
    pgcn_i_free(x);
    pgcn_i_free(y);
    if (status != PGCN_OK) return status;
    *out = largest > 0 ? largest : 2; /* no edges: any value does */
    return PGCN_OK;
}
