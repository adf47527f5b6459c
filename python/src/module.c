/* pathgcn._core: the library for Python, by the limited API of CPython 3.11. */
#include <Python.h>

#include <pathgcn/pathgcn.h>

static PyObject *info(PyObject *module, PyObject *nothing) {
    (void)module, (void)nothing;
    pgcn_info about = pgcn_info_get();
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:i,s:i}", "version", about.version, "isa", about.isa,
                         "isa_built", about.isa_built, "compiler", about.compiler, "cores",
                         about.cores, "bits_revision", about.bits_revision);
}

static PyMethodDef methods[] = {
    {"info", info, METH_NOARGS, "Version, instruction set and compiler of the library."},
    {NULL, NULL, 0, NULL}};

static int fill(PyObject *module) {
    return PyModule_AddStringConstant(module, "version", PGCN_VERSION);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)fill}, {0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "_core", .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__core(void) {
    return PyModuleDef_Init(&definition);
}
