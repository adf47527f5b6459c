/* Downloads a published data set from its home, or from a mirror, into a folder.
 *
 *   DIRECTORY/.cora.part/   where the files are put together; kept when something breaks, locked
 *                           while a call is at work in it
 *   DIRECTORY/cora/         appears by one rename when every file is there and right
 *
 * so that a reader never sees an incomplete set. If the folder exists already (files put there by
 * hand, or damaged ones), missing or wrong files are moved into it one by one. A folder that holds
 * other data is left alone.
 *
 * A mirror holds <name>/<file> as the folder does, an archive either as such or unpacked: a copy of
 * somebody's cache will do. It is tried first, then the home.
 *
 * The files of a set are in registry.c, one transfer is in download.c. Called through pgcn_fetch()
 * by programs and the command line. Any thread; a lock keeps two calls out of the same folder. */
#include "data/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    URL_BYTES = 4 * PGCN_I_PATH_BYTES, /* every byte of a path may become %XX */
    NOTE_BYTES = 512,
    MOST_RETRIES = 100,
    MOST_RATE = 1000000000, /* largest rate in bytes per second that can be required */
    LOCK_ATTEMPTS = 5
};

typedef struct job {
    const pgcn_i_remote_set *set;
    pgcn_fetch_opts opts;
    pgcn_fetch_result *result;
    pgcn_i_session *session;
    char folder[PGCN_I_PATH_BYTES];  /* of the set, when it is complete */
    char staging[PGCN_I_PATH_BYTES]; /* the staging folder */
    char mirror[URL_BYTES];          /* URL with its last slash, "" for none */
    char mirror_error[NOTE_BYTES];   /* why the mirror failed, for the error */
    bool mirror_dead;
    int lock;
    int64_t done_bytes; /* of the files before this one */
    pgcn_fetch_progress progress;
} job;

/* ---- paths ----------------------------------------------------------------------------------- */

const char *pgcn_cache_directory(void) {
    static _Thread_local char path[PGCN_I_PATH_BYTES];
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (cache && *cache == '/') /* XDG: a relative path must be ignored */
        length = snprintf(path, sizeof path, "%s/pathgcn", cache);
    else if (home && *home)
        length = snprintf(path, sizeof path, "%s/.cache/pathgcn", home);
    return length > 0 && length < (int)sizeof path ? path : NULL;
}

/* Makes the parent folders of a file below `top`. */
static pgcn_status make_parents(const char *top, const char *file) {
    char path[PGCN_I_PATH_BYTES];
    PGCN_TRY(pgcn_i_path_join(path, top, file));
    *strrchr(path, '/') = '\0';
    return pgcn_directory_make(path);
}

static bool is_url(const char *text) {
    return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0 ||
           strncasecmp(text, "file://", 7) == 0;
}

/* "/a b" becomes "file:///a%20b". */
static void write_file_url(char out[URL_BYTES], const char *path) {
    size_t used = (size_t)snprintf(out, URL_BYTES, "file://");
    for (; *path && used + 4 < URL_BYTES; path++) {
        bool plain = (*path >= 'a' && *path <= 'z') || (*path >= 'A' && *path <= 'Z') ||
                     (*path >= '0' && *path <= '9') || strchr("/-._~", *path);
        used += (size_t)snprintf(out + used, URL_BYTES - used, plain ? "%c" : "%%%02X",
                                 plain ? *path : (unsigned char)*path);
    }
    out[used] = '\0';
}

/* The mirror as a URL that ends in a slash. */
static pgcn_status find_mirror(job *j) {
    const char *mirror = j->opts.mirror ? j->opts.mirror : getenv("PATHGCN_MIRROR");
    char real[PATH_MAX];
    if (!mirror || !*mirror) {
        if (!j->opts.mirror_only) return PGCN_OK;
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "only the mirror shall be asked, but none is given; "
                                              "name one (--mirror, or PATHGCN_MIRROR)");
    }
    if (is_url(mirror)) {
        if (strlen(mirror) > PGCN_I_PATH_BYTES)
            return pgcn_i_fail(PGCN_ERR_ARGUMENT, "the mirror '%.100s...' is too long", mirror);
        snprintf(j->mirror, sizeof j->mirror, "%s", mirror);
    } else if (pgcn_i_is_directory(mirror) && realpath(mirror, real)) {
        write_file_url(j->mirror, real);
    } else {
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "the mirror '%s' is neither a URL (http, https, file) nor a directory",
                           mirror);
    }
    size_t length = strlen(j->mirror);
    if (j->mirror[length - 1] != '/') memcpy(j->mirror + length, "/", 2);
    return PGCN_OK;
}

