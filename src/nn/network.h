/* What the files that define networks share: how parameters are named, norms, and the readout of
 * graphs. */
#ifndef PGCN_NETWORK_H
#define PGCN_NETWORK_H

#include "nn/nn.h"

/* Parameters, and operations, at most: of everything around the layers, and of a layer. */
enum { PGCN_MOST_OF_ENDS = 24, PGCN_MOST_OF_LAYER = 16 };

#define PGCN_INPUT_KERNEL  "input.kernel"
#define PGCN_NORM_GAIN     "norm.gain"
#define PGCN_NORM_VARIANCE "norm.variance"

pgcn_i_param *pgcn_i_param_named(const pgcn_i_params *params, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
pgcn_i_param *pgcn_i_network_kernel_param(const pgcn_i_params *params, const pgcn_config *config,
                                          int layer);
double pgcn_i_last_dropout(const pgcn_config *config);

/* readout.c: a batch norm with gain and shift, `of` being "layers.3." or the like. */
void pgcn_i_norm_declare(pgcn_i_params *params, pgcn_i_group group, int64_t channels,
                         const char *of);
pgcn_i_value *pgcn_i_norm_record(pgcn_i_tape *tape, pgcn_i_value *x, const char *of);

/* readout.c: from the rows of nodes to the logits of graphs. h[0 .. layers] are the results of the
 * layers, [0] what goes into the first. */
void pgcn_i_readout_declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape,
                            int64_t first_channels);
pgcn_i_value *pgcn_i_readout_record(pgcn_i_tape *tape, const pgcn_config *config,
                                    const pgcn_i_place *place, pgcn_i_value **h);

/* The architectures: model_pathgcn.c, model_gin.c */
void pgcn_i_pathgcn_declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape);
pgcn_i_value *pgcn_i_pathgcn_record(pgcn_i_tape *tape, const pgcn_config *config,
                                    const pgcn_i_place *place);
pgcn_i_value *pgcn_i_pathgcn_record_graphs(pgcn_i_tape *tape, const pgcn_config *config,
                                           const pgcn_i_place *place);
void pgcn_i_gin_declare(pgcn_i_params *params, const pgcn_config *config, pgcn_i_shape shape);
pgcn_i_value *pgcn_i_gin_record(pgcn_i_tape *tape, const pgcn_config *config,
                                const pgcn_i_place *place);

#endif
