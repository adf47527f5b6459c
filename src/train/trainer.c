/* The trainer: everything is checked and allocated in pgcn_trainer_new; an epoch then only computes.
 * Read run_step and pgcn_trainer_epoch first: they are one epoch from top to bottom.
 *
 * Threading: one pool per trainer; every operation inside runs in it. Called by the command line
 * and by programs through the public header. */
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- one epoch ------------------------------------------------------------------------------ */

/* Draws the paths that this step trains on, unless the visits already hold them. */
static void sample_paths(pgcn_trainer *trainer, int64_t step) {
    const pgcn_config *config = &trainer->config;
    int64_t wanted = config->resample_every > 0 ? step - step % config->resample_every : 0;
    if (wanted == trainer->sampled_step) return;
    for (int l = 0; l < trainer->samplers; l++)
        pgcn_i_visits_sample(trainer->visits[l], &trainer->spatial.walker, trainer->pool,
                             config->seed, PGCN_I_RNG_WALK, wanted, l,
                             trainer->spatial.visit_degree);
    trainer->sampled_step = wanted;
}

/* The weight of the consistency term rises linearly: without the ramp Citeseer collapses. */
static double consistency_weight(const pgcn_config *config, int64_t step) {
    if (config->samples < 2) return 0;
    if (step >= config->consistency_ramp) return config->consistency;
    return config->consistency * (double)step / config->consistency_ramp;
}

/* Sample, forward, loss, backward, Adam. Returns the loss; the weights are not touched when it is
 * not finite. */
static double run_step(pgcn_trainer *trainer, int64_t step) {
    const pgcn_config *config = &trainer->config;
    pgcn_i_tape *tape = &trainer->train_tape;
    sample_paths(trainer, step);
    tape->seed = config->seed;
    tape->step = step;
    double lambda = consistency_weight(config, step);
    pgcn_i_loss_rows(&trainer->loss, tape, trainer->data->label, trainer->split->train, lambda);
    pgcn_i_tape_forward(tape);
    pgcn_i_loss_terms terms =
        pgcn_i_loss_run(&trainer->loss, tape, trainer->train_logits, trainer->data->label,
                        trainer->split->train, trainer->train_nodes, lambda, config->temperature);
    double loss = terms.cross_entropy + lambda * terms.consistency;
    if (!isfinite(loss)) return loss;
    pgcn_i_tape_backward(tape);
    pgcn_i_adam_all(&trainer->params, trainer->pool, config, step + 1);
    return loss;
}

static void evaluate(pgcn_trainer *trainer, pgcn_epoch *epoch) {
    const pgcn_dataset *data = trainer->data;
    pgcn_i_tape *tape = &trainer->eval_tape;
    if (trainer->eval_visits)
        pgcn_i_visits_sample(trainer->eval_visits, &trainer->spatial.walker, trainer->pool,
                             trainer->config.seed, PGCN_I_RNG_WALK_INFERENCE, epoch->epoch, 0,
                             trainer->spatial.visit_degree);
    pgcn_i_tape_forward(tape);
    pgcn_i_softmax_run(&trainer->loss, tape, trainer->eval_logits);
    pgcn_i_loss_terms val = pgcn_i_score_run(&trainer->loss, tape, trainer->eval_logits,
                                             data->label, trainer->split->val, trainer->val_nodes);
    epoch->val_loss = val.cross_entropy;
    epoch->val_accuracy = 100 * val.accuracy;
    if (trainer->test_nodes == 0) return; /* the step without-test: it stays NaN */
    pgcn_i_loss_terms test =
        pgcn_i_score_run(&trainer->loss, tape, trainer->eval_logits, data->label,
                         trainer->split->test, trainer->test_nodes);
    epoch->test_accuracy = 100 * test.accuracy;
}

