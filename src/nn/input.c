/* The features as the first layer reads them: normalised, and indexed by column for its gradient.
 * Called once per run by the trainer and by inference. */
#include "nn/nn.h"

#include <math.h>
#include <string.h>

/* Each row divided by the sum of its magnitudes (for the counts of the citation graphs: by its
 * sum); an empty row stays zero. */
static void normalise_rows(float *value, const int64_t *offset, int64_t n) {
    for (int64_t row = 0; row < n; row++) {
        double sum = 0;
        for (int64_t e = offset[row]; e < offset[row + 1]; e++) sum += fabs((double)value[e]);
        if (sum > 0)
            for (int64_t e = offset[row]; e < offset[row + 1]; e++)
                value[e] = (float)(value[e] / sum);
    }
}

static pgcn_status index_columns(pgcn_i_input *input) {
    int64_t *offset = PGCN_I_ARRAY(&input->arena, int64_t, input->columns + 1);
    int32_t *row = PGCN_I_ARRAY(&input->arena, int32_t, input->nonzeros);
    int64_t *position = PGCN_I_ARRAY(&input->arena, int64_t, input->nonzeros);
    int64_t *next = pgcn_i_alloc(input->columns, sizeof *next);
    if (!offset || !row || !position || !next) {
        pgcn_i_free(next);
        return PGCN_ERR_MEMORY;
    }
    for (int64_t e = 0; e < input->nonzeros; e++) offset[input->column[e] + 1]++;
    for (int64_t f = 0; f < input->columns; f++) offset[f + 1] += offset[f];
    memcpy(next, offset, (size_t)input->columns * sizeof *next);
    for (int64_t r = 0; r < input->n; r++)
        for (int64_t e = input->offset[r]; e < input->offset[r + 1]; e++) {
            int64_t place = next[input->column[e]]++;
            row[place] = (int32_t)r;
            position[place] = e;
        }
    pgcn_i_free(next);
    input->offset_t = offset;
    input->row_t = row;
    input->position_t = position;
    return PGCN_OK;
}

static pgcn_status fill(pgcn_i_input *input, const pgcn_i_features *x, pgcn_normalise normalise,
                        bool with_columns) {
    bool sparse = x->offset != NULL;
    bool rows = normalise == PGCN_NORMALISE_ROWS || (normalise == PGCN_NORMALISE_AUTO && sparse);
    int64_t count = sparse ? x->nonzeros : x->n * x->columns;
    float *value = PGCN_I_ARRAY(&input->arena, float, count);
    if (!value) return PGCN_ERR_MEMORY;
    memcpy(value, sparse ? x->value : x->dense, (size_t)count * sizeof *value);
    int64_t *offset = PGCN_I_ARRAY(&input->arena, int64_t, x->n + 1);
    if (!offset) return PGCN_ERR_MEMORY;
    for (int64_t r = 0; r <= x->n; r++) offset[r] = sparse ? x->offset[r] : r * x->columns;
    if (rows) normalise_rows(value, offset, x->n);

    input->n = x->n;
    input->columns = x->columns;
    if (!sparse) {
        input->dense = value;
        return PGCN_OK;
    }
    int32_t *column = PGCN_I_ARRAY(&input->arena, int32_t, count);
    if (!column) return PGCN_ERR_MEMORY;
    memcpy(column, x->column, (size_t)count * sizeof *column);
    input->nonzeros = count;
    input->offset = offset;
    input->column = column;
    input->value = value;
    return with_columns ? index_columns(input) : PGCN_OK;
}

pgcn_status pgcn_i_input_new(const pgcn_i_features *features, pgcn_normalise normalise,
                             bool with_columns, pgcn_i_input **out) {
    pgcn_i_input *input = pgcn_i_alloc(1, sizeof *input);
    if (!input) return PGCN_ERR_MEMORY;
    pgcn_status status = fill(input, features, normalise, with_columns);
    if (status != PGCN_OK) {
        pgcn_i_input_free(input);
        return status;
    }
    *out = input;
    return PGCN_OK;
}

void pgcn_i_input_free(pgcn_i_input *input) {
    if (!input) return;
    pgcn_i_arena_free(&input->arena);
    pgcn_i_free(input);
}
