/* Answers for single nodes: a model that is ready for questions about some nodes of a data set.
 *
 * Only the rows that these nodes need are computed (pgcn_i_part of nn): of the exact form those that T leads to step by
 * step, of draws those that walks visit. A row has the same bits as in the prediction of the whole graph: its lists have
 * the same entries in the same order, and products make every row by itself. What cannot be computed in parts (the full
 * kernel, flux along edges with a direction) is predicted as a whole, once for each question. Where hidden rows of known
 * nodes are kept (src/nn/hidden.c), only the rows that were asked for are computed. Called by programs and by
 * `predict --nodes`. */
#include "train/train.h"

#include <stdlib.h>
#include <string.h>

enum { GUEST_ENTRIES = PGCN_NEW_EDGES + PGCN_NEW_NODES }; /* with self-loops */

struct pgcn_predictor {
    pgcn_i_session session;
    pgcn_i_guests guests;
};

/* ---- making one ---------------------------------------------------------------------------------- */

pgcn_status pgcn_predictor_new(const pgcn_model *model, const pgcn_dataset *data,
                               const pgcn_inference *inference, pgcn_predictor **out) {
    PGCN_I_NEED(model);
    PGCN_I_NEED(data);
    PGCN_I_NEED(out);
    if (model->task == PGCN_TASK_GRAPH)
        return pgcn_i_fail(PGCN_ERR_MISMATCH,
                           "the model predicts a class for every graph, not for nodes; use "
                           "pgcn_model_predict()");
    pgcn_predictor *predictor = pgcn_i_alloc(1, sizeof *predictor);
    if (!predictor) return PGCN_ERR_MEMORY;
    pgcn_status status = pgcn_i_session_open_for(
        &predictor->session, model, data, inference,
        (pgcn_i_session_purpose){
            .most = PGCN_I_BLOCK, .guests = PGCN_NEW_NODES, .guest_edges = GUEST_ENTRIES});
    if (status != PGCN_OK) { /* the session is closed */
        pgcn_i_free(predictor);
        return status;
    }
    status = pgcn_i_guests_init(&predictor->guests, &predictor->session.arena, PGCN_NEW_NODES,
                                GUEST_ENTRIES);
    if (status != PGCN_OK) {
        pgcn_predictor_free(predictor);
        return status;
    }
    *out = predictor;
    return PGCN_OK;
}

void pgcn_predictor_free(pgcn_predictor *predictor) {
    if (!predictor) return;
    pgcn_i_session_close(&predictor->session);
    pgcn_i_free(predictor);
}

/* ---- keeping hidden rows ------------------------------------------------------------------------- */

pgcn_status pgcn_predictor_keep_hidden(pgcn_predictor *predictor) {
    PGCN_I_NEED(predictor);
    pgcn_i_session *s = &predictor->session;
    if (s->hidden.value) return PGCN_OK;
    PGCN_TRY(pgcn_i_need_features(s->data, "keeping hidden rows"));
    if (s->inference.draws > 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "hidden rows are kept for deterministic inference: %d draws have other "
                           "rows each",
                           s->inference.draws);
    if (!s->runner.views.nodes)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "hidden rows of model %s cannot be kept: the network is not computed in "
                           "parts of a graph",
                           pgcn_i_network_of(&s->config)->name);
    return pgcn_i_session_keep(s);
}

int64_t pgcn_predictor_hidden_bytes(pgcn_predictor *predictor) {
    if (!predictor || !predictor->session.runner.views.nodes) return 0;
    if (predictor->session.inference.draws > 0 || predictor->session.data->x.file) return 0;
    return pgcn_i_session_hidden_bytes(&predictor->session);
}

int64_t pgcn_predictor_bytes(const pgcn_predictor *predictor) {
    if (!predictor) return 0;
    const pgcn_i_session *s = &predictor->session;
    int64_t bytes = (int64_t)sizeof *predictor + s->arena.bytes + s->input->arena.bytes +
                    pgcn_i_spatial_bytes(&s->spatial) + s->loss.arena.bytes + s->hidden.arena.bytes;
    if (!s->runner.views.nodes) return bytes + s->runner.tape.arena.bytes;
    return bytes + pgcn_i_nodes_touched(s->runner.views.nodes) +
           pgcn_i_tape_touched(&s->runner.tape, 0);
}

/* ---- asking -------------------------------------------------------------------------------------- */

static int compare_nodes(const void *a, const void *b) {
    pgcn_node x = *(const pgcn_node *)a, y = *(const pgcn_node *)b;
    return (x > y) - (x < y);
}

