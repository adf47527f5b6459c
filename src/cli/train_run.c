/* One run of pathgcn train: a seed in its directory. Follow cli_train_run from top to bottom: the
 * trainer, the directory, the checkpoint to go on from, the epochs with progress and checkpoints,
 * the files. Nothing of a finished run is touched before another one is finished (train_place.c). */
#include "cli/train.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHECKPOINT_SECONDS = 10 };

/* ---- progress --------------------------------------------------------------------------------- */

typedef struct meter {
    bool on;
    double begin, shown;
    int64_t first_epoch;
    long long run, runs;
    double val, best_val; /* of the last evaluation, and of the weights kept */
} meter;

static void meter_see(meter *m, const pgcn_epoch *epoch) {
    if (!isnan(epoch->val_accuracy)) m->val = epoch->val_accuracy;
    if (epoch->best) m->best_val = epoch->val_accuracy;
}

static void meter_start(meter *m, const pgcn_trainer *trainer) {
    const pgcn_epoch *history = pgcn_trainer_history(trainer, &m->first_epoch);
    m->val = m->best_val = NAN;
    for (int64_t i = 0; i < m->first_epoch; i++) meter_see(m, &history[i]);
    m->begin = cli_now();
}

/* One line that never wraps: on a narrow terminal first the bar goes, then the speed. */
static void meter_show(meter *m, const pgcn_epoch *epoch, int epochs) {
    double now = cli_now();
    meter_see(m, epoch);
    if (!m->on || now - m->shown < 0.1) return;
    m->shown = now;
    double speed = (double)(epoch->epoch - m->first_epoch) / (now - m->begin);
    int columns = cli_terminal_columns() - 1, filled = (int)(20 * epoch->epoch / epochs);
    char left[32], run[48] = "", bar[48], core[160], rate[96], line[400];
    cli_format_duration((double)(epochs - epoch->epoch) / speed, left);
    if (m->runs > 1) snprintf(run, sizeof run, "run %lld/%lld  ", m->run, m->runs);
    snprintf(bar, sizeof bar, "[%.*s%.*s] ", filled, "####################", 20 - filled,
             "....................");
    snprintf(core, sizeof core, "epoch %lld/%d  loss %.4f  val %.1f%% (best %.1f%%)",
             (long long)epoch->epoch, epochs, epoch->train_loss, m->val, m->best_val);
    snprintf(rate, sizeof rate, "  %.0f epochs/s  at most %s left", speed, left);
    if (snprintf(line, sizeof line, "%s%s%s%s", run, bar, core, rate) > columns &&
        snprintf(line, sizeof line, "%s%s%s", run, core, rate) > columns)
        snprintf(line, sizeof line, "%s%s", run, core);
    fprintf(stderr, "\r%.*s\033[K", columns, line);
    fflush(stderr);
}

static void meter_clear(const meter *m) {
    if (m->on) fprintf(stderr, "\r\033[K");
}

/* ---- history.jsonl ---------------------------------------------------------------------------- */

/* The measure that --select names, where it does not stand there anyway. */
static void put_selected(json_t *line, const pgcn_epoch *epoch, pgcn_select select) {
    char name[32], key[64];
    if (select <= PGCN_SELECT_ACCURACY) return;
    cli_measure_key((pgcn_measure)(select - 1), name);
    snprintf(key, sizeof key, "val_%s", name);
    json_object_set_new(line, key, cli_json_real(epoch->val_measure));
    snprintf(key, sizeof key, "test_%s", name);
    json_object_set_new(line, key, cli_json_real(epoch->test_measure));
}

