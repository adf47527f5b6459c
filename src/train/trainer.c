/* The trainer: everything is checked and allocated in pgcn_trainer_new; an epoch then only computes.
 * Read run_step and pgcn_trainer_epoch first: they are one epoch from top to bottom.
 *
 * Threading: one pool per trainer; every operation inside runs in it. Called by the command line
 * and by programs through the public header. */
#include "train/cluster.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- one epoch ------------------------------------------------------------------------------ */

/* Which paths a step draws, or a part of an evaluation: those of the last step that draws new ones. */
pgcn_i_path_draw pgcn_i_moment_draw(const pgcn_trainer *trainer, pgcn_i_moment turn) {
    const pgcn_config *config = &trainer->config;
    int every = config->resample_every;
    int64_t step = turn.epoch * trainer->steps + turn.at;
    if (turn.evaluates)
        return (pgcn_i_path_draw){
            .seed = config->seed, .purpose = PGCN_I_RNG_WALK_INFERENCE, .step = turn.epoch + 1};
    return (pgcn_i_path_draw){.seed = config->seed,
                              .purpose = PGCN_I_RNG_WALK,
                              .step = every > 0 ? step - step % every : 0};
}

bool pgcn_i_evaluation_is_due(const pgcn_trainer *trainer, int64_t epoch) {
    return !trainer->progress.unvalidated &&
           ((epoch + 1) % trainer->config.eval_every == 0 || epoch + 1 == trainer->config.epochs);
}

/* What a part of an evaluation predicts: its logits, and the probabilities in trainer->loss. On several ranks each
 * may have those of its own rows alone. */
static pgcn_status predict_part(pgcn_trainer *trainer, pgcn_i_chosen chosen, pgcn_i_moment turn,
                                bool with_probabilities, bool *own_rows) {
    pgcn_i_runner *runner = &trainer->eval;
    if (trainer->lookahead) PGCN_TRY(pgcn_i_lookahead_see(trainer->lookahead, turn));
    pgcn_i_runner_put(runner, chosen, &trainer->loss);
    pgcn_i_runner_draw(runner, pgcn_i_moment_draw(trainer, turn));
    if (trainer->lookahead) PGCN_TRY(pgcn_i_lookahead_bring(trainer->lookahead, runner));
    pgcn_i_tape_forward(&runner->tape);
    /* several labels are counted from all logits, and pseudo-labels chosen by all */
    *own_rows = runner->tape.divided && !runner->several && !trainer->pseudo;
    if (!*own_rows) pgcn_i_runner_collect(runner);
    if (with_probabilities) pgcn_i_runner_probabilities(runner, &trainer->loss);
    return PGCN_OK;
}

static void choose_pseudo(pgcn_trainer *trainer, int64_t epochs) {
    pgcn_i_pseudo_choose(trainer->pseudo, trainer->data, trainer->split, trainer->loss.probability,
                         trainer->config.pseudo_labels, epochs);
}

/* Pseudo-labels of the present weights: those of the evaluation after the last epoch, or, where there was none or
 * another process made it, of one more prediction, which is the same. */
static pgcn_status renew_pseudo(pgcn_trainer *trainer, int64_t epoch) {
    bool own_rows;
    if (pgcn_i_pseudo_is_of(trainer->pseudo, epoch)) return PGCN_OK;
    PGCN_TRY(predict_part(trainer, (pgcn_i_chosen){NULL, 0}, (pgcn_i_moment){epoch - 1, true, 0},
                          true, &own_rows));
    choose_pseudo(trainer, epoch);
    return PGCN_OK;
}

static bool has_pseudo(const pgcn_trainer *trainer, int64_t epoch) {
    return trainer->pseudo && epoch >= trainer->config.pseudo_from;
}

/* Puts the network on what the step learns from: all of one graph, or the next graphs or nodes. */
static pgcn_i_target put_on_step(pgcn_trainer *trainer, int64_t epoch, int64_t step) {
    pgcn_i_chosen chosen = {NULL, 0};
    if (trainer->feed) chosen = pgcn_i_feed_step(trainer->feed, trainer->config.seed, step);
    pgcn_i_runner_put(&trainer->train, chosen, &trainer->loss);
    if (has_pseudo(trainer, epoch)) return pgcn_i_pseudo_target(trainer->pseudo);
    return pgcn_i_views_target(&trainer->train.views, trainer->split->train, trainer->train_items);
}

/* The weight of the consistency term rises linearly: without the ramp Citeseer collapses. */
static double consistency_weight(const pgcn_config *config, int64_t epoch) {
    if (config->samples < 2) return 0;
    if (epoch >= config->consistency_ramp) return config->consistency;
    return config->consistency * (double)epoch / config->consistency_ramp;
}

static double rate_share(const pgcn_config *config, int64_t epoch) {
    return config->lr_halve > 0 ? pow(0.5, (double)(epoch / config->lr_halve)) : 1;
}

/* Sample, forward, loss, backward, Adam. The loss and on how many items it is; the weights are not touched
 * when it is not finite, nor after a failure, which only reading features from disk can have. */
