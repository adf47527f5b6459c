/* Data sets: loaded by name, made of the user's files or of arrays. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* The longest list of arrays that a data set borrows: features, or columns and values. */
enum { MOST_BORROWED = 2 };
typedef struct borrowed {
    int count;
    Py_buffer view[MOST_BORROWED];
} borrowed;

typedef struct dataset_object {
    PyObject_HEAD
    pgcn_dataset *data;
    PyObject *base; /* the data set whose arrays this one borrows; or NULL */
} dataset_object;
static PyObject *dataset_type;

const pgcn_dataset *core_dataset_of(PyObject *object) {
    if (PyObject_TypeCheck(object, (PyTypeObject *)dataset_type))
        return ((dataset_object *)object)->data;
    PyErr_SetString(PyExc_TypeError, "expected a data set");
    return NULL;
}

static void dataset_dealloc(PyObject *object) {
    dataset_object *self = (dataset_object *)object;
    pgcn_dataset_free(self->data);
    Py_XDECREF(self->base);
    core_delete(object);
}

/* Takes `data`. */
static PyObject *wrap(pgcn_dataset *data, PyObject *base) {
    dataset_object *self = core_new(dataset_type);
    if (!self) {
        pgcn_dataset_free(data);
        return NULL;
    }
    self->data = data;
    self->base = Py_XNewRef(base);
    return (PyObject *)self;
}

/* ---- by name and from files ----------------------------------------------------------------------- */

/* load(name, data_dir, directed, keep_self_loops, steps, header, memory). */
static PyObject *load(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *name;
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    int directed, keep, header;
    long long memory;
    if (!PyArg_ParseTuple(arguments, "szppziL", &name, &opts.data_dir, &directed, &keep,
                          &opts.steps, &header, &memory))
        return NULL;
    opts.memory = memory;
    opts.directed = directed;
    opts.keep_self_loops = keep;
    opts.header = (pgcn_header)header;
    pgcn_dataset *data = NULL;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pgcn_dataset_load(name, &opts, &data);
    Py_END_ALLOW_THREADS
    return status == PGCN_OK ? wrap(data, NULL) : core_raise(status);
}

/* from_files(name, edges, features, labels, splits, steps, header, keep_unknown_ids). */
static PyObject *from_files(PyObject *module, PyObject *arguments) {
    (void)module;
    pgcn_dataset_files files = pgcn_dataset_files_default();
    int header, keep;
    if (!PyArg_ParseTuple(arguments, "zszzzzip", &files.name, &files.edges, &files.features,
                          &files.labels, &files.splits, &files.steps, &header, &keep))
        return NULL;
    files.header = (pgcn_header)header;
    files.unknown_ids = keep ? PGCN_UNKNOWN_KEEP : PGCN_UNKNOWN_REFUSE;
    pgcn_dataset *data = NULL;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pgcn_dataset_from_files(&files, &data);
    Py_END_ALLOW_THREADS
    return status == PGCN_OK ? wrap(data, NULL) : core_raise(status);
}

/* ---- from arrays ---------------------------------------------------------------------------------- */

enum { MOST_VIEWS = 16 };
/* A dictionary of arrays on its way to the library. */
typedef struct request {
    PyObject *given;
    pgcn_dataset_arrays arrays;
    Py_buffer view[MOST_VIEWS];
    int views;
    const char **names[3]; /* of nodes, classes, features; their text belongs to the lists */
    borrowed *owner;
    bool failed;
} request;

/* Borrowed from the dictionary; NULL: None or absent. */
static PyObject *item(request *r, const char *key) {
    PyObject *found = r->failed ? NULL : PyDict_GetItemString(r->given, key);
    return found == Py_None ? NULL : found;
}

static int64_t number(request *r, const char *key) {
    PyObject *found = item(r, key);
    long long value = found ? PyLong_AsLongLong(found) : 0;
    if (value == -1 && PyErr_Occurred()) r->failed = true;
    return value;
}

/* Elements of an array, which live as long as the request; NULL: not given. */
static const void *elements(request *r, const char *key, char kind, int64_t count) {
    PyObject *found = item(r, key);
    if (!found) return NULL;
    if (core_buffer(found, key, kind, count, false, &r->view[r->views]) == 0)
        return r->view[r->views++].buf;
    r->failed = true;
    return NULL;
}

