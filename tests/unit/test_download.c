/* download.c: whatever the server does, the file is complete and right or not there, and what came
 * before a break is not fetched again. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "http_help.h"
#include "scratch_help.h"

#include "data/registry.h"

#include <signal.h>
#include <sys/resource.h>

/* sha256sum of the ten bytes 0123456789 */
static const pgcn_i_remote_file ten = {
    "ten.txt", 10, "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"};
static const pgcn_i_remote_file unknown = {"ten.txt", 0, ""};

static pgcn_i_session *session;
static pgcn_i_download_result result;

static int begin(void **state) {
    http_start();
    if (pgcn_i_session_new(&session) != PGCN_OK) return -1;
    return scratch_make(state);
}
static int end(void **state) {
    pgcn_i_session_free(session);
    return scratch_remove(state);
}

static const char *server_url(const char *file) {
    static char url[256];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", http.port, file);
    return url;
}

static pgcn_status get_with(const pgcn_i_remote_file *expected, const pgcn_i_download_opts *opts) {
    return pgcn_i_download(session, server_url("ten.txt"), scratch_path("ten.txt"), expected, opts,
                           &result);
}

static pgcn_status get(const pgcn_i_remote_file *expected, int retries) {
    pgcn_i_download_opts opts = {.retries = retries, .stall_seconds = 1};
    return get_with(expected, &opts);
}

static void assert_arrived(void) {
    assert_file_holds(scratch_path("ten.txt"), "0123456789", 10);
    assert_int_equal(scratch_count(), 1); /* neither .part nor .part.tag */
}

static void assert_nothing_left(void) {
    assert_int_equal(scratch_count(), 0);
}

#define HEAD_200   "200 OK\r\nContent-Length: 10"
#define ETAG       "\r\nETag: \"tag-1\""
#define REST_FROM4 "206 Partial\r\nContent-Length: 6\r\nContent-Range: bytes 4-9/10"

/* ---- good answers --------------------------------------------------------------------------- */

static void test_download_whole_file_arrives(void **state) {
    (void)state;
    http_answer(HEAD_200, "0123456789");
    http_go();
    assert_int_equal(get(&ten, 0), PGCN_OK);
    http_stop();
    assert_arrived();
    assert_requested(0, "GET /ten.txt HTTP/1.1\r\n");
    assert_requested(0, "User-Agent: pathgcn/");
    assert_not_requested(0, "Range");
    assert_int_equal(result.downloaded, 10);
    assert_int_equal(result.attempts, 1);
}

static void test_download_redirections_are_followed(void **state) {
    (void)state;
    http_answer("302 Found\r\nContent-Length: 4\r\nETag: \"of-the-redirection\"\r\nLocation: /b",
                "gone");
    http_answer("301 Moved\r\nContent-Length: 0\r\nLocation: c", "");
    http_answer(HEAD_200, "0123456789");
    http_go();
    assert_int_equal(get(&ten, 0), PGCN_OK);
    http_stop();
    assert_requested(1, "GET /b ");
    assert_requested(2, "GET /c ");
    assert_arrived();
}

static void test_download_tag_of_a_redirection_is_not_that_of_the_file(void **state) {
    (void)state;
    http_answer("302 Found\r\nContent-Length: 0" ETAG "\r\nLocation: /b", "");
    http_answer(HEAD_200, "0123");
    http_answer(REST_FROM4, "456789");
    http_go();
    assert_int_equal(get(&ten, 1), PGCN_OK);
    http_stop();
    assert_requested(2, "Range: bytes=4-\r\n");
    assert_not_requested(2, "If-Range");
    assert_arrived();
}

static void test_download_empty_file_arrives(void **state) {
    (void)state;
    scratch_write("ten.txt.part", "older", 5);
    http_answer("200 OK\r\nContent-Length: 0", "");
    http_go();
    assert_int_equal(get(&unknown, 0), PGCN_OK);
    http_stop();
    assert_file_holds(scratch_path("ten.txt"), "", 0);
    assert_int_equal(scratch_count(), 1);
}

static void test_download_file_url_arrives(void **state) {
    (void)state;
    char url[1200];
    http_go();
    http_stop();
    scratch_write("source", "0123456789", 10);
    snprintf(url, sizeof url, "file://%s/source", scratch);
    pgcn_i_download_opts opts = {.stall_seconds = 1};
    assert_int_equal(pgcn_i_download(session, url, scratch_path("ten.txt"), &ten, &opts, &result),
                     PGCN_OK);
    assert_file_holds(scratch_path("ten.txt"), "0123456789", 10);
    remove(scratch_path("source"));
    remove(scratch_path("ten.txt"));
    assert_int_equal(pgcn_i_download(session, url, scratch_path("ten.txt"), &ten, &opts, &result),
                     PGCN_ERR_IO);
    assert_error_says("no such file");
    assert_true(result.not_found);
    assert_nothing_left();
}

