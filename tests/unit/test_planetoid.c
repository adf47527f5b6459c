/* planetoid.c: the published pickles give the prepared arrays, entry by entry; a small set of our
 * own is read as it was meant, and refused in all the ways in which it can be broken. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "undirected_help.h"

static pgcn_i_source source;

static int begin(void **state) {
    return scratch_make(state);
}
static int end(void **state) {
    pgcn_i_source_free(&source);
    return scratch_remove(state);
}

/* ---- a small set of our own ------------------------------------------------------------------ */

/* 6 nodes, 3 columns, 2 classes: allx has nodes 0..2, tx nodes 5 and 3; node 4 is in neither, as
 * the 15 of citeseer. Training: node 0. */
typedef struct bytes {
    unsigned char data[2048];
    size_t count;
} bytes;

static void add(bytes *b, const void *data, size_t count) {
    assert_true(b->count + count <= sizeof b->data);
    memcpy(b->data + b->count, data, count);
    b->count += count;
}
static void add_text(bytes *b, const char *text) {
    add(b, text, strlen(text));
}
static void add_small(bytes *b, int number) {
    unsigned char code[2] = {'K', (unsigned char)number};
    add(b, code, 2);
}
static void add_key(bytes *b, const char *key) {
    unsigned char code[2] = {'U', (unsigned char)strlen(key)};
    add(b, code, 2);
    add_text(b, key);
}

/* A NumPy array as Python 2 pickled it. columns 0: one dimension. */
static void add_array(bytes *b, const char *type, int rows, int columns, const void *data,
                      size_t data_bytes) {
    add_text(b, "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n");
    add_small(b, 0);
    add_text(b, "\205");
    add_key(b, "b");
    add_text(b, "tR(");
    add_small(b, 1);
    add_small(b, rows);
    if (columns > 0) add_small(b, columns);
    add_text(b, columns > 0 ? "\206" : "\205");
    add_text(b, "cnumpy\ndtype\n");
    add_key(b, type);
    add_small(b, 0);
    add_small(b, 1);
    add_text(b, "\207R(");
    add_small(b, 3);
    add_key(b, "<");
    add_text(b, "NNNtb\211");
    unsigned char length[2] = {'U', (unsigned char)data_bytes};
    add(b, length, 2);
    add(b, data, data_bytes);
    add_text(b, "tb");
}

static void add_csr(bytes *b, int rows, int columns, const int32_t *offset, int offsets,
                    const int32_t *column, int entries, const float *value) {
    add_text(b, "cscipy.sparse.csr\ncsr_matrix\n)\201}(");
    add_key(b, "_shape");
    add_small(b, rows);
    add_small(b, columns);
    add_text(b, "\206");
    add_key(b, "indptr");
    add_array(b, "i4", offsets, 0, offset, (size_t)offsets * 4);
    add_key(b, "indices");
    add_array(b, "i4", entries, 0, column, (size_t)entries * 4);
    add_key(b, "data");
    add_array(b, "f4", entries, 0, value, (size_t)entries * 4);
    add_text(b, "ub");
}

static void save(const char *file, bytes *b) {
    add_text(b, ".");
    scratch_write(file, b->data, b->count);
}

static void write_raw(const char *file, const char *text) {
    bytes b = {{0}, 0};
    add_text(&b, text);
    save(file, &b);
}

static void write_csr(const char *file, int rows, int columns, const int32_t *offset, int offsets,
                      const int32_t *column, int entries, const float *value) {
    bytes b = {{0}, 0};
    add_csr(&b, rows, columns, offset, offsets, column, entries, value);
    save(file, &b);
}

static void write_classes(const char *file, int rows, int columns, const int32_t *entry) {
    bytes b = {{0}, 0};
    add_array(&b, "i4", rows, columns, entry, (size_t)(rows * columns) * 4);
    save(file, &b);
}

