/* Data sets: the one place where a graph, features, labels and splits are checked against each
 * other, prepared and fingerprinted (pgcn_i_dataset_build), and the way from a name to a reader
 * (pgcn_dataset_load). After this file nobody checks a label, a mask or a feature again.
 * Serial; a finished data set is read-only and may be shared by threads. */
#include "data/data.h"
#include "data/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_CLASSES = 1000000 }; /* a label like 2000000000 is a mistake, not a class */

/* ---- checks ------------------------------------------------------------------------------ */

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

/* Counts what is not zero on the way. Blocks of fixed length, so that the compiler makes vectors of
 * them: this reads the largest array of a data set. */
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
    if (!sparse && !dense)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "%s: features must be given once, either dense or as offsets, columns "
                           "and values",
                           where);
    PGCN_TRY(check_marks(where, "absent", x->absent, n));
    PGCN_TRY(check_marks(where, "made", x->made, x->columns));
    return sparse ? check_sparse(where, x) : check_dense(where, x);
}

/* *classes comes in as given (0: unknown) and goes out as used. `item`: what has the label. */
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

/* A step may have one graph only, and a network nothing to say about no nodes. */
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

/* Graphs of one set: every node in one of them, no edge between two, in order where they are what is
 * classified. */
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
                               "stand in the order of their graphs",
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

/* By a step now, or by one before it was saved. */
static bool has_no_test(const pgcn_i_source *source) {
    return source->no_test || (source->own_steps && (strstr(source->own_steps, "without-test") ||
                                                     strstr(source->own_steps, "crossval=")));
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
    for (int k = 0; k < (has_no_test(source) ? 2 : 3); k++)
        if (size[k] == 0)
            return pgcn_i_fail(
                PGCN_ERR_FORMAT,
                "%s: split '%s' has no %s %s with a label, expected at least one%s",
                source->split_file ? source->split_file : where, split->name, part[k], item,
                source->split_file ? "; put some there, or leave --splits out for a split that is "
                                     "made"
                                   : "");
    return PGCN_OK;
}

/* Names must be strings inside their table: a container may say anything. */
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

/* A container says under which numbers its rows are known; row[number] is made here. */
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

/* All that a reader may have got wrong, before any step uses it. */
static pgcn_status check_source(const char *where, pgcn_i_source *source) {
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
    PGCN_TRY(check_names(where, "node label", &source->node_label_name,
                         source->node_label_name.count)); /* some may be of no node that is left */
    return check_names(where, "feature", &source->feature_name, source->x.columns);
}

/* ---- count, fingerprint ------------------------------------------------------------------ */

static int64_t count_featureless(const pgcn_i_features *x) {
    int64_t without = 0;
    for (int64_t i = 0; x->absent && i < x->n; i++) without += x->absent[i];
    return without;
}

static int64_t count_unlabelled(const pgcn_i_source *source) {
    int64_t items = pgcn_i_source_items(source), without = 0;
    for (int64_t i = 0; i < items; i++) without += !pgcn_i_source_has_label(source, i);
    return without;
}

/* Everything pgcn_dataset_describe() tells. An undirected pair is stored twice and counted once;
 * a self-loop is stored once. */
