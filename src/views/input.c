/* The features as the first layer reads them: weighed, normalised, and indexed by column for its gradient.
 * Called once per run by the trainer and by inference. */
#include "views/views.h"

#include <math.h>
#include <string.h>

/* A row divided by the sum of its magnitudes (for the counts of the citation graphs: by its sum); an
 * empty one stays zero. */
static void normalise_row(float *value, int64_t count) {
    double sum = 0;
    for (int64_t e = 0; e < count; e++) sum += fabs((double)value[e]);
    if (sum > 0)
        for (int64_t e = 0; e < count; e++) value[e] = (float)(value[e] / sum);
}

static void normalise_rows(float *value, const int64_t *offset, pgcn_i_range rows) {
    for (int64_t row = rows.begin; row < rows.end; row++)
        normalise_row(value + offset[row], offset[row + 1] - offset[row]);
}

/* Loops of a fixed length become vector instructions at -O2, others do not. */
enum { LANES = 16 };

static void standardise_row(float *restrict value, int64_t columns, pgcn_i_standard standard) {
    const float *restrict mean = standard.mean, *restrict deviation = standard.deviation;
    int64_t j = 0;
    for (; j + LANES <= columns; j += LANES)
        for (int k = 0; k < LANES; k++)
            value[j + k] = (value[j + k] - mean[j + k]) / deviation[j + k];
    for (; j < columns; j++) value[j] = (value[j] - mean[j]) / deviation[j];
}

/* Entries times the factors of their columns; `column` is NULL where all columns are there. */
static void weigh_entries(float *value, const int32_t *column, int64_t count, const float *factor) {
    for (int64_t e = 0; e < count; e++) value[e] *= factor[column ? column[e] : e];
}

/* What is added up of a column. */
typedef enum column_sum {
    OF_VALUES,
    OF_SQUARES, /* of the distances to a mean */
    OF_ENTRIES  /* 1 for what is not zero */
} column_sum;

/* Adds up the columns over the masked rows. An entry that is not stored is zero and counts like any other.
 * Doubles, in the order of the rows. */
static void sum_columns(const pgcn_i_features *x, const uint8_t *mask, column_sum what,
                        const double *mean, double *sum) {
    int64_t f = x->columns;
    bool squares = what == OF_SQUARES;
    for (int64_t r = 0; r < x->n; r++) {
        if (!mask[r]) continue;
        for (int64_t j = 0; squares && x->offset && j < f; j++) sum[j] += mean[j] * mean[j];
        int64_t begin = x->offset ? x->offset[r] : r * f,
                end = x->offset ? x->offset[r + 1] : begin + f;
        for (int64_t e = begin; e < end; e++) {
            int64_t j = x->offset ? x->column[e] : e - begin;
            double value = (double)(x->offset ? x->value[e] : x->dense[e]);
            double distance = squares ? value - mean[j] : 0;
            double as_zero = squares && x->offset ? mean[j] * mean[j] : 0;
            if (squares)
                sum[j] += distance * distance - as_zero;
            else
                sum[j] += what == OF_VALUES ? value : value != 0;
        }
    }
}

/* The same of features that stay in their file: only masked rows are read, some at a time, in their order. */
static pgcn_status sum_columns_of_file(const pgcn_i_features *x, pgcn_i_row_file *file,
                                       const uint8_t *mask, column_sum what, const double *mean,
                                       double *sum) {
    enum { MOST = 4096 };
    pgcn_node row[MOST];
    uint8_t all[MOST];
    float *some = pgcn_i_alloc(MOST * x->columns, sizeof *some);
    pgcn_status status = some ? PGCN_OK : PGCN_ERR_MEMORY;
    memset(all, 1, sizeof all);
    for (int64_t r = 0; r < x->n && status == PGCN_OK;) {
        pgcn_i_features read = {.columns = x->columns, .dense = some};
        for (; r < x->n && read.n < MOST; r++)
            if (mask[r]) row[read.n++] = (pgcn_node)r;
        status = pgcn_i_stage("reading features of training nodes", (double)r / (double)x->n);
        if (status == PGCN_OK) status = pgcn_i_row_file_list(file, row, read.n, some);
        int64_t bad = status == PGCN_OK ? pgcn_i_first_bad(some, read.n * x->columns) : -1;
        if (bad >= 0)
            status = pgcn_i_fail_row(file, row[bad / x->columns], bad % x->columns, some[bad]);
        if (status == PGCN_OK) sum_columns(&read, all, what, mean, sum);
    }
    pgcn_i_free(some);
    return status;
}

