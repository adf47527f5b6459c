/* Runs jobs in worker processes. Processes and not threads: a job that crashes or is killed does
 * not affect the others. The data sets are loaded before the processes are forked and so are in
 * memory once.
 *
 * Start reading at exp_jobs_run: estimate, order, then start and reap workers until no job is
 * left. */
#include "experiments/experiments.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

typedef pgcn_status work_function(const exp_jobs *jobs, const exp_job *job, exp_live *live);

typedef struct pool {
    exp_jobs *jobs;
    const exp_pace *pace;
    exp_live *live; /* [jobs->count], shared with the workers */
    size_t *queue;  /* indices of jobs, in the order they are started */
    size_t queued, started;
    int running;
    bool timing; /* the first round: a few epochs of each kind */
    double shown;
    size_t failed;
} pool;

size_t exp_jobs_in(const exp_jobs *jobs, exp_state state) {
    size_t count = 0;
    for (size_t i = 0; i < jobs->count; i++) count += jobs->job[i].state == state;
    return count;
}

size_t exp_jobs_wanted(const exp_jobs *jobs) {
    return jobs->count - exp_jobs_in(jobs, EXP_DROPPED);
}

/* ---- a worker --------------------------------------------------------------------------------- */

/* Ctrl-C reaches the workers too, but the parent decides what to do. A worker must not outlive a
 * parent that was killed, or it would run beside those of the next command. */
static void obey_parent(pid_t parent) {
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent) _exit(EXIT_FAILED);
}

static void print_to(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return;
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    close(file);
}

/* The exit code by which a worker reports the result of its job. */
enum { EXIT_DIVERGED = 3 }; /* its numbers were not finite */
static int worker_exit_code(pgcn_status status) {
    if (status == PGCN_ERR_NUMERIC) return EXIT_DIVERGED;
    return status == PGCN_OK ? EXIT_DONE : EXIT_FAILED;
}

static pid_t start_worker(pool *p, size_t index) {
    exp_job *job = &p->jobs->job[index];
    work_function *work = p->timing ? exp_work_timing : exp_work;
    char log[EXP_PATH_BYTES];
    pid_t parent = getpid();
    fflush(NULL); /* or buffered output is printed twice */
    pid_t pid = fork();
    if (pid != 0) return pid;
    obey_parent(parent);
    if (p->jobs->lock >= 0) close(p->jobs->lock);
    if (p->timing)
        print_to("/dev/null");
    else if (exp_job_path(p->jobs, job, ".log", log))
        print_to(log);
    pgcn_status status = work(p->jobs, job, &p->live[index]);
    fflush(NULL);
    _exit(worker_exit_code(status));
}

/* ---- how a worker ended ----------------------------------------------------------------------- */

/* The last line of a log that is not empty, for the message. */
static void last_line(const char *path, char *out, size_t bytes) {
    char line[1024];
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line) snprintf(out, bytes, "%.*s", (int)bytes - 1, line);
    }
    if (file) fclose(file);
}

static void clear_line(const pool *p) {
    if (p->shown > 0) fprintf(stderr, "\r\033[K");
}

