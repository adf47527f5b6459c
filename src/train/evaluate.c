/* Evaluation of a model, or of several together: which of the data's items it was trained on, its classes by their names, and the
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
    int runs;                  /* draws of one model, or models */
    pgcn_i_score *single;      /* [runs, PARTS] of single ones */
    pgcn_i_score score[PARTS]; /* of their mean, */
    float *mean;               /* [items, classes of the model] which is this */
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

/* Rows of sums over `runs` draws, and whose they are; NULL: of items 0, 1, 2, ... */
typedef struct drawn_rows {
    const double *sum; /* [count, classes of the model] */
    int runs;
    const pgcn_node *item;
    int64_t count;
} drawn_rows;

/* Adds the rows to the scores of all parts, in their order. */
static void add_scores(const evaluation *e, drawn_rows rows, pgcn_i_score score[PARTS]) {
    for (int part = 0; part < PARTS; part++)
        for (int64_t r = 0; r < rows.count; r++) {
            const double *sum = rows.sum + r * e->model_classes;
            int64_t i = rows.item ? rows.item[r] : r;
            if (pgcn_i_counts(&e->target[part], i))
                pgcn_i_score_add_mean(&score[part], &e->target[part], i,
                                      (pgcn_i_mean){sum, rows.runs, e->of_model, e->model_classes});
        }
}

/* The same of all draws together, and what they predict. */
static void add_means(evaluation *e, drawn_rows rows) {
    int classes = e->model_classes;
    add_scores(e, rows, e->score);
    for (int64_t r = 0; r < rows.count; r++)
        for (int c = 0; c < classes; c++)
            e->mean[(rows.item ? rows.item[r] : r) * classes + c] =
                (float)(rows.sum[r * classes + c] / rows.runs);
}

static pgcn_status begin_scores(evaluation *e, int runs, int64_t items) {
    e->runs = runs;
    e->mean = PGCN_I_ARRAY(&e->arena, float, items * e->model_classes);
    e->single = PGCN_I_ARRAY(&e->arena, pgcn_i_score, (int64_t)e->runs * PARTS);
    if (!e->mean || !e->single) return PGCN_ERR_MEMORY;
    for (int part = 0; part < PARTS; part++) {
        const pgcn_i_target *target = &e->target[part];
        e->score[part] = (pgcn_i_score){.items = target->masked, .several = target->labels != NULL};
        for (int draw = 0; draw < e->runs; draw++) e->single[draw * PARTS + part] = e->score[part];
    }
    return PGCN_OK;
}

static pgcn_status score_whole(evaluation *e, pgcn_i_session *s) {
    pgcn_i_draws d;
    pgcn_status status = pgcn_i_draws_init(&d, s);
    for (int draw = 0; status == PGCN_OK && draw < d.runs; draw++) {
        status = pgcn_i_draws_add(&d, s, draw);
        if (status == PGCN_OK)
            add_scores(e, (drawn_rows){d.last, 1, NULL, s->items}, e->single + draw * PARTS);
    }
    if (status == PGCN_OK) add_means(e, (drawn_rows){d.sum, d.runs, NULL, s->items});
    pgcn_i_arena_free(&d.arena);
    return status;
}

typedef struct block_scores {
    evaluation *e;
    pgcn_i_block_sums sums;
} block_scores;

static void take_block(void *context, const pgcn_i_session *s, int64_t first, pgcn_i_chosen chosen,
                       int draw) {
    (void)first;
    block_scores *b = context;
    evaluation *e = b->e;
    bool last = pgcn_i_block_sums_add(&b->sums, s, chosen.count, draw);
    add_scores(e, (drawn_rows){b->sums.last, 1, chosen.item, chosen.count},
               e->single + draw * PARTS);
    if (last) add_means(e, (drawn_rows){b->sums.sum, e->runs, chosen.item, chosen.count});
}

