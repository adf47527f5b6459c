/* The numbers behind figures: rows of operators against dense powers in double precision, energies and distances against
 * plain loops over all pairs, and that sampled operators near the exact one as 1/sqrt(p). */
#include "nn_help.h"

#include "bytes_help.h"
#include "experiments/figures.h"
#include "scratch_help.h"

#include <math.h>

/* ---- operators ------------------------------------------------------------------------------------ */

enum { N = 14, K = 4 };
static const double kernel[K] = {0.5, -1.25, 2, 0.75};

/* Rows of D^-1 A, or of D~^-1/2 (A + I) D~^-1/2, as the library takes a walk that may stay, scaled. */
static void dense_transition(const pgcn_graph *graph, bool symmetric, double t[N][N]) {
    const int64_t *offset;
    const pgcn_node *neighbour;
    double degree[N] = {0};
    pgcn_graph_csr(graph, &offset, &neighbour, NULL);
    memset(t, 0, N * sizeof t[0]);
    for (int64_t i = 0; i < N; i++) {
        for (int64_t e = offset[i]; e < offset[i + 1]; e++) t[i][neighbour[e]] = 1;
        if (symmetric || offset[i] == offset[i + 1]) t[i][i] = 1;
        for (int j = 0; j < N; j++) degree[i] += t[i][j];
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) t[i][j] /= symmetric ? sqrt(degree[i] * degree[j]) : degree[i];
}

static void dense_row(double t[N][N], int origin, double row[N]) {
    double v[N] = {0}, next[N];
    v[origin] = 1;
    for (int j = 0; j < N; j++) row[j] = 0;
    for (int i = 0; i < K; i++) {
        for (int j = 0; j < N; j++) row[j] += kernel[i] * v[j];
        for (int j = 0; j < N; j++) {
            next[j] = 0;
            for (int u = 0; u < N; u++) next[j] += v[u] * t[u][j];
        }
        memcpy(v, next, sizeof v);
    }
}

static void test_operator_rows_are_those_of_dense_powers(void **state) {
    (void)state;
    pgcn_graph *graph = random_graph(N, 2 * N, false, false, false, 3);
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        pgcn_paths_opts opts = pgcn_paths_opts_default();
        pgcn_visits *visits;
        double t[N][N], got[N], want[N];
        opts.length = K;
        opts.may_stay = symmetric;
        must(pgcn_visits_new(graph, &opts, symmetric ? PGCN_SCALING_SYMMETRIC : PGCN_SCALING_WALK,
                             PGCN_FORM_EXACT, &visits));
        dense_transition(graph, symmetric, t);
        for (int origin = 0; origin < N; origin++) {
            must(exp_operator_row(visits, N, kernel, origin, got));
            dense_row(t, origin, want);
            for (int j = 0; j < N; j++) assert_close(got[j], want[j], 1e-6);
        }
        pgcn_visits_free(visits);
    }
    pgcn_graph_free(graph);
}

/* out = a b */
static void dense_product(double a[N][N], double b[N][N], double out[N][N]) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            out[i][j] = 0;
            for (int u = 0; u < N; u++) out[i][j] += a[i][u] * b[u][j];
        }
}

/* M_l+1 = (1 - alpha) K_l M_l + alpha R, as matrices from the first layer on. */
static void test_composed_operators_are_products_of_matrices(void **state) {
    (void)state;
    enum { LAYERS = 3, LENGTH = 2 };
    static const double kernels[LAYERS * LENGTH] = {0.5, 1.5, -1, 0.25, 2, -0.75};
    pgcn_graph *graph = random_graph(N, 2 * N, false, false, false, 3);
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    pgcn_visits *visits;
    double t[N][N], got[N];
    opts.length = LENGTH;
    must(pgcn_visits_new(graph, &opts, PGCN_SCALING_WALK, PGCN_FORM_EXACT, &visits));
    dense_transition(graph, false, t);
    for (int residual = PGCN_RESIDUAL_NONE; residual <= PGCN_RESIDUAL_PREVIOUS; residual++) {
        pgcn_config config = pgcn_config_default();
        double m[N][N] = {{0}}, k[N][N], next[N][N], alpha = residual ? 0.3 : 0;
        config.layers = LAYERS;
        config.path_length = LENGTH;
        config.residual = (pgcn_residual)residual;
        config.alpha = 0.3;
        for (int i = 0; i < N; i++) m[i][i] = 1;
        for (int l = 0; l < LAYERS; l++) {
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++)
                    k[i][j] = kernels[2 * l] * (i == j) + kernels[2 * l + 1] * t[i][j];
            dense_product(k, m, next);
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++)
                    m[i][j] = (1 - alpha) * next[i][j] +
                              alpha * (residual == PGCN_RESIDUAL_PREVIOUS ? m[i][j] : i == j);
        }
        for (int origin = 0; origin < N; origin++) {
            must(exp_operator_compose(visits, N, &config, kernels, origin, got));
            for (int j = 0; j < N; j++) assert_close(got[j], m[origin][j], 1e-6);
        }
    }
    pgcn_visits_free(visits);
    pgcn_graph_free(graph);
}

