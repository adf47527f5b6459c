/* output.c of the command line and pgcn_text_printable: what comes from files reaches people whole, and
 * terminals do not obey it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- printable text ---------------------------------------------------------------------------- */

static void assert_shown(const char *text, const char *expected) {
    char out[256];
    assert_int_equal(pgcn_text_printable(text, out, sizeof out), strlen(expected));
    assert_string_equal(out, expected);
}

static void test_printable_text_has_nothing_a_terminal_obeys(void **state) {
    (void)state;
    assert_shown("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
                 "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    assert_shown("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m");
    assert_shown("a\nb\rc\td\ae\x7f", "a\\nb\\rc\\td\\x07e\\x7f");
    assert_shown("\xc2\x9b\x33\x31m", "\\u009b31m"); /* CSI as UTF-8 */
    assert_shown("\x9b\x33\x31m", "\\x9b31m");       /* and as a byte */
    assert_shown("\xc2\xa0\xe2\x80\x9b",
                 "\xc2\xa0\xe2\x80\x9b"); /* 0x9b inside another character */
    assert_shown("\xe0\x80\x9b\xf0\x80\x80\x9b",
                 "\xe0\\x80\\x9b\xf0\\x80\\x80\\x9b"); /* too long */
    assert_shown("M\xfcller", "M\xfcller");            /* Latin-1 comes back as it was */
    assert_shown("back\\slash", "back\\slash");
}

static void test_printable_text_cuts_whole_sequences_and_takes_null(void **state) {
    (void)state;
    char out[6];
    assert_int_equal(pgcn_text_printable("ab\x1b", out, sizeof out), 6);
    assert_string_equal(out, "ab");
    assert_int_equal(pgcn_text_printable("abcd\xc3\xa9", out, sizeof out), 6);
    assert_string_equal(out, "abcd");
    assert_int_equal(pgcn_text_printable("a\x1b", NULL, 0), 5);
    assert_int_equal(pgcn_text_printable(NULL, out, sizeof out), 0);
    assert_string_equal(out, "");
}

/* ---- CSV ----------------------------------------------------------------------------------------- */

static void assert_written(void (*put)(FILE *, const char *), const char *text,
                           const char *expected) {
    char *written = NULL;
    size_t bytes;
    FILE *out = open_memstream(&written, &bytes);
    put(out, text);
    fclose(out);
    assert_string_equal(written, expected);
    free(written);
}

static void test_cell_with_a_line_end_is_one_quoted_cell(void **state) {
    (void)state;
    assert_written(cli_put_cell, "two\nlines", "\"two\nlines\"");
    assert_written(cli_put_cell, "\n", "\"\n\"");
    assert_written(cli_put_cell, "dos\r\nlines", "\"dos\\r\nlines\"");
}

static void test_cell_is_quoted_only_where_it_must_be(void **state) {
    (void)state;
    assert_written(cli_put_cell, "plain text", "plain text");
    assert_written(cli_put_cell, "a,b", "\"a,b\"");
    assert_written(cli_put_cell, "say \"hi\"", "\"say \"\"hi\"\"\"");
    assert_written(cli_put_cell, "", "");
    assert_written(cli_put_cell, "M\xfcller", "M\xfcller");
    assert_written(cli_put_cell, "a\tb", "a\tb");
}

static void test_cell_shows_control_characters_escaped(void **state) {
    (void)state;
    assert_written(cli_put_cell, "\x1b]0;owned\a", "\\x1b]0;owned\\x07");
    assert_written(cli_put_cell, "a,\x1b[2J\"", "\"a,\\x1b[2J\"\"\"");
    assert_written(cli_put_cell, "\xc2\x9b\x32J", "\\u009b2J");
}

/* ---- JSON ------------------------------------------------------------------------------------------ */

static void test_json_has_no_control_character_either(void **state) {
    (void)state;
    assert_written(cli_put_json, "{\"\xc3\xa9\":\"\xc2\x9b\x7f\"}",
                   "{\"\xc3\xa9\":\"\\u009B\\u007F\"}");
    assert_written(cli_put_json, "[\"\\u001b\"]", "[\"\\u001b\"]");
}

static void test_json_text_that_is_not_utf8_is_escaped_not_lost(void **state) {
    (void)state;
    json_t *text = cli_json_text("M\xfcller");
    assert_string_equal(json_string_value(text), "M\\xfcller");
    json_decref(text);
    text = cli_json_text("M\xc3\xbcller");
    assert_string_equal(json_string_value(text), "M\xc3\xbcller");
    json_decref(text);
}

/* ---- kernels -------------------------------------------------------------------------------------- */

static void test_kernel_that_amplifies_alternation_most_takes_differences(void **state) {
    (void)state;
    static const struct {
        float weight[5];
        int smooth, difference;
    } cases[] = {
        {{0.580f, -0.483f, 0.519f, -0.275f, 0.421f}, 0, 1}, /* f(1) 0.76, f(0) 0.58, f(-1) 2.28 */
        {{0.2f, 0.2f, 0.2f, 0.2f, 0.2f}, 1, 0},
        {{1, -0.5f, 0, 0, 0}, 0, 1},
        {{1, 0, 0, 0, 0}, 0, 0},
        {{0, 1, 0, 0, 0}, 0, 0}, /* neighbours that alternate are only turned round */
        {{0.4f, 0, 0.6f, 0, 0}, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cli_kernel_effect found = cli_kernel_measure(cases[i].weight, 5, 1);
        if (found.smooth != cases[i].smooth || found.difference != cases[i].difference)
            fail_msg("case %zu: smooth %d, difference %d", i, found.smooth, found.difference);
    }
}

/* ---- clocks -------------------------------------------------------------------------------------- */

static void test_core_seconds_stand_still_while_a_process_sleeps(void **state) {
    (void)state;
    double begin = cli_now(), core = cli_core_seconds();
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    assert_true(cli_now() - begin >= 0.09);
    assert_true(cli_core_seconds() - core < 0.05);
    for (core = cli_core_seconds(); cli_core_seconds() - core < 0.001;) {
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printable_text_has_nothing_a_terminal_obeys),
        cmocka_unit_test(test_printable_text_cuts_whole_sequences_and_takes_null),
        cmocka_unit_test(test_cell_with_a_line_end_is_one_quoted_cell),
        cmocka_unit_test(test_cell_is_quoted_only_where_it_must_be),
        cmocka_unit_test(test_cell_shows_control_characters_escaped),
        cmocka_unit_test(test_json_has_no_control_character_either),
        cmocka_unit_test(test_json_text_that_is_not_utf8_is_escaped_not_lost),
        cmocka_unit_test(test_kernel_that_amplifies_alternation_most_takes_differences),
        cmocka_unit_test(test_core_seconds_stand_still_while_a_process_sleeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
