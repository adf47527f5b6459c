/* Walks: the fast path against a plain reference bit for bit, every rule against its exact
 * probabilities by a chi-square, and what happens at the edges of the contract. */
#include "sampling_help.h"

#include "paths/steps.h"

static pgcn_paths_opts opts_of(pgcn_walk walk, int paths, int length, bool may_stay) {
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    opts.walk = walk;
    opts.paths = paths;
    opts.length = length;
    opts.may_stay = may_stay;
    opts.seed = 12345;
    opts.threads = 2;
    return opts;
}

/* All walks of all nodes, or of `starts`. */
static pgcn_node *sample(const pgcn_graph *graph, const pgcn_paths_opts *opts,
                         const pgcn_node *starts, int64_t n_starts) {
    int64_t count = (starts ? n_starts : graph->n) * opts->paths * opts->length;
    pgcn_node *out = malloc((size_t)count * sizeof *out);
    memset(out, 0xff, (size_t)count * sizeof *out);
    must(pgcn_paths_sample(graph, opts, starts, n_starts, out));
    return out;
}

/* Node 0 with that many leaves; every edge of weight 3, or without weights. */
static pgcn_graph *star(pgcn_node leaves, bool weighted) {
    pgcn_node *hub = calloc((size_t)leaves, sizeof *hub);
    pgcn_node *leaf = malloc((size_t)leaves * sizeof *leaf);
    float *weight = malloc((size_t)leaves * sizeof *weight);
    for (pgcn_node i = 0; i < leaves; i++) leaf[i] = i + 1, weight[i] = 3;
    pgcn_graph *graph = NULL;
    must(pgcn_graph_from_edges((int64_t)leaves + 1, leaves, hub, leaf, weighted ? weight : NULL,
                               NULL, &graph));
    free(hub), free(leaf), free(weight);
    return graph;
}

/* ---- the fast path ----------------------------------------------------------------------- */

/* Plain uniform walk: one stream, one bounded draw per step. Counts refused draws. */
static void reference_walk(const pgcn_graph *graph, const pgcn_paths_opts *opts, pgcn_node start,
                           int path, pgcn_node *out, int64_t *refused) {
    pgcn_i_rng_domain domain =
        pgcn_i_rng_domain_of(opts->seed, PGCN_I_RNG_WALK, (int64_t)opts->draw, 0, 0);
    pgcn_i_stream stream =
        pgcn_i_stream_of(domain, (uint64_t)start * (uint64_t)opts->paths + (uint64_t)path);
    out[0] = start;
    for (int hop = 1; hop < opts->length; hop++) {
        pgcn_node at = out[hop - 1];
        uint32_t degree = (uint32_t)(graph->offset[at + 1] - graph->offset[at]);
        uint32_t choices = degree + (opts->may_stay ? 1 : 0);
        out[hop] = at;
        if (choices == 0) continue;
        uint32_t words_before = 4 * stream.block + stream.used;
        uint32_t index = pgcn_i_bounded(&stream, choices);
        *refused += 4 * stream.block + stream.used - words_before > 1;
        if (index < degree) out[hop] = graph->neighbour[graph->offset[at] + index];
    }
}

static int64_t compare_with_reference(const pgcn_graph *graph, const pgcn_paths_opts *opts,
                                      const pgcn_node *starts, int64_t n_starts) {
    pgcn_node *got = sample(graph, opts, starts, n_starts), *walk = got;
    pgcn_node expected[64];
    int64_t refused = 0;
    for (int64_t i = 0; i < (starts ? n_starts : graph->n); i++) {
        for (int path = 0; path < opts->paths; path++, walk += opts->length) {
            reference_walk(graph, opts, starts ? starts[i] : (pgcn_node)i, path, expected,
                           &refused);
            assert_memory_equal(walk, expected, (size_t)opts->length * sizeof *walk);
        }
    }
    free(got);
    return refused;
}