static bool better(const pgcn_epoch *a, const pgcn_epoch *b, pgcn_select select) {
    if (select == PGCN_SELECT_LOSS) return a->val_loss < b->val_loss;
    return a->val_accuracy > b->val_accuracy ||
           (a->val_accuracy == b->val_accuracy && a->val_loss < b->val_loss);
}

bool pgcn_i_progress_add(pgcn_i_progress *progress, pgcn_select select, pgcn_epoch epoch) {
    bool evaluated = !isnan(epoch.val_loss);
    bool first = evaluated && progress->best < 0;
    epoch.best = first || (evaluated && better(&epoch, &progress->history[progress->best], select));
    if (first || (evaluated && (epoch.val_loss < progress->least_loss ||
                                epoch.val_accuracy > progress->most_accuracy)))
        progress->improved = epoch.epoch;
    if (first || (evaluated && epoch.val_loss < progress->least_loss))
        progress->least_loss = epoch.val_loss;
    if (first || (evaluated && epoch.val_accuracy > progress->most_accuracy))
        progress->most_accuracy = epoch.val_accuracy;
    progress->history[progress->epochs] = epoch;
    if (epoch.best) progress->best = progress->epochs;
    progress->epochs++;
    return epoch.best;
}

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static pgcn_status not_finite(const pgcn_i_progress *progress, const char *which) {
    char best[64] = "no epoch has good weights yet";
    if (progress->best >= 0)
        snprintf(best, sizeof best, "the best weights are those of epoch %lld",
                 (long long)progress->best + 1);
    return pgcn_i_fail(PGCN_ERR_NUMERIC,
                       "the %s loss of epoch %lld is not finite; %s; lower the learning rates "
                       "(lr-ends, lr-mix, lr-kernel) or scale the features",
                       which, (long long)progress->epochs + 1, best);
}

pgcn_status pgcn_trainer_epoch(pgcn_trainer *trainer, pgcn_epoch *out) {
    pgcn_i_progress *progress = &trainer->progress;
    if (pgcn_trainer_finished(trainer))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "training is finished after %lld epochs; raise epochs or patience",
                           (long long)progress->epochs);
    if (trainer->broken) return not_finite(progress, "validation");
    pgcn_epoch epoch = {
        .epoch = progress->epochs + 1, .val_loss = NAN, .val_accuracy = NAN, .test_accuracy = NAN};
    double begin_ms = now_ms();
    epoch.train_loss = run_step(trainer, progress->epochs);
    epoch.step_ms = now_ms() - begin_ms;
    if (!isfinite(epoch.train_loss)) return not_finite(progress, "training");
    if (epoch.epoch % trainer->config.eval_every == 0 || epoch.epoch == trainer->config.epochs) {
        evaluate(trainer, &epoch);
        trainer->broken = !isfinite(epoch.val_loss); /* the step is done, the epoch cannot be */
        if (trainer->broken) return not_finite(progress, "validation");
    }
    if (pgcn_i_progress_add(progress, trainer->config.select, epoch))
        memcpy(trainer->params.best, trainer->params.value,
               (size_t)trainer->params.total * sizeof *trainer->params.value);
    if (out) *out = progress->history[progress->epochs - 1];
    return PGCN_OK;
}

bool pgcn_trainer_finished(const pgcn_trainer *trainer) {
    const pgcn_i_progress *progress = &trainer->progress;
    int patience = trainer->config.patience;
    return progress->epochs >= trainer->config.epochs ||
           (patience > 0 && progress->epochs - progress->improved >= patience);
}

const pgcn_epoch *pgcn_trainer_history(const pgcn_trainer *trainer, int64_t *count) {
    *count = trainer->progress.epochs;
    return trainer->progress.history;
}

const char *pgcn_trainer_split(const pgcn_trainer *trainer) {
    return trainer->split->name;
}

pgcn_status pgcn_trainer_save(const pgcn_trainer *trainer, const char *path) {
    return pgcn_i_checkpoint_write(path, trainer);
}

