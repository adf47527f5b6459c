/* Which recipes there are and which one is meant: the files of recipes/ one by one, their values
 * against the tables they come from, families, the folder PATHGCN_RECIPES, and a user's own file. */
#include "nn_help.h"
#include "scratch_help.h"

#include "train/recipe.h"

static pgcn_config load(const char *recipe, const char *dataset, int layers) {
    pgcn_config config;
    must(pgcn_recipe_load(recipe, dataset, layers, &config, NULL));
    return config;
}

static const char *name_of(const char *recipe, const char *dataset) {
    static pgcn_recipe_info info;
    pgcn_config config;
    must(pgcn_recipe_load(recipe, dataset, 0, &config, &info));
    return info.name;
}

/* ---- those that are built in ---------------------------------------------------------------------- */

static void test_recipe_built_in_are_all_valid_and_listed_by_name(void **state) {
    (void)state;
    int count, files = 0;
    char last[64] = "";
    must(pgcn_recipe_count(&count));
    for (; pgcn_i_built_in_recipes[files].name; files++) /* file and head agree */
        assert_string_equal(name_of(pgcn_i_built_in_recipes[files].name, NULL),
                            pgcn_i_built_in_recipes[files].name);
    assert_int_equal(count, files);
    assert_true(count >= 34);
    for (int i = 0; i < count; i++) {
        pgcn_recipe_info info, again;
        must(pgcn_recipe_get(i, &info));
        assert_true(strcmp(last, info.name) < 0);
        strcpy(last, info.name);
        assert_string_equal(info.origin, "built in");
        assert_true(*info.searched);
        for (int layers = 0; layers <= 64; layers += layers < 8 ? 1 : 8) {
            pgcn_config config;
            must(pgcn_recipe_load(info.name, NULL, 0, &config, &again));
            if (layers > 0 && layers < pgcn_i_network_of(&config)->least_layers) continue;
            must(pgcn_recipe_load(info.name, NULL, layers, &config, &again));
            assert_int_equal(config.layers, layers ? layers : config.layers);
            assert_memory_equal(&info, &again, sizeof info);
        }
    }
    pgcn_recipe_info info;
    must_fail(pgcn_recipe_get(count, &info), PGCN_ERR_ARGUMENT, "is not among the");
    must_fail(pgcn_recipe_get(-1, &info), PGCN_ERR_ARGUMENT, "is not among the");
}

static double decay_of(const pgcn_config *config) {
    pgcn_i_params params;
    double decay = NAN;
    must(pgcn_i_network_declare(&params, config, (pgcn_i_shape){3, 2, false}));
    must(pgcn_i_params_allocate(&params, false));
    pgcn_i_network_start(&params, config);
    for (int i = 0; i < params.count; i++) {
        const float *s = pgcn_i_value_of(&params, &params.param[i]);
        if (strcmp(params.param[i].name, "layers.0.kernel") == 0)
            decay = 1 - (double)s[config->channels] / (double)s[0];
    }
    pgcn_i_params_free(&params);
    return decay;
}

