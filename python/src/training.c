/* Training: trainers, and races for settings. Both are run epoch by epoch from Python; while an epoch
 * runs the GIL is free, and signals are looked at between its steps. */
#include "core.h"

#include <math.h>

/* ---- an epoch ------------------------------------------------------------------------------------- */

static PyObject *epoch_to_dict(const pgcn_epoch *e) {
    return Py_BuildValue("{s:L,s:d,s:d,s:d,s:d,s:d,s:d,s:N,s:d}", "epoch", (long long)e->epoch,
                         "train_loss", e->train_loss, "val_loss", e->val_loss, "val_accuracy",
                         e->val_accuracy, "test_accuracy", e->test_accuracy, "val_measure",
                         e->val_measure, "test_measure", e->test_measure, "best",
                         PyBool_FromLong(e->best), "step_ms", e->step_ms);
}

/* Adds what there is where nodes of several graphs have labels. */
static int add_graphs(PyObject *scores, const pgcn_score *s) {
    PyObject *more = Py_BuildValue("{s:d,s:L,s:L}", "graph_accuracy", s->graph_accuracy, "graphs",
                                   (long long)s->graphs, "graph_nodes", (long long)s->graph_nodes);
    int failed = more ? PyDict_Update(scores, more) : -1;
    Py_XDECREF(more);
    return failed;
}

PyObject *core_score(const pgcn_score *s) {
    PyObject *scores = Py_BuildValue(
        "{s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:i,s:L}", "accuracy", s->accuracy,
        "balanced_accuracy", s->balanced_accuracy, "macro_f1", s->macro_f1, "auc", s->auc,
        "average_precision", s->average_precision, "loss", s->loss, "majority", s->majority,
        "draw_accuracy", s->draw_accuracy, "draw_deviation", s->draw_deviation, "classes_missed",
        s->classes_missed, "items", (long long)s->items);
    if (scores && s->graphs > 0 && add_graphs(scores, s) < 0) Py_CLEAR(scores);
    return scores;
}

/* ---- trainer -------------------------------------------------------------------------------------- */

typedef struct trainer_object {
    PyObject_HEAD
    pgcn_trainer *trainer;
    PyObject *data;
    core_call call;
} trainer_object;
static PyObject *trainer_type;

static void trainer_dealloc(PyObject *object) {
    trainer_object *self = (trainer_object *)object;
    pgcn_trainer_free(self->trainer);
    Py_XDECREF(self->data);
    core_delete(object);
}

/* Trainer(data, settings). */
static PyObject *trainer_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)keywords;
    PyObject *data, *settings;
    if (!PyArg_ParseTuple(arguments, "OO", &data, &settings)) return NULL;
    const pgcn_dataset *set = core_dataset_of(data);
    const pgcn_config *config = set ? core_config_of(settings) : NULL;
    if (!config) return NULL;
    trainer_object *self = core_new((PyObject *)type);
    if (!self) return NULL;
    self->data = Py_NewRef(data);
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pgcn_trainer_new(set, config, &self->trainer);
    Py_END_ALLOW_THREADS
    if (status != PGCN_OK) {
        Py_DECREF(self);
        return core_raise(status);
    }
    pgcn_trainer_on_step(self->trainer, core_go_on, &self->call);
    return (PyObject *)self;
}

static PyObject *epoch(PyObject *object, PyObject *unused) {
    (void)unused;
    trainer_object *self = (trainer_object *)object;
    pgcn_epoch result;
    if (core_call_begin(&self->call, "trainer") < 0) return NULL;
    pgcn_status status = pgcn_trainer_epoch(self->trainer, &result);
    core_call_end(&self->call);
    return status == PGCN_OK ? epoch_to_dict(&result) : core_raise(status);
}

static PyObject *finished(PyObject *object, PyObject *unused) {
    (void)unused;
    return PyBool_FromLong(pgcn_trainer_finished(((trainer_object *)object)->trainer));
}

