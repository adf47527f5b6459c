/* Data sets from the caller's arrays, and from another data set after more steps. Both make a
 * pgcn_i_source, as readers do; what the arrays hold is checked by check.c. Here is checked which of
 * them are given, because that says how much memory may be read.
 *
 * Features may be borrowed: nobody writes into the arrays of a source, and pgcn_i_arena_drop() leaves
 * alone what is not in its arena. Serial, thread-safe. Public functions. */
#include "data/data.h"

#include <stdio.h>
#include <string.h>

pgcn_dataset_arrays pgcn_dataset_arrays_default(void) {
    return (pgcn_dataset_arrays){.size = sizeof(pgcn_dataset_arrays), .name = "arrays"};
}

/* ---- which arrays are given ------------------------------------------------------------------ */

static pgcn_status refuse(const char *sentence) {
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "pgcn_dataset_from_arrays: %s", sentence);
}

static bool has_labels(const pgcn_dataset_arrays *set) {
    return set->label || set->labels || set->graph_label;
}

static bool has_features(const pgcn_dataset_arrays *set) {
    return set->features || set->x_offset;
}

static int64_t items_of(const pgcn_dataset_arrays *set) {
    return set->graph_label ? set->n_graphs : set->graph->n;
}

static pgcn_status check_features(const pgcn_dataset_arrays *set) {
    int64_t n = set->graph->n, count;
    bool some_sparse = set->x_offset || set->x_column || set->x_value;
    bool all_sparse = set->x_offset && set->x_column && set->x_value;
    if (some_sparse && (set->features || !all_sparse))
        return refuse("features must be given once, either as `features` or as x_offset, x_column "
                      "and x_value");
    if (!has_features(set) && set->n_features != 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "pgcn_dataset_from_arrays: n_features is %lld, but there are no "
                           "features; give them, or set it to 0",
                           (long long)set->n_features);
    if (set->n_features < 0 || !pgcn_i_mul(n, set->n_features, &count))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "pgcn_dataset_from_arrays: %lld features of %lld nodes are %s",
                           (long long)set->n_features, (long long)n,
                           set->n_features < 0 ? "fewer than none" : "too many");
    if (set->x_offset && set->x_offset[n] < 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "%s: the feature row offsets run from %lld to %lld, expected them to "
                           "ascend",
                           set->name, (long long)set->x_offset[0], (long long)set->x_offset[n]);
    return PGCN_OK;
}

static pgcn_status check_graphs(const pgcn_dataset_arrays *set) {
    if (set->n_graphs < 0 || set->n_graphs > set->graph->n)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "pgcn_dataset_from_arrays: n_graphs is %lld, but must be 0 to %lld, the "
                           "number of nodes",
                           (long long)set->n_graphs, (long long)set->graph->n);
    if (set->n_graphs > 0 && !set->graph_of)
        return refuse("n_graphs is given, but graph_of is NULL; say which graph a node is in");
    if (set->n_graphs == 0 && (set->graph_of || set->graph_label))
        return refuse("graph_of or graph_label is given, but n_graphs is 0");
    return PGCN_OK;
}

static pgcn_status check_labels(const pgcn_dataset_arrays *set) {
    int64_t count;
    if ((set->label != NULL) + (set->labels != NULL) + (set->graph_label != NULL) > 1)
        return refuse("label, labels and graph_label are three ways to give labels; give one");
    if (set->labels && (set->n_classes < 1 || !pgcn_i_mul(set->graph->n, set->n_classes, &count)))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "pgcn_dataset_from_arrays: n_classes is %d, but labels have a column "
                           "for each class",
                           set->n_classes);
    if (set->labels_known && !set->labels)
        return refuse("labels_known is given without labels; of one label each, -1 is not known");
    if (!has_labels(set) && (set->n_classes != 0 || set->class_name))
        return refuse("n_classes or class_name is given, but there are no labels");
    return PGCN_OK;
}

static pgcn_status check_masks(const pgcn_dataset_arrays *set) {
    int64_t bytes;
    if (set->n_splits < 0 || !pgcn_i_mul(items_of(set), set->n_splits, &bytes))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "pgcn_dataset_from_arrays: n_splits is %d, but must be 0 or more, and "
                           "their masks must fit into memory",
                           set->n_splits);
    if (set->n_splits == 0 && (set->train || set->val || set->test))
        return refuse("masks are given, but n_splits is 0; say how many splits they have");
    if (set->n_splits > 0 && !set->train)
        return refuse("n_splits is given, but train is NULL; say which items are trained on");
    if (set->n_splits > 0 && !has_labels(set))
        return refuse("masks are given, but there are no labels to train on or to test with");
    return PGCN_OK;
}

