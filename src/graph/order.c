/* Orders of the nodes in which rows that are read together are close in memory, and renumbering.
 *
 *   degree      hubs first: what is visited most shares few pages and stays in the cache
 *   rcm         reverse Cuthill-McKee: breadth first from a node of small degree, neighbours by
 *               degree, then reversed; narrow bands on meshes and road networks
 *   community   nodes join, from small degrees to large ones, the neighbouring community with which
 *               they have most edges beyond chance (the gain of modularity); a community is then
 *               contiguous, and so are those it was made of (after "Rabbit order", Arai et al.,
 *               IPDPS 2016)
 *
 * They depend on the structure alone, and ties are broken by node number: the same graph gives the
 * same order. Near-linear in nodes and edges; a directed graph is ordered by its outgoing edges.
 * Serial. Called by data/prepare.c. */
#include "graph/graph.h"

#include <string.h>

enum { TELL_EVERY = 1 << 14 };

static int64_t degree_of(const pgcn_graph *graph, int64_t node) {
    return graph->offset[node + 1] - graph->offset[node];
}

/* Nodes by ascending degree, equal ones by number: a counting sort. */
static pgcn_status sort_by_degree(const pgcn_graph *graph, pgcn_i_arena *scratch,
                                  pgcn_node *order) {
    int64_t most = 0;
    for (int64_t u = 0; u < graph->n; u++)
        if (degree_of(graph, u) > most) most = degree_of(graph, u);
    int64_t *cursor = PGCN_I_ARRAY(scratch, int64_t, most + 1);
    if (!cursor) return PGCN_ERR_MEMORY;
    for (int64_t u = 0; u < graph->n; u++) cursor[degree_of(graph, u)]++;
    pgcn_i_counts_to_starts(cursor, most + 1, 0);
    for (int64_t u = 0; u < graph->n; u++) order[cursor[degree_of(graph, u)]++] = (pgcn_node)u;
    pgcn_i_arena_drop(scratch, cursor);
    return PGCN_OK;
}

static void reverse(pgcn_node *order, int64_t n) {
    for (int64_t i = 0; i < n / 2; i++) {
        pgcn_node swap = order[i];
        order[i] = order[n - 1 - i];
        order[n - 1 - i] = swap;
    }
}

static pgcn_status order_by_degree(const pgcn_graph *graph, pgcn_i_arena *scratch,
                                   pgcn_node *order) {
    PGCN_TRY(sort_by_degree(graph, scratch, order));
    reverse(order, graph->n);
    return PGCN_OK;
}

/* ---- reverse Cuthill-McKee ------------------------------------------------------------------- */

/* Neighbours must be visited by ascending degree. Instead of sorting every row, all rows are
 * rebuilt from the sorted nodes: each node in turn is appended to the rows of its neighbours. */
static pgcn_status rows_by_degree(const pgcn_graph *graph, const pgcn_node *sorted,
                                  pgcn_i_arena *scratch, pgcn_node **out) {
    int64_t *cursor = PGCN_I_ARRAY(scratch, int64_t, graph->n);
    pgcn_node *row = PGCN_I_ARRAY(scratch, pgcn_node, graph->entries);
    if (!cursor || !row) return PGCN_ERR_MEMORY;
    memcpy(cursor, graph->offset, (size_t)graph->n * sizeof *cursor);
    for (int64_t i = 0; i < graph->n; i++)
        for (int64_t e = graph->offset[sorted[i]]; e < graph->offset[sorted[i] + 1]; e++)
            row[cursor[graph->neighbour[e]]++] = sorted[i];
    pgcn_i_arena_drop(scratch, cursor);
    *out = row;
    return PGCN_OK;
}

static pgcn_status order_by_rcm(const pgcn_graph *graph, pgcn_i_arena *scratch, pgcn_node *order) {
    pgcn_node *sorted = PGCN_I_ARRAY(scratch, pgcn_node, graph->n), *row;
    uint8_t *seen = PGCN_I_ARRAY(scratch, uint8_t, graph->n);
    if (!sorted || !seen) return PGCN_ERR_MEMORY;
    PGCN_TRY(sort_by_degree(graph, scratch, sorted));
    if (graph->directed) /* the rebuilt rows would be those of the incoming edges */
        row = (pgcn_node *)(uintptr_t)graph->neighbour;
    else
        PGCN_TRY(rows_by_degree(graph, sorted, scratch, &row));
    int64_t found = 0, done = 0;
    for (int64_t i = 0; i < graph->n; i++) {
        if (seen[sorted[i]]) continue;
        seen[sorted[i]] = 1;
        order[found++] = sorted[i]; /* of the nodes that are left, one of the smallest degree */
        for (; done < found; done++)
            for (int64_t e = graph->offset[order[done]]; e < graph->offset[order[done] + 1]; e++) {
                if (seen[row[e]]) continue;
                seen[row[e]] = 1;
                order[found++] = row[e];
            }
    }
    reverse(order, graph->n);
    return PGCN_OK;
}

/* ---- communities ----------------------------------------------------------------------------- */

typedef struct link { /* edges from a community to another one */
    pgcn_node to;
    float weight;
} link;

