/* file.c: files appear complete or not at all, whatever fails; reading limits; SHA-256. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "scratch_help.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

static pgcn_status write_text(const char *path, const char *text) {
    pgcn_i_atomic_file file;
    PGCN_TRY(pgcn_i_atomic_open(&file, path));
    pgcn_status status;
    PGCN_TRY_GOTO(pgcn_i_atomic_write(&file, text, (int64_t)strlen(text)));
    PGCN_TRY_GOTO(pgcn_i_atomic_commit(&file));
fail:
    pgcn_i_atomic_abort(&file);
    return status;
}

static void test_atomic_commit_replaces_the_file(void **state) {
    (void)state;
    const char *path = scratch_path("model");
    mode_t old = umask(027);
    assert_int_equal(write_text(path, "first"), PGCN_OK);
    assert_int_equal(write_text(path, "second, longer"), PGCN_OK);
    umask(old);
    assert_file_holds(path, "second, longer", 14);
    assert_int_equal(scratch_count(), 1);
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
}

static void test_atomic_nothing_appears_before_commit(void **state) {
    (void)state;
    const char *path = scratch_path("model");
    pgcn_i_atomic_file file;
    assert_int_equal(pgcn_i_atomic_open(&file, path), PGCN_OK);
    assert_int_equal(pgcn_i_atomic_write(&file, "half", 4), PGCN_OK);
    assert_false(pgcn_i_file_exists(path));
    pgcn_i_atomic_abort(&file);
    pgcn_i_atomic_abort(&file);
    assert_int_equal(scratch_count(), 0);
}

static void test_atomic_abort_keeps_the_old_file(void **state) {
    (void)state;
    const char *path = scratch_write("model", "old", 3);
    pgcn_i_atomic_file file;
    assert_int_equal(pgcn_i_atomic_open(&file, path), PGCN_OK);
    assert_int_equal(pgcn_i_atomic_write(&file, "new", 3), PGCN_OK);
    pgcn_i_atomic_abort(&file);
    assert_file_holds(path, "old", 3);
    assert_int_equal(scratch_count(), 1);
}

/* A limit on the size of files fails like a full disk, after part of the bytes were written. */
static void test_atomic_full_disk_keeps_the_old_file(void **state) {
    (void)state;
    const char *path = scratch_write("model", "old", 3);
    static char large[100000];
    struct rlimit limit, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    pgcn_i_atomic_file file;
    pgcn_status opened = pgcn_i_atomic_open(&file, path);
    pgcn_status written = pgcn_i_atomic_write(&file, large, sizeof large);
    int files = scratch_count();
    pgcn_i_atomic_abort(&file);
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(opened, PGCN_OK);
    assert_int_equal(written, PGCN_ERR_IO);
    assert_error_says("model");
    assert_error_says("ulimit -f) or write elsewhere; no file was changed");
    assert_int_equal(files, 1); /* the temporary file went with the failure, not with abort */
    assert_file_holds(path, "old", 3);
}

static void test_atomic_directory_without_permission_is_an_error(void **state) {
    (void)state;
    const char *path = scratch_write("model", "old", 3);
    /* Root may write everywhere, so root becomes nobody for this. */
    bool root = geteuid() == 0;
    assert_int_equal(chmod(scratch, 0555), 0);
    if (root) assert_int_equal(seteuid(65534), 0);
    pgcn_status status = write_text(path, "new");
    if (root) assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(scratch, 0755), 0);
    assert_int_equal(status, PGCN_ERR_IO);
    assert_error_says("Permission denied");
    assert_file_holds(path, "old", 3);
    assert_int_equal(scratch_count(), 1);
}

static void test_atomic_missing_directory_is_an_error(void **state) {
    (void)state;
    assert_int_equal(write_text(scratch_path("no/such/model"), "new"), PGCN_ERR_IO);
    assert_error_says("mkdir -p");
    assert_int_equal(write_text("", "new"), PGCN_ERR_ARGUMENT);
    assert_int_equal(write_text(scratch_path("folder/"), "new"), PGCN_ERR_ARGUMENT);
}

/* As root, renaming over a device would replace it for the whole machine. */
static void test_atomic_device_or_directory_is_not_replaced(void **state) {
    (void)state;
    assert_int_equal(mkfifo(scratch_path("pipe"), 0600), 0);
    assert_int_equal(write_text(scratch_path("pipe"), "new"), PGCN_ERR_IO);
    assert_error_says("not a regular file");
    assert_int_equal(mkdir(scratch_path("folder"), 0700), 0);
    assert_int_equal(write_text(scratch_path("folder"), "new"), PGCN_ERR_IO);
    assert_error_says("a directory");
    assert_int_equal(scratch_count(), 2);
}

