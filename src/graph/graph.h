/* graph: the adjacency that walks run on and transition matrices are made of.
 *
 * Comes in: edge arrays. Goes out: one checked, sorted CSR (pgcn_graph) and, from it, the sparse
 * transition matrix of the exact form. Nothing after this room checks a node id again.
 * Next room: data (features, labels, splits) and paths (walks). */
#ifndef PGCN_GRAPH_H
#define PGCN_GRAPH_H

#include "base/base.h"

struct pgcn_graph {
    pgcn_i_arena arena;
    int64_t n;
    int64_t entries;
    bool directed;
    const int64_t *offset;      /* [n+1] */
    const pgcn_node *neighbour; /* [entries], ascending in each row */
    const float *weight;        /* [entries] or NULL */
};

/* What pgcn_graph_from_edges promises, for arrays that come from a file: offsets ascend from 0 to
 * `entries`, neighbours are nodes and ascend in each row, weights are finite and positive, and an
 * undirected graph is symmetric. The error message starts with "node 3 ..."; the caller adds the
 * file. O(n + m), in a few vectorised passes, because large graphs are checked at each load. */
pgcn_status pgcn_i_graph_check(const pgcn_graph *graph);

/* A sparse matrix with values: one hop of the visit lists, or a transition matrix. */
typedef struct pgcn_i_csr {
    int64_t rows;
    int64_t *offset;   /* [rows+1] */
    pgcn_node *column; /* [offset[rows]] */
    float *value;      /* [offset[rows]] */
} pgcn_i_csr;

typedef struct pgcn_i_transition_opts {
    bool self_loops;      /* every node gets a self-loop of weight 1: A + I in place of A */
    bool weighted;        /* entries in proportion to the edge weights, else uniform */
    pgcn_scaling scaling; /* D^-1 A, D^-1/2 A D^-1/2, or A itself (sums over neighbours) */
    bool empty_rows;      /* a node without neighbours has an empty row instead of itself */
    bool borrows; /* T may have rows of the graph itself, which stays and is not written to */
    bool
        drawn_from; /* rows are read one by one: values that pgcn_i_even_value tells may be left out */
} pgcn_i_transition_opts;

/* The transition matrix, whose powers are the expectation of the walks (paper, eq.
 * "pathExpectation"), and its transpose for the backward pass. A node without neighbours (and
 * without a self-loop) has the single entry 1 on the diagonal, because its walk stays there; with
 * sums its row is empty. `degree` [n] receives the (weighted) degree that was used, self-loop
 * included; an isolated node has 1. `transposed` may be NULL. All arrays live in `arena`, but for those of the graph. */
pgcn_status pgcn_i_graph_transition(const pgcn_graph *graph, pgcn_i_transition_opts opts,
                                    pgcn_i_arena *arena, pgcn_i_csr *out, pgcn_i_csr *transposed,
                                    float **degree);

/* The value of all entries of a row of T that has none stored: D^-1 A of a graph without weights and added self-loops. */
static inline float pgcn_i_even_value(const pgcn_i_csr *t, int64_t row) {
    return (float)(1.0 / (double)(t->offset[row + 1] - t->offset[row]));
}

/* `degree` alone, as above. */
pgcn_status pgcn_i_graph_degrees(const pgcn_graph *graph, pgcn_i_transition_opts opts,
                                 pgcn_i_arena *arena, float **degree);

/* The graph with all edges reversed. */
pgcn_status pgcn_i_graph_reversed(const pgcn_graph *graph, pgcn_graph **out);

/* Arrays for a matrix of this size, all zero; value is NULL without `with_value`. */
pgcn_status pgcn_i_csr_alloc(pgcn_i_arena *arena, int64_t rows, int64_t entries, bool with_value,
                             pgcn_i_csr *out);

/* out = transpose of `in` (rows of out = `columns`), rows ascending; arrays in `arena`. */
pgcn_status pgcn_i_csr_transpose(const pgcn_i_csr *in, int64_t columns, pgcn_i_arena *arena,
                                 pgcn_i_csr *out);
/* number[e] = which entry of `a` entry e of its transpose is; of the first n rows and columns, outside of which
 * there is nothing. `next` [n] is scratch. */
void pgcn_i_csr_number(int64_t *number, const pgcn_i_csr *a, const pgcn_i_csr *transposed,
                       int64_t n, int64_t *next);

/* Exclusive prefix sums in place, the middle step of a counting sort: count[i] becomes
 * first + count[0] + ... + count[i - 1]. */
static inline void pgcn_i_counts_to_starts(int64_t *count, int64_t n, int64_t first) {
    for (int64_t i = 0; i < n; i++) {
        int64_t own = count[i];
        count[i] = first;
        first += own;
    }
}

/* Union-find: the root of a node's tree. Path halving makes later searches shorter. */
static inline pgcn_node pgcn_i_root_of(pgcn_node *parent, pgcn_node node) {
    while (parent[node] != node) {
        parent[node] = parent[parent[node]];
        node = parent[node];
    }
    return node;
}

/* Entries of a sparse matrix in coordinate form (COO), as [count] arrays. */
typedef struct pgcn_i_entries {
    pgcn_node *row, *column;
    float *value;
} pgcn_i_entries;

/* A part of a transpose, into arrays that the caller has allocated. The entries first .. last-1 of
 * `in`, whose columns are all in column_begin .. column_end-1, become the rows column_begin ..
 * column_end-1 of out. They are written to the same indices first .. last-1, so parts do not
 * overlap and may run in parallel. The caller writes the last offset, out->offset[out->rows]. A
 * counting sort: entries of equal columns keep the order of `in`. */
