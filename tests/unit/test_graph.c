/* Building graphs and operators, against dense references in double. */
#include "sampling_help.h"

#include <float.h>

static int64_t degree_of(const pgcn_graph *graph, int64_t node) {
    return graph->offset[node + 1] - graph->offset[node];
}

/* Dense A of the graph, 0 where there is no edge. */
static double *dense_adjacency(const pgcn_graph *graph, bool weighted) {
    double *a = calloc((size_t)(graph->n * graph->n), sizeof *a);
    for (int64_t j = 0; j < graph->n; j++)
        for (int64_t e = graph->offset[j]; e < graph->offset[j + 1]; e++)
            a[j * graph->n + graph->neighbour[e]] +=
                weighted && graph->weight ? (double)graph->weight[e] : 1;
    return a;
}

/* Dense copy of a CSR; fails if a row does not ascend strictly. */
static double *dense_csr(const pgcn_i_csr *csr, int64_t columns) {
    double *a = calloc((size_t)(csr->rows * columns), sizeof *a);
    assert_int_equal(csr->offset[0], 0);
    for (int64_t j = 0; j < csr->rows; j++) {
        for (int64_t e = csr->offset[j]; e < csr->offset[j + 1]; e++) {
            assert_in_range(csr->column[e], 0, columns - 1);
            if (e > csr->offset[j]) assert_true(csr->column[e] > csr->column[e - 1]);
            a[j * columns + csr->column[e]] = (double)csr->value[e];
        }
    }
    return a;
}

static void test_graph_undirected_edges_go_both_ways_sorted(void **state) {
    (void)state;
    const pgcn_node source[] = {3, 0, 2, 1}, target[] = {0, 2, 1, 3};
    pgcn_graph *graph = NULL;
    must(pgcn_graph_from_edges(5, 4, source, target, NULL, NULL, &graph));
    const int64_t *offset;
    const pgcn_node *neighbour;
    const float *weight;
    pgcn_graph_csr(graph, &offset, &neighbour, &weight);
    const int64_t offset_expected[] = {0, 2, 4, 6, 8, 8};
    const pgcn_node neighbour_expected[] = {2, 3, 2, 3, 0, 1, 0, 1};
    assert_int_equal(pgcn_graph_nodes(graph), 5);
    assert_int_equal(pgcn_graph_entries(graph), 8);
    assert_memory_equal(offset, offset_expected, sizeof offset_expected);
    assert_memory_equal(neighbour, neighbour_expected, sizeof neighbour_expected);
    assert_null(weight);
    pgcn_graph_free(graph);
}

static void test_graph_directed_edges_go_one_way(void **state) {
    (void)state;
    const pgcn_node source[] = {2, 0, 0}, target[] = {0, 2, 1};
    pgcn_graph_opts opts = pgcn_graph_opts_default();
    opts.directed = true;
    pgcn_graph *graph = NULL;
    must(pgcn_graph_from_edges(3, 3, source, target, NULL, &opts, &graph));
    const int64_t offset_expected[] = {0, 2, 2, 3};
    const pgcn_node neighbour_expected[] = {1, 2, 0};
    assert_memory_equal(graph->offset, offset_expected, sizeof offset_expected);
    assert_memory_equal(graph->neighbour, neighbour_expected, sizeof neighbour_expected);
    assert_true(graph->directed);
    pgcn_graph_free(graph);
}

