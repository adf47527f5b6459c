/* Our side of `make test-peers`: one training step of a network without its Adam, and one evaluation, as the
 * trainer does them. Writes everything to an .npz file that a second program can repeat the step from, and
 * prints the settings as JSON.
 *
 *     peers_dump DATA OUT.npz [KEY=VALUE ...]
 *
 * DATA is one graph, anything that pgcn_dataset_load takes; KEY=VALUE are settings. Features are read as they are, and
 * nothing is dropped. All weights are moved by noise, so that no bias is 0 and no gain is 1.
 *
 *   graph/offset, graph/neighbour, graph/weight   edges, CSR; weight only where the edges have some
 *   x, label, train                               features, classes, training mask
 *   weight/NAME, gradient/NAME                    parameters; buffers have no gradient
 *   logits/eval                                   of all nodes, running statistics in batch norms
 *   logits/train                                  of the step; only rows of training nodes are meant */
#include "ref/reference.h"
#include "train/train.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(pgcn_status status) {
    if (status == PGCN_OK) return;
    fprintf(stderr, "peers_dump: %s\n", pgcn_last_error());
    exit(1);
}

/* ---- the step --------------------------------------------------------------------------------- */

/* Weights and shifts by up to 0.3; running means too, and running variances upwards. */
static void shake(pgcn_i_params *params) {
    float *noise = ref_random_floats(6, params->total);
    for (int i = 0; i < params->count; i++) {
        const pgcn_i_param *param = &params->param[i];
        bool variance = strstr(param->name, "norm.variance") != NULL;
        bool moved = param->group != PGCN_I_GROUP_BUFFER || variance ||
                     strstr(param->name, "norm.mean") != NULL;
        for (int64_t e = param->first; moved && e < param->first + param->count; e++)
            params->value[e] += 0.3f * (variance ? fabsf(noise[e]) : noise[e]);
    }
    free(noise);
}

static void step(pgcn_trainer *trainer) {
    pgcn_i_runner *runner = &trainer->train;
    pgcn_i_runner_put(runner, (pgcn_i_chosen){NULL, 0}, &trainer->loss);
    pgcn_i_target target =
        pgcn_i_views_target(&runner->views, trainer->split->train, trainer->train_items);
    pgcn_i_loss_rows(&trainer->loss, &runner->tape, &target, 0);
    pgcn_i_tape_forward(&runner->tape);
    pgcn_i_loss_run(&trainer->loss, &runner->tape, runner->logits, &target, 0, 1);
    pgcn_i_tape_backward(&runner->tape);
}

/* ---- the file ---------------------------------------------------------------------------------- */

typedef struct archive {
    pgcn_i_arena arena;
    pgcn_i_tensor *tensor;
    int count;
} archive;

/* Copies: both tapes have one memory, and training changes buffers. */
static void add(archive *to, const char *group, const char *name, pgcn_i_dtype dtype,
                const void *data, int64_t rows, int64_t cols) {
    pgcn_i_tensor *tensor = &to->tensor[to->count++];
    char *full = PGCN_I_ARRAY(&to->arena, char, 64);
    int64_t count = rows * (cols > 0 ? cols : 1);
    size_t bytes = (size_t)(count * pgcn_i_dtype_bytes(dtype));
    void *copy = PGCN_I_ARRAY(&to->arena, char, (int64_t)bytes + 1);
    if (!full || !copy) must(PGCN_ERR_MEMORY);
    snprintf(full, 64, "%s%s", group, name);
    memcpy(copy, data, bytes);
    *tensor = (pgcn_i_tensor){full,
                              {.dtype = dtype,
                               .rank = cols > 0 ? 2 : 1,
                               .shape = {rows, cols},
                               .count = count,
                               .data = copy}};
}