/* ---- going on ------------------------------------------------------------------------------- */

static void test_download_truncated_body_is_continued(void **state) {
    (void)state;
    http_answer(HEAD_200 ETAG, "0123"); /* ten were promised */
    http_answer(REST_FROM4 ETAG, "456789");
    http_go();
    assert_int_equal(get(&ten, 1), PGCN_OK);
    http_stop();
    assert_requested(1, "Range: bytes=4-\r\n");
    assert_requested(1, "If-Range: \"tag-1\"\r\n");
    assert_arrived();
    assert_int_equal(result.downloaded, 10);
    assert_int_equal(result.attempts, 2);
}

static void test_download_is_continued_by_a_later_call(void **state) {
    (void)state;
    http_answer(HEAD_200 ETAG, "0123");
    http_answer(REST_FROM4 ETAG, "456789");
    http_go();
    assert_int_equal(get(&unknown, 0), PGCN_ERR_IO);
    assert_error_says("broke off");
    assert_error_says("4 bytes are here");
    assert_file_holds(scratch_path("ten.txt.part"), "0123", 4);
    assert_int_equal(scratch_count(), 2); /* and the tag */
    assert_int_equal(get(&unknown, 0), PGCN_OK);
    http_stop();
    assert_requested(1, "If-Range: \"tag-1\"\r\n");
    assert_arrived();
    assert_int_equal(result.downloaded, 6);
}

static void test_download_last_modified_serves_as_tag(void **state) {
    (void)state;
    const char *date = "\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\nETag: W/\"weak\"";
    char first[256];
    snprintf(first, sizeof first, "%s%s", HEAD_200, date);
    http_answer(first, "0123");
    http_answer(REST_FROM4, "456789");
    http_go();
    assert_int_equal(get(&unknown, 1), PGCN_OK);
    http_stop();
    assert_requested(1, "If-Range: Wed, 21 Oct 2015 07:28:00 GMT\r\n");
    assert_arrived();
}

static void test_download_server_without_ranges_sends_it_again(void **state) {
    (void)state;
    http_answer(HEAD_200 ETAG, "0123");
    http_answer(HEAD_200 ETAG, "0123456789");
    http_go();
    assert_int_equal(get(&ten, 1), PGCN_OK);
    http_stop();
    assert_requested(1, "Range: bytes=4-\r\n");
    assert_arrived();
}

static void test_download_part_without_tag_and_hash_is_not_trusted(void **state) {
    (void)state;
    scratch_write("ten.txt.part", "xxxx", 4);
    http_answer(HEAD_200, "0123456789");
    http_go();
    assert_int_equal(get(&unknown, 0), PGCN_OK);
    http_stop();
    assert_not_requested(0, "Range");
    assert_arrived();
}

static void test_download_tag_of_another_place_is_not_used(void **state) {
    (void)state;
    scratch_write("ten.txt.part", "0123", 4);
    scratch_write("ten.txt.part.tag", "http://elsewhere/ten.txt\n\"tag-1\"\n", 33);
    http_answer(REST_FROM4, "456789");
    http_go();
    assert_int_equal(get(&ten, 0), PGCN_OK); /* continued, because the hash will tell */
    http_stop();
    assert_requested(0, "Range: bytes=4-\r\n");
    assert_not_requested(0, "If-Range");
    assert_arrived();
}

static void test_download_pieces_that_do_not_fit_are_fetched_as_one(void **state) {
    (void)state;
    scratch_write("ten.txt.part", "abcd", 4);
    http_answer(REST_FROM4, "456789");
    http_answer(HEAD_200, "0123456789");
    http_go();
    assert_int_equal(get(&ten, 0), PGCN_OK);
    http_stop();
    assert_requested(0, "Range: bytes=4-\r\n");
    assert_not_requested(1, "Range");
    assert_arrived();
}

static void test_download_complete_part_needs_no_request(void **state) {
    (void)state;
    scratch_write("ten.txt.part", "0123456789", 10);
    http_go();
    assert_int_equal(get(&ten, 0), PGCN_OK);
    http_stop();
    assert_int_equal(http.requests, 0);
    assert_arrived();
}

