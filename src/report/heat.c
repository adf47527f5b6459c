/* Heat maps: numbers as colours, with names beside them and the colours explained below. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void report_heat_range(const report_heat *heat, double *low, double *high) {
    *low = heat->low;
    *high = heat->high;
    if (heat->fixed) return;
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t i = 0; i < heat->rows * heat->columns; i++)
        if (isfinite(heat->value[i])) {
            *low = fmin(*low, heat->value[i]);
            *high = fmax(*high, heat->value[i]);
        }
    report_widen_range(heat->palette, low, high);
}

void report_widen_range(report_palette palette, double *low, double *high) {
    if (*low > *high) *low = 0, *high = 1;
    if (palette == REPORT_DIVERGING) {
        *high = fmax(fabs(*low), fabs(*high));
        if (*high <= 0) *high = 1;
        *low = -*high;
    } else if (*low >= 0 && *low < 0.5 * *high)
        *low = 0;
    if (*low == *high) *high = *low + 1;
}

/* ---- layout --------------------------------------------------------------------------------- */

typedef struct layout {
    double left, top;            /* of the cells, from the upper left of the map */
    double cell_x, cell_y;       /* size of a cell */
    double names_height;         /* of the column names, above the cells */
    bool turned;                 /* column names do not fit side by side */
    int every_row, every_column; /* names that are shown */
    double legend;               /* y of the legend */
    double height;
} layout;

enum { NAME_SIZE = 10, LEGEND_HEIGHT = 34 };

static double longest(const char *const *name, int64_t count) {
    double width = 0;
    for (int64_t i = 0; name && i < count; i++)
        width = fmax(width, report_words_width(name[i], NAME_SIZE));
    return width;
}

static bool has_numbers(const report_heat *heat) {
    return heat->format || heat->label;
}

static layout lay_out(const report_heat *heat, double width) {
    layout l = {.left = 2, .top = 2, .every_row = 1, .every_column = 1};
    if (heat->row_title) l.left += 16;
    if (heat->row_name) l.left += fmin(longest(heat->row_name, heat->rows), 0.3 * width) + 6;
    l.cell_x = fmin((width - l.left - 6) / (double)heat->columns, 56);
    double column_names = longest(heat->column_name, heat->columns);
    l.turned = column_names > l.cell_x - 2;
    l.every_column = l.turned && l.cell_x < 11 ? (int)ceil(11 / l.cell_x) : 1;
    if (heat->column_title) l.top += 15;
    if (heat->column_name) l.names_height = l.turned ? fmin(column_names, 0.3 * width) + 4 : 14;
    l.top += l.names_height;
    /* Cells that hold numbers are as high as text; many rows become thin. */
    double most = has_numbers(heat) ? 30 : 22, least = has_numbers(heat)  ? 16
                                                       : heat->rows <= 12 ? 14
                                                                          : 3;
    l.cell_y = fmax(fmin(fmin(l.cell_x, most), 320.0 / (double)heat->rows), least);
    l.every_row = l.cell_y < 11 ? (int)ceil(11 / l.cell_y) : 1;
    l.legend = l.top + l.cell_y * (double)heat->rows + 10;
    l.height = l.legend + LEGEND_HEIGHT;
    return l;
}

double report_heat_height(const report_heat *heat, double width) {
    return lay_out(heat, width).height;
}

/* ---- drawing -------------------------------------------------------------------------------- */

