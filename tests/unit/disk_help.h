/* For the tests of disks that fail: stands between the program and the system. This header defines
 * open, read, write and the others themselves; a program that includes it gets these instead of the
 * C library's, and so do the libraries it uses (jansson, libzip, libcurl). Streams of stdio on
 * watched files are made of the same calls. Only files below disk->root are watched.
 *
 * Two uses: the n-th call of a kind fails, once or from then on (faults_help.h); or every change is
 * recorded, to see what a power cut after any of them leaves (test_power_cut.c).
 *
 * All state is in memory that forked processes share. Include after cmocka.h and scratch_help.h, in
 * a file that starts with #define _GNU_SOURCE. */
#ifndef PGCN_TEST_DISK_HELP_H
#define PGCN_TEST_DISK_HELP_H

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

typedef enum disk_kind {
    DISK_OPEN, /* open, fopen, opendir, mkdir */
    DISK_READ, /* read, readdir */
    DISK_WRITE,
    DISK_FSYNC,
    DISK_RENAME,
    DISK_MMAP,
    DISK_KINDS
} disk_kind;
static const char *const disk_kind_name[DISK_KINDS] = {"open",  "read",   "write",
                                                       "fsync", "rename", "mmap"};
static const int disk_kind_error[DISK_KINDS] = {EMFILE, EIO, ENOSPC, EIO, EIO, ENOMEM};

enum { DISK_PATH = 400, DISK_FILES = 512, DISK_LOG_BYTES = 64 << 20 };
typedef enum disk_change {
    CHANGE_OPEN, /* `length` 1: created, 2: emptied */
    CHANGE_WRITE,
    CHANGE_TRUNCATE,
    CHANGE_SYNC,
    CHANGE_RENAME,
    CHANGE_UNLINK,
    CHANGE_MKDIR
} disk_change;
typedef struct disk_entry { /* `data_bytes` bytes of data follow, then padding to 8 */
    disk_change change;
    int handle;
    int64_t offset, length, data_bytes;
    char path[DISK_PATH], to[DISK_PATH];
} disk_entry;

typedef struct disk_state {
    char root[DISK_PATH];
    bool on, recording;
    disk_kind kind; /* of the calls that fail */
    int number;     /* the first that does, from 1; 0: none */
    bool lasting;
    atomic_int calls[DISK_KINDS], fired, handles;
    char victim[DISK_PATH], last_victim[DISK_PATH]; /* what the failing calls were for */
    int leaked_files;
    long leaked_blocks;
    char leaked_path[DISK_PATH];
    atomic_flag lock; /* of the log */
    int64_t log_bytes;
    _Alignas(8) char log[DISK_LOG_BYTES];
} disk_state;
static disk_state *disk; /* shared with the processes forked later */

/* Open watched files of this process, by descriptor. */
static struct disk_file {
    bool open;
    int handle;
    FILE *stream;
    char path[DISK_PATH];
} disk_file[DISK_FILES];

/* ---- the calls as the system does them ------------------------------------------------------- */

#define REAL(name) (__extension__(__typeof__(&name)) disk_real(#name))
static inline void *disk_real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

static inline bool disk_watches(const char *path) {
    return disk && disk->on && strncmp(path, disk->root, strlen(disk->root)) == 0;
}
static inline bool disk_watches_file(int descriptor) {
    return disk && disk->on && descriptor >= 0 && descriptor < DISK_FILES &&
           disk_file[descriptor].open;
}

static inline bool disk_fails(disk_kind kind, const char *path) {
    int number = atomic_fetch_add(&disk->calls[kind], 1) + 1;
    if (kind != disk->kind || disk->number == 0 ||
        !(disk->lasting ? number >= disk->number : number == disk->number))
        return false;
    if (atomic_fetch_add(&disk->fired, 1) == 0) snprintf(disk->victim, DISK_PATH, "%s", path);
    snprintf(disk->last_victim, DISK_PATH, "%s", path);
    errno = disk_kind_error[kind];
    return true;
}

