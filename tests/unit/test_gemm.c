/* The dense product of every instruction set: against the reference for all transposes and sizes
 * around tiles, inside larger arrays, and the promise that training stands on: a row of the result
 * has the same bits whatever is computed beside it. */
#include "kernels_help.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums of at most 300 products of floats below 1, against the largest of the result. */
#define TOLERANCE 2e-6

static void check_gemm(const pgcn_i_kernels *table, int options, int64_t m, int64_t n, int64_t k) {
    bool a_transposed = options & 1, b_transposed = options & 2, add = options & 4;
    float *a = ref_random_floats(70, m * k), *b = ref_random_floats(71, k * n);
    float *c = add ? ref_random_floats(72, m * n) : ref_filled_floats(NAN, m * n);
    double *a_d = ref_doubles(a, m * k), *b_d = ref_doubles(b, k * n),
           *want = ref_doubles(c, m * n);
    ref_gemm(a_transposed, b_transposed, m, n, k, a_d, b_d, add ? 1.0 : 0.0, want);
    table->gemm(&(pgcn_i_product){m, n, k, a, b, c, a_transposed ? m : k, b_transposed ? k : n, n,
                                  a_transposed, b_transposed, add});
    if (!(ref_error(c, want, m * n) < TOLERANCE))
        fail_msg("%s: %lld x %lld x %lld, options %d", table->isa, (long long)m, (long long)n,
                 (long long)k, options);
    free(a), free(b), free(c), free(a_d), free(b_d), free(want);
}

static void test_gemm_all_transposes_match_reference(void **state) {
    (void)state;
    const int64_t shape[][3] = {{1, 1, 1},    {7, 5, 3},     {64, 64, 64}, {33, 7, 129},
                                {5, 4, 0},    {0, 3, 2},     {4, 0, 3},    {13, 17, 256},
                                {6, 31, 257}, {12, 65, 300}, {11, 130, 9}, {64, 121, 50}};
    FOR_EACH_TABLE(table)
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
        for (int options = 0; options < 8; options++)
            check_gemm(table, options, shape[i][0], shape[i][1], shape[i][2]);
}

/* All rows at once, against every row alone and against every way to cut them in two. Wide rows of B
 * are packed and narrow ones are not, partial vectors are computed aside: none of it may show. */
static void check_rows_alone(const pgcn_i_kernels *table, int options, int64_t n, int64_t k) {
    enum { M = 27 };
    bool a_transposed = options & 1, b_transposed = options & 2, add = options & 4;
    float *a = ref_random_floats(73, M * k), *b = ref_random_floats(74, k * n);
    float *start = ref_random_floats(75, M * n), *whole = ref_random_floats(75, M * n);
    float *part = malloc((size_t)(M * n) * sizeof *part);
    assert_non_null(part);
    pgcn_i_product product = {M,
                              n,
                              k,
                              a,
                              b,
                              whole,
                              a_transposed ? M : k,
                              b_transposed ? k : n,
                              n,
                              a_transposed,
                              b_transposed,
                              add};
    table->gemm(&product);
    for (int64_t cut = 0; cut < 2 * M; cut++) { /* the rows below cut, or row cut - M alone */
        int64_t first = cut < M ? 0 : cut - M, rows = cut < M ? cut : 1;
        memcpy(part, start, (size_t)(M * n) * sizeof *part);
        product.m = rows;
        product.a = a + first * (a_transposed ? 1 : k);
        product.c = part + first * n;
        table->gemm(&product);
        if (memcmp(part + first * n, whole + first * n, (size_t)(rows * n) * sizeof *part) != 0)
            fail_msg("%s: n %lld, k %lld, options %d: rows %lld and %lld more have other bits",
                     table->isa, (long long)n, (long long)k, options, (long long)first,
                     (long long)rows - 1);
    }
    free(a), free(b), free(start), free(whole), free(part);
}

static void test_gemm_a_row_has_the_same_bits_beside_any_other(void **state) {
    (void)state;
    const int64_t columns[] = {1, 7, 8, 15, 16, 17, 64, 96, 97, 100, 128, 131};
    FOR_EACH_TABLE(table)
    for (int i = 0; i < COUNT_OF(columns); i++)
        for (int options = 0; options < 8; options++) {
            check_rows_alone(table, options, columns[i], 33);
            if (i % 4 == 0) check_rows_alone(table, options, columns[i], 300);
        }
}

/* A set with wider registers rounds like one with narrower ones that fuses too. */
static void test_gemm_avx512_has_the_bits_of_avx2(void **state) {
    (void)state;
    const pgcn_i_kernels *avx2 = pgcn_i_kernels_named("avx2"),
                         *avx512 = pgcn_i_kernels_named("avx512");
    if (!avx2 || !avx512) skip();
    enum { M = 64, N = 121, K = 300 };
    float *a = ref_random_floats(76, M * K), *b = ref_random_floats(77, K * N);
    float *narrow = ref_filled_floats(NAN, M * N), *wide = ref_filled_floats(NAN, M * N);
    avx2->gemm(&(pgcn_i_product){M, N, K, a, b, narrow, K, N, N, false, false, false});
    avx512->gemm(&(pgcn_i_product){M, N, K, a, b, wide, K, N, N, false, false, false});
    assert_memory_equal(narrow, wide, M * N * sizeof *wide);
    free(a), free(b), free(narrow), free(wide);
}

/* A product inside larger arrays: rows of 7, 9 and 8 floats, of which 4, 5 and 5 belong to it. */
static void test_gemm_leading_dimensions_leave_the_rest_alone(void **state) {
    (void)state;
    enum { M = 3, N = 5, K = 4, LDA = 7, LDB = 9, LDC = 8 };
    FOR_EACH_TABLE(table) {
        float *a = ref_random_floats(78, M * LDA), *b = ref_random_floats(79, K * LDB);
        float *c = ref_filled_floats(3.0f, M * LDC);
        table->gemm(&(pgcn_i_product){M, N, K, a, b, c, LDA, LDB, LDC, false, false, true});
        for (int i = 0; i < M; i++)
            for (int j = 0; j < LDC; j++) {
                double want = 3.0;
                for (int l = 0; l < K && j < N; l++)
                    want += (double)a[i * LDA + l] * (double)b[l * LDB + j];
                assert_true(fabs((double)c[i * LDC + j] - want) < 2e-6);
            }
        free(a), free(b), free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm_all_transposes_match_reference),
        cmocka_unit_test(test_gemm_a_row_has_the_same_bits_beside_any_other),
        cmocka_unit_test(test_gemm_avx512_has_the_bits_of_avx2),
        cmocka_unit_test(test_gemm_leading_dimensions_leave_the_rest_alone),
    };
    return cmocka_run_group_tests_name("gemm", tests, NULL, NULL);
}
