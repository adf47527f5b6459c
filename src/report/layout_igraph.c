/* Layouts by igraph, where it was there when the program was built and is there now.
 *
 * It is opened when the first graph is laid out and not linked: igraph brings BLAS, LAPACK, GLPK and libxml2 with it,
 * which would make every start of the program slower and larger. */
#include "report/drawing.h"

#ifdef REPORT_IGRAPH
#include <dlfcn.h>
#include <igraph/igraph.h>
#include <pthread.h>
#include <sys/resource.h>

/* The functions that are called, by the types of its header. */
#define FUNCTIONS(X)                                                                               \
    X(igraph_version)                                                                              \
    X(igraph_set_error_handler)                                                                    \
    X(igraph_error_handler_ignore)                                                                 \
    X(igraph_vector_int_view)                                                                      \
    X(igraph_matrix_init)                                                                          \
    X(igraph_matrix_destroy)                                                                       \
    X(igraph_create)                                                                               \
    X(igraph_destroy)                                                                              \
    X(igraph_layout_kamada_kawai)

#define MEMBER(name) __typeof__(&name) name;
static struct { FUNCTIONS(MEMBER) } lib;
static const char *version; /* NULL: not here */

/* The OpenBLAS that igraph brings does not start in little address space: it waits for ever. */
static bool is_limited(void) {
    struct rlimit space;
    return getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur != RLIM_INFINITY;
}

static void open_library(void) {
    if (is_limited()) return;
    void *handle = dlopen(REPORT_IGRAPH, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) return;
    bool all = true;
#define FIND(name)                                                                                 \
    *(void **)&lib.name = dlsym(handle, #name);                                                    \
    all = all && lib.name != NULL;
    FUNCTIONS(FIND)
    if (!all) return;                                              /* another version */
    lib.igraph_set_error_handler(lib.igraph_error_handler_ignore); /* the default one aborts */
    lib.igraph_version(&version, NULL, NULL, NULL);
}

const char *report_igraph_version(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    return version;
}

/* Kamada and Kawai's springs; with a start it draws no random numbers. */
static bool lay_out(const igraph_t *graph, int64_t n, double *x, double *y) {
    igraph_matrix_t place;
    if (lib.igraph_matrix_init(&place, n, 2) != IGRAPH_SUCCESS) return false;
    for (int64_t i = 0; i < n; i++) {
        MATRIX(place, i, 0) = x[i];
        MATRIX(place, i, 1) = y[i];
    }
    bool fine = lib.igraph_layout_kamada_kawai(graph, &place, true, 50 * n, 0, (igraph_real_t)n,
                                               NULL, NULL, NULL, NULL, NULL) == IGRAPH_SUCCESS;
    for (int64_t i = 0; fine && i < n; i++) {
        x[i] = MATRIX(place, i, 0);
        y[i] = MATRIX(place, i, 1);
    }
    lib.igraph_matrix_destroy(&place);
    return fine;
}

bool report_layout_igraph(const report_graph *graph, double *x, double *y) {
    igraph_t theirs;
    igraph_vector_int_t edges;
    if (!report_igraph_version()) return false;
    igraph_integer_t *pair = malloc((size_t)(2 * graph->edges + 1) * sizeof *pair);
    if (!pair) return false;
    for (int64_t e = 0; e < graph->edges; e++) {
        pair[2 * e] = graph->from[e];
        pair[2 * e + 1] = graph->to[e];
    }
    lib.igraph_vector_int_view(&edges, pair, 2 * graph->edges);
    bool fine = lib.igraph_create(&theirs, &edges, graph->nodes, false) == IGRAPH_SUCCESS;
    free(pair);
    if (!fine) return false;
    fine = lay_out(&theirs, graph->nodes, x, y);
    lib.igraph_destroy(&theirs);
    return fine;
}

const char *report_layout_built(void) {
    return "igraph " IGRAPH_VERSION ", where " REPORT_IGRAPH " is there";
}

#else

const char *report_layout_built(void) {
    return "own";
}
const char *report_igraph_version(void) {
    return NULL;
}
bool report_layout_igraph(const report_graph *graph, double *x, double *y) {
    (void)graph, (void)x, (void)y;
    return false;
}
#endif
