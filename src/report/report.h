/* Charts and pages. What comes in are numbers and names; what goes out is text: SVG for pages and
 * files, pgfplots and TikZ for papers, HTML that needs nothing from outside. The room knows the
 * public header only and prints nothing; src/cli and src/experiments come next.
 *
 * A chart is described once (report_chart) and drawn by either back end. Pictures that are no charts
 * (graphs, operators) are drawn with the primitives of a report_canvas, which has the same two.
 *
 * Errors. Memory that runs out is remembered in the text (report_text.failed) and told once, by
 * report_text_write(). Numbers that are not finite are left out. */
#ifndef PGCN_REPORT_H
#define PGCN_REPORT_H

#include "pathgcn/pathgcn.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- text.c: a text that grows -------------------------------------------------------------- */

/* Starts as {0}. */
typedef struct report_text {
    char *bytes; /* ends with NUL; NULL while it is empty */
    size_t length, room;
    bool failed; /* memory ran out: the rest is missing */
} report_text;
void report_put(report_text *text, const char *piece); /* as it is */
void report_put_bytes(report_text *text, const char *piece, size_t bytes);
void report_vputf(report_text *text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
void report_putf(report_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Content or attribute of XML and HTML. Control characters are made visible (pgcn_text_printable),
 * and bytes that are not UTF-8 become U+FFFD. */
void report_put_xml(report_text *text, const char *words);
/* The same for text in a LaTeX document. */
void report_put_latex(report_text *text, const char *words);
/* A coordinate: at most two decimals, no zeros after them. */
void report_put_number(report_text *text, double value);
/* PGCN_ERR_MEMORY if a piece is missing; else as pgcn_file_write(). */
pgcn_status report_text_write(const report_text *text, const char *path);
void report_text_free(report_text *text);

/* ---- colours.c ------------------------------------------------------------------------------ */

/* 0 is none. Ink is the colour of text (black on light, white on dark pages), paper what is behind. */
typedef uint32_t report_colour;
#define REPORT_NONE     ((report_colour)0)
#define REPORT_INK      ((report_colour)1)
#define REPORT_PAPER    ((report_colour)2)
#define REPORT_RGB(hex) ((report_colour)(0x1000000u | (uint32_t)(hex)))

typedef enum report_marker {
    REPORT_CIRCLE,
    REPORT_SQUARE,
    REPORT_TRIANGLE,
    REPORT_DIAMOND,
    REPORT_CROSS,
    REPORT_DOWN, /* a triangle on its tip */
    REPORT_PLUS
} report_marker;
#define REPORT_MARKERS 7

/* How series or class `index` looks: a colour of Okabe and Ito without yellow, and besides it a shape
 * and a dash, so that colour never tells alone. Any index >= 0; colours repeat after 7. */
typedef struct report_style {
    report_colour colour;
    report_marker marker;
    const char *dash; /* lengths of dashes and gaps: "6 3"; NULL: a solid line */
} report_style;
report_style report_style_of(int index);

/* Colours of numbers; both have equal steps of lightness, and are told apart without red and green. */
typedef enum report_palette {
    REPORT_SEQUENTIAL, /* light to dark blue: from `low` to `high` */
    REPORT_DIVERGING   /* blue, white, orange: symmetric around 0 */
} report_palette;
report_colour report_palette_colour(report_palette palette, double share); /* 0 .. 1 */
/* Ink on it: black or white, whichever is read better. */
report_colour report_contrast(report_colour behind);

/* ---- canvas.c: primitives, as SVG or TikZ --------------------------------------------------- */

typedef enum report_format { REPORT_SVG, REPORT_LATEX } report_format;

/* Coordinates are pixels from the upper left; a pixel is 0.75 pt on paper. */
typedef struct report_canvas {
    report_text *out;
    report_format format;
    double width, height;
    bool fitted; /* report_fit_open() is to be closed */
} report_canvas;

/* What a shape is drawn with. What is 0 or NULL is not there, but for opacity (1) and width (1.5). */
typedef struct report_pen {
    report_colour stroke, fill;
    double width, opacity;
    const char *dash;
    const char *tip; /* shown by browsers when the pointer rests on it */
} report_pen;

typedef enum report_anchor { REPORT_START, REPORT_MIDDLE, REPORT_END } report_anchor;
typedef struct report_font {
    double size; /* 0: 11 */
    report_anchor anchor;
    report_colour colour; /* none: ink */
    double turn;          /* degrees, clockwise, around its place */
    bool bold;
    bool halo; /* with a rim of paper, to be read on lines */
} report_font;

/* Begins a picture. about: what a reader who cannot see it is told; in SVG the label of the image.
 * A picture in a file of its own (`alone`) has its own name space and colours for light and dark. */
report_canvas report_canvas_open(report_text *out, report_format format, double width,
                                 double height, const char *about, bool alone);
void report_canvas_close(report_canvas *canvas);
void report_line(report_canvas *canvas, double x1, double y1, double x2, double y2,
                 const report_pen *pen);
/* A line through all points (`closed`: and back). Points that are not finite break an open one. */
void report_polyline(report_canvas *canvas, int64_t count, const double *x, const double *y,
                     bool closed, const report_pen *pen);
/* A curve from one point to another, bent sideways by `bend` times their distance; arrow: its head. */
void report_curve(report_canvas *canvas, double x1, double y1, double x2, double y2, double bend,
                  bool arrow, const report_pen *pen);
void report_rectangle(report_canvas *canvas, double x, double y, double width, double height,
                      const report_pen *pen);
void report_circle(report_canvas *canvas, double x, double y, double radius, const report_pen *pen);
void report_mark(report_canvas *canvas, double x, double y, double radius, report_marker marker,
                 const report_pen *pen);
/* y is the base line of the words. */
void report_words(report_canvas *canvas, double x, double y, const char *words,
                  const report_font *font);
/* About how wide words of this size are in a sans-serif font; meant to be too large rather than too
 * small. */
double report_words_width(const char *words, double size);
/* Words cut to a width, with an ellipsis if something is missing. */
void report_words_fit(const char *words, double size, double width, char *out, size_t bytes);

/* ---- ticks.c -------------------------------------------------------------------------------- */

typedef enum report_scale {
    REPORT_LINEAR,
    REPORT_LOG2,
    REPORT_LOG10,
    REPORT_NAMES /* places 0, 1, ... with names */
} report_scale;

#define REPORT_MOST_TICKS 32
typedef struct report_ticks {
    int count;
    double at[REPORT_MOST_TICKS];
    char label[REPORT_MOST_TICKS][24];
} report_ticks;
/* About `wanted` ticks (at least 2) from low to high at round numbers. Logarithmic: at powers, and
 * within a decade or two at 2 and 5 too. */
report_ticks report_ticks_between(double low, double high, report_scale scale, int wanted);
/* A number as text that people read: 5 significant digits at most, "1.2e-05" only for tiny ones. */
void report_format_number(double value, char out[24]);

/* ---- chart.c, heat.c, latex.c --------------------------------------------------------------- */

typedef struct report_axis {
    const char *title; /* NULL: none */
    report_scale scale;
    bool fixed; /* from low to high; else what the data has, with a margin */
    double low, high;
    bool from_zero;          /* 0 belongs to it, where it is not fixed */
    const char *const *name; /* [names], of REPORT_NAMES: place i */
    int names;
    bool hidden; /* no ticks and labels: the numbers mean nothing (PCA) */
} report_axis;

/* How a series is drawn, as flags. */
typedef enum report_draw {
    REPORT_DRAW_LINE = 1,
    REPORT_DRAW_POINTS = 2,   /* on a line of many points some of them: shapes tell series apart */
    REPORT_DRAW_BARS = 4,     /* from 0; horizontal where the y axis has names */
    REPORT_DRAW_WHISKERS = 8, /* low and high as whiskers; else they are a band */
    REPORT_DRAW_SMALL = 16,   /* small points, of thousands */
    REPORT_DRAW_FAINT = 32    /* what is there to compare with */
} report_draw;

typedef struct report_series {
    const char *name; /* in the legend; NULL: not there */
    int64_t count;
    const double *x, *y;      /* [count]; x NULL: 0, 1, ... NaN is left out */
    const double *low, *high; /* [count] an interval around y; NULL: none */
    const char *const *tip; /* [count] of each point; NULL: of lines its name, of others numbers */
    unsigned draw;          /* report_draw; 0: a line */
    int style;              /* 1 + index for report_style_of(); 0: by its place */
    report_colour colour;   /* instead of that of the style; none: as of the style */
} report_series;

/* A line across the plot: the chosen epoch, the accuracy of the majority class. */
typedef struct report_rule {
    double at;
    bool vertical;     /* at x; else at y */
    bool diagonal;     /* y = x; `at` is not looked at */
    const char *label; /* NULL: none */
} report_rule;

/* Numbers as colours: value[row * columns + column], row 0 on top. NaN is left empty. */
typedef struct report_heat {
    int64_t rows, columns;
    const double *value;
    report_palette palette;
    bool fixed; /* colours from low to high; else from the smallest to the largest, diverging ones
                   symmetric around 0 */
    double low, high;
    const char *format; /* writes the numbers into cells that have room: "%.2f"; NULL: no */
    const char *const *row_name;          /* [rows] or NULL */
    const char *const *column_name;       /* [columns] or NULL */
    const char *row_title, *column_title; /* of the axes; or NULL */
    const char *value_title;              /* of the colours; or NULL */
    const char *const *tip;               /* [rows * columns] or NULL */
    const char *const
        *label; /* [rows * columns] what cells that have room say, instead of `format` */
} report_heat;

typedef enum report_legend {
    REPORT_LEGEND_BELOW, /* where a series has a name */
    REPORT_LEGEND_ENDS,  /* names at the ends of lines; below where they would not fit */
    REPORT_LEGEND_NONE
} report_legend;

#define REPORT_CHART_WIDTH  360
#define REPORT_CHART_HEIGHT 240
typedef struct report_chart {
    const char *about; /* one sentence: what it shows, for those who cannot see it */
    double width,
        height; /* pixels; 0: REPORT_CHART_WIDTH, REPORT_CHART_HEIGHT, which is read well on
                             a telephone. Legend and names are within them, but heat maps grow */
    report_axis x, y;
    const report_series *series;
    int count;
    const report_rule *rule;
    int rules;
    report_legend legend;
    const report_heat *heat; /* a heat map instead of axes and series */
} report_chart;

/* Appends it: an svg element; pgfplots code, a tikzpicture. `alone`: a file of its own. */
void report_chart_svg(report_text *out, const report_chart *chart, bool alone);
void report_chart_latex(report_text *out, const report_chart *chart, bool alone);
/* Draws it into a part of a picture, of chart->width and height, as a panel of a larger figure. */
void report_chart_draw(report_canvas *canvas, const report_chart *chart, double left, double top);

/* ---- page.c: an HTML page ------------------------------------------------------------------- */

/* A page in one file: its content security policy allows nothing from outside, it needs no scripts,
 * and it is well-formed XML too. With `svg` or `latex` every figure is also a file in these folders,
 * NAME.svg and NAME.tex. Starts as {.svg = ..., .latex = ...}; fields are the page's own otherwise. */
typedef struct report_page {
    report_text text;
    const char *svg, *latex; /* folders, which exist; or NULL */
    pgcn_status status;      /* of the files; the first error stays */
    const char *columns;     /* of the table that is open */
    int column;
} report_page;
void report_page_open(report_page *page, const char *title);
/* Ends the page and writes it. PGCN_ERR_MEMORY, or an error of a file (pgcn_last_error()). */
pgcn_status report_page_close(report_page *page, const char *path);
void report_page_free(report_page *page);

/* A section with a heading, which a list of contents can link to by its id. */
void report_section_open(report_page *page, const char *id, const char *title);
void report_section_close(report_page *page);
/* What is read by those who want to know: closed until it is clicked at. */
void report_details_open(report_page *page, const char *summary);
void report_details_close(report_page *page);
/* A paragraph, the first one in larger letters, code, a remark that must not be missed. All escape
 * their text. */
void report_paragraph(report_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void report_lead(report_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_code(report_page *page, const char *text);
void report_remark(report_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Numbers that say most: tiles beside each other. */
void report_tiles_open(report_page *page);
void report_tile(report_page *page, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_tiles_close(report_page *page);
/* Links to the sections that follow: ids and titles in turn, NULL at the end. */
void report_contents(report_page *page, const char *const *id_and_title);

/* Tables scroll in their box where they are too wide. heads: "name|>number|...", > for numbers, which
 * stand to the right; borrowed until the table is closed. Cells come row by row, and are escaped. */
void report_table_open(report_page *page, const char *heads);
void report_cell(report_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_table_close(report_page *page);

/* Figures stand beside each other where there is room. name: of the files, letters and digits. */
void report_figures_open(report_page *page);
void report_figure(report_page *page, const char *name, const char *caption,
                   const report_chart *chart);
/* The same for a picture that is no chart: draw() is called for every form it is needed in. */
typedef struct report_picture {
    double width, height;
    const char *about;
    void (*draw)(report_canvas *canvas, void *context);
    void *context;
} report_picture;
void report_drawing(report_page *page, const char *name, const char *caption,
                    const report_picture *picture);
void report_figures_close(report_page *page);
/* Data for programs: a JSON document, in a block that browsers neither show nor run. */
void report_data(report_page *page, const char *id, const char *json);

/* ---- pca.c ---------------------------------------------------------------------------------- */

/* The first two principal components of rows [rows, columns]: place [rows, 2], and how much of the
 * variance each has. The same numbers from the same input: nothing is drawn. Signs are chosen so that
 * the largest weight of a component is positive. False: out of memory, or nothing to see (fewer than
 * two rows, no variance, numbers that are not finite). */
bool report_pca(int64_t rows, int64_t columns, const float *value, double *place, double share[2]);

/* ---- between these files -------------------------------------------------------------------- */

void report_put_colour(report_text *out, report_format format, report_colour colour);
void report_put_dash(report_text *out, const char *dash); /* ",dash pattern=..." of TikZ */

/* The rectangle that data is drawn in, and what it shows. */
typedef struct report_frame {
    double left, top, width, height;
    double low_x, high_x, low_y, high_y;
    report_scale scale_x, scale_y;
} report_frame;
double report_frame_x(const report_frame *frame, double value);
double report_frame_y(const report_frame *frame, double value);
/* The range of an axis with what the series have on it. */
void report_chart_range(const report_chart *chart, bool of_x, double *low, double *high);
double report_series_x(const report_series *series, int64_t i); /* i where it has no x */
/* Whether all numbers of a point can be drawn on these scales. */
bool report_chart_has(const report_chart *chart, const report_series *series, int64_t i);
report_style report_series_style(const report_series *series, int place);
unsigned report_series_draw(const report_series *series);
/* What a palette shows of numbers from low to high: diverging ones symmetric around 0, never an empty range. */
void report_widen_range(report_palette palette, double *low, double *high);
/* A bar of the colours with numbers and a title below it, 32 high. */
void report_colour_bar(report_canvas *canvas, report_palette palette, double low, double high,
                       const char *title, double x, double y, double width);
/* The range of the colours. */
void report_heat_range(const report_heat *heat, double *low, double *high);
double report_heat_height(const report_heat *heat, double width); /* with names and legend */
/* What cell i says; false: cells say nothing. */
bool report_heat_words(const report_heat *heat, int64_t i, char *out, size_t bytes);
/* Begins TikZ code that is not to be wider than its column; a brace ends it. */
void report_fit_open(report_text *out);
void report_heat_draw(report_canvas *canvas, const report_heat *heat, double left, double top,
                      double width);
void report_series_draw_all(report_canvas *canvas, const report_chart *chart,
                            const report_frame *frame);

#endif
