/* NumPy .npy, versions 1.0 to 3.0, as a file or as a member of an archive:
 *
 *   "\x93NUMPY" major minor | header length (u16 in 1.0, u32 after) | header | data
 *
 * The header is the text of a Python dictionary with the keys descr, fortran_order and shape. A
 * small strict parser reads just that; nothing is evaluated and nothing is allocated before type,
 * shape and length of the file agree. Called by npz.c and the data room. Thread-safe. */
#include "io/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 4, MAX_HEADER_BYTES = 1 << 16, ALIGNMENT = 64 };
static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

static const struct {
    const char *name, *descr;
    int64_t bytes;
} types[] = {
    [PGCN_I_U8] = {"uint8", "|u1", 1},    [PGCN_I_I32] = {"int32", "<i4", 4},
    [PGCN_I_I64] = {"int64", "<i8", 8},   [PGCN_I_F32] = {"float32", "<f4", 4},
    [PGCN_I_F64] = {"float64", "<f8", 8}, [PGCN_I_UCS4] = {"text", "<U", 4},
    [PGCN_I_F16] = {"float16", "<f2", 2}, [PGCN_I_BF16] = {"bf16", "", 2},
    [PGCN_I_I8] = {"int8", "|i1", 1},
};
enum { TYPES = PGCN_I_UCS4 + 1 }; /* the narrow ones are of containers only */

int64_t pgcn_i_dtype_bytes(pgcn_i_dtype dtype) {
    return types[dtype].bytes;
}

const char *pgcn_i_dtype_name(pgcn_i_dtype dtype) {
    return types[dtype].name;
}

bool pgcn_i_array_size(const int64_t *shape, int rank, pgcn_i_dtype dtype, int64_t *count,
                       int64_t *bytes) {
    /* Zeros are left out of the product that is checked: (0, 2^62, 2^62) is refused, as in NumPy. */
    int64_t product = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] == 0)
            empty = true;
        else if (shape[i] < 0 || !pgcn_i_mul(product, shape[i], &product))
            return false;
    }
    if (!pgcn_i_mul(product, types[dtype].bytes, bytes)) return false;
    if (empty) *bytes = 0;
    *count = empty ? 0 : product;
    return true;
}

void pgcn_i_shape_text(pgcn_i_dtype dtype, int rank, const int64_t *shape,
                       char out[PGCN_I_SHAPE_TEXT]) {
    int used = snprintf(out, PGCN_I_SHAPE_TEXT, "%s [", types[dtype].name);
    for (int i = 0; i < rank && used < PGCN_I_SHAPE_TEXT; i++)
        used += snprintf(out + used, (size_t)(PGCN_I_SHAPE_TEXT - used), "%s%lld", i ? ", " : "",
                         (long long)shape[i]);
    if (used < PGCN_I_SHAPE_TEXT) snprintf(out + used, (size_t)(PGCN_I_SHAPE_TEXT - used), "]");
}

/* ---- other types of numbers --------------------------------------------------------------- */

/* Element i of an array of whole numbers. */
static int64_t whole_at(const pgcn_i_array *array, int64_t i) {
    return array->dtype == PGCN_I_I64   ? ((const int64_t *)array->data)[i]
           : array->dtype == PGCN_I_I32 ? ((const int32_t *)array->data)[i]
                                        : ((const uint8_t *)array->data)[i];
}

static pgcn_status to_f32(pgcn_i_arena *arena, pgcn_i_array *array, bool *rounded) {
    float *out = PGCN_I_ARRAY(arena, float, array->count);
    if (!out) return PGCN_ERR_MEMORY;
    const int64_t exact = 1 << 24; /* all whole numbers up to it are floats */
    for (int64_t i = 0; i < array->count; i++) {
        if (array->dtype == PGCN_I_F64) {
            out[i] = (float)((const double *)array->data)[i];
            continue;
        }
        int64_t whole = whole_at(array, i);
        out[i] = (float)whole;
        *rounded = *rounded || whole > exact || whole < -exact;
    }
    pgcn_i_arena_drop(arena, array->data);
    array->dtype = PGCN_I_F32;
    array->data = out;
    return PGCN_OK;
}

