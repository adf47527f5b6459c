/* Where the nodes of a graph stand.
 *
 * Every connected part is laid out alone: a start on circles around its middle, one for each number of steps, then
 * springs whose lengths are the numbers of steps between all pairs, by igraph or by stress majorization (Gansner,
 * Koren and North, "Graph Drawing by Stress Majorization"). Nothing is drawn at random. Parts stand in rows. */
#include "report/drawing.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>

#define TURN 6.283185307179586

const char *report_layout_engine(void) {
    static char name[64];
    const char *version = report_igraph_version();
    if (!version) return "own";
    snprintf(name, sizeof name, "igraph %s", version);
    return name;
}

/* ---- a graph by its neighbours ---------------------------------------------------------------- */

typedef struct adjacency {
    int64_t n, *first, *neighbour; /* [n + 1], [2 edges] */
    int64_t *queue;                /* [n] scratch of searches */
    int64_t *part;                 /* [n] number of the connected part */
    int64_t parts;
} adjacency;

static void adjacency_free(adjacency *a) {
    free(a->first), free(a->neighbour), free(a->queue), free(a->part);
}

static bool adjacency_make(const report_graph *graph, adjacency *a) {
    size_t n = (size_t)graph->nodes, m = (size_t)graph->edges;
    *a = (adjacency){.n = graph->nodes,
                     .first = calloc(n + 2, sizeof(int64_t)),
                     .neighbour = calloc(2 * m + 1, sizeof(int64_t)),
                     .queue = calloc(n + 1, sizeof(int64_t)),
                     .part = calloc(n + 1, sizeof(int64_t))};
    if (!a->first || !a->neighbour || !a->queue || !a->part) return false;
    int64_t *end = a->first + 1; /* end[i] moves from the begin of node i to its end */
    for (size_t e = 0; e < m; e++) {
        if (graph->from[e] == graph->to[e]) continue;
        end[graph->from[e] + 1]++;
        end[graph->to[e] + 1]++;
    }
    for (size_t i = 0; i + 1 < n; i++) end[i + 1] += end[i];
    for (size_t e = 0; e < m; e++) {
        if (graph->from[e] == graph->to[e]) continue;
        a->neighbour[end[graph->from[e]]++] = graph->to[e];
        a->neighbour[end[graph->to[e]]++] = graph->from[e];
    }
    return true;
}

/* Steps from `start`, -1 where it does not lead; returns how many nodes it does lead to. They are in the queue, in
 * the order of their steps. */
static int64_t search(adjacency *a, int64_t start, int32_t *steps) {
    int64_t count = 0;
    for (int64_t i = 0; i < a->n; i++) steps[i] = -1;
    a->queue[count++] = start;
    steps[start] = 0;
    for (int64_t at = 0; at < count; at++) {
        int64_t i = a->queue[at];
        for (int64_t e = a->first[i]; e < a->first[i + 1]; e++) {
            int64_t j = a->neighbour[e];
            if (steps[j] >= 0) continue;
            steps[j] = steps[i] + 1;
            a->queue[count++] = j;
        }
    }
    return count;
}

static void find_parts(adjacency *a, int32_t *steps) {
    for (int64_t i = 0; i < a->n; i++) a->part[i] = -1;
    for (int64_t i = 0; i < a->n; i++) {
        if (a->part[i] >= 0) continue;
        int64_t count = search(a, i, steps);
        for (int64_t k = 0; k < count; k++) a->part[a->queue[k]] = a->parts;
        a->parts++;
    }
}

/* ---- one connected part ------------------------------------------------------------------------ */

typedef struct part {
    int64_t n;
    int64_t *node;   /* [n] ascending */
    int32_t *length; /* [n, n] steps between two of them */
    double *x, *y;   /* [n] */
} part;

/* The node whose farthest node is nearest; of equal ones that with the smallest sum of steps. */
static int64_t middle_of(const part *p) {
    int64_t best = 0, best_far = INT64_MAX, best_sum = INT64_MAX;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t far = 0, sum = 0;
        for (int64_t j = 0; j < p->n; j++) {
            int32_t d = p->length[i * p->n + j];
            far = d > far ? d : far;
            sum += d;
        }
        if (far > best_far || (far == best_far && sum >= best_sum)) continue;
        best = i;
        best_far = far;
        best_sum = sum;
    }
    return best;
}

