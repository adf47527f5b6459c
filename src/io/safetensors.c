/* safetensors files, the container of models and checkpoints:
 *
 *   header length (u64) | header: JSON padded with spaces | data of all tensors, without gaps
 *
 * {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [..], "data_offsets": [..]}}
 *
 * jansson reads and writes the JSON; every number in it is checked against the length of the file
 * before a tensor is allocated. Called by the train room. Thread-safe. */
#include "io/io.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 4, MAX_HEADER_BYTES = 100000000, ALIGNMENT = 8 };
static const char metadata_key[] = "__metadata__";

static const char *const type_code[] = {
    [PGCN_I_U8] = "U8",   [PGCN_I_I32] = "I32", [PGCN_I_I64] = "I64",
    [PGCN_I_F32] = "F32", [PGCN_I_F64] = "F64",
};
enum { TYPES = sizeof type_code / sizeof type_code[0] };

/* ---- writing ----------------------------------------------------------------------------- */

/* Checks the metadata and starts the header with it. */
static pgcn_status add_metadata(const char *path, json_t *header, json_t *metadata) {
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value))
            return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                               "cannot write '%s': metadata '%s' is not a string", path, key);
    }
    if (metadata && json_object_set(header, metadata_key, metadata) != 0)
        return pgcn_i_fail(PGCN_ERR_MEMORY, "cannot write '%s': out of memory for its metadata",
                           path);
    return PGCN_OK;
}

/* Adds one tensor whose data starts at *end, and advances *end past it. */
static pgcn_status add_tensor(const char *path, json_t *header, const pgcn_i_tensor *tensor,
                              int64_t *end) {
    const pgcn_i_array *array = &tensor->array;
    int64_t count, bytes, begin = *end;
    if (strcmp(tensor->name, metadata_key) == 0 || json_object_get(header, tensor->name))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "cannot write '%s': the tensor name '%s' is reserved or used twice",
                           path, tensor->name);
    if (array->rank < 0 || array->rank > MAX_RANK ||
        !pgcn_i_array_size(array->shape, array->rank, array->dtype, &count, &bytes) ||
        !pgcn_i_add(begin, bytes, end))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "cannot write '%s': tensor '%s' has no valid shape",
                           path, tensor->name);
    json_t *shape = json_array();
    bool good = shape != NULL;
    for (int i = 0; good && i < array->rank; i++)
        good = json_array_append_new(shape, json_integer(array->shape[i])) == 0;
    json_t *entry =
        json_pack("{s:s, s:o, s:[I, I]}", "dtype", type_code[array->dtype], "shape", shape,
                  "data_offsets", (json_int_t)begin, (json_int_t)*end); /* takes shape */
    if (!good || !entry || json_object_set_new(header, tensor->name, entry) != 0) {
        if (!good) json_decref(entry);
        return pgcn_i_fail(PGCN_ERR_MEMORY,
                           "cannot write '%s': no memory for the header, or the tensor name '%s' "
                           "is not UTF-8",
                           path, tensor->name);
    }
    return PGCN_OK;
}

/* What stands before the data. */
typedef struct file_header {
    char *text; /* JSON, pgcn_i_free */
    int64_t length, padding;
    int64_t data_bytes; /* of all tensors */
} file_header;

static pgcn_status fill_header(const char *path, json_t *header, const pgcn_i_tensor *tensors,
                               int count, file_header *out) {
    for (int i = 0; i < count; i++)
        PGCN_TRY(add_tensor(path, header, &tensors[i], &out->data_bytes));
    out->text = pgcn_i_json_dump(header, 0); /* keys stay in the order they were added */
    if (!out->text) return pgcn_i_fail(PGCN_ERR_MEMORY, "cannot write '%s': out of memory", path);
    out->length = (int64_t)strlen(out->text);
    out->padding = (ALIGNMENT - out->length % ALIGNMENT) % ALIGNMENT;
    int64_t bytes = out->length + out->padding;
    if (bytes > MAX_HEADER_BYTES)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "cannot write '%s': its header of %lld bytes is above the %d that "
                           "readers accept",
                           path, (long long)bytes, MAX_HEADER_BYTES);
    return PGCN_OK;
}

/* Free out->text after a failure too. */
static pgcn_status make_header(const char *path, const pgcn_i_tensor *tensors, int count,
                               json_t *metadata, file_header *out) {
    json_t *header = json_object();
    if (!header) return pgcn_i_fail(PGCN_ERR_MEMORY, "cannot write '%s': out of memory", path);
    pgcn_status status = add_metadata(path, header, metadata);
    if (status == PGCN_OK) status = fill_header(path, header, tensors, count, out);
    json_decref(header);
    return status;
}

