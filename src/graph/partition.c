/* Partitions of a graph: parts of equal size with few edges between them.
 *
 * partition_metis.c and partition_stream.c find parts of about the right size. Here the sizes are made
 * right to the node: parts are ranges of nodes afterwards, and groups of nodes (base.h) are ranges of
 * equal length, so that a part is a group exactly.
 *
 * Serial, thread-safe. Called by data/prepare.c (the step order=) and by whoever trains on parts. */
#include "graph/partition.h"

#include <string.h>

/* ---- a division ------------------------------------------------------------------------------ */

static void meet_row(pgcn_i_division *d, const pgcn_graph *graph, int64_t node) {
    for (int64_t e = graph->offset[node]; e < graph->offset[node + 1]; e++) {
        int32_t part = d->part[graph->neighbour[e]];
        if (part < 0 || graph->neighbour[e] == node) continue;
        if (d->links[part]++ == 0) d->met[d->met_count++] = part;
    }
}

void pgcn_i_division_meet(pgcn_i_division *d, int64_t node) {
    meet_row(d, d->graph, node);
    if (d->back) meet_row(d, d->back, node);
}

void pgcn_i_division_part_ways(pgcn_i_division *d) {
    for (int64_t i = 0; i < d->met_count; i++) d->links[d->met[i]] = 0;
    d->met_count = 0;
}

bool pgcn_i_division_bears(const pgcn_i_division *d, int64_t part, int64_t node) {
    int64_t missing = d->target[part] - d->rows[part] - 1;
    for (int w = 0; w < d->weights; w++) {
        double reserve = missing > 0 ? d->reserve[w] * (double)missing : 0;
        double sum = (double)d->sum[w][part] + d->weight[w][node];
        if (sum + reserve > d->most[w][part]) return false;
    }
    return true;
}

bool pgcn_i_division_has_room(const pgcn_i_division *d, int64_t part, int64_t node) {
    return d->rows[part] < pgcn_i_division_room(d, part) && pgcn_i_division_bears(d, part, node);
}

void pgcn_i_division_move(pgcn_i_division *d, int64_t node, int32_t to) {
    int32_t from = d->part[node];
    if (from >= 0) d->rows[from]--;
    if (to >= 0) d->rows[to]++;
    for (int w = 0; w < d->weights; w++) {
        if (from >= 0) d->sum[w][from] -= d->weight[w][node];
        if (to >= 0) d->sum[w][to] += d->weight[w][node];
    }
    d->part[node] = to;
}

pgcn_status pgcn_i_division_tell(const pgcn_i_division *d, const char *what, int64_t node, int pass,
                                 int passes) {
    enum { EVERY = 1 << 14 };
    if (node % EVERY != 0) return PGCN_OK;
    return pgcn_i_stage(what, (pass + (double)node / (double)d->n) / passes);
}

/* How often walks come by: where an arc ends. */
static void count_visits(const pgcn_graph *graph, int32_t *visits) {
    for (int64_t u = 0; u < graph->n; u++) visits[u] = 1;
    for (int64_t e = 0; e < graph->entries; e++)
        if (visits[graph->neighbour[e]] < INT32_MAX) visits[graph->neighbour[e]]++;
}

/* A tenth more than a part's share. What is reserved is half of what a node weighs on average: a part that
 * takes hubs only would reach its weight long before its number of nodes. */
static void allow(pgcn_i_division *d, int w) {
    double total = 0;
    for (int64_t u = 0; u < d->n; u++) total += d->weight[w][u];
    for (int64_t p = 0; p < d->parts.count; p++)
        d->most[w][p] = 1.1 * total * (double)d->target[p] / (double)d->n + 1;
    d->reserve[w] = total / (double)d->n / 2;
}