/* What Figure 2 draws, on another graph. */
static void test_sampled_operators_near_the_exact_one_by_the_root_of_p(void **state) {
    (void)state;
    enum { STEPS = 6, DRAWS = 300 };
    static const double p[STEPS] = {1, 4, 16, 64, 256, 1024};
    pgcn_graph *graph = random_graph(N, 3 * N, false, false, false, 5);
    double t[N][N], want[N], row[N], apart[STEPS];
    dense_transition(graph, false, t);
    dense_row(t, 2, want);
    for (int i = 0; i < STEPS; i++) {
        pgcn_paths_opts opts = pgcn_paths_opts_default();
        pgcn_visits *visits;
        double squares = 0;
        opts.length = K;
        opts.paths = (int)p[i];
        opts.threads = 1;
        must(pgcn_visits_new(graph, &opts, PGCN_SCALING_WALK, PGCN_FORM_SAMPLED, &visits));
        for (uint64_t draw = 0; draw < DRAWS; draw++) {
            must(pgcn_visits_sample(visits, 1, draw));
            must(exp_operator_row(visits, N, kernel, 2, row));
            for (int j = 0; j < N; j++) squares += (row[j] - want[j]) * (row[j] - want[j]);
        }
        apart[i] = sqrt(squares / DRAWS);
        pgcn_visits_free(visits);
    }
    assert_close(exp_log_slope(STEPS, p, apart), -0.5, 0.03);
    pgcn_graph_free(graph);
}

static void test_slope_is_the_exponent_of_a_power(void **state) {
    (void)state;
    const double x[] = {1, 3, 10, 40}, y[] = {5, 5 * 9, 5 * 100, 5 * 1600};
    assert_close(exp_log_slope(4, x, y), 2, 1e-12);
}

/* ---- smoothness ----------------------------------------------------------------------------------- */

enum { C = 5 };

static exp_smoothness plain(const pgcn_graph *graph, const float *h) {
    const int64_t *offset;
    const pgcn_node *neighbour;
    exp_smoothness s = {0};
    double squares = 0, cosines = 0;
    int64_t pairs = 0;
    pgcn_graph_csr(graph, &offset, &neighbour, NULL);
    for (int i = 0; i < N; i++) {
        double own = 0;
        for (int k = 0; k < C; k++) own += (double)h[i * C + k] * (double)h[i * C + k];
        squares += own;
        s.zeros += own <= 0;
        for (int j = 0; j < N; j++) {
            double dot = 0, other = 0, d = 0;
            bool joined = false;
            for (int64_t e = offset[i]; e < offset[i + 1]; e++) joined |= neighbour[e] == j;
            for (int k = 0; k < C; k++) {
                double a = (double)h[i * C + k], b = (double)h[j * C + k];
                dot += a * b;
                other += b * b;
                double x = a / sqrt(1 + (double)(offset[i + 1] - offset[i])) -
                           b / sqrt(1 + (double)(offset[j + 1] - offset[j]));
                d += x * x;
            }
            if (joined && i < j) s.energy += d;
            if (i == j || own <= 0 || other <= 0) continue;
            cosines += dot / sqrt(own * other);
            pairs++;
        }
    }
    s.share = s.energy / squares;
    s.distance = 1 - cosines / (double)pairs;
    return s;
}