static pgcn_status count_all(pgcn_dataset *data) {
    const pgcn_graph *graph = data->graph;
    const pgcn_i_source *from = &data->from;
    pgcn_dataset_info info = {.name = data->name,
                              .fingerprint = data->fingerprint,
                              .nodes = graph->n,
                              .features = data->x.columns,
                              .feature_nonzeros = data->x.nonzeros,
                              .featureless = count_featureless(&data->x),
                              .sparse_features = data->x.offset != NULL,
                              .directed = graph->directed,
                              .weighted = graph->weight != NULL,
                              .classes = data->classes,
                              .splits = data->splits,
                              .unlabelled = count_unlabelled(from),
                              .task = data->task,
                              .graphs = from->graphs > 0 ? from->graphs : 1,
                              .items = pgcn_i_source_items(from),
                              .source_edges = from->edges,
                              .dropped_self_loops = from->dropped_self_loops,
                              .format = from->format ? from->format : "arrays",
                              .steps = data->steps,
                              .split_origin = data->splits > 0 ? from->split_origin : NULL};
    /* another set may have that name: only one of two classes is taken for the published one */
    if (data->task == PGCN_TASK_NODE && data->classes == 2)
        info.measure = pgcn_i_registry_measure(data->name);
    for (int64_t g = 0; from->fold && g < from->graphs; g++)
        if (from->fold[g] >= info.folds) info.folds = from->fold[g] + 1;
    uint8_t *touched = pgcn_i_alloc(graph->n, 1); /* a directed edge touches its target too */
    if (!touched) return PGCN_ERR_MEMORY;
    int64_t compared = 0, equal = 0;
    for (int64_t u = 0; u < graph->n; u++) {
        int64_t begin = graph->offset[u], end = graph->offset[u + 1];
        if (end - begin > info.max_degree) info.max_degree = end - begin;
        if (end > begin) touched[u] = 1;
        for (int64_t e = begin; e < end; e++) {
            pgcn_node v = graph->neighbour[e];
            if (graph->directed) touched[v] = 1;
            if (!graph->directed && v < u) continue;
            info.edges++;
            if (v == u) {
                info.self_loops++;
            } else if (data->label && data->label[u] >= 0 && data->label[v] >= 0) {
                compared++;
                equal += data->label[u] == data->label[v];
            }
        }
    }
    for (int64_t u = 0; u < graph->n; u++) info.isolated += !touched[u];
    pgcn_i_free(touched);
    info.edge_homophily = compared > 0 ? (double)equal / (double)compared : (double)NAN;
    data->info = info;
    return PGCN_OK;
}

/* ---- the whole --------------------------------------------------------------------------- */

static bool is_changed_by(const pgcn_i_steps *steps) {
    return steps->symmetrise || steps->largest_component || steps->features_own ||
           steps->features_labels || steps->features_degrees || steps->features_identity ||
           steps->features_adjacency || steps->without_test || steps->order;
}

static pgcn_status check_and_prepare(pgcn_dataset *data, const char *where,
                                     const pgcn_i_steps *steps) {
    pgcn_i_source *from = &data->from;
    PGCN_TRY(pgcn_i_prepare_graph(from, steps, where));
    PGCN_TRY(check_source(where, from));
    PGCN_TRY(pgcn_i_prepare(from, steps, where));
    for (int s = 0; s < from->splits; s++) PGCN_TRY(check_split(where, from, &from->split[s]));
    PGCN_TRY(pgcn_i_hide(from, steps, where));
    PGCN_TRY(pgcn_i_order_nodes(from, steps, where));
    char steps_now[PGCN_I_STEPS_TEXT];
    pgcn_i_steps_text(steps, steps_now);
    const char *before = from->own_steps ? from->own_steps : "";
    snprintf(data->steps, sizeof data->steps, "%.250s%s%.250s", before,
             *before && *steps_now ? "," : "", steps_now);
    data->without_test = steps->without_test || has_no_test(from);
    data->task = from->graph_label ? PGCN_TASK_GRAPH
                 : from->labels    ? PGCN_TASK_MULTILABEL
                 : from->label     ? PGCN_TASK_NODE
                                   : PGCN_TASK_NONE;
    data->graph = from->graph;
    data->x = from->x;
    data->label = from->label;
    data->classes = from->classes;
    data->splits = from->splits;
    data->split = from->split;
    return count_all(data);
}

