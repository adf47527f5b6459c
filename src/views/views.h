/* views: from a data set to the arrays that a network runs on (pgcn_i_view of nn).
 *
 * Comes in: a data set, a configuration. Goes out: one view after the other: the whole graph (views.c), or
 * some graphs of a set side by side (batch.c). Next room: train, whose runner puts networks on views. */
#ifndef PGCN_VIEWS_H
#define PGCN_VIEWS_H

#include "data/data.h"
#include "models/models.h"

/* ---- features (input.c) ------------------------------------------------------------------------ */

/* Over the nodes of `mask` (population deviation; 1 for a column that is constant there). */
pgcn_status pgcn_i_standard_of(const pgcn_i_features *features, const uint8_t *mask,
                               pgcn_i_standard out);
/* For each column: how many nodes of `mask` have it, over that of the most common one, to a power. Both numbers are
 * one higher than that, so that a column that no training node has counts too: others may have it. */
pgcn_status pgcn_i_factors_of(const pgcn_i_features *features, const uint8_t *mask, double power,
                              float *factor);
/* Mean of each column over the nodes of `mask`, at least one: what is put in for nodes without features. */
pgcn_status pgcn_i_means_of(const pgcn_i_features *features, const uint8_t *mask, float *out);
/* The features with these means in the rows of absent nodes, but for columns that were made for all.
 * Borrows what does not change, all of it if no node is absent; the rest is in `arena`. */
pgcn_status pgcn_i_fill_absent(const pgcn_i_features *features, const float *mean,
                               pgcn_i_arena *arena, pgcn_i_features *out);
pgcn_status pgcn_i_input_new(const pgcn_i_features *features, pgcn_normalise normalise,
                             pgcn_i_standard standard, bool with_columns, pgcn_i_input **out);
/* The same of some rows only, for a rank that reads no others: these are address space. */
pgcn_status pgcn_i_input_of_rows(const pgcn_i_features *features, pgcn_normalise normalise,
                                 pgcn_i_standard standard, bool with_columns, pgcn_i_range rows,
                                 pgcn_i_input **out);
/* Of features that stay in their file: sizes alone. Batches of nodes have rows of their own (nodes.c). */
pgcn_status pgcn_i_input_outside(const pgcn_i_features *features, pgcn_i_input **out);
/* What pgcn_i_fill_absent() and pgcn_i_input_new() do to one row of them; and to all rows of a file. */
typedef struct pgcn_i_row_rule {
    const pgcn_i_features *features;
    pgcn_normalise normalise;
    pgcn_i_standard standard;
    const float *mean; /* [columns] of absent nodes */
} pgcn_i_row_rule;
void pgcn_i_row_as_read(const pgcn_i_row_rule *rule, pgcn_node node, float *row);
pgcn_status pgcn_i_input_read(const pgcn_i_row_rule *rule, pgcn_i_row_file *file,
                              pgcn_i_input **out);
/* The first number that is not finite, -1: none; and the sentence about it. */
int64_t pgcn_i_first_bad(const float *value, int64_t count);
pgcn_status pgcn_i_fail_row(const pgcn_i_row_file *file, int64_t node, int64_t column, float value);
/* The largest magnitude among the features and its column; infinite for what is not finite. */
double pgcn_i_input_largest(const pgcn_i_input *input, int64_t *column);
void pgcn_i_input_free(pgcn_i_input *input);

/* The columns of some rows of a sparse input, filled by a counting sort; `next` [columns] is scratch. */
typedef struct pgcn_i_column_arrays {
    int64_t *offset, *next; /* [columns+1], [columns] */
    int32_t *row;           /* [nonzeros] */
    uint32_t *position;
    float *value;
} pgcn_i_column_arrays;
pgcn_status pgcn_i_column_arrays_new(pgcn_i_arena *arena, int64_t columns, int64_t nonzeros,
                                     pgcn_i_column_arrays *out);
void pgcn_i_input_index(pgcn_i_input *input, pgcn_i_range rows, pgcn_i_column_arrays arrays);

/* ---- features times powers of T (powers.c) ------------------------------------------------------- */

/* The input of T^powers X, in place of that of X: sparse where that is smaller. */
pgcn_status pgcn_i_input_power(pgcn_i_input **input, const pgcn_i_csr *t, int powers,
                               bool with_columns);
