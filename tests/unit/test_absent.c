/* Nodes that the feature file lacks: they are read as the mean of the training nodes, whatever the
 * normalisation, in training and with a model on other data; and nothing forgets which they are. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "dataset_help.h"

#include "train/train.h"

enum { NODES = 12, TRAIN = 4, MOST_COLUMNS = 40 };

/* A ring of twelve, called n0 to n11; the first four train, then four validate, then four test. */
typedef struct ring {
    int columns;     /* 3: dense; 40: sparse */
    unsigned absent; /* bit i: no row for node i */
    unsigned mean;   /* bit i: the mean of the training nodes is given as its row */
    const char *steps;
} ring;

static double feature_of(const ring *r, int node, int j) {
    return r->columns == 3 ? (node * 7 + j * 3) % 5 : (node % 2 + 2) * (j % 20 == node % 20);
}

static double mean_of(const ring *r, int j) {
    double sum = 0;
    for (int i = 0; i < TRAIN; i++) sum += feature_of(r, i, j);
    return sum / TRAIN;
}

static void put_features(const ring *r, char *to) {
    to += sprintf(to, "id");
    for (int j = 0; j < r->columns; j++) to += sprintf(to, ",f%d", j);
    for (int i = 0; i < NODES; i++) {
        if (r->absent >> i & 1) continue;
        to += sprintf(to, "\nn%d", i);
        for (int j = 0; j < r->columns; j++)
            to += sprintf(to, ",%g", r->mean >> i & 1 ? mean_of(r, j) : feature_of(r, i, j));
    }
    sprintf(to, "\n");
}

static const char *write_text(const char *file, const char *text) {
    return scratch_write(file, text, strlen(text));
}

