/* Inference: a model on a data set, once in exact form or once per draw, batch by batch where there are many
 * graphs.
 *
 * Predictions of all items are shared by ranks, if there are several. Rank 0 is the program that the user sees: before every
 * run of the network it tells the others what is run, and when there is nothing more to run. All of them compute rows of
 * their own (share.c of nn), and rank 0 gets the logits of all. */
#include "train/cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- inference options -------------------------------------------------------------------------- */

pgcn_inference pgcn_inference_default(void) {
    return (pgcn_inference){.size = sizeof(pgcn_inference)};
}

pgcn_status pgcn_inference_parse(const char *text, pgcn_inference *inference) {
    PGCN_I_NEED(text);
    PGCN_I_NEED(inference);
    static const char stochastic[] = "stochastic:";
    if (strcmp(text, "deterministic") == 0) {
        inference->draws = 0;
        return PGCN_OK;
    }
    if (strncmp(text, stochastic, strlen(stochastic)) == 0) {
        const char *number = text + strlen(stochastic);
        size_t digits = strspn(number, "0123456789"); /* seven cannot overflow */
        long draws = digits > 0 && digits <= 7 && number[digits] == '\0' ? atol(number) : 0;
        if (draws >= 1 && draws <= 1000000) {
            inference->draws = (int)draws;
            return PGCN_OK;
        }
    }
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "inference is '%s', expected deterministic or stochastic:N with N from 1 to "
                       "1000000",
                       text);
}

/* ---- a model on a data set ------------------------------------------------------------------------ */

/* Of several ranks that have one graph, and read it as it is: the rows of this one's groups. */
static pgcn_i_range rows_read(const pgcn_i_session *s) {
    const pgcn_dataset *data = s->data;
    bool whole = !pgcn_i_in_batches(data, s->model->task == PGCN_TASK_GRAPH);
    if (!s->purpose.shared || !whole || pgcn_i_network_powers(&s->config) > 0)
        return (pgcn_i_range){0, data->graph->n};
    return pgcn_i_groups_share(pgcn_i_groups_of(data->graph->n, pgcn_i_source_groups(&data->from)),
                               pgcn_i_comm_world());
}

/* Nodes without features get the mean of those of the training. */
static pgcn_status make_input(pgcn_i_session *s, const pgcn_i_features *x) {
    const pgcn_i_row_rule rule = pgcn_i_session_rule(s);
    const float *fill = rule.mean;
    pgcn_i_arena scratch = {0};
    pgcn_i_features filled;
    if (x->absent && !fill)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "%lld nodes of data set %s have no features, and the model, of version "
                           "0.1, does not hold the mean that stands for them; give features for "
                           "these nodes, or train again",
                           (long long)s->data->info.featureless, s->data->name);
    if (s->in_files) return pgcn_i_input_read(&rule, x->file, &s->input);
    if (x->file) return pgcn_i_input_outside(x, &s->input);
    pgcn_status status = pgcn_i_fill_absent(x, fill, &scratch, &filled);
    if (status == PGCN_OK)
        status = pgcn_i_input_of_rows(&filled, rule.normalise, rule.standard, false, rows_read(s),
                                      &s->input);
    pgcn_i_arena_free(&scratch);
    return status;
}

/* How many levels the network has: it is recorded for the whole graph, which takes no memory for values. */
static pgcn_status count_levels(const pgcn_i_runner_opts *opts, int *out) {
    pgcn_i_runner probe;
    pgcn_status status = pgcn_i_runner_open(&probe, opts);
    if (status == PGCN_OK) *out = pgcn_i_tape_levels(&probe.tape);
    pgcn_i_runner_close(&probe);
    return status;
}

/* As many graphs at a time as in a step of the training. */
static pgcn_i_runner_opts runner_opts(pgcn_i_session *s) {
    const pgcn_model *model = s->model;
    return (pgcn_i_runner_opts){.config = &s->config,
                                .params = &s->params,
                                .pool = s->pool,
                                .several = model->task == PGCN_TASK_MULTILABEL,
                                .explains = s->purpose.explains,
                                .shows = s->purpose.shows,
                                .in_files = s->in_files ? s->data->from.memory : 0,
                                .share = s->share,
                                .views = {.data = s->data,
                                          .input = s->input,
                                          .spatial = &s->spatial,
                                          .per_graph = model->task == PGCN_TASK_GRAPH,
                                          .layers = s->config.layers,
                                          .samples = 1,
                                          .graphs = s->purpose.explains ? 1 : s->config.batch,
                                          .links = pgcn_i_network_of(&s->config)->links,
                                          .sampled = s->inference.draws > 0}};
}

