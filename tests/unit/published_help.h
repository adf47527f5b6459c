/* For tests against the published files: finds them by PATHGCN_DATA and compares what a reader
 * found with the prepared arrays, entry by entry. Include after cmocka.h. */
#ifndef PGCN_TEST_PUBLISHED_HELP_H
#define PGCN_TEST_PUBLISHED_HELP_H

#include "scratch_help.h"

#include "data/data.h"

/* Says why and skips the test unless PATHGCN_DATA is set; the directory otherwise. */
static inline const char *published_data(void) {
    const char *directory = getenv("PATHGCN_DATA");
    if (!directory || !*directory) {
        print_message("SKIPPED: PATHGCN_DATA is not set\n");
        skip();
    }
    return directory;
}

/* An array of a prepared folder; absent: count = -1. */
static inline pgcn_i_array prepared(const char *name, const char *file, pgcn_i_arena *arena) {
    char path[PGCN_I_PATH_BYTES];
    pgcn_i_array array = {.count = -1};
    snprintf(path, sizeof path, "%s/%s/%s.npy", published_data(), name, file);
    if (pgcn_i_file_exists(path) && pgcn_i_npy_read(path, arena, &array) != PGCN_OK)
        fail_msg("%s", pgcn_last_error());
    return array;
}

static inline void assert_prepared_features(const char *name, const pgcn_i_source *source) {
    pgcn_i_arena arena = {0};
    pgcn_i_array offset = prepared(name, "x_indptr", &arena);
    pgcn_i_array column = prepared(name, "x_indices", &arena);
    pgcn_i_array value = prepared(name, "x_data", &arena);
    assert_int_equal(source->nodes + 1, offset.count);
    assert_int_equal(source->x.n, source->nodes);
    assert_int_equal(source->x.nonzeros, column.count);
    assert_memory_equal(source->x.offset, offset.data, (size_t)offset.count * 8);
    assert_memory_equal(source->x.column, column.data, (size_t)column.count * 4);
    assert_memory_equal(source->x.value, value.data, (size_t)value.count * 4);
    pgcn_i_arena_free(&arena);
}

static inline void assert_prepared_labels(const char *name, const pgcn_i_source *source) {
    pgcn_i_arena arena = {0};
    pgcn_i_array label = prepared(name, "y", &arena);
    assert_int_equal(source->nodes, label.count);
    assert_memory_equal(source->label, label.data, (size_t)label.count * 4);
    pgcn_i_arena_free(&arena);
}

/* The edges in the order of the file. */
static inline void assert_prepared_edges(const char *name, const char *file,
                                         const pgcn_i_source *source) {
    pgcn_i_arena arena = {0};
    pgcn_i_array edges = prepared(name, file, &arena);
    assert_int_equal(source->edges, edges.shape[0]);
    for (int64_t e = 0; e < source->edges; e++) {
        assert_int_equal(source->edge_from[e], ((int32_t *)edges.data)[2 * e]);
        assert_int_equal(source->edge_to[e], ((int32_t *)edges.data)[2 * e + 1]);
    }
    pgcn_i_arena_free(&arena);
}

/* The last ten splits of the source. */
static inline void assert_prepared_splits(const char *name, const pgcn_i_source *source) {
    static const char *const file[3] = {"splits/train_masks", "splits/val_masks",
                                        "splits/test_masks"};
    pgcn_i_arena arena = {0};
    assert_true(source->splits >= 10);
    for (int k = 0; k < 3; k++) {
        pgcn_i_array mask = prepared(name, file[k], &arena);
        assert_int_equal(mask.shape[0], 10);
        assert_int_equal(mask.shape[1], source->nodes);
        for (int s = 0; s < 10; s++) {
            const pgcn_i_split *split = &source->split[source->splits - 10 + s];
            const uint8_t *found[3] = {split->train, split->val, split->test};
            char number[16];
            snprintf(number, sizeof number, "%d", s);
            assert_string_equal(split->name, number);
            assert_memory_equal(found[k], (uint8_t *)mask.data + s * source->nodes,
                                (size_t)source->nodes);
        }
    }
    pgcn_i_arena_free(&arena);
}

/* Whether a note has this in it. */
static inline bool has_note(const pgcn_i_source *source, const char *part) {
    for (int i = 0; i < source->notes; i++)
        if (strstr(source->note[i], part)) return true;
    return false;
}

#endif
