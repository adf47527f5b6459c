/* Explanations: contributions of every network add up to its logit, by nodes, hops, features and constants; the same
 * bits on any number of threads; predictions without links are those on a graph that never had them. What the sums are
 * made of is compared with dense matrices in test_explain_reference.c. */
#include "graphs_help.h"
#include "nn_help.h"
#include "scratch_help.h"

#include <math.h>

/* ---- models ------------------------------------------------------------------------------------- */

/* Every weight moved, running statistics too: no bias is 0, no norm the identity. */
static void shake(pgcn_model *model) {
    pgcn_i_params *params = &model->params;
    float *noise = ref_random_floats(6, params->total);
    for (int i = 0; i < params->count; i++) {
        const pgcn_i_param *param = &params->param[i];
        bool of_norm = strstr(param->name, "norm.") != NULL;
        for (int64_t e = 0; e < param->count; e++) {
            float *value = &params->value[param->first + e];
            if (param->group != PGCN_I_GROUP_BUFFER) *value += 0.2f * noise[param->first + e];
            if (param->group == PGCN_I_GROUP_BUFFER && of_norm)
                *value += 0.5f * fabsf(noise[param->first + e]);
        }
    }
    free(noise);
}

static pgcn_model *model_of(const pgcn_dataset *data, const char *text) {
    char all[256];
    snprintf(all, sizeof all,
             "epochs=3 patience=0 samples=1 consistency=0 channels=16 batch=5 seed=3 %s", text);
    pgcn_config config = settings(all);
    pgcn_config_adopt(&config); /* nobody is blamed for what a network does not use */
    pgcn_model *model = NULL;
    must(pgcn_train(data, &config, &model));
    shake(model);
    return model;
}

static pgcn_explanation *explained(const pgcn_model *model, const pgcn_dataset *data, int64_t item,
                                   pgcn_explain_opts opts) {
    pgcn_explanation *e = NULL;
    must(pgcn_model_explain(model, data, item, &opts, &e));
    return e;
}

/* ---- sums ------------------------------------------------------------------------------------------ */

/* 1e-5 of the largest logit. */
static double tolerance(const pgcn_explanation *e) {
    double scale = 1;
    for (int c = 0; c < e->classes; c++) scale = fmax(scale, fabs((double)e->logits[c]));
    return 1e-5 * scale;
}

static void check_near(const char *what, const char *label, double got, double want,
                       double within) {
    if (!(fabs(got - want) <= within))
        fail_msg("%s: %s is %.9g, expected %.9g to within %.2g", label, what, got, want, within);
}

static void check_sums(const pgcn_explanation *e, const char *label) {
    double within = tolerance(e), nodes = 0, residual = 0, hops = 0, columns = 0, pairs = 0;
    double constants = 0;
    check_near("the sum", label, e->sum, e->logit, within);
    for (int64_t i = 0; i < e->nodes; i++) {
        double own = 0;
        for (int h = 0; h <= e->hops; h++) own += e->node[i].of_hop[h];
        check_near("a node by hops", label, own, e->node[i].sum, 1e-12 + 1e-12 * fabs(own));
        nodes += e->node[i].sum;
        residual += e->node[i].residual;
        if (i > 0) assert_true(fabs(e->node[i - 1].sum) >= fabs(e->node[i].sum));
    }
    for (int h = 0; h <= e->hops; h++) hops += e->of_hop[h];
    for (int64_t i = 0; i < e->columns; i++) columns += e->feature[i].sum;
    for (int64_t i = 0; i < e->pairs; i++) pairs += e->pair[i].sum;
    for (int i = 0; i < e->constants; i++) constants += e->constant[i].sum;
    check_near("nodes", label, nodes, e->features + e->residual, 1e-3 * within);
    check_near("residual", label, residual, e->residual, 1e-3 * within);
    check_near("hops", label, hops, nodes, 1e-3 * within);
    check_near("columns", label, columns, nodes, 1e-3 * within);
    check_near("pairs", label, pairs, nodes, 1e-3 * within);
    check_near("constants", label, constants, e->biases + e->norms, 1e-3 * within);
}

