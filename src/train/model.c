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
    json_t *history =
        pgcn_i_history_to_json(progress->history, progress->epochs, trainer->config.select);
    model->history = history ? pgcn_i_json_dump(history, 0) : NULL;
    json_decref(history);
    if (!model->history)
        return pgcn_i_fail(PGCN_ERR_MEMORY, "out of memory for the history of %lld epochs",
                           (long long)progress->epochs);
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

/* ---- inference options -------------------------------------------------------------------------- */

pgcn_inference pgcn_inference_default(void) {
    return (pgcn_inference){.size = sizeof(pgcn_inference)};
}

pgcn_status pgcn_inference_parse(const char *text, pgcn_inference *inference) {
    PGCN_I_NEED(text);
    PGCN_I_NEED(inference);
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

/* One network on one data set, ready to give probabilities again and again: of the whole graph, or of
 * the graphs of a set batch by batch. */
typedef struct session {
    const pgcn_model *model;
    const pgcn_dataset *data;
    pgcn_config config;
    pgcn_inference inference;
    pgcn_i_params params; /* shares the model's arrays */
    pgcn_i_arena arena;
    pgcn_i_features x; /* of the data, in the columns of the model */
    pgcn_i_pool *pool;
    pgcn_i_input *input;
    pgcn_i_spatial spatial;
    pgcn_i_visits *visits;
    pgcn_i_transition transition;
    pgcn_i_batch *batch; /* NULL: all nodes at once */
    pgcn_node *chosen;   /* its graphs */
    pgcn_i_tape tape;
    pgcn_i_value *logits;
    pgcn_i_loss loss; /* its probabilities are those of the last part */
    int64_t items;    /* of the data set: nodes or graphs */
    bool several;     /* labels, each with a probability of its own */
} session;

static void session_close(session *s) {
    pgcn_i_loss_free(&s->loss);
    pgcn_i_tape_free(&s->tape);
    pgcn_i_batch_free(s->batch);
    pgcn_i_visits_free(s->visits);
    pgcn_i_spatial_free(&s->spatial);
    pgcn_i_input_free(s->input);
    pgcn_i_pool_free(s->pool);
    pgcn_i_arena_free(&s->arena);
}

/* As many graphs at a time as in a step of the training. */
static pgcn_status session_batch(session *s) {
    pgcn_i_whole whole = {.data = s->data,
                          .input = s->input,
                          .exact = s->inference.draws > 0 ? NULL : &s->spatial.exact,
                          .degree = s->spatial.visit_degree};
    PGCN_TRY(pgcn_i_batch_new(&whole, s->config.batch, 1, false, &s->batch));
    s->chosen = PGCN_I_ARRAY(&s->batch->arena, pgcn_node, s->batch->most_graphs);
    if (!s->chosen) return PGCN_ERR_MEMORY;
    s->transition.n = s->batch->subset.most;
    s->transition.exact = &s->batch->exact;
    return PGCN_OK;
}

/* Nodes without features get the mean of those of the training. */
static pgcn_status session_input(session *s) {
    const float *fill = pgcn_i_network_fill(&s->params);
    pgcn_i_arena scratch = {0};
    pgcn_i_features filled;
    if (s->x.absent && !fill)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "%lld nodes of data set %s have no features, and the model, of version "
                           "0.1, does not hold the mean that stands for them; give features for "
                           "these nodes, or train again",
                           (long long)s->data->info.featureless, s->data->name);
    pgcn_status status = pgcn_i_fill_absent(&s->x, fill, &scratch, &filled);
    if (status == PGCN_OK)
        status = pgcn_i_input_new(&filled, s->config.normalise, pgcn_i_network_standard(&s->params),
                                  false, &s->input);
    pgcn_i_arena_free(&scratch);
    return status;
}

