/* For the tests of our own files: a small data set of every kind there is, and a comparison of all
 * that two data sets hold. Include after cmocka.h. */
#ifndef PGCN_TEST_EVERY_KIND_HELP_H
#define PGCN_TEST_EVERY_KIND_HELP_H

#include "dataset_help.h"

enum { KIND_BUILTIN, KIND_NAMED, KIND_DIRECTED, KIND_MULTILABEL, KIND_GRAPHS, KIND_BARE, KINDS };

static pgcn_node kind_from[] = {0, 1, 2, 3, 4, 2}, kind_to[] = {1, 2, 3, 4, 5, 2};
static float kind_weight[] = {0.5f, 1, 2, 3, 4, 5};
static float kind_dense[] = {0, 1, -2, 3, 0, 0, 1e-30f, 7, 8, 9, 10, 11};
static int64_t kind_offset[] = {0, 1, 1, 3, 3, 3, 4};
static int32_t kind_column[] = {2, 0, 4, 1};
static float kind_value[] = {1, 0.25f, -1, 3};
static int32_t kind_label[] = {0, 1, 1, -1, 2, 0};
static uint8_t kind_labels[] = {1, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1};
static uint8_t kind_known[] = {1, 1, 1, 1, 0, 1};
static int32_t kind_graph_of[] = {1, 1, 1, 1, 1, 1, 0}, kind_in_order[] = {0, 0, 0, 0, 0, 0, 1, 2};
static int32_t kind_graph_label[] = {1, 0, 1}, kind_fold[] = {0, 1, -1};
static int32_t kind_node_label[] = {0, 2, 1, 0, 0, 1, 2, 0};
static uint8_t kind_mask[4][8] = {
    {1, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 1}, {0, 0, 0, 0, 0, 0}};
static int64_t kind_id_offset[] = {0, 2, 4, 8, 10, 12, 14};
static const char kind_id_text[] = "a\0b\0\xc3\xa9\xff\0d\0e\0f";
static int64_t kind_class_offset[] = {0, 4, 8, 12};
static const char kind_class_text[] = "one\0two\0six";
static int64_t kind_column_offset[] = {0, 2, 4, 6, 8, 10};
static const char kind_column_text[] = "v\0w\0x\0y\0z";

static inline void kind_splits(pgcn_i_source *source, int64_t items) {
    for (int s = 0; s < 2; s++) {
        uint8_t *mask[3];
        assert_int_equal(pgcn_i_source_masks(source, items, mask), PGCN_OK);
        for (int k = 0; k < 3; k++)
            memcpy(mask[k], kind_mask[s == 0 ? k : (k + 1) % 3], (size_t)items);
    }
    strcpy(source->split[0].name, "public");
    source->split_origin = "a test";
}

static inline pgcn_dataset *every_kind(int kind) {
    pgcn_i_steps steps = {0};
    pgcn_dataset *data = NULL;
    if (kind == KIND_BUILTIN) return load("karate", NULL);
    pgcn_i_source source = {
        .format = "test", .nodes = 6, .edges = 6, .edge_from = kind_from, .edge_to = kind_to};
    const char *name = "sparse";
    source.x = (pgcn_i_features){
        .n = 6, .columns = 2, .dense = kind_dense}; /* and CSR where it says so below */
    if (kind == KIND_NAMED) {
        name = "names, weights and self-loops \xff";
        steps.self_loops = true;
        source.edge_weight = kind_weight;
        source.x = (pgcn_i_features){.n = 6,
                                     .columns = 5,
                                     .nonzeros = 4,
                                     .offset = kind_offset,
                                     .column = kind_column,
                                     .value = kind_value};
        source.label = kind_label;
        source.node_id = (pgcn_i_names){6, kind_id_offset, kind_id_text};
        source.class_name = (pgcn_i_names){3, kind_class_offset, kind_class_text};
        source.feature_name = (pgcn_i_names){5, kind_column_offset, kind_column_text};
        assert_int_equal(pgcn_i_source_note(&source, "a note for %s", "you!"), PGCN_OK);
        kind_splits(&source, 6);
    } else if (kind == KIND_DIRECTED) {
        name = "directed";
        source.directed = steps.directed = true;
        source.label = kind_label;
        source.classes = 7;
        kind_splits(&source, 6);
    } else if (kind == KIND_MULTILABEL) {
        name = "multi-label";
        source.labels = kind_labels;
        source.label_known = kind_known;
        source.classes = 2;
        source.nodes = source.x.n = 6;
        source.graphs = 2;
        source.graph_of = kind_graph_of + 1; /* 1 1 1 1 1 0: not in order */
        source.edges = 4;
        kind_splits(&source, 6);
    } else if (kind == KIND_GRAPHS) {
        name = "graphs";
        steps.features = PGCN_I_FEATURES_DEGREES; /* not the default: what was chosen must stay */
        source.nodes = 8;
        source.x = (pgcn_i_features){0};
        source.graphs = 3;
        source.graph_of = kind_in_order;
        source.graph_label = kind_graph_label;
        source.fold = kind_fold;
        source.node_label = kind_node_label;
        kind_splits(&source, 3);
    } else {
        name = "bare";
        source.x = (pgcn_i_features){0};
    }
    if (pgcn_i_dataset_build(name, name, &steps, &source, &data) != PGCN_OK)
        fail_msg("%s", pgcn_last_error());
    return data;
}

