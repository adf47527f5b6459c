/* Trainings of several ranks. Rank 0 is the program that the user sees: it decides everything, prints and writes. The
 * others follow its orders, one for each call of the public functions of a trainer that computes: a trainer is made, an
 * epoch is run, the best weights are scored. Inside such a call all ranks run the same code on their own rows (share.c
 * of nn), and so come to the same numbers.
 *
 * Every rank has read the data set by itself; its fingerprint must be that of rank 0. A data set that rank 0 makes of it
 * by steps, as a race does, is made by the others too. Called by trainer.c, and by the command line. */
#include "train/cluster.h"

#include <stdio.h>
#include <string.h>

typedef enum order_kind {
    ORDER_NEW,
    ORDER_FREE,
    ORDER_EPOCH,
    ORDER_SCORES,
    ORDER_STATE,
    ORDER_TRAFFIC,
    ORDER_INFER,
    ORDER_LEAVE
} order_kind;

typedef struct order {
    int64_t kind, trainer, bytes;
} order;

/* The data that everybody has. */
typedef struct data_id {
    char version[16];
    char fingerprint[65];
    char steps[PGCN_I_STEPS_TEXT];
    int64_t groups;
} data_id;

/* What a trainer is made of, */
typedef struct new_trainer {
    data_id data;
    pgcn_config config;
} new_trainer;
/* and a prediction; the model follows as bytes. */
typedef struct new_session {
    data_id data;
    pgcn_inference inference;
} new_session;

static pgcn_i_comm *ranks(void) {
    return pgcn_i_comm_world();
}

/* ---- orders --------------------------------------------------------------------------------------- */

static void send_order(order_kind kind, int64_t trainer, int64_t bytes) {
    order o = {kind, trainer, bytes};
    pgcn_i_comm_broadcast(ranks(), &o, sizeof o, 0);
}

static bool leads(const pgcn_i_cluster *cluster) {
    return cluster->trainer >= 0 && ranks()->rank == 0;
}

pgcn_status pgcn_i_cluster_agree(pgcn_status status) {
    enum { SENTENCE = 1024 };
    pgcn_i_comm *comm = ranks();
    char sentence[SENTENCE + PGCN_I_HOST_BYTES + 64] = "";
    if (pgcn_i_comm_alone(comm)) return status;
    int64_t *all = pgcn_i_alloc(2 * (int64_t)comm->size, sizeof *all);
    if (!all) {
        pgcn_i_comm_fail(comm, PGCN_ERR_MEMORY);
        return PGCN_ERR_MEMORY;
    }
    for (int r = 0; r < comm->size; r++) all[r] = status;
    pgcn_i_comm_swap(comm, all, all + comm->size);
    int first = 0;
    while (first < comm->size && all[comm->size + first] == PGCN_OK) first++;
    pgcn_status found = first < comm->size ? (pgcn_status)all[comm->size + first] : PGCN_OK;
    pgcn_i_free(all);
    if (pgcn_i_comm_status(comm) != PGCN_OK) return pgcn_i_comm_status(comm);
    if (found == PGCN_OK) return PGCN_OK;
    if (first == comm->rank)
        snprintf(sentence, sizeof sentence, "%.*s", SENTENCE, pgcn_last_error());
    if (first == comm->rank && first > 0)
        snprintf(sentence, sizeof sentence, "rank %d on %s: %.*s", first, comm->host, SENTENCE,
                 pgcn_last_error());
    pgcn_i_comm_broadcast(comm, sentence, sizeof sentence, first);
    return pgcn_i_fail(found, "%s", sentence);
}

bool pgcn_i_cluster_ask(const pgcn_i_cluster *cluster, bool answer) {
    if (!cluster->shared) return answer;
    uint8_t byte = answer;
    pgcn_i_comm_broadcast(ranks(), &byte, sizeof byte, 0);
    return byte != 0;
}