static pgcn_status session_fill(session *s, const pgcn_model *model, const pgcn_dataset *data) {
    bool sampled = s->inference.draws > 0;
    if (model->task == PGCN_TASK_GRAPH && !data->from.graph_of)
        return pgcn_i_fail(
            PGCN_ERR_MISMATCH,
            "the model predicts a class for every graph of a set of graphs, and data "
            "set %s is a single graph",
            data->name);
    PGCN_TRY(pgcn_i_match_columns(model, data, &s->arena, &s->x));
    if (s->inference.draws < 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "draws is %d, expected 0 or more",
                           s->inference.draws);
    PGCN_TRY(pgcn_i_pool_new(s->inference.threads, &s->pool));
    PGCN_TRY(session_input(s));
    PGCN_TRY(pgcn_i_spatial_of(&s->spatial, data, &s->config));
    if (!sampled && !s->spatial.has_exact)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "a model of node2vec walks has no deterministic form (its walks have a "
                           "memory); use inference stochastic:10");
    s->transition = pgcn_i_spatial_transition(&s->spatial, 1);
    if (pgcn_i_in_batches(data, model->task == PGCN_TASK_GRAPH)) PGCN_TRY(session_batch(s));
    if (sampled) {
        PGCN_TRY(pgcn_i_visits_new(&s->spatial.walker, s->batch ? &s->batch->subset : NULL, 1,
                                   false, &s->visits));
        s->transition.visits = s->visits;
    }
    PGCN_TRY(
        pgcn_i_tape_init(&s->tape, s->pool, &s->params, pgcn_i_network_ops(&s->config), false));
    pgcn_i_view view = {.input = s->batch ? &s->batch->input : s->input,
                        .transitions = &s->transition,
                        .samples = 1};
    if (model->task == PGCN_TASK_GRAPH) {
        view.segment = s->batch->segment;
        view.graphs = s->batch->graphs;
    }
    s->logits = pgcn_i_network_record(&s->tape, &s->config, &view);
    PGCN_TRY(pgcn_i_tape_finish(&s->tape));
    return pgcn_i_loss_init(&s->loss, s->logits->rows, 1, model->classes);
}

static pgcn_status session_open(session *s, const pgcn_model *model, const pgcn_dataset *data,
                                const pgcn_inference *inference) {
    bool per_graph = model->task == PGCN_TASK_GRAPH;
    *s = (session){.model = model,
                   .data = data,
                   .config = model->config,
                   .inference = pgcn_inference_default(),
                   .params = model->params,
                   .items = per_graph ? data->info.graphs : data->graph->n,
                   .several = model->task == PGCN_TASK_MULTILABEL};
    PGCN_TRY(
        pgcn_i_opts_over(&s->inference, sizeof s->inference, inference, "pgcn_inference_default"));
    PGCN_TRY(pgcn_i_kernels_check());
    PGCN_TRY(pgcn_i_seed_check(s->inference.seed));
    s->config.paths_per_layer = false; /* one sample per draw serves all layers */
    if (s->config.scaling != PGCN_SCALING_SUM)
        s->config.train_form = PGCN_FORM_SAMPLED; /* there is no way back that would need T^T */
    else if (s->inference.draws > 0)
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "a model that adds up over neighbours (scaling sum, gin) has no paths to "
            "draw; use inference deterministic");
    pgcn_status status = session_fill(s, model, data);
    if (status != PGCN_OK) session_close(s);
    return status;
}

static int session_runs(const session *s) {
    return s->inference.draws > 0 ? s->inference.draws : 1;
}

/* The probabilities of the items item[0 .. count-1] (NULL: 0 .. count-1) are in s->loss: of everything,
 * or of part i of the graphs. *more is false after the last part. */
static pgcn_status session_part(session *s, int draw, int64_t i, const pgcn_node **item,
                                int64_t *count, bool *more) {
    const float *degree = s->spatial.visit_degree;
    *item = NULL;
    *count = s->items;
    *more = i == 0;
    if (s->batch) {
        int64_t most = s->batch->most_graphs, first = i * most, graphs = s->data->info.graphs;
        *more = first < graphs;
        if (!*more) return PGCN_OK;
        for (int64_t g = 0; g < most; g++) s->chosen[g] = (pgcn_node)(first + g);
        pgcn_i_batch_gather(s->batch, s->chosen, graphs - first < most ? graphs - first : most);
        pgcn_i_batch_fit(s->batch, &s->tape, &s->transition, 1, &s->loss);
        *count = s->logits->per_graph ? s->batch->graphs : s->batch->subset.n;
        *item = s->logits->per_graph ? s->batch->graph : s->batch->subset.node;
        pgcn_i_loss_resize(&s->loss, *count);
        if (degree) degree = s->batch->degree;
    } else if (i > 0) {
        return PGCN_OK;
    }
    if (s->visits)
        pgcn_i_visits_sample(s->visits, &s->spatial.walker, s->pool, s->inference.seed,
                             PGCN_I_RNG_WALK_INFERENCE, draw, 0, degree);
    pgcn_i_tape_forward(&s->tape);
    if (!pgcn_i_is_finite(s->logits)) /* of infinite ones some probabilities are numbers */
        return pgcn_i_fail_prediction(s->model, s->data, s->input, &s->tape);
    if (s->several)
        pgcn_i_sigmoid_run(&s->loss, &s->tape, s->logits);
    else
        pgcn_i_softmax_run(&s->loss, &s->tape, s->logits);
    return PGCN_OK;
}

/* Sums over the draws: probabilities and their squares. */
typedef struct draws {
    pgcn_i_arena arena;
    int64_t count; /* items * classes */
    int runs, classes;
    double *last; /* of one draw */
    double *sum, *squares;
} draws;