/* Elements that live as long as the data set. */
static const void *lent(request *r, const char *key, char kind, int64_t count) {
    PyObject *found = item(r, key);
    Py_buffer *view = &r->owner->view[r->owner->count];
    if (!found) return NULL;
    if (core_buffer(found, key, kind, count, false, view) == 0) {
        r->owner->count++;
        return view->buf;
    }
    r->failed = true;
    return NULL;
}

static const char *text(request *r, const char *key) {
    PyObject *found = item(r, key);
    const char *utf8 = found ? PyUnicode_AsUTF8AndSize(found, NULL) : NULL;
    if (found && !utf8) r->failed = true;
    return utf8;
}

/* A list of str as an array of `count` pointers. */
static const char *const *names(request *r, const char *key, int64_t count, const char ***slot) {
    PyObject *found = item(r, key);
    if (!found) return NULL;
    if (!PyList_Check(found) || PyList_Size(found) != count) {
        PyErr_Format(PyExc_ValueError, "%s must be a list of %lld names", key, (long long)count);
        r->failed = true;
        return NULL;
    }
    const char **list = *slot = malloc(((size_t)count + 1) * sizeof *list);
    if (!list) PyErr_NoMemory();
    for (Py_ssize_t i = 0; list && i < count; i++) {
        list[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(found, i), NULL);
        if (!list[i]) list = NULL;
    }
    if (!list) r->failed = true;
    return list;
}

static void release(void *owner) {
    borrowed *arrays = owner;
    for (int i = 0; i < arrays->count; i++) PyBuffer_Release(&arrays->view[i]);
    free(arrays);
}

static void read_features(request *r, int64_t n) {
    pgcn_dataset_arrays *a = &r->arrays;
    int64_t columns = a->n_features = number(r, "n_features");
    a->x_offset = elements(r, "x_offset", CORE_INT64, n + 1);
    int64_t nonzeros = a->x_offset ? a->x_offset[n] : 0;
    if (nonzeros < 0 || columns < 0 || (columns > 0 && n > INT64_MAX / 8 / columns)) {
        PyErr_SetString(PyExc_ValueError, "the sizes of the features make no sense");
        r->failed = true;
        return;
    }
    a->features = lent(r, "features", CORE_FLOAT, n * columns);
    a->x_column = lent(r, "x_column", CORE_INT32, nonzeros);
    a->x_value = lent(r, "x_value", CORE_FLOAT, nonzeros);
}

static void read_labels(request *r, int64_t n) {
    pgcn_dataset_arrays *a = &r->arrays;
    a->n_classes = (int)number(r, "n_classes");
    a->n_graphs = number(r, "n_graphs");
    a->n_splits = (int)number(r, "n_splits");
    a->label = elements(r, "label", CORE_INT32, n);
    a->labels = elements(r, "labels", CORE_BYTE, n * a->n_classes);
    a->labels_known = elements(r, "labels_known", CORE_BYTE, n);
    a->graph_of = elements(r, "graph_of", CORE_INT32, n);
    a->graph_label = elements(r, "graph_label", CORE_INT32, a->n_graphs);
    int64_t items = a->graph_label ? a->n_graphs : n;
    a->train = elements(r, "train", CORE_BYTE, items * a->n_splits);
    a->val = elements(r, "val", CORE_BYTE, items * a->n_splits);
    a->test = elements(r, "test", CORE_BYTE, items * a->n_splits);
}

static pgcn_status build(request *r, pgcn_dataset **out) {
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pgcn_dataset_from_arrays(&r->arrays, out);
    Py_END_ALLOW_THREADS
    return status;
}