/* Only items that have a label are predicted, in ascending order. */
static pgcn_status score_blocks(evaluation *e, pgcn_i_session *s) {
    const pgcn_i_target *all = &e->target[PGCN_PART_ALL];
    block_scores b = {.e = e};
    int64_t count = 0;
    pgcn_node *item = pgcn_i_alloc(s->items, sizeof *item);
    pgcn_status status = pgcn_i_block_sums_init(&b.sums, s);
    if (!item) status = PGCN_ERR_MEMORY;
    for (int64_t i = 0; status == PGCN_OK && i < s->items; i++)
        if (pgcn_i_counts(all, i)) item[count++] = (pgcn_node)i;
    if (status == PGCN_OK) status = pgcn_i_session_ask(s, item, count, take_block, &b);
    pgcn_i_arena_free(&b.sums.arena);
    pgcn_i_free(item);
    return status;
}

/* Bytes that an evaluation keeps: means, masks, and the predictions of a part beside its labels. */
static int64_t results_of(const pgcn_model *model, const pgcn_dataset *data) {
    int64_t row = model->classes * (int64_t)sizeof(float);
    return data->info.items * (2 * row + (int64_t)sizeof(pgcn_node) + 32);
}

static pgcn_status score_model(evaluation *e, const pgcn_model *model, const pgcn_dataset *data,
                               const pgcn_inference *inference) {
    pgcn_i_session s;
    PGCN_TRY(pgcn_i_session_open(&s, model, data, inference, results_of(model, data)));
    pgcn_status status =
        begin_scores(e, s.inference.draws > 0 ? s.inference.draws : 1, data->info.items);
    if (status == PGCN_OK) status = s.runner.views.nodes ? score_blocks(e, &s) : score_whole(e, &s);
    pgcn_i_session_close(&s);
    return status;
}

/* Several models: what a draw is to one of them, each of them is here. */
static pgcn_status score_models(evaluation *e, pgcn_i_models models, const pgcn_dataset *data,
                                const pgcn_inference *inference) {
    int64_t items = data->info.items;
    pgcn_i_mean_of_models mean = {.count = 0};
    pgcn_status status = begin_scores(e, models.count, items);
    if (status == PGCN_OK) status = pgcn_i_mean_of_models_init(&mean, models, items);
    for (int m = 0; status == PGCN_OK && m < models.count; m++) {
        status = pgcn_i_mean_of_models_add(&mean, models.model[m], data, inference);
        if (status == PGCN_OK)
            add_scores(e, (drawn_rows){mean.last, 1, NULL, items}, e->single + m * PARTS);
    }
    if (status == PGCN_OK) add_means(e, (drawn_rows){mean.sum, models.count, NULL, items});
    pgcn_i_arena_free(&mean.arena);
    return status;
}

/* The predictions of a part, as pgcn_model_predict() gives them, beside the labels. Free the tally after a
 * failure too. */
static pgcn_status gather_part(const evaluation *e, int part, const pgcn_dataset *data,
                               pgcn_i_tally *tally) {
    const pgcn_i_target *target = &e->target[part];
    int64_t items = data->info.items;
    int classes = e->model_classes, of_data = e->classes;
    pgcn_i_arena arena = {0};
    uint8_t *labels = PGCN_I_ARRAY(&arena, uint8_t, classes);
    pgcn_status status = pgcn_i_tally_init(tally, target->masked, classes, target->labels != NULL);
    if (!labels) status = PGCN_ERR_MEMORY;
    if (status == PGCN_OK) status = pgcn_i_tally_by_graph(tally, data);
    for (int64_t i = 0; status == PGCN_OK && i < items; i++) {
        if (!pgcn_i_counts(target, i)) continue;
        for (int c = 0; target->labels && c < of_data; c++)
            labels[e->of_model[c]] = target->labels[i * of_data + c];
        pgcn_i_tally_add(tally, e->mean + i * classes,
                         target->label ? e->of_model[target->label[i]] : 0, labels);
    }
    if (status == PGCN_OK) pgcn_i_tally_place(tally, 0, target, items, NULL);
    pgcn_i_arena_free(&arena);
    return status;
}

