/* Charts as pgfplots code: axes and numbers, which a paper sets in its own fonts and can still be
 * edited. Needs \usepackage{pgfplots}, compat 1.18 or earlier ones from 1.11 on. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const mark_names[REPORT_MARKERS] = {
    "*", "square*", "triangle*", "diamond*", "x", "triangle*,mark options={rotate=180}", "+"};

static void put_value(report_text *out, double value) {
    if (isfinite(value))
        report_putf(out, "%.6g", value);
    else
        report_put(out, "nan");
}

static void put_option(report_text *out, const char *key, const char *words) {
    if (!words) return;
    report_putf(out, "  %s={", key);
    report_put_latex(out, words);
    report_put(out, "},\n");
}

static void put_axis(report_text *out, const report_chart *chart, bool of_x) {
    const report_axis *axis = of_x ? &chart->x : &chart->y;
    const char letter = of_x ? 'x' : 'y', *const letters = of_x ? "x" : "y";
    char key[16];
    snprintf(key, sizeof key, "%clabel", letter);
    put_option(out, key, axis->title);
    double low, high;
    report_chart_range(chart, of_x, &low, &high);
    report_putf(out, "  %smin=%.6g, %smax=%.6g,\n", letters, low, letters, high);
    if (axis->hidden) report_putf(out, "  %stick=\\empty,\n", letters);
    if (axis->scale == REPORT_LOG2 || axis->scale == REPORT_LOG10) {
        /* Our own ticks: those of pgfplots are 10^{1.4} within a decade. */
        report_ticks ticks = report_ticks_between(low, high, axis->scale, 6);
        report_putf(out, "  %smode=log, log basis %s=%d, minor tick num=0,\n  %stick={", letters,
                    letters, axis->scale == REPORT_LOG2 ? 2 : 10, letters);
        for (int i = 0; i < ticks.count; i++) report_putf(out, "%s%.6g", i ? "," : "", ticks.at[i]);
        report_putf(out, "}, %sticklabels={", letters);
        for (int i = 0; i < ticks.count; i++)
            report_putf(out, "%s%s", i ? "," : "", ticks.label[i]);
        report_put(out, "},\n");
    }
    if (axis->scale != REPORT_NAMES || axis->hidden) return;
    report_putf(out, "  %stick={", letters);
    for (int i = 0; i < axis->names; i++) report_putf(out, "%s%d", i ? "," : "", i);
    report_putf(out, "},\n  %sticklabels={", letters);
    for (int i = 0; i < axis->names; i++) {
        report_put(out, i ? ",{" : "{");
        report_put_latex(out, axis->name[i]);
        report_put(out, "}");
    }
    report_put(out, "},\n");
    report_put(out, of_x ? "  xticklabel style={rotate=50,anchor=east},\n" : "  y dir=reverse,\n");
}

/* ---- series --------------------------------------------------------------------------------- */

static void put_points(report_text *out, const report_chart *chart, const report_series *series,
                       const double *y, bool whiskers) {
    for (int64_t i = 0; i < series->count; i++) {
        if (!report_chart_has(chart, series, i)) {
            report_put(out, i % 8 ? " (nan,nan)" : "\n  (nan,nan)");
            continue;
        }
        report_put(out, i % 8 ? " (" : "\n  (");
        put_value(out, report_series_x(series, i));
        report_put(out, ",");
        put_value(out, y[i]);
        report_put(out, ")");
        if (whiskers && isfinite(series->low[i]) && isfinite(series->high[i])) {
            report_put(out, " +=(0,");
            put_value(out, series->high[i] - y[i]);
            report_put(out, ") -=(0,");
            put_value(out, y[i] - series->low[i]);
            report_put(out, ")");
        }
    }
}

/* Two invisible lines and what is between them. */
static void put_band(report_text *out, const report_chart *chart, const report_series *series,
                     int place, report_colour colour) {
    for (int side = 0; side < 2; side++) {
        report_putf(out, "\\addplot[draw=none,forget plot,name path=%s%d] coordinates {",
                    side ? "high" : "low", place);
        put_points(out, chart, series, side ? series->high : series->low, false);
        report_put(out, "\n};\n");
    }
    report_put(out, "\\addplot[forget plot,fill=");
    report_put_colour(out, REPORT_LATEX, colour);
    report_putf(out, ",fill opacity=0.18] fill between[of=low%d and high%d];\n", place, place);
}

static int bars_before(const report_chart *chart, int place) {
    int count = 0;
    for (int s = 0; s < place; s++)
        count += (report_series_draw(&chart->series[s]) & REPORT_DRAW_BARS) != 0;
    return count;
}