/* `what` for errors, "node_id". NULL: not given. */
static pgcn_status check_texts(const char *what, const char *const *text, int64_t count) {
    for (int64_t i = 0; text && i < count; i++) {
        if (!text[i])
            return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                               "pgcn_dataset_from_arrays: %s[%lld] is NULL, but must be a text",
                               what, (long long)i);
        if (!pgcn_i_is_utf8(text[i], (int64_t)strlen(text[i])))
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "pgcn_dataset_from_arrays: %s[%lld], '%.64s', is not UTF-8", what,
                               (long long)i, text[i]);
    }
    return PGCN_OK;
}

static pgcn_status check_names(const pgcn_dataset_arrays *set) {
    if (set->class_name && set->n_classes < 1)
        return refuse("class_name is given, but n_classes is not; say how many there are");
    if (set->feature_name && !has_features(set))
        return refuse("feature_name is given, but there are no features");
    PGCN_TRY(check_texts("node_id", set->node_id, set->graph->n));
    PGCN_TRY(check_texts("class_name", set->class_name, set->n_classes));
    return check_texts("feature_name", set->feature_name, set->n_features);
}

static pgcn_status check_arrays(const pgcn_dataset_arrays *set) {
    if (!set->name) return refuse("name is NULL, but must be given");
    if (!set->graph) return refuse("graph is NULL, but must be given");
    PGCN_TRY(check_features(set));
    PGCN_TRY(check_graphs(set));
    PGCN_TRY(check_labels(set));
    PGCN_TRY(check_masks(set));
    return check_names(set);
}

/* ---- from arrays ------------------------------------------------------------------------------ */

/* Copies an array of the caller into the source. NULL stays NULL. */
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

static pgcn_status take_features(const pgcn_dataset_arrays *set, pgcn_i_source *source) {
    pgcn_i_features *x = &source->x;
    pgcn_i_arena *arena = &source->arena;
    if (!has_features(set)) return PGCN_OK;
    int64_t n = set->graph->n;
    *x = (pgcn_i_features){
        .n = n, .columns = set->n_features, .nonzeros = set->x_offset ? set->x_offset[n] : 0};
    if (!COPY(arena, set->x_offset, n + 1, x->offset)) return PGCN_ERR_MEMORY;
    if (set->release) {
        x->dense = set->features;
        x->column = set->x_column;
        x->value = set->x_value;
        return PGCN_OK;
    }
    return COPY(arena, set->features, n * set->n_features, x->dense) &&
                   COPY(arena, set->x_column, x->nonzeros, x->column) &&
                   COPY(arena, set->x_value, x->nonzeros, x->value)
               ? PGCN_OK
               : PGCN_ERR_MEMORY;
}

static pgcn_status take_labels(const pgcn_dataset_arrays *set, pgcn_i_source *source) {
    pgcn_i_arena *arena = &source->arena;
    int64_t n = set->graph->n;
    source->classes = set->n_classes;
    source->graphs = set->n_graphs;
    return COPY(arena, set->label, n, source->label) &&
                   COPY(arena, set->labels, n * set->n_classes, source->labels) &&
                   COPY(arena, set->labels_known, n, source->label_known) &&
                   COPY(arena, set->graph_of, n, source->graph_of) &&
                   COPY(arena, set->graph_label, set->n_graphs, source->graph_label)
               ? PGCN_OK
               : PGCN_ERR_MEMORY;
}

/* A mask that is not given stays empty. */
static pgcn_status take_masks(const pgcn_dataset_arrays *set, pgcn_i_source *source) {
    const uint8_t *const given[3] = {set->train, set->val, set->test};
    int64_t items = items_of(set);
    for (int s = 0; s < set->n_splits; s++) {
        uint8_t *mask[3];
        PGCN_TRY(pgcn_i_source_masks(source, items, mask));
        for (int k = 0; k < 3; k++)
            if (given[k]) memcpy(mask[k], given[k] + s * items, (size_t)items);
    }
    source->no_val = set->n_splits > 0 && !set->val;
    source->no_test = set->n_splits > 0 && !set->test;
    return PGCN_OK;
}