/* ---- trees of files -------------------------------------------------------------------------- */

/* Path of a file of a part, below the folder of the set. */
static void file_path(char out[PGCN_I_PATH_BYTES], const pgcn_i_remote_part *part,
                      const pgcn_i_remote_file *file) {
    snprintf(out, PGCN_I_PATH_BYTES, "%s%s", part->folder, file->path);
}

/* Calls `visit` for every file below `top`/`under`, then removes folders that are empty. */
typedef pgcn_status (*visitor)(job *j, const char *file);
static pgcn_status walk(job *j, const char *top, const char *under, visitor visit) {
    char folder[PGCN_I_PATH_BYTES], path[PGCN_I_PATH_BYTES], inside[PGCN_I_PATH_BYTES];
    PGCN_TRY(pgcn_i_path_join(folder, top, under));
    DIR *stream = opendir(folder);
    if (!stream)
        return pgcn_i_fail(PGCN_ERR_IO, "cannot list '%s': %s", folder, pgcn_system_error(errno));
    pgcn_status status = PGCN_OK;
    for (struct dirent *entry; status == PGCN_OK;) {
        status = pgcn_i_directory_next(stream, folder, &entry);
        if (status != PGCN_OK || !entry) break;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        struct stat about;
        int length =
            snprintf(inside, sizeof inside, "%s%s%s", under, *under ? "/" : "", entry->d_name);
        if (length >= (int)sizeof inside) continue;
        status = pgcn_i_path_join(path, top, inside);
        if (status != PGCN_OK || lstat(path, &about) != 0) continue;
        if (S_ISDIR(about.st_mode)) {
            status = walk(j, top, inside, visit);
            if (status == PGCN_OK) rmdir(path);
        } else {
            status = visit(j, inside);
        }
    }
    closedir(stream);
    return status;
}

static pgcn_status remove_staged(job *j, const char *file) {
    char path[PGCN_I_PATH_BYTES];
    PGCN_TRY(pgcn_i_path_join(path, j->staging, file));
    unlink(path);
    return PGCN_OK;
}

/* Only files of the table belong into the staging folder. Others are left from failed attempts, of
 * this version or of one that unpacked complete archives. */
static pgcn_status remove_unlisted(job *j, const char *file) {
    char name[PGCN_I_PATH_BYTES];
    for (int p = 0; p < j->set->parts; p++)
        for (int f = 0; f < j->set->part[p].files; f++) {
            file_path(name, &j->set->part[p], &j->set->part[p].file[f]);
            if (strcmp(name, file) == 0) return PGCN_OK;
        }
    return remove_staged(j, file);
}

static pgcn_status move_to_folder(job *j, const char *file) {
    char from[PGCN_I_PATH_BYTES], to[PGCN_I_PATH_BYTES];
    PGCN_TRY(pgcn_i_path_join(from, j->staging, file));
    PGCN_TRY(pgcn_i_path_join(to, j->folder, file));
    PGCN_TRY(make_parents(j->folder, file));
    if (rename(from, to) == 0) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_IO, "cannot move '%s' to '%s': %s", from, to,
                       pgcn_system_error(errno));
}

/* ---- what is here ---------------------------------------------------------------------------- */

static pgcn_status check_file(const char *top, const pgcn_i_remote_part *part,
                              const pgcn_i_remote_file *file, bool *right) {
    char name[PGCN_I_PATH_BYTES], path[PGCN_I_PATH_BYTES];
    file_path(name, part, file);
    PGCN_TRY(pgcn_i_path_join(path, top, name));
    return pgcn_i_file_is(path, file, right);
}

/* Whether a file is right; an unreadable one counts as wrong, since it can be fetched again. */
static pgcn_status is_right(const char *top, const pgcn_i_remote_part *part,
                            const pgcn_i_remote_file *file, bool *right) {
    pgcn_status status = check_file(top, part, file, right);
    return status == PGCN_ERR_IO ? PGCN_OK : status;
}

