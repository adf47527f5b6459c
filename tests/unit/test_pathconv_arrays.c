/* Path convolutions on arrays: the double version against dense matrices made of the raw walks, its
 * gradients against finite differences, and the float kernels against the double version. */
#include "sampling_help.h"

#include "ref/reference.h"
#include "scratch_help.h"

#include <pthread.h>

static const int64_t CHANNELS[] = {1, 7, 8, 9, 31, 33, 64, 65, 257};
enum { CHANNEL_CASES = sizeof CHANNELS / sizeof CHANNELS[0] };
enum { SEED = 11, DRAW = 3 };

/* ---- material ---------------------------------------------------------------------------------- */

typedef struct walk_case {
    const char *name;
    pgcn_walk walk;
    bool weighted, directed, may_stay;
    pgcn_scaling scaling;
    int length, paths;
    pgcn_form form;
} walk_case;

#define SAMPLED PGCN_FORM_SAMPLED
#define EXACT   PGCN_FORM_EXACT
#define WALK    PGCN_SCALING_WALK
#define SYM     PGCN_SCALING_SYMMETRIC
static const walk_case CASES[] = {
    {"sampled", PGCN_WALK_UNIFORM, false, false, false, WALK, 5, 5, SAMPLED},
    {"sampled, may stay, symmetric", PGCN_WALK_UNIFORM, false, false, true, SYM, 3, 4, SAMPLED},
    {"sampled, weighted, directed", PGCN_WALK_WEIGHTED, true, true, false, WALK, 7, 3, SAMPLED},
    {"sampled, node2vec", PGCN_WALK_NODE2VEC, true, false, false, SYM, 4, 6, SAMPLED},
    {"sampled, one node", PGCN_WALK_UNIFORM, false, false, false, WALK, 1, 2, SAMPLED},
    {"exact", PGCN_WALK_UNIFORM, false, false, false, WALK, 5, 5, EXACT},
    {"exact, may stay, symmetric", PGCN_WALK_UNIFORM, false, false, true, SYM, 4, 5, EXACT},
    {"exact, weighted, directed", PGCN_WALK_WEIGHTED, true, true, false, WALK, 3, 5, EXACT},
    {"exact, two nodes", PGCN_WALK_UNIFORM, false, true, false, SYM, 2, 5, EXACT},
    {"exact, one node", PGCN_WALK_UNIFORM, false, false, false, WALK, 1, 5, EXACT},
};
enum { CASE_COUNT = sizeof CASES / sizeof CASES[0] };

static pgcn_paths_opts opts_of(const walk_case *which, int threads) {
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    opts.walk = which->walk;
    opts.length = which->length;
    opts.paths = which->paths;
    opts.may_stay = which->may_stay;
    opts.threads = threads;
    if (which->walk == PGCN_WALK_NODE2VEC) opts.return_p = 0.5f, opts.inout_q = 2;
    return opts;
}

/* Few edges, so that some nodes have none. */
static pgcn_graph *graph_of(const walk_case *which, int64_t n) {
    return random_graph(n, 2 * n, which->weighted, which->directed, false, 5);
}

static pgcn_visits *visits_of(const walk_case *which, const pgcn_graph *graph, int threads) {
    pgcn_paths_opts opts = opts_of(which, threads);
    pgcn_visits *visits = NULL;
    must(pgcn_visits_new(graph, &opts, which->scaling, which->form, &visits));
    if (which->form == SAMPLED) must(pgcn_visits_sample(visits, SEED, DRAW));
    return visits;
}

/* Arrays of one convolution, in both precisions with the same values. */
typedef struct arrays {
    int64_t rows, kernel; /* numbers in [n, c] and in the kernel */
    float *x, *s, *g, *out, *dx, *ds;
    double *x2, *s2, *g2, *out2, *dx2, *ds2;
} arrays;

