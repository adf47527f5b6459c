/* Rows of values and gradients as operations want them: floats, side by side.
 *
 * The tape may keep them otherwise. Rows that matter may be a list. A value may be in bf16 (`half`), which is half as
 * large and as much to gather; or it exists as a tile of the worker at hand (`tiled`). An operation that goes through
 * these functions alone need not know which, and its kind says so (`any_rows`). Called by operations and by tape.c. */
#include "nn/ops.h"

#include <string.h>

/* A matrix of floats, or of bf16 where there are no floats. */
typedef struct matrix {
    float *data;
    uint16_t *bf16;
    int64_t cols;
} matrix;

static matrix values_of(const pgcn_i_value *value) {
    return (matrix){value->data, value->half ? value->bf16 : NULL, value->cols};
}
static matrix gradients_of(const pgcn_i_value *value) {
    return (matrix){value->grad, value->half_grad ? value->bf16_grad : NULL, value->cols};
}

/* Calls of a row each, or one for all where they follow each other. */
static int64_t rows_together(pgcn_i_rows rows) {
    return rows.row ? 1 : rows.count;
}

static void copy_out(const pgcn_i_tape *tape, matrix from, pgcn_i_rows rows, float *to) {
    const int64_t cols = from.cols, together = rows_together(rows), count = together * cols;
    for (int64_t i = 0; i < rows.count; i += together) {
        const int64_t at = pgcn_i_row(rows, i) * cols;
        if (from.bf16)
            tape->kernels->from_bf16(to + i * cols, from.bf16 + at, count);
        else
            memcpy(to + i * cols, from.data + at, (size_t)count * sizeof *to);
    }
}

static void copy_in(const pgcn_i_tape *tape, matrix to, pgcn_i_rows rows, const float *from) {
    const int64_t cols = to.cols, together = rows_together(rows), count = together * cols;
    for (int64_t i = 0; i < rows.count; i += together) {
        const int64_t at = pgcn_i_row(rows, i) * cols;
        if (to.bf16)
            tape->kernels->to_bf16(to.bf16 + at, from + i * cols, 0, count);
        else
            memcpy(to.data + at, from + i * cols, (size_t)count * sizeof *from);
    }
}

static float *tile_of(const pgcn_i_tape *tape, const pgcn_i_value *value, int worker) {
    return pgcn_i_tile(tape, worker) + tape->tile_floats + PGCN_CHAIN_TILES * tape->chain_floats +
           value->tile_first;
}

bool pgcn_i_is_tile(const pgcn_i_tape *tape, const pgcn_i_value *value) {
    return value->tiled || (value->remade && tape->goes_back);
}

/* The same bits as if they had been kept. */
void pgcn_i_remake_rows(const pgcn_i_tape *tape, const pgcn_i_value *value, pgcn_i_rows rows,
                        int worker) {
    const pgcn_i_op *maker = &tape->op[value->maker];
    float *tile = tile_of(tape, value, worker);
    uint16_t *bf16 = (uint16_t *)(void *)pgcn_i_tile(tape, worker);
    maker->kind->remake_rows(tape, maker, rows, worker, tile);
    if (!value->half) return;
    tape->kernels->to_bf16(bf16, tile, 0, rows.count * value->cols);
    tape->kernels->from_bf16(tile, bf16, rows.count * value->cols);
}

const float *pgcn_i_read_rows(const pgcn_i_tape *tape, const pgcn_i_value *value, pgcn_i_rows rows,
                              int worker, float *tile) {
    if (pgcn_i_is_tile(tape, value)) return tile_of(tape, value, worker);
    if (!value->half && !rows.row) return value->data + rows.first * value->cols;
    copy_out(tape, values_of(value), rows, tile);
    return tile;
}

float *pgcn_i_place_rows(const pgcn_i_tape *tape, const pgcn_i_value *value, pgcn_i_rows rows,
                         int worker, float *tile) {
    if (value->tiled) return tile_of(tape, value, worker);
    return value->half || rows.row ? tile : value->data + rows.first * value->cols;
}

void pgcn_i_write_rows(const pgcn_i_tape *tape, const pgcn_i_value *value, pgcn_i_rows rows,
                       const float *from) {
    if (!value->tiled && (value->half || rows.row)) copy_in(tape, values_of(value), rows, from);
}

void pgcn_i_read_gradient(const pgcn_i_tape *tape, const pgcn_i_value *value, pgcn_i_rows rows,
                          float *to) {
    copy_out(tape, gradients_of(value), rows, to);
}

void pgcn_i_write_gradient(const pgcn_i_tape *tape, const pgcn_i_value *value, pgcn_i_rows rows,
                           const float *from) {
    copy_in(tape, gradients_of(value), rows, from);
}

void pgcn_i_clear_gradient(const pgcn_i_value *value, int64_t first, int64_t count) {
    const int64_t at = first * value->cols, numbers = count * value->cols;
    if (value->half_grad)
        memset(value->bf16_grad + at, 0, (size_t)numbers * sizeof *value->bf16_grad);
    else
        memset(value->grad + at, 0, (size_t)numbers * sizeof *value->grad);
}
