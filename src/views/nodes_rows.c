/* The features of a batch of nodes. Dense ones are read where they are, sparse ones gathered. Of those that stay on disk
 * the batch has the rows that it needs, each node once, which the caller brings.
 *
 * Several ranks divide features by groups of nodes: each has those of its own nodes. What the rows of a batch need of
 * others is lent by their owners: for every draw a rank tells each of them how many, then which nodes, and gets their
 * rows. Everybody asks, also in evaluations in parts, where no rank knows the rows of another. The container that all ranks map would be simpler to read, but pages that are read at random stay in memory:
 * after some steps each host would have all features again. A failure is one of the ranks (pgcn_i_comm_fail). Called by
 * nodes.c. */
#include "views/nodes.h"

#include <string.h>

/* Who has the features of other nodes. */
struct pgcn_i_lenders {
    pgcn_i_comm *comm;
    int64_t *first;          /* [ranks + 1] nodes of each */
    int64_t *want;           /* [ranks + 1] starts of the nodes that are wanted of each; */
    int64_t *ask;            /* [ranks + 1] and of those that each asks for */
    int64_t *count;          /* [2 ranks] scratch */
    int64_t *bytes;          /* [2 ranks] of rows that go out and come in */
    pgcn_i_message *message; /* [2 ranks] */
    pgcn_node *node;         /* [rows] that are wanted, by their owners */
    /* [rows] dense: where a listed node came to be; sparse: the row that a node is for */
    int32_t *place;
    pgcn_i_buffer asked, sent, got;
};

/* ---- memory -------------------------------------------------------------------------------------- */

static pgcn_status open_lenders(pgcn_i_nodes *nodes, int64_t rows) {
    pgcn_i_arena *arena = &nodes->x_arena;
    pgcn_i_comm *comm = nodes->opts.owners;
    int64_t n = nodes->opts.input->n;
    const pgcn_i_blocks groups = pgcn_i_groups_of(n, pgcn_i_source_groups(&nodes->opts.data->from));
    pgcn_i_lenders *l = nodes->lenders = PGCN_I_ARRAY(arena, pgcn_i_lenders, 1);
    if (!l) return PGCN_ERR_MEMORY;
    *l = (pgcn_i_lenders){.comm = comm,
                          .first = PGCN_I_ARRAY(arena, int64_t, comm->size + 1),
                          .want = PGCN_I_ARRAY(arena, int64_t, comm->size + 1),
                          .ask = PGCN_I_ARRAY(arena, int64_t, comm->size + 1),
                          .count = PGCN_I_ARRAY(arena, int64_t, 2 * comm->size),
                          .bytes = PGCN_I_ARRAY(arena, int64_t, 2 * comm->size),
                          .message = PGCN_I_ARRAY(arena, pgcn_i_message, 2 * comm->size),
                          .node = PGCN_I_ARRAY(arena, pgcn_node, rows),
                          .place = PGCN_I_ARRAY(arena, int32_t, rows)};
    if (!l->first || !l->want || !l->ask || !l->count || !l->bytes || !l->message || !l->node ||
        !l->place)
        return PGCN_ERR_MEMORY;
    for (int r = 0; r < comm->size; r++)
        l->first[r] =
            pgcn_i_groups_share(groups, &(pgcn_i_comm){.rank = r, .size = comm->size}).begin;
    l->first[comm->size] = n;
    return PGCN_OK;
}

/* Room for the rows of features that stay on disk, or are divided. */
static pgcn_status open_rows(pgcn_i_nodes *nodes) {
    int64_t rows = nodes->rows[nodes->levels], most = pgcn_i_least(rows, nodes->opts.input->n);
    nodes->x_node = PGCN_I_ARRAY(&nodes->x_arena, pgcn_node, most);
    nodes->input.gathered = nodes->x_place = PGCN_I_ARRAY(&nodes->x_arena, int32_t, rows);
    nodes->x_row = nodes->opts.input->lent;
    if (!nodes->x_row)
        nodes->x_row = PGCN_I_ARRAY(&nodes->x_arena, float, most * nodes->input.columns);
    nodes->input.dense = nodes->x_row;
    return nodes->x_node && nodes->x_place && nodes->x_row ? PGCN_OK : PGCN_ERR_MEMORY;
}

