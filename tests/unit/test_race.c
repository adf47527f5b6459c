/* The race among families of settings: who takes part, what holds, what it costs, who wins. */
#include "train/recipe.h"
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

static void test_race_without_a_family_says_why(void **state) {
    (void)state;
    pgcn_dataset *data = load("karate");
    pgcn_config config = own("batch=4");
    pgcn_race *race = NULL;
    assert_int_equal(pgcn_race_new(data, &config, &race), PGCN_ERR_ARGUMENT);
    assert_non_null(strstr(pgcn_last_error(), "batch is 4 and does nothing"));
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

/* Several families are right about every validation node of the karate club. */
static void test_race_takes_a_much_simpler_one_of_equal_families(void **state) {
    (void)state;
    pgcn_dataset *data = load("karate");
    pgcn_config config = own("epochs=180");
    pgcn_race *race = raced(data, &config);
    pgcn_race_entry winner, entry;
    int equal = 0;
    assert_true(pgcn_race_get(race, pgcn_race_leader(race), &winner));
    for (int i = 0; pgcn_race_get(race, i, &entry); i++)
        if (entry.rung == winner.rung && entry.score >= winner.score) {
            assert_true(entry.operations > 0.5 * winner.operations);
            equal++;
        }
    assert_true(equal > 1);
    pgcn_race_free(race), pgcn_dataset_free(data);
}

/* ---- links as input ------------------------------------------------------------------------------- */

static void test_links_family_races_on_data_like_that_of_its_steps(void **state) {
    (void)state;
    pgcn_dataset *data = load("sbm:nodes=200"), *with_links, *loaded;
    must(pgcn_i_dataset_with_features(data, "features=own+adjacency", &with_links));
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
    double base = pgcn_i_operations(data, &small);
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
        assert_true(pgcn_i_operations(data, &changed) > 1.05 * base);
    }
    /* by hand: 64 channels, one layer, no steps, one sample */
    changed = small;
    changed.layers = changed.path_length = changed.samples = 1;
    double n = 200, nonzeros = (double)data->info.feature_nonzeros, classes = data->classes;
    double dense = n * (64 * 64 + 64 * classes);
    assert_close(pgcn_i_operations(data, &changed), 3 * 64 * nonzeros + 4 * dense, 1);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_race_is_the_same_on_any_number_of_threads),
        cmocka_unit_test(test_race_keeps_the_settings_of_the_caller),
        cmocka_unit_test(test_race_without_a_family_says_why),
        cmocka_unit_test(test_race_costs_less_than_four_trainings_of_the_costliest_family),
        cmocka_unit_test(test_race_never_looks_at_the_test),
        cmocka_unit_test(test_race_takes_a_much_simpler_one_of_equal_families),
        cmocka_unit_test(test_links_family_races_on_data_like_that_of_its_steps),
        cmocka_unit_test(test_links_family_is_out_where_features_were_made),
        cmocka_unit_test_setup_teardown(test_race_goes_on_without_a_family_whose_loss_explodes,
                                        scratch_make, scratch_remove),
        cmocka_unit_test(test_operations_follow_the_sizes),
    };
    return cmocka_run_group_tests_name("race", tests, NULL, NULL);
}
