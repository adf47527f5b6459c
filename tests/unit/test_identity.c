/* What a run is: its data, the masks of its split, its settings, and the revision of the results'
 * bits. Checkpoints of another run are refused, models are not tested on items they were trained on,
 * and files of pathgcn 0.1, which tell less, are read. */
#include "nn_help.h"

#include "bytes_help.h"
#include "scratch_help.h"

#include <math.h>

#define QUICK "channels=4 epochs=20 patience=0 "

static pgcn_model *trained(const pgcn_dataset *data) {
    pgcn_trainer *trainer = trainer_of(data, QUICK);
    pgcn_model *model;
    run_epochs(trainer, 3);
    must(pgcn_trainer_model(trainer, &model));
    pgcn_trainer_free(trainer);
    return model;
}

/* ---- hashes of splits ----------------------------------------------------------------------------- */

static pgcn_i_split_id id_of(const char *name) {
    pgcn_i_split_id id;
    pgcn_dataset *data = dataset(name);
    must(pgcn_i_split_identify(data, &data->split[0], &id));
    pgcn_dataset_free(data);
    return id;
}

static void test_split_hash_depends_on_the_masks_and_nothing_else(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        bool same_seen, same_all;
    } cases[] = {
        {"karate:stratified=50/25/25", "karate:stratified=50/25/25,splits=2", true, true},
        {"karate:stratified=50/25/25", "karate:stratified=50/25/25,order=degree", true, true},
        {"karate:stratified=50/25/25", "karate:stratified=50/25/25,features=degrees", true, true},
        {"karate:stratified=50/25/25", "karate:stratified=50/25/25,split-seed=1", false, false},
        {"karate:random=50/25/25", "karate:random=50/20/25", false, false},
        {"karate:random=50/25/25", "karate:random=50/25/10", true, false},
        {"karate:random=50/25/25", "karate:random=50/25/25,without-test", true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_i_split_id a = id_of(cases[i].a), b = id_of(cases[i].b);
        assert_int_equal(strlen(a.all), 64);
        assert_int_equal(strlen(a.seen), 64);
        assert_int_equal(strcmp(a.seen, b.seen) == 0, cases[i].same_seen);
        assert_int_equal(strcmp(a.all, b.all) == 0, cases[i].same_all);
        assert_string_not_equal(a.all, a.seen);
    }
}

/* Two sets of different size with empty masks at the end would otherwise be alike. */
static void test_split_hash_tells_mask_from_mask(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_i_split split = data->split[0], turned = split;
    pgcn_i_split_id a, b;
    turned.train = split.val;
    turned.val = split.train;
    must(pgcn_i_split_identify(data, &split, &a));
    must(pgcn_i_split_identify(data, &turned, &b));
    assert_string_not_equal(a.seen, b.seen);
    turned = split;
    turned.val = split.test;
    turned.test = split.val;
    must(pgcn_i_split_identify(data, &turned, &b));
    assert_string_not_equal(a.all, b.all);
    pgcn_dataset_free(data);
}

/* ---- checkpoints ----------------------------------------------------------------------------------- */

static void test_resume_on_another_split_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *first, *then, *says;
    } cases[] = {
        {"karate:stratified=50/25/25,split-seed=1", "karate:stratified=50/25/25,split-seed=2",
         "other training or validation nodes"},
        {"karate:random=50/25/25", "karate:random=50/25/10", "other test nodes"},
        {"karate:only-split=0", "karate:only-split=1", "split 0 and not 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_dataset *first = dataset(cases[i].first), *then = dataset(cases[i].then);
        assert_string_equal(first->fingerprint, then->fingerprint); /* no other check sees it */
        pgcn_trainer *a = trainer_of(first, QUICK), *b = trainer_of(then, QUICK);
        pgcn_trainer *again = trainer_of(first, QUICK);
        run_epochs(a, 4), run_epochs(b, 2);
        must(pgcn_trainer_save(a, scratch_path("c")));
        must_fail(pgcn_trainer_resume(b, scratch_path("c")), PGCN_ERR_MISMATCH, cases[i].says);
        must_fail(PGCN_ERR_MISMATCH, PGCN_ERR_MISMATCH, scratch_path("c"));
        assert_int_equal(b->progress.epochs, 2);
        must(pgcn_trainer_resume(again, scratch_path("c"))); /* the same split is the same run */
        assert_null(pgcn_trainer_note(again, 0));
        pgcn_trainer_free(a), pgcn_trainer_free(b), pgcn_trainer_free(again);
        pgcn_dataset_free(first), pgcn_dataset_free(then);
    }
}

