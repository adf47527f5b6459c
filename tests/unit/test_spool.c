/* base/spool.c, graph/sort.c, data/kept.c: a data set that is converted within little memory is the same, byte
 * for byte; edges sorted in parts are the graph that memory makes of them; and what was interrupted goes on. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "bytes_help.h"
#include "dataset_help.h"
#include "disk_help.h"

#include "base/rng.h"

enum { MEMORY = 16 << 20 };

static char parts[256];

static void begin_bound(void) {
    snprintf(parts, sizeof parts, "%s", scratch_path("parts"));
    if (pgcn_memory_bound(MEMORY, parts) != PGCN_OK) fail_msg("%s", pgcn_last_error());
}

static int count_parts(const char *prefix) {
    DIR *stream = opendir(parts);
    int count = 0;
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (stream) closedir(stream);
    return count;
}

static uint32_t word_of(uint64_t number) {
    uint32_t word[4];
    pgcn_i_rng_words((pgcn_i_rng_domain){.seed = 11}, number, 0, word);
    return word[0];
}

/* ---- edges ---------------------------------------------------------------------------------------- */

typedef struct edges {
    int64_t n, m;
    pgcn_node *from, *to;
    float *weight;
} edges;

/* Few nodes, so that many edges are there several times, and some are self-loops. */
static edges make_edges(int64_t n, int64_t m) {
    edges e = {n, m, malloc((size_t)m * sizeof(pgcn_node)), malloc((size_t)m * sizeof(pgcn_node)),
               malloc((size_t)m * sizeof(float))};
    for (int64_t i = 0; i < m; i++) {
        e.from[i] = (pgcn_node)(word_of((uint64_t)i) % (uint64_t)n);
        e.to[i] = (pgcn_node)(word_of((uint64_t)(i + m)) % (uint64_t)n);
        e.weight[i] = 0.001f + (float)(word_of((uint64_t)i) % 1000u) / 7;
    }
    return e;
}

static void free_edges(edges *e) {
    free(e->from);
    free(e->to);
    free(e->weight);
}

static pgcn_graph *build(const edges *e, bool weighted, bool directed, bool loops) {
    pgcn_graph_opts opts = pgcn_graph_opts_default();
    pgcn_graph *graph = NULL;
    opts.directed = directed;
    opts.keep_self_loops = loops;
    if (pgcn_graph_from_edges(e->n, e->m, e->from, e->to, weighted ? e->weight : NULL, &opts,
                              &graph) != PGCN_OK)
        fail_msg("%s", pgcn_last_error());
    return graph;
}

static void assert_same_graph(const pgcn_graph *a, const pgcn_graph *b) {
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->entries, b->entries);
    assert_memory_equal(a->offset, b->offset, (size_t)(a->n + 1) * sizeof *a->offset);
    assert_memory_equal(a->neighbour, b->neighbour, (size_t)a->entries * sizeof *a->neighbour);
    assert_int_equal(a->weight != NULL, b->weight != NULL);
    if (a->weight)
        assert_memory_equal(a->weight, b->weight, (size_t)a->entries * sizeof *a->weight);
}

/* Several runs of edges, with and without weights and directions: the bits of the sort in memory. */
static void test_sort_in_parts_makes_the_same_graph(void **state) {
    (void)state;
    edges e = make_edges(3000, 400000);
    /* an edge whose weights give 2^24 when they are added in this order and 2^24 + 2 backwards */
    const int64_t place[4] = {0, 1, e.m - 2, e.m - 1};
    const float weight[4] = {0x1p24f, 1, 0x1p-29f, 0x1p-29f};
    for (int64_t i = 0; i < e.m; i++)
        if (e.from[i] >= 2998 && e.to[i] >= 2998) e.to[i] = 0;
    for (int i = 0; i < 4; i++) {
        e.from[place[i]] = 2998;
        e.to[place[i]] = 2999;
        e.weight[place[i]] = weight[i];
    }
    for (int kind = 0; kind < 8; kind++) {
        bool weighted = kind & 1, directed = kind & 2, loops = kind & 4;
        pgcn_graph *expected = build(&e, weighted, directed, loops);
        begin_bound();
        pgcn_graph *found = build(&e, weighted, directed, loops);
        assert_true(count_parts("run-") >= 2);
        assert_same_graph(expected, found);
        pgcn_graph_free(found);
        assert_int_equal(pgcn_memory_bound_done(), PGCN_OK);
        assert_int_equal(access(parts, F_OK), -1);
        pgcn_graph_free(expected);
    }
    free_edges(&e);
}

