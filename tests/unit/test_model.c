/* The network of nodes against the second one (second_help.h): values, the gradients of all weights by
 * finite differences, and how weights start. Networks of graphs: test_graph_model.c. */
#include "second_help.h"

#include "models/models.h"

static void test_network_every_combination_matches_equations_and_differences(void **state) {
    (void)state;
    static const char *const kernels[] = {"global", "layer", "depthwise", "full"};
    static const char *const residuals[] = {"none", "initial", "previous"};
    problem p = problem_new(30);
    for (int i = 0; i < 4 * 3 * 2 * 2 * 2 * 2; i++) {
        char text[512];
        int bits = i / 12;
        snprintf(
            text, sizeof text,
            "layers=2 channels=6 path-length=3 paths=3 seed=%d kernel=%s residual=%s alpha=0.3 "
            "scaling=%s self-loops=%s batch-norm=%s train-form=%s samples=%s",
            i, kernels[i % 4], residuals[i / 4 % 3], bits & 1 ? "walk" : "symmetric",
            bits & 2 ? "yes" : "no", bits & 4 ? "yes" : "no", bits & 8 ? "exact" : "sampled",
            i % 5 ? "1 consistency=0" : "2");
        compare(&p, text);
    }
    problem_free(&p);
}

static void test_network_recipes_of_all_kinds_match_equations(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* the recipes for citations, Pubmed and Chameleon, */
        "layers=4 channels=5",
        "layers=3 channels=5 samples=3 drop-rows=0.5 dropout=0.5",
        "channels=5 samples=1 consistency=0 mix=random kernel-start=random batch-norm=yes",
        /* other walks, an MLP, and the shortest and longest paths in exact form */
        "layers=3 channels=5 paths-per-layer=yes walk=weighted",
        "layers=2 channels=5 walk=weighted train-form=exact self-loops=no",
        "layers=2 channels=5 walk=node2vec self-loops=no return-p=4 inout-q=0.25",
        "layers=2 channels=5 path-length=1",
        "layers=2 channels=5 path-length=1 train-form=exact kernel=full",
        "layers=1 channels=1 path-length=2 train-form=exact",
        "layers=2 channels=7 path-length=6 train-form=exact kernel=global temperature=0.2",
        /* dropout between layers */
        "layers=3 channels=5 dropout-hidden=0.4",
        "layers=3 channels=5 batch-norm=yes dropout-hidden=0.3 residual=none",
        "layers=3 channels=5 train-form=exact kernel=full dropout-hidden=0.4",
        "layers=3 channels=5 batch-norm=yes dropout-hidden=0.3 drop-rows=0.5",
        /* inputs that paths smooth, in both forms */
        "layers=1 channels=5 input-hops=1 samples=1 consistency=0",
        "layers=2 channels=5 input-hops=1.5 drop-rows=0.5 dropout-hidden=0.3 paths-per-layer=yes",
        ("layers=1 channels=5 input-hops=2 input-norm=yes samples=3 drop-rows=0.5 batch-norm=yes "
         "dropout-last=0.8"),
        "layers=2 channels=5 input-hops=2 input-norm=yes train-form=exact kernel=layer dropout=0",
        "layers=1 channels=5 input-hops=1 input-norm=yes train-form=exact drop-rows=0.5",
        "layers=2 channels=5 input-hops=1 input-norm=yes batch-norm=yes dropout-hidden=0.3",
        /* batch norm with a gain and a shift */
        "layers=3 channels=5 batch-norm=yes norm-gain=yes",
        "layers=2 channels=5 batch-norm=yes norm-gain=yes self-mix=yes mix=random samples=3 dropout-hidden=0.4",
        "layers=3 channels=5 batch-norm=yes norm-gain=yes kernel=full train-form=exact residual=none",
        /* the same over each graph, which is the whole sample */
        "layers=3 channels=5 batch-norm=yes norm-over=graph",
        "layers=2 channels=5 batch-norm=yes norm-over=graph residual=none samples=3 dropout-hidden=0.4",
        "layers=2 channels=5 batch-norm=yes norm-over=graph train-form=exact recompute=yes mix=random",
        "layers=1 channels=5 input-hops=2 input-norm=yes norm-over=graph samples=3 drop-rows=0.5",
        /* the node itself beside its walks */
        "layers=3 channels=5 self-mix=yes",
        "layers=2 channels=5 self-mix=yes residual=previous mix=random samples=3 dropout-hidden=0.4",
        "layers=3 channels=5 self-mix=yes residual=none batch-norm=yes train-form=exact dropout=0.3",
        "layers=1 channels=5 self-mix=yes path-length=1 kernel=global",
        "layers=3 channels=5 self-mix=yes recompute=yes dropout-hidden=0.2 scaling=walk",
    };
    problem p = problem_new(30);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) compare(&p, texts[i]);
    problem_free(&p);
}

