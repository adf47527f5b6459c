/* models: the networks. Each is one file of this room and one line in the table of network.c.
 *
 * Comes in: a configuration and a view (arrays). Goes out: declared parameters with their start, and
 * the operations of the network on a tape. Next rooms: views, which makes views from data sets, and
 * train, which knows networks only by this header. */
#ifndef PGCN_MODELS_H
#define PGCN_MODELS_H

#include "nn/nn.h"

/* What a network reads and predicts. */
typedef struct pgcn_i_shape {
    int64_t features;
    int classes;
    bool per_graph; /* one prediction for each graph, not for each node */
} pgcn_i_shape;

/* ---- settings -------------------------------------------------------------------------------- */

/* A setting that only some networks have. It is declared in the file of the network that has it, and
 * travels by its name: `pathgcn train --NAME`, pgcn_config_set(), recipes and models all know it. Two
 * networks with the same setting list the same declaration. */
typedef struct pgcn_i_setting {
    const char *key;
    bool whole;          /* whole numbers only */
    double low, high;    /* inclusive */
    const char *choices; /* "a | b": the value is the number of a word; NULL: a number */
    double preset;
    const char *help;
} pgcn_i_setting;

/* A shared setting that the network does not look at. */
typedef struct pgcn_i_ignored {
    const char *key;
    const char *is;    /* what it comes to, and may be set to; NULL: nothing */
    const char *value; /* only this value of it is not looked at; NULL: none is */
} pgcn_i_ignored;
#define PGCN_I_IGNORES(key)                                                                        \
    { key, NULL, NULL }
#define PGCN_I_FIXES(key, is)                                                                      \
    { key, is, NULL }
#define PGCN_I_REFUSES(key, value, is)                                                             \
    { key, is, value }

/* ---- a network ------------------------------------------------------------------------------- */

/* What it takes, for predictions of memory and of work; of each layer, in training. */
typedef struct pgcn_i_cost {
    double
        kept; /* arrays of a number per row and channel that the backward pass needs, of all layers */
    double squares; /* c x c matrices that rows are multiplied by */
    double hops;    /* steps along the links */
    double links;   /* numbers per link that the backward pass needs, of all layers */
} pgcn_i_cost;

typedef struct pgcn_i_network {
    const char *name;  /* as `--model` says it */
    const char *about; /* one line */
    /* Declares the parameters, in the order of the file. */
    void (*declare)(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape);
    /* The start of a parameter that was declared with PGCN_I_START_OWN; may be NULL. */
    void (*start)(const pgcn_i_param *param, const pgcn_config *config, pgcn_i_rng_domain domain,
                  float *value);
    /* Records the network on a tape, for training (dropout, samples) or inference. Returns the logits. */
    pgcn_i_value *(*record)(pgcn_i_tape *tape, const pgcn_config *config, const pgcn_i_view *view);
    pgcn_i_cost (*cost)(const pgcn_config *config);
    /* Settings that rule each other out; may be NULL. */
    pgcn_status (*check)(const pgcn_config *config);
    /* How many times the features are multiplied by T before the first layer, once; may be NULL. */
    int (*powers)(const pgcn_config *config);
    const char *
        why_ignored; /* ", which adds up neighbours": ends the sentence about a refused value, or "" */
    const char *why_no_graphs; /* it cannot classify graphs, because ...; NULL: it can */
    /* Batches of nodes: how many operations that lead to other rows stand one after the other; NULL: a row of some
     * operation needs rows that are further away */
    int (*levels)(const pgcn_config *config);
    bool walks;           /* it samples paths, in inference where training has the exact form */
    bool links;           /* values of its own for links: needs to know them from both ends */
    bool reads_both;      /* it reads T and its transpose, in inference too */
    bool empty_rows;      /* a node without neighbours has an empty row of T, and not itself */
    bool drops_last_only; /* `dropout` counts before the last layer alone */
    int hidden_from;      /* layers from which on `dropout-hidden` counts; 0: 2 */
    int residual_from; /* layers of nodes from which on `residual` counts, of graphs one less; 0: 1 */
    int least_layers;
    const pgcn_i_ignored *ignored;    /* ends with a key of NULL; NULL: none */
    const pgcn_i_setting *const *own; /* ends with NULL; NULL: none */
} pgcn_i_network;

