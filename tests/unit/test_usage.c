/* Settings that do nothing: each is refused with the reason when the caller has set it, the table is
 * true (training gives the same bits whatever their value), and what a recipe, a model file or the
 * defaults say is never refused. */
#include "graphs_help.h"
#include "nn_help.h"
#include "scratch_help.h"

#include "train/recipe.h"

/* "" in `data` is karate: one undirected graph without weights, whose nodes are classified. */
static const struct {
    const char *data, *beside, *key, *value, *because;
} cases[] = {
    {"", "", "eps", "0.5", "model is pathgcn; leave it out or choose another model"},
    {"", "model=gin", "path-length", "7", "model is gin, where it is always 2"},
    {"", "model=gin", "paths", "9", "model is gin"},
    {"", "model=gin", "kernel", "full", "always layer"},
    {"", "model=gin", "kernel-start", "random", "always smooth"},
    {"", "model=gin", "kernel-noise", "0.5", "always 0"},
    {"", "model=gin", "hops", "1", "model is gin"},
    {"", "model=gin", "mix", "random", "model is gin"},
    {"", "model=gin", "residual", "previous", "always none"},
    {"", "model=gin", "alpha", "0.5", "model is gin"},
    {"", "model=gin", "scaling", "walk", "always sum"},
    {"", "model=gin", "self-loops", "yes", "always no"},
    {"", "model=gin", "batch-norm", "no", "always yes"},
    {"", "model=gin", "train-form", "sampled", "always exact"},
    {"", "model=gin", "walk", "node2vec", "adds up neighbours"},
    {"", "model=gin", "return-p", "4", "model is gin"},
    {"", "model=gin", "drop-rows", "0.5", "always 0"},
    {"", "model=gin", "dropout-hidden", "0.5", "always 0"},
    {"", "model=gin", "input-hops", "0.5", "always 0"},
    {"", "model=gin", "input-norm", "yes", "always no"},
    {"", "model=gin", "paths-per-layer", "yes", "always no"},
    {"", "model=gin", "resample-every", "7", "model is gin"},
    {"", "model=gin", "bf16", "yes", "always no"},
    {"", "model=gin", "hidden-rows", "bf16", "always float32"},
    {"", "model=gcn", "hidden-rows", "bf16", "always float32"},
    {"graphs", "model=gin", "readout", "relu", "always layers"},
    {"", "train-form=exact", "paths", "77", "train-form is exact"},
    {"", "train-form=exact", "bf16", "yes", "train-form is exact"},
    {"", "train-form=exact", "hidden-rows", "bf16", "train-form is exact"},
    {"", "hidden-rows=bf16", "bf16", "yes", "hidden-rows is bf16"},
    {"", "train-form=exact", "resample-every", "7", "train-form is exact"},
    {"", "train-form=exact", "paths-per-layer", "yes", "train-form is exact"},
    {"", "path-length=1", "paths", "9", "path-length is 1"},
    {"", "path-length=1", "walk", "weighted", "path-length is 1"},
    {"", "path-length=1", "self-loops", "yes", "path-length is 1"},
    {"", "path-length=1", "scaling", "walk", "path-length is 1"},
    {"", "path-length=1", "hops", "1", "path-length is 1"},
    {"", "path-length=1", "direction", "backward", "path-length is 1"},
    {"", "kernel-start=identity", "hops", "1", "kernel-start is not smooth"},
    {"", "kernel-start=random", "hops", "1", "kernel-start is not smooth"},
    {"", "kernel=full", "mix", "random", "kernel is full"},
    {"", "kernel=full", "self-mix", "yes", "kernel is full"},
    {"", "", "norm-gain", "yes", "batch-norm is no"},
    {"graphs", "batch-norm=yes", "norm-gain", "no", "always has gains"},
    {"", "batch-norm=yes norm-over=graph", "norm-gain", "no", "always has gains"},
    {"", "", "norm-over", "graph", "batch-norm is no"},
    {"", "kernel=full", "lr-mix", "0.5", "kernel is full"},
    {"", "kernel=full", "wd-mix", "0.5", "kernel is full"},
    {"", "kernel=full", "bf16", "yes", "kernel is full"},
    {"", "kernel=full", "hidden-rows", "bf16", "kernel is full"},
    {"", "residual=none", "alpha", "0.5", "residual is none"},
    {"", "", "return-p", "4", "walk is not node2vec"},
    {"", "walk=weighted", "inout-q", "4", "walk is not node2vec"},
    {"", "walk=node2vec self-loops=no path-length=2", "return-p", "4", "one step"},
    {"", "walk=node2vec self-loops=no path-length=2", "inout-q", "4", "one step"},
    {"", "", "walk", "weighted", "no weights"},
    {"", "", "direction", "backward", "undirected"},
    {"graphs", "dropout-last=0.5", "dropout", "0.25", "dropout-last"},
    {"", "model=gin dropout-last=0.5", "dropout", "0.25", "dropout-last"},
    {"", "layers=1", "dropout-hidden", "0.5", "no layer is hidden"},
    {"", "model=gcn", "dropout-hidden", "0.5", "no layer is hidden"},
    {"", "model=gcn layers=1", "dropout-last", "0.5", "the last layer is the first one too"},
    {"", "model=gcn", "paths", "9", "model is gcn"},
    {"", "model=gcn", "self-loops", "no", "always yes"},
    {"", "model=gcn", "lr-kernel", "0.5", "model is gcn"},
    {"", "model=gcn residual=none", "alpha", "0.5", "residual is none"},
    {"", "model=gcn", "residual", "previous", "no layer has as many columns"},
    {"graphs", "model=gcn layers=1 samples=1 consistency=0", "residual", "previous",
     "as many columns"},
    {"", "model=gcn residual=previous", "alpha", "0.5", "no layer has as many columns"},
    {"", "model=gcn", "lambda", "2", "model is gcn; leave it out or choose another model"},
    {"", "model=mlp", "scaling", "walk", "model is mlp"},
    {"", "model=mlp", "edge-keep", "0.5", "model is mlp"},
    {"", "model=mlp", "self-loops", "no", "model is mlp"},
    {"", "model=sgc", "layers", "3", "always 1"},
    {"", "model=sgc", "channels", "9", "model is sgc"},
    {"", "model=sgc", "lr-mix", "0.5", "model is sgc"},
    {"", "model=cheb", "residual", "previous", "always none"},
    {"", "model=cheb", "self-loops", "yes", "always no"},
    {"", "model=appnp", "residual", "previous", "always initial"},
    {"", "model=gcnii", "residual", "none", "always initial"},
    {"", "model=gcnii", "bias", "no", "model is gcnii"},
    {"", "model=sage", "scaling", "symmetric", "always walk"},
    {"", "model=gat heads=2", "scaling", "walk", "model is gat"},
    {"", "model=gat heads=2", "walk", "weighted", "model is gat"},
    {"", "model=gcn", "heads", "4", "model is gcn"},
    {"", "model=supergat heads=2 edge-loss=0", "edge-sample", "0.5", "edge-loss is 0"},
    {"", "model=supergat heads=2 edge-loss=0", "negatives", "2", "edge-loss is 0"},
    {"", "model=grand heads=2", "batch-norm", "yes", "always no"},
    {"", "model=gat layers=1 heads=2", "heads", "4", "heads-last"},
    {"", "model=gat layers=1 heads=2", "channels", "8", "a column for each class"},
    {"", "model=gcn layers=1", "channels", "8", "a column for each class"},
    {"graphs", "model=gat heads=2 samples=1 consistency=0", "heads-last", "4",
     "graphs are classified"},
    {"", "model=jknet", "readout", "relu", "model is jknet"},
    {"", "model=jknet", "resample-every", "3", "always 1"},
    {"", "model=egnn", "alpha", "0.5", "model is egnn"},
    {"", "model=egnn", "residual", "none", "always initial"},
    {"", "model=egnn", "scaling", "walk", "always symmetric"},
    {"", "model=egnn", "hops", "1", "model is egnn"},
    {"", "model=gcnii", "beta", "0.05", "model is gcnii; leave it out or choose another model"},
    {"", "model=pde-gcn-d", "residual", "previous", "always none"},
    {"", "model=pde-gcn-d", "batch-norm", "yes", "always no"},
    {"", "model=pde-gcn-h", "lr-kernel", "0.5", "model is pde-gcn-h"},
    {"", "model=pde-gcn-m", "hops", "1", "model is pde-gcn-m"},
    {"", "model=egnn", "step", "0.5", "model is egnn; leave it out or choose another model"},
    {"", "layers=1", "paths-per-layer", "yes", "layers is 1"},
    {"", "normalise=standardise", "frequency", "0.5", "undoes it; leave it out or set normalise"},
    {"", "", "readout", "relu", "nodes are classified"},
    {"", "", "steps", "2", "all of the one graph"},
    {"", "", "neighbours", "3", "all of the one graph"},
    {"", "", "batch-paths", "3", "all of the one graph"},
    {"", "", "unlabelled", "3", "all of the one graph"},
    {"", "", "eval-nodes", "3", "all of the one graph"},
    {"", "", "parts", "3", "batch-by is not cluster"},
    {"", "", "parts-by", "builtin", "batch-by is not cluster"},
    {"", "", "parts-per-step", "3", "batch-by is not cluster"},
    {"", "", "diagonal", "1", "paths are drawn"},
    {"", "model=gat samples=1 consistency=0 channels=8 heads=2", "diagonal", "1",
     "the values of T are not read"},
    {"", "model=gin samples=1 consistency=0", "diagonal", "1", "without self-loops"},
    {"", "batch-by=cluster parts=3", "batch", "4",
     "batch-by is cluster; leave it out or set parts-per-step"},
    {"", "batch-by=cluster parts=3 model=gcn samples=1 consistency=0", "neighbours", "4",
     "batch-by is cluster; leave it out or set batch in place of batch-by"},
    {"", "batch-by=cluster parts=3", "eval-nodes", "4",
     "batch-by is cluster; leave it out or set batch in place of batch-by"},
    {"", "batch=0", "batch-by", "nodes", "batch is 0"},
    {"graphs", "batch=4", "batch-by", "nodes", "some graphs of many"},
    {"graphs", "batch=4", "batch-paths", "2", "some graphs of many"},
    {"", "batch-by=nodes batch=2", "neighbours", "3", "paths are drawn"},
    {"", "batch-by=nodes batch=2 model=gcn samples=1 consistency=0", "batch-paths", "3",
     "no paths are drawn"},
    {"", "batch-by=nodes batch=2 model=mlp samples=1 consistency=0", "neighbours", "3",
     "no neighbours are read"},
    {"", "batch-by=nodes batch=2 consistency=0", "unlabelled", "3", "consistency is 0"},
    {"", "train-form=exact dropout=0 consistency=0", "samples", "4", "all samples are the same"},
    {"graphs", "batch=4", "pseudo-labels", "3", "some graphs of many"},
    {"", "batch-by=nodes batch=2", "pseudo-labels", "3", "some of the nodes"},
    {"", "batch-by=cluster parts=3", "pseudo-labels", "3", "batch-by is cluster"},
    {"", "", "pseudo-from", "3", "pseudo-labels is 0"},
    {"", "pseudo-from=3", "pseudo-labels", "2", "lower pseudo-from"},
    {"", "consistency=0", "temperature", "0.3", "consistency is 0"},
    {"", "consistency=0", "consistency-ramp", "3", "consistency is 0"},
    {"", "lr-ends=0", "wd-ends", "0.5", "lr-ends is 0"},
    {"", "lr-mix=0", "wd-mix", "0.5", "lr-mix is 0"},
    {"", "lr-kernel=0", "wd-kernel", "0.5", "lr-kernel is 0"},
};
enum { CASES = sizeof cases / sizeof *cases };

