/* pathgcn: graph networks whose spatial operator is learnt from sampled paths.
 *
 * A C library for the method of "pathGCN: Learning General Graph Spatial Operators from Paths"
 * (ICML 2022). The usual order of calls, from arrays to probabilities:
 *
 *     pgcn_graph_from_edges -> pgcn_dataset_from_arrays -> pgcn_train -> pgcn_model_predict
 *
 * Conventions
 *   - Every call that can fail returns pgcn_status; pgcn_last_error() then holds one sentence that
 *     says what was found, where, and what to do. Nothing prints, nothing exits, and after an error
 *     the arguments are as they were and no result is left half-made.
 *   - Pointers that come in are borrowed for the call and copied where they are needed later,
 *     unless the text says "taken". Pointers that come out of accessors are borrowed and live as
 *     long as the object. Handles that come out are owned by the caller: pgcn_x_free(), which
 *     takes NULL.
 *   - Wrong arguments never end the program. NULL for a pointer that is needed, an enumerator that
 *     does not exist and a number out of range are PGCN_ERR_ARGUMENT from calls that return a
 *     status; from the others they give the neutral result: NULL, "", 0, false, a struct of zeros,
 *     nothing done (pgcn_trainer_finished() says true, so that loops end). Options and
 *     configurations may be NULL: the default. Results beside the returned one may be NULL: they
 *     are not wanted. A pointer that is not NULL must point to as much as the text says.
 *   - Option structs start with their own size and are filled by pgcn_x_default(); change fields
 *     after that. A struct that was not filled is refused.
 *   - Before version 1.0 structs may grow with every minor version; each has its own library name
 *     (libpathgcn.so.0.2), so that a program never meets a library with other structs.
 *   - A handle may be read by many threads at once and changed by one.
 *   - Same build, same machine, same seed: same bits, whatever the number of threads and whether
 *     or not the run was interrupted and resumed.
 *
 * Letters as in the paper: n nodes, m edges, c channels, k nodes of a path, p paths per node,
 * L layers. Matrices are row-major. */
#ifndef PATHGCN_H
#define PATHGCN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PGCN_API __attribute__((visibility("default")))
#else
#define PGCN_API
#endif

#define PGCN_VERSION "0.2.0"

/* The revision of the results. Raised by one in every release in which any training or prediction
 * that worked before can come out with other bits, on the same instruction set: another order of a
 * sum, another kernel, another random number. Not raised by new settings or faster code with the
 * same bits. Checkpoints and models hold it; a run is resumed only with the same one. 0: pathgcn
 * 0.1, whose files do not say. */
#define PGCN_BITS_REVISION 2

/* A node. Offsets and sizes are 64 bit everywhere. */
typedef int32_t pgcn_node;

/* ---- errors ------------------------------------------------------------------------------ */

typedef enum pgcn_status {
    PGCN_OK = 0,
    PGCN_ERR_ARGUMENT = 1, /* an option or argument is wrong */
    PGCN_ERR_MEMORY = 2,
    PGCN_ERR_IO = 3,       /* a file cannot be opened, read or written */
    PGCN_ERR_FORMAT = 4,   /* a file or array holds something it must not hold */
    PGCN_ERR_MISMATCH = 5, /* two things that are each fine do not belong together */
    PGCN_ERR_NUMERIC = 6,  /* a loss or weight became NaN or infinite */
    PGCN_ERR_SYSTEM = 7,   /* the operating system or processor refused (threads, PATHGCN_ISA) */
    PGCN_ERR_STOPPED = 8   /* a callback of the caller's ended the work */
} pgcn_status;

/* The sentence of the last error of this thread; "" before the first. Valid until the next
 * failing call of the same thread. */
PGCN_API const char *pgcn_last_error(void);
/* What an errno says and, where there is something to do about it, what: "No space left on device;
 * make space or write elsewhere". Valid until the next call of the same thread. Never NULL. */
PGCN_API const char *pgcn_system_error(int error);
/* A short name of a status, e.g. "malformed data". Never NULL. */
PGCN_API const char *pgcn_status_name(pgcn_status status);
/* Names of nodes, classes and columns come from files and may hold control characters that a terminal
 * obeys. Writes `text` to `out`, at most out_bytes with the NUL, with every control character (C0, DEL
 * and C1, as a byte or in UTF-8) replaced by what C writes for it: \n, \r, \t, \x1b, \u009b. A sequence
 * that does not fit is left out as a whole. Returns the bytes that all of it needs, without the NUL, as
 * snprintf does; `out` may be NULL if out_bytes is 0, and a NULL text is empty. The sentences of
 * pgcn_last_error() and pgcn_dataset_note() have been through it. */
PGCN_API size_t pgcn_text_printable(const char *text, char *out, size_t out_bytes);

/* ---- the library ------------------------------------------------------------------------- */

typedef struct pgcn_info {
    const char *version;
    const char *isa;       /* instruction set of the kernels in use: baseline, avx2, avx512 */
    const char *isa_built; /* those this build holds, separated by spaces */
    const char *compiler;
    int cores;              /* usable by this process */
    int bits_revision;      /* PGCN_BITS_REVISION of the library */
    const char *partitions; /* who divides graphs into parts: "built in", or "built in, METIS" */
} pgcn_info;
PGCN_API pgcn_info pgcn_info_get(void);
/* Whether the library can compute here. PGCN_ERR_SYSTEM: the environment variable PATHGCN_ISA names an
 * instruction set that this build does not know or this processor lacks. Every call that computes
 * (training, prediction, walks) fails with that too. The variable is read once per process. */
PGCN_API pgcn_status pgcn_ready(void);

/* Replaces malloc for everything the library allocates; NULL restores the default. Call it
 * before any other function, from one thread. `alloc` returns `bytes` bytes at a multiple of
 * `align`, or NULL. */
typedef struct pgcn_allocator {
    void *(*alloc)(size_t bytes, size_t align, void *context);
    void (*free)(void *block, void *context);
    void *context;
} pgcn_allocator;
PGCN_API void pgcn_set_allocator(const pgcn_allocator *allocator);

/* Bytes that this process can still get without swapping: the least of what the system has free, the
 * limit of its address space (ulimit -v) and that of its container; -1 if the system does not say. */
PGCN_API int64_t pgcn_memory_available(void);
/* What this process has in memory now, as the system counts it: pages of its own (anonymous) and pages of
 * files that it has mapped. Their sum is what a bound of memory is about. -1: the system does not say. */
typedef struct pgcn_memory_use {
    int64_t anonymous, mapped;
} pgcn_memory_use;
PGCN_API pgcn_memory_use pgcn_memory_in_use(void);
/* Bounds what loading and converting a data set keeps in memory, so that one that is larger can be
 * converted: from here on large arrays of the library are files in `directory` (made if it is missing,
 * on a disk with room for the whole data set), mapped into memory, whose pages are given back when anonymous
 * and mapped memory together come near `bytes`; and the edges are sorted there in parts. At least 16 MiB
 * and what one number for every node needs. Results are the same to the bit. One call per process, before
 * the data is loaded, from one thread; bytes 0 ends it, when everything that was made under it is freed.
 * A directory that a call before has left (it was interrupted, or the disk was full) is used again where its
 * source is the same: what had been read and sorted is not done again.
 * Errors: PGCN_ERR_ARGUMENT, PGCN_ERR_IO, PGCN_ERR_SYSTEM. */
PGCN_API pgcn_status pgcn_memory_bound(int64_t bytes, const char *directory);
/* Removes the directory of the bound and its files, and ends the bound. Call it when the result is written;
 * without it the directory stays for the next call. */
PGCN_API pgcn_status pgcn_memory_bound_done(void);
/* `call` is told now and then how far loading or saving a data set is: what is being done, and a share from 0
 * to 1. If it returns false that ends with PGCN_ERR_STOPPED. It may be called from any thread, one at a time.
 * NULL: nobody is told. */
typedef bool (*pgcn_work_callback)(const char *what, double share, void *context);
PGCN_API void pgcn_on_work(pgcn_work_callback call, void *context);
/* "512 bytes", "78.2 MiB", "3.4 TiB", powers of 1024; `out` has room for 32. */
PGCN_API void pgcn_format_bytes(int64_t bytes, char *out);

/* Writes a file that appears complete or not at all: to a temporary name beside it, synced, then
 * renamed. An old file of that name is untouched after an error (PGCN_ERR_IO). All files of the
 * library are written like this; a program that is killed meanwhile leaves .pathgcn-*.tmp. */
PGCN_API pgcn_status pgcn_file_write(const char *path, const void *data, size_t bytes);
/* The same of a file that is too long for memory, piece by piece. It appears when it is ended with `keep`; otherwise,
 * or after an error, it does not. pgcn_file_end() frees it in any case; of NULL it does nothing. */
typedef struct pgcn_file pgcn_file;
PGCN_API pgcn_status pgcn_file_begin(const char *path, pgcn_file **out);
PGCN_API pgcn_status pgcn_file_put(pgcn_file *file, const void *data, size_t bytes);
PGCN_API pgcn_status pgcn_file_end(pgcn_file *file, bool keep);

/* Makes a directory, and those above it that are missing; one that exists is fine. PGCN_ERR_IO. */
PGCN_API pgcn_status pgcn_directory_make(const char *path);

/* Numbers in text, as every setting, step and option of the program reads them: digits with a sign
 * "-", a decimal point and an exponent. Hexadecimal ones, inf, nan, blanks and a sign "+" are no
 * numbers here, in any locale. Whole numbers may be written 1e3. False leaves *out as it is. */
PGCN_API bool pgcn_number_parse(const char *text, double *out);
PGCN_API bool pgcn_integer_parse(const char *text, int64_t low, int64_t high, int64_t *out);
/* Whether `candidate` may be what a misspelt `word` means, and is nearer to it than *distance, which is
 * then lowered to its own: start with SIZE_MAX and offer all candidates. A word with more than about a
 * third of its letters wrong is another one; what a candidate begins with always means it. */
PGCN_API bool pgcn_spelling_nearer(const char *word, const char *candidate, size_t *distance);

/* Seeds are whole numbers from 0 to this one, everywhere: of training, draws, walks, splits, built-in
 * graphs and searches. What every JSON reader with 64-bit integers can hold. */
#define PGCN_MAX_SEED INT64_MAX

/* ---- graph ------------------------------------------------------------------------------- */

typedef struct pgcn_graph pgcn_graph;

typedef struct pgcn_graph_opts {
    size_t size;
    bool directed;        /* false: each edge is walked both ways */
    bool keep_self_loops; /* false: edges from a node to itself are dropped */
} pgcn_graph_opts;
PGCN_API pgcn_graph_opts pgcn_graph_opts_default(void); /* undirected, self-loops dropped */

/* Builds the compressed adjacency from m edges (source[e], target[e]).
 *   weight  NULL, or m finite positive numbers.
 *   opts    NULL for the default.
 * Equal edges are merged: weights add up, an unweighted edge stays one edge. Neighbours are
 * sorted. Nodes without edges are fine; n >= 1.
 * Errors: PGCN_ERR_ARGUMENT (n, m), PGCN_ERR_FORMAT (an id outside 0..n-1 or a bad weight, with
 * the number of the edge), PGCN_ERR_MEMORY. Cost O(n + m). */
PGCN_API pgcn_status pgcn_graph_from_edges(int64_t n, int64_t m, const pgcn_node *source,
                                           const pgcn_node *target, const float *weight,
                                           const pgcn_graph_opts *opts, pgcn_graph **out);
/* The same from a compressed adjacency: the neighbours of node u are neighbour[offset[u]] up to
 * neighbour[offset[u+1] - 1], in any order.
 *   offset  [n+1], from 0, ascending.
 * Errors: as above, and PGCN_ERR_FORMAT for offsets that descend. */
PGCN_API pgcn_status pgcn_graph_from_csr(int64_t n, const int64_t *offset,
                                         const pgcn_node *neighbour, const float *weight,
                                         const pgcn_graph_opts *opts, pgcn_graph **out);
PGCN_API void pgcn_graph_free(pgcn_graph *graph);
PGCN_API int64_t pgcn_graph_nodes(const pgcn_graph *graph);
/* Stored adjacency entries: twice the edges of an undirected graph (a self-loop counts once). */
PGCN_API int64_t pgcn_graph_entries(const pgcn_graph *graph);
/* Borrowed CSR arrays: offset [n+1], neighbour [entries], weight [entries] or NULL. */
PGCN_API void pgcn_graph_csr(const pgcn_graph *graph, const int64_t **offset,
                             const pgcn_node **neighbour, const float **weight);

