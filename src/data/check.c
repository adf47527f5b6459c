/* Checks graph, features, labels and splits of a source against each other. No later code checks a
 * label, a mask or a feature again. Serial, thread-safe. Called by dataset.c. */
#include "data/data.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_CLASSES = 1000000 }; /* a label like 2000000000 is a mistake, not a class */

/* ---- features ---------------------------------------------------------------------------- */

static pgcn_status check_sparse(const char *where, const pgcn_i_features *x) {
    if (x->offset[0] != 0 || x->offset[x->n] != x->nonzeros)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "%s: the feature row offsets run from %lld to %lld, expected 0 to %lld "
                           "(the number of stored values)",
                           where, (long long)x->offset[0], (long long)x->offset[x->n],
                           (long long)x->nonzeros);
    for (int64_t i = 0; i < x->n; i++)
        if (x->offset[i + 1] < x->offset[i] || x->offset[i + 1] > x->nonzeros)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: the feature row offsets of node %lld are %lld and %lld, "
                               "expected them to ascend up to %lld",
                               where, (long long)i, (long long)x->offset[i],
                               (long long)x->offset[i + 1], (long long)x->nonzeros);
    for (int64_t i = 0; i < x->n; i++) {
        int32_t before = -1;
        for (int64_t e = x->offset[i]; e < x->offset[i + 1]; e++) {
            if (x->column[e] < 0 || x->column[e] >= x->columns)
                return pgcn_i_fail(PGCN_ERR_FORMAT,
                                   "%s: node %lld has a value in feature column %d, expected "
                                   "0..%lld",
                                   where, (long long)i, x->column[e], (long long)x->columns - 1);
            if (x->column[e] <= before)
                return pgcn_i_fail(PGCN_ERR_FORMAT,
                                   "%s: the features of node %lld have column %d after column %d, "
                                   "expected ascending columns without repeats; sort them (SciPy: "
                                   "sum_duplicates())",
                                   where, (long long)i, x->column[e], before);
            if (!isfinite(x->value[e]))
                return pgcn_i_fail(PGCN_ERR_FORMAT,
                                   "%s: feature %d of node %lld is %g, expected a finite number",
                                   where, x->column[e], (long long)i, (double)x->value[e]);
            before = x->column[e];
        }
    }
    return PGCN_OK;
}

/* Checks that all values are finite, and counts those that are not zero. Blocks of fixed length let
 * the compiler vectorise: this reads the largest array of a data set. */
static pgcn_status check_dense(const char *where, pgcn_i_features *x) {
    enum { BLOCK = 1024 };
    int64_t count;
    if (!pgcn_i_mul(x->n, x->columns, &count))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s: %lld x %lld features are too many", where,
                           (long long)x->n, (long long)x->columns);
    int64_t nonzeros = 0, at = 0;
    bool finite = true;
    for (; at + BLOCK <= count && finite; at += BLOCK) {
        const float *block = x->dense + at;
        int32_t filled = 0, bad = 0;
        for (int i = 0; i < BLOCK; i++) {
            filled += block[i] != 0.0f;
            bad += !(fabsf(block[i]) <= FLT_MAX);
        }
        nonzeros += filled;
        finite = bad == 0;
    }
    if (!finite) at -= BLOCK;
    for (; at < count; at++) {
        nonzeros += x->dense[at] != 0.0f;
        if (!isfinite(x->dense[at]))
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: feature %lld of node %lld is %g, expected a finite number",
                               where, (long long)(at % x->columns), (long long)(at / x->columns),
                               (double)x->dense[at]);
    }
    x->nonzeros = nonzeros;
    return PGCN_OK;
}

static pgcn_status check_marks(const char *where, const char *what, const uint8_t *mark,
                               int64_t count) {
    for (int64_t i = 0; mark && i < count; i++)
        if (mark[i] > 1)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: mark %lld of '%s' features is %d, expected 0 or 1", where,
                               (long long)i, what, mark[i]);
    return PGCN_OK;
}