static pgcn_status sum_all(const pgcn_i_features *x, const uint8_t *mask, column_sum what,
                           const double *mean, double *sum) {
    pgcn_i_row_file *file;
    if (!x->file) {
        sum_columns(x, mask, what, mean, sum);
        return PGCN_OK;
    }
    PGCN_TRY(pgcn_i_row_file_again(x->file, &file));
    pgcn_status status = sum_columns_of_file(x, file, mask, what, mean, sum);
    pgcn_i_row_file_close(file);
    return status;
}

/* The mean of each column over the masked rows, in `mean`, which is zero, and their number. */
static pgcn_status mean_columns(const pgcn_i_features *x, const uint8_t *mask, double *mean,
                                int64_t *nodes) {
    *nodes = 0;
    for (int64_t r = 0; r < x->n; r++) *nodes += mask[r];
    PGCN_TRY(sum_all(x, mask, OF_VALUES, NULL, mean));
    for (int64_t j = 0; j < x->columns; j++) mean[j] /= (double)*nodes;
    return PGCN_OK;
}

pgcn_status pgcn_i_means_of(const pgcn_i_features *x, const uint8_t *mask, float *out) {
    double *mean = pgcn_i_alloc(x->columns, sizeof *mean);
    if (!mean) return PGCN_ERR_MEMORY;
    int64_t nodes;
    pgcn_status status = mean_columns(x, mask, mean, &nodes);
    for (int64_t j = 0; j < x->columns; j++) out[j] = (float)mean[j];
    pgcn_i_free(mean);
    return status;
}

pgcn_status pgcn_i_standard_of(const pgcn_i_features *x, const uint8_t *mask, pgcn_i_standard out) {
    int64_t nodes = 0;
    double *mean = pgcn_i_alloc(x->columns, sizeof *mean);
    double *squares = pgcn_i_alloc(x->columns, sizeof *squares);
    pgcn_status status = mean && squares ? PGCN_OK : PGCN_ERR_MEMORY;
    if (status == PGCN_OK) status = mean_columns(x, mask, mean, &nodes);
    if (status == PGCN_OK) status = sum_all(x, mask, OF_SQUARES, mean, squares);
    for (int64_t j = 0; status == PGCN_OK && j < x->columns; j++) {
        float deviation = (float)sqrt(fmax(squares[j], 0) / (double)nodes);
        out.mean[j] = (float)mean[j];
        out.deviation[j] = deviation > 1e-6f * (float)fabs(mean[j]) ? deviation : 1;
    }
    pgcn_i_free(mean);
    pgcn_i_free(squares);
    return status;
}

pgcn_status pgcn_i_factors_of(const pgcn_i_features *x, const uint8_t *mask, double power,
                              float *factor) {
    double *nodes = pgcn_i_alloc(x->columns, sizeof *nodes), most = 0;
    if (!nodes) return PGCN_ERR_MEMORY;
    pgcn_status status = sum_all(x, mask, OF_ENTRIES, NULL, nodes);
    for (int64_t j = 0; j < x->columns; j++) most = fmax(most, nodes[j]);
    for (int64_t j = 0; j < x->columns; j++)
        factor[j] = (float)pow((nodes[j] + 1) / (most + 1), power);
    pgcn_i_free(nodes);
    return status;
}

