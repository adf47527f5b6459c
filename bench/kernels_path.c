/* kernels: sampling, path convolution, exact form and sparse input. What they have in common is
 * that they gather rows. */
#include "bed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sampling ------------------------------------------------------------------------------- */

static pgcn_i_rng_domain walk_domain(const bed *b) {
    return pgcn_i_rng_domain_of(b->trainer->config.seed, PGCN_I_RNG_WALK, b->step, 0, 0);
}

static void walks(void *context) {
    bed *b = context;
    b->step++;
    pgcn_i_walks(&b->trainer->spatial.walker, b->pool, walk_domain(b), NULL, b->n, b->walks);
}

static void draw_visits(void *context) {
    bed *b = context;
    b->step++;
    pgcn_i_visits_sample(b->trainer->train.views.visits[0], &b->trainer->spatial.walker, b->pool,
                         (pgcn_i_path_draw){.seed = b->trainer->config.seed,
                                            .purpose = PGCN_I_RNG_WALK,
                                            .step = b->step},
                         b->trainer->spatial.visit_degree);
}

void bench_redraw(bed *b) {
    draw_visits(b);
}

TASK(walk_limit, pgcn_i_blocks_of, b->n) {
    const pgcn_graph *graph = b->data->graph;
    limit_walk(b->walks, graph->offset, graph->neighbour, begin * b->p, end * b->p, b->p, b->k);
}

TASK(walk_batches_limit, pgcn_i_blocks_of, b->n) {
    const pgcn_graph *graph = b->data->graph;
    limit_walk_batches(b->walks, graph->offset, graph->neighbour, begin * b->p, end * b->p, b->p,
                       b->k);
}

TASK(visits_limit, pgcn_i_blocks_of, b->n) {
    const pgcn_graph *graph = b->data->graph;
    limit_visits(b->free_hop, b->free_hop_t, b->place, graph->offset, graph->neighbour,
                 begin * b->p, end * b->p, b->p, b->k);
}

static bool is_step(const pgcn_graph *graph, pgcn_node from, pgcn_node to) {
    bool found = from == to; /* staying is allowed here */
    for (int64_t e = graph->offset[from]; e < graph->offset[from + 1] && !found; e++)
        found = graph->neighbour[e] == to;
    return found;
}

static double visit_weight(const bed *b, int64_t j, pgcn_node u, int64_t count) {
    const float *degree = b->trainer->spatial.visit_degree;
    double scale = degree ? sqrt((double)degree[j] / (double)degree[u]) : 1;
    return (double)count / b->p * scale;
}

/* Row j of the list of a hop against the walks themselves. */
static void check_visits_of(const bed *b, int hop, int64_t j) {
    const pgcn_i_csr *list = &b->hop[hop - 1];
    int64_t found = 0;
    for (int64_t e = list->offset[j]; e < list->offset[j + 1]; e++) {
        int64_t count = 0;
        for (int q = 0; q < b->p; q++)
            count += b->walks[(j * b->p + q) * b->k + hop] == list->column[e];
        found += count;
        if (fabs((double)list->value[e] - visit_weight(b, j, list->column[e], count)) > 1e-5)
            bench_die("the visits of node %lld at hop %d have a wrong weight", (long long)j, hop);
    }
    if (found != b->p) bench_die("visits of node %lld at hop %d are missing", (long long)j, hop);
}

/* Each entry must stand in the transposed list, and there must be no other. */
static void check_transposed(const bed *b, int hop) {
    const pgcn_i_csr *list = &b->hop[hop - 1], *t = &b->hop_t[hop - 1];
    if (list->offset[b->n] != t->offset[b->n]) bench_die("the transposed list has another length");
    for (int64_t u = 0; u < b->n; u++)
        for (int64_t e = t->offset[u]; e < t->offset[u + 1]; e++) {
            int64_t j = t->column[e], at = list->offset[j];
            while (at < list->offset[j + 1] && list->column[at] != u) at++;
            if (at == list->offset[j + 1] || list->value[at] != t->value[e])
                bench_die("node %lld of the transposed list of hop %d is wrong", (long long)u, hop);
        }
}