/* The least and the largest whole number of a type. */
static void range_of(pgcn_i_dtype dtype, int64_t *least, int64_t *most) {
    *least = dtype == PGCN_I_I64 ? INT64_MIN : dtype == PGCN_I_I32 ? INT32_MIN : 0;
    *most = dtype == PGCN_I_I64 ? INT64_MAX : dtype == PGCN_I_I32 ? INT32_MAX : UINT8_MAX;
}

static pgcn_status to_whole(const char *name, pgcn_i_arena *arena, pgcn_i_dtype dtype,
                            pgcn_i_array *array) {
    int64_t least, most;
    range_of(dtype, &least, &most);
    char *out = pgcn_i_arena_alloc(arena, array->count, (size_t)types[dtype].bytes);
    if (!out) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < array->count; i++) {
        int64_t value = whole_at(array, i);
        if (value < least || value > most)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': element %lld is %lld, expected %s: %lld to %lld",
                               name, (long long)i, (long long)value, types[dtype].name,
                               (long long)least, (long long)most);
        if (dtype == PGCN_I_I64)
            ((int64_t *)(void *)out)[i] = value;
        else if (dtype == PGCN_I_I32)
            ((int32_t *)(void *)out)[i] = (int32_t)value;
        else
            ((uint8_t *)out)[i] = (uint8_t)value;
    }
    pgcn_i_arena_drop(arena, array->data);
    array->dtype = dtype;
    array->data = out;
    return PGCN_OK;
}

/* Whether numbers of one type may stand for those of another. */
static bool is_convertible(pgcn_i_dtype from, pgcn_i_dtype to) {
    bool whole = from <= PGCN_I_I64;
    if (to == PGCN_I_F32) return whole || from == PGCN_I_F64 || from == PGCN_I_F32;
    return from == to || (whole && to <= PGCN_I_I64);
}

pgcn_status pgcn_i_array_convert(const char *name, pgcn_i_arena *arena, pgcn_i_dtype dtype,
                                 pgcn_i_array *array, bool *rounded) {
    *rounded = false;
    if (array->dtype == dtype) return PGCN_OK;
    return dtype == PGCN_I_F32 ? to_f32(arena, array, rounded)
                               : to_whole(name, arena, dtype, array);
}

pgcn_status pgcn_i_array_to_f32(pgcn_i_arena *arena, pgcn_i_array *array) {
    bool rounded;
    return pgcn_i_array_convert("", arena, PGCN_I_F32, array, &rounded);
}

/* ---- the header -------------------------------------------------------------------------- */

typedef struct parser {
    const char *at, *end;
    const char *path;
    unsigned accepts; /* PGCN_I_NPY_* */
    int64_t width;    /* characters of a string, for text */
    bool by_column;   /* Fortran order of more than one dimension */
} parser;

static pgcn_status bad_header(const parser *text, const char *expected) {
    int shown = (int)(text->end - text->at < 20 ? text->end - text->at : 20);
    for (int i = 0; i < shown; i++) /* do not print the rest of a hostile header */
        if (text->at[i] < ' ' || text->at[i] > '~') shown = i;
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s': its .npy header has '%.*s' where %s is expected; write it "
                       "again with np.save()",
                       text->path, shown, text->at, expected);
}

static void skip_space(parser *text) {
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\n')) text->at++;
}

/* Skips space and then one given character; false if another one follows. */
static bool take(parser *text, char wanted) {
    skip_space(text);
    if (text->at == text->end || *text->at != wanted) return false;
    text->at++;
    return true;
}

/* Skips space and then a word such as True. */
static bool take_word(parser *text, const char *word) {
    skip_space(text);
    size_t length = strlen(word);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0)
        return false;
    text->at += length;
    return true;
}