typedef struct communities {
    const pgcn_graph *graph;
    pgcn_node *parent;   /* [n] parent links (union-find) to the community that a node is in */
    pgcn_node *into;     /* [n] the community that a community joined, -1: none */
    pgcn_node *size;     /* [n] nodes of a community */
    pgcn_node *position; /* [n] first position of a community inside the one it joined */
    double *strength;    /* [n] sum of the degrees of its nodes */
    pgcn_node *child;    /* [n] the last community that joined, -1: none */
    pgcn_node *sibling;  /* [n] the one that joined before */
    int64_t *list, *end; /* [n] links of a community that joined another: a part of `links` */
    pgcn_i_buffer links;
    float *weight;    /* [n] edges to a community, 0 for all between two nodes */
    pgcn_node *met;   /* [n] communities whose weight is not 0 */
    pgcn_node *joins; /* [n] communities in the order they joined others */
    int64_t joined;
} communities;

static void add_neighbour(communities *c, pgcn_node me, pgcn_node node, float weight,
                          int64_t *met) {
    pgcn_node community = pgcn_i_root_of(c->parent, node);
    if (community == me) return;
    if (c->weight[community] == 0) c->met[(*met)++] = community;
    c->weight[community] += weight;
}

/* Fills `met` and `weight` with the communities that have edges with community `me`; returns how
 * many. */
static int64_t find_neighbours(communities *c, pgcn_node me) {
    const pgcn_graph *graph = c->graph;
    int64_t met = 0;
    for (int64_t e = graph->offset[me]; e < graph->offset[me + 1]; e++)
        add_neighbour(c, me, graph->neighbour[e], 1, &met);
    const link *links = (const link *)(const void *)c->links.data;
    for (pgcn_node child = c->child[me]; child >= 0; child = c->sibling[child])
        for (int64_t l = c->list[child]; l < c->end[child]; l++)
            add_neighbour(c, me, links[l].to, links[l].weight, &met);
    return met;
}

static void join(communities *c, pgcn_node me, pgcn_node other) {
    c->into[me] = c->parent[me] = other;
    c->position[me] = c->size[other];
    c->size[other] += c->size[me];
    c->strength[other] += c->strength[me];
    c->sibling[me] = c->child[other];
    c->child[other] = me;
    c->joins[c->joined++] = me;
}

/* Community `me` joins the neighbour with the largest gain of modularity. Its links to all others
 * are kept, and later count as links of the community that it joined. */
static pgcn_status find_partner(communities *c, pgcn_node me) {
    double all = (double)c->graph->entries, best_gain = 0;
    pgcn_node best = -1;
    int64_t met = find_neighbours(c, me);
    for (int64_t i = 0; i < met; i++) {
        pgcn_node other = c->met[i];
        double gain = (double)c->weight[other] - c->strength[me] * c->strength[other] / all;
        if (gain > best_gain || (gain == best_gain && best >= 0 && other < best)) {
            best_gain = gain;
            best = other;
        }
    }
    link *links = NULL;
    if (best >= 0 && met > 1) {
        c->list[me] = c->links.bytes / (int64_t)sizeof *links;
        c->end[me] = c->list[me] + met - 1;
        links = pgcn_i_buffer_add(&c->links, (met - 1) * (int64_t)sizeof *links);
        if (!links) return PGCN_ERR_MEMORY;
    }
    for (int64_t i = 0; i < met; i++) {
        if (links && c->met[i] != best) *links++ = (link){c->met[i], c->weight[c->met[i]]};
        c->weight[c->met[i]] = 0;
    }
    if (best >= 0) join(c, me, best);
    return PGCN_OK;
}

/* The node of a community comes first, then the communities that joined it, in the order they
 * joined. A community joins only after all others have joined it, so the start positions are
 * computed from the last join to the first. */
static void assign_positions(const communities *c, pgcn_node *start, pgcn_node *order) {
    pgcn_node next = 0;
    for (int64_t u = 0; u < c->graph->n; u++) {
        if (c->into[u] >= 0) continue;
        start[u] = next;
        next += c->size[u];
    }
    for (int64_t i = c->joined - 1; i >= 0; i--) {
        pgcn_node me = c->joins[i];
        start[me] = start[c->into[me]] + c->position[me];
    }
    for (int64_t u = 0; u < c->graph->n; u++) order[start[u]] = (pgcn_node)u;
}

