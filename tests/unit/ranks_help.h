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

/* Goes on with message i as far as the socket allows. */
static void advance(const pgcn_i_message *m, int64_t *done) {
    int socket = sockets[my_rank][m->peer];
    char *at = (char *)m->data + *done;
    size_t left = (size_t)(m->bytes - *done);
    ssize_t moved = m->sends ? send(socket, at, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                             : recv(socket, at, left, MSG_DONTWAIT);
    if (moved > 0) *done += moved;
}

/* Messages of the same peer and direction one after the other. */
static int exchange(const pgcn_i_message *message, int count, double seconds) {
    int64_t done[4 * MOST] = {0};
    double waited = 0;
    for (bool all = false; !all;) {
        all = true;
        for (int i = 0; i < count; i++) {
            bool first = true;
            for (int j = 0; j < i; j++)
                first =
                    first && !(message[j].peer == message[i].peer &&
                               message[j].sends == message[i].sends && done[j] < message[j].bytes);
            if (first && done[i] < message[i].bytes) advance(&message[i], &done[i]);
            all = all && done[i] == message[i].bytes;
            if (!all && seconds > 0 && waited > seconds) return message[i].peer;
        }
        if (!all) poll(NULL, 0, 1);
        waited += 0.001;
    }
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
                                            .exchange = exchange,
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
