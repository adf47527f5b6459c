/* Geom-GCN (Pei et al., ICLR 2020): a folder of two tables, columns separated by tabs, and splits.
 *
 *   out1_node_feature_label.txt   node_id  feature  label             a line per node, in any order
 *                                 0        0,1,0,0,1      3           a value for every column, or,
 *                                 4873     521,92,111     3           under the header
 *                                                 "feature(feature_amount:931)", the columns of 1
 *   out1_graph_edges.txt          node_id  node_id                    a line per arc
 *   splits/NAME_split_0.6_0.2_I.npz   train_mask, val_mask, test_mask: uint8 or bool [n]
 *
 * Node ids are 0..n-1, each once. The ids of the published film file run to 931, one more than its
 * header says: that many columns are accepted. The splits also exist for cora, citeseer and pubmed;
 * planetoid.c reads them with pgcn_i_geom_splits(). Called through formats.c. Thread-safe. */
#include "data/data.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_FILE "out1_node_feature_label.txt"
#define EDGE_FILE "out1_graph_edges.txt"

static bool has(const char *directory, const char *file) {
    char path[PGCN_I_PATH_BYTES];
    return pgcn_i_path_join(path, directory, file) == PGCN_OK && pgcn_i_file_exists(path);
}

bool pgcn_i_geom_detect(const char *path) {
    return has(path, NODE_FILE) && has(path, EDGE_FILE);
}

/* ---- nodes ------------------------------------------------------------------------------- */

typedef struct node_line {
    int64_t id, label;
    int64_t begin, end; /* of its entries */
} node_line;

typedef struct node_table {
    pgcn_i_text *text;
    pgcn_i_buffer lines, entries; /* of node_line, of pgcn_i_entry */
    int64_t columns;              /* 0: not known yet */
    int64_t listed;               /* -1: a value per column; else the columns of ones, 0..listed */
} node_table;

static int64_t lines_of(const node_table *nodes) {
    return nodes->lines.bytes / (int64_t)sizeof(node_line);
}
static int64_t entries_of(const node_table *nodes) {
    return nodes->entries.bytes / (int64_t)sizeof(pgcn_i_entry);
}

static pgcn_status add_entry(node_table *nodes, int64_t column, float value) {
    pgcn_i_entry *added = pgcn_i_buffer_add(&nodes->entries, sizeof *added);
    if (!added) return PGCN_ERR_MEMORY;
    *added = (pgcn_i_entry){(int32_t)column, value};
    return PGCN_OK;
}

/* "0,1,0,...": values that are not zero become entries. */
static pgcn_status take_values(node_table *nodes, const char **at) {
    int64_t column = 0;
    for (bool more = true; more; column++) {
        const char *cell = *at;
        float value = 0;
        if (**at == '0' && (*at)[1] == ',') /* nearly all of them */
            (*at)++;
        else if (!pgcn_i_parse_f32(at, &value) || !isfinite(value))
            return pgcn_i_text_fail(nodes->text,
                                    "feature %lld is '%.20s', expected a finite number",
                                    (long long)column, cell);
        if (column == INT32_MAX) return pgcn_i_text_fail(nodes->text, "too many features");
        if (value != 0) PGCN_TRY(add_entry(nodes, column, value));
        more = **at == ',';
        if (more) (*at)++;
    }
    if (nodes->columns == 0) nodes->columns = column;
    if (column != nodes->columns)
        return pgcn_i_text_fail(nodes->text,
                                "it has %lld features, expected %lld as in the lines before",
                                (long long)column, (long long)nodes->columns);
    return PGCN_OK;
}

/* "521,92,111": columns of ones, in any order; one that is named twice is still 1. */
static pgcn_status take_columns(node_table *nodes, const char **at) {
    int64_t first = entries_of(nodes);
    for (bool more = true; more;) {
        int64_t column;
        if (!pgcn_i_parse_i64(at, &column) || column < 0 || column > nodes->listed)
            return pgcn_i_text_fail(nodes->text,
                                    "feature '%.20s' is not a column from 0 to %lld, as the first "
                                    "line announces",
                                    *at, (long long)nodes->listed);
        PGCN_TRY(add_entry(nodes, column, 1));
        if (column >= nodes->columns) nodes->columns = column + 1;
        more = **at == ',';
        if (more) (*at)++;
    }
    pgcn_i_entry *list = (pgcn_i_entry *)nodes->entries.data;
    int64_t end = entries_of(nodes), kept = first;
    pgcn_i_sort_row(list + first, end - first);
    for (int64_t e = first; e < end; e++)
        if (e == first || list[e].column != list[e - 1].column) list[kept++] = list[e];
    nodes->entries.bytes = kept * (int64_t)sizeof(pgcn_i_entry);
    return PGCN_OK;
}