static pgcn_status build(pgcn_dataset *data, const char *name, const char *where,
                         const pgcn_i_steps *steps) {
    const pgcn_i_source *from = &data->from;
    bool changed = is_changed_by(steps);
    pgcn_i_fingerprint *fingerprint = NULL;
    char
        shown[PGCN_I_PATH_BYTES]; /* a name is printed everywhere, and may be that of a container */
    pgcn_text_printable(name, shown, sizeof shown);
    data->name = pgcn_i_arena_strdup(&data->from.arena, shown);
    if (!data->name) return PGCN_ERR_MEMORY;
    bool stored = from->fingerprint[0] && !changed; /* pgcn_dataset_verify() looks if it is right */
    if (!stored && !changed) PGCN_TRY(pgcn_i_fingerprint_begin(&from->x, &fingerprint));
    pgcn_status status = check_and_prepare(data, where, steps);
    if (status == PGCN_OK && stored)
        memcpy(data->fingerprint, from->fingerprint, sizeof data->fingerprint);
    else if (status == PGCN_OK)
        status = pgcn_i_fingerprint_end(fingerprint, data, data->fingerprint);
    pgcn_i_fingerprint_drop(fingerprint);
    return status;
}

pgcn_status pgcn_i_dataset_build(const char *name, const char *where, const pgcn_i_steps *steps,
                                 pgcn_i_source *source, pgcn_dataset **out) {
    pgcn_dataset *data = pgcn_i_alloc(1, sizeof *data);
    if (!data) {
        pgcn_i_source_free(source);
        return PGCN_ERR_MEMORY;
    }
    data->from = *source;
    *source = (pgcn_i_source){0};
    pgcn_status status = build(data, name, where, steps);
    if (status != PGCN_OK) {
        pgcn_dataset_free(data);
        return status;
    }
    *out = data;
    return PGCN_OK;
}

void pgcn_dataset_free(pgcn_dataset *data) {
    if (!data) return;
    pgcn_i_source_free(&data->from);
    pgcn_i_free(data);
}

pgcn_status pgcn_dataset_verify(const pgcn_dataset *data) {
    PGCN_I_NEED(data);
    char found[65];
    if (data->from.container_path && data->from.mapping)
        PGCN_TRY(pgcn_i_container_verify(data->from.container_path));
    PGCN_TRY(pgcn_i_fingerprint_end(NULL, data, found));
    if (strcmp(found, data->fingerprint) != 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "data set %s: its fingerprint is said to be %.12s... and is %.12s...; "
                           "the file was changed or damaged",
                           data->name, data->fingerprint, found);
    return PGCN_OK;
}

/* ---- from arrays ------------------------------------------------------------------------- */

pgcn_dataset_arrays pgcn_dataset_arrays_default(void) {
    return (pgcn_dataset_arrays){.size = sizeof(pgcn_dataset_arrays), .name = "arrays"};
}

/* The caller keeps what is his: everything is copied into the source. NULL stays NULL. */
static bool copy(pgcn_i_arena *arena, const void *from, int64_t count, size_t size, void *to) {
    if (!from) return true;
    void *array = pgcn_i_arena_alloc(arena, count, size);
    if (array && count > 0) memcpy(array, from, (size_t)count * size);
    memcpy(to, &array, sizeof array);
    return array != NULL;
}
#define COPY(arena, from, count, to) copy(arena, from, count, sizeof *(from), &(to))

static pgcn_status copy_graph(const pgcn_graph *graph, pgcn_graph **out) {
    pgcn_i_arena arena = {0};
    pgcn_graph *twin = PGCN_I_ARRAY(&arena, pgcn_graph, 1);
    if (!twin || !COPY(&arena, graph->offset, graph->n + 1, twin->offset) ||
        !COPY(&arena, graph->neighbour, graph->entries, twin->neighbour) ||
        !COPY(&arena, graph->weight, graph->entries, twin->weight)) {
        pgcn_i_arena_free(&arena);
        return PGCN_ERR_MEMORY;
    }
    twin->n = graph->n;
    twin->entries = graph->entries;
    twin->directed = graph->directed;
    twin->arena = arena;
    *out = twin;
    return PGCN_OK;
}