static void test_network_directions_match_equations(void **state) {
    (void)state;
    static const char *const kernels[] = {"global", "layer", "depthwise", "full"};
    static const char *const texts[] = {
        "direction=forward",
        "direction=backward train-form=exact",
        "direction=backward",
        "direction=backward scaling=walk",
        "direction=backward residual=none self-loops=no",
        "direction=backward walk=weighted paths-per-layer=yes",
        "direction=backward walk=weighted train-form=exact residual=previous",
        "direction=backward walk=node2vec self-loops=no"};
    problem p = problem_of(30, true);
    for (size_t i = 0; i < 4 * sizeof texts / sizeof *texts; i++) {
        char text[256];
        snprintf(text, sizeof text, "layers=2 channels=5 path-length=4 kernel=%s %s",
                 kernels[i % 4], texts[i / 4]);
        compare(&p, text);
    }
    problem_free(&p);
}

/* The largest sets of parameters fit into the room that is made for them: what does not would be
 * missing at the end. (A network that does not fit is refused when it is recorded.) */
static void test_network_room_is_enough_for_the_largest(void **state) {
    (void)state;
    static const char *const texts[] = {
        "input-hops=1 input-norm=yes batch-norm=yes layers=1",
        "input-hops=1 input-norm=yes batch-norm=yes layers=5",
        "input-hops=1 input-norm=yes batch-norm=yes readout=layers layers=5",
        "model=gin readout=layers layers=1",
        "model=gin readout=layers layers=5",
    };
    for (int i = 0; i < 10; i++) {
        pgcn_config config = settings(texts[i / 2]);
        config.normalise = PGCN_NORMALISE_STANDARDISE;
        pgcn_i_shape shape = {NET_FEATURES, NET_CLASSES, i % 2};
        pgcn_i_params params;
        char last[48] = "classifier.bias";
        if (shape.per_graph && config.readout == PGCN_READOUT_LAYERS)
            snprintf(last, sizeof last, "classifier.%d.bias", config.layers);
        must(pgcn_i_network_declare(&params, &config, shape));
        assert_true(params.count <= params.capacity);
        assert_string_equal(params.param[params.count - 1].name, last);
        pgcn_i_params_free(&params);
    }
}

/* Inference: nothing is dropped, and the exact form is the mean of the sampled one. */
static void test_network_inference_tape_matches_equations(void **state) {
    (void)state;
    problem p = problem_new(30);
    network net;
    network_prepare(&net, &p, "layers=3 channels=8 train-form=exact samples=1 consistency=0", 1);
    must(network_record(&net, false));
    network_shake(&net);
    second two = second_new(&net);
    double *logits = ref_zeros(p.n * NET_CLASSES);
    second_forward(&two, logits);
    pgcn_i_tape_forward(&net.tape);
    check_values("inference", net.logits->data, logits, p.n * NET_CLASSES, VALUE_TOLERANCE);
    free(logits);
    second_free(&two);
    network_close(&net);
    problem_free(&p);
}

/* ---- starts --------------------------------------------------------------------------------------------- */

/* Parameters of a configuration at their start; freed with pgcn_i_params_free. */
static pgcn_i_params started(const char *text) {
    pgcn_config config = settings(text);
    pgcn_i_params params;
    must(
        pgcn_i_network_declare(&params, &config, (pgcn_i_shape){NET_FEATURES, NET_CLASSES, false}));
    must(pgcn_i_params_allocate(&params, true));
    pgcn_i_network_start(&params, &config);
    return params;
}

static const pgcn_i_param *find(const pgcn_i_params *params, const char *name) {
    for (int i = 0; i < params->count; i++)
        if (strcmp(params->param[i].name, name) == 0) return &params->param[i];
    fail_msg("there is no parameter %s", name);
    return NULL;
}
static const float *start_of(const pgcn_i_params *params, const char *name) {
    return pgcn_i_value_of(params, find(params, name));
}

