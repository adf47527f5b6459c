/* Rows of a matrix in a file, read one by one, in ranges or in batches ahead of need: the features of a
 * container that need not fit into memory.
 *
 * With io_uring, what the system has of a batch in its cache is copied at once, by all threads. What is left becomes a list
 * of requests, one for every run of rows that are neighbours in the file. Those of several batches are read in one sweep
 * through the file, from its beginning to its end, while the caller computes: requests with small gaps between them are
 * read as one span, since a disk takes longer for two reads than for one that is tens of kilobytes longer. Where memory has
 * no room for the file, spans pass by the cache of the system (O_DIRECT), which would lose other pages for them: those of
 * the graph. Where the build has no liburing or the kernel (a container's rules, often) refuses it, the system is advised
 * of the requests (posix_fadvise) and they are read one after the other when they are waited for: the same bytes.
 *
 * A file that is replaced or changed while it is read is recognised by its identity: device, inode,
 * length, time of change and first bytes. Called by row_cache.c and the data room. One thread at a time. */
#define _GNU_SOURCE /* preadv2 */
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#ifdef PGCN_HAVE_URING
#include <liburing.h>
#endif

enum {
    QUEUE = 128,
    MOST_BYTES = 1 << 20,
    FIRST_BYTES = 64,
    /* A virtual disk had 9300 reads of 4 KiB a second, and 480 MB a second in reads of 128 KiB: a read takes as long as
     * 50 kB more of another. */
    MOST_GAP = 48 << 10,
    MOST_SPAN = 128 << 10,
    SPAN_ROOM = 4 << 20,             /* bytes of spans under way */
    SECTOR = 4096,                   /* spans that pass by the cache begin and end at multiples */
    BUFFER = MOST_SPAN + 3 * SECTOR, /* of a span: aligned, and a sector more at both ends */
    MOST_SPARE = SPAN_ROOM / MOST_SPAN,
    /* Rows of a batch of which one is missing in the cache of the system, before it is asked about all of the next batch.
     * To ask about a row takes as long as to copy it. */
    ASK_SHARE = 16
};

typedef struct pgcn_i_row_request {
    pgcn_i_row_batch *batch;
    int64_t offset;
    char *to;
    int64_t bytes;
} request;

/* Requests of batches that were submitted together, in the order of the file. */
typedef struct sweep {
    request **request; /* [count] */
    int64_t count, launched, landed;
    struct sweep *later;
} sweep;

/* Requests of a sweep that one read brings: to where the only one goes, or through a buffer. */
typedef struct span {
    sweep *of;
    request **request; /* [count] */
    int64_t count, offset, bytes, got;
    int64_t needed;  /* of the bytes; the file may end before the rest */
    char *buffer;    /* NULL: one request, which needs none */
    int64_t skipped; /* bytes of the buffer before it begins: it is aligned */
} span;

struct pgcn_i_row_file {
    char *path;
    int descriptor;
    int direct; /* passes by the cache of the system; -1: not wanted, or not possible */
    struct stat about;
    char first[FIRST_BYTES]; /* of a container: its header, the SHA-256 included */
    pgcn_i_row_layout layout;
    float *scale;
    int64_t row_bytes, bytes_read;
    atomic_llong noted_batches, noted_hits, noted_misses, noted_bytes;
    bool uring, never_copies;
    unsigned char
        *mapped; /* the whole file, to ask what the system has of it: no page is touched; or NULL */
    bool asks;   /* before it copies: of the last batch much was missing */
    pgcn_i_row_batch *head, *tail; /* submitted, not waited for */
#ifdef PGCN_HAVE_URING
    struct io_uring ring;
    sweep *sweeps, *last_sweep; /* not all of them launched */
    int flying;                 /* reads that the kernel has */
    int64_t spans_bytes;        /* of their buffers */
    char *spare
        [MOST_SPARE]; /* buffers for the next ones: new memory costs as much as the copy out of it */
    int spares;
#endif
};

/* ---- opening ----------------------------------------------------------------------------------- */

