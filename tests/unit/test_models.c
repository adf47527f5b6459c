/* The table of networks: what a line of it promises, and settings that only some networks have. */
#include "network_help.h"
#include "train/train.h"

#include <string.h>

static void test_models_every_network_is_complete_and_has_a_name_of_its_own(void **state) {
    (void)state;
    const pgcn_i_network *one;
    int count = 0;
    for (; (one = pgcn_i_network_at(count)); count++) {
        assert_true(one->declare && one->record && one->cost && one->why_ignored);
        assert_string_equal(pgcn_network_name(count), one->name);
        assert_true(strlen(pgcn_network_about(count)) > 20);
        assert_in_range(strlen(one->name), 1, 20); /* as long as lists of names have room for */
        for (int other = 0; other < count; other++)
            assert_string_not_equal(one->name, pgcn_network_name(other));
    }
    assert_true(count >= 2);
    assert_string_equal(pgcn_network_name(0), "pathgcn"); /* the default of a zeroed field */
}

/* What a network ignores is a shared setting, and what it comes to is accepted. */
static void test_models_ignored_settings_exist(void **state) {
    (void)state;
    const pgcn_i_network *one;
    for (int i = 0; (one = pgcn_i_network_at(i)); i++)
        for (const pgcn_i_ignored *ignored = one->ignored; ignored && ignored->key; ignored++) {
            pgcn_config config = pgcn_config_default();
            char text[PGCN_SETTING_BYTES];
            must(pgcn_config_get(&config, ignored->key, text, sizeof text));
            if (ignored->is) must(pgcn_config_set(&config, ignored->key, ignored->is));
            if (ignored->value) must(pgcn_config_set(&config, ignored->key, ignored->value));
        }
}

static void test_models_own_settings_have_one_declaration_and_a_preset_in_range(void **state) {
    (void)state;
    const pgcn_i_setting *own;
    const pgcn_config config = pgcn_config_default();
    int count = 0;
    for (; (own = pgcn_i_own_setting(count)); count++) {
        assert_true(own->choices || (own->preset >= own->low && own->preset <= own->high));
        assert_float_equal(pgcn_i_own_value(&config, own), own->preset, 0);
        for (int other = 0; other < count; other++)
            assert_string_not_equal(own->key, pgcn_i_own_setting(other)->key);
    }
    assert_in_range(count, 1, PGCN_MOST_OWN);
}

static void test_models_uses_says_what_the_network_looks_at(void **state) {
    (void)state;
    pgcn_config config = pgcn_config_default();
    assert_true(pgcn_config_uses(&config, "paths"));
    assert_true(pgcn_config_uses(&config, "walk"));
    assert_false(pgcn_config_uses(&config, "eps"));
    must(pgcn_config_set(&config, "model", "gin"));
    assert_false(pgcn_config_uses(&config, "paths"));
    assert_false(pgcn_config_uses(&config, "path-length"));
    assert_true(
        pgcn_config_uses(&config, "walk")); /* weights of edges count, node2vec is refused */
    assert_true(pgcn_config_uses(&config, "eps"));
    assert_true(pgcn_config_uses(&config, "channels"));
}

/* The kernel (1 + eps, 1) that a setting of gin alone says. */
static void test_models_eps_is_where_gin_starts(void **state) {
    (void)state;
    pgcn_config config = pgcn_config_default();
    pgcn_i_params params;
    must(pgcn_config_set(&config, "model", "gin"));
    must(pgcn_config_set(&config, "eps", "0.25"));
    must(pgcn_i_network_declare(&params, &config, (pgcn_i_shape){.features = 3, .classes = 2}));
    must(pgcn_i_params_allocate(&params, true));
    pgcn_i_network_start(&params, &config);
    const float *kernel = pgcn_i_value_of(&params, pgcn_i_param_named(&params, "layers.1.kernel"));
    assert_float_equal(kernel[0], 1.25, 0);
    assert_float_equal(kernel[1], 1, 0);
    pgcn_i_params_free(&params);
}

static void test_models_files_hold_the_settings_of_their_network_by_name(void **state) {
    (void)state;
    pgcn_config config = pgcn_config_default(), read;
    json_t *object = pgcn_i_config_to_json(&config);
    assert_null(json_object_get(object, "eps"));
    json_decref(object);
    must(pgcn_config_set(&config, "model", "gin"));
    must(pgcn_config_set(&config, "eps", "-0.5"));
    object = pgcn_i_config_to_json(&config);
    assert_string_equal(json_string_value(json_object_get(object, "eps")), "-0.5");
    pgcn_i_config_settle(&config); /* as a trained model holds them */
    json_decref(object);
    object = pgcn_i_config_to_json(&config);
    must(pgcn_i_config_from_json(object, "test", &read));
    assert_null(pgcn_i_config_difference(&config, &read));
    json_decref(object);
    must(pgcn_config_set(&config, "eps", "1"));
    assert_string_equal(pgcn_i_config_difference(&config, &read), "eps");
}