static void test_graph_equal_edges_are_merged_and_weights_added(void **state) {
    (void)state;
    /* (0,1) three times in both directions; (1,1) twice */
    const pgcn_node source[] = {0, 1, 1, 0, 1}, target[] = {1, 0, 1, 1, 1};
    const float weight[] = {1, 0.25f, 2, 4, 8};
    pgcn_graph_opts opts = pgcn_graph_opts_default();
    opts.keep_self_loops = true;
    pgcn_graph *graph = NULL;
    must(pgcn_graph_from_edges(2, 5, source, target, weight, &opts, &graph));
    const pgcn_node neighbour_expected[] = {1, 0, 1};
    const float weight_expected[] = {5.25f, 5.25f, 10};
    assert_int_equal(graph->entries, 3);
    assert_memory_equal(graph->neighbour, neighbour_expected, sizeof neighbour_expected);
    assert_memory_equal(graph->weight, weight_expected, sizeof weight_expected);
    pgcn_graph_free(graph);
    must(pgcn_graph_from_edges(2, 5, source, target, NULL, NULL, &graph));
    assert_int_equal(graph->entries, 2); /* unweighted, loops dropped */
    pgcn_graph_free(graph);
}

static void test_graph_random_edges_match_a_dense_reference(void **state) {
    (void)state;
    enum { N = 37, M = 600 };
    for (int variant = 0; variant < 8; variant++) {
        bool weighted = variant & 1, directed = variant & 2, loops = variant & 4;
        pgcn_node source[M], target[M];
        float weight[M];
        double dense[N][N] = {{0}};
        pgcn_i_stream stream = test_stream(11 + (uint64_t)variant);
        for (int e = 0; e < M; e++) {
            pgcn_node a = source[e] = (pgcn_node)pgcn_i_bounded(&stream, N);
            pgcn_node b = target[e] = (pgcn_node)pgcn_i_bounded(&stream, N);
            weight[e] = 0.01f + pgcn_i_unit_float(pgcn_i_next(&stream));
            if (a == b && !loops) continue;
            double w = (double)weight[e];
            dense[a][b] = weighted ? dense[a][b] + w : 1;
            if (!directed && a != b) dense[b][a] = weighted ? dense[b][a] + w : 1;
        }
        pgcn_graph_opts opts = pgcn_graph_opts_default();
        opts.directed = directed;
        opts.keep_self_loops = loops;
        pgcn_graph *graph = NULL;
        must(pgcn_graph_from_edges(N, M, source, target, weighted ? weight : NULL, &opts, &graph));
        int64_t e = 0;
        for (int a = 0; a < N; a++) {
            assert_int_equal(graph->offset[a], e);
            for (int b = 0; b < N; b++) {
                if (dense[a][b] <= 0) continue;
                assert_int_equal(graph->neighbour[e], b);
                if (weighted) assert_true(graph->weight[e] == (float)dense[a][b]);
                e++;
            }
        }
        assert_int_equal(graph->entries, e);
        pgcn_graph_free(graph);
    }
}

static void test_graph_undirected_weights_are_exactly_symmetric(void **state) {
    (void)state;
    pgcn_graph *graph = random_graph(30, 3000, true, false, true, 21); /* many duplicates */
    double *a = dense_adjacency(graph, true);
    for (int64_t i = 0; i < 30; i++)
        for (int64_t j = 0; j < 30; j++) assert_true(a[i * 30 + j] == a[j * 30 + i]);
    free(a);
    pgcn_graph_free(graph);
}

static void test_graph_without_edges_is_fine(void **state) {
    (void)state;
    pgcn_graph *graph = NULL;
    must(pgcn_graph_from_edges(1, 0, NULL, NULL, NULL, NULL, &graph));
    assert_int_equal(pgcn_graph_entries(graph), 0);
    assert_int_equal(graph->offset[1], 0);
    pgcn_graph_free(graph);
    pgcn_graph_free(NULL);
}

