/* The tape itself: gradients of what several operations use, the same bits for any number of
 * threads, recording that fails at any allocation, and tapes without gradients. The operations are
 * in test_ops.c, the network in test_model.c. */
#include "network_help.h"

#include "scratch_help.h"

/* ---- values and parameters used several times ------------------------------------------------ */

enum { ROWS = 21, C = 5, LAYERS = 3, HOPS = 3 };
static const double ALPHA = 0.2;

/* H_0 = relu(x), H_{l+1} = pathconv(H_l; s) mixed with H_0: H_0 is used LAYERS + 1 times, and one s by
 * all layers. */
typedef struct chain {
    pgcn_graph *graph;
    pgcn_i_spatial spatial;
    pgcn_i_transition transition;
    pgcn_i_pool *pool;
    pgcn_i_params params;
    pgcn_i_tape tape;
    pgcn_i_value *x, *out;
    double *x_d, s_d[HOPS], *weight;
} chain;

static double chain_objective(void *context) {
    chain *ch = context;
    enum { COUNT = ROWS * C };
    double h0[COUNT], h[COUNT], z[COUNT], power[COUNT], sum = 0;
    for (int e = 0; e < COUNT; e++) h[e] = h0[e] = ch->x_d[e] > 0 ? ch->x_d[e] : 0;
    for (int l = 0; l < LAYERS; l++) {
        memcpy(z, h, sizeof z);
        for (int e = 0; e < COUNT; e++) h[e] = ALPHA * h0[e] + (1 - ALPHA) * ch->s_d[0] * z[e];
        for (int i = 1; i < HOPS; i++) {
            ref_csr_product(power, &ch->spatial.exact, z, C);
            memcpy(z, power, sizeof z);
            for (int e = 0; e < COUNT; e++) h[e] += (1 - ALPHA) * ch->s_d[i] * z[e];
        }
    }
    for (int e = 0; e < COUNT; e++) sum += ch->weight[e] * h[e];
    return sum;
}

static void test_tape_value_and_kernel_used_by_all_layers_gradients_add_up(void **state) {
    (void)state;
    chain ch = {.graph = random_graph(ROWS, 30, false, false, false, 1)};
    pgcn_config config = settings("path-length=3 train-form=exact");
    float *x = ref_random_floats(2, ROWS * C), *weight = ref_random_floats(3, ROWS * C);
    must(pgcn_i_spatial_init(&ch.spatial, ch.graph, &config));
    ch.transition = (pgcn_i_transition){
        .n = ROWS, .samples = 1, .exact = &ch.spatial.exact, .exact_t = &ch.spatial.exact_t};
    must(pgcn_i_pool_new(1, &ch.pool));
    must(pgcn_i_params_init(&ch.params, 1));
    pgcn_i_param *s = pgcn_i_params_add(
        &ch.params, (pgcn_i_param_spec){.group = PGCN_I_GROUP_KERNEL, .shape = {HOPS}}, "kernel");
    must(pgcn_i_params_allocate(&ch.params, true));
    must(pgcn_i_tape_init(&ch.tape, ch.pool, &ch.params, 1 + LAYERS, true));
    ch.x = pgcn_i_tape_value(&ch.tape, ROWS, C);
    pgcn_i_value *h0 = pgcn_i_op_relu(&ch.tape, ch.x);
    ch.out = h0;
    for (int l = 0; l < LAYERS; l++)
        ch.out = pgcn_i_op_pathconv(&ch.tape, ch.out,
                                    (pgcn_i_pathconv){.transition = &ch.transition,
                                                      .kernel = PGCN_KERNEL_GLOBAL,
                                                      .k = HOPS,
                                                      .s = s,
                                                      .residual = h0,
                                                      .alpha = ALPHA});
    must(pgcn_i_tape_finish(&ch.tape));
    memcpy(ch.x->data, x, ROWS * C * sizeof *x);
    ch.x_d = ref_doubles(x, ROWS * C);
    ch.weight = ref_doubles(weight, ROWS * C);
    for (int i = 0; i < HOPS; i++) {
        ch.params.value[i] = 0.6f / (float)(i + 1);
        ch.s_d[i] = (double)ch.params.value[i];
    }
    for (int run = 0; run < 2; run++) { /* the second must not add to the first */
        pgcn_i_tape_forward(&ch.tape);
        memcpy(ch.out->grad, weight, ROWS * C * sizeof *weight);
        pgcn_i_tape_backward(&ch.tape);
    }
    check_gradient("x", ch.x->grad, ch.x_d, ROWS * C, chain_objective, &ch, 64, 1e-5, 0.1);
    check_gradient("s", ch.params.grad, ch.s_d, HOPS, chain_objective, &ch, 64, 1e-5, 0.1);
    pgcn_i_tape_free(&ch.tape);
    pgcn_i_params_free(&ch.params);
    pgcn_i_pool_free(ch.pool);
    pgcn_i_spatial_free(&ch.spatial);
    pgcn_graph_free(ch.graph);
    free(ch.x_d), free(ch.weight), free(x), free(weight);
}