static void test_start_smooth_kernel_sums_to_one_and_walks_hops(void **state) {
    (void)state;
    for (int layers = 1; layers <= 64; layers *= 2)
        for (int k = 2; k <= 9; k++)
            for (double hops = 0.5; hops <= 8; hops *= 2) {
                char text[128];
                snprintf(text, sizeof text, "layers=%d path-length=%d hops=%g channels=3", layers,
                         k, hops);
                pgcn_i_params params = started(text);
                const float *s = start_of(&params, "layers.0.kernel");
                double sum = 0, walked = 0, most = layers * (k - 1) / 2.0;
                for (int i = 0; i < k; i++) {
                    sum += (double)s[i * 3];
                    walked += i * (double)s[i * 3];
                    assert_true(s[i * 3] == s[i * 3 + 1] && s[i * 3] == s[i * 3 + 2]);
                    if (i > 0) assert_true(s[i * 3] <= s[i * 3 - 3]);
                }
                assert_close(sum, 1, 1e-6);
                assert_close(layers * walked, hops < most ? hops : most, 1e-4);
                pgcn_i_params_free(&params);
            }
}

static void test_start_smooth_kernel_many_hops_is_even(void **state) {
    (void)state;
    pgcn_i_params params = started("layers=3 path-length=5 hops=1000 kernel=layer");
    for (int i = 0; i < 5; i++)
        assert_close((double)start_of(&params, "layers.2.kernel")[i], 0.2, 1e-7);
    pgcn_i_params_free(&params);
}

static void test_start_no_hops_and_identity_are_the_same(void **state) {
    (void)state;
    pgcn_i_params none = started("hops=0 channels=2 path-length=4");
    pgcn_i_params identity = started("kernel-start=identity channels=2 path-length=4");
    const float *a = start_of(&none, "layers.0.kernel"),
                *b = start_of(&identity, "layers.0.kernel");
    for (int i = 0; i < 8; i++) {
        assert_close((double)a[i], i < 2, 1e-7);
        assert_true(b[i] == (i < 2 ? 1.0f : 0.0f));
    }
    pgcn_i_params_free(&none), pgcn_i_params_free(&identity);
}

static void test_start_neighbours_is_all_on_the_first_step(void **state) {
    (void)state;
    pgcn_i_params params = started("kernel-start=neighbours channels=2 path-length=4");
    pgcn_i_params alone = started("kernel-start=neighbours channels=2 path-length=1");
    const float *s = start_of(&params, "layers.1.kernel");
    for (int i = 0; i < 8; i++) assert_true(s[i] == (i / 2 == 1 ? 1.0f : 0.0f));
    for (int i = 0; i < 2; i++) assert_true(start_of(&alone, "layers.1.kernel")[i] == 1.0f);
    pgcn_i_params_free(&params), pgcn_i_params_free(&alone);
}

static void mean_and_deviation(const float *x, int64_t count, double *mean, double *deviation) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++) sum += (double)x[i];
    *mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++) squares += pow((double)x[i] - *mean, 2);
    *deviation = sqrt(squares / (double)count);
}

static void test_start_random_kernel_has_its_statistics(void **state) {
    (void)state;
    double mean, deviation; /* 2000 numbers: four standard errors each */
    pgcn_i_params params = started("kernel-start=random channels=500 path-length=4 layers=1");
    mean_and_deviation(start_of(&params, "layers.0.kernel"), 2000, &mean, &deviation);
    assert_close(mean, 0, 4 * 0.5 / sqrt(2000));
    assert_close(deviation, 0.5, 4 * 0.5 / sqrt(4000));
    pgcn_i_params_free(&params);
    /* full: each output is a sum over channels too */
    params = started("kernel-start=random kernel=full channels=16 path-length=4 layers=1");
    mean_and_deviation(start_of(&params, "layers.0.kernel"), 4 * 16 * 16, &mean, &deviation);
    assert_close(mean, 0, 4 * 0.125 / sqrt(1024));
    assert_close(deviation, 0.125, 4 * 0.125 / sqrt(2048));
    pgcn_i_params_free(&params);
    params = started("kernel-start=identity kernel-noise=0.1 channels=500 path-length=4 layers=1");
    mean_and_deviation(start_of(&params, "layers.0.kernel") + 500, 1500, &mean, &deviation);
    assert_close(deviation, 0.1, 4 * 0.1 / sqrt(3000));
    mean_and_deviation(start_of(&params, "layers.0.kernel"), 500, &mean, &deviation);
    assert_close(mean, 1, 4 * 0.1 / sqrt(500));
    pgcn_i_params_free(&params);
}