pgcn_status pgcn_i_cluster_status(const pgcn_i_cluster *cluster) {
    return cluster->shared ? pgcn_i_comm_status(ranks()) : PGCN_OK;
}

/* ---- features of all --------------------------------------------------------------------------------- */

void pgcn_i_cluster_largest(pgcn_i_input *input) {
    pgcn_i_comm *comm = ranks();
    struct {
        double largest;
        int64_t column;
    } mine, theirs;
    if (pgcn_i_comm_alone(comm))
        return; /* a rank that has all rows tells the others, which have none */
    mine.largest = pgcn_i_input_largest(input, &mine.column);
    for (int r = 0; r < comm->size; r++) {
        theirs = mine;
        pgcn_i_comm_broadcast(comm, &theirs, sizeof theirs, r);
        if (theirs.largest <= input->largest_elsewhere) continue;
        input->largest_elsewhere = theirs.largest;
        input->largest_column = theirs.column;
    }
}

/* ---- probabilities of all -------------------------------------------------------------------------- */

/* Some rows at a time, rank by rank, and so in the order of the items. */
void pgcn_i_cluster_tally(pgcn_i_tally *tally, const pgcn_i_loss *loss,
                          const pgcn_i_target *target) {
    enum { SOME = 4096 };
    pgcn_i_comm *comm = ranks();
    const pgcn_i_blocks groups = pgcn_i_groups_of(loss->n, loss->groups);
    const int64_t c = loss->classes;
    float *some = pgcn_i_alloc(SOME * c, sizeof *some);
    if (!some) pgcn_i_comm_fail(comm, PGCN_ERR_MEMORY);
    for (int r = 0; r < comm->size && some; r++) {
        const pgcn_i_range own =
            pgcn_i_groups_share(groups, &(pgcn_i_comm){.rank = r, .size = comm->size});
        for (int64_t row = own.begin; row < own.end; row += SOME) {
            int64_t rows = own.end - row < SOME ? own.end - row : SOME;
            float *from = r == comm->rank ? loss->probability + row * c : some;
            pgcn_i_target these = *target;
            these.mask += row;
            if (these.label) these.label += row;
            if (these.labels) these.labels += row * c;
            pgcn_i_comm_broadcast(comm, from, rows * c * (int64_t)sizeof *from, r);
            if (pgcn_i_comm_status(comm) == PGCN_OK)
                pgcn_i_tally_add_masked(tally, from, &these, rows);
        }
    }
    pgcn_i_free(some);
}

/* ---- rank 0 ---------------------------------------------------------------------------------------- */

static data_id id_of(const pgcn_dataset *data) {
    data_id id = {.version = PGCN_VERSION, .groups = pgcn_i_source_groups(&data->from)};
    memcpy(id.fingerprint, data->fingerprint, sizeof id.fingerprint);
    memcpy(id.steps, data->steps, sizeof id.steps);
    return id;
}

void pgcn_i_cluster_new(pgcn_i_cluster *cluster, const pgcn_dataset *data,
                        const pgcn_config *config) {
    static int64_t made;
    pgcn_i_comm *comm = ranks();
    cluster->trainer = -1;
    cluster->shared = !pgcn_i_comm_alone(comm);
    if (!cluster->shared || comm->rank > 0) return;
    cluster->trainer = made++;
    new_trainer of = {id_of(data), *config};
    send_order(ORDER_NEW, cluster->trainer, sizeof of);
    pgcn_i_comm_broadcast(comm, &of, sizeof of, 0);
}

void pgcn_i_cluster_free(const pgcn_i_cluster *cluster) {
    if (leads(cluster)) send_order(ORDER_FREE, cluster->trainer, 0);
}
void pgcn_i_cluster_epoch(const pgcn_i_cluster *cluster) {
    if (leads(cluster)) send_order(ORDER_EPOCH, cluster->trainer, 0);
}
void pgcn_i_cluster_scores(const pgcn_i_cluster *cluster) {
    if (leads(cluster)) send_order(ORDER_SCORES, cluster->trainer, 0);
}