static pgcn_dataset *data_of(int i) {
    if (!*cases[i].data) return dataset("karate");
    return set_of(set_new(PGCN_TASK_GRAPH, false, 12), "stratified=50/25/25,splits=1");
}

/* Small and quick, with the settings of the case. */
static pgcn_config beside(int i) {
    char text[256];
    snprintf(text, sizeof text, "channels=4 epochs=3 patience=0 %s", cases[i].beside);
    return settings(text);
}

static void test_usage_setting_that_does_nothing_is_refused_with_the_reason(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        pgcn_dataset *data = data_of(i);
        pgcn_config config = beside(i);
        pgcn_trainer *trainer = NULL;
        must(pgcn_config_set(&config, cases[i].key, cases[i].value));
        pgcn_status status = pgcn_trainer_new(data, &config, &trainer);
        if (status == PGCN_OK)
            fail_msg("%s beside '%s' is not refused", cases[i].key, cases[i].beside);
        must_fail(status, PGCN_ERR_ARGUMENT, cases[i].key);
        must_fail(status, PGCN_ERR_ARGUMENT, cases[i].value);
        must_fail(status, PGCN_ERR_ARGUMENT, cases[i].because);
        must_fail(status, PGCN_ERR_ARGUMENT, "leave it out");
        assert_non_null(pgcn_config_unused(&config, data, cases[i].key));
        pgcn_dataset_free(data);
    }
}

