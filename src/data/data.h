/* data: graphs with features, labels and splits, in any of the formats that are read.
 *
 * Comes in: a name, a path or the caller's arrays. load.c finds the reader of the format (formats.c
 * lists them), which turns files into a pgcn_i_source: the arrays as they are in the files. check.c
 * checks them, prepare.c applies the named steps (largest component, features from degrees, new
 * splits), and dataset.c makes the pgcn_dataset. Goes out: one pgcn_dataset. Every later room may
 * trust its ids, labels and masks, and that all features are finite.
 * Next room: paths, then nn and train. */
#ifndef PGCN_DATA_H
#define PGCN_DATA_H

#include "base/base.h"
#include "base/rng.h"
#include "graph/graph.h"
#include "io/io.h"

/* Features: sparse (CSR) or dense, never both. columns = 0: there are none. */
typedef struct pgcn_i_features {
    int64_t n, columns;
    int64_t nonzeros;      /* sparse: stored entries; dense: counted by check.c */
    const int64_t *offset; /* [n+1], NULL when dense */
    const int32_t *column; /* [nonzeros] ascending in a row */
    const float *value;    /* [nonzeros] */
    const float *dense;    /* [n, columns], NULL when sparse */
    /* Nodes that the source has no row for: their entries are zero here, and become the mean of the
     * training nodes when a model reads them (src/nn/input.c). NULL: there are none. */
    const uint8_t *absent; /* [n] 0 or 1 */
    const uint8_t *made; /* [columns] 1: made by a step, absent nodes have it too; NULL: none was */
    /* Of a file that arrays may lie in: its pages may be given back once they were copied. NULL: none */
    const void *mapping;
    int64_t mapping_bytes;
    /* Dense features of a container that is opened within a bound of memory: they stay in the file, `dense` is
     * NULL, and whoever reads rows opens it again (pgcn_i_row_file_again). Owned by the source. NULL: in memory. */
    struct pgcn_i_row_file *file;
} pgcn_i_features;

/* Items are nodes, or graphs where graphs are classified. */
typedef struct pgcn_i_split {
    char name[16];        /* "public", "0", "1", ... */
    const uint8_t *train; /* [items] */
    const uint8_t *val;
    const uint8_t *test;
} pgcn_i_split;

/* A table of strings: name i begins at text + offset[i] and ends with a NUL. count = 0: no names, the
 * numbers 0, 1, ... are the names. */
typedef struct pgcn_i_names {
    int64_t count;
    const int64_t *offset; /* [count+1] */
    const char *text;      /* [offset[count]] */
} pgcn_i_names;

enum { PGCN_I_MAX_NOTES = 8 };

/* What a reader found. It fills the fields that its files have and leaves the others zero. All
 * arrays live in `arena` (edges in `edge_arena`, which is freed when the graph is built). Readers
 * check what is special to their files (that every array fits its file, line numbers in errors);
 * ranges and finiteness are checked by check.c for all formats. */
