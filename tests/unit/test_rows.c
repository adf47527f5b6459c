/* io/narrow.c, io/rows.c and io/row_cache.c: narrow numbers keep their error bounds; rows read one by one,
 * in lists and through a cache are the bits of the whole matrix; Belady reads as few rows as any choice
 * could; and files that fail, end early or are replaced are found out. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/rng.h"
#include "scratch_help.h"
#include "disk_help.h"

#include <math.h>

enum { ROWS = 40, COLUMNS = 7, OFFSET = 192 };

static const pgcn_i_dtype types[] = {PGCN_I_F32, PGCN_I_F16, PGCN_I_BF16, PGCN_I_I8};
enum { TYPES = 4 };

static uint32_t word_of(uint64_t number) {
    uint32_t word[4];
    pgcn_i_rng_words((pgcn_i_rng_domain){.seed = 3}, number, 0, word);
    return word[0];
}

static float some_number(uint64_t number) {
    return ((float)(word_of(number) & 0xffffu) - 32768.0f) / 4096.0f;
}

/* ---- narrow numbers ------------------------------------------------------------------------------ */

/* Every float16 but infinities and NaN comes back as it was, and lies where IEEE 754 says. */
static void test_narrow_every_half_comes_back(void **state) {
    (void)state;
    for (uint32_t half = 0; half < 0x10000u; half++) {
        uint16_t stored = (uint16_t)half, again;
        uint32_t exponent = half >> 10 & 31u, fraction = half & 1023u;
        float value;
        if (exponent == 31) continue;
        pgcn_i_narrow_decode(PGCN_I_F16, &stored, 1, 0, 1, NULL, &value);
        double expected =
            exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, (int)exponent - 25);
        assert_true((double)fabsf(value) == expected);
        assert_int_equal(signbit(value) != 0, half >> 15);
        assert_int_equal(pgcn_i_narrow_encode(PGCN_I_F16, &value, 1, 0, 1, NULL, &again), 1);
        assert_int_equal(again, stored);
    }
}