static void draw_names(report_canvas *canvas, const report_heat *heat, const layout *l, double x,
                       double y) {
    char shown[128];
    double room = l->left - (heat->row_title ? 16 : 0) - 6;
    for (int64_t r = 0; heat->row_name && r < heat->rows; r += l->every_row) {
        report_words_fit(heat->row_name[r], NAME_SIZE, room, shown, sizeof shown);
        report_words(canvas, x + l->left - 5, y + l->top + l->cell_y * ((double)r + 0.5) + 3.5,
                     shown, &(report_font){.size = NAME_SIZE, .anchor = REPORT_END});
    }
    for (int64_t c = 0; heat->column_name && c < heat->columns; c += l->every_column) {
        double at = x + l->left + l->cell_x * ((double)c + 0.5);
        report_words_fit(heat->column_name[c], NAME_SIZE,
                         l->turned ? l->names_height - 2 : l->cell_x, shown, sizeof shown);
        report_words(canvas, l->turned ? at + 3.5 : at, y + l->top - 4, shown,
                     &(report_font){.size = NAME_SIZE,
                                    .anchor = l->turned ? REPORT_START : REPORT_MIDDLE,
                                    .turn = l->turned ? -90 : 0});
    }
    double middle = x + l->left + l->cell_x * (double)heat->columns / 2;
    if (heat->column_title)
        report_words(canvas, middle, y + 11, heat->column_title,
                     &(report_font){.anchor = REPORT_MIDDLE});
    if (heat->row_title)
        report_words(canvas, x + 11, y + l->top + l->cell_y * (double)heat->rows / 2,
                     heat->row_title, &(report_font){.anchor = REPORT_MIDDLE, .turn = -90});
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the format of a caller of ours */
bool report_heat_words(const report_heat *heat, int64_t i, char *out, size_t bytes) {
    if (heat->label)
        snprintf(out, bytes, "%s", heat->label[i]);
    else if (heat->format)
        snprintf(out, bytes, heat->format, heat->value[i]);
    return has_numbers(heat);
}
#pragma GCC diagnostic pop

static void draw_cell(report_canvas *canvas, const report_heat *heat, const layout *l, int64_t i,
                      double share, double x, double y) {
    char number[48] = "", words[48], tip[192];
    int64_t r = i / heat->columns, c = i % heat->columns;
    report_colour colour = report_palette_colour(heat->palette, share);
    report_format_number(heat->value[i], number);
    snprintf(tip, sizeof tip, "%.60s%s%.60s%s%s", heat->row_name ? heat->row_name[r] : "",
             heat->row_name && heat->column_name ? ", " : "",
             heat->column_name ? heat->column_name[c] : "",
             heat->row_name || heat->column_name ? ": " : "", number);
    /* Half a pixel more than the cell: no seams of background between cells. */
    report_rectangle(canvas, x, y, l->cell_x + 0.3, l->cell_y + 0.3,
                     &(report_pen){.fill = colour, .tip = heat->tip ? heat->tip[i] : tip});
    if (!report_heat_words(heat, i, words, sizeof words)) return;
    report_words_fit(words, 8, heat->label ? l->cell_x - 1 : INFINITY, number, sizeof number);
    double size = report_words_width(number, NAME_SIZE) <= l->cell_x - 2 ? NAME_SIZE : 8;
    if (report_words_width(number, size) > l->cell_x) return;
    report_words(
        canvas, x + l->cell_x / 2, y + l->cell_y / 2 + 3.5, number,
        &(report_font){.size = size, .anchor = REPORT_MIDDLE, .colour = report_contrast(colour)});
}

/* Thousands of cells without names: a path for each of 64 colours, a tenth of the bytes. */
static void draw_dense(report_canvas *canvas, const report_heat *heat, const layout *l, double low,
                       double high, double left, double top) {
    enum { LEVELS = 64 };
    report_text *out = canvas->out;
    for (int level = 0; level < LEVELS; level++) {
        bool any = false;
        for (int64_t i = 0; i < heat->rows * heat->columns; i++) {
            double share = (heat->value[i] - low) / (high - low);
            if (!isfinite(share) || (int)fmin(fmax(share * LEVELS, 0), LEVELS - 1) != level)
                continue;
            report_put(out, any ? "M" : "<path d=\"M");
            report_put_number(out, left + l->left + l->cell_x * (double)(i % heat->columns));
            report_put(out, " ");
            report_put_number(out, top + l->top + l->cell_y * (double)(i / heat->columns));
            report_put(out, "h");
            report_put_number(out, l->cell_x + 0.1);
            report_put(out, "v");
            report_put_number(out, l->cell_y + 0.1);
            report_put(out, "h-");
            report_put_number(out, l->cell_x + 0.1);
            report_put(out, "z");
            any = true;
        }
        if (!any) continue;
        report_put(out, "\" fill=\"");
        report_put_colour(out, REPORT_SVG,
                          report_palette_colour(heat->palette, (level + 0.5) / LEVELS));
        report_put(out, "\"/>\n");
    }
}

void report_colour_bar(report_canvas *canvas, report_palette palette, double low, double high,
                       const char *title, double x, double y, double width) {
    enum { STEPS = 48 };
    double step = width / STEPS;
    for (int i = 0; i < STEPS; i++)
        report_rectangle(
            canvas, x + i * step, y, fmin(2 * step, width - i * step), 8,
            &(report_pen){.fill = report_palette_colour(palette, ((double)i + 0.5) / STEPS)});
    char label[24];
    for (int i = 0; i <= 2; i++) {
        double value = low + (high - low) * i / 2;
        snprintf(label, sizeof label, fabs(value) >= 1000 ? "%.0f" : "%.3g", value);
        report_words(canvas, x + width * i / 2, y + 19, label,
                     &(report_font){.size = NAME_SIZE, .anchor = (report_anchor)i});
    }
    if (title)
        report_words(canvas, x + width / 2, y + 31, title,
                     &(report_font){.size = NAME_SIZE, .anchor = REPORT_MIDDLE});
}

void report_heat_draw(report_canvas *canvas, const report_heat *heat, double left, double top,
                      double width) {
    double low, high;
    report_heat_range(heat, &low, &high);
    layout l = lay_out(heat, width);
    draw_names(canvas, heat, &l, left, top);
    bool dense = canvas->format == REPORT_SVG && !has_numbers(heat) && !heat->tip &&
                 heat->rows * heat->columns > 1000;
    if (dense) draw_dense(canvas, heat, &l, low, high, left, top);
    for (int64_t i = 0; !dense && i < heat->rows * heat->columns; i++)
        if (isfinite(heat->value[i]))
            draw_cell(canvas, heat, &l, i, (heat->value[i] - low) / (high - low),
                      left + l.left + l.cell_x * (double)(i % heat->columns),
                      top + l.top + l.cell_y * (double)(i / heat->columns));
    report_rectangle(canvas, left + l.left, top + l.top, l.cell_x * (double)heat->columns,
                     l.cell_y * (double)heat->rows,
                     &(report_pen){.stroke = REPORT_INK, .width = 0.75, .opacity = 0.5});
    double bar = fmin(fmax(l.cell_x * (double)heat->columns, 120), 220);
    report_colour_bar(canvas, heat->palette, low, high, heat->value_title,
                      left + fmax(2, fmin(l.left, width - bar - 8)), top + l.legend, bar);
}