/* The largest eigenvalue of I - T, for a symmetric T, by power iteration from a fixed start. */
pgcn_status pgcn_i_laplacian_largest(const pgcn_i_csr *t, double *out);

/* ---- the graph side (spatial.c) ------------------------------------------------------------------ */

/* What is read of T. */
typedef enum pgcn_i_spatial_use {
    PGCN_I_READS_T,    /* all of it at once */
    PGCN_I_DRAWS_ROWS, /* rows of some nodes: see pgcn_i_even_value */
    PGCN_I_WALKS       /* nothing: T, which takes more than the graph, is not made */
} pgcn_i_spatial_use;
typedef struct pgcn_i_spatial {
    pgcn_i_arena arena;
    pgcn_graph *reversed; /* what walks against the edges run on; NULL where they are the same */
    pgcn_i_walker walker;
    bool has_exact;  /* not for node2vec: its walks have memory, no power of T fits */
    bool symmetric;  /* exact is */
    bool reads_both; /* evaluations need exact_t, too: it is not exact, and the network reads it */
    pgcn_i_csr exact, exact_t; /* exact_t: only for training in exact form */
    float *degree;             /* [n] */
    const float *visit_degree; /* degree with symmetric scaling, else NULL */
} pgcn_i_spatial;
pgcn_status pgcn_i_spatial_init(pgcn_i_spatial *spatial, const pgcn_graph *graph,
                                const pgcn_config *config);
/* The same for a data set, in which the walks of a graph do not depend on the graphs beside it. Free it after a failure
 * too. */
pgcn_status pgcn_i_spatial_of(pgcn_i_spatial *spatial, const pgcn_dataset *data,
                              const pgcn_config *config, pgcn_i_spatial_use use);
void pgcn_i_spatial_free(pgcn_i_spatial *spatial);
/* Its exact form, for `samples` stacked copies of the nodes. */
pgcn_i_transition pgcn_i_spatial_transition(const pgcn_i_spatial *spatial, int samples);
int64_t pgcn_i_spatial_bytes(const pgcn_i_spatial *spatial);

/* ---- some of the edges (edges.c) ----------------------------------------------------------------- */

/* The exact transition on a share of the edges, drawn anew for each step: DropEdge. */
typedef struct pgcn_i_edges pgcn_i_edges;
pgcn_status pgcn_i_edges_new(const pgcn_i_spatial *spatial, const pgcn_config *config,
                             pgcn_i_edges **out);
void pgcn_i_edges_free(pgcn_i_edges *edges);
/* Both matrices stay where they are; a draw changes what they hold. */
const pgcn_i_csr *pgcn_i_edges_kept(const pgcn_i_edges *edges, bool transposed);
void pgcn_i_edges_draw(pgcn_i_edges *edges, pgcn_i_pool *pool, uint64_t seed, int64_t step);
int64_t pgcn_i_edges_bytes(const pgcn_i_edges *edges);

/* ---- targets (batch.c) ----------------------------------------------------------------------------- */

/* The whole of a data set; `mask` of a split. */
pgcn_i_target pgcn_i_target_of(const pgcn_dataset *data, const uint8_t *mask);

/* ---- batches of graphs (batch.c) --------------------------------------------------------------------- */

/* What batches are gathered from: everything about all graphs of a set. */
typedef struct pgcn_i_whole {
    const pgcn_dataset *data;
    const pgcn_i_input *input;
    const pgcn_i_csr *exact, *exact_t; /* NULL: not needed */
    const float *degree;               /* [nodes] or NULL */
} pgcn_i_whole;

/* Some graphs of a set of many, side by side as one graph that has no edges between them. It is
 * gathered anew for every step, into arrays with room for the largest graphs; nothing is allocated
 * then. */
