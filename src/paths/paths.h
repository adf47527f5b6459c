/* paths: random walks, and the visit lists that the path convolution reads.
 *
 * Comes in: a graph. Goes out: for every hop i = 1..k-1 the sparse matrix S_i (row j: which nodes
 * the p walks from j visit at hop i, equal visits merged, with weights) and its transpose.
 * Next room: nn (path convolutions over these lists). */
#ifndef PGCN_PATHS_H
#define PGCN_PATHS_H

#include "base/base.h"
#include "base/comm.h"
#include "base/rng.h"
#include "graph/graph.h"
#include "kernels/kernels.h"

enum { PGCN_MAX_PATH_LENGTH = 4096, PGCN_MAX_PATHS = 65536 };

/* The rule of one step. Checked once, then used inside parallel loops, where nothing can fail. */
typedef struct pgcn_i_walker {
    const pgcn_graph *graph;
    pgcn_walk walk;
    int k, p;
    float return_p, inout_q;
    bool may_stay;
    const double *cumulative; /* [entries] running sums of the weights of a row, or NULL; double,
                                 so that small weights count after large ones */
    /* node2vec: 1/p, 1, 1/q for the classes return, near, far; and the probability that a candidate
     * of the class is accepted, bias / the largest bias, in units of 2^-32 */
    double bias[3];
    uint64_t accept[3];
    int attempts;                  /* candidates rejected before the row is scanned instead */
    pgcn_i_walk_steps steps;       /* what the kernels of uniform walks read */
    const uint64_t *first_element; /* [n] of a node's first path, modulo 2^48; NULL: node * p */
    const pgcn_i_kernels *kernels;
    pgcn_i_arena arena;
} pgcn_i_walker;

/* Checks the options against the graph and prepares what the walk needs. Graph is borrowed. */
pgcn_status pgcn_i_walker_init(pgcn_i_walker *walker, const pgcn_graph *graph,
                               const pgcn_paths_opts *opts);
void pgcn_i_walker_free(pgcn_i_walker *walker);
/* What users may not ask for: a seed or draw that is no counter, settings that the walk ignores. */
pgcn_status pgcn_i_draw_check(uint64_t seed, uint64_t draw);
pgcn_status pgcn_i_walk_check(const pgcn_paths_opts *opts);
/* For a set of graphs: the walks of a graph depend on that graph alone, not on the others
 * (elements.c). graph_of [n]: 0 .. graphs-1. */
pgcn_status pgcn_i_walker_by_graph(pgcn_i_walker *walker, const int32_t *graph_of, int64_t graphs);
/* The element of a walk's random numbers, different for all walks of a step (base/rng.h). */
static inline uint64_t pgcn_i_walk_element(const pgcn_i_walker *walker, pgcn_node node,
                                           int64_t path) {
    uint64_t first =
        walker->first_element ? walker->first_element[node] : (uint64_t)node * (uint64_t)walker->p;
    return (first + (uint64_t)path) & ((UINT64_C(1) << 48) - 1);
}

/* out [n_starts, p, k]. starts NULL: all nodes. The same start gives the same walks in any list of
 * starts. Never allocates. */
void pgcn_i_walks(const pgcn_i_walker *walker, pgcn_i_pool *pool, pgcn_i_rng_domain domain,
                  const pgcn_node *starts, int64_t n_starts, pgcn_node *out);

/* Rows begin .. end-1, of one sample. */
typedef struct pgcn_i_stretch {
    int sample;
    int64_t begin, end;
} pgcn_i_stretch;

/* Some nodes of the walker's graph: the rows of the visit lists, in the order of `node`. Those of a batch of graphs are
 * whole connected components, which walks do not leave. */
typedef struct pgcn_i_subset {
    int64_t n, most;       /* nodes now, and at most */
    const pgcn_node *node; /* [n] */
    const pgcn_node *
        place; /* [nodes of the graph] index in `node`: node[place[u]] = u. NULL: walks leave the subset,
                               and lists say which nodes of the graph they visit */
    /* Of a part of a graph, whose samples are not stacked: n rows of any sample; `run` NULL: they are stacked */
    const pgcn_i_stretch *run; /* [runs], all rows in order */
    int runs, most_runs;
    int paths;                 /* of a node, the first ones; 0: as many as the walker has */
    const float *inverse_root; /* [nodes of the graph, guests] 1 / sqrt(degree) */
    const struct pgcn_i_guests *guests; /* NULL: there are none */
} pgcn_i_subset;