/* Whoever adds a network has this test at once, for nodes and for graphs. */
static void test_models_every_gradient_is_the_slope_of_the_loss(void **state) {
    (void)state;
    problem nodes = problem_new(40), graphs = problem_of_graphs(15);
    for (int i = 0; pgcn_network_name(i); i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "model=%s layers=2 channels=8 samples=1 consistency=0 dropout=0 seed=11",
                 pgcn_network_name(i));
        network_check_slopes(&nodes, text);
        if (!pgcn_i_network_at(i)->why_no_graphs) network_check_slopes(&graphs, text);
    }
    problem_free(&nodes), problem_free(&graphs);
}

/* Every term of the networks' equations, with dropout, norms and what else a setting adds. */
static void test_models_every_setting_of_a_network_has_true_gradients(void **state) {
    (void)state;
    static const char *const text[] = {
        "model=mlp layers=3 batch-norm=yes",
        "model=mlp layers=3 layer-norm=yes",
        "model=mlp layers=1 bias=no",
        "model=gcn layers=4 residual=previous alpha=0.3",
        "model=gcn layers=4 residual=initial alpha=0.3 self-mix=yes",
        "model=gcn layers=3 scaling=walk layer-norm=yes bias=no",
        "model=gcn layers=3 batch-norm=yes",
        "model=gcn layers=1",
        "model=sgc powers=3",
        "model=cheb layers=3 order=3 batch-norm=yes",
        "model=cheb order=1 eigenvalue=two bias=no",
        "model=cheb order=0",
        "model=appnp powers=4 alpha=0.2",
        "model=appnp powers=1 alpha=0.7 layer-norm=yes",
        "model=gcnii layers=4 lambda=1.5 alpha=0.2",
        "model=gcnii layers=4 skip=yes batch-norm=yes",
        "model=gcnii-star layers=3 lambda=1.5 alpha=0.4",
        "model=gcnii-star layers=3 skip=yes layer-norm=yes",
        "model=sage layers=3 layer-norm=yes",
        "model=jknet layers=5",
        "model=jknet layers=5 jump=max self-mix=yes",
        "model=jknet layers=2 jump=max",
        "model=incep layers=5 self-mix=yes",
        "model=incep layers=4 batch-norm=yes",
        "model=incep layers=2",
        "model=gat heads=3 heads-last=4 dropout-attention=0.3 dropout-values=0.2 layers=3",
        "model=gat heads=1 self-mix=yes batch-norm=yes layers=3",
        "model=gat heads=6 dropout-attention=0.5 layer-norm=yes bias=no",
        "model=gat heads=2 heads-last=2 layers=1",
        "model=egnn layers=3 c-max=3 threshold=-0.2 orthogonal=0.5",
        "model=egnn layers=3 threshold=0.05 batch-norm=yes orthogonal=2",
        "model=egnn layers=1 orthogonal=0 threshold=-0.1 layer-norm=yes",
        "model=pde-gcn-d layers=3 step=0.5 bias=no",
        "model=pde-gcn-d layers=2 step=0.5 activation=relu",
        "model=pde-gcn-h layers=3 step=0.5 samples=2",
        "model=pde-gcn-m layers=4 step=0.5 samples=2",
        "model=pde-gcn-m layers=1 step=2",
    };
    problem nodes = problem_new(40), directed = problem_of(40, true),
            graphs = problem_of_graphs(15);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        char all[256];
        snprintf(all, sizeof all,
                 "channels=6 consistency=0 samples=1 dropout=0.25 dropout-hidden=0.25 seed=12 %s",
                 text[i]);
        const pgcn_config config = network_settings(all);
        network_check_slopes(&nodes, all);
        network_check_slopes(&directed, all);
        if (!pgcn_i_network_of(&config)->why_no_graphs) network_check_slopes(&graphs, all);
    }
    problem_free(&nodes), problem_free(&directed), problem_free(&graphs);
}

/* The depth of a recipe is not the caller's: a network that fixes it must not be refused. */
static void test_models_settings_of_a_recipe_are_nobodys_mistake(void **state) {
    (void)state;
    pgcn_config config;
    pgcn_recipe_info info;
    pgcn_field field;
    must(pgcn_recipe_load(NULL, "cora", 7, &config, &info));
    for (int i = 0; pgcn_config_field(i, &field); i++)
        assert_false(pgcn_i_config_is_set(&config, i));
    char text[PGCN_SETTING_BYTES];
    must(pgcn_config_get(&config, "layers", text, sizeof text));
    assert_string_equal(text, "7");
    pgcn_config again = config;
    pgcn_config_adopt(&again); /* changes nothing: all is adopted already */
    assert_memory_equal(again.origin, config.origin, sizeof config.origin);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_every_gradient_is_the_slope_of_the_loss),
        cmocka_unit_test(test_models_every_setting_of_a_network_has_true_gradients),
        cmocka_unit_test(test_models_settings_of_a_recipe_are_nobodys_mistake),
        cmocka_unit_test(test_models_every_network_is_complete_and_has_a_name_of_its_own),
        cmocka_unit_test(test_models_ignored_settings_exist),
        cmocka_unit_test(test_models_own_settings_have_one_declaration_and_a_preset_in_range),
        cmocka_unit_test(test_models_uses_says_what_the_network_looks_at),
        cmocka_unit_test(test_models_eps_is_where_gin_starts),
        cmocka_unit_test(test_models_files_hold_the_settings_of_their_network_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