static bool take_tab(const char **at) {
    return *(*at)++ == '\t';
}

static pgcn_status take_node(node_table *nodes, const char *line) {
    const char *at = line;
    node_line node = {.begin = entries_of(nodes)};
    if (!pgcn_i_parse_i64(&at, &node.id) || *at != '\t')
        return pgcn_i_text_fail(nodes->text, "found '%.20s', expected a node id and a tab", line);
    at++;
    PGCN_TRY(nodes->listed >= 0 ? take_columns(nodes, &at) : take_values(nodes, &at));
    node.end = entries_of(nodes);
    const char *rest = at;
    if (!take_tab(&at) || !pgcn_i_parse_i64(&at, &node.label) || *at != '\0')
        return pgcn_i_text_fail(nodes->text,
                                "found '%.20s' after the features of node %lld, expected a tab and "
                                "a label, a whole number",
                                rest, (long long)node.id);
    node_line *added = pgcn_i_buffer_add(&nodes->lines, sizeof node);
    if (!added) return PGCN_ERR_MEMORY;
    *added = node;
    return PGCN_OK;
}

/* The first line, which says how features are written. */
static pgcn_status take_node_header(node_table *nodes, const char *line) {
    static const char key[] = "feature_amount:";
    const char *amount = strstr(line, key);
    nodes->listed = -1;
    if (!amount) return PGCN_OK;
    const char *at = amount + sizeof key - 1;
    if (!pgcn_i_parse_i64(&at, &nodes->listed) || nodes->listed < 1 || nodes->listed >= INT32_MAX)
        return pgcn_i_text_fail(nodes->text, "'%.30s' is not a number of features", amount);
    nodes->columns = nodes->listed;
    return PGCN_OK;
}

static pgcn_status read_node_lines(node_table *nodes) {
    char *line;
    int64_t length;
    PGCN_TRY(pgcn_i_text_line(nodes->text, &line, &length));
    if (!line || strncmp(line, "node_id\t", 8) != 0)
        return pgcn_i_text_fail(nodes->text,
                                "found '%.30s', expected the header 'node_id', 'feature', 'label' "
                                "with tabs between",
                                line ? line : "");
    PGCN_TRY(take_node_header(nodes, line));
    while (true) {
        PGCN_TRY(pgcn_i_text_line(nodes->text, &line, &length));
        if (!line) break;
        if (length > 0) PGCN_TRY(take_node(nodes, line));
        if (lines_of(nodes) > INT32_MAX - 1)
            return pgcn_i_text_fail(nodes->text, "more than %d nodes", INT32_MAX - 1);
    }
    if (lines_of(nodes) == 0)
        return pgcn_i_text_fail(nodes->text, "the file ends without a node, expected one per line");
    return PGCN_OK;
}

/* line_of[id] = the line of that node; each id must occur once. */
static pgcn_status order_nodes(const node_table *nodes, const char *path, pgcn_i_arena *scratch,
                               const int64_t **out) {
    int64_t n = lines_of(nodes);
    const node_line *lines = (const node_line *)nodes->lines.data;
    int64_t *line_of = PGCN_I_ARRAY(scratch, int64_t, n);
    if (!line_of) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        int64_t id = lines[i].id;
        if (id < 0 || id >= n || line_of[id] != 0)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': node id %lld %s, expected each of 0..%lld once (the "
                               "file has %lld nodes)",
                               path, (long long)id, id < 0 || id >= n ? "is found" : "comes twice",
                               (long long)n - 1, (long long)n);
        line_of[id] = i + 1;
    }
    for (int64_t id = 0; id < n; id++) line_of[id]--;
    *out = line_of;
    return PGCN_OK;
}

