/* own_files.c, delimited.c, id_map.c: the files people have become the graph they mean, and everything that
 * could be meant in two ways is refused or told. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "own_help.h"
#include "gzip_help.h"

#include "data/id_map.h"

#include <math.h>

/* ---- ids and order ----------------------------------------------------------------------------- */

static void test_own_counted_ids_need_no_names(void **state) {
    (void)state;
    must_read("2,0\n0,1\n", NULL, NULL, NULL);
    assert_int_equal(source.nodes, 3);
    assert_int_equal(source.node_id.count, 0);
    assert_edges("2>0 0>1");
    assert_true(source.directed);
    assert_int_equal(source.notes, 1); /* what the first line is */
}

static void test_own_integer_ids_with_gaps_are_sorted_and_kept(void **state) {
    (void)state;
    must_read("100,-5\n-5,7\n7,100\n", "7,1,2\n100,3,4\n-5,5,6\n", "100,1\n7,0\n", NULL);
    assert_names(&source.node_id, "-5|7|100|");
    assert_edges("2>0 0>1 1>2");
    assert_features("5,6;1,2;3,4;");
    assert_labels("-1 0 1");
    must_read("0007,0008\n0008,0009\n", NULL, NULL, NULL);
    assert_names(&source.node_id, "0007|0008|0009|");
    must_read("0,01\n", NULL, NULL, NULL);
    assert_names(&source.node_id, "0|01|");
}

static void test_own_text_ids_are_in_order_of_appearance(void **state) {
    (void)state;
    must_read("carol,dave\nalice,carol\n", "bob,1\nalice,2\n", "carol,red\nalice,blue\n", NULL);
    assert_names(&source.node_id, "bob|alice|carol|dave|");
    assert_edges("2>3 1>2");
    assert_features("1;2;0;0;");
    assert_labels("-1 0 1 -1");
    assert_names(&source.class_name, "blue|red|");
    assert_note("2 nodes are not in");
    assert_note("'carol', 'dave'");
}

static void test_own_nodes_of_one_file_only_are_nodes(void **state) {
    (void)state;
    must_read("0,1\n", "0,1\n1,1\n2,1\n", "3,5\n0,5\n1,6\n", NULL);
    assert_int_equal(source.nodes, 4);
    assert_labels("0 1 -1 0");
    assert_names(&source.class_name, "5|6|");
    assert_note("1 node is not in");
}

static void test_own_nodes_without_features_are_marked_where_they_come_to_lie(void **state) {
    (void)state;
    must_read("5,7\n7,0\n0,5\n", "7,1\n5,2\n", NULL, NULL); /* ids are sorted: 0, 5, 7 */
    assert_features("0;2;1;");
    assert_memory_equal(source.x.absent, ((uint8_t[]){1, 0, 0}), 3);
    must_read("5,7\n7,0\n0,5\n", "7,1\n5,2\n0,3\n", NULL, NULL);
    assert_null(source.x.absent);
}

static void test_own_same_number_in_two_texts_is_refused(void **state) {
    (void)state;
    must_fail("7,8\n07,8\n", NULL, NULL, NULL, "'7' and '07'");
}

static void test_own_features_shuffled_in_the_file_reach_their_nodes(void **state) {
    (void)state;
    enum { N = 1000 };
    static char edges[64] = "0,1\n", features[N * 32], *to;
    to = features;
    for (int i = 0; i < N; i++) to += sprintf(to, "%d,%d,%d\n", i * 387 % N, i * 387 % N, 1);
    must_read(edges, features, NULL, NULL);
    assert_int_equal(source.nodes, N);
    assert_int_equal(source.node_id.count, 0);
    for (int i = 0; i < N; i++) assert_true(source.x.dense[2 * i] == (float)i);
}

/* ---- headers of single files ------------------------------------------------------------------- */

static void test_own_header_of_one_file_leaves_the_others_to_the_rules(void **state) {
    (void)state;
    own.header[PGCN_I_ROLE_LABELS] = PGCN_HEADER_NO; /* whatever its words say */
    must_read("source,target\na,b\nid,a\n", "id,x\na,1\nb,2\n", "id,class\na,p\nb,class\n", NULL);
    assert_names(&source.class_name, "class|p|");
    assert_names(&source.node_id, "a|b|id|");
    assert_note("'id,class' (line 1 of y.csv) was taken for data: as --header says");
    assert_note("'source,target' (line 1 of e.csv) was taken for a header");
    assert_note("of one file: --header labels=no");
    own.header[PGCN_I_ROLE_LABELS] = PGCN_HEADER_AUTO;
}

static void test_own_classes_that_differ_in_case_only_are_told(void **state) {
    (void)state;
    must_read("0,1\n1,2\n2,3\n", NULL, "0,Yes\n1,yes\n2,no\n3,yes\n", NULL);
    assert_names(&source.class_name, "Yes|no|yes|");
    assert_note(
        "differ in the case of letters only and are taken as different ones: 'Yes' and 'yes'; ");
    must_read("0,1\n1,2\n2,3\n", NULL, "0,\xc3\x89t\xc3\xa9\n1,\xc3\xa9t\xc3\x89\n2,no\n3,no\n",
              NULL);
    assert_note("case of letters");
    must_read("0,1\n1,2\n2,3\n", NULL, "0,a\n1,b\n2,ab\n3,\xc3\xa9\n", NULL);
    for (int i = 0; i < source.notes; i++) assert_null(strstr(source.note[i], "case of letters"));
}

/* ---- cells that hold line ends ----------------------------------------------------------------- */

static void test_own_cells_in_quotes_may_hold_line_ends(void **state) {
    (void)state;
    must_read("\"two\nlines\",b\nb,c\n", "\"id\n(all)\",x\n\"two\nlines\",1\nb,2\nc,3\n",
              "\"two\nlines\",\"a class,\n\"\"odd\"\"\"\nb,plain\n", NULL);
    assert_names(&source.node_id, "two\nlines|b|c|");
    assert_features("1;2;3;");
    assert_names(&source.class_name, "a class,\n\"odd\"|plain|");
    must_read("a,b\n", "id,\"x\n2\"\na,1\nb,2\n", NULL, NULL); /* numbers under a long header */
    assert_features("1;2;");
}

