/* train: from a data set and a configuration to the weights that did best on validation.
 *
 * Comes in: pgcn_dataset, pgcn_config. Goes out: pgcn_model, checkpoints, predictions.
 * One epoch, in order: trainer.c samples paths (paths), runs the tape forward (nn), the loss, the
 * tape backward, Adam, then the evaluation tape and the bookkeeping of the best epoch.
 * Next room: the command line, which sees only the public header. */
#ifndef PGCN_TRAIN_H
#define PGCN_TRAIN_H

#include "nn/ranks.h"
#include "views/views.h"

/* ---- configuration (config.c, recipe.c) ---------------------------------------------------- */

/* {"layers": "2", ...}: every field but those of the run, as text. New reference. */
json_t *pgcn_i_config_to_json(const pgcn_config *config);
pgcn_status pgcn_i_config_from_json(json_t *object, const char *where, pgcn_config *out);
/* Names of settings by their numbers, which are those of pgcn_config_field() without its texts: NULL or -1 where there
 * is none. */
const char *pgcn_i_config_key(int i);
int pgcn_i_config_number(const char *key);
/* First key in which two configurations differ, other than those a resumed run may change (epochs,
 * patience and those of the run); NULL if there is none. */
const char *pgcn_i_config_difference(const pgcn_config *a, const pgcn_config *b);
/* The caller's configuration over the defaults (pgcn_i_opts_over). NULL: the defaults. */
pgcn_status pgcn_i_config_copy(const pgcn_config *given, pgcn_config *out);
/* "key=value key=value" over a configuration, adopted; our own text, so it cannot fail but by our
 * mistake. */
pgcn_status pgcn_i_config_apply(pgcn_config *config, const char *settings);

/* The checks of pgcn_config_check() but for settings that do nothing and the range of seeds: files of
 * other versions may hold both. */
pgcn_status pgcn_i_config_check_loaded(const pgcn_config *config);

/* ---- settings that do nothing (usage.c) ------------------------------------------------------ */

/* What decides whether a setting is used. */
typedef struct pgcn_i_usage {
    const pgcn_config *config;
    pgcn_task task;           /* PGCN_TASK_NONE: not known */
    const pgcn_dataset *data; /* NULL: not known */
} pgcn_i_usage;
/* Marks field number `field` as set by the caller; and whether pgcn_config_set() has marked it. */
void pgcn_i_config_mark(pgcn_config *config, int field);
bool pgcn_i_config_is_set(const pgcn_config *config, int field);
bool pgcn_i_config_has_set(const pgcn_config *config, const char *key); /* the same by name */
/* Whether one graph is trained on batches of its nodes. */
bool pgcn_i_config_by_nodes(const pgcn_config *config);
/* It does nothing, and its value does not just say so. */
bool pgcn_i_config_unused(const pgcn_i_usage *usage, const char *key);
/* The sentence about an unused setting. */
pgcn_status pgcn_i_config_fail_unused(const pgcn_i_usage *usage, const char *key);
/* Every setting of the caller's is used. */
pgcn_status pgcn_i_config_check_used(const pgcn_i_usage *usage);
/* What the network ignores becomes what it comes to: gin has no paths, and sums over neighbours instead. All is
 * adopted. */
void pgcn_i_config_settle(pgcn_config *config);

/* ---- scores (scorer.c) -------------------------------------------------------------------------- */

/* Whether an item counts: it is in the mask and has a label. */
static inline bool pgcn_i_counts(const pgcn_i_target *target, int64_t i) {
    return target->mask[i] && (!target->label || target->label[i] >= 0);
}
/* Whether a label of this probability is predicted. */
static inline bool pgcn_i_predicts(double probability) {
    return probability > 0.5;
}
/* The most probable class; of equal ones the first. */
static inline int pgcn_i_best_class(const float *probability, int classes) {
    int best = 0;
    for (int c = 1; c < classes; c++)
        if (probability[c] > probability[best]) best = c;
    return best;
}
double pgcn_i_micro_f1(int64_t hits, int64_t present, int64_t predicted);

/* Sums over what was scored so far, batch by batch. */
typedef struct pgcn_i_score {
    bool several;               /* labels of an item */
    double loss;                /* sum of the (binary) cross-entropy */
    int64_t items;              /* that counted */
    int64_t hits;               /* right classes; labels that are present and predicted */
    int64_t predicted, present; /* labels */
} pgcn_i_score;
/* Adds loss and hits of the masked items of the view that the network ran on. Of one class each,
 * loss->probability is theirs. */
struct pgcn_i_runner;
void pgcn_i_score_add(pgcn_i_score *score, struct pgcn_i_runner *runner, pgcn_i_loss *loss,
                      const pgcn_i_target *target);
