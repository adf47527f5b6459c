/* Links of views: which entry of the exact transition an entry of its transpose is. Operations with values of links go
 * through the transpose, too, and find the value of a link by its number. Called by views.c.
 *
 * Of several ranks whose lists are divided, a link that leads from a row of another rank to one of this rank is a guest:
 * its number is behind those of all links, so that the values of guests are side by side. Guests are numbered by row and
 * then by column, in which order ranks send them (nn/links.c). */
#include "views/views.h"

#include <string.h>

void pgcn_i_links_number(pgcn_i_views *views) {
    const pgcn_i_transition *transition = views->transitions;
    if (views->link_t)
        pgcn_i_csr_number(views->link_t, transition->exact, transition->exact_t, transition->n,
                          views->next_link);
}

pgcn_status pgcn_i_links_open(pgcn_i_views *views) {
    const pgcn_i_csr *exact = views->transitions[0].exact;
    views->link_t = PGCN_I_ARRAY(&views->arena, int64_t, exact->offset[exact->rows]);
    views->next_link = PGCN_I_ARRAY(&views->arena, int64_t, exact->rows);
    if (!views->link_t || !views->next_link) return PGCN_ERR_MEMORY;
    for (int l = 0; l < views->layers; l++) views->transitions[l].link_t = views->link_t;
    if (!views->batch) pgcn_i_links_number(views);
    return PGCN_OK;
}

/* What a rank never asks for is address space. */
pgcn_status pgcn_i_links_divide(pgcn_i_views *views, pgcn_i_range own) {
    const pgcn_i_transition *t = views->transitions;
    const pgcn_i_csr *list = t->exact_t;
    const int64_t links = t->exact->offset[t->n], begin = list->offset[own.begin];
    int64_t *next = views->next_link, *whole = views->link_t;
    if (!whole) return PGCN_OK;
    if (!(views->link_t = PGCN_I_ARRAY(&views->arena, int64_t, links))) return PGCN_ERR_MEMORY;
    memset(next, 0, (size_t)t->n * sizeof *next);
    for (int64_t e = begin; e < list->offset[own.end]; e++) next[list->column[e]]++;
    memset(next + own.begin, 0, (size_t)(own.end - own.begin) * sizeof *next);
    pgcn_i_counts_to_starts(next, t->n, t->samples * links);
    for (int64_t e = begin; e < list->offset[own.end]; e++) {
        pgcn_node row = list->column[e];
        bool is_own = row >= own.begin && row < own.end;
        views->link_t[e] = is_own ? whole[e] : next[row]++;
    }
    pgcn_i_arena_drop(&views->arena, whole);
    pgcn_i_arena_drop(&views->arena, next);
    views->next_link = NULL;
    for (int l = 0; l < views->layers; l++) views->transitions[l].link_t = views->link_t;
    return PGCN_OK;
}
