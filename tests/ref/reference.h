/* Plain double-precision references of the kernels, for tests: one loop per formula, no tiles, no
 * threads, nothing clever, so that they can be checked against the paper by eye. Also the random
 * material that tests feed to kernels. Arrays are row-major, [n, c] unless said otherwise. */
#ifndef PGCN_TESTS_REFERENCE_H
#define PGCN_TESTS_REFERENCE_H

#include "kernels/kernels.h"

/* ---- material: freed by the caller with free() ------------------------------------------------ */

/* count floats, uniform in [-1, 1), a pure function of the seed. Exactly count floats are allocated,
 * so that AddressSanitizer sees a kernel that reads one more. */
float *ref_random_floats(uint64_t seed, int64_t count);
float *ref_filled_floats(float value, int64_t count);
double *ref_doubles(const float *x, int64_t count); /* a copy in double */
double *ref_zeros(int64_t count);
/* rows x columns with 0 to 6 entries in a row, ascending columns; rows 0 and rows-1 are empty when
 * there are more than two. */
pgcn_i_csr ref_random_csr(uint64_t seed, int64_t rows, int64_t columns);
pgcn_i_csr ref_csr_transposed(const pgcn_i_csr *a, int64_t columns);
void ref_csr_free(pgcn_i_csr *a);

/* max |got - want| / max |want|: the error of an array against its own scale; infinite if got has a
 * NaN where want has none. */
double ref_error(const float *got, const double *want, int64_t count);

/* ---- references --------------------------------------------------------------------------------- */

/* out[j] = s_0 (.) h[j] + sum_{i>=1} s_i (.) sum_e w_e h[u_e];  s [k, c] */
void ref_pathconv_forward(double *out, const double *h, const double *s, const pgcn_i_csr *hop,
                          int k, int64_t n, int64_t c);
/* Its gradient by scatter over the same (not transposed) lists: dh and ds are overwritten. */
void ref_pathconv_backward(double *dh, double *ds, const double *g, const double *h,
                           const double *s, const pgcn_i_csr *hop, int k, int64_t n, int64_t c);
/* out [a->rows, c] = a x */
void ref_csr_product(double *out, const pgcn_i_csr *a, const double *x, int64_t c);
/* c [m, n] = a b + beta c, packed; transposed operands are stored as [k, m] and [n, k] */
void ref_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double *a,
              const double *b, double beta, double *c);
/* out [n, c_out] = x [n, c_in] w [c_in, c_out] + bias (may be NULL), then max(., 0) if relu */
void ref_linear(double *out, const double *x, const double *w, const double *bias, bool relu,
                int64_t n, int64_t c_in, int64_t c_out);
void ref_csr_to_dense(double *dense, const int64_t *offset, const int32_t *column,
                      const float *value, int64_t n, int64_t columns);
/* Batch norm with the statistics of x itself; mean and inv_std [c] come out. gamma, beta: NULL or [c]. */
void ref_batch_norm(double *y, double *mean, double *inv_std, const double *x, const double *gamma,
                    const double *beta, double epsilon, int64_t n, int64_t c);
void ref_softmax(double *probability, const double *logits, int64_t rows, int64_t c);
/* Sum over the rows r (node r % n) with mask (NULL: all) and label >= 0 of -log p[label]. */
/* weight [c] of the classes, or NULL: 1 */
double ref_cross_entropy(const double *logits, const int32_t *label, const uint8_t *mask,
                         const double *weight, int64_t n, int64_t rows, int64_t c);
double ref_binary_cross_entropy(const double *logits, const uint8_t *target, const uint8_t *mask,
                                int64_t n, int64_t rows, int64_t c);
/* target [n, c] = mean over samples of softmax, to the power 1/T, normalised; logits [samples, n, c] */
void ref_consistency_target(double *target, const double *logits, int64_t n, int samples,
                            double temperature, int64_t c);
/* sum over samples and nodes of ||softmax - target||^2 */
double ref_consistency(const double *logits, const double *target, int64_t n, int samples,
                       int64_t c);
/* One step in place, on w, m, v [count]; start may be NULL: 0. */
void ref_adam(double *w, double *m, double *v, const double *g, const double *start,
              const pgcn_i_adam_step *step, int64_t count);

/* d[i] = (f(x + h e_i) - f(x - h e_i)) / 2h for all i; x is restored. */
typedef double (*ref_function)(const double *x, void *context);
void ref_central_differences(double *d, double *x, int64_t count, ref_function f, void *context);

#endif
