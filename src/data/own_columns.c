/* Which columns of a user's files are read: --id, --from, --to, --weight, --label, --use and --ignore, by
 * name or by number from 1. The layout of a file is changed so that its rows have these cells only, ids
 * first, and nobody after this file knows that there were others.
 *
 *   features   the id (--id, else the first column), then all columns, or those of --use, without those of
 *              --ignore; also without those of --label if the labels are in the same file
 *   labels     the id, then all columns, or those of --label
 *   splits     the id, then all columns
 *   edges      --from, --to and --weight; where one of them is given, only they are read
 *
 * A file that has no column of the name --id has its ids in the first one. Called by own_files.c and
 * own_features.c; serial, thread-safe. */
#include "data/own_files.h"

#include <stdio.h>

/* ---- lists of names ------------------------------------------------------------------------------- */

typedef struct asked {
    const char *option; /* as the program calls it */
    const char *list;   /* names or numbers, with commas between them; or NULL */
} asked;

/* The next entry of a list, in the arena; *at moves behind it. *entry = NULL at the end. */
static pgcn_status next_entry(pgcn_i_arena *arena, const char **at, char **entry) {
    *entry = NULL;
    if (!*at || !**at) return PGCN_OK;
    size_t length = strcspn(*at, ",");
    *entry = PGCN_I_ARRAY(arena, char, (int64_t)length + 1);
    if (!*entry) return PGCN_ERR_MEMORY;
    memcpy(*entry, *at, length);
    *at += length + ((*at)[length] == ',');
    return PGCN_OK;
}

static bool is_count(const char *text) {
    return *text && text[strspn(text, "0123456789")] == '\0';
}

static pgcn_status add_names(pgcn_i_own *in, const char *list, pgcn_i_buffer *out) {
    char *entry;
    for (;;) {
        PGCN_TRY(next_entry(&in->scratch, &list, &entry));
        if (!entry) return PGCN_OK;
        if (is_count(entry)) continue; /* may be the number of a column, which is in no header */
        const char **name = pgcn_i_buffer_add(out, (int64_t)sizeof *name);
        if (!name) return PGCN_ERR_MEMORY;
        *name = entry;
    }
}

static pgcn_status collect_names(pgcn_i_own *in, pgcn_i_role role, pgcn_i_buffer *out) {
    const pgcn_i_own_files *files = in->files;
    bool edges = role == PGCN_I_ROLE_EDGES, features = role == PGCN_I_ROLE_FEATURES;
    PGCN_TRY(add_names(in, edges ? files->from : files->id, out));
    PGCN_TRY(add_names(in, edges ? files->to : features ? files->use : NULL, out));
    PGCN_TRY(add_names(in, edges ? files->weight : features ? files->ignore : NULL, out));
    if (role == PGCN_I_ROLE_LABELS) PGCN_TRY(add_names(in, files->label, out));
    for (int64_t r = 0; features && r < in->encoder.rules && in->encoder.header; r++)
        PGCN_TRY(add_names(in, in->encoder.rule[r].name, out));
    const char **end = pgcn_i_buffer_add(out, (int64_t)sizeof *end);
    if (!end) return PGCN_ERR_MEMORY;
    *end = NULL;
    return PGCN_OK;
}

pgcn_status pgcn_i_own_asked_names(pgcn_i_own *in, pgcn_i_role role, const char *const **out) {
    pgcn_i_buffer names = {0};
    pgcn_status status = collect_names(in, role, &names);
    if (status == PGCN_OK && !(*out = pgcn_i_arena_take(&in->scratch, &names)))
        status = PGCN_ERR_MEMORY;
    pgcn_i_buffer_free(&names);
    return status;
}

/* ---- finding columns -------------------------------------------------------------------------------- */

/* The column of that name or, if none is called so, of that number; -1: there is none. */
static int64_t find_column(const pgcn_i_layout *layout, const char *text) {
    int64_t number;
    const char *at = text;
    for (int64_t i = 0; layout->header && i < layout->columns; i++)
        if (strcmp(layout->header[i], text) == 0) return i;
    if (!is_count(text) || !pgcn_i_parse_i64(&at, &number)) return -1;
    return number >= 1 && number <= layout->columns ? number - 1 : -1;
}

static pgcn_status no_column(const pgcn_i_layout *layout, const char *option, const char *text) {
    char known[600] = "", shown[PGCN_I_EXCERPT];
    for (int64_t i = 0; layout->header && i < layout->columns && strlen(known) < 500; i++) {
        size_t used = strlen(known);
        pgcn_i_text_excerpt(layout->header[i], (int64_t)strlen(layout->header[i]), shown);
        snprintf(known + used, sizeof known - used, "%s'%s'", i ? ", " : "", shown);
    }
    pgcn_i_text_excerpt(text, (int64_t)strlen(text), shown);
    if (!layout->header)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': --%s is '%s', but its columns have no names; give a "
                           "number from 1 to %lld, or --header yes if its first line has names",
                           layout->path, option, shown, (long long)layout->columns);
    return pgcn_i_fail(PGCN_ERR_FORMAT,
                       "reading '%s': --%s is '%s', which is none of its columns: %s; give one of "
                       "these, or a number from 1 to %lld",
                       layout->path, option, shown, known, (long long)layout->columns);
}

