/* The race among families of settings: who takes part, what holds, what it costs, who wins. */
#include "train/recipe.h"
#include "unit/graphs_help.h"
#include "unit/nn_help.h"
#include "unit/scratch_help.h"

#include <stdlib.h>

static pgcn_dataset *load(const char *name) {
    pgcn_dataset *data;
    must(pgcn_dataset_load(name, NULL, &data));
    return data;
}

/* Short trainings: the caller's epochs hold in every family. */
static pgcn_config own(const char *text) {
    pgcn_config config = pgcn_config_default();
    must(pgcn_config_set(&config, "epochs", "36"));
    must(pgcn_config_set(&config, "threads", "1"));
    char words[256], *rest = NULL;
    snprintf(words, sizeof words, "%s", text);
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(word, '=');
        *equals = '\0';
        must(pgcn_config_set(&config, word, equals + 1));
    }
    return config;
}

static pgcn_race *raced(const pgcn_dataset *data, const pgcn_config *config) {
    pgcn_race *race;
    must(pgcn_race_new(data, config, &race));
    while (!pgcn_race_finished(race)) must(pgcn_race_epoch(race));
    return race;
}

static pgcn_race_entry entry_of(const pgcn_race *race, const char *name) {
    pgcn_race_entry entry;
    for (int i = 0; pgcn_race_get(race, i, &entry); i++)
        if (strcmp(entry.recipe.name, name) == 0) return entry;
    fail_msg("%s is not in the race", name);
    return entry;
}

static void test_race_is_the_same_on_any_number_of_threads(void **state) {
    (void)state;
    static const char *const names[] = {"sbm:nodes=300,homophily=0.2", "karate"};
    for (int d = 0; d < 2; d++) {
        pgcn_dataset *data = load(names[d]);
        pgcn_config one = own("seed=3"), five = own("seed=3");
        must(pgcn_config_set(&five, "threads", "5"));
        pgcn_race *a = raced(data, &one), *b = raced(data, &five);
        pgcn_race_entry x, y;
        for (int i = 0; pgcn_race_get(a, i, &x); i++) {
            assert_true(pgcn_race_get(b, i, &y));
            assert_string_equal(x.recipe.name, y.recipe.name);
            assert_true(x.score == y.score || (isnan(x.score) && isnan(y.score)));
            assert_true(x.loss == y.loss || (isnan(x.loss) && isnan(y.loss)));
            assert_int_equal(x.rung, y.rung);
        }
        assert_int_equal(pgcn_race_leader(a), pgcn_race_leader(b));
        pgcn_race_free(a), pgcn_race_free(b), pgcn_dataset_free(data);
    }
}

static void test_race_keeps_the_settings_of_the_caller(void **state) {
    (void)state;
    pgcn_dataset *data = load("karate");
    pgcn_config config = own("paths=7 dropout=0.25"), winner;
    pgcn_recipe_info info;
    pgcn_race *race = raced(data, &config);
    must(pgcn_race_winner(race, &winner, &info));
    assert_int_equal(winner.paths, 7);
    assert_true(winner.dropout == 0.25);
    assert_int_equal(winner.epochs, 36);
    assert_non_null(strstr(winner.recipe, info.name));
    /* paths do nothing in the exact form, so a family that trains in it cannot keep the promise */
    pgcn_race_entry exact = entry_of(race, "any-free"), sampled = entry_of(race, "any-unlike");
    assert_non_null(exact.out);
    assert_non_null(strstr(exact.out, "paths is 7 and does nothing"));
    assert_int_equal(exact.rung, 0);
    assert_null(sampled.out);
    assert_true(sampled.rung >= 1);
    pgcn_race_free(race), pgcn_dataset_free(data);
}

static void test_race_in_batches_leaves_out_what_cannot_be_trained_so(void **state) {
    (void)state;
    pgcn_dataset *data = load("karate");
    pgcn_config config = own("batch=4 epochs=36");
    pgcn_race *race = NULL;
    must(pgcn_race_new(data, &config, &race));
    pgcn_race_entry exact = entry_of(race, "any-free"), sampled = entry_of(race, "any-unlike");
    assert_non_null(exact.out);
    assert_non_null(strstr(exact.out, "cannot be trained on batches of nodes"));
    assert_null(sampled.out);
    pgcn_race_free(race), pgcn_dataset_free(data);
}

static void test_race_without_a_family_says_why(void **state) {
    (void)state;
    pgcn_dataset *data = load("karate");
    pgcn_config config = own("readout=relu");
    pgcn_race *race = NULL;
    assert_int_equal(pgcn_race_new(data, &config, &race), PGCN_ERR_ARGUMENT);
    assert_non_null(strstr(pgcn_last_error(), "readout is relu and does nothing"));
    assert_null(race);
    pgcn_dataset_free(data);
}