static void test_own_lines_after_such_a_cell_keep_their_numbers(void **state) {
    (void)state;
    must_fail("\"two\nlines\",b\nb,c,d\n", NULL, NULL, NULL, "line 3: found 3 cells");
    must_fail("a,b\n", "id,x\n\"two\n\nlines\",1\nb,2\nb,3\n", NULL, NULL,
              "line 6: the id 'b' was already in line 5");
}

static void test_own_quote_that_is_never_closed_is_told_where_it_opens(void **state) {
    (void)state;
    static char edges[40000], *to = edges;
    must_fail("a,b\nb,\"c\nc,d\n", NULL, NULL, NULL, "line 2: cell 2: a quote is not closed");
    must_read("a,5\"\nb,6\"\n", NULL, NULL, NULL); /* a quote inside a cell opens nothing */
    assert_names(&source.node_id, "a|5\"|b|6\"|");
    must_read("# it's \"odd\na,b\n", NULL, NULL, NULL);
    assert_names(&source.node_id, "a|b|");
    to += sprintf(to, "a,b\nb,\"c\n"); /* it does not swallow the whole file */
    for (int i = 0; i < 3000; i++) to += sprintf(to, "n%d,n%d\n", i, i + 1);
    sprintf(to, "a,\"z\"\n");
    must_fail(edges, NULL, NULL, NULL, "line 2: cell 2: a quote is not closed");
}

/* ---- layout ------------------------------------------------------------------------------------ */

static void test_own_files_of_any_layout_are_the_same_graph(void **state) {
    (void)state;
    static const char *edges[] = {
        "a,b\nb,c\n",
        "a\tb\nb\tc\n",
        "a;b\nb;c\n",
        "a b\nb c\n",
        "  a   b  \n\tb\t c\n",
        "a,b\r\nb,c\r\n",
        ("\xef\xbb\xbf"
         "a,b\nb,c"),
        "# a graph\n% of three\n\na,b\n# middle\nb,c\n\n",
        "source,target\na,b\nb,c\n",
        "Source,TARGET\na,b\nb,c\n",
        "\"from\"\t\"to\"\na\tb\nb\tc\n",
        "\"a\",\"b\"\n\"b\",\"c\"\n",
        " a , b \nb ,c\n",
    };
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        must_read(edges[i], NULL, NULL, NULL);
        assert_names(&source.node_id, "a|b|c|");
        assert_edges("0>1 1>2");
        assert_int_equal(source.notes, 1);
    }
}

static void test_own_quoted_ids_may_hold_delimiters_and_quotes(void **state) {
    (void)state;
    must_read("\"a,1\",\"b \"\"x\"\"\"\n", "\"b \"\"x\"\"\",1\n\"a,1\",2\n", NULL, NULL);
    assert_names(&source.node_id, "b \"x\"|a,1|");
    assert_edges("1>0");
    must_read("\"a,1\" b\nb \"c,2\"\n", NULL, NULL, NULL);
    assert_names(&source.node_id, "a,1|b|c,2|");
}

static void test_own_headers_are_told_from_data(void **state) {
    (void)state;
    /* by what is below: told to the user */
    must_read("paper,other\n0,1\n", NULL, NULL, NULL);
    assert_edges("0>1");
    assert_note("'paper,other' (line 1 of e.csv) was taken for a header: it is text above numbers");
    must_read("a,b,strength\na,b,0.5\n", NULL, NULL, NULL);
    assert_edges("0>1*0.5");
    assert_note("'a,b,strength' (line 1 of e.csv) was taken for a header");
    /* by words */
    must_read("0,1\n", "id,0,1\n0,5,6\n1,7,8\n", "node,label\n0,x\n1,y\n", NULL);
    assert_features("5,6;7,8;");
    assert_names(&source.feature_name, "0|1|");
    assert_names(&source.class_name, "x|y|");
    assert_int_equal(source.notes, 1);
    /* as pandas and R write them */
    must_read("0,1\n", ",0,1\n0,5,6\n1,7,8\n", NULL, NULL);
    assert_names(&source.feature_name, "0|1|");
    must_read("a b\n", "height width\na 5 6\nb 7 8\n", NULL, NULL);
    assert_names(&source.feature_name, "height|width|");
    assert_features("5,6;7,8;");
    /* no header: numbers, or words where words are data */
    must_read("a,b\nc,d\n", "a,1\nb,2\nc,3\nd,4\n", "a,red\nb,blue\n", NULL);
    assert_int_equal(source.nodes, 4);
    assert_int_equal(source.feature_name.count, 0);
    assert_labels("1 0 -1 -1");
    assert_int_equal(source.notes, 1);
    must_read("0,1\n", NULL, "0,red\n1,blue\n", NULL);
    assert_labels("1 0");
    must_read("source,b\nb,c\n", NULL, NULL, NULL);
    assert_int_equal(source.nodes, 3);
}

static void test_own_edge_header_without_known_words_is_no_pair_of_nodes(void **state) {
    (void)state;
    static const char *const headers[] = {"caller,callee", "u,v", "Kunde,Freund", "A,B"};
    for (int i = 0; i < 4; i++) {
        char edges[200];
        sprintf(edges, "# calls\n%s\nann,bob\nbob,cy\ncy,ann\ndee,eve\n", headers[i]);
        must_read(edges, NULL, NULL, NULL);
        assert_names(&source.node_id, "ann|bob|cy|dee|eve|");
        assert_note("(line 2 of e.csv) was taken for a header: its ids occur nowhere else");
        assert_note("--header");
        must_read(edges, "id,x\nann,1\nbob,2\ncy,3\ndee,4\neve,5\n", NULL, NULL);
        assert_int_equal(source.nodes, 5);
        assert_note("(line 2 of e.csv) was taken for a header");
    }
}

static void test_own_first_edge_is_data_if_an_id_occurs_again(void **state) {
    (void)state;
    must_read("ann,bob\ncy,dee\ndee,cy\ncy,bob\n", NULL, NULL, NULL); /* in the last line */
    assert_edges("0>1 2>3 3>2 2>1");
    assert_note("'ann,bob' (line 1 of e.csv) was taken for data: its id occurs again below");
    must_read("ann,bob\ncy,dee\ndee,cy\n", "x1,5\nbob,6\n", NULL, NULL); /* in the features */
    assert_int_equal(source.edges, 3);
    assert_note("(line 1 of e.csv) was taken for data: its id is in the other files");
    must_read("ann,bob\ncy,dee\ndee,cy\n", NULL, "bob,red\ncy,blue\n", NULL); /* in the labels */
    assert_int_equal(source.edges, 3);
    must_read("source,target\nb,c\n", NULL, "source,1\ntarget,2\nb,1\n", NULL); /* known words */
    assert_int_equal(source.edges, 2);
}

