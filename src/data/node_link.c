/* Graphs in the node-link JSON of networkx, and the matrices that stand beside them:
 *
 *   {"directed": false, "multigraph": false, "graph": {...},
 *    "nodes": [{"id": 0, "val": false, "test": false, ...}, ...],
 *    "links": [{"source": 0, "target": 17, ...}, ...]}
 *
 * keys in any order, others are skipped. An id is a whole number or a string. networkx up to 1.11
 * wrote the *positions* of both nodes into a link, later ones write their *ids*. This matters only
 * where ids are not 0, 1, 2, ... in order. Then: strings are ids; numbers are positions if ids are
 * strings, or if all of them are positions that exist (GraphSAGE wants networkx 1.11), else ids.
 * Read twice if the links come before the nodes. Called by graphsage.c and dgl_ppi.c. Serial,
 * thread-safe. */
#include "data/node_link.h"

#include <stdio.h>
#include <string.h>

typedef struct reading {
    pgcn_i_json *json;
    pgcn_i_row_of row_of;
    void *context;
    int64_t rows;
    uint8_t *taken; /* [rows] 1: a node has this row already */
    bool links_by_id;
    bool ids_are_numbers, ids_are_positions;
    pgcn_i_buffer ends; /* int64_t pairs: the numbers of the links, or rows if links name strings */
    bool ends_are_rows; /* once a link was read: strings were found and looked up */
    pgcn_i_node_link *out;
} reading;

