/* Models: predictions, scores, and everything that a model file holds. */
#include "core.h"

typedef struct model_object {
    PyObject_HEAD
    pgcn_model *model;
} model_object;
static PyObject *model_type;

PyObject *core_model_object(pgcn_model *model) {
    model_object *self = core_new(model_type);
    if (self)
        self->model = model;
    else
        pgcn_model_free(model);
    return (PyObject *)self;
}

static pgcn_model *model_of(PyObject *object) {
    return ((model_object *)object)->model;
}

static void model_dealloc(PyObject *object) {
    pgcn_model_free(model_of(object));
    core_delete(object);
}

/* ---- files and bytes ------------------------------------------------------------------------------ */

static PyObject *load(PyObject *module, PyObject *argument) {
    (void)module;
    const char *path = PyUnicode_AsUTF8AndSize(argument, NULL);
    if (!path) return NULL;
    pgcn_model *model;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pgcn_model_load(path, &model);
    Py_END_ALLOW_THREADS
    return status == PGCN_OK ? core_model_object(model) : core_raise(status);
}

static PyObject *from_bytes(PyObject *module, PyObject *argument) {
    (void)module;
    Py_buffer view;
    pgcn_model *model;
    if (core_buffer(argument, "the bytes of the model", CORE_BYTE, -1, false, &view) < 0)
        return NULL;
    pgcn_status status = pgcn_model_from_bytes(view.buf, (size_t)view.len, &model);
    PyBuffer_Release(&view);
    return status == PGCN_OK ? core_model_object(model) : core_raise(status);
}

static PyObject *to_bytes(PyObject *object, PyObject *unused) {
    (void)unused;
    void *bytes;
    size_t size;
    pgcn_status status = pgcn_model_to_bytes(model_of(object), &bytes, &size);
    if (status != PGCN_OK) return core_raise(status);
    PyObject *result = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)size);
    pgcn_bytes_free(bytes);
    return result;
}

static PyObject *save(PyObject *object, PyObject *argument) {
    const char *path = PyUnicode_AsUTF8AndSize(argument, NULL);
    if (!path) return NULL;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pgcn_model_save(model_of(object), path);
    Py_END_ALLOW_THREADS
    if (status != PGCN_OK) return core_raise(status);
    Py_RETURN_NONE;
}

/* ---- what it is ----------------------------------------------------------------------------------- */

static PyObject *describe(PyObject *object, PyObject *unused) {
    (void)unused;
    const pgcn_model *m = model_of(object);
    return Py_BuildValue(
        "{s:N,s:s,s:s,s:s,s:s,s:s,s:L,s:i,s:L,s:L}", "dataset", core_text(pgcn_model_dataset(m)),
        "fingerprint", pgcn_model_fingerprint(m), "split", pgcn_model_split(m), "split_hash",
        pgcn_model_split_hash(m), "task", pgcn_task_name(pgcn_model_task(m)), "network",
        pgcn_network_name(pgcn_model_config(m)->model), "epoch", (long long)pgcn_model_epoch(m),
        "classes", pgcn_model_classes(m), "features", (long long)pgcn_model_features(m),
        "parameters", (long long)pgcn_model_parameters(m));
}

static PyObject *settings(PyObject *object, PyObject *unused) {
    (void)unused;
    return core_config_object(pgcn_model_config(model_of(object)));
}

static PyObject *history(PyObject *object, PyObject *unused) {
    (void)unused;
    return core_text(pgcn_model_history(model_of(object)));
}

static const char *class_name(const void *model, int64_t c) {
    return pgcn_model_class_name(model, (int)c);
}
static const char *feature_name(const void *model, int64_t j) {
    return pgcn_model_feature_name(model, j);
}
static PyObject *class_names(PyObject *object, PyObject *unused) {
    (void)unused;
    return core_names(model_of(object), pgcn_model_classes(model_of(object)), class_name);
}
static PyObject *feature_names(PyObject *object, PyObject *unused) {
    (void)unused;
    return core_names(model_of(object), pgcn_model_features(model_of(object)), feature_name);
}