static int count_bars(const report_chart *chart) {
    return bars_before(chart, chart->count);
}

static void put_series(report_text *out, const report_chart *chart, int place) {
    const report_series *series = &chart->series[place];
    report_style style = report_series_style(series, place);
    unsigned draw = report_series_draw(series);
    bool interval = series->low && series->high;
    bool bars = (draw & REPORT_DRAW_BARS) != 0;
    bool whiskers = interval && (bars || (draw & REPORT_DRAW_WHISKERS));
    if (interval && !whiskers) put_band(out, chart, series, place, style.colour);
    report_put(out, "\\addplot+[color=");
    report_put_colour(out, REPORT_LATEX, style.colour);
    if (bars) {
        report_putf(out,
                    ",%s,bar shift=%.3g,fill=", chart->y.scale == REPORT_NAMES ? "xbar" : "ybar",
                    0.8 * (bars_before(chart, place) / (double)count_bars(chart) -
                           (count_bars(chart) - 1) / (2.0 * count_bars(chart))));
        report_put_colour(out, REPORT_LATEX, style.colour);
        report_put(out, ",draw=none,mark=none");
    } else {
        report_put(out, draw & REPORT_DRAW_LINE ? ",line width=0.9pt" : ",only marks");
        if ((draw & REPORT_DRAW_LINE) && style.dash) report_put_dash(out, style.dash);
        if (!(draw & REPORT_DRAW_LINE) || !style.dash) report_put(out, ",solid");
        if (draw & REPORT_DRAW_POINTS) {
            report_putf(out, ",mark=%s,mark size=%s", mark_names[style.marker],
                        draw & REPORT_DRAW_SMALL ? "0.8pt" : "1.6pt");
            if ((draw & REPORT_DRAW_LINE) && series->count > 24)
                report_putf(out, ",mark repeat=%d", (int)(series->count / 8));
        } else
            report_put(out, ",mark=none");
    }
    if (draw & REPORT_DRAW_FAINT) report_put(out, ",opacity=0.4");
    if (!series->name) report_put(out, ",forget plot");
    if (whiskers) report_put(out, ",error bars/.cd,y dir=both,y explicit");
    report_put(out, "] coordinates {");
    put_points(out, chart, series, series->y, whiskers);
    report_put(out, "\n};\n");
    if (series->name && chart->legend != REPORT_LEGEND_NONE) {
        report_put(out, "\\addlegendentry{");
        report_put_latex(out, series->name);
        report_put(out, "}\n");
    }
}

static void put_rule(report_text *out, const report_chart *chart, const report_rule *rule) {
    double x[2], y[2];
    report_chart_range(chart, true, &x[0], &x[1]);
    report_chart_range(chart, false, &y[0], &y[1]);
    if (rule->diagonal) {
        x[0] = y[0] = fmax(x[0], y[0]);
        x[1] = y[1] = fmin(x[1], y[1]);
    } else if (rule->vertical)
        x[0] = x[1] = rule->at;
    else
        y[0] = y[1] = rule->at;
    report_putf(
        out,
        "\\draw[densely dashed,thin] (axis cs:%.6g,%.6g) -- node[pos=%s,%s,font=\\scriptsize] {",
        x[0], y[0], rule->vertical ? "0.06" : "0.98", rule->vertical ? "right" : "above left");
    if (rule->label) report_put_latex(out, rule->label);
    report_putf(out, "} (axis cs:%.6g,%.6g);\n", x[1], y[1]);
}

/* ---- heat maps ------------------------------------------------------------------------------ */

static void put_palette(report_text *out, report_palette palette) {
    report_putf(out, "  colormap={%s}{", palette == REPORT_DIVERGING ? "diverging" : "sequential");
    for (int i = 0; i <= 12; i++) {
        report_colour colour = report_palette_colour(palette, i / 12.0);
        report_putf(out, "rgb255=(%u,%u,%u) ", (colour >> 16) & 0xff, (colour >> 8) & 0xff,
                    colour & 0xff);
    }
    report_put(out, "},\n");
}

static void put_names(report_text *out, char letter, const char *const *name, int64_t count) {
    if (!name) return;
    report_putf(out, "  %ctick={0,...,%lld}, %cticklabels={", letter, (long long)count - 1, letter);
    for (int64_t i = 0; i < count; i++) {
        report_put(out, i ? ",{" : "{");
        report_put_latex(out, name[i]);
        report_put(out, "}");
    }
    report_put(out, "},\n");
}

