/* Tests of src/io/json_stream.c: values come back as written, whatever the window holds, and all
 * that is not JSON is refused with its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scratch_help.h"

static pgcn_i_json *open_text(const char *text) {
    pgcn_i_json *json = NULL;
    const char *path = scratch_write("a.json", text, strlen(text));
    if (pgcn_i_json_open(path, &json) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    return json;
}

static void ok(pgcn_status status) {
    if (status != PGCN_OK) fail_msg("%s", pgcn_last_error());
}

static void test_json_values_come_back(void **state) {
    (void)state;
    pgcn_i_json *json = open_text(" {\"a\" : [1, -2.5e-1,\n true ,0], \"\\u00e9\\ud83d\\ude00\":"
                                  "{\"deep\":[[],{}]}, \"t\":\"x\\n\\\"/\\/\", \"z\":null}\r\n");
    const char *key, *text;
    int64_t whole;
    float number;
    bool flag, more;
    pgcn_i_json_kind kind;
    ok(pgcn_i_json_object(json));
    ok(pgcn_i_json_key(json, &key));
    assert_string_equal(key, "a");
    ok(pgcn_i_json_array(json));
    ok(pgcn_i_json_more(json, &more));
    ok(pgcn_i_json_i64(json, &whole));
    assert_int_equal(whole, 1);
    ok(pgcn_i_json_more(json, &more));
    ok(pgcn_i_json_f32(json, &number));
    assert_true(number == -0.25f);
    ok(pgcn_i_json_more(json, &more));
    ok(pgcn_i_json_flag(json, &flag));
    assert_true(flag);
    ok(pgcn_i_json_more(json, &more));
    ok(pgcn_i_json_flag(json, &flag));
    assert_false(flag);
    ok(pgcn_i_json_more(json, &more));
    assert_false(more);
    ok(pgcn_i_json_key(json, &key));
    assert_string_equal(key, "\xc3\xa9\xf0\x9f\x98\x80");
    ok(pgcn_i_json_skip(json));
    ok(pgcn_i_json_key(json, &key));
    ok(pgcn_i_json_text(json, &text));
    assert_string_equal(text, "x\n\"//");
    ok(pgcn_i_json_key(json, &key));
    ok(pgcn_i_json_peek(json, &kind));
    assert_int_equal(kind, PGCN_I_JSON_NULL);
    ok(pgcn_i_json_skip(json));
    ok(pgcn_i_json_key(json, &key));
    assert_null(key);
    ok(pgcn_i_json_end(json));
    pgcn_i_json_close(json);
}

/* The whole document skipped: every error of the grammar shows here. */
static pgcn_status skip_document(const char *path) {
    pgcn_i_json *json = NULL;
    PGCN_TRY(pgcn_i_json_open(path, &json));
    pgcn_status status = pgcn_i_json_skip(json);
    if (status == PGCN_OK) status = pgcn_i_json_end(json);
    pgcn_i_json_close(json);
    return status;
}

static void test_json_bad_documents_are_refused_with_their_place(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "line 1, byte 0: found the end of the file"},
        {"[1,2", "byte 4: found the end of the file where ',' or ']'"},
        {"[1,]", "another item after the comma"},
        {"[1 2]", "byte 3: found a number where ',' or ']'"},
        {"{\"a\":1,}", "another item after the comma"},
        {"{a:1}", "a key in quotes"},
        {"{\"a\" 1}", "':' after a key"},
        {"{\"a\":}", "found '}' where a value"},
        {"[1}", "found '}'"},
        {"[\n\n NaN]", "line 3, byte 4: found NaN, which is no number"},
        {"[-Infinity]", "a number is expected"},
        {"[Infinity]", "Infinity, which is no number"},
        {"[01]", "a number is expected"},
        {"[1.]", "a number is expected"},
        {"[.5]", "found '.'"},
        {"[+1]", "found '+'"},
        {"[1e]", "a number is expected"},
        {"[--1]", "a number is expected"},
        {"[0x10]", "found 'x'"},
        {"[truest]", "a value is expected"},
        {"[nul]", "a value is expected"},
        {"[\"\t\"]", "a character of a string"},
        {"[\"\\x\"]", "an escape"},
        {"[\"\\u12g4\"]", "a hexadecimal digit"},
        {"[\"\\u0000\"]", "not allowed in a string"},
        {"[\"\\udc00\"]", "not allowed in a string"},
        {"[\"\\ud800x\"]", "the second half of a surrogate pair"},
        {"[\"\\ud800\\u0041\"]", "no surrogate pair"},
        {"[\"abc", "the end of a string"},
        {"[\"abc\\", "an escape"},
        {"[] []", "found an array where the end of the file"},
        {"\xff[]", "the byte 0xff"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = scratch_write("a.json", cases[i].text, strlen(cases[i].text));
        if (skip_document(path) != PGCN_ERR_FORMAT) fail_msg("accepted: %s", cases[i].text);
        assert_error_says(cases[i].says);
        assert_error_says("a.json': line ");
    }
    assert_int_equal(skip_document(scratch_write("a.json", "[\0]", 3)), PGCN_ERR_FORMAT);
    assert_error_says("the byte 0x00");
}

