/* number.c: every number in text is read as the C library reads it, to the last bit. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "io/io.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 1;

/* splitmix64: the tests need many numbers, not good ones. */
static uint64_t next_random(void) {
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void assert_same_f32(const char *text) {
    const char *at = text;
    float found = 0, expected = strtof(text, NULL);
    if (!pgcn_i_parse_f32(&at, &found)) fail_msg("'%s' is no number", text);
    if (*at != '\0') fail_msg("'%s': '%s' was left", text, at);
    if (memcmp(&found, &expected, sizeof found) != 0)
        fail_msg("'%s' became %a, expected %a", text, (double)found, (double)expected);
}

static void assert_same_f64(const char *text) {
    const char *at = text;
    double found = 0, expected = strtod(text, NULL);
    if (!pgcn_i_parse_f64(&at, &found)) fail_msg("'%s' is no number", text);
    if (*at != '\0') fail_msg("'%s': '%s' was left", text, at);
    if (memcmp(&found, &expected, sizeof found) != 0)
        fail_msg("'%s' became %a, expected %a", text, found, expected);
}

static void assert_same(const char *text) {
    assert_same_f32(text);
    assert_same_f64(text);
}

static void test_number_any_float_printed_in_any_way_comes_back(void **state) {
    (void)state;
    static const char *formats[] = {"%.9g", "%.8g", "%.6g", "%.17g", "%.18e", "%.6f", "%.3f", "%g"};
    char text[512];
    for (int i = 0; i < 400000; i++) {
        uint32_t bits = (uint32_t)next_random();
        float value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        snprintf(text, sizeof text, formats[i % 8], (double)value);
        assert_same_f32(text);
    }
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = next_random();
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        snprintf(text, sizeof text, i % 2 ? "%.17g" : "%.15e", value);
        assert_same(text);
    }
}

static void test_number_random_digits_points_and_exponents_are_exact(void **state) {
    (void)state;
    char text[128];
    for (int i = 0; i < 600000; i++) {
        char *to = text;
        uint64_t r = next_random();
        if (r & 1) *to++ = r & 2 ? '-' : '+';
        int whole = (int)(r >> 8 & 15), fraction = (int)(r >> 12 & 31);
        if (whole + fraction == 0) whole = 1;
        for (int k = 0; k < whole; k++) *to++ = (char)('0' + next_random() % 10);
        if (fraction) *to++ = '.';
        for (int k = 0; k < fraction; k++) *to++ = (char)('0' + next_random() % 10);
        *to = '\0';
        if (r & 4) sprintf(to, "%c%d", r & 8 ? 'e' : 'E', (int)(next_random() % 120) - 75);
        assert_same(text);
    }
}

/* The exact decimal of the middle between two neighbouring floats, and numbers a hair beside it:
 * what a rounding in two steps gets wrong. */
static void test_number_in_the_middle_of_two_floats_is_rounded_once(void **state) {
    (void)state;
    char middle[512], text[600];
    for (int i = 0; i < 60000; i++) {
        uint32_t bits = (uint32_t)next_random() & 0x7fffffff;
        if (i < 1000) bits = (uint32_t)i; /* subnormal */
        if (bits >= 0x7f7fffff) continue;
        float low, high;
        memcpy(&low, &bits, sizeof low);
        bits++;
        memcpy(&high, &bits, sizeof high);
        snprintf(middle, sizeof middle, "%.*e", 150, ((double)low + (double)high) / 2);
        assert_same_f32(middle);
        char *e = strchr(middle, 'e');
        snprintf(text, sizeof text, "%.*s0000000000000000001%s", (int)(e - middle), middle, e);
        assert_same_f32(text);
        snprintf(text, sizeof text, "%.17g", nextafter(((double)low + (double)high) / 2, 0));
        assert_same_f32(text);
        snprintf(text, sizeof text, "%.17g", ((double)low + (double)high) / 2);
        assert_same_f32(text);
    }
}

