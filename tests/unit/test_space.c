/* Spaces of settings: what is read, what is refused and how, and what is drawn from them. */
#include "experiments/tune.h"
#include "unit/nn_help.h"

static exp_space parse(const char *text) {
    exp_space space;
    if (exp_space_parse("test", text, strlen(text), &space) != PGCN_OK) fail_msg("%s", space.error);
    return space;
}

static void assert_refused(const char *text, size_t bytes, const char *says) {
    exp_space space;
    assert_int_equal(exp_space_parse("my.space", text, bytes, &space), PGCN_ERR_FORMAT);
    if (!strstr(space.error, says) || !strstr(space.error, "space my.space, line "))
        fail_msg("'%s' does not say '%s'", space.error, says);
    exp_space_free(&space);
}

static void test_space_lines_are_ranges_and_choices(void **state) {
    (void)state;
    exp_space space = parse("# a comment\n"
                            "lr-mix = 1e-4 .. 1e-1 log   # and one behind\n"
                            "\n"
                            "  dropout=0.3|0.5 | 0.7\n"
                            "path-length = 3..7\n"
                            "hops = 1 .. 8\r\n"
                            "kernel = layer");
    assert_int_equal(space.parameters, 5);
    const exp_parameter *p = space.parameter;
    assert_string_equal(p[0].key, "lr-mix");
    assert_true(p[0].is_log && !p[0].is_whole && p[0].choices == 0);
    assert_float_equal(p[0].low, 1e-4, 1e-9);
    assert_float_equal(p[0].high, 0.1, 1e-9);
    assert_int_equal(p[1].choices, 3);
    assert_string_equal(p[1].choice[1], "0.5");
    assert_true(p[2].is_whole && !p[2].is_log);
    assert_false(p[3].is_whole); /* the ends are whole, the setting is not */
    assert_int_equal(p[4].choices, 1);
    exp_space_free(&space);
}

static void test_space_mistakes_name_line_and_key(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"dropot = 0 .. 0.5", "line 1: there is no setting 'dropot' (did you mean dropout?)"},
        {"\ndropout 0.5", "line 2: 'dropout 0.5' is no setting"},
        {"dropout = 0.5 .. 0.1", "dropout goes from '0.5' to '0.1'"},
        {"dropout = 0.1 .. 2", "dropout is '2', expected 0..0.999"},
        {"dropout = 0.1 | 7", "dropout is '7'"},
        {"dropout = 0.1 | ", "dropout is ''"},
        {"dropout = 0.1 .. x", "dropout goes from '0.1' to 'x'"},
        {"dropout = 0 .. 0.5 log", "lower end above 0"},
        {"dropout = 0.1 .. 0.5 linear", "'linear' follows the range of dropout"},
        {"alpha = 0 .. 1\nalpha = 0.1 | 0.2", "line 2: alpha is given twice"},
        {"seed = 0 .. 9", "seed belongs to a run"},
        {"split = 0 | 1", "split belongs to a run"},
        {"threads = 1 | 2", "threads belongs to a run"},
        {"paths = 1.5 .. 3", "paths is '1.5'"},
        {"= 3", "there is no setting ''"},
        {"# nothing\n", "no setting to search"},
        {"", "no setting to search"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(bad[i].text, strlen(bad[i].text), bad[i].says);
    assert_refused("alpha = 0 .. 1\0x", 16, "expected a text");
    static char many[70000];
    memset(many, '#', sizeof many);
    assert_refused(many, sizeof many, "70000 bytes");
    assert_refused(many, 5000, "longer than");
}

static void test_space_builtin_ones_are_read_and_drawn_from(void **state) {
    (void)state;
    const char *name, *text, *about;
    pgcn_config present = pgcn_config_default(), config;
    int spaces = 0;
    for (; (name = exp_space_builtin(spaces, &text, &about)); spaces++) {
        exp_space space = parse(text);
        for (int i = 0; i < 50; i++) {
            assert_true(exp_space_draw(&space, 0, i, &present, NULL, &config));
            assert_int_equal(pgcn_config_check(&config), PGCN_OK);
        }
        for (int i = 0; i < space.parameters; i++)
            assert_string_not_equal(space.parameter[i].key, "select");
        exp_space_free(&space);
    }
    assert_int_equal(spaces, 5);
}

