/* Models and checkpoints: src/io/safetensors.c. From memory they must come to the same. */
#include "fuzz.h"

#include <stdlib.h>

const fuzz_target fuzz_target_is = {.file = "a.safetensors", .bytes_per_byte = FUZZ_ORDINARY};

pgcn_status fuzz_read(const char *path) {
    pgcn_i_safetensors *file = NULL, *same = NULL;
    pgcn_i_arena arena = {0};
    char *bytes;
    int64_t size;
    PGCN_TRY(pgcn_i_file_read(path, INT32_MAX, &arena, &bytes, &size));
    pgcn_status memory = pgcn_i_safetensors_unpack("memory", bytes, size, &same);
    pgcn_i_arena_free(&arena);
    pgcn_status status = pgcn_i_safetensors_read(path, &file);
    if (memory != status || (file && file->count != same->count)) abort();
    pgcn_i_safetensors_free(same);
    pgcn_i_safetensors_free(file);
    return status;
}