static void note_failure(pool *p, exp_job *job, int status) {
    char log[EXP_PATH_BYTES] = "", label[160];
    bool done = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_DONE;
    exp_job_path(p->jobs, job, done ? ".json" : ".log", log);
    exp_job_label(job, label);
    job->state = EXP_FAILED;
    job->diverged = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_DIVERGED;
    p->failed++;
    if (WIFSIGNALED(status))
        snprintf(job->failure, sizeof job->failure, "%s: its process was ended by signal %d (%s)",
                 label, WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (done)
        snprintf(job->failure, sizeof job->failure, "%s: its record cannot be read", label);
    else
        snprintf(job->failure, sizeof job->failure, "%s: exit code %d without a message", label,
                 WEXITSTATUS(status));
    if (!WIFSIGNALED(status) && !done) last_line(log, job->failure, sizeof job->failure);
    clear_line(p);
    cli_complain(p->jobs->command, "a job failed: %s; its %s is %s", job->failure,
                 done ? "record" : "log", log);
}

static void reap(pool *p, pid_t pid, int status) {
    size_t index = 0;
    while (index < p->jobs->count &&
           (p->jobs->job[index].state != EXP_RUNNING || p->jobs->job[index].pid != pid))
        index++;
    if (index == p->jobs->count) return; /* none of ours */
    exp_job *job = &p->jobs->job[index];
    char log[EXP_PATH_BYTES];
    p->running--;
    job->pid = 0;
    job->state = EXP_WAITING;
    if (p->timing) {
        exp_kind *kind = &p->jobs->kind[job->kind];
        kind->setup_seconds = p->live[index].setup_seconds;
        kind->epoch_seconds = p->live[index].epoch_seconds;
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_DONE &&
               exp_job_recall(p->jobs, job)) {
        if (exp_job_path(p->jobs, job, ".log", log)) unlink(log);
    } else {
        note_failure(p, job, status);
    }
}

/* ---- progress --------------------------------------------------------------------------------- */

/* The work left, divided by the processes, but at least the longest job. */
static double seconds_left(const pool *p) {
    double sum = 0, longest = 0;
    for (size_t i = 0; i < p->jobs->count; i++) {
        const exp_job *job = &p->jobs->job[i];
        if (job->state != EXP_WAITING && job->state != EXP_RUNNING) continue;
        double seconds = exp_expected_seconds(p->jobs, job, NULL);
        if (job->state == EXP_RUNNING) {
            double spent = cli_now() - job->begin;
            seconds = seconds > spent ? seconds - spent : 0.1 * seconds;
        }
        sum += seconds;
        if (seconds > longest) longest = seconds;
    }
    return sum / p->pace->processes > longest ? sum / p->pace->processes : longest;
}

static void show_progress(pool *p) {
    double now = cli_now();
    if (p->pace->quiet || !isatty(STDERR_FILENO) || now - p->shown < 0.25) return;
    p->shown = now;
    size_t done = exp_jobs_in(p->jobs, EXP_DONE), total = exp_jobs_wanted(p->jobs);
    int columns = cli_terminal_columns() - 1;
    char left[32], bar[CLI_BAR_BYTES], line[400], failures[48] = "";
    cli_format_duration(seconds_left(p), left);
    cli_format_bar((double)done / (double)(total ? total : 1), bar);
    if (p->failed > 0) snprintf(failures, sizeof failures, "  %zu failed", p->failed);
    if (p->timing)
        snprintf(line, sizeof line, "timing a few epochs: %zu/%zu kinds of jobs", p->started,
                 p->queued);
    else if (snprintf(line, sizeof line, "%s%s%zu/%zu jobs  %d running%s  about %s left",
                      p->pace->what, bar, done, total, p->running, failures, left) > columns)
        snprintf(line, sizeof line, "%zu/%zu jobs  %d running%s  %s left", done, total, p->running,
                 failures, left);
    fprintf(stderr, "\r%.*s\033[K", columns, line);
    fflush(stderr);
}

/* ---- the loop --------------------------------------------------------------------------------- */

static void stop_workers(pool *p) {
    for (size_t i = 0; i < p->jobs->count; i++)
        if (p->jobs->job[i].state == EXP_RUNNING) kill(p->jobs->job[i].pid, SIGTERM);
    for (size_t i = 0; i < p->jobs->count; i++) {
        exp_job *job = &p->jobs->job[i];
        char log[EXP_PATH_BYTES];
        int status;
        if (job->state != EXP_RUNNING) continue;
        while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR) continue;
        job->state = EXP_WAITING;
        p->running--;
        if (!p->timing && !exp_job_recall(p->jobs, job) && exp_job_path(p->jobs, job, ".log", log))
            unlink(log);
    }
}

static void start_next(pool *p) {
    size_t index = p->queue[p->started];
    exp_job *job = &p->jobs->job[index];
    pid_t pid = start_worker(p, index);
    if (pid < 0 && p->running > 0) return; /* retried when one of them has ended */
    p->started++;
    if (pid < 0) {
        job->state = EXP_FAILED;
        p->failed++;
        snprintf(job->failure, sizeof job->failure, "no process could be started: %s",
                 pgcn_system_error(errno));
        cli_complain(p->jobs->command, "%s", job->failure);
        return;
    }
    job->pid = pid;
    job->begin = cli_now();
    job->state = EXP_RUNNING;
    p->running++;
}

/* Runs until the queue is empty and no worker is running; false if it was interrupted. */
static bool run_queue(pool *p) {
    const struct timespec moment = {.tv_nsec = 5000000};
    p->started = 0;
    for (;;) {
        if (cli_interrupted()) {
            stop_workers(p);
            clear_line(p);
            return false;
        }
        if (p->started < p->queued && p->running < p->pace->processes) {
            start_next(p);
            continue;
        }
        if (p->running == 0) break;
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid > 0)
            reap(p, pid, status);
        else
            nanosleep(&moment, NULL);
        show_progress(p);
    }
    clear_line(p);
    p->shown = 0;
    return true;
}

/* ---- the two rounds --------------------------------------------------------------------------- */

