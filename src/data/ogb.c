/* OGB node property prediction, as its archives unpack (ogbn-arxiv, ogbn-products, ogbn-proteins):
 *
 *   raw/edge.csv.gz              from,to         one line per edge, ids from 0
 *   raw/node-feat.csv.gz         f numbers       line i: node i; may be absent (ogbn-proteins)
 *   raw/node-label.csv.gz        one class       line i: node i; nan or empty: not labelled
 *                                or t times 0/1  several columns: t labels, each yes or no
 *   raw/num-node-list.csv.gz     n               } may be absent; checked against the others
 *   raw/num-edge-list.csv.gz     m               }
 *   split/NAME/{train,valid,test}.csv.gz         one node per line
 *
 * No file has a header; each may also be there without compression, as .csv. A single split is named
 * "public", several are numbered in the order of their names. Other files (node_year, edge-feat, mapping/)
 * are not used. The files do not say whether edges are directed: they become undirected unless the
 * step `directed` is given. The three large files are read at the same time, see table.c.
 * Called through formats.c. */
#include "data/data.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* out = path of DIRECTORY/NAME.csv.gz or .csv; false if there is neither. */
static bool find_table(const char *directory, const char *name, char *out) {
    static const char *endings[] = {".csv.gz", ".csv"};
    for (int i = 0; i < 2; i++) {
        char file[PGCN_I_NAME_BYTES + 16];
        snprintf(file, sizeof file, "%s%s", name, endings[i]);
        if (pgcn_i_path_join(out, directory, file) == PGCN_OK && pgcn_i_file_exists(out))
            return true;
    }
    return false;
}

bool pgcn_i_ogb_detect(const char *path) {
    char table[PGCN_I_PATH_BYTES];
    return find_table(path, "raw/edge", table) && find_table(path, "raw/node-label", table);
}

/* Cells of the first line of a table; 0 if it is empty. */
static pgcn_status count_columns(const char *path, int64_t *columns) {
    pgcn_i_text *text;
    pgcn_i_buffer cells = {0};
    char *line;
    int64_t length;
    PGCN_TRY(pgcn_i_text_open(path, &text));
    *columns = 0;
    pgcn_status status = pgcn_i_text_line(text, &line, &length);
    if (status == PGCN_OK && line) status = pgcn_i_text_split(text, line, ',', &cells, columns);
    if (status == PGCN_OK && line && *columns == 0) *columns = 1; /* an empty cell */
    pgcn_i_buffer_free(&cells);
    pgcn_i_text_close(text);
    return status;
}

static pgcn_status read_integers(const char *path, int64_t columns, pgcn_i_table *out) {
    pgcn_i_table_rule rule = {.dtype = PGCN_I_I64, .delimiter = ',', .columns = columns};
    return pgcn_i_table_read(path, &rule, out);
}

/* The number in raw/NAME.csv, or -1 if there is no such file. */
static pgcn_status read_count(const char *directory, const char *name, int64_t *out) {
    char path[PGCN_I_PATH_BYTES];
    pgcn_i_table table;
    *out = -1;
    if (!find_table(directory, name, path)) return PGCN_OK;
    PGCN_TRY(read_integers(path, 1, &table));
    int64_t rows = table.rows;
    if (rows == 1) memcpy(out, table.cell.data, sizeof *out);
    pgcn_i_table_free(&table);
    if (rows == 1 && *out >= 0) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s': found %lld lines%s, expected one line with a number from 0, "
                       "since a data set of node properties is one graph",
                       path, (long long)rows, rows == 1 ? " with a negative number" : "");
}

static pgcn_status check_rows(const char *path, int64_t rows, int64_t expected, const char *says) {
    if (expected < 0 || rows == expected) return PGCN_OK;
    return pgcn_i_fail(
        PGCN_ERR_MISMATCH,
        "reading '%s': it has %lld rows, expected %lld as %s says; the files are not "
        "of one data set, or one is cut short",
        path, (long long)rows, (long long)expected, says);
}