static pgcn_status draws_init(draws *d, const session *s, int classes) {
    *d = (draws){.runs = session_runs(s), .classes = classes};
    if (!pgcn_i_mul(s->items, classes, &d->count))
        return pgcn_i_fail(PGCN_ERR_MEMORY, "%lld x %d probabilities are too many",
                           (long long)s->items, classes);
    d->last = PGCN_I_ARRAY(&d->arena, double, d->count);
    d->sum = PGCN_I_ARRAY(&d->arena, double, d->count);
    d->squares = PGCN_I_ARRAY(&d->arena, double, d->count);
    return d->last && d->sum && d->squares ? PGCN_OK : PGCN_ERR_MEMORY;
}

static pgcn_status draws_add(draws *d, session *s, int draw) {
    const pgcn_node *item;
    int64_t count;
    bool more = true;
    for (int64_t part = 0; more; part++) {
        PGCN_TRY(session_part(s, draw, part, &item, &count, &more));
        for (int64_t r = 0; more && r < count; r++)
            for (int c = 0; c < d->classes; c++)
                d->last[(item ? item[r] : r) * d->classes + c] =
                    (double)s->loss.probability[r * d->classes + c];
    }
    for (int64_t i = 0; i < d->count; i++) {
        d->sum[i] += d->last[i];
        d->squares[i] += d->last[i] * d->last[i];
    }
    return PGCN_OK;
}

/* Mean and sample deviation of `runs` values from their sum and sum of squares. */
static double deviation_of(double sum, double squares, int runs) {
    double variance = runs > 1 ? (squares - sum * sum / runs) / (runs - 1) : 0;
    return variance > 0 ? sqrt(variance) : 0;
}

pgcn_status pgcn_model_predict(const pgcn_model *model, const pgcn_dataset *data,
                               const pgcn_inference *inference, float *probability,
                               float *deviation) {
    PGCN_I_NEED(model);
    PGCN_I_NEED(data);
    PGCN_I_NEED(probability);
    session s;
    draws d;
    PGCN_TRY(session_open(&s, model, data, inference));
    pgcn_status status = draws_init(&d, &s, model->classes);
    for (int draw = 0; status == PGCN_OK && draw < d.runs; draw++) status = draws_add(&d, &s, draw);
    for (int64_t i = 0; status == PGCN_OK && i < d.count; i++) {
        probability[i] = (float)(d.sum[i] / d.runs);
        if (deviation) deviation[i] = (float)deviation_of(d.sum[i], d.squares[i], d.runs);
    }
    pgcn_i_arena_free(&d.arena);
    session_close(&s);
    return status;
}

/* ---- scores --------------------------------------------------------------------------------------- */

/* Share of the masked items whose most probable class is their label, or the micro-averaged F1 of
 * their labels; and their mean loss. Probabilities are the sums of `runs` draws. */
typedef struct part_score {
    double accuracy, loss;
} part_score;

static void score_class(const double *p, int classes, int32_t label, pgcn_i_score *score) {
    int best = 0;
    double total = 0;
    for (int c = 0; c < classes; c++) {
        if (p[c] > p[best]) best = c;
        total += p[c];
    }
    score->hits += best == label;
    score->loss -= log(fmax(p[label] / total, 1e-300));
}

/* What a float cannot tell from 0 beside 1 counts as this: of a label that is sure and wrong, 1 - p
 * would be exactly 0 and its logarithm beyond all others. */
static const double NEAREST_TO_SURE = 0x1p-25;

static void score_labels(const double *p, int classes, const uint8_t *label, const int *of_model,
                         int runs, pgcn_i_score *score) {
    for (int c = 0; c < classes; c++) {
        double probability = p[of_model[c]] / runs;
        bool said = probability > 0.5;
        score->hits += said && label[c];
        score->false_positives += said && !label[c];
        score->false_negatives += !said && label[c];
        double of_truth = label[c] ? probability : 1 - probability;
        score->loss -= log(fmax(of_truth, label[c] ? 1e-300 : NEAREST_TO_SURE));
    }
}

