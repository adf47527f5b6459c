/* Softmax and losses against the references in double, and their gradients against central
 * differences of these, for every instruction set that this processor has. */
#include "ref/reference.h"
#include "kernels_help.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Probabilities and gradients, against the largest of the array. */
#define TOLERANCE 2e-6

enum { N = 6, SAMPLES = 3, ROWS = SAMPLES * N };

/* Logits of a confident model: up to 8 apart. */
static float *random_logits(uint64_t seed, int64_t count) {
    float *x = ref_random_floats(seed, count);
    for (int64_t i = 0; i < count; i++) x[i] *= 4.0f;
    return x;
}

static void check_loss(const pgcn_i_kernels *table, const char *what, int64_t c, double got,
                       double want) {
    if (!(fabs(got - want) <= 2e-6 * fmax(1.0, fabs(want))))
        fail_msg("%s of %s with c = %lld: %.9g, expected %.9g", what, table->isa, (long long)c, got,
                 want);
}

/* The loss of one row as a function of its logits: differences of the whole loss would cost the
 * square of all rows. */
typedef struct row_case {
    int64_t c, node;
    const int32_t *label;
    const uint8_t *mask, *target;
    const double *weight;    /* of the classes, or NULL */
    const double *sharpened; /* [N, c]: no gradient flows through it */
} row_case;

/* d = scale * gradient of the sum over all rows of f, by differences. */
static void row_differences(double *d, double *logits, ref_function f, row_case *context,
                            double scale) {
    int64_t c = context->c;
    for (int64_t r = 0; r < ROWS; r++) {
        context->node = r % N;
        ref_central_differences(d + r * c, logits + r * c, c, f, context);
    }
    for (int64_t i = 0; i < ROWS * c; i++) d[i] *= scale;
}

/* ---- softmax ------------------------------------------------------------------------------- */

static void test_softmax_all_sizes_match_reference(void **state) {
    (void)state;
    FOR_EACH_SIZE(c) {
        enum { MANY = 70, FROM = 2, TO = 69 }; /* more than a tile of rows */
        float *logits = random_logits(1, MANY * c);
        double *logits_d = ref_doubles(logits, MANY * c), *want = ref_zeros(MANY * c);
        ref_softmax(want, logits_d, MANY, c);
        FOR_EACH_TABLE(table) {
            float *p = ref_filled_floats(MARK, MANY * c);
            table->softmax(p, logits, FROM, TO, c);
            check_rows(table, "softmax", p, want, MANY, FROM, TO, c, TOLERANCE);
            free(p);
        }
        free(logits), free(logits_d), free(want);
    }
}

/* The row (0, x) has p[1] = e^x / (1 + e^x), so its relative error is that of our exponential. */
static void test_softmax_exponential_is_accurate_to_minus_87(void **state) {
    (void)state;
    FOR_EACH_TABLE(table) {
        double worst = 0.0;
        for (int i = 0; i <= 87 * 256; i++) {
            float row[2] = {0.0f, -(float)i / 256.0f}, p[2];
            table->softmax(p, row, 0, 1, 2);
            double e = exp((double)row[1]), want = e / (1.0 + e);
            worst = fmax(worst, fabs((double)p[1] / want - 1.0));
        }
        if (!(worst < 3e-7)) fail_msg("%s: relative error %g", table->isa, worst);
    }
}

static void test_softmax_extreme_logits_stay_finite(void **state) {
    (void)state;
    FOR_EACH_TABLE(table) {
        float row[4] = {1e30f, -1e30f, -INFINITY, 1e30f}, p[4];
        table->softmax(p, row, 0, 1, 4);
        assert_true(p[0] == 0.5f && p[1] == 0.0f && p[2] == 0.0f && p[3] == 0.5f);
    }
}

/* The largest logit is found at every place, the last one included: e^300 is no float. */
static void test_softmax_large_logit_of_any_class_takes_all(void **state) {
    (void)state;
    FOR_EACH_SIZE(c) {
        FOR_EACH_TABLE(table) {
            float *logits = ref_filled_floats(0.0f, c * c), *p = ref_filled_floats(MARK, c * c);
            for (int64_t ch = 0; ch < c; ch++) logits[ch * c + ch] = 300.0f;
            table->softmax(p, logits, 0, c, c);
            for (int64_t i = 0; i < c * c; i++)
                if (p[i] != (i % (c + 1) == 0 ? 1.0f : 0.0f))
                    fail_msg("%s: class %lld of row %lld of %lld has probability %g", table->isa,
                             (long long)(i % c), (long long)(i / c), (long long)c, (double)p[i]);
            free(logits), free(p);
        }
    }
}

