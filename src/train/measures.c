/* Measures of predictions: accuracy, balanced accuracy, macro-F1, ROC-AUC, average precision. One place
 * for the evaluation of every epoch (trainer.c) and of models (evaluate.c). docs/FORMATS.md has the
 * definitions.
 *
 * The rows of the items that count are gathered first, batch by batch if need be; a measure is then
 * computed by one thread, in whole numbers as far as possible, so that its bits do not depend on the
 * number of threads. Nothing is allocated after pgcn_i_tally_init(). Cost O(items classes) each: scores
 * are sorted by radix. */
#include "train/train.h"

#include <math.h>
#include <string.h>

/* ---- gathering --------------------------------------------------------------------------------- */

pgcn_status pgcn_i_tally_init(pgcn_i_tally *tally, int64_t items, int classes, bool several) {
    int64_t cells;
    *tally = (pgcn_i_tally){.room = items, .classes = classes};
    if (!pgcn_i_mul(items, classes, &cells))
        return pgcn_i_fail(PGCN_ERR_MEMORY, "%lld x %d probabilities are too many",
                           (long long)items, classes);
    tally->probability = PGCN_I_ARRAY(&tally->arena, float, cells);
    if (several)
        tally->labels = PGCN_I_ARRAY(&tally->arena, uint8_t, cells);
    else
        tally->label = PGCN_I_ARRAY(&tally->arena, int32_t, items);
    tally->count = PGCN_I_ARRAY(&tally->arena, pgcn_i_class_count, classes);
    for (int i = 0; i < 2; i++) tally->sorted[i] = PGCN_I_ARRAY(&tally->arena, uint64_t, items);
    return tally->probability && (several ? (void *)tally->labels : (void *)tally->label) &&
                   tally->count && tally->sorted[0] && tally->sorted[1]
               ? PGCN_OK
               : PGCN_ERR_MEMORY;
}

void pgcn_i_tally_free(pgcn_i_tally *tally) {
    pgcn_i_arena_free(&tally->arena);
    *tally = (pgcn_i_tally){0};
}

void pgcn_i_tally_clear(pgcn_i_tally *tally) {
    tally->items = 0;
}

void pgcn_i_tally_add(pgcn_i_tally *tally, const float *probability, int32_t label,
                      const uint8_t *labels) {
    int64_t c = tally->classes, i = tally->items++;
    memcpy(tally->probability + i * c, probability, (size_t)c * sizeof *probability);
    if (tally->labels)
        memcpy(tally->labels + i * c, labels, (size_t)c);
    else
        tally->label[i] = label;
}

void pgcn_i_tally_add_masked(pgcn_i_tally *tally, const float *probability,
                             const pgcn_i_target *target, int64_t items) {
    int64_t c = tally->classes;
    for (int64_t i = 0; i < items; i++)
        if (pgcn_i_counts(target, i))
            pgcn_i_tally_add(tally, probability + i * c, target->label ? target->label[i] : 0,
                             target->labels ? target->labels + i * c : NULL);
}

/* ---- what is predicted ------------------------------------------------------------------------- */

int pgcn_i_tally_best(const pgcn_i_tally *tally, int64_t i) {
    const float *p = tally->probability + i * tally->classes;
    return pgcn_i_best_class(p, tally->classes);
}

static void count_row(pgcn_i_tally *tally, int64_t i) {
    int c = tally->classes;
    const float *p = tally->probability + i * c;
    pgcn_i_class_count *count = tally->count;
    for (int k = 0; tally->labels && k < c; k++) {
        bool has = tally->labels[i * c + k], predicted = pgcn_i_predicts((double)p[k]);
        count[k].items += has;
        count[k].predicted += predicted;
        count[k].hits += has && predicted;
    }
    if (tally->labels) return;
    int best = pgcn_i_tally_best(tally, i);
    count[tally->label[i]].items++;
    count[best].predicted++;
    count[best].hits += best == tally->label[i];
}

void pgcn_i_tally_count(pgcn_i_tally *tally) {
    memset(tally->count, 0, (size_t)tally->classes * sizeof *tally->count);
    for (int64_t i = 0; i < tally->items; i++) count_row(tally, i);
}

static double accuracy(pgcn_i_tally *tally) {
    int64_t hits = 0, present = 0, predicted = 0;
    for (int k = 0; k < tally->classes; k++) {
        hits += tally->count[k].hits;
        present += tally->count[k].items;
        predicted += tally->count[k].predicted;
    }
    return tally->labels ? pgcn_i_micro_f1(hits, present, predicted)
                         : (double)hits / (double)tally->items;
}

/* A figure of class or label k; NaN: it has none. */
typedef double of_class(pgcn_i_tally *tally, int k);