/* What all networks without paths fix or ignore of the shared settings. */
#define PGCN_I_NO_PATHS                                                                            \
    PGCN_I_FIXES("path-length", "2"), PGCN_I_FIXES("kernel", "layer"),                             \
        PGCN_I_FIXES("kernel-start", "smooth"), PGCN_I_FIXES("kernel-noise", "0"),                 \
        PGCN_I_FIXES("train-form", "exact"), PGCN_I_FIXES("paths-per-layer", "no"),                \
        PGCN_I_FIXES("input-hops", "0"), PGCN_I_FIXES("input-norm", "no"),                         \
        PGCN_I_FIXES("return-p", "1"), PGCN_I_FIXES("inout-q", "1"),                               \
        PGCN_I_FIXES("drop-rows", "0"), PGCN_I_FIXES("bf16", "no"),                                \
        PGCN_I_FIXES("hidden-rows", "float32"), PGCN_I_FIXES("resample-every", "1"),               \
        PGCN_I_IGNORES("paths"), PGCN_I_IGNORES("hops"), PGCN_I_IGNORES("mix"),                    \
        PGCN_I_REFUSES("walk", "node2vec", "uniform")
/* And those whose weights are all ends or 1x1 convolutions. */
#define PGCN_I_NO_KERNELS  PGCN_I_NO_PATHS, PGCN_I_IGNORES("lr-kernel"), PGCN_I_IGNORES("wd-kernel")
#define PGCN_I_NO_RESIDUAL PGCN_I_FIXES("residual", "none"), PGCN_I_IGNORES("alpha")

/* Number i of the table, NULL after the last; the one of a configuration. */
const pgcn_i_network *pgcn_i_network_at(int i);
const pgcn_i_network *pgcn_i_network_of(const pgcn_config *config);
const char *pgcn_i_network_names(void); /* "pathgcn | gin" */
/* The settings that only some networks have, each once; NULL after the last. */
const pgcn_i_setting *pgcn_i_own_setting(int i);
bool pgcn_i_network_has(const pgcn_i_network *network, const pgcn_i_setting *setting);
/* The value of such a setting. */
double pgcn_i_own_value(const pgcn_config *config, const pgcn_i_setting *setting);

/* Declares the parameters of the configured network and the buffers of its features, */
pgcn_status pgcn_i_network_declare(pgcn_i_params *params, const pgcn_config *config,
                                   pgcn_i_shape shape);
/* gives them their start (value, and start if present), */
void pgcn_i_network_start(pgcn_i_params *params, const pgcn_config *config);
/* and records the network. */
pgcn_i_value *pgcn_i_network_record(pgcn_i_tape *tape, const pgcn_config *config,
                                    const pgcn_i_view *view);
/* Operations to make room for. */
int pgcn_i_network_ops(const pgcn_config *config, const pgcn_i_params *params);
/* Settings that the network cannot have together. */
pgcn_status pgcn_i_network_check(const pgcn_config *config);
int pgcn_i_network_powers(const pgcn_config *config); /* 0: features are read as they are */
/* Why the network cannot be trained on batches of nodes, and what to set; NULL: it can. */
const char *pgcn_i_network_not_in_batches(const pgcn_config *config);
/* The levels of such a batch, or a sentence with that reason. */
pgcn_status pgcn_i_network_levels(const pgcn_config *config, int *out);
/* What most networks have, and those that read no neighbours. */
int pgcn_i_level_per_layer(const pgcn_config *config);
int pgcn_i_no_level(const pgcn_config *config);

/* ---- what networks share ---------------------------------------------------------------------- */