static inline void disk_record(disk_entry entry, const char *path, const char *to,
                               const void *data) {
    if (!disk->recording) return;
    while (atomic_flag_test_and_set(&disk->lock)) continue;
    int64_t bytes = ((int64_t)sizeof entry + entry.data_bytes + 7) / 8 * 8;
    if (disk->log_bytes + bytes > DISK_LOG_BYTES) abort();
    snprintf(entry.path, DISK_PATH, "%s", path);
    snprintf(entry.to, DISK_PATH, "%s", to ? to : "");
    memcpy(disk->log + disk->log_bytes, &entry, sizeof entry);
    if (data && entry.data_bytes > 0)
        memcpy(disk->log + disk->log_bytes + sizeof entry, data, (size_t)entry.data_bytes);
    disk->log_bytes += bytes;
    atomic_flag_clear(&disk->lock);
}

/* ---- files ------------------------------------------------------------------------------------ */

static int disk_open(const char *path, int flags, mode_t mode) {
    if (!disk_watches(path)) return REAL(open)(path, flags, mode);
    if (disk_fails(DISK_OPEN, path)) return -1;
    bool fresh = (flags & O_CREAT) && access(path, F_OK) != 0;
    int descriptor = REAL(open)(path, flags, mode);
    if (descriptor < 0 || descriptor >= DISK_FILES) return descriptor;
    struct disk_file *file = &disk_file[descriptor];
    *file = (struct disk_file){.open = true, .handle = atomic_fetch_add(&disk->handles, 1)};
    snprintf(file->path, DISK_PATH, "%s", path);
    disk_record((disk_entry){.change = CHANGE_OPEN,
                             .handle = file->handle,
                             .length = fresh               ? 1
                                       : (flags & O_TRUNC) ? 2
                                                           : 0},
                path, NULL, NULL);
    return descriptor;
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & O_CREAT) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return disk_open(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & O_CREAT) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return disk_open(path, flags, mode);
}

int close(int descriptor) {
    if (descriptor >= 0 && descriptor < DISK_FILES) disk_file[descriptor].open = false;
    return REAL(close)(descriptor);
}

ssize_t read(int descriptor, void *data, size_t bytes) {
    if (disk_watches_file(descriptor) && disk_fails(DISK_READ, disk_file[descriptor].path))
        return -1;
    return REAL(read)(descriptor, data, bytes);
}

ssize_t pread(int descriptor, void *data, size_t bytes, off_t at) {
    if (disk_watches_file(descriptor) && disk_fails(DISK_READ, disk_file[descriptor].path))
        return -1;
    return REAL(pread)(descriptor, data, bytes, at);
}

/* A write that fails has written half of it: what a full disk leaves. */
static ssize_t disk_write(int descriptor, const void *data, size_t bytes, off_t at) {
    if (disk_watches_file(descriptor)) {
        const struct disk_file *file = &disk_file[descriptor];
        if (disk_fails(DISK_WRITE, file->path)) {
            int error = errno;
            (void)!REAL(pwrite)(descriptor, data, bytes / 2, at);
            errno = error;
            return -1;
        }
        disk_record((disk_entry){.change = CHANGE_WRITE,
                                 .handle = file->handle,
                                 .offset = at,
                                 .data_bytes = (int64_t)bytes},
                    file->path, NULL, data);
    }
    return REAL(pwrite)(descriptor, data, bytes, at);
}
ssize_t write(int descriptor, const void *data, size_t bytes) {
    if (!disk_watches_file(descriptor)) return REAL(write)(descriptor, data, bytes);
    off_t at = lseek(descriptor, 0, SEEK_CUR);
    ssize_t put = disk_write(descriptor, data, bytes, at);
    if (put > 0) lseek(descriptor, at + put, SEEK_SET);
    return put;
}
ssize_t pwrite(int descriptor, const void *data, size_t bytes, off_t at) {
    return disk_write(descriptor, data, bytes, at);
}