static void test_walks_uniform_equal_the_plain_reference(void **state) {
    (void)state;
    static const int lengths[] = {1, 2, 4, 5, 6, 9, 23}, paths[] = {1, 3, 5, 33};
    for (int variant = 0; variant < 8; variant++) {
        pgcn_graph *graph = random_graph(203, 400, variant & 1, variant & 2, variant & 4, 61);
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            for (size_t p = 0; p < sizeof paths / sizeof paths[0]; p++) {
                pgcn_paths_opts opts =
                    opts_of(PGCN_WALK_UNIFORM, paths[p], lengths[l], (l + p) & 1);
                opts.draw = 4294967295u;
                compare_with_reference(graph, &opts, NULL, 0);
            }
        }
        pgcn_graph_free(graph);
    }
}

/* What is chosen by the size of the graph and by the processor must not matter. */
static void check_walks_of(const char *isa) {
    if (!pgcn_i_kernels_named(isa)) skip(); /* reported by the name of the test */
    pgcn_i_rng_domain domain = pgcn_i_rng_domain_of(77, PGCN_I_RNG_WALK, 5, 6, 7);
    pgcn_i_pool *pool = NULL;
    must(pgcn_i_pool_new(2, &pool));
    for (int variant = 0; variant < 8; variant++) {
        pgcn_graph *graph = random_graph(203, 300, false, variant & 1, variant & 2, 70);
        pgcn_paths_opts opts = opts_of(PGCN_WALK_UNIFORM, 7, 10, variant & 4);
        pgcn_i_walker walker;
        must(pgcn_i_walker_init(&walker, graph, &opts));
        assert_non_null(walker.steps.row);
        pgcn_node expected[10], *walks = malloc(203 * 70 * sizeof *walks);
        for (int i = 0; i < 2; i++) {
            pgcn_i_walker other = walker;
            other.kernels = pgcn_i_kernels_named(isa);
            if (i == 1) other.steps.row = NULL;
            memset(walks, 0xff, 203 * 70 * sizeof *walks);
            pgcn_i_walks(&other, pool, domain, NULL, 0, walks);
            for (int w = 0; w < 203 * 7; w++) {
                expected[0] = w / 7;
                pgcn_i_walk_one(&walker, domain, (uint64_t)w, w / 7, expected + 1, 1);
                assert_memory_equal(walks + w * 10, expected, sizeof expected);
            }
        }
        free(walks);
        pgcn_i_walker_free(&walker);
        pgcn_graph_free(graph);
    }
    pgcn_i_pool_free(pool);
}

static void test_walks_uniform_on_baseline_and_any_arrays_are_the_same(void **state) {
    (void)state;
    check_walks_of("baseline");
}
static void test_walks_uniform_on_avx2_and_any_arrays_are_the_same(void **state) {
    (void)state;
    check_walks_of("avx2");
}
static void test_walks_uniform_on_avx512_and_any_arrays_are_the_same(void **state) {
    (void)state;
    check_walks_of("avx512");
}

/* At a hub of 998 830 neighbours (tail 997 126) one draw in 4 307 is refused, and the walk comes
 * back to the hub at every second step: the words of such a walk shift by one, several times in
 * long walks. The graph is too large for its choices to be listed. At the smaller hub (tail
 * 348 812) they are, and one draw in 12 313 is refused. */
static void test_walks_refused_draws_equal_the_plain_reference(void **state) {
    (void)state;
    static const pgcn_node leaves[] = {998830, 348844};
    const pgcn_node hub = 0;
    for (int i = 0; i < 2; i++) {
        pgcn_graph *graph = star(leaves[i], false);
        for (int may_stay = 0; may_stay < 2; may_stay++) {
            pgcn_paths_opts opts = opts_of(PGCN_WALK_UNIFORM, 20000, 11, may_stay);
            int64_t refused = compare_with_reference(graph, &opts, &hub, 1);
            if (refused < 5)
                fail_msg("only %lld refused draws: nothing tested", (long long)refused);
        }
        pgcn_graph_free(graph);
    }
}

/* ---- what does not matter, and what does ------------------------------------------------- */

