/* One run of pathgcn train: a seed in its directory. Read from cli_train_run, at the end,
 * backwards: the trainer, the directory, the checkpoint to continue from, the epochs with progress
 * and checkpoints, the files. A finished run is not touched before another one is finished
 * (train_place.c). */
#include "cli/train.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHECKPOINT_SECONDS = 10 };

/* ---- progress --------------------------------------------------------------------------------- */

typedef struct meter {
    cli_progress *progress;
    double begin;
    double first; /* epochs that were done before */
    int epochs;   /* of the run */
    long long run, runs;
    double val, best_val,
        loss; /* validation accuracy: last one, and that of the best weights; training loss */
    pgcn_row_reads before, reads; /* of features on disk: until the last epoch, and in it */
} meter;

/* What the last epoch read of features that are on disk; NULL: they are in memory. */
static const pgcn_row_reads *meter_reads(meter *m, const pgcn_trainer *trainer) {
    pgcn_row_reads now;
    if (!pgcn_trainer_row_reads(trainer, &now)) return NULL;
    m->reads = (pgcn_row_reads){.hits = now.hits - m->before.hits,
                                .misses = now.misses - m->before.misses,
                                .bytes = now.bytes - m->before.bytes,
                                .cache_bytes = now.cache_bytes};
    m->before = now;
    return &m->reads;
}

static void meter_see(meter *m, const pgcn_epoch *epoch) {
    m->loss = epoch->train_loss;
    if (!isnan(epoch->val_accuracy)) m->val = epoch->val_accuracy;
    if (epoch->best) m->best_val = epoch->val_accuracy;
}

/* Epochs that are done, with the share of the present one. */
static double epochs_done(const pgcn_trainer *trainer) {
    int64_t epochs, all, steps = pgcn_trainer_steps(trainer, &all);
    pgcn_trainer_history(trainer, &epochs);
    return (double)epochs + (double)steps / (double)all;
}

static void meter_start(meter *m, const pgcn_trainer *trainer, int epochs) {
    int64_t count;
    const pgcn_epoch *history = pgcn_trainer_history(trainer, &count);
    m->val = m->best_val = m->loss = NAN;
    for (int64_t i = 0; i < count; i++) meter_see(m, &history[i]);
    m->first = epochs_done(trainer);
    m->epochs = epochs;
    m->begin = cli_now();
}

/* How long it will take at most comes first. In the middle of an epoch the steps of it are shown. */
static void meter_show(meter *m, const pgcn_trainer *trainer) {
    bool last = pgcn_trainer_finished(trainer);
    if (!last && !cli_progress_is_due(m->progress)) return;
    int64_t epochs, all, steps = pgcn_trainer_steps(trainer, &all);
    pgcn_trainer_history(trainer, &epochs);
    double done = epochs_done(trainer), speed = (done - m->first) / (cli_now() - m->begin);
    if (!(speed > 0)) return; /* nothing is known yet */
    char time[32], left[64], run[48] = "", at[64], step[64] = "", val[64] = "", loss[32] = "",
                             rate[48], rows[80];
    cli_format_duration(((double)m->epochs - done) / speed, time);
    snprintf(left, sizeof left, "at most %s left", time);
    if (m->runs > 1) snprintf(run, sizeof run, "run %lld/%lld", m->run, m->runs);
    snprintf(at, sizeof at, "epoch %lld/%d", (long long)epochs + (steps > 0), m->epochs);
    if (steps > 0) snprintf(step, sizeof step, "step %lld/%lld", (long long)steps, (long long)all);
    if (!isnan(m->best_val))
        snprintf(val, sizeof val, "val %.1f%% (kept %.1f%%)", m->val, m->best_val);
    if (!isnan(m->loss)) snprintf(loss, sizeof loss, "loss %.4f", m->loss);
    cli_format_speed(speed, "epoch", rate);
    pgcn_row_reads reads = {.hits = 0}; /* of the run so far */
    (void)pgcn_trainer_row_reads(trainer, &reads);
    cli_format_reads(&reads, rows);
    const char *const piece[] = {last ? "done" : left, run, at, step, val, loss, rate, rows, NULL};
    if (last)
        cli_progress_end(m->progress, piece);
    else
        cli_progress_show(m->progress, done / m->epochs, piece);
}

