/* Memory of a training: arrays that share it never meet, computing again instead of keeping gives the
 * same bits in less of it, and what a trainer says it takes is what it takes. */
#include "network_help.h"

#include "scratch_help.h"

/* ---- sharing ----------------------------------------------------------------------------------- */

/* Between them: all kernels and forms, every operation, several blocks of rows, and segments that
 * begin inside a layer. */
static const char *const networks[] = {
    "channels=33 layers=2 path-length=4 drop-rows=0.3",
    "channels=70 layers=5 path-length=3",
    "channels=17 layers=8 path-length=3 kernel=global residual=previous train-form=exact",
    "channels=16 layers=6 path-length=3 kernel=layer batch-norm=yes paths-per-layer=yes",
    "channels=9 layers=7 path-length=3 kernel=full batch-norm=yes residual=none",
    "channels=9 layers=8 path-length=3 kernel=full train-form=exact samples=3",
    "channels=16 layers=5 path-length=3 batch-norm=yes dropout-hidden=0.3",
    "channels=16 layers=6 path-length=3 batch-norm=yes norm-over=graph dropout-hidden=0.3",
    "channels=33 layers=2 path-length=3 hidden-rows=bf16",
    "channels=70 layers=5 path-length=3 hidden-rows=bf16 batch-norm=yes",
};
enum { NETWORKS = sizeof networks / sizeof *networks, ROWS = 200 };

/* Gives every array of the tape memory of its own, full of numbers that are none: whoever reads
 * what another should have left, or what nobody wrote, is found out. */
static float *take_apart(pgcn_i_tape *tape) {
    int64_t each = tape->power_floats, arrays = 2 * tape->count + 1;
    for (int i = 0; i < tape->count; i++) {
        const pgcn_i_value *value = tape->op[i].out;
        if (value->rows * value->cols > each) each = value->rows * value->cols;
    }
    float *work = ref_filled_floats(NAN, arrays * each);
    for (int64_t i = 0; i < arrays; i++)
        if (tape->place[i] >= 0) tape->place[i] = i * each;
    pgcn_i_tape_place(tape, work);
    return work;
}

static void assert_same_gradients(const network *a, const network *b, const char *label) {
    size_t bytes = (size_t)a->params.total * sizeof *a->params.grad;
    if (memcmp(a->params.grad, b->params.grad, bytes) != 0) fail_msg("%s: other gradients", label);
    if (memcmp(a->params.value, b->params.value, bytes) != 0)
        fail_msg("%s: other running statistics", label);
    for (int64_t i = 0; i < a->params.total; i++) assert_true(isfinite(a->params.grad[i]));
    /* The caller may look at the result after the way back, at rows that are computed. */
    for (int64_t r = 0; r < a->logits->rows && a->logits->data; r++)
        if (a->problem->mask[r % a->problem->n])
            assert_memory_equal(a->logits->data + r * a->logits->cols,
                                b->logits->data + r * b->logits->cols,
                                (size_t)a->logits->cols * sizeof *a->logits->data);
}

/* Forward, loss without consistency, backward, with the rows alone that the loss depends on. */
static double run_live(network *net) {
    const problem *p = net->problem;
    pgcn_i_loss_rows(&net->loss, &net->tape, &(pgcn_i_target){p->label, NULL, p->mask, p->masked},
                     0);
    pgcn_i_tape_forward(&net->tape);
    pgcn_i_loss_terms terms =
        pgcn_i_loss_run(&net->loss, &net->tape, net->logits,
                        &(pgcn_i_target){p->label, NULL, p->mask, p->masked}, 0, 1);
    pgcn_i_tape_backward(&net->tape);
    pgcn_i_live_all(&net->tape);
    return terms.cross_entropy;
}

/* A problem in which few nodes train, so that there are rows that do not matter. */
static problem few_trained(int64_t n) {
    problem p = problem_new(n);
    p.masked = 0;
    for (int64_t j = 0; j < n; j++) {
        p.mask[j] = p.mask[j] && j % 20 == 0 && p.label[j] >= 0;
        p.masked += p.mask[j];
    }
    assert_true(p.masked > 0);
    return p;
}