static pgcn_status copy_arrays(const pgcn_dataset_arrays *set, pgcn_i_source *source) {
    int64_t n = set->graph->n, dense = 0;
    int64_t nonzeros = set->x_offset ? set->x_offset[n] : 0;
    if (set->features && (set->n_features < 0 || !pgcn_i_mul(n, set->n_features, &dense)))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "pgcn_dataset_from_arrays: %lld features of %lld nodes are too many",
                           (long long)set->n_features, (long long)n);
    if (nonzeros < 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "%s: the feature row offsets run from %lld to %lld, expected them to "
                           "ascend",
                           set->name, (long long)set->x_offset[0], (long long)nonzeros);
    *source = (pgcn_i_source){.nodes = n, .format = "arrays", .classes = set->n_classes};
    pgcn_i_arena *arena = &source->arena;
    source->x = (pgcn_i_features){.n = n, .columns = set->n_features, .nonzeros = nonzeros};
    if (!COPY(arena, set->features, dense, source->x.dense) ||
        !COPY(arena, set->x_offset, n + 1, source->x.offset) ||
        !COPY(arena, set->x_column, nonzeros, source->x.column) ||
        !COPY(arena, set->x_value, nonzeros, source->x.value) ||
        !COPY(arena, set->label, n, source->label))
        return PGCN_ERR_MEMORY;
    for (int s = 0; s < set->n_splits; s++) {
        uint8_t *mask[3];
        PGCN_TRY(pgcn_i_source_masks(source, n, mask));
        memcpy(mask[0], set->train + (int64_t)s * n, (size_t)n);
        memcpy(mask[1], set->val + (int64_t)s * n, (size_t)n);
        memcpy(mask[2], set->test + (int64_t)s * n, (size_t)n);
    }
    return copy_graph(set->graph, &source->graph);
}

pgcn_status pgcn_dataset_from_arrays(const pgcn_dataset_arrays *arrays, pgcn_dataset **out) {
    pgcn_dataset_arrays set = pgcn_dataset_arrays_default();
    PGCN_I_NEED(arrays);
    PGCN_I_NEED(out);
    PGCN_TRY(pgcn_i_opts_over(&set, sizeof set, arrays, "pgcn_dataset_arrays_default"));
    const char *missing = !set.name    ? "name"
                          : !set.graph ? "graph"
                          : !set.train ? "train"
                          : !set.val   ? "val"
                          : !set.test  ? "test"
                                       : NULL;
    if (missing)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "pgcn_dataset_from_arrays: %s is NULL, but must be given", missing);
    if (set.n_splits < 1)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "pgcn_dataset_from_arrays: n_splits is %d, but must be at least 1",
                           set.n_splits);
    int64_t mask_bytes;
    if (!pgcn_i_mul(set.graph->n, set.n_splits, &mask_bytes))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "pgcn_dataset_from_arrays: %d splits of %lld nodes are too many",
                           set.n_splits, (long long)set.graph->n);
    if (!set.label || (!set.features && !set.x_offset))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s: there are no %s", set.name,
                           set.label ? "features" : "labels");
    pgcn_i_source source = {0};
    pgcn_i_steps as_given = {0};
    pgcn_status status = copy_arrays(&set, &source);
    if (status == PGCN_OK) return pgcn_i_dataset_build(set.name, set.name, &as_given, &source, out);
    pgcn_i_source_free(&source);
    return status;
}

static pgcn_status parse_steps(const char *text, pgcn_i_steps *steps) {
    bool known = true;
    if (text) PGCN_TRY(pgcn_i_steps_parse(text, steps, &known));
    if (!known)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "'%.200s' is no list of steps, expected e.g. "
                           "directed,largest-component,features=degrees,stratified=60/20/20",
                           text);
    return PGCN_OK;
}

/* The steps are part of the name, so that a model remembers which graph it was trained on. */
static void add_steps(char *name, size_t bytes, const pgcn_i_steps *steps) {
    char text[PGCN_I_STEPS_TEXT];
    size_t used = strlen(name);
    pgcn_i_steps_text(steps, text);
    if (*text) snprintf(name + used, bytes - used, ":%s", text);
}

/* ---- from another data set ---------------------------------------------------------------- */