/* ---- history.jsonl ---------------------------------------------------------------------------- */

static pgcn_status fail_history(const train_files *files) {
    return cli_fail(&cli_train, PGCN_ERR_IO, "cannot write '%s': %s", files->history,
                    pgcn_system_error(errno));
}

/* Opens it and writes the epochs that a resumed run already has. Every complete line is flushed, so
 * that others can follow the run. */
static pgcn_status open_history(const train_files *files, const pgcn_trainer *trainer,
                                const pgcn_config *config, FILE **out) {
    FILE *file = fopen(files->history, "w");
    int64_t count;
    const pgcn_epoch *history = pgcn_trainer_history(trainer, &count);
    bool fine = file && setvbuf(file, NULL, _IOLBF, BUFSIZ) == 0;
    for (int64_t i = 0; fine && i < count; i++)
        fine = cli_write_history_line(file, &history[i], config, NULL);
    *out = file;
    if (fine) return PGCN_OK;
    pgcn_status status = fail_history(files);
    if (file) fclose(file);
    return status;
}

/* Its lines must be on disk before the run can take the place of another. */
static bool close_history(FILE *file) {
    bool fine = fflush(file) == 0 && (fsync(fileno(file)) == 0 || errno == EINVAL);
    return fclose(file) == 0 && fine;
}

/* ---- the run ---------------------------------------------------------------------------------- */

/* One seed on its way from the trainer to its files. */
typedef struct run_state {
    const train_request *r;
    const pgcn_config *config;
    const pgcn_dataset *data;
    pgcn_trainer *trainer;
    train_files *files;
    meter meter;
    double saved; /* when the last checkpoint was written */
    train_outcome *out;
} run_state;

/* The first checkpoint shows at once whether there is space. It is also the one to go back to
 * should the loss explode before the second. */
static bool checkpoint_is_due(const train_request *r, int64_t epoch, double saved) {
    if (epoch == 1) return true;
    if (r->checkpoint_every > 0) return epoch % r->checkpoint_every == 0;
    return cli_now() - saved > CHECKPOINT_SECONDS;
}

/* Between two steps: a long epoch shows how far it is, is saved, and ends at Ctrl-C. */
static bool goes_on(void *context) {
    run_state *s = context;
    meter_show(&s->meter, s->trainer);
    bool save = s->r->checkpoint_every == 0 && cli_now() - s->saved > CHECKPOINT_SECONDS;
    return !cli_interrupted() && !save;
}

/* One epoch, or what of it was done when goes_on() ended it. */
static pgcn_status run_epoch(run_state *s, FILE *history, bool *history_fine) {
    pgcn_epoch epoch;
    pgcn_status status = pgcn_trainer_epoch(s->trainer, &epoch);
    bool whole = status == PGCN_OK;
    if (!whole && status != PGCN_ERR_STOPPED) return status;
    if (whole) {
        meter_see(&s->meter, &epoch);
        meter_show(&s->meter, s->trainer);
        *history_fine =
            cli_write_history_line(history, &epoch, s->config, meter_reads(&s->meter, s->trainer));
    }
    if (whole ? !checkpoint_is_due(s->r, epoch.epoch, s->saved) : cli_interrupted()) return PGCN_OK;
    status = pgcn_trainer_save(s->trainer, s->files->checkpoint);
    s->saved = cli_now();
    return status;
}

/* Trains until the run is finished or interrupted. Errors are not printed yet: `history_fine` says
 * whether the status is that of the trainer. */
