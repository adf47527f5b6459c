/* The named steps: what they are called, and what they do to a small graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataset_help.h"
#include "graphs_help.h"
#include "train/train.h"

/* ---- the words ------------------------------------------------------------------------------ */

static void assert_reads_as(const char *text, const char *canonical) {
    pgcn_i_steps steps = {0};
    bool known;
    char back[PGCN_I_STEPS_TEXT];
    if (pgcn_i_steps_parse(text, &steps, &known) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    assert_true(known);
    pgcn_i_steps_text(&steps, back);
    assert_string_equal(back, canonical);
}

static void test_steps_are_read_and_written_in_one_form(void **state) {
    (void)state;
    assert_reads_as("", "");
    assert_reads_as("directed", "directed");
    assert_reads_as("self-loops,directed", "directed,self-loops");
    assert_reads_as("directed,symmetrise", "symmetrise"); /* the last one holds */
    assert_reads_as("features=degrees+own,largest-component",
                    "largest-component,features=own+degrees");
    assert_reads_as("stratified=60/20/20", "stratified=60/20/20");
    assert_reads_as("stratified=0.6/0.2/0.2", "stratified=60/20/20");
    assert_reads_as("random=5/5/90,splits=3,split-seed=7", "random=5/5/90,splits=3,split-seed=7");
    assert_reads_as("per-class=20/500/1000", "per-class=20/500/1000");
    assert_reads_as("per-class=20/500/rest,splits=10", "per-class=20/500/rest");
    assert_reads_as("kfold=5", "kfold=5");
    assert_reads_as("crossval=10", "crossval=10");
    assert_reads_as("split-seed=4,crossval=7", "crossval=7,split-seed=4");
    assert_reads_as("kfold=5,crossval=4", "crossval=4"); /* the last one holds */
    assert_reads_as("crossval=4,kfold=5", "kfold=5");
    assert_reads_as("order=degree", "order=degree");
    assert_reads_as("order=rcm,directed", "directed,order=rcm");
    assert_reads_as("order=community,kfold=5,split-seed=3", "kfold=5,split-seed=3,order=community");
}

static void test_words_that_are_no_steps_belong_to_the_name(void **state) {
    (void)state;
    static const char *const names[] = {"nodes=5", "direct", "directed=1",  "features",
                                        "order",   "kfold",  "directed,no", "C\\data"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pgcn_i_steps steps = {0}, untouched = {0};
        bool known = true;
        assert_int_equal(pgcn_i_steps_parse(names[i], &steps, &known), PGCN_OK);
        assert_false(known);
        assert_memory_equal(&steps, &untouched, sizeof steps);
    }
}

static void test_steps_with_wrong_values_say_what_is_expected(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"stratified=60/20", "60/20/20"},
        {"stratified=60/20/30", "at most 100"},
        {"stratified=60/20/0", "above 0"},
        {"stratified=60/20/20/1", "60/20/20"},
        {"stratified=nan/20/20", "60/20/20"},
        {"random=", "60/20/20"},
        {"per-class=0/5/5", "20/500/1000"},
        {"per-class=5/5", "20/500/1000"},
        {"per-class=5/5/99999999999", "20/500/1000"},
        {"kfold=2", "from 3 to 1000"},
        {"crossval=1", "from 2 to 1000"},
        {"crossval=1001", "from 2 to 1000"},
        {"crossval=x", "from 2 to 1000"},
        {"splits=0", "from 1 to 1000"},
        {"split-seed=-1", "from 0 to"},
        {"features=", "own, labels, degrees, identity or adjacency"},
        {"features=own+", "own, labels, degrees, identity or adjacency"},
        {"features=own,directed,features=identity", "'features=own' and 'features=identity'"},
        {"kfold=3,split-seed=+1", "a whole number from 0 to 9223372036854775807"},
        {"kfold=0x3", "a whole number"},
        {"features=colour", "own, labels, degrees, identity or adjacency"},
        {"order=", "degree, rcm, community, parts, metis or random"},
        {"order=degrees", "degree, rcm, community, parts, metis or random"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_i_steps steps = {0};
        bool known;
        assert_int_equal(pgcn_i_steps_parse(cases[i].text, &steps, &known), PGCN_ERR_ARGUMENT);
        assert_error_says(cases[i].says);
    }
}