/* h = relu(x), a = h W, s = relu(a) + a, t = h + s, out = relu(t) + t + a: both inputs of a sum are used by
 * others too, before it and after it, next to it on the tape and far away. */
typedef struct sums {
    double *x, w[C * C], *weight;
} sums;

static double sums_objective(void *context) {
    const sums *s = context;
    enum { COUNT = ROWS * C };
    double h[COUNT], a[COUNT], result = 0;
    for (int e = 0; e < COUNT; e++) h[e] = fmax(s->x[e], 0);
    ref_gemm(false, false, ROWS, C, C, h, s->w, 0, a);
    for (int e = 0; e < COUNT; e++) {
        double t = h[e] + fmax(a[e], 0) + a[e];
        result += s->weight[e] * (fmax(t, 0) + t + a[e]);
    }
    return result;
}

static void test_tape_sums_of_values_that_others_use_gradients_add_up(void **state) {
    (void)state;
    enum { COUNT = ROWS * C };
    float *x = ref_random_floats(2, COUNT), *weight = ref_random_floats(3, COUNT);
    float *w = ref_random_floats(4, C * C);
    sums s = {.x = ref_doubles(x, COUNT), .weight = ref_doubles(weight, COUNT)};
    for (int e = 0; e < C * C; e++) s.w[e] = (double)w[e];
    pgcn_i_pool *pool;
    pgcn_i_params params;
    pgcn_i_tape tape;
    must(pgcn_i_pool_new(2, &pool));
    must(pgcn_i_params_init(&params, 1));
    pgcn_i_param *param = pgcn_i_params_add(
        &params, (pgcn_i_param_spec){.group = PGCN_I_GROUP_MIX, .shape = {C, C}}, "w");
    must(pgcn_i_params_allocate(&params, true));
    memcpy(params.value, w, sizeof *w * C * C);
    must(pgcn_i_tape_init(&tape, pool, &params, 8, true));
    pgcn_i_value *leaf = pgcn_i_tape_value(&tape, ROWS, C), *h = pgcn_i_op_relu(&tape, leaf);
    pgcn_i_value *a = pgcn_i_op_linear(&tape, h, param, NULL, false, 0);
    pgcn_i_value *sum = pgcn_i_op_add(&tape, pgcn_i_op_relu(&tape, a), a);
    pgcn_i_value *t = pgcn_i_op_add(&tape, h, sum);
    pgcn_i_value *out = pgcn_i_op_add(&tape, pgcn_i_op_relu(&tape, t), t);
    out = pgcn_i_op_add(&tape, out, a);
    must(pgcn_i_tape_finish(&tape));
    memcpy(leaf->data, x, COUNT * sizeof *x);
    for (int run = 0; run < 2; run++) { /* the second must not add to the first */
        pgcn_i_tape_forward(&tape);
        double got = 0;
        for (int e = 0; e < COUNT; e++) got += s.weight[e] * (double)out->data[e];
        assert_close(got, sums_objective(&s), 1e-4);
        memcpy(out->grad, weight, COUNT * sizeof *weight);
        pgcn_i_tape_backward(&tape);
    }
    check_gradient("x", leaf->grad, s.x, COUNT, sums_objective, &s, 64, 1e-5, 0.1);
    check_gradient("w", params.grad, s.w, C * C, sums_objective, &s, 64, 1e-5, 0.1);
    pgcn_i_tape_free(&tape);
    pgcn_i_params_free(&params);
    pgcn_i_pool_free(pool);
    free(x), free(weight), free(w), free(s.x), free(s.weight);
}

/* ---- threads ----------------------------------------------------------------------------------- */

