/* Partitions of a graph: parts of equal size with few edges between them.
 *
 * partition_metis.c and partition_stream.c find parts of about the right size. Here the sizes are made
 * right to the node: parts are ranges of nodes afterwards, and groups of nodes (base.h) are ranges of
 * equal length, so that a part is a group exactly.
 *
 * Serial, thread-safe. Called by data/prepare.c (the step order=) and by whoever trains on parts. */
#include "graph/partition.h"

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

/* The part for a node where it has more links, or as many and that part is smaller; else its own. */
static int32_t better_part(pgcn_i_division *d, int64_t node) {
    int32_t own = d->part[node], to = own;
    pgcn_i_division_meet(d, node);
    int64_t most = d->links[own];
    for (int64_t k = 0; k < d->met_count; k++) {
        int32_t part = d->met[k];
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
static void improve(pgcn_i_division *d) {
    enum { ROUNDS = 20 };
    int64_t moved = d->n;
    for (int round = 0; round < ROUNDS && moved > d->n / 1000; round++) {
        moved = 0;
        for (int64_t u = 0; u < d->n; u++) {
            int32_t to = better_part(d, u);
            if (to == d->part[u]) continue;
            pgcn_i_division_move(d, u, to);
            moved++;
        }
    }
}

/* ---- sizes that are right to the node -------------------------------------------------------- */

/* Where a node of a part with too many goes: of the parts with too few that it has edges to, the one with
 * most edges; else the first with too few, from `*open` on. Returns the edges that are lost by it. */
static int64_t find_room(pgcn_i_division *d, int64_t node, bool heavy, int64_t *open, int32_t *to) {
    int64_t most = 0, own;
    *to = -1;
    pgcn_i_division_meet(d, node);
    own = d->links[d->part[node]];
    for (int64_t i = 0; i < d->met_count; i++) {
        int32_t part = d->met[i];
        if (d->rows[part] >= d->target[part]) continue;
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
    return own - most;
}

/* Nodes that lose least go first: rounds allow a loss of 0, 1, 2, 4, ... edges. The last ones look at no
 * weight either: the number of nodes comes first. */
static void settle(pgcn_i_division *d) {
    int64_t left = 0, open = 0;
    for (int64_t p = 0; p < d->parts.count; p++)
        if (d->rows[p] > d->target[p]) left += d->rows[p] - d->target[p];
    for (int64_t allowed = 0; left > 0; allowed = allowed > 0 ? 2 * allowed : 1)
        for (int64_t u = 0; u < d->n && left > 0; u++) {
            int32_t from = d->part[u], to;
            if (d->rows[from] <= d->target[from]) continue;
            bool heavy = allowed > d->n;
            if (find_room(d, u, heavy, &open, &to) > allowed) continue;
            if (!heavy && !pgcn_i_division_bears(d, to, u)) continue;
            pgcn_i_division_move(d, u, to);
            left--;
        }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static pgcn_status divide(pgcn_i_division *d, const int32_t *features, pgcn_i_partitioner how,
                          pgcn_i_arena *scratch) {
    PGCN_TRY(open_division(d, features, scratch));
    if (how == PGCN_I_PARTS_METIS && d->graph->entries > 0)
        PGCN_TRY(pgcn_i_partition_metis(d, scratch));
    else
        PGCN_TRY(pgcn_i_partition_stream(d, scratch));
    improve(d);
    settle(d);
    return PGCN_OK;
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