bool pgcn_i_cluster_infer(const pgcn_model *model, const pgcn_dataset *data,
                          const pgcn_inference *inference) {
    pgcn_i_comm *comm = ranks();
    void *bytes;
    size_t size;
    new_session of = {id_of(data), pgcn_inference_default()};
    if (pgcn_i_comm_alone(comm) || comm->rank > 0) return false;
    if (pgcn_i_opts_over(&of.inference, sizeof of.inference, inference, "") != PGCN_OK ||
        pgcn_model_to_bytes(model, &bytes, &size) != PGCN_OK)
        return false; /* alone it finds the same, and says so */
    send_order(ORDER_INFER, -1, (int64_t)size);
    pgcn_i_comm_broadcast(comm, &of, sizeof of, 0);
    pgcn_i_comm_broadcast(comm, bytes, (int64_t)size, 0);
    pgcn_bytes_free(bytes);
    return true;
}

/* Weights, moments and progress, which a resume has changed on rank 0. */
static void broadcast_state(pgcn_trainer *trainer) {
    pgcn_i_comm *comm = ranks();
    const pgcn_i_params *params = &trainer->params;
    float *const block[] = {params->value, params->best, params->m, params->v};
    pgcn_epoch *history = trainer->progress.history;
    for (size_t i = 0; i < sizeof block / sizeof *block; i++)
        pgcn_i_comm_broadcast(comm, block[i], params->total * (int64_t)sizeof(float), 0);
    pgcn_i_comm_broadcast(comm, &trainer->progress, sizeof trainer->progress, 0);
    trainer->progress.history = history;
    pgcn_i_comm_broadcast(comm, history, trainer->progress.epochs * (int64_t)sizeof *history, 0);
    pgcn_i_comm_broadcast(comm, &trainer->underway, sizeof trainer->underway, 0);
    trainer->underway.evaluation.tally = NULL; /* an address of rank 0; evaluate() sets it */
    trainer->broken = NULL;
}

void pgcn_i_cluster_state(pgcn_trainer *trainer) {
    if (!leads(&trainer->cluster)) return;
    send_order(ORDER_STATE, trainer->cluster.trainer, 0);
    broadcast_state(trainer);
}

/* ---- what was sent ------------------------------------------------------------------------------------ */

void pgcn_i_cluster_step_begin(pgcn_i_cluster *cluster) {
    cluster->received_before = ranks()->received;
    cluster->rounds_before = ranks()->rounds;
    cluster->waited_before = ranks()->waited;
}
void pgcn_i_cluster_step_end(pgcn_i_cluster *cluster) {
    const pgcn_i_rounds *now = &ranks()->rounds, *before = &cluster->rounds_before;
    cluster->received += ranks()->received - cluster->received_before;
    cluster->rounds.exchanges += now->exchanges - before->exchanges;
    cluster->rounds.relays += now->relays - before->relays;
    cluster->rounds.relayed += now->relayed - before->relayed;
    cluster->waited += ranks()->waited - cluster->waited_before;
    cluster->steps++;
}

static void add_views(const pgcn_i_views *views, pgcn_rank_memory *m) {
    m->structure += pgcn_i_arena_resident(&views->arena);
    for (int l = 0; l < views->samplers; l++) {
        int64_t numbers;
        m->walks += pgcn_i_visits_resident(views->visits[l], &numbers);
        m->structure += numbers;
    }
    if (!views->nodes) return;
    m->walks += pgcn_i_nodes_resident(views->nodes);
    m->features += pgcn_i_nodes_features_resident(views->nodes);
}