static double share_found(pgcn_i_tally *tally, int k) {
    const pgcn_i_class_count *n = &tally->count[k];
    int64_t others = tally->items - n->items;
    if (n->items == 0 || (tally->labels && others == 0)) return NAN;
    double found = (double)n->hits / (double)n->items;
    if (!tally->labels) return found;
    return (found + (double)(others - (n->predicted - n->hits)) / (double)others) / 2;
}

static double f1(pgcn_i_tally *tally, int k) {
    const pgcn_i_class_count *n = &tally->count[k];
    int64_t both = n->items + n->predicted;
    return both > 0 ? 2 * (double)n->hits / (double)both : NAN;
}

static double mean_over(pgcn_i_tally *tally, int first, of_class *figure) {
    double sum = 0;
    int classes = 0;
    for (int k = first; k < tally->classes; k++) {
        double value = figure(tally, k);
        if (isnan(value)) continue;
        sum += value;
        classes++;
    }
    return classes > 0 ? sum / classes : NAN;
}

/* ---- what is ranked ---------------------------------------------------------------------------- */

/* A number that grows as the score falls, whatever its sign; -0 is 0. */
static uint32_t falling_key(float score) {
    uint32_t bits;
    score += 0.0f;
    memcpy(&bits, &score, sizeof bits);
    return bits & 0x80000000u ? bits : ~bits & 0x7fffffffu;
}

