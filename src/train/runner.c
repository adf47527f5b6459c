/* The runner: a network on a view. Training, evaluation and inference all run networks through here.
 *
 * Opening allocates everything for the largest view; putting the network on another one, and running it,
 * allocates nothing. Called by trainer.c and inference.c. */
#include "train/train.h"

#include <string.h>

enum {
    NARROW = 32,
    LEAST = 4,
    ARRAYS = 3, /* that channels are packed into, side by side */
    SHARE = 2   /* of the bound that they may take */
};

int64_t pgcn_i_runner_packed_bytes(int64_t rows) {
    return ARRAYS * LEAST * (int64_t)sizeof(float) * rows;
}

/* Channels that exact forms take at a time. In files: so few that what is gathered from stays in memory. */
static int64_t narrow_width(const pgcn_i_runner_opts *opts, int64_t rows) {
    int64_t fit = opts->in_files / (SHARE * ARRAYS * (int64_t)sizeof(float) * rows) / LEAST * LEAST;
    if (opts->in_files == 0) return pgcn_i_rows_are_far(rows, opts->config->channels) ? NARROW : 0;
    return fit < LEAST ? LEAST : fit < NARROW ? fit : NARROW;
}

/* Hidden rows are kept in bf16 for the sake of path convolutions that gather them. */
static bool keeps_bf16(const pgcn_config *config) {
    return config->hidden_rows == PGCN_ROWS_BF16 && config->train_form == PGCN_FORM_SAMPLED &&
           config->path_length > 1 && config->kernel != PGCN_KERNEL_FULL;
}

/* Of several ranks, if all operations allow it: each has lists of its own nodes. */
static pgcn_status divide(pgcn_i_runner *runner) {
    pgcn_i_tape *tape = &runner->tape;
    const pgcn_i_division *division;
    if (runner->views.nodes && tape->with_grad && pgcn_i_share_divides(tape))
        return pgcn_i_nodes_divide(runner->views.nodes, pgcn_i_comm_world(), tape->groups);
    if (!pgcn_i_views_whole(&runner->views) || !pgcn_i_share_divides(tape)) return PGCN_OK;
    PGCN_TRY(pgcn_i_share_division(tape, runner->views.view.rows[PGCN_I_NODES], &division));
    PGCN_TRY(pgcn_i_views_divide(&runner->views, runner->pool, division));
    tape->divided = true;
    return PGCN_OK;
}

/* Each rank takes some of the chosen nodes, and runs the network as if it were alone. */
static pgcn_status take(pgcn_i_runner *runner, const pgcn_i_runner_opts *opts) {
    runner->takers = opts->takers;
    runner->own_logits = runner->logits;
    runner->all_logits = (pgcn_i_value){.rows = opts->views.nodes, .cols = runner->logits->cols};
    runner->all_logits.data =
        PGCN_I_ARRAY(&runner->tape.arena, float, opts->views.nodes * runner->logits->cols);
    runner->logits = &runner->all_logits;
    pgcn_i_nodes_take(runner->views.nodes, opts->takers);
    return runner->logits->data ? PGCN_OK : PGCN_ERR_MEMORY;
}

pgcn_status pgcn_i_runner_open(pgcn_i_runner *runner, const pgcn_i_runner_opts *opts) {
    const pgcn_config *config = opts->config;
    pgcn_i_tape *tape = &runner->tape;
    *runner = (pgcn_i_runner){.pool = opts->pool, .several = opts->several};
    if (opts->share && opts->views.training && keeps_bf16(config))
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "hidden-rows is bf16, but several ranks share rows as floats; train in "
                           "one process, or leave it out");
    PGCN_TRY(pgcn_i_views_open(&runner->views, &opts->views));
    PGCN_TRY(pgcn_i_tape_init(tape, opts->pool, opts->params,
                              pgcn_i_network_ops(config, opts->params), opts->views.training));
    tape->seed = config->seed;
    tape->part = runner->views.view.part;
    tape->hidden = opts->hidden;
    tape->samples = runner->views.view.samples;
    tape->groups = runner->views.view.groups;
    tape->recompute = opts->views.training && config->recompute;
    tape->half = opts->views.training && keeps_bf16(config);
    tape->gather_bf16 = opts->views.training && config->bf16 && !tape->half;
    tape->closes = opts->views.training && (config->samples < 2 || config->consistency <= 0);
    if (!opts->views.training && !tape->part && !opts->share)
        tape->narrow = narrow_width(opts, runner->views.view.rows[PGCN_I_NODES]);
    tape->packs = opts->in_files > 0;
    tape->explains = opts->explains;
    tape->share = opts->share;
    if (tape->share) tape->arena.read_at_random = false; /* until rows are side by side */
    tape->shows = opts->shows;
    runner->logits = pgcn_i_network_record(tape, config, &runner->views.view);
    PGCN_TRY(pgcn_i_tape_plan(tape));
    if (opts->takers) return take(runner, opts);
    return tape->share ? divide(runner) : PGCN_OK;
}

