/* The table of an experiment: for people on standard output, and as NAME.md, NAME.csv and NAME.json
 * beside the jobs. */
#include "experiments/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------- */

/* "10", or "7 of 10 (3 failed)". */
static void add_runs(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    char failed[32] = "";
    if (s->failed > 0) snprintf(failed, sizeof failed, " (%d failed)", s->failed);
    if (s->done == cell->runs)
        exp_table_add(table, "%d", cell->runs);
    else
        exp_table_add(table, "%d of %d%s", s->done, cell->runs, failed);
}

static void add_spread(exp_table *table, exp_spread spread) {
    if (isnan(spread.mean))
        exp_table_add(table, "-");
    else
        exp_table_add(table, "%.2f ± %.2f", spread.mean, spread.deviation);
}

static void add_number(exp_table *table, double number) {
    exp_table_add(table, isnan(number) ? "-" : "%.2f", number);
}

static void add_difference(exp_table *table, double number) {
    exp_table_add(table, isnan(number) ? "-" : "%+.2f", number);
}

static void add_paper(exp_table *table, const exp_cell *cell) {
    const exp_paper *paper = cell->paper;
    if (!paper)
        exp_table_add(table, "-");
    else if (paper->layers > 0 && paper->layers != cell->config.layers)
        exp_table_add(table, "%.2f (%d layers)", paper->accuracy, paper->layers);
    else
        exp_table_add(table, "%.2f", paper->accuracy);
}

static void add_row(exp_table *table, const exp_cell *cell, const exp_summary *s) {
    const exp_experiment *experiment = cell->experiment;
    bool available = !*cell->absent;
    exp_table_add(table, "%s", cell->dataset);
    if (experiment->protocols) exp_table_add(table, "%s", exp_cell_protocol(cell));
    if (experiment->variants) exp_table_add(table, "%s", exp_cell_variant(cell));
    if (experiment->axis) exp_table_add(table, "%d", cell->value);
    exp_table_add(table, available ? "%d" : "-", cell->config.layers);
    if (!available) {
        exp_table_add(table, "not available");
        for (int i = 0; i < 3; i++) exp_table_add(table, "-");
    } else {
        add_runs(table, cell, s);
        add_spread(table, s->test);
        if (experiment->stochastic) {
            add_spread(table, (exp_spread){s->draw.mean, s->draw_deviation.mean});
            add_number(table, s->draws.mean);
        } else {
            add_number(table, s->val.mean);
            add_number(table, s->best_test.mean);
        }
    }
    add_paper(table, cell);
    if (experiment->stochastic) {
        add_spread(table, cell->paper
                              ? (exp_spread){cell->paper->stochastic, cell->paper->deviation}
                              : (exp_spread){NAN, NAN});
        add_difference(table, available ? s->draws.mean - s->test.mean : NAN);
    } else {
        add_difference(table, s->difference);
    }
}

static exp_table *make_table(const exp_plan *plan, const exp_jobs *jobs,
                             const exp_experiment *experiment) {
    char heads[256];
    const char *figures =
        experiment->stochastic
            ? ">deterministic|>one draw of 10|>mean of 10 draws|>paper|>paper, stochastic|"
              ">mean of draws - deterministic"
            : ">test|>validation|>best test epoch|>paper|>difference";
    snprintf(heads, sizeof heads, "data set|%s%s%s%s%s>layers|>runs|%s",
             experiment->protocols ? "protocol|" : "",
             !experiment->variants   ? ""
             : experiment->protocols ? "model|"
                                     : "kernel|",
             experiment->axis ? ">" : "", experiment->axis ? experiment->axis : "",
             experiment->axis ? "|" : "", figures);
    exp_table *table = exp_table_new(heads);
    for (size_t i = 0; table && i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        if (cell->experiment != experiment) continue;
        exp_summary s = exp_summarise(jobs, cell);
        add_row(table, cell, &s);
    }
    return table;
}

