/* What is between the axes: bands, lines, bars, whiskers, points. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Room for the points of the longest series, once per chart. */
typedef struct scratch {
    double *x, *y;
} scratch;

/* ---- lines and bands ------------------------------------------------------------------------ */

/* The points of a line in pixels, into room for 2 count + 2. A line that has more than two points per
 * pixel column keeps the lowest and the highest of each: it looks the same. */
static int64_t line_points(const report_chart *chart, const report_series *series,
                           const report_frame *frame, scratch at) {
    bool dense = (double)series->count > 3 * frame->width;
    int64_t count = 0;
    for (int64_t i = 0; i < series->count; i++) {
        bool has = report_chart_has(chart, series, i);
        double x = has ? report_frame_x(frame, report_series_x(series, i)) : (double)NAN;
        double y = has ? report_frame_y(frame, series->y[i]) : (double)NAN;
        if (dense && has && count >= 2 && floor(at.x[count - 1]) == floor(x) &&
            floor(at.x[count - 2]) == floor(x)) {
            int low = at.y[count - 1] < at.y[count - 2] ? 1 : 2, high = 3 - low;
            if (y < at.y[count - low])
                at.y[count - low] = y;
            else if (y > at.y[count - high])
                at.y[count - high] = y;
            continue;
        }
        at.x[count] = x;
        at.y[count++] = y;
    }
    return count;
}

static void draw_band(report_canvas *canvas, const report_chart *chart, const report_series *series,
                      const report_frame *frame, report_colour colour, scratch at) {
    int64_t count = 0;
    for (int side = 0; side < 2; side++)
        for (int64_t n = 0; n < series->count; n++) {
            int64_t i = side ? series->count - 1 - n : n;
            double y = side ? series->low[i] : series->high[i];
            if (!report_chart_has(chart, series, i) || !isfinite(y)) continue;
            if (y <= 0 && frame->scale_y != REPORT_LINEAR) y = frame->low_y;
            at.x[count] = report_frame_x(frame, report_series_x(series, i));
            at.y[count++] = report_frame_y(frame, y);
        }
    if (count > 2)
        report_polyline(canvas, count, at.x, at.y, true,
                        &(report_pen){.fill = colour, .opacity = 0.18});
}

/* ---- points --------------------------------------------------------------------------------- */

static void tip_of(const report_series *series, int64_t i, char *out, size_t bytes) {
    char x[24], y[24], low[24], high[24];
    report_format_number(report_series_x(series, i), x);
    report_format_number(series->y[i], y);
    int used = snprintf(out, bytes, "%.80s%s%s, %s", series->name ? series->name : "",
                        series->name ? ": " : "", x, y);
    if (!series->low || !series->high || used < 0 || (size_t)used >= bytes) return;
    report_format_number(series->low[i], low);
    report_format_number(series->high[i], high);
    snprintf(out + used, bytes - (size_t)used, " (%s to %s)", low, high);
}

static void draw_whiskers(report_canvas *canvas, const report_frame *frame,
                          const report_series *series, int64_t i, double x, const report_pen *pen) {
    if (!series->low || !series->high || !isfinite(series->low[i]) || !isfinite(series->high[i]))
        return;
    double low = report_frame_y(frame, series->low[i]);
    double high = report_frame_y(frame, series->high[i]);
    report_line(canvas, x, low, x, high, pen);
    report_line(canvas, x - 3, low, x + 3, low, pen);
    report_line(canvas, x - 3, high, x + 3, high, pen);
}

static void draw_points(report_canvas *canvas, const report_chart *chart,
                        const report_series *series, const report_frame *frame, int place) {
    report_style style = report_series_style(series, place);
    unsigned draw = report_series_draw(series);
    bool line = (draw & REPORT_DRAW_LINE) != 0;
    double radius = draw & REPORT_DRAW_SMALL ? 1.8 : 3.2;
    /* Some points of a long line, of each series others, so that they do not hide each other. */
    int64_t every = line && series->count > 24 ? series->count / 8 : 1;
    int64_t first = every > 1 ? every * (place % 4) / 4 : 0;
    double faint = draw & REPORT_DRAW_FAINT ? 0.35 : draw & REPORT_DRAW_SMALL ? 0.75 : 1;
    for (int64_t i = first; i < series->count; i += every) {
        if (!report_chart_has(chart, series, i)) continue;
        char tip[256];
        if (!series->tip) tip_of(series, i, tip, sizeof tip);
        report_mark(canvas, report_frame_x(frame, report_series_x(series, i)),
                    report_frame_y(frame, series->y[i]), radius, style.marker,
                    &(report_pen){.fill = style.colour,
                                  .opacity = faint,
                                  .tip = !series->tip ? tip : series->tip[i]});
    }
}