/* The losses of three epochs, of settings that nobody is blamed for. */
static void losses_of(const pgcn_dataset *data, pgcn_config config, double out[6]) {
    pgcn_trainer *trainer = NULL;
    pgcn_config_adopt(&config);
    must(pgcn_trainer_new(data, &config, &trainer));
    for (int e = 0; e < 3; e++) {
        pgcn_epoch epoch;
        must(pgcn_trainer_epoch(trainer, &epoch));
        out[2 * e] = epoch.train_loss;
        out[2 * e + 1] = epoch.val_loss;
    }
    pgcn_trainer_free(trainer);
}

static void test_usage_what_is_refused_changes_no_bit(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        bool conflicts = strcmp(cases[i].value, "node2vec") == 0 ||
                         strcmp(cases[i].key, "input-norm") == 0 ||
                         strcmp(cases[i].key, "scaling") == 0;
        if (conflicts) continue; /* other rules speak first */
        pgcn_dataset *data = data_of(i);
        pgcn_config config = beside(i);
        double without[6], with[6];
        losses_of(data, config, without);
        must(pgcn_config_set(&config, cases[i].key, cases[i].value));
        losses_of(data, config, with);
        bool same = memcmp(without, with, sizeof with) == 0;
        if (strcmp(cases[i].key, "samples") == 0) /* more of the same add up in another order */
            same = fabs(without[4] - with[4]) < 1e-6;
        if (!same)
            fail_msg("%s %s beside '%s' does something: %.17g, without it %.17g", cases[i].key,
                     cases[i].value, cases[i].beside, with[4], without[4]);
        pgcn_dataset_free(data);
    }
}

