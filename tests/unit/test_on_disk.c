/* Training on a container whose features stay on disk: the bits of a training in memory, whatever is cached; a bound of
 * memory that is divided, or refused with its parts; and reads that fail, after which the training goes on. */
#define _GNU_SOURCE
#include "nn_help.h"
#include "scratch_help.h"
#include "disk_help.h"

#include <fcntl.h>

static const char small[] = "powerlaw:nodes=900,edges=5000,features=12,classes=3";
static const char by_nodes[] =
    "layers=2 channels=8 paths=3 path-length=3 samples=1 consistency=0 epochs=2 batch=64 "
    "eval-nodes=50 batch-by=nodes patience=0";
enum { ROOM = 256 << 20 };

/* A container of a small graph; some nodes have no features if `absent`. */
static const char *make_container(const char *file, const char *store, bool absent) {
    pgcn_dataset *data;
    pgcn_save_opts opts = pgcn_save_opts_default();
    uint8_t marks[900] = {0};
    const char *path = scratch_path(file);
    must(pgcn_dataset_load(small, NULL, &data));
    for (int i = 0; i < 900; i += 7) marks[i] = 1;
    if (absent) data->x.absent = marks;
    opts.store = store;
    must(pgcn_dataset_save_as(data, path, &opts));
    data->x.absent = NULL;
    pgcn_dataset_free(data);
    return path;
}

static pgcn_dataset *load(const char *path, int64_t memory, const char *steps) {
    pgcn_dataset *data;
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.memory = memory;
    opts.steps = steps;
    must(pgcn_dataset_load(path, &opts, &data));
    return data;
}

static void finish(pgcn_trainer *trainer) {
    while (!pgcn_trainer_finished(trainer)) must(pgcn_trainer_epoch(trainer, NULL));
}

/* Weights, and all figures of the epochs and of the best weights. */
static void assert_same_training(pgcn_trainer *a, pgcn_trainer *b, const char *what) {
    pgcn_score val[2], test[2];
    assert_same_weights(&a->params, &b->params, what);
    assert_int_equal(a->progress.epochs, b->progress.epochs);
    for (int64_t i = 0; i < a->progress.epochs; i++) {
        const pgcn_epoch *x = &a->progress.history[i], *y = &b->progress.history[i];
        const double of[2][4] = {{x->train_loss, x->val_loss, x->val_accuracy, x->test_accuracy},
                                 {y->train_loss, y->val_loss, y->val_accuracy, y->test_accuracy}};
        assert_memory_equal(of[0], of[1], sizeof of[0]); /* also where there was no evaluation */
    }
    must(pgcn_trainer_scores(a, &val[0], &test[0]));
    must(pgcn_trainer_scores(b, &val[1], &test[1]));
    assert_true(val[0].loss == val[1].loss && test[0].loss == test[1].loss);
}

/* ---- the same bits -------------------------------------------------------------------------------- */

static void check_same(const char *path, const char *text, const char *rows) {
    pgcn_dataset *inside = load(path, 0, NULL), *outside = load(path, ROOM, NULL);
    assert_null(outside->x.dense);
    assert_string_equal(inside->fingerprint, outside->fingerprint);
    pgcn_trainer *a = trainer_of(inside, text);
    finish(a);
    setenv("PATHGCN_ROWS", rows, 1);
    for (int threads = 1; threads <= 2; threads++) {
        pgcn_config config = settings(text);
        pgcn_trainer *b;
        pgcn_row_reads reads;
        config.threads = threads;
        must(pgcn_trainer_new(outside, &config, &b));
        finish(b);
        assert_true(pgcn_trainer_row_reads(b, &reads));
        assert_true(reads.misses > 0 && reads.bytes > 0);
        assert_false(pgcn_trainer_row_reads(a, &reads));
        assert_same_training(a, b, text);
        pgcn_trainer_free(b);
    }
    unsetenv("PATHGCN_ROWS");
    pgcn_trainer_free(a);
    pgcn_dataset_free(inside);
    pgcn_dataset_free(outside);
}

static void test_on_disk_same_bits_for_every_store_and_cache(void **state) {
    (void)state;
    static const char *const stores[] = {"float32", "float16", "bf16", "int8"};
    static const char *const rows[] = {"future", "future:600", "lru:600", "future:0"};
    for (int i = 0; i < 4; i++)
        check_same(make_container("a.pgcn", stores[i], false), by_nodes, rows[i]);
}