static pgcn_status run_step(pgcn_trainer *trainer, pgcn_i_moment turn, double *out,
                            int64_t *items) {
    const pgcn_config *config = &trainer->config;
    pgcn_i_runner *runner = &trainer->train;
    int64_t epoch = turn.epoch, step = epoch * trainer->steps + turn.at;
    if (trainer->lookahead) PGCN_TRY(pgcn_i_lookahead_see(trainer->lookahead, turn));
    if (has_pseudo(trainer, epoch)) PGCN_TRY(renew_pseudo(trainer, epoch));
    pgcn_i_target target = put_on_step(trainer, epoch, step);
    double lambda = consistency_weight(config, epoch);
    runner->tape.step = step;
    pgcn_i_runner_draw(runner, pgcn_i_moment_draw(trainer, turn));
    if (trainer->lookahead) PGCN_TRY(pgcn_i_lookahead_bring(trainer->lookahead, runner));
    if (!trainer->feed) pgcn_i_loss_rows(&trainer->loss, &runner->tape, &target, lambda);
    pgcn_i_tape_forward(&runner->tape);
    pgcn_i_loss_terms terms = pgcn_i_loss_run(&trainer->loss, &runner->tape, runner->logits,
                                              &target, lambda, config->temperature);
    double loss =
        terms.cross_entropy + lambda * terms.consistency + pgcn_i_tape_loss_terms(&runner->tape);
    *items = target.masked;
    *out = loss;
    if (!isfinite(loss)) return PGCN_OK;
    pgcn_i_tape_backward(&runner->tape);
    pgcn_i_clip_gradient(&trainer->params, config);
    pgcn_i_adam_all(&trainer->params, trainer->pool, config, rate_share(config, epoch), step + 1);
    return PGCN_OK;
}

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static pgcn_status ask(const pgcn_trainer *trainer) {
    const pgcn_i_underway *u = &trainer->underway;
    bool goes_on = !trainer->go_on || trainer->go_on(trainer->context);
    if (pgcn_i_cluster_ask(&trainer->cluster, goes_on))
        return pgcn_i_cluster_status(&trainer->cluster);
    return pgcn_i_fail(PGCN_ERR_STOPPED,
                       "training was stopped by its callback in epoch %lld, after %lld of %lld "
                       "steps; pgcn_trainer_epoch() goes on",
                       (long long)trainer->progress.epochs + 1, (long long)u->steps,
                       (long long)trainer->steps);
}

/* The steps of an epoch, or what is left of them; the mean of their losses, or the first that is not
 * finite. After another step was done the weights are no longer those of the epoch before. */
static pgcn_status run_steps(pgcn_trainer *trainer, int64_t epoch, double *mean) {
    pgcn_i_underway *u = &trainer->underway;
    for (; u->steps < trainer->steps; u->steps++) {
        PGCN_TRY(ask(trainer));
        int64_t items;
        double begin_ms = now_ms();
        pgcn_i_cluster_step_begin(&trainer->cluster);
        PGCN_TRY(run_step(trainer, (pgcn_i_moment){epoch, false, u->steps}, mean, &items));
        u->step_ms += now_ms() - begin_ms;
        pgcn_i_cluster_step_end(&trainer->cluster);
        PGCN_TRY(pgcn_i_cluster_status(&trainer->cluster));
        if (!isfinite(*mean) && u->steps > 0) trainer->broken = "training";
        if (!isfinite(*mean)) return PGCN_OK;
        u->loss_sum = trainer->steps == 1 ? *mean : u->loss_sum + *mean * (double)items;
        u->items += items;
    }
    *mean = trainer->steps == 1 ? u->loss_sum : u->loss_sum / (double)u->items;
    return PGCN_OK;
}

enum { VAL = 0, TEST = 1, EVAL_PARTS = 2 };

static const uint8_t *mask_of(const pgcn_trainer *trainer, int part) {
    return part == TEST ? trainer->split->test : trainer->split->val;
}

/* Adds what was predicted for the items of the view. */
static void tally_view(pgcn_trainer *trainer, const pgcn_i_target *target, bool own_rows,
                       pgcn_i_tally *tally) {
    const int64_t before = tally->items;
    const pgcn_node *number;
    const int64_t items = pgcn_i_views_items(&trainer->eval.views, &number);
    if (own_rows)
        pgcn_i_cluster_tally(tally, &trainer->loss, target);
    else
        pgcn_i_tally_add_masked(tally, trainer->loss.probability, target, trainer->loss.n);
    pgcn_i_tally_place(tally, before, target, items, number);
}

/* The graph, or the graphs or nodes of a part of the evaluation. */
static pgcn_status evaluate_part(pgcn_trainer *trainer, pgcn_i_chosen chosen, int64_t epoch,
                                 pgcn_i_evaluation *e) {
    pgcn_i_runner *runner = &trainer->eval;
    pgcn_i_moment turn = {epoch - 1, true, e->parts};
    const int64_t items[EVAL_PARTS] = {trainer->val_items, trainer->test_items};
    bool own_rows;
    PGCN_TRY(predict_part(trainer, chosen, turn, !runner->several || e->tally != NULL, &own_rows));
    for (int part = VAL; part < EVAL_PARTS; part++) {
        if (items[part] == 0) continue; /* arrays without a mask, the step without-test */
        pgcn_i_target target =
            pgcn_i_views_target(&runner->views, mask_of(trainer, part), items[part]);
        pgcn_i_score_add(&e->score[part], runner, &trainer->loss, &target);
        if (e->tally) tally_view(trainer, &target, own_rows, &e->tally[part]);
    }
    return PGCN_OK;
}

