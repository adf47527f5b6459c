/* A trained model: its weights and what they mean, without a data set. Inference builds the tape
 * for the data set at hand, runs it once in exact form or once per draw, and frees it. */
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- from the trainer, accessors -------------------------------------------------------------- */

static pgcn_status copy_best(const pgcn_trainer *trainer, pgcn_model *model) {
    const pgcn_i_progress *progress = &trainer->progress;
    if (progress->best < 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "there are no best weights yet: no epoch was evaluated");
    model->config = trainer->config;
    model->features = trainer->data->x.columns;
    model->classes = trainer->data->classes;
    model->epoch = progress->best + 1;
    snprintf(model->dataset, sizeof model->dataset, "%s", trainer->data->name);
    snprintf(model->fingerprint, sizeof model->fingerprint, "%s", trainer->data->fingerprint);
    snprintf(model->split, sizeof model->split, "%s", trainer->split->name);
    json_t *history = pgcn_i_history_to_json(progress->history, progress->epochs);
    char *text = history ? json_dumps(history, JSON_COMPACT) : NULL;
    json_decref(history);
    model->history = text ? pgcn_i_strdup(text) : NULL;
    free(text);
    if (!model->history) return PGCN_ERR_MEMORY;
    PGCN_TRY(
        pgcn_i_pathgcn_declare(&model->params, &model->config, model->features, model->classes));
    PGCN_TRY(pgcn_i_params_allocate(&model->params, false));
    memcpy(model->params.value, trainer->params.best,
           (size_t)model->params.total * sizeof *model->params.value);
    return PGCN_OK;
}

pgcn_status pgcn_trainer_model(const pgcn_trainer *trainer, pgcn_model **out) {
    pgcn_model *model = pgcn_i_alloc(1, sizeof *model);
    if (!model) return PGCN_ERR_MEMORY;
    pgcn_status status = copy_best(trainer, model);
    if (status != PGCN_OK) {
        pgcn_model_free(model);
        return status;
    }
    *out = model;
    return PGCN_OK;
}

void pgcn_model_free(pgcn_model *model) {
    if (!model) return;
    pgcn_i_params_free(&model->params);
    pgcn_i_free(model->history);
    pgcn_i_free(model);
}

const pgcn_config *pgcn_model_config(const pgcn_model *model) {
    return &model->config;
}
const char *pgcn_model_dataset(const pgcn_model *model) {
    return model->dataset;
}
const char *pgcn_model_fingerprint(const pgcn_model *model) {
    return model->fingerprint;
}
const char *pgcn_model_split(const pgcn_model *model) {
    return model->split;
}
int64_t pgcn_model_epoch(const pgcn_model *model) {
    return model->epoch;
}
int pgcn_model_classes(const pgcn_model *model) {
    return model->classes;
}

int64_t pgcn_model_parameters(const pgcn_model *model) {
    int64_t count = 0;
    for (int i = 0; i < model->params.count; i++)
        if (model->params.param[i].group != PGCN_I_GROUP_BUFFER)
            count += model->params.param[i].count;
    return count;
}

/* ---- inference options -------------------------------------------------------------------------- */

pgcn_inference pgcn_inference_default(void) {
    return (pgcn_inference){.size = sizeof(pgcn_inference)};
}

pgcn_status pgcn_inference_parse(const char *text, pgcn_inference *inference) {
    int draws, used = 0;
    if (strcmp(text, "deterministic") == 0) {
        inference->draws = 0;
        return PGCN_OK;
    }
    if (sscanf(text, "stochastic:%d%n", &draws, &used) == 1 && text[used] == '\0' && draws >= 1 &&
        draws <= 1000000) {
        inference->draws = draws;
        return PGCN_OK;
    }
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "inference is '%s', expected deterministic or stochastic:N with N from 1 to "
                       "1000000",
                       text);
}

/* ---- inference ------------------------------------------------------------------------------------ */

