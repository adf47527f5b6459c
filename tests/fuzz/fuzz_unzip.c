/* Archives from the network: src/io/unzip.c. Nothing may appear outside the directory given. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const fuzz_target fuzz_target_is = {
    .file = "a.zip", .fresh = true, .bytes_per_byte = FUZZ_ORDINARY};

pgcn_status fuzz_read(const char *path) {
    char above[PGCN_I_PATH_BYTES], directory[PGCN_I_PATH_BYTES + 8];
    snprintf(above, sizeof above, "%.*s", (int)(strrchr(path, '/') - path), path);
    snprintf(directory, sizeof directory, "%s/out", above);
    if (mkdir(directory, 0700) != 0) abort();
    /* the files of the two good seeds, one of known length */
    static const pgcn_i_listed folder[] = {{"A.txt", 5}, {"b/c.txt", 0}}, deflated = {"a.txt", 0};
    pgcn_status status = pgcn_i_unzip(path, directory, folder, 2);
    if (status != PGCN_OK) status = pgcn_i_unzip(path, directory, &deflated, 1);
    int entries = 0;
    DIR *stream = opendir(above);
    while (stream && readdir(stream)) entries++;
    closedir(stream);
    if (entries != 4) abort(); /* ., .., a.zip, out */
    return status;
}
