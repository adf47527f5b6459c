/* For the tests of the readers of JSON graphs: sources that must be read or refused, small .npy
 * files. Include after cmocka.h. */
#ifndef PGCN_TEST_JSON_GRAPH_HELP_H
#define PGCN_TEST_JSON_GRAPH_HELP_H

#include "dataset_help.h"
#include "published_help.h"

static pgcn_i_source source;

static inline int begin_source(void **state) {
    source = (pgcn_i_source){0};
    return scratch_make(state);
}

static inline int end_source(void **state) {
    pgcn_i_source_free(&source);
    return scratch_remove(state);
}

static inline void write_text(const char *file, const char *text) {
    scratch_write(file, text, strlen(text));
}

static inline void write_array(const char *file, pgcn_i_dtype dtype, int rank, int64_t rows,
                               int64_t columns, const void *data) {
    int64_t count = rank == 1 ? rows : rows * columns;
    pgcn_i_array array = {dtype, rank, {rows, columns}, count, (void *)(uintptr_t)data};
    if (pgcn_i_npy_write(scratch_path(file), &array) != PGCN_OK) fail_msg("%s", pgcn_last_error());
}

static inline void read_source(pgcn_i_format_read read, const char *path) {
    pgcn_i_steps steps = {0};
    pgcn_i_source_free(&source);
    if (read(path, &steps, &source) != PGCN_OK) fail_msg("%s", pgcn_last_error());
}

static inline void assert_refused(pgcn_i_format_read read, const char *path, pgcn_status status,
                                  const char *says) {
    pgcn_i_steps steps = {0};
    pgcn_i_source_free(&source);
    pgcn_status found = read(path, &steps, &source);
    if (found == PGCN_OK) fail_msg("accepted, but should say: %s", says);
    assert_error_says(says);
    assert_int_equal(found, status);
}

static inline void assert_mask(const uint8_t *mask, const char *expected) {
    for (size_t i = 0; expected[i]; i++) assert_int_equal(mask[i], expected[i] - '0');
}

/* The prepared features of PPI as float64 [n, 50], as the original files hold them. */
static inline pgcn_i_array dense_ppi_features(pgcn_i_arena *arena) {
    enum { COLUMNS = 50 };
    pgcn_i_array offset = prepared("ppi", "x_indptr", arena);
    pgcn_i_array column = prepared("ppi", "x_indices", arena);
    pgcn_i_array value = prepared("ppi", "x_data", arena);
    int64_t n = offset.count - 1;
    double *x = PGCN_I_ARRAY(arena, double, n *COLUMNS);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = ((int64_t *)offset.data)[i]; e < ((int64_t *)offset.data)[i + 1]; e++)
            x[i * COLUMNS + ((int32_t *)column.data)[e]] = (double)((float *)value.data)[e];
    return (pgcn_i_array){PGCN_I_F64, 2, {n, COLUMNS}, n * COLUMNS, x};
}

#endif