static void add_params(archive *to, const pgcn_i_params *params, const char *group,
                       const float *value, bool buffers) {
    for (int i = 0; i < params->count; i++) {
        const pgcn_i_param *param = &params->param[i];
        if (param->rank > 2) must(pgcn_i_fail(PGCN_ERR_ARGUMENT, "%s has rank 3", param->name));
        if (buffers || param->group != PGCN_I_GROUP_BUFFER)
            add(to, group, param->name, PGCN_I_F32, value + param->first, param->shape[0],
                param->shape[1]);
    }
}

static void add_data(archive *to, const pgcn_dataset *data, const pgcn_i_split *split) {
    const pgcn_graph *graph = data->graph;
    const pgcn_i_features *x = &data->x;
    int64_t n = graph->n, entries = graph->offset[n];
    add(to, "graph/", "offset", PGCN_I_I64, graph->offset, n + 1, 0);
    add(to, "graph/", "neighbour", PGCN_I_I32, graph->neighbour, entries, 0);
    if (graph->weight) add(to, "graph/", "weight", PGCN_I_F32, graph->weight, entries, 0);
    float *dense = PGCN_I_ARRAY(&to->arena, float, n * x->columns);
    if (!dense) must(PGCN_ERR_MEMORY);
    for (int64_t r = 0; x->offset && r < n; r++)
        for (int64_t e = x->offset[r]; e < x->offset[r + 1]; e++)
            dense[r * x->columns + x->column[e]] = x->value[e];
    add(to, "", "x", PGCN_I_F32, x->dense ? x->dense : dense, n, x->columns);
    add(to, "", "label", PGCN_I_I32, data->label, n, 0);
    add(to, "", "train", PGCN_I_U8, split->train, n, 0);
}

static void add_logits(archive *to, const char *name, const pgcn_i_value *logits) {
    add(to, "logits/", name, PGCN_I_F32, logits->data, logits->rows, logits->cols);
}

static void dump(pgcn_trainer *trainer, const char *path) {
    const pgcn_i_params *params = &trainer->params;
    archive to = {.count = 0};
    to.tensor = PGCN_I_ARRAY(&to.arena, pgcn_i_tensor, 2 * params->count + 8);
    if (!to.tensor) must(PGCN_ERR_MEMORY);
    shake(&trainer->params);
    add_data(&to, trainer->data, trainer->split);
    add_params(&to, params, "weight/", params->value, true);
    pgcn_i_tape_forward(&trainer->eval.tape);
    add_logits(&to, "eval", trainer->eval.logits);
    step(trainer);
    add_logits(&to, "train", trainer->train.logits);
    add_params(&to, params, "gradient/", params->grad, false);
    must(pgcn_i_npz_write(path, to.tensor, to.count));
    pgcn_i_arena_free(&to.arena);
}

/* ---- the program ------------------------------------------------------------------------------- */

static pgcn_config settings_of(int count, char **argument) {
    pgcn_config config = pgcn_config_default();
    must(
        pgcn_i_config_apply(&config, "samples=1 consistency=0 normalise=none dropout=0 threads=2"));
    for (int i = 0; i < count; i++) must(pgcn_i_config_apply(&config, argument[i]));
    pgcn_config_adopt(&config); /* nobody is blamed for what does nothing */
    return config;
}

int main(int count, char **argument) {
    if (count < 3) {
        fprintf(stderr, "usage: peers_dump DATA OUT.npz [KEY=VALUE ...]; see tests/peers/dump.c\n");
        return 2;
    }
    pgcn_config config = settings_of(count - 3, argument + 3);
    pgcn_dataset *data;
    pgcn_trainer *trainer;
    must(pgcn_dataset_load(argument[1], NULL, &data));
    if (data->task != PGCN_TASK_NODE || data->info.graphs > 1)
        must(pgcn_i_fail(PGCN_ERR_MISMATCH, "%s is not one graph with a class per node",
                         argument[1]));
    must(pgcn_trainer_new(data, &config, &trainer));
    dump(trainer, argument[2]);
    json_t *settings = pgcn_i_config_to_json(&trainer->config);
    json_dumpf(settings, stdout, JSON_COMPACT);
    json_decref(settings);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
    return 0;
}