static void queue_timings(pool *p) {
    exp_jobs *jobs = p->jobs;
    p->queued = 0;
    for (size_t kind = 0; kind < jobs->kinds; kind++) {
        if (jobs->kind[kind].done > 0 || jobs->kind[kind].epoch_seconds > 0) continue;
        size_t i = 0;
        while (i < jobs->count &&
               (jobs->job[i].kind != (int)kind || jobs->job[i].state != EXP_WAITING))
            i++;
        if (i < jobs->count && p->queued < (size_t)p->pace->most_timings) p->queue[p->queued++] = i;
    }
}

typedef struct ranked {
    size_t index;
    double seconds;
} ranked;

static int compare_ranked(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Longest first: a long job that is started last keeps one core busy and the others waiting. */
static bool queue_jobs(pool *p) {
    exp_jobs *jobs = p->jobs;
    ranked *list = malloc((jobs->count + 1) * sizeof *list);
    if (!list) return false;
    p->queued = 0;
    for (size_t i = 0; i < jobs->count; i++)
        if (jobs->job[i].state == EXP_WAITING)
            list[p->queued++] = (ranked){i, exp_expected_seconds(jobs, &jobs->job[i], NULL)};
    qsort(list, p->queued, sizeof *list, compare_ranked);
    for (size_t i = 0; i < p->queued; i++) p->queue[i] = list[i].index;
    free(list);
    return true;
}

/* Whether an estimate is possible: some kind was timed or run. */
static bool can_estimate(const exp_jobs *jobs) {
    for (size_t i = 0; i < jobs->kinds; i++)
        if (jobs->kind[i].done > 0 || jobs->kind[i].epoch_seconds > 0) return true;
    return false;
}

static void print_estimate(const pool *p) {
    size_t done = exp_jobs_in(p->jobs, EXP_DONE);
    double most = 0, longest = 0;
    char about[32], at_most[32], kept[64] = "";
    for (size_t i = 0; i < p->jobs->count; i++) {
        double seconds;
        if (p->jobs->job[i].state != EXP_WAITING) continue;
        exp_expected_seconds(p->jobs, &p->jobs->job[i], &seconds);
        most += seconds / p->pace->processes;
        if (seconds > longest) longest = seconds;
    }
    cli_format_duration(seconds_left(p), about);
    cli_format_duration(most > longest ? most : longest, at_most);
    if (done > 0) snprintf(kept, sizeof kept, " (%zu more are done already)", done);
    fprintf(stderr, "%s%zu job%s%s on %d process%s", p->pace->what, p->queued,
            p->queued == 1 ? "" : "s", kept, p->pace->processes,
            p->pace->processes == 1 ? "" : "es");
    if (can_estimate(p->jobs))
        fprintf(stderr, ": about %s, %s if no run stops early", about, at_most);
    fputc('\n', stderr);
}

/* The first round. */
static bool run_timings(pool *p) {
    p->timing = true;
    queue_timings(p);
    bool done = run_queue(p);
    p->timing = false;
    return done;
}

static bool run_rounds(pool *p) {
    size_t waiting = exp_jobs_in(p->jobs, EXP_WAITING);
    if (waiting > (size_t)p->pace->processes && !run_timings(p)) return false;
    if (!queue_jobs(p)) {
        cli_complain(p->jobs->command, "out of memory for %zu jobs", p->jobs->count);
        return true; /* the jobs are still waiting, and the table counts them as missing */
    }
    if (!p->pace->quiet && p->queued > 0) print_estimate(p);
    return run_queue(p);
}

/* One or both rounds, with the memory that they need. */
static pgcn_status run_pool(exp_jobs *jobs, const exp_pace *pace, bool (*rounds)(pool *p)) {
    pool p = {.jobs = jobs, .pace = pace};
    if (exp_jobs_in(jobs, EXP_WAITING) == 0) return PGCN_OK;
    size_t bytes = jobs->count * sizeof *p.live;
    p.live = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    p.queue = malloc(jobs->count * sizeof *p.queue);
    pgcn_status status = PGCN_OK;
    if (p.live == MAP_FAILED || !p.queue) {
        status = cli_fail(jobs->command, PGCN_ERR_MEMORY, "no memory for a list of %zu jobs: %s",
                          jobs->count, pgcn_system_error(errno));
    } else if (!rounds(&p)) {
        fprintf(stderr,
                "Interrupted: %zu of %zu jobs are done and kept in %s. The same command goes on.\n",
                exp_jobs_in(jobs, EXP_DONE), exp_jobs_wanted(jobs), jobs->directory);
        status = PGCN_ERR_SYSTEM;
    }
    if (p.live != MAP_FAILED) munmap(p.live, bytes);
    free(p.queue);
    return status;
}

pgcn_status exp_jobs_time(exp_jobs *jobs, const exp_pace *pace) {
    return run_pool(jobs, pace, run_timings);
}

pgcn_status exp_jobs_run(exp_jobs *jobs, const exp_pace *pace) {
    return run_pool(jobs, pace, run_rounds);
}
