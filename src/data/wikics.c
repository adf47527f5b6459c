/* Wiki-CS (Mernyei, Cangea 2020): the one file data.json, an object with the keys, in any order,
 *
 *   features        [n][f] numbers (f = 300)      train_masks     [s][n] true/false (s = 20)
 *   labels          [n] whole numbers             val_masks       [s][n]
 *   links           [n][..] targets of node i     stopping_masks  [s][n]
 *                                                 test_mask       [n], the same for all splits
 *
 * Split i, called "i", trains on train_masks[i], validates on val_masks[i] and tests on test_mask.
 * The authors stop training on stopping_masks and choose settings on val_masks; we have one
 * validation set for both and take the second, as the loaders of PyTorch Geometric and DGL hand it
 * out. The stopping masks are checked, then left unused, and a note says so. Links are directed;
 * they become undirected unless the step 'directed' keeps them. The file is streamed: memory
 * is that of the arrays. Called through formats.c. Serial, thread-safe. */
#include "data/data.h"

#include <stdio.h>
#include <string.h>

typedef enum key {
    FEATURES,
    LABELS,
    LINKS,
    TRAIN_MASKS,
    VAL_MASKS,
    STOPPING_MASKS,
    TEST_MASK,
    KEYS
} key;
static const char *const key_name[KEYS] = {"features",  "labels",         "links",    "train_masks",
                                           "val_masks", "stopping_masks", "test_mask"};

typedef struct document {
    pgcn_i_json *json;
    bool seen[KEYS];
    int64_t rows[KEYS];        /* n, or s for the masks of splits */
    int64_t columns[KEYS];     /* of every row; -1: there is no row */
    pgcn_i_buffer value[KEYS]; /* float, int64_t, pgcn_node (targets), then uint8_t */
    pgcn_i_buffer link_from;   /* pgcn_node */
} document;

static key find_key(const char *text, size_t length) {
    int k = 0;
    while (k < KEYS && !pgcn_i_is_word(text, length, key_name[k])) k++;
    return (key)k;
}

/* ---- detection ------------------------------------------------------------------------------- */

/* The file: `path` itself or data.json in it. */
static pgcn_status find_file(const char *path, char out[PGCN_I_PATH_BYTES]) {
    if (pgcn_i_is_directory(path)) return pgcn_i_path_join(out, path, "data.json");
    int length = snprintf(out, PGCN_I_PATH_BYTES, "%s", path);
    if (length < PGCN_I_PATH_BYTES) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT, "the path '%.100s...' is too long", path);
}

/* The first key of the object must be one of the format; a dictionary of Python 3.5 may begin with
 * any. */
bool pgcn_i_wikics_detect(const char *path) {
    static const char blanks[] = " \t\r\n";
    char file[PGCN_I_PATH_BYTES], start[64] = "";
    if (find_file(path, file) != PGCN_OK || !pgcn_i_file_exists(file)) return false;
    pgcn_i_reader reader;
    if (pgcn_i_reader_open(&reader, file) != PGCN_OK) return false;
    int64_t bytes = reader.bytes < 63 ? reader.bytes : 63;
    bool read = pgcn_i_reader_read(&reader, start, bytes) == PGCN_OK;
    pgcn_i_reader_close(&reader);
    const char *at = start + strspn(start, blanks);
    if (!read || *at++ != '{') return false;
    at += strspn(at, blanks);
    return *at == '"' && find_key(at + 1, strcspn(at + 1, "\"")) != KEYS;
}

/* ---- values ---------------------------------------------------------------------------------- */

static pgcn_status take_value(document *doc, key k) {
    pgcn_i_buffer *to = &doc->value[k];
    if (k == FEATURES) {
        float *value = pgcn_i_buffer_add(to, sizeof *value);
        return value ? pgcn_i_json_f32(doc->json, value) : PGCN_ERR_MEMORY;
    }
    if (k == LABELS) {
        int64_t *value = pgcn_i_buffer_add(to, sizeof *value);
        return value ? pgcn_i_json_i64(doc->json, value) : PGCN_ERR_MEMORY;
    }
    uint8_t *value = pgcn_i_buffer_add(to, sizeof *value);
    bool flag = false;
    if (!value) return PGCN_ERR_MEMORY;
    PGCN_TRY(pgcn_i_json_flag(doc->json, &flag));
    *value = flag;
    return PGCN_OK;
}