/* What part i of an evaluation has; false after the last. */
static bool choose_part(const pgcn_trainer *trainer, int64_t i, pgcn_i_chosen *out) {
    *out = (pgcn_i_chosen){NULL, 0};
    if (!trainer->feed || trainer->feed->whole_eval) return i == 0;
    *out = pgcn_i_feed_part(trainer->feed, i);
    return out->count > 0;
}

static void clear_tallies(pgcn_i_evaluation *e) {
    for (int part = VAL; e->tally && part < EVAL_PARTS; part++) pgcn_i_tally_clear(&e->tally[part]);
}

static bool selects_by_tally(const pgcn_config *config) {
    return config->select > PGCN_SELECT_ACCURACY;
}

/* The evaluation of an epoch, or what is left of it. */
static pgcn_status evaluate(pgcn_trainer *trainer, pgcn_epoch *epoch) {
    bool tallied = selects_by_tally(&trainer->config);
    pgcn_i_evaluation *e = &trainer->underway.evaluation;
    pgcn_i_chosen chosen;
    e->tally = tallied ? trainer->tally : NULL;
    if (e->parts == 0) clear_tallies(e);
    for (; choose_part(trainer, e->parts, &chosen); e->parts++) {
        PGCN_TRY(ask(trainer));
        PGCN_TRY(evaluate_part(trainer, chosen, epoch->epoch, e));
        PGCN_TRY(pgcn_i_cluster_status(&trainer->cluster));
    }
    if (has_pseudo(trainer, epoch->epoch)) choose_pseudo(trainer, epoch->epoch);
    epoch->val_loss = pgcn_i_score_loss(&e->score[VAL]);
    epoch->val_accuracy = epoch->val_measure = pgcn_i_score_accuracy(&e->score[VAL]);
    epoch->test_accuracy = epoch->test_measure = pgcn_i_score_accuracy(&e->score[TEST]);
    if (!tallied) return PGCN_OK;
    pgcn_measure measure = (pgcn_measure)(trainer->config.select - 1);
    epoch->val_measure = pgcn_i_tally_measure(&trainer->tally[VAL], measure);
    epoch->test_measure = pgcn_i_tally_measure(&trainer->tally[TEST], measure);
    return PGCN_OK;
}

/* A measure that is not defined (NaN) is no better than any other and no worse: then the loss decides.
 * val_measure is the accuracy if select is loss. */
static bool better(const pgcn_epoch *a, const pgcn_epoch *b, pgcn_select select) {
    bool less = a->val_loss < b->val_loss;
    if (select == PGCN_SELECT_LOSS) return less;
    return a->val_measure > b->val_measure || (!(a->val_measure < b->val_measure) && less);
}

bool pgcn_i_progress_add(pgcn_i_progress *progress, pgcn_select select, pgcn_epoch epoch) {
    bool evaluated = !isnan(epoch.val_loss), last = progress->unvalidated;
    bool first = evaluated && progress->best < 0;
    epoch.best =
        last || first || (evaluated && better(&epoch, &progress->history[progress->best], select));
    bool lower = first || (evaluated && epoch.val_loss < progress->least_loss);
    bool higher = first || (evaluated && epoch.val_measure > progress->most_measure);
    if (last || lower || higher)
        progress->improved = epoch.epoch; /* patience never ends the last */
    if (lower) progress->least_loss = epoch.val_loss;
    if (higher) progress->most_measure = epoch.val_measure;
    progress->history[progress->epochs] = epoch;
    if (epoch.best) progress->best = progress->epochs;
    progress->epochs++;
    return epoch.best;
}

/* Where nothing validates no loss would tell it, and the weights are kept. */
static pgcn_status check_finite(pgcn_trainer *trainer) {
    const pgcn_i_params *params = &trainer->params;
    for (int64_t i = 0; i < params->total; i++)
        if (!isfinite(params->value[i])) {
            trainer->broken = "training";
            return pgcn_i_fail_loss(trainer, trainer->broken);
        }
    return PGCN_OK;
}

static pgcn_status run_epoch(pgcn_trainer *trainer, pgcn_epoch *epoch) {
    PGCN_TRY(run_steps(trainer, epoch->epoch - 1, &epoch->train_loss));
    epoch->step_ms = trainer->underway.step_ms;
    if (!isfinite(epoch->train_loss)) return pgcn_i_fail_loss(trainer, "training");
    if (trainer->progress.unvalidated) return check_finite(trainer);
    if (!pgcn_i_evaluation_is_due(trainer, epoch->epoch - 1)) return PGCN_OK;
    PGCN_TRY(evaluate(trainer, epoch));
    if (isfinite(epoch->val_loss)) return PGCN_OK;
    trainer->broken = "validation"; /* the step is done, the epoch cannot be */
    return pgcn_i_fail_loss(trainer, trainer->broken);
}