static pgcn_status check_features(const char *where, pgcn_i_features *x, int64_t n) {
    if (x->columns == 0 && !x->dense && !x->offset) return PGCN_OK; /* prepare.c makes some */
    if (x->columns < 1 || x->columns > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "%s: nodes have %lld features, expected 1 to %d; without features use "
                           "an identity matrix",
                           where, (long long)x->columns, INT32_MAX);
    if (x->n != n)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "%s: there are feature rows for %lld nodes, but the graph has %lld",
                           where, (long long)x->n, (long long)n);
    bool sparse = x->offset && x->column && x->value && !x->dense;
    bool dense = x->dense && !x->offset && !x->column && !x->value;
    if (!sparse && !dense && !x->file)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "%s: features must be given once, either dense or as offsets, columns "
                           "and values",
                           where);
    PGCN_TRY(check_marks(where, "absent", x->absent, n));
    PGCN_TRY(check_marks(where, "made", x->made, x->columns));
    if (x->file) { /* numbers are checked row by row, as they are read */
        x->nonzeros = n * x->columns;
        return PGCN_OK;
    }
    return sparse ? check_sparse(where, x) : check_dense(where, x);
}

/* ---- labels and graphs ------------------------------------------------------------------- */

/* *classes is the given number (0: unknown) on entry and the number used on return. `item`: what
 * has the label, "node" or "graph". */
static pgcn_status check_labels(const char *where, const char *item, const int32_t *label,
                                int64_t n, int *classes) {
    if (*classes < 0 || *classes > MAX_CLASSES)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s: the number of classes is %d, expected 1 to %d",
                           where, *classes, MAX_CLASSES);
    /* More classes than items cannot come from a numbering of the classes. */
    int64_t most = *classes > 0 ? *classes : n < MAX_CLASSES ? n : MAX_CLASSES;
    int32_t largest = -1;
    for (int64_t i = 0; i < n; i++) {
        if (label[i] < -1 || label[i] >= most)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: %s %lld has label %d, expected 0..%lld, or -1 for no label; "
                               "number the classes from 0 without gaps",
                               where, item, (long long)i, label[i], (long long)most - 1);
        if (label[i] > largest) largest = label[i];
    }
    if (largest < 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "%s: no %s has a label; training needs some", where,
                           item);
    if (*classes == 0) *classes = largest + 1;
    return PGCN_OK;
}

static pgcn_status check_multilabels(const char *where, const pgcn_i_source *source) {
    int64_t count;
    if (source->classes < 1 || source->classes > MAX_CLASSES ||
        !pgcn_i_mul(source->nodes, source->classes, &count))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s: the number of classes is %d, expected 1 to %d",
                           where, source->classes, MAX_CLASSES);
    for (int64_t i = 0; i < count; i++)
        if (source->labels[i] > 1)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: label %lld of node %lld is %d, expected 0 or 1", where,
                               (long long)(i % source->classes), (long long)(i / source->classes),
                               source->labels[i]);
    for (int64_t i = 0; source->label_known && i < source->nodes; i++)
        if (source->label_known[i] > 1)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: whether the labels of node %lld are known is %d, expected 0 or "
                               "1",
                               where, (long long)i, source->label_known[i]);
    return PGCN_OK;
}

/* A batch may consist of one graph only, and a network cannot classify an empty graph. */
static pgcn_status check_no_graph_empty(const char *where, const pgcn_i_source *source) {
    uint8_t *has_node = pgcn_i_alloc(source->graphs, sizeof *has_node);
    if (!has_node) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < source->nodes; i++) has_node[source->graph_of[i]] = 1;
    const uint8_t *empty = memchr(has_node, 0, (size_t)source->graphs);
    int64_t graph = empty ? empty - has_node : -1;
    pgcn_i_free(has_node);
    if (graph < 0) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_FORMAT, "%s: graph %lld has no node, expected at least one in each",
                       where, (long long)graph);
}

