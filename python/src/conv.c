/* _core.Visits: the operator of a path convolution on a graph, applied to float32 and float64 arrays. What
 * python/pathgcn/torch.py makes a layer of. Arrays come as objects with the buffer protocol, and results are
 * written into arrays of the caller. */
#include "core.h"

#include <string.h>

typedef struct visits_object {
    PyObject_HEAD
    PyObject *graph; /* its capsule, which lives as long as the visits */
    pgcn_visits *visits;
    pgcn_paths_opts opts;
    int64_t n;
} visits_object;

/* ---- making -------------------------------------------------------------------------------------------- */

/* The place of a word in a list that ends with NULL; -1 with an exception set if it is not there. */
static int word_of(const char *what, const char *word, const char *const *words, const char *all) {
    for (int i = 0; words[i]; i++)
        if (strcmp(word, words[i]) == 0) return i;
    PyErr_Format(PyExc_ValueError, "%s is '%s', expected %s", what, word, all);
    return -1;
}

/* A new object without visits. */
static visits_object *new_object(PyTypeObject *type, PyObject *graph, const pgcn_paths_opts *opts) {
    visits_object *self = core_new((PyObject *)type);
    if (!self) return NULL;
    self->graph = Py_NewRef(graph);
    self->opts = *opts;
    self->n = pgcn_graph_nodes(core_graph_of(graph));
    return self;
}

static void visits_dealloc(PyObject *object) {
    visits_object *self = (visits_object *)object;
    pgcn_visits_free(self->visits); /* before the graph that it reads */
    Py_XDECREF(self->graph);
    core_delete(object);
}

static PyObject *make_visits(PyTypeObject *type, PyObject *graph, const pgcn_paths_opts *opts,
                             pgcn_scaling scaling, pgcn_form form) {
    visits_object *self = new_object(type, graph, opts);
    if (!self) return NULL;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pgcn_visits_new(core_graph_of(graph), opts, scaling, form, &self->visits);
    Py_END_ALLOW_THREADS
    if (status == PGCN_OK) return (PyObject *)self;
    Py_DECREF(self);
    return core_raise(status);
}

static PyObject *visits_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static const char *const walks[] = {"uniform", "weighted", "node2vec", NULL};
    static const char *const scalings[] = {"walk", "symmetric", NULL};
    static char *names[] = {"graph",    "length",  "paths",   "walk",  "return_p", "inout_q",
                            "may_stay", "scaling", "threads", "exact", NULL};
    PyObject *graph;
    const char *walk = "uniform", *scaling = "walk";
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    int may_stay = 0, exact = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|iisffpsip", names, &graph,
                                     &opts.length, &opts.paths, &walk, &opts.return_p,
                                     &opts.inout_q, &may_stay, &scaling, &opts.threads, &exact))
        return NULL;
    int walk_at = word_of("walk", walk, walks, "'uniform', 'weighted' or 'node2vec'");
    int scaling_at =
        walk_at < 0 ? -1 : word_of("scaling", scaling, scalings, "'walk' or 'symmetric'");
    if (scaling_at < 0 || !core_graph_of(graph)) return NULL;
    opts.walk = (pgcn_walk)walk_at;
    opts.may_stay = may_stay;
    return make_visits(type, graph, &opts, (pgcn_scaling)scaling_at,
                       exact ? PGCN_FORM_EXACT : PGCN_FORM_SAMPLED);
}

static PyObject *visits_beside(PyObject *object, PyObject *none) {
    (void)none;
    const visits_object *self = (const visits_object *)object;
    visits_object *other = new_object(Py_TYPE(object), self->graph, &self->opts);
    if (!other) return NULL;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pgcn_visits_new_beside(self->visits, &other->visits);
    Py_END_ALLOW_THREADS
    if (status == PGCN_OK) return (PyObject *)other;
    Py_DECREF(other);
    return core_raise(status);
}

/* ---- paths ----------------------------------------------------------------------------------------------- */

static PyObject *visits_sample(PyObject *object, PyObject *arguments) {
    const visits_object *self = (const visits_object *)object;
    unsigned long long seed, draw;
    if (!PyArg_ParseTuple(arguments, "KK", &seed, &draw)) return NULL;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pgcn_visits_sample(self->visits, seed, draw);
    Py_END_ALLOW_THREADS
    if (status != PGCN_OK) return core_raise(status);
    Py_RETURN_NONE;
}

static PyObject *visits_paths(PyObject *object, PyObject *arguments) {
    const visits_object *self = (const visits_object *)object;
    unsigned long long seed, draw;
    PyObject *array;
    Py_buffer out;
    if (!PyArg_ParseTuple(arguments, "KKO", &seed, &draw, &array)) return NULL;
    int64_t count = self->n * self->opts.paths * self->opts.length;
    if (core_buffer(array, "out", 'i', count, true, &out) < 0) return NULL;
    pgcn_paths_opts opts = self->opts;
    opts.seed = seed;
    opts.draw = draw;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pgcn_paths_sample(core_graph_of(self->graph), &opts, NULL, 0, out.buf);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&out);
    if (status != PGCN_OK) return core_raise(status);
    Py_RETURN_NONE;
}

/* ---- convolution ------------------------------------------------------------------------------------------ */

/* The arrays of one call, in the order in which they are given. All are of the type of the first. */
enum { MOST_ARRAYS = 5 };
typedef struct conv_arrays {
    Py_buffer view[MOST_ARRAYS];
    void *data[MOST_ARRAYS]; /* NULL: None */
    bool is_double, depthwise;
} conv_arrays;

typedef struct array_rule {
    const char *name;
    bool is_weight, is_written, may_be_none;
} array_rule;

