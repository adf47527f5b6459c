/* pickle.c: what Python and NumPy write comes back; what a hostile file asks for is refused, and
 * its memory stays within a constant times its length. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "scratch_help.h"
#include "pickle_samples.h"

#include "io/pickle.h"

static pgcn_i_arena arena;

static int begin(void **state) {
    return scratch_make(state);
}
static int end(void **state) {
    pgcn_i_arena_free(&arena);
    return scratch_remove(state);
}

static pgcn_status try_pickle(const void *data, size_t bytes, const pgcn_i_pickle **out) {
    int64_t length;
    pgcn_status status =
        pgcn_i_pickle_read(scratch_write("a.pickle", data, bytes), &arena, out, &length);
    if (status == PGCN_OK) assert_int_equal(length, bytes);
    return status;
}

static const pgcn_i_pickle *read_pickle(const void *data, size_t bytes) {
    const pgcn_i_pickle *out = NULL;
    if (try_pickle(data, bytes, &out) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    return out;
}

static const pgcn_i_pickle *item(const pgcn_i_pickle *container, int i) {
    const pgcn_i_pickle_item *at = container->items.first;
    for (; at && i > 0; i--) at = at->next;
    assert_non_null(at);
    return at->value;
}

static void assert_kind(const pgcn_i_pickle *value, pgcn_i_pickle_kind kind, int64_t count) {
    assert_non_null(value);
    assert_int_equal(value->kind, kind);
    if (count >= 0) assert_int_equal(value->items.count, count);
}

static void assert_integer(const pgcn_i_pickle *value, int64_t wanted) {
    assert_kind(value, PGCN_I_PICKLE_INTEGER, -1);
    assert_int_equal(value->integer, wanted);
}

/* ---- valid files ----------------------------------------------------------------------------- */

static void test_pickle_plain_values_of_every_protocol_come_back(void **state) {
    (void)state;
    for (int protocol = 0; protocol < 5; protocol++) {
        const pgcn_i_pickle *dict =
            read_pickle(sample_plain[protocol].data, sample_plain[protocol].bytes);
        assert_kind(dict, PGCN_I_PICKLE_DICT, 8);
        const pgcn_i_pickle *list = pgcn_i_pickle_find(dict, "k");
        assert_kind(list, PGCN_I_PICKLE_LIST, 4);
        assert_integer(item(list, 0), 1);
        assert_integer(item(list, 1), -2);
        assert_integer(item(list, 2), 70000);
        assert_integer(item(list, 3), -3 * ((int64_t)1 << 40));
        const pgcn_i_pickle *tuple = pgcn_i_pickle_find(dict, "t");
        assert_kind(tuple, PGCN_I_PICKLE_TUPLE, 4);
        assert_kind(item(tuple, 0), PGCN_I_PICKLE_FLOAT, -1);
        assert_true(item(tuple, 0)->real == 1.5);
        assert_kind(item(tuple, 1), PGCN_I_PICKLE_NONE, -1);
        assert_kind(item(tuple, 2), PGCN_I_PICKLE_BOOL, -1);
        assert_int_equal(item(tuple, 2)->integer, 1);
        assert_int_equal(item(tuple, 3)->integer, 0);
        const pgcn_i_pickle *empty = pgcn_i_pickle_find(dict, "e");
        assert_kind(item(empty, 0), PGCN_I_PICKLE_TUPLE, 0);
        assert_kind(item(empty, 1), PGCN_I_PICKLE_LIST, 0);
        assert_kind(item(empty, 2), PGCN_I_PICKLE_DICT, 0);
        const pgcn_i_pickle *text = pgcn_i_pickle_find(dict, "s");
        assert_kind(text, PGCN_I_PICKLE_TEXT, -1);
        assert_int_equal(text->text.bytes, 5);
        assert_memory_equal(text->text.data, "text\n", 5);
        assert_null(pgcn_i_pickle_find(dict, "text"));
        assert_null(pgcn_i_pickle_find(list, "k"));
    }
}

static void assert_matrix_array(const pgcn_i_pickle *value) {
    assert_kind(value, PGCN_I_PICKLE_ARRAY, -1);
    assert_int_equal(value->array->dtype, PGCN_I_I32);
    assert_int_equal(value->array->rank, 2);
    assert_int_equal(value->array->shape[0], 2);
    assert_int_equal(value->array->shape[1], 2);
    static const int64_t wanted[] = {1, 200, 3, -4};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pgcn_i_pickle_int(value->array, i), wanted[i]);
        assert_true(pgcn_i_pickle_float(value->array, i) == (double)wanted[i]);
    }
}