/* Lists of neighbours end with -1. */
static void write_graph(const char *file, const int lists[][5], int nodes) {
    bytes b = {{0}, 0};
    add_text(&b, "ccollections\ndefaultdict\nc__builtin__\nlist\n\205R(");
    for (int i = 0; i < nodes; i++) {
        add_small(&b, i);
        add_text(&b, "](");
        for (int k = 0; lists[i][k] >= 0; k++) add_small(&b, lists[i][k]);
        add_text(&b, "e");
    }
    add_text(&b, "u");
    save(file, &b);
}

static const int32_t all_offset[] = {0, 2, 2, 3}, all_column[] = {2, 0, 1};
static const float all_value[] = {0.5f, 1, 2};
static const int32_t test_offset[] = {0, 1, 3}, test_column[] = {2, 0, 1};
static const float test_value[] = {3, 4, 5};
static const int32_t classes_all[] = {1, 0, 0, 1, 0, 0}, classes_test[] = {0, 1, 1, 0};
static const int lists[][5] = {{1, 2, 2, -1}, {0, -1}, {0, 0, 2, -1}, {5, -1}, {-1}, {3, -1}};

static void write_small_set(void) {
    write_csr("ind.small.allx", 3, 3, all_offset, 4, all_column, 3, all_value);
    write_csr("ind.small.tx", 2, 3, test_offset, 3, test_column, 3, test_value);
    write_classes("ind.small.ally", 3, 2, classes_all);
    write_classes("ind.small.ty", 2, 2, classes_test);
    write_classes("ind.small.y", 1, 2, classes_all);
    write_graph("ind.small.graph", lists, 6);
    scratch_write("ind.small.test.index", "5\n3\n", 4);
}

static pgcn_status try_read(const char *path) {
    pgcn_i_steps steps = {0};
    pgcn_i_source_free(&source);
    return pgcn_i_planetoid_read(path, &steps, &source);
}

static void read_set(const char *path) {
    if (try_read(path) != PGCN_OK) fail_msg("%s", pgcn_last_error());
}

static void assert_read_fails(pgcn_status status, const char *says) {
    assert_int_equal(try_read(scratch), status);
    assert_error_says(says);
    assert_error_says(scratch);
}

static void test_planetoid_small_set_is_put_in_order(void **state) {
    (void)state;
    write_small_set();
    assert_true(pgcn_i_planetoid_detect(scratch));
    read_set(scratch);
    assert_int_equal(source.nodes, 6);
    assert_int_equal(source.classes, 2);
    static const int32_t label[] = {0, 1, -1, 0, -1, 1};
    assert_memory_equal(source.label, label, sizeof label);
    static const int64_t offset[] = {0, 2, 2, 3, 5, 5, 6};
    static const int32_t column[] = {0, 2, 1, 0, 1, 2}; /* row 0 was not sorted */
    static const float value[] = {1, 0.5f, 2, 4, 5, 3};
    assert_int_equal(source.x.columns, 3);
    assert_int_equal(source.x.nonzeros, 6);
    assert_memory_equal(source.x.offset, offset, sizeof offset);
    assert_memory_equal(source.x.column, column, sizeof column);
    assert_memory_equal(source.x.value, value, sizeof value);
    static const pgcn_node from[] = {0, 0, 0, 1, 2, 2, 2, 3, 5}, to[] = {1, 2, 2, 0, 0, 0, 2, 5, 3};
    assert_int_equal(source.edges, 9);
    assert_memory_equal(source.edge_from, from, sizeof from);
    assert_memory_equal(source.edge_to, to, sizeof to);
    assert_false(source.directed);
    assert_int_equal(source.splits, 1);
    assert_string_equal(source.split[0].name, "public");
    static const uint8_t train[] = {1, 0, 0, 0, 0, 0}, val[] = {0, 1, 0, 0, 0, 0},
                         test[] = {0, 0, 0, 1, 0, 1}; /* node 2 has no label */
    assert_memory_equal(source.split[0].train, train, 6);
    assert_memory_equal(source.split[0].val, val, 6);
    assert_memory_equal(source.split[0].test, test, 6);
    assert_true(has_note(&source, "1 of the nodes from 3 on are not in ind.small.test.index"));
}