/* ---- nodes without features -------------------------------------------------------------------- */

static pgcn_status fill_dense(const pgcn_i_features *x, const float *mean, pgcn_i_arena *arena,
                              pgcn_i_features *out) {
    int64_t count = x->n * x->columns; /* the array exists: the product fits */
    float *dense = PGCN_I_ARRAY(arena, float, count);
    if (!dense) return PGCN_ERR_MEMORY;
    memcpy(dense, x->dense, (size_t)count * sizeof *dense);
    for (int64_t r = 0; r < x->n; r++)
        for (int64_t j = 0; x->absent[r] && j < x->columns; j++)
            if (!x->made || !x->made[j]) dense[r * x->columns + j] = mean[j];
    out->dense = dense;
    return PGCN_OK;
}

/* Whether entry e is kept: of an absent node only what was made for it. */
static bool is_kept(const pgcn_i_features *x, int64_t row, int64_t e) {
    return !x->absent[row] || (x->made && x->made[x->column[e]]);
}

static pgcn_status fill_sparse(const pgcn_i_features *x, const float *mean, pgcn_i_arena *arena,
                               pgcn_i_features *out) {
    int64_t each = 0, absent = 0, most, at = 0;
    for (int64_t j = 0; j < x->columns; j++) each += mean[j] != 0 && !(x->made && x->made[j]);
    for (int64_t r = 0; r < x->n; r++) absent += x->absent[r];
    if (!pgcn_i_mul(each, absent, &most) || most > INT64_MAX - x->nonzeros)
        return pgcn_i_fail(PGCN_ERR_MEMORY, "means of %lld features for %lld nodes are too many",
                           (long long)each, (long long)absent);
    int64_t *offset = PGCN_I_ARRAY(arena, int64_t, x->n + 1);
    int32_t *column = PGCN_I_ARRAY(arena, int32_t, most + x->nonzeros);
    float *value = PGCN_I_ARRAY(arena, float, most + x->nonzeros);
    if (!offset || !column || !value) return PGCN_ERR_MEMORY;
    for (int64_t r = 0; r < x->n; r++) {
        for (int64_t j = 0; x->absent[r] && j < x->columns; j++)
            if (mean[j] != 0 && !(x->made && x->made[j]))
                column[at] = (int32_t)j, value[at++] = mean[j];
        for (int64_t e = x->offset[r]; e < x->offset[r + 1]; e++)
            if (is_kept(x, r, e)) column[at] = x->column[e], value[at++] = x->value[e];
        offset[r + 1] = at;
    }
    out->offset = offset;
    out->column = column;
    out->value = value;
    out->nonzeros = at;
    return PGCN_OK;
}

pgcn_status pgcn_i_fill_absent(const pgcn_i_features *x, const float *mean, pgcn_i_arena *arena,
                               pgcn_i_features *out) {
    *out = *x;
    if (!x->absent) return PGCN_OK;
    out->absent = out->made = NULL;
    return x->offset ? fill_sparse(x, mean, arena, out) : fill_dense(x, mean, arena, out);
}

/* ---- normalised ----------------------------------------------------------------------------------- */

/* Rows r .. r + TOGETHER - 1 of dense features, or up to `end`. Those of a container are not read again soon: a copy of
 * all of them and the file itself would be in memory together. */
enum { TOGETHER = 4096 };
static void copy_rows(float *to, const pgcn_i_features *x, int64_t r, int64_t end) {
    int64_t rows = end - r < TOGETHER ? end - r : TOGETHER, at = r * x->columns;
    size_t bytes = (size_t)(rows * x->columns) * sizeof *to;
    memcpy(to + at, x->dense + at, bytes);
    pgcn_i_forget_pages(x->mapping, x->mapping_bytes, x->dense + at, (int64_t)bytes);
}

