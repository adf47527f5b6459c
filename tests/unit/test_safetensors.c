/* safetensors.c: what is written comes back bit for bit, and damaged files are refused. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "scratch_help.h"

#include <signal.h>
#include <sys/resource.h>

static float weight[6] = {1, -2, 3.5f, 0, 1e-30f, 7};
static double history[2] = {0.1, -0.2};
static uint8_t mask[3] = {1, 0, 1};
static int64_t steps[1] = {INT64_MAX};
static int32_t ids[2] = {-1, 5};

static const pgcn_i_tensor tensors[] = {
    {"weight", {PGCN_I_F32, 2, {2, 3}, 6, weight}}, {"history", {PGCN_I_F64, 1, {2}, 2, history}},
    {"mask", {PGCN_I_U8, 1, {3}, 3, mask}}, /* leaves the next one unaligned in the file */
    {"steps", {PGCN_I_I64, 0, {0}, 1, steps}},      {"empty", {PGCN_I_F32, 2, {0, 4}, 0, weight}},
    {"ids", {PGCN_I_I32, 1, {2}, 2, ids}},
};
enum { TENSORS = sizeof tensors / sizeof tensors[0] };

static pgcn_status write_example(const char *path) {
    json_t *metadata = json_pack("{s:s, s:s}", "format", "pathgcn-1", "config", "{\"k\": \"ä\"}");
    pgcn_status status = pgcn_i_safetensors_write(path, tensors, TENSORS, metadata);
    json_decref(metadata);
    return status;
}

/* A file with this header and that many bytes 0, 1, 2, ... of data. */
static const char *write_raw(const char *header, size_t data_bytes) {
    char bytes[2048] = {0};
    uint64_t length = strlen(header);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < data_bytes; i++) bytes[8 + length + i] = (char)i;
    return scratch_write("raw", bytes, 8 + length + data_bytes);
}

static void test_safetensors_written_tensors_come_back(void **state) {
    (void)state;
    const char *path = scratch_path("model");
    assert_int_equal(write_example(path), PGCN_OK);
    pgcn_i_safetensors *file;
    assert_int_equal(pgcn_i_safetensors_read(path, &file), PGCN_OK);
    assert_int_equal(file->count, TENSORS);
    for (int i = 0; i < TENSORS; i++) {
        const pgcn_i_array *array = &tensors[i].array;
        const void *data;
        assert_int_equal(pgcn_i_safetensors_tensor(file, tensors[i].name, array->dtype, array->rank,
                                                   array->shape, &data),
                         PGCN_OK);
        assert_memory_equal(data, array->data,
                            (size_t)(array->count * pgcn_i_dtype_bytes(array->dtype)));
        assert_int_equal((uintptr_t)data % PGCN_ALIGN, 0);
    }
    const char *text;
    assert_int_equal(pgcn_i_safetensors_text(file, "config", &text), PGCN_OK);
    assert_string_equal(text, "{\"k\": \"ä\"}");
    pgcn_i_safetensors_free(file);
    pgcn_i_safetensors_free(NULL);
}

static void test_safetensors_written_bytes_follow_the_format(void **state) {
    (void)state;
    const char *path = scratch_path("model");
    json_t *metadata = json_pack("{s:s}", "z", "1");
    assert_int_equal(pgcn_i_safetensors_write(path, tensors + 2, 1, metadata), PGCN_OK);
    json_decref(metadata);
    const char header[] =
        "{\"__metadata__\":{\"z\":\"1\"},"
        "\"mask\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}       ";
    char expected[8 + sizeof header - 1 + 3];
    uint64_t length = sizeof header - 1;
    assert_int_equal(length % 8, 0);
    memcpy(expected, &length, 8);
    memcpy(expected + 8, header, length);
    memcpy(expected + 8 + length, mask, 3);
    assert_file_holds(path, expected, sizeof expected);
}