/* Between them: all kernels, both forms, every operation of the network. */
static const char *const networks[] = {
    "channels=33 layers=2 path-length=4 drop-rows=0.3",
    "channels=17 layers=3 path-length=3 kernel=global residual=previous train-form=exact",
    "channels=16 layers=2 path-length=3 kernel=layer batch-norm=yes paths-per-layer=yes",
    "channels=9 layers=2 path-length=3 kernel=full batch-norm=yes residual=none",
    "channels=9 layers=2 path-length=3 kernel=full train-form=exact samples=3",
    "channels=70 layers=2 path-length=3 bf16=yes samples=2",
    "channels=70 layers=2 path-length=3 hidden-rows=bf16 samples=2",
    "channels=33 layers=3 path-length=3 hidden-rows=bf16 batch-norm=yes drop-rows=0.3",
};
enum { NETWORKS = sizeof networks / sizeof *networks };

static void assert_same_bits(const float *a, const float *b, int64_t count, const char *what,
                             int number, int threads) {
    if (memcmp(a, b, (size_t)count * sizeof *a) != 0)
        fail_msg("network %d, %s: other bits with %d threads", number, what, threads);
}

/* Values and gradients that are arrays: floats, or bf16. Others exist as tiles only. */
static void assert_same_arrays(const pgcn_i_value *a, const pgcn_i_value *b, int number,
                               int threads) {
    int64_t count = a->rows * a->cols;
    assert_true((a->data == NULL) == (b->data == NULL) && (a->grad == NULL) == (b->grad == NULL));
    if (a->data) assert_same_bits(a->data, b->data, count, "value", number, threads);
    if (a->grad) assert_same_bits(a->grad, b->grad, count, "gradient", number, threads);
    if (a->bf16) assert_memory_equal(a->bf16, b->bf16, (size_t)count * sizeof *a->bf16);
    if (a->bf16_grad)
        assert_memory_equal(a->bf16_grad, b->bf16_grad, (size_t)count * sizeof *a->bf16_grad);
}

static void test_tape_thread_matrix_same_bits(void **state) {
    (void)state;
    problem p = problem_new(300); /* several blocks and groups of rows */
    for (int i = 0; i < NETWORKS; i++) {
        network one;
        network_open(&one, &p, networks[i], 1);
        double loss = network_run(&one);
        for (int t = 1; t < THREAD_CASES; t++) {
            network many;
            network_open(&many, &p, networks[i], THREADS[t]);
            assert_true(network_run(&many) == loss);
            assert_int_equal(one.tape.count, many.tape.count);
            for (int o = 0; o < one.tape.count; o++)
                assert_same_arrays(one.tape.op[o].out, many.tape.op[o].out, i, THREADS[t]);
            assert_same_bits(one.params.grad, many.params.grad, one.params.total,
                             "gradient of weights", i, THREADS[t]);
            assert_same_bits(one.params.value, many.params.value, one.params.total,
                             "running statistics", i, THREADS[t]);
            network_close(&many);
        }
        network_close(&one);
    }
    problem_free(&p);
}

/* Whether the gradient of an opening layer is an array, when a layer and, with `shared`, a sum use it. */
static bool keeps_opening_gradient(bool shared) {
    float *x = ref_random_floats(5, ROWS * C);
    const pgcn_i_input input = {.n = ROWS, .columns = C, .dense = x};
    pgcn_i_pool *pool;
    pgcn_i_params params;
    pgcn_i_tape tape;
    must(pgcn_i_pool_new(2, &pool));
    must(pgcn_i_params_init(&params, 1));
    pgcn_i_param *w = pgcn_i_params_add(
        &params, (pgcn_i_param_spec){.group = PGCN_I_GROUP_MIX, .shape = {C, C}}, "w");
    must(pgcn_i_params_allocate(&params, true));
    must(pgcn_i_tape_init(&tape, pool, &params, 8, true));
    pgcn_i_value *h = pgcn_i_op_input(&tape, &input, 1, (pgcn_i_opening){.w = w});
    pgcn_i_value *a = pgcn_i_op_linear(&tape, h, w, NULL, false, 0);
    if (shared) pgcn_i_op_add(&tape, a, h);
    must(pgcn_i_tape_finish(&tape));
    bool keeps = h->grad != NULL;
    pgcn_i_tape_free(&tape);
    pgcn_i_params_free(&params);
    pgcn_i_pool_free(pool);
    free(x);
    return keeps;
}

/* The layer after it hands the gradient on as tiles; what others of its users write is kept. */
static void test_tape_gradient_of_the_opening_layer_is_kept_for_others_only(void **state) {
    (void)state;
    assert_false(keeps_opening_gradient(false));
    assert_true(keeps_opening_gradient(true));
}

/* ---- rows without a gradient ------------------------------------------------------------------- */

