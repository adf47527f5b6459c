/* The cells of an experiment for programs: NAME.csv and NAME.json. */
#include "experiments/reproduce.h"

#include <math.h>
#include <stdlib.h>

/* ---- CSV -------------------------------------------------------------------------------------- */

static void put_number(FILE *out, double number) {
    fputc(',', out);
    if (!isnan(number)) fprintf(out, "%.10g", number);
}

static const char *yes_no(bool flag) {
    return flag ? "yes" : "no";
}

void exp_print_csv(FILE *out, const exp_plan *plan, const exp_jobs *jobs,
                   const exp_experiment *experiment) {
    fprintf(
        out,
        "experiment,dataset,protocol,variant,kernel,layers,path_length,paths,runs,runs_done,runs_failed,"
        "test_mean,test_std,val_mean,test_by_val_loss,test_by_val_accuracy,"
        "best_test_epoch_mean,one_draw_mean,one_draw_std,mean_of_draws,paper,paper_layers,"
        "difference,seconds,epochs_mean,peak_rss_bytes,model,val_std,best_by_validation,quoted,one_seed,unpublished_settings,"
        "step_ms,inference_ms,sampling_ms,parameters,multiply_adds\n");
    for (size_t i = 0; i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        char kernel[32];
        if (cell->experiment != experiment || *cell->absent) continue;
        exp_summary s = exp_summarise(jobs, cell);
        pgcn_config_get(&cell->config, "kernel", kernel, sizeof kernel);
        fprintf(out, "%s,", experiment->name);
        cli_put_cell(out, cell->dataset);
        fprintf(out, ",%s,", exp_cell_protocol(cell));
        cli_put_cell(out, exp_cell_variant(cell));
        fprintf(out, ",%s,%d,%d,%d,%d,%d,%d", kernel, cell->config.layers, cell->config.path_length,
                cell->config.paths, cell->runs, s.done, s.failed);
        const double numbers[] = {s.test.mean,
                                  s.test.deviation,
                                  s.val.mean,
                                  s.by_loss.mean,
                                  s.by_accuracy.mean,
                                  s.best_test.mean,
                                  s.draw.mean,
                                  s.draw_deviation.mean,
                                  s.draws.mean,
                                  cell->paper ? cell->paper->accuracy : NAN,
                                  cell->paper && cell->paper->layers ? (double)cell->paper->layers
                                                                     : (double)NAN,
                                  s.difference,
                                  s.seconds,
                                  s.epochs,
                                  s.peak_bytes};
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) put_number(out, numbers[j]);
        fprintf(out, ",%s", cell->quoted ? "" : pgcn_network_name(cell->config.model));
        put_number(out, isnan(s.val.mean) ? (double)NAN : s.val.deviation);
        fprintf(out, ",%s,%s,%s,%s", yes_no(cell->best), yes_no(cell->quoted),
                yes_no(cell->one_seed), yes_no(cell->unpublished));
        const double times[] = {cell->times.step_ms, cell->times.inference_ms,
                                cell->times.sampling_ms, cell->times.parameters,
                                cell->times.multiply_adds};
        for (size_t j = 0; j < sizeof times / sizeof *times; j++) put_number(out, times[j]);
        fputc('\n', out);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static json_t *command_to_json(const exp_job *job, const char *recipe, const char *data_dir) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream) return json_null();
    exp_write_command(stream, job, recipe, data_dir);
    json_t *value = fclose(stream) == 0 ? json_string(text) : NULL;
    free(text);
    return value ? value : json_null();
}

static json_t *run_to_json(const exp_job *job, const exp_cell *cell, const char *data_dir) {
    static const char *const states[] = {"waiting", "running", "done", "failed"};
    const json_t *record = job->record;
    json_t *run = json_pack("{s:s, s:s, s:o}", "state", states[job->state], "key", job->key,
                            "command", command_to_json(job, cell->recipe, data_dir));
    if (job->state == EXP_FAILED) json_object_set_new(run, "failure", json_string(job->failure));
    if (job->state != EXP_DONE) return run;
    static const char *const copied[] = {
        "seed",       "split",  "selected", "by_val_loss",   "by_val_accuracy", "best_test_epoch",
        "stochastic", "epochs", "seconds",  "peak_rss_bytes"};
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        json_object_set(run, copied[i], json_object_get(record, copied[i]));
    return run;
}

static json_t *paper_to_json(const exp_paper *paper) {
    return json_pack("{s:f, s:o, s:o, s:s}", "accuracy", paper->accuracy, "std",
                     cli_json_real(paper->deviation), "layers",
                     paper->layers ? json_integer(paper->layers) : json_null(), "place",
                     exp_paper_source(paper->place));
}

static json_t *draws_to_json(const exp_summary *s) {
    return json_pack("{s:i, s:o, s:o, s:o}", "draws", EXP_DRAWS, "one_draw",
                     cli_json_real(s->draw.mean), "one_draw_std",
                     cli_json_real(s->draw_deviation.mean), "mean_of_draws",
                     cli_json_real(s->draws.mean));
}

