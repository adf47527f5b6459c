/* Hidden rows that a predictor keeps: answers about known and about new nodes have the bits of those that are computed
 * from the features on, and read no more than the neighbours of the nodes that are asked about. */
#include "nn_help.h"

#define DENSE  "sbm:nodes=200,features=12,classes=3"
#define SPARSE "sbm:nodes=150,features=12,classes=3:features=identity+adjacency"
#define ONE    "samples=1 consistency=0 epochs=1000 "

enum { NEW = 3, CLASSES = 3 };
static const int64_t new_offset[NEW + 1] = {0, 3, 3, 5};
static const pgcn_node new_edges[] = {4, 90, 17, 17, 149};

static pgcn_predictor *predictor_of(const pgcn_model *model, const pgcn_dataset *data,
                                    int threads) {
    pgcn_inference inference = pgcn_inference_default();
    pgcn_predictor *predictor;
    inference.threads = threads;
    must(pgcn_predictor_new(model, data, &inference, &predictor));
    return predictor;
}

static pgcn_model *model_of(const pgcn_dataset *data, const char *text) {
    pgcn_trainer *trainer = trainer_of(data, text);
    pgcn_model *model;
    run_epochs(trainer, 2);
    must(pgcn_trainer_model(trainer, &model));
    pgcn_trainer_free(trainer);
    return model;
}

/* Rows that one node reads: itself and its neighbours. */
static int64_t rows_around(const pgcn_dataset *data, pgcn_node node) {
    const pgcn_graph *g = data->graph;
    int64_t rows = 1;
    for (int64_t e = g->offset[node]; e < g->offset[node + 1]; e++) rows += g->neighbour[e] != node;
    return rows;
}

static void check(const char *name, const char *text, bool guests) {
    const pgcn_node asked[] = {3, 77, 4, 149, 3};
    pgcn_dataset *data = dataset(name);
    pgcn_model *model = model_of(data, text);
    float feature[NEW * 512], plain[5 * CLASSES], kept[5 * CLASSES];
    assert_true(data->x.columns <= 512);
    for (int64_t i = 0; i < NEW * data->x.columns; i++) feature[i] = i % 7 == 0 ? 0.5f : 0;
    const pgcn_new_nodes nodes = {NEW, new_offset, new_edges, feature};
    for (int threads = 1; threads <= 3; threads += 2) {
        pgcn_predictor *a = predictor_of(model, data, threads);
        pgcn_predictor *b = predictor_of(model, data, threads);
        int64_t bytes = pgcn_predictor_hidden_bytes(b), before = pgcn_predictor_bytes(b);
        must(pgcn_predictor_keep_hidden(b));
        must(pgcn_predictor_keep_hidden(b)); /* they are kept already */
        assert_true(bytes > 0);
        assert_true(before > 0);
        assert_true(pgcn_predictor_bytes(b) >= bytes);
        for (int again = 0; again < 2; again++) { /* what a question leaves changes no other */
            must(pgcn_predictor_nodes(a, asked, 5, plain, NULL));
            must(pgcn_predictor_nodes(b, asked, 5, kept, NULL));
            assert_same_floats(kept, plain, 5 * CLASSES, text);
            if (!guests) continue;
            must(pgcn_predictor_new_nodes(a, &nodes, plain, NULL));
            must(pgcn_predictor_new_nodes(b, &nodes, kept, NULL));
            assert_same_floats(kept, plain, NEW * CLASSES, text);
        }
        must(pgcn_predictor_nodes(b, asked, 1, kept, NULL));
        assert_int_equal(pgcn_predictor_rows(b), rows_around(data, asked[0]));
        pgcn_predictor_free(a), pgcn_predictor_free(b);
    }
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

static void test_hidden_rows_kept_give_the_same_bits(void **state) {
    (void)state;
    check(DENSE, ONE "layers=3 channels=16 path-length=5", true);
    check(DENSE, ONE "layers=2 channels=70 path-length=4 residual=previous", true);
    check(DENSE, ONE "layers=2 channels=16 path-length=3 residual=none batch-norm=yes", true);
    check(DENSE, ONE "layers=2 channels=16 path-length=2", true);
    check(SPARSE, ONE "layers=2 channels=16 path-length=5", true);
    check(DENSE, ONE "layers=2 channels=16 input-hops=2", false);
    check(DENSE, "epochs=1000 model=gcn layers=3 channels=16", true);
    check(SPARSE, "epochs=1000 model=gcn layers=3 channels=16", true);
    check(DENSE, "epochs=1000 model=gcnii layers=4 channels=16", true);
    check(DENSE, "epochs=1000 model=jknet layers=4 channels=16", true);
    check(DENSE, "epochs=1000 model=sage layers=3 channels=16", true);
    check(DENSE, "epochs=1000 model=gat heads=2 layers=3 channels=16", true);
    check(DENSE, "epochs=1000 model=gin layers=2 channels=16", true);
}

static void test_hidden_rows_that_cannot_be_kept_are_refused(void **state) {
    (void)state;
    pgcn_dataset *data = dataset(DENSE);
    pgcn_model *model = model_of(data, "epochs=1000 model=appnp layers=2 channels=8");
    pgcn_predictor *predictor = predictor_of(model, data, 1);
    const pgcn_node node = 5;
    float plain[CLASSES], kept[CLASSES];
    must(pgcn_predictor_nodes(predictor, &node, 1, plain, NULL));
    must_fail(pgcn_predictor_keep_hidden(predictor), PGCN_ERR_ARGUMENT, "many steps");
    must(pgcn_predictor_nodes(predictor, &node, 1, kept, NULL)); /* it answers as before */
    assert_same_floats(kept, plain, CLASSES, "after a refusal");
    pgcn_predictor_free(predictor);
    pgcn_model_free(model);
    model = model_of(data, ONE "layers=2 channels=8");
    pgcn_inference inference = pgcn_inference_default();
    inference.draws = 2;
    must(pgcn_predictor_new(model, data, &inference, &predictor));
    must_fail(pgcn_predictor_keep_hidden(predictor), PGCN_ERR_ARGUMENT, "deterministic");
    assert_int_equal(pgcn_predictor_hidden_bytes(predictor), 0);
    pgcn_predictor_free(predictor);
    pgcn_model_free(model);
    model = model_of(data, ONE "layers=2 channels=8 kernel=full");
    predictor = predictor_of(model, data, 1);
    must_fail(pgcn_predictor_keep_hidden(predictor), PGCN_ERR_ARGUMENT, "parts");
    pgcn_predictor_free(predictor);
    pgcn_model_free(model);
    pgcn_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hidden_rows_kept_give_the_same_bits),
        cmocka_unit_test(test_hidden_rows_that_cannot_be_kept_are_refused),
    };
    return cmocka_run_group_tests_name("hidden", tests, NULL, NULL);
}
