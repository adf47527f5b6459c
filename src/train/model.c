/* A trained model: its weights and what they mean, without a data set. inference.c and evaluate.c use it. */
#include "train/train.h"

#include <stdio.h>
#include <string.h>

/* ---- from the trainer, accessors -------------------------------------------------------------- */

static pgcn_status copy_best(const pgcn_trainer *trainer, pgcn_model *model) {
    const pgcn_i_progress *progress = &trainer->progress;
    if (progress->best < 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "there are no best weights yet: no epoch was evaluated");
    model->config = trainer->config;
    model->task = trainer->data->task;
    model->features = trainer->data->x.columns;
    model->classes = trainer->data->classes;
    model->epoch = progress->best + 1;
    snprintf(model->dataset, sizeof model->dataset, "%s", trainer->data->name);
    snprintf(model->fingerprint, sizeof model->fingerprint, "%s", trainer->data->fingerprint);
    snprintf(model->split, sizeof model->split, "%s", trainer->split->name);
    snprintf(model->isa, sizeof model->isa, "%s", pgcn_i_kernels_get()->isa);
    model->split_id = trainer->split_id;
    model->bits_revision = PGCN_BITS_REVISION;
    model->groups = pgcn_i_source_groups(&trainer->data->from);
    json_t *history =
        pgcn_i_history_to_json(progress->history, progress->epochs, trainer->config.select);
    model->history = history ? pgcn_i_json_dump(history, 0) : NULL;
    json_decref(history);
    if (!model->history)
        return pgcn_i_fail(PGCN_ERR_MEMORY, "out of memory for the history of %lld epochs",
                           (long long)progress->epochs);
    const char *encoder = trainer->data->from.encoder;
    if (encoder && !(model->encoder = pgcn_i_strdup(encoder))) return PGCN_ERR_MEMORY;
    /* checks.c has seen that names of classes are UTF-8 */
    PGCN_TRY(pgcn_i_names_to_json(&trainer->data->from.class_name, &model->class_names));
    PGCN_TRY(pgcn_i_names_to_json(&trainer->data->from.feature_name, &model->feature_names));
    PGCN_TRY(pgcn_i_network_declare(&model->params, &model->config, pgcn_i_model_shape(model)));
    bool standardised = pgcn_i_network_standard(&trainer->params).mean != NULL;
    if (!standardised) pgcn_i_network_declare_fill(&model->params, model->features);
    PGCN_TRY(pgcn_i_params_allocate(&model->params, false));
    memcpy(model->params.value, trainer->params.best,
           (size_t)trainer->params.total * sizeof *model->params.value);
    if (!standardised)
        memcpy(pgcn_i_network_fill(&model->params), trainer->fill,
               (size_t)model->features * sizeof *trainer->fill);
    return PGCN_OK;
}

pgcn_status pgcn_trainer_model(const pgcn_trainer *trainer, pgcn_model **out) {
    PGCN_I_NEED(trainer);
    PGCN_I_NEED(out);
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
    pgcn_i_free(model->encoder);
    json_decref(model->class_names);
    json_decref(model->feature_names);
    pgcn_i_free(model);
}

const pgcn_config *pgcn_model_config(const pgcn_model *model) {
    return model ? &model->config : NULL;
}
const char *pgcn_model_dataset(const pgcn_model *model) {
    return model ? model->dataset : NULL;
}
const char *pgcn_model_fingerprint(const pgcn_model *model) {
    return model ? model->fingerprint : NULL;
}
const char *pgcn_model_split(const pgcn_model *model) {
    return model ? model->split : NULL;
}
const char *pgcn_model_split_hash(const pgcn_model *model) {
    return model ? model->split_id.all : NULL;
}
const char *pgcn_model_encoder(const pgcn_model *model) {
    return model ? model->encoder : NULL;
}
int64_t pgcn_model_epoch(const pgcn_model *model) {
    return model ? model->epoch : 0;
}
pgcn_task pgcn_model_task(const pgcn_model *model) {
    return model ? model->task : PGCN_TASK_NONE;
}
int pgcn_model_classes(const pgcn_model *model) {
    return model ? model->classes : 0;
}

const char *pgcn_model_class_name(const pgcn_model *model, int c) {
    return !model || c < 0 ? NULL
                           : json_string_value(json_array_get(model->class_names, (size_t)c));
}

int64_t pgcn_model_features(const pgcn_model *model) {
    return model ? model->features : 0;
}
const char *pgcn_model_feature_name(const pgcn_model *model, int64_t j) {
    return !model || j < 0 ? NULL
                           : json_string_value(json_array_get(model->feature_names, (size_t)j));
}
const char *pgcn_model_history(const pgcn_model *model) {
    return model ? model->history : NULL;
}

bool pgcn_model_tensor(const pgcn_model *model, int i, pgcn_tensor *out) {
    if (!model || i < 0 || i >= model->params.count) return false;
    const pgcn_i_param *param = &model->params.param[i];
    if (!out) return true;
    *out = (pgcn_tensor){.name = param->name,
                         .rank = param->rank,
                         .shape = {1, 1, 1},
                         .count = param->count,
                         .value = pgcn_i_value_of(&model->params, param),
                         .trained = param->group != PGCN_I_GROUP_BUFFER};
    for (int k = 0; k < param->rank; k++) out->shape[k] = param->shape[k];
    return true;
}

int64_t pgcn_model_parameters(const pgcn_model *model) {
    int64_t count = 0;
    for (int i = 0; model && i < model->params.count; i++)
        if (model->params.param[i].group != PGCN_I_GROUP_BUFFER)
            count += model->params.param[i].count;
    return count;
}

pgcn_status pgcn_model_kernel(const pgcn_model *model, int layer, float *weight) {
    PGCN_I_NEED(model);
    PGCN_I_NEED(weight);
    const pgcn_config *config = &model->config;
    if (layer < 0 || layer >= config->layers)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "the model has layers 0 to %d, not %d",
                           config->layers - 1, layer);
    if (!pgcn_i_network_kernel_param(&model->params, config, layer))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "the network %s has no path weights",
                           pgcn_i_network_of(config)->name);
    pgcn_i_network_kernel(&model->params, config, layer, weight);
    return PGCN_OK;
}