static void test_safetensors_equal_content_gives_equal_bytes(void **state) {
    (void)state;
    pgcn_i_arena arena = {0};
    char *bytes;
    int64_t length;
    assert_int_equal(write_example(scratch_path("a")), PGCN_OK);
    assert_int_equal(write_example(scratch_path("b")), PGCN_OK);
    assert_int_equal(pgcn_i_file_read(scratch_path("a"), 1 << 20, &arena, &bytes, &length),
                     PGCN_OK);
    assert_file_holds(scratch_path("b"), bytes, length);
    pgcn_i_arena_free(&arena);
}

static void test_safetensors_of_other_programs_is_read(void **state) {
    (void)state;
    /* without metadata, keys not in the order of the data, space around the JSON */
    const char *path =
        write_raw("{\"b\": {\"dtype\": \"I32\", \"shape\": [1, 1], \"data_offsets\": "
                  "[8, 12]}, \"a\": {\"shape\": [2], \"data_offsets\": [0, 8], "
                  "\"dtype\": \"F32\"}}     ",
                  12);
    pgcn_i_safetensors *file;
    assert_int_equal(pgcn_i_safetensors_read(path, &file), PGCN_OK);
    assert_int_equal(file->count, 2);
    assert_string_equal(file->tensor[0].name, "a");
    assert_int_equal(*(int32_t *)file->tensor[1].array.data, 0x0b0a0908);
    const char *text;
    assert_int_equal(pgcn_i_safetensors_text(file, "format", &text), PGCN_ERR_FORMAT);
    assert_error_says("lacks 'format'");
    pgcn_i_safetensors_free(file);
}

static void test_safetensors_missing_or_different_tensor_is_named(void **state) {
    (void)state;
    const char *path = scratch_path("model");
    pgcn_i_safetensors *file;
    const void *data;
    const int64_t wrong[2] = {3, 2}, right[2] = {2, 3};
    assert_int_equal(write_example(path), PGCN_OK);
    assert_int_equal(pgcn_i_safetensors_read(path, &file), PGCN_OK);
    assert_int_equal(pgcn_i_safetensors_tensor(file, "weight", PGCN_I_F32, 2, wrong, &data),
                     PGCN_ERR_FORMAT);
    assert_error_says("'weight' is float32 [2, 3], expected float32 [3, 2]");
    assert_int_equal(pgcn_i_safetensors_tensor(file, "weight", PGCN_I_F64, 2, right, &data),
                     PGCN_ERR_FORMAT);
    assert_error_says("expected float64 [2, 3]");
    assert_int_equal(pgcn_i_safetensors_tensor(file, "bias", PGCN_I_F32, 2, right, &data),
                     PGCN_ERR_FORMAT);
    assert_error_says("'bias' (float32 [2, 3]) is missing");
    pgcn_i_safetensors_free(file);
}