static arrays arrays_of(int64_t n, int64_t c, int k, bool depthwise) {
    arrays a = {.rows = n * c, .kernel = depthwise ? k * c : k};
    a.x = ref_random_floats(1, a.rows);
    a.s = ref_random_floats(2, a.kernel);
    a.g = ref_random_floats(3, a.rows);
    a.out = ref_filled_floats(NAN, a.rows);
    a.dx = ref_filled_floats(NAN, a.rows);
    a.ds = ref_filled_floats(NAN, a.kernel);
    a.x2 = ref_doubles(a.x, a.rows);
    a.s2 = ref_doubles(a.s, a.kernel);
    a.g2 = ref_doubles(a.g, a.rows);
    a.out2 = ref_doubles(a.out, a.rows);
    a.dx2 = ref_doubles(a.dx, a.rows);
    a.ds2 = ref_doubles(a.ds, a.kernel);
    return a;
}

static void arrays_free(arrays *a) {
    free(a->x), free(a->s), free(a->g), free(a->out), free(a->dx), free(a->ds);
    free(a->x2), free(a->s2), free(a->g2), free(a->out2), free(a->dx2), free(a->ds2);
}

static void run_float(const pgcn_visits *visits, int64_t c, bool depthwise, const arrays *a) {
    must(pgcn_pathconv_forward(visits, c, depthwise, a->x, a->s, a->out));
    must(pgcn_pathconv_backward(visits, c, depthwise, a->x, a->s, a->g, a->dx, a->ds));
}
static void run_double(const pgcn_visits *visits, int64_t c, bool depthwise, const arrays *a) {
    must(pgcn_pathconv_forward_double(visits, c, depthwise, a->x2, a->s2, a->out2));
    must(pgcn_pathconv_backward_double(visits, c, depthwise, a->x2, a->s2, a->g2, a->dx2, a->ds2));
}

/* ---- dense matrices ------------------------------------------------------------------------------ */

/* The weight of edge u -> v as walks choose it, 0 without one. */
static double edge_of(const walk_case *which, const pgcn_graph *graph, int64_t u, int64_t v) {
    double weight = 0;
    for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++)
        if (graph->neighbour[e] == v)
            weight +=
                graph->weight && which->walk != PGCN_WALK_UNIFORM ? (double)graph->weight[e] : 1;
    return weight + (which->may_stay && u == v ? 1 : 0);
}

static double degree_of(const walk_case *which, const pgcn_graph *graph, int64_t u) {
    double sum = 0;
    for (int64_t v = 0; v < graph->n; v++) sum += edge_of(which, graph, u, v);
    return sum > 0 ? sum : 1;
}

/* S_i [n, n] for all hops i: shares of the walks, or powers of the matrix of single steps. */
static double *dense_of(const walk_case *which, const pgcn_graph *graph) {
    const int64_t n = graph->n, k = which->length, p = which->paths;
    double *dense = ref_zeros(k * n * n);
    pgcn_node *walks = calloc((size_t)(n * p * k), sizeof *walks);
    pgcn_paths_opts opts = opts_of(which, 1);
    opts.seed = SEED;
    opts.draw = DRAW;
    must(pgcn_paths_sample(graph, &opts, NULL, 0, walks));
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < n; j++) {
            double *row = dense + (i * n + j) * n;
            if (i == 0) row[j] = 1;
            for (int64_t q = 0; q < p && which->form == SAMPLED && i > 0; q++)
                row[walks[(j * p + q) * k + i]] += 1.0 / (double)p;
            for (int64_t u = 0; u < n && which->form == EXACT && i > 0; u++) {
                bool alone = graph->offset[j] == graph->offset[j + 1] && !which->may_stay;
                double step =
                    alone ? j == u : edge_of(which, graph, j, u) / degree_of(which, graph, j);
                for (int64_t v = 0; v < n && step > 0; v++)
                    row[v] += step * dense[((i - 1) * n + u) * n + v];
            }
        }
    for (int64_t e = 0; e < k * n * n && which->scaling == SYM; e++)
        dense[e] *= sqrt(degree_of(which, graph, e / n % n) / degree_of(which, graph, e % n));
    free(walks);
    return dense;
}

