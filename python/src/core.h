/* core: the C extension pathgcn._core, a thin layer over include/pathgcn/pathgcn.h.
 *
 * Only the limited API of Python 3.11 is used, so that one binary serves that version and all later ones; no
 * header of NumPy, no torch. The GIL is released while the library computes. */
#ifndef PATHGCN_CORE_H
#define PATHGCN_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pathgcn/pathgcn.h>

/* Sets the exception of a status with the sentence of pgcn_last_error(). Returns NULL. */
PyObject *core_raise(pgcn_status status);

/* Borrows the elements of an array: C-contiguous, of type `kind` ('f' float32, 'd' float64, 'i' int32, 'q'
 * int64, 'B' uint8), `count` of them (-1: any number). `what` names it in errors. Returns 0, or -1 with an
 * exception set. Release with PyBuffer_Release(). */
int core_buffer(PyObject *object, const char *what, char kind, int64_t count, bool writable,
                Py_buffer *out);

/* Adds a heap type to the module and keeps a reference in *type. */
int core_add_type(PyObject *module, PyType_Spec *spec, PyObject **type);
/* A new object of a heap type, all zero after its head; and the end of such an object's dealloc. */
void *core_new(PyObject *type);
void core_delete(PyObject *self);

/* The graph in a capsule "pathgcn.graph"; NULL with an exception set if it is something else. */
const pgcn_graph *core_graph_of(PyObject *object);

int core_add_conv(PyObject *module);

#endif