pgcn_status pgcn_trainer_resume(pgcn_trainer *trainer, const char *path) {
    PGCN_TRY(pgcn_i_checkpoint_read(path, trainer));
    trainer->sampled_step = -1; /* the sample of the next step is drawn again from its number */
    trainer->broken = false;
    return PGCN_OK;
}

/* ---- checks of data against configuration ---------------------------------------------------- */

/* What this version trains; everything else can be looked at and converted. */
static pgcn_status check_task(const pgcn_dataset *data) {
    if (data->task == PGCN_TASK_MULTILABEL || data->task == PGCN_TASK_GRAPH)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set %s has %s; this version trains on one class per node",
                           data->name,
                           data->task == PGCN_TASK_GRAPH ? "a class for each of its graphs"
                                                         : "several labels per node");
    if (data->task == PGCN_TASK_NONE)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set %s has no labels to learn from; for your own files give "
                           "--labels",
                           data->name);
    if (data->splits == 0)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "data set %s has too few labelled nodes to be split into training, "
                           "validation and test nodes; label more of them",
                           data->name);
    return PGCN_OK;
}

static pgcn_status choose_split(pgcn_trainer *trainer) {
    const pgcn_dataset *data = trainer->data;
    const char *wanted = trainer->config.split;
    int numbered = data->splits - (strcmp(data->split[0].name, "public") == 0);
    if (strcmp(wanted, "auto") == 0) {
        bool published = numbered < data->splits;
        trainer->split =
            &data->split[published ? 0 : (int)(trainer->config.seed % (uint64_t)data->splits)];
        return PGCN_OK;
    }
    if (strcmp(wanted, "numbered") == 0 && numbered > 0) {
        trainer->split = &data->split[data->splits - numbered +
                                      (int)(trainer->config.seed % (uint64_t)numbered)];
        return PGCN_OK;
    }
    for (int i = 0; i < data->splits; i++)
        if (strcmp(data->split[i].name, wanted) == 0) {
            trainer->split = &data->split[i];
            return PGCN_OK;
        }
    return pgcn_i_fail(PGCN_ERR_MISMATCH, "data set %s has no split '%s'; it has %s to %s",
                       data->name, wanted, data->split[0].name, data->split[data->splits - 1].name);
}

static pgcn_status count_nodes(pgcn_trainer *trainer) {
    const pgcn_dataset *data = trainer->data;
    const pgcn_i_split *split = trainer->split;
    int64_t *per_class = pgcn_i_alloc(data->classes, sizeof *per_class);
    if (!per_class) return PGCN_ERR_MEMORY;
    for (int64_t j = 0; j < data->graph->n; j++) {
        if (data->label[j] < 0) continue;
        trainer->train_nodes += split->train[j];
        trainer->val_nodes += split->val[j];
        trainer->test_nodes += split->test[j];
        per_class[data->label[j]] += split->train[j];
    }
    int missing = 0, first_missing = -1;
    for (int c = 0; c < data->classes; c++)
        if (per_class[c] == 0 && missing++ == 0) first_missing = c;
    pgcn_i_free(per_class);
    if (missing > 0 && !trainer->config.allow_missing_class)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "split %s of %s has no training node of class %d (%d of %d classes are "
                           "missing), so the model could never predict it; choose another split, "
                           "or set allow-missing-class to yes",
                           split->name, data->name, first_missing, missing, data->classes);
    if (trainer->train_nodes == 0 || trainer->val_nodes == 0 ||
        (trainer->test_nodes == 0 && !data->without_test))
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "split %s of %s has %lld training, %lld validation and %lld test nodes "
                           "with a label; each must have at least one",
                           split->name, data->name, (long long)trainer->train_nodes,
                           (long long)trainer->val_nodes, (long long)trainer->test_nodes);
    return PGCN_OK;
}

/* ---- setting up ------------------------------------------------------------------------------- */

