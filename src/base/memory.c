/* Memory: one replaceable hook for all of it, and the arena that long-lived objects live in.
 * Thread-safe as far as the hook is. */
#define _GNU_SOURCE /* mincore */
#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Large blocks are mapped: they come zeroed, and go back to the system when they are freed. malloc
 * would keep them after the first one is freed (its threshold moves), and the peak of a program
 * that reads files, builds a graph and frees the edges would depend on chance. A header in front of
 * every block stores its size, which says how it was allocated. Sanitizers only know malloc, so
 * nothing is mapped under them. */
enum { LARGE_BYTES = 1 << 20, SPARSE_BYTES = 1 << 14 };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MAPS_LARGE_BLOCKS false
#elif defined(__has_feature)
#define MAPS_LARGE_BLOCKS (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define MAPS_LARGE_BLOCKS true
#endif

_Static_assert(sizeof(pgcn_i_block_head) <= PGCN_ALIGN, "the head of a block keeps it aligned");

static bool is_mapped(size_t bytes) {
    return MAPS_LARGE_BLOCKS && bytes >= LARGE_BYTES;
}

/* Memory that is read at random should lie in huge pages. The block then begins where a huge page
 * can, and only pages that it fills to the end become huge ones: it takes no more memory than
 * before. Measured (Zen 4, rows of 1 KiB from 173 MB): 1.2 to 1.35 times the bandwidth on one
 * thread. */
enum { HUGE_PAGE = 2 << 20 };

