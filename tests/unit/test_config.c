/* The configuration: every field as text and back, refusals that name the key and what is accepted,
 * rules between fields, recipes, JSON, structs filled by hand and structs of older headers. */
#include "nn_help.h"

/* ---- fields ------------------------------------------------------------------------------------ */

/* Two good and three bad values of every field; the test below counts that none is missing. */
static const struct {
    const char *key, *good[2], *bad[3];
} samples[] = {
    {"layers", {"1", "4096"}, {"0", "4097", "2.5"}},
    {"channels", {"1", "65536"}, {"0", "65537", "many"}},
    {"path-length", {"1", "4096"}, {"0", "4097", ""}},
    {"paths", {"1", "65536"}, {"-1", "65537", "1x"}},
    {"kernel", {"global", "full"}, {"Full", "", "global | layer"}},
    {"kernel-start", {"identity", "neighbours"}, {"zero", "smooth ", "0"}},
    {"hops", {"0", "1.347"}, {"-0.1", "inf", "1e7"}},
    {"kernel-noise", {"0.1", "100"}, {"-1", "nan", "101"}},
    {"mix", {"identity", "random"}, {"glorot", "", "identit"}},
    {"residual", {"none", "previous"}, {"first", "", "initial,"}},
    {"alpha", {"0", "1"}, {"1.0001", "-0.1", "half"}},
    {"scaling", {"sum", "walk"}, {"row", "", "walk|"}},
    {"self-loops", {"yes", "no"}, {"maybe", "", "2"}},
    {"batch-norm", {"yes", "no"}, {"on", "", "YES"}},
    {"walk", {"weighted", "node2vec"}, {"random", "", "node2vec2"}},
    {"return-p", {"1e-06", "1e+06"}, {"0", "-1", "1e7"}},
    {"inout-q", {"0.25", "4"}, {"0", "nan", "1e7"}},
    {"dropout", {"0", "0.999"}, {"1", "-0.1", ".5."}},
    {"dropout-last", {"-1", "0.8"}, {"1", "-2", "same"}},
    {"drop-rows", {"0.5", "0.1"}, {"1", "-1", "x"}},
    {"normalise", {"none", "rows"}, {"yes", "", "row"}},
    {"direction", {"backward", "forward"}, {"split", "", "forwards"}},
    {"input-hops", {"0", "2.5"}, {"-1", "", "many"}},
    {"input-norm", {"no", "yes"}, {"batch", "", "2"}},
    {"dropout-hidden", {"0.5", "0.999"}, {"1", "-0.1", "x"}},
    {"model", {"gin", "pathgcn"}, {"gim", "", "GIN"}},
    {"frequency", {"0.4", "-4"}, {"5", "-4.5", "idf"}},
    {"readout", {"layers", "relu"}, {"mean", "", "layer"}},
    {"batch", {"0", "128"}, {"-1", "2e9", "all"}},
    {"steps", {"0", "50"}, {"-1", "1000001", "x"}},
    {"batch-by", {"nodes", "cluster"}, {"node", "", "graphs"}},
    {"parts", {"2", "1000"}, {"1", "x", "2.5"}},
    {"parts-per-step", {"1", "20"}, {"0", "x", "2.5"}},
    {"parts-by", {"metis", "builtin"}, {"METIS", "", "parts"}},
    {"diagonal", {"0", "1.5"}, {"-1", "x", "101"}},
    {"neighbours", {"15,10", "all"}, {"0", "15,,10", "none"}},
    {"batch-paths", {"5,3,2", "1"}, {"0", "5,", "few"}},
    {"unlabelled", {"0", "100"}, {"-1", "x", "2.5"}},
    {"eval-nodes", {"0", "100"}, {"-1", "x", "2.5"}},
    {"clip", {"0", "0.1"}, {"-1", "1e7", "x"}},
    {"lr-halve", {"0", "50"}, {"-1", "1000001", "x"}},
    {"train-form", {"exact", "sampled"}, {"both", "", "Exact"}},
    {"samples", {"1", "64"}, {"0", "65", "1.5"}},
    {"consistency", {"0", "1e+06"}, {"-1", "2e6", "inf"}},
    {"temperature", {"0.01", "100"}, {"0", "101", "cold"}},
    {"consistency-ramp", {"0", "1000000"}, {"-1", "1000001", "0.5"}},
    {"pseudo-labels", {"0", "50"}, {"-1", "1e10", "x"}},
    {"pseudo-from", {"1", "250"}, {"0", "1000001", "0.5"}},
    {"lr-ends", {"0", "100"}, {"-1", "101", "1e-2e"}},
    {"lr-mix", {"0.001", "0.0002"}, {"-1e-9", "101", ""}},
    {"lr-kernel", {"0", "0.3333333333333333"}, {"-1", "1e3", "0,1"}},
    {"wd-ends", {"0.0005", "2"}, {"-1", "1e7", "x"}},
    {"wd-mix", {"0", "1e+06"}, {"-1", "1e7", "x"}},
    {"wd-kernel", {"0", "1e+06"}, {"-1", "1e7", "x"}},
    {"resample-every", {"0", "7"}, {"-1", "1000001", "x"}},
    {"paths-per-layer", {"yes", "no"}, {"y", "", "01"}},
    {"epochs", {"1", "1000000"}, {"0", "1000001", "x"}},
    {"patience", {"0", "1000000"}, {"-1", "1000001", "x"}},
    {"select", {"average-precision", "loss"}, {"test", "", "AUC"}},
    {"eval-every", {"1", "1000000"}, {"0", "1000001", "x"}},
    {"allow-missing-class", {"yes", "no"}, {"x", "", "-1"}},
    {"split", {"numbered", "123456789"}, {"private", "1234567890", "-1"}},
    {"seed", {"0", "9223372036854775807"}, {"9223372036854775808", "-1", " 1"}},
    {"threads", {"0", "1024"}, {"-1", "1025", "x"}},
    {"recompute", {"yes", "no"}, {"1.0", "", "no "}},
    {"bf16", {"yes", "no"}, {"16", "", "float"}},
    {"hidden-rows", {"bf16", "float32"}, {"yes", "", "float"}},
    {"eps", {"0.5", "-1"}, {"-101", "1e3", "none"}},
    {"bias", {"yes", "no"}, {"2", "", "none"}},
    {"layer-norm", {"yes", "no"}, {"2", "", "batch"}},
    {"self-mix", {"yes", "no"}, {"2", "", "both"}},
    {"norm-over", {"step", "graph"}, {"yes", "", "batch"}},
    {"norm-gain", {"yes", "no"}, {"2", "", "shift"}},
    {"heads", {"1", "64"}, {"0", "65", "2.5"}},
    {"edge-loss", {"0", "4"}, {"-1", "x", ""}},
    {"edge-sample", {"0.001", "1"}, {"0", "1.1", ""}},
    {"negatives", {"0", "2.5"}, {"-1", "101", "few"}},
    {"attention", {"fixed", "recomputed"}, {"free", "", "2"}},
    {"integrator", {"euler", "rk4"}, {"rk5", "", "2"}},
    {"attention-channels", {"1", "64"}, {"0", "4097", "1.5"}},
    {"heads-last", {"1", "64"}, {"0", "65", "all"}},
    {"dropout-attention", {"0", "0.5"}, {"-0.1", "1", ""}},
    {"dropout-values", {"0", "0.5"}, {"-0.1", "1", ""}},
    {"edge-keep", {"0.001", "1"}, {"0", "1.5", "all"}},
    {"powers", {"0", "1000"}, {"-1", "1001", "2.5"}},
    {"order", {"0", "100"}, {"-1", "101", "1.5"}},
    {"eigenvalue", {"power", "two"}, {"2", "", "three"}},
    {"lambda", {"0", "100"}, {"-1", "101", "x"}},
    {"skip", {"yes", "no"}, {"2", "", "maybe"}},
    {"jump", {"concat", "max"}, {"sum", "", "1"}},
    {"c-min", {"0", "1"}, {"-0.1", "1.5", "low"}},
    {"c-max", {"0.0001", "100"}, {"0", "101", "high"}},
    {"beta", {"0", "1"}, {"-0.1", "1.5", "x"}},
    {"orthogonal", {"0", "20"}, {"-1", "2e6", "yes"}},
    {"threshold", {"-10", "0.5"}, {"-2e6", "x", ""}},
    {"step", {"1e-06", "1000"}, {"0", "1001", "small"}},
    {"activation", {"tanh", "relu"}, {"2", "", "elu"}},
    {"class-weights", {"balanced", "1,0.5,3"}, {"1,,2", "", "0,1"}},
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static const pgcn_field *field_of(const char *key) {
    static pgcn_field field;
    for (int i = 0; pgcn_config_field(i, &field); i++)
        if (strcmp(field.key, key) == 0) return &field;
    fail_msg("there is no field %s", key);
    return NULL;
}

static void test_config_every_field_is_listed_and_tested(void **state) {
    (void)state;
    pgcn_field field;
    int count = 0;
    for (; pgcn_config_field(count, &field); count++) {
        int found = 0;
        for (int s = 0; s < SAMPLES; s++) found += strcmp(samples[s].key, field.key) == 0;
        if (found != 1)
            fail_msg("field %s has %d rows in the table of this test", field.key, found);
        assert_true(strlen(field.accepts) > 2 && strlen(field.help) > 5);
        assert_true(strcmp(field.group, "model") == 0 || strcmp(field.group, "training") == 0 ||
                    strcmp(field.group, "run") == 0);
    }
    assert_int_equal(count, SAMPLES);
    assert_false(pgcn_config_field(-1, &field));
    assert_false(pgcn_config_field(count, &field));
}

static void test_config_set_then_get_gives_the_text_back(void **state) {
    (void)state;
    for (int s = 0; s < SAMPLES; s++)
        for (int g = 0; g < 2; g++) {
            pgcn_config config = pgcn_config_default(), before = config;
            char text[64];
            must(pgcn_config_set(&config, samples[s].key, samples[s].good[g]));
            must(pgcn_config_get(&config, samples[s].key, text, sizeof text));
            assert_string_equal(text, samples[s].good[g]);
            /* and nothing else changed */
            for (int other = 0; other < SAMPLES; other++) {
                char was[64], is[64];
                if (other == s) continue;
                must(pgcn_config_get(&before, samples[other].key, was, sizeof was));
                must(pgcn_config_get(&config, samples[other].key, is, sizeof is));
                assert_string_equal(was, is);
            }
        }
}

static void test_config_bad_value_is_refused_with_key_and_range(void **state) {
    (void)state;
    for (int s = 0; s < SAMPLES; s++)
        for (int b = 0; b < 3; b++) {
            pgcn_config config = pgcn_config_default(), before = config;
            pgcn_status status = pgcn_config_set(&config, samples[s].key, samples[s].bad[b]);
            if (status != PGCN_ERR_ARGUMENT)
                fail_msg("%s takes '%s'", samples[s].key, samples[s].bad[b]);
            must_fail(status, PGCN_ERR_ARGUMENT, samples[s].key);
            must_fail(status, PGCN_ERR_ARGUMENT, field_of(samples[s].key)->accepts);
            assert_memory_equal(&config, &before, sizeof config);
        }
}

static void test_config_numbers_in_other_spellings_are_read(void **state) {
    (void)state;
    pgcn_config config = pgcn_config_default();
    char text[32];
    must(pgcn_config_set(&config, "epochs", "1e3"));
    assert_int_equal(config.epochs, 1000);
    must(pgcn_config_set(&config, "lr-ends", "5.0e-3"));
    assert_true(config.lr_ends == 0.005);
    must(pgcn_config_set(&config, "dropout", "-0"));
    must(pgcn_config_get(&config, "dropout", text, sizeof text));
    assert_string_equal(text, "0");
    must(pgcn_config_set(&config, "self-loops", "false"));
    assert_false(config.self_loops);
    must(pgcn_config_set(&config, "self-loops", "1"));
    assert_true(config.self_loops);
}

static void test_config_unknown_key_is_refused(void **state) {
    (void)state;
    pgcn_config config = pgcn_config_default();
    char text[32];
    must_fail(pgcn_config_set(&config, "learning-rate", "1"), PGCN_ERR_ARGUMENT, "'learning-rate'");
    must_fail(pgcn_config_set(&config, "path_length", "1"), PGCN_ERR_ARGUMENT, "'path_length'");
    must_fail(pgcn_config_get(&config, "", text, sizeof text), PGCN_ERR_ARGUMENT, "''");
}

/* ---- rules between fields ------------------------------------------------------------------------ */

static void assert_rule(const char *text, const char *first, const char *second) {
    pgcn_config config = settings(text);
    pgcn_status status = pgcn_config_check(&config);
    must_fail(status, PGCN_ERR_ARGUMENT, first);
    must_fail(status, PGCN_ERR_ARGUMENT, second);
}

static void test_config_check_rules_between_fields(void **state) {
    (void)state;
    assert_rule("walk=node2vec", "self-loops", "node2vec");
    assert_rule("walk=node2vec self-loops=no train-form=exact", "train-form", "sampled");
    assert_rule("samples=1", "consistency", "samples");
    assert_rule("patience=5 eval-every=10", "patience", "at least 10");
    static const char *const fine[] = {"", "walk=node2vec self-loops=no", "samples=1 consistency=0",
                                       "patience=10 eval-every=10", "patience=0 eval-every=10"};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        pgcn_config config = settings(fine[i]);
        must(pgcn_config_check(&config));
    }
    must(pgcn_config_check(NULL)); /* the default */
}

