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
    if (trainer->data->from.class_name.count > 0) {
        model->class_names = json_array();
        for (int c = 0; c < model->classes; c++)
            json_array_append_new(model->class_names,
                                  json_string(pgcn_dataset_class_name(trainer->data, c)));
        if (json_array_size(model->class_names) != (size_t)model->classes)
            return pgcn_i_fail(PGCN_ERR_MEMORY, "out of memory for the names of the classes");
    }
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
    json_decref(model->class_names);
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

const char *pgcn_model_class_name(const pgcn_model *model, int c) {
    return c < 0 ? NULL : json_string_value(json_array_get(model->class_names, (size_t)c));
}

int64_t pgcn_model_parameters(const pgcn_model *model) {
    int64_t count = 0;
    for (int i = 0; i < model->params.count; i++)
        if (model->params.param[i].group != PGCN_I_GROUP_BUFFER)
            count += model->params.param[i].count;
    return count;
}

pgcn_status pgcn_model_kernel(const pgcn_model *model, int layer, float *weight) {
    const pgcn_config *config = &model->config;
    if (layer < 0 || layer >= config->layers)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "the model has layers 0 to %d, not %d",
                           config->layers - 1, layer);
    pgcn_i_pathgcn_kernel(&model->params, config, layer, weight);
    return PGCN_OK;
}

/* ---- inference options -------------------------------------------------------------------------- */

pgcn_inference pgcn_inference_default(void) {
    return (pgcn_inference){.size = sizeof(pgcn_inference)};
}