static void test_steps_that_leave_no_test_items_are_found_by_whole_words(void **state) {
    (void)state;
    assert_true(pgcn_i_steps_remove_test("without-test"));
    assert_true(pgcn_i_steps_remove_test("directed,crossval=5,order=rcm"));
    assert_true(pgcn_i_steps_remove_test("kfold=5,without-test"));
    assert_false(pgcn_i_steps_remove_test(""));
    assert_false(pgcn_i_steps_remove_test("directed,kfold=5"));
    assert_false(pgcn_i_steps_remove_test("only-split=crossval"));
    assert_false(pgcn_i_steps_remove_test("not-without-test,mycrossval=5"));
}

/* ---- a graph of seven nodes -------------------------------------------------------------------- *
 * 5-1-3 and 1-1 (a loop), 0-2, 6-4; the component of 1, 3 and 5 is the largest. */

enum { N = 7, M = 5, F = 2 };
static const pgcn_node edge_from[M] = {5, 1, 1, 0, 6}, edge_to[M] = {1, 3, 1, 2, 4};
static const int32_t label[N] = {0, 1, 0, 1, -1, 0, 1};
static const float x[N * F] = {0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51, 60, 61};

static void *keep(pgcn_i_source *source, const void *array, size_t bytes) {
    void *copy = pgcn_i_arena_alloc(&source->arena, (int64_t)bytes, 1);
    assert_non_null(copy);
    memcpy(copy, array, bytes);
    return copy;
}

static pgcn_i_source seven(void) {
    pgcn_i_source source = {.nodes = N, .edges = M, .directed = true, .format = "test"};
    source.edge_from = keep(&source, edge_from, sizeof edge_from);
    source.edge_to = keep(&source, edge_to, sizeof edge_to);
    source.label = keep(&source, label, sizeof label);
    source.x = (pgcn_i_features){.n = N, .columns = F, .dense = keep(&source, x, sizeof x)};
    return source;
}

static pgcn_dataset *build(pgcn_i_source source, const char *text) {
    pgcn_i_steps steps = {0};
    pgcn_dataset *data = NULL;
    bool known;
    assert_int_equal(pgcn_i_steps_parse(text, &steps, &known), PGCN_OK);
    assert_true(known);
    if (pgcn_i_dataset_build("seven", "seven", &steps, &source, &data) != PGCN_OK)
        fail_msg("%s", pgcn_last_error());
    return data;
}

static void test_largest_component_keeps_rows_and_names_together(void **state) {
    (void)state;
    pgcn_dataset *data = build(seven(), "largest-component,self-loops");
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_int_equal(info.nodes, 3);
    assert_int_equal(info.edges, 3);
    assert_int_equal(info.self_loops, 1);
    static const char *const ids[3] = {"1", "3", "5"};
    static const int32_t labels[3] = {1, 1, 0};
    static const float rows[6] = {10, 11, 30, 31, 50, 51};
    for (int i = 0; i < 3; i++) assert_string_equal(pgcn_dataset_node_id(data, i), ids[i]);
    assert_memory_equal(data->label, labels, sizeof labels);
    assert_memory_equal(data->x.dense, rows, sizeof rows);
    static const pgcn_node neighbours[5] = {0, 1, 2, 0, 0};
    assert_memory_equal(data->graph->neighbour, neighbours, sizeof neighbours);
    pgcn_dataset_free(data);
}

