/* kernels: what this machine can do at all. Nothing of pathgcn is measured here. */
#include "bed.h"

#include <string.h>

/* ---- the machine itself --------------------------------------------------------------------- */

typedef struct memory_bed {
    float *a, *b, *c;
    int64_t count;   /* floats of each */
    int64_t row;     /* floats of a row */
    pgcn_node *rows; /* in random order */
    int64_t reads;
    int ahead;
    pgcn_i_pool *pool;
    float sum[64];
    float *sums; /* [64, 64, row]: rows of each task are added up here */
} memory_bed;

enum { MEMORY_TASKS = 64 };

static void part_of(int64_t count, int64_t task, int64_t *begin, int64_t *end) {
    int64_t size = count / MEMORY_TASKS / 128 * 128;
    *begin = task * size;
    *end = *begin + size;
}
#define MEMORY_LOOP(name, total, call)                                                             \
    static void name##_task(void *context, int64_t task, int worker) {                             \
        memory_bed *m = context;                                                                   \
        int64_t begin, end;                                                                        \
        (void)worker;                                                                              \
        part_of(total, task, &begin, &end);                                                        \
        call;                                                                                      \
    }                                                                                              \
    static void name(void *context) {                                                              \
        memory_bed *m = context;                                                                   \
        pgcn_i_parallel(m->pool, MEMORY_TASKS, name##_task, m);                                    \
    }
MEMORY_LOOP(stream_read, m->count, m->sum[task] = limit_read(m->a, begin, end))
MEMORY_LOOP(stream_copy, m->count, limit_copy(m->a, m->b, begin, end))
MEMORY_LOOP(stream_triad, m->count, limit_triad(m->a, m->b, m->c, begin, end))
MEMORY_LOOP(random_rows, m->reads,
            limit_random_rows(m->sums + task * 64 * m->row, m->a, m->rows, begin, end, m->row,
                              m->ahead))
static void multiply_add_task(void *context, int64_t task, int worker) {
    (void)worker;
    limit_fma(((memory_bed *)context)->a + task * 64, 20000);
}
static void multiply_add(void *context) {
    memory_bed *m = context;
    pgcn_i_parallel(m->pool, pgcn_i_pool_threads(m->pool), multiply_add_task, m);
}

static void measure_memory(memory_bed *m, const char *name, const char *shape, void (*body)(void *),
                           double work, bench_unit unit) {
    for (int t = 0; t < run.thread_counts; t++) {
        bench_turn turn = {.run = body, .context = m};
        m->pool = run.pool[t];
        bench_take_turns(&turn, 1, run.repetitions);
        bench_case result = {.bench = "limits",
                             .name = name,
                             .threads = run.threads[t],
                             .times = turn.times,
                             .work = unit == BENCH_GFLOP_S ? work * run.threads[t] : work,
                             .unit = unit};
        snprintf(result.shape, sizeof result.shape, "%s", shape);
        bench_report(&result, &run.machine, run.command, run.json);
    }
}

static void bench_streams(const char *level, int64_t kib) {
    memory_bed m = {.count = kib * 1024 / (int64_t)sizeof(float) / 3};
    double bytes = (double)(m.count / MEMORY_TASKS / 128 * 128 * MEMORY_TASKS) * sizeof(float);
    char shape[60];
    snprintf(shape, sizeof shape, "%s, %lld KiB", level, (long long)kib);
    m.a = bench_floats(m.count, true), m.b = bench_floats(m.count, true);
    m.c = bench_floats(m.count, true);
    measure_memory(&m, "stream, read", shape, stream_read, bytes, BENCH_GB_S);
    measure_memory(&m, "stream, copy", shape, stream_copy, 2 * bytes, BENCH_GB_S);
    measure_memory(&m, "stream, triad", shape, stream_triad, 3 * bytes, BENCH_GB_S);
    bench_floats_free(m.a, m.count), bench_floats_free(m.b, m.count);
    bench_floats_free(m.c, m.count);
}

static void bench_random_rows(int64_t mib, int64_t row, bool huge_pages) {
    memory_bed m = {.row = row, .reads = run.smoke ? 16384 : 262144};
    pgcn_i_stream stream = pgcn_i_stream_of(pgcn_i_rng_domain_of(7, PGCN_I_RNG_TEST, 0, 0, 0), 0);
    int64_t rows = mib * (1 << 20) / (int64_t)sizeof(float) / row;
    m.a = bench_floats(rows * row, huge_pages);
    memset(m.a, 1, (size_t)(rows * row) * sizeof(float)); /* else all pages are the zero page */
    m.sums = bench_floats(MEMORY_TASKS * 64 * row, true);
    m.rows = pgcn_i_alloc(m.reads, sizeof *m.rows);
    if (!m.rows) bench_die("%s", pgcn_last_error());
    for (int64_t i = 0; i < m.reads; i++)
        m.rows[i] = (pgcn_node)pgcn_i_bounded(&stream, (uint32_t)rows);
    double bytes = (double)(m.reads * row) * sizeof(float);
    for (m.ahead = 0; m.ahead <= 32; m.ahead += 32) {
        char shape[80];
        snprintf(shape, sizeof shape, "%lld B rows of %lld MiB, %s pages%s",
                 (long long)row * (long long)sizeof(float), (long long)mib,
                 huge_pages ? "2 MiB" : "4 KiB", m.ahead ? ", prefetched" : "");
        measure_memory(&m, "random rows", shape, random_rows, bytes, BENCH_GB_S);
    }
    bench_floats_free(m.a, rows * row), bench_floats_free(m.sums, MEMORY_TASKS * 64 * row);
    pgcn_i_free(m.rows);
}

void bench_machine_limits(void) {
    memory_bed m = {.a = bench_floats(4096, false)};
    for (int64_t i = 0; i < 4096; i++) m.a[i] = 0.5f;
    measure_memory(&m, "multiply-adds", "in registers", multiply_add, limit_fma(m.a, 20000),
                   BENCH_GFLOP_S);
    bench_floats_free(m.a, 4096);
    bench_streams("L2", 512);
    if (run.smoke) {
        bench_random_rows(1, 64, false);
        return;
    }
    bench_streams("L3", 16384);
    bench_streams("memory", 768 * 1024);
    for (int huge = 0; huge < 2; huge++)
        for (int64_t row = 64; row <= 256; row *= 4) bench_random_rows(165, row, huge);
}
