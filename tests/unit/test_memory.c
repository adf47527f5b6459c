/* Memory: the arena, overflow, and every allocation of graph, walker, paths and visits failing
 * once: the answer is PGCN_ERR_MEMORY with a sentence, and nothing stays behind. */
#include "sampling_help.h"

#include <stdio.h>
#include <sys/mman.h>

/* Static, and taken off again by a teardown: a failing test leaves by a long jump. */
static struct faulty { int64_t calls, fail_at, live; } hook;

static void *faulty_alloc(size_t bytes, size_t align, void *context) {
    (void)context;
    if (hook.calls++ == hook.fail_at) return NULL;
    hook.live++;
    return aligned_alloc(align, bytes);
}

static void faulty_free(void *block, void *context) {
    (void)context;
    hook.live--;
    free(block);
}

static void fail_allocation(int64_t number) {
    static const pgcn_allocator allocator = {faulty_alloc, faulty_free, NULL};
    hook = (struct faulty){.fail_at = number};
    pgcn_set_allocator(&allocator);
}

static int restore_allocator(void **state) {
    (void)state;
    pgcn_set_allocator(NULL);
    return 0;
}

/* Runs `build` with allocation 0, 1, 2, ... failing until it succeeds; returns how many failed. */
static int64_t try_every_failure(pgcn_status (*build)(void)) {
    int64_t failures = 0;
    for (;; failures++) {
        fail_allocation(failures);
        pgcn_status status = build();
        assert_int_equal(hook.live, 0);
        if (status == PGCN_OK) {
            assert_int_equal(hook.calls, failures);
            return failures;
        }
        must_fail(status, PGCN_ERR_MEMORY, "out of memory");
    }
}

static const pgcn_node SOURCE[] = {0, 1, 2, 0, 1}, TARGET[] = {1, 2, 3, 3, 0};
static const float WEIGHT[] = {1, 2, 3, 4, 5};

static pgcn_status build_graph(void) {
    pgcn_graph *graph = NULL;
    pgcn_status status = pgcn_graph_from_edges(4, 5, SOURCE, TARGET, WEIGHT, NULL, &graph);
    if (status != PGCN_OK) assert_null(graph);
    pgcn_graph_free(graph);
    return status;
}

static pgcn_status build_transition(void) {
    pgcn_graph *graph = NULL;
    pgcn_i_arena arena = {0};
    pgcn_i_csr forward, backward;
    float *degree = NULL;
    PGCN_TRY(pgcn_graph_from_edges(4, 5, SOURCE, TARGET, WEIGHT, NULL, &graph));
    pgcn_status status = pgcn_i_graph_transition(
        graph,
        (pgcn_i_transition_opts){
            .self_loops = true, .weighted = true, .scaling = PGCN_SCALING_SYMMETRIC},
        &arena, &forward, &backward, &degree);
    pgcn_i_arena_free(&arena);
    pgcn_graph_free(graph);
    return status;
}

static pgcn_status build_paths(void) {
    pgcn_graph *graph = NULL;
    pgcn_node out[4 * 2 * 3];
    PGCN_TRY(pgcn_graph_from_edges(4, 5, SOURCE, TARGET, WEIGHT, NULL, &graph));
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    opts.walk = PGCN_WALK_NODE2VEC;
    opts.paths = 2;
    opts.length = 3;
    opts.threads = 2;
    pgcn_status status = pgcn_paths_sample(graph, &opts, NULL, 0, out);
    pgcn_graph_free(graph);
    return status;
}

static pgcn_status build_visits(void) {
    pgcn_graph *graph = NULL;
    pgcn_i_walker walker = {0};
    pgcn_i_visits *visits = NULL;
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    opts.walk = PGCN_WALK_WEIGHTED;
    PGCN_TRY(pgcn_graph_from_edges(4, 5, SOURCE, TARGET, WEIGHT, NULL, &graph));
    pgcn_status status = pgcn_i_walker_init(&walker, graph, &opts);
    if (status == PGCN_OK) {
        status = pgcn_i_visits_new(&walker, NULL, 2, true, &visits);
        if (status != PGCN_OK) assert_non_null(strstr(pgcn_last_error(), "visit lists"));
    }
    pgcn_i_visits_free(visits);
    pgcn_i_walker_free(&walker);
    pgcn_graph_free(graph);
    return status;
}