pgcn_status pgcn_inference_parse(const char *text, pgcn_inference *inference) {
    static const char stochastic[] = "stochastic:";
    if (strcmp(text, "deterministic") == 0) {
        inference->draws = 0;
        return PGCN_OK;
    }
    if (strncmp(text, stochastic, strlen(stochastic)) == 0) {
        const char *number = text + strlen(stochastic);
        size_t digits = strspn(number, "0123456789"); /* seven cannot overflow */
        long draws = digits > 0 && digits <= 7 && number[digits] == '\0' ? atol(number) : 0;
        if (draws >= 1 && draws <= 1000000) {
            inference->draws = (int)draws;
            return PGCN_OK;
        }
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
    PGCN_TRY(pgcn_i_input_new(&data->x, s->config.normalise, pgcn_i_pathgcn_standard(&s->params),
                              false, &s->input));
    PGCN_TRY(pgcn_i_spatial_init(&s->spatial, data->graph, &s->config));
    if (!sampled && !s->spatial.has_exact)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "a model of node2vec walks has no deterministic form (its walks have a "
                           "memory); use inference stochastic:10");
    s->operator= pgcn_i_spatial_operator(&s->spatial, 1);
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
    s->config.paths_per_layer = false;        /* one sample per draw serves all layers */
    s->config.train_form = PGCN_FORM_SAMPLED; /* there is no way back that would need T^T */
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

/* Sums over the draws: probabilities and their squares. */
typedef struct draws {
    int64_t count; /* n * classes */
    int runs;
    double *sum, *squares;
    pgcn_i_loss loss; /* holds the softmax of the last draw */
} draws;

static pgcn_status draws_init(draws *d, const session *s, int64_t n, int classes) {
    *d = (draws){.count = n * classes, .runs = session_runs(s)};
    PGCN_TRY(pgcn_i_loss_init(&d->loss, n, 1, classes));
    d->sum = PGCN_I_ARRAY(&d->loss.arena, double, d->count);
    d->squares = PGCN_I_ARRAY(&d->loss.arena, double, d->count);
    return d->sum && d->squares ? PGCN_OK : PGCN_ERR_MEMORY;
}

static void draws_add(draws *d, session *s, int draw) {
    session_run(s, draw);
    pgcn_i_softmax_run(&d->loss, &s->tape, s->logits);
    for (int64_t i = 0; i < d->count; i++) {
        double p = (double)d->loss.probability[i];
        d->sum[i] += p;
        d->squares[i] += p * p;
    }
}

/* Mean and sample deviation of `runs` values from their sum and sum of squares. */
static double deviation_of(double sum, double squares, int runs) {
    double variance = runs > 1 ? (squares - sum * sum / runs) / (runs - 1) : 0;
    return variance > 0 ? sqrt(variance) : 0;
}

pgcn_status pgcn_model_predict(const pgcn_model *model, const pgcn_dataset *data,
                               const pgcn_inference *inference, float *probability,
                               float *deviation) {
    session s;
    draws d;
    PGCN_TRY(session_open(&s, model, data, inference));
    pgcn_status status = draws_init(&d, &s, data->graph->n, model->classes);
    for (int draw = 0; status == PGCN_OK && draw < d.runs; draw++) draws_add(&d, &s, draw);
    for (int64_t i = 0; status == PGCN_OK && i < d.count; i++) {
        probability[i] = (float)(d.sum[i] / d.runs);
        if (deviation) deviation[i] = (float)deviation_of(d.sum[i], d.squares[i], d.runs);
    }
    pgcn_i_loss_free(&d.loss);
    session_close(&s);
    return status;
}

/* ---- scores --------------------------------------------------------------------------------------- */

/* Share of the masked nodes whose most probable class is their label, and their mean loss. */
typedef struct part_score {
    double accuracy, loss;
} part_score;
static part_score score_part(const double *probability, const pgcn_dataset *data, int classes,
                             const uint8_t *mask) {
    int64_t nodes = 0, hits = 0;
    double loss = 0;
    for (int64_t j = 0; j < data->graph->n; j++) {
        if (!mask[j] || data->label[j] < 0) continue;
        const double *p = probability + j * classes;
        int best = 0;
        double total = 0;
        for (int c = 0; c < classes; c++) {
            if (p[c] > p[best]) best = c;
            total += p[c];
        }
        nodes++;
        hits += best == data->label[j];
        loss -= log(fmax(p[data->label[j]] / total, 1e-300));
    }
    if (nodes == 0) return (part_score){NAN, NAN};
    /* rounded like the accuracies of the history, so that both are equal */
    return (part_score){100 * ((double)hits / (double)nodes), loss / (double)nodes};
}

static const pgcn_i_split *split_of(const pgcn_model *model, const pgcn_dataset *data) {
    for (int i = 0; i < data->splits; i++)
        if (strcmp(data->split[i].name, model->split) == 0) return &data->split[i];
    return NULL;
}

pgcn_status pgcn_model_evaluate(const pgcn_model *model, const pgcn_dataset *data,
                                const pgcn_inference *inference, pgcn_scores *out) {
    const pgcn_i_split *split = split_of(model, data);
    if (data->task != PGCN_TASK_NODE)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "the model predicts one class per node, which data set %s does not tell",
                           data->name);
    if (!split)
        return pgcn_i_fail(
            PGCN_ERR_MISMATCH,
            "the model was trained on split %s and data set %s has none of that name", model->split,
            data->name);
    if (data->classes > model->classes)
        return pgcn_i_fail(PGCN_ERR_MISMATCH, "the model knows %d classes and data set %s has %d",
                           model->classes, data->name, data->classes);
    session s;
    draws d;
    PGCN_TRY(session_open(&s, model, data, inference));
    pgcn_status status = draws_init(&d, &s, data->graph->n, model->classes);
    double *single = pgcn_i_alloc(d.count, sizeof *single);
    if (!single) status = PGCN_ERR_MEMORY;
    const uint8_t *masks[3] = {split->train, split->val, split->test};
    double sum[3] = {0}, squares[3] = {0};
    for (int draw = 0; status == PGCN_OK && draw < d.runs; draw++) {
        draws_add(&d, &s, draw);
        for (int64_t i = 0; i < d.count; i++) single[i] = (double)d.loss.probability[i];
        for (int part = 0; part < 3; part++) {
            double accuracy = score_part(single, data, model->classes, masks[part]).accuracy;
            sum[part] += accuracy;
            squares[part] += accuracy * accuracy;
        }
    }
    pgcn_score *scores[3] = {&out->train, &out->val, &out->test};
    for (int part = 0; status == PGCN_OK && part < 3; part++) {
        part_score mean = score_part(d.sum, data, model->classes, masks[part]);
        *scores[part] = (pgcn_score){mean.accuracy, sum[part] / d.runs,
                                     deviation_of(sum[part], squares[part], d.runs), mean.loss};
    }
    pgcn_i_free(single);
    pgcn_i_loss_free(&d.loss);
    session_close(&s);
    return status;
}