/* ---- paths ------------------------------------------------------------------------------- */

typedef enum pgcn_walk {
    PGCN_WALK_UNIFORM = 0,
    PGCN_WALK_WEIGHTED = 1, /* next node in proportion to the edge weight */
    PGCN_WALK_NODE2VEC = 2  /* second order: weight / return_p back, weight near, / inout_q far */
} pgcn_walk;

typedef struct pgcn_paths_opts {
    size_t size;
    pgcn_walk walk;
    int length;     /* k >= 1: nodes of a path, its start included */
    int paths;      /* p >= 1: paths from each start */
    float return_p; /* node2vec p > 0 */
    float inout_q;  /* node2vec q > 0 */
    bool may_stay;  /* staying is one more choice of every step (a self-loop of weight 1);
                        not with node2vec */
    uint64_t seed;
    uint64_t draw; /* another draw, another independent sample; < 2^32 */
    int threads;   /* 0: one per core */
} pgcn_paths_opts;
PGCN_API pgcn_paths_opts pgcn_paths_opts_default(void); /* uniform, k = 5, p = 5 */

/* Samples opts->paths walks from each start.
 *   starts  NULL for all nodes in order (n_starts is then ignored), or n_starts node ids.
 *   out     [n_starts or n, p, k] node ids, the caller's array.
 * out[..][0] is the start. A walk that cannot go on stays where it is: there is never a -1.
 * Errors: PGCN_ERR_ARGUMENT, PGCN_ERR_MEMORY. Cost O(starts p k) for uniform walks. */
PGCN_API pgcn_status pgcn_paths_sample(const pgcn_graph *graph, const pgcn_paths_opts *opts,
                                       const pgcn_node *starts, int64_t n_starts, pgcn_node *out);

/* Writes paths as a NumPy array, int32 [starts, p, k], atomically. */
PGCN_API pgcn_status pgcn_paths_save(const char *path, const pgcn_node *paths, int64_t n_starts,
                                     int p, int k);

/* ---- path convolution on arrays ---------------------------------------------------------- */

typedef enum pgcn_scaling {
    PGCN_SCALING_WALK = 0,      /* the paper: rows of D^-1 A */
    PGCN_SCALING_SYMMETRIC = 1, /* visits scaled by sqrt(d_start / d_visited): D^-1/2 A D^-1/2 */
    PGCN_SCALING_SUM = 2        /* sums over neighbours, A; only in the exact form */
} pgcn_scaling;
typedef enum pgcn_form {
    PGCN_FORM_SAMPLED = 0,
    PGCN_FORM_EXACT = 1 /* powers of the transition matrix instead of paths */
} pgcn_form;

/* The operator of one path convolution on a graph, ready to be applied to arrays of any number of
 * channels: the visit lists S_1 .. S_{k-1} of one draw of paths and their transposes, or the powers of
 * the transition matrix that are their mean over all draws. For layers of other programs; pgcn_trainer
 * has its own. */
typedef struct pgcn_visits pgcn_visits;

/* Allocates everything that a draw needs, and starts the threads.
 *   graph    borrowed until the visits, and all made beside them, are freed.
 *   opts     NULL for the default. seed and draw must be 0: every draw says its own.
 *   scaling  walk or symmetric.
 *   form     sampled: pgcn_visits_sample() comes next. exact: ready; opts->paths does nothing, and
 *            node2vec walks are refused, because they have no transition matrix.
 * Errors: PGCN_ERR_ARGUMENT, PGCN_ERR_MEMORY, PGCN_ERR_SYSTEM. Memory: 24 bytes for each of n p (k - 1)
 * visits; exact: 16 bytes for each entry of the graph. */
PGCN_API pgcn_status pgcn_visits_new(const pgcn_graph *graph, const pgcn_paths_opts *opts,
                                     pgcn_scaling scaling, pgcn_form form, pgcn_visits **out);
/* One more of the same settings, with room for a draw of its own: for layers whose forward passes all
 * come before the first backward pass. Threads, graph and scratch memory are shared with `visits`, in
 * whatever order both are freed. Different threads may use them at once; calls then wait for each
 * other. */
PGCN_API pgcn_status pgcn_visits_new_beside(const pgcn_visits *visits, pgcn_visits **out);
PGCN_API void pgcn_visits_free(pgcn_visits *visits);

/* Draws new paths: those that pgcn_paths_sample() gives for this seed and draw (< 2^32). Allocates
 * nothing. PGCN_ERR_ARGUMENT for the exact form, which has no paths. Cost O(n p k) for uniform
 * walks. */
PGCN_API pgcn_status pgcn_visits_sample(pgcn_visits *visits, uint64_t seed, uint64_t draw);

/* out = sum_i s_i (.) S_i x, where S_0 is the identity and S_i is T^i in the exact form.
 *   x, out     [n, channels]; they must not overlap.
 *   weight     s: [k, channels] if depthwise, else [k], one weight per hop.
 * The same bits for any number of threads. Allocates only when scratch memory has to grow.
 * Errors: PGCN_ERR_ARGUMENT, PGCN_ERR_MEMORY. Cost O(channels x visits); exact:
 * O(channels (k - 1) entries). */
PGCN_API pgcn_status pgcn_pathconv_forward(const pgcn_visits *visits, int64_t channels,
                                           bool depthwise, const float *x, const float *weight,
                                           float *out);
/* The gradients of a loss, from its gradient by `out`. `visits` holds the draw of the forward pass.
 *   grad_out     [n, channels]
 *   grad_x       [n, channels], written; NULL: not wanted
 *   grad_weight  as weight, written; NULL: not wanted */
PGCN_API pgcn_status pgcn_pathconv_backward(const pgcn_visits *visits, int64_t channels,
                                            bool depthwise, const float *x, const float *weight,
                                            const float *grad_out, float *grad_x,
                                            float *grad_weight);
/* The same in double precision, by plain loops: to check gradients, and to compare with. The entries of
 * S_i and T are the same floats. */
PGCN_API pgcn_status pgcn_pathconv_forward_double(const pgcn_visits *visits, int64_t channels,
                                                  bool depthwise, const double *x,
                                                  const double *weight, double *out);
PGCN_API pgcn_status pgcn_pathconv_backward_double(const pgcn_visits *visits, int64_t channels,
                                                   bool depthwise, const double *x,
                                                   const double *weight, const double *grad_out,
                                                   double *grad_x, double *grad_weight);

/* ---- measures ---------------------------------------------------------------------------- */

/* What says how good predictions are; all in percent, everywhere. docs/FORMATS.md defines them. A class
 * is predicted if it is the most probable one; of several labels, each that is more probable than not.
 * A measure that is not defined (AUC where all items are of one class) is NaN. */
typedef enum pgcn_measure {
    PGCN_MEASURE_ACCURACY = 0,          /* right ones; of several labels the micro-averaged F1 */
    PGCN_MEASURE_BALANCED_ACCURACY = 1, /* mean over the classes of the share that is found */
    PGCN_MEASURE_MACRO_F1 = 2,          /* mean over the classes of their F1 */
    PGCN_MEASURE_AUC = 3, /* area under the ROC curve of class 1; of more classes, or of several
                             labels, the mean over them, each against the rest */
    PGCN_MEASURE_AVERAGE_PRECISION = 4 /* the same of the curve of precision over recall */
} pgcn_measure;
#define PGCN_MEASURES 5
/* "accuracy", "balanced-accuracy", "macro-f1", "auc", "average-precision"; "" if there is no such
 * measure. And back: false, *out as it is, if that is no name of one. */
PGCN_API const char *pgcn_measure_name(pgcn_measure measure);
PGCN_API bool pgcn_measure_parse(const char *name, pgcn_measure *out);

/* ---- data sets --------------------------------------------------------------------------- */

typedef struct pgcn_dataset pgcn_dataset;

/* One data set from plain arrays. Items are what is labelled and split: nodes, or graphs where
 * graph_label is given.
 *   features  dense (features), or CSR (x_offset, x_column, x_value), or neither: then they are made
 *             as for files without features (step `features`).
 *   labels    one of label, labels and graph_label, or none of them: enough to predict. Then
 *             n_classes and class_name are not given either.
 *   masks     n_splits = 0 and all three NULL: splits are made as for files without any. val NULL:
 *             nothing validates, and a training keeps the weights of its last epoch. test NULL:
 *             nothing tests.
 * Everything is copied, but for what `release` says. */
typedef struct pgcn_dataset_arrays {
    size_t size;
    const char *name;
    const pgcn_graph *graph;
    int64_t n_features;
    const float *features;   /* [n, n_features] dense, finite */
    const int64_t *x_offset; /* [n+1] CSR features */
    const int32_t *x_column; /* [nnz], ascending in each row */
    const float *x_value;    /* [nnz], finite */
    const int32_t *label;    /* [n] 0..n_classes-1, or -1: no label */
    int n_classes;           /* 0: the largest label + 1 */
    int n_splits;
    const uint8_t
        *train; /* [n_splits, items], 0 or 1 each; an item is in at most one of the three */
    const uint8_t *val;
    const uint8_t *test;
    const uint8_t *labels;       /* [n, n_classes] 0 or 1: several labels of a node */
    const uint8_t *labels_known; /* [n] 0 or 1: whether the labels of a node are known; NULL: all */
    int64_t n_graphs;            /* 0: one graph */
    const int32_t *graph_of;     /* [n] 0..n_graphs-1; ascending where graphs are classified */
    const int32_t *graph_label;  /* [n_graphs] a class of each graph, -1: no label */
    const char *const *node_id;  /* [n] names in UTF-8; NULL: they are numbers. Likewise: */
    const char *const *class_name;   /* [n_classes], which must be given then */
    const char *const *feature_name; /* [n_features] */
    const char *steps;               /* as after the colon of a name (below), or NULL */
    /* Not NULL: `features`, or x_column and x_value, are not copied but read where they are, and must
     * not change until release(owner) is called, once, by pgcn_dataset_free(); by then all data sets
     * that were prepared from this one must be freed. After an error of pgcn_dataset_from_arrays() it
     * is not called. */
    void (*release)(void *owner);
    void *owner;
} pgcn_dataset_arrays;
PGCN_API pgcn_dataset_arrays pgcn_dataset_arrays_default(void);
PGCN_API pgcn_status pgcn_dataset_from_arrays(const pgcn_dataset_arrays *arrays,
                                              pgcn_dataset **out);

/* The same data after more steps (below), such as "features=own+adjacency"; NULL: none. Features and
 * splits that nobody gave or asked for are made again, so that the result is that of loading with these
 * steps. `data` is borrowed until *out is freed. */
PGCN_API pgcn_status pgcn_dataset_prepare(const pgcn_dataset *data, const char *steps,
                                          pgcn_dataset **out);

/* Whether the first line of text files is a header. */
typedef enum pgcn_header {
    PGCN_HEADER_AUTO =
        0, /* decided by words, types and what occurs again; a note reports the outcome */
    PGCN_HEADER_YES = 1,
    PGCN_HEADER_NO = 2
} pgcn_header;
/* Ids that a file should know and does not, where they are more than a tenth. */
typedef enum pgcn_unknown_ids {
    PGCN_UNKNOWN_REFUSE = 0, /* an error: the ids of the files are written in two ways */
    PGCN_UNKNOWN_KEEP = 1    /* they are nodes of one file only */
} pgcn_unknown_ids;

/* What becomes of features that are not all plain numbers: categories become a column of 0 and 1 for each
 * value, dates days since 1970, yes and no 1 and 0; an empty cell becomes the mean of its column, and
 * 1 in one more column. docs/FORMATS.md has the rules. */
typedef enum pgcn_encode {
    PGCN_ENCODE_ALL = 0,   /* means and categories are learnt from all rows, never from labels */
    PGCN_ENCODE_TRAIN = 1, /* from the rows of training nodes only; the data must have one split */
    PGCN_ENCODE_NO = 2     /* such features are an error */
} pgcn_encode;
/* How decimals are written in text files. */
typedef enum pgcn_decimal {
    PGCN_DECIMAL_AUTO = 0, /* with a comma where semicolons separate the cells and it fits; noted */
    PGCN_DECIMAL_POINT = 1,
    PGCN_DECIMAL_COMMA = 2
} pgcn_decimal;

