/* Runs jobs: estimate, order, then start them and see them end until none is left. Who runs them is a crew: processes of
 * this machine, or ranks.
 *
 * Start reading at exp_jobs_run. */
#include "experiments/experiments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct pool {
    exp_jobs *jobs;
    const exp_pace *pace;
    const exp_crew *crew;
    void *workers;
    size_t *queue; /* indices of jobs, in the order they are started */
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

static void note_failure(pool *p, exp_job *job, const exp_ending *ending) {
    char log[EXP_PATH_BYTES] = "", label[160];
    bool done = ending->how == EXP_END_DONE, killed = ending->how == EXP_END_KILLED;
    exp_job_path(p->jobs, job, done ? ".json" : ".log", log);
    exp_job_label(job, label);
    job->state = EXP_FAILED;
    job->diverged = ending->how == EXP_END_DIVERGED;
    p->failed++;
    if (killed)
        snprintf(job->failure, sizeof job->failure, "%s: its process was ended by signal %d (%s)",
                 label, ending->code, strsignal(ending->code));
    else if (done)
        snprintf(job->failure, sizeof job->failure, "%s: its record cannot be read", label);
    else
        snprintf(job->failure, sizeof job->failure, "%s: exit code %d without a message", label,
                 ending->code);
    if (!killed && !done) last_line(log, job->failure, sizeof job->failure);
    clear_line(p);
    cli_complain(p->jobs->command, "a job failed: %s; its %s is %s", job->failure,
                 done ? "record" : "log", log);
}

static void see_end(pool *p, const exp_ending *ending) {
    exp_job *job = &p->jobs->job[ending->job];
    char log[EXP_PATH_BYTES];
    p->running--;
    job->state = EXP_WAITING;
    if (p->timing) {
        exp_kind *kind = &p->jobs->kind[job->kind];
        kind->setup_seconds = ending->timing.setup_seconds;
        kind->epoch_seconds = ending->timing.epoch_seconds;
    } else if (ending->how == EXP_END_DONE && exp_job_recall(p->jobs, job)) {
        if (exp_job_path(p->jobs, job, ".log", log)) unlink(log);
    } else {
        note_failure(p, job, ending);
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

/* Those at work are ended; one that had its record by then is done. */
static void stop_all(pool *p) {
    p->crew->stop(p->workers);
    for (size_t i = 0; i < p->jobs->count; i++) {
        exp_job *job = &p->jobs->job[i];
        char log[EXP_PATH_BYTES];
        if (job->state != EXP_RUNNING) continue;
        job->state = EXP_WAITING;
        p->running--;
        if (!p->timing && !exp_job_recall(p->jobs, job) && exp_job_path(p->jobs, job, ".log", log))
            unlink(log);
    }
    clear_line(p);
}

static void start_next(pool *p) {
    size_t index = p->queue[p->started];
    exp_job *job = &p->jobs->job[index];
    job->config.threads = p->pace->threads;
    bool fine = p->crew->start(p->workers, index, p->timing);
    if (!fine && p->running > 0) return; /* retried when one of them has ended */
    p->started++;
    if (!fine) {
        job->state = EXP_FAILED;
        p->failed++;
        snprintf(job->failure, sizeof job->failure, "no process could be started: %s",
                 pgcn_system_error(errno));
        cli_complain(p->jobs->command, "%s", job->failure);
        return;
    }
    job->begin = cli_now();
    job->state = EXP_RUNNING;
    p->running++;
}

/* Until the queue is empty and no job is running. PGCN_ERR_STOPPED: it was interrupted; any other failure is the crew's,
 * which has said it. */
static pgcn_status run_queue(pool *p) {
    const struct timespec moment = {.tv_nsec = 5000000};
    pgcn_status status;
    exp_ending ending;
    p->started = 0;
    while ((status = p->crew->status(p->workers)) == PGCN_OK && !cli_interrupted()) {
        if (p->started < p->queued && p->running < p->pace->processes) {
            start_next(p);
            continue;
        }
        if (p->running == 0) break;
        if (p->crew->ended(p->workers, &ending))
            see_end(p, &ending);
        else
            nanosleep(&moment, NULL);
        show_progress(p);
    }
    if (status != PGCN_OK || cli_interrupted()) {
        stop_all(p);
        return status != PGCN_OK ? status : PGCN_ERR_STOPPED;
    }
    clear_line(p);
    p->shown = 0;
    return PGCN_OK;
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
    bool one = p->pace->processes == 1, ranks = p->crew == &exp_ranks;
    fprintf(stderr, "%s%zu job%s%s on %d %s%s", p->pace->what, p->queued, p->queued == 1 ? "" : "s",
            kept, p->pace->processes, ranks ? "rank" : "process",
            one     ? ""
            : ranks ? "s"
                    : "es");
    if (can_estimate(p->jobs))
        fprintf(stderr, ": about %s, %s if no run stops early", about, at_most);
    fputc('\n', stderr);
}

/* The first round. */
static pgcn_status run_timings(pool *p) {
    p->timing = true;
    queue_timings(p);
    pgcn_status status = run_queue(p);
    p->timing = false;
    return status;
}

static pgcn_status run_rounds(pool *p) {
    size_t waiting = exp_jobs_in(p->jobs, EXP_WAITING);
    if (waiting > (size_t)p->pace->processes) CLI_TRY(run_timings(p));
    if (!queue_jobs(p)) {
        cli_complain(p->jobs->command, "out of memory for %zu jobs", p->jobs->count);
        return PGCN_OK; /* the jobs are still waiting, and the table counts them as missing */
    }
    if (!p->pace->quiet && p->queued > 0) print_estimate(p);
    return run_queue(p);
}

/* One or both rounds, with the memory that they need. */
static pgcn_status run_pool(exp_jobs *jobs, const exp_pace *pace, pgcn_status (*rounds)(pool *p)) {
    pool p = {.jobs = jobs, .pace = pace};
    if (exp_jobs_in(jobs, EXP_WAITING) == 0) return PGCN_OK;
    p.crew = pgcn_workers_count() > 1 ? &exp_ranks : &exp_processes;
    p.workers = p.crew->open(jobs);
    p.queue = malloc(jobs->count * sizeof *p.queue);
    pgcn_status status;
    if (!p.workers || !p.queue) {
        status = cli_fail(jobs->command, PGCN_ERR_MEMORY, "no memory for a list of %zu jobs: %s",
                          jobs->count, pgcn_system_error(errno));
    } else if ((status = rounds(&p)) != PGCN_OK) {
        fprintf(stderr, "%s: %zu of %zu jobs are done and kept in %s. The same command goes on.\n",
                status == PGCN_ERR_STOPPED ? "Interrupted" : "Ended", exp_jobs_in(jobs, EXP_DONE),
                exp_jobs_wanted(jobs), jobs->directory);
        status = PGCN_ERR_SYSTEM;
    }
    if (p.workers) p.crew->close(p.workers);
    free(p.queue);
    return status;
}

int exp_jobs_at_once(long long asked, long long threads) {
    int ranks = pgcn_workers_count() - 1, cores = pgcn_info_get().cores;
    long long usual = ranks > 0 ? ranks : cores / threads > 0 ? cores / threads : 1;
    return (int)(asked > 0 && (ranks == 0 || asked < ranks) ? asked : usual);
}

pgcn_status exp_jobs_time(exp_jobs *jobs, const exp_pace *pace) {
    return run_pool(jobs, pace, run_timings);
}

pgcn_status exp_jobs_run(exp_jobs *jobs, const exp_pace *pace) {
    return run_pool(jobs, pace, run_rounds);
}