static void test_walks_any_number_of_threads_gives_the_same(void **state) {
    (void)state;
    pgcn_graph *graph = random_graph(1500, 4000, true, false, true, 62);
    for (int walk = 0; walk < 3; walk++) {
        pgcn_paths_opts opts = opts_of((pgcn_walk)walk, 5, 6, false);
        if (opts.walk == PGCN_WALK_NODE2VEC) opts.return_p = 0.5f;
        if (opts.walk == PGCN_WALK_NODE2VEC) opts.inout_q = 2;
        opts.threads = 1;
        pgcn_node *one = sample(graph, &opts, NULL, 0);
        for (int c = 1; c < THREAD_CASES; c++) {
            opts.threads = THREADS[c];
            pgcn_node *many = sample(graph, &opts, NULL, 0);
            assert_memory_equal(one, many, (size_t)(graph->n * 5 * 6) * sizeof *one);
            free(many);
        }
        free(one);
    }
    pgcn_graph_free(graph);
}

static void test_walks_a_list_of_starts_gives_the_walks_of_those_nodes(void **state) {
    (void)state;
    pgcn_graph *graph = random_graph(300, 900, true, false, false, 63);
    const pgcn_node starts[] = {299, 0, 7, 7, 150};
    for (int walk = 0; walk < 3; walk++) {
        pgcn_paths_opts opts = opts_of((pgcn_walk)walk, 4, 7, false);
        if (opts.walk == PGCN_WALK_NODE2VEC) opts.return_p = 3;
        pgcn_node *all = sample(graph, &opts, NULL, 0), *some = sample(graph, &opts, starts, 5);
        for (int i = 0; i < 5; i++)
            assert_memory_equal(some + i * 28, all + starts[i] * 28, 28 * sizeof *all);
        free(all), free(some);
    }
    pgcn_graph_free(graph);
}

static void test_walks_seed_and_draw_change_them(void **state) {
    (void)state;
    pgcn_graph *graph = random_graph(100, 400, false, false, false, 64);
    pgcn_paths_opts opts = opts_of(PGCN_WALK_UNIFORM, 5, 5, false);
    pgcn_node *first = sample(graph, &opts, NULL, 0);
    opts.draw = 1;
    pgcn_node *draw = sample(graph, &opts, NULL, 0);
    opts.draw = 0;
    opts.seed++;
    pgcn_node *seed = sample(graph, &opts, NULL, 0);
    size_t bytes = 100 * 25 * sizeof *first;
    assert_memory_not_equal(first, draw, bytes);
    assert_memory_not_equal(first, seed, bytes);
    free(first), free(draw), free(seed);
    pgcn_graph_free(graph);
}

static void test_walks_weighted_without_weights_are_uniform_ones(void **state) {
    (void)state;
    pgcn_graph *graph = random_graph(100, 300, false, false, false, 65);
    pgcn_paths_opts uniform = opts_of(PGCN_WALK_UNIFORM, 5, 5, true), weighted = uniform;
    weighted.walk = PGCN_WALK_WEIGHTED;
    pgcn_node *a = sample(graph, &uniform, NULL, 0), *b = sample(graph, &weighted, NULL, 0);
    assert_memory_equal(a, b, 100 * 25 * sizeof *a);
    free(a), free(b);
    pgcn_graph_free(graph);
}

static void test_walks_every_step_is_an_edge_or_stays(void **state) {
    (void)state;
    for (int variant = 0; variant < 12; variant++) {
        bool weighted = variant & 1, directed = variant & 2;
        pgcn_walk walk = (pgcn_walk)(variant / 4);
        bool may_stay = walk != PGCN_WALK_NODE2VEC;
        pgcn_graph *graph = random_graph(150, 200, weighted, directed, false, 66);
        pgcn_paths_opts opts = opts_of(walk, 7, 8, may_stay);
        if (opts.walk == PGCN_WALK_NODE2VEC) opts.return_p = 0.1f;
        if (opts.walk == PGCN_WALK_NODE2VEC) opts.inout_q = 5;
        pgcn_node *out = sample(graph, &opts, NULL, 0);
        for (int64_t w = 0; w < 150 * 7; w++) {
            assert_int_equal(out[w * 8], w / 7);
            for (int hop = 1; hop < 8; hop++) {
                pgcn_node from = out[w * 8 + hop - 1], to = out[w * 8 + hop];
                bool edge = false;
                for (int64_t e = graph->offset[from]; e < graph->offset[from + 1]; e++)
                    edge |= graph->neighbour[e] == to;
                bool stuck = graph->offset[from] == graph->offset[from + 1];
                assert_true(edge || (from == to && (may_stay || stuck)));
            }
        }
        free(out);
        pgcn_graph_free(graph);
    }
}

