/* fetch.c: the folder of a set is there when all its files are, and what is right is not fetched
 * again. Sets of the test's own come from a mirror directory, a home that is a directory (file://),
 * or the scripted server. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "http_help.h"
#include "zip_help.h"

#include "data/registry.h"

#include <fcntl.h>
#include <sys/file.h>

/* sha256sum of "0123456789", of "one\n" and of "two\n" */
#define SHA_TEN "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"
#define SHA_ONE "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806"
#define SHA_TWO "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a"
static const pgcn_i_remote_file plain_files[] = {{"ten.txt", 10, SHA_TEN},
                                                 {"more/one.txt", 4, SHA_ONE}};
static const pgcn_i_remote_file split_files[] = {{"two.txt", 4, SHA_TWO}};
static const pgcn_i_remote_file members[] = {{"toy_A.txt", 4, SHA_ONE}, {"sub/toy_B.txt", 0, ""}};

static char home[1200], out[1200], mirror[1200];
static pgcn_i_remote_set plain, packed;
static pgcn_fetch_opts opts;
static pgcn_fetch_result result;

static void make_folder(const char *path) {
    assert_true(mkdir(scratch_path(path), 0777) == 0);
}

/* The sets of this test; everything lies in the home, nothing in the mirror. */
static int begin(void **state) {
    if (scratch_make(state) != 0) return -1;
    snprintf(home, sizeof home, "file://%s/home/", scratch);
    snprintf(out, sizeof out, "%s/out", scratch);
    snprintf(mirror, sizeof mirror, "%s/mirror", scratch);
    make_folder("home");
    make_folder("home/more");
    make_folder("mirror");
    scratch_write("home/ten.txt", "0123456789", 10);
    scratch_write("home/more/one.txt", "one\n", 4);
    scratch_write("home/two.txt", "two\n", 4);
    plain = (pgcn_i_remote_set){
        .about = {.name = "toy"},
        .parts = 2,
        .part = {{.url = home, .folder = "", .file = plain_files, .files = 2},
                 {.url = home, .folder = "splits/", .file = split_files, .files = 1}}};
    static char archive_url[1300];
    snprintf(archive_url, sizeof archive_url, "%stoy.zip", home);
    packed = (pgcn_i_remote_set){.about = {.name = "toy"},
                                 .parts = 1,
                                 .part = {{.url = archive_url,
                                           .folder = "",
                                           .archive = {"toy.zip", 0, ""},
                                           .file = members,
                                           .files = 2}}};
    opts = pgcn_fetch_opts_default();
    opts.directory = out;
    opts.mirror = "";
    opts.retries = 0;
    memset(&result, 0, sizeof result);
    return 0;
}

static pgcn_status fetch(const pgcn_i_remote_set *set) {
    return pgcn_i_fetch(set, &opts, &result);
}

