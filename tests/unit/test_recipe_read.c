/* The text of a recipe: what is read from it for which depth, what is refused and how the sentence
 * says where, and what pgcn_recipe_write() writes coming back. */
#include "nn_help.h"
#include "scratch_help.h"

#include "train/recipe.h"

#define HEAD                                                                                       \
    "recipe = mine\nversion = 3\ntask = node\ndataset = cora\nabout = a test\nsearched = little\n"

static pgcn_status parse(const char *text, pgcn_i_recipe *out) {
    return pgcn_i_recipe_parse("my.recipe", text, (int64_t)strlen(text), out);
}

static pgcn_config at_depth(const pgcn_i_recipe *recipe, int layers) {
    pgcn_config config;
    pgcn_i_recipe_settings(recipe, layers, &config);
    return config;
}

static void test_recipe_read_head_and_settings_are_taken(void **state) {
    (void)state;
    pgcn_i_recipe recipe;
    must(parse("\xEF\xBB\xBF# a comment\r\n" HEAD
               "measure = auc\n\tdropout\t=\t0.25  # of the inputs\r\n"
               "layers=3\nsplit = numbered",
               &recipe));
    assert_string_equal(recipe.info.name, "mine");
    assert_int_equal(recipe.info.version, 3);
    assert_string_equal(recipe.info.task, "node");
    assert_string_equal(recipe.info.dataset, "cora");
    assert_string_equal(recipe.info.about, "a test");
    assert_string_equal(recipe.info.searched, "little");
    assert_string_equal(recipe.info.measure, "auc");
    assert_string_equal(recipe.info.origin, "my.recipe");
    assert_int_equal(strlen(recipe.info.sha256), 64);
    pgcn_config config = at_depth(&recipe, 0),
                wanted = settings("dropout=0.25 layers=3 split=numbered");
    assert_null(pgcn_i_config_difference(&config, &wanted));
    char mark[160];
    snprintf(mark, sizeof mark, "mine version 3 sha256 %s", recipe.info.sha256);
    assert_string_equal(config.recipe, mark);
}

static void test_recipe_read_searched_may_be_left_out(void **state) {
    (void)state;
    pgcn_i_recipe recipe;
    must(parse("recipe = a\nversion = 1\ntask = graph\ndataset = a b\nabout = x", &recipe));
    assert_string_equal(recipe.info.searched, "");
    assert_string_equal(recipe.info.dataset, "a b");
    pgcn_config config = at_depth(&recipe, 0), plain = pgcn_config_default();
    assert_null(pgcn_i_config_difference(&config, &plain));
}

static void test_recipe_read_hash_is_of_the_bytes(void **state) {
    (void)state;
    pgcn_i_recipe recipe, other;
    must(parse(HEAD, &recipe));
    must(parse(HEAD "# the same settings\n", &other));
    assert_string_not_equal(recipe.info.sha256, other.info.sha256);
    must(parse(HEAD, &other));
    assert_string_equal(recipe.info.sha256, other.info.sha256);
}

