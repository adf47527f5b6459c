/* Keys of jobs: the same for what gives the same record, different for everything else; the list of
 * jobs, its records and its estimates. */
#include "experiments/experiments.h"
#include "unit/nn_help.h"

#include <unistd.h>

static exp_data load(const char *name) {
    exp_data set = {0};
    snprintf(set.name, sizeof set.name, "%s", name);
    assert_int_equal(pgcn_dataset_load(name, NULL, &set.data), PGCN_OK);
    assert_true(exp_data_hash(&set));
    return set;
}

static void test_hash_known_text_is_sha256(void **state) {
    (void)state;
    char hash[EXP_HASH_BYTES];
    assert_true(exp_hash("abc", 3, hash));
    assert_string_equal(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void test_key_every_setting_matters_but_those_of_the_run(void **state) {
    (void)state;
    static const struct {
        const char *key, *value;
    } changes[] = {{"layers", "3"},     {"hops", "4.000000000000001"},
                   {"dropout", "0.61"}, {"epochs", "1499"},
                   {"patience", "99"},  {"select", "accuracy"},
                   {"kernel", "layer"}, {"bf16", "yes"},
                   {"seed", "1"},       {"split", "1"}};
    exp_data set = load("karate");
    pgcn_config config = pgcn_config_default();
    char first[EXP_KEY_BYTES], first_kind[EXP_KEY_BYTES], key[EXP_KEY_BYTES], kind[EXP_KEY_BYTES];
    assert_true(exp_job_key(&set, &config, first, first_kind));
    assert_int_equal(strlen(first), 32);
    assert_string_not_equal(first, first_kind);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        pgcn_config other = config;
        assert_int_equal(pgcn_config_set(&other, changes[i].key, changes[i].value), PGCN_OK);
        assert_true(exp_job_key(&set, &other, key, kind));
        assert_string_not_equal(key, first);
        bool of_the_kind =
            strcmp(changes[i].key, "seed") == 0 || strcmp(changes[i].key, "split") == 0;
        assert_int_equal(strcmp(kind, first_kind) == 0, of_the_kind);
    }
    config.threads = 7;
    config.recompute = true;
    assert_true(exp_job_key(&set, &config, key, kind));
    assert_string_equal(key, first);
    pgcn_dataset_free(set.data);
}

/* The library's fingerprint does not cover splits, so the key must. */
static void test_key_other_splits_of_the_same_graph_differ(void **state) {
    (void)state;
    exp_data a = load("karate:stratified=60/20/20"), b = load("karate:stratified=50/30/20");
    assert_string_equal(pgcn_dataset_describe(a.data).fingerprint,
                        pgcn_dataset_describe(b.data).fingerprint);
    assert_string_not_equal(a.hash, b.hash);
    exp_data again = load("karate:stratified=60/20/20");
    assert_string_equal(a.hash, again.hash);
    pgcn_dataset_free(a.data);
    pgcn_dataset_free(b.data);
    pgcn_dataset_free(again.data);
}

/* The text that is hashed, written a second time: a part that is left out makes two jobs one. */
static void test_key_covers_bits_data_settings_seed_and_split(void **state) {
    (void)state;
    exp_data set = load("karate");
    pgcn_config config = pgcn_config_default();
    assert_int_equal(pgcn_config_set(&config, "model", "gin"),
                     PGCN_OK); /* which has a setting of its own */
    char key[EXP_KEY_BYTES], kind[EXP_KEY_BYTES], hash[EXP_HASH_BYTES], text[8192];
    assert_true(exp_job_key(&set, &config, key, kind));
    int length = snprintf(text, sizeof text, "pathgcn job 1\nbits %d\ndata %s\ndraws %d\n",
                          PGCN_BITS_REVISION, set.hash, EXP_DRAWS);
    pgcn_field field;
    for (int i = 0; pgcn_config_field(i, &field); i++) {
        char value[256];
        if (strcmp(field.group, "run") == 0 || strcmp(field.key, "seed") == 0 ||
            strcmp(field.key, "split") == 0)
            continue;
        if (field.own && !pgcn_config_uses(&config, field.key)) continue; /* of another network */
        assert_int_equal(pgcn_config_get(&config, field.key, value, sizeof value), PGCN_OK);
        length +=
            snprintf(text + length, sizeof text - (size_t)length, "%s %s\n", field.key, value);
    }
    assert_true(exp_hash(text, (size_t)length, hash));
    assert_memory_equal(hash, kind, 32);
    length += snprintf(text + length, sizeof text - (size_t)length, "seed 0\nsplit auto\n");
    assert_true(exp_hash(text, (size_t)length, hash));
    assert_memory_equal(hash, key, 32);
    pgcn_dataset_free(set.data);
}

/* ---- the list ---------------------------------------------------------------------------------- */

static const cli_command command = {.name = "test"};

static void test_jobs_equal_trainings_are_one_job(void **state) {
    (void)state;
    char directory[] = "/tmp/pathgcn-jobs-XXXXXX";
    assert_non_null(mkdtemp(directory));
    exp_data set = load("karate");
    exp_jobs jobs, second;
    assert_int_equal(exp_jobs_open(&jobs, &command, directory), PGCN_OK);
    pgcn_config config = pgcn_config_default();
    size_t a, b, c;
    assert_int_equal(exp_jobs_add(&jobs, &set, &config, false, &a), PGCN_OK);
    config.threads = 3; /* no influence on any result */
    assert_int_equal(exp_jobs_add(&jobs, &set, &config, false, &b), PGCN_OK);
    config.seed = 5;
    assert_int_equal(exp_jobs_add(&jobs, &set, &config, false, &c), PGCN_OK);
    assert_int_equal(a, b);
    assert_int_not_equal(a, c);
    assert_int_equal(jobs.count, 2);
    assert_int_equal(jobs.kinds, 1);
    assert_int_equal(jobs.job[a].config.threads, 1);
    assert_int_equal(exp_jobs_open(&second, &command, directory), PGCN_ERR_SYSTEM); /* locked */
    exp_jobs_close(&jobs);
    assert_int_equal(exp_jobs_open(&second, &command, directory), PGCN_OK);
    exp_jobs_close(&second);
    pgcn_dataset_free(set.data);
    char path[64];
    snprintf(path, sizeof path, "%s/jobs", directory);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(directory), 0);
}