/* A file, or memory that is large enough. */
typedef struct sink {
    pgcn_i_atomic_file *file; /* NULL: memory */
    char *at;
} sink;

static pgcn_status put(sink *to, const void *data, int64_t bytes) {
    if (to->file) return pgcn_i_atomic_write(to->file, data, bytes);
    if (bytes > 0) memcpy(to->at, data, (size_t)bytes);
    to->at += bytes;
    return PGCN_OK;
}

static pgcn_status put_all(sink *to, const file_header *header, const pgcn_i_tensor *tensors,
                           int count) {
    uint64_t header_bytes = (uint64_t)(header->length + header->padding);
    PGCN_TRY(put(to, &header_bytes, sizeof header_bytes));
    PGCN_TRY(put(to, header->text, header->length));
    PGCN_TRY(put(to, "        ", header->padding));
    for (int i = 0; i < count; i++) {
        const pgcn_i_array *array = &tensors[i].array;
        int64_t elements, bytes = 0; /* add_tensor has checked that this works */
        pgcn_i_array_size(array->shape, array->rank, array->dtype, &elements, &bytes);
        PGCN_TRY(put(to, array->data, bytes));
    }
    return PGCN_OK;
}

pgcn_status pgcn_i_safetensors_write(const char *path, const pgcn_i_tensor *tensors, int count,
                                     json_t *metadata) {
    pgcn_status status;
    pgcn_i_atomic_file file = {.descriptor = -1};
    file_header header = {0};
    PGCN_TRY_GOTO(make_header(path, tensors, count, metadata, &header));
    PGCN_TRY_GOTO(pgcn_i_atomic_open(&file, path));
    PGCN_TRY_GOTO(put_all(&(sink){.file = &file}, &header, tensors, count));
    PGCN_TRY_GOTO(pgcn_i_atomic_commit(&file));
fail:
    pgcn_i_atomic_abort(&file);
    pgcn_i_free(header.text);
    return status;
}

pgcn_status pgcn_i_safetensors_pack(const char *what, const pgcn_i_tensor *tensors, int count,
                                    json_t *metadata, void **bytes, int64_t *size) {
    pgcn_status status;
    file_header header = {0};
    int64_t total = 0;
    char *packed = NULL;
    PGCN_TRY_GOTO(make_header(what, tensors, count, metadata, &header));
    if (!pgcn_i_add((int64_t)sizeof(uint64_t) + header.length + header.padding, header.data_bytes,
                    &total) ||
        !(packed = pgcn_i_alloc(total, 1))) {
        status = PGCN_ERR_MEMORY;
        goto fail;
    }
    PGCN_TRY_GOTO(put_all(&(sink){.at = packed}, &header, tensors, count));
    *bytes = packed;
    *size = total;
fail:
    pgcn_i_free(header.text);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------- */

/* Where the data of a tensor is, while the file is being checked. */
typedef struct span {
    pgcn_i_tensor tensor;
    int64_t begin, end;
} span;

static int by_position(const void *left, const void *right) {
    const span *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

static pgcn_status damaged(const char *path, const char *name, const char *problem) {
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s': tensor '%s' %s; the file is damaged or not a safetensors "
                       "file, write it again",
                       path, name, problem);
}

/* The entry of one tensor in the header; `data_bytes` is the length of the data of the file. */
static pgcn_status parse_tensor(const char *path, const char *name, const json_t *entry,
                                int64_t data_bytes, span *out) {
    const json_t *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const char *code = json_string_value(json_object_get(entry, "dtype"));
    pgcn_i_array *array = &out->tensor.array;
    if (!code || !json_is_array(shape) || !json_is_array(offsets) ||
        json_array_size(offsets) != 2 || json_object_size(entry) != 3)
        return damaged(path, name,
                       "is not described by a dtype, a shape and two data_offsets and no more");
    int type = 0;
    while (type < TYPES && strcmp(code, type_code[type]) != 0) type++;
    if (type == TYPES)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': tensor '%s' is of type '%.20s', expected one of F32, "
                           "F64, I32, I64, U8; convert it (in PyTorch: t.float()) and write it "
                           "again",
                           path, name, code);
    array->dtype = (pgcn_i_dtype)type;
    if (json_array_size(shape) > MAX_RANK)
        return damaged(path, name, "has more than 4 dimensions, expected at most 4");
    array->rank = (int)json_array_size(shape);
    for (int i = 0; i < array->rank; i++) {
        const json_t *dimension = json_array_get(shape, (size_t)i);
        if (!json_is_integer(dimension) || json_integer_value(dimension) < 0)
            return damaged(path, name, "has a dimension which is not a whole number >= 0");
        array->shape[i] = json_integer_value(dimension);
    }
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    out->begin = json_integer_value(begin);
    out->end = json_integer_value(end);
    if (!json_is_integer(begin) || !json_is_integer(end) || out->begin < 0 ||
        out->end < out->begin || out->end > data_bytes)
        return damaged(path, name, "has data_offsets outside the data of the file");
    int64_t bytes;
    if (!pgcn_i_array_size(array->shape, array->rank, array->dtype, &array->count, &bytes) ||
        bytes != out->end - out->begin)
        return damaged(path, name, "has data_offsets that do not fit its dtype and shape");
    return PGCN_OK;
}

