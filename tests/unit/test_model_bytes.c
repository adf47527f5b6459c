/* A model as bytes in memory is its file; and what a program may read of a model: tensors, names of
 * features, history. */
#include "graphs_help.h"
#include "nn_help.h"
#include "scratch_help.h"

static pgcn_model *model;

static int train_one(void **state) {
    assert_int_equal(scratch_make(state), 0);
    pgcn_dataset *data = NULL;
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.steps = "features=degrees"; /* which have names */
    must(pgcn_dataset_load("karate", &opts, &data));
    pgcn_config config = settings("epochs=4 channels=6 batch-norm=yes eval-every=2");
    must(pgcn_train(data, &config, &model));
    pgcn_dataset_free(data);
    return 0;
}

static int free_all(void **state) {
    pgcn_model_free(model);
    return scratch_remove(state);
}

static void test_model_bytes_are_those_of_its_file(void **state) {
    (void)state;
    void *bytes = NULL, *again = NULL;
    size_t size = 0, size_again = 0;
    must(pgcn_model_to_bytes(model, &bytes, &size));
    must(pgcn_model_save(model, scratch_path("model")));
    assert_file_holds(scratch_path("model"), bytes, (int64_t)size);
    pgcn_model *twin = NULL;
    must(pgcn_model_from_bytes(bytes, size, &twin));
    must(pgcn_model_to_bytes(twin, &again, &size_again));
    assert_int_equal(size, size_again);
    assert_memory_equal(bytes, again, size);
    pgcn_bytes_free(bytes), pgcn_bytes_free(again);
    pgcn_model_free(twin);
}

/* Memory of exactly their length, so that a sanitizer sees a read beyond it. */
static pgcn_status read_damaged(const char *bytes, size_t size) {
    char *copy = malloc(size > 0 ? size : 1);
    pgcn_model *made = NULL;
    memcpy(copy, bytes, size);
    pgcn_status status = pgcn_model_from_bytes(copy, size, &made);
    assert_int_equal(status == PGCN_OK, made != NULL);
    if (status != PGCN_OK) assert_true(strlen(pgcn_last_error()) > 20);
    free(copy);
    pgcn_model_free(made);
    return status;
}

static void test_damaged_bytes_are_refused_and_never_overrun(void **state) {
    (void)state;
    void *whole = NULL;
    size_t size = 0;
    must(pgcn_model_to_bytes(model, &whole, &size));
    char *bytes = whole;
    for (size_t cut = 0; cut < size; cut += cut < 200 ? 1 : 97)
        assert_int_not_equal(read_damaged(bytes, cut), PGCN_OK);
    must_fail(read_damaged(bytes, 4), PGCN_ERR_FORMAT, "the bytes of a model");
    pgcn_i_stream random = test_stream(5);
    for (int i = 0; i < 3000; i++) {
        size_t at = pgcn_i_bounded(&random, (uint32_t)size);
        char kept = bytes[at];
        bytes[at] = (char)pgcn_i_bounded(&random, 256);
        read_damaged(bytes, size); /* a weight may be another weight */
        bytes[at] = kept;
    }
    pgcn_bytes_free(whole);
}

static pgcn_status there_and_back(void) {
    void *bytes;
    size_t size;
    pgcn_model *twin;
    PGCN_TRY(pgcn_model_to_bytes(model, &bytes, &size));
    pgcn_status status = pgcn_model_from_bytes(bytes, size, &twin);
    if (status == PGCN_OK) pgcn_model_free(twin);
    pgcn_bytes_free(bytes);
    return status;
}

static void test_model_bytes_every_failing_allocation_is_an_error(void **state) {
    (void)state;
    assert_true(fail_every_allocation(there_and_back) > 20);
}

static void test_tensors_are_those_of_the_file(void **state) {
    (void)state;
    must(pgcn_model_save(model, scratch_path("model")));
    pgcn_i_safetensors *file = NULL;
    must(pgcn_i_safetensors_read(scratch_path("model"), &file));
    pgcn_tensor tensor;
    int64_t trained = 0;
    int count = 0;
    bool statistic = false;
    for (; pgcn_model_tensor(model, count, &tensor); count++) {
        const void *data = NULL;
        must(pgcn_i_safetensors_tensor(file, tensor.name, PGCN_I_F32, tensor.rank, tensor.shape,
                                       &data));
        assert_memory_equal(tensor.value, data, (size_t)tensor.count * sizeof *tensor.value);
        assert_int_equal(tensor.count, tensor.shape[0] * tensor.shape[1] * tensor.shape[2]);
        for (int k = tensor.rank; k < 3; k++) assert_int_equal(tensor.shape[k], 1);
        if (tensor.trained) trained += tensor.count;
        statistic = statistic || !tensor.trained;
    }
    assert_int_equal(count, file->count);
    assert_int_equal(trained, pgcn_model_parameters(model));
    assert_true(statistic); /* running means of the batch norm */
    pgcn_i_safetensors_free(file);
}

static void test_columns_of_a_model_have_their_names(void **state) {
    (void)state;
    assert_int_equal(pgcn_model_features(model), 18); /* karate has degrees up to 17 */
    assert_string_equal(pgcn_model_feature_name(model, 17), "degree=17");
    assert_null(pgcn_model_feature_name(model, 18));
    pgcn_dataset *data = dataset("karate");
    pgcn_config config = settings("epochs=1 channels=4");
    pgcn_model *nameless = NULL;
    must(pgcn_train(data, &config, &nameless));
    assert_int_equal(pgcn_model_features(nameless), pgcn_dataset_describe(data).features);
    assert_null(pgcn_model_feature_name(nameless, 0));
    pgcn_model_free(nameless);
    pgcn_dataset_free(data);
}

static void test_history_of_a_model_is_a_list_of_its_epochs(void **state) {
    (void)state;
    json_t *list = NULL;
    const char *text = pgcn_model_history(model);
    must(pgcn_i_json_parse("history", text, (int64_t)strlen(text), &list));
    assert_int_equal(json_array_size(list), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *epoch = json_array_get(list, i);
        assert_int_equal(json_integer_value(json_object_get(epoch, "epoch")), i + 1);
        assert_true(json_is_real(json_object_get(epoch, "train_loss")));
        assert_int_equal(json_is_null(json_object_get(epoch, "val_loss")), i % 2 == 0);
    }
    json_decref(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_bytes_are_those_of_its_file),
        cmocka_unit_test(test_damaged_bytes_are_refused_and_never_overrun),
        cmocka_unit_test(test_model_bytes_every_failing_allocation_is_an_error),
        cmocka_unit_test(test_tensors_are_those_of_the_file),
        cmocka_unit_test(test_columns_of_a_model_have_their_names),
        cmocka_unit_test(test_history_of_a_model_is_a_list_of_its_epochs),
    };
    return cmocka_run_group_tests(tests, train_one, free_all);
}
