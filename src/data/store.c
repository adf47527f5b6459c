/* Features of a data set as a container may store them: float16, bf16 or int8 with a scale per column, made
 * of float32 block by block, so that no second copy of large features is needed. The fingerprint of such a
 * file is that of the numbers that come back from it (fingerprint.c).
 * Called by container_write.c. Serial, thread-safe. */
#include "data/data.h"

#include <math.h>

static const float *values_of(const pgcn_i_features *x) {
    return x->offset ? x->value : x->dense;
}

static int64_t count_of(const pgcn_i_features *x) {
    return x->offset ? x->nonzeros : x->n * x->columns;
}

/* The column of the stored number at `place`. */
static int64_t column_of(const pgcn_i_features *x, int64_t place) {
    return x->offset ? x->column[place] : place % x->columns;
}

static int64_t node_of(const pgcn_i_features *x, int64_t place) {
    if (!x->offset) return place / x->columns;
    int64_t low = 0, high = x->n; /* offset[low] <= place < offset[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (x->offset[middle] <= place)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The largest magnitude of every column decides its scale. */
static pgcn_status find_scales(pgcn_i_store *store, pgcn_i_arena *arena) {
    const pgcn_i_features *x = store->x;
    const float *value = values_of(x);
    float *scale = PGCN_I_ARRAY(arena, float, x->columns);
    if (!scale) return PGCN_ERR_MEMORY;
    int64_t count = count_of(x);
    for (int64_t i = 0, column = 0; i < count; i++) {
        int64_t j = x->offset ? x->column[i] : column;
        scale[j] = fmaxf(scale[j], fabsf(value[i]));
        if (++column == x->columns) column = 0;
    }
    for (int64_t j = 0; j < x->columns; j++) scale[j] = pgcn_i_narrow_scale(scale[j]);
    store->scale = scale;
    return PGCN_OK;
}

pgcn_status pgcn_i_store_open(const pgcn_i_features *x, pgcn_i_dtype dtype, pgcn_i_arena *arena,
                              pgcn_i_store *out) {
    *out = (pgcn_i_store){.x = x, .dtype = dtype};
    return dtype == PGCN_I_I8 ? find_scales(out, arena) : PGCN_OK;
}

static pgcn_status too_large(const pgcn_i_store *store, int64_t place) {
    const pgcn_i_features *x = store->x;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "feature %lld of node %lld is %g, too large for %s; --store %s or float32 "
                       "holds it",
                       (long long)column_of(x, place), (long long)node_of(x, place),
                       (double)values_of(x)[place], pgcn_i_dtype_name(store->dtype),
                       store->dtype == PGCN_I_F16 ? "bf16, int8" : "int8");
}

pgcn_status pgcn_i_store_encode(const pgcn_i_store *store, int64_t first, int64_t count, void *to) {
    const pgcn_i_features *x = store->x;
    const float *value = values_of(x) + first;
    if (x->offset && store->dtype == PGCN_I_I8) { /* the columns of a sparse row are anywhere */
        for (int64_t i = 0; i < count; i++)
            pgcn_i_narrow_encode(store->dtype, value + i, 1, x->column[first + i], x->columns,
                                 store->scale, (int8_t *)to + i);
        return PGCN_OK;
    }
    int64_t good =
        pgcn_i_narrow_encode(store->dtype, value, count, x->offset ? 0 : first % x->columns,
                             x->columns, store->scale, to);
    return good == count ? PGCN_OK : too_large(store, first + good);
}

void pgcn_i_store_decode(const pgcn_i_store *store, const void *from, int64_t first, int64_t count,
                         float *to) {
    const pgcn_i_features *x = store->x;
    if (x->offset && store->dtype == PGCN_I_I8) {
        for (int64_t i = 0; i < count; i++)
            pgcn_i_narrow_decode(store->dtype, (const int8_t *)from + i, 1, x->column[first + i],
                                 x->columns, store->scale, to + i);
        return;
    }
    pgcn_i_narrow_decode(store->dtype, from, count, x->offset ? 0 : first % x->columns, x->columns,
                         store->scale, to);
}

/* ---- reading back ------------------------------------------------------------------------------ */

pgcn_status pgcn_i_store_read(const pgcn_i_store *store, const void *stored, pgcn_i_arena *arena,
                              const float **out) {
    int64_t count = count_of(store->x);
    float *value = PGCN_I_ARRAY(arena, float, count);
    if (!value) return PGCN_ERR_MEMORY;
    pgcn_i_store_decode(store, stored, 0, count, value);
    *out = value;
    return PGCN_OK;
}
