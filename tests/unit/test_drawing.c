/* Layouts of graphs, by igraph where it is here and by our own: distances are steps, nothing is drawn at random, and
 * parts do not overlap. And what a drawing becomes in SVG and LaTeX. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "report/drawing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 400 };
typedef struct sample {
    int64_t nodes, edges, from[MOST], to[MOST];
    double x[MOST], y[MOST];
} sample;

static void join(sample *s, int64_t a, int64_t b) {
    s->from[s->edges] = a;
    s->to[s->edges++] = b;
}

static void lay_out(sample *s, bool own) {
    report_graph graph = {s->nodes, s->edges, s->from, s->to};
    memset(s->x, 0xff, sizeof s->x); /* NaN: every place is written */
    memset(s->y, 0xff, sizeof s->y);
    assert_true(report_layout(&graph, own, s->x, s->y));
    for (int64_t i = 0; i < s->nodes; i++) assert_true(isfinite(s->x[i]) && isfinite(s->y[i]));
}

static double between(const sample *s, int64_t a, int64_t b) {
    return hypot(s->x[a] - s->x[b], s->y[a] - s->y[b]);
}

static void assert_near(double got, double wanted, double tolerance) {
    if (!(fabs(got - wanted) <= tolerance)) fail_msg("%g, not %g", got, wanted);
}

/* Both engines, if there are two. */
static int engines(void) {
    return strcmp(report_layout_engine(), "own") == 0 ? 1 : 2;
}

static void test_layout_of_a_path_is_a_straight_line(void **state) {
    (void)state;
    for (int engine = 0; engine < engines(); engine++) {
        sample s = {.nodes = 9};
        for (int64_t i = 0; i + 1 < 9; i++) join(&s, i, i + 1);
        lay_out(&s, engine == 0);
        for (int64_t i = 0; i < 9; i++)
            for (int64_t j = 0; j < i; j++)
                assert_near(between(&s, i, j) / between(&s, 0, 1), (double)(i - j), 0.2);
        assert_true(fabs(s.x[0] - s.x[8]) > 10 * fabs(s.y[0] - s.y[8])); /* along x */
    }
}

static void test_layout_of_a_ring_is_a_circle(void **state) {
    (void)state;
    enum { N = 12 };
    for (int engine = 0; engine < engines(); engine++) {
        sample s = {.nodes = N};
        for (int64_t i = 0; i < N; i++) join(&s, i, (i + 1) % N);
        lay_out(&s, engine == 0);
        double x = 0, y = 0;
        for (int i = 0; i < N; i++) x += s.x[i] / N, y += s.y[i] / N;
        double radius = hypot(s.x[0] - x, s.y[0] - y);
        for (int i = 0; i < N; i++) {
            assert_near(hypot(s.x[i] - x, s.y[i] - y) / radius, 1, 0.05);
            assert_near(between(&s, i, (i + 1) % N) / between(&s, 0, 1), 1, 0.1);
        }
    }
}

/* On a grid of 5 x 5 no two nodes are nearer than neighbours nearly are. */
static void test_layout_of_a_grid_keeps_neighbours_nearest(void **state) {
    (void)state;
    for (int engine = 0; engine < engines(); engine++) {
        sample s = {.nodes = 25};
        for (int64_t i = 0; i < 25; i++) {
            if (i % 5 < 4) join(&s, i, i + 1);
            if (i < 20) join(&s, i, i + 5);
        }
        lay_out(&s, engine == 0);
        double longest = 0, shortest = INFINITY;
        for (int64_t i = 0; i < 25; i++)
            for (int64_t j = 0; j < i; j++) {
                bool joined = (i - j == 1 && i % 5 > 0) || i - j == 5;
                if (joined)
                    longest = fmax(longest, between(&s, i, j));
                else
                    shortest = fmin(shortest, between(&s, i, j));
            }
        assert_true(longest < 1.25 * shortest);
    }
}

static void test_layout_is_the_same_each_time(void **state) {
    (void)state;
    static sample a, b;
    for (int engine = 0; engine < engines(); engine++) {
        a = (sample){.nodes = 60};
        for (int64_t i = 1; i < 60; i++) join(&a, i, i * i * 7 % i); /* a tree, and some more */
        for (int64_t i = 9; i < 50; i += 9) join(&a, i, i - 7);
        b = a;
        lay_out(&a, engine == 0);
        lay_out(&b, engine == 0);
        assert_memory_equal(a.x, b.x, 60 * sizeof *a.x);
        assert_memory_equal(a.y, b.y, 60 * sizeof *a.y);
        for (int64_t i = 0; i < 60; i++)
            for (int64_t j = 0; j < i; j++) assert_true(between(&a, i, j) > 0.05);
    }
}

