/* Drawings of graphs: lines, circles whose colours are numbers, labels, and what the colours mean. */
#include "report/drawing.h"

#include <math.h>
#include <stdio.h>

enum { TITLE_HEIGHT = 20, LEGEND_HEIGHT = 40, MARGIN = 4, LABEL_SIZE = 9 };

void report_network_range(const report_network *network, double *low, double *high) {
    *low = network->low;
    *high = network->high;
    if (network->fixed) return;
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t i = 0; i < network->nodes; i++) {
        double value = network->node[i].value;
        if (!isfinite(value)) continue;
        *low = fmin(*low, value);
        *high = fmax(*high, value);
    }
    report_widen_range(network->palette, low, high);
}

/* ---- where things are --------------------------------------------------------------------------- */

typedef struct place {
    double left, top, width,
        height; /* of the nodes' centres, with a margin for circles and labels */
    double scale, low_x, low_y;
    double radius;
} place;

static double most_radius(const report_network *network, double usual) {
    double most = usual;
    for (int64_t i = 0; i < network->nodes; i++) most = fmax(most, network->node[i].radius);
    return most;
}

/* A third of the distance between neighbours on a grid that fills the room. */
static double usual_radius(const report_network *network, double width, double height) {
    double cell = sqrt(width * height / fmax((double)network->nodes, 1));
    return network->radius > 0 ? network->radius : fmin(fmax(0.3 * cell, 2.5), 11);
}

static double longest_label(const report_network *network) {
    double most = 0;
    for (int64_t i = 0; i < network->nodes; i++)
        if (network->node[i].label)
            most = fmax(most, report_words_width(network->node[i].label, LABEL_SIZE));
    return most;
}

/* All nodes with the same scale for x and y, in the middle of the room. */
static place fit(const report_network *network, double left, double top, double width,
                 double height) {
    double high_x = -INFINITY, high_y = -INFINITY;
    place p = {
        .radius = usual_radius(network, width, height), .low_x = INFINITY, .low_y = INFINITY};
    for (int64_t i = 0; i < network->nodes; i++) {
        const report_node *node = &network->node[i];
        p.low_x = fmin(p.low_x, node->x), high_x = fmax(high_x, node->x);
        p.low_y = fmin(p.low_y, node->y), high_y = fmax(high_y, node->y);
    }
    double around = most_radius(network, p.radius) + MARGIN, label = longest_label(network);
    double across = fmin(around + (label > 0 ? label + 2 : 0), 0.3 * width);
    double below = around + (label > 0 ? LABEL_SIZE : 0);
    p.width = fmax(width - 2 * across, 1);
    p.height = fmax(height - 2 * below, 1);
    double span_x = fmax(high_x - p.low_x, 1e-9), span_y = fmax(high_y - p.low_y, 1e-9);
    p.scale = fmin(p.width / span_x, p.height / span_y);
    if (network->nodes < 2) p.scale = 0;
    p.left = left + across + (p.width - p.scale * span_x) / 2;
    p.top = top + below + (p.height - p.scale * span_y) / 2;
    return p;
}

static double place_x(const place *p, const report_node *node) {
    return p->left + p->scale * (node->x - p->low_x);
}
static double place_y(const place *p, const report_node *node) {
    return p->top + p->scale * (node->y - p->low_y);
}
static double radius_of(const place *p, const report_node *node) {
    return node->radius > 0 ? node->radius : p->radius;
}

/* ---- drawing ------------------------------------------------------------------------------------ */

static void draw_link(report_canvas *canvas, const report_network *network, const place *p,
                      const report_link *link) {
    const report_node *from = &network->node[link->from], *to = &network->node[link->to];
    double x1 = place_x(p, from), y1 = place_y(p, from), x2 = place_x(p, to), y2 = place_y(p, to);
    double length = hypot(x2 - x1, y2 - y1);
    if (link->from == link->to || length < 1e-9) return;
    /* An arrow ends at the rim of its circle. */
    double rim = link->arrow ? fmin(radius_of(p, to) + 1, length / 2) : 0;
    x2 -= rim * (x2 - x1) / length;
    y2 -= rim * (y2 - y1) / length;
    report_pen pen = {.stroke = link->colour ? link->colour : REPORT_INK,
                      .width = link->width > 0 ? link->width : 1,
                      .opacity = link->colour ? 0.85 : 0.3,
                      .tip = link->tip};
    if (link->bend != 0 || link->arrow)
        report_curve(canvas, x1, y1, x2, y2, link->bend, link->arrow, &pen);
    else
        report_line(canvas, x1, y1, x2, y2, &pen);
}

static void draw_node(report_canvas *canvas, const report_node *node, const place *p,
                      report_palette palette, double share) {
    char tip[160], number[24];
    report_colour fill = isfinite(share) ? report_palette_colour(palette, share) : REPORT_PAPER;
    report_format_number(node->value, number);
    snprintf(tip, sizeof tip, "%.100s%s%s", node->label ? node->label : "",
             node->label && isfinite(share) ? ": " : "", isfinite(share) ? number : "");
    report_pen pen = {.stroke = node->ring ? node->ring : REPORT_INK,
                      .fill = fill,
                      .width = node->origin ? 2
                               : node->ring ? 1.75
                                            : 0.75,
                      .dash = node->origin ? "3 2" : NULL,
                      .tip = node->tip ? node->tip
                             : *tip    ? tip
                                       : NULL};
    report_circle(canvas, place_x(p, node), place_y(p, node),
                  radius_of(p, node) + (node->origin ? 1.5 : 0), &pen);
}

/* To the side that is farther from the middle, where fewer lines are. */
static void draw_label(report_canvas *canvas, const report_node *node, const place *p,
                       double middle) {
    double x = place_x(p, node), y = place_y(p, node),
           away = radius_of(p, node) + (node->origin ? 6 : 3);
    bool right = x >= middle;
    if (!node->label) return;
    report_words(canvas, right ? x + away : x - away, y + 0.35 * LABEL_SIZE, node->label,
                 &(report_font){.size = LABEL_SIZE,
                                .anchor = right ? REPORT_START : REPORT_END,
                                .halo = true,
                                .bold = node->origin});
}

void report_network_draw(report_canvas *canvas, const report_network *network, double left,
                         double top, double width, double height) {
    double low, high, middle = left + width / 2;
    report_network_range(network, &low, &high);
    if (network->title) {
        report_words(canvas, middle, top + 13, network->title,
                     &(report_font){.size = 12, .anchor = REPORT_MIDDLE, .bold = true});
        top += TITLE_HEIGHT;
        height -= TITLE_HEIGHT;
    }
    if (!network->no_legend) {
        double bar = fmin(width - 40, 180);
        height -= LEGEND_HEIGHT;
        report_colour_bar(canvas, network->palette, low, high, network->value_title,
                          middle - bar / 2, top + height + 6, bar);
    }
    if (network->nodes == 0) return;
    place p = fit(network, left, top, width, height);
    for (int64_t e = 0; e < network->links; e++) draw_link(canvas, network, &p, &network->link[e]);
    for (int64_t i = 0; i < network->nodes; i++) {
        const report_node *node = &network->node[i];
        draw_node(canvas, node, &p, network->palette, (node->value - low) / (high - low));
    }
    for (int64_t i = 0; i < network->nodes; i++) draw_label(canvas, &network->node[i], &p, middle);
}