/* ---- cross entropy ------------------------------------------------------------------------- */

static double cross_entropy_of_row(const double *row, void *context) {
    const row_case *f = context;
    return ref_cross_entropy(row, f->label + f->node, f->mask ? f->mask + f->node : NULL, f->weight,
                             1, 1, f->c);
}

static void test_cross_entropy_matches_reference_and_differences(void **state) {
    (void)state;
    const uint8_t mask[N] = {1, 0, 1, 1, 1, 0};
    const float scale = 0.7f;
    FOR_EACH_SIZE(c) {
        int32_t label[N] = {0, 0, -1, (int32_t)(c - 1), (int32_t)(c / 2), 0};
        float *logits = random_logits(2, ROWS * c);
        double *logits_d = ref_doubles(logits, ROWS * c), *want = ref_zeros(ROWS * c);
        float *weight = ref_random_floats(9, c);
        for (int64_t i = 0; i < c; i++) weight[i] = 0.1f + 3.0f * fabsf(weight[i]);
        double *weight_d = ref_doubles(weight, c);
        for (int kind = 0; kind <= 3; kind++) { /* with a mask, with weights */
            row_case f = {.c = c,
                          .label = label,
                          .mask = kind & 1 ? mask : NULL,
                          .weight = kind & 2 ? weight_d : NULL};
            const float *w = kind & 2 ? weight : NULL;
            double loss = ref_cross_entropy(logits_d, label, f.mask, f.weight, N, ROWS, c);
            row_differences(want, logits_d, cross_entropy_of_row, &f, (double)scale);
            FOR_EACH_TABLE(table) {
                float *p = ref_filled_floats(MARK, ROWS * c), *d = ref_filled_floats(NAN, ROWS * c);
                double got = 0.0, got_without = 0.0;
                int64_t hits = 0, hits_without = 0;
                pgcn_i_loss_args args = {.logits = logits,
                                         .probability = p,
                                         .dlogits = d,
                                         .scale = scale,
                                         .n = N,
                                         .c = c,
                                         .mask = f.mask,
                                         .label = label,
                                         .weight = w};
                table->softmax(p, logits, 0, ROWS, c);
                for (int64_t r = 0; r < ROWS; r += 5) /* in blocks, across the samples */
                    table->cross_entropy(&got, &hits, &args, r, r + 5 < ROWS ? r + 5 : ROWS);
                args.dlogits = NULL;
                table->cross_entropy(&got_without, &hits_without, &args, 0, ROWS);
                check_loss(table, "cross_entropy", c, got, loss);
                check_loss(table, "cross_entropy without gradient", c, got_without, loss);
                check(table, "cross_entropy gradient", c, d, want, ROWS * c, TOLERANCE);
                assert_int_equal(hits, hits_without);
                free(p), free(d);
            }
        }
        free(logits), free(logits_d), free(want), free(weight), free(weight_d);
    }
}

static void test_cross_entropy_ties_hit_the_lowest_class(void **state) {
    (void)state;
    const float logits[6] = {1.0f, 2.0f, 2.0f, 1.0f, 2.0f, 2.0f};
    const int32_t label[2] = {1, 1};
    FOR_EACH_TABLE(table) {
        float p[6];
        double loss = 0.0;
        int64_t hits = 0;
        table->softmax(p, logits, 0, 2, 3);
        const pgcn_i_loss_args args = {
            .logits = logits, .probability = p, .scale = 1.0f, .n = 2, .c = 3, .label = label};
        table->cross_entropy(&loss, &hits, &args, 0, 2);
        assert_int_equal(hits, 2);
    }
}