/* The prediction that is explained is that of pgcn_model_predict(). */
static void check_prediction(const pgcn_explanation *e, const pgcn_model *model,
                             const pgcn_dataset *data) {
    int64_t items = e->is_graph ? data->info.graphs : data->graph->n;
    float *probability = calloc((size_t)(items * e->classes), sizeof *probability);
    pgcn_inference inference = pgcn_inference_default();
    inference.draws = e->sampled;
    inference.seed = e->seed;
    must(pgcn_model_predict(model, data, &inference, probability, NULL));
    for (int c = 0; c < e->classes; c++)
        assert_close((double)probability[e->item * e->classes + c], (double)e->probability[c],
                     2e-7);
    free(probability);
}

static const char *label_of(const pgcn_dataset *data, const char *text) {
    static char label[300];
    snprintf(label, sizeof label, "%s on %s", text, data->name);
    return label;
}

static void check_model(const pgcn_dataset *data, const char *text, bool sampled) {
    pgcn_model *model = model_of(data, text);
    bool per_graph = pgcn_model_task(model) == PGCN_TASK_GRAPH;
    int64_t items = per_graph ? data->info.graphs : data->graph->n;
    for (int i = 0; i < 4; i++) {
        pgcn_explain_opts opts = pgcn_explain_opts_default();
        opts.pairs = INT64_MAX;
        opts.removals = i == 1 ? 2 : 0;
        opts.sampled = sampled;
        opts.seed = 5;
        opts.target = i < 2 ? -1 : i - 2;
        opts.against = i == 3 ? 2 : -1;
        pgcn_explanation *e = explained(model, data, (7 * i + 2) % items, opts);
        check_sums(e, label_of(data, text));
        if (i == 0) check_prediction(e, model, data);
        assert_true(e->is_graph == per_graph);
        pgcn_explanation_free(e);
    }
    pgcn_model_free(model);
}

/* A set of graphs whose T is not symmetric. */
static pgcn_dataset *directed_set(void) {
    graph_set set = set_new(PGCN_TASK_MULTILABEL, false, 14);
    pgcn_i_source source = set_source(&set);
    source.directed = true;
    pgcn_dataset *data = source_build(source, "directed");
    set_free(&set);
    return data;
}

typedef struct kinds {
    pgcn_dataset *nodes, *labels, *graphs, *arcs;
} kinds;
static kinds all;

static int open_kinds(void **state) {
    (void)state;
    all.nodes = dataset("sbm:nodes=120,classes=3,features=20");
    all.labels = set_of(set_mixed(PGCN_TASK_MULTILABEL, true, 14), "");
    all.graphs = set_of(set_new(PGCN_TASK_GRAPH, false, 16), "stratified=50/25/25,splits=1");
    all.arcs = directed_set();
    return 0;
}
static int close_kinds(void **state) {
    (void)state;
    pgcn_dataset_free(all.nodes), pgcn_dataset_free(all.labels);
    pgcn_dataset_free(all.graphs), pgcn_dataset_free(all.arcs);
    return 0;
}

static void check_on_all(const char *text, bool graphs) {
    check_model(all.nodes, text, false);
    check_model(all.labels, text, false);
    check_model(all.arcs, text, false);
    if (graphs) check_model(all.graphs, text, false);
}

static void test_explain_every_network_adds_up(void **state) {
    (void)state;
    for (int i = 0; pgcn_network_name(i); i++) {
        char text[64];
        snprintf(text, sizeof text, "layers=3 model=%s", pgcn_network_name(i));
        check_on_all(text, !pgcn_i_network_at(i)->why_no_graphs);
    }
}