/* ---- structs filled by hand ------------------------------------------------------------------------ */

#define ASSERT_REFUSED(field, value, says)                                                         \
    do {                                                                                           \
        pgcn_config by_hand = pgcn_config_default();                                               \
        by_hand.field = value;                                                                     \
        must_fail(pgcn_config_check(&by_hand), PGCN_ERR_ARGUMENT, says);                           \
    } while (0)

static void test_config_check_struct_out_of_range_is_refused(void **state) {
    (void)state;
    ASSERT_REFUSED(layers, 0, "layers");
    ASSERT_REFUSED(channels, -5, "channels");
    ASSERT_REFUSED(path_length, 5000, "path-length");
    ASSERT_REFUSED(paths, 0, "paths");
    ASSERT_REFUSED(kernel, (pgcn_kernel)4, "kernel is number 4");
    ASSERT_REFUSED(kernel_start, (pgcn_kernel_start)17, "kernel-start");
    ASSERT_REFUSED(walk, (pgcn_walk)3, "uniform | weighted | node2vec");
    ASSERT_REFUSED(alpha, (double)NAN, "alpha");
    ASSERT_REFUSED(hops, (double)INFINITY, "hops");
    ASSERT_REFUSED(dropout, 1, "dropout is '1', expected 0..0.999");
    ASSERT_REFUSED(samples, 65, "samples");
    ASSERT_REFUSED(temperature, 0, "temperature");
    ASSERT_REFUSED(lr_mix, -1e-30, "lr-mix");
    ASSERT_REFUSED(epochs, 0, "epochs");
    ASSERT_REFUSED(eval_every, 0, "eval-every");
    ASSERT_REFUSED(threads, -1, "threads");
    pgcn_config config = pgcn_config_default();
    memset(config.split, '1', sizeof config.split); /* no end */
    must_fail(pgcn_config_check(&config), PGCN_ERR_ARGUMENT, "split");
    strcpy(config.split, "first");
    must_fail(pgcn_config_check(&config), PGCN_ERR_ARGUMENT, "split");
}

