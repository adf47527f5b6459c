/* The activations of every layer: inference that shows what it computes on the way.
 *
 * Networks say while they are recorded which values are the results of their layers (pgcn_i_tape_layer). Memory is
 * planned as for any inference, but that these values are there as a whole: each is shown when the loop that makes it
 * is done, before another takes its place. */
#include "train/train.h"

typedef struct watch {
    pgcn_i_session *session;
    int draw;
    bool (*see)(void *context, const pgcn_layer *layer);
    void *context;
    bool
        stopped; /* by the caller; otherwise a pass that ended early met a number that is not finite */
} watch;

static bool show(void *context, const pgcn_i_op *op) {
    watch *w = context;
    const pgcn_i_value *value = op->out;
    const pgcn_i_runner *runner = &w->session->runner;
    if (value->layer < 0) return true;
    if (!pgcn_i_is_finite(value)) return false;
    pgcn_layer layer = {.draw = w->draw,
                        .layer = value->layer,
                        .is_logits = value == runner->logits,
                        .of_graphs = value->space == PGCN_I_GRAPHS,
                        .rows = value->rows,
                        .channels = value->cols,
                        .item = pgcn_i_views_rows(&runner->views, value->space),
                        .value = value->data};
    w->stopped = !w->see(w->context, &layer);
    return !w->stopped;
}

static pgcn_status show_part(watch *w, pgcn_i_chosen chosen) {
    pgcn_i_session *s = w->session;
    pgcn_i_runner_put(&s->runner, chosen, &s->loss);
    pgcn_i_runner_draw(&s->runner, pgcn_i_session_draw(s, w->draw));
    if (pgcn_i_tape_watch(&s->runner.tape, show, w)) return PGCN_OK;
    if (w->stopped) return pgcn_i_fail(PGCN_ERR_STOPPED, "the caller wanted to see no more layers");
    return pgcn_i_fail_prediction(s->model, s->data, s->input, &s->runner.tape);
}

pgcn_status pgcn_model_layers(const pgcn_model *model, const pgcn_dataset *data,
                              const pgcn_inference *inference,
                              bool (*see)(void *context, const pgcn_layer *layer), void *context) {
    PGCN_I_NEED(model);
    PGCN_I_NEED(data);
    PGCN_I_NEED(see);
    pgcn_i_session s;
    pgcn_status status = pgcn_i_session_open_for(&s, model, data, inference,
                                                 (pgcn_i_session_purpose){.shows = true});
    if (status != PGCN_OK) return status;
    watch w = {.session = &s, .see = see, .context = context};
    int draws = s.inference.draws > 0 ? s.inference.draws : 1;
    pgcn_i_chosen chosen;
    for (; status == PGCN_OK && w.draw < draws; w.draw++)
        for (int64_t i = 0; status == PGCN_OK && pgcn_i_session_part(&s, i, &chosen); i++)
            status = show_part(&w, chosen);
    pgcn_i_session_close(&s);
    return status;
}