/* The mean of the draws of one item: sums of probabilities, divided by their number. */
typedef struct pgcn_i_mean {
    const double *sum; /* [classes of the model] */
    int runs;
    const int *of_model; /* of_model[c] is the model's number of class c of the data */
    int classes;         /* of the model */
} pgcn_i_mean;
void pgcn_i_score_add_mean(pgcn_i_score *score, const pgcn_i_target *target, int64_t item,
                           pgcn_i_mean mean);
/* NaN where nothing was scored. Accuracy in percent: the share of right classes, or the micro-averaged F1 of
 * several labels. */
double pgcn_i_score_loss(const pgcn_i_score *score);
double pgcn_i_score_accuracy(const pgcn_i_score *score);

/* ---- measures (measures.c) -------------------------------------------------------------------- */

/* Of a class, or label: items that have it, that it was predicted for, and that both holds for. */
typedef struct pgcn_i_class_count {
    int64_t items, predicted, hits;
} pgcn_i_class_count;
/* What was predicted for the items that count, and what they are. */
typedef struct pgcn_i_tally {
    pgcn_i_arena arena;
    int64_t room, items; /* items: gathered so far */
    int classes;
    float *probability;        /* [room, classes] */
    int32_t *label;            /* [room], or NULL: several labels */
    uint8_t *labels;           /* [room, classes], or NULL */
    pgcn_i_class_count *count; /* [classes] */
    uint64_t *sorted[2];       /* [room] each */
    /* of pgcn_i_tally_by_graph(); else 0 and NULL */
    int64_t graphs;                      /* of the data */
    const int32_t *graph_of;             /* [nodes] of the data */
    int32_t *graph;                      /* [room] */
    struct pgcn_i_graph_count *of_graph; /* [graphs] */
} pgcn_i_tally;
/* Room for that number of items. Free it after a failure too. */
pgcn_status pgcn_i_tally_init(pgcn_i_tally *tally, int64_t items, int classes, bool several);
void pgcn_i_tally_free(pgcn_i_tally *tally);
void pgcn_i_tally_clear(pgcn_i_tally *tally);
/* One item, by its class or, where there are several, its labels; and all of a target that count, of
 * the rows probability[0 .. items-1]. */
void pgcn_i_tally_add(pgcn_i_tally *tally, const float *probability, int32_t label,
                      const uint8_t *labels);
void pgcn_i_tally_add_masked(pgcn_i_tally *tally, const float *probability,
                             const pgcn_i_target *target, int64_t items);
/* In percent; NaN where it is not defined. */
double pgcn_i_tally_measure(pgcn_i_tally *tally, pgcn_measure measure);
/* All but accuracy and loss, which have been counted already; the classes missed; and what it comes to graph by graph,
 * if that was asked for. */
void pgcn_i_tally_score(pgcn_i_tally *tally, pgcn_score *out);
/* Counts items, predictions and hits of every class in tally->count. */
void pgcn_i_tally_count(pgcn_i_tally *tally);
/* The class that a row of the tally predicts: the most probable one. */
int pgcn_i_tally_best(const pgcn_i_tally *tally, int64_t i);
/* pgcn_score.majority of a part of the items. */
pgcn_status pgcn_i_majority(const pgcn_i_target *train, const pgcn_i_target *part, int64_t items,
                            int classes, double *out);

/* ---- graph by graph (by_graph.c) ------------------------------------------------------------------ */

typedef struct pgcn_i_graph_count pgcn_i_graph_count;
/* Asks an empty tally for the figures of each graph too. Does nothing unless nodes of several graphs have labels. */
pgcn_status pgcn_i_tally_by_graph(pgcn_i_tally *tally, const pgcn_dataset *data);
/* Says which nodes the rows from `first` on are of: those of items 0 .. items-1 of the target that count, which are nodes
 * number[0], number[1], ... of the data; NULL: 0, 1, 2, ... */
void pgcn_i_tally_place(pgcn_i_tally *tally, int64_t first, const pgcn_i_target *target,
                        int64_t items, const pgcn_node *number);
/* Fills graph_accuracy, graphs and graph_nodes. */
void pgcn_i_tally_graphs(pgcn_i_tally *tally, pgcn_score *out);

/* ---- verdicts (verdict.c) ------------------------------------------------------------------------- */

pgcn_status pgcn_i_verdict_new(int classes, bool several, pgcn_verdict **out);
/* The verdict on a part, of the predictions of its items and of its score. */
void pgcn_i_verdict_fill(pgcn_verdict *verdict, pgcn_part part, const pgcn_dataset *data,
                         pgcn_i_tally *tally, const pgcn_score *score);

/* ---- the runner (runner.c) ----------------------------------------------------------------------- */

