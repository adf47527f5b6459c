/* npy.c: files NumPy writes are read, and every other file is refused with a sentence. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "scratch_help.h"

static pgcn_i_arena arena;

static int begin(void **state) {
    return scratch_make(state);
}
static int end(void **state) {
    pgcn_i_arena_free(&arena);
    return scratch_remove(state);
}

/* A .npy file with this header text and `data_bytes` bytes 0, 1, 2, ... after it. */
static size_t make_file(unsigned char *out, int version, const char *header, size_t data_bytes) {
    size_t length = strlen(header), at = 0;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    out[7] = 0;
    at = 8;
    for (int i = 0; i < (version == 1 ? 2 : 4); i++)
        out[at++] = (unsigned char)(length >> (8 * i) & 0xff);
    memcpy(out + at, header, length);
    at += length;
    for (size_t i = 0; i < data_bytes; i++) out[at++] = (unsigned char)i;
    return at;
}

static pgcn_status read_header_text(int version, const char *header, size_t data_bytes,
                                    pgcn_i_array *out) {
    unsigned char bytes[1024];
    size_t length = make_file(bytes, version, header, data_bytes);
    return pgcn_i_npy_read(scratch_write("a.npy", bytes, length), &arena, out);
}

static void test_npy_written_array_has_the_bytes_of_numpy(void **state) {
    (void)state;
    int32_t data[3] = {1, 2, 3};
    pgcn_i_array array = {PGCN_I_I32, 1, {3}, 3, data};
    const char *path = scratch_path("a.npy");
    assert_int_equal(pgcn_i_npy_write(path, &array), PGCN_OK);
    /* np.save() of np.array([1, 2, 3], '<i4'): 128 bytes in all before the data */
    char expected[128 + 12];
    memset(expected, ' ', sizeof expected);
    const char header[] = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }";
    memcpy(expected, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(expected + 10, header, sizeof header - 1);
    expected[127] = '\n';
    memcpy(expected + 128, data, sizeof data);
    assert_file_holds(path, expected, sizeof expected);
}

static void test_npy_every_type_and_rank_comes_back(void **state) {
    (void)state;
    static const int64_t shapes[][4] = {{0}, {7}, {3, 2}, {2, 0}, {2, 3, 2}, {1, 2, 3, 2}};
    static const int ranks[] = {0, 1, 2, 2, 3, 4};
    unsigned char data[12 * 8];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37);
    for (int type = PGCN_I_U8; type <= PGCN_I_F64; type++) {
        for (int k = 0; k < 6; k++) {
            pgcn_i_array array = {.dtype = (pgcn_i_dtype)type, .rank = ranks[k], .data = data};
            int64_t bytes;
            memcpy(array.shape, shapes[k], sizeof array.shape);
            assert_true(
                pgcn_i_array_size(array.shape, array.rank, array.dtype, &array.count, &bytes));
            const char *path = scratch_path("a.npy");
            assert_int_equal(pgcn_i_npy_write(path, &array), PGCN_OK);
            pgcn_i_array back;
            assert_int_equal(pgcn_i_npy_read(path, &arena, &back), PGCN_OK);
            assert_int_equal(back.dtype, array.dtype);
            assert_int_equal(back.rank, array.rank);
            assert_int_equal(back.count, array.count);
            assert_memory_equal(back.shape, array.shape, (size_t)array.rank * 8);
            assert_memory_equal(back.data, data, (size_t)bytes);
            assert_int_equal((uintptr_t)back.data % PGCN_ALIGN, 0);
        }
    }
}

static void test_npy_unusual_but_valid_headers_are_read(void **state) {
    (void)state;
    pgcn_i_array array;
    const char *header[] = {
        "{'shape': (2, 3), 'descr': '|u1', 'fortran_order': False}\n",
        "{\"fortran_order\": False, \"shape\": (2, 3,), \"descr\": \"|b1\", }   \n",
        "{ 'descr' : '|u1' ,'fortran_order':False,'shape':( 2 , 3 ) , }",
    };
    for (int version = 1; version <= 3; version++)
        for (int i = 0; i < 3; i++) {
            assert_int_equal(read_header_text(version, header[i], 6, &array), PGCN_OK);
            assert_int_equal(array.dtype, PGCN_I_U8);
            assert_int_equal(array.rank, 2);
            assert_int_equal(array.shape[1], 3);
            assert_int_equal(((uint8_t *)array.data)[5], 5);
        }
    /* order means nothing with one dimension */
    assert_int_equal(
        read_header_text(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2,), }", 8, &array),
        PGCN_OK);
    assert_int_equal(
        read_header_text(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 8, &array),
        PGCN_OK);
    assert_int_equal(array.count, 1);
}

