/* container.c: every kind of data set comes back as it was, the same data gives the same bytes, and
 * a damaged or hostile file is refused without touching memory it does not own. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "bytes_help.h"
#include "every_kind_help.h"

#include <math.h>

enum { HEADER = 64, ENTRY = 80 };

static void save(const pgcn_dataset *data, const char *path) {
    if (pgcn_dataset_save(data, path) != PGCN_OK) fail_msg("%s", pgcn_last_error());
}

static void test_container_every_kind_comes_back(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        pgcn_dataset *data = every_kind(kind);
        const char *path = scratch_path("a.pgcn");
        save(data, path);
        assert_true(pgcn_i_container_detect(path));
        pgcn_dataset *back = load(path, NULL);
        if (kind == KIND_NAMED) { /* JSON cannot hold the byte that is no UTF-8 */
            assert_string_equal(back->name, "names, weights and self-loops ?");
            back->name[strlen(back->name) - 1] = '\xff';
        }
        assert_same_dataset(data, back);
        assert_int_equal(data->from.notes, back->from.notes);
        for (int i = 0; i < data->from.notes; i++)
            assert_string_equal(data->from.note[i], back->from.note[i]);
        assert_int_equal(pgcn_dataset_verify(back), PGCN_OK);
        pgcn_dataset_free(back);
        pgcn_dataset_free(data);
    }
}

/* The arrays are not copied: they lie in the mapping. */
static void test_container_arrays_point_into_the_file(void **state) {
    (void)state;
    pgcn_dataset *data = every_kind(KIND_NAMED);
    save(data, scratch_path("a.pgcn"));
    pgcn_dataset_free(data);
    pgcn_dataset *back = load(scratch_path("a.pgcn"), NULL);
    const char *begin = back->from.mapping, *end = begin + back->from.mapping_bytes;
    const void *arrays[] = {back->graph->offset,
                            back->graph->neighbour,
                            back->graph->weight,
                            back->x.offset,
                            back->x.column,
                            back->x.value,
                            back->label,
                            back->split[0].train,
                            back->split[1].test,
                            back->from.node_id.offset,
                            back->from.node_id.text,
                            back->from.class_name.text,
                            back->from.feature_name.text};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        assert_true((const char *)arrays[i] >= begin && (const char *)arrays[i] < end);
    assert_string_equal(pgcn_dataset_describe(back).format, "container of pathgcn, made from test");
    pgcn_dataset_free(back);
}

static void test_container_same_data_gives_the_same_bytes(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        pgcn_dataset *data = every_kind(kind);
        save(data, scratch_path("a.pgcn"));
        save(data, scratch_path("b.pgcn"));
        pgcn_dataset_free(data);
        assert_same_bytes(scratch_path("a.pgcn"), scratch_path("b.pgcn"));
        data = load(scratch_path("a.pgcn"), NULL);
        save(data, scratch_path("b.pgcn")); /* what was loaded, saved again */
        assert_same_bytes(scratch_path("a.pgcn"), scratch_path("b.pgcn"));
        save(data, scratch_path("a.pgcn")); /* over the file that is mapped */
        assert_same_bytes(scratch_path("a.pgcn"), scratch_path("b.pgcn"));
        pgcn_dataset_free(data);
    }
    assert_int_equal(scratch_count(), 2);
}