/* A network on the views of a data set: for training, for evaluation while training, or for inference. */
typedef struct pgcn_i_runner {
    pgcn_i_pool *pool; /* borrowed */
    pgcn_i_views views;
    pgcn_i_tape tape;
    pgcn_i_value *logits;
    bool several; /* labels of an item, each with a probability of its own */
    pgcn_i_comm
        *takers; /* ranks that take a share of the chosen nodes each; NULL: all are this one's */
    pgcn_i_value *own_logits; /* of takers: of the nodes of this one, */
    pgcn_i_value all_logits;  /* and those of all, which `logits` is */
} pgcn_i_runner;
typedef struct pgcn_i_runner_opts {
    const pgcn_config *config;
    pgcn_i_params *params; /* borrowed, like the pool */
    pgcn_i_pool *pool;
    bool several;
    bool explains, shows; /* of pgcn_i_tape */
    const pgcn_i_hidden *hidden;
    pgcn_i_share *share; /* rows of several ranks, borrowed; NULL: all are here */
    pgcn_i_comm *takers; /* of batches of nodes, without a backward pass */
    int64_t in_files; /* arrays of all rows are in files, within so much memory; 0: they are not */
    pgcn_i_views_opts views;
} pgcn_i_runner_opts;
/* Opens the views, records the network and plans its memory. Close it after a failure too. */
pgcn_status pgcn_i_runner_open(pgcn_i_runner *runner, const pgcn_i_runner_opts *opts);
/* The memory of values and gradients; of two runners that never run at the same time, one for both. */
pgcn_status pgcn_i_runner_allocate(pgcn_i_runner *runner, pgcn_i_runner *other);
/* Of arrays that are in files: what exact forms of that many rows have in memory at least. */
int64_t pgcn_i_runner_packed_bytes(int64_t rows);
void pgcn_i_runner_close(pgcn_i_runner *runner);
/* Some graphs of a set, or nodes of one graph; NULL and 0: after the last. */
typedef struct pgcn_i_chosen {
    const pgcn_node *item;
    int64_t count;
} pgcn_i_chosen;
/* Puts the network, and a loss, on a view: what was chosen, or the whole graph. */
void pgcn_i_runner_put(pgcn_i_runner *runner, pgcn_i_chosen chosen, pgcn_i_loss *loss);
/* Draws the paths, by which a part of a graph knows its rows; */
void pgcn_i_runner_draw(pgcn_i_runner *runner, pgcn_i_path_draw draw);
/* the same, and runs the network forward. */
void pgcn_i_runner_forward(pgcn_i_runner *runner, pgcn_i_path_draw draw);
/* After the forward pass, of several ranks: the logits of all rows, or nodes, on each. */
void pgcn_i_runner_collect(pgcn_i_runner *runner);
/* loss->probability from the logits. */
void pgcn_i_runner_probabilities(pgcn_i_runner *runner, pgcn_i_loss *loss);

/* ---- rows of features that stay on disk (supply.c) ---------------------------------------------- */

/* A batch of nodes: the views that it is drawn on, its nodes, and what is drawn for them. */
typedef struct pgcn_i_batch_turn {
    pgcn_i_views *views;
    pgcn_i_chosen chosen;
    pgcn_i_path_draw draw;
} pgcn_i_batch_turn;

/* Has the rows of announced batches read before they are needed, within a bound of memory. */
typedef struct pgcn_i_supply {
    const pgcn_dataset *data; /* borrowed, like the pool */
    pgcn_i_pool *pool;
    pgcn_i_row_file *file;
    pgcn_i_row_cache *cache; /* NULL: after a failure, or before the first batch */
    pgcn_i_row_cache_opts opts;
    pgcn_i_row_rule rule;
    int64_t known;            /* batches announced at a time */
    pgcn_i_drawn *drawn;      /* [known] a ring: what was drawn for those that are announced */
    int64_t announced, taken; /* since the last beginning */
    pgcn_i_row_counts before; /* of caches that are gone */
    pgcn_i_row_counts told;   /* of all, what the file of the data set was told */
} pgcn_i_supply;
/* Close it after a failure too. */
pgcn_status pgcn_i_supply_open(pgcn_i_supply *supply, const pgcn_dataset *data, pgcn_i_pool *pool,
                               pgcn_i_row_rule rule);
void pgcn_i_supply_close(pgcn_i_supply *supply);
/* The future is another one: nothing is announced, nothing is in the cache. */
pgcn_status pgcn_i_supply_begin(pgcn_i_supply *supply);
/* Frees the cache until the next beginning; after a failure. */
void pgcn_i_supply_forget(pgcn_i_supply *supply);
/* As many batches are announced as should be. */
bool pgcn_i_supply_is_full(const pgcn_i_supply *supply);
/* A batch after all that were announced. It is drawn on its views. */
pgcn_status pgcn_i_supply_announce(pgcn_i_supply *supply, pgcn_i_batch_turn turn);
/* What was drawn for the first batch that was announced: views of the same nodes need not draw it again. */
const pgcn_i_drawn *pgcn_i_supply_first(const pgcn_i_supply *supply);
/* The rows of that batch, which the views hold, drawn. */
pgcn_status pgcn_i_supply_bring(pgcn_i_supply *supply, const pgcn_i_views *views);
pgcn_row_reads pgcn_i_supply_reads(const pgcn_i_supply *supply);

