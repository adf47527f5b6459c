/* A crew of ranks: rank 0 hands jobs to the others, which run them in their own processes, and writes what they send. So
 * only rank 0 reads data and writes files, and a file system that all hosts share is not needed. */
#include "experiments/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NOTHING = -1 };

typedef struct rank_state {
    int64_t job; /* that it runs; NOTHING */
    bool timing;
    double heard; /* cli_now() when it last said something */
} rank_state;

typedef struct ranks {
    exp_jobs *jobs;
    int count;
    rank_state *rank; /* [count]; 0 is this one */
    double looked;    /* cli_now() when messages were last looked for */
    bool stopping;
    pgcn_status status;
} ranks;

/* What ranks have of the list of jobs, which may be run in several rounds. */
static struct {
    int64_t list;
    int sets;
    const exp_data *set[EXP_MOST_SENT];
    int file[EXP_MOST_SENT]; /* the data set as a container */
    uint64_t *has;           /* [ranks] a bit for each data set that a rank has */
} known;

/* ---- data sets ---------------------------------------------------------------------------------- */

static void forget(void) {
    for (int i = 0; i < known.sets; i++) close(known.file[i]);
    known.sets = 0;
    free(known.has);
    known.has = NULL;
}

static bool open_list(const ranks *r) {
    if (known.list == r->jobs->number && known.has) return true;
    forget();
    known.list = r->jobs->number;
    known.has = calloc((size_t)r->count, sizeof *known.has);
    return known.has != NULL;
}

/* A container that has no name, so that nothing is left of it after the program. */
static pgcn_status save_set(const exp_jobs *jobs, const exp_data *set, int *file) {
    char path[EXP_PATH_BYTES];
    snprintf(path, sizeof path, "%.4000s/data-%.16s.tmp", jobs->directory, set->hash);
    CLI_TRY(cli_report(jobs->command, pgcn_dataset_save(set->data, path)));
    *file = open(path, O_RDONLY | O_CLOEXEC);
    int code = errno;
    unlink(path);
    if (*file >= 0) return PGCN_OK;
    return cli_fail(jobs->command, PGCN_ERR_IO, "cannot open %s: %s", path,
                    pgcn_system_error(code));
}

static pgcn_status find_set(const ranks *r, const exp_data *set, int *out) {
    for (*out = 0; *out < known.sets; ++*out)
        if (known.set[*out] == set) return PGCN_OK;
    if (known.sets == EXP_MOST_SENT)
        return cli_fail(r->jobs->command, PGCN_ERR_ARGUMENT,
                        "jobs of more than %d data sets are not shared between ranks",
                        EXP_MOST_SENT);
    CLI_TRY(save_set(r->jobs, set, &known.file[known.sets]));
    known.set[known.sets++] = set;
    return PGCN_OK;
}

static int64_t bytes_of(int file) {
    struct stat about;
    return fstat(file, &about) == 0 ? (int64_t)about.st_size : 0;
}

static pgcn_status send_set(const ranks *r, int rank, int file) {
    size_t bytes = (size_t)bytes_of(file);
    void *data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED)
        return cli_fail(r->jobs->command, PGCN_ERR_MEMORY,
                        "cannot map a data set of %zu bytes for rank %d: %s", bytes, rank,
                        pgcn_system_error(errno));
    pgcn_status status = pgcn_workers_send(rank, data, bytes);
    munmap(data, bytes);
    return cli_report(r->jobs->command, status);
}

/* ---- handing out -------------------------------------------------------------------------------- */

static void *open_ranks(exp_jobs *jobs) {
    ranks *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    *r = (ranks){.jobs = jobs, .count = pgcn_workers_count(), .looked = cli_now()};
    r->rank = calloc((size_t)r->count, sizeof *r->rank);
    if (r->rank && open_list(r)) {
        for (int i = 0; i < r->count; i++) r->rank[i].job = NOTHING;
        return r;
    }
    free(r->rank);
    free(r);
    return NULL;
}

static void close_ranks(void *crew) {
    ranks *r = crew;
    free(r->rank);
    free(r);
}

static pgcn_status status(const void *crew) {
    return ((const ranks *)crew)->status;
}

static pgcn_status send_task(ranks *r, int rank, const exp_job *job, bool timing) {
    exp_task task = {.say = timing ? EXP_SAY_TIME : EXP_SAY_WORK,
                     .version = PGCN_VERSION,
                     .list = known.list,
                     .keeps_model = job->keeps_model,
                     .config = job->config};
    int set;
    CLI_TRY(find_set(r, job->data, &set));
    bool has = known.has[rank] >> set & 1;
    task.set = set;
    task.data_bytes = has ? 0 : bytes_of(known.file[set]);
    memcpy(task.name, job->data->name, sizeof task.name);
    memcpy(task.hash, job->data->hash, sizeof task.hash);
    memcpy(task.key, job->key, sizeof task.key);
    CLI_TRY(cli_report(r->jobs->command, pgcn_workers_send(rank, &task, sizeof task)));
    if (!has) CLI_TRY(send_set(r, rank, known.file[set]));
    known.has[rank] |= 1ull << set;
    return PGCN_OK;
}

/* The runner starts no more jobs than there are ranks. */
static bool start(void *crew, size_t index, bool timing) {
    ranks *r = crew;
    int rank = 1;
    while (rank < r->count && r->rank[rank].job != NOTHING) rank++;
    errno = EAGAIN;
    if (rank == r->count) return false;
    r->status = send_task(r, rank, &r->jobs->job[index], timing);
    r->rank[rank] = (rank_state){.job = (int64_t)index, .timing = timing, .heard = cli_now()};
    return true; /* a failure is that of the crew */
}