static char *map_block(size_t bytes) {
    char *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

/* Maps one huge page more than needed and unmaps the excess before and after the block. */
static char *map_in_huge_pages(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t rounded = (bytes + page - 1) / page * page;
    char *wide = rounded <= SIZE_MAX - HUGE_PAGE ? map_block(rounded + HUGE_PAGE) : NULL;
    if (!wide) return map_block(bytes); /* perhaps only the extra page does not fit */
    size_t before = (HUGE_PAGE - (uintptr_t)wide % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0) munmap(wide, before);
    char *start = wide + before;
    munmap(start + rounded, HUGE_PAGE - before);
#ifdef MADV_HUGEPAGE
    /* only advice: without it everything works, more slowly */
    (void)madvise(start, rounded, MADV_HUGEPAGE);
#endif
    return start;
}

/* align is PGCN_ALIGN, or HUGE_PAGE for large blocks that are read at random. */
static void *default_alloc(size_t bytes, size_t align, void *context) {
    const bool *resident = context;
    size_t total = bytes + PGCN_ALIGN; /* the sum fits: see take_block */
    pgcn_i_block_head head = {.bytes = bytes, .file = -1};
    char *start;
    if (!(resident && *resident) && pgcn_i_spool_wants(bytes))
        start = pgcn_i_spool_map(total, &head.file);
    else if (is_mapped(bytes))
        start = align == HUGE_PAGE ? map_in_huge_pages(total) : map_block(total);
    else
        start = aligned_alloc(PGCN_ALIGN, total);
    if (!start) return NULL;
    if (head.file < 0 && is_mapped(bytes)) pgcn_i_spool_count((int64_t)bytes);
    memcpy(start, &head, sizeof head);
    return start + PGCN_ALIGN;
}

static void default_free(void *block, void *context) {
    (void)context;
    char *start = (char *)block - PGCN_ALIGN;
    pgcn_i_block_head head;
    memcpy(&head, start, sizeof head);
    if (head.file >= 0)
        pgcn_i_spool_unmap(start, head.bytes + PGCN_ALIGN, head.file);
    else if (is_mapped(head.bytes))
        munmap(start, head.bytes + PGCN_ALIGN);
    else
        free(start);
    if (head.file < 0 && is_mapped(head.bytes)) pgcn_i_spool_count(-(int64_t)head.bytes);
}

static bool is_in_file(const void *block) {
    pgcn_i_block_head head;
    memcpy(&head, (const char *)block - PGCN_ALIGN, sizeof head);
    return head.file >= 0;
}

static pgcn_allocator hook = {default_alloc, default_free, NULL};
static atomic_llong allocations;

void pgcn_set_allocator(const pgcn_allocator *allocator) {
    bool complete = allocator && allocator->alloc && allocator->free;
    hook = complete ? *allocator : (pgcn_allocator){default_alloc, default_free, NULL};
}

int64_t pgcn_i_alloc_count(void) {
    return (int64_t)atomic_load(&allocations);
}

static void *too_large(int64_t count, size_t size) {
    pgcn_i_fail(PGCN_ERR_MEMORY, "cannot allocate %lld elements of %zu bytes: too large",
                (long long)count, size);
    return NULL;
}

/* Allocates by the hook. Sizes are rounded up to full cache lines, at least one, as aligned_alloc
 * requires. */
typedef enum block_use { PLAIN, READ_AT_RANDOM, NOT_ZEROED, RESIDENT, SPARSE } block_use;
static void *take_block(int64_t count, size_t size, block_use use) {
    int64_t bytes;
    if (count < 0 || size > INT64_MAX || !pgcn_i_mul(count, (int64_t)size, &bytes) ||
        bytes > INT64_MAX - 2 * PGCN_ALIGN || (uint64_t)bytes > SIZE_MAX - 2 * PGCN_ALIGN)
        return too_large(count, size);
    size_t rounded = ((size_t)bytes + PGCN_ALIGN - 1) / PGCN_ALIGN * PGCN_ALIGN;
    if (rounded == 0) rounded = PGCN_ALIGN;
    /* zeros that nobody has written take no memory, in a block that is mapped */
    if (use == SPARSE && rounded >= SPARSE_BYTES && rounded < LARGE_BYTES) rounded = LARGE_BYTES;
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    bool ours = hook.alloc == default_alloc, huge = ours && use == READ_AT_RANDOM;
    bool resident = use == RESIDENT;
    void *block = hook.alloc(rounded, huge && rounded >= HUGE_PAGE ? HUGE_PAGE : PGCN_ALIGN,
                             ours ? (void *)&resident : hook.context);
    if (!block && ours && pgcn_i_spool_failed()) return NULL; /* with a sentence about the disk */
    if (!block) {
        char needed[32], available[64];
        pgcn_format_bytes(bytes, needed);
        pgcn_i_available_text(available);
        pgcn_i_fail(
            PGCN_ERR_MEMORY,
            "out of memory: %s more are needed, and %s; end other programs, %s or use a smaller "
            "graph",
            needed, available, pgcn_i_memory_remedy());
        return NULL;
    }
    bool fresh = ours && (is_mapped(rounded) || is_in_file(block)); /* the system has zeroed it */
    if (use != NOT_ZEROED && !fresh) memset(block, 0, rounded);
    return block;
}

void *pgcn_i_alloc(int64_t count, size_t size) {
    return take_block(count, size, PLAIN);
}

void *pgcn_i_alloc_resident(int64_t count, size_t size) {
    return take_block(count, size, RESIDENT);
}

void pgcn_i_free(void *block) {
    if (block) hook.free(block, hook.context);
}

char *pgcn_i_strdup(const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = pgcn_i_alloc((int64_t)bytes, 1);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}

/* Each block starts with the address of the one before, padded to keep the data aligned. */
static void *keep_block(pgcn_i_arena *arena, char *block, int64_t bytes) {
    memcpy(block, &arena->last, sizeof arena->last);
    arena->last = block;
    arena->bytes += bytes;
    return block + PGCN_ALIGN;
}

void *pgcn_i_arena_own(pgcn_i_arena *arena, void *block, int64_t bytes) {
    return keep_block(arena, block, bytes);
}

void *pgcn_i_arena_alloc(pgcn_i_arena *arena, int64_t count, size_t size) {
    int64_t bytes, with_header;
    if (count < 0 || size > INT64_MAX || !pgcn_i_mul(count, (int64_t)size, &bytes) ||
        !pgcn_i_add(bytes, PGCN_ALIGN, &with_header))
        return too_large(count, size);
    block_use use = arena->sparse ? SPARSE : arena->read_at_random ? READ_AT_RANDOM : PLAIN;
    char *block = take_block(with_header, 1, use);
    return block ? keep_block(arena, block, bytes) : NULL;
}

char *pgcn_i_arena_strdup(pgcn_i_arena *arena, const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = pgcn_i_arena_alloc(arena, (int64_t)bytes, 1);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}

void pgcn_i_arena_free(pgcn_i_arena *arena) {
    void *block = arena->last;
    while (block) {
        void *before;
        memcpy(&before, block, sizeof before);
        pgcn_i_free(block);
        block = before;
    }
    *arena = (pgcn_i_arena){.read_at_random = arena->read_at_random, .sparse = arena->sparse};
}

void pgcn_i_arena_drop(pgcn_i_arena *arena, const void *array) {
    void *after = NULL, *before;
    for (void *block = arena->last; block && array; after = block, block = before) {
        memcpy(&before, block, sizeof before);
        if ((char *)block + PGCN_ALIGN != array) continue;
        if (after)
            memcpy(after, &before, sizeof before);
        else
            arena->last = before;
        pgcn_i_free(block);
        return;
    }
}

/* ---- what is behind addresses ------------------------------------------------------------------- */

int64_t pgcn_i_resident(const void *array, int64_t bytes) {
    enum { SOME = 4096 };
    const int64_t page = sysconf(_SC_PAGESIZE);
    unsigned char there[SOME];
    uintptr_t begin = (uintptr_t)array / (uintptr_t)page * (uintptr_t)page;
    int64_t pages = ((int64_t)((uintptr_t)array - begin) + bytes + page - 1) / page, count = 0;
    for (int64_t at = 0; at < pages; at += SOME) {
        int64_t some = pages - at < SOME ? pages - at : SOME;
        if (mincore((void *)(begin + (uintptr_t)(at * page)), (size_t)(some * page), there) != 0)
            return bytes; /* nobody knows */
        for (int64_t i = 0; i < some; i++) count += there[i] & 1;
    }
    return count * page < bytes ? count * page : bytes;
}

int64_t pgcn_i_arena_resident(const pgcn_i_arena *arena) {
    int64_t sum = 0;
    if (hook.alloc != default_alloc) return arena->bytes;
    for (char *block = arena->last, *before; block; block = before) {
        pgcn_i_block_head head;
        memcpy(&before, block, sizeof before);
        memcpy(&head, block - PGCN_ALIGN, sizeof head);
        sum += is_mapped(head.bytes) ? pgcn_i_resident(block, (int64_t)head.bytes)
                                     : (int64_t)head.bytes;
    }
    return sum;
}

/* ---- growing arrays: blocks of an arena that no arena has taken yet --------------------------- */

pgcn_status pgcn_i_buffer_reserve(pgcn_i_buffer *buffer, int64_t capacity) {
    int64_t with_header;
    if (buffer->data && capacity <= buffer->capacity) return PGCN_OK;
    if (!pgcn_i_add(capacity, PGCN_ALIGN, &with_header)) {
        too_large(capacity, 1);
        return PGCN_ERR_MEMORY;
    }
    char *block = take_block(with_header, 1, NOT_ZEROED);
    if (!block) return PGCN_ERR_MEMORY;
    if (buffer->bytes > 0) memcpy(block + PGCN_ALIGN, buffer->data, (size_t)buffer->bytes);
    if (buffer->data) pgcn_i_free(buffer->data - PGCN_ALIGN);
    buffer->data = block + PGCN_ALIGN;
    buffer->capacity = capacity;
    return PGCN_OK;
}

void *pgcn_i_buffer_add(pgcn_i_buffer *buffer, int64_t bytes) {
    enum { FIRST = 4096 };
    int64_t needed, half_more;
    if (!pgcn_i_add(buffer->bytes, bytes, &needed)) return too_large(bytes, 1);
    if (!buffer->data || needed > buffer->capacity) {
        if (!pgcn_i_add(buffer->capacity, buffer->capacity / 2, &half_more)) half_more = needed;
        int64_t capacity = half_more > needed ? half_more : needed;
        if (pgcn_i_buffer_reserve(buffer, capacity > FIRST ? capacity : FIRST) != PGCN_OK)
            return NULL;
    }
    char *at = buffer->data + buffer->bytes;
    buffer->bytes = needed;
    return at;
}

void pgcn_i_buffer_free(pgcn_i_buffer *buffer) {
    if (buffer->data) pgcn_i_free(buffer->data - PGCN_ALIGN);
    *buffer = (pgcn_i_buffer){0};
}

void *pgcn_i_arena_take(pgcn_i_arena *arena, pgcn_i_buffer *buffer) {
    if (!buffer->data && pgcn_i_buffer_reserve(buffer, 0) != PGCN_OK) return NULL;
    void *data = keep_block(arena, buffer->data - PGCN_ALIGN, buffer->bytes);
    *buffer = (pgcn_i_buffer){0};
    return data;
}

void pgcn_i_forget_pages(const void *mapping, int64_t mapping_bytes, const void *array,
                         int64_t bytes) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)mapping;
    uintptr_t begin = (uintptr_t)array, end = begin + (uintptr_t)bytes;
    if (!mapping || begin < from || end > from + (uintptr_t)mapping_bytes) return;
    begin = (begin + page - 1) / page * page;
    end = end / page * page;
    if (begin < end) (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
}
