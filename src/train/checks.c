/* Data against configuration: what has to fit before anything is allocated. Called by
 * pgcn_trainer_new. */
#include "train/train.h"

#include <stdio.h>
#include <string.h>

/* ---- the task -------------------------------------------------------------------------------- */

/* "'Nord'", or its number where classes have no names. */
static const char *class_text(const pgcn_dataset *data, int c, char out[96]) {
    const char *name = pgcn_dataset_class_name(data, c);
    if (name)
        snprintf(out, 96, "'%.80s'", name);
    else
        snprintf(out, 96, "%d", c);
    return out;
}

static pgcn_status check_task(const pgcn_dataset *data) {
    char name[96];
    if (data->task == PGCN_TASK_NONE)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "data set %s has no labels to learn from; for your own files give "
                           "--labels",
                           data->name);
    if (data->classes == 1 && data->task != PGCN_TASK_MULTILABEL)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "data set %s has one class only, %s: there is nothing to learn; give "
                           "labels of at least two classes",
                           data->name, class_text(data, 0, name));
    if (data->splits == 0)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "data set %s has too few labelled %s to be split into training, "
                           "validation and test %s; label more of them",
                           data->name, pgcn_i_items_name(data), pgcn_i_items_name(data));
    return PGCN_OK;
}

/* With nearly as many classes as items, most classes have one training item or none. */
static pgcn_status check_no_regression(const pgcn_trainer *trainer) {
    const pgcn_dataset *data = trainer->data;
    if (trainer->config.allow_missing_class || !pgcn_i_source_has_numbers(&data->from))
        return PGCN_OK;
    return pgcn_i_fail(
        PGCN_ERR_MISMATCH,
        "the labels of %s are %d different numbers for %lld %s: " PGCN_I_NO_REGRESSION
        "; or set allow-missing-class to yes if they are classes after all",
        data->name, data->classes, (long long)(data->info.items - data->info.unlabelled),
        pgcn_i_items_name(data));
}

pgcn_status pgcn_i_check_task_of(const pgcn_i_network *network, pgcn_task task,
                                 const char *dataset) {
    if (task != PGCN_TASK_GRAPH || !network->why_no_graphs) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "model is %s and %s is a set of graphs to be classified: %s; choose another "
                       "model",
                       network->name, dataset, network->why_no_graphs);
}

/* What the network cannot do with this data. */
static pgcn_status check_network(const pgcn_trainer *trainer) {
    PGCN_TRY(pgcn_i_check_task_of(pgcn_i_network_of(&trainer->config), trainer->data->task,
                                  trainer->data->name));
    if (trainer->data->info.graphs > 1 && pgcn_i_kept_edges(&trainer->config) < 1)
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "edge-keep is %g, which draws edges of one graph, and %s has %lld graphs; set "
            "edge-keep to 1",
            pgcn_i_kept_edges(&trainer->config), trainer->data->name,
            (long long)trainer->data->info.graphs);
    return PGCN_OK;
}

static pgcn_status check_config(const pgcn_trainer *trainer) {
    const pgcn_config *config = &trainer->config;
    PGCN_TRY(check_network(trainer));
    if (trainer->data->task == PGCN_TASK_MULTILABEL && config->consistency > 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "consistency is %g, which compares samples of one class per node, and "
                           "data set %s has several labels; set consistency to 0 and samples to 1",
                           config->consistency, trainer->data->name);
    if (trainer->data->task == PGCN_TASK_MULTILABEL && config->pseudo_labels > 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "pseudo-labels is %d, which gives nodes one class each, and data set %s "
                           "has several labels; set pseudo-labels to 0",
                           config->pseudo_labels, trainer->data->name);
    if (trainer->data->task == PGCN_TASK_MULTILABEL && strcmp(config->class_weights, "none") != 0)
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "class-weights is %.40s, which weighs items by their one class, and data "
            "set %s has several labels; set class-weights to none",
            config->class_weights, trainer->data->name);
    return PGCN_OK;
}

/* ---- class weights --------------------------------------------------------------------------- */

/* Of a class without training items the weight is never looked at. */
static void balanced_weights(float *weight, const int64_t *per_class, int classes, int64_t items) {
    for (int c = 0; c < classes; c++)
        weight[c] = per_class[c] == 0
                        ? 1.0f
                        : (float)((double)items / ((double)classes * (double)per_class[c]));
}

static pgcn_status given_weights(const pgcn_trainer *trainer, float *weight) {
    const pgcn_dataset *data = trainer->data;
    const char *at = trainer->config.class_weights;
    int given = 1;
    for (const char *comma = at; (comma = strchr(comma, ',')); comma++) given++;
    if (given != data->classes)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "class-weights has %d number%s and data set %s has %d classes; give one "
                           "for each class, in their order (pathgcn data info lists them)",
                           given, given == 1 ? "" : "s", data->name, data->classes);
    for (int c = 0; c < given; c++) {
        char number[64];
        double value = 1;
        size_t length = strcspn(at, ",");
        snprintf(number, sizeof number, "%.*s", (int)length, at);
        pgcn_number_parse(number, &value); /* as config.c has checked */
        weight[c] = (float)value;
        at += length + 1;
    }
    return PGCN_OK;
}

/* trainer->class_weight, which stays NULL for "none". */
static pgcn_status set_class_weights(pgcn_trainer *trainer, const int64_t *per_class) {
    int classes = trainer->data->classes;
    const char *text = trainer->config.class_weights;
    if (strcmp(text, "none") == 0) return PGCN_OK;
    trainer->class_weight = PGCN_I_ARRAY(&trainer->arena, float, classes);
    if (!trainer->class_weight) return PGCN_ERR_MEMORY;
    if (strcmp(text, "balanced") != 0) return given_weights(trainer, trainer->class_weight);
    balanced_weights(trainer->class_weight, per_class, classes, trainer->train_items);
    return PGCN_OK;
}