typedef struct pgcn_dataset_opts {
    size_t size;
    const char *data_dir; /* where named sets are; NULL: environment variable PATHGCN_DATA */
    bool directed;        /* use the directed edge list where the set has one */
    bool keep_self_loops;
    const char *steps;  /* NULL, or steps as after the colon of a name; these come first */
    pgcn_header header; /* of an edge list; PGCN_ERR_ARGUMENT with anything else */
    /* Bytes that a process may use that trains on it or predicts: the dense features of a container stay in the file,
     * and batches of nodes read their rows. Predictions that need all rows at once (the exact form) make temporary
     * files beside the container, without names. What else needs all features refuses such a data set. 0: no bound. */
    int64_t memory;
} pgcn_dataset_opts;
PGCN_API pgcn_dataset_opts pgcn_dataset_opts_default(void);

/* Loads by name. In this order: a built-in set ("karate", "sbm", "grid", "powerlaw"; settings
 * follow a colon: "sbm:nodes=2000,homophily=0.1"), a file or folder of that path in any format of
 * docs/FORMATS.md, one of that name in data_dir, one that was fetched (pgcn_cache_directory). Steps
 * may follow a colon, "film:directed,largest-component,stratified=60/20/20", behind the settings of
 * a built-in set:
 *   directed              keep the direction of the edges (the set must have one)
 *   symmetrise            walk every edge both ways (the default)
 *   self-loops            keep edges from a node to itself
 *   largest-component     only the largest connected part of the graph
 *   features=A+B          own, labels (one-hot node labels), degrees (one-hot), identity,
 *                         adjacency (rows of the adjacency matrix)
 *   stratified=T/V/S      splits by percentages of each class into train, validation, test
 *   random=T/V/S          the same without regard to classes
 *   per-class=T/V/S       T training items of each class, V validation, S test items (or "rest")
 *   kfold=K               K stratified folds: one tests, the next validates, the others train
 *   crossval=K            K stratified folds: one validates, the others train, and nobody tests.
 *                         The protocol of GIN and of the paper for graphs
 *   fair=FILE             outer folds with an inner hold-out each, from a JSON file of "A Fair Comparison
 *                         of Graph Neural Networks" that fits the number of graphs
 *   splits=N              how many splits are made (10), split-seed=S: the seed (0)
 *   only-split=WHICH      drops the other splits: public, numbered, a number, or auto (public if
 *                         there is one)
 *   without-test          no split has test nodes, and labels that only test nodes have are not
 *                         known: for choosing settings. test_accuracy is then NaN
 *   order=HOW             nodes renumbered in memory: degree, rcm, community or random; or parts of the graph
 *                         with few edges between them, one for each group of nodes: parts (built in) or
 *                         metis (where the library was built with it); see pgcn_dataset_order()
 *   groups=N              groups of nodes, at most, that sums over nodes are made by (32): as many threads
 *                         or machines can share a sum. Another number gives other bits
 * Labelled nodes without any split get stratified=60/20/20; labelled graphs their published folds, or
 * kfold=10. Errors name the file and the record. */
PGCN_API pgcn_status pgcn_dataset_load(const char *name, const pgcn_dataset_opts *opts,
                                       pgcn_dataset **out);

/* Your own graph: text files with delimiters (or .npy features), plain or gzip; docs/FORMATS.md has
 * the rules. Ids may be any text and come back through pgcn_dataset_node_id(). */
typedef struct pgcn_dataset_files {
    size_t size;
    const char *name;     /* NULL: the name of the edge file without its endings */
    const char *edges;    /* required: from, to[, weight]; "a.csv,b.csv": several are one graph */
    const char *features; /* id, cells of any sort; NULL: see the step `features` */
    const char *labels;   /* id, class; or id and a 0/1 column per class; NULL: none */
    const char *splits;   /* id, train | val | test; NULL: made on the spot */
    const char *steps;    /* as above, or NULL */
    pgcn_header header;   /* of all text files */
    pgcn_unknown_ids unknown_ids;
    /* Columns, by name or by number from 1; NULL: as above */
    const char *id; /* of features, labels and splits; a file without it has its ids first */
    const char *from, *to, *weight; /* of edges; if one is given, other columns are not read */
    const char *label;              /* of labels; several with commas between them */
    const char *use, *ignore;       /* of features: "age,city"; the only ones, and those left out */
    pgcn_decimal decimal;
    pgcn_encode encode;
    const char
        *encoder; /* of pgcn_model_encoder(): the features become numbers by the rules of that
                            model, and none are learnt; NULL: learnt */
    /* Of one file, where `header` is not true of all; PGCN_HEADER_AUTO: as `header` */
    pgcn_header header_edges, header_features, header_labels, header_splits;
} pgcn_dataset_files;
PGCN_API pgcn_dataset_files pgcn_dataset_files_default(void);
PGCN_API pgcn_status pgcn_dataset_from_files(const pgcn_dataset_files *files, pgcn_dataset **out);

/* How many bytes loading it takes at its peak, at once, from its name and the lengths of its files; of text
 * a lower bound, 0: little, or not known. By name with `opts`, or of `files` with name NULL. Loading fails with
 * PGCN_ERR_MEMORY, before anything is read, where that is more than pgcn_memory_available(). */
PGCN_API pgcn_status pgcn_dataset_estimate(const char *name, const pgcn_dataset_opts *opts,
                                           const pgcn_dataset_files *files, int64_t *bytes);

/* How the columns of a table became features, as JSON (docs/FORMATS.md); NULL where they were numbers. */
PGCN_API const char *pgcn_dataset_encoder(const pgcn_dataset *data);

/* Writes the container (.pgcn), which pgcn_dataset_load maps without copying; or .npz for Python. */
PGCN_API pgcn_status pgcn_dataset_save(const pgcn_dataset *data, const char *path);
typedef struct pgcn_save_opts {
    size_t size; /* sizeof(pgcn_save_opts) */
    const char
        *store; /* type of the features in the file: "float32" (NULL), "float16", "bf16", or "int8"
                          with a scale per column; loading gives float32 again, rounded
                          (docs/FORMATS.md has the bounds). PGCN_ERR_ARGUMENT: a feature is too large */
} pgcn_save_opts;
PGCN_API pgcn_save_opts pgcn_save_opts_default(void);
PGCN_API pgcn_status pgcn_dataset_save_as(const pgcn_dataset *data, const char *path,
                                          const pgcn_save_opts *opts);
/* The type that the features have in the container they were loaded from; "float32" for all else. */
PGCN_API const char *pgcn_dataset_store(const pgcn_dataset *data);
PGCN_API pgcn_status pgcn_dataset_save_npz(const pgcn_dataset *data, const char *path);
/* What pgcn_dataset_load leaves out to be fast: the SHA-256 of a container's bytes, and the
 * fingerprint taken again. */
PGCN_API pgcn_status pgcn_dataset_verify(const pgcn_dataset *data);
PGCN_API void pgcn_dataset_free(pgcn_dataset *data);

typedef enum pgcn_task {
    PGCN_TASK_NONE = 0,       /* there are no labels */
    PGCN_TASK_NODE = 1,       /* one class per node */
    PGCN_TASK_MULTILABEL = 2, /* any number of classes per node */
    PGCN_TASK_GRAPH = 3       /* one class per graph */
} pgcn_task;
/* "none", "node", "multilabel", "graph": what models, recipes and JSON call it. Never NULL. */
PGCN_API const char *pgcn_task_name(pgcn_task task);

typedef struct pgcn_dataset_info {
    const char *name;
    const char *fingerprint; /* SHA-256 of graph, features and labels, 64 hex digits */
    int64_t nodes;
    int64_t edges; /* undirected: pairs; directed: arcs; self-loops included */
    int64_t self_loops;
    int64_t isolated; /* nodes without any edge */
    int64_t max_degree;
    int64_t features;
    int64_t feature_nonzeros;
    bool sparse_features;
    bool directed;
    bool weighted;
    int classes;
    int64_t unlabelled;
    double edge_homophily; /* share of edges that join equal labels; NaN without edges */
    int splits;
    pgcn_task task;
    int64_t graphs;             /* 1, or the number of graphs in the set */
    int64_t items;              /* what is labelled and split: nodes, or graphs */
    int folds;                  /* published folds of graphs, 0: none */
    int64_t source_edges;       /* edges as they stand in the source, 0 where that is not known */
    int64_t dropped_self_loops; /* self-loops of the source that were left out */
    const char *format;         /* what it was read from: "Planetoid pickles" */
    const char *steps;          /* the steps applied, "" if none */
    const char *split_origin;   /* where the splits come from, NULL if there are none */
    int64_t featureless; /* nodes that the source has no features of: models read the mean of the
                            training nodes instead */
    pgcn_measure
        measure; /* what results on it are reported in: accuracy, or what its publishers report */
} pgcn_dataset_info;
PGCN_API pgcn_dataset_info pgcn_dataset_describe(const pgcn_dataset *data);
PGCN_API const pgcn_graph *pgcn_dataset_graph(const pgcn_dataset *data);
/* [items] one class each, -1: none; NULL for multi-label sets and those without labels. */
PGCN_API const int32_t *pgcn_dataset_labels(const pgcn_dataset *data);
/* [nodes, classes] 0 or 1 of a multi-label set, else NULL. */
PGCN_API const uint8_t *pgcn_dataset_multilabels(const pgcn_dataset *data);
/* Whether node i, or graph i where these have the classes, has a label. */
PGCN_API bool pgcn_dataset_is_labelled(const pgcn_dataset *data, int64_t i);
/* [nodes] the graph that each node belongs to; NULL: there is one graph. */
PGCN_API const int32_t *pgcn_dataset_graph_of(const pgcn_dataset *data);
/* The features as they are stored: dense, or CSR with `dense` NULL. All borrowed. All arrays are NULL where they
 * stay in their file (pgcn_dataset_opts.memory). */
typedef struct pgcn_features {
    int64_t rows, columns, nonzeros;
    const float *dense;    /* [rows, columns] */
    const int64_t *offset; /* [rows+1] */
    const int32_t *column; /* [nonzeros] */
    const float *value;    /* [nonzeros] */
} pgcn_features;
PGCN_API pgcn_features pgcn_dataset_features(const pgcn_dataset *data);
/* The source's own name of node i, class c, feature j; NULL where it is just the number. */
PGCN_API const char *pgcn_dataset_node_id(const pgcn_dataset *data, int64_t i);
PGCN_API const char *pgcn_dataset_class_name(const pgcn_dataset *data, int c);
PGCN_API const char *pgcn_dataset_feature_name(const pgcn_dataset *data, int64_t j);
/* Whether the step `order` has renumbered the nodes. Then number[i] is the number that row i of
 * every array of this data set (graph, labels, masks, predictions) had without the step, and row[j]
 * the row of number j; both [nodes], borrowed, and may be NULL. False: both are set to NULL, rows
 * are numbers. */
PGCN_API bool pgcn_dataset_order(const pgcn_dataset *data, const pgcn_node **number,
                                 const pgcn_node **row);
/* Facts about the data that a user should hear, one sentence each: NULL after the last. */
PGCN_API const char *pgcn_dataset_note(const pgcn_dataset *data, int i);
/* Name of split i ("public", "0", "1", ...), its masks [items]. NULL if i is out of range. */
PGCN_API const char *pgcn_dataset_split(const pgcn_dataset *data, int i, const uint8_t **train,
                                        const uint8_t **val, const uint8_t **test);

/* Built-in names with one line each, for a listing: NULL after the last. */
PGCN_API const char *pgcn_builtin_name(int i, const char **summary);
/* Formats that are read, in the order they are tried, with one line each: NULL after the last. */
PGCN_API const char *pgcn_format_name(int i, const char **summary);
/* The format a file or folder looks like, NULL if none. Looks at names and first bytes only. */
PGCN_API const char *pgcn_format_of(const char *path);

/* ---- download ------------------------------------------------------------------------------ */

/* A published data set that pgcn_fetch() can bring here. All text is static. */
typedef struct pgcn_published {
    const char *name;      /* "cora": the folder it gets, and what pgcn_dataset_load() takes */
    const char *alias;     /* another name of it ("actor" for film), or "" */
    const char *summary;   /* one line */
    const char *home;      /* where its files are published */
    const char *licence;   /* what its publishers say, or that they say nothing */
    const char *reference; /* the paper to cite */
    const char *note;      /* something to know before using it, or "" */
    bool graphs;           /* many graphs with a class each, not one with classes of nodes */
    bool in_paper;         /* one of the fifteen of the pathGCN paper */
    int files;             /* that are downloaded */
    int64_t bytes;         /* of them, as far as known */
} pgcn_published;
/* Set i of the table, or false after the last. */
PGCN_API bool pgcn_published_get(int i, pgcn_published *out);
/* By name or alias, in any case of letters; false if there is none. */
PGCN_API bool pgcn_published_find(const char *name, pgcn_published *out);

