/* Unpacks files from a zip archive that came from the network (libzip reads it): those that the
 * caller lists and no others, so that an archive cannot put files of its own choice beside them. The
 * archive is checked completely before the first byte is written. It is refused if anything in it
 * could end up outside the directory or is not part of a data set:
 *
 *   names     absolute, with "..", "." or empty parts, with backslashes or control characters
 *   kinds     symbolic links, devices, encrypted members
 *   sizes     of a listed file another one than the caller knows; where none is known, more than
 *             1 GiB in all and more than 100 times the archive: a bomb
 *
 * If everything is in one top folder, that folder is dropped: MUTAG/MUTAG_A.txt of MUTAG.zip becomes
 * MUTAG_A.txt. Files that macOS adds (__MACOSX, .DS_Store) are ignored. Every file
 * appears complete (libzip checks its CRC) or not at all. Called by the data room, to download data
 * sets. Thread-safe for different directories. */
#include "io/io.h"

#include <zip.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_MEMBERS = 100000, MOST_NAME_BYTES = 1024, PIECE_BYTES = 1 << 16 };

/* Where a listed file is in the archive. */
typedef struct position {
    zip_uint64_t index;
    int64_t bytes;
} position;

typedef struct unzip {
    zip_t *archive;
    const char *path, *directory; /* borrowed */
    const pgcn_i_listed *listed;  /* borrowed, [files] */
    int files;
    int64_t bytes; /* of the archive */
    int64_t members;
    size_t skip;        /* length of the name of the top folder, its slash included; 0: none */
    position *position; /* [files] */
    char *piece;        /* [PIECE_BYTES] */
} unzip;

static pgcn_status zip_failed(const char *path, const char *member, zip_error_t *error) {
    bool memory = zip_error_code_zip(error) == ZIP_ER_MEMORY;
    bool of_system = zip_error_system_type(error) == ZIP_ET_SYS;
    if (memory || of_system)
        return pgcn_i_fail(memory ? PGCN_ERR_MEMORY : PGCN_ERR_IO, "unpacking '%s'%s%s: %s", path,
                           *member ? ": " : "", member,
                           memory ? pgcn_system_error(ENOMEM)
                                  : pgcn_system_error(zip_error_code_system(error)));
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "unpacking '%s'%s%s: %s; the archive is damaged or no zip file, download it "
                       "again",
                       path, *member ? ": " : "", member, zip_error_strerror(error));
}

static pgcn_status open_archive(unzip *from) {
    pgcn_i_reader reader;
    PGCN_TRY(pgcn_i_reader_open(&reader, from->path)); /* refuses pipes and directories */
    from->bytes = reader.bytes;
    int code = 0;
    from->archive = zip_fdopen(reader.descriptor, 0, &code); /* takes the descriptor if it works */
    if (from->archive) return PGCN_OK;
    pgcn_i_reader_close(&reader);
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    pgcn_status status = zip_failed(from->path, "", &error);
    zip_error_fini(&error);
    return status;
}

/* ---- what is in it --------------------------------------------------------------------------- */

static bool is_folder(const char *name) {
    return name[0] && name[strlen(name) - 1] == '/';
}

static bool is_junk(const char *name) {
    return strncmp(name, "__MACOSX/", 9) == 0 || strcmp(pgcn_i_file_name(name), ".DS_Store") == 0;
}

/* What is wrong with a name, or NULL. The parts of a name are separated by slashes. */
static const char *name_problem(const char *name) {
    if (!*name) return "an empty name";
    if (strlen(name) > MOST_NAME_BYTES) return "a name of more than 1024 bytes";
    if (*name == '/') return "an absolute path";
    for (const char *c = name; *c; c++)
        if (*c == '\\' || (unsigned char)*c < ' ' || *c == 127)
            return "a backslash or control character in a name";
    for (const char *part = name; *part;) {
        size_t length = strcspn(part, "/");
        if (length == 0 || (length == 1 && *part == '.') ||
            (length == 2 && memcmp(part, "..", 2) == 0))
            return "a path with '..', '.' or an empty part";
        part += length;
        if (*part) part++;
    }
    return NULL;
}

