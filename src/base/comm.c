/* Ranks: joining them, and calls that are made of one exchange of messages. Nothing here depends on how many ranks
 * there are but the time it takes: sums are made in the order of the ranks, one after the other. */
#define _GNU_SOURCE /* dladdr */
#include "base/comm.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef PGCN_MODULES
#define PGCN_MODULES "" /* where modules are installed */
#endif
#ifndef PGCN_MODULES_FROM_PROGRAM
#define PGCN_MODULES_FROM_PROGRAM "../lib/pathgcn"
#endif

enum { PATIENCE_SECONDS = 300 };

static pgcn_i_comm world = {.rank = 0, .size = 1};

pgcn_i_comm *pgcn_i_comm_world(void) {
    return &world;
}

/* ---- launchers ---------------------------------------------------------------------------------- */

static bool number_of(const char *name, int *out) {
    const char *text = getenv(name);
    char *end;
    if (!text || !*text) return false;
    long value = strtol(text, &end, 10);
    if (*end || value < 0 || value > INT_MAX) return false;
    *out = (int)value;
    return true;
}

/* Open MPI; MPICH, Intel MPI and srun --mpi=pmi2; srun --mpi=pmix, where the step says how many there are. SLURM_NTASKS
 * alone would also be set in a job script that starts a plain program. */
void pgcn_i_comm_expected(int *rank, int *size) {
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (number_of(names[i][0], rank) && number_of(names[i][1], size) && *size > 0) return;
    *rank = 0;
    *size = 1;
}

static const pgcn_i_transport *open_module(const char *path, char *why, size_t bytes) {
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const pgcn_i_transport *transport = module ? dlsym(module, "pgcn_transport") : NULL;
    if (transport && transport->version == PGCN_I_TRANSPORT_VERSION) return transport;
    const char *error = module ? "it is of another version of pathgcn" : dlerror();
    /* of several places the one where there is a file says why */
    if (module || !*why || !strstr(error, "No such file")) snprintf(why, bytes, "%s", error);
    if (module) dlclose(module);
    return NULL;
}

/* Beside the library, or the program, that this function is in; where it was installed; or where the user says. */
static const pgcn_i_transport *find_module(char *why, size_t bytes) {
    static const char file[] = "pathgcn_mpi.so";
    static const char *const beside[] = {"", "pathgcn/", PGCN_MODULES_FROM_PROGRAM "/"};
    const char *named = getenv("PATHGCN_MPI_MODULE");
    char path[PATH_MAX + 128];
    Dl_info here;
    *why = '\0';
    if (named && *named) return open_module(named, why, bytes);
    char program[PATH_MAX] = "";
    bool placed = dladdr((void *)(uintptr_t)&find_module, &here) && here.dli_fname &&
                  strchr(here.dli_fname, '/'); /* a program found in PATH has a bare name */
    if (placed && !realpath(here.dli_fname, program)) *program = '\0';
    if (!*program && !realpath("/proc/self/exe", program)) *program = '\0';
    char *slash = strrchr(program, '/');
    const pgcn_i_transport *found = NULL;
    for (size_t i = 0; slash && !found && i < sizeof beside / sizeof *beside; i++) {
        snprintf(path, sizeof path, "%.*s/%s%s", (int)(slash - program), program, beside[i], file);
        found = open_module(path, why, bytes);
    }
    if (found) return found;
    snprintf(path, sizeof path, "%s/%s", PGCN_MODULES, file);
    return open_module(path, why, bytes);
}

pgcn_status pgcn_i_comm_start(pgcn_i_comm *comm, const pgcn_i_transport *transport) {
    char error[256] = "";
    *comm = (pgcn_i_comm){.size = 1, .patience = PATIENCE_SECONDS};
    const char *seconds = getenv("PATHGCN_MPI_PATIENCE");
    int given;
    if (seconds && *seconds && !number_of("PATHGCN_MPI_PATIENCE", &given))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "PATHGCN_MPI_PATIENCE is '%.40s', expected a whole number of seconds, "
                           "0 for any time",
                           seconds);
    if (seconds && *seconds) comm->patience = given;
    if (!transport->start(&comm->rank, &comm->size, comm->host, error, sizeof error))
        return pgcn_i_fail(PGCN_ERR_SYSTEM, "cannot start MPI: %s", error);
    comm->transport = transport;
    return PGCN_OK;
}