/* A sector of the circle for everything behind a node, by how many nodes there are, and so on from circle to circle;
 * a node is behind the first of those one step nearer to the middle. */
static bool start_on_circles(part *p) {
    int64_t n = p->n, middle = middle_of(p);
    if (n < 2) return true;
    const int32_t *steps = p->length + middle * n;
    int64_t *behind = malloc((size_t)n * sizeof *behind);
    double *weight = calloc((size_t)n, sizeof *weight), *begin = calloc((size_t)n, sizeof *begin);
    bool fine = behind && weight && begin;
    int32_t far = 0;
    for (int64_t i = 0; fine && i < n; i++) {
        far = steps[i] > far ? steps[i] : far;
        weight[i] = 1;
        behind[i] = -1;
        for (int64_t j = 0; j < n && behind[i] < 0 && i != middle; j++)
            if (p->length[i * n + j] == 1 && steps[j] == steps[i] - 1) behind[i] = j;
    }
    for (int32_t ring = far; fine && ring > 0; ring--)
        for (int64_t i = 0; i < n; i++)
            if (steps[i] == ring) weight[behind[i]] += weight[i];
    for (int32_t ring = 0; fine && ring <= far; ring++)
        for (int64_t i = 0; i < n; i++) {
            if (steps[i] != ring) continue;
            if (i != middle) {
                int64_t b = behind[i]; /* begin[b] moves on as its nodes are placed */
                double share = TURN * weight[i] / (double)n;
                begin[i] = begin[b];
                begin[b] += share;
            }
            double angle = begin[i] + TURN * weight[i] / (double)n / 2;
            p->x[i] = ring * cos(angle);
            p->y[i] = ring * sin(angle);
        }
    free(behind), free(weight), free(begin);
    return fine;
}

/* Moves a node to where all others want it, each at its number of steps from itself; the near ones count most. */
static double move(part *p, int64_t i) {
    double sum = 0, x = 0, y = 0;
    for (int64_t j = 0; j < p->n; j++) {
        if (j == i) continue;
        double d = p->length[i * p->n + j], weight = 1 / (d * d);
        double dx = p->x[i] - p->x[j], dy = p->y[i] - p->y[j], now = hypot(dx, dy);
        /* Two nodes on one spot are pushed apart, in a direction of their own. */
        if (now < 1e-9) dx = cos((double)i), dy = sin((double)i), now = 1;
        x += weight * (p->x[j] + d * dx / now);
        y += weight * (p->y[j] + d * dy / now);
        sum += weight;
    }
    double moved = hypot(x / sum - p->x[i], y / sum - p->y[i]);
    p->x[i] = x / sum;
    p->y[i] = y / sum;
    return moved;
}

static void majorize(part *p) {
    enum { MOST_ROUNDS = 400 };
    double most = 1;
    for (int round = 0; round < MOST_ROUNDS && most > 1e-3 && p->n > 1; round++) {
        most = 0;
        for (int64_t i = 0; i < p->n; i++) most = fmax(most, move(p, i));
    }
}

/* Its own edges, as igraph wants them. */
static bool by_igraph(part *p) {
    report_graph graph = {.nodes = p->n};
    for (int64_t i = 0; i < p->n * p->n; i++) graph.edges += p->length[i] == 1;
    int64_t *from = malloc((size_t)(graph.edges + 1) * sizeof *from);
    int64_t *to = malloc((size_t)(graph.edges + 1) * sizeof *to);
    graph.edges = 0;
    for (int64_t i = 0; from && to && i < p->n; i++)
        for (int64_t j = i + 1; j < p->n; j++)
            if (p->length[i * p->n + j] == 1) {
                from[graph.edges] = i;
                to[graph.edges++] = j;
            }
    graph.from = from;
    graph.to = to;
    bool fine = from && to && report_layout_igraph(&graph, p->x, p->y);
    free(from), free(to);
    return fine;
}

