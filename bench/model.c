/* One model on one data set, timed: our side of model_speed.sh and graphs_speed.sh, and the work
 * horse of scaling.sh. Prints one JSON line: sampling (walks alone; walks, lists and transposes),
 * whole training steps (sampling included, evaluation not), inference, losses and the peak memory
 * of the process. Of a set of many graphs, and of one graph with batch=N, a step is a batch (with
 * steps=1: one is timed at a time), putting it together included, which is timed by itself too.
 *
 *     bench_model DATA [--bench NAME] [--case NAME] [--recipe NAME] [--seconds S] [--most-steps N]
 *                 [--train-all] [--train-only] [--model FILE] [--logits FILE] [KEY=VALUE ...]
 *
 * DATA is anything that pgcn_dataset_load takes; KEY=VALUE are settings of pgcn_config. With
 * --recipe, before them, a network is trained as users train it: all of the recipe's settings, and
 * the evaluation after every epoch, which is in epoch_ms and step_cpu_ms and not in step_ms.
 * "waited" is the share of the time of all threads in which they had nothing to do.
 * --train-all puts all nodes but the last two into the training mask. Steps are run for S
 * seconds, at least five. --train-only ends after them. --model and --logits save the weights,
 * and the logits of the exact form as float32: of all nodes, or of many graphs those of validation
 * and test. */
#include "bench.h"

#include "train/train.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM_UP = 5, LEAST_STEPS = 5, MOST_STEPS = 400 };

typedef struct options {
    const char *data, *bench, *label, *model, *logits;
    double seconds;
    int most_steps;
    bool train_all, train_only;
} options;

static void must(pgcn_status status) {
    if (status != PGCN_OK) bench_die("%s", pgcn_last_error());
}

/* ---- data ----------------------------------------------------------------------------------- */

/* The same data with all nodes in the training mask but the last two: then no row of the
 * gradient is zero, and a backward pass that skips such rows gains nothing. */
static pgcn_dataset *with_all_in_training(const pgcn_dataset *data) {
    int64_t n = data->graph->n;
    uint8_t *mask = calloc((size_t)n, 3);
    if (!mask) bench_die("no memory");
    memset(mask, 1, (size_t)n - 2);
    mask[n + n - 2] = mask[2 * n + n - 1] = 1;
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    arrays.name = data->name;
    arrays.graph = data->graph;
    arrays.n_features = data->x.columns;
    arrays.features = data->x.dense;
    arrays.x_offset = data->x.offset;
    arrays.x_column = data->x.column;
    arrays.x_value = data->x.value;
    arrays.label = data->label;
    arrays.n_classes = data->classes;
    arrays.n_splits = 1;
    arrays.train = mask;
    arrays.val = mask + n;
    arrays.test = mask + 2 * n;
    pgcn_dataset *out;
    must(pgcn_dataset_from_arrays(&arrays, &out));
    free(mask);
    return out;
}

/* ---- timing --------------------------------------------------------------------------------- */

/* Called until `seconds` are used up, at least LEAST_STEPS times; milliseconds. */
static bench_times repeat(void (*call)(void *), void *context, double seconds, int most) {
    double times[MOST_STEPS], end = bench_now() + seconds;
    int count = 0;
    call(context);
    while (count < most && (count < LEAST_STEPS || bench_now() < end)) {
        double begin = bench_now();
        call(context);
        times[count++] = 1e3 * (bench_now() - begin);
    }
    return bench_times_of(times, count);
}

static void add_times(json_t *line, const char *name, bench_times times) {
    char key[64];
    snprintf(key, sizeof key, "%s_ms", name);
    json_object_set_new(line, key, json_real(times.median));
    snprintf(key, sizeof key, "%s_ms_min", name);
    json_object_set_new(line, key, json_real(times.least));
}

static pgcn_node *walks_out;

static void draw_walks(void *context) {
    pgcn_trainer *trainer = context;
    static int64_t step;
    pgcn_i_walks(&trainer->spatial.walker, trainer->pool,
                 pgcn_i_rng_domain_of(trainer->config.seed, PGCN_I_RNG_WALK, ++step, 0, 0), NULL,
                 trainer->data->graph->n, walks_out);
}

