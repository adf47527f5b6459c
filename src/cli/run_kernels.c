/* What the kernels of a run became: weights by hop, heat maps, and the response over the spectrum of the
 * transition matrix: f(x) = sum_i s_i x^i is what a layer makes of a signal with eigenvalue x. */
#include "cli/run_report.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_LINES = 7, POINTS = 81, MOST_CELLS = 6000 };

/* The kernels of all layers. */
typedef struct kernels {
    int layers, length, channels;
    bool adds;     /* scaling sum: a step adds up, and its eigenvalues are as large as degrees */
    float *weight; /* [layers, length, channels] */
} kernels;

static float weight_of(const kernels *k, int layer, int hop, int channel) {
    return k->weight[((int64_t)layer * k->length + hop) * k->channels + channel];
}

static bool read_kernels(const cli_run *run, kernels *k) {
    *k = (kernels){.layers = run->config->layers,
                   .length = run->config->path_length,
                   .channels = run->config->channels,
                   .adds = run->config->scaling == PGCN_SCALING_SUM};
    size_t one = (size_t)k->length * (size_t)k->channels;
    k->weight = calloc((size_t)k->layers * one, sizeof *k->weight);
    bool fine = k->weight != NULL;
    for (int l = 0; fine && l < k->layers; l++)
        fine = pgcn_model_kernel(run->model, l, k->weight + (size_t)l * one) == PGCN_OK;
    return fine;
}

bool cli_report_has_kernels(const cli_run *run) {
    kernels k;
    bool fine = read_kernels(run, &k);
    free(k.weight);
    return fine;
}

/* Mean and deviation over the channels of some value of each. */
typedef struct spread {
    double mean, low, high;
} spread;

static spread spread_of(const kernels *k, int layer,
                        double (*of)(const kernels *, int, int, double), double at) {
    double sum = 0, squares = 0;
    for (int c = 0; c < k->channels; c++) sum += of(k, layer, c, at);
    double mean = sum / k->channels;
    for (int c = 0; c < k->channels; c++) {
        double d = of(k, layer, c, at) - mean;
        squares += d * d;
    }
    double deviation = k->channels > 1 ? sqrt(squares / (k->channels - 1)) : 0;
    return (spread){mean, mean - deviation, mean + deviation};
}

static double weight_at(const kernels *k, int layer, int channel, double hop) {
    return (double)weight_of(k, layer, (int)hop, channel);
}

static double response_at(const kernels *k, int layer, int channel, double x) {
    double sum = 0;
    for (int i = k->length - 1; i >= 0; i--)
        sum = sum * x + (double)weight_of(k, layer, i, channel);
    return sum;
}

/* ---- lines ---------------------------------------------------------------------------------------- */

/* Which layers are drawn as lines: all, or some from the first to the last. */
static int lines_of(const kernels *k) {
    return k->layers < MOST_LINES ? k->layers : MOST_LINES;
}

static int layer_of_line(const kernels *k, int line) {
    int lines = lines_of(k);
    return lines < 2 ? 0 : (int)lround((double)line * (k->layers - 1) / (lines - 1));
}

/* A line per layer: its mean over the channels, with a band of one deviation where there are few. */
static void draw_lines(report_page *page, const kernels *k, bool response) {
    int count = response ? POINTS : k->length, lines = lines_of(k);
    double *room = calloc((size_t)count * (size_t)(1 + 3 * lines), sizeof *room);
    char name[MOST_LINES][32];
    report_series series[MOST_LINES];
    if (!room) {
        page->text.failed = true;
        return;
    }
    for (int i = 0; i < count; i++) room[i] = response ? -1 + 2.0 * i / (POINTS - 1) : i;
    for (int s = 0; s < lines; s++) {
        double *y = room + (1 + 3 * s) * count, *low = y + count, *high = low + count;
        for (int i = 0; i < count; i++) {
            spread v =
                spread_of(k, layer_of_line(k, s), response ? response_at : weight_at, room[i]);
            y[i] = v.mean, low[i] = v.low, high[i] = v.high;
        }
        bool band = lines <= 3 && k->channels > 1;
        snprintf(name[s], sizeof *name, "layer %d", layer_of_line(k, s) + 1);
        series[s] = (report_series){.name = name[s],
                                    .count = count,
                                    .x = room,
                                    .y = y,
                                    .low = band ? low : NULL,
                                    .high = band ? high : NULL,
                                    .draw = REPORT_DRAW_LINE | REPORT_DRAW_POINTS};
    }
    report_rule zero = {.at = 0};
    report_chart chart = {.series = series, .count = lines, .rule = &zero, .rules = 1};
    if (response) {
        chart.x = (report_axis){.title = k->adds ? "factor x of one step, small ones only"
                                                 : "eigenvalue of the transition matrix"};
        chart.y = (report_axis){.title = "response f"};
    } else {
        chart.x = (report_axis){.title = "hop i"};
        chart.y = (report_axis){.title = "weight s_i"};
    }
    bool band = lines <= 3 && k->channels > 1;
    char caption[160];
    snprintf(caption, sizeof caption, "%s: mean%s over the channels.",
             !response ? "Weights by hop"
             : k->adds ? "Response of the layers between -1 and 1, a part of the spectrum"
                       : "Response of the layers over the spectrum [-1, 1]",
             band ? " and deviation" : "");
    report_figure(page, response ? "response" : "kernels", caption, &chart);
    free(room);
}