static void test_safetensors_hostile_headers_are_refused_with_a_reason(void **state) {
    (void)state;
#define TENSOR(name, dtype, shape, offsets)                                                        \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
    static const struct {
        const char *header;
        size_t data_bytes;
        const char *says;
    } cases[] = {
        {"{" TENSOR("a", "BF16", "[2]", "[0,4]") "}", 4, "type 'BF16'"},
        {"{" TENSOR("a", "F32", "[2]", "[0,4]") "}", 4, "do not fit"},
        {"{" TENSOR("a", "F32", "[1]", "[0,8]") "}", 8, "do not fit"},
        {"{" TENSOR("a", "F32", "[2]", "[0,8]") "}", 7, "outside the data"},
        {"{" TENSOR("a", "F32", "[2]", "[0,8]") "}", 9, "end after 8 bytes"},
        {"{" TENSOR("a", "F32", "[2]", "[4,12]") "}", 12, "unused bytes"},
        {"{" TENSOR("a", "F32", "[2]", "[-8,0]") "}", 8, "outside the data"},
        {"{" TENSOR("a", "F32", "[2]", "[8,0]") "}", 8, "outside the data"},
        {"{" TENSOR("a", "F32", "[2]", "[0,8.0]") "}", 8, "outside the data"},
        {"{" TENSOR("a", "F32", "[2]", "[0]") "}", 8, "two data_offsets"},
        {"{" TENSOR("a", "F32", "[-2]", "[0,8]") "}", 8, "a dimension"},
        {"{" TENSOR("a", "F32", "[2.0]", "[0,8]") "}", 8, "a dimension"},
        {"{" TENSOR("a", "F32", "[1,1,1,1,2]", "[0,8]") "}", 8, "4 dimensions"},
        {"{" TENSOR("a", "F32", "[4294967296,4294967296]", "[0,0]") "}", 0, "do not fit"},
        {"{" TENSOR("a", "F32", "[9223372036854775808]", "[0,0]") "}", 0, "not a JSON object"},
        {"{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("b", "F32", "[1]", "[2,6]") "}", 6,
         "overlaps"},
        {"{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("b", "F32", "[1]", "[0,4]") "}", 4,
         "overlaps"},
        {"{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("a", "F32", "[1]", "[4,8]") "}", 8,
         "twice"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}", 0, "two data_offsets"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"x\":1}}", 0, "no more"},
        {"{\"a\":[]}", 0, "is not described"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "object of strings"},
        {"{\"__metadata__\":[\"a\"]}", 0, "object of strings"},
        {"[]", 0, "not a JSON object"},
        {"{} {}", 0, "not a JSON object"},
        {"{", 0, "not a JSON object"},
        {"", 0, "not a JSON object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pgcn_i_safetensors *file = NULL;
        pgcn_status status =
            pgcn_i_safetensors_read(write_raw(cases[i].header, cases[i].data_bytes), &file);
        if (status != PGCN_ERR_FORMAT) fail_msg("status %d for %s", status, cases[i].header);
        assert_null(file);
        assert_error_says(cases[i].says);
    }
}

static void test_safetensors_header_longer_than_the_file_is_refused(void **state) {
    (void)state;
    pgcn_i_safetensors *file;
    static const uint64_t lengths[] = {3, 100000000, 100000001, UINT64_MAX, (uint64_t)1 << 63};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char bytes[10] = "........{}";
        memcpy(bytes, &lengths[i], 8);
        assert_int_equal(pgcn_i_safetensors_read(scratch_write("raw", bytes, 10), &file),
                         PGCN_ERR_FORMAT);
        assert_error_says("header claims");
    }
}

static void test_safetensors_other_files_are_called_so(void **state) {
    (void)state;
    pgcn_i_safetensors *file;
    static const char csv[] = "source,target\na,b\n", npy[] = "\x93NUMPY\1\0v\0{'descr'";
    assert_int_equal(pgcn_i_safetensors_read(scratch_write("e.csv", csv, sizeof csv - 1), &file),
                     PGCN_ERR_FORMAT);
    assert_error_says("it is not a safetensors file");
    assert_null(strstr(pgcn_last_error(), "claims"));
    assert_int_equal(pgcn_i_safetensors_read(scratch_write("x.npy", npy, sizeof npy - 1), &file),
                     PGCN_ERR_FORMAT);
    assert_error_says("it is not a safetensors file");
}

static void test_safetensors_every_truncation_is_refused(void **state) {
    (void)state;
    pgcn_i_arena arena = {0};
    char *bytes;
    int64_t length;
    assert_int_equal(write_example(scratch_path("model")), PGCN_OK);
    assert_int_equal(pgcn_i_file_read(scratch_path("model"), 1 << 20, &arena, &bytes, &length),
                     PGCN_OK);
    for (int64_t cut = 0; cut < length; cut++) {
        pgcn_i_safetensors *file;
        assert_int_equal(pgcn_i_safetensors_read(scratch_write("cut", bytes, (size_t)cut), &file),
                         PGCN_ERR_FORMAT);
    }
    pgcn_i_arena_free(&arena);
}