static void test_draw_values_lie_in_the_space_and_fill_it(void **state) {
    (void)state;
    exp_space space = parse("lr-mix = 1e-4 .. 1e-1 log\npath-length = 3 .. 5\n"
                            "dropout = 0.3 | 0.5\nalpha = 0.2 .. 0.4\n");
    pgcn_config present = pgcn_config_default(), config;
    enum { DRAWS = 400 };
    int lengths[6] = {0}, dropouts = 0, below = 0, all = 0;
    double alpha = 0;
    for (int i = 1; i < 2 * DRAWS; i += 2, all++) { /* odd ones draw everything */
        assert_true(exp_space_draw(&space, 3, i, &present, NULL, &config));
        assert_in_range(config.path_length, 3, 5);
        lengths[config.path_length]++;
        assert_true(config.dropout == 0.3 || config.dropout == 0.5);
        dropouts += config.dropout == 0.3;
        assert_true(config.lr_mix >= 1e-4 && config.lr_mix <= 1e-1);
        below += config.lr_mix < pow(10, -2.5); /* the middle of the logarithms */
        assert_true(config.alpha >= 0.2 && config.alpha <= 0.4);
        alpha += config.alpha;
        assert_int_equal(config.channels, present.channels); /* not in the space */
    }
    for (int k = 3; k <= 5; k++) assert_in_range(lengths[k], all / 3 - 40, all / 3 + 40);
    assert_in_range(dropouts, all / 2 - 40, all / 2 + 40);
    assert_in_range(below, all / 2 - 40, all / 2 + 40);
    assert_true(fabs(alpha / all - 0.3) < 0.01);
    exp_space_free(&space);
}

static int changes(const pgcn_config *a, const pgcn_config *b) {
    pgcn_field field;
    int count = 0;
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        char x[256], y[256];
        pgcn_config_get(a, field.key, x, sizeof x);
        pgcn_config_get(b, field.key, y, sizeof y);
        count += strcmp(x, y) != 0;
    }
    return count;
}

static void test_draw_number_decides_what_is_kept(void **state) {
    (void)state;
    const char *text, *about;
    exp_space_builtin(0, &text, &about);
    exp_space space = parse(text);
    pgcn_config present = pgcn_config_default(), config, again;
    assert_true(exp_space_draw(&space, 1, 0, &present, NULL, &config));
    assert_int_equal(changes(&present, &config), 0);
    double near = 0;
    for (int i = 2; i < 200; i += 2) {
        assert_true(exp_space_draw(&space, 1, i, &present, NULL, &config));
        near += changes(&present, &config) / 99.0;
        assert_true(exp_space_draw(&space, 1, i, &present, NULL, &again)); /* the same every time */
        assert_int_equal(changes(&again, &config), 0);
        assert_true(exp_space_draw(&space, 2, i, &present, NULL, &again));
        if (i < 10) assert_int_not_equal(changes(&again, &config), 0);
    }
    assert_true(near > 0.2 * space.parameters && near < 0.5 * space.parameters);
    exp_space_free(&space);
}

/* Values that break a rule between settings are drawn again, and said if there are no others. */
static void test_draw_forbidden_combinations_are_left_out(void **state) {
    (void)state;
    exp_space space = parse("samples = 1 | 2\n"); /* 1 cannot be consistent with anything */
    pgcn_config present = pgcn_config_default(), config;
    for (int i = 1; i < 20; i += 2) {
        assert_true(exp_space_draw(&space, 0, i, &present, NULL, &config));
        assert_int_equal(config.samples, 2);
    }
    exp_space_free(&space);
    space = parse("samples = 1\n");
    assert_false(exp_space_draw(&space, 0, 1, &present, NULL, &config));
    exp_space_free(&space);
}

