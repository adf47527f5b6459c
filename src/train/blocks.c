/* Inference in blocks of nodes: the rows that some nodes need, a block after the other, and of each block draw by draw.
 *
 * A row has the same bits in any block and in the prediction of the whole graph: its lists have the same entries in the same
 * order, and products make every row by itself. So features may stay on disk (pgcn_dataset_opts.memory): the rows of
 * later blocks are announced to the supply (supply.c) while one is computed, and blocks are as large as the bound of
 * memory allows. Called by predictor.c, inference.c and evaluate.c. */
#include "train/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    CHECK_EVERY = 64, /* turns after which the file is looked at */
    LIST_BYTES = 8,   /* of an entry of a list of neighbours */
    ROW_BYTES = 40    /* of a row, besides its numbers: offset, number, node, place */
};

bool pgcn_i_session_in_parts(const pgcn_i_session *s) {
    const pgcn_i_network *network = pgcn_i_network_of(&s->config);
    if (network->walks && s->config.kernel == PGCN_KERNEL_FULL) return false;
    if (pgcn_i_norms_graphs(&s->config)) return false;
    return !s->spatial.reads_both;
}

/* ---- going through nodes ------------------------------------------------------------------------- */

/* Turn t is draw t % draws of block t / draws. */
typedef struct tour {
    pgcn_i_session *session;
    const pgcn_node *node;
    int64_t count, turns, next; /* the first turn that is not announced yet */
    int draws;
} tour;

static pgcn_i_batch_turn turn_of(const tour *t, int64_t turn) {
    pgcn_i_session *s = t->session;
    int64_t first = turn / t->draws * s->block, left = t->count - first;
    return (pgcn_i_batch_turn){&s->runner.views,
                               {t->node + first, left < s->block ? left : s->block},
                               pgcn_i_session_draw(s, (int)(turn % t->draws))};
}

/* Has the rows of the turns to come read. */
static pgcn_status look_ahead(tour *t, int64_t turn) {
    pgcn_i_supply *supply = &t->session->supply;
    if (turn % CHECK_EVERY == 0) PGCN_TRY(pgcn_i_row_file_check(supply->file));
    if (!supply->cache) PGCN_TRY(pgcn_i_supply_begin(supply));
    for (; t->next < t->turns && !pgcn_i_supply_is_full(supply); t->next++)
        PGCN_TRY(pgcn_i_supply_announce(supply, turn_of(t, t->next)));
    t->session->runner.views.kept = pgcn_i_supply_first(supply);
    return PGCN_OK;
}

static pgcn_status run_turn(tour *t, int64_t turn) {
    pgcn_i_session *s = t->session;
    PGCN_TRY(pgcn_i_stage("predicting", (double)turn / (double)t->turns));
    if (s->supply.file) PGCN_TRY(look_ahead(t, turn));
    return pgcn_i_session_run(s, turn_of(t, turn).chosen, (int)(turn % t->draws));
}

pgcn_status pgcn_i_session_ask(pgcn_i_session *s, const pgcn_node *node, int64_t count,
                               pgcn_i_block_taker take, void *context) {
    int draws = s->inference.draws > 0 ? s->inference.draws : 1;
    tour t = {.session = s, .node = node, .count = count, .draws = draws};
    pgcn_status status = PGCN_OK;
    t.turns = (count + s->block - 1) / s->block * draws;
    for (int64_t turn = 0; status == PGCN_OK && turn < t.turns; turn++) {
        status = run_turn(&t, turn);
        if (status == PGCN_OK)
            take(context, s, turn / draws * s->block, turn_of(&t, turn).chosen,
                 (int)(turn % draws));
    }
    /* what was announced will not be taken: the next question has another future */
    if (status != PGCN_OK && s->supply.file) pgcn_i_supply_forget(&s->supply);
    return status;
}

/* ---- features that stay on disk ------------------------------------------------------------------- */

pgcn_i_row_rule pgcn_i_session_rule(const pgcn_i_session *s) {
    return (pgcn_i_row_rule){.features = &s->data->x,
                             .normalise = s->config.normalise,
                             .standard = pgcn_i_network_standard(&s->params),
                             .mean = pgcn_i_network_fill(&s->params)};
}

/* The exact operator, which neighbours are found by, is in memory. */
static bool operator_fits(const pgcn_i_session *s) {
    int64_t n = s->data->graph->n, entries = s->data->graph->entries + n;
    pgcn_i_memory_needs need = pgcn_i_needs_of(s->data);
    need.nodes += 8 * n + 8 * entries;
    return pgcn_i_needs_fit(&need, s->data);
}