static void test_safetensors_every_changed_byte_is_read_or_refused(void **state) {
    (void)state;
    pgcn_i_arena arena = {0};
    char *bytes;
    int64_t length;
    static const char values[] = {'\0', '0', '9', '-', '"', '[', '}', ',', '\x7f', '\xff'};
    assert_int_equal(write_example(scratch_path("model")), PGCN_OK);
    assert_int_equal(pgcn_i_file_read(scratch_path("model"), 1 << 20, &arena, &bytes, &length),
                     PGCN_OK);
    int refused = 0;
    for (int64_t at = 0; at < length - 40; at++) {
        for (size_t v = 0; v < sizeof values; v++) {
            char kept = bytes[at];
            pgcn_i_safetensors *file = NULL;
            bytes[at] = values[v];
            pgcn_status status =
                pgcn_i_safetensors_read(scratch_write("raw", bytes, (size_t)length), &file);
            assert_true(status == PGCN_OK || status == PGCN_ERR_FORMAT);
            refused += status != PGCN_OK;
            pgcn_i_safetensors_free(file);
            bytes[at] = kept;
        }
    }
    assert_true(refused > 1000);
    pgcn_i_arena_free(&arena);
}

static void test_safetensors_bad_arguments_write_nothing(void **state) {
    (void)state;
    const char *path = scratch_path("model");
    pgcn_i_tensor twice[2] = {tensors[0], tensors[0]};
    assert_int_equal(pgcn_i_safetensors_write(path, twice, 2, NULL), PGCN_ERR_ARGUMENT);
    assert_error_says("used twice");
    pgcn_i_tensor reserved = tensors[0];
    reserved.name = "__metadata__";
    assert_int_equal(pgcn_i_safetensors_write(path, &reserved, 1, NULL), PGCN_ERR_ARGUMENT);
    pgcn_i_tensor negative = tensors[0];
    negative.array.shape[0] = -2;
    assert_int_equal(pgcn_i_safetensors_write(path, &negative, 1, NULL), PGCN_ERR_ARGUMENT);
    json_t *metadata = json_pack("{s:i}", "number", 1);
    assert_int_equal(pgcn_i_safetensors_write(path, tensors, 1, metadata), PGCN_ERR_ARGUMENT);
    assert_error_says("'number' is not a string");
    json_decref(metadata);
    assert_int_equal(scratch_count(), 0);
}

static void test_safetensors_full_disk_keeps_the_old_file(void **state) {
    (void)state;
    const char *path = scratch_write("model", "old", 3);
    static float large[50000];
    pgcn_i_tensor tensor = {"large", {PGCN_I_F32, 1, {50000}, 50000, large}};
    struct rlimit limit, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 65536;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    pgcn_status status = pgcn_i_safetensors_write(path, &tensor, 1, NULL);
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, PGCN_ERR_IO);
    assert_error_says("no file was changed");
    assert_file_holds(path, "old", 3);
    assert_int_equal(scratch_count(), 1);
}

static pgcn_status read_and_free(void) {
    pgcn_i_safetensors *file;
    PGCN_TRY(pgcn_i_safetensors_read(scratch_path("model"), &file));
    pgcn_i_safetensors_free(file);
    return PGCN_OK;
}

static void test_safetensors_every_failing_allocation_is_reported(void **state) {
    (void)state;
    assert_int_equal(write_example(scratch_path("model")), PGCN_OK);
    assert_true(fail_every_allocation(read_and_free) > TENSORS);
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(test_safetensors_written_tensors_come_back),
        IN_SCRATCH(test_safetensors_written_bytes_follow_the_format),
        IN_SCRATCH(test_safetensors_equal_content_gives_equal_bytes),
        IN_SCRATCH(test_safetensors_of_other_programs_is_read),
        IN_SCRATCH(test_safetensors_missing_or_different_tensor_is_named),
        IN_SCRATCH(test_safetensors_hostile_headers_are_refused_with_a_reason),
        IN_SCRATCH(test_safetensors_header_longer_than_the_file_is_refused),
        IN_SCRATCH(test_safetensors_other_files_are_called_so),
        IN_SCRATCH(test_safetensors_every_truncation_is_refused),
        IN_SCRATCH(test_safetensors_every_changed_byte_is_read_or_refused),
        IN_SCRATCH(test_safetensors_bad_arguments_write_nothing),
        IN_SCRATCH(test_safetensors_full_disk_keeps_the_old_file),
        IN_SCRATCH(test_safetensors_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
