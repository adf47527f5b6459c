/* base: the lowest room. Every other room uses it; it uses none of them.
 *
 * Comes in: nothing. Goes out: errors with a sentence, checked memory, counter-based random
 * numbers (rng.h), and a thread pool whose results do not depend on the number of threads.
 * Next room: io (files) and graph. */
#ifndef PGCN_BASE_H
#define PGCN_BASE_H

#include "pathgcn/pathgcn.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- errors (status.c) ------------------------------------------------------------------- */

/* Stores the sentence for pgcn_last_error() (thread-local) and returns `code`, so that a check
 * is one line: `if (k < 1) return pgcn_i_fail(PGCN_ERR_ARGUMENT, "...", ...);` */
pgcn_status pgcn_i_fail(pgcn_status code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts "<prefix>: " in front of the stored sentence and returns `code`: for a caller that knows
 * more about where the error is. */
pgcn_status pgcn_i_fail_in(pgcn_status code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define PGCN_TRY(call)                                                                             \
    do {                                                                                           \
        pgcn_status pgcn_try_status = (call);                                                      \
        if (pgcn_try_status != PGCN_OK) return pgcn_try_status;                                    \
    } while (0)

/* The same in a function that must clean up: sets the local `status` and jumps to `fail`. */
#define PGCN_TRY_GOTO(call)                                                                        \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != PGCN_OK) goto fail;                                                          \
    } while (0)

/* The first line of a public function, for every required pointer: a wrong argument is an error
 * with a sentence (the rule of the public header). */
#define PGCN_I_NEED(pointer)                                                                       \
    do {                                                                                           \
        if (!(pointer))                                                                            \
            return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s: %s is NULL, expected an address", __func__, \
                               #pointer);                                                          \
    } while (0)

/* ---- option structs (status.c) ------------------------------------------------------------- */

/* Copies the caller's option struct `given` (it starts with its size_t size) over the defaults in
 * `known`. Only the fields that both sides know are copied, so old and new programs work. NULL
 * changes nothing. `maker` names the function that fills such a struct, for the error. */
pgcn_status pgcn_i_opts_over(void *known, size_t known_bytes, const void *given, const char *maker);

/* "1.2 GB are available", for errors about memory (system.c). */
void pgcn_i_available_text(char out[64]);
/* Anonymous and mapped memory together, cheaper than pgcn_memory_in_use(); 0: not known. */
int64_t pgcn_i_resident_bytes(void);
/* What pgcn_system_error says, and of a full disk how much it has left: the one of `path`, which need not exist. Of the
 * thread, until the next call. */
const char *pgcn_i_disk_error(const char *path, int error);
/* How to get more memory: "raise the limit ... (ulimit -v)", but only where there is a limit. */
const char *pgcn_i_memory_remedy(void);

/* PGCN_ERR_ARGUMENT for a seed above PGCN_MAX_SEED. */
pgcn_status pgcn_i_seed_check(uint64_t seed);

/* ---- memory (memory.c) ------------------------------------------------------------------- */

#define PGCN_ALIGN 64 /* one cache line, one AVX-512 register */

/* Asks for the cache line of an address that will be read. The empty assembly keeps the calls of a function that does
 * nothing else: GCC takes it as one without effect, and drops them. */
static inline void pgcn_i_prefetch(const void *address) {
    __builtin_prefetch(address, 0, 2);
    __asm__ volatile("");
}

/* Checked size arithmetic: false on overflow, *out is then undefined. */
static inline bool pgcn_i_mul(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool pgcn_i_add(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

/* All heap memory of the library comes from here. Zeroed, 64-byte aligned, count * size checked
 * for overflow; NULL sets the error PGCN_ERR_MEMORY. pgcn_i_free(NULL) is fine. */
void *pgcn_i_alloc(int64_t count, size_t size);
void pgcn_i_free(void *block);
char *pgcn_i_strdup(const char *text);
/* Number of pgcn_i_alloc calls so far in the process (the "training allocates nothing" test). */
int64_t pgcn_i_alloc_count(void);

/* An arena owns every array of one long-lived object: filled while the object is built, freed
 * in one call. Zero-initialise to create. One writer at a time.
 * read_at_random, set before arrays are taken: large arrays will be read in no order, so the system
 * is asked for huge pages (2 MiB), which miss the address cache far less often.
 * sparse, instead of it: arrays are address space, of which a part will be touched. Only that part takes memory, of
 * smaller arrays too. */
typedef struct pgcn_i_arena {
    void *last;    /* list of blocks, newest first */
    int64_t bytes; /* sum of what was asked for */
    bool read_at_random, sparse;
} pgcn_i_arena;
void *pgcn_i_arena_alloc(pgcn_i_arena *arena, int64_t count, size_t size); /* zeroed, aligned */
char *pgcn_i_arena_strdup(pgcn_i_arena *arena, const char *text);
void pgcn_i_arena_free(pgcn_i_arena *arena);
/* Gives it a block of PGCN_ALIGN + bytes bytes; returns the array in it. For spool.c. */
void *pgcn_i_arena_own(pgcn_i_arena *arena, void *block, int64_t bytes);
/* How many bytes of an array, or of all blocks, have memory behind them: what was never touched has none. */
int64_t pgcn_i_resident(const void *array, int64_t bytes);
int64_t pgcn_i_arena_resident(const pgcn_i_arena *arena);
/* Frees one array before the others; NULL is fine. */
void pgcn_i_arena_drop(pgcn_i_arena *arena, const void *array);

/* A growing array, for readers that do not know the size in advance. `data` moves when it grows.
 * Zero-initialise to create. Memory beyond `bytes` is not initialised. It costs nothing until it is
 * touched, so reserve the predicted size once and early. */
typedef struct pgcn_i_buffer {
    char *data;
    int64_t bytes, capacity;
} pgcn_i_buffer;
pgcn_status pgcn_i_buffer_reserve(pgcn_i_buffer *buffer, int64_t capacity); /* at least */
/* Appends `bytes` uninitialised bytes and returns the address of the first; NULL without memory. */
void *pgcn_i_buffer_add(pgcn_i_buffer *buffer, int64_t bytes);
void pgcn_i_buffer_free(pgcn_i_buffer *buffer);
/* Moves the block into the arena without copying; the buffer is empty afterwards. Returns the
 * array, which is not NULL for an empty buffer either, unless memory is out. */
void *pgcn_i_arena_take(pgcn_i_arena *arena, pgcn_i_buffer *buffer);

/* Gives back the pages of a file mapping, `mapping` and its bytes, that an array lies on, if it lies there at all: they
 * are read again when they are needed. Pages at both ends, which others may share, stay. */
void pgcn_i_forget_pages(const void *mapping, int64_t mapping_bytes, const void *array,
                         int64_t bytes);

/* Like pgcn_i_alloc, and never in a file of the spool: for memory that is written in no order. */
void *pgcn_i_alloc_resident(int64_t count, size_t size);

/* p = PGCN_I_ARRAY(arena, float, count): typed, NULL on failure with the error set. */
#define PGCN_I_ARRAY(arena, type, count)                                                           \
    ((type *)pgcn_i_arena_alloc((arena), (count), sizeof(type)))

/* ---- arrays in files (spool.c) -------------------------------------------------------------- */

/* Under pgcn_memory_bound() large blocks are files of a directory, mapped into memory. */
bool pgcn_i_spool_is_on(void);
int64_t pgcn_i_spool_memory(void); /* the bound, 0: none */
/* In front of every block of memory.c. */
typedef struct pgcn_i_block_head {
    size_t bytes;
    int64_t file; /* of the spool, -1: it is in none */
} pgcn_i_block_head;
/* For memory.c: whether a block of this size goes into a file; makes one (NULL: the sentence is
 * stored, and pgcn_i_spool_failed() is true once); frees it. */
bool pgcn_i_spool_wants(size_t bytes);
void *pgcn_i_spool_map(size_t bytes, int64_t *number);
void pgcn_i_spool_unmap(void *start, size_t bytes, int64_t number);
bool pgcn_i_spool_failed(void);
void pgcn_i_spool_count(int64_t bytes); /* anonymous memory taken, or given back if negative */
/* A mapping of a file that is only read: under a bound its pages are given back when memory is short. */
void pgcn_i_spool_watch(const void *start, int64_t bytes);
void pgcn_i_spool_unwatch(const void *start);
/* Keeps the process within so much memory by giving back pages of watched mappings, without files for blocks. Every
 * call needs one of the other; of several bounds the last counts. */
pgcn_status pgcn_i_pages_bound(int64_t bytes);
/* A mapping will be read in no order from now on: the system reads no pages beside those that are touched. */
void pgcn_i_pages_at_random(const void *start, int64_t bytes);
void pgcn_i_pages_unbound(void);
/* Large blocks are files, as under pgcn_memory_bound(), for a part of the work of a process; where they are already, they
 * stay where they are. The files have no names: nothing is left of them, however the process ends. Every call that
 * succeeds needs one of the other. */
pgcn_status pgcn_i_files_begin(int64_t bytes, const char *directory);
void pgcn_i_files_end(void);
/* Keeps an array for the next process: makes sure that its file is on the disk, and leaves it there when the
 * array is freed. Of an array that is in no file, or not the whole block of an arena, a copy is made. Its
 * number, by which pgcn_i_spool_adopt() puts it into an arena again. */
pgcn_status pgcn_i_spool_keep(const void *array, int64_t bytes, int64_t *number);
pgcn_status pgcn_i_spool_adopt(int64_t number, int64_t bytes, pgcn_i_arena *arena, void *out);
/* Files of the directory that are named "WHAT-NUMBER": out has PGCN_I_SPOOL_PATH bytes. */
enum { PGCN_I_SPOOL_PATH = 4200 };
void pgcn_i_spool_path(const char *what, int64_t number, char *out);
/* What the files of the directory were made from: a text that names the source as it is now. Files of
 * another source are removed when it is set. "": nothing is kept. */
pgcn_status pgcn_i_spool_set_key(const char *key);
const char *pgcn_i_spool_key(void);

/* ---- long work (stage.c) -------------------------------------------------------------------- */

/* Tells the callback of pgcn_on_work() how far a piece of work is, and asks whether to go on: PGCN_ERR_STOPPED
 * if not. Any thread. Cheap: the callback is called when `what`, a literal, is another one, and a few times a
 * second. */
pgcn_status pgcn_i_stage(const char *what, double share);

/* ---- threads (parallel.c) ---------------------------------------------------------------- */

typedef struct pgcn_i_pool pgcn_i_pool;

/* threads = 0: one per usable core. The calling thread is one of them. */
pgcn_status pgcn_i_pool_new(int threads, pgcn_i_pool **out);
void pgcn_i_pool_free(pgcn_i_pool *pool);
int pgcn_i_pool_threads(const pgcn_i_pool *pool);
int pgcn_i_cores(void); /* cores this process may use (affinity mask) */

/* Runs task 0 .. n_tasks-1, fewer than 2^32 of them, each exactly once, on any worker in any order;
 * returns when all are done. `worker` (0 .. threads-1) only selects scratch memory. A task writes
 * only memory that belongs to its number, so results cannot depend on scheduling. Nothing in a task
 * can fail. No nesting. How the data is divided into tasks must not depend on the number of
 * threads. pool: NULL, the calling thread runs all of them. */
typedef void (*pgcn_i_task)(void *context, int64_t task, int worker);
void pgcn_i_parallel(pgcn_i_pool *pool, int64_t n_tasks, pgcn_i_task run, void *context);
/* The same for a loop that does little with each of `floats` numbers. If there are few, the calling
 * thread does all of them: it is done before a worker wakes up. */
enum { PGCN_FEW_FLOATS = 32768 };
static inline void pgcn_i_parallel_light(pgcn_i_pool *pool, int64_t floats, int64_t n_tasks,
                                         pgcn_i_task run, void *context) {
    if (floats > PGCN_FEW_FLOATS) {
        pgcn_i_parallel(pool, n_tasks, run, context);
        return;
    }
    for (int64_t task = 0; task < n_tasks; task++) run(context, task, 0);
}

/* Between loops, by the caller: counts from now on how long threads wait, because there is no loop, or no task of it
 * left. Their share of the time of all threads since then. Costs nothing before the first call, later two readings of
 * the clock per loop and thread. */
void pgcn_i_pool_watch(pgcn_i_pool *pool);
double pgcn_i_pool_waited(const pgcn_i_pool *pool);

/* Rows are cut into blocks whose size depends on the number of rows only, never on the threads.
 * Blocks: for loops that write their own rows. Groups: fewer and larger, for sums over rows. A group is a
 * range of nodes, and holds all samples of its nodes; every sum over rows is a partial sum for each
 * group, and these are added in the order of the groups, whoever computed them. How many groups there
 * are belongs to the data (pgcn_dataset) and so to the identity of a run: it limits how many threads or
 * machines can share a sum, and not the other way round. */
enum {
    PGCN_BLOCK_ROWS = 64,
    PGCN_MAX_BLOCKS = 1024,
    PGCN_GROUPS = 32, /* unless the data says otherwise */
    PGCN_MAX_GROUPS = 4096,
    PGCN_GROUP_ROWS = 64 /* a group has a multiple of it */
};
typedef struct pgcn_i_blocks {
    int64_t rows, size, count;
} pgcn_i_blocks;
typedef struct pgcn_i_range {
    int64_t begin, end;
} pgcn_i_range;
static inline pgcn_i_blocks pgcn_i_cut(int64_t rows, int64_t most, int64_t multiple) {
    int64_t size = (rows + most - 1) / most;
    size = (size + multiple - 1) / multiple * multiple;
    if (size < multiple) size = multiple;
    return (pgcn_i_blocks){rows, size, (rows + size - 1) / size};
}
static inline pgcn_i_blocks pgcn_i_blocks_of(int64_t rows) {
    return pgcn_i_cut(rows, PGCN_MAX_BLOCKS, PGCN_BLOCK_ROWS);
}
/* Groups of n nodes, `most` at most. */
static inline pgcn_i_blocks pgcn_i_groups_of(int64_t n, int64_t most) {
    return pgcn_i_cut(n, most, PGCN_GROUP_ROWS);
}
static inline int64_t pgcn_i_block_begin(pgcn_i_blocks blocks, int64_t block) {
    return block * blocks.size;
}
static inline int64_t pgcn_i_block_end(pgcn_i_blocks blocks, int64_t block) {
    int64_t end = (block + 1) * blocks.size;
    return end < blocks.rows ? end : blocks.rows;
}

#endif
