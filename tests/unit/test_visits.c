/* Visit lists against a plain reference in double made from the raw walks. */
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
    must(pgcn_i_visits_new(&s.walker, NULL, samples, transpose, &s.visits));
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
    pgcn_i_visits_sample(s->visits, &s->walker, pool,
                         (pgcn_i_path_draw){8, PGCN_I_RNG_WALK, step, 3}, degree);
    pgcn_i_pool_free(pool);
}

static int compare_nodes(const void *a, const void *b) {
    pgcn_node x = *(const pgcn_node *)a, y = *(const pgcn_node *)b;
    return x < y ? -1 : x > y;
}

/* Row by row: the entries are exactly the nodes that pgcn_i_walks visits in the documented domain,
 * ascending, with the right weights. */
static void check_lists(const setup *s, int64_t step, const float *degree) {
    const pgcn_i_visits *v = s->visits;
    pgcn_node *walks = malloc((size_t)(v->n * v->p * v->k) * sizeof *walks);
    pgcn_node *visited = malloc((size_t)v->p * sizeof *visited);
    pgcn_i_pool *pool = NULL;
    must(pgcn_i_pool_new(1, &pool));
    for (int sample = 0; sample < v->samples; sample++) {
        const int64_t shift = sample * v->n;
        pgcn_i_walks(&s->walker, pool, pgcn_i_rng_domain_of(8, PGCN_I_RNG_WALK, step, 3, sample),
                     NULL, 0, walks);
        for (int64_t at = 0; at < v->n * (v->k - 1); at++) {
            const int64_t node = at % v->n, row = shift + node;
            const int hop = 1 + (int)(at / v->n);
            const pgcn_i_csr *list = &v->hop[hop - 1];
            for (int q = 0; q < v->p; q++) visited[q] = walks[(node * v->p + q) * v->k + hop];
            qsort(visited, (size_t)v->p, sizeof *visited, compare_nodes);
            int64_t e = list->offset[row];
            for (int q = 0, run; q < v->p; q += run, e++) {
                for (run = 1; q + run < v->p && visited[q + run] == visited[q];) run++;
                assert_true(e < list->offset[row + 1]);
                assert_int_equal(list->column[e], shift + visited[q]);
                double scale = degree ? sqrt((double)degree[node] / (double)degree[visited[q]]) : 1;
                double expected = (double)run / v->p * scale;
                assert_true(fabs((double)list->value[e] - expected) < 1e-6 * expected);
            }
            assert_int_equal(e, list->offset[row + 1]);
        }
    }
    for (int hop = 1; hop < v->k; hop++) {
        assert_int_equal(v->hop[hop - 1].rows, v->rows);
        assert_int_equal(v->hop[hop - 1].offset[0], 0);
    }
    pgcn_i_pool_free(pool);
    free(walks), free(visited);
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

/* Lists and transposes, bit for bit. */
static void check_same(const setup *one, const setup *other) {
    for (int i = 0; i < one->visits->k - 1; i++) {
        for (int t = 0; t < 2; t++) {
            const pgcn_i_csr *a = t ? &one->visits->hop_t[i] : &one->visits->hop[i];
            const pgcn_i_csr *b = t ? &other->visits->hop_t[i] : &other->visits->hop[i];
            size_t entries = (size_t)a->offset[a->rows];
            assert_int_equal(a->rows, b->rows);
            assert_memory_equal(a->offset, b->offset, (size_t)(a->rows + 1) * sizeof *a->offset);
            assert_memory_equal(a->column, b->column, entries * sizeof *a->column);
            assert_memory_equal(a->value, b->value, entries * sizeof *a->value);
        }
    }
}

static float *some_degrees(int64_t n) {
    float *degree = malloc((size_t)n * sizeof *degree);
    for (int64_t j = 0; j < n; j++) degree[j] = 1 + (float)(j * 7 % 13);
    return degree;
}

static void test_visits_lists_equal_the_plain_reference(void **state) {
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
            check_lists(&s, 5, NULL);
            check_transpose(&s);
            draw(&s, 2, 6, degree); /* again, over the old lists */
            check_lists(&s, 6, degree);
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
    check_lists(&s, 1, NULL);
    check_transpose(&s);
    unmake(&s);
}

/* Beyond 2^14 nodes the transposes are made in buckets, and with many paths hop after hop. */
static void test_visits_of_many_buckets_equal_the_reference(void **state) {
    (void)state;
    for (int p = 2; p <= 20; p += 18) {
        float *degree = some_degrees(16385);
        setup s = make(random_graph(16385, 30000, false, false, false, 79), p, 3, true,
                       p == 2 ? 3 : 1, true);
        draw(&s, 2, 1, degree);
        check_lists(&s, 1, degree);
        check_transpose(&s);
        unmake(&s);
        free(degree);
    }
}

/* A graph whose choices are not listed a second time is walked in its own arrays: same lists. And
 * every instruction set gives the same, to the bit. */
static void check_visits_of(const char *isa) {
    if (!pgcn_i_kernels_named(isa)) skip(); /* reported by the name of the test */
    float *degree = some_degrees(500);
    for (int may_stay = 0; may_stay < 2; may_stay++) {
        setup one = make(random_graph(500, 700, false, false, false, 80), 9, 7, may_stay, 2, true);
        draw(&one, 1, 4, degree);
        check_lists(&one, 4, degree);
        for (int i = 0; i < 2; i++) {
            setup other =
                make(random_graph(500, 700, false, false, false, 80), 9, 7, may_stay, 2, true);
            other.walker.kernels = pgcn_i_kernels_named(isa);
            if (i == 1) other.walker.steps.row = NULL;
            draw(&other, 2, 4, degree);
            check_same(&one, &other);
            unmake(&other);
        }
        unmake(&one);
    }
    free(degree);
}

static void test_visits_of_baseline_are_the_same(void **state) {
    (void)state;
    check_visits_of("baseline");
}
static void test_visits_of_avx2_are_the_same(void **state) {
    (void)state;
    check_visits_of("avx2");
}
static void test_visits_of_avx512_are_the_same(void **state) {
    (void)state;
    check_visits_of("avx512");
}

static void test_visits_any_number_of_threads_gives_the_same(void **state) {
    (void)state;
    static const int64_t nodes[] = {700, 17000};
    for (int i = 0; i < 2; i++) {
        int64_t n = nodes[i];
        setup one = make(random_graph(n, 3 * n, false, false, false, 73), 6, 4, true, 2, true);
        float *degree = some_degrees(n);
        draw(&one, 1, 9, degree);
        for (int c = 1; c < THREAD_CASES; c++) {
            setup many = make(random_graph(n, 3 * n, false, false, false, 73), 6, 4, true, 2, true);
            draw(&many, THREADS[c], 9, degree);
            check_same(&one, &many);
            unmake(&many);
        }
        free(degree);
        unmake(&one);
    }
}

static void test_visits_samples_and_steps_differ(void **state) {
    (void)state;
    setup s = make(random_graph(100, 400, false, false, false, 74), 5, 5, false, 2, false);
    const pgcn_i_csr *list = &s.visits->hop[3];
    draw(&s, 1, 1, NULL);
    bool differ = list->offset[200] != 2 * list->offset[100];
    for (int64_t e = 0; !differ && e < list->offset[100]; e++)
        differ = list->column[e] + 100 != list->column[list->offset[100] + e];
    assert_true(differ);
    pgcn_node before[200 * 5];
    memcpy(before, list->column, sizeof before);
    draw(&s, 1, 2, NULL);
    assert_memory_not_equal(list->column, before, sizeof before);
    draw(&s, 1, 1, NULL);
    assert_memory_equal(list->column, before, (size_t)list->offset[200] * sizeof *before);
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
    draw(&s, 2, 0, NULL); /* nothing to do, and nothing done */
    unmake(&s);
}

static void test_visits_without_transpose_have_the_same_lists(void **state) {
    (void)state;
    setup s = make(random_graph(90, 200, false, false, false, 76), 5, 5, false, 1, false);
    draw(&s, 2, 0, NULL);
    assert_null(s.visits->hop_t);
    check_lists(&s, 0, NULL);
    unmake(&s);
}

/* ---- a part of the nodes ----------------------------------------------------------------------- */

/* Node u is in part u % parts, and edges are inside of parts: random ones, or none in part 0. */
static pgcn_graph *graph_of_parts(int64_t n, int64_t parts) {
    pgcn_i_stream stream = test_stream(81);
    int64_t m = 2 * n;
    pgcn_node *source = calloc((size_t)m, sizeof *source), *target = calloc((size_t)m, 4);
    pgcn_graph *graph = NULL;
    for (int64_t e = 0; e < m; e++) {
        int64_t u = pgcn_i_bounded(&stream, (uint32_t)n), part = u % parts;
        int64_t size = (n - part + parts - 1) / parts;
        source[e] = (pgcn_node)u;
        target[e] = (pgcn_node)(part + parts * pgcn_i_bounded(&stream, (uint32_t)size));
        if (part == 0) target[e] = source[e];
    }
    must(pgcn_graph_from_edges(n, m, source, target, NULL, NULL, &graph));
    free(source), free(target);
    return graph;
}

/* The nodes of some parts, part after part; room as for all. */
typedef struct part_list {
    pgcn_i_subset subset;
    pgcn_node *node, *place;
    float *degree; /* of these nodes */
} part_list;

static part_list part_list_new(int64_t n) {
    part_list list = {.node = calloc((size_t)n, 4), .place = calloc((size_t)n, 4)};
    list.degree = calloc((size_t)n, sizeof *list.degree);
    list.subset = (pgcn_i_subset){.n = n, .most = n, .node = list.node, .place = list.place};
    return list;
}

static void part_list_fill(part_list *list, int64_t n, int64_t parts, const int *part, int count,
                           const float *degree) {
    list->subset.n = 0;
    memset(list->place, -1, (size_t)n * sizeof *list->place); /* others are never asked for */
    for (int i = 0; i < count; i++)
        for (int64_t u = part[i]; u < n; u += parts) {
            int64_t at = list->subset.n++;
            list->node[at] = (pgcn_node)u;
            list->place[u] = (pgcn_node)at;
            if (degree) list->degree[at] = degree[u];
        }
}

static void part_list_free(part_list *list) {
    free(list->node), free(list->place), free(list->degree);
}

/* A visit and its weight, by place. */
typedef struct visit {
    pgcn_node place;
    float value;
} visit;

static int compare_visits(const void *a, const void *b) {
    return compare_nodes(&((const visit *)a)->place, &((const visit *)b)->place);
}

/* Rows of the part are those of the whole graph, with places instead of ids, to the bit. */
static void check_rows_of_whole(const pgcn_i_visits *part, const part_list *list,
                                const pgcn_i_visits *whole) {
    visit *want = malloc((size_t)whole->p * sizeof *want);
    assert_int_equal(part->n, list->subset.n);
    assert_int_equal(part->rows, list->subset.n * whole->samples);
    for (int64_t at = 0; at < part->rows * (part->k - 1); at++) {
        const pgcn_i_csr *from = &whole->hop[at / part->rows], *to = &part->hop[at / part->rows];
        int64_t row = at % part->rows, sample = row / part->n;
        int64_t whole_row = sample * whole->n + list->node[row % part->n], count = 0;
        for (int64_t e = from->offset[whole_row]; e < from->offset[whole_row + 1]; e++)
            want[count++] =
                (visit){list->place[from->column[e] - sample * whole->n], from->value[e]};
        qsort(want, (size_t)count, sizeof *want, compare_visits);
        assert_int_equal(to->rows, part->rows);
        assert_int_equal(to->offset[row + 1] - to->offset[row], count);
        for (int64_t i = 0; i < count; i++) {
            assert_int_equal(to->column[to->offset[row] + i], sample * part->n + want[i].place);
            assert_true(to->value[to->offset[row] + i] == want[i].value);
        }
    }
    free(want);
}

/* Parts of many sizes one after the other, in the same memory: a part that is smaller, larger, all of
 * it in another order, and one of a few nodes. */
static void check_parts(int64_t n, int64_t parts, int p, int samples, bool symmetric) {
    static const struct {
        int part[5], count;
    } lists[] = {{{1, 0}, 2}, {{3}, 1}, {{4, 2, 0, 1, 3}, 5}, {{0}, 1}, {{2, 4, 3, 1}, 4}};
    float *degree = symmetric ? some_degrees(n) : NULL;
    setup whole = make(graph_of_parts(n, parts), p, 4, false, samples, true);
    part_list list = part_list_new(n);
    setup part = {.graph = whole.graph, .walker = whole.walker};
    must(pgcn_i_visits_new(&part.walker, &list.subset, samples, true, &part.visits));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        part_list_fill(&list, n, parts, lists[i].part, lists[i].count, degree);
        draw(&whole, 1, (int64_t)i, degree);
        draw(&part, 2, (int64_t)i, degree ? list.degree : NULL);
        check_rows_of_whole(part.visits, &list, whole.visits);
        check_transpose(&part);
    }
    pgcn_i_visits_free(part.visits);
    part_list_free(&list);
    unmake(&whole);
    free(degree);
}