static bool reads_blocks(const pgcn_i_session *s) {
    const pgcn_i_network *network = pgcn_i_network_of(&s->config);
    return s->purpose.most > 0 && pgcn_i_session_in_parts(s) && !network->reads_both &&
           pgcn_i_network_powers(&s->config) == 0 && (s->inference.draws > 0 || operator_fits(s));
}

/* Beside the container, where there is room for large files; or else where temporary files are. */
static pgcn_status begin_files(const pgcn_i_session *s) {
    char directory[PGCN_I_SPOOL_PATH];
    const char *other = getenv("TMPDIR");
    int64_t bound = s->data->from.memory;
    snprintf(directory, sizeof directory, "%s.%ld", pgcn_i_row_file_path(s->data->x.file),
             (long)getpid());
    if (pgcn_i_files_begin(bound, directory) == PGCN_OK) return PGCN_OK;
    snprintf(directory, sizeof directory, "%s/pathgcn.%ld", other && *other ? other : "/tmp",
             (long)getpid());
    return pgcn_i_files_begin(bound, directory);
}

/* What stays in memory where arrays are files: what the data set has for every node, and the channels that exact forms
 * gather from. Less than that cannot do. */
static bool files_fit(const pgcn_i_session *s) {
    return s->data->from.before + s->data->from.arena.bytes +
               pgcn_i_runner_packed_bytes(s->data->graph->n) <=
           s->data->from.memory;
}

static pgcn_status check_files(const pgcn_i_session *s) {
    const int64_t program = s->data->from.before, nodes = s->data->from.arena.bytes;
    const int64_t packed = pgcn_i_runner_packed_bytes(s->data->graph->n);
    char text[5][32];
    if (files_fit(s)) return PGCN_OK;
    pgcn_format_bytes(s->data->from.memory, text[0]);
    pgcn_format_bytes(program + nodes + packed, text[1]);
    pgcn_format_bytes(program, text[2]);
    pgcn_format_bytes(nodes, text[3]);
    pgcn_format_bytes(packed, text[4]);
    return pgcn_i_fail(PGCN_ERR_MEMORY,
                       "predicting %s within %s is not possible: with its other arrays in files it "
                       "needs more than %s in all (program %s, arrays of nodes %s, channels of all "
                       "nodes %s); raise the bound (--memory), or predict by draws (--inference "
                       "stochastic:N)",
                       s->data->name, text[0], text[1], text[2], text[3], text[4]);
}

pgcn_status pgcn_i_session_outside(pgcn_i_session *s) {
    if (s->purpose.explains) return pgcn_i_need_features(s->data, "an explanation");
    if (s->purpose.shows) return pgcn_i_need_features(s->data, "showing the values of layers");
    if (reads_blocks(s)) return PGCN_OK;
    PGCN_TRY(check_files(s));
    PGCN_TRY(begin_files(s));
    s->in_files = true;
    return PGCN_OK;
}

/* ---- blocks that fit ------------------------------------------------------------------------------ */

/* `count` nodes from all over the graph. */
static pgcn_i_chosen some_nodes(const pgcn_i_session *s, int64_t count, pgcn_node *out) {
    int64_t n = s->data->graph->n;
    if (count > n) count = n;
    for (int64_t i = 0; i < count; i++) out[i] = (pgcn_node)(i * n / count);
    return (pgcn_i_chosen){out, count};
}

/* Whether the neighbours of some nodes, as many steps away as the network goes, take more than the bound: found before any
 * list of them is made. */
static pgcn_status lead_too_far(const pgcn_i_session *s, pgcn_i_chosen chosen, bool *out) {
    const pgcn_i_csr *t = &s->spatial.exact;
    int64_t n = s->data->graph->n, links = 0, rows = chosen.count, from = 0;
    int64_t row_bytes = ROW_BYTES + 4 * (s->model->features + 2 * s->config.channels);
    pgcn_i_arena arena = {0};
    uint8_t *seen = PGCN_I_ARRAY(&arena, uint8_t, n);
    pgcn_node *reached = PGCN_I_ARRAY(&arena, pgcn_node, n);
    pgcn_status status = seen && reached ? PGCN_OK : PGCN_ERR_MEMORY;
    for (int64_t i = 0; status == PGCN_OK && i < rows; i++) seen[reached[i] = chosen.item[i]] = 1;
    *out = false;
    for (int l = 0; status == PGCN_OK && l < s->levels && !*out; l++) {
        int64_t end = rows;
        for (; from < end && !*out; from++) {
            int64_t first = t->offset[reached[from]], last = t->offset[reached[from] + 1];
            for (int64_t e = first; e < last; e++)
                if (!seen[t->column[e]]) seen[reached[rows++] = t->column[e]] = 1;
            links += last - first;
            *out = links * LIST_BYTES + rows * row_bytes > s->data->from.memory;
        }
    }
    pgcn_i_arena_free(&arena);
    return status;
}

