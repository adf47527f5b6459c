/* Recipes of networks: which one is meant by a network and a data set, what is refused and what the
 * sentence says. The recipes are files of the test's own, of the network gin. */
#include "nn_help.h"
#include "scratch_help.h"

#include "train/recipe.h"

static void write_recipe(const char *name, const char *task, const char *dataset,
                         const char *settings) {
    char file[96], text[512];
    snprintf(file, sizeof file, "%s.recipe", name);
    int length = snprintf(text, sizeof text,
                          "recipe = %s\nversion = 2\ntask = %s\ndataset = %s\nabout = x\n%s\n",
                          name, task, dataset, settings);
    scratch_write(file, text, (size_t)length);
}

/* Recipes of gin for data sets that are called a, b, c and d. */
static int own_recipes(void **state) {
    static const char model[] = "model = gin\nsamples = 1\nconsistency = 0";
    if (scratch_make(state) != 0) return -1;
    write_recipe("gin-authors-a", "node", "a a_fixed", model);
    write_recipe("gin-authors-a-full", "node", "a a_fixed",
                 "model = gin\nsplit = numbered\nsamples = 1\nconsistency = 0");
    write_recipe("gin-authors-like-b", "node", "b", model);
    write_recipe("gin-authors-like-b-full", "node", "b", model);
    write_recipe("gin-authors-c", "graph", "c", model);
    write_recipe("gin-authors-d", "node", "d",
                 "channels = 32"); /* of pathgcn, in spite of its name */
    write_recipe("gin-drop-a", "node", "a a_fixed", model);
    write_recipe("a", "node", "a a_fixed", "channels = 32");
    return setenv("PATHGCN_RECIPES", scratch, 1);
}
static int remove_recipes(void **state) {
    unsetenv("PATHGCN_RECIPES");
    return scratch_remove(state);
}
#define WITH_RECIPES(test) cmocka_unit_test_setup_teardown(test, own_recipes, remove_recipes)

typedef struct question {
    const char *network, *recipe, *dataset;
    pgcn_task task; /* PGCN_TASK_NONE: the data set is known by name only */
    const char *split;
} question;

static pgcn_status ask(const question *q, pgcn_config *config, pgcn_recipe_info *info) {
    char name[64];
    snprintf(name, sizeof name, "%s", q->dataset ? q->dataset : "");
    pgcn_dataset data = {.name = name, .task = q->task};
    pgcn_recipe_query query = pgcn_recipe_query_default();
    query.network = q->network;
    query.recipe = q->recipe;
    query.dataset = q->dataset;
    query.data = q->task == PGCN_TASK_NONE ? NULL : &data;
    query.split = q->split;
    return pgcn_recipe_find(&query, config, info);
}