static void test_smoothness_is_that_of_plain_loops(void **state) {
    (void)state;
    pgcn_graph *graph = random_graph(N, 2 * N, false, false, false, 7);
    float *h = ref_random_floats(8, N * C);
    for (int k = 0; k < C; k++) h[3 * C + k] = 0; /* a row that a ReLU has emptied */
    exp_smoothness want = plain(graph, h), got;
    assert_true(exp_smoothness_of(graph, C, h, &got));
    assert_close(got.energy, want.energy, 1e-9);
    assert_close(got.share, want.share, 1e-9);
    assert_close(got.distance, want.distance, 1e-9);
    assert_int_equal(got.zeros, 1);
    free(h);
    pgcn_graph_free(graph);
}

/* Rows that are multiples of sqrt(1 + d_i) are what smoothing ends at: no energy and no angle. */
static void test_smoothness_of_a_smooth_signal_is_zero(void **state) {
    (void)state;
    pgcn_graph *graph = random_graph(N, 2 * N, false, false, false, 7);
    const int64_t *offset;
    float h[N * C], zero[N * C] = {0};
    exp_smoothness s;
    pgcn_graph_csr(graph, &offset, NULL, NULL);
    for (int i = 0; i < N * C; i++)
        h[i] = (float)(sqrt(1 + (double)(offset[i / C + 1] - offset[i / C])) * (i % C - 2));
    assert_true(exp_smoothness_of(graph, C, h, &s));
    assert_true(s.energy < 1e-10 && s.share < 1e-10 && s.distance < 1e-10);
    assert_true(exp_smoothness_of(graph, C, zero, &s));
    assert_true(s.energy == 0 && isnan(s.share) && isnan(s.distance) && s.zeros == N);
    pgcn_graph_free(graph);
}

/* ---- files ---------------------------------------------------------------------------------------- */

static char *text_of(const char *file) {
    file_bytes b = bytes_of(scratch_path(file));
    char *text = calloc(b.count + 1, 1);
    memcpy(text, b.data, b.count);
    free(b.data);
    return text;
}

static void test_figure_files_hold_all_rows_and_panels(void **state) {
    (void)state;
    static const cli_command command = {.name = "test"};
    exp_request r = {.command = &command, .out = scratch_path("figures")};
    exp_figure f = {.name = "figure-9", .title = "A test", .columns = 2, .quick = "quick!"};
    must(pgcn_directory_make(r.out));
    for (int i = 0; i < 3; i++) {
        exp_panel *panel = exp_figure_panel(&f, 200, 200, "panel %d", i);
        report_node *node = EXP_KEEP(&f, report_node, 2);
        node[1].x = 1;
        panel->has_graph = true;
        panel->graph = (report_network){.nodes = 2, .node = node};
        exp_figure_row(&f, i < 2 ? json_pack("{s:i, s:s}", "a", i, "b", "x,y")
                                 : json_pack("{s:i, s:f}", "a", i, "c", 0.5));
    }
    must(exp_figure_write(&f, &r));
    char *svg = text_of("figures/figure-9.svg"), *csv = text_of("figures/figure-9.csv");
    assert_string_equal(csv, "a,b,c\n0,\"x,y\",\n1,\"x,y\",\n2,,0.5\n");
    assert_non_null(strstr(svg, "viewBox=\"0 0 418 472\""));
    assert_non_null(strstr(svg, "panel 2"));
    assert_non_null(strstr(svg, "quick!"));
    free(csv), free(svg);
    exp_figure_free(&f);
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operator_rows_are_those_of_dense_powers),
        cmocka_unit_test(test_composed_operators_are_products_of_matrices),
        cmocka_unit_test(test_sampled_operators_near_the_exact_one_by_the_root_of_p),
        cmocka_unit_test(test_slope_is_the_exponent_of_a_power),
        cmocka_unit_test(test_smoothness_is_that_of_plain_loops),
        cmocka_unit_test(test_smoothness_of_a_smooth_signal_is_zero),
        IN_SCRATCH(test_figure_files_hold_all_rows_and_panels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
