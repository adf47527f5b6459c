/* Kernels with a row of channels against the references in double, for every instruction set that
 * this processor has, over channel counts around the widths of vectors. The destination starts
 * with a mark, so that rows outside begin..end are seen to be untouched. The choice of the
 * instruction set: test_dispatch.c. Losses: test_kernels_loss.c; dropout: test_kernels_dropout.c; the dense product:
 * test_gemm.c. */
#include "ref/reference.h"
#include "kernels_help.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums of at most a few dozen products of floats near 1: a few times 2^-24, against the largest. */
#define TOLERANCE 2e-6

enum { N = 23, BEGIN = 3, END = 19, K = 4 };

/* ---- path convolution ---------------------------------------------------------------------- */

typedef struct walk_case {
    int64_t c;
    int k;
    float *h, *s, *g; /* [N, c], [k, c], [N, c] */
    double *h_d, *s_d, *g_d;
    pgcn_i_csr hop[K - 1], hop_t[K - 1];
} walk_case;

static walk_case walk_case_new(int64_t c, int k) {
    walk_case w = {.c = c, .k = k};
    w.h = ref_random_floats(1, N * c), w.h_d = ref_doubles(w.h, N * c);
    w.s = ref_random_floats(2, k * c), w.s_d = ref_doubles(w.s, k * c);
    w.g = ref_random_floats(3, N * c), w.g_d = ref_doubles(w.g, N * c);
    for (int i = 0; i < K - 1; i++) {
        w.hop[i] = ref_random_csr(10 + (uint64_t)i, N, N);
        w.hop_t[i] = ref_csr_transposed(&w.hop[i], N);
    }
    return w;
}

static void walk_case_free(walk_case *w) {
    free(w->h), free(w->s), free(w->g);
    free(w->h_d), free(w->s_d), free(w->g_d);
    for (int i = 0; i < K - 1; i++) ref_csr_free(&w->hop[i]), ref_csr_free(&w->hop_t[i]);
}

static pgcn_i_path_args args_of(const walk_case *w, const float *rows, const pgcn_i_csr *hop) {
    return (pgcn_i_path_args){
        .h = rows, .s = w->s, .hop = hop, .k = w->k, .c = w->c, .width = w->c};
}

static void test_pathconv_forward_all_sizes_match_reference(void **state) {
    (void)state;
    FOR_EACH_SIZE(c) {
        for (int k = 1; k <= K; k += K - 1) { /* a path of one node has no hops */
            walk_case w = walk_case_new(c, k);
            double *want = ref_zeros(N * c);
            ref_pathconv_forward(want, w.h_d, w.s_d, w.hop, k, N, c);
            FOR_EACH_TABLE(table) {
                float *out = ref_filled_floats(MARK, N * c);
                pgcn_i_path_args args = args_of(&w, w.h, w.hop);
                table->pathconv_forward(out, &args, (pgcn_i_rows){NULL, BEGIN, END - BEGIN});
                check_rows(table, "pathconv_forward", out, want, N, BEGIN, END, c, TOLERANCE);
                free(out);
            }
            free(want);
            walk_case_free(&w);
        }
    }
}

/* Two slabs of the channels, asked for early, give what one call gives. */
static void test_pathconv_forward_by_slabs_same_bits(void **state) {
    (void)state;
    const int64_t c = 37, cut = 16;
    walk_case w = walk_case_new(c, K);
    FOR_EACH_TABLE(table) {
        float *whole = ref_filled_floats(MARK, N * c), *slabs = ref_filled_floats(MARK, N * c);
        pgcn_i_path_args args = args_of(&w, w.h, w.hop);
        table->pathconv_forward(whole, &args, (pgcn_i_rows){NULL, BEGIN, END - BEGIN});
        args.prefetch = true;
        args.width = cut;
        table->pathconv_forward(slabs, &args, (pgcn_i_rows){NULL, BEGIN, END - BEGIN});
        args.h += cut, args.s += cut, args.width = c - cut;
        table->pathconv_forward(slabs + cut, &args, (pgcn_i_rows){NULL, BEGIN, END - BEGIN});
        assert_memory_equal(whole, slabs, (size_t)(N * c) * sizeof *whole);
        free(whole), free(slabs);
    }
    walk_case_free(&w);
}

static void test_pathconv_backward_all_sizes_match_reference(void **state) {
    (void)state;
    FOR_EACH_SIZE(c) {
        walk_case w = walk_case_new(c, K);
        double *dh = ref_zeros(N * c), *ds = ref_zeros(K * c);
        ref_pathconv_backward(dh, ds, w.g_d, w.h_d, w.s_d, w.hop, K, N, c);
        FOR_EACH_TABLE(table) {
            /* In two groups with a ds each, as nn calls it; old content of dh is ignored. */
            float *got = ref_filled_floats(NAN, N * c);
            float *ds_low = ref_filled_floats(0.25f, K * c);
            float *ds_high = ref_filled_floats(0.0f, K * c);
            pgcn_i_path_args args = args_of(&w, w.g, w.hop_t);
            table->pathconv_backward(got, ds_low, w.h, &args, (pgcn_i_rows){NULL, 0, 7});
            args.prefetch = true;
            table->pathconv_backward(got + 7 * c, ds_high, w.h, &args,
                                     (pgcn_i_rows){NULL, 7, N - 7});
            for (int64_t i = 0; i < K * c; i++) ds_low[i] += ds_high[i] - 0.25f;
            check(table, "pathconv_backward dh", c, got, dh, N * c, TOLERANCE);
            check(table, "pathconv_backward ds", c, ds_low, ds, K * c, TOLERANCE);
            free(got), free(ds_low), free(ds_high);
        }
        free(dh), free(ds);
        walk_case_free(&w);
    }
}

