/* One file from a URL to a path, by libcurl: http, https and file.
 *
 * During the transfer the file is path.part. When a transfer breaks (the server dies, the connection
 * stalls, the user presses Ctrl-C) the part stays, and the next attempt, of this call or of a later
 * one, requests the rest only:
 *
 *   Range: bytes=N-         always
 *   If-Range: "etag"        if path.part.tag has the ETag that this server sent last time; a
 *                           server that has another file by now sends all of it
 *
 * Without such a tag the rest is requested only if the SHA-256 is known, which detects pieces that do
 * not fit. A server that ignores the range sends everything, and the part starts anew.
 * The file gets its name when its length and SHA-256 are right; a wrong one is removed.
 *
 * A transfer has broken, too, if over stall_seconds it brings less than the least rate: a server that
 * trickles would hold a program for days otherwise.
 *
 * Called by fetch.c. One session per thread. A build without libcurl (PATHGCN_FETCH=OFF) has
 * offline/download.c in its place. */
#include "data/registry.h"

#include <curl/curl.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNECT_SECONDS = 30,
    MOST_REDIRECTIONS = 10,
    TAG_BYTES = 512,
};
#define MOST_BYTES  ((int64_t)1 << 36) /* of a file whose length is not known */
#define MOST_PAUSE  60.0
#define WAIT_SLICE  0.05 /* seconds between two calls of `progress` */
#define EXTRA_BYTES 16   /* for ".part.tag" after a path */

struct pgcn_i_session {
    CURL *curl;
};

typedef struct transfer {
    CURL *curl;
    const char *url, *path;
    const pgcn_i_remote_file *expected;
    const pgcn_i_download_opts *opts;
    pgcn_i_download_result *result;
    char part[PGCN_I_PATH_BYTES + EXTRA_BYTES], tag_path[PGCN_I_PATH_BYTES + EXTRA_BYTES];
    char tag[TAG_BYTES]; /* ETag or Last-Modified of the part; "": not known */
    int descriptor;      /* of the part */
    int64_t bytes;       /* in the part */
    int64_t total;       /* of the whole file, 0: not known */
    /* of the request under way */
    int64_t asked_from; /* first byte requested */
    int64_t range_from; /* first byte of the answer by its Content-Range, -1: none */
    char new_tag[TAG_BYTES];
    bool body_begun, wrong_range, too_long, joined; /* joined: the part has several pieces */
    int disk_error;                                 /* errno of a failed write */
    double window_begin;  /* of the seconds over which the rate is taken */
    int64_t window_bytes; /* that were in the part then */
    double slow_rate;     /* rate in bytes per second at which it was given up, -1: it was not */
    char curl_text[CURL_ERROR_SIZE];
} transfer;

/* ---- the session ----------------------------------------------------------------------------- */

static CURLcode global_status;
static void start_curl(void) {
    global_status = curl_global_init(CURL_GLOBAL_DEFAULT);
}

pgcn_status pgcn_i_session_new(pgcn_i_session **out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_curl);
    if (global_status != CURLE_OK)
        return pgcn_i_fail(PGCN_ERR_SYSTEM, "libcurl cannot start: %s",
                           curl_easy_strerror(global_status));
    pgcn_i_session *session = pgcn_i_alloc(1, sizeof *session);
    if (!session) return PGCN_ERR_MEMORY;
    session->curl = curl_easy_init();
    if (!session->curl) {
        pgcn_i_free(session);
        return pgcn_i_fail(PGCN_ERR_MEMORY, "out of memory while starting libcurl");
    }
    *out = session;
    return PGCN_OK;
}

void pgcn_i_session_free(pgcn_i_session *session) {
    if (!session) return;
    curl_easy_cleanup(session->curl);
    pgcn_i_free(session);
}

/* ---- checking -------------------------------------------------------------------------------- */

static void remove_part(transfer *t) {
    unlink(t->part);
    unlink(t->tag_path);
    t->tag[0] = '\0';
}

/* The server has sent everything: checks whether the part is the expected file. */
static pgcn_status check_part(transfer *t) {
    int64_t bytes;
    char hex[65];
    PGCN_TRY(pgcn_i_file_measure(t->part, t->expected, &bytes, hex));
    const char *changed =
        "; it was removed: the file at this address has changed, or it is another file";
    if (t->expected->bytes > 0 && bytes != t->expected->bytes) {
        remove_part(t);
        return pgcn_i_fail(PGCN_ERR_FORMAT, "what came from %s has %lld bytes, expected %lld%s",
                           t->url, (long long)bytes, (long long)t->expected->bytes, changed);
    }
    if (strcmp(hex, t->expected->sha256) != 0) {
        remove_part(t);
        return pgcn_i_fail(PGCN_ERR_FORMAT, "what came from %s has SHA-256 %s, expected %s%s",
                           t->url, hex, t->expected->sha256, changed);
    }
    return PGCN_OK;
}