static json_t *runs_to_json(const exp_jobs *jobs, const exp_cell *cell, const char *data_dir) {
    json_t *runs = json_array();
    for (int i = 0; i < cell->runs; i++)
        json_array_append_new(runs, run_to_json(&jobs->job[cell->job[i]], cell, data_dir));
    return runs;
}

/* Its name, and the settings that it changes. */
static void put_variant(json_t *object, const exp_cell *cell) {
    json_t *settings = json_object();
    for (const exp_setting *change = cell->variant->change; change->key; change++) {
        char value[PGCN_SETTING_BYTES];
        pgcn_config_get(&cell->config, change->key, value, sizeof value);
        json_object_set_new(settings, change->key, json_string(value));
    }
    json_object_set_new(object, "variant", json_string(cell->variant->name));
    json_object_set_new(object, "settings", settings);
    if (cell->experiment->marks_best)
        json_object_set_new(object, "best_by_validation", json_boolean(cell->best));
}

static void put_marks(json_t *object, const exp_cell *cell) {
    const exp_times *times = &cell->times;
    if (cell->experiment->networks) {
        json_object_set_new(object, "one_seed", json_boolean(cell->one_seed));
        json_object_set_new(object, "unpublished_settings", json_boolean(cell->unpublished));
    }
    if (cell->experiment->timed)
        json_object_set_new(object, "times",
                            json_pack("{s:o, s:o, s:o, s:o, s:o}", "step_ms",
                                      cli_json_real(times->step_ms), "inference_ms",
                                      cli_json_real(times->inference_ms), "sampling_ms",
                                      cli_json_real(times->sampling_ms), "parameters",
                                      cli_json_real(times->parameters), "multiply_adds",
                                      cli_json_real(times->multiply_adds)));
}

static json_t *cell_to_json(const exp_jobs *jobs, const exp_cell *cell, const char *data_dir) {
    if (*cell->absent)
        return json_pack("{s:s, s:s}", "dataset", cell->dataset, "absent", cell->absent);
    if (cell->quoted)
        return json_pack("{s:s, s:s, s:b, s:o}", "dataset", cell->dataset, "variant",
                         cell->variant->name, "quoted", 1, "paper",
                         cell->paper ? paper_to_json(cell->paper) : json_null());
    exp_summary s = exp_summarise(jobs, cell);
    char kernel[32];
    pgcn_config_get(&cell->config, "kernel", kernel, sizeof kernel);
    json_t *object = json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:f, s:o, s:o}",
        "dataset", cell->dataset, "kernel", kernel, "layers", cell->config.layers, "path_length",
        cell->config.path_length, "paths", cell->config.paths, "runs_wanted", cell->runs,
        "runs_done", s.done, "runs_failed", s.failed, "test_accuracy", exp_spread_to_json(s.test),
        "val_accuracy", exp_spread_to_json(s.val), "test_accuracy_by_val_loss",
        exp_spread_to_json(s.by_loss), "test_accuracy_by_val_accuracy",
        exp_spread_to_json(s.by_accuracy), "best_test_epoch_test_accuracy",
        exp_spread_to_json(s.best_test), "seconds", s.seconds, "command",
        command_to_json(&jobs->job[cell->job[0]], cell->recipe, data_dir), "runs",
        runs_to_json(jobs, cell, data_dir));
    json_object_set_new(object, "stochastic_inference", draws_to_json(&s));
    json_object_set_new(object, "select",
                        json_string(cell->config.select == PGCN_SELECT_LOSS ? "loss" : "accuracy"));
    json_object_set_new(object, "model", json_string(pgcn_network_name(cell->config.model)));
    if (cell->variant) put_variant(object, cell);
    put_marks(object, cell);
    if (cell->protocol) json_object_set_new(object, "protocol", json_string(cell->protocol->name));
    if (s.common_epoch > 0)
        json_object_set_new(object, "common_epoch", json_integer((json_int_t)s.common_epoch));
    if (*cell->recipe) json_object_set_new(object, "recipe", json_string(cell->recipe));
    if (!cell->paper) return object;
    json_object_set_new(object, "paper", paper_to_json(cell->paper));
    json_object_set_new(object, "difference", cli_json_real(s.difference));
    return object;
}

json_t *exp_make_json(const exp_plan *plan, const exp_jobs *jobs, const exp_request *r,
                      const exp_experiment *experiment) {
    json_t *cells = json_array();
    for (size_t i = 0; i < plan->cells; i++)
        if (plan->cell[i].experiment == experiment)
            json_array_append_new(cells, cell_to_json(jobs, &plan->cell[i], r->data_dir));
    return json_pack("{s:s, s:s, s:s, s:s, s:b, s:o}", "experiment", experiment->name, "title",
                     experiment->title, "version", PGCN_VERSION, "accuracy_unit", "percent",
                     "quick", (int)r->quick, "cells", cells);
}