/* ---- edges ------------------------------------------------------------------------------------- */

static pgcn_status place_edges(const char *directory, const char *path, const pgcn_i_table *table,
                               pgcn_i_source *source) {
    int64_t edges = table->rows, expected;
    PGCN_TRY(read_count(directory, "raw/num-edge-list", &expected));
    PGCN_TRY(check_rows(path, edges, expected, "raw/num-edge-list"));
    pgcn_node *from = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, edges);
    pgcn_node *to = PGCN_I_ARRAY(&source->edge_arena, pgcn_node, edges);
    if (!from || !to) return PGCN_ERR_MEMORY;
    const int32_t *cell = (const int32_t *)(const void *)table->cell.data;
    for (int64_t e = 0; e < edges; e++) {
        for (int side = 0; side < 2; side++)
            if (cell[2 * e + side] < 0 || cell[2 * e + side] >= source->nodes)
                return pgcn_i_fail(PGCN_ERR_FORMAT,
                                   "reading '%s': edge %lld has the node %d, expected 0 to %lld; "
                                   "the files are not of one data set, or one is cut short",
                                   path, (long long)e + 1, cell[2 * e + side],
                                   (long long)source->nodes - 1);
        from[e] = cell[2 * e];
        to[e] = cell[2 * e + 1];
    }
    source->edges = edges;
    source->edge_from = from;
    source->edge_to = to;
    source->directed = true;
    return PGCN_OK;
}

/* ---- labels ------------------------------------------------------------------------------------ */

static pgcn_status bad_label(const char *path, int64_t node, int64_t column, float found,
                             const char *expected) {
    return pgcn_i_fail(
        PGCN_ERR_FORMAT,
        "reading '%s': node %lld (counted from 0), column %lld: found %g, expected %s", path,
        (long long)node, (long long)column + 1, (double)found, expected);
}

static pgcn_status one_class_each(const char *path, const float *cell, pgcn_i_source *source) {
    int32_t *label = PGCN_I_ARRAY(&source->arena, int32_t, source->nodes);
    if (!label) return PGCN_ERR_MEMORY;
    const float exact_up_to = 0x1p24f;
    for (int64_t i = 0; i < source->nodes; i++) {
        label[i] = -1;
        if (isnan(cell[i])) continue;
        if (cell[i] < 0 || cell[i] >= exact_up_to || cell[i] != floorf(cell[i]))
            return bad_label(path, i, 0, cell[i], "a class: a whole number from 0, or nan");
        label[i] = (int32_t)cell[i];
    }
    source->label = label;
    return PGCN_OK;
}

/* Several labels: all labels of a node are known or none is, since training cannot use some of
 * them. */
static pgcn_status yes_or_no(const char *path, const float *cell, int64_t columns,
                             pgcn_i_source *source) {
    uint8_t *labels = PGCN_I_ARRAY(&source->arena, uint8_t, source->nodes * columns);
    uint8_t *known = PGCN_I_ARRAY(&source->arena, uint8_t, source->nodes);
    if (!labels || !known) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < source->nodes; i++) {
        const float *row = cell + i * columns;
        bool all_known = !isnan(row[0]);
        for (int64_t j = 0; j < columns; j++) {
            if (!isnan(row[j]) != all_known)
                return bad_label(path, i, j, row[j],
                                 "all labels of a node to be known, or none of them");
            if (all_known && row[j] != 0 && row[j] != 1)
                return bad_label(path, i, j, row[j], "0 or 1, as there are several columns");
            labels[i * columns + j] = all_known && row[j] != 0;
        }
        known[i] = all_known;
    }
    source->labels = labels;
    source->label_known = known;
    source->classes = (int)columns;
    return PGCN_OK;
}