/* ---- heat maps ------------------------------------------------------------------------------------ */

typedef struct names {
    const char **list;
    char (*text)[24];
} names;

static names number_names(int64_t count, int first, const char *before) {
    names n = {calloc((size_t)count, sizeof *n.list), calloc((size_t)count, sizeof *n.text)};
    for (int64_t i = 0; n.list && n.text && i < count; i++) {
        snprintf(n.text[i], sizeof *n.text, "%s%lld", before, (long long)i + first);
        n.list[i] = n.text[i];
    }
    return n;
}

static void free_names(names *n) {
    free(n->list);
    free(n->text);
}

/* Layers by hops, mean over the channels. */
static void draw_layers(report_page *page, const kernels *k) {
    double *mean = calloc((size_t)k->layers * (size_t)k->length, sizeof *mean);
    names rows = number_names(k->layers, 1, ""), columns = number_names(k->length, 0, "");
    bool fine = mean && rows.list && rows.text && columns.list && columns.text;
    page->text.failed |= !fine;
    for (int i = 0; fine && i < k->layers * k->length; i++)
        mean[i] = spread_of(k, i / k->length, weight_at, i % k->length).mean;
    report_heat heat = {.rows = k->layers,
                        .columns = k->length,
                        .value = mean,
                        .palette = REPORT_DIVERGING,
                        .format = k->layers <= 16 ? "%.2f" : NULL,
                        .row_name = rows.list,
                        .column_name = columns.list,
                        .row_title = "layer",
                        .column_title = "hop",
                        .value_title = "mean weight"};
    report_chart chart = {.about = "Mean weight of every layer and hop.", .heat = &heat};
    if (fine) report_figure(page, "kernel-layers", "Mean weight of every layer and hop.", &chart);
    free(mean);
    free_names(&rows);
    free_names(&columns);
}

typedef struct channel {
    int number;
    double tilt; /* f(1) - f(-1): the larger, the more it smooths */
} channel;

static int by_tilt(const void *a, const void *b) {
    const channel *x = a, *y = b;
    if (x->tilt != y->tilt) return x->tilt < y->tilt ? 1 : -1;
    return x->number - y->number;
}

/* Hops by channels of one layer, channels from those that smooth to those that sharpen. Where there are
 * too many for a file that can be mailed, a column is the mean of neighbours. */