/* A quoted string without escapes, copied into out. */
static pgcn_status take_string(parser *text, char *out, size_t out_bytes, const char *what) {
    skip_space(text);
    char quote = text->at < text->end ? *text->at : '\0';
    if (quote != '\'' && quote != '"') return bad_header(text, what);
    const char *from = text->at + 1;
    const char *to = memchr(from, quote, (size_t)(text->end - from));
    if (!to || (size_t)(to - from) >= out_bytes || memchr(from, '\\', (size_t)(to - from)))
        return bad_header(text, what);
    memcpy(out, from, (size_t)(to - from));
    out[to - from] = '\0';
    text->at = to + 1;
    return PGCN_OK;
}

/* A tuple of whole numbers: (), (3,), (3, 2) and (3, 2,). */
static pgcn_status take_shape(parser *text, pgcn_i_array *out) {
    if (!take(text, '(')) return bad_header(text, "the shape, a tuple such as (3, 2),");
    bool comma = true;
    out->rank = 0;
    while (!take(text, ')')) {
        if (!comma || text->at == text->end || *text->at < '0' || *text->at > '9')
            return bad_header(text, "a whole number of the shape");
        if (out->rank == MAX_RANK)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': the array has more than %d dimensions, expected at "
                               "most %d; use a.reshape()",
                               text->path, MAX_RANK, MAX_RANK);
        int64_t value = 0;
        for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++)
            if (!pgcn_i_mul(value, 10, &value) || !pgcn_i_add(value, *text->at - '0', &value))
                return bad_header(text, "a dimension below 2^63");
        out->shape[out->rank++] = value;
        comma = take(text, ',');
    }
    if (out->rank == 1 && !comma) return bad_header(text, "a tuple: (3,), not (3)");
    return PGCN_OK;
}

/* '<U7': strings of seven characters, at most nine digits of them. */
static bool take_text_type(parser *text, const char *descr) {
    size_t digits = strncmp(descr, "<U", 2) == 0 ? strspn(descr + 2, "0123456789") : 0;
    if (digits < 1 || digits > 9 || descr[2 + digits] != '\0') return false;
    text->width = strtol(descr + 2, NULL, 10);
    return text->width > 0;
}

/* The type of an array, or a sentence that says how to convert it. */
static pgcn_status find_type(parser *text, const char *descr, pgcn_i_dtype *out) {
    if (strcmp(descr, "|b1") == 0) {
        *out = PGCN_I_U8; /* NumPy's bool is one byte, 0 or 1 */
        return PGCN_OK;
    }
    if ((text->accepts & PGCN_I_NPY_TEXT) && take_text_type(text, descr)) {
        *out = PGCN_I_UCS4;
        return PGCN_OK;
    }
    for (int i = 0; i < TYPES; i++)
        if (i != PGCN_I_UCS4 && strcmp(descr, types[i].descr) == 0) {
            *out = (pgcn_i_dtype)i;
            return PGCN_OK;
        }
    const char *problem = "", *fix = "use a.astype('<f4') for numbers, '<i4' for ids";
    char kind = descr[0] ? descr[1] : '\0';
    if (descr[0] == 'O' || kind == 'O') {
        problem = " (Python objects, which are never read)";
        fix = "save each plain array by itself, e.g. a.astype('<f4')";
    } else if (kind == 'U' || kind == 'S' || kind == 'V') {
        problem = " (text or raw bytes)";
        fix = "number the values and save np.ascontiguousarray(a).astype('<i4')";
    } else if (kind == 'f' || kind == 'c') {
        fix = "use np.ascontiguousarray(a).astype('<f4')";
    } else if (kind == 'i' || kind == 'u') {
        fix = "use np.ascontiguousarray(a).astype('<i4')";
    }
    if (descr[0] == '>') problem = " (big-endian)";
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s': the array is of type '%s'%s, expected one of '<i4', '<i8', "
                       "'<f4', '<f8', '|u1', '|b1'; %s",
                       text->path, descr, problem, fix);
}

static pgcn_status take_type(parser *text, pgcn_i_array *out) {
    char descr[16];
    skip_space(text);
    if (text->at < text->end && *text->at == '[')
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': the array is structured (it has named fields), "
                           "expected one plain type; save each field by itself, e.g. "
                           "np.ascontiguousarray(a['field'])",
                           text->path);
    PGCN_TRY(take_string(text, descr, sizeof descr, "a type such as '<i4'"));
    return find_type(text, descr, &out->dtype);
}