static void test_pickle_numpy_arrays_of_every_protocol_come_back(void **state) {
    (void)state;
    for (int protocol = 0; protocol < 5; protocol++)
        assert_matrix_array(read_pickle(sample_array[protocol].data, sample_array[protocol].bytes));
}

static void test_pickle_csr_matrices_of_every_protocol_come_back(void **state) {
    (void)state;
    for (int protocol = 0; protocol < 5; protocol++) {
        const pgcn_i_pickle *csr =
            read_pickle(sample_csr[protocol].data, sample_csr[protocol].bytes);
        assert_kind(csr, PGCN_I_PICKLE_CSR, -1);
        const pgcn_i_pickle *shape = pgcn_i_pickle_find(csr->state, "_shape");
        assert_kind(shape, PGCN_I_PICKLE_TUPLE, 2);
        assert_integer(item(shape, 1), 2);
        const pgcn_i_pickle *data = pgcn_i_pickle_find(csr->state, "data");
        assert_kind(data, PGCN_I_PICKLE_ARRAY, -1);
        assert_int_equal(data->array->dtype, PGCN_I_F32);
        assert_true(pgcn_i_pickle_float(data->array, 0) == 2.5);
        const pgcn_i_pickle *offset = pgcn_i_pickle_find(csr->state, "indptr");
        assert_int_equal(offset->array->count, 3);
        assert_int_equal(pgcn_i_pickle_int(offset->array, 2), 2);
    }
}

static void test_pickle_default_dicts_of_every_protocol_come_back(void **state) {
    (void)state;
    for (int protocol = 0; protocol < 5; protocol++) {
        const pgcn_i_pickle *dict =
            read_pickle(sample_neighbours[protocol].data, sample_neighbours[protocol].bytes);
        assert_kind(dict, PGCN_I_PICKLE_DICT, 6);
        assert_integer(item(dict, 0), 0);
        assert_kind(item(dict, 1), PGCN_I_PICKLE_LIST, 2);
        assert_integer(item(item(dict, 1), 1), 2);
        assert_kind(item(dict, 5), PGCN_I_PICKLE_LIST, 0);
    }
}

/* What Python 2 wrote with protocol 0: str with the escapes of repr(). */
static void test_pickle_strings_of_python_2_are_unescaped(void **state) {
    (void)state;
    static const char text[] = "S'a\\x00\\'\\\\\\n\\r\\t\\xfe\"'\np1\n.";
    const pgcn_i_pickle *value = read_pickle(text, sizeof text - 1);
    assert_kind(value, PGCN_I_PICKLE_TEXT, -1);
    assert_int_equal(value->encoding, PGCN_I_PICKLE_BYTES);
    assert_int_equal(value->text.bytes, 9);
    assert_memory_equal(value->text.data, "a\0'\\\n\r\t\xfe\"", 9);
}

#define ARRAY_CLASS  "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\0\205U\001btR"
#define DTYPE(code)  "cnumpy\ndtype\nU\002" code "K\0K\001\207R"
#define LITTLE       "(K\003U\001<NNNtb"
#define PAIR_OF_INTS ARRAY_CLASS "(K\001K\002\205" DTYPE("i4") LITTLE "\211U\010\1\0\0\0\2\0\0\0tb"