static void check_sampling(bed *b) {
    draw_visits(b); /* then the walks of the same step, which the lists must hold */
    pgcn_i_walks(&b->trainer->spatial.walker, b->pool, walk_domain(b), NULL, b->n, b->walks);
    for (int64_t w = 0; w < b->n * b->p; w++)
        for (int i = 1; i < b->k; i++)
            if (!is_step(b->data->graph, b->walks[w * b->k + i - 1], b->walks[w * b->k + i]))
                bench_die("walk %lld takes a step that is no edge", (long long)w);
    for (int hop = 1; hop < b->k; hop++) {
        for (int64_t j = 0; j < b->n; j++) check_visits_of(b, hop, j);
        check_transposed(b, hop);
    }
}

/* Lists with room for every visit, and the place of each in a transposed one. */
static void make_free_lists(bed *b, pgcn_i_arena *arena) {
    int64_t count = b->n * b->p, *next = PGCN_I_ARRAY(arena, int64_t, b->n + 1);
    b->place = PGCN_I_ARRAY(arena, int32_t, count);
    for (int i = 0; i < b->k - 1; i++) {
        must(pgcn_i_csr_alloc(arena, b->n, count, true, &b->free_hop[i]));
        must(pgcn_i_csr_alloc(arena, b->n, count, true, &b->free_hop_t[i]));
    }
    if (!next || !b->place) bench_die("%s", pgcn_last_error());
    for (int64_t w = 0; w < count; w++) next[b->walks[w * b->k + 1] + 1]++;
    for (int64_t u = 0; u < b->n; u++) next[u + 1] += next[u];
    for (int64_t w = 0; w < count; w++) b->place[w] = (int32_t)next[b->walks[w * b->k + 1]]++;
}

void bench_sampling(bed *b) {
    pgcn_i_arena arena = {0};
    double steps = (double)(b->n * b->p * (b->k - 1));
    check_sampling(b);
    make_free_lists(b, &arena);
    measure(b, &(subject){.name = "walks",
                          .body = walks,
                          .work = steps,
                          .unit = BENCH_NS,
                          .of = "walk step",
                          .limit = {walk_limit, walk_batches_limit},
                          .limit_name = "xorshift walk"});
    measure(b, &(subject){.name = "walks, lists, transposes",
                          .body = draw_visits,
                          .work = steps,
                          .unit = BENCH_NS,
                          .of = "visit",
                          .limit = {visits_limit},
                          .limit_name = "xorshift walk, each visit stored twice"});
    pgcn_i_arena_free(&arena);
}

/* ---- path convolution ----------------------------------------------------------------------- */

static pgcn_i_path_args path_args(const bed *b, const float *rows, const pgcn_i_csr *hop) {
    return (pgcn_i_path_args){.h = rows,
                              .s = b->s,
                              .hop = hop,
                              .k = b->k,
                              .c = b->c,
                              .width = b->c,
                              .prefetch = b->rows * b->c * 4 > 8 << 20};
}

OVER_BLOCKS(forward) {
    pgcn_i_path_args args = path_args(b, b->h, b->hop);
    b->kernels->pathconv_forward(b->out, &args, (pgcn_i_rows){NULL, begin, end - begin});
}
OVER_GROUPS(backward) {
    float *ds = b->partial + task * b->k * b->c;
    memset(ds, 0, (size_t)(b->k * b->c) * sizeof *ds);
    pgcn_i_path_args args = path_args(b, b->g, b->hop_t);
    b->kernels->pathconv_backward(b->out + begin * b->c, ds, b->h, &args,
                                  (pgcn_i_rows){NULL, begin, end - begin});
}
GATHER_LIMITS(forward_limit, pgcn_i_blocks_of, b->rows, b->out, b->h, b->hop, b->k - 1)
GATHER_LIMITS(backward_limit, pgcn_i_blocks_of, b->rows, b->out, b->g, b->hop_t, b->k - 1)

static int64_t visits_in_rows(const pgcn_i_csr *list, int lists, int64_t rows) {
    int64_t count = 0;
    for (int i = 0; i < lists; i++) count += list[i].offset[rows];
    return count;
}

/* The gradient of the kernel against what came out for h: the convolution is linear in s, so
 * that in every channel  sum_i s_i ds_i = sum_u h[u] dh[u]. */
