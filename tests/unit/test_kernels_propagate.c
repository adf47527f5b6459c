/* A step along a sparse matrix, the flux along its entries and layer norm, on every instruction set and around vector widths. */
#include "kernels_help.h"

#include <math.h>

enum { N = 37, FIRST = 74, FROM = 5, TO = 30 };
static const double TOLERANCE = 2e-6;

typedef struct step_case {
    pgcn_i_csr a;
    float *x, *plus[2];
    uint8_t live[N];
} step_case;

/* Rows FIRST .. FIRST + N - 1 of the result are a sample: the third of a stack. */
static step_case step_new(int64_t c) {
    step_case s = {.a = ref_random_csr(3, N, N), .x = ref_random_floats(4, N * c)};
    for (int p = 0; p < 2; p++) s.plus[p] = ref_random_floats((uint64_t)(5 + p), (FIRST + N) * c);
    for (int i = 0; i < N; i++) s.live[i] = i % 3 != 1;
    return s;
}
static void step_free(step_case *s) {
    ref_csr_free(&s->a);
    free(s->x), free(s->plus[0]), free(s->plus[1]);
}

/* The definition in kernels.h. */
static double *step_reference(const step_case *s, int64_t c, bool live) {
    double *out = ref_zeros(N * c);
    for (int64_t r = 0; r < N; r++)
        for (int64_t ch = 0; ch < c; ch++) {
            double sum = 0;
            for (int64_t e = s->a.offset[r]; e < s->a.offset[r + 1]; e++)
                if (!live || s->live[s->a.column[e]])
                    sum += (double)s->a.value[e] * (double)s->x[s->a.column[e] * c + ch];
            double self = !live || s->live[r] ? (double)s->x[r * c + ch] : 0;
            out[r * c + ch] = 0.5 * self - 1.25 * sum +
                              2 * (double)s->plus[0][(FIRST + r) * c + ch] -
                              (double)s->plus[1][(FIRST + r) * c + ch];
        }
    return out;
}

static pgcn_i_propagate step_args(const step_case *s, int64_t c, bool live, bool prefetch) {
    return (pgcn_i_propagate){.a = &s->a,
                              .first = FIRST,
                              .x = s->x,
                              .x_c = c,
                              .out_c = c,
                              .width = c,
                              .self = 0.5f,
                              .neighbours = -1.25f,
                              .plus = {{s->plus[0], c, 2}, {s->plus[1], c, -1}},
                              .live = live ? s->live : NULL,
                              .prefetch = prefetch};
}

static void test_propagate_all_sizes_match_the_definition(void **state) {
    (void)state;
    FOR_EACH_SIZE(c) {
        step_case s = step_new(c);
        for (int form = 0; form < 4; form++) FOR_EACH_TABLE(table) {
                double *want = step_reference(&s, c, form & 1);
                float *out = ref_filled_floats(MARK, N * c);
                pgcn_i_propagate args = step_args(&s, c, form & 1, form & 2);
                args.out = out - FIRST * c; /* row r of the stack */
                table->propagate(&args, (pgcn_i_rows){NULL, FIRST + FROM, TO - FROM});
                check_rows(table, "propagate", out, want, N, FROM, TO, c, TOLERANCE);
                free(out), free(want);
            }
        step_free(&s);
    }
}

/* The rows of a list, one after the other. */
static void test_propagate_packs_the_rows_of_a_list(void **state) {
    (void)state;
    const pgcn_node list[] = {FIRST + 3, FIRST + 4, FIRST + 11, FIRST + 36, FIRST};
    enum { LISTED = sizeof list / sizeof *list };
    FOR_EACH_SIZE(c) {
        step_case s = step_new(c);
        for (int form = 0; form < 4; form++) FOR_EACH_TABLE(table) {
                double *all = step_reference(&s, c, form & 1), *want = ref_zeros(LISTED * c);
                float *out = ref_filled_floats(MARK, LISTED * c);
                pgcn_i_propagate args = step_args(&s, c, form & 1, form & 2);
                for (int i = 0; i < LISTED; i++)
                    memcpy(want + i * c, all + (list[i] - FIRST) * c, (size_t)c * sizeof *want);
                args.out = out;
                args.packed = true;
                table->propagate(&args, (pgcn_i_rows){list, 0, LISTED});
                check(table, "packed propagate", c, out, want, LISTED * c, TOLERANCE);
                free(out), free(want), free(all);
            }
        step_free(&s);
    }
}

/* ---- flux ---------------------------------------------------------------------------------------- */

