/* Matrix Market: src/data/matrix_market.c. */
#include "fuzz.h"

const fuzz_target fuzz_target_is = {.file = "a.mtx", .bytes_per_byte = FUZZ_ORDINARY};

pgcn_status fuzz_read(const char *path) {
    return fuzz_dataset(path, pgcn_i_matrix_market_detect, pgcn_i_matrix_market_read);
}