/* Where fetched data sets lie, one folder each: $XDG_CACHE_HOME/pathgcn, or ~/.cache/pathgcn. NULL
 * if the environment names neither. Valid until the next call of the same thread. */
PGCN_API const char *pgcn_cache_directory(void);

typedef struct pgcn_fetch_progress {
    const char *name; /* of the data set */
    const char *file;
    int file_number, files; /* from 1 */
    int64_t file_bytes;     /* of this file that are here, those of an earlier try included */
    int64_t file_total;     /* 0: not known */
    int64_t set_bytes;      /* of all files that are here */
    int64_t set_total;      /* 0: not known */
    int attempt;            /* from 1 */
    bool waiting;           /* for the next attempt */
} pgcn_fetch_progress;

typedef struct pgcn_fetch_opts {
    size_t size;
    const char *directory; /* the set becomes a folder in it; NULL: pgcn_cache_directory() */
    const char *mirror;    /* URL or directory that holds <name>/<file>, asked first; NULL: the
                              environment variable PATHGCN_MIRROR, "": none */
    bool mirror_only;      /* do not ask the home */
    bool force;            /* fetch what is here already, too */
    int retries;           /* of a transfer that broke, 0..100 */
    double pause_seconds;  /* before the first retry, doubled each time, at most a minute */
    double stall_seconds;  /* a transfer that brings nothing for so long has broken */
    /* Called several times a second; false stops, and what came so far is kept for the next call.
     * Or NULL. */
    bool (*progress)(const pgcn_fetch_progress *progress, void *context);
    void *context;
    double least_rate; /* bytes per second; a transfer that brings less, taken over stall_seconds,
                          has broken. 0: any rate will do */
} pgcn_fetch_opts;
/* Four retries, pauses from 1 second, 1,000 bytes per second over 30 seconds. */
PGCN_API pgcn_fetch_opts pgcn_fetch_opts_default(void);

typedef struct pgcn_fetch_result {
    char path[4096];    /* the folder of the set */
    int fetched, kept;  /* files that came now, files that were here */
    int64_t downloaded; /* bytes of this call */
} pgcn_fetch_result;

/* Brings a published set here: every file is downloaded beside its place, checked against the known
 * SHA-256 and length, and the folder of the set appears when all of them are there. Files that are
 * here and right are not fetched again; what an interrupted call brought is continued. http, https
 * and file URLs; redirections to nothing but http and https, and from https to https only. Of an
 * archive the files that are known to belong to the set are unpacked, and no others.
 * `opts` NULL for the default, `out` may be NULL.
 * Errors: PGCN_ERR_ARGUMENT (no such set), PGCN_ERR_IO (network, disk, stopped by `progress`),
 * PGCN_ERR_FORMAT (not the file that is known), PGCN_ERR_SYSTEM (files are missing, and the library was
 * built without libcurl). One call at a time per set and directory. */
PGCN_API pgcn_status pgcn_fetch(const char *name, const pgcn_fetch_opts *opts,
                                pgcn_fetch_result *out);

/* ---- configuration ----------------------------------------------------------------------- */

typedef enum pgcn_kernel {
    PGCN_KERNEL_GLOBAL = 0,    /* s [k], shared by all layers and channels */
    PGCN_KERNEL_LAYER = 1,     /* s [L, k] */
    PGCN_KERNEL_DEPTHWISE = 2, /* s [L, k, c] */
    PGCN_KERNEL_FULL = 3       /* W [L, k, c, c], no separate 1x1 */
} pgcn_kernel;
typedef enum pgcn_kernel_start {
    PGCN_START_SMOOTH = 0,    /* s_i proportional to (1-a)^i, sum 1; a from `hops` */
    PGCN_START_IDENTITY = 1,  /* s = (1, 0, ..., 0) */
    PGCN_START_RANDOM = 2,    /* s_i ~ N(0, 1/k), decay towards 0 and not towards the start */
    PGCN_START_NEIGHBOURS = 3 /* s = (0, 1, 0, ..., 0), (1) if k is 1: a graph convolution */
} pgcn_kernel_start;
typedef enum pgcn_mix {
    PGCN_MIX_IDENTITY = 0, /* 1x1 weights start at I and decay towards I */
    PGCN_MIX_RANDOM = 1    /* Glorot start, decay towards 0 */
} pgcn_mix;
typedef enum pgcn_residual {
    PGCN_RESIDUAL_NONE = 0,
    PGCN_RESIDUAL_INITIAL = 1, /* U = (1 - alpha) K H + alpha H0 */
    PGCN_RESIDUAL_PREVIOUS = 2 /* U = (1 - alpha) K H + alpha H  */
} pgcn_residual;
/* Type of the hidden rows that a training step keeps from its forward pass for its backward pass. */
typedef enum pgcn_hidden_rows {
    PGCN_ROWS_FLOAT32 = 0,
    PGCN_ROWS_BF16 = 1 /* and of those gradients of rows that are gathered */
} pgcn_hidden_rows;
/* From the nodes of a graph to its classes. */
typedef enum pgcn_readout {
    PGCN_READOUT_LINEAR = 0, /* the paper: sum of the last layer, 1x1, dropout, 1x1 */
    PGCN_READOUT_RELU = 1,   /* with a ReLU after the first 1x1 */
    PGCN_READOUT_LAYERS = 2  /* GIN: a 1x1 for the sum of every layer, added up */
} pgcn_readout;
typedef enum pgcn_direction {
    PGCN_DIRECTION_FORWARD = 0, /* along the edges, each of an undirected graph both ways */
    PGCN_DIRECTION_BACKWARD = 1 /* against them */
} pgcn_direction;
/* Which validation figure says which epoch's weights are kept: the least loss, or the largest of a
 * measure, the lower loss deciding between equal ones. Measure m is m + 1. */
typedef enum pgcn_select {
    PGCN_SELECT_LOSS = 0,
    PGCN_SELECT_ACCURACY = 1,
    PGCN_SELECT_BALANCED_ACCURACY = 2,
    PGCN_SELECT_MACRO_F1 = 3,
    PGCN_SELECT_AUC = 4,
    PGCN_SELECT_AVERAGE_PRECISION = 5
} pgcn_select;
/* What a step of one graph sees. */
typedef enum pgcn_batch_by {
    PGCN_BATCH_AUTO = 0,  /* nodes where the caller sets `batch`, otherwise all of the graph */
    PGCN_BATCH_NODES = 1, /* `batch` training nodes, and the rows that they need, layer by layer */
    PGCN_BATCH_CLUSTER =
        2 /* `parts_per_step` of `parts` parts of the graph, without the edges between parts */
} pgcn_batch_by;
/* Who cuts a graph into the parts of PGCN_BATCH_CLUSTER. */
typedef enum pgcn_parts_by {
    PGCN_PARTS_AUTO = 0,  /* METIS in a build that has it; models hold which one it was */
    PGCN_PARTS_METIS = 1, /* fewer edges between parts */
    PGCN_PARTS_BUILTIN = 2
} pgcn_parts_by;
typedef enum pgcn_normalise {
    PGCN_NORMALISE_AUTO = 0, /* rows for sparse features, standardise for dense ones */
    PGCN_NORMALISE_NONE = 1,
    PGCN_NORMALISE_ROWS = 2, /* each feature row divided by the sum of its magnitudes */
    /* each column minus its mean, divided by its deviation, both over the training nodes and kept
     * in the model */
    PGCN_NORMALISE_STANDARDISE = 3
} pgcn_normalise;

#define PGCN_MOST_SETTINGS 128
#define PGCN_MOST_OWN      32
/* Room for the text of any setting. */
#define PGCN_SETTING_BYTES 512

/* Everything that defines a model and its training. Each field is also a command-line option and
 * a key of pgcn_config_set(): pgcn_config_field() lists them with type, range and meaning. */
typedef struct pgcn_config {
    size_t size;
    /* model */
    int layers;      /* L */
    int channels;    /* c */
    int path_length; /* k */
    int paths;       /* p */
    pgcn_kernel kernel;
    pgcn_kernel_start kernel_start;
    double hops;         /* expected hops of the smooth start, summed over the layers */
    double kernel_noise; /* standard deviation added to the kernel start */
    pgcn_mix mix;
    pgcn_residual residual;
    double alpha;
    pgcn_scaling scaling;
    bool self_loops; /* a walk may stay: one extra choice at every step */
    bool batch_norm;
    pgcn_walk walk;
    double return_p, inout_q;
    double dropout;      /* before the first layer, and the last */
    double dropout_last; /* before the last layer, where it differs; -1: as `dropout` */
    double drop_rows;    /* rate of whole rows dropped: of H0, or of inputs to smooth */
    pgcn_normalise normalise;
    pgcn_direction direction;
    double input_hops;     /* of a smoothing path convolution of the inputs; 0: none */
    bool input_norm;       /* batch norm of what comes out of it */
    double dropout_hidden; /* rate after every path layer but the last */
    int model;             /* the network, by its number: pgcn_network_name() */
    pgcn_readout readout;  /* where graphs are classified */
    double
        frequency; /* power of the share of training nodes that have a feature; 0: all are alike */
    /* training */
    pgcn_form train_form;
    int samples;                       /* S: independent samples of paths and dropout per step */
    double consistency;                /* lambda */
    double temperature;                /* T of the sharpened target */
    int consistency_ramp;              /* epochs over which lambda rises linearly */
    double lr_ends, lr_mix, lr_kernel; /* opening and closing layers, 1x1, path kernels */
    double wd_ends, wd_mix, wd_kernel;
    int resample_every;   /* steps between two samples of paths; 0: never again */
    bool paths_per_layer; /* a sample per layer instead of one for all */
    int epochs;
    int patience; /* epochs without better validation loss or accuracy; 0: never stop */
    pgcn_select select;
    int eval_every;
    bool allow_missing_class; /* train although a class has no training node */
    char split[16];           /* "auto", "public", "numbered" (by the seed) or a number */
    uint64_t seed;
    bool bf16; /* sampled visits are read in bf16, sums are in float */
    /* A step on a part of the data: some graphs of a set, 32 unless set, or some training nodes of one
     * graph, all unless set. batch_by is PGCN_BATCH_NODES in models that were trained on batches of nodes. */
    int batch;    /* graphs, or nodes, of a step; 0: all */
    int steps;    /* of an epoch; 0: every training graph, or node, once */
    int lr_halve; /* epochs after which the learning rates are halved, again and again; 0: never */
    /* Weights of the classes in the training loss: "none"; "balanced", n / (classes * n_c) for class c,
     * over the training items; or a number for each class, in their order, "1,5,2.5". The loss is
     * divided by the weights of its items. Not for several labels. */
    char class_weights[PGCN_SETTING_BYTES];
    pgcn_batch_by batch_by;
    /* Of batches of nodes, for the last layer, the one before, ..., the last number going on; or "all": */
    char neighbours[64];  /* drawn for every row, "15,10"; of networks without paths */
    char batch_paths[64]; /* paths of every row, of `paths`; of networks with them */
    int unlabelled;       /* nodes of a step besides, which only the consistency sees */
    /* Validation and test nodes that an evaluation has, at most that many of each, in batches; 0: all of
     * the whole graph. */
    int eval_nodes;
    /* Batches of clusters: */
    int parts, parts_per_step;
    pgcn_parts_by parts_by;
    double diagonal; /* T + diagonal diag(T) in place of T, everywhere; of networks without paths */
    pgcn_hidden_rows
        hidden_rows; /* how training keeps hidden rows; sums and weights are in float */
    double clip;     /* greatest norm of the gradient of all weights together; 0: any */
    /* nodes of every class that train by the class that they are predicted to have, from that epoch on */
    int pseudo_labels, pseudo_from;
    /* the run: no influence on the result */
    int threads;
    bool recompute; /* less memory for deep networks: values are recomputed, not kept */
    /* Where the settings come from, "cora version 1 sha256 ...": set by pgcn_recipe_load(), kept in
     * models. Empty: from no recipe. */
    char recipe[160];
    /* Settings that only some networks have ("eps" of gin): read and written by their names, with
     * pgcn_config_get() and pgcn_config_set(). */
    double own[PGCN_MOST_OWN];
    /* The library's own: whose each setting is. See pgcn_config_adopt(). */
    uint32_t origin[PGCN_MOST_SETTINGS];
} pgcn_config;