/* One network on one data set, ready to give logits again and again. */
typedef struct session {
    pgcn_config config;
    pgcn_inference inference;
    pgcn_i_params params; /* shares the model's arrays */
    pgcn_i_pool *pool;
    pgcn_i_input *input;
    pgcn_i_spatial spatial;
    pgcn_i_visits *visits;
    pgcn_i_operator operator;
    pgcn_i_tape tape;
    pgcn_i_value *logits;
} session;

static void session_close(session *s) {
    pgcn_i_tape_free(&s->tape);
    pgcn_i_visits_free(s->visits);
    pgcn_i_spatial_free(&s->spatial);
    pgcn_i_input_free(s->input);
    pgcn_i_pool_free(s->pool);
}

static pgcn_status session_fill(session *s, const pgcn_model *model, const pgcn_dataset *data) {
    bool sampled = s->inference.draws > 0;
    if (data->x.columns != model->features)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "the model reads %lld features and data set %s has %lld; give the data "
                           "it was trained for (%s)",
                           (long long)model->features, data->name, (long long)data->x.columns,
                           model->dataset);
    if (s->inference.draws < 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "draws is %d, expected 0 or more",
                           s->inference.draws);
    PGCN_TRY(pgcn_i_pool_new(s->inference.threads, &s->pool));
    PGCN_TRY(pgcn_i_input_new(&data->x, s->config.normalise, false, &s->input));
    PGCN_TRY(pgcn_i_spatial_init(&s->spatial, data->graph, &s->config));
    if (!sampled && !s->spatial.has_exact)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "a model of node2vec walks has no deterministic form (its walks have a "
                           "memory); use inference stochastic:10");
    s->operator=(pgcn_i_operator){.n = data->graph->n,
                                  .samples = 1,
                                  .exact = &s->spatial.exact,
                                  .exact_t = &s->spatial.exact_t};
    if (sampled) {
        PGCN_TRY(pgcn_i_visits_new(&s->spatial.walker, 1, false, &s->visits));
        s->operator.visits = s->visits;
    }
    PGCN_TRY(
        pgcn_i_tape_init(&s->tape, s->pool, &s->params, pgcn_i_pathgcn_ops(&s->config), false));
    s->logits = pgcn_i_pathgcn_record(&s->tape, &s->config, s->input, &s->operator, 1);
    return pgcn_i_tape_finish(&s->tape);
}

static pgcn_status session_open(session *s, const pgcn_model *model, const pgcn_dataset *data,
                                const pgcn_inference *inference) {
    *s = (session){
        .config = model->config, .inference = pgcn_inference_default(), .params = model->params};
    PGCN_TRY(
        pgcn_i_opts_over(&s->inference, sizeof s->inference, inference, "pgcn_inference_default"));
    s->config.paths_per_layer = false; /* one sample per draw serves all layers */
    pgcn_status status = session_fill(s, model, data);
    if (status != PGCN_OK) session_close(s);
    return status;
}

static int session_runs(const session *s) {
    return s->inference.draws > 0 ? s->inference.draws : 1;
}

static void session_run(session *s, int draw) {
    if (s->visits)
        pgcn_i_visits_sample(s->visits, &s->spatial.walker, s->pool, s->inference.seed,
                             PGCN_I_RNG_WALK_INFERENCE, draw, 0, s->spatial.visit_degree);
    pgcn_i_tape_forward(&s->tape);
}