typedef struct pgcn_i_source {
    pgcn_i_arena arena, edge_arena;
    const char *format; /* "Planetoid pickles": static text */
    int64_t nodes;

    /* the graph: edges in the order of the file, or a finished graph */
    int64_t edges;
    const pgcn_node *edge_from, *edge_to; /* [edges] */
    const float *edge_weight;             /* [edges] or NULL */
    const int32_t *edge_label; /* [edges] or NULL: codes; read, but used by no model yet */
    const char *edge_file;     /* their file, for errors: "edges.npy"; static text, or NULL */
    bool directed;             /* a -> b does not imply b -> a; the step `directed` may keep that */
    int64_t dropped_self_loops; /* nodes whose self-loop was dropped: counted by prepare.c */
    pgcn_graph *graph;          /* or this, owned; then edge_from and edge_to are NULL */

    pgcn_i_features x;  /* given features; node attributes of graph sets */
    bool made_features; /* some columns were made: by features=, or because none were given */
    /* The default made them: no step asked for it. Then these are what was given, so that later steps
     * (pgcn_dataset_prepare) begin with them, as they do when the data is loaded. */
    bool default_features;
    pgcn_i_features given;
    pgcn_i_names given_name;
    const int32_t *node_label; /* [nodes] codes from 0, of graph sets: features=labels; or NULL */
    pgcn_i_names node_label_name; /* names of the codes, as in the file */

    /* the targets: label, or labels, or graph_label, or none of them */
    const int32_t *label;       /* [nodes] one class each, -1: not known */
    const uint8_t *labels;      /* [nodes, classes] 0 or 1, several may be 1 */
    const uint8_t *label_known; /* [nodes] only with `labels`; NULL: all are known */
    int classes;                /* 0: the largest label + 1 */
    int64_t graphs;             /* 0: one graph */
    const int32_t *graph_of;    /* [nodes] 0..graphs-1; ascending where graphs are classified */
    const int32_t *graph_label; /* [graphs] */
    const int32_t *fold;        /* [graphs] the published test fold, -1: in none; or NULL */

    int splits;
    pgcn_i_split *split;
    const char *split_origin; /* "ten Geom-GCN splits (48/32/20)": static text, or NULL */
    const char *split_file;   /* file of the splits, for errors; NULL: they were made */
    bool default_splits;      /* nobody gave them or asked for them (pgcn_i_make_missing_splits) */
    bool no_test;             /* the splits have no test items (crossval, arrays without a mask) */
    bool no_val;              /* nor validation items: arrays without a mask */

    /* the step `order` permutes the rows of all arrays. NULL: row i is node number i */
    const pgcn_node *number; /* [nodes] number[row]: the number of the node before the step */
    const pgcn_node *row;    /* [nodes] the inverse, row[number] */

    int groups; /* of nodes, at most, that sums over rows are made by (base.h); 0: PGCN_GROUPS */

    pgcn_i_names node_id, class_name, feature_name;
    const char
        *encoder; /* JSON: how columns of a table became features (encode.h); NULL: as they are */
    int notes;    /* facts that are reported to the user, one sentence each */
    const char *note[PGCN_I_MAX_NOTES]; /* static text or in `arena` */
    char fingerprint[65];               /* stored in a container; else empty */
    const char *own_name;               /* of a container: the name it was saved under; else NULL */
    const char *own_steps;              /* and the steps applied before it was saved; or NULL */
    const char *container_path;         /* of a container, to verify it; in `arena` */
    pgcn_i_dtype store; /* of a container: the type that its features have there; 0: float32 */
    void *mapping;      /* of a container: arrays point into it; owned */
    int64_t mapping_bytes;
    int64_t
        memory; /* what a process may use that trains on it, set before a container is read; 0: no bound */
    int64_t before; /* what it used before this was loaded, if there is a bound */
    bool bounded;   /* pgcn_i_pages_bound() was called */
} pgcn_i_source;