/* from_arrays(dict): the keys are the fields of pgcn_dataset_arrays; `graph` is a capsule. */
static PyObject *from_arrays(PyObject *module, PyObject *given) {
    (void)module;
    if (!PyDict_Check(given)) return PyErr_Format(PyExc_TypeError, "expected a dictionary");
    request r = {.given = given, .arrays = pgcn_dataset_arrays_default()};
    PyObject *capsule = item(&r, "graph"), *result = NULL;
    pgcn_dataset *data = NULL;
    r.arrays.graph = capsule ? core_graph_of(capsule) : NULL;
    if (!r.arrays.graph)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "there is no graph");
    r.owner = calloc(1, sizeof *r.owner);
    if (!r.owner) return PyErr_NoMemory();
    int64_t n = pgcn_graph_nodes(r.arrays.graph);
    const char *name = text(&r, "name");
    if (name) r.arrays.name = name;
    r.arrays.steps = text(&r, "steps");
    read_features(&r, n);
    read_labels(&r, n);
    r.arrays.node_id = names(&r, "node_id", n, &r.names[0]);
    r.arrays.class_name = names(&r, "class_name", r.arrays.n_classes, &r.names[1]);
    r.arrays.feature_name = names(&r, "feature_name", r.arrays.n_features, &r.names[2]);
    r.arrays.release = release;
    r.arrays.owner = r.owner;
    if (!r.failed) {
        pgcn_status status = build(&r, &data);
        if (status != PGCN_OK) core_raise(status);
    }
    for (int i = 0; i < r.views; i++) PyBuffer_Release(&r.view[i]);
    for (int i = 0; i < 3; i++) free(r.names[i]);
    if (data)
        result = wrap(data, NULL);
    else
        release(r.owner);
    return result;
}

/* ---- what is in it -------------------------------------------------------------------------------- */

static PyObject *prepare(PyObject *object, PyObject *argument) {
    const char *steps = PyUnicode_AsUTF8AndSize(argument, NULL);
    if (!steps) return NULL;
    pgcn_dataset *data = NULL;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pgcn_dataset_prepare(((dataset_object *)object)->data, steps, &data);
    Py_END_ALLOW_THREADS
    return status == PGCN_OK ? wrap(data, object) : core_raise(status);
}

/* A number that JSON and NumPy know as "not there". */
static int put(PyObject *dict, const char *key, PyObject *value) {
    int status = value ? PyDict_SetItemString(dict, key, value) : -1;
    Py_XDECREF(value);
    return status;
}

static PyObject *describe(PyObject *object, PyObject *unused) {
    (void)unused;
    pgcn_dataset_info d = pgcn_dataset_describe(((dataset_object *)object)->data);
    PyObject *dict = PyDict_New();
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {{"nodes", d.nodes},
                  {"edges", d.edges},
                  {"self_loops", d.self_loops},
                  {"isolated", d.isolated},
                  {"max_degree", d.max_degree},
                  {"features", d.features},
                  {"feature_nonzeros", d.feature_nonzeros},
                  {"classes", d.classes},
                  {"unlabelled", d.unlabelled},
                  {"splits", d.splits},
                  {"graphs", d.graphs},
                  {"items", d.items},
                  {"folds", d.folds},
                  {"featureless", d.featureless}};
    const struct {
        const char *key, *value;
    } texts[] = {{"name", d.name},
                 {"fingerprint", d.fingerprint},
                 {"format", d.format},
                 {"steps", d.steps},
                 {"split_origin", d.split_origin},
                 {"task", pgcn_task_name(d.task)},
                 {"measure", pgcn_measure_name(d.measure)}};
    const struct {
        const char *key;
        bool value;
    } flags[] = {
        {"sparse_features", d.sparse_features}, {"directed", d.directed}, {"weighted", d.weighted}};
    int status = dict ? 0 : -1;
    for (size_t i = 0; status == 0 && i < sizeof texts / sizeof *texts; i++)
        status = put(dict, texts[i].key, core_text(texts[i].value));
    for (size_t i = 0; status == 0 && i < sizeof counts / sizeof *counts; i++)
        status = put(dict, counts[i].key, PyLong_FromLongLong(counts[i].value));
    for (size_t i = 0; status == 0 && i < sizeof flags / sizeof *flags; i++)
        status = put(dict, flags[i].key, PyBool_FromLong(flags[i].value));
    if (status == 0) status = put(dict, "edge_homophily", PyFloat_FromDouble(d.edge_homophily));
    if (status != 0) Py_CLEAR(dict);
    return dict;
}