pgcn_status pgcn_i_comm_join(pgcn_i_comm *comm) {
    int rank, size;
    char why[1024];
    pgcn_i_comm_expected(&rank, &size);
    if (size == 1 || comm->transport) return PGCN_OK;
    const pgcn_i_transport *transport = find_module(why, sizeof why);
    if (!transport)
        return pgcn_i_fail(
            PGCN_ERR_SYSTEM,
            "%d ranks were started, but the module for MPI, pathgcn_mpi.so, cannot be "
            "opened: %s; build pathgcn where MPI is installed (Debian: libopenmpi-dev), "
            "or name the file in PATHGCN_MPI_MODULE",
            size, why);
    PGCN_TRY(pgcn_i_comm_start(comm, transport));
    if (comm->size == size) return PGCN_OK;
    int found = comm->size;
    pgcn_i_comm_leave(comm);
    return pgcn_i_fail(PGCN_ERR_SYSTEM,
                       "the launcher has started %d ranks, but MPI knows of %d: pathgcn_mpi.so was "
                       "built for another MPI than the launcher's; use the mpirun of that MPI, or "
                       "build pathgcn with this one",
                       size, found);
}

void pgcn_i_comm_leave(pgcn_i_comm *comm) {
    if (comm->transport) comm->transport->finish();
    pgcn_i_free(comm->message);
    *comm = (pgcn_i_comm){.size = 1};
}

void pgcn_i_comm_abort(pgcn_i_comm *comm, int code) {
    if (comm->transport) comm->transport->abort(code);
}

/* ---- the exchange ------------------------------------------------------------------------------- */

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void pgcn_i_comm_fail(pgcn_i_comm *comm, pgcn_status status) {
    if (comm->status == PGCN_OK) comm->status = status;
}

void pgcn_i_comm_lost(pgcn_i_comm *comm, int rank) {
    const char *go_on =
        comm->go_on ? comm->go_on : "the run goes on from its last checkpoint with --resume";
    pgcn_i_comm_fail(
        comm, pgcn_i_fail(PGCN_ERR_SYSTEM,
                          "rank %d has not answered rank %d (%s) for %.0f seconds: its host or "
                          "the network between them hangs; %s (PATHGCN_MPI_PATIENCE sets the "
                          "seconds)",
                          rank, comm->rank, comm->host, comm->patience, go_on));
}

/* Hands messages to the transport, but for those of 0 bytes; returns how many. */
static int post(pgcn_i_comm *comm, pgcn_i_queue queue, const pgcn_i_message *message, int count) {
    if (comm->status != PGCN_OK || count == 0) return 0;
    if (count > comm->capacity) {
        pgcn_i_free(comm->message);
        comm->message = pgcn_i_alloc(count, sizeof *comm->message);
        comm->capacity = comm->message ? count : 0;
        if (!comm->message) comm->status = PGCN_ERR_MEMORY;
    }
    int kept = 0;
    for (int i = 0; i < count && comm->status == PGCN_OK; i++) {
        if (message[i].bytes == 0) continue;
        comm->message[kept++] = message[i];
        *(message[i].sends ? &comm->sent : &comm->received) += message[i].bytes;
    }
    if (kept == 0) return 0;
    double begin = now();
    comm->transport->post(queue, comm->message, kept);
    comm->waited += now() - begin;
    return kept;
}

static void await(pgcn_i_comm *comm, pgcn_i_queue queue) {
    double begin = now();
    int silent = comm->transport->await(queue, comm->patience);
    comm->waited += now() - begin;
    comm->rounds.exchanges++;
    if (silent != PGCN_I_NO_RANK) pgcn_i_comm_lost(comm, silent);
}

void pgcn_i_comm_exchange(pgcn_i_comm *comm, const pgcn_i_message *message, int count) {
    if (post(comm, PGCN_I_AT_ONCE, message, count) > 0) await(comm, PGCN_I_AT_ONCE);
}

void pgcn_i_comm_post(pgcn_i_comm *comm, const pgcn_i_message *message, int count) {
    comm->posted += post(comm, PGCN_I_MEANWHILE, message, count);
}

void pgcn_i_comm_progress(pgcn_i_comm *comm) {
    if (comm->status != PGCN_OK || comm->posted == 0) return;
    double begin = now();
    comm->transport->progress();
    comm->waited += now() - begin;
}

void pgcn_i_comm_finish(pgcn_i_comm *comm) {
    if (comm->status == PGCN_OK && comm->posted > 0) await(comm, PGCN_I_MEANWHILE);
    comm->posted = 0;
}

int pgcn_i_comm_waiting(pgcn_i_comm *comm) {
    bool nobody = !comm->transport || comm->status != PGCN_OK;
    return nobody ? PGCN_I_NO_RANK : comm->transport->waiting();
}

/* ---- what is made of it ------------------------------------------------------------------------- */

/* Two for every other rank; NULL alone, or without memory. */
static pgcn_i_message *messages_for_all(pgcn_i_comm *comm) {
    if (comm->size == 1 || comm->status != PGCN_OK) return NULL;
    pgcn_i_message *message = pgcn_i_alloc(2 * (int64_t)comm->size, sizeof *message);
    if (!message) comm->status = PGCN_ERR_MEMORY;
    return message;
}