/* source.c: functions that readers share. */
void pgcn_i_source_free(pgcn_i_source *source);
pgcn_status pgcn_i_source_note(pgcn_i_source *source, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A note if float32 does not hold all digits of an array that was converted. */
pgcn_status pgcn_i_source_note_rounded(pgcn_i_source *source, const char *file, bool rounded);
/* Class codes of any value become 0.. in ascending order of the code. Codes equal to `missing` become
 * -1 (INT64_MIN: there are none). */
typedef struct pgcn_i_class_codes {
    const int64_t *code;
    int64_t count;
    int64_t missing;
} pgcn_i_class_codes;
/* The codes as text are the names, unless they are 0..C-1 already or `names` is NULL. */
pgcn_status pgcn_i_source_number_classes(pgcn_i_source *source, pgcn_i_class_codes codes,
                                         const int32_t **out, int *classes, pgcn_i_names *names);
/* Appends a split, named by its number, and returns its masks, all zero; the caller fills them. */
pgcn_status pgcn_i_source_masks(pgcn_i_source *source, int64_t items, uint8_t *mask[3]);
/* Removes nodes without a label from all masks (which must be in the source's arena): they can be
 * neither learnt nor scored. (The Geom-GCN masks of citeseer hold its 15 unlabelled nodes.) */
void pgcn_i_source_unmask(pgcn_i_source *source);
/* Sets a dense matrix [n, columns] as features: kept dense, or stored as CSR if at most a tenth of
 * it is not zero. `dense` is in source->arena already. */
pgcn_status pgcn_i_source_features(pgcn_i_source *source, const float *dense, int64_t n,
                                   int64_t columns);

/* A table of copies of `count` texts. */
pgcn_status pgcn_i_names_copy(pgcn_i_arena *arena, const char *const *text, int64_t count,
                              pgcn_i_names *out);

/* An entry of a sparse row. pgcn_i_sort_row() sorts a row by column. */
typedef struct pgcn_i_entry {
    int32_t column;
    float value;
} pgcn_i_entry;
void pgcn_i_sort_row(pgcn_i_entry *row, int64_t count);

/* The number of items, and whether one has a label. */
int64_t pgcn_i_source_items(const pgcn_i_source *source);
bool pgcn_i_source_has_label(const pgcn_i_source *source, int64_t item);
/* Whether the classes look like numbers to predict: all are numbers, more than twenty, with fewer
 * than two labelled items each on average (ten, if some have a fraction). Then the macro below is
 * the advice. */
bool pgcn_i_source_has_numbers(const pgcn_i_source *source);
#define PGCN_I_NO_REGRESSION                                                                       \
    "if they are numbers to predict, that is regression, which is not supported; put them into a " \
    "few classes first, such as low, middle and high"

/* ---- the steps (steps.c, prepare.c, features.c, splits.c) ------------------------------------ */

/* How a step makes splits. The rules are in pgcn_i_split_rules. */
typedef enum pgcn_i_split_kind {
    PGCN_I_SPLIT_AS_GIVEN = 0, /* no step: the splits of the source */
    PGCN_I_SPLIT_STRATIFIED,
    PGCN_I_SPLIT_RANDOM,
    PGCN_I_SPLIT_PER_CLASS,
    PGCN_I_SPLIT_KFOLD,
    PGCN_I_SPLIT_CROSSVAL, /* folds without test items */
    PGCN_I_SPLIT_FAIR,     /* folds of a file */
    PGCN_I_SPLIT_KINDS
} pgcn_i_split_kind;

/* Kinds of feature columns; flags of pgcn_i_steps.features. */
typedef enum pgcn_i_feature_kind {
    PGCN_I_FEATURES_OWN = 1, /* those of the source */
    PGCN_I_FEATURES_LABELS = 2,
    PGCN_I_FEATURES_DEGREES = 4,
    PGCN_I_FEATURES_IDENTITY = 8,
    PGCN_I_FEATURES_ADJACENCY = 16
} pgcn_i_feature_kind;

typedef enum pgcn_i_node_order {
    PGCN_I_NODE_ORDER_KEEP = 0, /* no step: the order of the source */
    PGCN_I_NODE_ORDER_DEGREE,
    PGCN_I_NODE_ORDER_RCM,
    PGCN_I_NODE_ORDER_COMMUNITY,
    PGCN_I_NODE_ORDER_RANDOM,
    PGCN_I_NODE_ORDER_PARTS, /* part by part, as many parts as groups: built in, */
    PGCN_I_NODE_ORDER_METIS, /* and by METIS */
    PGCN_I_NODE_ORDERS
} pgcn_i_node_order;

enum { PGCN_I_FAIR_BYTES = 160 }; /* the name of a data set has room for it beside other steps */

/* The steps after the colon of a name, or of --prepare: "directed,largest-
 * component,features=own+degrees,stratified=60/20/20,splits=5,split-seed=1, order=community". All
 * zero: no step. */
typedef struct pgcn_i_steps {
    bool directed, symmetrise, self_loops, largest_component;
    unsigned features; /* pgcn_i_feature_kind flags; 0: the default of the data */
    pgcn_i_split_kind split_kind;
    /* of train, val, test: fractions; for per-class counts (of train: per class) */
    double split[3];
    int split_count; /* number of splits to make, or of folds; 0: not given */
    uint64_t split_seed;
    char fair[PGCN_I_FAIR_BYTES]; /* the file of PGCN_I_SPLIT_FAIR; "": none */
    char only_split[16]; /* auto, public, numbered or a number: the others are dropped; "": none */
    bool without_test;
    pgcn_i_node_order order;
    int groups; /* of nodes, at most, that sums are made by; 0: as it is */
} pgcn_i_steps;

/* steps.c. An error if a list "a=1,b,a=2" gives one key two different values. */
pgcn_status pgcn_i_check_repeats(const char *list);
/* Reads a list of steps over what is in `out` (start from zero). *known = false, and no error, if a
 * word is no step: then a colon may be part of a path. */
pgcn_status pgcn_i_steps_parse(const char *text, pgcn_i_steps *out, bool *known);
/* The same, where the text can be nothing else; NULL is no step. */
pgcn_status pgcn_i_steps_need(const char *text, pgcn_i_steps *steps);
/* How many splits, or folds, to make: the number given, or the default. */
int pgcn_i_split_count(const pgcn_i_steps *steps);
enum { PGCN_I_STEPS_TEXT = 512 };
void pgcn_i_steps_text(const pgcn_i_steps *steps, char out[PGCN_I_STEPS_TEXT]); /* canonical */
/* Appends them, after `mark`, to the name of a data set in `bytes` bytes: a model remembers which graph
 * it was trained on. No step leaves the name as it is. */
void pgcn_i_steps_name(const pgcn_i_steps *steps, const char *mark, char *name, size_t bytes);
/* Whether a list of steps that were applied has one that leaves no test items. */
bool pgcn_i_steps_remove_test(const char *text);

/* prepare.c. Makes source->graph of the edges and frees their arrays, which would be the peak of
 * memory. */
pgcn_status pgcn_i_prepare_graph(pgcn_i_source *source, const pgcn_i_steps *steps,
                                 const char *where);
/* The other steps, on a source whose graph, features and labels were checked. */
pgcn_status pgcn_i_prepare(pgcn_i_source *source, const pgcn_i_steps *steps, const char *where);

/* features.c: the step features=, or the default for the data. The names of made columns are one of
 * these prefixes and a node label or a degree. */
#define PGCN_I_LABEL_COLUMN  "label="
#define PGCN_I_DEGREE_COLUMN "degree="
pgcn_status pgcn_i_make_features(pgcn_i_source *source, const pgcn_i_steps *steps,
                                 const char *where);

/* hide.c: the steps only-split and without-test, after all splits are made and checked. */
pgcn_status pgcn_i_hide(pgcn_i_source *source, const pgcn_i_steps *steps, const char *where);

/* The last step, `order`: renumbers the nodes. All other steps and checks come before it. */
/* How many groups of nodes sums over rows are made by, at most. */
static inline int pgcn_i_source_groups(const pgcn_i_source *source) {
    return source->groups > 0 ? source->groups : PGCN_GROUPS;
}
pgcn_status pgcn_i_order_nodes(pgcn_i_source *source, const pgcn_i_steps *steps, const char *where);
/* Undoes the step `order`, for files that other programs read: `out` has the nodes of `from` in
 * their original order. Borrows arrays that do not change; free with pgcn_i_source_free(). */
pgcn_status pgcn_i_order_undone(const pgcn_i_source *from, pgcn_i_source *out);

/* splits.c: one rule for each kind of split, indexed by the kind. */
typedef enum pgcn_i_split_value {
    PGCN_I_SPLIT_FRACTIONS, /* 60/20/20 */
    PGCN_I_SPLIT_COUNTS,    /* 20/500/1000 */
    PGCN_I_SPLIT_FOLDS,     /* 10 */
    PGCN_I_SPLIT_FILE       /* NCI1.json */
} pgcn_i_split_value;
typedef struct pgcn_i_split_rule {
    const char *name;   /* of the step: "kfold" */
    const char *origin; /* what is reported about splits of this kind */
    pgcn_i_split_value value;
    int fewest_folds; /* of PGCN_I_SPLIT_FOLDS */
    pgcn_status (*make)(pgcn_i_source *source, const pgcn_i_steps *steps, pgcn_i_arena *scratch);
} pgcn_i_split_rule;
extern const pgcn_i_split_rule pgcn_i_split_rules[PGCN_I_SPLIT_KINDS];
/* fair.c: the rule of PGCN_I_SPLIT_FAIR. */
pgcn_status pgcn_i_split_as_published(pgcn_i_source *source, const pgcn_i_steps *steps,
                                      pgcn_i_arena *scratch);
/* Replaces the splits by those of steps->split_kind. */
pgcn_status pgcn_i_make_splits(pgcn_i_source *source, const pgcn_i_steps *steps);
/* Makes the default splits of a source that has none: percentages of the nodes, or folds of the
 * graphs (the published ones if there are any). With too few labels it makes none, and training
 * will report that. */
enum { PGCN_I_DEFAULT_SPLITS = 10 };
pgcn_status pgcn_i_make_missing_splits(pgcn_i_source *source);
/* Splits by quotas. In a random order of the items, the first quota[0][c] items of class c train, the
 * next quota[1][c] validate and the next quota[2][c] test (NULL: all others). */
typedef struct pgcn_i_quotas {
    int64_t items;
    const int32_t *class_of; /* [items], -1: in no part */
    int classes;
    const int64_t *quota[3]; /* [classes] each */
} pgcn_i_quotas;
/* Appends `count` such splits to those of the source. */
pgcn_status pgcn_i_draw_splits(pgcn_i_source *source, const pgcn_i_quotas *quotas, uint64_t seed,
                               int count);
/* The purpose of a random number of this room; it is the `layer` of its counter. */
typedef enum pgcn_i_draw {
    PGCN_I_DRAW_ORDER = 0,
    PGCN_I_DRAW_EDGE = 1,
    PGCN_I_DRAW_MEAN = 2,
    PGCN_I_DRAW_FEATURE = 3,
    PGCN_I_DRAW_SPLIT = 4,
    PGCN_I_DRAW_STEP = 5 /* order=random; differs from the shuffle of the built-in sets */
} pgcn_i_draw;
pgcn_i_rng_domain pgcn_i_data_domain(uint64_t seed, pgcn_i_draw what, int number);
void pgcn_i_shuffle(pgcn_i_rng_domain domain, int64_t n, pgcn_node *order); /* of 0..n-1 */

/* ---- readers, one file per format (formats.c has the table) ---------------------------------- */

/* `detect` tells whether `path` (a file or a directory) looks like this format, by names and first
 * bytes only. `read` fills `source` (zero on entry; the caller frees it, also after a failure). */
typedef bool (*pgcn_i_format_detect)(const char *path);
typedef pgcn_status (*pgcn_i_format_read)(const char *path, const pgcn_i_steps *steps,
                                          pgcn_i_source *source);
typedef struct pgcn_i_format {
    const char *name;    /* "planetoid" */
    const char *summary; /* "ind.NAME.* pickles of Planetoid" */
    pgcn_i_format_detect detect;
    pgcn_i_format_read read;
} pgcn_i_format;
extern const pgcn_i_format pgcn_i_formats[]; /* in the order they are tried; name NULL at the end */
const pgcn_i_format *pgcn_i_format_find(const char *path); /* NULL: none detects it */

#define PGCN_I_READER(name)                                                                        \
    bool pgcn_i_##name##_detect(const char *path);                                                 \
    pgcn_status pgcn_i_##name##_read(const char *path, const pgcn_i_steps *steps,                  \
                                     pgcn_i_source *source)
