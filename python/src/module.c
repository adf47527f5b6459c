/* The module itself: exceptions, buffers, and what is known about the library. */
#include "core.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- errors --------------------------------------------------------------------------------------- */

enum { STATUSES = PGCN_ERR_STOPPED + 1 };

/* pathgcn.Error is the base of all; the second base is what a Python programmer would catch. */
static PyObject *base_error, *errors[STATUSES];
static const struct {
    pgcn_status status;
    const char *name, *about;
    PyObject **builtin;
} kinds[] = {
    {PGCN_ERR_ARGUMENT, "pathgcn.ArgumentError", "A setting or argument is wrong.",
     &PyExc_ValueError},
    {PGCN_ERR_MEMORY, "pathgcn.OutOfMemoryError", "There is not enough memory.",
     &PyExc_MemoryError},
    {PGCN_ERR_IO, "pathgcn.FileError", "A file cannot be opened, read or written.", &PyExc_OSError},
    {PGCN_ERR_FORMAT, "pathgcn.FormatError", "A file or array holds something it must not hold.",
     &PyExc_ValueError},
    {PGCN_ERR_MISMATCH, "pathgcn.MismatchError",
     "Two things that are each fine do not belong together.", &PyExc_ValueError},
    {PGCN_ERR_NUMERIC, "pathgcn.NumericError", "A loss or weight is not finite.",
     &PyExc_ArithmeticError},
    {PGCN_ERR_SYSTEM, "pathgcn.PlatformError", "The system or the processor refused.",
     &PyExc_RuntimeError},
    {PGCN_ERR_STOPPED, "pathgcn.StoppedError", "A callback ended the work.", &PyExc_RuntimeError},
};

static int add_errors(PyObject *module) {
    base_error =
        PyErr_NewExceptionWithDoc("pathgcn.Error", "Base of all errors of pathgcn.", NULL, NULL);
    if (!base_error || PyModule_AddObjectRef(module, "Error", base_error) < 0) return -1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        PyObject *bases = PyTuple_Pack(2, base_error, *kinds[i].builtin);
        PyObject *error =
            bases ? PyErr_NewExceptionWithDoc(kinds[i].name, kinds[i].about, bases, NULL) : NULL;
        Py_XDECREF(bases);
        const char *short_name = strchr(kinds[i].name, '.') + 1;
        if (!error || PyModule_AddObjectRef(module, short_name, error) < 0) {
            Py_XDECREF(error);
            return -1;
        }
        errors[kinds[i].status] = error;
    }
    return 0;
}

/* What the library calls as the program does has other names here: --path-length is path_length. */
static void put_in_python_words(const char *from, char *to, size_t bytes) {
    static const struct {
        const char *program, *python;
    } phrases[] = {{"'pathgcn train --model NAME --help' lists", "pathgcn.settings(NAME) lists"},
                   {"pathgcn train --help all lists", "pathgcn.settings() lists"},
                   /* a command of the program, also here */
                   {"--memory 1G --store float16 --out", "--memory 1G --store float16 --out"},
                   {"--prepare ", "steps="},
                   {"use inference stochastic:", "use draws="},
                   {"--unknown-ids keep", "keep_unknown_ids=True"},
                   {"no | yes", "False or True"}};
    enum { PHRASES = sizeof phrases / sizeof *phrases };
    size_t used = 0;
    bool option = false;
    for (const char *at = from; *at && used + 64 < bytes;) {
        int i = 0;
        while (i < PHRASES && strncmp(at, phrases[i].program, strlen(phrases[i].program)) != 0) i++;
        bool new_word = at == from || strchr(" (;'", at[-1]);
        if (i < PHRASES) {
            used += (size_t)snprintf(to + used, bytes - used, "%s", phrases[i].python);
            at += strlen(phrases[i].program);
            option = false;
        } else if (new_word && strncmp(at, "--", 2) == 0 && at[2] >= 'a' && at[2] <= 'z') {
            option = true;
            at += 2;
        } else {
            option = option && ((*at >= 'a' && *at <= 'z') || *at == '-');
            to[used++] = option && *at == '-' ? '_' : *at;
            at++;
        }
    }
    to[used] = '\0';
}

