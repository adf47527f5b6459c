/* A user's own text files: src/data/own_files.c and encode.c. Absent ones are not given. The bundle may
 * hold the rules of a model, encoder.json, and columns.txt: the lines id, use, ignore, label, from and
 * to. Where rules were learnt, reading the same files by these rules must give the same features. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

const fuzz_target fuzz_target_is = {.bytes_per_byte = FUZZ_ORDINARY};

/* The text of a file of the bundle; NULL if it is not there. */
static pgcn_status read_text(const char *path, const char *name, pgcn_i_arena *arena, char **out) {
    char file[PGCN_I_PATH_BYTES];
    int64_t bytes;
    *out = NULL;
    PGCN_TRY(pgcn_i_path_join(file, path, name));
    if (!pgcn_i_file_exists(file)) return PGCN_OK;
    PGCN_TRY(pgcn_i_file_read(file, 1 << 20, arena, out, &bytes));
    return PGCN_OK;
}

static void set_columns(char *text, pgcn_dataset_files *files) {
    const char **field[] = {&files->id,    &files->use,  &files->ignore,
                            &files->label, &files->from, &files->to};
    for (int i = 0; i < 6 && text; i++) {
        char *end = strchr(text, '\n');
        if (end) *end = '\0';
        *field[i] = *text ? text : NULL;
        text = end ? end + 1 : NULL;
    }
    if (!files->features) files->use = files->ignore = NULL;
    if (!files->labels) files->label = NULL;
}

/* Another result by the same rules is a defect. */
static pgcn_status read_again(pgcn_dataset_files files, const pgcn_dataset *data) {
    pgcn_dataset *again = NULL;
    files.encoder = pgcn_dataset_encoder(data);
    if (!files.encoder) return PGCN_OK;
    pgcn_status status = pgcn_dataset_from_files(&files, &again);
    if (status == PGCN_ERR_MEMORY) return status;
    const char *was = pgcn_dataset_describe(data).fingerprint;
    if (status != PGCN_OK || strcmp(pgcn_dataset_describe(again).fingerprint, was) != 0) abort();
    pgcn_dataset_free(again);
    return PGCN_OK;
}

static pgcn_status read_bundle(const char *path, pgcn_i_arena *arena) {
    static const char *const name[] = {"edges.csv", "features.csv", "labels.csv", "splits.csv"};
    char file[4][PGCN_I_PATH_BYTES], *encoder, *columns;
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
    PGCN_TRY(read_text(path, "encoder.json", arena, &encoder));
    PGCN_TRY(read_text(path, "columns.txt", arena, &columns));
    files.encoder = encoder;
    set_columns(columns, &files);
    PGCN_TRY(pgcn_dataset_from_files(&files, &data));
    pgcn_status status = read_again(files, data);
    pgcn_dataset_free(data);
    return status;
}

pgcn_status fuzz_read(const char *path) {
    pgcn_i_arena arena = {0};
    pgcn_status status = read_bundle(path, &arena);
    pgcn_i_arena_free(&arena);
    return status;
}
