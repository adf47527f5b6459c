/* The primitives of a picture, as SVG or as TikZ. Charts and drawings of graphs are made of them.
 *
 * SVG: text and axes are currentColor, so that a page in a dark scheme has light ones; the class
 * "paper" marks what is as the page behind it. TikZ: pixels from the upper left by x and y vectors of
 * 0.75 pt. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FONT_SIZE 11

/* No wider than the column or page that it stands in; smaller ones keep their size. TikZ has loaded graphicx. */
void report_fit_open(report_text *out) {
    report_put(out, "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n");
}

report_canvas report_canvas_open(report_text *out, report_format format, double width,
                                 double height, const char *about, bool alone) {
    report_canvas canvas = {out, format, width, height, alone && format == REPORT_LATEX};
    if (format == REPORT_LATEX) {
        if (alone) {
            report_put(out, "% ");
            report_put_latex(out, about);
            report_put(out, "\n% In the preamble: \\usepackage{tikz}\n");
            report_fit_open(out);
        }
        report_put(out,
                   "\\begin{tikzpicture}[x=0.75pt,y=-0.75pt,line cap=round,line join=round]\n");
        return canvas;
    }
    report_put(out, "<svg");
    if (alone) report_put(out, " xmlns=\"http://www.w3.org/2000/svg\"");
    report_put(out, " viewBox=\"0 0 ");
    report_put_number(out, width);
    report_put(out, " ");
    report_put_number(out, height);
    report_put(out, "\"");
    if (alone) {
        report_put(out, " width=\"");
        report_put_number(out, width);
        report_put(out, "\" height=\"");
        report_put_number(out, height);
        report_put(out, "\"");
    }
    report_put(out, " role=\"img\" aria-label=\"");
    report_put_xml(out, about);
    report_put(out, "\" font-family=\"Helvetica,Arial,'Liberation Sans',sans-serif\" "
                    "font-size=\"11\" fill=\"none\">\n");
    if (alone)
        report_put(out, "<style>svg{color:#1c1e21;background:#fff}"
                        "@media (prefers-color-scheme:dark){svg{color:#e6e6e6;background:#16181c}"
                        ".pf{fill:#16181c}.ps{stroke:#16181c}}</style>\n");
    return canvas;
}

void report_canvas_close(report_canvas *canvas) {
    report_put(canvas->out, canvas->format == REPORT_SVG ? "</svg>\n" : "\\end{tikzpicture}");
    if (canvas->format == REPORT_LATEX) report_put(canvas->out, canvas->fitted ? "}\n" : "\n");
}

/* ---- pens ----------------------------------------------------------------------------------- */

void report_put_colour(report_text *out, report_format format, report_colour colour) {
    if (colour == REPORT_NONE)
        report_put(out, "none");
    else if (format == REPORT_SVG && colour == REPORT_INK)
        report_put(out, "currentColor");
    else if (format == REPORT_SVG)
        report_putf(out, "#%06x", colour == REPORT_PAPER ? 0xffffffu : colour & 0xffffff);
    else if (colour == REPORT_INK || colour == REPORT_PAPER)
        report_put(out, colour == REPORT_INK ? "black" : "white");
    else
        report_putf(out, "{rgb,255:red,%u;green,%u;blue,%u}", (colour >> 16) & 0xff,
                    (colour >> 8) & 0xff, colour & 0xff);
}

static void put_attribute(report_text *out, const char *name, double value) {
    report_putf(out, " %s=\"", name);
    report_put_number(out, value);
    report_put(out, "\"");
}

static void svg_pen(report_text *out, const report_pen *pen) {
    if (pen->fill == REPORT_PAPER || pen->stroke == REPORT_PAPER)
        report_putf(out, " class=\"%s\"",
                    pen->fill != REPORT_PAPER     ? "ps"
                    : pen->stroke != REPORT_PAPER ? "pf"
                                                  : "pf ps");
    if (pen->fill) {
        report_put(out, " fill=\"");
        report_put_colour(out, REPORT_SVG, pen->fill);
        report_put(out, "\"");
    }
    if (pen->stroke) {
        report_put(out, " stroke=\"");
        report_put_colour(out, REPORT_SVG, pen->stroke);
        report_put(out, "\"");
        put_attribute(out, "stroke-width", pen->width > 0 ? pen->width : 1.5);
    }
    if (pen->stroke && pen->dash) report_putf(out, " stroke-dasharray=\"%s\"", pen->dash);
    if (pen->opacity > 0 && pen->opacity < 1) put_attribute(out, "opacity", pen->opacity);
}