/* Every node is in one graph and no edge joins two graphs. If graphs are classified, their nodes
 * are in order. */
static pgcn_status check_graphs(const char *where, const pgcn_i_source *source) {
    const pgcn_graph *graph = source->graph;
    if (source->graphs < 1 || source->graphs > source->nodes || !source->graph_of)
        return pgcn_i_fail(
            PGCN_ERR_FORMAT,
            "%s: there are %lld graphs for %lld nodes, expected at least one node in "
            "each",
            where, (long long)source->graphs, (long long)source->nodes);
    for (int64_t i = 0; i < source->nodes; i++) {
        int32_t in = source->graph_of[i];
        if (in < 0 || in >= source->graphs)
            return pgcn_i_fail(PGCN_ERR_FORMAT, "%s: node %lld is in graph %d, expected 0..%lld",
                               where, (long long)i, in, (long long)source->graphs - 1);
        if (source->graph_label && i > 0 && in < source->graph_of[i - 1])
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: node %lld is in graph %d after a node of graph %d; nodes must "
                               "be in the order of their graphs",
                               where, (long long)i, in, source->graph_of[i - 1]);
    }
    for (int64_t u = 0; u < graph->n; u++)
        for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++)
            if (source->graph_of[graph->neighbour[e]] != source->graph_of[u])
                return pgcn_i_fail(
                    PGCN_ERR_FORMAT,
                    "%s: an edge joins node %lld of graph %d and node %d of graph %d", where,
                    (long long)u, source->graph_of[u], graph->neighbour[e],
                    source->graph_of[graph->neighbour[e]]);
    for (int64_t g = 0; source->fold && g < source->graphs; g++)
        if (source->fold[g] < -1 || source->fold[g] >= source->graphs)
            return pgcn_i_fail(PGCN_ERR_FORMAT, "%s: graph %lld is in fold %d", where, (long long)g,
                               source->fold[g]);
    return check_no_graph_empty(where, source);
}

/* ---- splits ------------------------------------------------------------------------------- */

bool pgcn_i_source_has_no_test(const pgcn_i_source *source) {
    return source->no_test || (source->own_steps && pgcn_i_steps_remove_test(source->own_steps));
}

static pgcn_status check_split(const char *where, const pgcn_i_source *source,
                               const pgcn_i_split *split) {
    static const char *const part[3] = {"train", "validation", "test"};
    const char *item = source->graph_label ? "graph" : "node";
    const uint8_t *mask[3] = {split->train, split->val, split->test};
    int64_t size[3] = {0}, items = pgcn_i_source_items(source);
    for (int k = 0; k < 3; k++)
        if (!mask[k])
            return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s: split '%s' has no %s mask", where,
                               split->name, part[k]);
    for (int64_t i = 0; i < items; i++) {
        int memberships = 0;
        for (int k = 0; k < 3; k++) {
            if (mask[k][i] > 1)
                return pgcn_i_fail(PGCN_ERR_FORMAT,
                                   "%s: the %s mask of split '%s' has %d at %s %lld, expected 0 "
                                   "or 1",
                                   where, part[k], split->name, mask[k][i], item, (long long)i);
            size[k] += mask[k][i];
            memberships += mask[k][i];
        }
        if (memberships > 1)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: %s %lld is in %d masks of split '%s', expected at most one "
                               "of train, validation and test",
                               where, item, (long long)i, memberships, split->name);
        if (memberships == 1 && !pgcn_i_source_has_label(source, i))
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: %s %lld is in a mask of split '%s' but has no label; take "
                               "it out of the masks",
                               where, item, (long long)i, split->name);
    }
    const bool may_be_empty[3] = {false, source->no_val, pgcn_i_source_has_no_test(source)};
    for (int k = 0; k < 3; k++)
        if (size[k] == 0 && !may_be_empty[k])
            return pgcn_i_fail(
                PGCN_ERR_FORMAT,
                "%s: split '%s' has no %s %s with a label, expected at least one%s",
                source->split_file ? source->split_file : where, split->name, part[k], item,
                source->split_file ? "; put some there, or leave --splits out for a split that is "
                                     "made"
                                   : "");
    return PGCN_OK;
}

