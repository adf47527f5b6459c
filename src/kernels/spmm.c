/* The input layer on sparse features: out = relu(X W + b) and dW = X^T g, with dropout on X.
 *
 * The dropout mask is a byte per entry, so that the pattern of X is never rebuilt. Rows are short
 * (Cora: 18 entries, 7 of them kept), and a branch on each entry would often be mispredicted. The
 * kept entries are therefore packed first, without a branch, and the sum runs over the packed ones.
 * No threads here: callers (nn) give each task its own rows of out or of dW. */
#include "kernels/isa.h"

enum { CHUNK = 256 }; /* entries packed at once: two KiB of stack */

typedef struct packed_entries {
    int count;
    pgcn_node row[CHUNK]; /* of the dense matrix that is read */
    float value[CHUNK];
} packed_entries;

ALWAYS_INLINE sparse_entries part_of_packed(const packed_entries *packed, int begin, int end) {
    return (sparse_entries){packed->row + begin, packed->value + begin, end - begin};
}

/* out_row = start + sum_e value_e w[row_e] over the packed entries; start NULL: 0. */
ALWAYS_INLINE void add_packed_block(channel_block block, float *out_row, const float *start,
                                    const packed_entries *packed, const pgcn_i_sparse_linear *args,
                                    bool relu) {
    vec sum[VECTORS] = {{0}};
    if (start)
        for (int v = 0; v < block.vectors; v++)
            sum[v] = vec_load(start + block.ch + v * LANES, block.lanes);
    add_rows(sum, block, args->w, part_of_packed(packed, 0, packed->count), args->c);
    for (int v = 0; v < block.vectors; v++)
        vec_store(out_row + block.ch + v * LANES, relu ? vec_relu(sum[v]) : sum[v], block.lanes);
}

static void csr_linear(float *out, const pgcn_i_sparse_linear *args, int64_t begin, int64_t end) {
    const pgcn_i_sparse_linear a = *args; /* a local copy, which no store can change */
    packed_entries packed;
    for (int64_t r = begin; r < end; r++) {
        const float *start = a.bias;
        int64_t e = a.offset[r], row_end = a.offset[r + 1];
        do { /* at least once: an empty row still gets its bias */
            int64_t chunk_end = row_end - e > CHUNK ? e + CHUNK : row_end;
            int count = 0;
            for (; e < chunk_end; e++) {
                packed.row[count] = a.column[e];
                packed.value[count] = a.scale * a.value[e];
                count += a.kept ? a.kept[e] : 1;
            }
            packed.count = count;
            EACH_CHANNEL_BLOCK(a.c, add_packed_block, out + r * a.c, start, &packed, &a,
                               a.relu && e == row_end);
            start = out + r * a.c;
        } while (e < row_end);
    }
}

/* ---- the gradient -------------------------------------------------------------------------- */

/* Packs entry e of a column, for all samples, after the `count` entries that are packed already.
 * Returns the new count. The entries of a column are far apart in `kept`, but that is one byte per
 * entry, and most of it stays cached. */
ALWAYS_INLINE int pack_entry(packed_entries *packed, const pgcn_i_sparse_gradient *args, int64_t e,
                             int count) {
    const pgcn_i_columns *x = args->x;
    const float value = args->scale * x->value[e];
    for (int sample = 0; sample < args->samples; sample++) {
        const pgcn_node row = (pgcn_node)(sample * args->n) + x->row[e];
        packed->row[count] = row;
        packed->value[count] = value;
        int kept = args->kept ? args->kept[sample * x->nonzeros + x->position[e]] : 1;
        count += args->live ? kept & args->live[row] : kept;
    }
    return count;
}

/* Whether a packed entry is of the same group as the one before it: all bits or none. */
typedef struct group_masks {
    int32_t same[CHUNK];
} group_masks;

/* row / group_rows by a product: exact for 31 bits, because the inverse is off by less than 2^-63. */
__extension__ typedef unsigned __int128 wide;
ALWAYS_INLINE uint32_t group_of(pgcn_node row, uint64_t inverse) {
    return (uint32_t)((wide)inverse * (uint32_t)row >> 63);
}

/* Packs all of a column, which fits into `packed`. Most groups have an entry or two of a column, so that a
 * branch on where they end would often be mispredicted: there is none. What is constant here is inlined. */
ALWAYS_INLINE int pack_rows(packed_entries *packed, group_masks *masks,
                            const pgcn_i_sparse_gradient *args, uint64_t inverse, int64_t e,
                            int64_t column_end, int samples, bool has_kept, bool has_live) {
    const int32_t *row = args->x->row;
    const uint32_t *position = args->x->position;
    const float *value = args->x->value, scale = args->scale;
    const uint8_t *kept = args->kept, *live = args->live;
    const int64_t n = args->n, nonzeros = args->x->nonzeros;
    int count = 0;
    uint32_t last = UINT32_MAX; /* group of the last entry that is kept */
    for (; e < column_end; e++)
        for (int sample = 0; sample < samples; sample++) {
            const pgcn_node at = (pgcn_node)(sample * n) + row[e];
            const uint32_t group = group_of(row[e], inverse);
            packed->row[count] = at;
            packed->value[count] = scale * value[e];
            masks->same[count] = -(group == last);
            int keep = 1;
            if (has_kept) keep &= kept[sample * nonzeros + position[e]];
            if (has_live) keep &= live[at];
            last = keep ? group : last;
            count += keep;
        }
    return count;
}

