/* Folders of .npy files: src/data/folder.c. */
#include "fuzz.h"

const fuzz_target fuzz_target_is = {.bytes_per_byte = FUZZ_ORDINARY};

pgcn_status fuzz_read(const char *path) {
    return fuzz_dataset(path, pgcn_i_folder_detect, pgcn_i_folder_read);
}