/* A checkpoint of three epochs with a part of its metadata replaced. */
static const char *changed_checkpoint(const pgcn_dataset *data, const char *from, const char *to) {
    pgcn_trainer *trainer = trainer_of(data, QUICK);
    run_epochs(trainer, 3);
    must(pgcn_trainer_save(trainer, scratch_path("good")));
    pgcn_trainer_free(trainer);
    file_bytes b = bytes_of(scratch_path("good"));
    change(&b, from, to);
    const char *path = scratch_write("changed", b.data, b.count);
    free(b.data);
    return path;
}

static const char *revision_now(void) {
    static char text[48];
    snprintf(text, sizeof text, "\"bits_revision\":\"%d\"", PGCN_BITS_REVISION);
    return text;
}

static void test_resume_with_other_bits_is_refused_unless_accepted(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    const char *path = changed_checkpoint(data, revision_now(), "\"bits_revision\":\"9\"");
    pgcn_trainer *trainer = trainer_of(data, QUICK);
    must_fail(pgcn_trainer_resume(trainer, path), PGCN_ERR_MISMATCH, "revision 9, here");
    must_fail(PGCN_ERR_MISMATCH, PGCN_ERR_MISMATCH, "--accept-other-version");
    assert_int_equal(trainer->progress.epochs, 0);
    assert_null(pgcn_trainer_note(trainer, 0));
    pgcn_resume_opts opts = pgcn_resume_opts_default();
    assert_false(opts.accept_other_version);
    opts.accept_other_version = true;
    must(pgcn_trainer_resume_with(trainer, path, &opts));
    assert_int_equal(trainer->progress.epochs, 3);
    assert_non_null(strstr(pgcn_trainer_note(trainer, 0), "bits of neither version"));
    assert_null(pgcn_trainer_note(trainer, 1));
    assert_null(pgcn_trainer_note(trainer, -1));
    run_epochs(trainer, 2);
    opts.size = 0;
    must_fail(pgcn_trainer_resume_with(trainer, path, &opts), PGCN_ERR_ARGUMENT,
              "pgcn_resume_opts_default");
    must_fail(pgcn_trainer_resume_with(NULL, path, NULL), PGCN_ERR_ARGUMENT, "NULL");
    must_fail(pgcn_trainer_resume_with(trainer, NULL, NULL), PGCN_ERR_ARGUMENT, "NULL");
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

static void test_resume_on_another_instruction_set_says_so(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    char here[32], other[32];
    snprintf(here, sizeof here, "\"isa\":\"%s\"", pgcn_i_kernels_get()->isa);
    snprintf(other, sizeof other, "%s", here);
    other[strlen(other) - 2] = '!';
    const char *path = changed_checkpoint(data, here, other);
    pgcn_trainer *trainer = trainer_of(data, QUICK);
    must(pgcn_trainer_resume(trainer, path));
    assert_non_null(strstr(pgcn_trainer_note(trainer, 0), "to rounding, and no longer to the bit"));
    must(pgcn_trainer_resume(trainer, scratch_path("good"))); /* notes are those of the last one */
    assert_null(pgcn_trainer_note(trainer, 0));
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

static void test_checkpoint_without_its_identity_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"\"split_sha256\":\"", "\"split_sha257\":\"", "split_sha256"},
        {"\"split_seen_sha256\":\"", "\"split_seen_sha257\":\"", "split_seen_sha256"},
        {"\"isa\":\"", "\"ise\":\"", "'isa'"},
    };
    pgcn_dataset *data = dataset("karate");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = changed_checkpoint(data, cases[i].from, cases[i].to);
        pgcn_trainer *trainer = trainer_of(data, QUICK);
        must_fail(pgcn_trainer_resume(trainer, path), PGCN_ERR_FORMAT, cases[i].says);
        pgcn_trainer_free(trainer);
    }
    pgcn_trainer *trainer = trainer_of(data, QUICK);
    must_fail(pgcn_trainer_resume(
                  trainer, changed_checkpoint(data, revision_now(), "\"bits_revision\":\"x\"")),
              PGCN_ERR_FORMAT, "bits_revision is 'x'");
    char hash[96], upper[96];
    snprintf(hash, sizeof hash, "\"split_sha256\":\"%s", pgcn_trainer_split_hash(trainer));
    snprintf(upper, sizeof upper, "%s", hash);
    upper[strlen(upper) - 1] = 'G';
    must_fail(pgcn_trainer_resume(trainer, changed_checkpoint(data, hash, upper)), PGCN_ERR_FORMAT,
              "64 hex digits");
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

