/* Several models together: the mean of their probabilities. They may be different networks, but predict the same
 * classes. evaluate.c scores them. */
#include "train/train.h"

#include <stdio.h>
#include <string.h>

/* ---- what fits together ---------------------------------------------------------------------------- */

/* The first class of another name, -1: all have the same. */
static int other_class(const pgcn_model *a, const pgcn_model *b) {
    for (int c = 0; c < a->classes; c++) {
        const char *x = pgcn_model_class_name(a, c), *y = pgcn_model_class_name(b, c);
        if ((x == NULL) != (y == NULL) || (x && strcmp(x, y) != 0)) return c;
    }
    return -1;
}

/* `number`: that of b, from 1. */
static pgcn_status check_classes(const pgcn_model *a, const pgcn_model *b, int number) {
    if (a->task != b->task || a->classes != b->classes)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "models 1 and %d do not predict the same: %d classes of %s, and %d of "
                           "%s; the mean is of models with the same classes",
                           number, a->classes, a->dataset, b->classes, b->dataset);
    int c = other_class(a, b);
    if (c < 0) return PGCN_OK;
    const char *x = pgcn_model_class_name(a, c), *y = pgcn_model_class_name(b, c);
    return pgcn_i_fail(PGCN_ERR_MISMATCH,
                       "models 1 and %d do not predict the same: class %d is '%s' of the one and "
                       "'%s' of the other; the mean is of models with the same classes in the "
                       "same order",
                       number, c, x ? x : "without a name", y ? y : "without a name");
}

/* The same training twice would count twice. */
static bool same_weights(const pgcn_model *a, const pgcn_model *b) {
    const pgcn_i_params *x = &a->params, *y = &b->params;
    return pgcn_i_network_of(&a->config) == pgcn_i_network_of(&b->config) && x->total == y->total &&
           memcmp(x->value, y->value, (size_t)x->total * sizeof *x->value) == 0;
}

pgcn_status pgcn_i_models_check(pgcn_i_models models) {
    PGCN_I_NEED(models.model);
    if (models.count < 1)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%d models, expected one or more", models.count);
    for (int m = 0; m < models.count; m++) {
        const pgcn_model *first = models.model[0], *other = models.model[m];
        PGCN_I_NEED(other);
        PGCN_TRY(check_classes(first, other, m + 1));
        for (int before = 0; before < m; before++)
            if (same_weights(models.model[before], other))
                return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                                   "models %d and %d are the same, and the mean has each model "
                                   "once; leave one of them out",
                                   before + 1, m + 1);
    }
    return PGCN_OK;
}

pgcn_status pgcn_i_models_check_split(pgcn_i_models models) {
    const pgcn_model *first = models.model[0];
    for (int m = 1; m < models.count; m++) {
        const pgcn_model *other = models.model[m];
        if (strcmp(first->split_id.all, other->split_id.all) == 0 &&
            strcmp(first->split, other->split) == 0)
            continue;
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "models 1 and %d were trained on different splits, %s and %s%s: what "
                           "one tests the other may have trained on; evaluate models of one split "
                           "together (train with the same --split and the same steps of the data)",
                           m + 1, first->split, other->split,
                           strcmp(first->split, other->split) == 0 ? " of the same name" : "");
    }
    return PGCN_OK;
}

/* ---- the mean -------------------------------------------------------------------------------------- */

pgcn_status pgcn_i_mean_of_models_init(pgcn_i_mean_of_models *mean, pgcn_i_models models,
                                       int64_t items) {
    *mean = (pgcn_i_mean_of_models){.count = 0};
    if (!pgcn_i_mul(items, models.model[0]->classes, &mean->count))
        return pgcn_i_fail(PGCN_ERR_MEMORY, "%lld x %d probabilities are too many",
                           (long long)items, models.model[0]->classes);
    mean->probability = PGCN_I_ARRAY(&mean->arena, float, mean->count);
    mean->last = PGCN_I_ARRAY(&mean->arena, double, mean->count);
    mean->sum = PGCN_I_ARRAY(&mean->arena, double, mean->count);
    mean->squares = PGCN_I_ARRAY(&mean->arena, double, mean->count);
    bool room = mean->probability && mean->last && mean->sum && mean->squares;
    return room ? PGCN_OK : PGCN_ERR_MEMORY;
}

pgcn_status pgcn_i_mean_of_models_add(pgcn_i_mean_of_models *mean, const pgcn_model *model,
                                      const pgcn_dataset *data, const pgcn_inference *inference) {
    PGCN_TRY(pgcn_model_predict(model, data, inference, mean->probability, NULL));
    for (int64_t i = 0; i < mean->count; i++) {
        double p = mean->last[i] = (double)mean->probability[i];
        mean->sum[i] += p;
        mean->squares[i] += p * p;
    }
    return PGCN_OK;
}

pgcn_status pgcn_models_predict(const pgcn_model *const *model, int count, const pgcn_dataset *data,
                                const pgcn_inference *inference, float *probability,
                                float *deviation) {
    const pgcn_i_models models = {model, count};
    PGCN_I_NEED(data);
    PGCN_I_NEED(probability);
    PGCN_TRY(pgcn_i_models_check(models));
    if (count == 1) return pgcn_model_predict(model[0], data, inference, probability, deviation);
    bool per_graph = model[0]->task == PGCN_TASK_GRAPH;
    pgcn_i_mean_of_models mean;
    pgcn_status status =
        pgcn_i_mean_of_models_init(&mean, models, per_graph ? data->info.graphs : data->graph->n);
    for (int m = 0; status == PGCN_OK && m < count; m++)
        status = pgcn_i_mean_of_models_add(&mean, model[m], data, inference);
    for (int64_t i = 0; status == PGCN_OK && i < mean.count; i++) {
        probability[i] = (float)(mean.sum[i] / count);
        if (deviation)
            deviation[i] = (float)pgcn_i_deviation_of(mean.sum[i], mean.squares[i], count);
    }
    pgcn_i_arena_free(&mean.arena);
    return status;
}
