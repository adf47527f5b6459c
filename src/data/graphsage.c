/* GraphSAGE (Hamilton, Ying, Leskovec 2017), four files with a common beginning:
 *
 *   PREFIX-G.json          node-link JSON (node_link.c); nodes carry "val" and "test"
 *   PREFIX-id_map.json     {"id": row, ...}: the row of every node, 0 .. n-1
 *   PREFIX-class_map.json  {"id": class, ...}, or {"id": [0, 1, 1, ...], ...}: several labels
 *   PREFIX-feats.npy       [n, f] numbers (float64); may be missing
 *
 * PREFIX-walks.txt is not read. Ids are compared as text: the number 7 of the graph is "7" of the
 * maps. Nodes are put in the order of the rows; nodes that are neither "val" nor "test" train. As
 * in GraphSAGE, a node without these marks that has no row is dropped with its links. With a row, it
 * stays but is in no split, and neither is a node without a label. The format does not say which
 * graph a node belongs to, so all is one graph. Called through formats.c. Serial, thread-safe. */
#include "data/id_map.h"
#include "data/node_link.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static const char graph_end[] = "-G.json";
enum { GRAPH_END = sizeof graph_end - 1 };

/* ---- which files ----------------------------------------------------------------------------- */

/* The file NAME-G.json of a directory; how many there are. */
static int find_in_directory(const char *path, char name[256]) {
    DIR *stream = opendir(path);
    int found = 0;
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (pgcn_i_ends_with(entry->d_name, graph_end)) {
            if (found++ == 0) snprintf(name, 256, "%s", entry->d_name);
        }
    if (stream) closedir(stream);
    return found;
}

/* PREFIX of a directory that holds the files, of PREFIX-G.json or of PREFIX itself; false: none. */
static bool find_prefix(const char *path, char out[PGCN_I_PATH_BYTES], int *found) {
    char name[256];
    int length = 0;
    *found = 1;
    if (pgcn_i_is_directory(path)) {
        *found = find_in_directory(path, name);
        if (*found == 0) return false;
        length = snprintf(out, PGCN_I_PATH_BYTES, "%s/%s", path, name);
    } else if (pgcn_i_ends_with(path, graph_end)) {
        length = snprintf(out, PGCN_I_PATH_BYTES, "%s", path);
    } else {
        length = snprintf(out, PGCN_I_PATH_BYTES, "%s%s", path, graph_end);
    }
    if (length < 0 || length >= PGCN_I_PATH_BYTES || !pgcn_i_file_exists(out)) return false;
    out[length - GRAPH_END] = '\0';
    return true;
}

bool pgcn_i_graphsage_detect(const char *path) {
    char prefix[PGCN_I_PATH_BYTES];
    int found;
    return find_prefix(path, prefix, &found);
}

static pgcn_status file_of(char out[PGCN_I_PATH_BYTES], const char *prefix, const char *end) {
    int length = snprintf(out, PGCN_I_PATH_BYTES, "%s%s", prefix, end);
    if (length >= 0 && length < PGCN_I_PATH_BYTES) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "the path of '%s' is longer than %d bytes", end,
                       PGCN_I_PATH_BYTES - 1);
}

/* ---- ids ------------------------------------------------------------------------------------- */

typedef struct id_table {
    pgcn_i_id_map map;
    pgcn_i_buffer row; /* int64_t of every id of the map, which has its own order */
    int64_t bytes;     /* of the file */
} id_table;

static int64_t row_at(const id_table *ids, int64_t number) {
    return ((const int64_t *)ids->row.data)[number];
}

/* A pgcn_i_row_of. */
static int64_t row_of(void *context, const char *text) {
    const id_table *ids = context;
    int64_t number = pgcn_i_id_map_find(&ids->map, text);
    return number < 0 ? -1 : row_at(ids, number);
}

static pgcn_status repeated_id(const pgcn_i_json *json, const char *id) {
    char shown[PGCN_I_EXCERPT];
    pgcn_i_text_excerpt(id, (int64_t)strlen(id), shown);
    return pgcn_i_json_fail(json, "the id '%s' occurs twice", shown);
}

/* {"id": row, ...} */
static pgcn_status take_id_map(pgcn_i_json *json, id_table *ids) {
    PGCN_TRY(pgcn_i_json_object(json));
    for (const char *key;;) {
        PGCN_TRY(pgcn_i_json_key(json, &key));
        if (!key) return pgcn_i_json_end(json);
        int64_t before = ids->map.count, number;
        PGCN_TRY(pgcn_i_id_map_add(&ids->map, key, &number));
        if (number < before) return repeated_id(json, key);
        int64_t *row = pgcn_i_buffer_add(&ids->row, sizeof *row);
        if (!row) return PGCN_ERR_MEMORY;
        PGCN_TRY(pgcn_i_json_i64(json, row));
    }
}