static double flow(double d, pgcn_i_flow kind) {
    if (kind == PGCN_I_FLOW_TANH) return tanh(d);
    if (kind == PGCN_I_FLOW_POSITIVE) return fmax(d, 0);
    return kind == PGCN_I_FLOW_NEGATIVE ? fmin(d, 0) : d;
}
static double flow_slope(double d, pgcn_i_flow kind) {
    if (kind == PGCN_I_FLOW_TANH) return 1 - tanh(d) * tanh(d);
    if (kind == PGCN_I_FLOW_POSITIVE) return d > 0;
    return kind == PGCN_I_FLOW_NEGATIVE ? d < 0 : 1;
}

/* The definition in kernels.h; p is the case's x, and g its first `plus` unless that is NULL. */
static double *flux_reference(const step_case *s, const pgcn_i_flux *args, int64_t c) {
    double *out = ref_zeros(N * c);
    for (int64_t r = 0; r < N; r++)
        for (int m = 0; m < 2 && args->a[m]; m++)
            for (int64_t e = args->a[m]->offset[r]; e < args->a[m]->offset[r + 1]; e++)
                for (int64_t ch = 0; ch < c; ch++) {
                    int64_t own = r * c + ch, other = args->a[m]->column[e] * c + ch;
                    double w = (double)args->a[m]->value[e];
                    double d = w * ((double)s->x[own] - (double)s->x[other]);
                    double g[2] = {(double)s->plus[0][own], (double)s->plus[0][other]};
                    if (args->live && !args->live[r]) g[0] = 0;
                    if (args->live && !args->live[args->a[m]->column[e]]) g[1] = 0;
                    out[own] += (double)args->factor *
                                (args->g ? w * w * flow_slope(d, args->flow[m]) * (g[0] - g[1])
                                         : w * flow(d, args->flow[m]));
                }
    return out;
}

/* One matrix and two, all flows, forward, backward and backward of live rows. The differences of 3 x reach where
 * tanh is flat. */
static void test_flux_all_sizes_match_the_definition(void **state) {
    (void)state;
    FOR_EACH_SIZE(c) {
        step_case s = step_new(c);
        pgcn_i_csr turned = ref_csr_transposed(&s.a, N);
        for (int64_t i = 0; i < N * c; i++) s.x[i] *= 3;
        for (int form = 0; form < 12; form++) FOR_EACH_TABLE(table) {
                const int kind = form % 4, pass = form / 4;
                pgcn_i_flux args = {.a = {&s.a, kind == PGCN_I_FLOW_LINEAR ? NULL : &turned},
                                    .flow = {(pgcn_i_flow)kind, (pgcn_i_flow)(kind ^ 1)},
                                    .factor = 1.5f,
                                    .first = FIRST,
                                    .c = c,
                                    .p = s.x,
                                    .g = pass > 0 ? s.plus[0] : NULL,
                                    .live = pass > 1 ? s.live : NULL};
                double *want = flux_reference(&s, &args, c);
                float *out = ref_filled_floats(MARK, N * c);
                args.out = pass > 0 ? out + FROM * c : out - FIRST * c;
                table->flux(&args, (pgcn_i_rows){NULL, FIRST + FROM, TO - FROM});
                check_rows(table, "flux", out, want, N, FROM, TO, c, TOLERANCE);
                free(out), free(want);
            }
        ref_csr_free(&turned);
        step_free(&s);
    }
}

/* Between two rows without a gradient p is not read: it may not have been computed. */
static void test_flux_reads_no_row_that_does_not_matter(void **state) {
    (void)state;
    int64_t offset[] = {0, 2, 4, 6};
    pgcn_node column[] = {1, 2, 0, 2, 0, 1};
    float value[] = {1, 1, 1, 1, 1, 1};
    const float p[] = {1, 2, NAN}, g[] = {1, NAN, NAN};
    const uint8_t live[] = {1, 0, 0};
    pgcn_i_csr a = {.rows = 3, .offset = offset, .column = column, .value = value};
    FOR_EACH_TABLE(table) {
        float out[1] = {0};
        pgcn_i_flux args = {.a = {&a},
                            .flow = {PGCN_I_FLOW_TANH},
                            .factor = 1,
                            .c = 1,
                            .p = p,
                            .g = g,
                            .out = out,
                            .live = live};
        table->flux(&args, (pgcn_i_rows){NULL, 1, 1});
        assert_true(fabs((double)out[0] + flow_slope(1, PGCN_I_FLOW_TANH)) < 1e-6);
    }
}

static void test_flux_tanh_keeps_nan_and_reaches_one(void **state) {
    (void)state;
    int64_t offset[] = {0, 1, 1};
    pgcn_node column[] = {1};
    float value[] = {1};
    pgcn_i_csr a = {.rows = 2, .offset = offset, .column = column, .value = value};
    FOR_EACH_TABLE(table) for (double x = -40; x < 41; x += 0.37) {
        float p[2] = {x > 40 ? NAN : (float)x, 0}, out[1] = {0};
        pgcn_i_flux args = {
            .a = {&a}, .flow = {PGCN_I_FLOW_TANH}, .factor = 1, .c = 1, .p = p, .out = out};
        table->flux(&args, (pgcn_i_rows){NULL, 0, 1});
        if (x > 40)
            assert_true(isnan(out[0]));
        else
            assert_true(fabs((double)out[0] - tanh((double)p[0])) <=
                        4e-7 * fabs(tanh((double)p[0])));
    }
}