static void test_memory_every_failing_allocation_is_a_clean_error(void **state) {
    (void)state;
    int64_t graph = try_every_failure(build_graph);
    assert_true(graph >= 9); /* the struct and three arrays in three places */
    assert_true(try_every_failure(build_transition) >= graph + 7);
    assert_true(try_every_failure(build_paths) >= graph + 4);
    assert_true(try_every_failure(build_visits) >= graph + 1 + 3 + 12 + 4 * 5);
}

static void test_arena_blocks_are_zero_aligned_and_freed_together(void **state) {
    (void)state;
    fail_allocation(-1);
    pgcn_i_arena arena = {0};
    int64_t expected_bytes = 0;
    for (int64_t count = 0; count < 200; count += 7) {
        uint32_t *block = PGCN_I_ARRAY(&arena, uint32_t, count);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % PGCN_ALIGN, 0);
        for (int64_t i = 0; i < count; i++) {
            assert_int_equal(block[i], 0);
            block[i] = 0xffffffffu; /* the next block must be zero all the same */
        }
        expected_bytes += count * 4;
    }
    char *text = pgcn_i_arena_strdup(&arena, "paths");
    assert_string_equal(text, "paths");
    assert_int_equal(arena.bytes, expected_bytes + 6);
    assert_true(hook.live > 0);
    pgcn_i_arena_free(&arena);
    assert_int_equal(hook.live, 0);
    assert_int_equal(arena.bytes, 0);
    pgcn_i_arena_free(&arena); /* twice is fine */
}

static void test_alloc_too_large_is_refused_without_asking(void **state) {
    (void)state;
    fail_allocation(-1);
    pgcn_i_arena arena = {0};
    const struct {
        int64_t count;
        size_t size;
    } bad[] = {
        {INT64_MAX, 8}, {INT64_MAX / 8 + 1, 8}, {INT64_MAX, 1}, {-1, 4}, {2, (size_t)INT64_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_null(pgcn_i_alloc(bad[i].count, bad[i].size));
        assert_null(pgcn_i_arena_alloc(&arena, bad[i].count, bad[i].size));
        assert_non_null(strstr(pgcn_last_error(), "cannot allocate"));
    }
    assert_null(pgcn_i_alloc(1, SIZE_MAX));
    assert_int_equal(hook.calls, 0);
}

static void test_buffer_grows_keeps_its_bytes_and_moves_into_an_arena(void **state) {
    (void)state;
    fail_allocation(-1);
    pgcn_i_buffer buffer = {0};
    pgcn_i_arena arena = {0};
    for (int i = 0; i < 10000; i++) {
        int *place = pgcn_i_buffer_add(&buffer, sizeof *place);
        assert_non_null(place);
        *place = i;
    }
    assert_int_equal(buffer.bytes, 10000 * sizeof(int));
    assert_int_equal((uintptr_t)buffer.data % PGCN_ALIGN, 0);
    char *reserved = (must(pgcn_i_buffer_reserve(&buffer, 1 << 20)), buffer.data);
    assert_non_null(pgcn_i_buffer_add(&buffer, (1 << 20) - buffer.bytes));
    assert_ptr_equal(buffer.data, reserved); /* what was reserved does not move */
    int *taken = pgcn_i_arena_take(&arena, &buffer);
    assert_ptr_equal(taken, reserved);
    assert_null(buffer.data);
    assert_int_equal(arena.bytes, 1 << 20);
    for (int i = 0; i < 10000; i++) assert_int_equal(taken[i], i);
    assert_non_null(pgcn_i_arena_take(&arena, &buffer)); /* an empty one is an array too */
    assert_null(pgcn_i_buffer_add(&buffer, INT64_MAX));
    pgcn_i_buffer_free(&buffer);
    pgcn_i_arena_free(&arena);
    assert_int_equal(hook.live, 0);
}

static void test_large_blocks_are_zero_aligned_and_can_be_had_again(void **state) {
    (void)state;
    for (int round = 0; round < 3; round++)
        for (int64_t bytes = (1 << 20) - 128; bytes <= 3 << 20; bytes += 64 + (bytes >> 2)) {
            char *block = pgcn_i_alloc(bytes, 1);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % PGCN_ALIGN, 0);
            for (int64_t i = 0; i < bytes; i++)
                if (block[i] != 0) fail_msg("byte %lld of %lld", (long long)i, (long long)bytes);
            memset(block, 0xff, (size_t)bytes);
            pgcn_i_free(block);
        }
}

