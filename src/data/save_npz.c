/* A data set as one .npz file for Python: np.load() reads every array, without pickle. The arrays
 * are listed in docs/FORMATS.md; npz_graph.c reads them back. Text is NumPy's '<U7', strings of
 * equal length in UCS-4, filled with NUL; a byte that is not UTF-8 becomes U+DC80..U+DCFF, as
 * Python's own "surrogateescape" does, so that names come back as they were. Serial, thread-safe.
 * Called by `pathgcn data convert`. */
#include "data/data.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ARRAYS = 32 };

typedef struct array_list {
    pgcn_i_arena arena; /* memory for arrays made for the file only */
    int count;
    pgcn_i_tensor at[MAX_ARRAYS];
} array_list;

/* columns < 0: one dimension. An array that is NULL is left out. */
static void add(array_list *list, const char *name, pgcn_i_dtype dtype, const void *data,
                int64_t rows, int64_t columns) {
    if (!data) return;
    list->at[list->count++] = (pgcn_i_tensor){
        name,
        {.dtype = dtype,
         .rank = columns < 0 ? 1 : 2,
         .shape = {rows, columns < 0 ? 0 : columns},
         .data = (void *)(uintptr_t)data},
    };
}

static pgcn_status add_number(array_list *list, const char *name, int64_t value) {
    int64_t *kept = PGCN_I_ARRAY(&list->arena, int64_t, 1);
    if (!kept) return PGCN_ERR_MEMORY;
    *kept = value;
    list->at[list->count++] = (pgcn_i_tensor){name, {.dtype = PGCN_I_I64, .data = kept}};
    return PGCN_OK;
}

/* ---- text -------------------------------------------------------------------------------- */

/* Reads the next UTF-8 character and advances *at past it. */
static uint32_t next_character(const unsigned char **at) {
    const unsigned char *s = *at;
    int more = s[0] < 0x80                   ? 0
               : s[0] >= 0xc2 && s[0] < 0xe0 ? 1
               : s[0] >= 0xe0 && s[0] < 0xf0 ? 2
                                             : 3;
    uint32_t code = more == 0 ? s[0] : s[0] & (0x3fu >> more);
    bool valid = s[0] < 0x80 || (s[0] >= 0xc2 && s[0] < 0xf5);
    for (int i = 1; valid && i <= more; i++) {
        valid = (s[i] & 0xc0) == 0x80; /* false for the NUL at the end of the string */
        code = code << 6 | (s[i] & 0x3f);
    }
    static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000};
    if (!valid || code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        *at = s + 1;
        return 0xdc00u + s[0];
    }
    *at = s + 1 + more;
    return code;
}

static int64_t characters_of(const char *text) {
    int64_t count = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at; count++) next_character(&at);
    return count;
}

/* Strings of equal width. rank 0: a single one, without dimensions. */
static pgcn_status add_text(array_list *list, const char *name, const char *const *strings,
                            int64_t count, int rank) {
    enum { MOST_BYTES = 1 << 30 };
    int64_t width = 1, cells;
    for (int64_t i = 0; i < count; i++) {
        int64_t length = characters_of(strings[i]);
        if (length > width) width = length;
    }
    if (!pgcn_i_mul(count, width, &cells) || cells > MOST_BYTES / (int64_t)sizeof(uint32_t))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "cannot write '%s' into an .npz: %lld strings of %lld characters each, "
                           "the length of the longest, are more than 1 GiB; convert to .pgcn",
                           name, (long long)count, (long long)width);
    uint32_t *text = PGCN_I_ARRAY(&list->arena, uint32_t, cells);
    if (!text) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) {
        uint32_t *to = text + i * width;
        for (const unsigned char *at = (const unsigned char *)strings[i]; *at;)
            *to++ = next_character(&at);
    }
    pgcn_i_tensor *tensor = &list->at[list->count++];
    *tensor = (pgcn_i_tensor){name, {.dtype = PGCN_I_UCS4, .rank = rank + 1, .data = text}};
    tensor->array.shape[0] = rank == 0 ? width : count;
    if (rank == 1) tensor->array.shape[1] = width;
    return PGCN_OK;
}

