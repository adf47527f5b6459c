/* For the tests of a user's own files: reads files with given contents and compares what came of them.
 * Include after cmocka.h. */
#ifndef PGCN_TEST_OWN_HELP_H
#define PGCN_TEST_OWN_HELP_H

#include "dataset_help.h"

static pgcn_i_source source;
/* Options of what is read next. These are few nodes, of which one is more than a tenth. */
static pgcn_i_own_files own = {.unknown_ids = PGCN_UNKNOWN_KEEP};

static inline int begin(void **state) {
    own = (pgcn_i_own_files){.unknown_ids = PGCN_UNKNOWN_KEEP};
    return scratch_make(state);
}
static inline int end(void **state) {
    pgcn_i_source_free(&source);
    return scratch_remove(state);
}

/* Reads files with these contents; NULL: no such file. */
static inline pgcn_status read_own(const char *edges, const char *features, const char *labels,
                                   const char *splits) {
    static char path[4][1024];
    const char *content[4] = {edges, features, labels, splits};
    static const char *const name[4] = {"e.csv", "x.csv", "y.csv", "s.csv"};
    for (int i = 0; i < 4; i++)
        if (content[i]) strcpy(path[i], scratch_write(name[i], content[i], strlen(content[i])));
    own.edges = path[0];
    own.features = features ? path[1] : NULL;
    own.labels = labels ? path[2] : NULL;
    own.splits = splits ? path[3] : NULL;
    pgcn_i_source_free(&source);
    return pgcn_i_own_files_read(&own, &source);
}

static inline void must_read(const char *edges, const char *features, const char *labels,
                             const char *splits) {
    if (read_own(edges, features, labels, splits) != PGCN_OK) fail_msg("%s", pgcn_last_error());
}

static inline void must_fail(const char *edges, const char *features, const char *labels,
                             const char *splits, const char *says) {
    pgcn_status status = read_own(edges, features, labels, splits);
    if (status == PGCN_OK) fail_msg("accepted, expected an error about '%s'", says);
    assert_true(status == PGCN_ERR_FORMAT || status == PGCN_ERR_MISMATCH);
    assert_error_says(says);
}

static inline const char *name_of(const pgcn_i_names *names, int64_t i) {
    return names->text + names->offset[i];
}

static inline void assert_names(const pgcn_i_names *names, const char *expected) {
    char found[1024] = "";
    for (int64_t i = 0; i < names->count; i++) strcat(strcat(found, name_of(names, i)), "|");
    assert_string_equal(found, expected);
}

/* "0>1 1>2*0.5": the edges, with weights if there are any. */
static inline void assert_edges(const char *expected) {
    char found[1024] = "";
    for (int64_t e = 0; e < source.edges; e++) {
        char one[64];
        sprintf(one, "%s%d>%d", e ? " " : "", source.edge_from[e], source.edge_to[e]);
        if (source.edge_weight) sprintf(one + strlen(one), "*%g", (double)source.edge_weight[e]);
        strcat(found, one);
    }
    assert_string_equal(found, expected);
}

static inline void assert_labels(const char *expected) {
    char found[1024] = "";
    for (int64_t i = 0; i < source.nodes; i++)
        sprintf(found + strlen(found), "%s%d", i ? " " : "", source.label[i]);
    assert_string_equal(found, expected);
}

/* Features as text, whether they are stored dense or sparse. */
static inline void assert_features(const char *expected) {
    char found[1024] = "";
    for (int64_t i = 0; i < source.x.n; i++) {
        for (int64_t j = 0; j < source.x.columns; j++) {
            float value = 0;
            if (source.x.dense) value = source.x.dense[i * source.x.columns + j];
            for (int64_t k = source.x.offset ? source.x.offset[i] : 0;
                 source.x.offset && k < source.x.offset[i + 1]; k++)
                if (source.x.column[k] == j) value = source.x.value[k];
            sprintf(found + strlen(found), "%s%g", j ? "," : "", (double)value);
        }
        strcat(found, ";");
    }
    assert_string_equal(found, expected);
}

static inline void assert_note(const char *says) {
    for (int i = 0; i < source.notes; i++)
        if (strstr(source.note[i], says)) return;
    fail_msg("no note says '%s' (%d notes, the first is '%s')", says, source.notes,
             source.notes ? source.note[0] : "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