static void test_arena_gives_single_arrays_back_in_any_order(void **state) {
    (void)state;
    fail_allocation(-1);
    pgcn_i_arena arena = {0};
    char *array[4];
    for (int i = 0; i < 4; i++) array[i] = PGCN_I_ARRAY(&arena, char, 100);
    static const int order[4] = {1, 3, 0, 2}; /* in the middle, the newest, the oldest, the last */
    for (int i = 0; i < 4; i++) {
        assert_int_equal(hook.live, 4 - i);
        pgcn_i_arena_drop(&arena, array[order[i]]);
    }
    assert_int_equal(hook.live, 0);
    pgcn_i_arena_drop(&arena, NULL);
    pgcn_i_arena_drop(&arena, "not in there");
    pgcn_i_arena_free(&arena);
}

static void test_sampling_again_allocates_nothing(void **state) {
    (void)state;
    pgcn_graph *graph = random_graph(100, 300, true, false, false, 51);
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    opts.walk = PGCN_WALK_NODE2VEC;
    pgcn_i_walker walker;
    pgcn_i_visits *visits = NULL;
    pgcn_i_pool *pool = NULL;
    must(pgcn_i_walker_init(&walker, graph, &opts));
    must(pgcn_i_visits_new(&walker, NULL, 2, true, &visits));
    must(pgcn_i_pool_new(2, &pool));
    int64_t before = pgcn_i_alloc_count();
    for (int step = 0; step < 10; step++)
        pgcn_i_visits_sample(visits, &walker, pool, (pgcn_i_path_draw){1, PGCN_I_RNG_WALK, step, 0},
                             NULL);
    assert_int_equal(pgcn_i_alloc_count(), before);
    pgcn_i_pool_free(pool);
    pgcn_i_visits_free(visits);
    pgcn_i_walker_free(&walker);
    pgcn_graph_free(graph);
}

/* What /proc/self/smaps says of the mapping that an address lies in; false where it cannot be read.
 * */
static bool mapping_of(const void *address, int64_t *bytes, bool *asks_for_huge) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    bool inside = false, found = false;
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long long begin, end;
        if (sscanf(line, "%llx-%llx ", &begin, &end) == 2 && strchr(line, ':') != line) {
            inside = (uintptr_t)address >= begin && (uintptr_t)address < end;
            if (inside) *bytes = (int64_t)(end - begin);
        } else if (inside && strncmp(line, "VmFlags:", 8) == 0) {
            *asks_for_huge = strstr(line, " hg") != NULL;
            found = true;
        }
    }
    if (maps) fclose(maps);
    return found;
}

/* Whether a mapping that asks for huge pages is seen to: not where the kernel has none, nor under an
 * emulator, which keeps such advice to itself. */
__attribute__((unused)) static bool huge_pages_show(void) {
    const size_t size = 1 << 22;
    int64_t bytes;
    bool huge = false;
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return false;
    bool shows = madvise(map, size, MADV_HUGEPAGE) == 0 && mapping_of(map, &bytes, &huge) && huge;
    munmap(map, size);
    return shows;
}

/* Address space of the process in pages, 0 where it cannot be read. */
__attribute__((unused)) static long address_space(void) {
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm && fscanf(statm, "%ld", &pages) != 1) pages = 0;
    if (statm) fclose(statm);
    return pages;
}