static void test_largest_component_cuts_sparse_features_masks_and_given_names(void **state) {
    (void)state;
    pgcn_i_source source = seven();
    static const int64_t offset[N + 1] = {0, 1, 1, 2, 4, 5, 6, 7};
    static const int32_t column[7] = {0, 1, 0, 1, 0, 1, 0};
    static const float value[7] = {1, 2, 3, 4, 5, 6, 7};
    source.x = (pgcn_i_features){.n = N,
                                 .columns = 2,
                                 .nonzeros = 7,
                                 .offset = keep(&source, offset, sizeof offset),
                                 .column = keep(&source, column, sizeof column),
                                 .value = keep(&source, value, sizeof value)};
    static const int64_t name_offset[N + 1] = {0, 2, 4, 6, 9, 11, 13, 15};
    source.node_id = (pgcn_i_names){N, keep(&source, name_offset, sizeof name_offset),
                                    keep(&source, "a\0b\0c\0dd\0e\0f\0g", 15)};
    uint8_t *mask[3];
    assert_int_equal(pgcn_i_source_masks(&source, N, mask), PGCN_OK);
    mask[0][1] = mask[1][3] = mask[2][5] = mask[0][0] = 1;
    pgcn_dataset *data = build(source, "largest-component");
    static const int64_t offset_left[4] = {0, 0, 2, 3};
    static const float value_left[3] = {3, 4, 6};
    assert_memory_equal(data->x.offset, offset_left, sizeof offset_left);
    assert_memory_equal(data->x.value, value_left, sizeof value_left);
    assert_string_equal(pgcn_dataset_node_id(data, 1), "dd");
    static const uint8_t first[3] = {1, 0, 0}, second[3] = {0, 1, 0}, third[3] = {0, 0, 1};
    assert_memory_equal(data->split[0].train, first, 3);
    assert_memory_equal(data->split[0].val, second, 3);
    assert_memory_equal(data->split[0].test, third, 3);
    assert_int_equal(pgcn_dataset_describe(data).dropped_self_loops, 1);
    pgcn_dataset_free(data);
}

enum { SHARED = 12 };

/* The nodes 1, 3 and 5 of a split change their parts; all masks of a part are one array, as in .npz. */
static void share_masks(pgcn_i_source *source) {
    static const int node[3] = {1, 3, 5};
    uint8_t *all[3];
    pgcn_i_split *split = PGCN_I_ARRAY(&source->arena, pgcn_i_split, SHARED);
    assert_non_null(split);
    for (int k = 0; k < 3; k++)
        assert_non_null(all[k] = PGCN_I_ARRAY(&source->arena, uint8_t, SHARED * N));
    for (int s = 0; s < SHARED; s++) {
        for (int k = 0; k < 3; k++) all[k][s * N + node[(s + k) % 3]] = 1;
        split[s] = (pgcn_i_split){"", all[0] + s * N, all[1] + s * N, all[2] + s * N};
        snprintf(split[s].name, sizeof split[s].name, "%d", s);
    }
    source->split = split;
    source->splits = SHARED;
}

static void test_masks_that_share_an_array_are_all_cut(void **state) {
    (void)state;
    pgcn_i_source source = seven();
    share_masks(&source);
    pgcn_dataset *data = build(source, "largest-component");
    for (int s = 0; s < SHARED; s++) {
        const uint8_t *mask[3] = {data->split[s].train, data->split[s].val, data->split[s].test};
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 3; i++) assert_int_equal(mask[k][i], i == (s + k) % 3);
    }
    pgcn_dataset_free(data);
}

static void test_order_after_without_test_keeps_all_masks(void **state) {
    (void)state;
    pgcn_i_source source = seven();
    share_masks(&source);
    pgcn_dataset *data = build(source, "without-test,order=degree");
    for (int s = 0; s < SHARED; s++)
        for (int i = 0; i < N; i++) {
            pgcn_node node = data->from.number[i];
            assert_int_equal(data->split[s].train[i], node == 1 + 2 * (s % 3));
            assert_int_equal(data->split[s].val[i], node == 1 + 2 * ((s + 1) % 3));
            assert_int_equal(data->split[s].test[i], 0);
        }
    pgcn_dataset_free(data);
}

static void test_directed_keeps_arcs_and_the_default_symmetrises(void **state) {
    (void)state;
    pgcn_dataset *arcs = build(seven(), "directed"), *pairs = build(seven(), "");
    assert_true(arcs->graph->directed);
    assert_int_equal(arcs->graph->entries, 4);
    assert_false(pairs->graph->directed);
    assert_int_equal(pairs->graph->entries, 8);
    assert_string_equal(pgcn_dataset_describe(arcs).steps, "directed");
    assert_string_not_equal(arcs->fingerprint, pairs->fingerprint);
    pgcn_dataset_free(arcs);
    pgcn_dataset_free(pairs);
}