static pgcn_status take_order(parser *text, pgcn_i_array *out) {
    (void)out;
    text->by_column = take_word(text, "True");
    if (!text->by_column && !take_word(text, "False")) return bad_header(text, "True or False");
    return PGCN_OK;
}

/* The keys of a header; each must occur once. */
static const struct {
    const char *name;
    pgcn_status (*take)(parser *text, pgcn_i_array *out);
} header_keys[] = {{"descr", take_type}, {"fortran_order", take_order}, {"shape", take_shape}};
enum { HEADER_KEYS = sizeof header_keys / sizeof *header_keys };

/* Parses the dictionary; only space may follow it. */
static pgcn_status parse_dictionary(parser *text, pgcn_i_array *out) {
    bool seen[HEADER_KEYS] = {0}, comma = true;
    if (!take(text, '{')) return bad_header(text, "a dictionary");
    while (!take(text, '}')) {
        char key[16];
        int k = 0;
        if (!comma) return bad_header(text, "a comma or the end of the dictionary");
        PGCN_TRY(take_string(text, key, sizeof key, "a key in quotes"));
        while (k < HEADER_KEYS && strcmp(key, header_keys[k].name) != 0) k++;
        if (k == HEADER_KEYS || seen[k])
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': its .npy header has the key '%s' %s, expected "
                               "'descr', 'fortran_order' and 'shape' once each; write it again "
                               "with np.save()",
                               text->path, key, k < HEADER_KEYS ? "twice" : "which is unknown");
        seen[k] = true;
        if (!take(text, ':')) return bad_header(text, "a colon");
        PGCN_TRY(header_keys[k].take(text, out));
        comma = take(text, ',');
    }
    skip_space(text);
    if (text->at != text->end) return bad_header(text, "nothing more");
    for (int k = 0; k < HEADER_KEYS; k++)
        if (!seen[k])
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': its .npy header lacks '%s', expected 'descr', "
                               "'fortran_order' and 'shape'; write it again with np.save()",
                               text->path, header_keys[k].name);
    return PGCN_OK;
}

static pgcn_status parse_header(parser *text, pgcn_i_array *out) {
    PGCN_TRY(parse_dictionary(text, out));
    bool transposable = (text->accepts & PGCN_I_NPY_COLUMNS) && !text->width && out->rank == 2;
    text->by_column = text->by_column && out->rank > 1;
    if (text->by_column && !transposable)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': the array is stored column by column (Fortran order), "
                           "expected C order; save np.ascontiguousarray(a)",
                           text->path);
    if (text->width && out->rank == MAX_RANK)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': the array of text has %d dimensions, expected fewer",
                           text->path, MAX_RANK);
    if (text->width) out->shape[out->rank++] = text->width;
    return PGCN_OK;
}

/* Magic, version and length of the header, *length; the input is then at its first byte, *at. */
static pgcn_status read_start(const pgcn_i_byte_source *input, int64_t *at, int64_t *length) {
    unsigned char start[12];
    if (input->bytes < 10)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it has %lld bytes, too few for a .npy file; write it "
                           "with np.save()",
                           input->name, (long long)input->bytes);
    PGCN_TRY(input->read(input->context, start, 10));
    if (memcmp(start, magic, sizeof magic) != 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it does not start with the mark of a .npy file; write "
                           "it with np.save()",
                           input->name);
    if (start[6] < 1 || start[6] > 3 || start[7] != 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': .npy version %d.%d, expected 1.0, 2.0 or 3.0; write it "
                           "with np.save()",
                           input->name, start[6], start[7]);
    *at = start[6] > 1 ? 12 : 10;
    *length = start[8] | start[9] << 8;
    if (input->bytes < *at) {
        *length = INT64_MAX;
    } else if (start[6] > 1) {
        PGCN_TRY(input->read(input->context, start + 10, 2));
        *length |= (int64_t)start[10] << 16 | (int64_t)start[11] << 24;
    }
    if (*length > input->bytes - *at || *length > MAX_HEADER_BYTES)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': its .npy header claims %lld bytes, but the file has %lld "
                           "in all and a header at most %d; the file is damaged, write it again",
                           input->name, (long long)*length, (long long)input->bytes,
                           MAX_HEADER_BYTES);
    return PGCN_OK;
}

