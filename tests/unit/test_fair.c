/* The step fair=FILE: folds of a file become splits, and a file that does not fit the data set is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataset_help.h"
#include "graphs_help.h"

enum { GRAPHS = 10, FOLDS = 2 }; /* number 9 has no class */

#define FOLD(test, train, val)                                                                     \
    "{\"test\": [" test "], \"model_selection\": [{\"train\": [" train "], \"validation\": [" val  \
    "]}]}"
#define FIRST  FOLD("0, 1, 2, 3, 4", "7, 8, 9", "5, 6")
#define SECOND FOLD("5, 6, 7, 8, 9", "2, 3, 4", "0, 1")
static const char good[] = "[" FIRST ",\n" SECOND "]";

static char step[128];
static const char *step_of(const char *text) {
    scratch_write("folds.json", text, strlen(text));
    snprintf(step, sizeof step, "fair=%s", scratch_path("folds.json"));
    return step;
}

static pgcn_dataset *ten_graphs(const char *steps) {
    return set_of(set_new(PGCN_TASK_GRAPH, false, GRAPHS), steps);
}

static void assert_part(const uint8_t *mask, const char *expected) {
    for (int g = 0; g < GRAPHS; g++) assert_int_equal(mask[g], expected[g] == 'x');
}

static void test_every_outer_fold_is_a_split(void **state) {
    (void)state;
    pgcn_dataset *data = ten_graphs(step_of(good));
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_int_equal(data->splits, FOLDS);
    assert_part(data->split[0].test, "xxxxx.....");
    assert_part(data->split[0].val, ".....xx...");
    assert_part(data->split[0].train, ".......xx."); /* 9 has no class */
    assert_part(data->split[1].test, ".....xxxx.");
    assert_part(data->split[1].val, "xx........");
    assert_part(data->split[1].train, "..xxx.....");
    assert_string_equal(data->split[1].name, "1");
    assert_string_equal(info.steps, step);
    assert_false(data->without_test);
    pgcn_dataset_free(data);
}

/* The order of the keys and keys that nobody knows do not matter. */
static void test_keys_may_stand_in_any_order(void **state) {
    (void)state;
    pgcn_dataset *data = ten_graphs(step_of(
        "[{\"model_selection\": [{\"fold\": 1, \"validation\": [5, 6], \"train\": [9, 8, 7]}],"
        " \"seed\": {\"a\": [1]}, \"test\": [4, 3, 2, 1, 0]}, " SECOND "]"));
    assert_part(data->split[0].test, "xxxxx.....");
    assert_part(data->split[0].train, ".......xx.");
    pgcn_dataset_free(data);
}

static void test_without_test_hides_what_no_fold_learns_from(void **state) {
    (void)state;
    char steps[192];
    snprintf(steps, sizeof steps, "%s,only-split=1,without-test", step_of(good));
    pgcn_dataset *data = ten_graphs(steps);
    assert_int_equal(data->splits, 1);
    assert_part(data->split[0].test, "..........");
    assert_part(data->split[0].val, "xx........");
    for (int g = 0; g < GRAPHS; g++) assert_int_equal(data->from.graph_label[g] < 0, g >= 5);
    pgcn_dataset_free(data);
}

static void test_files_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"[" FOLD("0, 1, 2, 3, 10", "7, 8, 9", "5, 6") "]",
         "fold 0 has number 10 in 'test', and the data set has 10 graphs"},
        {"[" FOLD("0, 1, 2, 3, -1", "7, 8, 9", "5, 6") "]", "number -1 in 'test'"},
        {"[" FOLD("0, 1, 2, 3, 4", "7, 8", "5, 6") "]",
         "fold 0 leaves out 1 of the 10 graphs of the data set, the first is number 9"},
        {"[" FIRST ", " FOLD("5, 6, 7", "2, 3", "0, 1") "]",
         "fold 1 leaves out 3 of the 10 graphs of the data set, the first is number 4"},
        {"[" FOLD("0, 1, 2, 3, 4", "7, 8, 9, 4", "5, 6") "]",
         "fold 0 has number 4 in 'test' and in 'train'"},
        {"[" FOLD("0, 1, 2, 3, 4, 4", "7, 8, 9", "5, 6") "]",
         "fold 0 has number 4 in 'test' and in 'test'"},
        {"[" FIRST ", " FOLD("4, 5, 6, 7, 8, 9", "2, 3", "0, 1") "]",
         "number 4 is tested by fold 0 and by fold 1"},
        {"[" FIRST ", " FOLD("5, 6, 7, 8", "2, 3, 4, 9", "0, 1") "]", "no fold tests number 9"},
        {"[" FIRST "]", "no fold tests number 5"},
        {"[]", "no fold tests number 0"},
        {"[" FOLD("0, 1, 2, 3, 4", "5, 6, 7, 8, 9", "") "]", "fold 0 has nothing in 'validation'"},
        {"[{\"test\": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}]", "fold 0 has nothing in 'train'"},
        {"[{\"test\": [0], \"test\": [1]}]", "fold 0 has 'test' twice"},
        {"[{\"test\": [0], \"model_selection\": [{}, {}]}]", "several inner splits"},
        {"[{\"test\": [0.5]}]", "line 1"},
        {"{}", "an array"},
        {"[" FIRST ", " SECOND "] x", "line 1"},
    };
    pgcn_dataset *given = ten_graphs("kfold=3"), *data = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(pgcn_dataset_prepare(given, step_of(cases[i].text), &data),
                         PGCN_ERR_FORMAT);
        assert_error_says(cases[i].says);
        assert_error_says("folds.json");
    }
    pgcn_dataset_free(given);
}

