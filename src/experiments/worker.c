/* What a worker does, a process or a rank: one training, and its record. All of the result is in memory, until
 * exp_outcome_keep() writes its files, which for a rank another process does. */
#include "experiments/experiments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The result of a library call; an error becomes the sentence of the job. */
static void note(const exp_job *job, pgcn_status status, exp_outcome *out) {
    char label[160];
    out->status = status;
    if (status == PGCN_OK) return;
    exp_job_label(job, label);
    snprintf(out->failure, sizeof out->failure, "%s: %.235s", label, pgcn_last_error());
}

static void note_memory(const char *what, exp_outcome *out) {
    out->status = PGCN_ERR_MEMORY;
    snprintf(out->failure, sizeof out->failure, "out of memory for the %s of the job", what);
}

/* ---- choosing an epoch ------------------------------------------------------------------------ */

/* The first epoch with the least validation loss; or with the highest validation accuracy, the lower
 * loss deciding between equal ones: rules of the trainer's `select`. */
static int64_t choose(const pgcn_epoch *history, int64_t count, pgcn_select rule) {
    int64_t best = -1;
    for (int64_t i = 0; i < count; i++) {
        const pgcn_epoch *a = &history[i], *b = best < 0 ? NULL : &history[best];
        if (isnan(a->val_loss)) continue;
        bool less = b && a->val_loss < b->val_loss;
        if (!b || (rule == PGCN_SELECT_LOSS ? less
                                            : a->val_accuracy > b->val_accuracy ||
                                                  (a->val_accuracy == b->val_accuracy && less)))
            best = i;
    }
    return best;
}

/* The epoch whose weights the trainer kept. */
static int64_t kept(const pgcn_epoch *history, int64_t count) {
    int64_t best = -1;
    for (int64_t i = 0; i < count; i++)
        if (history[i].best) best = i;
    return best;
}

/* The epoch with the best test accuracy: no result, only an upper bound. */
static int64_t best_test(const pgcn_epoch *history, int64_t count) {
    int64_t best = -1;
    for (int64_t i = 0; i < count; i++)
        if (!isnan(history[i].test_accuracy) &&
            (best < 0 || history[i].test_accuracy > history[best].test_accuracy))
            best = i;
    return best;
}

static json_t *epoch_to_json(const pgcn_epoch *history, int64_t i) {
    if (i < 0) return json_null();
    const pgcn_epoch *e = &history[i];
    return json_pack("{s:I, s:o, s:o, s:o}", "epoch", (json_int_t)e->epoch, "val_loss",
                     cli_json_real(e->val_loss), "val_accuracy", cli_json_real(e->val_accuracy),
                     "test_accuracy", cli_json_real(e->test_accuracy));
}

/* ---- the record ------------------------------------------------------------------------------- */

/* Stochastic inference with the weights that were kept: what one draw of paths scores, mean and
 * deviation over the draws (the paper's figure), and what the mean of all draws predicts. */
static pgcn_status measure_draws(const exp_job *job, const pgcn_model *model, json_t *record) {
    pgcn_inference inference = pgcn_inference_default();
    pgcn_scores scores;
    inference.draws = EXP_DRAWS;
    inference.seed = job->config.seed;
    inference.threads = job->config.threads;
    pgcn_status status = pgcn_model_evaluate(model, job->data->data, &inference, &scores);
    if (status != PGCN_OK) return status;
    json_object_set_new(
        record, "stochastic",
        json_pack("{s:i, s:o, s:o, s:o}", "draws", EXP_DRAWS, "test_accuracy_of_a_draw",
                  cli_json_real(scores.test.draw_accuracy), "test_accuracy_deviation",
                  cli_json_real(scores.test.draw_deviation), "test_accuracy_of_the_mean",
                  cli_json_real(scores.test.accuracy)));
    return PGCN_OK;
}

