/* text.c, gzip.c and table.c: lines, cells and tables of numbers come out of plain and compressed files
 * unchanged, and damaged or hostile files are refused with a sentence. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "scratch_help.h"

#include "gzip_help.h"

#include <math.h>

/* ---- lines ------------------------------------------------------------------------------------- */

/* Reads all lines and joins them with '|'. */
static pgcn_status join_lines(const char *path, char *out) {
    pgcn_i_text *text;
    char *line;
    int64_t length;
    *out = '\0';
    PGCN_TRY(pgcn_i_text_open(path, &text));
    pgcn_status status;
    while ((status = pgcn_i_text_line(text, &line, &length)) == PGCN_OK && line) {
        assert_int_equal(strlen(line), length);
        strcat(strcat(out, line), "|");
    }
    if (status == PGCN_OK) assert_true(pgcn_i_text_share(text) == 1);
    pgcn_i_text_close(text);
    return status;
}

static void test_text_lines_are_the_same_whatever_ends_them(void **state) {
    (void)state;
    static const struct {
        const char *content, *lines;
    } cases[] = {{"", ""},
                 {"\n", "|"},
                 {"a", "a|"},
                 {"a\n", "a|"},
                 {"a\nb", "a|b|"},
                 {"a\r\nb\r\n", "a|b|"},
                 {"a\n\nb\n\n", "a||b||"},
                 {"\xef\xbb\xbfid\n1\n", "id|1|"},
                 {"\xef\xbb\xbf", ""},
                 {"a\rb\n", "a\rb|"},
                 {"\x1f", "\x1f|"}};
    char found[256];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t bytes = strlen(cases[i].content);
        assert_int_equal(join_lines(scratch_write("a", cases[i].content, bytes), found), PGCN_OK);
        assert_string_equal(found, cases[i].lines);
        assert_int_equal(join_lines(scratch_gzip("a.gz", cases[i].content, bytes), found), PGCN_OK);
        assert_string_equal(found, cases[i].lines);
    }
}

/* Lines of many lengths, some longer than every buffer, and many short ones. */
static char *make_long_lines(size_t *bytes) {
    static const size_t lengths[] = {0, 1, 70000, 3, 1500000, 262143, 262144, 0, 5};
    char *content = malloc(3000000), *to = content;
    for (int i = 0; i < 50000; i++) to += sprintf(to, "%d\n", i * 77);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (size_t k = 0; k < lengths[i]; k++) *to++ = (char)('a' + (k * 7 + i) % 26);
        *to++ = '\n';
    }
    *bytes = (size_t)(to - content);
    return content;
}

static void assert_same_lines(const char *path, const char *content, size_t bytes) {
    pgcn_i_text *text;
    char *line;
    int64_t length, number = 0;
    assert_int_equal(pgcn_i_text_open(path, &text), PGCN_OK);
    for (const char *at = content; at < content + bytes;) {
        const char *end = memchr(at, '\n', (size_t)(content + bytes - at));
        assert_int_equal(pgcn_i_text_line(text, &line, &length), PGCN_OK);
        assert_non_null(line);
        assert_int_equal(length, end - at);
        assert_memory_equal(line, at, (size_t)length);
        assert_int_equal(pgcn_i_text_line_number(text), ++number);
        assert_true(pgcn_i_text_share(text) > 0 && pgcn_i_text_share(text) <= 1);
        at = end + 1;
    }
    assert_int_equal(pgcn_i_text_line(text, &line, &length), PGCN_OK);
    assert_null(line);
    pgcn_i_text_close(text);
}

static void test_text_lines_longer_than_the_buffers_are_whole(void **state) {
    (void)state;
    size_t bytes;
    char *content = make_long_lines(&bytes);
    assert_same_lines(scratch_write("a.txt", content, bytes), content, bytes);
    assert_same_lines(scratch_gzip("a.txt.gz", content, bytes), content, bytes);
    free(content);
}

static void test_text_a_line_without_end_is_refused(void **state) {
    (void)state;
    size_t bytes = (size_t)70 << 20;
    char *zeros = malloc(bytes), found[16];
    memset(zeros, 'x', bytes);
    assert_int_equal(join_lines(scratch_gzip("a.gz", zeros, bytes), found), PGCN_ERR_FORMAT);
    assert_error_says("longer than 64 MiB");
    free(zeros);
}

static void test_text_bytes_that_are_no_text_are_refused(void **state) {
    (void)state;
    char found[64];
    assert_int_equal(join_lines(scratch_write("a", "a\nb\0c\n", 6), found), PGCN_ERR_FORMAT);
    assert_error_says("line 2: found a byte 0");
    assert_error_says("UTF-16");
    assert_int_equal(join_lines(scratch_write("a", "PK\3\4\x14\0\6\0", 8), found), PGCN_ERR_FORMAT);
    assert_error_says("a zip file or a spreadsheet (.xlsx, .ods); save the sheet as CSV");
    assert_null(strstr(pgcn_last_error(), "UTF-16"));
    assert_int_equal(join_lines(scratch_path("absent"), found), PGCN_ERR_IO);
    assert_int_equal(join_lines(scratch, found), PGCN_ERR_IO);
    assert_error_says("a directory");
}

