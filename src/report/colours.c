/* Colours, shapes and dashes. The colours of series are those of Okabe and Ito (Color Universal Design,
 * 2008) without yellow, which is not seen on white, and with ink in the place of black. */
#include "report/report.h"

#include <math.h>

static const report_colour series_colours[] = {
    REPORT_RGB(0x0072b2), /* blue */
    REPORT_RGB(0xd55e00), /* vermillion */
    REPORT_RGB(0x009e73), /* bluish green */
    REPORT_RGB(0xcc79a7), /* reddish purple */
    REPORT_RGB(0xe69f00), /* orange */
    REPORT_RGB(0x56b4e9), /* sky blue */
    REPORT_INK,
};
enum { COLOURS = sizeof series_colours / sizeof *series_colours };

static const char *const dashes[] = {NULL, "6 3", "2 2", "8 3 2 3", "10 4", "4 2"};
enum { DASHES = sizeof dashes / sizeof *dashes };

report_style report_style_of(int index) {
    if (index < 0) index = 0;
    /* One further marker in every round: index 7 is blue again, but a square. */
    return (report_style){series_colours[index % COLOURS],
                          (report_marker)((index + index / COLOURS) % REPORT_MARKERS),
                          dashes[index % DASHES]};
}

static const uint32_t sequential[] = {0xf3f8fd, 0xc6dbef, 0x85bcdc, 0x3d8dc4, 0x1460a3, 0x08306b};
static const uint32_t diverging[] = {0x0a3d6e, 0x2f7fb8, 0x9cc9e6, 0xf6f6f6,
                                     0xf5bf85, 0xd1731b, 0x7d3a02};

static uint32_t mix(uint32_t a, uint32_t b, double share) {
    uint32_t out = 0;
    for (int shift = 0; shift <= 16; shift += 8) {
        double from = (a >> shift) & 0xff, to = (b >> shift) & 0xff;
        out |= (uint32_t)lround(from + (to - from) * share) << shift;
    }
    return out;
}

report_colour report_palette_colour(report_palette palette, double share) {
    const uint32_t *stop = palette == REPORT_DIVERGING ? diverging : sequential;
    int last = palette == REPORT_DIVERGING ? (int)(sizeof diverging / sizeof *diverging) - 1
                                           : (int)(sizeof sequential / sizeof *sequential) - 1;
    if (!isfinite(share)) return REPORT_NONE;
    double place = fmin(fmax(share, 0), 1) * last;
    int below = place >= last ? last - 1 : (int)place;
    return REPORT_RGB(mix(stop[below], stop[below + 1], place - below));
}

/* The relative luminance of WCAG 2. */
static double luminance(report_colour colour) {
    static const double weight[3] = {0.0722, 0.7152, 0.2126}; /* blue, green, red */
    double sum = 0;
    for (int c = 0; c < 3; c++) {
        double v = ((colour >> (8 * c)) & 0xff) / 255.0;
        sum += weight[c] * (v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
    }
    return sum;
}

report_colour report_contrast(report_colour behind) {
    if (behind < REPORT_RGB(0)) return REPORT_INK;
    /* (1 + .05) / (L + .05) against (L + .05) / (0 + .05) */
    double l = luminance(behind) + 0.05;
    return l * l > 1.05 * 0.05 ? REPORT_RGB(0x000000) : REPORT_RGB(0xffffff);
}