static void test_cross_entropy_wrong_by_far_is_finite(void **state) {
    (void)state;
    const float logits[2] = {500.0f, -500.0f};
    const int32_t label = 1;
    FOR_EACH_TABLE(table) {
        float p[2], d[2];
        double loss = 0.0;
        int64_t hits = 0;
        table->softmax(p, logits, 0, 1, 2);
        const pgcn_i_loss_args args = {.logits = logits,
                                       .probability = p,
                                       .dlogits = d,
                                       .scale = 1.0f,
                                       .n = 1,
                                       .c = 2,
                                       .label = &label};
        table->cross_entropy(&loss, &hits, &args, 0, 1);
        assert_true(loss == 1000.0 && hits == 0 && d[0] == 1.0f && d[1] == -1.0f);
    }
}

static void test_losses_nan_logits_give_nan_loss(void **state) {
    (void)state;
    const int32_t label = 1;
    const uint8_t target[9] = {0};
    FOR_EACH_TABLE(table) {
        for (int at = 0; at < 9; at++) {
            float logits[9] = {0}, p[9], d[9] = {0};
            double loss = 0.0, binary = 0.0, consistency = 0.0;
            int64_t hits = 0;
            logits[at] = NAN;
            table->softmax(p, logits, 0, 1, 9);
            const pgcn_i_loss_args args = {.logits = logits,
                                           .probability = p,
                                           .dlogits = d,
                                           .scale = 1.0f,
                                           .n = 1,
                                           .c = 9,
                                           .label = &label,
                                           .target = target,
                                           .samples = 1,
                                           .temperature = 0.3f};
            table->cross_entropy(&loss, &hits, &args, 0, 1);
            table->binary_cross_entropy(&binary, &args, 0, 1);
            table->consistency(&consistency, &args, 0, 1);
            assert_true(loss != loss && binary != binary && consistency != consistency);
        }
    }
}

/* ---- binary cross entropy ------------------------------------------------------------------ */

static double binary_cross_entropy_of_row(const double *row, void *context) {
    const row_case *f = context;
    return ref_binary_cross_entropy(row, f->target + f->node * f->c,
                                    f->mask ? f->mask + f->node : NULL, 1, 1, f->c);
}

static void test_binary_cross_entropy_matches_reference_and_differences(void **state) {
    (void)state;
    const uint8_t mask[N] = {0, 1, 1, 0, 1, 1};
    const float scale = 0.3f;
    FOR_EACH_SIZE(c) {
        float *logits = random_logits(3, ROWS * c), *coin = ref_random_floats(4, N * c);
        uint8_t *target = calloc((size_t)(N * c), 1);
        for (int64_t i = 0; i < N * c; i++) target[i] = coin[i] > 0.2f;
        double *logits_d = ref_doubles(logits, ROWS * c), *want = ref_zeros(ROWS * c);
        for (int masked = 0; masked <= 1; masked++) {
            row_case f = {.c = c, .target = target, .mask = masked ? mask : NULL};
            double loss = ref_binary_cross_entropy(logits_d, target, f.mask, N, ROWS, c);
            row_differences(want, logits_d, binary_cross_entropy_of_row, &f, (double)scale);
            FOR_EACH_TABLE(table) {
                float *d = ref_filled_floats(NAN, ROWS * c);
                double got = 0.0, got_without = 0.0;
                pgcn_i_loss_args args = {.logits = logits,
                                         .dlogits = d,
                                         .scale = scale,
                                         .n = N,
                                         .c = c,
                                         .mask = f.mask,
                                         .target = target};
                table->binary_cross_entropy(&got, &args, 0, 7);
                table->binary_cross_entropy(&got, &args, 7, ROWS);
                args.dlogits = NULL;
                table->binary_cross_entropy(&got_without, &args, 0, ROWS);
                check_loss(table, "binary_cross_entropy", c, got, loss);
                check_loss(table, "binary_cross_entropy without gradient", c, got_without, loss);
                check(table, "binary_cross_entropy gradient", c, d, want, ROWS * c, TOLERANCE);
                free(d);
            }
        }
        free(logits), free(coin), free(target), free(logits_d), free(want);
    }
}

static void test_binary_cross_entropy_large_logits_are_exact(void **state) {
    (void)state;
    const float logits[4] = {300.0f, 300.0f, -300.0f, -300.0f};
    const uint8_t target[4] = {0, 1, 0, 1};
    FOR_EACH_TABLE(table) {
        float d[4];
        double loss = 0.0;
        const pgcn_i_loss_args args = {
            .logits = logits, .dlogits = d, .scale = 1.0f, .n = 1, .c = 4, .target = target};
        table->binary_cross_entropy(&loss, &args, 0, 1);
        assert_true(loss == 600.0);
        assert_true(d[0] == 1.0f && d[1] == 0.0f && d[2] == 0.0f && d[3] == -1.0f);
    }
}

