/* Estimates how long jobs will take. The best source is a job of the same kind that is done; the
 * next best a few timed epochs, and the share of their epochs after which other jobs stopped. */
#include "experiments/experiments.h"

static bool may_stop_early(const pgcn_config *config) {
    return config->patience > 0 && config->patience < config->epochs;
}

/* The share of its epochs that a training with patience uses. 0.35 before anything is known, the
 * value of the recipes of the citation graphs. */
static double share_of_epochs(const exp_jobs *jobs) {
    double used = 0, allowed = 0;
    for (size_t i = 0; i < jobs->count; i++) {
        const exp_job *job = &jobs->job[i];
        if (job->state != EXP_DONE || !may_stop_early(&job->config)) continue;
        used += exp_record_number(job->record, "epochs");
        allowed += job->config.epochs;
    }
    return allowed > 0 ? used / allowed : 0.35;
}

/* For a kind that was neither run nor timed: the mean of those that were. */
static double usual_epoch_seconds(const exp_jobs *jobs) {
    double sum = 0;
    int known = 0;
    for (size_t i = 0; i < jobs->kinds; i++) {
        const exp_kind *kind = &jobs->kind[i];
        if (kind->epoch_seconds <= 0 && kind->epochs <= 0) continue;
        sum += kind->epochs > 0 ? kind->seconds / kind->epochs : kind->epoch_seconds;
        known++;
    }
    return known > 0 ? sum / known : 0.01;
}

double exp_expected_seconds(const exp_jobs *jobs, const exp_job *job, double *most) {
    const exp_kind *kind = &jobs->kind[job->kind];
    double epoch = kind->epochs > 0          ? kind->seconds / kind->epochs
                   : kind->epoch_seconds > 0 ? kind->epoch_seconds
                                             : usual_epoch_seconds(jobs);
    double share = may_stop_early(&job->config) ? share_of_epochs(jobs) : 1;
    if (most) *most = kind->setup_seconds + epoch * job->config.epochs;
    if (kind->done > 0) return kind->seconds / kind->done;
    return kind->setup_seconds + epoch * share * job->config.epochs;
}