static void test_pickle_every_type_of_array_is_read(void **state) {
    (void)state;
    static const struct {
        const char *data;
        size_t bytes;
        pgcn_i_dtype dtype;
    } cases[] = {
#define CASE(text, dtype) {text, sizeof text - 1, dtype}
        CASE(ARRAY_CLASS "(K\1K\1\205" DTYPE("u1") "\211U\1\7tb.", PGCN_I_U8),
        CASE(ARRAY_CLASS "(K\1K\1\205" DTYPE("b1") "(K\3U\1|NNNtb\211U\1\7tb.", PGCN_I_U8),
        CASE(ARRAY_CLASS "(K\1K\1\205" DTYPE("i4") LITTLE "\211U\4\7\0\0\0tb.", PGCN_I_I32),
        CASE(ARRAY_CLASS "(K\1K\1\205" DTYPE("i8") LITTLE "\211U\10\7\0\0\0\0\0\0\0tb.",
             PGCN_I_I64),
        CASE(ARRAY_CLASS "(K\1K\1\205" DTYPE("f4") LITTLE "\211U\4\0\0\340@tb.", PGCN_I_F32),
        CASE(ARRAY_CLASS "(K\1K\1\205" DTYPE("f8") LITTLE "\211U\10\0\0\0\0\0\0\034@tb.",
             PGCN_I_F64),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pgcn_i_pickle *value = read_pickle(cases[i].data, cases[i].bytes);
        assert_kind(value, PGCN_I_PICKLE_ARRAY, -1);
        assert_int_equal(value->array->dtype, cases[i].dtype);
        assert_true(pgcn_i_pickle_float(value->array, 0) == 7);
    }
    /* Fortran order means nothing with one dimension; a scalar shape has one entry */
    static const char fortran[] = ARRAY_CLASS "(K\1K\1\205" DTYPE("i4") LITTLE "\210U\4\7\0\0\0tb.";
    assert_int_equal(read_pickle(fortran, sizeof fortran - 1)->array->count, 1);
    static const char scalar[] = ARRAY_CLASS "(K\1)" DTYPE("i4") LITTLE "\211U\4\7\0\0\0tb.";
    assert_int_equal(read_pickle(scalar, sizeof scalar - 1)->array->rank, 0);
}

static void test_pickle_a_list_may_hold_itself(void **state) {
    (void)state;
    const pgcn_i_pickle *list = read_pickle("]q\0h\0a.", 7);
    assert_kind(list, PGCN_I_PICKLE_LIST, 1);
    assert_ptr_equal(item(list, 0), list);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void test_pickle_that_asks_for_programs_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *data;
        size_t bytes;
        const char *says;
    } cases[] = {
#define HOSTILE(text, says) {text, sizeof text - 1, says}
        HOSTILE("cos\nsystem\n(S'touch /tmp/pathgcn_was_here'\ntR.", "byte 0 asks for os.system"),
        HOSTILE("\200\002}q\000cposix\nsystem\nU\2id\205R.", "byte 5 asks for posix.system"),
        HOSTILE("\200\004\214\010builtins\214\004eval\223\214\0011\205R.",
                "byte 18 asks for builtins.eval"),
        HOSTILE("(S'id'\nios\nsystem\n.", "byte 7 asks for os.system"),
        HOSTILE("(cos\nsystem\nS'id'\no.", "byte 1 asks for os.system"),
        HOSTILE("cnumpy\nload\n.", "asks for numpy.load"),
        HOSTILE("cnumpy.core\nmultiarray._reconstruct\n.", "asks for numpy.core.multi"),
        HOSTILE("cnumpy\nndarrayx\n.", "asks for numpy.ndarrayx"),
        HOSTILE("c__builtin__\ngetattr\n.", "which is not data"),
        HOSTILE("c\33[2J\nx\n.", "asks for \\x1b[2J.x"),
        HOSTILE("Pthing\n.", "not in the file"),
        HOSTILE("K\1Q.", "not in the file"),
        HOSTILE("\202\1.", "not in the file"),
        HOSTILE("c__builtin__\nobject\n)}\222.", "not in the file"),
        /* known names in other roles */
        HOSTILE("c__builtin__\nobject\n)R.", "in a way that no array"),
        HOSTILE("c__builtin__\nlist\nK\1\205R.", "in a way that no array"),
        HOSTILE("c__builtin__\nbytes\nK\177\205R.", "in a way that no array"),
        HOSTILE("ccollections\ndefaultdict\ncnumpy\ndtype\n\205R.", "in a way that no array"),
        HOSTILE("ccopy_reg\n_reconstructor\nc__builtin__\nobject\n\205R.", "in a way"),
        HOSTILE("cnumpy\nndarray\n)\201.", "in a way that no array"),
        HOSTILE("c_codecs\nencode\nU\1aU\3hex\206R.", "codec other than latin1"),
        HOSTILE("c_codecs\nencode\nX\3\0\0\0\342\202\254U\6latin1\206R.", "other characters"),
        HOSTILE("c_codecs\nencode\nX\1\0\0\0\303\224U\6latin1\206R.", "other characters"),
        HOSTILE("K\1)R.", "calls a whole number"),
        HOSTILE("cnumpy\ndtype\nK\1R.", "expected a function and a tuple"),
        HOSTILE("}}b.", "gives a dict as its state to a dict"),
        HOSTILE("cscipy.sparse.csr\ncsr_matrix\n)\201)b.", "gives a tuple as its state"),
        HOSTILE("K\1K\2\223.", "expected two texts"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pgcn_i_pickle *value;
        assert_int_equal(try_pickle(cases[i].data, cases[i].bytes, &value), PGCN_ERR_FORMAT);
        assert_error_says(cases[i].says);
        assert_error_says("a.pickle");
    }
    assert_int_equal(access("/tmp/pathgcn_was_here", F_OK), -1);
}