static void test_plan_shared_memory_same_bits_as_apart(void **state) {
    (void)state;
    problem p = few_trained(ROWS);
    for (int i = 0; i < 4 * NETWORKS; i++) {
        char text[256];
        bool closes = i % 4 >= 2;
        snprintf(text, sizeof text, "%s recompute=%s%s", networks[i / 4], i % 2 ? "yes" : "no",
                 closes ? " consistency=0" : "");
        network together, apart;
        (closes ? network_open_closing : network_open)(&together, &p, text, 1);
        (closes ? network_open_closing : network_open)(&apart, &p, text, 1);
        float *work = take_apart(&apart.tape);
        for (int run = 0; run < 2; run++) { /* the second starts from what the first left */
            assert_true(run_live(&together) == run_live(&apart));
            assert_same_gradients(&together, &apart, text);
            assert_true(network_run(&together) == network_run(&apart));
            assert_same_gradients(&together, &apart, text);
        }
        network_close(&together), network_close(&apart);
        free(work);
    }
    problem_free(&p);
}

/* The opening layer masks its gradient by its own result, so a product after it may not write the one
 * over the other. The network has no such place. */
static void test_plan_value_that_its_maker_reads_again_is_kept(void **state) {
    (void)state;
    problem p = problem_new(ROWS);
    network net[2];
    for (int i = 0; i < 2; i++) {
        network_prepare(&net[i], &p, "channels=9 layers=1", 1);
        pgcn_i_tape *tape = &net[i].tape;
        pgcn_i_param *param = net[i].params.param; /* embed, one layer, classifier */
        int last = net[i].params.count - 1;
        must(pgcn_i_tape_init(tape, net[i].pool, &net[i].params, 2, true));
        tape->samples = 2;
        pgcn_i_value *h =
            pgcn_i_op_input(tape, net[i].input, 2,
                            (pgcn_i_opening){.dropout = 0.5, .w = &param[0], .b = &param[1]});
        net[i].logits = pgcn_i_op_linear(tape, h, &param[last - 1], &param[last], false, 0);
        must(pgcn_i_tape_finish(tape));
    }
    float *work = take_apart(&net[1].tape);
    assert_true(network_run(&net[0]) == network_run(&net[1]));
    assert_same_gradients(&net[0], &net[1], "two layers");
    network_close(&net[0]), network_close(&net[1]);
    free(work);
    problem_free(&p);
}

/* The floats of two arrays that are needed at the same time may not meet: here all results of a
 * tape that keeps everything, at the moment when the way back begins. */
static void test_plan_values_of_the_way_back_do_not_overlap(void **state) {
    (void)state;
    problem p = problem_new(ROWS);
    network net;
    network_open(&net, &p, "channels=8 layers=4 path-length=2", 1);
    const pgcn_i_tape *tape = &net.tape;
    for (int a = 0; a < tape->count; a++)
        for (int b = a + 1; b < tape->count; b++) {
            const pgcn_i_value *x = tape->op[a].out, *y = tape->op[b].out;
            assert_true(x->data + x->rows * x->cols <= y->data ||
                        y->data + y->rows * y->cols <= x->data);
        }
    network_close(&net);
    problem_free(&p);
}

/* ---- computing again ------------------------------------------------------------------------------ */

static int repeated_loops(const pgcn_i_tape *tape) {
    int count = 0;
    for (int i = 0; i < tape->loops; i++) count += tape->loop[i].pass == PGCN_I_RECOMPUTE;
    return count;
}

static void test_plan_recompute_same_gradients(void **state) {
    (void)state;
    problem p = problem_new(ROWS);
    for (int i = 1; i < NETWORKS; i++) /* not the one of two layers */
        for (int threads = 1; threads <= 3; threads += 2) {
            char text[256];
            network kept, again;
            snprintf(text, sizeof text, "%s recompute=yes", networks[i]);
            network_open(&kept, &p, networks[i], 1);
            network_open(&again, &p, text, threads);
            assert_int_equal(repeated_loops(&kept.tape), 0);
            assert_true(repeated_loops(&again.tape) > 0);
            assert_true(again.tape.work_floats < kept.tape.work_floats);
            for (int run = 0; run < 2; run++) {
                assert_true(network_run(&kept) == network_run(&again));
                assert_same_gradients(&kept, &again, text);
            }
            network_close(&kept), network_close(&again);
        }
    problem_free(&p);
}