/* Whether a file need not be fetched. */
static pgcn_status is_here(const job *j, const pgcn_i_remote_part *part,
                           const pgcn_i_remote_file *file, bool *here) {
    *here = false;
    if (j->opts.force) return PGCN_OK;
    PGCN_TRY(is_right(j->folder, part, file, here));
    return *here ? PGCN_OK : is_right(j->staging, part, file, here);
}

static pgcn_status is_complete(const job *j, bool *complete) {
    *complete = !j->opts.force;
    for (int p = 0; p < j->set->parts; p++)
        for (int f = 0; f < j->set->part[p].files && *complete; f++) {
            const pgcn_i_remote_part *part = &j->set->part[p];
            PGCN_TRY(is_right(j->folder, part, &part->file[f], complete));
        }
    return PGCN_OK;
}

/* A folder of that name that holds no file of this set is other data of the user. */
static pgcn_status check_folder(const job *j) {
    if (!pgcn_i_file_exists(j->folder)) return PGCN_OK;
    DIR *stream = opendir(j->folder);
    if (!stream)
        return pgcn_i_fail(PGCN_ERR_IO, "cannot use '%s' for the data set: %s", j->folder,
                           pgcn_system_error(errno));
    int entries = 0;
    for (struct dirent *entry; (entry = readdir(stream));)
        entries += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(stream);
    for (int p = 0; p < j->set->parts; p++)
        for (int f = 0; f < j->set->part[p].files; f++) {
            char name[PGCN_I_PATH_BYTES], path[PGCN_I_PATH_BYTES];
            file_path(name, &j->set->part[p], &j->set->part[p].file[f]);
            PGCN_TRY(pgcn_i_path_join(path, j->folder, name));
            if (pgcn_i_file_exists(path)) return PGCN_OK;
        }
    if (entries == 0) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_IO,
                       "'%s' exists and holds other files than those of %s; nothing was changed, "
                       "choose another directory (--out)",
                       j->folder, j->set->about.name);
}

/* Opens and locks the staging folder. Between making and locking it another call may have finished
 * and renamed it: then the lock is on the wrong folder. */