static void test_network_recipe_is_the_first_of_authors_like_and_default(void **state) {
    (void)state;
    static const struct {
        question q;
        const char *name, *network;
    } cases[] = {
        {{"gin", NULL, "a", PGCN_TASK_NODE, NULL}, "gin-authors-a", "gin"},
        {{"gin", NULL, "A_fixed:directed", PGCN_TASK_NODE, "auto"}, "gin-authors-a", "gin"},
        {{"gin", NULL, "a", PGCN_TASK_NODE, "public"}, "gin-authors-a", "gin"},
        {{"gin", NULL, "a", PGCN_TASK_NODE, "numbered"}, "gin-authors-a-full", "gin"},
        {{"gin", NULL, "a", PGCN_TASK_NODE, "3"}, "gin-authors-a-full", "gin"},
        {{"gin", NULL, "b", PGCN_TASK_NODE, NULL}, "gin-authors-like-b", "gin"},
        {{"gin", NULL, "b", PGCN_TASK_NODE, "0"}, "gin-authors-like-b-full", "gin"},
        {{"gin", NULL, "c", PGCN_TASK_GRAPH, NULL}, "gin-authors-c", "gin"},
        {{"gin", NULL, "c", PGCN_TASK_NODE, NULL}, "gin-default", "gin"}, /* another task */
        {{"gin", NULL, "d", PGCN_TASK_NODE, NULL}, "gin-default", "gin"}, /* another network */
        {{"gin", NULL, "karate", PGCN_TASK_NODE, NULL}, "gin-default", "gin"},
        {{"gin", NULL, "mine", PGCN_TASK_MULTILABEL, NULL}, "gin-default-multilabel", "gin"},
        {{"gin", NULL, "mine", PGCN_TASK_GRAPH, NULL}, "gin", "gin"},
        {{"gin", NULL, NULL, PGCN_TASK_NONE, NULL}, "gin-default", "gin"},
        {{"pathgcn", NULL, "a", PGCN_TASK_NODE, NULL}, "a", "pathgcn"},
        {{NULL, NULL, "a", PGCN_TASK_NODE, "3"}, "a", "pathgcn"}, /* as ever */
        {{NULL, NULL, "mine", PGCN_TASK_GRAPH, NULL}, "any-graph", "pathgcn"},
        {{"pathgcn", NULL, "mine", PGCN_TASK_GRAPH, NULL}, "any-graph", "pathgcn"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_config config;
        pgcn_recipe_info info;
        must(ask(&cases[i].q, &config, &info));
        if (strcmp(info.name, cases[i].name) != 0)
            fail_msg("case %zu: %s, expected %s", i, info.name, cases[i].name);
        assert_string_equal(pgcn_network_name(config.model), cases[i].network);
    }
}

static void test_network_recipe_kinds_are_those_of_the_network(void **state) {
    (void)state;
    static const struct {
        question q;
        const char *name, *network;
    } cases[] = {
        {{"gin", "authors", "a", PGCN_TASK_NODE, "3"}, "gin-authors-a", "gin"},
        {{"gin", "authors", "a_fixed", PGCN_TASK_NONE, NULL}, "gin-authors-a", "gin"},
        {{"gin", "authors-like", "b", PGCN_TASK_NODE, NULL}, "gin-authors-like-b", "gin"},
        {{"gin", "full", "a", PGCN_TASK_NODE, NULL}, "gin-authors-a-full", "gin"},
        {{"gin", "full", "b", PGCN_TASK_NODE, NULL}, "gin-authors-like-b-full", "gin"},
        {{"gin", "authors-full", "a", PGCN_TASK_NODE, NULL}, "gin-authors-a-full", "gin"},
        {{"gin", "authors-like-full", "b", PGCN_TASK_NODE, NULL}, "gin-authors-like-b-full", "gin"},
        {{"gin", "drop", "a", PGCN_TASK_NODE, NULL}, "gin-drop-a", "gin"},
        {{"gin", "default", "a", PGCN_TASK_NODE, NULL}, "gin-default", "gin"},
        {{"gin", "default", "a", PGCN_TASK_MULTILABEL, NULL}, "gin-default-multilabel", "gin"},
        {{"gin", "default", "a", PGCN_TASK_GRAPH, NULL}, "gin", "gin"},
        {{"gin", "default", NULL, PGCN_TASK_NONE, NULL}, "gin-default", "gin"},
        {{"gin", "none", "a", PGCN_TASK_NODE, NULL}, "none", "gin"},
        {{NULL, "gin-authors-a", "a", PGCN_TASK_NODE, NULL}, "gin-authors-a", "gin"},
        {{NULL, "gin-authors", "a", PGCN_TASK_NODE, NULL}, "gin-authors-a", "gin"},
        {{NULL, "gin-authors-like-full", "b", PGCN_TASK_NODE, NULL},
         "gin-authors-like-b-full",
         "gin"},
        {{NULL, "gin", "mine", PGCN_TASK_GRAPH, NULL}, "gin", "gin"},
        {{"pathgcn", "paper", "cora", PGCN_TASK_NODE, NULL}, "paper-cora", "pathgcn"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_config config;
        pgcn_recipe_info info;
        must(ask(&cases[i].q, &config, &info));
        if (strcmp(info.name, cases[i].name) != 0)
            fail_msg("case %zu: %s, expected %s", i, info.name, cases[i].name);
        assert_string_equal(pgcn_network_name(config.model), cases[i].network);
    }
}

static void test_network_recipe_of_another_network_is_refused(void **state) {
    (void)state;
    static const struct {
        question q;
        const char *says[3];
    } cases[] = {
        {{"gin", "a", "a", PGCN_TASK_NODE, NULL},
         {"recipe a is of the network pathgcn, and model is gin",
          "gin has gin-authors-a, gin-authors-a-full, gin-default, gin-drop-a here",
          "none starts from the defaults"}},
        {{"pathgcn", "gin-authors-a", "a", PGCN_TASK_NODE, NULL},
         {"recipe gin-authors-a is of the network gin, and model is pathgcn", "", ""}},
        {{"gin", "paper", "cora", PGCN_TASK_NODE, NULL},
         {"recipe paper-cora is of the network pathgcn", "gin has gin-default here", ""}},
        {{"gin", "authors", "b", PGCN_TASK_NODE, NULL},
         {"no recipe 'authors' of network gin for data set b",
          "there are gin-authors-like-b, gin-authors-like-b-full, gin-default", ""}},
        {{"gin", "gin-authors-b", "b", PGCN_TASK_NODE, NULL},
         {"did you mean gin-authors-a?", "", ""}},
        {{"gni", NULL, "a", PGCN_TASK_NODE, NULL},
         {"there is no network 'gni', expected pathgcn | gin", "", ""}},
        {{"", NULL, "a", PGCN_TASK_NODE, NULL}, {"there is no network ''", "", ""}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_config config = pgcn_config_default(), before = config;
        assert_int_equal(ask(&cases[i].q, &config, NULL), PGCN_ERR_ARGUMENT);
        for (int j = 0; j < 3; j++) assert_error_says(cases[i].says[j]);
        assert_memory_equal(&config, &before, sizeof config);
    }
}

/* All there is of gin is taken away: what is there for nobody is said, and nothing is made up. */
static void test_network_without_a_recipe_for_the_task_says_so(void **state) {
    (void)state;
    pgcn_config config;
    write_recipe("gin-default", "node", "elsewhere", "model = gin\nsamples = 1\nconsistency = 0");
    const question q = {"gin", NULL, "karate", PGCN_TASK_NODE, NULL};
    must_fail(ask(&q, &config, NULL), PGCN_ERR_ARGUMENT,
              "network gin has no recipe for data set karate, nor one for any of the task node");
    assert_error_says("gin has no recipe here");
}

static void test_unknown_recipe_gets_the_nearest_name(void **state) {
    (void)state;
    pgcn_config config;
    must_fail(pgcn_recipe_load("any-alke", NULL, 0, &config, NULL), PGCN_ERR_ARGUMENT,
              "there is no recipe 'any-alke' (did you mean any-alike?)");
    must_fail(pgcn_recipe_load("any-alke", "karate", 0, &config, NULL), PGCN_ERR_ARGUMENT,
              "did you mean any-alike?");
    must_fail(pgcn_recipe_load("xyzzyxyzzyx", NULL, 0, &config, NULL), PGCN_ERR_ARGUMENT,
              "there is no recipe 'xyzzyxyzzyx' ('pathgcn");
}

/* A section for a depth changes settings, not what they are settings of. */
static void test_recipe_has_one_network(void **state) {
    (void)state;
    pgcn_config config;
    write_recipe("two", "node", "a", "samples = 1\nconsistency = 0\n[layers = 3]\nmodel = gin");
    must_fail(pgcn_recipe_load("two", "a", 0, &config, NULL), PGCN_ERR_FORMAT,
              "a recipe belongs to one network");
}

/* What an older program fills of the query, and what a newer one adds. */
static void test_recipe_query_may_be_of_another_size(void **state) {
    (void)state;
    pgcn_config config;
    pgcn_recipe_info info;
    pgcn_recipe_query query = pgcn_recipe_query_default();
    query.recipe = "gin-authors-a";
    query.network = "no such network";
    query.size = offsetof(pgcn_recipe_query, network);
    must(pgcn_recipe_find(&query, &config, &info));
    assert_string_equal(info.name, "gin-authors-a");
    query.size = 0;
    must_fail(pgcn_recipe_find(&query, &config, &info), PGCN_ERR_ARGUMENT,
              "pgcn_recipe_query_default");
    must(pgcn_recipe_find(NULL, &config, &info));
    assert_string_equal(info.name, "none");
}

static pgcn_status find_of_network(void) {
    pgcn_config config;
    return ask(&(question){"gin", NULL, "a", PGCN_TASK_NODE, "3"}, &config, NULL);
}

static void test_network_recipe_without_memory_fails_cleanly(void **state) {
    (void)state;
    assert_true(fail_every_allocation(find_of_network) >= 3);
}

/* ---- those that are built in -------------------------------------------------------------------- */

/* The network that a name begins with: of gcn and gcnii the longer one. */
static int network_in(const char *name) {
    size_t longest = 0;
    int found = -1;
    for (int i = 0; pgcn_network_name(i); i++) {
        size_t length = strlen(pgcn_network_name(i));
        bool same = strncmp(name, pgcn_network_name(i), length) == 0 && name[length] == '-';
        if (!same || length <= longest) continue;
        longest = length;
        found = i;
    }
    return found;
}

static void test_built_in_recipes_are_named_after_their_network(void **state) {
    (void)state;
    for (const pgcn_i_built_in_recipe *r = pgcn_i_built_in_recipes; r->name; r++) {
        pgcn_config config;
        pgcn_recipe_info info;
        must(pgcn_recipe_load(r->name, NULL, 0, &config, &info));
        int network = network_in(r->name);
        if (config.model != (network > 0 ? network : 0) && strcmp(r->name, "gin") != 0)
            fail_msg("%s is of the network %s", r->name, pgcn_network_name(config.model));
        bool general = strcmp(info.dataset, "any") == 0, is_default = strstr(r->name, "-default");
        if (network > 0 && general != is_default) fail_msg("%s is for %s", r->name, info.dataset);
    }
}

/* Every network can be trained without a recipe for the data set, where it can do the task. */
static void test_every_network_has_a_default(void **state) {
    (void)state;
    for (int i = 1; pgcn_network_name(i); i++)
        for (pgcn_task task = PGCN_TASK_NODE; task <= PGCN_TASK_GRAPH; task++) {
            const char *network = pgcn_network_name(i);
            bool nodes_only = strcmp(network, "jknet") == 0 || strcmp(network, "incep") == 0;
            pgcn_config config;
            pgcn_recipe_info info;
            const question q = {network, NULL, "of mine", task, NULL};
            pgcn_status status = ask(&q, &config, &info);
            if (task == PGCN_TASK_GRAPH && nodes_only) {
                assert_int_equal(status, PGCN_ERR_ARGUMENT);
                continue;
            }
            must(status);
            assert_string_equal(info.dataset, "any");
            assert_string_equal(info.task, pgcn_task_name(task));
            assert_int_equal(config.model, i);
        }
}

/* The values as they are published. */
static void test_recipe_authors_values_are_the_published_ones(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int layers, channels;
        double lr, wd_ends, wd_mix, dropout;
        const char *own; /* settings of the network, as text */
    } table[] = {
        {"gcn-authors-cora", 2, 16, .01, 5e-4, 0, .5, "bias=no residual=none epochs=200"},
        {"gcn-authors-citeseer", 2, 16, .01, 5e-4, 0, .5, "bias=no"},
        {"gcn-authors-pubmed", 2, 16, .01, 5e-4, 0, .5, "bias=no"},
        {"gat-authors-cora", 2, 64, .005, 5e-4, 5e-4, .6,
         "heads=8 heads-last=1 dropout-attention=0.6 dropout-values=0.6 patience=100"},
        {"gat-authors-citeseer", 2, 64, .005, 5e-4, 5e-4, .6, "heads=8 heads-last=1"},
        {"gat-authors-pubmed", 2, 64, .01, 1e-3, 1e-3, .6, "heads=8 heads-last=8"},
        {"gat-authors-ppi", 3, 1024, .005, 0, 0, 0,
         "heads=4 heads-last=6 self-mix=yes batch=2 dropout-attention=0 dropout-values=0"},
        {"cheb-authors-cora", 2, 16, .01, 5e-4, 0, .5, "order=3 eigenvalue=power bias=no"},
        {"appnp-authors-like-cora", 2, 64, .01, .005, 0, .5, "powers=10 alpha=0.1 bias=no"},
        {"sgc-authors-like-citeseer", 1, 64, .2, 5e-5, 2, 0, "powers=2 epochs=150"},
        {"gcnii-authors-cora", 64, 64, .01, 5e-4, .01, .6,
         "lambda=0.5 alpha=0.1 dropout-hidden=0.6"},
        {"gcnii-authors-citeseer", 32, 256, .01, 5e-4, .01, .7, "lambda=0.6 alpha=0.1"},
        {"gcnii-authors-pubmed", 16, 256, .01, 5e-4, 5e-4, .5, "lambda=0.4 alpha=0.1"},
        {"gcnii-star-authors-pubmed", 16, 256, .01, 5e-4, 5e-4, .5, "lambda=0.4 alpha=0.1"},
        {"gcnii-authors-cora-full", 64, 64, .01, 1e-4, 1e-4, .5, "alpha=0.2 split=numbered"},
        {"gcnii-authors-citeseer-full", 64, 64, .01, 5e-6, 5e-6, .5, "alpha=0.5"},
        {"gcnii-authors-pubmed-full", 64, 64, .01, 5e-6, 5e-6, .5, "alpha=0.1"},
        {"gcnii-authors-chameleon", 8, 64, .01, 5e-4, 5e-4, .5, "alpha=0.2 lambda=1.5"},
        {"gcnii-authors-cornell", 16, 64, .01, 1e-3, 1e-3, .5, "alpha=0.5 lambda=1"},
        {"gcnii-authors-texas", 32, 64, .01, 1e-4, 1e-4, .5, "alpha=0.5 lambda=1.5"},
        {"gcnii-star-authors-wisconsin", 16, 64, .01, 5e-4, 5e-4, .5, "alpha=0.5 lambda=1"},
        {"gcnii-authors-ppi", 9, 2048, .001, 0, 0, .2, "alpha=0.5 lambda=1 skip=yes batch=1"},
        {"egnn-authors-cora", 64, 64, .005, 5e-4, 0, .6,
         "c-min=0.15 beta=0.1 orthogonal=20 threshold=-10 wd-kernel=1e-4 dropout-hidden=0.6"},
        {"egnn-authors-pubmed", 64, 64, .01, 5e-4, 0, .5,
         "c-min=0.11 beta=0.11 orthogonal=20 dropout-last=0 wd-kernel=1e-4"},
        {"pde-gcn-m-authors-like-texas", 32, 64, .01, 5e-4, 0, .6,
         "step=1 activation=relu bias=no lr-mix=1e-5 lr-kernel=1e-3 wd-kernel=0"},
        {"gcn-drop-pubmed", 2, 128, .003, .005, .005, 0,
         "edge-keep=0.7 dropout-last=0.5 scaling=walk self-mix=yes"},
        {"jknet-authors-like-cora", 4, 128, .001, 5e-4, 5e-4, 0,
         "dropout-last=0.8 scaling=walk self-mix=no edge-keep=1 jump=concat"},
        {"jknet-drop-citeseer", 16, 128, .006, .001, .001, 0, "edge-keep=0.5 self-mix=yes"},
        {"incep-authors-like-cora", 4, 128, .004, 5e-5, 5e-5, 0, "dropout-hidden=0.3 scaling=walk"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        pgcn_config c;
        must(pgcn_recipe_load(table[i].name, NULL, 0, &c, NULL));
        bool same = c.layers == table[i].layers && c.channels == table[i].channels &&
                    c.lr_ends == table[i].lr && c.wd_ends == table[i].wd_ends &&
                    c.wd_mix == table[i].wd_mix && c.dropout == table[i].dropout;
        if (!same) fail_msg("%s is not what is published", table[i].name);
        pgcn_config wanted = c; /* and with the rest set to what it shall be, nothing differs */
        must(pgcn_i_config_apply(&wanted, table[i].own));
        const char *key = pgcn_i_config_difference(&c, &wanted);
        if (key) fail_msg("%s: %s differs", table[i].name, key);
        assert_true(c.samples == 1 && c.consistency == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_RECIPES(test_network_recipe_is_the_first_of_authors_like_and_default),
        WITH_RECIPES(test_network_recipe_kinds_are_those_of_the_network),
        WITH_RECIPES(test_network_recipe_of_another_network_is_refused),
        WITH_RECIPES(test_network_without_a_recipe_for_the_task_says_so),
        cmocka_unit_test(test_unknown_recipe_gets_the_nearest_name),
        WITH_RECIPES(test_recipe_has_one_network),
        WITH_RECIPES(test_recipe_query_may_be_of_another_size),
        WITH_RECIPES(test_network_recipe_without_memory_fails_cleanly),
        cmocka_unit_test(test_built_in_recipes_are_named_after_their_network),
        cmocka_unit_test(test_every_network_has_a_default),
        cmocka_unit_test(test_recipe_authors_values_are_the_published_ones),
    };
    unsetenv("PATHGCN_RECIPES");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
