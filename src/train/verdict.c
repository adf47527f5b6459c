/* Verdicts: what a model does class by class, and how far its probabilities can be trusted. evaluate.c gathers
 * the predictions of a part; here they are counted. docs/FORMATS.md has the definitions. One thread, in the order
 * of the items. */
#include "train/train.h"

#include <math.h>
#include <string.h>

struct pgcn_verdict {
    pgcn_i_arena arena;
    bool several;
    struct {
        pgcn_judgement judgement; /* its pointers are the arrays below */
        pgcn_class_score *of_class;
        int64_t *confusion;
        pgcn_calibration_bin *bin;
    } part[PGCN_PARTS];
};

static const char *const part_names[PGCN_PARTS] = {"train", "val", "test", "all"};

const char *pgcn_part_name(pgcn_part part) {
    return (unsigned)part < PGCN_PARTS ? part_names[part] : "";
}

bool pgcn_part_parse(const char *name, pgcn_part *out) {
    for (int i = 0; name && out && i < PGCN_PARTS; i++)
        if (strcmp(part_names[i], name) == 0) {
            *out = (pgcn_part)i;
            return true;
        }
    return false;
}

/* ---- memory --------------------------------------------------------------------------------------- */

static pgcn_status alloc_parts(pgcn_verdict *verdict, int classes) {
    int64_t cells;
    if (!pgcn_i_mul(classes, classes, &cells))
        return pgcn_i_fail(PGCN_ERR_MEMORY, "a table of %d x %d classes is too large", classes,
                           classes);
    for (int i = 0; i < PGCN_PARTS; i++) {
        verdict->part[i].of_class = PGCN_I_ARRAY(&verdict->arena, pgcn_class_score, classes);
        verdict->part[i].bin =
            PGCN_I_ARRAY(&verdict->arena, pgcn_calibration_bin, PGCN_CALIBRATION_BINS);
        if (!verdict->several)
            verdict->part[i].confusion = PGCN_I_ARRAY(&verdict->arena, int64_t, cells);
        if (!verdict->part[i].of_class || !verdict->part[i].bin ||
            (!verdict->several && !verdict->part[i].confusion))
            return PGCN_ERR_MEMORY;
        verdict->part[i].judgement = (pgcn_judgement){.classes = classes,
                                                      .of_class = verdict->part[i].of_class,
                                                      .confusion = verdict->part[i].confusion,
                                                      .bin = verdict->part[i].bin};
    }
    return PGCN_OK;
}

pgcn_status pgcn_i_verdict_new(int classes, bool several, pgcn_verdict **out) {
    pgcn_verdict *verdict = pgcn_i_alloc(1, sizeof *verdict);
    if (!verdict) return PGCN_ERR_MEMORY;
    verdict->several = several;
    pgcn_status status = alloc_parts(verdict, classes);
    if (status != PGCN_OK) {
        pgcn_verdict_free(verdict);
        return status;
    }
    *out = verdict;
    return PGCN_OK;
}

void pgcn_verdict_free(pgcn_verdict *verdict) {
    if (!verdict) return;
    pgcn_i_arena_free(&verdict->arena);
    pgcn_i_free(verdict);
}

pgcn_judgement pgcn_verdict_part(const pgcn_verdict *verdict, pgcn_part part) {
    return verdict && (unsigned)part < PGCN_PARTS ? verdict->part[part].judgement
                                                  : (pgcn_judgement){0};
}

/* ---- class by class --------------------------------------------------------------------------------- */

static double percent(int64_t some, int64_t of) {
    return of > 0 ? 100 * (double)some / (double)of : NAN;
}

static void score_classes(const pgcn_i_tally *tally, pgcn_class_score *out) {
    for (int k = 0; k < tally->classes; k++) {
        const pgcn_i_class_count *n = &tally->count[k];
        out[k] = (pgcn_class_score){.support = n->items,
                                    .predicted = n->predicted,
                                    .hits = n->hits,
                                    .precision = percent(n->hits, n->predicted),
                                    .recall = percent(n->hits, n->items),
                                    .f1 = percent(2 * n->hits, n->items + n->predicted)};
    }
}

static void count_confusion(const pgcn_i_tally *tally, int64_t *confusion) {
    for (int64_t i = 0; i < tally->items; i++)
        confusion[(int64_t)tally->label[i] * tally->classes + pgcn_i_tally_best(tally, i)]++;
}

