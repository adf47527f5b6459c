/* One step of a walk: uniform, weighted, and node2vec (Grover and Leskovec 2016).
 *
 * node2vec from `previous` over `at` to x, with the edge weight w(at, x):
 *     P(x) ~ w / p if x = previous;   w if previous -> x is an edge;   w / q otherwise.
 * Rejection sampling: a candidate drawn by w is accepted with the probability of its own class
 * only. (Code that falls through to the next class draws from another distribution; test_paths.c
 * shows it.) After a bounded number of rejections the row is scanned and drawn from exactly, so
 * extreme p and q cannot loop for long. That draw is independent of the rejections, so the
 * distribution stays exact.
 *
 * Called by sample.c from parallel tasks; reads the walker and the graph, writes nothing else. */
#include "paths/steps.h"

#include <math.h>

typedef struct row_view {
    int64_t begin;
    uint32_t degree;
} row_view;

static row_view row_of(const pgcn_graph *graph, pgcn_node node) {
    int64_t begin = graph->offset[node];
    return (row_view){begin, (uint32_t)(graph->offset[node + 1] - begin)};
}

void pgcn_i_steps_prepare(pgcn_i_walker *walker) {
    double bias[3] = {1.0 / (double)walker->return_p, 1.0, 1.0 / (double)walker->inout_q};
    double largest = fmax(fmax(bias[0], bias[1]), bias[2]);
    for (int class = 0; class < 3; class ++) {
        walker->bias[class] = bias[class];
        /* Rounded to 2^-32. Over all attempts of a step that changes a probability by less than
         * 2^-26, because what is not accepted goes to the exact scan. */
        walker->accept[class] = (uint64_t)(bias[class] / largest * 0x1p32 + 0.5);
    }
    /* With 64 attempts less than 2% of the steps need the scan at p, q within 1/4 .. 4. Long walks
     * get fewer attempts: an attempt takes at most three words, the scan two, and a walk has 2^18
     * words, an eighth of which is reserved for rejected bounded draws. */
    enum { MOST = 64, USABLE = PGCN_STREAM_WORDS / 8 * 7 };
    _Static_assert((USABLE / PGCN_MAX_PATH_LENGTH - 2) / 3 >= 16, "too few attempts per step");
    int share = (USABLE / walker->k - 2) / 3;
    walker->attempts = share < MOST ? share : MOST;
}

/* Draws an index 0 .. degree-1 with probabilities in proportion to the weights of the row, or
 * `degree` for staying, which has weight 1. Binary search: the first running sum above a uniform
 * number below the total. */
static uint32_t draw_weighted(const double *cumulative, row_view row, bool may_stay,
                              pgcn_i_stream *stream) {
    const double *sum = cumulative + row.begin;
    double row_total = row.degree ? sum[row.degree - 1] : 0;
    double u = pgcn_i_unit_double(stream) * (row_total + (may_stay ? 1 : 0));
    if (may_stay && u >= row_total) return row.degree;
    uint32_t low = 0, high = row.degree - 1; /* the answer is in low .. high */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sum[middle] > u) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static pgcn_node step_first_order(const pgcn_i_walker *walker, pgcn_node at,
                                  pgcn_i_stream *stream) {
    row_view row = row_of(walker->graph, at);
    uint32_t choices = row.degree + (walker->may_stay ? 1 : 0);
    if (choices == 0) return at;
    uint32_t index = walker->cumulative
                         ? draw_weighted(walker->cumulative, row, walker->may_stay, stream)
                         : pgcn_i_bounded(stream, choices);
    return index < row.degree ? walker->graph->neighbour[row.begin + index] : at;
}

static bool is_edge(const pgcn_graph *graph, pgcn_node from, pgcn_node to) {
    int64_t low = graph->offset[from], high = graph->offset[from + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (graph->neighbour[middle] < to) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < graph->offset[from + 1] && graph->neighbour[low] == to;
}

static int class_of(const pgcn_graph *graph, pgcn_node previous, pgcn_node candidate) {
    if (candidate == previous) return PGCN_CLASS_RETURN;
    return is_edge(graph, previous, candidate) ? PGCN_CLASS_NEAR : PGCN_CLASS_FAR;
}

/* The exact draw, from the second-order weights of all neighbours. O(degree log degree). */
static pgcn_node scan_row(const pgcn_i_walker *walker, pgcn_node previous, row_view row,
                          pgcn_i_stream *stream) {
    const pgcn_graph *graph = walker->graph;
    const pgcn_node *neighbour = graph->neighbour + row.begin;
    const float *weight = graph->weight ? graph->weight + row.begin : NULL;
    double total = 0, left = 0;
    /* The first round adds up the weights; the second one stops where their running sum exceeds the
     * uniform number. */
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < row.degree; i++) {
            double share = walker->bias[class_of(graph, previous, neighbour[i])] *
                           (weight ? (double)weight[i] : 1);
            if (round == 0) {
                total += share;
            } else if ((left -= share) < 0) {
                return neighbour[i];
            }
        }
        if (round == 0) left = pgcn_i_unit_double(stream) * total;
    }
    return neighbour[row.degree - 1]; /* reached by rounding errors only */
}

static pgcn_node step_node2vec(const pgcn_i_walker *walker, pgcn_node previous, pgcn_node at,
                               pgcn_i_stream *stream) {
    const pgcn_graph *graph = walker->graph;
    row_view row = row_of(graph, at);
    if (row.degree == 0) return at;
    for (int attempt = 0; attempt < walker->attempts; attempt++) {
        uint32_t index = walker->cumulative ? draw_weighted(walker->cumulative, row, false, stream)
                                            : pgcn_i_bounded(stream, row.degree);
        pgcn_node candidate = graph->neighbour[row.begin + index];
        if (pgcn_i_next(stream) < walker->accept[class_of(graph, previous, candidate)])
            return candidate;
    }
    return scan_row(walker, previous, row, stream);
}

void pgcn_i_walk_one(const pgcn_i_walker *walker, pgcn_i_rng_domain domain, uint64_t element,
                     pgcn_node start, pgcn_node *out, int64_t stride) {
    pgcn_i_stream stream = pgcn_i_stream_of(domain, element);
    pgcn_node previous = start, at = start;
    for (int hop = 1; hop < walker->k; hop++) {
        pgcn_node next = hop > 1 && walker->walk == PGCN_WALK_NODE2VEC
                             ? step_node2vec(walker, previous, at, &stream)
                             : step_first_order(walker, at, &stream);
        out[(hop - 1) * stride] = next;
        previous = at;
        at = next;
    }
}