/* [(name, array, trained), ...] */
static PyObject *tensors(PyObject *object, PyObject *unused) {
    (void)unused;
    PyObject *list = PyList_New(0);
    pgcn_tensor tensor;
    for (int i = 0; list && pgcn_model_tensor(model_of(object), i, &tensor); i++) {
        PyObject *entry =
            Py_BuildValue("(sNN)", tensor.name,
                          core_array(object, tensor.value, CORE_FLOAT, tensor.rank, tensor.shape),
                          PyBool_FromLong(tensor.trained));
        if (!entry || PyList_Append(list, entry) < 0) Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

/* kernel(layer, out). */
static PyObject *kernel(PyObject *object, PyObject *arguments) {
    int layer;
    PyObject *out;
    Py_buffer view;
    if (!PyArg_ParseTuple(arguments, "iO", &layer, &out)) return NULL;
    const pgcn_config *config = pgcn_model_config(model_of(object));
    if (core_buffer(out, "out", CORE_FLOAT, (int64_t)config->path_length * config->channels, true,
                    &view) < 0)
        return NULL;
    pgcn_status status = pgcn_model_kernel(model_of(object), layer, view.buf);
    PyBuffer_Release(&view);
    if (status != PGCN_OK) return core_raise(status);
    Py_RETURN_NONE;
}

/* ---- what it says about data ---------------------------------------------------------------------- */

static pgcn_inference inference_of(int draws, unsigned long long seed, int threads) {
    pgcn_inference inference = pgcn_inference_default();
    inference.draws = draws;
    inference.seed = seed;
    inference.threads = threads;
    return inference;
}

/* predict(data, draws, seed, threads, probability, deviation or None). */
static PyObject *predict(PyObject *object, PyObject *arguments) {
    PyObject *data, *probability, *deviation;
    int draws, threads;
    unsigned long long seed;
    if (!PyArg_ParseTuple(arguments, "OiKiOO", &data, &draws, &seed, &threads, &probability,
                          &deviation))
        return NULL;
    const pgcn_dataset *set = core_dataset_of(data);
    if (!set) return NULL;
    pgcn_inference inference = inference_of(draws, seed, threads);
    const pgcn_model *model = model_of(object);
    pgcn_task task = pgcn_model_task(model);
    pgcn_dataset_info info = pgcn_dataset_describe(set);
    int64_t items = task == PGCN_TASK_GRAPH ? info.graphs : info.nodes;
    core_answer answer;
    pgcn_status status;
    if (core_answer_open(&answer, probability, deviation, items, model) < 0) return NULL;
    Py_BEGIN_ALLOW_THREADS
    status =
        pgcn_model_predict(model, set, &inference, answer.probability.buf, answer.deviation.buf);
    Py_END_ALLOW_THREADS
    core_answer_close(&answer);
    return status == PGCN_OK ? Py_NewRef(Py_None) : core_raise(status);
}

/* Of layers(): the library calls back without the GIL. */
typedef struct layers_call {
    core_call call;
    PyObject *see;
} layers_call;

/* see(layer, of_graphs, channels, item bytes or None, value bytes); an exception ends the pass. */
static bool see_layer(void *context, const pgcn_layer *layer) {
    layers_call *c = context;
    PyEval_RestoreThread(c->call.state);
    PyObject *item =
        layer->item
            ? PyBytes_FromStringAndSize((const char *)layer->item,
                                        (Py_ssize_t)(layer->rows * (int64_t)sizeof *layer->item))
            : Py_NewRef(Py_None);
    PyObject *value = PyBytes_FromStringAndSize(
        (const char *)layer->value,
        (Py_ssize_t)(layer->rows * layer->channels * (int64_t)sizeof *layer->value));
    PyObject *result = item && value
                           ? PyObject_CallFunction(c->see, "iiLOO", layer->layer, layer->of_graphs,
                                                   (long long)layer->channels, item, value)
                           : NULL;
    bool fine = result != NULL && PyErr_CheckSignals() == 0;
    Py_XDECREF(result), Py_XDECREF(item), Py_XDECREF(value);
    c->call.state = PyEval_SaveThread();
    return fine;
}

/* layers(data, draws, seed, threads, see). */
static PyObject *layers(PyObject *object, PyObject *arguments) {
    PyObject *data;
    int draws, threads;
    unsigned long long seed;
    layers_call c = {.see = NULL};
    if (!PyArg_ParseTuple(arguments, "OiKiO", &data, &draws, &seed, &threads, &c.see)) return NULL;
    const pgcn_dataset *set = core_dataset_of(data);
    if (!set || core_call_begin(&c.call, "model") < 0) return NULL;
    pgcn_inference inference = inference_of(draws, seed, threads);
    pgcn_status status = pgcn_model_layers(model_of(object), set, &inference, see_layer, &c);
    core_call_end(&c.call);
    if (PyErr_Occurred()) return NULL;
    return status == PGCN_OK ? Py_NewRef(Py_None) : core_raise(status);
}

static const char *match_name(pgcn_split_match match) {
    static const char *const names[] = {"same", "other", "none", "by-name"};
    return names[match];
}

static PyObject *scores_object(const pgcn_scores *scores) {
    return Py_BuildValue("{s:N,s:N,s:N,s:N,s:s}", "train", core_score(&scores->train), "val",
                         core_score(&scores->val), "test", core_score(&scores->test), "all",
                         core_score(&scores->all), "split_match", match_name(scores->split_match));
}

/* evaluate(data, draws, seed, threads). */
static PyObject *evaluate(PyObject *object, PyObject *arguments) {
    PyObject *data;
    int draws, threads;
    unsigned long long seed;
    if (!PyArg_ParseTuple(arguments, "OiKi", &data, &draws, &seed, &threads)) return NULL;
    const pgcn_dataset *set = core_dataset_of(data);
    if (!set) return NULL;
    pgcn_inference inference = inference_of(draws, seed, threads);
    pgcn_scores scores;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pgcn_model_evaluate(model_of(object), set, &inference, &scores);
    Py_END_ALLOW_THREADS
    if (status != PGCN_OK) return core_raise(status);
    return scores_object(&scores);
}

static PyObject *explain(PyObject *object, PyObject *arguments) {
    return core_explain(model_of(object), arguments);
}

/* predictor(data, draws, seed, threads). */
static PyObject *predictor(PyObject *object, PyObject *arguments) {
    PyObject *data;
    int draws, threads;
    unsigned long long seed;
    if (!PyArg_ParseTuple(arguments, "OiKi", &data, &draws, &seed, &threads)) return NULL;
    pgcn_inference inference = inference_of(draws, seed, threads);
    return core_predictor(object, model_of(object), data, &inference);
}

static PyMethodDef methods[] = {
    {"to_bytes", to_bytes, METH_NOARGS, "The bytes of the model's file."},
    {"save", save, METH_O, "Writes the model, safetensors."},
    {"describe", describe, METH_NOARGS, "What it was trained on and how large it is."},
    {"settings", settings, METH_NOARGS, "The settings of its training."},
    {"history", history, METH_NOARGS, "The epochs of its training, JSON."},
    {"class_names", class_names, METH_NOARGS, "Names of the classes, or None."},
    {"feature_names", feature_names, METH_NOARGS, "Names of the features, or None."},
    {"tensors", tensors, METH_NOARGS, "Names, values and whether they are trained."},
    {"kernel", kernel, METH_VARARGS, "The path kernel of a layer."},
    {"predict", predict, METH_VARARGS, "Probabilities of all items of a data set."},
    {"layers", layers, METH_VARARGS, "Shows the activations of every layer to a function."},
    {"predictor", predictor, METH_VARARGS, "The model, ready for questions about nodes."},
    {"explain", explain, METH_VARARGS, "What makes the prediction of an item."},
    {"evaluate", evaluate, METH_VARARGS, "Scores on a data set."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot slots[] = {{Py_tp_dealloc, (void *)model_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, (void *)"A trained model of the library."},
                              {0, NULL}};
static PyType_Spec spec = {.name = "pathgcn._core.Model",
                           .basicsize = sizeof(model_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};

/* ---- several models ---------------------------------------------------------------------------------- */

/* Borrowed from the tuple. NULL with an exception. Free it with PyMem_Free(). */
static const pgcn_model **models_of(PyObject *tuple) {
    Py_ssize_t count = PyTuple_Size(tuple);
    const pgcn_model **models = PyMem_New(const pgcn_model *, (size_t)count + 1);
    if (!models) return (const pgcn_model **)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *model = PyTuple_GetItem(tuple, i);
        if (Py_TYPE(model) != (PyTypeObject *)model_type) {
            PyErr_SetString(PyExc_TypeError, "expected a tuple of models");
            PyMem_Free(models);
            return NULL;
        }
        models[i] = model_of(model);
    }
    return models;
}

/* models_predict((model, ...), data, draws, seed, threads, probability, deviation or None). */
static PyObject *models_predict(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *tuple, *data, *probability, *deviation;
    int draws, threads;
    unsigned long long seed;
    if (!PyArg_ParseTuple(arguments, "O!OiKiOO", &PyTuple_Type, &tuple, &data, &draws, &seed,
                          &threads, &probability, &deviation))
        return NULL;
    const pgcn_dataset *set = core_dataset_of(data);
    const pgcn_model **models = set ? models_of(tuple) : NULL;
    if (!models) return NULL;
    int count = (int)PyTuple_Size(tuple);
    pgcn_inference inference = inference_of(draws, seed, threads);
    pgcn_dataset_info info = pgcn_dataset_describe(set);
    bool per_graph = count > 0 && pgcn_model_task(models[0]) == PGCN_TASK_GRAPH;
    int64_t items = per_graph ? info.graphs : info.nodes;
    core_answer answer;
    pgcn_status status = PGCN_OK;
    if (count == 0) PyErr_SetString(PyExc_ValueError, "expected one model or more");
    bool opened =
        count > 0 && core_answer_open(&answer, probability, deviation, items, models[0]) == 0;
    if (opened) {
        Py_BEGIN_ALLOW_THREADS
        status = pgcn_models_predict(models, count, set, &inference, answer.probability.buf,
                                     answer.deviation.buf);
        Py_END_ALLOW_THREADS
        core_answer_close(&answer);
    }
    PyMem_Free(models);
    if (!opened) return NULL;
    return status == PGCN_OK ? Py_NewRef(Py_None) : core_raise(status);
}

/* models_evaluate((model, ...), data, draws, seed, threads). */
static PyObject *models_evaluate(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *tuple, *data;
    int draws, threads;
    unsigned long long seed;
    if (!PyArg_ParseTuple(arguments, "O!OiKi", &PyTuple_Type, &tuple, &data, &draws, &seed,
                          &threads))
        return NULL;
    const pgcn_dataset *set = core_dataset_of(data);
    const pgcn_model **models = set ? models_of(tuple) : NULL;
    if (!models) return NULL;
    pgcn_inference inference = inference_of(draws, seed, threads);
    pgcn_verdict *verdict = NULL;
    pgcn_scores scores;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status =
        pgcn_models_judge(models, (int)PyTuple_Size(tuple), set, &inference, &scores, &verdict);
    Py_END_ALLOW_THREADS
    PyMem_Free(models);
    if (status != PGCN_OK) return core_raise(status);
    pgcn_verdict_free(verdict);
    return scores_object(&scores);
}

static PyMethodDef functions[] = {
    {"models_predict", models_predict, METH_VARARGS, "The mean of the probabilities of several."},
    {"models_evaluate", models_evaluate, METH_VARARGS, "Scores of that mean on a data set."},
    {"load_model", load, METH_O, "Reads a model file."},
    {"model_from_bytes", from_bytes, METH_O, "A model from the bytes of its file."},
    {NULL, NULL, 0, NULL}};

int core_add_model(PyObject *module) {
    if (core_add_type(module, &spec, &model_type) < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
