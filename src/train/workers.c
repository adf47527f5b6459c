/* Ranks that take jobs: messages between processes that train by themselves. They are no ranks of cluster.c, which share
 * one training: the world of trainers stays this process alone. A message is its length and its bytes. Called by the
 * program, src/experiments. */
#include "base/comm.h"

#include <pathgcn/pathgcn.h>
#include <time.h>

static pgcn_i_comm workers = {.size = 1};

pgcn_status pgcn_workers_join(void) {
    PGCN_TRY(pgcn_i_comm_join(&workers));
    workers.go_on = "the same command goes on with the jobs that are not done";
    return PGCN_OK;
}

int pgcn_workers_count(void) {
    return workers.size;
}
pgcn_status pgcn_workers_status(void) {
    return workers.status;
}
const char *pgcn_ranks_host(void) {
    return workers.transport ? workers.host : pgcn_i_comm_world()->host;
}

static pgcn_status check_rank(int rank) {
    if (rank >= 0 && rank < workers.size && rank != workers.rank) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "there is no other rank %d of %d", rank, workers.size);
}

pgcn_status pgcn_workers_silent(int rank, double seconds) {
    PGCN_TRY(check_rank(rank));
    if (workers.patience > 0 && seconds >= workers.patience) pgcn_i_comm_lost(&workers, rank);
    return workers.status;
}

/* The length, which the other one needs first, and what is that long. */
static void send_message(int rank, const void *bytes, int64_t size) {
    pgcn_i_comm_exchange(&workers, &(pgcn_i_message){rank, true, &size, sizeof size}, 1);
    pgcn_i_comm_exchange(&workers, &(pgcn_i_message){rank, true, (void *)(uintptr_t)bytes, size},
                         1);
}

pgcn_status pgcn_workers_send(int rank, const void *bytes, size_t size) {
    PGCN_I_NEED(bytes);
    PGCN_TRY(check_rank(rank));
    if (size == 0) return pgcn_i_fail(PGCN_ERR_ARGUMENT, "a message has at least one byte");
    send_message(rank, bytes, (int64_t)size);
    return pgcn_i_comm_status(&workers);
}

int pgcn_workers_waiting(void) {
    return pgcn_i_comm_waiting(&workers);
}

/* The others may wait for rank 0 for hours: they sleep, and leave the core to those that compute. */
static void await_rank_0(void) {
    const struct timespec moment = {.tv_nsec = 2000000};
    while (workers.status == PGCN_OK && pgcn_i_comm_waiting(&workers) != 0)
        nanosleep(&moment, NULL);
}

pgcn_status pgcn_workers_receive(int rank, void **bytes, size_t *size) {
    PGCN_I_NEED(bytes);
    PGCN_I_NEED(size);
    PGCN_TRY(check_rank(rank));
    int64_t length = 0;
    *bytes = NULL;
    *size = 0;
    if (rank == 0) await_rank_0();
    pgcn_i_comm_exchange(&workers, &(pgcn_i_message){rank, false, &length, sizeof length}, 1);
    PGCN_TRY(pgcn_i_comm_status(&workers));
    if (length == 0) return PGCN_OK;
    void *room = pgcn_i_alloc(length, 1);
    if (!room) {
        pgcn_i_comm_fail(&workers, PGCN_ERR_MEMORY); /* the message cannot be taken any more */
        return PGCN_ERR_MEMORY;
    }
    pgcn_i_comm_exchange(&workers, &(pgcn_i_message){rank, false, room, length}, 1);
    if (pgcn_i_comm_status(&workers) != PGCN_OK) {
        pgcn_i_free(room);
        return pgcn_i_comm_status(&workers);
    }
    *bytes = room;
    *size = (size_t)length;
    return PGCN_OK;
}

void pgcn_workers_leave(void) {
    if (!workers.transport) return;
    if (workers.rank == 0 && workers.status == PGCN_OK)
        for (int r = 1; r < workers.size; r++) send_message(r, NULL, 0);
    if (pgcn_i_comm_status(&workers) != PGCN_OK) pgcn_i_comm_abort(&workers, 1);
    pgcn_i_comm_leave(&workers);
}