static void test_download_part_longer_than_the_file_starts_again(void **state) {
    (void)state;
    scratch_write("ten.txt.part", "0123456789x", 11);
    http_answer(HEAD_200, "0123456789");
    http_go();
    assert_int_equal(get(&ten, 0), PGCN_OK);
    http_stop();
    assert_not_requested(0, "Range");
    assert_arrived();
}

static void test_download_wrong_range_starts_again(void **state) {
    (void)state;
    http_answer(HEAD_200 ETAG, "0123");
    http_answer("206 Partial\r\nContent-Length: 5\r\nContent-Range: bytes 5-9/10", "56789");
    http_answer(HEAD_200, "0123456789");
    http_go();
    assert_int_equal(get(&unknown, 2), PGCN_OK); /* no SHA-256 would tell */
    http_stop();
    assert_requested(1, "Range: bytes=4-\r\n");
    assert_not_requested(2, "Range");
    assert_arrived();
}

static void test_download_range_beyond_the_file_starts_again(void **state) {
    (void)state;
    http_answer(HEAD_200 ETAG, "0123");
    http_answer("416 Range Not Satisfiable\r\nContent-Length: 0\r\nContent-Range: bytes */3", "");
    http_answer(HEAD_200, "0123456789");
    http_go();
    assert_int_equal(get(&ten, 2), PGCN_OK);
    http_stop();
    assert_not_requested(2, "Range");
    assert_arrived();
}

static void test_download_end_without_a_length_is_not_the_end_of_the_file(void **state) {
    (void)state;
    http_answer("200 OK\r\nContent-Type: text/plain" ETAG, "0123"); /* ends with the connection */
    http_answer(REST_FROM4, "456789");
    http_go();
    assert_int_equal(get(&ten, 1), PGCN_OK);
    http_stop();
    assert_requested(1, "Range: bytes=4-\r\n");
    assert_arrived();
}

/* ---- bad answers ---------------------------------------------------------------------------- */

static void test_download_wrong_content_is_removed(void **state) {
    (void)state;
    http_answer(HEAD_200, "012345678x");
    http_go();
    assert_int_equal(get(&ten, 3), PGCN_ERR_FORMAT);
    http_stop();
    assert_error_says("expected 84d89877f0d4041e");
    assert_error_says("SHA-256 b97e4b4c"); /* sha256sum of what came */
    assert_error_says("has changed");
    assert_int_equal(result.attempts, 1); /* asking again would not help */
    assert_nothing_left();
}

static void test_download_wrong_length_is_removed(void **state) {
    (void)state;
    http_answer("200 OK\r\nContent-Length: 4", "0123");
    http_go();
    assert_int_equal(get(&ten, 3), PGCN_ERR_FORMAT);
    http_stop();
    assert_error_says("has 4 bytes, expected 10");
    assert_nothing_left();
}

static void test_download_endless_file_is_cut_off(void **state) {
    (void)state;
    http_answer("200 OK\r\nContent-Type: text/plain", "0123456789 and more and more");
    http_go();
    assert_int_equal(get(&ten, 3), PGCN_ERR_FORMAT);
    http_stop();
    assert_error_says("more than the 10 bytes");
    assert_nothing_left();
}

static void test_download_missing_file_is_told_at_once(void **state) {
    (void)state;
    http_answer("404 Not Found\r\nContent-Length: 9", "not there");
    http_go();
    assert_int_equal(get(&ten, 3), PGCN_ERR_IO);
    http_stop();
    assert_error_says("/ten.txt");
    assert_error_says("404");
    assert_true(result.not_found);
    assert_int_equal(result.attempts, 1);
    assert_nothing_left();
}

static void test_download_busy_server_is_asked_again(void **state) {
    (void)state;
    http_answer("503 Busy\r\nContent-Length: 0\r\nRetry-After: 50", "");
    http_answer("503 Busy\r\nContent-Length: 0", "");
    http_answer(HEAD_200, "0123456789");
    http_go();
    assert_int_equal(get(&ten, 2), PGCN_OK);
    http_stop();
    assert_int_equal(result.attempts, 3);
    assert_arrived();
}

static void test_download_busy_server_is_given_up(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) http_answer("503 Busy\r\nContent-Length: 0", "");
    http_go();
    assert_int_equal(get(&ten, 2), PGCN_ERR_IO);
    http_stop();
    assert_error_says("503");
    assert_int_equal(http.requests, 3);
    assert_nothing_left();
}