static pgcn_status open_division(pgcn_i_division *d, const int32_t *features,
                                 pgcn_i_arena *scratch) {
    int64_t count = d->parts.count;
    int32_t *visits = PGCN_I_ARRAY(scratch, int32_t, d->n);
    d->target = PGCN_I_ARRAY(scratch, int64_t, count);
    d->rows = PGCN_I_ARRAY(scratch, int64_t, count);
    d->links = PGCN_I_ARRAY(scratch, int64_t, count);
    d->met = PGCN_I_ARRAY(scratch, int32_t, count);
    if (!visits || !d->target || !d->rows || !d->links || !d->met) return PGCN_ERR_MEMORY;
    count_visits(d->graph, visits);
    d->weight[d->weights++] = visits;
    if (features) d->weight[d->weights++] = features;
    for (int64_t p = 0; p < count; p++) d->target[p] = pgcn_i_part_rows(d->parts, d->n, p);
    for (int w = 0; w < d->weights; w++) {
        d->sum[w] = PGCN_I_ARRAY(scratch, int64_t, count);
        d->most[w] = PGCN_I_ARRAY(scratch, double, count);
        if (!d->sum[w] || !d->most[w]) return PGCN_ERR_MEMORY;
        allow(d, w);
    }
    return PGCN_OK;
}

/* ---- moves that save edges ------------------------------------------------------------------- */

/* A node has moved: what is remembered of its neighbours, by a byte or more each, does not hold any longer. */
static void forget_row(const pgcn_graph *graph, int64_t node, char *memory, size_t each) {
    for (int64_t e = graph->offset[node]; e < graph->offset[node + 1]; e++)
        memset(memory + (size_t)graph->neighbour[e] * each, 0, each);
}

static void forget_neighbours(const pgcn_i_division *d, int64_t node, void *memory, size_t each) {
    forget_row(d->graph, node, memory, each);
    if (d->back) forget_row(d->back, node, memory, each);
}

/* The part for a node where it has more links, or as many and that part is smaller; else its own. `stays`: no other part
 * has as many links, so that this is so until a neighbour moves, whatever room there is. */
static int32_t better_part(pgcn_i_division *d, int64_t node, uint8_t *stays) {
    int32_t own = d->part[node], to = own;
    pgcn_i_division_meet(d, node);
    int64_t most = d->links[own];
    *stays = 1;
    for (int64_t k = 0; k < d->met_count; k++) {
        int32_t part = d->met[k];
        if (part != own && d->links[part] >= d->links[own]) *stays = 0;
        bool more = d->links[part] > most;
        bool smaller = d->links[part] == most && d->rows[part] + (to == own) < d->rows[to];
        if (part == own || (!more && !smaller) || !pgcn_i_division_has_room(d, part, node))
            continue;
        most = d->links[part];
        to = part;
    }
    pgcn_i_division_part_ways(d);
    return to;
}

/* Until few nodes still move. */
static pgcn_status improve(pgcn_i_division *d, pgcn_i_arena *scratch) {
    enum { ROUNDS = 20 };
    int64_t moved = d->n;
    uint8_t *stays = PGCN_I_ARRAY(scratch, uint8_t, d->n);
    if (!stays) return PGCN_ERR_MEMORY;
    for (int round = 0; round < ROUNDS && moved > d->n / 1000; round++) {
        moved = 0;
        for (int64_t u = 0; u < d->n; u++) {
            PGCN_TRY(pgcn_i_division_tell(d, "moving nodes to better parts", u, round, ROUNDS));
            if (stays[u]) continue;
            int32_t to = better_part(d, u, &stays[u]);
            if (to == d->part[u]) continue;
            pgcn_i_division_move(d, u, to);
            forget_neighbours(d, u, stays, sizeof *stays);
            moved++;
        }
    }
    pgcn_i_arena_drop(scratch, stays);
    return PGCN_OK;
}

/* ---- sizes that are right to the node -------------------------------------------------------- */

/* Of a node of a part with too many: the edges that its move loses, and at least those if weights are not looked at. */
typedef struct loss {
    int64_t edges, least;
} loss;

/* Where it goes: of the parts with too few that it has edges to, the one with most edges; else the first with too few,
 * from `*open` on. */