/* What a member would become when unpacked by Unix tools, or NULL if it is a plain file. */
static const char *kind_problem(const unzip *from, zip_uint64_t i) {
    zip_uint8_t system;
    zip_uint32_t attributes;
    if (zip_file_get_external_attributes(from->archive, i, 0, &system, &attributes) != 0 ||
        system != ZIP_OPSYS_UNIX)
        return NULL;
    unsigned kind = attributes >> 16 & S_IFMT;
    if (kind == S_IFLNK) return "a symbolic link";
    return kind == 0 || kind == S_IFREG || kind == S_IFDIR ? NULL : "a device, pipe or socket";
}

/* A name for a message, shortened and printable: it may be hostile. */
static void printable(char out[64], const char *name) {
    size_t i = 0;
    for (; name[i] && i < 63; i++) out[i] = name[i] < ' ' || name[i] > '~' ? '?' : name[i];
    out[i] = '\0';
}

static pgcn_status refuse(const unzip *from, const char *name, const char *problem) {
    char shown[64];
    printable(shown, name);
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "unpacking '%s': its member '%s' is refused: %s; nothing was unpacked, get "
                       "the archive from a source you trust",
                       from->path, shown, problem);
}

/* Member i: its name and length, or an error. *name = NULL if there is nothing to unpack. */
static pgcn_status check_member(const unzip *from, zip_uint64_t i, const char **name,
                                int64_t *bytes) {
    zip_stat_t about;
    zip_stat_init(&about);
    const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(from->archive, i, ZIP_FL_ENC_RAW, &about) != 0)
        return zip_failed(from->path, "", zip_get_error(from->archive));
    const char *found = about.valid & ZIP_STAT_NAME ? about.name : "";
    const char *problem = (about.valid & needed) != needed || about.size > INT64_MAX
                              ? "it does not say its length"
                              : name_problem(found);
    if (!problem) problem = kind_problem(from, i);
    if (!problem && about.encryption_method != ZIP_EM_NONE) problem = "it is encrypted";
    if (problem) return refuse(from, found, problem);
    *name = is_folder(found) || is_junk(found) ? NULL : found;
    *bytes = (int64_t)about.size;
    return PGCN_OK;
}

static pgcn_status check_total(const unzip *from, int64_t total) {
    int64_t allowed = pgcn_i_unpacked_most(from->bytes);
    if (total <= allowed) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "unpacking '%s': its %lld bytes claim to hold more than %lld, a zip bomb; "
                       "nothing was unpacked, get the archive from a source you trust",
                       from->path, (long long)from->bytes, (long long)allowed);
}

/* Checks that no member is harmful, and finds the top folder. */
static pgcn_status check_all(unzip *from) {
    from->members = zip_get_num_entries(from->archive, 0);
    if (from->members < 1 || from->members > MOST_MEMBERS)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "unpacking '%s': it has %lld members, expected 1 to %d; is it the right "
                           "archive?",
                           from->path, (long long)from->members, MOST_MEMBERS);
    const char *first = NULL;
    for (int64_t i = 0; i < from->members; i++) {
        const char *name;
        int64_t bytes;
        PGCN_TRY(check_member(from, (zip_uint64_t)i, &name, &bytes));
        if (!name) continue;
        if (!first) {
            const char *slash = strchr(name, '/');
            first = name;
            from->skip = slash ? (size_t)(slash - name) + 1 : 0;
        } else if (strncmp(first, name, from->skip) != 0) {
            from->skip = 0;
        }
    }
    if (first) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_FORMAT, "unpacking '%s': no file is in it", from->path);
}