/* Forward, loss, backward; `all`: without saying which rows the loss looks at. */
static double run_with_rows(network *net, bool all) {
    const problem *p = net->problem;
    if (all)
        pgcn_i_live_all(&net->tape);
    else
        pgcn_i_loss_rows(&net->loss, &net->tape,
                         &(pgcn_i_target){p->label, NULL, p->mask, p->masked}, 0);
    pgcn_i_tape_forward(&net->tape);
    pgcn_i_loss_terms terms =
        pgcn_i_loss_run(&net->loss, &net->tape, net->logits,
                        &(pgcn_i_target){p->label, NULL, p->mask, p->masked}, 0, 1);
    pgcn_i_tape_backward(&net->tape);
    return terms.cross_entropy;
}

/* The gradients are the same when only the rows that matter to the loss are computed. */
static void check_live_rows(const problem *p, const char *text) {
    network net;
    network_open(&net, p, text, 2);
    network_shake(&net);
    int64_t total = net.params.total;
    double loss = run_with_rows(&net, true);
    double *want = ref_doubles(net.params.grad, total);
    /* What is not live must not be read: it holds what a broken run would leave there. */
    for (int o = 0; o < net.tape.count; o++) {
        const pgcn_i_value *value = net.tape.op[o].out;
        for (int64_t e = 0; e < value->rows * value->cols; e++) {
            const uint16_t bf16_nan = 0x7fc0;
            if (value->data) value->data[e] = NAN;
            if (value->grad) value->grad[e] = NAN;
            if (value->bf16) value->bf16[e] = bf16_nan;
            if (value->bf16_grad) value->bf16_grad[e] = bf16_nan;
        }
    }
    assert_close(run_with_rows(&net, false), loss, 1e-6);
    assert_true(net.logits->live && net.logits->live->count == p->masked * net.config.samples);
    check_values(text, net.params.grad, want, total, 5e-6);
    free(want);
    network_close(&net);
}

static void test_tape_few_training_nodes_same_gradients_as_all_rows(void **state) {
    (void)state;
    static const char *const wide[] = {
        "channels=70 layers=3 path-length=3",
        "channels=20 layers=3 path-length=3 samples=2",
        "channels=8 layers=3 residual=previous path-length=2",
        "channels=8 layers=2 residual=none drop-rows=0.2 self-loops=no paths=2",
        "channels=8 layers=2 path-length=3 train-form=exact",
        "channels=8 layers=2 path-length=3 kernel=full batch-norm=yes"};
    problem p = problem_new(300);
    memset(p.mask, 0, 300);
    for (int64_t j = p.masked = 0; j < 300 && p.masked < 4; j += 40)
        p.masked += (p.mask[j] = p.label[j] >= 0);
    assert_int_equal(p.masked, 4);
    for (int i = 0; i < NETWORKS + (int)(sizeof wide / sizeof *wide); i++)
        check_live_rows(&p, i < NETWORKS ? networks[i] : wide[i - NETWORKS]);
    problem_free(&p);
}

/* The hub has more visits, and is visited by more rows, than any kernel packs at a time (64). */
static void test_tape_hub_with_many_visits_same_gradients_as_all_rows(void **state) {
    (void)state;
    enum { NODES = 400, MOST = 90 };
    static const char *const texts[] = {
        "channels=8 layers=2 path-length=2 paths=150 self-loops=no",
        "channels=20 layers=2 path-length=3 paths=150 samples=2",
        "channels=70 layers=3 path-length=2 paths=100 self-loops=no"};
    problem p = problem_star(NODES);
    memset(p.mask, 0, NODES);
    p.label[0] = 1; /* the hub is one of the training nodes, the others are spread */
    for (int64_t j = p.masked = 0; j < NODES && p.masked < MOST; j += 3)
        p.masked += (p.mask[j] = p.label[j] >= 0);
    assert_int_equal(p.masked, MOST);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_live_rows(&p, texts[i]);
    problem_free(&p);
}

/* ---- bf16 ---------------------------------------------------------------------------------------- */

/* Eight bits of mantissa: a number is off by 2^-9 at most, sums of many by less. */
static void check_near_float(const char *text, const char *option, double tolerance) {
    problem p = problem_new(200);
    network full, half;
    char other[160];
    snprintf(other, sizeof other, "%s %s", text, option);
    network_open(&full, &p, text, 1);
    network_open(&half, &p, other, 1);
    network_shake(&full), network_shake(&half);
    double loss = network_run(&full), near = network_run(&half);
    assert_true(near != loss);
    assert_close(near, loss, 0.01 * loss);
    double *want = ref_doubles(full.params.grad, full.params.total);
    check_values("gradients", half.params.grad, want, full.params.total, tolerance);
    free(want);
    network_close(&full), network_close(&half);
    problem_free(&p);
}