/* The rows of this file are the nodes, so it is handled first. */
static pgcn_status place_labels(const char *directory, const char *path, const pgcn_i_table *table,
                                pgcn_i_source *source) {
    int64_t expected;
    PGCN_TRY(read_count(directory, "raw/num-node-list", &expected));
    PGCN_TRY(check_rows(path, table->rows, expected, "raw/num-node-list"));
    const float *cell = (const float *)(const void *)table->cell.data;
    source->nodes = table->rows;
    return table->columns == 1 ? one_class_each(path, cell, source)
                               : yes_or_no(path, cell, table->columns, source);
}

/* ---- the large tables -------------------------------------------------------------------------- */

typedef struct tables {
    char feature_path[PGCN_I_PATH_BYTES], edge_path[PGCN_I_PATH_BYTES],
        label_path[PGCN_I_PATH_BYTES];
    pgcn_i_table feature, edge, label;
    bool has_features;
} tables;

static pgcn_status read_tables(const char *directory, tables *out) {
    int64_t features = 0, labels;
    if (!find_table(directory, "raw/edge", out->edge_path) ||
        !find_table(directory, "raw/node-label", out->label_path))
        return pgcn_i_fail(PGCN_ERR_IO, "'%s' has no raw/edge.csv.gz or no raw/node-label.csv.gz",
                           directory);
    out->has_features = find_table(directory, "raw/node-feat", out->feature_path);
    if (out->has_features) PGCN_TRY(count_columns(out->feature_path, &features));
    PGCN_TRY(count_columns(out->label_path, &labels));
    if (labels < 1 || labels > INT32_MAX)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': it has %lld columns, expected a line per node",
                           out->label_path, (long long)labels);
    const pgcn_i_table_job jobs[] = {
        {out->feature_path,
         {.dtype = PGCN_I_F32, .delimiter = ',', .columns = features},
         &out->feature},
        {out->edge_path, {.dtype = PGCN_I_I32, .delimiter = ',', .columns = 2}, &out->edge},
        {out->label_path,
         {.dtype = PGCN_I_F32, .delimiter = ',', .columns = labels, .missing = true},
         &out->label}};
    return out->has_features ? pgcn_i_tables_read(jobs, 3) : pgcn_i_tables_read(jobs + 1, 2);
}

/* Each table is freed when its arrays are made, before the features may become sparse. */
static pgcn_status place_tables(const char *directory, tables *from, pgcn_i_source *source) {
    PGCN_TRY(place_labels(directory, from->label_path, &from->label, source));
    pgcn_i_table_free(&from->label);
    PGCN_TRY(place_edges(directory, from->edge_path, &from->edge, source));
    pgcn_i_table_free(&from->edge);
    if (!from->has_features) return PGCN_OK;
    PGCN_TRY(check_rows(from->feature_path, from->feature.rows, source->nodes, "raw/node-label"));
    const float *dense = pgcn_i_arena_take(&source->arena, &from->feature.cell);
    if (!dense) return PGCN_ERR_MEMORY;
    return pgcn_i_source_features(source, dense, source->nodes, from->feature.columns);
}

static pgcn_status read_raw(const char *directory, pgcn_i_source *source) {
    tables *from = pgcn_i_alloc(1, sizeof *from);
    if (!from) return PGCN_ERR_MEMORY;
    pgcn_status status = read_tables(directory, from);
    if (status == PGCN_OK) status = place_tables(directory, from, source);
    pgcn_i_table_free(&from->feature);
    pgcn_i_table_free(&from->edge);
    pgcn_i_table_free(&from->label);
    pgcn_i_free(from);
    return status;
}

/* ---- splits ------------------------------------------------------------------------------------ */

