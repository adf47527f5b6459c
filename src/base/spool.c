/* Large arrays in files of a directory, mapped into memory: what lets a program convert data that is larger
 * than its memory by the code that reads it into memory.
 *
 * Under pgcn_memory_bound() a block of the library becomes a file unless it is small. A thread looks up to a few
 * hundred times a second at what the process has in memory, and near the bound it gives the pages of all
 * these files back to the system, which writes them out; they are read again where they are needed. Arrays
 * that are gone through in order, as readers and writers do, lose little by that. What is written in no order,
 * the edges of a graph, is sorted by parts instead (src/graph/sort.c).
 *
 * A file has its full length on the disk before it is mapped: a full disk is an error here, with a sentence,
 * and never a signal when a page is written. Files stay when the process ends, and the next one with the same
 * source goes on with those that are marked as complete by being listed (src/data/kept.c); all others are removed.
 * pgcn_i_pages_bound() has the thread look without making blocks files: what training from a container needs.
 * State of the process; pgcn_memory_bound() from one thread, blocks from any. */
#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LEAST_MEMORY = 16 << 20,
    LEAST_FILE = 1 << 16,        /* smaller blocks are never files */
    LARGE_SHARE = 16,            /* blocks of this part of the bound are always files */
    ANONYMOUS_SHARE = 4,         /* all other large ones together have this part */
    NEW_BYTES_PER_NS = 2,        /* 2 GB/s of new pages: */
    LOOK_EVERY_NS = 2 * 1000000, /* 4 MB between two looks, near the bound */
    MOST_PAUSE_NS = 20 * 1000000,
    SLACK = 6 << 20 /* pages that come between two looks, and the program itself */
};
static const char block_name[] = "block", key_name[] = "source";

typedef struct mapping {
    char *start;
    size_t bytes;
    int64_t number; /* of its file; -1: only watched */
    bool kept;
    struct mapping *next;
} mapping;

static struct {
    atomic_bool on, ending, nameless;
    atomic_llong memory;
    char directory[PGCN_I_SPOOL_PATH - 100];
    char *key;
    atomic_llong anonymous, numbers;
    pthread_mutex_t lock; /* of the list */
    mapping *list;
    pthread_t thread;
} spool = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* The same look for mapped pages alone. */
static struct {
    pthread_mutex_t lock;
    int users;
    atomic_llong memory;
    atomic_bool ending;
    pthread_t thread;
} pages = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* Who has large blocks in files for a part of the work. */
static struct {
    pthread_mutex_t lock;
    int users;
    bool was_on;
} guests = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local bool failed;

bool pgcn_i_spool_is_on(void) {
    return atomic_load_explicit(&spool.on, memory_order_relaxed);
}

int64_t pgcn_i_spool_memory(void) {
    return pgcn_i_spool_is_on() ? spool.memory : 0;
}

void pgcn_i_spool_path(const char *what, int64_t number, char *out) {
    snprintf(out, PGCN_I_SPOOL_PATH, "%s/%s-%lld", spool.directory, what, (long long)number);
}

/* ---- giving pages back ------------------------------------------------------------------------- */

static void give_back(void) {
    pthread_mutex_lock(&spool.lock);
    for (const mapping *at = spool.list; at; at = at->next) /* of a file: nothing is lost */
        (void)madvise(at->start, at->bytes, MADV_DONTNEED);
    pthread_mutex_unlock(&spool.lock);
}

/* Far from the bound a look comes no sooner than it can be reached: a look opens a file of the system. */
static long pause_ns(int64_t left) {
    int64_t ns = left / NEW_BYTES_PER_NS;
    return ns < LOOK_EVERY_NS ? LOOK_EVERY_NS : ns < MOST_PAUSE_NS ? (long)ns : MOST_PAUSE_NS;
}

static void look_until(const atomic_bool *ending, const atomic_llong *memory) {
    while (!atomic_load(ending)) {
        int64_t left = atomic_load(memory) - SLACK - pgcn_i_resident_bytes();
        if (left < 0) give_back();
        nanosleep(&(struct timespec){.tv_nsec = pause_ns(left)}, NULL);
    }
}

static void *look(void *unused) {
    (void)unused;
    look_until(&spool.ending, &spool.memory);
    return NULL;
}