/* ---- the part -------------------------------------------------------------------------------- */

static pgcn_status disk_failed(transfer *t, const char *doing, const char *path) {
    int error = errno;
    t->result->disk = true;
    return pgcn_i_fail(PGCN_ERR_IO, "cannot download %s: %s '%s': %s", t->url, doing, path,
                       pgcn_system_error(error));
}

static pgcn_status open_part(transfer *t) {
    struct stat about;
    t->descriptor = open(t->part, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (t->descriptor < 0) return disk_failed(t, "creating", t->part);
    if (fstat(t->descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
        errno = EINVAL;
        return disk_failed(t, "creating", t->part);
    }
    t->bytes = (int64_t)about.st_size;
    if (t->expected->bytes > 0 && t->bytes > t->expected->bytes) {
        if (ftruncate(t->descriptor, 0) != 0) return disk_failed(t, "writing", t->part);
        t->bytes = 0;
    }
    return PGCN_OK;
}

/* The tag file has two lines: the URL, and the validator this server gave. */
static void recall_tag(transfer *t) {
    char line[2][2 * PGCN_I_PATH_BYTES];
    FILE *file = fopen(t->tag_path, "re");
    if (!file) return;
    if (fgets(line[0], sizeof line[0], file) && fgets(line[1], TAG_BYTES, file)) {
        line[0][strcspn(line[0], "\n")] = '\0';
        line[1][strcspn(line[1], "\n")] = '\0';
        if (strcmp(line[0], t->url) == 0) memcpy(t->tag, line[1], TAG_BYTES);
    }
    fclose(file);
}

/* Only after a broken transfer: a file received in one piece needs no tag. A failure is harmless:
 * then the SHA-256 is checked, or the transfer starts anew. */
static void keep_tag(const transfer *t) {
    FILE *file = t->tag[0] ? fopen(t->tag_path, "we") : NULL;
    if (!file) {
        unlink(t->tag_path);
        return;
    }
    fprintf(file, "%s\n%s\n", t->url, t->tag);
    fclose(file);
}

static void start_again(transfer *t) {
    if (ftruncate(t->descriptor, 0) != 0) t->disk_error = errno;
    t->bytes = 0;
    t->joined = false;
}

/* ---- the rate -------------------------------------------------------------------------------- */

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void begin_window(transfer *t, double now) {
    t->window_begin = now;
    t->window_bytes = t->bytes;
}

/* Whether the transfer is fast enough. libcurl's own limit considers the last five seconds only, so
 * an occasional burst passes; this one takes the mean. */
static bool is_fast_enough(transfer *t) {
    double now = seconds_now(), seconds = now - t->window_begin;
    if (seconds < t->opts->stall_seconds) return true;
    int64_t came = t->bytes - t->window_bytes;
    double rate = (double)came / seconds;
    if (came <= 0 || rate < t->opts->least_rate) t->slow_rate = rate;
    begin_window(t, now);
    return t->slow_rate < 0;
}

/* ---- what libcurl calls ---------------------------------------------------------------------- */

/* The value of a header line, without blanks around it, if the line is of this name. */
static bool header_value(const char *line, size_t length, const char *name, char out[TAG_BYTES]) {
    size_t name_length = strlen(name);
    if (length <= name_length || line[name_length] != ':' ||
        strncasecmp(line, name, name_length) != 0)
        return false;
    const char *from = line + name_length + 1, *to = line + length;
    while (from < to && (*from == ' ' || *from == '\t')) from++;
    while (to > from && (unsigned char)to[-1] <= ' ') to--;
    if (to - from >= TAG_BYTES || memchr(from, '\n', (size_t)(to - from))) return false;
    memcpy(out, from, (size_t)(to - from));
    out[to - from] = '\0';
    return true;
}

/* The first byte of a Content-Range "bytes 100-199/200"; -1: it is not of this form. */
static int64_t range_start(const char *value) {
    static const char unit[] = "bytes ";
    int64_t start;
    if (strncmp(value, unit, strlen(unit)) != 0) return -1;
    const char *at = value + strlen(unit);
    return pgcn_i_parse_i64(&at, &start) && *at == '-' ? start : -1;
}

static size_t on_header(char *line, size_t size, size_t count, void *context) {
    transfer *t = context;
    size_t length = size * count;
    char value[TAG_BYTES];
    if (length > 5 && memcmp(line, "HTTP/", 5) == 0) { /* also of the answer after a redirection */
        t->new_tag[0] = '\0';
        t->range_from = -1;
    } else if (header_value(line, length, "ETag", value)) {
        if (value[0] == '"') memcpy(t->new_tag, value, TAG_BYTES); /* not a weak tag */
    } else if (header_value(line, length, "Last-Modified", value)) {
        if (!t->new_tag[0]) memcpy(t->new_tag, value, TAG_BYTES);
    } else if (header_value(line, length, "Content-Range", value)) {
        t->range_from = range_start(value);
    }
    return length;
}

/* The first bytes of a good answer: decides whether it is the rest or the complete file. */
static bool begin_body(transfer *t) {
    long code = 0;
    curl_off_t length = -1;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_getinfo(t->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    t->body_begun = true;
    memcpy(t->tag, t->new_tag, TAG_BYTES);
    if (code == 206 && t->range_from != t->asked_from) {
        t->wrong_range = true;
        return false;
    }
    if (code == 206 && t->asked_from > 0)
        t->joined = true;
    else
        start_again(t);
    t->total = length >= 0 ? t->bytes + (int64_t)length : 0;
    begin_window(t, seconds_now());
    return t->disk_error == 0;
}

static size_t on_body(char *data, size_t size, size_t count, void *context) {
    transfer *t = context;
    int64_t length = (int64_t)(size * count);
    int64_t most = t->expected->bytes > 0 ? t->expected->bytes : MOST_BYTES;
    if (!t->body_begun && !begin_body(t)) return 0;
    t->result->downloaded += length;
    if (length > most - t->bytes) {
        t->too_long = true;
        return 0;
    }
    for (int64_t done = 0; done < length;) {
        ssize_t put = pwrite(t->descriptor, data + done, (size_t)(length - done), t->bytes);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            t->disk_error = errno;
            return 0;
        }
        done += put;
        t->bytes += put;
    }
    return (size_t)length;
}

/* Whether to continue the transfer. */
static bool report(transfer *t, bool waiting) {
    int64_t total = t->expected->bytes > 0 ? t->expected->bytes : t->total;
    if (t->opts->progress &&
        !t->opts->progress(t->opts->context, t->bytes, total, t->result->attempts, waiting))
        t->result->stopped = true;
    return !t->result->stopped;
}

static int on_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t up_total,
                       curl_off_t up_now) {
    (void)total, (void)now, (void)up_total, (void)up_now;
    return report(context, false) && is_fast_enough(context) ? 0 : 1;
}

/* ---- one request ----------------------------------------------------------------------------- */

static bool begins(const char *text, const char *with) {
    return strncasecmp(text, with, strlen(with)) == 0;
}

/* Protocols that a redirection may use: never a local file, never http after https. */
static void limit_protocols(CURL *curl, const char *url) {
    bool https = begins(url, "https:");
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https,file");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, https ? "https" : "http,https");
#else
    long all = CURLPROTO_HTTP | CURLPROTO_HTTPS;
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, all | CURLPROTO_FILE);
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, https ? (long)CURLPROTO_HTTPS : all);
#endif
}

