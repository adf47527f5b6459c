/* NumPy .npz: a zip archive whose members NAME.npy are arrays in the format of npy.c. Members are
 * stored or deflated; the zip layer is libzip, the arrays are npy.c's.
 *
 * Reading streams a member through npy.c, so that an array is in memory once. Before anything is
 * allocated, the length that a member claims must be possible: stored members have the length they
 * take in the file, deflate makes at most 1032 bytes of one, and all arrays read from one file
 * together stay within 1 GiB or 100 times the length of the file, whichever is more. libzip checks
 * the CRC at the end of a member.
 * Writing makes the archive in memory, without times, and then writes the file atomically.
 * Called by the data room. One thread per open archive. */
#include "io/io.h"

#include <zip.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { DEFLATE_MOST = 1032, NAME_BYTES = 256, LEVEL = 6 };

struct pgcn_i_npz {
    zip_t *archive;
    char *path;
    int64_t bytes, read_bytes; /* of the file; of the arrays read so far */
};

/* Errors of libzip: its text within our sentence. */
static pgcn_status read_failed(const char *where, zip_error_t *error) {
    if (zip_error_code_zip(error) == ZIP_ER_MEMORY)
        return pgcn_i_fail(PGCN_ERR_MEMORY, "reading '%s': %s", where, pgcn_system_error(ENOMEM));
    if (zip_error_system_type(error) == ZIP_ET_SYS)
        return pgcn_i_fail(PGCN_ERR_IO, "reading '%s': %s", where,
                           pgcn_system_error(zip_error_code_system(error)));
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s': %s; the file is damaged or no .npz, write it again", where,
                       zip_error_strerror(error));
}
static pgcn_status write_failed(const char *path, zip_error_t *error) {
    if (zip_error_code_zip(error) == ZIP_ER_MEMORY)
        return pgcn_i_fail(PGCN_ERR_MEMORY, "cannot write '%s': %s", path,
                           pgcn_system_error(ENOMEM));
    bool of_system = zip_error_system_type(error) == ZIP_ET_SYS;
    return pgcn_i_fail(PGCN_ERR_IO, "cannot write '%s': %s", path,
                       of_system ? pgcn_system_error(zip_error_code_system(error))
                                 : zip_error_strerror(error));
}

/* ---- reading ----------------------------------------------------------------------------- */

pgcn_status pgcn_i_npz_open(const char *path, pgcn_i_npz **out) {
    pgcn_i_reader reader;
    PGCN_TRY(pgcn_i_reader_open(&reader, path)); /* refuses pipes and directories */
    pgcn_i_npz *npz = pgcn_i_alloc(1, sizeof *npz);
    if (npz) npz->path = pgcn_i_strdup(path);
    if (!npz || !npz->path) {
        pgcn_i_free(npz);
        pgcn_i_reader_close(&reader);
        return PGCN_ERR_MEMORY;
    }
    npz->bytes = reader.bytes;
    int code = 0;
    npz->archive = zip_fdopen(reader.descriptor, 0, &code); /* takes the descriptor if it works */
    if (!npz->archive) {
        pgcn_i_reader_close(&reader);
        zip_error_t error;
        zip_error_init_with_code(&error, code);
        pgcn_status status = read_failed(path, &error);
        zip_error_fini(&error);
        pgcn_i_npz_close(npz);
        return status;
    }
    *out = npz;
    return PGCN_OK;
}

void pgcn_i_npz_close(pgcn_i_npz *npz) {
    if (!npz) return;
    if (npz->archive) zip_discard(npz->archive);
    pgcn_i_free(npz->path);
    pgcn_i_free(npz);
}

/* The number of the member NAME.npy, -1 if there is none. */
static zip_int64_t find_member(const pgcn_i_npz *npz, const char *name) {
    char member[NAME_BYTES];
    int length = snprintf(member, sizeof member, "%s.npy", name);
    if (length < 0 || length >= NAME_BYTES) return -1;
    return zip_name_locate(npz->archive, member, ZIP_FL_ENC_RAW);
}

bool pgcn_i_npz_has(const pgcn_i_npz *npz, const char *name) {
    return find_member(npz, name) >= 0;
}