static void test_container_of_version_1_stays_readable(void **state) {
    (void)state;
    const char *source = getenv("PATHGCN_SOURCE");
    char path[PGCN_I_PATH_BYTES];
    if (!source) {
        print_message("SKIPPED: PATHGCN_SOURCE is not set (ctest sets it)\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/tests/data/karate_v1.pgcn", source);
    pgcn_dataset *old = load(path, NULL), *data = load("karate", NULL);
    assert_same_dataset(data, old);
    assert_int_equal(pgcn_dataset_verify(old), PGCN_OK);
    pgcn_dataset_free(old);
    pgcn_dataset_free(data);
}

static pgcn_status load_bytes(const void *bytes, size_t count, pgcn_dataset **out);

/* ---- narrow features -------------------------------------------------------------------------- */

static const char *const narrow_names[] = {"float16", "bf16", "int8"};
enum { NARROW = 3 };

static void save_narrow(const pgcn_dataset *data, const char *path, const char *store) {
    pgcn_save_opts opts = pgcn_save_opts_default();
    opts.store = store;
    if (pgcn_dataset_save_as(data, path, &opts) != PGCN_OK) fail_msg("%s", pgcn_last_error());
}

static const float *values_of(const pgcn_dataset *data, int64_t *count) {
    *count = data->x.offset ? data->x.nonzeros : data->x.n * data->x.columns;
    return data->x.offset ? data->x.value : data->x.dense;
}

/* Everything but the features is as it was, features are near, and the fingerprint is that of what came
 * back: saved again as float32 it is the same data. */
static void test_container_narrow_features_come_back_rounded(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int t = 0; t < NARROW; t++) {
            pgcn_dataset *data = every_kind(kind);
            save_narrow(data, scratch_path("a.pgcn"), narrow_names[t]);
            pgcn_dataset *back = load(scratch_path("a.pgcn"), NULL);
            assert_string_equal(pgcn_dataset_store(back), narrow_names[t]);
            assert_string_equal(pgcn_dataset_store(data), "float32");
            assert_int_equal(pgcn_dataset_verify(back), PGCN_OK);
            int64_t count, found;
            const float *was = values_of(data, &count), *is = values_of(back, &found);
            float largest = 0;
            for (int64_t i = 0; i < count; i++) largest = fmaxf(largest, fabsf(was[i]));
            assert_int_equal(found, count);
            for (int64_t i = 0; i < count; i++)
                assert_true(fabsf(was[i] - is[i]) <=
                            (t == 2 ? largest / 253 : fabsf(was[i]) * 0x1p-8f + 0x1p-25f));
            save(back, scratch_path("b.pgcn"));
            pgcn_dataset *again = load(scratch_path("b.pgcn"), NULL);
            assert_string_equal(again->fingerprint, back->fingerprint);
            assert_int_equal(pgcn_dataset_verify(again), PGCN_OK);
            pgcn_dataset_free(again);
            pgcn_dataset_free(back);
            pgcn_dataset_free(data);
        }
}

/* One file of every kind of number that these have: 0 and 1 lose nothing. */
static void test_container_narrow_features_of_ones_lose_nothing(void **state) {
    (void)state;
    pgcn_dataset *data = load("karate", NULL);
    for (int t = 0; t < NARROW; t++) {
        save_narrow(data, scratch_path("a.pgcn"), narrow_names[t]);
        pgcn_dataset *back = load(scratch_path("a.pgcn"), NULL);
        assert_string_equal(back->fingerprint, data->fingerprint);
        pgcn_dataset_free(back);
    }
    pgcn_dataset_free(data);
}

/* Rows that are read one by one are those of the whole file. */
static void test_container_rows_are_those_of_the_whole(void **state) {
    (void)state;
    pgcn_dataset *data = load("sbm:nodes=200,features=9", NULL);
    for (int t = -1; t < NARROW; t++) {
        save_narrow(data, scratch_path("a.pgcn"), t < 0 ? NULL : narrow_names[t]);
        pgcn_dataset *back = load(scratch_path("a.pgcn"), NULL);
        pgcn_i_row_file *file;
        float row[9];
        assert_int_equal(pgcn_i_container_rows(scratch_path("a.pgcn"), PGCN_I_ROWS_BEST, &file),
                         PGCN_OK);
        assert_int_equal(pgcn_i_row_file_layout(file)->rows, 200);
        for (pgcn_node i = 199; i >= 0; i -= 7) {
            assert_int_equal(pgcn_i_row_file_list(file, &i, 1, row), PGCN_OK);
            assert_memory_equal(row, back->x.dense + i * 9, sizeof row);
        }
        pgcn_i_row_file_close(file);
        pgcn_dataset_free(back);
    }
    pgcn_dataset_free(data);
    data = load("karate", NULL); /* sparse */
    save(data, scratch_path("a.pgcn"));
    pgcn_i_row_file *file;
    assert_int_equal(pgcn_i_container_rows(scratch_path("a.pgcn"), PGCN_I_ROWS_BEST, &file),
                     PGCN_ERR_ARGUMENT);
    assert_error_says("no dense features");
    pgcn_dataset_free(data);
}

