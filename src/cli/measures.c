/* Measures in words: their names, the one that results are reported in, and advice about classes
 * that are imbalanced or never predicted. Called by train, eval, data info and tune. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *cli_measure_title(pgcn_measure measure, pgcn_task task) {
    switch (measure) {
    case PGCN_MEASURE_BALANCED_ACCURACY: return "balanced accuracy";
    case PGCN_MEASURE_MACRO_F1: return "macro-F1";
    case PGCN_MEASURE_AUC: return "AUC";
    case PGCN_MEASURE_AVERAGE_PRECISION: return "average precision";
    default: return cli_metric(task);
    }
}

void cli_measure_key(pgcn_measure measure, char out[32]) {
    snprintf(out, 32, "%s", pgcn_measure_name(measure));
    for (char *c = out; *c; c++)
        if (*c == '-') *c = '_';
}

pgcn_measure cli_measure_of(const pgcn_dataset_info *info, const pgcn_recipe_info *recipe) {
    pgcn_measure measure = info->measure;
    if (recipe && *recipe->measure) pgcn_measure_parse(recipe->measure, &measure);
    return measure;
}

void cli_put_scores(json_t *object, const char *part, const pgcn_score *score) {
    char key[96], name[32];
    for (int m = PGCN_MEASURE_ACCURACY + 1; m < PGCN_MEASURES; m++) {
        cli_measure_key((pgcn_measure)m, name);
        snprintf(key, sizeof key, "%s_%s", part, name);
        json_object_set_new(object, key, cli_json_real(pgcn_score_measure(score, (pgcn_measure)m)));
    }
    snprintf(key, sizeof key, "%s_majority", part);
    json_object_set_new(object, key, cli_json_real(score->majority));
    snprintf(key, sizeof key, "%s_classes_missed", part);
    json_object_set_new(object, key, json_integer(score->classes_missed));
    if (score->graphs == 0) return;
    snprintf(key, sizeof key, "%s_graph_accuracy", part);
    json_object_set_new(object, key, cli_json_real(score->graph_accuracy));
    snprintf(key, sizeof key, "%s_graphs", part);
    json_object_set_new(object, key, json_integer(score->graphs));
    snprintf(key, sizeof key, "%s_graph_nodes", part);
    json_object_set_new(object, key, json_integer(score->graph_nodes));
}

void cli_print_scored(const pgcn_score *const score[], const char *const part[], int parts) {
    const char *before = "Labelled and scored:", *nodes = " nodes";
    for (int i = 0; i < parts; i++) {
        char items[32], all[32];
        if (score[i]->graphs == 0) continue;
        cli_format_count(score[i]->items, items);
        cli_format_count(score[i]->graph_nodes, all);
        printf("%s %s of %s%s of %lld %s %s", before, items, all, nodes,
               (long long)score[i]->graphs, part[i], score[i]->graphs > 1 ? "graphs" : "graph");
        before = ",";
        nodes = "";
    }
    if (*nodes == '\0') printf(".\n");
}

/* "class 'NAME'", or its number if it has no name. */
static void put_class(FILE *out, const char *name, int number) {
    if (!name) {
        fprintf(out, "class %d", number);
        return;
    }
    fprintf(out, "class '");
    cli_put_text(out, name);
    fprintf(out, "'");
}

/* ---- unequal classes ---------------------------------------------------------------------------- */

/* The training items of each class in split 0; NULL if items have not one class each, or without
 * memory. */
static int64_t *count_training(const pgcn_dataset *data, const pgcn_dataset_info *info,
                               int64_t *items) {
    const int32_t *label = pgcn_dataset_labels(data);
    const uint8_t *train;
    if (!label || info->classes < 2 || !pgcn_dataset_split(data, 0, &train, NULL, NULL))
        return NULL;
    int64_t *count = calloc((size_t)info->classes, sizeof *count);
    *items = 0;
    for (int64_t i = 0; count && i < info->items; i++) {
        if (!train[i] || label[i] < 0) continue;
        count[label[i]]++;
        ++*items;
    }
    return count;
}

/* Accuracy is misleading if one class has three quarters of the training items, or if one has less
 * than a fifth of what balanced classes would have. */
