/* Charts: where axes, names and legend go, and the axes themselves. series.c draws what is between. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranges --------------------------------------------------------------------------------- */

unsigned report_series_draw(const report_series *series) {
    unsigned shapes = REPORT_DRAW_LINE | REPORT_DRAW_POINTS | REPORT_DRAW_BARS;
    return series->draw & shapes ? series->draw : series->draw | REPORT_DRAW_LINE;
}

report_style report_series_style(const report_series *series, int place) {
    report_style style = report_style_of(series->style > 0 ? series->style - 1 : place);
    if (series->colour) style.colour = series->colour;
    return style;
}

double report_series_x(const report_series *series, int64_t i) {
    return series->x ? series->x[i] : (double)i;
}

static bool fits(const report_axis *axis, double value) {
    return isfinite(value) &&
           (value > 0 || axis->scale == REPORT_LINEAR || axis->scale == REPORT_NAMES);
}

bool report_chart_has(const report_chart *chart, const report_series *series, int64_t i) {
    return fits(&chart->x, report_series_x(series, i)) && fits(&chart->y, series->y[i]);
}

static void include(const report_axis *axis, double value, double *low, double *high) {
    if (!fits(axis, value)) return;
    *low = fmin(*low, value);
    *high = fmax(*high, value);
}

/* A margin, in what the axis shows. */
static void widen(report_scale scale, double share, double *low, double *high) {
    if (scale == REPORT_LINEAR) {
        double margin = share * (*high - *low);
        if (*low == *high) margin = *low != 0 ? 0.1 * fabs(*low) : 1;
        *low -= margin;
        *high += margin;
    } else {
        double factor = *low == *high ? 1.5 : pow(*high / *low, share);
        *low /= factor;
        *high *= factor;
    }
}

void report_chart_range(const report_chart *chart, bool of_x, double *low, double *high) {
    const report_axis *axis = of_x ? &chart->x : &chart->y;
    bool bars = false, line_only = true;
    *low = INFINITY;
    *high = -INFINITY;
    for (int s = 0; s < chart->count; s++) {
        const report_series *series = &chart->series[s];
        unsigned draw = report_series_draw(series);
        bars |= (draw & REPORT_DRAW_BARS) != 0;
        line_only &= (draw & (REPORT_DRAW_BARS | REPORT_DRAW_POINTS)) == 0;
        for (int64_t i = 0; i < series->count; i++) {
            if (!report_chart_has(chart, series, i)) continue;
            include(axis, of_x ? report_series_x(series, i) : series->y[i], low, high);
            if (!of_x && series->low) include(axis, series->low[i], low, high);
            if (!of_x && series->high) include(axis, series->high[i], low, high);
        }
    }
    for (int r = 0; r < chart->rules; r++)
        if (!chart->rule[r].diagonal && chart->rule[r].vertical == of_x)
            include(axis, chart->rule[r].at, low, high);
    if (axis->fixed) *low = axis->low, *high = axis->high;
    if (axis->scale == REPORT_NAMES) *low = -0.5, *high = axis->names - 0.5;
    if (*low > *high) *low = axis->scale == REPORT_LINEAR ? 0 : 1, *high = *low + 1;
    if (axis->fixed || axis->scale == REPORT_NAMES) {
        if (*low == *high) *high = *low + 1;
        return;
    }
    /* Bars are read from 0 on. */
    bool along = bars && of_x == (chart->y.scale == REPORT_NAMES);
    bool zero = (along || axis->from_zero) && axis->scale == REPORT_LINEAR;
    if (zero) *low = fmin(*low, 0), *high = fmax(*high, 0);
    double kept_low = *low, kept_high = *high;
    widen(axis->scale, of_x && line_only ? 0 : 0.05, low, high);
    if (zero && kept_low == 0 && kept_high > 0) *low = 0;
    if (zero && kept_high == 0 && kept_low < 0) *high = 0;
}

