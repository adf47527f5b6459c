/* Writes our own file, FILE.pgcn (container.h has its layout): every section in two passes, into the
 * SHA-256 and into the file. Narrow features (store.c) are encoded block by block in both. Serial,
 * thread-safe. A public function. */
#include "data/container.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- writing: the sections --------------------------------------------------------------- */

typedef struct section {
    const char *name;
    pgcn_i_dtype dtype;
    int rank;
    int64_t shape[2];
    const void *data;
    const pgcn_i_split *split; /* instead of data: mask `part` of all splits, one after the other */
    int part;
    const pgcn_i_store *store; /* data is float32 and becomes this; NULL: it is as it is */
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

/* The numbers of features, which a store may make narrower. */
static void add_values(section_list *list, const char *name, const pgcn_i_store *store,
                       const float *value, int64_t rows, int64_t columns) {
    int before = list->count;
    add(list, name, store ? store->dtype : PGCN_I_F32, value, rows, columns);
    if (list->count > before) list->at[before].store = store;
}

static void list_sections(const pgcn_dataset *data, const char *meta, const pgcn_i_store *store,
                          section_list *list) {
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
    add_values(list, "x.value", store, x->value, x->nonzeros, -1);
    add_values(list, "x.dense", store, x->dense, n, x->columns);
    if (store) add(list, "x.scale", PGCN_I_F32, store->scale, x->columns, -1);
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
    size_t length = sizeof container_made_from - 1;
    return strncmp(format, container_made_from, length) == 0 ? format + length : format;
}

/* Sorted keys: equal data gives equal bytes. *out: pgcn_i_free. */
static pgcn_status make_meta(const pgcn_dataset *data, const char *fingerprint, char **out) {
    const pgcn_i_source *from = &data->from;
    json_t *origin = from->split_origin ? json_text(from->split_origin) : json_null();
    json_t *meta = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I}", "name",
        json_text(data->name), "format", json_text(origin_format(from)), "steps",
        json_text(data->steps), "notes", json_notes(from), "splits", json_split_names(data),
        "split_origin", origin, "fingerprint", fingerprint, "directed", (int)data->graph->directed,
        "classes", (json_int_t)data->classes, "features", (json_int_t)data->x.columns, "graphs",
        (json_int_t)from->graphs, "source_edges", (json_int_t)from->edges, "dropped_self_loops",
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
    int64_t done, total; /* bytes of this pass */
} sink;

static pgcn_status put(sink *to, const void *data, int64_t bytes) {
    enum { PIECE = 1 << 23 };
    const char *at = data;
    for (int64_t left = bytes; left > 0;) {
        int64_t here = left < PIECE ? left : PIECE;
        PGCN_TRY(pgcn_i_stage(to->file ? "writing the file" : "computing its SHA-256",
                              (double)to->done / (double)to->total));
        if (to->file)
            PGCN_TRY(pgcn_i_atomic_write(to->file, at, here));
        else
            pgcn_i_hash_add(to->hash, at, here);
        at += here;
        left -= here;
        to->done += here;
    }
    return PGCN_OK;
}

/* Zeros from `at` up to the next multiple of 64. */
static pgcn_status put_zeros(sink *to, uint64_t at) {
    static const char zeros[PGCN_ALIGN];
    return put(to, zeros, (int64_t)(aligned(at) - at));
}

static pgcn_status put_narrow(sink *to, const section *from, const table_entry *entry) {
    enum { PIECE = 1 << 16 };
    int64_t size = pgcn_i_dtype_bytes(from->dtype), count = (int64_t)entry->bytes / size;
    char *piece = pgcn_i_alloc(PIECE, (size_t)size);
    if (!piece) return PGCN_ERR_MEMORY;
    pgcn_status status = PGCN_OK;
    for (int64_t first = 0; first < count && status == PGCN_OK; first += PIECE) {
        int64_t here = count - first < PIECE ? count - first : PIECE;
        status = pgcn_i_store_encode(from->store, first, here, piece);
        if (status == PGCN_OK) status = put(to, piece, here * size);
    }
    pgcn_i_free(piece);
    return status;
}