static void check_kernel_gradient(const bed *b) {
    int64_t groups = bed_groups(b->rows).count;
    for (int64_t ch = 0; ch < b->c; ch++) {
        double from_s = 0, from_h = 0, size = 1;
        for (int64_t i = 0; i < groups * b->k; i++)
            from_s += (double)b->s[i % b->k * b->c + ch] * (double)b->partial[i * b->c + ch];
        for (int64_t u = 0; u < b->rows; u++) {
            double term = (double)b->h[u * b->c + ch] * (double)b->out[u * b->c + ch];
            from_h += term;
            size += fabs(term);
        }
        if (!(fabs(from_s - from_h) <= 1e-4 * size))
            bench_die("the gradient of the path kernel is wrong in channel %lld", (long long)ch);
    }
}

static void check_pathconv(bed *b) {
    int64_t rows = bed_checked_rows(b), count = b->n * b->c;
    double *want = ref_zeros(rows * b->c), *s = ref_doubles(b->s, b->k * b->c);
    double *x = ref_doubles(b->h, count);
    ref_pathconv_forward(want, x, s, b->hop, b->k, rows, b->c);
    free(x);
    forward(b);
    check_close("path convolution forward", b->out, want, rows * b->c, 1e-5);
    /* The same formula with the transposed lists, which check_sampling has compared. */
    x = ref_doubles(b->g, count);
    ref_pathconv_forward(want, x, s, b->hop_t, b->k, rows, b->c);
    backward(b);
    check_close("path convolution backward", b->out, want, rows * b->c, 1e-5);
    check_kernel_gradient(b);
    free(x), free(want), free(s);
}

void bench_pathconv(bed *b, const char *note) {
    double row_bytes = (double)b->c * sizeof(float);
    int64_t rows =
        b->rows + visits_in_rows(b->hop, b->k - 1, b->rows); /* hop 0 is the row itself */
    int64_t rows_t = b->rows + visits_in_rows(b->hop_t, b->k - 1, b->rows);
    check_pathconv(b);
    measure(b, &(subject){.name = "path convolution forward",
                          .note = note,
                          .body = forward,
                          .work = row_bytes * (double)rows,
                          .unit = BENCH_GB_S,
                          .limit = LIMITS(forward_limit),
                          .limit_name = "the same rows, only summed"});
    measure(b, &(subject){.name = "path convolution backward",
                          .note = note,
                          .body = backward,
                          .work = row_bytes * (double)rows_t,
                          .unit = BENCH_GB_S,
                          .limit = LIMITS(backward_limit),
                          .limit_name = "the same rows, only summed"});
}

/* ---- the exact form ------------------------------------------------------------------------- */

OVER_BLOCKS(horner) {
    pgcn_i_horner_args args = {.out = b->out,
                               .x = b->h,
                               .h = b->g,
                               .s = b->s,
                               .out_c = b->c,
                               .x_c = b->c,
                               .h_c = b->c,
                               .width = b->c,
                               .a = &b->trainer->spatial.exact};
    b->kernels->horner(&args, begin, end);
}
GATHER_LIMITS(horner_limit, pgcn_i_blocks_of, b->rows, b->out, b->h, &b->trainer->spatial.exact, 1)

void bench_exact(bed *b) {
    const pgcn_i_csr *exact = &b->trainer->spatial.exact;
    double *want = ref_zeros(b->n * b->c), *h = ref_doubles(b->h, b->n * b->c);
    ref_csr_product(want, exact, h, b->c);
    for (int64_t i = 0; i < b->n * b->c; i++) want[i] += (double)b->s[i % b->c] * (double)b->g[i];
    horner(b);
    check_close("Horner's step", b->out, want, b->rows * b->c, 1e-5);
    free(want), free(h);
    double bytes = (double)(b->c * (int64_t)sizeof(float)) * (double)exact->offset[b->rows];
    measure(b, &(subject){.name = "exact form, one product",
                          .body = horner,
                          .work = bytes,
                          .unit = BENCH_GB_S,
                          .limit = LIMITS(horner_limit),
                          .limit_name = "the same rows, only summed"});
}

/* ---- sparse input layer --------------------------------------------------------------------- */

static const float KEPT_SCALE = 2.5f; /* dropout 0.6 */

static const pgcn_i_input *input_of(const bed *b) {
    return b->trainer->input;
}

