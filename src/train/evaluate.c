/* Evaluation of a model: which of the data's items it was trained on, its classes by their names, and the
 * scores of every part. */
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what fits what -------------------------------------------------------------------------------- */

static int split_named(const pgcn_dataset *data, const char *name) {
    for (int i = 0; i < data->splits; i++)
        if (strcmp(data->split[i].name, name) == 0) return i;
    return -1;
}

/* The split of the data that has the training and validation items of the model's, whatever it is
 * called; one that tests the same items too comes first. A model of 0.1 knows only the name. */
static pgcn_status find_split(const pgcn_model *model, const pgcn_dataset *data,
                              pgcn_split_match *match, int *out) {
    int named = split_named(data, model->split), seen = -1;
    *match = named < 0 ? PGCN_SPLIT_NONE : PGCN_SPLIT_BY_NAME;
    *out = named;
    if (!*model->split_id.all) return PGCN_OK;
    *match = named < 0 ? PGCN_SPLIT_NONE : PGCN_SPLIT_OTHER;
    for (int i = 0; i < data->splits; i++) {
        pgcn_i_split_id id;
        PGCN_TRY(pgcn_i_split_identify(data, &data->split[i], &id));
        if (strcmp(id.seen, model->split_id.seen) != 0) continue;
        if (seen < 0 || strcmp(id.all, model->split_id.all) == 0) seen = i;
    }
    if (seen >= 0) *match = PGCN_SPLIT_SAME;
    *out = seen;
    return PGCN_OK;
}

/* Classes are numbered by each data set for itself: one that has fewer of them may number them
 * otherwise. They are found by their names; what has none is called by its number. */
static const char *name_or_number(const char *name, int c, char number[16]) {
    snprintf(number, 16, "%d", c);
    return name ? name : number;
}

static pgcn_status find_class(const pgcn_model *model, const pgcn_dataset *data, int c, int *out) {
    char ours[16], theirs[16];
    const char *name = name_or_number(pgcn_dataset_class_name(data, c), c, theirs);
    for (int k = 0; k < model->classes; k++)
        if (strcmp(name_or_number(pgcn_model_class_name(model, k), k, ours), name) == 0) {
            *out = k;
            return PGCN_OK;
        }
    return pgcn_i_fail(PGCN_ERR_MISMATCH,
                       "data set %s has the class '%s', which the data the model was trained on "
                       "(%s, %d classes) had not; give such items no label, or train with them",
                       data->name, name, model->dataset, model->classes);
}

static pgcn_status check_evaluation(const pgcn_model *model, const pgcn_dataset *data) {
    static const char *const predicts[] = {[PGCN_TASK_NONE] = "nothing",
                                           [PGCN_TASK_NODE] = "one class per node",
                                           [PGCN_TASK_MULTILABEL] = "several labels per node",
                                           [PGCN_TASK_GRAPH] = "one class per graph"};
    if (data->task != model->task)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "the model predicts %s, which data set %s does not tell",
                           predicts[model->task], data->name);
    if (data->classes > model->classes ||
        (model->task == PGCN_TASK_MULTILABEL && data->classes != model->classes))
        return pgcn_i_fail(PGCN_ERR_MISMATCH, "the model knows %d classes and data set %s has %d",
                           model->classes, data->name, data->classes);
    return PGCN_OK;
}

/* What is scored: all items, and the parts of the split that the model was trained on, if the data has
 * it. */
enum { PARTS = PGCN_PARTS };
typedef struct evaluation {
    pgcn_i_arena arena;
    int classes, model_classes; /* of the data, of the model */
    int *of_model;              /* [classes] */
    pgcn_split_match match;
    int split; /* of the data, -1: none */
    pgcn_i_target target[PARTS];
    double sum[PARTS], squares[PARTS]; /* accuracies of single draws */
} evaluation;

static pgcn_status evaluation_init(evaluation *e, const pgcn_model *model,
                                   const pgcn_dataset *data) {
    int64_t items = data->info.items;
    *e = (evaluation){.classes = data->classes, .model_classes = model->classes};
    PGCN_TRY(find_split(model, data, &e->match, &e->split));
    const pgcn_i_split *split = e->split < 0 ? NULL : &data->split[e->split];
    e->of_model = PGCN_I_ARRAY(&e->arena, int, data->classes);
    uint8_t *all = PGCN_I_ARRAY(&e->arena, uint8_t, items);
    const uint8_t *none = PGCN_I_ARRAY(&e->arena, uint8_t, items);
    if (!e->of_model || !all || !none) return PGCN_ERR_MEMORY;
    for (int c = 0; c < data->classes; c++) PGCN_TRY(find_class(model, data, c, &e->of_model[c]));
    for (int64_t i = 0; i < items; i++) all[i] = pgcn_i_source_has_label(&data->from, i);
    const uint8_t *mask[PARTS] = {split ? split->train : none, split ? split->val : none,
                                  split ? split->test : none, all};
    for (int part = 0; part < PARTS; part++) e->target[part] = pgcn_i_target_of(data, mask[part]);
    return PGCN_OK;
}

/* Of the sums of `runs` draws. */
static pgcn_i_score score_part(const evaluation *e, int part, const double *sum, int runs,
                               int64_t items) {
    const pgcn_i_target *target = &e->target[part];
    pgcn_i_score score = {.items = target->masked, .several = target->labels != NULL};
    for (int64_t i = 0; i < items; i++)
        if (pgcn_i_counts(target, i))
            pgcn_i_score_add_mean(
                &score, target, i,
                (pgcn_i_mean){sum + i * e->model_classes, runs, e->of_model, e->model_classes});
    return score;
}

