/* Files: reading regular files whole or piece by piece, writing files that appear complete or not
 * at all, and SHA-256 (libcrypto). Called by npy.c, safetensors.c, the data room and the
 * checkpoints. No shared state but a counter for temporary names: any thread may call. */
#define _GNU_SOURCE /* fallocate */
#include "io/io.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- paths ------------------------------------------------------------------------------- */

pgcn_status pgcn_i_path_join(char *out, const char *directory, const char *file) {
    int length = snprintf(out, PGCN_I_PATH_BYTES, "%s/%s", directory, file);
    if (length < 0 || length >= PGCN_I_PATH_BYTES)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "the path of '%.100s' in '%.100s...' is longer than %d bytes; use a "
                           "shorter directory name",
                           file, directory, PGCN_I_PATH_BYTES - 1);
    return PGCN_OK;
}

bool pgcn_i_file_exists(const char *path) {
    struct stat about;
    return stat(path, &about) == 0;
}

bool pgcn_i_is_directory(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

pgcn_status pgcn_directory_make(const char *path) {
    PGCN_I_NEED(path);
    char part[PGCN_I_PATH_BYTES];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof part)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "the directory name '%.100s' is %s", path,
                           length ? "too long" : "empty");
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) == 0) continue;
        int error = errno; /* errno of mkdir, before the next call replaces it */
        if (!pgcn_i_is_directory(part))
            return pgcn_i_fail(PGCN_ERR_IO, "cannot make the directory '%s' (--out): %s", part,
                               pgcn_system_error(error));
    }
    return PGCN_OK;
}

static pgcn_status cannot_list(const char *path) {
    return pgcn_i_fail(PGCN_ERR_IO, "cannot list the folder '%s': %s", path,
                       pgcn_system_error(errno));
}

pgcn_status pgcn_i_directory_open(const char *path, DIR **out) {
    *out = opendir(path);
    return *out || errno == ENOENT || errno == ENOTDIR ? PGCN_OK : cannot_list(path);
}

pgcn_status pgcn_i_directory_next(DIR *stream, const char *path, struct dirent **out) {
    errno = 0;
    *out = readdir(stream);
    return *out || errno == 0 ? PGCN_OK : cannot_list(path);
}

int pgcn_i_directory_find(const char *directory, const char *begins, const char *ends,
                          char middle[PGCN_I_NAME_BYTES]) {
    DIR *stream = opendir(directory);
    size_t before = strlen(begins), after = strlen(ends);
    int count = 0;
    middle[0] = '\0';
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        const char *name = entry->d_name;
        size_t length = strlen(name);
        if (length <= before + after || memcmp(name, begins, before) != 0 ||
            strcmp(name + length - after, ends) != 0)
            continue;
        char between[PGCN_I_NAME_BYTES];
        snprintf(between, sizeof between, "%.*s", (int)(length - before - after), name + before);
        if (count++ == 0 || strcmp(between, middle) < 0) strcpy(middle, between);
    }
    if (stream) closedir(stream);
    return count;
}

/* ---- reading ----------------------------------------------------------------------------- */

