/* The opening layer on sparse features: out = relu(X W + b) and dW = X^T g, with dropout on X.
 *
 * Dropout is a byte per entry, so that the pattern of X is never rebuilt. Rows are short (Cora: 18
 * entries, 7 of them kept), and a branch on each value would be guessed wrong most of the time; so
 * the kept entries are first packed without a branch, and the sum then runs over these. No threads
 * here: callers (nn) give each task its own rows of out or of dW. */
#include "kernels/isa.h"

enum { CHUNK = 256 }; /* entries packed at once: two KiB of stack */

typedef struct packed_entries {
    int count;
    pgcn_node row[CHUNK]; /* of the dense matrix that is read */
    float value[CHUNK];
} packed_entries;

/* out_row = start + sum_e value_e x[row_e] over the packed entries; start NULL: 0. */
ALWAYS_INLINE void add_packed_block(int64_t ch, int vectors, int lanes, float *out_row,
                                    const float *start, const float *x,
                                    const packed_entries *packed, bool relu, int64_t c) {
    vec sum[VECTORS] = {{0}};
    if (start)
        for (int v = 0; v < vectors; v++) sum[v] = vec_load(start + ch + v * LANES, lanes);
    add_rows(sum, vectors, lanes, x + ch, packed->row, packed->value, packed->count, c);
    for (int v = 0; v < vectors; v++)
        vec_store(out_row + ch + v * LANES, relu ? vec_relu(sum[v]) : sum[v], lanes);
}

static void csr_linear(float *out, const int64_t *offset, const int32_t *column, const float *value,
                       const uint8_t *kept, float scale, const float *w, const float *bias,
                       bool relu, int64_t begin, int64_t end, int64_t c) {
    packed_entries packed;
    for (int64_t r = begin; r < end; r++) {
        const float *start = bias;
        int64_t e = offset[r], row_end = offset[r + 1];
        do { /* at least once: an empty row still gets its bias */
            int64_t chunk_end = row_end - e > CHUNK ? e + CHUNK : row_end;
            int count = 0;
            for (; e < chunk_end; e++) {
                packed.row[count] = column[e];
                packed.value[count] = scale * value[e];
                count += kept ? kept[e] : 1;
            }
            packed.count = count;
            EACH_CHANNEL_BLOCK(c, add_packed_block, out + r * c, start, w, &packed,
                               relu && e == row_end, c);
            start = out + r * c;
        } while (e < row_end);
    }
}

/* ---- the gradient ----------------------------------------------------------------------------- */

/* Packs entry e of a column, of all samples, behind the `count` entries that are packed already, and returns
 * how many there are then. Entries of a column lie apart in `kept`, but it is one byte each: most of
 * it stays near. */
ALWAYS_INLINE int pack_entry(packed_entries *packed, const pgcn_i_sparse_gradient *args, int64_t e,
                             int count) {
    const pgcn_i_columns *x = args->x;
    const float value = args->scale * x->value[e];
    for (int sample = 0; sample < args->samples; sample++) {
        packed->row[count] = (pgcn_node)(sample * args->n) + x->row[e];
        packed->value[count] = value;
        count += args->kept ? args->kept[sample * x->nonzeros + x->position[e]] : 1;
    }
    return count;
}

/* Where the kept entries of each group end among the packed ones of a column. */
typedef struct group_ends {
    int count;
    int end[CHUNK];
} group_ends;

/* A column that is packed at once. */
static void pack_column(packed_entries *packed, group_ends *ends,
                        const pgcn_i_sparse_gradient *args, int64_t e, int64_t column_end) {
    const int32_t *row = args->x->row;
    const int64_t group_rows = args->group_rows;
    int count = 0, groups = 0, begin = 0; /* begin: of the group */
    int64_t rows_end = 0;
    for (; e < column_end; e++) {
        if (row[e] >= rows_end) {
            do rows_end += group_rows;
            while (row[e] >= rows_end);
            ends->end[groups] = count; /* of the group before, if it has any */
            groups += count > begin;
            begin = count;
        }
        count = pack_entry(packed, args, e, count);
    }
    ends->end[groups] = count;
    ends->count = groups + (count > begin);
}

/* dw_row = the sum over the groups of their sums. */
ALWAYS_INLINE void column_block(int64_t ch, int vectors, int lanes, float *dw_row, const float *g,
                                const packed_entries *packed, const group_ends *ends, int64_t c) {
    vec total[VECTORS] = {{0}};
    for (int i = 0, begin = 0; i < ends->count; begin = ends->end[i++]) {
        vec sum[VECTORS] = {{0}};
        add_rows(sum, vectors, lanes, g + ch, packed->row + begin, packed->value + begin,
                 ends->end[i] - begin, c);
        for (int v = 0; v < vectors; v++) total[v] += sum[v];
    }
    for (int v = 0; v < vectors; v++) vec_store(dw_row + ch + v * LANES, total[v], lanes);
}

/* The same of a column with more entries than are packed at once. */
ALWAYS_INLINE void long_column_block(int64_t ch, int vectors, int lanes, float *dw_row,
                                     const pgcn_i_sparse_gradient *args, int64_t e,
                                     int64_t column_end) {
    const int32_t *row = args->x->row;
    vec total[VECTORS] = {{0}};
    packed_entries packed;
    for (int64_t rows_end = 0; e < column_end;) {
        vec sum[VECTORS] = {{0}};
        while (row[e] >= rows_end) rows_end += args->group_rows;
        while (e < column_end && row[e] < rows_end) {
            int count = 0;
            for (int64_t stop = e + CHUNK / args->samples;
                 e < stop && e < column_end && row[e] < rows_end; e++)
                count = pack_entry(&packed, args, e, count);
            add_rows(sum, vectors, lanes, args->g + ch, packed.row, packed.value, count, args->c);
        }
        for (int v = 0; v < vectors; v++) total[v] += sum[v];
    }
    for (int v = 0; v < vectors; v++) vec_store(dw_row + ch + v * LANES, total[v], lanes);
}

static void csr_linear_grad(float *dw, const pgcn_i_sparse_gradient *args, int64_t begin,
                            int64_t end) {
    packed_entries packed;
    group_ends ends;
    const int64_t c = args->c;
    for (int64_t f = begin; f < end; f++) {
        int64_t e = args->x->offset[f], column_end = args->x->offset[f + 1];
        if ((column_end - e) * args->samples <= CHUNK) {
            pack_column(&packed, &ends, args, e, column_end);
            EACH_CHANNEL_BLOCK(c, column_block, dw + f * c, args->g, &packed, &ends, c);
        } else {
            EACH_CHANNEL_BLOCK(c, long_column_block, dw + f * c, args, e, column_end);
        }
    }
}

void PGCN_I_ISA(pgcn_i_fill_spmm)(pgcn_i_kernels *table) {
    table->csr_linear = csr_linear;
    table->csr_linear_grad = csr_linear_grad;
}