static void test_recipe_read_depth_chooses_the_section(void **state) {
    (void)state;
    pgcn_i_recipe recipe;
    must(parse(HEAD "dropout = 0.1\nhops = 3\n"
                    "[layers = 4]\ndropout = 0.2\n"
                    "[ layers=16 .. 64 ]   # deep\nhops = 7\nlr-mix = 5e-4\n"
                    "[layers = 8..9]\n",
               &recipe));
    static const struct {
        int layers;
        const char *settings;
    } cases[] = {{0, "layers=2 dropout=0.1 hops=3"},
                 {3, "layers=3 dropout=0.1 hops=3"},
                 {4, "layers=4 dropout=0.2 hops=3"},
                 {5, "layers=5 dropout=0.1 hops=3"},
                 {8, "layers=8 dropout=0.1 hops=3"},
                 {15, "layers=15 dropout=0.1 hops=3"},
                 {65, "layers=65 dropout=0.1 hops=3"},
                 {16, "layers=16 dropout=0.1 hops=7 lr-mix=5e-4"},
                 {40, "layers=40 dropout=0.1 hops=7 lr-mix=5e-4"},
                 {64, "layers=64 dropout=0.1 hops=7 lr-mix=5e-4"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_config config = at_depth(&recipe, cases[i].layers);
        pgcn_config wanted = settings(cases[i].settings);
        const char *key = pgcn_i_config_difference(&config, &wanted);
        if (key) fail_msg("%d layers: %s differs", cases[i].layers, key);
    }
    /* the recipe's own depth has its section too */
    must(parse(HEAD "layers = 4\n[layers = 4]\ndropout = 0.2\n", &recipe));
    assert_true(at_depth(&recipe, 0).dropout == 0.2);
}

static void test_recipe_read_refuses_and_says_where(void **state) {
    (void)state;
    static const struct {
        const char *text, *says[3];
    } cases[] = {
        {HEAD "lr_mix = 1", {"'my.recipe': line 7", "'lr_mix'", "did you mean lr-mix?"}},
        {HEAD "measure = luck", {"my.recipe", "measure is 'luck'", "macro-f1"}},
        {HEAD "colour = red", {"line 7", "'colour'", "--help"}},
        {HEAD "\n\ndropout = 2", {"line 9", "dropout is '2'", "0..0.999"}},
        {HEAD "kernel = wide", {"line 7", "kernel is 'wide'", "depthwise"}},
        {HEAD "[layers = 4]\nhops = -1", {"line 8", "hops is '-1'", "0.."}},
        {HEAD "dropout = 0.1\ndropout = 0.2", {"line 8", "dropout", "line 7 already"}},
        {HEAD "[layers = 4]\nhops = 1\nhops = 1", {"line 9", "hops", "line 8 already"}},
        {HEAD "version = 3", {"line 7", "version", "line 2 already"}},
        {HEAD "[layers = 4]\nabout = x", {"line 8", "about", "already"}},
        {"recipe = a\n[layers = 4]\nversion = 1",
         {"line 3", "version", "before the first section"}},
        {HEAD "[layers = 4]\nlayers = 4", {"line 8", "layers", "leave it out"}},
        {HEAD "[layers = 4..8]\n[layers = 8..9]", {"line 8", "8..9", "line 7, for 4..8"}},
        {HEAD "[layers = 4]\n[layers = 4]", {"line 8", "overlaps", "line 7"}},
        {HEAD "[layers = 9..8]", {"line 7", "ends at 8", "begins at 9"}},
        {HEAD "[layers = 0]", {"line 7", "layers is '0'", "1..4096"}},
        {HEAD "[layers = 2..5000]", {"line 7", "layers is '5000'", "1..4096"}},
        {HEAD "[depth = 4]", {"line 7", "[depth = 4]", "[layers = 16..64]"}},
        {HEAD "[layers = 4", {"line 7", "[layers = 4", "expected"}},
        {HEAD "[layers = 4] 5", {"line 7", "expected", ""}},
        {HEAD "[layers = 4..]", {"line 7", "expected", ""}},
        {HEAD "[layers = 4..8]]", {"line 7", "expected", ""}},
        {HEAD "[]", {"line 7", "expected", ""}},
        {HEAD "dropout", {"line 7", "'dropout'", "key = value"}},
        {HEAD "dropout =  # none", {"line 7", "dropout has no value", ""}},
        {HEAD "= 3", {"line 7", "no setting ''", ""}},
        {HEAD "samples = 1", {"my.recipe", "consistency", "samples is 1"}},
        {HEAD "\n[layers = 4]\nsamples = 1", {"line 8", "consistency", "samples is 1"}},
        {"", {"my.recipe", "'recipe = ...' is missing", ""}},
        {"recipe = a\ntask = node\ndataset = b\nabout = c",
         {"my.recipe", "'version = ...' is missing", ""}},
        {"recipe = a\nversion = 1\ndataset = b\nabout = c", {"'task = ...' is missing", "", ""}},
        {"recipe = a\nversion = 1\ntask = node\nabout = c", {"'dataset = ...' is missing", "", ""}},
        {"recipe = a\nversion = 1\ntask = node\ndataset = b", {"'about = ...' is missing", "", ""}},
        {"version = 0", {"line 1", "version is '0'", "1..1000000"}},
        {"version = 1.5", {"line 1", "version is '1.5'", ""}},
        {"version = 99999999999999999999", {"line 1", "1..1000000", ""}},
        {"recipe = a b\nversion = 1\ntask = node\ndataset = b\nabout = c",
         {"'a b'", "letters", ""}},
        {"recipe = none\nversion = 1\ntask = node\ndataset = b\nabout = c", {"'none'", "", ""}},
        {"recipe = ../x\nversion = 1\ntask = node\ndataset = b\nabout = c", {"'../x'", "", ""}},
        {"recipe = a\nversion = 1\ntask = edge\ndataset = b\nabout = c",
         {"task is 'edge'", "node | multilabel | graph", ""}},
        {"about = \xff", {"my.recipe", "not UTF-8", ""}},
        {"\x7f"
         "ELF",
         {"my.recipe", "not text", ""}},
        {"about = \x1b[2J", {"not text", "", ""}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_i_recipe recipe;
        if (parse(cases[i].text, &recipe) != PGCN_ERR_FORMAT)
            fail_msg("case %zu is not refused: %s", i, cases[i].text);
        for (int s = 0; s < 3; s++) assert_error_says(cases[i].says[s]);
    }
}

static void test_recipe_read_too_long_or_binary_is_refused(void **state) {
    (void)state;
    pgcn_i_recipe recipe;
    int64_t bytes = PGCN_I_RECIPE_BYTES + 1;
    char *text = malloc((size_t)bytes);
    memset(text, '\n', (size_t)bytes);
    must_fail(pgcn_i_recipe_parse("f", text, bytes, &recipe), PGCN_ERR_FORMAT, "64 KiB");
    memset(text, '#', 1024);
    must_fail(pgcn_i_recipe_parse("f", text, 2000, &recipe), PGCN_ERR_FORMAT,
              "line 1: the line is");
    memcpy(text, "about = x\0y", 11);
    must_fail(pgcn_i_recipe_parse("f", text, 11, &recipe), PGCN_ERR_FORMAT, "not text");
    int length = snprintf(text, (size_t)bytes, "recipe = %0100d\n", 1);
    must_fail(pgcn_i_recipe_parse("f", text, length, &recipe), PGCN_ERR_FORMAT,
              "recipe is longer than 63");
    length = snprintf(text, (size_t)bytes, HEAD);
    for (int i = 1; i <= PGCN_I_RECIPE_SECTIONS + 1; i++)
        length += snprintf(text + length, 64, "[layers = %d]\n", i);
    must_fail(pgcn_i_recipe_parse("f", text, length, &recipe), PGCN_ERR_FORMAT, "sections");
    free(text);
}

/* ---- writing ------------------------------------------------------------------------------------- */

static const pgcn_recipe_info head = {.name = "tuned-cora",
                                      .version = 7,
                                      .task = "node",
                                      .dataset = "cora cora2",
                                      .about = "found by a search: 85 % \xc2\xb1 1",
                                      .searched = "20 candidates; lr-mix, wd-mix = a or b"};

static void test_recipe_write_holds_the_differences_and_comes_back(void **state) {
    (void)state;
    pgcn_config config = settings("layers=8 dropout=0.35 lr-mix=0.0003333333333333333 kernel=layer "
                                  "seed=5 threads=3 recompute=yes split=numbered");
    const char *path = scratch_path("t.recipe");
    must(pgcn_recipe_write(path, &head, &config));
    static const char wanted[] =
        "recipe = tuned-cora\nversion = 7\ntask = node\n"
        "dataset = cora cora2\nabout = found by a search: 85 % \xc2\xb1 1\n"
        "searched = 20 candidates; lr-mix, wd-mix = a or b\n"
        "layers = 8\nkernel = layer\ndropout = 0.35\n"
        "lr-mix = 0.0003333333333333333\nsplit = numbered\n";
    assert_file_holds(path, wanted, sizeof wanted - 1);
    pgcn_config back;
    pgcn_recipe_info info;
    must(pgcn_recipe_load(path, "cora2", 0, &back, &info));
    assert_string_equal(info.name, head.name);
    assert_int_equal(info.version, head.version);
    assert_string_equal(info.about, head.about);
    assert_string_equal(info.searched, head.searched);
    config.seed = 0;
    assert_null(pgcn_i_config_difference(&back, &config));
    assert_int_equal(back.threads, 0); /* of a run, not of a recipe */
}

static void test_recipe_write_refuses_what_could_not_be_read(void **state) {
    (void)state;
    const pgcn_config config = pgcn_config_default();
    const char *path = scratch_path("t.recipe");
    pgcn_recipe_info bad[8];
    for (int i = 0; i < 8; i++) bad[i] = head;
    strcpy(bad[0].name, "a/b");
    strcpy(bad[1].name, "");
    bad[2].version = 0;
    strcpy(bad[3].task, "nodes");
    strcpy(bad[4].about, "two\nlines");
    strcpy(bad[5].searched, "half # a comment");
    memset(bad[6].about, 'x', sizeof bad[6].about);
    strcpy(bad[7].dataset, "\xff");
    for (int i = 0; i < 8; i++) {
        assert_int_equal(pgcn_recipe_write(path, &bad[i], &config), PGCN_ERR_ARGUMENT);
        assert_error_says("t.recipe");
    }
    pgcn_config wrong = config;
    wrong.dropout = 2;
    must_fail(pgcn_recipe_write(path, &head, &wrong), PGCN_ERR_ARGUMENT, "dropout");
    assert_int_equal(scratch_count(), 0);
    must_fail(pgcn_recipe_write(scratch_path("no/where"), &head, &config), PGCN_ERR_IO, "no/where");
}

static pgcn_status write_and_read(void) {
    const pgcn_config config = pgcn_config_default();
    pgcn_config back;
    PGCN_TRY(pgcn_recipe_write(scratch_path("t.recipe"), &head, &config));
    return pgcn_recipe_load(scratch_path("t.recipe"), NULL, 0, &back, NULL);
}

static void test_recipe_write_and_read_without_memory_fail_cleanly(void **state) {
    (void)state;
    assert_true(fail_every_allocation(write_and_read) >= 3);
}

int main(void) {
    unsetenv("PATHGCN_RECIPES");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recipe_read_head_and_settings_are_taken),
        cmocka_unit_test(test_recipe_read_searched_may_be_left_out),
        cmocka_unit_test(test_recipe_read_hash_is_of_the_bytes),
        cmocka_unit_test(test_recipe_read_depth_chooses_the_section),
        cmocka_unit_test(test_recipe_read_refuses_and_says_where),
        cmocka_unit_test(test_recipe_read_too_long_or_binary_is_refused),
        cmocka_unit_test_setup_teardown(test_recipe_write_holds_the_differences_and_comes_back,
                                        scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_recipe_write_refuses_what_could_not_be_read,
                                        scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_recipe_write_and_read_without_memory_fail_cleanly,
                                        scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