static void assert_near(const char *name, const char *what, const double *got, const double *want,
                        int64_t count, double tolerance) {
    double largest = 0;
    for (int64_t i = 0; i < count; i++) largest = fmax(largest, fabs(want[i]));
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance * largest))
            fail_msg("%s: %s[%d] is %.9g, expected %.9g", name, what, (int)i, got[i], want[i]);
}

static void test_pathconv_double_equals_dense_matrices(void **state) {
    (void)state;
    enum { N = 23, C = 10 };
    for (int at = 0; at < 2 * CASE_COUNT; at++) {
        const walk_case *which = &CASES[at / 2];
        const bool depthwise = at % 2;
        const int k = which->length;
        pgcn_graph *graph = graph_of(which, N);
        pgcn_visits *visits = visits_of(which, graph, 1);
        double *dense = dense_of(which, graph);
        arrays a = arrays_of(N, C, k, depthwise);
        double *out = ref_zeros(a.rows), *dx = ref_zeros(a.rows), *ds = ref_zeros(a.kernel);
        for (int64_t e = 0; e < k * N * N * C; e++) {
            int64_t ch = e % C, u = e / C % N, j = e / C / N % N, i = e / C / N / N;
            int64_t s = depthwise ? i * C + ch : i;
            double share = dense[(i * N + j) * N + u];
            out[j * C + ch] += a.s2[s] * share * a.x2[u * C + ch];
            dx[u * C + ch] += a.s2[s] * share * a.g2[j * C + ch];
            ds[s] += a.g2[j * C + ch] * share * a.x2[u * C + ch];
        }
        run_double(visits, C, depthwise, &a);
        assert_near(which->name, "out", a.out2, out, a.rows, 1e-6); /* S_i is stored in float */
        assert_near(which->name, "dx", a.dx2, dx, a.rows, 1e-6);
        assert_near(which->name, "ds", a.ds2, ds, a.kernel, 1e-6);
        free(out), free(dx), free(ds), free(dense);
        arrays_free(&a);
        pgcn_visits_free(visits);
        pgcn_graph_free(graph);
    }
}

/* The loss <g, out> is linear in x and in s: differences are exact but for rounding. */
static double loss_of(const pgcn_visits *visits, int64_t c, bool depthwise, const arrays *a) {
    must(pgcn_pathconv_forward_double(visits, c, depthwise, a->x2, a->s2, a->out2));
    double loss = 0;
    for (int64_t e = 0; e < a->rows; e++) loss += a->g2[e] * a->out2[e];
    return loss;
}

static void assert_slopes(const pgcn_visits *visits, int64_t c, bool depthwise, const arrays *a,
                          double *values, const double *gradient, int64_t count) {
    for (int64_t e = 0; e < count; e += 3) {
        const double step = 0.5, before = values[e];
        values[e] = before + step;
        double up = loss_of(visits, c, depthwise, a);
        values[e] = before - step;
        double slope = (up - loss_of(visits, c, depthwise, a)) / (2 * step);
        values[e] = before;
        assert_true(fabs(slope - gradient[e]) < 1e-9 * (1 + fabs(slope)));
    }
}

static void test_pathconv_double_gradients_are_slopes(void **state) {
    (void)state;
    enum { N = 14, C = 9 };
    for (int at = 0; at < 2 * CASE_COUNT; at++) {
        const walk_case *which = &CASES[at / 2];
        const bool depthwise = at % 2;
        pgcn_graph *graph = graph_of(which, N);
        pgcn_visits *visits = visits_of(which, graph, 1);
        arrays a = arrays_of(N, C, which->length, depthwise);
        run_double(visits, C, depthwise, &a);
        assert_slopes(visits, C, depthwise, &a, a.x2, a.dx2, a.rows);
        assert_slopes(visits, C, depthwise, &a, a.s2, a.ds2, a.kernel);
        arrays_free(&a);
        pgcn_visits_free(visits);
        pgcn_graph_free(graph);
    }
}