pgcn_status pgcn_trainer_epoch(pgcn_trainer *trainer, pgcn_epoch *out) {
    PGCN_I_NEED(trainer);
    pgcn_i_progress *progress = &trainer->progress;
    if (pgcn_trainer_finished(trainer))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "training is finished after %lld epochs; raise epochs or patience",
                           (long long)progress->epochs);
    if (trainer->broken) return pgcn_i_fail_loss(trainer, trainer->broken);
    pgcn_i_cluster_epoch(&trainer->cluster);
    pgcn_epoch epoch = {.epoch = progress->epochs + 1,
                        .val_loss = NAN,
                        .val_accuracy = NAN,
                        .test_accuracy = NAN,
                        .val_measure = NAN,
                        .test_measure = NAN};
    pgcn_status status = run_epoch(trainer, &epoch);
    /* what could not be read may be there again: the next call goes on, as after a stop */
    bool goes_on = status == PGCN_ERR_STOPPED ||
                   (trainer->lookahead && status != PGCN_OK && status != PGCN_ERR_NUMERIC);
    if (!goes_on) trainer->underway = (pgcn_i_underway){0};
    PGCN_TRY(status);
    if (pgcn_i_progress_add(progress, trainer->config.select, epoch))
        memcpy(trainer->params.best, trainer->params.value,
               (size_t)trainer->params.total * sizeof *trainer->params.value);
    if (out) *out = progress->history[progress->epochs - 1];
    return PGCN_OK;
}

void pgcn_trainer_on_step(pgcn_trainer *trainer, bool (*go_on)(void *context), void *context) {
    if (!trainer) return;
    trainer->go_on = go_on;
    trainer->context = context;
}

bool pgcn_trainer_finished(const pgcn_trainer *trainer) {
    if (!trainer) return true; /* so that a loop over epochs ends */
    const pgcn_i_progress *progress = &trainer->progress;
    int patience = trainer->config.patience;
    return progress->epochs >= trainer->config.epochs ||
           (patience > 0 && progress->epochs - progress->improved >= patience);
}

/* ---- what the best weights score ---------------------------------------------------------------- */

static pgcn_status tally_parts(const pgcn_trainer *trainer, pgcn_i_tally tally[EVAL_PARTS]) {
    bool several = trainer->data->task == PGCN_TASK_MULTILABEL;
    PGCN_TRY(pgcn_i_tally_init(&tally[VAL], trainer->val_items, trainer->data->classes, several));
    return pgcn_i_tally_init(&tally[TEST], trainer->test_items, trainer->data->classes, several);
}

/* The most frequent class of the training items, among the items of a part that evaluations look at. */
static pgcn_status find_majority(const pgcn_trainer *trainer, const uint8_t *mask, double *out) {
    const pgcn_dataset *data = trainer->data;
    int64_t items = data->info.items;
    const pgcn_i_target train = pgcn_i_target_of(data, trainer->split->train);
    pgcn_i_target part = pgcn_i_target_of(data, mask);
    uint8_t *evaluated = NULL;
    if (pgcn_i_feed_samples(trainer->feed)) {
        if (!(evaluated = pgcn_i_alloc(items, 1))) return PGCN_ERR_MEMORY;
        for (int64_t i = 0; i < trainer->feed->eval; i++) {
            pgcn_node node = trainer->feed->eval_item[i];
            evaluated[node] = mask[node];
        }
        part = pgcn_i_target_of(data, evaluated);
    }
    pgcn_status status = pgcn_i_majority(&train, &part, items, data->classes, out);
    pgcn_i_free(evaluated);
    return status;
}

static pgcn_status fill_score(const pgcn_trainer *trainer, const pgcn_i_score *counted,
                              pgcn_i_tally *tally, const uint8_t *mask, pgcn_score *out) {
    *out = (pgcn_score){.accuracy = pgcn_i_score_accuracy(counted),
                        .loss = pgcn_i_score_loss(counted)};
    out->draw_accuracy = out->accuracy;
    pgcn_i_tally_score(tally, out);
    return find_majority(trainer, mask, &out->majority);
}

/* The weights of the best epoch take the place of the last ones for one evaluation. */
static pgcn_status evaluate_best(pgcn_trainer *trainer, float *last, pgcn_i_evaluation *e) {
    const pgcn_i_params *params = &trainer->params;
    size_t bytes = (size_t)params->total * sizeof *last;
    pgcn_status status = PGCN_OK;
    pgcn_i_chosen chosen;
    memcpy(last, params->value, bytes);
    memcpy(params->value, params->best, bytes);
    clear_tallies(e);
    if (trainer->lookahead) pgcn_i_lookahead_closes(trainer->lookahead, true);
    for (; status == PGCN_OK && choose_part(trainer, e->parts, &chosen); e->parts++)
        status = evaluate_part(trainer, chosen, trainer->progress.best + 1, e);
    if (trainer->lookahead) pgcn_i_lookahead_closes(trainer->lookahead, false);
    memcpy(params->value, last, bytes);
    return status;
}