/* What the same settings do where they are used. */
static void test_usage_what_is_used_is_accepted(void **state) {
    (void)state;
    static const struct {
        const char *name, *key[4], *value[4];
    } fine[] = {
        {"karate",
         {"paths", "bf16", "resample-every", "paths-per-layer"},
         {"7", "yes", "2", "yes"}},
        {"karate", {"hops", "alpha", "mix", "lr-mix"}, {"3.5", "0.3", "random", "0.1"}},
        {"karate", {"walk", "self-loops", "return-p", "inout-q"}, {"node2vec", "no", "4", "2"}},
        {"karate",
         {"temperature", "consistency-ramp", "samples", "wd-kernel"},
         {"1", "3", "3", "2"}},
        {"karate",
         {"model", "train-form", "batch-norm", "path-length"},
         {"gin", "exact", "yes", "2"}},
        {"karate", {"lr-kernel", "wd-kernel", "residual", "alpha"}, {"0", "0", "none", "0"}},
        {"karate", {"train-form", "samples", "dropout", "layers"}, {"exact", "3", "0.5", "1"}},
    };
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        pgcn_dataset *data = dataset(fine[i].name);
        pgcn_config config = settings("channels=4");
        for (int k = 0; k < 4; k++)
            must(pgcn_config_set(&config, fine[i].key[k], fine[i].value[k]));
        must(pgcn_config_check_for(&config, data));
        pgcn_dataset_free(data);
    }
}