static void test_npy_hostile_headers_are_refused_with_a_reason(void **state) {
    (void)state;
    static const struct {
        const char *header;
        size_t data_bytes;
        const char *says;
    } cases[] = {
        {"{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }", 8, "astype('<i4')"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", 8, "big-endian"},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }", 4, "astype('<f4')"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", 8, "Python objects"},
        {"{'descr': '<U5', 'fortran_order': False, 'shape': (2,), }", 40, "text"},
        {"{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,), }", 8, "structured"},
        {"{'descr': '', 'fortran_order': False, 'shape': (2,), }", 8, "type ''"},
        {"{'descr': '<i4', 'fortran_order': True, 'shape': (2, 1), }", 8, "ascontiguousarray"},
        {"{'descr': '<i4', 'fortran_order': 1, 'shape': (2,), }", 8, "True or False"},
        {"{'descr': '<i4', 'fortran_order': Falsehood, 'shape': (2,), }", 8, "a comma"},
        {"{'descr': '<i4', 'shape': (2,), }", 8, "lacks 'fortran_order'"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), 'shape': (2,), }", 8, "twice"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), 'more': 1}", 8, "unknown"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2), }", 8, "a tuple"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': [2], }", 8, "a tuple"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (-2,), }", 8, "a whole number"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2 2), }", 16, "a whole number"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (,), }", 4, "a whole number"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2.5,), }", 8, "a whole number"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1), }", 4, "dimensions"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8, "2^63"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 0,
         "larger than any memory"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387905,), }", 4,
         "larger than any memory"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (0, 4611686018427387905, 2), }", 0,
         "larger than any memory"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (1000000000000,), }", 8, "cut short"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", 7, "cut short"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", 9, "too long"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), } x", 8, "nothing more"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), ", 8, "a key in quotes"},
        {"{'descr': '<i4', 'fortran_order': False 'shape': (2,), }", 8, "a comma"},
        {"{'descr' '<i4', 'fortran_order': False, 'shape': (2,), }", 8, "a colon"},
        {"{'descr': '<i\\x34', 'fortran_order': False, 'shape': (2,), }", 8, "a type"},
        {"{'descr': '<i4", 8, "a type"},
        {"['descr']", 8, "a dictionary"},
        {"", 0, "a dictionary"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pgcn_i_array array;
        assert_int_equal(read_header_text(1, cases[i].header, cases[i].data_bytes, &array),
                         PGCN_ERR_FORMAT);
        assert_error_says(cases[i].says);
        assert_error_says("a.npy");
    }
}

static void test_npy_bad_start_is_refused(void **state) {
    (void)state;
    pgcn_i_array array;
    const char *path = scratch_write("a.npy", "NUMPY is not the mark", 21);
    assert_int_equal(pgcn_i_npy_read(path, &arena, &array), PGCN_ERR_FORMAT);
    assert_error_says("mark of a .npy file");
    assert_int_equal(read_header_text(4, "{}", 0, &array), PGCN_ERR_FORMAT);
    assert_error_says("version 4.0");
    /* a header of 4 GB in a file of 20 bytes */
    path = scratch_write("a.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff        ", 20);
    assert_int_equal(pgcn_i_npy_read(path, &arena, &array), PGCN_ERR_FORMAT);
    assert_error_says("4294967295 bytes");
}

static void test_npy_every_truncation_is_refused(void **state) {
    (void)state;
    unsigned char bytes[256];
    for (int version = 1; version <= 2; version++) {
        size_t length = make_file(
            bytes, version, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }", 16);
        for (size_t cut = 0; cut <= length; cut++) {
            pgcn_i_array array;
            pgcn_status status =
                pgcn_i_npy_read(scratch_write("a.npy", bytes, cut), &arena, &array);
            assert_int_equal(status, cut == length ? PGCN_OK : PGCN_ERR_FORMAT);
        }
    }
}

static void test_npy_every_changed_byte_is_read_or_refused(void **state) {
    (void)state;
    unsigned char bytes[256];
    static const unsigned char values[] = {0, 1, 9, ' ', '\'', '(', ')', '-', '0', '9', '{', 0xff};
    size_t length =
        make_file(bytes, 1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }", 16);
    int refused = 0;
    for (size_t at = 0; at < length - 16; at++) {
        for (size_t v = 0; v < sizeof values; v++) {
            unsigned char kept = bytes[at];
            bytes[at] = values[v];
            pgcn_i_array array;
            pgcn_status status =
                pgcn_i_npy_read(scratch_write("a.npy", bytes, length), &arena, &array);
            assert_true(status == PGCN_OK || status == PGCN_ERR_FORMAT);
            refused += status != PGCN_OK;
            bytes[at] = kept;
        }
    }
    assert_true(refused > 500); /* most changes matter */
}

