/* cells.c, encode.c, encode_learn.c: tables with categories, dates and gaps become the numbers that
 * are meant, other tables become numbers by the same rules, and what has no meaning is refused once, with
 * all columns named. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "own_help.h"

#include "data/encode.h"

#include <math.h>

static const char *const ring = "a,b\nb,c\nc,d\nd,a\n";

/* ---- cells --------------------------------------------------------------------------------------- */

static float days(const char *cell, pgcn_i_date_form form) {
    float value = NAN;
    return pgcn_i_cell_date(cell, form, &value) ? value : (float)NAN;
}

static void test_cells_dates_are_days_since_1970(void **state) {
    (void)state;
    static const struct {
        const char *cell;
        pgcn_i_date_form form;
        double days;
    } good[] = {{"1970-01-01", PGCN_I_DATE_ISO, 0},
                {"1969-12-31", PGCN_I_DATE_ISO, -1},
                {"2000-02-29", PGCN_I_DATE_ISO, 11016},
                {"2000-03-01", PGCN_I_DATE_ISO, 11017},
                {"2024/12/31", PGCN_I_DATE_ISO, 20088},
                {"1600-01-01", PGCN_I_DATE_ISO, -135140},
                {"1970-01-02 12:00", PGCN_I_DATE_ISO, 1.5},
                {"1970-01-02T06:00:00Z", PGCN_I_DATE_ISO, 1.25},
                {"1970-01-02T06:00:00.000+03:00", PGCN_I_DATE_ISO, 1.125},
                {"1970-01-02T06:00-0600", PGCN_I_DATE_ISO, 1.5},
                {"1.2.1970", PGCN_I_DATE_DOTS, 31},
                {"01/02/1970", PGCN_I_DATE_DAY_FIRST, 31},
                {"01/02/1970", PGCN_I_DATE_MONTH_FIRST, 1},
                {"12/31/2024", PGCN_I_DATE_MONTH_FIRST, 20088}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if ((double)days(good[i].cell, good[i].form) != good[i].days)
            fail_msg("%s is %g, expected %g", good[i].cell,
                     (double)days(good[i].cell, good[i].form), good[i].days);
    static const char *const bad[] = {"2023-02-29",       "1900-02-29",
                                      "2023-13-01",       "2023-00-10",
                                      "2023-1-1",         "2023-01-01x",
                                      "2023-01-32",       "23-01-01",
                                      "2023-01/01",       "2023-01-01 24:00",
                                      "2023-01-01 1:00",  "2023-01-01T10:00+2500",
                                      "2023-01-01 10:60", ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!isnan(days(bad[i], PGCN_I_DATE_ISO))) fail_msg("%s is a date", bad[i]);
    assert_true(isnan(days("31/12/2024", PGCN_I_DATE_MONTH_FIRST)));
    assert_true(isnan(days("31-12-2024", PGCN_I_DATE_DAY_FIRST)));
    assert_true(isnan(days("1/2/1970", PGCN_I_DATE_DOTS)));
}

static void test_cells_gaps_numbers_and_yes(void **state) {
    (void)state;
    static const char *const gaps[] = {"", "?", "-", "NA", "n/a", "NaN", "null", "None"};
    for (size_t i = 0; i < 8; i++) assert_true(pgcn_i_cell_is_gap(gaps[i]));
    assert_false(pgcn_i_cell_is_gap("0"));
    assert_false(pgcn_i_cell_is_gap("no"));
    float value;
    assert_true(pgcn_i_cell_number("-1.5e3", false, &value) && value == -1500);
    assert_true(pgcn_i_cell_number("-1,5e3", true, &value) && value == -1500);
    assert_true(pgcn_i_cell_number("12", true, &value) && value == 12);
    assert_false(pgcn_i_cell_number("1.5", true, &value));
    assert_false(pgcn_i_cell_number("1,5", false, &value));
    assert_false(pgcn_i_cell_number("1,234,5", true, &value));
    assert_false(pgcn_i_cell_number("inf", false, &value));
    assert_false(pgcn_i_cell_number("1x", false, &value));
    assert_int_equal(pgcn_i_cell_yes_no("YES", 0), 1);
    assert_int_equal(pgcn_i_cell_yes_no("no", 0), 0);
    assert_int_equal(pgcn_i_cell_yes_no("ja", 0), -1);
}

/* ---- what becomes of columns ----------------------------------------------------------------------- */

static void test_encode_categories_gaps_dates_and_answers_become_numbers(void **state) {
    (void)state;
    must_read(ring,
              "id,city,age,since,paid\n"
              "a,Rome,10,1970-01-02,yes\n"
              "b,Oslo,,1970-01-04,no\n"
              "c,Rome,40,NA,no\n"
              "d,Oslo,10,1970-01-03,\n",
              NULL, NULL);
    assert_names(&source.feature_name, "city=Oslo|city=Rome|age|age missing|since|since missing|"
                                       "paid|paid missing|");
    float third = 1.0f / 3;
    char expected[400];
    sprintf(expected, "0,1,10,0,1,0,1,0;1,0,20,1,3,0,0,0;0,1,40,0,2,1,0,0;1,0,10,0,2,0,%g,1;",
            (double)third);
    assert_features(expected);
    assert_note(
        "the columns of x.csv became 8 features; numbers: age (1 empty); dates (as days "
        "since 1970): since (1 empty); yes or no (as 1 and 0): paid (1 empty); categories (a "
        "column of 0 and 1 for each value): city (2 values)");
}

static void test_encode_plain_numbers_are_read_as_ever(void **state) {
    (void)state;
    must_read(ring, "id,u,v\na,1,0\nb,2,0.25\nc,3,0\nd,4,0\n", NULL, NULL);
    assert_null(source.encoder);
    assert_names(&source.feature_name, "u|v|");
    assert_features("1,0;2,0.25;3,0;4,0;");
}

/* `count` rows n0 .. with the cells that a function writes. */
static char table_text[200000];
static const char *table(const char *header, int count, void (*cells)(char *to, int i)) {
    char *to = table_text + sprintf(table_text, "%s\n", header);
    for (int i = 0; i < count; i++) {
        to += sprintf(to, "n%d,", i);
        cells(to, i);
        to += strlen(to);
        *to++ = '\n';
    }
    *to = '\0';
    return table_text;
}

static void some_cities(char *to, int i) { /* 300: x 2 times, y once, other 5 times */
    strcpy(to, i < 150   ? "Rome"
               : i < 290 ? "Oslo"
               : i < 292 ? "x"
               : i < 293 ? "y"
               : i < 298 ? "other"
                         : "Bonn");
}

static void test_encode_rare_values_share_a_column(void **state) {
    (void)state;
    must_read("n0,n1\n", table("id,city", 300, some_cities), NULL, NULL);
    /* at least twice, and in 1 of 200 rows; a value called other is among the others */
    assert_names(&source.feature_name, "city=Rome|city=Oslo|city=Bonn|city=x|city=other|");
    assert_note("city (4 values and 2 rare ones as other)");
    must_read("n0,n1\n", table("id,city", 400, some_cities), NULL, NULL); /* x: just often enough */
    assert_names(&source.feature_name, "city=Rome|city=Oslo|city=Bonn|city=x|city=other|");
    must_read("n0,n1\n", table("id,city", 600, some_cities), NULL, NULL);
    assert_names(&source.feature_name, "city=Bonn|city=Rome|city=Oslo|city=other|");
}

static void mostly_rare(char *to, int i) {
    sprintf(to, "%s%d", i < 60 ? "a" : "c", i < 60 ? 0 : i);
}

static void test_encode_half_of_the_cells_may_be_rare(void **state) {
    (void)state;
    must_read("n0,n1\n", table("id,city", 120, mostly_rare), NULL, NULL);
    assert_names(&source.feature_name, "city=a0|city=other|");
    must_fail("n0,n1\n", table("id,city", 121, mostly_rare), NULL, NULL,
              "has 62 different texts in 121 rows");
}

static void test_encode_one_answer_alone_is_a_category(void **state) {
    (void)state;
    must_read(ring, "id,p,q\na,yes,no\nb,yes,no\nc,,no\nd,yes,no\n", NULL, NULL);
    assert_names(&source.feature_name, "p=yes|p missing|q=no|");
}

static void many_cities(char *to, int i) {
    sprintf(to, "c%d", i < 300 ? i % 60 : i % 30);
}

static void test_encode_at_most_fifty_values_have_a_column(void **state) {
    (void)state;
    must_read("n0,n1\n", table("id,city", 600, many_cities), NULL, NULL);
    assert_int_equal(source.feature_name.count, 51);
    assert_string_equal(name_of(&source.feature_name, 0), "city=c0");
    assert_string_equal(name_of(&source.feature_name, 50), "city=other");
    assert_non_null(source.x.dense); /* however many zeros there are */
}

static void names_and_codes(char *to, int i) {
    sprintf(to, "Person %d,%d,%s%d,0%d/0%d/2020", i, i, i < 3 ? "x" : "", i, 1 + i % 9, 1 + i % 7);
}

static void test_encode_columns_without_a_rule_are_named_all_at_once(void **state) {
    (void)state;
    must_fail("n0,n1\n", table("id,name,size,\"a,b\",born", 80, names_and_codes), NULL, NULL,
              "3 columns cannot be made numbers");
    assert_error_says("'name' (column 2) has 80 different texts in 80 rows, such as 'Person 0'");
    assert_error_says("'a,b' (column 4) has 77 numbers and 3 other cells, 'x0' in line 2 first");
    assert_error_says(
        "'born' (column 5) has dates like '01/01/2020' of which day or month may come "
        "first; write 2024-12-31");
    assert_error_says("Leave them out with --ignore 4,born,name");
    own.ignore = "name,4,born";
    must_read("n0,n1\n", table("id,name,size,\"a,b\",born", 80, names_and_codes), NULL, NULL);
    assert_names(&source.feature_name, "size|");
}

static void many_names(char *to, int i) {
    for (int j = 0; j < 12; j++) to += sprintf(to, "%st%d-%d", j ? "," : "", i, j);
}

static void test_encode_many_columns_without_a_rule_are_all_in_the_advice(void **state) {
    (void)state;
    must_fail("n0,n1\n", table("id,a,b,c,d,e,f,g,h,i,j,k,l", 60, many_names), NULL, NULL,
              "12 columns cannot be made numbers");
    assert_error_says("; ... Leave them out with --ignore a,b,c,d,e,f,g,h,i,j,k,l, or");
}

static void test_encode_one_order_of_day_and_month_must_fit(void **state) {
    (void)state;
    must_read(ring, "id,d\na,01/02/1970\nb,13/01/1970\nc,01/01/1970\nd,02/01/1970\n", NULL, NULL);
    assert_features("31;12;0;1;");
    must_read(ring, "id,d\na,01/02/1970\nb,01/13/1970\nc,01/01/1970\nd,01/02/1970\n", NULL, NULL);
    assert_features("1;12;0;1;");
    must_read(ring, "id,d\na,01.02.1970\nb,02.01.1970\nc,1.1.1970\nd,02.01.1970\n", NULL, NULL);
    assert_features("31;1;0;1;");
    must_fail(ring, "id,d\na,01/13/1970\nb,13/01/1970\nc,01/01/1970\nd,02/01/1970\n", NULL, NULL,
              "'d' (column 2)");
}

static void test_encode_empty_columns_are_left_out(void **state) {
    (void)state;
    must_read(ring, "id,fax,x\na,,1\nb,NA,2\nc,,3\nd,-,4\n", NULL, NULL);
    assert_names(&source.feature_name, "x|");
    assert_note("left out, since they are empty: fax");
    must_fail(ring, "id,fax\na,\nb,NA\nc,\nd,-\n", NULL, NULL, "all of its columns are empty");
}

static void test_encode_texts_that_are_not_utf8_are_refused_with_their_line(void **state) {
    (void)state;
    must_fail(ring, "id,c\na,x\nb,\xfcx\nc,x\nd,x\n", NULL, NULL,
              "line 3: column 2: '\xfcx' is not UTF-8");
    must_fail(ring, "id,\xfc,c\na,1,x\nb,2,x\nc,3,x\nd,4,x\n", NULL, NULL,
              "of column 2 is not UTF-8");
    must_fail(ring, "id,c,c\na,1,x\nb,2,x\nc,3,x\nd,4,x\n", NULL, NULL, "called 'c'");
    must_fail(ring, "id,c\n\"\",x\nb,x\nc,x\nd,x\n", NULL, NULL, "expected the id of a node");
    must_fail(ring, "id,c\na,x\nb,x\na,x\nd,x\n", NULL, NULL, "line 4: the id 'a' was already");
}

static void test_encode_headers_above_text_are_told_from_data(void **state) {
    (void)state;
    must_read(ring, "customer,city,since\na,Rome,\nb,Oslo,\nc,Rome,1970-01-02\nd,Oslo,\n", NULL,
              NULL);
    assert_int_equal(source.nodes, 4);
    must_read(ring, "customer,city\na,Rome\nb,Oslo\nc,Rome\nd,Oslo\n", NULL, NULL);
    assert_int_equal(source.nodes, 4);
    must_read(ring, "who,v\na,\nb,1\nc,2\nd,3\n", NULL, NULL);
    assert_names(&source.feature_name, "v|v missing|");
    must_read(ring, "a,Rome\nb,Oslo\nc,Rome\nd,Oslo\n", NULL, NULL);
    assert_int_equal(source.nodes, 4);
    assert_names(&source.feature_name, "column 2=Oslo|column 2=Rome|");
}

static void test_encode_decimal_commas_are_read_where_they_fit(void **state) {
    (void)state;
    const char *text = "id;v;w\na;1,5;1\nb;2;2\nc;3;3\nd;4;4\n";
    must_read("a;b;0,5\nb;c;2\n", text, NULL, NULL);
    assert_features("1.5,1;2,2;3,3;4,4;");
    assert_edges("0>1*0.5 1>2*2");
    assert_note("v (decimal commas), w (--encode no");
    assert_note("weights of e.csv have decimal commas");
    own.decimal = PGCN_DECIMAL_POINT;
    must_fail(ring, text, NULL, NULL, "'1,5' in line 2 is none");
    must_fail("a;b;0,5\nb;c;2\n", NULL, NULL, NULL, "write decimals with a point: 0.5");
    own.decimal = PGCN_DECIMAL_COMMA;
    must_read("a,b,\"0,5\"\nb,c,2\n", "id,v\na,\"1,5\"\nb,2\nc,3\nd,4\n", NULL, NULL);
    assert_features("1.5;2;3;4;");
    assert_edges("0>1*0.5 1>2*2");
    own.decimal = PGCN_DECIMAL_AUTO;
    must_fail(ring, "id,v\na,\"1,5\"\nb,2\nc,3\nd,4\n", NULL, NULL, "'1,5' in line 2 is none");
    must_fail(ring, "id;v\na;1,5\nb;2.5\nc;3\nd;4\n", NULL, NULL, "'1,5' in line 2 is none");
}

static void test_encode_no_refuses_what_is_not_a_number(void **state) {
    (void)state;
    own.encode = PGCN_ENCODE_NO;
    must_fail(ring, "id,c\na,x\nb,x\nc,x\nd,x\n", NULL, NULL, "line 2: column 2: found 'x'");
    own.use = "v";
    must_read(ring, "id,c,v\na,x,1\nb,x,2\nc,x,3\nd,x,4\n", NULL, NULL);
    assert_features("1;2;3;4;");
    assert_null(source.encoder);
    must_fail(ring, "id,c,v\na,x,1\nb,x,\nc,x,3\nd,x,4\n", NULL, NULL, "line 3: column 3 ('v')");
}

/* ---- other files by the same rules -------------------------------------------------------------------- */

static const char *const learnt =
    "id,city,age,since,paid,fax\na,Rome,10,1970-01-02,yes,\n"
    "b,Oslo,,1970-01-04,no,\nc,Rome,40,,no,\nd,Oslo,10,1970-01-03,yes,\n"
    "e,Bonn,10,1970-01-03,yes,\n";
static char rules[4000];

static void learn_rules(void) {
    must_read(ring, learnt, NULL, NULL);
    snprintf(rules, sizeof rules, "%s", source.encoder);
    own.encoder = rules;
}

static void test_encode_other_files_have_the_columns_of_the_first(void **state) {
    (void)state;
    learn_rules();
    assert_names(&source.feature_name, "city=Oslo|city=Rome|city=other|age|age missing|since|"
                                       "since missing|paid|");
    must_read("a,b\n", "id,paid,note,age,city,since\na,no,hello,7,Rome,1970-01-11\nb,,x,,Graz,\n",
              NULL, NULL);
    assert_features("0,1,0,7,0,10,0,0;0,0,1,17.5,1,2,1,0.6;");
    assert_names(&source.feature_name, "city=Oslo|city=Rome|city=other|age|age missing|since|"
                                       "since missing|paid|");
    assert_string_equal(source.encoder, rules);
    assert_note("count as other: 1 of 'city' (such as 'Graz')");
    assert_note("as no category: 1 of 'paid'");
    assert_note("the model does not read column 3 ('note') of x.csv");
    /* the model knows the ids by their name, wherever they stand */
    must_read("a,b\n", "paid,age,id,city,since\nno,7,a,Rome,1970-01-11\nno,7,b,Rome,\n", NULL,
              NULL);
    assert_names(&source.node_id, "a|b|");
    /* the same file gives the same numbers, whether rules are learnt or given */
    must_read(ring, learnt, NULL, NULL);
    float given[40], *x = given;
    memcpy(given, source.x.dense, sizeof given);
    own.encoder = NULL;
    must_read(ring, learnt, NULL, NULL);
    assert_memory_equal(source.x.dense, x, sizeof given);
}

static void test_encode_other_files_that_do_not_fit_are_refused(void **state) {
    (void)state;
    learn_rules();
    must_fail("a,b\n", "id,paid,age,since\na,no,7,1970-01-11\n", NULL, NULL,
              "it has no column 'city'");
    must_fail("a,b\n", "id,paid,age,city,since\na,no,old,Rome,1970-01-11\n", NULL, NULL,
              "line 2: column 3 ('age'): found 'old', expected a number; correct it or leave");
    must_fail("a,b\n", "id,paid,age,city,since\na,no,7,Rome,11.1.1970\n", NULL, NULL,
              "expected a date year-month-day");
    must_fail("a,b\n", "id,paid,age,city,since\na,maybe,7,Rome,\n", NULL, NULL,
              "expected a word for yes or no, as yes or the like");
    must_fail("a,b\n", "Oslo,a,7\nRome,b,8\n", NULL, NULL,
              "it has no header and 3 columns, and the table that the model was trained on had 6");
}

/* A new file without a header has the columns of the training's table, in their order. */
static void test_encode_new_file_without_header_is_read_by_place_and_told(void **state) {
    (void)state;
    own.id = "who";
    own.ignore = "name";
    must_read(ring,
              "name,city,who,age\nx,Rome,a,1\ny,Oslo,b,2\nz,Rome,c,3\nx,Oslo,d,4\ny,Rome,e,5\n",
              NULL, NULL);
    assert_names(&source.node_id, "a|b|c|d|e|");
    snprintf(rules, sizeof rules, "%s", source.encoder);
    own.encoder = rules;
    own.id = own.ignore = NULL;
    must_read("p,q\n", "u,Oslo,p,7\nv,Rome,q,8\n", NULL, NULL); /* the ids stand where they stood */
    assert_names(&source.node_id, "p|q|");
    assert_features("0,1,7;1,0,8;");
    assert_note(
        "x.csv has no header: its columns are taken in the order of the table that the model was "
        "trained on, so column 2 is 'city', 4 is 'age'");
    must_fail("p,q\n", "Oslo,p,7\nRome,q,8\n", NULL, NULL,
              "it has no header and 3 columns, and the table that the model was trained on had 4");
    must_read("p,q\n", "age,who,city\n7,p,Oslo\n8,q,Rome\n", NULL,
              NULL); /* with one, names decide */
    assert_features("0,1,7;1,0,8;");
}

static void test_encode_values_that_differ_in_case_only_are_told(void **state) {
    (void)state;
    must_read(ring, "id,city,x\na,Rome,1\nb,rome,2\nc,Rome,3\nd,Oslo,4\ne,Oslo,5\n", NULL, NULL);
    assert_note(
        "values of column 'city' of x.csv differ in the case of letters only and are taken as different "
        "ones: 'Rome' and 'rome'; ");
}

static void test_encode_without_header_columns_are_known_by_place(void **state) {
    (void)state;
    must_read(ring, "a,Rome,1\nb,Oslo,2\nc,Rome,3\nd,Oslo,4\n", NULL, NULL);
    snprintf(rules, sizeof rules, "%s", source.encoder);
    own.encoder = rules;
    must_read(ring, "a,Oslo,1,x\nb,Oslo,2,x\nc,Rome,3,x\nd,Oslo,4,x\n", NULL, NULL);
    assert_features("1,0,1;1,0,2;0,1,3;1,0,4;");
    assert_note("does not read column 4 of");
    must_fail(ring, "a,Oslo\nb,Oslo\nc,Rome\nd,Oslo\n", NULL, NULL, "no column 'column 3'");
}

static void test_encode_damaged_rules_are_refused(void **state) {
    (void)state;
    learn_rules();
    char damaged[4000];
    for (size_t cut = 0; cut < strlen(rules); cut += 7) { /* without its end */
        memcpy(damaged, rules, cut);
        damaged[cut] = '\0';
        own.encoder = damaged;
        assert_int_not_equal(read_own(ring, learnt, NULL, NULL), PGCN_OK);
    }
    static const char *const change[][3] = {
        {"\"version\":1", "\"version\":2", "version"},
        {"\"kind\":\"date\"", "\"kind\":\"time\"", "kind of rule 3"},
        {"\"header\":true", "\"header\":\"t\"", "header"},
        {"year-month-day", "year.month.day", "form of rule 3"},
        {"\"Rome\"", "7", "values of rule 1"},
        {"\"mean\":17.5", "\"mean\":1e99", "mean of rule 2"},
        {"\"yes\":\"yes\"", "\"yes\":\"ja\"", "form of rule 4"},
        {"\"other\":true", "\"other\":1", "other of rule 1"},
        {"\"gaps\":true", "\"gaps\":1", "gaps of rule"},
        {"\"rare\":1", "\"rare\":-1", "rare of rule 1"},
        {"\"place\":2", "\"place\":0", "place of rule 1"},
        {"\"name\":\"city\"", "\"name\":7", "name of rule 1"},
        {"\"columns\"", "\"column\"", "columns"}};
    own.encoder = damaged;
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        const char *at = strstr(rules, change[i][0]);
        assert_non_null(at);
        sprintf(damaged, "%.*s%s%s", (int)(at - rules), rules, change[i][1],
                at + strlen(change[i][0]));
        must_fail(ring, learnt, NULL, NULL, change[i][2]);
    }
}