/* The measures of a part and, where it is wanted, the verdict. */
static pgcn_status measure_part(const evaluation *e, const pgcn_dataset *data, int part,
                                pgcn_score *out, pgcn_verdict *verdict) {
    pgcn_i_tally tally;
    const pgcn_i_target *target = &e->target[part];
    pgcn_status status = gather_part(e, part, data, &tally);
    if (status == PGCN_OK) pgcn_i_tally_score(&tally, out);
    if (status == PGCN_OK && verdict)
        pgcn_i_verdict_fill(verdict, (pgcn_part)part, data, &tally, out);
    pgcn_i_tally_free(&tally);
    return status == PGCN_OK ? pgcn_i_majority(&e->target[PGCN_PART_TRAIN], target,
                                               data->info.items, e->classes, &out->majority)
                             : status;
}

/* The scores of the mean, and mean and deviation of the accuracy of a single draw. */
static pgcn_score score_of(const evaluation *e, int part) {
    double sum = 0, squares = 0;
    for (int draw = 0; draw < e->runs; draw++) {
        double accuracy = pgcn_i_score_accuracy(&e->single[draw * PARTS + part]);
        sum += accuracy;
        squares += accuracy * accuracy;
    }
    return (pgcn_score){.accuracy = pgcn_i_score_accuracy(&e->score[part]),
                        .draw_accuracy = sum / e->runs,
                        .draw_deviation = pgcn_i_deviation_of(sum, squares, e->runs),
                        .loss = pgcn_i_score_loss(&e->score[part])};
}

static pgcn_status evaluate(evaluation *e, pgcn_i_models models, const pgcn_dataset *data,
                            const pgcn_inference *inference, pgcn_scores *out,
                            pgcn_verdict *verdict) {
    PGCN_TRY(evaluation_init(e, models.model[0], data));
    pgcn_status status = models.count == 1 ? score_model(e, models.model[0], data, inference)
                                           : score_models(e, models, data, inference);
    pgcn_score *scores[PARTS] = {&out->train, &out->val, &out->test, &out->all};
    for (int part = 0; status == PGCN_OK && part < PARTS; part++) {
        *scores[part] = score_of(e, part);
        status = measure_part(e, data, part, scores[part], verdict);
    }
    if (status == PGCN_OK) {
        out->split_match = e->match;
        out->split = e->split;
    }
    return status;
}

/* verdict NULL: only the scores are wanted. */
static pgcn_status judge(pgcn_i_models models, const pgcn_dataset *data,
                         const pgcn_inference *inference, pgcn_scores *out, pgcn_verdict *verdict) {
    evaluation e = {0};
    pgcn_scores scores;
    PGCN_TRY(check_evaluation(models.model[0], data));
    pgcn_status status = evaluate(&e, models, data, inference, &scores, verdict);
    if (status == PGCN_OK && out) *out = scores;
    pgcn_i_arena_free(&e.arena);
    return status;
}

pgcn_status pgcn_model_evaluate(const pgcn_model *model, const pgcn_dataset *data,
                                const pgcn_inference *inference, pgcn_scores *out) {
    PGCN_I_NEED(model);
    PGCN_I_NEED(data);
    PGCN_I_NEED(out);
    return judge((pgcn_i_models){&model, 1}, data, inference, out, NULL);
}

pgcn_status pgcn_model_judge(const pgcn_model *model, const pgcn_dataset *data,
                             const pgcn_inference *inference, pgcn_scores *scores,
                             pgcn_verdict **out) {
    PGCN_I_NEED(model);
    return pgcn_models_judge(&model, 1, data, inference, scores, out);
}

pgcn_status pgcn_models_judge(const pgcn_model *const *model, int count, const pgcn_dataset *data,
                              const pgcn_inference *inference, pgcn_scores *scores,
                              pgcn_verdict **out) {
    const pgcn_i_models models = {model, count};
    PGCN_I_NEED(data);
    PGCN_I_NEED(out);
    PGCN_TRY(pgcn_i_models_check(models));
    PGCN_TRY(pgcn_i_models_check_split(models));
    pgcn_verdict *verdict;
    PGCN_TRY(
        pgcn_i_verdict_new(model[0]->classes, model[0]->task == PGCN_TASK_MULTILABEL, &verdict));
    pgcn_status status = judge(models, data, inference, scores, verdict);
    if (status == PGCN_OK)
        *out = verdict;
    else
        pgcn_verdict_free(verdict);
    return status;
}
