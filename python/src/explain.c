/* Model.explain(): an explanation of the library as a dictionary of numbers and bytes, from which
 * python/pathgcn/explanation.py makes arrays. Nothing of it is borrowed. */
#include "core.h"

/* Takes `value`, which may be NULL after a failure. */
static int put(PyObject *dictionary, const char *key, PyObject *value) {
    int status = value ? PyDict_SetItemString(dictionary, key, value) : -1;
    Py_XDECREF(value);
    return status;
}

static PyObject *bytes_of(const void *data, int64_t count, size_t size) {
    return PyBytes_FromStringAndSize(data, (Py_ssize_t)(count * (int64_t)size));
}

/* (node, links, sum, residual, by hop as bytes) of every node. */
static PyObject *nodes_of(const pgcn_explanation *e) {
    PyObject *list = PyList_New((Py_ssize_t)e->nodes);
    for (int64_t i = 0; list && i < e->nodes; i++) {
        const pgcn_node_share *share = &e->node[i];
        PyObject *entry = Py_BuildValue(
            "(iiddy#)", (int)share->node, share->distance, share->sum, share->residual,
            share->of_hop, (Py_ssize_t)((size_t)(e->hops + 1) * sizeof *share->of_hop));
        if (!entry || PyList_SetItem(list, (Py_ssize_t)i, entry) < 0) Py_CLEAR(list);
    }
    return list;
}

/* (node or -1, column, value, sum) of every feature. */
static PyObject *features_of(const pgcn_feature_share *share, int64_t count) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (int64_t i = 0; list && i < count; i++) {
        PyObject *entry = Py_BuildValue("(iLdd)", (int)share[i].node, (long long)share[i].column,
                                        share[i].value, share[i].sum);
        if (!entry || PyList_SetItem(list, (Py_ssize_t)i, entry) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *constants_of(const pgcn_explanation *e) {
    PyObject *dictionary = PyDict_New();
    for (int i = 0; dictionary && i < e->constants; i++)
        if (put(dictionary, e->constant[i].name, PyFloat_FromDouble(e->constant[i].sum)) < 0)
            Py_CLEAR(dictionary);
    return dictionary;
}

/* (nodes as bytes, links, logit, predicted, probability as bytes) of every removal. */
static PyObject *removals_of(const pgcn_explanation *e) {
    PyObject *list = PyList_New(e->removals);
    for (int i = 0; list && i < e->removals; i++) {
        const pgcn_removal *removal = &e->removal[i];
        PyObject *entry = Py_BuildValue(
            "(y#Ldiy#)", removal->node,
            (Py_ssize_t)((size_t)removal->nodes * sizeof *removal->node), (long long)removal->links,
            removal->logit, removal->predicted, removal->probability,
            (Py_ssize_t)((size_t)e->classes * sizeof *removal->probability));
        if (!entry || PyList_SetItem(list, i, entry) < 0) Py_CLEAR(list);
    }
    return list;
}

static int put_numbers(PyObject *out, const pgcn_explanation *e) {
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"logit", e->logit},           {"sum", e->sum},
                   {"features_sum", e->features}, {"residual_sum", e->residual},
                   {"biases_sum", e->biases},     {"norms_sum", e->norms}};
    const struct {
        const char *key;
        long long value;
    } whole[] = {{"item", e->item},       {"predicted", e->predicted}, {"target", e->target},
                 {"against", e->against}, {"hops", e->hops},           {"sampled", e->sampled},
                 {"masked", e->masked},   {"is_graph", e->is_graph}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (put(out, numbers[i].key, PyFloat_FromDouble(numbers[i].value)) < 0) return -1;
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        if (put(out, whole[i].key, PyLong_FromLongLong(whole[i].value)) < 0) return -1;
    return 0;
}

static PyObject *dictionary_of(const pgcn_explanation *e) {
    PyObject *out = PyDict_New();
    if (out && put_numbers(out, e) == 0 &&
        put(out, "logits", bytes_of(e->logits, e->classes, sizeof *e->logits)) == 0 &&
        put(out, "probability", bytes_of(e->probability, e->classes, sizeof *e->probability)) ==
            0 &&
        put(out, "by_hop", bytes_of(e->of_hop, e->hops + 1, sizeof *e->of_hop)) == 0 &&
        put(out, "nodes", nodes_of(e)) == 0 &&
        put(out, "features", features_of(e->feature, e->columns)) == 0 &&
        put(out, "pairs", features_of(e->pair, e->pairs)) == 0 &&
        put(out, "constants", constants_of(e)) == 0 && put(out, "removals", removals_of(e)) == 0)
        return out;
    Py_XDECREF(out);
    return NULL;
}

/* explain(data, item, target, against, hops, pairs, removals, mask, sampled, seed, threads). */
PyObject *core_explain(const pgcn_model *model, PyObject *arguments) {
    PyObject *data;
    long long item, pairs;
    unsigned long long seed;
    int mask, sampled;
    pgcn_explain_opts opts = pgcn_explain_opts_default();
    if (!PyArg_ParseTuple(arguments, "OLiiiLippKi", &data, &item, &opts.target, &opts.against,
                          &opts.hops, &pairs, &opts.removals, &mask, &sampled, &seed,
                          &opts.threads))
        return NULL;
    const pgcn_dataset *set = core_dataset_of(data);
    if (!set) return NULL;
    opts.pairs = pairs;
    opts.mask = mask;
    opts.sampled = sampled;
    opts.seed = seed;
    pgcn_explanation *e = NULL;
    pgcn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pgcn_model_explain(model, set, item, &opts, &e);
    Py_END_ALLOW_THREADS
    if (status != PGCN_OK) return core_raise(status);
    PyObject *out = dictionary_of(e);
    pgcn_explanation_free(e);
    return out;
}