static void take_parts(const pgcn_i_session *s, pgcn_i_runner_opts *opts) {
    opts->views.nodes = s->purpose.most;
    opts->views.guests = s->purpose.guests;
    opts->views.guest_edges = s->purpose.guest_edges;
}

static pgcn_status open_runner(pgcn_i_session *s) {
    const pgcn_model *model = s->model;
    if (s->purpose.shared) PGCN_TRY(pgcn_i_share_new(pgcn_i_comm_world(), &s->share));
    pgcn_i_runner_opts opts = runner_opts(s);
    if (s->purpose.most > 0 && !s->in_files && pgcn_i_session_in_parts(s)) {
        PGCN_TRY(count_levels(&opts, &s->levels));
        opts.views.levels = s->levels;
        take_parts(s, &opts);
    }
    PGCN_TRY(pgcn_i_runner_open(&s->runner, &opts));
    PGCN_TRY(pgcn_i_runner_allocate(&s->runner, NULL));
    if (s->runner.views.batch) {
        s->chosen = PGCN_I_ARRAY(&s->arena, pgcn_node, s->runner.views.batch->most_graphs);
        if (!s->chosen) return PGCN_ERR_MEMORY;
    }
    return pgcn_i_loss_init(&s->loss, s->runner.logits->rows, 1, model->classes,
                            s->runner.tape.groups);
}

/* ---- hidden rows that are kept --------------------------------------------------------------------- */

static pgcn_status fill_hidden(pgcn_i_session *s, pgcn_i_runner *whole) {
    const pgcn_i_op *op = pgcn_i_hidden_prevents(&whole->tape);
    if (op)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "hidden rows of model %s cannot be kept: its %s takes many steps in one "
                           "operation; ask without keeping them",
                           pgcn_i_network_of(&s->config)->name, op->kind->name);
    PGCN_TRY(pgcn_i_runner_allocate(whole, NULL));
    return pgcn_i_hidden_fill(&s->hidden, &whole->tape, s->data->graph->n);
}

int64_t pgcn_i_session_hidden_bytes(pgcn_i_session *s) {
    pgcn_i_runner_opts opts = runner_opts(s);
    pgcn_i_runner whole;
    int64_t bytes = -1;
    if (pgcn_i_runner_open(&whole, &opts) == PGCN_OK)
        bytes = pgcn_i_hidden_bytes(&whole.tape, s->data->graph->n);
    pgcn_i_runner_close(&whole);
    return bytes;
}

/* The runner in parts makes room for one whose parts have one level. */
pgcn_status pgcn_i_session_keep(pgcn_i_session *s) {
    pgcn_i_runner_opts opts = runner_opts(s);
    pgcn_i_runner runner;
    pgcn_status status = pgcn_i_runner_open(&runner, &opts);
    if (status == PGCN_OK) status = fill_hidden(s, &runner);
    pgcn_i_runner_close(&runner);
    if (status == PGCN_OK) {
        take_parts(s, &opts);
        opts.views.levels = 1;
        opts.hidden = &s->hidden;
        status = pgcn_i_runner_open(&runner, &opts);
        if (status == PGCN_OK) status = pgcn_i_runner_allocate(&runner, NULL);
        if (status != PGCN_OK) pgcn_i_runner_close(&runner);
    }
    if (status != PGCN_OK) {
        pgcn_i_arena_free(&s->hidden.arena);
        s->hidden = (pgcn_i_hidden){.value = NULL};
        return status;
    }
    pgcn_i_runner_close(&s->runner);
    s->runner = runner;
    return PGCN_OK;
}

static bool has_paths(const pgcn_config *config) {
    return pgcn_i_network_of(config)->walks && config->scaling != PGCN_SCALING_SUM;
}

static pgcn_status check_inference(const pgcn_i_session *s) {
    if (s->model->task == PGCN_TASK_GRAPH && !s->data->from.graph_of)
        return pgcn_i_fail(
            PGCN_ERR_MISMATCH,
            "the model predicts a class for every graph of a set of graphs, and data "
            "set %s is a single graph",
            s->data->name);
    if (!has_paths(&s->config) && s->inference.draws > 0)
        return pgcn_i_fail(
            PGCN_ERR_ARGUMENT,
            "a model without walks (%s) has no paths to draw; use inference deterministic",
            s->config.scaling == PGCN_SCALING_SUM ? "scaling sum"
                                                  : pgcn_i_network_of(&s->config)->name);
    if (s->inference.draws < 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "draws is %d, expected 0 or more",
                           s->inference.draws);
    return PGCN_OK;
}

