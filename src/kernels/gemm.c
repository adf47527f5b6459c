/* Dense products: the one place that knows BLAS and LIBXSMM.
 *
 * LIBXSMM writes machine code for one shape at run time and reads the matrices where they are. For
 * whole tiles of rows it wins: 101 against 86 GFLOP/s for 64 x 256 x 256, 113 against 109 for 64 x
 * 64 x 64 (one core of a Zen 4; OpenBLAS packs the weights again for every tile). All other shapes,
 * and machines without it, go to OpenBLAS.
 *
 * Each call runs on the calling thread. Our own tasks cut the rows, at places that do not depend on
 * the number of threads, so OpenBLAS is told once to use one thread; its own threads would fight
 * with ours for the cores and could change the order of a sum. Called by nn.
 *
 * Debian has three flavours of OpenBLAS under one name. Only the pthread one locks its table of work
 * buffers: with the serial one, two threads that multiply at the same time may be given the same
 * buffer (seen here with 0.3.21: 59 wrong products in 1.2 million, no crash). With any flavour but
 * pthread the products therefore take turns: slower, never wrong. */
#include "kernels/kernels.h"

#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#ifdef PGCN_HAVE_LIBXSMM
#include <libxsmm.h>
#endif

static pthread_once_t setup_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static bool take_turns, generates_code;
static char name[240];

static void setup(void) {
#ifdef OPENBLAS_VERSION /* <cblas.h> is the one of OpenBLAS */
    openblas_set_num_threads(1);
    take_turns = openblas_get_parallel() != OPENBLAS_THREAD;
    snprintf(name, sizeof name, "%s, kernels for %s%s", openblas_get_config(),
             openblas_get_corename(),
             take_turns ? "; products take turns, install libopenblas0-pthread for speed" : "");
#else
    take_turns = true;
    snprintf(name, sizeof name, "CBLAS (not OpenBLAS); products take turns");
#endif
#ifdef PGCN_HAVE_LIBXSMM
    /* The instruction set that PATHGCN_ISA asked for holds for products too. */
    const char *isa = pgcn_i_kernels_get()->isa;
    generates_code = strcmp(isa, "baseline") != 0;
    if (strcmp(isa, "avx2") == 0) libxsmm_set_target_archid(LIBXSMM_X86_AVX2);
    if (generates_code) {
        size_t end = strlen(name);
        snprintf(name + end, sizeof name - end, "; tiles by LIBXSMM %s for %s", LIBXSMM_VERSION,
                 libxsmm_get_target_arch());
    }
#endif
}

/* A whole tile of rows, if there is code for it. LIBXSMM counts column by column, so it is given
 * the transposed product, C^T = B^T A^T, in which A^T is what it calls B. */
static bool tile_product(bool transpose_a, int64_t m, int64_t n, int64_t k, const float *a,
                         int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                         int64_t ldc) {
#ifdef PGCN_HAVE_LIBXSMM
    if (!generates_code || (transpose_a ? k : m) != PGCN_BLOCK_ROWS) return false;
    const int ld_a = (int)ldb, ld_b = (int)lda, ld_c = (int)ldc;
    const int flags = transpose_a ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
    const float one = 1.0f;
    libxsmm_smmfunction product =
        libxsmm_smmdispatch((int)n, (int)m, (int)k, &ld_a, &ld_b, &ld_c, &one, &beta, &flags, NULL);
    if (product) product(b, a, c);
    return product != NULL;
#else
    (void)transpose_a, (void)m, (void)n, (void)k, (void)a, (void)lda, (void)b, (void)ldb;
    (void)beta, (void)c, (void)ldc, (void)generates_code;
    return false;
#endif
}

void pgcn_i_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                 const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                 int64_t ldc) {
    if (m == 0 || n == 0) return;
    if (k == 0) { /* BLAS would complain about the leading dimensions of empty matrices */
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                c[i * ldc + j] = beta == 0.0f ? 0.0f : beta * c[i * ldc + j];
        return;
    }
    pthread_once(&setup_once, setup);
    if (!transpose_b && (beta == 0.0f || beta == 1.0f) &&
        tile_product(transpose_a, m, n, k, a, lda, b, ldb, beta, c, ldc))
        return;
    /* Rows are nodes (pgcn_node, 32 bit) and columns are channels or features: they fit in an
     * int, which is what BLAS counts with. */
    if (take_turns) pthread_mutex_lock(&turn);
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, 1.0f, a, (int)lda,
                b, (int)ldb, beta, c, (int)ldc);
    if (take_turns) pthread_mutex_unlock(&turn);
}

const char *pgcn_i_blas_name(void) {
    pthread_once(&setup_once, setup);
    return name;
}
