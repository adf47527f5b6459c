/* For the tests of files: a directory of its own for each test, files made of given bytes, and
 * allocations that fail on purpose. Include after cmocka.h. */
#ifndef PGCN_TEST_SCRATCH_HELP_H
#define PGCN_TEST_SCRATCH_HELP_H

#include "io/io.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[64]; /* the directory of the running test */

__attribute__((unused)) static int scratch_make(void **state) {
    (void)state;
    strcpy(scratch, "/tmp/pathgcn_test_XXXXXX");
    return mkdtemp(scratch) ? 0 : -1;
}

static int remove_tree(const char *path) {
    DIR *stream = opendir(path);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        char inside[1024];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        if (remove(inside) != 0 && remove_tree(inside) != 0) break;
    }
    if (stream) closedir(stream);
    return remove(path);
}

__attribute__((unused)) static int scratch_remove(void **state) {
    (void)state;
    return remove_tree(scratch);
}

/* The path of a file in the directory; valid until the fourth call from now. */
static inline const char *scratch_path(const char *file) {
    static char path[4][1024];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", scratch, file);
    return path[next];
}

static inline const char *scratch_write(const char *file, const void *data, size_t bytes) {
    const char *path = scratch_path(file);
    remove(path); /* ext4 flushes a file that is truncated and written again, which is slow */
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(data, 1, bytes, stream), bytes);
    assert_int_equal(fclose(stream), 0);
    return path;
}

/* Files in the directory, hidden ones included: shows a forgotten temporary file. */
static inline int scratch_count(void) {
    DIR *stream = opendir(scratch);
    assert_non_null(stream);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(stream));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) count++;
    closedir(stream);
    return count;
}

static inline void assert_file_holds(const char *path, const void *data, int64_t bytes) {
    pgcn_i_arena arena = {0};
    char *found;
    int64_t found_bytes;
    assert_int_equal(pgcn_i_file_read(path, 1 << 20, &arena, &found, &found_bytes), PGCN_OK);
    assert_int_equal(found_bytes, bytes);
    assert_memory_equal(found, data, (size_t)bytes);
    pgcn_i_arena_free(&arena);
}

/* The last error must be one sentence with this in it. */
static inline void assert_error_says(const char *part) {
    if (!strstr(pgcn_last_error(), part))
        fail_msg("the error \"%s\" does not say \"%s\"", pgcn_last_error(), part);
}

/* ---- allocations that fail --------------------------------------------------------------- */

/* The library's own memory and Jansson's, counted together. Only the library's is counted as live:
 * JSON that a test made before is freed through the same hook. */
typedef struct failing_memory {
    long number, failed, live; /* which one fails; how many have */
    bool lasting;              /* and all that come after it */
    long asked;
} failing_memory;
static failing_memory failing; /* a test leaves by a long jump: no block of a function */

static inline bool allocation_fails(void) {
    bool fails =
        failing.lasting ? failing.asked >= failing.number : failing.asked == failing.number;
    failing.asked++;
    failing.failed += fails;
    return fails;
}

static inline void *failing_alloc(size_t bytes, size_t align, void *context) {
    (void)context;
    if (allocation_fails()) return NULL;
    failing.live++;
    return aligned_alloc(align, bytes);
}

static inline void failing_free(void *block, void *context) {
    (void)context;
    failing.live--;
    free(block);
}

static inline void *failing_json_alloc(size_t bytes) {
    if (!allocation_fails()) return malloc(bytes);
    errno = ENOMEM; /* as malloc does */
    return NULL;
}

/* Calls `run` with the 1st, 2nd, ... allocation failing, alone and with all after it, until none
 * fails any more. Each failure must be PGCN_ERR_MEMORY: what went on without its memory has lost
 * something in silence. Nothing may stay allocated; run frees its own result. Returns the number of
 * allocations, so that a test can see that there were some. */
static inline long fail_every_allocation(pgcn_status (*run)(void)) {
    for (long number = 0;; number++)
        for (int lasting = 0; lasting < 2; lasting++) {
            failing = (failing_memory){.number = number, .lasting = lasting == 1};
            pgcn_set_allocator(&(pgcn_allocator){failing_alloc, failing_free, NULL});
            json_set_alloc_funcs(failing_json_alloc, free);
            pgcn_status status = run();
            json_set_alloc_funcs(malloc, free);
            pgcn_set_allocator(NULL);
            assert_int_equal(failing.live, 0);
            if (failing.failed == 0) {
                if (status != PGCN_OK) fail_msg("without a failure: %s", pgcn_last_error());
                return number;
            }
            if (status != PGCN_ERR_MEMORY)
                fail_msg("allocation %ld failed%s: %s (%s)", number, lasting ? " for good" : "",
                         pgcn_status_name(status), pgcn_last_error());
            assert_true(number < 10000);
        }
}

#endif