/* Nodes that are not in the graph, with edges to some that are; these do not know of them. Guest i is node n + i. */
typedef struct pgcn_i_guests {
    int64_t count;
    int64_t nodes;    /* of the graph: n */
    pgcn_i_csr edges; /* [count] rows of T: columns ascend, a self-loop is the last */
    float *degree;
} pgcn_i_guests;

/* ---- nodes of several ranks (divide.c) ---------------------------------------------------------- */

/* Which nodes are whose: rank r has begin[r] .. begin[r + 1] - 1, whole groups. */
typedef struct pgcn_i_division {
    pgcn_i_comm *comm;
    int64_t *begin; /* [ranks + 1] */
} pgcn_i_division;
static inline pgcn_i_range pgcn_i_division_own(const pgcn_i_division *division) {
    const int64_t *begin = division->begin + division->comm->rank;
    return (pgcn_i_range){begin[0], begin[1]};
}

/* Rows of other ranks that lists of this one lead to. They are numbered, so that what is fetched of them takes no more
 * room than they are: in lists that are divided a column of at least `from` is row[column - from] of another rank.
 *
 * Where lists lead to nearly all rows of others numbers would save no room. Then columns stay what they are, rows of
 * others stand where their owners have them, and all of them are fetched: from memory to memory, without being picked. */
typedef struct pgcn_i_others {
    bool whole;     /* that is so, from the first draw on; nothing below counts then */
    int64_t from;   /* the rows of all samples */
    pgcn_node *row; /* [count] by owner; those of an owner ascend */
    int64_t *first; /* [ranks + 1] which numbers are rows of a rank */
    int64_t count;
    int lists; /* that lead to them */
} pgcn_i_others;
/* Picking a row costs about as much time as sending an eighth more does on a network of 10 Gbit/s. */
static inline bool pgcn_i_fetches_whole(int64_t visited, int64_t all) {
    return all > 0 && visited >= all - all / 8;
}
/* NULL: nothing is numbered. */
static inline const pgcn_i_others *pgcn_i_numbered(const pgcn_i_others *others) {
    return others->whole ? NULL : others;
}
static inline int64_t pgcn_i_others_row(const pgcn_i_others *others, int64_t column) {
    return others && column >= others->from ? others->row[column - others->from] : column;
}

/* Numbers the others of lists. Of `stacks` samples of n rows each. */
typedef struct pgcn_i_numberer {
    pgcn_i_arena arena;
    const pgcn_i_division *division;
    int stacks;
    int64_t n;
    uint8_t *seen;     /* [stacks * n] */
    pgcn_node *number; /* [stacks * n] what a column becomes: a row of this rank stays */
} pgcn_i_numberer;
/* Free it after a failure too. */
pgcn_status pgcn_i_numberer_init(pgcn_i_numberer *numberer, const pgcn_i_division *division,
                                 int stacks, int64_t n);
void pgcn_i_numberer_free(pgcn_i_numberer *numberer);
pgcn_status pgcn_i_others_init(pgcn_i_others *others, pgcn_i_arena *arena, int ranks, int64_t most);
/* The columns of this rank's rows of `lists` lists, as numbers, to `to`, which may be the columns themselves. All
 * numbers begin at `from`. Once they were found to be `whole` columns are left as they are. */
void pgcn_i_number_others(pgcn_i_numberer *numberer, pgcn_i_pool *pool, const pgcn_i_csr *list,
                          int lists, pgcn_node *const *to, int64_t from, pgcn_i_others *out);

/* ---- visit lists (visits.c) --------------------------------------------------------------------- */

/* The visit lists of `samples` stacked samples: row s * n + j is node j in sample s, and its visits
 * are rows of the same sample. hop[i-1] belongs to hop i; hop 0 is the identity and is not stored.
 * A visit's weight is count / p, times sqrt(degree[j] / degree[u]) when `degree` is given
 * (symmetric scaling). Entries of a row ascend. Memory is allocated once, for the largest
 * sample. */
