/* Softmax and the losses on logits, with their gradients: cross entropy, binary cross entropy of
 * multi-label sets, and the consistency between samples of one node.
 *
 * Rows are short (2 to 121 classes), so exponentials run over many rows at once where they can.
 * Losses are summed in double. NaN in the logits gives a loss of NaN, which the trainer checks for.
 * No threads here: callers (nn, train) give each task its own rows. */
#include "kernels/exponential.h"

#include <math.h>

ALWAYS_INLINE void subtract_block(channel_block block, float *out, const float *x, float a) {
    int64_t ch = block.ch;
    for (int v = 0; v < block.vectors; v++, ch += LANES)
        vec_store(out + ch, vec_load(x + ch, block.lanes) - a, block.lanes);
}

ALWAYS_INLINE void scale_block(channel_block block, float *out, const float *x, float a) {
    int64_t ch = block.ch;
    for (int v = 0; v < block.vectors; v++, ch += LANES)
        vec_store(out + ch, a * vec_load(x + ch, block.lanes), block.lanes);
}

static void softmax(float *probability, const float *logits, int64_t begin, int64_t end,
                    int64_t c) {
    /* Pass by pass over a tile: exponentials fill whole vectors however short the rows are, and a
     * sum right after the masked stores of its row would wait for them to reach the cache. */
    enum { TILE_ROWS = 32 };
    for (int64_t tile = begin; tile < end; tile += TILE_ROWS) {
        int64_t tile_end = end - tile < TILE_ROWS ? end : tile + TILE_ROWS;
        for (int64_t r = tile; r < tile_end; r++) {
            const float *row = logits + r * c;
            float max = row[0];
            for (int64_t ch = 1; ch < c; ch++) max = row[ch] > max ? row[ch] : max;
            EACH_CHANNEL_BLOCK(c, subtract_block, probability + r * c, row, max);
        }
        EACH_CHANNEL_BLOCK((tile_end - tile) * c, exp_block, probability + tile * c);
        for (int64_t r = tile; r < tile_end; r++) {
            float *row = probability + r * c, sum = 0.0f;
            for (int64_t ch = 0; ch < c; ch++) sum += row[ch];
            EACH_CHANNEL_BLOCK(c, scale_block, row, row, 1.0f / sum);
        }
    }
}

static void cross_entropy(double *loss, int64_t *hits, const pgcn_i_loss_args *args, int64_t begin,
                          int64_t end) {
    const int32_t *label = args->label;
    const float *weight = args->weight;
    const int64_t n = args->n, c = args->c;
    for (int64_t r = begin; r < end; r++) {
        int64_t node = r % n;
        float *d_row = args->dlogits ? args->dlogits + r * c : NULL;
        if ((args->mask && !args->mask[node]) || label[node] < 0) {
            if (d_row) memset(d_row, 0, (size_t)c * sizeof *d_row);
            continue;
        }
        const float *row = args->logits + r * c, *p_row = args->probability + r * c;
        int64_t best = 0;
        for (int64_t ch = 1; ch < c; ch++) best = row[ch] > row[best] ? ch : best;
        /* log sum exp(logits) = max - log p[argmax], and that p is at least 1 / c: no second
         * exponential, and no logarithm of a tiny p[label]. */
        float w = weight ? weight[label[node]] : 1.0f; /* times 1 changes no bit */
        *loss += (double)w * ((double)(row[best] - row[label[node]]) - (double)logf(p_row[best]));
        *hits += best == label[node];
        if (!d_row) continue;
        float factor = args->scale * w, p_label = p_row[label[node]]; /* p_row may be d_row */
        EACH_CHANNEL_BLOCK(c, scale_block, d_row, p_row, factor);
        d_row[label[node]] = factor * (p_label - 1.0f);
    }
}

/* -log of the likelihood of 0/1 targets t: sum_ch max(x, 0) - t x + log(1 + exp(-|x|)).
 * The logarithms of a chunk become one logarithm of a product, at most 2^LOGITS in double. */
