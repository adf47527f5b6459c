/* A node or a graph has the same probabilities, bit for bit, whatever is predicted beside it: alone, in
 * any batch, in another set, dense or sparse; in exact form and by draws of paths. ctest runs this
 * program once for every instruction set (PATHGCN_ISA). */
#include "graphs_help.h"
#include "nn_help.h"

#define QUICK "layers=2 path-length=3 paths=3 epochs=60 patience=0 batch=7 samples=1 consistency=0 "

/* Between them: all tasks, kernels, readouts and forms of the first layer; channels that fill vectors
 * and that do not, one slab of 64 and several. `draws`: has paths to draw. */
static const struct {
    pgcn_task task;
    bool sparse, draws;
    const char *text;
} CASES[] = {
    {PGCN_TASK_GRAPH, true, true, QUICK "channels=6 batch-norm=yes"},
    {PGCN_TASK_GRAPH, false, true, QUICK "channels=64 batch-norm=yes readout=layers"},
    {PGCN_TASK_GRAPH, true, true, QUICK "channels=33 scaling=symmetric readout=relu layers=3"},
    {PGCN_TASK_GRAPH, false, false, QUICK "channels=17 model=gin"},
    {PGCN_TASK_GRAPH, true, true, QUICK "channels=9 kernel=full"},
    {PGCN_TASK_GRAPH, true, true, QUICK "channels=130 kernel=global residual=previous"},
    {PGCN_TASK_MULTILABEL, false, true, QUICK "channels=31 batch-norm=yes"},
    {PGCN_TASK_MULTILABEL, false, true, QUICK "channels=31 batch-norm=yes norm-over=graph"},
    {PGCN_TASK_GRAPH, true, true, QUICK "channels=9 batch-norm=yes norm-over=graph readout=layers"},
    {PGCN_TASK_MULTILABEL, true, false, QUICK "channels=16 model=gin"},
    {PGCN_TASK_NODE, false, true, QUICK "channels=24 normalise=standardise"},
    {PGCN_TASK_NODE, true, true, QUICK "channels=12 normalise=rows frequency=0.5"},
    {PGCN_TASK_NODE, true, true, QUICK "channels=12 input-hops=1 input-norm=yes"},
    {PGCN_TASK_GRAPH, false, false, QUICK "channels=12 heads=3 model=gat samples=1 consistency=0"},
    {PGCN_TASK_NODE, true, false,
     QUICK "channels=16 heads=2 model=supergat samples=1 consistency=0"},
    {PGCN_TASK_MULTILABEL, false, false, QUICK "channels=9 model=grand samples=1 consistency=0"},
    {PGCN_TASK_NODE, false, false, QUICK "channels=21 model=egnn samples=1 consistency=0"},
    {PGCN_TASK_GRAPH, true, false, QUICK "channels=18 model=pde-gcn-m samples=1 consistency=0"},
    {PGCN_TASK_NODE, false, true, QUICK "channels=70 bf16=yes scaling=symmetric"},
    {PGCN_TASK_NODE, false, true, QUICK "channels=70 hidden-rows=bf16 scaling=symmetric"},
};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES, SET_GRAPHS = 24 };

/* The graphs choice[0 .. count-1] of the set, in that order, without labels. */
static pgcn_dataset *chosen(const graph_set *set, const int *choice, int count, bool sparse) {
    pgcn_node *place = calloc((size_t)set->nodes, sizeof *place);
    graph_set some = set_alloc(PGCN_TASK_NONE, sparse, set->nodes, count, set->edges);
    some.nodes = some.edges = 0;
    for (int i = 0; i < count; i++)
        for (int64_t u = 0; u < set->nodes; u++)
            if (set->graph_of[u] == choice[i]) {
                place[u] = (pgcn_node)some.nodes;
                some.graph_of[some.nodes] = i;
                memcpy(some.x + some.nodes++ * SET_COLUMNS, set->x + u * SET_COLUMNS,
                       SET_COLUMNS * sizeof *set->x);
            }
    for (int i = 0; i < count; i++)
        for (int64_t e = 0; e < set->edges; e++)
            if (set->graph_of[set->from[e]] == choice[i]) {
                some.from[some.edges] = place[set->from[e]];
                some.to[some.edges++] = place[set->to[e]];
            }
    free(place);
    return set_of(some, "");
}

typedef struct prediction {
    float *p, *deviation;
    int64_t classes;
} prediction;

static prediction predict(const pgcn_model *model, const pgcn_dataset *data, int draws) {
    int64_t classes = pgcn_model_classes(model);
    int64_t items = model->task == PGCN_TASK_GRAPH ? data->info.graphs : data->graph->n;
    prediction out = {calloc((size_t)(items * classes), sizeof(float)),
                      calloc((size_t)(items * classes), sizeof(float)), classes};
    pgcn_inference inference = pgcn_inference_default();
    inference.draws = draws;
    inference.seed = 5;
    must(pgcn_model_predict(model, data, &inference, out.p, out.deviation));
    return out;
}
static void prediction_free(prediction *x) {
    free(x->p), free(x->deviation);
}

/* Items of graph g of the whole set: its own number, or its nodes in their order. */
static int64_t item_of(const pgcn_model *model, const graph_set *set, int g, int64_t nth) {
    if (model->task == PGCN_TASK_GRAPH) return nth == 0 ? g : -1;
    for (int64_t u = 0; u < set->nodes; u++)
        if (set->graph_of[u] == g && nth-- == 0) return u;
    return -1;
}