static void test_recipe_hops_give_the_decay_of_the_table(void **state) {
    (void)state;
    static const struct {
        const char *recipe;
        int layers;
        double decay, lr_mix, lr_kernel;
    } cases[] = {{"cora", 2, 0.2322, 1e-2, 1.82e-4}, {"cora", 4, 0.35, 3e-3, 3e-3},
                 {"cora", 8, 0.6, 1e-3, 1e-3},       {"cora", 16, 0.7, 5e-4, 1e-3},
                 {"cora", 32, 0.7, 2e-4, 5e-4},      {"cora", 64, 0.7, 2e-4, 5e-4},
                 {"citeseer", 8, 0.8, 1e-3, 1e-3},   {"citeseer", 64, 0.88, 2e-4, 5e-4},
                 {"cora-full", 2, 0, 1e-3, 1e-2},    {"citeseer-full", 2, 0, 1e-3, 1e-2},
                 {"pubmed-full", 2, 0.5, 1e-3, 1e-2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_config config = load(cases[i].recipe, NULL, cases[i].layers);
        assert_close(decay_of(&config), cases[i].decay, 1e-4);
        assert_true(config.lr_mix == cases[i].lr_mix && config.lr_kernel == cases[i].lr_kernel);
    }
}

/* The two tables of the paper's appendix for nodes, as they are printed there. */
static void test_recipe_paper_values_are_those_of_the_appendix(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double lr_gcn, wd_gcn, lr_oc, wd_oc;
        int c;
        double dropout;
        int k, p, layers;
    } table[] = {
        {"paper-cora", 1e-3, 2e-5, 1e-2, 1e-5, 64, 0.6, 5, 5, 2},
        {"paper-citeseer", 1e-3, 1e-5, 7e-3, 5e-5, 256, 0.7, 5, 5, 2},
        {"paper-pubmed", 5e-3, 0, 1e-2, 1e-5, 256, 0.5, 7, 10, 2},
        {"paper-cora-full", 1e-4, 1e-4, 7e-2, 1e-4, 64, 0.5, 5, 10, 64},
        {"paper-citeseer-full", 3e-4, 5e-5, 8e-3, 1e-4, 64, 0.5, 5, 10, 32},
        {"paper-pubmed-full", 1e-4, 2e-4, 1e-2, 1e-6, 64, 0.5, 7, 10, 64},
        {"paper-chameleon", 5e-4, 1e-5, 5e-3, 3e-5, 64, 0.5, 3, 10, 16},
        {"paper-cornell", 4e-4, 1e-5, 5e-2, 5e-4, 64, 0.5, 5, 10, 8},
        {"paper-texas", 3e-4, 5e-4, 4e-2, 1e-4, 64, 0.5, 7, 10, 16},
        {"paper-wisconsin", 3e-4, 2e-4, 1e-2, 5e-5, 64, 0.5, 7, 10, 16},
        {"paper-film", 2e-4, 1e-4, 8e-2, 5e-4, 64, 0.5, 7, 10, 2},
        {"paper-wikics", 3e-2, 1e-4, 7e-3, 1e-5, 64, 0.3, 7, 5, 2},
        {"paper-ogbn-arxiv", 1e-3, 0, 1e-3, 0, 256, 0.1, 5, 10, 2},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        pgcn_config c = load(table[i].name, NULL, 0);
        bool same = c.lr_mix == table[i].lr_gcn && c.lr_kernel == table[i].lr_gcn &&
                    c.wd_mix == table[i].wd_gcn && c.wd_kernel == table[i].wd_gcn &&
                    c.lr_ends == table[i].lr_oc && c.wd_ends == table[i].wd_oc &&
                    c.channels == table[i].c && c.dropout == table[i].dropout &&
                    c.path_length == table[i].k && c.paths == table[i].p &&
                    c.layers == table[i].layers;
        if (!same) fail_msg("%s is not what the table says", table[i].name);
        /* the network: no residual, no norm, uniform walks without staying, plain weights */
        assert_int_equal(c.residual, PGCN_RESIDUAL_NONE);
        assert_int_equal(c.scaling, PGCN_SCALING_WALK);
        assert_int_equal(c.kernel, PGCN_KERNEL_DEPTHWISE);
        assert_int_equal(c.mix, PGCN_MIX_RANDOM);
        assert_true(!c.self_loops && !c.batch_norm && c.samples == 1);
        bool full = strstr(table[i].name, "-full") != NULL;
        assert_string_equal(c.split, full ? "numbered" : "auto");
    }
}

/* The table of graphs: no decay, and the network of graphs. */
static void test_recipe_paper_values_of_graphs_are_those_of_the_appendix(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double dropout;
        int batch, p, k;
    } table[] = {{"paper-mutag", 0, 32, 5, 5},
                 {"paper-ptc", 0, 32, 5, 5},
                 {"paper-proteins", 0, 128, 5, 10},
                 {"paper-nci1", 0.5, 32, 5, 10}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        pgcn_config config = load(table[i].name, NULL, 0);
        pgcn_config wanted = settings(
            "layers=4 channels=32 kernel-start=random mix=random residual=none batch-norm=yes "
            "self-loops=no scaling=walk readout=linear normalise=none samples=1 consistency=0 "
            "lr-ends=0.01 lr-mix=0.01 lr-kernel=0.01 wd-ends=0 wd-mix=0 wd-kernel=0 lr-halve=50 "
            "epochs=350 patience=0 select=accuracy");
        wanted.dropout = table[i].dropout;
        wanted.batch = table[i].batch;
        wanted.paths = table[i].p;
        wanted.path_length = table[i].k;
        const char *key = pgcn_i_config_difference(&config, &wanted);
        if (key) fail_msg("%s: %s differs", table[i].name, key);
    }
    pgcn_config ppi = load("paper-ppi", NULL, 0);
    assert_true(ppi.layers == 8 && ppi.path_length == 5 && ppi.paths == 10 && ppi.dropout == 0.2);
    assert_true(ppi.lr_ends == 1e-3 && ppi.lr_mix == 1e-3 && ppi.lr_kernel == 1e-3);
    assert_true(ppi.wd_ends == 0 && ppi.wd_mix == 0 && ppi.wd_kernel == 0);
}