/* Rows that are not live hold NaN and count as zero; a list of rows gives tiles in its order. */
static void test_pathconv_backward_of_live_rows_matches_reference(void **state) {
    (void)state;
    FOR_EACH_SIZE(c) {
        walk_case w = walk_case_new(c, K);
        uint8_t live[N];
        pgcn_node list[N];
        int64_t listed = 0;
        for (int64_t j = 0; j < N; j++) {
            live[j] = j % 3 != 1;
            if (j % 4 != 2) list[listed++] = (pgcn_node)j;
            for (int64_t ch = 0; ch < c && !live[j]; ch++) w.g_d[j * c + ch] = 0;
            for (int64_t ch = 0; ch < c && !live[j]; ch++) w.g[j * c + ch] = NAN;
        }
        double *dh = ref_zeros(N * c), *ds = ref_zeros(K * c), *want = ref_zeros(N * c);
        ref_pathconv_backward(dh, ds, w.g_d, w.h_d, w.s_d, w.hop, K, N, c);
        for (int64_t i = 0; i < listed; i++)
            memcpy(want + i * c, dh + list[i] * c, (size_t)c * sizeof *dh);
        FOR_EACH_TABLE(table) {
            float *got = ref_filled_floats(NAN, N * c), *part = ref_filled_floats(0.0f, K * c);
            float *all = ref_filled_floats(NAN, N * c), *sum = ref_filled_floats(0.0f, K * c);
            pgcn_i_path_args args = args_of(&w, w.g, w.hop_t);
            args.live = live;
            args.prefetch = true;
            table->pathconv_backward(got, part, w.h, &args, (pgcn_i_rows){list, 0, listed});
            check(table, "listed rows of dh", c, got, want, listed * c, TOLERANCE);
            table->pathconv_backward(all, sum, w.h, &args, (pgcn_i_rows){NULL, 0, N});
            check(table, "all rows of dh", c, all, dh, N * c, TOLERANCE);
            check(table, "ds of live rows", c, sum, ds, K * c, TOLERANCE);
            free(got), free(part), free(all), free(sum);
        }
        free(dh), free(ds), free(want);
        walk_case_free(&w);
    }
}

/* A hub that more rows visit than the kernel packs at a time (64): not one of them is lost. */
static void test_pathconv_backward_of_a_hub_adds_all_live_visits(void **state) {
    (void)state;
    enum { MANY = 300, C = 17 };
    int64_t offset[] = {0, MANY};
    pgcn_node column[MANY];
    float value[MANY], s[2 * C] = {0}, h[MANY * C] = {0}, *g = ref_filled_floats(NAN, MANY * C);
    uint8_t live[MANY];
    const pgcn_i_csr visitors = {1, offset, column, value};
    double want = 0;
    for (int64_t j = 0; j < MANY; j++) {
        column[j] = (pgcn_node)j;
        value[j] = 1.0f / (float)(j + 1);
        live[j] = j % 4 != 1;
        for (int64_t ch = 0; ch < C && live[j]; ch++) g[j * C + ch] = (float)(j % 7 - 2);
        if (live[j]) want += (double)value[j] * (double)(j % 7 - 2);
    }
    for (int64_t ch = 0; ch < C; ch++) s[C + ch] = 2.0f, h[ch] = 3.0f;
    FOR_EACH_TABLE(table) {
        uint16_t *bf16 = calloc(MANY * C, sizeof *bf16); /* which holds these integers exactly */
        table->to_bf16(bf16, g, 0, MANY * C);
        for (int half = 0; half <= 1; half++) {
            float dh[C], ds[2 * C] = {0};
            pgcn_i_path_args args = {
                .h = g, .s = s, .hop = &visitors, .k = 2, .c = C, .width = C, .live = live};
            args.bf16 = half ? bf16 : NULL;
            table->pathconv_backward(dh, ds, h, &args, (pgcn_i_rows){NULL, 0, 1});
            for (int64_t ch = 0; ch < C; ch++) {
                assert_true(fabs((double)dh[ch] - 2 * want) < 1e-5);
                assert_true(fabs((double)ds[C + ch] - 3 * want) < 1e-5);
            }
        }
        free(bf16);
    }
    free(g);
}

static void test_bf16_rounds_to_nearest_even(void **state) {
    (void)state;
    static const struct {
        uint32_t bits;
        uint16_t want;
    } cases[] = {{0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82},
                 {0x3f808001, 0x3f81}, {0xbf807fff, 0xbf80}, {0x7f7fffff, 0x7f80},
                 {0x7f800000, 0x7f80}, {0x7f800001, 0x7fc0}, {0xffffffff, 0xffff}};
    enum { COUNT = sizeof cases / sizeof *cases };
    float x[COUNT];
    for (int i = 0; i < COUNT; i++) memcpy(&x[i], &cases[i].bits, sizeof x[i]);
    FOR_EACH_TABLE(table) {
        uint16_t out[COUNT + 1] = {[COUNT] = 77};
        table->to_bf16(out, x, 0, COUNT);
        for (int i = 0; i < COUNT; i++) assert_int_equal(out[i], cases[i].want);
        assert_int_equal(out[COUNT], 77);
    }
}