typedef struct pgcn_i_batch {
    pgcn_i_arena arena;
    pgcn_i_whole whole;
    int samples;
    int64_t most_graphs;
    const int64_t *first;    /* [graphs of the set + 1] the nodes of graph g are */
    const pgcn_node *member; /* member[first[g]] .. member[first[g+1]-1], ascending */
    /* of the batch */
    pgcn_i_subset subset; /* its nodes */
    int64_t graphs;
    pgcn_node *graph;   /* [graphs] numbers in the set */
    int64_t *segment;   /* [samples * graphs + 1] rows of the stacked samples by graph */
    pgcn_i_input input; /* rows are nodes of the batch; indexed by column where it was asked for */
    pgcn_i_csr exact, exact_t;
    float *degree;
    pgcn_i_target target;           /* the labels; masks by pgcn_i_batch_mask() */
    struct pgcn_i_batch_arrays *to; /* of batch.c */
} pgcn_i_batch;
/* At most `graphs` at a time, 0: all; for training, sparse inputs are indexed by column. */
pgcn_status pgcn_i_batch_new(const pgcn_i_whole *whole, int64_t graphs, int samples, bool training,
                             pgcn_i_batch **out);
void pgcn_i_batch_free(pgcn_i_batch *batch);
void pgcn_i_batch_gather(pgcn_i_batch *batch, const pgcn_node *graph, int64_t graphs);
/* Nodes, or graphs where graphs are classified, and their numbers in the set. */
int64_t pgcn_i_batch_items(const pgcn_i_batch *batch, const pgcn_node **number);
/* The target of the batch under a mask of the whole set's items. */
pgcn_i_target pgcn_i_batch_mask(pgcn_i_batch *batch, const uint8_t *mask);

/* ---- clusters (clusters.c) ------------------------------------------------------------------------------ */

/* One graph as a set of its parts, without the edges between them: what training on batches of parts sees. */
typedef struct pgcn_i_clusters {
    pgcn_i_arena arena;
    int32_t *part; /* [n] */
    pgcn_graph graph;
    pgcn_dataset data; /* borrows everything but the graph */
    pgcn_i_spatial spatial;
} pgcn_i_clusters;
pgcn_status pgcn_i_clusters_new(const pgcn_dataset *data, const pgcn_config *config,
                                pgcn_i_clusters **out);
void pgcn_i_clusters_free(pgcn_i_clusters *clusters);

/* ---- batches of nodes (nodes.c, nodes_pick.c, nodes_rows.c) ------------------------------------------------------------------------ */

enum { PGCN_MOST_NEIGHBOURS = 1024 };

/* Some nodes of one graph, and the rows that they need: a part of the graph. It is drawn anew for every step. */
typedef struct pgcn_i_nodes pgcn_i_nodes;
typedef struct pgcn_i_nodes_opts {
    const pgcn_dataset *data; /* all are borrowed */
    const pgcn_i_input *input;
    const pgcn_i_spatial *spatial;
    int64_t most; /* nodes at a time */
    int samples, layers;
    int levels;   /* of the network: pgcn_i_network_levels() */
    bool sampled; /* paths are drawn; otherwise neighbours */
    bool per_layer;
    bool training, links;
    const char *
        neighbours; /* "15,10": how many are drawn for a row of the last layer, of the one before, ...; the last
                                number goes on; "all" */
    const char *batch_paths; /* the same of paths; "all" */
    int64_t guests,
        guest_edges; /* room for nodes that are not in the graph, and entries of their rows of T */
    pgcn_i_comm *
        owners; /* ranks that have the features of their own nodes each; NULL: `input` has all, or none */
} pgcn_i_nodes_opts;
pgcn_status pgcn_i_nodes_new(const pgcn_i_nodes_opts *opts, pgcn_i_nodes **out);
void pgcn_i_nodes_free(pgcn_i_nodes *nodes);
/* Of several ranks, in training: the rows of every level are divided among them by groups, `groups` at most. From now on
 * all of them draw at the same time. */
pgcn_status pgcn_i_nodes_divide(pgcn_i_nodes *nodes, pgcn_i_comm *comm, int groups);
/* Of several ranks, without a backward pass: each draws for a share of what is chosen, and knows nothing of the others. */
void pgcn_i_nodes_take(pgcn_i_nodes *nodes, const pgcn_i_comm *comm);
/* The index of the first of `count` nodes that this rank draws for; the next rank begins where it ends. */
static inline int64_t pgcn_i_first_taken(int64_t count, int rank, int ranks) {
    return count * rank / ranks;
}
/* These are the next ones, all different. */
void pgcn_i_nodes_choose(pgcn_i_nodes *nodes, const pgcn_node *node, int64_t count);
/* Guests that may be chosen as nodes n, n + 1, ... from now on, and their features, as many as there is room for. */
void pgcn_i_nodes_invite(pgcn_i_nodes *nodes, const pgcn_i_guests *guests,
                         const pgcn_i_input *features);