/* ---- float against double ------------------------------------------------------------------------ */

/* The error of ds, sums of many products whose signs differ: relative to the largest one, or to what such a
 * sum comes to where it happens to be near 0. */
static double sum_error(const arrays *a) {
    double largest = 0.1 * sqrt((double)a->rows / (double)a->kernel), error = 0;
    for (int64_t e = 0; e < a->kernel; e++) {
        largest = fmax(largest, fabs(a->ds2[e]));
        error = fmax(error, fabs((double)a->ds[e] - a->ds2[e]));
    }
    return error / largest;
}

/* The second time scratch memory is not zero any more. */
static void test_pathconv_float_equals_double_for_any_channels(void **state) {
    (void)state;
    enum { N = 150 }; /* more than two tiles and groups */
    for (int at = 0; at < 2 * CASE_COUNT * CHANNEL_CASES; at++) {
        const walk_case *which = &CASES[at / 2 % CASE_COUNT];
        const bool depthwise = at % 2;
        const int64_t c = CHANNELS[at / 2 / CASE_COUNT];
        pgcn_graph *graph = graph_of(which, N);
        pgcn_visits *visits = visits_of(which, graph, 2);
        arrays a = arrays_of(N, c, which->length, depthwise);
        for (int twice = 0; twice < 2; twice++) run_float(visits, c, depthwise, &a);
        run_double(visits, c, depthwise, &a);
        double out = ref_error(a.out, a.out2, a.rows), dx = ref_error(a.dx, a.dx2, a.rows);
        double ds = sum_error(&a);
        if (!(out < 1e-5 && dx < 1e-5 && ds < 1e-5))
            fail_msg("%s, %d channels: errors are %g, %g, %g", which->name, (int)c, out, dx, ds);
        arrays_free(&a);
        pgcn_visits_free(visits);
        pgcn_graph_free(graph);
    }
}

/* On a matrix too large for slabs, which is prefetched. */
static void test_pathconv_float_equals_double_for_far_rows(void **state) {
    (void)state;
    enum { N = 66000, C = 129 };
    static const int cases[] = {0, 5};
    for (int at = 0; at < 2; at++) {
        walk_case which = CASES[cases[at]];
        which.length = 3;
        pgcn_graph *graph = graph_of(&which, N);
        pgcn_visits *visits = visits_of(&which, graph, 2);
        arrays a = arrays_of(N, C, which.length, true);
        run_float(visits, C, true, &a);
        run_double(visits, C, true, &a);
        assert_true(ref_error(a.out, a.out2, a.rows) < 1e-5);
        assert_true(ref_error(a.dx, a.dx2, a.rows) < 1e-5);
        assert_true(sum_error(&a) < 1e-5);
        arrays_free(&a);
        pgcn_visits_free(visits);
        pgcn_graph_free(graph);
    }
}

