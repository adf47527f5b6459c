/* Single nodes: what is predicted for some nodes alone has the bits of the prediction of the whole graph, for every
 * network, exactly and by draws, in any order and with nodes asked for twice; and only the rows that they need are
 * computed. */
#include "graphs_help.h"
#include "scratch_help.h"
#include "trainer_help.h"

#define DENSE  "sbm:nodes=300,features=12,classes=3,degree=4"
#define SPARSE "sbm:nodes=300,features=12,classes=3,degree=3:features=identity+adjacency"
#define QUICK  "channels=8 epochs=3 patience=0 samples=1 consistency=0 "

static const pgcn_node asked[] = {17, 3, 299, 3, 0, 120, 121, 122, 17, 250};
enum { ASKED = sizeof asked / sizeof *asked };

static void check_bits(const pgcn_model *model, const pgcn_dataset *data, int draws,
                       const char *text) {
    pgcn_inference inference = pgcn_inference_default();
    inference.draws = draws;
    inference.seed = 5;
    int64_t n = data->graph->n, classes = data->classes;
    size_t count = (size_t)(n * classes);
    float *whole = test_malloc(4 * count * sizeof *whole), *deviation = whole + count;
    float some[2][ASKED * 4];
    must(pgcn_model_predict(model, data, &inference, whole, deviation));
    must(pgcn_model_predict_nodes(model, data, asked, ASKED, &inference, some[0], some[1]));
    for (int i = 0; i < ASKED; i++) {
        size_t bytes = (size_t)classes * sizeof(float);
        if (memcmp(some[0] + i * classes, whole + asked[i] * classes, bytes) != 0 ||
            memcmp(some[1] + i * classes, deviation + asked[i] * classes, bytes) != 0)
            fail_msg("%s, %d draws: node %d has %.9g alone and %.9g in the whole graph", text,
                     draws, asked[i], (double)some[0][i * classes],
                     (double)whole[asked[i] * classes]);
    }
    test_free(whole);
}