typedef struct pgcn_i_visits {
    pgcn_i_arena arena;
    const pgcn_i_subset *subset; /* whose nodes are the rows; NULL: all nodes of the graph */
    int64_t n;                   /* nodes when it was sampled last */
    int samples;
    int k, p;
    int64_t rows;                    /* samples * n */
    pgcn_i_csr *hop;                 /* [k-1] S_i */
    pgcn_i_csr *hop_t;               /* [k-1] S_i transposed; NULL without transposes */
    struct pgcn_i_visits_work *work; /* of visits.c */
    int64_t borrowed_bytes;          /* of the arena, that are never touched: memory is borrowed */
    const pgcn_i_division *division; /* only rows of this rank's nodes are there; NULL: all are */
    pgcn_i_others others, others_t;  /* of a division: what hop, and hop_t, lead to */
} pgcn_i_visits;

/* `subset` is borrowed and read again by every sampling. */
pgcn_status pgcn_i_visits_new(const pgcn_i_walker *walker, const pgcn_i_subset *subset, int samples,
                              bool with_transpose, pgcn_i_visits **out);
void pgcn_i_visits_free(pgcn_i_visits *visits);

/* Takes memory of the caller for entries on their way from a list to its transpose, if it is enough. The caller may use
 * it for anything between two samplings. Not of lists that are divided. */
void pgcn_i_visits_borrow(pgcn_i_visits *visits, float *memory, int64_t floats);

/* From now on lists have the rows of this rank's nodes only. Of all nodes of a graph. */
pgcn_status pgcn_i_visits_divide(pgcn_i_visits *visits, const pgcn_i_division *division);

/* Bytes of memory that lists take, and of a division numbers of all rows. */
int64_t pgcn_i_visits_resident(const pgcn_i_visits *visits, int64_t *numbers);

/* Which paths are drawn: a pure function of these numbers, the sample and the node. */
typedef struct pgcn_i_path_draw {
    uint64_t seed;
    pgcn_i_purpose purpose;
    int64_t step;
    int layer;
} pgcn_i_path_draw;
/* The same paths of every layer. */
static inline bool pgcn_i_same_draw(pgcn_i_path_draw a, pgcn_i_path_draw b) {
    return a.seed == b.seed && a.purpose == b.purpose && a.step == b.step;
}

/* Draws all samples and rebuilds all lists. The walks of a node are the same in every subset.
 * `degree` has an entry for every node of the lists (of the graph, where walks leave the subset), or is NULL. */
void pgcn_i_visits_sample(pgcn_i_visits *visits, const pgcn_i_walker *walker, pgcn_i_pool *pool,
                          pgcn_i_path_draw draw, const float *degree);

/* ---- parts of a graph (part.c) ------------------------------------------------------------------ */

/* Numbers the rows of a part of a graph (pgcn_i_part of nn) as lists lead to them, level by level; in a level new rows
 * come by sample, and then in the order in which they are visited. A row is a node in one sample. */
typedef struct pgcn_i_numbering {
    pgcn_i_arena arena;
    int64_t nodes; /* of the graph */
    int samples;
    int64_t rows, most;
    int64_t placed; /* rows that `place` knows: all, or none */
    int runs;
    pgcn_i_stretch *run; /* [most_runs] of rows of the same sample */
    int most_runs;       /* samples * (levels + 1) */
    pgcn_node *node;     /* [most] */
    pgcn_node *id;       /* [most] sample * nodes + node */
    pgcn_node *place;    /* [samples * nodes] the row of each id */
    pgcn_node *fresh;    /* [most entries] ids that a block of rows has found */
    int64_t *count;      /* [blocks * samples] */
    pgcn_i_comm *comm;   /* whose ranks have lists of some rows each; NULL: this process has all */
    pgcn_i_buffer told;  /* of pgcn_node: the ids that all ranks have found, by rank and sample */
    int64_t *told_count; /* [ranks, samples] */
    int64_t *told_first; /* [ranks + 1] bytes before each rank's */
} pgcn_i_numbering;
/* For at most that many rows, levels, and entries of the lists of a level. Free it after a failure too. */
typedef struct pgcn_i_numbering_opts {
    int64_t nodes, rows, entries;
    int samples, levels;
} pgcn_i_numbering_opts;
pgcn_status pgcn_i_numbering_init(pgcn_i_numbering *numbering, pgcn_i_numbering_opts opts);
void pgcn_i_numbering_free(pgcn_i_numbering *numbering);
/* Other rows than those that were found come into `node` and `id`: `place` forgets them. */
void pgcn_i_numbering_forget(pgcn_i_numbering *numbering);
/* Level 0: row s * count + i is node[i] in sample s. Nodes are different ones. */
void pgcn_i_numbering_begin(pgcn_i_numbering *numbering, const pgcn_node *node, int64_t count);
/* The next level: the columns of these rows of the lists, which are nodes of the graph, become rows. Rows before them
 * lead nowhere else; those after them, if there are any, are other ranks'. */
