/* One run of pathgcn train: a seed in its directory. Follow cli_train_run from top to bottom: the
 * trainer, the directory, the checkpoint to go on from, the epochs with progress and checkpoints,
 * the files. Nothing of an older run is touched before everything that can be wrong was checked. */
#include "cli/train.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
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

/* ---- the directory ---------------------------------------------------------------------------- */

typedef struct run_files {
    const char *directory;
    int lock; /* the directory, held against a second program */
    bool locked, started, finished;
    char checkpoint[TRAIN_PATH_BYTES], model[TRAIN_PATH_BYTES];
    char history[TRAIN_PATH_BYTES], result[TRAIN_PATH_BYTES];
} run_files;

/* What the end of a long run would stumble over is found before its first epoch. */
static bool may_be_written(const char *path) {
    struct stat about;
    if (stat(path, &about) != 0 || S_ISREG(about.st_mode)) return true;
    cli_complain(&cli_train,
                 "cannot write '%s': it exists and is not a file; remove it or choose "
                 "another --out",
                 path);
    return false;
}

static bool lock_directory(run_files *files) {
    files->lock = open(files->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    files->locked = files->lock >= 0 && flock(files->lock, LOCK_EX | LOCK_NB) == 0;
    if (files->locked || files->lock < 0 || errno != EWOULDBLOCK)
        return true; /* some file systems cannot lock: then nobody is kept out */
    cli_complain(&cli_train,
                 "another pathgcn is training in '%s' at this moment; wait for it or "
                 "choose another --out",
                 files->directory);
    return false;
}

/* A program killed while it wrote leaves a temporary file (pgcn_file_write says its name); under the
 * lock nobody else can be writing one here. */
static void remove_leftovers(const run_files *files) {
    DIR *stream = opendir(files->directory);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        char path[TRAIN_PATH_BYTES];
        if (fnmatch(".pathgcn-*.tmp", entry->d_name, 0) == 0 &&
            (size_t)snprintf(path, sizeof path, "%s/%s", files->directory, entry->d_name) <
                sizeof path)
            unlink(path);
    }
    if (stream) closedir(stream);
}

/* An interrupted run is somebody's work: it is continued or, with --overwrite, started again. */
static int open_directory(const train_request *r, const char *directory, run_files *files) {
    *files = (run_files){.directory = directory, .lock = -1};
    if (!cli_train_join(files->checkpoint, directory, "checkpoint.safetensors") ||
        !cli_train_join(files->model, directory, "model.safetensors") ||
        !cli_train_join(files->history, directory, "history.jsonl") ||
        !cli_train_join(files->result, directory, "result.json"))
        return EXIT_FAILED;
    if (!cli_make_directory(&cli_train, directory) || !lock_directory(files) ||
        !may_be_written(files->checkpoint) || !may_be_written(files->model) ||
        !may_be_written(files->history) || !may_be_written(files->result))
        return EXIT_FAILED;
    if (files->locked) remove_leftovers(files);
    files->started = access(files->checkpoint, F_OK) == 0;
    files->finished = files->started && access(files->model, F_OK) == 0 &&
                      access(files->history, F_OK) == 0 && access(files->result, F_OK) == 0;
    if (!files->started || files->finished || r->resume || r->overwrite) return -1;
    cli_complain(&cli_train,
                 "'%s' holds an interrupted run; add --resume to go on with it, --overwrite to "
                 "start again, or choose another --out",
                 directory);
    return EXIT_FAILED;
}

/* ---- history.jsonl ---------------------------------------------------------------------------- */

static bool write_history_line(FILE *file, const pgcn_epoch *epoch, uint64_t seed) {
    json_t *line = json_pack(
        "{s:o, s:I, s:o, s:o, s:o, s:o, s:b}", "seed", cli_train_seed_to_json(seed), "epoch",
        (json_int_t)epoch->epoch, "train_loss", cli_json_real(epoch->train_loss), "val_loss",
        cli_json_real(epoch->val_loss), "val_accuracy", cli_json_real(epoch->val_accuracy),
        "test_accuracy", cli_json_real(epoch->test_accuracy), "best", (int)epoch->best);
    bool fine = line && json_dumpf(line, file, JSON_COMPACT) == 0 && fputc('\n', file) != EOF;
    json_decref(line);
    return fine;
}

static void complain_of_history(const run_files *files) {
    cli_complain(&cli_train, "cannot write '%s': %s", files->history, pgcn_system_error(errno));
}

/* Opens it with the epochs that a resumed run already has. A line leaves the program when it is
 * complete, so that others can follow the run. */
static FILE *open_history(const run_files *files, const pgcn_trainer *trainer, uint64_t seed) {
    FILE *file = fopen(files->history, "w");
    int64_t count;
    const pgcn_epoch *history = pgcn_trainer_history(trainer, &count);
    bool fine = file && setvbuf(file, NULL, _IOLBF, BUFSIZ) == 0;
    for (int64_t i = 0; fine && i < count; i++) fine = write_history_line(file, &history[i], seed);
    if (fine) return file;
    complain_of_history(files);
    if (file) fclose(file);
    return NULL;
}

