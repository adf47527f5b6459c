/* Our dense products beside the libraries that are made for them, on one thread, in turns:
 * OpenBLAS and LIBXSMM, as far as the build found them (make bench installs both). Prints a table and,
 * with --json FILE, a JSON line per case. The libraries would not do for training: they round a row
 * by how many rows stand beside it (src/kernels/gemm.c).
 *
 *     products [--smoke] [--json FILE] */
#include "bench.h"

#include "kernels/kernels.h"
#include "ref/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef BENCH_OPENBLAS
#include <cblas.h>
#endif
#ifdef BENCH_LIBXSMM
#include <libxsmm.h>
#endif

enum { ROWS = PGCN_BLOCK_ROWS, TILES = 8 }; /* as a layer calls them: tile after tile */

typedef struct products {
    const char *name;
    int64_t channels, classes; /* of the input, of the output */
    pgcn_i_product tile[TILES];
} products;

static void own(void *context) {
    const products *p = context;
    for (int i = 0; i < TILES; i++) pgcn_i_kernels_get()->gemm(&p->tile[i]);
}

#ifdef BENCH_OPENBLAS
static void openblas(void *context) {
    const products *p = context;
    for (int i = 0; i < TILES; i++) {
        const pgcn_i_product *t = &p->tile[i];
        cblas_sgemm(CblasRowMajor, t->a_transposed ? CblasTrans : CblasNoTrans,
                    t->b_transposed ? CblasTrans : CblasNoTrans, (int)t->m, (int)t->n, (int)t->k,
                    1.0f, t->a, (int)t->lda, t->b, (int)t->ldb, t->add ? 1.0f : 0.0f, t->c,
                    (int)t->ldc);
    }
}
#endif

#ifdef BENCH_LIBXSMM
/* It counts column by column, so it is given C^T = B^T A^T. NULL: it has no code for the shape. */
static libxsmm_smmfunction libxsmm_for(const pgcn_i_product *t) {
    if (t->b_transposed) return NULL;
    const int lda = (int)t->ldb, ldb = (int)t->lda, ldc = (int)t->ldc;
    const int flags = t->a_transposed ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
    const float one = 1.0f, beta = t->add ? 1.0f : 0.0f;
    return libxsmm_smmdispatch((int)t->n, (int)t->m, (int)t->k, &lda, &ldb, &ldc, &one, &beta,
                               &flags, NULL);
}
static void libxsmm(void *context) {
    const products *p = context;
    for (int i = 0; i < TILES; i++)
        libxsmm_for (&p->tile[i])(p->tile[i].b, p->tile[i].a, p->tile[i].c);
}
#endif

typedef struct rival {
    const char *name;
    void (*run)(void *context);
} rival;

static int rivals_of(rival rivals[3], const products *p) {
    int count = 0;
    rivals[count++] = (rival){"pathgcn", own};
#ifdef BENCH_OPENBLAS
    rivals[count++] = (rival){"OpenBLAS", openblas};
#endif
#ifdef BENCH_LIBXSMM
    if (libxsmm_for(&p->tile[0])) rivals[count++] = (rival){"LIBXSMM", libxsmm};
#endif
    (void)p;
    return count;
}

static void check(const products *p, const rival *one) {
    const pgcn_i_product *t = &p->tile[TILES - 1];
    double *a = ref_doubles(t->a, t->m * t->k), *b = ref_doubles(t->b, t->k * t->n);
    double *want = ref_zeros(t->m * t->n);
    for (int i = 0; i < TILES; i++) memset(p->tile[i].c, 0, (size_t)(t->m * t->n) * sizeof *t->c);
    products last = *p;
    for (int i = 0; i < TILES && t->add; i++) { /* all tiles add to one C: see the last one alone */
        last.tile[i].c = t->c;
        if (i < TILES - 1) last.tile[i] = *t;
    }
    ref_gemm(t->a_transposed, t->b_transposed, t->m, t->n, t->k, a, b, 0, want);
    for (int64_t i = 0; i < t->m * t->n && t->add; i++) want[i] *= TILES;
    one->run(&last);
    if (ref_error(t->c, want, t->m * t->n) > 1e-5) bench_die("%s is wrong", one->name);
    free(a), free(b), free(want);
}