/* The networks that the setting `model` names, and a line about each; NULL after the last. Number 0 is
 * pathgcn. */
PGCN_API const char *pgcn_network_name(int i);
PGCN_API const char *pgcn_network_about(int i);

/* The recipe that works best on citation graphs at two layers. */
PGCN_API pgcn_config pgcn_config_default(void);
/* The default changed to what is known to suit a named data set ("cora", "texas", ...); the
 * default for other names. It cannot fail, and so knows only the recipes that the library was built
 * with: pgcn_recipe_load() knows those of files too, pgcn_recipe_for() what suits the task. */
PGCN_API pgcn_config pgcn_config_for(const char *dataset);
/* Sets one field from text, e.g. ("dropout", "0.5"). PGCN_ERR_ARGUMENT says what is accepted. */
PGCN_API pgcn_status pgcn_config_set(pgcn_config *config, const char *key, const char *value);
/* Writes the value of a field as text into `out`: PGCN_SETTING_BYTES are enough for any, 32 for all but
 * class-weights. PGCN_ERR_ARGUMENT if it does not fit. */
PGCN_API pgcn_status pgcn_config_get(const pgcn_config *config, const char *key, char *out,
                                     size_t out_bytes);
/* Puts what pgcn_config_set() has set in `given` over `config`. A setting that another one rules out gives
 * way unless it is given too: samples 1 switches consistency off, walk node2vec switches self-loops
 * off, input-hops 0 switches input-norm off. */
PGCN_API pgcn_status pgcn_config_overlay(pgcn_config *config, const pgcn_config *given);
/* The setting class-weights from a text file with a line `class,weight` for every class, which are
 * found by their names in the data, or their numbers where they have none.
 *   header  whether the first line is a header.
 *   out     [PGCN_SETTING_BYTES], the caller's: the value for pgcn_config_set().
 * Errors: PGCN_ERR_IO, PGCN_ERR_FORMAT (names file and line), PGCN_ERR_ARGUMENT (too many classes for
 * a setting). */
PGCN_API pgcn_status pgcn_class_weights_read(const char *path, const pgcn_dataset *data,
                                             pgcn_header header, char *out);
/* Checks fields against each other; the sentence names the field and the fix. A setting of the caller's
 * that does nothing beside the others (`paths` where train_form is exact) is refused: one that was set
 * by pgcn_config_set(), or whose value is neither the default nor what a recipe or a model file says.
 * pgcn_config_check_for() does the same with what the data tells (`direction` does nothing on an
 * undirected graph); pgcn_trainer_new() calls it. */
PGCN_API pgcn_status pgcn_config_check(const pgcn_config *config);
PGCN_API pgcn_status pgcn_config_check_for(const pgcn_config *config, const pgcn_dataset *data);
/* Why a setting does nothing beside the others, e.g. "residual is none" for "alpha"; NULL if it is
 * used. data: NULL, or what is to be learnt, on which some depend. Static text. */
PGCN_API const char *pgcn_config_unused(const pgcn_config *config, const pgcn_dataset *data,
                                        const char *key);
/* Makes the settings as they are a starting point, like those of a recipe: what does nothing among
 * them is from now on nobody's mistake. For programs that vary some of them, as a search does. */
PGCN_API void pgcn_config_adopt(pgcn_config *config);
/* Writes what `batch-by` auto stands for on this data: nodes, if it is one graph and the caller has set `batch`. Before
 * settings are adopted or written down, which forget whose they are. */
PGCN_API void pgcn_config_settle_batches(pgcn_config *config, const pgcn_dataset *data);

/* Whether the configured network looks at a setting: false for those of other networks, for those that it
 * does not use ("paths" of gin), and for names that are no settings. */
PGCN_API bool pgcn_config_uses(const pgcn_config *config, const char *key);

typedef struct pgcn_field {
    const char *key;     /* "path-length" */
    const char *accepts; /* "1..4096", "smooth | identity | random", "yes | no" */
    const char *help;    /* one line */
    const char *group;   /* "model", "training", "run" */
    bool own;            /* only some networks have it: see pgcn_config_uses() */
} pgcn_field;
/* Field i, or false after the last. */
PGCN_API bool pgcn_config_field(int i, pgcn_field *out);

/* ---- recipes ----------------------------------------------------------------------------- */

/* The head of a recipe: a named, versioned text file of settings for a data set and a task. Texts
 * are one line of UTF-8. docs/RECIPES.md describes the files. */
typedef struct pgcn_recipe_info {
    char name[64]; /* "cora", "paper-cora-full": letters, digits and - _ . ; "none": no recipe */
    int version;   /* from 1 */
    char task[16]; /* as pgcn_task_name(): "node", "multilabel", "graph" */
    char dataset[128];  /* "cora", or several, separated by spaces; "any": for all of the task */
    char prepare[128];  /* steps of the data set, as after the colon of a name; may be empty */
    char about[256];    /* one sentence */
    char searched[512]; /* what was searched, or where the values come from; may be empty */
    char measure
        [24]; /* as pgcn_measure_name(): what results are reported in; may be empty: the data's */
    /* Filled by the library, not looked at when writing: */
    char sha256[65];    /* of the file's text */
    char origin[256];   /* the file, or "built in" */
    bool other_dataset; /* loaded from a file that names another data set than the one asked for */
} pgcn_recipe_info;

/* Settings of a recipe over the defaults.
 *   recipe   NULL: the one of the data set's own name if there is one, else none.
 *            A name: "cora", "paper-cora-full". A family: "paper" is the recipe paper-D of data set
 *            D, "full" is D-full, "paper-full" is paper-D-full.
 *            A file: what contains a / or ends in .recipe. "none": the defaults.
 *   dataset  name of the data set in any case of letters, what follows a colon ignored; NULL:
 *            whatever the recipe is for.
 *   layers   depth: the recipe's section for it is used; 0: the depth that the recipe names.
 *   out      filled, checked, and marked with the recipe.
 *   info     may be NULL.
 * Names are looked up in the folder PATHGCN_RECIPES, if the environment has one, then among the
 * recipes that the library was built with. A name does not tell what is to be learnt:
 * pgcn_recipe_for() looks at that too.
 * Errors: PGCN_ERR_ARGUMENT (no such recipe, or for another data set; says which there are),
 * PGCN_ERR_IO, PGCN_ERR_FORMAT (names file, line and key). */
PGCN_API pgcn_status pgcn_recipe_load(const char *recipe, const char *dataset, int layers,
                                      pgcn_config *out, pgcn_recipe_info *info);
/* The same for a data set that is loaded, by its name and its task: what a program should train it
 * with if it knows nothing better. With `recipe` NULL a set without a recipe of its own (its name and
 * its task) gets the one of its task, "any-graph" or "any-multilabel"; for one class per node there is
 * none, these are the defaults. Errors: as above, and PGCN_ERR_ARGUMENT if the recipe is for another
 * task. */
PGCN_API pgcn_status pgcn_recipe_for(const char *recipe, const pgcn_dataset *data, int layers,
                                     pgcn_config *out, pgcn_recipe_info *info);
/* Every recipe belongs to one network, its setting `model`; pathgcn unless it says so. Those of another
 * network N are called N-authors-D for data set D (published settings), N-authors-like-D (the nearest
 * published settings) and N-default for any data, N-default-graph and N-default-multilabel where these
 * tasks differ; those of D over its numbered splits end in -full. A query that names a network finds
 * them without the name in front. */
typedef struct pgcn_recipe_query {
    size_t size;
    const char
        *recipe; /* as for pgcn_recipe_load(). With a network "authors" is N-authors-D, "default"
                            its recipe for any data of the task, "full" N-authors-D-full or else
                            N-authors-like-D-full. NULL: the first that there is of N-authors-D,
                            N-authors-like-D (before each its -full if the split is a numbered one) and
                            the default */
    const char
        *network; /* "gcn", as pgcn_network_name(); a recipe of another network is refused. NULL:
                            that of the recipe, and with `recipe` NULL pathgcn's */
    const char *dataset; /* its name, see pgcn_recipe_load(); not looked at if `data` is given */
    const pgcn_dataset *data; /* a data set that is loaded, borrowed; NULL: known by name only */
    const char *split;        /* the split of the training, as the setting; NULL: auto */
    int layers;               /* depth; 0: the recipe's own */
} pgcn_recipe_query;
PGCN_API pgcn_recipe_query pgcn_recipe_query_default(void);
/* Settings of the recipe that is asked for: pgcn_recipe_for(), or pgcn_recipe_load() where no data is
 * given, of any network. NULL asks for the defaults. Errors: as there, and PGCN_ERR_ARGUMENT if there is
 * no such network, or the recipe belongs to another one; says which recipes the network has. */
PGCN_API pgcn_status pgcn_recipe_find(const pgcn_recipe_query *query, pgcn_config *out,
                                      pgcn_recipe_info *info);
/* Writes a recipe file, atomically: the head, the number of layers, and every setting that differs
 * from the defaults, but for the seed, those of the run, and those that do nothing beside the others.
 * Reading it gives the same network and training. */
PGCN_API pgcn_status pgcn_recipe_write(const char *path, const pgcn_recipe_info *info,
                                       const pgcn_config *config);
/* How many recipes there are by name, and the head of number i, from 0, by alphabet. A file in the
 * folder that is no recipe is counted, and is an error when it is its turn: go on with the next. */
PGCN_API pgcn_status pgcn_recipe_count(int *out);
PGCN_API pgcn_status pgcn_recipe_get(int i, pgcn_recipe_info *out);
/* Whether a recipe takes part in races: it is for any data set, and not the default of a network, which
 * takes part where all networks race. */
PGCN_API bool pgcn_recipe_races(const pgcn_recipe_info *info, bool all_networks);

/* ---- choosing settings ------------------------------------------------------------------- */

/* Successive halving: many candidates get little, the better ones more. */
#define PGCN_MOST_RUNGS 12
typedef struct pgcn_rung {
    int candidates;
    int runs; /* that each of them has had after this rung: trainings, or any unit of work */
} pgcn_rung;
/* From `candidates` with few runs to few candidates with `runs` runs each; from rung to rung one of
 * `keep` stays and has `keep` times the runs. Returns the number of rungs, 0 for numbers below 1 (keep:
 * below 2). */
PGCN_API int pgcn_halving(int candidates, int runs, int keep, pgcn_rung out[PGCN_MOST_RUNGS]);

/* A race: settings for data that no recipe knows. Every recipe for any data set (dataset = any) of the
 * task is a family and takes part, but for the defaults of networks (pgcn_recipe_races): a short
 * training each, a longer one for the better third; what they score on validation decides. Test
 * items are not looked at. The winner is the best by the measure of the data set; unless one that
 * needs at most half of its operations is within one standard error of it, item by item (by other
 * measures than accuracy: is equal): then the simplest of these. All work is counted in operations
 * that follow from the data and the settings, so that the same family wins on any number of threads.
 *
 * data      borrowed until the race is freed.
 * settings  what pgcn_config_set() has set in it holds in every family: the seed, the split, the
 *           threads, any other. A family in which such a setting does nothing, or is not allowed, is
 *           out, and with the setting `model` so is every family of another network. NULL: nothing.
 * Errors: PGCN_ERR_ARGUMENT if no family is left, with the reason of the first. */
typedef struct pgcn_race pgcn_race;
PGCN_API pgcn_status pgcn_race_new(const pgcn_dataset *data, const pgcn_config *settings,
                                   pgcn_race **out);
/* The same with options; NULL for the default. */
typedef struct pgcn_race_opts {
    size_t size;
    bool all_networks; /* the default recipes of all networks take part, too */
} pgcn_race_opts;
PGCN_API pgcn_race_opts pgcn_race_opts_default(void);
PGCN_API pgcn_status pgcn_race_new_with(const pgcn_dataset *data, const pgcn_config *settings,
                                        const pgcn_race_opts *opts, pgcn_race **out);
PGCN_API void pgcn_race_free(pgcn_race *race);