static void run_and_free(pgcn_i_comm *comm, pgcn_i_message *message, int count) {
    pgcn_i_comm_exchange(comm, message, count);
    pgcn_i_free(message);
}

void pgcn_i_comm_swap(pgcn_i_comm *comm, const int64_t *mine, int64_t *theirs) {
    pgcn_i_message *message = messages_for_all(comm);
    int count = 0;
    memset(theirs, 0, (size_t)comm->size * sizeof *theirs);
    theirs[comm->rank] = mine[comm->rank];
    if (!message) return;
    for (int r = 0; r < comm->size; r++) {
        if (r == comm->rank) continue;
        message[count++] = (pgcn_i_message){r, true, (void *)(uintptr_t)&mine[r], sizeof *mine};
        message[count++] = (pgcn_i_message){r, false, &theirs[r], sizeof *theirs};
    }
    run_and_free(comm, message, count);
    if (comm->status != PGCN_OK) memset(theirs, 0, (size_t)comm->size * sizeof *theirs);
}

void pgcn_i_comm_gather(pgcn_i_comm *comm, void *array, const int64_t *first) {
    pgcn_i_message *message = messages_for_all(comm);
    int count = 0;
    char *bytes = array;
    if (!message) return;
    for (int i = 1; i < comm->size; i++) { /* not all to the same one at the same time */
        int to = (comm->rank + i) % comm->size, from = (comm->rank + comm->size - i) % comm->size;
        message[count++] = (pgcn_i_message){to, true, bytes + first[comm->rank],
                                            first[comm->rank + 1] - first[comm->rank]};
        message[count++] =
            (pgcn_i_message){from, false, bytes + first[from], first[from + 1] - first[from]};
    }
    run_and_free(comm, message, count);
}

/* A tree: in round i the ranks that have it hand it to those 2^i further on. */
void pgcn_i_comm_broadcast(pgcn_i_comm *comm, void *data, int64_t bytes, int root) {
    int place = (comm->rank - root + comm->size) % comm->size;
    for (int far = 1; far < comm->size; far *= 2) {
        if (place < far && place + far < comm->size) {
            int to = (place + far + root) % comm->size;
            pgcn_i_comm_exchange(comm, &(pgcn_i_message){to, true, data, bytes}, 1);
        } else if (place >= far && place < 2 * far) {
            int from = (place - far + root) % comm->size;
            pgcn_i_comm_exchange(comm, &(pgcn_i_message){from, false, data, bytes}, 1);
        }
    }
}

bool pgcn_i_comm_all(pgcn_i_comm *comm, bool mine) {
    int64_t *number = comm->size > 1 ? pgcn_i_alloc(2 * (int64_t)comm->size, sizeof *number) : NULL;
    bool all = mine;
    if (comm->size > 1 && !number) comm->status = PGCN_ERR_MEMORY;
    for (int r = 0; number && r < comm->size; r++) number[r] = mine;
    if (number) pgcn_i_comm_swap(comm, number, number + comm->size);
    for (int r = 0; number && r < comm->size; r++) all = all && number[comm->size + r];
    pgcn_i_free(number);
    return all && comm->status == PGCN_OK;
}

void pgcn_i_comm_relay(pgcn_i_comm *comm, float *data, int64_t count, int64_t chunk,
                       void (*add)(void *context, float *data, int64_t begin, int64_t end),
                       void *context) {
    int64_t chunks = (count + chunk - 1) / chunk;
    pgcn_i_rounds rounds = comm->rounds;
    /* chunk i comes in while chunk i - 1 goes out */
    for (int64_t i = 0; i <= chunks; i++) {
        int64_t begin = i * chunk, end = begin + chunk < count ? begin + chunk : count;
        pgcn_i_message message[2];
        int messages = 0;
        if (i < chunks && comm->rank > 0)
            message[messages++] = (pgcn_i_message){comm->rank - 1, false, data + begin,
                                                   (end - begin) * (int64_t)sizeof *data};
        if (i > 0 && comm->rank + 1 < comm->size)
            message[messages++] = (pgcn_i_message){
                comm->rank + 1, true, data + begin - chunk,
                ((begin < count ? begin : count) - (begin - chunk)) * (int64_t)sizeof *data};
        pgcn_i_comm_exchange(comm, message, messages);
        if (i < chunks) add(context, data, begin, end);
    }
    pgcn_i_comm_broadcast(comm, data, count * (int64_t)sizeof *data, comm->size - 1);
    comm->rounds = (pgcn_i_rounds){rounds.exchanges, rounds.relays + 1,
                                   rounds.relayed + count * (int64_t)sizeof *data};
}