/* Links of some nodes count 0, but not the one that a node has to itself. */
static void cut_links(pgcn_i_csr *t, const uint8_t *cut) {
    for (int64_t row = 0; row < t->rows; row++)
        for (int64_t e = t->offset[row]; e < t->offset[row + 1]; e++)
            if (t->column[e] != row && (cut[row] || cut[t->column[e]])) t->value[e] = 0;
}

static pgcn_status fill_session(pgcn_i_session *s) {
    pgcn_i_features x; /* of the data, in the columns of the model */
    PGCN_TRY(check_inference(s));
    PGCN_TRY(pgcn_i_match_columns(s->model, s->data, &s->arena, &x));
    PGCN_TRY(pgcn_i_pool_new(s->inference.threads, &s->pool));
    if (x.file) PGCN_TRY(pgcn_i_session_outside(s));
    PGCN_TRY(make_input(s, &x));
    if (s->purpose.explains && pgcn_i_network_powers(&s->config) > 0) {
        s->plain = s->input;
        s->input = NULL;
        PGCN_TRY(make_input(s, &x));
    }
    bool exact = !x.file || s->in_files || s->inference.draws == 0;
    PGCN_TRY(
        pgcn_i_spatial_of(&s->spatial, s->data, &s->config, exact ? PGCN_I_READS_T : PGCN_I_WALKS));
    if (s->purpose.cut) cut_links(&s->spatial.exact, s->purpose.cut);
    if (s->purpose.cut) cut_links(&s->spatial.exact_t, s->purpose.cut);
    PGCN_TRY(
        pgcn_i_input_power(&s->input, &s->spatial.exact, pgcn_i_network_powers(&s->config), false));
    if (s->inference.draws == 0 && !s->spatial.has_exact)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "a model of node2vec walks has no deterministic form (its walks have a "
                           "memory); use inference stochastic:10");
    PGCN_TRY(open_runner(s));
    return x.file && !s->in_files ? pgcn_i_session_supply(s) : PGCN_OK;
}

static pgcn_status open_for(pgcn_i_session *s, const pgcn_model *model, const pgcn_dataset *data,
                            const pgcn_inference *inference, pgcn_i_session_purpose purpose) {
    bool per_graph = model->task == PGCN_TASK_GRAPH;
    *s = (pgcn_i_session){.model = model,
                          .block = purpose.most,
                          .data = data,
                          .config = model->config,
                          .inference = pgcn_inference_default(),
                          .params = model->params,
                          .purpose = purpose,
                          .items = per_graph ? data->info.graphs : data->graph->n};
    PGCN_TRY(
        pgcn_i_opts_over(&s->inference, sizeof s->inference, inference, "pgcn_inference_default"));
    PGCN_TRY(pgcn_i_kernels_check());
    PGCN_TRY(pgcn_i_seed_check(s->inference.seed));
    s->config.paths_per_layer = false; /* one sample per draw serves all layers */
    if (has_paths(&s->config))
        s->config.train_form = PGCN_FORM_SAMPLED; /* no backward pass: T^T is not needed */
    pgcn_status status = fill_session(s);
    if (status != PGCN_OK) pgcn_i_session_close(s);
    return status;
}

pgcn_status pgcn_i_session_open_for(pgcn_i_session *s, const pgcn_model *model,
                                    const pgcn_dataset *data, const pgcn_inference *inference,
                                    pgcn_i_session_purpose purpose) {
    pgcn_status status = open_for(s, model, data, inference, purpose);
    bool exact = s->inference.draws == 0;
    if (status != PGCN_ERR_MEMORY || !data->x.file || purpose.most == 0 || !exact) return status;
    purpose.most = 0; /* neighbours of a block do not fit: all rows are computed, in files */
    return open_for(s, model, data, inference, purpose);
}

/* ---- of several ranks ---------------------------------------------------------------------------------- */

/* What rank 0 tells the others to run: graphs first .. first + count - 1 of a set, or the whole graph. */
typedef struct turn {
    int64_t goes_on, first, count, draw;
} turn;