/* Work of the tape in arrays of n rows and c channels. */
static double arrays_needed(const pgcn_dataset *data, const char *text) {
    pgcn_trainer *trainer = trainer_of(data, text);
    double arrays = (double)trainer->train.tape.work_floats /
                    (double)(data->graph->n * trainer->config.channels);
    /* evaluation, which is in float, has memory enough in that of training, but for its logits */
    const bool kept =
        trainer->config.hidden_rows == PGCN_ROWS_FLOAT32 && !trainer->config.recompute;
    if (trainer->config.layers > 2 || (trainer->config.layers > 1 && kept))
        assert_true(trainer->eval.tape.work_floats <=
                    trainer->train.tape.work_floats + data->graph->n * data->classes);
    pgcn_trainer_free(trainer);
    return arrays;
}

#define ONE_SAMPLE "samples=1 consistency=0 channels=32 dropout=0.5 "

static void test_plan_deep_networks_need_few_arrays(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("sbm:nodes=320,features=12,classes=2");
    double two = arrays_needed(data, ONE_SAMPLE "layers=2");
    double deep = arrays_needed(data, ONE_SAMPLE "layers=64");
    double again = arrays_needed(data, ONE_SAMPLE "layers=64 recompute=yes");
    double deeper = arrays_needed(data, ONE_SAMPLE "layers=256 recompute=yes");
    double normed = arrays_needed(data, ONE_SAMPLE "layers=64 batch-norm=yes");
    double normed_again = arrays_needed(data, ONE_SAMPLE "layers=64 batch-norm=yes recompute=yes");
    double half = arrays_needed(data, ONE_SAMPLE "layers=2 hidden-rows=bf16");
    /* H0, two results of every layer but the last, and the gradient of what the last one's paths make; that of H0, to
     * which all layers add, is an array where there are more than two. The other gradients live where values have
     * been. */
    double remade = arrays_needed(data, ONE_SAMPLE "layers=2 hidden-rows=bf16 recompute=yes");
    assert_true(two == 4 && deep == 129 && half == 2 && remade == 1.5);
    /* about 2 sqrt(2 * 64), and twice that for four times the layers */
    assert_true(again < 27);
    assert_true(deeper < 2 * again);
    assert_true(normed_again < normed / 4);
    assert_true(arrays_needed(data, ONE_SAMPLE "layers=2 recompute=yes") == 3);
    assert_true(arrays_needed(data, ONE_SAMPLE "layers=1 recompute=yes") < two);
    pgcn_dataset_free(data);
}

/* Recomputed in another number of threads: the same weights and history as of values that were kept. Whether rows of
 * the opening layer are made anew, tile by tile, or segments of the network. */
static void check_recompute(const pgcn_dataset *data, const char *settings, bool remakes) {
    enum { EPOCHS = 8 };
    pgcn_trainer *kept = trainer_of(data, settings);
    run_epochs(kept, EPOCHS);
    for (int threads = 1; threads <= 3; threads += 2) {
        char text[256];
        snprintf(text, sizeof text, "%s recompute=yes threads=%d", settings, threads);
        pgcn_trainer *again = trainer_of(data, text);
        assert_true(again->train.tape.op[0].out->remade == remakes);
        assert_true((repeated_loops(&again->train.tape) > 0) == !remakes);
        assert_true(again->train.tape.work_floats <= kept->train.tape.work_floats);
        run_epochs(again, EPOCHS);
        assert_same_weights(&kept->params, &again->params, text);
        for (int e = 0; e < EPOCHS; e++) {
            const pgcn_epoch *a = &kept->progress.history[e], *b = &again->progress.history[e];
            assert_true(a->train_loss == b->train_loss && a->val_loss == b->val_loss);
            assert_true(a->test_accuracy == b->test_accuracy && a->best == b->best);
        }
        pgcn_trainer_free(again);
    }
    pgcn_trainer_free(kept);
}