static void draw_channels(report_page *page, const kernels *k, int layer, double most) {
    int allowed = MOST_CELLS / (k->layers * k->length), merged = 1;
    while (k->channels / merged > (allowed > 8 ? allowed : 8)) merged++;
    int columns = (k->channels + merged - 1) / merged;
    channel *order = calloc((size_t)k->channels, sizeof *order);
    double *value = calloc((size_t)k->length * (size_t)columns, sizeof *value);
    names rows = number_names(k->length, 0, "");
    bool fine = order && value && rows.list && rows.text;
    page->text.failed |= !fine;
    for (int c = 0; fine && c < k->channels; c++)
        order[c] = (channel){c, response_at(k, layer, c, 1) - response_at(k, layer, c, -1)};
    if (fine) qsort(order, (size_t)k->channels, sizeof *order, by_tilt);
    for (int i = 0; fine && i < k->length; i++)
        for (int c = 0; c < columns; c++) {
            int from = c * merged, to = from + merged < k->channels ? from + merged : k->channels;
            double sum = 0;
            for (int n = from; n < to; n++) sum += (double)weight_of(k, layer, i, order[n].number);
            value[i * columns + c] = sum / (to - from);
        }
    report_heat heat = {.rows = k->length,
                        .columns = columns,
                        .value = value,
                        .palette = REPORT_DIVERGING,
                        .fixed = true,
                        .low = -most,
                        .high = most,
                        .row_name = rows.list,
                        .row_title = "hop",
                        .column_title = "channels"};
    char caption[160], name[48];
    snprintf(caption, sizeof caption, "Layer %d: weights of the channels%s.", layer + 1,
             merged > 1 ? ", means of neighbours" : "");
    snprintf(name, sizeof name, "channels-%d", layer + 1);
    if (fine) report_figure(page, name, caption, &(report_chart){.heat = &heat});
    free(order);
    free(value);
    free_names(&rows);
}

/* ---- the section ---------------------------------------------------------------------------------- */

static void put_table(report_page *page, const kernels *k) {
    report_table_open(page, k->adds ? ">layer|>f(1)|>f(0)|>f(-1)|>channels with a negative weight"
                                    : ">layer|>f(1)|>f(0)|>f(-1)|>channels that smooth|>take "
                                      "differences|>have a negative weight");
    for (int l = 0; l < k->layers; l++) {
        cli_kernel_effect e = cli_kernel_measure(k->weight + (int64_t)l * k->length * k->channels,
                                                 k->length, k->channels);
        report_cell(page, "%d", l + 1);
        for (int i = 0; i < 3; i++) report_cell(page, "%.3f", e.at[i]);
        if (!k->adds) {
            report_cell(page, "%d of %d", e.smooth, k->channels);
            report_cell(page, "%d", e.difference);
        }
        report_cell(page, k->adds ? "%d of %d" : "%d", e.negative, k->channels);
    }
    report_table_close(page);
}

static double largest_weight(const kernels *k) {
    double most = 1e-6;
    for (int64_t i = 0; i < (int64_t)k->layers * k->length * k->channels; i++)
        most = fmax(most, fabs((double)k->weight[i]));
    return most;
}

static void put_words(report_page *page, const kernels *k) {
    report_paragraph(
        page,
        "A layer adds up what paths find after i steps with weights s_i. f(x) = s_0 + s_1 x + ... is "
        "what it makes of a signal that one step multiplies by x%s",
        k->adds ? "."
                : ": f(1) of what is equal all over the graph, f(-1) of what alternates from node "
                  "to node, f(0) = s_0 of the node itself. Where f(1) is the largest a channel "
                  "smooths, otherwise it takes differences.");
    if (k->adds)
        report_remark(
            page,
            "Here a step adds up over the neighbours (scaling is sum), so what is equal all over the "
            "graph is multiplied by the degree of each node, not by 1, and x reaches as far as the "
            "largest degree. Between -1 and 1 is only what nearly cancels out among neighbours: "
            "whether a channel smooths cannot be told from f(1), f(0) and f(-1).");
}

void cli_report_kernels(report_page *page, const cli_run *run) {
    kernels k;
    if (!read_kernels(run, &k)) {
        free(k.weight);
        return;
    }
    report_section_open(page, "kernels", "Kernels");
    put_words(page, &k);
    report_figures_open(page);
    draw_lines(page, &k, false);
    draw_lines(page, &k, true);
    draw_layers(page, &k);
    report_figures_close(page);
    put_table(page, &k);
    if (k.channels > 1 && run->config->kernel >= PGCN_KERNEL_DEPTHWISE) {
        report_details_open(page, "The weights of every channel, layer by layer");
        report_paragraph(page, "Channels are sorted by f(1) - f(-1): those that smooth most come "
                               "first. All layers have the same colours.");
        report_figures_open(page);
        for (int l = 0; l < k.layers; l++) draw_channels(page, &k, l, largest_weight(&k));
        report_figures_close(page);
        report_details_close(page);
    }
    report_section_close(page);
    free(k.weight);
}
