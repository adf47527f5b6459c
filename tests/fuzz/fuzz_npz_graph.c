/* Graphs in .npz files: src/data/npz_graph.c. The bundle holds the members. */
#include "fuzz.h"

const fuzz_target fuzz_target_is = {.zip = true, .bytes_per_byte = FUZZ_ORDINARY};

pgcn_status fuzz_read(const char *path) {
    return fuzz_dataset(path, pgcn_i_npz_graph_detect, pgcn_i_npz_graph_read);
}