static PyObject *labels(PyObject *object, PyObject *unused) {
    (void)unused;
    const pgcn_dataset *data = ((dataset_object *)object)->data;
    pgcn_dataset_info d = pgcn_dataset_describe(data);
    if (d.task == PGCN_TASK_NONE) Py_RETURN_NONE;
    if (d.task == PGCN_TASK_MULTILABEL)
        return core_array(object, pgcn_dataset_multilabels(data), CORE_BYTE, 2,
                          (int64_t[]){d.nodes, d.classes});
    return core_array(object, pgcn_dataset_labels(data), CORE_INT32, 1, &d.items);
}

/* labelled(out): fills [items] with 0 and 1. */
static PyObject *labelled(PyObject *object, PyObject *out) {
    const pgcn_dataset *data = ((dataset_object *)object)->data;
    int64_t items = pgcn_dataset_describe(data).items;
    Py_buffer view;
    if (core_buffer(out, "out", CORE_BYTE, items, true, &view) < 0) return NULL;
    for (int64_t i = 0; i < items; i++)
        ((uint8_t *)view.buf)[i] = pgcn_dataset_is_labelled(data, i);
    PyBuffer_Release(&view);
    Py_RETURN_NONE;
}

static PyObject *graph(PyObject *object, PyObject *unused) {
    (void)unused;
    return core_graph_arrays(object, pgcn_dataset_graph(((dataset_object *)object)->data));
}

/* A dense array, or (offset, column, value); None where they stay on disk. */
static PyObject *features(PyObject *object, PyObject *unused) {
    (void)unused;
    if (pgcn_dataset_row_reads(((dataset_object *)object)->data, NULL)) Py_RETURN_NONE;
    pgcn_features x = pgcn_dataset_features(((dataset_object *)object)->data);
    int64_t rows = x.rows + 1;
    if (x.dense) return core_array(object, x.dense, CORE_FLOAT, 2, (int64_t[]){x.rows, x.columns});
    return Py_BuildValue("(NNN)", core_array(object, x.offset, CORE_INT64, 1, &rows),
                         core_array(object, x.column, CORE_INT32, 1, &x.nonzeros),
                         core_array(object, x.value, CORE_FLOAT, 1, &x.nonzeros));
}

/* What was read of features that stay on disk, or None. */
static PyObject *row_reads(PyObject *object, PyObject *unused) {
    (void)unused;
    pgcn_row_reads reads;
    if (!pgcn_dataset_row_reads(((dataset_object *)object)->data, &reads)) Py_RETURN_NONE;
    return Py_BuildValue("{s:L,s:L,s:L}", "hits", (long long)reads.hits, "misses",
                         (long long)reads.misses, "bytes", (long long)reads.bytes);
}

static PyObject *graph_of(PyObject *object, PyObject *unused) {
    (void)unused;
    const pgcn_dataset *data = ((dataset_object *)object)->data;
    int64_t nodes = pgcn_dataset_describe(data).nodes;
    return core_array(object, pgcn_dataset_graph_of(data), CORE_INT32, 1, &nodes);
}

/* split(i): (name, train, val, test), or None after the last. */
static PyObject *split(PyObject *object, PyObject *argument) {
    const pgcn_dataset *data = ((dataset_object *)object)->data;
    const uint8_t *mask[3];
    int64_t items = pgcn_dataset_describe(data).items;
    long i = PyLong_AsLong(argument);
    if (i == -1 && PyErr_Occurred()) return NULL;
    const char *name = pgcn_dataset_split(data, (int)i, &mask[0], &mask[1], &mask[2]);
    if (!name) Py_RETURN_NONE;
    return Py_BuildValue("(sNNN)", name, core_array(object, mask[0], CORE_BYTE, 1, &items),
                         core_array(object, mask[1], CORE_BYTE, 1, &items),
                         core_array(object, mask[2], CORE_BYTE, 1, &items));
}

/* row of each node number, or None where rows are numbers. */
static PyObject *order(PyObject *object, PyObject *unused) {
    (void)unused;
    const pgcn_dataset *data = ((dataset_object *)object)->data;
    const pgcn_node *number, *row;
    int64_t nodes = pgcn_dataset_describe(data).nodes;
    if (!pgcn_dataset_order(data, &number, &row)) Py_RETURN_NONE;
    return core_array(object, number, CORE_INT32, 1, &nodes);
}