/* What the training nodes say about each feature; part of the model, so that unseen nodes are treated like
 * those of the training. Mean and deviation are for PGCN_NORMALISE_STANDARDISE; NULL: it is another one. The
 * factor is for `frequency`; NULL: it is 0. */
typedef struct pgcn_i_standard {
    float *mean, *deviation, *factor; /* [columns] */
} pgcn_i_standard;
pgcn_i_standard pgcn_i_network_standard(const pgcn_i_params *params);
/* Declares, after all others, where a model keeps the means of features that it does not standardise; and
 * finds them, wherever they are (NULL: a model of version 0.1 without). */
#define PGCN_I_FILL "input.fill"
void pgcn_i_network_declare_fill(pgcn_i_params *params, int64_t features);
float *pgcn_i_network_fill(const pgcn_i_params *params);
/* The kernel of a layer as [path_length, channels]. */
void pgcn_i_network_kernel(const pgcn_i_params *params, const pgcn_config *config, int layer,
                           float *weight);
pgcn_i_param *pgcn_i_network_kernel_param(const pgcn_i_params *params, const pgcn_config *config,
                                          int layer);
double pgcn_i_last_dropout(const pgcn_config *config);

/* blocks.c: a 1x1 convolution with a bias, "<of>weight" and "<of>bias" being its parameters, */
void pgcn_i_linear_declare(pgcn_i_params *params, pgcn_i_group group, int64_t in, int64_t out,
                           const char *of);
pgcn_i_value *pgcn_i_linear_record(pgcn_i_tape *tape, pgcn_i_value *x, const char *of, bool relu,
                                   double dropout);
/* a batch norm with gain and shift, `of` being "layers.3." or the like, */
void pgcn_i_norm_declare(pgcn_i_params *params, pgcn_i_group group, int64_t channels,
                         const char *of);
pgcn_i_value *pgcn_i_norm_record(pgcn_i_tape *tape, pgcn_i_value *x, const char *of);
/* from the rows of nodes to the logits of graphs: h[0 .. layers] are the results of the layers, [0]
 * what goes into the first. */
void pgcn_i_readout_declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape,
                            int64_t first_channels);
pgcn_i_value *pgcn_i_readout_record(pgcn_i_tape *tape, const pgcn_config *config,
                                    const pgcn_i_view *view, pgcn_i_value **h);
/* That readout of graphs; of nodes, Dropout and a 1x1 convolution "classifier." of the last layer. */
pgcn_i_value *pgcn_i_logits_record(pgcn_i_tape *tape, const pgcn_config *config,
                                   const pgcn_i_view *view, pgcn_i_value **h);
/* The same of the last layer alone, for networks that refuse the readout of all layers. */
pgcn_i_value *pgcn_i_readout_of_last(pgcn_i_tape *tape, const pgcn_config *config,
                                     const pgcn_i_view *view, pgcn_i_value *h);
/* Room for the results of all layers, [layers + 1]; NULL without memory, and recording has failed then. */
pgcn_i_value **pgcn_i_layer_results(pgcn_i_tape *tape, const pgcn_config *config);
/* A start that is uniform in -limit .. limit. */
void pgcn_i_start_uniform(float *value, int64_t count, double limit, pgcn_i_rng_domain domain);

/* convolution.c: a layer of a fixed convolution. What of it there is was declared:
 *
 *   Dropout( ReLU( norm( T x W + x W_self + b ) ) )     <of>weight, self.weight, bias, norm.* */
typedef struct pgcn_i_conv_shape {
    pgcn_i_group group;
    int64_t in, out;
    bool self; /* a weight of its own for the node itself */
    bool norm; /* the norm that is set, if any: not in a last layer */
} pgcn_i_conv_shape;
void pgcn_i_conv_declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_conv_shape shape,
                         const char *of);
/* One of its weights, [in, out]: "<of><name>". */
void pgcn_i_weight_declare(pgcn_i_params *params, pgcn_i_conv_shape shape, const char *name,
                           const char *of);
