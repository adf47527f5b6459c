/* The list of jobs, and their records in OUT/jobs. */
#include "experiments/experiments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pgcn_status exp_jobs_open(exp_jobs *jobs, const cli_command *command, const char *out) {
    static int64_t opened;
    *jobs = (exp_jobs){.command = command, .lock = -1, .number = ++opened};
    if ((size_t)snprintf(jobs->directory, sizeof jobs->directory, "%s/jobs", out) + 64 >=
        sizeof jobs->directory)
        return cli_fail(command, PGCN_ERR_IO, "the path %.64s... is too long; choose another --out",
                        out);
    CLI_TRY(cli_make_directory(command, jobs->directory));
    return cli_run_lock(command, jobs->directory, "at work", &jobs->lock);
}

void exp_jobs_close(exp_jobs *jobs) {
    for (size_t i = 0; i < jobs->count; i++) json_decref(jobs->job[i].record);
    if (jobs->lock >= 0) close(jobs->lock);
    free(jobs->job);
    free(jobs->kind);
    *jobs = (exp_jobs){.lock = -1};
}

bool exp_job_path(const exp_jobs *jobs, const exp_job *job, const char *suffix,
                  char out[EXP_PATH_BYTES]) {
    int length = snprintf(out, EXP_PATH_BYTES, "%s/%s%s", jobs->directory, job->key, suffix);
    return length > 0 && length < EXP_PATH_BYTES;
}

bool exp_job_recall(exp_jobs *jobs, exp_job *job) {
    char path[EXP_PATH_BYTES];
    if (!exp_job_path(jobs, job, ".json", path)) return false;
    json_t *record = json_load_file(path, 0, NULL);
    const char *key = json_string_value(json_object_get(record, "key"));
    if (!key || strcmp(key, job->key) != 0) { /* damaged, or another job's: the job is run again */
        json_decref(record);
        return false;
    }
    json_decref(job->record);
    job->record = record;
    job->state = EXP_DONE;
    exp_kind *kind = &jobs->kind[job->kind];
    kind->done++;
    kind->seconds += exp_record_number(record, "seconds");
    kind->epochs += exp_record_number(record, "epochs");
    return true;
}

/* Both arrays grow together: there are never more kinds than jobs. */
static bool make_room(exp_jobs *jobs) {
    if (jobs->count < jobs->room) return true;
    size_t room = jobs->room ? 2 * jobs->room : 64;
    exp_job *job = realloc(jobs->job, room * sizeof *job);
    if (!job) return false;
    jobs->job = job;
    exp_kind *kind = realloc(jobs->kind, room * sizeof *kind);
    if (!kind) return false;
    jobs->kind = kind;
    jobs->room = room;
    return true;
}

static int find_kind(exp_jobs *jobs, const char *key) {
    for (size_t i = 0; i < jobs->kinds; i++)
        if (strcmp(jobs->kind[i].key, key) == 0) return (int)i;
    exp_kind *kind = &jobs->kind[jobs->kinds];
    *kind = (exp_kind){0};
    snprintf(kind->key, sizeof kind->key, "%s", key);
    return (int)jobs->kinds++;
}

pgcn_status exp_jobs_add(exp_jobs *jobs, const exp_data *data, const pgcn_config *config,
                         bool fresh, size_t *out) {
    exp_job job = {.data = data, .config = *config};
    char kind[EXP_KEY_BYTES], path[EXP_PATH_BYTES];
    job.config.threads = 1;
    if (!make_room(jobs) || !exp_job_key(data, &job.config, job.key, kind))
        return cli_fail(jobs->command, PGCN_ERR_MEMORY, "out of memory for %zu jobs",
                        jobs->count + 1);
    for (size_t i = 0; i < jobs->count; i++)
        if (strcmp(jobs->job[i].key, job.key) == 0) {
            *out = i;
            return PGCN_OK;
        }
    job.kind = find_kind(jobs, kind);
    *out = jobs->count;
    jobs->job[jobs->count++] = job;
    if (fresh && exp_job_path(jobs, &job, ".json", path)) unlink(path);
    if (!fresh) exp_job_recall(jobs, &jobs->job[*out]);
    return PGCN_OK;
}

void exp_job_keep_model(exp_jobs *jobs, exp_job *job) {
    char path[EXP_PATH_BYTES];
    job->keeps_model = true;
    if (job->state == EXP_DONE &&
        (!exp_job_path(jobs, job, EXP_MODEL_SUFFIX, path) || access(path, R_OK) != 0))
        job->state = EXP_WAITING;
}

void exp_job_label(const exp_job *job, char out[160]) {
    bool fixed = strcmp(job->config.split, "auto") != 0;
    snprintf(out, 160, "%.60s, %d layer%s%s%s, seed %llu", job->data->name, job->config.layers,
             job->config.layers == 1 ? "" : "s", fixed ? ", split " : "",
             fixed ? job->config.split : "", (unsigned long long)job->config.seed);
}

double exp_record_number(const json_t *record, const char *path) {
    char part[64];
    for (; record; path++) {
        size_t length = strcspn(path, ".");
        snprintf(part, sizeof part, "%.*s", (int)length, path);
        record = json_object_get(record, part);
        path += length;
        if (!*path) break;
    }
    return json_is_number(record) ? json_number_value(record) : NAN;
}