static void test_walks_isolated_node_and_sink_stay(void **state) {
    (void)state;
    /* 0 -> 1 -> 2, node 3 alone: all ends are in the last rows of the arrays */
    const pgcn_node source[] = {0, 1}, target[] = {1, 2};
    const float weight[] = {2, 3};
    pgcn_graph_opts directed = pgcn_graph_opts_default();
    directed.directed = true;
    for (int walk = 0; walk < 3; walk++) {
        pgcn_graph *graph = NULL;
        must(pgcn_graph_from_edges(4, 2, source, target, walk == 0 ? NULL : weight, &directed,
                                   &graph));
        pgcn_paths_opts opts = opts_of((pgcn_walk)walk, 2, 5, false);
        pgcn_node *out = sample(graph, &opts, NULL, 0);
        const pgcn_node expected[4][5] = {
            {0, 1, 2, 2, 2}, {1, 2, 2, 2, 2}, {2, 2, 2, 2, 2}, {3, 3, 3, 3, 3}};
        for (int w = 0; w < 8; w++)
            assert_memory_equal(out + w * 5, expected[w / 2], sizeof expected[0]);
        free(out);
        pgcn_graph_free(graph);
    }
}

static void test_walks_bad_options_are_refused(void **state) {
    (void)state;
    pgcn_graph *graph = random_graph(10, 20, true, false, false, 67);
    pgcn_node out[10 * 25], starts[] = {3, 10}, below[] = {-1};
    const pgcn_paths_opts good = pgcn_paths_opts_default();
    pgcn_paths_opts bad;
#define REFUSED(change, code, part)                                                                \
    bad = good, change, must_fail(pgcn_paths_sample(graph, &bad, NULL, 0, out), code, part)
    REFUSED(bad.length = 0, PGCN_ERR_ARGUMENT, "length is 0");
    REFUSED(bad.length = 4097, PGCN_ERR_ARGUMENT, "length is 4097");
    REFUSED(bad.paths = 0, PGCN_ERR_ARGUMENT, "paths is 0");
    REFUSED(bad.paths = 65537, PGCN_ERR_ARGUMENT, "paths is 65537");
    REFUSED(bad.walk = (pgcn_walk)3, PGCN_ERR_ARGUMENT, "walk is 3");
    REFUSED(bad.draw = 1ull << 32, PGCN_ERR_ARGUMENT, "draw is 4294967296");
    REFUSED(bad.threads = -1, PGCN_ERR_ARGUMENT, "threads is -1");
    REFUSED(bad.size = 0, PGCN_ERR_ARGUMENT, "pgcn_paths_opts_default()");
    REFUSED((bad.walk = PGCN_WALK_NODE2VEC, bad.return_p = 0), PGCN_ERR_ARGUMENT, "return_p is 0");
    REFUSED((bad.walk = PGCN_WALK_NODE2VEC, bad.inout_q = NAN), PGCN_ERR_ARGUMENT, "inout_q");
    REFUSED((bad.walk = PGCN_WALK_NODE2VEC, bad.inout_q = INFINITY), PGCN_ERR_ARGUMENT, "inout_q");
    REFUSED((bad.walk = PGCN_WALK_NODE2VEC, bad.may_stay = true), PGCN_ERR_ARGUMENT, "may_stay");
#undef REFUSED
    must_fail(pgcn_paths_sample(graph, &good, starts, 2, out), PGCN_ERR_ARGUMENT,
              "start 1 is node 10");
    must_fail(pgcn_paths_sample(graph, &good, below, 1, out), PGCN_ERR_ARGUMENT, "node -1");
    must_fail(pgcn_paths_sample(graph, &good, starts, -1, out), PGCN_ERR_ARGUMENT, "-1 starts");
    must_fail(pgcn_paths_sample(NULL, &good, NULL, 0, out), PGCN_ERR_ARGUMENT, "NULL");
    must_fail(pgcn_paths_sample(graph, &good, NULL, 0, NULL), PGCN_ERR_ARGUMENT, "NULL");
    must_fail(pgcn_paths_save("x.npy", out, -1, 5, 5), PGCN_ERR_ARGUMENT, "-1 starts");
    must_fail(pgcn_paths_save("x.npy", out, INT64_MAX, 5, 5), PGCN_ERR_ARGUMENT, "5 paths");
    must_fail(pgcn_paths_save(NULL, out, 10, 5, 5), PGCN_ERR_ARGUMENT, "name of the file");
    must(pgcn_paths_sample(graph, &good, starts, 0, out));
    must(pgcn_paths_sample(graph, NULL, NULL, 0, out));
    pgcn_graph_free(graph);
}