void pgcn_i_csr_transpose_part(const pgcn_i_entries *in, int64_t first, int64_t last,
                               int64_t column_begin, int64_t column_end, pgcn_i_csr *out);

/* An error if the weights of a row add up to more than a float holds: degrees and transition
 * probabilities are computed from the sum. */
pgcn_status pgcn_i_check_row_sum(int64_t row, double sum);

/* ---- edges that do not fit into memory (sort.c) --------------------------------------------- */

/* Whether the arcs of this number of edges are sorted in parts: under pgcn_memory_bound(), if they are many. */
bool pgcn_i_sort_is_needed(int64_t edges);

static inline uint64_t pgcn_i_arc_key(pgcn_node row, pgcn_node column) {
    return (uint64_t)(uint32_t)row << 32 | (uint32_t)column;
}

typedef struct pgcn_i_arc_source {
    int64_t nodes, edges;
    int arcs_of_edge; /* at most */
    bool weighted;
    /* Writes the arcs of edges first .. last - 1, in the order of the edges; returns how many. */
    int64_t (*list)(void *context, int64_t first, int64_t last, uint64_t *key, float *weight);
    void *context;
} pgcn_i_arc_source;
/* Rows ascending, equal arcs merged with their weights added in the order of the edges. */
pgcn_status pgcn_i_sort_arcs(const pgcn_i_arc_source *source, pgcn_i_arena *kept, pgcn_i_csr *out);

/* ---- orders (order.c) ---------------------------------------------------------------------- */

typedef enum pgcn_i_order {
    PGCN_I_ORDER_DEGREE = 0,
    PGCN_I_ORDER_RCM = 1,
    PGCN_I_ORDER_COMMUNITY = 2
} pgcn_i_order;

/* order [n]: order[i] is the node that gets number i. */
pgcn_status pgcn_i_graph_order(const pgcn_graph *graph, pgcn_i_order kind, pgcn_node *order);

/* The same graph with node order[i] called i; number is the inverse, number[order[i]] = i. */
pgcn_status pgcn_i_graph_renumber(const pgcn_graph *graph, const pgcn_node *order,
                                  const pgcn_node *number, pgcn_graph **out);

/* ---- partitions (partition.c, partition_stream.c, partition_metis.c) ------------------------- */

/* Who divides the nodes into parts. */
typedef enum pgcn_i_partitioner {
    PGCN_I_PARTS_BUILTIN = 0, /* our own, by streams of nodes: needs no library, and O(n) memory */
    PGCN_I_PARTS_METIS = 1    /* fewer edges between parts; an error in a build without METIS */
} pgcn_i_partitioner;
bool pgcn_i_has_metis(void);

/* How many parts, and how many nodes each has: that is kept to the node. */
typedef struct pgcn_i_parts {
    int64_t count; /* at least 1 */
    int64_t rows;  /* of every part but the last, which has the rest; 0: n / count, or one more */
} pgcn_i_parts;
/* Parts that are the groups of n nodes (pgcn_i_groups_of), `most` at most. */
static inline pgcn_i_parts pgcn_i_parts_of_groups(int64_t n, int64_t most) {
    pgcn_i_blocks groups = pgcn_i_groups_of(n, most);
    return (pgcn_i_parts){groups.count, groups.size};
}
static inline int64_t pgcn_i_part_rows(pgcn_i_parts parts, int64_t n, int64_t part) {
    if (parts.rows == 0) return n / parts.count + (part < n % parts.count);
    return part + 1 < parts.count ? parts.rows : n - (parts.count - 1) * parts.rows;
}

/* part [n]: a part 0 .. count-1 of every node, with few edges between parts. Beside nodes, two weights are
 * balanced: visits (a node's degree + 1, of a directed graph the arcs that end there), and `features` [n],
 * what a node's features take, e.g. its non-zeros; NULL: as much for every node. Parts have at most a tenth
 * more of a weight than their share, where that can be: one node may weigh more than a part should. Weights
 * of edges are not looked at; of a directed graph arcs count both ways.
 * Serial, and the same for the same graph: METIS starts with a fixed seed, and the random numbers of the
 * caller's process (rand) are as they were; only a caller that draws from rand() in another thread
 * meanwhile can disturb it. */
pgcn_status pgcn_i_graph_partition(const pgcn_graph *graph, const int32_t *features,
                                   pgcn_i_parts parts, pgcn_i_partitioner how, int32_t *part);

/* How good a partition is. */
typedef struct pgcn_i_part_quality {
    int64_t cut;      /* entries of the graph whose ends are in different parts */
    double cut_share; /* of all entries; 0 without entries */
    int64_t largest;  /* nodes of the largest part, */
    int64_t smallest; /* and of the smallest */
    double balance;   /* nodes of the largest part over the mean */
    /* the most of a part over what is fair for the nodes of the largest; 1: none has more than its share */
    double balance_visits, balance_features;
} pgcn_i_part_quality;
pgcn_status pgcn_i_partition_measure(const pgcn_graph *graph, const int32_t *features,
                                     int64_t parts, const int32_t *part, pgcn_i_part_quality *out);

/* order [n]: the nodes part by part, inside a part as in `within` [n], an order of all nodes; NULL: by
 * number. */
pgcn_status pgcn_i_partition_order(int64_t n, int64_t parts, const int32_t *part,
                                   const pgcn_node *within, pgcn_node *order);

#endif