/* Reads and checks everything before the data; the input is then at the first data byte. */
static pgcn_status read_header(const pgcn_i_byte_source *input, unsigned accepts, pgcn_i_array *out,
                               int64_t *data_bytes, bool *by_column) {
    char header[MAX_HEADER_BYTES];
    int64_t header_at = 0, length = 0;
    PGCN_TRY(read_start(input, &header_at, &length));
    PGCN_TRY(input->read(input->context, header, length));
    parser text = {.at = header, .end = header + length, .path = input->name, .accepts = accepts};
    *out = (pgcn_i_array){0};
    PGCN_TRY(parse_header(&text, out));
    *by_column = text.by_column;

    char shape[PGCN_I_SHAPE_TEXT];
    pgcn_i_shape_text(out->dtype, out->rank, out->shape, shape);
    int64_t left = input->bytes - header_at - length;
    if (!pgcn_i_array_size(out->shape, out->rank, out->dtype, &out->count, data_bytes))
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': an array %s is larger than any memory; the file is "
                           "damaged, write it again",
                           input->name, shape);
    if (left != *data_bytes)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': an array %s needs %lld bytes of data, but the file has "
                           "%lld (it is %s); write it again with np.save()",
                           input->name, shape, (long long)*data_bytes, (long long)left,
                           left < *data_bytes ? "cut short" : "too long");
    return PGCN_OK;
}

/* ---- reading and writing ----------------------------------------------------------------- */

/* Transposes a matrix that is stored column by column. */
static pgcn_status read_columns(const pgcn_i_byte_source *input, const pgcn_i_array *array,
                                int64_t bytes) {
    size_t size = (size_t)pgcn_i_dtype_bytes(array->dtype);
    int64_t rows = array->shape[0], columns = array->shape[1];
    char *stored = pgcn_i_alloc(bytes, 1);
    if (!stored) return PGCN_ERR_MEMORY;
    pgcn_status status = input->read(input->context, stored, bytes);
    char *to = array->data;
    for (int64_t row = 0; status == PGCN_OK && row < rows; row++)
        for (int64_t column = 0; column < columns; column++, to += size)
            memcpy(to, stored + (size_t)(column * rows + row) * size, size);
    pgcn_i_free(stored);
    return status;
}

static pgcn_status check_as(const char *name, const pgcn_i_array *array, pgcn_i_dtype required,
                            int required_rank) {
    if (is_convertible(array->dtype, required) && array->rank == required_rank) return PGCN_OK;
    char shape[PGCN_I_SHAPE_TEXT];
    pgcn_i_shape_text(array->dtype, array->rank, array->shape, shape);
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s': found an array %s, expected %s with %d dimension%s; "
                       "convert with np.ascontiguousarray(a).astype('%s')%s",
                       name, shape, types[required].name, required_rank,
                       required_rank == 1 ? "" : "s", types[required].descr,
                       array->rank == required_rank ? "" : " after a.reshape()");
}

/* required_rank < 0: any type and rank. */
static pgcn_status read_array(const pgcn_i_byte_source *input, unsigned accepts,
                              pgcn_i_dtype required, int required_rank, pgcn_i_arena *arena,
                              pgcn_i_array *out) {
    pgcn_i_array array;
    int64_t data_bytes;
    bool by_column;
    PGCN_TRY(read_header(input, accepts, &array, &data_bytes, &by_column));
    if (required_rank >= 0) PGCN_TRY(check_as(input->name, &array, required, required_rank));
    array.data = pgcn_i_arena_alloc(arena, data_bytes, 1);
    if (!array.data) return PGCN_ERR_MEMORY;
    PGCN_TRY(by_column ? read_columns(input, &array, data_bytes)
                       : input->read(input->context, array.data, data_bytes));
    *out = array;
    return PGCN_OK;
}

pgcn_status pgcn_i_npy_parse(const pgcn_i_byte_source *input, unsigned accepts, pgcn_i_arena *arena,
                             pgcn_i_array *out) {
    return read_array(input, accepts, PGCN_I_U8, -1, arena, out);
}