/* Features and labels in the order of the ids. */
static pgcn_status keep_nodes(const node_table *nodes, const char *path, pgcn_i_arena *scratch,
                              pgcn_i_source *source) {
    int64_t n = lines_of(nodes), count = entries_of(nodes), at = 0;
    const node_line *lines = (const node_line *)nodes->lines.data;
    const pgcn_i_entry *entries = (const pgcn_i_entry *)nodes->entries.data;
    const int64_t *line_of = NULL;
    PGCN_TRY(order_nodes(nodes, path, scratch, &line_of));
    int64_t *code = PGCN_I_ARRAY(scratch, int64_t, n);
    int64_t *offset = PGCN_I_ARRAY(&source->arena, int64_t, n + 1);
    int32_t *column = PGCN_I_ARRAY(&source->arena, int32_t, count);
    float *value = PGCN_I_ARRAY(&source->arena, float, count);
    if (!code || !offset || !column || !value) return PGCN_ERR_MEMORY;
    for (int64_t id = 0; id < n; id++) {
        const node_line *node = &lines[line_of[id]];
        code[id] = node->label;
        for (int64_t e = node->begin; e < node->end; e++, at++) {
            column[at] = entries[e].column;
            value[at] = entries[e].value;
        }
        offset[id + 1] = at;
    }
    source->nodes = n;
    source->x = (pgcn_i_features){.n = n,
                                  .columns = nodes->columns,
                                  .nonzeros = count,
                                  .offset = offset,
                                  .column = column,
                                  .value = value};
    pgcn_i_class_codes codes = {.code = code, .count = n, .missing = -1};
    return pgcn_i_source_number_classes(source, codes, &source->label, &source->classes,
                                        &source->class_name);
}

static pgcn_status read_nodes(const char *directory, pgcn_i_source *source) {
    char path[PGCN_I_PATH_BYTES];
    node_table nodes = {0};
    pgcn_i_arena scratch = {0};
    PGCN_TRY(pgcn_i_path_join(path, directory, NODE_FILE));
    PGCN_TRY(pgcn_i_text_open(path, &nodes.text));
    pgcn_status status = read_node_lines(&nodes);
    if (status == PGCN_OK) status = keep_nodes(&nodes, path, &scratch, source);
    pgcn_i_text_close(nodes.text);
    pgcn_i_buffer_free(&nodes.lines);
    pgcn_i_buffer_free(&nodes.entries);
    pgcn_i_arena_free(&scratch);
    return status;
}

/* ---- edges ------------------------------------------------------------------------------- */

static pgcn_status take_edge(pgcn_i_text *text, const char *line, int64_t n, pgcn_i_buffer *from,
                             pgcn_i_buffer *to) {
    const char *at = line;
    int64_t a, b;
    if (!pgcn_i_parse_i64(&at, &a) || !take_tab(&at) || !pgcn_i_parse_i64(&at, &b) || *at != '\0')
        return pgcn_i_text_fail(text, "found '%.30s', expected two node ids with a tab between",
                                line);
    if (a < 0 || a >= n || b < 0 || b >= n)
        return pgcn_i_text_fail(text, "the edge (%lld, %lld) has an id outside 0..%lld",
                                (long long)a, (long long)b, (long long)n - 1);
    pgcn_node *source = pgcn_i_buffer_add(from, sizeof *source);
    pgcn_node *target = source ? pgcn_i_buffer_add(to, sizeof *target) : NULL;
    if (!target) return PGCN_ERR_MEMORY;
    *source = (pgcn_node)a;
    *target = (pgcn_node)b;
    return PGCN_OK;
}

static pgcn_status read_edge_lines(pgcn_i_text *text, int64_t n, pgcn_i_buffer *from,
                                   pgcn_i_buffer *to) {
    char *line;
    int64_t length;
    while (true) {
        PGCN_TRY(pgcn_i_text_line(text, &line, &length));
        if (!line) return PGCN_OK;
        bool header = pgcn_i_text_line_number(text) == 1 && strncmp(line, "node_id", 7) == 0;
        if (!header && length > 0) PGCN_TRY(take_edge(text, line, n, from, to));
    }
}

static pgcn_status read_edges(const char *directory, pgcn_i_source *source) {
    char path[PGCN_I_PATH_BYTES];
    pgcn_i_text *text;
    pgcn_i_buffer from = {0}, to = {0};
    PGCN_TRY(pgcn_i_path_join(path, directory, EDGE_FILE));
    PGCN_TRY(pgcn_i_text_open(path, &text));
    pgcn_status status = read_edge_lines(text, source->nodes, &from, &to);
    pgcn_i_text_close(text);
    if (status == PGCN_OK) {
        source->edges = from.bytes / (int64_t)sizeof(pgcn_node);
        source->edge_from = pgcn_i_arena_take(&source->edge_arena, &from);
        source->edge_to = pgcn_i_arena_take(&source->edge_arena, &to);
        source->directed = true;
        if (!source->edge_from || !source->edge_to) status = PGCN_ERR_MEMORY;
    }
    pgcn_i_buffer_free(&from);
    pgcn_i_buffer_free(&to);
    return status;
}

/* ---- splits ------------------------------------------------------------------------------ */