static void test_own_first_edge_like_all_others_is_data(void **state) {
    (void)state;
    must_read("a,b\n", NULL, NULL, NULL);
    assert_int_equal(source.edges, 1);
    assert_note("was taken for data: it is the only line");
    must_read("a,b\nc,d\ne,f\n", NULL, NULL, NULL); /* pairs: nothing occurs again anywhere */
    assert_int_equal(source.edges, 3);
    assert_note("was taken for data: nothing sets it apart");
    must_read("a,7\n8,b\n8,c\n", NULL, NULL, NULL);
    assert_int_equal(source.edges, 3);
}

static void test_own_first_edge_is_looked_for_in_all_of_a_long_file(void **state) {
    (void)state;
    enum { LINES = 70000 }; /* more than are looked at closely */
    static char edges[LINES * 24 + 100], *to;
    for (int again = 0; again < 2; again++) {
        to = edges + sprintf(edges, "first,second\n");
        for (int i = 0; i < LINES; i++) to += sprintf(to, "n%d,n%d\n", i, i + 1);
        if (again) sprintf(to, "n0,second\n");
        must_read(edges, NULL, NULL, NULL);
        assert_int_equal(source.edges, again ? LINES + 2 : LINES);
    }
}

static void test_own_label_header_without_known_words_is_no_node_and_no_class(void **state) {
    (void)state;
    static const char edges[] = "ann,bob\nbob,cy\ncy,dee\ndee,ann\n";
    static const char labels[] = "customer,status\nann,gone\nbob,stays\ncy,gone\ndee,stays\n";
    must_read(edges, NULL, labels, NULL);
    assert_int_equal(source.nodes, 4);
    assert_names(&source.class_name, "gone|stays|");
    assert_note("'customer,status' (line 1 of y.csv) was taken for a header: neither its id");
    must_read(edges, "who,x\nann,1\nbob,2\ncy,3\ndee,4\n", labels, NULL);
    assert_int_equal(source.nodes, 4);
    assert_names(&source.class_name, "gone|stays|");
    must_read(edges, NULL, "customer,score\nann,1\nbob,2\ncy,1\ndee,3\n", NULL);
    assert_int_equal(source.classes, 3);
    must_read(edges, NULL, "customer,vip,old\nann,1,0\nbob,0,0\n", NULL);
    assert_names(&source.class_name, "vip|old|");
}

static void test_own_first_label_is_data_if_its_id_or_class_occurs_again(void **state) {
    (void)state;
    static const char edges[] = "ann,bob\nbob,cy\ncy,dee\ndee,ann\n";
    must_read(edges, NULL, "ann,rare\nbob,stays\ncy,gone\ndee,stays\n", NULL); /* in the edges */
    assert_names(&source.class_name, "gone|rare|stays|");
    assert_note("'ann,rare' (line 1 of y.csv) was taken for data: its id is in the other files");
    must_read(edges, "ann,1\nbob,2\ncy,3\ndee,4\n", "ann,rare\nbob,stays\ncy,stays\n", NULL);
    assert_names(&source.class_name, "rare|stays|");
    must_read(edges, NULL, "alone,stays\nbob,stays\ncy,gone\n", NULL);
    assert_int_equal(source.nodes, 5);
    assert_note("(line 1 of y.csv) was taken for data: its class occurs again");
    must_read(edges, NULL, "ann,\nbob,stays\ncy,stays\ndee,gone\n", NULL); /* not known */
    assert_names(&source.class_name, "gone|stays|");
    assert_int_equal(source.nodes, 4);
}

static void test_own_feature_header_of_counted_columns_is_told_from_numbers(void **state) {
    (void)state;
    must_read("ann,bob\n", "customer,0,1,2\nann,5,6,7\nbob,8,9,10\n", NULL, NULL);
    assert_names(&source.feature_name, "0|1|2|");
    assert_note("was taken for a header: it counts the columns");
    must_read("1,2\n", "customer,7.5,8\n1,5,6\n2,8,9\n", NULL, NULL);
    assert_names(&source.feature_name, "7.5|8|");
    must_read("ann,bob\n", "ann,5,6,7\nbob,8,9,10\n", NULL, NULL);
    assert_int_equal(source.feature_name.count, 0);
}

static void test_own_header_is_what_the_user_says(void **state) {
    (void)state;
    for (int role = 0; role < PGCN_I_ROLES; role++) own.header[role] = PGCN_HEADER_YES;
    must_read("ann,bob\nbob,cy\n", NULL, NULL, NULL);
    assert_edges("0>1");
    assert_note("'ann,bob' (line 1 of e.csv) was taken for a header: as --header says");
    must_read("1,2\n2,3\n", "0,1\n2,5\n3,6\n", "2,1\n2,0\n3,1\n", "2,train\n2,train\n3,val\n");
    assert_names(&source.feature_name, "1|");
    assert_labels("0 1");
    for (int role = 0; role < PGCN_I_ROLES; role++) own.header[role] = PGCN_HEADER_NO;
    must_read("source,target\nb,c\n", NULL, NULL, NULL);
    assert_names(&source.node_id, "source|target|b|c|");
    assert_note("was taken for data: as --header says");
    own.encode = PGCN_ENCODE_NO;
    must_fail("a,b\n", "id,x\na,1\n", NULL, NULL, "line 1: column 2: found 'x'");
}

static void test_own_compressed_files_are_the_same(void **state) {
    (void)state;
    char edges[1024], labels[1024], features[1024];
    strcpy(edges, scratch_gzip("edges.csv.gz", "a,b\nb,c\n", 8));
    strcpy(features, scratch_gzip("x.csv.gz", "a,1\nb,2\nc,3\n", 12));
    strcpy(labels, scratch_gzip("y.csv.gz", "a,0\nb,1\n", 8));
    pgcn_i_own_files files = {.edges = edges, .features = features, .labels = labels};
    assert_int_equal(pgcn_i_own_files_read(&files, &source), PGCN_OK);
    assert_features("1;2;3;");
    assert_labels("0 1 -1");
}

/* ---- edges ------------------------------------------------------------------------------------- */

