/* Philox against the published known answers, and bounded integers against bias. */
#include "sampling_help.h"

#include <string.h>

static void test_philox_published_input_gives_published_words(void **state) {
    (void)state;
    /* random123, kat_vectors, lines "philox4x32 10" */
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t out[4];
        pgcn_i_philox(known[i].counter, known[i].key, out);
        assert_memory_equal(out, known[i].answer, sizeof out);
    }
}

static void test_words_counter_has_the_documented_layout(void **state) {
    (void)state;
    pgcn_i_rng_domain domain =
        pgcn_i_rng_domain_of(0x1122334455667788u, PGCN_I_RNG_DROPOUT, 0x99aabbcc, 0x1234, 0x56);
    const uint32_t counter[4] = {0xcdef0123, 0x89ab0007, 0x99aabbcc,
                                 0x12345600u | PGCN_I_RNG_DROPOUT};
    const uint32_t key[2] = {0x55667788, 0x11223344};
    uint32_t expected[4], got[4];
    pgcn_i_philox(counter, key, expected);
    pgcn_i_rng_words(domain, 0x89abcdef0123u, 7, got);
    assert_memory_equal(got, expected, sizeof got);
}

static void test_words_any_changed_coordinate_changes_them(void **state) {
    (void)state;
    uint32_t base[4], other[4];
    pgcn_i_rng_words(pgcn_i_rng_domain_of(1, PGCN_I_RNG_WALK, 2, 3, 4), 5, 6, base);
    const struct {
        uint64_t seed;
        pgcn_i_purpose purpose;
        int64_t step;
        int layer, sample;
        uint64_t element;
        uint32_t block;
    } changed[] = {
        {2, PGCN_I_RNG_WALK, 2, 3, 4, 5, 6},
        {1, PGCN_I_RNG_INIT, 2, 3, 4, 5, 6},
        {1, PGCN_I_RNG_WALK, 3, 3, 4, 5, 6},
        {1, PGCN_I_RNG_WALK, 2, 4, 4, 5, 6},
        {1, PGCN_I_RNG_WALK, 2, 3, 5, 5, 6},
        {1, PGCN_I_RNG_WALK, 2, 3, 4, 6, 6},
        {1, PGCN_I_RNG_WALK, 2, 3, 4, 5, 7},
        {1u | 1ull << 40, PGCN_I_RNG_WALK, 2, 3, 4, 5, 6},
        {1, PGCN_I_RNG_WALK, 2, 3, 4, 5 | 1ull << 40, 6},
    };
    for (size_t i = 0; i < sizeof changed / sizeof changed[0]; i++) {
        pgcn_i_rng_words(pgcn_i_rng_domain_of(changed[i].seed, changed[i].purpose, changed[i].step,
                                              changed[i].layer, changed[i].sample),
                         changed[i].element, changed[i].block, other);
        assert_memory_not_equal(base, other, sizeof base);
    }
}

static void test_stream_gives_the_words_of_its_blocks_in_order(void **state) {
    (void)state;
    pgcn_i_rng_domain domain = pgcn_i_rng_domain_of(9, PGCN_I_RNG_TEST, 1, 0, 0);
    pgcn_i_stream stream = pgcn_i_stream_of(domain, 77);
    for (uint32_t block = 0; block < 5; block++) {
        uint32_t words[4];
        pgcn_i_rng_words(domain, 77, block, words);
        for (int i = 0; i < 4; i++) assert_int_equal(pgcn_i_next(&stream), words[i]);
    }
}

static void test_bounded_small_ranges_are_uniform(void **state) {
    (void)state;
    static const uint32_t range[] = {2, 3, 7, 10, 100, 1000};
    for (size_t i = 0; i < sizeof range / sizeof range[0]; i++) {
        pgcn_i_stream stream = test_stream(100 + i);
        int64_t count[1000] = {0};
        double probability[1000];
        for (int draw = 0; draw < 200000; draw++) {
            uint32_t value = pgcn_i_bounded(&stream, range[i]);
            assert_true(value < range[i]);
            count[value]++;
        }
        for (uint32_t v = 0; v < range[i]; v++) probability[v] = 1.0 / range[i];
        assert_true(chi_square_p(count, probability, (int)range[i], 200000) > P_VALUE_LEAST);
    }
    pgcn_i_stream stream = test_stream(99);
    for (int i = 0; i < 10; i++) assert_int_equal(pgcn_i_bounded(&stream, 1), 0);
}

/* 3 * 2^30 values from 2^32 words: a quarter of the words has to be refused. Without that, two
 * words map to every value divisible by three and one to the others. */
static void test_bounded_large_range_refuses_the_tail(void **state) {
    (void)state;
    enum { DRAWS = 100000 };
    const uint32_t range = 3u << 30;
    const double third[3] = {1.0 / 3, 1.0 / 3, 1.0 / 3};
    int64_t count[3] = {0}, naive[3] = {0};
    pgcn_i_stream stream = test_stream(5), plain = test_stream(5);
    for (int i = 0; i < DRAWS; i++) {
        count[pgcn_i_bounded(&stream, range) % 3]++;
        naive[((uint64_t)pgcn_i_next(&plain) * range >> 32) % 3]++;
    }
    assert_true(chi_square_p(count, third, 3, DRAWS) > P_VALUE_LEAST);
    assert_true(chi_square_p(naive, third, 3, DRAWS) < 1e-12);
    double words = 4.0 * stream.block - (4 - stream.used);
    assert_true(fabs(words / DRAWS - 4.0 / 3) < 0.01);
}

static void test_unit_double_is_uniform_and_below_one(void **state) {
    (void)state;
    pgcn_i_stream stream = test_stream(6);
    int64_t count[50] = {0};
    double probability[50];
    for (int i = 0; i < 50; i++) probability[i] = 0.02;
    for (int i = 0; i < 100000; i++) {
        double u = pgcn_i_unit_double(&stream);
        assert_true(u >= 0 && u < 1);
        count[(int)(u * 50)]++;
    }
    assert_true(chi_square_p(count, probability, 50, 100000) > P_VALUE_LEAST);
    assert_true(pgcn_i_unit_float(0xffffffffu) < 1);
}

static void test_normal_has_mean_zero_and_variance_one(void **state) {
    (void)state;
    enum { DRAWS = 100000 };
    pgcn_i_stream stream = test_stream(7);
    double sum = 0, square = 0, fourth = 0;
    for (int i = 0; i < DRAWS; i++) {
        double x = pgcn_i_normal(&stream);
        assert_true(isfinite(x));
        sum += x, square += x * x, fourth += x * x * x * x;
    }
    assert_true(fabs(sum / DRAWS) < 4 / sqrt(DRAWS));
    assert_true(fabs(square / DRAWS - 1) < 4 * sqrt(2.0 / DRAWS));
    assert_true(fabs(fourth / DRAWS - 3) < 4 * sqrt(96.0 / DRAWS));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_published_input_gives_published_words),
        cmocka_unit_test(test_words_counter_has_the_documented_layout),
        cmocka_unit_test(test_words_any_changed_coordinate_changes_them),
        cmocka_unit_test(test_stream_gives_the_words_of_its_blocks_in_order),
        cmocka_unit_test(test_bounded_small_ranges_are_uniform),
        cmocka_unit_test(test_bounded_large_range_refuses_the_tail),
        cmocka_unit_test(test_unit_double_is_uniform_and_below_one),
        cmocka_unit_test(test_normal_has_mean_zero_and_variance_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