pgcn_status pgcn_i_reader_open(pgcn_i_reader *reader, const char *path) {
    *reader = (pgcn_i_reader){.descriptor = -1, .path = path};
    /* O_NONBLOCK: opening a pipe must reach the check below instead of waiting for a writer. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return pgcn_i_fail(PGCN_ERR_IO, "cannot open '%s' for reading: %s", path,
                           pgcn_system_error(errno));
    struct stat about;
    if (fstat(descriptor, &about) != 0) {
        int error = errno;
        close(descriptor);
        return pgcn_i_fail(PGCN_ERR_IO, "cannot read '%s': %s", path, pgcn_system_error(error));
    }
    if (!S_ISREG(about.st_mode)) {
        close(descriptor);
        return pgcn_i_fail(PGCN_ERR_IO, "cannot read '%s': it is %s, expected a regular file", path,
                           S_ISDIR(about.st_mode) ? "a directory" : "a device, pipe or socket");
    }
    reader->descriptor = descriptor;
    reader->bytes = (int64_t)about.st_size;
    return PGCN_OK;
}

pgcn_i_reader pgcn_i_reader_of_memory(const char *what, const void *memory, int64_t bytes) {
    return (pgcn_i_reader){
        .descriptor = -1, .bytes = bytes, .path = what, .memory = memory, .left = bytes};
}

static pgcn_status read_memory(pgcn_i_reader *reader, void *data, int64_t bytes) {
    if (bytes > reader->left)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "cannot read %s: it ends %lld bytes early",
                           reader->path, (long long)(bytes - reader->left));
    if (bytes > 0) memcpy(data, reader->memory, (size_t)bytes);
    reader->memory += bytes;
    reader->left -= bytes;
    return PGCN_OK;
}

pgcn_status pgcn_i_reader_read(pgcn_i_reader *reader, void *data, int64_t bytes) {
    enum {
        PIECE = 1 << 26
    }; /* Linux reads at most 2 GiB in one call; between two the caller may stop */
    char *at = data;
    const int64_t all = bytes;
    if (reader->memory) return read_memory(reader, data, bytes);
    while (bytes > 0) {
        if (bytes > PIECE)
            PGCN_TRY(pgcn_i_stage("reading arrays", 1 - (double)bytes / (double)all));
        ssize_t got = read(reader->descriptor, at, (size_t)(bytes < PIECE ? bytes : PIECE));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return pgcn_i_fail(PGCN_ERR_IO, "cannot read '%s': %s", reader->path,
                               pgcn_system_error(errno));
        if (got == 0)
            return pgcn_i_fail(PGCN_ERR_IO,
                               "cannot read '%s': it ended %lld bytes early; another program "
                               "changed it meanwhile, try again",
                               reader->path, (long long)bytes);
        at += got;
        bytes -= got;
    }
    return PGCN_OK;
}

void pgcn_i_reader_close(pgcn_i_reader *reader) {
    if (reader->descriptor >= 0) close(reader->descriptor);
    reader->descriptor = -1;
}

pgcn_status pgcn_i_file_read(const char *path, int64_t max_bytes, pgcn_i_arena *arena, char **data,
                             int64_t *bytes) {
    pgcn_i_reader reader;
    PGCN_TRY(pgcn_i_reader_open(&reader, path));
    pgcn_status status = PGCN_OK;
    char *content = NULL;
    if (reader.bytes > max_bytes) {
        status = pgcn_i_fail(PGCN_ERR_FORMAT,
                             "cannot read '%s': it has %lld bytes, expected at most %lld; is it "
                             "the right file?",
                             path, (long long)reader.bytes, (long long)max_bytes);
    } else if (!(content = pgcn_i_arena_alloc(arena, reader.bytes + 1, 1))) {
        status = PGCN_ERR_MEMORY;
    } else {
        status = pgcn_i_reader_read(&reader, content, reader.bytes);
    }
    pgcn_i_reader_close(&reader);
    if (status != PGCN_OK) return status;
    *data = content; /* the arena is zeroed: the NUL after the last byte is there */
    *bytes = reader.bytes;
    return PGCN_OK;
}

/* ---- atomic writing ---------------------------------------------------------------------- */

/* Length of the directory part of a path, its slash included; 0: the current directory. */
static size_t directory_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Sets file->path to the final path of the file. A symbolic link is followed, so that a link to
 * another disk stays a link; anything but a regular file is refused, because renaming over
 * /dev/null (as root) would replace the device. */
static pgcn_status find_target(pgcn_i_atomic_file *file, const char *path) {
    size_t length = strlen(path);
    if (length == 0 || path[length - 1] == '/')
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "cannot write '%s': expected the name of a file",
                           path);
    if (length >= sizeof file->path)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "cannot write '%.100s...': the path has more than %d bytes", path,
                           PGCN_I_PATH_BYTES - 1);
    struct stat about;
    if (lstat(path, &about) == 0 && S_ISLNK(about.st_mode)) {
        _Static_assert(sizeof file->path >= PATH_MAX, "realpath writes up to PATH_MAX bytes");
        if (!realpath(path, file->path))
            return pgcn_i_fail(PGCN_ERR_IO, "cannot write '%s': following this link: %s", path,
                               pgcn_system_error(errno));
    } else {
        memcpy(file->path, path, length + 1);
    }
    if (stat(file->path, &about) == 0 && !S_ISREG(about.st_mode))
        return pgcn_i_fail(PGCN_ERR_IO,
                           "cannot write '%s': it exists and is %s; give the name of a file", path,
                           S_ISDIR(about.st_mode) ? "a directory" : "not a regular file");
    return PGCN_OK;
}