/* A family and where it stands. */
typedef struct pgcn_race_entry {
    pgcn_recipe_info recipe;
    const char *out; /* why it takes no part or was stopped, a sentence; NULL: nothing was wrong */
    double operations; /* of one of its epochs, predicted */
    int64_t epochs;    /* of its last training; 0: none yet */
    double score;      /* of that on validation, in percent, at its best epoch; NaN: none yet */
    double loss;       /* at that epoch */
    int rung;          /* the last one it was in, from 1; 0: none */
    bool running;      /* it is its turn */
} pgcn_race_entry;
/* Family i, from 0, the one with the fewest operations first; false after the last. */
PGCN_API bool pgcn_race_get(const pgcn_race *race, int i, pgcn_race_entry *out);

/* One epoch of the family whose turn it is. A training that fails is out and no error, unless it was
 * the last one. */
PGCN_API pgcn_status pgcn_race_epoch(pgcn_race *race);
PGCN_API bool pgcn_race_finished(const pgcn_race *race); /* true of NULL */
/* As pgcn_trainer_on_step(), for the trainings of a race. */
PGCN_API void pgcn_race_on_step(pgcn_race *race, bool (*go_on)(void *context), void *context);
/* How much of the operations of the whole race is done, 0 to 1: trainings may end early. */
PGCN_API double pgcn_race_done(const pgcn_race *race);
/* Who leads, or has won: the number of a family, -1 before the first training is over. */
PGCN_API int pgcn_race_leader(const pgcn_race *race);
/* The settings of the winner for a training in full, marked with its recipe. PGCN_ERR_ARGUMENT before
 * the end. */
PGCN_API pgcn_status pgcn_race_winner(const pgcn_race *race, pgcn_config *out,
                                      pgcn_recipe_info *info);
/* All of it. The winner's recipe may name steps (info->prepare): load the data with them to train. */
PGCN_API pgcn_status pgcn_recipe_auto(const pgcn_dataset *data, const pgcn_config *settings,
                                      pgcn_config *out, pgcn_recipe_info *info);

/* ---- training ---------------------------------------------------------------------------- */

typedef struct pgcn_trainer pgcn_trainer;
typedef struct pgcn_model pgcn_model;

/* What an epoch did. Accuracies are in percent, here and everywhere; where nodes have several labels
 * they are the micro-averaged F1 of these. val_* and test_* are measured
 * after the step, in the exact form (or on one sample, for node2vec walks), and are NaN where not
 * evaluated. */
typedef struct pgcn_epoch {
    int64_t epoch; /* from 1 */
    double train_loss;
    double val_loss, val_accuracy, test_accuracy;
    bool best;      /* the weights of this epoch were kept */
    double step_ms; /* sampling, forward, backward and Adam, without the evaluation; not kept in
                       checkpoints: 0 for epochs before a resume */
    double val_measure, test_measure; /* the measure that `select` names; the accuracies if it is
                                         loss */
} pgcn_epoch;

/* Borrows `data` until the trainer is freed. Checks data and configuration against each other
 * before any work. Allocates all that training needs. */
PGCN_API pgcn_status pgcn_trainer_new(const pgcn_dataset *data, const pgcn_config *config,
                                      pgcn_trainer **out);
PGCN_API void pgcn_trainer_free(pgcn_trainer *trainer);
/* What a training takes besides its data set and the program itself, in bytes. Most of it is
 * untouched, and so costs nothing, before the first epoch: the moment to compare it with what is
 * free. Visit lists count as far as the walks of a few hundred nodes say that they will fill. */
typedef struct pgcn_memory {
    int64_t total;
    int64_t values;   /* of the network, their gradients, and scratch: what `recompute` lowers */
    int64_t paths;    /* visit lists and their transposes */
    int64_t features; /* as the first layer reads them */
    int64_t graph;    /* the exact operator, and tables for walks */
    int64_t weights;  /* their gradients and moments, the best ones, the history */
} pgcn_memory;
PGCN_API pgcn_memory pgcn_trainer_memory(const pgcn_trainer *trainer);
/* Batches of nodes: how many rows, of nodes in all samples, a step computes. */
typedef struct pgcn_batch_rows {
    int64_t most;     /* there can be */
    int64_t expected; /* in the first batches there were at most */
} pgcn_batch_rows;
/* Of what goes into layer 0, the first one, comes out of it and goes into layer 1, and so on; the last are the nodes of
 * the batch. False after the last, and where steps have no batches of nodes. */
PGCN_API bool pgcn_trainer_rows(const pgcn_trainer *trainer, int layer, pgcn_batch_rows *out);

/* Training within a bound of memory (pgcn_dataset_opts.memory): rows of features that were found in the cache and that
 * were read, since the trainer was made. False where the features are in memory. */
typedef struct pgcn_row_reads {
    int64_t hits, misses;
    int64_t bytes;       /* read from the file */
    int64_t cache_bytes; /* of rows that the cache keeps */
} pgcn_row_reads;
PGCN_API bool pgcn_trainer_row_reads(const pgcn_trainer *trainer, pgcn_row_reads *out);
/* The same of everything that was computed on a data set since it was loaded: trainings, predictions, evaluations;
 * cache_bytes is 0. */
PGCN_API bool pgcn_dataset_row_reads(const pgcn_dataset *data, pgcn_row_reads *out);

/* The groups of nodes of a data set, as parts of its graph: ranges of rows, of equal size but for the last.
 * The steps order=metis and order=parts choose them so that few edges are between two. */
typedef struct pgcn_parts {
    int64_t parts;
    int64_t rows;          /* nodes of every part but the last, which may have fewer */
    int64_t cut;           /* entries of the graph whose ends are in different parts */
    double cut_share;      /* of all entries */
    double visits_share;   /* the most of a part over a fair share: of edges that end in it, */
    double features_share; /* and of numbers in its features; 1: no part has more than its share */
} pgcn_parts;
PGCN_API pgcn_status pgcn_dataset_parts(const pgcn_dataset *data, pgcn_parts *out);
/* How many groups of nodes there are, or would be with the step groups=`most` (0: as the data is). A rank beyond that
 * number has no nodes. */
PGCN_API int64_t pgcn_dataset_groups(const pgcn_dataset *data, int most);

/* What training would take on `ranks` machines that have the groups of nodes among them, each a run of
 * them of nearly equal length, and all of the structure. Counted on the graph and on one draw of the walks
 * of all nodes; numbers are those of the rank that has most. */
typedef struct pgcn_ranks {
    int ranks;
    int64_t rows; /* nodes of a rank */
    int64_t
        neighbours; /* nodes of other ranks next to them: rows to fetch for T H, the exact form */
    int64_t
        visited; /* nodes of other ranks that its walks visit: rows to fetch forward, each layer */
    int64_t
        visitors; /* nodes of other ranks whose walks visit it: rows of gradients to fetch backward */
    int64_t bytes_step;     /* fetched in one step: all layers, both passes, all samples */
    int64_t memory;         /* in all, of which */
    int64_t memory_shared;  /* is the same on every rank: structure and weights */
    int64_t memory_rows;    /* is for its rows, and falls with the number of ranks */
    int64_t memory_fetched; /* and this is for the rows of others */
} pgcn_ranks;
/* ranks [count]: ascending, each at least 1 and at most the number of groups; out [count]. `config`: channels, layers,
 * paths, path_length, samples, walk and seed count. O(n p k) time, and 4 n bytes for each number of
 * ranks. */
PGCN_API pgcn_status pgcn_dataset_ranks(const pgcn_dataset *data, const pgcn_config *config,
                                        const int *ranks, int count, pgcn_ranks *out);
/* ---- several processes ---- */

/* Trainings of several processes (ranks), on one machine or many, that mpirun or srun has started: docs/CLUSTER.md. All
 * of them read the same data set. Rank 0 then calls the functions of a trainer as ever, and the others serve it. Tensors,
 * checkpoints and histories have the same bits for any number of ranks. */

/* How many ranks a launcher has started, from the environment, and which one this is; 1 and 0 without one. */
PGCN_API int pgcn_ranks_expected(int *rank);
/* Joins the others: opens the module for MPI, pathgcn_mpi.so. Does nothing without a launcher. Trainers that are made
 * from now on are shared. Start no process by fork() afterwards. */
PGCN_API pgcn_status pgcn_ranks_join(int *rank, int *ranks);
/* On every rank but 0: does what rank 0 wants until that leaves. `data` NULL: it could not be read, and rank 0 will be
 * told `why`. A failure is one after which ranks cannot go on: see pgcn_ranks_abort(). */
PGCN_API pgcn_status pgcn_ranks_serve(const pgcn_dataset *data, const char *why);
/* Rank 0 lets the others go; every rank calls it before the process ends. */
PGCN_API void pgcn_ranks_leave(void);
/* Ends the processes of all ranks at once. Returns only without a launcher. */
PGCN_API void pgcn_ranks_abort(int code);
/* The name of this rank's host, whether it shares trainings or takes jobs; "" before it has joined. */
PGCN_API const char *pgcn_ranks_host(void);
/* Ranks that take jobs instead: each trains by itself, and they send each other messages. Rank 0 hands out work, the
 * others wait for it. In place of pgcn_ranks_join(); does nothing without a launcher. */
PGCN_API pgcn_status pgcn_workers_join(void);
/* 1 before they have joined. */
PGCN_API int pgcn_workers_count(void);
/* A message of at least one byte; returns when it is on its way. PGCN_ERR_SYSTEM: the other rank does not answer. */
PGCN_API pgcn_status pgcn_workers_send(int rank, const void *bytes, size_t size);
/* A rank that has sent something; -1: none. Does not wait. */
PGCN_API int pgcn_workers_waiting(void);
/* The next message of a rank. *bytes is the caller's: pgcn_bytes_free(). For rank 0 the others wait as long as it
 * takes; a *size of 0 means that it leaves. Rank 0 asks whoever pgcn_workers_waiting() names, or is known to send
 * more. */
PGCN_API pgcn_status pgcn_workers_receive(int rank, void **bytes, size_t *size);
/* Rank 0 expects a message of this rank and has waited for it that many seconds. PGCN_ERR_SYSTEM: longer than
 * PATHGCN_MPI_PATIENCE allows. The rank counts as hanging then, and no message is sent any more. */
PGCN_API pgcn_status pgcn_workers_silent(int rank, double seconds);
/* The first failure of a message; then nothing is sent any more. */
PGCN_API pgcn_status pgcn_workers_status(void);
/* Rank 0 lets the others go, which must be waiting for it; every rank calls it before the process ends. After a rank
 * did not answer it ends all of them. */
PGCN_API void pgcn_workers_leave(void);
/* Bytes of memory of a rank's own, by what is in it. Addresses without memory behind them do not count, nor pages of
 * mapped files. */
typedef struct pgcn_rank_memory {
    int64_t structure; /* transitions, degrees and numbers of rows: on every rank */
    int64_t features;  /* as the first layer reads them, of its own rows */
    int64_t walks;     /* visit lists of its own rows */
    int64_t rows;      /* values and gradients of its own rows */
    int64_t others;    /* values and gradients of rows of other ranks */
    int64_t messages;  /* what is sent and received, and who needs what */
    int64_t weights;   /* parameters, their gradients and moments: on every rank */
    int64_t rest;      /* the program, MPI, labels, and data that is not mapped from a container */
} pgcn_rank_memory;
/* What ranks send each other in the steps of a training, of the rank that gets most. */
typedef struct pgcn_traffic {
    int ranks;     /* 1: this process is alone */
    int64_t steps; /* that were counted */
    int64_t
        rows_step; /* bytes of rows of others that it reads in one step: pgcn_ranks.bytes_step predicts them */
    int64_t bytes_step; /* all that comes in: rows, sums of gradients, who needs what */
    int64_t
        memory; /* bytes of the rank's own that its process has in use, of the one that has most; pages of mapped
                           files do not count */
    pgcn_rank_memory kinds; /* of the rank that has most of the kind */
    /* what a step waits for, on rank 0: the delay of the network counts for each */
    int64_t exchanges_step; /* messages with others, at the same time with all of them */
    int64_t sums_step, sums_bytes_step; /* sums that go from rank to rank, and their bytes */
    double waited_step_ms; /* milliseconds within calls for messages: waiting, and copying */
} pgcn_traffic;
PGCN_API pgcn_status pgcn_trainer_traffic(const pgcn_trainer *trainer, pgcn_traffic *out);

