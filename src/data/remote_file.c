/* Whether a file on disk is the one that the table of published data sets lists: by length and SHA-256.
 *
 * Called by fetch.c for what is there already, by download.c for what has arrived. Any thread. */
#include "data/registry.h"

#include <string.h>
#include <sys/stat.h>

pgcn_status pgcn_i_file_measure(const char *path, const pgcn_i_remote_file *expected,
                                int64_t *bytes, char hex[65]) {
    pgcn_i_reader reader;
    PGCN_TRY(pgcn_i_reader_open(&reader, path));
    *bytes = reader.bytes;
    hex[0] = '\0';
    pgcn_status status =
        *expected->sha256 ? pgcn_i_hash_reader(&reader, reader.bytes, hex) : PGCN_OK;
    pgcn_i_reader_close(&reader);
    return status;
}

pgcn_status pgcn_i_file_is(const char *path, const pgcn_i_remote_file *expected, bool *right) {
    struct stat about;
    *right = false;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) ||
        (expected->bytes > 0 && about.st_size != expected->bytes))
        return PGCN_OK;
    int64_t bytes;
    char hex[65];
    pgcn_status status = pgcn_i_file_measure(path, expected, &bytes, hex);
    *right = status == PGCN_OK && strcmp(hex, expected->sha256) == 0;
    return status;
}