/* Standardised features are dense, whatever they were: a zero is no longer zero. */
static pgcn_status fill_standardised(pgcn_i_input *input, const pgcn_i_features *x,
                                     pgcn_i_standard standard) {
    int64_t count;
    if (!pgcn_i_mul(x->n, x->columns, &count))
        return pgcn_i_fail(PGCN_ERR_MEMORY, "%lld x %lld standardised features are too many",
                           (long long)x->n, (long long)x->columns);
    float *value = PGCN_I_ARRAY(&input->arena, float, count);
    if (!value) return PGCN_ERR_MEMORY;
    const pgcn_i_range rows = input->filled;
    for (int64_t r = rows.begin; r < rows.end; r++) {
        float *row = value + r * x->columns;
        if (x->dense && (r - rows.begin) % TOGETHER == 0) copy_rows(value, x, r, rows.end);
        for (int64_t e = x->offset ? x->offset[r] : 0; x->offset && e < x->offset[r + 1]; e++)
            row[x->column[e]] = x->value[e];
        standardise_row(row, x->columns, standard);
    }
    input->n = x->n;
    input->columns = x->columns;
    input->dense = value;
    return PGCN_OK;
}

pgcn_status pgcn_i_column_arrays_new(pgcn_i_arena *arena, int64_t columns, int64_t nonzeros,
                                     pgcn_i_column_arrays *out) {
    if (nonzeros > UINT32_MAX)
        return pgcn_i_fail(PGCN_ERR_MEMORY, "%lld non-zero features are more than %u",
                           (long long)nonzeros, UINT32_MAX);
    *out = (pgcn_i_column_arrays){.offset = PGCN_I_ARRAY(arena, int64_t, columns + 1),
                                  .next = PGCN_I_ARRAY(arena, int64_t, columns),
                                  .row = PGCN_I_ARRAY(arena, int32_t, nonzeros),
                                  .position = PGCN_I_ARRAY(arena, uint32_t, nonzeros),
                                  .value = PGCN_I_ARRAY(arena, float, nonzeros)};
    return out->offset && out->next && out->row && out->position && out->value ? PGCN_OK
                                                                               : PGCN_ERR_MEMORY;
}

void pgcn_i_input_index(pgcn_i_input *input, pgcn_i_range rows, pgcn_i_column_arrays to) {
    memset(to.offset, 0, (size_t)(input->columns + 1) * sizeof *to.offset);
    for (int64_t e = input->offset[rows.begin]; e < input->offset[rows.end]; e++)
        to.offset[input->column[e] + 1]++;
    for (int64_t f = 0; f < input->columns; f++) to.offset[f + 1] += to.offset[f];
    memcpy(to.next, to.offset, (size_t)input->columns * sizeof *to.next);
    for (int64_t r = rows.begin; r < rows.end; r++)
        for (int64_t e = input->offset[r]; e < input->offset[r + 1]; e++) {
            int64_t place = to.next[input->column[e]]++;
            to.row[place] = (int32_t)r;
            to.position[place] = (uint32_t)e;
            to.value[place] = input->value[e];
        }
    input->by_column = (pgcn_i_columns){input->nonzeros, to.offset, to.row, to.position, to.value};
}

static pgcn_status index_columns(pgcn_i_input *input) {
    pgcn_i_column_arrays arrays;
    PGCN_TRY(pgcn_i_column_arrays_new(&input->arena, input->columns, input->nonzeros, &arrays));
    pgcn_i_input_index(input, input->filled, arrays);
    pgcn_i_arena_drop(&input->arena, arrays.next);
    return PGCN_OK;
}

