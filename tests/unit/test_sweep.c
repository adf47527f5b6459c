/* The grid of `reproduce sweep`, and its table as text, Markdown and LaTeX. */
#include "experiments/reproduce.h"
#include "unit/nn_help.h"

static const cli_command command = {.name = "test"};
static const char *const karate[] = {"karate"};

static exp_request request(void) {
    return (exp_request){.command = &command, .words = 1, .word = karate};
}

static void test_sweep_lists_become_a_grid(void **state) {
    (void)state;
    cli_arguments arguments = {.settings = 4,
                               .key = {"path-length", "epochs", "class-weights", "paths"},
                               .value = {"3,5,7", "20", "1,2", "5,10"}};
    exp_request r = request();
    exp_sweep sweep;
    assert_int_equal(exp_sweep_make(&r, &arguments, &sweep), PGCN_OK);
    assert_int_equal(sweep.points, 6);
    assert_string_equal(sweep.variant[0].name, "path-length=3 paths=5");
    assert_string_equal(sweep.variant[1].name, "path-length=3 paths=10");
    assert_string_equal(sweep.variant[5].name, "path-length=7 paths=10");
    assert_string_equal(sweep.variant[5].change[0].value, "7");
    assert_null(sweep.variant[5].change[2].key);
    assert_null(sweep.variant[6].name);
    assert_string_equal(sweep.shape, "3 path-length x 2 paths");
    /* what has one value, even one with commas, holds for all */
    assert_int_equal(arguments.settings, 2);
    assert_string_equal(arguments.key[0], "epochs");
    assert_string_equal(arguments.value[1], "1,2");
    exp_sweep_free(&sweep);
}

static void test_sweep_depths_are_part_of_the_grid(void **state) {
    (void)state;
    cli_arguments arguments = {.settings = 1, .key = {"channels"}, .value = {"8,16"}};
    exp_request r = request();
    exp_sweep sweep;
    r.layers = "2,3";
    assert_int_equal(exp_sweep_make(&r, &arguments, &sweep), PGCN_OK);
    assert_string_equal(sweep.shape, "2 layers x 2 channels");
    exp_sweep_free(&sweep);
}

static void test_sweep_networks_have_their_own_recipes(void **state) {
    (void)state;
    cli_arguments arguments = {.settings = 1, .key = {"model"}, .value = {"pathgcn,gin"}};
    exp_request r = request();
    exp_sweep sweep;
    assert_int_equal(exp_sweep_make(&r, &arguments, &sweep), PGCN_OK);
    assert_string_equal(sweep.variant[1].network, "gin");
    assert_null(sweep.variant[1].change[0].key);
    exp_sweep_free(&sweep);
}

static void test_sweep_bad_lists_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"3,x", "3,,5", "3,5,3", ",3", "3,"};
    exp_request r = request();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cli_arguments arguments = {.settings = 1, .key = {"path-length"}, .value = {bad[i]}};
        exp_sweep sweep;
        assert_int_equal(exp_sweep_make(&r, &arguments, &sweep), PGCN_ERR_ARGUMENT);
        exp_sweep_free(&sweep);
    }
}

static void test_table_latex_escapes_special_characters(void **state) {
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    exp_table *table = exp_table_new("data_set|>test");
    exp_table_add(table, "a&b {50%%} #1 $x^2 ~ \\ <");
    exp_table_add(table, "81.50 ± 0.40");
    exp_table_print(stream, table, EXP_LATEX);
    exp_table_free(table);
    fclose(stream);
    assert_string_equal(text, "\\begin{tabular}{lr}\n\\hline\ndata\\_set & test \\\\\n\\hline\n"
                              "a\\&b \\{50\\%\\} \\#1 \\$x\\textasciicircum{}2 "
                              "\\textasciitilde{} \\textbackslash{} $<$ & 81.50 $\\pm$ 0.40 \\\\\n"
                              "\\hline\n\\end{tabular}\n");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sweep_lists_become_a_grid),
        cmocka_unit_test(test_sweep_depths_are_part_of_the_grid),
        cmocka_unit_test(test_sweep_networks_have_their_own_recipes),
        cmocka_unit_test(test_sweep_bad_lists_are_refused),
        cmocka_unit_test(test_table_latex_escapes_special_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
