/* Dense products C = A B on the calling thread, for tiles of rows that the callers (nn) cut.
 *
 * Every element of C is one sum, added in the order of k by one accumulator:
 *
 *   c_ij = (..((start + a_i0 b_0j) + a_i1 b_1j) + ..)      start: 0, or the c_ij that was there
 *
 * A vector lies along the columns, so each lane is the sum of another element of C, never a part of
 * one sum. The sizes of tiles therefore affect speed only: a row has the same bits whatever is
 * computed beside it, and instruction sets with fused multiply-add (AVX2, AVX-512) give the same
 * bits as each other. Libraries do not promise that: OpenBLAS and LIBXSMM round the rows left over
 * after full tiles in another way.
 *
 * A tile of C stays in registers for all of k. A panel, the columns of B that it needs, is packed
 * to the stack if its rows are far apart, are transposed or do not fill a vector. Nothing is
 * allocated, nothing can fail, nothing is shared between threads. */
#include "kernels/isa.h"

/* Tiles of ROWS_WIDE rows and VECTORS_WIDE vectors, and of ROWS_NARROW rows and one vector for the
 * last columns. Registers: the sums, a row of B and one element of A. AVX-512 and ARM have 32 of
 * them, the other sets of x86 have 16. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { VECTORS_WIDE = 4 };
#else
enum { VECTORS_WIDE = 2 };
#endif
enum {
    ROWS_WIDE = 6,
    ROWS_NARROW = 12,
    PANEL = VECTORS_WIDE * LANES, /* columns of a wide panel */
    DEPTH = 256,                  /* of k at once, so that a panel stays in the nearest caches */
    NEAR_ROWS = 96 /* rows of B of at most that many floats are read where they are (Zen 3: packing
                      costs 3 % at 64 columns, gains 7 % at 256 and two thirds at 1024) */
};

/* What a tile reads and writes. Element (i, l) of A is at a[i * a_row + l * a_step]; the rows of
 * the panel of B are b_row apart. */
typedef struct tile_args {
    const float *a, *b;
    int64_t a_row, a_step, b_row, k;
    float *c;
    int64_t ldc;
    bool add;
} tile_args;

/* rows and vectors are constants after inlining, a_row is so where A is transposed. */
ALWAYS_INLINE void tile(int rows, int vectors, int64_t a_row, const tile_args *t) {
    vec sum[ROWS_NARROW][VECTORS_WIDE];
    const float *a = t->a, *b = t->b;
    float *c = t->c;
    int64_t a_step = t->a_step, b_row = t->b_row, ldc = t->ldc;
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            sum[i][v] = t->add ? vec_load(c + i * ldc + v * LANES, LANES) : (vec){0};
    for (int64_t l = t->k; l > 0; l--) {
        vec columns[VECTORS_WIDE];
        for (int v = 0; v < vectors; v++) columns[v] = vec_load(b + v * LANES, LANES);
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < vectors; v++) sum[i][v] += a[i * a_row] * columns[v];
        a += a_step;
        b += b_row;
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) vec_store(c + i * ldc + v * LANES, sum[i][v], LANES);
}

/* One function for each number of rows, so that the sums of each are registers. */
#define DEFINE_TILE(rows, kind, vectors)                                                           \
    static void tile_##kind##_##rows(const tile_args *t) {                                         \
        if (t->a_row == 1) {                                                                       \
            tile(rows, vectors, 1, t);                                                             \
        } else {                                                                                   \
            tile(rows, vectors, t->a_row, t);                                                      \
        }                                                                                          \
    }
#define DEFINE_BOTH(rows) DEFINE_TILE(rows, wide, VECTORS_WIDE) DEFINE_TILE(rows, narrow, 1)
DEFINE_BOTH(1)
DEFINE_BOTH(2)
DEFINE_BOTH(3)
DEFINE_BOTH(4)
DEFINE_BOTH(5)
DEFINE_BOTH(6)
DEFINE_TILE(7, narrow, 1)
DEFINE_TILE(8, narrow, 1)
DEFINE_TILE(9, narrow, 1)
DEFINE_TILE(10, narrow, 1)
DEFINE_TILE(11, narrow, 1)
DEFINE_TILE(12, narrow, 1)

typedef void (*tile_function)(const tile_args *t);
static const tile_function tile_wide[ROWS_WIDE + 1] = {
    NULL, tile_wide_1, tile_wide_2, tile_wide_3, tile_wide_4, tile_wide_5, tile_wide_6};