static void test_container_too_large_for_its_type_is_refused(void **state) {
    (void)state;
    pgcn_dataset *data = load("sbm:nodes=200,features=9", NULL);
    ((float *)(uintptr_t)data->x.dense)[3 * 9 + 2] = 70000;
    pgcn_save_opts opts = pgcn_save_opts_default();
    opts.store = "float16";
    assert_int_equal(pgcn_dataset_save_as(data, scratch_path("a.pgcn"), &opts), PGCN_ERR_ARGUMENT);
    assert_error_says("feature 2 of node 3 is 70000, too large for float16");
    assert_false(pgcn_i_file_exists(scratch_path("a.pgcn")));
    pgcn_dataset_free(data);
}

/* What older programs wrote: version 2, with nodes without features, and 3 of each type. The numbers of the
 * types, and what they decode to, are for life. */
static void test_containers_of_old_versions_stay_readable(void **state) {
    (void)state;
    static const struct {
        const char *file, *store, *fingerprint;
    } cases[] = {
        {"absent_v2.pgcn", "float32",
         "0b5421f671152e08af10d99905442a5de564916845d0ee822898d8c1d17782e0"},
        {"sbm_v3_float16.pgcn", "float16",
         "a380e02c07433202d0d1d64786b8d93bb3980a98ee1f9627a2e157f52ddff6a9"},
        {"sbm_v3_bf16.pgcn", "bf16",
         "f910e74fef3e504849c214f7783fb122d2d7d114b9be9a1df60ff020f055cf38"},
        {"sbm_v3_int8.pgcn", "int8",
         "db7c4a5e6991f704a637487e94b6f574dcadcb6a9de948fb1e22fb27f1d3e927"},
    };
    const char *source = getenv("PATHGCN_SOURCE");
    if (!source) {
        print_message("SKIPPED: PATHGCN_SOURCE is not set (ctest sets it)\n");
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[PGCN_I_PATH_BYTES];
        snprintf(path, sizeof path, "%s/tests/data/%s", source, cases[i].file);
        pgcn_dataset *old = load(path, NULL);
        assert_string_equal(pgcn_dataset_store(old), cases[i].store);
        assert_string_equal(old->fingerprint, cases[i].fingerprint);
        assert_int_equal(pgcn_dataset_verify(old), PGCN_OK);
        pgcn_dataset_free(old);
    }
}

/* Every byte of the table and of the scales of an int8 file: refused, or the data it had. */
static void test_container_damaged_narrow_features_are_noticed(void **state) {
    (void)state;
    pgcn_dataset *data = every_kind(KIND_DIRECTED), *found;
    save_narrow(data, scratch_path("a.pgcn"), "int8");
    file_bytes whole = bytes_of(scratch_path("a.pgcn"));
    uint32_t sections;
    memcpy(&sections, whole.data + 12, sizeof sections);
    for (uint32_t s = 0; s < sections; s++) {
        char *entry = whole.data + HEADER + s * ENTRY;
        bool scale = strcmp(entry, "x.scale") == 0;
        if (!scale && strncmp(entry, "x.", 2) != 0) continue;
        char type = entry[24];
        entry[24] = type == 8 ? 6 : 4; /* of another size, or of none */
        assert_int_not_equal(load_bytes(whole.data, whole.count, &found), PGCN_OK);
        entry[24] = type;
        uint64_t offset;
        memcpy(&offset, entry + 64, sizeof offset);
        const float bad = -1;
        if (scale) memcpy(whole.data + offset, &bad, sizeof bad);
        if (scale) assert_int_equal(load_bytes(whole.data, whole.count, &found), PGCN_ERR_FORMAT);
        if (scale) assert_error_says("x.scale");
    }
    free(whole.data);
    pgcn_dataset_free(data);
}

/* ---- damage -------------------------------------------------------------------------------- */

static file_bytes container_of(int kind) {
    pgcn_dataset *data = every_kind(kind);
    save(data, scratch_path("whole.pgcn"));
    pgcn_dataset_free(data);
    return bytes_of(scratch_path("whole.pgcn"));
}

/* Loads bytes that may be anything; the status. */
static pgcn_status load_bytes(const void *bytes, size_t count, pgcn_dataset **out) {
    *out = NULL;
    pgcn_status status = pgcn_dataset_load(scratch_write("damaged.pgcn", bytes, count), NULL, out);
    if (status != PGCN_OK) assert_null(*out);
    return status;
}

static void assert_refused(const file_bytes *bytes, const char *says) {
    pgcn_dataset *data;
    if (load_bytes(bytes->data, bytes->count, &data) == PGCN_OK)
        fail_msg("a file was read that should fail with \"%s\"", says);
    assert_error_says(says);
    assert_error_says("damaged.pgcn");
}

