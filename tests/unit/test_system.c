/* system.c and those who ask it: an error tells the reason that the system gave and what to do about
 * that one, whatever was looked at in between. mkdir() is replaced here, so that it can fail as on
 * file systems that this machine does not have. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "scratch_help.h"

#include "data/data.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static int mkdir_error; /* errno of the next calls, 0: they work */

int mkdir(const char *path, mode_t mode) {
    if (mkdir_error == 0) return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    errno = mkdir_error;
    return -1;
}

static int end(void **state) {
    mkdir_error = 0;
    return scratch_remove(state);
}

static void test_system_error_has_reason_and_remedy(void **state) {
    (void)state;
    static const struct {
        int error;
        const char *reason, *remedy;
    } cases[] = {
        {EROFS, "Read-only file system", "mounted for writing"},
        {EMFILE, "Too many open files", "ulimit -n"},
        {ENFILE, "Too many open files in system", "end other programs"},
        {EACCES, "Permission denied", "another directory"},
        {ENOSPC, "No space left", "make space"},
        {EDQUOT, "quota", "remove files of yours"},
        {EFBIG, "File too large", "ulimit -f"},
        {ENOTDIR, "Not a directory", "a part of the path is a file"},
        {EISDIR, "Is a directory", "name of a file"},
        {ENAMETOOLONG, "name too long", "shorter name"},
        {ELOOP, "symbolic links", "circle"},
        {ENOMEM, "allocate memory", "end other programs"},
        {EIO, "Input/output error", "dmesg"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = pgcn_system_error(cases[i].error);
        if (!strstr(text, cases[i].reason) || !strstr(text, cases[i].remedy))
            fail_msg("\"%s\" lacks \"%s\" or \"%s\"", text, cases[i].reason, cases[i].remedy);
        if (cases[i].error != ENOSPC && strstr(text, "make space")) fail_msg("a guess: %s", text);
    }
    assert_string_equal(pgcn_system_error(ENOENT), "No such file or directory");
}

static void test_directory_that_cannot_be_made_tells_why(void **state) {
    (void)state;
    static const int errors[] = {EROFS, EACCES, ENOSPC, EDQUOT, ELOOP};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        mkdir_error = errors[i];
        assert_int_equal(pgcn_directory_make(scratch_path("new/run")), PGCN_ERR_IO);
        assert_error_says(strerror(errors[i]));
        assert_error_says("/new' (--out)");
    }
    mkdir_error = EROFS; /* what is there need not be made */
    assert_int_equal(pgcn_directory_make(scratch), PGCN_OK);
    mkdir_error = 0;
    assert_int_equal(pgcn_directory_make(scratch_path("new/run/")), PGCN_OK);
    assert_true(pgcn_i_is_directory(scratch_path("new/run")));
    scratch_write("file", "x", 1);
    assert_int_equal(pgcn_directory_make(scratch_path("file/below")), PGCN_ERR_IO);
    assert_error_says("File exists");
    assert_int_equal(pgcn_directory_make(""), PGCN_ERR_ARGUMENT);
}

/* Calls `run` when no file can be opened any more. */
static pgcn_status without_descriptors(pgcn_status (*run)(void)) {
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = open("/dev/null", O_RDONLY);
    close(next);
    none = before;
    none.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    pgcn_status status = run();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    return status;
}

static pgcn_status write_file(void) {
    return pgcn_file_write(scratch_path("model"), "x", 1);
}
static pgcn_status load_folder(void) {
    pgcn_dataset *data = NULL;
    return pgcn_dataset_load(scratch, NULL, &data);
}

static void test_too_many_open_files_is_the_reason_that_is_told(void **state) {
    (void)state;
    assert_int_equal(without_descriptors(write_file), PGCN_ERR_IO);
    assert_error_says("Too many open files");
    assert_error_says("ulimit -n");
    scratch_write("graph_A.txt", "1, 2\n", 5);
    scratch_write("graph_graph_indicator.txt", "1\n1\n", 4);
    assert_int_equal(without_descriptors(load_folder), PGCN_ERR_IO); /* not: in no format */
    assert_error_says("Too many open files");
    assert_error_says(scratch);
}

