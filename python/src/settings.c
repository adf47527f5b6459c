/* Settings: the fields of pgcn_config by name, and the recipes that they come from. */
#include "core.h"

typedef struct config_object {
    PyObject_HEAD
    pgcn_config config;
} config_object;
static PyObject *config_type;

pgcn_config *core_config_of(PyObject *object) {
    if (PyObject_TypeCheck(object, (PyTypeObject *)config_type))
        return &((config_object *)object)->config;
    PyErr_SetString(PyExc_TypeError, "expected settings");
    return NULL;
}

PyObject *core_config_object(const pgcn_config *config) {
    config_object *self = core_new(config_type);
    if (self) self->config = *config;
    return (PyObject *)self;
}

static PyObject *config_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)type;
    pgcn_config config = pgcn_config_default();
    if (PyTuple_Size(arguments) != 0 || keywords)
        return PyErr_Format(PyExc_TypeError, "Config() takes no arguments");
    return core_config_object(&config);
}

static void config_dealloc(PyObject *object) {
    core_delete(object);
}

static PyObject *done(pgcn_status status) {
    if (status != PGCN_OK) return core_raise(status);
    Py_RETURN_NONE;
}

static PyObject *set(PyObject *object, PyObject *arguments) {
    const char *key, *value;
    if (!PyArg_ParseTuple(arguments, "ss", &key, &value)) return NULL;
    return done(pgcn_config_set(core_config_of(object), key, value));
}

static PyObject *get(PyObject *object, PyObject *argument) {
    char text[PGCN_SETTING_BYTES];
    const char *key = PyUnicode_AsUTF8AndSize(argument, NULL);
    if (!key) return NULL;
    pgcn_status status = pgcn_config_get(core_config_of(object), key, text, sizeof text);
    return status == PGCN_OK ? core_text(text) : core_raise(status);
}

static PyObject *uses(PyObject *object, PyObject *argument) {
    const char *key = PyUnicode_AsUTF8AndSize(argument, NULL);
    return key ? PyBool_FromLong(pgcn_config_uses(core_config_of(object), key)) : NULL;
}

static PyObject *overlay(PyObject *object, PyObject *given) {
    const pgcn_config *over = core_config_of(given);
    return over ? done(pgcn_config_overlay(core_config_of(object), over)) : NULL;
}

static PyObject *check(PyObject *object, PyObject *data) {
    pgcn_config *config = core_config_of(object);
    if (data == Py_None) return done(pgcn_config_check(config));
    const pgcn_dataset *of = core_dataset_of(data);
    return of ? done(pgcn_config_check_for(config, of)) : NULL;
}

static PyObject *recipe_mark(PyObject *object, PyObject *unused) {
    (void)unused;
    return core_text(core_config_of(object)->recipe);
}

static PyMethodDef methods[] = {
    {"set", set, METH_VARARGS, "Sets one field from text."},
    {"get", get, METH_O, "The value of a field as text."},
    {"uses", uses, METH_O, "Whether the network looks at a setting."},
    {"overlay", overlay, METH_O, "Puts what was set in other settings over these."},
    {"check", check, METH_O, "Checks the settings against each other and the data or None."},
    {"recipe_mark", recipe_mark, METH_NOARGS, "The recipe that the settings come from, or ''."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot slots[] = {
    {Py_tp_new, (void *)config_new},
    {Py_tp_dealloc, (void *)config_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, (void *)"Everything that defines a model and its training."},
    {0, NULL}};
static PyType_Spec spec = {.name = "pathgcn._core.Config",
                           .basicsize = sizeof(config_object),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};

/* ---- the table of settings ------------------------------------------------------------------------ */

static PyObject *fields(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    pgcn_field field;
    for (int i = 0; list && pgcn_config_field(i, &field); i++) {
        PyObject *entry = Py_BuildValue("{s:s,s:s,s:s,s:s,s:N}", "key", field.key, "accepts",
                                        field.accepts, "help", field.help, "group", field.group,
                                        "own", PyBool_FromLong(field.own));
        if (!entry || PyList_Append(list, entry) < 0) Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

/* ---- recipes -------------------------------------------------------------------------------------- */

PyObject *core_recipe_info(const pgcn_recipe_info *info) {
    return Py_BuildValue("{s:s,s:i,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:N}", "name", info->name,
                         "version", info->version, "task", info->task, "dataset", info->dataset,
                         "prepare", info->prepare, "about", info->about, "searched", info->searched,
                         "measure", info->measure, "sha256", info->sha256, "origin", info->origin,
                         "other_dataset", PyBool_FromLong(info->other_dataset));
}

/* find_recipe(recipe or None, network or None, data, split or None, layers): (settings, info). */
static PyObject *find_recipe(PyObject *module, PyObject *arguments) {
    (void)module;
    pgcn_recipe_query query = pgcn_recipe_query_default();
    PyObject *data;
    if (!PyArg_ParseTuple(arguments, "zzOzi", &query.recipe, &query.network, &data, &query.split,
                          &query.layers))
        return NULL;
    query.data = core_dataset_of(data);
    if (!query.data) return NULL;
    pgcn_config config;
    pgcn_recipe_info info;
    pgcn_status status = pgcn_recipe_find(&query, &config, &info);
    if (status != PGCN_OK) return core_raise(status);
    return Py_BuildValue("(NN)", core_config_object(&config), core_recipe_info(&info));
}

static PyObject *recipes(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    int count;
    pgcn_status status = pgcn_recipe_count(&count);
    if (status != PGCN_OK) return core_raise(status);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < count; i++) {
        pgcn_recipe_info info;
        if (pgcn_recipe_get(i, &info) != PGCN_OK) continue; /* a file that is no recipe */
        PyObject *entry = core_recipe_info(&info);
        if (!entry || PyList_Append(list, entry) < 0) Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

static PyMethodDef functions[] = {
    {"fields", fields, METH_NOARGS, "The table of settings."},
    {"find_recipe", find_recipe, METH_VARARGS, "Settings of a recipe for a data set."},
    {"recipes", recipes, METH_NOARGS, "The recipes that there are by name."},
    {NULL, NULL, 0, NULL}};

int core_add_settings(PyObject *module) {
    if (core_add_type(module, &spec, &config_type) < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
