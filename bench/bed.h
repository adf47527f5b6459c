/* What the files of the program `kernels` share: its settings, a bed of arrays to measure on,
 * and the way a kernel and its limits take turns. */
#ifndef PGCN_BENCH_BED_H
#define PGCN_BENCH_BED_H

#include "bench.h"
#include "limits.h"

#include "ref/reference.h"
#include "train/train.h"

extern struct bench_run {
    bench_machine machine;
    char command[200];
    FILE *json;
    int repetitions;
    bool smoke;
    int thread_counts, threads[2];
    pgcn_i_pool *pool[2];
} run;

void must(pgcn_status status); /* or the program ends with the error */
/* `got` is `want` to within the tolerance (of the largest element), or the program ends. */
void check_close(const char *what, const float *got, const double *want, int64_t count,
                 double tolerance);

/* One graph, its visit lists, and arrays of c channels. */
typedef struct bed {
    char name[40]; /* of the data */
    pgcn_dataset *data;
    pgcn_trainer *trainer; /* made for what it has: walker, lists, exact operator, input */
    const pgcn_i_kernels *kernels;
    pgcn_i_pool *pool; /* of the measurement that runs */
    const pgcn_i_csr *hop, *hop_t;
    int k, p;
    int64_t n, c;
    int64_t rows; /* that are worked on: all, or as many as fill some tenths of a second */
    float *h, *g, *out, *s;
    float *partial;   /* [groups, k * c] */
    pgcn_node *walks; /* [n, p, k] */
    int64_t step;
    /* what only the cases of one file section use */
    pgcn_i_csr free_hop[8], free_hop_t[8];
    int32_t *place;
    const pgcn_i_csr *product; /* the matrix of Horner's rule, or the kept entries of the input */
    uint8_t *kept;             /* entries of the features after dropout */
    float *weight, *product_out;
} bed;

void bed_open(bed *b, const char *name, const char *label, int k, int p, int64_t c, int64_t rows,
              bool huge_pages);
void bed_close(bed *b);
void bed_shape(char *out, size_t bytes, const bed *b, const char *note);
int64_t bed_checked_rows(const bed *b); /* comparing all rows of a large bed would take minutes */

static inline pgcn_i_blocks bed_groups(int64_t rows) {
    return pgcn_i_groups_of(rows, PGCN_GROUPS);
}

typedef struct subject {
    const char *name;
    const char *note; /* goes behind the shape, or NULL */
    void (*body)(void *bed);
    double work;
    bench_unit unit;
    const char *of;
    void (*limit[3])(void *bed); /* the fastest counts; NULL: none */
    double limit_thread_work;    /* of one call of it on each thread, if not the same */
    const char *limit_name;
} subject;
void measure(bed *b, const subject *x); /* on one thread, and on two */

/* NAME(bed) runs NAME_task over blocks (or groups) of the rows, like the operations of src/nn
 * do. */
#define OVER(name, cut, count_of)                                                                  \
    static void name(void *context) {                                                              \
        bed *b = context;                                                                          \
        pgcn_i_parallel(b->pool, cut(count_of).count, name##_task, b);                             \
    }
#define TASK(name, cut, count_of)                                                                  \
    static void name##_rows(bed *b, int64_t begin, int64_t end, int64_t task);                     \
    static void name##_task(void *context, int64_t task, int worker) {                             \
        bed *b = context;                                                                          \
        (void)worker;                                                                              \
        pgcn_i_blocks blocks = cut(count_of);                                                      \
        name##_rows(b, pgcn_i_block_begin(blocks, task), pgcn_i_block_end(blocks, task), task);    \
    }                                                                                              \
    OVER(name, cut, count_of)                                                                      \
    static void name##_rows(__attribute__((unused)) bed *b, int64_t begin, int64_t end,            \
                            __attribute__((unused)) int64_t task)
#define OVER_BLOCKS(name) TASK(name, pgcn_i_blocks_of, b->rows)
#define OVER_GROUPS(name) TASK(name, bed_groups, b->rows)

/* The three ways to sum the rows that lists name; the fastest is the limit. */
#define GATHER_LIMITS(name, cut, count_of, out, x, list, lists)                                    \
    TASK(name##_narrow, cut, count_of) {                                                           \
        limit_gather(out, x, list, lists, begin, end, b->c, false, 0);                             \
    }                                                                                              \
    TASK(name##_wide, cut, count_of) {                                                             \
        limit_gather(out, x, list, lists, begin, end, b->c, true, 0);                              \
    }                                                                                              \
    TASK(name##_ahead, cut, count_of) {                                                            \
        limit_gather(out, x, list, lists, begin, end, b->c, true, 32);                             \
    }
#define LIMITS(name)                                                                               \
    { name##_narrow, name##_wide, name##_ahead }

/* ---- the cases ------------------------------------------------------------------------------ */

/* kernels_machine.c: streams, random rows, multiply-adds */
void bench_machine_limits(void);
/* kernels_path.c. `redraw` draws the visits that the others read. */
void bench_redraw(bed *b);
void bench_sampling(bed *b);
void bench_pathconv(bed *b, const char *note);
void bench_exact(bed *b);
void bench_input(bed *b);
/* kernels_dense.c */
void bench_gemm(bed *b);
void bench_layer(bed *b);
void bench_elementwise(bed *b);
void bench_loss(bed *b);

#endif
