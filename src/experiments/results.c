/* From the records of a cell's runs to its line of the table. */
#include "experiments/reproduce.h"

#include <math.h>
#include <string.h>

exp_spread exp_spread_of(const exp_jobs *jobs, const size_t *job, int count, const char *path) {
    double sum = 0, squares = 0;
    int done = 0;
    for (int i = 0; i < count; i++)
        if (jobs->job[job[i]].state == EXP_DONE) {
            sum += exp_record_number(jobs->job[job[i]].record, path);
            done++;
        }
    exp_spread spread = {done > 0 ? sum / done : NAN, 0};
    for (int i = 0; i < count; i++)
        if (jobs->job[job[i]].state == EXP_DONE) {
            double d = exp_record_number(jobs->job[job[i]].record, path) - spread.mean;
            squares += d * d;
        }
    if (done > 1) spread.deviation = sqrt(squares / (done - 1));
    return spread;
}

/* Mean and deviation over the runs of the validation accuracy after an epoch; evaluated in all. */
static exp_spread spread_at(const exp_jobs *jobs, const exp_cell *cell, size_t epoch) {
    double sum = 0, squares = 0;
    int done = 0;
    for (int i = 0; i < cell->runs; i++) {
        const json_t *record = jobs->job[cell->job[i]].record;
        const json_t *at = json_array_get(json_object_get(record, "val_curve"), epoch);
        if (jobs->job[cell->job[i]].state != EXP_DONE) continue;
        if (!json_is_number(at)) return (exp_spread){NAN, 0};
        sum += json_number_value(at);
        squares += json_number_value(at) * json_number_value(at);
        done++;
    }
    exp_spread spread = {done > 0 ? sum / done : NAN, 0};
    if (done > 1) spread.deviation = sqrt(fmax(squares - sum * spread.mean, 0) / (done - 1));
    return spread;
}

/* GIN's protocol: one epoch for all folds, the one with the best mean. */
static void choose_common_epoch(const exp_jobs *jobs, const exp_cell *cell, exp_summary *s) {
    size_t epochs = SIZE_MAX;
    for (int i = 0; i < cell->runs; i++) {
        const exp_job *job = &jobs->job[cell->job[i]];
        size_t count = json_array_size(json_object_get(job->record, "val_curve"));
        if (job->state == EXP_DONE && count < epochs) epochs = count;
    }
    for (size_t e = 0; s->done > 0 && e < epochs; e++) {
        exp_spread spread = spread_at(jobs, cell, e);
        if (isnan(spread.mean) || (s->common_epoch > 0 && spread.mean <= s->test.mean)) continue;
        s->test = spread;
        s->common_epoch = (int64_t)e + 1;
    }
}

exp_summary exp_summarise(const exp_jobs *jobs, const exp_cell *cell) {
    exp_summary s = {.difference = NAN};
    for (int i = 0; i < cell->runs; i++) {
        const exp_job *job = &jobs->job[cell->job[i]];
        const char *program = json_string_value(json_object_get(job->record, "program"));
        s.failed += job->state == EXP_FAILED;
        if (job->state != EXP_DONE) continue;
        s.done++;
        s.other_builds += !program || strcmp(program, exp_program_hash()) != 0;
        s.seconds += exp_record_number(job->record, "seconds");
        double peak = exp_record_number(job->record, "peak_rss_bytes");
        if (peak > s.peak_bytes) s.peak_bytes = peak;
    }
    const struct {
        exp_spread *to;
        const char *path;
    } figures[] = {
        {&s.test, "selected.test_accuracy"},
        {&s.val, "selected.val_accuracy"},
        {&s.by_loss, "by_val_loss.test_accuracy"},
        {&s.by_accuracy, "by_val_accuracy.test_accuracy"},
        {&s.best_test, "best_test_epoch.test_accuracy"},
        {&s.draw, "stochastic.test_accuracy_of_a_draw"},
        {&s.draw_deviation, "stochastic.test_accuracy_deviation"},
        {&s.draws, "stochastic.test_accuracy_of_the_mean"},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        *figures[i].to = exp_spread_of(jobs, cell->job, cell->runs, figures[i].path);
    if (isnan(s.test.mean)) choose_common_epoch(jobs, cell, &s);
    s.epochs = exp_spread_of(jobs, cell->job, cell->runs, "epochs").mean;
    if (cell->paper) s.difference = s.test.mean - cell->paper->accuracy;
    return s;
}
