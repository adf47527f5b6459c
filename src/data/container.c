/* Our own file, FILE.pgcn: the arrays of a data set as they are in memory, so that loading is mapping.
 * Little-endian.
 *
 *   0    8   "PGCNDATA"
 *   8    4   version, u32: 1; 2 if there is a section x.absent, which older programs must not overlook
 *   12   4   number of sections s, u32
 *   16   8   length of the file, u64
 *   24   32  SHA-256 of everything from byte 64 to the end
 *   56   8   zero
 *   64   80s table of sections: name [24] filled with NUL, type u32 (0 uint8, 1 int32, 2 int64,
 *            3 float32), dimensions u32 (1 or 2), shape u64 [4] (unused ones 0), offset u64,
 *            bytes u64
 *   ...      sections in the order of the table, each at a multiple of 64; zeros between them and
 *            after the last, up to a multiple of 64
 *
 * docs/FORMATS.md lists the sections. The file is mapped privately and all arrays of the data set
 * point into the mapping. A file in use must not be shortened: the kernel would end the program
 * with SIGBUS. Saving another one under its name does not do that, it is renamed into place.
 * The file is hostile: here every section is checked to lie in the file and to have the shape that
 * the others demand, and the graph is checked; check.c checks labels, masks and features. The
 * SHA-256 is for `data check` only: it would take longer than everything else.
 * Called through formats.c. Serial, thread-safe. */
#include "data/data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    VERSION = 1,
    VERSION_ABSENT = 2, /* some nodes have no features */
    HEADER_BYTES = 64,
    ENTRY_BYTES = 80,
    NAME_BYTES = 24,
    MAX_RANK = 4,
    MAX_SECTIONS = 64,
    MAX_META_BYTES = 1 << 26,
    MAX_SPLITS = 100000
};
static const char magic[8] = {'P', 'G', 'C', 'N', 'D', 'A', 'T', 'A'};
static const char made_from[] = "container of pathgcn, made from ";

/* The numbers of types in the file are those of pgcn_i_dtype, for life. */
_Static_assert(PGCN_I_U8 == 0 && PGCN_I_I32 == 1 && PGCN_I_I64 == 2 && PGCN_I_F32 == 3,
               "types of version 1");

/* As it is in the file. */
typedef struct table_entry {
    char name[NAME_BYTES];
    uint32_t dtype, rank;
    uint64_t shape[MAX_RANK];
    uint64_t offset, bytes;
} table_entry;
_Static_assert(sizeof(table_entry) == ENTRY_BYTES, "table of version 1");

typedef struct file_header {
    char magic[8];
    uint32_t version, sections;
    uint64_t file_bytes;
    unsigned char sha256[32];
    uint64_t zero;
} file_header;
_Static_assert(sizeof(file_header) == HEADER_BYTES, "header of version 1");

static uint64_t aligned(uint64_t bytes) {
    return (bytes + PGCN_ALIGN - 1) / PGCN_ALIGN * PGCN_ALIGN;
}

/* ---- writing: the sections --------------------------------------------------------------- */

typedef struct section {
    const char *name;
    pgcn_i_dtype dtype;
    int rank;
    int64_t shape[2];
    const void *data;
    const pgcn_i_split *split; /* instead of data: mask `part` of all splits, one after the other */
    int part;
} section;

typedef struct section_list {
    int count;
    section at[MAX_SECTIONS];
} section_list;

/* columns < 0: one dimension. An array that is NULL is left out. */
static void add(section_list *list, const char *name, pgcn_i_dtype dtype, const void *data,
                int64_t rows, int64_t columns) {
    if (!data) return;
    list->at[list->count++] = (section){.name = name,
                                        .dtype = dtype,
                                        .rank = columns < 0 ? 1 : 2,
                                        .shape = {rows, columns < 0 ? 0 : columns},
                                        .data = data};
}

static void add_names(section_list *list, const char *offset_name, const char *text_name,
                      const pgcn_i_names *names) {
    if (names->count == 0) return;
    add(list, offset_name, PGCN_I_I64, names->offset, names->count + 1, -1);
    add(list, text_name, PGCN_I_U8, names->text, names->offset[names->count], -1);
}

