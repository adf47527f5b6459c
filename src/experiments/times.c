/* What a training costs on this machine: the trainings are measured one after the other, in this
 * process, with one thread each. Multiply-adds are counted as in section 3.5 of the paper. */
#include "experiments/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EPOCHS = 60, DRAWS = 20 };
static const double most_seconds = 5; /* that the epochs of a cell may take; at least 3 are run */

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    if (count == 0) return NAN;
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

/* An epoch is a step and an evaluation of all nodes. The first one touches all memory and does not
 * count. */
static pgcn_status measure_epochs(pgcn_trainer *trainer, exp_times *out) {
    double step[MOST_EPOCHS], evaluation[MOST_EPOCHS], first = 0;
    int count = -1;
    while (count < MOST_EPOCHS && !pgcn_trainer_finished(trainer) &&
           (count < 3 || cli_now() - first < most_seconds)) {
        pgcn_epoch epoch;
        double begin = cli_now();
        pgcn_status status = pgcn_trainer_epoch(trainer, &epoch);
        double whole = 1000 * (cli_now() - begin);
        if (status != PGCN_OK) return status;
        if (count < 0) first = cli_now();
        if (count >= 0) {
            step[count] = epoch.step_ms;
            evaluation[count] = whole - epoch.step_ms;
        }
        count++;
    }
    out->step_ms = median(step, count < 0 ? 0 : count);
    out->inference_ms = median(evaluation, count < 0 ? 0 : count);
    return PGCN_OK;
}

/* Draws all paths of a step, as often as needed for a median. */
static pgcn_status measure_sampling(const exp_cell *cell, exp_times *out) {
    const pgcn_graph *graph = pgcn_dataset_graph(cell->data->data);
    const pgcn_config *config = &cell->config;
    double took[DRAWS];
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    opts.walk = config->walk;
    opts.length = config->path_length;
    opts.paths = config->paths;
    opts.return_p = (float)config->return_p;
    opts.inout_q = (float)config->inout_q;
    opts.may_stay = config->self_loops;
    opts.threads = 1;
    size_t nodes = (size_t)pgcn_graph_nodes(graph);
    pgcn_node *paths = calloc(nodes * (size_t)opts.length, (size_t)opts.paths * sizeof *paths);
    if (!paths) return PGCN_ERR_MEMORY;
    pgcn_status status = PGCN_OK;
    for (int i = 0; i < DRAWS && status == PGCN_OK; i++) {
        double begin = cli_now();
        opts.draw = (uint64_t)i;
        status = pgcn_paths_sample(graph, &opts, NULL, 0, paths);
        took[i] = 1000 * (cli_now() - begin);
    }
    free(paths);
    if (status == PGCN_OK) out->sampling_ms = median(took, DRAWS);
    return status;
}

static bool draws_paths(const pgcn_config *config) {
    return config->model == 0 && config->train_form == PGCN_FORM_SAMPLED;
}

/* Output heads of attention, whose mean the classes are; 1: the network has none. */
static double output_heads(const pgcn_config *config) {
    char text[PGCN_SETTING_BYTES];
    bool has = pgcn_config_get(config, "heads-last", text, sizeof text) == PGCN_OK;
    return has ? strtod(text, NULL) : 1;
}

/* Multiply-adds of a forward pass over all nodes. A spatial operation is n k p for sampled paths,
 * the entries of the matrix for A with self-loops, and (k - 1) times the entries of A for the exact
 * form; each is done for every channel, and a 1x1 convolution follows. Attention has two scores of
 * every row besides, a product of the row with a vector each. */
double exp_multiply_adds(const exp_cell *cell) {
    const pgcn_config *config = &cell->config;
    pgcn_dataset_info info = pgcn_dataset_describe(cell->data->data);
    double n = (double)info.nodes, c = config->channels, k = config->path_length;
    double entries = (double)pgcn_graph_entries(pgcn_dataset_graph(cell->data->data));
    double spatial = config->model != 0    ? entries + n
                     : draws_paths(config) ? n * k * config->paths
                                           : entries * (k - 1);
    double first = (double)info.feature_nonzeros * c, layers = config->layers;
    const char *network = pgcn_network_name(config->model);
    bool between_ends = strcmp(network, "pathgcn") == 0 || strncmp(network, "gcnii", 5) == 0;
    if (between_ends) return first + layers * (spatial * c + n * c * c) + n * c * info.classes;
    /* gcn and gat: the first and the last of the layers are what the ends are elsewhere */
    bool attends = strcmp(network, "gat") == 0;
    double out = info.classes * (attends ? output_heads(config) : 1);
    if (attends) spatial += 2 * n;
    return first + n * c * c * (layers - 2) + n * c * out + spatial * (c * (layers - 1) + out);
}

static pgcn_status measure_cell(exp_cell *cell) {
    pgcn_trainer *trainer = NULL;
    pgcn_model *model = NULL;
    pgcn_config config = cell->config;
    config.threads = 1;
    config.eval_every = 1; /* every epoch has an evaluation to measure */
    pgcn_status status = pgcn_trainer_new(cell->data->data, &config, &trainer);
    if (status == PGCN_OK) status = measure_epochs(trainer, &cell->times);
    if (status == PGCN_OK && draws_paths(&config)) status = measure_sampling(cell, &cell->times);
    if (status == PGCN_OK) status = pgcn_trainer_model(trainer, &model);
    if (status == PGCN_OK) cell->times.parameters = (double)pgcn_model_parameters(model);
    cell->times.multiply_adds = exp_multiply_adds(cell);
    pgcn_model_free(model);
    pgcn_trainer_free(trainer);
    return status;
}

pgcn_status exp_measure_times(exp_plan *plan, const exp_request *r,
                              const exp_experiment *experiment) {
    for (size_t i = 0; i < plan->cells; i++) {
        exp_cell *cell = &plan->cell[i];
        if (cell->experiment != experiment || !cell->data) continue;
        CLI_TRY(cli_report(r->command, measure_cell(cell)));
        if (cli_interrupted()) return PGCN_ERR_SYSTEM;
    }
    return PGCN_OK;
}