pgcn_status pgcn_trainer_scores(pgcn_trainer *trainer, pgcn_score *val, pgcn_score *test) {
    PGCN_I_NEED(trainer);
    PGCN_I_NEED(val);
    PGCN_I_NEED(test);
    if (trainer->progress.best < 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "there are no best weights yet: no epoch was evaluated");
    pgcn_i_cluster_scores(&trainer->cluster);
    pgcn_i_tally tally[EVAL_PARTS] = {{.items = 0}, {.items = 0}};
    pgcn_i_evaluation e = {.tally = tally};
    pgcn_score scores[EVAL_PARTS];
    float *last = pgcn_i_alloc(trainer->params.total, sizeof *last);
    pgcn_status status = last ? tally_parts(trainer, tally) : PGCN_ERR_MEMORY;
    for (int part = VAL; status == PGCN_OK && part < EVAL_PARTS; part++)
        status = pgcn_i_tally_by_graph(&tally[part], trainer->data);
    if (trainer->cluster.shared) status = pgcn_i_cluster_agree(status);
    if (status == PGCN_OK) status = evaluate_best(trainer, last, &e);
    if (status == PGCN_OK) status = pgcn_i_cluster_status(&trainer->cluster);
    for (int part = VAL; status == PGCN_OK && part < EVAL_PARTS; part++)
        status = fill_score(trainer, &e.score[part], &tally[part], mask_of(trainer, part),
                            &scores[part]);
    for (int part = VAL; part < EVAL_PARTS; part++) pgcn_i_tally_free(&tally[part]);
    pgcn_i_free(last);
    if (status != PGCN_OK) return status;
    *val = scores[VAL];
    *test = scores[TEST];
    return PGCN_OK;
}

int64_t pgcn_trainer_steps(const pgcn_trainer *trainer, int64_t *all) {
    if (all) *all = trainer ? trainer->steps : 0;
    return trainer ? trainer->underway.steps : 0;
}

const pgcn_epoch *pgcn_trainer_history(const pgcn_trainer *trainer, int64_t *count) {
    if (count) *count = trainer ? trainer->progress.epochs : 0;
    return trainer ? trainer->progress.history : NULL;
}

const char *pgcn_trainer_split(const pgcn_trainer *trainer) {
    return trainer ? trainer->split->name : NULL;
}
const char *pgcn_trainer_split_hash(const pgcn_trainer *trainer) {
    return trainer ? trainer->split_id.all : NULL;
}

pgcn_status pgcn_trainer_save(const pgcn_trainer *trainer, const char *path) {
    PGCN_I_NEED(trainer);
    PGCN_I_NEED(path);
    return pgcn_i_checkpoint_write(path, trainer);
}

pgcn_resume_opts pgcn_resume_opts_default(void) {
    return (pgcn_resume_opts){.size = sizeof(pgcn_resume_opts)};
}

pgcn_status pgcn_trainer_resume_with(pgcn_trainer *trainer, const char *path,
                                     const pgcn_resume_opts *opts) {
    PGCN_I_NEED(trainer);
    PGCN_I_NEED(path);
    pgcn_resume_opts chosen = pgcn_resume_opts_default();
    PGCN_TRY(pgcn_i_opts_over(&chosen, sizeof chosen, opts, "pgcn_resume_opts_default"));
    PGCN_TRY(pgcn_i_checkpoint_read(path, &chosen, trainer));
    trainer->broken = NULL;
    pgcn_i_cluster_state(trainer);
    return pgcn_i_cluster_status(&trainer->cluster);
}

pgcn_status pgcn_trainer_resume(pgcn_trainer *trainer, const char *path) {
    return pgcn_trainer_resume_with(trainer, path, NULL);
}

const char *pgcn_trainer_note(const pgcn_trainer *trainer, int i) {
    return trainer && i >= 0 && i < trainer->notes.count ? trainer->notes.text[i] : NULL;
}

/* ---- setting up ------------------------------------------------------------------------------- */

/* Whether several ranks have one graph, read it as it is, whole or in batches of nodes, and so divide its features. */
static bool divides_features(const pgcn_trainer *trainer) {
    const pgcn_dataset *data = trainer->data;
    return trainer->cluster.shared && !data->x.file &&
           !pgcn_i_in_batches(data, data->task == PGCN_TASK_GRAPH) &&
           trainer->config.batch_by != PGCN_BATCH_CLUSTER &&
           pgcn_i_network_powers(&trainer->config) == 0;
}