/* (key << 1 | item is of class k) of all items, the highest score first. */
static const uint64_t *sort_scores(pgcn_i_tally *tally, int k) {
    enum { BITS = 11, BUCKETS = 1 << BITS, PASSES = 3 };
    uint64_t *from = tally->sorted[0], *to = tally->sorted[1];
    int64_t c = tally->classes;
    for (int64_t i = 0; i < tally->items; i++) {
        bool is = tally->labels ? tally->labels[i * c + k] : tally->label[i] == k;
        from[i] = (uint64_t)falling_key(tally->probability[i * c + k]) << 1 | is;
    }
    for (int pass = 0; pass < PASSES; pass++) {
        int64_t place[BUCKETS] = {0}, sum = 0;
        for (int64_t i = 0; i < tally->items; i++)
            place[from[i] >> (pass * BITS) & (BUCKETS - 1)]++;
        for (int b = 0; b < BUCKETS; b++) {
            int64_t here = place[b];
            place[b] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < tally->items; i++)
            to[place[from[i] >> (pass * BITS) & (BUCKETS - 1)]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/* Goes down the thresholds: equal scores are one. Both areas at once, as shares; NaN unless there are
 * items of the class and others. */
typedef struct areas {
    double auc, average_precision;
} areas;
static areas areas_of(pgcn_i_tally *tally, int k) {
    int64_t all = tally->count[k].items, others = tally->items - all;
    if (all == 0 || others == 0) return (areas){NAN, NAN};
    const uint64_t *sorted = sort_scores(tally, k);
    int64_t above = 0, others_above = 0;
    double pairs = 0, precision = 0; /* pairs: twice those in the right order, ties count once */
    for (int64_t i = 0, end; i < tally->items; i = end) {
        int64_t here = 0;
        for (end = i; end < tally->items && sorted[end] >> 1 == sorted[i] >> 1; end++)
            here += (int64_t)(sorted[end] & 1);
        int64_t others_here = end - i - here;
        pairs += (double)others_here * (double)(2 * above + here);
        above += here;
        others_above += others_here;
        precision += (double)here * ((double)above / (double)(above + others_above));
    }
    return (areas){pairs / 2 / ((double)all * (double)others), precision / (double)all};
}

/* ---- all of them ------------------------------------------------------------------------------- */

/* The first class that is ranked: of two, the second alone. */
static int first_ranked(const pgcn_i_tally *tally) {
    return tally->classes == 2 && !tally->labels;
}

static double balanced_accuracy(pgcn_i_tally *tally) {
    return mean_over(tally, 0, share_found);
}
static double macro_f1(pgcn_i_tally *tally) {
    return mean_over(tally, 0, f1);
}
/* The means of both areas: the sorting is what they cost, and one serves both. */
static areas mean_areas(pgcn_i_tally *tally) {
    areas sum = {0, 0};
    int classes = 0;
    for (int k = first_ranked(tally); k < tally->classes; k++) {
        areas one = areas_of(tally, k); /* of a class both are defined or neither is */
        if (isnan(one.auc)) continue;
        sum.auc += one.auc;
        sum.average_precision += one.average_precision;
        classes++;
    }
    if (classes == 0) return (areas){NAN, NAN};
    return (areas){sum.auc / classes, sum.average_precision / classes};
}
static double mean_area(pgcn_i_tally *tally) {
    return mean_areas(tally).auc;
}
static double mean_precision(pgcn_i_tally *tally) {
    return mean_areas(tally).average_precision;
}

/* A line for each measure: its share, after pgcn_i_tally_count(), and its field of a score. */
static const struct {
    double (*share)(pgcn_i_tally *tally);
    size_t field;
} measures[PGCN_MEASURES] = {
    [PGCN_MEASURE_ACCURACY] = {accuracy, offsetof(pgcn_score, accuracy)},
    [PGCN_MEASURE_BALANCED_ACCURACY] = {balanced_accuracy, offsetof(pgcn_score, balanced_accuracy)},
    [PGCN_MEASURE_MACRO_F1] = {macro_f1, offsetof(pgcn_score, macro_f1)},
    [PGCN_MEASURE_AUC] = {mean_area, offsetof(pgcn_score, auc)},
    [PGCN_MEASURE_AVERAGE_PRECISION] = {mean_precision, offsetof(pgcn_score, average_precision)},
};

static double *field_of(pgcn_score *score, int measure) {
    return (double *)((char *)score + measures[measure].field);
}

double pgcn_score_measure(const pgcn_score *score, pgcn_measure measure) {
    if (!score || (unsigned)measure >= PGCN_MEASURES) return NAN;
    pgcn_score copy = *score;
    return *field_of(&copy, (int)measure);
}

double pgcn_i_tally_measure(pgcn_i_tally *tally, pgcn_measure measure) {
    if (tally->items == 0) return NAN;
    pgcn_i_tally_count(tally);
    return 100 * measures[measure].share(tally);
}

void pgcn_i_tally_score(pgcn_i_tally *tally, pgcn_score *out) {
    for (int m = PGCN_MEASURE_ACCURACY + 1; m < PGCN_MEASURES; m++)
        if (m != PGCN_MEASURE_AUC && m != PGCN_MEASURE_AVERAGE_PRECISION)
            *field_of(out, m) = pgcn_i_tally_measure(tally, (pgcn_measure)m);
    areas both = tally->items > 0 ? mean_areas(tally) : (areas){NAN, NAN};
    out->auc = 100 * both.auc;
    out->average_precision = 100 * both.average_precision;
    out->items = tally->items;
    pgcn_i_tally_graphs(tally, out);
    out->classes_missed = 0;
    out->first_missed = -1;
    for (int k = tally->classes - 1; tally->items > 0 && k >= 0; k--) {
        if (tally->count[k].items == 0 || tally->count[k].predicted > 0) continue;
        out->classes_missed++;
        out->first_missed = k;
    }
}

/* ---- the majority ------------------------------------------------------------------------------ */

static void count_items(const pgcn_i_target *target, int64_t items, int classes, int64_t *count) {
    for (int64_t i = 0; i < items; i++) {
        if (!pgcn_i_counts(target, i)) continue;
        if (target->label) count[target->label[i]]++;
        for (int k = 0; target->labels && k < classes; k++)
            count[k] += target->labels[i * classes + k];
    }
}

/* The same labels for every item: those that most training items have. Their micro-averaged F1. */
static double majority_of_labels(const pgcn_i_target *train, const pgcn_i_target *part,
                                 const int64_t *in_train, const int64_t *in_part, int classes) {
    int64_t hits = 0, present = 0, predicted = 0;
    for (int k = 0; k < classes; k++) {
        bool predicts = 2 * in_train[k] > train->masked;
        hits += predicts ? in_part[k] : 0;
        predicted += predicts ? part->masked : 0;
        present += in_part[k];
    }
    return pgcn_i_micro_f1(hits, present, predicted);
}

pgcn_status pgcn_i_majority(const pgcn_i_target *train, const pgcn_i_target *part, int64_t items,
                            int classes, double *out) {
    *out = NAN;
    if (train->masked == 0 || part->masked == 0) return PGCN_OK;
    int64_t *in_train = pgcn_i_alloc(2 * (int64_t)classes, sizeof *in_train);
    if (!in_train) return PGCN_ERR_MEMORY;
    int64_t *in_part = in_train + classes;
    int most = 0;
    count_items(train, items, classes, in_train);
    count_items(part, items, classes, in_part);
    for (int k = 1; k < classes;
         k++) /* of those that tie the best guess: no favour to the network */
        if (in_train[k] > in_train[most] ||
            (in_train[k] == in_train[most] && in_part[k] > in_part[most]))
            most = k;
    double share = train->labels ? majority_of_labels(train, part, in_train, in_part, classes)
                                 : (double)in_part[most] / (double)part->masked;
    *out = 100 * share;
    pgcn_i_free(in_train);
    return PGCN_OK;
}
