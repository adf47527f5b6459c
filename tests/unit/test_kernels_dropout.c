/* Dropout: the decisions are those of the scalar generator, bit for bit, on every instruction set;
 * the rate is the one asked for; the backward pass is the same mask. */
#include "ref/reference.h"
#include "kernels_help.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rule of kernels.h, one element at a time. */
static bool kept_by_rule(pgcn_i_rng_domain domain, uint32_t threshold, uint64_t element) {
    uint32_t word[4];
    pgcn_i_rng_words(domain, element / 8, 0, word);
    uint32_t lane = (uint32_t)(element % 8);
    return (word[lane / 2] >> (lane % 2 * 16) & 0xffffu) >= threshold;
}

static const pgcn_i_rng_domain domain = {
    .seed = 0x123456789abcdef0u, .step = 77, .tag = 0x00020304};

static void test_dropout_decisions_equal_scalar_generator(void **state) {
    (void)state;
    const int64_t firsts[] = {0, 8, 1000, 13, 8 * ((int64_t)1 << 32) - 64, (int64_t)1 << 40};
    const uint32_t thresholds[] = {0, 1, 32768, 39321, 65535, 65536};
    FOR_EACH_SIZE(size) {
        int64_t begin = 16, end = begin + 3 * size, count = end + 2;
        float *x = ref_random_floats(1, count);
        x[begin] = INFINITY; /* dropped or not, never Inf times 0 */
        for (int f = 0; f < COUNT_OF(firsts); f++) {
            for (int t = 0; t < COUNT_OF(thresholds); t++) {
                FOR_EACH_TABLE(table) {
                    float *out = ref_filled_floats(MARK, count);
                    uint8_t *kept = calloc((size_t)count, 1);
                    const pgcn_i_dropout drop = {domain, thresholds[t], 2.5f, firsts[f]};
                    table->dropout(out, kept, x, &drop, begin, end);
                    if (firsts[f] == 0) { /* the decision alone */
                        uint8_t *again = calloc((size_t)count, 1);
                        table->draw_kept(again + begin + 3, domain, thresholds[t], begin + 3,
                                         end - begin - 3);
                        memcpy(again + begin, kept + begin, 3);
                        assert_memory_equal(again, kept, (size_t)count);
                        free(again);
                    }
                    for (int64_t i = 0; i < count; i++) {
                        bool inside = i >= begin && i < end;
                        bool keep = inside &&
                                    kept_by_rule(domain, thresholds[t], (uint64_t)(firsts[f] + i));
                        float want = !inside ? MARK : keep ? x[i] * 2.5f : 0.0f;
                        if (out[i] != want || kept[i] != keep)
                            fail_msg("%s, first %lld, threshold %u: element %lld is %g, kept %d; "
                                     "expected %g",
                                     table->isa, (long long)firsts[f], thresholds[t], (long long)i,
                                     (double)out[i], kept[i], (double)want);
                    }
                    free(out), free(kept);
                }
            }
        }
        free(x);
    }
}

/* A threshold equal to the 16 bits of an element keeps it, one more drops it. */
static void test_dropout_element_at_the_threshold_is_kept(void **state) {
    (void)state;
    uint32_t word[4];
    pgcn_i_rng_words(domain, 0, 0, word);
    const uint32_t bits = word[1] >> 16; /* of element 3 */
    const float x[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    FOR_EACH_TABLE(table) {
        float out[4];
        uint8_t kept[4];
        table->dropout(out, kept, x, &(pgcn_i_dropout){domain, bits, 2.0f, 0}, 0, 4);
        assert_true(out[3] == 2.0f && kept[3] == 1);
        table->dropout(out, kept, x, &(pgcn_i_dropout){domain, bits + 1, 2.0f, 0}, 0, 4);
        assert_true(out[3] == 0.0f && kept[3] == 0);
    }
}

/* Cut at other multiples of 8, without a mask, in place: the same numbers. */
static void test_dropout_result_does_not_depend_on_the_cut(void **state) {
    (void)state;
    enum { COUNT = 1003 };
    float *x = ref_random_floats(2, COUNT);
    FOR_EACH_TABLE(table) {
        float whole[COUNT], cut[COUNT];
        pgcn_i_dropout drop = {domain, 20000, 1.5f, 0};
        table->dropout(whole, NULL, x, &drop, 0, COUNT);
        memcpy(cut, x, sizeof cut);
        table->dropout(cut, NULL, cut, &drop, 0, 136);
        table->dropout(cut, NULL, cut, &drop, 136, 144);
        drop.first_element = 144;
        table->dropout(cut + 144, NULL, cut + 144, &drop, 0, COUNT - 144);
        assert_memory_equal(whole, cut, sizeof whole);
    }
    free(x);
}

static void test_dropout_rate_is_as_asked(void **state) {
    (void)state;
    enum { COUNT = 1 << 18 };
    float *x = ref_filled_floats(1.0f, COUNT), *out = ref_filled_floats(0.0f, COUNT);
    FOR_EACH_TABLE(table) {
        for (int step = 0; step < 3; step++) {
            pgcn_i_rng_domain d = pgcn_i_rng_domain_of(9, PGCN_I_RNG_DROPOUT, step, 1, 0);
            const pgcn_i_dropout drop = {d, 39322, 1.0f, 0}; /* 0.6 of 65536 */
            table->dropout(out, NULL, x, &drop, 0, COUNT);
            double kept = 0.0;
            for (int64_t i = 0; i < COUNT; i++) kept += (double)out[i];
            /* Standard deviation of the share: sqrt(0.24 / 2^18) = 0.00096; five of them. */
            assert_true(fabs(kept / COUNT - 0.4) < 0.0048);
        }
    }
    free(x), free(out);
}

static void test_dropout_backward_is_the_same_mask(void **state) {
    (void)state;
    FOR_EACH_SIZE(size) {
        int64_t count = size + 4, from = 1, to = count - 2;
        float *g = ref_random_floats(3, count), *coin = ref_random_floats(4, count);
        uint8_t *kept = calloc((size_t)count, 1);
        double *want = ref_zeros(count);
        for (int64_t i = 0; i < count; i++) kept[i] = coin[i] > 0.0f;
        FOR_EACH_TABLE(table) {
            float *dx = ref_filled_floats(MARK, count);
            for (int64_t i = 0; i < count; i++) want[i] = kept[i] ? 2.5 * (double)g[i] : 0.0;
            table->dropout_backward(dx, g, kept, 2.5f, from, to);
            check_rows(table, "dropout_backward", dx, want, count, from, to, 1, 2e-7);
            free(dx);
        }
        free(g), free(coin), free(kept), free(want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dropout_decisions_equal_scalar_generator),
        cmocka_unit_test(test_dropout_element_at_the_threshold_is_kept),
        cmocka_unit_test(test_dropout_result_does_not_depend_on_the_cut),
        cmocka_unit_test(test_dropout_rate_is_as_asked),
        cmocka_unit_test(test_dropout_backward_is_the_same_mask),
    };
    int skipped = skip_isa();
    return skipped ? skipped : cmocka_run_group_tests_name("kernels: dropout", tests, NULL, NULL);
}