enum { PARTS = 3, MOST_SPLITS = 10000, FILE_NAME_BYTES = 256 };
static const char *const part_name[PARTS] = {"train_mask", "val_mask", "test_mask"};

typedef struct split_file {
    int64_t number;
    double named[2]; /* 0.6 and 0.2, or NaN */
    char file[FILE_NAME_BYTES];
} split_file;

/* NAME_split_0.6_0.2_7.npz */
static bool is_split_file(const char *file, split_file *out) {
    static const char key[] = "_split_";
    size_t length = strlen(file);
    const char *fractions = strstr(file, key);
    if (!fractions || length < 4 || length >= FILE_NAME_BYTES ||
        strcmp(file + length - 4, ".npz") != 0)
        return false;
    const char *at = file + length - 4;
    while (at > file && at[-1] >= '0' && at[-1] <= '9') at--;
    if (at == file || at[-1] != '_' || !pgcn_i_parse_i64(&at, &out->number) ||
        out->number >= MOST_SPLITS)
        return false;
    at = fractions + sizeof key - 1;
    if (!pgcn_i_parse_f64(&at, &out->named[0]) || *at++ != '_' ||
        !pgcn_i_parse_f64(&at, &out->named[1]) || *at != '_')
        out->named[0] = out->named[1] = (double)NAN;
    memcpy(out->file, file, length + 1);
    return true;
}

static int by_number(const void *a, const void *b) {
    int64_t x = ((const split_file *)a)->number, y = ((const split_file *)b)->number;
    return (x > y) - (x < y);
}

/* The files in the order of their numbers; none if there is no such folder. */
static pgcn_status list_splits(const char *directory, pgcn_i_buffer *out) {
    DIR *stream;
    PGCN_TRY(pgcn_i_directory_open(directory, &stream));
    pgcn_status status = PGCN_OK;
    for (struct dirent *found; stream && status == PGCN_OK;) {
        status = pgcn_i_directory_next(stream, directory, &found);
        if (status != PGCN_OK || !found) break;
        split_file file = {0};
        if (!is_split_file(found->d_name, &file)) continue;
        split_file *added = pgcn_i_buffer_add(out, sizeof file);
        if (added)
            *added = file;
        else
            status = PGCN_ERR_MEMORY;
    }
    if (stream) closedir(stream);
    if (status != PGCN_OK || out->bytes == 0) return status;
    split_file *files = (split_file *)out->data;
    int64_t count = out->bytes / (int64_t)sizeof *files;
    qsort(files, (size_t)count, sizeof *files, by_number);
    for (int64_t i = 1; i < count; i++)
        if (files[i].number == files[i - 1].number)
            return pgcn_i_fail(PGCN_ERR_FORMAT,
                               "reading '%s': '%.100s' and '%.100s' are both split %lld; keep one "
                               "of them",
                               directory, files[i - 1].file, files[i].file,
                               (long long)files[i].number);
    return PGCN_OK;
}

static pgcn_status read_masks(pgcn_i_npz *npz, const char *path, pgcn_i_arena *scratch,
                              pgcn_i_source *source) {
    uint8_t *mask[PARTS];
    PGCN_TRY(pgcn_i_source_masks(source, source->nodes, mask));
    for (int k = 0; k < PARTS; k++) {
        pgcn_i_array given;
        PGCN_TRY(pgcn_i_npz_read(npz, part_name[k], scratch, &given));
        if (given.dtype != PGCN_I_U8 || given.rank != 1 || given.count != source->nodes) {
            char shape[PGCN_I_SHAPE_TEXT];
            pgcn_i_shape_text(given.dtype, given.rank, given.shape, shape);
            return pgcn_i_fail(PGCN_ERR_MISMATCH,
                               "reading '%s': its %s is an array %s, expected uint8 or bool [%lld] "
                               "for the nodes of this data set",
                               path, part_name[k], shape, (long long)source->nodes);
        }
        memcpy(mask[k], given.data, (size_t)given.count);
    }
    return PGCN_OK;
}

static pgcn_status read_split(const char *directory, const split_file *file,
                              pgcn_i_source *source) {
    char path[PGCN_I_PATH_BYTES];
    pgcn_i_npz *npz;
    pgcn_i_arena scratch = {0};
    PGCN_TRY(pgcn_i_path_join(path, directory, file->file));
    PGCN_TRY(pgcn_i_npz_open(path, &npz));
    pgcn_status status = read_masks(npz, path, &scratch, source);
    pgcn_i_npz_close(npz);
    pgcn_i_arena_free(&scratch);
    PGCN_TRY(status);
    pgcn_i_split *split = &source->split[source->splits - 1];
    snprintf(split->name, sizeof split->name, "%d", (int)file->number); /* < MOST_SPLITS */
    return PGCN_OK;
}

