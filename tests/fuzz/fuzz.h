/* fuzz: hostile bytes for every reader. A target is a few lines: a name for the file, and what is
 * done with it. It is built twice:
 *
 *   tools/fuzz.sh        clang's libFuzzer makes the inputs, for as long as one likes
 *   make test            FUZZ_REPLAY: fuzz.c runs the seeds of corpus/<target>, cut short and with
 *                        changed bytes, under the address and undefined-behaviour sanitizers
 *
 * Both check more than that nothing crashes: what an input may make the library allocate is bounded
 * by its length, everything is freed again, and an error is one printable sentence.
 *
 * Formats of several files are given as a bundle: "=== NAME\n", the bytes of the file,
 * "\n=== NAME\n", the bytes of the next. */
#ifndef PGCN_FUZZ_H
#define PGCN_FUZZ_H

#include "data/data.h"

/* The target: reads `path`, the file with the input or the directory with those of the bundle. */
pgcn_status fuzz_read(const char *path);

typedef struct fuzz_target {
    const char *file; /* name of the input's file; NULL: the input is a bundle */
    bool fresh;       /* the directory is emptied before every input; for bundles it always is */
    bool zip;         /* the files of a bundle become members of bundle.npz, with right CRCs */
    int64_t bytes_per_byte; /* what a byte of input may make the library allocate */
} fuzz_target;
extern const fuzz_target fuzz_target_is;
enum { FUZZ_ORDINARY = 2000 };

/* A reader of data sets, and then all that pgcn_dataset_load does with its result; with the steps
 * in steps.txt, if the input is a bundle that holds it. What is accepted is saved as a container
 * and must come back the same. */
pgcn_status fuzz_dataset(const char *path, pgcn_i_format_detect detect, pgcn_i_format_read read);

#endif