static pgcn_status open_sparse(pgcn_i_nodes *nodes) {
    const pgcn_i_input *from = nodes->opts.input;
    int64_t rows = nodes->rows[nodes->levels];
    pgcn_i_arena *arena = &nodes->x_arena;
    pgcn_i_input *input = &nodes->input;
    int64_t all = from->nonzeros < INT64_MAX / nodes->opts.samples
                      ? from->nonzeros * nodes->opts.samples
                      : INT64_MAX;
    input->nonzeros = pgcn_i_least(rows * pgcn_i_longest_row(from->offset, from->n), all) +
                      nodes->opts.guests * from->columns;
    input->offset = nodes->x_offset = PGCN_I_ARRAY(arena, int64_t, rows + 1);
    input->drawn_at = nodes->x_drawn = PGCN_I_ARRAY(arena, int64_t, rows);
    input->column = nodes->x_column = PGCN_I_ARRAY(arena, int32_t, input->nonzeros);
    input->value = nodes->x_value = PGCN_I_ARRAY(arena, float, input->nonzeros);
    if (!input->offset || !input->drawn_at || !input->column || !input->value)
        return PGCN_ERR_MEMORY;
    if (!nodes->opts.training) return PGCN_OK;
    return pgcn_i_column_arrays_new(arena, input->columns, input->nonzeros, &nodes->columns);
}

pgcn_status pgcn_i_nodes_open_input(pgcn_i_nodes *nodes) {
    const pgcn_i_input *from = nodes->opts.input;
    int64_t rows = nodes->rows[nodes->levels];
    nodes->input = (pgcn_i_input){.n = rows, .columns = from->columns, .dense = from->dense};
    if (nodes->opts.owners) PGCN_TRY(open_lenders(nodes, rows));
    if (nodes->opts.data->x.file || (from->dense && nodes->lenders)) return open_rows(nodes);
    return from->dense ? PGCN_OK : open_sparse(nodes);
}

void pgcn_i_nodes_close_input(pgcn_i_nodes *nodes) {
    pgcn_i_lenders *l = nodes->lenders;
    if (l) {
        pgcn_i_buffer_free(&l->asked);
        pgcn_i_buffer_free(&l->sent);
        pgcn_i_buffer_free(&l->got);
    }
    pgcn_i_arena_free(&nodes->x_arena);
}

int64_t pgcn_i_nodes_features_resident(const pgcn_i_nodes *nodes) {
    const pgcn_i_lenders *l = nodes->lenders;
    return pgcn_i_arena_resident(&nodes->x_arena) +
           (l ? l->asked.capacity + l->sent.capacity + l->got.capacity : 0);
}

/* ---- what other ranks have ----------------------------------------------------------------------- */