static pgcn_i_runner_opts runner_opts(pgcn_trainer *trainer, bool training) {
    const pgcn_i_clusters *clusters = training ? trainer->clusters : NULL;
    const pgcn_dataset *data = clusters ? &clusters->data : trainer->data;
    const pgcn_config *config = &trainer->config;
    const pgcn_i_feed *feed = trainer->feed && trainer->feed->nodes ? trainer->feed : NULL;
    bool in_parts = !training && feed && feed->eval > 0;
    bool sampled = training   ? config->train_form == PGCN_FORM_SAMPLED
                   : in_parts ? pgcn_i_network_of(config)->walks
                              : !trainer->spatial.has_exact;
    bool keeps_some = training && pgcn_i_kept_edges(config) < 1;
    int64_t nodes = training && feed ? feed->most + feed->most_others : in_parts ? feed->most : 0;
    return (pgcn_i_runner_opts){
        .config = config,
        .params = &trainer->params,
        .pool = trainer->pool,
        .several = data->task == PGCN_TASK_MULTILABEL,
        .share = in_parts ? NULL : trainer->share[training ? 0 : 1],
        .takers = in_parts && trainer->cluster.shared ? pgcn_i_comm_world() : NULL,
        .views = {.data = data,
                  .input = trainer->input,
                  .spatial = clusters ? &clusters->spatial : &trainer->spatial,
                  .per_graph = data->task == PGCN_TASK_GRAPH,
                  .layers = config->layers,
                  .samples = training ? config->samples : 1,
                  .graphs = clusters ? config->parts_per_step : config->batch,
                  .sampled = sampled,
                  .per_layer = training && config->paths_per_layer,
                  .training = training,
                  .edges = keeps_some ? config : NULL,
                  .nodes = nodes,
                  .levels = trainer->levels,
                  .neighbours = training ? config->neighbours : NULL,
                  .batch_paths = training ? config->batch_paths : NULL,
                  .links = pgcn_i_network_of(config)->links,
                  .owners = divides_features(trainer) ? pgcn_i_comm_world() : NULL}};
}

static pgcn_status open_runners(pgcn_trainer *trainer) {
    for (int i = 0; i < 2 && trainer->cluster.shared; i++)
        PGCN_TRY(pgcn_i_share_new(pgcn_i_comm_world(), &trainer->share[i]));
    pgcn_i_runner_opts opts = runner_opts(trainer, true);
    PGCN_TRY(pgcn_i_runner_open(&trainer->train, &opts));
    opts = runner_opts(trainer, false);
    PGCN_TRY(pgcn_i_runner_open(&trainer->eval, &opts));
    PGCN_TRY(pgcn_i_runner_allocate(&trainer->train, &trainer->eval));
    int samples = trainer->config.samples;
    int64_t trained = trainer->train.logits->rows, evaluated = trainer->eval.logits->rows;
    int64_t rows = trained > evaluated ? trained : evaluated;
    PGCN_TRY(pgcn_i_loss_init(&trainer->loss, (rows + samples - 1) / samples, samples,
                              trainer->data->classes, trainer->eval.tape.groups));
    trainer->loss.class_weight = trainer->class_weight;
    return PGCN_OK;
}

/* The nodes that train, or are in training graphs, and have features. The caller's to free. */
static pgcn_status training_rows(const pgcn_trainer *trainer, uint8_t **out) {
    const pgcn_dataset *data = trainer->data;
    const uint8_t *train = trainer->split->train, *absent = data->x.absent;
    int64_t n = data->graph->n;
    uint8_t *mask = *out = pgcn_i_alloc(n, 1);
    if (!mask) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++)
        mask[i] = train[data->task == PGCN_TASK_GRAPH ? data->from.graph_of[i] : i] &&
                  !(absent && absent[i]);
    if (memchr(mask, 1, (size_t)n)) return PGCN_OK;
    pgcn_i_free(mask);
    return pgcn_i_fail(
        PGCN_ERR_MISMATCH,
        "split %s of %s trains on no node that has features; give features for some, "
        "or choose another split",
        trainer->split->name, data->name);
}

/* The rows of this rank's groups, or all. */
static pgcn_i_range rows_read(const pgcn_trainer *trainer) {
    const pgcn_dataset *data = trainer->data;
    if (!divides_features(trainer)) return (pgcn_i_range){0, data->graph->n};
    return pgcn_i_groups_share(pgcn_i_groups_of(data->graph->n, pgcn_i_source_groups(&data->from)),
                               pgcn_i_comm_world());
}

/* Batches of training and of evaluations never run at the same time: rows that other ranks lend them go to one place. */
static pgcn_status open_lent(const pgcn_trainer *trainer) {
    pgcn_i_input *input = trainer->input;
    if (!divides_features(trainer) || trainer->config.batch_by != PGCN_BATCH_NODES || !input->dense)
        return PGCN_OK;
    input->lent = PGCN_I_ARRAY(&input->arena, float, input->n * input->columns);
    return input->lent ? PGCN_OK : PGCN_ERR_MEMORY;
}

/* Factors that are all alike do nothing, and whoever asked for them expects something. */
static pgcn_status set_up_factors(const pgcn_trainer *trainer, const uint8_t *mask, float *factor) {
    const pgcn_i_features *x = &trainer->data->x;
    double power = trainer->config.frequency;
    int64_t j = 1;
    PGCN_TRY(pgcn_i_factors_of(x, mask, power, factor));
    while (j < x->columns && factor[j] == factor[0]) j++;
    if (j < x->columns) return PGCN_OK;
    return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                       "frequency is %g and does nothing: as many training nodes have one feature "
                       "as another; set it to 0",
                       power);
}

/* Mean and deviation of the features, or factors by their frequency, over the training nodes; and the features as
 * the network reads them, with the mean where a node has none. */