static double share_of(report_scale scale, double low, double high, double value) {
    if (scale == REPORT_LINEAR || scale == REPORT_NAMES) return (value - low) / (high - low);
    return log(value / low) / log(high / low);
}

double report_frame_x(const report_frame *frame, double value) {
    return frame->left +
           frame->width * share_of(frame->scale_x, frame->low_x, frame->high_x, value);
}

/* Names of the y axis are read from the top. */
double report_frame_y(const report_frame *frame, double value) {
    double share = share_of(frame->scale_y, frame->low_y, frame->high_y, value);
    return frame->top + frame->height * (frame->scale_y == REPORT_NAMES ? share : 1 - share);
}

/* ---- legend --------------------------------------------------------------------------------- */

enum { TEXT = 10, SAMPLE = 26, LEGEND_ROW = 16, MOST_ENDS = 12 };

static int named(const report_chart *chart) {
    int count = 0;
    for (int s = 0; s < chart->count; s++) count += chart->series[s].name != NULL;
    return count;
}

/* What stands for a series in the legend. */
static void draw_sample(report_canvas *canvas, const report_series *series, int place, double x,
                        double y) {
    report_style style = report_series_style(series, place);
    unsigned draw = report_series_draw(series);
    double opacity = draw & REPORT_DRAW_FAINT ? 0.45 : 1;
    if (draw & REPORT_DRAW_BARS)
        report_rectangle(canvas, x + 6, y - 5, 10, 10,
                         &(report_pen){.fill = style.colour, .opacity = opacity});
    if (draw & REPORT_DRAW_LINE)
        report_line(
            canvas, x, y, x + 22, y,
            &(report_pen){
                .stroke = style.colour, .width = 1.75, .dash = style.dash, .opacity = opacity});
    if (draw & REPORT_DRAW_POINTS)
        report_mark(canvas, x + 11, y, 3.2, style.marker,
                    &(report_pen){.fill = style.colour, .opacity = opacity});
}

/* Puts the legend into rows of `width`; draws it unless canvas is NULL. Returns the rows. */
static int legend_rows(report_canvas *canvas, const report_chart *chart, double left, double top,
                       double width) {
    double x = 0;
    int row = 0;
    for (int s = 0; s < chart->count; s++) {
        if (!chart->series[s].name) continue;
        char shown[128];
        report_words_fit(chart->series[s].name, TEXT, width - SAMPLE - 4, shown, sizeof shown);
        double wide = SAMPLE + report_words_width(shown, TEXT) + 10;
        if (x > 0 && x + wide > width + 10) x = 0, row++;
        if (canvas) {
            double y = top + LEGEND_ROW * (row + 0.5);
            draw_sample(canvas, &chart->series[s], s, left + x, y);
            report_words(canvas, left + x + SAMPLE, y + 3.5, shown, &(report_font){.size = TEXT});
        }
        x += wide;
    }
    return x > 0 ? row + 1 : row;
}

/* ---- names at the ends of lines ------------------------------------------------------------- */

/* How wide the names are; 0: they are not wanted or would not fit. */
static double ends_width(const report_chart *chart, double width) {
    if (chart->legend != REPORT_LEGEND_ENDS || named(chart) > MOST_ENDS) return 0;
    double widest = 0;
    for (int s = 0; s < chart->count; s++) {
        if (!chart->series[s].name) continue;
        if (!(report_series_draw(&chart->series[s]) & REPORT_DRAW_LINE)) return 0;
        widest = fmax(widest, report_words_width(chart->series[s].name, TEXT));
    }
    return widest <= 0.35 * width ? widest : 0;
}

typedef struct end {
    int series;
    double y, at; /* where the line ends, where its name goes */
} end;

static int by_height(const void *a, const void *b) {
    const end *one = a, *two = b;
    if (one->y != two->y) return one->y < two->y ? -1 : 1;
    return one->series - two->series;
}