static void fetch_well(const pgcn_i_remote_set *set, int fetched, int kept) {
    if (fetch(set) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    assert_int_equal(result.fetched, fetched);
    assert_int_equal(result.kept, kept);
}

static bool exists(const char *file) {
    return pgcn_i_file_exists(scratch_path(file));
}

static void assert_toy(void) {
    assert_file_holds(scratch_path("out/toy/ten.txt"), "0123456789", 10);
    assert_file_holds(scratch_path("out/toy/more/one.txt"), "one\n", 4);
    assert_file_holds(scratch_path("out/toy/splits/two.txt"), "two\n", 4);
    assert_false(exists("out/.toy.part"));
}

static void make_archive(const char *file) {
    const zip_member good[] = {{.name = "TOY/toy_A.txt", .content = "one\n"},
                               {.name = "TOY/sub/toy_B.txt", .content = "b"},
                               {.name = "TOY/README.txt", .content = "read me"}};
    make_zip(file, good, 3);
}

static void assert_unpacked_toy(void) {
    assert_file_holds(scratch_path("out/toy/toy_A.txt"), "one\n", 4);
    assert_file_holds(scratch_path("out/toy/sub/toy_B.txt"), "b", 1);
    assert_false(exists("out/toy/toy.zip"));
    assert_false(exists("out/toy/README.txt")); /* no file of the table */
    assert_false(exists("out/.toy.part"));
}

/* ---- files one by one ----------------------------------------------------------------------- */

static void test_fetch_brings_all_files_to_their_places(void **state) {
    (void)state;
    fetch_well(&plain, 3, 0);
    assert_string_equal(result.path, scratch_path("out/toy"));
    assert_int_equal(result.downloaded, 18);
    assert_toy();
}

static void test_fetch_twice_brings_nothing_the_second_time(void **state) {
    (void)state;
    fetch_well(&plain, 3, 0);
    assert_int_equal(rename(scratch_path("home"), scratch_path("gone")), 0);
    fetch_well(&plain, 0, 3);
    assert_int_equal(result.downloaded, 0);
    assert_toy();
}

static void test_fetch_missing_file_leaves_no_folder_and_keeps_the_others(void **state) {
    (void)state;
    remove(scratch_path("home/two.txt"));
    assert_int_equal(fetch(&plain), PGCN_ERR_IO);
    assert_error_says("two.txt");
    assert_error_says("mirror");
    assert_error_says("out/toy/splits/two.txt"); /* where to put it by hand */
    assert_false(exists("out/toy"));
    assert_true(exists("out/.toy.part/ten.txt"));
    scratch_write("home/two.txt", "two\n", 4);
    fetch_well(&plain, 1, 2);
    assert_toy();
}

static void test_fetch_wrong_file_leaves_no_folder(void **state) {
    (void)state;
    scratch_write("home/two.txt", "2wo\n", 4);
    assert_int_equal(fetch(&plain), PGCN_ERR_FORMAT);
    assert_error_says("expected " SHA_TWO);
    assert_false(exists("out/toy"));
    assert_false(exists("out/.toy.part/splits/two.txt"));
}

static void test_fetch_damaged_file_is_replaced_and_others_stay(void **state) {
    (void)state;
    fetch_well(&plain, 3, 0);
    scratch_write("out/toy/ten.txt", "0123456780", 10);
    scratch_write("out/toy/mine.txt", "mine", 4);
    fetch_well(&plain, 1, 2);
    assert_toy();
    assert_file_holds(scratch_path("out/toy/mine.txt"), "mine", 4);
}

static void test_fetch_files_put_by_hand_are_kept(void **state) {
    (void)state;
    make_folder("out");
    make_folder("out/toy");
    scratch_write("out/toy/ten.txt", "0123456789", 10);
    fetch_well(&plain, 2, 1);
    assert_toy();
}

static void test_fetch_folder_of_something_else_is_left_alone(void **state) {
    (void)state;
    make_folder("out");
    make_folder("out/toy");
    scratch_write("out/toy/edges.npy", "mine", 4);
    assert_int_equal(fetch(&plain), PGCN_ERR_IO);
    assert_error_says("holds other files");
    assert_file_holds(scratch_path("out/toy/edges.npy"), "mine", 4);
    assert_false(exists("out/toy/ten.txt"));
    remove(scratch_path("out/toy/edges.npy"));
    fetch_well(&plain, 3, 0); /* an empty folder is as good as none */
    assert_toy();
}

static void test_fetch_by_force_brings_all_again(void **state) {
    (void)state;
    fetch_well(&plain, 3, 0);
    opts.force = true;
    fetch_well(&plain, 3, 0);
    assert_int_equal(result.downloaded, 18);
    assert_toy();
}

static void test_fetch_what_earlier_attempts_left_does_not_get_into_the_folder(void **state) {
    (void)state;
    make_folder("out");
    make_folder("out/.toy.part");
    make_folder("out/.toy.part/more");
    scratch_write("out/.toy.part/toy.zip.part", "half", 4);
    scratch_write("out/.toy.part/more/x.part.tag", "tag", 3);
    fetch_well(&plain, 3, 0);
    assert_toy();
    assert_false(exists("out/toy/toy.zip.part"));
    assert_false(exists("out/toy/more/x.part.tag"));
}

static void test_fetch_second_call_at_the_same_time_is_refused(void **state) {
    (void)state;
    make_folder("out");
    make_folder("out/.toy.part");
    int lock = open(scratch_path("out/.toy.part"), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_int_equal(fetch(&plain), PGCN_ERR_IO);
    assert_error_says("another program is fetching toy");
    close(lock);
    fetch_well(&plain, 3, 0);
}

/* ---- mirrors -------------------------------------------------------------------------------- */

static void test_fetch_asks_the_mirror_first(void **state) {
    (void)state;
    make_folder("mirror/toy");
    make_folder("mirror/toy/splits");
    scratch_write("mirror/toy/ten.txt", "0123456789", 10);
    scratch_write("mirror/toy/splits/two.txt", "wrong", 5); /* the home has the right one */
    remove(scratch_path("home/ten.txt"));
    opts.mirror = mirror;
    fetch_well(&plain, 3, 0);
    assert_toy();
}

static void test_fetch_mirror_of_the_environment_is_used(void **state) {
    (void)state;
    make_folder("mirror/toy");
    scratch_write("mirror/toy/ten.txt", "0123456789", 10);
    remove(scratch_path("home/ten.txt"));
    opts.mirror = NULL;
    setenv("PATHGCN_MIRROR", mirror, 1);
    pgcn_status status = fetch(&plain);
    unsetenv("PATHGCN_MIRROR");
    assert_int_equal(status, PGCN_OK);
    assert_toy();
}

static void test_fetch_from_the_mirror_only(void **state) {
    (void)state;
    opts.mirror = mirror;
    opts.mirror_only = true;
    assert_int_equal(fetch(&plain), PGCN_ERR_IO);
    assert_error_says("mirror/toy/ten.txt");
    opts.mirror = "";
    assert_int_equal(fetch(&plain), PGCN_ERR_ARGUMENT);
    assert_error_says("none is given");
}

static void test_fetch_both_failures_are_told(void **state) {
    (void)state;
    remove(scratch_path("home/ten.txt"));
    opts.mirror = mirror;
    assert_int_equal(fetch(&plain), PGCN_ERR_IO);
    assert_error_says("home/ten.txt");
    assert_error_says("and before that, cannot download");
    assert_error_says("mirror/toy/ten.txt");
}

static void test_fetch_mirror_with_odd_name_works(void **state) {
    (void)state;
    make_folder("mirror/a b%#\xc3\xa9");
    make_folder("mirror/a b%#\xc3\xa9/toy");
    scratch_write("mirror/a b%#\xc3\xa9/toy/ten.txt", "0123456789", 10);
    remove(scratch_path("home/ten.txt"));
    opts.mirror = scratch_path("mirror/a b%#\xc3\xa9");
    assert_int_equal(fetch(&plain), PGCN_OK);
    assert_toy();
}

/* How often a transfer waited for its next attempt. */
static int waits;
static bool count_waits(const pgcn_fetch_progress *progress, void *context) {
    bool *waiting = context;
    waits += progress->waiting && !*waiting;
    *waiting = progress->waiting;
    return true;
}

static void test_fetch_dead_mirror_is_asked_once(void **state) {
    (void)state;
    char url[64];
    http_start();
    http_go();
    http_stop(); /* nobody is at this port now */
    snprintf(url, sizeof url, "http://127.0.0.1:%d", http.port);
    opts.mirror = url;
    opts.retries = 1;
    opts.pause_seconds = 0.3; /* progress is told several times meanwhile */
    bool waiting = false;
    waits = 0;
    opts.progress = count_waits;
    opts.context = &waiting;
    fetch_well(&plain, 3, 0);
    assert_int_equal(waits, 1); /* for the first of three files */
    assert_toy();
}

static void test_fetch_http_mirror_is_asked_by_name_and_file(void **state) {
    (void)state;
    char url[64];
    http_start();
    http_answer("200 OK\r\nContent-Length: 10", "0123456789");
    http_answer("404 No\r\nContent-Length: 0", "");
    http_answer("200 OK\r\nContent-Length: 4", "two\n");
    http_go();
    snprintf(url, sizeof url, "http://127.0.0.1:%d/sets/", http.port);
    opts.mirror = url;
    fetch_well(&plain, 3, 0);
    http_stop();
    assert_requested(0, "GET /sets/toy/ten.txt ");
    assert_requested(1, "GET /sets/toy/more/one.txt ");
    assert_requested(2, "GET /sets/toy/splits/two.txt ");
    assert_toy();
}

/* ---- archives ------------------------------------------------------------------------------- */

static void test_fetch_archive_is_unpacked(void **state) {
    (void)state;
    make_archive("home/toy.zip");
    fetch_well(&packed, 1, 0);
    assert_unpacked_toy();
    remove(scratch_path("home/toy.zip"));
    fetch_well(&packed, 0, 1);
}

/* edges.npy beside the members would make the folder another format, and so another data set. */
static void test_fetch_extra_members_of_an_archive_do_not_get_into_the_folder(void **state) {
    (void)state;
    const zip_member extra[] = {{.name = "TOY/toy_A.txt", .content = "one\n"},
                                {.name = "TOY/sub/toy_B.txt", .content = "b"},
                                {.name = "TOY/edges.npy", .content = "another graph"},
                                {.name = "TOY/sub/graph_ptr.npy", .content = "of the mirror"}};
    make_folder("mirror/toy");
    make_zip("mirror/toy/toy.zip", extra, 4);
    make_folder("out");
    make_folder("out/.toy.part");
    scratch_write("out/.toy.part/edges.npy", "of an earlier version", 21);
    opts.mirror = mirror;
    fetch_well(&packed, 1, 0);
    assert_unpacked_toy();
    assert_false(exists("out/toy/edges.npy"));
    assert_false(exists("out/toy/sub/graph_ptr.npy"));
}

static void test_fetch_archive_of_other_content_is_refused(void **state) {
    (void)state;
    const zip_member wrong[] = {{.name = "toy_A.txt", .content = "eno\n"},
                                {.name = "sub/toy_B.txt", .content = "b"}};
    make_zip("home/toy.zip", wrong, 2);
    assert_int_equal(fetch(&packed), PGCN_ERR_FORMAT);
    assert_error_says("toy_A.txt");
    assert_false(exists("out/toy"));
    make_zip("home/toy.zip", wrong + 1, 1);
    assert_int_equal(fetch(&packed), PGCN_ERR_FORMAT);
    scratch_write("home/toy.zip", "<html>", 6);
    assert_int_equal(fetch(&packed), PGCN_ERR_FORMAT);
    assert_error_says("no zip file");
    assert_false(exists("out/toy"));
    assert_false(exists("out/.toy.part/toy.zip"));
    make_archive("home/toy.zip");
    fetch_well(&packed, 1, 0);
    assert_unpacked_toy();
}

static void test_fetch_archive_from_a_mirror_packed_or_unpacked(void **state) {
    (void)state;
    make_folder("mirror/toy");
    make_archive("mirror/toy/toy.zip");
    opts.mirror = mirror;
    fetch_well(&packed, 1, 0);
    assert_unpacked_toy();
    remove_tree(scratch_path("out/toy"));
    remove(scratch_path("mirror/toy/toy.zip"));
    make_folder("mirror/toy/sub");
    scratch_write("mirror/toy/toy_A.txt", "one\n", 4);
    scratch_write("mirror/toy/sub/toy_B.txt", "b", 1);
    fetch_well(&packed, 1, 0);
    assert_unpacked_toy();
}

static void test_fetch_bad_archive_of_a_mirror_is_replaced_by_that_of_the_home(void **state) {
    (void)state;
    const zip_member evil[] = {{.name = "toy_A.txt", .content = "one\n"},
                               {.name = "../../evil.txt", .content = "evil"}};
    make_folder("mirror/toy");
    make_zip("mirror/toy/toy.zip", evil, 2);
    opts.mirror = mirror;
    assert_int_equal(fetch(&packed), PGCN_ERR_IO); /* the home has none */
    assert_error_says("is refused");
    assert_false(exists("evil.txt"));
    make_archive("home/toy.zip");
    fetch_well(&packed, 1, 0);
    assert_unpacked_toy();
}

/* ---- the caller ----------------------------------------------------------------------------- */

typedef struct seen {
    int calls, stop_at_file;
    int64_t last_bytes;
} seen;

static bool on_progress(const pgcn_fetch_progress *p, void *context) {
    seen *s = context;
    s->calls++;
    assert_string_equal(p->name, "toy");
    assert_int_equal(p->files, 3);
    assert_int_equal(p->set_total, 18);
    assert_true(p->set_bytes >= s->last_bytes && p->set_bytes <= p->set_total);
    assert_true(p->file_number >= 1 && p->file_number <= 3 && p->file_bytes <= p->file_total);
    s->last_bytes = p->set_bytes;
    return p->file_number != s->stop_at_file;
}

static void test_fetch_tells_its_progress_and_can_be_stopped(void **state) {
    (void)state;
    seen s = {.stop_at_file = 2};
    opts.progress = on_progress;
    opts.context = &s;
    assert_int_equal(fetch(&plain), PGCN_ERR_IO);
    assert_error_says("stopped");
    assert_true(s.calls > 0);
    assert_false(exists("out/toy"));
    s = (seen){0};
    fetch_well(&plain, 2, 1);
    assert_int_equal(s.last_bytes, 18);
    assert_toy();
}

static bool stop_once(const pgcn_fetch_progress *p, void *context) {
    (void)p;
    int *calls = context;
    return (*calls)++ > 0;
}

static void test_fetch_stopped_at_the_mirror_does_not_ask_the_home(void **state) {
    (void)state;
    make_folder("mirror/toy");
    scratch_write("mirror/toy/ten.txt", "0123456789", 10);
    int calls = 0;
    opts.mirror = mirror;
    opts.progress = stop_once;
    opts.context = &calls;
    assert_int_equal(fetch(&plain), PGCN_ERR_IO);
    assert_error_says("stopped");
    assert_error_says("mirror/toy/ten.txt");
}

static void test_fetch_bad_options_are_refused(void **state) {
    (void)state;
    assert_int_equal(pgcn_fetch("no-such-set", NULL, NULL), PGCN_ERR_ARGUMENT);
    assert_error_says("no-such-set");
    opts.retries = -1;
    assert_int_equal(fetch(&plain), PGCN_ERR_ARGUMENT);
    opts.retries = 0;
    opts.pause_seconds = -1;
    assert_int_equal(fetch(&plain), PGCN_ERR_ARGUMENT);
    opts.pause_seconds = 0;
    opts.stall_seconds = 0.0 / 0.0;
    assert_int_equal(fetch(&plain), PGCN_ERR_ARGUMENT);
    opts.stall_seconds = 5;
    opts.least_rate = -1;
    assert_int_equal(fetch(&plain), PGCN_ERR_ARGUMENT);
    assert_error_says("least_rate");
    opts.least_rate = 1;
    opts.mirror = "/no/such/directory";
    assert_int_equal(fetch(&plain), PGCN_ERR_ARGUMENT);
    assert_error_says("neither a URL");
    opts.mirror = "";
    opts.directory = "";
    assert_int_equal(fetch(&plain), PGCN_ERR_ARGUMENT);
    opts.directory = "/proc/pathgcn";
    assert_int_equal(fetch(&plain), PGCN_ERR_IO);
    assert_error_says("/proc/pathgcn");
    scratch_write("file", "", 0);
    opts.directory = scratch_path("file");
    assert_int_equal(fetch(&plain), PGCN_ERR_IO);
    pgcn_fetch_opts empty = {0};
    assert_int_equal(pgcn_i_fetch(&plain, &empty, NULL), PGCN_ERR_ARGUMENT);
    assert_error_says("pgcn_fetch_opts_default");
}

static void test_cache_directory_follows_xdg(void **state) {
    (void)state;
    char old_home[1024], old_cache[1024];
    const char *value = getenv("HOME");
    snprintf(old_home, sizeof old_home, "%s", value ? value : "");
    value = getenv("XDG_CACHE_HOME");
    snprintf(old_cache, sizeof old_cache, "%s", value ? value : "");
    setenv("HOME", "/home/somebody", 1);
    setenv("XDG_CACHE_HOME", "/var/cache", 1);
    assert_string_equal(pgcn_cache_directory(), "/var/cache/pathgcn");
    setenv("XDG_CACHE_HOME", "relative", 1); /* to be ignored */
    assert_string_equal(pgcn_cache_directory(), "/home/somebody/.cache/pathgcn");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_null(pgcn_cache_directory());
    opts.directory = NULL;
    assert_int_equal(fetch(&plain), PGCN_ERR_ARGUMENT);
    assert_error_says("XDG_CACHE_HOME");
    if (*old_home) setenv("HOME", old_home, 1);
    if (*old_cache) setenv("XDG_CACHE_HOME", old_cache, 1);
}

static pgcn_status fetch_again(void) {
    pgcn_status status = fetch(&packed);
    if (status == PGCN_OK) remove_tree(scratch_path("out/toy"));
    return status;
}

static void test_fetch_every_allocation_may_fail(void **state) {
    (void)state;
    make_archive("home/toy.zip");
    assert_true(fail_every_allocation(fetch_again) >= 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, scratch_remove)
        TEST(test_fetch_brings_all_files_to_their_places),
        TEST(test_fetch_twice_brings_nothing_the_second_time),
        TEST(test_fetch_missing_file_leaves_no_folder_and_keeps_the_others),
        TEST(test_fetch_wrong_file_leaves_no_folder),
        TEST(test_fetch_damaged_file_is_replaced_and_others_stay),
        TEST(test_fetch_files_put_by_hand_are_kept),
        TEST(test_fetch_folder_of_something_else_is_left_alone),
        TEST(test_fetch_by_force_brings_all_again),
        TEST(test_fetch_what_earlier_attempts_left_does_not_get_into_the_folder),
        TEST(test_fetch_second_call_at_the_same_time_is_refused),
        TEST(test_fetch_asks_the_mirror_first),
        TEST(test_fetch_mirror_of_the_environment_is_used),
        TEST(test_fetch_from_the_mirror_only),
        TEST(test_fetch_both_failures_are_told),
        TEST(test_fetch_mirror_with_odd_name_works),
        TEST(test_fetch_dead_mirror_is_asked_once),
        TEST(test_fetch_http_mirror_is_asked_by_name_and_file),
        TEST(test_fetch_archive_is_unpacked),
        TEST(test_fetch_extra_members_of_an_archive_do_not_get_into_the_folder),
        TEST(test_fetch_archive_of_other_content_is_refused),
        TEST(test_fetch_archive_from_a_mirror_packed_or_unpacked),
        TEST(test_fetch_bad_archive_of_a_mirror_is_replaced_by_that_of_the_home),
        TEST(test_fetch_tells_its_progress_and_can_be_stopped),
        TEST(test_fetch_stopped_at_the_mirror_does_not_ask_the_home),
        TEST(test_fetch_bad_options_are_refused),
        TEST(test_cache_directory_follows_xdg),
        TEST(test_fetch_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