/* of_model[c] is the model's number of class c of the data. */
static part_score score_part(const double *probability, int runs, const pgcn_i_target *target,
                             const int *of_model, int64_t items, int classes) {
    pgcn_i_score score = {.items = target->masked};
    for (int64_t i = 0; i < items; i++) {
        const double *p = probability + i * classes;
        if (!target->mask[i] || (target->label && target->label[i] < 0)) continue;
        if (target->labels)
            score_labels(p, classes, target->labels + i * classes, of_model, runs, &score);
        else
            score_class(p, classes, of_model[target->label[i]], &score);
    }
    if (score.items == 0) return (part_score){NAN, NAN};
    /* rounded like the accuracies of the history, so that both are equal */
    return (part_score){100 * pgcn_i_score_accuracy(&score, target->labels != NULL),
                        pgcn_i_score_loss(&score)};
}

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
enum { TRAIN = 0, PARTS = 4 };
typedef struct evaluation {
    pgcn_i_arena arena;
    int classes;   /* of the data */
    int *of_model; /* [classes] */
    pgcn_split_match match;
    int split; /* of the data, -1: none */
    pgcn_i_target target[PARTS];
    double sum[PARTS], squares[PARTS]; /* accuracies of single draws */
} evaluation;

static pgcn_status evaluation_init(evaluation *e, const pgcn_model *model,
                                   const pgcn_dataset *data) {
    int64_t items = data->info.items;
    *e = (evaluation){.classes = data->classes};
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

/* The measures of a part, of what pgcn_model_predict() gives. */
static pgcn_status measure_part(const evaluation *e, const draws *d, int part, int64_t items,
                                pgcn_score *out) {
    const pgcn_i_target *target = &e->target[part];
    int classes = d->classes, of_data = e->classes;
    pgcn_i_tally tally;
    pgcn_i_arena arena = {0};
    float *p = PGCN_I_ARRAY(&arena, float, classes);
    uint8_t *labels = PGCN_I_ARRAY(&arena, uint8_t, classes);
    pgcn_status status = pgcn_i_tally_init(&tally, target->masked, classes, target->labels != NULL);
    if (!p || !labels) status = PGCN_ERR_MEMORY;
    for (int64_t i = 0; status == PGCN_OK && i < items; i++) {
        if (!target->mask[i] || (target->label && target->label[i] < 0)) continue;
        for (int c = 0; c < classes; c++) p[c] = (float)(d->sum[i * classes + c] / d->runs);
        for (int c = 0; target->labels && c < of_data; c++)
            labels[e->of_model[c]] = target->labels[i * of_data + c];
        pgcn_i_tally_add(&tally, p, target->label ? e->of_model[target->label[i]] : 0, labels);
    }
    if (status == PGCN_OK) pgcn_i_tally_score(&tally, out);
    pgcn_i_tally_free(&tally);
    pgcn_i_arena_free(&arena);
    return status == PGCN_OK
               ? pgcn_i_majority(&e->target[TRAIN], target, items, of_data, &out->majority)
               : status;
}

static pgcn_status evaluate(evaluation *e, const pgcn_model *model, const pgcn_dataset *data,
                            const pgcn_inference *inference, pgcn_scores *out) {
    session s;
    draws d;
    PGCN_TRY(evaluation_init(e, model, data));
    PGCN_TRY(session_open(&s, model, data, inference));
    pgcn_status status = draws_init(&d, &s, model->classes);
    for (int draw = 0; status == PGCN_OK && draw < d.runs; draw++) {
        status = draws_add(&d, &s, draw);
        for (int part = 0; status == PGCN_OK && part < PARTS; part++) {
            double accuracy =
                score_part(d.last, 1, &e->target[part], e->of_model, s.items, model->classes)
                    .accuracy;
            e->sum[part] += accuracy;
            e->squares[part] += accuracy * accuracy;
        }
    }
    pgcn_score *scores[PARTS] = {&out->train, &out->val, &out->test, &out->all};
    for (int part = 0; status == PGCN_OK && part < PARTS; part++) {
        part_score mean =
            score_part(d.sum, d.runs, &e->target[part], e->of_model, s.items, model->classes);
        *scores[part] =
            (pgcn_score){.accuracy = mean.accuracy,
                         .draw_accuracy = e->sum[part] / d.runs,
                         .draw_deviation = deviation_of(e->sum[part], e->squares[part], d.runs),
                         .loss = mean.loss};
        status = measure_part(e, &d, part, s.items, scores[part]);
    }
    if (status == PGCN_OK) {
        out->split_match = e->match;
        out->split = e->split;
    }
    pgcn_i_arena_free(&d.arena);
    session_close(&s);
    return status;
}

pgcn_status pgcn_model_evaluate(const pgcn_model *model, const pgcn_dataset *data,
                                const pgcn_inference *inference, pgcn_scores *out) {
    PGCN_I_NEED(model);
    PGCN_I_NEED(data);
    PGCN_I_NEED(out);
    evaluation e = {0};
    pgcn_scores scores;
    PGCN_TRY(check_evaluation(model, data));
    pgcn_status status = evaluate(&e, model, data, inference, &scores);
    if (status == PGCN_OK) *out = scores;
    pgcn_i_arena_free(&e.arena);
    return status;
}