/* ---- which columns --------------------------------------------------------------------------------------- */

static void test_columns_by_name_and_by_number(void **state) {
    (void)state;
    const char *people = "name,key,age,city,left\nAnn,a,1,Rome,yes\nBob,b,2,Oslo,no\n"
                         "Cy,c,3,Rome,no\nDan,d,4,Oslo,yes\n";
    own.id = "key";
    own.use = "age,4";
    own.label = "left";
    must_read(ring, people, people, NULL);
    assert_names(&source.node_id, "a|b|c|d|");
    assert_names(&source.feature_name, "age|city=Oslo|city=Rome|");
    assert_names(&source.class_name, "no|yes|");
    assert_labels("1 0 0 1");
    own.id = "2";
    own.use = NULL;
    own.ignore = "1,city,left";
    must_read(ring, people, people, NULL);
    assert_names(&source.feature_name, "age|");
    own.use = "size";
    must_fail(ring, people, NULL, NULL,
              "--use is 'size', which is none of its columns: 'name', "
              "'key', 'age', 'city', 'left'");
    own.use = "9";
    must_fail(ring, people, NULL, NULL, "a number from 1 to 5");
    own.ignore = own.label = own.id = NULL;
    own.use = "2,3"; /* numbers of columns, whatever stands in the first line */
    must_read(ring, "a,2,x\nb,3,x\nc,4,y\nd,5,y\n", NULL, NULL);
    assert_names(&source.feature_name, "column 2|column 3=x|column 3=y|");
    own.use = "town"; /* what is asked for makes a header */
    must_read("8,9\n", "7,town\n8,x\n9,x\n", NULL, NULL);
    assert_names(&source.feature_name, "town=x|");
    own.use = "v";
    for (int role = 0; role < PGCN_I_ROLES; role++) own.header[role] = PGCN_HEADER_NO;
    must_fail(ring, "a,1\nb,2\nc,3\nd,4\n", NULL, NULL, "its columns have no names");
}