pgcn_status pgcn_i_check_splits(const char *where, const pgcn_i_source *source) {
    for (int s = 0; s < source->splits; s++)
        PGCN_TRY(check_split(where, source, &source->split[s]));
    return PGCN_OK;
}

/* ---- names, and the source as a whole ----------------------------------------------------- */

/* Names must be strings inside their table: a container may hold anything. */
static pgcn_status check_names(const char *where, const char *what, const pgcn_i_names *names,
                               int64_t expected) {
    if (names->count == 0) return PGCN_OK;
    bool fits = names->count == expected && names->offset[0] == 0;
    for (int64_t i = 0; fits && i < names->count; i++)
        fits = names->offset[i + 1] > names->offset[i];
    for (int64_t i = 0; fits && i < names->count; i++)
        fits = names->text[names->offset[i + 1] - 1] == '\0';
    if (!fits)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "%s: the table of %s names does not hold %lld strings",
                           where, what, (long long)expected);
    return PGCN_OK;
}

/* source->number comes from a container; checks that it is a permutation and makes its inverse,
 * source->row. */
static pgcn_status check_numbers(const char *where, pgcn_i_source *source) {
    if (!source->number) return PGCN_OK;
    pgcn_node *row = PGCN_I_ARRAY(&source->arena, pgcn_node, source->nodes);
    if (!row) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < source->nodes; i++) row[i] = -1;
    for (int64_t i = 0; i < source->nodes; i++) {
        pgcn_node number = source->number[i];
        if (number < 0 || number >= source->nodes || row[number] >= 0)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: row %lld has the number %d, expected every number from 0 to "
                               "%lld once",
                               where, (long long)i, number, (long long)source->nodes - 1);
        row[number] = (pgcn_node)i;
    }
    source->row = row;
    return PGCN_OK;
}

pgcn_status pgcn_i_check_source(const char *where, pgcn_i_source *source) {
    int kinds = (source->label != NULL) + (source->labels != NULL) + (source->graph_label != NULL);
    if (source->nodes != source->graph->n)
        return pgcn_i_fail(PGCN_ERR_MISMATCH, "%s: there are %lld nodes, but the graph has %lld",
                           where, (long long)source->nodes, (long long)source->graph->n);
    if (kinds > 1)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "%s: there are labels of several kinds, expected one",
                           where);
    PGCN_TRY(check_features(where, &source->x, source->nodes));
    for (int64_t i = 0; source->node_label && i < source->nodes; i++)
        if (source->node_label[i] < 0 || source->node_label[i] >= MAX_CLASSES)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "%s: the node label of node %lld is %d, expected 0..%d", where,
                               (long long)i, source->node_label[i], MAX_CLASSES - 1);
    if (source->graphs > 0 || source->graph_label) PGCN_TRY(check_graphs(where, source));
    if (source->label)
        PGCN_TRY(check_labels(where, "node", source->label, source->nodes, &source->classes));
    if (source->labels) PGCN_TRY(check_multilabels(where, source));
    if (source->graph_label)
        PGCN_TRY(
            check_labels(where, "graph", source->graph_label, source->graphs, &source->classes));
    if (kinds == 0) source->classes = 0;
    PGCN_TRY(check_numbers(where, source));
    PGCN_TRY(check_names(where, "node", &source->node_id, source->nodes));
    PGCN_TRY(check_names(where, "class", &source->class_name, source->classes));
    /* some node labels may be used by no remaining node: any number of names is fine */
    PGCN_TRY(
        check_names(where, "node label", &source->node_label_name, source->node_label_name.count));
    return check_names(where, "feature", &source->feature_name, source->x.columns);
}
