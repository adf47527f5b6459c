/* One call of pgcn_dataset_load, timed: our side of bench/load.sh. Prints one JSON line: wall and CPU time
 * and page faults of the call (checks, graph and fingerprint included), peak memory of the process.
 *
 *     load PATH [NODES]          fails if the data set has another number of nodes
 *
 * The process waits a moment first: OpenBLAS starts its threads when it is loaded, and they spin for a
 * while. On the other side the imports of Python are left out in the same way. */
#include <pathgcn/pathgcn.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double seconds(struct timeval time) {
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int count, char **argument) {
    pgcn_dataset *data;
    struct rusage before, after;
    if (count < 2) return fprintf(stderr, "usage: load PATH [NODES]\n"), 2;
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    getrusage(RUSAGE_SELF, &before);
    double begin = now();
    if (pgcn_dataset_load(argument[1], NULL, &data) != PGCN_OK)
        return fprintf(stderr, "%s\n", pgcn_last_error()), 1;
    double wall_s = now() - begin;
    getrusage(RUSAGE_SELF, &after);
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    if (count > 2 && info.nodes != atoll(argument[2]))
        return fprintf(stderr, "found %lld nodes\n", (long long)info.nodes), 1;
    printf("{\"wall_s\": %.6f, \"user_s\": %.6f, \"sys_s\": %.6f, \"faults\": %ld, "
           "\"peak_bytes\": %ld}\n",
           wall_s, seconds(after.ru_utime) - seconds(before.ru_utime),
           seconds(after.ru_stime) - seconds(before.ru_stime), after.ru_minflt - before.ru_minflt,
           after.ru_maxrss * 1024);
    pgcn_dataset_free(data);
    return 0;
}