static void draw_ends(report_canvas *canvas, const report_chart *chart, const report_frame *frame) {
    end list[MOST_ENDS];
    int count = 0;
    for (int s = 0; s < chart->count && count < MOST_ENDS; s++) {
        const report_series *series = &chart->series[s];
        int64_t i = series->count - 1;
        while (i >= 0 && !report_chart_has(chart, series, i)) i--;
        if (!series->name || i < 0) continue;
        list[count++] = (end){s, report_frame_y(frame, series->y[i]), 0};
    }
    qsort(list, (size_t)count, sizeof *list, by_height);
    /* Down until nothing overlaps, then up again from the bottom. */
    for (int i = 0; i < count; i++)
        list[i].at = i == 0 ? list[i].y : fmax(list[i].y, list[i - 1].at + TEXT + 2);
    double bottom = frame->top + frame->height + 4;
    for (int i = count - 1; i >= 0; i--)
        list[i].at = fmin(list[i].at, i == count - 1 ? bottom : list[i + 1].at - TEXT - 2);
    for (int i = 0; i < count; i++) {
        const report_series *series = &chart->series[list[i].series];
        report_colour colour = report_series_style(series, list[i].series).colour;
        double right = frame->left + frame->width;
        report_line(canvas, right + 2, list[i].y, right + 9, list[i].at,
                    &(report_pen){.stroke = colour, .width = 1, .opacity = 0.7});
        report_words(canvas, right + 11, list[i].at + 3.5, series->name,
                     &(report_font){.size = TEXT});
    }
}

/* ---- axes ----------------------------------------------------------------------------------- */

static const report_pen axis_pen = {.stroke = REPORT_INK, .width = 1, .opacity = 0.55};
static const report_pen grid_pen = {.stroke = REPORT_INK, .width = 0.75, .opacity = 0.13};

static double widest_label(const report_ticks *ticks) {
    double widest = 0;
    for (int i = 0; i < ticks->count; i++)
        widest = fmax(widest, report_words_width(ticks->label[i], TEXT));
    return widest;
}

static double widest_name(const report_axis *axis) {
    double widest = 0;
    for (int i = 0; i < axis->names; i++)
        widest = fmax(widest, report_words_width(axis->name[i], TEXT));
    return widest;
}

static void draw_x_names(report_canvas *canvas, const report_axis *axis, const report_frame *frame,
                         bool turned) {
    double room = frame->width / axis->names;
    int every = turned && room < 12 ? (int)ceil(12 / room) : 1;
    char shown[128];
    for (int i = 0; i < axis->names; i += every) {
        double x = report_frame_x(frame, i), y = frame->top + frame->height;
        report_words_fit(axis->name[i], TEXT, turned ? 84 : room, shown, sizeof shown);
        if (turned)
            report_words(canvas, x + 4, y + 10, shown,
                         &(report_font){.size = TEXT, .anchor = REPORT_END, .turn = -50});
        else
            report_words(canvas, x, y + 14, shown,
                         &(report_font){.size = TEXT, .anchor = REPORT_MIDDLE});
    }
}

static void draw_y_names(report_canvas *canvas, const report_axis *axis, const report_frame *frame,
                         double room) {
    double height = frame->height / axis->names;
    int every = height < 11 ? (int)ceil(11 / height) : 1;
    char shown[128];
    for (int i = 0; i < axis->names; i += every) {
        report_words_fit(axis->name[i], TEXT, room, shown, sizeof shown);
        report_words(canvas, frame->left - 5, report_frame_y(frame, i) + 3.5, shown,
                     &(report_font){.size = TEXT, .anchor = REPORT_END});
    }
}

static void draw_ticks(report_canvas *canvas, const report_frame *frame, const report_ticks *ticks,
                       bool of_x) {
    double bottom = frame->top + frame->height, right = frame->left + frame->width;
    for (int i = 0; i < ticks->count; i++) {
        if (of_x) {
            double x = report_frame_x(frame, ticks->at[i]);
            report_line(canvas, x, frame->top, x, bottom, &grid_pen);
            report_words(canvas, x, bottom + 14, ticks->label[i],
                         &(report_font){.size = TEXT, .anchor = REPORT_MIDDLE});
        } else {
            double y = report_frame_y(frame, ticks->at[i]);
            report_line(canvas, frame->left, y, right, y, &grid_pen);
            report_words(canvas, frame->left - 5, y + 3.5, ticks->label[i],
                         &(report_font){.size = TEXT, .anchor = REPORT_END});
        }
    }
}

