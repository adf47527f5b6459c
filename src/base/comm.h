/* Ranks: several processes, maybe on several machines, that work on one training. A dozen calls over one, the exchange
 * of messages, which a module offers (src/mpi); alone nothing is exchanged and nothing is waited for. Messages may also
 * be posted, and go on while the rank computes, until it asks for them.
 *
 * All ranks make the same calls in the same order. A call that fails says so once: from then on all calls do nothing,
 * and whoever began the work sees it in pgcn_i_comm_status(). Only one thread calls. */
#ifndef PGCN_COMM_H
#define PGCN_COMM_H

#include "base/base.h"

/* Bytes for a rank, or from it. */
typedef struct pgcn_i_message {
    int peer;
    bool sends;
    void *data;
    int64_t bytes;
} pgcn_i_message;

/* Those that are waited for at once, and those that go on while the rank computes. */
typedef enum pgcn_i_queue { PGCN_I_AT_ONCE, PGCN_I_MEANWHILE, PGCN_I_QUEUES } pgcn_i_queue;

/* What a module has to offer, as the constant `pgcn_transport`. Sentences are for users. */
enum { PGCN_I_TRANSPORT_VERSION = 3, PGCN_I_NO_RANK = -1, PGCN_I_HOST_BYTES = 128 };
typedef struct pgcn_i_transport {
    int version;
    /* Joins the others; false: `error` says why not. */
    bool (*start)(int *rank, int *size, char host[PGCN_I_HOST_BYTES], char *error, size_t bytes);
    /* Begins to send and to receive. Messages of two ranks arrive in the order in which each posts its side of them,
     * whatever their queue. Their data stays where it is until they are done. */
    void (*post)(pgcn_i_queue queue, const pgcn_i_message *message, int count);
    /* Lets all that is posted go on, and does not wait: many networks move nothing while nobody calls. */
    void (*progress)(void);
    /* Waits for all messages of a queue. A rank that has not answered within `seconds` (0: no limit) is returned, or
     * PGCN_I_NO_RANK when all is done. */
    int (*await)(pgcn_i_queue queue, double seconds);
    /* A rank whose message has come and was not asked for yet, or PGCN_I_NO_RANK. */
    int (*waiting)(void);
    /* Ends the processes of all ranks, this one too. */
    void (*abort)(int code);
    void (*finish)(void);
} pgcn_i_transport;

/* What a network is waited for. */
typedef struct pgcn_i_rounds {
    int64_t exchanges; /* calls in which something was sent or came in, but for those of relays */
    int64_t relays, relayed; /* sums in the order of the ranks, and their bytes */
} pgcn_i_rounds;

/* Between its orders rank 0 writes files and calls functions of the user's. While something is open that they belong
 * to, the others wait for the next order this many times longer than within a step; otherwise without a limit. */
enum { PGCN_I_LEADER_TIMES = 4 };

typedef struct pgcn_i_comm {
    int rank, size;
    char host[PGCN_I_HOST_BYTES];
    const pgcn_i_transport *transport; /* NULL: alone */
    double patience;                   /* seconds; 0: any time */
    const char *go_on; /* what to do when a rank is lost, for users; NULL: that of a training */
    pgcn_status status;
    int64_t sent, received; /* bytes so far */
    pgcn_i_rounds rounds;
    double waited; /* seconds in calls of the transport */
    int posted;    /* messages that nobody has waited for yet */
    pgcn_i_message *message;
    int capacity;
} pgcn_i_comm;

/* That of the process: of one rank until pgcn_i_comm_join(). */
pgcn_i_comm *pgcn_i_comm_world(void);
/* What the environment of a launcher says; a size of 1 without one. */
void pgcn_i_comm_expected(int *rank, int *size);
/* Opens the module, and joins the other ranks if a launcher has started any. */
pgcn_status pgcn_i_comm_join(pgcn_i_comm *comm);
/* Takes a transport that has been opened: for tests. */
pgcn_status pgcn_i_comm_start(pgcn_i_comm *comm, const pgcn_i_transport *transport);
void pgcn_i_comm_leave(pgcn_i_comm *comm);
/* Ends all ranks; returns only where there is but one. */
void pgcn_i_comm_abort(pgcn_i_comm *comm, int code);

static inline bool pgcn_i_comm_alone(const pgcn_i_comm *comm) {
    return !comm || comm->size == 1;
}
/* Groups of rows are divided among ranks: each has a run of them. The first one of a rank; */
static inline int64_t pgcn_i_first_group(int64_t groups, int rank, int ranks) {
    return (rank * groups + ranks - 1) / ranks;
}
/* and the rows of this rank's. */
static inline pgcn_i_range pgcn_i_groups_share(pgcn_i_blocks groups, const pgcn_i_comm *comm) {
    int64_t first = pgcn_i_first_group(groups.count, comm->rank, comm->size) * groups.size;
    int64_t end = pgcn_i_first_group(groups.count, comm->rank + 1, comm->size) * groups.size;
    return (pgcn_i_range){first < groups.rows ? first : groups.rows,
                          end < groups.rows ? end : groups.rows};
}
/* The first failure, whose sentence is stored. */
static inline pgcn_status pgcn_i_comm_status(const pgcn_i_comm *comm) {
    return comm ? comm->status : PGCN_OK;
}
/* A failure of this rank's own, in the middle of work that the others wait for. */
void pgcn_i_comm_fail(pgcn_i_comm *comm, pgcn_status status);

/* Gives up a rank that does not answer. */
void pgcn_i_comm_lost(pgcn_i_comm *comm, int rank);

/* Messages of any lengths; those of 0 bytes are left out, on both sides. */
void pgcn_i_comm_exchange(pgcn_i_comm *comm, const pgcn_i_message *message, int count);
/* The same in parts: messages begin, go on at every call, and are done. In between there may be exchanges, and further
 * posts. All together count as one exchange. */
void pgcn_i_comm_post(pgcn_i_comm *comm, const pgcn_i_message *message, int count);
void pgcn_i_comm_progress(pgcn_i_comm *comm);
void pgcn_i_comm_finish(pgcn_i_comm *comm);
/* A rank that has sent something which no exchange has asked for; PGCN_I_NO_RANK: none. Does not wait. */
int pgcn_i_comm_waiting(pgcn_i_comm *comm);
/* mine [size]: a number for every rank; theirs [size]: that of every rank for this one. */
void pgcn_i_comm_swap(pgcn_i_comm *comm, const int64_t *mine, int64_t *theirs);
/* The bytes first[r] .. first[r + 1] - 1 of an array are rank r's; afterwards everybody has all. first [size + 1]. */
void pgcn_i_comm_gather(pgcn_i_comm *comm, void *array, const int64_t *first);
void pgcn_i_comm_broadcast(pgcn_i_comm *comm, void *data, int64_t bytes, int root);
/* Whether it is true of all ranks. */
bool pgcn_i_comm_all(pgcn_i_comm *comm, bool mine);
/* A sum in the order of the ranks: each in turn adds its own to what the one before hands on, chunk by chunk, and all
 * get what the last has. `add` adds to data[begin .. end-1], whatever that holds. */
void pgcn_i_comm_relay(pgcn_i_comm *comm, float *data, int64_t count, int64_t chunk,
                       void (*add)(void *context, float *data, int64_t begin, int64_t end),
                       void *context);

#endif