/* Visits read from bf16 are those of the rounded matrix; the row itself is not rounded, unless bf16 is all there is. */
static void test_pathconv_of_bf16_equals_that_of_rounded_floats(void **state) {
    (void)state;
    FOR_EACH_SIZE(c) {
        walk_case w = walk_case_new(c, K);
        uint16_t *bf16 = calloc((size_t)(N * c), sizeof *bf16);
        uint16_t *own = calloc((size_t)(N * c), sizeof *own);
        uint8_t live[N];
        for (int j = 0; j < N; j++) live[j] = j % 4 != 3;
        FOR_EACH_TABLE(table) {
            table->to_bf16(bf16, w.h, 0, N * c);
            float *rounded = ref_random_floats(9, N * c), *h = ref_random_floats(9, N * c);
            for (int64_t e = 0; e < N * c; e++) {
                uint32_t bits = (uint32_t)bf16[e] << 16;
                memcpy(&rounded[e], &bits, sizeof bits);
            }
            table->to_bf16(own, h, 0, N * c);
            table->from_bf16(h, own, N * c);
            for (int with_live = 0; with_live <= 1; with_live++) {
                float *a = ref_filled_floats(MARK, N * c), *b = ref_filled_floats(MARK, N * c);
                float *ds_a = ref_filled_floats(0, K * c), *ds_b = ref_filled_floats(0, K * c);
                pgcn_i_path_args args = args_of(&w, rounded, w.hop);
                args.live = with_live ? live : NULL;
                args.prefetch = true;
                table->pathconv_forward(a, &args, (pgcn_i_rows){NULL, 0, N});
                args.bf16 = bf16;
                table->pathconv_forward(b, &args, (pgcn_i_rows){NULL, 0, N});
                assert_memory_equal(a, b, (size_t)(N * c) * sizeof *a);
                args.hop = w.hop_t;
                table->pathconv_backward(b, ds_b, h, &args, (pgcn_i_rows){NULL, 0, N});
                args.bf16 = NULL;
                table->pathconv_backward(a, ds_a, h, &args, (pgcn_i_rows){NULL, 0, N});
                assert_memory_equal(a, b, (size_t)(N * c) * sizeof *a);
                assert_memory_equal(ds_a, ds_b, (size_t)(K * c) * sizeof *a);
                /* without any floats, and rows of a list side by side */
                const pgcn_node some[] = {4, 1, 9};
                memset(ds_b, 0, (size_t)(K * c) * sizeof *ds_b);
                args.h = NULL;
                args.bf16 = bf16;
                args.own_bf16 = own;
                table->pathconv_backward(b, ds_b, NULL, &args, (pgcn_i_rows){NULL, 0, N});
                assert_memory_equal(a, b, (size_t)(N * c) * sizeof *a);
                assert_memory_equal(ds_a, ds_b, (size_t)(K * c) * sizeof *a);
                args.packed = true;
                table->pathconv_forward(b, &args, (pgcn_i_rows){some, 0, 3});
                args = args_of(&w, rounded, w.hop_t);
                args.prefetch = true;
                args.live = with_live ? live : NULL;
                table->pathconv_forward(a, &args, (pgcn_i_rows){NULL, 0, N});
                for (int i = 0; i < 3; i++)
                    assert_memory_equal(b + i * c, a + some[i] * c, (size_t)c * sizeof *a);
                free(a), free(b), free(ds_a), free(ds_b);
            }
            free(rounded), free(h);
        }
        free(bf16), free(own);
        walk_case_free(&w);
    }
}

/* <g, pathconv(h; s)> as a function of h, or of s where s_varies. */
typedef struct inner_product {
    const walk_case *w;
    bool s_varies;
} inner_product;

static double pathconv_inner_product(const double *x, void *context) {
    const inner_product *f = context;
    const walk_case *w = f->w;
    double *out = ref_zeros(N * w->c), sum = 0.0;
    ref_pathconv_forward(out, f->s_varies ? w->h_d : x, f->s_varies ? x : w->s_d, w->hop, w->k, N,
                         w->c);
    for (int64_t i = 0; i < N * w->c; i++) sum += out[i] * w->g_d[i];
    free(out);
    return sum;
}

static void test_pathconv_backward_matches_finite_differences(void **state) {
    (void)state;
    const int64_t c = 5;
    walk_case w = walk_case_new(c, K);
    double *dh = ref_zeros(N * c), *ds = ref_zeros(K * c);
    ref_central_differences(dh, w.h_d, N * c, pathconv_inner_product, &(inner_product){&w, false});
    ref_central_differences(ds, w.s_d, K * c, pathconv_inner_product, &(inner_product){&w, true});
    FOR_EACH_TABLE(table) {
        float *dh_got = ref_filled_floats(NAN, N * c), *ds_got = ref_filled_floats(0.0f, K * c);
        pgcn_i_path_args args = args_of(&w, w.g, w.hop_t);
        table->pathconv_backward(dh_got, ds_got, w.h, &args, (pgcn_i_rows){NULL, 0, N});
        check(table, "dh by differences", c, dh_got, dh, N * c, TOLERANCE);
        check(table, "ds by differences", c, ds_got, ds, K * c, TOLERANCE);
        free(dh_got), free(ds_got);
    }
    free(dh), free(ds);
    walk_case_free(&w);
}

static void test_gather_and_horner_all_sizes_match_reference(void **state) {
    (void)state;
    FOR_EACH_SIZE(c) {
        walk_case w = walk_case_new(c, K);
        double *product = ref_zeros(N * c), *horner = ref_zeros(N * c), *first = ref_zeros(N * c);
        ref_csr_product(product, &w.hop[0], w.h_d, c);
        for (int64_t i = 0; i < N * c; i++) {
            horner[i] = w.s_d[i % c] * w.g_d[i] + product[i];
            first[i] = w.s_d[i % c] * w.g_d[i] + w.s_d[c + i % c] * product[i];
        }
        FOR_EACH_TABLE(table) {
            float *tile = ref_filled_floats(MARK, (END - BEGIN) * c);
            table->gather(tile, w.h, &w.hop[0], BEGIN, END, c);
            check(table, "gather", c, tile, product + BEGIN * c, (END - BEGIN) * c, TOLERANCE);
            float *out = ref_filled_floats(MARK, N * c);
            pgcn_i_horner_args args = {.out = out,
                                       .x = w.h,
                                       .h = w.g,
                                       .out_c = c,
                                       .x_c = c,
                                       .h_c = c,
                                       .width = c,
                                       .a = &w.hop[0],
                                       .s = w.s};
            table->horner(&args, BEGIN, END);
            check_rows(table, "horner", out, horner, N, BEGIN, END, c, TOLERANCE);
            args.s_x = w.s + c;
            args.prefetch = true;
            table->horner(&args, BEGIN, END);
            check_rows(table, "first pass of horner", out, first, N, BEGIN, END, c, TOLERANCE);
            free(tile), free(out);
        }
        free(product), free(horner), free(first);
        walk_case_free(&w);
    }
}