/* Turned so that it is as long as possible along x, from 0 on. */
static void straighten(part *p) {
    double mx = 0, my = 0, xx = 0, xy = 0, yy = 0, low_x = INFINITY, low_y = INFINITY;
    for (int64_t i = 0; i < p->n; i++) mx += p->x[i] / (double)p->n, my += p->y[i] / (double)p->n;
    for (int64_t i = 0; i < p->n; i++) {
        double x = p->x[i] - mx, y = p->y[i] - my;
        xx += x * x, xy += x * y, yy += y * y;
    }
    double angle = 0.5 * atan2(2 * xy, xx - yy), c = cos(angle), s = sin(angle);
    for (int64_t i = 0; i < p->n; i++) {
        double x = p->x[i] - mx, y = p->y[i] - my;
        p->x[i] = c * x + s * y;
        p->y[i] = c * y - s * x;
        low_x = fmin(low_x, p->x[i]);
        low_y = fmin(low_y, p->y[i]);
    }
    for (int64_t i = 0; i < p->n; i++) p->x[i] -= low_x, p->y[i] -= low_y;
}

static bool part_make(adjacency *a, int64_t number, int32_t *steps, part *p) {
    *p = (part){.n = 0};
    for (int64_t i = 0; i < a->n; i++) p->n += a->part[i] == number;
    size_t n = (size_t)p->n;
    p->node = malloc(n * sizeof *p->node);
    p->length = malloc(n * n * sizeof *p->length);
    p->x = calloc(n, sizeof *p->x);
    p->y = calloc(n, sizeof *p->y);
    if (!p->node || !p->length || !p->x || !p->y) return false;
    int64_t at = 0;
    for (int64_t i = 0; i < a->n; i++)
        if (a->part[i] == number) p->node[at++] = i;
    for (int64_t i = 0; i < p->n; i++) {
        search(a, p->node[i], steps);
        for (int64_t j = 0; j < p->n; j++) p->length[i * p->n + j] = steps[p->node[j]];
    }
    return true;
}

static void part_free(part *p) {
    free(p->node), free(p->length), free(p->x), free(p->y);
}

static bool part_lay_out(part *p, bool own) {
    if (!start_on_circles(p)) return false;
    if (p->n < 3 || own || !by_igraph(p)) majorize(p);
    straighten(p);
    return true;
}

/* ---- parts in rows ------------------------------------------------------------------------------ */

typedef struct shelf {
    double x, y, height; /* where the next part goes, and how high this row is */
    double width;        /* at which a row ends */
} shelf;

static void put(shelf *s, const part *p, double *x, double *y) {
    double width = 0, height = 0;
    for (int64_t i = 0; i < p->n; i++) {
        width = fmax(width, p->x[i]);
        height = fmax(height, p->y[i]);
    }
    if (s->x > 0 && s->x + width > s->width) {
        s->y += s->height + 1;
        s->x = s->height = 0;
    }
    for (int64_t i = 0; i < p->n; i++) {
        x[p->node[i]] = s->x + p->x[i];
        y[p->node[i]] = s->y + p->y[i];
    }
    s->x += width + 1;
    s->height = fmax(s->height, height);
    s->width = fmax(s->width, width);
}

bool report_layout(const report_graph *graph, bool own, double *x, double *y) {
    adjacency a = {0};
    if (graph->nodes > REPORT_MOST_LAID_OUT) return false;
    int32_t *steps = malloc((size_t)(graph->nodes + 1) * sizeof *steps);
    bool fine = steps && adjacency_make(graph, &a);
    if (fine) find_parts(&a, steps);
    shelf s = {.width = 1.5 * sqrt((double)graph->nodes)};
    for (int64_t i = 0; fine && i < a.parts; i++) {
        part p;
        fine = part_make(&a, i, steps, &p) && part_lay_out(&p, own);
        if (fine) put(&s, &p, x, y);
        part_free(&p);
    }
    adjacency_free(&a);
    free(steps);
    return fine;
}