static void test_own_weights_are_read(void **state) {
    (void)state;
    must_read("0,1,0.5\n1,2,2\n", NULL, NULL, NULL);
    assert_edges("0>1*0.5 1>2*2");
    must_read("from to weight\n0 1 0.5\n", NULL, NULL, NULL);
    assert_edges("0>1*0.5");
}

static void test_own_bad_edges_are_refused(void **state) {
    (void)state;
    must_fail("", NULL, NULL, NULL, "it has no rows");
    must_fail("# only\n\n", NULL, NULL, NULL, "it has no rows");
    must_fail("a\nb\n", NULL, NULL, NULL, "1 cell, expected two ids");
    must_fail("0,1\n1\n", NULL, NULL, NULL, "line 2: found 1 cells, expected 2");
    must_fail("0,1\n1,2,3\n", NULL, NULL, NULL, "line 2: found 3 cells");
    must_fail("0,1,1,1\n", NULL, NULL, NULL, "4 cells, expected two ids");
    must_fail("0,1\n,2\n", NULL, NULL, NULL, "line 2: found an empty cell");
    must_fail("0,1,1\n1,2,cites\n", NULL, NULL, NULL, "line 2: found the weight 'cites'");
    must_fail("0,1,1\n1,2,nan\n", NULL, NULL, NULL, "the weight 'nan'");
    must_fail("0,1,1\n1,2,\n", NULL, NULL, NULL, "the weight ''");
    must_fail("0,1\n\"2,3\n", NULL, NULL, NULL, "quote is not closed");
    pgcn_i_own_files files = {.edges = scratch_path("absent.csv")};
    pgcn_i_source_free(&source);
    assert_int_equal(pgcn_i_own_files_read(&files, &source), PGCN_ERR_IO);
}

/* ---- features ---------------------------------------------------------------------------------- */

static void test_own_bad_features_are_refused_with_line_column_and_name(void **state) {
    (void)state;
    own.encode = PGCN_ENCODE_NO;
    must_fail("0,1\n", "id,size,colour\n0,1,2\n1,2,red\n", NULL, NULL,
              "line 3: column 3: found 'red'");
    assert_error_says("feature 'colour'");
    assert_error_says("category");
    must_fail("0,1\n", "0,1,2\n1,2,?\n", NULL, NULL, "line 2: column 3: found '?'");
    must_fail("0,1\n", "0,1,2\n1,2,\n", NULL, NULL, "found an empty cell");
    must_fail("0,1\n", "0,1,2\n1,2,nan\n", NULL, NULL, "found 'nan'");
    must_fail("0,1\n", "0,1,2\n1,2\n", NULL, NULL, "line 2: found 2 cells, expected 3");
    must_fail("0,1\n", "0,1\n1,2\n\n0,3\n", NULL, NULL, "line 4: the id '0' was already in line 1");
    must_fail("0,1\n", "0\n1\n", NULL, NULL, "1 cell, expected an id and at least one more");
    must_fail("0,1\n", "id,a\n0,1,2\n", NULL, NULL, "header");
    must_fail("0,1\n", "", NULL, NULL, "it has no rows");
}

static void test_own_ids_that_do_not_match_are_refused(void **state) {
    (void)state;
    static char edges[4000], *to = edges;
    for (int i = 0; i < 100; i++) to += sprintf(to, "%d,%d\n", i, i + 1);
    must_fail(edges, "n0,1\nn1,2\n", NULL, NULL, "101 of 103 nodes are not in");
    assert_error_says("'0', '1', '2'");
}

/* Twenty nodes in a ring, n0 to n19, with a feature each. */
static const char *ring_edges(void) {
    static char text[1000], *to;
    to = text;
    for (int i = 0; i < 20; i++) to += sprintf(to, "n%d,n%d\n", i, (i + 1) % 20);
    return text;
}
static const char *ring_rows(const char *before, int count) {
    static char text[2][4000], *to;
    static int turn;
    to = text[turn = !turn];
    for (int i = 0; i < count; i++) to += sprintf(to, "%s%d,%d\n", before, i, i % 2);
    return text[turn];
}

static void test_own_more_than_a_tenth_of_unknown_ids_is_refused(void **state) {
    (void)state;
    char labels[1000];
    own.unknown_ids = PGCN_UNKNOWN_REFUSE;
    /* a tenth is told, one more is refused: labels against features */
    sprintf(labels, "%sx,1\ny,0\n", ring_rows("n", 18));
    must_read(ring_edges(), ring_rows("n", 20), labels, NULL);
    assert_note("2 nodes are not in x.csv");
    assert_note("'x', 'y'");
    strcat(labels, "z,1\n");
    must_fail(ring_edges(), ring_rows("n", 20), labels, NULL, "3 of the 21 ids of");
    assert_error_says("'x', 'y', 'z'");
    assert_error_says("--unknown-ids keep if these are nodes without features");
    /* edges against features */
    must_read(ring_edges(), ring_rows("n", 18), NULL, NULL);
    assert_note("2 nodes are not in x.csv");
    must_fail(ring_edges(), ring_rows("n", 17), NULL, NULL, "3 of the 20 ids of");
    /* labels against edges */
    sprintf(labels, "%sx,1\ny,0\n", ring_rows("n", 18));
    must_read(ring_edges(), NULL, labels, NULL);
    assert_note("2 of the 20 ids of y.csv are not in e.csv: 'x', 'y'");
    must_fail(ring_edges(), NULL, ring_rows("N", 20), NULL, "20 of the 20 ids of");
    assert_error_says("'N0', 'N1', 'N2', ...");
    assert_error_says("nodes without edges");
    own.unknown_ids = PGCN_UNKNOWN_KEEP;
    must_read(ring_edges(), NULL, ring_rows("N", 20), NULL);
    assert_int_equal(source.nodes, 40);
}

