/* Data sets: builds one from a source (pgcn_i_dataset_build), computes its statistics, and returns its
 * parts to callers. check.c checks the source; load.c finds it, or arrays.c makes it of the caller's
 * arrays. Serial; a finished data set is read-only and may be shared by threads. */
#include "data/data.h"
#include "data/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- statistics ------------------------------------------------------------------ */

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

/* The statistics of pgcn_dataset_describe(). An undirected pair is stored twice and counted once; a
 * self-loop is stored once. */
static pgcn_status compute_statistics(pgcn_dataset *data) {
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
    /* another data set may have that name: only one with two classes is taken as the published one */
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

/* ---- building ---------------------------------------------------------------------------- */

static bool is_changed_by(const pgcn_i_steps *steps) {
    return steps->symmetrise || steps->largest_component || steps->features != 0 ||
           steps->without_test || steps->order != PGCN_I_NODE_ORDER_KEEP;
}

/* Steps that would move, cut or make features, or change the fingerprint, which is made of all of them. */
static pgcn_status check_bounded(const pgcn_i_source *from, const char *where,
                                 const pgcn_i_steps *steps) {
    if (!from->x.file || !(is_changed_by(steps) || steps->directed || steps->self_loops))
        return PGCN_OK;
    return pgcn_i_fail(
        PGCN_ERR_ARGUMENT,
        "the features of '%s' stay on disk, and its steps would change them, the "
        "graph or labels; apply them when the container is made, by pathgcn data convert "
        "--prepare, or load it without a bound of memory (--memory)",
        where);
}

pgcn_status pgcn_i_need_features(const pgcn_dataset *data, const char *what) {
    if (!data->x.file) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "the features of data set %s stay on disk, and %s needs all of them in "
                       "memory; load it without a bound of memory (--memory)",
                       data->name, what);
}

static pgcn_status check_and_prepare(pgcn_dataset *data, const char *where,
                                     const pgcn_i_steps *steps) {
    pgcn_i_source *from = &data->from;
    PGCN_TRY(check_bounded(from, where, steps));
    PGCN_TRY(pgcn_i_prepare_graph(from, steps, where));
    PGCN_TRY(pgcn_i_check_source(where, from));
    PGCN_TRY(pgcn_i_prepare(from, steps, where));
    PGCN_TRY(pgcn_i_check_splits(where, from));
    PGCN_TRY(pgcn_i_hide(from, steps, where));
    PGCN_TRY(pgcn_i_order_nodes(from, steps, where));
    if (steps->groups > 0) from->groups = steps->groups;
    char steps_now[PGCN_I_STEPS_TEXT];
    pgcn_i_steps_text(steps, steps_now);
    const char *before = from->own_steps ? from->own_steps : "";
    snprintf(data->steps, sizeof data->steps, "%.250s%s%.250s", before,
             *before && *steps_now ? "," : "", steps_now);
    data->without_test = steps->without_test || pgcn_i_source_has_no_test(from);
    data->without_val = from->no_val;
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
    return compute_statistics(data);
}

static pgcn_status build(pgcn_dataset *data, const char *name, const char *where,
                         const pgcn_i_steps *steps) {
    const pgcn_i_source *from = &data->from;
    bool changed = is_changed_by(steps);
    pgcn_i_fingerprint *fingerprint = NULL;
    char shown[PGCN_I_PATH_BYTES]; /* a name from a container may hold anything */
    pgcn_text_printable(name, shown, sizeof shown);
    data->name = pgcn_i_arena_strdup(&data->from.arena, shown);
    if (!data->name) return PGCN_ERR_MEMORY;
    bool stored = from->fingerprint[0] && !changed; /* pgcn_dataset_verify() checks it */
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
    void (*release)(void *owner) = data->release;
    void *owner = data->owner;
    pgcn_i_source_free(&data->from);
    pgcn_i_free(data);
    if (release) release(owner);
}

pgcn_status pgcn_dataset_verify(const pgcn_dataset *data) {
    PGCN_I_NEED(data);
    char found[65];
    if (data->from.container_path && data->from.mapping)
        PGCN_TRY(pgcn_i_container_verify(data->from.container_path));
    if (data->x.file) return PGCN_OK; /* the SHA-256 is of the fingerprint too */
    PGCN_TRY(pgcn_i_fingerprint_end(NULL, data, found));
    if (strcmp(found, data->fingerprint) != 0)
        return pgcn_i_fail(
            PGCN_ERR_FORMAT,
            "data set %s: its stored fingerprint is %.12s..., but its data has %.12s...; "
            "the file was changed or damaged",
            data->name, data->fingerprint, found);
    return PGCN_OK;
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

const int32_t *pgcn_dataset_graph_of(const pgcn_dataset *data) {
    return data ? data->from.graph_of : NULL;
}
pgcn_features pgcn_dataset_features(const pgcn_dataset *data) {
    if (!data) return (pgcn_features){0};
    const pgcn_i_features *x = &data->x;
    return (pgcn_features){.rows = x->n,
                           .columns = x->columns,
                           .nonzeros = x->nonzeros,
                           .dense = x->dense,
                           .offset = x->offset,
                           .column = x->column,
                           .value = x->value};
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
const char *pgcn_dataset_store(const pgcn_dataset *data) {
    return pgcn_i_dtype_name(data && data->from.store ? data->from.store : PGCN_I_F32);
}
const char *pgcn_dataset_encoder(const pgcn_dataset *data) {
    return data ? data->from.encoder : NULL;
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