/* ---- gzip -------------------------------------------------------------------------------------- */

static void test_gzip_members_in_a_row_are_one_text(void **state) {
    (void)state;
    size_t a_bytes, b_bytes, none_bytes;
    unsigned char *a = gzip_member("one\ntw", 6, &a_bytes),
                  *b = gzip_member("o\nthree\n", 8, &b_bytes);
    unsigned char *none = gzip_member("", 0, &none_bytes), all[1024], *to = all;
    const struct {
        unsigned char *data;
        size_t bytes;
    } order[] = {
        {none, none_bytes}, {a, a_bytes}, {none, none_bytes}, {b, b_bytes}, {none, none_bytes}};
    for (int i = 0; i < 5; i++) {
        memcpy(to, order[i].data, order[i].bytes);
        to += order[i].bytes;
    }
    char found[64];
    assert_int_equal(join_lines(scratch_write("a", all, (size_t)(to - all)), found), PGCN_OK);
    assert_string_equal(found, "one|two|three|");
    free(a), free(b), free(none);
}

static void test_gzip_cut_anywhere_is_refused(void **state) {
    (void)state;
    size_t bytes;
    unsigned char *packed = gzip_member("0.25,0.5\n0.75,1\n", 16, &bytes);
    char found[64];
    for (size_t cut = 2; cut < bytes; cut++) {
        assert_int_equal(join_lines(scratch_write("a", packed, cut), found), PGCN_ERR_FORMAT);
        assert_error_says("decompressing");
    }
    free(packed);
}

/* Every bit of the file matters, but for a few of the header that carry no data (time, system). */
static void test_gzip_changed_anywhere_is_refused_or_the_same(void **state) {
    (void)state;
    size_t bytes;
    unsigned char *packed = gzip_member("0.25,0.5\n0.75,1\n0.25,0.5\n", 25, &bytes);
    char found[512];
    int refused = 0;
    for (size_t i = 2; i < bytes; i++)
        for (int bit = 0; bit < 8; bit++) {
            packed[i] ^= (unsigned char)(1 << bit);
            if (join_lines(scratch_write("a", packed, bytes), found) == PGCN_OK)
                assert_string_equal(found, "0.25,0.5|0.75,1|0.25,0.5|");
            else
                refused++;
            packed[i] ^= (unsigned char)(1 << bit);
        }
    assert_true(refused > 8 * ((int)bytes - 10) - 8);
    free(packed);
}

static void test_gzip_bytes_behind_the_end_are_refused(void **state) {
    (void)state;
    size_t bytes;
    unsigned char *packed = gzip_member("a\n", 2, &bytes), all[256];
    char found[64];
    static const char *behind[] = {"x", "\x1f", "\x1f\x8b", "\x1f\x8b\x08", "some text\n"};
    memcpy(all, packed, bytes);
    for (int i = 0; i < 5; i++) {
        memcpy(all + bytes, behind[i], strlen(behind[i]));
        assert_int_equal(join_lines(scratch_write("a", all, bytes + strlen(behind[i])), found),
                         PGCN_ERR_FORMAT);
    }
    all[bytes] = 0;
    assert_int_equal(join_lines(scratch_write("a", all, bytes + 1), found), PGCN_ERR_FORMAT);
    assert_error_says("after the end");
    free(packed);
}

/* 1 GiB is always allowed; one MiB more of a file that is not a hundredth of that is a bomb. */
static void test_gzip_bomb_is_refused_without_its_memory(void **state) {
    (void)state;
    size_t piece = (size_t)64 << 20, packed_bytes;
    char *lines = malloc(piece);
    memset(lines, '\n', piece);
    unsigned char *packed = gzip_member(lines, piece, &packed_bytes),
                  *all = malloc(17 * packed_bytes);
    for (size_t i = 0; i < 17; i++) memcpy(all + i * packed_bytes, packed, packed_bytes);
    assert_true(17 * packed_bytes < 10 << 20);
    pgcn_i_bytes *bytes;
    int64_t got, total = 0;
    pgcn_status status;
    assert_int_equal(pgcn_i_bytes_open(scratch_write("a.gz", all, 17 * packed_bytes), &bytes),
                     PGCN_OK);
    while ((status = pgcn_i_bytes_read(bytes, lines, 1 << 20, &got)) == PGCN_OK && got > 0)
        total += got;
    assert_int_equal(status, PGCN_ERR_FORMAT);
    assert_error_says("1 GiB");
    assert_int_equal(total, 1 << 30);
    pgcn_i_bytes_close(bytes);
    free(lines), free(packed), free(all);
}

