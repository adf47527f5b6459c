/* One step of a convolution with a fixed sparse matrix, what flows along its entries, and layer norm:
 *
 *     out[r] = self x[r] + neighbours sum_e value_e x[column_e] + share_0 plus_0[r] + share_1 plus_1[r]
 *
 * is what GCN, GCNII, APPNP, Chebyshev polynomials and means over neighbours have in common, and their
 * backward passes with the transposed matrix too. A gather of whole rows, with the accumulators of a block
 * of channels in registers. No threads here: callers (nn) give each task its own rows. */
#include "kernels/isa.h"

enum { CHUNK = 64, LINE_FLOATS = 16 };

/* The entries of a row whose column is live, packed without a branch. */
ALWAYS_INLINE sparse_entries live_entries(const pgcn_i_propagate *args, int64_t begin, int64_t end,
                                          pgcn_node *column, float *value) {
    const pgcn_i_csr *a = args->a;
    int64_t count = 0;
    for (int64_t e = begin; e < end; e++) {
        column[count] = a->column[e];
        value[count] = a->value[e];
        count += args->live[a->column[e]] != 0;
    }
    return (sparse_entries){column, value, count};
}

ALWAYS_INLINE void add_neighbours(vec *sum, channel_block block, const pgcn_i_propagate *args,
                                  int64_t row, bool live) {
    const pgcn_i_csr *a = args->a;
    int64_t begin = a->offset[row], end = a->offset[row + 1];
    if (!live) {
        add_rows(sum, block, args->x,
                 (sparse_entries){a->column + begin, a->value + begin, end - begin}, args->x_c);
        return;
    }
    pgcn_node column[CHUNK];
    float value[CHUNK];
    for (int64_t e = begin; e < end; e += CHUNK) {
        int64_t last = e + CHUNK < end ? e + CHUNK : end;
        add_rows(sum, block, args->x, live_entries(args, e, last, column, value), args->x_c);
    }
}

ALWAYS_INLINE void propagate_block(channel_block block, const pgcn_i_propagate *args,
                                   pgcn_i_rows rows, bool live) {
    const int vectors = block.vectors, lanes = block.lanes;
    const int64_t ch = block.ch;
    for (int64_t i = 0; i < rows.count; i++) {
        const int64_t r = pgcn_i_row(rows, i), row = r - args->first;
        vec sum[VECTORS] = {{0}};
        add_neighbours(sum, block, args, row, live);
        for (int v = 0; v < vectors; v++) sum[v] *= args->neighbours;
        if (args->self != 0.0f && !(live && !args->live[row]))
            for (int v = 0; v < vectors; v++)
                sum[v] += args->self * vec_load(args->x + row * args->x_c + ch + v * LANES, lanes);
        for (int p = 0; p < PGCN_PROPAGATE_PLUS && args->plus[p].x; p++)
            for (int v = 0; v < vectors; v++)
                sum[v] += args->plus[p].share *
                          vec_load(args->plus[p].x + r * args->plus[p].c + ch + v * LANES, lanes);
        float *out = args->out + (args->packed ? i : r) * args->out_c + ch;
        for (int v = 0; v < vectors; v++) vec_store(out + v * LANES, sum[v], lanes);
    }
}

/* Prefetches the rows that a row will gather, into L2: see prefetch_visits in pathconv.c. */
ALWAYS_INLINE void prefetch_neighbours(const pgcn_i_propagate *args, int64_t row) {
    for (int64_t e = args->a->offset[row]; e < args->a->offset[row + 1]; e++)
        for (int64_t ch = 0; ch < args->width; ch += LINE_FLOATS)
            __builtin_prefetch(args->x + args->a->column[e] * args->x_c + ch, 0, 2);
}