static void test_explain_settings_of_pathgcn_add_up(void **state) {
    (void)state;
    static const char *const text[] = {
        "layers=2 kernel=global residual=none",
        "layers=2 kernel=layer residual=previous alpha=0.3",
        "layers=3 kernel=depthwise residual=initial alpha=0.2 scaling=symmetric",
        "layers=2 kernel=full path-length=3 residual=initial batch-norm=yes",
        "layers=2 path-length=1 batch-norm=yes",
        "layers=3 batch-norm=yes norm-over=graph residual=previous",
        "layers=2 input-hops=1.5 input-norm=yes walk=weighted",
        "layers=2 normalise=standardise self-loops=no",
        "layers=4 mix=random residual=previous alpha=0.1 path-length=3",
    };
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        check_on_all(text[i], true);
        check_model(all.nodes, text[i], true);
        check_model(all.graphs, text[i], true);
    }
    /* which has no exact form: a draw of paths is explained */
    check_on_all("layers=2 walk=node2vec self-loops=no return-p=0.5 inout-q=2", true);
}

static void test_explain_settings_of_others_add_up(void **state) {
    (void)state;
    static const char *const text[] = {
        "model=gcn layers=4 residual=initial alpha=0.2 layer-norm=yes",
        "model=gcn layers=4 residual=previous alpha=0.2 batch-norm=yes self-mix=yes",
        "model=gcnii layers=4 skip=yes batch-norm=yes",
        "model=gcnii-star layers=4 skip=yes layer-norm=yes",
        "model=cheb layers=2 order=4 layer-norm=yes",
        "model=cheb layers=2 order=0",
        "model=appnp layers=2 powers=5 alpha=0.15 batch-norm=yes",
        "model=appnp layers=2 powers=0",
        "model=jknet layers=4 jump=max",
        "model=gat layers=2 heads=4 heads-last=3 self-mix=yes layer-norm=yes",
        "model=supergat layers=2 heads=2 batch-norm=yes",
        "model=grand layers=2 attention=recomputed integrator=euler",
        "model=grand layers=2 attention=fixed integrator=rk4",
        "model=pde-gcn-d layers=3 activation=relu",
        "model=pde-gcn-m layers=3 step=0.5",
        "model=egnn layers=3 layer-norm=yes threshold=-0.1",
        "model=mlp layers=3 layer-norm=yes",
        "model=sgc powers=3",
        "model=sage layers=2 batch-norm=yes",
    };
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        pgcn_config config = settings(text[i]);
        check_on_all(text[i], !pgcn_i_network_of(&config)->why_no_graphs);
    }
    static const char *const readouts[] = {"model=gin layers=3 readout=layers",
                                           "layers=3 readout=layers", "layers=2 readout=relu"};
    for (size_t i = 0; i < sizeof readouts / sizeof readouts[0]; i++)
        check_model(all.graphs, readouts[i], false);
}

/* ---- hops ------------------------------------------------------------------------------------------ */

/* With fewer hops told apart the last one holds the rest. */
static void test_explain_hops_beyond_the_last_are_in_the_last(void **state) {
    (void)state;
    pgcn_model *model = model_of(all.nodes, "layers=3 path-length=3 residual=initial alpha=0.1");
    pgcn_explain_opts opts = pgcn_explain_opts_default();
    opts.removals = 0;
    pgcn_explanation *whole = explained(model, all.nodes, 9, opts);
    for (int hops = 0; hops < 6; hops++) {
        opts.hops = hops;
        pgcn_explanation *part = explained(model, all.nodes, 9, opts);
        double rest = 0;
        for (int h = 0; h <= whole->hops; h++)
            if (h < hops)
                assert_close(part->of_hop[h], whole->of_hop[h], 1e-6);
            else
                rest += whole->of_hop[h];
        assert_close(part->of_hop[hops], rest, 1e-5);
        assert_close(part->sum, whole->sum, 1e-5);
        pgcn_explanation_free(part);
    }
    assert_true(whole->of_hop[6] != 0); /* three layers of two hops, and not one further */
    for (int h = 7; h <= whole->hops; h++) assert_true(whole->of_hop[h] == 0);
    pgcn_explanation_free(whole);
    pgcn_model_free(model);
}

