/* For the tests of downloads: a server on this machine that gives prepared answers, byte for byte as
 * the test wrote them, and keeps the requests. One connection per answer; when the answers are used
 * up it says 500. Include after cmocka.h. */
#ifndef PGCN_TEST_HTTP_HELP_H
#define PGCN_TEST_HTTP_HELP_H

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HTTP_MOST = 16, HTTP_BYTES = 4096 };

typedef struct http_server {
    int listener, port, answers;
    char answer[HTTP_MOST][HTTP_BYTES];
    size_t answer_bytes[HTTP_MOST];
    double hang_seconds[HTTP_MOST]; /* before the connection is closed */
    int trickle[HTTP_MOST];         /* bytes sent every 20 ms; 0: all at once */
    char request[HTTP_MOST][HTTP_BYTES];
    int requests; /* read it after http_stop() or when the client is done */
    pthread_t thread;
} http_server;

static http_server http; /* of the running test */

static inline void http_serve_one(int connection, int i) {
    char *request = http.request[i];
    size_t used = 0;
    while (used < HTTP_BYTES - 1 && !strstr(request, "\r\n\r\n")) {
        ssize_t got = recv(connection, request + used, HTTP_BYTES - 1 - used, 0);
        if (got <= 0) return;
        used += (size_t)got;
    }
    static const char broken[] = "HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n";
    bool scripted = i < http.answers;
    const char *answer = scripted ? http.answer[i] : broken;
    size_t bytes = scripted ? http.answer_bytes[i] : sizeof broken - 1;
    while (bytes > 0) {
        size_t piece = scripted && http.trickle[i] > 0 ? (size_t)http.trickle[i] : bytes;
        ssize_t put = send(connection, answer, piece < bytes ? piece : bytes, MSG_NOSIGNAL);
        if (put <= 0) return;
        if (piece < bytes) usleep(20000);
        answer += put;
        bytes -= (size_t)put;
    }
    if (scripted && http.hang_seconds[i] > 0) usleep((useconds_t)(http.hang_seconds[i] * 1e6));
}

static inline void *http_run(void *unused) {
    (void)unused;
    while (http.requests < HTTP_MOST) {
        int connection = accept(http.listener, NULL, NULL);
        if (connection < 0) return NULL; /* http_stop() shut the listener down */
        http_serve_one(connection, http.requests);
        shutdown(connection, SHUT_WR);
        close(connection);
        http.requests++;
    }
    return NULL;
}

static inline void http_start(void) {
    memset(&http, 0, sizeof http);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    http.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(http.listener >= 0);
    assert_int_equal(bind(http.listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(http.listener, 16), 0);
    assert_int_equal(getsockname(http.listener, (struct sockaddr *)&address, &length), 0);
    http.port = ntohs(address.sin_port);
}

/* After the answers are given, before the first request. */
static inline void http_go(void) {
    assert_int_equal(pthread_create(&http.thread, NULL, http_run, NULL), 0);
}

static inline void http_stop(void) {
    shutdown(http.listener, SHUT_RDWR);
    pthread_join(http.thread, NULL);
    close(http.listener);
}

/* One answer: the status line and headers (each ends with \r\n), and the body. */
static inline void http_answer(const char *head, const char *body) {
    assert_true(http.answers < HTTP_MOST);
    int length = snprintf(http.answer[http.answers], HTTP_BYTES,
                          "HTTP/1.1 %s\r\nConnection: close\r\n\r\n%s", head, body);
    assert_true(length > 0 && length < HTTP_BYTES);
    http.answer_bytes[http.answers++] = (size_t)length;
}

static inline void assert_requested(int i, const char *text) {
    if (!strstr(http.request[i], text))
        fail_msg("request %d does not have \"%s\":\n%s", i, text, http.request[i]);
}
static inline void assert_not_requested(int i, const char *text) {
    if (strstr(http.request[i], text))
        fail_msg("request %d has \"%s\":\n%s", i, text, http.request[i]);
}

#endif
