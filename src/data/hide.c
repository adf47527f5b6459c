/* The steps `only-split` and `without-test`, for a search that chooses settings on the validation
 * set. They empty all test masks, and remove the label of every item that no remaining split uses
 * for training or validation. With one split left, these are all its test items. With several, a
 * test item of one may train in another and then keeps its label. */
#include "data/data.h"

#include <string.h>

/* Which splits `wanted` keeps: "auto" and "numbered" are the words of the setting `split`. */
static bool is_kept(const pgcn_i_source *source, const char *name, const char *wanted) {
    bool published = strcmp(source->split[0].name, "public") == 0;
    bool is_public = strcmp(name, "public") == 0;
    if (strcmp(wanted, "auto") == 0) return is_public || !published;
    if (strcmp(wanted, "numbered") == 0) return !is_public;
    return strcmp(name, wanted) == 0;
}

static pgcn_status keep_splits(pgcn_i_source *source, const char *wanted, const char *where) {
    int kept = 0;
    for (int s = 0; s < source->splits; s++)
        if (is_kept(source, source->split[s].name, wanted)) kept++;
    if (kept == 0)
        return pgcn_i_fail(PGCN_ERR_MISMATCH, "data set '%s' has no split for only-split=%s", where,
                           wanted);
    pgcn_i_split *split = PGCN_I_ARRAY(&source->arena, pgcn_i_split, kept);
    if (!split) return PGCN_ERR_MEMORY;
    for (int s = 0, to = 0; s < source->splits; s++)
        if (is_kept(source, source->split[s].name, wanted)) split[to++] = source->split[s];
    source->split = split;
    source->splits = kept;
    return PGCN_OK;
}

/* [items] 1: some split uses the item for training or validation. NULL without memory. */
static uint8_t *items_in_use(pgcn_i_source *source, int64_t items) {
    uint8_t *used = PGCN_I_ARRAY(&source->arena, uint8_t, items);
    for (int s = 0; used && s < source->splits; s++)
        for (int64_t i = 0; i < items; i++)
            used[i] |= source->split[s].train[i] | source->split[s].val[i];
    return used;
}

static pgcn_status hide_codes(pgcn_i_source *source, const uint8_t *used, int64_t items,
                              const int32_t **label) {
    int32_t *left = PGCN_I_ARRAY(&source->arena, int32_t, items);
    if (!left) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < items; i++) left[i] = used[i] ? (*label)[i] : -1;
    *label = left;
    return PGCN_OK;
}

static pgcn_status hide_rows(pgcn_i_source *source, const uint8_t *used, int64_t items) {
    int64_t count, classes = source->classes;
    if (!pgcn_i_mul(items, classes, &count))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%lld labels of %lld items are too many",
                           (long long)classes, (long long)items);
    uint8_t *left = PGCN_I_ARRAY(&source->arena, uint8_t, count);
    uint8_t *known = PGCN_I_ARRAY(&source->arena, uint8_t, items);
    if (!left || !known) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < items; i++) {
        known[i] = used[i] && (!source->label_known || source->label_known[i]);
        if (known[i]) memcpy(left + i * classes, source->labels + i * classes, (size_t)classes);
    }
    source->labels = left;
    source->label_known = known;
    return PGCN_OK;
}

static pgcn_status hide_test(pgcn_i_source *source) {
    int64_t items = pgcn_i_source_items(source);
    pgcn_i_split *split = PGCN_I_ARRAY(&source->arena, pgcn_i_split, source->splits);
    uint8_t *none = PGCN_I_ARRAY(&source->arena, uint8_t, items); /* shared by all splits */
    uint8_t *used = items_in_use(source, items);
    if (!split || !none || !used) return PGCN_ERR_MEMORY;
    for (int s = 0; s < source->splits; s++) {
        split[s] = source->split[s];
        split[s].test = none;
    }
    source->split = split;
    if (source->label) PGCN_TRY(hide_codes(source, used, items, &source->label));
    if (source->graph_label) PGCN_TRY(hide_codes(source, used, items, &source->graph_label));
    return source->labels ? hide_rows(source, used, items) : PGCN_OK;
}

pgcn_status pgcn_i_hide(pgcn_i_source *source, const pgcn_i_steps *steps, const char *where) {
    bool hide = steps->without_test;
    if ((hide || *steps->only_split) && source->splits == 0)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "data set '%s' has no splits, so %s has no meaning for it", where,
                           hide ? "without-test" : "only-split");
    if (hide || *steps->only_split) source->default_splits = false;
    if (*steps->only_split) PGCN_TRY(keep_splits(source, steps->only_split, where));
    return hide ? hide_test(source) : PGCN_OK;
}