static pgcn_status add_names(array_list *list, const char *name, const pgcn_i_names *names) {
    if (names->count == 0) return PGCN_OK;
    const char **strings = PGCN_I_ARRAY(&list->arena, const char *, names->count);
    if (!strings) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < names->count; i++) strings[i] = names->text + names->offset[i];
    return add_text(list, name, strings, names->count, 1);
}

/* ---- the arrays -------------------------------------------------------------------------- */

/* Every edge once, from the smaller node to the larger; arcs of a directed graph as they are. */
static pgcn_status add_edges(array_list *list, const pgcn_graph *graph) {
    int64_t m = 0, at = 0;
    for (int64_t u = 0; u < graph->n; u++)
        for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++)
            m += graph->directed || graph->neighbour[e] >= u;
    pgcn_node *pair = PGCN_I_ARRAY(&list->arena, pgcn_node, 2 * m);
    float *weight = graph->weight ? PGCN_I_ARRAY(&list->arena, float, m) : NULL;
    if (!pair || (graph->weight && !weight)) return PGCN_ERR_MEMORY;
    for (int64_t u = 0; u < graph->n; u++)
        for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++) {
            if (!graph->directed && graph->neighbour[e] < u) continue;
            pair[2 * at] = (pgcn_node)u;
            pair[2 * at + 1] = graph->neighbour[e];
            if (weight) weight[at] = graph->weight[e];
            at++;
        }
    add(list, "edges", PGCN_I_I32, pair, m, 2);
    add(list, "edge_weight", PGCN_I_F32, weight, m, -1);
    return PGCN_OK;
}

static pgcn_status add_features(array_list *list, const pgcn_i_features *x) {
    add(list, "x", PGCN_I_F32, x->dense, x->n, x->columns);
    add(list, "x_absent", PGCN_I_U8, x->absent, x->n, -1);
    add(list, "x_made", PGCN_I_U8, x->made, x->columns, -1);
    if (!x->offset) return PGCN_OK;
    int64_t *shape = PGCN_I_ARRAY(&list->arena, int64_t, 2);
    if (!shape) return PGCN_ERR_MEMORY;
    shape[0] = x->n;
    shape[1] = x->columns;
    add(list, "x_indptr", PGCN_I_I64, x->offset, x->n + 1, -1);
    add(list, "x_indices", PGCN_I_I32, x->column, x->nonzeros, -1);
    add(list, "x_data", PGCN_I_F32, x->value, x->nonzeros, -1);
    add(list, "x_shape", PGCN_I_I64, shape, 2, -1);
    return PGCN_OK;
}

/* graph_ptr where the nodes stand in the order of their graphs, else graph_of. */
static pgcn_status add_graphs(array_list *list, const pgcn_i_source *from) {
    int64_t n = from->nodes, node = 0;
    bool ordered = true;
    if (from->graphs == 0) return PGCN_OK;
    for (int64_t i = 1; i < n; i++) ordered = ordered && from->graph_of[i] >= from->graph_of[i - 1];
    if (ordered) {
        int64_t *ptr = PGCN_I_ARRAY(&list->arena, int64_t, from->graphs + 1);
        if (!ptr) return PGCN_ERR_MEMORY;
        for (int64_t g = 0; g < from->graphs; g++) {
            while (node < n && from->graph_of[node] == g) node++;
            ptr[g + 1] = node;
        }
        add(list, "graph_ptr", PGCN_I_I64, ptr, from->graphs + 1, -1);
    } else {
        add(list, "graph_of", PGCN_I_I32, from->graph_of, n, -1);
    }
    add(list, "graph_label", PGCN_I_I32, from->graph_label, from->graphs, -1);
    add(list, "fold", PGCN_I_I32, from->fold, from->graphs, -1);
    return PGCN_OK;
}

