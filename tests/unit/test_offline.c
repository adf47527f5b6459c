/* A library without libcurl (PATHGCN_FETCH=OFF): what is here is found, nothing is downloaded. This
 * program holds offline/download.c, and so links no other, whatever the rest of the build has. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "scratch_help.h"

#include "data/offline/download.c"

/* sha256sum of "0123456789" */
#define SHA_TEN "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"
static const pgcn_i_remote_file files[] = {{"ten.txt", 10, SHA_TEN}};
static const pgcn_i_remote_set toy = {
    .about = {.name = "toy"},
    .parts = 1,
    .part = {{.url = "file:///nowhere/", .folder = "", .file = files, .files = 1}}};

static pgcn_status fetch_toy(pgcn_fetch_result *result) {
    pgcn_fetch_opts opts = pgcn_fetch_opts_default();
    opts.directory = scratch_path("out");
    opts.mirror = "";
    return pgcn_i_fetch(&toy, &opts, result);
}

static void test_fetch_without_libcurl_is_refused_with_a_sentence(void **state) {
    (void)state;
    assert_int_equal(fetch_toy(NULL), PGCN_ERR_SYSTEM);
    assert_error_says("this build cannot download");
    assert_error_says("pathgcn data fetch");
    assert_false(pgcn_i_file_exists(scratch_path("out"))); /* no folder is left behind */
}

static void test_a_set_that_is_here_needs_no_libcurl(void **state) {
    (void)state;
    assert_int_equal(pgcn_directory_make(scratch_path("out/toy")), PGCN_OK);
    scratch_write("out/toy/ten.txt", "0123456789", 10);
    pgcn_fetch_result result;
    assert_int_equal(fetch_toy(&result), PGCN_OK);
    assert_int_equal(result.kept, 1);
    assert_int_equal(result.fetched, 0);
}

static void test_published_sets_are_listed_without_libcurl(void **state) {
    (void)state;
    pgcn_published cora;
    assert_true(pgcn_published_find("cora", &cora));
    assert_int_equal(pgcn_fetch("no such set", NULL, NULL), PGCN_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fetch_without_libcurl_is_refused_with_a_sentence,
                                        scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_a_set_that_is_here_needs_no_libcurl, scratch_make,
                                        scratch_remove),
        cmocka_unit_test(test_published_sets_are_listed_without_libcurl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
