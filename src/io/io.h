/* io: files and nothing but files. Knows no graph and no model.
 *
 * Comes in: paths. Goes out: checked arrays and tensors, and files that are either complete or
 * not there. Every reader treats its file as hostile: sizes are checked against the length of the
 * file before anything is allocated. Next room: graph and data. */
#ifndef PGCN_IO_H
#define PGCN_IO_H

#include "base/base.h"

#include <jansson.h>

/* All our formats are little-endian and arrays go to disk and into hashes as they are. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "pathgcn needs a little-endian machine");

/* ---- files (file.c) ---------------------------------------------------------------------- */

enum { PGCN_I_PATH_BYTES = 4096 };

/* out = directory/file, PGCN_I_PATH_BYTES long; an error if that is too short. */
pgcn_status pgcn_i_path_join(char *out, const char *directory, const char *file);

/* A regular file read from front to back; `bytes` is its length, known before any allocation. */
typedef struct pgcn_i_reader {
    int descriptor;
    int64_t bytes;
    const char *path; /* borrowed */
} pgcn_i_reader;
pgcn_status pgcn_i_reader_open(pgcn_i_reader *reader, const char *path);
pgcn_status pgcn_i_reader_read(pgcn_i_reader *reader, void *data, int64_t bytes); /* exactly */
void pgcn_i_reader_close(pgcn_i_reader *reader);

/* Reads a whole regular file into the arena (a NUL is put after the last byte). */
pgcn_status pgcn_i_file_read(const char *path, int64_t max_bytes, pgcn_i_arena *arena, char **data,
                             int64_t *bytes);
bool pgcn_i_file_exists(const char *path);
bool pgcn_i_is_directory(const char *path);

/* A file that appears complete or not at all: written beside its final name, fsynced, renamed.
 * After any failure the temporary file is removed and the old file, if any, is untouched. */
typedef struct pgcn_i_atomic_file {
    int descriptor;
    char path[PGCN_I_PATH_BYTES], temporary[PGCN_I_PATH_BYTES + 64];
} pgcn_i_atomic_file;
pgcn_status pgcn_i_atomic_open(pgcn_i_atomic_file *file, const char *path);
pgcn_status pgcn_i_atomic_write(pgcn_i_atomic_file *file, const void *data, int64_t bytes);
pgcn_status pgcn_i_atomic_commit(pgcn_i_atomic_file *file);
void pgcn_i_atomic_abort(pgcn_i_atomic_file *file); /* also fine after commit or a failure */

/* ---- arrays (npy.c) ---------------------------------------------------------------------- */

typedef enum pgcn_i_dtype {
    PGCN_I_U8,
    PGCN_I_I32,
    PGCN_I_I64,
    PGCN_I_F32,
    PGCN_I_F64
} pgcn_i_dtype;
int64_t pgcn_i_dtype_bytes(pgcn_i_dtype dtype);

typedef struct pgcn_i_array {
    pgcn_i_dtype dtype;
    int rank; /* 0..4 */
    int64_t shape[4];
    int64_t count; /* product of the shape */
    void *data;    /* aligned, C order */
} pgcn_i_array;

/* count = product of shape and bytes = its size; false on overflow or a negative dimension. */
bool pgcn_i_array_size(const int64_t *shape, int rank, pgcn_i_dtype dtype, int64_t *count,
                       int64_t *bytes);
/* "int32 [5278, 2]" for error messages. */
enum { PGCN_I_SHAPE_TEXT = 128 };
void pgcn_i_shape_text(pgcn_i_dtype dtype, int rank, const int64_t *shape,
                       char out[PGCN_I_SHAPE_TEXT]);

/* NumPy .npy 1.0/2.0/3.0, little-endian, C order, of the types above. Anything else is an error
 * that says what was found and how to convert. */
pgcn_status pgcn_i_npy_read(const char *path, pgcn_i_arena *arena, pgcn_i_array *out);
/* The same, with the type and rank required ("int32 [m, 2]" in the error). */
pgcn_status pgcn_i_npy_read_as(const char *path, pgcn_i_arena *arena, pgcn_i_dtype dtype, int rank,
                               pgcn_i_array *out);
pgcn_status pgcn_i_npy_write(const char *path, const pgcn_i_array *array);

/* ---- tensors (safetensors.c) ------------------------------------------------------------- */

typedef struct pgcn_i_tensor {
    const char *name;
    pgcn_i_array array;
} pgcn_i_tensor;

/* Metadata is an object of strings (the format allows nothing else) or NULL. Tensors are written
 * in the order given, without gaps (the format demands it), the first at a multiple of 8 bytes:
 * equal content gives equal bytes. Atomic. */
pgcn_status pgcn_i_safetensors_write(const char *path, const pgcn_i_tensor *tensors, int count,
                                     json_t *metadata);

typedef struct pgcn_i_safetensors {
    pgcn_i_arena arena;
    int count;
    pgcn_i_tensor *tensor;
    json_t *metadata; /* never NULL */
    char *path;
} pgcn_i_safetensors;
pgcn_status pgcn_i_safetensors_read(const char *path, pgcn_i_safetensors **out);
void pgcn_i_safetensors_free(pgcn_i_safetensors *file);
/* A metadata string or a tensor of exactly this type and shape; the error names the file and what
 * is missing or different. */
pgcn_status pgcn_i_safetensors_text(const pgcn_i_safetensors *file, const char *key,
                                    const char **out);
pgcn_status pgcn_i_safetensors_tensor(const pgcn_i_safetensors *file, const char *name,
                                      pgcn_i_dtype dtype, int rank, const int64_t *shape,
                                      const void **data);

/* ---- SHA-256 (file.c, by libcrypto) ------------------------------------------------------ */

typedef struct pgcn_i_hash pgcn_i_hash;
pgcn_status pgcn_i_hash_new(pgcn_i_hash **out);
void pgcn_i_hash_add(pgcn_i_hash *hash, const void *data, int64_t bytes);
pgcn_status pgcn_i_hash_finish(pgcn_i_hash *hash, char hex[65]); /* frees the hash */

#endif