/* ---- distributions ----------------------------------------------------------------------- */

/* A peer's 16 bits modulo the degree would make some neighbours twice as likely here, and 16 bits
 * scaled to the degree would leave a third of them out. */
static void check_large_hub(bool weighted) {
    enum { LEAVES = 100000, PATHS = 65536, DRAWS = 8, CELLS = 100, TOTAL = PATHS * DRAWS };
    pgcn_graph *graph = star(LEAVES, weighted);
    const pgcn_node hub = 0;
    int64_t by_range[CELLS] = {0}, by_residue[CELLS] = {0}, modulo[CELLS] = {0}, met = 0;
    bool *seen = calloc(LEAVES, sizeof *seen);
    double even[CELLS];
    for (int i = 0; i < CELLS; i++) even[i] = 1.0 / CELLS;
    pgcn_paths_opts opts =
        opts_of(weighted ? PGCN_WALK_WEIGHTED : PGCN_WALK_UNIFORM, PATHS, 2, false);
    pgcn_i_stream stream = test_stream(68);
    for (opts.draw = 0; opts.draw < DRAWS; opts.draw++) {
        pgcn_node *out = sample(graph, &opts, &hub, 1);
        for (int w = 0; w < PATHS; w++) {
            pgcn_node leaf = out[2 * w + 1] - 1;
            by_range[leaf / (LEAVES / CELLS)]++;
            by_residue[leaf % CELLS]++;
            met += !seen[leaf];
            seen[leaf] = true;
            modulo[(pgcn_i_next(&stream) >> 16) % LEAVES / (LEAVES / CELLS)]++;
        }
        free(out);
    }
    assert_true(chi_square_p(by_range, even, CELLS, TOTAL) > P_VALUE_LEAST);
    assert_true(chi_square_p(by_residue, even, CELLS, TOTAL) > P_VALUE_LEAST);
    assert_true(chi_square_p(modulo, even, CELLS, TOTAL) < 1e-12);
    /* Each leaf is missed with probability exp(-TOTAL / LEAVES), 528 leaves on average. */
    double missed = LEAVES * exp(-(double)TOTAL / LEAVES);
    assert_true(fabs((double)(LEAVES - met) - missed) < 5 * sqrt(missed));
    free(seen);
    pgcn_graph_free(graph);
}

static void test_uniform_step_at_a_large_hub_is_unbiased(void **state) {
    (void)state;
    check_large_hub(false);
}

static void test_weighted_step_at_a_large_hub_is_unbiased(void **state) {
    (void)state;
    check_large_hub(true);
}