/* Reads an array of values: one row of a matrix, or a vector. */
static pgcn_status take_row(document *doc, key k, int64_t *count) {
    *count = 0;
    PGCN_TRY(pgcn_i_json_array(doc->json));
    for (bool more;; (*count)++) {
        PGCN_TRY(pgcn_i_json_more(doc->json, &more));
        if (!more) return PGCN_OK;
        PGCN_TRY(take_value(doc, k));
    }
}

/* An array of rows of equal length. */
static pgcn_status take_rows(document *doc, key k) {
    doc->columns[k] = -1;
    PGCN_TRY(pgcn_i_json_array(doc->json));
    for (bool more;; doc->rows[k]++) {
        int64_t count;
        PGCN_TRY(pgcn_i_json_more(doc->json, &more));
        if (!more) return PGCN_OK;
        PGCN_TRY(take_row(doc, k, &count));
        if (doc->columns[k] == -1) doc->columns[k] = count;
        if (count != doc->columns[k])
            return pgcn_i_json_fail(
                doc->json, "row %lld of '%s' has %lld values, expected %lld as in row 0",
                (long long)doc->rows[k], key_name[k], (long long)count, (long long)doc->columns[k]);
    }
}

/* The targets of one node. */
static pgcn_status take_targets(document *doc, pgcn_node from) {
    PGCN_TRY(pgcn_i_json_array(doc->json));
    for (bool more;;) {
        int64_t target;
        PGCN_TRY(pgcn_i_json_more(doc->json, &more));
        if (!more) return PGCN_OK;
        PGCN_TRY(pgcn_i_json_i64(doc->json, &target));
        if (target < 0 || target > INT32_MAX)
            return pgcn_i_json_fail(doc->json,
                                    "node %d links to %lld, which is no node; expected a number "
                                    "from 0 to the number of nodes - 1",
                                    from, (long long)target);
        pgcn_node *end = pgcn_i_buffer_add(&doc->value[LINKS], sizeof *end);
        pgcn_node *start = pgcn_i_buffer_add(&doc->link_from, sizeof *start);
        if (!end || !start) return PGCN_ERR_MEMORY;
        *end = (pgcn_node)target;
        *start = from;
    }
}

static pgcn_status take_links(document *doc) {
    PGCN_TRY(pgcn_i_json_array(doc->json));
    for (bool more;; doc->rows[LINKS]++) {
        PGCN_TRY(pgcn_i_json_more(doc->json, &more));
        if (!more) return PGCN_OK;
        if (doc->rows[LINKS] == INT32_MAX)
            return pgcn_i_json_fail(doc->json, "there are more than %d nodes", INT32_MAX);
        PGCN_TRY(take_targets(doc, (pgcn_node)doc->rows[LINKS]));
    }
}

static pgcn_status take_document(document *doc) {
    PGCN_TRY(pgcn_i_json_object(doc->json));
    for (const char *text;;) {
        PGCN_TRY(pgcn_i_json_key(doc->json, &text));
        if (!text) return pgcn_i_json_end(doc->json);
        key k = find_key(text, strlen(text));
        if (k == KEYS) {
            PGCN_TRY(pgcn_i_json_skip(doc->json));
            continue;
        }
        if (doc->seen[k])
            return pgcn_i_json_fail(doc->json, "the key '%s' occurs twice", key_name[k]);
        doc->seen[k] = true;
        if (k == LINKS)
            PGCN_TRY(take_links(doc));
        else if (k == LABELS || k == TEST_MASK)
            PGCN_TRY(take_row(doc, k, &doc->rows[k]));
        else
            PGCN_TRY(take_rows(doc, k));
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool is_split_masks(key k) {
    return k == TRAIN_MASKS || k == VAL_MASKS || k == STOPPING_MASKS;
}

/* Checks that all keys are there and their sizes fit each other. */
static pgcn_status check_sizes(const document *doc, const char *file) {
    for (int k = 0; k < KEYS; k++)
        if (!doc->seen[k] && k != STOPPING_MASKS)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': the key '%s' is missing, expected data.json of "
                               "Wiki-CS with features, labels, links, train_masks, val_masks and "
                               "test_mask",
                               file, key_name[k]);
    int64_t n = doc->rows[LABELS], splits = doc->rows[TRAIN_MASKS];
    for (int k = 0; k < KEYS; k++) {
        bool masks = is_split_masks((key)k);
        if (!doc->seen[k]) continue;
        if (doc->rows[k] != (masks ? splits : n))
            return pgcn_i_fail(
                PGCN_ERR_FORMAT, "reading '%s': '%s' has %lld rows, expected %lld as in '%s'", file,
                key_name[k], (long long)doc->rows[k], (long long)(masks ? splits : n),
                key_name[masks ? TRAIN_MASKS : LABELS]);
        if (masks && splits > 0 && doc->columns[k] != n)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': a mask in '%s' has %lld values, expected %lld, one "
                               "for every label",
                               file, key_name[k], (long long)doc->columns[k], (long long)n);
    }
    return PGCN_OK;
}