/* Distances between rows that are wider than what is read, as Chebyshev's polynomials have them. */
static void test_propagate_leaves_other_columns_alone(void **state) {
    (void)state;
    enum { C = 9, WIDE = 23 };
    pgcn_i_csr a = ref_random_csr(3, N, N);
    float *x = ref_random_floats(4, N * WIDE);
    FOR_EACH_TABLE(table) {
        float *out = ref_filled_floats(MARK, N * WIDE);
        pgcn_i_propagate args = {.a = &a,
                                 .x = x + 5,
                                 .x_c = WIDE,
                                 .out = out + 7,
                                 .out_c = WIDE,
                                 .width = C,
                                 .neighbours = 1};
        table->propagate(&args, (pgcn_i_rows){NULL, 0, N});
        for (int64_t r = 0; r < N; r++)
            for (int64_t j = 0; j < WIDE; j++) {
                double want = (double)MARK;
                if (j >= 7 && j < 7 + C) {
                    want = 0;
                    for (int64_t e = a.offset[r]; e < a.offset[r + 1]; e++)
                        want += (double)a.value[e] * (double)x[a.column[e] * WIDE + 5 + j - 7];
                }
                assert_true(fabs((double)out[r * WIDE + j] - want) < 1e-5);
            }
        free(out);
    }
    free(x);
    ref_csr_free(&a);
}

/* The slope of <g, y> along every input, from the definition in double. */
static double norm_row(const double *x, const float *gain, const float *shift, const float *g,
                       int64_t c) {
    double mean = 0, square = 0, sum = 0;
    for (int64_t i = 0; i < c; i++) mean += x[i] / (double)c;
    for (int64_t i = 0; i < c; i++) square += (x[i] - mean) * (x[i] - mean) / (double)c;
    for (int64_t i = 0; i < c; i++)
        sum += (double)g[i] *
               ((double)gain[i] * (x[i] - mean) / sqrt(square + 1e-5) + (double)shift[i]);
    return sum;
}

static void test_layer_norm_and_its_gradient_match_the_definition(void **state) {
    (void)state;
    FOR_EACH_SIZE(c) {
        float *x = ref_random_floats(1, c), *gain = ref_random_floats(2, c),
              *shift = ref_random_floats(3, c);
        float *g = ref_random_floats(4, c);
        double *at = ref_doubles(x, c), *slope = ref_zeros(c);
        for (int64_t i = 0; i < c; i++) {
            double start = at[i], side[2];
            for (int s = 0; s < 2; s++) {
                at[i] = start + (s ? -1e-5 : 1e-5);
                side[s] = norm_row(at, gain, shift, g, c);
            }
            at[i] = start;
            slope[i] = (side[0] - side[1]) / 2e-5;
        }
        FOR_EACH_TABLE(table) {
            float *y = ref_filled_floats(MARK, c), *dx = ref_filled_floats(MARK, c);
            float *sums = ref_filled_floats(0, 2 * c);
            table->layer_norm_forward(y, x, gain, shift, 1, c);
            table->layer_norm_backward(dx, sums, g, x, gain, c);
            double found = 0, by_gain = 0, by_shift = 0;
            for (int64_t i = 0; i < c; i++) {
                found += (double)g[i] * (double)y[i];
                by_gain += (double)gain[i] * (double)sums[i];
                by_shift += (double)shift[i] * (double)sums[c + i];
                if (c > 1)
                    assert_true(fabs((double)dx[i] - slope[i]) < 1e-3 * (1 + fabs(slope[i])));
            }
            assert_true(fabs(found - norm_row(at, gain, shift, g, c)) < 1e-4 * (double)c);
            assert_true(fabs(found - by_gain - by_shift) <
                        1e-4 * (double)c); /* y is linear in them */
            free(y), free(dx), free(sums);
        }
        free(x), free(gain), free(shift), free(g), free(at), free(slope);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_propagate_all_sizes_match_the_definition),
        cmocka_unit_test(test_propagate_packs_the_rows_of_a_list),
        cmocka_unit_test(test_flux_all_sizes_match_the_definition),
        cmocka_unit_test(test_flux_reads_no_row_that_does_not_matter),
        cmocka_unit_test(test_flux_tanh_keeps_nan_and_reaches_one),
        cmocka_unit_test(test_propagate_leaves_other_columns_alone),
        cmocka_unit_test(test_layer_norm_and_its_gradient_match_the_definition),
    };
    int skipped = skip_isa();
    return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
