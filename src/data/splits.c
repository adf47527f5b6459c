/* Makes seeded splits: stratified, random, per class, folds. Items are nodes, or graphs where
 * graphs are classified; items without a label are in no mask. Every random number is a function of
 * (seed, split, item), so a split is the same everywhere. Serial, thread-safe. Called by prepare.c
 * and builtin.c. */
#include "data/data.h"

#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- random orders ------------------------------------------------------------------------- */

pgcn_i_rng_domain pgcn_i_data_domain(uint64_t seed, pgcn_i_draw what, int number) {
    return pgcn_i_rng_domain_of(seed, PGCN_I_RNG_DATA, number, (int)what, 0);
}

/* Fisher-Yates. Each step uses its own counter element: a single stream would end after 2^18 words. */
void pgcn_i_shuffle(pgcn_i_rng_domain domain, int64_t n, pgcn_node *order) {
    for (int64_t i = 0; i < n; i++) order[i] = (pgcn_node)i;
    for (int64_t i = n - 1; i > 0; i--) {
        pgcn_i_stream stream = pgcn_i_stream_of(domain, (uint64_t)i);
        int64_t j = pgcn_i_bounded(&stream, (uint32_t)i + 1);
        pgcn_node swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

/* ---- by quotas ------------------------------------------------------------------------------ */

static void fill_by_quotas(const pgcn_i_quotas *q, const pgcn_node *order, int64_t *seen,
                           uint8_t *mask[3]) {
    memset(seen, 0, (size_t)q->classes * sizeof *seen);
    for (int64_t i = 0; i < q->items; i++) {
        int32_t class = q->class_of[order[i]];
        if (class < 0) continue;
        int64_t rank = seen[class]++, train = q->quota[0][class];
        int64_t val = train + q->quota[1][class];
        if (rank < train)
            mask[0][order[i]] = 1;
        else if (rank < val)
            mask[1][order[i]] = 1;
        else if (!q->quota[2] || rank < val + q->quota[2][class])
            mask[2][order[i]] = 1;
    }
}

pgcn_status pgcn_i_draw_splits(pgcn_i_source *source, const pgcn_i_quotas *quotas, uint64_t seed,
                               int count) {
    pgcn_i_arena scratch = {0};
    pgcn_status status = PGCN_ERR_MEMORY;
    pgcn_node *order = PGCN_I_ARRAY(&scratch, pgcn_node, quotas->items);
    int64_t *seen = PGCN_I_ARRAY(&scratch, int64_t, quotas->classes);
    if (!order || !seen) goto fail;
    for (int s = 0; s < count; s++) {
        uint8_t *mask[3];
        PGCN_TRY_GOTO(pgcn_i_source_masks(source, quotas->items, mask));
        pgcn_i_shuffle(pgcn_i_data_domain(seed, PGCN_I_DRAW_SPLIT, s), quotas->items, order);
        fill_by_quotas(quotas, order, seen, mask);
    }
    status = PGCN_OK;
fail:
    pgcn_i_arena_free(&scratch);
    return status;
}

/* ---- kinds of splits ---------------------------------------------------------------------- */

typedef struct items {
    int64_t count;
    int32_t *class_of; /* [count], -1: no label; all 0 where classes do not matter */
    int classes;
    int64_t *size; /* [classes] */
} items;

/* Multi-label items have no single class, and random splits ignore it: all are of class 0. */
static pgcn_status collect_items(const pgcn_i_source *source, bool by_class, pgcn_i_arena *arena,
                                 items *out) {
    const int32_t *label = source->graph_label ? source->graph_label : source->label;
    int64_t count = pgcn_i_source_items(source);
    *out = (items){.count = count, .class_of = PGCN_I_ARRAY(arena, int32_t, count), .classes = 1};
    if (!out->class_of) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) {
        bool known = pgcn_i_source_has_label(source, i);
        out->class_of[i] = !known ? -1 : by_class && label ? label[i] : 0;
        if (out->class_of[i] >= out->classes) out->classes = out->class_of[i] + 1;
    }
    out->size = PGCN_I_ARRAY(arena, int64_t, out->classes);
    if (!out->size) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++)
        if (out->class_of[i] >= 0) out->size[out->class_of[i]]++;
    return PGCN_OK;
}

/* Fractions of each class, rounded. A class of three items or more has at least one in every part
 * with a fraction above 0; a smaller class fills train first. */
static void quotas_of_class(int64_t size, const double fraction[3], int64_t quota[3]) {
    double upto = 0;
    int64_t given = 0;
    for (int k = 0; k < 3; k++) {
        upto += fraction[k];
        int64_t end = (int64_t)floor(upto * (double)size + 0.5);
        quota[k] = end - given;
        given = end;
    }
    for (int k = 0; k < 3; k++)
        for (int from = 0; from < 3; from++)
            if (fraction[k] > 0 && quota[k] == 0 && quota[from] > (k == 0 ? 0 : 1)) {
                quota[from]--;
                quota[k]++;
                break;
            }
}