static turn tell(turn t) {
    pgcn_i_comm_broadcast(pgcn_i_comm_world(), &t, sizeof t, 0);
    return t;
}

static pgcn_status open_shared(pgcn_i_session *s, const pgcn_model *model, const pgcn_dataset *data,
                               const pgcn_inference *inference) {
    pgcn_status status = pgcn_i_session_open_for(s, model, data, inference,
                                                 (pgcn_i_session_purpose){.shared = true});
    pgcn_status agreed = pgcn_i_cluster_agree(status);
    if (status == PGCN_OK && agreed != PGCN_OK) pgcn_i_session_close(s);
    if (agreed != PGCN_OK) return agreed;
    pgcn_i_comm_world()->go_on = "the same command predicts anew";
    s->is_served = pgcn_i_comm_world()->rank == 0;
    return PGCN_OK;
}

pgcn_status pgcn_i_session_serve(const pgcn_model *model, const pgcn_dataset *data,
                                 const pgcn_inference *inference) {
    pgcn_i_session s;
    pgcn_i_comm *comm = pgcn_i_comm_world();
    PGCN_TRY(open_shared(&s, model, data, inference));
    double patience = comm->patience;
    for (;;) {
        comm->patience = PGCN_I_LEADER_TIMES * patience;
        turn t = tell((turn){.goes_on = false});
        comm->patience = patience;
        if (!t.goes_on || pgcn_i_comm_status(comm) != PGCN_OK) break;
        for (int64_t g = 0; g < t.count; g++) s.chosen[g] = (pgcn_node)(t.first + g);
        pgcn_i_session_run(&s, (pgcn_i_chosen){t.count > 0 ? s.chosen : NULL, t.count},
                           (int)t.draw);
    }
    pgcn_i_session_close(&s);
    return pgcn_i_comm_status(comm);
}

/* Numbers that are not finite are found again by rank 0 alone, which says where. */
static pgcn_status fail_alone(const pgcn_i_session *s, pgcn_i_chosen chosen, int draw) {
    pgcn_i_session alone;
    PGCN_TRY(pgcn_i_session_open_for(&alone, s->model, s->data, &s->inference,
                                     (pgcn_i_session_purpose){.most = 0}));
    pgcn_status status = pgcn_i_session_run(&alone, chosen, draw);
    pgcn_i_session_close(&alone);
    return status;
}

/* ---- */

pgcn_status pgcn_i_session_open(pgcn_i_session *s, const pgcn_model *model,
                                const pgcn_dataset *data, const pgcn_inference *inference,
                                int64_t results) {
    /* of features on disk draws read the rows of some nodes, and the exact form reads all of them */
    bool blocks = data->x.file && inference && inference->draws > 0;
    if (!data->x.file && pgcn_i_cluster_infer(model, data, inference))
        return open_shared(s, model, data, inference);
    return pgcn_i_session_open_for(
        s, model, data, inference,
        (pgcn_i_session_purpose){.most = blocks ? PGCN_I_BLOCK : 0, .results = results});
}

void pgcn_i_session_close(pgcn_i_session *s) {
    if (s->is_served) tell((turn){.goes_on = false});
    if (s->share) pgcn_i_comm_world()->go_on = NULL;
    s->is_served = false;
    pgcn_i_share_free(s->share);
    s->share = NULL;
    pgcn_i_supply_close(&s->supply);
    pgcn_i_loss_free(&s->loss);
    pgcn_i_runner_close(&s->runner);
    pgcn_i_arena_free(&s->hidden.arena);
    pgcn_i_spatial_free(&s->spatial);
    pgcn_i_input_free(s->input);
    pgcn_i_input_free(s->plain);
    pgcn_i_pool_free(s->pool);
    pgcn_i_arena_free(&s->arena);
    if (s->in_files) pgcn_i_files_end();
    s->in_files = false;
}

bool pgcn_i_session_part(pgcn_i_session *s, int64_t i, pgcn_i_chosen *out) {
    *out = (pgcn_i_chosen){NULL, 0};
    const pgcn_i_batch *batch = s->runner.views.batch;
    if (!batch) return i == 0;
    int64_t most = batch->most_graphs, first = i * most, left = s->data->info.graphs - first;
    if (left <= 0) return false;
    *out = (pgcn_i_chosen){s->chosen, left < most ? left : most};
    for (int64_t g = 0; g < out->count; g++) s->chosen[g] = (pgcn_node)(first + g);
    return true;
}