static pgcn_status add_splits(array_list *list, const pgcn_i_source *from) {
    static const char *const array_name[3] = {"train_masks", "val_masks", "test_masks"};
    int64_t items = pgcn_i_source_items(from), splits = from->splits, bytes;
    if (splits == 0) return PGCN_OK;
    if (!pgcn_i_mul(splits, items, &bytes))
        return pgcn_i_fail(PGCN_ERR_MEMORY, "%lld splits are too many", (long long)splits);
    const char **names = PGCN_I_ARRAY(&list->arena, const char *, splits);
    if (!names) return PGCN_ERR_MEMORY;
    for (int k = 0; k < 3; k++) {
        uint8_t *masks = PGCN_I_ARRAY(&list->arena, uint8_t, bytes);
        if (!masks) return PGCN_ERR_MEMORY;
        for (int64_t s = 0; s < splits; s++) {
            const pgcn_i_split *split = &from->split[s];
            const uint8_t *mask[3] = {split->train, split->val, split->test};
            memcpy(masks + s * items, mask[k], (size_t)items);
            names[s] = split->name;
        }
        add(list, array_name[k], PGCN_I_U8, masks, splits, items);
    }
    return add_text(list, "split_names", names, splits, 1);
}

/* `name` is that of the data set. */
static pgcn_status add_all(array_list *list, const char *name, const pgcn_i_source *from) {
    int64_t n = from->nodes;
    /* 2: older readers must not ignore x_absent */
    PGCN_TRY(add_number(list, "pathgcn", from->x.absent ? 2 : 1));
    PGCN_TRY(add_text(list, "name", &name, 1, 0));
    PGCN_TRY(add_number(list, "directed", from->graph->directed));
    PGCN_TRY(add_number(list, "num_nodes", n));
    PGCN_TRY(add_number(list, "num_classes", from->classes));
    PGCN_TRY(add_edges(list, from->graph));
    PGCN_TRY(add_features(list, &from->x));
    add(list, "node_label", PGCN_I_I32, from->node_label, n, -1);
    add(list, "y", PGCN_I_I32, from->label, n, -1);
    add(list, "labels", PGCN_I_U8, from->labels, n, from->classes);
    add(list, "label_known", PGCN_I_U8, from->label_known, n, -1);
    PGCN_TRY(add_graphs(list, from));
    PGCN_TRY(add_splits(list, from));
    PGCN_TRY(add_names(list, "node_id", &from->node_id));
    PGCN_TRY(add_names(list, "class_name", &from->class_name));
    PGCN_TRY(add_names(list, "feature_name", &from->feature_name));
    return add_names(list, "node_label_name", &from->node_label_name);
}

/* The step `order`, the last in a name, is undone in the file: removes it from the name. */
static pgcn_status name_without_order(array_list *list, const char **name) {
    static const char step[] = "order=";
    char *copy = pgcn_i_arena_strdup(&list->arena, *name);
    if (!copy) return PGCN_ERR_MEMORY;
    char *end = strrchr(copy, '=');
    size_t before = sizeof step - 2;
    if (end && end - copy > (ptrdiff_t)before && strncmp(end - before, step, before) == 0)
        *(end - before - 1) = '\0'; /* the colon or comma in front of it, too */
    *name = copy;
    return PGCN_OK;
}

pgcn_status pgcn_dataset_save_npz(const pgcn_dataset *data, const char *path) {
    PGCN_I_NEED(data);
    PGCN_I_NEED(path);
    PGCN_TRY(pgcn_i_need_features(data, "saving it"));
    array_list list = {0};
    pgcn_i_source by_number = {0}; /* other programs know nodes by their original numbers */
    const pgcn_i_source *from = data->from.number ? &by_number : &data->from;
    const char *name = data->name;
    pgcn_status status = PGCN_OK;
    if (data->from.number) status = pgcn_i_order_undone(&data->from, &by_number);
    if (status == PGCN_OK && data->from.number) status = name_without_order(&list, &name);
    if (status == PGCN_OK) status = add_all(&list, name, from);
    if (status == PGCN_OK) status = pgcn_i_npz_write(path, list.at, list.count);
    pgcn_i_arena_free(&list.arena);
    pgcn_i_source_free(&by_number);
    return status;
}