/* ---- whose a setting is ------------------------------------------------------------------------ */

static void test_usage_struct_filled_by_hand_is_compared_with_the_default(void **state) {
    (void)state;
    pgcn_config config = pgcn_config_default();
    config.train_form = PGCN_FORM_EXACT;
    must(pgcn_config_check(&config)); /* five paths are the default */
    config.paths = 77;
    must_fail(pgcn_config_check(&config), PGCN_ERR_ARGUMENT, "paths is 77 and does nothing");
    config.paths = 5;
    must(pgcn_config_check(&config));
}

static void test_usage_default_given_by_name_is_the_callers(void **state) {
    (void)state;
    pgcn_config config = pgcn_config_default();
    must(pgcn_config_set(&config, "train-form", "exact"));
    must(pgcn_config_set(&config, "paths", "5"));
    must_fail(pgcn_config_check(&config), PGCN_ERR_ARGUMENT, "paths is 5 and does nothing");
    pgcn_config_adopt(&config);
    must(pgcn_config_check(&config));
}

static void test_usage_recipe_is_not_the_callers(void **state) {
    (void)state;
    pgcn_config config =
        pgcn_config_for("cora"); /* it has ten paths and a kernel start of its own */
    assert_int_equal(config.paths, 10);
    config.train_form = PGCN_FORM_EXACT;
    config.kernel_start = PGCN_START_RANDOM;
    must(pgcn_config_check(&config));
    config.paths = 11;
    must_fail(pgcn_config_check(&config), PGCN_ERR_ARGUMENT, "paths is 11");
}

static void test_usage_settings_of_a_model_can_be_trained_again(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_config config = pgcn_config_default();
    pgcn_model *model = NULL, *again = NULL;
    config.epochs = 2;
    must(pgcn_config_set(&config, "model", "gin"));
    must(pgcn_train(data, &config, &model));
    assert_int_equal(pgcn_model_config(model)->path_length, 2); /* not the default */
    must(pgcn_train(data, pgcn_model_config(model), &again));
    pgcn_model_free(model);
    pgcn_model_free(again);
    pgcn_dataset_free(data);
}

/* Version 0.1 wrote whatever was set, and had seeds up to 2^64 - 1. */
static void test_usage_settings_of_an_old_file_are_read(void **state) {
    (void)state;
    static const char *const old[] = {
        "{\"model\": \"gin\", \"kernel\": \"full\", \"path-length\": \"7\", \"alpha\": \"0.3\"}",
        "{\"train-form\": \"exact\", \"paths\": \"77\", \"bf16\": \"yes\", \"hops\": \"900\"}",
        "{\"seed\": \"18446744073709551615\"}"};
    for (int i = 0; i < 3; i++) {
        pgcn_config config;
        json_t *object = json_loads(old[i], 0, NULL);
        must(pgcn_i_config_from_json(object, "old", &config));
        if (i < 2) must(pgcn_config_check(&config));
        if (i == 2) assert_true(config.seed == UINT64_MAX);
        json_decref(object);
    }
}