/* ---- cells ------------------------------------------------------------------------------------- */

static void assert_cells(const char *line, char delimiter, const char *expected) {
    pgcn_i_buffer cells = {0};
    int64_t count;
    char copy[256], found[256] = "";
    strcpy(copy, line);
    pgcn_i_text *text;
    assert_int_equal(pgcn_i_text_open(scratch_path("x"), &text), PGCN_OK);
    pgcn_status status = pgcn_i_text_split(text, copy, delimiter, &cells, &count);
    for (int64_t i = 0; status == PGCN_OK && i < count; i++)
        strcat(strcat(strcat(found, "["), ((char **)(void *)cells.data)[i]), "]");
    if (status != PGCN_OK) strcpy(found, "error");
    assert_string_equal(found, expected);
    pgcn_i_text_close(text);
    pgcn_i_buffer_free(&cells);
}

static void test_text_cells_are_cut_as_in_rfc_4180(void **state) {
    (void)state;
    scratch_write("x", "", 0);
    assert_cells("a,b", ',', "[a][b]");
    assert_cells(" a , b ", ',', "[a][b]");
    assert_cells("a,,", ',', "[a][][]");
    assert_cells(",", ',', "[][]");
    assert_cells("", ',', "");
    assert_cells("   ", ',', "");
    assert_cells("\"a,b\",c", ',', "[a,b][c]");
    assert_cells("\"a \"\"x\"\" b\" , \"\"", ',', "[a \"x\" b][]");
    assert_cells("a\"b,c", ',', "[a\"b][c]");
    assert_cells("\"a", ',', "error");
    assert_cells("\"a\"\"", ',', "error");
    assert_cells("\"a\"b,c", ',', "error");
    assert_cells("a\tb\t", '\t', "[a][b][]");
    assert_cells("\tb", '\t', "[][b]");
    assert_cells(" a b\tc  d ", ' ', "[a][b][c][d]");
    assert_cells("\"a b\" c", ' ', "[a b][c]");
    assert_cells("a b;c", ';', "[a b][c]");
}

static void test_text_lines_are_joined_and_keep_the_number_of_the_first(void **state) {
    (void)state;
    static const char content[] = "a,\"two\r\nlines\"\r\nb,c\nlast";
    pgcn_i_text *text;
    pgcn_i_buffer cells = {0};
    char *line;
    int64_t length, count;
    bool joined;
    assert_int_equal(pgcn_i_text_open(scratch_write("t.csv", content, strlen(content)), &text),
                     PGCN_OK);
    assert_int_equal(pgcn_i_text_line(text, &line, &length), PGCN_OK);
    assert_string_equal(line, "a,\"two");
    assert_int_equal(pgcn_i_text_join(text, &line, &length, &joined), PGCN_OK);
    assert_true(joined);
    assert_string_equal(line, "a,\"two\r\nlines\"");
    assert_int_equal(length, strlen(line));
    assert_int_equal(pgcn_i_text_line_number(text), 1);
    assert_int_equal(pgcn_i_text_last_number(text), 2);
    assert_int_equal(pgcn_i_text_split(text, line, ',', &cells, &count), PGCN_OK);
    assert_int_equal(count, 2);
    assert_int_equal(pgcn_i_text_line(text, &line, &length), PGCN_OK);
    assert_string_equal(line, "b,c");
    assert_int_equal(pgcn_i_text_line_number(text), 3);
    assert_int_equal(pgcn_i_text_line(text, &line, &length), PGCN_OK);
    assert_int_equal(pgcn_i_text_join(text, &line, &length, &joined), PGCN_OK);
    assert_false(joined);
    assert_string_equal(line, "last");
    assert_int_equal(length, 4);
    assert_int_equal(pgcn_i_text_line_number(text), 4);
    assert_int_equal(pgcn_i_text_line(text, &line, &length), PGCN_OK);
    assert_null(line);
    pgcn_i_buffer_free(&cells);
    pgcn_i_text_close(text);
}