static void test_on_disk_same_bits_for_other_networks(void **state) {
    (void)state;
    static const char *const more[] = {" normalise=rows",
                                       " samples=3 consistency=0.5 unlabelled=20 batch=40",
                                       " input-hops=2 drop-rows=0.2",
                                       " model=gcn train-form=exact neighbours=4,3 dropout=0.5",
                                       " resample-every=3 steps=4 eval-every=2 epochs=5",
                                       " paths-per-layer=yes batch-paths=2,1"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        char text[400];
        snprintf(text, sizeof text, "%s%s", by_nodes, more[i]);
        check_same(make_container("a.pgcn", "float32", false), text, "future:2000");
    }
}

static void test_on_disk_absent_nodes_get_the_same_means(void **state) {
    (void)state;
    char text[400];
    snprintf(text, sizeof text, "%s normalise=none", by_nodes);
    check_same(make_container("a.pgcn", "float32", true), by_nodes, "future:2000");
    check_same(make_container("b.pgcn", "int8", true), text, "lru:2000");
}

static void test_on_disk_splits_are_made_as_in_memory(void **state) {
    (void)state;
    const char *path = make_container("a.pgcn", "float32", false);
    pgcn_dataset *inside = load(path, 0, "per-class=20/30/40,splits=1");
    pgcn_dataset *outside = load(path, ROOM, "per-class=20/30/40,splits=1");
    pgcn_trainer *a = trainer_of(inside, by_nodes), *b = trainer_of(outside, by_nodes);
    assert_int_equal(b->train_items, 60);
    assert_string_equal(a->split_id.all, b->split_id.all);
    finish(a), finish(b);
    assert_same_training(a, b, "per-class");
    must(pgcn_dataset_verify(outside));
    pgcn_trainer_free(a), pgcn_trainer_free(b);
    pgcn_dataset_free(inside), pgcn_dataset_free(outside);
}

/* A resume, and a stop in the middle, have another future than the one that was announced. */
static bool three_questions(void *context) {
    return --*(int *)context > 0;
}

static void test_on_disk_resumes_with_the_same_bits(void **state) {
    (void)state;
    char path[1024], saved[1024];
    snprintf(path, sizeof path, "%s", make_container("a.pgcn", "float16", false));
    snprintf(saved, sizeof saved, "%s", scratch_path("checkpoint"));
    pgcn_dataset *data = load(path, ROOM, NULL);
    pgcn_trainer *a = trainer_of(data, by_nodes), *b = trainer_of(data, by_nodes);
    pgcn_score val, test;
    int left = 4;
    finish(a);
    pgcn_trainer_on_step(b, three_questions, &left);
    must_fail(pgcn_trainer_epoch(b, NULL), PGCN_ERR_STOPPED, "after 3 of");
    must(pgcn_trainer_save(b, saved));
    pgcn_trainer_free(b);
    b = trainer_of(data, by_nodes);
    must(pgcn_trainer_resume(b, saved));
    must(pgcn_trainer_epoch(b, NULL));
    must(pgcn_trainer_scores(b, &val, &test)); /* out of turn */
    finish(b);
    assert_same_training(a, b, "resumed");
    pgcn_trainer_free(a), pgcn_trainer_free(b);
    pgcn_dataset_free(data);
}

/* ---- what cannot be done ---------------------------------------------------------------------------- */

static void refuse(const pgcn_dataset *data, const char *text, pgcn_status code, const char *part) {
    pgcn_config config = settings(text);
    pgcn_trainer *trainer = NULL;
    must_fail(pgcn_trainer_new(data, &config, &trainer), code, part);
    assert_null(trainer);
}