static void test_start_full_kernel_is_diagonal(void **state) {
    (void)state;
    pgcn_i_params params = started("kernel=full channels=4 path-length=3 layers=2 hops=1");
    pgcn_i_params layer = started("kernel=layer channels=4 path-length=3 layers=2 hops=1");
    const float *w = start_of(&params, "layers.1.kernel"), *s = start_of(&layer, "layers.1.kernel");
    for (int e = 0; e < 3 * 16; e++) assert_true(w[e] == (e % 16 / 4 == e % 4 ? s[e / 16] : 0.0f));
    pgcn_i_params_free(&params), pgcn_i_params_free(&layer);
}

static void test_start_random_kernels_of_all_kinds_decay_to_zero(void **state) {
    (void)state;
    static const char *const kinds[] = {"global", "layer", "depthwise", "full"};
    for (int i = 0; i < 4; i++)
        for (int random = 0; random < 2; random++) {
            char text[64];
            snprintf(text, sizeof text, "channels=3 kernel=%s kernel-start=%s", kinds[i],
                     random ? "random" : "identity");
            pgcn_i_params params = started(text);
            const pgcn_i_param *kernel = find(&params, i == 0 ? "kernel" : "layers.1.kernel");
            assert_int_equal(kernel->decay_to_start, !random);
            pgcn_i_params_free(&params);
        }
}

static void test_start_mixing_is_identity_or_glorot(void **state) {
    (void)state;
    pgcn_i_params params = started("channels=9");
    for (int e = 0; e < 81; e++)
        assert_true(start_of(&params, "layers.1.weight")[e] == (e / 9 == e % 9 ? 1.0f : 0.0f));
    assert_true(find(&params, "layers.1.weight")->decay_to_start);
    assert_true(find(&params, "layers.1.kernel")->decay_to_start);
    assert_false(find(&params, "embed.weight")->decay_to_start);
    assert_memory_equal(params.start, params.value, (size_t)params.total * sizeof *params.value);
    for (int e = 0; e < 9; e++) assert_true(start_of(&params, "embed.bias")[e] == 0.0f);
    pgcn_i_params_free(&params);
    double mean, deviation, limit = sqrt(6.0 / 200);
    params = started("channels=100 mix=random");
    const float *w = start_of(&params, "layers.0.weight");
    mean_and_deviation(w, 10000, &mean, &deviation);
    assert_close(mean, 0, 4 * deviation / 100);
    assert_close(deviation, limit / sqrt(3), 0.02 * limit);
    for (int e = 0; e < 10000; e++) assert_true(fabs((double)w[e]) <= limit);
    assert_false(find(&params, "layers.0.weight")->decay_to_start);
    pgcn_i_params_free(&params);
}

/* Beside an identity start it is nothing at first, beside a random one random weights of their own. */
static void test_start_self_mix_is_zero_or_glorot(void **state) {
    (void)state;
    pgcn_i_params params = started("channels=9 self-mix=yes");
    for (int e = 0; e < 81; e++) assert_true(start_of(&params, "layers.1.self.weight")[e] == 0.0f);
    pgcn_i_params_free(&params);
    params = started("channels=9 self-mix=yes mix=random");
    const float *self = start_of(&params, "layers.1.self.weight");
    const float *w = start_of(&params, "layers.1.weight");
    double limit = sqrt(6.0 / 18);
    for (int e = 0; e < 81; e++) assert_true(fabs((double)self[e]) <= limit && self[e] != w[e]);
    pgcn_i_params_free(&params);
    params = started("channels=9 kernel=full");
    assert_null(pgcn_i_param_named(&params, "layers.1.self.weight"));
    pgcn_i_params_free(&params);
}

