/* A crew of processes of this machine. Processes and not threads: a job that crashes or is killed does not affect the
 * others. The data sets are loaded before the processes are forked and so are in memory once. */
#include "experiments/experiments.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

typedef struct processes {
    exp_jobs *jobs;
    exp_timing *timing; /* [jobs->count], shared with the processes */
    pid_t *pid;         /* [jobs->count], 0: none */
} processes;

static void *open_processes(exp_jobs *jobs) {
    processes *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->jobs = jobs;
    p->pid = calloc(jobs->count, sizeof *p->pid);
    p->timing = mmap(NULL, jobs->count * sizeof *p->timing, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p->pid && p->timing != MAP_FAILED) return p;
    free(p->pid);
    free(p);
    return NULL;
}

static void close_processes(void *crew) {
    processes *p = crew;
    munmap(p->timing, p->jobs->count * sizeof *p->timing);
    free(p->pid);
    free(p);
}

static pgcn_status status(const void *crew) {
    (void)crew;
    return PGCN_OK;
}

/* ---- a process -------------------------------------------------------------------------------- */

/* Ctrl-C reaches the processes too, but the parent decides what to do. One must not outlive a
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

/* The exit code by which a process reports the result of its job. */
enum { EXIT_DIVERGED = 3 }; /* its numbers were not finite */
static int exit_code_of(pgcn_status status) {
    if (status == PGCN_ERR_NUMERIC) return EXIT_DIVERGED;
    return status == PGCN_OK ? EXIT_DONE : EXIT_FAILED;
}

static bool start(void *crew, size_t index, bool timing) {
    processes *p = crew;
    const exp_job *job = &p->jobs->job[index];
    char log[EXP_PATH_BYTES];
    pid_t parent = getpid();
    fflush(NULL); /* or buffered output is printed twice */
    pid_t pid = fork();
    if (pid > 0) p->pid[index] = pid;
    if (pid != 0) return pid > 0;
    obey_parent(parent);
    if (p->jobs->lock >= 0) close(p->jobs->lock);
    if (timing)
        print_to("/dev/null");
    else if (exp_job_path(p->jobs, job, ".log", log))
        print_to(log);
    exp_outcome outcome;
    exp_work(job, timing, NULL, &outcome);
    p->timing[index] = outcome.timing;
    if (!timing) exp_outcome_keep(p->jobs, job, &outcome);
    if (*outcome.failure) fprintf(stderr, "%s\n", outcome.failure);
    fflush(NULL);
    _exit(exit_code_of(outcome.status));
}

/* ---- how it ended ------------------------------------------------------------------------------ */

static bool ended(void *crew, exp_ending *out) {
    processes *p = crew;
    int result;
    pid_t pid = waitpid(-1, &result, WNOHANG);
    size_t index = 0;
    while (pid > 0 && index < p->jobs->count && p->pid[index] != pid) index++;
    if (pid <= 0 || index == p->jobs->count) return false; /* none, or none of ours */
    p->pid[index] = 0;
    *out = (exp_ending){.job = index, .how = EXP_END_FAILED, .timing = p->timing[index]};
    if (WIFSIGNALED(result)) {
        out->how = EXP_END_KILLED;
        out->code = WTERMSIG(result);
        return true;
    }
    out->code = WEXITSTATUS(result);
    if (out->code == EXIT_DONE) out->how = EXP_END_DONE;
    if (out->code == EXIT_DIVERGED) out->how = EXP_END_DIVERGED;
    return true;
}

static void stop(void *crew) {
    processes *p = crew;
    for (size_t i = 0; i < p->jobs->count; i++)
        if (p->pid[i] > 0) kill(p->pid[i], SIGTERM);
    for (size_t i = 0; i < p->jobs->count; i++) {
        int result;
        while (p->pid[i] > 0 && waitpid(p->pid[i], &result, 0) < 0 && errno == EINTR) continue;
        p->pid[i] = 0;
    }
}

const exp_crew exp_processes = {.open = open_processes,
                                .start = start,
                                .ended = ended,
                                .status = status,
                                .stop = stop,
                                .close = close_processes};