/* Behind its own two columns, node i has a 1 in column 2 + j for each edge from i to j. */
static void test_features_adjacency_is_a_row_of_the_graph(void **state) {
    (void)state;
    pgcn_dataset *data = build(seven(), "directed,features=own+adjacency");
    const pgcn_graph *graph = data->graph;
    assert_int_equal(data->x.columns, 2 + N);
    int64_t arcs = 0;
    for (int64_t i = 0; i < N; i++) {
        int64_t e = graph->offset[i];
        for (int64_t at = data->x.offset[i]; at < data->x.offset[i + 1]; at++) {
            if (data->x.column[at] < 2) continue;
            assert_int_equal(data->x.column[at], 2 + graph->neighbour[e++]);
            assert_true(data->x.value[at] == 1);
        }
        assert_int_equal(e, graph->offset[i + 1]);
        arcs += e - graph->offset[i];
    }
    assert_int_equal(arcs, 4);
    pgcn_dataset_free(data);
}

static void test_features_adjacency_of_several_graphs_is_refused(void **state) {
    (void)state;
    pgcn_i_source source = seven();
    pgcn_i_steps steps = {0};
    bool known;
    assert_int_equal(pgcn_i_steps_parse("features=own+adjacency", &steps, &known), PGCN_OK);
    assert_int_equal(pgcn_i_prepare_graph(&source, &steps, "seven"), PGCN_OK);
    source.graphs = 2;
    assert_int_equal(pgcn_i_prepare(&source, &steps, "seven"), PGCN_ERR_ARGUMENT);
    assert_error_says("'seven' has 2 graphs; features=adjacency is for one graph");
    pgcn_i_source_free(&source);
}

static void test_features_are_joined_from_their_kinds(void **state) {
    (void)state;
    pgcn_i_source source = seven();
    static const int32_t node_label[N] = {0, 1, 2, 0, 1, 2, 0};
    source.node_label = keep(&source, node_label, sizeof node_label);
    pgcn_dataset *data = build(source, "features=own+labels+degrees+identity");
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_int_equal(info.features, 2 + 3 + 3 + 7); /* degrees are 0, 1 and 2 */
    static const int32_t first[4] = {1, 2, 6, 8}, second[5] = {0, 1, 3, 7, 9};
    assert_int_equal(data->x.offset[1], 4); /* its own 0 is not stored */
    assert_memory_equal(data->x.column, first, sizeof first);
    assert_memory_equal(data->x.column + 4, second, sizeof second);
    assert_true(data->x.value[4] == 10 && data->x.value[5] == 11 && data->x.value[6] == 1);
    pgcn_dataset_free(data);

    source = seven();
    source.x = (pgcn_i_features){0};
    data = build(source, "");
    info = pgcn_dataset_describe(data);
    assert_int_equal(info.features, N); /* none are given: the identity */
    assert_int_equal(info.feature_nonzeros, N);
    assert_non_null(strstr(pgcn_dataset_note(data, 0), "features=identity"));
    pgcn_dataset_free(data);
}

static void test_steps_that_the_data_does_not_allow_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *steps, *says;
        bool undirected, unlabelled;
    } cases[] = {{"directed", "has no directed edges", true, false},
                 {"features=labels", "has no node labels", false, false},
                 {"kfold=5", "has no labels", false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_i_source source = seven();
        pgcn_i_steps steps = {0};
        pgcn_dataset *data = NULL;
        bool known;
        if (cases[i].undirected) source.directed = false;
        if (cases[i].unlabelled) source.label = NULL;
        pgcn_i_steps_parse(cases[i].steps, &steps, &known);
        assert_int_equal(pgcn_i_dataset_build("seven", "seven", &steps, &source, &data),
                         PGCN_ERR_ARGUMENT);
        assert_error_says(cases[i].says);
        assert_null(data);
    }
}

/* ---- splits ------------------------------------------------------------------------------------ */

enum { MANY = 1000 };

/* `MANY` nodes without edges: class 0 has 600, class 1 300, class 2 90, class 3 has 2, 8 have none. */
static pgcn_i_source many(void) {
    pgcn_i_source source = {.nodes = MANY, .format = "test"};
    int32_t *class_of = PGCN_I_ARRAY(&source.arena, int32_t, MANY);
    assert_non_null(class_of);
    for (int i = 0; i < MANY; i++)
        class_of[i] = i < 600 ? 0 : i < 900 ? 1 : i < 990 ? 2 : i < 992 ? 3 : -1;
    source.label = class_of;
    return source;
}