static pgcn_status set_up_input(pgcn_trainer *trainer, bool with_columns) {
    const pgcn_i_features *x = &trainer->data->x;
    const pgcn_i_standard standard = pgcn_i_network_standard(&trainer->params);
    pgcn_i_features filled;
    pgcn_i_arena scratch = {0};
    uint8_t *mask;
    trainer->fill =
        standard.mean ? standard.mean : PGCN_I_ARRAY(&trainer->arena, float, x->columns);
    if (!trainer->fill) return PGCN_ERR_MEMORY;
    PGCN_TRY(training_rows(trainer, &mask));
    pgcn_status status = standard.mean ? pgcn_i_standard_of(x, mask, standard)
                                       : pgcn_i_means_of(x, mask, trainer->fill);
    if (status == PGCN_OK && standard.factor)
        status = set_up_factors(trainer, mask, standard.factor);
    pgcn_i_free(mask);
    if (status == PGCN_OK && x->file) return pgcn_i_input_outside(x, &trainer->input);
    int powers = pgcn_i_network_powers(&trainer->config);
    const pgcn_i_range rows = rows_read(trainer);
    int64_t copied = x->offset ? x->offset[rows.end] - x->offset[rows.begin]
                               : (rows.end - rows.begin) * x->columns;
    int64_t available = pgcn_memory_available();
    if (status == PGCN_OK && available >= 0 && copied > available / (int64_t)sizeof(float))
        return PGCN_ERR_MEMORY;
    if (status == PGCN_OK) status = pgcn_i_fill_absent(x, trainer->fill, &scratch, &filled);
    if (status == PGCN_OK)
        status = pgcn_i_input_of_rows(&filled, trainer->config.normalise, standard,
                                      with_columns && powers == 0, rows, &trainer->input);
    if (status == PGCN_OK) status = open_lent(trainer);
    if (status == PGCN_OK)
        status = pgcn_i_input_power(&trainer->input, &trainer->spatial.exact, powers, with_columns);
    pgcn_i_arena_free(&scratch);
    return status;
}

/* Of a network that reads the spectrum of the graph: the start of its buffer may be a given bound. */
static pgcn_status set_up_eigenvalue(const pgcn_trainer *trainer) {
    float *value = pgcn_i_network_eigenvalue(&trainer->params);
    double largest;
    if (!value || *value > 0) return PGCN_OK;
    PGCN_TRY(pgcn_i_laplacian_largest(&trainer->spatial.exact, &largest));
    *value = (float)largest;
    return PGCN_OK;
}

static bool in_batches(const pgcn_trainer *trainer) {
    return pgcn_i_in_batches(trainer->data, trainer->data->task == PGCN_TASK_GRAPH);
}

static pgcn_status set_up_feed(pgcn_trainer *trainer) {
    pgcn_batch_by by = trainer->config.batch_by;
    trainer->steps = 1;
    if (!in_batches(trainer) && by == PGCN_BATCH_AUTO) return PGCN_OK;
    if (by == PGCN_BATCH_NODES) PGCN_TRY(pgcn_i_network_levels(&trainer->config, &trainer->levels));
    if (by == PGCN_BATCH_CLUSTER)
        PGCN_TRY(pgcn_i_clusters_new(trainer->data, &trainer->config, &trainer->clusters));
    PGCN_TRY(pgcn_i_feed_new(trainer, &trainer->feed));
    trainer->steps = trainer->config.steps > 0 ? trainer->config.steps : trainer->feed->steps;
    return PGCN_OK;
}

static pgcn_status set_up(pgcn_trainer *trainer) {
    const pgcn_dataset *data = trainer->data;
    const pgcn_config *config = &trainer->config;
    PGCN_TRY(pgcn_i_kernels_check());
    PGCN_TRY(pgcn_i_trainer_check(trainer));
    PGCN_TRY(pgcn_i_split_identify(data, trainer->split, &trainer->split_id));
    pgcn_i_trainer_settle(trainer);
    PGCN_TRY(pgcn_i_lookahead_check(trainer));
    PGCN_TRY(pgcn_i_pool_new(config->threads, &trainer->pool));
    PGCN_TRY(pgcn_i_spatial_of(&trainer->spatial, data, config, pgcn_i_use_of_graph(trainer)));
    pgcn_i_shape shape = {data->x.columns, data->classes, data->task == PGCN_TASK_GRAPH};
    PGCN_TRY(pgcn_i_network_declare(&trainer->params, config, shape));
    PGCN_TRY(pgcn_i_params_allocate(&trainer->params, true));
    pgcn_i_network_start(&trainer->params, config);
    /* batches are indexed by column when they are gathered */
    PGCN_TRY(
        set_up_input(trainer, !in_batches(trainer) && trainer->config.batch_by == PGCN_BATCH_AUTO));
    PGCN_TRY(set_up_eigenvalue(trainer));
    PGCN_TRY(set_up_feed(trainer));
    if (config->pseudo_labels > 0 && !trainer->feed)
        PGCN_TRY(pgcn_i_pseudo_new(&trainer->arena, data->info.items, &trainer->pseudo));
    PGCN_TRY(open_runners(trainer));
    if (selects_by_tally(config)) PGCN_TRY(tally_parts(trainer, trainer->tally));
    trainer->progress = (pgcn_i_progress){.best = -1, .unvalidated = trainer->val_items == 0};
    trainer->progress.history = PGCN_I_ARRAY(&trainer->arena, pgcn_epoch, config->epochs);
    return trainer->progress.history ? PGCN_OK : PGCN_ERR_MEMORY;
}