static void test_pathconv_gradients_that_are_not_wanted_change_no_other(void **state) {
    (void)state;
    enum { N = 150, C = 70 };
    for (int at = 0; at < 2 * CASE_COUNT; at++) {
        const walk_case *which = &CASES[at / 2];
        const bool depthwise = at % 2;
        pgcn_graph *graph = graph_of(which, N);
        pgcn_visits *visits = visits_of(which, graph, 2);
        arrays a = arrays_of(N, C, which->length, depthwise);
        arrays b = arrays_of(N, C, which->length, depthwise);
        run_float(visits, C, depthwise, &a);
        run_double(visits, C, depthwise, &a);
        const size_t kernel = (size_t)a.kernel, rows = (size_t)a.rows;
        must(pgcn_pathconv_backward(visits, C, depthwise, b.x, b.s, b.g, NULL, b.ds));
        assert_memory_equal(a.ds, b.ds, kernel * sizeof *a.ds);
        must(pgcn_pathconv_backward(visits, C, depthwise, b.x, b.s, b.g, b.dx, NULL));
        assert_true(ref_error(b.dx, a.dx2, a.rows) < 1e-5); /* by another rule where exact */
        must(pgcn_pathconv_backward(visits, C, depthwise, b.x, b.s, b.g, NULL, NULL));
        must(pgcn_pathconv_backward_double(visits, C, depthwise, b.x2, b.s2, b.g2, NULL, b.ds2));
        assert_memory_equal(a.ds2, b.ds2, kernel * sizeof *a.ds2);
        must(pgcn_pathconv_backward_double(visits, C, depthwise, b.x2, b.s2, b.g2, b.dx2, NULL));
        assert_memory_equal(a.dx2, b.dx2, rows * sizeof *a.dx2);
        arrays_free(&a);
        arrays_free(&b);
        pgcn_visits_free(visits);
        pgcn_graph_free(graph);
    }
}

/* ---- bits ------------------------------------------------------------------------------------------ */

static void test_pathconv_any_number_of_threads_gives_the_same_bits(void **state) {
    (void)state;
    enum { N = 700, C = 130 };
    static const int threads[] = {2, 5};
    for (int at = 0; at < 4 * CASE_COUNT; at++) {
        const walk_case *which = &CASES[at / 4];
        const bool depthwise = at % 2;
        pgcn_graph *graph = graph_of(which, N);
        pgcn_visits *one = visits_of(which, graph, 1);
        pgcn_visits *many = visits_of(which, graph, threads[at / 2 % 2]);
        arrays a = arrays_of(N, C, which->length, depthwise);
        arrays b = arrays_of(N, C, which->length, depthwise);
        run_float(one, C, depthwise, &a), run_float(many, C, depthwise, &b);
        run_double(one, C, depthwise, &a), run_double(many, C, depthwise, &b);
        const size_t kernel = (size_t)a.kernel, rows = (size_t)a.rows;
        assert_memory_equal(a.out, b.out, rows * sizeof *a.out);
        assert_memory_equal(a.dx, b.dx, rows * sizeof *a.dx);
        assert_memory_equal(a.ds, b.ds, kernel * sizeof *a.ds);
        assert_memory_equal(a.out2, b.out2, rows * sizeof *a.out2);
        assert_memory_equal(a.dx2, b.dx2, rows * sizeof *a.dx2);
        assert_memory_equal(a.ds2, b.ds2, kernel * sizeof *a.ds2);
        arrays_free(&a);
        arrays_free(&b);
        pgcn_visits_free(one);
        pgcn_visits_free(many);
        pgcn_graph_free(graph);
    }
}

/* Two draws side by side: each keeps its own, a draw depends on its numbers alone, and the object that
 * the others were made beside may go first. */
static void test_visits_beside_each_other_keep_their_own_draws(void **state) {
    (void)state;
    enum { N = 60, C = 5 };
    pgcn_graph *graph = graph_of(&CASES[0], N);
    pgcn_visits *first = visits_of(&CASES[0], graph, 2), *second = NULL;
    arrays a = arrays_of(N, C, 5, true), b = arrays_of(N, C, 5, true), c = arrays_of(N, C, 5, true);
    const size_t bytes = (size_t)a.rows * sizeof *a.out;
    run_float(first, C, true, &a);
    must(pgcn_visits_new_beside(first, &second));
    must(pgcn_visits_sample(second, SEED, DRAW + 1));
    run_float(second, C, true, &b);
    run_float(first, C, true, &c);
    assert_memory_equal(a.out, c.out, bytes);
    assert_memory_not_equal(a.out, b.out, bytes);
    pgcn_visits_free(first);
    must(pgcn_visits_sample(second, SEED, DRAW));
    run_float(second, C, true, &b);
    assert_memory_equal(a.out, b.out, bytes);
    must(pgcn_visits_sample(second, SEED + 1, DRAW));
    run_float(second, C, true, &b);
    assert_memory_not_equal(a.out, b.out, bytes);
    pgcn_visits_free(second);
    arrays_free(&a), arrays_free(&b), arrays_free(&c);
    pgcn_graph_free(graph);
}

