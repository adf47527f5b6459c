/* For the tests of the data room: loading that must work, loading that must fail. Include after
 * cmocka.h. */
#ifndef PGCN_TEST_DATASET_HELP_H
#define PGCN_TEST_DATASET_HELP_H

#include "scratch_help.h"

#include "data/data.h"

static inline pgcn_dataset *load(const char *name, const pgcn_dataset_opts *opts) {
    pgcn_dataset *data = NULL;
    if (pgcn_dataset_load(name, opts, &data) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    return data;
}

static inline void assert_load_fails(const char *name, const pgcn_dataset_opts *opts,
                                     pgcn_status status, const char *says) {
    pgcn_dataset *data = NULL;
    assert_int_equal(pgcn_dataset_load(name, opts, &data), status);
    assert_null(data);
    assert_error_says(says);
}

static inline int64_t sum(const uint8_t *mask, int64_t n) {
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) total += mask[i];
    return total;
}

/* Loads and frees again, for fail_every_allocation(). */
static inline pgcn_status load_and_free(const char *name) {
    pgcn_dataset *data;
    PGCN_TRY(pgcn_dataset_load(name, NULL, &data));
    pgcn_dataset_free(data);
    return PGCN_OK;
}

#endif