/* The rule: the race and the training in full of its winner, five times the costliest training. */
static void test_race_costs_less_than_four_trainings_of_the_costliest_family(void **state) {
    (void)state;
    pgcn_dataset *data = load("sbm:nodes=300");
    pgcn_config config = own("patience=0");
    pgcn_race *race;
    double spent = 0, costliest = 0;
    must(pgcn_race_new(data, &config, &race));
    while (!pgcn_race_finished(race)) {
        pgcn_race_entry entry = {0};
        must(pgcn_race_epoch(race));
        for (int i = 0; pgcn_race_get(race, i, &entry) && !entry.running; i++) {
        }
        double done = pgcn_race_done(race);
        assert_true(done > 0 && done <= 1);
    }
    pgcn_race_entry entry;
    for (int i = 0; pgcn_race_get(race, i, &entry); i++) {
        if (entry.out) continue;
        double full = entry.operations * 36;
        if (full > costliest) costliest = full;
        assert_int_equal(entry.epochs, entry.rung == 1 ? 4 : 12);
        spent += entry.operations * (entry.rung == 1 ? 4 : 16);
    }
    assert_true(spent <= 4 * costliest);
    pgcn_race_free(race), pgcn_dataset_free(data);
}

static void test_race_never_looks_at_the_test(void **state) {
    (void)state;
    pgcn_dataset *data = load("sbm:nodes=300"), *hidden = load("sbm:nodes=300:without-test");
    pgcn_config config = own("split=0");
    pgcn_race *a = raced(data, &config), *b = raced(hidden, &config);
    pgcn_race_entry x, y;
    for (int i = 0; pgcn_race_get(a, i, &x) && pgcn_race_get(b, i, &y); i++)
        assert_true(x.score == y.score || (isnan(x.score) && isnan(y.score)));
    assert_int_equal(pgcn_race_leader(a), pgcn_race_leader(b));
    pgcn_race_free(a), pgcn_race_free(b), pgcn_dataset_free(data), pgcn_dataset_free(hidden);
}

/* ---- who takes part ------------------------------------------------------------------------------- */

static pgcn_race *new_race(const pgcn_dataset *data, const char *settings_text, bool all_networks) {
    pgcn_config config = own(settings_text);
    pgcn_race_opts opts = pgcn_race_opts_default();
    pgcn_race *race;
    opts.all_networks = all_networks;
    must(pgcn_race_new_with(data, &config, &opts, &race));
    return race;
}

/* A small set of graphs for any of the three tasks. */
static pgcn_dataset *small_set(pgcn_task task) {
    return set_of(set_new(task, false, 40), "");
}

static int count_families(const pgcn_race *race) {
    int count = 0;
    while (pgcn_race_get(race, count, NULL)) count++;
    return count;
}