static void list_sections(const pgcn_dataset *data, const char *meta, section_list *list) {
    static const char *const part[3] = {"train", "val", "test"};
    const pgcn_graph *graph = data->graph;
    const pgcn_i_source *from = &data->from;
    const pgcn_i_features *x = &data->x;
    int64_t n = graph->n, items = pgcn_i_source_items(from);
    add(list, "meta", PGCN_I_U8, meta, (int64_t)strlen(meta), -1);
    add(list, "graph.offset", PGCN_I_I64, graph->offset, n + 1, -1);
    add(list, "graph.neighbour", PGCN_I_I32, graph->neighbour, graph->entries, -1);
    add(list, "graph.weight", PGCN_I_F32, graph->weight, graph->entries, -1);
    add(list, "x.offset", PGCN_I_I64, x->offset, n + 1, -1);
    add(list, "x.column", PGCN_I_I32, x->column, x->nonzeros, -1);
    add(list, "x.value", PGCN_I_F32, x->value, x->nonzeros, -1);
    add(list, "x.dense", PGCN_I_F32, x->dense, n, x->columns);
    add(list, "x.absent", PGCN_I_U8, x->absent, n, -1);
    add(list, "x.made", PGCN_I_U8, x->made, x->columns, -1);
    add(list, "node_label", PGCN_I_I32, from->node_label, n, -1);
    add(list, "label", PGCN_I_I32, from->label, n, -1);
    add(list, "labels", PGCN_I_U8, from->labels, n, data->classes);
    add(list, "label_known", PGCN_I_U8, from->label_known, n, -1);
    add(list, "graph_of", PGCN_I_I32, from->graph_of, n, -1);
    add(list, "graph_label", PGCN_I_I32, from->graph_label, from->graphs, -1);
    add(list, "fold", PGCN_I_I32, from->fold, from->graphs, -1);
    for (int k = 0; k < 3 && data->splits > 0; k++)
        list->at[list->count++] = (section){.name = part[k],
                                            .dtype = PGCN_I_U8,
                                            .rank = 2,
                                            .shape = {data->splits, items},
                                            .split = data->split,
                                            .part = k};
    add(list, "number", PGCN_I_I32, from->number, n, -1);
    add_names(list, "node_id.offset", "node_id.text", &from->node_id);
    add_names(list, "class_name.offset", "class_name.text", &from->class_name);
    add_names(list, "feature_name.offset", "feature_name.text", &from->feature_name);
    add_names(list, "node_label_name.offset", "node_label_name.text", &from->node_label_name);
}

/* JSON is UTF-8; a folder may be called anything. */
static json_t *json_text(const char *text) {
    char plain[PGCN_I_PATH_BYTES];
    if (pgcn_i_is_utf8(text, (int64_t)strlen(text))) return json_string(text);
    snprintf(plain, sizeof plain, "%s", text);
    for (char *at = plain; *at; at++)
        if ((unsigned char)*at > 0x7f) *at = '?';
    return json_string(plain);
}

static json_t *json_notes(const pgcn_i_source *from) {
    json_t *notes = json_array();
    for (int i = 0; i < from->notes; i++)
        if (json_array_append_new(notes, json_text(from->note[i])) != 0) {
            json_decref(notes);
            return NULL;
        }
    return notes;
}

static json_t *json_split_names(const pgcn_dataset *data) {
    json_t *names = json_array();
    for (int s = 0; s < data->splits; s++)
        if (json_array_append_new(names, json_text(data->split[s].name)) != 0) {
            json_decref(names);
            return NULL;
        }
    return names;
}

/* The format of the original source, also if it was saved in a container since. */
static const char *origin_format(const pgcn_i_source *from) {
    const char *format = from->format ? from->format : "arrays";
    size_t length = sizeof made_from - 1;
    return strncmp(format, made_from, length) == 0 ? format + length : format;
}

/* Sorted keys: equal data gives equal bytes. *out: pgcn_i_free. */
static pgcn_status make_meta(const pgcn_dataset *data, char **out) {
    const pgcn_i_source *from = &data->from;
    json_t *origin = from->split_origin ? json_text(from->split_origin) : json_null();
    json_t *meta =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I}", "name",
                  json_text(data->name), "format", json_text(origin_format(from)), "steps",
                  json_text(data->steps), "notes", json_notes(from), "splits",
                  json_split_names(data), "split_origin", origin, "fingerprint", data->fingerprint,
                  "directed", (int)data->graph->directed, "classes", (json_int_t)data->classes,
                  "features", (json_int_t)data->x.columns, "graphs", (json_int_t)from->graphs,
                  "source_edges", (json_int_t)from->edges, "dropped_self_loops",
                  (json_int_t)from->dropped_self_loops, "groups", (json_int_t)from->groups);
    /* what no step says, and no mask: arrays of the caller may have none */
    bool no_test = from->no_test && !pgcn_i_steps_remove_test(data->steps);
    bool fine =
        meta && (!from->no_val || json_object_set_new(meta, "no_val", json_true()) == 0) &&
        (!no_test || json_object_set_new(meta, "no_test", json_true()) == 0) &&
        (!from->encoder || json_object_set_new(meta, "encoder", json_string(from->encoder)) == 0);
    *out = fine ? pgcn_i_json_dump(meta, JSON_SORT_KEYS) : NULL;
    json_decref(meta);
    if (!*out) return pgcn_i_fail(PGCN_ERR_MEMORY, "out of memory while saving a data set");
    return PGCN_OK;
}