static bool write_history_line(FILE *file, const pgcn_epoch *epoch, const pgcn_config *config) {
    json_t *line = json_pack(
        "{s:o, s:I, s:o, s:o, s:o, s:o, s:b}", "seed", json_integer((json_int_t)config->seed),
        "epoch", (json_int_t)epoch->epoch, "train_loss", cli_json_real(epoch->train_loss),
        "val_loss", cli_json_real(epoch->val_loss), "val_accuracy",
        cli_json_real(epoch->val_accuracy), "test_accuracy", cli_json_real(epoch->test_accuracy),
        "best", (int)epoch->best);
    put_selected(line, epoch, config->select);
    bool fine = line && json_dumpf(line, file, JSON_COMPACT) == 0 && fputc('\n', file) != EOF;
    json_decref(line);
    return fine;
}

static void complain_of_history(const train_files *files) {
    cli_complain(&cli_train, "cannot write '%s': %s", files->history, pgcn_system_error(errno));
}

/* Opens it with the epochs that a resumed run already has. A line leaves the program when it is
 * complete, so that others can follow the run. */
static FILE *open_history(const train_files *files, const pgcn_trainer *trainer,
                          const pgcn_config *config) {
    FILE *file = fopen(files->history, "w");
    int64_t count;
    const pgcn_epoch *history = pgcn_trainer_history(trainer, &count);
    bool fine = file && setvbuf(file, NULL, _IOLBF, BUFSIZ) == 0;
    for (int64_t i = 0; fine && i < count; i++)
        fine = write_history_line(file, &history[i], config);
    if (fine) return file;
    complain_of_history(files);
    if (file) fclose(file);
    return NULL;
}

/* Its lines must be on disk before the run can take the place of another. */
static bool close_history(FILE *file) {
    bool fine = fflush(file) == 0 && (fsync(fileno(file)) == 0 || errno == EINVAL);
    return fclose(file) == 0 && fine;
}

/* ---- the run ---------------------------------------------------------------------------------- */

/* Until finished or interrupted. */
static pgcn_status run_epochs(const train_request *r, pgcn_trainer *trainer,
                              const pgcn_config *config, const train_files *files, FILE *history,
                              meter *m, bool *history_fine) {
    double saved = cli_now();
    pgcn_status status = PGCN_OK;
    while (status == PGCN_OK && *history_fine && !cli_interrupted() &&
           !pgcn_trainer_finished(trainer)) {
        pgcn_epoch epoch;
        status = pgcn_trainer_epoch(trainer, &epoch);
        if (status != PGCN_OK) break;
        meter_show(m, &epoch, config->epochs);
        *history_fine = write_history_line(history, &epoch, config);
        /* The first one shows at once whether there is space, and is the one to go back to should
         * the loss explode before the second. */
        bool due =
            epoch.epoch == 1 || (r->checkpoint_every > 0 ? epoch.epoch % r->checkpoint_every == 0
                                                         : cli_now() - saved > CHECKPOINT_SECONDS);
        if (!due) continue;
        status = pgcn_trainer_save(trainer, files->checkpoint);
        saved = cli_now();
    }
    meter_clear(m);
    return status;
}

