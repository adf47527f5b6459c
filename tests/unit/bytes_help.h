/* For the tests of our own files: whole files in memory, compared or damaged on purpose. Include
 * after cmocka.h. */
#ifndef PGCN_BYTES_HELP_H
#define PGCN_BYTES_HELP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct file_bytes {
    char *data;
    size_t count;
} file_bytes;

static inline file_bytes bytes_of(const char *path) {
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    file_bytes b = {malloc(1 << 25), 0};
    b.count = fread(b.data, 1, 1 << 25, stream);
    assert_true(b.count > 0 && b.count < 1 << 25);
    fclose(stream);
    return b;
}

static inline void assert_same_bytes(const char *a, const char *b) {
    file_bytes x = bytes_of(a), y = bytes_of(b);
    assert_int_equal(x.count, y.count);
    assert_memory_equal(x.data, y.data, x.count);
    free(x.data), free(y.data);
}

/* The text with one occurrence of `from` replaced by `to`, of the same length. */
static inline void change(file_bytes *b, const char *from, const char *to) {
    assert_int_equal(strlen(from), strlen(to));
    for (size_t i = 0; i + strlen(from) <= b->count; i++)
        if (memcmp(b->data + i, from, strlen(from)) == 0) {
            memcpy(b->data + i, to, strlen(to));
            return;
        }
    fail_msg("'%s' is not in the file", from);
}

#endif