/* Where the label of a vertical line is far from the horizontal lines: half way, where curves that
 * settle at the top or the bottom are not, low, or high. */
static double label_height(const report_chart *chart, const report_frame *frame) {
    const double place[] = {frame->top + 0.55 * frame->height, frame->top + frame->height - 6,
                            frame->top + 12};
    double best = place[0], most = -1;
    for (int i = 0; i < 3; i++) {
        double nearest = 30; /* farther is no better */
        for (int r = 0; r < chart->rules; r++)
            if (!chart->rule[r].vertical && !chart->rule[r].diagonal)
                nearest =
                    fmin(nearest, fabs(report_frame_y(frame, chart->rule[r].at) - 4 - place[i]));
        if (nearest > most) best = place[i], most = nearest;
    }
    return best;
}

static void draw_rule(report_canvas *canvas, const report_frame *frame, const report_rule *rule,
                      double height) {
    double bottom = frame->top + frame->height, right = frame->left + frame->width;
    report_pen pen = {
        .stroke = REPORT_INK, .width = 1, .dash = "3 3", .opacity = 0.75, .tip = rule->label};
    if (rule->diagonal) {
        double low = fmax(frame->low_x, frame->low_y), high = fmin(frame->high_x, frame->high_y);
        report_line(canvas, report_frame_x(frame, low), report_frame_y(frame, low),
                    report_frame_x(frame, high), report_frame_y(frame, high), &pen);
    } else if (rule->vertical) {
        double x = report_frame_x(frame, rule->at);
        bool left = x > frame->left + frame->width / 2; /* of the line, where there is room */
        report_line(canvas, x, frame->top, x, bottom, &pen);
        if (rule->label)
            report_words(canvas, left ? x - 4 : x + 4, height, rule->label,
                         &(report_font){.size = TEXT,
                                        .anchor = left ? REPORT_END : REPORT_START,
                                        .halo = true});
    } else {
        double y = report_frame_y(frame, rule->at);
        report_line(canvas, frame->left, y, right, y, &pen);
        if (rule->label)
            report_words(canvas, right - 4, y < frame->top + 16 ? y + 11 : y - 4, rule->label,
                         &(report_font){.size = TEXT, .anchor = REPORT_END, .halo = true});
    }
}

static void draw_rules(report_canvas *canvas, const report_chart *chart,
                       const report_frame *frame) {
    double height = label_height(chart, frame);
    for (int r = 0; r < chart->rules; r++) {
        draw_rule(canvas, frame, &chart->rule[r], height);
        if (chart->rule[r].vertical) height -= 13;
    }
}

/* ---- all of it ------------------------------------------------------------------------------ */

static double width_of(const report_chart *chart) {
    return chart->width > 0 ? chart->width : REPORT_CHART_WIDTH;
}

static double height_of(const report_chart *chart) {
    if (chart->heat) return report_heat_height(chart->heat, width_of(chart));
    return chart->height > 0 ? chart->height : REPORT_CHART_HEIGHT;
}

/* What surrounds the frame. */
typedef struct margins {
    double names, ends; /* widths of the names of the y axis, of names at the ends of lines */
    bool turned;        /* names of the x axis */
    int legend;         /* rows */
    report_ticks x, y;
} margins;