static void test_scale_dot_all_sizes_match_reference(void **state) {
    (void)state;
    FOR_EACH_SIZE(c) {
        walk_case w = walk_case_new(c, K);
        double *dh = ref_zeros(N * c), *ds = ref_zeros(c);
        for (int64_t i = BEGIN * c; i < END * c; i++) ds[i % c] += w.h_d[i] * w.g_d[i];
        FOR_EACH_TABLE(table) {
            for (int add = 0; add <= 1; add++) {
                float *got = ref_filled_floats(MARK, N * c), *sum = ref_filled_floats(0.0f, c);
                for (int64_t i = 0; i < N * c; i++)
                    dh[i] = w.s_d[i % c] * w.g_d[i] + (add ? (double)MARK : 0.0);
                const pgcn_i_power_gradient args = {
                    .dh = got, .ds = sum, .q = w.g, .h = w.h, .s = w.s, .c = c, .add = add};
                table->scale_dot(&args, BEGIN, END);
                check_rows(table, "scale_dot dh", got, dh, N, BEGIN, END, c, TOLERANCE);
                check(table, "scale_dot ds", c, sum, ds, c, TOLERANCE);
                free(got), free(sum);
            }
        }
        free(dh), free(ds);
        walk_case_free(&w);
    }
}

/* ---- sparse input layer -------------------------------------------------------------------- */

/* Features whose row 5 has 600 entries: more than are packed at once. Every third one is dropped. */
enum { FEATURES = 601, SAMPLES = 2 };
static const float KEPT_SCALE = 1.5f;
typedef struct sparse_case {
    int64_t offset[N + 1], nnz;
    int32_t *column;
    float *value;
    uint8_t *kept;  /* [SAMPLES, nnz] */
    float *dropped; /* [SAMPLES, nnz]: the values after dropout */
    int64_t *offset_t;
    uint32_t *position_t;
    int32_t *row_t;
    float *value_t;
    pgcn_i_columns by_column;
} sparse_case;

static sparse_case sparse_case_new(void) {
    pgcn_i_csr a = ref_random_csr(20, N, FEATURES);
    sparse_case x = {.nnz = a.offset[N] - (a.offset[6] - a.offset[5]) + 600};
    x.column = calloc((size_t)x.nnz, sizeof *x.column);
    x.value = ref_random_floats(21, x.nnz);
    x.kept = calloc((size_t)(SAMPLES * x.nnz), 1);
    x.dropped = ref_filled_floats(0, SAMPLES * x.nnz);
    for (int64_t i = 0; i < SAMPLES * x.nnz; i++) {
        x.kept[i] = i % 3 != 0;
        if (x.kept[i]) x.dropped[i] = KEPT_SCALE * x.value[i % x.nnz];
    }
    x.value_t = ref_filled_floats(0, x.nnz);
    x.offset_t = calloc(FEATURES + 1, sizeof *x.offset_t);
    x.position_t = calloc((size_t)x.nnz, sizeof *x.position_t);
    x.row_t = calloc((size_t)x.nnz, sizeof *x.row_t);
    for (int r = 0; r < N; r++) {
        int64_t at = x.offset[r];
        for (int64_t e = 0; e < (r == 5 ? 600 : a.offset[r + 1] - a.offset[r]); e++)
            x.column[at++] = r == 5 ? (int32_t)e : a.column[a.offset[r] + e];
        x.offset[r + 1] = at;
    }
    int64_t at = 0;
    for (int f = 0; f < FEATURES; f++) {
        for (int r = 0; r < N; r++)
            for (int64_t e = x.offset[r]; e < x.offset[r + 1]; e++)
                if (x.column[e] == f) {
                    x.row_t[at] = r;
                    x.position_t[at] = (uint32_t)e;
                    x.value_t[at++] = x.value[e];
                }
        x.offset_t[f + 1] = at;
    }
    x.by_column = (pgcn_i_columns){x.nnz, x.offset_t, x.row_t, x.position_t, x.value_t};
    ref_csr_free(&a);
    return x;
}

static void sparse_case_free(sparse_case *x) {
    free(x->column), free(x->value), free(x->kept), free(x->dropped);
    free(x->offset_t), free(x->position_t), free(x->row_t), free(x->value_t);
}

static void test_csr_linear_all_sizes_match_dense_reference(void **state) {
    (void)state;
    sparse_case x = sparse_case_new();
    double *dense = ref_zeros(N * FEATURES);
    FOR_EACH_SIZE(c) {
        float *w = ref_random_floats(22, FEATURES * c), *bias = ref_random_floats(23, c);
        double *w_d = ref_doubles(w, FEATURES * c), *bias_d = ref_doubles(bias, c);
        double *want = ref_zeros(N * c);
        for (int options = 0; options < 8; options++) {
            bool with_bias = options & 1, relu = options & 2, drop = options & 4;
            memset(dense, 0, (size_t)(N * FEATURES) * sizeof *dense);
            ref_csr_to_dense(dense, x.offset, x.column, drop ? x.dropped : x.value, N, FEATURES);
            ref_linear(want, dense, w_d, with_bias ? bias_d : NULL, relu, N, FEATURES, c);
            FOR_EACH_TABLE(table) {
                float *out = ref_filled_floats(MARK, N * c);
                const pgcn_i_sparse_linear args = {.offset = x.offset,
                                                   .column = x.column,
                                                   .value = x.value,
                                                   .kept = drop ? x.kept : NULL,
                                                   .scale = drop ? KEPT_SCALE : 1.0f,
                                                   .w = w,
                                                   .bias = with_bias ? bias : NULL,
                                                   .relu = relu,
                                                   .c = c};
                table->csr_linear(out, &args, BEGIN, END);
                check_rows(table, "csr_linear", out, want, N, BEGIN, END, c, TOLERANCE);
                free(out);
            }
        }
        free(w), free(bias), free(w_d), free(bias_d), free(want);
    }
    free(dense);
    sparse_case_free(&x);
}

