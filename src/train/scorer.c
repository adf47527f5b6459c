/* The scorer: when a prediction is right, and what loss and accuracy come to. One place for the evaluation of
 * every epoch (from logits, trainer.c) and of models (from means of draws, evaluate.c). Of one class per
 * item the most probable one is predicted; of several labels each that is more probable than not, and
 * "accuracy" is their micro-averaged F1. measures.c has the other measures. */
#include "train/train.h"

#include <math.h>

double pgcn_i_micro_f1(int64_t hits, int64_t present, int64_t predicted) {
    int64_t both = present + predicted;
    return both > 0 ? 2 * (double)hits / (double)both : 1; /* nothing to find, nothing predicted */
}

static void count_label(pgcn_i_score *score, bool predicted, bool present) {
    score->hits += predicted && present;
    score->predicted += predicted;
    score->present += present;
}

/* ---- from logits ------------------------------------------------------------------------------------ */

/* A logit above 0 is a probability above a half. */
static void count_labels(pgcn_i_score *score, const pgcn_i_loss *loss, const float *logits,
                         const pgcn_i_target *target) {
    int64_t c = loss->classes;
    for (int64_t r = 0; r < loss->n; r++)
        for (int64_t k = 0; target->mask[r] && k < c; k++)
            count_label(score, logits[r * c + k] > 0, target->labels[r * c + k]);
}

void pgcn_i_score_add(pgcn_i_score *score, pgcn_i_runner *runner, pgcn_i_loss *loss,
                      const pgcn_i_target *target) {
    score->several = target->labels != NULL;
    pgcn_i_loss_sums(loss, &runner->tape, runner->logits, target, &score->loss, &score->hits);
    if (score->several) count_labels(score, loss, runner->logits->data, target);
    score->items += target->masked;
}

/* ---- from means of draws ------------------------------------------------------------------------------ */

static void add_class(pgcn_i_score *score, pgcn_i_mean mean, int32_t label) {
    const double *p = mean.sum;
    int best = 0;
    double total = 0;
    for (int c = 0; c < mean.classes; c++) {
        if (p[c] > p[best]) best = c;
        total += p[c];
    }
    int wanted = mean.of_model[label];
    score->hits += best == wanted;
    score->loss -= log(fmax(p[wanted] / total, 1e-300));
}

/* What a float cannot tell from 0 beside 1 counts as this: of a label that is sure and wrong, 1 - p
 * would be exactly 0 and its logarithm beyond all others. */
static const double NEAREST_TO_SURE = 0x1p-25;

static void add_labels(pgcn_i_score *score, pgcn_i_mean mean, const uint8_t *label) {
    for (int c = 0; c < mean.classes; c++) {
        double probability = mean.sum[mean.of_model[c]] / mean.runs;
        count_label(score, pgcn_i_predicts(probability), label[c]);
        double of_truth = label[c] ? probability : 1 - probability;
        score->loss -= log(fmax(of_truth, label[c] ? 1e-300 : NEAREST_TO_SURE));
    }
}

void pgcn_i_score_add_mean(pgcn_i_score *score, const pgcn_i_target *target, int64_t item,
                           pgcn_i_mean mean) {
    if (target->labels)
        add_labels(score, mean, target->labels + item * mean.classes);
    else
        add_class(score, mean, target->label[item]);
}

/* ---- what they come to ---------------------------------------------------------------------------------- */

double pgcn_i_score_loss(const pgcn_i_score *score) {
    return score->items > 0 ? score->loss / (double)score->items : (double)NAN;
}

double pgcn_i_score_accuracy(const pgcn_i_score *score) {
    if (score->items == 0) return NAN;
    double share = score->several ? pgcn_i_micro_f1(score->hits, score->present, score->predicted)
                                  : (double)score->hits / (double)score->items;
    return 100 * share;
}
