/* The step fair=FILE: the folds of "A Fair Comparison of Graph Neural Networks for Graph Classification"
 * (Errica et al.), as its authors publish them, a file for each set of graphs:
 *
 *   [ {"test": [3, 17, ...], "model_selection": [ {"train": [...], "validation": [...]} ]}, ... ]
 *
 * Every outer fold is a split: its test graphs, and of the others the inner hold-out, by which settings and the epoch
 * are chosen. Graphs are numbered from 0 in the order of the data set. The file is only taken if it is of this data
 * set: each graph in one part of every fold, and tested by one fold. Serial, thread-safe. Called by splits.c. */
#include "data/data.h"

#include <string.h>

enum { TRAIN, VAL, TEST, PARTS };
static const char *const part_names[PARTS] = {"train", "validation", "test"};

typedef struct fold_reader {
    pgcn_i_json *json;
    pgcn_i_source *source;
    int64_t items;
    int fold;
    int32_t *tested_by; /* [items] the fold that tests it, -1: none so far */
    int8_t *part;       /* [items] of the present fold, -1: none so far */
    bool has[PARTS];    /* the present fold has that part */
} fold_reader;

static const char *items_of(const fold_reader *r) {
    return r->source->graph_label ? "graphs" : "nodes";
}

/* ---- one fold -------------------------------------------------------------------------------- */

static pgcn_status check_item(const fold_reader *r, int part, int64_t item) {
    if (item < 0 || item >= r->items)
        return pgcn_i_json_fail(r->json,
                                "fold %d has number %lld in '%s', and the data set has %lld %s, "
                                "numbered from 0; is it the file of another data set?",
                                r->fold, (long long)item, part_names[part], (long long)r->items,
                                items_of(r));
    if (r->part[item] >= 0)
        return pgcn_i_json_fail(r->json, "fold %d has number %lld in '%s' and in '%s'", r->fold,
                                (long long)item, part_names[r->part[item]], part_names[part]);
    if (part == TEST && r->tested_by[item] >= 0)
        return pgcn_i_json_fail(r->json, "number %lld is tested by fold %d and by fold %d",
                                (long long)item, r->tested_by[item], r->fold);
    return PGCN_OK;
}

static pgcn_status read_part(fold_reader *r, int part) {
    if (r->has[part])
        return pgcn_i_json_fail(r->json, "fold %d has '%s' twice", r->fold, part_names[part]);
    r->has[part] = true;
    PGCN_TRY(pgcn_i_json_array(r->json));
    for (bool more;;) {
        int64_t item;
        PGCN_TRY(pgcn_i_json_more(r->json, &more));
        if (!more) return PGCN_OK;
        PGCN_TRY(pgcn_i_json_i64(r->json, &item));
        PGCN_TRY(check_item(r, part, item));
        r->part[item] = (int8_t)part;
        if (part == TEST) r->tested_by[item] = r->fold;
    }
}

/* The members of an object that name a part; others are skipped. */
static pgcn_status read_inner(fold_reader *r) {
    PGCN_TRY(pgcn_i_json_object(r->json));
    for (const char *key;;) {
        PGCN_TRY(pgcn_i_json_key(r->json, &key));
        if (!key) return PGCN_OK;
        if (strcmp(key, part_names[TRAIN]) == 0)
            PGCN_TRY(read_part(r, TRAIN));
        else if (strcmp(key, part_names[VAL]) == 0)
            PGCN_TRY(read_part(r, VAL));
        else
            PGCN_TRY(pgcn_i_json_skip(r->json));
    }
}

static pgcn_status read_selection(fold_reader *r) {
    PGCN_TRY(pgcn_i_json_array(r->json));
    for (bool more, first = true;; first = false) {
        PGCN_TRY(pgcn_i_json_more(r->json, &more));
        if (!more) return PGCN_OK;
        if (!first)
            return pgcn_i_json_fail(r->json,
                                    "fold %d has several inner splits in 'model_selection', "
                                    "expected one hold-out",
                                    r->fold);
        PGCN_TRY(read_inner(r));
    }
}

static pgcn_status check_fold(const fold_reader *r) {
    int64_t count[PARTS] = {0}, missing = 0, first = -1;
    for (int64_t i = r->items - 1; i >= 0; i--)
        if (r->part[i] >= 0)
            count[r->part[i]]++;
        else
            missing++, first = i;
    for (int part = 0; part < PARTS; part++)
        if (count[part] == 0)
            return pgcn_i_json_fail(r->json, "fold %d has nothing in '%s'", r->fold,
                                    part_names[part]);
    if (missing == 0) return PGCN_OK;
    return pgcn_i_json_fail(r->json,
                            "fold %d leaves out %lld of the %lld %s of the data set, the first is "
                            "number %lld; is it the file of another data set?",
                            r->fold, (long long)missing, (long long)r->items, items_of(r),
                            (long long)first);
}

static pgcn_status end_fold(fold_reader *r) {
    uint8_t *mask[PARTS];
    PGCN_TRY(check_fold(r));
    PGCN_TRY(pgcn_i_source_masks(r->source, r->items, mask));
    for (int64_t i = 0; i < r->items; i++)
        if (pgcn_i_source_has_label(r->source, i)) mask[r->part[i]][i] = 1;
    return PGCN_OK;
}

static pgcn_status read_fold(fold_reader *r) {
    memset(r->has, 0, sizeof r->has);
    memset(r->part, -1, (size_t)r->items);
    PGCN_TRY(pgcn_i_json_object(r->json));
    for (const char *key;;) {
        PGCN_TRY(pgcn_i_json_key(r->json, &key));
        if (!key) return end_fold(r);
        if (strcmp(key, part_names[TEST]) == 0)
            PGCN_TRY(read_part(r, TEST));
        else if (strcmp(key, "model_selection") == 0)
            PGCN_TRY(read_selection(r));
        else
            PGCN_TRY(pgcn_i_json_skip(r->json));
    }
}

/* ---- all folds ------------------------------------------------------------------------------- */

static pgcn_status check_tested(const fold_reader *r) {
    for (int64_t i = 0; i < r->items; i++)
        if (r->tested_by[i] < 0)
            return pgcn_i_json_fail(r->json,
                                    "no fold tests number %lld; every one of the %lld %s of the "
                                    "data set is in 'test' of one fold",
                                    (long long)i, (long long)r->items, items_of(r));
    return PGCN_OK;
}

static pgcn_status read_folds(fold_reader *r) {
    PGCN_TRY(pgcn_i_json_array(r->json));
    for (bool more;; r->fold++) {
        PGCN_TRY(pgcn_i_json_more(r->json, &more));
        if (!more) break;
        PGCN_TRY(read_fold(r));
    }
    PGCN_TRY(pgcn_i_json_end(r->json));
    return check_tested(r);
}

pgcn_status pgcn_i_split_as_published(pgcn_i_source *source, const pgcn_i_steps *steps,
                                      pgcn_i_arena *scratch) {
    int64_t items = pgcn_i_source_items(source);
    fold_reader r = {.source = source, .items = items};
    r.tested_by = PGCN_I_ARRAY(scratch, int32_t, items);
    r.part = PGCN_I_ARRAY(scratch, int8_t, items);
    if (!r.tested_by || !r.part) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < items; i++) r.tested_by[i] = -1;
    PGCN_TRY(pgcn_i_json_open(steps->fair, &r.json));
    pgcn_status status = read_folds(&r);
    pgcn_i_json_close(r.json);
    return status;
}