/* ---- what they say ------------------------------------------------------------------------------- */

/* The next message of a rank that must have `bytes`; NULL: r->status. */
static void *receive(ranks *r, int rank, int64_t bytes) {
    void *message = NULL;
    size_t size = 0;
    if (r->status != PGCN_OK || bytes == 0) return NULL;
    r->status = cli_report(r->jobs->command, pgcn_workers_receive(rank, &message, &size));
    if (r->status == PGCN_OK && (int64_t)size != bytes)
        r->status = cli_fail(r->jobs->command, PGCN_ERR_SYSTEM,
                             "rank %d has sent %zu bytes, expected %lld: it is another pathgcn; "
                             "start the same program on all hosts",
                             rank, size, (long long)bytes);
    if (r->status == PGCN_OK) return message;
    pgcn_bytes_free(message);
    return NULL;
}

/* A failure in words, where a process of this machine would have printed it. */
static void write_log(const ranks *r, const exp_job *job, const char *sentence) {
    char log[EXP_PATH_BYTES], line[512];
    int length = snprintf(line, sizeof line, "%s\n", sentence);
    if (exp_job_path(r->jobs, job, ".log", log)) pgcn_file_write(log, line, (size_t)length);
}

static void take_result(ranks *r, int rank, const exp_answer *a, exp_ending *out) {
    const exp_job *job = &r->jobs->job[r->rank[rank].job];
    exp_outcome o = {.status = (pgcn_status)a->status,
                     .timing = a->timing,
                     .record_bytes = (size_t)a->record_bytes,
                     .history_bytes = (size_t)a->history_bytes,
                     .model_bytes = (size_t)a->model_bytes};
    memcpy(o.failure, a->failure, sizeof o.failure);
    char *record = receive(r, rank, a->record_bytes), *history = receive(r, rank, a->history_bytes);
    void *model = receive(r, rank, a->model_bytes);
    *out = (exp_ending){.job = (size_t)r->rank[rank].job, .timing = a->timing};
    o.record = record, o.history = history, o.model = model;
    if (r->status == PGCN_OK && !r->rank[rank].timing) {
        exp_outcome_keep(r->jobs, job, &o);
        if (o.status != PGCN_OK && o.status != PGCN_ERR_STOPPED) write_log(r, job, o.failure);
    }
    out->how = o.status == PGCN_OK            ? EXP_END_DONE
               : o.status == PGCN_ERR_NUMERIC ? EXP_END_DIVERGED
                                              : EXP_END_FAILED;
    out->code = (int)o.status;
    pgcn_bytes_free(record);
    pgcn_bytes_free(history);
    pgcn_bytes_free(model);
    r->rank[rank].job = NOTHING;
}

static void let_go_on(ranks *r, int rank) {
    exp_task task = {.say = r->stopping ? EXP_SAY_STOP : EXP_SAY_GO_ON};
    r->status = cli_report(r->jobs->command, pgcn_workers_send(rank, &task, sizeof task));
}

/* Whether that was the end of a job. */
static bool take_message(ranks *r, int rank, exp_ending *out) {
    exp_answer *a = receive(r, rank, sizeof *a);
    bool result = a && a->tell == EXP_TELL_RESULT && r->rank[rank].job != NOTHING;
    r->rank[rank].heard = cli_now();
    if (a && a->tell == EXP_TELL_ALIVE) let_go_on(r, rank);
    if (a && a->tell == EXP_TELL_UNABLE) {
        r->rank[rank].job = NOTHING;
        r->status = cli_fail(r->jobs->command, (pgcn_status)a->status, "%s", a->failure);
    }
    if (result) take_result(r, rank, a, out);
    pgcn_bytes_free(a);
    return result && r->status == PGCN_OK;
}

/* A rank at work says something every second. Time in which nobody looked does not count. */
static void notice_silence(ranks *r) {
    double now = cli_now(), away = now - r->looked > 1 ? now - r->looked : 0;
    r->looked = now;
    for (int i = 1; i < r->count && r->status == PGCN_OK; i++) {
        if (r->rank[i].job == NOTHING) continue;
        r->rank[i].heard += away;
        r->status = cli_report(r->jobs->command, pgcn_workers_silent(i, now - r->rank[i].heard));
    }
}

static bool ended(void *crew, exp_ending *out) {
    ranks *r = crew;
    int rank;
    while (r->status == PGCN_OK && (rank = pgcn_workers_waiting()) > 0)
        if (take_message(r, rank, out)) return true;
    notice_silence(r);
    return false;
}

static bool any_busy(const ranks *r) {
    for (int i = 1; i < r->count; i++)
        if (r->rank[i].job != NOTHING) return true;
    return false;
}

/* They stop before their next step. After a failure of the messages themselves nobody can be told; the launcher is
 * then asked to end all, when the program leaves. */
static void stop(void *crew) {
    const struct timespec moment = {.tv_nsec = 5000000};
    ranks *r = crew;
    exp_ending ending;
    pgcn_status before = r->status;
    r->stopping = true;
    if (cli_interrupted() == SIGTERM) /* what is said in the end may come too late */
        fprintf(stderr,
                "SIGTERM, which launchers send after Ctrl-C, at a limit of time or when a rank is "
                "killed: the jobs that run are ended. Finished jobs are kept, and the same command "
                "goes on.\n");
    r->status = pgcn_workers_status();
    while (r->status == PGCN_OK && any_busy(r))
        if (!ended(r, &ending)) nanosleep(&moment, NULL);
    if (before != PGCN_OK) r->status = before;
}

const exp_crew exp_ranks = {.open = open_ranks,
                            .start = start,
                            .ended = ended,
                            .status = status,
                            .stop = stop,
                            .close = close_ranks};