/* ---- models ------------------------------------------------------------------------------------------ */

static void test_evaluate_scores_the_split_of_the_training_and_no_other(void **state) {
    (void)state;
    static const struct {
        const char *name;
        pgcn_split_match match;
        int split;
    } cases[] = {
        {"karate:random=50/25/25,splits=2,split-seed=1", PGCN_SPLIT_SAME, 0},
        {"karate:random=50/25/25,splits=2,split-seed=1,order=degree", PGCN_SPLIT_SAME, 0},
        {"karate:random=50/25/10,split-seed=1", PGCN_SPLIT_SAME, 0}, /* fewer test nodes */
        {"karate:random=50/25/25,splits=2,split-seed=2", PGCN_SPLIT_OTHER, -1},
        {"karate:random=60/25/15,split-seed=1", PGCN_SPLIT_OTHER, -1},
        {"karate:random=50/25/25,splits=2,split-seed=1,only-split=1", PGCN_SPLIT_NONE, -1},
    };
    pgcn_dataset *data = dataset(cases[0].name);
    pgcn_model *model = trained(data);
    assert_int_equal(strlen(pgcn_model_split_hash(model)), 64);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_dataset *other = dataset(cases[i].name);
        pgcn_scores scores;
        must(pgcn_model_evaluate(model, other, NULL, &scores));
        assert_int_equal(scores.split_match, cases[i].match);
        assert_int_equal(scores.split, cases[i].split);
        bool same = cases[i].match == PGCN_SPLIT_SAME;
        assert_int_equal(!isnan(scores.test.accuracy), same);
        assert_int_equal(!isnan(scores.train.accuracy), same);
        assert_int_equal(!isnan(scores.val.loss), same);
        assert_true(!isnan(scores.all.accuracy));
        pgcn_dataset_free(other);
    }
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

/* Choosing without the test, and testing once at the end, is what without-test is for. */
static void test_evaluate_tests_a_model_trained_without_test(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate:without-test"), *whole = dataset("karate");
    pgcn_model *model = trained(data);
    pgcn_scores scores;
    must(pgcn_model_evaluate(model, data, NULL, &scores));
    assert_int_equal(scores.split_match, PGCN_SPLIT_SAME);
    assert_true(isnan(scores.test.accuracy) != 0);
    must(pgcn_model_evaluate(model, whole, NULL, &scores));
    assert_int_equal(scores.split_match, PGCN_SPLIT_SAME);
    assert_true(!isnan(scores.test.accuracy));
    pgcn_model_free(model);
    pgcn_dataset_free(data), pgcn_dataset_free(whole);
}