static void test_json_wrong_kinds_say_what_was_found(void **state) {
    (void)state;
    int64_t whole;
    float number;
    bool flag;
    const char *text;
    pgcn_i_json *json = open_text("[1]");
    assert_int_equal(pgcn_i_json_object(json), PGCN_ERR_FORMAT);
    assert_error_says("found an array where an object {...}");
    assert_int_equal(pgcn_i_json_text(json, &text), PGCN_ERR_FORMAT);
    assert_int_equal(pgcn_i_json_f32(json, &number), PGCN_ERR_FORMAT);
    pgcn_i_json_close(json);
    static const char *const not_whole[] = {
        "1.0",  "1e2", "9223372036854775808", "\"1\"", "-9223372036854775809", "true",
        "null", "[1]"};
    for (size_t i = 0; i < sizeof not_whole / sizeof not_whole[0]; i++) {
        json = open_text(not_whole[i]);
        assert_int_equal(pgcn_i_json_i64(json, &whole), PGCN_ERR_FORMAT);
        pgcn_i_json_close(json);
    }
    static const char *const not_flag[] = {"2", "10", "-1", "\"true\"", "null", "trues"};
    for (size_t i = 0; i < sizeof not_flag / sizeof not_flag[0]; i++) {
        json = open_text(not_flag[i]);
        assert_int_equal(pgcn_i_json_flag(json, &flag), PGCN_ERR_FORMAT);
        pgcn_i_json_close(json);
    }
    json = open_text("-9223372036854775808");
    ok(pgcn_i_json_i64(json, &whole));
    assert_true(whole == INT64_MIN);
    pgcn_i_json_close(json);
}

static void test_json_deep_nesting_and_long_numbers_are_refused(void **state) {
    (void)state;
    enum { LENGTH = 1 << 20 };
    char *text = malloc(LENGTH);
    memset(text, '[', LENGTH);
    assert_int_equal(skip_document(scratch_write("a.json", text, LENGTH)), PGCN_ERR_FORMAT);
    assert_error_says("more than 64 levels");
    memset(text, '1', LENGTH);
    assert_int_equal(skip_document(scratch_write("a.json", text, LENGTH)), PGCN_ERR_FORMAT);
    assert_error_says("more than 511 characters");
    memset(text, ' ', LENGTH);
    memcpy(text + LENGTH - 64, "                                                              1",
           63);
    text[LENGTH - 1] = '\n';
    ok(skip_document(scratch_write("a.json", text, LENGTH)));
    memset(text, 'a', LENGTH); /* a string longer than the window, kept and skipped */
    text[0] = text[LENGTH - 1] = '"';
    const char *path = scratch_write("a.json", text, LENGTH), *back;
    ok(skip_document(path));
    pgcn_i_json *json = NULL;
    ok(pgcn_i_json_open(path, &json));
    ok(pgcn_i_json_text(json, &back));
    assert_int_equal(strlen(back), LENGTH - 2);
    pgcn_i_json_close(json);
    free(text);
}

/* Numbers, keys and escapes at every place of the edge of the window (2^18 bytes). */
static void test_json_values_across_the_window_are_whole(void **state) {
    (void)state;
    enum { WINDOW = 1 << 18, BYTES = WINDOW + 256 };
    static const char tail[] = "{\"k\\u0065y\":[-123456789,true,\"\\u20ac\"]}";
    char *text = malloc(BYTES);
    for (int back = 0; back <= (int)sizeof tail; back++) {
        size_t at = (size_t)(WINDOW - back);
        memset(text, ' ', at);
        memcpy(text + at, tail, sizeof tail - 1);
        pgcn_i_json *json = NULL;
        ok(pgcn_i_json_open(scratch_write("a.json", text, at + sizeof tail - 1), &json));
        const char *key, *euro;
        int64_t number;
        bool more, flag;
        ok(pgcn_i_json_object(json));
        ok(pgcn_i_json_key(json, &key));
        assert_string_equal(key, "key");
        ok(pgcn_i_json_array(json));
        ok(pgcn_i_json_more(json, &more));
        ok(pgcn_i_json_i64(json, &number));
        assert_int_equal(number, -123456789);
        ok(pgcn_i_json_more(json, &more));
        ok(pgcn_i_json_flag(json, &flag));
        ok(pgcn_i_json_more(json, &more));
        ok(pgcn_i_json_text(json, &euro));
        assert_string_equal(euro, "\xe2\x82\xac");
        ok(pgcn_i_json_more(json, &more));
        ok(pgcn_i_json_key(json, &key));
        ok(pgcn_i_json_end(json));
        pgcn_i_json_close(json);
    }
    free(text);
}

static pgcn_status read_with_failing_memory(void) {
    return skip_document(scratch_path("a.json"));
}

static void test_json_every_allocation_may_fail(void **state) {
    (void)state;
    scratch_write("a.json", "{\"a\":\"\\u00e9\"}", 14);
    assert_true(fail_every_allocation(read_with_failing_memory) >= 3);
}

static void test_json_every_truncation_is_refused(void **state) {
    (void)state;
    static const char text[] = "{\"a\":[1,-2.5e3,true,null,\"\\u00e9x\"],\"b\":{\"c\":[]}}";
    for (size_t cut = 0; cut < sizeof text - 1; cut++)
        assert_int_equal(skip_document(scratch_write("a.json", text, cut)), PGCN_ERR_FORMAT);
    ok(skip_document(scratch_write("a.json", text, sizeof text - 1)));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_json_values_come_back),
        TEST(test_json_bad_documents_are_refused_with_their_place),
        TEST(test_json_wrong_kinds_say_what_was_found),
        TEST(test_json_deep_nesting_and_long_numbers_are_refused),
        TEST(test_json_values_across_the_window_are_whole),
        TEST(test_json_every_allocation_may_fail),
        TEST(test_json_every_truncation_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
