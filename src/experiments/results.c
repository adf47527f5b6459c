/* From the records of a cell's runs to its line of the table. */
#include "experiments/reproduce.h"

#include <math.h>
#include <string.h>

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
    if (isnan(s.test.mean)) s.common_epoch = exp_common_epoch(jobs, cell->job, cell->runs, &s.test);
    s.epochs = exp_spread_of(jobs, cell->job, cell->runs, "epochs").mean;
    if (cell->paper) s.difference = s.test.mean - cell->paper->accuracy;
    return s;
}

/* The cell of the same data set that is marked so far; NULL: none. */
static exp_cell *marked_before(exp_plan *plan, const exp_cell *cell) {
    for (size_t i = 0; i < plan->cells && &plan->cell[i] != cell; i++) {
        exp_cell *other = &plan->cell[i];
        if (other->best && other->experiment == cell->experiment &&
            strcmp(other->dataset, cell->dataset) == 0)
            return other;
    }
    return NULL;
}

void exp_mark_best(exp_plan *plan, const exp_jobs *jobs, const exp_experiment *experiment) {
    for (size_t i = 0; i < plan->cells; i++) {
        exp_cell *cell = &plan->cell[i];
        double mean = exp_summarise(jobs, cell).val.mean;
        if (cell->experiment != experiment || isnan(mean)) continue;
        exp_cell *best = marked_before(plan, cell);
        cell->best = !best || mean > exp_summarise(jobs, best).val.mean;
        if (best && cell->best) best->best = false;
    }
}