enum { LOGITS = 128 };
typedef struct logit_chunk {
    float target[LOGITS], linear[LOGITS], exponential[LOGITS];
} logit_chunk;

ALWAYS_INLINE void binary_block(channel_block block, logit_chunk *chunk, float *d_row,
                                const float *row, float scale) {
    int64_t ch = block.ch;
    for (int v = 0; v < block.vectors; v++, ch += LANES) {
        vec x = vec_load(row + ch, block.lanes), t = vec_load(chunk->target + ch, LANES);
        vec_int negative = x < 0.0f;
        vec e = exp_of_negative(vec_select(negative, x, -x));
        vec_store(chunk->linear + ch, vec_relu(x) - t * x, LANES);
        vec_store(chunk->exponential + ch, e, LANES);
        if (!d_row) continue;
        vec sigmoid = vec_select(negative, e, 1.0f + (vec){0}) / (1.0f + e);
        vec_store(d_row + ch, scale * (sigmoid - t), block.lanes);
    }
}

static double binary_cross_entropy_row(float *d_row, const float *row, const uint8_t *target,
                                       float scale, int64_t c) {
    logit_chunk chunk = {.target = {0}};
    double loss = 0.0;
    for (int64_t first = 0; first < c; first += LOGITS) {
        int64_t count = c - first < LOGITS ? c - first : LOGITS;
        for (int64_t i = 0; i < count; i++) chunk.target[i] = (float)target[first + i];
        EACH_CHANNEL_BLOCK(count, binary_block, &chunk, d_row ? d_row + first : NULL, row + first,
                           scale);
        double product = 1.0;
        for (int64_t i = 0; i < count; i++) {
            loss += (double)chunk.linear[i];
            product *= 1.0 + (double)chunk.exponential[i];
        }
        loss += log(product);
    }
    return loss;
}

static void binary_cross_entropy(double *loss, const pgcn_i_loss_args *args, int64_t begin,
                                 int64_t end) {
    const int64_t c = args->c;
    for (int64_t r = begin; r < end; r++) {
        int64_t node = r % args->n;
        float *d_row = args->dlogits ? args->dlogits + r * c : NULL;
        if (args->mask && !args->mask[node]) {
            if (d_row) memset(d_row, 0, (size_t)c * sizeof *d_row);
            continue;
        }
        *loss += binary_cross_entropy_row(d_row, args->logits + r * c, args->target + node * c,
                                          args->scale, c);
    }
}

/* ---- consistency ------------------------------------------------------------------------- */

/* The samples of one node, and its sharpened mean: all of it up to CLASSES classes. Beyond that
 * only one part is held, and parts are recomputed when they are needed, because kernels have no
 * heap. */
enum { CLASSES = 256 };
typedef struct node_samples {
    const float *probability; /* of sample 0 */
    int64_t stride;           /* from a sample to the next: n c */
    int samples;
    float power;              /* 1 / T */
    float factor;             /* of the sum of the samples, before it is raised to `power` */
    int64_t held;             /* first class of `sharpened`, or -1 */
    float inverse;            /* 1 / the sum of `sharpened` over all classes */
    float sharpened[CLASSES]; /* (factor * sum)^power */
} node_samples;

/* sum[i] = factor * sum_s p_s[first + i]. Stores whole vectors: `sum` has room for them. */
ALWAYS_INLINE void mean_block(channel_block block, float *sum, const node_samples *node,
                              int64_t first, float factor) {
    int64_t i = block.ch;
    for (int v = 0; v < block.vectors; v++, i += LANES) {
        vec total = {0};
        for (int s = 0; s < node->samples; s++)
            total += vec_load(node->probability + s * node->stride + first + i, block.lanes);
        vec_store(sum + i, factor * total, LANES);
    }
}

static const float *sharpened_part(node_samples *node, int64_t first, int64_t count) {
    float *part = node->sharpened;
    if (node->held == first) return part;
    EACH_CHANNEL_BLOCK(count, mean_block, part, node, first, node->factor);
    if (node->power == 2.0f) { /* T = 1/2, the usual choice: powf would be most of the time */
        for (int64_t i = 0; i < count; i++) part[i] *= part[i];
    } else {
        for (int64_t i = 0; i < count; i++) part[i] = powf(part[i], node->power);
    }
    node->held = first;
    return part;
}

