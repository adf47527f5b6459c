/* The mean over the graphs of a set: every figure is counted once more here, graph by graph, from the
 * probabilities of pgcn_model_predict(). */
#include "graphs_help.h"
#include "nn_help.h"

#include "scratch_help.h"

#include <math.h>

#define QUICK                                                                                      \
    "channels=6 layers=2 path-length=3 paths=3 epochs=20 patience=0 samples=1 consistency=0 "
enum { GRAPHS = 14, UNLABELLED = 6, C = SET_CLASSES };

/* Graph g trains, validates or tests as a whole by g % 3, but for the nodes of every seventh: these are in the part of
 * their number. No node of graph UNLABELLED has a label. */
static pgcn_dataset *inductive(pgcn_task task) {
    graph_set set = set_mixed(task, false, GRAPHS);
    for (int64_t u = 0; u < set.nodes; u++)
        if (set.graph_of[u] == UNLABELLED) set.label[u] = -1;
    pgcn_i_source source = set_source(&set);
    uint8_t *mask[3];
    must(pgcn_i_source_masks(&source, set.nodes, mask));
    for (int64_t u = 0; u < set.nodes; u++)
        if (set.label[u] >= 0) mask[(set.graph_of[u] % 7 ? set.graph_of[u] : u) % 3][u] = 1;
    set_free(&set);
    return source_build(source, "");
}

static bool predicts(const float *p, int c, bool several) {
    if (several) return p[c] > 0.5f;
    for (int k = 0; k < C; k++)
        if (p[k] > p[c] || (p[k] == p[c] && k < c)) return false;
    return true;
}

/* What a part comes to, from probabilities; of one class per node as the share of right ones. */
typedef struct expected {
    double mean;
    int64_t items, graphs, nodes;
} expected;
static expected count(const pgcn_dataset *data, const float *p, const uint8_t *mask) {
    const int32_t *graph_of = pgcn_dataset_graph_of(data), *label = pgcn_dataset_labels(data);
    const uint8_t *labels = pgcn_dataset_multilabels(data);
    expected out = {.mean = 0};
    for (int g = 0; g < GRAPHS; g++) {
        double right = 0, both = 0, items = 0, nodes = 0;
        for (int64_t u = 0; u < data->info.nodes; u++) {
            if (graph_of[u] != g) continue;
            nodes++;
            if (!pgcn_dataset_is_labelled(data, u) || (mask && !mask[u])) continue;
            items++;
            for (int c = 0; c < C; c++) {
                bool has = labels ? labels[u * C + c] : label[u] == c;
                bool said = predicts(p + u * C, c, labels != NULL);
                right += has && said;
                both += has + said;
            }
        }
        if (items == 0) continue;
        out.graphs++;
        out.items += (int64_t)items;
        out.nodes += (int64_t)nodes;
        out.mean += !labels ? 100 * right / items : both > 0 ? 200 * right / both : 100;
    }
    out.mean /= (double)out.graphs;
    return out;
}

static void check(const pgcn_score *score, expected want) {
    assert_int_equal(score->items, want.items);
    assert_int_equal(score->graphs, want.graphs);
    assert_int_equal(score->graph_nodes, want.nodes);
    assert_close(score->graph_accuracy, want.mean, 1e-9);
}

static void assert_same_graphs(const pgcn_score *a, const pgcn_score *b) {
    assert_true(a->graph_accuracy == b->graph_accuracy);
    assert_int_equal(a->items, b->items);
    assert_int_equal(a->graphs, b->graphs);
    assert_int_equal(a->graph_nodes, b->graph_nodes);
}

