/* matrix_market.c: every kind of graph that the format can hold is read; other matrices and broken
 * files are refused with a line and a way out. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "published_help.h"

static pgcn_i_source source;

static int begin(void **state) {
    return scratch_make(state);
}
static int end(void **state) {
    pgcn_i_source_free(&source);
    return scratch_remove(state);
}

#define MARK "%%MatrixMarket matrix coordinate "

static const char *write_text(const char *text) {
    return scratch_write("g.mtx", text, strlen(text));
}

static pgcn_status try_read(const char *path) {
    pgcn_i_steps steps = {0};
    pgcn_i_source_free(&source);
    return pgcn_i_matrix_market_read(path, &steps, &source);
}

static void read_text(const char *text) {
    const char *path = write_text(text);
    assert_true(pgcn_i_matrix_market_detect(path));
    if (try_read(path) != PGCN_OK) fail_msg("%s", pgcn_last_error());
}

static void assert_edges(int64_t nodes, int64_t edges, const pgcn_node *from, const pgcn_node *to) {
    assert_int_equal(source.nodes, nodes);
    assert_int_equal(source.edges, edges);
    assert_memory_equal(source.edge_from, from, (size_t)edges * sizeof *from);
    assert_memory_equal(source.edge_to, to, (size_t)edges * sizeof *to);
}

static const pgcn_node from[] = {1, 2, 2}, to[] = {0, 0, 2};

static void test_matrix_market_general_matrices_are_directed(void **state) {
    (void)state;
    read_text(MARK "real general\n% a comment\n\n3 3 3\n2 1 0.5\n3 1 1e1\n 3\t3 2\n");
    assert_edges(3, 3, from, to);
    assert_true(source.directed);
    static const float weight[] = {0.5f, 10, 2};
    assert_memory_equal(source.edge_weight, weight, sizeof weight);
    assert_int_equal(source.x.columns, 0);
    assert_null(source.label);
}

static void test_matrix_market_symmetric_matrices_are_undirected(void **state) {
    (void)state;
    read_text("%%matrixmarket MATRIX Coordinate Integer Symmetric\n5 5 3\n2 1 1\n3 1 1\n3 3 2\n");
    assert_edges(5, 3, from, to);
    assert_false(source.directed);
    assert_true(source.edge_weight[2] == 2);
}

static void test_matrix_market_patterns_and_ones_have_no_weights(void **state) {
    (void)state;
    read_text(MARK "pattern symmetric\n3 3 3\n2 1\n3 1\n3 3\n");
    assert_edges(3, 3, from, to);
    assert_null(source.edge_weight);
    read_text(MARK "real general\r\n3 3 3\r\n2 1 1\r\n3 1 1.0\r\n3 3 1e0\r\n");
    assert_edges(3, 3, from, to);
    assert_null(source.edge_weight);
    read_text(MARK "pattern general\n4 4 0\n");
    assert_int_equal(source.nodes, 4);
    assert_int_equal(source.edges, 0);
}

static void test_matrix_market_skew_matrices_lose_their_sign_and_tell(void **state) {
    (void)state;
    read_text(MARK "real skew-symmetric\n3 3 3\n2 1 -4\n3 1 2\n3 3 1\n");
    assert_edges(3, 3, from, to);
    assert_false(source.directed);
    assert_true(source.edge_weight[0] == 4);
    assert_true(has_note(&source, "skew-symmetric"));
}

static void test_matrix_market_gzip_is_read(void **state) {
    (void)state;
    /* gzip.compress(b"%%MatrixMarket matrix coordinate pattern general\n3 3 3\n2 1\n3 1\n3 3\n") */
    static const unsigned char packed[] = {
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x53, 0x55, 0xf5,
        0x4d, 0x2c, 0x29, 0xca, 0xac, 0xf0, 0x4d, 0x2c, 0xca, 0x4e, 0x2d, 0x51, 0xc8,
        0x05, 0x73, 0x14, 0x92, 0xf3, 0xf3, 0x8b, 0x52, 0x32, 0xf3, 0x12, 0x4b, 0x52,
        0x15, 0x0a, 0x12, 0x4b, 0x4a, 0x52, 0x8b, 0xf2, 0x14, 0xd2, 0x53, 0xf3, 0x52,
        0x8b, 0x12, 0x73, 0xb8, 0x8c, 0x15, 0x80, 0x90, 0xcb, 0x48, 0xc1, 0x10, 0xc8,
        0x02, 0x61, 0x63, 0x2e, 0x00, 0xf0, 0xb9, 0x23, 0x3b, 0x43, 0x00, 0x00, 0x00};
    const char *path = scratch_write("g.mtx.gz", packed, sizeof packed);
    assert_true(pgcn_i_matrix_market_detect(path));
    assert_int_equal(try_read(path), PGCN_OK);
    assert_edges(3, 3, from, to);
}