static void test_planetoid_one_of_several_sets_is_named_by_a_file(void **state) {
    (void)state;
    write_small_set();
    read_set(scratch_path("ind.small.x")); /* the name counts; x itself is not needed */
    assert_int_equal(source.nodes, 6);
    write_graph("ind.other.graph", lists, 6);
    assert_read_fails(PGCN_ERR_ARGUMENT, "2 data sets");
    assert_error_says("ind.other.graph");
    assert_true(pgcn_i_planetoid_detect(scratch_path("ind.small.graph")));
    read_set(scratch_path("ind.small.graph"));
    assert_int_equal(source.nodes, 6);
    assert_int_equal(try_read(scratch_path("ind.other.graph")), PGCN_ERR_IO);
    assert_error_says("ind.other.allx");
}

static void test_planetoid_other_files_are_not_taken_for_it(void **state) {
    (void)state;
    scratch_write("ind.graph", "x", 1);
    scratch_write("index.html", "x", 1);
    scratch_write("ind.small.zip", "x", 1);
    assert_false(pgcn_i_planetoid_detect(scratch));
    assert_false(pgcn_i_planetoid_detect(scratch_path("ind.graph")));
    assert_false(pgcn_i_planetoid_detect(scratch_path("ind.small.zip")));
    assert_false(pgcn_i_planetoid_detect(scratch_path("ind.none.graph"))); /* does not exist */
    assert_int_equal(try_read(scratch), PGCN_ERR_FORMAT);
}

/* ---- broken sets ----------------------------------------------------------------------------- */

static void test_planetoid_missing_files_are_named(void **state) {
    (void)state;
    static const char *const files[] = {"allx", "tx", "ally", "ty", "y", "test.index"};
    for (int i = 0; i < 6; i++) {
        char file[64];
        write_small_set();
        snprintf(file, sizeof file, "ind.small.%s", files[i]);
        assert_int_equal(remove(scratch_path(file)), 0);
        assert_read_fails(PGCN_ERR_IO, file);
    }
}

static void test_planetoid_wrong_test_ids_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
        pgcn_status status;
    } cases[] = {
        {"5\n2\n", "line 2: found node 2, expected 3 to 5", PGCN_ERR_FORMAT},
        {"6\n3\n", "line 1: found node 6, expected 3 to 5", PGCN_ERR_FORMAT},
        {"2147483647\n3\n", "line 1: found node 2147483647", PGCN_ERR_FORMAT},
        {"-1\n3\n", "line 1: found node -1", PGCN_ERR_FORMAT},
        {"3\n3\n", "line 2: node 3 occurs twice", PGCN_ERR_FORMAT},
        {"3\nx\n", "line 2: found 'x', expected a whole number", PGCN_ERR_FORMAT},
        {"3\n4 5\n", "line 2: found '5' after 1 number", PGCN_ERR_FORMAT},
        {"3\n\n4\n", "line 3: found more numbers after an empty line", PGCN_ERR_FORMAT},
        {"3\n99999999999999999999\n", "line 2: found '99999999999999999999'", PGCN_ERR_FORMAT},
        {"3\n4\n5\n", "test.index has 3 rows and ind.small.tx has 2", PGCN_ERR_MISMATCH},
        {"", "test.index has 0 rows and ind.small.tx has 2", PGCN_ERR_MISMATCH},
    };
    write_small_set();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        scratch_write("ind.small.test.index", cases[i].text, strlen(cases[i].text));
        assert_read_fails(cases[i].status, cases[i].says);
    }
}