static void test_csr_linear_dropped_entry_is_not_read(void **state) {
    (void)state;
    const int64_t offset[] = {0, 2};
    const int32_t column[] = {0, 1};
    const float value[] = {1.0f, 2.0f}, w[] = {NAN, 3.0f};
    const uint8_t kept[] = {0, 1};
    FOR_EACH_TABLE(table) {
        float out = MARK;
        const pgcn_i_sparse_linear args = {.offset = offset,
                                           .column = column,
                                           .value = value,
                                           .kept = kept,
                                           .scale = 1.0f,
                                           .w = w,
                                           .c = 1};
        table->csr_linear(&out, &args, 0, 1);
        assert_true(out == 6.0f);
    }
}

static pgcn_i_sparse_gradient sparse_gradient(const sparse_case *x, const float *g, int64_t c,
                                              int64_t group_rows) {
    return (pgcn_i_sparse_gradient){.x = &x->by_column,
                                    .kept = x->kept,
                                    .scale = KEPT_SCALE,
                                    .g = g,
                                    .n = N,
                                    .c = c,
                                    .samples = SAMPLES,
                                    .group_rows = group_rows};
}

static void test_csr_linear_grad_all_sizes_match_dense_reference(void **state) {
    (void)state;
    sparse_case x = sparse_case_new();
    enum { FROM = 2, TO = FEATURES - 1 };
    double *dense = ref_zeros(SAMPLES * N * FEATURES);
    for (int s = 0; s < SAMPLES; s++)
        ref_csr_to_dense(dense + s * N * FEATURES, x.offset, x.column, x.dropped + s * x.nnz, N,
                         FEATURES);
    FOR_EACH_SIZE(c) {
        float *g = ref_random_floats(24, SAMPLES * N * c);
        double *g_d = ref_doubles(g, SAMPLES * N * c), *want = ref_zeros(FEATURES * c);
        ref_gemm(true, false, FEATURES, c, SAMPLES * N, dense, g_d, 0.0, want);
        FOR_EACH_TABLE(table) {
            float *dw = ref_filled_floats(MARK, FEATURES * c);
            pgcn_i_sparse_gradient args = sparse_gradient(&x, g, c, 8);
            table->csr_linear_grad(dw, &args, FROM, TO);
            check_rows(table, "csr_linear_grad", dw, want, FEATURES, FROM, TO, c, TOLERANCE);
            free(dw);
        }
        free(g), free(g_d), free(want);
    }
    free(dense);
    sparse_case_free(&x);
}

/* Ranks that own groups compute the same bits: each group alone, and then added in their order. */
static void test_csr_linear_grad_is_the_sum_of_its_groups_bit_by_bit(void **state) {
    (void)state;
    enum { C = 20 };
    sparse_case x = sparse_case_new();
    float *g = ref_random_floats(24, SAMPLES * N * C);
    for (int rows = 1; rows <= 32; rows *= 2) FOR_EACH_TABLE(table) {
            float *dw = ref_filled_floats(MARK, FEATURES * C);
            float *sum = ref_filled_floats(0, FEATURES * C);
            float *one = ref_filled_floats(0, FEATURES * C);
            pgcn_i_sparse_gradient args = sparse_gradient(&x, g, C, rows);
            table->csr_linear_grad(dw, &args, 0, FEATURES);
            for (int f = 0; f < FEATURES; f++) {
                const int64_t begin = x.by_column.offset[f], end = x.by_column.offset[f + 1];
                for (int64_t e = begin, stop; e < end; e = stop) {
                    int32_t group = x.by_column.row[e] / rows;
                    for (stop = e; stop < end && x.by_column.row[stop] / rows == group;) stop++;
                    int64_t offset[] = {e, stop};
                    pgcn_i_columns part = x.by_column;
                    part.offset = offset;
                    args.x = &part;
                    table->csr_linear_grad(one, &args, 0, 1);
                    for (int64_t ch = 0; ch < C; ch++) sum[f * C + ch] += one[ch];
                }
            }
            assert_memory_equal(dw, sum, FEATURES * C * sizeof *dw);
            free(dw), free(sum), free(one);
        }
    free(g);
    sparse_case_free(&x);
}

/* Rows in several turns, each added to the sum of those before, as ranks do; of columns that are packed at once in one
 * turn and not in the other, too. */
static void test_csr_linear_grad_in_turns_is_the_whole_bit_by_bit(void **state) {
    (void)state;
    enum { ROWS = 3000, C = 5, GROUP = 64, ODD = 7 };
    int64_t offset[] = {0, ROWS, ROWS + (ROWS + ODD - 1) / ODD};
    enum { ENTRIES = ROWS + (ROWS + ODD - 1) / ODD };
    int32_t row[ENTRIES];
    uint32_t position[ENTRIES];
    float *value = ref_random_floats(41, ENTRIES), *g = ref_random_floats(42, 2 * ROWS * C);
    for (int i = 0; i < ENTRIES; i++) {
        row[i] = i < ROWS ? i : (i - ROWS) * ODD;
        position[i] = (uint32_t)i;
    }
    pgcn_i_columns x = {ENTRIES, offset, row, position, value};
    const int64_t ends[][4] = {
        {1024, ROWS, 0, 0}, {64, 128, 2944, ROWS}, {1536, 1536, ROWS, 0}, {ROWS, ROWS, 0, 0}};
    FOR_EACH_TABLE(table) for (int turns = 0; turns < 4; turns++) {
        float whole[2 * C], sum[2 * C];
        pgcn_i_sparse_gradient args = {
            .x = &x, .scale = 1, .g = g, .n = ROWS, .c = C, .samples = 2, .group_rows = GROUP};
        table->csr_linear_grad(whole, &args, 0, 2);
        for (int i = 0; i < 4 && ends[turns][i] > 0; i++) {
            args.first_row = args.end_row;
            args.end_row = ends[turns][i];
            args.add = i > 0;
            table->csr_linear_grad(sum, &args, 0, 2);
        }
        assert_memory_equal(whole, sum, sizeof whole);
    }
    free(value), free(g);
}