static bool has_same_times(const struct stat *a, const struct stat *b) {
    return a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static pgcn_status check_layout(const pgcn_i_row_file *file) {
    const pgcn_i_row_layout *layout = &file->layout;
    int64_t bytes, end;
    if (layout->rows >= 0 && layout->columns > 0 && layout->offset >= 0 &&
        pgcn_i_mul(layout->rows, file->row_bytes, &bytes) &&
        pgcn_i_add(layout->offset, bytes, &end) && end <= (int64_t)file->about.st_size)
        return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "'%s' has %lld bytes, too few for %lld rows of %lld features; copy it again",
                       file->path, (long long)file->about.st_size, (long long)layout->rows,
                       (long long)layout->columns);
}

static pgcn_status open_ring(pgcn_i_row_file *file, pgcn_i_row_way way) {
#ifdef PGCN_HAVE_URING
    int error = way == PGCN_I_ROWS_PLAIN ? 0 : -io_uring_queue_init(QUEUE, &file->ring, 0);
    file->uring = way != PGCN_I_ROWS_PLAIN && error == 0;
    file->never_copies = way == PGCN_I_ROWS_COLD;
    bool known = sysconf(_SC_PAGESIZE) == SECTOR; /* how large a page is */
    void *all = file->uring && known ? mmap(NULL, (size_t)file->about.st_size, PROT_READ,
                                            MAP_SHARED, file->descriptor, 0)
                                     : MAP_FAILED;
    file->mapped = all != MAP_FAILED ? all : NULL;
    file->asks = true;
#else
    int error = ENOSYS;
#endif
    if (way != PGCN_I_ROWS_URING || file->uring) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_SYSTEM, "io_uring cannot be used here: %s",
                       pgcn_system_error(error));
}

static pgcn_status open_file(pgcn_i_row_file *file, const char *path) {
    pgcn_i_reader reader;
    PGCN_TRY(pgcn_i_reader_open(&reader, path));
    file->descriptor = reader.descriptor; /* belongs to the file from here on */
    if (fstat(file->descriptor, &file->about) != 0)
        return pgcn_i_fail(PGCN_ERR_IO, "cannot read '%s': %s", path, pgcn_system_error(errno));
    int64_t first = reader.bytes < FIRST_BYTES ? reader.bytes : FIRST_BYTES;
    PGCN_TRY(pgcn_i_reader_read(&reader, file->first, first));
    return check_layout(file);
}

pgcn_status pgcn_i_row_file_open(const char *path, const pgcn_i_row_layout *layout,
                                 pgcn_i_row_way way, pgcn_i_row_file **out) {
    pgcn_i_row_file *file = pgcn_i_alloc(1, sizeof *file);
    if (!file) return PGCN_ERR_MEMORY;
    pgcn_status status = PGCN_ERR_MEMORY;
    file->descriptor = file->direct = -1;
    file->layout = *layout;
    file->row_bytes = layout->columns * pgcn_i_dtype_bytes(layout->dtype);
    file->path = pgcn_i_strdup(path);
    if (!file->path) goto fail;
    if (layout->scale) {
        file->layout.scale = file->scale = pgcn_i_alloc(layout->columns, sizeof *file->scale);
        if (!file->scale) goto fail;
        memcpy(file->scale, layout->scale, (size_t)layout->columns * sizeof *file->scale);
    }
    PGCN_TRY_GOTO(open_file(file, path));
    PGCN_TRY_GOTO(open_ring(file, way));
    *out = file;
    return PGCN_OK;
fail:
    pgcn_i_row_file_close(file);
    return status;
}

void pgcn_i_row_file_direct(pgcn_i_row_file *file) {
    if (file->uring && file->direct < 0)
        file->direct = open(file->path, O_RDONLY | O_CLOEXEC | O_DIRECT);
}

void pgcn_i_row_file_at_random(pgcn_i_row_file *file) {
    (void)posix_fadvise(file->descriptor, 0, 0, POSIX_FADV_RANDOM); /* only advice */
}

const char *pgcn_i_row_file_path(const pgcn_i_row_file *file) {
    return file->path;
}

const pgcn_i_row_layout *pgcn_i_row_file_layout(const pgcn_i_row_file *file) {
    return &file->layout;
}

int64_t pgcn_i_row_file_row_bytes(const pgcn_i_row_file *file) {
    return file->row_bytes;
}

bool pgcn_i_row_file_uses_uring(const pgcn_i_row_file *file) {
    return file->uring;
}

int64_t pgcn_i_row_file_bytes_read(const pgcn_i_row_file *file) {
    return file->bytes_read;
}

