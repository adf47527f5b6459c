/* How far long work is, for a caller that shows it and may end it (pgcn_on_work). Called by the rooms io,
 * graph and data where they read, sort and write much. Any thread. */
#include "base/base.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

static struct {
    pthread_mutex_t lock;
    pgcn_work_callback call;
    void *context;
    const char *what; /* what was told last: a literal */
    double told;      /* seconds */
} work = {.lock = PTHREAD_MUTEX_INITIALIZER};
static atomic_bool is_watched, is_stopped;

static const double every_seconds = 0.05;

void pgcn_on_work(pgcn_work_callback call, void *context) {
    pthread_mutex_lock(&work.lock);
    work.call = call;
    work.context = context;
    work.what = NULL;
    work.told = 0;
    atomic_store(&is_watched, call != NULL);
    atomic_store(&is_stopped, false);
    pthread_mutex_unlock(&work.lock);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

pgcn_status pgcn_i_stage(const char *what, double share) {
    if (!atomic_load_explicit(&is_watched, memory_order_relaxed)) return PGCN_OK;
    if (pthread_mutex_trylock(&work.lock) == 0) { /* else another thread is telling it */
        double time = now();
        /* Every stage is told once at least, however short it is. */
        bool is_new = !work.what || strcmp(work.what, what) != 0;
        if (work.call && (is_new || time - work.told >= every_seconds)) {
            work.what = what;
            work.told = time;
            if (!work.call(what, share, work.context)) atomic_store(&is_stopped, true);
        }
        pthread_mutex_unlock(&work.lock);
    }
    if (!atomic_load_explicit(&is_stopped, memory_order_relaxed)) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_STOPPED, "stopped while %s", what);
}
