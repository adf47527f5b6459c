/* A plain edge list: a text file of two ids per line, or two ids and a weight. It is what own_files.c
 * reads when there are neither features nor labels; the rules of cells and headers are in delimited.c.
 * Known by its ending and by the number of cells in its first line. Called through formats.c. */
#include "data/data.h"
#include "data/delimited.h"

#include <string.h>
#include <strings.h>

static bool ends_like_edges(const char *path) {
    static const char *const endings[] = {".edges", ".edgelist", ".el", ".txt", ".csv", ".tsv"};
    size_t length = strlen(path);
    if (length > 3 && strcasecmp(path + length - 3, ".gz") == 0) length -= 3;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t tail = strlen(endings[i]);
        if (length > tail && strncasecmp(path + length - tail, endings[i], tail) == 0) return true;
    }
    return false;
}

bool pgcn_i_edge_list_detect(const char *path) {
    pgcn_i_arena scratch = {0};
    pgcn_i_layout layout;
    if (!ends_like_edges(path) || !pgcn_i_file_exists(path) || pgcn_i_is_directory(path))
        return false;
    /* as data, which looks at two lines only */
    pgcn_i_known known = {.role = PGCN_I_ROLE_EDGES, .header = PGCN_HEADER_NO};
    bool found = pgcn_i_layout_find(path, &known, &scratch, &layout) == PGCN_OK &&
                 layout.columns >= 2 && layout.columns <= 3;
    pgcn_i_arena_free(&scratch);
    return found;
}

pgcn_status pgcn_i_edge_list_read(const char *path, const pgcn_i_steps *steps,
                                  pgcn_i_source *source) {
    (void)steps;
    return pgcn_i_edge_list_read_as(path, PGCN_HEADER_AUTO, source);
}

pgcn_status pgcn_i_edge_list_read_as(const char *path, pgcn_header header, pgcn_i_source *source) {
    pgcn_i_own_files files = {.edges = path, .header = {[PGCN_I_ROLE_EDGES] = header}};
    PGCN_TRY(pgcn_i_own_files_read(&files, source));
    source->format = "edge list";
    return PGCN_OK;
}
