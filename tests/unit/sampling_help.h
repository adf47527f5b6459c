/* What the tests of graph, paths and visits share: random graphs and the chi-square test. */
#ifndef PGCN_SAMPLING_HELP_H
#define PGCN_SAMPLING_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/rng.h"
#include "graph/graph.h"
#include "paths/paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The threads every result is compared for. */
static const int THREADS[] = {1, 2, 3, 7};
enum { THREAD_CASES = sizeof THREADS / sizeof THREADS[0] };

static inline void must(pgcn_status status) {
    if (status != PGCN_OK) fail_msg("%s: %s", pgcn_status_name(status), pgcn_last_error());
}

/* The call must fail with `code`, and its sentence must hold `part`. */
static inline void must_fail(pgcn_status status, pgcn_status code, const char *part) {
    if (status != code)
        fail_msg("status is '%s', expected '%s'", pgcn_status_name(status), pgcn_status_name(code));
    if (!strstr(pgcn_last_error(), part))
        fail_msg("the message '%s' does not hold '%s'", pgcn_last_error(), part);
}

static inline pgcn_i_stream test_stream(uint64_t seed) {
    return pgcn_i_stream_of(pgcn_i_rng_domain_of(seed, PGCN_I_RNG_TEST, 0, 0, 0), 0);
}

/* n nodes, m random edges; some nodes stay without edges when m is small. Weights in 0.1 .. 10. */
static inline pgcn_graph *random_graph(int64_t n, int64_t m, bool weighted, bool directed,
                                       bool keep_self_loops, uint64_t seed) {
    pgcn_i_stream stream = test_stream(seed);
    pgcn_node *source = calloc((size_t)m + 1, sizeof *source);
    pgcn_node *target = calloc((size_t)m + 1, sizeof *target);
    float *weight = calloc((size_t)m + 1, sizeof *weight);
    for (int64_t e = 0; e < m; e++) {
        source[e] = (pgcn_node)pgcn_i_bounded(&stream, (uint32_t)n);
        target[e] = (pgcn_node)pgcn_i_bounded(&stream, (uint32_t)n);
        weight[e] = 0.1f * powf(100, pgcn_i_unit_float(pgcn_i_next(&stream)));
    }
    pgcn_graph_opts opts = pgcn_graph_opts_default();
    opts.directed = directed;
    opts.keep_self_loops = keep_self_loops;
    pgcn_graph *graph = NULL;
    must(pgcn_graph_from_edges(n, m, source, target, weighted ? weight : NULL, &opts, &graph));
    free(source), free(target), free(weight);
    return graph;
}

/* P(X >= the chi-square of the counts) by Wilson and Hilferty. Cells with an expected count below
 * five go into one. Observed something impossible: 0. */
static inline double chi_square_p(const int64_t *observed, const double *probability, int cells,
                                  int64_t total) {
    double chi = 0, rest_expected = 0, rest_observed = 0;
    int used = 0;
    for (int i = 0; i < cells; i++) {
        double expected = probability[i] * (double)total;
        if (probability[i] <= 0 && observed[i] > 0) return 0;
        if (expected < 5) {
            rest_expected += expected, rest_observed += (double)observed[i];
            continue;
        }
        chi += ((double)observed[i] - expected) * ((double)observed[i] - expected) / expected;
        used++;
    }
    if (rest_expected >= 5) {
        chi += (rest_observed - rest_expected) * (rest_observed - rest_expected) / rest_expected;
        used++;
    }
    if (used < 2) return 1;
    double df = used - 1;
    double z = (cbrt(chi / df) - (1 - 2 / (9 * df))) / sqrt(2 / (9 * df));
    return 0.5 * erfc(z / sqrt(2));
}

/* A right sampler fails this once in ten thousand seeds, and the seeds are fixed. */
#define P_VALUE_LEAST 1e-4

#endif