static void test_layout_puts_parts_beside_each_other(void **state) {
    (void)state;
    sample s = {.nodes = 11}; /* two triangles, a path, and two nodes alone */
    for (int64_t i = 0; i < 3; i++) join(&s, i, (i + 1) % 3), join(&s, 3 + i, 3 + (i + 1) % 3);
    join(&s, 6, 7), join(&s, 7, 8);
    join(&s, 9, 9), join(&s, 0, 1); /* a loop, and an edge twice */
    static const int part[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4};
    lay_out(&s, false);
    for (int64_t i = 0; i < 11; i++)
        for (int64_t j = 0; j < i; j++)
            if (part[i] != part[j]) assert_true(between(&s, i, j) > 0.7);
}

static void test_layout_takes_nothing_one_node_and_refuses_too_many(void **state) {
    (void)state;
    double x = -1, y = -1;
    assert_true(report_layout(&(report_graph){0}, true, &x, &y));
    assert_true(report_layout(&(report_graph){.nodes = 1}, false, &x, &y));
    assert_true(x == 0 && y == 0);
    assert_false(report_layout(&(report_graph){.nodes = REPORT_MOST_LAID_OUT + 1}, true, &x, &y));
}

/* ---- drawings ------------------------------------------------------------------------------------- */

static int count(const char *text, const char *word) {
    int found = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) found++;
    return found;
}

static const report_node nodes[] = {
    {.x = 0, .y = 0, .value = -2, .origin = true, .label = "a<b"},
    {.x = 1, .y = 0, .value = 1, .tip = "second & last"},
    {.x = 1, .y = 2, .value = NAN, .radius = 20},
};
static const report_link links[] = {
    {.from = 0, .to = 1, .tip = "one"},
    {.from = 1, .to = 2, .arrow = true, .width = 4, .colour = REPORT_RGB(0xd55e00)},
    {.from = 2, .to = 2},
};
static const report_network network = {.title = "Three",
                                       .nodes = 3,
                                       .links = 3,
                                       .node = nodes,
                                       .link = links,
                                       .palette = REPORT_DIVERGING,
                                       .value_title = "weight"};

static void draw(report_text *out, report_format format) {
    report_canvas canvas = report_canvas_open(out, format, 200, 240, "a test", true);
    report_network_draw(&canvas, &network, 0, 0, 200, 240);
    report_canvas_close(&canvas);
    assert_false(out->failed);
}

static void test_drawing_has_all_nodes_links_and_tips(void **state) {
    (void)state;
    report_text svg = {0}, latex = {0};
    draw(&svg, REPORT_SVG);
    assert_int_equal(count(svg.bytes, "<circle"), 3);
    assert_int_equal(count(svg.bytes, "<path"), 3); /* two links, and the head of an arrow */
    assert_int_equal(count(svg.bytes, "stroke-dasharray=\"3 2\""), 1);
    assert_int_equal(count(svg.bytes, "<title>a&lt;b: -2</title>"), 1);
    assert_int_equal(count(svg.bytes, "<title>second &amp; last</title>"), 1);
    assert_int_equal(count(svg.bytes, "<title>one</title>"), 1);
    assert_non_null(strstr(svg.bytes, "#0a3d6e")); /* -2 of -2 .. 2: the end of the palette */
    draw(&latex, REPORT_LATEX);
    assert_int_equal(count(latex.bytes, "circle[radius="), 3);
    report_text_free(&svg), report_text_free(&latex);
}

static void test_drawing_fits_into_its_room(void **state) {
    (void)state;
    report_text svg = {0};
    draw(&svg, REPORT_SVG);
    for (const char *at = svg.bytes; (at = strstr(at, "<circle cx=\"")); at++) {
        double x, y, r;
        assert_int_equal(sscanf(at, "<circle cx=\"%lf\" cy=\"%lf\" r=\"%lf\"", &x, &y, &r), 3);
        assert_true(x - r >= 0 && x + r <= 200 && y - r >= 20 && y + r <= 200);
    }
    report_text_free(&svg);
}

static void test_drawing_colours_are_symmetric_or_from_zero(void **state) {
    (void)state;
    double low, high;
    report_network_range(&network, &low, &high);
    assert_true(low == -2 && high == 2);
    report_node one = {.value = 3};
    report_network sequential = {.nodes = 1, .node = &one, .palette = REPORT_SEQUENTIAL};
    report_network_range(&sequential, &low, &high);
    assert_true(low <= 3 && high > low);
    report_network fixed = {.fixed = true, .low = -1, .high = 4};
    report_network_range(&fixed, &low, &high);
    assert_true(low == -1 && high == 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout_of_a_path_is_a_straight_line),
        cmocka_unit_test(test_layout_of_a_ring_is_a_circle),
        cmocka_unit_test(test_layout_of_a_grid_keeps_neighbours_nearest),
        cmocka_unit_test(test_layout_is_the_same_each_time),
        cmocka_unit_test(test_layout_puts_parts_beside_each_other),
        cmocka_unit_test(test_layout_takes_nothing_one_node_and_refuses_too_many),
        cmocka_unit_test(test_drawing_has_all_nodes_links_and_tips),
        cmocka_unit_test(test_drawing_fits_into_its_room),
        cmocka_unit_test(test_drawing_colours_are_symmetric_or_from_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