/* What was drawn, to be had again. All zero: nothing. */
typedef struct pgcn_i_drawn {
    pgcn_i_path_draw draw;
    int64_t count; /* nodes that were chosen */
    char *bytes;   /* [room] */
    int64_t room;
} pgcn_i_drawn;
void pgcn_i_drawn_free(pgcn_i_drawn *drawn);
/* What the draw says is drawn for them, layer by layer; draw.layer is not read. If it was kept it is copied from there;
 * NULL: it was not. */
void pgcn_i_nodes_draw(pgcn_i_nodes *nodes, pgcn_i_pool *pool, pgcn_i_path_draw draw,
                       const pgcn_i_drawn *kept);
/* The same without what only a network needs: to see which rows they lead to. */
void pgcn_i_nodes_reach(pgcn_i_nodes *nodes, pgcn_i_pool *pool, pgcn_i_path_draw draw);
/* Keeps what was just drawn or reached, in memory that may be there already. */
pgcn_status pgcn_i_nodes_keep(pgcn_i_nodes *nodes, pgcn_i_path_draw draw, pgcn_i_drawn *out);
/* How many bytes that takes. */
int64_t pgcn_i_nodes_drawn_bytes(pgcn_i_nodes *nodes);
/* Of features that stay on disk: the nodes whose rows the part needs, each once, as they were drawn, and where the
 * caller puts these rows, as the first layer reads them. */
typedef struct pgcn_i_wanted_rows {
    const pgcn_node *node;
    int64_t count;
    float *to; /* [count, columns] */
} pgcn_i_wanted_rows;
pgcn_i_wanted_rows pgcn_i_nodes_wanted(const pgcn_i_nodes *nodes);
const pgcn_i_part *pgcn_i_nodes_part(const pgcn_i_nodes *nodes);
const pgcn_i_input *pgcn_i_nodes_input(const pgcn_i_nodes *nodes);
int64_t pgcn_i_nodes_items(const pgcn_i_nodes *nodes, const pgcn_node **number);
pgcn_i_target pgcn_i_nodes_target(pgcn_i_nodes *nodes, const uint8_t *mask);
/* Bytes that the part as it is drawn now takes, and that all memory would take that is there for it. */
int64_t pgcn_i_nodes_touched(const pgcn_i_nodes *nodes);
/* Bytes of its memory that were touched so far. */
int64_t pgcn_i_nodes_resident(const pgcn_i_nodes *nodes);
/* The same of features, which that does not count. */
int64_t pgcn_i_nodes_features_resident(const pgcn_i_nodes *nodes);
/* Most rows of a level: min(n, N (1 + p (k - 1))^l) of every sample, or what neighbours lead to. */
int64_t pgcn_i_nodes_most(const pgcn_i_nodes *nodes, int l);
/* Number l of "15,10", or the last one; 0 where it is no list of numbers. */
int pgcn_i_count_at(const char *text, int turn);

/* ---- guests (guests.c) ----------------------------------------------------------------------------------- */

/* Room for that many nodes, and entries of their rows of T. */
pgcn_status pgcn_i_guests_init(pgcn_i_guests *guests, pgcn_i_arena *arena, int64_t most,
                               int64_t entries);
/* What was given, checked. */
pgcn_status pgcn_i_guests_fill(pgcn_i_guests *guests, const pgcn_new_nodes *given,
                               const pgcn_i_spatial *spatial, const pgcn_config *config);
/* Their features, as those of the graph: sparse or dense, and normalised. */
pgcn_status pgcn_i_guests_input(const pgcn_new_nodes *given, const pgcn_i_input *whole,
                                pgcn_normalise normalise, pgcn_i_standard standard,
                                pgcn_i_input **out);

/* ---- views (views.c) ------------------------------------------------------------------------------------ */

/* Whether a data set is gone through in batches: one of many graphs, or any of which graphs are
 * classified. */
static inline bool pgcn_i_in_batches(const pgcn_dataset *data, bool per_graph) {
    return per_graph || data->info.graphs > 1;
}