/* Steps from one node with weights over eight magnitudes, with and without the unit of staying. */
static void test_weighted_step_follows_very_uneven_weights(void **state) {
    (void)state;
    enum { CHOICES = 9, PATHS = 65536, DRAWS = 8 };
    const float weight[CHOICES - 1] = {1e-4f, 300, 1e-2f, 2, 1e4f, 0.5f, 40, 1};
    pgcn_node source[CHOICES - 1] = {0}, target[CHOICES - 1];
    for (int i = 0; i < CHOICES - 1; i++) target[i] = (pgcn_node)(i + 1);
    pgcn_graph *graph = NULL;
    must(pgcn_graph_from_edges(CHOICES, CHOICES - 1, source, target, weight, NULL, &graph));
    for (int may_stay = 0; may_stay < 2; may_stay++) {
        double probability[CHOICES], sum = may_stay;
        int64_t count[CHOICES] = {0};
        for (int i = 0; i < CHOICES - 1; i++) sum += (double)weight[i];
        probability[0] = may_stay / sum;
        for (int i = 1; i < CHOICES; i++) probability[i] = (double)weight[i - 1] / sum;
        pgcn_paths_opts opts = opts_of(PGCN_WALK_WEIGHTED, PATHS, 2, may_stay);
        const pgcn_node start = 0;
        for (opts.draw = 0; opts.draw < DRAWS; opts.draw++) {
            pgcn_node *out = sample(graph, &opts, &start, 1);
            for (int w = 0; w < PATHS; w++) count[out[2 * w + 1]]++;
            free(out);
        }
        assert_true(chi_square_p(count, probability, CHOICES, (int64_t)PATHS * DRAWS) >
                    P_VALUE_LEAST);
    }
    pgcn_graph_free(graph);
}

/* A float would lose the ones behind 2^30: its neighbours are 64 apart there. */
static void test_weighted_running_sums_keep_small_weights_after_large_ones(void **state) {
    (void)state;
    const pgcn_node source[] = {0, 0, 0}, target[] = {1, 2, 3};
    const float weight[] = {0x1p30f, 1, 3};
    pgcn_graph *graph = NULL;
    must(pgcn_graph_from_edges(4, 3, source, target, weight, NULL, &graph));
    pgcn_paths_opts opts = opts_of(PGCN_WALK_WEIGHTED, 1, 2, false);
    pgcn_i_walker walker;
    must(pgcn_i_walker_init(&walker, graph, &opts));
    assert_true(walker.cumulative[1] - walker.cumulative[0] == 1);
    assert_true(walker.cumulative[2] - walker.cumulative[1] == 3);
    pgcn_i_walker_free(&walker);
    pgcn_graph_free(graph);
}

/* ---- node2vec ---------------------------------------------------------------------------- */

enum { MOST_NODES = 12 };

static double weight_between(const pgcn_graph *graph, pgcn_node a, pgcn_node b) {
    for (int64_t e = graph->offset[a]; e < graph->offset[a + 1]; e++)
        if (graph->neighbour[e] == b) return graph->weight ? (double)graph->weight[e] : 1;
    return 0;
}

/* P(second = b, third = c | first = s), cell b * n + c. */
static void exact_pairs(const pgcn_graph *graph, pgcn_node s, double p, double q,
                        double *probability) {
    pgcn_node n = (pgcn_node)graph->n;
    double first_sum = 0;
    for (pgcn_node b = 0; b < n; b++) first_sum += weight_between(graph, s, b);
    for (pgcn_node b = 0; b < n; b++) {
        double share[MOST_NODES] = {0}, sum = 0;
        for (pgcn_node c = 0; c < n; c++) {
            double bias = c == s ? 1 / p : weight_between(graph, s, c) > 0 ? 1 : 1 / q;
            sum += share[c] = weight_between(graph, b, c) * bias;
        }
        if (sum <= 0) share[b] = sum = 1; /* a sink: stays */
        for (pgcn_node c = 0; c < n; c++)
            probability[b * n + c] = weight_between(graph, s, b) / first_sum * share[c] / sum;
    }
}