/* Marks the columns of a list. */
static pgcn_status mark(pgcn_i_own *in, const pgcn_i_layout *layout, asked what, uint8_t *marked,
                        uint8_t value) {
    char *entry;
    for (const char *at = what.list;;) {
        PGCN_TRY(next_entry(&in->scratch, &at, &entry));
        if (!entry) return PGCN_OK;
        int64_t column = find_column(layout, entry);
        if (column < 0) return no_column(layout, what.option, entry);
        marked[column] = value;
    }
}

/* The ids: --id, or what the model knows them by, or the first column. */
static int64_t find_ids(pgcn_i_own *in, pgcn_i_role role, const pgcn_i_layout *layout) {
    bool features = role == PGCN_I_ROLE_FEATURES;
    const char *known = features && in->encoder.rules > 0 ? in->encoder.id : NULL;
    const char *name = in->files->id ? in->files->id : known;
    int64_t column = name && *name ? find_column(layout, name) : -1;
    int64_t place = known && !in->files->id && !layout->header ? in->encoder.id_place - 1 : -1;
    if (place >= 0 && place < layout->columns) column = place; /* as in the table of the training */
    in->id_named = in->id_named || (in->files->id && column >= 0);
    return column < 0 ? 0 : column;
}

/* ---- picking ------------------------------------------------------------------------------------------ */

/* The id, and then every column that is marked. */
static pgcn_status pick_marked(pgcn_i_own *in, pgcn_i_layout *layout, int64_t id,
                               const uint8_t *marked) {
    int64_t *pick = PGCN_I_ARRAY(&in->scratch, int64_t, layout->columns), count = 0;
    if (!pick) return PGCN_ERR_MEMORY;
    pick[count++] = id;
    for (int64_t i = 0; i < layout->columns; i++)
        if (marked[i] && i != id) pick[count++] = i;
    if (count < 2)
        return pgcn_i_fail(PGCN_ERR_FORMAT,
                           "reading '%s': no column is left besides the ids in column %lld; name "
                           "others by --use, --ignore, --label or --id",
                           layout->path, (long long)id + 1);
    if (count == layout->columns && id == 0) return PGCN_OK; /* all, as they are */
    return pgcn_i_layout_pick(layout, pick, count, &in->scratch);
}

static bool same_file(const char *a, const char *b) {
    return a && b && strcmp(a, b) == 0;
}

static pgcn_status pick_of_nodes(pgcn_i_own *in, pgcn_i_role role, pgcn_i_layout *layout) {
    const pgcn_i_own_files *files = in->files;
    const asked use = {"use", role == PGCN_I_ROLE_FEATURES ? files->use : NULL};
    const asked ignore = {"ignore", role == PGCN_I_ROLE_FEATURES ? files->ignore : NULL};
    const asked label = {"label", files->label};
    bool labels = role == PGCN_I_ROLE_LABELS && label.list;
    uint8_t *marked = PGCN_I_ARRAY(&in->scratch, uint8_t, layout->columns);
    if (!marked) return PGCN_ERR_MEMORY;
    memset(marked, !use.list && !labels, (size_t)layout->columns);
    PGCN_TRY(mark(in, layout, labels ? label : use, marked, 1));
    PGCN_TRY(mark(in, layout, ignore, marked, 0));
    if (role == PGCN_I_ROLE_FEATURES && same_file(files->features, files->labels))
        PGCN_TRY(mark(in, layout, label, marked, 0)); /* a label must not be a feature */
    return pick_marked(in, layout, find_ids(in, role, layout), marked);
}

static pgcn_status pick_of_edges(pgcn_i_own *in, pgcn_i_layout *layout) {
    const asked given[3] = {
        {"from", in->files->from}, {"to", in->files->to}, {"weight", in->files->weight}};
    int64_t *pick = PGCN_I_ARRAY(&in->scratch, int64_t, 3), count = 2;
    if (!pick) return PGCN_ERR_MEMORY;
    if (!given[0].list && !given[1].list && !given[2].list) return PGCN_OK;
    pick[1] = 1;
    for (int i = 0; i < 3; i++) {
        if (!given[i].list) continue;
        pick[i] = find_column(layout, given[i].list);
        if (pick[i] < 0) return no_column(layout, given[i].option, given[i].list);
        count = i == 2 ? 3 : count;
    }
    if (pick[0] == pick[1])
        return pgcn_i_fail(
            PGCN_ERR_FORMAT,
            "reading '%s': --from and --to are both column %lld; name the columns of "
            "both ends of an edge",
            layout->path, (long long)pick[0] + 1);
    return pgcn_i_layout_pick(layout, pick, count, &in->scratch);
}

pgcn_status pgcn_i_own_pick(pgcn_i_own *in, pgcn_i_role role, pgcn_i_layout *layout) {
    if (layout->columns < 2) return PGCN_OK; /* refused for that by the caller */
    return role == PGCN_I_ROLE_EDGES ? pick_of_edges(in, layout) : pick_of_nodes(in, role, layout);
}