/* A node cannot contribute by fewer hops than there are links to it. */
static void test_explain_hops_are_at_least_the_distance(void **state) {
    (void)state;
    static const char *const text[] = {
        "layers=2",           "model=gcn layers=3",       "model=cheb order=3 layers=2",
        "model=gat layers=2", "model=pde-gcn-d layers=3", "model=sgc powers=2"};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        pgcn_model *model = model_of(all.nodes, text[i]);
        pgcn_explanation *e = explained(model, all.nodes, 4, pgcn_explain_opts_default());
        bool any_far = false;
        for (int64_t j = 0; j < e->nodes; j++) {
            assert_true(e->node[j].distance >= 0);
            any_far = any_far || e->node[j].distance > 1;
            for (int h = 0; h < e->node[j].distance; h++) assert_true(e->node[j].of_hop[h] == 0);
            assert_true(e->node[j].of_hop[e->node[j].distance] != 0);
        }
        assert_true(any_far);
        pgcn_explanation_free(e);
        pgcn_model_free(model);
    }
}

/* The same of a draw of paths, whose lists S_i are i steps away. */
static void test_explain_hops_of_drawn_paths_are_those_of_the_kernel(void **state) {
    (void)state;
    pgcn_model *model = model_of(all.nodes, "layers=2 path-length=4 residual=none");
    pgcn_explain_opts opts = pgcn_explain_opts_default();
    opts.sampled = true;
    opts.removals = 0;
    pgcn_explanation *e = explained(model, all.nodes, 4, opts);
    for (int64_t j = 0; j < e->nodes; j++)
        for (int h = 0; h < e->node[j].distance; h++) assert_true(e->node[j].of_hop[h] == 0);
    for (int h = 0; h <= e->hops; h++) assert_true((e->of_hop[h] != 0) == (h <= 6));
    pgcn_explanation_free(e);
    pgcn_model_free(model);
}

/* Of few pairs that are listed, these are the first of all. */
static void test_explain_pairs_are_the_strongest(void **state) {
    (void)state;
    pgcn_model *model = model_of(all.nodes, "layers=2");
    pgcn_explain_opts opts = pgcn_explain_opts_default();
    opts.removals = 0;
    opts.pairs = INT64_MAX;
    pgcn_explanation *whole = explained(model, all.nodes, 30, opts);
    assert_true(whole->pairs > 500);
    for (int64_t pairs = 0; pairs < 40; pairs += 13) {
        opts.pairs = pairs;
        pgcn_explanation *e = explained(model, all.nodes, 30, opts);
        assert_int_equal(e->pairs, pairs);
        for (int64_t i = 0; i < pairs; i++) {
            assert_true(e->pair[i].sum == whole->pair[i].sum);
            assert_int_equal(e->pair[i].node, whole->pair[i].node);
            assert_int_equal(e->pair[i].column, whole->pair[i].column);
            assert_true(fabs(whole->pair[i].sum) >= fabs(whole->pair[i + 1].sum));
        }
        pgcn_explanation_free(e);
    }
    pgcn_explanation_free(whole);
    pgcn_model_free(model);
}

static void test_explain_residual_is_told_apart(void **state) {
    (void)state;
    static const char *const with[] = {"layers=3 residual=initial alpha=0.2",
                                       "model=gcnii layers=3", "model=gcnii-star layers=3",
                                       "model=egnn layers=3", "model=appnp layers=2 powers=3"};
    static const char *const without[] = {"layers=3 residual=none",
                                          "model=gcn layers=3 residual=none", "model=gat layers=2"};
    for (size_t i = 0; i < 5 + 3; i++) {
        pgcn_model *model = model_of(all.nodes, i < 5 ? with[i] : without[i - 5]);
        pgcn_explanation *e = explained(model, all.nodes, 11, pgcn_explain_opts_default());
        assert_true((e->residual != 0) == (i < 5));
        assert_true(e->features != 0);
        pgcn_explanation_free(e);
        pgcn_model_free(model);
    }
}