/* p-value of the walks' second and third node; attempts < 0 leaves the walker as it is. */
static double pairs_p(const pgcn_graph *graph, pgcn_node start, double p, double q, int attempts) {
    enum { PATHS = 65536, DRAWS = 2 };
    pgcn_paths_opts opts = opts_of(PGCN_WALK_NODE2VEC, PATHS, 3, false);
    opts.return_p = (float)p;
    opts.inout_q = (float)q;
    pgcn_i_walker walker;
    pgcn_i_pool *pool = NULL;
    must(pgcn_i_walker_init(&walker, graph, &opts));
    must(pgcn_i_pool_new(1, &pool));
    if (attempts >= 0) walker.attempts = attempts;
    int64_t count[MOST_NODES * MOST_NODES] = {0};
    double probability[MOST_NODES * MOST_NODES];
    pgcn_node *out = malloc(PATHS * 3 * sizeof *out);
    for (int draw = 0; draw < DRAWS; draw++) {
        pgcn_i_walks(&walker, pool, pgcn_i_rng_domain_of(3, PGCN_I_RNG_WALK, draw, 0, 0), &start, 1,
                     out);
        for (int w = 0; w < PATHS; w++) count[out[3 * w + 1] * graph->n + out[3 * w + 2]]++;
    }
    exact_pairs(graph, start, (double)opts.return_p, (double)opts.inout_q, probability);
    free(out);
    pgcn_i_pool_free(pool);
    pgcn_i_walker_free(&walker);
    return chi_square_p(count, probability, (int)(graph->n * graph->n), (int64_t)PATHS * DRAWS);
}

/* Triangles and a tail: 0 has near and far second neighbours and can return. */
static pgcn_graph *small_graph(bool weighted) {
    const pgcn_node source[] = {0, 0, 1, 1, 2, 3, 4, 0, 5}, target[] = {1, 2, 2, 3, 4, 4, 5, 6, 6};
    const float weight[] = {1, 4, 0.5f, 2, 3, 1, 1, 0.25f, 7};
    pgcn_graph *graph = NULL;
    must(pgcn_graph_from_edges(7, 9, source, target, weighted ? weight : NULL, NULL, &graph));
    return graph;
}

static void test_node2vec_pairs_follow_the_exact_probabilities(void **state) {
    (void)state;
    static const double pq[][2] = {{4, 0.25}, {0.25, 4}, {1, 1}, {1e-3, 1e3}, {1e3, 1e-3}};
    for (int weighted = 0; weighted < 2; weighted++) {
        pgcn_graph *graph = small_graph(weighted);
        for (size_t i = 0; i < sizeof pq / sizeof pq[0]; i++) {
            /* as shipped; scan only; one attempt and then the scan: all exact */
            for (int attempts = -1; attempts < 2; attempts++) {
                double value = pairs_p(graph, 0, pq[i][0], pq[i][1], attempts);
                if (value < P_VALUE_LEAST)
                    fail_msg("p = %g, q = %g, attempts %d: p-value %g", pq[i][0], pq[i][1],
                             attempts, value);
            }
        }
        pgcn_graph_free(graph);
    }
}

/* Directed, no way back: every candidate has a chance of 1e-3 or 1e-6, so 64 attempts nearly
 * always fail and the scan decides. Weights make both classes visible. */
static void test_node2vec_extreme_settings_end_in_the_exact_scan(void **state) {
    (void)state;
    const pgcn_node source[] = {0, 0, 0, 1, 1, 1, 1}, target[] = {1, 2, 3, 2, 3, 4, 5};
    const float weight[] = {1, 1e-6f, 1e-6f, 1, 2, 1000, 500};
    pgcn_graph_opts directed = pgcn_graph_opts_default();
    directed.directed = true;
    pgcn_graph *graph = NULL;
    must(pgcn_graph_from_edges(6, 7, source, target, weight, &directed, &graph));
    assert_true(pairs_p(graph, 0, 1e-3, 1e3, -1) > P_VALUE_LEAST);
    assert_true(pairs_p(graph, 0, 1e-30, 1e30, -1) > P_VALUE_LEAST);
    pgcn_graph_free(graph);
}

