/* A user's own text files: src/data/own_files.c. Absent ones are not given. */
#include "fuzz.h"

const fuzz_target fuzz_target_is = {.bytes_per_byte = FUZZ_ORDINARY};

pgcn_status fuzz_read(const char *path) {
    static const char *const name[] = {"edges.csv", "features.csv", "labels.csv", "splits.csv"};
    char file[4][PGCN_I_PATH_BYTES];
    const char *given[4];
    pgcn_dataset *data = NULL;
    for (int i = 0; i < 4; i++) {
        PGCN_TRY(pgcn_i_path_join(file[i], path, name[i]));
        given[i] = i == 0 || pgcn_i_file_exists(file[i]) ? file[i] : NULL;
    }
    pgcn_dataset_files files = pgcn_dataset_files_default();
    files.edges = given[0];
    files.features = given[1];
    files.labels = given[2];
    files.splits = given[3];
    files.unknown_ids = PGCN_UNKNOWN_KEEP;
    PGCN_TRY(pgcn_dataset_from_files(&files, &data));
    pgcn_dataset_free(data);
    return PGCN_OK;
}
