/* One call of pgcn_dataset_load, timed: our side of bench/load.sh. Prints one JSON line: wall and CPU time
 * and page faults of the call (checks, graph and fingerprint included), peak memory of the process. With
 * "read" only the reader of the format runs: the files become arrays, which is all that pandas does.
 *
 *     load load|read PATH NODES          fails if the data set has another number of nodes
 *
 * The imports of Python on the other side are not timed either. */
#include "data/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static pgcn_status load(const char *path, int64_t *nodes) {
    pgcn_dataset *data;
    PGCN_TRY(pgcn_dataset_load(path, NULL, &data));
    *nodes = pgcn_dataset_describe(data).nodes;
    return PGCN_OK; /* the process ends: freeing is not what is timed, on neither side */
}

static pgcn_status read_only(const char *path, int64_t *nodes) {
    const pgcn_i_format *format = pgcn_i_format_find(path);
    pgcn_i_steps as_given = {0};
    pgcn_i_source source = {0};
    if (!format) return pgcn_i_fail(PGCN_ERR_FORMAT, "'%s' is in no format that is read", path);
    PGCN_TRY(format->read(path, &as_given, &source));
    *nodes = source.nodes;
    return PGCN_OK;
}

int main(int count, char **argument) {
    struct rusage before, after;
    int64_t nodes = 0;
    if (count != 4) return fprintf(stderr, "usage: load load|read PATH NODES\n"), 2;
    getrusage(RUSAGE_SELF, &before);
    double begin = now();
    bool whole = strcmp(argument[1], "load") == 0;
    if ((whole ? load : read_only)(argument[2], &nodes) != PGCN_OK)
        return fprintf(stderr, "%s\n", pgcn_last_error()), 1;
    double wall_s = now() - begin;
    getrusage(RUSAGE_SELF, &after);
    if (nodes != atoll(argument[3]))
        return fprintf(stderr, "found %lld nodes\n", (long long)nodes), 1;
    printf("{\"wall_s\": %.6f, \"user_s\": %.6f, \"sys_s\": %.6f, \"faults\": %ld, "
           "\"peak_bytes\": %ld}\n",
           wall_s, seconds(after.ru_utime) - seconds(before.ru_utime),
           seconds(after.ru_stime) - seconds(before.ru_stime), after.ru_minflt - before.ru_minflt,
           after.ru_maxrss * 1024);
    return 0;
}