/* Checks all entries against the data and each other; spans come out in the order of the data. */
static pgcn_status parse_header(pgcn_i_safetensors *file, json_t *header, int64_t data_bytes,
                                span *spans) {
    const char *key;
    json_t *value;
    json_object_foreach(header, key, value) {
        if (strcmp(key, metadata_key) == 0) {
            const char *inner_key;
            json_t *inner;
            bool good = json_is_object(value);
            json_object_foreach(value, inner_key, inner) good = good && json_is_string(inner);
            if (!good)
                return pgcn_i_fail(PGCN_ERR_FORMAT,
                                   "reading '%s': its __metadata__ is not an object of strings; "
                                   "the file is damaged, write it again",
                                   file->path);
            file->metadata = json_incref(value);
            continue;
        }
        span *at = &spans[file->count];
        PGCN_TRY(parse_tensor(file->path, key, value, data_bytes, at));
        at->tensor.name = pgcn_i_arena_strdup(&file->arena, key);
        if (!at->tensor.name) return PGCN_ERR_MEMORY;
        file->count++;
    }
    if (!file->metadata && !(file->metadata = json_object()))
        return pgcn_i_fail(PGCN_ERR_MEMORY, "reading '%s': out of memory", file->path);
    qsort(spans, (size_t)file->count, sizeof *spans, by_position);
    int64_t position = 0;
    for (int i = 0; i < file->count; i++) {
        if (spans[i].begin != position)
            return damaged(file->path, spans[i].tensor.name,
                           spans[i].begin < position ? "overlaps another tensor"
                                                     : "has unused bytes before it");
        position = spans[i].end;
    }
    if (position != data_bytes)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': its tensors end after %lld bytes of data, but the file "
                           "has %lld; the file is damaged, write it again",
                           file->path, (long long)position, (long long)data_bytes);
    return PGCN_OK;
}

/* An impossible length: the file is damaged, or (if no { follows) of another kind. */
static pgcn_status bad_length(pgcn_i_reader *reader, uint64_t length, int64_t left) {
    char next = '\0';
    if (left > 0) PGCN_TRY(pgcn_i_reader_read(reader, &next, 1));
    if (next != '{')
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it is not a safetensors file; expected one that pathgcn "
                           "has written, e.g. model.safetensors of pathgcn train",
                           reader->path);
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s': its header claims %llu bytes, but the file has %lld in all "
                       "and a header at most %d; it is damaged, write it again",
                       reader->path, (unsigned long long)length, (long long)reader->bytes,
                       MAX_HEADER_BYTES);
}

/* Reads and parses the JSON header; *data_bytes is what remains of the file after it. */
static pgcn_status read_header(pgcn_i_reader *reader, pgcn_i_arena *scratch, json_t **out,
                               int64_t *data_bytes) {
    uint64_t length = 0;
    if (reader->bytes < (int64_t)sizeof length)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it has %lld bytes, too few for a safetensors file",
                           reader->path, (long long)reader->bytes);
    PGCN_TRY(pgcn_i_reader_read(reader, &length, sizeof length));
    int64_t left = reader->bytes - (int64_t)sizeof length;
    if (length > MAX_HEADER_BYTES || (int64_t)length > left)
        return bad_length(reader, length, left);
    *data_bytes = left - (int64_t)length;
    char *text = pgcn_i_arena_alloc(scratch, (int64_t)length, 1);
    if (!text) return PGCN_ERR_MEMORY;
    PGCN_TRY(pgcn_i_reader_read(reader, text, (int64_t)length));
    json_t *header;
    PGCN_TRY(pgcn_i_json_parse(reader->path, text, (int64_t)length, &header));
    if (!header)
        return pgcn_i_fail_in(PGCN_ERR_FORMAT,
                              "its header is not a JSON object, it is damaged or not a safetensors "
                              "file");
    if (!json_is_object(header)) {
        json_decref(header);
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': its header is not a JSON object but another value; it is "
                           "damaged or not a safetensors file",
                           reader->path);
    }
    *out = header;
    return PGCN_OK;
}