static void test_own_unknown_ids_that_are_not_utf8_are_told_as_the_reason(void **state) {
    (void)state;
    char edges[1000] = "", *to = edges;
    for (int i = 0; i < 20; i++)
        to += sprintf(to, "M\xc3\xbcller%d,M\xc3\xbcller%d\n", i, (i + 1) % 20);
    own.unknown_ids = PGCN_UNKNOWN_REFUSE;
    must_fail(edges, ring_rows("M\xc3\xbcller", 20), ring_rows("M\xfcller", 20), NULL,
              "y.csv does not look like UTF-8");
    must_fail(edges, ring_rows("M\xfcller", 20), NULL, NULL, "x.csv does not look like UTF-8");
    own.unknown_ids = PGCN_UNKNOWN_KEEP;
    must_read(edges, ring_rows("M\xc3\xbcller", 20), ring_rows("M\xfcller", 20), NULL);
    assert_note("20 nodes are not in x.csv");
    assert_note("y.csv does not look like UTF-8");
    must_read(edges, ring_rows("M\xc3\xbcller", 20), ring_rows("x", 20), NULL);
    for (int i = 0; i < source.notes; i++) assert_null(strstr(source.note[i], "UTF-8"));
}

static void test_own_labels_that_are_numbers_to_predict_are_told(void **state) {
    (void)state;
    enum { N = 40 };
    char edges[2000] = "", labels[2000] = "", *to = edges;
    for (int i = 0; i < N; i++) to += sprintf(to, "%d,%d\n", i, (i + 1) % N);
    to = labels;
    for (int i = 0; i < N; i++) to += sprintf(to, "%d,%g\n", i, 100 + i * 0.37);
    must_read(edges, NULL, labels, NULL);
    assert_note("the labels of y.csv are 40 different numbers");
    assert_note("regression, which is not supported");
    to = labels;
    for (int i = 0; i < N; i++) to += sprintf(to, "%d,%d\n", i, i);
    must_read(edges, NULL, labels, NULL); /* whole ones, which have no names */
    assert_note("40 different numbers");
    to = labels;
    for (int i = 0; i < N; i++) to += sprintf(to, "%d,c%d\n", i, i);
    must_read(edges, NULL, labels, NULL);
    assert_int_equal(source.notes, 1); /* words are no numbers */
    to = labels;
    for (int i = 0; i < N; i++) to += sprintf(to, "%d,%d\n", i, i % 10);
    must_read(edges, NULL, labels, NULL);
    assert_int_equal(source.notes, 1); /* ten classes are classes */
}

static const char *write_npy(pgcn_i_dtype dtype, int64_t rows, int64_t columns, void *data) {
    const char *path = scratch_path("x.npy");
    pgcn_i_array array = {dtype, 2, {rows, columns}, rows * columns, data};
    assert_int_equal(pgcn_i_npy_write(path, &array), PGCN_OK);
    return path;
}

static void test_own_npy_features_belong_to_counted_nodes(void **state) {
    (void)state;
    float single[] = {1, 2, 3, 4, 5, 6};
    double twice[] = {1, 2, 3, 4, 5, 6};
    int64_t whole[] = {1, 2, 3, 4, 5, 6};
    uint8_t small[] = {1, 2, 3, 4, 5, 6};
    struct {
        pgcn_i_dtype dtype;
        void *data;
    } cases[] = {
        {PGCN_I_F32, single}, {PGCN_I_F64, twice}, {PGCN_I_I64, whole}, {PGCN_I_U8, small}};
    char edges[1024], labels[1024], features[1024];
    strcpy(edges, scratch_write("e.csv", "0,1\n", 4));
    strcpy(labels, scratch_write("y.csv", "2,1\n0,0\n", 8));
    for (int i = 0; i < 4; i++) {
        strcpy(features, write_npy(cases[i].dtype, 3, 2, cases[i].data));
        pgcn_i_source_free(&source);
        pgcn_i_own_files files = {.edges = edges, .features = features, .labels = labels};
        assert_int_equal(pgcn_i_own_files_read(&files, &source), PGCN_OK);
        assert_int_equal(source.nodes, 3);
        assert_features("1,2;3,4;5,6;");
        assert_labels("0 -1 1");
        assert_int_equal(source.node_id.count, 0);
    }
    static const struct {
        const char *edges, *says;
    } bad[] = {{"0,3\n", "'3', expected a whole number from 0 to 2"},
               {"0,-1\n", "'-1', expected a whole number"},
               {"a,b\n", "'a', expected a whole number"},
               {"0,1\n1,2.0\n", "line 2: found the id '2.0'"}};
    for (int i = 0; i < 4; i++) {
        strcpy(edges, scratch_write("e.csv", bad[i].edges, strlen(bad[i].edges)));
        pgcn_i_source_free(&source);
        pgcn_i_own_files files = {.edges = edges, .features = features};
        assert_int_equal(pgcn_i_own_files_read(&files, &source), PGCN_ERR_FORMAT);
        assert_error_says(bad[i].says);
    }
    pgcn_i_array flat = {PGCN_I_F32, 1, {6}, 6, single};
    assert_int_equal(pgcn_i_npy_write(features, &flat), PGCN_OK);
    pgcn_i_own_files files = {.edges = edges, .features = features};
    pgcn_i_source_free(&source);
    assert_int_equal(pgcn_i_own_files_read(&files, &source), PGCN_ERR_FORMAT);
    assert_error_says("[nodes, features]");
}

/* ---- labels ------------------------------------------------------------------------------------ */

static void test_own_labels_are_sorted_as_numbers_or_as_text(void **state) {
    (void)state;
    must_read("0,1\n1,2\n2,3\n", NULL, "0,10\n1,9\n2,100\n3,9\n", NULL);
    assert_labels("1 0 2 0");
    assert_names(&source.class_name, "9|10|100|");
    assert_int_equal(source.classes, 3);
    must_read("0,1\n1,2\n2,3\n", NULL, "0,b10\n1,b9\n2,B\n3,b9\n", NULL);
    assert_labels("1 2 0 2");
    assert_names(&source.class_name, "B|b10|b9|");
    must_read("0,1\n", NULL, "0,1\n1,0\n", NULL);
    assert_int_equal(source.class_name.count, 0);
}

static void test_own_missing_labels_are_not_known(void **state) {
    (void)state;
    must_read("0,1\n1,2\n2,3\n3,4\n4,5\n5,6\n", NULL, "0,x\n1,\n2,?\n3,nan\n4,NA\n5,N/A\n6,NaN\n",
              NULL);
    assert_labels("0 -1 -1 -1 -1 -1 -1");
    assert_int_equal(source.classes, 1);
    must_read("0,1\n1,2\n", NULL, "0,1\n1,?\n2,0\n", NULL);
    assert_labels("1 -1 0");
    must_read("0,1\n1,2\n", NULL, "0,1\n1,-1\n2,0\n", NULL);
    assert_labels("2 0 1");
    assert_note("the label -1");
    must_read("0,1\n1,2\n", NULL, "0,1\n1,-1\n2,1\n", NULL);
    assert_int_equal(source.notes, 1);
}