/* All measures of the weights that were kept, beside their accuracy. */
static pgcn_status measure_kept(pgcn_trainer *trainer, json_t *record) {
    pgcn_score val, test;
    json_t *selected = json_object_get(record, "selected");
    pgcn_status status = pgcn_trainer_scores(trainer, &val, &test);
    if (status != PGCN_OK) return status;
    cli_put_scores(selected, "val", &val);
    cli_put_scores(selected, "test", &test);
    return PGCN_OK;
}

/* The validation accuracy after every epoch, null where it was not evaluated: from it all folds
 * choose one common epoch. */
static json_t *curve_to_json(const pgcn_epoch *history, int64_t count) {
    json_t *curve = json_array();
    for (int64_t i = 0; curve && i < count; i++)
        json_array_append_new(curve, cli_json_real(history[i].val_accuracy));
    return curve;
}

/* On a busy machine a training takes longer and costs the same: `core` seconds are those of the processor. */
typedef struct spent {
    double seconds, core;
} spent;

static spent clocks(void) {
    return (spent){cli_now(), cli_core_seconds()};
}

static json_t *make_record(const exp_job *job, const pgcn_trainer *trainer, spent begin) {
    int64_t count;
    const pgcn_epoch *history = pgcn_trainer_history(trainer, &count);
    int64_t by_loss = choose(history, count, PGCN_SELECT_LOSS);
    int64_t by_accuracy = choose(history, count, PGCN_SELECT_ACCURACY);
    pgcn_info info = pgcn_info_get();
    spent end = clocks();
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)job->config.seed);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:f, s:f, s:I, s:o, s:s, s:i, s:s, s:s}",
        "key", job->key, "dataset", job->data->name, "fingerprint",
        pgcn_dataset_describe(job->data->data).fingerprint, "seed", seed, "split",
        pgcn_trainer_split(trainer), "split_sha256", pgcn_trainer_split_hash(trainer), "selected",
        epoch_to_json(history, kept(history, count)), "by_val_loss",
        epoch_to_json(history, by_loss), "by_val_accuracy", epoch_to_json(history, by_accuracy),
        "best_test_epoch", epoch_to_json(history, best_test(history, count)), "epochs",
        (json_int_t)count, "seconds", end.seconds - begin.seconds, "core_seconds",
        end.core - begin.core, "peak_rss_bytes", (json_int_t)cli_peak_rss_bytes(), "config",
        cli_config_to_json(&job->config, false), "version", info.version, "bits_revision",
        info.bits_revision, "isa", info.isa, "program", exp_program_hash());
}

/* The learning curve, KEY.history.jsonl, as `pathgcn train` writes history.jsonl. */
static void make_history(const exp_job *job, const pgcn_trainer *trainer, exp_outcome *out) {
    int64_t count;
    const pgcn_epoch *history = pgcn_trainer_history(trainer, &count);
    FILE *stream = open_memstream(&out->history, &out->history_bytes);
    bool fine = stream != NULL;
    for (int64_t i = 0; fine && i < count; i++)
        fine = cli_write_history_line(stream, &history[i], &job->config, NULL);
    fine = stream && fclose(stream) == 0 && fine;
    if (!fine) note_memory("learning curve", out);
}

static void make_model(const exp_job *job, const pgcn_trainer *trainer, exp_outcome *out) {
    pgcn_model *model = NULL;
    pgcn_status status = pgcn_trainer_model(trainer, &model);
    if (status == PGCN_OK) status = pgcn_model_to_bytes(model, &out->model, &out->model_bytes);
    pgcn_model_free(model);
    note(job, status, out);
}

/* ---- files ------------------------------------------------------------------------------------- */

static pgcn_status write_file(const exp_jobs *jobs, const exp_job *job, const char *suffix,
                              const void *bytes, size_t count) {
    char path[EXP_PATH_BYTES];
    if (!exp_job_path(jobs, job, suffix, path)) return PGCN_ERR_IO;
    return bytes ? pgcn_file_write(path, bytes, count) : PGCN_OK;
}