/* Nodes beyond one digit of the radix sort, rows without edges at the beginning and the end. */
static void test_sort_of_many_nodes_makes_the_same_graph(void **state) {
    (void)state;
    edges e = make_edges(5000000, 150000);
    for (int64_t i = 0; i < e.m; i++) e.from[i] = e.from[i] / 2 + 1000;
    pgcn_graph *expected = build(&e, false, true, false);
    begin_bound();
    pgcn_graph *found = build(&e, false, true, false);
    assert_same_graph(expected, found);
    pgcn_graph_free(found);
    assert_int_equal(pgcn_memory_bound_done(), PGCN_OK);
    pgcn_graph_free(expected);
    free_edges(&e);
}

/* Runs of other edges that lie in the directory are not used. */
static void test_sort_does_not_use_runs_of_other_edges(void **state) {
    (void)state;
    edges e = make_edges(3000, 400000);
    begin_bound();
    assert_int_equal(pgcn_i_spool_set_key("a"), PGCN_OK);
    pgcn_graph_free(build(&e, false, false, false));
    for (int64_t i = 0; i < e.m; i++) e.to[i] = (e.to[i] + 1) % 3000;
    pgcn_graph *found = build(&e, false, false, false);
    assert_int_equal(pgcn_memory_bound_done(), PGCN_OK);
    pgcn_graph *expected = build(&e, false, false, false);
    assert_same_graph(expected, found);
    pgcn_graph_free(found);
    pgcn_graph_free(expected);
    free_edges(&e);
}

/* ---- memory ---------------------------------------------------------------------------------------- */

/* Arrays of four times the bound are filled and read, and never all of it is in memory. */
static void test_spool_keeps_its_bound(void **state) {
    (void)state;
    enum { WORDS = 16 << 20 };
    pgcn_i_arena arena = {0};
    begin_bound();
    int64_t before = pgcn_i_resident_bytes(), most = 0;
    uint32_t *words = PGCN_I_ARRAY(&arena, uint32_t, WORDS);
    assert_non_null(words);
    assert_int_equal(count_parts("block-"), 1);
    for (int64_t i = 0; i < WORDS; i++) {
        words[i] = (uint32_t)i * 7u;
        if (i % (1 << 16) == 0 && pgcn_i_resident_bytes() > most) most = pgcn_i_resident_bytes();
    }
    for (int64_t i = 0; i < WORDS; i++) assert_true(words[i] == (uint32_t)i * 7u);
    if (before < MEMORY) assert_true(most < before + WORDS * 4 - (8 << 20));
    pgcn_i_arena_free(&arena);
    assert_int_equal(count_parts("block-"), 0);
    assert_int_equal(pgcn_memory_bound_done(), PGCN_OK);
}

static void test_memory_in_use_counts_mapped_pages(void **state) {
    (void)state;
    enum { BYTES = 32 << 20 };
    char *zeros = calloc(BYTES, 1);
    const char *path = scratch_write("file", zeros, BYTES);
    free(zeros);
    pgcn_memory_use before = pgcn_memory_in_use();
    if (before.anonymous < 0) skip();
    int descriptor = open(path, O_RDONLY);
    const volatile char *file = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, descriptor, 0);
    char *own = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int sum = 0;
    for (int64_t i = 0; i < BYTES; i += 4096) sum += file[i];
    assert_int_equal(sum, 0);
    memset(own, 1, BYTES);
    pgcn_memory_use after = pgcn_memory_in_use();
    assert_true(after.mapped - before.mapped > BYTES / 4 * 3);
    assert_true(after.anonymous - before.anonymous > BYTES / 4 * 3);
    munmap((void *)(uintptr_t)file, BYTES);
    munmap(own, BYTES);
    close(descriptor);
}

/* ---- whole data sets ------------------------------------------------------------------------------- */

static pgcn_status convert(const char *name, const char *path, const char *store) {
    pgcn_dataset *data;
    pgcn_save_opts opts = pgcn_save_opts_default();
    opts.store = store;
    PGCN_TRY(pgcn_dataset_load(name, NULL, &data));
    pgcn_status status = pgcn_dataset_save_as(data, path, &opts);
    pgcn_dataset_free(data);
    return status;
}

static const char *write_edges(int64_t m) {
    char *text = malloc((size_t)m * 24), *at = text;
    for (int64_t i = 0; i < m; i++)
        at += sprintf(at, "%u,%u\n", word_of((uint64_t)i) % 20000u,
                      word_of((uint64_t)(i + m)) % 20000u);
    const char *path = scratch_write("graph.csv", text, (size_t)(at - text));
    free(text);
    return path;
}