/* ---- damaged files --------------------------------------------------------------------------- */

static void test_pickle_damaged_files_are_refused_with_a_reason(void **state) {
    (void)state;
    static const struct {
        const char *data;
        size_t bytes;
        const char *says;
    } cases[] = {
        HOSTILE("", "byte 0 is the end of the file"),
        HOSTILE("K\1", "byte 2 is the end of the file"),
        HOSTILE(".", "takes 1 values from a stack that has 0"),
        HOSTILE("K\1a.", "takes 2 values"),
        HOSTILE("](K\1a.", "takes 2 values from a stack that has 1"),
        HOSTILE("e.", "needs a mark"),
        HOSTILE("t.", "needs a mark"),
        HOSTILE("(K\1e.", "stack that has"),
        HOSTILE("(](K\1u.", "into a list, expected a dict"),
        HOSTILE(")K\1a.", "into a tuple, expected a list"),
        HOSTILE("](K\1K\2s.", "takes 3 values"),
        HOSTILE("}(K\1u.", "which is odd"),
        HOSTILE("(K\1d.", "which is odd"),
        HOSTILE("\205.", "takes 1 values"),
        HOSTILE("K\1\207.", "takes 3 values"),
        HOSTILE("(.", "takes 1 values"),
        HOSTILE("R.", "takes 1 values"),
        HOSTILE("b.", "takes 1 values"),
        HOSTILE("2.", "takes 1 values"),
        HOSTILE("0.", "takes 1 values"),
        HOSTILE("q\1.", "takes 1 values"),
        HOSTILE("h\1.", "none was stored"),
        HOSTILE("K\1q\3h\2.", "stored value number 2"),
        HOSTILE("K\1r\377\377\377\377.", "number 4294967295, more than a file of 8 bytes"),
        HOSTILE("K\1p99999999999\n.", "number 99999999999"),
        HOSTILE("K\1p-1\n.", "no number"),
        HOSTILE("K\1g\n.", "no number"),
        HOSTILE("\212\11\1\1\1\1\1\1\1\1\1.", "whole number of 9 bytes"),
        HOSTILE("\213\377\377\377\377.", "whole number of 4294967295 bytes"),
        HOSTILE("I12x\n.", "no whole number"),
        HOSTILE("I99999999999999999999\n.", "no whole number"),
        HOSTILE("I\n.", "no whole number"),
        HOSTILE("Fx\n.", "no number"),
        HOSTILE("I1", "a line that has no end"),
        HOSTILE("cos", "a line that has no end"),
        HOSTILE("T\377\377\377\377ab.", "asks for 4294967295 more bytes"),
        HOSTILE("\215\377\377\377\377\377\377\377\377.", "more bytes, but the file has 1"),
        HOSTILE("J\1", "asks for 4 more bytes"),
        HOSTILE("U", "asks for 1 more bytes"),
        HOSTILE("G\0\0.", "asks for 8 more bytes"),
        HOSTILE("S'a\n.", "without its quotes"),
        HOSTILE("S'\n.", "without its quotes"),
        HOSTILE("S'\\x4'\n.", "none of Python's"),
        HOSTILE("S'\\'\n.", "none of Python's"),
        HOSTILE("S'\\q'\n.", "none of Python's"),
        HOSTILE("V\\u12\n.", "none of Python's"),
        HOSTILE("V\\u20ac\n.", "none of Python's"),
        HOSTILE("\200\005K\1.", "says protocol 5, expected 0 to 4"),
        HOSTILE("\377.", "byte 0 holds 0xff"),
        HOSTILE("\217.", "holds 0x8f"),
        /* arrays */
        HOSTILE(ARRAY_CLASS "(K\1K\1\205" DTYPE("i4") "(K\3U\1>NNNtb\211U\4\0\0\0\1tb.",
                "big-endian"),
        HOSTILE(ARRAY_CLASS "(K\1K\1K\1\206" DTYPE("i4") LITTLE "\210U\4\0\0\0\1tb.", "Fortran"),
        HOSTILE(DTYPE("O8") ".", "of type 'O8'"),
        HOSTILE(DTYPE("f2") ".", "astype('<f4')"),
        HOSTILE("cnumpy\ndtype\n)R.", "of type '?'"),
        HOSTILE(DTYPE("i4") "(K\3U\1<N(t}tb.", "with fields"),
        HOSTILE(DTYPE("i4") "(K\3U\1<tb.", "with fields"),
        HOSTILE(DTYPE("i4") "K\1b.", "with fields"),
        HOSTILE(ARRAY_CLASS "(K\1K\1\205" DTYPE("i4") LITTLE "\211U\3\0\0\0tb.", "do not fit"),
        HOSTILE(ARRAY_CLASS "(K\1K\1\205" DTYPE("i4") LITTLE "\211U\10\0\0\0\0\0\0\0\0tb.",
                "int32 [1] of 8 bytes"),
        HOSTILE(ARRAY_CLASS "(K\1J\377\377\377\377\205" DTYPE("i4") LITTLE "\211U\0tb.",
                "whole numbers from 0"),
        HOSTILE(ARRAY_CLASS "(K\1\212\10\377\377\377\377\377\377\377\177K\2\206" DTYPE("i8") LITTLE
                "\211U\0tb.",
                "do not fit"),
        HOSTILE(ARRAY_CLASS "(K\1(K\0\212\10\377\377\377\377\377\377\377\177K\2t" DTYPE("i8") LITTLE
                "\211U\0tb.",
                "do not fit"),
        HOSTILE(ARRAY_CLASS "(K\1(K\1K\1K\1K\1K\1t" DTYPE("u1") "\211U\1\0tb.", "too long"),
        HOSTILE(ARRAY_CLASS "(K\1]" DTYPE("u1") "\211U\1\0tb.", "shape that is a list"),
        HOSTILE(ARRAY_CLASS "(K\1N\205" DTYPE("u1") "\211U\1\0tb.", "something else than whole"),
        HOSTILE(ARRAY_CLASS "(K\1K\1\205" DTYPE("u1") "\211X\1\0\0\0atb.", "a unicode text"),
        HOSTILE(ARRAY_CLASS "(K\1K\1\205" DTYPE("u1") "\211]tb.", "fills an array from a list"),
        HOSTILE(ARRAY_CLASS "(K\1K\1\205U\2u1\211U\1\0tb.", "something else than (version"),
        HOSTILE(ARRAY_CLASS "(K\1K\1\205" DTYPE("u1") "NU\1\0tb.", "something else than (version"),
        HOSTILE(ARRAY_CLASS "(K\1K\1\205" DTYPE("u1") "\211tb.", "something else than (version"),
        HOSTILE(ARRAY_CLASS "Nb.", "something else than (version"),
        HOSTILE("cnumpy.core.multiarray\n_reconstruct\n)R.", "reconstructs nothing"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pgcn_i_pickle *value;
        pgcn_status status = try_pickle(cases[i].data, cases[i].bytes, &value);
        if (status != PGCN_ERR_FORMAT) fail_msg("case %zu (%s) gave %d", i, cases[i].says, status);
        assert_error_says(cases[i].says);
        assert_error_says("a.pickle");
        assert_error_says("byte ");
    }
}

static void test_pickle_every_truncation_is_refused(void **state) {
    (void)state;
    for (int protocol = 0; protocol < 5; protocol++)
        for (size_t cut = 0; cut < sample_csr[protocol].bytes; cut++) {
            const pgcn_i_pickle *value;
            assert_int_equal(try_pickle(sample_csr[protocol].data, cut, &value), PGCN_ERR_FORMAT);
        }
}

/* All values that can be reached within a few steps, so that ASan sees a bad pointer. */
static int64_t touch(const pgcn_i_pickle *value, int depth) {
    int64_t sum = value->kind;
    if (value->kind == PGCN_I_PICKLE_TEXT)
        for (int64_t i = 0; i < value->text.bytes; i++) sum += value->text.data[i];
    if (value->kind == PGCN_I_PICKLE_ARRAY)
        for (int64_t i = 0; i < value->array->count; i++)
            sum += pgcn_i_pickle_float(value->array, i) > 0;
    if (value->kind == PGCN_I_PICKLE_CSR && value->state) sum += touch(value->state, depth - 1);
    if (depth > 0 && value->kind >= PGCN_I_PICKLE_TUPLE && value->kind <= PGCN_I_PICKLE_DICT)
        for (const pgcn_i_pickle_item *at = value->items.first; at; at = at->next)
            sum += touch(at->value, depth - 1);
    return sum;
}

static void test_pickle_every_changed_byte_is_read_or_refused(void **state) {
    (void)state;
    static const unsigned char values[] = {0,   1,   '.', '(', 't', 'R', 'b', 'a',
                                           'e', 'u', 'q', 'h', '0', '2', 0xff};
    const pickle_sample *samples[] = {&sample_csr[0], &sample_csr[2], &sample_csr[4],
                                      &sample_neighbours[2]};
    int refused = 0;
    for (int s = 0; s < 4; s++) {
        unsigned char bytes[1024];
        memcpy(bytes, samples[s]->data, samples[s]->bytes);
        for (size_t at = 0; at < samples[s]->bytes; at++)
            for (size_t v = 0; v < sizeof values; v++) {
                unsigned char kept = bytes[at];
                const pgcn_i_pickle *value;
                bytes[at] = values[v];
                pgcn_status status = try_pickle(bytes, samples[s]->bytes, &value);
                assert_true(status == PGCN_OK || status == PGCN_ERR_FORMAT);
                if (status == PGCN_OK) touch(value, 4);
                refused += status != PGCN_OK;
                bytes[at] = kept;
                pgcn_i_arena_free(&arena);
            }
    }
    assert_true(refused > 5000); /* most changes matter */
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct peak_memory {
    int64_t live, peak;
} peak_memory;

static void *peak_alloc(size_t bytes, size_t align, void *context) {
    peak_memory *memory = context;
    int64_t *block = aligned_alloc(align, bytes + align);
    if (!block) return NULL;
    block[0] = (int64_t)bytes;
    memory->live += (int64_t)bytes;
    if (memory->live > memory->peak) memory->peak = memory->live;
    return (char *)block + align;
}
static void peak_free(void *block, void *context) {
    int64_t *start = (int64_t *)(void *)((char *)block - PGCN_ALIGN);
    ((peak_memory *)context)->live -= start[0];
    free(start);
}

static int64_t peak_of(const char *data, size_t bytes, pgcn_status wanted) {
    peak_memory memory = {0};
    const pgcn_i_pickle *value;
    int64_t length;
    const char *path = scratch_write("a.pickle", data, bytes);
    pgcn_set_allocator(&(pgcn_allocator){peak_alloc, peak_free, &memory});
    pgcn_status status = pgcn_i_pickle_read(path, &arena, &value, &length);
    pgcn_i_arena_free(&arena);
    pgcn_set_allocator(NULL);
    assert_int_equal(status, wanted);
    assert_int_equal(memory.live, 0);
    return memory.peak;
}

/* `start`, then `repeated` until the file has about `bytes`, then `last`. */
static int64_t peak_of_many(const char *start, size_t start_bytes, const char *repeated,
                            size_t repeated_bytes, size_t bytes, const char *last,
                            pgcn_status wanted) {
    char *data = malloc(bytes + start_bytes + repeated_bytes + 16);
    assert_non_null(data);
    memcpy(data, start, start_bytes);
    size_t at = start_bytes;
    for (; at < bytes; at += repeated_bytes) memcpy(data + at, repeated, repeated_bytes);
    memcpy(data + at, last, strlen(last));
    int64_t peak = peak_of(data, at + strlen(last), wanted);
    free(data);
    return peak;
}

/* Seen: 70 bytes of memory for a byte of file at worst (a long tuple of None), 35 for an honest
 * list of small numbers. */
static void test_pickle_memory_is_bounded_by_the_length_of_the_file(void **state) {
    (void)state;
    static const struct {
        const char *start, *repeated;
        size_t start_bytes, repeated_bytes;
        const char *last;
        pgcn_status status;
    } cases[] = {
#define MANY(start, repeated, last, status)                                                        \
    {start, repeated, sizeof start - 1, sizeof repeated - 1, last, status}
        MANY("", "(", "l.", PGCN_OK),  /* marks */
        MANY("", "]", ".", PGCN_OK),   /* the stack */
        MANY("(", "N", "t.", PGCN_OK), /* a long tuple */
        MANY("](", "K\1", "e.", PGCN_OK),
        MANY("K\1", "\205", ".", PGCN_OK), /* nested 100000 deep */
        MANY("(", "2", ".", PGCN_ERR_FORMAT), MANY("N", "2", ".", PGCN_OK),
        MANY("N", "\224", ".", PGCN_OK), MANY("U\0", "S'\\n'\n", ".", PGCN_OK),
        MANY("cnumpy.core.multiarray\n_reconstruct\nq\0cnumpy\nndarray\n\205q\1", "h\0h\1R", ".",
             PGCN_OK),
        /* a text decoded, an array filled, a list used again and again */
        MANY("c_codecs\nencode\nq\0X\100\0\0\0"
             "abcdefghabcdefghabcdefghabcdefghabcdefghabcdefghabcdefghabcdefgh"
             "U\6latin1\206q\1",
             "h\0h\1R0", "N.", PGCN_ERR_FORMAT),
        MANY(PAIR_OF_INTS "q\2", "h\2", "(l.", PGCN_OK),
        MANY("]q\1]q\2", "](h\1h\1h\1h\1h\1h\1h\1h\1eq\1", ".", PGCN_OK), /* billion laughs */
    };
    enum { BYTES = 100000, WORST = 100 };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t peak = peak_of_many(cases[i].start, cases[i].start_bytes, cases[i].repeated,
                                    cases[i].repeated_bytes, BYTES, cases[i].last, cases[i].status);
        if (peak > (int64_t)BYTES * WORST)
            fail_msg("case %zu needed %lld bytes for a file of %d", i, (long long)peak, BYTES);
    }
    assert_true(peak_of("\200\002K\1.", 5, PGCN_OK) < 16384); /* small files need little */
}

static pgcn_status read_and_free(void) {
    pgcn_i_arena own = {0};
    const pgcn_i_pickle *value;
    int64_t length;
    pgcn_status status = pgcn_i_pickle_read(scratch_path("b.pickle"), &own, &value, &length);
    pgcn_i_arena_free(&own);
    return status;
}

static void test_pickle_every_failing_allocation_is_told(void **state) {
    (void)state;
    for (int protocol = 0; protocol < 5; protocol += 2) {
        scratch_write("b.pickle", sample_csr[protocol].data, sample_csr[protocol].bytes);
        assert_true(fail_every_allocation(read_and_free) > 5);
    }
}

static void test_pickle_not_a_regular_file_is_refused(void **state) {
    (void)state;
    const pgcn_i_pickle *value;
    int64_t length;
    assert_int_equal(pgcn_i_pickle_read(scratch_path("none"), &arena, &value, &length),
                     PGCN_ERR_IO);
    assert_int_equal(pgcn_i_pickle_read(scratch, &arena, &value, &length), PGCN_ERR_IO);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_pickle_plain_values_of_every_protocol_come_back),
        TEST(test_pickle_numpy_arrays_of_every_protocol_come_back),
        TEST(test_pickle_csr_matrices_of_every_protocol_come_back),
        TEST(test_pickle_default_dicts_of_every_protocol_come_back),
        TEST(test_pickle_strings_of_python_2_are_unescaped),
        TEST(test_pickle_every_type_of_array_is_read),
        TEST(test_pickle_a_list_may_hold_itself),
        TEST(test_pickle_that_asks_for_programs_is_refused),
        TEST(test_pickle_damaged_files_are_refused_with_a_reason),
        TEST(test_pickle_every_truncation_is_refused),
        TEST(test_pickle_every_changed_byte_is_read_or_refused),
        TEST(test_pickle_memory_is_bounded_by_the_length_of_the_file),
        TEST(test_pickle_every_failing_allocation_is_told),
        TEST(test_pickle_not_a_regular_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