static void test_columns_must_leave_one_besides_the_ids(void **state) {
    (void)state;
    const char *people = "id,age\na,1\nb,2\nc,3\nd,4\n";
    own.ignore = "age";
    must_fail(ring, people, NULL, NULL, "no column is left besides the ids in column 1");
    own.ignore = NULL;
    own.use = "id";
    must_fail(ring, people, NULL, NULL, "no column is left");
    own.encode = PGCN_ENCODE_NO;
    must_fail(ring, people, NULL, NULL, "no column is left");
    own.use = NULL;
    own.label = "id";
    must_fail(ring, NULL, people, NULL, "y.csv': no column is left besides the ids");
    own.id = "age";
    own.label = "2";
    must_fail(ring, NULL, people, NULL, "no column is left besides the ids in column 2");
}

static void test_columns_a_label_in_the_same_file_is_no_feature(void **state) {
    (void)state;
    char path[2][1024];
    const char *people = "id,age,left\na,1,yes\nb,2,no\nc,3,no\nd,4,yes\n";
    strcpy(path[0], scratch_write("e.csv", ring, strlen(ring)));
    strcpy(path[1], scratch_write("p.csv", people, strlen(people)));
    pgcn_i_own_files files = {
        .edges = path[0], .features = path[1], .labels = path[1], .label = "left"};
    pgcn_i_source_free(&source);
    if (pgcn_i_own_files_read(&files, &source) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    assert_names(&source.feature_name, "age|");
    assert_labels("1 0 0 1");
}

static void test_columns_of_edges(void **state) {
    (void)state;
    const char *calls = "day,minutes,caller,called\n1,5,a,b\n2,7,b,c\n";
    must_fail(calls, NULL, NULL, NULL, "name these columns by --from, --to and --weight");
    own.from = "caller";
    own.to = "called";
    must_read(calls, NULL, NULL, NULL);
    assert_edges("0>1 1>2");
    assert_null(source.edge_weight);
    own.weight = "minutes";
    must_read(calls, NULL, NULL, NULL);
    assert_edges("0>1*5 1>2*7");
    own.to = "3";
    must_fail(calls, NULL, NULL, NULL, "--from and --to are both column 3");
    own.to = "receiver";
    must_fail(calls, NULL, NULL, NULL, "--to is 'receiver'");
}

static void test_edges_of_several_files_are_one_graph(void **state) {
    (void)state;
    char first[1024], both[2100];
    strcpy(first, scratch_write("e1.csv", "from,to\na,b\n", 12));
    sprintf(both, "%s,%s", first, scratch_write("e2.csv", "b,c\nc,a\n", 8));
    pgcn_i_own_files files = {.edges = both};
    pgcn_i_source_free(&source);
    if (pgcn_i_own_files_read(&files, &source) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    assert_edges("0>1 1>2 2>0");
    scratch_write("e2.csv", "b,c,2\n", 6);
    pgcn_i_source_free(&source);
    assert_int_equal(pgcn_i_own_files_read(&files, &source), PGCN_ERR_MISMATCH);
    assert_error_says("has no weights and");
    files.edges = scratch_write("e3,e4.csv", "x,y\n", 4); /* a file of that very name */
    pgcn_i_source_free(&source);
    assert_int_equal(pgcn_i_own_files_read(&files, &source), PGCN_OK);
}

/* ---- data sets and models ------------------------------------------------------------------------------------ */

static pgcn_dataset_files files_of(const char *features) {
    static char path[3][1024];
    static char edges[2000], labels[2000];
    char *e = edges, *y = labels + sprintf(labels, "id,class\n");
    for (int i = 0; i < 40; i++) {
        e += sprintf(e, "n%d,n%d\n", i, (i + 1) % 40);
        y += sprintf(y, "n%d,%s\n", i, i % 2 ? "odd" : "even");
    }
    strcpy(path[0], scratch_write("e.csv", edges, strlen(edges)));
    strcpy(path[1], scratch_write("x.csv", features, strlen(features)));
    strcpy(path[2], scratch_write("y.csv", labels, strlen(labels)));
    pgcn_dataset_files files = pgcn_dataset_files_default();
    files.edges = path[0];
    files.features = path[1];
    files.labels = path[2];
    return files;
}

static void mixed(char *to, int i) {
    sprintf(to, "%s,%d", i % 2 ? "red" : i % 4 ? "blue" : "green", i);
    if (i == 7) strcpy(to, "red,");
}

static pgcn_dataset *load_files(const pgcn_dataset_files *files) {
    pgcn_dataset *data = NULL;
    if (pgcn_dataset_from_files(files, &data) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    return data;
}

static void test_encode_model_and_container_keep_the_rules(void **state) {
    (void)state;
    pgcn_dataset_files files = files_of(table("id,colour,size", 40, mixed));
    pgcn_dataset *data = load_files(&files), *again;
    pgcn_config config = pgcn_config_default();
    pgcn_trainer *trainer;
    pgcn_model *model, *loaded;
    pgcn_epoch epoch;
    char path[1024];
    config.epochs = 1;
    assert_int_equal(pgcn_trainer_new(data, &config, &trainer), PGCN_OK);
    assert_int_equal(pgcn_trainer_epoch(trainer, &epoch), PGCN_OK);
    assert_int_equal(pgcn_trainer_model(trainer, &model), PGCN_OK);
    pgcn_trainer_free(trainer);
    assert_string_equal(pgcn_model_encoder(model), pgcn_dataset_encoder(data));
    strcpy(path, scratch_path("model.safetensors"));
    assert_int_equal(pgcn_model_save(model, path), PGCN_OK);
    assert_int_equal(pgcn_model_load(path, &loaded), PGCN_OK);
    assert_string_equal(pgcn_model_encoder(loaded), pgcn_model_encoder(model));
    strcpy(path, scratch_path("table.pgcn"));
    assert_int_equal(pgcn_dataset_save(data, path), PGCN_OK);
    assert_int_equal(pgcn_dataset_load(path, NULL, &again), PGCN_OK);
    assert_string_equal(pgcn_dataset_encoder(again), pgcn_dataset_encoder(data));
    pgcn_dataset_free(again);
    files.encoder = pgcn_model_encoder(loaded);
    again = load_files(&files);
    assert_string_equal(pgcn_dataset_describe(again).fingerprint,
                        pgcn_dataset_describe(data).fingerprint);
    pgcn_dataset_free(again);
    pgcn_model_free(loaded);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

static uint8_t held_out[40]; /* nodes that are not in the training part */
static void with_secrets(char *to, int i) {
    if (held_out[i])
        strcpy(to, i % 2 ? "violet," : "violet,1000");
    else
        sprintf(to, "%s,%d", i % 3 ? "red" : "blue", i);
}

static void test_encode_from_training_nodes_knows_no_others(void **state) {
    (void)state;
    pgcn_dataset_files files = files_of(table("id,colour,size", 40, mixed));
    pgcn_dataset *data;
    const uint8_t *train;
    double sum = 0, count = 0, mean = NAN;
    files.encode = PGCN_ENCODE_TRAIN;
    assert_int_equal(pgcn_dataset_from_files(&files, &data), PGCN_ERR_ARGUMENT);
    assert_error_says("has 10 splits; choose one by --prepare only-split=0");
    files.steps = "only-split=0";
    data = load_files(&files); /* the split does not depend on features */
    assert_non_null(pgcn_dataset_split(data, 0, &train, NULL, NULL));
    for (int i = 0; i < 40; i++) {
        held_out[i] = !train[i];
        sum += train[i] ? i : 0;
        count += train[i];
    }
    pgcn_dataset_free(data);
    files = files_of(table("id,colour,size", 40, with_secrets));
    files.steps = "only-split=0";
    data = load_files(&files);
    assert_int_equal(data->from.feature_name.count, 5);
    assert_string_equal(pgcn_dataset_feature_name(data, 0), "colour=violet");
    assert_string_equal(pgcn_dataset_feature_name(data, 4), "size missing");
    pgcn_dataset_free(data);
    files.encode = PGCN_ENCODE_TRAIN;
    data = load_files(&files);
    assert_names(&data->from.feature_name, "colour=red|colour=blue|size|");
    sscanf(strstr(pgcn_dataset_encoder(data), "\"mean\":"), "\"mean\":%lf", &mean);
    assert_true(fabs(mean - sum / count) < 1e-4);
    pgcn_dataset_free(data);
    const char *features = files.features;
    files.features = NULL; /* nothing to learn */
    data = load_files(&files);
    pgcn_dataset_free(data);
    files.features = features;
    files.labels = files.steps = NULL;
    assert_int_equal(pgcn_dataset_from_files(&files, &data), PGCN_ERR_ARGUMENT);
    assert_error_says("has no split");
}

static pgcn_dataset_files tried;
static pgcn_status load_tried(void) {
    pgcn_dataset *data;
    PGCN_TRY(pgcn_dataset_from_files(&tried, &data));
    pgcn_dataset_free(data);
    return PGCN_OK;
}

static void test_encode_every_failing_allocation_is_reported(void **state) {
    (void)state;
    tried = files_of(table("id,colour,size", 40, mixed));
    tried.ignore = "3";
    tried.use = "colour,size";
    tried.id = "id";
    tried.label = "class";
    tried.from = "1";
    tried.to = "2";
    assert_true(fail_every_allocation(load_tried) > 60);
    pgcn_dataset *data = load_files(&tried);
    snprintf(rules, sizeof rules, "%s", pgcn_dataset_encoder(data));
    pgcn_dataset_free(data);
    tried.encoder = rules;
    assert_true(fail_every_allocation(load_tried) > 60);
    tried.encoder = NULL;
    tried.encode = PGCN_ENCODE_TRAIN;
    tried.steps = "only-split=0";
    assert_true(fail_every_allocation(load_tried) > 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_cells_dates_are_days_since_1970),
        TEST(test_cells_gaps_numbers_and_yes),
        TEST(test_encode_categories_gaps_dates_and_answers_become_numbers),
        TEST(test_encode_plain_numbers_are_read_as_ever),
        TEST(test_encode_rare_values_share_a_column),
        TEST(test_encode_half_of_the_cells_may_be_rare),
        TEST(test_encode_one_answer_alone_is_a_category),
        TEST(test_encode_at_most_fifty_values_have_a_column),
        TEST(test_encode_columns_without_a_rule_are_named_all_at_once),
        TEST(test_encode_many_columns_without_a_rule_are_all_in_the_advice),
        TEST(test_encode_one_order_of_day_and_month_must_fit),
        TEST(test_encode_empty_columns_are_left_out),
        TEST(test_encode_texts_that_are_not_utf8_are_refused_with_their_line),
        TEST(test_encode_headers_above_text_are_told_from_data),
        TEST(test_encode_decimal_commas_are_read_where_they_fit),
        TEST(test_encode_no_refuses_what_is_not_a_number),
        TEST(test_encode_other_files_have_the_columns_of_the_first),
        TEST(test_encode_other_files_that_do_not_fit_are_refused),
        TEST(test_encode_new_file_without_header_is_read_by_place_and_told),
        TEST(test_encode_values_that_differ_in_case_only_are_told),
        TEST(test_encode_without_header_columns_are_known_by_place),
        TEST(test_encode_damaged_rules_are_refused),
        TEST(test_columns_by_name_and_by_number),
        TEST(test_columns_must_leave_one_besides_the_ids),
        TEST(test_columns_a_label_in_the_same_file_is_no_feature),
        TEST(test_columns_of_edges),
        TEST(test_edges_of_several_files_are_one_graph),
        TEST(test_encode_model_and_container_keep_the_rules),
        TEST(test_encode_from_training_nodes_knows_no_others),
        TEST(test_encode_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
