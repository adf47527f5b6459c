/* Models and checkpoints: src/io/safetensors.c. */
#include "fuzz.h"

const fuzz_target fuzz_target_is = {.file = "a.safetensors", .bytes_per_byte = FUZZ_ORDINARY};

pgcn_status fuzz_read(const char *path) {
    pgcn_i_safetensors *file = NULL;
    PGCN_TRY(pgcn_i_safetensors_read(path, &file));
    pgcn_i_safetensors_free(file);
    return PGCN_OK;
}