static void count_parts(const pgcn_dataset *data, int s, int64_t parts[3][4]) {
    const pgcn_i_split *split = &data->split[s];
    memset(parts, 0, 12 * sizeof **parts);
    for (int i = 0; i < MANY; i++) {
        int class = data->label[i];
        int in = split->train[i] + split->val[i] + split->test[i];
        assert_true(in <= 1 && (class >= 0 || in == 0));
        if (class < 0) continue;
        parts[0][class] += split->train[i];
        parts[1][class] += split->val[i];
        parts[2][class] += split->test[i];
    }
}

static void test_stratified_splits_give_every_class_its_share(void **state) {
    (void)state;
    pgcn_dataset *data = build(many(), "stratified=60/20/20,splits=4");
    static const int64_t wanted[3][4] = {{360, 180, 54, 1}, {120, 60, 18, 1}, {120, 60, 18, 0}};
    int64_t parts[3][4];
    assert_int_equal(data->splits, 4);
    for (int s = 0; s < 4; s++) {
        count_parts(data, s, parts);
        assert_memory_equal(parts, wanted, sizeof wanted);
        if (s > 0) assert_memory_not_equal(data->split[s].train, data->split[0].train, MANY);
    }
    pgcn_dataset *again = build(many(), "stratified=60/20/20,splits=4");
    pgcn_dataset *other = build(many(), "stratified=60/20/20,splits=4,split-seed=1");
    assert_memory_equal(data->split[3].val, again->split[3].val, MANY);
    assert_memory_not_equal(data->split[3].val, other->split[3].val, MANY);
    assert_string_equal(data->fingerprint, other->fingerprint); /* splits are not the data */
    pgcn_dataset_free(data);
    pgcn_dataset_free(again);
    pgcn_dataset_free(other);
}

static void test_random_and_per_class_splits_have_the_sizes_asked_for(void **state) {
    (void)state;
    int64_t parts[3][4];
    pgcn_dataset *data = build(many(), "random=10/20/30");
    assert_int_equal(data->splits, 10);
    count_parts(data, 9, parts);
    for (int k = 0; k < 3; k++) {
        int64_t total = parts[k][0] + parts[k][1] + parts[k][2] + parts[k][3];
        assert_in_range(total, 99 * (k + 1), 100 * (k + 1)); /* of 992 labelled nodes */
    }
    pgcn_dataset_free(data);
    data = build(many(), "per-class=20/100/200");
    count_parts(data, 0, parts);
    assert_true(parts[0][0] == 20 && parts[0][1] == 20 && parts[0][2] == 20 && parts[0][3] == 2);
    assert_int_equal(sum(data->split[0].val, MANY), 100);
    assert_int_equal(sum(data->split[0].test, MANY), 200);
    pgcn_dataset_free(data);
    data = build(many(), "per-class=20/100/rest");
    assert_int_equal(sum(data->split[0].test, MANY), 992 - 62 - 100);
    pgcn_dataset_free(data);
}

static void test_folds_test_every_labelled_node_once(void **state) {
    (void)state;
    pgcn_dataset *data = build(many(), "kfold=7");
    int64_t tested[MANY] = {0}, parts[3][4];
    assert_int_equal(data->splits, 7);
    for (int f = 0; f < 7; f++) {
        count_parts(data, f, parts);
        static const int64_t least[3] = {600 / 7, 300 / 7, 90 / 7};
        for (int c = 0; c < 3; c++) assert_in_range(parts[2][c], least[c], least[c] + 1);
        assert_memory_equal(data->split[f].val, data->split[(f + 1) % 7].test, MANY);
        int64_t size = sum(data->split[f].test, MANY);
        assert_in_range(size, 992 / 7, 992 / 7 + 1);
        for (int i = 0; i < MANY; i++) tested[i] += data->split[f].test[i];
    }
    for (int i = 0; i < MANY; i++) assert_int_equal(tested[i], data->label[i] >= 0);
    pgcn_dataset_free(data);
}