/* ---- threads --------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}

static uint64_t hash_of(const pgcn_explanation *e) {
    uint64_t hash = mix(14695981039346656037u, &e->sum, sizeof e->sum);
    for (int64_t i = 0; i < e->nodes; i++) {
        hash = mix(hash, &e->node[i].node, sizeof e->node[i].node);
        hash = mix(hash, e->node[i].of_hop, sizeof(double) * (size_t)(e->hops + 1));
    }
    for (int64_t i = 0; i < e->pairs; i++) hash = mix(hash, &e->pair[i].sum, sizeof(double));
    for (int i = 0; i < e->constants; i++) hash = mix(hash, &e->constant[i].sum, sizeof(double));
    for (int i = 0; i < e->removals; i++)
        hash = mix(hash, e->removal[i].probability, sizeof(float) * (size_t)e->classes);
    return hash;
}

static void test_explain_same_bits_on_any_threads(void **state) {
    (void)state;
    for (int i = 0; pgcn_network_name(i); i++) {
        char text[64];
        snprintf(text, sizeof text, "layers=3 channels=40 model=%s", pgcn_network_name(i));
        pgcn_model *model = model_of(all.nodes, text);
        uint64_t one = 0;
        for (int threads = 1; threads <= 5; threads += threads == 1 ? 1 : 3) {
            pgcn_explain_opts opts = pgcn_explain_opts_default();
            opts.threads = threads;
            opts.removals = 1;
            pgcn_explanation *e = explained(model, all.nodes, 17, opts);
            if (threads == 1) one = hash_of(e);
            if (hash_of(e) != one) fail_msg("%s: other bits with %d threads", text, threads);
            pgcn_explanation_free(e);
        }
        pgcn_model_free(model);
    }
}

/* ---- predictions without links ----------------------------------------------------------------------- */

/* The data set built from scratch, from the edges that do not touch the nodes of a removal. */
static pgcn_dataset *without(const pgcn_dataset *data, const pgcn_removal *removal,
                             int64_t *links) {
    const pgcn_graph *graph = data->graph;
    pgcn_node *from = calloc((size_t)graph->entries + 1, sizeof *from);
    pgcn_node *to = calloc((size_t)graph->entries + 1, sizeof *to);
    uint8_t *cut = calloc((size_t)graph->n, 1);
    int64_t count = 0;
    *links = 0;
    for (int64_t i = 0; i < removal->nodes; i++) cut[removal->node[i]] = 1;
    for (int64_t u = 0; u < graph->n; u++)
        for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++) {
            pgcn_node v = graph->neighbour[e];
            if (!graph->directed && v < u) continue; /* each once */
            if (cut[u] || cut[v]) {
                ++*links;
                continue;
            }
            from[count] = (pgcn_node)u;
            to[count++] = v;
        }
    pgcn_graph *less = NULL;
    pgcn_graph_opts opts = pgcn_graph_opts_default();
    opts.directed = graph->directed;
    must(pgcn_graph_from_edges(graph->n, count, from, to, NULL, &opts, &less));
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    arrays.graph = less;
    arrays.n_features = data->x.columns;
    arrays.features = data->x.dense;
    arrays.x_offset = data->x.offset;
    arrays.x_column = data->x.column;
    arrays.x_value = data->x.value;
    arrays.n_graphs = data->from.graphs;
    arrays.graph_of = data->from.graph_of;
    arrays.graph_label = data->from.graph_label;
    pgcn_dataset *out = NULL;
    must(pgcn_dataset_from_arrays(&arrays, &out));
    pgcn_graph_free(less);
    free(from), free(to), free(cut);
    return out;
}

static void check_removals(const pgcn_dataset *data, const char *text, int64_t item) {
    pgcn_model *model = model_of(data, text);
    pgcn_explain_opts opts = pgcn_explain_opts_default();
    opts.removals = 3;
    pgcn_explanation *e = explained(model, data, item, opts);
    int64_t items = e->is_graph ? data->info.graphs : data->graph->n, links;
    float *probability = calloc((size_t)(items * e->classes), sizeof *probability);
    bool any_other = false;
    assert_int_equal(e->removals, e->is_graph ? 4 : 5);
    for (int i = 0; i < e->removals; i++) {
        const pgcn_removal *r = &e->removal[i];
        pgcn_dataset *less = without(data, r, &links);
        pgcn_inference inference = pgcn_inference_default();
        inference.draws = e->sampled;
        must(pgcn_model_predict(model, less, &inference, probability, NULL));
        assert_int_equal(r->links, links);
        for (int c = 0; c < e->classes; c++) {
            double want = (double)probability[item * e->classes + c];
            assert_close((double)r->probability[c], want, 2e-7);
            any_other = any_other || fabs(want - (double)e->probability[c]) > 1e-4;
            assert_true(r->probability[c] <= r->probability[r->predicted]);
        }
        pgcn_dataset_free(less);
    }
    assert_true(any_other); /* removing links does change something */
    assert_int_equal(e->removal[3].nodes, 3);
    if (!e->is_graph) assert_int_equal(e->removal[4].node[0], item);
    free(probability);
    pgcn_explanation_free(e);
    pgcn_model_free(model);
}

