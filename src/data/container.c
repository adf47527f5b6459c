/* Reads our own file, FILE.pgcn (container.h has its layout): maps it, so that loading copies nothing but
 * narrow features, which are decoded. Within a bound of memory the features stay in the file.
 *
 * docs/FORMATS.md lists the sections. The file is mapped privately and all arrays of the data set
 * point into the mapping. A file in use must not be shortened: the kernel would end the program
 * with SIGBUS. Saving another one under its name does not do that, it is renamed into place.
 * The file is hostile: here every section is checked to lie in the file and to have the shape that
 * the others demand, and the graph is checked; check.c checks labels, masks and features. The
 * SHA-256 is for `data check` only: it would take longer than everything else.
 * Called through formats.c. Serial, thread-safe. */
#include "data/container.h"

#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

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
    char start[sizeof container_magic];
    pgcn_i_reader reader;
    if (pgcn_i_is_directory(path) || pgcn_i_reader_open(&reader, path) != PGCN_OK) return false;
    bool found = reader.bytes >= (int64_t)sizeof start &&
                 pgcn_i_reader_read(&reader, start, sizeof start) == PGCN_OK &&
                 memcmp(start, container_magic, sizeof container_magic) == 0;
    pgcn_i_reader_close(&reader);
    return found;
}

static pgcn_status check_header(const char *path, const file_header *header, int64_t file_bytes) {
    if (memcmp(header->magic, container_magic, sizeof container_magic) != 0)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it does not start with PGCNDATA; it is no container of "
                           "pathgcn",
                           path);
    if (header->version < VERSION || header->version > VERSION_NARROW)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it is a container of version %u, expected %d to %d; read "
                           "it with the pathgcn that wrote it, or convert its source again",
                           path, header->version, VERSION, VERSION_NARROW);
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
        "x.scale",
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
    bool known = entry->dtype <= PGCN_I_F32 ||
                 (from->version == VERSION_NARROW && pgcn_i_is_narrow((pgcn_i_dtype)entry->dtype));
    if (!known || entry->rank < 1 || entry->rank > 2)
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
            pgcn_i_spool_watch(mapping, reader.bytes);
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

static pgcn_status check_scales(const container *from, const float *scale, int64_t columns) {
    for (int64_t j = 0; scale && j < columns; j++)
        if (!(scale[j] >= 0 && scale[j] <= FLT_MAX))
            return damaged_section(from, "x.scale", "has a scale that is no number from 0 on");
    return PGCN_OK;
}

/* The numbers of sparse or dense features, mapped where they are float32, else decoded. */
static pgcn_status get_values(const container *from, const char *name, int64_t rows,
                              int64_t columns, pgcn_i_source *source, const float **out) {
    const table_entry *entry = find(from, name);
    pgcn_i_dtype dtype = entry ? (pgcn_i_dtype)entry->dtype : PGCN_I_F32;
    if (!pgcn_i_is_narrow(dtype)) return get(from, name, PGCN_I_F32, rows, columns, out);
    const void *stored;
    pgcn_i_store store = {.dtype = dtype, .x = &source->x};
    PGCN_TRY(get(from, name, dtype, rows, columns, &stored));
    PGCN_TRY(get(from, "x.scale", PGCN_I_F32, source->x.columns, -1, &store.scale));
    if ((store.scale != NULL) != (dtype == PGCN_I_I8))
        return damaged_section(from, "x.scale", "does not go with the type of the features");
    PGCN_TRY(check_scales(from, store.scale, source->x.columns));
    source->store = dtype;
    return pgcn_i_store_read(&store, stored, &source->arena, out);
}

/* Columns of sparse int8 features choose the scale, before check.c has seen them. */
static pgcn_status check_columns(const container *from, const pgcn_i_features *x) {
    for (int64_t i = 0; x->column && i < x->nonzeros; i++)
        if (x->column[i] < 0 || x->column[i] >= x->columns)
            return damaged_section(from, "x.column", "has a column that is not there");
    return PGCN_OK;
}

static pgcn_status open_rows(const container *from, pgcn_i_row_way way, pgcn_i_row_file **out);