/* ---- writing: the bytes ------------------------------------------------------------------ */

/* Two passes over the same bytes: first into the hash, then into the file. */
typedef struct sink {
    pgcn_i_hash *hash;
    pgcn_i_atomic_file *file;
} sink;

static pgcn_status put(const sink *to, const void *data, int64_t bytes) {
    if (to->file) return pgcn_i_atomic_write(to->file, data, bytes);
    pgcn_i_hash_add(to->hash, data, bytes);
    return PGCN_OK;
}

/* Zeros from `at` up to the next multiple of 64. */
static pgcn_status put_zeros(const sink *to, uint64_t at) {
    static const char zeros[PGCN_ALIGN];
    return put(to, zeros, (int64_t)(aligned(at) - at));
}

static pgcn_status put_section(const sink *to, const section *from, const table_entry *entry) {
    if (!from->split) {
        PGCN_TRY(put(to, from->data, (int64_t)entry->bytes));
    } else {
        for (int64_t s = 0; s < from->shape[0]; s++) {
            const pgcn_i_split *split = &from->split[s];
            const uint8_t *mask[3] = {split->train, split->val, split->test};
            PGCN_TRY(put(to, mask[from->part], from->shape[1]));
        }
    }
    return put_zeros(to, entry->bytes);
}

static pgcn_status put_body(const sink *to, const section_list *list, const table_entry *table) {
    int64_t table_bytes = list->count * (int64_t)ENTRY_BYTES;
    PGCN_TRY(put(to, table, table_bytes));
    PGCN_TRY(put_zeros(to, HEADER_BYTES + (uint64_t)table_bytes));
    for (int i = 0; i < list->count; i++) PGCN_TRY(put_section(to, &list->at[i], &table[i]));
    return PGCN_OK;
}

/* Sets the offset of every section; returns the length of the file. */
static pgcn_status make_table(const char *path, const section_list *list, table_entry *table,
                              uint64_t *file_bytes) {
    uint64_t at = aligned(HEADER_BYTES + (uint64_t)list->count * ENTRY_BYTES);
    for (int i = 0; i < list->count; i++) {
        const section *from = &list->at[i];
        int64_t count, bytes;
        if (!pgcn_i_array_size(from->shape, from->rank, from->dtype, &count, &bytes))
            return pgcn_i_fail(PGCN_ERR_ARGUMENT, "cannot write '%s': '%s' is too large", path,
                               from->name);
        table[i] = (table_entry){.dtype = (uint32_t)from->dtype,
                                 .rank = (uint32_t)from->rank,
                                 .shape = {(uint64_t)from->shape[0], (uint64_t)from->shape[1]},
                                 .offset = at,
                                 .bytes = (uint64_t)bytes};
        snprintf(table[i].name, NAME_BYTES, "%s", from->name);
        at = aligned(at + (uint64_t)bytes); /* all of it is in memory: no overflow */
    }
    *file_bytes = at;
    return PGCN_OK;
}

static void bytes_of_hex(const char hex[65], unsigned char out[32]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++)
        out[i] = (unsigned char)((strchr(digits, hex[2 * i]) - digits) << 4 |
                                 (strchr(digits, hex[2 * i + 1]) - digits));
}

static pgcn_status write_container(const char *path, uint32_t version, const section_list *list) {
    table_entry table[MAX_SECTIONS];
    file_header header = {.version = version, .sections = (uint32_t)list->count};
    char hex[65];
    sink to = {0};
    memcpy(header.magic, magic, sizeof magic);
    PGCN_TRY(make_table(path, list, table, &header.file_bytes));
    PGCN_TRY(pgcn_i_hash_new(&to.hash));
    pgcn_status hashed = put_body(&to, list, table);
    PGCN_TRY(pgcn_i_hash_finish(to.hash, hex));
    PGCN_TRY(hashed);
    bytes_of_hex(hex, header.sha256);

    pgcn_i_atomic_file file;
    pgcn_status status;
    to.file = &file;
    PGCN_TRY(pgcn_i_atomic_open(&file, path));
    PGCN_TRY_GOTO(put(&to, &header, HEADER_BYTES));
    PGCN_TRY_GOTO(put_body(&to, list, table));
    status = pgcn_i_atomic_commit(&file);
fail:
    pgcn_i_atomic_abort(&file);
    return status;
}

