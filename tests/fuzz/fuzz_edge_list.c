/* Edge lists: src/data/edge_list.c. */
#include "fuzz.h"

const fuzz_target fuzz_target_is = {.file = "a.edges", .bytes_per_byte = FUZZ_ORDINARY};

pgcn_status fuzz_read(const char *path) {
    return fuzz_dataset(path, pgcn_i_edge_list_detect, pgcn_i_edge_list_read);
}
