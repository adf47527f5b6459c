/* What the ranks other than 0 do under `tune` and `reproduce`: one job after the other, in this process, which never
 * forks. Data sets come from rank 0 and stay until it begins another list of jobs. */
#include "experiments/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct server {
    int64_t list;
    exp_data set[EXP_MOST_SENT];
    double said; /* cli_now() when rank 0 last heard from this one */
} server;

static void forget_sets(server *s) {
    for (int i = 0; i < EXP_MOST_SENT; i++) {
        pgcn_dataset_free(s->set[i].data);
        s->set[i] = (exp_data){0};
    }
}

/* ---- data sets ---------------------------------------------------------------------------------- */

static pgcn_status fail(pgcn_status status, const char *what, const char *path, char failure[400]) {
    snprintf(failure, 400, "%s %.300s: %.60s", what, path, pgcn_system_error(errno));
    return status;
}

/* Writes the container to a file that loses its name as soon as it is mapped. */
static pgcn_status load_set(const void *bytes, size_t size, pgcn_dataset **out, char failure[400]) {
    const char *directory = getenv("TMPDIR");
    char path[EXP_PATH_BYTES];
    snprintf(path, sizeof path, "%.4000s/pathgcn-data-XXXXXX",
             directory && *directory ? directory : "/tmp");
    int file = mkstemp(path);
    if (file < 0) return fail(PGCN_ERR_IO, "cannot make a file for the data set,", path, failure);
    size_t done = 0;
    ssize_t now = 1;
    while (done < size && now > 0) {
        now = write(file, (const char *)bytes + done, size - done);
        if (now > 0) done += (size_t)now;
    }
    pgcn_status status = PGCN_OK;
    if (done < size) status = fail(PGCN_ERR_IO, "cannot write the data set to", path, failure);
    close(file);
    if (status == PGCN_OK) {
        status = pgcn_dataset_load(path, NULL, out);
        if (status != PGCN_OK) snprintf(failure, 400, "%.399s", pgcn_last_error());
    }
    unlink(path);
    return status;
}

/* The data set of a task, which is here or comes next. */
static pgcn_status find_set(server *s, const exp_task *task, exp_data **out, char failure[400]) {
    exp_data *set = &s->set[task->set];
    void *bytes = NULL;
    size_t size = 0;
    if (task->list != s->list) forget_sets(s);
    s->list = task->list;
    *out = set;
    if (task->data_bytes == 0) return PGCN_OK;
    pgcn_status status = pgcn_workers_receive(0, &bytes, &size);
    if (status == PGCN_OK) status = load_set(bytes, size, &set->data, failure);
    pgcn_bytes_free(bytes);
    if (status != PGCN_OK) return status;
    memcpy(set->name, task->name, sizeof set->name);
    if (exp_data_hash(set) && strcmp(set->hash, task->hash) == 0) return PGCN_OK;
    snprintf(failure, 400, "the data set %.100s is not what rank 0 has sent", task->name);
    return PGCN_ERR_MISMATCH;
}

/* ---- a job -------------------------------------------------------------------------------------- */

/* Tells rank 0 every second that this one is alive, and hears whether to go on. */
static bool go_on(void *context) {
    server *s = context;
    double now = cli_now();
    if (now - s->said < 1) return true;
    const exp_answer alive = {.tell = EXP_TELL_ALIVE};
    exp_task *reply = NULL;
    size_t size = 0;
    if (pgcn_workers_send(0, &alive, sizeof alive) != PGCN_OK ||
        pgcn_workers_receive(0, (void **)&reply, &size) != PGCN_OK)
        return false;
    bool yes = size == sizeof *reply && reply->say == EXP_SAY_GO_ON;
    pgcn_bytes_free(reply);
    s->said = cli_now();
    return yes;
}

static pgcn_status send_part(const void *bytes, size_t size) {
    return size > 0 ? pgcn_workers_send(0, bytes, size) : PGCN_OK;
}

static pgcn_status send_outcome(const exp_outcome *o) {
    exp_answer a = {.tell = EXP_TELL_RESULT,
                    .status = o->status,
                    .timing = o->timing,
                    .record_bytes = (int64_t)o->record_bytes,
                    .history_bytes = (int64_t)o->history_bytes,
                    .model_bytes = (int64_t)o->model_bytes};
    memcpy(a.failure, o->failure, sizeof a.failure);
    pgcn_status status = pgcn_workers_send(0, &a, sizeof a);
    if (status == PGCN_OK) status = send_part(o->record, o->record_bytes);
    if (status == PGCN_OK) status = send_part(o->history, o->history_bytes);
    if (status == PGCN_OK) status = send_part(o->model, o->model_bytes);
    return status;
}

/* The peak of memory in a record is that of its job, not of those before it. Linux only. */
static void reset_peak(void) {
    int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    (void)!write(file, "5", 1);
    close(file);
}

static pgcn_status send_unable(pgcn_status status, int rank, const char *failure) {
    exp_answer a = {.tell = EXP_TELL_UNABLE, .status = status};
    snprintf(a.failure, sizeof a.failure, "rank %d on %.100s: %.250s", rank, pgcn_ranks_host(),
             failure);
    return pgcn_workers_send(0, &a, sizeof a);
}

static pgcn_status run_task(server *s, const exp_task *task, int rank) {
    char failure[400] = "";
    exp_data *set = NULL;
    pgcn_status status = PGCN_OK;
    if (strcmp(task->version, PGCN_VERSION) != 0) {
        snprintf(failure, sizeof failure, "it is pathgcn %s, and rank 0 is %.15s", PGCN_VERSION,
                 task->version);
        status = PGCN_ERR_MISMATCH;
    }
    if (status == PGCN_OK) status = find_set(s, task, &set, failure);
    if (pgcn_workers_status() != PGCN_OK) return pgcn_workers_status();
    if (status != PGCN_OK) return send_unable(status, rank, failure);
    exp_job job = {.data = set, .config = task->config, .keeps_model = task->keeps_model};
    memcpy(job.key, task->key, sizeof job.key);
    exp_outcome outcome;
    s->said = cli_now();
    reset_peak();
    exp_work(&job, task->say == EXP_SAY_TIME, &(exp_watch){go_on, s}, &outcome);
    status = pgcn_workers_status();
    if (status == PGCN_OK) status = send_outcome(&outcome);
    exp_outcome_free(&outcome);
    return status;
}

pgcn_status exp_ranks_serve(void) {
    server *s = calloc(1, sizeof *s);
    int rank;
    pgcn_ranks_expected(&rank);
    if (!s) return PGCN_ERR_MEMORY;
    pgcn_status status = PGCN_OK;
    for (bool leaves = false; status == PGCN_OK && !leaves;) {
        exp_task *task = NULL;
        size_t size = 0;
        status = pgcn_workers_receive(0, (void **)&task, &size);
        leaves = size == 0;
        if (status == PGCN_OK && !leaves)
            status = size == sizeof *task ? run_task(s, task, rank)
                                          : send_unable(PGCN_ERR_MISMATCH, rank,
                                                        "it is another pathgcn than rank 0");
        pgcn_bytes_free(task);
    }
    forget_sets(s);
    free(s);
    return status;
}
