/* nn: parameters, the tape of coarse operations, and losses.
 *
 * Comes in: arrays, as a view: features, visit lists or transition matrices, targets. Goes out: logits and
 * exact gradients. An operation cuts its rows into fixed blocks, runs kernels on them in the pool and
 * adds partial sums in block order. This room knows no data set. Next rooms: models, which record
 * networks from these operations, and views, which makes views from data sets.
 *
 * A tape is recorded once per run: recording allocates everything, running allocates nothing. */
#ifndef PGCN_NN_H
#define PGCN_NN_H

#include "base/base.h"
#include "base/rng.h"
#include "kernels/kernels.h"
#include "paths/paths.h"

/* ---- parameters (params.c) --------------------------------------------------------------- */

typedef enum pgcn_i_group {
    PGCN_I_GROUP_ENDS = 0,   /* opening and closing layers */
    PGCN_I_GROUP_MIX = 1,    /* 1x1 convolutions */
    PGCN_I_GROUP_KERNEL = 2, /* path kernels */
    PGCN_I_GROUP_BUFFER = 3, /* running statistics: saved, not trained */
    PGCN_I_GROUPS = 4
} pgcn_i_group;

/* Values before training. */
typedef enum pgcn_i_start {
    PGCN_I_START_ZEROS,
    PGCN_I_START_ONES,
    PGCN_I_START_GLOROT,   /* uniform in +-sqrt(6 / (rows + columns)) of a matrix */
    PGCN_I_START_IDENTITY, /* of a square matrix */
    PGCN_I_START_INPUTS, /* uniform in +-1/sqrt(inputs): what nn.Linear of PyTorch does, biases too */
    PGCN_I_START_OWN     /* the network's own function says */
} pgcn_i_start;

/* What a network declares of a parameter: entries of `shape` after its rank are 0. */
typedef struct pgcn_i_param_spec {
    pgcn_i_group group;
    pgcn_i_start start;
    bool decay_to_start; /* weight decay pulls towards the start instead of 0 */
    int64_t inputs;      /* of PGCN_I_START_INPUTS */
    int64_t shape[3];
} pgcn_i_param_spec;

typedef struct pgcn_i_param {
    char name[48]; /* the name of the tensor in files */
    pgcn_i_group group;
    pgcn_i_start start;
    bool decay_to_start;
    int64_t inputs;
    int rank;
    int64_t shape[3];
    int64_t count;
    int64_t first; /* offset in each block of pgcn_i_params */
} pgcn_i_param;

/* All parameters in one block; gradients, moments, start and best weights in blocks alike. */
typedef struct pgcn_i_params {
    pgcn_i_arena arena;
    int count, capacity;
    int declared; /* more than `count` if there is no room for all */
    pgcn_i_param *param;
    int64_t total;
    float *value;                       /* [total] */
    float *start, *grad, *m, *v, *best; /* NULL unless made for training */
} pgcn_i_params;

pgcn_status pgcn_i_params_init(pgcn_i_params *params, int capacity);
/* Declares the next parameter. The pointer lives as long as params. */
pgcn_i_param *pgcn_i_params_add(pgcn_i_params *params, pgcn_i_param_spec spec, const char *format,
                                ...) __attribute__((format(printf, 3, 4)));