pgcn_status pgcn_i_atomic_open(pgcn_i_atomic_file *file, const char *path) {
    enum { ATTEMPTS = 1000 };
    static atomic_uint counter;
    file->descriptor = -1;
    file->temporary[0] = '\0'; /* find_target may fail, and then abort reads this field */
    PGCN_TRY(find_target(file, path));
    /* The temporary name does not contain the final one, so that a long name stays possible. */
    int directory = (int)directory_length(file->path);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        snprintf(file->temporary, sizeof file->temporary, "%.*s.pathgcn-%ld-%u.tmp", directory,
                 file->path, (long)getpid(), atomic_fetch_add(&counter, 1u));
        file->descriptor = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->descriptor >= 0) return PGCN_OK;
        if (errno != EEXIST && errno != EINTR) break;
    }
    file->temporary[0] = '\0';
    return pgcn_i_fail(
        PGCN_ERR_IO, "cannot write '%s': creating a temporary file in its directory '%.*s': %s%s",
        path, directory ? directory : 1, directory ? file->path : ".", pgcn_system_error(errno),
        errno == ENOENT ? "; make the directory first (mkdir -p)" : "");
}

/* The error of a failed write; removes the temporary file. */
static pgcn_status write_failed(pgcn_i_atomic_file *file, const char *doing) {
    int error = errno;
    pgcn_i_atomic_abort(file);
    return pgcn_i_fail(PGCN_ERR_IO, "cannot write '%s': %s: %s; no file was changed", file->path,
                       doing, pgcn_i_disk_error(file->path, error));
}

pgcn_status pgcn_i_atomic_reserve(pgcn_i_atomic_file *file, int64_t bytes) {
    char size[32], doing[64];
    if (fallocate(file->descriptor, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) == 0 || errno != ENOSPC)
        return PGCN_OK; /* where it is not possible, writing will tell */
    pgcn_format_bytes(bytes, size);
    snprintf(doing, sizeof doing, "making room for its %s", size);
    errno = ENOSPC;
    return write_failed(file, doing);
}

pgcn_status pgcn_i_atomic_write(pgcn_i_atomic_file *file, const void *data, int64_t bytes) {
    enum { PIECE = 1 << 30 };
    const char *at = data;
    while (bytes > 0) {
        ssize_t put = write(file->descriptor, at, (size_t)(bytes < PIECE ? bytes : PIECE));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return write_failed(file, "writing the temporary file");
        at += put;
        bytes -= put;
    }
    return PGCN_OK;
}

/* Makes the rename itself durable. Some file systems cannot fsync a directory and some
 * directories may be written but not opened: the file is complete all the same. */
static void flush_directory(const char *path) {
    size_t length = directory_length(path);
    char directory[PGCN_I_PATH_BYTES] = ".";
    if (length > 0) {
        memcpy(directory, path, length);
        directory[length] = '\0';
    }
    int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    fsync(descriptor);
    close(descriptor);
}

pgcn_status pgcn_i_atomic_commit(pgcn_i_atomic_file *file) {
    while (fsync(file->descriptor) != 0)
        if (errno != EINTR) return write_failed(file, "flushing the temporary file");
    int closed = close(file->descriptor);
    file->descriptor = -1;
    if (closed != 0 && errno != EINTR) return write_failed(file, "closing the temporary file");
    if (rename(file->temporary, file->path) != 0)
        return write_failed(file, "renaming the temporary file");
    file->temporary[0] = '\0';
    flush_directory(file->path);
    return PGCN_OK;
}

void pgcn_i_atomic_abort(pgcn_i_atomic_file *file) {
    if (file->temporary[0] == '\0') return; /* nothing to free */
    if (file->descriptor >= 0) close(file->descriptor);
    file->descriptor = -1;
    unlink(file->temporary);
    file->temporary[0] = '\0';
}

/* ---- SHA-256 ----------------------------------------------------------------------------- */

struct pgcn_i_hash {
    EVP_MD_CTX *context;
    bool failed;
};