/* ---- consistency --------------------------------------------------------------------------- */

static double consistency_of_row(const double *row, void *context) {
    const row_case *f = context;
    return ref_consistency(row, f->sharpened + f->node * f->c, 1, 1, f->c);
}

static void test_consistency_matches_reference_and_differences(void **state) {
    (void)state;
    const float temperatures[] = {0.5f, 0.3f, 1.0f};
    const float scale = 0.4f;
    FOR_EACH_SIZE(c) {
        float *logits = random_logits(5, ROWS * c);
        double *logits_d = ref_doubles(logits, ROWS * c), *want = ref_zeros(ROWS * c);
        double *target = ref_zeros(N * c);
        for (int t = 0; t < COUNT_OF(temperatures); t++) {
            ref_consistency_target(target, logits_d, N, SAMPLES, (double)temperatures[t], c);
            row_case f = {.c = c, .sharpened = target};
            double loss = ref_consistency(logits_d, target, N, SAMPLES, c);
            row_differences(want, logits_d, consistency_of_row, &f, (double)scale);
            for (int64_t i = 0; i < ROWS * c; i++) want[i] += 1.0;
            FOR_EACH_TABLE(table) {
                float *p = ref_filled_floats(MARK, ROWS * c);
                float *d = ref_filled_floats(1.0f, ROWS * c); /* it is added to */
                double got = 0.0, got_without = 0.0;
                table->softmax(p, logits, 0, ROWS, c);
                pgcn_i_loss_args args = {.probability = p,
                                         .dlogits = d,
                                         .scale = scale,
                                         .n = N,
                                         .c = c,
                                         .samples = SAMPLES,
                                         .temperature = temperatures[t]};
                table->consistency(&got, &args, 0, 2);
                table->consistency(&got, &args, 2, N);
                args.dlogits = NULL;
                table->consistency(&got_without, &args, 0, N);
                check_loss(table, "consistency", c, got, loss);
                check_loss(table, "consistency without gradient", c, got_without, loss);
                check(table, "consistency gradient", c, d, want, ROWS * c, TOLERANCE);
                free(p), free(d);
            }
        }
        free(logits), free(logits_d), free(want), free(target);
    }
}

/* 64 equal means to the power 100 are all 0 in float unless they are scaled first. */
static void test_consistency_cold_temperature_does_not_underflow(void **state) {
    (void)state;
    enum { C = 64 };
    float *p = ref_filled_floats(1.0f / C, C);
    FOR_EACH_TABLE(table) {
        double loss = -1.0;
        const pgcn_i_loss_args args = {
            .probability = p, .scale = 1.0f, .n = 1, .c = C, .samples = 1, .temperature = 0.01f};
        table->consistency(&loss, &args, 0, 1);
        assert_true(fabs(loss + 1.0) < 1e-10);
    }
    free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax_all_sizes_match_reference),
        cmocka_unit_test(test_softmax_exponential_is_accurate_to_minus_87),
        cmocka_unit_test(test_softmax_extreme_logits_stay_finite),
        cmocka_unit_test(test_softmax_large_logit_of_any_class_takes_all),
        cmocka_unit_test(test_cross_entropy_matches_reference_and_differences),
        cmocka_unit_test(test_cross_entropy_ties_hit_the_lowest_class),
        cmocka_unit_test(test_cross_entropy_wrong_by_far_is_finite),
        cmocka_unit_test(test_losses_nan_logits_give_nan_loss),
        cmocka_unit_test(test_binary_cross_entropy_matches_reference_and_differences),
        cmocka_unit_test(test_binary_cross_entropy_large_logits_are_exact),
        cmocka_unit_test(test_consistency_matches_reference_and_differences),
        cmocka_unit_test(test_consistency_cold_temperature_does_not_underflow),
    };
    int skipped = skip_isa();
    return skipped ? skipped : cmocka_run_group_tests_name("kernels: losses", tests, NULL, NULL);
}