static pgcn_status read_from_file(void *reader, void *data, int64_t bytes) {
    return pgcn_i_reader_read(reader, data, bytes);
}

static pgcn_status read_file(const char *path, pgcn_i_arena *arena, pgcn_i_dtype required,
                             int required_rank, pgcn_i_array *out) {
    pgcn_i_reader reader;
    PGCN_TRY(pgcn_i_reader_open(&reader, path));
    pgcn_i_byte_source input = {path, reader.bytes, read_from_file, &reader};
    pgcn_status status = read_array(&input, 0, required, required_rank, arena, out);
    pgcn_i_reader_close(&reader);
    return status;
}

pgcn_status pgcn_i_npy_read(const char *path, pgcn_i_arena *arena, pgcn_i_array *out) {
    return read_file(path, arena, PGCN_I_U8, -1, out);
}

pgcn_status pgcn_i_npy_read_to(const char *path, pgcn_i_arena *arena, pgcn_i_dtype dtype, int rank,
                               pgcn_i_array *out, bool *rounded) {
    PGCN_TRY(read_file(path, arena, dtype, rank, out));
    return pgcn_i_array_convert(path, arena, dtype, out, rounded);
}

pgcn_status pgcn_i_npy_read_as(const char *path, pgcn_i_arena *arena, pgcn_i_dtype dtype, int rank,
                               pgcn_i_array *out) {
    bool rounded;
    return pgcn_i_npy_read_to(path, arena, dtype, rank, out, &rounded);
}

int pgcn_i_npy_header(const pgcn_i_array *array, char header[PGCN_I_NPY_HEADER],
                      int64_t *data_bytes) {
    int64_t count;
    if (array->rank < 0 || array->rank > MAX_RANK ||
        !pgcn_i_array_size(array->shape, array->rank, array->dtype, &count, data_bytes))
        return 0;
    /* at most 10 bytes of start and 246 of header; the sum is a multiple of 64 */
    int used = 10, rank = array->rank;
    used +=
        snprintf(header + used, PGCN_I_NPY_HEADER - 10, "{'descr': '%s", types[array->dtype].descr);
    if (array->dtype == PGCN_I_UCS4)
        used += snprintf(header + used, PGCN_I_NPY_HEADER - (size_t)used, "%lld",
                         (long long)array->shape[--rank]);
    used += snprintf(header + used, PGCN_I_NPY_HEADER - (size_t)used,
                     "', 'fortran_order': False, 'shape': (");
    for (int i = 0; i < rank; i++)
        used += snprintf(header + used, PGCN_I_NPY_HEADER - (size_t)used, i ? ", %lld" : "%lld",
                         (long long)array->shape[i]);
    used +=
        snprintf(header + used, PGCN_I_NPY_HEADER - (size_t)used, "%s), }", rank == 1 ? "," : "");
    int total = (used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(header + used, ' ', (size_t)(total - used - 1));
    header[total - 1] = '\n';
    memcpy(header, magic, sizeof magic);
    header[6] = 1;
    header[7] = 0;
    header[8] = (char)((total - 10) & 0xff);
    header[9] = (char)((total - 10) >> 8);
    return total;
}

pgcn_status pgcn_i_npy_write(const char *path, const pgcn_i_array *array) {
    char header[PGCN_I_NPY_HEADER];
    int64_t bytes;
    int header_bytes = pgcn_i_npy_header(array, header, &bytes);
    if (header_bytes == 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "cannot write '%s': the array has no valid shape",
                           path);
    pgcn_i_atomic_file file;
    PGCN_TRY(pgcn_i_atomic_open(&file, path));
    pgcn_status status;
    PGCN_TRY_GOTO(pgcn_i_atomic_write(&file, header, header_bytes));
    PGCN_TRY_GOTO(pgcn_i_atomic_write(&file, array->data, bytes));
    PGCN_TRY_GOTO(pgcn_i_atomic_commit(&file));
fail:
    pgcn_i_atomic_abort(&file);
    return status;
}