static pgcn_status split_by_fractions(pgcn_i_source *source, const pgcn_i_steps *steps,
                                      pgcn_i_arena *scratch) {
    items all;
    bool by_class = steps->split_kind == PGCN_I_SPLIT_STRATIFIED;
    PGCN_TRY(collect_items(source, by_class, scratch, &all));
    int64_t *quota[3];
    for (int k = 0; k < 3; k++)
        if (!(quota[k] = PGCN_I_ARRAY(scratch, int64_t, all.classes))) return PGCN_ERR_MEMORY;
    for (int c = 0; c < all.classes; c++) {
        int64_t parts[3];
        quotas_of_class(all.size[c], steps->split, parts);
        for (int k = 0; k < 3; k++) quota[k][c] = parts[k];
    }
    pgcn_i_quotas quotas = {.items = all.count,
                            .class_of = all.class_of,
                            .classes = all.classes,
                            .quota = {quota[0], quota[1], quota[2]}};
    return pgcn_i_draw_splits(source, &quotas, steps->split_seed, pgcn_i_split_count(steps));
}

/* As Planetoid does: a fixed number of each class trains, fixed numbers of the rest validate and
 * test. */
static pgcn_status split_per_class(pgcn_i_source *source, const pgcn_i_steps *steps,
                                   pgcn_i_arena *scratch) {
    items all;
    PGCN_TRY(collect_items(source, true, scratch, &all));
    pgcn_node *order = PGCN_I_ARRAY(scratch, pgcn_node, all.count);
    int64_t *seen = PGCN_I_ARRAY(scratch, int64_t, all.classes);
    if (!order || !seen) return PGCN_ERR_MEMORY;
    for (int s = 0; s < pgcn_i_split_count(steps); s++) {
        uint8_t *mask[3];
        int64_t others = 0;
        PGCN_TRY(pgcn_i_source_masks(source, all.count, mask));
        pgcn_i_shuffle(pgcn_i_data_domain(steps->split_seed, PGCN_I_DRAW_SPLIT, s), all.count,
                       order);
        memset(seen, 0, (size_t)all.classes * sizeof *seen);
        for (int64_t i = 0; i < all.count; i++) {
            int32_t class = all.class_of[order[i]];
            if (class < 0) continue;
            if ((double)seen[class]++ < steps->split[0])
                mask[0][order[i]] = 1;
            else if ((double)others++ < steps->split[1])
                mask[1][order[i]] = 1;
            else if ((double)others <= steps->split[1] + steps->split[2])
                mask[2][order[i]] = 1;
        }
    }
    return PGCN_OK;
}

/* Fold f tests, the next one validates, the others train; or, without a test, fold f validates. An item
 * of no fold (-1) always trains. */
static pgcn_status splits_of_folds(pgcn_i_source *source, const int32_t *fold, int folds, bool test,
                                   int64_t count) {
    enum { TRAIN = 0, VAL = 1, TEST = 2 };
    for (int f = 0; f < folds; f++) {
        uint8_t *mask[3];
        PGCN_TRY(pgcn_i_source_masks(source, count, mask));
        for (int64_t i = 0; i < count; i++) {
            bool next = test && fold[i] == (f + 1) % folds;
            int part = fold[i] == f ? (test ? TEST : VAL) : next ? VAL : TRAIN;
            if (pgcn_i_source_has_label(source, i)) mask[part][i] = 1;
        }
    }
    source->no_test = !test;
    return PGCN_OK;
}

static pgcn_status published_folds(pgcn_i_source *source) {
    int32_t folds = 0;
    for (int64_t g = 0; g < source->graphs; g++)
        if (source->fold[g] >= folds) folds = source->fold[g] + 1;
    source->splits = 0;
    source->split = NULL;
    source->split_origin = "published folds, one tests and the next validates";
    return splits_of_folds(source, source->fold, folds, true, source->graphs);
}

/* Stratified folds: the items of a class go to the folds in turn, and each class continues where
 * the last one stopped. Fold sizes differ by at most one item. */
static pgcn_status split_in_folds(pgcn_i_source *source, const pgcn_i_steps *steps,
                                  pgcn_i_arena *scratch) {
    items all;
    PGCN_TRY(collect_items(source, true, scratch, &all));
    int folds = pgcn_i_split_count(steps);
    pgcn_node *order = PGCN_I_ARRAY(scratch, pgcn_node, all.count);
    int32_t *fold = PGCN_I_ARRAY(scratch, int32_t, all.count);
    int64_t *dealt = PGCN_I_ARRAY(scratch, int64_t, all.classes);
    if (!order || !fold || !dealt) return PGCN_ERR_MEMORY;
    for (int c = 1; c < all.classes; c++) dealt[c] = dealt[c - 1] + all.size[c - 1];
    pgcn_i_shuffle(pgcn_i_data_domain(steps->split_seed, PGCN_I_DRAW_SPLIT, 0), all.count, order);
    for (int64_t i = 0; i < all.count; i++) {
        int32_t class = all.class_of[order[i]];
        fold[order[i]] = class < 0 ? -1 : (int32_t)(dealt[class]++ % folds);
    }
    bool test = steps->split_kind == PGCN_I_SPLIT_KFOLD;
    return splits_of_folds(source, fold, folds, test, all.count);
}

