/* NumPy archives: src/io/npz.c. Every member that can be found is read. */
#include "fuzz.h"

const fuzz_target fuzz_target_is = {.file = "a.npz", .bytes_per_byte = FUZZ_ORDINARY};

pgcn_status fuzz_read(const char *path) {
    static const char *const member[] = {"a", "b", "edges", "node_labels"};
    pgcn_i_arena arena = {0};
    pgcn_i_npz *npz = NULL;
    pgcn_status status = pgcn_i_npz_open(path, &npz);
    for (size_t i = 0; status == PGCN_OK && i < sizeof member / sizeof member[0]; i++) {
        pgcn_i_array array;
        if (pgcn_i_npz_has(npz, member[i]))
            status = pgcn_i_npz_read(npz, member[i], &arena, &array);
    }
    pgcn_i_npz_close(npz);
    pgcn_i_arena_free(&arena);
    return status;
}