static PyObject *history(PyObject *object, PyObject *unused) {
    (void)unused;
    int64_t count;
    const pgcn_epoch *epochs = pgcn_trainer_history(((trainer_object *)object)->trainer, &count);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (Py_ssize_t i = 0; list && i < count; i++) {
        PyObject *entry = epoch_to_dict(&epochs[i]);
        if (!entry || PyList_SetItem(list, i, entry) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *model(PyObject *object, PyObject *unused) {
    (void)unused;
    pgcn_model *result;
    pgcn_status status = pgcn_trainer_model(((trainer_object *)object)->trainer, &result);
    return status == PGCN_OK ? core_model_object(result) : core_raise(status);
}

static PyObject *scores(PyObject *object, PyObject *unused) {
    (void)unused;
    trainer_object *self = (trainer_object *)object;
    pgcn_score val, test;
    if (core_call_begin(&self->call, "trainer") < 0) return NULL;
    pgcn_status status = pgcn_trainer_scores(self->trainer, &val, &test);
    core_call_end(&self->call);
    if (status != PGCN_OK) return core_raise(status);
    return Py_BuildValue("(NN)", core_score(&val), core_score(&test));
}

/* save(path) and resume(path). */
static PyObject *with_path(PyObject *object, PyObject *argument, bool save) {
    trainer_object *self = (trainer_object *)object;
    const char *path = PyUnicode_AsUTF8AndSize(argument, NULL);
    if (!path || core_call_begin(&self->call, "trainer") < 0) return NULL;
    pgcn_status status =
        save ? pgcn_trainer_save(self->trainer, path) : pgcn_trainer_resume(self->trainer, path);
    core_call_end(&self->call);
    if (status != PGCN_OK) return core_raise(status);
    Py_RETURN_NONE;
}
static PyObject *save(PyObject *object, PyObject *path) {
    return with_path(object, path, true);
}
static PyObject *resume(PyObject *object, PyObject *path) {
    return with_path(object, path, false);
}

static PyObject *memory(PyObject *object, PyObject *unused) {
    (void)unused;
    pgcn_memory m = pgcn_trainer_memory(((trainer_object *)object)->trainer);
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L}", "total", (long long)m.total, "values",
                         (long long)m.values, "paths", (long long)m.paths, "features",
                         (long long)m.features, "graph", (long long)m.graph, "weights",
                         (long long)m.weights);
}

static PyObject *split_name(PyObject *object, PyObject *unused) {
    (void)unused;
    return core_text(pgcn_trainer_split(((trainer_object *)object)->trainer));
}

static PyMethodDef trainer_methods[] = {
    {"epoch", epoch, METH_NOARGS, "Trains one epoch; what it did, as a dictionary."},
    {"finished", finished, METH_NOARGS, "Whether epochs or patience are used up."},
    {"history", history, METH_NOARGS, "The epochs so far."},
    {"model", model, METH_NOARGS, "A model with the best weights so far."},
    {"scores", scores, METH_NOARGS, "Scores of the best weights on validation and test items."},
    {"save", save, METH_O, "Writes a checkpoint."},
    {"resume", resume, METH_O, "Goes on from a checkpoint."},
    {"memory", memory, METH_NOARGS, "Bytes that the training takes."},
    {"split", split_name, METH_NOARGS, "The name of the split in use."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot trainer_slots[] = {{Py_tp_new, (void *)trainer_new},
                                      {Py_tp_dealloc, (void *)trainer_dealloc},
                                      {Py_tp_methods, trainer_methods},
                                      {Py_tp_doc, (void *)"A training, epoch by epoch."},
                                      {0, NULL}};
static PyType_Spec trainer_spec = {.name = "pathgcn._core.Trainer",
                                   .basicsize = sizeof(trainer_object),
                                   .flags = Py_TPFLAGS_DEFAULT,
                                   .slots = trainer_slots};

/* ---- race ----------------------------------------------------------------------------------------- */

typedef struct race_object {
    PyObject_HEAD
    pgcn_race *race;
    PyObject *data;
    core_call call;
} race_object;
static PyObject *race_type;

static void race_dealloc(PyObject *object) {
    race_object *self = (race_object *)object;
    pgcn_race_free(self->race);
    Py_XDECREF(self->data);
    core_delete(object);
}

/* Race(data, settings, all_networks). */
static PyObject *race_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)keywords;
    PyObject *data, *settings;
    int all;
    if (!PyArg_ParseTuple(arguments, "OOp", &data, &settings, &all)) return NULL;
    const pgcn_dataset *set = core_dataset_of(data);
    const pgcn_config *config = set ? core_config_of(settings) : NULL;
    if (!config) return NULL;
    pgcn_race_opts opts = pgcn_race_opts_default();
    opts.all_networks = all;
    race_object *self = core_new((PyObject *)type);
    if (!self) return NULL;
    self->data = Py_NewRef(data);
    pgcn_status status = pgcn_race_new_with(set, config, &opts, &self->race);
    if (status != PGCN_OK) {
        Py_DECREF(self);
        return core_raise(status);
    }
    pgcn_race_on_step(self->race, core_go_on, &self->call);
    return (PyObject *)self;
}

static PyObject *race_epoch(PyObject *object, PyObject *unused) {
    (void)unused;
    race_object *self = (race_object *)object;
    if (core_call_begin(&self->call, "race") < 0) return NULL;
    pgcn_status status = pgcn_race_epoch(self->race);
    core_call_end(&self->call);
    if (status != PGCN_OK) return core_raise(status);
    Py_RETURN_NONE;
}

static PyObject *race_finished(PyObject *object, PyObject *unused) {
    (void)unused;
    return PyBool_FromLong(pgcn_race_finished(((race_object *)object)->race));
}
static PyObject *race_done(PyObject *object, PyObject *unused) {
    (void)unused;
    return PyFloat_FromDouble(pgcn_race_done(((race_object *)object)->race));
}

static PyObject *race_entries(PyObject *object, PyObject *unused) {
    (void)unused;
    const pgcn_race *race = ((race_object *)object)->race;
    PyObject *list = PyList_New(0);
    pgcn_race_entry e;
    for (int i = 0; list && pgcn_race_get(race, i, &e); i++) {
        PyObject *entry = Py_BuildValue(
            "{s:s,s:z,s:d,s:L,s:d,s:d,s:i,s:N,s:N}", "recipe", e.recipe.name, "out", e.out,
            "operations", e.operations, "epochs", (long long)e.epochs, "score", e.score, "loss",
            e.loss, "rung", e.rung, "running", PyBool_FromLong(e.running), "leads",
            PyBool_FromLong(i == pgcn_race_leader(race)));
        if (!entry || PyList_Append(list, entry) < 0) Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

/* The recipe that has won. */
static PyObject *race_winner(PyObject *object, PyObject *unused) {
    (void)unused;
    pgcn_config config;
    pgcn_recipe_info info;
    pgcn_status status = pgcn_race_winner(((race_object *)object)->race, &config, &info);
    return status == PGCN_OK ? core_recipe_info(&info) : core_raise(status);
}

static PyMethodDef race_methods[] = {
    {"epoch", race_epoch, METH_NOARGS, "One epoch of the family whose turn it is."},
    {"finished", race_finished, METH_NOARGS, "Whether there is a winner."},
    {"done", race_done, METH_NOARGS, "How much of the work is done, 0 to 1."},
    {"entries", race_entries, METH_NOARGS, "The families and where they stand."},
    {"winner", race_winner, METH_NOARGS, "The recipe that has won."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot race_slots[] = {{Py_tp_new, (void *)race_new},
                                   {Py_tp_dealloc, (void *)race_dealloc},
                                   {Py_tp_methods, race_methods},
                                   {Py_tp_doc, (void *)"A race of recipes on validation items."},
                                   {0, NULL}};
static PyType_Spec race_spec = {.name = "pathgcn._core.Race",
                                .basicsize = sizeof(race_object),
                                .flags = Py_TPFLAGS_DEFAULT,
                                .slots = race_slots};

int core_add_training(PyObject *module) {
    if (core_add_type(module, &trainer_spec, &trainer_type) < 0) return -1;
    return core_add_type(module, &race_spec, &race_type);
}
