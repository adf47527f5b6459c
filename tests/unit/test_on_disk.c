/* Training and predictions on a container whose features stay on disk: the bits of the same in memory, whatever is cached;
 * a bound of memory that is divided, or refused with its parts; and reads that fail, after which it goes on. */
#define _GNU_SOURCE
#include "nn_help.h"
#include "scratch_help.h"
#include "disk_help.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

static const char small[] = "powerlaw:nodes=900,edges=5000,features=12,classes=3";
static const char by_nodes[] =
    "layers=2 channels=8 paths=3 path-length=3 samples=1 consistency=0 epochs=2 batch=64 "
    "eval-nodes=50 batch-by=nodes patience=0";
/* Sanitizers take memory of their own for each byte of the program's. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ROOM = 1 << 30 };
#else
enum { ROOM = 256 << 20 };
#endif

/* A container of a small graph, whose first feature a third of the nodes have; some have none if `absent`. */
static const char *make_container(const char *file, const char *store, bool absent) {
    pgcn_dataset *data;
    pgcn_save_opts opts = pgcn_save_opts_default();
    uint8_t marks[900] = {0};
    const char *path = scratch_path(file);
    must(pgcn_dataset_load(small, NULL, &data));
    for (int64_t i = 0; i < data->x.n; i++)
        if (i % 3 > 0) ((float *)data->x.dense)[i * data->x.columns] = 0;
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
                                       " normalise=rows frequency=0.5",
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

/* ---- predictions ------------------------------------------------------------------------------------ */

static pgcn_model *trained_model(const pgcn_dataset *data, const char *text) {
    pgcn_trainer *trainer = trainer_of(data, text);
    pgcn_model *model;
    must(pgcn_trainer_epoch(trainer, NULL));
    must(pgcn_trainer_model(trainer, &model));
    pgcn_trainer_free(trainer);
    return model;
}

static bool see_nothing(void *context, const pgcn_layer *layer) {
    (void)context, (void)layer;
    return true;
}

enum { ITEMS = 900, CLASSES = 3, NUMBERS = ITEMS * CLASSES, SOME = 40 };

/* What a model says of all nodes, of some, and how right it is. */
typedef struct said {
    float probability[NUMBERS], deviation[NUMBERS];
    float some[SOME * CLASSES], some_deviation[SOME * CLASSES];
    pgcn_scores scores;
} said;

static void ask(const pgcn_model *model, const pgcn_dataset *data, int draws, int threads,
                said *out) {
    pgcn_inference inference = pgcn_inference_default();
    pgcn_node node[SOME];
    for (int i = 0; i < SOME; i++) node[i] = (pgcn_node)((SOME - i) * 17 % ITEMS);
    inference.draws = draws;
    inference.seed = 5;
    inference.threads = threads;
    memset(out, 0, sizeof *out);
    must(pgcn_model_predict(model, data, &inference, out->probability, out->deviation));
    must(pgcn_model_predict_nodes(model, data, node, SOME, &inference, out->some,
                                  out->some_deviation));
    must(pgcn_model_evaluate(model, data, &inference, &out->scores));
}

static void assert_same_said(const said *a, const said *b) {
    assert_memory_equal(a->probability, b->probability, sizeof a->probability);
    assert_memory_equal(a->deviation, b->deviation, sizeof a->deviation);
    assert_memory_equal(a->some, b->some, sizeof a->some);
    assert_memory_equal(a->some_deviation, b->some_deviation, sizeof a->some_deviation);
    assert_memory_equal(&a->scores, &b->scores, sizeof a->scores);
}

static void check_same_said(const char *path, const char *text, const int *draws, int cases) {
    static said inside_said, outside_said;
    pgcn_dataset *inside = load(path, 0, NULL), *outside = load(path, ROOM, NULL);
    pgcn_model *model = trained_model(inside, text);
    for (int i = 0; i < cases; i++) {
        ask(model, inside, draws[i], 1, &inside_said);
        for (int threads = 1; threads <= 2; threads++) {
            ask(model, outside, draws[i], threads, &outside_said);
            assert_same_said(&inside_said, &outside_said);
        }
    }
    pgcn_model_free(model);
    pgcn_dataset_free(inside), pgcn_dataset_free(outside);
}

static void test_on_disk_predictions_have_the_same_bits(void **state) {
    (void)state;
    static const int both[] = {0, 1, 3};
    static const char *const stores[] = {"float32", "int8"};
    static const char *const rows[] = {"future:600", "lru:600"};
    for (int i = 0; i < 2; i++) {
        setenv("PATHGCN_ROWS", rows[i], 1);
        check_same_said(make_container("a.pgcn", stores[i], i == 1), by_nodes, both, 3);
    }
    unsetenv("PATHGCN_ROWS");
}

/* Networks without paths, networks that cannot be computed in parts, and one that multiplies features by powers of T. */
static void test_on_disk_predictions_of_other_networks_have_the_same_bits(void **state) {
    (void)state;
    static const int exact[] = {0}, both[] = {0, 2};
    static const char few[] = "layers=2 channels=8 epochs=1 patience=0 samples=1 consistency=0";
    static const char *const more[] = {" model=gcn train-form=exact", " model=sgc",
                                       " model=pde-gcn-d", " kernel=full paths=3",
                                       " normalise=rows frequency=-0.5 paths=3 input-hops=2"};
    const char *path = make_container("a.pgcn", "float16", false);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        char text[400];
        snprintf(text, sizeof text, "%s%s", few, more[i]);
        check_same_said(path, text, i < 3 ? exact : both, i < 3 ? 1 : 2);
    }
}