static pgcn_status fill(pgcn_i_input *input, const pgcn_i_features *x, pgcn_normalise normalise,
                        const float *factor, bool with_columns) {
    bool sparse = x->offset != NULL;
    /* The trainer has decided what AUTO means; models of version 0.1 left it to be decided here. */
    bool rows = normalise == PGCN_NORMALISE_ROWS || (normalise == PGCN_NORMALISE_AUTO && sparse);
    int64_t count = sparse ? x->nonzeros : x->n * x->columns;
    float *value = PGCN_I_ARRAY(&input->arena, float, count);
    if (!value) return PGCN_ERR_MEMORY;
    const pgcn_i_range filled = input->filled;
    for (int64_t r = filled.begin; !sparse && r < filled.end; r += TOGETHER)
        copy_rows(value, x, r, filled.end);
    int64_t *offset = PGCN_I_ARRAY(&input->arena, int64_t, x->n + 1);
    if (!offset) return PGCN_ERR_MEMORY;
    for (int64_t r = 0; r <= x->n; r++) offset[r] = sparse ? x->offset[r] : r * x->columns;
    int64_t first = offset[filled.begin], entries = offset[filled.end] - first;
    if (sparse) memcpy(value + first, x->value + first, (size_t)entries * sizeof *value);
    for (int64_t r = filled.begin; factor && r < filled.end; r++)
        weigh_entries(value + offset[r], sparse ? x->column + offset[r] : NULL,
                      offset[r + 1] - offset[r], factor);
    if (rows) normalise_rows(value, offset, filled);

    input->n = x->n;
    input->columns = x->columns;
    if (!sparse) {
        input->dense = value;
        return PGCN_OK;
    }
    int32_t *column = PGCN_I_ARRAY(&input->arena, int32_t, count);
    if (!column) return PGCN_ERR_MEMORY;
    memcpy(column + first, x->column + first, (size_t)entries * sizeof *column);
    input->nonzeros = count;
    input->offset = offset;
    input->column = column;
    input->value = value;
    return with_columns ? index_columns(input) : PGCN_OK;
}

/* ---- row by row ------------------------------------------------------------------------------------ */

/* All bits of the exponent: infinite, or no number. */
static uint32_t is_bad(float value) {
    const uint32_t exponent = 0x7f800000u;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & exponent) == exponent;
}

int64_t pgcn_i_first_bad(const float *value, int64_t count) {
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t end = count - i < LANES ? count : i + LANES;
        uint32_t bad = 0;
        if (end - i == LANES)
            for (int k = 0; k < LANES; k++) bad |= is_bad(value[i + k]);
        if (end - i == LANES && !bad) continue;
        for (int64_t j = i; j < end; j++)
            if (is_bad(value[j])) return j;
    }
    return -1;
}

pgcn_status pgcn_i_fail_row(const pgcn_i_row_file *file, int64_t node, int64_t column,
                            float value) {
    return pgcn_i_fail(
        PGCN_ERR_FORMAT, "'%s': feature %lld of node %lld is %g, expected a finite number",
        pgcn_i_row_file_path(file), (long long)column, (long long)node, (double)value);
}

void pgcn_i_row_as_read(const pgcn_i_row_rule *rule, pgcn_node node, float *row) {
    const pgcn_i_features *x = rule->features;
    if (x->absent && x->absent[node])
        for (int64_t j = 0; j < x->columns; j++)
            if (!x->made || !x->made[j]) row[j] = rule->mean[j];
    if (rule->standard.factor) weigh_entries(row, NULL, x->columns, rule->standard.factor);
    if (rule->normalise == PGCN_NORMALISE_STANDARDISE)
        standardise_row(row, x->columns, rule->standard);
    else if (rule->normalise == PGCN_NORMALISE_ROWS)
        normalise_row(row, x->columns);
}

pgcn_status pgcn_i_input_outside(const pgcn_i_features *features, pgcn_i_input **out) {
    pgcn_i_input *input = pgcn_i_alloc(1, sizeof *input);
    if (!input) return PGCN_ERR_MEMORY;
    input->n = features->n;
    input->filled.end = features->n;
    input->columns = features->columns;
    *out = input;
    return PGCN_OK;
}