/* Closes an element, with its tip in it. */
static void svg_end(report_text *out, const char *element, const report_pen *pen) {
    if (!pen->tip) {
        report_put(out, "/>\n");
        return;
    }
    report_put(out, "><title>");
    report_put_xml(out, pen->tip);
    report_putf(out, "</title></%s>\n", element);
}

void report_put_dash(report_text *out, const char *dash) {
    report_put(out, ",dash pattern=");
    bool on = true;
    for (double length; sscanf(dash, "%lf", &length) == 1; on = !on) {
        report_putf(out, "%s ", on ? "on" : "off");
        report_put_number(out, 0.75 * length);
        report_put(out, "pt ");
        dash += strspn(dash, " ");
        dash += strcspn(dash, " ");
    }
}

/* "\path[draw=...,fill=...] " */
static void tikz_pen(report_text *out, const report_pen *pen, const char *more) {
    report_put(out, "\\path[");
    if (pen->stroke) {
        report_put(out, "draw=");
        report_put_colour(out, REPORT_LATEX, pen->stroke);
        report_put(out, ",line width=");
        report_put_number(out, 0.75 * (pen->width > 0 ? pen->width : 1.5));
        report_put(out, "pt");
        if (pen->dash) report_put_dash(out, pen->dash);
    }
    if (pen->fill) {
        report_put(out, pen->stroke ? ",fill=" : "fill=");
        report_put_colour(out, REPORT_LATEX, pen->fill);
    }
    if (pen->opacity > 0 && pen->opacity < 1) {
        report_put(out, ",opacity=");
        report_put_number(out, pen->opacity);
    }
    report_putf(out, "%s] ", more);
}

static void tikz_point(report_text *out, double x, double y) {
    report_put(out, "(");
    report_put_number(out, x);
    report_put(out, ",");
    report_put_number(out, y);
    report_put(out, ")");
}

/* ---- shapes --------------------------------------------------------------------------------- */

void report_line(report_canvas *canvas, double x1, double y1, double x2, double y2,
                 const report_pen *pen) {
    const double x[] = {x1, x2}, y[] = {y1, y2};
    report_polyline(canvas, 2, x, y, false, pen);
}

void report_polyline(report_canvas *canvas, int64_t count, const double *x, const double *y,
                     bool closed, const report_pen *pen) {
    report_text *out = canvas->out;
    bool svg = canvas->format == REPORT_SVG, inside = false;
    if (svg)
        report_put(out, "<path d=\"");
    else
        tikz_pen(out, pen, "");
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i])) {
            inside = closed && inside;
            continue;
        }
        if (svg) {
            report_put(out, inside ? "L" : "M");
            report_put_number(out, x[i]);
            report_put(out, " ");
            report_put_number(out, y[i]);
        } else {
            if (inside) report_put(out, "--");
            tikz_point(out, x[i], y[i]);
        }
        inside = true;
    }
    if (closed && inside) report_put(out, svg ? "Z" : "--cycle");
    if (!svg) {
        report_put(out, ";\n");
        return;
    }
    report_put(out, "\"");
    svg_pen(out, pen);
    if (!closed) report_put(out, " stroke-linejoin=\"round\"");
    svg_end(out, "path", pen);
}

/* The head of an arrow at the end of a curve that arrives from (fx, fy). */
static void arrow_head(report_canvas *canvas, double fx, double fy, double x, double y,
                       const report_pen *pen) {
    double length = hypot(x - fx, y - fy), size = 4 + 1.5 * (pen->width > 0 ? pen->width : 1.5);
    if (length < 1e-9) return;
    double ux = (x - fx) / length, uy = (y - fy) / length;
    const double px[] = {x, x - size * ux - size / 2 * uy, x - size * ux + size / 2 * uy};
    const double py[] = {y, y - size * uy + size / 2 * ux, y - size * uy - size / 2 * ux};
    report_pen head = {.fill = pen->stroke, .opacity = pen->opacity};
    report_polyline(canvas, 3, px, py, true, &head);
}