static void propagate(const pgcn_i_propagate *args, pgcn_i_rows rows) {
    pgcn_i_propagate a = *args; /* a local copy, which no store can change, stays in registers */
    int64_t step = a.prefetch ? 1 : rows.count;
    for (int64_t at = 0; at < rows.count; at += step) {
        pgcn_i_rows part = {rows.row ? rows.row + at : NULL, rows.first + at, step};
        if (a.prefetch && at + 1 < rows.count)
            prefetch_neighbours(&a, pgcn_i_row(rows, at + 1) - a.first);
        if (a.live)
            EACH_CHANNEL_BLOCK(a.width, propagate_block, &a, part, true);
        else
            EACH_CHANNEL_BLOCK(a.width, propagate_block, &a, part, false);
        if (a.packed) a.out += step * a.out_c;
    }
}

/* ---- flux: what flows along the entries of a row -------------------------------------------------- */

/* tanh(x) = x / (1 + x^2 / (3 + x^2 / (5 + ..))) of a quarter of x, doubled twice by tanh(2 t) = 2 t / (1 + t^2):
 * within 4e-7 of the value. Beyond 9.1 it is 1 to the last bit; NaN stays NaN. */
ALWAYS_INLINE vec vec_tanh(vec x) {
    const float most = 9.1f;
    vec limit = (vec){0} + most;
    x = vec_select(x > limit, limit, vec_select(x < -limit, -limit, x));
    vec y = 0.25f * x, z = y * y;
    vec t = y * (135135.0f + z * (17325.0f + z * (378.0f + z))) /
            (135135.0f + z * (62370.0f + z * (3150.0f + z * 28.0f)));
    t = (t + t) / (1.0f + t * t);
    return (t + t) / (1.0f + t * t);
}

ALWAYS_INLINE vec flow_of(vec d, pgcn_i_flow flow) {
    if (flow == PGCN_I_FLOW_TANH) return vec_tanh(d);
    if (flow == PGCN_I_FLOW_POSITIVE) return vec_relu(d);
    return flow == PGCN_I_FLOW_NEGATIVE ? -vec_relu(-d) : d;
}

/* change times the slope of the flow at d. */
ALWAYS_INLINE vec flow_slope(vec d, vec change, pgcn_i_flow flow) {
    if (flow == PGCN_I_FLOW_POSITIVE) return vec_select(d > 0.0f, change, (vec){0});
    if (flow == PGCN_I_FLOW_NEGATIVE) return vec_select(d < 0.0f, change, (vec){0});
    if (flow == PGCN_I_FLOW_LINEAR) return change;
    vec t = vec_tanh(d);
    return change * (1.0f - t * t);
}

ALWAYS_INLINE bool is_live(const pgcn_i_flux *args, int64_t row) {
    return !args->live || args->live[row];
}

/* Where neither the row nor the column is live nothing changes, and p may not have been computed. */
ALWAYS_INLINE void add_flow(vec *sum, channel_block block, const pgcn_i_flux *args, int matrix,
                            int64_t row, pgcn_i_flow flow, bool backward) {
    const pgcn_i_csr *a = args->a[matrix];
    const int lanes = block.lanes;
    const float *p = args->p + block.ch, *g = args->g + block.ch;
    const bool row_live = !backward || is_live(args, row);
    const int64_t c = args->c, own = row * c;
    for (int64_t e = a->offset[row]; e < a->offset[row + 1]; e++) {
        const float w = a->value[e];
        const int64_t other = a->column[e] * c;
        const bool live = !backward || is_live(args, a->column[e]);
        if (backward && !row_live && !live) continue;
        for (int v = 0; v < block.vectors; v++) {
            const int64_t at = v * LANES;
            vec d = w * (vec_load(p + own + at, lanes) - vec_load(p + other + at, lanes));
            if (!backward) {
                sum[v] += w * flow_of(d, flow);
                continue;
            }
            vec change = row_live ? vec_load(g + own + at, lanes) : (vec){0};
            if (live) change -= vec_load(g + other + at, lanes);
            sum[v] += w * w * flow_slope(d, change, flow);
        }
    }
}