static void test_on_disk_what_needs_all_features_is_refused(void **state) {
    (void)state;
    char path[1024];
    snprintf(path, sizeof path, "%s", make_container("a.pgcn", "float32", false));
    pgcn_dataset *data = load(path, ROOM, NULL), *other = NULL;
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.memory = ROOM;
    refuse(data, "epochs=1", PGCN_ERR_ARGUMENT, "set batch to a number of training nodes");
    refuse(data, "epochs=1 batch=10 batch-by=nodes", PGCN_ERR_ARGUMENT, "set eval-nodes");
    must_fail(pgcn_dataset_save(data, scratch_path("b.pgcn")), PGCN_ERR_ARGUMENT,
              "saving it needs all");
    must_fail(pgcn_dataset_save_npz(data, scratch_path("b.npz")), PGCN_ERR_ARGUMENT,
              "saving it needs all");
    must_fail(pgcn_dataset_prepare(data, "order=rcm", &other), PGCN_ERR_ARGUMENT,
              "preparing it needs all");
    pgcn_trainer *trainer = trainer_of(data, by_nodes);
    pgcn_model *model;
    float *probability = calloc(900 * 3, sizeof *probability);
    must(pgcn_trainer_epoch(trainer, NULL));
    must(pgcn_trainer_model(trainer, &model));
    must_fail(pgcn_model_predict(model, data, NULL, probability, NULL), PGCN_ERR_ARGUMENT,
              "a prediction needs all");
    free(probability);
    pgcn_model_free(model);
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
    static const char *const steps[] = {"order=rcm", "features=degrees", "largest-component",
                                        "without-test"};
    for (int i = 0; i < 4; i++) {
        opts.steps = steps[i];
        must_fail(pgcn_dataset_load(path, &opts, &other), PGCN_ERR_ARGUMENT,
                  "data convert --prepare");
    }
    opts.steps = NULL;
    must_fail(pgcn_dataset_load("karate", &opts, &other), PGCN_ERR_ARGUMENT, "is no container");
    must(pgcn_dataset_load("karate", NULL,
                           &other)); /* whose features are an identity matrix, sparse */
    must(pgcn_dataset_save(other, path));
    pgcn_dataset_free(other);
    must_fail(pgcn_dataset_load(path, &opts, &other), PGCN_ERR_ARGUMENT, "sparse features");
    opts.memory = -1;
    must_fail(pgcn_dataset_load(path, &opts, &other), PGCN_ERR_ARGUMENT, "memory is -1");
}

static void test_on_disk_too_little_memory_is_refused_with_the_parts(void **state) {
    (void)state;
    const char *path = make_container("a.pgcn", "float32", false);
    pgcn_dataset *data = load(path, 16 << 20, NULL);
    refuse(data, by_nodes, PGCN_ERR_MEMORY, "within 16.8 MB is not possible: it needs at least");
    assert_non_null(strstr(pgcn_last_error(), "pages of the graph"));
    assert_non_null(strstr(pgcn_last_error(), "are available"));
    pgcn_dataset_free(data);
    /* what a batch needs is known when some were drawn */
    data = load(path, ROOM, NULL);
    data->from.memory = data->from.before + (16 << 20) + 300000;
    refuse(data, by_nodes, PGCN_ERR_MEMORY, "a batch and those after it");
    assert_null(strstr(pgcn_last_error(), "a batch and those after it 0 bytes"));
    pgcn_dataset_free(data);
}

/* What is left goes to the cache, and is no more than all rows. */
static void test_on_disk_the_cache_gets_what_is_left(void **state) {
    (void)state;
    const char *path = make_container("a.pgcn", "float32", false);
    pgcn_dataset *data = load(path, ROOM, NULL);
    pgcn_trainer *all = trainer_of(data, by_nodes);
    pgcn_row_reads reads;
    assert_true(pgcn_trainer_row_reads(all, &reads));
    assert_int_equal(reads.cache_bytes, 900 * 12 * 4);
    finish(all);
    assert_true(pgcn_trainer_row_reads(all, &reads));
    assert_true(reads.misses <=
                2 * 900); /* once, and once more for the scores of the best weights */
    pgcn_status status = PGCN_OK;
    int64_t last = reads.cache_bytes, least = last;
    data->from.memory = data->from.before + (20 << 20);
    for (; status == PGCN_OK; data->from.memory -= 1 << 14) {
        pgcn_config config = settings(by_nodes);
        pgcn_trainer *some = NULL;
        status = pgcn_trainer_new(data, &config, &some);
        if (status == PGCN_OK) assert_true(pgcn_trainer_row_reads(some, &reads));
        assert_true(reads.cache_bytes <= last); /* less memory, a smaller cache */
        least = last = reads.cache_bytes;
        pgcn_trainer_free(some);
    }
    assert_int_equal(status, PGCN_ERR_MEMORY);
    assert_true(least < 900 * 12 * 4 / 2);
    pgcn_trainer_free(all);
    pgcn_dataset_free(data);
}

/* ---- faults ------------------------------------------------------------------------------------------ */

/* Reads of io_uring do not go through the disk that fails. */
static pgcn_dataset *load_plain(const char *path) {
    pgcn_dataset *data = load(path, ROOM, NULL);
    pgcn_i_row_file_close(data->x.file);
    must(pgcn_i_container_rows(path, PGCN_I_ROWS_PLAIN, &data->from.x.file));
    data->x.file = data->from.x.file;
    return data;
}