/* One epoch: sample, forward, backward, Adam, evaluation. PGCN_ERR_NUMERIC if a loss is not
 * finite: the epoch is then not in the history, the best weights so far are still there, and the
 * state can be saved if it is that of the epoch before. `out` may be NULL. */
PGCN_API pgcn_status pgcn_trainer_epoch(pgcn_trainer *trainer, pgcn_epoch *out);
/* Asks go_on(context) before every step and before every part of an evaluation, in the thread that
 * called pgcn_trainer_epoch(). False ends that call with PGCN_ERR_STOPPED, which is no harm: the next
 * call goes on where this one stopped, with the same bits. In between the best weights of the epochs
 * before can be had, and the state can be saved. NULL: nobody is asked. */
PGCN_API void pgcn_trainer_on_step(pgcn_trainer *trainer, bool (*go_on)(void *context),
                                   void *context);
/* The steps of the present epoch that are done; `all` of them, which may be NULL. */
PGCN_API int64_t pgcn_trainer_steps(const pgcn_trainer *trainer, int64_t *all);
/* True when the epochs are used up or patience has run out. */
PGCN_API bool pgcn_trainer_finished(const pgcn_trainer *trainer);
/* The epochs so far, borrowed until the next call that changes the trainer. */
PGCN_API const pgcn_epoch *pgcn_trainer_history(const pgcn_trainer *trainer, int64_t *count);
/* The split in use, e.g. "public"; and what tells it from another one of that name: the SHA-256 of
 * its masks, 64 hex digits. */
PGCN_API const char *pgcn_trainer_split(const pgcn_trainer *trainer);
PGCN_API const char *pgcn_trainer_split_hash(const pgcn_trainer *trainer);
/* Writes everything needed to go on (weights, best weights, Adam moments, history) to `path`,
 * atomically; and takes it back. Resuming checks that data, masks of the split, configuration and
 * PGCN_BITS_REVISION are those of the checkpoint: PGCN_ERR_MISMATCH otherwise. Only `epochs`,
 * `patience`, `threads` and `recompute` may differ. */
PGCN_API pgcn_status pgcn_trainer_save(const pgcn_trainer *trainer, const char *path);
PGCN_API pgcn_status pgcn_trainer_resume(pgcn_trainer *trainer, const char *path);
/* The same with options; NULL for the default. */
typedef struct pgcn_resume_opts {
    size_t size;
    bool accept_other_version; /* go on although the checkpoint has another PGCN_BITS_REVISION: the
                                  run ends with the bits of neither version */
} pgcn_resume_opts;
PGCN_API pgcn_resume_opts pgcn_resume_opts_default(void);
PGCN_API pgcn_status pgcn_trainer_resume_with(pgcn_trainer *trainer, const char *path,
                                              const pgcn_resume_opts *opts);
/* Facts about the last resume that a user should hear (another instruction set, a checkpoint that
 * could not be compared in full), one sentence each: NULL after the last. */
PGCN_API const char *pgcn_trainer_note(const pgcn_trainer *trainer, int i);
/* A model with the best weights so far (a copy). */
PGCN_API pgcn_status pgcn_trainer_model(const pgcn_trainer *trainer, pgcn_model **out);

/* Trains to the end and returns the model with the best weights. */
PGCN_API pgcn_status pgcn_train(const pgcn_dataset *data, const pgcn_config *config,
                                pgcn_model **out);
/* The same with callbacks, in the calling thread; NULL for the default, none. A training that one of
 * them ends gives the best weights so far; PGCN_ERR_STOPPED if there are none yet. */
typedef struct pgcn_train_opts {
    size_t size;
    bool (*epoch)(const pgcn_epoch *epoch, void *context); /* after every epoch: whether to go on */
    bool (*go_on)(void *context);                          /* as of pgcn_trainer_on_step() */
    void *context;
} pgcn_train_opts;
PGCN_API pgcn_train_opts pgcn_train_opts_default(void);
PGCN_API pgcn_status pgcn_train_with(const pgcn_dataset *data, const pgcn_config *config,
                                     const pgcn_train_opts *opts, pgcn_model **out);

/* ---- models ------------------------------------------------------------------------------ */

PGCN_API pgcn_status pgcn_model_load(const char *path, pgcn_model **out);
/* safetensors, atomically. docs/FORMATS.md names the tensors. */
PGCN_API pgcn_status pgcn_model_save(const pgcn_model *model, const char *path);
/* The bytes of such a file, and back. *bytes is the caller's: pgcn_bytes_free(). */
PGCN_API pgcn_status pgcn_model_to_bytes(const pgcn_model *model, void **bytes, size_t *size);
PGCN_API pgcn_status pgcn_model_from_bytes(const void *bytes, size_t size, pgcn_model **out);
PGCN_API void pgcn_bytes_free(void *bytes);
PGCN_API void pgcn_model_free(pgcn_model *model);
PGCN_API const pgcn_config *pgcn_model_config(const pgcn_model *model);
/* Name and fingerprint of the data set it was trained on, the split, the SHA-256 of its masks ("": a
 * model of pathgcn 0.1, which did not keep it), and the epoch kept. */
PGCN_API const char *pgcn_model_dataset(const pgcn_model *model);
PGCN_API const char *pgcn_model_fingerprint(const pgcn_model *model);
PGCN_API const char *pgcn_model_split(const pgcn_model *model);
PGCN_API const char *pgcn_model_split_hash(const pgcn_model *model);
PGCN_API int64_t pgcn_model_epoch(const pgcn_model *model);
/* How the table that it was trained on became features, for pgcn_dataset_files.encoder; NULL: as it was. */
PGCN_API const char *pgcn_model_encoder(const pgcn_model *model);
/* The name of class c in the data it was trained on; NULL if classes had none. */
PGCN_API const char *pgcn_model_class_name(const pgcn_model *model, int c);
PGCN_API pgcn_task pgcn_model_task(const pgcn_model *model);
PGCN_API int pgcn_model_classes(const pgcn_model *model);
/* The columns of features that it reads, and the name of column j; NULL if they had none. */
PGCN_API int64_t pgcn_model_features(const pgcn_model *model);
PGCN_API const char *pgcn_model_feature_name(const pgcn_model *model, int64_t j);
/* The epochs of its training: a JSON array of objects with the keys of history.jsonl. Borrowed. */
PGCN_API const char *pgcn_model_history(const pgcn_model *model);
/* A tensor of the model as its file holds it, borrowed. */
typedef struct pgcn_tensor {
    const char *name; /* "embed.weight" */
    int rank;
    int64_t shape[3]; /* 1 after its rank */
    int64_t count;
    const float *value; /* [count] */
    bool trained;       /* false: a statistic, such as a running mean */
} pgcn_tensor;
/* Tensor i, or false after the last. */
PGCN_API bool pgcn_model_tensor(const pgcn_model *model, int i, pgcn_tensor *out);
PGCN_API int64_t pgcn_model_parameters(const pgcn_model *model);
/* The path kernel of a layer, 0 <= layer < layers: weight[i * channels + c] is what channel c gives
 * to the i-th node of a path, its start being the 0-th. `weight` is the caller's, [path_length,
 * channels] of the model's configuration. Kernels that channels or layers share are given to each;
 * of the full kernel it is what a channel takes from itself. */
PGCN_API pgcn_status pgcn_model_kernel(const pgcn_model *model, int layer, float *weight);

typedef struct pgcn_inference {
    size_t size;
    int draws;     /* 0: deterministic; N >= 1: mean and deviation over N samples of paths */
    uint64_t seed; /* of the draws */
    int threads;
} pgcn_inference;
PGCN_API pgcn_inference pgcn_inference_default(void); /* deterministic */
/* "deterministic" or "stochastic:N". */
PGCN_API pgcn_status pgcn_inference_parse(const char *text, pgcn_inference *inference);

/* Class probabilities of every node, or graph where the model classifies graphs; of a model of
 * several labels the probability of each. The data need not be what the model was trained on.
 *   probability  [items, classes], the caller's.
 *   inference    NULL for the default, deterministic.
 *   deviation    [items, classes] over the draws, or NULL. Zero when deterministic.
 * The data set must have the features the model was trained with (their number); labels are not
 * looked at. */
PGCN_API pgcn_status pgcn_model_predict(const pgcn_model *model, const pgcn_dataset *data,
                                        const pgcn_inference *inference, float *probability,
                                        float *deviation);
/* The mean of the probabilities of several models, such as trainings with other seeds: usually better than each of them.
 * They may be different networks, and have the same classes in the same order. `deviation` is that between the models.
 * One model: pgcn_model_predict(). */
PGCN_API pgcn_status pgcn_models_predict(const pgcn_model *const *model, int count,
                                         const pgcn_dataset *data, const pgcn_inference *inference,
                                         float *probability, float *deviation);
/* The same of some nodes of the data alone, in any order: only the rows that they need are computed. Probabilities have
 * the bits of pgcn_model_predict(). Not for models that classify graphs.
 *   node         [count] 0 to nodes - 1.
 *   probability  [count, classes], the caller's; deviation alike, or NULL. */
PGCN_API pgcn_status pgcn_model_predict_nodes(const pgcn_model *model, const pgcn_dataset *data,
                                              const pgcn_node *node, int64_t count,
                                              const pgcn_inference *inference, float *probability,
                                              float *deviation);
/* A model that is ready for many such questions: what depends on model and data alone is prepared once, and memory is
 * kept. It borrows both. One question at a time. */
typedef struct pgcn_predictor pgcn_predictor;
PGCN_API pgcn_status pgcn_predictor_new(const pgcn_model *model, const pgcn_dataset *data,
                                        const pgcn_inference *inference, pgcn_predictor **out);
PGCN_API void pgcn_predictor_free(pgcn_predictor *predictor);
PGCN_API pgcn_status pgcn_predictor_nodes(pgcn_predictor *predictor, const pgcn_node *node,
                                          int64_t count, float *probability, float *deviation);
/* Nodes that the data does not have, with edges to some that it has. These edges lead from the new node to the
 * known ones, which do not know of it: nothing else changes. At most PGCN_NEW_NODES at a time, with
 * PGCN_NEW_EDGES edges. */
#define PGCN_NEW_NODES 256
#define PGCN_NEW_EDGES 65536
typedef struct pgcn_new_nodes {
    int64_t count;
    const int64_t
        *offset; /* [count + 1] the edges of node i are number offset[i] to offset[i + 1] - 1 */
    const pgcn_node *neighbour; /* [offset[count]] */
    const float
        *feature; /* [count, features of the model], in its order, as they would stand in data */
} pgcn_new_nodes;
/* The same for them. Not where edge weights or the node before count in a walk (walk weighted on a graph with
 * weights, node2vec), in sets of graphs, and of networks that cannot be computed in parts or read features times
 * powers of T (sgc). */
PGCN_API pgcn_status pgcn_predictor_new_nodes(pgcn_predictor *predictor,
                                              const pgcn_new_nodes *nodes, float *probability,
                                              float *deviation);
/* Keeps hidden rows of all nodes of the data, computed once, of every layer that operations gather from: after that a
 * question computes the rows of the nodes that it is about alone, and reads those of their neighbours. Answers keep
 * their bits, for new nodes too: known nodes do not know of them, so that no kept row changes. Deterministic inference
 * only; not of networks that cannot be computed in parts, nor of those that take many steps in one operation (appnp,
 * cheb). It takes pgcn_predictor_hidden_bytes(), which may be asked before; 0 where nothing can be kept or nothing has
 * to be, -1 where there is no memory to find out. */
PGCN_API pgcn_status pgcn_predictor_keep_hidden(pgcn_predictor *predictor);
PGCN_API int64_t pgcn_predictor_hidden_bytes(pgcn_predictor *predictor);
/* What it takes besides model and data, kept rows included, as of the last question; and how many nodes that question
 * has read, 0 where the network cannot be computed in parts and all of the graph was. */
PGCN_API int64_t pgcn_predictor_bytes(const pgcn_predictor *predictor);
PGCN_API int64_t pgcn_predictor_rows(const pgcn_predictor *predictor);