static void test_planetoid_wrong_matrices_are_refused(void **state) {
    (void)state;
    static const int32_t falling[] = {0, 2, 1, 3}, beyond[] = {0, 2, 2, 4}, late[] = {1, 2, 2, 3};
    static const int32_t negative[] = {0, -1, 2, 3}, wide[] = {2, 0, 3}, below[] = {2, 0, -1};
    static const int32_t twice[] = {2, 2, 1};
    static const struct {
        int rows, columns;
        const int32_t *offset;
        int offsets;
        const int32_t *column;
        const char *says;
        pgcn_status status;
    } cases[] = {
        {3, 3, falling, 4, all_column, "rows that overlap", PGCN_ERR_FORMAT},
        {3, 3, beyond, 4, all_column, "beyond its entries", PGCN_ERR_FORMAT},
        {3, 3, late, 4, all_column, "begin its rows at entry 0", PGCN_ERR_FORMAT},
        {3, 3, negative, 4, all_column, "rows that overlap", PGCN_ERR_FORMAT},
        {3, 3, all_offset, 4, wide, "column out of range", PGCN_ERR_FORMAT},
        {3, 3, all_offset, 4, below, "column out of range", PGCN_ERR_FORMAT},
        {3, 3, all_offset, 4, twice, "row 0 has column 2 twice", PGCN_ERR_FORMAT},
        {4, 3, all_offset, 4, all_column, "indptr that does not fit", PGCN_ERR_FORMAT},
        {2, 3, all_offset, 4, all_column, "indptr that does not fit", PGCN_ERR_FORMAT},
        {3, 4, all_offset, 4, all_column, "allx has 4 columns and ind.small.tx has 3",
         PGCN_ERR_MISMATCH},
        {2, 3, all_offset, 3, all_column, "allx has 2 rows and ind.small.ally has 3",
         PGCN_ERR_MISMATCH},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_small_set();
        write_csr("ind.small.allx", cases[i].rows, cases[i].columns, cases[i].offset,
                  cases[i].offsets, cases[i].column, 3, all_value);
        assert_read_fails(cases[i].status, cases[i].says);
    }
    write_raw("ind.small.allx", "cscipy.sparse.csr\ncsr_matrix\n)\201");
    assert_read_fails(PGCN_ERR_FORMAT, "lacks one of _shape, indptr, indices and data");
    write_raw("ind.small.allx", "K\1");
    assert_read_fails(PGCN_ERR_FORMAT, "holds a whole number, expected a scipy CSR matrix");
    write_raw("ind.small.allx", "cos\nsystem\n");
    assert_read_fails(PGCN_ERR_FORMAT, "asks for os.system");
}

static void test_planetoid_wrong_classes_are_refused(void **state) {
    (void)state;
    static const int32_t two[] = {1, 0, 1, 1, 0, 0}, large[] = {1, 0, 0, 2, 0, 0};
    write_small_set();
    write_classes("ind.small.ally", 3, 2, two);
    assert_read_fails(PGCN_ERR_FORMAT, "ind.small.ally': row 1 has something else");
    write_classes("ind.small.ally", 3, 2, large);
    assert_read_fails(PGCN_ERR_FORMAT, "row 1 has something else");
    write_classes("ind.small.ally", 2, 3, two);
    assert_read_fails(PGCN_ERR_MISMATCH, "ind.small.ally has 2");
    write_small_set();
    write_classes("ind.small.ty", 1, 4, classes_test);
    assert_read_fails(PGCN_ERR_MISMATCH, "ind.small.ty has 1");
    write_classes("ind.small.ty", 2, 1, classes_test);
    assert_read_fails(PGCN_ERR_MISMATCH, "ally has 2 classes and ind.small.ty has 1");
    write_classes("ind.small.ty", 4, 0, classes_test); /* one dimension */
    assert_read_fails(PGCN_ERR_FORMAT, "ind.small.ty");
    write_small_set();
    write_classes("ind.small.y", 4, 1, classes_all);
    assert_read_fails(PGCN_ERR_MISMATCH, "y has 4 rows");
}

static void test_planetoid_wrong_graphs_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"]", "holds a list, expected a dict of lists"},
        {"}K\6]s", "found a whole number 6, expected a node, 0 to 4"},
        {"}J\377\377\377\377]s", "found a whole number -1"},
        {"}U\1a]s", "byte 1: found a text"},
        {"}(K\1]K\1]u", "node 1 has a second list"},
        {"}K\1)s", "node 1 has a tuple, expected one list"},
        {"}K\1](K\5es", "found a whole number 5"},
        {"}K\1](Nes", "found None, expected a node"},
        {"}K\1](](K\2ees", "found a list, expected a node"},
    };
    write_small_set();
    scratch_write("ind.small.test.index", "4\n3\n", 4); /* 5 nodes: the graph has few keys */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_raw("ind.small.graph", cases[i].text);
        assert_read_fails(PGCN_ERR_FORMAT, cases[i].says);
    }
    /* one list of 40 neighbours under 5 keys: 200 edges from 120 bytes */
    bytes b = {{0}, 0};
    add_text(&b, "}](");
    for (int i = 0; i < 40; i++) add_text(&b, "K\1");
    add_text(&b, "eq\1"
                 "0(");
    for (int i = 0; i < 5; i++) {
        add_small(&b, i);
        add_text(&b, "h\1");
    }
    add_text(&b, "u");
    save("ind.small.graph", &b);
    assert_read_fails(PGCN_ERR_FORMAT, "same lists for many nodes");
}