static void test_visits_of_a_part_are_rows_of_the_whole_graph(void **state) {
    (void)state;
    for (int samples = 1; samples <= 2; samples++)
        for (int symmetric = 0; symmetric < 2; symmetric++) {
            check_parts(61, 5, 3, samples, symmetric);
            check_parts(1700, 5, 33, samples, symmetric);
        }
}

/* There, small parts leave buckets without a node, and blocks have other sizes than in the room. */
static void test_visits_of_a_part_of_many_buckets_are_rows_of_the_whole_graph(void **state) {
    (void)state;
    check_parts(20011, 5, 3, 2, true);
    check_parts(17000, 5, 6, 1, false);
}

/* ---- limits --------------------------------------------------------------------------- */

static void test_visits_too_many_rows_or_samples_are_refused(void **state) {
    (void)state;
    pgcn_graph *graph = random_graph(10, 20, false, false, false, 77);
    pgcn_i_walker walker;
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    must(pgcn_i_walker_init(&walker, graph, &opts));
    pgcn_i_visits *visits = NULL;
    must_fail(pgcn_i_visits_new(&walker, NULL, 0, true, &visits), PGCN_ERR_ARGUMENT,
              "samples is 0");
    must_fail(pgcn_i_visits_new(&walker, NULL, 257, true, &visits), PGCN_ERR_ARGUMENT, "257");
    /* A graph that only claims to be large: the check comes before any use of it. */
    pgcn_graph claims = *graph;
    claims.n = INT32_MAX / 2;
    walker.graph = &claims;
    must_fail(pgcn_i_visits_new(&walker, NULL, 3, true, &visits), PGCN_ERR_ARGUMENT,
              "fewer samples");
    assert_null(visits);
    pgcn_i_visits_free(NULL);
    pgcn_i_walker_free(&walker);
    pgcn_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_visits_lists_equal_the_plain_reference),
        cmocka_unit_test(test_visits_of_many_blocks_equal_the_reference),
        cmocka_unit_test(test_visits_of_many_buckets_equal_the_reference),
        cmocka_unit_test(test_visits_of_baseline_are_the_same),
        cmocka_unit_test(test_visits_of_avx2_are_the_same),
        cmocka_unit_test(test_visits_of_avx512_are_the_same),
        cmocka_unit_test(test_visits_any_number_of_threads_gives_the_same),
        cmocka_unit_test(test_visits_samples_and_steps_differ),
        cmocka_unit_test(test_visits_isolated_node_and_self_loop_have_one_full_entry),
        cmocka_unit_test(test_visits_of_paths_of_one_node_have_no_hops),
        cmocka_unit_test(test_visits_without_transpose_have_the_same_lists),
        cmocka_unit_test(test_visits_of_a_part_are_rows_of_the_whole_graph),
        cmocka_unit_test(test_visits_of_a_part_of_many_buckets_are_rows_of_the_whole_graph),
        cmocka_unit_test(test_visits_too_many_rows_or_samples_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
