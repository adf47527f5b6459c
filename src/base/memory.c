/* Memory: one replaceable hook for all of it, and the arena that long-lived objects live in.
 * Thread-safe as far as the hook is. */
#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *default_alloc(size_t bytes, size_t align, void *context) {
    (void)context;
    return aligned_alloc(align, bytes);
}

static void default_free(void *block, void *context) {
    (void)context;
    free(block);
}

static pgcn_allocator hook = {default_alloc, default_free, NULL};
static atomic_llong allocations;

void pgcn_set_allocator(const pgcn_allocator *allocator) {
    hook = allocator ? *allocator : (pgcn_allocator){default_alloc, default_free, NULL};
}

int64_t pgcn_i_alloc_count(void) {
    return (int64_t)atomic_load(&allocations);
}

void *pgcn_i_alloc(int64_t count, size_t size) {
    int64_t bytes;
    if (count < 0 || size > INT64_MAX || !pgcn_i_mul(count, (int64_t)size, &bytes) ||
        bytes > INT64_MAX - PGCN_ALIGN || (uint64_t)bytes > SIZE_MAX - PGCN_ALIGN) {
        pgcn_i_fail(PGCN_ERR_MEMORY, "cannot allocate %lld elements of %zu bytes: too large",
                    (long long)count, size);
        return NULL;
    }
    /* aligned_alloc wants a multiple of the alignment; an empty array is still a valid pointer. */
    size_t rounded = ((size_t)bytes + PGCN_ALIGN - 1) / PGCN_ALIGN * PGCN_ALIGN;
    if (rounded == 0) rounded = PGCN_ALIGN;
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    void *block = hook.alloc(rounded, PGCN_ALIGN, hook.context);
    if (!block) {
        pgcn_i_fail(PGCN_ERR_MEMORY,
                    "out of memory: %lld bytes could not be allocated; use a smaller graph, "
                    "fewer channels, paths or layers",
                    (long long)bytes);
        return NULL;
    }
    memset(block, 0, rounded);
    return block;
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
void *pgcn_i_arena_alloc(pgcn_i_arena *arena, int64_t count, size_t size) {
    int64_t bytes, with_header;
    if (count < 0 || size > INT64_MAX || !pgcn_i_mul(count, (int64_t)size, &bytes) ||
        !pgcn_i_add(bytes, PGCN_ALIGN, &with_header)) {
        pgcn_i_fail(PGCN_ERR_MEMORY, "cannot allocate %lld elements of %zu bytes: too large",
                    (long long)count, size);
        return NULL;
    }
    char *block = pgcn_i_alloc(with_header, 1);
    if (!block) return NULL;
    memcpy(block, &arena->last, sizeof arena->last);
    arena->last = block;
    arena->bytes += bytes;
    return block + PGCN_ALIGN;
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
    *arena = (pgcn_i_arena){0};
}