pgcn_status pgcn_dataset_save(const pgcn_dataset *data, const char *path) {
    PGCN_I_NEED(data);
    PGCN_I_NEED(path);
    char *meta;
    PGCN_TRY(make_meta(data, &meta));
    section_list list = {0};
    list_sections(data, meta, &list);
    pgcn_status status = write_container(path, data->x.absent ? VERSION_ABSENT : VERSION, &list);
    pgcn_i_free(meta);
    return status;
}

/* ---- reading: the file and its table ----------------------------------------------------- */

typedef struct container {
    const char *path;
    const char *bytes;
    uint64_t file_bytes;
    uint32_t version;
    int sections;
    table_entry table[MAX_SECTIONS];
} container;

static pgcn_status damaged(const container *from, const char *what) {
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s': %s; the file is damaged, convert its source again",
                       from->path, what);
}

static pgcn_status damaged_section(const container *from, const char *name, const char *what) {
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s': its section '%.24s' %s; the file is damaged, convert its "
                       "source again",
                       from->path, name, what);
}

bool pgcn_i_container_detect(const char *path) {
    char start[sizeof magic];
    pgcn_i_reader reader;
    if (pgcn_i_is_directory(path) || pgcn_i_reader_open(&reader, path) != PGCN_OK) return false;
    bool found = reader.bytes >= (int64_t)sizeof start &&
                 pgcn_i_reader_read(&reader, start, sizeof start) == PGCN_OK &&
                 memcmp(start, magic, sizeof magic) == 0;
    pgcn_i_reader_close(&reader);
    return found;
}

static pgcn_status check_header(const char *path, const file_header *header, int64_t file_bytes) {
    if (memcmp(header->magic, magic, sizeof magic) != 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it does not start with PGCNDATA; it is no container of "
                           "pathgcn",
                           path);
    if (header->version != VERSION && header->version != VERSION_ABSENT)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it is a container of version %u, expected %d or %d; read "
                           "it with the pathgcn that wrote it, or convert its source again",
                           path, header->version, VERSION, VERSION_ABSENT);
    if (header->file_bytes != (uint64_t)file_bytes)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it has %lld bytes, but was written with %llu; copy it "
                           "again",
                           path, (long long)file_bytes, (unsigned long long)header->file_bytes);
    if (header->sections < 1 || header->sections > MAX_SECTIONS || header->zero != 0 ||
        HEADER_BYTES + (uint64_t)header->sections * ENTRY_BYTES > header->file_bytes)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': its header names %u sections, expected 1 to %d inside "
                           "the file; the file is damaged, convert its source again",
                           path, header->sections, MAX_SECTIONS);
    return PGCN_OK;
}

static bool is_known(const char name[NAME_BYTES]) {
    static const char *const names[] = {
        "meta",
        "graph.offset",
        "graph.neighbour",
        "graph.weight",
        "x.offset",
        "x.column",
        "x.value",
        "x.dense",
        "x.absent",
        "x.made",
        "node_label",
        "label",
        "labels",
        "label_known",
        "graph_of",
        "graph_label",
        "fold",
        "train",
        "val",
        "test",
        "number",
        "node_id.offset",
        "node_id.text",
        "class_name.offset",
        "class_name.text",
        "feature_name.offset",
        "feature_name.text",
        "node_label_name.offset",
        "node_label_name.text",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char filled[NAME_BYTES] = {0}; /* what follows the name is compared too */
        memcpy(filled, names[i], strlen(names[i]));
        if (memcmp(filled, name, NAME_BYTES) == 0) return true;
    }
    return false;
}