/* Finds one by its name; NULL: there is none. */
pgcn_i_param *pgcn_i_param_named(const pgcn_i_params *params, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Allocates the blocks once all are declared. */
pgcn_status pgcn_i_params_allocate(pgcn_i_params *params, bool training);
void pgcn_i_params_free(pgcn_i_params *params);
static inline float *pgcn_i_value_of(const pgcn_i_params *params, const pgcn_i_param *param) {
    return params->value + param->first;
}

/* ---- what a network runs on: arrays, whoever made them (views) ------------------------------- */

/* Features as the first layer reads them: preprocessed, and for sparse ones with the columns
 * (CSC) that the gradient of the first weights runs over. */
typedef struct pgcn_i_input {
    pgcn_i_arena arena;
    int64_t n, columns, nonzeros;
    const int64_t *offset; /* CSR, NULL when dense */
    const int32_t *column;
    const float *value;
    pgcn_i_columns by_column; /* for sparse ones with columns */
    const float *dense;       /* [n, columns], NULL when sparse */
    pgcn_i_range filled;      /* rows that are there: all, or those of this rank */
    double largest_elsewhere; /* magnitude in the rows that are not, and its column */
    int64_t largest_column;
    float *
        lent; /* [n, columns] address space for rows of other ranks, of the batch that runs; NULL: none */
    const float *guest;  /* [guests, columns] rows after the last one of `dense`; NULL: none */
    int64_t guests_from; /* their first node */
    /* Of a part of a graph: `dense` has the rows of all nodes of the graph, sparse features those of the part. Where
     * features stay on disk, `dense` has the rows that the part needs, each node once. */
    const int32_t
        *gathered; /* [rows] of a part, dense: which of them a row has; NULL: that of its node */
    const int64_t
        *drawn_at; /* [n] of a part, sparse: the number of a row's first entry in the whole
                                graph, by which dropout is drawn */
} pgcn_i_input;

/* What is to be learnt, of nodes or of graphs: one class each, or 0 and 1 for every class. Only
 * items of the mask that have a label count. */
typedef struct pgcn_i_target {
    const int32_t *label;  /* [items] or NULL */
    const uint8_t *labels; /* [items, classes] or NULL */
    const uint8_t *mask;   /* [items] */
    int64_t masked;        /* items that count */
} pgcn_i_target;

/* How rows are reached from rows: sampled visit lists or the exact transition matrix, on `samples`
 * stacked copies of n nodes. */
typedef struct pgcn_i_transition {
    int64_t n;
    int samples;
    const pgcn_i_visits *visits; /* sampled; NULL: exact */
    const pgcn_i_csr *exact,
        *exact_t;          /* exact_t: of evaluations only where a network asks for it */
    bool symmetric;        /* exact_t holds what exact does */
    const int64_t *link_t; /* which entry of `exact` an entry of `exact_t` is; NULL: nobody asks */
    const int64_t
        *link_id; /* of a part of a graph: what random numbers know a link by; NULL: its number */
    const pgcn_i_others *others; /* exact forms have the rows of this rank alone; NULL: all rows */
    const pgcn_i_csr *whole; /* all rows of `exact` where it has those of a rank alone; or NULL */
} pgcn_i_transition;

/* What a row of a value stands for. */
typedef enum pgcn_i_space {
    PGCN_I_NODES,
    PGCN_I_GRAPHS,
    PGCN_I_LINKS, /* entries of the exact transition matrix; 0 where paths are sampled. Operations go
                     through them by the rows of nodes, and so do sets of rows that matter */
    PGCN_I_SPACES
} pgcn_i_space;

/* A part of a graph: some nodes, and what they need. Level 0 are the rows that the loss looks at, level l + 1 those of
 * level l and the rows that they lead to. Rows are numbered level by level, so that those of every level come first:
 * rows 0 .. rows[l] - 1. A row is a node in one sample of paths and dropout: samples are not stacked. */
typedef struct pgcn_i_part {
    int levels; /* operations that lead to other rows, one after the other, at most */
    const int64_t *rows[PGCN_I_SPACES]; /* [levels + 1] of nodes, and of links; NULL of graphs */
    const pgcn_i_transition
        *transitions;    /* [levels] from the rows of a level to those of the next */
    int64_t nodes;       /* of the graph */
    const pgcn_node *id; /* [rows] sample * nodes + node: random numbers know rows by it */
    bool few_links;      /* of every row some are drawn, in all levels */
} pgcn_i_part;

/* A network reads a view. Pointers stay the same while a tape lives; what they point to, and the numbers of
 * rows, change from batch to batch. */
typedef struct pgcn_i_view {
    int64_t rows[PGCN_I_SPACES]; /* of one sample */
    const pgcn_i_part *part;     /* NULL: every operation has all of these rows */
    int samples;                 /* stacked copies of all rows */
    int groups;                  /* of nodes, at most, that sums are made by */
    const pgcn_i_input *input;   /* features of the nodes */
    const pgcn_i_transition
        *transitions;    /* [layers]; the same one unless layers have paths of their own */
    const float *degree; /* [nodes] that visits are scaled by; NULL: they are not */
    const int64_t
        *segment; /* [samples * graphs + 1] rows of each graph; NULL: nodes are classified */
    const int64_t *graph_rows; /* the same, of any set of graphs; NULL: there is one graph */
} pgcn_i_view;

/* ---- tape (tape.c, plan.c, live.c) ------------------------------------------------------- */

/* Rows that matter: see live.c. */
typedef struct pgcn_i_live {
    uint8_t *flag;  /* [rows] */
    pgcn_node *row; /* [count] by group, sample and node */
    int64_t count;
    int64_t *first; /* [groups + 1] where a group begins in `row` */
} pgcn_i_live;

/* Both arrays share their memory with others whose time does not overlap: only the last value and
 * its gradient are there at any time. */
typedef struct pgcn_i_value {
    float *data; /* [rows, cols] */
    float *grad; /* [rows, cols]; NULL on a tape without gradients, and where only one tile of it
                    is ever needed */
    bool half, half_grad; /* they are in bf16 instead: see rows.c */
    uint16_t *bf16, *bf16_grad;
    int64_t rows, cols;
    int maker, last_user; /* operations; -1: the caller, nobody */
    int layer;            /* of the network whose result it is; -1: none */
    pgcn_i_space space;   /* what its rows stand for */
    int level;            /* of its rows in a part of a graph: the largest that a user needs */
    bool shared;          /* several operations use it */
    int lender; /* operation whose gradient stands for what is to be added to this one's: see plan_forms.c; -1: none */
    bool recomputed; /* not kept: recomputed in the backward pass */
    bool remade;     /* not kept: the backward pass makes its rows anew, tile by tile */
    struct pgcn_i_value
        *grad_over;            /* whose memory its gradient takes, row by row; NULL: nobody's */
    bool tiled;                /* exists as tiles only, one for each worker */
    bool leaves;               /* is made as a tile, which is then copied to its rows */
    int64_t tile_first;        /* of such a tile, among those of a worker */
    struct pgcn_i_value *over; /* whose memory it takes, row by row; NULL: it has its own */
    bool residual;           /* what it adds further on is a residual: explain.c counts it apart */
    const pgcn_i_live *live; /* rows that are computed and have a gradient; NULL: all */
    int64_t
        grad_rows; /* in a part of a graph, where it is shared: the first rows, whose gradient is there so far */
    int64_t held_data, held_grad; /* of several ranks: see share.c */
    bool
        data_by_columns; /* of links: those of others that lead to this rank's rows are there, too */
    bool grad_by_columns; /* the gradient of a link is with the rank of its column: see links.c */
} pgcn_i_value;

typedef struct pgcn_i_tape pgcn_i_tape;
typedef struct pgcn_i_op pgcn_i_op;
typedef struct pgcn_i_trace pgcn_i_trace;     /* of an explanation: see explain.c */
typedef struct pgcn_i_adjoint pgcn_i_adjoint; /* of a value in it */

/* Which rows of in[0] a row of the result needs. */
typedef enum pgcn_i_needs {
    PGCN_I_NEEDS_NOTHING, /* it opens the network: what it reads is not on the tape */
    PGCN_I_NEEDS_ROW,     /* the same row, forward and backward */
    PGCN_I_NEEDS_VISITED, /* its own and those that it leads to, see `reach` */
    PGCN_I_NEEDS_ALL
} pgcn_i_needs;

/* The rows that a row leads to: in each of `hops` matrices of n rows, of the same sample. */
typedef struct pgcn_i_reach {
    const pgcn_i_csr *hop;
    int hops;
    int64_t n;
    const pgcn_i_others *others; /* lists are divided: see share.c. NULL: they are not */
} pgcn_i_reach;

/* A tile of rows in the backward pass. */
typedef struct pgcn_i_backward_tile {
    pgcn_i_rows rows;
    float *g;  /* [rows, cols] the gradient of the result; may be overwritten. NULL for an operation
                       that needs more than its row: it reads out->grad */
    float *dx; /* [rows, cols] becomes the gradient of in[0]; NULL where there is no in[0] */
    float *partial; /* of the group: gradients of the parameters are added here */
    int worker;
} pgcn_i_backward_tile;

/* A kind of operation: constant, and the same for all operations of the kind. Functions may be missing.
 *
 * An operation works in two parts. What needs all rows of its input at once is done by `..._all`, which
 * runs its own parallel loops. What needs only the same rows of its input is done by `..._rows`, for a
 * tile of at most PGCN_BLOCK_ROWS rows; the tape runs the tiles of consecutive operations one after the
 * other while they are in the cache. */
typedef struct pgcn_i_kind {
    const char *name;
    pgcn_i_needs needs;
    size_t state_bytes; /* of pgcn_i_op.state */
    /* Once per pass, what depends on the parameters alone: spread kernels, transposed weights. */
    void (*refresh)(pgcn_i_tape *tape, pgcn_i_op *op);
    void (*forward_all)(pgcn_i_tape *tape, pgcn_i_op *op);
    void (*forward_rows)(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_rows rows, int worker);
    /* Some rows of the result once more, side by side; of operations that open the network. */
    void (*remake_rows)(const pgcn_i_tape *tape, const pgcn_i_op *op, pgcn_i_rows rows, int worker,
                        float *to);
    bool
        rows_make_result; /* forward_rows alone writes the result, whatever forward_all does before */
    /* Reads all of out->grad and writes in[0]->grad; or, where there is backward_rows too, only
     * what has to happen before. */
    void (*backward_all)(pgcn_i_tape *tape, pgcn_i_op *op);
    void (*backward_rows)(pgcn_i_tape *tape, pgcn_i_op *op, pgcn_i_backward_tile tile);
    /* When the partial sums have been added up, to partial_to: from there to the parameter. */
    void (*backward_done)(pgcn_i_tape *tape, pgcn_i_op *op);
    /* What the operation adds to the loss of the training, after the forward pass. Its own backward functions add
     * the gradient of this term. */
    double (*loss_term)(const pgcn_i_tape *tape, const pgcn_i_op *op);
    bool backward_reads_in, backward_reads_out; /* the data of in[0], of out */
    bool backward_reads_second;                 /* the data of in[1] */
    /* Of operations that add a share of in[1] to their result: this share. */
    float (*residual_share)(const pgcn_i_op *op);
    /* Bytes of pgcn_i_op.kept, which go by the rows of the result. */
    int64_t (*kept_bytes)(const pgcn_i_op *op);
    bool uses_power; /* the scratch array `power` of the tape, in both passes */
    /* forward_all alone reads in[0] at other rows than its own, and may write the result over it. */
    bool over_input;
    /* It reads and writes the rows of its values by the functions of rows.c: the tape may keep them in bf16, and what
     * only its own loop uses as tiles. What it gathers from in[0] it reads from either. */
    bool any_rows;
    /* Hands the adjoint of its result, which it takes, on to what it read: see explain.c. */
    void (*explain)(pgcn_i_trace *trace, const pgcn_i_op *op, pgcn_i_adjoint *g);
    bool explain_reads_in, explain_reads_out, explain_reads_second;
    /* Of operations of several steps along the transition: how many, which are levels of a part of a graph. They have no
     * backward pass there. */
    int (*steps)(const pgcn_i_op *op);
    /* The results of all steps but the last, [n, cols] each, of the whole graph: from h, all of in[0]. */
    void (*keep_steps)(pgcn_i_tape *tape, pgcn_i_op *op, const float *h, float *const *step);
    /* Where a row leads to, for PGCN_I_NEEDS_VISITED; and which rows lead to a row, whose gradients it reads. */
    pgcn_i_reach (*reach)(const pgcn_i_op *op);
    pgcn_i_reach (*reach_back)(const pgcn_i_op *op);
    bool backward_gathers_in; /* it reads the data of in[0] there, too */
    /* Of several ranks: `..._all` go through the rows of this one, and fetch what they read of others. Elsewhere they
     * go through all rows on every rank: see share.c. */
    bool shares;
} pgcn_i_kind;

/* An operation on the tape: its kind, its ports, what the planner decides, and its own state. */
struct pgcn_i_op {
    const pgcn_i_kind *kind;
    int index; /* on the tape: the layer of its random numbers */
    pgcn_i_value *in[2], *out;
    pgcn_i_param *param[2];
    const pgcn_i_transition *transition; /* read when the tape runs: it may be redrawn between */
    int64_t rows;    /* of nodes (or graphs) that it goes through: those of its result */
    int64_t used[2]; /* rows of in[0] and in[1] that it reads, and whose gradient it knows */
    bool add_in[2], add_param[2]; /* the gradient is added to what is there, else written */
    const pgcn_i_live *live_out, *live_in; /* rows of out that matter, and so of in[0] */
    int64_t partial_first;                 /* offset of its partial sums in those of a group, */
    int64_t partial_floats;                /* and how many */
    float *partial_to; /* where their sum goes; NULL: the gradients of param[0], [1] */
    void *state;       /* [kind->state_bytes], its file knows what */
    uint8_t *kept;     /* [kind->kept_bytes()] from the forward pass to the backward pass */
};
/* What a new operation is connected to; rows and cols are those of the result. */
typedef struct pgcn_i_ports {
    pgcn_i_value *in[2];
    pgcn_i_param *param[2];
    const pgcn_i_transition *transition;
    int64_t rows, cols;
    bool links; /* the rows of the result are links */
} pgcn_i_ports;

/* What runs as one loop over tiles of rows: the operations first .. last, or in the backward pass last ..
 * first. */
typedef enum pgcn_i_pass { PGCN_I_FORWARD, PGCN_I_RECOMPUTE, PGCN_I_BACKWARD } pgcn_i_pass;
typedef struct pgcn_i_loop {
    pgcn_i_pass pass;
    int first, last;
} pgcn_i_loop;

enum {
    PGCN_CHAIN_TILES = 2, /* an operation reads one and writes the other */
    PGCN_LIVE_SETS = 4    /* rows of the loss, and after one, two and three path convolutions */
};

/* Hidden rows of all nodes of a graph that are kept for questions about some: see hidden.c. */
typedef struct pgcn_i_hidden {
    pgcn_i_arena arena;
    float **value; /* [operations] results that are gathered from, [n, cols]; NULL: nobody does */
    float ***step; /* [operations] of those of several steps, results of all but the last */
} pgcn_i_hidden;

struct pgcn_i_tape {
    pgcn_i_arena arena;
    pgcn_i_pool *pool; /* borrowed */
    const pgcn_i_kernels *kernels;
    pgcn_i_params *params; /* borrowed */
    const pgcn_i_part
        *part; /* of the view; NULL: none. Set before recording, like the next three */
    const pgcn_i_hidden
        *hidden;    /* of a part of one level: other rows are read there; NULL: they are computed */
    int samples;    /* stacked copies of all rows */
    int groups;     /* of nodes, at most: see base.h */
    bool with_grad; /* also: dropout on, batch statistics */
    bool recompute; /* set before finishing: less memory, see plan_loops.c */
    /* set before recording: the number of channels that exact forms compute at a time; 0: all */
    int64_t narrow;
    bool packs;       /* these channels lie side by side: the rows of all are in a file */
    bool gather_bf16; /* set before recording: sampled visits are read in bf16 */
    bool half; /* set before recording: hidden rows are kept in bf16 where operations allow */
    /* set before recording: the last loop waits for the loss, if pgcn_i_tape_plan leaves it so */
    bool closes;
    bool explains; /* set before finishing: what explain.c reads is kept */
    bool shows;    /* set before finishing: results of layers are there for pgcn_i_tape_watch */
    pgcn_status status; /* first failure while recording */
    int count, capacity;
    pgcn_i_op *op;
    int loops, backward_first; /* backward_first: of the backward pass */
    pgcn_i_loop *loop;         /* in the order they run */
    int64_t work_floats;       /* of all values and gradients */
    int64_t kept_bytes;        /* of what operations keep */
    int64_t *place;            /* in them; see plan_memory.c */
    int64_t partial_floats;    /* of one group, the largest of all chains of operations */
    int64_t tile_floats;       /* of one worker, for operations */
    int64_t chain_floats;      /* of one tile between two operations */
    int64_t stage_floats;      /* of the tiles of one worker that are values */
    int64_t bf16_count;        /* of the largest value that is gathered in bf16 */
    int64_t power_floats;
    int64_t most_rows, most_cols; /* of all values */
    float *partial;               /* [groups, partial_floats] */
    float *work;                  /* [work_floats] values and gradients */
    float *power;                 /* every other power of the exact operator */
    float *tile;    /* [threads, tile_floats + PGCN_CHAIN_TILES chain_floats + stage_floats] */
    uint16_t *bf16; /* what a path convolution is gathering, when it is asked for */
    pgcn_i_live live_set[PGCN_LIVE_SETS];
    uint8_t *is_before;         /* of a part: [most_rows] ones, then as many zeros */
    int64_t *live_count;        /* [groups * samples + 1] */
    bool recomputed;            /* running a recomputed loop: statistics stay as they are */
    bool goes_back;             /* running the backward pass, after what closes */
    bool may_stop;              /* running a pass forward that may end before its last loop */
    struct pgcn_i_share *share; /* rows of several ranks, borrowed; NULL: this process has all */
    bool replicated;            /* and runs all now, as every rank does */
    bool divided;               /* lists have rows of this rank alone */
    uint64_t seed;              /* set before running */
    int64_t step;
};

pgcn_status pgcn_i_tape_init(pgcn_i_tape *tape, pgcn_i_pool *pool, pgcn_i_params *params,
                             int capacity, bool with_grad);
void pgcn_i_tape_free(pgcn_i_tape *tape);
/* After the last operation: decides what runs together, who writes and who adds gradients, and where
 * everything lives. Returns the first failure of recording. */
pgcn_status pgcn_i_tape_finish(pgcn_i_tape *tape);
/* The same in two steps, for tapes that never run at the same time and may have one memory: plans, */
pgcn_status pgcn_i_tape_plan(pgcn_i_tape *tape);
/* and takes memory of the caller for values and gradients: work_floats, or more. */
void pgcn_i_tape_place(pgcn_i_tape *tape, float *work);
/* Before running: the rows of this view from now on, at most as many as were recorded. */
void pgcn_i_tape_resize(pgcn_i_tape *tape, const pgcn_i_view *view);
/* Bytes that a pass touches with the rows as they are now: of values and gradients beyond the first `after` floats of
 * their memory, and of what operations keep. */
int64_t pgcn_i_tape_touched(const pgcn_i_tape *tape, int64_t after);
/* The level of the rows of in[0] or in[1] that an operation needs. */
int pgcn_i_level_used(const pgcn_i_op *op, int input);
/* How many levels a part of a graph has to have for what is recorded. */
int pgcn_i_tape_levels(pgcn_i_tape *tape);
/* The last step is step 0, and its rows are those of the result; step i leads to those of step i + 1. The matrix of a
 * step of an operation of several, and its rows. */
static inline const pgcn_i_transition *pgcn_i_step_transition(const pgcn_i_tape *tape,
                                                              const pgcn_i_op *op, int step) {
    if (tape->hidden) return &tape->part->transitions[0];
    return tape->part ? &tape->part->transitions[op->out->level + step] : op->transition;
}
static inline int64_t pgcn_i_step_rows(const pgcn_i_tape *tape, const pgcn_i_op *op, int step) {
    if (tape->hidden) return op->rows;
    return tape->part ? tape->part->rows[PGCN_I_NODES][op->out->level + step] : op->out->rows;
}
bool pgcn_i_is_finite(const pgcn_i_value *value);
/* While a network is recorded: the value, which may be NULL, is the result of its layer l; 0 is what goes into the
 * first one. Returns the value. */
pgcn_i_value *pgcn_i_tape_layer(pgcn_i_tape *tape, int l, pgcn_i_value *value);
/* A pass forward that shows the result of every operation when it is there, in the order of the tape, and ends early
 * when `see` returns false; false then. What is shown may be overwritten as soon as `see` returns. Values that exist
 * as tiles only are not shown: on a tape that `shows` no result of a layer is one. */
bool pgcn_i_tape_watch(pgcn_i_tape *tape, bool (*see)(void *context, const pgcn_i_op *op),
                       void *context);
/* A pass forward that looks for the first operation whose values are not all finite; NULL: none. For
 * tapes that compute all rows. */
const pgcn_i_op *pgcn_i_tape_first_bad(pgcn_i_tape *tape);
void pgcn_i_tape_forward(pgcn_i_tape *tape);
/* After the forward pass: the sum of what operations add to the loss, in the order of the tape; 0 on tapes
 * without gradients. */
double pgcn_i_tape_loss_terms(const pgcn_i_tape *tape);
/* The gradient of the last value is set by the caller (the loss). */
void pgcn_i_tape_backward(pgcn_i_tape *tape);
/* Of a tape that closes, between the two: the last loop of the forward pass and the first of the backward pass as one
 * loop over tiles. So the logits, and what they are made of, need no memory but a tile. Their gradient comes from the
 * caller: `rows` writes g [rows, cols] for the logits of some rows of a group; a group is one call after the other. */
typedef struct pgcn_i_closer {
    void (*rows)(void *context, int64_t group, pgcn_i_rows rows, const float *logits, float *g);
    void *context;
} pgcn_i_closer;
void pgcn_i_tape_close(pgcn_i_tape *tape, pgcn_i_closer closer);

/* For the files that define operations. Once recording has failed they return NULL and do
 * nothing, so that a network is recorded without a check after every line. */
pgcn_i_value *pgcn_i_tape_value(pgcn_i_tape *tape, int64_t rows, int64_t cols);
pgcn_i_op *pgcn_i_tape_op(pgcn_i_tape *tape, const pgcn_i_kind *kind, pgcn_i_ports ports);
float *pgcn_i_tape_floats(pgcn_i_tape *tape, int64_t count);
/* Scratch of a worker, and of the groups for loops in backward_all. */
void pgcn_i_tape_need(pgcn_i_tape *tape, int64_t partial_floats, int64_t tile_floats);
void pgcn_i_tape_need_powers(pgcn_i_tape *tape, int64_t floats);
static inline float *pgcn_i_tile(const pgcn_i_tape *tape, int worker) {
    return tape->tile + worker * (tape->tile_floats + PGCN_CHAIN_TILES * tape->chain_floats +
                                  tape->stage_floats);
}
static inline float *pgcn_i_partial(const pgcn_i_tape *tape, int64_t group) {
    return tape->partial + group * tape->partial_floats;
}
/* The groups of the rows of one sample of a value. */
static inline pgcn_i_blocks pgcn_i_groups(const pgcn_i_tape *tape, const pgcn_i_value *value) {
    return pgcn_i_groups_of(value->rows / tape->samples, tape->groups);
}
/* What random numbers know a row by: the same node has the same ones in every part of a graph. */
static inline int64_t pgcn_i_row_id(const pgcn_i_tape *tape, int64_t row) {
    return tape->part ? tape->part->id[row] : row;
}
/* Whether random numbers of rows that follow each other do so, too. */
static inline bool pgcn_i_ids_follow(const pgcn_i_tape *tape) {
    return !tape->part;
}
/* Which rows of in[0] are rows of the result with a gradient, too; NULL: all. */
static inline const uint8_t *pgcn_i_has_gradient(const pgcn_i_tape *tape, const pgcn_i_op *op) {
    if (op->live_out) return op->live_out->flag;
    return tape->part ? tape->is_before + (tape->most_rows - op->rows) : NULL;
}
/* The rows that a chain of the backward pass goes through which ends with this operation. */
static inline int64_t pgcn_i_chain_rows(const pgcn_i_op *end) {
    return end->in[0] ? end->used[0] : end->rows;
}
/* The rows of a value whose gradient is kept in a part of a graph: those that somebody other than the last writer
 * writes, who hands its sum on as tiles. */
int64_t pgcn_i_kept_gradients(const pgcn_i_tape *tape, const pgcn_i_value *value);
/* grad (= or +=) sum over the groups of that many rows, in order, of partial[group][0 .. count-1]: see sums.c. */
void pgcn_i_tape_reduce(pgcn_i_tape *tape, float *grad, bool add, int64_t rows, int64_t count);

/* ---- rows that matter (live.c) ------------------------------------------------------------- */

/* Memory for the sets of a tape whose values have at most `rows` rows. */
pgcn_status pgcn_i_live_init(pgcn_i_tape *tape, int64_t rows);
/* Before the forward pass: all rows matter (so it is at first), */
void pgcn_i_live_all(pgcn_i_tape *tape);
/* or, of the last value, those whose flag the caller sets here; and then */
uint8_t *pgcn_i_live_first(pgcn_i_tape *tape);
/* all sets of the tape follow, from the visit lists as they are now. */
void pgcn_i_live_spread(pgcn_i_tape *tape);
/* The rows of grad but those of a set (NULL: all rows) become zero; on a tape that is divided, of this rank's. */
void pgcn_i_live_zero(pgcn_i_tape *tape, pgcn_i_value *value, const pgcn_i_live *but);

/* ---- hidden rows that are kept (hidden.c) ---------------------------------------------------- */

/* The first operation of a tape on the whole graph whose steps cannot be kept; NULL: all of it can be. */
const pgcn_i_op *pgcn_i_hidden_prevents(const pgcn_i_tape *tape);
/* What keeping takes, of n nodes. */
int64_t pgcn_i_hidden_bytes(const pgcn_i_tape *tape, int64_t n);
/* Runs the tape, on the whole graph and without gradients, and keeps. Free the arena after a failure too. */
pgcn_status pgcn_i_hidden_fill(pgcn_i_hidden *hidden, pgcn_i_tape *tape, int64_t n);
/* For plan.c and tape.c, of a tape with `hidden`: the levels of its values; and the rows of the result of an operation
 * that were not asked for, if it is gathered from. */
void pgcn_i_hidden_levels(pgcn_i_tape *tape);
void pgcn_i_hidden_lend(const pgcn_i_tape *tape, const pgcn_i_op *op);
/* For steps: copies columns first .. first + width - 1 of these rows to a matrix [rows, width]. */
typedef struct pgcn_i_kept_rows {
    const float *from; /* [n, cols] */
    float *to;
    int64_t cols, first, width;
} pgcn_i_kept_rows;
void pgcn_i_hidden_copy(const pgcn_i_tape *tape, pgcn_i_kept_rows rows);

/* ---- explanations (explain.c) --------------------------------------------------------------- */

/* A logit, or a sum of logits with weights, as a sum over features of nodes and over constants: biases,
 * thresholds, shifts of norms. ReLUs stay open or closed as they are, and coefficients of attention as
 * they are: then the network is affine. */
struct pgcn_i_trace {
    pgcn_i_arena arena;
    pgcn_i_tape *tape;         /* that has run forward; made with `explains` */
    int most_hops;             /* what has gone further is counted there */
    const pgcn_i_input *input; /* the features of all nodes, before `powers` */
    const pgcn_node *node;     /* which node a row is; NULL: row i is node i */
    const pgcn_i_csr *smooth;  /* what the network reads is smooth^powers times the features */
    int powers;
    pgcn_status status; /* the first failure */
    /* what goes out */
    double
        *of_node[2];   /* [nodes, most_hops + 1] of the features of a node: along the layers, and by
                           paths that go through a residual */
    double **of_entry; /* [nodes] of each feature that a node has, in the order of the input; NULL:
                           the node is not reached */
    double *of_param;  /* [parameters] of constants */
    /* adjoints of the results of operations that wait for their turn, [2, operations] */
    pgcn_i_adjoint **of[2];
    int part; /* the one at hand */
};
/* Fill in tape, most_hops, input, node, smooth and powers before. Free it after a failure too. */
pgcn_status pgcn_i_trace_init(pgcn_i_trace *trace);
void pgcn_i_trace_free(pgcn_i_trace *trace);
/* Explains sum_c weight[c] logits[row, c]; the logits are the last value of the tape. */
pgcn_status pgcn_i_trace_run(pgcn_i_trace *trace, int64_t row, const float *weight);

/* ---- operations: each records one line of the network ------------------------------------ */

/* ops_input.c: ReLU(Dropout(X) W + b), for `samples` stacked copies of X. Several of them on one tape drop
 * the same elements: to a network it is one X */
typedef struct pgcn_i_opening {
    double dropout;
    pgcn_i_param *w, *b; /* b may be NULL */
    bool linear;         /* without the ReLU */
} pgcn_i_opening;
pgcn_i_value *pgcn_i_op_input(pgcn_i_tape *tape, const pgcn_i_input *input, int samples,
                              pgcn_i_opening layer);
/* X itself, dense, some of its rows dropped; has no gradient */
pgcn_i_value *pgcn_i_op_features(pgcn_i_tape *tape, const pgcn_i_input *input, int samples,
                                 double drop_rows);
/* [rows, features] of a part of a graph with dense features: sums over the links of Dropout(X). Without a backward
 * pass. */
pgcn_i_value *pgcn_i_op_spread(pgcn_i_tape *tape, const pgcn_i_input *input, int samples,
                               const pgcn_i_transition *transition, double dropout);
/* ops_linear.c */
pgcn_i_value *pgcn_i_op_linear(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *w, pgcn_i_param *b,
                               bool relu, double dropout); /* b may be NULL; dropout after ReLU */
/* x (theta W + identity I): the identity mapping of GCNII, as one product */
pgcn_i_value *pgcn_i_op_linear_near_identity(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *w,
                                             double theta, double identity);
/* factor x W^T */
pgcn_i_value *pgcn_i_op_linear_transposed(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *w,
                                          double factor);
/* x W, and weight |W - diagonal I|_F (Frobenius norm, not squared) is added to the loss: W stays near a multiple of
 * the identity, and so near an orthogonal matrix */
typedef struct pgcn_i_orthogonal {
    double diagonal, weight;
} pgcn_i_orthogonal;
pgcn_i_value *pgcn_i_op_linear_orthogonal(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *w,
                                          pgcn_i_orthogonal near);
/* ops_activate.c */
pgcn_i_value *pgcn_i_op_relu(pgcn_i_tape *tape, pgcn_i_value *x);
/* ReLU(x - t) + t, t [cols]: what is below its threshold becomes the threshold */
pgcn_i_value *pgcn_i_op_shifted_relu(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *t);
/* Dropout(ReLU(x + b)), for what is not the result of a product; b may be NULL */
pgcn_i_value *pgcn_i_op_activate(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *b, bool relu,
                                 double dropout);
pgcn_i_value *pgcn_i_op_dropout(pgcn_i_tape *tape, pgcn_i_value *x, double rate);
pgcn_i_value *pgcn_i_op_drop_rows(pgcn_i_tape *tape, pgcn_i_value *x, double rate);
/* ops_combine.c: the larger one of each pair of elements; of two values, not the same one twice */
pgcn_i_value *pgcn_i_op_max(pgcn_i_tape *tape, pgcn_i_value *a, pgcn_i_value *b);
/* a + b, row by row; two values, not the same one twice */
pgcn_i_value *pgcn_i_op_add(pgcn_i_tape *tape, pgcn_i_value *a, pgcn_i_value *b);
/* a + share b, alike */
pgcn_i_value *pgcn_i_op_add_share(pgcn_i_tape *tape, pgcn_i_value *a, pgcn_i_value *b,
                                  double share);
/* ops_norm.c: gamma, beta may be NULL (no affine part) */
pgcn_i_value *pgcn_i_op_batch_norm(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *gamma,
                                   pgcn_i_param *beta, pgcn_i_param *running_mean,
                                   pgcn_i_param *running_var);
/* every row by its own mean and deviation, then gain and shift */
pgcn_i_value *pgcn_i_op_layer_norm(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *gain,
                                   pgcn_i_param *shift);
/* ops_graph_norm.c: batch norm of each graph by its own mean and variance. Its rows are offset[g] .. offset[g + 1] - 1;
 * `graphs` is the largest number of them, all samples counted. offset NULL: every sample is a graph */
pgcn_i_value *pgcn_i_op_graph_norm(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *gain,
                                   pgcn_i_param *shift, const int64_t *offset, int64_t graphs);
/* ops_pool.c: [graphs, cols], the sum over the rows of each graph: offset[g] .. offset[g + 1] - 1 */
pgcn_i_value *pgcn_i_op_sum_pool(pgcn_i_tape *tape, pgcn_i_value *x, const int64_t *offset,
                                 int64_t graphs);
/* ops_path.c: (1 - alpha) sum_i s_i (.) S_i H + alpha R, or sum_i S_i H W_i for the full kernel. */
typedef struct pgcn_i_pathconv {
    const pgcn_i_transition *transition; /* read when the tape runs: it may be resampled between */
    pgcn_kernel kernel;
    int k;
    pgcn_i_param *s;        /* [k] (global, per layer), [k, c] (depth-wise) or [k, c, c] (full) */
    pgcn_i_value *residual; /* R; may be H, or NULL (alpha is then 0) */
    double alpha;
} pgcn_i_pathconv;
pgcn_i_value *pgcn_i_op_pathconv(pgcn_i_tape *tape, pgcn_i_value *h, pgcn_i_pathconv conv);
/* sum_i s_i S_i X of features, by a kernel [k] that is not trained: it has no backward pass */
pgcn_i_value *pgcn_i_op_smooth(pgcn_i_tape *tape, pgcn_i_value *x,
                               const pgcn_i_transition *transition, int k, pgcn_i_param *s);

/* ops_propagate.c, along the exact transition T: self x + neighbours T x + share R */
typedef struct pgcn_i_step {
    double self, neighbours;
    pgcn_i_value *residual; /* R; may be x, or NULL */
    double share;
} pgcn_i_step;
pgcn_i_value *pgcn_i_op_propagate(pgcn_i_tape *tape, pgcn_i_value *x,
                                  const pgcn_i_transition *transition, pgcn_i_step step);
/* `steps` times y <- (1 - alpha) T y + alpha x */
pgcn_i_value *pgcn_i_op_diffuse(pgcn_i_tape *tape, pgcn_i_value *x,
                                const pgcn_i_transition *transition, int steps, double alpha);
/* sum over k = 0 .. order of the Chebyshev polynomial T_k(2 L / largest - I) times columns k c .. of z, which
 * nothing else may use; L = I - T, and `largest` holds its largest eigenvalue */
pgcn_i_value *pgcn_i_op_chebyshev(pgcn_i_tape *tape, pgcn_i_value *z,
                                  const pgcn_i_transition *transition, int order,
                                  pgcn_i_param *largest);

/* ops_attention.c: attention of several heads over the links of the exact transition, whose values do not
 * count. A row of c columns has c / heads for each head. */
typedef struct pgcn_i_attention {
    const pgcn_i_transition *transition;
    int heads;
    double slope;   /* of the LeakyReLU where it is negative */
    double dropout; /* of coefficients */
    bool mean;      /* all heads weigh all columns, and the mean of their coefficients counts */
    double self;    /* attend: + self v_i */
} pgcn_i_attention;
/* [rows, 2 heads]: <z_h, target_h> of every head, then <z_h, source_h>; both parameters [heads, c / heads] */
pgcn_i_value *pgcn_i_op_head_scores(pgcn_i_tape *tape, pgcn_i_value *z, pgcn_i_param *target,
                                    pgcn_i_param *source);
/* [links, heads]: the softmax over the links (i, j) of row i of LeakyReLU(target score of i + source score of j);
 * with a gate [links, heads] their sum is multiplied by sigmoid(gate) before */
pgcn_i_value *pgcn_i_op_edge_softmax(pgcn_i_tape *tape, pgcn_i_value *scores, pgcn_i_value *gate,
                                     pgcn_i_attention attention);
/* [links, heads]: scale <x_i, x_j> of each head's columns, or the softmax over the links of row i; `apart`: of the
 * first half of the columns of row i with the second half of those of row j */
typedef struct pgcn_i_dots {
    double scale;
    bool apart, softmax;
} pgcn_i_dots;
pgcn_i_value *pgcn_i_op_link_dots(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_dots dots,
                                  pgcn_i_attention attention);
/* y_i = sum over the links (i, j) of coefficient v_j, of what dropout has left */
pgcn_i_value *pgcn_i_op_attend(pgcn_i_tape *tape, pgcn_i_value *v, pgcn_i_value *coefficients,
                               pgcn_i_attention attention);
/* ELU(x + b); b may be NULL */
pgcn_i_value *pgcn_i_op_elu(pgcn_i_tape *tape, pgcn_i_value *x, pgcn_i_param *b);
/* [rows, c / heads]: the mean over the heads */
pgcn_i_value *pgcn_i_op_head_mean(pgcn_i_tape *tape, pgcn_i_value *x, int heads);

/* ops_pde.c, along the entries w = T_ij: sum over (i, j) of w s(w (p_i - p_j)) minus sum over (j, i) of
 * w s(w (p_j - p_i)), the divergence of what flows along the links; s is tanh, or ReLU */
pgcn_i_value *pgcn_i_op_flux(pgcn_i_tape *tape, pgcn_i_value *p,
                             const pgcn_i_transition *transition, bool relu);
/* What a step of the size h changes, from what the step before changed: r v - u z, with b = sigmoid(m), r = b / (b +
 * (1 - b) h) and u = h^2 / (b + (1 - b) h); v may be NULL: 0. m [1] is learnt */
pgcn_i_value *pgcn_i_op_momentum(pgcn_i_tape *tape, pgcn_i_value *z, pgcn_i_value *v,
                                 pgcn_i_param *m, double h);

/* sigmoid(rate) d + source x; both parameters [1] are learnt */
pgcn_i_value *pgcn_i_op_drift(pgcn_i_tape *tape, pgcn_i_value *d, pgcn_i_value *x,
                              pgcn_i_param *rate, pgcn_i_param *source);

/* ops_pairs.c: z as it is, and a term of the loss of a training: weight times the mean binary cross-entropy of
 * <z_u, z_v> / heads as the logit of "v is linked from u", over a share of the links and some pairs that are not
 * linked, drawn anew in every step. Inference has no such operation. */
typedef struct pgcn_i_link_loss {
    const pgcn_i_transition *transition;
    int heads;
    double weight;
    double sample;    /* share of the links */
    double negatives; /* pairs without a link, for each link of that share */
} pgcn_i_link_loss;
pgcn_i_value *pgcn_i_op_link_loss(pgcn_i_tape *tape, pgcn_i_value *z, pgcn_i_link_loss loss);

/* ---- losses (loss.c): not on the tape; they write the gradient of its last value ----------- */

typedef struct pgcn_i_loss {
    pgcn_i_arena arena;
    int64_t n;
    int samples, classes;
    float *probability; /* [samples * n, classes] */
    int groups;         /* at most, as of the tape */
    double *loss;       /* [groups] */
    double *consistency;
    int64_t *hits;
    const float *class_weight; /* [classes] of the cross-entropy, borrowed; NULL: all 1 */
} pgcn_i_loss;
typedef struct pgcn_i_loss_terms {
    double cross_entropy; /* mean over masked nodes and samples, by the weights of their classes */
    double consistency;   /* mean over nodes and samples, without lambda */
    double accuracy;      /* over masked nodes and samples */
} pgcn_i_loss_terms;
/* For at most n nodes (or graphs) in at most that many groups. */
pgcn_status pgcn_i_loss_init(pgcn_i_loss *loss, int64_t n, int samples, int classes, int groups);
void pgcn_i_loss_free(pgcn_i_loss *loss);
/* Another number of nodes (or graphs), at most that of the start. */
static inline void pgcn_i_loss_resize(pgcn_i_loss *loss, int64_t n) {
    loss->n = n;
}
/* Before the forward pass: tells the tape which rows of the logits the loss will look at, all of
 * them where lambda > 0. May be left out; then all rows are computed. */
void pgcn_i_loss_rows(const pgcn_i_loss *loss, pgcn_i_tape *tape, const pgcn_i_target *target,
                      double lambda);
/* Softmax cross-entropy on masked nodes plus lambda times the consistency term of the recipes; or,
 * of a target with several labels, the sum over them of the binary cross-entropy. At least one node
 * is masked. logits->grad is written if there is one. Of a tape that closes, lambda is 0 and there are no logits: this
 * runs its last loop. */
pgcn_i_loss_terms pgcn_i_loss_run(pgcn_i_loss *loss, pgcn_i_tape *tape, pgcn_i_value *logits,
                                  const pgcn_i_target *target, double lambda, double temperature);
/* loss->probability = softmax(logits), for inference; */
void pgcn_i_softmax_run(pgcn_i_loss *loss, pgcn_i_tape *tape, const pgcn_i_value *logits);
/* or the same with the probability of each label by itself. */
void pgcn_i_sigmoid_run(pgcn_i_loss *loss, pgcn_i_tape *tape, const pgcn_i_value *logits);
/* Adds the cross-entropy of the masked items to *sum and those whose class was predicted to *hits (not of
 * several labels); no gradient. Of one class each, probabilities are those of the call before. */
void pgcn_i_loss_sums(pgcn_i_loss *loss, pgcn_i_tape *tape, const pgcn_i_value *logits,
                      const pgcn_i_target *target, double *sum, int64_t *hits);

#endif
