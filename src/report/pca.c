/* Principal components by orthogonal iteration: the covariance matrix itself is never made, so that a
 * thousand channels cost no more than reading the rows. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4, MOST_ROUNDS = 300 }; /* two components and two guards, for speed */

typedef struct problem {
    int64_t rows, columns;
    const float *value;
    double *mean;     /* [columns] */
    double *basis;    /* [BLOCK, columns], orthonormal */
    double *image;    /* [BLOCK, columns] covariance times basis */
    double of[BLOCK]; /* variance along each */
    int block;        /* at most columns */
} problem;

static double dot(int64_t count, const double *a, const double *b) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

/* image = X^T X basis, with X centred. */
static void apply(problem *p) {
    double shift[BLOCK];
    memset(p->image, 0, (size_t)p->block * (size_t)p->columns * sizeof *p->image);
    for (int b = 0; b < p->block; b++)
        shift[b] = dot(p->columns, p->mean, p->basis + b * p->columns);
    for (int64_t r = 0; r < p->rows; r++) {
        const float *row = p->value + r * p->columns;
        for (int b = 0; b < p->block; b++) {
            const double *v = p->basis + b * p->columns;
            double *out = p->image + b * p->columns, along = -shift[b];
            for (int64_t c = 0; c < p->columns; c++) along += (double)row[c] * v[c];
            for (int64_t c = 0; c < p->columns; c++)
                out[c] += along * ((double)row[c] - p->mean[c]);
        }
    }
}

/* basis = image, made orthonormal in order; variances are the lengths along the old basis. */
static void orthonormalise(problem *p) {
    for (int b = 0; b < p->block; b++) {
        double *v = p->basis + b * p->columns;
        p->of[b] = dot(p->columns, v, p->image + b * p->columns);
    }
    memcpy(p->basis, p->image, (size_t)p->block * (size_t)p->columns * sizeof *p->basis);
    for (int b = 0; b < p->block; b++) {
        double *v = p->basis + b * p->columns;
        for (int pass = 0; pass < 2; pass++) /* twice is enough */
            for (int a = 0; a < b; a++) {
                const double *u = p->basis + a * p->columns;
                double along = dot(p->columns, u, v);
                for (int64_t c = 0; c < p->columns; c++) v[c] -= along * u[c];
            }
        double length = sqrt(dot(p->columns, v, v));
        for (int64_t c = 0; c < p->columns; c++) v[c] = length > 1e-150 ? v[c] / length : 0;
    }
}

static double find_mean(problem *p) {
    double total = 0;
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t c = 0; c < p->columns; c++)
            p->mean[c] += (double)p->value[r * p->columns + c] / (double)p->rows;
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t c = 0; c < p->columns; c++) {
            double d = (double)p->value[r * p->columns + c] - p->mean[c];
            total += d * d;
        }
    return total;
}

/* Until the variances of both components stand still. */
static void iterate(problem *p) {
    double before[2] = {0, 0};
    for (int64_t i = 0; i < p->block * p->columns; i++)
        p->image[i] = cos(1.3 * (double)i + 0.7); /* any start that is not special */
    orthonormalise(p);
    for (int round = 0; round < MOST_ROUNDS; round++) {
        apply(p);
        orthonormalise(p);
        if (fabs(p->of[0] - before[0]) <= 1e-9 * p->of[0] &&
            (p->block < 2 || fabs(p->of[1] - before[1]) <= 1e-9 * p->of[0]))
            break;
        before[0] = p->of[0];
        before[1] = p->of[1];
    }
}

static void project(const problem *p, int component, double *place) {
    const double *v = p->basis + component * p->columns;
    double largest = 0, sign = 1, shift = dot(p->columns, p->mean, v);
    for (int64_t c = 0; c < p->columns; c++)
        if (fabs(v[c]) > fabs(largest) * (1 + 1e-9)) largest = v[c];
    if (largest < 0) sign = -1;
    for (int64_t r = 0; r < p->rows; r++) {
        double along = -shift;
        for (int64_t c = 0; c < p->columns; c++)
            along += (double)p->value[r * p->columns + c] * v[c];
        place[2 * r + component] = sign * along;
    }
}

bool report_pca(int64_t rows, int64_t columns, const float *value, double *place, double share[2]) {
    if (rows < 2 || columns < 1) return false;
    problem p = {.rows = rows, .columns = columns, .value = value};
    p.block = columns < BLOCK ? (int)columns : BLOCK;
    size_t vectors = (size_t)columns * sizeof(double);
    p.mean = calloc(1, vectors);
    p.basis = calloc(BLOCK, vectors);
    p.image = calloc(BLOCK, vectors);
    double total = p.mean && p.basis && p.image ? find_mean(&p) : 0;
    bool fine = total > 0 && isfinite(total);
    memset(place, 0, 2 * (size_t)rows * sizeof *place);
    if (fine) {
        iterate(&p);
        for (int i = 0; i < 2; i++) share[i] = i < p.block ? fmax(p.of[i], 0) / total : 0;
        for (int i = 0; i < 2 && i < p.block; i++) project(&p, i, place);
    }
    free(p.mean);
    free(p.basis);
    free(p.image);
    return fine;
}