static void set_options(transfer *t) {
    CURL *curl = t->curl;
    curl_easy_reset(curl);
    limit_protocols(curl, t->url);
    curl_easy_setopt(curl, CURLOPT_URL, t->url);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "pathgcn/" PGCN_VERSION);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)MOST_REDIRECTIONS);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, t->curl_text);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, t);
}

/* Sends one request and takes its answer. */
static CURLcode request(transfer *t) {
    char range[32], condition[TAG_BYTES + 16];
    struct curl_slist *headers = NULL;
    bool network = !begins(t->url, "file:"); /* a local file is read from the start */
    t->asked_from = network && (t->tag[0] || *t->expected->sha256) ? t->bytes : 0;
    t->range_from = -1;
    t->new_tag[0] = t->curl_text[0] = '\0';
    t->body_begun = t->wrong_range = false;
    t->slow_rate = -1;
    begin_window(t, seconds_now());
    set_options(t);
    if (t->asked_from > 0) {
        snprintf(range, sizeof range, "%lld-", (long long)t->asked_from);
        curl_easy_setopt(t->curl, CURLOPT_RANGE, range);
        snprintf(condition, sizeof condition, "If-Range: %s", t->tag);
        if (t->tag[0]) headers = curl_slist_append(NULL, condition);
        curl_easy_setopt(t->curl, CURLOPT_HTTPHEADER, headers);
    }
    CURLcode code = curl_easy_perform(t->curl);
    if (code == CURLE_OK && !t->body_begun) begin_body(t); /* an empty file */
    curl_slist_free_all(headers);
    return code;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static long http_code(const transfer *t) {
    long code = 0;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    return code;
}

/* Whether repeating the request may help. */
static bool may_pass(const transfer *t, CURLcode code) {
    if (t->slow_rate >= 0) return true;
    switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return true;
    case CURLE_WRITE_ERROR: return t->wrong_range;
    case CURLE_HTTP_RETURNED_ERROR: break;
    default: return false;
    }
    switch (http_code(t)) {
    case 408:
    case 416: /* the part is longer than the file by now: it was removed */
    case 425:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504: return true;
    default: return false;
    }
}