/* ---- draws ------------------------------------------------------------------------------------------ */

pgcn_status pgcn_i_draws_init(pgcn_i_draws *d, const pgcn_i_session *s) {
    int classes = s->model->classes;
    *d =
        (pgcn_i_draws){.runs = s->inference.draws > 0 ? s->inference.draws : 1, .classes = classes};
    if (!pgcn_i_mul(s->items, classes, &d->count))
        return pgcn_i_fail(PGCN_ERR_MEMORY, "%lld x %d probabilities are too many",
                           (long long)s->items, classes);
    d->last = PGCN_I_ARRAY(&d->arena, double, d->count);
    d->sum = d->last; /* of one run, which deviates from nothing, */
    d->squares = NULL;
    if (d->runs == 1) return d->last ? PGCN_OK : PGCN_ERR_MEMORY;
    d->sum = PGCN_I_ARRAY(&d->arena, double, d->count);
    d->squares = PGCN_I_ARRAY(&d->arena, double, d->count);
    return d->last && d->sum && d->squares ? PGCN_OK : PGCN_ERR_MEMORY;
}

pgcn_status pgcn_i_session_run(pgcn_i_session *s, pgcn_i_chosen chosen, int draw) {
    if (s->is_served) tell((turn){true, chosen.item ? chosen.item[0] : 0, chosen.count, draw});
    pgcn_i_runner_put(&s->runner, chosen, &s->loss);
    pgcn_i_runner_draw(&s->runner, pgcn_i_session_draw(s, draw));
    if (s->supply.file) PGCN_TRY(pgcn_i_supply_bring(&s->supply, &s->runner.views));
    pgcn_i_tape_forward(&s->runner.tape);
    if (s->share) {
        pgcn_i_share_to_first(&s->runner.tape, s->runner.logits);
        PGCN_TRY(pgcn_i_comm_status(pgcn_i_comm_world()));
        if (!s->is_served) return PGCN_OK; /* rank 0 goes on with them */
        if (!pgcn_i_is_finite(s->runner.logits)) return fail_alone(s, chosen, draw);
    }
    if (!pgcn_i_is_finite(s->runner.logits)) /* of infinite ones some probabilities are numbers */
        return pgcn_i_fail_prediction(s->model, s->data, s->input, &s->runner.tape);
    pgcn_i_runner_probabilities(&s->runner, &s->loss);
    return PGCN_OK;
}

/* The probabilities of the items of the current view, in their rows of `last`. */
static pgcn_status run_part(pgcn_i_draws *d, pgcn_i_session *s, pgcn_i_chosen chosen, int draw) {
    const pgcn_node *item;
    int c = d->classes;
    PGCN_TRY(pgcn_i_session_run(s, chosen, draw));
    int64_t count = pgcn_i_views_items(&s->runner.views, &item);
    for (int64_t r = 0; r < count; r++)
        for (int k = 0; k < c; k++)
            d->last[(item ? item[r] : r) * c + k] = (double)s->loss.probability[r * c + k];
    return PGCN_OK;
}

pgcn_status pgcn_i_session_run_item(pgcn_i_session *s, int64_t item, int64_t *row) {
    const pgcn_node *number;
    bool per_graph = s->model->task == PGCN_TASK_GRAPH;
    if (s->chosen) s->chosen[0] = per_graph ? (pgcn_node)item : s->data->from.graph_of[item];
    PGCN_TRY(pgcn_i_session_run(s, (pgcn_i_chosen){s->chosen, s->chosen ? 1 : 0}, 0));
    int64_t count = pgcn_i_views_items(&s->runner.views, &number);
    for (*row = 0; number && *row < count - 1 && number[*row] != item;) ++*row;
    if (!number) *row = item;
    return PGCN_OK;
}

pgcn_status pgcn_i_draws_add(pgcn_i_draws *d, pgcn_i_session *s, int draw) {
    pgcn_i_chosen chosen;
    for (int64_t part = 0; pgcn_i_session_part(s, part, &chosen); part++)
        PGCN_TRY(run_part(d, s, chosen, draw));
    for (int64_t i = 0; i < d->count && d->squares; i++) {
        d->sum[i] += d->last[i];
        d->squares[i] += d->last[i] * d->last[i];
    }
    return PGCN_OK;
}

