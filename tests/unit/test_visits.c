/* Visit lists against a dense reference in double made from the raw walks. */
#include "sampling_help.h"

typedef struct setup {
    pgcn_graph *graph;
    pgcn_i_walker walker;
    pgcn_i_visits *visits;
} setup;

static setup make(pgcn_graph *graph, int p, int k, bool may_stay, int samples, bool transpose) {
    setup s = {.graph = graph};
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    opts.paths = p;
    opts.length = k;
    opts.may_stay = may_stay;
    must(pgcn_i_walker_init(&s.walker, graph, &opts));
    must(pgcn_i_visits_new(&s.walker, samples, transpose, &s.visits));
    return s;
}

static void unmake(setup *s) {
    pgcn_i_visits_free(s->visits);
    pgcn_i_walker_free(&s->walker);
    pgcn_graph_free(s->graph);
}

static void draw(setup *s, int threads, int64_t step, const float *degree) {
    pgcn_i_pool *pool = NULL;
    must(pgcn_i_pool_new(threads, &pool));
    pgcn_i_visits_sample(s->visits, &s->walker, pool, 8, PGCN_I_RNG_WALK, step, 3, degree);
    pgcn_i_pool_free(pool);
}

/* The raw walks of each sample are those of pgcn_i_walks in the documented domain. */
static void check_walks(const setup *s, int64_t step) {
    const pgcn_i_visits *v = s->visits;
    int64_t count = v->n * v->p * v->k;
    pgcn_node *walks = malloc((size_t)count * sizeof *walks);
    pgcn_i_pool *pool = NULL;
    must(pgcn_i_pool_new(1, &pool));
    for (int sample = 0; sample < v->samples; sample++) {
        pgcn_i_walks(&s->walker, pool, pgcn_i_rng_domain_of(8, PGCN_I_RNG_WALK, step, 3, sample),
                     NULL, 0, walks);
        assert_memory_equal(walks, v->walks + sample * count, (size_t)count * sizeof *walks);
    }
    pgcn_i_pool_free(pool);
    free(walks);
}

/* Row by row: the entries are exactly the visits, ascending, with the right weights. */
static void check_lists(const setup *s, const float *degree) {
    const pgcn_i_visits *v = s->visits;
    double *dense = calloc((size_t)v->rows, sizeof *dense); /* one row of S_i */
    for (int hop = 1; hop < v->k; hop++) {
        const pgcn_i_csr *list = &v->hop[hop - 1];
        assert_int_equal(list->rows, v->rows);
        assert_int_equal(list->offset[0], 0);
        for (int64_t row = 0; row < v->rows; row++) {
            int64_t first = row / v->n * v->n;
            for (int path = 0; path < v->p; path++)
                dense[first + v->walks[(row * v->p + path) * v->k + hop]] += 1.0 / v->p;
            int64_t distinct = 0;
            double sum = 0;
            for (int64_t u = first; u < first + v->n; u++) distinct += dense[u] > 0;
            assert_int_equal(list->offset[row + 1] - list->offset[row], distinct);
            for (int64_t e = list->offset[row]; e < list->offset[row + 1]; e++) {
                pgcn_node u = list->column[e];
                assert_in_range(u, first, first + v->n - 1);
                if (e > list->offset[row]) assert_true(u > list->column[e - 1]);
                double scale =
                    degree ? sqrt((double)degree[row - first] / (double)degree[u - first]) : 1;
                double expected = dense[u] * scale;
                assert_true(expected > 0);
                assert_true(fabs((double)list->value[e] - expected) < 1e-6 * expected);
                sum += (double)list->value[e];
            }
            if (!degree) assert_true(fabs(sum - 1) < 1e-5);
            memset(dense + first, 0, (size_t)v->n * sizeof *dense);
        }
    }
    free(dense);
}

