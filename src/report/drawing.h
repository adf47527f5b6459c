/* Drawings of graphs: where nodes stand (layout.c, layout_igraph.c), and circles with lines between them (drawing.c).
 * A part of the room src/report: report.h says what comes in and goes out. */
#ifndef PGCN_DRAWING_H
#define PGCN_DRAWING_H

#include "report/report.h"

/* ---- layout.c, layout_igraph.c -------------------------------------------------------------- */

/* Pairs of nodes; direction, loops and repetitions do not matter. */
typedef struct report_graph {
    int64_t nodes, edges;
    const int64_t *from, *to; /* [edges] */
} report_graph;

enum { REPORT_MOST_LAID_OUT = 4000 }; /* nodes: distances of all pairs are needed */

/* Places x, y [nodes] where distances are about the numbers of steps between nodes, its longest side lying along x.
 * Parts that are not connected stand beside each other. The same graph gets the same places each time. By igraph
 * where it is on this machine, unless `own`; else by stress majorization of our own. False: no memory, or more nodes
 * than REPORT_MOST_LAID_OUT. */
bool report_layout(const report_graph *graph, bool own, double *x, double *y);
/* What lays graphs out: "igraph 0.10.2", or "own". Opens igraph. */
const char *report_layout_engine(void);
/* What this program was built for, without a look at what is here. */
const char *report_layout_built(void);

/* ---- drawing.c ------------------------------------------------------------------------------ */

typedef struct report_node {
    double x, y;        /* in any units, y downwards: the drawing is fitted into its room */
    double value;       /* as its colour; NaN: none */
    double radius;      /* pixels; 0: that of the drawing */
    report_colour ring; /* of its outline; none: ink */
    bool origin;        /* with a dashed outline */
    const char *label;  /* beside it; NULL: none */
    const char *tip;    /* NULL: its label and value */
} report_node;

typedef struct report_link {
    int64_t from, to;     /* a loop is not drawn */
    double width;         /* pixels; 0: 1 */
    report_colour colour; /* none: faint ink */
    double bend;          /* sideways, by a share of its length; 0: straight */
    bool arrow;
    const char *tip;
} report_link;

typedef struct report_network {
    const char *title; /* above it; NULL: none */
    int64_t nodes, links;
    const report_node *node;
    const report_link *link;
    double radius; /* of nodes; 0: by how much room there is */
    report_palette palette;
    bool fixed; /* colours from low to high; else of the values that there are */
    double low, high;
    bool no_legend;
    const char *value_title; /* of the colours */
} report_network;

/* The range of the colours of a network. */
void report_network_range(const report_network *network, double *low, double *high);
/* Draws it with title and legend into a part of a picture. */
void report_network_draw(report_canvas *canvas, const report_network *network, double left,
                         double top, double width, double height);

/* ---- between these files -------------------------------------------------------------------- */

/* Places by igraph, from those of the start in x, y; false: it is not here, or refuses. */
bool report_layout_igraph(const report_graph *graph, double *x, double *y);
const char *report_igraph_version(void); /* NULL: it is not here */

#endif