/* Dense features that stay in the file, and the few bytes about nodes and columns beside them. */
static pgcn_status leave_features(const container *from, int64_t columns, pgcn_i_source *source) {
    pgcn_i_features *x = &source->x;
    const table_entry *dense = find(from, "x.dense");
    int64_t n = source->nodes;
    if (!dense)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "'%s' has %s, and only dense features can stay on disk; leave --memory "
                           "out: batches (--batch) keep the rest of a training small",
                           from->path, columns > 0 ? "sparse features" : "no features");
    if (dense->rank != 2 || dense->shape[0] != (uint64_t)n ||
        dense->shape[1] != (uint64_t)columns || columns < 1)
        return damaged_section(from, "x.dense", "has another shape than the data set");
    *x = (pgcn_i_features){.n = n, .columns = columns};
    PGCN_TRY(get(from, "x.absent", PGCN_I_U8, n, -1, &x->absent));
    PGCN_TRY(get(from, "x.made", PGCN_I_U8, columns, -1, &x->made));
    if (pgcn_i_is_narrow((pgcn_i_dtype)dense->dtype)) source->store = (pgcn_i_dtype)dense->dtype;
    return open_rows(from, PGCN_I_ROWS_BEST, &x->file);
}

static pgcn_status get_features(const container *from, int64_t columns, pgcn_i_source *source) {
    pgcn_i_features *x = &source->x;
    int64_t n = source->nodes;
    if (source->memory > 0) return leave_features(from, columns, source);
    *x = (pgcn_i_features){.n = n,
                           .columns = columns,
                           .nonzeros = rows_of(from, "x.column"),
                           .mapping = source->mapping,
                           .mapping_bytes = source->mapping_bytes};
    PGCN_TRY(get(from, "x.offset", PGCN_I_I64, n + 1, -1, &x->offset));
    PGCN_TRY(get(from, "x.column", PGCN_I_I32, x->nonzeros, -1, &x->column));
    PGCN_TRY(get(from, "x.absent", PGCN_I_U8, n, -1, &x->absent));
    bool narrow = from->version == VERSION_NARROW;
    if (!narrow && (x->absent != NULL) != (from->version == VERSION_ABSENT))
        return damaged_section(from, "x.absent", "does not go with the version of the file");
    PGCN_TRY(get(from, "x.made", PGCN_I_U8, columns, -1, &x->made));
    if (narrow) PGCN_TRY(check_columns(from, x));
    PGCN_TRY(get_values(from, "x.value", x->nonzeros, -1, source, &x->value));
    PGCN_TRY(get_values(from, "x.dense", n, columns, source, &x->dense));
    if (narrow != (source->store != 0))
        return damaged(from, "its version says that features are narrow, and they are not");
    return PGCN_OK;
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
    snprintf(with_prefix, sizeof with_prefix, "%s%.200s", container_made_from, format);
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

/* A copy in memory of an array that is mapped. */
static pgcn_status copy_mapped(pgcn_i_source *source, void *at, int64_t bytes) {
    const void *mapped;
    memcpy(&mapped, at, sizeof mapped);
    if (!mapped) return PGCN_OK;
    char *copy = PGCN_I_ARRAY(&source->arena, char, bytes);
    if (!copy) return PGCN_ERR_MEMORY;
    memcpy(copy, mapped, (size_t)bytes);
    memcpy(at, &copy, sizeof copy);
    return PGCN_OK;
}

/* Within a bound of memory: what has a few bytes per node is read at random in every step, and is not to be lost
 * when pages of the mapping are given back. The graph alone stays mapped. */
static pgcn_status copy_labels(pgcn_i_source *source) {
    int64_t n = source->nodes, items = pgcn_i_source_items(source), classes = source->classes;
    PGCN_TRY(copy_mapped(source, &source->label, n * (int64_t)sizeof *source->label));
    PGCN_TRY(copy_mapped(source, &source->labels, n * classes));
    PGCN_TRY(copy_mapped(source, &source->label_known, n));
    PGCN_TRY(copy_mapped(source, &source->x.absent, n));
    for (int s = 0; s < source->splits; s++) {
        PGCN_TRY(copy_mapped(source, &source->split[s].train, items));
        PGCN_TRY(copy_mapped(source, &source->split[s].val, items));
        PGCN_TRY(copy_mapped(source, &source->split[s].test, items));
    }
    return PGCN_OK;
}

/* The caller frees *meta, which is an object. */
static pgcn_status read_meta(const container *from, json_t **meta) {
    const table_entry *text = find(from, "meta");
    if (!text || text->dtype != PGCN_I_U8 || text->bytes > MAX_META_BYTES)
        return damaged(from, "it has no section 'meta'");
    PGCN_TRY(pgcn_i_json_parse(from->path, from->bytes + text->offset, (int64_t)text->bytes, meta));
    if (json_is_object(*meta)) return PGCN_OK;
    json_decref(*meta);
    return damaged_section(from, "meta", "is not a JSON object");
}

pgcn_status pgcn_i_container_read(const char *path, const pgcn_i_steps *steps,
                                  pgcn_i_source *source) {
    (void)steps;
    container from;
    json_t *meta;
    PGCN_TRY(map_file(path, source, &from));
    PGCN_TRY(read_meta(&from, &meta));
    pgcn_status status = get_all(&from, meta, source);
    if (status == PGCN_OK && source->memory > 0) status = copy_labels(source);
    json_decref(meta);
    return status;
}

/* ---- rows, one by one -------------------------------------------------------------------------- */

static pgcn_status open_rows(const container *from, pgcn_i_row_way way, pgcn_i_row_file **out) {
    const table_entry *dense = find(from, "x.dense");
    if (!dense || dense->rank != 2 || dense->shape[1] == 0 || dense->shape[0] > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "'%s' has no dense features whose rows could be read one by one",
                           from->path);
    pgcn_i_row_layout layout = {.dtype = (pgcn_i_dtype)dense->dtype,
                                .rows = (int64_t)dense->shape[0],
                                .columns = (int64_t)dense->shape[1],
                                .offset = (int64_t)dense->offset};
    if (layout.dtype != PGCN_I_F32 && !pgcn_i_is_narrow(layout.dtype))
        return damaged_section(from, "x.dense", "is of no type that features have");
    if (layout.dtype == PGCN_I_I8) {
        PGCN_TRY(get(from, "x.scale", PGCN_I_F32, layout.columns, -1, &layout.scale));
        PGCN_TRY(need(from, "x.scale", layout.scale));
        PGCN_TRY(check_scales(from, layout.scale, layout.columns));
    }
    return pgcn_i_row_file_open(from->path, &layout, way, out);
}

pgcn_status pgcn_i_container_rows(const char *path, pgcn_i_row_way way, pgcn_i_row_file **out) {
    pgcn_i_source mapped = {0};
    container from;
    pgcn_status status = map_file(path, &mapped, &from);
    if (status == PGCN_OK) status = open_rows(&from, way, out);
    pgcn_i_source_free(&mapped);
    return status;
}

pgcn_status pgcn_i_container_graph(const char *path, pgcn_i_source *source) {
    container from;
    json_t *meta;
    PGCN_TRY(map_file(path, source, &from));
    PGCN_TRY(read_meta(&from, &meta));
    bool directed = json_is_true(json_object_get(meta, "directed"));
    json_decref(meta);
    return get_graph(&from, directed, source);
}

bool pgcn_i_container_is_dense(const char *path) {
    pgcn_i_source mapped = {0};
    container from;
    bool dense = map_file(path, &mapped, &from) == PGCN_OK && find(&from, "x.dense");
    pgcn_i_source_free(&mapped);
    return dense;
}

int64_t pgcn_i_container_decoded(const char *path) {
    static const char *const names[] = {"x.dense", "x.value"};
    pgcn_i_source mapped = {0};
    container from;
    int64_t numbers = 0;
    if (map_file(path, &mapped, &from) == PGCN_OK)
        for (int i = 0; i < 2; i++) {
            const table_entry *entry = find(&from, names[i]);
            pgcn_i_dtype dtype = entry ? (pgcn_i_dtype)entry->dtype : PGCN_I_F32;
            if (pgcn_i_is_narrow(dtype))
                numbers += (int64_t)entry->bytes / pgcn_i_dtype_bytes(dtype);
        }
    pgcn_i_source_free(&mapped);
    return numbers * (int64_t)sizeof(float);
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