/* The protocol of GIN: nobody tests, every labelled item validates once and trains otherwise. */
static void test_crossval_validates_every_labelled_node_once_and_tests_none(void **state) {
    (void)state;
    for (int folds = 2; folds <= 7; folds += 5) {
        char text[32];
        snprintf(text, sizeof text, "crossval=%d", folds);
        pgcn_dataset *data = build(many(), text);
        int64_t validated[MANY] = {0}, parts[3][4];
        assert_int_equal(data->splits, folds);
        assert_true(data->without_test);
        for (int f = 0; f < folds; f++) {
            const pgcn_i_split *split = &data->split[f];
            count_parts(data, f, parts);
            assert_in_range(parts[1][0], 600 / folds, 600 / folds + 1);
            assert_in_range(parts[1][2], 90 / folds, 90 / folds + 1);
            assert_int_equal(sum(split->test, MANY), 0);
            assert_int_equal(sum(split->train, MANY) + sum(split->val, MANY), 992);
            for (int i = 0; i < MANY; i++) validated[i] += split->val[i];
        }
        for (int i = 0; i < MANY; i++) assert_int_equal(validated[i], data->label[i] >= 0);
        pgcn_dataset_free(data);
    }
}

/* ---- splits of graphs ---------------------------------------------------------------------------- */

enum { GRAPHS = 40 };

static void assert_says(const pgcn_dataset *data, const char *part) {
    for (int i = 0; i < data->from.notes; i++)
        if (strstr(pgcn_dataset_note(data, i), part)) return;
    fail_msg("no note says '%s'", part);
}

/* Nobody tests, so there is nothing to say about it; all the rest is as ever. */
static void check_training_without_test(const pgcn_dataset *data) {
    pgcn_config config = pgcn_config_default();
    must(pgcn_i_config_apply(&config, "channels=4 epochs=3 patience=0 batch=8 threads=1 split=1"));
    pgcn_trainer *trainer;
    pgcn_model *model;
    pgcn_scores scores;
    must(pgcn_trainer_new(data, &config, &trainer));
    for (int e = 0; e < 3; e++) {
        pgcn_epoch epoch;
        must(pgcn_trainer_epoch(trainer, &epoch));
        assert_true(isnan(epoch.test_accuracy));
        assert_true(epoch.val_accuracy >= 0 && epoch.val_loss > 0);
    }
    must(pgcn_trainer_model(trainer, &model));
    must(pgcn_model_evaluate(model, data, NULL, &scores));
    assert_true(isnan(scores.test.accuracy) && isnan(scores.test.loss));
    assert_true(scores.val.accuracy >= 0);
    pgcn_model_free(model);
    pgcn_trainer_free(trainer);
}

static void test_crossval_of_graphs_trains_without_test_and_is_saved_so(void **state) {
    (void)state;
    pgcn_dataset *data = set_of(set_new(PGCN_TASK_GRAPH, true, GRAPHS), "crossval=4"), *back;
    int validated[GRAPHS] = {0};
    assert_int_equal(data->splits, 4);
    for (int f = 0; f < 4; f++)
        for (int g = 0; g < GRAPHS; g++) {
            assert_int_equal(data->split[f].test[g], 0);
            validated[g] += data->split[f].val[g];
        }
    for (int g = 0; g < GRAPHS; g++) assert_int_equal(validated[g], data->from.graph_label[g] >= 0);
    check_training_without_test(data);
    must(pgcn_dataset_save(data, scratch_path("set.pgcn")));
    pgcn_dataset_free(data);
    must(pgcn_dataset_load(scratch_path("set.pgcn"), NULL, &back));
    assert_int_equal(back->splits, 4);
    check_training_without_test(back);
    pgcn_dataset_free(back);
}

static void test_labelled_graphs_without_a_split_get_ten_folds_and_a_note(void **state) {
    (void)state;
    pgcn_dataset *data = set_of(set_new(PGCN_TASK_GRAPH, true, GRAPHS), "");
    int tested[GRAPHS] = {0};
    assert_int_equal(data->splits, 10);
    assert_false(data->without_test);
    for (int f = 0; f < 10; f++)
        for (int g = 0; g < GRAPHS; g++) tested[g] += data->split[f].test[g];
    for (int g = 0; g < GRAPHS; g++) assert_int_equal(tested[g], data->from.graph_label[g] >= 0);
    assert_says(data, "kfold=10");
    pgcn_dataset_free(data);
}