ALWAYS_INLINE void add_flow_of(vec *sum, channel_block block, const pgcn_i_flux *args, int matrix,
                               int64_t row, bool backward) {
    switch (args->flow[matrix]) {
    case PGCN_I_FLOW_LINEAR:
        add_flow(sum, block, args, matrix, row, PGCN_I_FLOW_LINEAR, backward);
        break;
    case PGCN_I_FLOW_TANH:
        add_flow(sum, block, args, matrix, row, PGCN_I_FLOW_TANH, backward);
        break;
    case PGCN_I_FLOW_POSITIVE:
        add_flow(sum, block, args, matrix, row, PGCN_I_FLOW_POSITIVE, backward);
        break;
    case PGCN_I_FLOW_NEGATIVE:
        add_flow(sum, block, args, matrix, row, PGCN_I_FLOW_NEGATIVE, backward);
        break;
    }
}

ALWAYS_INLINE void flux_block(channel_block block, const pgcn_i_flux *args, pgcn_i_rows rows,
                              bool backward) {
    for (int64_t i = 0; i < rows.count; i++) {
        const int64_t r = pgcn_i_row(rows, i);
        vec sum[VECTORS] = {{0}};
        for (int matrix = 0; matrix < 2 && args->a[matrix]; matrix++)
            add_flow_of(sum, block, args, matrix, r - args->first, backward);
        float *out = args->out + (backward ? i : r) * args->c + block.ch;
        for (int v = 0; v < block.vectors; v++)
            vec_store(out + v * LANES, args->factor * sum[v], block.lanes);
    }
}

static void flux(const pgcn_i_flux *args, pgcn_i_rows rows) {
    const pgcn_i_flux a = *args;
    if (a.g)
        EACH_CHANNEL_BLOCK(a.c, flux_block, &a, rows, true);
    else
        EACH_CHANNEL_BLOCK(a.c, flux_block, &a, rows, false);
}

/* ---- layer norm: every row by its own mean and deviation --------------------------------------- */

/* In double and in the order of the channels: a row has the same bits with every instruction set's width. */
static void row_moments(const float *row, int64_t c, float *mean, float *inv_std) {
    double sum = 0, square = 0;
    for (int64_t ch = 0; ch < c; ch++) sum += (double)row[ch];
    double middle = sum / (double)c;
    for (int64_t ch = 0; ch < c; ch++) {
        double deviation = (double)row[ch] - middle;
        square += deviation * deviation;
    }
    *mean = (float)middle;
    *inv_std = (float)(1.0 / __builtin_sqrt(square / (double)c + 1e-5));
}

static void layer_norm_forward(float *y, const float *x, const float *gain, const float *shift,
                               int64_t rows, int64_t c) {
    for (int64_t r = 0; r < rows; r++, x += c, y += c) {
        float mean, inv_std;
        row_moments(x, c, &mean, &inv_std);
        INDEPENDENT_ITERATIONS
        for (int64_t ch = 0; ch < c; ch++) y[ch] = gain[ch] * (x[ch] - mean) * inv_std + shift[ch];
    }
}

static void layer_norm_backward(float *dx, float *sums, const float *g, const float *x,
                                const float *gain, int64_t c) {
    float mean, inv_std, *sum_gx = sums, *sum_g = sums + c;
    double of_g = 0, of_gx = 0;
    row_moments(x, c, &mean, &inv_std);
    for (int64_t ch = 0; ch < c; ch++) {
        float xhat = (x[ch] - mean) * inv_std;
        sum_gx[ch] += g[ch] * xhat;
        sum_g[ch] += g[ch];
        of_g += (double)(gain[ch] * g[ch]);
        of_gx += (double)(gain[ch] * g[ch] * xhat);
    }
    float mean_g = (float)(of_g / (double)c), mean_gx = (float)(of_gx / (double)c);
    INDEPENDENT_ITERATIONS
    for (int64_t ch = 0; ch < c; ch++) {
        float xhat = (x[ch] - mean) * inv_std;
        dx[ch] = (gain[ch] * g[ch] - mean_g - xhat * mean_gx) * inv_std;
    }
}

void PGCN_I_ISA(pgcn_i_fill_propagate)(pgcn_i_kernels *table) {
    table->propagate = propagate;
    table->flux = flux;
    table->layer_norm_forward = layer_norm_forward;
    table->layer_norm_backward = layer_norm_backward;
}