const pgcn_i_split_rule pgcn_i_split_rules[PGCN_I_SPLIT_KINDS] = {
    [PGCN_I_SPLIT_STRATIFIED] = {.name = "stratified",
                                 .origin = "made here: stratified by class",
                                 .value = PGCN_I_SPLIT_FRACTIONS,
                                 .make = split_by_fractions},
    [PGCN_I_SPLIT_RANDOM] = {.name = "random",
                             .origin = "made here: random",
                             .value = PGCN_I_SPLIT_FRACTIONS,
                             .make = split_by_fractions},
    [PGCN_I_SPLIT_PER_CLASS] = {.name = "per-class",
                                .origin = "made here: a fixed number per class",
                                .value = PGCN_I_SPLIT_COUNTS,
                                .make = split_per_class},
    [PGCN_I_SPLIT_KFOLD] = {.name = "kfold",
                            .origin = "made here: stratified folds, one tests and the next "
                                      "validates",
                            .value = PGCN_I_SPLIT_FOLDS,
                            .fewest_folds = 3,
                            .make = split_in_folds},
    [PGCN_I_SPLIT_CROSSVAL] = {.name = "crossval",
                               .origin = "made here: stratified folds, one validates and the "
                                         "others train",
                               .value = PGCN_I_SPLIT_FOLDS,
                               .fewest_folds = 2,
                               .make = split_in_folds},
    [PGCN_I_SPLIT_FAIR] = {.name = "fair",
                           .origin = "outer folds of a file, each with an inner hold-out",
                           .value = PGCN_I_SPLIT_FILE,
                           .make = pgcn_i_split_as_published},
};

pgcn_status pgcn_i_make_splits(pgcn_i_source *source, const pgcn_i_steps *steps) {
    const pgcn_i_split_rule *rule = &pgcn_i_split_rules[steps->split_kind];
    pgcn_i_arena scratch = {0};
    source->splits = 0;
    source->split = NULL;
    source->split_origin = rule->origin;
    source->split_file = NULL;
    source->no_val = source->no_test = source->default_splits = false;
    pgcn_status status = rule->make(source, steps, &scratch);
    pgcn_i_arena_free(&scratch);
    return status;
}

/* ---- default splits ----------------------------------------------------------------------------- */

static bool has_empty_part(const pgcn_i_source *source) {
    for (int s = 0; s < source->splits; s++) {
        const pgcn_i_split *split = &source->split[s];
        size_t count = (size_t)pgcn_i_source_items(source);
        if (!memchr(split->train, 1, count) || !memchr(split->val, 1, count) ||
            !memchr(split->test, 1, count))
            return true;
    }
    return false;
}

static int64_t labelled_items(const pgcn_i_source *source) {
    int64_t labelled = 0;
    for (int64_t i = 0; i < pgcn_i_source_items(source); i++)
        labelled += pgcn_i_source_has_label(source, i);
    return labelled;
}

/* Sets of graphs are small and have no standard split: ten folds. Published folds are used if there
 * are any and no part of them is empty. */
static pgcn_status make_missing_folds(pgcn_i_source *source) {
    pgcn_i_steps usual = {.split_kind = PGCN_I_SPLIT_KFOLD};
    if (labelled_items(source) < PGCN_I_DEFAULT_SPLITS) return PGCN_OK;
    if (source->fold) PGCN_TRY(published_folds(source));
    if (source->splits > 0 && !has_empty_part(source)) return PGCN_OK;
    PGCN_TRY(pgcn_i_make_splits(source, &usual));
    source->default_splits = true;
    return pgcn_i_source_note(source, "there is no split%s: ten were made (kfold=10)",
                              source->fold ? " that the published folds could make" : "");
}

/* Nodes with labels but without splits get the default ones. With fewer than three labels there is
 * no split, and training will report that. Classes of one or two nodes may leave a stratified part
 * empty: then the splits are random. */
pgcn_status pgcn_i_make_missing_splits(pgcn_i_source *source) {
    pgcn_i_steps usual = {.split_kind = PGCN_I_SPLIT_STRATIFIED, .split = {0.6, 0.2, 0.2}};
    if (source->graph_label) return make_missing_folds(source);
    if (labelled_items(source) < 3) return PGCN_OK;
    if (source->labels) usual.split_kind = PGCN_I_SPLIT_RANDOM;
    PGCN_TRY(pgcn_i_make_splits(source, &usual));
    if (has_empty_part(source)) {
        usual.split_kind = PGCN_I_SPLIT_RANDOM;
        PGCN_TRY(pgcn_i_make_splits(source, &usual));
    }
    source->default_splits = true;
    return pgcn_i_source_note(source,
                              "there is no split: ten were made (%s=60/20/20 percent of the "
                              "labelled nodes)",
                              pgcn_i_split_rules[usual.split_kind].name);
}