/* The entry of a section that must begin at `at`. */
static pgcn_status check_entry(const container *from, int number, uint64_t at) {
    const table_entry *entry = &from->table[number];
    if (!is_known(entry->name)) return damaged_section(from, entry->name, "is of no known name");
    for (int i = 0; i < number; i++)
        if (strcmp(from->table[i].name, entry->name) == 0)
            return damaged_section(from, entry->name, "is there twice");
    if (entry->dtype > PGCN_I_F32 || entry->rank < 1 || entry->rank > 2)
        return damaged_section(from, entry->name, "has no known type or number of dimensions");
    int64_t shape[MAX_RANK], count, bytes;
    for (uint32_t i = 0; i < MAX_RANK; i++) {
        if (entry->shape[i] > INT64_MAX || (i >= entry->rank && entry->shape[i] != 0))
            return damaged_section(from, entry->name, "has no valid shape");
        shape[i] = (int64_t)entry->shape[i];
    }
    if (!pgcn_i_array_size(shape, (int)entry->rank, (pgcn_i_dtype)entry->dtype, &count, &bytes) ||
        (uint64_t)bytes != entry->bytes)
        return damaged_section(from, entry->name, "has another length than its shape");
    if (entry->offset != at)
        return damaged_section(from, entry->name, "does not begin where the one before it ends");
    if (at > from->file_bytes || entry->bytes > from->file_bytes - at)
        return damaged_section(from, entry->name, "does not lie in the file");
    return PGCN_OK;
}

/* Sections follow each other without gaps, from the table to the end of the file. */
static pgcn_status check_table(container *from) {
    uint64_t at = aligned(HEADER_BYTES + (uint64_t)from->sections * ENTRY_BYTES);
    for (int i = 0; i < from->sections; i++) {
        memcpy(&from->table[i], from->bytes + HEADER_BYTES + (size_t)i * ENTRY_BYTES, ENTRY_BYTES);
        PGCN_TRY(check_entry(from, i, at));
        at = aligned(at + from->table[i].bytes); /* inside the file: no overflow */
    }
    return at == from->file_bytes ? PGCN_OK : damaged(from, "it goes on after its last section");
}

/* The mapping belongs to the source from here on. */
static pgcn_status map_file(const char *path, pgcn_i_source *source, container *out) {
    pgcn_i_reader reader;
    file_header header;
    PGCN_TRY(pgcn_i_reader_open(&reader, path));
    pgcn_status status = PGCN_OK;
    if (reader.bytes < HEADER_BYTES)
        status = pgcn_i_fail(PGCN_ERR_FORMAT,
                             "reading '%s': it has %lld bytes, too few for a container of pathgcn; "
                             "copy it again",
                             path, (long long)reader.bytes);
    if (status == PGCN_OK) status = pgcn_i_reader_read(&reader, &header, sizeof header);
    if (status == PGCN_OK) status = check_header(path, &header, reader.bytes);
    if (status == PGCN_OK) {
        void *mapping =
            mmap(NULL, (size_t)reader.bytes, PROT_READ, MAP_PRIVATE, reader.descriptor, 0);
        if (mapping == MAP_FAILED) {
            status = pgcn_i_fail(errno == ENOMEM ? PGCN_ERR_MEMORY : PGCN_ERR_IO,
                                 "cannot map the %lld bytes of '%s' into memory: %s",
                                 (long long)reader.bytes, path, pgcn_system_error(errno));
        } else {
            source->mapping = mapping;
            source->mapping_bytes = reader.bytes;
        }
    }
    pgcn_i_reader_close(&reader);
    PGCN_TRY(status);
    *out = (container){.path = path,
                       .bytes = source->mapping,
                       .file_bytes = header.file_bytes,
                       .version = header.version,
                       .sections = (int)header.sections};
    return check_table(out);
}

/* ---- reading: sections ------------------------------------------------------------------- */

static const table_entry *find(const container *from, const char *name) {
    for (int i = 0; i < from->sections; i++)
        if (strcmp(from->table[i].name, name) == 0) return &from->table[i];
    return NULL;
}

static int64_t rows_of(const container *from, const char *name) {
    const table_entry *entry = find(from, name);
    return entry ? (int64_t)entry->shape[0] : 0;
}

/* The array of a section, of exactly this type and shape; columns < 0: one dimension. NULL if the
 * file has none of that name. `out` is the address of a pointer. */
static pgcn_status get(const container *from, const char *name, pgcn_i_dtype dtype, int64_t rows,
                       int64_t columns, void *out) {
    const table_entry *entry = find(from, name);
    const void *data = NULL;
    if (entry) {
        if (entry->dtype != (uint32_t)dtype || entry->rank != (columns < 0 ? 1 : 2) ||
            entry->shape[0] != (uint64_t)rows ||
            (columns >= 0 && entry->shape[1] != (uint64_t)columns)) {
            char expected[PGCN_I_SHAPE_TEXT], what[PGCN_I_SHAPE_TEXT + 32];
            pgcn_i_shape_text(dtype, columns < 0 ? 1 : 2, (int64_t[]){rows, columns}, expected);
            snprintf(what, sizeof what, "is not an array %s", expected);
            return damaged_section(from, name, what);
        }
        data = from->bytes + entry->offset;
    }
    memcpy(out, &data, sizeof data);
    return PGCN_OK;
}

