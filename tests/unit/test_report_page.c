/* Pages and principal components. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- pages ------------------------------------------------------------------------------------- */

static void test_page_escapes_and_closes_what_it_opens(void **state) {
    (void)state;
    report_page page = {0};
    report_page_open(&page, "a < b");
    report_section_open(&page, "one", "x & y");
    report_paragraph(&page, "%d <b>", 7);
    report_table_open(&page, "name|>number");
    report_cell(&page, "<i>");
    report_cell(&page, "%.1f", 1.25);
    report_table_close(&page);
    report_data(&page, "data", "{\"a\":\"</script>&\"}");
    report_section_close(&page);
    assert_non_null(strstr(page.text.bytes, "<title>a &lt; b</title>"));
    assert_non_null(strstr(page.text.bytes, "<p>7 &lt;b&gt;</p>"));
    assert_non_null(strstr(page.text.bytes, "<th class=\"r\" scope=\"col\">number</th>"));
    assert_non_null(strstr(page.text.bytes, "<tr><td>&lt;i&gt;</td><td class=\"r\">1.2</td></tr>"));
    assert_non_null(strstr(page.text.bytes, "{\"a\":\"\\u003c/script\\u003e\\u0026\"}</script>"));
    assert_non_null(strstr(page.text.bytes, "default-src 'none'"));
    assert_non_null(strstr(page.text.bytes, "<section id=\"one\">\n<h2>x &amp; y</h2>"));
    report_page_free(&page);
}

static void test_page_figures_are_files_too_and_errors_stay(void **state) {
    (void)state;
    char folder[] = "/tmp/pathgcn-page-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    const double y[] = {1, 2};
    report_series series = {.count = 2, .y = y};
    report_chart chart = {.series = &series, .count = 1};
    report_page page = {.svg = folder, .latex = folder};
    report_page_open(&page, "t");
    report_figure(&page, "curve", "A <curve>.", &chart);
    assert_non_null(strstr(page.text.bytes, "aria-label=\"A &lt;curve&gt;.\""));
    snprintf(path, sizeof path, "%s/curve.svg", folder);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/curve.tex", folder);
    assert_int_equal(unlink(path), 0);
    page.svg = "/nonexistent";
    report_figure(&page, "curve", "Again.", &chart);
    assert_int_equal(page.status, PGCN_ERR_IO);
    snprintf(path, sizeof path, "%s/page.html", folder);
    assert_int_equal(report_page_close(&page, path), PGCN_ERR_IO);
    assert_int_equal(access(path, F_OK), -1); /* no page that lacks its files */
    report_page_free(&page);
    unlink(path);
    snprintf(path, sizeof path, "%s/curve.tex", folder);
    unlink(path);
    rmdir(folder);
}

/* ---- principal components ------------------------------------------------------------------------ */

/* Points of known axes: 3 a u + b v + a small part elsewhere, with u and v orthonormal. */
static void test_pca_finds_known_axes_and_their_shares(void **state) {
    (void)state;
    enum { ROWS = 400, COLUMNS = 9 };
    static float x[ROWS * COLUMNS];
    static double place[2 * ROWS];
    double u[COLUMNS] = {0}, v[COLUMNS] = {0}, share[2];
    u[2] = 0.8, u[5] = 0.6, v[2] = -0.6, v[5] = 0.8;
    for (int r = 0; r < ROWS; r++) {
        double a = 3 * sin(1.7 * r), b = cos(2.9 * r);
        for (int c = 0; c < COLUMNS; c++)
            x[r * COLUMNS + c] =
                (float)(10 + a * u[c] + b * v[c] + (c == 7 ? 0.1 * sin(5.3 * r) : 0));
    }
    assert_true(report_pca(ROWS, COLUMNS, x, place, share));
    double total = 9.0 / 2 + 0.5 + 0.01 / 2;
    assert_true(fabs(share[0] - 4.5 / total) < 0.01);
    assert_true(fabs(share[1] - 0.5 / total) < 0.01);
    for (int r = 0; r < ROWS; r++) { /* the largest weight of each is positive */
        assert_true(fabs(place[2 * r] - 3 * sin(1.7 * r)) < 0.05);
        assert_true(fabs(place[2 * r + 1] - cos(2.9 * r)) < 0.05);
    }
}

static void test_pca_is_the_same_every_time_and_says_when_there_is_nothing(void **state) {
    (void)state;
    float x[40], constant[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    double one[20], two[20], share[2];
    for (int i = 0; i < 40; i++) x[i] = (float)sin(3.1 * i * i);
    assert_true(report_pca(10, 4, x, one, share));
    assert_true(report_pca(10, 4, x, two, share));
    assert_memory_equal(one, two, sizeof one);
    assert_true(report_pca(10, 1, x, one, share)); /* one channel: a line */
    assert_true(share[1] == 0 && one[1] == 0);
    assert_false(report_pca(3, 4, constant, one, share));
    assert_false(report_pca(1, 4, x, one, share));
    x[7] = NAN;
    assert_false(report_pca(10, 4, x, one, share));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_escapes_and_closes_what_it_opens),
        cmocka_unit_test(test_page_figures_are_files_too_and_errors_stay),
        cmocka_unit_test(test_pca_finds_known_axes_and_their_shares),
        cmocka_unit_test(test_pca_is_the_same_every_time_and_says_when_there_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
