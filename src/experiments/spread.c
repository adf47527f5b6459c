/* Mean and deviation of a figure over runs that belong together: each at the epoch that it chose
 * itself, or all at one common epoch. */
#include "experiments/experiments.h"

#include <math.h>

void exp_tally_add(exp_tally *tally, double figure) {
    double distance = figure - tally->mean;
    tally->count++;
    tally->mean += distance / tally->count;
    tally->squares += distance * (figure - tally->mean);
}

exp_spread exp_tally_spread(const exp_tally *tally) {
    return (exp_spread){tally->count > 0 ? tally->mean : NAN,
                        tally->count > 1 ? sqrt(tally->squares / (tally->count - 1)) : 0};
}

exp_spread exp_spread_of(const exp_jobs *jobs, const size_t *job, int count, const char *path) {
    exp_tally tally = {0};
    for (int i = 0; i < count; i++)
        if (jobs->job[job[i]].state == EXP_DONE)
            exp_tally_add(&tally, exp_record_number(jobs->job[job[i]].record, path));
    return exp_tally_spread(&tally);
}

json_t *exp_spread_to_json(exp_spread spread) {
    return json_pack("{s:o, s:o}", "mean", cli_json_real(spread.mean), "std",
                     cli_json_real(isnan(spread.mean) ? NAN : spread.deviation));
}

double exp_accuracy_after(const exp_job *job, int64_t epoch) {
    const json_t *curve = json_object_get(job->record, "val_curve");
    const json_t *at = epoch > 0 ? json_array_get(curve, (size_t)epoch - 1) : NULL;
    return json_is_number(at) ? json_number_value(at) : NAN;
}

/* Over those that are done; mean NaN if one of them did not evaluate after that epoch. */
static exp_spread spread_after(const exp_jobs *jobs, const size_t *job, int count, int64_t epoch) {
    exp_tally tally = {0};
    for (int i = 0; i < count; i++)
        if (jobs->job[job[i]].state == EXP_DONE)
            exp_tally_add(&tally, exp_accuracy_after(&jobs->job[job[i]], epoch));
    return exp_tally_spread(&tally);
}

int64_t exp_common_epoch(const exp_jobs *jobs, const size_t *job, int count, exp_spread *out) {
    int64_t epochs = 0, best = 0;
    *out = (exp_spread){NAN, 0};
    for (int i = 0; i < count; i++) {
        json_t *curve = json_object_get(jobs->job[job[i]].record, "val_curve");
        if (jobs->job[job[i]].state == EXP_DONE && (int64_t)json_array_size(curve) > epochs)
            epochs = (int64_t)json_array_size(curve);
    }
    for (int64_t epoch = 1; epoch <= epochs; epoch++) {
        exp_spread spread = spread_after(jobs, job, count, epoch);
        if (isnan(spread.mean) || (best > 0 && spread.mean <= out->mean)) continue;
        *out = spread;
        best = epoch;
    }
    return best;
}
