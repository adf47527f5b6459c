/* npz.c: archives NumPy writes are read, ours are the same bytes each time, and a hostile archive
 * is refused with the name of the file and of the array before memory is taken. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "bytes_help.h"
#include "scratch_help.h"

static pgcn_i_arena arena;

static int begin(void **state) {
    return scratch_make(state);
}
static int end(void **state) {
    pgcn_i_arena_free(&arena);
    return scratch_remove(state);
}

/* ---- archives made by hand ----------------------------------------------------------------- */

typedef struct zip_case {
    const char *npy; /* of the .npy, or NULL: no .npy at all */
    uint32_t data;
    uint32_t claim_more;   /* added to the uncompressed length that is claimed */
    uint16_t flags;        /* 1: encrypted */
    uint16_t method;       /* 0: stored */
    uint32_t wrong_crc;    /* added to the CRC */
    uint32_t claim_packed; /* added to the packed length that is claimed */
} zip_case;

static uint32_t crc_of(const unsigned char *data, size_t count) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < count; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static size_t put(unsigned char *to, size_t at, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; i++) to[at++] = (unsigned char)(value >> 8 * i & 0xff);
    return at;
}

/* The fields that the local header and the central directory share. */
static size_t put_fields(unsigned char *to, size_t at, const zip_case *c, uint32_t crc,
                         uint32_t length) {
    at = put(to, at, 20, 2), at = put(to, at, c->flags, 2), at = put(to, at, c->method, 2);
    at = put(to, at, 0, 2), at = put(to, at, 33, 2), at = put(to, at, crc + c->wrong_crc, 4);
    at = put(to, at, length + c->claim_packed, 4), at = put(to, at, length + c->claim_more, 4);
    return put(to, at, 5, 2); /* length of the name */
}

/* One member "a.npy"; the length of the archive. */
static size_t make_zip(unsigned char *to, const zip_case *c) {
    unsigned char member[1024];
    size_t length = 0, at = 0;
    if (c->npy) {
        memcpy(member, "\x93NUMPY\x01\x00", 8);
        length = put(member, 8, (uint32_t)strlen(c->npy), 2);
        memcpy(member + length, c->npy, strlen(c->npy));
        length += strlen(c->npy);
    }
    for (uint32_t i = 0; i < c->data; i++) member[length++] = (unsigned char)i;
    uint32_t crc = crc_of(member, length);
    at = put(to, at, 0x04034b50, 4);
    at = put_fields(to, at, c, crc, (uint32_t)length);
    at = put(to, at, 0, 2);
    memcpy(to + at, "a.npy", 5), at += 5;
    memcpy(to + at, member, length), at += length;
    size_t directory = at;
    at = put(to, at, 0x02014b50, 4), at = put(to, at, 20, 2);
    at = put_fields(to, at, c, crc, (uint32_t)length);
    at = put(to, at, 0, 2), at = put(to, at, 0, 2), at = put(to, at, 0, 2), at = put(to, at, 0, 2);
    at = put(to, at, 0, 4), at = put(to, at, 0, 4);
    memcpy(to + at, "a.npy", 5), at += 5;
    size_t directory_end = at;
    at = put(to, at, 0x06054b50, 4), at = put(to, at, 0, 4);
    at = put(to, at, 1, 2), at = put(to, at, 1, 2);
    at = put(to, at, (uint32_t)(directory_end - directory), 4);
    at = put(to, at, (uint32_t)directory, 4);
    return put(to, at, 0, 2);
}

static pgcn_status read_one(const char *path, const char *name, pgcn_i_array *out) {
    pgcn_i_npz *npz;
    PGCN_TRY(pgcn_i_npz_open(path, &npz));
    pgcn_status status = pgcn_i_npz_read(npz, name, &arena, out);
    pgcn_i_npz_close(npz);
    return status;
}

static pgcn_status read_case(const zip_case *c, pgcn_i_array *out) {
    unsigned char bytes[2048];
    return read_one(scratch_write("a.npz", bytes, make_zip(bytes, c)), "a", out);
}

#define I4(shape) "{'descr': '<i4', 'fortran_order': False, 'shape': " shape ", }"

static void test_npz_stored_member_is_read(void **state) {
    (void)state;
    pgcn_i_array array;
    assert_int_equal(read_case(&(zip_case){.npy = I4("(2, 3)"), .data = 24}, &array), PGCN_OK);
    assert_int_equal(array.dtype, PGCN_I_I32);
    assert_int_equal(array.count, 6);
    assert_int_equal(((int32_t *)array.data)[0], 0x03020100);
    assert_int_equal(((int32_t *)array.data)[5], 0x17161514);
}

