/* The chart toolkit: ticks, escapes, colours, and what a chart becomes in SVG and LaTeX. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- text -------------------------------------------------------------------------------------- */

static void assert_put(void (*put)(report_text *, const char *), const char *words,
                       const char *expected) {
    report_text text = {0};
    put(&text, words);
    assert_string_equal(text.bytes ? text.bytes : "", expected);
    report_text_free(&text);
}

static void test_xml_escapes_markup_controls_and_bytes_that_are_not_utf8(void **state) {
    (void)state;
    assert_put(report_put_xml, "a<b>&\"c'", "a&lt;b&gt;&amp;&quot;c&#39;");
    assert_put(report_put_xml, "\x1b[1m\n", "\\x1b[1m\\n");
    assert_put(report_put_xml, "M\xfcller", "M\xef\xbf\xbdller");
    assert_put(report_put_xml, "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
               "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    assert_put(report_put_xml, "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_put(report_put_xml, "\xef\xbf\xbe", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_put(report_put_xml, "\xe2\xbf", "\xef\xbf\xbd\xef\xbf\xbd"); /* cut in the middle */
    assert_put(report_put_xml, "", "");
}

static void test_latex_escapes_what_tex_obeys(void **state) {
    (void)state;
    assert_put(report_put_latex, "50 % of A_1 & {b}$#^~\\",
               "50 \\% of A\\_1 \\& \\{b\\}\\$\\#\\textasciicircum{}\\textasciitilde{}"
               "\\textbackslash{}");
    assert_put(report_put_latex, "x[1]", "x{[}1{]}");
}

static void test_numbers_have_no_zeros_to_spare(void **state) {
    (void)state;
    const struct {
        double value;
        const char *text;
    } cases[] = {{1, "1"},           {1.5, "1.5"},        {0.333333, "0.33"},
                 {-0.001, "0"},      {100, "100"},        {-2.25, "-2.25"},
                 {(double)NAN, "0"}, {1e9, "1000000000"}, {0.1, "0.1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        report_text text = {0};
        report_put_number(&text, cases[i].value);
        assert_string_equal(text.bytes, cases[i].text);
        report_text_free(&text);
    }
}

static void test_text_grows_and_says_when_memory_ran_out(void **state) {
    (void)state;
    report_text text = {0};
    for (int i = 0; i < 5000; i++) report_putf(&text, "%d,", i % 10);
    assert_int_equal(text.length, 10000);
    assert_int_equal(strlen(text.bytes), 10000);
    text.failed = true;
    assert_int_equal(report_text_write(&text, "/nonexistent/never"), PGCN_ERR_MEMORY);
    report_text_free(&text);
    assert_null(text.bytes);
}

/* ---- ticks ------------------------------------------------------------------------------------- */

static void assert_ticks(double low, double high, report_scale scale, int wanted,
                         const char *expected) {
    report_ticks ticks = report_ticks_between(low, high, scale, wanted);
    char all[512] = "";
    for (int i = 0; i < ticks.count; i++) {
        strcat(all, i ? " " : "");
        strcat(all, ticks.label[i]);
        assert_true(ticks.at[i] >= low - 1e-9 * fabs(low));
        assert_true(ticks.at[i] <= high + 1e-9 * fabs(high));
    }
    assert_string_equal(all, expected);
}

static void test_ticks_are_at_round_numbers(void **state) {
    (void)state;
    assert_ticks(0, 1, REPORT_LINEAR, 5, "0.0 0.2 0.4 0.6 0.8 1.0");
    assert_ticks(-0.31, 0.29, REPORT_LINEAR, 4, "-0.2 0.0 0.2");
    assert_ticks(0, 500, REPORT_LINEAR, 5, "0 100 200 300 400 500");
    assert_ticks(79.8, 83.4, REPORT_LINEAR, 4, "80 81 82 83");
    assert_ticks(0, 50000, REPORT_LINEAR, 5, "0 10k 20k 30k 40k 50k");
    assert_ticks(0.1, 0.7, REPORT_LINEAR, 6, "0.1 0.2 0.3 0.4 0.5 0.6 0.7");
    assert_ticks(2, 64, REPORT_LOG2, 6, "2 4 8 16 32 64");
    assert_ticks(1, 1024, REPORT_LOG2, 4, "1 4 16 64 256 1024");
    assert_ticks(1, 1000, REPORT_LOG10, 6, "1 10 100 1000");
    assert_ticks(0.001, 0.1, REPORT_LOG10, 6, "0.001 0.01 0.1");
    assert_ticks(1, 60, REPORT_LOG10, 6, "1 2 5 10 20 50");
    assert_ticks(20, 90, REPORT_LOG10, 4, "20 40 60 80"); /* less than a decade */
    assert_ticks(3, 3, REPORT_LINEAR, 5, "3");
    assert_ticks((double)NAN, 3, REPORT_LINEAR, 5, "");
    assert_ticks(5, 3, REPORT_LINEAR, 5, "");
}

static void test_ticks_of_any_range_are_few_and_ascend(void **state) {
    (void)state;
    for (double low = -1e6; low < 1e6; low = low < 0 ? low / 3 + 1e-7 : low * 3 + 1e-7)
        for (double width = 1e-7; width < 1e7; width *= 4.7)
            for (int wanted = 2; wanted <= 8; wanted += 3) {
                report_ticks ticks = report_ticks_between(low, low + width, REPORT_LINEAR, wanted);
                assert_true(ticks.count <= wanted + 1);
                for (int i = 1; i < ticks.count; i++) assert_true(ticks.at[i] > ticks.at[i - 1]);
            }
}

/* ---- colours ----------------------------------------------------------------------------------- */

static void test_styles_differ_in_more_than_colour(void **state) {
    (void)state;
    for (int a = 0; a < 14; a++)
        for (int b = 0; b < a; b++) {
            report_style one = report_style_of(a), two = report_style_of(b);
            assert_true(one.marker != two.marker || one.colour != two.colour);
            if (a < 7) assert_true(one.marker != two.marker && one.colour != two.colour);
        }
    assert_true(report_style_of(-1).colour == report_style_of(0).colour);
    for (int i = 0; i < 20; i++)
        assert_true(report_style_of(i).colour != REPORT_RGB(0xf0e442)); /* yellow */
}

static void test_palettes_begin_and_end_apart_and_ink_on_them_is_read(void **state) {
    (void)state;
    assert_int_equal(report_palette_colour(REPORT_SEQUENTIAL, 0), REPORT_RGB(0xf3f8fd));
    assert_int_equal(report_palette_colour(REPORT_SEQUENTIAL, 1), REPORT_RGB(0x08306b));
    assert_int_equal(report_palette_colour(REPORT_SEQUENTIAL, 7), REPORT_RGB(0x08306b));
    assert_int_equal(report_palette_colour(REPORT_DIVERGING, 0.5), REPORT_RGB(0xf6f6f6));
    assert_int_equal(report_palette_colour(REPORT_DIVERGING, (double)NAN), REPORT_NONE);
    assert_int_equal(report_contrast(REPORT_RGB(0xffffff)), REPORT_RGB(0));
    assert_int_equal(report_contrast(REPORT_RGB(0x08306b)), REPORT_RGB(0xffffff));
    assert_int_equal(report_contrast(REPORT_NONE), REPORT_INK);
}

/* ---- charts ------------------------------------------------------------------------------------ */

static const double ys[] = {1, 4, (double)NAN, 2}, lows[] = {0, 3, 0, 1}, highs[] = {2, 6, 0, 3};

static report_text drawn(const report_chart *chart, bool latex) {
    report_text text = {0};
    if (latex)
        report_chart_latex(&text, chart, true);
    else
        report_chart_svg(&text, chart, true);
    assert_false(text.failed);
    return text;
}

static int occurrences(const char *text, const char *piece) {
    int count = 0;
    for (; (text = strstr(text, piece)); text += strlen(piece)) count++;
    return count;
}

static void test_chart_range_holds_intervals_rules_and_zero_of_bars(void **state) {
    (void)state;
    report_series series = {.count = 4, .y = ys, .low = lows, .high = highs};
    report_rule rule = {.at = 9};
    report_chart chart = {.series = &series, .count = 1};
    double low, high;
    report_chart_range(&chart, false, &low, &high);
    assert_true(low < 0 && low > -1 && high > 6 && high < 7);
    report_chart_range(&chart, true, &low, &high);
    assert_true(low == 0 && high == 3); /* lines span the axis */
    chart.rule = &rule;
    chart.rules = 1;
    report_chart_range(&chart, false, &low, &high);
    assert_true(high > 9);
    series = (report_series){.count = 4, .y = ys, .draw = REPORT_DRAW_BARS};
    report_chart_range(&chart, false, &low, &high);
    assert_true(low == 0);
    chart.y.scale = REPORT_LOG10; /* 0 and less do not exist there */
    report_chart_range(&chart, false, &low, &high);
    assert_true(low > 0);
}

static void test_chart_breaks_lines_where_numbers_are_missing(void **state) {
    (void)state;
    report_series series = {.name = "a<b", .count = 4, .y = ys};
    report_chart chart = {.about = "x & y", .series = &series, .count = 1};
    report_text text = drawn(&chart, false);
    const char *line = strstr(text.bytes, "stroke-width=\"1.75\"");
    assert_non_null(line);
    while (line > text.bytes && strncmp(line, "<path", 5) != 0) line--;
    char path[400];
    snprintf(path, sizeof path, "%.*s", (int)strcspn(line + 6, ">"), line);
    assert_int_equal(occurrences(path, "M"), 2);
    assert_int_equal(occurrences(path, "L"), 1);
    assert_non_null(strstr(text.bytes, "aria-label=\"x &amp; y\""));
    assert_non_null(strstr(text.bytes, "<title>a&lt;b</title>"));
    assert_null(strstr(text.bytes, "nan"));
    report_text_free(&text);
}

static void test_chart_keeps_a_long_line_short_and_its_extremes(void **state) {
    (void)state;
    static double y[50000];
    for (int i = 0; i < 50000; i++) y[i] = i % 2 ? 1 : -1;
    y[31234] = 5;
    report_series series = {.count = 50000, .y = y};
    report_chart chart = {
        .series = &series, .count = 1, .y = {.fixed = true, .low = -5, .high = 5}};
    report_text text = drawn(&chart, false);
    assert_true(text.length < 30000);
    assert_non_null(strstr(text.bytes, " 10L")); /* the top of the frame: y = 5 */
    report_text_free(&text);
}

static void test_chart_latex_has_axes_numbers_and_escaped_names(void **state) {
    (void)state;
    report_series series = {.name = "50 %", .count = 4, .y = ys, .low = lows, .high = highs};
    report_chart chart = {.series = &series, .count = 1, .x = {.title = "a_b"}};
    report_text text = drawn(&chart, true);
    assert_non_null(strstr(text.bytes, "\\begin{axis}"));
    assert_non_null(strstr(text.bytes, "xlabel={a\\_b}"));
    assert_non_null(strstr(text.bytes, "\\addlegendentry{50 \\%}"));
    assert_non_null(strstr(text.bytes, "(1,4)"));
    assert_non_null(strstr(text.bytes, "fill between"));
    assert_non_null(strstr(text.bytes, "fillbetween}")); /* the preamble says so */
    assert_non_null(strstr(text.bytes, "\\resizebox{"));
    assert_non_null(strstr(text.bytes, "\\end{tikzpicture}}"));
    report_text_free(&text);
}

static void test_heat_map_draws_every_number_once(void **state) {
    (void)state;
    const double value[] = {1, -2, (double)NAN, 4, 0, 3};
    static const char *const rows[] = {"r<1", "r2"};
    report_heat heat = {.rows = 2,
                        .columns = 3,
                        .value = value,
                        .palette = REPORT_DIVERGING,
                        .format = "%.1f",
                        .row_name = rows};
    double low, high;
    report_heat_range(&heat, &low, &high);
    assert_true(low == -4 && high == 4);
    report_chart chart = {.heat = &heat};
    report_text text = drawn(&chart, false);
    assert_non_null(strstr(text.bytes, ">-2.0</text>"));
    assert_int_equal(occurrences(text.bytes, "<title>"), 5);
    assert_non_null(strstr(text.bytes, "<title>r&lt;1: 1</title>"));
    report_text_free(&text);
    text = drawn(&chart, true);
    assert_int_equal(occurrences(text.bytes, "\\node["), 5);
    assert_non_null(strstr(text.bytes, "at (axis cs:1,0) {-2.0};"));
    report_text_free(&text);
    static const char *const words[] = {"10 %", "", "", "", "", "x"};
    heat.label = words;
    text = drawn(&chart, true);
    assert_non_null(strstr(text.bytes, "at (axis cs:0,0) {10 \\%};"));
    report_text_free(&text);
    heat.label = NULL;
    heat.format = NULL;
    text = drawn(&chart, true);
    assert_null(strstr(text.bytes, "\\node["));
    report_text_free(&text);
    static double many[40 * 40];
    for (int i = 0; i < 1600; i++) many[i] = i;
    heat = (report_heat){.rows = 40, .columns = 40, .value = many};
    text = drawn(&chart, false);
    assert_true(text.length < 60000);
    /* A cell of a dense map is a path "M..h..v..h-..z". */
    assert_int_equal(occurrences(text.bytes, "h-"), 1600);
    report_text_free(&text);
}

static void test_charts_without_data_are_empty_but_whole(void **state) {
    (void)state;
    report_chart chart = {.x = {.title = "epoch"}};
    report_series series = {.name = "nothing", .count = 0};
    for (int latex = 0; latex < 2; latex++)
        for (int count = 0; count < 2; count++) {
            chart.series = &series;
            chart.count = count;
            report_text text = drawn(&chart, latex);
            assert_non_null(strstr(text.bytes, latex ? "\\end{axis}" : "</svg>"));
            report_text_free(&text);
        }
}

static void test_words_are_cut_to_their_room(void **state) {
    (void)state;
    char out[64];
    report_words_fit("Reinforcement_Learning", 10, 60, out, sizeof out);
    assert_true(report_words_width(out, 10) <= 62);
    assert_non_null(strstr(out, "\xe2\x80\xa6"));
    report_words_fit("short", 10, 60, out, sizeof out);
    assert_string_equal(out, "short");
    char tiny[5];
    report_words_fit("\xc3\xa9\xc3\xa9\xc3\xa9", 10, 1000, tiny, sizeof tiny);
    assert_string_equal(tiny, "\xe2\x80\xa6"); /* never half a character */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xml_escapes_markup_controls_and_bytes_that_are_not_utf8),
        cmocka_unit_test(test_latex_escapes_what_tex_obeys),
        cmocka_unit_test(test_numbers_have_no_zeros_to_spare),
        cmocka_unit_test(test_text_grows_and_says_when_memory_ran_out),
        cmocka_unit_test(test_ticks_are_at_round_numbers),
        cmocka_unit_test(test_ticks_of_any_range_are_few_and_ascend),
        cmocka_unit_test(test_styles_differ_in_more_than_colour),
        cmocka_unit_test(test_palettes_begin_and_end_apart_and_ink_on_them_is_read),
        cmocka_unit_test(test_chart_range_holds_intervals_rules_and_zero_of_bars),
        cmocka_unit_test(test_chart_breaks_lines_where_numbers_are_missing),
        cmocka_unit_test(test_chart_keeps_a_long_line_short_and_its_extremes),
        cmocka_unit_test(test_chart_latex_has_axes_numbers_and_escaped_names),
        cmocka_unit_test(test_heat_map_draws_every_number_once),
        cmocka_unit_test(test_charts_without_data_are_empty_but_whole),
        cmocka_unit_test(test_words_are_cut_to_their_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
