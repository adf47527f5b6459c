/* Dense products: the one place that knows BLAS.
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

static pthread_once_t setup_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static bool take_turns;
static char name[200];

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