static void test_config_without_size_is_refused(void **state) {
    (void)state;
    pgcn_config config = {.layers = 2};
    must_fail(pgcn_config_check(&config), PGCN_ERR_ARGUMENT, "pgcn_config_default");
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *trainer = NULL;
    must_fail(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_ARGUMENT, "pgcn_config_default");
    assert_null(trainer);
    pgcn_dataset_free(data);
}

/* A program of an older header has a shorter struct: what follows it is not ours to read or write. */
static void test_config_of_an_older_header_works(void **state) {
    (void)state;
    size_t size = offsetof(pgcn_config, epochs);
    unsigned char *old = malloc(size); /* AddressSanitizer sees a read behind it */
    pgcn_config config = settings("layers=3 channels=7");
    char text[32];
    config.size = size;
    memcpy(old, &config, size);
    pgcn_config *shorter = (void *)old;
    must(pgcn_config_check(shorter));
    must(pgcn_config_set(shorter, "layers", "1"));
    must(pgcn_config_get(shorter, "layers", text, sizeof text));
    assert_string_equal(text, "1");
    must_fail(pgcn_config_set(shorter, "epochs", "5"), PGCN_ERR_ARGUMENT, "'epochs'");
    must_fail(pgcn_config_get(shorter, "threads", text, sizeof text), PGCN_ERR_ARGUMENT,
              "'threads'");
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *trainer = NULL;
    must(pgcn_trainer_new(data, shorter, &trainer));
    assert_int_equal(trainer->config.channels, 7);
    assert_int_equal(trainer->config.epochs, pgcn_config_default().epochs);
    assert_int_equal(trainer->config.size, sizeof(pgcn_config));
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
    free(old);
}

