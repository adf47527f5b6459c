/* nodes: what the files of batches of nodes share. views.h says what such a batch is. */
#ifndef PGCN_NODES_H
#define PGCN_NODES_H

#include "views/views.h"

typedef struct pgcn_i_lenders pgcn_i_lenders;

/* Lists from the rows of a level to those of the next. */
typedef struct pgcn_i_level {
    int64_t entries;      /* of a list, at most */
    int neighbours;       /* drawn for every row; 0: all of them */
    pgcn_i_subset subset; /* its rows */
    pgcn_i_visits *walks; /* NULL: neighbours */
    pgcn_i_visits lists;  /* what operations read */
    pgcn_i_csr list, list_t;
    int64_t *link_t;
    int64_t *link_id; /* [entries] which dropout knows a link by */
} pgcn_i_level;

struct pgcn_i_nodes {
    pgcn_i_arena arena;
    pgcn_i_arena x_arena; /* of features */
    pgcn_i_nodes_opts opts;
    pgcn_i_numbering numbering;
    pgcn_i_turner turner;
    pgcn_i_part part;
    int levels;
    int64_t *rows, *links;          /* [levels + 1] */
    int64_t *most;                  /* [levels + 1] rows, at most */
    pgcn_i_transition *transitions; /* [levels + 1] */
    pgcn_i_level *level;            /* [levels] */
    pgcn_i_csr
        shared; /* all neighbours, without a backward pass: the rows of a level are the first ones of the next */
    bool shares;
    float *inverse_root;
    pgcn_i_input input;
    int64_t *x_offset, *x_drawn;
    int32_t *x_column;
    float *x_value;
    pgcn_i_column_arrays columns;
    /* Dense features that stay on disk, or are divided: the nodes of all rows, each once, the rows of their features, and which
     * of them a row of the part has. */
    pgcn_node *x_node;
    float *x_row;
    int32_t *x_place;
    int64_t x_nodes;
    pgcn_i_lenders
        *lenders; /* of features that ranks divide; NULL: they are all here, or on disk */
    const pgcn_i_guests *guests;
    const pgcn_i_input *guest_input;
    int64_t count; /* nodes chosen */
    pgcn_node *node;
    int32_t *label;
    uint8_t *labels, *mask;
    /* of several ranks; NULL: this process has all rows */
    pgcn_i_comm *divided;     /* which divide the rows of every level; */
    const pgcn_i_comm *taken; /* which take some of the chosen nodes each */
    int groups;
    pgcn_i_stretch *own_run; /* [most_runs] rows of this rank of the same sample */
    pgcn_i_part_turner *part_turner;
};

static inline int64_t pgcn_i_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}
int64_t pgcn_i_longest_row(const int64_t *offset, int64_t n);
/* The rows of a level that lists are drawn for: those of this rank. */
pgcn_i_range pgcn_i_nodes_own(const pgcn_i_nodes *nodes, int l);

/* ---- neighbours (nodes_pick.c) ------------------------------------------------------------------- */

/* Of some rows of a level; those before have theirs, or are another rank's. */
void pgcn_i_nodes_pick(pgcn_i_nodes *nodes, pgcn_i_pool *pool, int l, pgcn_i_range rows,
                       pgcn_i_path_draw draw);

/* ---- features (nodes_rows.c) --------------------------------------------------------------------- */

pgcn_status pgcn_i_nodes_open_input(pgcn_i_nodes *nodes);
void pgcn_i_nodes_close_input(pgcn_i_nodes *nodes);
/* When the rows are known: of dense features that are not all here, the nodes whose rows are needed. */
void pgcn_i_nodes_list(pgcn_i_nodes *nodes);
/* Sparse features of the part's rows, and what other ranks have of the features. */
void pgcn_i_nodes_gather(pgcn_i_nodes *nodes);

#endif