pgcn_status pgcn_i_runner_allocate(pgcn_i_runner *runner, pgcn_i_runner *other) {
    int64_t floats = runner->tape.work_floats;
    if (other && other->tape.work_floats > floats) floats = other->tape.work_floats;
    /* where rows of others are scattered, huge pages would hold what no rank needs */
    if (runner->tape.share)
        runner->tape.arena.read_at_random = runner->tape.divided && (!other || other->tape.divided);
    float *work = PGCN_I_ARRAY(&runner->tape.arena, float, floats);
    if (!work) return PGCN_ERR_MEMORY;
    pgcn_i_tape_place(&runner->tape, work);
    /* nobody needs values while paths are drawn */
    for (int l = 0; l < runner->views.samplers && !runner->tape.share; l++)
        pgcn_i_visits_borrow(runner->views.visits[l], work, floats);
    if (other) pgcn_i_tape_place(&other->tape, work);
    return PGCN_OK;
}

void pgcn_i_runner_close(pgcn_i_runner *runner) {
    pgcn_i_tape_free(&runner->tape);
    pgcn_i_views_close(&runner->views);
}

/* Whether every view, and every draw, has the same lists: those of the exact transition. */
static bool is_fixed(const pgcn_i_views *views) {
    return views->samplers == 0 && pgcn_i_views_whole(views);
}

void pgcn_i_runner_put(pgcn_i_runner *runner, pgcn_i_chosen chosen, pgcn_i_loss *loss) {
    const pgcn_node *number;
    pgcn_i_views_choose(&runner->views, chosen.item, chosen.count);
    if (!is_fixed(&runner->views)) pgcn_i_share_renew(runner->tape.share);
    if (runner->views.batch) pgcn_i_tape_resize(&runner->tape, &runner->views.view);
    pgcn_i_loss_resize(loss, pgcn_i_views_items(&runner->views, &number));
}

void pgcn_i_runner_draw(pgcn_i_runner *runner, pgcn_i_path_draw draw) {
    pgcn_i_views_draw(&runner->views, runner->pool, draw);
    if (!is_fixed(&runner->views)) pgcn_i_share_renew(runner->tape.share);
    if (runner->views.nodes) pgcn_i_tape_resize(&runner->tape, &runner->views.view);
}

void pgcn_i_runner_forward(pgcn_i_runner *runner, pgcn_i_path_draw draw) {
    pgcn_i_runner_draw(runner, draw);
    pgcn_i_tape_forward(&runner->tape);
}

/* Those of a rank follow each other, and those of the ranks too. */
static void collect_taken(pgcn_i_runner *runner) {
    pgcn_i_comm *comm = runner->takers;
    pgcn_i_value *all = runner->logits;
    const pgcn_node *number;
    int64_t *first = pgcn_i_alloc(comm->size + 1, sizeof *first);
    if (!first) pgcn_i_comm_fail(comm, PGCN_ERR_MEMORY);
    all->rows = pgcn_i_views_items(&runner->views, &number);
    const int64_t bytes = all->cols * (int64_t)sizeof *all->data;
    for (int r = 0; first && r <= comm->size; r++)
        first[r] = pgcn_i_first_taken(all->rows, r, comm->size) * bytes;
    if (first) {
        memcpy((char *)all->data + first[comm->rank], runner->own_logits->data,
               (size_t)(first[comm->rank + 1] - first[comm->rank]));
        pgcn_i_comm_gather(comm, all->data, first);
    }
    pgcn_i_free(first);
}

void pgcn_i_runner_collect(pgcn_i_runner *runner) {
    if (runner->takers)
        collect_taken(runner);
    else
        pgcn_i_share_whole(&runner->tape, runner->logits);
}

void pgcn_i_runner_probabilities(pgcn_i_runner *runner, pgcn_i_loss *loss) {
    if (runner->several)
        pgcn_i_sigmoid_run(loss, &runner->tape, runner->logits);
    else
        pgcn_i_softmax_run(loss, &runner->tape, runner->logits);
}
