/* The thread pool: every task exactly once, loop after loop, and all writes seen afterwards. */
#include "sampling_help.h"

#include <string.h>
#include <time.h>

enum { MOST_TASKS = 5000 };

typedef struct counting {
    int times[MOST_TASKS]; /* plain, so that ThreadSanitizer sees a task that runs twice */
    int threads;
    atomic_int bad_worker;
} counting;

static void count_task(void *context, int64_t task, int worker) {
    counting *job = context;
    job->times[task]++;
    if (worker < 0 || worker >= job->threads) atomic_store(&job->bad_worker, 1);
}

static void test_parallel_every_task_runs_exactly_once(void **state) {
    (void)state;
    static const int64_t tasks[] = {0, 1, 2, 3, 7, 8, 100, MOST_TASKS};
    for (int c = 0; c < THREAD_CASES; c++) {
        pgcn_i_pool *pool = NULL;
        must(pgcn_i_pool_new(THREADS[c], &pool));
        assert_int_equal(pgcn_i_pool_threads(pool), THREADS[c]);
        for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
            static counting job;
            memset(&job, 0, sizeof job);
            job.threads = THREADS[c];
            pgcn_i_parallel(pool, tasks[i], count_task, &job);
            for (int64_t task = 0; task < MOST_TASKS; task++)
                assert_int_equal(job.times[task], task < tasks[i] ? 1 : 0);
            assert_int_equal(atomic_load(&job.bad_worker), 0);
        }
        pgcn_i_pool_free(pool);
    }
}

/* Each loop reads what the loop before wrote: a worker that is late by one loop, or a caller that
 * returns too early, breaks the sum. */
typedef struct relay {
    int64_t from[16], to[16];
} relay;

static void relay_task(void *context, int64_t task, int worker) {
    (void)worker;
    relay *job = context;
    job->to[task] = job->from[(task + 1) % 16] + 1;
}

static void test_parallel_many_short_loops_see_each_other(void **state) {
    (void)state;
    for (int c = 0; c < THREAD_CASES; c++) {
        int loops = THREADS[c] <= 2 ? 20000 : 500; /* more threads than cores take turns */
        pgcn_i_pool *pool = NULL;
        must(pgcn_i_pool_new(THREADS[c], &pool));
        relay job = {0};
        for (int i = 0; i < loops; i++) {
            pgcn_i_parallel(pool, 16, relay_task, &job);
            memcpy(job.from, job.to, sizeof job.from);
        }
        for (int i = 0; i < 16; i++) assert_int_equal(job.from[i], loops);
        pgcn_i_pool_free(pool);
    }
}

static void test_pool_unused_or_asleep_ends_cleanly(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        pgcn_i_pool *pool = NULL;
        must(pgcn_i_pool_new(3, &pool));
        pgcn_i_pool_free(pool);
    }
    pgcn_i_pool_free(NULL);
}

static void test_pool_bad_thread_count_is_refused(void **state) {
    (void)state;
    pgcn_i_pool *pool = NULL;
    must_fail(pgcn_i_pool_new(-1, &pool), PGCN_ERR_ARGUMENT, "threads is -1");
    must_fail(pgcn_i_pool_new(100000, &pool), PGCN_ERR_ARGUMENT, "threads is 100000");
    assert_null(pool);
}

static void test_pool_zero_threads_means_all_cores(void **state) {
    (void)state;
    pgcn_i_pool *pool = NULL;
    must(pgcn_i_pool_new(0, &pool));
    assert_int_equal(pgcn_i_pool_threads(pool), pgcn_i_cores());
    pgcn_i_pool_free(pool);
}

static void sleep_task(void *context, int64_t task, int worker) {
    (void)context, (void)task, (void)worker;
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

/* The share of its time that a pool waits in a loop of `tasks`, which all sleep for the same time. */
static double waited_in_loop(int threads, int64_t tasks) {
    pgcn_i_pool *pool = NULL;
    must(pgcn_i_pool_new(threads, &pool));
    pgcn_i_parallel(pool, tasks, sleep_task, NULL); /* is not counted */
    pgcn_i_pool_watch(pool);
    pgcn_i_parallel(pool, tasks, sleep_task, NULL);
    double share = pgcn_i_pool_waited(pool);
    pgcn_i_pool_free(pool);
    return share;
}

static void test_pool_tells_what_share_of_the_time_threads_wait(void **state) {
    (void)state;
    assert_float_equal(waited_in_loop(1, 2), 0, 0);
    assert_float_equal(waited_in_loop(2, 1), 0.5, 0.02); /* the other has nothing to do */
    assert_float_equal(waited_in_loop(2, 2), 0, 0.2);
    assert_float_equal(waited_in_loop(2, 3), 0.25, 0.15); /* in turns of two and one */
}

static void test_cut_blocks_cover_all_rows_once(void **state) {
    (void)state;
    static const int64_t rows[] = {0, 1, 63, 64, 65, 2708, 65536, 65537, 1000000, 2147483647};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pgcn_i_blocks cuts[] = {pgcn_i_blocks_of(rows[i]), pgcn_i_groups_of(rows[i], PGCN_GROUPS)};
        const int64_t most[] = {PGCN_MAX_BLOCKS, PGCN_GROUPS};
        for (int c = 0; c < 2; c++) {
            int64_t next = 0;
            assert_true(cuts[c].count <= most[c]);
            for (int64_t block = 0; block < cuts[c].count; block++) {
                assert_int_equal(pgcn_i_block_begin(cuts[c], block), next);
                assert_true(pgcn_i_block_end(cuts[c], block) > next);
                next = pgcn_i_block_end(cuts[c], block);
            }
            assert_int_equal(next, rows[i]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parallel_every_task_runs_exactly_once),
        cmocka_unit_test(test_parallel_many_short_loops_see_each_other),
        cmocka_unit_test(test_pool_unused_or_asleep_ends_cleanly),
        cmocka_unit_test(test_pool_bad_thread_count_is_refused),
        cmocka_unit_test(test_pool_zero_threads_means_all_cores),
        cmocka_unit_test(test_pool_tells_what_share_of_the_time_threads_wait),
        cmocka_unit_test(test_cut_blocks_cover_all_rows_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