static pgcn_status http_failed(transfer *t) {
    long code = http_code(t);
    t->result->not_found = code == 404 || code == 410;
    const char *meaning = t->result->not_found         ? "the server has no such file"
                          : code == 401 || code == 403 ? "the server does not give it away"
                          : code == 429 || code / 100 == 5
                              ? "the server is busy or broken, try later"
                              : "the server refuses";
    return pgcn_i_fail(PGCN_ERR_IO, "cannot download %s: %s (HTTP status %ld)", t->url, meaning,
                       code);
}

static pgcn_status given_up(const transfer *t, const char *found) {
    int attempts = t->result->attempts;
    return pgcn_i_fail(PGCN_ERR_IO,
                       "cannot download %s: %s; %d attempt%s made, %lld bytes are here", t->url,
                       found, attempts, attempts == 1 ? " was" : "s were", (long long)t->bytes);
}

static pgcn_status too_slow(transfer *t) {
    char found[160];
    double seconds = t->opts->stall_seconds;
    if (t->slow_rate > 0)
        snprintf(found, sizeof found,
                 "it came at %.0f bytes per second over %g seconds, expected at least %.0f "
                 "(--least-rate)",
                 t->slow_rate, seconds, t->opts->least_rate);
    else
        snprintf(found, sizeof found, "nothing came for %g seconds", seconds);
    t->result->no_answer = true; /* the next file would be slow too */
    return given_up(t, found);
}

/* The error of a transfer that is given up. */
static pgcn_status transfer_failed(transfer *t, CURLcode code) {
    const char *text = t->curl_text[0] ? t->curl_text : curl_easy_strerror(code), *meaning;
    if (t->result->stopped)
        return pgcn_i_fail(PGCN_ERR_IO,
                           "stopped while downloading %s; %lld bytes are kept, the next call goes "
                           "on from there",
                           t->url, (long long)t->bytes);
    if (t->disk_error) {
        errno = t->disk_error;
        return disk_failed(t, "writing", t->part);
    }
    if (t->slow_rate >= 0) return too_slow(t);
    switch (code) {
    case CURLE_HTTP_RETURNED_ERROR: return http_failed(t);
    case CURLE_OUT_OF_MEMORY:
        return pgcn_i_fail(PGCN_ERR_MEMORY, "out of memory while downloading %s", t->url);
    case CURLE_FILE_COULDNT_READ_FILE:
        t->result->not_found = true;
        meaning = "there is no such file, or it cannot be read";
        break;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        t->result->no_answer = true;
        meaning =
            "this name is not found; is there a network, or a proxy to be named in https_proxy?";
        break;
    case CURLE_COULDNT_CONNECT:
        t->result->no_answer = true;
        meaning = "nobody answers there";
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        t->result->no_answer = true;
        meaning =
            "the server cannot prove who it is; is the clock right, is ca-certificates installed?";
        break;
    case CURLE_UNSUPPORTED_PROTOCOL:
        meaning = "it is, or leads to, neither http nor https, or leads from https to http, and is "
                  "not followed";
        break;
    case CURLE_TOO_MANY_REDIRECTS: meaning = "it is redirected in circles"; break;
    case CURLE_OPERATION_TIMEDOUT: meaning = "it takes too long to connect"; break;
    case CURLE_URL_MALFORMAT: meaning = "this is no URL"; break;
    default: meaning = "the transfer broke off"; break;
    }
    char found[CURL_ERROR_SIZE + 160];
    snprintf(found, sizeof found, "%s (%s)", meaning, text);
    return given_up(t, found);
}