/* ---- recipes of the user ----------------------------------------------------------------------- */

static pgcn_status parse(const char *settings) {
    static pgcn_i_recipe recipe; /* large */
    char text[1024];
    snprintf(text, sizeof text,
             "recipe = mine\nversion = 1\ntask = node\ndataset = any\nabout = x\n%s", settings);
    return pgcn_i_recipe_parse("mine", text, (int64_t)strlen(text), &recipe);
}

static void test_usage_line_of_a_recipe_that_does_nothing_is_refused(void **state) {
    (void)state;
    must_fail(parse("train-form = exact\npaths = 77\n"), PGCN_ERR_FORMAT, "'mine': paths is 77");
    must_fail(parse("kernel-start = identity\n[layers = 4]\nhops = 2\n"), PGCN_ERR_FORMAT,
              "line 7: hops is 2 and does nothing: kernel-start is not smooth");
    must_fail(parse("readout = relu\n"), PGCN_ERR_FORMAT, "nodes are classified");
    /* used by a section, the default, or a value that says so */
    must(parse("kernel-start = identity\nhops = 2\n[layers = 4]\nkernel-start = smooth\n"));
    must(parse("train-form = exact\npaths = 5\n"));
    must(parse("lr-kernel = 0\nwd-kernel = 0\n"));
}

static void test_usage_recipe_that_is_written_can_be_read(void **state) {
    (void)state;
    pgcn_config config = pgcn_config_for("cora"), read;
    pgcn_recipe_info info = {.name = "mine", .version = 1, .task = "node", .dataset = "any"};
    strcpy(info.about, "x");
    config.train_form = PGCN_FORM_EXACT;
    char path[4096];
    snprintf(path, sizeof path, "%s/mine.recipe", scratch);
    must(pgcn_recipe_write(path, &info, &config));
    must(pgcn_recipe_load(path, NULL, 0, &read, NULL));
    assert_int_equal(read.paths, 5); /* the ten did nothing */
    assert_true(read.temperature == config.temperature);
}

/* ---- hops -------------------------------------------------------------------------------------- */

static void test_usage_hops_beyond_reach_are_refused_with_the_range(void **state) {
    (void)state;
    pgcn_config config = pgcn_config_default();
    must(pgcn_config_set(&config, "hops", "4")); /* two layers, five nodes: 1/5 each is two hops */
    must(pgcn_config_check(&config));
    must(pgcn_config_set(&config, "hops", "4.001"));
    must_fail(pgcn_config_check(&config), PGCN_ERR_ARGUMENT, "0..4 or raise path-length");
    must(pgcn_config_set(&config, "layers", "3"));
    must(pgcn_config_check(&config));
    config = pgcn_config_default();
    config.path_length = 3; /* the default's four hops are nobody's mistake */
    must(pgcn_config_check(&config));
    must(pgcn_config_set(&config, "input-hops", "1.5"));
    must_fail(pgcn_config_check(&config), PGCN_ERR_ARGUMENT, "input-hops is 1.5");
}

static void test_usage_list_longer_than_the_network_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *beside, *key, *fits, *refused, *says;
    } lists[] = {
        {"model=gcn samples=1 consistency=0 layers=2", "neighbours", "5,4", "5,4,3",
         "neighbours is 5,4,3, 3 numbers, and model gcn takes 2 steps"},
        {"model=gcn samples=1 consistency=0 layers=1", "neighbours", "5", "5,4",
         "takes 1 step from its last layer to its first; give at most 1"},
        {"layers=3", "batch-paths", "4,3,2", "4,3,2,1", "give at most 3"},
        {"layers=1 input-hops=1", "batch-paths", "4,3", "4,3,2", "give at most 2"},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        pgcn_config config = settings(lists[i].beside);
        must(pgcn_config_set(&config, "batch", "2"));
        must(pgcn_config_set(&config, lists[i].key, lists[i].fits));
        must(pgcn_config_check(&config));
        must(pgcn_config_set(&config, lists[i].key, lists[i].refused));
        must_fail(pgcn_config_check(&config), PGCN_ERR_ARGUMENT, lists[i].says);
        pgcn_config_adopt(&config); /* a recipe's list is no better */
        must_fail(pgcn_config_check(&config), PGCN_ERR_ARGUMENT, lists[i].says);
    }
}