static pgcn_status make_operators(pgcn_trainer *trainer) {
    const pgcn_config *config = &trainer->config;
    pgcn_i_spatial *spatial = &trainer->spatial;
    trainer->train_operators = PGCN_I_ARRAY(&trainer->arena, pgcn_i_operator, config->layers);
    trainer->eval_operators = PGCN_I_ARRAY(&trainer->arena, pgcn_i_operator, config->layers);
    trainer->visits = PGCN_I_ARRAY(&trainer->arena, pgcn_i_visits *, config->layers);
    if (!trainer->train_operators || !trainer->eval_operators || !trainer->visits)
        return PGCN_ERR_MEMORY;
    for (int l = 0; l < config->layers; l++) {
        trainer->train_operators[l] = pgcn_i_spatial_operator(spatial, config->samples);
        trainer->eval_operators[l] = pgcn_i_spatial_operator(spatial, 1);
    }
    trainer->sampled_step = -1;
    if (config->train_form == PGCN_FORM_SAMPLED) {
        int samplers = config->paths_per_layer ? config->layers : 1;
        for (int l = 0; l < samplers; l++) {
            PGCN_TRY(
                pgcn_i_visits_new(&spatial->walker, config->samples, true, &trainer->visits[l]));
            trainer->train_operators[l].visits = trainer->visits[l];
            trainer->samplers = l + 1;
        }
    }
    if (!spatial->has_exact) {
        PGCN_TRY(pgcn_i_visits_new(&spatial->walker, 1, false, &trainer->eval_visits));
        for (int l = 0; l < config->layers; l++)
            trainer->eval_operators[l].visits = trainer->eval_visits;
    }
    return PGCN_OK;
}

/* The memory of values and gradients is one for both tapes, large enough for either. */
static pgcn_status record_tapes(pgcn_trainer *trainer) {
    const pgcn_config *config = &trainer->config;
    int ops = pgcn_i_pathgcn_ops(config);
    pgcn_i_tape *train = &trainer->train_tape, *eval = &trainer->eval_tape;
    PGCN_TRY(pgcn_i_tape_init(train, trainer->pool, &trainer->params, ops, true));
    train->recompute = config->recompute;
    train->gather_bf16 = config->bf16;
    trainer->train_logits = pgcn_i_pathgcn_record(train, config, trainer->input,
                                                  trainer->train_operators, config->samples);
    PGCN_TRY(pgcn_i_tape_plan(train));
    PGCN_TRY(pgcn_i_tape_init(eval, trainer->pool, &trainer->params, ops, false));
    trainer->eval_logits =
        pgcn_i_pathgcn_record(eval, config, trainer->input, trainer->eval_operators, 1);
    PGCN_TRY(pgcn_i_tape_plan(eval));
    float *work = PGCN_I_ARRAY(&train->arena, float,
                               train->work_floats > eval->work_floats ? train->work_floats
                                                                      : eval->work_floats);
    if (!work) return PGCN_ERR_MEMORY;
    pgcn_i_tape_place(train, work);
    pgcn_i_tape_place(eval, work);
    return pgcn_i_loss_init(&trainer->loss, trainer->data->graph->n, config->samples,
                            trainer->data->classes);
}

static bool is_utf8(const char *name) {
    return pgcn_i_is_utf8(name, (int64_t)strlen(name));
}

/* Checkpoints and models hold names as JSON text; better refused now than after hours of training. */
static pgcn_status check_names(const pgcn_dataset *data) {
    for (int c = 0; c < data->from.class_name.count; c++)
        if (!is_utf8(pgcn_dataset_class_name(data, c)))
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "the name of class %d of data set %s is not UTF-8 text; rename it",
                               c, data->name);
    if (is_utf8(data->name) && strlen(data->name) < sizeof((pgcn_model *)0)->dataset)
        return PGCN_OK;
    return pgcn_i_fail(
        PGCN_ERR_ARGUMENT,
        "the name of the data set, '%.64s', is not UTF-8 or is longer than %zu bytes; "
        "rename its folder",
        data->name, sizeof((pgcn_model *)0)->dataset - 1);
}