static void *look_at_pages(void *unused) {
    (void)unused;
    look_until(&pages.ending, &pages.memory);
    return NULL;
}

static void list(char *start, size_t bytes, int64_t number, mapping *entry) {
    *entry = (mapping){.start = start, .bytes = bytes, .number = number};
    pthread_mutex_lock(&spool.lock);
    entry->next = spool.list;
    spool.list = entry;
    pthread_mutex_unlock(&spool.lock);
}

/* Takes a mapping from the list; NULL: it is not there. The caller frees it. */
static mapping *unlist(const void *start) {
    pthread_mutex_lock(&spool.lock);
    mapping **at = &spool.list;
    while (*at && (*at)->start != start) at = &(*at)->next;
    mapping *found = *at;
    if (found) *at = found->next;
    pthread_mutex_unlock(&spool.lock);
    return found;
}

void pgcn_i_spool_watch(const void *start, int64_t bytes) {
    mapping *entry = malloc(sizeof *entry); /* without memory it is not watched */
    if (entry) list((char *)(uintptr_t)start, (size_t)bytes, -1, entry);
}

void pgcn_i_spool_unwatch(const void *start) {
    free(unlist(start));
}

/* ---- blocks ------------------------------------------------------------------------------------ */

void pgcn_i_spool_count(int64_t bytes) {
    atomic_fetch_add_explicit(&spool.anonymous, bytes, memory_order_relaxed);
}

bool pgcn_i_spool_wants(size_t bytes) {
    if (!pgcn_i_spool_is_on() || bytes < LEAST_FILE) return false;
    int64_t more = (int64_t)bytes, now = atomic_load(&spool.anonymous);
    return more > spool.memory / LARGE_SHARE || now + more > spool.memory / ANONYMOUS_SHARE;
}

bool pgcn_i_spool_failed(void) {
    bool was = failed;
    failed = false;
    return was;
}

static void *cannot_make(const char *path, size_t bytes, int error) {
    char size[32];
    pgcn_format_bytes((int64_t)bytes, size);
    pgcn_i_fail(PGCN_ERR_IO, "cannot make a temporary file of %s in '%s': %s; %s", size,
                spool.directory, pgcn_i_disk_error(path, error),
                spool.nameless ? "nothing was changed"
                               : "the same command goes on from what is there");
    unlink(path);
    failed = true;
    return NULL;
}

/* The file at its full length on the disk. */
static int make_file(const char *path, size_t bytes) {
    int descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0) return -1;
    int error = posix_fallocate(descriptor, 0, (off_t)bytes);
    if (error == 0) return descriptor;
    close(descriptor);
    errno = error;
    return -1;
}

static void *map_file(const char *path, int descriptor, size_t bytes, int64_t number) {
    mapping *entry = malloc(sizeof *entry);
    char *start = MAP_FAILED;
    if (entry) start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    int error = errno;
    close(descriptor);
    if (start == MAP_FAILED) {
        free(entry);
        return cannot_make(path, bytes, entry ? error : ENOMEM);
    }
    list(start, bytes, number, entry);
    return start;
}

void *pgcn_i_spool_map(size_t bytes, int64_t *number) {
    char path[PGCN_I_SPOOL_PATH];
    *number = (int64_t)atomic_fetch_add(&spool.numbers, 1);
    pgcn_i_spool_path(block_name, *number, path);
    int descriptor = make_file(path, bytes);
    if (descriptor < 0) return cannot_make(path, bytes, errno);
    if (spool.nameless) unlink(path);
    return map_file(path, descriptor, bytes, *number);
}

void pgcn_i_spool_unmap(void *start, size_t bytes, int64_t number) {
    char path[PGCN_I_SPOOL_PATH];
    mapping *entry = unlist(start);
    munmap(start, bytes);
    if (!entry || !entry->kept) {
        pgcn_i_spool_path(block_name, number, path);
        unlink(path);
    }
    free(entry);
}

/* ---- what the next process goes on with ----------------------------------------------------------- */

static mapping *find(const void *start) {
    pthread_mutex_lock(&spool.lock);
    mapping *at = spool.list;
    while (at && at->start != start) at = at->next;
    pthread_mutex_unlock(&spool.lock);
    return at;
}