/* What would do nothing beside the rest of a candidate stays as it is. */
static void test_draw_settings_that_do_nothing_stay_as_they_are(void **state) {
    (void)state;
    exp_space space =
        parse("residual = none | initial\nalpha = 0.5 .. 0.9\nhops = 0.5 .. 32\n"
              "kernel-start = smooth | random\npath-length = 1 .. 6\npaths = 7 | 9\n");
    pgcn_config present = pgcn_config_default(), config;
    int without = 0, random = 0, alone = 0;
    for (int i = 1; i < 200; i += 2) {
        assert_true(exp_space_draw(&space, 0, i, &present, NULL, &config));
        bool has_residual = config.residual != PGCN_RESIDUAL_NONE;
        bool has_hops = config.kernel_start == PGCN_START_SMOOTH && config.path_length > 1;
        assert_true(has_residual ? config.alpha >= 0.5 : config.alpha == present.alpha);
        assert_true(has_hops || config.hops == present.hops);
        assert_true(!has_hops || config.hops <= config.path_length - 1.0); /* two layers' reach */
        assert_true(config.path_length > 1 ? config.paths > 5 : config.paths == present.paths);
        without += !has_residual, random += config.kernel_start == PGCN_START_RANDOM;
        alone += config.path_length == 1;
    }
    assert_true(without > 10 && random > 10 && alone > 2);
    exp_space_free(&space);
}

static bool at_border(const exp_space *space, int i, const char *value) {
    pgcn_config config = pgcn_config_default();
    must(pgcn_config_set(&config, space->parameter[i].key, value));
    return exp_space_at_border(&space->parameter[i], &config);
}

static void test_space_border_is_where_a_wider_one_could_go_on(void **state) {
    (void)state;
    exp_space space = parse("wd-ends = 1e-4 .. 1e-2 log\n"
                            "dropout = 0 .. 0.5\n"
                            "path-length = 3 .. 7\n"
                            "paths = 5 | 10 | 20\n"
                            "channels = 64 | 128\n"
                            "mix = identity | random\n");
    assert_true(at_border(&space, 0, "9.8e-3"));
    assert_true(at_border(&space, 0, "1.05e-4"));
    assert_false(at_border(&space, 0, "1e-3"));
    assert_true(at_border(&space, 1, "0.49"));
    assert_false(at_border(&space, 1, "0")); /* no dropout goes below it */
    assert_true(at_border(&space, 2, "7"));
    assert_true(at_border(&space, 2, "3"));
    assert_false(at_border(&space, 2, "6"));
    assert_true(at_border(&space, 3, "20"));
    assert_false(at_border(&space, 3, "10"));
    assert_false(at_border(&space, 4, "128")); /* one of two */
    assert_false(at_border(&space, 5, "random"));
    exp_space_free(&space);
}

/* A start with one sample has no consistency to search for: the built-in spaces can be drawn from anyway. */
static void test_space_leaves_out_consistency_where_there_is_one_sample(void **state) {
    (void)state;
    const char *name, *text, *about;
    for (int i = 0; (name = exp_space_builtin(i, &text, &about)); i++) {
        exp_space space = parse(text);
        pgcn_config present = settings("samples=1 consistency=0"), config;
        if (strcmp(name, "semi") == 0) assert_non_null(strstr(text, "consistency"));
        for (int c = 1; c < 20; c++) {
            assert_true(exp_space_draw(&space, 1, c, &present, NULL, &config));
            assert_true(config.samples > 1 || config.consistency <= 0);
        }
        exp_space_free(&space);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_space_leaves_out_consistency_where_there_is_one_sample),
        cmocka_unit_test(test_space_lines_are_ranges_and_choices),
        cmocka_unit_test(test_space_mistakes_name_line_and_key),
        cmocka_unit_test(test_space_border_is_where_a_wider_one_could_go_on),
        cmocka_unit_test(test_space_builtin_ones_are_read_and_drawn_from),
        cmocka_unit_test(test_draw_values_lie_in_the_space_and_fill_it),
        cmocka_unit_test(test_draw_number_decides_what_is_kept),
        cmocka_unit_test(test_draw_forbidden_combinations_are_left_out),
        cmocka_unit_test(test_draw_settings_that_do_nothing_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