/* libcrypto allocates its own memory, and reports a failure in its error queue. */
static pgcn_status hash_failed(void) {
    bool memory = false;
    char text[128] = "no reason was given";
    for (unsigned long code; (code = ERR_get_error()) != 0;) {
        if (ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE) memory = true;
        ERR_error_string_n(code, text, sizeof text);
    }
    if (memory)
        return pgcn_i_fail(PGCN_ERR_MEMORY, "out of memory for a SHA-256: %s",
                           pgcn_system_error(ENOMEM));
    return pgcn_i_fail(PGCN_ERR_SYSTEM, "libcrypto cannot compute SHA-256 on this system: %s",
                       text);
}

pgcn_status pgcn_i_hash_new(pgcn_i_hash **out) {
    pgcn_i_hash *hash = pgcn_i_alloc(1, sizeof *hash);
    if (!hash) return PGCN_ERR_MEMORY;
    hash->context = EVP_MD_CTX_new();
    if (!hash->context || EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(hash->context);
        pgcn_i_free(hash);
        return hash_failed();
    }
    *out = hash;
    return PGCN_OK;
}

void pgcn_i_hash_add(pgcn_i_hash *hash, const void *data, int64_t bytes) {
    if (bytes > 0 && EVP_DigestUpdate(hash->context, data, (size_t)bytes) != 1) hash->failed = true;
}

pgcn_status pgcn_i_hash_finish(pgcn_i_hash *hash, char hex[65]) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    bool good =
        !hash->failed && EVP_DigestFinal_ex(hash->context, digest, &length) == 1 && length == 32;
    EVP_MD_CTX_free(hash->context);
    pgcn_i_free(hash);
    if (!good) return pgcn_i_fail(PGCN_ERR_SYSTEM, "libcrypto failed to compute a SHA-256");
    for (int i = 0; i < 32; i++) snprintf(hex + 2 * i, 3, "%02x", (unsigned)digest[i]);
    return PGCN_OK;
}

pgcn_status pgcn_i_hash_reader(pgcn_i_reader *reader, int64_t bytes, char hex[65]) {
    char piece[1 << 15];
    pgcn_i_hash *hash = NULL;
    PGCN_TRY(pgcn_i_hash_new(&hash));
    pgcn_status status = PGCN_OK;
    while (bytes > 0 && status == PGCN_OK) {
        int64_t next = bytes < (int64_t)sizeof piece ? bytes : (int64_t)sizeof piece;
        status = pgcn_i_reader_read(reader, piece, next);
        if (status == PGCN_OK) pgcn_i_hash_add(hash, piece, next);
        bytes -= next;
    }
    pgcn_status finished = pgcn_i_hash_finish(hash, hex); /* frees it in any case */
    return status == PGCN_OK ? finished : status;
}

struct pgcn_file {
    pgcn_i_atomic_file file;
};

pgcn_status pgcn_file_begin(const char *path, pgcn_file **out) {
    PGCN_I_NEED(path);
    PGCN_I_NEED(out);
    pgcn_file *file = pgcn_i_alloc(1, sizeof *file);
    if (!file) return PGCN_ERR_MEMORY;
    pgcn_status status = pgcn_i_atomic_open(&file->file, path);
    if (status == PGCN_OK)
        *out = file;
    else
        pgcn_i_free(file);
    return status;
}

pgcn_status pgcn_file_put(pgcn_file *file, const void *data, size_t bytes) {
    PGCN_I_NEED(file);
    if (bytes > 0) PGCN_I_NEED(data);
    return pgcn_i_atomic_write(&file->file, data, (int64_t)bytes);
}

pgcn_status pgcn_file_end(pgcn_file *file, bool keep) {
    if (!file) return PGCN_OK;
    pgcn_status status = keep ? pgcn_i_atomic_commit(&file->file) : PGCN_OK;
    pgcn_i_atomic_abort(&file->file);
    pgcn_i_free(file);
    return status;
}

pgcn_status pgcn_file_write(const char *path, const void *data, size_t bytes) {
    PGCN_I_NEED(path);
    pgcn_i_atomic_file file;
    if ((!data && bytes > 0) || bytes > INT64_MAX)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "cannot write '%s': %zu bytes at %s were given", path,
                           bytes, data ? "an address" : "NULL");
    PGCN_TRY(pgcn_i_atomic_open(&file, path));
    pgcn_status status = pgcn_i_atomic_write(&file, data, (int64_t)bytes);
    if (status == PGCN_OK) status = pgcn_i_atomic_commit(&file);
    pgcn_i_atomic_abort(&file);
    return status;
}