static pgcn_status lock_staging(job *j) {
    for (int attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
        struct stat locked, named;
        PGCN_TRY(pgcn_directory_make(j->staging));
        j->lock = open(j->staging, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (j->lock < 0)
            return pgcn_i_fail(PGCN_ERR_IO, "cannot open the directory '%s': %s", j->staging,
                               pgcn_system_error(errno));
        if (flock(j->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
            return pgcn_i_fail(PGCN_ERR_IO,
                               "another program is fetching %s into the same directory at this "
                               "moment; wait for it",
                               j->set->about.name);
        if (fstat(j->lock, &locked) == 0 && stat(j->staging, &named) == 0 &&
            locked.st_ino == named.st_ino && locked.st_dev == named.st_dev)
            return PGCN_OK; /* also if the file system has no locks: then calls may collide */
        close(j->lock);
        j->lock = -1;
    }
    return pgcn_i_fail(PGCN_ERR_IO, "the directory '%s' changes all the time; try again",
                       j->staging);
}

/* ---- transfers ------------------------------------------------------------------------------- */

static bool on_progress(void *context, int64_t bytes, int64_t total, int attempt, bool waiting) {
    job *j = context;
    pgcn_fetch_progress *p = &j->progress;
    p->file_bytes = bytes;
    p->file_total = total;
    p->set_bytes = j->done_bytes + bytes;
    if (p->files == 1) p->set_total = total;
    p->attempt = attempt;
    p->waiting = waiting;
    return !j->opts.progress || j->opts.progress(p, j->opts.context);
}

static pgcn_status transfer(job *j, const char *url, const char *name,
                            const pgcn_i_remote_file *file, pgcn_i_download_result *outcome) {
    char path[PGCN_I_PATH_BYTES];
    *outcome = (pgcn_i_download_result){0};
    PGCN_TRY(pgcn_i_path_join(path, j->staging, name));
    PGCN_TRY(make_parents(j->staging, name));
    pgcn_i_download_opts opts = {.retries = j->opts.retries,
                                 .pause_seconds = j->opts.pause_seconds,
                                 .stall_seconds = j->opts.stall_seconds,
                                 .least_rate = j->opts.least_rate,
                                 .progress = on_progress,
                                 .context = j};
    pgcn_status status = pgcn_i_download(j->session, url, path, file, &opts, outcome);
    j->result->downloaded += outcome->downloaded;
    return status;
}

static bool ask_mirror(const job *j) {
    return j->mirror[0] && !j->mirror_dead;
}

/* Downloads from the mirror. After a failure with *final = false the home is tried. */
static pgcn_status from_mirror(job *j, const char *name, const pgcn_i_remote_file *file,
                               bool *not_found, bool *final) {
    char url[2 * URL_BYTES];
    pgcn_i_download_result outcome;
    snprintf(url, sizeof url, "%s%s/%s", j->mirror, j->set->about.name, name);
    pgcn_status status = transfer(j, url, name, file, &outcome);
    *not_found = outcome.not_found;
    *final = outcome.stopped || outcome.disk || status == PGCN_ERR_MEMORY;
    j->mirror_dead = outcome.no_answer;
    if (status != PGCN_OK)
        snprintf(j->mirror_error, sizeof j->mirror_error, "%.*s", NOTE_BYTES - 1,
                 pgcn_last_error());
    return status;
}

/* The final error: what failed at home, what at the mirror, and what can be done. */
static pgcn_status give_up(const job *j, pgcn_status status, const char *name) {
    char error[1024];
    snprintf(error, sizeof error, "%s", pgcn_last_error());
    bool both = j->mirror_error[0] && !j->opts.mirror_only;
    return pgcn_i_fail(
        status,
        "%s%s%s%s; try again later, name %s mirror (--mirror, PATHGCN_MIRROR), or get the file by "
        "hand and put it to '%s/%s'",
        error, both ? " (and before that, " : "", both ? j->mirror_error : "", both ? ")" : "",
        j->mirror[0] ? "another" : "a", j->folder, name);
}

static pgcn_status from_home(job *j, const char *url, const char *name,
                             const pgcn_i_remote_file *file) {
    pgcn_i_download_result outcome;
    pgcn_status status = transfer(j, url, name, file, &outcome);
    bool here = outcome.stopped || outcome.disk || status == PGCN_ERR_MEMORY;
    return status == PGCN_OK || here ? status : give_up(j, status, name);
}

/* Reports the next file, and counts the one before it. */
static void next_file(job *j, const char *file) {
    j->done_bytes += j->progress.file_bytes;
    j->progress.file = file;
    j->progress.file_number++;
    j->progress.file_bytes = j->progress.file_total = 0;
}

static pgcn_status fetch_file(job *j, const char *url, const char *name,
                              const pgcn_i_remote_file *file) {
    bool not_found, final;
    if (ask_mirror(j)) {
        pgcn_status status = from_mirror(j, name, file, &not_found, &final);
        if (status == PGCN_OK || final) return status;
        if (j->opts.mirror_only) return give_up(j, status, name);
    }
    if (j->opts.mirror_only) /* it died at an earlier file */
        return pgcn_i_fail(PGCN_ERR_IO, "%s", j->mirror_error);
    return from_home(j, url, name, file);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static pgcn_status fetch_files(job *j, const pgcn_i_remote_part *part) {
    for (int f = 0; f < part->files; f++) {
        const pgcn_i_remote_file *file = &part->file[f];
        char name[PGCN_I_PATH_BYTES], url[URL_BYTES];
        file_path(name, part, file);
        next_file(j, name);
        bool here;
        PGCN_TRY(is_here(j, part, file, &here));
        if (here) {
            j->progress.file_bytes = file->bytes;
            j->result->kept++;
            continue;
        }
        snprintf(url, sizeof url, "%s%s", part->url, file->path);
        PGCN_TRY(fetch_file(j, url, name, file));
        j->result->fetched++;
    }
    return PGCN_OK;
}

static pgcn_status unzip_members(const pgcn_i_remote_part *part, const char *archive,
                                 const char *folder) {
    pgcn_i_listed *listed = pgcn_i_alloc(part->files, sizeof *listed);
    if (!listed) return PGCN_ERR_MEMORY;
    for (int f = 0; f < part->files; f++)
        listed[f] = (pgcn_i_listed){part->file[f].path, part->file[f].bytes};
    pgcn_status status = pgcn_i_unzip(archive, folder, listed, part->files);
    pgcn_i_free(listed);
    return status;
}

/* Unpacks the members that the table lists and checks them. A wrong archive is not kept. */
static pgcn_status unpack(job *j, const pgcn_i_remote_part *part, const char *archive) {
    char path[PGCN_I_PATH_BYTES], folder[PGCN_I_PATH_BYTES];
    PGCN_TRY(pgcn_i_path_join(path, j->staging, archive));
    PGCN_TRY(pgcn_i_path_join(folder, j->staging, part->folder));
    pgcn_status status = unzip_members(part, path, folder);
    if (status != PGCN_ERR_IO) unlink(path); /* a full disk: the archive is still good */
    if (status != PGCN_OK) return status;
    for (int f = 0; f < part->files; f++) {
        bool right;
        PGCN_TRY(check_file(j->staging, part, &part->file[f], &right));
        if (right) continue;
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "%s holds another %s than expected; the archive at this address "
                           "has changed, or it is another file",
                           archive, part->file[f].path);
    }
    return PGCN_OK;
}

/* The members one by one, from a mirror that holds them unpacked. */
static pgcn_status members_from_mirror(job *j, const pgcn_i_remote_part *part, bool *final) {
    *final = false;
    for (int f = 0; f < part->files; f++) {
        char name[PGCN_I_PATH_BYTES];
        bool not_found, right;
        file_path(name, part, &part->file[f]);
        PGCN_TRY(is_right(j->staging, part, &part->file[f], &right));
        if (right) continue;
        j->progress.file = name;
        PGCN_TRY(from_mirror(j, name, &part->file[f], &not_found, final));
    }
    return PGCN_OK;
}

static pgcn_status archive_from_mirror(job *j, const pgcn_i_remote_part *part, bool *final) {
    bool not_found;
    const char *archive = part->archive.path;
    pgcn_status status = from_mirror(j, archive, &part->archive, &not_found, final);
    if (status == PGCN_OK) {
        status = unpack(j, part, archive);
        *final = status == PGCN_ERR_IO || status == PGCN_ERR_MEMORY;
        if (status != PGCN_OK)
            snprintf(j->mirror_error, sizeof j->mirror_error, "%.*s", NOTE_BYTES - 1,
                     pgcn_last_error());
        return status;
    }
    return not_found && !*final ? members_from_mirror(j, part, final) : status;
}

static pgcn_status fetch_archive(job *j, const pgcn_i_remote_part *part) {
    const char *archive = part->archive.path;
    bool final = false, here = true;
    next_file(j, archive);
    for (int f = 0; f < part->files && here; f++) PGCN_TRY(is_here(j, part, &part->file[f], &here));
    if (here) {
        j->progress.file_bytes = part->archive.bytes;
        j->result->kept++;
        return PGCN_OK;
    }
    pgcn_status status = PGCN_ERR_IO;
    if (ask_mirror(j)) status = archive_from_mirror(j, part, &final);
    if (status == PGCN_ERR_MEMORY) return status;
    if (status != PGCN_OK && j->opts.mirror_only && !final) return give_up(j, status, archive);
    if (status != PGCN_OK && !final) {
        j->progress.file = archive;
        PGCN_TRY(from_home(j, part->url, archive, &part->archive));
        status = unpack(j, part, archive);
        if (status == PGCN_ERR_FORMAT) status = give_up(j, status, part->file[0].path);
    }
    if (status == PGCN_OK) j->result->fetched++;
    return status;
}

/* ---- a set ----------------------------------------------------------------------------------- */

/* Everything is in the staging folder, or in the folder already. */
static pgcn_status install(job *j) {
    PGCN_TRY(walk(j, j->staging, "", remove_unlisted));
    if (!pgcn_i_file_exists(j->folder)) {
        if (rename(j->staging, j->folder) == 0) return PGCN_OK;
        return pgcn_i_fail(PGCN_ERR_IO, "cannot rename '%s' to '%s': %s", j->staging, j->folder,
                           pgcn_system_error(errno));
    }
    PGCN_TRY(walk(j, j->staging, "", move_to_folder));
    rmdir(j->staging);
    return PGCN_OK;
}

static pgcn_status fetch_parts(job *j) {
    PGCN_TRY(
        pgcn_i_session_new(&j->session)); /* first: a build that cannot leaves no folder behind */
    PGCN_TRY(lock_staging(j));
    if (j->opts.force) PGCN_TRY(walk(j, j->staging, "", remove_staged));
    for (int p = 0; p < j->set->parts; p++) {
        const pgcn_i_remote_part *part = &j->set->part[p];
        PGCN_TRY(part->archive.path ? fetch_archive(j, part) : fetch_files(j, part));
    }
    return install(j);
}

pgcn_fetch_opts pgcn_fetch_opts_default(void) {
    return (pgcn_fetch_opts){.size = sizeof(pgcn_fetch_opts),
                             .retries = 4,
                             .pause_seconds = 1,
                             .stall_seconds = 30,
                             .least_rate = 1000};
}

static pgcn_status prepare(job *j, const pgcn_fetch_opts *given) {
    j->opts = pgcn_fetch_opts_default();
    PGCN_TRY(pgcn_i_opts_over(&j->opts, sizeof j->opts, given, "pgcn_fetch_opts_default"));
    if (j->opts.retries < 0 || j->opts.retries > MOST_RETRIES)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "retries is %d, expected 0 to %d", j->opts.retries,
                           MOST_RETRIES);
    if (!(j->opts.pause_seconds >= 0 && j->opts.pause_seconds <= 3600) ||
        !(j->opts.stall_seconds >= 1 && j->opts.stall_seconds <= 3600))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "pause_seconds is %g and stall_seconds %g, expected 0 to 3600 and 1 to "
                           "3600",
                           j->opts.pause_seconds, j->opts.stall_seconds);
    if (!(j->opts.least_rate >= 0 && j->opts.least_rate <= MOST_RATE))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "least_rate is %g, expected 0 to %d bytes per second",
                           j->opts.least_rate, MOST_RATE);
    const char *directory = j->opts.directory ? j->opts.directory : pgcn_cache_directory();
    if (!directory)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "there is no directory for data sets: neither "
                                              "XDG_CACHE_HOME nor HOME is set; name one (--out)");
    if (!*directory) return pgcn_i_fail(PGCN_ERR_ARGUMENT, "the name of the directory is empty");
    char hidden[128];
    snprintf(hidden, sizeof hidden, ".%s.part", j->set->about.name);
    PGCN_TRY(pgcn_i_path_join(j->folder, directory, j->set->about.name));
    PGCN_TRY(pgcn_i_path_join(j->staging, directory, hidden));
    j->progress.name = j->set->about.name;
    pgcn_i_registry_count(j->set, &j->progress.files, &j->progress.set_total);
    return find_mirror(j);
}