PGCN_I_READER(container);     /* container.c: our own file */
PGCN_I_READER(folder);        /* folder.c: .npy files of docs/FORMATS.md, one graph or many */
PGCN_I_READER(planetoid);     /* planetoid.c: ind.NAME.* */
PGCN_I_READER(geom);          /* geom.c: out1_*.txt of Geom-GCN */
PGCN_I_READER(tu);            /* tu.c: NAME_A.txt, ... of TU Dortmund */
PGCN_I_READER(gin);           /* gin.c: NAME.txt with 10fold_idx */
PGCN_I_READER(npz_graph);     /* npz_graph.c: gnn-benchmark and heterophilous-graphs */
PGCN_I_READER(ogb);           /* ogb.c: raw/edge.csv.gz, ... of OGB node properties */
PGCN_I_READER(wikics);        /* wikics.c: data.json */
PGCN_I_READER(graphsage);     /* graphsage.c: PREFIX-G.json, ... */
PGCN_I_READER(dgl_ppi);       /* dgl_ppi.c: train_graph.json, train_feats.npy, ... */
PGCN_I_READER(matrix_market); /* matrix_market.c: .mtx */
PGCN_I_READER(edge_list);     /* edge_list.c: two or three columns of text */
#undef PGCN_I_READER
/* The same, where the user says whether the first line is a header. */
pgcn_status pgcn_i_edge_list_read_as(const char *path, pgcn_header header, pgcn_i_source *source);