/* Both tapes have one memory for values. */
static pgcn_rank_memory own_memory(const pgcn_trainer *trainer, int64_t in_use) {
    const pgcn_i_tape *tapes[] = {&trainer->train.tape, &trainer->eval.tape};
    const pgcn_i_spatial *spatial = &trainer->spatial;
    pgcn_rank_memory m = {.structure = pgcn_i_arena_resident(&spatial->arena) +
                                       pgcn_i_arena_resident(&spatial->walker.arena),
                          .features = pgcn_i_arena_resident(&trainer->input->arena),
                          .weights = pgcn_i_arena_resident(&trainer->params.arena)};
    add_views(&trainer->train.views, &m);
    add_views(&trainer->eval.views, &m);
    m.others = pgcn_i_share_resident(tapes);
    for (int i = 0; i < 2; i++) {
        m.rows += pgcn_i_arena_resident(&tapes[i]->arena);
        m.messages += pgcn_i_share_messages(trainer->share[i]);
    }
    m.rows += pgcn_i_arena_resident(&trainer->loss.arena) - m.others;
    m.rest =
        in_use - m.structure - m.features - m.walks - m.rows - m.others - m.messages - m.weights;
    return m;
}

static void gather_traffic(const pgcn_trainer *trainer, pgcn_traffic *out) {
    pgcn_i_comm *comm = ranks();
    const pgcn_i_cluster *cluster = &trainer->cluster;
    int64_t steps = cluster->steps > 0 ? cluster->steps : 1;
    int64_t in_use = pgcn_memory_in_use().anonymous;
    const pgcn_rank_memory m = own_memory(trainer, in_use);
    pgcn_rank_memory *kinds = &out->kinds;
    int64_t mine[] = {pgcn_i_share_fetched(trainer->share[0]) / steps,
                      cluster->received / steps,
                      in_use,
                      m.structure,
                      m.features,
                      m.walks,
                      m.rows,
                      m.others,
                      m.messages,
                      m.weights,
                      m.rest};
    int64_t *const to[] = {&out->rows_step,  &out->bytes_step, &out->memory, &kinds->structure,
                           &kinds->features, &kinds->walks,    &kinds->rows, &kinds->others,
                           &kinds->messages, &kinds->weights,  &kinds->rest};
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++) {
        int64_t *all = pgcn_i_alloc(2 * (int64_t)comm->size, sizeof *all);
        int64_t most = mine[i];
        for (int r = 0; all && r < comm->size; r++) all[r] = mine[i];
        if (all) pgcn_i_comm_swap(comm, all, all + comm->size);
        for (int r = 0; all && r < comm->size; r++)
            if (all[comm->size + r] > most) most = all[comm->size + r];
        if (!all) pgcn_i_comm_fail(comm, PGCN_ERR_MEMORY);
        pgcn_i_free(all);
        *to[i] = most;
    }
    out->ranks = comm->size;
    out->steps = cluster->steps;
}

pgcn_status pgcn_trainer_traffic(const pgcn_trainer *trainer, pgcn_traffic *out) {
    PGCN_I_NEED(trainer);
    PGCN_I_NEED(out);
    *out = (pgcn_traffic){.ranks = 1};
    if (!leads(&trainer->cluster)) return PGCN_OK;
    send_order(ORDER_TRAFFIC, trainer->cluster.trainer, 0);
    gather_traffic(trainer, out);
    const pgcn_i_cluster *cluster = &trainer->cluster;
    int64_t steps = cluster->steps > 0 ? cluster->steps : 1;
    out->exchanges_step = cluster->rounds.exchanges / steps;
    out->sums_step = cluster->rounds.relays / steps;
    out->sums_bytes_step = cluster->rounds.relayed / steps;
    out->waited_step_ms = 1e3 * cluster->waited / (double)steps;
    return pgcn_i_comm_status(ranks());
}

/* ---- the others ---------------------------------------------------------------------------------------- */

enum { MOST_TRAINERS = 64 };
typedef struct follower {
    const pgcn_dataset *data; /* as it was read; NULL: it could not be */
    pgcn_status loaded;
    char why[1024];
    pgcn_dataset *made; /* of it, by steps; NULL: none yet */
    pgcn_trainer *trainer[MOST_TRAINERS];
    int64_t number[MOST_TRAINERS];
} follower;