static pgcn_status read_and_free(void) {
    pgcn_i_source own = {0};
    pgcn_i_steps steps = {0};
    pgcn_status status = pgcn_i_planetoid_read(scratch, &steps, &own);
    pgcn_i_source_free(&own);
    return status;
}

static void test_planetoid_every_failing_allocation_is_told(void **state) {
    (void)state;
    write_small_set();
    assert_true(fail_every_allocation(read_and_free) > 20);
}

/* ---- the published files --------------------------------------------------------------------- */

static void assert_published(const char *name) {
    char path[PGCN_I_PATH_BYTES];
    snprintf(path, sizeof path, "%s/raw/%s", published_data(), name);
    assert_true(pgcn_i_planetoid_detect(path));
    read_set(path);
    assert_prepared_features(name, &source);
    assert_prepared_undirected(name, &source);
    pgcn_i_arena arena = {0};
    pgcn_i_array label = prepared(name, "y", &arena), none = prepared(name, "unlabelled", &arena);
    int64_t unlabelled = 0;
    assert_int_equal(label.count, source.nodes);
    for (int64_t i = 0; i < source.nodes; i++) {
        bool missing = unlabelled < none.count && ((int32_t *)none.data)[unlabelled] == i;
        assert_int_equal(source.label[i], missing ? -1 : ((int32_t *)label.data)[i]);
        unlabelled += missing;
    }
    assert_int_equal(unlabelled, none.count < 0 ? 0 : none.count);
    static const char *const masks[] = {"train_mask", "val_mask", "test_mask"};
    const uint8_t *found[] = {source.split[0].train, source.split[0].val, source.split[0].test};
    assert_string_equal(source.split[0].name, "public");
    for (int k = 0; k < 3; k++) {
        pgcn_i_array mask = prepared(name, masks[k], &arena);
        assert_int_equal(mask.count, source.nodes);
        assert_memory_equal(found[k], mask.data, (size_t)source.nodes);
    }
    pgcn_i_arena_free(&arena);
}

static void test_planetoid_published_cora_equals_the_prepared_arrays(void **state) {
    (void)state;
    assert_published("cora");
    assert_prepared_splits("cora", &source);
}
static void test_planetoid_published_citeseer_equals_the_prepared_arrays(void **state) {
    (void)state;
    assert_published("citeseer");
    assert_true(has_note(&source, "15 of the nodes from 2312 on"));
}
static void test_planetoid_published_pubmed_equals_the_prepared_arrays(void **state) {
    (void)state;
    assert_published("pubmed");
    assert_prepared_splits("pubmed", &source);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_planetoid_small_set_is_put_in_order),
        TEST(test_planetoid_one_of_several_sets_is_named_by_a_file),
        TEST(test_planetoid_other_files_are_not_taken_for_it),
        TEST(test_planetoid_missing_files_are_named),
        TEST(test_planetoid_wrong_test_ids_are_refused),
        TEST(test_planetoid_wrong_matrices_are_refused),
        TEST(test_planetoid_wrong_classes_are_refused),
        TEST(test_planetoid_wrong_graphs_are_refused),
        TEST(test_planetoid_every_failing_allocation_is_told),
        TEST(test_planetoid_published_cora_equals_the_prepared_arrays),
        TEST(test_planetoid_published_citeseer_equals_the_prepared_arrays),
        TEST(test_planetoid_published_pubmed_equals_the_prepared_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
