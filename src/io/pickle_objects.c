/* Classes and functions in a pickle: the few names that are known, and the arrays, dtypes and CSR
 * matrices that are built in their place. Nothing is ever called. Called by pickle.c. Thread-safe. */
#include "io/pickle_machine.h"

typedef pgcn_i_pickle value;
typedef pgcn_i_pickle_item item;
typedef pgcn_i_pickle_machine machine;

typedef enum symbol {
    RECONSTRUCT,
    NDARRAY,
    DTYPE,
    CSR_MATRIX,
    DEFAULTDICT,
    LIST,
    OBJECT,
    BYTES,
    RECONSTRUCTOR,
    ENCODE
} symbol;

/* Several spellings: of Python 2 and 3, and of the modules to which NumPy and SciPy moved their
 * classes. */
static const struct {
    const char *module, *name;
    symbol symbol;
} known_names[] = {
    {"numpy.core.multiarray", "_reconstruct", RECONSTRUCT},
    {"numpy._core.multiarray", "_reconstruct", RECONSTRUCT},
    {"numpy", "ndarray", NDARRAY},
    {"numpy", "dtype", DTYPE},
    {"scipy.sparse.csr", "csr_matrix", CSR_MATRIX},
    {"scipy.sparse._csr", "csr_matrix", CSR_MATRIX},
    {"collections", "defaultdict", DEFAULTDICT},
    {"__builtin__", "list", LIST},
    {"builtins", "list", LIST},
    {"__builtin__", "object", OBJECT},
    {"builtins", "object", OBJECT},
    {"__builtin__", "bytes", BYTES},
    {"builtins", "bytes", BYTES},
    {"copy_reg", "_reconstructor", RECONSTRUCTOR},
    {"copyreg", "_reconstructor", RECONSTRUCTOR},
    {"_codecs", "encode", ENCODE},
};
enum { KNOWN_NAMES = sizeof known_names / sizeof known_names[0] };

/* ---- operations: names ----------------------------------------------------------------------- */

static pgcn_status refuse_name(const machine *m, const char *module, int64_t module_bytes,
                               const char *name, int64_t name_bytes) {
    char where[PGCN_I_EXCERPT], what[PGCN_I_EXCERPT];
    pgcn_i_text_excerpt(module, module_bytes, where);
    pgcn_i_text_excerpt(name, name_bytes, what);
    return PGCN_I_PICKLE_BAD(
        m,
        "asks for %s.%s, which is not data; such a file can run programs when Python "
        "opens it, here nothing was run: get the data from a source you trust, as plain "
        "NumPy arrays",
        where, what);
}

static pgcn_status push_symbol(machine *m, const char *module, int64_t module_bytes,
                               const char *name, int64_t name_bytes) {
    for (int i = 0; i < KNOWN_NAMES; i++)
        if (pgcn_i_is_word(module, (size_t)module_bytes, known_names[i].module) &&
            pgcn_i_is_word(name, (size_t)name_bytes, known_names[i].name))
            return pgcn_i_pickle_push_integer(m, PGCN_I_PICKLE_SYMBOL, known_names[i].symbol);
    return refuse_name(m, module, module_bytes, name, name_bytes);
}

pgcn_status pgcn_i_pickle_run_global(machine *m, int old_instance) {
    char *module, *name;
    int64_t module_bytes, name_bytes;
    PGCN_TRY(pgcn_i_pickle_take_line(m, &module, &module_bytes));
    PGCN_TRY(pgcn_i_pickle_take_line(m, &name, &name_bytes));
    if (old_instance) return refuse_name(m, module, module_bytes, name, name_bytes);
    return push_symbol(m, module, module_bytes, name, name_bytes);
}

pgcn_status pgcn_i_pickle_run_stack_global(machine *m, int unused) {
    (void)unused;
    value *module, *name;
    PGCN_TRY(pgcn_i_pickle_pop(m, &name));
    PGCN_TRY(pgcn_i_pickle_pop(m, &module));
    if (module->kind != PGCN_I_PICKLE_TEXT || name->kind != PGCN_I_PICKLE_TEXT)
        return PGCN_I_PICKLE_BAD(
            m,
            "asks for a class by %s and %s, expected two texts; the file is damaged: get "
            "it again",
            pgcn_i_pickle_kind_name(module), pgcn_i_pickle_kind_name(name));
    return push_symbol(m, module->text.data, module->text.bytes, name->text.data, name->text.bytes);
}