void report_curve(report_canvas *canvas, double x1, double y1, double x2, double y2, double bend,
                  bool arrow, const report_pen *pen) {
    report_text *out = canvas->out;
    /* The control point of a quadratic curve, twice as far out as the curve itself gets. */
    double cx = (x1 + x2) / 2 + 2 * bend * (y1 - y2), cy = (y1 + y2) / 2 + 2 * bend * (x2 - x1);
    if (canvas->format == REPORT_SVG) {
        report_put(out, "<path d=\"M");
        const double number[] = {x1, y1, cx, cy, x2, y2};
        for (int i = 0; i < 6; i++) {
            if (i) report_put(out, i == 2 ? "Q" : " ");
            report_put_number(out, number[i]);
        }
        report_put(out, "\"");
        svg_pen(out, pen);
        svg_end(out, "path", pen);
    } else {
        tikz_pen(out, pen, "");
        tikz_point(out, x1, y1);
        /* The same curve as a cubic one. */
        report_put(out, "..controls ");
        tikz_point(out, x1 + 2 * (cx - x1) / 3, y1 + 2 * (cy - y1) / 3);
        report_put(out, " and ");
        tikz_point(out, x2 + 2 * (cx - x2) / 3, y2 + 2 * (cy - y2) / 3);
        report_put(out, "..");
        tikz_point(out, x2, y2);
        report_put(out, ";\n");
    }
    if (arrow) arrow_head(canvas, cx, cy, x2, y2, pen);
}

void report_rectangle(report_canvas *canvas, double x, double y, double width, double height,
                      const report_pen *pen) {
    report_text *out = canvas->out;
    if (canvas->format == REPORT_LATEX) {
        tikz_pen(out, pen, "");
        tikz_point(out, x, y);
        report_put(out, "rectangle");
        tikz_point(out, x + width, y + height);
        report_put(out, ";\n");
        return;
    }
    report_put(out, "<rect");
    put_attribute(out, "x", x);
    put_attribute(out, "y", y);
    put_attribute(out, "width", fmax(width, 0));
    put_attribute(out, "height", fmax(height, 0));
    svg_pen(out, pen);
    svg_end(out, "rect", pen);
}

void report_circle(report_canvas *canvas, double x, double y, double radius,
                   const report_pen *pen) {
    report_text *out = canvas->out;
    if (canvas->format == REPORT_LATEX) {
        tikz_pen(out, pen, "");
        tikz_point(out, x, y);
        report_put(out, "circle[radius=");
        report_put_number(out, 0.75 * radius);
        report_put(out, "pt];\n");
        return;
    }
    report_put(out, "<circle");
    put_attribute(out, "cx", x);
    put_attribute(out, "cy", y);
    put_attribute(out, "r", radius);
    svg_pen(out, pen);
    svg_end(out, "circle", pen);
}

/* The corners of the shapes that have some, on a circle of radius 1; all of about the same area. */
static const struct {
    int corners;
    double x[4], y[4];
} shapes[] = {
    [REPORT_SQUARE] = {4, {-0.88, 0.88, 0.88, -0.88}, {-0.88, -0.88, 0.88, 0.88}},
    [REPORT_TRIANGLE] = {3, {0, 1.16, -1.16, 0}, {-1.25, 0.85, 0.85, 0}},
    [REPORT_DIAMOND] = {4, {0, 1.25, 0, -1.25}, {-1.25, 0, 1.25, 0}},
    [REPORT_DOWN] = {3, {0, -1.16, 1.16, 0}, {1.25, -0.85, -0.85, 0}},
};

void report_mark(report_canvas *canvas, double x, double y, double radius, report_marker marker,
                 const report_pen *pen) {
    if (marker == REPORT_CIRCLE || marker >= REPORT_MARKERS) {
        report_circle(canvas, x, y, radius, pen);
        return;
    }
    if (marker == REPORT_CROSS || marker == REPORT_PLUS) {
        double across = marker == REPORT_CROSS ? 0.95 * radius : 0, along = 1.25 * radius;
        double dx = across > 0 ? across : along, nan = (double)NAN;
        const double px[] = {x - dx, x + dx, nan, x - across, x + across};
        const double py[] = {y - across, y + across, nan, y + (across > 0 ? across : along),
                             y - (across > 0 ? across : along)};
        report_pen cross = {.stroke = pen->fill ? pen->fill : pen->stroke,
                            .width = fmax(0.6 * radius, 1),
                            .opacity = pen->opacity,
                            .tip = pen->tip};
        report_polyline(canvas, 5, px, py, false, &cross);
        return;
    }
    double px[4], py[4];
    for (int i = 0; i < shapes[marker].corners; i++) {
        px[i] = x + radius * shapes[marker].x[i];
        py[i] = y + radius * shapes[marker].y[i];
    }
    report_polyline(canvas, shapes[marker].corners, px, py, true, pen);
}