static void test_container_every_truncation_is_refused(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        file_bytes whole = container_of(kind);
        for (size_t cut = 0; cut < whole.count; cut++) {
            pgcn_dataset *data;
            assert_int_equal(load_bytes(whole.data, cut, &data), PGCN_ERR_FORMAT);
        }
        free(whole.data);
    }
}

/* Header and table: all of it is checked at load but the SHA-256. */
static void test_container_every_changed_byte_of_the_table_is_noticed(void **state) {
    (void)state;
    static const unsigned char flips[] = {1, 0x80, 0xff};
    for (int kind = KIND_BUILTIN; kind < KINDS; kind += KIND_GRAPHS) {
        pgcn_dataset *data = every_kind(kind), *back;
        file_bytes whole = container_of(kind);
        size_t table_end = HEADER + ENTRY * (size_t)whole.data[12];
        for (size_t at = 0; at < table_end; at++)
            for (size_t f = 0; f < sizeof flips; f++) {
                whole.data[at] = (char)(whole.data[at] ^ flips[f]);
                bool in_hash = at >= 24 && at < 56;
                pgcn_status status = load_bytes(whole.data, whole.count, &back);
                assert_int_equal(status == PGCN_OK, in_hash);
                if (in_hash) {
                    assert_same_dataset(data, back);
                    assert_int_equal(pgcn_dataset_verify(back), PGCN_ERR_FORMAT);
                    pgcn_dataset_free(back);
                }
                whole.data[at] = (char)(whole.data[at] ^ flips[f]);
            }
        free(whole.data);
        pgcn_dataset_free(data);
    }
}

/* The payload: refused or read, never a crash, and `verify` sees all of it. */
static void test_container_every_changed_byte_of_the_data_is_seen_by_verify(void **state) {
    (void)state;
    for (int kind = KIND_NAMED; kind < KINDS; kind++) {
        file_bytes whole = container_of(kind);
        size_t table_end = HEADER + ENTRY * (size_t)whole.data[12];
        for (size_t at = table_end; at < whole.count; at++) {
            pgcn_dataset *back;
            whole.data[at] = (char)(whole.data[at] ^ 0x81);
            if (load_bytes(whole.data, whole.count, &back) == PGCN_OK) {
                assert_int_equal(pgcn_dataset_verify(back), PGCN_ERR_FORMAT);
                assert_error_says("damaged");
                pgcn_dataset_free(back);
            }
            whole.data[at] = (char)(whole.data[at] ^ 0x81);
        }
        free(whole.data);
    }
}

/* ---- hostile values ------------------------------------------------------------------------ */

static char *entry_of(const file_bytes *bytes, const char *name) {
    for (int i = 0; i < bytes->data[12]; i++) {
        char *entry = bytes->data + HEADER + ENTRY * i;
        if (strcmp(entry, name) == 0) return entry;
    }
    fail_msg("no section %s", name);
    return NULL;
}

static char *data_of(const file_bytes *bytes, const char *name) {
    uint64_t offset;
    memcpy(&offset, entry_of(bytes, name) + 64, 8);
    return bytes->data + offset;
}

static void set_u64(char *at, uint64_t value) {
    memcpy(at, &value, 8);
}
static void set_i32(char *at, int64_t index, int32_t value) {
    memcpy(at + 4 * index, &value, 4);
}