/* A block that was drawn, and what it takes; far: it was not, it leads to more than the bound. */
typedef struct tried {
    pgcn_i_memory_needs need;
    pgcn_i_batch_size size;
    bool far;
} tried;

static pgcn_status try_block(pgcn_i_session *s, int64_t block, pgcn_node *room, tried *t) {
    pgcn_i_chosen chosen = some_nodes(s, block, room);
    t->far = false;
    if (s->inference.draws == 0) PGCN_TRY(lead_too_far(s, chosen, &t->far));
    if (t->far) return PGCN_OK;
    pgcn_i_runner_put(&s->runner, chosen, &s->loss);
    pgcn_i_runner_draw(&s->runner, pgcn_i_session_draw(s, 0));
    pgcn_i_nodes *nodes = s->runner.views.nodes;
    int64_t touched = pgcn_i_nodes_touched(nodes) + pgcn_i_tape_touched(&s->runner.tape, 0);
    t->size = pgcn_i_batch_size_of(nodes, (pgcn_i_batch_size){0});
    t->need.batch = touched + touched / 8 + /* blocks differ */
                    pgcn_i_supply_least(&s->supply, t->size);
    return PGCN_OK;
}

/* Whether a block twice as large would fit: it takes up to twice as much. */
static bool may_double(const pgcn_i_session *s, tried t) {
    t.need.batch *= 2;
    return s->block < s->purpose.most && pgcn_i_needs_fit(&t.need, s->data);
}

/* Blocks grow as long as they fit: memory that one has touched stays with the process. */
static pgcn_status find_block(pgcn_i_session *s, pgcn_node *room, tried *t) {
    s->block = 1;
    PGCN_TRY(try_block(s, 1, room, t));
    if (t->far)
        return pgcn_i_fail(PGCN_ERR_MEMORY,
                           "the neighbours of a node of data set %s, %d steps away, take more than "
                           "the bound of memory; raise it (--memory)",
                           s->data->name, s->levels);
    if (!pgcn_i_needs_fit(&t->need, s->data))
        return pgcn_i_needs_fail(&t->need, s->data, "predicting",
                                 s->config.walk != PGCN_WALK_NODE2VEC && files_fit(s)
                                     ? ", or predict without draws (--inference deterministic), "
                                       "with large arrays in files"
                                     : "");
    while (may_double(s, *t)) {
        tried larger = *t;
        int64_t block = 2 * s->block < s->purpose.most ? 2 * s->block : s->purpose.most;
        PGCN_TRY(try_block(s, block, room, &larger));
        if (larger.far || !pgcn_i_needs_fit(&larger.need, s->data)) break;
        s->block = block;
        *t = larger;
    }
    return PGCN_OK;
}

static pgcn_status divide(pgcn_i_session *s, pgcn_node *room) {
    tried t = {.need = pgcn_i_needs_of(s->data)};
    t.need.nodes += pgcn_i_spatial_bytes(&s->spatial) + s->purpose.results;
    t.need.weights = s->params.total * (int64_t)sizeof(float);
    PGCN_TRY(find_block(s, room, &t));
    pgcn_i_supply_plan(&s->supply, t.size, &t.need);
    pgcn_i_supply_divide(&s->supply, &t.need);
    return PGCN_OK;
}

pgcn_status pgcn_i_session_supply(pgcn_i_session *s) {
    PGCN_TRY(pgcn_i_supply_open(&s->supply, s->data, s->pool, pgcn_i_session_rule(s)));
    pgcn_node *room = pgcn_i_alloc(s->purpose.most, sizeof *room);
    pgcn_status status = room ? divide(s, room) : PGCN_ERR_MEMORY;
    pgcn_i_free(room);
    return status;
}
