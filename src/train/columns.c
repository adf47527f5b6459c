/* Which column of a data set is which input of a model. Columns that have names on both sides are found
 * by them: another set of molecules has other atoms, and numbers them otherwise; a table may have its
 * columns in another order. Without names columns are known by their place. */
#include "train/train.h"

#include <stdlib.h>
#include <string.h>

pgcn_status pgcn_i_names_to_json(const pgcn_i_names *names, json_t **out) {
    *out = NULL;
    for (int64_t i = 0; i < names->count; i++) {
        const char *name = names->text + names->offset[i];
        if (!pgcn_i_is_utf8(name, (int64_t)strlen(name))) return PGCN_OK;
    }
    if (names->count == 0) return PGCN_OK;
    json_t *list = json_array();
    for (int64_t i = 0; i < names->count; i++)
        if (json_array_append_new(list, json_string(names->text + names->offset[i])) != 0) {
            json_decref(list);
            return pgcn_i_fail(PGCN_ERR_MEMORY, "out of memory for %lld names",
                               (long long)names->count);
        }
    *out = list;
    return PGCN_OK;
}

static const char *model_column(const pgcn_model *model, int64_t j) {
    return pgcn_model_feature_name(model, j);
}
static const char *data_column(const pgcn_dataset *data, int64_t j) {
    return pgcn_dataset_feature_name(data, j);
}

/* ---- by place --------------------------------------------------------------------------------- */

static bool has_names(const pgcn_model *model, const pgcn_dataset *data) {
    return model->feature_names && data->from.feature_name.count > 0;
}

static bool has_same_names(const pgcn_model *model, const pgcn_dataset *data) {
    bool same = data->x.columns == model->features;
    for (int64_t j = 0; same && j < model->features; j++)
        same = strcmp(model_column(model, j), data_column(data, j)) == 0;
    return same;
}

static pgcn_status check_count(const pgcn_model *model, const pgcn_dataset *data) {
    if (data->x.columns == model->features) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_MISMATCH,
                       "the model reads %lld feature columns, those of %s, and data set %s has "
                       "%lld; give data with the same features",
                       (long long)model->features, model->dataset, data->name,
                       (long long)data->x.columns);
}

/* ---- by name ---------------------------------------------------------------------------------- */

typedef struct column {
    const char *name;
    int64_t place; /* in the model */
} column;

static int by_name(const void *a, const void *b) {
    return strcmp(((const column *)a)->name, ((const column *)b)->name);
}

/* A column that stands for a node label or a degree: where it is missing, no node has that. */
static bool is_made(const char *name) {
    return strncmp(name, PGCN_I_LABEL_COLUMN, strlen(PGCN_I_LABEL_COLUMN)) == 0 ||
           strncmp(name, PGCN_I_DEGREE_COLUMN, strlen(PGCN_I_DEGREE_COLUMN)) == 0;
}

static pgcn_status twice(const char *of, const char *name) {
    return pgcn_i_fail(PGCN_ERR_MISMATCH,
                       "two feature columns of %s are called '%s'; rename one, so that columns can "
                       "be found by their names",
                       of, name);
}

/* Where each column of the data goes. */
static pgcn_status find_places(const pgcn_model *model, const pgcn_dataset *data, column *known,
                               bool *met, int32_t *place) {
    size_t count = (size_t)model->features;
    for (size_t j = 0; j < count; j++)
        known[j] = (column){model_column(model, (int64_t)j), (int64_t)j};
    qsort(known, count, sizeof *known, by_name);
    for (size_t j = 1; j < count; j++)
        if (by_name(&known[j - 1], &known[j]) == 0) return twice(model->dataset, known[j].name);
    for (int64_t j = 0; j < data->x.columns; j++) {
        column wanted = {data_column(data, j), 0};
        const column *found = bsearch(&wanted, known, count, sizeof *known, by_name);
        if (!found)
            return pgcn_i_fail(PGCN_ERR_MISMATCH,
                               "data set %s has the feature column '%s', which the data the model "
                               "was trained on (%s) had not%s",
                               data->name, wanted.name, model->dataset,
                               is_made(wanted.name)
                                   ? "; take the graphs out that have such nodes, or train on data "
                                     "that has them too"
                                   : "; leave it out");
        if (met[found->place]) return twice(data->name, found->name);
        met[found->place] = true;
        place[j] = (int32_t)found->place;
    }
    for (int64_t j = 0; j < model->features; j++)
        if (!met[j] && !is_made(model_column(model, j)))
            return pgcn_i_fail(
                PGCN_ERR_MISMATCH,
                "the model reads the feature column '%s', which data set %s does not have; add it",
                model_column(model, j), data->name);
    return PGCN_OK;
}

static pgcn_status move_dense(const pgcn_i_features *x, const int32_t *place, int64_t columns,
                              pgcn_i_arena *arena, pgcn_i_features *out) {
    int64_t count;
    if (!pgcn_i_mul(x->n, columns, &count))
        return pgcn_i_fail(PGCN_ERR_MEMORY, "%lld rows of %lld features are too many",
                           (long long)x->n, (long long)columns);
    float *dense = PGCN_I_ARRAY(arena, float, count); /* zero where a column is missing */
    if (!dense) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t j = 0; j < x->columns; j++)
            dense[i * columns + place[j]] = x->dense[i * x->columns + j];
    out->dense = dense;
    return PGCN_OK;
}

/* The entries of a row keep their order: nothing that reads them asks for ascending columns. */
static pgcn_status move_sparse(const pgcn_i_features *x, const int32_t *place, pgcn_i_arena *arena,
                               pgcn_i_features *out) {
    int32_t *moved = PGCN_I_ARRAY(arena, int32_t, x->nonzeros);
    if (!moved) return PGCN_ERR_MEMORY;
    for (int64_t e = 0; e < x->nonzeros; e++) moved[e] = place[x->column[e]];
    out->column = moved;
    return PGCN_OK;
}

static pgcn_status match(const pgcn_model *model, const pgcn_dataset *data, pgcn_i_arena *scratch,
                         pgcn_i_arena *arena, pgcn_i_features *out) {
    const pgcn_i_features *x = &data->x;
    column *known = PGCN_I_ARRAY(scratch, column, model->features);
    bool *met = PGCN_I_ARRAY(scratch, bool, model->features);
    int32_t *place = PGCN_I_ARRAY(scratch, int32_t, x->columns);
    if (!known || !met || !place) return PGCN_ERR_MEMORY;
    PGCN_TRY(find_places(model, data, known, met, place));
    out->columns = model->features;
    if (x->absent) {
        uint8_t *made = PGCN_I_ARRAY(arena, uint8_t, model->features);
        if (!made) return PGCN_ERR_MEMORY;
        memset(made, 1, (size_t)model->features); /* columns that the data lacks are such */
        for (int64_t j = 0; j < x->columns; j++) made[place[j]] = x->made ? x->made[j] : 0;
        out->made = made;
    }
    return x->offset ? move_sparse(x, place, arena, out)
                     : move_dense(x, place, model->features, arena, out);
}

pgcn_status pgcn_i_match_columns(const pgcn_model *model, const pgcn_dataset *data,
                                 pgcn_i_arena *arena, pgcn_i_features *out) {
    *out = data->x;
    if (!has_names(model, data)) return check_count(model, data);
    if (has_same_names(model, data)) return PGCN_OK;
    PGCN_TRY(pgcn_i_need_features(data, "putting their columns into the order of the model"));
    pgcn_i_arena scratch = {0};
    pgcn_status status = match(model, data, &scratch, arena, out);
    pgcn_i_arena_free(&scratch);
    return status;
}