static void test_explain_removals_are_predictions_on_a_graph_without_the_links(void **state) {
    (void)state;
    for (int i = 0; pgcn_network_name(i); i++) {
        char text[64];
        snprintf(text, sizeof text, "layers=2 model=%s", pgcn_network_name(i));
        if (strcmp(pgcn_network_name(i), "mlp") == 0) continue; /* which sees no links */
        check_removals(all.nodes, text, 23);
    }
    check_removals(all.nodes, "layers=2 walk=node2vec self-loops=no", 23);
    int64_t graph = 0; /* the first one with more than three nodes that have links */
    for (int64_t u = 0, linked = 0; linked < 4; u++) {
        if (all.graphs->from.graph_of[u] != graph) linked = 0;
        graph = all.graphs->from.graph_of[u];
        linked += all.graphs->graph->offset[u + 1] > all.graphs->graph->offset[u];
    }
    check_removals(all.graphs, "layers=2", graph);
    check_removals(all.graphs, "model=gin layers=2", graph);
}

/* Sums over neighbours have no degrees: the mask does the same. Means over them do. */
static void test_explain_mask_keeps_degrees(void **state) {
    (void)state;
    static const char *const text[] = {"model=gin layers=2", "model=gcn layers=2"};
    for (int i = 0; i < 2; i++) {
        pgcn_model *model = model_of(all.nodes, text[i]);
        pgcn_explain_opts opts = pgcn_explain_opts_default();
        pgcn_explanation *removed = explained(model, all.nodes, 8, opts);
        opts.mask = true;
        pgcn_explanation *masked = explained(model, all.nodes, 8, opts);
        bool differs = false;
        assert_true(masked->masked && !removed->masked);
        for (int r = 0; r < removed->removals; r++)
            for (int c = 0; c < removed->classes; c++)
                differs = differs || fabsf(removed->removal[r].probability[c] -
                                           masked->removal[r].probability[c]) > 1e-5f;
        assert_int_equal(differs, i == 1);
        pgcn_explanation_free(removed), pgcn_explanation_free(masked);
        pgcn_model_free(model);
    }
}

/* With one layer nothing but the mask changes: the logit falls by what the node contributes. */
static void test_explain_mask_takes_away_what_a_node_contributes(void **state) {
    (void)state;
    static const char *const text[] = {"model=sgc powers=1", "model=gcn layers=1"};
    for (int i = 0; i < 2; i++) {
        pgcn_model *model = model_of(all.nodes, text[i]);
        pgcn_explain_opts opts = pgcn_explain_opts_default();
        opts.mask = true;
        pgcn_explanation *e = explained(model, all.nodes, 8, opts);
        double together = 0;
        for (int r = 0; r < 5; r++) {
            double sum = 0;
            for (int64_t j = 0; j < e->nodes; j++)
                if (e->node[j].node == e->removal[r].node[0]) sum = e->node[j].sum;
            assert_true(sum != 0);
            assert_close(e->logit - e->removal[r].logit, sum, tolerance(e));
            together += sum;
        }
        assert_close(e->logit - e->removal[5].logit, together, tolerance(e));
        pgcn_explanation_free(e);
        pgcn_model_free(model);
    }
}

/* ---- errors ------------------------------------------------------------------------------------------ */

