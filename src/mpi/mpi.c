/* The module for MPI, pathgcn_mpi.so: the one file that knows MPI. src/base/comm.c opens it where a launcher has
 * started several ranks, so that nothing else of pathgcn needs MPI, when it is built or when it runs.
 *
 * Every wait looks at the clock: MPI itself would wait for a rank that hangs without an end. */
#include "base/comm.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    TAG = 1,
    MOST_BYTES = 1 << 30, /* of one message: MPI counts in int */
    SPINS = 300,          /* before the core is given to others, */
    YIELDS = 600,         /* and before this thread sleeps */
};

static MPI_Comm ranks = MPI_COMM_NULL;
static bool started_here;

/* Requests of an exchange, and whom each is with. */
static struct {
    MPI_Request *request;
    int *peer;
    int capacity;
} pending;

static bool start(int *rank, int *size, char host[PGCN_I_HOST_BYTES], char *error, size_t bytes) {
    int provided = MPI_THREAD_SINGLE, initialized = 0;
    if (gethostname(host, PGCN_I_HOST_BYTES) != 0) snprintf(host, PGCN_I_HOST_BYTES, "?");
    host[PGCN_I_HOST_BYTES - 1] = '\0';
    MPI_Initialized(&initialized);
    if (!initialized &&
        MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        snprintf(error, bytes, "MPI_Init_thread failed on %s", host);
        return false;
    }
    started_here = !initialized;
    if (initialized) MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_FUNNELED) {
        snprintf(error, bytes, "this MPI allows no threads, on %s", host);
        return false;
    }
    if (MPI_Comm_dup(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS) {
        snprintf(error, bytes, "MPI_Comm_dup failed on %s", host);
        return false;
    }
    MPI_Comm_rank(ranks, rank);
    MPI_Comm_size(ranks, size);
    return true;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void make_room(int count) {
    if (count <= pending.capacity) return;
    pending.capacity = 2 * count;
    pending.request = realloc(pending.request, (size_t)pending.capacity * sizeof(MPI_Request));
    pending.peer = realloc(pending.peer, (size_t)pending.capacity * sizeof(int));
    if (!pending.request || !pending.peer) {
        fprintf(stderr, "pathgcn: out of memory for the messages of MPI\n");
        MPI_Abort(ranks, 1);
    }
}

/* A message in pieces of at most MOST_BYTES. */
static int post(const pgcn_i_message *message, int count) {
    char *data = message->data;
    for (int64_t at = 0; at < message->bytes; at += MOST_BYTES) {
        int64_t left = message->bytes - at;
        int bytes = (int)(left < MOST_BYTES ? left : MOST_BYTES);
        make_room(count + 1);
        if (message->sends)
            MPI_Isend(data + at, bytes, MPI_BYTE, message->peer, TAG, ranks,
                      &pending.request[count]);
        else
            MPI_Irecv(data + at, bytes, MPI_BYTE, message->peer, TAG, ranks,
                      &pending.request[count]);
        pending.peer[count++] = message->peer;
    }
    return count;
}

static void wait_a_little(int64_t turns) {
    if (turns > SPINS + YIELDS)
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    else if (turns > SPINS)
        sched_yield();
}

/* Requests are waited for one after the other; all of them go on meanwhile. */
static int exchange(const pgcn_i_message *message, int count, double seconds) {
    int requests = 0;
    for (int i = 0; i < count; i++) requests = post(&message[i], requests);
    double begin = now();
    for (int i = 0; i < requests; i++) {
        int done = 0;
        for (int64_t turns = 0; !done; turns++) {
            MPI_Test(&pending.request[i], &done, MPI_STATUS_IGNORE);
            if (done) break;
            wait_a_little(turns);
            if (turns % 256 == 255 && seconds > 0 && now() - begin > seconds)
                return pending.peer[i];
        }
        if (requests > 1 && seconds > 0 && i % 16 == 15) begin = now(); /* somebody answered */
    }
    return PGCN_I_NO_RANK;
}

static int waiting(void) {
    int found = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG, ranks, &found, &status);
    return found ? status.MPI_SOURCE : PGCN_I_NO_RANK;
}

static void end_all(int code) {
    MPI_Abort(ranks, code);
}

static void finish(void) {
    free(pending.request);
    free(pending.peer);
    memset(&pending, 0, sizeof pending);
    MPI_Comm_free(&ranks);
    if (started_here) MPI_Finalize();
}

__attribute__((visibility("default"))) extern const pgcn_i_transport pgcn_transport;
const pgcn_i_transport pgcn_transport = {.version = PGCN_I_TRANSPORT_VERSION,
                                         .start = start,
                                         .exchange = exchange,
                                         .waiting = waiting,
                                         .abort = end_all,
                                         .finish = finish};