/* Reads an id, a number or a string, as text. `number` is unchanged if it is a string. */
enum { ID_TEXT = 24 };
static pgcn_status take_id(reading *r, char number_text[ID_TEXT], const char **text,
                           int64_t *number, bool *is_number) {
    pgcn_i_json_kind kind;
    PGCN_TRY(pgcn_i_json_peek(r->json, &kind));
    *is_number = kind == PGCN_I_JSON_NUMBER;
    if (!*is_number) return pgcn_i_json_text(r->json, text);
    PGCN_TRY(pgcn_i_json_i64(r->json, number));
    snprintf(number_text, ID_TEXT, "%lld", (long long)*number);
    *text = number_text;
    return PGCN_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The row of an id, once. */
static pgcn_status claim_row(reading *r, const char *text, pgcn_node *row) {
    char shown[PGCN_I_EXCERPT];
    int64_t found = r->row_of(r->context, text);
    pgcn_i_text_excerpt(text, (int64_t)strlen(text), shown);
    if (found >= 0 && r->taken[found])
        return pgcn_i_json_fail(r->json, "the node '%s' occurs twice", shown);
    if (found >= 0) r->taken[found] = 1;
    *row = (pgcn_node)found;
    return PGCN_OK;
}

static pgcn_status take_node(reading *r, pgcn_node *row, uint8_t *part) {
    bool has_id = false, has_val = false, has_test = false, val = false, test = false;
    PGCN_TRY(pgcn_i_json_object(r->json));
    for (const char *key;;) {
        PGCN_TRY(pgcn_i_json_key(r->json, &key));
        if (!key) break;
        bool is_id = strcmp(key, "id") == 0, is_val = strcmp(key, "val") == 0,
             is_test = strcmp(key, "test") == 0;
        if ((is_id && has_id) || (is_val && has_val) || (is_test && has_test))
            return pgcn_i_json_fail(r->json, "the key '%.8s' occurs twice in a node", key);
        if (is_id) {
            char digits[ID_TEXT];
            const char *text = NULL;
            int64_t number = -1;
            bool is_number = false;
            PGCN_TRY(take_id(r, digits, &text, &number, &is_number));
            PGCN_TRY(claim_row(r, text, row));
            r->ids_are_numbers &= is_number;
            r->ids_are_positions &= is_number && number == r->out->nodes;
            has_id = true;
        } else if (is_val) {
            PGCN_TRY(pgcn_i_json_flag(r->json, &val));
            has_val = true;
        } else if (is_test) {
            PGCN_TRY(pgcn_i_json_flag(r->json, &test));
            has_test = true;
        } else {
            PGCN_TRY(pgcn_i_json_skip(r->json));
        }
    }
    if (!has_id) return pgcn_i_json_fail(r->json, "a node has no 'id'");
    if (val && test)
        return pgcn_i_json_fail(r->json, "a node has both 'val' and 'test' true, expected one");
    *part = !has_val || !has_test ? PGCN_I_PART_UNMARKED
            : val                 ? PGCN_I_PART_VAL
            : test                ? PGCN_I_PART_TEST
                                  : PGCN_I_PART_TRAIN;
    return PGCN_OK;
}

static pgcn_status take_nodes(reading *r) {
    r->ids_are_numbers = r->ids_are_positions = true;
    PGCN_TRY(pgcn_i_json_array(r->json));
    for (bool more;; r->out->nodes++) {
        PGCN_TRY(pgcn_i_json_more(r->json, &more));
        if (!more) return PGCN_OK;
        if (r->out->nodes == INT32_MAX)
            return pgcn_i_json_fail(r->json, "there are more than %d nodes", INT32_MAX);
        pgcn_node *row = pgcn_i_buffer_add(&r->out->row, sizeof *row);
        uint8_t *part = pgcn_i_buffer_add(&r->out->part, sizeof *part);
        if (!row || !part) return PGCN_ERR_MEMORY;
        PGCN_TRY(take_node(r, row, part));
    }
}

/* ---- links ----------------------------------------------------------------------------------- */

/* One end of a link: a number as it is, or the row of a string. */
static pgcn_status take_end(reading *r, bool first, int64_t *end) {
    char digits[ID_TEXT];
    const char *text = NULL;
    bool is_number = false;
    PGCN_TRY(take_id(r, digits, &text, end, &is_number));
    if (first) r->ends_are_rows = !is_number;
    if (r->ends_are_rows == is_number)
        return pgcn_i_json_fail(r->json, "some links name their nodes by numbers and some by "
                                         "strings, expected one of both");
    if (!is_number) *end = r->row_of(r->context, text);
    return PGCN_OK;
}

static pgcn_status take_link(reading *r) {
    int64_t *ends = pgcn_i_buffer_add(&r->ends, 2 * (int64_t)sizeof *ends);
    if (!ends) return PGCN_ERR_MEMORY;
    bool has[2] = {false, false}, first = r->ends.bytes == 2 * (int64_t)sizeof *ends;
    PGCN_TRY(pgcn_i_json_object(r->json));
    for (const char *key;;) {
        PGCN_TRY(pgcn_i_json_key(r->json, &key));
        if (!key) break;
        int which = strcmp(key, "source") == 0 ? 0 : strcmp(key, "target") == 0 ? 1 : 2;
        if (which == 2) {
            PGCN_TRY(pgcn_i_json_skip(r->json));
            continue;
        }
        if (has[which])
            return pgcn_i_json_fail(r->json, "the key '%s' occurs twice in a link",
                                    which ? "target" : "source");
        PGCN_TRY(take_end(r, first && !has[0] && !has[1], &ends[which]));
        has[which] = true;
    }
    if (!has[0] || !has[1])
        return pgcn_i_json_fail(r->json, "a link has no '%s'", has[0] ? "target" : "source");
    return PGCN_OK;
}

static pgcn_status take_links(reading *r) {
    PGCN_TRY(pgcn_i_json_array(r->json));
    for (bool more;;) {
        PGCN_TRY(pgcn_i_json_more(r->json, &more));
        if (!more) return PGCN_OK;
        PGCN_TRY(take_link(r));
    }
}

static int64_t row_of_number(const reading *r, int64_t number) {
    char digits[ID_TEXT];
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    return r->row_of(r->context, digits);
}

/* Whether the numbers in the links are positions, by the rule at the top of this file. */
static bool ends_are_positions(const reading *r) {
    const int64_t *end = (const int64_t *)r->ends.data;
    int64_t count = r->ends.bytes / (int64_t)sizeof *end;
    if (r->ids_are_positions || !r->ids_are_numbers) return true;
    if (r->links_by_id) return false;
    for (int64_t i = 0; i < count; i++)
        if (end[i] < 0 || end[i] >= r->out->nodes) return false;
    int64_t also_ids = 0;
    while (also_ids < count && row_of_number(r, end[also_ids]) >= 0) also_ids++;
    r->out->two_readings = count > 0 && also_ids == count;
    return true;
}

/* Converts the ends of all links to rows. */
static pgcn_status resolve_links(reading *r, const char *path) {
    const int64_t *end = (const int64_t *)r->ends.data;
    const pgcn_node *row = (const pgcn_node *)r->out->row.data;
    int64_t count = r->ends.bytes / (2 * (int64_t)sizeof *end), n = r->out->nodes;
    bool positions = !r->ends_are_rows && ends_are_positions(r);
    PGCN_TRY(pgcn_i_buffer_reserve(&r->out->from, count * (int64_t)sizeof(pgcn_node)));
    PGCN_TRY(pgcn_i_buffer_reserve(&r->out->to, count * (int64_t)sizeof(pgcn_node)));
    pgcn_node *to[2] = {(pgcn_node *)r->out->from.data, (pgcn_node *)r->out->to.data};
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t found[2] = {-1, -1};
        for (int k = 0; k < 2; k++) {
            int64_t says = end[2 * i + k];
            if (positions && (says < 0 || says >= n))
                return pgcn_i_fail(PGCN_ERR_FORMAT,
                                   "reading '%s': link %lld (from 0) names node %lld, expected 0 "
                                   "to %lld",
                                   path, (long long)i, (long long)says, (long long)n - 1);
            found[k] = positions ? row[says] : r->ends_are_rows ? says : row_of_number(r, says);
        }
        if (found[0] < 0 || found[1] < 0) continue;
        to[0][kept] = (pgcn_node)found[0];
        to[1][kept++] = (pgcn_node)found[1];
    }
    r->out->from.bytes = r->out->to.bytes = kept * (int64_t)sizeof(pgcn_node);
    r->out->links = kept;
    r->out->dropped = count - kept;
    return PGCN_OK;
}