static void test_converted_within_memory_is_the_same_file(void **state) {
    (void)state;
    char text[64];
    snprintf(text, sizeof text, "%s", write_edges(150000));
    const char *const names[] = {"powerlaw:nodes=30000,edges=200000,features=40", text,
                                 "powerlaw:nodes=9000,edges=90000:order=community",
                                 "sbm:nodes=20000,degree=12:largest-component"};
    const char *const stores[] = {"float32", "float16", "int8", "bf16"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(convert(names[i], scratch_path("a.pgcn"), stores[i]), PGCN_OK);
        begin_bound();
        if (convert(names[i], scratch_path("b.pgcn"), stores[i]) != PGCN_OK)
            fail_msg("%s", pgcn_last_error());
        assert_true(count_parts("run-") >= 1);
        assert_int_equal(pgcn_memory_bound_done(), PGCN_OK);
        assert_same_bytes(scratch_path("a.pgcn"), scratch_path("b.pgcn"));
    }
}

typedef struct stop {
    const char *at;
    bool seen[4]; /* reading text, sorting, merging, writing */
} stop;

static bool stop_at(const char *what, double share, void *context) {
    stop *s = context;
    static const char *const stages[] = {"reading text", "sorting edges", "merging edges",
                                         "writing the file"};
    if (share >= 0.5) /* the beginning of a text is read to know its format */
        for (int i = 0; i < 4; i++) s->seen[i] = s->seen[i] || strcmp(what, stages[i]) == 0;
    return !s->at || strcmp(what, s->at) != 0;
}

/* Stopped wherever it says what it does: nothing is written, and the second time reading is not done again. */
static void test_stopped_conversion_goes_on(void **state) {
    (void)state;
    static const char *const stages[] = {"reading text", "sorting edges", "computing its SHA-256",
                                         "writing the file"};
    char text[64];
    snprintf(text, sizeof text, "%s", write_edges(300000));
    assert_int_equal(convert(text, scratch_path("a.pgcn"), NULL), PGCN_OK);
    for (int i = 0; i < 4; i++) {
        stop s = {.at = stages[i]};
        remove(scratch_path("b.pgcn"));
        begin_bound();
        pgcn_on_work(stop_at, &s);
        assert_int_equal(convert(text, scratch_path("b.pgcn"), NULL), PGCN_ERR_STOPPED);
        pgcn_on_work(NULL, NULL);
        assert_error_says("stopped while");
        assert_int_equal(pgcn_memory_bound(0, NULL), PGCN_OK);
        assert_int_equal(count_parts("kept-"), i > 0);
        begin_bound();
        stop watch = {0};
        pgcn_on_work(stop_at, &watch);
        assert_int_equal(convert(text, scratch_path("b.pgcn"), NULL), PGCN_OK);
        pgcn_on_work(NULL, NULL);
        if (i > 0) assert_false(watch.seen[0]);
        assert_int_equal(pgcn_memory_bound_done(), PGCN_OK);
        assert_same_bytes(scratch_path("a.pgcn"), scratch_path("b.pgcn"));
    }
}

/* The same of a set with features, which is stopped when it is written: all of it was kept. */
static void test_stopped_conversion_has_kept_features(void **state) {
    (void)state;
    const char *name = "powerlaw:nodes=30000,edges=200000,features=40";
    stop s = {.at = "writing the file"};
    assert_int_equal(convert(name, scratch_path("a.pgcn"), NULL), PGCN_OK);
    begin_bound();
    pgcn_on_work(stop_at, &s);
    assert_int_equal(convert(name, scratch_path("b.pgcn"), NULL), PGCN_ERR_STOPPED);
    pgcn_on_work(NULL, NULL);
    assert_int_equal(pgcn_memory_bound(0, NULL), PGCN_OK);
    begin_bound();
    assert_int_equal(convert(name, scratch_path("b.pgcn"), NULL), PGCN_OK);
    assert_int_equal(pgcn_memory_bound_done(), PGCN_OK);
    assert_same_bytes(scratch_path("a.pgcn"), scratch_path("b.pgcn"));
}