static pgcn_status set_up(pgcn_trainer *trainer) {
    const pgcn_dataset *data = trainer->data;
    const pgcn_config *config = &trainer->config;
    PGCN_TRY(pgcn_config_check(config));
    PGCN_TRY(check_names(data));
    PGCN_TRY(check_task(data));
    PGCN_TRY(choose_split(trainer));
    PGCN_TRY(count_nodes(trainer));
    /* Decided here once, so that the model says what was done whatever data it meets later. */
    if (config->normalise == PGCN_NORMALISE_AUTO)
        trainer->config.normalise =
            data->x.offset ? PGCN_NORMALISE_ROWS : PGCN_NORMALISE_STANDARDISE;
    PGCN_TRY(pgcn_i_pool_new(config->threads, &trainer->pool));
    PGCN_TRY(pgcn_i_spatial_init(&trainer->spatial, data->graph, config));
    PGCN_TRY(pgcn_i_pathgcn_declare(&trainer->params, config, data->x.columns, data->classes));
    PGCN_TRY(pgcn_i_params_allocate(&trainer->params, true));
    pgcn_i_pathgcn_start(&trainer->params, config);
    const pgcn_i_standard standard = pgcn_i_pathgcn_standard(&trainer->params);
    if (standard.mean) PGCN_TRY(pgcn_i_standard_of(&data->x, trainer->split->train, standard));
    PGCN_TRY(pgcn_i_input_new(&data->x, config->normalise, standard, true, &trainer->input));
    PGCN_TRY(make_operators(trainer));
    PGCN_TRY(record_tapes(trainer));
    trainer->progress = (pgcn_i_progress){.best = -1};
    trainer->progress.history = PGCN_I_ARRAY(&trainer->arena, pgcn_epoch, config->epochs);
    return trainer->progress.history ? pgcn_i_trainer_measure(trainer) : PGCN_ERR_MEMORY;
}

pgcn_status pgcn_trainer_new(const pgcn_dataset *data, const pgcn_config *config,
                             pgcn_trainer **out) {
    pgcn_trainer *trainer = pgcn_i_alloc(1, sizeof *trainer);
    if (!trainer) return PGCN_ERR_MEMORY;
    trainer->data = data;
    pgcn_status status = pgcn_i_config_copy(config, &trainer->config);
    if (status == PGCN_OK) status = set_up(trainer);
    if (status != PGCN_OK) {
        pgcn_trainer_free(trainer);
        return status;
    }
    *out = trainer;
    return PGCN_OK;
}

void pgcn_trainer_free(pgcn_trainer *trainer) {
    if (!trainer) return;
    pgcn_i_loss_free(&trainer->loss);
    pgcn_i_tape_free(&trainer->train_tape);
    pgcn_i_tape_free(&trainer->eval_tape);
    for (int l = 0; l < trainer->samplers; l++) pgcn_i_visits_free(trainer->visits[l]);
    pgcn_i_visits_free(trainer->eval_visits);
    pgcn_i_params_free(&trainer->params);
    pgcn_i_spatial_free(&trainer->spatial);
    pgcn_i_input_free(trainer->input);
    pgcn_i_pool_free(trainer->pool);
    pgcn_i_arena_free(&trainer->arena);
    pgcn_i_free(trainer);
}

/* ---- the convenient call ----------------------------------------------------------------------- */

pgcn_status pgcn_train(const pgcn_dataset *data, const pgcn_config *config, pgcn_model **out) {
    pgcn_trainer *trainer;
    PGCN_TRY(pgcn_trainer_new(data, config, &trainer));
    pgcn_status status = PGCN_OK;
    while (status == PGCN_OK && !pgcn_trainer_finished(trainer))
        status = pgcn_trainer_epoch(trainer, NULL);
    if (status == PGCN_OK) status = pgcn_trainer_model(trainer, out);
    pgcn_trainer_free(trainer);
    return status;
}