/* The predictions of a part, as pgcn_model_predict() gives them, beside the labels. Free the tally after a
 * failure too. */
static pgcn_status gather_part(const evaluation *e, const pgcn_i_draws *d, int part, int64_t items,
                               pgcn_i_tally *tally) {
    const pgcn_i_target *target = &e->target[part];
    int classes = d->classes, of_data = e->classes;
    pgcn_i_arena arena = {0};
    float *p = PGCN_I_ARRAY(&arena, float, classes);
    uint8_t *labels = PGCN_I_ARRAY(&arena, uint8_t, classes);
    pgcn_status status = pgcn_i_tally_init(tally, target->masked, classes, target->labels != NULL);
    if (!p || !labels) status = PGCN_ERR_MEMORY;
    for (int64_t i = 0; status == PGCN_OK && i < items; i++) {
        if (!pgcn_i_counts(target, i)) continue;
        for (int c = 0; c < classes; c++) p[c] = (float)(d->sum[i * classes + c] / d->runs);
        for (int c = 0; target->labels && c < of_data; c++)
            labels[e->of_model[c]] = target->labels[i * of_data + c];
        pgcn_i_tally_add(tally, p, target->label ? e->of_model[target->label[i]] : 0, labels);
    }
    pgcn_i_arena_free(&arena);
    return status;
}

/* The measures of a part and, where it is wanted, the verdict. */
static pgcn_status measure_part(const evaluation *e, const pgcn_i_session *s, const pgcn_i_draws *d,
                                int part, pgcn_score *out, pgcn_verdict *verdict) {
    pgcn_i_tally tally;
    const pgcn_i_target *target = &e->target[part];
    pgcn_status status = gather_part(e, d, part, s->items, &tally);
    if (status == PGCN_OK) pgcn_i_tally_score(&tally, out);
    if (status == PGCN_OK && verdict)
        status = pgcn_i_verdict_fill(verdict, (pgcn_part)part, s->data, target, &tally, out->loss);
    pgcn_i_tally_free(&tally);
    return status == PGCN_OK ? pgcn_i_majority(&e->target[PGCN_PART_TRAIN], target, s->items,
                                               e->classes, &out->majority)
                             : status;
}

static pgcn_status evaluate(evaluation *e, const pgcn_model *model, const pgcn_dataset *data,
                            const pgcn_inference *inference, pgcn_scores *out,
                            pgcn_verdict *verdict) {
    pgcn_i_session s;
    pgcn_i_draws d;
    PGCN_TRY(evaluation_init(e, model, data));
    PGCN_TRY(pgcn_i_session_open(&s, model, data, inference));
    pgcn_status status = pgcn_i_draws_init(&d, &s);
    for (int draw = 0; status == PGCN_OK && draw < d.runs; draw++) {
        status = pgcn_i_draws_add(&d, &s, draw);
        for (int part = 0; status == PGCN_OK && part < PARTS; part++) {
            pgcn_i_score score = score_part(e, part, d.last, 1, s.items);
            double accuracy = pgcn_i_score_accuracy(&score);
            e->sum[part] += accuracy;
            e->squares[part] += accuracy * accuracy;
        }
    }
    pgcn_score *scores[PARTS] = {&out->train, &out->val, &out->test, &out->all};
    for (int part = 0; status == PGCN_OK && part < PARTS; part++) {
        pgcn_i_score mean = score_part(e, part, d.sum, d.runs, s.items);
        *scores[part] = (pgcn_score){
            .accuracy = pgcn_i_score_accuracy(&mean),
            .draw_accuracy = e->sum[part] / d.runs,
            .draw_deviation = pgcn_i_deviation_of(e->sum[part], e->squares[part], d.runs),
            .loss = pgcn_i_score_loss(&mean)};
        status = measure_part(e, &s, &d, part, scores[part], verdict);
    }
    if (status == PGCN_OK) {
        out->split_match = e->match;
        out->split = e->split;
    }
    pgcn_i_arena_free(&d.arena);
    pgcn_i_session_close(&s);
    return status;
}

/* verdict NULL: only the scores are wanted. */
static pgcn_status judge(const pgcn_model *model, const pgcn_dataset *data,
                         const pgcn_inference *inference, pgcn_scores *out, pgcn_verdict *verdict) {
    evaluation e = {0};
    pgcn_scores scores;
    PGCN_TRY(check_evaluation(model, data));
    pgcn_status status = evaluate(&e, model, data, inference, &scores, verdict);
    if (status == PGCN_OK && out) *out = scores;
    pgcn_i_arena_free(&e.arena);
    return status;
}

pgcn_status pgcn_model_evaluate(const pgcn_model *model, const pgcn_dataset *data,
                                const pgcn_inference *inference, pgcn_scores *out) {
    PGCN_I_NEED(model);
    PGCN_I_NEED(data);
    PGCN_I_NEED(out);
    return judge(model, data, inference, out, NULL);
}

pgcn_status pgcn_model_judge(const pgcn_model *model, const pgcn_dataset *data,
                             const pgcn_inference *inference, pgcn_scores *scores,
                             pgcn_verdict **out) {
    PGCN_I_NEED(model);
    PGCN_I_NEED(data);
    PGCN_I_NEED(out);
    pgcn_verdict *verdict;
    PGCN_TRY(pgcn_i_verdict_new(model->classes, model->task == PGCN_TASK_MULTILABEL, &verdict));
    pgcn_status status = judge(model, data, inference, scores, verdict);
    if (status == PGCN_OK)
        *out = verdict;
    else
        pgcn_verdict_free(verdict);
    return status;
}