/* The result of one layer, as pgcn_model_layers() shows it. */
typedef struct pgcn_layer {
    int draw; /* of the inference, from 0 */
    int layer; /* 0: what goes into the first layer; l: what layer l makes of it (docs/NETWORKS.md) */
    bool is_logits; /* the last one: the logits */
    bool of_graphs; /* rows are graphs, not nodes */
    int64_t rows, channels;
    const pgcn_node *item; /* [rows] their numbers in the data set; NULL: 0, 1, 2, ... */
    const float *value;    /* [rows, channels] */
} pgcn_layer;
/* Shows the activations of every layer of a model on a data set to see(context, layer), in the thread of the call:
 * the layers in ascending order, for every draw, and of a set of graphs for one batch of them after the other. All
 * that a pgcn_layer points to is borrowed until `see` returns. False ends the call with PGCN_ERR_STOPPED. `data` and
 * `inference` are those of pgcn_model_predict(); memory does not grow with the number of layers. */
PGCN_API pgcn_status pgcn_model_layers(const pgcn_model *model, const pgcn_dataset *data,
                                       const pgcn_inference *inference,
                                       bool (*see)(void *context, const pgcn_layer *layer),
                                       void *context);

/* What a model scores on a part of the nodes or graphs, in percent. Of several labels, accuracy is
 * the micro-averaged F1 and loss the sum over the labels. */
typedef struct pgcn_score {
    double accuracy;       /* of the prediction: the mean of the probabilities over the draws */
    double draw_accuracy;  /* mean over the draws of the accuracy of a single one */
    double draw_deviation; /* and its standard deviation; 0 when deterministic */
    double loss;           /* mean cross-entropy of the prediction */
    double balanced_accuracy, macro_f1, auc,
        average_precision; /* of the prediction: pgcn_measure */
    double majority; /* accuracy of always predicting the most frequent class of the training items,
                        where several tie the one that most of these items have;
                        of several labels those that most of them have. NaN if the data does not
                        have the split of the training */
    int classes_missed; /* classes that these items have and that is predicted for none of them */
    int first_missed;   /* the first of them, -1: none */
    int64_t items;      /* that have a label and were scored */
    /* Where nodes of several graphs have labels, as of PPI; else NaN, 0 and 0. Accuracy is that of all nodes
     * together; this is the mean over the graphs that have such nodes of the accuracy of the nodes of each. */
    double graph_accuracy;
    int64_t graphs;      /* that have such nodes */
    int64_t graph_nodes; /* that these graphs have, with the nodes that were not scored */
} pgcn_score;
/* One of its measures, by number; NaN if there is no such measure. */
PGCN_API double pgcn_score_measure(const pgcn_score *score, pgcn_measure measure);
/* Scores of the best weights so far on the validation and test items, as the epochs evaluate them:
 * the accuracies are those of the history. Where there is no test, all of it is NaN. draw_* are those
 * of the prediction. Allocates and frees what it needs; takes as long as the evaluation of an epoch. */
PGCN_API pgcn_status pgcn_trainer_scores(pgcn_trainer *trainer, pgcn_score *val, pgcn_score *test);
/* Whether the data has the split that a model was trained on. Splits are compared by their masks:
 * two of the same name may train on different nodes. */
typedef enum pgcn_split_match {
    PGCN_SPLIT_SAME = 0,   /* the same training and validation items: test items are held out */
    PGCN_SPLIT_OTHER = 1,  /* a split of that name with other training or validation items */
    PGCN_SPLIT_NONE = 2,   /* no such masks and no split of that name */
    PGCN_SPLIT_BY_NAME = 3 /* a model of pathgcn 0.1, which did not keep masks: one of that name */
} pgcn_split_match;
typedef struct pgcn_scores {
    pgcn_score train, val, test; /* of the split that the model was trained on; NaN if the data does
                                    not have it (PGCN_SPLIT_OTHER, PGCN_SPLIT_NONE) */
    pgcn_score all;              /* everything that has a label */
    pgcn_split_match split_match;
    int split; /* the split of the data that was scored, as for pgcn_dataset_split(); -1: none */
} pgcn_scores;
/* Scores on `data`, which may be other data than the model was trained on. Classes are found by their
 * names, feature columns too where they have names; an unknown one is an error. */
PGCN_API pgcn_status pgcn_model_evaluate(const pgcn_model *model, const pgcn_dataset *data,
                                         const pgcn_inference *inference, pgcn_scores *out);

/* ---- verdicts ------------------------------------------------------------------------------ */

/* More than a figure: class by class, and how far probabilities can be trusted. docs/FORMATS.md has the
 * definitions. */
typedef struct pgcn_verdict pgcn_verdict;

typedef enum pgcn_part {
    PGCN_PART_TRAIN = 0,
    PGCN_PART_VAL = 1,
    PGCN_PART_TEST = 2,
    PGCN_PART_ALL = 3 /* everything that has a label */
} pgcn_part;
#define PGCN_PARTS 4
/* "train", "val", "test", "all"; "" if there is no such part. And back: false, *out as it is. */
PGCN_API const char *pgcn_part_name(pgcn_part part);
PGCN_API bool pgcn_part_parse(const char *name, pgcn_part *out);

/* A class, or one of several labels, of a part. Shares in percent; NaN where they are not defined. */
typedef struct pgcn_class_score {
    int64_t support;   /* items of the class, or with the label */
    int64_t predicted; /* items that it is predicted for */
    int64_t hits;      /* of these, those that are of it */
    double precision;  /* hits of predicted */
    double recall;     /* hits of support */
    double f1;         /* harmonic mean of the two */
} pgcn_class_score;

/* Predictions by their confidence: bin b holds those from b / PGCN_CALIBRATION_BINS on. */
#define PGCN_CALIBRATION_BINS 15
typedef struct pgcn_calibration_bin {
    int64_t items;
    double confidence; /* mean probability of what is predicted, in percent; NaN without items */
    double accuracy;   /* how often that is right */
} pgcn_calibration_bin;

/* All pointers are borrowed from the verdict. */
typedef struct pgcn_judgement {
    int64_t items; /* 0: the part is empty, or the data does not have the split of the training */
    int classes;
    double log_loss; /* mean over the items of -log of the probability of the true class; of several
                        labels summed over them */
    double brier; /* mean over the items of the sum of (probability - truth)^2 over the classes; of
                        several labels the mean over them */
    double calibration_error; /* mean distance of confidence and accuracy over the bins, weighted by
                                 their items, in percent */
    double micro_f1;          /* in percent; of one class per item it is the accuracy */
    double
        graph_f1; /* mean over the graphs of the micro-averaged F1 of their nodes: graph_accuracy of the
                         score */
    int64_t graphs;                   /* with an item in the part */
    const pgcn_class_score *of_class; /* [classes] */
    const int64_t *confusion;         /* [classes, classes] true class, predicted class; NULL of
                                          several labels */
    const pgcn_calibration_bin *bin;  /* [PGCN_CALIBRATION_BINS] */
} pgcn_judgement;

/* pgcn_model_evaluate() and the verdict on every part, of one inference.
 *   scores  may be NULL.
 *   out     the caller's: pgcn_verdict_free(). Classes are those of the model. */
PGCN_API pgcn_status pgcn_model_judge(const pgcn_model *model, const pgcn_dataset *data,
                                      const pgcn_inference *inference, pgcn_scores *scores,
                                      pgcn_verdict **out);
/* The same of the mean of several models (pgcn_models_predict()), all trained on one split. draw_accuracy and
 * draw_deviation of a score are those of single models. */
PGCN_API pgcn_status pgcn_models_judge(const pgcn_model *const *model, int count,
                                       const pgcn_dataset *data, const pgcn_inference *inference,
                                       pgcn_scores *scores, pgcn_verdict **out);
/* All zero for NULL and for a part that does not exist. */
PGCN_API pgcn_judgement pgcn_verdict_part(const pgcn_verdict *verdict, pgcn_part part);
PGCN_API void pgcn_verdict_free(pgcn_verdict *verdict);

/* ---- explanations -------------------------------------------------------------------------- */

/* Which nodes, over how many links, and which of their features make a prediction. With the ReLUs as open
 * as they are, and coefficients of attention as they are, a network is affine: its logit is the sum of
 * what features of nodes contribute and of constants, its biases and the shifts of its norms.
 * docs/EXPLAIN.md has the equations, and says what else is held fixed. */
typedef struct pgcn_explain_opts {
    size_t size;
    int target; /* the class, or one of several labels; -1: the most probable one */
    int against; /* what is explained is the logit of `target` minus that of this class; -1: the logit */
    int hops; /* contributions from this many hops and more are told together; 0..1000 */
    int64_t
        pairs; /* features of nodes that are listed, the strongest; those left out are in the sums */
    int removals; /* of the strongest nodes: what would be predicted without their links; 0: none */
    bool mask;    /* links are removed and degrees, and so the weights of other links, stay */
    bool sampled; /* one draw of paths in place of the exact form; always so of node2vec walks */
    uint64_t seed; /* of that draw */
    int threads;   /* 0: one per core; no influence on the result */
} pgcn_explain_opts;
/* The predicted class, up to 16 hops, 100 pairs, 5 removals, exact. */
PGCN_API pgcn_explain_opts pgcn_explain_opts_default(void);

/* What the features of a node contribute. */
typedef struct pgcn_node_share {
    pgcn_node node;
    int distance; /* links from the node explained, the way the network reads them; -1: none lead there,
                     or a graph is explained */
    double sum;
    double residual;      /* of it, by paths through a residual connection */
    const double *of_hop; /* [hops + 1] all of it, by the hops of all layers together */
} pgcn_node_share;
/* What a feature contributes, at one node or at all nodes together. */
typedef struct pgcn_feature_share {
    pgcn_node node; /* -1: all nodes */
    int64_t column; /* of the model: pgcn_model_feature_name() */
    double value;   /* of the feature as the network reads it, after normalise; 0 of all nodes */
    double sum;
} pgcn_feature_share;
/* What a constant of the network contributes. */
typedef struct pgcn_constant_share {
    char name[48]; /* "embed.bias", "layers.0.norm" */
    bool is_norm;  /* the shift and the mean of a norm; otherwise a bias or a threshold */
    double sum;
} pgcn_constant_share;
/* The prediction without the links of some nodes. */
typedef struct pgcn_removal {
    int64_t nodes;
    const pgcn_node *node;    /* [nodes]; the explained one alone: it has no links left itself */
    int64_t links;            /* removed, between two nodes each */
    double logit;             /* what `logit` of the explanation is there */
    int predicted;            /* the most probable class or label */
    const float *probability; /* [classes] */
} pgcn_removal;

/* All pointers belong to the explanation. Lists are ordered by the size of their sums, the largest
 * first, and only hold what is not 0. */
typedef struct pgcn_explanation {
    int64_t item; /* the node or graph */
    bool is_graph;
    int classes, target, against; /* against: -1, none */
    int predicted;                /* the most probable class or label */
    double logit;                 /* what is explained, by the network, */
    double sum;                   /* and the sum of all contributions: the same up to rounding */
    const float *logits, *probability; /* [classes] */
    bool sampled;                      /* of one draw of paths, */
    uint64_t seed;                     /* this one */
    bool masked;                       /* removals keep degrees */
    /* the sum by what contributes: */
    double features; /* of nodes, along the layers */
    double residual; /* of nodes, by paths through a residual connection */
    double biases, norms;
    int hops;
    const double *of_hop; /* [hops + 1] of nodes; the last one has those from further, too */
    int64_t nodes;
    const pgcn_node_share *node;
    int64_t columns;
    const pgcn_feature_share *feature; /* [columns] of all nodes together */
    int64_t pairs;
    const pgcn_feature_share *pair; /* [pairs] of one node each */
    int constants;
    const pgcn_constant_share *constant;
    int removals;
    const pgcn_removal
        *removal; /* each of the strongest nodes; all of them; the explained node's own */
} pgcn_explanation;

/* Explains the prediction of a node, or of a graph where the model classifies graphs.
 *   item  number of the node or graph in `data`.
 *   opts  NULL for the default.
 *   out   the caller's: pgcn_explanation_free().
 * The data need not be what the model was trained on. A removal takes the links of a node away, weights
 * those of the others anew by the degrees that are left (unless `mask`) and predicts again; features
 * stay. Errors: PGCN_ERR_ARGUMENT, and those of pgcn_model_predict(). Cost: a prediction, and back through
 * it once for every hop; a prediction more for every removal. */
PGCN_API pgcn_status pgcn_model_explain(const pgcn_model *model, const pgcn_dataset *data,
                                        int64_t item, const pgcn_explain_opts *opts,
                                        pgcn_explanation **out);
PGCN_API void pgcn_explanation_free(pgcn_explanation *explanation);

#ifdef __cplusplus
}
#endif
#endif