static void test_npz_fortran_order_matrix_is_transposed(void **state) {
    (void)state;
    pgcn_i_array array;
    const char header[] = "{'descr': '|b1', 'fortran_order': True, 'shape': (2, 3), }";
    assert_int_equal(read_case(&(zip_case){.npy = header, .data = 6}, &array), PGCN_OK);
    assert_memory_equal(array.data, ((uint8_t[]){0, 2, 4, 1, 3, 5}), 6);
    const char wide[] = "{'descr': '<i4', 'fortran_order': True, 'shape': (3, 2), }";
    assert_int_equal(read_case(&(zip_case){.npy = wide, .data = 24}, &array), PGCN_OK);
    assert_int_equal(((int32_t *)array.data)[1], 0x0f0e0d0c);
    const char cube[] = "{'descr': '|b1', 'fortran_order': True, 'shape': (2, 3, 1), }";
    assert_int_equal(read_case(&(zip_case){.npy = cube, .data = 6}, &array), PGCN_ERR_FORMAT);
    assert_error_says("Fortran order");
}

static void test_npz_hostile_members_are_refused_with_a_reason(void **state) {
    (void)state;
    static const struct {
        zip_case zip;
        const char *says;
    } cases[] = {
        {{.npy = I4("(2,)"), .data = 8, .wrong_crc = 1}, "CRC"},
        {{.npy = I4("(2,)"), .data = 8, .flags = 1}, "encrypted"},
        {{.npy = I4("(2,)"), .data = 8, .method = 12}, "method 12"},
        {{.npy = I4("(2,)"), .data = 8, .method = 8}, "damaged"}, /* not what deflate makes */
        {{.npy = I4("(2,)"), .data = 8, .method = 8, .claim_more = 1u << 30}, "cannot be"},
        {{.npy = I4("(2,)"), .data = 8, .claim_more = 1}, "cannot be"},
        {{.npy = I4("(2,)"), .data = 8, .claim_more = 5000, .claim_packed = 5000}, "cannot be"},
        {{.npy = I4("(2,)"), .data = 7}, "cut short"},
        {{.npy = I4("(2,)"), .data = 9}, "too long"},
        {{.npy = I4("(100000000000,)"), .data = 8}, "cut short"},
        {{.npy = NULL, .data = 0}, "too few"},
        {{.npy = NULL, .data = 100}, "mark of a .npy"},
        {{.npy = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", .data = 8},
         "Python objects"},
        {{.npy = "{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }", .data = 8},
         "big-endian"},
        {{.npy = "{'descr': '<i2', 'fortran_order': False, 'shape': (4,), }", .data = 8},
         "astype('<i4')"},
        {{.npy = "{'descr': '<U1', 'fortran_order': False, 'shape': (2,), }", .data = 8}, "text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pgcn_i_array array;
        assert_int_equal(read_case(&cases[i].zip, &array), PGCN_ERR_FORMAT);
        assert_error_says(cases[i].says);
        assert_error_says("a.npz:a.npy");
    }
}

/* A deflated gigabyte of zeros has a megabyte: possible, but refused. */
static void test_npz_bombs_are_refused_before_they_are_unpacked(void **state) {
    (void)state;
    const int64_t most = (int64_t)1 << 30;
    unsigned char *bytes = calloc(2 << 20, 1);
    assert_non_null(bytes);
    zip_case c = {.npy = NULL,
                  .data = 0,
                  .method = 8,
                  .claim_more = (uint32_t)(most + 1),
                  .claim_packed = 1 << 20};
    /* make_zip knows small members only: give this one its packed bytes afterwards */
    size_t length = make_zip(bytes, &c), local = 30 + 5;
    memmove(bytes + local + (1 << 20), bytes + local, length - local);
    size_t directory_at = length - 6 + (1 << 20);
    put(bytes, directory_at, (uint32_t)(local + (1 << 20)), 4);
    const char *path = scratch_write("bomb.npz", bytes, length + (1 << 20));
    int64_t before = pgcn_i_alloc_count();
    pgcn_i_array array;
    assert_int_equal(read_one(path, "a", &array), PGCN_ERR_FORMAT);
    assert_error_says("a zip bomb");
    assert_true(pgcn_i_alloc_count() - before <= 2); /* of pgcn_i_npz_open */
    free(bytes);
}

static void test_npz_missing_member_is_told(void **state) {
    (void)state;
    unsigned char bytes[2048];
    zip_case c = {.npy = I4("(2,)"), .data = 8};
    const char *path = scratch_write("a.npz", bytes, make_zip(bytes, &c));
    pgcn_i_npz *npz;
    pgcn_i_array array;
    assert_int_equal(pgcn_i_npz_open(path, &npz), PGCN_OK);
    assert_true(pgcn_i_npz_has(npz, "a"));
    assert_false(pgcn_i_npz_has(npz, "b"));
    assert_false(pgcn_i_npz_has(npz, "a.npy"));
    assert_int_equal(pgcn_i_npz_read(npz, "b", &arena, &array), PGCN_ERR_FORMAT);
    assert_error_says("a.npz:b.npy");
    assert_int_equal(pgcn_i_npz_read_text(npz, "a", &arena, &array), PGCN_ERR_FORMAT);
    assert_error_says("found an array int32 [2], expected text");
    pgcn_i_npz_close(npz);
}

static void test_npz_what_is_no_archive_is_refused(void **state) {
    (void)state;
    pgcn_i_npz *npz;
    assert_int_equal(pgcn_i_npz_open(scratch_path("none.npz"), &npz), PGCN_ERR_IO);
    assert_int_equal(pgcn_i_npz_open(scratch, &npz), PGCN_ERR_IO);
    assert_int_equal(pgcn_i_npz_open(scratch_write("a.npz", "", 0), &npz), PGCN_ERR_FORMAT);
    assert_int_equal(pgcn_i_npz_open(scratch_write("a.npz", "no zip at all", 13), &npz),
                     PGCN_ERR_FORMAT);
    assert_error_says("a.npz");
    /* a directory of 2^60 members, in the 64-bit form */
    unsigned char bytes[98] = {0};
    size_t at = put(bytes, 0, 0x06064b50, 4);
    at = put(bytes, at, 44, 4), at = put(bytes, at, 0, 4), at = put(bytes, at, 0x002d002d, 4);
    at += 8;
    for (int i = 0; i < 2; i++) at = put(bytes, at, 0, 4), at = put(bytes, at, 1u << 28, 4);
    at += 16;
    at = put(bytes, at, 0x07064b50, 4), at += 12, at = put(bytes, at, 1, 4);
    at = put(bytes, at, 0x06054b50, 4), at += 4, at = put(bytes, at, 0xffffffff, 4);
    at = put(bytes, at, 0xffffffff, 4), at = put(bytes, at, 0xffffffff, 4);
    pgcn_status status = pgcn_i_npz_open(scratch_write("a.npz", bytes, at + 2), &npz);
    assert_true(status == PGCN_ERR_FORMAT || status == PGCN_ERR_MEMORY);
}

/* ---- what we write ------------------------------------------------------------------------- */

static int32_t edges[] = {0, 1, 1, 2, 2, 0};
static uint32_t names[] = {'a', 'b', 'c', 0xe9, 0, 0};
static float empty[1];

static void write_sample(const char *path) {
    pgcn_i_tensor arrays[] = {
        {"edges", {PGCN_I_I32, 2, {3, 2}, 6, edges}},
        {"names", {PGCN_I_UCS4, 2, {2, 3}, 6, names}},
        {"nothing", {PGCN_I_F32, 2, {0, 4}, 0, empty}},
        {"number", {PGCN_I_I32, 0, {0}, 1, edges + 3}},
    };
    assert_int_equal(pgcn_i_npz_write(path, arrays, 4), PGCN_OK);
}

static void test_npz_written_arrays_come_back(void **state) {
    (void)state;
    pgcn_i_npz *npz;
    pgcn_i_array array;
    write_sample(scratch_path("a.npz"));
    assert_int_equal(pgcn_i_npz_open(scratch_path("a.npz"), &npz), PGCN_OK);
    assert_int_equal(pgcn_i_npz_read(npz, "edges", &arena, &array), PGCN_OK);
    assert_memory_equal(array.data, edges, sizeof edges);
    assert_int_equal(array.shape[0], 3);
    assert_int_equal(pgcn_i_npz_read(npz, "names", &arena, &array), PGCN_ERR_FORMAT);
    assert_int_equal(pgcn_i_npz_read_text(npz, "names", &arena, &array), PGCN_OK);
    assert_memory_equal(array.data, names, sizeof names);
    assert_int_equal(array.rank, 2);
    assert_int_equal(array.shape[1], 3);
    assert_int_equal(pgcn_i_npz_read(npz, "nothing", &arena, &array), PGCN_OK);
    assert_int_equal(array.count, 0);
    assert_int_equal(array.shape[1], 4);
    assert_int_equal(pgcn_i_npz_read(npz, "number", &arena, &array), PGCN_OK);
    assert_int_equal(array.rank, 0);
    assert_int_equal(*(int32_t *)array.data, 2);
    pgcn_i_npz_close(npz);
}

static void test_npz_same_arrays_give_the_same_bytes(void **state) {
    (void)state;
    write_sample(scratch_path("a.npz"));
    write_sample(scratch_path("b.npz"));
    assert_same_bytes(scratch_path("a.npz"), scratch_path("b.npz"));
    file_bytes bytes = bytes_of(scratch_path("a.npz"));
    assert_memory_equal(bytes.data + 10, "\0\0\x21\0", 4); /* 1980-01-01 00:00, not now */
    free(bytes.data);
    assert_int_equal(scratch_count(), 2);
}

static void test_npz_write_to_nowhere_is_an_error(void **state) {
    (void)state;
    pgcn_i_tensor one = {"a", {PGCN_I_I32, 1, {2}, 2, edges}};
    assert_int_equal(pgcn_i_npz_write(scratch_path("no/a.npz"), &one, 1), PGCN_ERR_IO);
    assert_int_equal(pgcn_i_npz_write(scratch_path("a.npz"), &one, 0), PGCN_ERR_ARGUMENT);
    one.array.shape[0] = -1;
    assert_int_equal(pgcn_i_npz_write(scratch_path("a.npz"), &one, 1), PGCN_ERR_ARGUMENT);
    assert_int_equal(scratch_count(), 0);
}

/* Reads everything of a file that may be damaged: any clear error is fine. */
static pgcn_status read_all(const char *path) {
    pgcn_i_npz *npz;
    pgcn_i_array array;
    PGCN_TRY(pgcn_i_npz_open(path, &npz));
    pgcn_status status = pgcn_i_npz_read(npz, "edges", &arena, &array);
    if (status == PGCN_OK) {
        assert_int_equal(array.count, 6);
        assert_memory_equal(array.data, edges, sizeof edges); /* never wrong data */
        status = pgcn_i_npz_read_text(npz, "names", &arena, &array);
    }
    if (status == PGCN_OK) status = pgcn_i_npz_read(npz, "nothing", &arena, &array);
    if (status == PGCN_OK) status = pgcn_i_npz_read(npz, "number", &arena, &array);
    pgcn_i_npz_close(npz);
    return status;
}

static void test_npz_every_truncation_is_refused(void **state) {
    (void)state;
    write_sample(scratch_path("a.npz"));
    file_bytes whole = bytes_of(scratch_path("a.npz"));
    for (size_t cut = 0; cut < whole.count; cut++)
        assert_int_equal(read_all(scratch_write("b.npz", whole.data, cut)), PGCN_ERR_FORMAT);
    assert_int_equal(read_all(scratch_write("b.npz", whole.data, whole.count)), PGCN_OK);
    free(whole.data);
}

static void test_npz_every_changed_byte_is_read_or_refused(void **state) {
    (void)state;
    static const unsigned char flips[] = {1, 0x80, 0xff};
    write_sample(scratch_path("a.npz"));
    file_bytes whole = bytes_of(scratch_path("a.npz"));
    int refused = 0;
    for (size_t at = 0; at < whole.count; at++)
        for (size_t f = 0; f < sizeof flips; f++) {
            whole.data[at] = (char)(whole.data[at] ^ flips[f]);
            pgcn_status status = read_all(scratch_write("b.npz", whole.data, whole.count));
            whole.data[at] = (char)(whole.data[at] ^ flips[f]);
            assert_true(status == PGCN_OK || status == PGCN_ERR_FORMAT);
            refused += status != PGCN_OK;
            pgcn_i_arena_free(&arena);
        }
    assert_true(refused > 1000);
    free(whole.data);
}

static pgcn_status write_and_read(void) {
    pgcn_i_tensor one = {"edges", {PGCN_I_I32, 2, {3, 2}, 6, edges}};
    pgcn_i_npz *npz;
    pgcn_i_array array;
    pgcn_i_arena own = {0};
    PGCN_TRY(pgcn_i_npz_write(scratch_path("m.npz"), &one, 1));
    PGCN_TRY(pgcn_i_npz_open(scratch_path("m.npz"), &npz));
    pgcn_status status = pgcn_i_npz_read(npz, "edges", &own, &array);
    pgcn_i_npz_close(npz);
    pgcn_i_arena_free(&own);
    return status;
}

static void test_npz_every_allocation_may_fail(void **state) {
    (void)state;
    assert_true(fail_every_allocation(write_and_read) >= 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_npz_stored_member_is_read, begin, end),
        cmocka_unit_test_setup_teardown(test_npz_fortran_order_matrix_is_transposed, begin, end),
        cmocka_unit_test_setup_teardown(test_npz_hostile_members_are_refused_with_a_reason, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_npz_bombs_are_refused_before_they_are_unpacked, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_npz_missing_member_is_told, begin, end),
        cmocka_unit_test_setup_teardown(test_npz_what_is_no_archive_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_npz_written_arrays_come_back, begin, end),
        cmocka_unit_test_setup_teardown(test_npz_same_arrays_give_the_same_bytes, begin, end),
        cmocka_unit_test_setup_teardown(test_npz_write_to_nowhere_is_an_error, begin, end),
        cmocka_unit_test_setup_teardown(test_npz_every_truncation_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_npz_every_changed_byte_is_read_or_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_npz_every_allocation_may_fail, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