static void test_start_same_seed_same_bits_other_seed_others(void **state) {
    (void)state;
    static const char *const names[] = {"embed.weight", "layers.0.kernel", "layers.0.weight",
                                        "classifier.weight"};
#define RANDOM_ALL "mix=random kernel-start=random channels=8 "
    pgcn_i_params a = started(RANDOM_ALL "seed=5"), b = started(RANDOM_ALL "seed=5");
    pgcn_i_params c = started(RANDOM_ALL "seed=6");
    assert_memory_equal(a.value, b.value, (size_t)a.total * sizeof *a.value);
    for (int i = 0; i < 4; i++) {
        const float *x = start_of(&a, names[i]), *y = start_of(&c, names[i]);
        for (int64_t e = 0; e < find(&a, names[i])->count; e++) assert_true(x[e] != y[e]);
    }
    assert_true(start_of(&a, "layers.0.kernel")[0] != start_of(&a, "layers.1.kernel")[0]);
    pgcn_i_params_free(&a), pgcn_i_params_free(&b), pgcn_i_params_free(&c);
}

static void test_kernel_of_a_layer_is_read_for_every_channel(void **state) {
    (void)state;
    enum { K = 3, C = 4 };
    static const struct {
        const char *kind, *tensor;
        int hop, channel; /* how far apart their weights are */
    } cases[] = {{"global", "kernel", 1, 0},
                 {"layer", "layers.1.kernel", 1, 0},
                 {"depthwise", "layers.1.kernel", C, 1},
                 {"full", "layers.1.kernel", C * C, C + 1}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        char text[64];
        float weight[K * C];
        snprintf(text, sizeof text, "kernel=%s channels=4 path-length=3", cases[n].kind);
        pgcn_i_params params = started(text);
        pgcn_config config = settings(text);
        for (int64_t e = 0; e < params.total; e++) params.value[e] = (float)e;
        int64_t first = find(&params, cases[n].tensor)->first;
        pgcn_i_network_kernel(&params, &config, 1, weight);
        for (int i = 0; i < K; i++)
            for (int c = 0; c < C; c++)
                assert_true(weight[i * C + c] ==
                            (float)(first + i * cases[n].hop + c * cases[n].channel));
        pgcn_i_params_free(&params);
    }
}

static void test_declare_tensors_of_each_kernel(void **state) {
    (void)state;
    pgcn_i_params params = started("kernel=global layers=3 channels=4 batch-norm=yes");
    assert_int_equal(find(&params, "kernel")->count, 5);
    assert_int_equal(params.count, 5 + 3 * 3);
    const pgcn_i_param *variance = find(&params, "layers.2.norm.variance");
    assert_int_equal(variance->group, PGCN_I_GROUP_BUFFER);
    assert_true(params.value[variance->first + 3] == 1.0f);
    pgcn_i_params_free(&params);
    params = started("kernel=full layers=2 channels=4");
    assert_int_equal(find(&params, "layers.1.kernel")->count, 5 * 16);
    assert_int_equal(params.count, 4 + 2); /* no 1x1 */
    pgcn_i_params_free(&params);
    params = started("kernel=depthwise layers=2 channels=4");
    assert_int_equal(find(&params, "layers.1.kernel")->count, 5 * 4);
    assert_int_equal(find(&params, "classifier.weight")->count, 4 * NET_CLASSES);
    pgcn_i_params_free(&params);
}

