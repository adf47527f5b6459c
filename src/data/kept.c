/* What a reader found, kept in the directory of pgcn_memory_bound() for the next process: reading text takes
 * longest, and is not done again after an interruption or a full disk.
 *
 * Large arrays are files of that directory already (base/spool.c); small ones are copied there. The file
 * kept-0 lists them with everything else of a pgcn_i_source, as JSON. It is written last, and only then are the
 * files of the arrays complete. The key, which the directory has in a file of its own, says what they were read
 * from: of another source, or of files that have changed since, all of it is removed.
 * Called by load.c. Serial. */
#include "data/data.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the key ------------------------------------------------------------------------------------ */

pgcn_status pgcn_i_text_list_add(pgcn_i_text_list *list, const char *format, ...) {
    char piece[2 * PGCN_I_PATH_BYTES];
    va_list more;
    va_start(more, format);
    vsnprintf(piece, sizeof piece, format, more);
    va_end(more);
    int64_t bytes = (int64_t)strlen(piece);
    char *text = pgcn_i_alloc(list->bytes + bytes + 1, 1);
    if (!text) return PGCN_ERR_MEMORY;
    if (list->bytes > 0) memcpy(text, list->text, (size_t)list->bytes);
    memcpy(text + list->bytes, piece, (size_t)bytes + 1);
    pgcn_i_free(list->text);
    *list = (pgcn_i_text_list){text, list->bytes + bytes};
    return PGCN_OK;
}

void pgcn_i_text_list_free(pgcn_i_text_list *list) {
    pgcn_i_free(list->text);
    *list = (pgcn_i_text_list){0};
}