pgcn_status pgcn_i_dataset_with_features(const pgcn_dataset *data, const char *text,
                                         pgcn_dataset **out) {
    pgcn_i_steps steps = {0};
    PGCN_TRY(parse_steps(text, &steps));
    pgcn_i_source source = data->from;
    source.arena = source.edge_arena = (pgcn_i_arena){0}; /* the arrays are borrowed */
    source.mapping = NULL;
    source.mapping_bytes = 0;
    source.fingerprint[0] = '\0';
    source.own_steps = *data->steps ? data->steps : NULL;
    char name[PGCN_I_PATH_BYTES];
    snprintf(name, sizeof name, "%.3000s%s%.500s", data->name, *data->steps ? "," : ":", text);
    PGCN_TRY(copy_graph(data->graph, &source.graph));
    return pgcn_i_dataset_build(name, data->name, &steps, &source, out);
}

/* ---- from the user's own files ----------------------------------------------------------- */

pgcn_dataset_files pgcn_dataset_files_default(void) {
    return (pgcn_dataset_files){.size = sizeof(pgcn_dataset_files)};
}

/* The last part of a path; without endings like ".csv.gz" where they are of no meaning. */
static void name_of(const char *path, bool cut_endings, char *out, size_t bytes) {
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/') begin--;
    if (cut_endings) {
        const char *dot = memchr(path + begin + 1, '.', end > begin ? end - begin - 1 : 0);
        if (dot) end = (size_t)(dot - path);
    }
    snprintf(out, bytes, "%.*s", (int)(end - begin), path + begin);
}

static pgcn_status check_header(pgcn_header header) {
    if (header >= PGCN_HEADER_AUTO && header <= PGCN_HEADER_NO) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "header is number %d, expected a pgcn_header",
                       (int)header);
}

pgcn_status pgcn_dataset_from_files(const pgcn_dataset_files *files, pgcn_dataset **out) {
    pgcn_dataset_files set = pgcn_dataset_files_default();
    PGCN_TRY(pgcn_i_opts_over(&set, sizeof set, files, "pgcn_dataset_files_default"));
    if (!set.edges || !*set.edges || !out)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "pgcn_dataset_from_files: there is no edge file, or "
                                              "no place for the result");
    PGCN_TRY(check_header(set.header));
    if (set.unknown_ids != PGCN_UNKNOWN_REFUSE && set.unknown_ids != PGCN_UNKNOWN_KEEP)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "unknown_ids is number %d, expected a pgcn_unknown_ids",
                           (int)set.unknown_ids);
    pgcn_i_steps steps = {0};
    PGCN_TRY(parse_steps(set.steps, &steps));
    char name[PGCN_I_PATH_BYTES];
    if (set.name)
        snprintf(name, sizeof name, "%s", set.name);
    else
        name_of(set.edges, true, name, sizeof name);
    add_steps(name, sizeof name, &steps);
    pgcn_i_own_files own = {.edges = set.edges,
                            .features = set.features,
                            .labels = set.labels,
                            .splits = set.splits,
                            .header = set.header,
                            .unknown_ids = set.unknown_ids};
    pgcn_i_source source = {0};
    pgcn_status status = pgcn_i_own_files_read(&own, &source);
    if (status == PGCN_OK) return pgcn_i_dataset_build(name, set.edges, &steps, &source, out);
    pgcn_i_source_free(&source);
    return status;
}

/* ---- by name ----------------------------------------------------------------------------- */