/* The transpose must be exactly what a plain two-loop transpose gives. */
static void check_transpose(const setup *s) {
    const pgcn_i_visits *v = s->visits;
    for (int i = 0; i < v->k - 1; i++) {
        pgcn_i_csr *list = &v->hop[i], *t = &v->hop_t[i];
        int64_t entries = list->offset[v->rows], *next = calloc((size_t)v->rows, sizeof *next);
        assert_int_equal(t->rows, v->rows);
        assert_int_equal(t->offset[0], 0);
        assert_int_equal(t->offset[v->rows], entries);
        for (int64_t row = 0; row < v->rows; row++) {
            for (int64_t e = list->offset[row]; e < list->offset[row + 1]; e++) {
                int64_t u = list->column[e], place = t->offset[u] + next[u]++;
                assert_true(place < t->offset[u + 1]);
                assert_int_equal(t->column[place], row); /* so rows ascend as well */
                assert_true(t->value[place] == list->value[e]);
            }
        }
        for (int64_t u = 0; u < v->rows; u++)
            assert_int_equal(t->offset[u + 1] - t->offset[u], next[u]);
        free(next);
    }
}

static float *some_degrees(int64_t n) {
    float *degree = malloc((size_t)n * sizeof *degree);
    for (int64_t j = 0; j < n; j++) degree[j] = 1 + (float)(j * 7 % 13);
    return degree;
}

static void test_visits_lists_equal_the_dense_reference(void **state) {
    (void)state;
    static const int64_t nodes[] = {1, 2, 15, 16, 17, 63, 64, 65, 200};
    static const int paths[] = {1, 2, 5, 31, 32, 33, 100};
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        float *degree = some_degrees(nodes[i]);
        for (size_t j = 0; j < sizeof paths / sizeof paths[0]; j++) {
            int samples = j % 2 ? 3 : 1, k = 2 + (int)((i + j) % 4);
            setup s = make(random_graph(nodes[i], 2 * nodes[i], false, j % 3 == 2, i % 2, 71),
                           paths[j], k, j % 4 == 1, samples, true);
            draw(&s, 2, 5, NULL);
            check_walks(&s, 5);
            check_lists(&s, NULL);
            check_transpose(&s);
            draw(&s, 2, 6, degree); /* again, over the old lists */
            check_walks(&s, 6);
            check_lists(&s, degree);
            check_transpose(&s);
            unmake(&s);
        }
        free(degree);
    }
}

/* Many blocks, with a short last one in each sample. */
static void test_visits_of_many_blocks_equal_the_reference(void **state) {
    (void)state;
    setup s = make(random_graph(3000, 9000, false, false, false, 72), 5, 5, false, 2, true);
    draw(&s, 2, 1, NULL);
    check_walks(&s, 1);
    check_lists(&s, NULL);
    check_transpose(&s);
    unmake(&s);
}

static void test_visits_any_number_of_threads_gives_the_same(void **state) {
    (void)state;
    setup one = make(random_graph(700, 2000, false, false, false, 73), 6, 4, true, 2, true);
    float *degree = some_degrees(700);
    draw(&one, 1, 9, degree);
    for (int c = 1; c < THREAD_CASES; c++) {
        setup many = make(random_graph(700, 2000, false, false, false, 73), 6, 4, true, 2, true);
        draw(&many, THREADS[c], 9, degree);
        for (int i = 0; i < 3; i++) {
            for (int t = 0; t < 2; t++) {
                const pgcn_i_csr *a = t ? &one.visits->hop_t[i] : &one.visits->hop[i];
                const pgcn_i_csr *b = t ? &many.visits->hop_t[i] : &many.visits->hop[i];
                size_t entries = (size_t)a->offset[1400];
                assert_memory_equal(a->offset, b->offset, 1401 * sizeof(int64_t));
                assert_memory_equal(a->column, b->column, entries * sizeof(pgcn_node));
                assert_memory_equal(a->value, b->value, entries * sizeof(float));
            }
        }
        unmake(&many);
    }
    free(degree);
    unmake(&one);
}