/* The curve as bars, one per value, scaled from its lowest point to its highest. */
static void print_curves(FILE *out, const exp_plan *plan, const exp_jobs *jobs,
                         const exp_experiment *experiment) {
    enum { WIDTH = 50 };
    const char *last = "";
    double low = INFINITY, high = -INFINITY;
    if (!experiment->axis) return;
    for (size_t i = 0; i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        if (cell->experiment != experiment || *cell->absent) continue;
        if (strcmp(cell->dataset, last) != 0) { /* the scale of this data set */
            low = INFINITY, high = -INFINITY;
            for (size_t j = i; j < plan->cells; j++) {
                if (plan->cell[j].experiment != experiment ||
                    strcmp(plan->cell[j].dataset, cell->dataset) != 0)
                    continue;
                double mean = exp_summarise(jobs, &plan->cell[j]).test.mean;
                low = fmin(low, mean);
                high = fmax(high, mean);
            }
            fprintf(out, "\n%s, test accuracy by %s:\n", cell->dataset, experiment->axis);
        }
        last = cell->dataset;
        double mean = exp_summarise(jobs, cell).test.mean;
        if (isnan(mean)) continue;
        int bar = high > low ? 1 + (int)((WIDTH - 1) * (mean - low) / (high - low)) : WIDTH;
        fprintf(out, "%6d  %6.2f  %.*s\n", cell->value, mean, bar,
                "##################################################");
    }
}

/* Warnings about missing runs and other builds. */
static void print_notes(FILE *out, const exp_plan *plan, const exp_jobs *jobs,
                        const exp_experiment *experiment) {
    int missing = 0, failed = 0, other = 0;
    for (size_t i = 0; i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        if (cell->experiment != experiment) continue;
        if (*cell->absent) fprintf(out, "%s is not available: %s\n", cell->dataset, cell->absent);
        exp_summary s = exp_summarise(jobs, cell);
        missing += cell->runs - s.done;
        failed += s.failed;
        other += s.other_builds;
    }
    if (missing > 0)
        fprintf(out,
                "%d run%s missing, %d of them failed: the means above are over fewer runs than "
                "asked for.\n",
                missing, missing == 1 ? " is" : "s are", failed);
    if (other > 0)
        fprintf(out, "%d run%s made by another build of the program; --fresh makes all again.\n",
                other, other == 1 ? " was" : "s were");
}

static void print_for_people(FILE *out, const exp_plan *plan, const exp_jobs *jobs,
                             const exp_experiment *experiment, bool markdown) {
    exp_table *table = make_table(plan, jobs, experiment);
    fprintf(out, "%s%s\n\n", markdown ? "## " : "", experiment->title);
    exp_table_print(out, table, markdown);
    exp_table_free(table);
    fprintf(out, "\nAccuracy in percent, mean ± deviation over the runs, of the weights that "
                 "validation chose.\n");
    if (experiment->protocols)
        fprintf(
            out,
            "Protocol GIN, which the paper follows: accuracy on the fold that is left out, "
            "at the one epoch with\nthe best mean over the folds; there is no test. 'Held "
            "out': one fold validates, another is tested once;\nsettings that were chosen over all "
            "folds, as those of the built-in recipes, have seen its graphs.\n");
    if (!experiment->stochastic)
        fprintf(out, "'Best test epoch' is what looking at the test items would give; it is no "
                     "result.\n");
    print_notes(out, plan, jobs, experiment);
    if (!markdown) print_curves(out, plan, jobs, experiment);
}

/* ---- CSV -------------------------------------------------------------------------------------- */

static void put_number(FILE *out, double number) {
    fputc(',', out);
    if (!isnan(number)) fprintf(out, "%.10g", number);
}

