/* The steps of a data set's name as commands ask about them, how errors become exit codes, and small
 * helpers that several commands share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/cli.h"

#include <string.h>

static void test_steps_are_found_by_their_whole_name(void **state) {
    (void)state;
    assert_true(cli_steps_include("directed,crossval=10", CLI_STEP_CROSSVAL));
    assert_true(cli_steps_include("without-test", CLI_STEP_WITHOUT_TEST));
    assert_true(cli_steps_include("a,only-split=0,b", CLI_STEP_KFOLD | CLI_STEP_ONLY_SPLIT));
    assert_false(cli_steps_include("split-seed=1", CLI_STEP_ONLY_SPLIT));
    assert_false(cli_steps_include("order=random", CLI_STEP_RANDOM)); /* a value is no name */
    assert_false(cli_steps_include("crossvals=3", CLI_STEP_CROSSVAL));
    assert_false(cli_steps_include("cross", CLI_STEP_CROSSVAL));
    assert_false(cli_steps_include("", CLI_STEP_CROSSVAL));
    assert_false(cli_steps_include(NULL, CLI_STEP_CROSSVAL));
}

static void test_steps_are_listed_one_after_the_other(void **state) {
    (void)state;
    cli_step_word word = {.rest = "features=degrees,,nodes=5,kfold=10"};
    assert_true(cli_step_next(&word));
    assert_int_equal(word.step, CLI_STEP_FEATURES);
    assert_int_equal(word.length, strlen("features=degrees"));
    assert_true(cli_step_next(&word));
    assert_int_equal(word.step, CLI_STEP_OTHER);
    assert_true(cli_step_next(&word));
    assert_int_equal(word.step, CLI_STEP_KFOLD);
    assert_string_equal(word.text, "kfold=10");
    assert_false(cli_step_next(&word));
    assert_false(cli_step_next(&word));
}

static void test_steps_join_puts_a_comma_only_between(void **state) {
    (void)state;
    char out[16];
    assert_true(cli_steps_join(out, sizeof out, "directed", "kfold"));
    assert_string_equal(out, "directed,kfold");
    assert_true(cli_steps_join(out, sizeof out, NULL, "kfold"));
    assert_string_equal(out, "kfold");
    assert_true(cli_steps_join(out, sizeof out, "", "kfold"));
    assert_string_equal(out, "kfold");
    assert_true(cli_steps_join(out, sizeof out, "directed", ""));
    assert_string_equal(out, "directed");
    assert_false(cli_steps_join(out, sizeof out, "directed", "crossval=10"));
}

static void test_exit_code_is_usage_for_wrong_arguments_only(void **state) {
    (void)state;
    assert_int_equal(cli_exit_code(PGCN_OK), EXIT_DONE);
    assert_int_equal(cli_exit_code(PGCN_ERR_ARGUMENT), EXIT_USAGE);
    for (int status = PGCN_ERR_MEMORY; status <= PGCN_ERR_STOPPED; status++)
        assert_int_equal(cli_exit_code((pgcn_status)status), EXIT_FAILED);
}

/* A command line that ends with --help is answered and is no error; the command must not go on. */
static void test_help_stops_a_command_without_an_error(void **state) {
    (void)state;
    static const cli_command command = {.name = "test",
                                        .summary = "",
                                        .arguments = "WORD",
                                        .text = "",
                                        .examples = "",
                                        .least_words = 1,
                                        .most_words = 1};
    const cli_option none[] = {CLI_OPTIONS_END};
    char help[] = "--help", word[] = "word", *with_help[] = {help}, *plain[] = {word};
    cli_arguments arguments;
    cli_help_stream = fopen("/dev/null", "w");
    assert_int_equal(cli_parse(&command, none, 1, with_help, &arguments), PGCN_OK);
    assert_true(arguments.help_shown);
    assert_null(cli_first_word(&arguments));
    fclose(cli_help_stream);
    cli_help_stream = NULL;
    assert_int_equal(cli_parse(&command, none, 1, plain, &arguments), PGCN_OK);
    assert_false(arguments.help_shown);
    assert_string_equal(cli_first_word(&arguments), "word");
    assert_int_equal(cli_parse(&command, none, 0, plain, &arguments), PGCN_ERR_ARGUMENT);
}

static void test_bar_is_filled_by_the_share_that_is_done(void **state) {
    (void)state;
    char bar[CLI_BAR_BYTES];
    cli_format_bar(0, bar);
    assert_string_equal(bar, "[....................] ");
    cli_format_bar(0.25, bar);
    assert_string_equal(bar, "[#####...............] ");
    cli_format_bar(1.5, bar); /* more than was announced */
    assert_string_equal(bar, "[####################] ");
}

static void test_hint_names_the_nearest_candidate_or_nothing(void **state) {
    (void)state;
    char hint[CLI_HINT_BYTES];
    cli_guess guess = cli_guess_start("dropot");
    cli_guess_offer(&guess, "seed");
    cli_guess_hint(&guess, "--", hint);
    assert_string_equal(hint, "");
    cli_guess_offer(&guess, "dropout");
    cli_guess_hint(&guess, "--", hint);
    assert_string_equal(hint, " (did you mean --dropout?)");
}

static void test_ending_is_not_the_whole_name(void **state) {
    (void)state;
    assert_true(cli_ends_in("a.npy", ".npy"));
    assert_false(cli_ends_in(".npy", ".npy"));
    assert_false(cli_ends_in("a.npyx", ".npy"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_found_by_their_whole_name),
        cmocka_unit_test(test_steps_are_listed_one_after_the_other),
        cmocka_unit_test(test_steps_join_puts_a_comma_only_between),
        cmocka_unit_test(test_exit_code_is_usage_for_wrong_arguments_only),
        cmocka_unit_test(test_help_stops_a_command_without_an_error),
        cmocka_unit_test(test_bar_is_filled_by_the_share_that_is_done),
        cmocka_unit_test(test_hint_names_the_nearest_candidate_or_nothing),
        cmocka_unit_test(test_ending_is_not_the_whole_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