static void pack_column(packed_entries *packed, group_masks *masks,
                        const pgcn_i_sparse_gradient *args, uint64_t inverse, int64_t e,
                        int64_t column_end) {
    const int samples = args->samples;
    if (samples > 1)
        packed->count = pack_rows(packed, masks, args, inverse, e, column_end, samples,
                                  args->kept != NULL, args->live != NULL);
    else if (args->kept && args->live)
        packed->count = pack_rows(packed, masks, args, inverse, e, column_end, 1, true, true);
    else if (args->kept)
        packed->count = pack_rows(packed, masks, args, inverse, e, column_end, 1, true, false);
    else
        packed->count =
            pack_rows(packed, masks, args, inverse, e, column_end, 1, false, args->live != NULL);
}

/* The sum so far. */
ALWAYS_INLINE void load_total(vec total[VECTORS], channel_block block, const float *dw_row) {
    for (int v = 0; v < block.vectors; v++)
        total[v] = vec_load(dw_row + block.ch + v * LANES, block.lanes);
}

/* dw_row (= or +=) the sum over the groups of their sums. */
ALWAYS_INLINE void column_block(channel_block block, float *dw_row, const float *g,
                                const packed_entries *packed, const group_masks *masks, int64_t c,
                                bool add) {
    vec total[VECTORS] = {{0}}, sum[VECTORS] = {{0}};
    if (add) load_total(total, block, dw_row);
    for (int i = 0; i < packed->count; i++) {
        const float *row = g + packed->row[i] * c + block.ch;
        const vec_int same = (vec_int){0} + masks->same[i];
        KEEP_POINTER(row);
        for (int v = 0; v < block.vectors; v++) {
            total[v] += (vec)((vec_int)sum[v] & ~same);
            sum[v] = (vec)((vec_int)sum[v] & same);
            sum[v] += packed->value[i] * vec_load(row + v * LANES, block.lanes);
        }
    }
    for (int v = 0; v < block.vectors; v++)
        vec_store(dw_row + block.ch + v * LANES, total[v] + sum[v], block.lanes);
}

/* The same for a column with more entries than are packed at once. */
ALWAYS_INLINE void long_column_block(channel_block block, float *dw_row,
                                     const pgcn_i_sparse_gradient *args, int64_t e,
                                     int64_t column_end) {
    const int32_t *row = args->x->row;
    vec total[VECTORS] = {{0}};
    packed_entries packed;
    if (args->add) load_total(total, block, dw_row);
    for (int64_t rows_end = 0; e < column_end;) {
        vec sum[VECTORS] = {{0}};
        while (row[e] >= rows_end) rows_end += args->group_rows;
        while (e < column_end && row[e] < rows_end) {
            int count = 0;
            for (int64_t stop = e + CHUNK / args->samples;
                 e < stop && e < column_end && row[e] < rows_end; e++)
                count = pack_entry(&packed, args, e, count);
            add_rows(sum, block, args->g, part_of_packed(&packed, 0, count), args->c);
        }
        for (int v = 0; v < block.vectors; v++) total[v] += sum[v];
    }
    for (int v = 0; v < block.vectors; v++)
        vec_store(dw_row + block.ch + v * LANES, total[v], block.lanes);
}

/* The first entry of begin .. end-1 whose row is at least `least`; end: there is none. */
static int64_t first_from(const int32_t *row, int64_t begin, int64_t end, int64_t least) {
    while (begin < end) {
        int64_t middle = begin + (end - begin) / 2;
        if (row[middle] < least)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

static void csr_linear_grad(float *dw, const pgcn_i_sparse_gradient *args, int64_t begin,
                            int64_t end) {
    packed_entries packed;
    group_masks masks;
    const int64_t c = args->c;
    const uint64_t inverse = (UINT64_C(1) << 63) / (uint64_t)args->group_rows + 1;
    for (int64_t f = begin; f < end; f++) {
        int64_t e = args->x->offset[f], column_end = args->x->offset[f + 1];
        if (args->first_row > 0) e = first_from(args->x->row, e, column_end, args->first_row);
        if (args->end_row > 0 && args->end_row < args->n)
            column_end = first_from(args->x->row, e, column_end, args->end_row);
        if ((column_end - e) * args->samples <= CHUNK) {
            pack_column(&packed, &masks, args, inverse, e, column_end);
            EACH_CHANNEL_BLOCK(c, column_block, dw + f * c, args->g, &packed, &masks, c, args->add);
        } else {
            EACH_CHANNEL_BLOCK(c, long_column_block, dw + f * c, args, e, column_end);
        }
    }
}

void PGCN_I_ISA(pgcn_i_fill_spmm)(pgcn_i_kernels *table) {
    table->csr_linear = csr_linear;
    table->csr_linear_grad = csr_linear_grad;
}