/* ---- the split ------------------------------------------------------------------------------- */

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

/* A class without a training item could never be predicted. Of several labels, one that no training
 * node has is learnt as such. */
static pgcn_status check_classes(const pgcn_trainer *trainer, const int64_t *per_class) {
    const pgcn_dataset *data = trainer->data;
    int missing = 0, first_missing = -1;
    char name[96];
    for (int c = 0; c < data->classes; c++)
        if (per_class[c] == 0 && missing++ == 0) first_missing = c;
    if (missing == 0 || trainer->config.allow_missing_class) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_MISMATCH,
                       "split %s of %s has no training %s of class %s (%d of %d classes are "
                       "missing), so the model could never predict it; choose another split, "
                       "or set allow-missing-class to yes",
                       trainer->split->name, data->name,
                       data->task == PGCN_TASK_GRAPH ? "graph" : "node",
                       class_text(data, first_missing, name), missing, data->classes);
}

static pgcn_status count_items(pgcn_trainer *trainer) {
    const pgcn_dataset *data = trainer->data;
    const pgcn_i_split *split = trainer->split;
    const pgcn_i_target train = pgcn_i_target_of(data, split->train);
    trainer->train_items = train.masked;
    trainer->val_items = pgcn_i_target_of(data, split->val).masked;
    trainer->test_items = pgcn_i_target_of(data, split->test).masked;
    if (train.label) {
        int64_t *per_class = pgcn_i_alloc(data->classes, sizeof *per_class);
        if (!per_class) return PGCN_ERR_MEMORY;
        for (int64_t i = 0; i < data->info.items; i++)
            if (train.label[i] >= 0) per_class[train.label[i]] += split->train[i];
        pgcn_status status = check_classes(trainer, per_class);
        if (status == PGCN_OK) status = set_class_weights(trainer, per_class);
        pgcn_i_free(per_class);
        PGCN_TRY(status);
    }
    if (trainer->train_items == 0 || (trainer->val_items == 0 && !data->without_val) ||
        (trainer->test_items == 0 && !data->without_test))
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "split %s of %s has %lld training, %lld validation and %lld test %s "
                           "with a label; each must have at least one",
                           split->name, data->name, (long long)trainer->train_items,
                           (long long)trainer->val_items, (long long)trainer->test_items,
                           pgcn_i_items_name(data));
    return PGCN_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_utf8(const char *name) {
    return pgcn_i_is_utf8(name, (int64_t)strlen(name));
}

/* Checkpoints and models hold names as JSON text; better refused now than after hours of training. */
static pgcn_status check_names(const pgcn_dataset *data) {
    for (int c = 0; c < data->from.class_name.count; c++)
        if (!is_utf8(pgcn_dataset_class_name(data, c)))
            return pgcn_i_fail(
                PGCN_ERR_FORMAT,
                "the name of class %d of data set %s, '%.64s', is not UTF-8 text; save the "
                "file that has it as UTF-8",
                c, data->name, pgcn_dataset_class_name(data, c));
    if (is_utf8(data->name) && strlen(data->name) < sizeof((pgcn_model *)0)->dataset)
        return PGCN_OK;
    return pgcn_i_fail(
        PGCN_ERR_ARGUMENT,
        "the name of the data set, '%.64s', is not UTF-8 or is longer than %zu bytes; "
        "rename its folder",
        data->name, sizeof((pgcn_model *)0)->dataset - 1);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static pgcn_status check_clusters(const pgcn_trainer *trainer) {
    const pgcn_config *config = &trainer->config;
    int64_t n = trainer->data->graph->n;
    if (config->batch_by != PGCN_BATCH_CLUSTER) return PGCN_OK;
    if (config->parts > n)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "parts is %d, and %s has %lld nodes; set parts to at most that",
                           config->parts, trainer->data->name, (long long)n);
    if (config->parts_per_step > config->parts)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "parts-per-step is %d and parts is %d; set parts-per-step to at most "
                           "parts",
                           config->parts_per_step, config->parts);
    if (pgcn_i_kept_edges(config) < 1)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "edge-keep is %g, which draws edges of the whole graph, and batch-by is "
                           "cluster; set edge-keep to 1",
                           pgcn_i_kept_edges(config));
    if (pgcn_i_norms_graphs(config))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "norm-over is graph and batch-by is cluster: training would normalise "
                           "clusters, and predictions the whole graph; set norm-over to step");
    return PGCN_OK;
}

pgcn_status pgcn_i_trainer_check(pgcn_trainer *trainer) {
    PGCN_TRY(pgcn_config_check_for(&trainer->config, trainer->data));
    PGCN_TRY(check_names(trainer->data));
    PGCN_TRY(check_no_regression(trainer));
    PGCN_TRY(check_task(trainer->data));
    PGCN_TRY(check_config(trainer));
    PGCN_TRY(check_clusters(trainer));
    PGCN_TRY(choose_split(trainer));
    return count_items(trainer);
}

void pgcn_i_trainer_settle(pgcn_trainer *trainer) {
    pgcn_config *config = &trainer->config;
    if (config->normalise == PGCN_NORMALISE_AUTO)
        config->normalise =
            trainer->data->x.offset ? PGCN_NORMALISE_ROWS : PGCN_NORMALISE_STANDARDISE;
    pgcn_config_settle_batches(config, trainer->data);
    if (config->batch_by == PGCN_BATCH_CLUSTER && config->parts_by == PGCN_PARTS_AUTO)
        config->parts_by = pgcn_i_has_metis() ? PGCN_PARTS_METIS : PGCN_PARTS_BUILTIN;
    pgcn_i_config_settle(config);
}