static void test_download_redirection_to_a_file_is_refused(void **state) {
    (void)state;
    char head[1200];
    scratch_write("secret", "0123456789", 10);
    snprintf(head, sizeof head, "302 Found\r\nContent-Length: 0\r\nLocation: file://%s/secret",
             scratch);
    http_answer(head, "");
    http_go();
    assert_int_equal(get(&ten, 3), PGCN_ERR_IO);
    http_stop();
    assert_error_says("not followed");
    assert_int_equal(scratch_count(), 1);
}

static void test_download_circle_of_redirections_ends(void **state) {
    (void)state;
    for (int i = 0; i < HTTP_MOST; i++)
        http_answer("302 Found\r\nContent-Length: 0\r\nLocation: /ten.txt", "");
    http_go();
    assert_int_equal(get(&ten, 3), PGCN_ERR_IO);
    http_stop();
    assert_error_says("circles");
    assert_true(http.requests < HTTP_MOST);
}

static void test_download_no_server_and_no_name_are_told(void **state) {
    (void)state;
    http_go();
    http_stop(); /* the port is free now */
    assert_int_equal(get(&ten, 1), PGCN_ERR_IO);
    assert_error_says("nobody answers");
    assert_error_says("2 attempts were made");
    assert_true(result.no_answer);
    pgcn_i_download_opts opts = {.stall_seconds = 1};
    assert_int_equal(pgcn_i_download(session, "http://no-such-host.invalid/x",
                                     scratch_path("ten.txt"), &ten, &opts, &result),
                     PGCN_ERR_IO);
    assert_error_says("no-such-host.invalid");
    assert_true(result.no_answer);
    assert_int_equal(pgcn_i_download(session, "ftp://127.0.0.1/x", scratch_path("ten.txt"), &ten,
                                     &opts, &result),
                     PGCN_ERR_IO);
    assert_error_says("neither http nor https");
    assert_nothing_left();
}

static void test_download_stalled_server_is_left(void **state) {
    (void)state;
    http_answer(HEAD_200 ETAG, "0123");
    http.hang_seconds[0] = 2.5;
    http_go();
    assert_int_equal(get(&ten, 0), PGCN_ERR_IO);
    http_stop();
    assert_error_says("nothing came for 1 seconds");
    assert_file_holds(scratch_path("ten.txt.part"), "0123", 4);
}

/* 300 bytes, 500 a second. */
static void answer_slowly(int i) {
    char body[301];
    memset(body, 'x', 300);
    body[300] = '\0';
    http_answer("200 OK\r\nContent-Length: 300", body);
    http.trickle[i] = 10;
}

static void test_download_slower_than_the_least_rate_is_given_up(void **state) {
    (void)state;
    answer_slowly(0);
    answer_slowly(1);
    http_go();
    pgcn_i_download_opts opts = {.retries = 1, .stall_seconds = 0.2, .least_rate = 5000};
    assert_int_equal(get_with(&unknown, &opts), PGCN_ERR_IO);
    assert_error_says("bytes per second over 0.2 seconds, expected at least 5000");
    assert_error_says("2 attempts were made");
    assert_true(result.no_answer);        /* the home of the set is asked for the other files */
    assert_int_equal(result.attempts, 2); /* a slow transfer is tried again */
    assert_true(result.downloaded < 600);
    http_stop();
}

static void test_download_faster_than_the_least_rate_arrives(void **state) {
    (void)state;
    answer_slowly(0);
    http_go();
    pgcn_i_download_opts opts = {.stall_seconds = 0.2, .least_rate = 100};
    assert_int_equal(get_with(&unknown, &opts), PGCN_OK);
    http_stop();
    assert_int_equal(result.downloaded, 300);
    assert_int_equal(result.attempts, 1);
}

/* ---- here ----------------------------------------------------------------------------------- */

static bool stop_when_some_came(void *context, int64_t bytes, int64_t total, int attempt,
                                bool waiting) {
    int *calls = context;
    (*calls)++;
    assert_true(bytes >= 0 && bytes <= 10 && total == 10 && attempt == 1 && !waiting);
    return bytes < 4;
}

static void test_download_stopped_by_the_caller_keeps_what_came(void **state) {
    (void)state;
    int calls = 0;
    pgcn_i_download_opts opts = {
        .retries = 5, .stall_seconds = 10, .progress = stop_when_some_came, .context = &calls};
    http_answer(HEAD_200 ETAG, "0123");
    http.hang_seconds[0] = 0.4; /* the server is still there when the caller has had enough */
    http_answer(REST_FROM4, "456789");
    http_go();
    assert_int_equal(get_with(&ten, &opts), PGCN_ERR_IO);
    assert_error_says("stopped");
    assert_error_says("4 bytes are kept");
    assert_true(result.stopped && calls > 0);
    assert_int_equal(get(&ten, 0), PGCN_OK);
    http_stop();
    assert_requested(1, "Range: bytes=4-\r\n");
    assert_arrived();
}