static void test_atomic_link_stays_a_link(void **state) {
    (void)state;
    scratch_write("real", "old", 3);
    assert_int_equal(symlink("real", scratch_path("link")), 0);
    assert_int_equal(write_text(scratch_path("link"), "new"), PGCN_OK);
    struct stat about;
    assert_int_equal(lstat(scratch_path("link"), &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_file_holds(scratch_path("real"), "new", 3);
    assert_int_equal(scratch_count(), 2);
}

static void test_atomic_longest_name_works(void **state) {
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    assert_int_equal(write_text(scratch_path(name), "new"), PGCN_OK);
    assert_file_holds(scratch_path(name), "new", 3);
}

/* A file left by a killed process with the same number must not be written into. */
static void test_atomic_temporary_names_in_use_are_left_alone(void **state) {
    (void)state;
    enum { TAKEN = 200 }; /* more than this program has used so far */
    char name[64];
    for (int i = 0; i < TAKEN; i++) {
        snprintf(name, sizeof name, ".pathgcn-%ld-%d.tmp", (long)getpid(), i);
        scratch_write(name, "theirs", 6);
    }
    assert_int_equal(write_text(scratch_path("model"), "ours"), PGCN_OK);
    assert_int_equal(scratch_count(), TAKEN + 1);
    for (int i = 0; i < TAKEN; i++) {
        snprintf(name, sizeof name, ".pathgcn-%ld-%d.tmp", (long)getpid(), i);
        assert_file_holds(scratch_path(name), "theirs", 6);
    }
}

enum { WRITERS = 4, ROUNDS = 8, CONTENT = 20000 };

static void *write_many(void *path) {
    static atomic_int next;
    char text[CONTENT + 1];
    memset(text, 'a' + atomic_fetch_add(&next, 1), CONTENT);
    text[CONTENT] = '\0';
    for (int i = 0; i < ROUNDS; i++)
        if (write_text(path, text) != PGCN_OK) return "failed";
    return NULL;
}

static void test_atomic_many_writers_leave_one_whole_file(void **state) {
    (void)state;
    pthread_t thread[WRITERS];
    char path[256];
    snprintf(path, sizeof path, "%s", scratch_path("model"));
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, write_many, path), 0);
    for (int i = 0; i < WRITERS; i++) {
        void *result;
        assert_int_equal(pthread_join(thread[i], &result), 0);
        assert_null(result);
    }
    pgcn_i_arena arena = {0};
    char *text;
    int64_t bytes;
    assert_int_equal(pgcn_i_file_read(path, CONTENT, &arena, &text, &bytes), PGCN_OK);
    assert_int_equal(bytes, CONTENT);
    for (int i = 1; i < CONTENT; i++) assert_int_equal(text[i], text[0]);
    assert_int_equal(scratch_count(), 1);
    pgcn_i_arena_free(&arena);
}

static void test_file_read_stops_at_its_limit(void **state) {
    (void)state;
    pgcn_i_arena arena = {0};
    char *text;
    int64_t bytes;
    const char *path = scratch_write("text", "12345", 5);
    assert_int_equal(pgcn_i_file_read(path, 5, &arena, &text, &bytes), PGCN_OK);
    assert_string_equal(text, "12345");
    assert_int_equal(pgcn_i_file_read(path, 4, &arena, &text, &bytes), PGCN_ERR_FORMAT);
    assert_error_says("it has 5 bytes, expected at most 4");
    assert_true(pgcn_i_is_directory(scratch));
    assert_false(pgcn_i_is_directory(path));
    pgcn_i_arena_free(&arena);
}

static void test_hash_known_answers(void **state) {
    (void)state;
    char hex[65];
    pgcn_i_hash *hash;
    assert_int_equal(pgcn_i_hash_new(&hash), PGCN_OK);
    assert_int_equal(pgcn_i_hash_finish(hash, hex), PGCN_OK);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_int_equal(pgcn_i_hash_new(&hash), PGCN_OK);
    pgcn_i_hash_add(hash, "a", 1);
    pgcn_i_hash_add(hash, "bc", 2);
    assert_int_equal(pgcn_i_hash_finish(hash, hex), PGCN_OK);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(test_atomic_commit_replaces_the_file),
        IN_SCRATCH(test_atomic_nothing_appears_before_commit),
        IN_SCRATCH(test_atomic_abort_keeps_the_old_file),
        IN_SCRATCH(test_atomic_full_disk_keeps_the_old_file),
        IN_SCRATCH(test_atomic_directory_without_permission_is_an_error),
        IN_SCRATCH(test_atomic_missing_directory_is_an_error),
        IN_SCRATCH(test_atomic_device_or_directory_is_not_replaced),
        IN_SCRATCH(test_atomic_link_stays_a_link),
        IN_SCRATCH(test_atomic_longest_name_works),
        IN_SCRATCH(test_atomic_temporary_names_in_use_are_left_alone),
        IN_SCRATCH(test_atomic_many_writers_leave_one_whole_file),
        IN_SCRATCH(test_file_read_stops_at_its_limit),
        cmocka_unit_test(test_hash_known_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