static pgcn_status run_epochs(run_state *s, FILE *history, bool *history_fine) {
    pgcn_status status = PGCN_OK;
    s->saved = cli_now();
    pgcn_trainer_on_step(s->trainer, goes_on, s);
    while (status == PGCN_OK && *history_fine && !cli_interrupted() &&
           !pgcn_trainer_finished(s->trainer))
        status = run_epoch(s, history, history_fine);
    pgcn_trainer_on_step(s->trainer, NULL, NULL);
    cli_progress_clear(s->meter.progress);
    return status;
}

/* On several ranks: what started them. */
static void print_launcher(void) {
    int ranks = pgcn_ranks_expected(NULL);
    if (ranks > 1)
        fprintf(stderr, "%s -n %d ", getenv("SLURM_STEP_NUM_TASKS") ? "srun" : "mpirun", ranks);
}

/* What is done: "after epoch 3", with the steps of the next one. */
static void print_progress(const pgcn_trainer *trainer) {
    int64_t epochs, all, steps = pgcn_trainer_steps(trainer, &all);
    pgcn_trainer_history(trainer, &epochs);
    fprintf(stderr, "after epoch %lld", (long long)epochs);
    if (steps > 0)
        fprintf(stderr, ", %lld of %lld steps of the next,", (long long)steps, (long long)all);
}

static void note_resumed(const run_state *s) {
    if (s->r->quiet || pgcn_trainer_finished(s->trainer)) return;
    fputs("note: ", stderr);
    if (s->meter.runs > 1) fprintf(stderr, "run %lld/%lld is ", s->meter.run, s->meter.runs);
    fputs("going on ", stderr);
    print_progress(s->trainer);
    fprintf(stderr, " from %s\n", s->files->checkpoint);
}

/* The command as it was typed, with --resume in front, where no "--" can stand before it. */
static void print_how_to_resume(const run_state *s) {
    const train_request *r = s->r;
    const train_files *files = s->files;
    fputs("Interrupted ", stderr);
    print_progress(s->trainer);
    fprintf(stderr, " and saved in %s.", files->work);
    if (cli_train_is_staged(files))
        fprintf(stderr, " %s keeps the run that it holds until this one is finished.", files->home);
    fprintf(stderr, " To go on:\n  ");
    print_launcher();
    cli_print_quoted(stderr, cli_program);
    fprintf(stderr, " train --resume");
    for (int i = 0; i < r->argc; i++) {
        if (strcmp(r->argv[i], "--resume") == 0 || strcmp(r->argv[i], "--overwrite") == 0) continue;
        fputc(' ', stderr);
        cli_print_quoted(stderr, r->argv[i]);
    }
    fputc('\n', stderr);
}

/* The best weights; model.safetensors only if `write`. */
static pgcn_status take_model(const run_state *s, bool write) {
    pgcn_model *model;
    pgcn_status status = pgcn_trainer_model(s->trainer, &model);
    if (status != PGCN_OK) return status;
    s->out->parameters = pgcn_model_parameters(model);
    if (write) status = pgcn_model_save(model, s->files->model);
    pgcn_model_free(model);
    return status;
}

/* Reports an error of the trainer. After a loss that is not finite the last checkpoint stays as it
 * is: it is the last good one. The best weights are good too and are written. */
static pgcn_status stop_at_error(const run_state *s, pgcn_status status) {
    char sentence[2048];
    snprintf(sentence, sizeof sentence, "%s", pgcn_last_error());
    bool kept =
        status == PGCN_ERR_NUMERIC && s->out->best_epoch > 0 && take_model(s, true) == PGCN_OK;
    bool staged = cli_train_is_staged(s->files);
    /* what could not be read from disk has changed nothing: the steps before it are kept */
    bool resumable = s->r->source.memory > 0 && status != PGCN_ERR_NUMERIC &&
                     pgcn_trainer_save(s->trainer, s->files->checkpoint) == PGCN_OK;
    return cli_fail(&cli_train, status, "%s%s%s%s%s%s", sentence,
                    kept ? "; the best weights so far are in " : "", kept ? s->files->model : "",
                    staged ? "; nothing was changed of the run in " : "",
                    staged ? s->files->home : "",
                    resumable ? "; all steps before are saved: the same command with --resume "
                                "goes on"
                              : "");
}

