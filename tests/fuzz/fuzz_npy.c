/* NumPy arrays: src/io/npy.c. */
#include "fuzz.h"

const fuzz_target fuzz_target_is = {.file = "a.npy", .bytes_per_byte = FUZZ_ORDINARY};

pgcn_status fuzz_read(const char *path) {
    pgcn_i_arena arena = {0};
    pgcn_i_array array;
    pgcn_status status = pgcn_i_npy_read(path, &arena, &array);
    pgcn_i_arena_free(&arena);
    return status;
}