/* What is needed within a bound, part by part. */
typedef struct pgcn_i_memory_needs {
    int64_t program; /* and what else the process had before the data was loaded */
    int64_t nodes;   /* labels, masks, and other arrays with an entry for every node */
    int64_t weights;
    int64_t batch; /* values of a batch, and the rows of those after it */
    int64_t graph; /* all of its pages */
} pgcn_i_memory_needs;
/* Of the data alone. */
pgcn_i_memory_needs pgcn_i_needs_of(const pgcn_dataset *data);
int64_t pgcn_i_needs_bytes(const pgcn_i_memory_needs *need);
bool pgcn_i_needs_fit(const pgcn_i_memory_needs *need, const pgcn_dataset *data);
/* PGCN_ERR_MEMORY with the parts, and a bound that suffices; `what`: "training on"; `advice`: "" or ", or ...". */
pgcn_status pgcn_i_needs_fail(const pgcn_i_memory_needs *need, const pgcn_dataset *data,
                              const char *what, const char *advice);
/* A batch, about: the rows that it wants, and what it takes to keep what was drawn for it. */
typedef struct pgcn_i_batch_size {
    int64_t wanted, drawn_bytes;
} pgcn_i_batch_size;
/* The larger of each. */
pgcn_i_batch_size pgcn_i_batch_size_of(pgcn_i_nodes *nodes, pgcn_i_batch_size before);
/* What batches of that size that are announced, and rows under way, take at least. */
int64_t pgcn_i_supply_least(const pgcn_i_supply *supply, pgcn_i_batch_size size);
/* Decides how many are announced at a time, where need->batch has the least and everything fits; adds to it what they take
 * beyond that, which is returned. */
int64_t pgcn_i_supply_plan(pgcn_i_supply *supply, pgcn_i_batch_size size,
                           pgcn_i_memory_needs *need);
/* Gives the cache its part of what is left of the bound; what it takes. */
int64_t pgcn_i_supply_divide(pgcn_i_supply *supply, const pgcn_i_memory_needs *need);

/* ---- models (model.c) ----------------------------------------------------------------------- */

struct pgcn_model {
    pgcn_config config;
    pgcn_task task;
    int64_t features;
    int classes;
    char dataset[256];
    char fingerprint[65];
    char split[16];
    pgcn_i_split_id split_id; /* both "": a model of 0.1 */
    int64_t bits_revision;    /* of the training; 0: a model of 0.1 */
    int64_t groups;           /* that its sums were made by, at most */
    char isa[16];             /* of the training; "": a model of 0.1 */
    int64_t epoch;
    char *history; /* JSON array of the epochs, owned */
    /* arrays of strings; NULL: classes or feature columns have no names */
    char *
        encoder; /* JSON: how columns of a table became its features (src/data/encode.h); or NULL */
    json_t *class_names, *feature_names;
    pgcn_i_params params;
};

static inline pgcn_i_shape pgcn_i_model_shape(const pgcn_model *model) {
    return (pgcn_i_shape){model->features, model->classes, model->task == PGCN_TASK_GRAPH};
}

/* ---- inference (inference.c) ------------------------------------------------------------------------ */

/* What a session is opened for; nothing of it: predictions of all. */
typedef struct pgcn_i_session pgcn_i_session;
typedef struct pgcn_i_session_purpose {
    bool explains; /* what is read after the forward pass is kept, and graphs come one at a time */
    bool shows;    /* results of layers are there as a whole */
    const uint8_t *cut; /* [nodes] whose links count 0, other links as before; NULL: none */
    /* Nodes that are asked for at a time, at most. Only the rows that they need are computed, if the network allows it.
     * 0: the whole graph is wanted. */
    int64_t most;
    int64_t guests, guest_edges; /* room for nodes that the data does not have */
    int64_t results; /* bytes of results that will be kept, where a bound of memory is divided */
    bool shared;     /* ranks divide the rows */
} pgcn_i_session_purpose;