static void measure(const products *p, const bench_machine *machine, int repetitions,
                    const char *command, FILE *json) {
    rival rivals[3];
    int count = rivals_of(rivals, p);
    bench_turn turns[3];
    for (int i = 0; i < count; i++) {
        check(p, &rivals[i]);
        turns[i] = (bench_turn){.run = rivals[i].run, .context = (void *)(uintptr_t)p};
    }
    bench_take_turns(turns, count, repetitions);
    double flops = 2.0 * TILES * (double)(p->tile[0].m * p->tile[0].n * p->tile[0].k);
    printf("%-8s %5lld x %-5lld", p->name, (long long)p->channels, (long long)p->classes);
    for (int i = 0; i < count; i++) {
        double rate = 1e-9 * flops / turns[i].times.median;
        printf("  %8s %6.1f", rivals[i].name, rate);
        if (i > 0) printf(" (%.2f x)", turns[i].times.median / turns[0].times.median);
        if (json)
            fprintf(json,
                    "{\"bench\": \"products\", \"case\": \"%s\", \"channels\": %lld, \"classes\": "
                    "%lld, \"library\": \"%s\", \"gflops\": %.4g, \"ours_faster_by\": %.4g, "
                    "\"isa\": \"%s\", \"cpu\": \"%s\", \"load\": %.2f, \"command\": \"%s\"}\n",
                    p->name, (long long)p->channels, (long long)p->classes, rivals[i].name, rate,
                    turns[i].times.median / turns[0].times.median, pgcn_i_kernels_get()->isa,
                    machine->cpu, machine->load, command);
    }
    printf("\n");
}

/* x W, g W^T and x^T g of a layer from `in` to `out` channels, on operands of their own. */
static products products_of(const char *name, int64_t in, int64_t out, float *x, float *w,
                            float *y) {
    products p = {.name = name, .channels = in, .classes = out};
    bool forward = strcmp(name, "x W") == 0, weights = strcmp(name, "x^T g") == 0;
    for (int i = 0; i < TILES; i++) {
        float *rows_in = x + i * ROWS * in, *rows_out = y + i * ROWS * out;
        if (forward)
            p.tile[i] = (pgcn_i_product){ROWS, out, in,  rows_in, w,     rows_out,
                                         in,   out, out, false,   false, false};
        else if (weights)
            p.tile[i] = (pgcn_i_product){in, out, ROWS, rows_in, rows_out, w,
                                         in, out, out,  true,    false,    true};
        else
            p.tile[i] = (pgcn_i_product){ROWS, in,  out, rows_out, w,    rows_in,
                                         out,  out, in,  false,    true, false};
    }
    return p;
}

int main(int count, char **argument) {
    static const int64_t shape[][2] = {{64, 7},    {16, 16},   {32, 32},   {40, 40},    {64, 64},
                                       {128, 128}, {256, 256}, {512, 512}, {1024, 1024}};
    static const char *const names[] = {"x W", "g W^T", "x^T g"};
    bool smoke = false;
    FILE *json = NULL;
    for (int i = 1; i < count; i++) {
        if (strcmp(argument[i], "--smoke") == 0) {
            smoke = true;
        } else if (strcmp(argument[i], "--json") == 0 && i + 1 < count) {
            json = fopen(argument[++i], "w");
            if (!json) bench_die("%s cannot be written", argument[i]);
        } else {
            bench_die("usage: products [--smoke] [--json FILE]");
        }
    }
#ifdef BENCH_OPENBLAS
    openblas_set_num_threads(1);
#endif
    char command[200];
    bench_command_text(command, sizeof command, count, argument);
    bench_machine machine = bench_machine_get();
    bench_machine_print(&machine);
    printf(
        "GFLOP/s of %d tiles of %d rows on one thread, kernels for %s; in brackets: ours is faster by\n",
        TILES, ROWS, pgcn_i_kernels_get()->isa);
    for (size_t i = 0; i < sizeof shape / sizeof shape[0] && !(smoke && i > 4); i++)
        for (int n = 0; n < 3; n++) {
            int64_t in = shape[i][0], out = shape[i][1];
            float *x = ref_random_floats(1, TILES * ROWS * in), *w = ref_random_floats(2, in * out);
            float *y = ref_random_floats(3, TILES * ROWS * out);
            products p = products_of(names[n], in, out, x, w, y);
            measure(&p, &machine, smoke ? 1 : 15, command, json);
            free(x), free(w), free(y);
        }
    if (json && fclose(json) != 0) bench_die("the JSON lines could not be written");
    return 0;
}