static void test_every_truncation_is_refused(void **state) {
    (void)state;
    char text[sizeof good];
    pgcn_dataset *given = ten_graphs("kfold=3"), *data = NULL;
    for (size_t cut = 0; cut < sizeof good - 1; cut++) {
        memcpy(text, good, cut);
        text[cut] = '\0';
        assert_int_equal(pgcn_dataset_prepare(given, step_of(text), &data), PGCN_ERR_FORMAT);
    }
    pgcn_dataset_free(given);
}

static void test_the_word_itself_is_checked(void **state) {
    (void)state;
    pgcn_dataset *given = ten_graphs("kfold=3"), *data = NULL;
    char text[256] = "fair=";
    static const struct {
        const char *text, *says;
    } cases[] = {{"fair=", "a JSON file of folds"},
                 {"fair=a.json,splits=3", "leave out splits"},
                 {"split-seed=1,fair=a.json", "leave out splits, split-seed"},
                 {"kfold=5,fair=a.json", "other folds"},
                 {"fair=a.json,fair=b.json", "'fair=a.json' and 'fair=b.json'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(pgcn_dataset_prepare(given, cases[i].text, &data), PGCN_ERR_ARGUMENT);
        assert_error_says(cases[i].says);
    }
    memset(text + 5, 'a', PGCN_I_FAIR_BYTES);
    assert_int_equal(pgcn_dataset_prepare(given, text, &data), PGCN_ERR_ARGUMENT);
    assert_error_says("at most 159");
    assert_int_equal(pgcn_dataset_prepare(given, "fair=no/such.json", &data), PGCN_ERR_IO);
    assert_error_says("no/such.json");
    pgcn_dataset_free(given);
}

/* A search gives its own steps beside those of the name: what is not given in one list, the other may give. */
static void test_steps_may_come_in_two_lists(void **state) {
    (void)state;
    const char *search = "only-split=1,without-test";
    for (int order = 0; order < 2; order++) {
        pgcn_i_steps steps = {0};
        assert_int_equal(pgcn_i_steps_need(order ? search : step_of(good), &steps), PGCN_OK);
        assert_int_equal(pgcn_i_steps_need(order ? step_of(good) : search, &steps), PGCN_OK);
        assert_int_equal(steps.split_kind, PGCN_I_SPLIT_FAIR);
        assert_int_equal(pgcn_i_steps_need("splits=10", &steps), PGCN_ERR_ARGUMENT);
        assert_error_says("leave out splits");
    }
}

static pgcn_dataset *given_set;
static pgcn_status prepare_and_free(void) {
    pgcn_dataset *data;
    PGCN_TRY(pgcn_dataset_prepare(given_set, step, &data));
    pgcn_dataset_free(data);
    return PGCN_OK;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    given_set = ten_graphs("kfold=3");
    step_of(good);
    assert_true(fail_every_allocation(prepare_and_free) > 10);
    pgcn_dataset_free(given_set);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_every_outer_fold_is_a_split),
        TEST(test_keys_may_stand_in_any_order),
        TEST(test_without_test_hides_what_no_fold_learns_from),
        TEST(test_files_that_do_not_fit_are_refused),
        TEST(test_every_truncation_is_refused),
        TEST(test_the_word_itself_is_checked),
        TEST(test_steps_may_come_in_two_lists),
        TEST(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