static loss find_room(pgcn_i_division *d, int64_t node, bool heavy, int64_t *open, int32_t *to) {
    int64_t most = 0, most_of_all = 0, own;
    *to = -1;
    pgcn_i_division_meet(d, node);
    own = d->links[d->part[node]];
    for (int64_t i = 0; i < d->met_count; i++) {
        int32_t part = d->met[i];
        if (d->rows[part] >= d->target[part]) continue;
        if (d->links[part] > most_of_all) most_of_all = d->links[part];
        if (!heavy && !pgcn_i_division_bears(d, part, node)) continue;
        if (d->links[part] > most || (d->links[part] == most && part < *to)) {
            most = d->links[part];
            *to = part;
        }
    }
    pgcn_i_division_part_ways(d);
    while (d->rows[*open] >= d->target[*open])
        ++*open; /* rooms only fill, until all have their size */
    if (*to < 0) *to = (int32_t)*open;
    return (loss){own - most, own - most_of_all};
}

/* One round, in which a node may lose `allowed` edges. Parts with too few only fill, so that what a node loses at least
 * holds until a neighbour moves: known[u] is that and 1, or 0. `next` is what the nodes that lose more lose at least. */
static pgcn_status settle_round(pgcn_i_division *d, int64_t allowed, int32_t *known, int64_t *left,
                                int64_t *open, int64_t *next) {
    bool heavy = allowed > d->n;
    *next = INT64_MAX;
    for (int64_t u = 0; u<d->n && * left> 0; u++) {
        int32_t from = d->part[u], to = from;
        PGCN_TRY(pgcn_i_division_tell(d, "making parts equal", u, 0, 1));
        if (d->rows[from] <= d->target[from]) continue;
        loss lost = {known[u] - 1, known[u] - 1};
        if (known[u] == 0 || lost.least <= allowed) lost = find_room(d, u, heavy, open, &to);
        known[u] = (int32_t)(lost.least > 0 ? lost.least + 1 : 0);
        if (lost.edges > allowed) {
            if (lost.edges < *next) *next = lost.edges;
            continue;
        }
        if (!heavy && !pgcn_i_division_bears(d, to, u)) continue;
        pgcn_i_division_move(d, u, to);
        forget_neighbours(d, u, known, sizeof *known);
        --*left;
    }
    return PGCN_OK;
}

/* Nodes that lose least go first: rounds allow a loss of 0, 1, 2, 4, ... edges. The last ones look at no
 * weight either: the number of nodes comes first. Rounds in which nothing could move are left out. */
static pgcn_status settle(pgcn_i_division *d, pgcn_i_arena *scratch) {
    int64_t left = 0, open = 0, next = 0;
    int32_t *known = PGCN_I_ARRAY(scratch, int32_t, d->n);
    if (!known) return PGCN_ERR_MEMORY;
    for (int64_t p = 0; p < d->parts.count; p++)
        if (d->rows[p] > d->target[p]) left += d->rows[p] - d->target[p];
    for (int64_t allowed = 0; left > 0; allowed = allowed > 0 ? 2 * allowed : 1) {
        int64_t before = left;
        if (allowed < next && allowed <= d->n) continue;
        PGCN_TRY(settle_round(d, allowed, known, &left, &open, &next));
        if (left < before) next = 0;
    }
    pgcn_i_arena_drop(scratch, known);
    return PGCN_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static pgcn_status divide(pgcn_i_division *d, const int32_t *features, pgcn_i_partitioner how,
                          pgcn_i_arena *scratch) {
    PGCN_TRY(open_division(d, features, scratch));
    if (how == PGCN_I_PARTS_METIS && d->graph->entries > 0)
        PGCN_TRY(pgcn_i_partition_metis(d, scratch));
    else
        PGCN_TRY(pgcn_i_partition_stream(d, scratch));
    PGCN_TRY(improve(d, scratch));
    return settle(d, scratch);
}

pgcn_status pgcn_i_graph_partition(const pgcn_graph *graph, const int32_t *features,
                                   pgcn_i_parts parts, pgcn_i_partitioner how, int32_t *part) {
    int64_t n = graph->n;
    bool sound = parts.count >= 1 && parts.count <= INT32_MAX;
    if (!sound || pgcn_i_part_rows(parts, n, parts.count - 1) < 0)
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "%lld nodes cannot be divided into %lld parts of %lld nodes",
                           (long long)n, (long long)parts.count, (long long)parts.rows);
    if (how == PGCN_I_PARTS_METIS && !pgcn_i_has_metis())
        return pgcn_i_fail(PGCN_ERR_ARGUMENT,
                           "this build of pathgcn has no METIS; take the built-in partition, or "
                           "install METIS (Debian: libmetis-dev) and build pathgcn again");
    pgcn_i_division d = {.graph = graph, .n = n, .parts = parts, .part = part};
    pgcn_i_arena scratch = {0};
    pgcn_graph *back = NULL;
    pgcn_status status = PGCN_OK;
    if (parts.count == 1 || parts.count >= n) {
        for (int64_t u = 0; u < n; u++) part[u] = parts.count == 1 ? 0 : (int32_t)u;
        return PGCN_OK;
    }
    if (graph->directed) status = pgcn_i_graph_reversed(graph, &back);
    d.back = back;
    if (status == PGCN_OK) status = divide(&d, features, how, &scratch);
    pgcn_graph_free(back);
    pgcn_i_arena_free(&scratch);
    return status;
}

