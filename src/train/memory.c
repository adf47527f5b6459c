/* How much memory a training takes, reported before its first epoch.
 *
 * Everything is allocated by then, so that it only has to be added up; but pages that nobody
 * touches cost nothing, and visit lists have room for p entries per row and hop where equal visits
 * become one. How far they fill is seen on the walks of a few hundred nodes.
 *
 * Where not everything could be allocated, the sizes of the data and the settings tell what all of it
 * would have been. Called by pgcn_trainer_new. */
#include "train/train.h"

#include <math.h>
#include <stdlib.h>

enum { TRIED_NODES = 512, MOST_VISITS = 1 << 22 };

static int compare_nodes(const void *a, const void *b) {
    pgcn_node x = *(const pgcn_node *)a, y = *(const pgcn_node *)b;
    return (x > y) - (x < y);
}

/* The visits of one hop of one node that differ; row is overwritten. */
static int64_t differing(const pgcn_node *walks, int p, int k, int hop, pgcn_node *row) {
    int64_t count = 1;
    for (int q = 0; q < p; q++) row[q] = walks[q * k + hop];
    qsort(row, (size_t)p, sizeof *row, compare_nodes);
    for (int q = 1; q < p; q++) count += row[q] != row[q - 1];
    return count;
}

/* The share of the room in visit lists that will be used. */
static pgcn_status expect_fill(const pgcn_trainer *trainer, double *share) {
    const pgcn_i_walker *walker = &trainer->spatial.walker;
    int64_t n = walker->graph->n, each = (int64_t)walker->p * walker->k;
    int64_t tried = n < TRIED_NODES ? n : TRIED_NODES, entries = 0;
    if (tried * each > MOST_VISITS) tried = MOST_VISITS / each;
    *share = 1;
    if (walker->k < 2 || walker->p < 2 || tried == 0) return PGCN_OK;
    pgcn_i_arena arena = {0};
    pgcn_node *start = PGCN_I_ARRAY(&arena, pgcn_node, tried);
    pgcn_node *walks = PGCN_I_ARRAY(&arena, pgcn_node, tried * each);
    pgcn_node *row = PGCN_I_ARRAY(&arena, pgcn_node, walker->p);
    bool fine = start && walks && row;
    for (int64_t i = 0; fine && i < tried; i++) start[i] = (pgcn_node)(i * n / tried);
    if (fine)
        pgcn_i_walks(walker, trainer->pool,
                     pgcn_i_rng_domain_of(trainer->config.seed, PGCN_I_RNG_WALK, 0, 0, 0), start,
                     tried, walks);
    for (int64_t i = 0; fine && i < tried; i++)
        for (int hop = 1; hop < walker->k; hop++)
            entries += differing(walks + i * each, walker->p, walker->k, hop, row);
    *share = (double)entries / (double)(tried * walker->p * (walker->k - 1));
    pgcn_i_arena_free(&arena);
    return fine ? PGCN_OK : PGCN_ERR_MEMORY;
}

/* Column and weight of a list, and the weights of its transpose, are written as far as they fill;
 * the columns of a transpose hold the visits before they are merged. */
static int64_t visits_bytes(const pgcn_i_visits *visits, double share) {
    int64_t entry = (int64_t)(sizeof *visits->hop->column + sizeof *visits->hop->value +
                              (visits->hop_t ? sizeof *visits->hop_t->value : 0));
    int64_t room = visits->rows * visits->p * (visits->k - 1) * entry;
    return visits->arena.bytes - visits->borrowed_bytes - (int64_t)((1 - share) * (double)room);
}

static int64_t paths_bytes(const pgcn_i_views *views, double share) {
    int64_t bytes = 0;
    for (int l = 0; l < views->samplers; l++) bytes += visits_bytes(views->visits[l], share);
    return bytes;
}

/* ---- batches of nodes ---------------------------------------------------------------------------- */

