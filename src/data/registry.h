/* What registry.c (the table of published data sets), download.c (one file) and fetch.c (a set)
 * share.
 *
 * Comes in: a name. Goes out: files in a folder that the readers of this room know. Only these
 * three files and their tests include this; all others call pgcn_fetch() of the public header. */
#ifndef PGCN_REGISTRY_H
#define PGCN_REGISTRY_H

#include "base/base.h"
#include "io/io.h"

/* ---- the table (registry.c) ----------------------------------------------------------------- */

typedef struct pgcn_i_remote_file {
    const char *path;   /* below the URL of its part and below the folder of the set */
    int64_t bytes;      /* 0: not known */
    const char *sha256; /* 64 hex digits, "": not known */
} pgcn_i_remote_file;

/* Files from one URL: one by one from a folder, or in one archive. */
typedef struct pgcn_i_remote_part {
    const char *url;                /* of the folder, with its last slash; of the archive itself */
    const char *folder;             /* where they go in the folder of the set: "" or "splits/" */
    pgcn_i_remote_file archive;     /* path NULL: none */
    const pgcn_i_remote_file *file; /* of an archive: the members that must be in it */
    int files;
} pgcn_i_remote_part;

enum { PGCN_I_MAX_PARTS = 2 };
typedef struct pgcn_i_remote_set {
    pgcn_published about; /* without files and bytes, which are counted */
    int parts;
    pgcn_i_remote_part part[PGCN_I_MAX_PARTS];
} pgcn_i_remote_set;

/* NULL after the last. */
const pgcn_i_remote_set *pgcn_i_registry_get(int i);
/* By name or alias in any case of letters; NULL if there is none. */
const pgcn_i_remote_set *pgcn_i_registry_find(const char *name);
/* The measure in which the publishers of a set of that name report results. */
pgcn_measure pgcn_i_registry_measure(const char *name);
/* Transfers and their bytes, as far as they are known. */
void pgcn_i_registry_count(const pgcn_i_remote_set *set, int *files, int64_t *bytes);

/* ---- one file (download.c or, without libcurl, offline/download.c) -------------------------- */

/* Keeps connections open from one file to the next of the same server. */
typedef struct pgcn_i_session pgcn_i_session;
pgcn_status pgcn_i_session_new(pgcn_i_session **out);
void pgcn_i_session_free(pgcn_i_session *session);

typedef struct pgcn_i_download_opts {
    int retries;
    double pause_seconds, stall_seconds;
    double least_rate; /* bytes per second over stall_seconds; 0: any */
    /* Called several times a second with the bytes received so far; false stops. May be NULL. */
    bool (*progress)(void *context, int64_t bytes, int64_t total, int attempt, bool waiting);
    void *context;
} pgcn_i_download_opts;

typedef struct pgcn_i_download_result {
    int64_t downloaded; /* bytes received, repeated ones included */
    int attempts;
    bool stopped;   /* by `progress` */
    bool not_found; /* the server answered that it has no such file */
    bool no_answer; /* no server, or too slow: another file would fail too */
    bool disk;      /* a local failure: another server would not help */
} pgcn_i_download_result;

/* Downloads `url` to `path`. Until it is complete and has the length and SHA-256 of `expected` (as
 * far as they are known) it is path.part, which a later call continues if the server still has the
 * same file; path.part.tag keeps its ETag. A wrong file is removed. Errors: PGCN_ERR_FORMAT for a
 * wrong file, PGCN_ERR_IO for all others. */
pgcn_status pgcn_i_download(pgcn_i_session *session, const char *url, const char *path,
                            const pgcn_i_remote_file *expected, const pgcn_i_download_opts *opts,
                            pgcn_i_download_result *result);

/* ---- is it that file? (remote_file.c) -------------------------------------------------------- */

/* Length and, if `expected` knows one, SHA-256 of a file; hex = "" otherwise. */
pgcn_status pgcn_i_file_measure(const char *path, const pgcn_i_remote_file *expected,
                                int64_t *bytes, char hex[65]);
/* Whether the file is there and is, as far as known, the expected one. Errors: PGCN_ERR_MEMORY. */
pgcn_status pgcn_i_file_is(const char *path, const pgcn_i_remote_file *expected, bool *right);

/* ---- a set (fetch.c) ----------------------------------------------------------------------- */

/* pgcn_fetch() of any set: tests have sets of their own. */
pgcn_status pgcn_i_fetch(const pgcn_i_remote_set *set, const pgcn_fetch_opts *opts,
                         pgcn_fetch_result *out);

#endif
