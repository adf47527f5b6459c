/* The module for MPI, pathgcn_mpi.so: the one file that knows MPI. src/base/comm.c opens it where a launcher has
 * started several ranks, so that nothing else of pathgcn needs MPI, when it is built or when it runs.
 *
 * Every wait looks at the clock: MPI itself would wait for a rank that hangs without an end. */
#include "base/comm.h"

#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    TAG = 1,
    MOST_BYTES = 1 << 30, /* of one message: MPI counts in int */
    LONG_BYTES = 4 << 20, /* of a message that may wait for the other side's word before it goes, */
    EAGER_BYTES = 48 << 10, /* and of one that goes at once on most networks */
    ABORT_SECONDS = 5,      /* that MPI has for ending all ranks */
    SPINS = 300,            /* before the core is given to others, */
    YIELDS = 600,           /* and before this thread sleeps */
};

static MPI_Comm ranks = MPI_COMM_NULL;
static bool started_here;

/* ---- leaving, whatever MPI does ------------------------------------------------------------------- */

static volatile sig_atomic_t exit_code;
static char stuck[PGCN_I_HOST_BYTES + 120]; /* said before leaving; "": all was said */

static void leave_at_once(int signal) {
    (void)signal;
    ssize_t written = write(STDERR_FILENO, stuck, strlen(stuck));
    _exit(written < 0 ? 1 : exit_code);
}

/* MPI_Abort asks a daemon, and where the network is gone it may wait for the answer without an end. Then this rank ends
 * by itself, and its launcher ends the others that it still reaches. */
static void end_all(int code) {
    exit_code = code;
    stuck[0] = '\0';
    signal(SIGALRM, leave_at_once);
    alarm(ABORT_SECONDS);
    MPI_Abort(ranks, code);
}

/* MPI may also stay in a call that should only have a look: where it finds by itself that the network is gone, it ends
 * the job, and waits for its daemon there. Nobody looks at the clock then, so an alarm does. Between watch and unwatch
 * SIGALRM is ours. */
static struct sigaction before_watch;

static void watch(double seconds) {
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = leave_at_once}, &before_watch);
    exit_code = 1;
    alarm((unsigned)seconds + 1 + ABORT_SECONDS);
}

static void unwatch(void) {
    alarm(0);
    sigaction(SIGALRM, &before_watch, NULL);
}

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
    snprintf(stuck, sizeof stuck, "pathgcn: rank %d (%s) ends: MPI hangs within a call\n", *rank,
             host);
    return true;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- messages -------------------------------------------------------------------------------------- */

/* Requests of a queue, and whom each is with. */
typedef struct pending {
    MPI_Request *request;
    int *peer;
    int capacity, count;
    int next; /* those before are done */
} pending;
static pending queues[PGCN_I_QUEUES];

static void make_room(pending *of) {
    if (of->count < of->capacity) return;
    of->capacity = 2 * of->capacity + 16;
    of->request = realloc(of->request, (size_t)of->capacity * sizeof(MPI_Request));
    of->peer = realloc(of->peer, (size_t)of->capacity * sizeof(int));
    if (!of->request || !of->peer) {
        fprintf(stderr, "pathgcn: out of memory for the messages of MPI\n");
        end_all(1);
    }
}

/* A message in pieces, the same ones on both sides. MPI asks the receiver before it sends a long one. Where both sides
 * compute meanwhile, and the line is full of other messages, the answer takes long; so what is not too long goes in
 * pieces that MPI sends without asking. */
static void post_one(pending *of, const pgcn_i_message *message) {
    const bool asks = of == &queues[PGCN_I_AT_ONCE] || message->bytes > LONG_BYTES;
    const int64_t most = asks ? MOST_BYTES : EAGER_BYTES;
    char *data = message->data;
    for (int64_t at = 0; at < message->bytes; at += most) {
        int64_t left = message->bytes - at;
        int bytes = (int)(left < most ? left : most);
        make_room(of);
        MPI_Request *request = &of->request[of->count];
        if (message->sends)
            MPI_Isend(data + at, bytes, MPI_BYTE, message->peer, TAG, ranks, request);
        else
            MPI_Irecv(data + at, bytes, MPI_BYTE, message->peer, TAG, ranks, request);
        of->peer[of->count++] = message->peer;
    }
}

static void post(pgcn_i_queue queue, const pgcn_i_message *message, int count) {
    for (int i = 0; i < count; i++) post_one(&queues[queue], &message[i]);
}

/* Whether the next request of a queue is done. All others of this rank go on meanwhile. */
static bool test_next(pending *of) {
    int done = 0;
    MPI_Test(&of->request[of->next], &done, MPI_STATUS_IGNORE);
    if (done) of->next++;
    return done;
}

static void progress(void) {
    pending *of = &queues[PGCN_I_MEANWHILE];
    while (of->next < of->count && test_next(of)) {
    }
}

static void wait_a_little(int64_t turns) {
    if (turns > SPINS + YIELDS)
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    else if (turns > SPINS)
        sched_yield();
}

/* Waits for the next request of a queue; whether it came. */
static bool await_next(pending *of, double begin, double seconds) {
    bool watched = false, in_time = true, done = false;
    for (int64_t turns = 0; in_time && !(done = test_next(of)); turns++) {
        wait_a_little(turns);
        if (turns == SPINS && seconds > 0) watch(seconds), watched = true;
        if (turns % 256 == 255 && seconds > 0) in_time = now() - begin <= seconds;
    }
    if (watched) unwatch();
    return done;
}

/* Requests are waited for one after the other. */
static int await(pgcn_i_queue queue, double seconds) {
    pending *of = &queues[queue];
    double begin = now();
    while (of->next < of->count) {
        if (!await_next(of, begin, seconds)) return of->peer[of->next];
        if (seconds > 0 && of->next % 16 == 0) begin = now(); /* somebody answered */
    }
    of->count = of->next = 0;
    return PGCN_I_NO_RANK;
}

static int waiting(void) {
    int found = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG, ranks, &found, &status);
    return found ? status.MPI_SOURCE : PGCN_I_NO_RANK;
}

static void finish(void) {
    for (int i = 0; i < PGCN_I_QUEUES; i++) {
        free(queues[i].request);
        free(queues[i].peer);
    }
    memset(queues, 0, sizeof queues);
    MPI_Comm_free(&ranks);
    if (started_here) MPI_Finalize();
}

__attribute__((visibility("default"))) extern const pgcn_i_transport pgcn_transport;
const pgcn_i_transport pgcn_transport = {.version = PGCN_I_TRANSPORT_VERSION,
                                         .start = start,
                                         .post = post,
                                         .progress = progress,
                                         .await = await,
                                         .waiting = waiting,
                                         .abort = end_all,
                                         .finish = finish};
