/* Graphs, as capsules, and random walks on them. */
#include "core.h"

static const char capsule_name[] = "pathgcn.graph";

const pgcn_graph *core_graph_of(PyObject *object) {
    return PyCapsule_GetPointer(object, capsule_name);
}

static void free_graph(PyObject *capsule) {
    pgcn_graph_free(PyCapsule_GetPointer(capsule, capsule_name));
}

typedef pgcn_status graph_maker(int64_t n, const Py_buffer view[3], const pgcn_graph_opts *opts,
                                pgcn_graph **out);

static pgcn_status from_csr(int64_t n, const Py_buffer view[3], const pgcn_graph_opts *opts,
                            pgcn_graph **out) {
    return pgcn_graph_from_csr(n, view[0].buf, view[1].buf, view[2].buf, opts, out);
}
static pgcn_status from_edges(int64_t n, const Py_buffer view[3], const pgcn_graph_opts *opts,
                              pgcn_graph **out) {
    return pgcn_graph_from_edges(n, view[0].len / 4, view[0].buf, view[1].buf, view[2].buf, opts,
                                 out);
}

static PyObject *run_maker(graph_maker *make, int64_t n, const Py_buffer view[3],
                           const pgcn_graph_opts *opts) {
    pgcn_graph *graph = NULL;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = make(n, view, opts, &graph);
    Py_END_ALLOW_THREADS
    if (status != PGCN_OK) return core_raise(status);
    PyObject *capsule = PyCapsule_New(graph, capsule_name, free_graph);
    if (!capsule) pgcn_graph_free(graph);
    return capsule;
}

static PyObject *make_graph(PyObject *arguments, bool compressed) {
    long long n;
    int directed, keep_self_loops;
    PyObject *first, *second, *weight, *capsule = NULL;
    Py_buffer view[3] = {{.obj = NULL}, {.obj = NULL}, {.obj = NULL}};
    if (!PyArg_ParseTuple(arguments, "LOOOpp", &n, &first, &second, &weight, &directed,
                          &keep_self_loops))
        return NULL;
    if (n < 1 || n > INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "a graph of %lld nodes, expected 1 to %d", n,
                            INT32_MAX);
    pgcn_graph_opts opts = pgcn_graph_opts_default();
    opts.directed = directed;
    opts.keep_self_loops = keep_self_loops;
    bool fine = core_buffer(first, compressed ? "indptr" : "the sources of the edges",
                            compressed ? CORE_INT64 : CORE_INT32, compressed ? n + 1 : -1, false,
                            &view[0]) == 0;
    int64_t entries = !fine ? 0 : compressed ? ((const int64_t *)view[0].buf)[n] : view[0].len / 4;
    fine = fine && core_buffer(second, compressed ? "indices" : "the targets of the edges",
                               CORE_INT32, entries < 0 ? 0 : entries, false, &view[1]) == 0;
    fine = fine && (weight == Py_None ||
                    core_buffer(weight, "the weights", CORE_FLOAT, entries, false, &view[2]) == 0);
    if (fine) capsule = run_maker(compressed ? from_csr : from_edges, n, view, &opts);
    for (int i = 0; i < 3; i++)
        if (view[i].obj) PyBuffer_Release(&view[i]);
    return capsule;
}

/* graph(n, offset, neighbour, weight or None, directed, keep_self_loops): a capsule. */
static PyObject *graph_of_csr(PyObject *module, PyObject *arguments) {
    (void)module;
    return make_graph(arguments, true);
}
/* graph_from_edges(n, source, target, weight or None, directed, keep_self_loops): a capsule. */
static PyObject *graph_of_edges(PyObject *module, PyObject *arguments) {
    (void)module;
    return make_graph(arguments, false);
}

PyObject *core_graph_arrays(PyObject *owner, const pgcn_graph *graph) {
    const int64_t *offset;
    const pgcn_node *neighbour;
    const float *weight;
    pgcn_graph_csr(graph, &offset, &neighbour, &weight);
    int64_t rows = pgcn_graph_nodes(graph) + 1, entries = pgcn_graph_entries(graph);
    return Py_BuildValue("(NNN)", core_array(owner, offset, CORE_INT64, 1, &rows),
                         core_array(owner, neighbour, CORE_INT32, 1, &entries),
                         weight ? core_array(owner, weight, CORE_FLOAT, 1, &entries)
                                : Py_NewRef(Py_None));
}

/* sample_paths(graph, walk, length, paths, return_p, inout_q, may_stay, seed, draw, threads, starts or
 * None, out). */
static PyObject *sample(PyObject *module, PyObject *arguments) {
    (void)module;
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    PyObject *capsule, *starts, *out, *result = NULL;
    unsigned long long seed, draw;
    int walk, may_stay;
    if (!PyArg_ParseTuple(arguments, "OiiiffpKKiOO", &capsule, &walk, &opts.length, &opts.paths,
                          &opts.return_p, &opts.inout_q, &may_stay, &seed, &draw, &opts.threads,
                          &starts, &out))
        return NULL;
    const pgcn_graph *graph = core_graph_of(capsule);
    if (!graph) return NULL;
    opts.walk = (pgcn_walk)walk;
    opts.may_stay = may_stay;
    opts.seed = seed;
    opts.draw = draw;
    int64_t count = pgcn_graph_nodes(graph);
    Py_buffer start_view = {.obj = NULL}, out_view = {.obj = NULL};
    if (starts == Py_None ||
        core_buffer(starts, "starts", CORE_INT32, -1, false, &start_view) == 0) {
        if (start_view.obj) count = start_view.len / 4;
        if (core_buffer(out, "out", CORE_INT32, count * opts.paths * opts.length, true,
                        &out_view) == 0) {
            pgcn_status status;
            Py_BEGIN_ALLOW_THREADS
            status = pgcn_paths_sample(graph, &opts, start_view.obj ? start_view.buf : NULL, count,
                                       out_view.buf);
            Py_END_ALLOW_THREADS
            result = status == PGCN_OK ? Py_NewRef(Py_None) : core_raise(status);
            PyBuffer_Release(&out_view);
        }
    }
    if (start_view.obj) PyBuffer_Release(&start_view);
    return result;
}

static PyMethodDef functions[] = {
    {"graph", graph_of_csr, METH_VARARGS, "A graph of a compressed adjacency."},
    {"graph_from_edges", graph_of_edges, METH_VARARGS, "A graph of a list of edges."},
    {"sample_paths", sample, METH_VARARGS, "Random walks from nodes of a graph."},
    {NULL, NULL, 0, NULL}};

int core_add_paths(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