/* Blocks become smaller until they fit; what draws need at least is refused with its parts, and the exact form goes through
 * files. */
static void test_on_disk_predictions_keep_within_the_bound(void **state) {
    (void)state;
    static said first, other;
    char path[1024];
    snprintf(path, sizeof path, "%s", make_container("a.pgcn", "float32", false));
    pgcn_dataset *data = load(path, ROOM, NULL);
    pgcn_model *model = trained_model(data, by_nodes);
    ask(model, data, 2, 1, &first);
    pgcn_i_session s;
    const pgcn_inference inference = {.size = sizeof inference, .draws = 2};
    int64_t block = PGCN_I_BLOCK, least = block;
    pgcn_status status = PGCN_OK;
    data->from.memory = data->from.before + (18 << 20);
    for (; status == PGCN_OK; data->from.memory -= 1 << 13) {
        status = pgcn_i_session_open(&s, model, data, &inference, 0);
        if (status != PGCN_OK) break;
        assert_true(s.block <= block); /* less memory, smaller blocks */
        least = block = s.block;
        pgcn_i_session_close(&s);
    }
    assert_int_equal(status, PGCN_ERR_MEMORY);
    assert_non_null(strstr(pgcn_last_error(), "predicting "));
    assert_true(least < 16);
    data->from.memory += 1 << 14; /* the last that was possible, and a little for results */
    while (pgcn_i_session_open(&s, model, data, &inference, NUMBERS * 32) != PGCN_OK)
        data->from.memory += 1 << 14;
    pgcn_i_session_close(&s);
    ask(model, data, 2, 1, &other);
    assert_same_said(&first, &other);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

/* A question from one node leads to all others in few steps: then all rows are computed, in files. */
static void test_on_disk_exact_questions_that_lead_too_far_are_answered(void **state) {
    (void)state;
    const char *path = make_container("a.pgcn", "float32", false);
    pgcn_dataset *data = load(path, ROOM, NULL);
    pgcn_model *model = trained_model(data, by_nodes);
    const pgcn_node node[2] = {3, 800};
    float wanted[2 * CLASSES], got[2 * CLASSES];
    pgcn_predictor *predictor;
    must(pgcn_predictor_new(model, data, NULL, &predictor));
    assert_true(pgcn_predictor_rows(predictor) > 0); /* in parts */
    must(pgcn_predictor_nodes(predictor, node, 2, wanted, NULL));
    must_fail(pgcn_predictor_keep_hidden(predictor), PGCN_ERR_ARGUMENT, "stay on disk");
    pgcn_predictor_free(predictor);
    data->from.memory = data->from.before + (16 << 20) + (1 << 17);
    must(pgcn_predictor_new(model, data, NULL, &predictor));
    assert_int_equal(pgcn_predictor_rows(predictor), 0);
    must(pgcn_predictor_nodes(predictor, node, 2, got, NULL));
    pgcn_predictor_free(predictor);
    assert_memory_equal(wanted, got, sizeof got);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

static void test_on_disk_new_nodes_are_refused(void **state) {
    (void)state;
    const char *path = make_container("a.pgcn", "float32", false);
    pgcn_dataset *data = load(path, ROOM, NULL);
    pgcn_model *model = trained_model(data, by_nodes);
    pgcn_predictor *predictor;
    const int64_t offset[2] = {0, 1};
    const pgcn_node neighbour[1] = {4};
    const float feature[12] = {0};
    float probability[CLASSES];
    must(pgcn_predictor_new(model, data, NULL, &predictor));
    must_fail(pgcn_predictor_new_nodes(predictor, &(pgcn_new_nodes){1, offset, neighbour, feature},
                                       probability, NULL),
              PGCN_ERR_ARGUMENT, "its features stay on disk");
    pgcn_predictor_free(predictor);
    pgcn_model_free(model);
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
    refuse(data, "epochs=1 batch-norm=yes norm-over=graph", PGCN_ERR_ARGUMENT, "set it to step");
    assert_null(strstr(pgcn_last_error(), "set batch")); /* which would be refused in its turn */
    refuse(data, "epochs=1 batch=10 batch-by=nodes", PGCN_ERR_ARGUMENT, "set eval-nodes");
    must_fail(pgcn_dataset_save(data, scratch_path("b.pgcn")), PGCN_ERR_ARGUMENT,
              "saving it needs all");
    must_fail(pgcn_dataset_save_npz(data, scratch_path("b.npz")), PGCN_ERR_ARGUMENT,
              "saving it needs all");
    must_fail(pgcn_dataset_prepare(data, "order=rcm", &other), PGCN_ERR_ARGUMENT,
              "preparing it needs all");
    pgcn_model *model = trained_model(data, by_nodes);
    pgcn_explanation *explanation = NULL;
    must_fail(pgcn_model_explain(model, data, 0, NULL, &explanation), PGCN_ERR_ARGUMENT,
              "an explanation needs all");
    must_fail(pgcn_model_layers(model, data, NULL, see_nothing, NULL), PGCN_ERR_ARGUMENT,
              "showing the values of layers needs all");
    pgcn_model_free(model);
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

/* A setting of the caller, not of a recipe. */
static void refuse_set(const pgcn_dataset *data, const char *text, const char *key,
                       const char *value, const char *part) {
    pgcn_config config = settings(text);
    pgcn_trainer *trainer = NULL;
    must(pgcn_config_set(&config, key, value));
    must_fail(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_ARGUMENT, part);
    assert_null(trainer);
}

/* What a refusal advises is not refused in its turn, with the advice to go back. */
static void test_on_disk_clusters_are_refused_without_a_circle(void **state) {
    (void)state;
    pgcn_dataset *data = load(make_container("a.pgcn", "float32", false), ROOM, NULL);
    static const char *const with[][2] = {{"parts", "4"}, {"batch", "10"}, {"eval-nodes", "10"}};
    for (int i = 0; i < 3; i++) {
        refuse_set(data, "batch-by=cluster", with[i][0], with[i][1], "leave batch-by out");
        assert_non_null(strstr(pgcn_last_error(), "set batch to a number"));
        assert_non_null(strstr(pgcn_last_error(), "parts-per-step"));
    }
    static const char *const left[][2] = {
        {"parts", "4"}, {"parts-per-step", "2"}, {"parts-by", "builtin"}};
    for (int i = 0; i < 3; i++) { /* when batch-by is left out */
        refuse_set(data, by_nodes, left[i][0], left[i][1], "stay on disk; leave it out");
        assert_null(strstr(pgcn_last_error(), "cluster"));
    }
    pgcn_dataset_free(data);
}

/* Sparse features stay in memory: nobody is sent to a bound of memory, which refuses them. */
static void test_on_disk_sparse_features_are_not_advised_to_stay_there(void **state) {
    (void)state;
    enum { TOO_MUCH = 60 };
    char dense[1024], sparse[1024];
    snprintf(dense, sizeof dense, "%s", make_container("a.pgcn", "float32", false));
    snprintf(sparse, sizeof sparse, "%s", scratch_path("sparse.pgcn"));
    pgcn_dataset *data;
    must(pgcn_dataset_load("karate", NULL, &data));
    must(pgcn_dataset_save(data, sparse));
    pgcn_dataset_free(data);
    must_fail(pgcn_i_check_fits(dense, (int64_t)1 << TOO_MUCH), PGCN_ERR_MEMORY,
              "leave its features on disk");
    must_fail(pgcn_i_check_fits(sparse, (int64_t)1 << TOO_MUCH), PGCN_ERR_MEMORY,
              "end other programs");
    assert_null(strstr(pgcn_last_error(), "--memory"));
    pgcn_dataset_opts opts = pgcn_dataset_opts_default();
    opts.memory = ROOM;
    must_fail(pgcn_dataset_load(sparse, &opts, &data), PGCN_ERR_ARGUMENT, "leave --memory out");
    must_fail(pgcn_dataset_load("karate", &opts, &data), PGCN_ERR_ARGUMENT,
              "where its features are sparse, leave --memory out");
}

/* "needs at least 17.9 MiB", and the bound in MiB that is advised. */
static void tell_need(char needed[64], long long *enough) {
    const char *text = pgcn_last_error(), *least = strstr(text, "needs at least ");
    const char *bound = strstr(text, "(--memory ");
    assert_non_null(least);
    assert_non_null(bound);
    snprintf(needed, 64, "%.*s", (int)(strstr(least, " in all") - least), least);
    assert_int_equal(sscanf(bound, "(--memory %lldM)", enough), 1);
}

static void test_on_disk_too_little_memory_is_refused_with_the_parts(void **state) {
    (void)state;
    const char *path = make_container("a.pgcn", "float32", false);
    pgcn_dataset *data = load(path, 16 << 20, NULL);
    refuse(data, by_nodes, PGCN_ERR_MEMORY, "within 16.0 MiB is not possible: it needs at least");
    assert_non_null(strstr(pgcn_last_error(), "pages of the graph"));
    assert_non_null(strstr(pgcn_last_error(), "are available"));
    pgcn_dataset_free(data);
    /* what a batch needs is known when some were drawn */
    data = load(path, ROOM, NULL);
    data->from.memory = data->from.before + (16 << 20) + 300000;
    refuse(data, by_nodes, PGCN_ERR_MEMORY, "a batch and those after it");
    assert_null(strstr(pgcn_last_error(), "a batch and those after it 0 bytes"));
    /* whoever raises the bound and has still too little is told the same, and what is told suffices */
    char needed[64], again[64];
    long long enough = 0;
    tell_need(needed, &enough);
    data->from.memory += 100000;
    refuse(data, by_nodes, PGCN_ERR_MEMORY, "a batch and those after it");
    tell_need(again, &enough);
    assert_string_equal(needed, again);
    data->from.memory = enough << 20;
    pgcn_trainer_free(trainer_of(data, by_nodes));
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

/* The same of predictions: every read fails once, by blocks and of all rows; then the same question is answered. */
static void test_on_disk_a_prediction_after_a_failed_read_is_the_same(void **state) {
    (void)state;
    static const int draws[] = {2, 0};
    static said whole, again;
    const char *path = make_container("a.pgcn", "float32", false);
    pgcn_dataset *inside = load(path, 0, NULL);
    pgcn_model *model = trained_model(inside, by_nodes);
    setenv("PATHGCN_ROWS", "future:600", 1);
    for (int i = 0; i < 2; i++) {
        pgcn_inference inference = pgcn_inference_default();
        inference.draws = draws[i];
        inference.seed = 5;
        ask(model, inside, draws[i], 1, &whole);
        disk_reset(scratch);
        disk->on = true;
        pgcn_dataset *data = load_plain(path);
        int failed = 0;
        for (int skip = 1;; skip = skip * 3 / 2 + 1) {
            disk->kind = DISK_READ;
            disk->number = atomic_load(&disk->calls[DISK_READ]) + skip;
            pgcn_status status =
                pgcn_model_predict(model, data, &inference, again.probability, NULL);
            disk->number = 0;
            if (status == PGCN_OK) break;
            assert_int_equal(status, PGCN_ERR_IO);
            assert_non_null(strstr(pgcn_last_error(), "cannot read"));
            failed++;
        }
        assert_true(failed > 0);
        ask(model, data, draws[i], 1, &again);
        assert_same_said(&whole, &again);
        disk->on = false;
        pgcn_dataset_free(data);
    }
    unsetenv("PATHGCN_ROWS");
    pgcn_model_free(model);
    pgcn_dataset_free(inside);
}

/* Every temporary file may be one too many for the disk. */
static void test_on_disk_a_full_disk_ends_an_exact_prediction(void **state) {
    (void)state;
    float *probability = calloc(NUMBERS, sizeof *probability);
    char path[1024];
    snprintf(path, sizeof path, "%s", make_container("a.pgcn", "float32", false));
    pgcn_dataset *data = load(path, ROOM, NULL);
    pgcn_dataset *inside = load(path, 0, NULL);
    data->from.memory = data->from.before + (16 << 20);
    pgcn_model *model = trained_model(inside, by_nodes);
    const struct rlimit none = {0, RLIM_INFINITY};
    struct rlimit before;
    /* blocks of 64 KiB and more are files once a quarter of the bound is taken: it is said to be */
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    pgcn_i_spool_count(data->from.memory);
    pgcn_status status = pgcn_model_predict(model, data, NULL, probability, NULL);
    pgcn_i_spool_count(-data->from.memory);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, PGCN_ERR_MEMORY);
    assert_non_null(strstr(pgcn_last_error(), "cannot make a temporary file of"));
    assert_non_null(strstr(pgcn_last_error(), "nothing was changed"));
    must(pgcn_model_predict(model, data, NULL, probability, NULL));
    free(probability);
    pgcn_model_free(model);
    pgcn_dataset_free(data), pgcn_dataset_free(inside);
}

static void test_on_disk_a_container_replaced_or_cut_ends_a_prediction(void **state) {
    (void)state;
    float *probability = calloc(NUMBERS, sizeof *probability);
    char path[1024], copy[1024];
    const pgcn_inference inference = {.size = sizeof inference, .draws = 2};
    pgcn_predictor *predictor;
    const pgcn_node node[2] = {3, 800};
    snprintf(path, sizeof path, "%s", make_container("a.pgcn", "float32", false));
    snprintf(copy, sizeof copy, "%s", make_container("b.pgcn", "float32", false));
    pgcn_dataset *data = load(path, ROOM, NULL);
    pgcn_model *model = trained_model(data, by_nodes);
    must(pgcn_predictor_new(model, data, &inference, &predictor));
    must(pgcn_predictor_nodes(predictor, node, 2, probability, NULL));
    assert_int_equal(rename(copy, path), 0);
    must_fail(pgcn_predictor_nodes(predictor, node, 2, probability, NULL), PGCN_ERR_MISMATCH,
              "replaced by another file");
    pgcn_predictor_free(predictor);
    for (int draws = 0; draws < 2; draws++) {
        pgcn_inference one = {.size = sizeof one, .draws = draws};
        must_fail(pgcn_model_predict(model, data, &one, probability, NULL), PGCN_ERR_MISMATCH,
                  "replaced by another file");
    }
    pgcn_dataset_free(data);
    data = load(path, ROOM, NULL);
    int64_t offset = pgcn_i_row_file_layout(data->x.file)->offset;
    must(pgcn_predictor_new(model, data, &inference, &predictor));
    must(pgcn_predictor_nodes(predictor, node, 2, probability, NULL));
    assert_int_equal(truncate(path, offset + 12 * 4), 0);
    must_fail(pgcn_predictor_nodes(predictor, node, 2, probability, NULL), PGCN_ERR_MISMATCH,
              "was cut short");
    pgcn_predictor_free(predictor);
    must_fail(pgcn_model_predict(model, data, NULL, probability, NULL), PGCN_ERR_IO,
              "it ended early");
    free(probability);
    pgcn_model_free(model);
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

/* A test that failed may have left it set. */
static int leave(void **state) {
    unsetenv("PATHGCN_ROWS");
    return scratch_remove(state);
}

int main(void) {
    disk_make();
#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, scratch_make, leave)
    const struct CMUnitTest tests[] = {
        ON_DISK(test_on_disk_same_bits_for_every_store_and_cache),
        ON_DISK(test_on_disk_same_bits_for_other_networks),
        ON_DISK(test_on_disk_absent_nodes_get_the_same_means),
        ON_DISK(test_on_disk_splits_are_made_as_in_memory),
        ON_DISK(test_on_disk_resumes_with_the_same_bits),
        ON_DISK(test_on_disk_predictions_have_the_same_bits),
        ON_DISK(test_on_disk_predictions_of_other_networks_have_the_same_bits),
        ON_DISK(test_on_disk_predictions_keep_within_the_bound),
        ON_DISK(test_on_disk_exact_questions_that_lead_too_far_are_answered),
        ON_DISK(test_on_disk_new_nodes_are_refused),
        ON_DISK(test_on_disk_what_needs_all_features_is_refused),
        ON_DISK(test_on_disk_clusters_are_refused_without_a_circle),
        ON_DISK(test_on_disk_sparse_features_are_not_advised_to_stay_there),
        ON_DISK(test_on_disk_too_little_memory_is_refused_with_the_parts),
        ON_DISK(test_on_disk_the_cache_gets_what_is_left),
        ON_DISK(test_on_disk_a_failed_read_loses_nothing),
        ON_DISK(test_on_disk_a_replaced_container_is_noticed_in_the_next_epoch),
        ON_DISK(test_on_disk_a_prediction_after_a_failed_read_is_the_same),
        ON_DISK(test_on_disk_a_full_disk_ends_an_exact_prediction),
        ON_DISK(test_on_disk_a_container_replaced_or_cut_ends_a_prediction),
        ON_DISK(test_on_disk_a_number_that_is_not_finite_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