/* Operations that refer to objects outside the file. */
pgcn_status pgcn_i_pickle_run_refused(machine *m, int unused) {
    (void)unused;
    return PGCN_I_PICKLE_BAD(
        m, "asks for an object that is not in the file; such a file can run programs when "
           "Python opens it, here nothing was run: get the data as plain NumPy arrays");
}

/* ---- operations: making arrays and matrices -------------------------------------------------- */

/* Item i of a tuple, NULL beyond its end. Tuples that are asked for are short. */
static const value *item_of(const value *tuple, int64_t i) {
    const item *at = tuple->kind == PGCN_I_PICKLE_TUPLE ? tuple->items.first : NULL;
    for (; at && i > 0; i--) at = at->next;
    return at ? at->value : NULL;
}

static bool is_symbol(const value *v, symbol wanted) {
    return v && v->kind == PGCN_I_PICKLE_SYMBOL && v->integer == wanted;
}

static pgcn_status make_dtype(machine *m, const value *arguments) {
    static const struct {
        const char *code;
        pgcn_i_dtype dtype;
    } types[] = {{"f4", PGCN_I_F32}, {"f8", PGCN_I_F64}, {"i4", PGCN_I_I32},
                 {"i8", PGCN_I_I64}, {"u1", PGCN_I_U8},  {"b1", PGCN_I_U8}};
    const value *code = item_of(arguments, 0);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (pgcn_i_pickle_is_text(code, types[i].code))
            return pgcn_i_pickle_push_integer(m, PGCN_I_PICKLE_DTYPE, types[i].dtype);
    char shown[PGCN_I_EXCERPT] = "?";
    if (code && code->kind == PGCN_I_PICKLE_TEXT)
        pgcn_i_text_excerpt(code->text.data, code->text.bytes, shown);
    return PGCN_I_PICKLE_BAD(
        m,
        "makes an array of type '%s', expected one of 'f4', 'f8', 'i4', 'i8', 'u1', 'b1'; "
        "convert it with a.astype('<f4') for numbers, '<i4' for ids",
        shown);
}

/* An empty array, as np.ndarray((0,), 'b') makes it; BUILD fills it. */
static pgcn_status make_array(machine *m, const value *arguments) {
    if (!is_symbol(item_of(arguments, 0), NDARRAY))
        return PGCN_I_PICKLE_BAD(m, "reconstructs %s, expected numpy.ndarray; save plain arrays",
                                 pgcn_i_pickle_kind_name(item_of(arguments, 0)));
    value *v = pgcn_i_pickle_make(m, PGCN_I_PICKLE_ARRAY);
    if (!v || !(v->array = PGCN_I_ARRAY(m->arena, pgcn_i_array, 1))) return PGCN_ERR_MEMORY;
    v->array->rank = 1;
    v->array->data = m->start;
    return pgcn_i_pickle_push(m, v);
}

/* The two lowest pieces of UTF-8 give latin1; false for any other character. */
static bool utf8_to_latin1(const char *text, int64_t bytes, char *out, int64_t *out_bytes) {
    *out_bytes = 0;
    for (int64_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x80) {
            if ((c != 0xc2 && c != 0xc3) || i + 1 == bytes || (text[i + 1] & 0xc0) != 0x80)
                return false;
            c = (unsigned char)((c & 3) << 6 | (text[++i] & 0x3f));
        }
        out[(*out_bytes)++] = (char)c;
    }
    return true;
}