/* Huge pages are asked for, at an address where they can begin, and no memory is added for them. */
static void test_arena_read_at_random_asks_for_huge_pages(void **state) {
    (void)state;
    enum { MIB = 1 << 20, PAGE = 4096 };
    pgcn_i_arena arena = {.read_at_random = true}, plain = {0};
    const int64_t sizes[] = {100, MIB + 1, 2 * MIB, 7 * MIB + 12345};
    for (int i = 0; i < 4; i++) {
        for (int again = 0; again < 3; again++) {
            char *array = PGCN_I_ARRAY(&arena, char, sizes[i]), *usual;
            usual = PGCN_I_ARRAY(&plain, char, sizes[i]);
            int64_t bytes = 0, usual_bytes = 0;
            bool huge = false, usual_huge = true;
            assert_true(array && usual);
            assert_int_equal((uintptr_t)array % PGCN_ALIGN, 0);
            for (int64_t b = 0; b < sizes[i]; b += 101) assert_int_equal(array[b], 0);
            array[0] = array[sizes[i] - 1] = 1;
            if (!mapping_of(array, &bytes, &huge) || !mapping_of(usual, &usual_bytes, &usual_huge))
                continue;
            assert_false(usual_huge);
            if (huge) { /* not under a sanitizer, nor where huge_pages_show() says no */
                assert_true(sizes[i] >= 2 * MIB);
                assert_int_equal(((uintptr_t)array - 2 * PGCN_ALIGN) % (2 * MIB), 0);
                assert_in_range(bytes, sizes[i], sizes[i] + 2 * PAGE);
            }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
            if (huge_pages_show()) assert_int_equal(huge, sizes[i] >= 2 * MIB);
#endif
        }
    }
    pgcn_i_arena_free(&arena);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    long before = address_space();
    for (int again = 0; again < 50; again++) { /* what is mapped for the alignment goes back */
        assert_non_null(PGCN_I_ARRAY(&arena, char, 3 * MIB));
        pgcn_i_arena_free(&arena);
    }
    assert_true(address_space() - before < 8 * MIB / PAGE);
#endif
    assert_true(arena.read_at_random); /* what it is for does not change */
    pgcn_i_arena_free(&plain);
}

/* An array of a sparse arena takes memory where it is touched, whatever its size. */
static void test_sparse_arena_takes_memory_for_what_is_touched(void **state) {
    (void)state;
    enum { PAGE = 4096 };
    const int64_t sizes[] = {40000, 500000, 3000000};
    for (int i = 0; i < 3; i++) {
        pgcn_i_arena arena = {.sparse = true};
        char *array = PGCN_I_ARRAY(&arena, char, sizes[i]);
        assert_non_null(array);
        for (int64_t b = 0; b < 2 * PAGE; b++) assert_int_equal(array[b], 0);
        memset(array, 1, 2 * PAGE);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        assert_in_range(pgcn_i_arena_resident(&arena), 2 * PAGE, 3 * PAGE);
#endif
        assert_int_equal(arena.bytes, sizes[i]);
        pgcn_i_arena_free(&arena);
        assert_true(arena.sparse);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sparse_arena_takes_memory_for_what_is_touched),
        cmocka_unit_test_teardown(test_memory_every_failing_allocation_is_a_clean_error,
                                  restore_allocator),
        cmocka_unit_test_teardown(test_arena_blocks_are_zero_aligned_and_freed_together,
                                  restore_allocator),
        cmocka_unit_test_teardown(test_alloc_too_large_is_refused_without_asking,
                                  restore_allocator),
        cmocka_unit_test_teardown(test_buffer_grows_keeps_its_bytes_and_moves_into_an_arena,
                                  restore_allocator),
        cmocka_unit_test(test_large_blocks_are_zero_aligned_and_can_be_had_again),
        cmocka_unit_test_teardown(test_arena_gives_single_arrays_back_in_any_order,
                                  restore_allocator),
        cmocka_unit_test(test_arena_read_at_random_asks_for_huge_pages),
        cmocka_unit_test(test_sampling_again_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