static void test_tape_gathering_in_bf16_is_near_float(void **state) {
    (void)state;
    check_near_float("channels=24 layers=2 path-length=4", "bf16=yes", 0.01);
}

static void test_tape_hidden_rows_in_bf16_are_near_float(void **state) {
    (void)state;
    static const char *const texts[] = {
        "channels=24 layers=2 path-length=4",
        "channels=24 layers=4 path-length=3 dropout-hidden=0.2",
        "channels=33 layers=2 path-length=3 residual=previous samples=2",
        "channels=24 layers=2 path-length=3 residual=none batch-norm=yes",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_near_float(texts[i], "hidden-rows=bf16", 0.03);
}

/* What is gathered and what products read is in bf16; logits, and sums of gradients by several layers, are not. */
static void test_tape_keeps_hidden_rows_in_bf16(void **state) {
    (void)state;
    problem p = problem_new(100);
    network two, four;
    network_open(&two, &p, "channels=24 layers=2 path-length=3 hidden-rows=bf16", 1);
    for (int i = 0; i < two.tape.count; i++) {
        const pgcn_i_value *value = two.tape.op[i].out;
        assert_true(value->half == (value != two.logits));
        assert_true((value->bf16 != NULL) == value->half && (value->data != NULL) != value->half);
        /* sparse features read the gradient of the opening layer as a whole */
        assert_true(!value->grad || value == two.logits || i == 0);
    }
    network_open(&four, &p, "channels=24 layers=4 path-length=3 hidden-rows=bf16", 1);
    assert_true(four.tape.op[0].out->half && !four.tape.op[0].out->half_grad);
    assert_non_null(four.tape.op[0].out->grad); /* three layers add to it */
    network_close(&two), network_close(&four);
    problem_free(&p);
}

/* ---- the loop that closes ------------------------------------------------------------------------ */

/* The last loop of the forward pass, the loss and the first loop of the backward pass as one: the same bits. */
static void check_closing(const problem *p, const char *text, bool all) {
    network apart, closed;
    network_open(&apart, p, text, 1);
    network_open_closing(&closed, p, text, 2);
    network_shake(&apart), network_shake(&closed);
    assert_true(closed.tape.closes && closed.logits->tiled && !closed.logits->data);
    for (int run = 0; run < 2; run++) {
        double loss = run_with_rows(&apart, all);
        assert_true(run_with_rows(&closed, all) == loss);
        assert_same_bits(apart.params.grad, closed.params.grad, apart.params.total, text, run, 2);
    }
    assert_true(closed.tape.work_floats < apart.tape.work_floats);
    network_close(&apart), network_close(&closed);
}

static void test_tape_closing_with_the_loss_gives_the_same_bits(void **state) {
    (void)state;
    static const char *const texts[] = {
        "channels=24 layers=2 path-length=3 consistency=0",
        "channels=70 layers=2 path-length=3 consistency=0", /* by slabs */
        "channels=24 layers=3 path-length=3 consistency=0 samples=2 residual=previous",
        "channels=24 layers=6 path-length=3 consistency=0 recompute=yes",
        "model=mlp channels=24 layers=3 consistency=0 samples=1",
    };
    problem p = problem_new(500);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int all = 0; all <= 1; all++) check_closing(&p, texts[i], all);
    network normed; /* makes all rows, of which the loss may look at some */
    network_open_closing(&normed, &p, "channels=9 layers=2 path-length=3 batch-norm=yes", 1);
    assert_true(!normed.tape.closes && normed.logits->data);
    network_close(&normed);
    problem_free(&p);
}

/* ---- memory ------------------------------------------------------------------------------------ */

static network *recorded;
static bool recorded_with_grad;
static pgcn_status record_once(void) {
    pgcn_status status = network_record(recorded, recorded_with_grad);
    pgcn_i_tape_free(&recorded->tape);
    return status;
}

static void test_tape_recording_without_memory_fails_cleanly(void **state) {
    (void)state;
    problem p = problem_new(20);
    for (int i = 0; i < NETWORKS; i++)
        for (int with_grad = 0; with_grad <= 1; with_grad++) {
            network net;
            network_prepare(&net, &p, networks[i], 1);
            recorded = &net;
            recorded_with_grad = with_grad;
            assert_true(fail_every_allocation(record_once) > 10);
            network_close(&net);
        }
    problem_free(&p);
}