/* ---- the run ---------------------------------------------------------------------------------- */

/* Until finished or interrupted. */
static pgcn_status run_epochs(const train_request *r, pgcn_trainer *trainer,
                              const pgcn_config *config, const run_files *files, FILE *history,
                              meter *m, bool *history_fine) {
    double saved = cli_now();
    pgcn_status status = PGCN_OK;
    while (status == PGCN_OK && *history_fine && !cli_interrupted() &&
           !pgcn_trainer_finished(trainer)) {
        pgcn_epoch epoch;
        status = pgcn_trainer_epoch(trainer, &epoch);
        if (status != PGCN_OK) break;
        meter_show(m, &epoch, config->epochs);
        *history_fine = write_history_line(history, &epoch, config->seed);
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
static void say_how_to_resume(const train_request *r, const run_files *files, int64_t epoch) {
    fprintf(stderr, "Interrupted after epoch %lld and saved in %s. To go on:\n  ", (long long)epoch,
            files->directory);
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
static pgcn_status take_model(const pgcn_trainer *trainer, const run_files *files, bool write,
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
static int stop_at_error(const pgcn_trainer *trainer, const run_files *files, pgcn_status status,
                         train_outcome *out) {
    char sentence[2048];
    snprintf(sentence, sizeof sentence, "%s", pgcn_last_error());
    bool kept = status == PGCN_ERR_NUMERIC && out->best_epoch > 0 &&
                take_model(trainer, files, true, out) == PGCN_OK;
    cli_complain(&cli_train, "%s%s%s", sentence, kept ? "; the best weights so far are in " : "",
                 kept ? files->model : "");
    return EXIT_FAILED;
}

static int write_result(const train_request *r, const run_files *files, const train_outcome *out) {
    json_t *object = cli_train_outcome_to_json(out, &r->used);
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
static int leave_files(const train_request *r, const pgcn_trainer *trainer, const run_files *files,
                       train_outcome *out) {
    pgcn_status status = pgcn_trainer_save(trainer, files->checkpoint);
    if (status == PGCN_ERR_NUMERIC) return stop_at_error(trainer, files, status, out);
    if (status == PGCN_OK && out->best_epoch > 0) status = take_model(trainer, files, true, out);
    if (status != PGCN_OK) return cli_failed(&cli_train, status);
    if (!cli_source_write(&cli_train, files->directory, r->dataset, &r->source)) return EXIT_FAILED;
    if (!pgcn_trainer_finished(trainer)) {
        say_how_to_resume(r, files, out->epochs);
        return EXIT_FAILED;
    }
    return write_result(r, files, out);
}

static int train_and_leave(const train_request *r, pgcn_trainer *trainer, const pgcn_config *config,
                           const run_files *files, meter *m, train_outcome *out) {
    if (!r->resume) unlink(files->checkpoint);
    unlink(files->result); /* its presence says that the run is finished */
    FILE *history = open_history(files, trainer, config->seed);
    if (!history) return EXIT_FAILED;
    meter_start(m, trainer);
    bool history_fine = true;
    pgcn_status status = run_epochs(r, trainer, config, files, history, m, &history_fine);
    if (!history_fine) complain_of_history(files);
    if (fclose(history) != 0 && history_fine && status == PGCN_OK) {
        complain_of_history(files);
        history_fine = false;
    }
    if (!history_fine) return EXIT_FAILED;
    cli_train_summarise(trainer, out);
    out->seconds = cli_now() - m->begin;
    if (status != PGCN_OK) return stop_at_error(trainer, files, status, out);
    return leave_files(r, trainer, files, out);
}

int cli_train_run(const train_request *r, const pgcn_dataset *data, const pgcn_config *config,
                  const char *directory, long long run, train_outcome *out) {
    pgcn_trainer *trainer = NULL;
    run_files files = {.lock = -1};
    meter m = {.on = !r->quiet && isatty(STDERR_FILENO), .run = run, .runs = r->seeds};
    *out = (train_outcome){.task = pgcn_dataset_describe(data).task, .seed = config->seed};
    int64_t resident = cli_train_resident_bytes();
    pgcn_status status = pgcn_trainer_new(data, config, &trainer);
    int code =
        status == PGCN_OK ? open_directory(r, directory, &files) : cli_failed(&cli_train, status);
    if (code < 0) out->predicted_bytes = cli_train_predict(r, trainer, resident, run == 1);
    if (code < 0 && r->resume && files.started) {
        status = pgcn_trainer_resume(trainer, files.checkpoint);
        if (status != PGCN_OK) code = cli_failed(&cli_train, status);
    }
    if (code < 0 && r->resume && files.finished && pgcn_trainer_finished(trainer)) {
        cli_train_summarise(trainer, out);
        cli_train_recall_times(files.result, out);
        status = take_model(trainer, &files, false, out);
        if (status != PGCN_OK) code = cli_failed(&cli_train, status);
    } else if (code < 0) {
        code = train_and_leave(r, trainer, config, &files, &m, out);
    }
    if (files.lock >= 0) close(files.lock);
    pgcn_trainer_free(trainer);
    return code;
}