/* Labels come first in the file of edges' ids, so that nodes have the same order with any features. */
static pgcn_dataset *load_ring(const ring *r) {
    static char text[NODES * MOST_COLUMNS * 12], *to;
    pgcn_dataset_files files = pgcn_dataset_files_default();
    char path[4][1024];
    put_features(r, text);
    strcpy(path[0], write_text("x.csv", text));
    to = text;
    for (int i = 0; i < NODES; i++) to += sprintf(to, "n%d,n%d\n", i, (i + 1) % NODES);
    strcpy(path[1], write_text("e.csv", text));
    to = text + sprintf(text, "id,class\n");
    for (int i = 0; i < NODES; i++) to += sprintf(to, "n%d,%s\n", i, i % 2 ? "odd" : "even");
    strcpy(path[2], write_text("y.csv", text));
    to = text;
    for (int i = 0; i < NODES; i++)
        to += sprintf(to, "n%d,%s\n", i, i < 4 ? "train" : i < 8 ? "val" : "test");
    strcpy(path[3], write_text("s.csv", text));
    files.features = path[0];
    files.edges = path[1];
    files.labels = path[2];
    files.splits = path[3];
    files.steps = r->steps;
    files.unknown_ids = PGCN_UNKNOWN_KEEP;
    pgcn_dataset *data = NULL;
    if (pgcn_dataset_from_files(&files, &data) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    return data;
}

static pgcn_model *train(const pgcn_dataset *data, const char *normalise) {
    pgcn_config config = pgcn_config_default();
    pgcn_model *model = NULL;
    config.epochs = 5;
    config.channels = 8;
    config.threads = 1;
    assert_int_equal(pgcn_config_set(&config, "normalise", normalise), PGCN_OK);
    if (pgcn_train(data, &config, &model) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    return model;
}

typedef struct predicted {
    float of[NODES][2]; /* n0 to n11 */
} predicted;

static predicted predict(const pgcn_model *model, const pgcn_dataset *data) {
    float row[NODES][2];
    predicted p;
    if (pgcn_model_predict(model, data, NULL, &row[0][0], NULL) != PGCN_OK)
        fail_msg("%s", pgcn_last_error());
    for (int i = 0; i < NODES; i++)
        memcpy(p.of[atoi(pgcn_dataset_node_id(data, i) + 1)], row[i], sizeof row[i]);
    return p;
}

static const char *const kinds[] = {"standardise", "rows", "none"};

/* ---- training ------------------------------------------------------------------------------------ */

/* The last node, so that the order of the nodes does not depend on the files. */
static void test_absent_node_trains_and_predicts_as_the_mean_of_the_training_nodes(void **state) {
    (void)state;
    for (int columns = 3; columns <= 40; columns += 37)
        for (int k = 0; k < 3; k++) {
            const ring without = {.columns = columns, .absent = 1u << 11},
                       explicitly = {.columns = columns, .mean = 1u << 11};
            pgcn_dataset *a = load_ring(&without), *b = load_ring(&explicitly);
            assert_int_equal(pgcn_dataset_describe(a).sparse_features, columns == 40);
            assert_int_equal(pgcn_dataset_describe(a).featureless, 1);
            assert_int_equal(pgcn_dataset_describe(b).featureless, 0);
            pgcn_model *of_a = train(a, kinds[k]), *of_b = train(b, kinds[k]);
            predicted x = predict(of_a, a), y = predict(of_b, b);
            assert_memory_equal(&x, &y, sizeof x);
            pgcn_model_free(of_a);
            pgcn_model_free(of_b);
            pgcn_dataset_free(a);
            pgcn_dataset_free(b);
        }
}

static void test_absent_training_nodes_do_not_count_in_the_mean(void **state) {
    (void)state;
    const ring r = {.columns = 3, .absent = 1u << 1};
    pgcn_dataset *data = load_ring(&r);
    for (int k = 0; k < 3; k++) {
        pgcn_model *model = train(data, kinds[k]);
        const float *fill = pgcn_i_network_fill(&model->params);
        for (int j = 0; j < 3; j++) {
            double expected =
                (feature_of(&r, 0, j) + feature_of(&r, 2, j) + feature_of(&r, 3, j)) / 3;
            assert_true(fill[j] == (float)expected);
        }
        pgcn_model_free(model);
    }
    pgcn_dataset_free(data);
}

static void test_absent_everywhere_in_training_is_refused(void **state) {
    (void)state;
    const ring r = {.columns = 3, .absent = 15};
    pgcn_dataset *data = load_ring(&r);
    pgcn_config config = pgcn_config_default();
    pgcn_trainer *trainer = NULL;
    assert_int_equal(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_MISMATCH);
    assert_error_says("trains on no node that has features");
    pgcn_dataset_free(data);
}

/* ---- models on other data ------------------------------------------------------------------------- */

static pgcn_model *saved_and_loaded(const pgcn_model *model) {
    pgcn_model *again = NULL;
    assert_int_equal(pgcn_model_save(model, scratch_path("m.safetensors")), PGCN_OK);
    assert_int_equal(pgcn_model_load(scratch_path("m.safetensors"), &again), PGCN_OK);
    return again;
}

static void test_absent_nodes_of_other_data_get_the_mean_of_the_training(void **state) {
    (void)state;
    for (int columns = 3; columns <= 40; columns += 37)
        for (int k = 0; k < 3; k++) {
            const ring whole = {.columns = columns},
                       without = {.columns = columns, .absent = 1u << 2 | 1u << 9},
                       explicitly = {.columns = columns, .mean = 1u << 2 | 1u << 9};
            pgcn_dataset *data = load_ring(&whole);
            pgcn_model *trained = train(data, kinds[k]), *model = saved_and_loaded(trained);
            pgcn_dataset *a = load_ring(&without), *b = load_ring(&explicitly);
            predicted x = predict(model, a), y = predict(model, b), z = predict(model, data);
            for (int i = 0; i < NODES; i++) {
                double difference = (double)x.of[i][0] - (double)y.of[i][0];
                assert_true(difference < 1e-6 &&
                            difference > -1e-6); /* nodes are in another order */
            }
            assert_true(x.of[2][0] != z.of[2][0]);
            pgcn_model_free(trained);
            pgcn_model_free(model);
            pgcn_dataset_free(a);
            pgcn_dataset_free(b);
            pgcn_dataset_free(data);
        }
}

/* A model of version 0.1 has no tensor of means. */
static void test_absent_nodes_and_a_model_without_means_are_refused(void **state) {
    (void)state;
    const ring whole = {.columns = 3}, without = {.columns = 3, .absent = 1u << 9};
    pgcn_dataset *data = load_ring(&whole), *lacking = load_ring(&without);
    pgcn_model *model = train(data, "none"), *old = NULL;
    pgcn_i_safetensors *file;
    const char *path = scratch_path("old.safetensors");
    float probability[NODES * 2];
    assert_int_equal(pgcn_model_save(model, path), PGCN_OK);
    assert_int_equal(pgcn_i_safetensors_read(path, &file), PGCN_OK);
    assert_string_equal(file->tensor[file->count - 1].name, "input.fill");
    assert_int_equal(pgcn_i_safetensors_write(path, file->tensor, file->count - 1, file->metadata),
                     PGCN_OK);
    pgcn_i_safetensors_free(file);
    assert_int_equal(pgcn_model_load(path, &old), PGCN_OK);
    predicted x = predict(model, data), y = predict(old, data);
    assert_memory_equal(&x, &y, sizeof x);
    assert_int_equal(pgcn_model_predict(old, lacking, NULL, probability, NULL), PGCN_ERR_MISMATCH);
    assert_error_says("1 nodes of data set e have no features");
    pgcn_model_free(model);
    pgcn_model_free(old);
    pgcn_dataset_free(data);
    pgcn_dataset_free(lacking);
}

/* ---- steps and files ---------------------------------------------------------------------------- */

static void test_absent_nodes_keep_columns_that_are_made_for_them(void **state) {
    (void)state;
    const ring r = {.columns = 3, .absent = 1u << 11, .steps = "features=own+degrees"};
    pgcn_dataset *data = load_ring(&r);
    pgcn_i_arena arena = {0};
    pgcn_i_features filled;
    const float mean[6] = {0.5f, 0, 2, 7, 7, 7}; /* three columns of its own, degrees 0, 1, 2 */
    assert_int_equal(data->x.columns, 6);
    assert_int_equal(pgcn_i_fill_absent(&data->x, mean, &arena, &filled), PGCN_OK);
    const int64_t begin = filled.offset[11]; /* the node is the last of the files */
    const int32_t column[] = {0, 2, 5};
    const float value[] = {0.5f, 2, 1};
    assert_int_equal(filled.offset[12] - begin, 3);
    assert_memory_equal(filled.column + begin, column, sizeof column);
    assert_memory_equal(filled.value + begin, value, sizeof value);
    assert_null(filled.absent);
    pgcn_i_arena_free(&arena);
    pgcn_dataset_free(data);
    const ring degrees = {.columns = 3, .absent = 1u << 11, .steps = "features=degrees"};
    data = load_ring(&degrees);
    assert_int_equal(pgcn_dataset_describe(data).featureless, 0); /* it has its degree */
    pgcn_dataset_free(data);
}

static void test_absent_nodes_follow_the_order_of_the_nodes(void **state) {
    (void)state;
    const ring plain = {.columns = 3, .absent = 1u << 5},
               ordered = {.columns = 3, .absent = 1u << 5, .steps = "order=random"};
    pgcn_dataset *a = load_ring(&plain), *b = load_ring(&ordered);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(a->x.absent[i], strcmp(pgcn_dataset_node_id(a, i), "n5") == 0);
        assert_int_equal(b->x.absent[i], strcmp(pgcn_dataset_node_id(b, i), "n5") == 0);
    }
    pgcn_dataset_free(a);
    pgcn_dataset_free(b);
}

static int version_of(const char *path) {
    pgcn_i_arena arena = {0};
    char *bytes;
    int64_t length;
    assert_int_equal(pgcn_i_file_read(path, 1 << 20, &arena, &bytes, &length), PGCN_OK);
    int version = bytes[8];
    pgcn_i_arena_free(&arena);
    return version;
}

static void test_absent_nodes_are_kept_by_both_files_and_in_the_fingerprint(void **state) {
    (void)state;
    const ring whole = {.columns = 3},
               without = {.columns = 3, .absent = 1u << 11, .steps = "features=own+degrees"};
    for (int k = 0; k < 2; k++) {
        pgcn_dataset *data = load_ring(k ? &without : &whole);
        static const char *const names[] = {"d.pgcn", "d.npz"};
        for (int i = 0; i < 2; i++) {
            char path[1024];
            strcpy(path, scratch_path(names[i]));
            assert_int_equal((i ? pgcn_dataset_save_npz : pgcn_dataset_save)(data, path), PGCN_OK);
            pgcn_dataset *again = load(path, NULL);
            assert_string_equal(again->fingerprint, data->fingerprint);
            assert_int_equal(pgcn_dataset_describe(again).featureless, k);
            assert_int_equal(pgcn_dataset_verify(again), PGCN_OK);
            bool told = false;
            for (int n = 0; pgcn_dataset_note(again, n); n++)
                told =
                    told || strstr(pgcn_dataset_note(again, n), "the mean of the training nodes");
            assert_int_equal(told, k);
            pgcn_dataset_free(again);
        }
        /* programs of version 0.1 read the first, and say that they do not know the second */
        assert_int_equal(version_of(scratch_path("d.pgcn")), 1 + k);
        pgcn_dataset_free(data);
    }
    /* a row of zeros is not the same as no row */
    ring r = {.columns = 3, .absent = 1u << 11};
    pgcn_dataset *a = load_ring(&r);
    a->x.absent = NULL;
    assert_int_equal(pgcn_dataset_verify(a), PGCN_ERR_FORMAT);
    pgcn_dataset_free(a);
}

static void test_absent_nodes_outside_the_largest_component_are_gone(void **state) {
    (void)state;
    pgcn_dataset_files files = pgcn_dataset_files_default();
    pgcn_dataset *data = NULL;
    char path[2][1024];
    strcpy(path[0], write_text("e.csv", "a,b\nb,c\nx,y\n"));
    strcpy(path[1], write_text("x.csv", "a,1\nb,2\nc,3\nx,4\n"));
    files.edges = path[0];
    files.features = path[1];
    files.steps = "largest-component";
    files.unknown_ids = PGCN_UNKNOWN_KEEP;
    assert_int_equal(pgcn_dataset_from_files(&files, &data), PGCN_OK);
    assert_int_equal(pgcn_dataset_describe(data).nodes, 3);
    assert_int_equal(pgcn_dataset_describe(data).featureless, 0);
    assert_null(data->x.absent);
    pgcn_dataset_free(data);
}

static pgcn_dataset *of_allocations;

static pgcn_status train_and_free(void) {
    pgcn_config config = pgcn_config_default();
    pgcn_model *model = NULL;
    float probability[NODES * 2];
    config.epochs = 1;
    config.channels = 8;
    config.threads = 1;
    config.normalise = PGCN_NORMALISE_ROWS;
    PGCN_TRY(pgcn_train(of_allocations, &config, &model));
    pgcn_inference inference = pgcn_inference_default();
    inference.threads = 1;
    pgcn_status status = pgcn_model_predict(model, of_allocations, &inference, probability, NULL);
    pgcn_model_free(model);
    return status;
}

static void test_absent_every_failing_allocation_is_reported(void **state) {
    (void)state;
    const ring dense = {.columns = 3, .absent = 1u << 11}, sparse = {.columns = 40, .absent = 3};
    of_allocations = load_ring(&dense);
    assert_true(fail_every_allocation(train_and_free) > 30);
    pgcn_dataset_free(of_allocations);
    of_allocations = load_ring(&sparse);
    assert_true(fail_every_allocation(train_and_free) > 30);
    pgcn_dataset_free(of_allocations);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_absent_node_trains_and_predicts_as_the_mean_of_the_training_nodes),
        TEST(test_absent_training_nodes_do_not_count_in_the_mean),
        TEST(test_absent_everywhere_in_training_is_refused),
        TEST(test_absent_nodes_of_other_data_get_the_mean_of_the_training),
        TEST(test_absent_nodes_and_a_model_without_means_are_refused),
        TEST(test_absent_nodes_keep_columns_that_are_made_for_them),
        TEST(test_absent_nodes_follow_the_order_of_the_nodes),
        TEST(test_absent_nodes_are_kept_by_both_files_and_in_the_fingerprint),
        TEST(test_absent_nodes_outside_the_largest_component_are_gone),
        TEST(test_absent_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
