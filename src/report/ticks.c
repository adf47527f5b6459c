/* Where the ticks of an axis are, and what stands at them. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void report_format_number(double value, char out[24]) {
    if (isnan(value)) {
        snprintf(out, 24, "-");
        return;
    }
    if (value != 0 && (fabs(value) < 1e-4 || fabs(value) >= 1e7))
        snprintf(out, 24, "%.3g", value);
    else if (fabs(value) >= 1e5)
        snprintf(out, 24, "%.0f", value);
    else
        snprintf(out, 24, "%.5g", value);
    if (!strcmp(out, "-0")) snprintf(out, 24, "0");
}

static void add(report_ticks *ticks, double at, const char *label) {
    if (ticks->count == REPORT_MOST_TICKS) return;
    ticks->at[ticks->count] = at;
    snprintf(ticks->label[ticks->count], sizeof *ticks->label, "%s", label);
    ticks->count++;
}

/* The smallest of 1, 2, 5, 10 times a power of ten that is at least `step`. */
static double round_step(double step) {
    double power = pow(10, floor(log10(step)));
    static const double multiple[] = {1, 2, 5};
    for (int i = 0; i < 3; i++)
        if (multiple[i] * power >= step * (1 - 1e-9)) return multiple[i] * power;
    return 10 * power;
}

static void linear(report_ticks *ticks, double low, double high, int wanted) {
    double step = round_step((high - low) / wanted);
    int decimals = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;
    /* Multiples are counted, not added up, so that 0.3 is 3 x 0.1 and zero is zero. */
    double first = ceil(low / step - 1e-9), last = floor(high / step + 1e-9);
    for (double i = first; i <= last && ticks->count < REPORT_MOST_TICKS; i++) {
        char label[24];
        double at = i == 0 ? 0 : i * step;
        if (fabs(at) >= 1e7 || decimals > 5)
            snprintf(label, sizeof label, "%.3g", at);
        else if (fabs(last * step) >= 10000 && fmod(step, 1000) == 0 && at != 0)
            snprintf(label, sizeof label, "%.0fk", at / 1000);
        else
            snprintf(label, sizeof label, "%.*f", decimals, at);
        add(ticks, at, label);
    }
}

static void logarithmic(report_ticks *ticks, double low, double high, double base, int wanted) {
    double from = ceil(log(low) / log(base) - 1e-9), to = floor(log(high) / log(base) + 1e-9);
    if (base == 2) wanted += wanted / 2; /* their numbers are short */
    double every = fmax(1, ceil((to - from + 1) / fmax(wanted, 2) - 1e-9));
    bool between = base == 10 && to - from < 2;
    char label[24];
    for (double i = between ? from - 1 : from; i <= to; i += every) {
        double at = pow(base, i);
        static const double multiple[] = {1, 2, 5};
        for (int m = 0; m < (between ? 3 : 1); m++) {
            double place = at * multiple[m];
            if (place < low * (1 - 1e-9) || place > high * (1 + 1e-9)) continue;
            report_format_number(place, label);
            add(ticks, place, label);
        }
    }
}

report_ticks report_ticks_between(double low, double high, report_scale scale, int wanted) {
    report_ticks ticks = {0};
    if (!isfinite(low) || !isfinite(high) || low > high || scale == REPORT_NAMES) return ticks;
    if (wanted < 2) wanted = 2;
    if (wanted > REPORT_MOST_TICKS / 2) wanted = REPORT_MOST_TICKS / 2;
    if (scale != REPORT_LINEAR && low > 0 && low < high)
        logarithmic(&ticks, low, high, scale == REPORT_LOG2 ? 2 : 10, wanted);
    /* A narrow logarithmic axis is as good as a linear one. */
    if (ticks.count < (scale == REPORT_LOG2 ? 2 : 3) && low < high) {
        ticks.count = 0;
        linear(&ticks, low, high, wanted);
    }
    if (low == high) {
        char label[24];
        report_format_number(low, label);
        add(&ticks, low, label);
    }
    return ticks;
}