static void draw_visits(void *context) {
    pgcn_trainer *trainer = context;
    static int64_t step;
    pgcn_i_views_draw(&trainer->train.views, trainer->pool,
                      (pgcn_i_path_draw){.seed = trainer->config.seed,
                                         .purpose = PGCN_I_RNG_WALK,
                                         .step = ++step});
}

/* The forward pass in exact form and its probabilities, with everything prepared. */
static void infer(void *context) {
    pgcn_trainer *trainer = context;
    pgcn_i_tape_forward(&trainer->eval.tape);
    pgcn_i_runner_probabilities(&trainer->eval, &trainer->loss);
}

typedef struct prediction {
    const pgcn_model *model;
    const pgcn_dataset *data;
    pgcn_inference inference;
    float *probability;
} prediction;

static void predict(void *context) {
    prediction *p = context;
    must(pgcn_model_predict(p->model, p->data, &p->inference, p->probability, NULL));
}

/* ---- the parts of the line ------------------------------------------------------------------ */

/* The mean over some steps: those of a batch differ, so of many graphs a quarter of the steps. */
static double mean_loss(const pgcn_trainer *trainer, bool last) {
    int64_t count;
    const pgcn_epoch *history = pgcn_trainer_history(trainer, &count);
    int64_t part = trainer->feed && count > 4 ? count / 4 : 1;
    double sum = 0;
    for (int64_t i = 0; i < part; i++) sum += history[last ? count - 1 - i : i].train_loss;
    return sum / (double)part;
}

/* The time of a step in one of mean size: batches have more or fewer nodes, which is what their time
 * depends on. 1 of a single graph. */
static double to_mean_size(const pgcn_trainer *trainer, const json_t *line) {
    if (!trainer->feed || trainer->feed->nodes || trainer->steps != 1) return 1;
    return json_real_value(json_object_get(line, "step_nodes")) /
           (double)trainer->train.views.batch->subset.n;
}

static void train(pgcn_trainer *trainer, const options *o, json_t *line) {
    double times[MOST_STEPS], cpu_times[MOST_STEPS], epoch_times[MOST_STEPS];
    double begin = bench_now(), end = 0;
    pgcn_epoch epoch = {0};
    int warm = 0, count = 0;
    while (count < o->most_steps && (count < LEAST_STEPS || bench_now() < end)) {
        clock_t cpu_begin = clock(); /* of all threads */
        double epoch_begin = bench_now();
        must(pgcn_trainer_epoch(trainer, &epoch));
        if (warm == 0 || (warm < WARM_UP && bench_now() < begin + o->seconds)) {
            warm++;
            end = bench_now() + o->seconds;
            pgcn_i_pool_watch(trainer->pool);
        } else {
            warm = WARM_UP;
            double scale = to_mean_size(trainer, line);
            cpu_times[count] = scale * 1e3 * (double)(clock() - cpu_begin) / CLOCKS_PER_SEC;
            epoch_times[count] = 1e3 * (bench_now() - epoch_begin);
            times[count++] = scale * epoch.step_ms;
        }
    }
    double waited = pgcn_i_pool_waited(trainer->pool);
    double first = mean_loss(trainer, false), last = mean_loss(trainer, true);
    if (!(last < first))
        bench_die("the loss went from %g to %g; this is not training, so its time means nothing",
                  first, last);
    add_times(line, "step", bench_times_of(times, count));
    add_times(line, "step_cpu", bench_times_of(cpu_times, count));
    add_times(line, "epoch", bench_times_of(epoch_times, count));
    json_object_set_new(line, "waited", json_real(waited));
    json_object_set_new(line, "steps", json_integer(count));
    json_object_set_new(line, "loss_first", json_real(first));
    json_object_set_new(line, "loss_last", json_real(last));
    json_object_set_new(line, "peak_bytes", json_integer(bench_peak_bytes()));
    const pgcn_memory memory = pgcn_trainer_memory(trainer);
    json_object_set_new(line, "memory",
                        json_pack("{s:I,s:I,s:I,s:I,s:I}", "values", (json_int_t)memory.values,
                                  "paths", (json_int_t)memory.paths, "features",
                                  (json_int_t)memory.features, "graph", (json_int_t)memory.graph,
                                  "weights", (json_int_t)memory.weights));
}