static void test_container_hostile_table_is_refused(void **state) {
    (void)state;
    static const struct {
        int field; /* of the entry */
        uint64_t value;
        const char *says;
    } cases[] = {
        {64, 0, "does not begin where"},          /* offset: the header */
        {64, 64, "does not begin where"},         /* the table */
        {64, 65, "does not begin where"},         /* not aligned */
        {64, 1ull << 40, "does not begin where"}, /* outside */
        {64, UINT64_MAX - 63, "does not begin where"},
        {72, UINT64_MAX, "another length than its shape"}, /* bytes */
        {72, 1, "another length than its shape"},
        {32, 1ull << 61, "another length than its shape"}, /* shape */
        {32, 1ull << 63, "no valid shape"},
        {40, 5, "no valid shape"}, /* a second dimension of a vector */
        {24, 7 | 1ull << 32, "no known type"},
        {24, 4 | 1ull << 32, "no known type"}, /* float64 is not in version 1 */
        {24, 1 | 3ull << 32, "number of dimensions"},
        {24, 1 | 0ull << 32, "number of dimensions"},
    };
    file_bytes whole = container_of(KIND_NAMED);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *field = entry_of(&whole, "graph.neighbour") + cases[i].field;
        uint64_t kept;
        memcpy(&kept, field, 8);
        set_u64(field, cases[i].value);
        assert_refused(&whole, cases[i].says);
        set_u64(field, kept);
    }
    char *name = entry_of(&whole, "val");
    memcpy(name, "train", 6);
    assert_refused(&whole, "is there twice");
    memset(name, 'x', 24);
    assert_refused(&whole, "'xxxxxxxxxxxxxxxxxxxxxxxx' is of no known name");
    memset(name, 0, 24);
    strcpy(name, "other");
    assert_refused(&whole, "is of no known name");
    strcpy(name, "x.dense");
    assert_refused(&whole, "is not an array float32 [6, 5]");
    strcpy(name, "label_known"); /* uint8 [2, 6], where uint8 [6] belongs */
    assert_refused(&whole, "is not an array uint8 [6]");
    memset(name, 0, 24);
    strcpy(name, "val");
    strcpy(entry_of(&whole, "meta"), "fold");
    assert_refused(&whole, "no section 'meta'");
    strcpy(entry_of(&whole, "fold"), "meta");
    set_u64(whole.data + 8, 4 | (uint64_t)whole.data[12] << 32);
    assert_refused(&whole, "version 4");
    set_u64(whole.data + 8, 2 | (uint64_t)whole.data[12] << 32); /* but there is no x.absent */
    assert_refused(&whole, "does not go with the version");
    set_u64(whole.data + 8, 1 | 65ull << 32);
    assert_refused(&whole, "65 sections");
    set_u64(whole.data + 8, 1);
    assert_refused(&whole, "0 sections");
    free(whole.data);
}

static void test_container_hostile_graph_is_refused(void **state) {
    (void)state;
    file_bytes whole = container_of(KIND_NAMED);
    /* rows: 0: {1}, 1: {0, 2}, 2: {1, 2, 3}, ...; offsets 0 1 3 6 8 10 11 */
    char *neighbour = data_of(&whole, "graph.neighbour"), *offset = data_of(&whole, "graph.offset");
    char *weight = data_of(&whole, "graph.weight");
    set_i32(neighbour, 0, 6);
    assert_refused(&whole, "node 0 has the neighbour 6, expected 0..5");
    set_i32(neighbour, 0, -1);
    assert_refused(&whole, "node 0 has the neighbour -1");
    set_i32(neighbour, 0, 3);
    assert_refused(&whole, "not the same in both directions");
    set_i32(neighbour, 0, 1);
    set_i32(neighbour, 1, 2), set_i32(neighbour, 2, 0);
    assert_refused(&whole, "node 1 has the neighbour 0 after 2");
    set_i32(neighbour, 1, 2), set_i32(neighbour, 2, 2);
    assert_refused(&whole, "node 1 has the neighbour 2 after 2");
    set_i32(neighbour, 1, 0);
    set_u64(offset + 8, 7);
    assert_refused(&whole, "end before they begin");
    set_u64(offset + 8, UINT64_MAX);
    assert_refused(&whole, "end before they begin");
    set_u64(offset + 8, 1);
    set_u64(offset, 1);
    assert_refused(&whole, "run from 1 to 11");
    set_u64(offset, 0);
    set_u64(offset + 48, 12);
    assert_refused(&whole, "run from 0 to 12");
    set_u64(offset + 48, 11);
    set_i32(weight, 0, 0x7fc00000);
    assert_refused(&whole, "weight nan");
    set_i32(weight, 0, 0);
    assert_refused(&whole, "weight 0");
    set_i32(weight, 0, 0x3f000001); /* not quite 0.5 */
    assert_refused(&whole, "two weights");
    set_i32(weight, 1, 0x3f000001);
    pgcn_dataset *data;
    assert_int_equal(load_bytes(whole.data, whole.count, &data), PGCN_OK);
    pgcn_dataset_free(data);
    free(whole.data);
}

