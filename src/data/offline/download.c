/* In place of ../download.c where the library is built without libcurl (PATHGCN_FETCH=OFF): no session
 * begins, so that pgcn_fetch() finds a set that is complete already and fails for all others.
 *
 * Called by fetch.c. Any thread. */
#include "data/registry.h"

static pgcn_status cannot_download(void) {
    return pgcn_i_fail(
        PGCN_ERR_SYSTEM,
        "this build cannot download; it was made without libcurl: download the set with "
        "a program that was made with it (pathgcn data fetch), or load a folder that "
        "holds its files");
}

pgcn_status pgcn_i_session_new(pgcn_i_session **out) {
    *out = NULL;
    return cannot_download();
}

void pgcn_i_session_free(pgcn_i_session *session) {
    (void)session;
}

pgcn_status pgcn_i_download(pgcn_i_session *session, const char *url, const char *path,
                            const pgcn_i_remote_file *expected, const pgcn_i_download_opts *opts,
                            pgcn_i_download_result *result) {
    (void)session, (void)url, (void)path, (void)expected, (void)opts;
    *result = (pgcn_i_download_result){0};
    return cannot_download();
}