/* A column that is full has more entries than are packed at once. */
static void test_csr_linear_grad_of_a_full_column_matches_the_plain_sum(void **state) {
    (void)state;
    enum { ROWS = 1500, C = 3 };
    int64_t offset[] = {0, ROWS};
    int32_t row[ROWS];
    uint32_t position[ROWS];
    float *value = ref_random_floats(31, ROWS), *g = ref_random_floats(32, 2 * ROWS * C);
    double want[C] = {0};
    for (int i = 0; i < ROWS; i++) {
        row[i] = i, position[i] = (uint32_t)i;
        for (int s = 0; s < 2; s++)
            for (int ch = 0; ch < C; ch++)
                want[ch] += (double)value[i] * (double)g[(s * ROWS + i) * C + ch];
    }
    pgcn_i_columns x = {ROWS, offset, row, position, value};
    for (int rows = 256; rows <= 2048; rows *= 2) FOR_EACH_TABLE(table) {
            float dw[C];
            pgcn_i_sparse_gradient args = {
                .x = &x, .scale = 1, .g = g, .n = ROWS, .c = C, .samples = 2, .group_rows = rows};
            table->csr_linear_grad(dw, &args, 0, 1);
            for (int ch = 0; ch < C; ch++) assert_true(fabs((double)dw[ch] - want[ch]) < 1e-3);
        }
    free(value), free(g);
}

/* ---- batch norm ---------------------------------------------------------------------------- */

typedef struct norm_case {
    int64_t c;
    const double *g, *gamma, *beta;
} norm_case;

static const double EPSILON = 1e-5;

static double norm_inner_product(const double *x, void *context) {
    const norm_case *f = context;
    double *y = ref_zeros(N * f->c), *mean = ref_zeros(f->c), *inv_std = ref_zeros(f->c);
    ref_batch_norm(y, mean, inv_std, x, f->gamma, f->beta, EPSILON, N, f->c);
    double sum = 0.0;
    for (int64_t i = 0; i < N * f->c; i++) sum += y[i] * f->g[i];
    free(y), free(mean), free(inv_std);
    return sum;
}

/* All four kernels of a batch norm in their order; want_dx may be NULL. */
static void check_norm(const pgcn_i_kernels *table, int64_t c, const float *x, const float *g,
                       const float *gamma, const float *beta, const double *want_y,
                       const double *want_dx) {
    float *mean = ref_filled_floats(0.0f, c), *inv_std = ref_filled_floats(0.0f, c);
    float *y = ref_filled_floats(MARK, N * c), *dx = ref_filled_floats(2.0f, N * c);
    float *sums = ref_filled_floats(0.0f, 2 * c);
    const pgcn_i_norm norm = {mean, inv_std, gamma, beta, c};
    table->column_sum(mean, x, 0, N, c);
    for (int64_t ch = 0; ch < c; ch++) mean[ch] /= N;
    table->square_deviation_sum(inv_std, x, mean, 0, N, c);
    for (int64_t ch = 0; ch < c; ch++) inv_std[ch] = 1.0f / sqrtf(inv_std[ch] / N + (float)EPSILON);
    table->norm_forward(y, x, &norm, BEGIN, END);
    check_rows(table, "norm_forward", y, want_y, N, BEGIN, END, c, 5e-6);
    table->norm_sums(sums, g, x, &norm, 0, N);
    pgcn_i_norm_gradient gradient = {.g = g, .sums = sums, .inv_rows = 1.0f / N, .add = true};
    table->norm_backward(dx, x, &norm, &gradient, 0, 9);
    gradient.add = false;
    table->norm_backward(dx, x, &norm, &gradient, 9, N);
    for (int64_t i = 0; i < 9 * c; i++) dx[i] -= 2.0f; /* the rows that were added to */
    if (want_dx) check(table, "norm_backward", c, dx, want_dx, N * c, 5e-6);
    free(mean), free(inv_std), free(y), free(dx), free(sums);
}

static void test_norm_all_sizes_match_reference_and_differences(void **state) {
    (void)state;
    FOR_EACH_SIZE(c) {
        float *x = ref_random_floats(30, N * c), *g = ref_random_floats(31, N * c);
        float *gamma = ref_random_floats(32, c), *beta = ref_random_floats(33, c);
        for (int64_t i = 0; i < N * c; i++) x[i] += 3.0f; /* away from 0, where sums could cancel */
        double *x_d = ref_doubles(x, N * c), *g_d = ref_doubles(g, N * c);
        double *gamma_d = ref_doubles(gamma, c), *beta_d = ref_doubles(beta, c);
        double *y = ref_zeros(N * c), *dx = ref_zeros(N * c);
        double *mean = ref_zeros(c), *inv_std = ref_zeros(c);
        for (int affine = 0; affine <= 1; affine++) {
            norm_case f = {c, g_d, affine ? gamma_d : NULL, affine ? beta_d : NULL};
            ref_batch_norm(y, mean, inv_std, x_d, f.gamma, f.beta, EPSILON, N, c);
            bool differences = c <= 17; /* they cost (N c)^2 */
            if (differences) ref_central_differences(dx, x_d, N * c, norm_inner_product, &f);
            FOR_EACH_TABLE(table)
            check_norm(table, c, x, g, affine ? gamma : NULL, affine ? beta : NULL, y,
                       differences ? dx : NULL);
        }
        free(x), free(g), free(gamma), free(beta), free(x_d), free(g_d), free(gamma_d);
        free(beta_d), free(y), free(dx), free(mean), free(inv_std);
    }
}

