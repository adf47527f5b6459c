/* How much work an epoch is, from the sizes of the data and the settings alone. What a race spends is
 * counted in it, because seconds differ from machine to machine and from run to run. Called by race.c. */
#include "train/train.h"

#include <math.h>

/* The share of the nodes that one epoch's steps go through, above 1 if some are seen twice. */
static double share_of_nodes(const pgcn_dataset *data, const pgcn_config *config) {
    if (!pgcn_i_in_batches(data, data->task == PGCN_TASK_GRAPH)) return 1;
    if (config->steps == 0 || config->batch == 0) return fmax(1, config->steps);
    return (double)config->steps * config->batch / (double)data->info.graphs;
}

/* Entries of the operators that one layer goes through, in training and in evaluation. */
static double visits(const pgcn_dataset *data, const pgcn_config *config, bool exact) {
    double loops = config->self_loops ? (double)data->graph->n : 0;
    double entries = (double)data->graph->entries + loops;
    return pgcn_i_network_of(config)->cost(config).hops *
           (exact ? entries : (double)data->graph->n * config->paths);
}

/* Steps of an epoch, each of which updates all weights. */
static double steps_of(const pgcn_dataset *data, const pgcn_config *config) {
    if (!pgcn_i_in_batches(data, data->task == PGCN_TASK_GRAPH) || config->batch == 0) return 1;
    if (config->steps > 0) return config->steps;
    return ceil((double)data->info.graphs / config->batch);
}

double pgcn_i_operations(const pgcn_dataset *data, const pgcn_config *given, bool links) {
    pgcn_config settled = *given;
    pgcn_i_config_settle(&settled);
    const pgcn_config *config = &settled;
    double n = (double)data->graph->n, channels = config->channels, layers = config->layers;
    double entries = links ? (double)data->graph->entries : 0, columns = links ? n : 0;
    double inputs = ((double)data->info.feature_nonzeros + entries) * channels;
    double ends = ((double)data->x.columns + columns + data->classes) * channels;
    double square = channels * channels * pgcn_i_network_of(config)->cost(config).squares;
    double dense = n * (layers * square + channels * data->classes);
    bool exact = config->train_form == PGCN_FORM_EXACT;
    /* products: forward and both gradients; gathers: forward and backward; Adam: about five */
    double step = 2 * inputs + 3 * dense + 2 * layers * channels * visits(data, config, exact);
    double adam = 5 * (ends + layers * square) * steps_of(data, config);
    double evaluation = inputs + dense + layers * channels * visits(data, config, true);
    return step * config->samples * share_of_nodes(data, config) + adam +
           evaluation / config->eval_every;
}
