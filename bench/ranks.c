/* The network as ranks see it: how long a message of a few bytes takes, and how many bytes a second go both ways at the
 * same time. Started by mpirun; rank 0 prints one JSON line.
 *
 *   mpirun -n 2 bench_ranks
 *
 * Ranks 0 and 1 are measured; the others wait. bench/network.sh puts both numbers into the model of time. */
#include "base/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PINGS = 50, BYTES = 1 << 21, SWAPS = 5 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Both ranks send and receive; seconds of one of `count`. The mean, because a rank that comes late once waits for less
 * the next time. */
static double swap(pgcn_i_comm *comm, char *out, char *in, int64_t bytes, int count) {
    int other = 1 - comm->rank;
    const pgcn_i_message message[] = {{other, true, out, bytes}, {other, false, in, bytes}};
    double begin = now();
    for (int i = 0; i < count; i++) pgcn_i_comm_exchange(comm, message, 2);
    return (now() - begin) / count;
}

int main(void) {
    pgcn_i_comm *comm = pgcn_i_comm_world();
    if (pgcn_i_comm_join(comm) != PGCN_OK || comm->size < 2) {
        fprintf(stderr, "bench_ranks: %s\n",
                comm->size < 2 ? "start it by mpirun -n 2" : pgcn_last_error());
        return 1;
    }
    char *out = calloc(2, BYTES);
    if (!out) return 1;
    if (comm->rank < 2) {
        swap(comm, out, out + BYTES, 8, 5);
        double latency = swap(comm, out, out + BYTES, 8, PINGS);
        swap(comm, out, out + BYTES, BYTES, 2);
        double whole = swap(comm, out, out + BYTES, BYTES, SWAPS);
        if (comm->rank == 0)
            printf("{\"latency_ms\":%.4f,\"gbit_s\":%.4f}\n", 1e3 * latency,
                   8e-9 * BYTES / (whole - latency));
    }
    free(out);
    pgcn_status status = pgcn_i_comm_status(comm);
    if (status != PGCN_OK) fprintf(stderr, "bench_ranks: %s\n", pgcn_last_error());
    pgcn_i_comm_leave(comm);
    return status != PGCN_OK;
}