void cli_note_unequal(FILE *out, const pgcn_dataset *data) {
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(info.name, ":"), info.name);
    if (info.measure != PGCN_MEASURE_ACCURACY || pgcn_published_find(name, NULL)) return;
    int64_t items, *count = count_training(data, &info, &items);
    if (!count || items == 0) {
        free(count);
        return;
    }
    int most = 0, least = 0;
    for (int c = 1; c < info.classes; c++) {
        if (count[c] > count[most]) most = c;
        if (count[c] < count[least]) least = c;
    }
    bool much = 4 * count[most] >= 3 * items;
    bool little = 5 * count[least] * info.classes < items;
    if (count[least] == 0) much = little = false; /* train refuses that with a better message */
    int named = much ? most : least;
    const char *measure = info.classes == 2 ? "auc" : "macro-f1", *of = cli_items(info.task);
    if (much || little) {
        fprintf(out, "note: the classes are unequal: ");
        put_class(out, pgcn_dataset_class_name(data, named), named);
        fprintf(
            out,
            " has %lld of the %lld training %s, so accuracy says little; look at %s, and choose "
            "epochs by it with --select %s\n",
            (long long)count[named], (long long)items, of,
            cli_measure_title(info.classes == 2 ? PGCN_MEASURE_AUC : PGCN_MEASURE_MACRO_F1,
                              info.task),
            measure);
    }
    free(count);
}

/* ---- few validation items ------------------------------------------------------------------------ */

void cli_note_few(FILE *out, const pgcn_dataset *data, const char *split) {
    enum { FEW = 8 };
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    const uint8_t *val;
    const char *name;
    const int32_t *label = pgcn_dataset_labels(data);
    int64_t items = 0;
    int i = 0;
    while ((name = pgcn_dataset_split(data, i, NULL, &val, NULL)) && strcmp(name, split) != 0) i++;
    if (!label || !name) return;
    for (int64_t item = 0; item < info.items; item++) items += val[item] && label[item] >= 0;
    if (items > 0 && items < FEW)
        fprintf(
            out,
            "note: %lld validation %s decided which epoch and which settings are the best: too few "
            "to tell; more labels, or several --seeds, make it more certain\n",
            (long long)items, cli_items(info.task));
}

/* ---- what was not learnt ------------------------------------------------------------------------ */

/* Class weights, and epochs chosen by another measure, trade accuracy for the rare classes. */
bool cli_is_beaten(const pgcn_score *val, const cli_training *training) {
    return training->weighted || training->by_measure || isnan(val->majority) ||
           val->accuracy > val->majority;
}

/* What has not been tried yet. */
static const char *first_remedy(const cli_training *training) {
    if (training->weighted && training->by_measure) return "";
    if (training->weighted) return "--select macro-f1 and, if that is not enough, ";
    if (training->by_measure) return "--class-weights balanced and, if that is not enough, ";
    return "--class-weights balanced --select macro-f1 and, if that is not enough, ";
}

void cli_advise(FILE *out, const pgcn_score *val, const char *class_name,
                const cli_training *training) {
    bool beaten = cli_is_beaten(val, training);
    if (training->task == PGCN_TASK_MULTILABEL || (beaten && val->classes_missed == 0)) return;
    const char *of = cli_items(training->task);
    if (!beaten)
        fprintf(out,
                "On validation %s the most frequent class alone has %.2f%%, which is not beaten",
                of, val->majority);
    if (val->classes_missed > 0) {
        fprintf(out, beaten ? "On validation %s " : ", and ", of);
        put_class(out, class_name, val->first_missed);
        if (val->classes_missed > 1) fprintf(out, " and %d more", val->classes_missed - 1);
        fprintf(out, " %s never predicted", val->classes_missed > 1 ? "are" : "is");
    }
    fprintf(out, "; try %sless regularisation: --dropout 0.2%s%s.\n", first_remedy(training),
            pgcn_config_uses(training->config, "wd-mix") ? " --wd-mix 0" : " --wd-ends 0",
            pgcn_config_uses(training->config, "wd-kernel") ? " --wd-kernel 0" : "");
}