static void test_fewer_than_ten_labelled_graphs_stay_without_a_split(void **state) {
    (void)state;
    pgcn_config config = pgcn_config_default();
    pgcn_trainer *trainer = NULL;
    for (int64_t graphs = 10; graphs <= 11; graphs++) { /* one of them has no class */
        pgcn_dataset *data = set_of(set_new(PGCN_TASK_GRAPH, true, graphs), "");
        assert_int_equal(data->splits, graphs == 10 ? 0 : 10);
        if (graphs == 10)
            must_fail(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_MISMATCH,
                      "too few labelled graphs");
        pgcn_dataset_free(data);
    }
}

/* With folds g % folds, but every seventh graph in none. */
static pgcn_dataset *published(int folds, const char *text) {
    graph_set set = set_new(PGCN_TASK_GRAPH, true, GRAPHS);
    pgcn_i_source source = set_source(&set);
    int32_t *fold = PGCN_I_ARRAY(&source.arena, int32_t, GRAPHS);
    assert_non_null(fold);
    for (int g = 0; g < GRAPHS; g++) fold[g] = g % 7 == 6 ? -1 : g % folds;
    source.fold = fold;
    set_free(&set);
    return source_build(source, text);
}

static void test_published_folds_are_the_splits_and_graphs_of_none_always_train(void **state) {
    (void)state;
    pgcn_dataset *data = published(5, "");
    assert_int_equal(data->splits, 5);
    for (int f = 0; f < 5; f++)
        for (int g = 0; g < GRAPHS; g++) {
            int fold = data->from.fold[g];
            bool known = data->from.graph_label[g] >= 0;
            assert_int_equal(data->split[f].test[g], known && fold == f);
            assert_int_equal(data->split[f].val[g], known && fold == (f + 1) % 5);
            assert_int_equal(data->split[f].train[g], known && fold != f && fold != (f + 1) % 5);
        }
    assert_non_null(strstr(data->from.split_origin, "published folds"));
    pgcn_dataset_free(data);
    data = published(5, "kfold=3"); /* but a step is what the user wants */
    assert_int_equal(data->splits, 3);
    pgcn_dataset_free(data);
}

/* Two folds leave nobody to train but graphs of none: still a split. One, or a number that nobody has,
 * is not. */
static void test_published_folds_that_leave_a_part_empty_are_not_used(void **state) {
    (void)state;
    pgcn_dataset *data = published(2, "");
    assert_int_equal(data->splits, 2);
    pgcn_dataset_free(data);
    data = published(1, "");
    assert_int_equal(data->splits, 10);
    assert_says(data, "published folds");
    pgcn_dataset_free(data);
}

static void test_graphs_without_a_node_are_refused(void **state) {
    (void)state;
    for (int last = 0; last < 2; last++) {
        graph_set set = set_new(PGCN_TASK_GRAPH, true, GRAPHS);
        pgcn_i_source source = set_source(&set);
        pgcn_i_steps steps = {0};
        pgcn_dataset *data = NULL;
        int32_t *graph_of = (int32_t *)(uintptr_t)source.graph_of; /* ours: a copy */
        for (int64_t u = 0; u < set.nodes; u++)
            if (graph_of[u] == (last ? GRAPHS - 1 : 3)) graph_of[u]--;
        assert_int_equal(pgcn_i_dataset_build("set", "set", &steps, &source, &data),
                         PGCN_ERR_FORMAT);
        assert_error_says(last ? "graph 39 has no node" : "graph 3 has no node");
        set_free(&set);
    }
}

/* ---- splits that are missing or empty -------------------------------------------------------------- */

static void test_labelled_nodes_without_a_split_get_one_and_a_note(void **state) {
    (void)state;
    pgcn_dataset *data = build(many(), "features=degrees");
    assert_int_equal(data->splits, 10);
    assert_non_null(strstr(pgcn_dataset_note(data, 0), "stratified=60/20/20"));
    pgcn_dataset_free(data);
    pgcn_i_source source = many();
    source.label = NULL;
    data = build(source, "features=degrees");
    assert_int_equal(data->splits, 0);
    assert_int_equal(data->task, PGCN_TASK_NONE);
    pgcn_config config = pgcn_config_default();
    pgcn_model *model;
    assert_int_equal(pgcn_train(data, &config, &model), PGCN_ERR_ARGUMENT);
    assert_error_says("no labels to learn from");
    pgcn_dataset_free(data);
}