pgcn_dataset_opts pgcn_dataset_opts_default(void) {
    return (pgcn_dataset_opts){.size = sizeof(pgcn_dataset_opts)};
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Appends to a text of fixed size and cuts what does not fit. */
static void append(char *text, size_t bytes, const char *before, const char *more) {
    size_t used = strlen(text);
    snprintf(text + used, bytes - used, "%s%s", before, more);
}

/* Appends the data set folders of a directory to the text of an error, in alphabetical order. A
 * failure only makes the help shorter. */
static void list_folders(const char *directory, char *text, size_t bytes) {
    enum { MOST_READ = 1000, MOST_SHOWN = 20 };
    pgcn_i_arena scratch = {0};
    char **name = PGCN_I_ARRAY(&scratch, char *, MOST_READ);
    DIR *stream = opendir(directory);
    int count = 0;
    if (name && stream) {
        for (struct dirent *entry; count < MOST_READ && (entry = readdir(stream));) {
            char path[PGCN_I_PATH_BYTES];
            if (entry->d_name[0] == '.') continue;
            if (pgcn_i_path_join(path, directory, entry->d_name) != PGCN_OK) continue;
            if (!pgcn_i_format_find(path)) continue;
            name[count] = pgcn_i_arena_strdup(&scratch, entry->d_name);
            if (name[count]) count++;
        }
        qsort(name, (size_t)count, sizeof *name, by_text);
        for (int i = 0; i < count && i < MOST_SHOWN; i++)
            append(text, bytes, i ? ", " : "", name[i]);
    }
    if (count == 0) append(text, bytes, "", "none");
    if (count > MOST_SHOWN) append(text, bytes, ", ", "...");
    if (stream) closedir(stream);
    pgcn_i_arena_free(&scratch);
}

static pgcn_status not_found(const char *name, const char *base, const char *data_dir,
                             bool from_environment) {
    char builtin[256] = "", folders[1024] = "", fetch[256] = "";
    const char *each;
    for (int i = 0; (each = pgcn_builtin_name(i, NULL)); i++)
        append(builtin, sizeof builtin, i ? ", " : "", each);
    pgcn_published published;
    if (pgcn_published_find(base, &published))
        snprintf(fetch, sizeof fetch, "; 'pathgcn data fetch %.100s' downloads it", base);
    const char *source = from_environment ? "PATHGCN_DATA" : "the data directory";
    if (!data_dir)
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "no data set '%s': it is neither built in (%s) nor a file or folder, and "
            "PATHGCN_DATA is not set; set it to the directory of your data sets or "
            "give the path of a file or folder%s",
            name, builtin, fetch);
    if (!pgcn_i_is_directory(data_dir))
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "no data set '%s': it is neither built in (%s) nor a file or folder, and "
            "%s, '%s', is not a directory; correct it or give the path of a file or "
            "folder%s",
            name, builtin, source, data_dir, fetch);
    list_folders(data_dir, folders, sizeof folders);
    return pgcn_i_fail(
        PGCN_ERR_ARGUMENT,
        "no data set '%s': it is neither built in (%s) nor a file or folder, and %s, "
        "'%s', has none of that name; it has: %s%s",
        name, builtin, source, data_dir, folders, fetch);
}

/* A file or folder that cannot be looked into is in no format and, in a folder that may not be
 * entered, does not even seem to be there. Then the system's reason is the true one. */
static pgcn_status check_reachable(const char *path) {
    struct stat about;
    if (stat(path, &about) != 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? PGCN_OK
                   : pgcn_i_fail(PGCN_ERR_IO, "cannot read the data set '%s': %s", path,
                                 pgcn_system_error(errno));
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return pgcn_i_fail(PGCN_ERR_IO, "cannot read the data set '%s': %s", path,
                           pgcn_system_error(errno));
    close(descriptor);
    return PGCN_OK;
}

static pgcn_status no_header(const char *name) {
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "data set '%s' is no edge list in text, so that its first line is no "
                       "question; leave out --header",
                       name);
}

/* "data/cora/" is called "cora" and so is "cora.npz"; a container knows its name. */
static pgcn_status load_path(const char *path, const pgcn_i_steps *steps, pgcn_header header,
                             pgcn_dataset **out) {
    const pgcn_i_format *format = pgcn_i_format_find(path);
    if (!format) PGCN_TRY(check_reachable(path));
    if (!format)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "'%s' is in no format that pathgcn reads (docs/FORMATS.md lists them); "
                           "your own CSV files are given by --edges, --features and --labels",
                           path);
    if (header != PGCN_HEADER_AUTO && format->read != pgcn_i_edge_list_read) return no_header(path);
    pgcn_i_source source = {0};
    pgcn_status status = header == PGCN_HEADER_AUTO
                             ? format->read(path, steps, &source)
                             : pgcn_i_edge_list_read_as(path, header, &source);
    if (status != PGCN_OK) {
        pgcn_i_source_free(&source);
        return status;
    }
    char name[PGCN_I_PATH_BYTES];
    if (source.own_name)
        snprintf(name, sizeof name, "%s", source.own_name);
    else
        name_of(path, !pgcn_i_is_directory(path), name, sizeof name);
    add_steps(name, sizeof name, steps);
    return pgcn_i_dataset_build(name, path, steps, &source, out);
}