static pgcn_status flush(int64_t number) {
    char path[PGCN_I_SPOOL_PATH];
    pgcn_i_spool_path(block_name, number, path);
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    int result = descriptor < 0 ? -1 : fsync(descriptor), error = errno;
    if (descriptor >= 0) close(descriptor);
    if (result == 0) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_IO, "cannot write '%s': %s", path, pgcn_system_error(error));
}

/* A file of an array: the head of the block (memory.c), that of the arena, the array. */
enum { HEADS = 2 * PGCN_ALIGN };

static pgcn_status keep_copy(const void *array, int64_t bytes, int64_t *number) {
    size_t total = (size_t)bytes + HEADS;
    char *copy = pgcn_i_spool_map(total, number);
    if (!copy) return PGCN_ERR_IO;
    if (bytes > 0) memcpy(copy + HEADS, array, (size_t)bytes);
    find(copy)->kept = true;
    pgcn_status status = flush(*number);
    pgcn_i_spool_unmap(copy, total, *number);
    return status;
}

pgcn_status pgcn_i_spool_keep(const void *array, int64_t bytes, int64_t *number) {
    mapping *entry = find((const void *)((uintptr_t)array - HEADS));
    if (!entry || entry->number < 0) return keep_copy(array, bytes, number);
    entry->kept = true;
    *number = entry->number;
    return flush(*number);
}

pgcn_status pgcn_i_spool_adopt(int64_t number, int64_t bytes, pgcn_i_arena *arena, void *out) {
    char path[PGCN_I_SPOOL_PATH];
    struct stat about;
    size_t total = (size_t)bytes + HEADS;
    pgcn_i_spool_path(block_name, number, path);
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &about) != 0 || about.st_size < (off_t)total) {
        if (descriptor >= 0) close(descriptor);
        return pgcn_i_fail(PGCN_ERR_IO, "'%s' is not there, or not all of it", path);
    }
    char *start = map_file(path, descriptor, total, number);
    if (!start) return PGCN_ERR_IO;
    find(start)->kept = true;
    pgcn_i_block_head head = {total - PGCN_ALIGN, number};
    memcpy(start, &head, sizeof head);
    void *array = pgcn_i_arena_own(arena, start + PGCN_ALIGN, bytes);
    memcpy(out, &array, sizeof array);
    return PGCN_OK;
}

static bool is_ours(const char *name) {
    return strncmp(name, "block-", 6) == 0 || strncmp(name, "run-", 4) == 0 ||
           strncmp(name, "kept-", 5) == 0 || strcmp(name, key_name) == 0;
}

/* Removes our files of the directory; keys: also the key. */
static void remove_files(void) {
    DIR *stream = opendir(spool.directory);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        char path[PGCN_I_SPOOL_PATH];
        if (!is_ours(entry->d_name)) continue;
        snprintf(path, sizeof path, "%s/%.90s", spool.directory, entry->d_name);
        unlink(path);
    }
    if (stream) closedir(stream);
}

/* Blocks that are there may be adopted; new ones get other numbers. */
static void skip_numbers(void) {
    DIR *stream = opendir(spool.directory);
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (strncmp(entry->d_name, "block-", 6) == 0) {
            long long number = atoll(entry->d_name + 6);
            if (atomic_load(&spool.numbers) <= number) atomic_store(&spool.numbers, number + 1);
        }
    if (stream) closedir(stream);
}

/* The key appears complete or not at all. */
static pgcn_status write_key(const char *path, const char *key) {
    char temporary[PGCN_I_SPOOL_PATH + 8];
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    int descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool fine = descriptor >= 0 && write(descriptor, key, strlen(key)) == (ssize_t)strlen(key) &&
                fsync(descriptor) == 0;
    if (descriptor >= 0) fine = close(descriptor) == 0 && fine;
    if (fine && rename(temporary, path) == 0) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_IO, "cannot write '%s': %s", path, pgcn_system_error(errno));
}

static bool has_key(const char *path, const char *key) {
    size_t length = strlen(key);
    char *text = calloc(length + 2, 1);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    bool same = text && descriptor >= 0 && read(descriptor, text, length + 1) == (ssize_t)length &&
                memcmp(text, key, length) == 0;
    if (descriptor >= 0) close(descriptor);
    free(text);
    return same;
}

