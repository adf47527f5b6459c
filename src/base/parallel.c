/* The thread pool. A training step on a small graph runs a few dozen short parallel loops, so
 * starting one must cost microseconds: workers spin for a moment before they sleep. Each worker has
 * a range of the tasks of its own, the same part of every loop, so that rows which one loop wrote
 * are still in that core's cache when the next loop reads them; when its range is done it helps the
 * others. A loop is over when its tasks are done, whichever thread did them. A worker that is
 * asleep or preempted is not waited for, unless it has taken a task. What a task computes depends
 * on its number only (see base.h), so neither the number of threads nor their order can change a
 * result.
 *
 * Why not OpenMP: the number of threads belongs to one trainer and not to the process, a service
 * that embeds us keeps its own settings, and ThreadSanitizer sees through pthreads. */
#define _GNU_SOURCE
#include "base/base.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#define cpu_relax() __builtin_ia32_pause()
#else
#define cpu_relax() ((void)0)
#endif

/* About 20 microseconds: longer than the gap between two loops of a step, shorter than a wake-up.
 * No spinning when there are more threads than cores: the one we wait for needs ours. */
enum { SPINS = 2000 };

/* Stack of a worker: tasks need about ten kilobytes. The default of the system, often 8 MiB, would
 * not fit into a small address space, and would depend on `ulimit -s`. It is less than a huge page,
 * so that no stack becomes one. */
enum { STACK_BYTES = 1 << 20 };

/* A thread takes a task by decrementing `range` with compare and exchange. The word holds the
 * number of the loop (high half) and how many tasks are not taken yet (low half). A worker that is
 * late sees the number of another loop and takes nothing. */
struct worker {
    _Alignas(64) _Atomic(uint64_t) range;
    int64_t end; /* of its range; written like the fields of the loop below */
    pgcn_i_pool *pool;
    int index;
};

struct pgcn_i_pool {
    int threads, spins;
    /* The current loop. Written by the caller before the ranges, read by workers that have taken a
     * task of it: the caller cannot go on to the next one before that task is done. */
    pgcn_i_task run;
    void *context;
    _Alignas(64) _Atomic(int64_t) left;        /* tasks that are not done */
    _Alignas(64) _Atomic(uint32_t) generation; /* number of the current loop */
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    int sleepers; /* under lock */
    bool caller_waits;
    atomic_bool watched; /* by pgcn_i_pool_watch(); in nanoseconds: */
    int64_t watched_from, caller_waited;
    _Atomic(int64_t) worked; /* in tasks, by all threads but the caller */
    pthread_t *thread;
    struct worker *worker; /* [threads], the caller is number 0 */
};

int pgcn_i_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        int count = CPU_COUNT(&set);
        if (count > 0) return count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_watched(const pgcn_i_pool *pool) {
    return atomic_load_explicit(&pool->watched, memory_order_relaxed);
}

static uint64_t range_of(uint32_t loop, int64_t left) {
    return (uint64_t)loop << 32 | (uint64_t)left;
}

/* One more task of a range, or -1 if there is none or its loop is over. */
static int64_t take_task(struct worker *owner, uint32_t loop) {
    uint64_t range = atomic_load_explicit(&owner->range, memory_order_relaxed);
    do {
        if (range <= range_of(loop, 0) || range > range_of(loop, UINT32_MAX)) return -1;
    } while (!atomic_compare_exchange_weak_explicit(&owner->range, &range, range - 1,
                                                    memory_order_acquire, memory_order_relaxed));
    return owner->end - (int64_t)(range - range_of(loop, 0));
}

/* Tasks of all ranges, the own one first, until none is left; returns how many. */
static int64_t take_tasks(pgcn_i_pool *pool, uint32_t loop, int me) {
    int64_t done = 0;
    for (int i = 0; i < pool->threads; i++) {
        struct worker *owner = &pool->worker[(me + i) % pool->threads];
        for (int64_t task; (task = take_task(owner, loop)) >= 0; done++)
            pool->run(pool->context, task, me);
    }
    return done;
}

/* Waits until `generation` differs from `seen`: spins, then sleeps. */
static uint32_t await_work(pgcn_i_pool *pool, uint32_t seen) {
    uint32_t now;
    for (int i = 0; i < pool->spins; i++) {
        now = atomic_load_explicit(&pool->generation, memory_order_acquire);
        if (now != seen) return now;
        cpu_relax();
    }
    pthread_mutex_lock(&pool->lock);
    pool->sleepers++;
    while ((now = atomic_load_explicit(&pool->generation, memory_order_acquire)) == seen)
        pthread_cond_wait(&pool->wake, &pool->lock);
    pool->sleepers--;
    pthread_mutex_unlock(&pool->lock);
    return now;
}

static void *worker_main(void *argument) {
    struct worker *me = argument;
    pgcn_i_pool *pool = me->pool;
    uint32_t seen = 0;
    for (;;) {
        seen = await_work(pool, seen);
        if (atomic_load_explicit(&pool->stop, memory_order_acquire)) return NULL;
        bool watched = is_watched(pool);
        int64_t begin = watched ? now_ns() : 0, done = take_tasks(pool, seen, me->index);
        if (watched && done > 0) /* before `left`: the caller may read it right after the loop */
            atomic_fetch_add_explicit(&pool->worked, now_ns() - begin, memory_order_relaxed);
        if (done > 0 &&
            atomic_fetch_sub_explicit(&pool->left, done, memory_order_acq_rel) == done) {
            pthread_mutex_lock(&pool->lock);
            if (pool->caller_waits) pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->lock);
        }
    }
}