/* The table of docs/FORMATS.md, "What training does with them". */
static void test_declare_groups_and_decay_are_those_of_the_documents(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool per_graph;
        const char *name;
        pgcn_i_group group;
        bool to_start;
    } rows[] = {
        {"layers=1", false, "embed.weight", PGCN_I_GROUP_ENDS, false},
        {"layers=1", false, "embed.bias", PGCN_I_GROUP_ENDS, false},
        {"layers=1", false, "classifier.bias", PGCN_I_GROUP_ENDS, false},
        {"layers=1", true, "readout.weight", PGCN_I_GROUP_ENDS, false},
        {"layers=1 input-hops=2 input-norm=yes", false, "input.norm.gain", PGCN_I_GROUP_ENDS,
         false},
        {"layers=1 input-hops=2 input-norm=yes", false, "input.norm.shift", PGCN_I_GROUP_ENDS,
         false},
        {"layers=1 input-hops=2 input-norm=yes", false, "input.kernel", PGCN_I_GROUP_BUFFER, false},
        {"layers=1", false, "layers.0.weight", PGCN_I_GROUP_MIX, true},
        {"layers=1 mix=random", false, "layers.0.weight", PGCN_I_GROUP_MIX, false},
        {"layers=1 self-mix=yes", false, "layers.0.self.weight", PGCN_I_GROUP_MIX, false},
        {"layers=1 self-mix=yes mix=random", true, "layers.0.self.weight", PGCN_I_GROUP_MIX, false},
        {"layers=1 batch-norm=yes", false, "layers.0.norm.mean", PGCN_I_GROUP_BUFFER, false},
        {"layers=1 batch-norm=yes norm-gain=yes", false, "layers.0.norm.gain", PGCN_I_GROUP_MIX,
         true},
        {"layers=1 batch-norm=yes norm-gain=yes", false, "layers.0.norm.shift", PGCN_I_GROUP_MIX,
         true},
        {"layers=1 batch-norm=yes norm-gain=yes", false, "layers.0.norm.mean", PGCN_I_GROUP_BUFFER,
         false},
        {"layers=1 batch-norm=yes", true, "layers.0.norm.gain", PGCN_I_GROUP_MIX, true},
        {"layers=1 batch-norm=yes", true, "layers.0.norm.shift", PGCN_I_GROUP_MIX, true},
        {"layers=1 batch-norm=yes mix=random", true, "layers.0.norm.gain", PGCN_I_GROUP_MIX, true},
        {"layers=1 batch-norm=yes", true, "layers.0.norm.variance", PGCN_I_GROUP_BUFFER, false},
        {"layers=1", false, "layers.0.kernel", PGCN_I_GROUP_KERNEL, true},
        {"layers=1 kernel-start=random", false, "layers.0.kernel", PGCN_I_GROUP_KERNEL, false},
        {"layers=1 model=gin", false, "layers.0.weight", PGCN_I_GROUP_MIX, false},
        {"layers=1 model=gin", false, "layers.0.inner.bias", PGCN_I_GROUP_MIX, false},
        {"layers=1 model=gin", false, "layers.0.inner.norm.gain", PGCN_I_GROUP_MIX, true},
        {"layers=1 model=gin", true, "layers.0.norm.shift", PGCN_I_GROUP_MIX, true},
        {"layers=1 model=gin", true, "layers.0.kernel", PGCN_I_GROUP_KERNEL, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pgcn_config config = settings(rows[i].text);
        pgcn_i_params params;
        must(pgcn_i_network_declare(&params, &config,
                                    (pgcn_i_shape){NET_FEATURES, NET_CLASSES, rows[i].per_graph}));
        const pgcn_i_param *param = pgcn_i_param_named(&params, "%s", rows[i].name);
        assert_non_null(param);
        assert_int_equal(param->group, rows[i].group);
        assert_int_equal(param->decay_to_start, rows[i].to_start);
        pgcn_i_params_free(&params);
    }
    pgcn_config config = settings("layers=1 batch-norm=yes"); /* of nodes: no gain */
    pgcn_i_params params;
    must(
        pgcn_i_network_declare(&params, &config, (pgcn_i_shape){NET_FEATURES, NET_CLASSES, false}));
    assert_null(pgcn_i_param_named(&params, "layers.0.norm.gain"));
    pgcn_i_params_free(&params);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_network_every_combination_matches_equations_and_differences),
        cmocka_unit_test(test_network_recipes_of_all_kinds_match_equations),
        cmocka_unit_test(test_network_directions_match_equations),
        cmocka_unit_test(test_network_room_is_enough_for_the_largest),
        cmocka_unit_test(test_network_inference_tape_matches_equations),
        cmocka_unit_test(test_start_smooth_kernel_sums_to_one_and_walks_hops),
        cmocka_unit_test(test_start_smooth_kernel_many_hops_is_even),
        cmocka_unit_test(test_start_no_hops_and_identity_are_the_same),
        cmocka_unit_test(test_start_neighbours_is_all_on_the_first_step),
        cmocka_unit_test(test_start_random_kernel_has_its_statistics),
        cmocka_unit_test(test_start_full_kernel_is_diagonal),
        cmocka_unit_test(test_start_random_kernels_of_all_kinds_decay_to_zero),
        cmocka_unit_test(test_start_mixing_is_identity_or_glorot),
        cmocka_unit_test(test_start_self_mix_is_zero_or_glorot),
        cmocka_unit_test(test_start_same_seed_same_bits_other_seed_others),
        cmocka_unit_test(test_kernel_of_a_layer_is_read_for_every_channel),
        cmocka_unit_test(test_declare_tensors_of_each_kernel),
        cmocka_unit_test(test_declare_groups_and_decay_are_those_of_the_documents),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