void exp_outcome_keep(const exp_jobs *jobs, const exp_job *job, exp_outcome *o) {
    if (o->status != PGCN_OK) return;
    pgcn_status status = write_file(jobs, job, EXP_MODEL_SUFFIX, o->model, o->model_bytes);
    if (status == PGCN_OK)
        status = write_file(jobs, job, ".history.jsonl", o->history, o->history_bytes);
    /* the record comes last: a job that has one is done */
    if (status == PGCN_OK) status = write_file(jobs, job, ".json", o->record, o->record_bytes);
    note(job, status, o);
}

void exp_outcome_free(exp_outcome *o) {
    free(o->record);
    free(o->history);
    pgcn_bytes_free(o->model);
    *o = (exp_outcome){0};
}

/* ---- the work --------------------------------------------------------------------------------- */

/* Only networks on paths have something to draw. */
static bool has_draws(const pgcn_config *config) {
    return pgcn_config_uses(config, "paths") && config->scaling != PGCN_SCALING_SUM;
}

/* Adds the scores of the trained network, which are not in the history. */
static pgcn_status measure(const exp_job *job, pgcn_trainer *trainer, json_t *record) {
    pgcn_model *model = NULL;
    pgcn_status status = pgcn_trainer_model(trainer, &model);
    if (status != PGCN_OK) return status;
    status = measure_kept(trainer, record);
    json_object_set_new(record, "parameters",
                        json_integer((json_int_t)pgcn_model_parameters(model)));
    if (json_is_null(json_object_get(record, "best_test_epoch"))) {
        int64_t count;
        const pgcn_epoch *history = pgcn_trainer_history(trainer, &count);
        json_object_set_new(record, "val_curve", curve_to_json(history, count));
    } else if (status == PGCN_OK && has_draws(pgcn_model_config(model))) {
        status = measure_draws(job, model, record);
    }
    pgcn_model_free(model);
    return status;
}

static void work(const exp_job *job, pgcn_trainer *trainer, spent begin, exp_outcome *out) {
    pgcn_status status = PGCN_OK;
    while (status == PGCN_OK && !pgcn_trainer_finished(trainer))
        status = pgcn_trainer_epoch(trainer, NULL);
    json_t *record = NULL;
    if (status == PGCN_OK) {
        record = make_record(job, trainer, begin);
        status = measure(job, trainer, record);
    }
    note(job, status, out);
    if (out->status == PGCN_OK && job->keeps_model) make_model(job, trainer, out);
    if (out->status == PGCN_OK) make_history(job, trainer, out);
    if (out->status == PGCN_OK) {
        out->record = json_dumps(record, JSON_INDENT(1));
        if (out->record) out->record_bytes = strlen(out->record);
        if (!out->record) note_memory("record", out);
    }
    json_decref(record);
}

/* The first epoch touches all memory and is not counted. */
static pgcn_status time_epochs(pgcn_trainer *trainer, double begin, exp_timing *out) {
    enum { EPOCHS = 4 };
    double first = 0;
    int epochs = -1;
    pgcn_status status = PGCN_OK;
    while (status == PGCN_OK && !pgcn_trainer_finished(trainer) && epochs < EPOCHS &&
           (epochs < 1 || cli_now() - first < 3)) {
        status = pgcn_trainer_epoch(trainer, NULL);
        if (++epochs == 0) first = cli_now();
    }
    if (status == PGCN_OK && epochs > 0)
        *out = (exp_timing){first - begin, (cli_now() - first) / epochs};
    return status;
}

void exp_work(const exp_job *job, bool timing, const exp_watch *watch, exp_outcome *out) {
    pgcn_trainer *trainer = NULL;
    spent begin = clocks();
    *out = (exp_outcome){0};
    pgcn_status status = pgcn_trainer_new(job->data->data, &job->config, &trainer);
    if (status == PGCN_OK && watch) pgcn_trainer_on_step(trainer, watch->go_on, watch->context);
    if (status == PGCN_OK && timing)
        status = time_epochs(trainer, begin.seconds, &out->timing);
    else if (status == PGCN_OK)
        work(job, trainer, begin, out);
    /* what cannot be timed will say so as a job */
    if (out->status == PGCN_OK && (!timing || status == PGCN_ERR_STOPPED)) note(job, status, out);
    pgcn_trainer_free(trainer);
}