static pgcn_status read_id_map(const char *path, id_table *ids) {
    pgcn_i_json *json = NULL;
    PGCN_TRY(pgcn_i_json_open(path, &json));
    ids->bytes = pgcn_i_json_bytes(json);
    pgcn_status status = take_id_map(json, ids);
    pgcn_i_json_close(json);
    return status;
}

/* Every row 0 .. n-1 once. */
static pgcn_status check_rows(const id_table *ids, const char *path, pgcn_i_arena *scratch) {
    int64_t n = ids->map.count;
    uint8_t *taken = PGCN_I_ARRAY(scratch, uint8_t, n);
    if (!taken) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = row_at(ids, i);
        if (row < 0 || row >= n || taken[row]) {
            const char *id = pgcn_i_id_map_text(&ids->map, i);
            char shown[PGCN_I_EXCERPT];
            pgcn_i_text_excerpt(id, (int64_t)strlen(id), shown);
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': the id '%s' has row %lld, expected every row from 0 "
                               "to %lld once",
                               path, shown, (long long)row, (long long)n - 1);
        }
        taken[row] = 1;
    }
    return PGCN_OK;
}

/* Ids in the order of the rows, unless each is its own row. */
static pgcn_status name_nodes(const id_table *ids, pgcn_i_source *source) {
    int64_t n = ids->map.count;
    bool plain = true;
    int64_t *offset = PGCN_I_ARRAY(&source->arena, int64_t, n + 1);
    if (!offset) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        const char *id = pgcn_i_id_map_text(&ids->map, i);
        char digits[24];
        snprintf(digits, sizeof digits, "%lld", (long long)row_at(ids, i));
        plain &= strcmp(digits, id) == 0;
        offset[row_at(ids, i) + 1] = (int64_t)strlen(id) + 1;
    }
    if (plain) return PGCN_OK;
    for (int64_t i = 0; i < n; i++) offset[i + 1] += offset[i];
    char *text = PGCN_I_ARRAY(&source->arena, char, offset[n]);
    if (!text) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++)
        strcpy(text + offset[row_at(ids, i)], pgcn_i_id_map_text(&ids->map, i));
    source->node_id = (pgcn_i_names){n, offset, text};
    return PGCN_OK;
}

/* ---- classes --------------------------------------------------------------------------------- */

typedef struct class_map {
    pgcn_i_json *json;
    const id_table *ids;
    bool several;        /* lists of 0 and 1 */
    int64_t entries;     /* entries of known nodes */
    int64_t unknown;     /* entries of other nodes */
    int64_t classes;     /* length of every list; -1 before the first */
    pgcn_i_buffer flags; /* the list being read */
    uint8_t *labels;     /* [n, classes] */
    uint8_t *known;      /* [n] */
    int64_t *code;       /* [n] one class each */
} class_map;

/* Memory for a list of every node, limited by the size of the files: few lists for many ids are
 * refused before a table of n x classes is allocated. */
static pgcn_status make_table(class_map *map, pgcn_i_source *source) {
    enum { MOST_PER_BYTE = 1024 };
    int64_t bytes, most = MOST_PER_BYTE * (map->ids->bytes + pgcn_i_json_bytes(map->json));
    if (map->classes > INT32_MAX || !pgcn_i_mul(map->ids->map.count, map->classes, &bytes) ||
        bytes > most)
        return pgcn_i_json_fail(map->json,
                                "%lld labels for each of %lld nodes are more than files of this "
                                "size can describe",
                                (long long)map->classes, (long long)map->ids->map.count);
    map->labels = PGCN_I_ARRAY(&source->arena, uint8_t, bytes);
    return map->labels ? PGCN_OK : PGCN_ERR_MEMORY;
}