static void test_visits_samples_and_steps_differ(void **state) {
    (void)state;
    setup s = make(random_graph(100, 400, false, false, false, 74), 5, 5, false, 2, false);
    size_t nodes = 100 * 25, bytes = nodes * sizeof(pgcn_node);
    draw(&s, 1, 1, NULL);
    assert_memory_not_equal(s.visits->walks, s.visits->walks + nodes, bytes);
    pgcn_node *before = malloc(bytes);
    memcpy(before, s.visits->walks, bytes);
    draw(&s, 1, 2, NULL);
    assert_memory_not_equal(s.visits->walks, before, bytes);
    draw(&s, 1, 1, NULL);
    assert_memory_equal(s.visits->walks, before, bytes);
    free(before);
    unmake(&s);
}

static void test_visits_isolated_node_and_self_loop_have_one_full_entry(void **state) {
    (void)state;
    /* 0 alone, 1 with a loop only, 2 - 3 a pair: visits of odd hops are the other one */
    const pgcn_node source[] = {1, 2}, target[] = {1, 3};
    pgcn_graph_opts loops = pgcn_graph_opts_default();
    loops.keep_self_loops = true;
    pgcn_graph *graph = NULL;
    must(pgcn_graph_from_edges(4, 2, source, target, NULL, &loops, &graph));
    setup s = make(graph, 7, 4, false, 1, true);
    draw(&s, 1, 0, NULL);
    const pgcn_node odd[] = {0, 1, 3, 2}, even[] = {0, 1, 2, 3};
    for (int i = 0; i < 3; i++) {
        for (int t = 0; t < 2; t++) {
            const pgcn_i_csr *list = t ? &s.visits->hop_t[i] : &s.visits->hop[i];
            for (int row = 0; row < 4; row++) {
                assert_int_equal(list->offset[row + 1], row + 1);
                assert_int_equal(list->column[row], i % 2 ? even[row] : odd[row]);
                assert_true(list->value[row] == 1);
            }
        }
    }
    unmake(&s);
}

static void test_visits_of_paths_of_one_node_have_no_hops(void **state) {
    (void)state;
    setup s = make(random_graph(50, 100, false, false, false, 75), 3, 1, false, 2, true);
    draw(&s, 2, 0, NULL);
    for (int64_t w = 0; w < 300; w++) assert_int_equal(s.visits->walks[w], w / 3 % 50);
    unmake(&s);
}

static void test_visits_without_transpose_have_the_same_lists(void **state) {
    (void)state;
    setup s = make(random_graph(90, 200, false, false, false, 76), 5, 5, false, 1, false);
    draw(&s, 2, 0, NULL);
    assert_null(s.visits->hop_t);
    check_lists(&s, NULL);
    unmake(&s);
}

static void test_visits_too_many_rows_or_samples_are_refused(void **state) {
    (void)state;
    pgcn_graph *graph = random_graph(10, 20, false, false, false, 77);
    pgcn_i_walker walker;
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    must(pgcn_i_walker_init(&walker, graph, &opts));
    pgcn_i_visits *visits = NULL;
    must_fail(pgcn_i_visits_new(&walker, 0, true, &visits), PGCN_ERR_ARGUMENT, "samples is 0");
    must_fail(pgcn_i_visits_new(&walker, 257, true, &visits), PGCN_ERR_ARGUMENT, "257");
    /* A graph that only claims to be large: the check comes before any use of it. */
    pgcn_graph claims = *graph;
    claims.n = INT32_MAX / 2;
    walker.graph = &claims;
    must_fail(pgcn_i_visits_new(&walker, 3, true, &visits), PGCN_ERR_ARGUMENT, "fewer samples");
    assert_null(visits);
    pgcn_i_visits_free(NULL);
    pgcn_i_walker_free(&walker);
    pgcn_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_visits_lists_equal_the_dense_reference),
        cmocka_unit_test(test_visits_of_many_blocks_equal_the_reference),
        cmocka_unit_test(test_visits_any_number_of_threads_gives_the_same),
        cmocka_unit_test(test_visits_samples_and_steps_differ),
        cmocka_unit_test(test_visits_isolated_node_and_self_loop_have_one_full_entry),
        cmocka_unit_test(test_visits_of_paths_of_one_node_have_no_hops),
        cmocka_unit_test(test_visits_without_transpose_have_the_same_lists),
        cmocka_unit_test(test_visits_too_many_rows_or_samples_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