static pgcn_status need(const container *from, const char *name, const void *data) {
    return data ? PGCN_OK : damaged_section(from, name, "is missing");
}

static pgcn_status get_graph(const container *from, bool directed, pgcn_i_source *source) {
    pgcn_i_arena arena = {0};
    pgcn_graph *graph = PGCN_I_ARRAY(&arena, pgcn_graph, 1);
    if (!graph) return PGCN_ERR_MEMORY;
    graph->arena = arena; /* holds the struct and nothing else */
    source->graph = graph;
    graph->n = rows_of(from, "graph.offset") - 1;
    graph->entries = rows_of(from, "graph.neighbour");
    graph->directed = directed;
    PGCN_TRY(get(from, "graph.offset", PGCN_I_I64, graph->n + 1, -1, &graph->offset));
    PGCN_TRY(get(from, "graph.neighbour", PGCN_I_I32, graph->entries, -1, &graph->neighbour));
    PGCN_TRY(get(from, "graph.weight", PGCN_I_F32, graph->entries, -1, &graph->weight));
    PGCN_TRY(need(from, "graph.offset", graph->offset));
    PGCN_TRY(need(from, "graph.neighbour", graph->neighbour));
    pgcn_status status = pgcn_i_graph_check(graph);
    if (status != PGCN_OK) return pgcn_i_fail_in(status, "reading '%s'", from->path);
    source->nodes = graph->n;
    source->directed = directed;
    return PGCN_OK;
}

static pgcn_status get_features(const container *from, int64_t columns, pgcn_i_source *source) {
    pgcn_i_features *x = &source->x;
    int64_t n = source->nodes;
    *x = (pgcn_i_features){.n = n, .columns = columns, .nonzeros = rows_of(from, "x.column")};
    PGCN_TRY(get(from, "x.offset", PGCN_I_I64, n + 1, -1, &x->offset));
    PGCN_TRY(get(from, "x.column", PGCN_I_I32, x->nonzeros, -1, &x->column));
    PGCN_TRY(get(from, "x.value", PGCN_I_F32, x->nonzeros, -1, &x->value));
    PGCN_TRY(get(from, "x.absent", PGCN_I_U8, n, -1, &x->absent));
    if ((x->absent != NULL) != (from->version == VERSION_ABSENT))
        return damaged_section(from, "x.absent", "does not go with the version of the file");
    PGCN_TRY(get(from, "x.made", PGCN_I_U8, columns, -1, &x->made));
    return get(from, "x.dense", PGCN_I_F32, n, columns, &x->dense);
}

static pgcn_status get_names(const container *from, const char *offset_name, const char *text_name,
                             pgcn_i_names *out) {
    int64_t rows = rows_of(from, offset_name), bytes = rows_of(from, text_name);
    if (rows < 2) return PGCN_OK;
    pgcn_i_names names = {.count = rows - 1};
    PGCN_TRY(get(from, offset_name, PGCN_I_I64, rows, -1, &names.offset));
    PGCN_TRY(get(from, text_name, PGCN_I_U8, bytes, -1, &names.text));
    PGCN_TRY(need(from, text_name, names.text));
    /* check.c checks that the offsets ascend from 0; then all of them are inside */
    if (names.offset[names.count] != bytes)
        return damaged_section(from, text_name, "has another length than its offsets say");
    *out = names;
    return PGCN_OK;
}

static pgcn_status get_labels(const container *from, pgcn_i_source *source) {
    int64_t n = source->nodes, graphs = source->graphs;
    PGCN_TRY(get(from, "node_label", PGCN_I_I32, n, -1, &source->node_label));
    PGCN_TRY(get(from, "label", PGCN_I_I32, n, -1, &source->label));
    PGCN_TRY(get(from, "labels", PGCN_I_U8, n, source->classes, &source->labels));
    PGCN_TRY(get(from, "label_known", PGCN_I_U8, n, -1, &source->label_known));
    PGCN_TRY(get(from, "graph_of", PGCN_I_I32, n, -1, &source->graph_of));
    PGCN_TRY(get(from, "graph_label", PGCN_I_I32, graphs, -1, &source->graph_label));
    return get(from, "fold", PGCN_I_I32, graphs, -1, &source->fold);
}