static void test_matrix_market_other_files_are_not_taken_for_it(void **state) {
    (void)state;
    assert_false(pgcn_i_matrix_market_detect(write_text("1 2\n2 3\n")));
    assert_false(pgcn_i_matrix_market_detect(write_text("%MatrixMarket\n")));
    assert_false(pgcn_i_matrix_market_detect(write_text("")));
    assert_false(pgcn_i_matrix_market_detect(scratch));
    assert_false(pgcn_i_matrix_market_detect(scratch_path("none.mtx")));
}

static void test_matrix_market_broken_files_are_refused_with_a_line(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "expected '%%MatrixMarket matrix"},
        {"%%MatrixMarket matrix coordinate real\n", "line 1: found '%%MatrixMarket matrix"},
        {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", "scipy.sparse.coo_matrix"},
        {"%%MatrixMarket vector coordinate real general\n", "found 'vector coordinate'"},
        {MARK "complex general\n", "line 1: found values of the kind 'complex'"},
        {MARK "complex hermitian\n", "'complex', expected real, integer or pattern"},
        {MARK "real hermitian\n", "'hermitian', expected general, symmetric"},
        {MARK "real \33[2J\n", "'\\x1b[2J'"},
        {MARK "real general\n", "expected three numbers"},
        {MARK "real general\n3 3\n", "line 2: found '3 3', expected three numbers"},
        {MARK "real general\n3 3 1 1\n", "line 2: found '3 3 1 1'"},
        {MARK "real general\n3 3 -1\n", "line 2: found"},
        {MARK "real general\n3 4 1\n1 1 1\n", "line 2: found a matrix of 3 rows and 4 columns"},
        {MARK "real general\n0 0 0\n", "line 2: found a matrix of 0 rows"},
        {MARK "real general\n3000000000 3000000000 0\n", "square one of 1 to 2147483647"},
        {MARK "pattern general\n2147483647 2147483647 1\n1 1\n", "leave out the empty rows"},
        {MARK "real general\n3 3 9223372036854775807\n1 1 1\n", "line 3: the file ends after 1"},
        {MARK "real general\n3 3 2\n1 1 1\n", "line 3: the file ends after 1 entries, expected 2"},
        {MARK "real general\n3 3 1\n1 1 1\n2 2 1\n", "line 4: found '2 2 1' after the last of 1"},
        {MARK "real general\n3 3 1\n0 1 1\n", "line 3: found '0 1 1', expected a row and a column"},
        {MARK "real general\n3 3 1\n1 4 1\n", "line 3: found '1 4 1'"},
        {MARK "real general\n3 3 1\n-1 1 1\n", "line 3: found '-1 1 1'"},
        {MARK "real general\n3 3 1\n1.5 1 1\n", "line 3: found '1.5 1 1'"},
        {MARK "real general\n3 3 1\n1\n", "line 3: found '1'"},
        {MARK "real general\n3 3 1\n1 1\n", "line 3: found '', expected the value"},
        {MARK "real general\n3 3 1\n1 1 x\n", "line 3: found 'x', expected the value"},
        {MARK "real general\n3 3 1\n1 1 1 1\n", "line 3: found '1 1 1 1'"},
        {MARK "pattern general\n3 3 1\n1 1 1\n", "line 3: found '1 1 1'"},
        {MARK "real general\n3 3 2\n1 1 1\n1 2 -2\n", "line 4: found the weight -2"},
        {MARK "real general\n3 3 1\n1 1 0\n", "line 3: found the weight 0, expected"},
        {MARK "real general\n3 3 1\n1 1 nan\n", "line 3: found"},
        {MARK "real general\n3 3 1\n1 1 inf\n", "line 3: found"},
        {MARK "real general\n3 3 1\n1 1 1e99\n", "line 3: found"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pgcn_status status = try_read(write_text(cases[i].text));
        if (status != PGCN_ERR_FORMAT)
            fail_msg("case %zu (%s) gave %d: %s", i, cases[i].says, status, pgcn_last_error());
        assert_error_says(cases[i].says);
        assert_error_says("g.mtx");
    }
    assert_int_equal(try_read(scratch_path("none.mtx")), PGCN_ERR_IO);
}

static pgcn_status read_and_free(void) {
    pgcn_i_source own = {0};
    pgcn_i_steps steps = {0};
    pgcn_status status = pgcn_i_matrix_market_read(scratch_path("g.mtx"), &steps, &own);
    pgcn_i_source_free(&own);
    return status;
}

static void test_matrix_market_every_failing_allocation_is_told(void **state) {
    (void)state;
    write_text(MARK "real skew-symmetric\n3 3 3\n2 1 -4\n3 1 2\n3 3 1\n");
    assert_true(fail_every_allocation(read_and_free) > 5);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_matrix_market_general_matrices_are_directed),
        TEST(test_matrix_market_symmetric_matrices_are_undirected),
        TEST(test_matrix_market_patterns_and_ones_have_no_weights),
        TEST(test_matrix_market_skew_matrices_lose_their_sign_and_tell),
        TEST(test_matrix_market_gzip_is_read),
        TEST(test_matrix_market_other_files_are_not_taken_for_it),
        TEST(test_matrix_market_broken_files_are_refused_with_a_line),
        TEST(test_matrix_market_every_failing_allocation_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
