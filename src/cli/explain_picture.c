/* An explanation as a picture. Around a node stand the nodes that contribute most and those on the shortest paths to
 * them; the width of a link is what all drawn nodes behind it contribute together, and other links are thin. Of a
 * graph all nodes are drawn, and a link is as wide as the mean of its two ends. Area and colour of a node are what it
 * contributes itself. */
#include "cli/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 720, HEIGHT = 520, LABEL = 96 };
static const double LEAST_LINK = 0.75, MOST_LINK = 9, LEAST_RADIUS = 3, MOST_RADIUS = 15;

/* What is being drawn; arrays over all nodes of the data set. */
typedef struct sketch {
    const cli_explained *x;
    int64_t n, drawn, links;
    const int64_t *offset;
    const pgcn_node *neighbour;
    int32_t *place; /* [n] number in the drawing, -1: not drawn */
    int32_t *level; /* [n] links from the node explained, whatever their direction; -1: not known */
    pgcn_node *before;   /* [n] the node before it on the shortest path */
    double *sum, *flow;  /* [n] of the node; of it and all behind it */
    int64_t *from, *to;  /* [links] places */
    double *x_at, *y_at; /* [drawn] */
} sketch;

static void sketch_free(sketch *s) {
    free(s->place), free(s->level), free(s->before), free(s->sum), free(s->flow);
    free(s->from), free(s->to), free(s->x_at), free(s->y_at);
}

static void *array(int64_t count, size_t size) {
    return calloc((size_t)(count > 0 ? count : 1), size);
}

static bool sketch_open(sketch *s, const cli_explained *x) {
    const pgcn_graph *graph = pgcn_dataset_graph(x->data);
    *s = (sketch){.x = x, .n = pgcn_graph_nodes(graph)};
    pgcn_graph_csr(graph, &s->offset, &s->neighbour, NULL);
    s->place = array(s->n, sizeof *s->place);
    s->level = array(s->n, sizeof *s->level);
    s->before = array(s->n, sizeof *s->before);
    s->sum = array(s->n, sizeof *s->sum);
    s->flow = array(s->n, sizeof *s->flow);
    if (!s->place || !s->level || !s->before || !s->sum || !s->flow) return false;
    for (int64_t u = 0; u < s->n; u++) s->place[u] = s->level[u] = s->before[u] = -1;
    for (int64_t i = 0; i < x->explanation->nodes; i++)
        s->sum[x->explanation->node[i].node] = x->explanation->node[i].sum;
    return true;
}

/* ---- which nodes ------------------------------------------------------------------------------------- */

static void draw_node(sketch *s, int64_t node) {
    if (s->place[node] < 0) s->place[node] = (int32_t)s->drawn++;
}

static bool reach(sketch *s, pgcn_node from, pgcn_node to, int32_t level) {
    if (s->level[from] != level || s->level[to] >= 0) return false;
    s->level[to] = level + 1;
    s->before[to] = from;
    return true;
}

/* Level by level, along links of both directions. */
static void find_levels(sketch *s) {
    bool any = true;
    s->level[s->x->explanation->item] = 0;
    for (int32_t level = 0; any; level++) {
        any = false;
        for (int64_t u = 0; u < s->n; u++)
            for (int64_t e = s->offset[u]; e < s->offset[u + 1]; e++) {
                pgcn_node v = s->neighbour[e];
                any = reach(s, (pgcn_node)u, v, level) || any;
                any = reach(s, v, (pgcn_node)u, level) || any;
            }
    }
}

/* The strongest nodes with all on the way to them, and what flows there. */
static void choose_around(sketch *s) {
    const pgcn_explanation *e = s->x->explanation;
    find_levels(s);
    draw_node(s, e->item);
    for (int64_t i = 0; i < cli_explain_listed(s->x, e->nodes); i++)
        for (int64_t u = e->node[i].node; u >= 0 && s->drawn <= REPORT_MOST_LAID_OUT;
             u = s->before[u])
            draw_node(s, u);
    for (int64_t u = 0; u < s->n; u++)
        if (s->place[u] >= 0)
            for (int64_t v = u; v >= 0; v = s->before[v]) s->flow[v] += s->sum[u];
}

static void choose_graph(sketch *s) {
    const int32_t *graph_of = pgcn_dataset_graph_of(s->x->data);
    for (int64_t u = 0; u < s->n; u++)
        if (graph_of && graph_of[u] == s->x->explanation->item) draw_node(s, u);
}

/* ---- links ------------------------------------------------------------------------------------------- */

static bool list_links(sketch *s) {
    int64_t most = 0;
    for (int64_t u = 0; u < s->n; u++)
        if (s->place[u] >= 0) most += s->offset[u + 1] - s->offset[u];
    s->from = array(most, sizeof *s->from);
    s->to = array(most, sizeof *s->to);
    if (!s->from || !s->to) return false;
    bool directed = pgcn_dataset_describe(s->x->data).directed;
    for (int64_t u = 0; u < s->n; u++)
        for (int64_t e = s->offset[u]; s->place[u] >= 0 && e < s->offset[u + 1]; e++) {
            pgcn_node v = s->neighbour[e];
            if (s->place[v] < 0 || v == u || (!directed && v < u)) continue;
            s->from[s->links] = u;
            s->to[s->links++] = v;
        }
    return true;
}

/* What a link carries; NaN: it is on no way. */
static double carried(const sketch *s, int64_t u, int64_t v) {
    if (s->x->explanation->is_graph) return (s->sum[u] + s->sum[v]) / 2;
    if (s->before[v] == u) return s->flow[v];
    return s->before[u] == v ? s->flow[u] : NAN;
}