PyObject *core_raise(pgcn_status status) {
    char sentence[4096];
    if (PyErr_Occurred()) return NULL; /* of a signal or callback: that is the reason */
    PyObject *error = (unsigned)status < STATUSES && errors[status] ? errors[status] : base_error;
    put_in_python_words(pgcn_last_error(), sentence, sizeof sentence);
    PyErr_SetString(error, sentence);
    return NULL;
}

/* ---- buffers -------------------------------------------------------------------------------------- */

static const char *kind_name(char kind) {
    switch (kind) {
    case CORE_FLOAT: return "float32";
    case CORE_DOUBLE: return "float64";
    case CORE_INT32: return "int32";
    case CORE_INT64: return "int64";
    default: return "uint8";
    }
}

static int64_t kind_bytes(char kind) {
    return kind == CORE_BYTE ? 1 : kind == CORE_FLOAT || kind == CORE_INT32 ? 4 : 8;
}

/* NumPy writes int64 as 'l' or 'q', bool as '?'; the length of an element tells the rest. */
static bool is_of_kind(const Py_buffer *view, char kind) {
    const char *format = view->format ? view->format : "B";
    if (*format == '@' || *format == '=') format++;
    if (strlen(format) != 1 || view->itemsize != kind_bytes(kind)) return false;
    const char *letters = kind == CORE_BYTE     ? "Bb?"
                          : kind == CORE_FLOAT  ? "f"
                          : kind == CORE_DOUBLE ? "d"
                                                : "ilq";
    return strchr(letters, *format) != NULL;
}

int core_buffer(PyObject *object, const char *what, char kind, int64_t count, bool writable,
                Py_buffer *out) {
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, out, flags) < 0) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s must be a C-contiguous%s array of %s", what,
                     writable ? ", writable" : "", kind_name(kind));
        return -1;
    }
    int64_t found = out->itemsize > 0 ? out->len / out->itemsize : 0;
    if (!is_of_kind(out, kind))
        PyErr_Format(PyExc_TypeError, "%s is an array of type '%s', expected %s", what,
                     out->format ? out->format : "B", kind_name(kind));
    else if (count >= 0 && found != count)
        PyErr_Format(PyExc_ValueError, "%s has %lld elements, expected %lld", what,
                     (long long)found, (long long)count);
    else
        return 0;
    PyBuffer_Release(out);
    return -1;
}

/* ---- objects -------------------------------------------------------------------------------------- */

int core_add_type(PyObject *module, PyType_Spec *spec, PyObject **type) {
    *type = PyType_FromModuleAndSpec(module, spec, NULL);
    return *type ? PyModule_AddType(module, (PyTypeObject *)*type) : -1;
}

void *core_new(PyObject *type) {
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    return alloc((PyTypeObject *)type, 0);
}

void core_delete(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

PyObject *core_text(const char *text) {
    if (!text) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

PyObject *core_names(const void *of, int64_t count, const char *(*get)(const void *of, int64_t i)) {
    if (count < 1 || !get(of, 0)) Py_RETURN_NONE;
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (Py_ssize_t i = 0; list && i < count; i++) {
        PyObject *name = core_text(get(of, i));
        if (!name || PyList_SetItem(list, i, name) < 0) Py_CLEAR(list);
    }
    return list;
}

/* ---- arrays --------------------------------------------------------------------------------------- */

typedef struct array_object {
    PyObject_HEAD
    PyObject *owner;
    const void *data;
    char format[2];
    int rank;
    Py_ssize_t itemsize, shape[3], strides[3];
} array_object;
static PyObject *array_type;

static int array_get(PyObject *object, Py_buffer *view, int flags) {
    array_object *self = (array_object *)object;
    Py_ssize_t bytes = self->itemsize;
    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "this array is read-only");
        view->obj = NULL;
        return -1;
    }
    for (int i = 0; i < self->rank; i++) bytes *= self->shape[i];
    view->obj = Py_NewRef(object);
    view->buf = (void *)self->data;
    view->len = bytes;
    view->itemsize = self->itemsize;
    view->readonly = 1;
    view->ndim = self->rank;
    view->format = flags & PyBUF_FORMAT ? self->format : NULL;
    view->shape = flags & PyBUF_ND ? self->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    return 0;
}