/* Half way between two of them: the even one. */
static void test_narrow_ties_go_to_even(void **state) {
    (void)state;
    static const struct {
        pgcn_i_dtype dtype;
        float value;
        uint16_t stored;
    } cases[] = {
        {PGCN_I_F16, 1 + 0x1p-11f, 0x3c00},      {PGCN_I_F16, 1 + 3 * 0x1p-11f, 0x3c02},
        {PGCN_I_F16, 1 + 0x1.8p-11f, 0x3c01},    {PGCN_I_F16, 0x1p-25f, 0},
        {PGCN_I_F16, 3 * 0x1p-25f, 2},           {PGCN_I_F16, -65519, 0xfbff},
        {PGCN_I_BF16, 1 + 0x1p-8f, 0x3f80},      {PGCN_I_BF16, 1 + 3 * 0x1p-8f, 0x3f82},
        {PGCN_I_BF16, -(1 + 0x1.8p-8f), 0xbf81}, {PGCN_I_BF16, 0x1p-149f, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t stored = 0;
        assert_int_equal(
            pgcn_i_narrow_encode(cases[i].dtype, &cases[i].value, 1, 0, 1, NULL, &stored), 1);
        assert_int_equal(stored, cases[i].stored);
    }
}

static void test_narrow_too_large_is_reported(void **state) {
    (void)state;
    const float values[4] = {1, 65504, 65520, 1e30f};
    uint16_t stored[4];
    assert_int_equal(pgcn_i_narrow_encode(PGCN_I_F16, values, 4, 0, 4, NULL, stored), 2);
    assert_int_equal(pgcn_i_narrow_encode(PGCN_I_F16, values, 2, 0, 4, NULL, stored), 2);
    const float large[3] = {1e38f, 3.39e38f, 3.4e38f};
    assert_int_equal(pgcn_i_narrow_encode(PGCN_I_BF16, large, 3, 0, 3, NULL, stored), 2);
}

/* The bounds that docs/FORMATS.md promises. */
static void test_narrow_errors_are_within_their_bounds(void **state) {
    (void)state;
    enum { COUNT = 30000 };
    float *x = calloc(COUNT, sizeof *x), *back = calloc(COUNT, sizeof *x);
    float scale[3] = {0}, stored[COUNT / 4];
    for (int64_t i = 0; i < COUNT; i++) {
        x[i] = some_number((uint64_t)i) * powf(10, (float)(i % 3 * 4 - 5));
        if (fabsf(x[i]) > scale[i % 3]) scale[i % 3] = fabsf(x[i]);
    }
    for (int j = 0; j < 3; j++) scale[j] = pgcn_i_narrow_scale(scale[j]);
    for (int t = 0; t < TYPES; t++) {
        if (types[t] == PGCN_I_F32) continue;
        void *to = types[t] == PGCN_I_I8 ? (void *)stored : malloc(COUNT * 2);
        assert_int_equal(pgcn_i_narrow_encode(types[t], x, COUNT, 0, 3, scale, to), COUNT);
        pgcn_i_narrow_decode(types[t], to, COUNT, 0, 3, scale, back);
        for (int64_t i = 0; i < COUNT; i++) {
            double error = fabs((double)x[i] - (double)back[i]), size = fabs((double)x[i]);
            double most = types[t] == PGCN_I_F16    ? fmax(size * 0x1p-11, 0x1p-25)
                          : types[t] == PGCN_I_BF16 ? size * 0x1p-8
                                                    : (double)scale[i % 3] * 0.5001;
            if (error > most) fail_msg("type %d, %g became %g", t, (double)x[i], (double)back[i]);
        }
        if (to != stored) free(to);
    }
    free(x);
    free(back);
}

/* A column of zeros has scale 0, and its numbers stay 0. */
static void test_narrow_column_of_zeros_stays(void **state) {
    (void)state;
    const float x[4] = {0, 5, 0, -10}, scale[2] = {pgcn_i_narrow_scale(0), pgcn_i_narrow_scale(10)};
    int8_t stored[4];
    float back[4];
    assert_int_equal(pgcn_i_narrow_encode(PGCN_I_I8, x, 4, 0, 2, scale, stored), 4);
    pgcn_i_narrow_decode(PGCN_I_I8, stored, 4, 0, 2, scale, back);
    assert_true(back[0] == 0 && back[2] == 0);
    assert_int_equal(stored[3], -127);
    assert_int_equal(stored[1], 64); /* 63.5 */
}

/* ---- files of rows ------------------------------------------------------------------------------- */

typedef struct matrix {
    pgcn_i_row_layout layout;
    float scale[COLUMNS];
    float value[ROWS * COLUMNS]; /* what comes back */
} matrix;

/* A file with OFFSET bytes in front of the rows, and its matrix as it decodes. */
static const char *make_file(const char *name, pgcn_i_dtype dtype, uint64_t seed, matrix *out) {
    float x[ROWS * COLUMNS];
    char bytes[OFFSET + sizeof x] = "a header";
    bytes[20] = (char)seed;
    for (int j = 0; j < COLUMNS; j++) out->scale[j] = pgcn_i_narrow_scale(8);
    for (uint64_t i = 0; i < ROWS * COLUMNS; i++) x[i] = some_number(seed * 1000 + i);
    out->layout = (pgcn_i_row_layout){.dtype = dtype,
                                      .rows = ROWS,
                                      .columns = COLUMNS,
                                      .offset = OFFSET,
                                      .scale = dtype == PGCN_I_I8 ? out->scale : NULL};
    assert_int_equal(
        pgcn_i_narrow_encode(dtype, x, ROWS * COLUMNS, 0, COLUMNS, out->scale, bytes + OFFSET),
        ROWS * COLUMNS);
    pgcn_i_narrow_decode(dtype, bytes + OFFSET, ROWS * COLUMNS, 0, COLUMNS, out->scale, out->value);
    return scratch_write(name, bytes, OFFSET + ROWS * COLUMNS * (size_t)pgcn_i_dtype_bytes(dtype));
}

static pgcn_i_row_file *open_rows(const char *path, const matrix *m, pgcn_i_row_way way) {
    pgcn_i_row_file *file = NULL;
    if (pgcn_i_row_file_open(path, &m->layout, way, &file) != PGCN_OK)
        fail_msg("%s", pgcn_last_error());
    return file;
}

static void assert_rows(const matrix *m, const pgcn_node *row, int64_t count, const float *found) {
    for (int64_t i = 0; i < count; i++)
        assert_memory_equal(found + i * COLUMNS, m->value + row[i] * COLUMNS,
                            COLUMNS * sizeof(float));
}

static void test_rows_lists_and_ranges_are_the_bits_of_the_whole(void **state) {
    (void)state;
    matrix m;
    const pgcn_node list[] = {5, 6, 7, 0, 39, 38, 6};
    for (int t = 0; t < TYPES; t++) {
        float found[ROWS * COLUMNS];
        pgcn_i_row_file *file = open_rows(make_file("rows", types[t], 1, &m), &m, PGCN_I_ROWS_BEST);
        assert_int_equal(pgcn_i_row_file_range(file, 0, ROWS, found), PGCN_OK);
        assert_memory_equal(found, m.value, sizeof found);
        assert_int_equal(pgcn_i_row_file_range(file, 37, 3, found), PGCN_OK);
        assert_memory_equal(found, m.value + 37 * COLUMNS, 3 * COLUMNS * sizeof(float));
        assert_int_equal(pgcn_i_row_file_list(file, list, 7, found), PGCN_OK);
        assert_rows(&m, list, 7, found);
        assert_int_equal(pgcn_i_row_file_bytes_read(file),
                         (ROWS + 3 + 7) * pgcn_i_row_file_row_bytes(file));
        assert_int_equal(pgcn_i_row_file_range(file, 38, 3, found), PGCN_ERR_ARGUMENT);
        assert_int_equal(pgcn_i_row_file_list(file, (pgcn_node[]){ROWS}, 1, found),
                         PGCN_ERR_ARGUMENT);
        assert_int_equal(pgcn_i_row_file_check(file), PGCN_OK);
        pgcn_i_row_file_close(file);
    }
}

/* More requests than the queue holds, several batches under way, waited for in another order. */
static void test_rows_batches_ahead_are_the_same_bits(void **state) {
    (void)state;
    enum { MANY = 5000, WIDE = 3 };
    float *x = malloc(MANY * WIDE * sizeof *x);
    for (uint64_t i = 0; i < MANY * WIDE; i++) x[i] = some_number(i);
    const char *path = scratch_write("many", x, MANY * WIDE * sizeof *x);
    matrix m = {.layout = {.dtype = PGCN_I_F32, .rows = MANY, .columns = WIDE}};
    const pgcn_i_row_way ways[] = {PGCN_I_ROWS_PLAIN, PGCN_I_ROWS_BEST, PGCN_I_ROWS_COLD};
    for (int w = 0; w < 6; w++) { /* each batch alone, and all in one sweep */
        pgcn_i_row_file *file = open_rows(path, &m, ways[w / 2]);
        if (w == 5) pgcn_i_row_file_direct(file); /* the file ends inside a sector */
        if (ways[w / 2] == PGCN_I_ROWS_PLAIN) assert_false(pgcn_i_row_file_uses_uring(file));
        pgcn_i_row_batch batch[3] = {{0}}, *const all[3] = {&batch[0], &batch[1], &batch[2]};
        pgcn_node *row[3];
        for (int b = 0; b < 3; b++) {
            row[b] = malloc(MANY * sizeof **row);
            batch[b] = (pgcn_i_row_batch){.row = row[b], .to = malloc(MANY * WIDE * sizeof *x)};
            for (pgcn_node i = 0; i < MANY; i++)
                if (word_of((uint64_t)(b * MANY + i)) % 3 != 0) row[b][batch[b].count++] = i;
            if (w % 2 == 0)
                assert_int_equal(pgcn_i_row_file_submit(file, all + b, 1, NULL), PGCN_OK);
        }
        if (w % 2 == 1) assert_int_equal(pgcn_i_row_file_submit(file, all, 3, NULL), PGCN_OK);
        for (int b = 2; b >= 0; b--) {
            assert_int_equal(pgcn_i_row_file_wait(file, &batch[b]), PGCN_OK);
            for (int64_t i = 0; i < batch[b].count; i++)
                assert_memory_equal(batch[b].to + i * WIDE * 4, x + row[b][i] * WIDE, WIDE * 4);
            free(row[b]);
            free(batch[b].to);
        }
        pgcn_i_row_file_close(file);
    }
    free(x);
}

/* ---- the cache ----------------------------------------------------------------------------------- */

enum { BATCHES = 12, KINDS_OF_ROWS = 6, MOST_IN_BATCH = 4 };
typedef struct sequence {
    int batches, count[BATCHES];
    pgcn_node row[BATCHES][MOST_IN_BATCH];
} sequence;

static sequence make_sequence(uint64_t seed) {
    sequence s = {.batches = 4 + (int)(word_of(seed * 77) % (BATCHES - 3))};
    for (int b = 0; b < s.batches; b++) {
        int wanted = (int)(word_of(seed * 1000 + (uint64_t)b) % (MOST_IN_BATCH + 1));
        for (uint64_t draw = 0; s.count[b] < wanted; draw++) {
            pgcn_node row =
                (pgcn_node)(word_of(seed * 10000 + (uint64_t)b * 64 + draw) % KINDS_OF_ROWS);
            bool known = false;
            for (int i = 0; i < s.count[b]; i++) known = known || s.row[b][i] == row;
            if (!known) s.row[b][s.count[b]++] = row;
        }
    }
    return s;
}

/* The fewest rows that any cache of that size must read: all sets that it could keep after each batch. */
static int fewest_reads(const sequence *s, int slots) {
    enum { SETS = 1 << KINDS_OF_ROWS };
    int cost[SETS], next[SETS];
    for (int set = 0; set < SETS; set++) cost[set] = set == 0 ? 0 : 1000;
    for (int b = 0; b < s->batches; b++) {
        int wanted = 0;
        for (int i = 0; i < s->count[b]; i++) wanted |= 1 << s->row[b][i];
        for (int set = 0; set < SETS; set++) next[set] = 1000;
        for (int before = 0; before < SETS; before++)
            for (int after = 0; after < SETS; after++) {
                if ((after & ~(before | wanted)) != 0 ||
                    __builtin_popcount((unsigned)after) > slots)
                    continue;
                int reads = cost[before] + __builtin_popcount((unsigned)(wanted & ~before));
                if (reads < next[after]) next[after] = reads;
            }
        memcpy(cost, next, sizeof cost);
    }
    int best = 1000;
    for (int set = 0; set < SETS; set++) best = cost[set] < best ? cost[set] : best;
    return best;
}

/* `known` batches are announced before one is taken. */
static pgcn_i_row_counts run_cache(const matrix *m, const char *path, const sequence *s,
                                   pgcn_i_row_cache_opts opts, pgcn_i_row_way way, int known) {
    pgcn_i_row_file *file = open_rows(path, m, way);
    pgcn_i_row_cache *cache;
    assert_int_equal(pgcn_i_row_cache_new(file, &opts, &cache), PGCN_OK);
    for (int b = 0, told = 0; b < s->batches; b++) {
        for (; told < s->batches && told < b + known; told++)
            assert_int_equal(pgcn_i_row_cache_announce(cache, s->row[told], s->count[told]),
                             PGCN_OK);
        float found[MOST_IN_BATCH * COLUMNS];
        if (pgcn_i_row_cache_take(cache, found, NULL, NULL) != PGCN_OK)
            fail_msg("%s", pgcn_last_error());
        assert_rows(m, s->row[b], s->count[b], found);
    }
    assert_int_equal(pgcn_i_row_cache_announced(cache), 0);
    pgcn_i_row_counts counts = pgcn_i_row_cache_counts(cache);
    assert_int_equal(counts.batches, s->batches);
    if (way != PGCN_I_ROWS_COLD) /* which reads gaps, too */
        assert_int_equal(counts.bytes_read, counts.misses * pgcn_i_row_file_row_bytes(file));
    pgcn_i_row_cache_free(cache);
    pgcn_i_row_file_close(file);
    return counts;
}

/* Also with rows read several batches ahead, which must change nothing. */
static void test_cache_belady_reads_as_few_rows_as_possible(void **state) {
    (void)state;
    matrix m;
    const char *path = make_file("rows", PGCN_I_F16, 1, &m);
    int64_t belady = 0, lru = 0;
    for (uint64_t seed = 0; seed < 60; seed++)
        for (int slots = 0; slots <= 4; slots++) {
            sequence s = make_sequence(seed);
            int fewest = fewest_reads(&s, slots);
            pgcn_i_row_cache_opts opts = {.bytes = slots * COLUMNS * 2,
                                          .ahead = 1 + (int)(seed % 4)};
            pgcn_i_row_counts counts = run_cache(&m, path, &s, opts, PGCN_I_ROWS_PLAIN, BATCHES);
            if (counts.misses != fewest)
                fail_msg("seed %d, %d slots: %d misses, %d would do", (int)seed, slots,
                         (int)counts.misses, fewest);
            belady += counts.misses;
            opts.policy = PGCN_I_ROWS_LRU;
            counts = run_cache(&m, path, &s, opts, PGCN_I_ROWS_BEST, BATCHES);
            assert_true(counts.misses >= fewest);
            lru += counts.misses;
        }
    assert_true(belady < lru);
}

/* Knowing fewer batches costs reads, never wrong rows. */
static void test_cache_with_a_short_view_gives_the_same_rows(void **state) {
    (void)state;
    matrix m;
    for (int t = 0; t < TYPES; t++) {
        const char *path = make_file("rows", types[t], 1, &m);
        for (uint64_t seed = 100; seed < 120; seed++)
            for (int known = 1; known <= 4; known++) {
                sequence s = make_sequence(seed);
                pgcn_i_row_cache_opts opts = {.bytes = 3 * COLUMNS * pgcn_i_dtype_bytes(types[t]),
                                              .ahead = known};
                pgcn_i_row_way way = seed % 2 ? PGCN_I_ROWS_BEST : PGCN_I_ROWS_COLD;
                pgcn_i_row_counts counts = run_cache(&m, path, &s, opts, way, known);
                assert_true(counts.misses >= fewest_reads(&s, 3));
            }
    }
}

static void test_cache_lru_gives_up_what_was_used_longest_ago(void **state) {
    (void)state;
    matrix m;
    const char *path = make_file("rows", PGCN_I_F32, 1, &m);
    /* two slots: 0 1 | 0 | 2 takes the slot of 1 | 0 is there | 1 is not */
    sequence s = {.batches = 5, .count = {2, 1, 1, 1, 1}, .row = {{0, 1}, {0}, {2}, {0}, {1}}};
    pgcn_i_row_cache_opts opts = {.bytes = 2 * COLUMNS * 4, .policy = PGCN_I_ROWS_LRU, .ahead = 1};
    pgcn_i_row_counts counts = run_cache(&m, path, &s, opts, PGCN_I_ROWS_BEST, 1);
    assert_int_equal(counts.misses, 4);
    assert_int_equal(counts.hits, 2);
    opts.policy = PGCN_I_ROWS_FUTURE;
    counts = run_cache(&m, path, &s, opts, PGCN_I_ROWS_BEST, 5);
    assert_int_equal(counts.misses, 3); /* 2 is never wanted again and gets no slot */
}

static void test_cache_refuses_what_it_cannot_deliver(void **state) {
    (void)state;
    matrix m;
    pgcn_i_row_cache *cache;
    float found[COLUMNS];
    pgcn_i_row_file *file = open_rows(make_file("rows", PGCN_I_F32, 1, &m), &m, PGCN_I_ROWS_BEST);
    assert_int_equal(
        pgcn_i_row_cache_new(file, &(pgcn_i_row_cache_opts){.bytes = 1000, .ahead = 2}, &cache),
        PGCN_OK);
    assert_int_equal(pgcn_i_row_cache_take(cache, found, NULL, NULL), PGCN_ERR_ARGUMENT);
    assert_int_equal(pgcn_i_row_cache_announce(cache, (pgcn_node[]){3, 4, 3}, 3),
                     PGCN_ERR_ARGUMENT);
    assert_int_equal(pgcn_i_row_cache_announce(cache, (pgcn_node[]){ROWS}, 1), PGCN_ERR_ARGUMENT);
    assert_int_equal(pgcn_i_row_cache_announced(cache), 0);
    assert_int_equal(pgcn_i_row_cache_announce(cache, (pgcn_node[]){4}, 1), PGCN_OK);
    assert_int_equal(pgcn_i_row_cache_announce(cache, (pgcn_node[]){3, 4}, 2), PGCN_OK);
    assert_int_equal(pgcn_i_row_cache_take(cache, found, NULL, NULL), PGCN_OK);
    assert_rows(&m, (pgcn_node[]){4}, 1, found);
    pgcn_i_row_cache_free(cache); /* with reads of the second batch under way */
    pgcn_i_row_file_close(file);
}

/* ---- files that fail ------------------------------------------------------------------------------ */

static void test_rows_failing_reads_are_reported_once_and_for_all(void **state) {
    (void)state;
    matrix m;
    const char *path = make_file("rows", PGCN_I_F32, 1, &m);
    float found[2 * COLUMNS];
    disk_reset(scratch);
    disk->on = true;
    pgcn_i_row_file *file = open_rows(path, &m, PGCN_I_ROWS_PLAIN);
    pgcn_i_row_cache *cache;
    assert_int_equal(
        pgcn_i_row_cache_new(file, &(pgcn_i_row_cache_opts){.bytes = 1000, .ahead = 1}, &cache),
        PGCN_OK);
    for (pgcn_node row = 0; row < 3; row++)
        assert_int_equal(pgcn_i_row_cache_announce(cache, (pgcn_node[]){row, row + 10}, 2),
                         PGCN_OK);
    assert_int_equal(pgcn_i_row_cache_take(cache, found, NULL, NULL), PGCN_OK);
    disk->kind = DISK_READ;
    disk->number = atomic_load(&disk->calls[DISK_READ]) + 2;
    assert_int_equal(pgcn_i_row_cache_take(cache, found, NULL, NULL), PGCN_ERR_IO);
    assert_non_null(strstr(pgcn_last_error(), "rows': Input/output error"));
    assert_int_equal(pgcn_i_row_cache_take(cache, found, NULL, NULL),
                     PGCN_ERR_IO); /* no rows of nowhere */
    pgcn_i_row_cache_free(cache);
    assert_int_equal(pgcn_i_row_file_range(file, 0, 1, found),
                     PGCN_OK); /* the disk is well again */
    disk->number = atomic_load(&disk->calls[DISK_READ]) + 1;
    assert_int_equal(pgcn_i_row_file_range(file, 0, 1, found), PGCN_ERR_IO);
    disk->on = false;
    pgcn_i_row_file_close(file);
}

static void test_rows_file_cut_short_is_reported(void **state) {
    (void)state;
    matrix m;
    const pgcn_i_row_way ways[] = {PGCN_I_ROWS_PLAIN, PGCN_I_ROWS_BEST};
    for (int w = 0; w < 2; w++) {
        const char *path = make_file("rows", PGCN_I_F32, 1, &m);
        char stored[3 * COLUMNS * 4];
        float found[COLUMNS];
        pgcn_i_row_file *file = open_rows(path, &m, ways[w]);
        assert_int_equal(truncate(path, OFFSET + 20 * COLUMNS * 4 + 3), 0);
        pgcn_i_row_batch batch = {.row = (pgcn_node[]){2, 20, 30}, .count = 3, .to = stored};
        assert_int_equal(pgcn_i_row_file_submit(file, &(pgcn_i_row_batch *){&batch}, 1, NULL),
                         PGCN_OK);
        assert_int_equal(pgcn_i_row_file_wait(file, &batch), PGCN_ERR_IO);
        assert_non_null(strstr(pgcn_last_error(), "ended early"));
        assert_int_equal(pgcn_i_row_file_range(file, 20, 1, found), PGCN_ERR_IO);
        assert_int_equal(pgcn_i_row_file_range(file, 19, 1, found), PGCN_OK);
        assert_int_equal(pgcn_i_row_file_check(file), PGCN_ERR_MISMATCH);
        assert_non_null(strstr(pgcn_last_error(), "was cut short"));
        pgcn_i_row_file_close(file);
        assert_int_equal(pgcn_i_row_file_open(path, &m.layout, ways[w], &file), PGCN_ERR_FORMAT);
    }
}

static void test_rows_replaced_file_is_recognised(void **state) {
    (void)state;
    matrix m, other;
    float found[COLUMNS];
    char path[1024];
    snprintf(path, sizeof path, "%s", make_file("rows", PGCN_I_F32, 1, &m));
    pgcn_i_row_file *file = open_rows(path, &m, PGCN_I_ROWS_BEST);
    assert_int_equal(rename(make_file("new", PGCN_I_F32, 2, &other), path), 0);
    assert_int_equal(pgcn_i_row_file_check(file), PGCN_ERR_MISMATCH);
    assert_non_null(strstr(pgcn_last_error(), "replaced by another file"));
    assert_int_equal(pgcn_i_row_file_range(file, 3, 1, found), PGCN_OK); /* still of the old one */
    assert_rows(&m, (pgcn_node[]){3}, 1, found);
    pgcn_i_row_file_close(file);

    file = open_rows(path, &m, PGCN_I_ROWS_BEST);
    int descriptor = open(path, O_WRONLY);
    struct timespec later[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(pwrite(descriptor, "another header", 14, 0), 14);
    assert_int_equal(futimens(descriptor, later), 0);
    close(descriptor);
    assert_int_equal(pgcn_i_row_file_check(file), PGCN_ERR_MISMATCH);
    assert_non_null(strstr(pgcn_last_error(), "overwritten by another container"));
    assert_int_equal(remove(path), 0);
    assert_int_equal(pgcn_i_row_file_check(file), PGCN_ERR_MISMATCH);
    assert_non_null(strstr(pgcn_last_error(), "was removed"));
    pgcn_i_row_file_close(file);
}

int main(void) {
    disk_make();
#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_narrow_every_half_comes_back),
        cmocka_unit_test(test_narrow_ties_go_to_even),
        cmocka_unit_test(test_narrow_too_large_is_reported),
        cmocka_unit_test(test_narrow_errors_are_within_their_bounds),
        cmocka_unit_test(test_narrow_column_of_zeros_stays),
        ON_DISK(test_rows_lists_and_ranges_are_the_bits_of_the_whole),
        ON_DISK(test_rows_batches_ahead_are_the_same_bits),
        ON_DISK(test_cache_belady_reads_as_few_rows_as_possible),
        ON_DISK(test_cache_with_a_short_view_gives_the_same_rows),
        ON_DISK(test_cache_lru_gives_up_what_was_used_longest_ago),
        ON_DISK(test_cache_refuses_what_it_cannot_deliver),
        ON_DISK(test_rows_failing_reads_are_reported_once_and_for_all),
        ON_DISK(test_rows_file_cut_short_is_reported),
        ON_DISK(test_rows_replaced_file_is_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