static void test_number_special_values_are_read(void **state) {
    (void)state;
    static const char *same[] = {"0",
                                 "-0",
                                 "+0",
                                 "0.0",
                                 "-0.0",
                                 ".5",
                                 "5.",
                                 "-.5e1",
                                 "1e0",
                                 "00001",
                                 "0.000001",
                                 "1e-6",
                                 "16777216",
                                 "16777217",
                                 "16777219",
                                 "9007199254740993",
                                 "18446744073709551615",
                                 "18446744073709551616",
                                 "99999999999999999999",
                                 "3.4028235e38",
                                 "3.4028236e38",
                                 "3.40282357e38",
                                 "1e39",
                                 "-1e39",
                                 "1.17549435e-38",
                                 "1.1754942e-38",
                                 "1e-45",
                                 "7e-46",
                                 "7.1e-46",
                                 "1e-400",
                                 "1e400",
                                 "0e999999999999999999999",
                                 "1e-99999999999999999999",
                                 "1e99999999999999999999",
                                 "1.7976931348623157e308",
                                 "4.9406564584124654e-324",
                                 "2.2250738585072011e-308",
                                 "0.1",
                                 "0.3",
                                 "123456.789",
                                 "8388608.5",
                                 "8388609.5",
                                 "inf",
                                 "-inf",
                                 "INF",
                                 "infinity",
                                 "-Infinity"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) assert_same(same[i]);
    static const char *nans[] = {"nan", "NaN", "-nan", "NAN"};
    for (int i = 0; i < 4; i++) {
        const char *at = nans[i];
        float single = 0;
        assert_true(pgcn_i_parse_f32(&at, &single) && isnan(single) && *at == '\0');
    }
    char lots[5000];
    memset(lots, '0', sizeof lots);
    strcpy(lots + 4000, "1e3999");
    lots[1] = '.';
    assert_same_f64(lots);
    memset(lots, '7', sizeof lots - 1);
    lots[4999] = '\0';
    lots[1000] = '.';
    assert_same(lots);
}

static void test_number_stops_behind_the_number_and_stays_without_one(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int used; /* 0: there is no number */
        float value;
    } cases[] = {{"1,2", 1, 1},      {"1.5;", 3, 1.5f}, {"1e,", 1, 1},      {"1e+,", 1, 1},
                 {"1.x", 2, 1},      {"0x10", 1, 0},    {"1.2.3", 3, 1.2f}, {"1 2", 1, 1},
                 {"-2e1e1", 4, -20}, {"", 0, 0},        {".", 0, 0},        {"-", 0, 0},
                 {"+", 0, 0},        {"e5", 0, 0},      {" 1", 0, 0},       {"-.e1", 0, 0},
                 {"--1", 0, 0},      {"na", 0, 0},      {"in", 0, 0},       {"x", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *at = cases[i].text;
        float value = 0;
        bool found = pgcn_i_parse_f32(&at, &value);
        if (found != (cases[i].used > 0) || at - cases[i].text != cases[i].used)
            fail_msg("'%s': used %d", cases[i].text, (int)(at - cases[i].text));
        if (found) assert_true(value == cases[i].value);
    }
}

static void test_number_whole_numbers_fit_or_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool fits;
        int64_t value;
    } cases[] = {{"0", true, 0},
                 {"-0", true, 0},
                 {"+7", true, 7},
                 {"0009", true, 9},
                 {"9223372036854775807", true, INT64_MAX},
                 {"9223372036854775808", false, 0},
                 {"-9223372036854775808", true, INT64_MIN},
                 {"-9223372036854775809", false, 0},
                 {"18446744073709551617", false, 0},
                 {"99999999999999999999999999", false, 0},
                 {"", false, 0},
                 {"-", false, 0},
                 {"a", false, 0},
                 {" 1", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *at = cases[i].text;
        int64_t value = 0;
        if (pgcn_i_parse_i64(&at, &value) != cases[i].fits || value != cases[i].value)
            fail_msg("'%s' became %lld", cases[i].text, (long long)value);
        if (!cases[i].fits) assert_ptr_equal(at, cases[i].text);
    }
    char text[32];
    for (int i = 0; i < 10000; i++) {
        int64_t expected = (int64_t)(next_random() >> (next_random() % 64)), found;
        if (i % 2) expected = -expected;
        sprintf(text, "%lld,", (long long)expected);
        const char *at = text;
        assert_true(pgcn_i_parse_i64(&at, &found) && found == expected && *at == ',');
    }
}

static void test_number_means_the_same_in_every_locale(void **state) {
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8")) {
        print_message("SKIPPED: no locale with a decimal comma is installed\n");
        skip();
    }
    const char *at = "0.10000000149011612";
    float value = 0;
    bool found = pgcn_i_parse_f32(&at, &value) && *at == '\0' && value == 0.1f;
    at = "1.00000005960464477539062500"; /* in the middle: takes the slow way */
    found = found && pgcn_i_parse_f32(&at, &value) && *at == '\0' && value == 1.0f;
    setlocale(LC_NUMERIC, "C");
    assert_true(found);
}