/* Of two layers; all rows, or those that matter. */
static void test_trainer_remaking_the_opening_layer_same_bits(void **state) {
    (void)state;
    static const char *const texts[] = {
        ONE_SAMPLE "layers=2",
        ONE_SAMPLE "layers=2 hidden-rows=bf16",
        ONE_SAMPLE "layers=2 channels=48 residual=none",
        ONE_SAMPLE "layers=2 hidden-rows=bf16 residual=previous dropout-hidden=0.3",
    };
    static const char *const names[] = {
        "sbm:nodes=320,features=12,classes=2",
        "sbm:nodes=320,features=12,classes=2:per-class=4/30/40",
    };
    for (int d = 0; d < 2; d++) {
        pgcn_dataset *data = dataset(names[d]);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            check_recompute(data, texts[i], true);
        /* with a consistency term two layers have segments */
        check_recompute(data, "samples=2 consistency=1 channels=16 layers=2 hidden-rows=bf16",
                        false);
        pgcn_dataset_free(data);
    }
}

static void test_trainer_recompute_same_bits(void **state) {
    (void)state;
    static const char *const texts[] = {
        "channels=9 layers=6 drop-rows=0.2",
        "channels=70 layers=5 paths-per-layer=yes resample-every=2",
        "channels=9 layers=6 samples=1 consistency=0", /* only rows that matter */
        "channels=70 layers=6 samples=1 consistency=0 residual=none",
        "channels=9 layers=8 batch-norm=yes",
        "channels=9 layers=6 kernel=full batch-norm=yes residual=previous",
        "channels=9 layers=6 kernel=layer train-form=exact",
        "channels=9 layers=6 train-form=exact samples=1 consistency=0",
        "channels=9 layers=4 kernel=full samples=1 consistency=0",
        "channels=9 layers=6 walk=node2vec self-loops=no",
        "channels=9 layers=6 dropout-hidden=0.2 batch-norm=yes",
    };
    static const char *const names[] = {"karate", "sbm:nodes=200,features=12,classes=3"};
    for (int d = 0; d < 2; d++) {
        pgcn_dataset *data = dataset(names[d]);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            check_recompute(data, texts[i], false);
        pgcn_dataset_free(data);
    }
}

/* ---- without memory --------------------------------------------------------------------------------- */

static network *recorded;

static pgcn_status record_once(void) {
    pgcn_status status = network_record(recorded, true);
    pgcn_i_tape_free(&recorded->tape);
    return status;
}

static void test_plan_without_memory_fails_cleanly(void **state) {
    (void)state;
    problem p = problem_new(20);
    network net;
    network_prepare(&net, &p, "channels=5 layers=8 path-length=3 recompute=yes", 1);
    recorded = &net;
    assert_true(fail_every_allocation(record_once) > 10);
    network_close(&net);
    problem_free(&p);
}

static const pgcn_dataset *trained_data;
static pgcn_status train_once(void) {
    pgcn_trainer *trainer;
    pgcn_config config = settings("channels=5 epochs=3");
    PGCN_TRY(pgcn_trainer_new(trained_data, &config, &trainer));
    pgcn_trainer_free(trainer);
    return PGCN_OK;
}

static void test_trainer_without_memory_fails_cleanly(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    trained_data = data;
    assert_true(fail_every_allocation(train_once) > 30);
    pgcn_dataset_free(data);
}

/* ---- what a training takes ---------------------------------------------------------------------------- */

/* Bytes that are allocated and not freed. */
static int64_t held;
static void *counting_alloc(size_t bytes, size_t align, void *context) {
    (void)context;
    char *block = aligned_alloc(align, bytes + align);
    memcpy(block, &bytes, sizeof bytes);
    held += (int64_t)bytes;
    return block + align;
}
static void counting_free(void *block, void *context) {
    (void)context;
    char *start = (char *)block - PGCN_ALIGN;
    size_t bytes;
    memcpy(&bytes, start, sizeof bytes);
    held -= (int64_t)bytes;
    free(start);
}

static const char *const trainings[] = {
    "channels=64",
    "channels=64 layers=32 samples=1 consistency=0",
    "channels=64 layers=32 recompute=yes",
    "channels=32 kernel=full batch-norm=yes drop-rows=0.5",
    "channels=64 train-form=exact path-length=7",
    "channels=16 paths=40 path-length=9 paths-per-layer=yes layers=4",
    "channels=16 walk=node2vec self-loops=no paths=20",
};