static void sampling(pgcn_trainer *trainer, const options *o, json_t *line) {
    walks_out = pgcn_i_alloc(trainer->data->graph->n * trainer->config.paths,
                             (size_t)trainer->config.path_length * sizeof *walks_out);
    if (!walks_out) bench_die("%s", pgcn_last_error());
    add_times(line, "walks", repeat(draw_walks, trainer, o->seconds / 4, MOST_STEPS));
    add_times(line, "visits", repeat(draw_visits, trainer, o->seconds / 4, MOST_STEPS));
    pgcn_i_free(walks_out);
}

/* One draw of paths and its forward pass: what ten more draws cost. */
static void sampled_inference(prediction *p, const options *o, json_t *line) {
    enum { DRAWS = 10 };
    p->inference.draws = 1;
    bench_times one = repeat(predict, p, o->seconds / 4, MOST_STEPS);
    p->inference.draws = 1 + DRAWS;
    bench_times many = repeat(predict, p, o->seconds / 4, MOST_STEPS);
    json_object_set_new(line, "inference_sampled_ms",
                        json_real((many.median - one.median) / DRAWS));
}

static bool walks(const pgcn_trainer *trainer) {
    return pgcn_i_network_of(&trainer->config)->walks;
}

static void inference(pgcn_trainer *trainer, const options *o, json_t *line) {
    const pgcn_dataset *data = trainer->data;
    pgcn_model *model;
    must(pgcn_trainer_model(trainer, &model));
    /* The weights that the model file holds are the best ones. */
    memcpy(trainer->params.value, trainer->params.best,
           (size_t)trainer->params.total * sizeof *trainer->params.value);
    add_times(line, "inference", repeat(infer, trainer, o->seconds / 4, MOST_STEPS));
    if (o->logits)
        must(pgcn_file_write(o->logits, trainer->eval.logits->data,
                             (size_t)(data->graph->n * data->classes) * sizeof(float)));
    if (o->model) must(pgcn_model_save(model, o->model));
    prediction p = {.model = model, .data = data, .inference = pgcn_inference_default()};
    p.inference.threads = trainer->config.threads;
    p.probability = pgcn_i_alloc(data->graph->n, (size_t)data->classes * sizeof(float));
    if (!p.probability) bench_die("%s", pgcn_last_error());
    add_times(line, "predict", repeat(predict, &p, o->seconds / 4, MOST_STEPS));
    if (walks(trainer)) sampled_inference(&p, o, line);
    pgcn_i_free(p.probability);
    pgcn_model_free(model);
}

/* ---- many graphs ---------------------------------------------------------------------------- */

/* Everything that a step does before it draws paths. */
static void assemble(void *context) {
    pgcn_trainer *trainer = context;
    static int64_t step;
    pgcn_i_chosen chosen = pgcn_i_feed_step(trainer->feed, trainer->config.seed, step++);
    pgcn_i_runner_put(&trainer->train, chosen, &trainer->loss);
    pgcn_i_views_target(&trainer->train.views, trainer->split->train, 0);
}

/* The same, and what is drawn for a batch of nodes: all that is not computing. */
static void sample_batch(void *context) {
    static int64_t step = 1 << 20; /* not those of training */
    pgcn_trainer *trainer = context;
    assemble(trainer);
    pgcn_i_runner_draw(&trainer->train, (pgcn_i_path_draw){.seed = trainer->config.seed,
                                                           .purpose = PGCN_I_RNG_WALK,
                                                           .step = step++});
}