/* A split that has the masks is the split, whatever it is called there. */
static void test_evaluate_finds_a_split_by_its_masks(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate:random=50/25/25,splits=2");
    pgcn_model *model = trained(data);
    pgcn_scores scores;
    pgcn_i_split first = data->split[0];
    memcpy(data->split[0].name, "1", 2), memcpy(data->split[1].name, "0", 2);
    must(pgcn_model_evaluate(model, data, NULL, &scores));
    assert_int_equal(scores.split_match, PGCN_SPLIT_SAME);
    assert_int_equal(scores.split, 0);
    data->split[0] = data->split[1]; /* now the masks are gone, and the name is still there */
    must(pgcn_model_evaluate(model, data, NULL, &scores));
    assert_int_equal(scores.split_match, PGCN_SPLIT_OTHER);
    data->split[0] = first;
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

static void test_model_file_keeps_the_identity(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_model *model = trained(data), *back;
    must(pgcn_model_save(model, scratch_path("m")));
    must(pgcn_model_load(scratch_path("m"), &back));
    assert_string_equal(pgcn_model_split_hash(back), pgcn_model_split_hash(model));
    assert_string_equal(back->split_id.seen, model->split_id.seen);
    assert_string_equal(back->isa, pgcn_i_kernels_get()->isa);
    assert_int_equal(back->bits_revision, PGCN_BITS_REVISION);
    assert_null(pgcn_model_split_hash(NULL));
    pgcn_model_free(model), pgcn_model_free(back);
    pgcn_dataset_free(data);
}

/* ---- files of pathgcn 0.1 --------------------------------------------------------------------------- */

/* Made by pathgcn 0.1.0: train karate --channels 2 --epochs 6 --patience 0, and the same with
 * --model gin --epochs 4. */
static const char *old_file(const char *name) {
    static char path[PGCN_I_PATH_BYTES];
    const char *source = getenv("PATHGCN_SOURCE");
    if (!source) {
        print_message("SKIPPED: PATHGCN_SOURCE is not set (ctest sets it)\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/tests/data/%s", source, name);
    return path;
}

static void test_model_of_0_1_loads_and_scores_as_then(void **state) {
    (void)state;
    static const struct {
        const char *file;
        int epoch;
        double val, test, val_loss;
    } cases[] = {{"karate_0.1_model.safetensors", 6, 37.5, 500 / 9.0, 0.7108665756},
                 {"karate_0.1_gin_model.safetensors", 1, 25, 400 / 9.0, 0.6970900861}};
    pgcn_dataset *data = dataset("karate"), *other = dataset("karate:only-split=1");
    for (int i = 0; i < 2; i++) {
        pgcn_model *model, *again;
        pgcn_scores scores;
        must(pgcn_model_load(old_file(cases[i].file), &model));
        assert_int_equal(pgcn_model_epoch(model), cases[i].epoch);
        assert_string_equal(pgcn_model_split(model), "0");
        assert_string_equal(pgcn_model_split_hash(model), "");
        must(pgcn_model_save(model, scratch_path("again"))); /* saving does not make it younger */
        must(pgcn_model_load(scratch_path("again"), &again));
        assert_int_equal(again->bits_revision, 0);
        must(pgcn_model_evaluate(again, data, NULL, &scores));
        assert_int_equal(scores.split_match, PGCN_SPLIT_BY_NAME);
        assert_int_equal(scores.split, 0);
        assert_close(scores.val.accuracy, cases[i].val, 1e-9);
        assert_close(scores.test.accuracy, cases[i].test, 1e-9);
        assert_close(scores.val.loss, cases[i].val_loss, 1e-5);
        must(pgcn_model_evaluate(model, other, NULL, &scores));
        assert_int_equal(scores.split_match, PGCN_SPLIT_NONE);
        pgcn_model_free(model), pgcn_model_free(again);
    }
    pgcn_dataset_free(data), pgcn_dataset_free(other);
}

static void test_checkpoint_of_0_1_resumes_if_accepted(void **state) {
    (void)state;
    const char *path = old_file("karate_0.1_checkpoint.safetensors");
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *trainer = trainer_of(data, "channels=2 epochs=10 patience=0");
    must_fail(pgcn_trainer_resume(trainer, path), PGCN_ERR_MISMATCH, "pathgcn 0.1.0");
    must_fail(PGCN_ERR_MISMATCH, PGCN_ERR_MISMATCH, "revision 0, here");
    pgcn_resume_opts opts = pgcn_resume_opts_default();
    opts.accept_other_version = true;
    must(pgcn_trainer_resume_with(trainer, path, &opts));
    assert_int_equal(trainer->progress.epochs, 6);
    assert_non_null(strstr(pgcn_trainer_note(trainer, 0), "by the name only"));
    assert_non_null(strstr(pgcn_trainer_note(trainer, 1), "bits of neither version"));
    assert_null(pgcn_trainer_note(trainer, 2));
    run_epochs(trainer, 4);
    must(pgcn_trainer_save(trainer, scratch_path("c"))); /* from now on it tells all */
    must(pgcn_trainer_resume(trainer, scratch_path("c")));
    assert_null(pgcn_trainer_note(trainer, 0));
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split_hash_depends_on_the_masks_and_nothing_else),
        cmocka_unit_test(test_split_hash_tells_mask_from_mask),
        IN_SCRATCH(test_resume_on_another_split_is_refused),
        IN_SCRATCH(test_resume_with_other_bits_is_refused_unless_accepted),
        IN_SCRATCH(test_resume_on_another_instruction_set_says_so),
        IN_SCRATCH(test_checkpoint_without_its_identity_is_refused),
        cmocka_unit_test(test_evaluate_scores_the_split_of_the_training_and_no_other),
        cmocka_unit_test(test_evaluate_tests_a_model_trained_without_test),
        cmocka_unit_test(test_evaluate_finds_a_split_by_its_masks),
        IN_SCRATCH(test_model_file_keeps_the_identity),
        IN_SCRATCH(test_model_of_0_1_loads_and_scores_as_then),
        IN_SCRATCH(test_checkpoint_of_0_1_resumes_if_accepted),
    };
    return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