/* ---- element-wise -------------------------------------------------------------------------- */

static void test_bias_relu_all_sizes_match_formula(void **state) {
    (void)state;
    FOR_EACH_SIZE(c) {
        float *x = ref_random_floats(40, N * c), *bias = ref_random_floats(41, c);
        double *want = ref_zeros(N * c);
        for (int options = 0; options < 4; options++) {
            bool with_bias = options & 1, relu = options & 2;
            for (int64_t i = 0; i < N * c; i++) {
                bool inside = i >= BEGIN * c && i < END * c;
                want[i] = (double)x[i] + (inside && with_bias ? (double)bias[i % c] : 0.0);
                if (inside && relu && want[i] < 0.0) want[i] = 0.0;
            }
            FOR_EACH_TABLE(table) {
                float *got = ref_filled_floats(0.0f, N * c);
                memcpy(got, x, (size_t)(N * c) * sizeof *got);
                table->bias_relu(got, with_bias ? bias : NULL, relu, BEGIN, END, c);
                check(table, "bias_relu", c, got, want, N * c, TOLERANCE);
                free(got);
            }
        }
        free(x), free(bias), free(want);
    }
}

static void test_relu_nan_stays_nan(void **state) {
    (void)state;
    const int64_t offset[] = {0, 1};
    const int32_t column[] = {0};
    const float one = 1.0f, bias = 0.5f;
    FOR_EACH_TABLE(table) {
        float x = NAN, y = NAN, z = 0.0f, out = 0.0f;
        const float w = NAN;
        table->bias_relu(&x, NULL, true, 0, 1, 1);
        table->bias_relu(&y, &bias, true, 0, 1, 1);
        table->shifted_relu(&z, &w, &bias, 1, 1);
        const pgcn_i_sparse_linear args = {.offset = offset,
                                           .column = column,
                                           .value = &one,
                                           .scale = 1.0f,
                                           .w = &w,
                                           .relu = true,
                                           .c = 1};
        table->csr_linear(&out, &args, 0, 1);
        assert_true(isnan(x) && isnan(y) && isnan(z) && isnan(out));
    }
}

/* relu_backward and scale, out of place and in place, on elements 3 .. count-2. */
static void test_elementwise_ranges_match_formulas(void **state) {
    (void)state;
    FOR_EACH_SIZE(size) {
        int64_t count = size + 5, from = 3, to = count - 1;
        float *x = ref_random_floats(42, count), *y = ref_random_floats(43, count);
        double *want = ref_zeros(count);
        FOR_EACH_TABLE(table) {
            float *dx = ref_filled_floats(MARK, count);
            for (int64_t i = 0; i < count; i++) want[i] = y[i] > 0.0f ? 1.5 * (double)x[i] : 0.0;
            table->relu_backward(dx, x, y, 1.5f, from, to);
            check_rows(table, "relu_backward", dx, want, count, from, to, 1, TOLERANCE);
            free(dx);
            for (int add = 0; add <= 1; add++) {
                float *got = ref_filled_floats(MARK, count);
                double old = add ? (double)MARK : 0.0;
                for (int64_t i = 0; i < count; i++) want[i] = old + 0.3 * (double)x[i];
                table->scale(got, 0.3f, x, from, to, add);
                check_rows(table, "scale", got, want, count, from, to, 1, TOLERANCE);
                free(got);
            }
            float *got = ref_filled_floats(MARK, count);
            for (int64_t i = 0; i < count; i++) want[i] = 0.9 * (double)MARK;
            table->scale(got, 0.9f, got, from, to, false); /* in place */
            check_rows(table, "scale in place", got, want, count, from, to, 1, TOLERANCE);
            free(got);
        }
        free(x), free(y), free(want);
    }
}

/* Rows of c channels with a threshold each; the gradient in place, and added to dt. */
static void test_shifted_relu_all_sizes_match_formula(void **state) {
    (void)state;
    FOR_EACH_SIZE(c) {
        float *x = ref_random_floats(44, N * c), *g = ref_random_floats(45, N * c);
        float *t = ref_random_floats(46, c);
        double *y = ref_zeros(N * c), *dx = ref_zeros(N * c), *dt = ref_zeros(c);
        x[0] = t[0]; /* on the kink: the gradient is that of the threshold */
        for (int64_t ch = 0; ch < c; ch++) dt[ch] = (double)MARK;
        for (int64_t i = 0; i < N * c; i++) {
            bool above = x[i] > t[i % c];
            y[i] = (double)(above ? x[i] : t[i % c]);
            *(above ? &dx[i] : &dt[i % c]) += (double)g[i];
        }
        FOR_EACH_TABLE(table) {
            float *out = ref_filled_floats(MARK, N * c), *sum = ref_filled_floats(MARK, c);
            float *in_place = ref_random_floats(45, N * c);
            table->shifted_relu(out, x, t, N, c);
            check(table, "shifted_relu", c, out, y, N * c, 0);
            const pgcn_i_shifted_relu args = {in_place, sum, in_place, out, t};
            table->shifted_relu_backward(&args, N, c);
            check(table, "shifted_relu_backward dx", c, in_place, dx, N * c, 0);
            check(table, "shifted_relu_backward dt", c, sum, dt, c, TOLERANCE);
            free(out), free(sum), free(in_place);
        }
        free(x), free(g), free(t), free(y), free(dx), free(dt);
    }
}