static pgcn_status write_result(const run_state *s) {
    json_t *object = cli_train_outcome_to_json(s->out);
    json_object_set_new(object, "machine", cli_machine_to_json());
    json_object_set_new(object, "classes", cli_train_classes_to_json(s->data));
    pgcn_status status = cli_write_json(&cli_train, s->files->result, object,
                                        JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    json_decref(object);
    return status;
}

/* Writes the files of a run that ended well or was interrupted. */
static pgcn_status write_files(const run_state *s) {
    train_outcome *out = s->out;
    pgcn_status status = pgcn_trainer_save(s->trainer, s->files->checkpoint);
    if (status == PGCN_ERR_NUMERIC) return stop_at_error(s, status);
    if (status == PGCN_OK && out->best_epoch > 0) status = take_model(s, true);
    CLI_TRY(cli_report(&cli_train, status));
    if (!pgcn_trainer_finished(s->trainer)) {
        print_how_to_resume(s);
        return PGCN_ERR_SYSTEM;
    }
    CLI_TRY(cli_report(&cli_train, pgcn_trainer_scores(s->trainer, &out->val, &out->test)));
    CLI_TRY(write_result(s));
    return cli_train_commit(s->files);
}

static pgcn_status train_and_write(run_state *s) {
    const train_request *r = s->r;
    const train_files *files = s->files;
    FILE *history;
    unlink(files->result); /* its presence says that the run is finished */
    /* before there is a model: the two belong together at any moment */
    CLI_TRY(cli_source_write(&cli_train, files->work, r->dataset, &r->source));
    CLI_TRY(open_history(files, s->trainer, s->config, &history));
    meter_start(&s->meter, s->trainer, s->config->epochs);
    bool history_fine = true;
    pgcn_status status = run_epochs(s, history, &history_fine), written = PGCN_OK;
    if (!history_fine) written = fail_history(files);
    if (!close_history(history) && history_fine && status == PGCN_OK) written = fail_history(files);
    CLI_TRY(written);
    cli_train_summarise(s->trainer, s->data, s->out);
    s->out->seconds = cli_now() - s->meter.begin;
    if (status == PGCN_OK)
        CLI_TRY(cli_report(&cli_train, pgcn_trainer_traffic(s->trainer, &s->out->traffic)));
    s->out->on_disk = pgcn_trainer_row_reads(s->trainer, &s->out->reads);
    return status == PGCN_OK ? write_files(s) : stop_at_error(s, status);
}

/* Whether it is the very same run, with equal settings that a resumed run may change. */
static bool is_same_length(const run_state *s) {
    pgcn_model *model = NULL;
    bool same = pgcn_model_load(s->files->model, &model) == PGCN_OK &&
                pgcn_model_config(model)->epochs == s->config->epochs &&
                pgcn_model_config(model)->patience == s->config->patience;
    pgcn_model_free(model);
    return same;
}

/* Loads the checkpoint: to go on with --resume, or to see whether a finished run is this one. */
static pgcn_status load_checkpoint(const run_state *s) {
    const train_request *r = s->r;
    pgcn_resume_opts opts = pgcn_resume_opts_default();
    opts.accept_other_version = r->accept_other_version;
    pgcn_status status = pgcn_trainer_resume_with(s->trainer, s->files->checkpoint, &opts);
    if (status == PGCN_ERR_MISMATCH && !r->resume)
        return cli_train_refuse_other(s->files, pgcn_last_error());
    CLI_TRY(cli_report(&cli_train, status));
    if (!r->resume && !is_same_length(s))
        return cli_train_refuse_other(
            s->files, "its epochs or patience are others and --resume would go on with it");
    const char *note;
    for (int i = 0; !r->quiet && (note = pgcn_trainer_note(s->trainer, i)); i++)
        fprintf(stderr, "note: %s\n", note);
    return PGCN_OK;
}

/* The result of a finished run, which stays as it is. */
static pgcn_status reuse_result(const run_state *s) {
    train_outcome *out = s->out;
    cli_train_summarise(s->trainer, s->data, out);
    cli_train_recall_times(s->files->result, out);
    pgcn_status status = take_model(s, false);
    if (status == PGCN_OK) status = pgcn_trainer_scores(s->trainer, &out->val, &out->test);
    CLI_TRY(cli_report(&cli_train, status));
    out->reused = true;
    return cli_train_commit(s->files);
}

static pgcn_status train_or_reuse(run_state *s) {
    train_files *files = s->files;
    if (files->started) CLI_TRY(load_checkpoint(s));
    if (files->finished && pgcn_trainer_finished(s->trainer)) return reuse_result(s);
    if (files->started) note_resumed(s);
    if (files->finished && !cli_train_is_staged(files)) CLI_TRY(cli_train_stage(files));
    return train_and_write(s);
}

/* Finds and locks the directory of the run. */
static pgcn_status open_run(const train_request *r, uint64_t seed, train_root *root,
                            train_files *files) {
    char home[CLI_PATH_BYTES];
    CLI_TRY(cli_train_open(r, seed, root));
    snprintf(home, sizeof home, "%s", root->work);
    if (r->seeds > 1) CLI_TRY(cli_train_seed_directory(root->work, seed, home));
    return cli_train_open_run(r, root, home, files);
}

/* A mistake that the trainer finds leaves no directory. But a race is run only when it is known
 * that its result can be written. */
static pgcn_status choose_and_train(run_state *s, const pgcn_dataset *data, train_root *root,
                                    train_request *r, train_choice *choice) {
    int64_t resident = cli_train_resident_bytes();
    long long run = s->meter.run;
    if (!r->races) CLI_TRY(cli_report(&cli_train, pgcn_trainer_new(data, s->config, &s->trainer)));
    CLI_TRY(open_run(r, s->config->seed, root, s->files));
    if (r->races) {
        CLI_TRY(cli_train_race(r, data, s->config, s->files, run, choice));
        if (choice->data) r->source.steps = choice->steps;
        s->config = &choice->config;
        CLI_TRY(cli_report(&cli_train, pgcn_trainer_new(choice->data ? choice->data : data,
                                                        &choice->config, &s->trainer)));
    }
    s->data = choice->data ? choice->data : data;
    s->out->recipe = choice->recipe;
    s->out->config = choice->config;
    s->out->predicted_bytes = cli_train_predict(r, s->trainer, resident, run == 1);
    if (run == 1 && !r->quiet) cli_train_tell_rows(r, s->trainer, s->data, s->config);
    return train_or_reuse(s);
}

pgcn_status cli_train_run(const train_request *request, const pgcn_dataset *data,
                          const pgcn_config *config, train_root *root, long long run,
                          train_outcome *out) {
    train_files files = {.lock = -1};
    train_request r = *request;
    train_choice choice = {.config = *config, .recipe = r.used};
    run_state s = {.r = &r, .config = config, .files = &files, .out = out};
    s.meter = (meter){.progress = r.progress, .run = run, .runs = r.seeds};
    *out = (train_outcome){.task = pgcn_dataset_describe(data).task, .seed = config->seed};
    pgcn_status status = choose_and_train(&s, data, root, &r, &choice);
    cli_train_close_run(&files);
    pgcn_trainer_free(s.trainer);
    pgcn_dataset_free(choice.data);
    return status;
}