/* One model on one data set, ready to give probabilities draw by draw. */
struct pgcn_i_session {
    const pgcn_model *model;
    const pgcn_dataset *data;
    pgcn_config config;
    pgcn_inference inference;
    pgcn_i_params params; /* shares the model's arrays */
    pgcn_i_arena arena;
    pgcn_i_pool *pool;
    pgcn_i_input *input;
    pgcn_i_spatial spatial;
    pgcn_i_runner runner;
    pgcn_node *chosen; /* graphs of a part, where there are many */
    pgcn_i_loss loss;  /* its probabilities are those of the last part */
    int64_t items;     /* of the data set: nodes or graphs */
    pgcn_i_session_purpose purpose;
    pgcn_i_hidden hidden; /* what is kept of known nodes, if anything is */
    pgcn_i_input *plain; /* the features before they were multiplied by powers of T, if they were */
    int levels;          /* of the network, where it is computed in parts; */
    int64_t block;       /* then that many nodes are computed at a time */
    pgcn_i_supply
        supply; /* of features that stay on disk; its file is NULL: they are not read by blocks */
    bool in_files;       /* features are on disk, and all rows are computed: in temporary files */
    pgcn_i_share *share; /* rows of several ranks; NULL: all are here */
    bool is_served;      /* the other ranks wait for what this one runs */
};
/* Predictions of all; `results` of the purpose. */
pgcn_status pgcn_i_session_open(pgcn_i_session *session, const pgcn_model *model,
                                const pgcn_dataset *data, const pgcn_inference *inference,
                                int64_t results);
/* The same on a rank other than 0, until that one closes its session. */
pgcn_status pgcn_i_session_serve(const pgcn_model *model, const pgcn_dataset *data,
                                 const pgcn_inference *inference);
/* The same for a purpose. */
pgcn_status pgcn_i_session_open_for(pgcn_i_session *session, const pgcn_model *model,
                                    const pgcn_dataset *data, const pgcn_inference *inference,
                                    pgcn_i_session_purpose purpose);
/* Of a session in parts, in exact form: keeps hidden rows of all nodes, so that a question computes the rows that it is
 * about alone; and what that takes, -1: not known for want of memory. */
pgcn_status pgcn_i_session_keep(pgcn_i_session *session);
int64_t pgcn_i_session_hidden_bytes(pgcn_i_session *session);
void pgcn_i_session_close(pgcn_i_session *session);
/* One draw of what was chosen: session->loss.probability are those of its items, in the order of the view. */
pgcn_status pgcn_i_session_run(pgcn_i_session *session, pgcn_i_chosen chosen, int draw);
/* Runs the part of the data that an item is in, with the paths of draw 0. Logits and probabilities of the
 * item are in row *row of session->runner.logits and session->loss. */
pgcn_status pgcn_i_session_run_item(pgcn_i_session *session, int64_t item, int64_t *row);
/* The graphs of part i, none after the last. A single graph has one part. */
bool pgcn_i_session_part(pgcn_i_session *session, int64_t i, pgcn_i_chosen *out);
/* Which paths a draw has. */
static inline pgcn_i_path_draw pgcn_i_session_draw(const pgcn_i_session *session, int draw) {
    return (pgcn_i_path_draw){
        .seed = session->inference.seed, .purpose = PGCN_I_RNG_WALK_INFERENCE, .step = draw};
}

/* ---- inference in blocks of nodes (blocks.c) ------------------------------------------------------- */

enum { PGCN_I_BLOCK = 1024 }; /* nodes that are computed at a time, at most */
/* Whether the network can be computed in parts of the graph. */
bool pgcn_i_session_in_parts(const pgcn_i_session *session);
/* Gets draw `draw` of nodes number first, first + 1, ... of those that were asked for: session->loss.probability. */
typedef void (*pgcn_i_block_taker)(void *context, const pgcn_i_session *session, int64_t first,
                                   pgcn_i_chosen chosen, int draw);
/* All draws of some different nodes, block by block, in the order of the nodes and of the draws. */
pgcn_status pgcn_i_session_ask(pgcn_i_session *session, const pgcn_node *node, int64_t count,
                               pgcn_i_block_taker take, void *context);
/* How a row of features becomes what the first layer reads. */
pgcn_i_row_rule pgcn_i_session_rule(const pgcn_i_session *session);
/* Of features that stay on disk, before anything else is made: whether rows are read block by block, or all of them are
 * computed at once, in files. */
pgcn_status pgcn_i_session_outside(pgcn_i_session *session);
/* Divides the bound of memory, and finds how large blocks may be. */
pgcn_status pgcn_i_session_supply(pgcn_i_session *session);

/* ---- sums over draws (inference.c) ------------------------------------------------------------------ */

/* Sums over the draws: probabilities and their squares. */
typedef struct pgcn_i_draws {
    pgcn_i_arena arena;
    int64_t count; /* items * classes */
    int runs, classes;
    double *last; /* of one draw */
    double *sum, *squares;
} pgcn_i_draws;
/* Free its arena after a failure too. */
pgcn_status pgcn_i_draws_init(pgcn_i_draws *draws, const pgcn_i_session *session);
pgcn_status pgcn_i_draws_add(pgcn_i_draws *draws, pgcn_i_session *session, int draw);
/* The same of a block of nodes, whose draws follow each other; last[] are those of the latest. */
typedef struct pgcn_i_block_sums {
    pgcn_i_arena arena;
    int runs, classes;
    double *last, *sum, *squares; /* [block, classes] */
} pgcn_i_block_sums;
/* Free its arena after a failure too. */
pgcn_status pgcn_i_block_sums_init(pgcn_i_block_sums *sums, const pgcn_i_session *session);
/* Adds a draw; whether it was the last of the block. */
bool pgcn_i_block_sums_add(pgcn_i_block_sums *sums, const pgcn_i_session *session, int64_t nodes,
                           int draw);