/* ---- what it is worth ------------------------------------------------------------------------ */

/* The most of a part over a fair share of it. */
static double balance_of(const int64_t *sum, int64_t parts, double share) {
    int64_t most = 0;
    double total = 0;
    for (int64_t p = 0; p < parts; p++) {
        if (sum[p] > most) most = sum[p];
        total += (double)sum[p];
    }
    return total > 0 ? (double)most / (total * share) : 1;
}

int64_t pgcn_i_count_cut(const pgcn_graph *graph, const int32_t *part) {
    int64_t cut = 0;
    for (int64_t u = 0; u < graph->n; u++)
        for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++)
            cut += part[u] != part[graph->neighbour[e]];
    return cut;
}

pgcn_status pgcn_i_partition_measure(const pgcn_graph *graph, const int32_t *features,
                                     int64_t parts, const int32_t *part, pgcn_i_part_quality *out) {
    pgcn_i_arena scratch = {0};
    int64_t *rows = PGCN_I_ARRAY(&scratch, int64_t, parts);
    int64_t *visits = PGCN_I_ARRAY(&scratch, int64_t, parts);
    int64_t *columns = PGCN_I_ARRAY(&scratch, int64_t, parts);
    if (!rows || !visits || !columns) {
        pgcn_i_arena_free(&scratch);
        return PGCN_ERR_MEMORY;
    }
    for (int64_t u = 0; u < graph->n; u++) {
        rows[part[u]]++;
        visits[part[u]]++;
        if (features) columns[part[u]] += features[u];
    }
    for (int64_t e = 0; e < graph->entries; e++) visits[part[graph->neighbour[e]]]++;
    int64_t cut = pgcn_i_count_cut(graph, part);
    *out = (pgcn_i_part_quality){.cut = cut,
                                 .cut_share =
                                     graph->entries > 0 ? (double)cut / (double)graph->entries : 0,
                                 .smallest = graph->n};
    for (int64_t p = 0; p < parts; p++) {
        if (rows[p] > out->largest) out->largest = rows[p];
        if (rows[p] < out->smallest) out->smallest = rows[p];
    }
    double share = (double)out->largest / (double)graph->n;
    out->balance = balance_of(rows, parts, 1 / (double)parts);
    out->balance_visits = balance_of(visits, parts, share);
    out->balance_features = balance_of(columns, parts, share);
    pgcn_i_arena_free(&scratch);
    return PGCN_OK;
}

pgcn_status pgcn_i_partition_order(int64_t n, int64_t parts, const int32_t *part,
                                   const pgcn_node *within, pgcn_node *order) {
    int64_t *cursor = pgcn_i_alloc(parts, sizeof *cursor);
    if (!cursor) return PGCN_ERR_MEMORY;
    for (int64_t u = 0; u < n; u++) cursor[part[u]]++;
    pgcn_i_counts_to_starts(cursor, parts, 0);
    for (int64_t i = 0; i < n; i++) {
        pgcn_node u = within ? within[i] : (pgcn_node)i;
        order[cursor[part[u]]++] = u;
    }
    pgcn_i_free(cursor);
    return PGCN_OK;
}