/* ---- which one is meant ------------------------------------------------------------------------- */

static void test_recipe_names_and_families_are_found(void **state) {
    (void)state;
    static const struct {
        const char *recipe, *dataset, *name;
    } cases[] = {
        {NULL, "cora", "cora"},
        {NULL, "cora:largest-component", "cora"},
        {NULL, "cornell_fixed", "cornell"},
        {NULL, "actor", "film"},
        {NULL, "karate", "none"},
        {NULL, "cora-full", "none"}, /* a recipe, and no data set of that name */
        {NULL, "", "none"},
        {NULL, NULL, "none"},
        {"none", "cora", "none"},
        {"cora", "cora", "cora"},
        {"cora", NULL, "cora"},
        {"full", "cora", "cora-full"},
        {"paper", "cora", "paper-cora"},
        {"paper", "cornell_fixed", "paper-cornell"},
        {"paper", "film:directed", "paper-film"},
        {"paper-full", "pubmed", "paper-pubmed-full"},
        {"paper-cora-full", "cora", "paper-cora-full"},
        {"paper", "MUTAG", "paper-mutag"},
        {"paper", "MUTAG-gin:crossval=10", "paper-mutag"},
        {"paper", "PTC", "paper-ptc"},
        {"paper", "PTC_MR", "paper-ptc"},
        {"paper", "PTC-gin", "paper-ptc"},
        {"paper", "PROTEINS", "paper-proteins"},
        {"paper", "NCI1-gin", "paper-nci1"},
        {"paper", "ppi", "paper-ppi"},
        {NULL, "Cora", "cora"},
        {NULL, "MUTAG", "mutag"},
        {NULL, "ENZYMES", "none"}, /* a name does not tell the task */
        {"any-graph", "MUTAG", "any-graph"},
        {"cora-full", "cora", "cora-full"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(name_of(cases[i].recipe, cases[i].dataset), cases[i].name);
    pgcn_config plain = pgcn_config_default(), none = load("none", "texas", 0);
    assert_memory_equal(&plain, &none, sizeof plain);
    assert_int_equal(load("none", "texas", 7).layers, 7);
    assert_int_equal(load(NULL, "cora", 0).layers, 2);
}

static void test_recipe_unknown_or_foreign_name_is_refused(void **state) {
    (void)state;
    pgcn_config config = pgcn_config_default(), before = config;
    pgcn_status status = pgcn_recipe_load("papr", "cora", 0, &config, NULL);
    must_fail(status, PGCN_ERR_ARGUMENT, "'papr' for data set cora");
    assert_error_says("cora, cora-full, paper-cora, paper-cora-full");
    must_fail(pgcn_recipe_load("papr", NULL, 0, &config, NULL), PGCN_ERR_ARGUMENT, "'papr'");
    must_fail(pgcn_recipe_load("paper", "karate", 0, &config, NULL), PGCN_ERR_ARGUMENT, "karate");
    must_fail(pgcn_recipe_load("", "cora", 0, &config, NULL), PGCN_ERR_ARGUMENT, "''");
    status = pgcn_recipe_load("texas", "cora", 0, &config, NULL);
    must_fail(status, PGCN_ERR_ARGUMENT, "for data set texas and not for cora");
    must_fail(pgcn_recipe_load("cora", "cora", 5000, &config, NULL), PGCN_ERR_ARGUMENT, "5000");
    must_fail(pgcn_recipe_load("cora", "cora", -1, &config, NULL), PGCN_ERR_ARGUMENT, "layers");
    assert_memory_equal(&config, &before, sizeof config);
    char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    must_fail(pgcn_recipe_load(longest, "cora", 0, &config, NULL), PGCN_ERR_ARGUMENT, "no recipe");
    assert_string_equal(name_of(NULL, longest), "none");
}

/* ---- files ---------------------------------------------------------------------------------------- */

static const char *write_recipe(const char *file, const char *name, const char *task,
                                const char *dataset, const char *setting) {
    char text[512];
    int length = snprintf(text, sizeof text,
                          "recipe = %s\nversion = 2\ntask = %s\ndataset = %s\nabout = x\n%s\n",
                          name, task, dataset, setting);
    return scratch_write(file, text, (size_t)length);
}

static void test_recipe_file_is_used_with_a_mark_for_another_data_set(void **state) {
    (void)state;
    pgcn_config config;
    pgcn_recipe_info info;
    const char *path = write_recipe("a.recipe", "mine", "node", "cora", "dropout = 0.3");
    must(pgcn_recipe_load(path, "cora:directed", 0, &config, &info));
    assert_true(config.dropout == 0.3 && !info.other_dataset);
    assert_string_equal(info.origin, path);
    must(pgcn_recipe_load(path, "texas", 0, &config, &info));
    assert_true(config.dropout == 0.3 && info.other_dataset);
    must(pgcn_recipe_load(path, NULL, 0, &config, &info));
    assert_false(info.other_dataset);
    path = write_recipe("b.txt", "mine", "node", "any", "dropout = 0.4"); /* it has a / */
    must(pgcn_recipe_load(path, "texas", 0, &config, &info));
    assert_true(config.dropout == 0.4 && !info.other_dataset);
    path = write_recipe("c.recipe", "mine", "graph", "cora", ""); /* a name has no task */
    must(pgcn_recipe_load(path, "cora", 0, &config, &info));
    assert_string_equal(info.task, "graph");
    must_fail(pgcn_recipe_load("nowhere.recipe", "cora", 0, &config, &info), PGCN_ERR_IO,
              "nowhere.recipe");
    must_fail(pgcn_recipe_load(scratch, "cora", 0, &config, &info), PGCN_ERR_IO, scratch);
}

/* A data set of which only name and task are looked at. */
static const char *name_for(const char *recipe, const char *dataset, pgcn_task task) {
    static pgcn_recipe_info info;
    char copy[64];
    pgcn_dataset data = {.name = copy, .task = task};
    pgcn_config config;
    snprintf(copy, sizeof copy, "%s", dataset);
    must(pgcn_recipe_for(recipe, &data, 0, &config, &info));
    return info.name;
}

static void test_recipe_for_data_goes_by_name_and_task(void **state) {
    (void)state;
    static const struct {
        const char *recipe, *dataset;
        pgcn_task task;
        const char *name;
    } cases[] = {
        {NULL, "cora", PGCN_TASK_NODE, "cora"},
        {NULL, "karate", PGCN_TASK_NODE, "none"},
        {NULL, "karate", PGCN_TASK_NONE, "none"},
        {NULL, "mine", PGCN_TASK_GRAPH, "any-graph"},
        {NULL, "ENZYMES:crossval=10", PGCN_TASK_GRAPH, "any-graph"},
        {NULL, "MUTAG-gin:crossval=10", PGCN_TASK_GRAPH, "mutag"},
        {NULL, "proteins-of-mine", PGCN_TASK_MULTILABEL, "any-multilabel"},
        {NULL, "cora", PGCN_TASK_MULTILABEL, "any-multilabel"}, /* a name that others have too */
        {"paper", "NCI1", PGCN_TASK_GRAPH, "paper-nci1"},
        {"any-graph", "NCI1", PGCN_TASK_GRAPH, "any-graph"},
        {"none", "NCI1", PGCN_TASK_GRAPH, "none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(name_for(cases[i].recipe, cases[i].dataset, cases[i].task),
                            cases[i].name);
    pgcn_config config;
    pgcn_recipe_info info;
    pgcn_dataset data = {.name = "cora", .task = PGCN_TASK_NODE};
    must_fail(pgcn_recipe_for("any-graph", &data, 0, &config, &info), PGCN_ERR_ARGUMENT,
              "recipe any-graph is for the task graph, and data set cora has the task node");
    const char *path = write_recipe("c.recipe", "mine", "multilabel", "cora", "");
    must_fail(pgcn_recipe_for(path, &data, 0, &config, &info), PGCN_ERR_ARGUMENT,
              "recipe mine is for the task multilabel");
    /* the folder's recipe of a task wins, and tasks without a built-in one can have one */
    write_recipe("any-graph.recipe", "any-graph", "graph", "any", "dropout = 0.123");
    write_recipe("any-node.recipe", "any-node", "node", "any", "dropout = 0.3");
    setenv("PATHGCN_RECIPES", scratch, 1);
    data.task = PGCN_TASK_GRAPH;
    must(pgcn_recipe_for(NULL, &data, 3, &config, &info));
    assert_true(config.dropout == 0.123 && config.layers == 3);
    assert_string_equal(name_for(NULL, "cora", PGCN_TASK_NODE), "cora");
    assert_string_equal(name_for(NULL, "karate", PGCN_TASK_NODE), "any-node");
    unsetenv("PATHGCN_RECIPES");
}

static void test_recipe_folder_wins_and_adds(void **state) {
    (void)state;
    pgcn_config config;
    pgcn_recipe_info info;
    int before, count, broken = 0;
    must(pgcn_recipe_count(&before));
    write_recipe("cora.recipe", "cora", "node", "cora", "dropout = 0.123");
    write_recipe("tuned-texas.recipe", "tuned-texas", "node", "texas", "dropout = 0.2");
    write_recipe("mine.recipe", "mine", "node", "own_set", "dropout = 0.25");
    write_recipe("own_set.recipe", "own_set", "node", "own_set alias", "dropout = 0.3");
    write_recipe("liar.recipe", "other", "node", "texas", "");
    scratch_write("broken.recipe", "dropout", 7);
    scratch_write("notes.txt", "dropout", 7);
    setenv("PATHGCN_RECIPES", scratch, 1);
    must(pgcn_recipe_count(&count));
    assert_int_equal(count, before + 5); /* cora is not new */
    for (int i = 0; i < count; i++) broken += pgcn_recipe_get(i, &info) != PGCN_OK;
    assert_int_equal(broken, 2);
    assert_true(load(NULL, "cora", 0).dropout == 0.123);
    assert_true(load("cora", "cora", 0).dropout == 0.123);
    assert_true(load("tuned", "texas", 0).dropout == 0.2);
    assert_true(load(NULL, "alias", 0).dropout == 0.3);
    assert_true(load("mine", "own_set", 0).dropout == 0.25);
    assert_true(load(NULL, "texas", 0).dropout == 0.5); /* built in; the broken are in no way */
    assert_true(pgcn_config_for("cora").dropout == 0.6);
    must_fail(pgcn_recipe_load("broken", "cora", 0, &config, NULL), PGCN_ERR_FORMAT,
              "broken.recipe");
    must_fail(pgcn_recipe_load("liar", "texas", 0, &config, NULL), PGCN_ERR_FORMAT, "other");
    setenv("PATHGCN_RECIPES", scratch_path("gone"), 1);
    must_fail(pgcn_recipe_count(&count), PGCN_ERR_IO, "PATHGCN_RECIPES");
    must_fail(pgcn_recipe_load(NULL, "cora", 0, &config, NULL), PGCN_ERR_IO, "PATHGCN_RECIPES");
    setenv("PATHGCN_RECIPES", "", 1);
    must(pgcn_recipe_count(&count));
    assert_int_equal(count, before);
    unsetenv("PATHGCN_RECIPES");
}

static pgcn_status load_family(void) {
    pgcn_config config;
    int count;
    PGCN_TRY(pgcn_recipe_count(&count));
    return pgcn_recipe_load("paper", "cornell_fixed", 0, &config, NULL);
}

static void test_recipe_without_memory_fails_cleanly(void **state) {
    (void)state;
    assert_true(fail_every_allocation(load_family) >= 3);
}

int main(void) {
    unsetenv("PATHGCN_RECIPES");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recipe_built_in_are_all_valid_and_listed_by_name),
        cmocka_unit_test(test_recipe_hops_give_the_decay_of_the_table),
        cmocka_unit_test(test_recipe_paper_values_are_those_of_the_appendix),
        cmocka_unit_test(test_recipe_paper_values_of_graphs_are_those_of_the_appendix),
        cmocka_unit_test(test_recipe_names_and_families_are_found),
        cmocka_unit_test(test_recipe_unknown_or_foreign_name_is_refused),
        cmocka_unit_test_setup_teardown(test_recipe_file_is_used_with_a_mark_for_another_data_set,
                                        scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_recipe_for_data_goes_by_name_and_task, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_recipe_folder_wins_and_adds, scratch_make,
                                        scratch_remove),
        cmocka_unit_test(test_recipe_without_memory_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