typedef struct shared_use {
    const pgcn_visits *visits;
    arrays a;
    int64_t c;
} shared_use;

static void *use_often(void *argument) {
    const shared_use *use = argument;
    for (int i = 0; i < 20; i++) run_float(use->visits, use->c, true, &use->a);
    return NULL;
}

static void test_visits_beside_each_other_may_be_used_by_two_threads(void **state) {
    (void)state;
    enum { N = 300 };
    pgcn_graph *graph = graph_of(&CASES[5], N);
    shared_use use[3] = {{.c = 20}, {.c = 33}, {.c = 20}};
    pgcn_visits *visits = visits_of(&CASES[5], graph, 2), *beside = NULL;
    must(pgcn_visits_new_beside(visits, &beside));
    for (int i = 0; i < 3; i++) use[i].a = arrays_of(N, use[i].c, 5, true);
    use[0].visits = use[2].visits = visits;
    use[1].visits = beside;
    run_float(visits, 20, true, &use[2].a);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, use_often, &use[1]), 0);
    use_often(&use[0]);
    pthread_join(thread, NULL);
    assert_memory_equal(use[0].a.dx, use[2].a.dx, (size_t)use[0].a.rows * sizeof(float));
    for (int i = 0; i < 3; i++) arrays_free(&use[i].a);
    pgcn_visits_free(visits);
    pgcn_visits_free(beside);
    pgcn_graph_free(graph);
}

/* ---- memory and errors ------------------------------------------------------------------------------ */

static void test_pathconv_allocates_nothing_after_the_first_step(void **state) {
    (void)state;
    enum { N = 80, C = 12 };
    for (int at = 0; at < CASE_COUNT; at++) {
        pgcn_graph *graph = graph_of(&CASES[at], N);
        pgcn_visits *visits = visits_of(&CASES[at], graph, 2);
        arrays a = arrays_of(N, C, CASES[at].length, false);
        int64_t before = 0;
        for (int step = 0; step < 3; step++) {
            if (step == 1) before = pgcn_i_alloc_count();
            if (CASES[at].form == SAMPLED) must(pgcn_visits_sample(visits, SEED, (uint64_t)step));
            run_float(visits, C, false, &a);
            run_double(visits, C, false, &a);
        }
        assert_int_equal(pgcn_i_alloc_count(), before);
        arrays_free(&a);
        pgcn_visits_free(visits);
        pgcn_graph_free(graph);
    }
}

static const walk_case *memory_case;
static pgcn_graph *memory_graph;
static arrays memory_arrays;

static pgcn_status use_memory(void) {
    pgcn_paths_opts opts = opts_of(memory_case, 2);
    pgcn_visits *visits = NULL, *beside = NULL;
    const arrays *a = &memory_arrays;
    pgcn_status status =
        pgcn_visits_new(memory_graph, &opts, memory_case->scaling, memory_case->form, &visits);
    if (status == PGCN_OK) status = pgcn_visits_new_beside(visits, &beside);
    if (status == PGCN_OK && memory_case->form == SAMPLED)
        status = pgcn_visits_sample(beside, 1, 1);
    if (status == PGCN_OK) status = pgcn_pathconv_forward(beside, 3, false, a->x, a->s, a->out);
    if (status == PGCN_OK)
        status = pgcn_pathconv_backward(beside, 3, false, a->x, a->s, a->g, a->dx, a->ds);
    if (status == PGCN_OK)
        status =
            pgcn_pathconv_backward_double(beside, 3, false, a->x2, a->s2, a->g2, a->dx2, a->ds2);
    pgcn_visits_free(visits);
    pgcn_visits_free(beside);
    return status;
}