/* own_files.c: a user's graph in text files (features also .npy); all but `edges` may be NULL. The
 * fields are those of pgcn_dataset_files. */
struct pgcn_i_id_map;
/* The content of a file, which decides how a header is recognised. */
typedef enum pgcn_i_role {
    PGCN_I_ROLE_EDGES,
    PGCN_I_ROLE_FEATURES,
    PGCN_I_ROLE_LABELS,
    PGCN_I_ROLE_SPLITS
} pgcn_i_role;
enum { PGCN_I_ROLES = 4 };
typedef struct pgcn_i_own_files {
    const char *edges, *features, *labels, *splits;
    pgcn_header header[PGCN_I_ROLES];
    pgcn_unknown_ids unknown_ids;
    const char *id, *from, *to, *weight, *label, *use, *ignore;
    pgcn_decimal decimal;
    pgcn_encode encode;
    const char *encoder;
    const struct pgcn_i_id_map
        *learn_from; /* ids of the rows that rules are learnt from; NULL: all */
} pgcn_i_own_files;
pgcn_status pgcn_i_own_files_read(const pgcn_i_own_files *files, pgcn_i_source *source);

/* encode.c: whether a text is such JSON as source->encoder. `where` is for errors. */
pgcn_status pgcn_i_encoder_check(const char *where, const char *text);