/* ---- attempts -------------------------------------------------------------------------------- */

/* Twice as long each time, or as long as the server asks for. */
static void wait_before_next(transfer *t) {
    curl_off_t wanted = 0;
    double pause = t->opts->pause_seconds;
    for (int i = 1; i < t->result->attempts && pause < MOST_PAUSE; i++) pause *= 2;
    curl_easy_getinfo(t->curl, CURLINFO_RETRY_AFTER, &wanted);
    if (t->opts->pause_seconds > 0 && (double)wanted > pause) pause = (double)wanted;
    if (pause > MOST_PAUSE) pause = MOST_PAUSE;
    double end = seconds_now() + pause;
    while (report(t, true) && seconds_now() < end)
        nanosleep(&(struct timespec){.tv_nsec = (long)(WAIT_SLICE * 1e9)}, NULL);
}

/* Prepares the part for the next request, according to the last answer. */
static void after_failure(transfer *t, CURLcode code) {
    if (t->wrong_range || (code == CURLE_HTTP_RETURNED_ERROR && http_code(t) == 416)) {
        t->tag[0] = '\0';
        start_again(t);
    }
    keep_tag(t);
}

/* Without a Content-Length, a broken connection looks like a complete file. */
static bool is_cut_short(const transfer *t) {
    return t->expected->bytes > 0 && t->bytes < t->expected->bytes && t->total == 0;
}

/* Requests until the part is complete or the retries are used up. */
static pgcn_status bring(transfer *t) {
    for (int left = t->opts->retries;; left--) {
        t->result->attempts++;
        CURLcode code = request(t);
        if (code == CURLE_OK && t->disk_error == 0) {
            if (!is_cut_short(t)) return PGCN_OK;
            code = CURLE_PARTIAL_FILE;
        }
        after_failure(t, code);
        if (t->too_long) {
            remove_part(t);
            return pgcn_i_fail(
                PGCN_ERR_FORMAT,
                "what comes from %s has more than the %lld bytes expected; it was "
                "removed: the file at this address has changed, or it is another file",
                t->url, (long long)(t->expected->bytes > 0 ? t->expected->bytes : MOST_BYTES));
        }
        if (t->result->stopped || t->disk_error || left <= 0 || !may_pass(t, code))
            return transfer_failed(t, code);
        wait_before_next(t);
        if (t->result->stopped) return transfer_failed(t, code);
    }
}

/* Downloads the file and checks it; if pieces do not fit together, downloads it once more in one
 * piece. */
static pgcn_status bring_checked(transfer *t) {
    bool complete =
        t->expected->bytes > 0 && t->bytes == t->expected->bytes && *t->expected->sha256;
    t->joined = complete;
    if (!complete) PGCN_TRY(bring(t));
    bool again = t->joined;
    pgcn_status status = check_part(t);
    if (status != PGCN_ERR_FORMAT || !again) return status;
    close(t->descriptor);
    PGCN_TRY(open_part(t));
    PGCN_TRY(bring(t));
    return check_part(t);
}

static pgcn_status finish(transfer *t) {
    if (fsync(t->descriptor) != 0 && errno != EINVAL) return disk_failed(t, "writing", t->part);
    if (rename(t->part, t->path) != 0) return disk_failed(t, "renaming", t->part);
    unlink(t->tag_path);
    return PGCN_OK;
}

pgcn_status pgcn_i_download(pgcn_i_session *session, const char *url, const char *path,
                            const pgcn_i_remote_file *expected, const pgcn_i_download_opts *opts,
                            pgcn_i_download_result *result) {
    transfer t = {.curl = session->curl,
                  .url = url,
                  .path = path,
                  .expected = expected,
                  .opts = opts,
                  .result = result,
                  .descriptor = -1};
    *result = (pgcn_i_download_result){0};
    if (strlen(path) >= PGCN_I_PATH_BYTES)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "the path '%.100s...' is longer than %d bytes", path,
                           PGCN_I_PATH_BYTES - 1);
    snprintf(t.part, sizeof t.part, "%s.part", path);
    snprintf(t.tag_path, sizeof t.tag_path, "%s.part.tag", path);
    pgcn_status status = open_part(&t);
    if (status == PGCN_OK) {
        if (t.bytes > 0) recall_tag(&t);
        status = bring_checked(&t);
    }
    if (status == PGCN_OK) status = finish(&t);
    if (t.descriptor >= 0) close(t.descriptor);
    if (status != PGCN_OK && t.bytes == 0) remove_part(&t); /* nothing to continue from */
    return status;
}
