/* The promise behind the whole method: the sampled operators S_i tend to the powers T^i of the
 * transition matrix, at the rate 1/sqrt(p). Four times the paths, half the error. */
#include "sampling_help.h"

enum { N = 24, K = 5, FIRST_P = 16, SIZES = 4, DRAWS = 12 };

typedef struct rule {
    const char *name;
    pgcn_walk walk;
    bool may_stay, symmetric;
} rule;

/* T in double, straight from the definition: D^-1 A or D^-1/2 A D^-1/2 of A or A + I. */
static void transition(const pgcn_graph *graph, const rule *r, double t[N][N], float *degree) {
    double sum[N] = {0};
    memset(t, 0, sizeof(double[N][N]));
    for (int j = 0; j < N; j++) {
        for (int64_t e = graph->offset[j]; e < graph->offset[j + 1]; e++)
            t[j][graph->neighbour[e]] +=
                r->walk == PGCN_WALK_WEIGHTED ? (double)graph->weight[e] : 1;
        if (r->may_stay || graph->offset[j] == graph->offset[j + 1]) t[j][j] += 1;
        for (int u = 0; u < N; u++) sum[j] += t[j][u];
        degree[j] = (float)sum[j];
    }
    for (int j = 0; j < N; j++)
        for (int u = 0; u < N; u++) t[j][u] /= r->symmetric ? sqrt(sum[j] * sum[u]) : sum[j];
}

static void multiply(double a[N][N], double b[N][N], double out[N][N]) {
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            out[i][j] = 0;
            for (int l = 0; l < N; l++) out[i][j] += a[i][l] * b[l][j];
        }
    }
}

/* error[i] = Frobenius norm of S_i - power[i], root mean square over the draws. */
static void measure(const pgcn_graph *graph, const rule *r, int p, double power[K][N][N],
                    const float *degree, double error[K]) {
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    opts.walk = r->walk;
    opts.may_stay = r->may_stay;
    opts.paths = p;
    opts.length = K;
    pgcn_i_walker walker;
    pgcn_i_visits *visits = NULL;
    pgcn_i_pool *pool = NULL;
    must(pgcn_i_walker_init(&walker, graph, &opts));
    must(pgcn_i_visits_new(&walker, NULL, 1, false, &visits));
    must(pgcn_i_pool_new(1, &pool));
    memset(error, 0, K * sizeof *error);
    for (int draw = 0; draw < DRAWS; draw++) {
        pgcn_i_visits_sample(visits, &walker, pool, (pgcn_i_path_draw){4, PGCN_I_RNG_WALK, draw, 0},
                             r->symmetric ? degree : NULL);
        for (int i = 1; i < K; i++) {
            static double difference[N][N];
            memcpy(difference, power[i], sizeof difference);
            const pgcn_i_csr *s = &visits->hop[i - 1];
            for (int j = 0; j < N; j++)
                for (int64_t e = s->offset[j]; e < s->offset[j + 1]; e++)
                    difference[j][s->column[e]] -= (double)s->value[e];
            for (int j = 0; j < N; j++)
                for (int u = 0; u < N; u++) error[i] += difference[j][u] * difference[j][u];
        }
    }
    for (int i = 1; i < K; i++) error[i] = sqrt(error[i] / DRAWS);
    pgcn_i_pool_free(pool);
    pgcn_i_visits_free(visits);
    pgcn_i_walker_free(&walker);
}

static void check_rate(const rule *r) {
    /* 40 edges on 24 nodes: hubs, leaves and, at this seed, four self-loops and a node
     * without edges */
    pgcn_graph *graph = random_graph(N, 40, true, false, true, 84);
    static double power[K][N][N];
    float degree[N];
    transition(graph, r, power[1], degree);
    for (int i = 2; i < K; i++) multiply(power[i - 1], power[1], power[i]);
    double error[SIZES][K];
    for (int size = 0; size < SIZES; size++)
        measure(graph, r, FIRST_P << 2 * size, power, degree, error[size]);
    for (int i = 1; i < K; i++) {
        for (int size = 1; size < SIZES; size++) {
            double ratio = error[size - 1][i] / error[size][i];
            if (!(ratio > 1.6 && ratio < 2.5))
                fail_msg("%s, hop %d: the error goes from %g at p = %d to %g at p = %d: ratio %g",
                         r->name, i, error[size - 1][i], FIRST_P << 2 * (size - 1), error[size][i],
                         FIRST_P << 2 * size, ratio);
        }
        assert_true(error[SIZES - 1][i] < 0.3); /* the norm of T^i is above 1 */
    }
    pgcn_graph_free(graph);
}

static void test_visits_uniform_converge_to_powers_of_the_transition_matrix(void **state) {
    (void)state;
    check_rate(&(rule){"uniform", PGCN_WALK_UNIFORM, false, false});
}

static void test_visits_with_staying_converge_to_powers_with_self_loops(void **state) {
    (void)state;
    check_rate(&(rule){"may stay", PGCN_WALK_UNIFORM, true, false});
}

static void test_visits_symmetric_scaling_converges_to_the_symmetric_powers(void **state) {
    (void)state;
    check_rate(&(rule){"symmetric", PGCN_WALK_UNIFORM, false, true});
    check_rate(&(rule){"symmetric, may stay", PGCN_WALK_UNIFORM, true, true});
}

static void test_visits_weighted_converge_to_powers_of_the_weighted_matrix(void **state) {
    (void)state;
    check_rate(&(rule){"weighted", PGCN_WALK_WEIGHTED, false, false});
    check_rate(&(rule){"weighted, may stay, symmetric", PGCN_WALK_WEIGHTED, true, true});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_visits_uniform_converge_to_powers_of_the_transition_matrix),
        cmocka_unit_test(test_visits_with_staying_converge_to_powers_with_self_loops),
        cmocka_unit_test(test_visits_symmetric_scaling_converges_to_the_symmetric_powers),
        cmocka_unit_test(test_visits_weighted_converge_to_powers_of_the_weighted_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