void pgcn_i_numbering_grow(pgcn_i_numbering *numbering, pgcn_i_pool *pool, pgcn_i_csr *list,
                           int lists, pgcn_i_range rows);
/* From now on each rank has the lists of some rows, in the order of the ranks. All get all numbers. */
pgcn_status pgcn_i_numbering_divide(pgcn_i_numbering *numbering, pgcn_i_comm *comm);

/* Transposes lists with that many columns; `number`, if not NULL, says which entry of the (only) list an entry of its
 * transpose is. The rows of a transpose ascend. */
typedef struct pgcn_i_turner {
    pgcn_i_arena arena;
    pgcn_node *row;   /* [entries] by buckets of columns */
    uint16_t *column; /* of its bucket */
    float *value;
    int64_t *entry;        /* NULL: entries are not numbered */
    int64_t *place;        /* [blocks, buckets] */
    int64_t *bucket_begin; /* [buckets + 1] */
} pgcn_i_turner;
pgcn_status pgcn_i_turner_init(pgcn_i_turner *turner, int64_t columns, int64_t entries,
                               bool numbered);
void pgcn_i_turner_free(pgcn_i_turner *turner);
void pgcn_i_turn(pgcn_i_turner *turner, pgcn_i_pool *pool, const pgcn_i_csr *list, int64_t columns,
                 pgcn_i_csr *out, int64_t *number);

/* ---- parts of a graph on several ranks (part_divide.c) ------------------------------------------ */

/* Transposes lists of which each rank has the rows of its groups: it gets the columns of its groups. */
typedef struct pgcn_i_part_turner pgcn_i_part_turner;
/* For at most that many columns, lists, and entries of each. */
pgcn_status pgcn_i_part_turner_new(pgcn_i_comm *comm, int groups, int64_t columns, int lists,
                                   int64_t entries, pgcn_i_part_turner **out);
void pgcn_i_part_turner_free(pgcn_i_part_turner *turner);
/* `rows` of the lists are this rank's. */
void pgcn_i_part_turn(pgcn_i_part_turner *turner, pgcn_i_pool *pool, const pgcn_i_csr *list,
                      int lists, pgcn_i_range rows, int64_t columns, pgcn_i_csr *out);
int64_t pgcn_i_part_turner_resident(const pgcn_i_part_turner *turner);

/* ---- path convolutions (conv.c) --------------------------------------------------------------- */

/* Rows of more channels than a slab are gathered slab by slab, for all nodes, where that keeps what is
 * read at random in a nearer cache (Pubmed with 256 channels on one core: 27 instead of 38 ms). A
 * matrix that is too large for that is read by whole rows, asked for early (kernels/pathconv.c). */
enum { PGCN_SLAB = 64, PGCN_FAR_BYTES = 32 << 20 };
static inline bool pgcn_i_rows_are_far(int64_t rows, int64_t c) {
    return rows * c > PGCN_FAR_BYTES / (int64_t)sizeof(float);
}
static inline int64_t pgcn_i_slab_of(int64_t rows, int64_t c) {
    return c > PGCN_SLAB && !pgcn_i_rows_are_far(rows, c) ? PGCN_SLAB : c;
}

/* The exact form by Horner's rule:
 *
 *   pass 1:  r = s_{k-2} (.) h + s_{k-1} (.) T h
 *   pass t:  r = s_{k-1-t} (.) h + T r              up to pass k-1, which gives the result
 *
 * Channels do not mix, so a slab of them goes through all passes apart from the others, and what is
 * read at random is small: all passes but the last leave their slabs one after the other, without
 * gaps. They go to power[0] and power[1] in turn, the last but one to power[0]; power[1] may be out. */
typedef struct pgcn_i_horner {
    const pgcn_i_kernels *kernels;
    const pgcn_i_csr *t;
    const float *h, *s; /* [n, c], [k, c] */
    float *out, *power[2];
    int k;
    int64_t n, c, slab;
    bool prefetch;
} pgcn_i_horner;
/* One pass over the rows begin .. end-1, of the slab that starts at channel `first`. k >= 2. */
void pgcn_i_horner_pass(const pgcn_i_horner *horner, int pass, int64_t first, int64_t begin,
                        int64_t end);

#endif