static int owner_of(const pgcn_i_lenders *l, pgcn_node node) {
    int low = 0,
        high = l->comm->size - 1; /* the last one that begins there or before: others have none */
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (l->first[middle] <= node)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Room for as many bytes, which hold nothing yet. */
static char *make_room(pgcn_i_lenders *l, pgcn_i_buffer *buffer, int64_t bytes) {
    buffer->bytes = 0;
    char *data = pgcn_i_buffer_add(buffer, bytes > 0 ? bytes : 1);
    if (!data) pgcn_i_comm_fail(l->comm, PGCN_ERR_MEMORY);
    return data;
}

/* Sends and receives what bytes[] says: from one array to another, rank by rank. */
static void exchange(pgcn_i_lenders *l, char *out, char *in) {
    pgcn_i_comm *comm = l->comm;
    for (int r = 0; r < comm->size; r++) {
        int64_t sends = l->bytes[r], gets = l->bytes[comm->size + r];
        l->message[2 * r] = (pgcn_i_message){r, true, out, sends};
        l->message[2 * r + 1] = (pgcn_i_message){r, false, in, gets};
        out += sends;
        in += gets;
    }
    pgcn_i_comm_exchange(comm, l->message, 2 * comm->size);
}

/* Tells the owners which nodes are wanted of them, but for this rank itself: want[] and node[] become ask[] and
 * `asked` of the others. False: ranks have failed. */
static bool ask_owners(pgcn_i_lenders *l) {
    pgcn_i_comm *comm = l->comm;
    int64_t *mine = l->count, *theirs = l->count + comm->size;
    for (int r = 0; r < comm->size; r++)
        mine[r] = r == comm->rank ? 0 : l->want[r + 1] - l->want[r];
    pgcn_i_comm_swap(comm, mine, theirs);
    if (pgcn_i_comm_status(comm) != PGCN_OK) return false;
    l->ask[0] = 0;
    for (int r = 0; r < comm->size; r++) {
        int64_t asked = r == comm->rank ? 0 : theirs[r];
        l->ask[r + 1] = l->ask[r] + asked;
        l->bytes[comm->size + r] = asked * (int64_t)sizeof *l->node;
        l->bytes[r] = mine[r] * (int64_t)sizeof *l->node;
    }
    char *in = make_room(l, &l->asked, l->ask[comm->size] * (int64_t)sizeof *l->node);
    if (!in) return false;
    /* this rank's own are in the middle of the list, and go nowhere */
    for (int r = 0; r < comm->size; r++) {
        l->message[2 * r] = (pgcn_i_message){r, true, l->node + l->want[r], l->bytes[r]};
        l->message[2 * r + 1] = (pgcn_i_message){
            r, false, in + l->ask[r] * (int64_t)sizeof *l->node, l->bytes[comm->size + r]};
    }
    pgcn_i_comm_exchange(comm, l->message, 2 * comm->size);
    return pgcn_i_comm_status(comm) == PGCN_OK;
}

/* Starts of the nodes of each owner, from their numbers in want[r + 1]. */
static void number_wanted(pgcn_i_lenders *l) {
    for (int r = 0; r < l->comm->size; r++) l->want[r + 1] += l->want[r];
    memcpy(l->count, l->want, (size_t)l->comm->size * sizeof *l->count);
}

/* ---- dense --------------------------------------------------------------------------------------- */

/* A row of the part has the features of its node, or of another sample of it that is listed already. */
static void list_row(pgcn_i_nodes *nodes, int64_t row) {
    enum { NOT_LISTED = -1 };
    const pgcn_i_numbering *numbering = &nodes->numbering;
    pgcn_node node = numbering->node[row];
    for (int s = 0; s < numbering->samples && nodes->x_place[row] == NOT_LISTED; s++) {
        pgcn_node other = numbering->place[s * numbering->nodes + node];
        if (other >= 0) nodes->x_place[row] = nodes->x_place[other];
    }
    if (nodes->x_place[row] != NOT_LISTED) return;
    nodes->x_node[nodes->x_nodes] = node;
    nodes->x_place[row] = (int32_t)nodes->x_nodes++;
}

/* Of the last level; and, where an operation may read features along drawn links (ops_input.c of nn), of the rows that
 * this rank's rows of the level before lead to. */
void pgcn_i_nodes_list(pgcn_i_nodes *nodes) {
    const pgcn_i_range own = pgcn_i_nodes_own(nodes, nodes->levels);
    if (!nodes->x_row) return;
    memset(nodes->x_place, -1, (size_t)nodes->numbering.rows * sizeof *nodes->x_place);
    nodes->x_nodes = 0;
    for (int64_t r = own.begin; r < own.end; r++) list_row(nodes, r);
    if (!nodes->divided || !nodes->part.few_links || nodes->levels == 0) return;
    const pgcn_i_range before = pgcn_i_nodes_own(nodes, nodes->levels - 1);
    const pgcn_i_csr *list = &nodes->level[nodes->levels - 1].lists.hop[0];
    for (int64_t e = list->offset[before.begin]; e < list->offset[before.end]; e++)
        list_row(nodes, list->column[e]);
}

/* The listed nodes by their owners, so that what comes from a rank goes where it is read. */
static void sort_listed(pgcn_i_nodes *nodes) {
    pgcn_i_lenders *l = nodes->lenders;
    memset(l->want, 0, (size_t)(l->comm->size + 1) * sizeof *l->want);
    for (int64_t i = 0; i < nodes->x_nodes; i++) l->want[owner_of(l, nodes->x_node[i]) + 1]++;
    number_wanted(l);
    for (int64_t i = 0; i < nodes->x_nodes; i++) {
        int64_t to = l->count[owner_of(l, nodes->x_node[i])]++;
        l->node[to] = nodes->x_node[i];
        l->place[i] = (int32_t)to;
    }
    for (int64_t r = 0; r < nodes->numbering.rows; r++)
        if (nodes->x_place[r] >= 0) nodes->x_place[r] = l->place[nodes->x_place[r]];
    memcpy(nodes->x_node, l->node, (size_t)nodes->x_nodes * sizeof *nodes->x_node);
}

static void copy_rows(const pgcn_i_input *from, const pgcn_node *node, int64_t count, float *to) {
    for (int64_t i = 0; i < count; i++)
        memcpy(to + i * from->columns, from->dense + node[i] * from->columns,
               (size_t)from->columns * sizeof *to);
}

/* Some rows of each rank at a time, so that messages take little memory; row `at` of those for a rank and from it on. */
static void exchange_some(pgcn_i_nodes *nodes, int64_t at, int64_t some, float *out) {
    pgcn_i_lenders *l = nodes->lenders;
    const pgcn_i_input *from = nodes->opts.input;
    const int64_t row = from->columns * (int64_t)sizeof *out;
    const pgcn_node *asked = (const pgcn_node *)(const void *)l->asked.data;
    for (int r = 0; r < l->comm->size; r++) {
        bool others = r != l->comm->rank;
        int64_t give = others ? l->ask[r + 1] - l->ask[r] - at : 0;
        int64_t get = others ? l->want[r + 1] - l->want[r] - at : 0;
        give = give < 0 ? 0 : pgcn_i_least(give, some);
        get = get < 0 ? 0 : pgcn_i_least(get, some);
        float *to = nodes->x_row + (l->want[r] + at) * from->columns;
        copy_rows(from, asked + l->ask[r] + at, give, out);
        l->message[2 * r] = (pgcn_i_message){r, true, out, give * row};
        l->message[2 * r + 1] = (pgcn_i_message){r, false, to, get * row};
        out += give * from->columns;
    }
    pgcn_i_comm_exchange(l->comm, l->message, 2 * l->comm->size);
}

static void fetch_dense(pgcn_i_nodes *nodes) {
    enum { SENT_BYTES = 4 << 20 };
    pgcn_i_lenders *l = nodes->lenders;
    pgcn_i_comm *comm = l->comm;
    const pgcn_i_input *from = nodes->opts.input;
    const int64_t row = from->columns * (int64_t)sizeof(float);
    int64_t some = SENT_BYTES / comm->size / (row > 0 ? row : 1) + 1, most = 0, rows = 0;
    sort_listed(nodes);
    int64_t own = l->want[comm->rank];
    copy_rows(from, l->node + own, l->want[comm->rank + 1] - own,
              nodes->x_row + own * from->columns);
    if (!ask_owners(l)) return;
    for (int r = 0; r < comm->size; r++) {
        int64_t give = l->ask[r + 1] - l->ask[r], get = l->want[r + 1] - l->want[r];
        if (r != comm->rank && give > most) most = give;
        if (r != comm->rank && get > most) most = get;
        rows += pgcn_i_least(give, some);
    }
    float *out = (float *)(void *)make_room(l, &l->sent, rows * row);
    for (int64_t at = 0; out && at < most; at += some) exchange_some(nodes, at, some, out);
}

/* ---- sparse -------------------------------------------------------------------------------------- */

/* A row on its way: its columns, then its values. */
static int64_t entries_of(const pgcn_i_input *x, pgcn_node node) {
    return x->offset[node + 1] - x->offset[node];
}

static int64_t entries_of_all(const pgcn_i_input *x, const pgcn_node *node, int64_t count) {
    int64_t entries = 0;
    for (int64_t i = 0; i < count; i++) entries += entries_of(x, node[i]);
    return entries;
}

static void pack_sparse(const pgcn_i_input *x, const pgcn_node *node, int64_t count, char *to) {
    for (int64_t i = 0; i < count; i++) {
        int64_t begin = x->offset[node[i]];
        size_t bytes = (size_t)entries_of(x, node[i]) * sizeof *x->column;
        memcpy(to, x->column + begin, bytes);
        memcpy(to + bytes, x->value + begin, bytes);
        to += 2 * bytes;
    }
}

/* The rows of other ranks' nodes, by their owners. */
static void list_sparse(pgcn_i_nodes *nodes, pgcn_i_range own) {
    pgcn_i_lenders *l = nodes->lenders;
    const pgcn_node *node = nodes->numbering.node;
    memset(l->want, 0, (size_t)(l->comm->size + 1) * sizeof *l->want);
    for (int64_t r = own.begin; r < own.end; r++) {
        int owner = owner_of(l, node[r]);
        l->want[owner + 1] += owner != l->comm->rank;
    }
    number_wanted(l);
    for (int64_t r = own.begin; r < own.end; r++) {
        int owner = owner_of(l, node[r]);
        if (owner == l->comm->rank) continue;
        l->node[l->count[owner]] = node[r];
        l->place[l->count[owner]++] = (int32_t)r;
    }
}

/* Into the rows of this rank, whose lengths are known: everybody has the offsets of all. */
static void fetch_sparse(pgcn_i_nodes *nodes, pgcn_i_range own) {
    enum { ENTRY = sizeof(int32_t) + sizeof(float) };
    pgcn_i_lenders *l = nodes->lenders;
    const pgcn_i_input *from = nodes->opts.input;
    int size = l->comm->size;
    list_sparse(nodes, own);
    if (!ask_owners(l)) return;
    const pgcn_node *asked = (const pgcn_node *)(const void *)l->asked.data;
    char *out = make_room(l, &l->sent, ENTRY * entries_of_all(from, asked, l->ask[size]));
    char *in = make_room(l, &l->got, ENTRY * entries_of_all(from, l->node, l->want[size]));
    if (!out || !in) return;
    pack_sparse(from, asked, l->ask[size], out);
    for (int r = 0; r < size; r++) {
        l->bytes[r] = ENTRY * entries_of_all(from, asked + l->ask[r], l->ask[r + 1] - l->ask[r]);
        l->bytes[size + r] =
            ENTRY * entries_of_all(from, l->node + l->want[r], l->want[r + 1] - l->want[r]);
    }
    exchange(l, out, in);
    for (int64_t i = 0; i < l->want[size]; i++) {
        size_t bytes = (size_t)entries_of(from, l->node[i]) * sizeof *from->column;
        int64_t to = nodes->x_offset[l->place[i]];
        memcpy(nodes->x_column + to, in, bytes);
        memcpy(nodes->x_value + to, in + bytes, bytes);
        in += 2 * bytes;
    }
}

static void gather_sparse(pgcn_i_nodes *nodes) {
    const pgcn_i_range own = pgcn_i_nodes_own(nodes, nodes->levels);
    int64_t at = 0;
    for (int64_t r = own.begin; r < own.end; r++) {
        pgcn_node node = nodes->numbering.node[r];
        const pgcn_i_input *from = nodes->opts.input;
        if (nodes->guests && node >= nodes->guests->nodes) {
            from = nodes->guest_input;
            node = (pgcn_node)(node - nodes->guests->nodes);
        }
        int64_t begin = from->offset[node], count = from->offset[node + 1] - begin;
        nodes->x_offset[r] = at;
        nodes->x_drawn[r] = begin;
        if (node >= from->filled.begin && node < from->filled.end) {
            memcpy(nodes->x_column + at, from->column + begin,
                   (size_t)count * sizeof *from->column);
            memcpy(nodes->x_value + at, from->value + begin, (size_t)count * sizeof *from->value);
        }
        at += count;
    }
    nodes->x_offset[own.end] = at;
    nodes->input.nonzeros = at;
    if (nodes->lenders) fetch_sparse(nodes, own);
    if (nodes->columns.offset) pgcn_i_input_index(&nodes->input, own, nodes->columns);
}

void pgcn_i_nodes_gather(pgcn_i_nodes *nodes) {
    if (!nodes->input.dense)
        gather_sparse(nodes);
    else if (nodes->lenders)
        fetch_dense(nodes);
}