/* Cuts "film:directed,self-loops" into "film" and the steps that follow. A colon that no step follows
 * belongs to the name. */
static pgcn_status take_steps(const char *name, char *base, size_t bytes, pgcn_i_steps *steps) {
    const char *colon = strrchr(name, ':');
    bool known = false;
    if (colon && colon[1]) PGCN_TRY(pgcn_i_steps_parse(colon + 1, steps, &known));
    snprintf(base, bytes, "%.*s", known ? (int)(colon - name) : (int)strlen(name), name);
    return PGCN_OK;
}

/* Steps of a built-in set stand behind its settings: "sbm:nodes=500:order=rcm", "karate:order=rcm".
 * */
static pgcn_status take_builtin_steps(const char *name, char *base, size_t bytes,
                                      pgcn_i_steps *steps) {
    snprintf(base, bytes, "%s", name);
    if (!pgcn_i_builtin_has_steps(name)) return PGCN_OK;
    return take_steps(name, base, bytes, steps);
}

static pgcn_status load_builtin(const char *name, const pgcn_i_steps *steps, bool *found,
                                pgcn_dataset **out) {
    pgcn_i_source source = {0};
    char full[PGCN_I_PATH_BYTES];
    pgcn_i_steps all = *steps;
    PGCN_TRY(take_builtin_steps(name, full, sizeof full, &all));
    pgcn_status status = pgcn_i_builtin_read(full, found, &source);
    if (status == PGCN_OK && *found) {
        add_steps(full, sizeof full, &all);
        return pgcn_i_dataset_build(full, name, &all, &source, out);
    }
    pgcn_i_source_free(&source);
    return status;
}

/* A folder of that name in `directory`, or a container. */
static bool find_in(const char *directory, const char *base, char path[PGCN_I_PATH_BYTES]) {
    char file[PGCN_I_PATH_BYTES];
    if (!directory || !*directory || !*base) return false;
    if (pgcn_i_path_join(path, directory, base) != PGCN_OK) return false;
    if (pgcn_i_is_directory(path) || pgcn_i_file_exists(path)) return true;
    if ((size_t)snprintf(file, sizeof file, "%s.pgcn", base) >= sizeof file) return false;
    return pgcn_i_path_join(path, directory, file) == PGCN_OK && pgcn_i_file_exists(path);
}

pgcn_status pgcn_dataset_load(const char *name, const pgcn_dataset_opts *opts, pgcn_dataset **out) {
    pgcn_dataset_opts set = pgcn_dataset_opts_default();
    PGCN_TRY(pgcn_i_opts_over(&set, sizeof set, opts, "pgcn_dataset_opts_default"));
    if (!name || !*name || !out)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "pgcn_dataset_load: the name of the data set is "
                                              "empty, or there is no place for the result");
    PGCN_TRY(check_header(set.header));
    bool found = false;
    pgcn_i_steps steps = {.directed = set.directed, .self_loops = set.keep_self_loops};
    PGCN_TRY(parse_steps(set.steps, &steps));
    if (set.header != PGCN_HEADER_AUTO && pgcn_i_builtin_knows(name)) return no_header(name);
    pgcn_status status = load_builtin(name, &steps, &found, out);
    if (status != PGCN_OK || found) return status;
    char base[PGCN_I_PATH_BYTES], path[PGCN_I_PATH_BYTES];
    PGCN_TRY(take_steps(name, base, sizeof base, &steps));
    if (pgcn_i_is_directory(base) || pgcn_i_file_exists(base))
        return load_path(base, &steps, set.header, out);
    const char *data_dir = set.data_dir ? set.data_dir : getenv("PATHGCN_DATA");
    if (data_dir && !*data_dir) data_dir = NULL;
    const char *places[] = {data_dir, pgcn_cache_directory()};
    pgcn_published published = {.name = ""};
    pgcn_published_find(base, &published); /* "actor" is published as film */
    for (int i = 0; i < 2; i++)
        if (find_in(places[i], base, path) || find_in(places[i], published.name, path))
            return load_path(path, &steps, set.header, out);
    PGCN_TRY(check_reachable(base));
    if (data_dir) PGCN_TRY(check_reachable(data_dir));
    return not_found(name, base, data_dir, !set.data_dir);
}