/* What batches touch: of the lists, and of the tape. */
typedef struct touched {
    int64_t nodes, tape;
} touched;

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* A few steps, or parts of an evaluation, are drawn. `after`: floats of the tape that are touched in any case. */
static touched try_runner(pgcn_trainer *trainer, bool evaluates, int64_t after) {
    enum { TRIED = 3 };
    pgcn_i_runner *runner = evaluates ? &trainer->eval : &trainer->train;
    touched most = {0, 0};
    for (int64_t i = 0; i < TRIED; i++) {
        pgcn_i_moment turn = {0, evaluates, i};
        pgcn_i_chosen chosen = evaluates ? pgcn_i_feed_part(trainer->feed, i)
                               : i < trainer->feed->steps
                                   ? pgcn_i_feed_step(trainer->feed, trainer->config.seed, i)
                                   : (pgcn_i_chosen){NULL, 0};
        if (chosen.count == 0) break;
        pgcn_i_runner_put(runner, chosen, &trainer->loss);
        pgcn_i_path_draw draw = pgcn_i_moment_draw(trainer, turn);
        if (!evaluates) draw.step = i; /* also where later steps draw no new paths */
        pgcn_i_runner_draw(runner, draw);
        const pgcn_i_part *part = runner->views.view.part;
        for (int l = 0; l <= trainer->levels && !evaluates; l++)
            trainer->rows[l].expected =
                larger(trainer->rows[l].expected, part->rows[PGCN_I_NODES][l]);
        trainer->batch_size = pgcn_i_batch_size_of(runner->views.nodes, trainer->batch_size);
        most.nodes = larger(most.nodes, pgcn_i_nodes_touched(runner->views.nodes));
        most.tape = larger(most.tape, pgcn_i_tape_touched(&runner->tape, after));
    }
    return most;
}

/* Arrays have room for the most rows that a batch may lead to. How many it does lead to is seen by drawing some. Both
 * runners have one memory for their tapes. */
static int64_t try_batches(pgcn_trainer *trainer) {
    int64_t whole = trainer->eval.views.nodes ? 0 : trainer->eval.tape.work_floats;
    touched train = try_runner(trainer, false, whole), eval = {0, 0};
    if (trainer->eval.views.nodes) eval = try_runner(trainer, true, 0);
    return train.nodes + eval.nodes + larger(train.tape, eval.tape) +
           whole * (int64_t)sizeof(float);
}

/* Of a container: the pages of its features were given back when they had been copied (src/views/input.c). */
static int64_t forgotten_bytes(const pgcn_dataset *data) {
    const pgcn_i_features *x = &data->x;
    const char *from = x->mapping, *dense = (const char *)x->dense;
    bool is_mapped = from && dense && dense >= from && dense < from + x->mapping_bytes;
    return is_mapped && !x->absent ? x->n * x->columns * (int64_t)sizeof *x->dense : 0;
}

/* Of features that ranks divide: what is there of all rows that there is room for. */
static double share_of_features(const pgcn_i_input *input) {
    return input->n > 0 ? (double)(input->filled.end - input->filled.begin) / (double)input->n : 1;
}

/* What a pass touches in place of all that there is room for. */
static pgcn_status measure_nodes(pgcn_trainer *trainer, pgcn_memory *m) {
    const pgcn_i_tape *train = &trainer->train.tape, *eval = &trainer->eval.tape;
    const pgcn_i_input *input = trainer->input;
    int64_t room = train->work_floats > eval->work_floats ? train->work_floats : eval->work_floats;
    trainer->rows = PGCN_I_ARRAY(&trainer->arena, pgcn_batch_rows, trainer->levels + 1);
    if (!trainer->rows && trainer->cluster.shared) /* others may draw already */
        pgcn_i_comm_fail(pgcn_i_comm_world(), PGCN_ERR_MEMORY);
    if (!trainer->rows) return PGCN_ERR_MEMORY;
    for (int l = 0; l <= trainer->levels; l++)
        trainer->rows[l].most = pgcn_i_nodes_most(trainer->train.views.nodes, l);
    m->values -= room * (int64_t)sizeof(float) + train->kept_bytes;
    m->values += try_batches(trainer);
    int64_t lent = input->lent ? input->n * input->columns * (int64_t)sizeof *input->lent : 0;
    int64_t all = input->arena.bytes - lent - forgotten_bytes(trainer->data);
    m->features -= lent + (int64_t)((1 - share_of_features(input)) * (double)all);
    return PGCN_OK;
}

