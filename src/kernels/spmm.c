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

/* Entries of a column lie apart in `kept`, but it is one byte each: most of it stays near. */
static void csr_linear_grad(float *dw, const pgcn_i_columns *x, const uint8_t *kept, float scale,
                            const float *g, int64_t n, int samples, int64_t begin, int64_t end,
                            int64_t c) {
    packed_entries packed;
    for (int64_t f = begin; f < end; f++) {
        const float *start = NULL;
        for (int sample = 0; sample < samples; sample++) {
            const uint8_t *sample_kept = kept ? kept + sample * x->nonzeros : NULL;
            int64_t e = x->offset[f], column_end = x->offset[f + 1];
            do {
                int64_t chunk_end = column_end - e > CHUNK ? e + CHUNK : column_end;
                int count = 0;
                for (; e < chunk_end; e++) {
                    packed.row[count] = x->row[e];
                    packed.value[count] = scale * x->value[e];
                    count += sample_kept ? sample_kept[x->position[e]] : 1;
                }
                packed.count = count;
                EACH_CHANNEL_BLOCK(c, add_packed_block, dw + f * c, start, g + sample * n * c,
                                   &packed, false, c);
                start = dw + f * c;
            } while (e < column_end);
        }
    }
}

void PGCN_I_ISA(pgcn_i_fill_spmm)(pgcn_i_kernels *table) {
    table->csr_linear = csr_linear;
    table->csr_linear_grad = csr_linear_grad;
}