/* ---- recipes, JSON, differences ---------------------------------------------------------------------- */

static void test_config_recipes_are_valid_and_complete(void **state) {
    (void)state;
    static const char *const names[] = {"cora",      "citeseer",  "pubmed", "cornell",
                                        "texas",     "wisconsin", "film",   "chameleon",
                                        "grid",      "sbm",       "karate", "cornell_fixed",
                                        "something", "",          ":"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pgcn_config config = pgcn_config_for(names[i]);
        must(pgcn_config_check(&config));
    }
    /* values from RECIPES: the whole line is applied, to its last setting */
    assert_true(pgcn_config_for("citeseer").temperature == 0.3);
    assert_true(pgcn_config_for("citeseer").path_length == 5);
    assert_true(pgcn_config_for("pubmed").clip == 0.1);
    assert_true(pgcn_config_for("cornell").frequency == 0.3);
    assert_true(pgcn_config_for("texas").kernel_noise == 0);
    assert_int_equal(pgcn_config_for("texas").kernel_start, PGCN_START_IDENTITY);
    assert_true(pgcn_config_for("texas").allow_missing_class);
    assert_int_equal(pgcn_config_for("wisconsin").select, PGCN_SELECT_LOSS);
    assert_int_equal(pgcn_config_for("film").select, PGCN_SELECT_ACCURACY);
    assert_int_equal(pgcn_config_for("chameleon").channels, 128);
    assert_true(pgcn_config_for("chameleon").batch_norm);
    assert_int_equal(pgcn_config_for("grid:rows=5").kernel_start, PGCN_START_IDENTITY);
    pgcn_config other = pgcn_config_for("coral"), plain = pgcn_config_default();
    assert_null(pgcn_i_config_difference(&other, &plain));
}

