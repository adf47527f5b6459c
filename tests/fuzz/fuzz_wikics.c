/* Wiki-CS: src/data/wikics.c and src/io/json_stream.c. */
#include "fuzz.h"

const fuzz_target fuzz_target_is = {.file = "data.json", .bytes_per_byte = FUZZ_ORDINARY};

pgcn_status fuzz_read(const char *path) {
    return fuzz_dataset(path, pgcn_i_wikics_detect, pgcn_i_wikics_read);
}