/* store.c: features in a narrower type, as a container may hold them. */
typedef struct pgcn_i_store {
    pgcn_i_dtype dtype;
    const pgcn_i_features *x; /* their float32 values; when reading only their columns */
    const float *scale;       /* [columns] of int8 */
} pgcn_i_store;
/* Finds the scales, which are kept in the arena. */
pgcn_status pgcn_i_store_open(const pgcn_i_features *x, pgcn_i_dtype dtype, pgcn_i_arena *arena,
                              pgcn_i_store *out);
/* Stored numbers first .. first + count - 1: entries of x->dense, or of x->value. */
pgcn_status pgcn_i_store_encode(const pgcn_i_store *store, int64_t first, int64_t count, void *to);
void pgcn_i_store_decode(const pgcn_i_store *store, const void *from, int64_t first, int64_t count,
                         float *to);
/* All of them as float32, in the arena. */
pgcn_status pgcn_i_store_read(const pgcn_i_store *store, const void *stored, pgcn_i_arena *arena,
                              const float **out);

/* kept.c: under pgcn_memory_bound() what was read is kept, so that a conversion that was interrupted later goes
 * on from there. `key` names the source, its options and the state of its files; NULL or "": nothing is kept. */
typedef struct pgcn_i_text_list {
    char *text; /* NULL: empty */
    int64_t bytes;
} pgcn_i_text_list;
pgcn_status pgcn_i_text_list_add(pgcn_i_text_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void pgcn_i_text_list_free(pgcn_i_text_list *list);
/* Adds name, length and time of a file, of several with commas between them, or of all in a folder. */
pgcn_status pgcn_i_kept_add_files(pgcn_i_text_list *key, const char *path);
pgcn_status pgcn_i_kept_find(const char *key, pgcn_i_source *source, bool *found);
pgcn_status pgcn_i_kept_save(const pgcn_i_source *source);

/* container.c: the rows of the dense features of a container, to be read one by one (io/rows.c). An error
 * where the features are sparse: those are mapped. */
pgcn_status pgcn_i_container_rows(const char *path, pgcn_i_row_way way, pgcn_i_row_file **out);
/* container.c: the graph of a container, mapped, and nothing else of it: for a reader that takes the features
 * row by row. Fills source->graph; free with pgcn_i_source_free(). */
pgcn_status pgcn_i_container_graph(const char *path, pgcn_i_source *source);
/* container.c: the bytes that its features take when they are decoded; 0: they are mapped. */
int64_t pgcn_i_container_decoded(const char *path);
/* Whether its features are dense, and may stay on disk. */
bool pgcn_i_container_is_dense(const char *path);
/* container.c: fails unless the bytes of the file have the SHA-256 that is stored in it. */
pgcn_status pgcn_i_container_verify(const char *path);

/* geom.c: appends the splits of the files splits/NAME_split_0.6_0.2_I.npz, if there are any, and
 * removes unlabelled nodes from the masks. */
pgcn_status pgcn_i_geom_splits(const char *directory, pgcn_i_source *source);

/* ---- checks (check.c) ------------------------------------------------------------------------- */

/* Everything that a reader may have got wrong, before any step uses it. `where` names the source. */
pgcn_status pgcn_i_check_source(const char *where, pgcn_i_source *source);
/* The masks, when all splits are made. */
pgcn_status pgcn_i_check_splits(const char *where, const pgcn_i_source *source);
/* Whether a step left no test items: one of this load, or one that was applied before it was saved. */
bool pgcn_i_source_has_no_test(const pgcn_i_source *source);

/* ---- data sets (dataset.c, load.c, arrays.c) --------------------------------------------------- */

struct pgcn_dataset {
    pgcn_i_source from; /* read, prepared and checked; owns every array but borrowed ones */
    void (*release)(void *owner); /* of features that are the caller's; NULL: there are none */
    void *owner;
    char *name;
    char steps[PGCN_I_STEPS_TEXT];
    pgcn_task task;
    /* shortcuts into `from` for the rooms below */
    pgcn_graph *graph;
    pgcn_i_features x;
    const int32_t *label; /* [n], -1: none; NULL unless nodes have one class each */
    int classes;
    int splits;
    pgcn_i_split *split;
    bool without_test; /* no split has test items, by a step now or before it was saved */
    bool without_val;  /* nor validation items: the weights of the last epoch are kept */
    char fingerprint[65];
    pgcn_dataset_info info; /* counted once, while everything is checked */
};

/* "nodes" or "graphs": what has a label. */
static inline const char *pgcn_i_items_name(const pgcn_dataset *data) {
    return data->task == PGCN_TASK_GRAPH ? "graphs" : "nodes";
}
/* PGCN_ERR_ARGUMENT if the features stay in their file: `what`, "saving it", needs them all. */
pgcn_status pgcn_i_need_features(const pgcn_dataset *data, const char *what);
/* Builds the graph, checks the source, applies the steps and computes the fingerprint. `where`
 * names the source in errors ("data/cora"). Takes ownership of `source`, also on failure. */
pgcn_status pgcn_i_dataset_build(const char *name, const char *where, const pgcn_i_steps *steps,
                                 pgcn_i_source *source, pgcn_dataset **out);

/* load.c: the file or folder that a name means, steps or not; false: there is none. */
bool pgcn_i_dataset_find(const char *name, const pgcn_dataset_opts *opts,
                         char path[PGCN_I_PATH_BYTES]);
/* estimate.c: PGCN_ERR_MEMORY, at once, for a data set that will not fit. */
pgcn_status pgcn_i_check_fits(const char *what, int64_t bytes);

/* fingerprint.c. begin() starts to hash the features while the graph is built, end() hashes the
 * rest. Call drop() after the end and after any failure. With NULL, end() hashes everything. */
typedef struct pgcn_i_fingerprint pgcn_i_fingerprint;
pgcn_status pgcn_i_fingerprint_begin(const pgcn_i_features *x, pgcn_i_fingerprint **out);
pgcn_status pgcn_i_fingerprint_end(pgcn_i_fingerprint *fingerprint, const pgcn_dataset *data,
                                   char hex[65]);
/* The fingerprint that the data set will have when its features come back from a narrower store. */
pgcn_status pgcn_i_fingerprint_stored(const pgcn_dataset *data, const pgcn_i_store *store,
                                      char hex[65]);
void pgcn_i_fingerprint_drop(pgcn_i_fingerprint *fingerprint);

/* The identity of a split, whatever its name: SHA-256 of its masks, 64 hex digits each. */
typedef struct pgcn_i_split_id {
    char all[65];  /* of the training, validation and test mask; "": not known (files of 0.1) */
    char seen[65]; /* of training and validation only: if equal, test items were not seen */
} pgcn_i_split_id;
pgcn_status pgcn_i_split_identify(const pgcn_dataset *data, const pgcn_i_split *split,
                                  pgcn_i_split_id *out);

/* builtin.c: karate, sbm, grid, powerlaw. *found: whether `name` (up to a colon) is one of them. */
pgcn_status pgcn_i_builtin_read(const char *name, bool *found, pgcn_i_source *source);
bool pgcn_i_builtin_knows(const char *name); /* the same check, without making the data */
/* How large one is, by its name alone; zeros for a name that is wrong. */
typedef struct pgcn_i_data_size {
    int64_t nodes, edges, features;
} pgcn_i_data_size;
pgcn_i_data_size pgcn_i_builtin_size(const char *name);
/* Whether the text after the last colon of such a name is a list of steps: it follows a second
 * colon, or does not begin with a setting. */
bool pgcn_i_builtin_has_steps(const char *name);

/* powerlaw.c: settings that are in range; at least three nodes per class. */
typedef struct pgcn_i_powerlaw {
    int64_t nodes, edges, features;
    int classes;
    double exponent;         /* of the degrees, above 2 */
    double homophily, local; /* shares of all edges: inside classes, inside communities */
    uint64_t seed;
} pgcn_i_powerlaw;
pgcn_status pgcn_i_powerlaw_make(const pgcn_i_powerlaw *set, pgcn_i_source *source);

#endif