static pgcn_status take_list(class_map *map, int64_t row, pgcn_i_source *source) {
    int64_t count = 0;
    map->flags.bytes = 0;
    PGCN_TRY(pgcn_i_json_array(map->json));
    for (bool more, flag;; count++) {
        PGCN_TRY(pgcn_i_json_more(map->json, &more));
        if (!more) break;
        PGCN_TRY(pgcn_i_json_flag(map->json, &flag));
        uint8_t *to = pgcn_i_buffer_add(&map->flags, 1);
        if (!to) return PGCN_ERR_MEMORY;
        *to = flag;
    }
    if (map->classes == -1) {
        map->classes = count;
        PGCN_TRY(make_table(map, source));
    }
    if (count != map->classes)
        return pgcn_i_json_fail(map->json, "a node has %lld labels, expected %lld as the first",
                                (long long)count, (long long)map->classes);
    if (row >= 0 && count > 0) memcpy(map->labels + row * count, map->flags.data, (size_t)count);
    return PGCN_OK;
}

static pgcn_status take_entry(class_map *map, const char *key, pgcn_i_source *source) {
    pgcn_i_json_kind kind;
    int64_t row = row_of((void *)map->ids, key), code = 0;
    if (row >= 0 && map->known[row]) return repeated_id(map->json, key);
    PGCN_TRY(pgcn_i_json_peek(map->json, &kind));
    if (map->entries + map->unknown == 0) map->several = kind == PGCN_I_JSON_ARRAY;
    if (map->several)
        PGCN_TRY(take_list(map, row, source));
    else
        PGCN_TRY(pgcn_i_json_i64(map->json, &code));
    if (!map->several && code == INT64_MIN)
        return pgcn_i_json_fail(map->json, "the class %lld is too small", (long long)code);
    if (row >= 0) {
        map->code[row] = code;
        map->known[row] = 1;
        map->entries++;
    } else {
        map->unknown++;
    }
    return PGCN_OK;
}

static pgcn_status take_class_map(class_map *map, pgcn_i_source *source) {
    PGCN_TRY(pgcn_i_json_object(map->json));
    for (const char *key;;) {
        PGCN_TRY(pgcn_i_json_key(map->json, &key));
        if (!key) return pgcn_i_json_end(map->json);
        PGCN_TRY(take_entry(map, key, source));
    }
}

static pgcn_status set_labels(class_map *map, pgcn_i_source *source) {
    int64_t n = source->nodes;
    if (map->unknown > 0)
        PGCN_TRY(pgcn_i_source_note(source,
                                    "%lld entries of the class map are of nodes without a row and "
                                    "were left out",
                                    (long long)map->unknown));
    pgcn_i_class_codes codes = {.code = map->code, .count = n, .missing = INT64_MIN};
    if (!map->several)
        return pgcn_i_source_number_classes(source, codes, &source->label, &source->classes,
                                            &source->class_name);
    source->labels = map->labels;
    source->classes = (int)map->classes;
    if (map->entries < n) source->label_known = map->known;
    return PGCN_OK;
}

static pgcn_status read_class_map(const char *path, const id_table *ids, pgcn_i_arena *scratch,
                                  pgcn_i_source *source) {
    class_map map = {.ids = ids, .classes = -1};
    pgcn_status status = PGCN_ERR_MEMORY;
    map.known = PGCN_I_ARRAY(&source->arena, uint8_t, ids->map.count);
    map.code = PGCN_I_ARRAY(scratch, int64_t, ids->map.count);
    if (!map.known || !map.code) goto fail;
    for (int64_t i = 0; i < ids->map.count; i++) map.code[i] = INT64_MIN;
    PGCN_TRY_GOTO(pgcn_i_json_open(path, &map.json));
    PGCN_TRY_GOTO(take_class_map(&map, source));
    PGCN_TRY_GOTO(set_labels(&map, source));
fail:
    pgcn_i_json_close(map.json);
    pgcn_i_buffer_free(&map.flags);
    return status;
}

/* ---- graph and split ------------------------------------------------------------------------- */

static bool has_label(const pgcn_i_source *source, pgcn_node row) {
    if (source->label) return source->label[row] >= 0;
    return !source->label_known || source->label_known[row];
}