static pgcn_status order_by_community(const pgcn_graph *graph, pgcn_i_arena *scratch,
                                      pgcn_node *order) {
    int64_t n = graph->n;
    communities c = {.graph = graph,
                     .parent = PGCN_I_ARRAY(scratch, pgcn_node, n),
                     .into = PGCN_I_ARRAY(scratch, pgcn_node, n),
                     .size = PGCN_I_ARRAY(scratch, pgcn_node, n),
                     .position = PGCN_I_ARRAY(scratch, pgcn_node, n),
                     .strength = PGCN_I_ARRAY(scratch, double, n),
                     .child = PGCN_I_ARRAY(scratch, pgcn_node, n),
                     .sibling = PGCN_I_ARRAY(scratch, pgcn_node, n),
                     .list = PGCN_I_ARRAY(scratch, int64_t, n),
                     .end = PGCN_I_ARRAY(scratch, int64_t, n),
                     .weight = PGCN_I_ARRAY(scratch, float, n),
                     .met = PGCN_I_ARRAY(scratch, pgcn_node, n),
                     .joins = PGCN_I_ARRAY(scratch, pgcn_node, n)};
    pgcn_node *turn = PGCN_I_ARRAY(scratch, pgcn_node, n);
    if (!c.parent || !c.into || !c.size || !c.position || !c.strength || !c.child || !c.sibling ||
        !c.list || !c.end || !c.weight || !c.met || !c.joins || !turn)
        return PGCN_ERR_MEMORY;
    for (int64_t u = 0; u < n; u++) {
        c.parent[u] = (pgcn_node)u;
        c.into[u] = c.child[u] = c.sibling[u] = -1;
        c.size[u] = 1;
        c.strength[u] = (double)degree_of(graph, u);
    }
    pgcn_status status = sort_by_degree(graph, scratch, turn);
    for (int64_t i = 0; i < n && status == PGCN_OK; i++) {
        if (i % TELL_EVERY == 0)
            status = pgcn_i_stage("looking for communities", (double)i / (double)n);
        if (status == PGCN_OK) status = find_partner(&c, turn[i]);
    }
    pgcn_i_buffer_free(&c.links);
    PGCN_TRY(status);
    assign_positions(&c, turn, order);
    return PGCN_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

pgcn_status pgcn_i_graph_order(const pgcn_graph *graph, pgcn_i_order kind, pgcn_node *order) {
    static pgcn_status (*const make[])(const pgcn_graph *, pgcn_i_arena *, pgcn_node *) = {
        [PGCN_I_ORDER_DEGREE] = order_by_degree,
        [PGCN_I_ORDER_RCM] = order_by_rcm,
        [PGCN_I_ORDER_COMMUNITY] = order_by_community};
    pgcn_i_arena scratch = {0};
    pgcn_status status = make[kind](graph, &scratch, order);
    pgcn_i_arena_free(&scratch);
    return status;
}

/* Node u of the new graph, in ascending order of u, is appended to the rows of its neighbours, so
 * all rows are sorted. This writes the transpose, which for an undirected graph is the graph
 * itself. */
static void write_transposed(const pgcn_graph *graph, const pgcn_node *order,
                             const pgcn_node *number, int64_t *cursor, pgcn_i_csr *out) {
    for (int64_t u = 0; u < graph->n; u++)
        for (int64_t e = graph->offset[order[u]]; e < graph->offset[order[u] + 1]; e++) {
            int64_t to = cursor[number[graph->neighbour[e]]]++;
            out->column[to] = (pgcn_node)u;
            if (graph->weight) out->value[to] = graph->weight[e];
        }
}

static pgcn_status renumber(const pgcn_graph *graph, const pgcn_node *order,
                            const pgcn_node *number, pgcn_i_arena *arena, pgcn_i_arena *scratch,
                            pgcn_i_csr *out) {
    int64_t n = graph->n;
    int64_t *cursor = PGCN_I_ARRAY(scratch, int64_t, n + 1);
    pgcn_i_arena *first = graph->directed ? scratch : arena;
    pgcn_i_csr rows;
    if (!cursor) return PGCN_ERR_MEMORY;
    PGCN_TRY(pgcn_i_csr_alloc(first, n, graph->entries, graph->weight != NULL, &rows));
    if (graph->directed) {
        for (int64_t e = 0; e < graph->entries; e++) rows.offset[number[graph->neighbour[e]] + 1]++;
    } else {
        for (int64_t u = 0; u < n; u++) rows.offset[u + 1] = degree_of(graph, order[u]);
    }
    for (int64_t u = 0; u < n; u++) rows.offset[u + 1] += rows.offset[u];
    memcpy(cursor, rows.offset, (size_t)n * sizeof *cursor);
    write_transposed(graph, order, number, cursor, &rows);
    if (graph->directed) return pgcn_i_csr_transpose(&rows, n, arena, out);
    *out = rows;
    return PGCN_OK;
}

pgcn_status pgcn_i_graph_renumber(const pgcn_graph *graph, const pgcn_node *order,
                                  const pgcn_node *number, pgcn_graph **out) {
    pgcn_i_arena arena = {0}, scratch = {0};
    pgcn_graph *twin = PGCN_I_ARRAY(&arena, pgcn_graph, 1);
    pgcn_i_csr csr;
    pgcn_status status =
        twin ? renumber(graph, order, number, &arena, &scratch, &csr) : PGCN_ERR_MEMORY;
    pgcn_i_arena_free(&scratch);
    if (status != PGCN_OK) {
        pgcn_i_arena_free(&arena);
        return status;
    }
    *twin = (pgcn_graph){.arena = arena,
                         .n = graph->n,
                         .entries = graph->entries,
                         .directed = graph->directed,
                         .offset = csr.offset,
                         .neighbour = csr.column,
                         .weight = csr.value};
    *out = twin;
    return PGCN_OK;
}