/* What the cells say, where SVG says it too. */
static void put_numbers(report_text *out, const report_heat *heat, double low, double high) {
    char words[48];
    for (int64_t i = 0; i < heat->rows * heat->columns; i++) {
        if (!isfinite(heat->value[i]) || !report_heat_words(heat, i, words, sizeof words)) continue;
        double share = (heat->value[i] - low) / (high - low);
        report_putf(
            out, "\\node[font=\\%s,inner sep=0pt,text=", heat->columns > 8 ? "tiny" : "scriptsize");
        report_put_colour(out, REPORT_LATEX,
                          report_contrast(report_palette_colour(heat->palette, share)));
        report_putf(out, "] at (axis cs:%lld,%lld) {", (long long)(i % heat->columns),
                    (long long)(i / heat->columns));
        report_put_latex(out, words);
        report_put(out, "};\n");
    }
}

static void put_heat(report_text *out, const report_heat *heat) {
    double low, high;
    report_heat_range(heat, &low, &high);
    put_palette(out, heat->palette);
    report_putf(out, "  point meta min=%.6g, point meta max=%.6g, colorbar,\n", low, high);
    if (heat->value_title) {
        report_put(out, "  colorbar style={ylabel={");
        report_put_latex(out, heat->value_title);
        report_put(out, "}},\n");
    }
    report_putf(out,
                "  enlargelimits=false, axis on top, y dir=reverse,\n  xmin=-0.5, xmax=%.6g, "
                "ymin=-0.5, ymax=%.6g,\n",
                (double)heat->columns - 0.5, (double)heat->rows - 0.5);
    put_option(out, "xlabel", heat->column_title);
    put_option(out, "ylabel", heat->row_title);
    put_names(out, 'x', heat->column_name, heat->columns);
    put_names(out, 'y', heat->row_name, heat->rows);
    if (heat->column_name) report_put(out, "  xticklabel style={rotate=50,anchor=east},\n");
    report_putf(out, "]\n\\addplot[matrix plot*,point meta=explicit,mesh/cols=%lld] coordinates {",
                (long long)heat->columns);
    for (int64_t i = 0; i < heat->rows * heat->columns; i++) {
        report_putf(out, "%s(%lld,%lld) [", i % 8 ? " " : "\n  ", (long long)(i % heat->columns),
                    (long long)(i / heat->columns));
        put_value(out, heat->value[i]);
        report_put(out, "]");
    }
    report_put(out, "\n};\n");
    put_numbers(out, heat, low, high);
}

/* ---- all ------------------------------------------------------------------------------------ */

static bool has_band(const report_chart *chart) {
    for (int s = 0; s < chart->count; s++)
        if (chart->series[s].low && !(chart->series[s].draw & REPORT_DRAW_WHISKERS)) return true;
    return false;
}

void report_chart_latex(report_text *out, const report_chart *chart, bool alone) {
    if (alone) {
        report_put(out, "% ");
        report_put_latex(out, chart->about ? chart->about : "chart");
        report_putf(out,
                    "\n%% In the preamble: \\usepackage{pgfplots} \\pgfplotsset{compat=1.16}%s\n",
                    !chart->heat && has_band(chart) ? " \\usepgfplotslibrary{fillbetween}" : "");
    }
    if (alone) report_fit_open(out);
    report_put(out, "\\begin{tikzpicture}\n\\begin{axis}[\n");
    /* A column of a paper; heat maps have a colour bar beside them. */
    report_putf(out,
                "  width=%s, height=%s, scale only axis,\n  tick align=outside, tick pos=left,\n",
                chart->heat ? "5cm" : "6.4cm", "4cm");
    if (chart->heat)
        put_heat(out, chart->heat);
    else {
        put_axis(out, chart, true);
        put_axis(out, chart, false);
        int bars = count_bars(chart);
        if (bars > 0) report_putf(out, "  bar width=%.3g,\n", 0.8 / bars);
        report_put(out, "  grid=major, grid style={black!12}, axis lines=left,\n"
                        "  legend style={draw=none,font=\\scriptsize,at={(0.5,1.04)},anchor=south,"
                        "/tikz/every even column/.append style={column sep=6pt}},\n"
                        "  legend columns=3, legend cell align=left,\n]\n");
        for (int s = 0; s < chart->count; s++) put_series(out, chart, s);
        for (int r = 0; r < chart->rules; r++) put_rule(out, chart, &chart->rule[r]);
    }
    report_putf(out, "\\end{axis}\n\\end{tikzpicture}%s\n", alone ? "}" : "");
}
