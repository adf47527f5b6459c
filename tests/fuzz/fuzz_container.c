/* Containers: src/data/container.c. */
#include "fuzz.h"

const fuzz_target fuzz_target_is = {.file = "a.pgcn", .bytes_per_byte = FUZZ_ORDINARY};

pgcn_status fuzz_read(const char *path) {
    (void)pgcn_i_container_verify(path); /* what `data check` does */
    return fuzz_dataset(path, pgcn_i_container_detect, pgcn_i_container_read);
}