static void test_trainer_memory_is_what_it_allocates(void **state) {
    (void)state;
    static const char *const names[] = {"grid:rows=30,cols=30", "sbm:nodes=1500,features=40"};
    pgcn_set_allocator(&(pgcn_allocator){counting_alloc, counting_free, NULL});
    for (int d = 0; d < 2; d++) {
        pgcn_dataset *data = dataset(names[d]);
        for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++) {
            int64_t before = held, count = pgcn_i_alloc_count();
            pgcn_trainer *trainer = trainer_of(data, trainings[i]);
            int64_t allocated = held - before;
            pgcn_memory memory = pgcn_trainer_memory(trainer);
            const pgcn_i_views *views[] = {&trainer->train.views, &trainer->eval.views};
            int64_t room = 0;
            for (int v = 0; v < 2; v++)
                for (int l = 0; l < views[v]->samplers; l++)
                    room += views[v]->visits[l]->arena.bytes;
            assert_true(memory.paths <= room);
            assert_true(memory.paths >= room / 4);
            assert_int_equal(memory.total, memory.values + memory.paths + memory.features +
                                               memory.graph + memory.weights);
            int64_t whole = memory.total - memory.paths + room;
            /* every block is rounded up and has a header */
            int64_t headers = 3 * PGCN_ALIGN * (pgcn_i_alloc_count() - count);
            if (whole > allocated || whole < allocated - headers)
                fail_msg("%s, %s: says %lld, %lld bytes are allocated", names[d], trainings[i],
                         (long long)whole, (long long)allocated);
            run_epochs(trainer, 2);
            assert_int_equal(held - before, allocated);
            pgcn_trainer_free(trainer);
            assert_int_equal(held, before);
        }
        pgcn_dataset_free(data);
    }
    assert_int_equal(held, 0);
    pgcn_set_allocator(NULL);
}

#define ONE " samples=1 consistency=0"
/* Where memory is out, the sentence has to say what all of it would have been. */
static void test_trainer_memory_is_guessed_without_allocating(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("sbm:nodes=4000,features=40");
    static const char *const more[] = {"channels=256 layers=1",
                                       "model=gin channels=64 layers=5",
                                       "model=gat channels=64 heads=8 layers=3" ONE,
                                       "model=supergat channels=64 heads=8 layers=2" ONE,
                                       "model=grand channels=64 layers=6" ONE,
                                       "model=grand channels=64 layers=6 attention=recomputed" ONE,
                                       "model=egnn channels=64 layers=8" ONE,
                                       "model=pde-gcn-m channels=64 layers=8" ONE,
                                       "channels=64 layers=16 batch-norm=yes",
                                       "channels=32 layers=6 kernel=full",
                                       "channels=128 layers=3 kernel=full",
                                       "channels=128 layers=3 kernel=full batch-norm=yes",
                                       "channels=128 layers=6 kernel=full batch-norm=yes" ONE,
                                       "channels=64 layers=64 recompute=yes"};
    size_t count = sizeof trainings / sizeof *trainings;
    for (size_t i = 0; i < count + sizeof more / sizeof *more; i++) {
        const char *text = i < count ? trainings[i] : more[i - count];
        pgcn_trainer *trainer = trainer_of(data, text);
        int64_t before = pgcn_i_alloc_count();
        pgcn_memory guess = pgcn_i_trainer_guess(data, &trainer->config);
        assert_int_equal(pgcn_i_alloc_count(), before);
        double ratio = (double)guess.total / (double)pgcn_trainer_memory(trainer).total;
        if (ratio < 0.75 || ratio > 1.33)
            fail_msg("%s: guessed %.1f MB, it is %.1f MB", text, (double)guess.total / 1e6,
                     (double)guess.total / ratio / 1e6);
        pgcn_trainer_free(trainer);
    }
    pgcn_config huge = settings("channels=65536 layers=4096");
    pgcn_memory most = pgcn_i_trainer_guess(data, &huge);
    assert_true(most.total > (int64_t)1 << 46 && most.weights > most.paths);
    pgcn_dataset_free(data);
}