/* Of the validation and test graphs, with the weights that the model file holds. */
static void write_logits(pgcn_trainer *trainer, const char *path) {
    const pgcn_i_value *logits = trainer->eval.logits;
    FILE *file = fopen(path, "wb");
    if (!file) bench_die("cannot write %s", path);
    pgcn_i_chosen chosen;
    for (int64_t i = 0; (chosen = pgcn_i_feed_part(trainer->feed, i)).count > 0; i++) {
        pgcn_i_runner_put(&trainer->eval, chosen, &trainer->loss);
        pgcn_i_tape_forward(&trainer->eval.tape);
        fwrite(logits->data, sizeof *logits->data, (size_t)(logits->rows * logits->cols), file);
    }
    if (fclose(file) != 0) bench_die("cannot write %s", path);
}

static void batches(pgcn_trainer *trainer, const options *o, json_t *line) {
    pgcn_model *model;
    add_times(line, "assembly", repeat(assemble, trainer, o->seconds / 4, MOST_STEPS));
    if (trainer->train.views.samplers > 0)
        add_times(line, "visits", repeat(draw_visits, trainer, o->seconds / 4, MOST_STEPS));
    trainer->config.eval_every = 1; /* one more epoch, which is evaluated and kept */
    must(pgcn_trainer_epoch(trainer, NULL));
    must(pgcn_trainer_model(trainer, &model));
    memcpy(trainer->params.value, trainer->params.best,
           (size_t)trainer->params.total * sizeof *trainer->params.value);
    if (o->logits) write_logits(trainer, o->logits);
    if (o->model) must(pgcn_model_save(model, o->model));
    pgcn_model_free(model);
}

/* Sampling, and the rows of the levels of the last batch that was drawn. */
static void node_batches(pgcn_trainer *trainer, const options *o, json_t *line) {
    add_times(line, "sampling", repeat(sample_batch, trainer, o->seconds, MOST_STEPS));
    const pgcn_i_part *part = trainer->train.views.view.part;
    json_t *rows = json_array();
    for (int l = 0; l <= part->levels; l++)
        json_array_append_new(rows, json_integer(part->rows[PGCN_I_NODES][l]));
    json_object_set_new(line, "batch_rows", rows);
    json_object_set_new(line, "batch_items", json_integer(trainer->feed->most));
}

static void describe_batches(const pgcn_trainer *trainer, json_t *line) {
    const pgcn_i_feed *feed = trainer->feed;
    const pgcn_i_batch *batch = trainer->train.views.batch;
    const int64_t *offset = trainer->data->graph->offset;
    int64_t entries = 0, nodes = 0; /* of the training graphs */
    for (int64_t i = 0; i < feed->train; i++)
        for (int64_t m = batch->first[feed->train_item[i]];
             m < batch->first[feed->train_item[i] + 1]; m++, nodes++)
            entries += offset[batch->member[m] + 1] - offset[batch->member[m]];
    const double steps = (double)feed->steps;
    json_object_set_new(line, "graphs", json_integer(trainer->data->info.graphs));
    json_object_set_new(line, "step_graphs", json_real((double)feed->train / steps));
    json_object_set_new(line, "step_nodes", json_real((double)nodes / steps));
    json_object_set_new(line, "step_edges", json_real((double)entries / 2 / steps));
}

static void describe(const pgcn_trainer *trainer, const options *o, json_t *line) {
    const pgcn_config *config = &trainer->config;
    const pgcn_dataset_info info = pgcn_dataset_describe(trainer->data);
    bench_machine machine = bench_machine_get();
    const char *commit = getenv("BENCH_COMMIT");
    json_object_set_new(line, "bench", json_string(o->bench));
    json_object_set_new(line, "who", json_string("pathgcn"));
    json_object_set_new(line, "case", json_string(o->label));
    json_object_set_new(line, "nodes", json_integer(info.nodes));
    json_object_set_new(line, "edges", json_integer(info.edges));
    json_object_set_new(line, "features", json_integer(info.features));
    json_object_set_new(line, "classes", json_integer(info.classes));
    json_object_set_new(line, "dense_features", json_boolean(trainer->input->dense != NULL));
    json_object_set_new(line, "train_nodes", json_integer(trainer->train_items));
    json_object_set_new(line, "task",
                        json_string(trainer->data->task == PGCN_TASK_GRAPH ? "graph" : "node"));
    if (trainer->feed && !trainer->feed->nodes) describe_batches(trainer, line);
    json_object_set_new(line, "threads", json_integer(config->threads));
    json_object_set_new(line, "isa", json_string(pgcn_i_kernels_get()->isa));
    json_object_set_new(line, "cpu", json_string(machine.cpu));
    json_object_set_new(line, "cores", json_integer(machine.cores));
    json_object_set_new(line, "load", json_real(machine.load));
    json_object_set_new(line, "commit", json_string(commit ? commit : "unknown"));
    json_object_set_new(line, "config", pgcn_i_config_to_json(config));
}