void pgcn_i_row_file_note(pgcn_i_row_file *file, pgcn_i_row_counts counts) {
    atomic_fetch_add(&file->noted_batches, counts.batches);
    atomic_fetch_add(&file->noted_hits, counts.hits);
    atomic_fetch_add(&file->noted_misses, counts.misses);
    atomic_fetch_add(&file->noted_bytes, counts.bytes_read);
}

pgcn_i_row_counts pgcn_i_row_file_noted(const pgcn_i_row_file *file) {
    return (pgcn_i_row_counts){.batches = atomic_load(&file->noted_batches),
                               .hits = atomic_load(&file->noted_hits),
                               .misses = atomic_load(&file->noted_misses),
                               .bytes_read = atomic_load(&file->noted_bytes)};
}

/* ---- identity ---------------------------------------------------------------------------------- */

static pgcn_status was_changed(const pgcn_i_row_file *file, const char *how) {
    return pgcn_i_fail(PGCN_ERR_MISMATCH,
                       "'%s' %s while its rows were read; what was read so far is of the old file: "
                       "put that back, or start again with the new one",
                       file->path, how);
}

pgcn_status pgcn_i_row_file_check(const pgcn_i_row_file *file) {
    struct stat now, there;
    char first[FIRST_BYTES] = {0};
    if (fstat(file->descriptor, &now) != 0)
        return pgcn_i_fail(PGCN_ERR_IO, "cannot read '%s': %s", file->path,
                           pgcn_system_error(errno));
    if (now.st_size != file->about.st_size)
        return was_changed(file, now.st_size < file->about.st_size ? "was cut short" : "has grown");
    if (stat(file->path, &there) != 0) return was_changed(file, "was removed");
    if (there.st_dev != now.st_dev || there.st_ino != now.st_ino)
        return was_changed(file, "was replaced by another file");
    if (has_same_times(&now, &file->about)) return PGCN_OK;
    /* touched, or written in place: the header knows which, unless the writer left it alone */
    ssize_t got = pread(file->descriptor, first, sizeof first, 0);
    if (got < 0)
        return pgcn_i_fail(PGCN_ERR_IO, "cannot read '%s': %s", file->path,
                           pgcn_system_error(errno));
    return was_changed(file, memcmp(first, file->first, sizeof first) == 0
                                 ? "was written to"
                                 : "was overwritten by another container");
}

pgcn_status pgcn_i_row_file_again(const pgcn_i_row_file *file, pgcn_i_row_file **out) {
    pgcn_i_row_file *second;
    PGCN_TRY(pgcn_i_row_file_check(file));
    PGCN_TRY(pgcn_i_row_file_open(file->path, &file->layout,
                                  file->uring ? PGCN_I_ROWS_BEST : PGCN_I_ROWS_PLAIN, &second));
    if (second->about.st_dev == file->about.st_dev && second->about.st_ino == file->about.st_ino &&
        memcmp(second->first, file->first, sizeof file->first) == 0) {
        *out = second;
        return PGCN_OK;
    }
    pgcn_i_row_file_close(second);
    return was_changed(file, "was replaced by another file");
}

/* ---- requests ---------------------------------------------------------------------------------- */

/* The end of a run of neighbours from row i of a batch on: all of them were copied, or none. */
static int64_t end_of_run(const pgcn_i_row_file *file, const pgcn_i_row_batch *batch, int64_t i,
                          int64_t last) {
    int64_t end = i + 1, most = file->row_bytes < MOST_BYTES ? MOST_BYTES / file->row_bytes : 1;
    while (end < last && end - i < most && batch->row[end] == batch->row[end - 1] + 1 &&
           batch->there[end] == batch->there[i])
        end++;
    return end;
}

static request request_of(const pgcn_i_row_file *file, const pgcn_i_row_batch *batch, int64_t i,
                          int64_t end) {
    return (request){.batch = (pgcn_i_row_batch *)(uintptr_t)batch,
                     .offset = file->layout.offset + batch->row[i] * file->row_bytes,
                     .to = batch->to + i * file->row_bytes,
                     .bytes = (end - i) * file->row_bytes};
}

/* ---- plain reads ------------------------------------------------------------------------------- */

