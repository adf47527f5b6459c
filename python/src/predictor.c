/* Predictors: a model that is ready for questions about single nodes. What it borrows, model and data, it keeps
 * alive. One question at a time: python/pathgcn/predictor.py lets threads wait for one another. */
#include "core.h"

typedef struct predictor_object {
    PyObject_HEAD
    pgcn_predictor *predictor;
    const pgcn_model *model;
    PyObject *model_object, *data;
    core_call call;
} predictor_object;
static PyObject *predictor_type;

static void predictor_dealloc(PyObject *object) {
    predictor_object *self = (predictor_object *)object;
    pgcn_predictor_free(self->predictor);
    Py_XDECREF(self->model_object);
    Py_XDECREF(self->data);
    core_delete(object);
}

PyObject *core_predictor(PyObject *model_object, const pgcn_model *model, PyObject *data,
                         const pgcn_inference *inference) {
    const pgcn_dataset *set = core_dataset_of(data);
    predictor_object *self = set ? core_new(predictor_type) : NULL;
    if (!self) return NULL;
    self->model = model;
    self->model_object = Py_NewRef(model_object);
    self->data = Py_NewRef(data);
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pgcn_predictor_new(model, set, inference, &self->predictor);
    Py_END_ALLOW_THREADS
    if (status == PGCN_OK) return (PyObject *)self;
    Py_DECREF(self);
    return core_raise(status);
}

/* ---- questions ------------------------------------------------------------------------------------ */

int core_answer_open(core_answer *a, PyObject *probability, PyObject *deviation, int64_t rows,
                     const pgcn_model *model) {
    int64_t count = rows * pgcn_model_classes(model);
    *a = (core_answer){.deviation = {.buf = NULL}};
    if (core_buffer(probability, "probability", CORE_FLOAT, count, true, &a->probability) < 0)
        return -1;
    if (deviation == Py_None ||
        core_buffer(deviation, "deviation", CORE_FLOAT, count, true, &a->deviation) == 0)
        return 0;
    PyBuffer_Release(&a->probability);
    return -1;
}

void core_answer_close(core_answer *a) {
    PyBuffer_Release(&a->probability);
    PyBuffer_Release(&a->deviation);
}

static PyObject *none_or_raise(pgcn_status status) {
    return status == PGCN_OK ? Py_NewRef(Py_None) : core_raise(status);
}

static PyObject *ask_nodes(predictor_object *self, const Py_buffer *node, core_answer *a) {
    if (core_call_begin(&self->call, "predictor") < 0) return NULL;
    pgcn_status status = pgcn_predictor_nodes(self->predictor, node->buf,
                                              (int64_t)(node->len / (Py_ssize_t)sizeof(pgcn_node)),
                                              a->probability.buf, a->deviation.buf);
    core_call_end(&self->call);
    return none_or_raise(status);
}

/* nodes(node, probability, deviation). */
static PyObject *nodes(PyObject *object, PyObject *arguments) {
    predictor_object *self = (predictor_object *)object;
    PyObject *given, *probability, *deviation, *result = NULL;
    Py_buffer node;
    core_answer a;
    if (!PyArg_ParseTuple(arguments, "OOO", &given, &probability, &deviation) ||
        core_buffer(given, "node", CORE_INT32, -1, false, &node) < 0)
        return NULL;
    int64_t count = (int64_t)(node.len / (Py_ssize_t)sizeof(pgcn_node));
    if (core_answer_open(&a, probability, deviation, count, self->model) == 0) {
        result = ask_nodes(self, &node, &a);
        core_answer_close(&a);
    }
    PyBuffer_Release(&node);
    return result;
}

/* What is given of new nodes, as far as it has been opened. */
typedef struct guests {
    Py_buffer view[3]; /* offset, neighbour, feature */
    int views;
    pgcn_new_nodes nodes;
} guests;

static int guests_open(guests *g, PyObject *const given[3], const pgcn_model *model) {
    if (core_buffer(given[0], "offset", CORE_INT64, -1, false, &g->view[0]) < 0) return -1;
    g->views = 1;
    const int64_t *offset = g->view[0].buf;
    int64_t count = (int64_t)(g->view[0].len / (Py_ssize_t)sizeof *offset) - 1;
    if (count < 0 || offset[count] < 0) {
        PyErr_SetString(PyExc_ValueError, "offset must have one entry more than there are nodes");
        return -1;
    }
    if (core_buffer(given[1], "neighbour", CORE_INT32, offset[count], false, &g->view[1]) < 0)
        return -1;
    g->views = 2;
    if (core_buffer(given[2], "feature", CORE_FLOAT, count * pgcn_model_features(model), false,
                    &g->view[2]) < 0)
        return -1;
    g->views = 3;
    g->nodes = (pgcn_new_nodes){
        .count = count, .offset = offset, .neighbour = g->view[1].buf, .feature = g->view[2].buf};
    return 0;
}

static PyObject *ask_new(predictor_object *self, const pgcn_new_nodes *new_nodes, core_answer *a) {
    if (core_call_begin(&self->call, "predictor") < 0) return NULL;
    pgcn_status status =
        pgcn_predictor_new_nodes(self->predictor, new_nodes, a->probability.buf, a->deviation.buf);
    core_call_end(&self->call);
    return none_or_raise(status);
}

/* new_nodes(offset, neighbour, feature, probability, deviation). */
static PyObject *new_nodes(PyObject *object, PyObject *arguments) {
    predictor_object *self = (predictor_object *)object;
    PyObject *given[3], *probability, *deviation, *result = NULL;
    guests g = {.views = 0};
    core_answer a;
    if (!PyArg_ParseTuple(arguments, "OOOOO", &given[0], &given[1], &given[2], &probability,
                          &deviation))
        return NULL;
    if (guests_open(&g, given, self->model) == 0 &&
        core_answer_open(&a, probability, deviation, g.nodes.count, self->model) == 0) {
        result = ask_new(self, &g.nodes, &a);
        core_answer_close(&a);
    }
    for (int i = 0; i < g.views; i++) PyBuffer_Release(&g.view[i]);
    return result;
}

/* ---- what it takes -------------------------------------------------------------------------------- */

static PyObject *figure(PyObject *object, int64_t (*of)(const pgcn_predictor *predictor)) {
    predictor_object *self = (predictor_object *)object;
    if (core_call_begin(&self->call, "predictor") < 0) return NULL;
    int64_t value = of(self->predictor);
    core_call_end(&self->call);
    return PyLong_FromLongLong(value);
}
static PyObject *memory(PyObject *object, PyObject *unused) {
    (void)unused;
    return figure(object, pgcn_predictor_bytes);
}
static PyObject *rows(PyObject *object, PyObject *unused) {
    (void)unused;
    return figure(object, pgcn_predictor_rows);
}

static PyMethodDef methods[] = {
    {"nodes", nodes, METH_VARARGS, "Probabilities of some nodes of the data."},
    {"new_nodes", new_nodes, METH_VARARGS, "Probabilities of nodes that the data does not have."},
    {"memory", memory, METH_NOARGS, "Bytes that it takes besides model and data."},
    {"rows", rows, METH_NOARGS, "How many nodes the last question has read."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot slots[] = {{Py_tp_dealloc, (void *)predictor_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, (void *)"A model that is ready for questions."},
                              {0, NULL}};
static PyType_Spec spec = {.name = "pathgcn._core.Predictor",
                           .basicsize = sizeof(predictor_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};

int core_add_predictor(PyObject *module) {
    return core_add_type(module, &spec, &predictor_type);
}