static void test_graph_bad_input_is_refused_with_the_edge(void **state) {
    (void)state;
    const pgcn_node good[] = {0, 1, 2}, negative[] = {0, -1, 2}, large[] = {0, 1, 3};
    const float nan_weight[] = {1, NAN, 1}, zero[] = {1, 1, 0}, inf[] = {INFINITY, 1, 1},
                below[] = {1, -2, 1}, huge[] = {FLT_MAX, FLT_MAX, FLT_MAX};
    pgcn_graph *graph = NULL;
    must_fail(pgcn_graph_from_edges(0, 0, NULL, NULL, NULL, NULL, &graph), PGCN_ERR_ARGUMENT,
              "n is 0");
    must_fail(pgcn_graph_from_edges((int64_t)INT32_MAX + 1, 0, NULL, NULL, NULL, NULL, &graph),
              PGCN_ERR_ARGUMENT, "2147483648");
    must_fail(pgcn_graph_from_edges(3, -1, good, good, NULL, NULL, &graph), PGCN_ERR_ARGUMENT,
              "m is -1");
    must_fail(pgcn_graph_from_edges(3, 3, good, NULL, NULL, NULL, &graph), PGCN_ERR_ARGUMENT,
              "NULL");
    must_fail(pgcn_graph_from_edges(3, 3, negative, good, NULL, NULL, &graph), PGCN_ERR_FORMAT,
              "edge 1 is (-1, 1)");
    must_fail(pgcn_graph_from_edges(3, 3, good, large, NULL, NULL, &graph), PGCN_ERR_FORMAT,
              "edge 2 is (2, 3)");
    must_fail(pgcn_graph_from_edges(3, 3, good, good, nan_weight, NULL, &graph), PGCN_ERR_FORMAT,
              "edge 1");
    must_fail(pgcn_graph_from_edges(3, 3, good, good, zero, NULL, &graph), PGCN_ERR_FORMAT,
              "edge 2");
    must_fail(pgcn_graph_from_edges(3, 3, good, good, inf, NULL, &graph), PGCN_ERR_FORMAT,
              "edge 0");
    must_fail(pgcn_graph_from_edges(3, 3, good, good, below, NULL, &graph), PGCN_ERR_FORMAT,
              "weight -2");
    const pgcn_node hub[] = {1, 1, 1}, leaf[] = {0, 2, 0};
    must_fail(pgcn_graph_from_edges(3, 3, hub, leaf, huge, NULL, &graph), PGCN_ERR_FORMAT,
              "more than a float");
    must_fail(pgcn_graph_from_edges(3, 3, good, good, NULL, NULL, NULL), PGCN_ERR_ARGUMENT,
              "out is NULL");
    assert_null(graph);
}

static void test_graph_options_of_another_size_keep_their_meaning(void **state) {
    (void)state;
    const pgcn_node source[] = {0, 1}, target[] = {1, 1};
    struct {
        pgcn_graph_opts known;
        uint64_t unknown[4];
    } newer = {.known = {sizeof newer, true, true}, .unknown = {1, 2, 3, 4}};
    pgcn_graph *graph = NULL;
    must(pgcn_graph_from_edges(2, 2, source, target, NULL, &newer.known, &graph));
    assert_int_equal(graph->entries, 2); /* 0 -> 1 and the loop at 1 */
    pgcn_graph_free(graph);

    /* An older program knew `directed` only: what lies behind its struct is not ours. */
    pgcn_graph_opts older = {offsetof(pgcn_graph_opts, keep_self_loops), true, true};
    must(pgcn_graph_from_edges(2, 2, source, target, NULL, &older, &graph));
    assert_int_equal(graph->entries, 1);
    pgcn_graph_free(graph);

    pgcn_graph_opts empty = {0};
    graph = NULL;
    must_fail(pgcn_graph_from_edges(2, 2, source, target, NULL, &empty, &graph), PGCN_ERR_ARGUMENT,
              "pgcn_graph_opts_default()");
    assert_null(graph);
}

/* ---- from rows --------------------------------------------------------------------------------- */