static pgcn_status read_rows(const pgcn_i_row_rule *rule, pgcn_i_row_file *file, float *out) {
    enum { MOST = 4096 };
    int64_t n = rule->features->n, columns = rule->features->columns;
    for (int64_t first = 0; first < n; first += MOST) {
        int64_t count = n - first < MOST ? n - first : MOST;
        float *row = out + first * columns;
        PGCN_TRY(pgcn_i_stage("reading features", (double)first / (double)n));
        PGCN_TRY(pgcn_i_row_file_range(file, first, count, row));
        int64_t bad = pgcn_i_first_bad(row, count * columns);
        if (bad >= 0) return pgcn_i_fail_row(file, first + bad / columns, bad % columns, row[bad]);
        for (int64_t i = 0; i < count; i++)
            pgcn_i_row_as_read(rule, (pgcn_node)(first + i), row + i * columns);
        pgcn_i_row_file_note(
            file, (pgcn_i_row_counts){1, 0, count, count * pgcn_i_row_file_row_bytes(file)});
    }
    return pgcn_i_row_file_check(file);
}

pgcn_status pgcn_i_input_read(const pgcn_i_row_rule *rule, pgcn_i_row_file *file,
                              pgcn_i_input **out) {
    pgcn_i_input *input;
    PGCN_TRY(pgcn_i_input_outside(rule->features, &input));
    float *dense = PGCN_I_ARRAY(&input->arena, float, input->n * input->columns);
    pgcn_status status = dense ? read_rows(rule, file, dense) : PGCN_ERR_MEMORY;
    input->dense = dense;
    if (status == PGCN_OK)
        *out = input;
    else
        pgcn_i_input_free(input);
    return status;
}

pgcn_status pgcn_i_input_new(const pgcn_i_features *features, pgcn_normalise normalise,
                             pgcn_i_standard standard, bool with_columns, pgcn_i_input **out) {
    return pgcn_i_input_of_rows(features, normalise, standard, with_columns,
                                (pgcn_i_range){0, features->n}, out);
}

pgcn_status pgcn_i_input_of_rows(const pgcn_i_features *features, pgcn_normalise normalise,
                                 pgcn_i_standard standard, bool with_columns, pgcn_i_range rows,
                                 pgcn_i_input **out) {
    pgcn_i_input *input = pgcn_i_alloc(1, sizeof *input);
    if (!input) return PGCN_ERR_MEMORY;
    input->filled = rows;
    /* batches of nodes read the rows of theirs; of some rows huge pages would hold others, too */
    input->arena.read_at_random = rows.end - rows.begin == features->n;
    pgcn_status status = normalise == PGCN_NORMALISE_STANDARDISE
                             ? fill_standardised(input, features, standard)
                             : fill(input, features, normalise, standard.factor, with_columns);
    if (status != PGCN_OK) {
        pgcn_i_input_free(input);
        return status;
    }
    *out = input;
    return PGCN_OK;
}

double pgcn_i_input_largest(const pgcn_i_input *input, int64_t *column) {
    const pgcn_i_range rows = input->filled;
    int64_t begin = input->offset ? input->offset[rows.begin] : rows.begin * input->columns;
    int64_t end = input->offset ? input->offset[rows.end] : rows.end * input->columns;
    const float *value = input->offset ? input->value : input->dense;
    double largest = input->largest_elsewhere;
    *column = input->largest_column;
    if (!value) return 0; /* they are on disk */
    for (int64_t e = begin; e < end; e++) {
        double magnitude = isfinite(value[e]) ? fabs((double)value[e]) : (double)INFINITY;
        if (magnitude <= largest) continue;
        largest = magnitude;
        *column = input->offset ? input->column[e] : e % input->columns;
    }
    return largest;
}

void pgcn_i_input_free(pgcn_i_input *input) {
    if (!input) return;
    pgcn_i_arena_free(&input->arena);
    pgcn_i_free(input);
}