/* Every node has as many smaller neighbours as its row says, but not these. */
static void test_graph_check_sees_which_node_an_edge_comes_back_from(void **state) {
    (void)state;
    static const int64_t offset[] = {0, 1, 2, 3, 4};
    static const pgcn_node crossed[] = {3, 2, 0, 1}, straight[] = {3, 2, 1, 0};
    pgcn_graph graph = {.n = 4, .entries = 4, .offset = offset, .neighbour = crossed};
    assert_int_equal(pgcn_i_graph_check(&graph), PGCN_ERR_FORMAT);
    assert_error_says("between nodes 0 and 3 is not the same in both directions");
    graph.directed = true;
    assert_int_equal(pgcn_i_graph_check(&graph), PGCN_OK);
    graph.directed = false;
    graph.neighbour = straight;
    assert_int_equal(pgcn_i_graph_check(&graph), PGCN_OK);
    graph.n = 0;
    assert_int_equal(pgcn_i_graph_check(&graph), PGCN_ERR_FORMAT);
}

/* Each weight is a float, their sum is not: degrees would be infinite. */
static void test_graph_check_refuses_weights_whose_sum_is_no_float(void **state) {
    (void)state;
    static const int64_t offset[] = {0, 2, 3, 4};
    static const pgcn_node neighbour[] = {1, 2, 0, 0};
    float weight[] = {2e38f, 1e38f, 2e38f, 1e38f};
    pgcn_graph graph = {
        .n = 3, .entries = 4, .offset = offset, .neighbour = neighbour, .weight = weight};
    assert_int_equal(pgcn_i_graph_check(&graph), PGCN_OK);
    weight[1] = weight[3] = 2e38f;
    assert_int_equal(pgcn_i_graph_check(&graph), PGCN_ERR_FORMAT);
    assert_error_says("the edge weights at node 0 add up to 4e+38");
}

static void test_container_hostile_arrays_are_refused(void **state) {
    (void)state;
    file_bytes whole = container_of(KIND_NAMED);
    char *column = data_of(&whole, "x.column"), *value = data_of(&whole, "x.value");
    set_i32(column, 0, 5);
    assert_refused(&whole, "feature column 5");
    set_i32(column, 0, 2);
    set_i32(value, 0, 0x7f800000);
    assert_refused(&whole, "is inf");
    set_i32(value, 0, 0x3f800000);
    set_i32(data_of(&whole, "label"), 0, 3);
    assert_refused(&whole, "has label 3");
    set_i32(data_of(&whole, "label"), 0, 0);
    data_of(&whole, "train")[1] = 2;
    assert_refused(&whole, "has 2 at node 1");
    data_of(&whole, "train")[1] = 0;
    set_u64(data_of(&whole, "node_id.offset") + 48, 1000);
    assert_refused(&whole, "another length than its offsets say");
    set_u64(data_of(&whole, "node_id.offset") + 48, 14);
    set_u64(data_of(&whole, "node_id.offset") + 8, 1ull << 40);
    assert_refused(&whole, "table of node names");
    set_u64(data_of(&whole, "node_id.offset") + 8, 2);
    data_of(&whole, "node_id.text")[13] = 'x';
    assert_refused(&whole, "table of node names");
    free(whole.data);
}

static void test_container_hostile_meta_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"{\"classes\"", "[\"classes\"", "JSON"},
        {"\"classes\"", "\"glasses\"", "no number 'classes'"},
        {"\"classes\":3", "\"classes\":2", "has label 2"},
        {"\"directed\":false", "\"directed\":12345", "no 'directed'"},
        {"\"features\":5", "\"features\":0", "features, expected 1"},
        {"\"graphs\":0", "\"graphs\":7", "7 graphs"},
        {"\",\"format\":\"test\"", "g\",\"format\":\"tes\"", "64 hex digits"},
        {"\"name\"", "\"game\"", "no text 'name'"},
        {"\"splits\":[\"public\",\"1\"]", "\"splits\":[\"public\",3.5]", "without a short name"},
        {"\"splits\":[\"public\",\"1\"]", "\"splits\":[\"pppppppppp\"]", "is not an array"},
        {"\"splits\":[", "\"splitz\":[", "no list of splits"},
        {"\"notes\":[\"a note for you!\"]", "\"notes\":[1,2,3,4,5,6,7,8,0]", "too many notes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        file_bytes whole = container_of(KIND_NAMED);
        change(&whole, cases[i].from, cases[i].to);
        assert_refused(&whole, cases[i].says);
        free(whole.data);
    }
    file_bytes whole = container_of(KIND_NAMED);
    char *fingerprint = strstr(data_of(&whole, "meta"), "\"fingerprint\":\"");
    char digit = fingerprint[20];
    fingerprint[20] = 'G';
    assert_refused(&whole, "64 hex digits");
    fingerprint[20] = digit == '0' ? '1' : '0';
    pgcn_dataset *data;
    assert_int_equal(load_bytes(whole.data, whole.count, &data), PGCN_OK);
    assert_int_equal(pgcn_dataset_verify(data), PGCN_ERR_FORMAT);
    pgcn_dataset_free(data);
    free(whole.data);
}