/* The line moves in the window, and the window grows, while it becomes longer. */
static void test_text_long_lines_are_joined_across_the_window(void **state) {
    (void)state;
    enum { LINES = 60000, BYTES = 10 };
    char *content = malloc(LINES * BYTES + 1), *line;
    pgcn_i_text *text;
    int64_t length;
    bool joined = true;
    for (int i = 0; i < LINES; i++) sprintf(content + i * BYTES, "%08d\r\n", i);
    assert_int_equal(pgcn_i_text_open(scratch_write("t.csv", content, LINES * BYTES), &text),
                     PGCN_OK);
    for (int i = 0; i < 100; i++) assert_int_equal(pgcn_i_text_line(text, &line, &length), PGCN_OK);
    for (int i = 100; i < LINES; i++) {
        assert_int_equal(pgcn_i_text_join(text, &line, &length, &joined), PGCN_OK);
        assert_true(joined);
    }
    assert_int_equal(length, (LINES - 99) * BYTES - 2);
    assert_memory_equal(line, content + 99 * BYTES, (size_t)length);
    assert_int_equal(pgcn_i_text_line_number(text), 100);
    assert_int_equal(pgcn_i_text_join(text, &line, &length, &joined), PGCN_OK);
    assert_false(joined);
    assert_memory_equal(line, content + 99 * BYTES, (size_t)length);
    pgcn_i_text_close(text);
    free(content);
}

static void test_text_excerpt_has_nothing_a_terminal_obeys(void **state) {
    (void)state;
    char shown[PGCN_I_EXCERPT];
    pgcn_i_text_excerpt("a\x1b[31mb\n", 8, shown);
    assert_string_equal(shown, "a\\x1b[31mb\\n");
    char bells[10];
    memset(bells, '\a', sizeof bells);
    pgcn_i_text_excerpt(bells, sizeof bells, shown);
    assert_string_equal(shown, "\\x07\\x07\\x07\\x07\\x07\\x07\\x07\\x07\\x07...");
    char lots[100];
    memset(lots, 'x', sizeof lots);
    pgcn_i_text_excerpt(lots, sizeof lots, shown);
    assert_int_equal(strlen(shown), PGCN_I_EXCERPT - 1);
    assert_string_equal(shown + PGCN_I_EXCERPT - 4, "...");
}

/* ---- tables ------------------------------------------------------------------------------------ */

static pgcn_status read_table(const char *content, pgcn_i_table_rule rule, pgcn_i_table *out) {
    if (!rule.delimiter) rule.delimiter = ',';
    return pgcn_i_table_read(scratch_write("t.csv", content, strlen(content)), &rule, out);
}