static void assert_same_graph(const pgcn_graph *a, const pgcn_graph *b) {
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->entries, b->entries);
    assert_int_equal(a->directed, b->directed);
    assert_memory_equal(a->offset, b->offset, (size_t)(a->n + 1) * sizeof *a->offset);
    assert_memory_equal(a->neighbour, b->neighbour, (size_t)a->entries * sizeof *a->neighbour);
    assert_int_equal(a->weight != NULL, b->weight != NULL);
    if (a->weight)
        assert_memory_equal(a->weight, b->weight, (size_t)a->entries * sizeof *a->weight);
}

enum { ROWS = 37, LINKS = 400 };

/* Rows in no order, with repeats, self-loops and nodes without neighbours at both ends. */
static void random_rows(int64_t offset[ROWS + 1], pgcn_node *source, pgcn_node *target,
                        float *weight) {
    pgcn_i_stream stream = test_stream(77);
    int64_t degree[ROWS] = {0}, at = 0;
    for (int e = 0; e < LINKS; e++) degree[2 + pgcn_i_bounded(&stream, ROWS - 5)]++;
    for (pgcn_node u = 0; u < ROWS; u++) {
        offset[u] = at;
        for (int64_t e = 0; e < degree[u]; e++, at++) {
            source[at] = u;
            target[at] = (pgcn_node)pgcn_i_bounded(&stream, ROWS);
            weight[at] = 0.1f + pgcn_i_unit_float(pgcn_i_next(&stream));
        }
    }
    offset[ROWS] = at;
}

static void test_graph_of_rows_is_that_of_its_edges(void **state) {
    (void)state;
    int64_t offset[ROWS + 1];
    pgcn_node source[LINKS], target[LINKS];
    float weight[LINKS];
    random_rows(offset, source, target, weight);
    for (int i = 0; i < 8; i++) {
        pgcn_graph_opts opts = pgcn_graph_opts_default();
        opts.directed = i & 1;
        opts.keep_self_loops = i & 2;
        const float *weights = i & 4 ? weight : NULL;
        pgcn_graph *rows = NULL, *edges = NULL;
        must(pgcn_graph_from_csr(ROWS, offset, target, weights, &opts, &rows));
        must(pgcn_graph_from_edges(ROWS, LINKS, source, target, weights, &opts, &edges));
        assert_same_graph(rows, edges);
        pgcn_graph_free(rows), pgcn_graph_free(edges);
    }
}

static void test_graph_of_empty_rows_has_no_edge(void **state) {
    (void)state;
    const int64_t offset[] = {0, 0, 0, 0};
    pgcn_graph *graph = NULL;
    must(pgcn_graph_from_csr(3, offset, NULL, NULL, NULL, &graph));
    assert_int_equal(pgcn_graph_nodes(graph), 3);
    assert_int_equal(pgcn_graph_entries(graph), 0);
    pgcn_graph_free(graph);
}

static void test_graph_of_bad_rows_is_refused(void **state) {
    (void)state;
    const pgcn_node target[] = {1, 0, 5};
    const float weight[] = {1, -1, 1};
    const int64_t late[] = {1, 2, 3}, descends[] = {0, 3, 1}, good[] = {0, 1, 3}, two[] = {0, 1, 2},
                  below[] = {0, -1, 2};
    pgcn_graph *graph = NULL;
    must_fail(pgcn_graph_from_csr(2, late, target, NULL, NULL, &graph), PGCN_ERR_FORMAT,
              "start at 1");
    must_fail(pgcn_graph_from_csr(2, descends, target, NULL, NULL, &graph), PGCN_ERR_FORMAT,
              "offsets of node 1 are 3 and 1");
    must_fail(pgcn_graph_from_csr(2, below, target, NULL, NULL, &graph), PGCN_ERR_FORMAT,
              "offsets of node 0 are 0 and -1");
    must_fail(pgcn_graph_from_csr(2, good, target, NULL, NULL, &graph), PGCN_ERR_FORMAT,
              "edge 2 is (1, 5)");
    must_fail(pgcn_graph_from_csr(2, two, target, weight, NULL, &graph), PGCN_ERR_FORMAT,
              "edge 1 (1, 0) has weight -1");
    assert_null(graph);
}