static void test_usage_second_order_of_other_walks_is_refused(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    pgcn_node walks[34 * 25];
    opts.return_p = 4;
    must_fail(pgcn_paths_sample(pgcn_dataset_graph(data), &opts, NULL, 0, walks), PGCN_ERR_ARGUMENT,
              "walk is not node2vec");
    opts.walk = PGCN_WALK_NODE2VEC;
    must(pgcn_paths_sample(pgcn_dataset_graph(data), &opts, NULL, 0, walks));
    pgcn_dataset_free(data);
}

/* ---- seeds ------------------------------------------------------------------------------------- */

static void test_seed_has_one_range_in_every_call(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_config config = settings("channels=4 epochs=1");
    pgcn_paths_opts opts = pgcn_paths_opts_default();
    pgcn_inference inference = pgcn_inference_default();
    pgcn_node walks[34 * 25];
    float probability[34 * 2];
    pgcn_model *model = NULL;
    opts.threads = inference.threads = inference.draws = 1;
    config.seed = opts.seed = inference.seed = PGCN_MAX_SEED;
    must(pgcn_train(data, &config, &model));
    must(pgcn_paths_sample(pgcn_dataset_graph(data), &opts, NULL, 0, walks));
    must(pgcn_model_predict(model, data, &inference, probability, NULL));
    config.seed++, opts.seed++, inference.seed++;
    pgcn_trainer *trainer = NULL;
    must_fail(pgcn_trainer_new(data, &config, &trainer), PGCN_ERR_ARGUMENT,
              "seed is 9223372036854775808, expected 0..9223372036854775807");
    must_fail(pgcn_paths_sample(pgcn_dataset_graph(data), &opts, NULL, 0, walks), PGCN_ERR_ARGUMENT,
              "expected 0..9223372036854775807");
    must_fail(pgcn_model_predict(model, data, &inference, probability, NULL), PGCN_ERR_ARGUMENT,
              "expected 0..9223372036854775807");
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage_setting_that_does_nothing_is_refused_with_the_reason),
        cmocka_unit_test(test_usage_what_is_refused_changes_no_bit),
        cmocka_unit_test(test_usage_what_is_used_is_accepted),
        cmocka_unit_test(test_usage_struct_filled_by_hand_is_compared_with_the_default),
        cmocka_unit_test(test_usage_default_given_by_name_is_the_callers),
        cmocka_unit_test(test_usage_recipe_is_not_the_callers),
        cmocka_unit_test(test_usage_settings_of_a_model_can_be_trained_again),
        cmocka_unit_test(test_usage_settings_of_an_old_file_are_read),
        cmocka_unit_test(test_usage_line_of_a_recipe_that_does_nothing_is_refused),
        cmocka_unit_test_setup_teardown(test_usage_recipe_that_is_written_can_be_read, scratch_make,
                                        scratch_remove),
        cmocka_unit_test(test_usage_list_longer_than_the_network_is_refused),
        cmocka_unit_test(test_usage_second_order_of_other_walks_is_refused),
        cmocka_unit_test(test_seed_has_one_range_in_every_call),
        cmocka_unit_test(test_usage_hops_beyond_reach_are_refused_with_the_range),
    };
    return cmocka_run_group_tests_name("usage", tests, NULL, NULL);
}