static pgcn_status add_file(pgcn_i_text_list *key, const char *path) {
    struct stat about;
    if (stat(path, &about) != 0) return pgcn_i_text_list_add(key, "%s -|", path);
    return pgcn_i_text_list_add(key, "%s %lld %lld.%09ld|", path, (long long)about.st_size,
                                (long long)about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
}

/* The files of a folder and of the folders in it. */
static pgcn_status add_folder(pgcn_i_text_list *key, const char *path, int levels) {
    DIR *stream;
    struct dirent *entry = NULL;
    PGCN_TRY(pgcn_i_directory_open(path, &stream));
    if (!stream) return PGCN_OK;
    pgcn_status status = pgcn_i_directory_next(stream, path, &entry);
    while (status == PGCN_OK && entry) {
        char inside[PGCN_I_PATH_BYTES];
        if (entry->d_name[0] != '.' && pgcn_i_path_join(inside, path, entry->d_name) == PGCN_OK) {
            bool folder = pgcn_i_is_directory(inside);
            if (!folder) status = add_file(key, inside);
            if (folder && levels > 0) status = add_folder(key, inside, levels - 1);
        }
        if (status == PGCN_OK) status = pgcn_i_directory_next(stream, path, &entry);
    }
    closedir(stream);
    return status;
}

pgcn_status pgcn_i_kept_add_files(pgcn_i_text_list *key, const char *path) {
    enum { LEVELS = 3 };
    if (pgcn_i_is_directory(path)) return add_folder(key, path, LEVELS);
    if (pgcn_i_file_exists(path)) return add_file(key, path);
    while (*path) {
        char one[PGCN_I_PATH_BYTES];
        size_t length = strcspn(path, ",");
        snprintf(one, sizeof one, "%.*s", (int)length, path);
        PGCN_TRY(add_file(key, one));
        path += length + (path[length] == ',');
    }
    return PGCN_OK;
}

/* ---- everything that a source has ----------------------------------------------------------------- */

/* Goes through a source in one order, to save it or to fill it. */
typedef struct walk {
    json_t *object;
    pgcn_i_source *source;
    bool saving;
    pgcn_status status;
} walk;

static void not_whole(walk *w, const char *key) {
    w->status = pgcn_i_fail(PGCN_ERR_FORMAT, "what was kept has no '%s'", key);
}

static int64_t number_at(walk *w, const char *key, int64_t value) {
    if (w->status != PGCN_OK) return value;
    if (w->saving) {
        if (json_object_set_new(w->object, key, json_integer((json_int_t)value)) != 0)
            w->status = pgcn_i_fail(PGCN_ERR_MEMORY, "out of memory while keeping a data set");
        return value;
    }
    const json_t *found = json_object_get(w->object, key);
    if (!json_is_integer(found)) not_whole(w, key);
    return (int64_t)json_integer_value(found);
}
#define NUMBER(w, field)                                                                           \
    (w)->source->field = (__typeof__((w)->source->field))number_at(w, #field, (w)->source->field)

static void text_at(walk *w, const char *key, const char **text) {
    if (w->status != PGCN_OK) return;
    if (!w->saving) {
        const char *found = json_string_value(json_object_get(w->object, key));
        *text = found ? pgcn_i_arena_strdup(&w->source->arena, found) : NULL;
        if (found && !*text) w->status = PGCN_ERR_MEMORY;
    } else if (*text && json_object_set_new(w->object, key, json_string(*text)) != 0) {
        w->status = pgcn_i_fail(PGCN_ERR_FORMAT, "'%s' cannot be kept", key);
    }
}
#define TEXT(w, field) text_at(w, #field, &(w)->source->field)

/* An array and its size in bytes; `pointer` is its address. NULL is not listed. */
static void array_at(walk *w, const char *key, pgcn_i_arena *arena, int64_t bytes, void *pointer) {
    const void *array;
    int64_t number = -1;
    if (w->status != PGCN_OK) return;
    memcpy(&array, pointer, sizeof array);
    if (w->saving) {
        if (!array) return;
        w->status = pgcn_i_spool_keep(array, bytes, &number);
        if (w->status == PGCN_OK) (void)number_at(w, key, number);
        return;
    }
    if (!json_object_get(w->object, key)) return;
    number = number_at(w, key, -1);
    if (w->status == PGCN_OK) w->status = pgcn_i_spool_adopt(number, bytes, arena, pointer);
}
#define ARRAY(w, field, count)                                                                     \
    array_at(w, #field, &(w)->source->arena, (count) * (int64_t)sizeof *(w)->source->field,        \
             &(w)->source->field)

static void names_at(walk *w, const char *what, pgcn_i_names *names) {
    char key[64];
    snprintf(key, sizeof key, "%s.count", what);
    names->count = number_at(w, key, names->count);
    if (names->count == 0) return;
    snprintf(key, sizeof key, "%s.offset", what);
    array_at(w, key, &w->source->arena, (names->count + 1) * (int64_t)sizeof *names->offset,
             &names->offset);
    if (w->status == PGCN_OK && !names->offset) not_whole(w, key);
    if (w->status != PGCN_OK) return;
    snprintf(key, sizeof key, "%s.text", what);
    array_at(w, key, &w->source->arena, names->offset[names->count], &names->text);
}

static void edges_at(walk *w) {
    pgcn_i_source *source = w->source;
    int64_t id = (int64_t)sizeof(pgcn_node);
    NUMBER(w, edges);
    NUMBER(w, directed);
    NUMBER(w, dropped_self_loops);
    array_at(w, "edge_from", &source->edge_arena, source->edges * id, &source->edge_from);
    array_at(w, "edge_to", &source->edge_arena, source->edges * id, &source->edge_to);
    array_at(w, "edge_weight", &source->edge_arena, source->edges * (int64_t)sizeof(float),
             &source->edge_weight);
    TEXT(w, edge_file);
}

/* A finished graph, as built-in sets have. */
static void graph_at(walk *w) {
    pgcn_graph *graph = w->source->graph;
    if (number_at(w, "graph", graph != NULL) == 0 || w->status != PGCN_OK) return;
    if (!graph) {
        pgcn_i_arena arena = {0};
        graph = PGCN_I_ARRAY(&arena, pgcn_graph, 1);
        if (!graph) {
            w->status = PGCN_ERR_MEMORY;
            return;
        }
        graph->arena = arena;
        w->source->graph = graph;
    }
    graph->n = number_at(w, "graph.n", graph->n);
    graph->entries = number_at(w, "graph.entries", graph->entries);
    graph->directed = number_at(w, "graph.directed", graph->directed) != 0;
    array_at(w, "graph.offset", &graph->arena, (graph->n + 1) * (int64_t)sizeof *graph->offset,
             &graph->offset);
    array_at(w, "graph.neighbour", &graph->arena,
             graph->entries * (int64_t)sizeof *graph->neighbour, &graph->neighbour);
    array_at(w, "graph.weight", &graph->arena, graph->entries * (int64_t)sizeof *graph->weight,
             &graph->weight);
}

static void features_at(walk *w) {
    int64_t n;
    NUMBER(w, x.n);
    NUMBER(w, x.columns);
    NUMBER(w, x.nonzeros);
    n = w->source->x.n;
    ARRAY(w, x.offset, n + 1);
    ARRAY(w, x.column, w->source->x.nonzeros);
    ARRAY(w, x.value, w->source->x.nonzeros);
    ARRAY(w, x.dense, n * w->source->x.columns);
    ARRAY(w, x.absent, n);
    ARRAY(w, x.made, w->source->x.columns);
}

static void labels_at(walk *w) {
    int64_t n = w->source->nodes;
    NUMBER(w, classes);
    NUMBER(w, graphs);
    ARRAY(w, node_label, n);
    ARRAY(w, label, n);
    ARRAY(w, labels, n * w->source->classes);
    ARRAY(w, label_known, n);
    ARRAY(w, graph_of, n);
    ARRAY(w, graph_label, w->source->graphs);
    ARRAY(w, fold, w->source->graphs);
    ARRAY(w, number, n);
}

static void splits_at(walk *w) {
    pgcn_i_source *source = w->source;
    NUMBER(w, splits);
    NUMBER(w, no_test);
    NUMBER(w, no_val);
    NUMBER(w, default_splits);
    TEXT(w, split_origin);
    TEXT(w, split_file);
    if (!w->saving && w->status == PGCN_OK && source->splits > 0) {
        source->split = PGCN_I_ARRAY(&source->arena, pgcn_i_split, source->splits);
        if (!source->split) w->status = PGCN_ERR_MEMORY;
    }
    int64_t items = pgcn_i_source_items(source);
    for (int s = 0; s < source->splits && w->status == PGCN_OK; s++) {
        pgcn_i_split *split = &source->split[s];
        const uint8_t **mask[3] = {&split->train, &split->val, &split->test};
        const char *name = split->name;
        char key[48];
        snprintf(key, sizeof key, "split.%d", s);
        text_at(w, key, &name);
        if (!w->saving && name) snprintf(split->name, sizeof split->name, "%s", name);
        for (int k = 0; k < 3; k++) {
            snprintf(key, sizeof key, "split.%d.%d", s, k);
            array_at(w, key, &source->arena, items, mask[k]);
        }
    }
}

static void source_at(walk *w) {
    pgcn_i_source *source = w->source;
    NUMBER(w, nodes);
    NUMBER(w, groups);
    NUMBER(w, made_features);
    NUMBER(w, default_features);
    NUMBER(w, notes);
    TEXT(w, format);
    TEXT(w, encoder);
    for (int i = 0; i < source->notes && i < PGCN_I_MAX_NOTES; i++) {
        char key[32];
        snprintf(key, sizeof key, "note.%d", i);
        text_at(w, key, &source->note[i]);
    }
    edges_at(w);
    graph_at(w);
    features_at(w);
    labels_at(w);
    splits_at(w);
    names_at(w, "node_id", &source->node_id);
    names_at(w, "class_name", &source->class_name);
    names_at(w, "feature_name", &source->feature_name);
    names_at(w, "node_label_name", &source->node_label_name);
}

/* ---- saving and finding ---------------------------------------------------------------------------- */

pgcn_status pgcn_i_kept_save(const pgcn_i_source *source) {
    char path[PGCN_I_SPOOL_PATH];
    pgcn_i_source copy = *source;
    if (!*pgcn_i_spool_key() || source->mapping) return PGCN_OK;
    walk w = {.object = json_object(), .source = &copy, .saving = true};
    if (!w.object) return pgcn_i_fail(PGCN_ERR_MEMORY, "out of memory while keeping a data set");
    source_at(&w);
    char *text = w.status == PGCN_OK ? pgcn_i_json_dump(w.object, JSON_SORT_KEYS) : NULL;
    if (w.status == PGCN_OK && !text)
        w.status = pgcn_i_fail(PGCN_ERR_MEMORY, "out of memory while keeping a data set");
    pgcn_i_spool_path("kept", 0, path);
    if (text) w.status = pgcn_file_write(path, text, strlen(text));
    pgcn_i_free(text);
    json_decref(w.object);
    return w.status;
}

/* Nothing of it is used unless all of it is there. */
static bool recall(const char *path, pgcn_i_source *source) {
    enum { MOST_BYTES = 1 << 28 };
    pgcn_i_arena arena = {0};
    char *text;
    int64_t bytes;
    json_t *object = NULL;
    bool read = pgcn_i_file_read(path, MOST_BYTES, &arena, &text, &bytes) == PGCN_OK &&
                pgcn_i_json_parse(path, text, bytes, &object) == PGCN_OK && json_is_object(object);
    walk w = {.object = object, .source = source};
    if (read) source_at(&w);
    json_decref(object);
    pgcn_i_arena_free(&arena);
    return read && w.status == PGCN_OK;
}

pgcn_status pgcn_i_kept_find(const char *key, pgcn_i_source *source, bool *found) {
    char path[PGCN_I_SPOOL_PATH];
    *found = false;
    if (!pgcn_i_spool_is_on()) return PGCN_OK;
    PGCN_TRY(pgcn_i_spool_set_key(key ? key : ""));
    if (!*pgcn_i_spool_key()) return PGCN_OK;
    pgcn_i_spool_path("kept", 0, path);
    if (!pgcn_i_file_exists(path)) return PGCN_OK;
    *found = recall(path, source);
    if (!*found) pgcn_i_source_free(source);
    return PGCN_OK;
}