/* Words of a long walk stay within its stream even when every step fails all attempts. */
static void test_node2vec_longest_walk_stays_within_its_words(void **state) {
    (void)state;
    for (int length = 1; length <= PGCN_MAX_PATH_LENGTH; length++) {
        pgcn_i_walker walker = {.k = length, .return_p = 1, .inout_q = 1};
        pgcn_i_steps_prepare(&walker);
        assert_true(walker.attempts >= 16);
        assert_true((int64_t)length * (3 * walker.attempts + 2) < PGCN_STREAM_WORDS);
    }
}

/* The rule of a widely used peer: a candidate refused in its own class falls through to the next.
 * The same chi-square refuses it, so the test above can see the difference. */
static void test_node2vec_chained_rule_of_a_peer_would_fail(void **state) {
    (void)state;
    enum { WALKS = 65536 };
    static const double pq[][2] = {{4, 0.25}, {0.25, 4}};
    pgcn_graph *graph = small_graph(false);
    for (int i = 0; i < 2; i++) {
        double p = pq[i][0], q = pq[i][1], most = fmax(fmax(1 / p, 1), 1 / q);
        double probability[MOST_NODES * MOST_NODES];
        int64_t chained[MOST_NODES * MOST_NODES] = {0}, own[MOST_NODES * MOST_NODES] = {0};
        exact_pairs(graph, 0, p, q, probability);
        pgcn_i_stream stream = test_stream(69);
        for (int rule = 0; rule < 2; rule++) {
            for (int w = 0; w < WALKS; w++) {
                pgcn_node b = graph->neighbour[pgcn_i_bounded(&stream, 3)], c;
                for (bool taken = false; !taken;) {
                    int64_t begin = graph->offset[b], end = graph->offset[b + 1];
                    c = graph->neighbour[begin + pgcn_i_bounded(&stream, (uint32_t)(end - begin))];
                    double u = pgcn_i_unit_double(&stream);
                    bool returns = c == 0, near = weight_between(graph, 0, c) > 0;
                    if (rule == 0)
                        taken = (returns && u < 1 / p / most) || (near && u < 1 / most) ||
                                u < 1 / q / most;
                    else
                        taken = u < (returns ? 1 / p : near ? 1 : 1 / q) / most;
                }
                (rule == 0 ? chained : own)[b * graph->n + c]++;
            }
        }
        assert_true(chi_square_p(own, probability, 49, WALKS) > P_VALUE_LEAST);
        if (i == 0) assert_true(chi_square_p(chained, probability, 49, WALKS) < 1e-12);
    }
    pgcn_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walks_uniform_equal_the_plain_reference),
        cmocka_unit_test(test_walks_uniform_on_baseline_and_any_arrays_are_the_same),
        cmocka_unit_test(test_walks_uniform_on_avx2_and_any_arrays_are_the_same),
        cmocka_unit_test(test_walks_uniform_on_avx512_and_any_arrays_are_the_same),
        cmocka_unit_test(test_walks_refused_draws_equal_the_plain_reference),
        cmocka_unit_test(test_walks_any_number_of_threads_gives_the_same),
        cmocka_unit_test(test_walks_a_list_of_starts_gives_the_walks_of_those_nodes),
        cmocka_unit_test(test_walks_seed_and_draw_change_them),
        cmocka_unit_test(test_walks_weighted_without_weights_are_uniform_ones),
        cmocka_unit_test(test_walks_every_step_is_an_edge_or_stays),
        cmocka_unit_test(test_walks_isolated_node_and_sink_stay),
        cmocka_unit_test(test_walks_bad_options_are_refused),
        cmocka_unit_test(test_uniform_step_at_a_large_hub_is_unbiased),
        cmocka_unit_test(test_weighted_step_at_a_large_hub_is_unbiased),
        cmocka_unit_test(test_weighted_step_follows_very_uneven_weights),
        cmocka_unit_test(test_weighted_running_sums_keep_small_weights_after_large_ones),
        cmocka_unit_test(test_node2vec_pairs_follow_the_exact_probabilities),
        cmocka_unit_test(test_node2vec_extreme_settings_end_in_the_exact_scan),
        cmocka_unit_test(test_node2vec_longest_walk_stays_within_its_words),
        cmocka_unit_test(test_node2vec_chained_rule_of_a_peer_would_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