bool pgcn_trainer_rows(const pgcn_trainer *trainer, int layer, pgcn_batch_rows *out) {
    if (!trainer || !trainer->rows || layer < 0 || layer > trainer->levels) return false;
    if (out) *out = trainer->rows[trainer->levels - layer];
    return true;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

/* Of several ranks whose lists are divided. Arrays are address space for all rows, and those of values for the rows of
 * others besides: a rank touches its own, and those of others that its walks can visit. */
static void measure_rank(const pgcn_trainer *trainer, pgcn_memory *m) {
    const pgcn_i_tape *tape = &trainer->train.tape, *eval = &trainer->eval.tape;
    const pgcn_config *config = &trainer->config;
    const int64_t n = trainer->data->graph->n;
    const pgcn_i_own own = pgcn_i_own_of(tape, n * tape->samples);
    const double mine = (double)(own.stop - own.begin), share = mine / (double)n;
    double floats =
        (double)(tape->work_floats > eval->work_floats ? tape->work_floats : eval->work_floats);
    double visited = fmin((double)n - mine, mine * config->paths * (config->path_length - 1));
    double fetched = visited * config->channels * config->samples;
    m->values +=
        (int64_t)(4 * (floats * (share / 2 - 1) + fetched * pgcn_i_copies_of_fetched(config)));
    m->paths = (int64_t)((double)m->paths * share);
    m->features = (int64_t)((double)m->features * share);
}

pgcn_status pgcn_i_trainer_measure(pgcn_trainer *trainer) {
    double share = 1;
    if (trainer->train.views.samplers > 0 || trainer->eval.views.samplers > 0)
        PGCN_TRY(expect_fill(trainer, &share));
    pgcn_memory m = {
        .values = trainer->train.tape.arena.bytes + trainer->eval.tape.arena.bytes +
                  trainer->loss.arena.bytes + trainer->tally[0].arena.bytes +
                  trainer->tally[1].arena.bytes,
        .paths =
            paths_bytes(&trainer->train.views, share) + paths_bytes(&trainer->eval.views, share),
        .features = trainer->input->arena.bytes - forgotten_bytes(trainer->data),
        .graph = pgcn_i_spatial_bytes(&trainer->spatial),
        .weights = trainer->params.arena.bytes + trainer->arena.bytes +
                   trainer->train.views.arena.bytes + trainer->eval.views.arena.bytes,
    };
    m.graph += pgcn_i_edges_bytes(trainer->train.views.edges);
    if (trainer->feed) m.features += trainer->feed->arena.bytes;
    if (trainer->train.views.batch) m.features += trainer->train.views.batch->arena.bytes;
    if (trainer->eval.views.batch) m.features += trainer->eval.views.batch->arena.bytes;
    if (trainer->clusters)
        m.graph +=
            trainer->clusters->arena.bytes + pgcn_i_spatial_bytes(&trainer->clusters->spatial);
    if (trainer->train.views.nodes) PGCN_TRY(measure_nodes(trainer, &m));
    if (trainer->train.tape.divided && !trainer->train.tape.part) measure_rank(trainer, &m);
    m.total = m.values + m.paths + m.features + m.graph + m.weights;
    trainer->memory = m;
    return PGCN_OK;
}

/* ---- of a training that could not be set up ----------------------------------------------------- */

/* Values of a number per row and channel that the backward pass needs, and its gradients in the same
 * memory. */
static double guess_arrays(const pgcn_config *config) {
    double kept = pgcn_i_network_of(config)->cost(config).kept;
    return config->recompute ? fmin(kept, 3 * sqrt(config->layers) + 2) : kept;
}

/* The same of values of links; self-loops are links. */
static double links_of(const pgcn_dataset *data, const pgcn_config *config) {
    double links = (double)(pgcn_graph_entries(data->graph) + data->graph->n) * config->samples;
    return links * pgcn_i_network_of(config)->cost(config).links;
}

/* As src/views/input.c holds them: sparse ones by rows and by columns, dense ones once. On disk they stay there. */
static double guess_features(const pgcn_i_features *x, pgcn_normalise normalise) {
    const double n = (double)x->n, columns = (double)x->columns, entries = (double)x->nonzeros;
    if (x->file) return 0;
    if (!x->offset || normalise == PGCN_NORMALISE_STANDARDISE)
        return (double)sizeof(float) * n * columns;
    return 5 * (double)sizeof(float) * entries + (double)sizeof(int64_t) * (n + columns);
}

static int64_t whole(double bytes) {
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

pgcn_memory pgcn_i_trainer_guess(const pgcn_dataset *data, const pgcn_config *config) {
    const double number = sizeof(float), channels = config->channels, layers = config->layers;
    double share = 1; /* of the nodes, in a batch; graphs differ in size and the largest count */
    if (pgcn_i_in_batches(data, data->task == PGCN_TASK_GRAPH) && config->batch > 0)
        share = fmin(1, 1.5 * config->batch / (double)data->info.graphs);
    double rows = share * (double)data->graph->n * config->samples;
    double classes = data->classes, features = (double)data->x.columns;
    double squares = pgcn_i_network_of(config)->cost(config).squares; /* of a layer */
    double partial = pgcn_i_source_groups(&data->from) * channels * channels * fmax(1, squares);
    double values = rows * (channels * guess_arrays(config) + 3 * classes) +
                    share * links_of(data, config) + partial; /* sums of gradients */
    double samplers = config->paths_per_layer ? layers : 1;
    double visits = rows * config->paths * (config->path_length - 1) * samplers;
    if (config->train_form != PGCN_FORM_SAMPLED) visits = 0;
    double square = channels * channels * layers * squares;
    double weights = square + channels * (features + classes + layers * config->path_length);
    double parts[] = {number * values,
                      visits * 16 + visits / config->paths * 30, /* entries, then offsets */
                      guess_features(&data->x, config->normalise),
                      6 * number * (double)pgcn_graph_entries(data->graph),
                      6.5 * number * weights + (double)(sizeof(pgcn_epoch)) * config->epochs};
    double total = 0;
    for (int i = 0; i < 5; i++) total += parts[i];
    return (pgcn_memory){whole(total),    whole(parts[0]), whole(parts[1]),
                         whole(parts[2]), whole(parts[3]), whole(parts[4])};
}

/* What lowers the largest part most. */
static const char *remedy(pgcn_memory memory) {
    if (memory.paths >= memory.values && memory.paths >= memory.weights)
        return "fewer paths or samples, or shorter paths";
    if (memory.weights >= memory.values) return "fewer channels or layers";
    return "recompute yes (deep networks), fewer samples, channels or layers";
}

pgcn_status pgcn_i_trainer_lacks_memory(const pgcn_dataset *data, const pgcn_config *config) {
    pgcn_memory memory = pgcn_i_trainer_guess(data, config);
    char total[32], available[64];
    pgcn_format_bytes(memory.total, total);
    pgcn_i_available_text(available);
    bool by_rows = data->x.dense && data->task != PGCN_TASK_GRAPH && data->info.graphs == 1;
    return pgcn_i_fail(
        PGCN_ERR_MEMORY,
        "out of memory: this training needs about %s in all besides its data set, and "
        "%s; use %s, or %s%s",
        total, available, remedy(memory), pgcn_i_memory_remedy(),
        by_rows ? ", or leave the features in a container on disk (--memory, with --batch)" : "");
}

pgcn_memory pgcn_trainer_memory(const pgcn_trainer *trainer) {
    return trainer ? trainer->memory : (pgcn_memory){0};
}