/* The nodes asked for, ascending and each once, with what is predicted for them. */
typedef struct question {
    pgcn_i_arena arena;
    int64_t count;
    pgcn_node *node;
    double *sum, *squares; /* [count, classes] */
} question;

static pgcn_status question_init(question *q, const pgcn_i_session *s, const pgcn_node *node,
                                 int64_t count) {
    int classes = s->model->classes;
    *q = (question){.count = 0};
    q->node = PGCN_I_ARRAY(&q->arena, pgcn_node, count);
    if (!q->node) return PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) {
        if (node[i] < 0 || node[i] >= s->data->graph->n)
            return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                               "number %lld of the nodes to predict is %d, but data set %s has "
                               "nodes 0 to %lld",
                               (long long)i, node[i], s->data->name,
                               (long long)s->data->graph->n - 1);
        q->node[i] = node[i];
    }
    qsort(q->node, (size_t)count, sizeof *q->node, compare_nodes);
    for (int64_t i = 0; i < count; i++)
        if (i == 0 || q->node[i] != q->node[q->count - 1]) q->node[q->count++] = q->node[i];
    q->sum = PGCN_I_ARRAY(&q->arena, double, q->count *classes);
    q->squares = PGCN_I_ARRAY(&q->arena, double, q->count *classes);
    return q->sum && q->squares ? PGCN_OK : PGCN_ERR_MEMORY;
}

/* Adds the probabilities of one draw to the sums of the rows. */
static void add_draw(void *context, const pgcn_i_session *s, int64_t first, pgcn_i_chosen chosen,
                     int draw) {
    (void)draw;
    const question *q = context;
    int64_t classes = s->model->classes, at = first * classes;
    for (int64_t i = 0; i < chosen.count * classes; i++) {
        double p = (double)s->loss.probability[i];
        q->sum[at + i] += p;
        q->squares[at + i] += p * p;
    }
}

static pgcn_status ask_as_a_whole(pgcn_i_session *s, question *q, int draws) {
    int classes = s->model->classes;
    pgcn_i_draws d;
    pgcn_status status = pgcn_i_draws_init(&d, s);
    for (int draw = 0; status == PGCN_OK && draw < draws; draw++)
        status = pgcn_i_draws_add(&d, s, draw);
    for (int64_t i = 0; status == PGCN_OK && i < q->count; i++)
        for (int c = 0; c < classes; c++) {
            q->sum[i * classes + c] = d.sum[q->node[i] * classes + c];
            if (d.squares) q->squares[i * classes + c] = d.squares[q->node[i] * classes + c];
        }
    pgcn_i_arena_free(&d.arena);
    return status;
}

static void answer(const question *q, const pgcn_node *node, int64_t count, int classes, int draws,
                   float *probability, float *deviation) {
    for (int64_t i = 0; i < count; i++) {
        const pgcn_node *found =
            bsearch(&node[i], q->node, (size_t)q->count, sizeof *q->node, compare_nodes);
        int64_t row = (found - q->node) * classes;
        for (int c = 0; c < classes; c++) {
            double sum = q->sum[row + c], squares = q->squares[row + c];
            probability[i * classes + c] = (float)(sum / draws);
            if (deviation)
                deviation[i * classes + c] = (float)pgcn_i_deviation_of(sum, squares, draws);
        }
    }
}

pgcn_status pgcn_predictor_nodes(pgcn_predictor *predictor, const pgcn_node *node, int64_t count,
                                 float *probability, float *deviation) {
    PGCN_I_NEED(predictor);
    PGCN_I_NEED(node);
    PGCN_I_NEED(probability);
    pgcn_i_session *s = &predictor->session;
    int draws = s->inference.draws > 0 ? s->inference.draws : 1;
    question q;
    if (count < 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%lld nodes to predict are not a number of nodes",
                           (long long)count);
    pgcn_status status = question_init(&q, s, node, count);
    if (status == PGCN_OK)
        status = s->runner.views.nodes ? pgcn_i_session_ask(s, q.node, q.count, add_draw, &q)
                                       : ask_as_a_whole(s, &q, draws);
    if (status == PGCN_OK)
        answer(&q, node, count, s->model->classes, draws, probability, deviation);
    pgcn_i_arena_free(&q.arena);
    return status;
}

/* ---- new nodes ----------------------------------------------------------------------------------- */