static void test_transpose_random_matrix_is_its_transpose(void **state) {
    (void)state;
    /* 3 x 5 with an empty row and an empty column */
    int64_t offset[] = {0, 3, 3, 5};
    pgcn_node column[] = {0, 2, 4, 2, 3};
    float value[] = {1, 2, 3, 4, 5};
    pgcn_i_csr in = {3, offset, column, value}, out;
    pgcn_i_arena arena = {0};
    must(pgcn_i_csr_transpose(&in, 5, &arena, &out));
    const int64_t offset_expected[] = {0, 1, 1, 3, 4, 5};
    const pgcn_node column_expected[] = {0, 0, 2, 2, 0};
    const float value_expected[] = {1, 2, 4, 5, 3};
    assert_int_equal(out.rows, 5);
    assert_memory_equal(out.offset, offset_expected, sizeof offset_expected);
    assert_memory_equal(out.column, column_expected, sizeof column_expected);
    assert_memory_equal(out.value, value_expected, sizeof value_expected);
    pgcn_i_arena_free(&arena);
}

/* All variants against the formula in double: D^-1 A or D^-1/2 A D^-1/2, A or A + I. */
static void check_operator(const pgcn_graph *graph, bool self_loops, bool weighted,
                           bool symmetric) {
    int64_t n = graph->n;
    pgcn_i_arena arena = {0};
    pgcn_i_csr forward, backward;
    float *degree = NULL;
    const pgcn_i_transition_opts opts = {.self_loops = self_loops,
                                         .weighted = weighted,
                                         .scaling = symmetric ? PGCN_SCALING_SYMMETRIC
                                                              : PGCN_SCALING_WALK};

    must(pgcn_i_graph_transition(graph, opts, &arena, &forward, &backward, &degree));
    double *a = dense_adjacency(graph, weighted);
    double *d = calloc((size_t)n, sizeof *d);
    for (int64_t j = 0; j < n; j++) {
        if (self_loops || degree_of(graph, j) == 0) a[j * n + j] += 1;
        for (int64_t u = 0; u < n; u++) d[j] += a[j * n + u];
        assert_true(fabs((double)degree[j] - d[j]) <= 1e-6 * d[j]);
    }
    double *got = dense_csr(&forward, n), *got_t = dense_csr(&backward, n);
    for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t u = 0; u < n; u++) {
            double expected = a[j * n + u] / (symmetric ? sqrt(d[j] * d[u]) : d[j]);
            assert_true(fabs(got[j * n + u] - expected) <= 1e-6 * expected);
            assert_true(got_t[u * n + j] == got[j * n + u]);
            sum += got[j * n + u];
        }
        if (!symmetric) assert_true(fabs(sum - 1) < 1e-6);
    }
    free(a), free(d), free(got), free(got_t);
    pgcn_i_arena_free(&arena);
}

static void test_operator_random_graphs_match_the_formula(void **state) {
    (void)state;
    for (int variant = 0; variant < 8; variant++) {
        bool weighted_graph = variant & 1, directed = variant & 2, loops = variant & 4;
        for (int64_t m = 0; m <= 120; m += 40) { /* few edges: isolated nodes */
            pgcn_graph *graph =
                random_graph(25, m, weighted_graph, directed, loops, 31 + (uint64_t)variant);
            for (int rule = 0; rule < 8; rule++)
                check_operator(graph, rule & 1, rule & 2, rule & 4);
            pgcn_graph_free(graph);
        }
    }
}