static pgcn_status take_names(const pgcn_dataset_arrays *set, pgcn_i_source *source) {
    pgcn_i_arena *arena = &source->arena;
    if (set->node_id)
        PGCN_TRY(pgcn_i_names_copy(arena, set->node_id, set->graph->n, &source->node_id));
    if (set->class_name)
        PGCN_TRY(pgcn_i_names_copy(arena, set->class_name, set->n_classes, &source->class_name));
    if (!set->feature_name) return PGCN_OK;
    return pgcn_i_names_copy(arena, set->feature_name, set->n_features, &source->feature_name);
}

static pgcn_status take_arrays(const pgcn_dataset_arrays *set, pgcn_i_source *source) {
    *source = (pgcn_i_source){
        .nodes = set->graph->n, .format = "arrays", .directed = set->graph->directed};
    PGCN_TRY(take_features(set, source));
    PGCN_TRY(take_labels(set, source));
    PGCN_TRY(take_masks(set, source));
    PGCN_TRY(take_names(set, source));
    return copy_graph(set->graph, &source->graph);
}

pgcn_status pgcn_dataset_from_arrays(const pgcn_dataset_arrays *arrays, pgcn_dataset **out) {
    pgcn_dataset_arrays set = pgcn_dataset_arrays_default();
    PGCN_I_NEED(arrays);
    PGCN_I_NEED(out);
    PGCN_TRY(pgcn_i_opts_over(&set, sizeof set, arrays, "pgcn_dataset_arrays_default"));
    PGCN_TRY(check_arrays(&set));
    pgcn_i_steps steps = {0};
    PGCN_TRY(pgcn_i_steps_need(set.steps, &steps));
    char name[PGCN_I_PATH_BYTES];
    snprintf(name, sizeof name, "%s", set.name);
    pgcn_i_steps_name(&steps, ":", name, sizeof name);
    pgcn_i_source source = {0};
    pgcn_status status = take_arrays(&set, &source);
    if (status != PGCN_OK) {
        pgcn_i_source_free(&source);
        return status;
    }
    PGCN_TRY(pgcn_i_dataset_build(name, set.name, &steps, &source, out));
    (*out)->release = set.release; /* not before: after an error the caller keeps the features */
    (*out)->owner = set.owner;
    return PGCN_OK;
}

/* ---- from another data set -------------------------------------------------------------------- */

/* The arrays stay those of `graph`; the result is freed as any other. */
static pgcn_status borrow_graph(const pgcn_graph *graph, pgcn_graph **out) {
    pgcn_i_arena arena = {0};
    pgcn_graph *twin = PGCN_I_ARRAY(&arena, pgcn_graph, 1);
    if (!twin) return PGCN_ERR_MEMORY;
    *twin = *graph;
    twin->arena = arena; /* holds the struct and nothing else */
    *out = twin;
    return PGCN_OK;
}

/* What no step asked for is made again, of what was given: columns of nodes and splits depend on which
 * nodes are left, as they do when the data is loaded with the steps. */
static void forget_defaults(pgcn_i_source *source, const pgcn_i_steps *steps) {
    if (source->default_features) {
        source->x = source->given;
        source->feature_name = source->given_name;
        source->made_features = source->default_features = false;
    }
    if (source->default_splits && steps->largest_component) {
        source->splits = 0;
        source->split = NULL;
    }
}

pgcn_status pgcn_dataset_prepare(const pgcn_dataset *data, const char *text, pgcn_dataset **out) {
    PGCN_I_NEED(data);
    PGCN_I_NEED(out);
    PGCN_TRY(pgcn_i_need_features(data, "preparing it"));
    pgcn_i_steps steps = {0};
    PGCN_TRY(pgcn_i_steps_need(text, &steps));
    pgcn_i_source source = data->from;
    source.arena = source.edge_arena = (pgcn_i_arena){0}; /* the arrays are borrowed */
    source.mapping = NULL;
    source.mapping_bytes = 0;
    memcpy(source.fingerprint, data->fingerprint, sizeof source.fingerprint);
    source.own_steps = *data->steps ? data->steps : NULL;
    forget_defaults(&source, &steps);
    char name[PGCN_I_PATH_BYTES];
    snprintf(name, sizeof name, "%.3000s", data->name);
    pgcn_i_steps_name(&steps, *data->steps ? "," : ":", name, sizeof name);
    PGCN_TRY(borrow_graph(data->graph, &source.graph));
    return pgcn_i_dataset_build(name, data->name, &steps, &source, out);
}