/* The defaults of networks came later, and no run of --recipe auto of before may change. */
static void test_race_of_pathgcn_has_the_families_that_it_always_had(void **state) {
    (void)state;
    static const struct {
        pgcn_task task;
        const char *family[12];
    } cases[] = {
        {PGCN_TASK_NODE,
         {"any-alike", "any-alike-loose", "any-alike-many", "any-features", "any-features-bare",
          "any-free", "any-free-deep", "any-links", "any-links-only", "any-unlike"}},
        {PGCN_TASK_MULTILABEL,
         {"any-multilabel", "any-multilabel-alike", "any-multilabel-features"}},
        {PGCN_TASK_GRAPH, {"any-graph", "any-graph-features", "any-graph-means", "gin"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_dataset *data = small_set(cases[i].task);
        pgcn_race *race = new_race(data, "", false);
        int named = 0;
        for (; cases[i].family[named]; named++) entry_of(race, cases[i].family[named]);
        assert_int_equal(count_families(race), named);
        pgcn_race_free(race), pgcn_dataset_free(data);
    }
}

/* --model auto: one recipe more for every network that has one for any data of the task. */
static void test_race_of_all_networks_adds_their_defaults(void **state) {
    (void)state;
    static const struct {
        pgcn_task task;
        const char *of_gin;
    } cases[] = {{PGCN_TASK_NODE, "gin-default"},
                 {PGCN_TASK_MULTILABEL, "gin-default-multilabel"},
                 {PGCN_TASK_GRAPH, "gin"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_dataset *data = small_set(cases[i].task);
        pgcn_race *few = new_race(data, "", false), *all = new_race(data, "", true);
        assert_null(entry_of(all, cases[i].of_gin).out);
        pgcn_race_entry entry;
        for (int j = 0; pgcn_race_get(few, j, &entry); j++) entry_of(all, entry.recipe.name);
        int networks = 0, defaults = count_families(all) - count_families(few);
        while (pgcn_network_name(networks)) networks++;
        assert_true(defaults <= networks - 1);
        pgcn_race_free(few), pgcn_race_free(all), pgcn_dataset_free(data);
    }
}

/* A family keeps its own network: settings of one mean nothing to another. */
static void test_race_with_a_model_leaves_other_networks_out(void **state) {
    (void)state;
    pgcn_dataset *data = small_set(PGCN_TASK_GRAPH), *nodes = load("karate");
    pgcn_race *race = new_race(data, "model=gin", false);
    assert_null(entry_of(race, "gin").out);
    assert_non_null(
        strstr(entry_of(race, "any-graph").out, "it is of the network pathgcn, and model is gin"));
    assert_true(pgcn_race_finished(race)); /* nobody else is there */
    pgcn_race_free(race);
    race = new_race(data, "model=pathgcn", false);
    assert_non_null(entry_of(race, "gin").out);
    assert_null(entry_of(race, "any-graph").out);
    pgcn_race_free(race);
    pgcn_config config = own("model=gin");
    must_fail(pgcn_race_new(nodes, &config, &race), PGCN_ERR_ARGUMENT, "model is gin");
    pgcn_dataset_free(data), pgcn_dataset_free(nodes);
}

static void test_race_of_all_networks_is_the_same_on_any_number_of_threads(void **state) {
    (void)state;
    pgcn_dataset *data = load("karate");
    pgcn_race *race[2];
    for (int t = 0; t < 2; t++) {
        race[t] = new_race(data, t ? "threads=5" : "threads=1", true);
        while (!pgcn_race_finished(race[t])) must(pgcn_race_epoch(race[t]));
    }
    pgcn_race_entry x, y;
    for (int i = 0; pgcn_race_get(race[0], i, &x); i++) {
        assert_true(pgcn_race_get(race[1], i, &y));
        assert_string_equal(x.recipe.name, y.recipe.name);
        assert_true(x.score == y.score || (isnan(x.score) && isnan(y.score)));
    }
    assert_int_equal(pgcn_race_leader(race[0]), pgcn_race_leader(race[1]));
    assert_true(entry_of(race[0], "gin-default").rung >= 1);
    pgcn_race_free(race[0]), pgcn_race_free(race[1]), pgcn_dataset_free(data);
}

/* ---- families of the test's own, and no others ---------------------------------------------------- */

static void write_family(const char *name, const char *task, const char *settings_text) {
    char path[256], text[2048];
    snprintf(path, sizeof path, "%s/%s.recipe", scratch, name);
    snprintf(text, sizeof text,
             "recipe = %s\nversion = 1\ntask = %s\ndataset = any\nabout = of a test\n%s", name,
             task, settings_text);
    must(pgcn_file_write(path, text, strlen(text)));
}

/* A recipe of the folder wins over the built-in one of its name; for graphs it is in no race of nodes. */
static int only_own_families(void **state) {
    if (scratch_make(state) != 0) return -1;
    pgcn_recipe_info info;
    for (int i = 0; pgcn_recipe_get(i, &info) == PGCN_OK; i++)
        if (strcmp(info.dataset, "any") == 0) write_family(info.name, "graph", "");
    return setenv("PATHGCN_RECIPES", scratch, 1);
}
static int all_families(void **state) {
    unsetenv("PATHGCN_RECIPES");
    return scratch_remove(state);
}

#define OWN_FAMILIES(test) cmocka_unit_test_setup_teardown(test, only_own_families, all_families)
#define PLAIN              "samples = 1\nconsistency = 0\npaths = 3\n"

/* Both are right about every validation node; the wide one is surer. */
static void test_race_takes_a_simple_family_if_it_is_tied_with_the_best(void **state) {
    (void)state;
    write_family("wide", "node", PLAIN "channels = 64\ndropout = 0\n");
    write_family("slim", "node", PLAIN "channels = 16\ndropout = 0.7\n");
    pgcn_dataset *data = load("karate");
    pgcn_config config = own("epochs=360");
    pgcn_race *race = raced(data, &config);
    pgcn_race_entry wide = entry_of(race, "wide"), slim = entry_of(race, "slim"), winner;
    assert_true(wide.score == 100 && slim.score == 100 && wide.loss < slim.loss);
    assert_true(slim.operations < 0.5 * wide.operations);
    assert_true(pgcn_race_get(race, pgcn_race_leader(race), &winner));
    assert_string_equal(winner.recipe.name, "slim");
    pgcn_race_free(race), pgcn_dataset_free(data);
}

static void test_race_takes_the_better_family_if_it_is_better(void **state) {
    (void)state;
    write_family("deaf", "node",
                 PLAIN "channels = 8\nlr-ends = 0\nlr-mix = 0\nlr-kernel = 0\n"
                       "wd-ends = 0\nwd-mix = 0\nwd-kernel = 0\n");
    write_family("keen", "node", PLAIN "channels = 64\n");
    pgcn_dataset *data = load("sbm:nodes=300,homophily=0.9");
    pgcn_config config = own("epochs=90");
    pgcn_race *race = raced(data, &config);
    pgcn_race_entry winner;
    assert_true(pgcn_race_get(race, pgcn_race_leader(race), &winner));
    assert_string_equal(winner.recipe.name, "keen");
    assert_true(winner.score > entry_of(race, "deaf").score + 20);
    pgcn_race_free(race), pgcn_dataset_free(data);
}

/* Of four families two go on to the second rung. */
static void test_race_lets_the_better_ones_go_on(void **state) {
    (void)state;
    char text[256];
    for (int i = 0; i < 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "f%d", i);
        snprintf(text, sizeof text,
                 PLAIN "lr-ends = %g\nlr-mix = 0\nlr-kernel = 0\nwd-mix = 0\nwd-kernel = 0\n",
                 i < 2 ? 1e-6 : 1e-2);
        write_family(name, "node", text);
    }
    pgcn_dataset *data = load("sbm:nodes=300,homophily=0.9");
    pgcn_config config = own("epochs=180");
    pgcn_race *race = raced(data, &config);
    for (int i = 0; i < 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(entry_of(race, name).rung, i < 2 ? 1 : 2);
    }
    pgcn_race_free(race), pgcn_dataset_free(data);
}

/* Whatever a family selects by, all are compared at their best epoch by the same measure. */
static void test_race_compares_all_by_the_same_measure(void **state) {
    (void)state;
    write_family("by-loss", "node", PLAIN "select = loss\n");
    write_family("other", "node", PLAIN "channels = 8\nselect = accuracy\n");
    pgcn_dataset *data = load("sbm:nodes=300,homophily=0.3");
    pgcn_config config = own("epochs=180"), alone;
    pgcn_race *race = raced(data, &config);
    pgcn_race_entry entry = entry_of(race, "by-loss");
    must(pgcn_recipe_for("by-loss", data, 0, &alone, NULL));
    alone.threads = 1;
    alone.epochs = 60;
    pgcn_trainer *trainer;
    must(pgcn_trainer_new(data, &alone, &trainer));
    while (!pgcn_trainer_finished(trainer)) must(pgcn_trainer_epoch(trainer, NULL));
    int64_t count;
    const pgcn_epoch *history = pgcn_trainer_history(trainer, &count);
    double best = 0, chosen = 0;
    for (int64_t i = 0; i < count; i++) {
        if (history[i].val_accuracy > best) best = history[i].val_accuracy;
        if (history[i].best) chosen = history[i].val_accuracy;
    }
    assert_true(best > chosen); /* or the test tells nothing */
    assert_true(entry.score == best);
    pgcn_trainer_free(trainer), pgcn_race_free(race), pgcn_dataset_free(data);
}

/* ---- links as input ------------------------------------------------------------------------------- */

static void test_links_family_races_on_data_like_that_of_its_steps(void **state) {
    (void)state;
    pgcn_dataset *data = load("sbm:nodes=200"), *with_links, *loaded;
    must(pgcn_dataset_prepare(data, "features=own+adjacency", &with_links));
    loaded = load("sbm:nodes=200:features=own+adjacency");
    assert_string_equal(with_links->fingerprint, loaded->fingerprint);
    assert_string_equal(with_links->steps, loaded->steps);
    assert_int_equal(with_links->splits, loaded->splits);
    pgcn_dataset_free(with_links), pgcn_dataset_free(loaded);
    pgcn_config config = own("");
    pgcn_race *race = raced(data, &config);
    assert_true(entry_of(race, "any-links").rung >= 1);
    pgcn_race_free(race), pgcn_dataset_free(data);
}

static void test_links_family_is_out_where_features_were_made(void **state) {
    (void)state;
    pgcn_dataset *data = load("karate:features=identity");
    pgcn_config config = own("");
    pgcn_race *race = raced(data, &config);
    assert_string_equal(entry_of(race, "any-links").out, "the features were made, not given");
    pgcn_race_free(race), pgcn_dataset_free(data);
}

/* ---- a family that fails -------------------------------------------------------------------------- */

static void test_race_goes_on_without_a_family_whose_loss_explodes(void **state) {
    (void)state;
    const char *text = "recipe = any-wild\nversion = 1\ntask = node\ndataset = any\n"
                       "about = learns far too fast\nbatch-norm = no\nnormalise = none\n"
                       "mix = random\nlr-ends = 100\nlr-mix = 100\nlayers = 30\nresidual = none\n"
                       "alpha = 0\nsamples = 1\nconsistency = 0\n";
    char path[256];
    snprintf(path, sizeof path, "%s/any-wild.recipe", scratch);
    must(pgcn_file_write(path, text, strlen(text)));
    setenv("PATHGCN_RECIPES", scratch, 1);
    pgcn_dataset *data = load("sbm:nodes=200");
    pgcn_config config = own("epochs=180");
    pgcn_race *race = raced(data, &config);
    unsetenv("PATHGCN_RECIPES");
    pgcn_race_entry wild = entry_of(race, "any-wild"), winner;
    assert_non_null(wild.out);
    assert_non_null(strstr(wild.out, "loss"));
    assert_true(pgcn_race_get(race, pgcn_race_leader(race), &winner));
    assert_string_not_equal(winner.recipe.name, "any-wild");
    pgcn_race_free(race), pgcn_dataset_free(data);
}

/* ---- operations ----------------------------------------------------------------------------------- */

static void test_operations_follow_the_sizes(void **state) {
    (void)state;
    pgcn_dataset *data = load("sbm:nodes=200");
    pgcn_config small = pgcn_config_default(), changed;
    double base = pgcn_i_operations(data, &small, false);
    static const struct {
        const char *key, *value;
    } more[] = {{"layers", "4"},
                {"channels", "128"},
                {"samples", "4"},
                {"paths", "50"},
                {"path-length", "9"}};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        changed = small;
        must(pgcn_config_set(&changed, more[i].key, more[i].value));
        assert_true(pgcn_i_operations(data, &changed, false) > 1.05 * base);
    }
    /* by hand: 64 channels, one layer, no steps, one sample */
    changed = small;
    changed.layers = changed.path_length = changed.samples = 1;
    double n = 200, nonzeros = (double)data->info.feature_nonzeros, classes = data->classes;
    double dense = n * (64 * 64 + 64 * classes);
    double weights = 64 * 64 + 64 * ((double)data->x.columns + classes);
    assert_close(pgcn_i_operations(data, &changed, false),
                 3 * 64 * nonzeros + 4 * dense + 5 * weights, 1);
    double links = 64 * (3 * (double)data->graph->entries + 5 * n);
    assert_close(pgcn_i_operations(data, &changed, true),
                 pgcn_i_operations(data, &changed, false) + links, 1);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_race_is_the_same_on_any_number_of_threads),
        cmocka_unit_test(test_race_keeps_the_settings_of_the_caller),
        cmocka_unit_test(test_race_in_batches_leaves_out_what_cannot_be_trained_so),
        cmocka_unit_test(test_race_without_a_family_says_why),
        cmocka_unit_test(test_race_costs_less_than_four_trainings_of_the_costliest_family),
        cmocka_unit_test(test_race_never_looks_at_the_test),
        cmocka_unit_test(test_links_family_races_on_data_like_that_of_its_steps),
        cmocka_unit_test(test_links_family_is_out_where_features_were_made),
        cmocka_unit_test_setup_teardown(test_race_goes_on_without_a_family_whose_loss_explodes,
                                        scratch_make, scratch_remove),
        OWN_FAMILIES(test_race_takes_a_simple_family_if_it_is_tied_with_the_best),
        OWN_FAMILIES(test_race_takes_the_better_family_if_it_is_better),
        OWN_FAMILIES(test_race_lets_the_better_ones_go_on),
        OWN_FAMILIES(test_race_compares_all_by_the_same_measure),
        cmocka_unit_test(test_race_of_pathgcn_has_the_families_that_it_always_had),
        cmocka_unit_test(test_race_of_all_networks_adds_their_defaults),
        cmocka_unit_test(test_race_with_a_model_leaves_other_networks_out),
        cmocka_unit_test(test_race_of_all_networks_is_the_same_on_any_number_of_threads),
        cmocka_unit_test(test_operations_follow_the_sizes),
    };
    return cmocka_run_group_tests_name("race", tests, NULL, NULL);
}