static pgcn_status set_splits(document *doc, pgcn_i_source *source) {
    int64_t n = source->nodes;
    int splits = (int)doc->rows[TRAIN_MASKS];
    const uint8_t *train = pgcn_i_arena_take(&source->arena, &doc->value[TRAIN_MASKS]);
    const uint8_t *val = pgcn_i_arena_take(&source->arena, &doc->value[VAL_MASKS]);
    const uint8_t *test = pgcn_i_arena_take(&source->arena, &doc->value[TEST_MASK]);
    source->split = PGCN_I_ARRAY(&source->arena, pgcn_i_split, splits);
    if (!train || !val || !test || !source->split) return PGCN_ERR_MEMORY;
    for (int s = 0; s < splits; s++) {
        pgcn_i_split *split = &source->split[s];
        snprintf(split->name, sizeof split->name, "%d", s);
        split->train = train + s * n;
        split->val = val + s * n;
        split->test = test;
    }
    source->splits = splits;
    source->split_origin = "the splits of Wiki-CS (5% train, one test set for all)";
    if (!doc->seen[STOPPING_MASKS]) return PGCN_OK;
    return pgcn_i_source_note(source,
                              "Wiki-CS has two validation sets per split: val_masks are used, for "
                              "early stopping too; stopping_masks are not used");
}

static pgcn_status fill(document *doc, const char *file, pgcn_i_source *source) {
    enum { MOST_SPLITS = 10000 };
    PGCN_TRY(check_sizes(doc, file));
    int64_t n = doc->rows[LABELS];
    if (doc->rows[TRAIN_MASKS] > MOST_SPLITS)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': there are %lld splits, expected at most %d", file,
                           (long long)doc->rows[TRAIN_MASKS], MOST_SPLITS);
    source->nodes = n;
    source->directed = true;
    source->edges = doc->link_from.bytes / (int64_t)sizeof(pgcn_node);
    source->edge_from = pgcn_i_arena_take(&source->edge_arena, &doc->link_from);
    source->edge_to = pgcn_i_arena_take(&source->edge_arena, &doc->value[LINKS]);
    if (!source->edge_from || !source->edge_to) return PGCN_ERR_MEMORY;
    pgcn_i_class_codes codes = {
        .code = (const int64_t *)doc->value[LABELS].data, .count = n, .missing = INT64_MIN};
    PGCN_TRY(pgcn_i_source_number_classes(source, codes, &source->label, &source->classes,
                                          &source->class_name));
    int64_t columns = n > 0 ? doc->columns[FEATURES] : 0;
    const float *dense = pgcn_i_arena_take(&source->arena, &doc->value[FEATURES]);
    if (!dense) return PGCN_ERR_MEMORY;
    if (columns > 0) PGCN_TRY(pgcn_i_source_features(source, dense, n, columns));
    return set_splits(doc, source);
}

pgcn_status pgcn_i_wikics_read(const char *path, const pgcn_i_steps *steps, pgcn_i_source *source) {
    (void)steps;
    char file[PGCN_I_PATH_BYTES];
    document doc = {0};
    source->format = "Wiki-CS JSON";
    PGCN_TRY(find_file(path, file));
    pgcn_status status;
    PGCN_TRY_GOTO(pgcn_i_json_open(file, &doc.json));
    PGCN_TRY_GOTO(take_document(&doc));
    PGCN_TRY_GOTO(fill(&doc, file, source));
fail:
    pgcn_i_json_close(doc.json);
    pgcn_i_buffer_free(&doc.link_from);
    for (int k = 0; k < KEYS; k++) pgcn_i_buffer_free(&doc.value[k]);
    return status;
}