static void refuse(const pgcn_model *model, int64_t item, pgcn_explain_opts opts,
                   const char *says) {
    pgcn_explanation *e = NULL;
    must_fail(pgcn_model_explain(model, all.nodes, item, &opts, &e), PGCN_ERR_ARGUMENT, says);
    assert_null(e);
}

static void test_explain_refuses_what_it_cannot_do(void **state) {
    (void)state;
    pgcn_model *model = model_of(all.nodes, "layers=2"), *gat = model_of(all.nodes, "model=gat");
    const pgcn_explain_opts preset = pgcn_explain_opts_default();
    refuse(model, 120, preset, "there is no node 120: data set sbm");
    refuse(model, -1, preset, "has the nodes 0 to 119");
    pgcn_explain_opts opts = preset;
    opts.target = 3;
    refuse(model, 0, opts, "target is 3, expected a class from 0 to 2");
    opts = preset;
    opts.against = -2;
    refuse(model, 0, opts, "against is -2, expected");
    opts.target = opts.against = 1;
    refuse(model, 0, opts, "their difference is 0");
    opts = preset;
    opts.hops = 1001;
    refuse(model, 0, opts, "hops is 1001, expected 0 to 1000");
    opts = preset;
    opts.removals = -1;
    refuse(model, 0, opts, "removals is negative");
    opts = preset;
    opts.mask = true;
    refuse(gat, 0, opts, "attention of network gat has none");
    opts.sampled = true;
    refuse(model, 0, opts, "paths are drawn here");
    refuse(model, 0, (pgcn_explain_opts){.target = 0}, "pgcn_explain_opts_default");
    pgcn_explanation *e = explained(model, all.nodes, 0, preset);
    opts = preset;
    opts.against = e->predicted;
    refuse(model, 0, opts, "the predicted class, whose logit is explained");
    pgcn_explanation_free(e);
    must_fail(pgcn_model_explain(model, all.graphs, 0, NULL, &e), PGCN_ERR_MISMATCH, "features");
    pgcn_model_free(model), pgcn_model_free(gat);
}

static pgcn_model *memory_model;
static pgcn_status explain_and_free(void) {
    pgcn_explain_opts opts = pgcn_explain_opts_default();
    opts.removals = 1;
    opts.threads = 1;
    pgcn_explanation *e;
    PGCN_TRY(pgcn_model_explain(memory_model, all.nodes, 2, &opts, &e));
    pgcn_explanation_free(e);
    return PGCN_OK;
}

static void test_explain_without_memory_fails_and_leaves_nothing(void **state) {
    (void)state;
    static const char *const text[] = {
        "layers=2 path-length=2",   "model=egnn layers=2", "model=cheb layers=2",
        "model=pde-gcn-m layers=2", "model=sgc",           "model=gat layers=2",
        "model=appnp layers=2"};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        memory_model = model_of(all.nodes, text[i]);
        assert_true(fail_every_allocation(explain_and_free) > 40);
        pgcn_model_free(memory_model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_explain_every_network_adds_up),
        cmocka_unit_test(test_explain_settings_of_pathgcn_add_up),
        cmocka_unit_test(test_explain_settings_of_others_add_up),
        cmocka_unit_test(test_explain_hops_beyond_the_last_are_in_the_last),
        cmocka_unit_test(test_explain_hops_are_at_least_the_distance),
        cmocka_unit_test(test_explain_hops_of_drawn_paths_are_those_of_the_kernel),
        cmocka_unit_test(test_explain_pairs_are_the_strongest),
        cmocka_unit_test(test_explain_residual_is_told_apart),
        cmocka_unit_test(test_explain_same_bits_on_any_threads),
        cmocka_unit_test(test_explain_removals_are_predictions_on_a_graph_without_the_links),
        cmocka_unit_test(test_explain_mask_keeps_degrees),
        cmocka_unit_test(test_explain_mask_takes_away_what_a_node_contributes),
        cmocka_unit_test(test_explain_refuses_what_it_cannot_do),
        cmocka_unit_test(test_explain_without_memory_fails_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, open_kinds, close_kinds);
}