static void test_pathconv_without_memory_is_an_error(void **state) {
    (void)state;
    for (int at = 0; at < CASE_COUNT; at++) {
        memory_case = &CASES[at];
        memory_graph = graph_of(memory_case, 20);
        memory_arrays = arrays_of(20, 3, memory_case->length, false);
        assert_true(fail_every_allocation(use_memory) > 3);
        arrays_free(&memory_arrays);
        pgcn_graph_free(memory_graph);
    }
}

static void test_visits_wrong_settings_are_refused_with_a_sentence(void **state) {
    (void)state;
    pgcn_graph *graph = graph_of(&CASES[0], 9);
    pgcn_visits *visits = NULL;
    pgcn_paths_opts opts = opts_of(&CASES[3], 1);
    must_fail(pgcn_visits_new(graph, &opts, WALK, EXACT, &visits), PGCN_ERR_ARGUMENT,
              "node2vec walks have no exact form");
    opts.walk = PGCN_WALK_UNIFORM;
    must_fail(pgcn_visits_new(graph, &opts, WALK, SAMPLED, &visits), PGCN_ERR_ARGUMENT,
              "do nothing: walk is not node2vec");
    opts = opts_of(&CASES[0], 1);
    must_fail(pgcn_visits_new(graph, &opts, PGCN_SCALING_SUM, EXACT, &visits), PGCN_ERR_ARGUMENT,
              "scaling is 2");
    must_fail(pgcn_visits_new(graph, &opts, WALK, (pgcn_form)7, &visits), PGCN_ERR_ARGUMENT,
              "form is 7");
    opts.seed = 4;
    must_fail(pgcn_visits_new(graph, &opts, WALK, SAMPLED, &visits), PGCN_ERR_ARGUMENT,
              "pgcn_visits_sample()");
    assert_null(visits);

    float x[9] = {0};
    opts.seed = 0;
    must(pgcn_visits_new(graph, &opts, WALK, SAMPLED, &visits));
    must_fail(pgcn_pathconv_forward(visits, 1, true, x, x, x), PGCN_ERR_ARGUMENT, "no paths yet");
    must_fail(pgcn_visits_sample(visits, 1, UINT64_C(1) << 32), PGCN_ERR_ARGUMENT, "below 2^32");
    must_fail(pgcn_visits_sample(visits, UINT64_MAX, 0), PGCN_ERR_ARGUMENT, "seed");
    pgcn_visits_free(visits);
    must(pgcn_visits_new(graph, NULL, WALK, EXACT, &visits));
    must_fail(pgcn_visits_sample(visits, 1, 1), PGCN_ERR_ARGUMENT, "has no paths");
    must_fail(pgcn_pathconv_forward(visits, 0, true, x, x, x), PGCN_ERR_ARGUMENT, "channels is 0");
    pgcn_visits_free(visits);
    pgcn_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pathconv_double_equals_dense_matrices),
        cmocka_unit_test(test_pathconv_double_gradients_are_slopes),
        cmocka_unit_test(test_pathconv_float_equals_double_for_any_channels),
        cmocka_unit_test(test_pathconv_float_equals_double_for_far_rows),
        cmocka_unit_test(test_pathconv_gradients_that_are_not_wanted_change_no_other),
        cmocka_unit_test(test_pathconv_any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(test_visits_beside_each_other_keep_their_own_draws),
        cmocka_unit_test(test_visits_beside_each_other_may_be_used_by_two_threads),
        cmocka_unit_test(test_pathconv_allocates_nothing_after_the_first_step),
        cmocka_unit_test(test_pathconv_without_memory_is_an_error),
        cmocka_unit_test(test_visits_wrong_settings_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