static void test_adam_three_steps_match_reference(void **state) {
    (void)state;
    FOR_EACH_SIZE(size) {
        int64_t count = size + 4, from = 1, to = count - 3;
        float *g = ref_random_floats(51, 3 * count), *start = ref_random_floats(52, count);
        double *g_d = ref_doubles(g, 3 * count), *start_d = ref_doubles(start, count);
        FOR_EACH_TABLE(table) {
            for (int with_start = 0; with_start <= 1; with_start++) {
                float *w = ref_random_floats(50, count), *m = ref_filled_floats(0.0f, count);
                float *v = ref_filled_floats(0.0f, count);
                double *w_d = ref_doubles(w, count), *m_d = ref_zeros(count);
                double *v_d = ref_zeros(count);
                float kept_first = w[0], kept_last = w[count - 1];
                for (int t = 0; t < 3; t++) {
                    pgcn_i_adam_step step = {.lr = 0.01f,
                                             .decay = 0.05f,
                                             .beta1 = 0.9f,
                                             .beta2 = 0.999f,
                                             .epsilon = 1e-8f};
                    step.correct1 = (float)(1.0 / (1.0 - pow(0.9, t + 1)));
                    step.correct2 = (float)(1.0 / (1.0 - pow(0.999, t + 1)));
                    const pgcn_i_adam_arrays arrays = {w, m, v, g + t * count,
                                                       with_start ? start : NULL};
                    table->adam(&arrays, &step, from, to);
                    ref_adam(w_d + from, m_d + from, v_d + from, g_d + t * count + from,
                             with_start ? start_d + from : NULL, &step, to - from);
                }
                check(table, "adam w", size, w, w_d, count, TOLERANCE);
                check(table, "adam m", size, m, m_d, count, TOLERANCE);
                /* 1 - beta2 is one float, so v has the rounding of 0.001 relative to 1 */
                check(table, "adam v", size, v, v_d, count, 2e-5);
                assert_true(w[0] == kept_first && w[count - 1] == kept_last);
                free(w), free(m), free(v), free(w_d), free(m_d), free(v_d);
            }
        }
        free(g), free(start), free(g_d), free(start_d);
    }
}

static void test_segments_with_an_empty_graph_match_formula(void **state) {
    (void)state;
    enum { GRAPHS = 4 };
    const int64_t offset[GRAPHS + 1] = {0, 5, 5, 6, N}; /* graph 1 is empty */
    FOR_EACH_SIZE(c) {
        float *x = ref_random_floats(60, N * c), *g = ref_random_floats(61, GRAPHS * c);
        double *sum = ref_zeros(GRAPHS * c), *spread = ref_zeros(N * c);
        for (int graph = 0; graph < GRAPHS; graph++)
            for (int64_t r = offset[graph]; r < offset[graph + 1]; r++)
                for (int64_t ch = 0; ch < c; ch++) {
                    sum[graph * c + ch] += (double)x[r * c + ch];
                    spread[r * c + ch] = (double)g[graph * c + ch];
                }
        FOR_EACH_TABLE(table) {
            float *out = ref_filled_floats(MARK, GRAPHS * c);
            table->segment_sum(out, x, (pgcn_i_segments){offset, 0, 3}, c);
            check_rows(table, "segment_sum", out, sum, GRAPHS, 0, 3, c, TOLERANCE);
            float *dx = ref_filled_floats(MARK, N * c);
            const pgcn_i_segments graphs = {offset, 1, GRAPHS};
            table->segment_spread(dx, g, graphs, c, false);
            check_rows(table, "segment_spread", dx, spread, N, 5, N, c, TOLERANCE);
            table->segment_spread(dx, g, graphs, c, true);
            for (int64_t i = 5 * c; i < N * c; i++) dx[i] *= 0.5f;
            check_rows(table, "segment_spread, added", dx, spread, N, 5, N, c, TOLERANCE);
            free(out), free(dx);
        }
        free(x), free(g), free(sum), free(spread);
    }
}

/* ---- tables -------------------------------------------------------------------------------- */

static void test_dispatch_every_table_is_full(void **state) {
    (void)state;
    FOR_EACH_TABLE(table) {
        /* A table is a name and function pointers, all of one size. */
        void (*function[sizeof *table / sizeof(void (*)(void))])(void);
        memcpy(function, table, sizeof *table);
        for (size_t i = 0; i < sizeof function / sizeof function[0]; i++)
            assert_true(function[i] != NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dispatch_every_table_is_full),
        cmocka_unit_test(test_pathconv_forward_all_sizes_match_reference),
        cmocka_unit_test(test_pathconv_forward_by_slabs_same_bits),
        cmocka_unit_test(test_pathconv_backward_all_sizes_match_reference),
        cmocka_unit_test(test_pathconv_backward_of_live_rows_matches_reference),
        cmocka_unit_test(test_pathconv_backward_of_a_hub_adds_all_live_visits),
        cmocka_unit_test(test_bf16_rounds_to_nearest_even),
        cmocka_unit_test(test_pathconv_of_bf16_equals_that_of_rounded_floats),
        cmocka_unit_test(test_pathconv_backward_matches_finite_differences),
        cmocka_unit_test(test_gather_and_horner_all_sizes_match_reference),
        cmocka_unit_test(test_scale_dot_all_sizes_match_reference),
        cmocka_unit_test(test_csr_linear_all_sizes_match_dense_reference),
        cmocka_unit_test(test_csr_linear_dropped_entry_is_not_read),
        cmocka_unit_test(test_csr_linear_grad_all_sizes_match_dense_reference),
        cmocka_unit_test(test_csr_linear_grad_is_the_sum_of_its_groups_bit_by_bit),
        cmocka_unit_test(test_csr_linear_grad_in_turns_is_the_whole_bit_by_bit),
        cmocka_unit_test(test_csr_linear_grad_of_a_full_column_matches_the_plain_sum),
        cmocka_unit_test(test_norm_all_sizes_match_reference_and_differences),
        cmocka_unit_test(test_bias_relu_all_sizes_match_formula),
        cmocka_unit_test(test_relu_nan_stays_nan),
        cmocka_unit_test(test_elementwise_ranges_match_formulas),
        cmocka_unit_test(test_shifted_relu_all_sizes_match_formula),
        cmocka_unit_test(test_adam_three_steps_match_reference),
        cmocka_unit_test(test_segments_with_an_empty_graph_match_formula),
    };
    int skipped = skip_isa();
    return skipped ? skipped : cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