static void test_split_that_leaves_a_part_empty_is_refused(void **state) {
    (void)state;
    pgcn_i_source source = seven();
    pgcn_i_steps steps = {0};
    pgcn_dataset *data = NULL;
    bool known;
    pgcn_i_steps_parse("per-class=20/5/5", &steps, &known);
    assert_int_equal(pgcn_i_dataset_build("seven", "seven", &steps, &source, &data),
                     PGCN_ERR_FORMAT);
    assert_error_says("has no validation node");
}

/* ---- memory ------------------------------------------------------------------------------------ */

static pgcn_status everything(void) {

    static const char text[] = "largest-component,features=own+degrees,stratified=40/30/30";
    pgcn_i_source source = {.nodes = N, .edges = M, .format = "test"};
    pgcn_i_steps steps = {0};
    pgcn_dataset *data;
    bool known;
    int32_t *classes = PGCN_I_ARRAY(&source.arena, int32_t, N);
    float *dense = PGCN_I_ARRAY(&source.arena, float, N *F);
    pgcn_status status = PGCN_ERR_MEMORY;
    if (classes && dense) {
        for (int i = 0; i < N; i++) classes[i] = i % 2;
        for (int i = 0; i < N * F; i++) dense[i] = x[i];
        source.label = classes;
        source.x = (pgcn_i_features){.n = N, .columns = F, .dense = dense};
        source.edge_from = edge_from;
        source.edge_to = edge_to;
        pgcn_i_steps_parse(text, &steps, &known);
        status = pgcn_i_dataset_build("seven", "seven", &steps, &source, &data);
        if (status == PGCN_OK) pgcn_dataset_free(data);
        return status;
    }
    pgcn_i_source_free(&source);
    return status;
}

static void test_every_failing_allocation_of_the_steps_is_reported(void **state) {
    (void)state;
    assert_true(fail_every_allocation(everything) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_read_and_written_in_one_form),
        cmocka_unit_test(test_words_that_are_no_steps_belong_to_the_name),
        cmocka_unit_test(test_steps_that_leave_no_test_items_are_found_by_whole_words),
        cmocka_unit_test(test_steps_with_wrong_values_say_what_is_expected),
        cmocka_unit_test(test_largest_component_keeps_rows_and_names_together),
        cmocka_unit_test(test_largest_component_cuts_sparse_features_masks_and_given_names),
        cmocka_unit_test(test_masks_that_share_an_array_are_all_cut),
        cmocka_unit_test(test_order_after_without_test_keeps_all_masks),
        cmocka_unit_test(test_directed_keeps_arcs_and_the_default_symmetrises),
        cmocka_unit_test(test_features_are_joined_from_their_kinds),
        cmocka_unit_test(test_features_adjacency_is_a_row_of_the_graph),
        cmocka_unit_test(test_features_adjacency_of_several_graphs_is_refused),
        cmocka_unit_test(test_steps_that_the_data_does_not_allow_are_refused),
        cmocka_unit_test(test_stratified_splits_give_every_class_its_share),
        cmocka_unit_test(test_random_and_per_class_splits_have_the_sizes_asked_for),
        cmocka_unit_test(test_folds_test_every_labelled_node_once),
        cmocka_unit_test(test_crossval_validates_every_labelled_node_once_and_tests_none),
        cmocka_unit_test_setup_teardown(test_crossval_of_graphs_trains_without_test_and_is_saved_so,
                                        scratch_make, scratch_remove),
        cmocka_unit_test(test_labelled_graphs_without_a_split_get_ten_folds_and_a_note),
        cmocka_unit_test(test_fewer_than_ten_labelled_graphs_stay_without_a_split),
        cmocka_unit_test(test_published_folds_are_the_splits_and_graphs_of_none_always_train),
        cmocka_unit_test(test_published_folds_that_leave_a_part_empty_are_not_used),
        cmocka_unit_test(test_graphs_without_a_node_are_refused),
        cmocka_unit_test(test_labelled_nodes_without_a_split_get_one_and_a_note),
        cmocka_unit_test(test_split_that_leaves_a_part_empty_is_refused),
        cmocka_unit_test(test_every_failing_allocation_of_the_steps_is_reported),
    };
    return cmocka_run_group_tests_name("prepare", tests, NULL, NULL);
}
