/* Which column of a data set is which input of a model: by name where both have names, else by
 * place; what is refused, and that nothing is taken for something else. */
#include "nn_help.h"

enum { MODEL_COLUMNS = 3 };

/* A model that reads the columns a, b and label=c; and data of two rows under some names, dense, or
 * sparse with every entry stored. */
typedef struct matching {
    pgcn_i_arena arena;
    pgcn_model model;
    pgcn_dataset data;
    char text[64];
    int64_t name_at[5], offset[3];
    float value[8]; /* row r, column j: 10 r + j + 1 */
    int32_t column[8];
    pgcn_i_features out;
} matching;

/* `names` with one space between them; "": columns without names. */
static pgcn_status match_names(matching *m, const char *names, int columns, bool sparse) {
    *m = (matching){.model.features = MODEL_COLUMNS, .data.name = "data"};
    snprintf(m->model.dataset, sizeof m->model.dataset, "trained");
    m->model.feature_names = json_pack("[sss]", "a", "b", "label=c");
    snprintf(m->text, sizeof m->text, "%s", names);
    int64_t count = *names ? 1 : 0, length = (int64_t)strlen(names);
    for (int64_t i = 0; i < length; i++)
        if (names[i] == ' ') m->text[i] = '\0', m->name_at[count++] = i + 1;
    m->name_at[count] = length + 1;
    m->data.from.feature_name = (pgcn_i_names){count, m->name_at, m->text};
    for (int e = 0; e < 2 * columns; e++) {
        m->value[e] = (float)(10 * (e / columns) + e % columns + 1);
        m->column[e] = e % columns;
    }
    for (int r = 0; r <= 2; r++) m->offset[r] = r * columns;
    m->data.x = (pgcn_i_features){.n = 2, .columns = columns};
    if (sparse) {
        m->data.x.nonzeros = 2 * columns;
        m->data.x.offset = m->offset;
        m->data.x.column = m->column;
        m->data.x.value = m->value;
    } else {
        m->data.x.dense = m->value;
    }
    pgcn_status status = pgcn_i_match_columns(&m->model, &m->data, &m->arena, &m->out);
    json_decref(m->model.feature_names);
    return status;
}

static void assert_rows(const matching *m, const float want[2 * MODEL_COLUMNS]) {
    float got[2 * MODEL_COLUMNS] = {0};
    assert_int_equal(m->out.columns, MODEL_COLUMNS);
    for (int64_t r = 0; r < 2; r++)
        for (int64_t e = m->out.offset ? m->out.offset[r] : 0;
             e < (m->out.offset ? m->out.offset[r + 1] : MODEL_COLUMNS); e++)
            if (m->out.offset)
                got[r * MODEL_COLUMNS + m->out.column[e]] = m->out.value[e];
            else
                got[r * MODEL_COLUMNS + e] = m->out.dense[r * MODEL_COLUMNS + e];
    assert_memory_equal(got, want, sizeof got);
}

static void test_columns_are_found_by_their_names(void **state) {
    (void)state;
    static const struct {
        const char *names;
        int columns;
        float want[2 * MODEL_COLUMNS];
    } cases[] = {{"a b label=c", 3, {1, 2, 3, 11, 12, 13}},
                 {"", 3, {1, 2, 3, 11, 12, 13}},
                 {"label=c a b", 3, {2, 3, 1, 12, 13, 11}},
                 {"a label=c b", 3, {1, 3, 2, 11, 13, 12}},
                 {"b a", 2, {2, 1, 0, 12, 11, 0}}}; /* no node has the label c */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int sparse = 0; sparse <= 1; sparse++) {
            matching m;
            must(match_names(&m, cases[i].names, cases[i].columns, sparse));
            assert_rows(&m, cases[i].want);
            pgcn_i_arena_free(&m.arena);
        }
}

static void test_columns_that_the_model_does_not_know_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *names;
        int columns;
        const char *says;
    } cases[] = {{"a b label=d", 3, "the feature column 'label=d'"}, /* only the last one differs */
                 {"z b label=c", 3, "the feature column 'z'"},
                 {"a b label=c d", 4, "the feature column 'd'"},
                 {"a label=c", 2, "reads the feature column 'b'"},
                 {"a b a", 3, "are called 'a'"},
                 {"", 2, "reads 3 feature columns"},
                 {"", 4, "reads 3 feature columns"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int sparse = 0; sparse <= 1; sparse++) {
            matching m;
            must_fail(match_names(&m, cases[i].names, cases[i].columns, sparse), PGCN_ERR_MISMATCH,
                      cases[i].says);
            pgcn_i_arena_free(&m.arena);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_are_found_by_their_names),
        cmocka_unit_test(test_columns_that_the_model_does_not_know_are_refused),
    };
    return cmocka_run_group_tests_name("columns", tests, NULL, NULL);
}