static pgcn_trainer **find(follower *f, int64_t number) {
    for (int i = 0; i < MOST_TRAINERS; i++)
        if (f->trainer[i] && f->number[i] == number) return &f->trainer[i];
    return NULL;
}

static pgcn_status fail_other_data(const data_id *of, const pgcn_dataset *data) {
    return pgcn_i_fail(
        PGCN_ERR_MISMATCH,
        "it has read other data under the name %s: fingerprint %.12s, expected %.12s "
        "of rank 0; give all hosts the same files",
        data->name, data->fingerprint, of->fingerprint);
}

/* The rest of `steps` after those that the data has; NULL: it is not made of this data. */
static const char *steps_after(const char *steps, const char *have) {
    size_t length = strlen(have);
    if (length == 0) return steps;
    if (strncmp(steps, have, length) != 0) return NULL;
    return steps[length] == ',' ? steps + length + 1 : steps[length] ? NULL : "";
}

static bool is_data(const data_id *of, const pgcn_dataset *data) {
    return data && strcmp(of->fingerprint, data->fingerprint) == 0 &&
           of->groups == pgcn_i_source_groups(&data->from);
}

/* The data set of rank 0, which may be made of the one that was read. */
static pgcn_status find_data(follower *f, const data_id *of, const pgcn_dataset **out) {
    if (strcmp(of->version, PGCN_VERSION) != 0)
        return pgcn_i_fail(PGCN_ERR_MISMATCH, "it is pathgcn %s, and rank 0 is %.15s", PGCN_VERSION,
                           of->version);
    if (!f->data) return pgcn_i_fail(f->loaded, "%s", f->why);
    *out = f->data;
    if (is_data(of, f->data)) return PGCN_OK;
    const char *more = steps_after(of->steps, f->data->steps);
    if (!is_data(of, f->made) && more && *more) {
        bool used = false;
        for (int i = 0; i < MOST_TRAINERS; i++)
            used = used || (f->trainer[i] && f->trainer[i]->data == f->made);
        if (!used) pgcn_dataset_free(f->made);
        f->made = NULL;
        PGCN_TRY(pgcn_dataset_prepare(f->data, more, &f->made));
    }
    if (!is_data(of, f->made)) return fail_other_data(of, f->data);
    *out = f->made;
    return PGCN_OK;
}

static pgcn_status follow_new(follower *f, int64_t number) {
    new_trainer of;
    const pgcn_dataset *data = NULL;
    int place = 0;
    pgcn_i_comm_broadcast(ranks(), &of, sizeof of, 0);
    while (place < MOST_TRAINERS && f->trainer[place]) place++;
    if (pgcn_i_comm_status(ranks()) != PGCN_OK) return pgcn_i_comm_status(ranks());
    pgcn_status status = place < MOST_TRAINERS ? find_data(f, &of.data, &data)
                                               : pgcn_i_fail(PGCN_ERR_ARGUMENT,
                                                             "more than %d trainers at a time are "
                                                             "not shared between ranks",
                                                             MOST_TRAINERS);
    if (status == PGCN_OK) {
        f->number[place] = number;
        return pgcn_trainer_new(data, &of.config, &f->trainer[place]);
    }
    return pgcn_i_cluster_agree(status);
}

static pgcn_status follow_infer(follower *f, int64_t size) {
    new_session of;
    const pgcn_dataset *data = NULL;
    pgcn_model *model = NULL;
    void *bytes = pgcn_i_alloc(size, 1);
    if (!bytes) pgcn_i_comm_fail(ranks(), PGCN_ERR_MEMORY);
    pgcn_i_comm_broadcast(ranks(), &of, sizeof of, 0);
    pgcn_i_comm_broadcast(ranks(), bytes, size, 0);
    pgcn_status status = pgcn_i_comm_status(ranks());
    bool told = status == PGCN_OK;
    if (status == PGCN_OK) status = find_data(f, &of.data, &data);
    if (status == PGCN_OK) status = pgcn_model_from_bytes(bytes, (size_t)size, &model);
    pgcn_i_free(bytes);
    if (status == PGCN_OK)
        status = pgcn_i_session_serve(model, data, &of.inference);
    else if (told)
        status = pgcn_i_cluster_agree(status);
    pgcn_model_free(model);
    return status;
}