int ftruncate(int descriptor, off_t length) {
    if (disk_watches_file(descriptor)) {
        const struct disk_file *file = &disk_file[descriptor];
        if (disk_fails(DISK_WRITE, file->path)) return -1;
        disk_record(
            (disk_entry){.change = CHANGE_TRUNCATE, .handle = file->handle, .offset = length},
            file->path, NULL, NULL);
    }
    return REAL(ftruncate)(descriptor, length);
}

int fsync(int descriptor) {
    if (!disk_watches_file(descriptor)) return REAL(fsync)(descriptor);
    const struct disk_file *file = &disk_file[descriptor];
    if (disk_fails(DISK_FSYNC, file->path)) return -1;
    disk_record((disk_entry){.change = CHANGE_SYNC, .handle = file->handle}, file->path, NULL,
                NULL);
    return 0; /* the test's disk is not going to lose power */
}

void *mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
    if (disk_watches_file(descriptor) && disk_fails(DISK_MMAP, disk_file[descriptor].path))
        return MAP_FAILED;
    return REAL(mmap)(address, bytes, protection, flags, descriptor, offset);
}

/* ---- names ------------------------------------------------------------------------------------ */

int rename(const char *from, const char *to) {
    if (disk_watches(to) && disk_fails(DISK_RENAME, to)) return -1;
    int result = REAL(rename)(from, to);
    if (result == 0 && disk_watches(to))
        disk_record((disk_entry){.change = CHANGE_RENAME}, from, to, NULL);
    return result;
}

int unlink(const char *path) {
    int result = REAL(unlink)(path);
    if (result == 0 && disk_watches(path))
        disk_record((disk_entry){.change = CHANGE_UNLINK}, path, NULL, NULL);
    return result;
}

int rmdir(const char *path) {
    int result = REAL(rmdir)(path);
    if (result == 0 && disk_watches(path))
        disk_record((disk_entry){.change = CHANGE_UNLINK}, path, NULL, NULL);
    return result;
}

int mkdir(const char *path, mode_t mode) {
    if (disk_watches(path) && access(path, F_OK) != 0 && disk_fails(DISK_OPEN, path)) return -1;
    int result = REAL(mkdir)(path, mode);
    if (result == 0 && disk_watches(path))
        disk_record((disk_entry){.change = CHANGE_MKDIR}, path, NULL, NULL);
    return result;
}

DIR *opendir(const char *path) {
    if (disk_watches(path) && disk_fails(DISK_OPEN, path)) return NULL;
    DIR *stream = REAL(opendir)(path);
    int descriptor = stream ? dirfd(stream) : -1;
    if (stream && disk_watches(path) && descriptor < DISK_FILES) {
        disk_file[descriptor] = (struct disk_file){.open = true, .handle = -1};
        snprintf(disk_file[descriptor].path, DISK_PATH, "%s", path);
    }
    return stream;
}

struct dirent *readdir(DIR *stream) {
    int descriptor = dirfd(stream);
    if (disk_watches_file(descriptor) && disk_fails(DISK_READ, disk_file[descriptor].path))
        return NULL;
    return REAL(readdir)(stream);
}

int closedir(DIR *stream) {
    int descriptor = dirfd(stream);
    if (descriptor >= 0 && descriptor < DISK_FILES) disk_file[descriptor].open = false;
    return REAL(closedir)(stream);
}

/* ---- streams ----------------------------------------------------------------------------------- */

static ssize_t disk_stream_read(void *cookie, char *data, size_t bytes) {
    return read((int)(intptr_t)cookie, data, bytes);
}
static ssize_t disk_stream_write(void *cookie, const char *data, size_t bytes) {
    ssize_t put = write((int)(intptr_t)cookie, data, bytes);
    return put < 0 ? 0 : put; /* what fopencookie wants */
}
static int disk_stream_seek(void *cookie, off64_t *offset, int from) {
    off_t place = lseek((int)(intptr_t)cookie, *offset, from);
    if (place < 0) return -1;
    *offset = place;
    return 0;
}
static int disk_stream_close(void *cookie) {
    return close((int)(intptr_t)cookie);
}