/* ---- bars ----------------------------------------------------------------------------------- */

/* Bars of several series stand beside each other. */
static void draw_bars(report_canvas *canvas, const report_chart *chart, const report_series *series,
                      const report_frame *frame, int place) {
    int sets = 0, set = 0;
    for (int s = 0; s < chart->count; s++) {
        if (s == place) set = sets;
        sets += (report_series_draw(&chart->series[s]) & REPORT_DRAW_BARS) != 0;
    }
    bool across = frame->scale_y == REPORT_NAMES;
    report_style style = report_series_style(series, place);
    double slot = 1;
    if (frame->scale_x != REPORT_NAMES && !across && series->count > 1)
        slot = fabs(report_series_x(series, 1) - report_series_x(series, 0));
    double unit = fabs(across ? report_frame_y(frame, slot) - report_frame_y(frame, 0)
                              : report_frame_x(frame, frame->low_x + slot) - frame->left);
    double thick = fmax(0.8 * unit / sets, 0.5);
    for (int64_t i = 0; i < series->count; i++) {
        if (!report_chart_has(chart, series, i)) continue;
        char tip[256];
        if (!series->tip) tip_of(series, i, tip, sizeof tip);
        report_pen pen = {.fill = style.colour,
                          .opacity = report_series_draw(series) & REPORT_DRAW_FAINT ? 0.45 : 0,
                          .tip = series->tip ? series->tip[i] : tip};
        double shift = (set - (sets - 1) / 2.0) * thick - thick / 2;
        if (across) {
            double zero = report_frame_x(frame, fmax(frame->low_x, fmin(0, frame->high_x)));
            double x = report_frame_x(frame, report_series_x(series, i));
            report_rectangle(canvas, fmin(zero, x), report_frame_y(frame, series->y[i]) + shift,
                             fabs(x - zero), thick, &pen);
        } else {
            double floor_at = frame->scale_y == REPORT_LINEAR
                                  ? fmax(frame->low_y, fmin(0, frame->high_y))
                                  : frame->low_y;
            double zero = report_frame_y(frame, floor_at);
            double y = report_frame_y(frame, series->y[i]);
            double x = report_frame_x(frame, report_series_x(series, i)) + shift;
            report_rectangle(canvas, x, fmin(zero, y), thick, fabs(y - zero), &pen);
            draw_whiskers(canvas, frame, series, i, x + thick / 2,
                          &(report_pen){.stroke = REPORT_INK, .width = 1.25});
        }
    }
}

/* ---- all ------------------------------------------------------------------------------------ */

static void draw_one(report_canvas *canvas, const report_chart *chart, const report_frame *frame,
                     int place, scratch at) {
    const report_series *series = &chart->series[place];
    report_style style = report_series_style(series, place);
    unsigned draw = report_series_draw(series);
    if (draw & REPORT_DRAW_BARS) {
        draw_bars(canvas, chart, series, frame, place);
        return;
    }
    bool interval = series->low && series->high;
    if (interval && !(draw & REPORT_DRAW_WHISKERS))
        draw_band(canvas, chart, series, frame, style.colour, at);
    if (draw & REPORT_DRAW_LINE) {
        int64_t count = line_points(chart, series, frame, at);
        report_polyline(canvas, count, at.x, at.y, false,
                        &(report_pen){.stroke = style.colour,
                                      .width = draw & REPORT_DRAW_FAINT ? 1 : 1.75,
                                      .dash = style.dash,
                                      .opacity = draw & REPORT_DRAW_FAINT ? 0.45 : 1,
                                      .tip = series->name});
    }
    for (int64_t i = 0; interval && (draw & REPORT_DRAW_WHISKERS) && i < series->count; i++)
        if (report_chart_has(chart, series, i))
            draw_whiskers(canvas, frame, series, i,
                          report_frame_x(frame, report_series_x(series, i)),
                          &(report_pen){.stroke = style.colour, .width = 1.25});
    if (draw & REPORT_DRAW_POINTS) draw_points(canvas, chart, series, frame, place);
}

void report_series_draw_all(report_canvas *canvas, const report_chart *chart,
                            const report_frame *frame) {
    int64_t most = 0;
    for (int s = 0; s < chart->count; s++)
        most = chart->series[s].count > most ? chart->series[s].count : most;
    size_t room = 2 * (size_t)most + 2;
    scratch at = {malloc(room * sizeof *at.x), malloc(room * sizeof *at.y)};
    if (at.x && at.y)
        for (int s = 0; s < chart->count; s++) draw_one(canvas, chart, frame, s, at);
    else
        canvas->out->failed = true;
    free(at.x);
    free(at.y);
}