static void check_network(const char *name, const char *text, bool walks) {
    pgcn_dataset *data = dataset(name);
    pgcn_model *model = model_after_three(data, text);
    check_bits(model, data, 0, text);
    if (walks) check_bits(model, data, 3, text);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

static void test_predictor_every_network_has_the_bits_of_the_whole_graph(void **state) {
    (void)state;
    for (int i = 0; pgcn_network_name(i); i++) {
        char text[256];
        const pgcn_i_network *network = pgcn_i_network_at(i);
        snprintf(text, sizeof text, QUICK "layers=2 model=%s", network->name);
        check_network(DENSE, text, network->walks);
        check_network(SPARSE, text, network->walks);
    }
}

static void test_predictor_forms_have_the_bits_of_the_whole_graph(void **state) {
    (void)state;
    static const char *const texts[] = {
        QUICK "layers=3 path-length=2 batch-norm=yes",
        QUICK "layers=3 path-length=2 batch-norm=yes norm-over=graph",
        QUICK "layers=1 path-length=6 kernel=global",
        QUICK "path-length=1",
        QUICK "kernel=full channels=6",
        QUICK "input-hops=1 input-norm=yes",
        QUICK "channels=80 residual=previous scaling=walk self-loops=no",
        QUICK "train-form=exact residual=none",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_network(DENSE, texts[i], true);
        check_network(SPARSE, texts[i], true);
    }
}

/* Two nodes of a long path, whose walks cannot reach far. */
static void test_predictor_reads_only_what_it_needs(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("grid:rows=2,cols=200");
    pgcn_model *model = model_after_three(data, QUICK "layers=2 path-length=3 epochs=3");
    const pgcn_node node[] = {100, 101};
    float probability[2 * 8];
    pgcn_inference inference = pgcn_inference_default();
    for (inference.draws = 0; inference.draws < 2; inference.draws++) {
        pgcn_predictor *predictor;
        must(pgcn_predictor_new(model, data, &inference, &predictor));
        must(pgcn_predictor_nodes(predictor, node, 2, probability, NULL));
        assert_true(pgcn_predictor_rows(predictor) > 2);
        /* at most four hops to either side, in two rows of the grid */
        assert_true(pgcn_predictor_rows(predictor) <= 20);
        assert_true(pgcn_predictor_bytes(predictor) > 0);
        int64_t before = pgcn_predictor_rows(predictor);
        must(pgcn_predictor_nodes(predictor, node, 1, probability, NULL));
        assert_true(pgcn_predictor_rows(predictor) <= before);
        pgcn_predictor_free(predictor);
    }
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

static void test_predictor_wrong_nodes_are_refused(void **state) {
    (void)state;
    pgcn_dataset *data = dataset("karate");
    pgcn_model *model = model_after_three(data, QUICK);
    const pgcn_node wrong[] = {3, 34}, before[] = {-1};
    float probability[2 * 8];
    must_fail(pgcn_model_predict_nodes(model, data, wrong, 2, NULL, probability, NULL),
              PGCN_ERR_ARGUMENT, "number 1 of the nodes to predict is 34");
    must_fail(pgcn_model_predict_nodes(model, data, before, 1, NULL, probability, NULL),
              PGCN_ERR_ARGUMENT, "nodes 0 to 33");
    must_fail(pgcn_model_predict_nodes(model, data, wrong, -1, NULL, probability, NULL),
              PGCN_ERR_ARGUMENT, "-1 nodes");
    must(pgcn_model_predict_nodes(model, data, wrong, 0, NULL, probability, NULL));
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

/* ---- nodes that the data does not have ---------------------------------------------------------------------- */

enum { OLD = 300, NEW = 2, F = 12, CLASSES = 3 };
static const int64_t new_offset[] = {0, 3, 4};
static const pgcn_node new_edges[] = {199, 7, 40, 7}; /* in any order */

/* The same graph with the new nodes in it, whose edges have a direction: what asking about them comes to. */
static pgcn_dataset *with_new_nodes(const pgcn_dataset *data, const float *feature) {
    const pgcn_graph *g = data->graph;
    int64_t m = g->entries + 4, at = 0;
    pgcn_node *from = test_malloc((size_t)m * sizeof *from);
    pgcn_node *to = test_malloc((size_t)m * sizeof *to);
    float *x = test_malloc((OLD + NEW) * F * sizeof *x);
    for (int64_t r = 0; r < g->n; r++)
        for (int64_t e = g->offset[r]; e < g->offset[r + 1]; e++, at++) {
            from[at] = (pgcn_node)r;
            to[at] = g->neighbour[e];
        }
    for (int i = 0; i < 4; i++, at++) {
        from[at] = (pgcn_node)(OLD + (i == 3));
        to[at] = new_edges[i];
    }
    memcpy(x, data->x.dense, OLD * F * sizeof *x);
    memcpy(x + OLD * F, feature, NEW * F * sizeof *x);
    pgcn_dataset *all = NULL;
    pgcn_graph *graph = NULL;
    pgcn_graph_opts opts = pgcn_graph_opts_default();
    opts.directed = true;
    must(pgcn_graph_from_edges(OLD + NEW, m, from, to, NULL, &opts, &graph));
    pgcn_dataset_arrays arrays = pgcn_dataset_arrays_default();
    arrays.graph = graph;
    arrays.features = x;
    arrays.n_features = F;
    must(pgcn_dataset_from_arrays(&arrays, &all));
    pgcn_graph_free(graph);
    test_free(from);
    test_free(to);
    test_free(x);
    return all;
}

static void check_new_nodes(const char *text, bool walks) {
    pgcn_dataset *data = dataset(DENSE);
    pgcn_model *model = model_after_three(data, text);
    float feature[NEW * F], whole[(OLD + NEW) * CLASSES], some[NEW * CLASSES];
    for (int i = 0; i < NEW * F; i++) feature[i] = (float)((i * 7) % 11) / 5 - 1;
    pgcn_dataset *all = with_new_nodes(data, feature);
    const pgcn_new_nodes nodes = {NEW, new_offset, new_edges, feature};
    pgcn_inference inference = pgcn_inference_default();
    pgcn_predictor *predictor;
    must(pgcn_model_predict(model, all, NULL, whole, NULL));
    must(pgcn_predictor_new(model, data, NULL, &predictor));
    must(pgcn_predictor_new_nodes(predictor, &nodes, some, NULL));
    if (memcmp(some, whole + OLD * CLASSES, sizeof some) != 0)
        fail_msg("%s: new node has %.9g, in the graph %.9g", text, (double)some[0],
                 (double)whole[OLD * CLASSES]);
    pgcn_predictor_free(predictor);
    inference.draws = walks ? 3000 : 0;
    float drawn[2][NEW * CLASSES], deviation[2][NEW * CLASSES];
    for (int i = 0; i < 2 && walks; i++) { /* as a guest, and as a node of the graph */
        const pgcn_node added[] = {OLD, OLD + 1};
        must(pgcn_predictor_new(model, i == 0 ? data : all, &inference, &predictor));
        must(i == 0 ? pgcn_predictor_new_nodes(predictor, &nodes, drawn[i], deviation[i])
                    : pgcn_predictor_nodes(predictor, added, NEW, drawn[i], deviation[i]));
        pgcn_predictor_free(predictor);
    }
    for (int i = 0; i < NEW * CLASSES && walks; i++) {
        double off = fabs((double)drawn[0][i] - (double)drawn[1][i]);
        assert_true(off < 6 * (double)deviation[1][i] / sqrt(1500) + 1e-6);
        assert_true(fabs((double)deviation[0][i] - (double)deviation[1][i]) <
                    0.15 * (double)deviation[1][i] + 1e-6);
    }
    pgcn_dataset_free(all);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

static void test_predictor_new_nodes_are_as_in_a_graph_that_has_them(void **state) {
    (void)state;
    check_new_nodes(QUICK "paths=3 path-length=3", true);
    check_new_nodes(QUICK "paths=3 path-length=4 scaling=walk self-loops=no", true);
    check_new_nodes(QUICK "model=gcn", false);
    check_new_nodes(QUICK "model=sage", false);
    check_new_nodes(QUICK "model=gat heads=2", false);
    check_new_nodes(QUICK "model=gin", false);
    check_new_nodes(QUICK "model=appnp", false);
    check_new_nodes(QUICK "model=mlp", false);
}

static void test_predictor_wrong_new_nodes_are_refused(void **state) {
    (void)state;
    pgcn_dataset *data = dataset(DENSE);
    pgcn_model *model = model_after_three(data, QUICK),
               *sgc = model_after_three(data, QUICK "model=sgc");
    pgcn_predictor *predictor, *other;
    float feature[NEW * F] = {0}, out[NEW * CLASSES];
    must(pgcn_predictor_new(model, data, NULL, &predictor));
    must(pgcn_predictor_new(sgc, data, NULL, &other));
    pgcn_new_nodes nodes = {NEW, new_offset, new_edges, feature};
    must_fail(pgcn_predictor_new_nodes(other, &nodes, out, NULL), PGCN_ERR_ARGUMENT, "powers of T");
    const pgcn_node far_off[] = {3, 300, 4, 5}, twice[] = {3, 4, 3, 5};
    nodes.neighbour = far_off;
    must_fail(pgcn_predictor_new_nodes(predictor, &nodes, out, NULL), PGCN_ERR_ARGUMENT,
              "an edge to node 300");
    nodes.neighbour = twice;
    must_fail(pgcn_predictor_new_nodes(predictor, &nodes, out, NULL), PGCN_ERR_ARGUMENT,
              "two edges to node 3");
    nodes.neighbour = new_edges;
    feature[F] = NAN;
    must_fail(pgcn_predictor_new_nodes(predictor, &nodes, out, NULL), PGCN_ERR_ARGUMENT,
              "feature 0 of new node 1 is not finite");
    feature[F] = 0;
    const int64_t descending[] = {0, 3, 1};
    nodes.offset = descending;
    must_fail(pgcn_predictor_new_nodes(predictor, &nodes, out, NULL), PGCN_ERR_ARGUMENT, "ascend");
    nodes = (pgcn_new_nodes){257, new_offset, new_edges, feature};
    must_fail(pgcn_predictor_new_nodes(predictor, &nodes, out, NULL), PGCN_ERR_ARGUMENT,
              "257 new nodes");
    pgcn_predictor_free(predictor);
    pgcn_predictor_free(other);
    pgcn_model_free(model);
    pgcn_model_free(sgc);
    pgcn_dataset_free(data);
}

/* ---- without memory ---------------------------------------------------------------------------------------- */

static pgcn_status ask_both(void) {
    float feature[F] = {1}, out[2 * CLASSES];
    const pgcn_node node[] = {3, 7};
    const pgcn_new_nodes guest = {1, new_offset, new_edges, feature};
    pgcn_predictor *predictor;
    PGCN_TRY(pgcn_predictor_new(memory_model, memory_data, NULL, &predictor));
    pgcn_status status = pgcn_predictor_nodes(predictor, node, 2, out, NULL);
    if (status == PGCN_OK) status = pgcn_predictor_new_nodes(predictor, &guest, out, NULL);
    pgcn_predictor_free(predictor);
    return status;
}

static void test_predictor_and_batches_without_memory_fail_cleanly(void **state) {
    (void)state;
    static const char *const texts[] = {
        QUICK "batch-by=nodes batch=9 eval-nodes=20",
        QUICK "batch-by=nodes batch=9 model=gat heads=2 neighbours=3",
        QUICK "batch-by=cluster parts=4 model=gcn",
    };
    pgcn_dataset *data = dataset(DENSE);
    memory_data = data;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        memory_text = texts[i];
        assert_true(fail_every_allocation(make_trainer) > 40);
    }
    memory_model = model_after_three(data, QUICK);
    assert_true(fail_every_allocation(ask_both) > 40);
    pgcn_model_free(memory_model);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predictor_every_network_has_the_bits_of_the_whole_graph),
        cmocka_unit_test(test_predictor_forms_have_the_bits_of_the_whole_graph),
        cmocka_unit_test(test_predictor_reads_only_what_it_needs),
        cmocka_unit_test(test_predictor_wrong_nodes_are_refused),
        cmocka_unit_test(test_predictor_new_nodes_are_as_in_a_graph_that_has_them),
        cmocka_unit_test(test_predictor_wrong_new_nodes_are_refused),
        cmocka_unit_test(test_predictor_and_batches_without_memory_fail_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