static double micro_f1(const pgcn_i_tally *tally) {
    int64_t hits = 0, both = 0;
    for (int k = 0; k < tally->classes; k++) {
        hits += tally->count[k].hits;
        both += tally->count[k].items + tally->count[k].predicted;
    }
    return percent(2 * hits, both);
}

/* ---- probabilities ---------------------------------------------------------------------------------- */

/* Whether item i is of class k, or has the label k. */
static bool is_of(const pgcn_i_tally *tally, int64_t i, int k) {
    return tally->labels ? tally->labels[i * tally->classes + k] : tally->label[i] == k;
}

static double brier(const pgcn_i_tally *tally) {
    double sum = 0;
    for (int64_t i = 0; i < tally->items; i++)
        for (int k = 0; k < tally->classes; k++) {
            double off = (double)tally->probability[i * tally->classes + k] - is_of(tally, i, k);
            sum += off * off;
        }
    return sum / (double)tally->items / (tally->labels ? tally->classes : 1);
}

/* A prediction with its confidence goes into its bin. Sums become means in calibrate(). */
static void put_in_bin(pgcn_calibration_bin *bin, double confidence, bool right) {
    int b = (int)(confidence * PGCN_CALIBRATION_BINS);
    b = b < 0 ? 0 : b >= PGCN_CALIBRATION_BINS ? PGCN_CALIBRATION_BINS - 1 : b;
    bin[b].items++;
    bin[b].confidence += confidence;
    bin[b].accuracy += right;
}

/* Fills the bins and returns the calibration error. Of one class the prediction is the most probable one; of
 * several labels every label is a prediction of its own: that it is there, or that it is not. */
static double calibrate(const pgcn_i_tally *tally, pgcn_calibration_bin *bin) {
    for (int64_t i = 0; i < tally->items; i++) {
        const float *p = tally->probability + i * tally->classes;
        int best = tally->labels ? 0 : pgcn_i_tally_best(tally, i);
        if (!tally->labels) put_in_bin(bin, (double)p[best], is_of(tally, i, best));
        for (int k = 0; tally->labels && k < tally->classes; k++) {
            bool predicted = pgcn_i_predicts((double)p[k]);
            put_in_bin(bin, predicted ? (double)p[k] : 1 - (double)p[k],
                       predicted == is_of(tally, i, k));
        }
    }
    double error = 0;
    int64_t all = 0;
    for (int b = 0; b < PGCN_CALIBRATION_BINS; b++) {
        double items = (double)bin[b].items;
        error += fabs(bin[b].confidence - bin[b].accuracy);
        all += bin[b].items;
        bin[b].confidence = bin[b].items > 0 ? 100 * bin[b].confidence / items : NAN;
        bin[b].accuracy = bin[b].items > 0 ? 100 * bin[b].accuracy / items : NAN;
    }
    return 100 * error / (double)all;
}

/* ---- the whole -------------------------------------------------------------------------------------- */

/* Graphs with an item in the part. */
static int64_t graphs_of(const pgcn_dataset *data, const pgcn_i_tally *tally,
                         const pgcn_score *score) {
    if (data->task == PGCN_TASK_GRAPH) return tally->items;
    return tally->graphs > 0 ? score->graphs : tally->items > 0;
}

void pgcn_i_verdict_fill(pgcn_verdict *verdict, pgcn_part part, const pgcn_dataset *data,
                         pgcn_i_tally *tally, const pgcn_score *score) {
    pgcn_judgement *out = &verdict->part[part].judgement;
    pgcn_i_tally_count(tally);
    score_classes(tally, verdict->part[part].of_class);
    out->items = tally->items;
    out->log_loss = tally->items > 0 ? score->loss : NAN;
    out->brier = tally->items > 0 ? brier(tally) : NAN;
    out->micro_f1 = micro_f1(tally);
    if (!tally->labels) count_confusion(tally, verdict->part[part].confusion);
    double error = calibrate(tally, verdict->part[part].bin);
    out->calibration_error = tally->items > 0 ? error : NAN;
    out->graph_f1 = score->graph_accuracy;
    out->graphs = graphs_of(data, tally, score);
}