static void test_own_several_label_columns_are_yes_or_no(void **state) {
    (void)state;
    must_read("a,b\nb,c\nc,d\n", NULL, "id,drama,war,comedy\nb,1,0,1\na,0,1,0\nc,,,\n", NULL);
    assert_null(source.label);
    assert_int_equal(source.classes, 3);
    assert_names(&source.class_name, "drama|war|comedy|");
    const uint8_t labels[] = {1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0}, known[] = {1, 1, 0, 0};
    assert_names(&source.node_id, "b|a|c|d|");
    assert_memory_equal(source.labels, labels, sizeof labels);
    assert_memory_equal(source.label_known, known, sizeof known);
    must_fail("a,b\n", NULL, "a,0,1\nb,1,2\n", NULL,
              "line 2: column 3: found '2', expected 0 or 1");
    must_fail("a,b\n", NULL, "a,0,1\nb,1,x\n", NULL, "found 'x'");
    must_fail("a,b\n", NULL, "a,0,1\nb,1,\n", NULL, "1 of 2 labels are not known");
    must_fail("a,b\n", NULL, "a,0,1\nb,?,1\n", NULL, "1 of 2 labels are not known");
}

static void test_own_label_twice_is_refused_with_both_lines(void **state) {
    (void)state;
    must_fail("a,b\n", NULL, "a,x\n\nb,y\na,z\n", NULL, "line 4: the id 'a' was already in line 1");
    must_fail("a,b\n", NULL, "a,x\n,y\n", NULL, "line 2: found an empty cell");
    must_fail("a,b\n", NULL, "a\nb\n", NULL, "1 cell, expected an id and a label");
}

/* ---- splits ------------------------------------------------------------------------------------ */

static void assert_mask(const uint8_t *mask, const char *expected) {
    for (int64_t i = 0; i < source.nodes; i++) assert_int_equal(mask[i], expected[i] - '0');
}

static void test_own_splits_are_the_columns_of_their_file(void **state) {
    (void)state;
    const char *edges = "a,b\nb,c\nc,d\n", *labels = "a,x\nb,y\nc,x\nd,y\n";
    must_read(edges, NULL, labels, "a,train\nb,Val\nc,TEST\n");
    assert_int_equal(source.splits, 1);
    assert_string_equal(source.split[0].name, "0");
    assert_mask(source.split[0].train, "1000");
    assert_mask(source.split[0].val, "0100");
    assert_mask(source.split[0].test, "0010");
    must_read(edges, NULL, labels,
              "id,first,second\nd,train,\nb,valid,test\na,test,validation\nc,-,none\n");
    assert_int_equal(source.splits, 2);
    assert_string_equal(source.split[1].name, "1");
    assert_mask(source.split[0].train, "0001");
    assert_mask(source.split[0].test, "1000");
    assert_mask(source.split[1].val, "1000");
    assert_mask(source.split[1].test, "0100");
    must_read("9,5\n5,7\n", NULL, "9,x\n5,y\n7,?\n", "7,train\n9,train\n5,val\n");
    assert_mask(source.split[0].train, "001"); /* 7 has no label: nothing to learn there */
    assert_mask(source.split[0].val, "100");
}

static void test_own_bad_splits_are_refused(void **state) {
    (void)state;
    const char *edges = "0,1\n1,2\n", *labels = "0,x\n1,y\n2,x\n";
    must_fail(edges, NULL, labels, "0,train\n1,trian\n", "line 2: column 2: found 'trian'");
    must_fail(edges, NULL, labels, "0,trian\n1,train\n", "line 1: column 2: found 'trian'");
    must_fail(edges, NULL, labels, "0,train\n3,val\n", "line 2: the id '3' is in none");
    must_fail(edges, NULL, labels, "0,train\n1,val\n0,test\n",
              "line 3: the id '0' was already in line 1");
    must_fail(edges, NULL, labels, "0\n1\n", "1 cell, expected an id and train");
}

/* ---- the map of ids ---------------------------------------------------------------------------- */

static void test_id_map_numbers_are_those_of_first_appearance(void **state) {
    (void)state;
    pgcn_i_id_map map = {0};
    char id[32];
    int64_t number;
    assert_int_equal(pgcn_i_id_map_find(&map, "x"), -1);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 100000; i++) {
            sprintf(id, i % 2 ? "%d" : "long identifier of node %d", i * 7);
            assert_int_equal(pgcn_i_id_map_add(&map, id, &number), PGCN_OK);
            assert_int_equal(number, i);
            assert_string_equal(pgcn_i_id_map_text(&map, i), id);
        }
    assert_int_equal(map.count, 100000);
    assert_int_equal(pgcn_i_id_map_find(&map, "7"), 1);
    assert_int_equal(pgcn_i_id_map_find(&map, "8"), -1);
    assert_int_equal(pgcn_i_id_map_find(&map, ""), -1);
    pgcn_i_id_map_free(&map);
}

/* ---- as a data set ----------------------------------------------------------------------------- */

static char dataset_path[4][1024];

static pgcn_status load_own(pgcn_dataset **out) {
    pgcn_dataset_files files = pgcn_dataset_files_default();
    files.edges = dataset_path[0];
    files.features = dataset_path[1];
    files.labels = dataset_path[2];
    files.splits = dataset_path[3];
    return pgcn_dataset_from_files(&files, out);
}

static pgcn_status load_and_free_own(void) {
    pgcn_dataset *data;
    PGCN_TRY(load_own(&data));
    pgcn_dataset_free(data);
    return PGCN_OK;
}

static void write_dataset(void) {
    static const char *content[4] = {
        "source,target,weight\nx,y,1\ny,z,2\nz,w,1\nw,v,1\n",
        "id,a,b\nz,1,2\ny,3,4\nx,5,6\nw,7,8\nv,9,0\n",
        "id,label\nx,red\ny,blue\nz,red\nw,blue\nv,?\n",
        "x,train\ny,train\nz,val\nw,test\n",
    };
    static const char *name[4] = {"e.csv", "x.csv", "y.csv", "s.csv"};
    for (int i = 0; i < 4; i++)
        strcpy(dataset_path[i], scratch_write(name[i], content[i], strlen(content[i])));
}