/* "<of>bias", if there is to be one: `norm` says that the norm of the settings follows. */
void pgcn_i_bias_declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_group group,
                         int64_t channels, bool norm, const char *of);
typedef struct pgcn_i_conv {
    pgcn_i_value *x; /* NULL: the features */
    bool relu;
    double dropout;         /* after the ReLU */
    pgcn_i_value *residual; /* (1 - alpha) T x W + alpha R; NULL: none */
} pgcn_i_conv;
pgcn_i_value *pgcn_i_conv_record(pgcn_i_tape *tape, const pgcn_config *config,
                                 const pgcn_i_view *view, pgcn_i_conv conv, const char *of);
/* x W; of the features after their dropout if x is NULL. */
pgcn_i_value *pgcn_i_product_record(pgcn_i_tape *tape, const pgcn_config *config,
                                    const pgcn_i_view *view, pgcn_i_value *x, pgcn_i_param *w);
/* The dropout after layer l of several that stand one after the other. */
double pgcn_i_dropout_after(const pgcn_config *config, int l);
/* A layer of features or rows without neighbours: Dropout( ReLU( norm( x W + b ) ) ). */
pgcn_i_value *pgcn_i_dense_record(pgcn_i_tape *tape, const pgcn_config *config,
                                  const pgcn_i_view *view, pgcn_i_conv conv, const char *of);
/* An MLP of config->layers layers, layers.<l>.weight, .bias and .norm.*, to `out` columns. */
void pgcn_i_mlp_declare(pgcn_i_params *params, const pgcn_config *config, int64_t in, int64_t out,
                        bool norm);
/* Of x, or of the features if x is NULL; whether its last layer has a ReLU. */
pgcn_i_value *pgcn_i_mlp_record(pgcn_i_tape *tape, const pgcn_config *config,
                                const pgcn_i_view *view, pgcn_i_value *x, bool relu);
/* Gain and shift alone, of norms without running statistics. */
void pgcn_i_gains_declare(pgcn_i_params *params, pgcn_i_group group, int64_t channels,
                          const char *of);
/* The norm that the settings name, after what is called "<of>norm"; nothing if they name none. */
void pgcn_i_set_norm_declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_group group,
                             int64_t channels, const char *of);
pgcn_i_value *pgcn_i_set_norm_record(pgcn_i_tape *tape, pgcn_i_value *x, const char *of);
bool pgcn_i_has_norm(const pgcn_config *config); /* one of them is set */
/* Of nodes the last convolution makes the logits; of graphs the readout does. */
bool pgcn_i_is_output(const pgcn_config *config, bool per_graph, int l);
/* Batch norm and layer norm at once are refused. */
pgcn_status pgcn_i_check_norms(const pgcn_config *config);

/* Settings that several networks have (convolution.c). */
extern const pgcn_i_setting pgcn_i_bias, pgcn_i_layer_norm, pgcn_i_edge_keep, pgcn_i_self_mix,
    pgcn_i_powers, pgcn_i_step_size, pgcn_i_heads;
extern const pgcn_i_setting pgcn_i_edge_loss;                   /* gat.c */
extern const pgcn_i_setting pgcn_i_norm_gain, pgcn_i_norm_over; /* pathgcn.c */
/* Norms have the mean and variance of each graph, in use too: they read all rows of it. */
bool pgcn_i_norms_graphs(const pgcn_config *config);
bool pgcn_i_own_yes(const pgcn_config *config, const pgcn_i_setting *setting);
/* The share of edges that a step of training keeps; 1 for networks without the setting. */
double pgcn_i_kept_edges(const pgcn_config *config);

/* The buffer of the largest eigenvalue of the Laplacian, filled from the graph; NULL: not needed. */
#define PGCN_I_EIGENVALUE "laplacian.largest"
float *pgcn_i_network_eigenvalue(const pgcn_i_params *params);

#endif