static pgcn_status put_section(sink *to, const section *from, const table_entry *entry) {
    if (from->store) {
        PGCN_TRY(put_narrow(to, from, entry));
    } else if (!from->split) {
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

static pgcn_status put_body(sink *to, const section_list *list, const table_entry *table) {
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

static pgcn_status write_container(const char *path, uint32_t version, const section_list *list) {
    table_entry table[MAX_SECTIONS];
    file_header header = {.version = version, .sections = (uint32_t)list->count};
    char hex[65];
    sink to = {0};
    memcpy(header.magic, container_magic, sizeof container_magic);
    PGCN_TRY(make_table(path, list, table, &header.file_bytes));
    to.total = (int64_t)header.file_bytes;
    pgcn_i_atomic_file file;
    pgcn_status status;
    PGCN_TRY(pgcn_i_atomic_open(&file, path)); /* a full disk is found before anything is done */
    PGCN_TRY_GOTO(pgcn_i_atomic_reserve(&file, to.total));
    PGCN_TRY_GOTO(pgcn_i_hash_new(&to.hash));
    pgcn_status hashed = put_body(&to, list, table);
    PGCN_TRY_GOTO(pgcn_i_hash_finish(to.hash, hex));
    PGCN_TRY_GOTO(hashed);
    bytes_of_hex(hex, header.sha256);

    to.file = &file;
    to.done = 0;
    PGCN_TRY_GOTO(put(&to, &header, HEADER_BYTES));
    PGCN_TRY_GOTO(put_body(&to, list, table));
    status = pgcn_i_atomic_commit(&file);
fail:
    pgcn_i_atomic_abort(&file);
    return status;
}

static pgcn_status save(const pgcn_dataset *data, const char *path, const pgcn_i_store *store) {
    char *meta, fingerprint[65];
    memcpy(fingerprint, data->fingerprint, sizeof fingerprint);
    if (store) PGCN_TRY(pgcn_i_fingerprint_stored(data, store, fingerprint));
    PGCN_TRY(make_meta(data, fingerprint, &meta));
    section_list list = {0};
    list_sections(data, meta, store, &list);
    uint32_t version = store ? VERSION_NARROW : data->x.absent ? VERSION_ABSENT : VERSION;
    pgcn_status status = write_container(path, version, &list);
    pgcn_i_free(meta);
    return status;
}

pgcn_save_opts pgcn_save_opts_default(void) {
    return (pgcn_save_opts){.size = sizeof(pgcn_save_opts)};
}

pgcn_status pgcn_dataset_save_as(const pgcn_dataset *data, const char *path,
                                 const pgcn_save_opts *opts) {
    PGCN_I_NEED(data);
    PGCN_I_NEED(path);
    pgcn_save_opts set = pgcn_save_opts_default();
    PGCN_TRY(pgcn_i_opts_over(&set, sizeof set, opts, "pgcn_save_opts_default"));
    PGCN_TRY(pgcn_i_need_features(data, "saving it"));
    pgcn_i_dtype dtype = PGCN_I_F32;
    if (set.store && !pgcn_i_narrow_parse(set.store, &dtype))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "store is '%.40s', expected float32, float16, bf16 or int8", set.store);
    if (dtype == PGCN_I_F32) return save(data, path, NULL);
    pgcn_i_arena arena = {0};
    pgcn_i_store store;
    pgcn_status status = pgcn_i_store_open(&data->x, dtype, &arena, &store);
    if (status == PGCN_OK) status = save(data, path, &store);
    pgcn_i_arena_free(&arena);
    return status;
}

pgcn_status pgcn_dataset_save(const pgcn_dataset *data, const char *path) {
    return pgcn_dataset_save_as(data, path, NULL);
}