/* Sparse features are held by rows and by columns, dense ones once; standardised ones are dense. */
static void test_trainer_memory_of_features_is_guessed_by_their_form(void **state) {
    (void)state;
    static const char *const names[] = {"sbm:nodes=1000,features=500",
                                        "sbm:nodes=1000,features=500:features=adjacency"};
    static const char *const texts[] = {"channels=4 normalise=none", "channels=4 normalise=rows",
                                        "channels=4 normalise=standardise", "channels=4"};
    for (int d = 0; d < 2; d++) {
        pgcn_dataset *data = dataset(names[d]);
        assert_true((data->x.offset != NULL) == (d == 1)); /* or the test tells nothing */
        for (int i = 0; i < 4; i++) {
            pgcn_trainer *trainer = trainer_of(data, texts[i]);
            pgcn_config config = settings(texts[i]); /* before the trainer has settled it */
            double guess = (double)pgcn_i_trainer_guess(data, &config).features;
            double ratio = guess / (double)pgcn_trainer_memory(trainer).features;
            if (ratio < 0.9 || ratio > 1.1)
                fail_msg("%s, %s: guessed %.0f bytes, %.2f of what it is", names[d], texts[i],
                         guess, ratio);
            pgcn_trainer_free(trainer);
        }
        pgcn_dataset_free(data);
    }
}

static void *no_large_alloc(size_t bytes, size_t align, void *context) {
    return bytes > 1 << 16 ? NULL : counting_alloc(bytes, align, context);
}

static void test_trainer_without_memory_says_what_it_needs_and_what_there_is(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_config config = settings("channels=512 layers=100");
    pgcn_trainer *trainer = NULL;
    pgcn_set_allocator(&(pgcn_allocator){no_large_alloc, counting_free, NULL});
    pgcn_status status = pgcn_trainer_new(data, &config, &trainer);
    pgcn_set_allocator(NULL);
    assert_int_equal(status, PGCN_ERR_MEMORY);
    assert_null(trainer);
    char needed[32];
    pgcn_format_bytes(pgcn_i_trainer_guess(data, &config).total, needed);
    assert_error_says("out of memory: this training needs about");
    assert_error_says(needed);
    assert_error_says("are available");
    assert_error_says("fewer channels or layers");
    pgcn_dataset_free(data);
}

/* Entries that the lists hold after sampling, against those that were expected: columns and weights of
 * a list and weights of its transpose, four bytes each. */
static void test_trainer_memory_expects_how_far_lists_fill(void **state) {
    (void)state;
    static const char *const names[] = {"grid:rows=40,cols=40", "sbm:nodes=3000,degree=30",
                                        "sbm:nodes=100,degree=3"};
    for (int d = 0; d < 3; d++) {
        pgcn_dataset *data = dataset(names[d]);
        pgcn_trainer *trainer = trainer_of(data, "channels=4 paths=12 path-length=6");
        run_epochs(trainer, 1);
        const pgcn_i_visits *visits = trainer->train.views.visits[0];
        int64_t empty = visits->rows * visits->p * (visits->k - 1);
        for (int i = 0; i < visits->k - 1; i++) empty -= visits->hop[i].offset[visits->rows];
        int64_t touched = visits->arena.bytes - 12 * empty;
        double error = (double)pgcn_trainer_memory(trainer).paths / (double)touched - 1;
        if (fabs(error) > 0.03) fail_msg("%s: off by %.1f %%", names[d], 100 * error);
        assert_true(empty > 0);
        pgcn_trainer_free(trainer);
        pgcn_dataset_free(data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_shared_memory_same_bits_as_apart),
        cmocka_unit_test(test_plan_value_that_its_maker_reads_again_is_kept),
        cmocka_unit_test(test_plan_values_of_the_way_back_do_not_overlap),
        cmocka_unit_test(test_plan_recompute_same_gradients),
        cmocka_unit_test(test_plan_deep_networks_need_few_arrays),
        cmocka_unit_test(test_trainer_remaking_the_opening_layer_same_bits),
        cmocka_unit_test(test_trainer_recompute_same_bits),
        cmocka_unit_test(test_plan_without_memory_fails_cleanly),
        cmocka_unit_test(test_trainer_without_memory_fails_cleanly),
        cmocka_unit_test(test_trainer_memory_is_what_it_allocates),
        cmocka_unit_test(test_trainer_memory_expects_how_far_lists_fill),
        cmocka_unit_test(test_trainer_memory_is_guessed_without_allocating),
        cmocka_unit_test(test_trainer_memory_of_features_is_guessed_by_their_form),
        cmocka_unit_test(test_trainer_without_memory_says_what_it_needs_and_what_there_is),
    };
    return cmocka_run_group_tests_name("memory plan", tests, NULL, NULL);
}