static void test_operator_symmetric_of_undirected_is_its_own_transpose(void **state) {
    (void)state;
    pgcn_graph *graph = random_graph(40, 150, true, false, true, 41);
    pgcn_i_arena arena = {0};
    pgcn_i_csr forward, backward;
    float *degree = NULL;
    const pgcn_i_transition_opts opts = {
        .self_loops = true, .weighted = true, .scaling = PGCN_SCALING_SYMMETRIC};
    must(pgcn_i_graph_transition(graph, opts, &arena, &forward, &backward, &degree));
    size_t entries = (size_t)forward.offset[40];
    assert_memory_equal(forward.column, backward.column, entries * sizeof(pgcn_node));
    assert_memory_equal(forward.value, backward.value, entries * sizeof(float));
    pgcn_i_arena_free(&arena);
    pgcn_graph_free(graph);
}

/* T that may borrow, and leave out what its readers can tell; and one with arrays of its own. */
static void check_borrowing(const pgcn_graph *graph, pgcn_i_transition_opts opts, bool borrows,
                            bool has_values) {
    pgcn_i_arena arena = {0};
    pgcn_i_csr own, t;
    float *degree = NULL;
    opts.empty_rows = true;
    must(pgcn_i_graph_transition(graph, opts, &arena, &own, NULL, &degree));
    assert_true(own.value && own.column != graph->neighbour);
    opts.borrows = opts.drawn_from = true;
    must(pgcn_i_graph_transition(graph, opts, &arena, &t, NULL, &degree));
    assert_true((t.column == graph->neighbour) == borrows);
    assert_true((t.value != NULL) == has_values);
    assert_memory_equal(t.offset, own.offset, (size_t)(graph->n + 1) * sizeof *t.offset);
    assert_memory_equal(t.column, own.column, (size_t)own.offset[graph->n] * sizeof *t.column);
    for (int64_t row = 0; row < graph->n; row++)
        for (int64_t e = own.offset[row]; e < own.offset[row + 1]; e++)
            assert_true((t.value ? t.value[e] : pgcn_i_even_value(&t, row)) == own.value[e]);
    pgcn_i_arena_free(&arena);
}

static void test_operator_of_the_graphs_own_entries_borrows_its_rows(void **state) {
    (void)state;
    pgcn_graph *plain = random_graph(40, 60, false, false, true, 43);
    pgcn_graph *weighted = random_graph(40, 60, true, true, true, 44);
    const pgcn_i_transition_opts walk = {.scaling = PGCN_SCALING_WALK},
                                 root = {.scaling = PGCN_SCALING_SYMMETRIC},
                                 loops = {.scaling = PGCN_SCALING_WALK, .self_loops = true},
                                 weights = {.scaling = PGCN_SCALING_WALK, .weighted = true};
    check_borrowing(plain, walk, true, false);
    check_borrowing(plain, root, true, true);
    check_borrowing(plain, loops, false, true);
    check_borrowing(weighted, weights, true, true);
    pgcn_graph_free(plain);
    pgcn_graph_free(weighted);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operator_of_the_graphs_own_entries_borrows_its_rows),
        cmocka_unit_test(test_graph_undirected_edges_go_both_ways_sorted),
        cmocka_unit_test(test_graph_directed_edges_go_one_way),
        cmocka_unit_test(test_graph_equal_edges_are_merged_and_weights_added),
        cmocka_unit_test(test_graph_random_edges_match_a_dense_reference),
        cmocka_unit_test(test_graph_undirected_weights_are_exactly_symmetric),
        cmocka_unit_test(test_graph_without_edges_is_fine),
        cmocka_unit_test(test_graph_bad_input_is_refused_with_the_edge),
        cmocka_unit_test(test_graph_options_of_another_size_keep_their_meaning),
        cmocka_unit_test(test_graph_of_rows_is_that_of_its_edges),
        cmocka_unit_test(test_graph_of_empty_rows_has_no_edge),
        cmocka_unit_test(test_graph_of_bad_rows_is_refused),
        cmocka_unit_test(test_transpose_random_matrix_is_its_transpose),
        cmocka_unit_test(test_operator_random_graphs_match_the_formula),
        cmocka_unit_test(test_operator_symmetric_of_undirected_is_its_own_transpose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