/* The first member of the name of a listed file. */
static pgcn_status find_listed(const unzip *from, const pgcn_i_listed *file, position *out) {
    for (int64_t i = 0; i < from->members; i++) {
        const char *name;
        int64_t bytes;
        PGCN_TRY(check_member(from, (zip_uint64_t)i, &name, &bytes));
        if (!name || strcmp(name + from->skip, file->path) != 0) continue;
        if (file->bytes > 0 && bytes != file->bytes)
            return pgcn_i_fail(
                PGCN_ERR_FORMAT,
                "unpacking '%s': its %s has %lld bytes, expected %lld; nothing was "
                "unpacked: the archive at this address has changed, or it is another file",
                from->path, file->path, (long long)bytes, (long long)file->bytes);
        *out = (position){(zip_uint64_t)i, bytes};
        return PGCN_OK;
    }
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "unpacking '%s': it has no %s; nothing was unpacked: the archive at this "
                       "address has changed, or it is another file",
                       from->path, file->path);
}

static pgcn_status find_all(const unzip *from) {
    int64_t total = 0;
    for (int f = 0; f < from->files; f++) {
        PGCN_TRY(find_listed(from, &from->listed[f], &from->position[f]));
        /* sizes that the caller knows are fine: only those that the archive alone claims are
         * limited */
        if (from->listed[f].bytes > 0) continue;
        if (!pgcn_i_add(total, from->position[f].bytes, &total)) total = INT64_MAX;
        PGCN_TRY(check_total(from, total));
    }
    return PGCN_OK;
}

/* ---- unpacking ------------------------------------------------------------------------------- */

static pgcn_status copy_out(const unzip *from, zip_file_t *member, const char *name, int64_t bytes,
                            pgcn_i_atomic_file *to) {
    char shown[64];
    printable(shown, name);
    for (;;) {
        zip_int64_t got = zip_fread(member, from->piece, PIECE_BYTES);
        if (got < 0) return zip_failed(from->path, shown, zip_file_get_error(member));
        bytes -= got;
        if (bytes < 0 || (got == 0 && bytes > 0))
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "unpacking '%s': %s is %s than the archive says; it is damaged, "
                               "download it again",
                               from->path, shown, bytes < 0 ? "longer" : "shorter");
        if (got == 0) return PGCN_OK;
        PGCN_TRY(pgcn_i_atomic_write(to, from->piece, got));
    }
}

static pgcn_status unpack_file(const unzip *from, const char *name, position at) {
    char path[PGCN_I_PATH_BYTES];
    PGCN_TRY(pgcn_i_path_join(path, from->directory, name));
    char *slash = strrchr(path, '/'); /* the folders of the file */
    *slash = '\0';
    PGCN_TRY(pgcn_directory_make(path));
    *slash = '/';
    zip_file_t *member = zip_fopen_index(from->archive, at.index, 0);
    if (!member) return zip_failed(from->path, "", zip_get_error(from->archive));
    pgcn_i_atomic_file to;
    pgcn_status status = pgcn_i_atomic_open(&to, path);
    if (status == PGCN_OK) {
        status = copy_out(from, member, name, at.bytes, &to);
        if (status == PGCN_OK) status = pgcn_i_atomic_commit(&to);
        pgcn_i_atomic_abort(&to);
    }
    zip_fclose(member);
    return status;
}

static pgcn_status unpack_all(unzip *from) {
    PGCN_TRY(check_all(from));
    from->position = pgcn_i_alloc(from->files, sizeof *from->position);
    from->piece = pgcn_i_alloc(PIECE_BYTES, 1);
    if (!from->position || !from->piece) return PGCN_ERR_MEMORY;
    PGCN_TRY(find_all(from));
    for (int f = 0; f < from->files; f++)
        PGCN_TRY(unpack_file(from, from->listed[f].path, from->position[f]));
    return PGCN_OK;
}

pgcn_status pgcn_i_unzip(const char *path, const char *directory, const pgcn_i_listed *listed,
                         int files) {
    unzip from = {.path = path, .directory = directory, .listed = listed, .files = files};
    PGCN_TRY(open_archive(&from));
    pgcn_status status = unpack_all(&from);
    pgcn_i_free(from.position);
    pgcn_i_free(from.piece);
    zip_discard(from.archive);
    return status;
}