/* Every read of the training fails once, and whoever goes on ends with the same bits. */
static void test_on_disk_a_failed_read_loses_nothing(void **state) {
    (void)state;
    char path[1024], text[400];
    snprintf(path, sizeof path, "%s", make_container("a.pgcn", "float32", false));
    snprintf(text, sizeof text, "%s epochs=1 steps=3 eval-nodes=20", by_nodes);
    pgcn_dataset *inside = load(path, 0, NULL);
    pgcn_trainer *whole = trainer_of(inside, text);
    finish(whole);
    setenv("PATHGCN_ROWS", "future:600", 1);
    disk_reset(scratch);
    disk->on = true;
    pgcn_dataset *data = load_plain(path);
    int failed = 0;
    for (int skip = 1;; skip = skip * 3 / 2 + 1) {
        pgcn_trainer *trainer = trainer_of(data, text);
        disk->kind = DISK_READ;
        disk->number = atomic_load(&disk->calls[DISK_READ]) + skip;
        pgcn_status status = pgcn_trainer_epoch(trainer, NULL);
        disk->number = 0;
        bool done = status == PGCN_OK;
        if (!done) {
            assert_int_equal(status, PGCN_ERR_IO);
            assert_non_null(strstr(pgcn_last_error(), "cannot read features of"));
            must(pgcn_trainer_epoch(trainer, NULL));
            failed++;
        }
        assert_same_training(whole, trainer, "after a failed read");
        pgcn_trainer_free(trainer);
        if (done) break;
    }
    disk->on = false;
    unsetenv("PATHGCN_ROWS");
    assert_true(failed > 5);
    pgcn_trainer_free(whole);
    pgcn_dataset_free(inside), pgcn_dataset_free(data);
}

static void test_on_disk_a_replaced_container_is_noticed_in_the_next_epoch(void **state) {
    (void)state;
    char path[1024];
    snprintf(path, sizeof path, "%s", make_container("a.pgcn", "float32", false));
    pgcn_dataset *data = load(path, ROOM, NULL);
    pgcn_trainer *trainer = trainer_of(data, by_nodes), *other = NULL;
    pgcn_config config = settings(by_nodes);
    must(pgcn_trainer_epoch(trainer, NULL));
    assert_int_equal(rename(make_container("b.pgcn", "int8", false), path), 0);
    must_fail(pgcn_trainer_epoch(trainer, NULL), PGCN_ERR_MISMATCH, "replaced by another file");
    assert_int_equal(trainer->progress.epochs, 1);
    must(pgcn_trainer_save(trainer, scratch_path("checkpoint"))); /* the first epoch is not lost */
    must_fail(pgcn_trainer_new(data, &config, &other), PGCN_ERR_MISMATCH, "replaced by another");
    pgcn_trainer_free(trainer);
    pgcn_dataset_free(data);
}

/* Rows are checked when they are read, and the sentence names the number. */
static void test_on_disk_a_number_that_is_not_finite_is_found(void **state) {
    (void)state;
    char path[1024];
    const float bad = NAN;
    snprintf(path, sizeof path, "%s", make_container("a.pgcn", "float32", false));
    pgcn_dataset *data = load(path, ROOM, NULL);
    int64_t offset = pgcn_i_row_file_layout(data->x.file)->offset;
    pgcn_dataset_free(data);
    int descriptor = open(path, O_WRONLY);
    for (int node = 0; node < 900; node++)
        assert_int_equal(pwrite(descriptor, &bad, 4, offset + (12 * node + 5) * 4), 4);
    close(descriptor);
    data = load(path, ROOM, NULL);
    refuse(data, by_nodes, PGCN_ERR_FORMAT, "feature 5 of node");
    pgcn_config config = settings(by_nodes);
    config.normalise = PGCN_NORMALISE_ROWS;
    pgcn_trainer *trainer = NULL;
    must_fail(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_FORMAT,
              "expected a finite number");
    pgcn_dataset_free(data);
}

int main(void) {
    disk_make();
#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)
    const struct CMUnitTest tests[] = {
        ON_DISK(test_on_disk_same_bits_for_every_store_and_cache),
        ON_DISK(test_on_disk_same_bits_for_other_networks),
        ON_DISK(test_on_disk_absent_nodes_get_the_same_means),
        ON_DISK(test_on_disk_splits_are_made_as_in_memory),
        ON_DISK(test_on_disk_resumes_with_the_same_bits),
        ON_DISK(test_on_disk_what_needs_all_features_is_refused),
        ON_DISK(test_on_disk_too_little_memory_is_refused_with_the_parts),
        ON_DISK(test_on_disk_the_cache_gets_what_is_left),
        ON_DISK(test_on_disk_a_failed_read_loses_nothing),
        ON_DISK(test_on_disk_a_replaced_container_is_noticed_in_the_next_epoch),
        ON_DISK(test_on_disk_a_number_that_is_not_finite_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