/* Checks whether the length that a member claims is possible, and how it is packed. */
static pgcn_status check_member(const pgcn_i_npz *npz, const char *where, const zip_stat_t *about) {
    const zip_uint64_t needed =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((about->valid & needed) != needed)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "reading '%s': the archive does not say its length",
                           where);
    if (about->encryption_method != ZIP_EM_NONE)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it is encrypted, expected a plain array; write the file "
                           "again with np.savez_compressed()",
                           where);
    bool stored = about->comp_method == ZIP_CM_STORE;
    if (!stored && about->comp_method != ZIP_CM_DEFLATE)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it is packed by method %u, expected 0 (stored) or 8 "
                           "(deflated); write the file again with np.savez_compressed()",
                           where, about->comp_method);
    zip_uint64_t packed = about->comp_size, most;
    if (packed > (zip_uint64_t)npz->bytes || about->size > INT64_MAX ||
        __builtin_mul_overflow(packed, (zip_uint64_t)DEFLATE_MOST, &most) ||
        (stored ? about->size != packed : about->size > most))
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it claims %llu bytes in %llu of the archive's %lld, "
                           "which cannot be; the file is damaged, write it again",
                           where, (unsigned long long)about->size, (unsigned long long)packed,
                           (long long)npz->bytes);
    int64_t allowed = pgcn_i_unpacked_most(npz->bytes), total;
    if (!pgcn_i_add(npz->read_bytes, (int64_t)about->size, &total) || total > allowed)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': with it the file of %lld bytes unpacks to more than %lld "
                           "bytes, a zip bomb; if it is none, save its arrays with np.save() into "
                           "a folder",
                           where, (long long)npz->bytes, (long long)allowed);
    return PGCN_OK;
}

typedef struct member {
    zip_file_t *file;
    const char *where; /* "a.npz:edges.npy" */
} member;

static pgcn_status member_failed(const member *from) {
    return read_failed(from->where, zip_file_get_error(from->file));
}

static pgcn_status read_member(void *context, void *data, int64_t bytes) {
    const member *from = context;
    char *at = data;
    while (bytes > 0) {
        zip_int64_t got = zip_fread(from->file, at, (zip_uint64_t)bytes);
        if (got < 0) return member_failed(from);
        if (got == 0)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': it ends %lld bytes early; the file is damaged, write "
                               "it again",
                               from->where, (long long)bytes);
        at += got;
        bytes -= got;
    }
    return PGCN_OK;
}

/* libzip compares length and CRC when a read goes past the end. */
static pgcn_status check_end(const member *from) {
    char more;
    zip_int64_t got = zip_fread(from->file, &more, 1);
    if (got < 0) return member_failed(from);
    if (got > 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it is longer than the archive says; the file is damaged, "
                           "write it again",
                           from->where);
    return PGCN_OK;
}

static pgcn_status read_array(pgcn_i_npz *npz, const char *name, unsigned also, pgcn_i_arena *arena,
                              pgcn_i_array *out) {
    char where[PGCN_I_PATH_BYTES + NAME_BYTES];
    snprintf(where, sizeof where, "%s:%.200s.npy", npz->path, name);
    zip_int64_t number = find_member(npz, name);
    if (number < 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': the archive has no such array; is it the right file?",
                           where);
    zip_stat_t about;
    zip_stat_init(&about);
    if (zip_stat_index(npz->archive, (zip_uint64_t)number, 0, &about) != 0)
        return read_failed(where, zip_get_error(npz->archive));
    PGCN_TRY(check_member(npz, where, &about));
    member from = {zip_fopen_index(npz->archive, (zip_uint64_t)number, 0), where};
    if (!from.file) return read_failed(where, zip_get_error(npz->archive));
    pgcn_i_byte_source input = {where, (int64_t)about.size, read_member, &from};
    pgcn_i_array array;
    pgcn_status status = pgcn_i_npy_parse(&input, also, arena, &array);
    if (status == PGCN_OK) status = check_end(&from);
    zip_fclose(from.file);
    if (status != PGCN_OK) return status;
    npz->read_bytes += input.bytes; /* check_member has seen that this fits */
    *out = array;
    return PGCN_OK;
}

pgcn_status pgcn_i_npz_read(pgcn_i_npz *npz, const char *name, pgcn_i_arena *arena,
                            pgcn_i_array *out) {
    return read_array(npz, name, PGCN_I_NPY_COLUMNS, arena, out);
}

pgcn_status pgcn_i_npz_read_text(pgcn_i_npz *npz, const char *name, pgcn_i_arena *arena,
                                 pgcn_i_array *out) {
    PGCN_TRY(read_array(npz, name, PGCN_I_NPY_TEXT, arena, out));
    if (out->dtype == PGCN_I_UCS4) return PGCN_OK;
    char shape[PGCN_I_SHAPE_TEXT];
    pgcn_i_shape_text(out->dtype, out->rank, out->shape, shape);
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s:%s.npy': found an array %s, expected text; convert with "
                       "a.astype(str)",
                       npz->path, name, shape);
}