static void test_tape_running_allocates_nothing(void **state) {
    (void)state;
    problem p = problem_new(100);
    for (int i = 0; i < NETWORKS; i++) {
        network net;
        network_open(&net, &p, networks[i], 2);
        int64_t before = pgcn_i_alloc_count();
        network_run(&net);
        assert_int_equal(pgcn_i_alloc_count(), before);
        network_close(&net);
    }
    problem_free(&p);
}

static void test_tape_too_many_operations_is_an_error(void **state) {
    (void)state;
    pgcn_i_params params = {0};
    pgcn_i_pool *pool;
    pgcn_i_tape tape;
    must(pgcn_i_pool_new(1, &pool));
    must(pgcn_i_tape_init(&tape, pool, &params, 2, true));
    pgcn_i_value *x = pgcn_i_tape_value(&tape, 3, 3);
    x = pgcn_i_op_relu(&tape, pgcn_i_op_relu(&tape, x));
    assert_non_null(x);
    x = pgcn_i_op_relu(&tape, x);
    assert_null(x);
    assert_null(pgcn_i_op_dropout(&tape, x, 0.5));                           /* goes on quietly, */
    must_fail(pgcn_i_tape_finish(&tape), PGCN_ERR_ARGUMENT, "2 operations"); /* and says so here */
    pgcn_i_tape_free(&tape);
    pgcn_i_pool_free(pool);
}

static void test_tape_size_beyond_memory_is_an_error(void **state) {
    (void)state;
    pgcn_i_params params = {0};
    pgcn_i_pool *pool;
    pgcn_i_tape tape;
    must(pgcn_i_pool_new(1, &pool));
    must(pgcn_i_tape_init(&tape, pool, &params, 2, true));
    assert_null(pgcn_i_tape_value(&tape, INT64_MAX / 2, 3));
    must_fail(pgcn_i_tape_finish(&tape), PGCN_ERR_MEMORY, "4611686018427387903 x 3");
    pgcn_i_tape_free(&tape);
    pgcn_i_pool_free(pool);
}

/* ---- inference ---------------------------------------------------------------------------------- */

static void test_tape_without_gradients_drops_nothing(void **state) {
    (void)state;
    pgcn_i_params params = {0};
    pgcn_i_pool *pool;
    pgcn_i_tape tape;
    must(pgcn_i_pool_new(1, &pool));
    must(pgcn_i_tape_init(&tape, pool, &params, 2, false));
    pgcn_i_value *x = pgcn_i_tape_value(&tape, 3, 3);
    assert_null(x->grad);
    assert_ptr_equal(pgcn_i_op_dropout(&tape, x, 0.5), x);
    assert_ptr_equal(pgcn_i_op_drop_rows(&tape, x, 0.5), x);
    assert_int_equal(tape.count, 0);
    must(pgcn_i_tape_finish(&tape));
    pgcn_i_tape_free(&tape);
    pgcn_i_pool_free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tape_value_and_kernel_used_by_all_layers_gradients_add_up),
        cmocka_unit_test(test_tape_sums_of_values_that_others_use_gradients_add_up),
        cmocka_unit_test(test_tape_thread_matrix_same_bits),
        cmocka_unit_test(test_tape_gradient_of_the_opening_layer_is_kept_for_others_only),
        cmocka_unit_test(test_tape_few_training_nodes_same_gradients_as_all_rows),
        cmocka_unit_test(test_tape_hub_with_many_visits_same_gradients_as_all_rows),
        cmocka_unit_test(test_tape_gathering_in_bf16_is_near_float),
        cmocka_unit_test(test_tape_hidden_rows_in_bf16_are_near_float),
        cmocka_unit_test(test_tape_keeps_hidden_rows_in_bf16),
        cmocka_unit_test(test_tape_closing_with_the_loss_gives_the_same_bits),
        cmocka_unit_test(test_tape_recording_without_memory_fails_cleanly),
        cmocka_unit_test(test_tape_running_allocates_nothing),
        cmocka_unit_test(test_tape_too_many_operations_is_an_error),
        cmocka_unit_test(test_tape_size_beyond_memory_is_an_error),
        cmocka_unit_test(test_tape_without_gradients_drops_nothing),
    };
    return cmocka_run_group_tests_name("tape", tests, NULL, NULL);
}
