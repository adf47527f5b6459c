/* Checkpoints: a run that was saved and resumed ends with the same bytes as one that was not, and a
 * checkpoint that does not belong or is damaged is refused without a trace in the trainer. The model
 * that comes out of a run is in test_inference.c. */
#include "nn_help.h"

#include "bytes_help.h"
#include "scratch_help.h"

#define QUICK "channels=6 epochs=60 patience=0 "

/* ---- save and resume ------------------------------------------------------------------------------ */

static void test_checkpoint_resumed_run_ends_with_the_same_bytes(void **state) {
    (void)state;
    static const struct {
        const char *data, *text;
    } cases[] = {
        {"karate", QUICK},
        {"karate", QUICK "resample-every=7"},
        {"karate", QUICK "resample-every=0 paths-per-layer=yes eval-every=4"},
        {"karate", QUICK "batch-norm=yes kernel=full select=accuracy"},
        {"karate", QUICK "walk=node2vec self-loops=no kernel=global"},
        {"karate", QUICK "dropout-hidden=0.4"},
        {"karate", QUICK "select=auc eval-every=3"},
        {"karate", QUICK "class-weights=3,0.25"},
        {"karate", QUICK "pseudo-labels=2 pseudo-from=5"},
        {"karate", QUICK "pseudo-labels=2 pseudo-from=5 eval-every=4 walk=node2vec self-loops=no"},
        {"sbm:nodes=120,features=5,classes=4", QUICK "select=macro-f1"},
        {"karate", QUICK "input-hops=2 input-norm=yes drop-rows=0.5"},
        {"sbm:nodes=120,features=5", QUICK "train-form=exact kernel=layer drop-rows=0.3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_dataset *data = dataset(cases[i].data);
        pgcn_trainer *whole = trainer_of(data, cases[i].text);
        run_epochs(whole, 40);
        must(pgcn_trainer_save(whole, scratch_path("whole")));
        pgcn_trainer *part = trainer_of(data, cases[i].text);
        for (int stop = 11; stop <= 40; stop += 29) { /* after 11 epochs, by two trainers in turn */
            run_epochs(part, stop == 11 ? 11 : 29);
            must(pgcn_trainer_save(part, scratch_path("part")));
            pgcn_trainer_free(part);
            part = trainer_of(data, cases[i].text);
            if (stop > 11) run_epochs(part, 3); /* what a trainer did before is forgotten */
            must(pgcn_trainer_resume(part, scratch_path("part")));
            assert_int_equal(part->progress.epochs, stop);
        }
        must(pgcn_trainer_save(part, scratch_path("again")));
        assert_same_bytes(scratch_path("whole"), scratch_path("part"));
        assert_same_bytes(scratch_path("whole"), scratch_path("again"));
        run_epochs(whole, 5), run_epochs(part, 5);
        assert_same_weights(&whole->params, &part->params, cases[i].text);
        pgcn_trainer_free(whole), pgcn_trainer_free(part);
        pgcn_dataset_free(data);
    }
    assert_int_equal(scratch_count(), 3); /* and no temporary file */
}

static void test_checkpoint_before_the_first_epoch_resumes(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *a = trainer_of(data, QUICK), *b = trainer_of(data, QUICK);
    must(pgcn_trainer_save(a, scratch_path("zero")));
    run_epochs(b, 4);
    must(pgcn_trainer_resume(b, scratch_path("zero")));
    run_epochs(a, 6), run_epochs(b, 6);
    assert_same_weights(&a->params, &b->params, "from epoch 0");
    pgcn_trainer_free(a), pgcn_trainer_free(b);
    pgcn_dataset_free(data);
}

static void test_checkpoint_epochs_patience_and_the_run_may_change(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *short_run = trainer_of(data, "channels=6 epochs=10 patience=0");
    run_epochs(short_run, 10);
    assert_true(pgcn_trainer_finished(short_run));
    must(pgcn_trainer_save(short_run, scratch_path("c")));
    pgcn_trainer *longer =
        trainer_of(data, "channels=6 epochs=20 patience=19 threads=2 recompute=yes");
    must(pgcn_trainer_resume(longer, scratch_path("c")));
    assert_false(pgcn_trainer_finished(longer));
    run_epochs(longer, 3);
    pgcn_trainer *shorter = trainer_of(data, "channels=6 epochs=5 patience=0");
    must_fail(pgcn_trainer_resume(shorter, scratch_path("c")), PGCN_ERR_MISMATCH, "epoch 10");
    run_epochs(shorter, 5);
    pgcn_trainer_free(short_run), pgcn_trainer_free(longer), pgcn_trainer_free(shorter);
    pgcn_dataset_free(data);
}

static void test_checkpoint_recipe_is_kept_and_stops_no_resume(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_config config = settings("channels=6 epochs=4");
    strcpy(config.recipe, "mine version 2 sha256 0123");
    pgcn_trainer *trainer = NULL, *plain = trainer_of(data, "channels=6 epochs=4");
    pgcn_model *model = NULL, *back = NULL;
    must(pgcn_trainer_new(data, &config, &trainer));
    run_epochs(trainer, 2);
    must(pgcn_trainer_save(trainer, scratch_path("c")));
    must(pgcn_trainer_resume(plain, scratch_path("c")));
    must(pgcn_trainer_model(trainer, &model));
    must(pgcn_model_save(model, scratch_path("m")));
    must(pgcn_model_load(scratch_path("m"), &back));
    assert_string_equal(pgcn_model_config(back)->recipe, config.recipe);
    pgcn_model_free(model), pgcn_model_free(back);
    pgcn_trainer_free(trainer), pgcn_trainer_free(plain);
    trainer = NULL;
    strcpy(config.recipe, "two\nlines");
    must_fail(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_ARGUMENT, "recipe");
    memset(config.recipe, 'x', sizeof config.recipe);
    must_fail(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_ARGUMENT, "recipe");
    assert_null(trainer);
    pgcn_dataset_free(data);
}

/* ---- refusals ---------------------------------------------------------------------------------------- */

/* Resuming from `path` must fail with one of two codes and a sentence that names the file, and the
 * trainer must be bit for bit what it was, its history included. */
static void assert_refused(pgcn_trainer *trainer, const char *path, pgcn_status code,
                           const char *says) {
    size_t size = (size_t)trainer->params.total * sizeof(float);
    float *const blocks[] = {trainer->params.value, trainer->params.best, trainer->params.m,
                             trainer->params.v};
    char *kept[4];
    pgcn_i_progress progress = trainer->progress;
    size_t history_bytes = (size_t)progress.epochs * sizeof *progress.history;
    pgcn_epoch *history = malloc(history_bytes + 1);
    memcpy(history, progress.history, history_bytes);
    for (int b = 0; b < 4; b++) kept[b] = malloc(size), memcpy(kept[b], blocks[b], size);
    pgcn_status status = pgcn_trainer_resume(trainer, path);
    if (status != code)
        fail_msg("'%s' expected, but: %s: %s", says, pgcn_status_name(status), pgcn_last_error());
    must_fail(status, code, says);
    must_fail(status, code, path);
    for (int b = 0; b < 4; b++) assert_memory_equal(kept[b], blocks[b], size), free(kept[b]);
    assert_memory_equal(&progress, &trainer->progress, sizeof progress);
    assert_memory_equal(history, progress.history, history_bytes);
    free(history);
}

static void test_checkpoint_of_another_run_is_refused(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate"), *other = dataset("sbm:nodes=120,features=34,classes=2");
    pgcn_trainer *trainer = trainer_of(data, QUICK "split=0"),
                 *twin = trainer_of(data, QUICK "split=0");
    run_epochs(trainer, 3), run_epochs(twin, 3);
    static const struct {
        const char *text, *says;
    } cases[] = {
        {QUICK "split=1", "split 1 and not 0"},
        {QUICK "split=0 seed=1", "seed 1 and not 0"},
        {QUICK "split=0 dropout=0.5", "dropout 0.5 and not 0.6"},
        {QUICK "split=0 layers=3", "layers 3 and not 2"},
        {QUICK "split=0 lr-kernel=0", "lr-kernel 0 and not 0.01"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pgcn_trainer *another = trainer_of(data, cases[i].text);
        run_epochs(another, 2);
        must(pgcn_trainer_save(another, scratch_path("other")));
        assert_refused(trainer, scratch_path("other"), PGCN_ERR_MISMATCH, cases[i].says);
        pgcn_trainer_free(another);
    }
    pgcn_trainer *another = trainer_of(other, QUICK "split=0");
    run_epochs(another, 2);
    must(pgcn_trainer_save(another, scratch_path("other")));
    assert_refused(trainer, scratch_path("other"), PGCN_ERR_MISMATCH, "data set sbm");
    pgcn_model *model;
    must(pgcn_trainer_model(trainer, &model));
    must(pgcn_model_save(model, scratch_path("model")));
    assert_refused(trainer, scratch_path("model"), PGCN_ERR_FORMAT, "a pathgcn-model, expected");
    assert_refused(trainer, scratch_path("nothing"), PGCN_ERR_IO, "nothing");
    assert_refused(trainer, scratch, PGCN_ERR_IO, "");
    run_epochs(trainer, 5), run_epochs(twin, 5); /* after all that it goes on as if nothing was */
    assert_same_weights(&trainer->params, &twin->params, "after refusals");
    pgcn_model_free(model);
    pgcn_trainer_free(another), pgcn_trainer_free(trainer), pgcn_trainer_free(twin);
    pgcn_dataset_free(data), pgcn_dataset_free(other);
}

static void test_checkpoint_cut_anywhere_is_refused(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *writer = trainer_of(data, QUICK), *trainer = trainer_of(data, QUICK);
    run_epochs(writer, 3), run_epochs(trainer, 2);
    must(pgcn_trainer_save(writer, scratch_path("good")));
    file_bytes good = bytes_of(scratch_path("good"));
    for (size_t length = 0; length < good.count; length += length < 24 ? 1 : good.count / 97) {
        const char *path = scratch_write("cut", good.data, length);
        assert_refused(trainer, path, PGCN_ERR_FORMAT, "");
    }
    assert_refused(trainer, scratch_write("cut", good.data, good.count - 1), PGCN_ERR_FORMAT, "");
    char *longer = calloc(good.count + 1, 1);
    memcpy(longer, good.data, good.count);
    assert_refused(trainer, scratch_write("cut", longer, good.count + 1), PGCN_ERR_FORMAT, "");
    must(pgcn_trainer_resume(trainer, scratch_write("cut", good.data, good.count)));
    free(longer), free(good.data);
    pgcn_trainer_free(writer), pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

/* A flipped bit in the header either makes no difference that matters or is refused; it never
 * crashes, and after a refusal the trainer is unchanged (checked for each). */
static void test_checkpoint_flipped_header_bytes_never_harm(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *writer = trainer_of(data, QUICK), *trainer = trainer_of(data, QUICK);
    run_epochs(writer, 2);
    must(pgcn_trainer_save(writer, scratch_path("good")));
    file_bytes good = bytes_of(scratch_path("good"));
    uint64_t header;
    memcpy(&header, good.data, sizeof header);
    int refused = 0, taken = 0;
    pgcn_i_stream random = test_stream(8);
    for (int flips = 0; flips < 500; flips++) {
        size_t place = flips < 8 ? (size_t)flips : pgcn_i_bounded(&random, (uint32_t)header + 8);
        char kept = good.data[place];
        good.data[place] = (char)(kept ^ (1 << pgcn_i_bounded(&random, 8)));
        const char *path = scratch_write("flipped", good.data, good.count);
        float first = trainer->params.value[0];
        int64_t epochs = trainer->progress.epochs;
        pgcn_status status = pgcn_trainer_resume(trainer, path);
        if (status == PGCN_OK) {
            taken++;
        } else {
            refused++;
            assert_true(status == PGCN_ERR_FORMAT || status == PGCN_ERR_MISMATCH);
            assert_non_null(strstr(pgcn_last_error(), path));
            assert_true(trainer->params.value[0] == first);
            assert_int_equal(trainer->progress.epochs, epochs);
        }
        good.data[place] = kept;
    }
    assert_true(refused > 10 * taken); /* digits of the history and spaces are what is left */
    free(good.data);
    pgcn_trainer_free(writer), pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

static void test_checkpoint_with_other_contents_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
        pgcn_status code;
        const char *says;
    } cases[] = {
        {"\"format_version\":\"1\"", "\"format_version\":\"3\"", PGCN_ERR_MISMATCH, "version 3"},
        {"\"format_version\":\"1\"", "\"format_version\":\"2\"", PGCN_ERR_FORMAT, "underway"},
        {"\"pathgcn-checkpoint\"", "\"pathgcn-checkpoimt\"", PGCN_ERR_FORMAT, "pathgcn-checkpoimt"},
        {"\"format_version\"", "\"format_verslon\"", PGCN_ERR_FORMAT, "format_version"},
        {"\"fingerprint\"", "\"fingerprimt\"", PGCN_ERR_FORMAT, "fingerprint"},
        {"\"config\"", "\"confog\"", PGCN_ERR_FORMAT, "config"},
        {"\"history\"", "\"histori\"", PGCN_ERR_FORMAT, "history"},
        {"\"epoch\":\"5\"", "\"epoch\":\"4\"", PGCN_ERR_FORMAT, "history"},
        {"\"epoch\":\"5\"", "\"epoch\":\"x\"", PGCN_ERR_FORMAT, "epoch is 'x'"},
        {"\\\"epoch\\\":3", "\\\"epoch\\\":4", PGCN_ERR_FORMAT, "history"},
        {"\\\"train_loss\\\"", "\\\"train_lost\\\"", PGCN_ERR_FORMAT, "history"},
        {"\"layers.0.kernel\"", "\"layers.9.kernel\"", PGCN_ERR_FORMAT, "layers.0.kernel"},
        {"\"best.embed.weight\"", "\"test.embed.weight\"", PGCN_ERR_FORMAT, "best.embed.weight"},
        {"\"adam.v.classifier.bias\"", "\"adam.w.classifier.bias\"", PGCN_ERR_FORMAT,
         "adam.v.classifier.bias"},
        {"\"shape\":[34,6]", "\"shape\":[6,34]", PGCN_ERR_FORMAT, "[34, 6]"},
        {"\"F32\",\"shape\":[34,6]", "\"I32\",\"shape\":[34,6]", PGCN_ERR_FORMAT, "embed.weight"},
        {"\\\"layers\\\":\\\"2\\\"", "\\\"layers\\\":\\\"0\\\"", PGCN_ERR_FORMAT, "layers is '0'"},
        {"\\\"layers\\\":\\\"2\\\"", "\\\"layerz\\\":\\\"2\\\"", PGCN_ERR_FORMAT, "'layerz'"},
    };
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *writer = trainer_of(data, QUICK), *trainer = trainer_of(data, QUICK);
    run_epochs(writer, 5), run_epochs(trainer, 2);
    must(pgcn_trainer_save(writer, scratch_path("good")));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file_bytes b = bytes_of(scratch_path("good"));
        change(&b, cases[i].from, cases[i].to);
        assert_refused(trainer, scratch_write("bad", b.data, b.count), cases[i].code,
                       cases[i].says);
        free(b.data);
    }
    /* a NaN in the last tensor of all, Adam's: what was read before it must not stay */
    file_bytes b = bytes_of(scratch_path("good"));
    const float nan = NAN;
    memcpy(b.data + b.count - sizeof nan, &nan, sizeof nan);
    assert_refused(trainer, scratch_write("bad", b.data, b.count), PGCN_ERR_FORMAT,
                   "element 1 of tensor adam.v.classifier.bias is not finite");
    free(b.data);
    pgcn_trainer_free(writer), pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

/* ---- saving ------------------------------------------------------------------------------------------- */

static void test_checkpoint_unwritable_place_is_an_error(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *trainer = trainer_of(data, QUICK), *twin = trainer_of(data, QUICK);
    run_epochs(trainer, 2), run_epochs(twin, 4);
    must_fail(pgcn_trainer_save(trainer, scratch_path("no/such/place")), PGCN_ERR_IO, "no/such");
    must_fail(pgcn_trainer_save(trainer, "/proc/pathgcn_test"), PGCN_ERR_IO, "/proc/pathgcn_test");
    must_fail(pgcn_trainer_save(trainer, ""), PGCN_ERR_ARGUMENT, "");
    assert_int_equal(scratch_count(), 0);
    run_epochs(trainer, 2);
    assert_same_weights(&trainer->params, &twin->params, "after failing to save");
    pgcn_trainer_free(trainer), pgcn_trainer_free(twin);
    pgcn_dataset_free(data);
}

/* A state that cannot go on is not written, the old file stays, and resuming it mends the run. */
static void test_checkpoint_of_broken_run_keeps_the_old_one(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *trainer = trainer_of(data, QUICK), *twin = trainer_of(data, QUICK);
    run_epochs(trainer, 6), run_epochs(twin, 12);
    must(pgcn_trainer_save(trainer, scratch_path("c")));
    file_bytes before = bytes_of(scratch_path("c"));
    float *const blocks[] = {trainer->params.value, trainer->params.m, trainer->params.v};
    for (int b = 0; b < 3; b++) {
        float kept = blocks[b][7];
        blocks[b][7] = INFINITY;
        must_fail(pgcn_trainer_save(trainer, scratch_path("c")), PGCN_ERR_NUMERIC, "not finite");
        blocks[b][7] = kept;
    }
    for (int64_t e = 0; e < trainer->params.total; e++) trainer->params.value[e] *= 1e30f;
    pgcn_status status = PGCN_OK;
    for (int e = 0; e < 20 && status == PGCN_OK; e++) status = pgcn_trainer_epoch(trainer, NULL);
    assert_int_equal(status, PGCN_ERR_NUMERIC);
    trainer->broken = "validation"; /* as after a validation loss that is not finite */
    must_fail(pgcn_trainer_save(trainer, scratch_path("c")), PGCN_ERR_NUMERIC, "not finite");
    assert_file_holds(scratch_path("c"), before.data, (int64_t)before.count);
    must(pgcn_trainer_resume(trainer, scratch_path("c")));
    run_epochs(trainer, 6);
    assert_same_weights(&trainer->params, &twin->params, "resumed after breaking");
    free(before.data);
    pgcn_trainer_free(trainer), pgcn_trainer_free(twin);
    pgcn_dataset_free(data);
}

/* Names of data sets come from users: what the files cannot hold is refused before training. */
static void test_checkpoint_any_data_set_name_is_kept_or_refused(void **state) {
    (void)state;
    static const struct {
        const char *letter;
        int times;
        bool fine;
    } cases[] = {{"a", 255, true},  {"\xc3\xa4", 127, true}, {"x \"/\\{}", 30, true},
                 {"a", 256, false}, {"\xe4", 3, false},      {"\xc3\xa4", 128, false}};
    pgcn_dataset *karate = dataset("karate");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[1024] = "", *kept = karate->name;
        for (int c = 0; c < cases[i].times; c++) strcat(name, cases[i].letter);
        karate->name = name;
        pgcn_config config = settings(QUICK);
        pgcn_trainer *trainer = NULL;
        pgcn_status status = pgcn_trainer_new(karate, &config, &trainer);
        if (cases[i].fine) {
            pgcn_model *model, *back;
            must(status);
            run_epochs(trainer, 2);
            must(pgcn_trainer_save(trainer, scratch_path("c")));
            must(pgcn_trainer_resume(trainer, scratch_path("c")));
            must(pgcn_trainer_model(trainer, &model));
            must(pgcn_model_save(model, scratch_path("m")));
            must(pgcn_model_load(scratch_path("m"), &back));
            assert_string_equal(pgcn_model_dataset(back), name);
            pgcn_model_free(model), pgcn_model_free(back);
        } else {
            must_fail(status, PGCN_ERR_ARGUMENT, "UTF-8");
            assert_null(trainer);
        }
        pgcn_trainer_free(trainer);
        karate->name = kept;
    }
    pgcn_dataset_free(karate);
}

/* ---- memory ------------------------------------------------------------------------------------------- */

static pgcn_trainer *unchanged;
static float *unchanged_weights;

static pgcn_status resume_or_leave(void) {
    pgcn_status status = pgcn_trainer_resume(unchanged, scratch_path("c"));
    if (status == PGCN_OK) return status;
    assert_memory_equal(unchanged_weights, unchanged->params.value,
                        (size_t)unchanged->params.total * sizeof(float));
    assert_int_equal(unchanged->progress.epochs, 2);
    return status;
}

/* Resuming without memory leaves the trainer as it was. */
static void test_memory_failing_resume_leaves_the_trainer_unchanged(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_trainer *writer = trainer_of(data, QUICK), *trainer = trainer_of(data, QUICK);
    run_epochs(writer, 5), run_epochs(trainer, 2);
    must(pgcn_trainer_save(writer, scratch_path("c")));
    size_t bytes_each = (size_t)trainer->params.total * sizeof(float);
    unchanged = trainer;
    unchanged_weights = malloc(bytes_each);
    memcpy(unchanged_weights, trainer->params.value, bytes_each);
    assert_true(fail_every_allocation(resume_or_leave) > 8);
    assert_same_weights(&writer->params, &trainer->params, "resumed at last");
    free(unchanged_weights);
    pgcn_trainer_free(writer), pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

static const pgcn_trainer *of_model;
static pgcn_status take_model(void) {
    pgcn_model *model;
    PGCN_TRY(pgcn_trainer_model(of_model, &model));
    assert_int_equal(json_array_size(model->feature_names), of_model->data->x.columns);
    pgcn_model_free(model);
    return PGCN_OK;
}

/* Columns are found by their names: a model that lost them would take them by their places. */
static void test_memory_failing_for_names_of_columns_gives_no_model(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    int64_t offset[100];
    char text[200];
    assert_true(data->x.columns < 99);
    for (int64_t j = 0; j <= data->x.columns; j++) {
        offset[j] = 2 * j;
        snprintf(text + 2 * j, 2, "%c", (char)('0' + j));
    }
    data->from.feature_name = (pgcn_i_names){data->x.columns, offset, text};
    pgcn_trainer *trainer = trainer_of(data, QUICK);
    run_epochs(trainer, 1);
    of_model = trainer;
    assert_true(fail_every_allocation(take_model) > data->x.columns);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(test_checkpoint_resumed_run_ends_with_the_same_bytes),
        IN_SCRATCH(test_checkpoint_before_the_first_epoch_resumes),
        IN_SCRATCH(test_checkpoint_epochs_patience_and_the_run_may_change),
        IN_SCRATCH(test_checkpoint_recipe_is_kept_and_stops_no_resume),
        IN_SCRATCH(test_checkpoint_of_another_run_is_refused),
        IN_SCRATCH(test_checkpoint_cut_anywhere_is_refused),
        IN_SCRATCH(test_checkpoint_flipped_header_bytes_never_harm),
        IN_SCRATCH(test_checkpoint_with_other_contents_is_refused),
        IN_SCRATCH(test_checkpoint_unwritable_place_is_an_error),
        IN_SCRATCH(test_checkpoint_of_broken_run_keeps_the_old_one),
        IN_SCRATCH(test_checkpoint_any_data_set_name_is_kept_or_refused),
        IN_SCRATCH(test_memory_failing_resume_leaves_the_trainer_unchanged),
        IN_SCRATCH(test_memory_failing_for_names_of_columns_gives_no_model),
    };
    return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}