static report_frame lay_out(const report_chart *chart, double left, double top, margins *m) {
    double width = width_of(chart), height = height_of(chart), right = 10, bottom = 8;
    report_frame f = {.scale_x = chart->x.scale, .scale_y = chart->y.scale};
    report_chart_range(chart, true, &f.low_x, &f.high_x);
    report_chart_range(chart, false, &f.low_y, &f.high_y);
    m->ends = ends_width(chart, width);
    m->legend = m->ends > 0 || chart->legend == REPORT_LEGEND_NONE
                    ? 0
                    : legend_rows(NULL, chart, 0, 0, width - 8);
    if (m->ends > 0) right = m->ends + 15;
    if (chart->x.title) bottom += 15;
    bottom += m->legend > 0 ? m->legend * LEGEND_ROW + 2 : 0;
    f.left = chart->y.title ? 18 : 4;
    f.top = 10;
    /* The widths of numbers are known after the range, their number after the height. */
    bool x_names = chart->x.scale == REPORT_NAMES && !chart->x.hidden;
    if (chart->y.scale == REPORT_NAMES && !chart->y.hidden)
        f.left += m->names = fmin(widest_name(&chart->y), 0.42 * width) + 6;
    double about = height - f.top - bottom - 16;
    if (!chart->y.hidden)
        m->y = report_ticks_between(f.low_y, f.high_y, f.scale_y, (int)fmax(about / 34, 2));
    if (m->y.count) f.left += widest_label(&m->y) + 6;
    f.width = fmax(width - f.left - right, 20);
    m->turned = x_names && widest_name(&chart->x) > f.width / chart->x.names - 3;
    if (!chart->x.hidden) bottom += m->turned ? fmin(widest_name(&chart->x), 84) * 0.8 + 12 : 16;
    f.height = fmax(height - f.top - bottom, 20);
    if (!chart->x.hidden)
        m->x = report_ticks_between(f.low_x, f.high_x, f.scale_x, (int)fmax(f.width / 58, 2));
    f.left += left;
    f.top += top;
    return f;
}

static void draw_axes(report_canvas *canvas, const report_chart *chart, const report_frame *f,
                      const margins *m, double left) {
    double bottom = f->top + f->height, right = f->left + f->width;
    draw_ticks(canvas, f, &m->x, true);
    draw_ticks(canvas, f, &m->y, false);
    if (chart->x.scale == REPORT_NAMES && !chart->x.hidden)
        draw_x_names(canvas, &chart->x, f, m->turned);
    if (m->names > 0) draw_y_names(canvas, &chart->y, f, m->names - 6);
    if (!chart->x.hidden) report_line(canvas, f->left, bottom, right, bottom, &axis_pen);
    if (!chart->y.hidden) report_line(canvas, f->left, f->top, f->left, bottom, &axis_pen);
    if (chart->y.title)
        report_words(canvas, left + 12, f->top + f->height / 2, chart->y.title,
                     &(report_font){.anchor = REPORT_MIDDLE, .turn = -90});
}

void report_chart_draw(report_canvas *canvas, const report_chart *chart, double left, double top) {
    if (chart->heat) {
        report_heat_draw(canvas, chart->heat, left, top, width_of(chart));
        return;
    }
    margins m = {0};
    report_frame f = lay_out(chart, left, top, &m);
    draw_axes(canvas, chart, &f, &m, left);
    report_series_draw_all(canvas, chart, &f);
    draw_rules(canvas, chart, &f);
    if (m.ends > 0) draw_ends(canvas, chart, &f);
    double legend = top + height_of(chart) - (m.legend > 0 ? m.legend * LEGEND_ROW + 2 : 0);
    if (chart->x.title)
        report_words(canvas, f.left + f.width / 2, legend - 8, chart->x.title,
                     &(report_font){.anchor = REPORT_MIDDLE});
    if (m.legend > 0) legend_rows(canvas, chart, left + 4, legend, width_of(chart) - 8);
}

void report_chart_svg(report_text *out, const report_chart *chart, bool alone) {
    report_canvas canvas = report_canvas_open(out, REPORT_SVG, width_of(chart), height_of(chart),
                                              chart->about ? chart->about : "chart", alone);
    report_chart_draw(&canvas, chart, 0, 0);
    report_canvas_close(&canvas);
}