/* When all ranks are set up: batches are drawn, which ranks may do together. */
static pgcn_status try_out(pgcn_trainer *trainer) {
    PGCN_TRY(pgcn_i_trainer_measure(trainer));
    PGCN_TRY(pgcn_i_cluster_status(&trainer->cluster));
    return pgcn_i_lookahead_new(trainer, &trainer->lookahead);
}

pgcn_status pgcn_trainer_new(const pgcn_dataset *data, const pgcn_config *config,
                             pgcn_trainer **out) {
    PGCN_I_NEED(data);
    PGCN_I_NEED(out);
    pgcn_trainer *trainer = pgcn_i_alloc(1, sizeof *trainer);
    if (!trainer) return PGCN_ERR_MEMORY;
    trainer->data = data;
    pgcn_status status = pgcn_i_config_copy(config, &trainer->config);
    if (status == PGCN_OK) pgcn_i_cluster_new(&trainer->cluster, data, &trainer->config);
    if (status == PGCN_OK) status = set_up(trainer);
    bool shared = trainer->cluster.shared;
    if (shared && status == PGCN_ERR_MEMORY)
        status = pgcn_i_trainer_lacks_memory(data, &trainer->config);
    if (shared) status = pgcn_i_cluster_agree(status);
    if (status == PGCN_OK) {
        status = try_out(trainer);
        if (shared) status = pgcn_i_cluster_agree(status);
        if (status == PGCN_OK) pgcn_i_lookahead_align(trainer->lookahead);
    }
    if (status != PGCN_OK) {
        pgcn_config settings = trainer->config;
        trainer->cluster.trainer = -1; /* the others have freed theirs */
        pgcn_trainer_free(trainer);
        /* within a bound the sentence has said already what is needed */
        return status == PGCN_ERR_MEMORY && !shared && !data->x.file
                   ? pgcn_i_trainer_lacks_memory(data, &settings)
                   : status;
    }
    pgcn_i_cluster_largest(trainer->input);
    *out = trainer;
    return PGCN_OK;
}

void pgcn_trainer_free(pgcn_trainer *trainer) {
    if (!trainer) return;
    pgcn_i_cluster_free(&trainer->cluster);
    pgcn_i_loss_free(&trainer->loss);
    for (int part = VAL; part < EVAL_PARTS; part++) pgcn_i_tally_free(&trainer->tally[part]);
    pgcn_i_lookahead_free(trainer->lookahead);
    pgcn_i_feed_free(trainer->feed);
    pgcn_i_runner_close(&trainer->train);
    pgcn_i_runner_close(&trainer->eval);
    for (int i = 0; i < 2; i++) pgcn_i_share_free(trainer->share[i]);
    pgcn_i_params_free(&trainer->params);
    pgcn_i_clusters_free(trainer->clusters);
    pgcn_i_spatial_free(&trainer->spatial);
    pgcn_i_input_free(trainer->input);
    pgcn_i_pool_free(trainer->pool);
    pgcn_i_arena_free(&trainer->arena);
    pgcn_i_free(trainer);
}

/* ---- the convenient call ----------------------------------------------------------------------- */

pgcn_train_opts pgcn_train_opts_default(void) {
    return (pgcn_train_opts){.size = sizeof(pgcn_train_opts)};
}

/* Until the training is finished, fails, or a callback ends it, which is no failure if an epoch has left
 * weights to keep. */
static pgcn_status run_all(pgcn_trainer *trainer, const pgcn_train_opts *opts) {
    bool wanted = true;
    pgcn_status status = PGCN_OK;
    pgcn_trainer_on_step(trainer, opts->go_on, opts->context);
    while (status == PGCN_OK && wanted && !pgcn_trainer_finished(trainer)) {
        pgcn_epoch epoch;
        status = pgcn_trainer_epoch(trainer, &epoch);
        if (status == PGCN_OK && opts->epoch) wanted = opts->epoch(&epoch, opts->context);
    }
    bool stopped = status == PGCN_ERR_STOPPED || !wanted;
    if (stopped && trainer->progress.best < 0)
        return pgcn_i_fail(PGCN_ERR_STOPPED,
                           "training was stopped by its callback before an epoch was evaluated: "
                           "there are no weights to keep");
    return stopped ? PGCN_OK : status;
}

pgcn_status pgcn_train_with(const pgcn_dataset *data, const pgcn_config *config,
                            const pgcn_train_opts *opts, pgcn_model **out) {
    PGCN_I_NEED(data);
    PGCN_I_NEED(out);
    pgcn_train_opts set = pgcn_train_opts_default();
    PGCN_TRY(pgcn_i_opts_over(&set, sizeof set, opts, "pgcn_train_opts_default"));
    pgcn_trainer *trainer;
    PGCN_TRY(pgcn_trainer_new(data, config, &trainer));
    pgcn_status status = run_all(trainer, &set);
    if (status == PGCN_OK) status = pgcn_trainer_model(trainer, out);
    pgcn_trainer_free(trainer);
    return status;
}

pgcn_status pgcn_train(const pgcn_dataset *data, const pgcn_config *config, pgcn_model **out) {
    return pgcn_train_with(data, config, NULL, out);
}