static int64_t part_size(int64_t first, int64_t c) {
    return c - first < CLASSES ? c - first : CLASSES;
}

/* Scales the means by the largest of them, so that high powers cannot all underflow; the result
 * is normalised anyway. Squares need no such care: the largest mean is at least 1 / c. */
static float mean_factor(node_samples *node, int64_t c) {
    if (node->power == 2.0f) return 1.0f / (float)node->samples;
    float largest = 0.0f;
    for (int64_t first = 0; first < c; first += CLASSES) {
        int64_t count = part_size(first, c);
        EACH_CHANNEL_BLOCK(count, mean_block, node->sharpened, node, first, 1.0f);
        for (int64_t i = 0; i < count; i++)
            largest = node->sharpened[i] > largest ? node->sharpened[i] : largest;
    }
    return 1.0f / largest;
}

/* d += factor p (.) (p - target - dot), target = inverse * sharpened. */
ALWAYS_INLINE void consistency_block(channel_block block, float *d, const float *p,
                                     const node_samples *node, float dot, float factor) {
    const float inverse = node->inverse;
    int64_t i = block.ch;
    for (int v = 0; v < block.vectors; v++, i += LANES) {
        vec p_i = vec_load(p + i, block.lanes);
        vec difference = p_i - inverse * vec_load(node->sharpened + i, block.lanes);
        vec sum = vec_load(d + i, block.lanes) + factor * p_i * (difference - dot);
        vec_store(d + i, sum, block.lanes);
    }
}

/* With d = 2 scale (p_s - target), the gradient through the softmax is p_s (.) (d - <d, p_s>). */
static double consistency_node(float *dlogits, node_samples *node, float scale, int64_t c) {
    node->factor = mean_factor(node, c);
    node->held = -1;
    float norm = 0.0f;
    for (int64_t first = 0; first < c; first += CLASSES) {
        int64_t count = part_size(first, c);
        const float *part = sharpened_part(node, first, count);
        for (int64_t i = 0; i < count; i++) norm += part[i];
    }
    const float inverse = node->inverse = 1.0f / norm;
    double loss = 0.0;
    for (int s = 0; s < node->samples; s++) {
        const float *p = node->probability + s * node->stride;
        float squares = 0.0f, dot = 0.0f;
        for (int64_t first = 0; first < c; first += CLASSES) {
            int64_t count = part_size(first, c);
            const float *part = sharpened_part(node, first, count);
            for (int64_t i = 0; i < count; i++) {
                float difference = p[first + i] - inverse * part[i];
                squares += difference * difference;
                dot += difference * p[first + i];
            }
        }
        loss += (double)squares;
        if (!dlogits) continue;
        for (int64_t first = 0; first < c; first += CLASSES) {
            int64_t count = part_size(first, c);
            sharpened_part(node, first, count);
            EACH_CHANNEL_BLOCK(count, consistency_block, dlogits + s * node->stride + first,
                               p + first, node, dot, 2.0f * scale);
        }
    }
    return loss;
}

static void consistency(double *loss, const pgcn_i_loss_args *args, int64_t begin, int64_t end) {
    const int64_t c = args->c;
    node_samples node = {
        .stride = args->n * c, .samples = args->samples, .power = 1.0f / args->temperature};
    for (int64_t j = begin; j < end; j++) {
        node.probability = args->probability + j * c;
        *loss +=
            consistency_node(args->dlogits ? args->dlogits + j * c : NULL, &node, args->scale, c);
    }
}

void PGCN_I_ISA(pgcn_i_fill_loss)(pgcn_i_kernels *table) {
    table->softmax = softmax;
    table->cross_entropy = cross_entropy;
    table->binary_cross_entropy = binary_cross_entropy;
    table->consistency = consistency;
}