static void follow_free(follower *f, int64_t number) {
    pgcn_trainer **trainer = find(f, number);
    if (!trainer) return;
    pgcn_trainer_free(*trainer);
    *trainer = NULL;
}

/* What the order asks for; how that ended is known to rank 0, which runs the same. */
static void follow(follower *f, const order *o) {
    pgcn_trainer **trainer = find(f, o->trainer);
    pgcn_score val, test;
    pgcn_traffic traffic;
    if (o->kind == ORDER_NEW) follow_new(f, o->trainer);
    if (o->kind == ORDER_FREE) follow_free(f, o->trainer);
    if (o->kind == ORDER_INFER) follow_infer(f, o->bytes);
    if (!trainer) return;
    if (o->kind == ORDER_EPOCH) pgcn_trainer_epoch(*trainer, NULL);
    if (o->kind == ORDER_SCORES) pgcn_trainer_scores(*trainer, &val, &test);
    if (o->kind == ORDER_STATE) broadcast_state(*trainer);
    if (o->kind == ORDER_TRAFFIC) gather_traffic(*trainer, &traffic);
}

static bool any_trainer(const follower *f) {
    for (int i = 0; i < MOST_TRAINERS; i++)
        if (f->trainer[i]) return true;
    return false;
}

pgcn_status pgcn_ranks_serve(const pgcn_dataset *data, const char *why) {
    pgcn_i_comm *comm = ranks();
    if (comm->rank == 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT, "rank 0 leads the others and does not serve");
    follower f = {.data = data, .loaded = data ? PGCN_OK : PGCN_ERR_IO};
    if (!data) snprintf(f.why, sizeof f.why, "%s", why ? why : "it has no data set");
    order o = {0};
    double patience = comm->patience;
    while (pgcn_i_comm_status(comm) == PGCN_OK && o.kind != ORDER_LEAVE) {
        comm->patience = any_trainer(&f) ? PGCN_I_LEADER_TIMES * patience : 0;
        pgcn_i_comm_broadcast(comm, &o, sizeof o, 0);
        comm->patience = patience;
        if (pgcn_i_comm_status(comm) == PGCN_OK) follow(&f, &o);
    }
    for (int i = 0; i < MOST_TRAINERS; i++) pgcn_trainer_free(f.trainer[i]);
    pgcn_dataset_free(f.made);
    return pgcn_i_comm_status(comm);
}

/* ---- joining and leaving ----------------------------------------------------------------------------- */

int pgcn_ranks_expected(int *rank) {
    int number, size;
    pgcn_i_comm_expected(&number, &size);
    if (rank) *rank = number;
    return size;
}

pgcn_status pgcn_ranks_join(int *rank, int *size) {
    pgcn_i_comm *comm = ranks();
    PGCN_TRY(pgcn_i_comm_join(comm));
    if (rank) *rank = comm->rank;
    if (size) *size = comm->size;
    return PGCN_OK;
}

void pgcn_ranks_leave(void) {
    pgcn_i_comm *comm = ranks();
    if (!comm->transport) return;
    if (pgcn_i_comm_status(comm) != PGCN_OK) pgcn_i_comm_abort(comm, 1);
    if (comm->rank == 0 && comm->size > 1) send_order(ORDER_LEAVE, -1, 0);
    pgcn_i_comm_leave(comm);
}

void pgcn_ranks_abort(int code) {
    pgcn_i_comm_abort(ranks(), code);
}