static void test_container_save_to_nowhere_is_an_error(void **state) {
    (void)state;
    pgcn_dataset *data = every_kind(KIND_BUILTIN);
    assert_int_equal(pgcn_dataset_save(data, scratch_path("no/a.pgcn")), PGCN_ERR_IO);
    assert_int_equal(pgcn_dataset_save(data, NULL), PGCN_ERR_ARGUMENT);
    assert_int_equal(pgcn_dataset_save(NULL, scratch_path("a.pgcn")), PGCN_ERR_ARGUMENT);
    assert_int_equal(scratch_count(), 0);
    assert_false(pgcn_i_container_detect(scratch));
    assert_false(pgcn_i_container_detect(scratch_path("none")));
    assert_int_equal(pgcn_i_container_verify(scratch_path("none")), PGCN_ERR_IO);
    pgcn_dataset_free(data);
}

/* Steps that cut rows replace arrays of the mapping by their own. */
static void test_container_takes_steps_like_any_other_source(void **state) {
    (void)state;
    char name[PGCN_I_PATH_BYTES];
    for (int kind = KIND_NAMED; kind <= KIND_DIRECTED; kind++) {
        pgcn_dataset *data = every_kind(kind);
        save(data, scratch_path("a.pgcn"));
        pgcn_dataset_free(data);
        snprintf(name, sizeof name, "%s:largest-component,symmetrise", scratch_path("a.pgcn"));
        pgcn_dataset *cut = load(name, NULL);
        assert_false(cut->graph->directed);
        pgcn_dataset_free(cut);
    }
}

static pgcn_status save_and_load(void) {
    static pgcn_dataset *data;
    pgcn_dataset *back;
    pgcn_status status = pgcn_dataset_load("karate", NULL, &data);
    if (status != PGCN_OK) return status;
    status = pgcn_dataset_save(data, scratch_path("a.pgcn"));
    pgcn_dataset_free(data);
    if (status != PGCN_OK) return status;
    PGCN_TRY(pgcn_dataset_load(scratch_path("a.pgcn"), NULL, &back));
    status = pgcn_dataset_verify(back);
    pgcn_dataset_free(back);
    return status;
}

static void test_container_every_allocation_may_fail(void **state) {
    (void)state;
    assert_true(fail_every_allocation(save_and_load) > 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_container_every_kind_comes_back),
        TEST(test_container_arrays_point_into_the_file),
        TEST(test_container_same_data_gives_the_same_bytes),
        TEST(test_container_of_version_1_stays_readable),
        TEST(test_container_narrow_features_come_back_rounded),
        TEST(test_container_narrow_features_of_ones_lose_nothing),
        TEST(test_container_rows_are_those_of_the_whole),
        TEST(test_container_too_large_for_its_type_is_refused),
        TEST(test_containers_of_old_versions_stay_readable),
        TEST(test_container_damaged_narrow_features_are_noticed),
        TEST(test_container_every_truncation_is_refused),
        TEST(test_container_every_changed_byte_of_the_table_is_noticed),
        TEST(test_container_every_changed_byte_of_the_data_is_seen_by_verify),
        TEST(test_container_hostile_table_is_refused),
        TEST(test_container_hostile_graph_is_refused),
        cmocka_unit_test(test_graph_check_sees_which_node_an_edge_comes_back_from),
        cmocka_unit_test(test_graph_check_refuses_weights_whose_sum_is_no_float),
        TEST(test_container_hostile_arrays_are_refused),
        TEST(test_container_hostile_meta_is_refused),
        TEST(test_container_save_to_nowhere_is_an_error),
        TEST(test_container_takes_steps_like_any_other_source),
        TEST(test_container_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