/* ---- reading: meta ----------------------------------------------------------------------- */

static pgcn_status meta_text(const container *from, const json_t *meta, const char *key,
                             pgcn_i_arena *arena, const char **out) {
    const char *text = json_string_value(json_object_get(meta, key));
    char what[64];
    snprintf(what, sizeof what, "has no text '%s'", key);
    if (!text) return damaged_section(from, "meta", what);
    *out = pgcn_i_arena_strdup(arena, text);
    return *out ? PGCN_OK : PGCN_ERR_MEMORY;
}

static pgcn_status meta_number(const container *from, const json_t *meta, const char *key,
                               int64_t most, int64_t *out) {
    const json_t *value = json_object_get(meta, key);
    char what[64];
    snprintf(what, sizeof what, "has no number '%s' from 0 to %lld", key, (long long)most);
    *out = (int64_t)json_integer_value(value);
    if (!json_is_integer(value) || *out < 0 || *out > most)
        return damaged_section(from, "meta", what);
    return PGCN_OK;
}

static pgcn_status get_notes(const container *from, const json_t *meta, pgcn_i_source *source) {
    const json_t *notes = json_object_get(meta, "notes");
    if (json_array_size(notes) > PGCN_I_MAX_NOTES)
        return damaged_section(from, "meta", "has too many notes");
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const char *text = json_string_value(json_array_get(notes, i));
        if (!text) return damaged_section(from, "meta", "has a note that is no text");
        PGCN_TRY(pgcn_i_source_note(source, "%s", text));
    }
    return PGCN_OK;
}

static pgcn_status get_splits(const container *from, const json_t *meta, pgcn_i_source *source) {
    const json_t *names = json_object_get(meta, "splits"),
                 *origin = json_object_get(meta, "split_origin");
    size_t count = json_array_size(names);
    const uint8_t *train = NULL, *val = NULL, *test = NULL;
    int64_t items = pgcn_i_source_items(source);
    if (!json_is_array(names) || count > MAX_SPLITS)
        return damaged_section(from, "meta", "has no list of splits");
    if (count == 0) return PGCN_OK;
    source->no_val = json_is_true(json_object_get(meta, "no_val"));
    source->no_test = json_is_true(json_object_get(meta, "no_test"));
    PGCN_TRY(get(from, "train", PGCN_I_U8, (int64_t)count, items, &train));
    PGCN_TRY(get(from, "val", PGCN_I_U8, (int64_t)count, items, &val));
    PGCN_TRY(get(from, "test", PGCN_I_U8, (int64_t)count, items, &test));
    if (!train || !val || !test) return damaged(from, "masks are missing");
    source->split = PGCN_I_ARRAY(&source->arena, pgcn_i_split, (int64_t)count);
    if (!source->split) return PGCN_ERR_MEMORY;
    source->splits = (int)count;
    for (size_t s = 0; s < count; s++) {
        pgcn_i_split *split = &source->split[s];
        const char *name = json_string_value(json_array_get(names, s));
        if (!name || strlen(name) >= sizeof split->name)
            return damaged_section(from, "meta", "has a split without a short name");
        snprintf(split->name, sizeof split->name, "%s", name);
        split->train = train + (int64_t)s * items;
        split->val = val + (int64_t)s * items;
        split->test = test + (int64_t)s * items;
    }
    if (json_is_null(origin)) return PGCN_OK;
    return meta_text(from, meta, "split_origin", &source->arena, &source->split_origin);
}

static pgcn_status get_origin(const container *from, const json_t *meta, pgcn_i_source *source) {
    pgcn_i_arena *arena = &source->arena;
    const char *format, *fingerprint;
    char with_prefix[256];
    PGCN_TRY(meta_text(from, meta, "name", arena, &source->own_name));
    PGCN_TRY(meta_text(from, meta, "steps", arena, &source->own_steps));
    PGCN_TRY(meta_text(from, meta, "format", arena, &format));
    PGCN_TRY(meta_text(from, meta, "fingerprint", arena, &fingerprint));
    snprintf(with_prefix, sizeof with_prefix, "%s%.200s", made_from, format);
    source->format = pgcn_i_arena_strdup(arena, with_prefix);
    source->container_path = pgcn_i_arena_strdup(arena, from->path);
    if (!source->format || !source->container_path) return PGCN_ERR_MEMORY;
    if (strlen(fingerprint) != 64 || strspn(fingerprint, "0123456789abcdef") != 64)
        return damaged_section(from, "meta", "has no fingerprint of 64 hex digits");
    memcpy(source->fingerprint, fingerprint, sizeof source->fingerprint);
    if (json_object_get(meta, "encoder")) { /* only of tables with more than numbers */
        PGCN_TRY(meta_text(from, meta, "encoder", arena, &source->encoder));
        PGCN_TRY(pgcn_i_encoder_check(from->path, source->encoder));
    }
    return get_notes(from, meta, source);
}