static const char *why_no_guests(const pgcn_i_session *s) {
    bool weighs = s->config.walk == PGCN_WALK_WEIGHTED && s->data->graph->weight;
    if (!s->runner.views.nodes) return "the network is not computed in parts of a graph";
    if (pgcn_i_network_powers(&s->config) > 0)
        return "the network reads features times powers of T, of the whole graph";
    if (s->data->x.file) return "its features stay on disk";
    if (s->config.walk == PGCN_WALK_NODE2VEC) return "its walks know the node before";
    if (weighs) return "its walks go by edge weights";
    if (s->data->from.graph_of) return "the data is a set of graphs";
    return NULL;
}

static pgcn_status check_guests(const pgcn_i_session *s, const pgcn_new_nodes *given) {
    const char *why = why_no_guests(s);
    if (why)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "model %s cannot be asked about nodes that are not in the data: %s; add "
                           "them to the data",
                           pgcn_i_network_of(&s->config)->name, why);
    if (given->count < 0 || given->count > PGCN_NEW_NODES)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "%lld new nodes at a time, expected 0 to %d",
                           (long long)given->count, PGCN_NEW_NODES);
    if (!given->offset || !given->neighbour || !given->feature)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "new nodes need offset, neighbour and feature, and one of them is NULL");
    for (int64_t i = 0; i < given->count; i++)
        if (given->offset[0] != 0 || given->offset[i + 1] < given->offset[i] ||
            given->offset[i + 1] > PGCN_NEW_EDGES)
            return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                               "offset of new nodes does not ascend from 0 to at most %d at "
                               "number %lld",
                               PGCN_NEW_EDGES, (long long)i);
    return PGCN_OK;
}

static pgcn_status ask_guests(pgcn_predictor *predictor, int64_t count, float *probability,
                              float *deviation) {
    pgcn_i_session *s = &predictor->session;
    int classes = s->model->classes, draws = s->inference.draws > 0 ? s->inference.draws : 1;
    pgcn_node node[PGCN_NEW_NODES];
    question q = {.count = count, .node = node};
    q.sum = PGCN_I_ARRAY(&q.arena, double, count *classes);
    q.squares = PGCN_I_ARRAY(&q.arena, double, count *classes);
    pgcn_status status = q.sum && q.squares ? PGCN_OK : PGCN_ERR_MEMORY;
    for (int64_t i = 0; i < count; i++) node[i] = (pgcn_node)(s->data->graph->n + i);
    if (status == PGCN_OK) status = pgcn_i_session_ask(s, node, count, add_draw, &q);
    for (int64_t i = 0; status == PGCN_OK && i < count * classes; i++) {
        probability[i] = (float)(q.sum[i] / draws);
        if (deviation) deviation[i] = (float)pgcn_i_deviation_of(q.sum[i], q.squares[i], draws);
    }
    pgcn_i_arena_free(&q.arena);
    return status;
}

pgcn_status pgcn_predictor_new_nodes(pgcn_predictor *predictor, const pgcn_new_nodes *nodes,
                                     float *probability, float *deviation) {
    PGCN_I_NEED(predictor);
    PGCN_I_NEED(nodes);
    PGCN_I_NEED(probability);
    pgcn_i_session *s = &predictor->session;
    pgcn_i_input *features = NULL;
    PGCN_TRY(check_guests(s, nodes));
    if (nodes->count == 0) return PGCN_OK;
    PGCN_TRY(pgcn_i_guests_fill(&predictor->guests, nodes, &s->spatial, &s->config));
    PGCN_TRY(pgcn_i_guests_input(nodes, s->input, s->config.normalise,
                                 pgcn_i_network_standard(&s->params), &features));
    pgcn_i_nodes_invite(s->runner.views.nodes, &predictor->guests, features);
    pgcn_status status = ask_guests(predictor, nodes->count, probability, deviation);
    pgcn_i_nodes_invite(s->runner.views.nodes, NULL, NULL);
    pgcn_i_input_free(features);
    return status;
}

pgcn_status pgcn_model_predict_nodes(const pgcn_model *model, const pgcn_dataset *data,
                                     const pgcn_node *node, int64_t count,
                                     const pgcn_inference *inference, float *probability,
                                     float *deviation) {
    PGCN_I_NEED(node);
    PGCN_I_NEED(probability);
    pgcn_predictor *predictor;
    PGCN_TRY(pgcn_predictor_new(model, data, inference, &predictor));
    pgcn_status status = pgcn_predictor_nodes(predictor, node, count, probability, deviation);
    pgcn_predictor_free(predictor);
    return status;
}

int64_t pgcn_predictor_rows(const pgcn_predictor *predictor) {
    if (!predictor || !predictor->session.runner.views.nodes) return 0;
    const pgcn_i_part *part = predictor->session.runner.views.view.part;
    return part->rows[PGCN_I_NODES][part->levels];
}