/* A setting of another network, which files do not hold and comparisons do not look at. */
static bool is_of_another_network(const pgcn_config *config, const char *key) {
    const pgcn_i_setting *own;
    for (int i = 0; (own = pgcn_i_own_setting(i)); i++)
        if (strcmp(own->key, key) == 0) return !pgcn_i_network_has(pgcn_i_network_of(config), own);
    return false;
}

static void test_config_json_gives_every_field_back(void **state) {
    (void)state;
    for (int g = 0; g < 2; g++) {
        pgcn_config config = pgcn_config_default(), back;
        for (int s = 0; s < SAMPLES; s++)
            must(pgcn_config_set(&config, samples[s].key, samples[s].good[g]));
        /* settings that the rules allow together */
        must(pgcn_i_config_apply(&config, "walk=weighted consistency=0 eval-every=1 threads=3"));
        json_t *json = pgcn_i_config_to_json(&config);
        assert_null(json_object_get(json, "threads")); /* no influence, so not in files */
        must(pgcn_i_config_from_json(json, "file", &back));
        json_decref(json);
        back.threads = config.threads;
        back.recompute = config.recompute;
        for (int s = 0; s < SAMPLES; s++) {
            char was[64], is[64];
            if (is_of_another_network(&config, samples[s].key)) continue;
            must(pgcn_config_get(&config, samples[s].key, was, sizeof was));
            must(pgcn_config_get(&back, samples[s].key, is, sizeof is));
            assert_string_equal(was, is);
        }
    }
}