pgcn_status pgcn_i_fetch(const pgcn_i_remote_set *set, const pgcn_fetch_opts *opts,
                         pgcn_fetch_result *out) {
    pgcn_fetch_result result = {0};
    job *j = pgcn_i_alloc(1, sizeof *j); /* too large for a stack of unknown size */
    if (!j) return PGCN_ERR_MEMORY;
    j->set = set;
    j->result = &result;
    j->lock = -1;
    bool complete = false;
    pgcn_status status = prepare(j, opts);
    if (status == PGCN_OK) status = is_complete(j, &complete);
    if (complete) {
        result.kept = j->progress.files;
    } else if (status == PGCN_OK) {
        status = check_folder(j);
        if (status == PGCN_OK) status = fetch_parts(j);
        if (status != PGCN_OK) rmdir(j->staging); /* nothing was downloaded: nothing to keep */
    }
    if (status == PGCN_OK && out) {
        memcpy(result.path, j->folder, sizeof result.path);
        *out = result;
    }
    pgcn_i_session_free(j->session);
    if (j->lock >= 0) close(j->lock);
    pgcn_i_free(j);
    return status;
}

pgcn_status pgcn_fetch(const char *name, const pgcn_fetch_opts *opts, pgcn_fetch_result *out) {
    PGCN_I_NEED(name);
    const pgcn_i_remote_set *set = pgcn_i_registry_find(name);
    if (set) return pgcn_i_fetch(set, opts, out);
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "no published data set is called '%s'; pathgcn data fetch --list shows them",
                       name);
}