/* Trained and evaluated in batches of three graphs, so that the graphs of a view are not those of the set. */
static void test_mean_of_graphs_is_what_the_predictions_say(void **state) {
    (void)state;
    for (int t = 0; t < 2; t++) {
        pgcn_dataset *data = inductive(t ? PGCN_TASK_NODE : PGCN_TASK_MULTILABEL);
        pgcn_trainer *trainer = trainer_of(data, QUICK "batch=3");
        pgcn_model *model;
        pgcn_scores scores;
        pgcn_score val, test;
        const uint8_t *mask[3];
        run_epochs(trainer, 6);
        must(pgcn_trainer_model(trainer, &model));
        must(pgcn_trainer_scores(trainer, &val, &test));
        must(pgcn_model_evaluate(model, data, NULL, &scores));
        float *p = calloc((size_t)data->info.nodes * C, sizeof *p);
        must(pgcn_model_predict(model, data, NULL, p, NULL));
        assert_non_null(pgcn_dataset_split(data, scores.split, &mask[0], &mask[1], &mask[2]));
        check(&scores.train, count(data, p, mask[0]));
        check(&scores.val, count(data, p, mask[1]));
        check(&scores.test, count(data, p, mask[2]));
        check(&scores.all, count(data, p, NULL));
        assert_int_equal(scores.all.graphs, GRAPHS - 1); /* one has no label */
        assert_true(scores.test.graphs < GRAPHS / 2 && scores.test.graph_nodes > scores.test.items);
        assert_true(fabs(scores.test.graph_accuracy - scores.test.accuracy) > 0.1);
        assert_same_graphs(&val, &scores.val);
        assert_same_graphs(&test, &scores.test);
        free(p);
        pgcn_model_free(model);
        pgcn_trainer_free(trainer);
        pgcn_dataset_free(data);
    }
}

static void test_mean_of_graphs_has_the_same_bits_on_any_number_of_threads(void **state) {
    (void)state;
    pgcn_dataset *data = inductive(PGCN_TASK_MULTILABEL);
    pgcn_score val[3], test[3];
    for (int i = 0; i < 3; i++) {
        static const char *const how[] = {"threads=1", "threads=3", "threads=2 select=macro-f1"};
        char text[256];
        snprintf(text, sizeof text, QUICK "batch=3 %s", how[i]);
        pgcn_trainer *trainer = trainer_of(data, text);
        run_epochs(trainer, 1); /* which is the best one, whatever selects */
        must(pgcn_trainer_scores(trainer, &val[i], &test[i]));
        assert_null(trainer->tally[0].graph); /* epochs do not count by graphs */
        assert_same_graphs(&val[0], &val[i]);
        assert_same_graphs(&test[0], &test[i]);
        pgcn_trainer_free(trainer);
    }
    pgcn_dataset_free(data);
}

static void assert_no_graphs(const pgcn_score *score) {
    assert_true(isnan(score->graph_accuracy));
    assert_int_equal(score->graphs, 0);
    assert_int_equal(score->graph_nodes, 0);
}

/* One graph as such, one graph as a set, and graphs that have a class themselves. */
static void test_mean_of_graphs_is_not_defined_of_one_graph_and_of_classes_of_graphs(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        pgcn_dataset *data = kind == 0   ? dataset("karate")
                             : kind == 1 ? set_of(set_new(PGCN_TASK_GRAPH, false, 40), "kfold=4")
                                         : NULL;
        if (!data) {
            graph_set set = set_new(PGCN_TASK_NODE, false, 40);
            memset(set.graph_of, 0, (size_t)set.nodes * sizeof *set.graph_of);
            set.graphs = 1;
            data = set_of(set, "random=40/30/30");
        }
        pgcn_trainer *trainer = trainer_of(data, QUICK);
        pgcn_model *model;
        pgcn_scores scores;
        pgcn_score val, test;
        run_epochs(trainer, 2);
        must(pgcn_trainer_model(trainer, &model));
        must(pgcn_trainer_scores(trainer, &val, &test));
        must(pgcn_model_evaluate(model, data, NULL, &scores));
        assert_no_graphs(&val), assert_no_graphs(&test), assert_no_graphs(&scores.all);
        assert_true(scores.test.items > 0 && scores.test.items == test.items);
        pgcn_model_free(model);
        pgcn_trainer_free(trainer);
        pgcn_dataset_free(data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mean_of_graphs_is_what_the_predictions_say),
        cmocka_unit_test(test_mean_of_graphs_has_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(test_mean_of_graphs_is_not_defined_of_one_graph_and_of_classes_of_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