static const tile_function tile_narrow[ROWS_NARROW + 1] = {
    NULL,           tile_narrow_1,  tile_narrow_2, tile_narrow_3, tile_narrow_4,
    tile_narrow_5,  tile_narrow_6,  tile_narrow_7, tile_narrow_8, tile_narrow_9,
    tile_narrow_10, tile_narrow_11, tile_narrow_12};

/* A tile whose last vector reaches beyond the columns of C is computed in a buffer and copied. */
static void tile_at_edge(tile_function function, const tile_args *t, int64_t rows,
                         int64_t columns) {
    float aside[ROWS_NARROW * LANES];
    tile_args inside = *t;
    inside.c = aside;
    inside.ldc = LANES;
    for (int64_t i = 0; i < rows && t->add; i++)
        vec_store(aside + i * LANES, vec_load_first(t->c + i * t->ldc, (int)columns), LANES);
    function(&inside);
    for (int64_t i = 0; i < rows; i++)
        memcpy(t->c + i * t->ldc, aside + i * LANES, (size_t)columns * sizeof *aside);
}

/* m rows of C for the columns of one panel. */
static void panel_product(tile_args t, int64_t m, int64_t columns) {
    bool wide = columns == PANEL;
    const tile_function *function = wide ? tile_wide : tile_narrow;
    int64_t most = wide ? ROWS_WIDE : ROWS_NARROW;
    for (int64_t rows; m > 0; m -= rows) {
        rows = m < most ? m : most;
        if (columns < LANES) {
            tile_at_edge(function[rows], &t, rows, columns);
        } else {
            function[rows](&t);
        }
        t.a += rows * t.a_row;
        t.c += rows * t.ldc;
    }
}

/* packed [k, VECTORS * LANES] = the columns of B, with zeros beside them. */
ALWAYS_INLINE void pack_rows(float *packed, int vectors, int lanes, const float *b, int64_t ldb,
                             int64_t k) {
    for (int64_t l = 0; l < k; l++)
        for (int v = 0; v < vectors; v++)
            vec_store(packed + (l * vectors + v) * LANES, vec_load(b + l * ldb + v * LANES, lanes),
                      LANES);
}

/* The same where B is stored transposed: row j of b is a column. */
ALWAYS_INLINE void pack_transposed(float *packed, int64_t width, int64_t columns, const float *b,
                                   int64_t ldb, int64_t k) {
    for (int64_t l = 0; l < k; l++)
        for (int64_t j = 0; j < columns; j++) packed[l * width + j] = b[j * ldb + l];
}

static void pack(float *packed, const float *b, int64_t ldb, bool transposed, int64_t k,
                 int64_t columns) {
    if (!transposed && columns == PANEL) {
        pack_rows(packed, VECTORS_WIDE, LANES, b, ldb, k);
    } else if (!transposed) {
        pack_rows(packed, 1, (int)columns, b, ldb, k);
    } else if (columns == PANEL) {
        pack_transposed(packed, PANEL, PANEL, b, ldb, k);
    } else {
        if (columns < LANES) memset(packed, 0, (size_t)(k * LANES) * sizeof *packed);
        pack_transposed(packed, LANES, columns, b, ldb, k);
    }
}

static void gemm(const pgcn_i_product *p) {
    float packed[DEPTH * PANEL] __attribute__((aligned(64)));
    for (int64_t j = 0, columns; j < p->n; j += columns) {
        columns = p->n - j >= PANEL ? PANEL : p->n - j >= LANES ? LANES : p->n - j;
        bool in_place =
            !p->b_transposed && columns >= LANES && (p->ldb <= NEAR_ROWS || p->m <= ROWS_WIDE);
        int64_t l = 0;
        do { /* once even where k is 0: the sums are then what they start with */
            int64_t depth = p->k - l < DEPTH ? p->k - l : DEPTH;
            const float *b = p->b + (p->b_transposed ? j * p->ldb + l : l * p->ldb + j);
            if (!in_place) pack(packed, b, p->ldb, p->b_transposed, depth, columns);
            tile_args t = {.a = p->a + l * (p->a_transposed ? p->lda : 1),
                           .a_row = p->a_transposed ? 1 : p->lda,
                           .a_step = p->a_transposed ? p->lda : 1,
                           .b = in_place ? b : packed,
                           .b_row = in_place           ? p->ldb
                                    : columns == PANEL ? PANEL
                                                       : LANES,
                           .k = depth,
                           .c = p->c + j,
                           .ldc = p->ldc,
                           .add = p->add || l > 0};
            panel_product(t, p->m, columns);
            l += depth;
        } while (l < p->k);
    }
}

void PGCN_I_ISA(pgcn_i_fill_gemm)(pgcn_i_kernels *table) {
    table->gemm = gemm;
}