static void test_config_json_that_is_not_one_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"[]", "not a JSON object"},
        {"{\"layers\": 2}", "'layers' is not a string"},
        {"{\"layers\": \"0\"}", "layers is '0'"},
        {"{\"depth\": \"2\"}", "'depth'"},
        {"{\"samples\": \"1\"}", "consistency"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pgcn_config config = settings("layers=9"), before = config;
        json_t *json = json_loads(bad[i].text, 0, NULL);
        pgcn_status status = pgcn_i_config_from_json(json, "some/file", &config);
        must_fail(status, PGCN_ERR_FORMAT, bad[i].says);
        must_fail(status, PGCN_ERR_FORMAT, "some/file");
        assert_memory_equal(&config, &before, sizeof config);
        json_decref(json);
    }
    pgcn_config config;
    must_fail(pgcn_i_config_from_json(NULL, "file", &config), PGCN_ERR_FORMAT, "file");
}

static void test_config_difference_names_the_key(void **state) {
    (void)state;
    pgcn_config base = pgcn_config_default();
    for (int s = 0; s < SAMPLES; s++) {
        if (is_of_another_network(&base, samples[s].key)) continue; /* test_models.c */
        pgcn_config other = base;
        char text[64];
        must(pgcn_config_get(&base, samples[s].key, text, sizeof text));
        bool first = strcmp(text, samples[s].good[0]) != 0;
        must(pgcn_config_set(&other, samples[s].key, samples[s].good[first ? 0 : 1]));
        const char *key = pgcn_i_config_difference(&base, &other);
        bool may_differ =
            strcmp(samples[s].key, "epochs") == 0 || strcmp(samples[s].key, "patience") == 0 ||
            strcmp(samples[s].key, "threads") == 0 || strcmp(samples[s].key, "recompute") == 0;
        if (may_differ)
            assert_null(key);
        else
            assert_string_equal(key, samples[s].key);
    }
}

/* ---- inference --------------------------------------------------------------------------------------- */

static void test_inference_parse_reads_and_refuses(void **state) {
    (void)state;
    pgcn_inference inference = pgcn_inference_default();
    assert_int_equal(inference.draws, 0);
    must(pgcn_inference_parse("stochastic:12", &inference));
    assert_int_equal(inference.draws, 12);
    must(pgcn_inference_parse("stochastic:1000000", &inference));
    must(pgcn_inference_parse("deterministic", &inference));
    assert_int_equal(inference.draws, 0);
    static const char *const bad[] = {"",
                                      "stochastic",
                                      "stochastic:",
                                      "stochastic:0",
                                      "stochastic:-1",
                                      "stochastic: 5",
                                      "stochastic:5x",
                                      "stochastic:1000001",
                                      "stochastic:4294967297",
                                      "Deterministic"};
    inference.draws = 3;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        must_fail(pgcn_inference_parse(bad[i], &inference), PGCN_ERR_ARGUMENT, "stochastic:N");
        assert_int_equal(inference.draws, 3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_every_field_is_listed_and_tested),
        cmocka_unit_test(test_config_set_then_get_gives_the_text_back),
        cmocka_unit_test(test_config_bad_value_is_refused_with_key_and_range),
        cmocka_unit_test(test_config_numbers_in_other_spellings_are_read),
        cmocka_unit_test(test_config_unknown_key_is_refused),
        cmocka_unit_test(test_config_check_rules_between_fields),
        cmocka_unit_test(test_config_check_struct_out_of_range_is_refused),
        cmocka_unit_test(test_config_without_size_is_refused),
        cmocka_unit_test(test_config_of_an_older_header_works),
        cmocka_unit_test(test_config_recipes_are_valid_and_complete),
        cmocka_unit_test(test_config_json_gives_every_field_back),
        cmocka_unit_test(test_config_json_that_is_not_one_is_refused),
        cmocka_unit_test(test_config_difference_names_the_key),
        cmocka_unit_test(test_inference_parse_reads_and_refuses),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