double pgcn_i_deviation_of(double sum, double squares, int runs) {
    double variance = runs > 1 ? (squares - sum * sum / runs) / (runs - 1) : 0;
    return variance > 0 ? sqrt(variance) : 0;
}

static pgcn_status predict_whole(pgcn_i_session *s, float *probability, float *deviation) {
    pgcn_i_draws d;
    pgcn_status status = pgcn_i_draws_init(&d, s);
    for (int draw = 0; status == PGCN_OK && draw < d.runs; draw++)
        status = pgcn_i_draws_add(&d, s, draw);
    for (int64_t i = 0; status == PGCN_OK && i < d.count; i++) {
        probability[i] = (float)(d.sum[i] / d.runs);
        if (deviation)
            deviation[i] =
                d.squares ? (float)pgcn_i_deviation_of(d.sum[i], d.squares[i], d.runs) : 0;
    }
    pgcn_i_arena_free(&d.arena);
    return status;
}

/* ---- all nodes, block by block ---------------------------------------------------------------------- */

pgcn_status pgcn_i_block_sums_init(pgcn_i_block_sums *b, const pgcn_i_session *s) {
    int64_t count = s->block * s->model->classes;
    *b = (pgcn_i_block_sums){.runs = s->inference.draws > 0 ? s->inference.draws : 1,
                             .classes = s->model->classes};
    b->last = PGCN_I_ARRAY(&b->arena, double, count);
    b->sum = PGCN_I_ARRAY(&b->arena, double, count);
    b->squares = PGCN_I_ARRAY(&b->arena, double, count);
    return b->last && b->sum && b->squares ? PGCN_OK : PGCN_ERR_MEMORY;
}

bool pgcn_i_block_sums_add(pgcn_i_block_sums *b, const pgcn_i_session *s, int64_t nodes, int draw) {
    for (int64_t i = 0; i < nodes * b->classes; i++) {
        double p = b->last[i] = (double)s->loss.probability[i];
        b->sum[i] = draw == 0 ? p : b->sum[i] + p;
        b->squares[i] = draw == 0 ? p * p : b->squares[i] + p * p;
    }
    return draw == b->runs - 1;
}

typedef struct block_results {
    pgcn_i_block_sums sums;
    float *probability, *deviation;
} block_results;

static void take_block(void *context, const pgcn_i_session *s, int64_t first, pgcn_i_chosen chosen,
                       int draw) {
    block_results *r = context;
    pgcn_i_block_sums *b = &r->sums;
    int64_t at = first * b->classes;
    if (!pgcn_i_block_sums_add(b, s, chosen.count, draw)) return;
    for (int64_t i = 0; i < chosen.count * b->classes; i++) {
        r->probability[at + i] = (float)(b->sum[i] / b->runs);
        if (r->deviation)
            r->deviation[at + i] = (float)pgcn_i_deviation_of(b->sum[i], b->squares[i], b->runs);
    }
}

static pgcn_status predict_blocks(pgcn_i_session *s, float *probability, float *deviation) {
    block_results r = {.probability = probability, .deviation = deviation};
    pgcn_node *node = pgcn_i_alloc(s->items, sizeof *node);
    pgcn_status status = pgcn_i_block_sums_init(&r.sums, s);
    if (!node) status = PGCN_ERR_MEMORY;
    for (int64_t i = 0; status == PGCN_OK && i < s->items; i++) node[i] = (pgcn_node)i;
    if (status == PGCN_OK) status = pgcn_i_session_ask(s, node, s->items, take_block, &r);
    pgcn_i_arena_free(&r.sums.arena);
    pgcn_i_free(node);
    return status;
}

pgcn_status pgcn_model_predict(const pgcn_model *model, const pgcn_dataset *data,
                               const pgcn_inference *inference, float *probability,
                               float *deviation) {
    PGCN_I_NEED(model);
    PGCN_I_NEED(data);
    PGCN_I_NEED(probability);
    pgcn_i_session s;
    int64_t number = (int64_t)sizeof(float) * (deviation ? 2 : 1);
    int64_t results = data->graph->n * (model->classes * number + (int64_t)sizeof(pgcn_node));
    PGCN_TRY(pgcn_i_session_open(&s, model, data, inference, results));
    pgcn_status status = s.runner.views.nodes ? predict_blocks(&s, probability, deviation)
                                              : predict_whole(&s, probability, deviation);
    pgcn_i_session_close(&s);
    return status;
}