typedef struct pgcn_i_views_opts {
    const pgcn_dataset *data; /* all three are borrowed */
    const pgcn_i_input *input;
    const pgcn_i_spatial *spatial;
    bool per_graph; /* graphs are classified */
    int layers;
    int samples;
    int64_t graphs;           /* of a set: at most N at a time; 0: all */
    bool sampled;             /* paths are drawn; otherwise the exact transition is used */
    bool per_layer;           /* each layer draws paths of its own */
    bool training;            /* a backward pass: transposes, and the columns of sparse features */
    const pgcn_config *edges; /* of one graph: a step keeps some of the edges; NULL: all of them */
    bool links; /* the network has values of links: in training, transposed entries are numbered */
    int64_t nodes; /* of one graph: at most N at a time, and what they need; 0: all of it */
    int levels;    /* of the network, where nodes > 0 */
    const char *neighbours, *batch_paths;
    int64_t guests, guest_edges;
    pgcn_i_comm *owners; /* of batches of nodes: see pgcn_i_nodes_opts */
} pgcn_i_views_opts;

/* Makes one view after the other. */
typedef struct pgcn_i_views {
    pgcn_i_arena arena;
    pgcn_i_view view; /* the current one; at first with the most rows there will be */
    const pgcn_dataset *data;
    const pgcn_i_spatial *spatial;
    bool per_graph;
    pgcn_i_batch *batch; /* NULL: not of a set of graphs */
    pgcn_i_nodes *nodes; /* NULL: all of them */
    int layers;
    pgcn_i_transition *transitions; /* [layers] */
    int samplers;                   /* visit lists: 0 (exact), 1, or one per layer */
    pgcn_i_visits **visits;         /* [samplers] */
    pgcn_i_edges *edges;            /* NULL: all of them */
    int64_t *link_t,
        *next_link; /* [links] of the transitions, and scratch [nodes]; NULL: not asked for */
    pgcn_i_path_draw drawn; /* what they hold, if */
    bool is_drawn;
    const pgcn_i_drawn *kept; /* of the nodes that are chosen next, borrowed; NULL: it is drawn */
    pgcn_i_csr own
        [2]; /* of views that are divided: the exact transition, and its transpose, of this rank's rows */
    pgcn_i_others others;
} pgcn_i_views;
/* Close it after a failure too. */
pgcn_status pgcn_i_views_open(pgcn_i_views *views, const pgcn_i_views_opts *opts);
void pgcn_i_views_close(pgcn_i_views *views);
/* Whether it is one view, of all nodes and edges of one graph. */
static inline bool pgcn_i_views_whole(const pgcn_i_views *views) {
    return !views->batch && !views->nodes && !views->edges;
}
/* Of such a view: lists of the nodes of this rank alone from now on. */
pgcn_status pgcn_i_views_divide(pgcn_i_views *views, pgcn_i_pool *pool,
                                const pgcn_i_division *division);
/* links.c, for views.c: numbers of transposed entries, where the network has values of links; of another batch; and
 * of a view that is divided, before its columns are. */
pgcn_status pgcn_i_links_open(pgcn_i_views *views);
void pgcn_i_links_number(pgcn_i_views *views);
pgcn_status pgcn_i_links_divide(pgcn_i_views *views, pgcn_i_range own);
/* Of a set of graphs: these are the next view; of one graph in batches: these nodes. Nothing is to be chosen of a whole
 * graph. */
void pgcn_i_views_choose(pgcn_i_views *views, const pgcn_node *chosen, int64_t count);
/* Draws the paths of every layer for the current view, unless the lists hold them already or the
 * view has the exact form. Sets draw.layer itself. */
void pgcn_i_views_draw(pgcn_i_views *views, pgcn_i_pool *pool, pgcn_i_path_draw draw);
/* Nodes, or graphs where graphs are classified; their numbers in the data set, NULL: 0, 1, 2, ... */
int64_t pgcn_i_views_items(const pgcn_i_views *views, const pgcn_node **number);
/* The numbers in the data set of the rows of a value of nodes or of graphs; NULL: 0, 1, 2, ... */
const pgcn_node *pgcn_i_views_rows(const pgcn_i_views *views, pgcn_i_space space);
/* What the view's items are to be, under a mask of the data set's items, `masked` of which count. */
pgcn_i_target pgcn_i_views_target(pgcn_i_views *views, const uint8_t *mask, int64_t masked);

#endif