static void test_expected_seconds_follow_what_is_known(void **state) {
    (void)state;
    exp_kind kinds[2] = {{.setup_seconds = 1, .epoch_seconds = 0.5}, {.epoch_seconds = 0}};
    exp_job list[2] = {{.kind = 0}, {.kind = 1}};
    exp_jobs jobs = {.count = 2, .job = list, .kinds = 2, .kind = kinds};
    for (int i = 0; i < 2; i++) {
        list[i].config = pgcn_config_default();
        list[i].config.epochs = 100;
        list[i].config.patience = 0;
    }
    double most;
    assert_float_equal(exp_expected_seconds(&jobs, &list[0], &most), 51, 1e-5);
    assert_float_equal(most, 51, 1e-5);
    assert_float_equal(exp_expected_seconds(&jobs, &list[1], NULL), 50, 1e-5);
    list[0].config.patience = 10; /* it may stop early: the share that is usual */
    assert_float_equal(exp_expected_seconds(&jobs, &list[0], &most), 1 + 0.35 * 50, 1e-5);
    assert_float_equal(most, 51, 1e-5);
    kinds[0].done = 2; /* two of its kind took 8 seconds together */
    kinds[0].seconds = 8;
    kinds[0].epochs = 40;
    assert_float_equal(exp_expected_seconds(&jobs, &list[0], NULL), 4, 1e-5);
}

static void test_record_number_follows_the_path(void **state) {
    (void)state;
    json_t *record = json_pack("{s:{s:f, s:n}, s:i}", "a", "b", 1.5, "c", "d", 3);
    assert_float_equal(exp_record_number(record, "a.b"), 1.5, 1e-5);
    assert_float_equal(exp_record_number(record, "d"), 3, 1e-5);
    assert_true(isnan(exp_record_number(record, "a.c")));
    assert_true(isnan(exp_record_number(record, "a.x.y")));
    assert_true(isnan(exp_record_number(NULL, "a")));
    json_decref(record);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_known_text_is_sha256),
        cmocka_unit_test(test_key_every_setting_matters_but_those_of_the_run),
        cmocka_unit_test(test_key_other_splits_of_the_same_graph_differ),
        cmocka_unit_test(test_key_covers_bits_data_settings_seed_and_split),
        cmocka_unit_test(test_jobs_equal_trainings_are_one_job),
        cmocka_unit_test(test_expected_seconds_follow_what_is_known),
        cmocka_unit_test(test_record_number_follows_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