static void release_arrays(conv_arrays *arrays) {
    for (int i = 0; i < MOST_ARRAYS; i++)
        if (arrays->data[i]) PyBuffer_Release(&arrays->view[i]);
}

static int item_bytes(PyObject *object) {
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_STRIDES) < 0) return -1;
    int bytes = (int)view.itemsize;
    PyBuffer_Release(&view);
    return bytes;
}

/* A weight has one number per hop, or one per hop and channel; which one, its size says. */
static int take_arrays(const visits_object *self, long long channels, PyObject *const *object,
                       const array_rule *rules, conv_arrays *out) {
    if (channels < 1 || channels > INT64_MAX / 8 / INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "channels is %lld, expected at least 1", channels);
        return -1;
    }
    const int bytes = item_bytes(object[0]);
    if (bytes < 0) return -1;
    out->is_double = bytes == sizeof(double);
    Py_buffer weight;
    const char kind = out->is_double ? 'd' : 'f';
    if (core_buffer(object[1], rules[1].name, kind, -1, false, &weight) < 0) return -1;
    out->depthwise = weight.len != self->opts.length * (Py_ssize_t)weight.itemsize;
    PyBuffer_Release(&weight);
    const int64_t kernel = self->opts.length * (out->depthwise ? channels : 1);
    for (int i = 0; i < MOST_ARRAYS && rules[i].name; i++) {
        if (rules[i].may_be_none && object[i] == Py_None) continue;
        int64_t count = rules[i].is_weight ? kernel : self->n * channels;
        if (core_buffer(object[i], rules[i].name, kind, count, rules[i].is_written, &out->view[i]) <
            0) {
            release_arrays(out);
            return -1;
        }
        out->data[i] = out->view[i].buf;
    }
    return 0;
}

static PyObject *visits_forward(PyObject *object, PyObject *arguments) {
    static const array_rule rules[MOST_ARRAYS] = {
        {.name = "x"}, {.name = "weight", .is_weight = true}, {.name = "out", .is_written = true}};
    const visits_object *self = (const visits_object *)object;
    long long c;
    PyObject *given[3];
    conv_arrays a = {.is_double = false};
    if (!PyArg_ParseTuple(arguments, "LOOO", &c, &given[0], &given[1], &given[2]) ||
        take_arrays(self, c, given, rules, &a) < 0)
        return NULL;
    void **d = a.data;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    if (a.is_double)
        status = pgcn_pathconv_forward_double(self->visits, c, a.depthwise, d[0], d[1], d[2]);
    else
        status = pgcn_pathconv_forward(self->visits, c, a.depthwise, d[0], d[1], d[2]);
    Py_END_ALLOW_THREADS
    release_arrays(&a);
    if (status != PGCN_OK) return core_raise(status);
    Py_RETURN_NONE;
}

static PyObject *visits_backward(PyObject *object, PyObject *arguments) {
    static const array_rule rules[MOST_ARRAYS] = {
        {.name = "x"},
        {.name = "weight", .is_weight = true},
        {.name = "grad_out"},
        {.name = "grad_x", .is_written = true, .may_be_none = true},
        {.name = "grad_weight", .is_weight = true, .is_written = true, .may_be_none = true}};
    const visits_object *self = (const visits_object *)object;
    long long c;
    PyObject *given[MOST_ARRAYS];
    conv_arrays a = {.is_double = false};
    if (!PyArg_ParseTuple(arguments, "LOOOOO", &c, &given[0], &given[1], &given[2], &given[3],
                          &given[4]) ||
        take_arrays(self, c, given, rules, &a) < 0)
        return NULL;
    void **d = a.data;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    if (a.is_double)
        status = pgcn_pathconv_backward_double(self->visits, c, a.depthwise, d[0], d[1], d[2], d[3],
                                               d[4]);
    else
        status = pgcn_pathconv_backward(self->visits, c, a.depthwise, d[0], d[1], d[2], d[3], d[4]);
    Py_END_ALLOW_THREADS
    release_arrays(&a);
    if (status != PGCN_OK) return core_raise(status);
    Py_RETURN_NONE;
}

/* ---- the type ----------------------------------------------------------------------------------------------- */

PyDoc_STRVAR(
    visits_doc,
    "Visits(graph, length=5, paths=5, walk='uniform', return_p=1, inout_q=1, may_stay=False,\n"
    "       scaling='walk', threads=0, exact=False)\n\n"
    "The operator of a path convolution on a graph: visit lists of one draw, or the exact form.");

static PyMethodDef visits_methods[] = {
    {"beside", visits_beside, METH_NOARGS,
     "beside(): one more with the same settings, which shares the threads and has a draw of its own"},
    {"sample", visits_sample, METH_VARARGS, "sample(seed, draw): draws new paths"},
    {"paths", visits_paths, METH_VARARGS,
     "paths(seed, draw, out): writes the paths of a draw, int32 [n, paths, length]"},
    {"forward", visits_forward, METH_VARARGS,
     "forward(channels, x, weight, out): out = sum over the hops i of weight[i] * S_i x"},
    {"backward", visits_backward, METH_VARARGS,
     "backward(channels, x, weight, grad_out, grad_x, grad_weight): the last two are written, or None"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot visits_slots[] = {{Py_tp_doc, (void *)visits_doc},
                                     {Py_tp_new, (void *)visits_new},
                                     {Py_tp_dealloc, (void *)visits_dealloc},
                                     {Py_tp_methods, visits_methods},
                                     {0, NULL}};
static PyType_Spec visits_spec = {.name = "pathgcn._core.Visits",
                                  .basicsize = sizeof(visits_object),
                                  .flags = Py_TPFLAGS_DEFAULT,
                                  .slots = visits_slots};

int core_add_conv(PyObject *module) {
    static PyObject *type;
    return core_add_type(module, &visits_spec, &type);
}