/* ---- the document ---------------------------------------------------------------------------- */

/* One pass over the file. Links are left for a second pass if they come before the nodes. */
static pgcn_status take_document(reading *r, bool *has_nodes, bool *has_links, bool *links_left) {
    bool second = *links_left, has_directed = false, passed_links = false;
    PGCN_TRY(pgcn_i_json_object(r->json));
    for (const char *key;;) {
        PGCN_TRY(pgcn_i_json_key(r->json, &key));
        if (!key) break;
        bool nodes = strcmp(key, "nodes") == 0, links = strcmp(key, "links") == 0,
             directed = strcmp(key, "directed") == 0;
        if (!second &&
            ((nodes && *has_nodes) || (links && passed_links) || (directed && has_directed)))
            return pgcn_i_json_fail(r->json, "the key '%.10s' occurs twice", key);
        has_directed |= directed;
        passed_links |= links;
        if (links && *has_nodes) {
            PGCN_TRY(take_links(r));
            *has_links = true;
        } else if (nodes && !second) {
            PGCN_TRY(take_nodes(r));
            *has_nodes = true;
        } else if (directed) {
            PGCN_TRY(pgcn_i_json_flag(r->json, &r->out->directed));
        } else {
            PGCN_TRY(pgcn_i_json_skip(r->json));
        }
    }
    *links_left = passed_links && !*has_links;
    return pgcn_i_json_end(r->json);
}