static void compare(const pgcn_model *model, const graph_set *set, const prediction *whole,
                    const prediction *some, const int *choice, int count) {
    int64_t at = 0, item, c = whole->classes;
    for (int i = 0; i < count; i++)
        for (int64_t nth = 0; (item = item_of(model, set, choice[i], nth)) >= 0; nth++, at++) {
            assert_memory_equal(whole->p + item * c, some->p + at * c, (size_t)c * sizeof(float));
            assert_memory_equal(whole->deviation + item * c, some->deviation + at * c,
                                (size_t)c * sizeof(float));
        }
}

static void check_case(int i, int draws) {
    static const struct {
        int count, graph[4];
    } sets[] = {{1, {0}}, {1, {7}}, {2, {23, 7}}, {4, {7, 3, 0, 11}}, {4, {5, 6, 7, 8}}};
    bool per_graph = CASES[i].task == PGCN_TASK_GRAPH; /* their nodes must be in order */
    graph_set set = (per_graph ? set_new : set_mixed)(CASES[i].task, CASES[i].sparse, SET_GRAPHS);
    pgcn_dataset *data = set_build(&set, per_graph ? "kfold=3" : "");
    pgcn_model *model = model_after_three(data, CASES[i].text);
    prediction whole = predict(model, data, draws);
    for (int batch = 1; batch <= 40; batch += 13) { /* 1, 14, 27: the whole set, 40 */
        model->config.batch = batch;
        prediction again = predict(model, data, draws);
        for (int g = 0; g < SET_GRAPHS; g++)
            assert_memory_equal(whole.p + g * whole.classes, again.p + g * whole.classes,
                                (size_t)whole.classes * sizeof(float));
        prediction_free(&again);
    }
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (int other_form = 0; other_form < 2; other_form++) {
            int count = sets[s].count;
            pgcn_dataset *few =
                chosen(&set, sets[s].graph, count, CASES[i].sparse != (bool)other_form);
            prediction some = predict(model, few, draws);
            compare(model, &set, &whole, &some, sets[s].graph, count);
            prediction_free(&some);
            pgcn_dataset_free(few);
        }
    prediction_free(&whole);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
    set_free(&set);
}

static void test_alone_and_beside_others_in_exact_form_same_bits(void **state) {
    (void)state;
    for (int i = 0; i < CASE_COUNT; i++) check_case(i, 0);
}

static void test_alone_and_beside_others_by_draws_same_bits(void **state) {
    (void)state;
    for (int i = 0; i < CASE_COUNT; i++)
        if (CASES[i].draws) check_case(i, 3);
}

/* One graph of nodes: a connected part of it alone, against the whole. By draws a walk is known by the
 * number of its node, so the part comes first in the whole. */
static void test_alone_part_of_a_graph_same_bits(void **state) {
    (void)state;
    enum { N = 40 };
    pgcn_node from[2 * N], to[2 * N];
    int64_t edges = 0;
    for (int u = 0; u < N; u++) { /* two parts, 0 .. 22 and 23 .. 39 */
        int first = u < 23 ? 0 : 23, size = u < 23 ? 23 : N - 23;
        from[edges] = u, to[edges++] = first + (u - first + 1) % size;
        from[edges] = u, to[edges++] = first + (u - first) * 5 % size;
    }
    for (int part = 0; part < 2; part++) {
        pgcn_dataset *data[2];
        prediction out[2];
        float *x = ref_random_floats(12, N * SET_COLUMNS);
        for (int whole = 0; whole < 2; whole++) {
            graph_set set = set_alloc(whole ? PGCN_TASK_NODE : PGCN_TASK_NONE, false,
                                      whole  ? N
                                      : part ? N - 23
                                             : 23,
                                      1, 2 * N);
            int first = part && !whole ? 23 : 0;
            memcpy(set.x, x + first * SET_COLUMNS, (size_t)(set.nodes * SET_COLUMNS) * sizeof *x);
            set.edges = 0;
            for (int64_t e = 0; e < edges; e++)
                if (from[e] >= first && from[e] < first + set.nodes) {
                    set.from[set.edges] = from[e] - first;
                    set.to[set.edges++] = to[e] - first;
                }
            for (int64_t u = 0; u < set.nodes; u++) set.label[u] = (int32_t)(u % SET_CLASSES);
            pgcn_i_source source = set_source(&set);
            source.graphs = 0;
            source.graph_of = NULL;
            data[whole] = source_build(source, whole ? "stratified=50/25/25" : "");
            set_free(&set);
        }
        pgcn_model *model = model_after_three(data[1], QUICK "channels=40 batch=0");
        for (int draws = 0; draws <= (part == 0 ? 2 : 0); draws += 2) {
            for (int whole = 0; whole < 2; whole++) out[whole] = predict(model, data[whole], draws);
            assert_memory_equal(out[0].p, out[1].p + (part ? 23 * SET_CLASSES : 0),
                                (size_t)(data[0]->graph->n * SET_CLASSES) * sizeof(float));
            prediction_free(&out[0]), prediction_free(&out[1]);
        }
        pgcn_model_free(model);
        pgcn_dataset_free(data[0]), pgcn_dataset_free(data[1]);
        free(x);
    }
}

int main(void) {
    if (lacks_instruction_set()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone_and_beside_others_in_exact_form_same_bits),
        cmocka_unit_test(test_alone_and_beside_others_by_draws_same_bits),
        cmocka_unit_test(test_alone_part_of_a_graph_same_bits),
    };
    return cmocka_run_group_tests_name("alone", tests, NULL, NULL);
}