static void test_data_set_that_cannot_be_reached_tells_why(void **state) {
    (void)state;
    pgcn_dataset *data = NULL;
    assert_int_equal(symlink("circle", scratch_path("circle")), 0);
    assert_int_equal(pgcn_dataset_load(scratch_path("circle"), NULL, &data), PGCN_ERR_IO);
    assert_error_says("symbolic links");
    assert_int_equal(pgcn_dataset_load(scratch_path("absent"), NULL, &data), PGCN_ERR_ARGUMENT);
    assert_error_says("neither built in");
    /* Root may read everything, so root becomes nobody for this. */
    bool root = geteuid() == 0;
    assert_int_equal(mkdir(scratch_path("closed"), 0700), 0);
    assert_int_equal(chmod(scratch, 0755), 0);
    assert_int_equal(chmod(scratch_path("closed"), 0), 0);
    if (root) assert_int_equal(seteuid(65534), 0);
    pgcn_status inside = pgcn_dataset_load(scratch_path("closed/set"), NULL, &data);
    bool said = strstr(pgcn_last_error(), "Permission denied") != NULL;
    pgcn_status itself = pgcn_dataset_load(scratch_path("closed"), NULL, &data);
    if (root) assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(scratch_path("closed"), 0700), 0);
    assert_int_equal(inside, PGCN_ERR_IO);
    assert_true(said);
    assert_int_equal(itself, PGCN_ERR_IO);
    assert_error_says("Permission denied");
}

static void test_available_memory_knows_the_limit_of_the_address_space(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("SKIPPED: a sanitizer maps more than any limit\n");
    skip();
#endif
    if (getenv("PATHGCN_EMULATED")) {
        print_message("SKIPPED: the emulator maps more than any limit\n");
        skip();
    }
    struct rlimit before, small;
    int64_t all = pgcn_memory_available();
    assert_true(all > 0);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    small = before;
    small.rlim_cur = (rlim_t)1 << 30;
    assert_int_equal(setrlimit(RLIMIT_AS, &small), 0);
    int64_t left = pgcn_memory_available();
    void *block = pgcn_i_alloc((int64_t)1 << 31, 1);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_true(left > 0 && left < (int64_t)1 << 30);
    assert_null(block);
    assert_error_says("out of memory: 2.0 GiB more are needed, and ");
    assert_error_says("B are available");
}

static void test_limit_of_the_address_space_is_named_where_there_is_one(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("SKIPPED: a sanitizer ends the program where malloc would say no\n");
    skip();
#endif
    if (getenv("PATHGCN_EMULATED")) skip();
    struct rlimit before, limited;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    if (before.rlim_cur != RLIM_INFINITY) skip();
    assert_null(strstr(pgcn_system_error(ENOMEM), "ulimit"));
    assert_null(pgcn_i_alloc((int64_t)1 << 60, 1));
    assert_null(strstr(pgcn_last_error(), "ulimit"));
    limited = before;
    limited.rlim_cur = (rlim_t)1 << 45; /* more than anything here maps, sanitizers too */
    assert_int_equal(setrlimit(RLIMIT_AS, &limited), 0);
    bool by_errno = strstr(pgcn_system_error(ENOMEM), "(ulimit -v)") != NULL;
    void *block = pgcn_i_alloc((int64_t)1 << 60, 1);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_true(by_errno);
    assert_null(block);
    assert_error_says("raise the limit of memory (ulimit -v)");
}

static void test_format_bytes_chooses_the_unit(void **state) {
    (void)state;
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {{0, "0 bytes"},
                 {1023, "1023 bytes"},
                 {1024, "1.0 KiB"},
                 {1500, "1.5 KiB"},
                 {78200000, "74.6 MiB"},
                 {(int64_t)3 << 30, "3.0 GiB"},
                 {4400000000000, "4.0 TiB"},
                 {INT64_MAX, "8192.0 PiB"},
                 {-1, "-1 bytes"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        pgcn_format_bytes(cases[i].bytes, text);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, end)
        TEST(test_system_error_has_reason_and_remedy),
        TEST(test_directory_that_cannot_be_made_tells_why),
        TEST(test_too_many_open_files_is_the_reason_that_is_told),
        TEST(test_data_set_that_cannot_be_reached_tells_why),
        TEST(test_available_memory_knows_the_limit_of_the_address_space),
        TEST(test_limit_of_the_address_space_is_named_where_there_is_one),
        TEST(test_format_bytes_chooses_the_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