/* Reads all of it; returns errno, or -1 where the file ends. */
static int read_all(pgcn_i_row_file *file, request *want) {
    while (want->bytes > 0) {
        ssize_t got = pread(file->descriptor, want->to, (size_t)want->bytes, (off_t)want->offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        if (got == 0) return -1;
        file->bytes_read += got;
        want->to += got;
        want->offset += got;
        want->bytes -= got;
    }
    return 0;
}

static pgcn_status failed(const pgcn_i_row_file *file, int error) {
    if (error > 0)
        return pgcn_i_fail(PGCN_ERR_IO, "cannot read features of '%s': %s", file->path,
                           pgcn_system_error(error));
    return pgcn_i_fail(PGCN_ERR_IO,
                       "cannot read features of '%s': it ended early; another program has cut it "
                       "short, put the whole file back and go on",
                       file->path);
}

/* ---- io_uring ---------------------------------------------------------------------------------- */

static void note_error(pgcn_i_row_batch *batch, int error) {
    if (batch->error == 0) batch->error = error;
}

#ifdef PGCN_HAVE_URING

static void fly(pgcn_i_row_file *file, struct io_uring_sqe *entry, span *s) {
    char *to = s->buffer ? s->buffer + s->skipped : s->request[0]->to;
    int from =
        file->direct >= 0 && s->buffer && s->got % SECTOR == 0 ? file->direct : file->descriptor;
    io_uring_prep_read(entry, from, to + s->got, (unsigned)(s->bytes - s->got),
                       (uint64_t)(s->offset + s->got));
    io_uring_sqe_set_data(entry, s);
    file->flying++;
}

static char *take_buffer(pgcn_i_row_file *file, int64_t bytes) {
    if (bytes <= BUFFER && file->spares > 0) return file->spare[--file->spares];
    return pgcn_i_alloc(bytes > BUFFER ? bytes : BUFFER, 1);
}

static void give_buffer(pgcn_i_row_file *file, char *buffer, int64_t bytes) {
    if (buffer && bytes <= BUFFER && file->spares < MOST_SPARE)
        file->spare[file->spares++] = buffer;
    else
        pgcn_i_free(buffer);
}

/* The requests of a sweep that the next read brings: as many as small gaps are between. */
static span *next_span(pgcn_i_row_file *file, sweep *of) {
    request **first = of->request + of->launched;
    int64_t left = of->count - of->launched, count = 1;
    int64_t offset = first[0]->offset, end = offset + first[0]->bytes;
    for (; count < left; count++) {
        int64_t more = first[count]->offset + first[count]->bytes;
        if (first[count]->offset - end > MOST_GAP || more - offset > MOST_SPAN) break;
        if (more > end) end = more;
    }
    span *s = pgcn_i_alloc(1, sizeof *s);
    if (!s) return NULL;
    *s = (span){of, first, .count = count, .offset = offset, .bytes = end - offset};
    if (file->direct >= 0) {
        s->offset = offset / SECTOR * SECTOR;
        s->bytes = (end - s->offset + SECTOR - 1) / SECTOR * SECTOR;
    }
    s->needed = end - s->offset;
    if (count > 1 || file->direct >= 0) s->buffer = take_buffer(file, s->bytes + SECTOR);
    if (s->buffer) s->skipped = (int64_t)(-(uintptr_t)s->buffer % SECTOR);
    if (s->buffer || (count == 1 && file->direct < 0)) return s;
    *s = (span){of, first, .count = 1, .offset = offset, .bytes = first[0]->bytes};
    s->needed = s->bytes; /* without memory one by one */
    return s;
}

/* Whatever way a read ended, its requests are done. */
static void finish(pgcn_i_row_file *file, span *s, int error) {
    for (int64_t i = 0; i < s->count; i++) {
        request *want = s->request[i];
        if (error != 0)
            note_error(want->batch, error);
        else if (s->buffer)
            memcpy(want->to, s->buffer + s->skipped + (want->offset - s->offset),
                   (size_t)want->bytes);
        want->batch->done++;
    }
    s->of->landed += s->count;
    if (s->of->landed == s->of->count) pgcn_i_free(s->of);
    if (s->buffer) file->spans_bytes -= s->bytes;
    give_buffer(file, s->buffer, s->bytes + SECTOR);
    pgcn_i_free(s);
}

/* Hands over what fits into the queue, oldest sweeps first. */
static void launch(pgcn_i_row_file *file) {
    while (file->sweeps && file->flying < QUEUE && file->spans_bytes < SPAN_ROOM) {
        sweep *of = file->sweeps;
        struct io_uring_sqe *entry = NULL;
        span *s = io_uring_sq_space_left(&file->ring) > 0 ? next_span(file, of) : NULL;
        if (s) entry = io_uring_get_sqe(&file->ring);
        if (!entry) break;
        of->launched += s->count;
        if (s->buffer) file->spans_bytes += s->bytes;
        if (of->launched == of->count) file->sweeps = of->later;
        if (!file->sweeps) file->last_sweep = NULL;
        fly(file, entry, s);
    }
    int result;
    do result = io_uring_submit(&file->ring);
    while (result == -EINTR || result == -EAGAIN || result == -EBUSY);
}

/* A read that came back: done, failed, or short, and then its rest goes out again. */
static void land(pgcn_i_row_file *file, span *s, int result) {
    file->flying--;
    if (result > 0) {
        file->bytes_read += result;
        s->got += result;
    }
    bool again = (result > 0 && s->got < s->needed) || result == -EINTR || result == -EAGAIN;
    struct io_uring_sqe *entry = again ? io_uring_get_sqe(&file->ring) : NULL;
    if (entry) {
        fly(file, entry, s);
        return;
    }
    int error = result < 0 ? -result : s->got < s->needed ? -1 : 0;
    if (again) { /* no place in the queue */
        char *to = s->buffer ? s->buffer + s->skipped : s->request[0]->to;
        request rest = {
            .offset = s->offset + s->got, .to = to + s->got, .bytes = s->needed - s->got};
        error = read_all(file, &rest);
    }
    finish(file, s, error);
}

static void land_all(pgcn_i_row_file *file, pgcn_i_row_batch *batch) {
    while (batch->done < batch->requests) {
        struct io_uring_cqe *came;
        launch(file);
        int result = file->flying > 0 ? io_uring_wait_cqe(&file->ring, &came) : -ENOMEM;
        if (result == -EINTR || result == -EAGAIN) continue;
        if (result < 0) { /* nothing can be waited for any more: the ring is broken */
            note_error(batch, -result);
            return;
        }
        span *s = io_uring_cqe_get_data(came);
        int got = came->res;
        io_uring_cqe_seen(&file->ring, came);
        land(file, s, got);
    }
}

/* ---- what the system has ------------------------------------------------------------------------- */

/* Whether pages of the file are in the cache. A read that does not wait would say so, too, but has the system read the
 * page that is missing. */
static bool is_cached(const pgcn_i_row_file *file, int64_t offset, int64_t bytes) {
    enum { MOST = MOST_BYTES / SECTOR + 2 };
    unsigned char there[MOST];
    int64_t begin = offset / SECTOR * SECTOR,
            pages = (offset + bytes - begin + SECTOR - 1) / SECTOR;
    if (!file->mapped) return true;
    if (pages > MOST || mincore(file->mapped + begin, (size_t)(pages * SECTOR), there) != 0)
        return false;
    for (int64_t i = 0; i < pages; i++)
        if (!(there[i] & 1)) return false;
    return true;
}

typedef struct copy_job {
    pgcn_i_row_file *file;
    const pgcn_i_row_batch *batch;
    pgcn_i_blocks blocks;
    atomic_llong copied; /* rows */
} copy_job;

static void copy_task(void *context, int64_t task, int worker) {
    (void)worker;
    copy_job *job = context;
    const pgcn_i_row_file *file = job->file;
    const pgcn_i_row_batch *batch = job->batch;
    int64_t last = pgcn_i_block_end(job->blocks, task), copied = 0;
    for (int64_t i = pgcn_i_block_begin(job->blocks, task), end; i < last; i = end) {
        end = end_of_run(file, batch, i, last);
        request want = request_of(file, batch, i, end);
        struct iovec to = {want.to, (size_t)want.bytes};
        if (file->asks && !is_cached(file, want.offset, want.bytes)) continue;
        if (preadv2(file->descriptor, &to, 1, (off_t)want.offset, RWF_NOWAIT) !=
            (ssize_t)want.bytes)
            continue;
        memset(batch->there + i, 1, (size_t)(end - i));
        copied += end - i;
    }
    atomic_fetch_add(&job->copied, copied);
}

/* Copies the rows that need no disk. */
static void copy_batch(pgcn_i_row_file *file, pgcn_i_row_batch *batch, pgcn_i_pool *pool) {
    copy_job job = {.file = file, .batch = batch, .blocks = pgcn_i_blocks_of(batch->count)};
    pgcn_i_parallel(pool, job.blocks.count, copy_task, &job);
    int64_t copied = atomic_load(&job.copied);
    file->bytes_read += copied * file->row_bytes;
    file->asks = batch->count - copied > batch->count / ASK_SHARE;
}

static int by_offset(const void *a, const void *b) {
    const request *x = *(request *const *)a, *y = *(request *const *)b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The requests of the batches, in the order of the file. */
static pgcn_status add_sweep(pgcn_i_row_file *file, pgcn_i_row_batch *const *batch,
                             int64_t batches) {
    int64_t count = 0;
    for (int64_t b = 0; b < batches; b++) count += batch[b]->requests;
    if (count == 0) return PGCN_OK;
    sweep *all = pgcn_i_alloc((int64_t)sizeof *all + count * (int64_t)sizeof *all->request, 1);
    if (!all) return PGCN_ERR_MEMORY;
    all->request = (request **)(all + 1);
    for (int64_t b = 0; b < batches; b++)
        for (int64_t i = 0; i < batch[b]->requests; i++)
            all->request[all->count++] = &batch[b]->request[i];
    if (batches > 1) qsort(all->request, (size_t)count, sizeof(request *), by_offset);
    if (file->last_sweep)
        file->last_sweep->later = all;
    else
        file->sweeps = all;
    file->last_sweep = all;
    launch(file);
    return PGCN_OK;
}

#endif

/* ---- batches ----------------------------------------------------------------------------------- */

/* One request for each run of neighbours that was not copied; counts them if `to` is NULL. */
static int64_t cut_requests(const pgcn_i_row_file *file, pgcn_i_row_batch *batch, request *to) {
    int64_t requests = 0;
    for (int64_t i = 0, end; i < batch->count; i = end) {
        end = end_of_run(file, batch, i, batch->count);
        if (batch->there[i]) continue;
        if (to) to[requests] = request_of(file, batch, i, end);
        requests++;
    }
    return requests;
}

static pgcn_status check_rows(const pgcn_i_row_file *file, const pgcn_node *row, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (row[i] < 0 || row[i] >= file->layout.rows)
            return pgcn_i_fail(PGCN_ERR_ARGUMENT, "'%s' has no row %d: it has %lld rows",
                               file->path, row[i], (long long)file->layout.rows);
    return PGCN_OK;
}

/* Copies what can be copied, and lists the rest as requests. */
static pgcn_status add_batch(pgcn_i_row_file *file, pgcn_i_row_batch *batch, pgcn_i_pool *pool) {
    PGCN_TRY(check_rows(file, batch->row, batch->count));
    batch->there = pgcn_i_alloc(batch->count, sizeof *batch->there);
    if (!batch->there) return PGCN_ERR_MEMORY;
#ifdef PGCN_HAVE_URING
    if (file->uring && !file->never_copies) copy_batch(file, batch, pool);
#else
    (void)pool;
#endif
    int64_t requests = cut_requests(file, batch, NULL);
    batch->request = requests > 0 ? pgcn_i_alloc(requests, sizeof *batch->request) : NULL;
    if (batch->request) batch->requests = cut_requests(file, batch, batch->request);
    pgcn_i_free(batch->there);
    batch->there = NULL;
    if (requests == 0) return PGCN_OK;
    if (!batch->request) return PGCN_ERR_MEMORY;
    if (file->tail)
        file->tail->next = batch;
    else
        file->head = batch;
    file->tail = batch;
    for (int64_t i = 0; i < batch->requests && !file->uring; i++) /* only advice */
        (void)posix_fadvise(file->descriptor, (off_t)batch->request[i].offset,
                            (off_t)batch->request[i].bytes, POSIX_FADV_WILLNEED);
    return PGCN_OK;
}

pgcn_status pgcn_i_row_file_submit(pgcn_i_row_file *file, pgcn_i_row_batch *const *batch,
                                   int64_t batches, pgcn_i_pool *pool) {
    for (int64_t b = 0; b < batches; b++) {
        batch[b]->request = NULL;
        batch[b]->requests = batch[b]->done = 0;
        batch[b]->error = 0;
        batch[b]->next = NULL;
    }
    for (int64_t b = 0; b < batches; b++) PGCN_TRY(add_batch(file, batch[b], pool));
#ifdef PGCN_HAVE_URING
    if (file->uring) return add_sweep(file, batch, batches);
#endif
    return PGCN_OK;
}

static void unlist(pgcn_i_row_file *file, const pgcn_i_row_batch *batch) {
    pgcn_i_row_batch *before = NULL;
    for (pgcn_i_row_batch *at = file->head; at; before = at, at = at->next) {
        if (at != batch) continue;
        if (before)
            before->next = at->next;
        else
            file->head = at->next;
        if (file->tail == at) file->tail = before;
        return;
    }
}

pgcn_status pgcn_i_row_file_wait(pgcn_i_row_file *file, pgcn_i_row_batch *batch) {
    if (!batch->request) return PGCN_OK; /* was not submitted, or all of it was copied */
#ifdef PGCN_HAVE_URING
    if (file->uring) land_all(file, batch);
#endif
    for (int64_t i = 0; i < batch->requests && !file->uring && batch->error == 0; i++)
        note_error(batch, read_all(file, &batch->request[i]));
    unlist(file, batch);
    pgcn_i_free(batch->request);
    batch->request = NULL;
    return batch->error == 0 ? PGCN_OK : failed(file, batch->error);
}

void pgcn_i_row_file_close(pgcn_i_row_file *file) {
    if (!file) return;
#ifdef PGCN_HAVE_URING
    while (file->uring && file->head) { /* the kernel still writes into the caller's memory */
        land_all(file, file->head);
        unlist(file, file->head);
    }
    if (file->uring) io_uring_queue_exit(&file->ring);
    while (file->spares > 0) pgcn_i_free(file->spare[--file->spares]);
#endif
    if (file->mapped) munmap(file->mapped, (size_t)file->about.st_size);
    if (file->direct >= 0) close(file->direct);
    if (file->descriptor >= 0) close(file->descriptor);
    pgcn_i_free(file->scale);
    pgcn_i_free(file->path);
    pgcn_i_free(file);
}

/* ---- at once ----------------------------------------------------------------------------------- */

void pgcn_i_row_file_decode(const pgcn_i_row_file *file, const void *stored, int64_t count,
                            float *out) {
    const pgcn_i_row_layout *layout = &file->layout;
    pgcn_i_narrow_decode(layout->dtype, stored, count * layout->columns, 0, layout->columns,
                         layout->scale, out);
}

/* Rows of at most MOST_BYTES at a time through a buffer of the stored type. */
static pgcn_status read_rows(pgcn_i_row_file *file, const pgcn_node *row, int64_t first,
                             int64_t count, float *out) {
    int64_t most = file->row_bytes < MOST_BYTES ? MOST_BYTES / file->row_bytes : 1;
    char *stored = pgcn_i_alloc(most < count ? most : count, (size_t)file->row_bytes);
    if (!stored) return PGCN_ERR_MEMORY;
    int error = 0;
    for (int64_t i = 0, end; i < count && error == 0; i = end) {
        int64_t from = row ? row[i] : first + i;
        for (end = i + 1; end < count && end - i < most; end++)
            if (row && row[end] != row[end - 1] + 1) break;
        request want = {.offset = file->layout.offset + from * file->row_bytes,
                        .to = stored,
                        .bytes = (end - i) * file->row_bytes};
        error = read_all(file, &want);
        if (error == 0)
            pgcn_i_row_file_decode(file, stored, end - i, out + i * file->layout.columns);
    }
    pgcn_i_free(stored);
    return error == 0 ? PGCN_OK : failed(file, error);
}

pgcn_status pgcn_i_row_file_range(pgcn_i_row_file *file, int64_t first, int64_t count, float *out) {
    if (first < 0 || count < 0 || first > file->layout.rows - count)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "'%s' has no rows %lld to %lld: it has %lld",
                           file->path, (long long)first, (long long)(first + count - 1),
                           (long long)file->layout.rows);
    return read_rows(file, NULL, first, count, out);
}

pgcn_status pgcn_i_row_file_list(pgcn_i_row_file *file, const pgcn_node *row, int64_t count,
                                 float *out) {
    PGCN_TRY(check_rows(file, row, count));
    return read_rows(file, row, 0, count, out);
}