static pgcn_status read_part(const char *directory, const char *part, int64_t nodes,
                             uint8_t *mask) {
    char path[PGCN_I_PATH_BYTES];
    pgcn_i_table table;
    if (!find_table(directory, part, path))
        return pgcn_i_fail(PGCN_ERR_IO,
                           "the split '%s' has no %s.csv.gz, expected train, valid and test",
                           directory, part);
    PGCN_TRY(read_integers(path, 1, &table));
    const int64_t *node = (const int64_t *)(const void *)table.cell.data;
    pgcn_status status = PGCN_OK;
    for (int64_t i = 0; i < table.rows && status == PGCN_OK; i++) {
        if (node[i] < 0 || node[i] >= nodes)
            status = pgcn_i_fail(PGCN_ERR_FORMAT,
                                 "reading '%s': row %lld is the node %lld, expected 0 to %lld",
                                 path, (long long)i + 1, (long long)node[i], (long long)nodes - 1);
        else
            mask[node[i]] = 1;
    }
    pgcn_i_table_free(&table);
    return status;
}

enum { MAX_SPLITS = 100 };

/* Names of the folders of DIRECTORY/split that hold a train table, in alphabetical order. */
static pgcn_status list_splits(const char *directory, pgcn_i_arena *arena, char *name[MAX_SPLITS],
                               int *count) {
    char all[PGCN_I_PATH_BYTES], one[PGCN_I_PATH_BYTES], table[PGCN_I_PATH_BYTES];
    *count = 0;
    PGCN_TRY(pgcn_i_path_join(all, directory, "split"));
    DIR *stream;
    PGCN_TRY(pgcn_i_directory_open(all, &stream));
    if (!stream) return PGCN_OK;
    pgcn_status status = PGCN_OK;
    for (struct dirent *entry; status == PGCN_OK;) {
        status = pgcn_i_directory_next(stream, all, &entry);
        if (status != PGCN_OK || !entry) break;
        if (entry->d_name[0] == '.' || pgcn_i_path_join(one, all, entry->d_name) != PGCN_OK ||
            !find_table(one, "train", table))
            continue;
        if (*count == MAX_SPLITS)
            status = pgcn_i_fail(PGCN_ERR_FORMAT, "'%s' has more than %d splits", all, MAX_SPLITS);
        else if (!(name[*count] = pgcn_i_arena_strdup(arena, one)))
            status = PGCN_ERR_MEMORY;
        else
            ++*count;
    }
    closedir(stream);
    qsort(name, (size_t)*count, sizeof *name, pgcn_i_compare_texts);
    return status;
}

static pgcn_status read_splits(const char *directory, pgcn_i_source *source) {
    static const char *parts[] = {"train", "valid", "test"};
    char *folder[MAX_SPLITS];
    int count;
    PGCN_TRY(list_splits(directory, &source->arena, folder, &count));
    for (int s = 0; s < count; s++) {
        uint8_t *mask[3];
        PGCN_TRY(pgcn_i_source_masks(source, source->nodes, mask));
        for (int k = 0; k < 3; k++)
            PGCN_TRY(read_part(folder[s], parts[k], source->nodes, mask[k]));
    }
    if (count == 0) return PGCN_OK;
    char origin[PGCN_I_NAME_BYTES + 64];
    if (count == 1) {
        snprintf(source->split[0].name, sizeof source->split[0].name, "public");
        snprintf(origin, sizeof origin, "the split '%s' of OGB", pgcn_i_file_name(folder[0]));
    } else {
        snprintf(origin, sizeof origin, "%d splits of OGB, '%s' to '%s'", count,
                 pgcn_i_file_name(folder[0]), pgcn_i_file_name(folder[count - 1]));
    }
    source->split_origin = pgcn_i_arena_strdup(&source->arena, origin);
    if (!source->split_origin) return PGCN_ERR_MEMORY;
    pgcn_i_source_unmask(source);
    return PGCN_OK;
}

pgcn_status pgcn_i_ogb_read(const char *path, const pgcn_i_steps *steps, pgcn_i_source *source) {
    (void)steps;
    source->format = "OGB node properties";
    PGCN_TRY(read_raw(path, source));
    return read_splits(path, source);
}