/* Sample deviation of `runs` values from their sum and sum of squares. */
double pgcn_i_deviation_of(double sum, double squares, int runs);

/* ---- several models (ensemble.c) -------------------------------------------------------------------- */

typedef struct pgcn_i_models {
    const pgcn_model *const *model;
    int count;
} pgcn_i_models;
/* Whether their probabilities mean the same; and whether they were trained on the same items. */
pgcn_status pgcn_i_models_check(pgcn_i_models models);
pgcn_status pgcn_i_models_check_split(pgcn_i_models models);

/* Sums over the models, each of which predicts all items. */
typedef struct pgcn_i_mean_of_models {
    pgcn_i_arena arena;
    int64_t count; /* items * classes */
    float *probability;
    double *last; /* of the latest model */
    double *sum, *squares;
} pgcn_i_mean_of_models;
/* Free its arena after a failure too. */
pgcn_status pgcn_i_mean_of_models_init(pgcn_i_mean_of_models *mean, pgcn_i_models models,
                                       int64_t items);
pgcn_status pgcn_i_mean_of_models_add(pgcn_i_mean_of_models *mean, const pgcn_model *model,
                                      const pgcn_dataset *data, const pgcn_inference *inference);

/* ---- columns (columns.c) -------------------------------------------------------------------- */

/* The names as a list; NULL if there are none or one is not UTF-8, which JSON cannot hold. */
pgcn_status pgcn_i_names_to_json(const pgcn_i_names *names, json_t **out);
/* The features of the data as the model reads them: columns with names are found by them, others must be
 * as many. Borrows what does not change; the rest is in `arena`. */
pgcn_status pgcn_i_match_columns(const pgcn_model *model, const pgcn_dataset *data,
                                 pgcn_i_arena *arena, pgcn_i_features *out);

/* ---- numbers that are not finite (numeric.c) ---------------------------------------------------- */

/* PGCN_ERR_NUMERIC with the likely cause: an extreme feature column, else the learning rates. `which`
 * loss: "training" or "validation". */
pgcn_status pgcn_i_fail_loss(const pgcn_trainer *trainer, const char *which);
/* The same of a prediction whose logits, at the end of the tape, are not finite: the first layer where
 * that is so. */
pgcn_status pgcn_i_fail_prediction(const pgcn_model *model, const pgcn_dataset *data,
                                   const pgcn_i_input *input, pgcn_i_tape *tape);

/* ---- checkpoints (checkpoint.c) -------------------------------------------------------------- */

/* Where a run stands, apart from the weights. */
typedef struct pgcn_i_progress {
    pgcn_epoch *history; /* [config.epochs] */
    int64_t epochs;      /* done */
    int64_t best;        /* index into history, -1: none yet */
    int64_t improved;    /* epoch that last had a better validation loss or measure */
    double least_loss, most_measure;
    bool unvalidated; /* nothing validates: the last weights are the ones to keep */
} pgcn_i_progress;

json_t *pgcn_i_history_to_json(const pgcn_epoch *history, int64_t count, pgcn_select select);
pgcn_status pgcn_i_checkpoint_write(const char *path, const pgcn_trainer *trainer);
pgcn_status pgcn_i_checkpoint_read(const char *path, const pgcn_resume_opts *opts,
                                   pgcn_trainer *trainer);
/* Sentences about a resume, in the order they were found. */
enum { PGCN_I_RESUME_NOTES = 3 };
typedef struct pgcn_i_notes {
    int count;
    char text[PGCN_I_RESUME_NOTES][400];
} pgcn_i_notes;

/* ---- batches (feed.c) ----------------------------------------------------------------------- */

/* Which graphs of a set, or training nodes of one graph, a step has, and which graphs a part of an evaluation. The order
 * of what trains is drawn anew for every pass over it, from its number alone. */