static void array_dealloc(PyObject *object) {
    Py_XDECREF(((array_object *)object)->owner);
    core_delete(object);
}

static PyType_Slot array_slots[] = {{Py_bf_getbuffer, (void *)array_get},
                                    {Py_tp_dealloc, (void *)array_dealloc},
                                    {Py_tp_doc, (void *)"An array of the library, read-only."},
                                    {0, NULL}};
static PyType_Spec array_spec = {.name = "pathgcn._core.Array",
                                 .basicsize = sizeof(array_object),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 .slots = array_slots};

PyObject *core_array(PyObject *owner, const void *data, char kind, int rank, const int64_t *shape) {
    static const char nothing[8];
    if (!data && (rank == 0 || shape[0] > 0)) Py_RETURN_NONE;
    array_object *self = core_new(array_type);
    if (!self) return NULL;
    self->owner = Py_NewRef(owner);
    self->data = data ? data : nothing;
    self->format[0] = kind;
    self->rank = rank;
    self->itemsize = (Py_ssize_t)kind_bytes(kind);
    Py_ssize_t stride = self->itemsize;
    for (int i = rank - 1; i >= 0; i--) {
        self->shape[i] = (Py_ssize_t)shape[i];
        self->strides[i] = stride;
        stride *= self->shape[i];
    }
    return (PyObject *)self;
}

/* ---- long calls ----------------------------------------------------------------------------------- */

static double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int core_call_begin(core_call *call, const char *what) {
    if (call->busy) {
        PyErr_Format(PyExc_RuntimeError, "this %s is in use by another thread", what);
        return -1;
    }
    call->busy = true;
    call->state = PyEval_SaveThread();
    return 0;
}

void core_call_end(core_call *call) {
    PyEval_RestoreThread(call->state);
    call->state = NULL;
    call->busy = false;
}

bool core_go_on(void *context) {
    enum { LOOKS_PER_SECOND = 20 };
    core_call *call = context;
    double now = now_seconds();
    if (now - call->looked < 1.0 / LOOKS_PER_SECOND) return true;
    call->looked = now;
    PyEval_RestoreThread(call->state);
    bool fine = PyErr_CheckSignals() == 0;
    call->state = PyEval_SaveThread();
    return fine;
}

/* ---- the library ---------------------------------------------------------------------------------- */

static PyObject *info(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    pgcn_info about = pgcn_info_get();
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:i,s:i,s:s}", "version", about.version, "isa",
                         about.isa, "isa_built", about.isa_built, "compiler", about.compiler,
                         "cores", about.cores, "bits_revision", about.bits_revision, "partitions",
                         about.partitions);
}

static PyObject *two_columns(const char *(*get)(int, const char **)) {
    PyObject *list = PyList_New(0);
    const char *name, *about;
    for (int i = 0; list && (name = get(i, &about)); i++) {
        PyObject *pair = Py_BuildValue("(ss)", name, about);
        if (!pair || PyList_Append(list, pair) < 0) Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

static const char *network(int i, const char **about) {
    *about = pgcn_network_about(i);
    return pgcn_network_name(i);
}

static PyObject *networks(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return two_columns(network);
}
static PyMethodDef functions[] = {
    {"info", info, METH_NOARGS, "Version, instruction set and cores of the library."},
    {"networks", networks, METH_NOARGS, "Names of the networks with a line about each."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "pathgcn._core",
                                        .m_doc = "The C library; see the package pathgcn.",
                                        .m_size = -1,
                                        .m_methods = functions};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    if (add_errors(module) < 0 || core_add_type(module, &array_spec, &array_type) < 0 ||
        PyModule_AddStringConstant(module, "version", PGCN_VERSION) < 0 ||
        core_add_dataset(module) < 0 || core_add_settings(module) < 0 ||
        core_add_training(module) < 0 || core_add_model(module) < 0 ||
        core_add_predictor(module) < 0 || core_add_paths(module) < 0 || core_add_conv(module) < 0)
        Py_CLEAR(module);
    return module;
}