/* The command as it was typed, with --resume in front, where no "--" can stand before it. */
static void say_how_to_resume(const train_request *r, const train_files *files, int64_t epoch) {
    fprintf(stderr, "Interrupted after epoch %lld and saved in %s.", (long long)epoch, files->work);
    if (cli_train_is_staged(files))
        fprintf(stderr, " %s keeps the run that it holds until this one is finished.", files->home);
    fprintf(stderr, " To go on:\n  ");
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
static pgcn_status take_model(const pgcn_trainer *trainer, const train_files *files, bool write,
                              train_outcome *out) {
    pgcn_model *model;
    pgcn_status status = pgcn_trainer_model(trainer, &model);
    if (status != PGCN_OK) return status;
    out->parameters = pgcn_model_parameters(model);
    if (write) status = pgcn_model_save(model, files->model);
    pgcn_model_free(model);
    return status;
}

/* After a loss that is not finite the last checkpoint stays as it is: it is the last good one. The
 * best weights are good too and are written. */
static int stop_at_error(const pgcn_trainer *trainer, const train_files *files, pgcn_status status,
                         train_outcome *out) {
    char sentence[2048];
    snprintf(sentence, sizeof sentence, "%s", pgcn_last_error());
    bool kept = status == PGCN_ERR_NUMERIC && out->best_epoch > 0 &&
                take_model(trainer, files, true, out) == PGCN_OK;
    cli_complain(&cli_train, "%s%s%s%s%s", sentence,
                 kept ? "; the best weights so far are in " : "", kept ? files->model : "",
                 cli_train_is_staged(files) ? "; nothing was changed of the run in " : "",
                 cli_train_is_staged(files) ? files->home : "");
    return EXIT_FAILED;
}

static int write_result(const train_files *files, const train_outcome *out) {
    json_t *object = cli_train_outcome_to_json(out);
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    json_decref(object);
    if (!text) {
        cli_complain(&cli_train, "out of memory while writing '%s'", files->result);
        return EXIT_FAILED;
    }
    pgcn_status status = pgcn_file_write(files->result, text, strlen(text));
    free(text);
    return status == PGCN_OK ? -1 : cli_failed(&cli_train, status);
}

/* The files of a run that ended well or was interrupted. */
static int leave_files(const train_request *r, pgcn_trainer *trainer, const train_files *files,
                       train_outcome *out) {
    pgcn_status status = pgcn_trainer_save(trainer, files->checkpoint);
    if (status == PGCN_ERR_NUMERIC) return stop_at_error(trainer, files, status, out);
    if (status == PGCN_OK && out->best_epoch > 0) status = take_model(trainer, files, true, out);
    if (status != PGCN_OK) return cli_failed(&cli_train, status);
    if (!pgcn_trainer_finished(trainer)) {
        say_how_to_resume(r, files, out->epochs);
        return EXIT_FAILED;
    }
    status = pgcn_trainer_scores(trainer, &out->val, &out->test);
    if (status != PGCN_OK) return cli_failed(&cli_train, status);
    int code = write_result(files, out);
    return code < 0 && !cli_train_finish_place(files) ? EXIT_FAILED : code;
}

static int train_and_leave(const train_request *r, pgcn_trainer *trainer, const pgcn_config *config,
                           const train_files *files, meter *m, train_outcome *out) {
    unlink(files->result); /* its presence says that the run is finished */
    /* before there is a model: the two belong together at any moment */
    if (!cli_source_write(&cli_train, files->work, r->dataset, &r->source)) return EXIT_FAILED;
    FILE *history = open_history(files, trainer, config);
    if (!history) return EXIT_FAILED;
    meter_start(m, trainer);
    bool history_fine = true;
    pgcn_status status = run_epochs(r, trainer, config, files, history, m, &history_fine);
    if (!history_fine) complain_of_history(files);
    if (!close_history(history) && history_fine && status == PGCN_OK) {
        complain_of_history(files);
        history_fine = false;
    }
    if (!history_fine) return EXIT_FAILED;
    cli_train_summarise(trainer, out);
    out->seconds = cli_now() - m->begin;
    if (status != PGCN_OK) return stop_at_error(trainer, files, status, out);
    return leave_files(r, trainer, files, out);
}

/* The very same run, down to the settings that a resumed one may change. */
static bool is_same_length(const train_files *files, const pgcn_config *config) {
    pgcn_model *model = NULL;
    bool same = pgcn_model_load(files->model, &model) == PGCN_OK &&
                pgcn_model_config(model)->epochs == config->epochs &&
                pgcn_model_config(model)->patience == config->patience;
    pgcn_model_free(model);
    return same;
}

/* Takes the checkpoint up: to go on with --resume, or to see whether a finished run is this one. */
static int take_up(const train_request *r, pgcn_trainer *trainer, const pgcn_config *config,
                   const train_files *files) {
    pgcn_resume_opts opts = pgcn_resume_opts_default();
    opts.accept_other_version = r->accept_other_version;
    pgcn_status status = pgcn_trainer_resume_with(trainer, files->checkpoint, &opts);
    if (status == PGCN_ERR_MISMATCH && !r->resume)
        return cli_train_refuse_other(files, pgcn_last_error());
    if (status != PGCN_OK) return cli_failed(&cli_train, status);
    if (!r->resume && !is_same_length(files, config))
        return cli_train_refuse_other(files, "its epochs or patience are others and --resume would "
                                             "go on with it");
    const char *note;
    for (int i = 0; !r->quiet && (note = pgcn_trainer_note(trainer, i)); i++)
        fprintf(stderr, "note: %s\n", note);
    return -1;
}

/* The result of a finished run, which stays as it is. */
static int retell(pgcn_trainer *trainer, const train_files *files, train_outcome *out) {
    cli_train_summarise(trainer, out);
    cli_train_recall_times(files->result, out);
    pgcn_status status = take_model(trainer, files, false, out);
    if (status == PGCN_OK) status = pgcn_trainer_scores(trainer, &out->val, &out->test);
    if (status != PGCN_OK) return cli_failed(&cli_train, status);
    out->retold = true;
    return cli_train_finish_place(files) ? -1 : EXIT_FAILED;
}

static int train_in_place(const train_request *r, pgcn_trainer *trainer, const pgcn_config *config,
                          train_files *files, meter *m, train_outcome *out) {
    int code = files->started ? take_up(r, trainer, config, files) : -1;
    if (code >= 0) return code;
    if (files->finished && pgcn_trainer_finished(trainer)) return retell(trainer, files, out);
    if (files->finished && !cli_train_is_staged(files)) code = cli_train_stage(files);
    return code < 0 ? train_and_leave(r, trainer, config, files, m, out) : code;
}

/* The directory of the run, locked. */
static int find_place(const train_request *r, uint64_t seed, train_root *root, train_files *files) {
    char home[CLI_PATH_BYTES];
    int code = cli_train_open(r, seed, root);
    if (code >= 0) return code;
    snprintf(home, sizeof home, "%s", root->work);
    if (r->seeds > 1 && !cli_train_seed_directory(root->work, seed, home)) return EXIT_FAILED;
    return cli_train_place(r, root, home, files);
}

/* A mistake that the trainer finds leaves no directory; but a race is run only when it is known that
 * its result can be put down. */
int cli_train_run(const train_request *request, const pgcn_dataset *data, const pgcn_config *config,
                  train_root *root, long long run, train_outcome *out) {
    pgcn_trainer *trainer = NULL;
    train_files files = {.lock = -1};
    train_request r = *request;
    train_choice choice = {.config = *config, .recipe = r.used};
    meter m = {.on = !r.quiet && isatty(STDERR_FILENO), .run = run, .runs = r.seeds};
    *out = (train_outcome){.task = pgcn_dataset_describe(data).task, .seed = config->seed};
    int64_t resident = cli_train_resident_bytes();
    pgcn_status status = r.races ? PGCN_OK : pgcn_trainer_new(data, config, &trainer);
    int code = status == PGCN_OK ? find_place(&r, config->seed, root, &files)
                                 : cli_failed(&cli_train, status);
    if (code < 0 && r.races) code = cli_train_race(&r, data, config, &files, run, &choice);
    out->recipe = choice.recipe;
    out->config = choice.config;
    if (choice.data) r.source.steps = choice.steps;
    if (code < 0 && r.races) {
        status = pgcn_trainer_new(choice.data ? choice.data : data, &choice.config, &trainer);
        if (status != PGCN_OK) code = cli_failed(&cli_train, status);
    }
    if (code < 0) {
        out->predicted_bytes = cli_train_predict(&r, trainer, resident, run == 1);
        code = train_in_place(&r, trainer, &choice.config, &files, &m, out);
    }
    cli_train_leave_place(&files);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(choice.data);
    return code;
}
