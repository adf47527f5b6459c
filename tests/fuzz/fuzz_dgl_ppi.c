/* PPI of DGL: src/data/dgl_ppi.c and src/data/node_link.c. */
#include "fuzz.h"

const fuzz_target fuzz_target_is = {.bytes_per_byte = FUZZ_ORDINARY};

pgcn_status fuzz_read(const char *path) {
    return fuzz_dataset(path, pgcn_i_dgl_ppi_detect, pgcn_i_dgl_ppi_read);
}