static pgcn_status set_split(const pgcn_i_node_link *graph, const char *path,
                             pgcn_i_source *source) {
    uint8_t *mask[3];
    int64_t marked = 0, unmarked = 0, unknown = 0;
    PGCN_TRY(pgcn_i_source_masks(source, source->nodes, mask));
    strcpy(source->split[0].name, "public");
    source->split_origin = "the marks 'val' and 'test' of the nodes";
    for (int64_t i = 0; i < graph->nodes; i++) {
        pgcn_node row = ((const pgcn_node *)graph->row.data)[i];
        uint8_t part = ((const uint8_t *)graph->part.data)[i];
        if (row < 0 && part != PGCN_I_PART_UNMARKED)
            return pgcn_i_fail(PGCN_ERR_MISMATCH,
                               "reading '%s': node %lld (from 0) has no row in the id map, "
                               "expected one for every node",
                               path, (long long)i);
        unknown += row < 0;
        unmarked += row >= 0 && part == PGCN_I_PART_UNMARKED;
        if (row < 0 || part == PGCN_I_PART_UNMARKED) continue;
        marked++;
        mask[part][row] = has_label(source, row);
    }
    if (marked == 0) source->splits = 0;
    if (unknown > 0)
        PGCN_TRY(pgcn_i_source_note(source,
                                    "%lld nodes without 'val', 'test' and a row were left out, and "
                                    "%lld links with them",
                                    (long long)unknown, (long long)graph->dropped));
    if (unmarked > 0)
        PGCN_TRY(pgcn_i_source_note(source,
                                    "%lld nodes are marked neither by 'val' nor by 'test' and are "
                                    "in no split",
                                    (long long)unmarked));
    return PGCN_OK;
}

static pgcn_status set_graph(const char *path, id_table *ids, pgcn_i_node_link *graph,
                             pgcn_i_source *source) {
    PGCN_TRY(pgcn_i_node_link_read(path, row_of, ids, ids->map.count, false, graph));
    PGCN_TRY(set_split(graph, path, source));
    if (graph->two_readings)
        PGCN_TRY(pgcn_i_source_note(source,
                                    "the links of the graph name nodes by numbers, which "
                                    "were taken as positions in the list of nodes (networkx "
                                    "up to 1.11), not as ids (networkx 2)"));
    source->directed = graph->directed;
    source->edges = graph->links;
    source->edge_from = pgcn_i_arena_take(&source->edge_arena, &graph->from);
    source->edge_to = pgcn_i_arena_take(&source->edge_arena, &graph->to);
    return source->edge_from && source->edge_to ? PGCN_OK : PGCN_ERR_MEMORY;
}

static pgcn_status read_features(const char *path, pgcn_i_source *source) {
    const float *x;
    int64_t rows, columns;
    if (!pgcn_i_file_exists(path))
        return pgcn_i_source_note(source, "there is no file of features");
    PGCN_TRY(pgcn_i_read_matrix_f32(path, &source->arena, &rows, &columns, &x));
    if (rows != source->nodes)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "reading '%s': it has %lld rows but the id map has %lld nodes", path,
                           (long long)rows, (long long)source->nodes);
    return columns > 0 ? pgcn_i_source_features(source, x, rows, columns) : PGCN_OK;
}

static pgcn_status read_files(const char *prefix, pgcn_i_arena *scratch, id_table *ids,
                              pgcn_i_node_link *graph, pgcn_i_source *source) {
    char path[PGCN_I_PATH_BYTES];
    PGCN_TRY(file_of(path, prefix, "-id_map.json"));
    PGCN_TRY(read_id_map(path, ids));
    PGCN_TRY(check_rows(ids, path, scratch));
    source->nodes = ids->map.count;
    PGCN_TRY(name_nodes(ids, source));
    PGCN_TRY(file_of(path, prefix, "-class_map.json"));
    PGCN_TRY(read_class_map(path, ids, scratch, source));
    PGCN_TRY(file_of(path, prefix, "-feats.npy"));
    PGCN_TRY(read_features(path, source));
    PGCN_TRY(file_of(path, prefix, graph_end));
    return set_graph(path, ids, graph, source);
}

pgcn_status pgcn_i_graphsage_read(const char *path, const pgcn_i_steps *steps,
                                  pgcn_i_source *source) {
    (void)steps;
    char prefix[PGCN_I_PATH_BYTES];
    pgcn_i_arena scratch = {0};
    id_table ids = {0};
    pgcn_i_node_link graph = {0};
    int found;
    source->format = "GraphSAGE (JSON and NumPy arrays)";
    if (!find_prefix(path, prefix, &found))
        return pgcn_i_fail(PGCN_ERR_IO, "reading '%s': there is no file NAME-G.json", path);
    if (found > 1)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "reading '%s': it holds %d files that end in %s; give the path of the "
                           "one to read",
                           path, found, graph_end);
    pgcn_status status = read_files(prefix, &scratch, &ids, &graph, source);
    pgcn_i_id_map_free(&ids.map);
    pgcn_i_buffer_free(&ids.row);
    pgcn_i_node_link_free(&graph);
    pgcn_i_arena_free(&scratch);
    return status;
}