/* _codecs.encode(text, 'latin1'): how Python 3 writes bytes with protocols 0 to 2. */
static pgcn_status make_encoded(machine *m, const value *arguments) {
    const value *text = item_of(arguments, 0), *codec = item_of(arguments, 1);
    if (!text || text->kind != PGCN_I_PICKLE_TEXT || !pgcn_i_pickle_is_text(codec, "latin1"))
        return PGCN_I_PICKLE_BAD(
            m, "encodes %s by a codec other than latin1; save plain arrays with protocol=2",
            pgcn_i_pickle_kind_name(text));
    if (text->encoding != PGCN_I_PICKLE_UTF8)
        return pgcn_i_pickle_push_text(m, text->text.data, text->text.bytes, PGCN_I_PICKLE_BYTES);
    char *out;
    int64_t bytes;
    PGCN_TRY(pgcn_i_pickle_decoded_room(m, text->text.bytes, &out));
    if (!utf8_to_latin1(text->text.data, text->text.bytes, out, &bytes))
        return PGCN_I_PICKLE_BAD(
            m, "encodes as latin1 a text with other characters; the file is damaged: get it "
               "again");
    return pgcn_i_pickle_push_text(m, out, bytes, PGCN_I_PICKLE_BYTES);
}

/* Builds the value that Python would get by calling `callable` with `arguments`. */
static pgcn_status make_called(machine *m, const value *callable, const value *arguments) {
    if (callable->kind != PGCN_I_PICKLE_SYMBOL || arguments->kind != PGCN_I_PICKLE_TUPLE)
        return PGCN_I_PICKLE_BAD(
            m,
            "calls %s with %s, expected a function and a tuple; the file is damaged: get "
            "it again",
            pgcn_i_pickle_kind_name(callable), pgcn_i_pickle_kind_name(arguments));
    switch ((symbol)callable->integer) {
    case RECONSTRUCT: return make_array(m, arguments);
    case DTYPE: return make_dtype(m, arguments);
    case ENCODE: return make_encoded(m, arguments);
    case RECONSTRUCTOR:
        if (is_symbol(item_of(arguments, 0), CSR_MATRIX))
            return pgcn_i_pickle_push_empty(m, PGCN_I_PICKLE_CSR);
        break;
    case CSR_MATRIX:
        if (arguments->items.count == 0) return pgcn_i_pickle_push_empty(m, PGCN_I_PICKLE_CSR);
        break;
    case DEFAULTDICT:
        if (arguments->items.count == 0 || is_symbol(item_of(arguments, 0), LIST))
            return pgcn_i_pickle_push_empty(m, PGCN_I_PICKLE_DICT);
        break;
    case LIST:
        if (arguments->items.count == 0) return pgcn_i_pickle_push_empty(m, PGCN_I_PICKLE_LIST);
        break;
    case BYTES:
        if (arguments->items.count == 0)
            return pgcn_i_pickle_push_text(m, m->start, 0, PGCN_I_PICKLE_BYTES);
        break;
    case NDARRAY:
    case OBJECT: break;
    }
    return PGCN_I_PICKLE_BAD(
        m, "builds an object in a way that no array, CSR matrix or defaultdict(list) is "
           "built; save the data as plain NumPy arrays");
}

pgcn_status pgcn_i_pickle_run_call(machine *m, int unused) {
    (void)unused;
    value *callable, *arguments;
    PGCN_TRY(pgcn_i_pickle_pop(m, &arguments));
    PGCN_TRY(pgcn_i_pickle_pop(m, &callable));
    return make_called(m, callable, arguments);
}

/* (version, byte order, subarray, names, fields, ...) */
static pgcn_status set_dtype(const machine *m, const value *state) {
    const value *order = item_of(state, 1);
    if (pgcn_i_pickle_is_text(order, ">"))
        return PGCN_I_PICKLE_BAD(
            m, "makes a big-endian array, expected little-endian; convert it with "
               "a.astype('<f4') for numbers, '<i4' for ids");
    bool plain = pgcn_i_pickle_is_text(order, "<") || pgcn_i_pickle_is_text(order, "|") ||
                 pgcn_i_pickle_is_text(order, "=");
    for (int i = 2; i < 5; i++) {
        const value *part = item_of(state, i);
        plain = plain && part && part->kind == PGCN_I_PICKLE_NONE;
    }
    if (!plain)
        return PGCN_I_PICKLE_BAD(
            m, "makes an array with fields or of an unknown byte order, expected one plain "
               "type; save each field by itself");
    return PGCN_OK;
}