static inline void assert_same_array(const void *a, const void *b, int64_t bytes) {
    assert_int_equal(a == NULL, b == NULL);
    if (a && bytes > 0) assert_memory_equal(a, b, (size_t)bytes);
}

static inline void assert_same_names(const pgcn_i_names *a, const pgcn_i_names *b) {
    assert_int_equal(a->count, b->count);
    if (a->count == 0) return;
    assert_same_array(a->offset, b->offset, (a->count + 1) * 8);
    assert_same_array(a->text, b->text, a->offset[a->count]);
}

/* All but the format and what only a container remembers. */
static inline void assert_same_dataset(const pgcn_dataset *a, const pgcn_dataset *b) {
    int64_t n = a->graph->n, items = pgcn_i_source_items(&a->from);
    assert_string_equal(a->fingerprint, b->fingerprint);
    assert_string_equal(a->name, b->name);
    assert_int_equal(n, b->graph->n);
    assert_int_equal(a->graph->directed, b->graph->directed);
    assert_int_equal(a->graph->entries, b->graph->entries);
    assert_same_array(a->graph->offset, b->graph->offset, (n + 1) * 8);
    assert_same_array(a->graph->neighbour, b->graph->neighbour, a->graph->entries * 4);
    assert_same_array(a->graph->weight, b->graph->weight, a->graph->entries * 4);
    assert_int_equal(a->x.columns, b->x.columns);
    assert_int_equal(a->x.nonzeros, b->x.nonzeros);
    assert_same_array(a->x.dense, b->x.dense, n * a->x.columns * 4);
    assert_same_array(a->x.offset, b->x.offset, (n + 1) * 8);
    assert_same_array(a->x.column, b->x.column, a->x.nonzeros * 4);
    assert_same_array(a->x.value, b->x.value, a->x.nonzeros * 4);
    assert_int_equal(a->classes, b->classes);
    assert_int_equal(a->task, b->task);
    assert_same_array(a->label, b->label, n * 4);
    assert_same_array(a->from.labels, b->from.labels, n * a->classes);
    assert_same_array(a->from.label_known, b->from.label_known, n);
    assert_same_array(a->from.node_label, b->from.node_label, n * 4);
    assert_int_equal(a->from.graphs, b->from.graphs);
    assert_same_array(a->from.graph_of, b->from.graph_of, n * 4);
    assert_same_array(a->from.graph_label, b->from.graph_label, a->from.graphs * 4);
    assert_same_array(a->from.fold, b->from.fold, a->from.graphs * 4);
    assert_int_equal(a->splits, b->splits);
    for (int s = 0; s < a->splits; s++) {
        assert_string_equal(a->split[s].name, b->split[s].name);
        assert_same_array(a->split[s].train, b->split[s].train, items);
        assert_same_array(a->split[s].val, b->split[s].val, items);
        assert_same_array(a->split[s].test, b->split[s].test, items);
    }
    assert_same_names(&a->from.node_id, &b->from.node_id);
    assert_same_names(&a->from.class_name, &b->from.class_name);
    assert_same_names(&a->from.feature_name, &b->from.feature_name);
}

#endif