static void test_npy_required_type_is_named_when_it_differs(void **state) {
    (void)state;
    int64_t data[4] = {1, 2, 3, 4};
    pgcn_i_array array = {PGCN_I_I64, 2, {2, 2}, 4, data}, back;
    const char *path = scratch_path("edges.npy");
    assert_int_equal(pgcn_i_npy_write(path, &array), PGCN_OK);
    assert_int_equal(pgcn_i_npy_read_as(path, &arena, PGCN_I_I64, 2, &back), PGCN_OK);
    assert_int_equal(pgcn_i_npy_read_as(path, &arena, PGCN_I_F64, 2, &back), PGCN_ERR_FORMAT);
    assert_error_says("found an array int64 [2, 2], expected float64 with 2 dimensions");
    assert_error_says("astype('<f8')");
    assert_int_equal(pgcn_i_npy_read_as(path, &arena, PGCN_I_I64, 1, &back), PGCN_ERR_FORMAT);
    assert_error_says("1 dimension;");
}

static void test_npy_numbers_are_converted_where_they_fit(void **state) {
    (void)state;
    int64_t data[4] = {0, 255, 256, INT64_C(-2147483648)};
    double real[2] = {0.1, 1e300};
    pgcn_i_array array = {.dtype = PGCN_I_I64, .rank = 1, .shape = {2}, .count = 2, .data = data};
    pgcn_i_array back;
    const char *path = scratch_path("a.npy");
    assert_int_equal(pgcn_i_npy_write(path, &array), PGCN_OK);
    assert_int_equal(pgcn_i_npy_read_as(path, &arena, PGCN_I_U8, 1, &back), PGCN_OK);
    assert_int_equal(((uint8_t *)back.data)[1], 255);
    array.shape[0] = array.count = 4;
    assert_int_equal(pgcn_i_npy_write(path, &array), PGCN_OK);
    assert_int_equal(pgcn_i_npy_read_as(path, &arena, PGCN_I_U8, 1, &back), PGCN_ERR_FORMAT);
    assert_error_says("element 2 is 256, expected uint8: 0 to 255");
    assert_int_equal(pgcn_i_npy_read_as(path, &arena, PGCN_I_I32, 1, &back), PGCN_OK);
    assert_int_equal(back.dtype, PGCN_I_I32);
    assert_int_equal(((int32_t *)back.data)[3], INT32_MIN);
    data[3]--;
    assert_int_equal(pgcn_i_npy_write(path, &array), PGCN_OK);
    assert_int_equal(pgcn_i_npy_read_as(path, &arena, PGCN_I_I32, 1, &back), PGCN_ERR_FORMAT);
    assert_error_says("element 3 is -2147483649, expected int32");
    array = (pgcn_i_array){.dtype = PGCN_I_F64, .rank = 1, .shape = {2}, .count = 2, .data = real};
    assert_int_equal(pgcn_i_npy_write(path, &array), PGCN_OK);
    assert_int_equal(pgcn_i_npy_read_as(path, &arena, PGCN_I_F32, 1, &back), PGCN_OK);
    assert_true(((float *)back.data)[0] == 0.1f);
    assert_true(isinf(((float *)back.data)[1])); /* the data room refuses it */
    assert_int_equal(pgcn_i_npy_read_as(path, &arena, PGCN_I_I32, 1, &back), PGCN_ERR_FORMAT);
    assert_error_says("found an array float64 [2], expected int32");
}

static void test_npy_not_a_regular_file_is_refused(void **state) {
    (void)state;
    pgcn_i_array array;
    assert_int_equal(pgcn_i_npy_read(scratch_path("none.npy"), &arena, &array), PGCN_ERR_IO);
    assert_error_says("No such file");
    assert_int_equal(pgcn_i_npy_read(scratch, &arena, &array), PGCN_ERR_IO);
    assert_error_says("a directory");
    assert_int_equal(mkfifo(scratch_path("pipe.npy"), 0600), 0);
    assert_int_equal(pgcn_i_npy_read(scratch_path("pipe.npy"), &arena, &array), PGCN_ERR_IO);
    assert_error_says("expected a regular file");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_npy_written_array_has_the_bytes_of_numpy, begin, end),
        cmocka_unit_test_setup_teardown(test_npy_every_type_and_rank_comes_back, begin, end),
        cmocka_unit_test_setup_teardown(test_npy_unusual_but_valid_headers_are_read, begin, end),
        cmocka_unit_test_setup_teardown(test_npy_hostile_headers_are_refused_with_a_reason, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_npy_bad_start_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_npy_every_truncation_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_npy_every_changed_byte_is_read_or_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_npy_numbers_are_converted_where_they_fit, begin, end),
        cmocka_unit_test_setup_teardown(test_npy_required_type_is_named_when_it_differs, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_npy_not_a_regular_file_is_refused, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