static pgcn_status read_all(reading *r, const char *path) {
    bool has_nodes = false, has_links = false, links_left = false;
    if (!(r->taken = pgcn_i_alloc(r->rows, 1))) return PGCN_ERR_MEMORY;
    PGCN_TRY(pgcn_i_json_open(path, &r->json));
    PGCN_TRY(take_document(r, &has_nodes, &has_links, &links_left));
    if (has_nodes && links_left) {
        pgcn_i_json_close(r->json);
        r->json = NULL;
        PGCN_TRY(pgcn_i_json_open(path, &r->json));
        PGCN_TRY(take_document(r, &has_nodes, &has_links, &links_left));
    }
    if (!has_nodes || !has_links)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': the key '%s' is missing, expected a graph in the "
                           "node-link JSON of networkx with 'nodes' and 'links'",
                           path, has_nodes ? "links" : "nodes");
    return resolve_links(r, path);
}

pgcn_status pgcn_i_node_link_read(const char *path, pgcn_i_row_of row_of, void *context,
                                  int64_t rows, bool links_by_id, pgcn_i_node_link *out) {
    reading r = {
        .row_of = row_of, .context = context, .rows = rows, .links_by_id = links_by_id, .out = out};
    *out = (pgcn_i_node_link){0};
    pgcn_status status = read_all(&r, path);
    pgcn_i_json_close(r.json);
    pgcn_i_buffer_free(&r.ends);
    pgcn_i_free(r.taken);
    return status;
}

void pgcn_i_node_link_free(pgcn_i_node_link *link) {
    pgcn_i_buffer_free(&link->row);
    pgcn_i_buffer_free(&link->part);
    pgcn_i_buffer_free(&link->from);
    pgcn_i_buffer_free(&link->to);
}

/* ---- matrices -------------------------------------------------------------------------------- */

static double number_at(const pgcn_i_array *array, int64_t i) {
    switch (array->dtype) {
    case PGCN_I_U8: return ((const uint8_t *)array->data)[i];
    case PGCN_I_I32: return ((const int32_t *)array->data)[i];
    case PGCN_I_I64: return (double)((const int64_t *)array->data)[i];
    case PGCN_I_F32: return (double)((const float *)array->data)[i];
    default: return ((const double *)array->data)[i];
    }
}

static pgcn_status read_matrix(const char *path, pgcn_i_arena *arena, pgcn_i_array *out) {
    PGCN_TRY(pgcn_i_npy_read(path, arena, out));
    if (out->rank == 2) return PGCN_OK;
    char shape[PGCN_I_SHAPE_TEXT];
    pgcn_i_shape_text(out->dtype, out->rank, out->shape, shape);
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s': found an array %s, expected a matrix with one row per node",
                       path, shape);
}

pgcn_status pgcn_i_read_matrix_f32(const char *path, pgcn_i_arena *arena, int64_t *rows,
                                   int64_t *columns, const float **out) {
    pgcn_i_array array;
    PGCN_TRY(read_matrix(path, arena, &array));
    *rows = array.shape[0];
    *columns = array.shape[1];
    PGCN_TRY(pgcn_i_array_to_f32(arena, &array));
    *out = array.data;
    return PGCN_OK;
}

pgcn_status pgcn_i_read_matrix_flags(const char *path, pgcn_i_arena *arena, int64_t *rows,
                                     int64_t *columns, const uint8_t **out) {
    pgcn_i_array array;
    PGCN_TRY(read_matrix(path, arena, &array));
    uint8_t *flag = PGCN_I_ARRAY(arena, uint8_t, array.count);
    if (!flag) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < array.count; i++) {
        double value = number_at(&array, i);
        if (value != 0 && value != 1)
            return pgcn_i_fail(
                PGCN_ERR_FORMAT, "reading '%s': found %g in row %lld, column %lld, expected 0 or 1",
                path, value, (long long)(i / array.shape[1]), (long long)(i % array.shape[1]));
        flag[i] = value == 1;
    }
    pgcn_i_arena_drop(arena, array.data);
    *rows = array.shape[0];
    *columns = array.shape[1];
    *out = flag;
    return PGCN_OK;
}
