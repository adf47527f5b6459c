/* core: the C extension pathgcn._core, a thin layer over include/pathgcn/pathgcn.h.
 *
 * Comes in: Python objects; arrays as objects with the buffer protocol, of exactly the type that the library
 * reads. Goes out: the same. What users see (NumPy arrays, keyword arguments, documentation) is Python code
 * beside it, in python/pathgcn. Only the limited API of Python 3.11 is used, so that one binary serves that
 * version and all later ones; no header of NumPy, no torch.
 *
 * The GIL is released while the library computes. An error of the library becomes an exception with its
 * sentence (errors in module.c). */
#ifndef PATHGCN_CORE_H
#define PATHGCN_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pathgcn/pathgcn.h>

/* ---- module.c ------------------------------------------------------------------------------------- */

/* Sets the exception of a status with the sentence of pgcn_last_error(). Returns NULL. */
PyObject *core_raise(pgcn_status status);

/* The types of elements that cross the border, named as Python's struct module does. */
enum {
    CORE_FLOAT = 'f',
    CORE_DOUBLE = 'd',
    CORE_INT32 = 'i',
    CORE_INT64 = 'q',
    CORE_BYTE = 'B',
};
/* Borrows the elements of an array: C-contiguous, of type `kind`, `count` of them (-1: any number). `what`
 * names it in errors. Returns 0, or -1 with an exception set. Release with PyBuffer_Release(). */
int core_buffer(PyObject *object, const char *what, char kind, int64_t count, bool writable,
                Py_buffer *out);

/* Adds a heap type to the module and keeps a reference in *type. */
int core_add_type(PyObject *module, PyType_Spec *spec, PyObject **type);
/* A new object of a heap type, all zero after its head; and the end of such an object's dealloc. */
void *core_new(PyObject *type);
void core_delete(PyObject *self);

/* An array that `owner` keeps alive, as an object with the buffer protocol; read-only. */
PyObject *core_array(PyObject *owner, const void *data, char kind, int rank, const int64_t *shape);
/* str, or None for NULL. Bytes that are no UTF-8 become surrogates, as in file names. */
PyObject *core_text(const char *text);

/* A list of get(of, 0) .. get(of, count - 1); None if there are no names. */
PyObject *core_names(const void *of, int64_t count, const char *(*get)(const void *of, int64_t i));

/* Long calls: the GIL is released, and signals are looked at a few times a second by core_go_on(), which is
 * what pgcn_trainer_on_step() takes. */
typedef struct core_call {
    PyThreadState *state; /* of the thread that waits, while it does */
    double looked;        /* when signals were looked at last */
    bool busy;            /* one call at a time on one object */
} core_call;
/* -1 with an exception set if another thread is in a call on the object. */
int core_call_begin(core_call *call, const char *what);
void core_call_end(core_call *call);
bool core_go_on(void *context);

/* ---- dataset.c, settings.c, training.c, model.c, predictor.c, paths.c, conv.c ------------------------- */

int core_add_dataset(PyObject *module);
int core_add_settings(PyObject *module);
int core_add_training(PyObject *module);
int core_add_model(PyObject *module);
int core_add_predictor(PyObject *module);
int core_add_paths(PyObject *module);
int core_add_conv(PyObject *module);

/* The library's object inside a Python one; NULL with a TypeError if it is another. Borrowed. */
const pgcn_dataset *core_dataset_of(PyObject *object);
pgcn_config *core_config_of(PyObject *object);
/* The graph in a capsule "pathgcn.graph". */
const pgcn_graph *core_graph_of(PyObject *object);
/* (offset, neighbour, weight or None) of a graph that `owner` keeps alive. */
PyObject *core_graph_arrays(PyObject *owner, const pgcn_graph *graph);

/* explain.c: an explanation as a dictionary. */
PyObject *core_explain(const pgcn_model *model, PyObject *arguments);

/* predictor.c: the arrays that probabilities of `rows` items go to, float [rows, classes]; deviation may be None, and
 * its buf is NULL then. Returns 0, or -1 with an exception set and nothing held. */
typedef struct core_answer {
    Py_buffer probability, deviation;
} core_answer;
int core_answer_open(core_answer *answer, PyObject *probability, PyObject *deviation, int64_t rows,
                     const pgcn_model *model);
void core_answer_close(core_answer *answer);
/* predictor.c: a predictor of a model, which is in `model_object`. */
PyObject *core_predictor(PyObject *model_object, const pgcn_model *model, PyObject *data,
                         const pgcn_inference *inference);

/* Take what they are given, also after a failure. */
PyObject *core_model_object(pgcn_model *model);
PyObject *core_config_object(const pgcn_config *config); /* a copy of it */

/* { name, version, ... } of a recipe. */
PyObject *core_recipe_info(const pgcn_recipe_info *info);
/* { accuracy, loss, ... } of a score. */
PyObject *core_score(const pgcn_score *score);

#endif