/* What settings, steps and options take for a number. */
static void test_number_of_a_setting_is_plain_decimal(void **state) {
    (void)state;
    static const char *const bad[] = {"",       " 3",  "3 ",    "+3",   "0x2", "0X1p3", "1e",
                                      "1e+",    "inf", "-inf",  "nan",  "NaN", "1,5",   "1.2.3",
                                      "--1",    "-",   ".",     "-.",   "e5",  ".e5",   "1e999",
                                      "1e-999", "3x",  "1_000", "1 e3", "\t1", "1\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = 7;
        int64_t whole = 7;
        if (pgcn_number_parse(bad[i], &value)) fail_msg("'%s' is read as %g", bad[i], value);
        if (pgcn_integer_parse(bad[i], INT64_MIN, INT64_MAX, &whole))
            fail_msg("'%s' is read as a whole number", bad[i]);
        assert_true(value == 7 && whole == 7); /* untouched */
    }
    static const struct {
        const char *text;
        double value;
    } good[] = {{"3", 3},      {"-3", -3},     {"0.5", 0.5},      {".5", 0.5},   {"5.", 5},
                {"1e3", 1000}, {"1E-3", 1e-3}, {"1e+06", 1e6},    {"0e-999", 0}, {"-0", 0},
                {"007", 7},    {"0.0", 0},     {"1e-300", 1e-300}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value = 7;
        assert_true(pgcn_number_parse(good[i].text, &value) && value == good[i].value);
    }
    assert_false(pgcn_number_parse(NULL, NULL));
    assert_true(pgcn_number_parse("1", NULL) && pgcn_integer_parse("1", 0, 1, NULL));
}

static void test_number_whole_one_of_a_setting_is_exact(void **state) {
    (void)state;
    int64_t value = 0;
    assert_true(pgcn_integer_parse("9223372036854775807", 0, PGCN_MAX_SEED, &value));
    assert_true(value == INT64_MAX);
    assert_true(pgcn_integer_parse("9007199254740993", 0, INT64_MAX, &value)); /* 2^53 + 1 */
    assert_true(value == INT64_C(9007199254740993));
    assert_true(pgcn_integer_parse("1e3", 0, 1000, &value) && value == 1000);
    assert_true(pgcn_integer_parse("2.50e1", 0, 1000, &value) && value == 25);
    assert_false(pgcn_integer_parse("9223372036854775808", 0, INT64_MAX, &value));
    assert_false(pgcn_integer_parse("1e18", 0, INT64_MAX, &value)); /* more than a double tells */
    assert_false(pgcn_integer_parse("2.5", 0, 9, &value));
    assert_false(pgcn_integer_parse("10", 0, 9, &value));
    assert_false(pgcn_integer_parse("-1", 0, 9, &value));
}

static void test_number_written_is_read_back_in_every_locale(void **state) {
    (void)state;
    bool comma = setlocale(LC_NUMERIC, "de_DE.UTF-8") || setlocale(LC_NUMERIC, "fr_FR.UTF-8");
    static const double values[] = {0.6, 1e-30, 123456789.123456789, -1, 0};
    bool same = true;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[64];
        double again = 7;
        pgcn_i_number_write(values[i], text, sizeof text);
        same = same && pgcn_number_parse(text, &again) && again == values[i];
    }
    setlocale(LC_NUMERIC, "C");
    assert_true(same);
    if (!comma) print_message("no locale with a decimal comma is installed: only C was tried\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number_any_float_printed_in_any_way_comes_back),
        cmocka_unit_test(test_number_random_digits_points_and_exponents_are_exact),
        cmocka_unit_test(test_number_in_the_middle_of_two_floats_is_rounded_once),
        cmocka_unit_test(test_number_special_values_are_read),
        cmocka_unit_test(test_number_stops_behind_the_number_and_stays_without_one),
        cmocka_unit_test(test_number_whole_numbers_fit_or_are_refused),
        cmocka_unit_test(test_number_means_the_same_in_every_locale),
        cmocka_unit_test(test_number_of_a_setting_is_plain_decimal),
        cmocka_unit_test(test_number_whole_one_of_a_setting_is_exact),
        cmocka_unit_test(test_number_written_is_read_back_in_every_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
