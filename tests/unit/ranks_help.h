/* Ranks for tests: processes that talk over sockets in place of MPI. A rank that finds a mistake ends with its line. */
#ifndef PGCN_RANKS_HELP_H
#define PGCN_RANKS_HELP_H

#include "base/comm.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 8 };

/* ---- a transport of sockets ---------------------------------------------------------------------- */

static int sockets[MOST][MOST], my_rank, my_size;

static bool start(int *rank, int *size, char host[PGCN_I_HOST_BYTES], char *error, size_t bytes) {
    (void)error, (void)bytes;
    *rank = my_rank;
    *size = my_size;
    snprintf(host, PGCN_I_HOST_BYTES, "host%d", my_rank);
    return true;
}

/* In the order in which they were posted. */
enum { MOST_POSTED = 1024 };
static struct posted {
    pgcn_i_message message;
    pgcn_i_queue queue;
    int64_t done;
} posted[MOST_POSTED];
static int posted_count;

static void post(pgcn_i_queue queue, const pgcn_i_message *message, int count) {
    for (int i = 0; i < count; i++) {
        if (posted_count == MOST_POSTED) abort();
        posted[posted_count++] = (struct posted){.message = message[i], .queue = queue};
    }
}

static bool is_done(const struct posted *p) {
    return p->done == p->message.bytes;
}

/* Goes on with a message as far as the socket allows. */
static void advance(struct posted *p) {
    const pgcn_i_message *m = &p->message;
    int socket = sockets[my_rank][m->peer];
    char *at = (char *)m->data + p->done;
    size_t left = (size_t)(m->bytes - p->done);
    ssize_t moved = m->sends ? send(socket, at, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                             : recv(socket, at, left, MSG_DONTWAIT);
    if (moved > 0) p->done += moved;
}

/* Messages of the same peer and direction one after the other. */
static void progress(void) {
    for (int i = 0; i < posted_count; i++) {
        const pgcn_i_message *m = &posted[i].message;
        bool first = !is_done(&posted[i]);
        for (int j = 0; j < i && first; j++)
            first = is_done(&posted[j]) || posted[j].message.peer != m->peer ||
                    posted[j].message.sends != m->sends;
        if (first) advance(&posted[i]);
    }
}

static int await(pgcn_i_queue queue, double seconds) {
    double waited = 0;
    for (bool all = false; !all; waited += 0.001) {
        all = true;
        progress();
        for (int i = 0; i < posted_count; i++) {
            all = all && (posted[i].queue != queue || is_done(&posted[i]));
            if (!all && seconds > 0 && waited > seconds) return posted[i].message.peer;
        }
        if (!all) poll(NULL, 0, 1);
    }
    int left = 0;
    for (int i = 0; i < posted_count; i++)
        if (posted[i].queue != queue) posted[left++] = posted[i];
    posted_count = left;
    return PGCN_I_NO_RANK;
}

static int waiting(void) {
    char byte;
    for (int peer = 0; peer < my_size; peer++)
        if (peer != my_rank && recv(sockets[my_rank][peer], &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1)
            return peer;
    return PGCN_I_NO_RANK;
}

static void end_all(int code) {
    _exit(code);
}
static void finish(void) {}

static const pgcn_i_transport by_sockets = {.version = PGCN_I_TRANSPORT_VERSION,
                                            .start = start,
                                            .post = post,
                                            .progress = progress,
                                            .await = await,
                                            .waiting = waiting,
                                            .abort = end_all,
                                            .finish = finish};

/* ---- ranks as processes -------------------------------------------------------------------------- */

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "rank %d of %d: line %d: %s\n", my_rank, my_size, __LINE__,            \
                    #condition);                                                                   \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void on_ranks(int size, void (*work)(pgcn_i_comm *comm)) {
    pid_t process[MOST];
    my_size = size;
    for (int i = 0; i < size; i++)
        for (int j = i + 1; j < size; j++) {
            int pair[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
            sockets[i][j] = pair[0];
            sockets[j][i] = pair[1];
        }
    for (my_rank = 0; my_rank < size; my_rank++) {
        process[my_rank] = fork();
        assert_true(process[my_rank] >= 0);
        if (process[my_rank] > 0) continue;
        pgcn_i_comm comm;
        CHECK(pgcn_i_comm_start(&comm, &by_sockets) == PGCN_OK);
        work(&comm);
        _exit(0);
    }
    for (int i = 0; i < size; i++) {
        int status;
        assert_int_equal(waitpid(process[i], &status, 0), process[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        for (int j = 0; j < size; j++)
            if (j != i) close(sockets[i][j]);
    }
}

#endif