static pgcn_status get_all(const container *from, const json_t *meta, pgcn_i_source *source) {
    int64_t classes, columns;
    const json_t *directed = json_object_get(meta, "directed");
    if (!json_is_boolean(directed)) return damaged_section(from, "meta", "has no 'directed'");
    PGCN_TRY(meta_number(from, meta, "classes", INT32_MAX, &classes));
    PGCN_TRY(meta_number(from, meta, "features", INT32_MAX, &columns));
    PGCN_TRY(meta_number(from, meta, "graphs", INT32_MAX, &source->graphs));
    PGCN_TRY(meta_number(from, meta, "source_edges", INT64_MAX, &source->edges));
    if (json_object_get(meta, "dropped_self_loops")) /* the first files had none */
        PGCN_TRY(
            meta_number(from, meta, "dropped_self_loops", INT32_MAX, &source->dropped_self_loops));
    int64_t groups = 0;
    if (json_object_get(meta, "groups")) /* nor the number of groups */
        PGCN_TRY(meta_number(from, meta, "groups", PGCN_MAX_GROUPS, &groups));
    source->groups = (int)groups;
    source->classes = (int)classes;
    PGCN_TRY(get_origin(from, meta, source));
    PGCN_TRY(get_graph(from, json_is_true(directed), source));
    PGCN_TRY(get_features(from, columns, source));
    PGCN_TRY(get_labels(from, source));
    PGCN_TRY(get_splits(from, meta, source));
    PGCN_TRY(get(from, "number", PGCN_I_I32, source->nodes, -1, &source->number));
    PGCN_TRY(get_names(from, "node_id.offset", "node_id.text", &source->node_id));
    PGCN_TRY(get_names(from, "class_name.offset", "class_name.text", &source->class_name));
    PGCN_TRY(get_names(from, "feature_name.offset", "feature_name.text", &source->feature_name));
    return get_names(from, "node_label_name.offset", "node_label_name.text",
                     &source->node_label_name);
}

pgcn_status pgcn_i_container_read(const char *path, const pgcn_i_steps *steps,
                                  pgcn_i_source *source) {
    (void)steps;
    container from;
    PGCN_TRY(map_file(path, source, &from));
    const table_entry *text = find(&from, "meta");
    if (!text || text->dtype != PGCN_I_U8 || text->bytes > MAX_META_BYTES)
        return damaged(&from, "it has no section 'meta'");
    json_t *meta;
    PGCN_TRY(pgcn_i_json_parse(path, from.bytes + text->offset, (int64_t)text->bytes, &meta));
    if (!json_is_object(meta)) {
        json_decref(meta);
        return damaged_section(&from, "meta", "is not a JSON object");
    }
    pgcn_status status = get_all(&from, meta, source);
    json_decref(meta);
    return status;
}

/* ---- the SHA-256 ------------------------------------------------------------------------- */

static pgcn_status verify_open(pgcn_i_reader *reader) {
    file_header header;
    char hex[65];
    unsigned char found[32];
    if (reader->bytes < HEADER_BYTES)
        return pgcn_i_fail(PGCN_ERR_FORMAT, "'%s' is too short for a container of pathgcn",
                           reader->path);
    PGCN_TRY(pgcn_i_reader_read(reader, &header, sizeof header));
    PGCN_TRY(check_header(reader->path, &header, reader->bytes));
    PGCN_TRY(pgcn_i_hash_reader(reader, reader->bytes - HEADER_BYTES, hex));
    bytes_of_hex(hex, found);
    if (memcmp(found, header.sha256, sizeof found) != 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "'%s' has another SHA-256 than when it was written: it was changed or "
                           "damaged; convert its source again",
                           reader->path);
    return PGCN_OK;
}

pgcn_status pgcn_i_container_verify(const char *path) {
    pgcn_i_reader reader;
    PGCN_TRY(pgcn_i_reader_open(&reader, path));
    pgcn_status status = verify_open(&reader);
    pgcn_i_reader_close(&reader);
    return status;
}