static bool stop_when_waiting(void *context, int64_t bytes, int64_t total, int attempt,
                              bool waiting) {
    (void)context, (void)bytes, (void)total, (void)attempt;
    return !waiting;
}

static void test_download_can_be_stopped_while_it_waits(void **state) {
    (void)state;
    pgcn_i_download_opts opts = {
        .retries = 5, .pause_seconds = 60, .stall_seconds = 10, .progress = stop_when_waiting};
    http_answer("503 Busy\r\nContent-Length: 0", "");
    http_go();
    assert_int_equal(get_with(&ten, &opts), PGCN_ERR_IO);
    http_stop();
    assert_true(result.stopped);
    assert_int_equal(result.attempts, 1);
    assert_int_equal(http.requests, 1);
}

static void test_download_full_disk_is_told(void **state) {
    (void)state;
    struct rlimit before, small = {.rlim_cur = 4, .rlim_max = RLIM_INFINITY};
    http_answer(HEAD_200 ETAG, "0123456789");
    http_go();
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    pgcn_status status = get(&ten, 3);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    http_stop();
    assert_int_equal(status, PGCN_ERR_IO);
    assert_error_says("ten.txt.part");
    assert_error_says("ulimit -f"); /* the true limit */
    assert_true(result.disk);
    assert_int_equal(result.attempts, 1);
    assert_false(pgcn_i_file_exists(scratch_path("ten.txt")));
}

static void test_download_directory_that_is_not_there_is_told(void **state) {
    (void)state;
    http_go();
    http_stop();
    pgcn_i_download_opts opts = {.stall_seconds = 1};
    assert_int_equal(pgcn_i_download(session, server_url("ten.txt"), scratch_path("no/ten.txt"),
                                     &ten, &opts, &result),
                     PGCN_ERR_IO);
    assert_error_says("No such file");
    assert_true(result.disk);
}

static void test_download_part_that_is_a_link_is_not_followed(void **state) {
    (void)state;
    http_answer(HEAD_200, "0123456789");
    http_go();
    scratch_write("victim", "precious", 8);
    assert_int_equal(symlink("victim", scratch_path("ten.txt.part")), 0);
    assert_int_equal(get(&ten, 0), PGCN_ERR_IO);
    http_stop();
    assert_file_holds(scratch_path("victim"), "precious", 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(test_download_whole_file_arrives),
        TEST(test_download_redirections_are_followed),
        TEST(test_download_tag_of_a_redirection_is_not_that_of_the_file),
        TEST(test_download_empty_file_arrives),
        TEST(test_download_file_url_arrives),
        TEST(test_download_truncated_body_is_continued),
        TEST(test_download_is_continued_by_a_later_call),
        TEST(test_download_last_modified_serves_as_tag),
        TEST(test_download_server_without_ranges_sends_it_again),
        TEST(test_download_part_without_tag_and_hash_is_not_trusted),
        TEST(test_download_tag_of_another_place_is_not_used),
        TEST(test_download_pieces_that_do_not_fit_are_fetched_as_one),
        TEST(test_download_complete_part_needs_no_request),
        TEST(test_download_part_longer_than_the_file_starts_again),
        TEST(test_download_wrong_range_starts_again),
        TEST(test_download_range_beyond_the_file_starts_again),
        TEST(test_download_end_without_a_length_is_not_the_end_of_the_file),
        TEST(test_download_wrong_content_is_removed),
        TEST(test_download_wrong_length_is_removed),
        TEST(test_download_endless_file_is_cut_off),
        TEST(test_download_missing_file_is_told_at_once),
        TEST(test_download_busy_server_is_asked_again),
        TEST(test_download_busy_server_is_given_up),
        TEST(test_download_redirection_to_a_file_is_refused),
        TEST(test_download_circle_of_redirections_ends),
        TEST(test_download_no_server_and_no_name_are_told),
        TEST(test_download_stalled_server_is_left),
        TEST(test_download_slower_than_the_least_rate_is_given_up),
        TEST(test_download_faster_than_the_least_rate_arrives),
        TEST(test_download_stopped_by_the_caller_keeps_what_came),
        TEST(test_download_can_be_stopped_while_it_waits),
        TEST(test_download_full_disk_is_told),
        TEST(test_download_directory_that_is_not_there_is_told),
        TEST(test_download_part_that_is_a_link_is_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