static void assert_table(const char *content, pgcn_i_table_rule rule, int64_t rows,
                         const float *expected) {
    pgcn_i_table table;
    if (read_table(content, rule, &table) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    assert_int_equal(table.rows, rows);
    for (int64_t i = 0; i < rows * rule.columns; i++) {
        float found = ((float *)(void *)table.cell.data)[i];
        if (isnan(expected[i]))
            assert_true(isnan(found));
        else
            assert_true(found == expected[i]);
    }
    pgcn_i_table_free(&table);
}

static void test_table_cells_may_be_written_in_many_ways(void **state) {
    (void)state;
    const pgcn_i_table_rule two = {.dtype = PGCN_I_F32, .columns = 2};
    const float expected[] = {1, -2.5f, 0.125f, 1e-6f};
    assert_table("1,-2.5\n0.125,0.000001\n", two, 2, expected);
    assert_table("1,-2.5\r\n0.125,1e-6", two, 2, expected);
    assert_table("\xef\xbb\xbf 1 ,\t-2.5 \n\n+.125,\"1E-6\"\n\n", two, 2, expected);
    assert_table("1.0000000000,-2.50000000000000000000000\n125e-3,0.000001000\n", two, 2, expected);
    pgcn_i_table_rule blanks = two, tabs = two, semicolons = two;
    blanks.delimiter = ' ', tabs.delimiter = '\t', semicolons.delimiter = ';';
    assert_table("1 -2.5\n  0.125 \t  0.000001  \n", blanks, 2, expected);
    assert_table("1\t-2.5\n 0.125\t0.000001 \n", tabs, 2, expected);
    assert_table("1;-2.5\n0.125;0.000001\n", semicolons, 2, expected);
    const float points[] = {5, -7, 0.5f, 0.1234567f, 1, 16777216};
    assert_table("5.,-7.\n.5,0.1234567\n1.,16777216\n", two, 3, points);
    pgcn_i_table_rule skipping = two;
    skipping.comments = true, skipping.skip = 2;
    assert_table("a,b\nc,d\n# x\n1,-2.5\n % y\n0.125,0.000001\n", skipping, 2, expected);
    assert_table("", two, 0, NULL);
    const float gaps[] = {1, NAN, NAN, 4, NAN, NAN};
    pgcn_i_table_rule missing = two, single = {.dtype = PGCN_I_F32, .columns = 1, .missing = true};
    missing.missing = true;
    assert_table("1,\n,4\nnan,\"\"\n", missing, 3, gaps);
    assert_table("1\n\nnan\n4\n", single, 4, gaps);
}

static void test_table_ids_in_front_of_rows_are_kept_as_text(void **state) {
    (void)state;
    pgcn_i_table table;
    const pgcn_i_table_rule rule = {
        .dtype = PGCN_I_F32, .columns = 1, .ids = true, .comments = true};
    const char content[] = "# head\n007,1\n\n\"a,\"\"b\"\"\" , 2\n x y ,3\n";
    if (read_table(content, rule, &table) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    const char expected[] = "007\0a,\"b\"\0x y";
    assert_int_equal(table.id.bytes, sizeof expected);
    assert_memory_equal(table.id.data, expected, sizeof expected);
    const int64_t lines[] = {2, 4, 5};
    assert_memory_equal(table.line.data, lines, sizeof lines);
    pgcn_i_table_free(&table);
}

static void test_table_bad_cells_are_named_by_line_and_column(void **state) {
    (void)state;
    static const struct {
        const char *content;
        pgcn_i_table_rule rule;
        int64_t bad_column;
        const char *says;
    } cases[] = {
        {"1,2\n3,x\n", {.dtype = PGCN_I_F32, .columns = 2}, 1, "line 2: column 2: found 'x'"},
        {"1,2\n3,\n",
         {.dtype = PGCN_I_F32, .columns = 2},
         1,
         "line 2: column 2: found an empty cell"},
        {"1,2\n,4\n",
         {.dtype = PGCN_I_F32, .columns = 2},
         0,
         "line 2: column 1: found an empty cell"},
        {"1,nan\n",
         {.dtype = PGCN_I_F32, .columns = 2},
         1,
         "found 'nan', expected a finite number"},
        {"1,inf\n", {.dtype = PGCN_I_F32, .columns = 2}, 1, "found 'inf'"},
        {"1,1e39\n", {.dtype = PGCN_I_F32, .columns = 2}, 1, "found '1e39'"},
        {"1,-1e99\n", {.dtype = PGCN_I_F32, .columns = 2, .missing = true}, 1, "found '-1e99'"},
        {"1,2,3\n", {.dtype = PGCN_I_F32, .columns = 2}, -1, "found more than 2 cells, expected 2"},
        {"1,2,\n", {.dtype = PGCN_I_F32, .columns = 2}, -1, "found more than 2 cells, expected 2"},
        {"1,2\n\n3\n",
         {.dtype = PGCN_I_F32, .columns = 2},
         -1,
         "line 3: found 1 cells, expected 2"},
        {"1,2x\n", {.dtype = PGCN_I_F32, .columns = 2}, 1, "found '2x'"},
        {"1,2 3\n", {.dtype = PGCN_I_F32, .columns = 2}, 1, "found '2 3'"},
        {"1,\"2\n", {.dtype = PGCN_I_F32, .columns = 2}, 1, "found '\"2'"},
        {"1,0x10\n", {.dtype = PGCN_I_F32, .columns = 2}, 1, "found '0x10'"},
        {"1,1.2.3\n", {.dtype = PGCN_I_F32, .columns = 2}, 1, "found '1.2.3'"},
        {"1,--1\n", {.dtype = PGCN_I_F32, .columns = 2}, 1, "found '--1'"},
        {"\"two\nlines\",1\n",
         {.dtype = PGCN_I_F32, .ids = true, .columns = 1},
         PGCN_I_OPEN_ID,
         "double each quote that is text"},
        {"1,\x1b[2J\n", {.dtype = PGCN_I_F32, .columns = 2}, 1, "found '\\x1b[2J'"},
        {"a,1\n", {.dtype = PGCN_I_I64, .columns = 2}, 0, "found 'a', expected a whole number"},
        {"1,1.0\n", {.dtype = PGCN_I_I64, .columns = 2}, 1, "found '1.0'"},
        {"1,2147483648\n",
         {.dtype = PGCN_I_I32, .columns = 2},
         1,
         "expected a whole number below 2^31"},
        {"-2147483649,1\n", {.dtype = PGCN_I_I32, .columns = 2}, 0, "found '-2147483649'"},
        {"1,9223372036854775808\n", {.dtype = PGCN_I_I64, .columns = 2}, 1, "whole number"},
        {"1,99999999999999999999999999\n", {.dtype = PGCN_I_I64, .columns = 2}, 1, "whole number"},
        {"a,1\n,2\n", {.dtype = PGCN_I_F32, .columns = 1, .ids = true}, -1, "line 2: column 1"},
        {"a,1\nb,x\n",
         {.dtype = PGCN_I_F32, .columns = 1, .ids = true},
         0,
         "line 2: column 2: found 'x'"},
        {"a,1\nb\n",
         {.dtype = PGCN_I_F32, .columns = 1, .ids = true},
         -1,
         "found 1 cells, expected 2"},
        {"a,1\n\"b,2\n",
         {.dtype = PGCN_I_F32, .columns = 1, .ids = true},
         PGCN_I_OPEN_ID,
         "quote is not closed"},
        {"a,1\n\"b\"\"\n",
         {.dtype = PGCN_I_F32, .columns = 1, .ids = true},
         PGCN_I_OPEN_ID,
         "quote is not closed"},
        {"1 2 3\n", {.dtype = PGCN_I_F32, .columns = 2, .delimiter = ' '}, -1, "more than 2 cells"},
        {"1\n", {.dtype = PGCN_I_F32, .columns = 2, .delimiter = ' '}, -1, "found 1 cells"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pgcn_i_table table;
        pgcn_status status = read_table(cases[i].content, cases[i].rule, &table);
        if (status != PGCN_ERR_FORMAT) fail_msg("case %zu was accepted", i);
        assert_error_says(cases[i].says);
        assert_int_equal(table.bad_column, cases[i].bad_column);
        assert_null(table.cell.data);
    }
    pgcn_i_table table;
    const pgcn_i_table_rule rule = {.dtype = PGCN_I_F32, .columns = 2, .delimiter = ','};
    assert_int_equal(pgcn_i_table_read(scratch_write("t", "1,2\n1,\0\n", 8), &rule, &table),
                     PGCN_ERR_FORMAT);
    const pgcn_i_table_rule ids = {
        .dtype = PGCN_I_F32, .columns = 1, .delimiter = ',', .ids = true};
    assert_int_equal(pgcn_i_table_read(scratch_write("t", "a\0b,2\n", 6), &ids, &table),
                     PGCN_ERR_FORMAT);
    assert_error_says("a byte 0");
}

static void test_table_whole_numbers_reach_the_ends_of_their_type(void **state) {
    (void)state;
    pgcn_i_table table;
    const pgcn_i_table_rule narrow = {.dtype = PGCN_I_I32, .columns = 2};
    const int32_t small[] = {-2147483647 - 1, 2147483647, 999999999, -7};
    if (read_table("-2147483648,2147483647\n999999999,\"-7\"\n", narrow, &table) != PGCN_OK)
        fail_msg("%s", pgcn_last_error());
    assert_memory_equal(table.cell.data, small, sizeof small);
    pgcn_i_table_free(&table);
    const pgcn_i_table_rule wide = {.dtype = PGCN_I_I64, .columns = 2};
    const int64_t large[] = {INT64_MIN, INT64_MAX, 999999999999999999, 1000000000000000000};
    if (read_table("-9223372036854775808,9223372036854775807\n999999999999999999,"
                   "1000000000000000000\n",
                   wide, &table) != PGCN_OK)
        fail_msg("%s", pgcn_last_error());
    assert_memory_equal(table.cell.data, large, sizeof large);
    pgcn_i_table_free(&table);
}

static void test_tables_read_together_are_those_read_one_by_one(void **state) {
    (void)state;
    char path[3][1024];
    static char content[3][400000], *to;
    for (int file = 0; file < 3; file++) {
        to = content[file];
        for (int i = 0; i < (file + 1) * 10000; i++) to += sprintf(to, "%d,%d\n", i, i * file);
        char name[32];
        sprintf(name, "%d.csv.gz", file);
        strcpy(path[file], scratch_gzip(name, content[file], strlen(content[file])));
    }
    for (int threads = 1; threads <= 4; threads++) {
        pgcn_i_table table[3];
        pgcn_i_table_job jobs[3];
        for (int i = 0; i < 3; i++)
            jobs[i] = (pgcn_i_table_job){
                path[i],
                {.dtype = PGCN_I_I32, .delimiter = ',', .columns = 2, .threads = threads},
                &table[i]};
        assert_int_equal(pgcn_i_tables_read(jobs, 3), PGCN_OK);
        for (int file = 0; file < 3; file++) {
            assert_int_equal(table[file].rows, (file + 1) * 10000);
            const int32_t *cell = (const int32_t *)(const void *)table[file].cell.data;
            for (int i = 0; i < (file + 1) * 10000; i++)
                assert_true(cell[2 * i] == i && cell[2 * i + 1] == i * file);
            pgcn_i_table_free(&table[file]);
        }
        /* of two bad files the first is reported */
        strcpy(path[1], scratch_write("bad1", "1,2\nx,3\n", 8));
        strcpy(path[2], scratch_write("bad2", "y,3\n", 4));
        assert_int_equal(pgcn_i_tables_read(jobs, 3), PGCN_ERR_FORMAT);
        assert_error_says("line 2: column 1: found 'x'");
        for (int i = 0; i < 3; i++) assert_null(table[i].cell.data);
        strcpy(path[0], scratch_path("absent"));
        assert_int_equal(pgcn_i_tables_read(jobs, 3), PGCN_ERR_IO);
        for (int i = 0; i < 3; i++) sprintf(path[i], "%s/%d.csv.gz", scratch, i);
    }
}

/* A table of about 4 MiB in many slots, with lines of uneven length. */
enum { BIG_ROWS = 20000, BIG_COLUMNS = 20 };

static char *make_big_table(size_t *bytes, float *expected) {
    char *content = malloc(8 << 20), *to = content;
    uint32_t random = 1;
    for (int i = 0; i < BIG_ROWS; i++) {
        to += sprintf(to, i % 3 == 0 ? "n%d," : "%d,", i);
        for (int j = 0; j < BIG_COLUMNS; j++) {
            random = random * 1664525 + 1013904223;
            double value = ((double)random - 0x1p31) * (random % 5 ? 0x1p-31 : 0x1p-21);
            to += sprintf(to, random % 7 ? "%.6f%c" : "%.12g%c", value,
                          j + 1 < BIG_COLUMNS ? ',' : '\n');
        }
        if (i % 1000 == 0) to += sprintf(to, "# a comment\n\n");
    }
    *bytes = (size_t)(to - content);
    /* what the C library makes of it */
    char *at = content;
    for (int i = 0; i < BIG_ROWS; i++) {
        while (*at == '#' || *at == '\n') at = strchr(at, '\n') + 1;
        at = strchr(at, ',');
        for (int j = 0; j < BIG_COLUMNS; j++) expected[i * BIG_COLUMNS + j] = strtof(at + 1, &at);
        at++;
    }
    return content;
}

static void test_table_is_the_same_with_any_number_of_threads(void **state) {
    (void)state;
    static float expected[BIG_ROWS * BIG_COLUMNS];
    size_t bytes;
    char *content = make_big_table(&bytes, expected);
    const char *path[] = {scratch_write("t.csv", content, bytes),
                          scratch_gzip("t.csv.gz", content, bytes)};
    for (int file = 0; file < 2; file++)
        for (int threads = 0; threads <= 4; threads++) {
            pgcn_i_table table;
            pgcn_i_table_rule rule = {.dtype = PGCN_I_F32,
                                      .delimiter = ',',
                                      .columns = BIG_COLUMNS,
                                      .ids = true,
                                      .comments = true,
                                      .threads = threads};
            assert_int_equal(pgcn_i_table_read(path[file], &rule, &table), PGCN_OK);
            assert_int_equal(table.rows, BIG_ROWS);
            assert_int_equal(table.cell.bytes, sizeof expected);
            assert_memory_equal(table.cell.data, expected, sizeof expected);
            const int64_t *line = (const int64_t *)(const void *)table.line.data;
            assert_int_equal(line[1000], 1000 + 1 + 2);
            assert_int_equal(line[BIG_ROWS - 1], BIG_ROWS + 2 * (BIG_ROWS / 1000));
            const char *id = table.id.data;
            for (int i = 0; i < BIG_ROWS; i++, id += strlen(id) + 1)
                assert_int_equal(atoi(id + (*id == 'n')), i);
            pgcn_i_table_free(&table);
        }
    free(content);
}

static void test_table_reports_the_first_bad_line_with_any_number_of_threads(void **state) {
    (void)state;
    static float expected[BIG_ROWS * BIG_COLUMNS];
    size_t bytes;
    char *content = make_big_table(&bytes, expected), says[64];
    const char *bad[] = {strstr(content, "\n11111,"), strstr(content, "\n13331,")};
    for (int i = 0; i < 2; i++) memcpy((char *)bad[i] + 1, "1,bad", 5);
    sprintf(says, "line %d: column 2: found 'bad", 11111 + 1 + 2 * 12);
    const char *path = scratch_gzip("t.csv.gz", content, bytes);
    for (int repeat = 0; repeat < 10; repeat++)
        for (int threads = 1; threads <= 4; threads++) {
            pgcn_i_table table;
            pgcn_i_table_rule rule = {.dtype = PGCN_I_F32,
                                      .delimiter = ',',
                                      .columns = BIG_COLUMNS,
                                      .ids = true,
                                      .comments = true,
                                      .threads = threads};
            assert_int_equal(pgcn_i_table_read(path, &rule, &table), PGCN_ERR_FORMAT);
            assert_error_says(says);
        }
    free(content);
}

static void test_table_line_longer_than_a_slot_is_read(void **state) {
    (void)state;
    enum { COLUMNS = 400000 };
    char *content = malloc(8 * COLUMNS), *to = content;
    for (int row = 0; row < 3; row++)
        for (int j = 0; j < COLUMNS; j++)
            to += sprintf(to, "%d%c", j % 10, j + 1 < COLUMNS ? ',' : '\n');
    pgcn_i_table table;
    pgcn_i_table_rule rule = {
        .dtype = PGCN_I_F32, .delimiter = ',', .columns = COLUMNS, .threads = 2};
    const char *path = scratch_write("t.csv", content, (size_t)(to - content));
    assert_int_equal(pgcn_i_table_read(path, &rule, &table), PGCN_OK);
    assert_int_equal(table.rows, 3);
    for (int i = 0; i < 3 * COLUMNS; i++)
        assert_true(((float *)(void *)table.cell.data)[i] == (float)(i % COLUMNS % 10));
    pgcn_i_table_free(&table);
    free(content);
}

static void test_table_damaged_file_is_refused_by_any_number_of_threads(void **state) {
    (void)state;
    static float expected[BIG_ROWS * BIG_COLUMNS];
    size_t bytes, packed_bytes;
    char *content = make_big_table(&bytes, expected);
    unsigned char *packed = gzip_member(content, bytes, &packed_bytes);
    const char *path = scratch_write("t.csv.gz", packed, packed_bytes - 1000);
    for (int threads = 1; threads <= 4; threads++) {
        pgcn_i_table table;
        pgcn_i_table_rule rule = {.dtype = PGCN_I_F32,
                                  .delimiter = ',',
                                  .columns = BIG_COLUMNS,
                                  .ids = true,
                                  .comments = true,
                                  .threads = threads};
        assert_int_equal(pgcn_i_table_read(path, &rule, &table), PGCN_ERR_FORMAT);
        assert_error_says("the file ends before");
    }
    free(content), free(packed);
}

/* ---- memory ------------------------------------------------------------------------------------ */

static const char *read_path;
static int read_threads;

static pgcn_status read_lines(void) {
    char found[256];
    return join_lines(read_path, found);
}

static pgcn_status read_rows(void) {
    pgcn_i_table table;
    pgcn_i_table_rule rule = {
        .dtype = PGCN_I_F32, .delimiter = ',', .columns = 2, .ids = true, .threads = read_threads};
    PGCN_TRY(pgcn_i_table_read(read_path, &rule, &table));
    pgcn_i_table_free(&table);
    return PGCN_OK;
}

static void test_text_every_failing_allocation_is_reported(void **state) {
    (void)state;
    read_path = scratch_gzip("a.gz", "a,1,2\nb,3,4\n", 12);
    assert_true(fail_every_allocation(read_lines) >= 4);
    for (read_threads = 1; read_threads <= 2; read_threads++)
        assert_true(fail_every_allocation(read_rows) >= 10);
}

/* The same answer as jansson's, without memory: every first two bytes, and the ends of ranges. */
static void test_utf8_is_what_jansson_takes_for_it(void **state) {
    (void)state;
    static const unsigned char more[] = {0x00, 0x41, 0x7f, 0x80, 0xbf, 0xc0, 0xff};
    enum { MORE = sizeof more };
    for (int first = 0; first < 256; first++)
        for (int second = 0; second < 256; second++)
            for (int rest = 0; rest < MORE * MORE; rest++) {
                const char text[4] = {(char)first, (char)second, (char)more[rest / MORE],
                                      (char)more[rest % MORE]};
                for (int64_t bytes = rest == 0 ? 1 : 4; bytes <= 4; bytes++) {
                    json_t *string = json_stringn(text, (size_t)bytes);
                    if (pgcn_i_is_utf8(text, bytes) != (string != NULL))
                        fail_msg("%02x %02x and %d, %d bytes", first, second, rest, (int)bytes);
                    json_decref(string);
                }
            }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8_is_what_jansson_takes_for_it),
        TEST(test_text_lines_are_the_same_whatever_ends_them),
        TEST(test_text_lines_longer_than_the_buffers_are_whole),
        TEST(test_text_a_line_without_end_is_refused),
        TEST(test_text_bytes_that_are_no_text_are_refused),
        TEST(test_gzip_members_in_a_row_are_one_text),
        TEST(test_gzip_cut_anywhere_is_refused),
        TEST(test_gzip_changed_anywhere_is_refused_or_the_same),
        TEST(test_gzip_bytes_behind_the_end_are_refused),
        TEST(test_gzip_bomb_is_refused_without_its_memory),
        TEST(test_text_cells_are_cut_as_in_rfc_4180),
        TEST(test_text_lines_are_joined_and_keep_the_number_of_the_first),
        TEST(test_text_long_lines_are_joined_across_the_window),
        TEST(test_text_excerpt_has_nothing_a_terminal_obeys),
        TEST(test_table_cells_may_be_written_in_many_ways),
        TEST(test_table_ids_in_front_of_rows_are_kept_as_text),
        TEST(test_table_bad_cells_are_named_by_line_and_column),
        TEST(test_table_whole_numbers_reach_the_ends_of_their_type),
        TEST(test_tables_read_together_are_those_read_one_by_one),
        TEST(test_table_is_the_same_with_any_number_of_threads),
        TEST(test_table_reports_the_first_bad_line_with_any_number_of_threads),
        TEST(test_table_line_longer_than_a_slot_is_read),
        TEST(test_table_damaged_file_is_refused_by_any_number_of_threads),
        TEST(test_text_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