static pgcn_status read_shape(const machine *m, const value *shape, pgcn_i_array *array) {
    enum { MAX_RANK = sizeof array->shape / sizeof array->shape[0] };
    if (!shape || shape->kind != PGCN_I_PICKLE_TUPLE || shape->items.count > MAX_RANK)
        return PGCN_I_PICKLE_BAD(
            m,
            "makes an array of a shape that is %s, expected a tuple of at most %d whole "
            "numbers",
            shape && shape->kind == PGCN_I_PICKLE_TUPLE ? "too long"
                                                        : pgcn_i_pickle_kind_name(shape),
            MAX_RANK);
    array->rank = 0;
    for (const item *at = shape->items.first; at; at = at->next) {
        if (at->value->kind != PGCN_I_PICKLE_INTEGER || at->value->integer < 0)
            return PGCN_I_PICKLE_BAD(
                m, "makes an array of a shape with something else than whole numbers from 0; "
                   "the file is damaged: get it again");
        array->shape[array->rank++] = at->value->integer;
    }
    return PGCN_OK;
}

/* (version, shape, dtype, whether in Fortran order, bytes) */
static pgcn_status set_array(machine *m, const value *v, const value *state) {
    const value *dtype = item_of(state, 2), *fortran = item_of(state, 3), *data = item_of(state, 4);
    pgcn_i_array array = {0};
    int64_t bytes;
    if (!data || state->items.count != 5 || dtype->kind != PGCN_I_PICKLE_DTYPE ||
        (fortran->kind != PGCN_I_PICKLE_BOOL && fortran->kind != PGCN_I_PICKLE_INTEGER))
        return PGCN_I_PICKLE_BAD(
            m, "fills an array from something else than (version, shape, dtype, order, "
               "bytes); save it again with protocol=2");
    if (data->kind != PGCN_I_PICKLE_TEXT || data->encoding != PGCN_I_PICKLE_BYTES)
        return PGCN_I_PICKLE_BAD(
            m, "fills an array from %s, expected bytes; save plain arrays of numbers",
            data->kind == PGCN_I_PICKLE_TEXT ? "a unicode text" : pgcn_i_pickle_kind_name(data));
    array.dtype = (pgcn_i_dtype)dtype->integer;
    PGCN_TRY(read_shape(m, item_of(state, 1), &array));
    if (fortran->integer && array.rank > 1)
        return PGCN_I_PICKLE_BAD(
            m, "makes an array stored column by column (Fortran order), expected C order; "
               "save np.ascontiguousarray(a)");
    char shape[PGCN_I_SHAPE_TEXT];
    pgcn_i_shape_text(array.dtype, array.rank, array.shape, shape);
    if (!pgcn_i_array_size(array.shape, array.rank, array.dtype, &array.count, &bytes) ||
        bytes != data->text.bytes)
        return PGCN_I_PICKLE_BAD(
            m,
            "makes an array %s of %lld bytes, which do not fit; the file is damaged: get "
            "it again",
            shape, (long long)data->text.bytes);
    array.data = (void *)(uintptr_t)data->text.data;
    *v->array = array;
    return PGCN_OK;
}

/* Gives the object on the stack its state. */
pgcn_status pgcn_i_pickle_run_build(machine *m, int unused) {
    (void)unused;
    value *state;
    PGCN_TRY(pgcn_i_pickle_pop(m, &state));
    PGCN_TRY(pgcn_i_pickle_need(m, 1));
    value *v = pgcn_i_pickle_top(m)[-1];
    if (v->kind == PGCN_I_PICKLE_DTYPE) return set_dtype(m, state);
    if (v->kind == PGCN_I_PICKLE_ARRAY) return set_array(m, v, state);
    if (v->kind != PGCN_I_PICKLE_CSR || state->kind != PGCN_I_PICKLE_DICT)
        return PGCN_I_PICKLE_BAD(
            m,
            "gives %s as its state to %s, which is not built so; save the data as plain "
            "NumPy arrays",
            pgcn_i_pickle_kind_name(state), pgcn_i_pickle_kind_name(v));
    v->state = state;
    return PGCN_OK;
}