/* The true shares of the masks, and a note if the names of the files say others. */
static pgcn_status note_sizes(const split_file *files, int64_t count, pgcn_i_source *source) {
    int64_t size[PARTS] = {0};
    for (int s = source->splits - (int)count; s < source->splits; s++) {
        const pgcn_i_split *split = &source->split[s];
        for (int64_t i = 0; i < source->nodes; i++) {
            size[0] += split->train[i];
            size[1] += split->val[i];
            size[2] += split->test[i];
        }
    }
    double all = (double)(size[0] + size[1] + size[2]), percent[PARTS];
    if (!(all > 0)) return PGCN_OK; /* check.c refuses empty masks */
    for (int k = 0; k < PARTS; k++) percent[k] = 100 * (double)size[k] / all;
    char origin[80];
    snprintf(origin, sizeof origin, "%lld Geom-GCN splits (%.0f/%.0f/%.0f)", (long long)count,
             percent[0], percent[1], percent[2]);
    source->split_origin = pgcn_i_arena_strdup(&source->arena, origin);
    if (!source->split_origin) return PGCN_ERR_MEMORY;
    double named = 100 * files[0].named[0];
    if (!(fabs(named - percent[0]) > 1)) return PGCN_OK; /* also when the name says nothing */
    return pgcn_i_source_note(
        source,
        "the Geom-GCN splits are named %g/%g and called %.0f/%.0f/%.0f, but their masks hold "
        "%.0f/%.0f/%.0f per cent of the nodes for training, validation and test",
        files[0].named[0], files[0].named[1], named, 100 * files[0].named[1],
        100 - named - 100 * files[0].named[1], percent[0], percent[1], percent[2]);
}

pgcn_status pgcn_i_geom_splits(const char *directory, pgcn_i_source *source) {
    char path[PGCN_I_PATH_BYTES];
    pgcn_i_buffer list = {0};
    PGCN_TRY(pgcn_i_path_join(path, directory, "splits"));
    pgcn_status status = list_splits(path, &list);
    const split_file *files = (const split_file *)list.data;
    int64_t count = list.bytes / (int64_t)sizeof *files;
    for (int64_t i = 0; i < count && status == PGCN_OK; i++)
        status = read_split(path, &files[i], source);
    if (status == PGCN_OK && count > 0) {
        pgcn_i_source_unmask(source);
        status = note_sizes(files, count, source);
    }
    pgcn_i_buffer_free(&list);
    return status;
}

/* ---- all of it --------------------------------------------------------------------------- */

static bool is_named(const char *path, const char *name) {
    size_t end = strlen(path), length = strlen(name);
    while (end > 0 && path[end - 1] == '/') end--;
    return end >= length && strncmp(path + end - length, name, length) == 0 &&
           (end == length || path[end - length - 1] == '/');
}

/* Published by mistake, and used in many papers since. */
static pgcn_status note_cornell(const char *directory, pgcn_i_source *source) {
    static const char of_texas[] =
        "cf5a3ca346cdd1210b8342e22517fcbbdae658065b7a3145f59350e50e6236a3";
    char path[PGCN_I_PATH_BYTES], hex[65];
    if (!is_named(directory, "cornell")) return PGCN_OK;
    PGCN_TRY(pgcn_i_path_join(path, directory, NODE_FILE));
    pgcn_i_reader reader;
    PGCN_TRY(pgcn_i_reader_open(&reader, path));
    pgcn_status status = pgcn_i_hash_reader(&reader, reader.bytes, hex);
    pgcn_i_reader_close(&reader);
    PGCN_TRY(status);
    if (strcmp(hex, of_texas) != 0) return PGCN_OK;
    return pgcn_i_source_note(source,
                              "the published Cornell node file is the same file as that of Texas: "
                              "features and labels are those of Texas, only the edges are "
                              "Cornell's; cornell_fixed is the corrected data set");
}

pgcn_status pgcn_i_geom_read(const char *path, const pgcn_i_steps *steps, pgcn_i_source *source) {
    (void)steps;
    source->format = "Geom-GCN text files";
    PGCN_TRY(read_nodes(path, source));
    PGCN_TRY(read_edges(path, source));
    PGCN_TRY(note_cornell(path, source));
    return pgcn_i_geom_splits(path, source);
}