typedef struct pgcn_i_feed {
    pgcn_i_arena arena;
    bool nodes;          /* of one graph; otherwise graphs, or parts of one */
    bool whole_eval;     /* evaluations have all of one graph */
    int64_t most;        /* at a time */
    int64_t train, eval; /* how many there are with something to learn, or to score, in them */
    pgcn_node *train_item, *eval_item; /* nodes are evaluated only where eval-nodes is set */
    pgcn_node *order;                  /* of the pass: indices into train_item */
    int64_t others,
        most_others; /* nodes that do not train, and how many of them a step has besides */
    pgcn_node *other_item;
    pgcn_node *chosen;
    int64_t pass;  /* whose order it is, -1: none */
    int64_t steps; /* of a pass */
} pgcn_i_feed;
pgcn_status pgcn_i_feed_new(const pgcn_trainer *trainer, pgcn_i_feed **out);
void pgcn_i_feed_free(pgcn_i_feed *feed);
/* For somebody who asks for other steps at the same time; lives in `arena`, and borrows the lists. */
pgcn_status pgcn_i_feed_twin(const pgcn_i_feed *feed, pgcn_i_arena *arena, pgcn_i_feed *out);
/* What a step, from 0, has, or part i of the evaluation. Valid until the next call. */
pgcn_i_chosen pgcn_i_feed_step(pgcn_i_feed *feed, uint64_t seed, int64_t step);
pgcn_i_chosen pgcn_i_feed_part(const pgcn_i_feed *feed, int64_t i);
/* Whether evaluations look at some nodes only, those of eval_item; a trainer of whole graphs has no feed. */
static inline bool pgcn_i_feed_samples(const pgcn_i_feed *feed) {
    return feed && feed->nodes && feed->eval > 0;
}

/* ---- training on features that stay on disk (lookahead.c) ------------------------------------ */

/* A step of an epoch, or a part of its evaluation, both from 0. */
typedef struct pgcn_i_moment {
    int64_t epoch;
    bool evaluates;
    int64_t at;
} pgcn_i_moment;
/* Which paths a turn draws. */
pgcn_i_path_draw pgcn_i_moment_draw(const pgcn_trainer *trainer, pgcn_i_moment turn);
/* Whether an epoch, from 0, has an evaluation after its steps. */
bool pgcn_i_evaluation_is_due(const pgcn_trainer *trainer, int64_t epoch);

/* Finds the rows of later turns and has them read before they are needed. */
typedef struct pgcn_i_lookahead pgcn_i_lookahead;
/* What cannot be trained from disk is refused, and at once what can never fit: before anything is allocated. */
pgcn_status pgcn_i_lookahead_check(const pgcn_trainer *trainer);
/* What training and evaluations will read of the exact operator. */
pgcn_i_spatial_use pgcn_i_use_of_graph(const pgcn_trainer *trainer);
/* When everything else is allocated and trainer->memory says how much that is: gives the cache what is left of the
 * bound, and adds it there; or refuses. */
pgcn_status pgcn_i_lookahead_new(pgcn_trainer *trainer, pgcn_i_lookahead **out);
/* When those of all ranks are there; NULL is fine. */
void pgcn_i_lookahead_align(pgcn_i_lookahead *lookahead);
void pgcn_i_lookahead_free(pgcn_i_lookahead *lookahead);
/* Before a turn: announces the turns after it, by drawing them on the views of the runners. After a failure the same
 * turn may be tried again. */
pgcn_status pgcn_i_lookahead_see(pgcn_i_lookahead *lookahead, pgcn_i_moment turn);
/* After the runner has drawn the turn: brings the rows that it needs. */
pgcn_status pgcn_i_lookahead_bring(pgcn_i_lookahead *lookahead, pgcn_i_runner *runner);
/* Whether nothing comes after the evaluation that follows: the scores of the best weights. */
void pgcn_i_lookahead_closes(pgcn_i_lookahead *lookahead, bool closes);

/* ---- an epoch that may be stopped (trainer.c) ---------------------------------------------------- */

/* What an evaluation adds up, part by part: figures of validation and test items, and, where a measure
 * needs them, their predictions (NULL: not needed). */
typedef struct pgcn_i_evaluation {
    pgcn_i_score score[2];
    pgcn_i_tally *tally; /* [2] */
    int64_t parts;       /* done */
} pgcn_i_evaluation;

/* How far the present epoch has come. All zero: not begun. A callback may stop it between two steps or
 * two parts of its evaluation, and the next call goes on from here. */
typedef struct pgcn_i_underway {
    int64_t steps;   /* done */
    double loss_sum; /* of their losses, each times its items; of a single step its loss */
    int64_t items;
    double step_ms;
    pgcn_i_evaluation evaluation;
} pgcn_i_underway;

/* ---- pseudo-labels (pseudo.c) -------------------------------------------------------------------- */

typedef struct pgcn_i_pseudo pgcn_i_pseudo;
/* In the arena, which frees it. */
pgcn_status pgcn_i_pseudo_new(pgcn_i_arena *arena, int64_t nodes, pgcn_i_pseudo **out);
/* `each` nodes of every class, or all that are predicted to be of it; probability: [nodes, classes] of the weights after
 * `epochs` epochs. */
void pgcn_i_pseudo_choose(pgcn_i_pseudo *pseudo, const pgcn_dataset *data,
                          const pgcn_i_split *split, const float *probability, int each,
                          int64_t epochs);