static pgcn_status read_all(pgcn_i_reader *reader, pgcn_i_safetensors **out) {
    pgcn_status status;
    pgcn_i_arena scratch = {0};
    json_t *header = NULL;
    span *spans = NULL;
    int64_t data_bytes = 0;
    pgcn_i_safetensors *file = pgcn_i_alloc(1, sizeof *file);
    if (!file || !(file->path = pgcn_i_arena_strdup(&file->arena, reader->path))) {
        status = PGCN_ERR_MEMORY;
        goto fail;
    }
    PGCN_TRY_GOTO(read_header(reader, &scratch, &header, &data_bytes));
    int64_t entries = (int64_t)json_object_size(header); /* at most the bytes of the header */
    spans = PGCN_I_ARRAY(&scratch, span, entries);
    file->tensor = PGCN_I_ARRAY(&file->arena, pgcn_i_tensor, entries);
    if (!spans || !file->tensor) {
        status = PGCN_ERR_MEMORY;
        goto fail;
    }
    PGCN_TRY_GOTO(parse_header(file, header, data_bytes, spans));
    for (int i = 0; i < file->count; i++) { /* in the order of the data: one pass over the file */
        int64_t bytes = spans[i].end - spans[i].begin;
        file->tensor[i] = spans[i].tensor;
        file->tensor[i].array.data = pgcn_i_arena_alloc(&file->arena, bytes, 1);
        if (!file->tensor[i].array.data) {
            status = PGCN_ERR_MEMORY;
            goto fail;
        }
        PGCN_TRY_GOTO(pgcn_i_reader_read(reader, file->tensor[i].array.data, bytes));
    }
    *out = file;
    file = NULL;
fail:
    pgcn_i_safetensors_free(file);
    json_decref(header);
    pgcn_i_arena_free(&scratch);
    return status;
}

pgcn_status pgcn_i_safetensors_read(const char *path, pgcn_i_safetensors **out) {
    pgcn_i_reader reader;
    PGCN_TRY(pgcn_i_reader_open(&reader, path));
    pgcn_status status = read_all(&reader, out);
    pgcn_i_reader_close(&reader);
    return status;
}

pgcn_status pgcn_i_safetensors_unpack(const char *what, const void *bytes, int64_t size,
                                      pgcn_i_safetensors **out) {
    pgcn_i_reader reader = pgcn_i_reader_of_memory(what, bytes, size);
    return read_all(&reader, out);
}

void pgcn_i_safetensors_free(pgcn_i_safetensors *file) {
    if (!file) return;
    json_decref(file->metadata);
    pgcn_i_arena_free(&file->arena);
    pgcn_i_free(file);
}

pgcn_status pgcn_i_safetensors_text(const pgcn_i_safetensors *file, const char *key,
                                    const char **out) {
    const char *text = json_string_value(json_object_get(file->metadata, key));
    if (!text)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': its metadata lacks '%s'; it is a safetensors file, but "
                           "not one of pathgcn",
                           file->path, key);
    *out = text;
    return PGCN_OK;
}

pgcn_status pgcn_i_safetensors_tensor(const pgcn_i_safetensors *file, const char *name,
                                      pgcn_i_dtype dtype, int rank, const int64_t *shape,
                                      const void **data) {
    char expected[PGCN_I_SHAPE_TEXT], found[PGCN_I_SHAPE_TEXT];
    pgcn_i_shape_text(dtype, rank, shape, expected);
    for (int i = 0; i < file->count; i++) {
        const pgcn_i_array *array = &file->tensor[i].array;
        if (strcmp(file->tensor[i].name, name) != 0) continue;
        if (array->dtype == dtype && array->rank == rank &&
            memcmp(array->shape, shape, (size_t)rank * sizeof *shape) == 0) {
            *data = array->data;
            return PGCN_OK;
        }
        pgcn_i_shape_text(array->dtype, array->rank, array->shape, found);
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': tensor '%s' is %s, expected %s; the file does not "
                           "belong to this configuration",
                           file->path, name, found, expected);
    }
    return pgcn_i_fail(PGCN_ERR_FORMAT, "reading '%s': tensor '%s' (%s) is missing", file->path,
                       name, expected);
}