/* ---- reading ----------------------------------------------------------------------------- */

const char *pgcn_task_name(pgcn_task task) {
    switch (task) {
    case PGCN_TASK_NODE: return "node";
    case PGCN_TASK_MULTILABEL: return "multilabel";
    case PGCN_TASK_GRAPH: return "graph";
    default: return "none";
    }
}

static const char *const measure_names[PGCN_MEASURES] = {"accuracy", "balanced-accuracy",
                                                         "macro-f1", "auc", "average-precision"};

const char *pgcn_measure_name(pgcn_measure measure) {
    return (unsigned)measure < PGCN_MEASURES ? measure_names[measure] : "";
}

bool pgcn_measure_parse(const char *name, pgcn_measure *out) {
    for (int i = 0; name && out && i < PGCN_MEASURES; i++)
        if (strcmp(measure_names[i], name) == 0) {
            *out = (pgcn_measure)i;
            return true;
        }
    return false;
}

pgcn_dataset_info pgcn_dataset_describe(const pgcn_dataset *data) {
    return data ? data->info : (pgcn_dataset_info){0};
}
const pgcn_graph *pgcn_dataset_graph(const pgcn_dataset *data) {
    return data ? data->graph : NULL;
}
const int32_t *pgcn_dataset_labels(const pgcn_dataset *data) {
    if (!data) return NULL;
    return data->from.graph_label ? data->from.graph_label : data->label;
}
const uint8_t *pgcn_dataset_multilabels(const pgcn_dataset *data) {
    return data ? data->from.labels : NULL;
}

static const char *name_at(const pgcn_i_names *names, int64_t i) {
    return i >= 0 && i < names->count ? names->text + names->offset[i] : NULL;
}
bool pgcn_dataset_is_labelled(const pgcn_dataset *data, int64_t i) {
    return data && i >= 0 && i < data->info.items && pgcn_i_source_has_label(&data->from, i);
}
const char *pgcn_dataset_node_id(const pgcn_dataset *data, int64_t i) {
    return data ? name_at(&data->from.node_id, i) : NULL;
}
bool pgcn_dataset_order(const pgcn_dataset *data, const pgcn_node **number, const pgcn_node **row) {
    if (number) *number = data ? data->from.number : NULL;
    if (row) *row = data ? data->from.row : NULL;
    return data && data->from.number;
}
const char *pgcn_dataset_class_name(const pgcn_dataset *data, int c) {
    return data ? name_at(&data->from.class_name, c) : NULL;
}
const char *pgcn_dataset_feature_name(const pgcn_dataset *data, int64_t j) {
    return data ? name_at(&data->from.feature_name, j) : NULL;
}
const char *pgcn_dataset_note(const pgcn_dataset *data, int i) {
    return data && i >= 0 && i < data->from.notes ? data->from.note[i] : NULL;
}

const char *pgcn_dataset_split(const pgcn_dataset *data, int i, const uint8_t **train,
                               const uint8_t **val, const uint8_t **test) {
    if (!data || i < 0 || i >= data->splits) return NULL;
    if (train) *train = data->split[i].train;
    if (val) *val = data->split[i].val;
    if (test) *test = data->split[i].test;
    return data->split[i].name;
}