/* ---- writing ----------------------------------------------------------------------------- */

typedef struct npy_header {
    char text[PGCN_I_NPY_HEADER];
} npy_header;

/* Header and data must stay in memory until the archive is closed. */
static pgcn_status add_array(zip_t *archive, const char *path, const pgcn_i_tensor *tensor,
                             npy_header *header) {
    char name[NAME_BYTES];
    int64_t data_bytes;
    int length = snprintf(name, sizeof name, "%s.npy", tensor->name);
    int header_bytes = pgcn_i_npy_header(&tensor->array, header->text, &data_bytes);
    if (header_bytes == 0 || length < 0 || length >= NAME_BYTES)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "cannot write '%s': the array '%.50s' has no valid shape or name", path,
                           tensor->name);
    zip_buffer_fragment_t part[2] = {
        {(zip_uint8_t *)header->text, (zip_uint64_t)header_bytes},
        {tensor->array.data, (zip_uint64_t)data_bytes},
    };
    zip_source_t *source = zip_source_buffer_fragment(archive, part, data_bytes > 0 ? 2 : 1, 0);
    if (!source) return write_failed(path, zip_get_error(archive));
    zip_int64_t number = zip_file_add(archive, name, source, 0);
    if (number < 0) {
        zip_source_free(source);
        return write_failed(path, zip_get_error(archive));
    }
    const zip_uint16_t first_of_1980 = 1 << 5 | 1; /* as np.savez does: no time in the bytes */
    if (zip_set_file_compression(archive, (zip_uint64_t)number, ZIP_CM_DEFLATE, LEVEL) != 0 ||
        zip_file_set_dostime(archive, (zip_uint64_t)number, 0, first_of_1980, 0) != 0)
        return write_failed(path, zip_get_error(archive));
    return PGCN_OK;
}

/* Fills the archive that `target` will hold; `target` stays the caller's. */
static pgcn_status make_archive(zip_source_t *target, const char *path, const pgcn_i_tensor *arrays,
                                int count, npy_header *headers) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_keep(target); /* closing the archive gives one reference back */
    zip_t *archive = zip_open_from_source(target, ZIP_TRUNCATE, &error);
    if (!archive) {
        zip_source_free(target);
        pgcn_status status = write_failed(path, &error);
        zip_error_fini(&error);
        return status;
    }
    pgcn_status status = PGCN_OK;
    for (int i = 0; i < count && status == PGCN_OK; i++)
        status = add_array(archive, path, &arrays[i], &headers[i]);
    if (status == PGCN_OK && zip_close(archive) == 0) return PGCN_OK;
    if (status == PGCN_OK) status = write_failed(path, zip_get_error(archive));
    zip_discard(archive);
    return status;
}

static pgcn_status write_file(zip_source_t *from, const char *path) {
    enum { PIECE = 1 << 18 };
    pgcn_i_atomic_file file;
    PGCN_TRY(pgcn_i_atomic_open(&file, path));
    char *piece = pgcn_i_alloc(PIECE, 1);
    pgcn_status status = PGCN_ERR_MEMORY;
    if (!piece) goto fail;
    if (zip_source_open(from) != 0) {
        status = write_failed(path, zip_source_error(from));
        goto fail;
    }
    status = PGCN_OK;
    for (zip_int64_t got = PIECE; status == PGCN_OK && got > 0;) {
        got = zip_source_read(from, piece, PIECE);
        status = got < 0 ? write_failed(path, zip_source_error(from))
                         : pgcn_i_atomic_write(&file, piece, got);
    }
    zip_source_close(from);
    if (status == PGCN_OK) status = pgcn_i_atomic_commit(&file);
fail:
    pgcn_i_free(piece);
    pgcn_i_atomic_abort(&file);
    return status;
}

pgcn_status pgcn_i_npz_write(const char *path, const pgcn_i_tensor *arrays, int count) {
    if (count < 1)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "cannot write '%s': there are no arrays", path);
    npy_header *headers = pgcn_i_alloc(count, sizeof *headers);
    if (!headers) return PGCN_ERR_MEMORY;
    pgcn_status status;
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *target = zip_source_buffer_create(NULL, 0, 0, &error);
    if (target) {
        status = make_archive(target, path, arrays, count, headers);
        if (status == PGCN_OK) status = write_file(target, path);
        zip_source_free(target);
    } else {
        status = write_failed(path, &error);
    }
    zip_error_fini(&error);
    pgcn_i_free(headers);
    return status;
}