/* Whether those that are chosen are of these weights. */
bool pgcn_i_pseudo_is_of(const pgcn_i_pseudo *pseudo, int64_t epochs);
/* The training nodes with them. */
pgcn_i_target pgcn_i_pseudo_target(const pgcn_i_pseudo *pseudo);

/* ---- checks of data against configuration (checks.c) -------------------------------------------- */

/* Whether a network can do the task of a data set. */
pgcn_status pgcn_i_check_task_of(const pgcn_i_network *network, pgcn_task task,
                                 const char *dataset);
/* Task, split and names fit; counts the items of the split. */
pgcn_status pgcn_i_trainer_check(pgcn_trainer *trainer);
/* The configuration with what follows from it and the data, which models then hold. */
void pgcn_i_trainer_settle(pgcn_trainer *trainer);

/* ---- the trainer (trainer.c) ------------------------------------------------------------------ */

/* The part that other ranks have in a trainer: cluster.h. */
typedef struct pgcn_i_cluster {
    bool shared;     /* with other ranks */
    int64_t trainer; /* its number, on rank 0; -1: on others, and alone */
    int64_t steps, received, received_before;
    pgcn_i_rounds rounds, rounds_before;
    double waited, waited_before; /* seconds */
} pgcn_i_cluster;

struct pgcn_trainer {
    pgcn_i_arena arena;
    const pgcn_dataset *data;
    pgcn_config config;
    const pgcn_i_split *split;
    pgcn_i_split_id split_id;
    int64_t train_items, val_items, test_items; /* labelled nodes, or graphs */
    pgcn_i_pool *pool;
    pgcn_i_cluster cluster;
    pgcn_i_share *share[2]; /* of training and of evaluation; NULL: this process has all rows */
    pgcn_i_params params;
    pgcn_i_input *input;
    float *fill; /* [features] means of the training nodes */
    pgcn_i_spatial spatial;
    pgcn_i_runner train, eval; /* in the same memory: one of them runs at a time */
    float *class_weight;       /* [classes] of the training loss; NULL: all 1 */
    pgcn_i_loss loss;          /* of both */
    pgcn_i_tally tally[2]; /* of the evaluation: validation and test; only if `select` needs them */
    pgcn_i_feed *feed;     /* of batches; NULL: a step has all of the one graph */
    pgcn_i_pseudo *pseudo; /* NULL: without pseudo-labels */
    int levels;            /* of the network, where batches have nodes */
    pgcn_batch_rows *rows; /* [levels + 1] of such batches */
    pgcn_i_batch_size batch_size; /* of the largest of some, if features are on disk */
    pgcn_i_lookahead *lookahead;  /* of features on disk; NULL: they are in memory */
    pgcn_i_clusters *clusters;    /* what training sees of one graph; NULL: the data as it is */
    int64_t steps;                /* of an epoch */
    pgcn_i_progress progress;
    pgcn_i_notes notes; /* of the last resume */
    pgcn_memory memory; /* what all of this takes */
    const char *broken; /* which loss is not finite after a step of this epoch was done; or NULL */
    pgcn_i_underway underway;
    bool (*go_on)(void *context); /* asked before every step and part; NULL: nobody is */
    void *context;
};

/* operations.c: multiply-adds of one epoch with its evaluation, about; `links`: as if the links of a node
 * were among its features. A pure function of the data and the settings: two programs on any machines
 * count the same. */
double pgcn_i_operations(const pgcn_dataset *data, const pgcn_config *config, bool links);

/* memory.c: fills trainer->memory when everything is allocated. */
pgcn_status pgcn_i_trainer_measure(pgcn_trainer *trainer);
/* About what a training takes, from the sizes of the data and the settings alone. */
pgcn_memory pgcn_i_trainer_guess(const pgcn_dataset *data, const pgcn_config *config);
/* How many times a rank has the rows of others that it fetches (ranks.c). */
double pgcn_i_copies_of_fetched(const pgcn_config *config);
/* The sentence of a training that could not be set up: what it needs in all, what there is. */
pgcn_status pgcn_i_trainer_lacks_memory(const pgcn_dataset *data, const pgcn_config *config);

/* Puts an epoch at the end of the history, says whether its weights are the best so far and
 * updates what patience looks at. Resuming replays the history through it. */
bool pgcn_i_progress_add(pgcn_i_progress *progress, pgcn_select select, pgcn_epoch epoch);

/* adam.c: scales the gradient down to the norm config->clip where it is longer; parameters that are not trained do not
 * count; */
void pgcn_i_clip_gradient(pgcn_i_params *params, const pgcn_config *config);
/* one step over all parameters with a share of the rates, and the decays, of their groups;
 * t from 1. */
void pgcn_i_adam_all(pgcn_i_params *params, pgcn_i_pool *pool, const pgcn_config *config,
                     double share, int64_t t);

#endif