/* ---- words ---------------------------------------------------------------------------------- */

static void tikz_words(report_canvas *canvas, double x, double y, const char *words,
                       const report_font *font) {
    static const char *const anchors[] = {"base west", "base", "base east"};
    report_text *out = canvas->out;
    double size = 0.75 * (font->size > 0 ? font->size : FONT_SIZE);
    report_putf(out, "\\node[anchor=%s,inner sep=0.5pt", anchors[font->anchor]);
    if (font->halo) report_put(out, ",fill=white,fill opacity=0.75,text opacity=1");
    if (font->colour > REPORT_INK) {
        report_put(out, ",text=");
        report_put_colour(out, REPORT_LATEX, font->colour);
    }
    if (font->turn != 0) {
        report_put(out, ",rotate=");
        report_put_number(out, -font->turn);
    }
    report_put(out, "] at ");
    tikz_point(out, x, y);
    report_put(out, " {\\fontsize{");
    report_put_number(out, size);
    report_put(out, "}{");
    report_put_number(out, 1.2 * size);
    report_putf(out, "}\\selectfont%s ", font->bold ? "\\bfseries" : "");
    report_put_latex(out, words);
    report_put(out, "};\n");
}

void report_words(report_canvas *canvas, double x, double y, const char *words,
                  const report_font *font) {
    static const char *const anchors[] = {"start", "middle", "end"};
    report_text *out = canvas->out;
    if (canvas->format == REPORT_LATEX) {
        tikz_words(canvas, x, y, words, font);
        return;
    }
    report_put(out, "<text");
    put_attribute(out, "x", x);
    put_attribute(out, "y", y);
    if (font->halo) report_put(out, " class=\"ps\"");
    report_put(out, " fill=\"");
    report_put_colour(out, REPORT_SVG, font->colour ? font->colour : REPORT_INK);
    report_put(out, "\"");
    if (font->halo)
        report_put(out, " stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\" "
                        "stroke-linejoin=\"round\"");
    if (font->anchor != REPORT_START)
        report_putf(out, " text-anchor=\"%s\"", anchors[font->anchor]);
    if (font->size > 0 && font->size != FONT_SIZE) put_attribute(out, "font-size", font->size);
    if (font->bold) report_put(out, " font-weight=\"bold\"");
    if (font->turn != 0) {
        report_put(out, " transform=\"rotate(");
        report_put_number(out, font->turn);
        report_put(out, " ");
        report_put_number(out, x);
        report_put(out, " ");
        report_put_number(out, y);
        report_put(out, ")\"");
    }
    report_put(out, ">");
    report_put_xml(out, words);
    report_put(out, "</text>\n");
}

/* Widths of characters in Helvetica and its like, as shares of the size; wide scripts are square. */
static double advance(const unsigned char *at) {
    if (*at >= 0xe3) return 1;
    if (*at >= 0x80) return 0.62;
    if (strchr("ijl|.,:;'!I ", *at)) return 0.3;
    if (strchr("frt()[]{}-/\\`\"", *at)) return 0.38;
    if (strchr("mwMW%@", *at)) return 0.9;
    if (*at >= 'A' && *at <= 'Z') return 0.72;
    return 0.57;
}

double report_words_width(const char *words, double size) {
    double width = 0;
    for (const unsigned char *at = (const unsigned char *)words; *at; at++)
        if ((*at & 0xc0) != 0x80) width += advance(at);
    return width * (size > 0 ? size : FONT_SIZE);
}

void report_words_fit(const char *words, double size, double width, char *out, size_t bytes) {
    static const char ellipsis[] = "\xe2\x80\xa6";
    size_t length = strlen(words);
    if (report_words_width(words, size) <= width && length < bytes) {
        memcpy(out, words, length + 1);
        return;
    }
    double used = size > 0 ? size : FONT_SIZE; /* the ellipsis */
    size_t kept = 0;
    for (size_t i = 0; i < length && words[i];) {
        size_t next = i + 1;
        while (((unsigned char)words[next] & 0xc0) == 0x80) next++;
        used += advance((const unsigned char *)words + i) * (size > 0 ? size : FONT_SIZE);
        if (used > width || next + sizeof ellipsis > bytes) break;
        kept = i = next;
    }
    while (kept > 0 && words[kept - 1] == ' ') kept--;
    memcpy(out, words, kept);
    memcpy(out + kept, ellipsis, sizeof ellipsis);
}