static options parse(int count, char **argument, pgcn_config *config) {
    options o = {.bench = "model", .label = "", .seconds = 2, .most_steps = MOST_STEPS};
    for (int i = 1; i < count; i++) {
        const char *name = argument[i], *equal = strchr(name, '=');
        if (strcmp(name, "--train-all") == 0) {
            o.train_all = true;
        } else if (strcmp(name, "--train-only") == 0) {
            o.train_only = true;
        } else if (strncmp(name, "--", 2) == 0 && i + 1 < count) {
            const char *value = argument[++i];
            if (strcmp(name, "--bench") == 0)
                o.bench = value;
            else if (strcmp(name, "--recipe") == 0)
                must(pgcn_recipe_load(value, NULL, 0, config, NULL));
            else if (strcmp(name, "--case") == 0)
                o.label = value;
            else if (strcmp(name, "--seconds") == 0)
                o.seconds = atof(value);
            else if (strcmp(name, "--most-steps") == 0)
                o.most_steps = atoi(value);
            else if (strcmp(name, "--model") == 0)
                o.model = value;
            else if (strcmp(name, "--logits") == 0)
                o.logits = value;
            else
                bench_die("no option %s", name);
        } else if (!o.data) {
            o.data = name;
        } else if (equal) {
            char key[64];
            snprintf(key, sizeof key, "%.*s", (int)(equal - name), name);
            must(pgcn_config_set(config, key, equal + 1));
        } else {
            bench_die("'%s' is neither an option nor KEY=VALUE", name);
        }
    }
    if (!o.data) bench_die("usage: bench_model DATA [options] [KEY=VALUE ...]; see bench/model.c");
    if (o.most_steps < LEAST_STEPS || o.most_steps > MOST_STEPS)
        bench_die("--most-steps takes %d to %d", LEAST_STEPS, MOST_STEPS);
    return o;
}

int main(int count, char **argument) {
    pgcn_config config = pgcn_config_default();
    must(pgcn_i_config_apply(&config, "samples=1 consistency=0 patience=0 eval-every=1000000"));
    options o = parse(count, argument, &config);
    pgcn_dataset *data, *all = NULL;
    pgcn_trainer *trainer;
    json_t *line = json_object();
    double begin = bench_now();
    must(pgcn_dataset_load(o.data, NULL, &data));
    if (o.train_all) all = with_all_in_training(data);
    double loaded = bench_now();
    json_object_set_new(line, "loaded_bytes", json_integer(bench_peak_bytes()));
    config.patience = 0;
    config.epochs = WARM_UP + MOST_STEPS + 2;
    must(pgcn_trainer_new(all ? all : data, &config, &trainer));
    json_object_set_new(line, "load_ms", json_real(1e3 * (loaded - begin)));
    json_object_set_new(line, "setup_ms", json_real(1e3 * (bench_now() - loaded)));
    describe(trainer, &o, line);
    train(trainer, &o, line);
    if (!o.train_only && trainer->feed && trainer->feed->nodes) {
        node_batches(trainer, &o, line);
    } else if (!o.train_only && trainer->feed) {
        batches(trainer, &o, line);
    } else if (!o.train_only) {
        if (walks(trainer)) sampling(trainer, &o, line);
        trainer->config.eval_every = 1; /* one more epoch, which is evaluated and kept */
        must(pgcn_trainer_epoch(trainer, NULL));
        inference(trainer, &o, line);
    }
    char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(6));
    printf("%s\n", text ? text : "");
    free(text);
    json_decref(line);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(all);
    pgcn_dataset_free(data);
    return 0;
}