static report_colour colour_of(double sum) {
    return report_palette_colour(REPORT_DIVERGING, sum < 0 ? 0.05 : 0.95);
}

static void put_links(const sketch *s, cli_explain_picture *p, int64_t first_text) {
    double most = 0;
    for (int64_t i = 0; i < s->links; i++) {
        double flow = carried(s, s->from[i], s->to[i]);
        if (!isnan(flow)) most = fmax(most, fabs(flow));
    }
    for (int64_t i = 0; i < s->links; i++) {
        double flow = carried(s, s->from[i], s->to[i]);
        report_link *link = &p->link[i];
        *link = (report_link){
            .from = s->place[s->from[i]], .to = s->place[s->to[i]], .width = LEAST_LINK};
        if (isnan(flow) || most == 0) continue;
        link->width = LEAST_LINK + (MOST_LINK - LEAST_LINK) * fabs(flow) / most;
        link->colour = colour_of(flow);
        snprintf(p->text[first_text + i], LABEL, "carries %.4f", flow);
        link->tip = p->text[first_text + i];
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------- */

static bool lay_out(sketch *s) {
    int64_t *from = array(s->links, sizeof *from), *to = array(s->links, sizeof *to);
    s->x_at = array(s->drawn, sizeof *s->x_at);
    s->y_at = array(s->drawn, sizeof *s->y_at);
    bool done = from && to && s->x_at && s->y_at;
    for (int64_t i = 0; done && i < s->links; i++) {
        from[i] = s->place[s->from[i]];
        to[i] = s->place[s->to[i]];
    }
    done = done &&
           report_layout(&(report_graph){s->drawn, s->links, from, to}, false, s->x_at, s->y_at);
    free(from), free(to);
    return done;
}

static void put_nodes(const sketch *s, cli_explain_picture *p) {
    double most = 0;
    for (int64_t u = 0; u < s->n; u++)
        if (s->place[u] >= 0) most = fmax(most, fabs(s->sum[u]));
    for (int64_t u = 0; u < s->n; u++) {
        int64_t i = s->place[u];
        if (i < 0) continue;
        char label[24], *tip = p->text[2 * i + 1];
        bool origin = !s->x->explanation->is_graph && u == s->x->explanation->item;
        double share = most > 0 ? sqrt(fabs(s->sum[u]) / most) : 0;
        cli_explain_node(s->x, u, label, sizeof label);
        snprintf(tip, LABEL, "%s: %.4f", label, s->sum[u]);
        memcpy(p->text[2 * i], label, sizeof label);
        p->node[i] = (report_node){.x = s->x_at[i],
                                   .y = s->y_at[i],
                                   .value = s->sum[u],
                                   .radius = LEAST_RADIUS + (MOST_RADIUS - LEAST_RADIUS) * share,
                                   .origin = origin,
                                   .label = s->drawn <= 40 || origin ? p->text[2 * i] : NULL,
                                   .tip = tip};
    }
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static void draw(report_canvas *canvas, void *context) {
    const cli_explain_picture *p = context;
    report_network_draw(canvas, &p->network, 0, 0, p->picture.width, p->picture.height);
}

static bool fill(sketch *s, cli_explain_picture *p) {
    int64_t titles = 2 * s->drawn + s->links;
    p->node = array(s->drawn, sizeof *p->node);
    p->link = array(s->links, sizeof *p->link);
    p->text = array(titles + 2, sizeof *p->text);
    if (!p->node || !p->link || !p->text || !lay_out(s)) return false;
    put_nodes(s, p);
    put_links(s, p, 2 * s->drawn);
    char class[40];
    cli_explain_class(s->x, s->x->explanation->target, class, sizeof class);
    snprintf(p->text[titles], LABEL, "contribution to the logit of %s", class);
    snprintf(p->text[titles + 1], LABEL,
             "The nodes that make a prediction, and links as wide as what they carry.");
    p->network = (report_network){.nodes = s->drawn,
                                  .links = s->links,
                                  .node = p->node,
                                  .link = p->link,
                                  .palette = REPORT_DIVERGING,
                                  .value_title = p->text[titles]};
    p->picture = (report_picture){WIDTH, HEIGHT, p->text[titles + 1], draw, p};
    return true;
}

pgcn_status cli_explain_picture_open(cli_explain_picture *picture, const cli_explained *x,
                                     char *why, size_t bytes) {
    sketch s;
    *picture = (cli_explain_picture){.node = NULL};
    pgcn_status status = PGCN_ERR_MEMORY;
    snprintf(why, bytes, "out of memory");
    if (sketch_open(&s, x)) {
        x->explanation->is_graph ? choose_graph(&s) : choose_around(&s);
        if (s.drawn > REPORT_MOST_LAID_OUT) {
            status = PGCN_ERR_ARGUMENT;
            snprintf(why, bytes, "more than %d nodes would be drawn; list fewer with --top",
                     REPORT_MOST_LAID_OUT);
        } else if (list_links(&s) && fill(&s, picture)) {
            status = PGCN_OK;
        }
    }
    sketch_free(&s);
    if (status != PGCN_OK) cli_explain_picture_close(picture);
    return status;
}

void cli_explain_picture_close(cli_explain_picture *picture) {
    free(picture->node), free(picture->link), free(picture->text);
    *picture = (cli_explain_picture){.node = NULL};
}
