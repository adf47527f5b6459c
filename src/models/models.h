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
    const char *
        why_ignored; /* ", which adds up neighbours": ends the sentence about a refused value, or "" */
    bool drops_last_only;             /* `dropout` counts before the last layer alone */
    const pgcn_i_ignored *ignored;    /* ends with a key of NULL; NULL: none */
    const pgcn_i_setting *const *own; /* ends with NULL; NULL: none */
} pgcn_i_network;

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
int pgcn_i_network_ops(const pgcn_config *config); /* operations to make room for */

/* ---- what networks share ---------------------------------------------------------------------- */

/* Mean and deviation of each feature, for PGCN_NORMALISE_STANDARDISE; part of the model, so that unseen
 * nodes are treated like those of the training. NULL: features are not standardised. */
typedef struct pgcn_i_standard {
    float *mean, *deviation; /* [columns] */
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
/* and from the rows of nodes to the logits of graphs: h[0 .. layers] are the results of the layers, [0]
 * what goes into the first. */
void pgcn_i_readout_declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape,
                            int64_t first_channels);
pgcn_i_value *pgcn_i_readout_record(pgcn_i_tape *tape, const pgcn_config *config,
                                    const pgcn_i_view *view, pgcn_i_value **h);

#endif
