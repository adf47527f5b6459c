/* The dense product against the reference: all transposes, empty matrices, leading dimensions, and
 * many threads inside BLAS at once. */
#include "ref/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums of at most 129 products of floats below 1, against the largest of the result. */
#define TOLERANCE 2e-6

static void check_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                       float beta) {
    float *a = ref_random_floats(70, m * k), *b = ref_random_floats(71, k * n);
    float *c = beta == 0.0f ? ref_filled_floats(NAN, m * n) : ref_random_floats(72, m * n);
    double *a_d = ref_doubles(a, m * k), *b_d = ref_doubles(b, k * n),
           *want = ref_doubles(c, m * n);
    ref_gemm(transpose_a, transpose_b, m, n, k, a_d, b_d, (double)beta, want);
    pgcn_i_gemm(transpose_a, transpose_b, m, n, k, a, transpose_a ? m : k, b, transpose_b ? k : n,
                beta, c, n);
    assert_true(ref_error(c, want, m * n) < TOLERANCE);
    free(a), free(b), free(c), free(a_d), free(b_d), free(want);
}

static void test_gemm_all_transposes_match_reference(void **state) {
    (void)state;
    const int64_t shape[][3] = {{1, 1, 1},    {7, 5, 3}, {64, 64, 64},
                                {33, 7, 129}, {5, 4, 0}, {0, 3, 2}};
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
        for (int options = 0; options < 8; options++)
            check_gemm(options & 1, options & 2, shape[i][0], shape[i][1], shape[i][2],
                       options & 4 ? 1.0f : 0.0f);
}

/* Many threads inside BLAS at once must give the bits of one. */
enum { GEMM_TASKS = 64, GEMM_SIZE = 48 };
typedef struct gemm_task {
    const float *a, *b;
    float *c; /* [GEMM_TASKS, GEMM_SIZE, GEMM_SIZE] */
} gemm_task;

static void run_gemm(void *context, int64_t task, int worker) {
    (void)worker;
    const gemm_task *t = context;
    pgcn_i_gemm(false, false, GEMM_SIZE, GEMM_SIZE, GEMM_SIZE, t->a, GEMM_SIZE, t->b, GEMM_SIZE,
                0.0f, t->c + task * GEMM_SIZE * GEMM_SIZE, GEMM_SIZE);
}

static void test_gemm_many_threads_give_equal_bits(void **state) {
    (void)state;
    const int64_t square = GEMM_SIZE * GEMM_SIZE;
    float *a = ref_random_floats(73, square), *b = ref_random_floats(74, square);
    float *c = ref_filled_floats(NAN, GEMM_TASKS * square);
    pgcn_i_pool *pool = NULL;
    assert_int_equal(pgcn_i_pool_new(7, &pool), PGCN_OK);
    pgcn_i_parallel(pool, GEMM_TASKS, run_gemm, &(gemm_task){a, b, c});
    pgcn_i_pool_free(pool);
    for (int64_t task = 1; task < GEMM_TASKS; task++)
        assert_memory_equal(c, c + task * square, (size_t)square * sizeof *c);
    assert_true(c[0] == c[0]); /* not NaN */
    free(a), free(b), free(c);
}

/* A product inside larger arrays: rows of 7, 9 and 8 floats, of which 4, 5 and 5 belong to it. */
static void test_gemm_leading_dimensions_leave_the_rest_alone(void **state) {
    (void)state;
    enum { M = 3, N = 5, K = 4, LDA = 7, LDB = 9, LDC = 8 };
    float *a = ref_random_floats(75, M * LDA), *b = ref_random_floats(76, K * LDB);
    float *c = ref_filled_floats(3.0f, M * LDC);
    pgcn_i_gemm(false, false, M, N, K, a, LDA, b, LDB, 1.0f, c, LDC);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < LDC; j++) {
            double want = 3.0;
            for (int l = 0; l < K && j < N; l++)
                want += (double)a[i * LDA + l] * (double)b[l * LDB + j];
            assert_true(fabs((double)c[i * LDC + j] - want) < 2e-6);
        }
    free(a), free(b), free(c);
}

static void test_blas_name_is_not_empty(void **state) {
    (void)state;
    assert_true(strlen(pgcn_i_blas_name()) > 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm_all_transposes_match_reference),
        cmocka_unit_test(test_gemm_many_threads_give_equal_bits),
        cmocka_unit_test(test_gemm_leading_dimensions_leave_the_rest_alone),
        cmocka_unit_test(test_blas_name_is_not_empty),
    };
    return cmocka_run_group_tests_name("gemm", tests, NULL, NULL);
}