static FILE *disk_stream(int descriptor, const char *mode) {
    static const cookie_io_functions_t calls = {disk_stream_read, disk_stream_write,
                                                disk_stream_seek, disk_stream_close};
    FILE *stream = fopencookie((void *)(intptr_t)descriptor, *mode == 'r' ? "r" : "w", calls);
    disk_file[descriptor].stream = stream;
    return stream;
}

static FILE *disk_fopen(const char *path, const char *mode) {
    if (!disk_watches(path)) return REAL(fopen)(path, mode);
    int flags = *mode == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC, descriptor;
    descriptor = disk_open(path, flags | O_CLOEXEC, 0666);
    return descriptor < 0 ? NULL : disk_stream(descriptor, mode);
}
FILE *fopen(const char *path, const char *mode) {
    return disk_fopen(path, mode);
}
FILE *fopen64(const char *path, const char *mode) {
    return disk_fopen(path, mode);
}
FILE *fdopen(int descriptor, const char *mode) {
    return disk_watches_file(descriptor) ? disk_stream(descriptor, mode)
                                         : REAL(fdopen)(descriptor, mode);
}
int fileno(FILE *stream) {
    for (int i = 0; i < DISK_FILES; i++)
        if (disk_file[i].open && disk_file[i].stream == stream) return i;
    return REAL(fileno)(stream);
}

/* ---- for the tests ------------------------------------------------------------------------------ */

__attribute__((unused)) static void disk_make(void) {
    disk =
        REAL(mmap)(NULL, sizeof *disk, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(disk != MAP_FAILED);
}

static void disk_reset(const char *root) {
    char *log = disk->log;
    memset(disk, 0, (size_t)(log - (char *)disk)); /* not the pages of the log */
    snprintf(disk->root, DISK_PATH, "%s", root);
}

static void copy_one(const char *from, const char *to) {
    pgcn_i_arena arena = {0};
    char *data;
    int64_t bytes;
    assert_int_equal(pgcn_i_file_read(from, 1 << 28, &arena, &data, &bytes), PGCN_OK);
    FILE *stream = fopen(to, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(data, 1, (size_t)bytes, stream), bytes);
    assert_int_equal(fclose(stream), 0);
    pgcn_i_arena_free(&arena);
}

/* Calls `visit` for every file below a folder, by its path from there. */
typedef void (*tree_visitor)(const char *top, const char *file, void *context);
static void visit_tree(const char *top, const char *under, tree_visitor visit, void *context) {
    char path[DISK_PATH], inside[DISK_PATH];
    assert_true(snprintf(path, sizeof path, "%s/%s", top, under) < DISK_PATH);
    DIR *stream = opendir(path);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        assert_true(snprintf(inside, sizeof inside, "%s%s%s", under, *under ? "/" : "",
                             entry->d_name) < DISK_PATH);
        assert_true(snprintf(path, sizeof path, "%s/%s", top, inside) < DISK_PATH);
        if (pgcn_i_is_directory(path))
            visit_tree(top, inside, visit, context);
        else
            visit(top, inside, context);
    }
    if (stream) closedir(stream);
}

static void copy_visited(const char *top, const char *file, void *to_top) {
    char from[DISK_PATH], to[DISK_PATH];
    snprintf(from, sizeof from, "%s/%s", top, file);
    assert_true(snprintf(to, sizeof to, "%s/%s", (const char *)to_top, file) < DISK_PATH);
    for (char *slash = strchr(to + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(to, 0777);
        *slash = '/';
    }
    copy_one(from, to);
}

/* `to` holds the files of `from` and nothing else. */
__attribute__((unused)) static void copy_tree(const char *from, char *to) {
    remove_tree(to);
    mkdir(to, 0777);
    visit_tree(from, "", copy_visited, to);
}

#endif
