/* What the tests of the kernels share: the tables of this processor, the channel counts, and the
 * comparison with a reference. */
#ifndef PGCN_TESTS_KERNELS_HELP_H
#define PGCN_TESTS_KERNELS_HELP_H

#include "ref/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* Around the widths of vectors and of blocks of vectors. */
static const int64_t channel_sizes[] = {1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 257};
static const char *const isa_names[] = {"baseline", "avx2", "avx512"};

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define FOR_EACH_SIZE(c)                                                                           \
    for (int c##_i = 0; c##_i < COUNT_OF(channel_sizes); c##_i++)                                  \
        for (int64_t c = channel_sizes[c##_i], c##_once = 1; c##_once; c##_once = 0)
/* Set i if it is built and supported here; with PATHGCN_ISA only the one of that name. */
static inline const pgcn_i_kernels *tested_table(int i) {
    const char *only = getenv("PATHGCN_ISA");
    if (only && *only && strcmp(only, isa_names[i]) != 0) return NULL;
    return pgcn_i_kernels_named(isa_names[i]);
}
#define FOR_EACH_TABLE(table)                                                                      \
    for (int table##_i = 0; table##_i < COUNT_OF(isa_names); table##_i++)                          \
        for (const pgcn_i_kernels *table = tested_table(table##_i); table; table = NULL)

/* The exit code of a skipped test if this processor lacks the set that PATHGCN_ISA names; 0 if not. */
static inline int skip_isa(void) {
    if (pgcn_ready() == PGCN_OK) return 0;
    print_message("SKIPPED: %s\n", pgcn_last_error());
    return strstr(pgcn_last_error(), "processor lacks") ? 77 : 1;
}

/* What destinations hold before a call, and still hold in the rows that were not asked for. */
#define MARK 3.0f

static inline void check(const pgcn_i_kernels *table, const char *what, int64_t c, const float *got,
                         const double *want, int64_t count, double tolerance) {
    double error = ref_error(got, want, count);
    if (!(error <= tolerance))
        fail_msg("%s of %s with c = %lld: error %g, tolerance %g", what, table->isa, (long long)c,
                 error, tolerance);
}

/* Rows begin..end-1 as wanted, all others still MARK. */
static inline void check_rows(const pgcn_i_kernels *table, const char *what, const float *got,
                              const double *want, int64_t n, int64_t begin, int64_t end, int64_t c,
                              double tolerance) {
    check(table, what, c, got + begin * c, want + begin * c, (end - begin) * c, tolerance);
    for (int64_t i = 0; i < n * c; i++)
        if ((i < begin * c || i >= end * c) && got[i] != MARK)
            fail_msg("%s of %s with c = %lld wrote element %lld, outside its rows", what,
                     table->isa, (long long)c, (long long)i);
}

#endif