static void print_csv(FILE *out, const exp_plan *plan, const exp_jobs *jobs,
                      const exp_experiment *experiment) {
    fprintf(
        out,
        "experiment,dataset,protocol,variant,kernel,layers,path_length,paths,runs,runs_done,runs_failed,"
        "test_mean,test_std,val_mean,test_by_val_loss,test_by_val_accuracy,"
        "best_test_epoch_mean,one_draw_mean,one_draw_std,mean_of_draws,paper,paper_layers,"
        "difference,seconds,epochs_mean,peak_rss_bytes\n");
    for (size_t i = 0; i < plan->cells; i++) {
        const exp_cell *cell = &plan->cell[i];
        char kernel[32];
        if (cell->experiment != experiment || *cell->absent) continue;
        exp_summary s = exp_summarise(jobs, cell);
        pgcn_config_get(&cell->config, "kernel", kernel, sizeof kernel);
        fprintf(out, "%s,", experiment->name);
        cli_put_cell(out, cell->dataset);
        fprintf(out, ",%s,%s,%s,%d,%d,%d,%d,%d,%d", exp_cell_protocol(cell), exp_cell_variant(cell),
                kernel, cell->config.layers, cell->config.path_length, cell->config.paths,
                cell->runs, s.done, s.failed);
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
    return json_pack("{s:f, s:o, s:s}", "accuracy", paper->accuracy, "layers",
                     paper->layers ? json_integer(paper->layers) : json_null(), "place",
                     paper->source);
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

static json_t *cell_to_json(const exp_jobs *jobs, const exp_cell *cell, const char *data_dir) {
    if (*cell->absent)
        return json_pack("{s:s, s:s}", "dataset", cell->dataset, "absent", cell->absent);
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
    if (cell->variant) json_object_set_new(object, "variant", json_string(cell->variant->name));
    if (cell->protocol) json_object_set_new(object, "protocol", json_string(cell->protocol->name));
    if (s.common_epoch > 0)
        json_object_set_new(object, "common_epoch", json_integer((json_int_t)s.common_epoch));
    if (*cell->recipe) json_object_set_new(object, "recipe", json_string(cell->recipe));
    if (!cell->paper) return object;
    json_object_set_new(object, "paper", paper_to_json(cell->paper));
    json_object_set_new(object, "difference", cli_json_real(s.difference));
    return object;
}

static json_t *make_json(const exp_plan *plan, const exp_jobs *jobs, const exp_request *r,
                         const exp_experiment *experiment) {
    json_t *cells = json_array();
    for (size_t i = 0; i < plan->cells; i++)
        if (plan->cell[i].experiment == experiment)
            json_array_append_new(cells, cell_to_json(jobs, &plan->cell[i], r->data_dir));
    return json_pack("{s:s, s:s, s:s, s:s, s:b, s:o}", "experiment", experiment->name, "title",
                     experiment->title, "version", PGCN_VERSION, "accuracy_unit", "percent",
                     "quick", (int)r->quick, "cells", cells);
}

/* ---- files ------------------------------------------------------------------------------------ */

static pgcn_status write_file(const exp_request *r, const char *name, const char *ending,
                              const char *text) {
    char path[EXP_PATH_BYTES];
    if ((size_t)snprintf(path, sizeof path, "%s/%s.%s", r->out, name, ending) >= sizeof path ||
        !text)
        return cli_fail(r->command, PGCN_ERR_MEMORY, "out of memory for the %s of %s", ending,
                        name);
    return cli_report(r->command, pgcn_file_write(path, text, strlen(text)));
}

pgcn_status exp_report(const exp_plan *plan, const exp_jobs *jobs, const exp_request *r,
                       const exp_experiment *experiment) {
    char *csv = NULL, *markdown = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&csv, &bytes);
    if (stream) print_csv(stream, plan, jobs, experiment);
    if (stream) fclose(stream);
    stream = open_memstream(&markdown, &bytes);
    if (stream) print_for_people(stream, plan, jobs, experiment, true);
    if (stream) fclose(stream);
    json_t *object = make_json(plan, jobs, r, experiment);
    char *json = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
    pgcn_status status = write_file(r, experiment->name, "csv", csv);
    if (status == PGCN_OK) status = write_file(r, experiment->name, "md", markdown);
    if (status == PGCN_OK) status = write_file(r, experiment->name, "json", json);
    if (status == PGCN_OK && r->json) {
        status = cli_print_json(r->command, json_incref(object));
    } else if (status == PGCN_OK) {
        print_for_people(stdout, plan, jobs, experiment, false);
        printf("\nThe same in %s/%s.json, .csv and .md.\n\n", r->out, experiment->name);
    }
    json_decref(object);
    free(json);
    free(markdown);
    free(csv);
    return status;
}