pgcn_status pgcn_model_predict(const pgcn_model *model, const pgcn_dataset *data,
                               const pgcn_inference *inference, float *probability,
                               float *deviation) {
    session s;
    pgcn_i_loss softmax = {0};
    PGCN_TRY(session_open(&s, model, data, inference));
    int64_t count = data->graph->n * model->classes;
    double *sum = pgcn_i_alloc(count, sizeof *sum), *squares = pgcn_i_alloc(count, sizeof *squares);
    pgcn_status status = sum && squares ? PGCN_OK : PGCN_ERR_MEMORY;
    if (status == PGCN_OK) status = pgcn_i_loss_init(&softmax, data->graph->n, 1, model->classes);
    for (int draw = 0; status == PGCN_OK && draw < session_runs(&s); draw++) {
        session_run(&s, draw);
        pgcn_i_softmax_run(&softmax, &s.tape, s.logits);
        const float *p = softmax.probability;
        for (int64_t i = 0; i < count; i++) {
            sum[i] += (double)p[i];
            squares[i] += (double)p[i] * (double)p[i];
        }
    }
    for (int64_t i = 0; status == PGCN_OK && i < count; i++) {
        double runs = session_runs(&s), mean = sum[i] / runs;
        double variance = runs > 1 ? (squares[i] - sum[i] * mean) / (runs - 1) : 0;
        probability[i] = (float)mean;
        if (deviation) deviation[i] = variance > 0 ? (float)sqrt(variance) : 0.0f;
    }
    pgcn_i_loss_free(&softmax);
    pgcn_i_free(sum);
    pgcn_i_free(squares);
    session_close(&s);
    return status;
}

/* Mean and deviation over the draws, one value at a time. */
typedef struct moments {
    double sum, squares;
    int count;
} moments;
static void moments_add(moments *m, double value) {
    m->sum += value;
    m->squares += value * value;
    m->count++;
}
static double moments_mean(const moments *m) {
    return m->sum / m->count;
}
static double moments_deviation(const moments *m) {
    double variance = m->count > 1 ? (m->squares - m->sum * m->sum / m->count) / (m->count - 1) : 0;
    return variance > 0 ? sqrt(variance) : 0;
}

pgcn_status pgcn_model_evaluate(const pgcn_model *model, const pgcn_dataset *data,
                                const pgcn_inference *inference, pgcn_scores *out) {
    const pgcn_i_split *split = NULL;
    for (int i = 0; i < data->splits; i++)
        if (strcmp(data->split[i].name, model->split) == 0) split = &data->split[i];
    if (!split)
        return pgcn_i_fail(
            PGCN_ERR_MISMATCH,
            "the model was trained on split %s and data set %s has none of that name", model->split,
            data->name);
    if (data->classes > model->classes)
        return pgcn_i_fail(PGCN_ERR_MISMATCH, "the model knows %d classes and data set %s has %d",
                           model->classes, data->name, data->classes);
    const uint8_t *masks[3] = {split->train, split->val, split->test};
    int64_t masked[3] = {0};
    for (int part = 0; part < 3; part++)
        for (int64_t j = 0; j < data->graph->n; j++)
            masked[part] += masks[part][j] && data->label[j] >= 0;
    session s;
    pgcn_i_loss loss;
    moments accuracy[3] = {{0}}, losses[3] = {{0}};
    PGCN_TRY(session_open(&s, model, data, inference));
    pgcn_status status = pgcn_i_loss_init(&loss, data->graph->n, 1, model->classes);
    for (int draw = 0; status == PGCN_OK && draw < session_runs(&s); draw++) {
        session_run(&s, draw);
        pgcn_i_softmax_run(&loss, &s.tape, s.logits);
        for (int part = 0; part < 3; part++) {
            pgcn_i_loss_terms terms =
                pgcn_i_score_run(&loss, &s.tape, s.logits, data->label, masks[part], masked[part]);
            moments_add(&accuracy[part], 100 * terms.accuracy);
            moments_add(&losses[part], terms.cross_entropy);
        }
    }
    if (status == PGCN_OK)
        *out = (pgcn_scores){.train_accuracy = moments_mean(&accuracy[0]),
                             .val_accuracy = moments_mean(&accuracy[1]),
                             .test_accuracy = moments_mean(&accuracy[2]),
                             .train_deviation = moments_deviation(&accuracy[0]),
                             .val_deviation = moments_deviation(&accuracy[1]),
                             .test_deviation = moments_deviation(&accuracy[2]),
                             .test_loss = moments_mean(&losses[2]),
                             .val_loss = moments_mean(&losses[1])};
    pgcn_i_loss_free(&loss);
    session_close(&s);
    return status;
}