OVER_BLOCKS(csr_linear) {
    const pgcn_i_input *x = input_of(b);
    const pgcn_i_sparse_linear args = {.offset = x->offset,
                                       .column = x->column,
                                       .value = x->value,
                                       .kept = b->kept,
                                       .scale = KEPT_SCALE,
                                       .w = b->weight,
                                       .c = b->c};
    b->kernels->csr_linear(b->out, &args, begin, end);
}
static pgcn_i_blocks feature_blocks(int64_t columns) {
    return pgcn_i_cut(columns, PGCN_MAX_BLOCKS, 16);
}
TASK(csr_grad, feature_blocks, input_of(b)->columns) {
    const pgcn_i_input *x = input_of(b);
    const pgcn_i_sparse_gradient args = {.x = &x->by_column,
                                         .kept = b->kept,
                                         .scale = KEPT_SCALE,
                                         .g = b->g,
                                         .n = x->n,
                                         .c = b->c,
                                         .samples = 1,
                                         .group_rows = bed_groups(x->n).size};
    b->kernels->csr_linear_grad(b->product_out, &args, begin, end);
}
GATHER_LIMITS(csr_linear_limit, pgcn_i_blocks_of, b->rows, b->out, b->weight, b->product, 1)
GATHER_LIMITS(csr_grad_limit, feature_blocks, input_of(b)->columns, b->product_out, b->g,
              b->product, 1)

/* The entries that dropout kept. */
static void kept_entries(const bed *b, pgcn_i_arena *arena, bool transposed, pgcn_i_csr *out) {
    const pgcn_i_input *x = input_of(b);
    int64_t rows = transposed ? x->columns : x->n, kept = 0;
    const pgcn_i_columns *by_column = &x->by_column;
    const int64_t *offset = transposed ? by_column->offset : x->offset;
    must(pgcn_i_csr_alloc(arena, rows, x->nonzeros, true, out));
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e = offset[r]; e < offset[r + 1]; e++) {
            int64_t entry = transposed ? by_column->position[e] : e;
            if (!b->kept[entry]) continue;
            out->column[kept] = transposed ? by_column->row[e] : x->column[e];
            out->value[kept++] = KEPT_SCALE * x->value[entry];
        }
        out->offset[r + 1] = kept;
    }
}

void bench_input(bed *b) {
    const pgcn_i_input *x = input_of(b);
    if (!x->offset) return; /* dense features: a product of matrices */
    pgcn_i_arena arena = {0};
    pgcn_i_csr kept, kept_t;
    b->kept = calloc((size_t)x->nonzeros, 1);
    b->weight = ref_random_floats(3, x->columns * b->c);
    b->product_out = ref_filled_floats(0, x->columns * b->c);
    pgcn_i_rng_domain domain = pgcn_i_rng_domain_of(1, PGCN_I_RNG_TEST, 0, 0, 0);
    b->kernels->draw_kept(b->kept, domain, 39322, 0, x->nonzeros);
    kept_entries(b, &arena, false, &kept);
    kept_entries(b, &arena, true, &kept_t);

    double *want = ref_zeros(b->n * b->c), *w = ref_doubles(b->weight, x->columns * b->c);
    ref_csr_product(want, &kept, w, b->c);
    csr_linear(b);
    check_close("the input layer", b->out, want, b->n * b->c, 1e-5);
    free(want), free(w);
    want = ref_zeros(x->columns * b->c), w = ref_doubles(b->g, b->n * b->c);
    ref_csr_product(want, &kept_t, w, b->c);
    csr_grad(b);
    check_close("the gradient of the input layer", b->product_out, want, x->columns * b->c, 1e-5);
    free(want), free(w);

    double bytes = (double)(b->c * (int64_t)sizeof(float)) * (double)kept.offset[kept.rows];
    char note[60];
    snprintf(note, sizeof note, "%lld of %lld entries kept", (long long)kept.offset[kept.rows],
             (long long)x->nonzeros);
    b->product = &kept;
    measure(b, &(subject){.name = "sparse input forward",
                          .note = note,
                          .body = csr_linear,
                          .work = bytes,
                          .unit = BENCH_GB_S,
                          .limit = LIMITS(csr_linear_limit),
                          .limit_name = "rows of kept entries, only summed"});
    b->product = &kept_t;
    measure(b, &(subject){.name = "sparse input gradient",
                          .note = note,
                          .body = csr_grad,
                          .work = bytes,
                          .unit = BENCH_GB_S,
                          .limit = LIMITS(csr_grad_limit),
                          .limit_name = "rows of kept entries, only summed"});
    free(b->kept), free(b->weight), free(b->product_out);
    pgcn_i_arena_free(&arena);
}