static const char *node_id(const void *data, int64_t i) {
    return pgcn_dataset_node_id(data, i);
}
static const char *class_name(const void *data, int64_t c) {
    return pgcn_dataset_class_name(data, (int)c);
}
static const char *feature_name(const void *data, int64_t j) {
    return pgcn_dataset_feature_name(data, j);
}
static PyObject *node_ids(PyObject *object, PyObject *unused) {
    (void)unused;
    const pgcn_dataset *data = ((dataset_object *)object)->data;
    return core_names(data, pgcn_dataset_describe(data).nodes, node_id);
}
static PyObject *class_names(PyObject *object, PyObject *unused) {
    (void)unused;
    const pgcn_dataset *data = ((dataset_object *)object)->data;
    return core_names(data, pgcn_dataset_describe(data).classes, class_name);
}
static PyObject *feature_names(PyObject *object, PyObject *unused) {
    (void)unused;
    const pgcn_dataset *data = ((dataset_object *)object)->data;
    return core_names(data, pgcn_dataset_describe(data).features, feature_name);
}

static PyObject *notes(PyObject *object, PyObject *unused) {
    (void)unused;
    const pgcn_dataset *data = ((dataset_object *)object)->data;
    PyObject *list = PyList_New(0);
    const char *note;
    for (int i = 0; list && (note = pgcn_dataset_note(data, i)); i++) {
        PyObject *line = core_text(note);
        if (!line || PyList_Append(list, line) < 0) Py_CLEAR(list);
        Py_XDECREF(line);
    }
    return list;
}

/* save(path, npz). */
static PyObject *save(PyObject *object, PyObject *arguments) {
    const pgcn_dataset *data = ((dataset_object *)object)->data;
    const char *path;
    int npz;
    if (!PyArg_ParseTuple(arguments, "sp", &path, &npz)) return NULL;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = npz ? pgcn_dataset_save_npz(data, path) : pgcn_dataset_save(data, path);
    Py_END_ALLOW_THREADS
    if (status != PGCN_OK) return core_raise(status);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"prepare", prepare, METH_O, "The same data after more steps."},
    {"describe", describe, METH_NOARGS, "Counts and names, as a dictionary."},
    {"labels", labels, METH_NOARGS, "Classes of the items, [items] or [nodes, classes]."},
    {"labelled", labelled, METH_O, "Fills an array with 1 for every item that has a label."},
    {"graph", graph, METH_NOARGS, "offset, neighbour and weight of the adjacency."},
    {"features", features, METH_NOARGS, "A dense array, or offset, column and value."},
    {"row_reads", row_reads, METH_NOARGS, "Hits, misses and bytes of features on disk, or None."},
    {"graph_of", graph_of, METH_NOARGS, "The graph of each node, or None."},
    {"split", split, METH_O, "Name and masks of split i, or None."},
    {"order", order, METH_NOARGS, "Numbers of the rows, where a step has renumbered the nodes."},
    {"node_ids", node_ids, METH_NOARGS, "Names of the nodes, or None."},
    {"class_names", class_names, METH_NOARGS, "Names of the classes, or None."},
    {"feature_names", feature_names, METH_NOARGS, "Names of the features, or None."},
    {"notes", notes, METH_NOARGS, "Facts about the data that a user should hear."},
    {"save", save, METH_VARARGS, "Writes a container, or .npz."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot slots[] = {{Py_tp_dealloc, (void *)dataset_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, (void *)"A data set of the library."},
                              {0, NULL}};
static PyType_Spec spec = {.name = "pathgcn._core.Dataset",
                           .basicsize = sizeof(dataset_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};

static PyMethodDef functions[] = {
    {"load", load, METH_VARARGS, "Loads a data set by name or path."},
    {"from_files", from_files, METH_VARARGS, "Makes a data set of the user's own files."},
    {"from_arrays", from_arrays, METH_O, "Makes a data set of arrays."},
    {NULL, NULL, 0, NULL}};

int core_add_dataset(PyObject *module) {
    if (core_add_type(module, &spec, &dataset_type) < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