static void announce(pgcn_i_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add_explicit(&pool->generation, 1, memory_order_release);
    if (pool->sleepers > 0) pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

/* The caller has done its tasks; waits for those that others hold. */
static void await_tasks(pgcn_i_pool *pool) {
    for (int i = 0; i < pool->spins; i++) {
        if (atomic_load_explicit(&pool->left, memory_order_acquire) == 0) return;
        cpu_relax();
    }
    pthread_mutex_lock(&pool->lock);
    pool->caller_waits = true;
    while (atomic_load_explicit(&pool->left, memory_order_acquire) != 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pool->caller_waits = false;
    pthread_mutex_unlock(&pool->lock);
}

void pgcn_i_parallel(pgcn_i_pool *pool, int64_t n_tasks, pgcn_i_task run, void *context) {
    if (!pool || pool->threads == 1 || n_tasks <= 1) {
        for (int64_t task = 0; task < n_tasks; task++) run(context, task, 0);
        return;
    }
    uint32_t loop = atomic_load_explicit(&pool->generation, memory_order_relaxed) + 1;
    pool->run = run;
    pool->context = context;
    atomic_store_explicit(&pool->left, n_tasks, memory_order_relaxed);
    for (int i = 0; i < pool->threads; i++) {
        struct worker *worker = &pool->worker[i];
        int64_t begin = n_tasks * i / pool->threads;
        worker->end = n_tasks * (i + 1) / pool->threads;
        atomic_store_explicit(&worker->range, range_of(loop, worker->end - begin),
                              memory_order_release);
    }
    announce(pool);
    int64_t done = take_tasks(pool, loop, 0), begin = is_watched(pool) ? now_ns() : 0;
    if (atomic_fetch_sub_explicit(&pool->left, done, memory_order_acq_rel) > done)
        await_tasks(pool);
    if (is_watched(pool)) pool->caller_waited += now_ns() - begin;
}

void pgcn_i_pool_watch(pgcn_i_pool *pool) {
    atomic_store_explicit(&pool->watched, true, memory_order_relaxed);
    pool->caller_waited = 0;
    atomic_store_explicit(&pool->worked, 0, memory_order_relaxed);
    pool->watched_from = now_ns();
}

double pgcn_i_pool_waited(const pgcn_i_pool *pool) {
    int64_t passed = now_ns() - pool->watched_from, others = pool->threads - 1;
    int64_t worked = atomic_load_explicit(&pool->worked, memory_order_relaxed);
    int64_t waited = others * passed - worked + pool->caller_waited;
    return (double)waited / (double)(passed * pool->threads);
}

int pgcn_i_pool_threads(const pgcn_i_pool *pool) {
    return pool->threads;
}

void pgcn_i_pool_free(pgcn_i_pool *pool) {
    if (!pool) return;
    atomic_store_explicit(&pool->stop, true, memory_order_release);
    announce(pool);
    for (int i = 1; i < pool->threads; i++) pthread_join(pool->thread[i], NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    pgcn_i_free(pool->thread);
    pgcn_i_free(pool->worker);
    pgcn_i_free(pool);
}

static int start_worker(struct worker *worker, pthread_t *thread) {
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error) return error;
    error = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (!error) error = pthread_create(thread, &attributes, worker_main, worker);
    pthread_attr_destroy(&attributes);
    return error;
}

pgcn_status pgcn_i_pool_new(int threads, pgcn_i_pool **out) {
    if (threads < 0 || threads > 1024)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "threads is %d: give 1 to 1024, or 0 for one per core", threads);
    int cores = pgcn_i_cores();
    if (threads == 0) threads = cores;
    pgcn_i_pool *pool = pgcn_i_alloc(1, sizeof *pool);
    if (!pool) return PGCN_ERR_MEMORY;
    pool->threads = 1; /* grows as threads start, so that a failure frees only what is there */
    pool->spins = threads <= cores ? SPINS : 0;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->thread = pgcn_i_alloc(threads, sizeof *pool->thread);
    pool->worker = pgcn_i_alloc(threads, sizeof *pool->worker);
    if (!pool->thread || !pool->worker) {
        pgcn_i_pool_free(pool);
        return PGCN_ERR_MEMORY;
    }
    for (int i = 1; i < threads; i++) {
        pool->worker[i].pool = pool;
        pool->worker[i].index = i;
        int error = start_worker(&pool->worker[i], &pool->thread[i]);
        if (error) {
            pgcn_i_pool_free(pool);
            return pgcn_i_fail(PGCN_ERR_SYSTEM,
                               "could not start thread %d of %d: %s; use fewer "
                               "(--threads), or raise the limits of processes and of memory "
                               "(ulimit -u, ulimit -v)",
                               i + 1, threads, strerror(error));
        }
        pool->threads = i + 1;
    }
    *out = pool;
    return PGCN_OK;
}