pgcn_status pgcn_i_spool_set_key(const char *key) {
    char path[PGCN_I_SPOOL_PATH];
    if (!pgcn_i_spool_is_on()) return PGCN_OK;
    char *copy = strdup(key);
    if (!copy) return pgcn_i_fail(PGCN_ERR_MEMORY, "out of memory for the name of a source");
    free(spool.key);
    spool.key = copy;
    snprintf(path, sizeof path, "%s/%s", spool.directory, key_name);
    if (*key && has_key(path, key)) {
        skip_numbers();
        return PGCN_OK;
    }
    remove_files();
    return *key ? write_key(path, key) : PGCN_OK;
}

const char *pgcn_i_spool_key(void) {
    return pgcn_i_spool_is_on() && spool.key ? spool.key : "";
}

/* ---- beginning and end --------------------------------------------------------------------------- */

pgcn_status pgcn_i_pages_bound(int64_t bytes) {
    pthread_mutex_lock(&pages.lock);
    atomic_store(&pages.memory, bytes);
    int error = 0;
    if (pages.users == 0) {
        atomic_store(&pages.ending, false);
        error = pthread_create(&pages.thread, NULL, look_at_pages, NULL);
    }
    pages.users += error == 0;
    pthread_mutex_unlock(&pages.lock);
    if (error == 0) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_SYSTEM, "cannot start a thread: %s", pgcn_system_error(error));
}

void pgcn_i_pages_at_random(const void *start, int64_t bytes) {
    (void)madvise((void *)(uintptr_t)start, (size_t)bytes, MADV_RANDOM); /* only advice */
}

void pgcn_i_pages_unbound(void) {
    pthread_mutex_lock(&pages.lock);
    if (--pages.users == 0) {
        atomic_store(&pages.ending, true);
        pthread_join(pages.thread, NULL);
    }
    pthread_mutex_unlock(&pages.lock);
}

static void end(void) {
    if (!pgcn_i_spool_is_on()) return;
    atomic_store(&spool.ending, true);
    pthread_join(spool.thread, NULL);
    atomic_store(&spool.on, false);
    free(spool.key);
    spool.key = NULL;
}

pgcn_status pgcn_memory_bound(int64_t bytes, const char *directory) {
    end();
    if (bytes == 0) return PGCN_OK;
    PGCN_I_NEED(directory);
    if (bytes < LEAST_MEMORY)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "the bound of memory is %lld bytes, expected at least 16 MiB",
                           (long long)bytes);
    if (strlen(directory) >= sizeof spool.directory)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "the directory name '%.100s...' is too long",
                           directory);
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return pgcn_i_fail(PGCN_ERR_IO, "cannot make the directory '%s' for temporary files: %s",
                           directory, pgcn_system_error(errno));
    snprintf(spool.directory, sizeof spool.directory, "%s", directory);
    spool.memory = bytes;
    atomic_store(&spool.ending, false);
    int error = pthread_create(&spool.thread, NULL, look, NULL);
    if (error != 0)
        return pgcn_i_fail(PGCN_ERR_SYSTEM, "cannot start a thread: %s", pgcn_system_error(error));
    atomic_store(&spool.on, true);
    return PGCN_OK;
}

pgcn_status pgcn_i_files_begin(int64_t bytes, const char *directory) {
    pgcn_status status = PGCN_OK;
    pthread_mutex_lock(&guests.lock);
    if (guests.users == 0) {
        guests.was_on = pgcn_i_spool_is_on();
        if (!guests.was_on) status = pgcn_memory_bound(bytes, directory);
        if (status == PGCN_OK && !guests.was_on) atomic_store(&spool.nameless, true);
    }
    guests.users += status == PGCN_OK;
    pthread_mutex_unlock(&guests.lock);
    return status;
}

void pgcn_i_files_end(void) {
    pthread_mutex_lock(&guests.lock);
    if (--guests.users == 0 && !guests.was_on) {
        (void)pgcn_memory_bound_done(); /* an empty directory may stay */
        atomic_store(&spool.nameless, false);
    }
    pthread_mutex_unlock(&guests.lock);
}

pgcn_status pgcn_memory_bound_done(void) {
    if (!pgcn_i_spool_is_on()) return PGCN_OK;
    end();
    remove_files();
    if (rmdir(spool.directory) == 0 || errno == ENOENT || errno == ENOTEMPTY) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_IO, "cannot remove '%s': %s", spool.directory,
                       pgcn_system_error(errno));
}