/* A source that has changed is read again. */
static void test_kept_files_of_another_source_are_removed(void **state) {
    (void)state;
    char text[64];
    snprintf(text, sizeof text, "%s", write_edges(100000));
    begin_bound();
    assert_int_equal(convert(text, scratch_path("b.pgcn"), NULL), PGCN_OK);
    assert_int_equal(pgcn_memory_bound(0, NULL), PGCN_OK);
    assert_int_equal(count_parts("kept-"), 1);
    snprintf(text, sizeof text, "%s", write_edges(100001));
    begin_bound();
    assert_int_equal(convert(text, scratch_path("b.pgcn"), NULL), PGCN_OK);
    assert_int_equal(pgcn_memory_bound_done(), PGCN_OK);
    assert_int_equal(convert(text, scratch_path("a.pgcn"), NULL), PGCN_OK);
    assert_same_bytes(scratch_path("a.pgcn"), scratch_path("b.pgcn"));
}

/* A disk that is full at any write, then has room again: a sentence each time, no half file, and the
 * conversion ends with the same bytes. */
static void test_full_disk_loses_nothing(void **state) {
    (void)state;
    char text[64];
    int failures = 0;
    snprintf(text, sizeof text, "%s", write_edges(100000));
    assert_int_equal(convert(text, scratch_path("a.pgcn"), NULL), PGCN_OK);
    for (int number = 1;; number++) {
        remove(scratch_path("b.pgcn"));
        begin_bound();
        disk_reset(scratch);
        disk->kind = DISK_WRITE;
        disk->number = number;
        disk->on = true;
        pgcn_status status = convert(text, scratch_path("b.pgcn"), NULL);
        disk->on = false;
        if (atomic_load(&disk->fired) == 0) {
            assert_int_equal(status, PGCN_OK);
            assert_int_equal(pgcn_memory_bound_done(), PGCN_OK);
            break;
        }
        failures++;
        assert_int_equal(status, PGCN_ERR_IO);
        assert_error_says("No space left on device");
        assert_int_equal(access(scratch_path("b.pgcn"), F_OK), -1);
        assert_int_equal(pgcn_memory_bound(0, NULL), PGCN_OK);
        begin_bound();
        assert_int_equal(convert(text, scratch_path("b.pgcn"), NULL), PGCN_OK);
        assert_int_equal(pgcn_memory_bound_done(), PGCN_OK);
        assert_same_bytes(scratch_path("a.pgcn"), scratch_path("b.pgcn"));
    }
    assert_true(failures >= 5);
}

/* What does not fit is said before anything is read. */
static void test_estimate_knows_sizes_by_name(void **state) {
    (void)state;
    int64_t bytes;
    assert_int_equal(pgcn_dataset_estimate("powerlaw:size=huge", NULL, NULL, &bytes), PGCN_OK);
    assert_in_range(bytes, (int64_t)4e9, (int64_t)6e9); /* 4 GB of features, 0.8 GB of neighbours */
    assert_int_equal(
        pgcn_dataset_estimate("powerlaw:nodes=1e6,edges=1e8,features=1", NULL, NULL, &bytes),
        PGCN_OK);
    assert_in_range(bytes, (int64_t)2e9, (int64_t)3e9); /* sorting the edges is the peak */
    assert_int_equal(pgcn_dataset_estimate("karate:order=rcm", NULL, NULL, &bytes), PGCN_OK);
    assert_int_equal(bytes, 0);
    assert_int_equal(pgcn_dataset_estimate("no such set", NULL, NULL, &bytes), PGCN_OK);
    assert_int_equal(bytes, 0);
    assert_int_equal(convert("sbm:nodes=500,features=10", scratch_path("a.pgcn"), "int8"), PGCN_OK);
    assert_int_equal(pgcn_dataset_estimate(scratch_path("a.pgcn"), NULL, NULL, &bytes), PGCN_OK);
    assert_int_equal(bytes, 500 * 10 * 4);
}

int main(void) {
    disk_make();
#define TEST(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)
    const struct CMUnitTest tests[] = {
        TEST(test_sort_in_parts_makes_the_same_graph),
        TEST(test_sort_of_many_nodes_makes_the_same_graph),
        TEST(test_sort_does_not_use_runs_of_other_edges),
        TEST(test_spool_keeps_its_bound),
        TEST(test_memory_in_use_counts_mapped_pages),
        TEST(test_converted_within_memory_is_the_same_file),
        TEST(test_stopped_conversion_goes_on),
        TEST(test_stopped_conversion_has_kept_features),
        TEST(test_kept_files_of_another_source_are_removed),
        TEST(test_full_disk_loses_nothing),
        TEST(test_estimate_knows_sizes_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