static void test_own_files_make_a_data_set_with_the_ids_of_the_user(void **state) {
    (void)state;
    pgcn_dataset *data;
    write_dataset();
    if (load_own(&data) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    pgcn_dataset_info info = pgcn_dataset_describe(data);
    assert_int_equal(info.nodes, 5);
    assert_int_equal(info.edges, 4);
    assert_int_equal(info.features, 2);
    assert_int_equal(info.classes, 2);
    assert_int_equal(info.unlabelled, 1);
    assert_true(info.weighted);
    assert_string_equal(pgcn_dataset_node_id(data, 0), "z");
    assert_string_equal(pgcn_dataset_node_id(data, 3), "w");
    pgcn_dataset_free(data);
}

/* Files whose headers are told by what occurs again, with a node that has no features. */
static pgcn_status read_doubtful(void) {
    pgcn_i_own_files files = {.edges = dataset_path[0],
                              .features = dataset_path[1],
                              .labels = dataset_path[2],
                              .unknown_ids = PGCN_UNKNOWN_KEEP};
    pgcn_i_source found = {0};
    pgcn_status status = pgcn_i_own_files_read(&files, &found);
    pgcn_i_source_free(&found);
    return status;
}

static void test_own_doubtful_files_every_failing_allocation_is_reported(void **state) {
    (void)state;
    static const char *content[3] = {"caller,callee\nx,y\ny,z\nz,w\n", "x,1\ny,2\nz,3\n",
                                     "customer,status\nx,red\ny,blue\nz,red\nw,blue\n"};
    static const char *name[3] = {"e.csv", "x.csv", "y.csv"};
    for (int i = 0; i < 3; i++)
        strcpy(dataset_path[i], scratch_write(name[i], content[i], strlen(content[i])));
    assert_true(fail_every_allocation(read_doubtful) > 30);
}

static void test_own_files_every_failing_allocation_is_reported(void **state) {
    (void)state;
    write_dataset();
    assert_true(fail_every_allocation(load_and_free_own) > 50);
    const char *many = "id,a,b\nx,1,0\ny,0,1\nz,1,1\nw,0,0\nv,,\n";
    strcpy(dataset_path[2], scratch_write("y.csv", many, strlen(many)));
    assert_true(fail_every_allocation(load_and_free_own) > 50);
}

/* ---- what a reader cannot know, said where the file and the line are known ---------------------- */

static void test_own_class_that_is_not_utf8_is_refused_with_its_line(void **state) {
    (void)state;
    must_fail("a,b\nb,c\n", NULL,
              "id,class\na,Nord\nb,S\xfc"
              "d\n",
              NULL, "y.csv': line 3");
    assert_error_says("is not UTF-8 text; save the file as UTF-8");
    must_fail("a,b\nb,c\n", NULL,
              "id,Nord,S\xfc"
              "d\na,0,1\nb,1,0\n",
              NULL, "y.csv");
    assert_error_says("save the file as UTF-8");
    must_read("a,b\nb,c\n", NULL,
              "id,class\na,Nord\nb,S\xc3\xbc"
              "d\n",
              NULL);
}

static void test_own_ids_and_columns_that_are_not_utf8_are_told(void **state) {
    (void)state;
    must_read("M\xfcller,b\nb,M\xfcller\n", NULL, "M\xfcller,x\nb,y\n", NULL);
    assert_note("are not UTF-8 text");
    assert_note("save your files as UTF-8");
    must_read("a,b\n", "id,Gr\xf6sse,n\na,1,2\nb,2,1\n", NULL, NULL);
    assert_note("x.csv is not UTF-8 text");
    must_read("M\xc3\xbcller,b\nb,c\n", "id,Gr\xc3\xb6sse\nb,1\nc,2\nM\xc3\xbcller,1\n", NULL,
              NULL);
    for (int i = 0; i < source.notes; i++) assert_null(strstr(source.note[i], "UTF-8"));
}

static void test_own_weight_not_above_0_is_refused_with_line_and_ids(void **state) {
    (void)state;
    must_fail("from,to,weight\np1,p2,1\n\np2,p3,0\n", NULL, NULL, NULL, "e.csv': line 4");
    assert_error_says("the edge from 'p2' to 'p3' has the weight 0");
    assert_error_says("leave edges of weight 0 out");
    must_fail("p1,p2,1\np2,p3,-0.02\n", NULL, NULL, NULL, "e.csv': line 2");
    assert_error_says("the edge from 'p2' to 'p3' has the weight -0.02");
    assert_null(strstr(pgcn_last_error(), "weight 0 out"));
    must_fail("0,1,1\n1,2,1e-60\n", NULL, NULL, NULL, "has the weight 1e-60"); /* 0 as a float */
}

static void test_own_decimal_commas_are_named(void **state) {
    (void)state;
    own.encode = PGCN_ENCODE_NO;
    own.decimal = PGCN_DECIMAL_POINT;
    must_fail("a;b\n", "id;v;w\na;1;2\nb;1,837;2\n", NULL, NULL, "found '1,837'");
    assert_error_says("(feature 'v')");
    assert_error_says("write decimals with a point: 1.837");
    assert_null(strstr(pgcn_last_error(), "category"));
    must_fail("a,b\n", "id,v,w\na,1,2\nb,2,\"-1,5e3\"\n", NULL, NULL, "found '\"-1,5e3\"'");
    assert_error_says("write decimals with a point: -1.5e3");
    must_fail("a;b;1,5\n", NULL, NULL, NULL, "write decimals with a point: 1.5");
    must_fail("a;b\n", "id;v\na;1\nb;1,837,2\n", NULL, NULL, "category"); /* no decimal */
    must_fail("a,b\n", "id,v\na,1\nb,\"red, green\"\n", NULL, NULL, "found '\"red, green\"'");
    assert_error_says("category");
}

static void test_own_split_without_a_part_names_its_file(void **state) {
    (void)state;
    char path[3][1024];
    const char *edges = "a,b\nb,c\nc,d\n", *labels = "a,x\nb,y\nc,x\nd,y\n";
    const char *splits = "a,train\nb,train\nc,val\n";
    strcpy(path[0], scratch_write("e.csv", edges, strlen(edges)));
    strcpy(path[1], scratch_write("y.csv", labels, strlen(labels)));
    strcpy(path[2], scratch_write("s.csv", splits, strlen(splits)));
    pgcn_dataset_files files = pgcn_dataset_files_default();
    files.edges = path[0];
    files.labels = path[1];
    files.splits = path[2];
    pgcn_dataset *data;
    assert_int_equal(pgcn_dataset_from_files(&files, &data), PGCN_ERR_FORMAT);
    assert_error_says("s.csv: split '0' has no test node");
    assert_error_says("or leave --splits out");
    files.steps = "random=50/25/25"; /* these are no longer the splits of the file */
    if (pgcn_dataset_from_files(&files, &data) != PGCN_OK) fail_msg("%s", pgcn_last_error());
    pgcn_dataset_free(data);
}

static void test_own_nodes_of_a_split_without_a_label_are_told(void **state) {
    (void)state;
    const char *edges = "a,b\nb,c\nc,d\nd,e\n", *labels = "a,x\nb,y\nc,x\n";
    must_read(edges, NULL, labels, "a,train\nb,val\nc,test\nd,train\ne,test\n");
    assert_note("2 nodes of s.csv have no label and are left out of its splits: 'd', 'e'");
    must_read(edges, NULL, labels, "a,train\nb,val\nc,test\nd,-\n");
    for (int i = 0; i < source.notes; i++) assert_null(strstr(source.note[i], "left out"));
}

static void test_own_header_that_was_given_is_not_advised(void **state) {
    (void)state;
    must_read("a,b\nb,c\n", NULL, NULL, NULL);
    assert_note("--header yes or no decides otherwise");
    for (int role = 0; role < PGCN_I_ROLES; role++) own.header[role] = PGCN_HEADER_NO;
    must_read("a,b\nb,c\n", NULL, NULL, NULL);
    assert_note("as --header says");
    for (int i = 0; i < source.notes; i++) assert_null(strstr(source.note[i], "decides otherwise"));
}

static void test_own_feature_columns_of_one_name_are_told(void **state) {
    (void)state;
    must_read("a,b\n", "id,v,w,v\na,1,2,3\nb,2,1,3\n", NULL, NULL);
    assert_note("two columns of x.csv are called 'v'");
    must_read("a,b\n", "id,v,w,V\na,1,2,3\nb,2,1,3\n", NULL, NULL);
    for (int i = 0; i < source.notes; i++) assert_null(strstr(source.note[i], "are called"));
}

static void test_own_single_class_is_told(void **state) {
    (void)state;
    must_read("a,b\nb,c\n", NULL, "id,class\na,Nord\nb,Nord\nc,\n", NULL);
    assert_note("all labels of y.csv are 'Nord'");
    must_read("a,b\nb,c\n", NULL, "a,7\nb,7\nc,7\n", NULL);
    assert_note("all labels of y.csv are '7'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_own_counted_ids_need_no_names),
        TEST(test_own_integer_ids_with_gaps_are_sorted_and_kept),
        TEST(test_own_text_ids_are_in_order_of_appearance),
        TEST(test_own_nodes_of_one_file_only_are_nodes),
        TEST(test_own_nodes_without_features_are_marked_where_they_come_to_lie),
        TEST(test_own_same_number_in_two_texts_is_refused),
        TEST(test_own_features_shuffled_in_the_file_reach_their_nodes),
        TEST(test_own_header_of_one_file_leaves_the_others_to_the_rules),
        TEST(test_own_classes_that_differ_in_case_only_are_told),
        TEST(test_own_cells_in_quotes_may_hold_line_ends),
        TEST(test_own_lines_after_such_a_cell_keep_their_numbers),
        TEST(test_own_quote_that_is_never_closed_is_told_where_it_opens),
        TEST(test_own_files_of_any_layout_are_the_same_graph),
        TEST(test_own_quoted_ids_may_hold_delimiters_and_quotes),
        TEST(test_own_headers_are_told_from_data),
        TEST(test_own_edge_header_without_known_words_is_no_pair_of_nodes),
        TEST(test_own_first_edge_is_data_if_an_id_occurs_again),
        TEST(test_own_first_edge_like_all_others_is_data),
        TEST(test_own_first_edge_is_looked_for_in_all_of_a_long_file),
        TEST(test_own_label_header_without_known_words_is_no_node_and_no_class),
        TEST(test_own_first_label_is_data_if_its_id_or_class_occurs_again),
        TEST(test_own_feature_header_of_counted_columns_is_told_from_numbers),
        TEST(test_own_header_is_what_the_user_says),
        TEST(test_own_compressed_files_are_the_same),
        TEST(test_own_weights_are_read),
        TEST(test_own_bad_edges_are_refused),
        TEST(test_own_bad_features_are_refused_with_line_column_and_name),
        TEST(test_own_ids_that_do_not_match_are_refused),
        TEST(test_own_more_than_a_tenth_of_unknown_ids_is_refused),
        TEST(test_own_unknown_ids_that_are_not_utf8_are_told_as_the_reason),
        TEST(test_own_labels_that_are_numbers_to_predict_are_told),
        TEST(test_own_npy_features_belong_to_counted_nodes),
        TEST(test_own_labels_are_sorted_as_numbers_or_as_text),
        TEST(test_own_missing_labels_are_not_known),
        TEST(test_own_several_label_columns_are_yes_or_no),
        TEST(test_own_label_twice_is_refused_with_both_lines),
        TEST(test_own_splits_are_the_columns_of_their_file),
        TEST(test_own_bad_splits_are_refused),
        TEST(test_id_map_numbers_are_those_of_first_appearance),
        TEST(test_own_files_make_a_data_set_with_the_ids_of_the_user),
        TEST(test_own_files_every_failing_allocation_is_reported),
        TEST(test_own_doubtful_files_every_failing_allocation_is_reported),
        TEST(test_own_class_that_is_not_utf8_is_refused_with_its_line),
        TEST(test_own_ids_and_columns_that_are_not_utf8_are_told),
        TEST(test_own_weight_not_above_0_is_refused_with_line_and_ids),
        TEST(test_own_decimal_commas_are_named),
        TEST(test_own_split_without_a_part_names_its_file),
        TEST(test_own_nodes_of_a_split_without_a_label_are_told),
        TEST(test_own_header_that_was_given_is_not_advised),
        TEST(test_own_feature_columns_of_one_name_are_told),
        TEST(test_own_single_class_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
